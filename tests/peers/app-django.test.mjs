/* SPDX-License-Identifier: MIT */
/*
 * Django behind gunicorn: its redirect to https would go round in circles, and its check of the Referer would refuse each
 * log-in, if it took pushgate's requests for ones in cleartext or for another host.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { ROOT } from '../support/gate.mjs';
import { run } from '../support/programs.mjs';
import { PROXIES, application, assertSecure, gunicorn } from './applications.mjs';

const PASSWORD = 'sesame';

const started = (proxies) => async (s) => {
	const env = { PROXIES: proxies, SITE_DIR: s.dir };
	const made = await run('env', [...Object.entries(env).map(([name, value]) => `${name}=${value}`), 'PYTHONDONTWRITEBYTECODE=1',
		'/usr/bin/python3', path.join(ROOT, 'tests/peers/python_django.py'), PASSWORD]);
	assert.equal(made.code, 0, made.stderr);
	return gunicorn(s, 'python_django:application', env);
};

async function visited(visitor) {
	const { origin, address } = visitor;
	assert.deepEqual(await visitor.json('/where?a=b'), { url: `${origin}/where?a=b`, secure: true, address });
	assert.equal((await visitor.ask('/old')).headers.location, `${origin}/where`);
	await loggedIn(visitor);
}

async function loggedIn(visitor) {
	const login = '/admin/login/?next=/admin/';
	const page = await visitor.page(login);
	assertSecure(page, 'csrftoken=');
	const [, csrfmiddlewaretoken] = page.body.match(/name="csrfmiddlewaretoken" value="(\w+)"/);
	const form = { csrfmiddlewaretoken, username: 'ada', password: PASSWORD, next: '/admin/' };
	/* Over https Django wants a Referer that names the host that it believes to be. */
	for (const Referer of ['https://evil.example/', `http://${visitor.authority}/`])
		assert.equal((await visitor.ask(login, { form, fields: { Referer } })).status, 403, Referer);
	const answer = await visitor.ask(login, { form, fields: { Referer: `${visitor.origin}${login}`, Origin: visitor.origin } });
	assert.equal(answer.status, 302, answer.body);
	assert.equal(answer.headers.location, '/admin/');
	assertSecure(answer, 'sessionid=');
	assert.match((await visitor.page('/admin/')).body, /Welcome,\s*<strong>ada</);
}

// covers: R640 R641 R497
for (const [proxies, more] of Object.entries(PROXIES))
	application(`Django believes ${proxies}`, { ...more, start: started(parseInt(proxies)), route: { ...more.route, underscores: 'drop' } }, visited);
