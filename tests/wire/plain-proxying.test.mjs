/* SPDX-License-Identifier: MIT */
/* Requests and responses without pushes: what goes through untouched, and what does not (RFC 9110, RFC 9113 8). */
import assert from 'node:assert/strict';
import { freePort, scenario } from '../support/gate.mjs';

const values = (f, name) => f.fields.filter((x) => x.name === name).map((x) => x.value);

async function body(connection, stream) {
	const parts = [];
	for (let f; !f?.endStream;) {
		f = await connection.take((x) => x.stream === stream && (x.type === 'DATA' || x.type === 'HEADERS'), `body on ${stream}`);
		if (f.type === 'HEADERS')
			return { text: String(Buffer.concat(parts)), trailers: f.headers };
		parts.push(f.data);
	}
	return { text: String(Buffer.concat(parts)) };
}

// covers: R67
scenario('trailers come through both ways', async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST', te: 'trailers' }, options: { endStream: false } });
	assert.equal(up.headers.te, 'trailers');
	client.data(1, 'question').headers(1, { 'x-sum': '1', 'x-empty': '' }, { endStream: true });
	assert.deepEqual(await body(origin, up.stream), { text: 'question', trailers: { 'x-sum': '1', 'x-empty': '' } });
	origin.respond(up.stream, { body: 'answer', trailers: { 'x-end': '2' } });
	const r = await client.response(1);
	assert.equal(String(r.body), 'answer');
	assert.deepEqual(r.trailers, { 'x-end': '2' });
});
scenario('trailers without a body come through both ways', async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST' }, options: { endStream: false } });
	client.headers(1, { 'x-sum': '1' }, { endStream: true });
	assert.deepEqual((await body(origin, up.stream)).trailers, { 'x-sum': '1' });
	origin.respond(up.stream, { trailers: { 'x-end': '2' } });
	assert.deepEqual((await client.response(1)).trailers, { 'x-end': '2' });
});
scenario('100-continue and 103 come before the final response, in order', async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST', expect: '100-continue' }, options: { endStream: false } });
	assert.equal(up.headers.expect, '100-continue');
	origin.headers(up.stream, { ':status': 100 });
	assert.equal((await client.expectHead(1)).headers[':status'], '100');
	client.data(1, 'now', { endStream: true });
	assert.equal((await body(origin, up.stream)).text, 'now');
	origin.headers(up.stream, { ':status': 103, link: '</a>' }).headers(up.stream, { ':status': 103, link: '</b>' });
	origin.respond(up.stream, { body: 'done' });
	const r = await client.response(1);
	assert.deepEqual(r.interim.map((f) => f.headers.link), ['</a>', '</b>']);
	assert.equal(r.status, 200);
});
scenario('HEAD, 204 and 304 have no body and keep their fields', async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'HEAD' } });
	assert.equal(up.headers[':method'], 'HEAD');
	origin.respond(up.stream, { fields: { 'content-length': 12345, etag: '"x"' } });
	const head = await client.response(1);
	assert.equal(head.headers['content-length'], '12345');
	assert.equal(head.body.length, 0);
	client.request(3, { path: '/204' });
	origin.respond((await origin.expectRequest('/204')).stream, { status: 204 });
	assert.equal((await client.response(3)).status, 204);
	client.request(5, { path: '/304', 'if-none-match': '"x"' });
	const third = await origin.expectRequest('/304');
	assert.equal(third.headers['if-none-match'], '"x"');
	origin.respond(third.stream, { status: 304, fields: { 'content-length': 777 } });
	const r = await client.response(5);
	assert.equal(r.status, 304);
	assert.equal(r.headers['content-length'], '777');
});
for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', 'X-OWN'])
	scenario(`method ${method} comes through`, async (s) => {
		const { client, origin, up } = await s.open({ request: { method } });
		assert.equal(up.headers[':method'], method);
		origin.respond(up.stream, { body: 'x' });
		assert.equal((await client.response(1)).status, 200);
	});

