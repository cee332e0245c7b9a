/* SPDX-License-Identifier: MIT */
/* Flask behind gunicorn, with werkzeug's ProxyFix. */
import assert from 'node:assert/strict';
import { PROXIES, application, assertSecure, gunicorn } from './applications.mjs';

async function visited(visitor) {
	const { origin, address } = visitor;
	assert.deepEqual(await visitor.json('/where?a=b'), { url: `${origin}/where?a=b`, made: `${origin}/account`, secure: true, address });
	assert.equal((await visitor.ask('/account')).headers.location, `${origin}/login`);
	assert.equal((await visitor.ask('/login', { form: { user: 'Ada', password: 'wrong' } })).status, 403);
	const answer = await visitor.ask('/login', { form: { user: 'Ada', password: 'sesame' } });
	assert.equal(answer.headers.location, `${origin}/account`);
	assertSecure(answer, 'session=');
	assert.equal((await visitor.page(answer.headers.location)).body, 'Hello Ada');
}

// covers: R640 R641 R497
for (const [proxies, more] of Object.entries(PROXIES))
	application(`Flask believes ${proxies}`, {
		...more, start: (s) => gunicorn(s, 'python_flask:app', { PROXIES: parseInt(proxies) }), route: { ...more.route, underscores: 'drop' },
	}, visited);
