/* SPDX-License-Identifier: MIT */
/* Clients that break the rules (RFC 9113 5.1, 6): what it costs them, and only them. */
import assert from 'node:assert/strict';
import { FLAG } from '../support/frames.mjs';
import { scenario } from '../support/gate.mjs';

/* A promise to the client is open when `send` commits the fault. */
function fault(name, code, send, options = {}) {
	scenario(name, options, async (s) => {
		const { client, origin, up } = await s.open();
		origin.push(up, 2, '/a');
		const { promised } = await client.expectPromise('/a');
		await send(client, promised, origin, up);
		await client.expectConnectionError(code);
		/* What it had asked for is cancelled at the origin, which is not blamed. */
		await origin.expectReset(up.stream);
		await origin.expectReset(2);
		await origin.sync();
		assert.equal(origin.seen('GOAWAY').length, 0);
		const other = await s.connect();
		other.request(1, { path: '/other' });
		const next = await origin.expectRequest('/other');
		origin.respond(next.stream, { body: 'fine' });
		assert.equal(String((await other.response(1)).body), 'fine');
	});
}
const get = (client) => ({ ':method': 'GET', ':scheme': 'http', ':authority': client.authority, ':path': '/x' });

// covers: R37 R40 P-recv-from-client
fault('PUSH_PROMISE from a client is a connection error', 'PROTOCOL_ERROR', (client) => client.pushPromise(1, 4, get(client)));

// covers: R38
fault('HEADERS on a promised stream is a connection error', ['PROTOCOL_ERROR', 'STREAM_CLOSED'],
	(client, promised) => client.headers(promised, get(client), { endStream: true }));
fault('DATA on a promised stream is a connection error', ['PROTOCOL_ERROR', 'STREAM_CLOSED'],
	(client, promised) => client.data(promised, 'x'));
for (const [what, send] of Object.entries({
	HEADERS: (c, id) => c.headers(id, get(c), { endStream: true }),
	DATA: (c, id) => c.data(id, 'x'),
	RST_STREAM: (c, id) => c.rst(id),
	WINDOW_UPDATE: (c, id) => c.windowUpdate(id, 1),
})) {
	fault(`${what} on an idle even stream is a connection error`, 'PROTOCOL_ERROR', (client) => send(client, 100));
	if (what !== 'HEADERS')
		fault(`${what} on an idle odd stream is a connection error`, 'PROTOCOL_ERROR', (client) => send(client, 99));
}
fault('RST_STREAM of 3 octets is a connection error', 'FRAME_SIZE_ERROR',
	(client, promised) => client.frame('RST_STREAM', 0, promised, Buffer.alloc(3)));
fault('WINDOW_UPDATE of 5 octets is a connection error', 'FRAME_SIZE_ERROR',
	(client, promised) => client.frame('WINDOW_UPDATE', 0, promised, Buffer.alloc(5)));
fault('RST_STREAM on stream 0 is a connection error', 'PROTOCOL_ERROR', (client) => client.rst(0));
fault('DATA on stream 0 is a connection error', 'PROTOCOL_ERROR', (client) => client.data(0, 'x'));
fault('HEADERS on stream 0 is a connection error', 'PROTOCOL_ERROR', (client) => client.headers(0, get(client)));
fault('SETTINGS on a stream is a connection error', 'PROTOCOL_ERROR', (client) => client.frame('SETTINGS', 0, 1));
fault('SETTINGS of 5 octets is a connection error', 'FRAME_SIZE_ERROR', (client) => client.frame('SETTINGS', 0, 0, Buffer.alloc(5)));
fault('SETTINGS acknowledgement with a payload is a connection error', 'FRAME_SIZE_ERROR',
	(client) => client.frame('SETTINGS', FLAG.ACK, 0, Buffer.alloc(6)));