// covers: R68
scenario('large field blocks come through both ways', async (s) => {
	const big = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`x-big-${i}`, `${i}`.repeat(3000).slice(0, 3000)]));
	const client = await s.connect();
	client.request(1, { path: '/', ...big }, { split: [16000, 16000] });
	const origin = await s.accept();
	const up = await origin.expectRequest('/');
	for (const [name, value] of Object.entries(big))
		assert.equal(up.headers[name], value);
	origin.headers(up.stream, { ':status': 200, ...big }, { split: [16000, 16000], endStream: true });
	const r = await client.response(1);
	for (const [name, value] of Object.entries(big))
		assert.equal(r.headers[name], value);
});
scenario('cookie crumbs, order of equal names, empty values and set-cookie keep their meaning', async (s) => {
	const client = await s.connect();
	client.headers(1, [
		[':method', 'GET'], [':scheme', 'http'], [':authority', client.authority], [':path', '/'],
		['x-n', '1'], ['cookie', 'a=1'], ['x-n', ''], ['cookie', 'b=2'], ['x-n', '3'], ['cookie', 'c=3'],
	], { endStream: true });
	const origin = await s.accept();
	const up = await origin.expectRequest('/');
	assert.deepEqual(values(up, 'x-n'), ['1', '', '3']);
	assert.equal(values(up, 'cookie').join('; '), 'a=1; b=2; c=3');
	origin.headers(up.stream, [
		[':status', '200'], ['set-cookie', 'a=1; Path=/'], ['vary', 'a'], ['set-cookie', 'b=2'], ['vary', ''], ['x-b', ''],
	], { endStream: true });
	const r = await client.response(1);
	assert.deepEqual(values(r.head, 'set-cookie'), ['a=1; Path=/', 'b=2']);
	assert.deepEqual(values(r.head, 'vary'), ['a', '']);
	assert.deepEqual(values(r.head, 'x-b'), ['']);
});
for (const path of ['/a/../b', '/a//b', '/./x', '/%2e%2E/x?y=%00&z', '/a;b=c?d', '/?', '//x', '/a?b?c', '/~!$&\'()*+,;=:@'])
	scenario(`path ${path} is not touched`, async (s) => {
		const { client, origin, up } = await s.open({ path });
		assert.equal(up.headers[':path'], path);
		origin.respond(up.stream, { status: 204 });
		await client.response(1);
	});
scenario('OPTIONS * comes through', async (s) => {
	const { client, origin, up } = await s.open({ path: '*', request: { method: 'OPTIONS' } });
	assert.equal(up.headers[':path'], '*');
	origin.respond(up.stream, { status: 204 });
	await client.response(1);
});
scenario('OPTIONS with Max-Forwards 0 is answered here, and that is no failure', async (s) => {
	const client = await s.connect();
	client.request(1, { method: 'OPTIONS', path: '/', 'max-forwards': 0 });
	assert.equal((await client.response(1)).status, 204);
	client.request(3, { method: 'TRACE', path: '/', 'max-forwards': 0 });
	assert.equal((await client.response(3)).status, 501);
	const { outcome, route, detail } = await s.gate.access((line) => line.status === 204);
	assert.deepEqual({ outcome, route, detail }, { outcome: 'complete', route: 'main', detail: 'Max-Forwards is used up' });
	assert.equal((await s.gate.access((line) => line.status === 501)).outcome, 'refused');
});

scenario('a request with host alone is answered like one with :authority', async (s) => {
	const client = await s.connect();
	client.headers(1, { ':method': 'GET', ':scheme': 'http', ':path': '/', host: client.authority }, { endStream: true });
	const origin = await s.accept();
	const up = await origin.expectRequest('/');
	assert.equal(up.headers[':authority'] ?? up.headers.host, client.authority);
	origin.respond(up.stream, { status: 204 });
	assert.equal((await client.response(1)).status, 204);
});

// covers: R69 R77
for (const [what, length, text] of [['short', 10, 'short'], ['long', 2, 'long']])
	scenario(`a request body that is ${what} of its content-length is not completed at the origin`, async (s) => {
		const { client, origin, up } = await s.open({ request: { method: 'POST', 'content-length': length }, options: { endStream: false } });
		client.data(1, text, { endStream: true });
		await origin.expectReset(up.stream);
		assert.equal(origin.seen('DATA', { endStream: true }).length, 0);
		const f = await client.take((x) => x.stream === 1 && ['HEADERS', 'RST_STREAM'].includes(x.type), 'a refusal');
		if (f.type === 'HEADERS')
			assert.match(f.headers[':status'], /^4/);
		await client.sync();
	});
for (const [what, length, text] of [['short', 10, 'short'], ['long', 2, 'long']])
	scenario(`a response body that is ${what} of its content-length is an error, not truncated`, async (s) => {
		const { client, origin, up } = await s.open();
		origin.headers(up.stream, { ':status': 200, 'content-length': length });
		await client.expectHead(1);
		origin.data(up.stream, text, { endStream: true });
		await origin.expectReset(up.stream, 'PROTOCOL_ERROR');
		await client.expectReset(1, 'PROTOCOL_ERROR');
		assert.equal(client.seen('DATA', { endStream: true }).length, 0);
	});
