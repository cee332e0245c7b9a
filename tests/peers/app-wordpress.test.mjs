/* SPDX-License-Identifier: MIT */
/* WordPress (wordpress.mjs) is installed through its form, then somebody logs in, looks around and comments. */
import assert from 'node:assert/strict';
import { BALANCED, DIRECT, HOST, Visitor, application, assertSecure } from './applications.mjs';
import { startWordpress } from './wordpress.mjs';

const PASSWORD = 'correct horse battery staple';

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
application('WordPress behind TLS', { start: startWordpress, ways: { ...DIRECT, ...BALANCED }, once: install }, async (visitor, s) => {
	/* Its own URL is the one that it was installed with; others lead there. */
	assert.equal((await visitor.ask('/index.php')).headers.location, `${HOME}/`);
	if (visitor.way.hasPort)
		return;
	assertUrls((await visitor.page('/')).body);
	await logIn(visitor);
	await comment(visitor, s);
});
