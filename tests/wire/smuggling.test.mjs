/* SPDX-License-Identifier: MIT */
/*
 * Request smuggling (RFC 9113 10.3): whatever a client writes, one request in gives at most one out,
 * and what reaches the origin is harmless.
 */
import assert from 'node:assert/strict';
import { scenario } from '../support/gate.mjs';

const plain = (client) => [
	[':method', 'GET'], [':scheme', 'http'], [':authority', client.authority], [':path', '/in'],
];
const set = (name, value) => (f) => f.map(([n, v]) => [n, n === name ? value : v]);
const add = (...more) => (f) => [...f, ...more];

/* Must be refused: nothing reaches the origin. */
const bad = {
	'CR LF in a value': add(['x', 'a\r\nhost: evil']),
	'LF in a value': add(['x', 'a\nb']),
	'CR in a value': add(['x', 'a\rb']),
	'NUL in a value': add(['x', 'a\0b']),
	'a leading space in a value': add(['x', ' a']),
	'a trailing space in a value': add(['x', 'a ']),
	'a space in a name': add(['x y', 'z']),
	'a colon in a name': add(['transfer-encoding: chunked\r\nx', 'z']),
	'CR LF in a name': add(['x\r\ny', 'z']),
	'an empty name': add(['', 'z']),
	'a name with an octet above 127': add(['x\xe9', 'z']),
	'a space in :method': set(':method', 'GET /x'),
	'CR LF in :method': set(':method', 'GET\r\n'),
	'a space in :path': set(':path', '/in HTTP/1.1'),
	'CR LF in :path': set(':path', '/in\r\nx: y'),
	'a tab in :path': set(':path', '/in\tx'),
	'an octet of 127 in :path': set(':path', '/in\x7f'),
	'a :path without slash': set(':path', 'in'),
	'a :path of * for GET': set(':path', '*'),
	'a space in :authority': set(':authority', 'local host'),
	'CR LF in :authority': set(':authority', 'localhost\r\nx: y'),
	'a slash in :authority': set(':authority', 'localhost/x'),
	'userinfo in :authority': set(':authority', 'me@localhost'),
	'a port that is no number': set(':authority', 'localhost:x'),
	'a space in :scheme': set(':scheme', 'http x'),
	'transfer-encoding': add(['transfer-encoding', 'chunked']),
	'two different content-lengths': add(['content-length', '0'], ['content-length', '5']),
	'a list of different content-lengths': add(['content-length', '0, 5']),
	'a signed content-length': add(['content-length', '+0']),
	'a negative content-length': add(['content-length', '-1']),
	'a hexadecimal content-length': add(['content-length', '0x0']),
	'an empty content-length': add(['content-length', '']),
	'a content-length of 2^64': add(['content-length', '18446744073709551616']),
	connection: add(['connection', 'x-secret'], ['x-secret', 'y']),
	'keep-alive': add(['keep-alive', '1']),
	'proxy-connection': add(['proxy-connection', 'keep-alive']),
	upgrade: add(['upgrade', 'websocket']),
	'te: chunked': add(['te', 'chunked']),
	'host unlike :authority': add(['host', 'evil.test']),
	'two hosts': add(['host', 'localhost'], ['host', 'evil.test']),
};
// covers: R77
for (const [what, change] of Object.entries(bad))
	scenario(`a request with ${what} does not get through`, async (s) => {
		const client = await s.connect();
		client.headers(1, change(plain(client)), { endStream: true });
		const f = await client.take((x) => x.stream === 1 && ['HEADERS', 'RST_STREAM'].includes(x.type), 'a refusal');
		if (f.type === 'HEADERS')
			assert.match(f.headers[':status'], /^4/);
		else
			assert.equal(f.code, 'PROTOCOL_ERROR');
		/* The next request on the same connection is the first that an origin sees. */
		client.request(3, { path: '/after' });
		const origin = await s.accept();
		const up = await origin.expectRequest();
		assert.equal(up.headers[':path'], '/after');
		origin.respond(up.stream, { body: 'x' });
		await client.response(3);
		await origin.sync();
		assert.equal(origin.seen('HEADERS').length, 0);
	});

/* May go through, if harmless: exactly one request, the same meaning. */
for (const [what, change] of Object.entries({
	'equal content-lengths': add(['content-length', '0'], ['content-length', '0']),
	'host equal to :authority': (f) => [...f, ['host', f.find(([n]) => n === ':authority')[1]]],
	'a body-like path': set(':path', '/in?x=%0d%0aGET%20/evil'),
}))
	scenario(`a request with ${what} is one request at most`, async (s) => {
		const client = await s.connect();
		client.headers(1, change(plain(client)), { endStream: true });
		client.request(3, { path: '/after' });
		const origin = await s.accept();
		const up = await origin.expectRequest('/after');
		origin.respond(up.stream, { body: 'x' });
		await client.response(3);
		const others = origin.seen('HEADERS');
		assert.ok(others.length <= 1);
		if (others[0]) {
			assert.ok([undefined, '0'].includes(others[0].headers['content-length']));
			assert.equal(others[0].headers[':authority'], client.authority);
			assert.match(others[0].headers[':path'], /^\/in/);
		}
	});

for (const [what, trailers] of Object.entries({
	'content-length': { 'content-length': '5' },
	'transfer-encoding': { 'transfer-encoding': 'chunked' },
	':path': { ':path': '/x' },
	host: { host: 'evil.test' },
	connection: { connection: 'close' },
}))
	scenario(`request trailers with ${what} do not reach the origin`, async (s) => {
		const { client, origin, up } = await s.open({ path: '/in', request: { method: 'POST' }, options: { endStream: false } });
		client.data(1, 'body').headers(1, trailers, { endStream: true });
		const f = await origin.take((x) => x.stream === up.stream && (x.type === 'RST_STREAM' || x.endStream), 'the end');
		if (f.type === 'HEADERS')
			assert.equal(f.headers[Object.keys(trailers)[0]], undefined);
		await client.sync();
	});

scenario('a body that looks like a request stays a body', async (s) => {
	const text = 'GET /evil HTTP/1.1\r\nhost: x\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
	const { client, origin, up } = await s.open({ path: '/in', request: { method: 'POST' }, options: { endStream: false } });
	client.data(1, text, { endStream: true });
	let got = '';
	for (let f; !f?.endStream;) {
		f = await origin.expect('DATA', { stream: up.stream });
		got += f.data;
	}
	assert.equal(got, text);
	origin.respond(up.stream, { status: 204 });
	await client.response(1);
	assert.equal(origin.seen('HEADERS').length, 0);
});

scenario('CONNECT is refused by a gateway', async (s) => {
	const client = await s.connect();
	client.headers(1, { ':method': 'CONNECT', ':authority': 'evil.test:25' }, {});
	const f = await client.take((x) => x.stream === 1 && ['HEADERS', 'RST_STREAM'].includes(x.type), 'a refusal');
	if (f.type === 'HEADERS')
		assert.match(f.headers[':status'], /^[45]/);
	assert.equal(s.server.connections.length, 0);
});