scenario('a response without a body but with content-length is an error', async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { fields: { 'content-length': 10 } });
	const f = await client.take((x) => x.stream === 1 && ['HEADERS', 'RST_STREAM'].includes(x.type), 'an error');
	if (f.type === 'HEADERS')
		assert.equal(f.headers[':status'], '502');
	await client.sync();
});

// covers: R70
scenario('an origin that dies in mid-body makes a reset, never a normal end', async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 200 }).data(up.stream, 'some');
	await client.expect('DATA', { stream: 1 });
	origin.close();
	await client.expectReset(1, 'INTERNAL_ERROR');
	assert.equal(client.seen('DATA', { endStream: true }).length, 0);
});
scenario('DATA before HEADERS is an error', async (s) => {
	const { client, origin, up } = await s.open();
	origin.data(up.stream, 'x', { endStream: true });
	const f = await client.take((x) => x.stream === 1 && ['HEADERS', 'RST_STREAM'].includes(x.type), 'an error');
	if (f.type === 'HEADERS')
		assert.equal(f.headers[':status'], '502');
});

// covers: R71
const malformed = {
	'an upper-case name': (o, id) => o.headers(id, { ':status': 200, Upper: 'x' }, { endStream: true }),
	connection: (o, id) => o.headers(id, { ':status': 200, connection: 'close' }, { endStream: true }),
	'transfer-encoding': (o, id) => o.headers(id, { ':status': 200, 'transfer-encoding': 'chunked' }, { endStream: true }),
	'no :status': (o, id) => o.headers(id, { x: 'y' }, { endStream: true }),
	'two :status': (o, id) => o.headers(id, [[':status', '200'], [':status', '200']], { endStream: true }),
	'a :status of letters': (o, id) => o.headers(id, { ':status': 'abc' }, { endStream: true }),
	'a :status of two digits': (o, id) => o.headers(id, { ':status': '20' }, { endStream: true }),
	'a :status of 101': (o, id) => o.headers(id, { ':status': '101' }),
	'a :status of 99': (o, id) => o.headers(id, { ':status': '099' }, { endStream: true }),
	'a request pseudo-field': (o, id) => o.headers(id, { ':status': 200, ':path': '/' }, { endStream: true }),
	'an unknown pseudo-field': (o, id) => o.headers(id, { ':status': 200, ':x': 'y' }, { endStream: true }),
	'a pseudo-field behind a field': (o, id) => o.headers(id, [['x', 'y'], [':status', '200']], { endStream: true }),
	'CR in a value': (o, id) => o.headers(id, { ':status': 200, x: 'a\rb' }, { endStream: true }),
	'LF in a value': (o, id) => o.headers(id, { ':status': 200, x: 'a\nb' }, { endStream: true }),
	'NUL in a value': (o, id) => o.headers(id, { ':status': 200, x: 'a\0b' }, { endStream: true }),
	'a space in a name': (o, id) => o.headers(id, { ':status': 200, 'a b': 'x' }, { endStream: true }),
	'two different content-lengths': (o, id) => o.headers(id, [[':status', '200'], ['content-length', '1'], ['content-length', '2']]),
	'a content-length that is no number': (o, id) => o.headers(id, { ':status': 200, 'content-length': '+1' }),
	'a 1xx with END_STREAM': (o, id) => o.headers(id, { ':status': 103 }, { endStream: true }),
};
for (const [what, send] of Object.entries(malformed))
	scenario(`a response with ${what} is an error of its stream alone`, { origin: { 'max-connections': 1 } }, async (s) => {
		const client = await s.connect();
		client.request(1, { path: '/bad' }).request(3, { path: '/good' });
		const origin = await s.accept();
		const bad = await origin.expectRequest('/bad');
		const fine = await origin.expectRequest('/good');
		send(origin, bad.stream);
		const f = await client.take((x) => x.stream === 1 && (x.type === 'RST_STREAM' || (x.type === 'HEADERS' && !x.headers[':status'].startsWith('1'))), 'an error');
		if (f.type === 'HEADERS')
			assert.equal(f.headers[':status'], '502');
		origin.respond(fine.stream, { body: 'fine' });
		assert.equal(String((await client.response(3)).body), 'fine');
		await origin.sync();
		assert.equal(origin.seen('GOAWAY').length, 0);
	});
