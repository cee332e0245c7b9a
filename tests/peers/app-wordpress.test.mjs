/* SPDX-License-Identifier: MIT */
/*
 * WordPress in Apache's PHP, with a MariaDB of its own: both as Debian has them, in the folder of the scenario. It is
 * installed through its form, then somebody logs in, looks around and comments.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { freePort } from '../support/gate.mjs';
import { daemon, run } from '../support/programs.mjs';
import { BALANCED, BALANCER, DIRECT, GATE, HOST, Visitor, application, assertSecure } from './applications.mjs';

const MODULES = '/usr/lib/apache2/modules';
const isRoot = process.getuid() === 0;
const PASSWORD = 'correct horse battery staple';

async function good(command, args, options) {
	const done = await run(command, args, options);
	assert.equal(done.code, 0, `${command}: ${done.stdout}${done.stderr}`);
	return done.stdout;
}

async function startDatabase(s) {
	const data = path.join(s.dir, 'database'), root = isRoot ? ['--user=root'] : [];
	s.socket = path.join(s.dir, 'database.sock');
	await good('mariadb-install-db', ['--no-defaults', ...root, `--datadir=${data}`, '--auth-root-authentication-method=normal', '--skip-test-db']);
	/* It need not survive a loss of power. */
	await daemon(s, 'mariadbd', ['--no-defaults', ...root, `--datadir=${data}`, `--socket=${s.socket}`, '--skip-networking',
		`--pid-file=${data}/pid`, '--innodb-flush-log-at-trx-commit=0', '--skip-log-bin', '--innodb-buffer-pool-size=16M'], s.socket);
	await s.query('CREATE DATABASE wordpress');
}

/* The line about HTTP_X_FORWARDED_PROTO is what WordPress needs behind a proxy that ends TLS. */
const CONFIG = (s) => `<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:${s.socket}');
define('AUTH_KEY', 'for tests');
define('SECURE_AUTH_KEY', 'for tests');
define('FORCE_SSL_ADMIN', true);
define('DISABLE_WP_CRON', true);
$table_prefix = 'wp_';
if (($_SERVER['HTTP_X_FORWARDED_PROTO'] ?? '') === 'https')
	$_SERVER['HTTPS'] = 'on';
if (!defined('ABSPATH'))
	define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
`;

/* It neither fetches from elsewhere nor sends mail. */
const QUIET = `<?php
add_filter('pre_http_request', function () { return new WP_Error('off', 'off'); });
function wp_mail() { return true; }
`;

async function startApache(s) {
	const port = await freePort(), site = path.join(s.dir, 'wordpress'), conf = path.join(s.dir, 'httpd.conf');
	await good('cp', ['-rL', '/usr/share/wordpress', site]);
	fs.writeFileSync(path.join(site, 'wp-config.php'), CONFIG(s));
	fs.mkdirSync(path.join(site, 'wp-content/mu-plugins'));
	fs.writeFileSync(path.join(site, 'wp-content/mu-plugins/quiet.php'), QUIET);
	fs.writeFileSync(conf, `ServerRoot ${s.dir}
${['mpm_prefork', 'authz_core', 'mime', 'dir', 'remoteip'].map((m) => `LoadModule ${m}_module ${MODULES}/mod_${m}.so`).join('\n')}
LoadModule php_module ${MODULES}/libphp8.2.so
ServerName localhost
PidFile ${s.dir}/httpd.pid
Listen ${GATE}:${port}
${isRoot ? 'User www-data\nGroup www-data' : ''}
StartServers 2
ErrorLog ${s.dir}/httpd.log
TypesConfig /etc/mime.types
DirectoryIndex index.php
DocumentRoot ${site}
<Directory ${site}>
	Require all granted
</Directory>
<FilesMatch \\.php$>
	SetHandler application/x-httpd-php
</FilesMatch>
RemoteIPHeader X-Forwarded-For
RemoteIPInternalProxy ${GATE} ${BALANCER}
`);
	/* It ends with all of its process group, which is the test's otherwise. */
	await daemon(s, 'setsid', ['apache2', '-DFOREGROUND', '-d', s.dir, '-f', conf], port);
	return port;
}

async function start(s) {
	s.query = (text) => good('mariadb', ['--no-defaults', `--socket=${s.socket}`, '--user=root', '--batch', '--skip-column-names', '-e', text]);
	await startDatabase(s);
	return startApache(s);
}

const HOME = `https://${HOST}`;

async function install(s) {
	const visitor = new Visitor(s, {});
	assert.equal((await visitor.ask('/')).headers.location, `${HOME}/wp-admin/install.php`);
	await visitor.page('/wp-admin/install.php?step=1');
	const { body } = await visitor.page('/wp-admin/install.php?step=2', {
		form: {
			weblog_title: 'A site', user_name: 'ada', admin_password: PASSWORD, admin_password2: PASSWORD, admin_email: 'ada@a.test', blog_public: 0,
		},
	});
	assert.match(body, /WordPress has been installed/);
	assert.equal(await s.query("SELECT DISTINCT option_value FROM wordpress.wp_options WHERE option_name IN ('home', 'siteurl')"), `${HOME}\n`);
}

/* Of all URLs with a host, those that are meant for the site itself. */
function assertUrls(body) {
	assert.ok(body.includes(`href="${HOME}/`), body);
	assert.doesNotMatch(body, /http:(\\?\/){2}www\.a\.test|evil\.example|www\.a\.test:\d/);
}

async function logIn(visitor) {
	const asked = await visitor.ask('/wp-admin/');
	assert.equal(asked.headers.location, `${HOME}/wp-login.php?redirect_to=${encodeURIComponent(`${HOME}/wp-admin/`)}&reauth=1`);
	const page = await visitor.page(asked.headers.location);
	assertSecure(page, 'wordpress_test_cookie=');
	assertUrls(page.body);
	const answer = await visitor.ask('/wp-login.php', { form: { log: 'ada', pwd: PASSWORD, redirect_to: `${HOME}/wp-admin/`, testcookie: 1 } });
	assert.equal(answer.headers.location, `${HOME}/wp-admin/`, answer.body);
	assertSecure(answer, 'wordpress_sec_');
	assertSecure(answer, 'wordpress_logged_in_');
	const { body } = await visitor.page(answer.headers.location);
	assert.match(body, /Howdy, /);
	assertUrls(body);
}

async function comment(visitor, s) {
	const text = `comment ${visitor.number}`;
	const { status, headers, body } = await visitor.ask('/wp-comments-post.php', { form: { comment: text, comment_post_ID: 1, comment_parent: 0 } });
	assert.equal(status, 302, body);
	assert.match(headers.location, new RegExp(`^${HOME}/\\?p=1#comment-\\d+$`));
	assert.equal(await s.query(`SELECT comment_author_IP FROM wordpress.wp_comments WHERE comment_content = '${text}'`), `${visitor.address}\n`);
}

// covers: R640 R641 R497
application('WordPress behind TLS', { start, ways: { ...DIRECT, ...BALANCED }, once: install }, async (visitor, s) => {
	/* Its own URL is the one that it was installed with; others lead there. */
	assert.equal((await visitor.ask('/index.php')).headers.location, `${HOME}/`);
	if (visitor.way.hasPort)
		return;
	assertUrls((await visitor.page('/')).body);
	await logIn(visitor);
	await comment(visitor, s);
});
