/* SPDX-License-Identifier: MIT */
/*
 * Requests as messages (RFC 9113 8, RFC 9110, RFC 9218): what is malformed costs its stream and is
 * never seen by the origin; what an intermediary must add, take away and pass on.
 */
import assert from 'node:assert/strict';
import { u32 } from '../support/frames.mjs';
import { add, conformance, first, passed, refused, set, without } from '../support/site.mjs';

const entries = (r, path) => Object.entries(r.get(path));
const values = (f, name) => f.fields.filter((x) => x.name === name).map((x) => x.value);

/* Trailers behind a body. */
const trailers = (name, fields) => ({
	covers: 'R129', name: `8.1. trailers with ${name}`, given: 'open', stream: 'PROTOCOL_ERROR',
	send: (c) => c.data(1, 'body').headers(1, fields, { endStream: true }),
});
const post = add(['content-type', 'text/plain']);
/* An upload that says `length` and is `body`. */
const upload = (name, length, ...body) => ({
	covers: 'R128', name: `8.1.1. ${name}`, stream: 'PROTOCOL_ERROR', on: 1, send: async (c, r) => {
		await r.ask({ endStream: false }, { method: 'POST', 'content-length': length });
		body.forEach((text, i) => c.data(1, text, { endStream: i === body.length - 1 }));
		await r.origin.expectReset(r.up.stream);
		assert.deepEqual(r.origin.seen('DATA', { stream: r.up.stream, endStream: true }), [], 'completed at the origin');
	},
});

/* Two responses that wait for window, with these priority fields: the second request's goes first. */
async function secondGoesFirst(c, r, first, second) {
	const paths = [r.site.path(), r.site.path()];
	c.headers(5, { ...r.get(paths[0]), priority: first }, { endStream: true }).headers(7, { ...r.get(paths[1]), priority: second }, { endStream: true });
	for (const path of paths) {
		const { origin, up } = await r.site.request(path);
		origin.headers(up.stream, { ':status': 200 }).data(up.stream, path, { endStream: true });
	}
	await c.expectHead(5);
	await c.expectHead(7);
	await r.site.settle();
	c.settings({ initialWindowSize: 1000 });
	const late = await c.expect('DATA', { stream: 5 });
	const soon = await c.expect('DATA', { stream: 7 });
	assert.ok(soon.seq < late.seq);
}