fault('PING of 7 octets is a connection error', 'FRAME_SIZE_ERROR', (client) => client.frame('PING', 0, 0, Buffer.alloc(7)));
fault('PING on a stream is a connection error', 'PROTOCOL_ERROR', (client) => client.frame('PING', 0, 1, Buffer.alloc(8)));
fault('GOAWAY on a stream is a connection error', 'PROTOCOL_ERROR', (client) => client.frame('GOAWAY', 0, 1, Buffer.alloc(8)));
fault('a frame longer than MAX_FRAME_SIZE is a connection error', 'FRAME_SIZE_ERROR',
	(client) => client.frame('DATA', 0, 1, Buffer.alloc(16385)));
fault('padding longer than the frame is a connection error', 'PROTOCOL_ERROR',
	(client) => client.frame('HEADERS', FLAG.END_HEADERS | FLAG.PADDED, 3, Buffer.from([200, 0x82])));
fault('CONTINUATION out of the blue is a connection error', 'PROTOCOL_ERROR', (client) => client.continuation(1, Buffer.alloc(0)));
fault('a frame inside a field block is a connection error', 'PROTOCOL_ERROR',
	(client) => client.headers(3, get(client), { endHeaders: false }).ping('pingping'));
fault('an even request stream is a connection error', 'PROTOCOL_ERROR', (client) => client.headers(200, get(client), { endStream: true }));
fault('a request stream below an earlier one is a connection error', ['PROTOCOL_ERROR', 'STREAM_CLOSED'], async (client, promised, origin) => {
	client.request(9, { path: '/nine' });
	await origin.expectRequest('/nine');
	client.request(5, { path: '/five' });
});
fault('DATA on a half-closed (remote) stream is an error', ['STREAM_CLOSED', 'PROTOCOL_ERROR'], (client) => {
	client.data(1, 'x');
	/* A stream error is lawful as well: end the connection ourselves then. */
	return client.take((f) => f.type === 'GOAWAY' || (f.type === 'RST_STREAM' && f.stream === 1), 'an error')
		.then((f) => { if (f.type === 'RST_STREAM') { assert.equal(f.code, 'STREAM_CLOSED'); client.rst(0); } });
});
fault('SETTINGS INITIAL_WINDOW_SIZE above 2^31-1 is a connection error', 'FLOW_CONTROL_ERROR',
	(client) => client.settings({ initialWindowSize: 0x80000000 }));
fault('SETTINGS MAX_FRAME_SIZE below 16384 is a connection error', 'PROTOCOL_ERROR', (client) => client.settings({ maxFrameSize: 1 }));
fault('a second preface is a connection error', ['PROTOCOL_ERROR', 'FRAME_SIZE_ERROR'],
	(client) => client.raw(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')));
scenario('a stream that depends on itself is an error at most', async (s) => {
	const { client, origin, up } = await s.open();
	client.priority(1, { dependsOn: 1 });
	const f = await Promise.race([
		client.take((x) => x.type === 'RST_STREAM' || x.type === 'GOAWAY', 'an error'),
		client.sync().then(() => null),
	]);
	assert.ok(!f || f.code === 'PROTOCOL_ERROR');
	client.close();
	await origin.expectReset(up.stream).catch(() => {});
});

// covers: R38
scenario('RST_STREAM, PRIORITY and WINDOW_UPDATE on a promised stream are fine', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').push(up, 4, '/b');
	const a = await client.expectPromise('/a');
	const b = await client.expectPromise('/b');
	client.priority(a.promised).windowUpdate(a.promised, 1000).rst(b.promised, 'REFUSED_STREAM');
	await origin.expectReset(4, 'REFUSED_STREAM');
	origin.respond(2, { body: 'a' }).respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(a.promised)).body), 'a');
	assert.equal((await client.response(1)).status, 200);
});
scenario('frames on a stream closed a while ago are ignored or refused, never more', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').respond(2, { body: 'a' }).respond(up.stream, { body: 'page' });
	const a = await client.expectPromise('/a');
	await client.response(a.promised);
	await client.response(1);
	client.windowUpdate(1, 1).windowUpdate(a.promised, 1).rst(1).rst(a.promised).priority(1);
	await client.sync();
	assert.equal(client.seen('GOAWAY').length, 0);
});

