/* SPDX-License-Identifier: MIT */
/*
 * Two routes of one host and path give one origin fields of their own, keys of two tenants for example. What the origin pushed for
 * one tenant is not given to the other, on no connection and in no version of HTTP, unless the response says that it is for all.
 */
import assert from 'node:assert/strict';
import { scenario, section } from '../support/gate.mjs';
import { connect1 } from '../support/http1.mjs';

const KEYS = {
	authorization: { a: 'Bearer KEY-A', b: 'Bearer KEY-B' },
	'x-api-key': { a: 'KEY-A', b: 'KEY-B' },
	cookie: { a: 'key=A', b: 'key=B' },
};
const RESPONSES = {
	private: { 'cache-control': 'private, max-age=60' },
	'max-age': { 'cache-control': 'max-age=60' },
	public: { 'cache-control': 'public, max-age=60' },
};

const tenant = (name, field) =>
	section(`route ${name}`, { origin: 'main', field: `X-Tenant: ${name}`, 'request-set': `${field}: ${KEYS[field][name]}` });
const config = (field, shares) => ({
	routes: tenant('a', field) + tenant('b', field),
	extra: section('push hold', { action: 'hold' }),
	server: shares ? { 'hold-shared': 'yes' } : {},
});

/* A client of either version: ask(fields of the request, path) gives the response. */
const VERSIONS = {
	'HTTP/2': async (s) => {
		const client = await s.connect({ settings: { enablePush: 0 } });
		let stream = -1;
		return (path, fields) => {
			client.request(stream += 2, { path, ...fields });
			return client.response(stream);
		};
	},
	'HTTP/1.1': async (s) => {
		const client = await connect1(s.port);
		s.cleanups.push(() => client.close());
		return (path, fields) => {
			client.request('GET', path, [['host', 'a.test'], ...Object.entries(fields)]);
			return client.response();
		};
	},
};

/* The page of tenant a, with which the origin pushes /r. */
async function pushed(s, ask, field, fields) {
	const page = ask('/page', { 'x-tenant': 'a' });
	const origin = await s.accept();
	const up = await origin.expectRequest('/page');
	assert.equal(up.headers[field], KEYS[field].a);
	origin.push(up, 2, '/r', { 'x-tenant': 'a' });
	origin.respond(2, { fields, body: 'for a' });
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await page).body), 'page');
	await origin.sync();
	return origin;
}

/* The body that a tenant gets, from what is held or from the origin, and the key that the origin got with it.
 * missed: the cause, if a held response may not answer. */
async function asks(origin, ask, field, name, missed) {
	const answer = ask('/r', { 'x-tenant': name });
	const request = origin.expectRequest('/r');
	request.catch(() => {}); /* it may be answered from what is held */
	const asked = await Promise.race([request, answer.then(() => null)]);
	if (asked) {
		assert.equal(asked.headers[field], KEYS[field][name]);
		origin.respond(asked.stream, { body: `from the origin for ${name}` });
	}
	const { headers, body } = await answer;
	if (asked && missed)
		assert.equal(headers['cache-status'], `pushgate; fwd=miss; detail=${missed}`);
	return String(body);
}

// covers: P-hold-private P-hold-claim
for (const [version, connect] of Object.entries(VERSIONS))
	for (const field of Object.keys(KEYS))
		for (const [label, fields] of Object.entries(RESPONSES))
			scenario(`${version}: ${label}, pushed for a route with ${field}, is not for another route of the connection`, config(field, false), async (s) => {
				const ask = await connect(s);
				const origin = await pushed(s, ask, field, fields);
				assert.equal(await asks(origin, ask, field, 'b', 'route'), label === 'public' ? 'for a' : 'from the origin for b');
				if (label === 'public') /* claimed once */
					return;
				assert.equal(await asks(origin, ask, field, 'a'), 'for a');
				assert.equal((await s.gate.access((l) => l.missed)).missed, 'route');
			});

// covers: P-hold-shared P-hold-private
for (const [version, connect] of Object.entries(VERSIONS))
	for (const field of Object.keys(KEYS))
		for (const [label, fields] of Object.entries(RESPONSES))
			scenario(`${version}: ${label}, pushed for a route with ${field}, is not for another route of any connection`, config(field, true), async (s) => {
				const origin = await pushed(s, await connect(s), field, fields);
				const other = await connect(s);
				const is_shared = label === 'public' || (label === 'max-age' && field !== 'authorization');
				assert.equal(await asks(origin, other, field, 'b'), label === 'public' ? 'for a' : 'from the origin for b');
				assert.equal(await asks(origin, other, field, 'a'), is_shared ? 'for a' : 'from the origin for a');
			});
