/* SPDX-License-Identifier: MIT */
/* Tunnels in HTTP/2: the extended CONNECT (RFC 8441), and the stream of a CONNECT (RFC 9113 8.5), on both sides. */
import assert from 'node:assert/strict';
import { answered, outcome } from '../support/faulty.mjs';
import { scenario, section } from '../support/gate.mjs';
import { add, conformance, first, passed, refused, set, tunnel, without } from '../support/site.mjs';

const routes = section('route main', { origin: 'main', upgrade: 'websocket', 'tunnel-half-closed-timeout': '0' });
const takes = { main: { settings: { enableConnectProtocol: 1 } } };
const websocket = (f) => [...set(':method', 'CONNECT')(f), [':protocol', 'websocket']];
const wrong = (name, change) => refused('R392', `RFC 8441 4. ${name}`, (f) => change(websocket(f)), { endStream: false });

conformance('tunnels', [
	{ covers: 'R391', name: 'RFC 8441 3. ENABLE_CONNECT_PROTOCOL is announced', check: (c) => assert.equal(c.first.values.enableConnectProtocol, 1) },
	{ covers: 'R391', name: 'RFC 8441 3. what a client says of it has no effect', given: 'tunnel, asked', ignored: true,
		send: (c) => c.settings({ enableConnectProtocol: 1 }).settings({ enableConnectProtocol: 0 }) },

	/* ---- the request ---- */
	passed('R392', 'RFC 8441 4. an extended CONNECT reaches the origin as one', (f) => add(['sec-websocket-version', '13'], ['origin', 'http://a'])(websocket(f)), (up, c) => {
		assert.deepEqual(up.fields.slice(0, 5).map(({ name, value }) => [name, value]).sort(), [
			[':authority', up.headers[':authority']], [':method', 'CONNECT'], [':path', up.headers[':path']], [':protocol', 'websocket'], [':scheme', c.scheme]]);
		assert.equal(up.headers['sec-websocket-version'], '13');
		assert.equal(up.headers.origin, 'http://a');
		assert.equal(up.endStream, false);
	}, { endStream: false }),
	passed('R393', 'RFC 9110 9.3.6. a content-length in it goes no further', (f) => add(['content-length', '5'], ['x-end', '1'])(websocket(f)), (up) => {
		assert.equal(up.headers['content-length'], undefined);
		assert.equal(up.headers['x-end'], '1');
	}, { endStream: false }),
	wrong('without :scheme', without(':scheme')),
	wrong('without :path', without(':path')),
	wrong('without an authority', without(':authority')),
	wrong('an empty :path', set(':path', '')),
	wrong('a :path without a slash', set(':path', 'chat')),
	wrong('a :path of *', set(':path', '*')),
	wrong('an authority with userinfo', set(':authority', (v) => `me@${v}`)),
	wrong('a Host that differs', add(['host', 'elsewhere.test'])),
	wrong('a Host without the port of :authority', add(['host', 'localhost'])),
	wrong('an empty :protocol', set(':protocol', '')),
	wrong('a :protocol that is a list', set(':protocol', 'websocket, x')),
	wrong('a :protocol with a line in it', set(':protocol', 'websocket\r\nx: y')),
	wrong('a :protocol with a version too many', set(':protocol', 'websocket/1/3')),
	wrong(':protocol twice', first([':protocol', 'websocket'])),
	wrong(':protocol behind a field', (f) => [...without(':protocol')(f), ['x-any', '1'], [':protocol', 'websocket']]),
	...['GET', 'POST', 'OPTIONS', 'connect'].map((method) => wrong(`:protocol with ${method}`, set(':method', method))),
	wrong('with Connection and Upgrade', add(['connection', 'upgrade'], ['upgrade', 'websocket'])),
	refused('R392', '8.5. a CONNECT without :protocol has neither :scheme nor :path', set(':method', 'CONNECT'), { endStream: false }),

	/* ---- the stream ---- */
	...['tunnel, asked', 'tunnel'].flatMap((given) => [
		{ covers: 'R394', name: `8.5. trailers, ${given}`, given, send: (c, r) => c.headers(r.id, { 'x-trailer': '1' }, { endStream: true }), stream: 'PROTOCOL_ERROR' },
		{ covers: 'R394', name: `8.5. HEADERS without END_STREAM, ${given}`, given, send: (c, r) => c.headers(r.id, r.get()), stream: 'PROTOCOL_ERROR' },
		{ covers: 'R394', name: `8.5. WINDOW_UPDATE and PRIORITY, ${given}`, given, send: (c, r) => c.windowUpdate(r.id, 10).priority(r.id), ignored: true },
		{ covers: 'R394', name: `5.5. a frame of an unknown type, ${given}`, given, send: (c, r) => c.frame(0xbe, 0, r.id, Buffer.from('x')), ignored: true },
		{ covers: 'R394', name: `6.4. RST_STREAM, ${given}`, given, check: async (c, r) => {
			c.rst(r.id, 'CANCEL');
			await r.origin.expectReset(r.up.stream, 'CANCEL');
		} },
	]),
	{ covers: 'R393', name: 'what comes before the answer waits for it, the end too', given: 'tunnel, asked', check: async (c, r) => {
		c.data(1, 'early').data(1, '', { endStream: true });
		await c.sync();
		await r.origin.sync();
		assert.deepEqual(r.origin.seen('DATA'), []);
		r.origin.headers(r.up.stream, { ':status': 200 });
		let bytes = '';
		for (let f; !f?.endStream; bytes += f.data)
			f = await r.origin.expect('DATA', { stream: r.up.stream });
		assert.equal(bytes, 'early');
		r.origin.data(r.up.stream, 'late', { endStream: true });
		await c.expect('DATA', { stream: 1, endStream: true });
	} },
	{ covers: 'R393', name: 'what came before a refusal is dropped', given: 'tunnel, asked', check: async (c, r) => {
		c.data(1, 'GET /evil HTTP/1.1\r\nHost: a\r\n\r\n');
		await c.sync();
		r.origin.respond(r.up.stream, { status: 403, body: 'no' });
		const { status, body } = await c.response(1);
		assert.deepEqual([status, String(body)], [403, 'no']);
		c.data(1, 'more', { endStream: true });
		await c.sync();
		await r.origin.sync();
		assert.deepEqual(r.origin.seen('DATA').map((f) => String(f.data)).join(''), '');
		c.drop((f) => f.type === 'RST_STREAM' && f.stream === 1 && f.code === 'NO_ERROR');
	} },
	{ covers: 'R393', name: '8.5. a CONNECT with END_STREAM is a tunnel of one direction', check: async (c, r) => {
		await r.ask({ endStream: true }, tunnel);
		r.origin.headers(r.up.stream, { ':status': 200 }).data(r.up.stream, 'down', { endStream: true });
		assert.equal((await c.expectHead(1)).headers[':status'], '200');
		assert.equal(String((await c.expect('DATA', { stream: 1, endStream: true })).data), 'down');
		if (!r.up.endStream)
			await r.origin.expect('DATA', { stream: r.up.stream, endStream: true });
	} },
	{ covers: 'R393', name: '8.5. and so is an answer with END_STREAM', given: 'tunnel, asked', check: async (c, r) => {
		r.origin.headers(r.up.stream, { ':status': 200 }, { endStream: true });
		const head = await c.expectHead(1);
		assert.equal(head.headers[':status'], '200');
		if (!head.endStream)
			await c.expect('DATA', { stream: 1, endStream: true });
		c.data(1, 'up', { endStream: true });
		assert.equal(String((await r.origin.expect('DATA', { stream: r.up.stream, endStream: true })).data), 'up');
	} },
	{ covers: 'R393', name: '8.5. END_STREAM ends one direction, the client\'s first', given: 'tunnel', check: async (c, r) => {
		c.data(1, 'last', { endStream: true });
		assert.equal(String((await r.origin.expect('DATA', { stream: r.up.stream, endStream: true })).data), 'last');
		for (const text of ['a', 'b']) {
			r.origin.data(r.up.stream, text);
			assert.equal(String((await c.expect('DATA', { stream: 1 })).data), text);
		}
		r.origin.data(r.up.stream, '', { endStream: true });
		await c.expect('DATA', { stream: 1, endStream: true });
	} },
	{ covers: 'R393', name: '8.5. END_STREAM ends one direction, the origin\'s first', given: 'tunnel', check: async (c, r) => {
		r.origin.data(r.up.stream, 'last', { endStream: true });
		await c.expect('DATA', { stream: 1, endStream: true });
		for (const text of ['a', 'b']) {
			c.data(1, text);
			assert.equal(String((await r.origin.expect('DATA', { stream: r.up.stream })).data), text);
		}
		c.data(1, '', { endStream: true });
		await r.origin.expect('DATA', { stream: r.up.stream, endStream: true });
	} },
	{ covers: 'R393', name: '6.9. windows of a tunnel are those of its stream', given: 'tunnel', client: { settings: { initialWindowSize: 5 }, auto: { window: false } }, check: async (c, r) => {
		r.origin.data(r.up.stream, '12345678');
		assert.equal(String((await c.expect('DATA', { stream: 1 })).data), '12345');
		c.windowUpdate(1, 3);
		assert.equal(String((await c.expect('DATA', { stream: 1 })).data), '678');
		c.rst(1, 'CANCEL');
		await r.origin.expectReset(r.up.stream, 'CANCEL');
	} },
], { routes, origins: takes });