// covers: R39
scenario('a window overflow on a pushed stream resets that stream', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').headers(2, { ':status': 200 });
	const { promised } = await client.expectPromise('/a');
	await client.expectHead(promised);
	client.windowUpdate(promised, 0x7fffffff);
	await client.expectReset(promised, 'FLOW_CONTROL_ERROR');
	await origin.expectReset(2);
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
});
scenario('an increment of 0 on a pushed stream resets that stream', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').headers(2, { ':status': 200 });
	const { promised } = await client.expectPromise('/a');
	client.windowUpdate(promised, 0);
	await client.expectReset(promised, 'PROTOCOL_ERROR');
	await origin.expectReset(2);
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
});
fault('an increment of 0 on the connection is a connection error', 'PROTOCOL_ERROR', (client) => client.windowUpdate(0, 0));
fault('a window overflow on the connection is a connection error', 'FLOW_CONTROL_ERROR', (client) => client.windowUpdate(0, 0x7fffffff));
fault('INITIAL_WINDOW_SIZE that makes a window overflow is a connection error', 'FLOW_CONTROL_ERROR', (client, promised, origin) => {
	origin.headers(2, { ':status': 200 });
	client.windowUpdate(promised, 0x7fffffff - 65535).settings({ initialWindowSize: 65536 });
});

// covers: R40
for (const [how, end] of Object.entries({
	'closes its connection': (client) => client.close(),
	'says GOAWAY with an error': (client) => client.goaway(0, 'INTERNAL_ERROR').end(),
}))
	scenario(`when a client ${how}, its requests and promises are cancelled at the origin`, async (s) => {
		const { client, origin, up } = await s.open();
		origin.push(up, 2, '/reserved').push(up, 4, '/begun').headers(4, { ':status': 200 }).headers(up.stream, { ':status': 200 });
		await client.expectHead(1);
		await client.expectPromise('/begun');
		end(client);
		await origin.expectReset(up.stream, 'CANCEL');
		/* A last id below a push says that the client did nothing with it. */
		for (const id of [2, 4])
			await origin.expectReset(id, ['CANCEL', 'REFUSED_STREAM']);
		await origin.sync();
		assert.equal(origin.seen('GOAWAY').length, 0);
	});

/* RFC 9113 8.1.1: malformed requests are stream errors (or a 400), and the connection goes on. */
const malformed = {
	'no :method': (f) => f.filter(([n]) => n !== ':method'),
	'no :path': (f) => f.filter(([n]) => n !== ':path'),
	'no :scheme': (f) => f.filter(([n]) => n !== ':scheme'),
	'two :path': (f) => [...f, [':path', '/two']],
	'an unknown pseudo-field': (f) => [...f, [':x', 'y']],
	':status': (f) => [...f, [':status', '200']],
	'a pseudo-field behind a field': (f) => [['x', 'y'], ...f],
	'an upper-case name': (f) => [...f, ['X', 'y']],
	connection: (f) => [...f, ['connection', 'close']],
	'te: gzip': (f) => [...f, ['te', 'gzip']],
	'an empty :path': (f) => f.map(([n, v]) => [n, n === ':path' ? '' : v]),
};
for (const [what, change] of Object.entries(malformed))
	scenario(`a request with ${what} is malformed and costs itself alone`, async (s) => {
		const client = await s.connect();
		client.headers(1, change(Object.entries(get(client))), { endStream: true });
		const f = await client.take((x) => x.stream === 1 && ['HEADERS', 'RST_STREAM'].includes(x.type), 'a refusal');
		if (f.type === 'RST_STREAM')
			assert.equal(f.code, 'PROTOCOL_ERROR');
		else
			assert.equal(f.headers[':status'], '400');
		client.request(3, { path: '/after' });
		const origin = await s.accept();
		const up = await origin.expectRequest();
		assert.equal(up.headers[':path'], '/after');
		origin.respond(up.stream, { body: 'x' });
		assert.equal((await client.response(3)).status, 200);
	});