for (const [what, send] of Object.entries({
	'a second head without END_STREAM': (o, id) => o.headers(id, { ':status': 200 }),
	'pseudo-fields in trailers': (o, id) => o.headers(id, { ':status': 200 }, { endStream: true }),
	'an upper-case name in trailers': (o, id) => o.headers(id, { Upper: 'x' }, { endStream: true }),
}))
	scenario(`a response with ${what} is reset on both sides`, async (s) => {
		const { client, origin, up } = await s.open();
		origin.headers(up.stream, { ':status': 200 }).data(up.stream, 'some');
		await client.expect('DATA', { stream: 1 });
		send(origin, up.stream);
		await client.expectReset(1, 'PROTOCOL_ERROR');
		client.request(3, { path: '/after' });
		origin.respond((await origin.expectRequest('/after')).stream, { body: 'x' });
		assert.equal((await client.response(3)).status, 200);
	});

// covers: R73
scenario('after GOAWAY there is no new stream on that connection; those inside its last id finish', async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 200 }).goaway(up.stream);
	await origin.sync();
	client.request(3, { path: '/next' });
	const next = await s.accept();
	next.respond((await next.expectRequest('/next')).stream, { body: 'new' });
	assert.equal(String((await client.response(3)).body), 'new');
	origin.data(up.stream, 'old', { endStream: true });
	assert.equal(String((await client.response(1)).body), 'old');
	assert.equal(origin.seen('HEADERS').length, 0);
});
scenario('an idle origin connection that was closed meanwhile is no error to the client', async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { body: 'x' });
	await client.response(1);
	for (let i = 0; i < 5; i++) {
		s.server.connections.at(-1).close();
		client.request(3 + 2 * i, { path: `/${i}` });
		const next = await s.accept();
		next.respond((await next.expectRequest(`/${i}`)).stream, { body: 'x' });
		assert.equal((await client.response(3 + 2 * i)).status, 200);
	}
});

// covers: R74
scenario('a client that cancels cancels at the origin, and the connection is used again', async (s) => {
	const { client, origin, up } = await s.open();
	client.rst(1, 'CANCEL');
	await origin.expectReset(up.stream, 'CANCEL');
	client.request(3, { path: '/next' });
	const next = await origin.expectRequest('/next');
	origin.headers(next.stream, { ':status': 200 }).data(next.stream, 'some');
	await client.expect('DATA', { stream: 3 });
	client.rst(3, 'CANCEL');
	await origin.expectReset(next.stream, 'CANCEL');
});
scenario('an early response followed by RST_STREAM NO_ERROR reaches the client whole', { origin: { 'upload-linger': '300ms' } }, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST' }, options: { endStream: false } });
	client.data(1, 'part');
	await origin.expect('DATA', { stream: up.stream });
	origin.respond(up.stream, { status: 413, body: 'too large' }).rst(up.stream, 'NO_ERROR');
	const r = await client.response(1);
	assert.equal(r.status, 413);
	assert.equal(String(r.body), 'too large');
	const f = await client.expectReset(1);
	assert.equal(f.code, 'NO_ERROR');
});

// covers: R75
scenario('unknown frames and settings are ignored, PING is answered, SETTINGS are acknowledged, on both hops', async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: [[0xfe, 1], ['initialWindowSize', 70000], [0xffff, 0]] } });
	for (const c of [client, origin]) {
		c.frame(0xfa, 0xff, 0, Buffer.from('whatever')).frame(0xfb, 0, 1, Buffer.alloc(100)).frame(0xfc, 0, 1001);
		if (c === client)
			c.frame('PRIORITY_UPDATE', 0, 0, Buffer.from('\0\0\0\u0001u=1'));
		c.settings([[0xabcd, 12345]]);
		await c.expect('SETTINGS', { ack: true });
		await c.expect('SETTINGS', { ack: true });
		await c.sync();
	}
	origin.respond(up.stream, { body: 'x' });
	assert.equal((await client.response(1)).status, 200);
});
scenario('PING carries its bytes back', async (s) => {
	const client = await s.connect();
	client.ping(Buffer.from('0001fe7f80ffaa55', 'hex'));
	assert.equal((await client.expect('PING', { ack: true })).payload.toString('hex'), '0001fe7f80ffaa55');
});
scenario('MAX_FRAME_SIZE of the client is kept to, both its default and a larger one', async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { maxFrameSize: 20000 } } });
	await origin.sync();
	origin.headers(up.stream, { ':status': 200 });
	for (let i = 0; i < 3; i++)
		origin.data(up.stream, Buffer.alloc(16384));
	origin.data(up.stream, '', { endStream: true });
	assert.equal((await client.response(1)).body.length, 3 * 16384);
});