/* ---- an origin ---- */

/* A tunnel asked for on stream 1 of a client; `up` is the request at the origin. */
async function asked(s) {
	const client = await s.connect();
	client.request(1, { path: '/chat', ...tunnel }, { endStream: false });
	const origin = await s.accept();
	return { client, origin, up: await origin.expectRequest('/chat') };
}
async function opened(s) {
	const t = await asked(s);
	t.origin.headers(t.up.stream, { ':status': 200 });
	assert.equal((await t.client.expectHead(1)).headers[':status'], '200');
	return t;
}
const origin = (name, body, more = {}) => scenario(`an origin's tunnels: ${name}`, { routes, origins: takes, origin: { push: 'accept' }, ...more }, body);

/* covers: R399 */
origin('RFC 8441 3. one that has announced nothing gets no :protocol', async (s) => {
	const client = await s.connect();
	client.request(1, { path: '/chat', ...tunnel }, { endStream: false });
	await answered(client, 1, 501, 'http_upgrade_failed');
	assert.deepEqual(s.server.connections.flatMap((c) => c.seen('HEADERS')), []);
}, { origins: { main: {} } });

/* covers: R397 */
origin('RFC 9110 9.3.6. any 2xx opens it, without content-length', async (s) => {
	const t = await asked(s);
	t.origin.headers(t.up.stream, { ':status': 103, link: '</a>; rel=preload' });
	t.origin.headers(t.up.stream, { ':status': 201, 'content-length': '0', 'x-end': '1' });
	const f = await outcome(t.client, 1);
	assert.equal(f.headers[':status'], '201');
	assert.equal(f.headers['content-length'], undefined);
	assert.equal(f.headers['x-end'], '1');
	assert.equal(f.endStream, false);
	t.origin.data(t.up.stream, 'more', { endStream: true });
	assert.equal(String((await t.client.expect('DATA', { stream: 1, endStream: true })).data), 'more');
	t.client.data(1, '', { endStream: true });
	await t.origin.expect('DATA', { stream: t.up.stream, endStream: true });
});