conformance('a request', [
	/* ---- names and values; each byte: tests/unit/http/bytes_test.c ---- */
	refused('R122', '8.2.1. with an upper-case name', add(['X-Upper', '1'])),
	refused('R122', '8.2.1. with an empty name', add(['', '1'])),
	refused('R122', '8.2.1. with a space in a name', add(['x y', '1'])),
	refused('R122', '8.2.1. with a colon in a name', add(['x:y', '1'])),
	refused('R122', '8.2.1. with a byte of 0x7f in a name', add(['x\x7f', '1'])),
	refused('R122', '8.2.1. with a byte of 0x80 in a name', add(['x\x80', '1'])),
	refused('R123', '8.2.1. with NUL in a value', add(['x', 'a\0b'])),
	refused('R123', '8.2.1. with LF in a value', add(['x', 'a\nb'])),
	refused('R123', '8.2.1. with CR in a value', add(['x', 'a\rb'])),
	refused('R123', '8.2.1. with a space before a value', add(['x', ' a'])),
	refused('R123', '8.2.1. with a space behind a value', add(['x', 'a '])),
	refused('R123', '8.2.1. with a tab before a value', add(['x', '\ta'])),
	refused('R123', '8.2.1. with a tab behind a value', add(['x', 'a\t'])),

	/* ---- fields of one connection ---- */
	...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'].map((name) =>
		refused('R124', `8.2.2. with ${name}`, add([name, name === 'transfer-encoding' ? 'chunked' : 'x']))),
	refused('R124', '8.2.2. with te: gzip', add(['te', 'gzip'])),
	refused('R124', '8.2.2. with te: trailers, deflate', add(['te', 'trailers, deflate'])),
	refused('R124', '8.2.2. with an empty te', add(['te', ''])),
	refused('R124', '8.2.2. with te: trailers;q=0.5', add(['te', 'trailers;q=0.5'])),
	passed('R124 R135', '8.2.2. with te: trailers passes, and is passed on', add(['te', 'trailers']), (up) => assert.equal(up.headers.te, 'trailers')),

	/* ---- pseudo-fields ---- */
	refused('R125', '8.3. with an unknown pseudo-field', first([':unknown', 'x'])),
	refused('R125', '8.3. with an empty pseudo-field name', first([':', 'x'])),
	refused('R125', '8.3. with a pseudo-field of responses', first([':status', '200'])),
	refused('R125', '8.3. with a pseudo-field behind a field', (f) => [...f.slice(0, 3), ['x', 'y'], ...f.slice(3)]),
	refused('R125', '8.3. with all pseudo-fields behind a field', first(['x', 'y'])),
	...[':method', ':scheme', ':path', ':authority'].map((name) =>
		refused('R125', `8.3. with ${name} twice`, (f) => [...f, f.find(([n]) => n === name)])),
	...[':method', ':scheme', ':path'].map((name) => refused('R125', `8.3.1. without ${name}`, without(name))),
	...[':method', ':scheme', ':path', ':authority'].map((name) => refused('R125', `8.3.1. with an empty ${name}`, set(name, ''))),
	refused('R125', '8.3.1. of no fields at all', () => []),
	refused('R125', '8.3. with an upper-case pseudo-field', (f) => f.map(([n, v]) => [n === ':method' ? ':METHOD' : n, v])),
	passed('R125', '8.3. with pseudo-fields in another order passes', (f) => [...f].reverse(), () => {}),

	refused('R126', '9110 9.1. with a :method that is no token', set(':method', 'GET/1')),
	refused('R126', '8.3.1. with a :path without slash', set(':path', 'path')),
	refused('R126', '8.3.1. with a :path in absolute form', set(':path', 'http://localhost/')),
	refused('R126', '8.3.1. with a :path of * for GET', set(':path', '*')),
	refused('R126', '8.3.1. with a fragment in :path', set(':path', '/#x')),
	refused('R126', '8.3.1. with a space in :path', set(':path', '/a b')),
	refused('R126', '3986 3.1. with a :scheme that is none', set(':scheme', '1http')),
	passed('R126', '9110 9.1. with a method of its own passes', set(':method', 'X-OWN'), (up) => assert.equal(up.headers[':method'], 'X-OWN')),
	passed('R126', '9110 9.1. with a method in lower case is another method, and passes', set(':method', 'get'), (up) => assert.equal(up.headers[':method'], 'get')),
	{ covers: 'R126', name: '9110 4.2. with a scheme that is not served gets 421', check: async (c, r) => {
		c.headers(5, set(':scheme', 'gopher')(entries(r)), { endStream: true });
		assert.equal((await c.response(5)).status, 421);
		c.headers(7, without(':authority')(set(':scheme', 'urn')(entries(r))), { endStream: true });
		assert.equal((await c.response(7)).status, 421);
	} },

	refused('R127', '8.3.1. with neither :authority nor host', without(':authority')),
	refused('R127', '8.3.1. with userinfo in :authority', (f) => f.map(([n, v]) => [n, n === ':authority' ? `me@${v}` : v])),
	refused('R127', '8.3.1. with a host unlike :authority', add(['host', 'elsewhere.test'])),
	refused('R127', '9110 7.2. with two hosts', (f) => [...without(':authority')(f), ['host', 'localhost'], ['host', 'localhost']]),
	refused('R127', '9110 7.2. with a host that is a list', (f) => [...without(':authority')(f), ['host', 'localhost, elsewhere.test']]),
	refused('R127', '9110 7.2. with an empty host', (f) => [...without(':authority')(f), ['host', '']]),
	passed('R127', '8.3.1. with host alone passes, as :authority', (f) => [...f.slice(0, 2), ...f.slice(3), ['host', f[2][1]]], (up, c) => {
		assert.equal(up.headers[':authority'], c.authority);
		assert.equal(up.headers.host, undefined);
	}),
	passed('R127', '8.3.1. with host and :authority alike passes, with one of them', (f) => [...f, ['host', f[2][1]]], (up, c) => {
		assert.equal(up.headers[':authority'], c.authority);
		assert.equal(up.headers.host, undefined);
	}),

	/* ---- content-length ---- */
	refused('R128', '9110 8.6. with two different content-lengths', add(['content-length', '1'], ['content-length', '2']), { endStream: false }),
	...['', '-1', '+1', '0x1', '1 ', '1,2', '1.0', 'one', '18446744073709551616'].map((value) =>
		refused('R128', `9110 8.6. with a content-length of "${value}"`, add(['content-length', value]), { endStream: false })),
	refused('R128', '8.1.1. that ends and has a content-length', add(['content-length', '1'])),
	upload('a body shorter than its content-length', 10, 'short'),
	upload('a body longer than its content-length', 3, 'long'),
	upload('a body longer than its content-length by its second frame', 4, 'long', 'er'),
	upload('a body with a content-length of 0', 0, 'x'),
	upload('an empty body with a content-length', 1, ''),
	{ covers: 'R128', name: '8.1.1. a body longer than its content-length, refused before it ends', stream: 'PROTOCOL_ERROR', on: 1, send: async (c, r) => {
		await r.ask({ endStream: false }, { method: 'POST', 'content-length': 3 });
		c.data(1, 'long');
		await r.origin.expectReset(r.up.stream);
		assert.deepEqual(r.origin.seen('DATA', { stream: r.up.stream }), [], 'some of it reached the origin');
	} },
	{ covers: 'R128', name: '8.1.1. a body shorter than its content-length, ended by trailers', stream: 'PROTOCOL_ERROR', on: 1, send: async (c, r) => {
		await r.ask({ endStream: false }, { method: 'POST', 'content-length': 10 });
		c.data(1, 'short').headers(1, { x: 'y' }, { endStream: true });
		await r.origin.expectReset(r.up.stream);
	} },
	passed('R128', '9110 8.6. with equal content-lengths passes with one', (f) => add(['content-length', '0'], ['content-length', '0'])(set(':method', 'POST')(f)),
		(up) => assert.deepEqual(values(up, 'content-length'), ['0'])),
	{ covers: 'R128', name: '8.1.1. padding is no part of content-length', check: async (c, r) => {
		await r.ask({ endStream: false }, { method: 'POST', 'content-length': 4 });
		c.data(1, 'bo', { padding: 100 }).data(1, '', { padding: 10 }).data(1, 'dy', { padding: 0, endStream: true });
		await r.origin.expect('DATA', { stream: r.up.stream, endStream: true });
		r.origin.respond(r.up.stream, { status: 204 });
		await c.response(1);
	} },

	/* ---- trailers ---- */
	...[':method', ':path', ':authority', ':scheme', ':status', ':unknown'].map((name) => trailers(name, { [name]: 'x' })),
	trailers('an upper-case name', { Upper: 'x' }),
	trailers('a control byte', { x: 'a\nb' }),
	trailers('connection', { connection: 'close' }),
	trailers('transfer-encoding', { 'transfer-encoding': 'chunked' }),
	trailers('content-length', { 'content-length': '4' }),
	trailers('host', { host: 'elsewhere.test' }),
	{ covers: 'R129', name: '8.1. a second block without END_STREAM', given: 'open', stream: 'PROTOCOL_ERROR', send: (c) => c.headers(1, { x: 'y' }) },
	{ covers: 'R129', name: '8.1. DATA behind trailers', given: 'open', stream: 'STREAM_CLOSED',
		send: (c) => c.headers(1, { x: 'y' }, { endStream: true }).data(1, 'x') },
	{ covers: 'R129', name: '8.1. trailers behind trailers', given: 'open', stream: 'STREAM_CLOSED',
		send: (c) => c.headers(1, { x: 'y' }, { endStream: true }).headers(1, { x: 'y' }, { endStream: true }) },
	{ covers: 'R129', name: '8.1. trailers reach the origin, field by field', given: 'open', check: async (c, r) => {
		c.data(1, 'body').headers(1, [['x-sum', '1'], ['x-sum', '2'], ['x-empty', '']], { endStream: true });
		const f = await r.origin.take((x) => x.type === 'HEADERS' && x.stream === r.up.stream, 'trailers');
		assert.deepEqual(f.fields.map((x) => [x.name, x.value]), [['x-sum', '1'], ['x-sum', '2'], ['x-empty', '']]);
		r.origin.respond(r.up.stream, { status: 204 });
		await c.response(1);
	} },
	{ covers: 'R129', name: '8.1. trailers of no field at all are the end', given: 'open', check: async (c, r) => {
		c.data(1, 'body').headers(1, [], { endStream: true });
		await r.origin.take((x) => x.stream === r.up.stream && x.endStream, 'the end');
		r.origin.respond(r.up.stream, { status: 204 });
		await c.response(1);
	} },

	/* ---- CONNECT ---- */
	{ covers: 'R130', name: '9110 9.3.6. CONNECT gets 501 from a gateway', check: async (c) => {
		c.headers(5, { ':method': 'CONNECT', ':authority': 'localhost:443' }, { endStream: true });
		assert.equal((await c.response(5)).status, 501);
	} },
	refused('R130', '8.5. CONNECT with :scheme and :path', set(':method', 'CONNECT'), { endStream: false }),
	refused('R130', '8.5. CONNECT with :scheme', () => [[':method', 'CONNECT'], [':authority', 'localhost:443'], [':scheme', 'http']], { endStream: false }),
	refused('R130', '8.5. CONNECT without :authority', () => [[':method', 'CONNECT']], { endStream: false }),
	refused('R130', '8.5. CONNECT without a port', () => [[':method', 'CONNECT'], [':authority', 'localhost']], { endStream: false }),
	refused('R130', '8441 4. extended CONNECT, which we have not announced', (f) => [...set(':method', 'CONNECT')(f), [':protocol', 'websocket']], { endStream: false }),
	refused('R130', '8441 4. :protocol with another method', add([':protocol', 'websocket'])),
	{ covers: 'R130', name: '8441 3. we do not announce extended CONNECT', check: (c) => assert.equal(c.first.values.enableConnectProtocol, undefined) },

	/* ---- an intermediary's duties ---- */
	passed('R133', '9110 7.6.3. gets our Via', post, (up) => assert.match(up.headers.via, /^2 \S+$/)),
	passed('R133', '9110 7.6.3. keeps the Via of others, ours behind', add(['via', '1.1 first, 1.0 second (x)']), (up) =>
		assert.match(values(up, 'via').join(', '), /^1\.1 first, 1\.0 second \(x\), 2 \S+$/)),
	{ covers: 'R133', name: '9110 7.6.3. that has our Via already is in a loop: 508', check: async (c, r) => {
		await r.ask();
		const [, ours] = r.up.headers.via.split(' ');
		r.origin.respond(r.up.stream, { status: 204 });
		assert.match((await c.response(1)).headers.via, /^2 \S+$/);
		c.headers(5, add(['via', `1.1 other, 2 ${ours}`])(entries(r)), { endStream: true });
		assert.equal((await c.response(5)).status, 508);
	} },
	...['TRACE', 'OPTIONS'].flatMap((method) => [
		passed('R134', `9110 7.6.2. ${method} with max-forwards: 5 arrives with 4`, (f) => add(['max-forwards', '5'])(set(':method', method)(f)),
			(up) => assert.deepEqual(values(up, 'max-forwards'), ['4'])),
		passed('R134', `9110 7.6.2. ${method} with max-forwards: 1 arrives with 0`, (f) => add(['max-forwards', '1'])(set(':method', method)(f)),
			(up) => assert.deepEqual(values(up, 'max-forwards'), ['0'])),
		{ covers: 'R134', name: `9110 7.6.2. ${method} with max-forwards: 0 is answered here`, check: async (c, r) => {
			const path = r.site.path();
			c.headers(5, add(['max-forwards', '0'])(set(':method', method)(entries(r, path))), { endStream: true });
			const { status, headers } = await c.response(5);
			assert.equal(status, method === 'OPTIONS' ? 204 : 501);
			assert.equal(headers.allow, method === 'OPTIONS' ? 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' : undefined);
			await r.goesOn();
			assert.equal(r.site.came(path), false);
		} },
	]),
	passed('R134', '9110 7.6.2. GET with max-forwards keeps it', add(['max-forwards', '0']), (up) => assert.deepEqual(values(up, 'max-forwards'), ['0'])),
	passed('R135', '9110 7.6. arrives field by field, in order, unknown ones too', add(['x-b', '2'], ['x-a', '1'], ['x-b', ''], ['unheard-of', '~'], ['x-b', '3']), (up) => {
		assert.deepEqual(up.fields.filter((f) => /^x-(?!forwarded-|real-ip)|unheard/.test(f.name)).map((f) => `${f.name}=${f.value}`), ['x-b=2', 'x-a=1', 'x-b=', 'unheard-of=~', 'x-b=3']);
	}),
	passed('R135', '8.2.3. keeps its cookies, in pieces or whole', add(['cookie', 'a=1'], ['cookie', 'b=2; c=3']), (up) =>
		assert.equal(values(up, 'cookie').join('; '), 'a=1; b=2; c=3')),
	{ covers: 'R135', name: '9110 7.7. keeps its content, byte by byte', check: async (c, r) => {
		const all = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7 + (i >> 8)) & 255));
		await r.ask({ endStream: false }, { method: 'POST' });
		for (let at = 0, n = 1; at < all.length; at += n, n = n * 2 + 1)
			c.data(1, all.subarray(at, at + n), { padding: n % 3 ? undefined : n % 200 });
		c.data(1, '', { endStream: true });
		const parts = [];
		for (let f; !f?.endStream;) {
			f = await r.origin.expect('DATA', { stream: r.up.stream });
			parts.push(f.data);
		}
		assert.ok(Buffer.concat(parts).equals(all));
		r.origin.respond(r.up.stream, { body: all });
		assert.ok((await c.response(1)).body.equals(all));
	} },

	/* ---- what a client sees of responses ---- */
	{ covers: 'R136', name: '9110 10.1.1. with expect: 100-continue waits for the origin\'s word', check: async (c, r) => {
		await r.ask({ endStream: false }, { method: 'POST', expect: '100-continue' });
		assert.equal(r.up.headers.expect, '100-continue');
		r.origin.headers(r.up.stream, { ':status': 100 });
		assert.equal((await c.expectHead(1)).headers[':status'], '100');
		c.data(1, 'now', { endStream: true });
		await r.origin.expect('DATA', { stream: r.up.stream, endStream: true });
		r.origin.respond(r.up.stream, { body: 'done' });
		assert.equal((await c.response(1)).status, 200);
	} },
	{ covers: 'R136', name: '9110 10.1.1. with expect: 100-continue may get a final response instead', check: async (c, r) => {
		await r.ask({ endStream: false }, { method: 'POST', expect: '100-continue' });
		r.origin.respond(r.up.stream, { status: 417, body: 'no' });
		assert.equal((await c.response(1)).status, 417);
		c.data(1, '', { endStream: true });
	} },
	{ covers: 'R136', name: '9110 15.2. gets every interim response, of unknown status too, before the final one', given: 'half-closed (remote)', check: async (c, r) => {
		for (const status of [100, 102, 103, 104, 199])
			r.origin.headers(r.up.stream, { ':status': status, 'x-n': status });
		r.origin.respond(r.up.stream, { body: 'x' });
		const answer = await c.response(1);
		assert.deepEqual(answer.interim.map((f) => f.headers[':status']), ['100', '102', '103', '104', '199']);
		assert.equal(answer.status, 200);
	} },
	{ covers: 'R137', name: '9110 9.3.2. HEAD gets no DATA, and the content-length of GET', check: async (c, r) => {
		await r.ask({}, { method: 'HEAD' });
		r.origin.respond(r.up.stream, { fields: { 'content-length': 1000 } });
		const f = await c.expectHead(1);
		assert.equal(f.headers['content-length'], '1000');
		assert.equal(f.endStream, true);
	} },
	...[[204, undefined], [304, '55']].map(([status, length]) => ({ covers: 'R137', name: `9110 6.4.1. a ${status} ends with its head`, given: 'half-closed (remote)',
		check: async (c, r) => {
			r.origin.respond(r.up.stream, { status, fields: length ? { 'content-length': length } : {} });
			const f = await c.expectHead(1);
			assert.equal(f.endStream, true);
			assert.equal(f.headers['content-length'], length);
		} })),
	{ covers: 'R137', name: '9110 9.3.2. our own answer to HEAD has no DATA', check: async (c, r) => {
		c.headers(5, [[':method', 'HEAD'], [':scheme', 'gopher'], [':authority', c.authority], [':path', '/']], { endStream: true });
		const f = await c.expectHead(5);
		assert.equal(f.headers[':status'], '421');
		assert.equal(f.endStream, true);
	} },
	{ covers: 'R137', name: '8.3.2. a response begins with :status alone of the pseudo-fields', given: 'half-closed (remote)', check: async (c, r) => {
		r.origin.respond(r.up.stream, { fields: { 'x-a': '1' }, body: 'x' });
		const { head } = await c.response(1);
		assert.equal(head.fields[0].name, ':status');
		assert.equal(head.fields.filter((f) => f.name.startsWith(':')).length, 1);
	} },

	/* ---- RFC 9218 ---- */
	passed('R138', '9218 5. keeps its priority field', add(['priority', 'u=1, i']), (up) => assert.equal(up.headers.priority, 'u=1, i')),
	passed('R138', '9218 4. with a priority that is none passes with it', add(['priority', '((']), (up) => assert.equal(up.headers.priority, '((')),
	{ covers: 'R138', name: '9218 10. the more urgent of two responses goes first', client: { settings: { initialWindowSize: 0 }, auto: { window: false } }, check: (c, r) => secondGoesFirst(c, r, 'u=6', 'u=1') },
	{ covers: 'R138', name: '9218 7. PRIORITY_UPDATE before a request counts for it, and above its field', client: { settings: { initialWindowSize: 0 }, auto: { window: false } },
		check: async (c, r) => {
			c.frame('PRIORITY_UPDATE', 0, 0, Buffer.concat([u32(7), Buffer.from('u=0')]));
			await secondGoesFirst(c, r, 'u=2', 'u=7');
		} },
	{ covers: 'R139', name: '9218 7.1. PRIORITY_UPDATE of stream 0', connection: 'PROTOCOL_ERROR',
		send: (c) => c.frame('PRIORITY_UPDATE', 0, 0, Buffer.from('\0\0\0\0u=1')) },
	{ covers: 'R139', name: '9218 7.1. PRIORITY_UPDATE of a push that was never promised', connection: 'PROTOCOL_ERROR',
		send: (c) => c.frame('PRIORITY_UPDATE', 0, 0, Buffer.from('\0\0\0\x02u=1')) },
	{ covers: 'R139', name: '9218 7.1. PRIORITY_UPDATE with a value that cannot be read', ignored: true,
		send: (c) => c.frame('PRIORITY_UPDATE', 0, 0, Buffer.from('\0\0\0\x05\xff((')) },
	{ covers: 'R139', name: '9218 7.1. PRIORITY_UPDATEs of as many streams as there may be', ignored: true, send: (c) => {
		for (let id = 1001; id < 1201; id += 2)
			c.frame('PRIORITY_UPDATE', 0, 0, Buffer.concat([u32(id), Buffer.from('u=1')])).frame('PRIORITY_UPDATE', 0, 0, Buffer.concat([u32(id), Buffer.from('u=2')]));
	} },
	{ covers: 'R139', name: '9218 7.1. PRIORITY_UPDATEs of more idle streams than there may be', connection: 'PROTOCOL_ERROR', send: (c) => {
		for (let id = 1001; id < 1203; id += 2)
			c.frame('PRIORITY_UPDATE', 0, 0, Buffer.concat([u32(id), Buffer.from('u=1')]));
	} },
	{ covers: 'R139', name: '9218 7.1. PRIORITY_UPDATEs of idle streams and streams under way, more than there may be', given: 'open', connection: 'PROTOCOL_ERROR', send: (c) => {
		for (let id = 1001; id < 1201; id += 2)
			c.frame('PRIORITY_UPDATE', 0, 0, Buffer.concat([u32(id), Buffer.from('u=1')]));
	} },
]);