// covers: R76
scenario('an origin that cannot be reached gives 5xx, and recovers without a restart', async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { body: 'x' });
	await client.response(1);
	const { port } = s.server;
	await s.server.close();
	await client.sync();
	client.request(3, { path: '/down' });
	const r = await client.response(3);
	assert.ok([502, 503, 504].includes(r.status), `${r.status}`);
	const { listen } = await import('../support/peer.mjs');
	s.servers.main = await listen({ port });
	client.request(5, { path: '/up' });
	const again = await s.accept();
	again.respond((await again.expectRequest('/up')).stream, { body: 'back' });
	assert.equal(String((await client.response(5)).body), 'back');
});

scenario('hop-by-hop fields do not cross: te other than trailers is malformed, Via is added', async (s) => {
	const { client, origin, up } = await s.open({ request: { via: '1.1 elsewhere', priority: 'u=3' } });
	assert.match(up.headers.via, /1\.1 elsewhere.*pushgate/);
	assert.equal(up.headers.priority, 'u=3');
	origin.respond(up.stream, { body: 'x', fields: { priority: 'u=1' } });
	const r = await client.response(1);
	assert.match(r.headers.via ?? 'pushgate', /pushgate/);
});

// covers: R66
scenario('a request that has been here before ends with an error', { server: { pseudonym: 'gate.test' } }, async (s) => {
	const client = await s.connect();
	client.request(1, { via: '1.1 elsewhere, 2 gate.test (really)' });
	const r = await client.response(1);
	assert.ok([502, 508].includes(r.status), `${r.status}`);
	assert.equal(s.server.connections.length, 0);
});

{
	const port = await freePort();
	scenario('a gateway that is its own origin ends the loop with an error', {
		port, origins: { main: { server: `h2c://127.0.0.1:${port}` } },
	}, async (s) => {
		const client = await s.connect();
		for (let i = 0; i < 10; i++)
			client.request(1 + 2 * i, { path: `/${i}` });
		for (let i = 0; i < 10; i++)
			assert.ok((await client.response(1 + 2 * i)).status >= 500);
	});
}

scenario('a host without a route is refused', { routes: '[route main]\nhost = a.test\norigin = main\n\n' }, async (s) => {
	const client = await s.connect();
	client.request(1);
	const r = await client.response(1);
	assert.ok([404, 421].includes(r.status), `${r.status}`);
});
scenario('the most specific route wins, whole segments at a time', {
	origins: { main: {}, api: {}, wild: {} },
	routes: '[route all]\norigin = main\n\n[route api]\npath = /api\norigin = api\n\n[route wild]\nhost = *.a.test\norigin = wild\n\n',
}, async (s) => {
	const client = await s.connect();
	const asked = [
		['/', undefined, 'main'], ['/apix', undefined, 'main'], ['/api', undefined, 'api'], ['/api/x', undefined, 'api'], ['/api?x', undefined, 'api'],
		['/', 'b.a.test', 'wild'], ['/', 'a.test', 'main'],
	];
	const open = {};
	for (const [i, [path, authority, name]] of asked.entries()) {
		client.request(1 + 2 * i, { path, ...(authority ? { ':authority': authority } : {}) });
		open[name] ??= await s.accept(name);
		const up = await open[name].expectRequest(path);
		open[name].respond(up.stream, { body: name });
		assert.equal(String((await client.response(1 + 2 * i)).body), name);
	}
});
scenario('a request body above max-request-body gets 413', { listen: { 'max-request-body': '1000' } }, async (s) => {
	const client = await s.connect();
	client.request(1, { method: 'POST', 'content-length': 5000 }, { endStream: false });
	assert.equal((await client.response(1)).status, 413);
	client.request(3, { method: 'POST' }, { endStream: false }).data(3, Buffer.alloc(2000));
	const f = await client.take((x) => x.stream === 3 && ['HEADERS', 'RST_STREAM'].includes(x.type), 'a refusal');
	if (f.type === 'HEADERS')
		assert.equal(f.headers[':status'], '413');
});
scenario('a field list above max-header-list gets 431 and the connection goes on', { listen: { 'max-header-list': '8k' } }, async (s) => {
	const client = await s.connect();
	await client.ready();
	assert.equal(client.peerSettings.maxHeaderListSize, 8192);
	client.request(1, { 'x-big': 'x'.repeat(9000) });
	assert.equal((await client.response(1)).status, 431);
	client.request(3, { path: '/after' });
	const origin = await s.accept();
	origin.respond((await origin.expectRequest('/after')).stream, { body: 'x' });
	assert.equal((await client.response(3)).status, 200);
});
