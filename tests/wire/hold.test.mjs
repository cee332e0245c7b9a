/* SPDX-License-Identifier: MIT */
/* Held responses on the wire: what an origin pushed is kept for the client's own request (RFC 9111, RFC 9211). */
import assert from 'node:assert/strict';
import { scenario, section } from '../support/gate.mjs';

const HOLD = { extra: section('push hold', { action: 'hold' }) };
const FRESH = { 'cache-control': 'max-age=60' };
const refusing = { client: { settings: { enablePush: 0 } } };

/* A page whose origin has pushed /a.css whole; the client has refused pushes. */
async function held(s, { request = {}, fields = FRESH, promise = {}, body = 'css' } = {}) {
	const { client, origin, up } = await s.open({ ...refusing, request });
	origin.push(up, 2, '/a.css', promise);
	origin.respond(2, { fields, body });
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	await s.settle(client, origin);
	return { client, origin };
}

/* The next request that the origin gets, answered. */
async function goesToTheOrigin(client, origin, stream, path = '/a.css') {
	const asked = await origin.expectRequest(path);
	origin.respond(asked.stream, { body: 'from the origin' });
	assert.equal(String((await client.response(stream)).body), 'from the origin');
}

// covers: P-hold-claim P-hold-status
scenario('a pushed response answers the request of a client that refused the push', HOLD, async (s) => {
	const { client, origin } = await held(s);
	await client.expectNone('PUSH_PROMISE');
	client.request(3, { path: '/a.css' });
	const answer = await client.response(3);
	assert.equal(String(answer.body), 'css');
	assert.match(answer.headers['cache-status'], /^pushgate.*; hit; detail=held$/);
	assert.ok(Number(answer.headers.age) >= 0);
	await s.settle(client, origin);
	assert.equal(origin.seen('HEADERS').length, 0, 'the origin saw the resource once');
	const line = await s.gate.access((l) => l.push);
	assert.equal(line.verdict, 'hold');
	client.request(5, { path: '/a.css' }); // claimed once
	await goesToTheOrigin(client, origin, 5);
});

// covers: P-hold-claim P-hold-status
scenario('a response in flight is joined', HOLD, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css').headers(2, { ':status': 200, ...FRESH }).data(2, 'first ');
	await s.settle(client, origin);
	client.request(3, { path: '/a.css' });
	const head = await client.expectHead(3);
	assert.match(head.headers['cache-status'], /fwd=miss; collapsed; detail=held/);
	assert.equal(String((await client.expect('DATA', { stream: 3 })).data), 'first ');
	origin.data(2, 'last', { endStream: true });
	assert.equal(String((await client.expect('DATA', { stream: 3 })).data), 'last');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
});

// covers: P-hold-claim
scenario('a joined response that the origin resets is reset', HOLD, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css').headers(2, { ':status': 200, ...FRESH }).data(2, 'half');
	await s.settle(client, origin);
	client.request(3, { path: '/a.css' });
	await client.expectHead(3);
	origin.rst(2, 'INTERNAL_ERROR');
	await client.expectReset(3, 'INTERNAL_ERROR');
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
});

// covers: P-hold-private
for (const [name, mine, theirs] of [
	['cookie', { cookie: 'user=one' }, { cookie: 'user=two' }],
	['no cookie', { cookie: 'user=one' }, {}],
	['authorization', { authorization: 'Basic b25l' }, { authorization: 'Basic dHdv' }],
]) {
	scenario(`another user never gets what was pushed for this one: ${name}`, HOLD, async (s) => {
		const { client, origin } = await held(s, { request: mine, body: 'secret' });
		client.request(3, { path: '/a.css', ...theirs });
		await goesToTheOrigin(client, origin, 3);
		client.request(5, { path: '/a.css', ...mine });
		assert.equal(String((await client.response(5)).body), 'secret');
	});
}
scenario('another connection never gets it', HOLD, async (s) => {
	const { origin } = await held(s, { fields: { 'cache-control': 'public, max-age=60' } });
	const other = await s.connect(refusing.client);
	other.request(1, { path: '/a.css' });
	await goesToTheOrigin(other, origin, 1);
});
scenario('nothing is held on a listener for many users', {
	...HOLD, listen: { clients: 'shared' }, origin: { push: 'accept' },
}, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css');
	await origin.expectReset(2, 'CANCEL');
	assert.equal((await s.gate.access((l) => l.push)).reason, 'hold-shared');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
});

