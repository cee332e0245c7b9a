/* SPDX-License-Identifier: MIT */
/* WordPress in Apache's PHP, with a MariaDB of its own: both as Debian has them, in the folder of the scenario. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { freePort } from '../support/gate.mjs';
import { daemon, run } from '../support/programs.mjs';
import { BALANCER, GATE } from './applications.mjs';

const MODULES = '/usr/lib/apache2/modules';
const isRoot = process.getuid() === 0;

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
const CONFIG = (s, settings) => `<?php
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
${settings}
if (!defined('ABSPATH'))
	define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
`;

/* It neither fetches from elsewhere nor sends mail. */
const QUIET = `<?php
add_filter('pre_http_request', function () { return new WP_Error('off', 'off'); });
function wp_mail() { return true; }
`;

async function startApache(s, settings) {
	const port = await freePort(), site = path.join(s.dir, 'wordpress'), conf = path.join(s.dir, 'httpd.conf');
	await good('cp', ['-rL', '/usr/share/wordpress', site]);
	fs.writeFileSync(path.join(site, 'wp-config.php'), CONFIG(s, settings));
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

/* settings: more lines of its configuration, in PHP. Gives its port; s.query asks its database. */
export async function startWordpress(s, settings = '') {
	s.query = (text) => good('mariadb', ['--no-defaults', `--socket=${s.socket}`, '--user=root', '--batch', '--skip-column-names', '-e', text]);
	await startDatabase(s);
	return startApache(s, settings);
}