/* covers: R397 */
origin('8.5. another answer is a response, with its length, body and trailers', async (s) => {
	const t = await asked(s);
	t.origin.headers(t.up.stream, { ':status': 403, 'content-length': '2', 'x-why': 'no' }).data(t.up.stream, 'no')
		.headers(t.up.stream, { 'x-trailer': '1' }, { endStream: true });
	const r = await t.client.response(1);
	assert.equal(r.status, 403);
	assert.equal(r.headers['x-why'], 'no');
	assert.equal(String(r.body), 'no');
});

/* covers: R398 */
for (const [what, offend] of [
	['trailers', (o, up) => o.headers(up.stream, { 'x-trailer': '1' }, { endStream: true })],
	['a second head', (o, up) => o.headers(up.stream, { ':status': 200 })],
	['a promise that crosses our ENABLE_PUSH=0', (o, up) => o.push(up, 2, '/pushed')],
])
	origin(`8.5. ${what} in it costs its stream`, async (s) => {
		const t = await opened(s);
		offend(t.origin, t.up);
		await t.origin.expectReset(t.up.stream, 'PROTOCOL_ERROR');
		await t.client.expectReset(1);
		await t.origin.sync();
		assert.deepEqual(t.origin.seen('GOAWAY').map((f) => f.code), []);
		t.client.request(3, { path: '/after' });
		const next = await s.accept();
		next.respond((await next.expectRequest('/after')).stream, { body: 'after' });
		assert.equal(String((await t.client.response(3)).body), 'after');
	}, what.includes('promise') ? { origins: { main: { ...takes.main, auto: { settings: false } } } } : {});

/* Connections for tunnels take no pushes: any other promise is against ENABLE_PUSH=0. covers: R398 R6 */
origin('6.6. a promise costs the connection', async (s) => {
	const t = await opened(s);
	await t.origin.sync();
	t.origin.push(t.up, 2, '/pushed');
	assert.equal((await t.origin.expectConnectionError('PROTOCOL_ERROR')).debug, 'promise-while-disabled');
	await t.client.expectReset(1, 'INTERNAL_ERROR');
});

/* covers: R396 */
origin('RFC 8441 3. a setting that is taken back costs the connection, and the tunnel on it', async (s) => {
	const t = await opened(s);
	t.origin.settings({ enableConnectProtocol: 0 });
	await t.origin.expectConnectionError('PROTOCOL_ERROR');
	await t.client.expectReset(1);
});