// covers: P-hold-shared
scenario('what a shared cache may store serves all clients where that is switched on', {
	...HOLD, server: { 'hold-shared': 'yes' },
}, async (s) => {
	const { origin } = await held(s, { fields: { 'cache-control': 'public, max-age=60' } });
	for (const n of [1, 2]) {
		const other = await s.connect(refusing.client);
		other.request(1, { path: '/a.css' });
		assert.equal(String((await other.response(1)).body), 'css', `client ${n}`);
	}
	assert.equal(origin.seen('HEADERS').length, 0);
});

// covers: P-hold-no-store
scenario('no-store is never held', HOLD, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css').headers(2, { ':status': 200, 'cache-control': 'no-store' });
	await origin.expectReset(2, 'CANCEL');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	client.request(3, { path: '/a.css' });
	await goesToTheOrigin(client, origin, 3);
});

// covers: P-hold-claim
for (const [name, fields, request] of [
	['a field that Vary names', { ...FRESH, vary: 'accept-language' }, { 'accept-language': 'fr' }],
	['Cache-Control: no-cache', FRESH, { 'cache-control': 'no-cache' }],
	['Range', FRESH, { range: 'bytes=0-0' }],
	['If-None-Match of another', { ...FRESH, etag: '"a"' }, { 'if-none-match': '"b"' }],
]) {
	scenario(`a request goes to the origin because of ${name}`, HOLD, async (s) => {
		const { client, origin } = await held(s, { fields });
		client.request(3, { path: '/a.css', ...request });
		await goesToTheOrigin(client, origin, 3);
	});
}
scenario('an unsafe method that succeeds drops what is held for its URI', HOLD, async (s) => {
	const { client, origin } = await held(s);
	client.request(3, { path: '/a.css', method: 'POST' });
	const asked = await origin.expectRequest('/a.css');
	origin.respond(asked.stream, { status: 204 });
	await client.response(3);
	client.request(5, { path: '/a.css' });
	await goesToTheOrigin(client, origin, 5);
});

// covers: P-hold-bounds
scenario('what nobody asks for is dropped in time, and cancelled at the origin', {
	...HOLD, server: { 'hold-max-age': '1s' },
}, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css').headers(2, { ':status': 200, ...FRESH }).data(2, 'never ends');
	await origin.expectReset(2, 'CANCEL');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	assert.equal((await s.gate.access((l) => l.push)).end_reason, 'expired');
});
scenario('more than may be held is refused, and the page goes on', {
	...HOLD, server: { 'hold-max-count': 2 },
}, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	for (const [i, id] of [2, 4, 6].entries())
		origin.push(up, id, `/${i}.css`).headers(id, { ':status': 200, ...FRESH }).data(id, 'x');
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	await s.settle(client, origin);
	assert.equal(origin.seen('RST_STREAM').length, 1);
});

// covers: P-hint-once P-hold-claim
scenario('hint+hold tells the browser what is held for it', {
	extra: section('push both', { action: 'hint+hold' }),
}, async (s) => {
	const { client, origin, up } = await s.open({ ...refusing, request: { 'sec-fetch-mode': 'navigate' } });
	origin.push(up, 2, '/a.css');
	origin.respond(2, { fields: FRESH, body: 'css' });
	const early = await client.expectHead(1);
	assert.equal(early.headers[':status'], '103');
	assert.equal(early.headers.link, '</a.css>; rel=preload; as=style');
	client.request(3, { path: '/a.css' });
	assert.equal(String((await client.response(3)).body), 'css');
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	assert.equal(origin.seen('HEADERS').length, 0);
});
