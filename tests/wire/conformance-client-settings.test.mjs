/* SPDX-License-Identifier: MIT */
/*
 * What an origin announces, and what holds us to it: its preface (RFC 9113 3.4), its SETTINGS (6.5),
 * the windows (5.2, 6.9), GOAWAY and PING (6.7, 6.8), and the table sizes of RFC 7541.
 */
import assert from 'node:assert/strict';
import { FLAG, frame, settingsPayload, u32 } from '../support/frames.mjs';
import { answered, conformance, outcome } from '../support/faulty.mjs';
import { scenario } from '../support/gate.mjs';

const zeros = (n) => Buffer.alloc(n);
/* Another request of the row's client, and where it came out at the same connection of the origin. */
async function ask(r, path, options, fields = {}) {
	r.last = (r.last ?? 99) + 2;
	r.client.request(r.last, { path, ...fields }, options);
	return { id: r.last, up: await r.origin.expectRequest(path) };
}
/* All of an upload, and the frames in which it came. */
async function upload(origin, stream) {
	const lengths = [];
	for (let f; !f?.endStream;) {
		f = await origin.expect('DATA', { stream });
		lengths.push(f.length);
	}
	return { lengths, total: lengths.reduce((a, b) => a + b, 0) };
}

conformance('settings', [
	/* ---- 6.5.2: values ---- */
	{ covers: 'R153', name: '6.5.2. ENABLE_PUSH=1 from a server', send: (o) => o.settings({ enablePush: 1 }), connection: 'PROTOCOL_ERROR', why: 'settings-enable-push' },
	{ covers: 'R153', name: '6.5.2. ENABLE_PUSH=2', send: (o) => o.settings({ enablePush: 2 }), connection: 'PROTOCOL_ERROR', why: 'settings-enable-push' },
	{ covers: 'R153', name: '6.5.2. ENABLE_PUSH=0 from a server', send: (o) => o.settings({ enablePush: 0 }), ignored: true },
	{ covers: 'R153', name: '6.5.2. INITIAL_WINDOW_SIZE of 2^31', send: (o) => o.settings({ initialWindowSize: 0x80000000 }), connection: 'FLOW_CONTROL_ERROR', why: 'settings-window-size' },
	{ covers: 'R153', name: '6.5.2. INITIAL_WINDOW_SIZE of 2^31-1', send: (o) => o.settings({ initialWindowSize: 0x7fffffff }), ignored: true },
	{ covers: 'R153', name: '6.5.2. MAX_FRAME_SIZE of 16383', send: (o) => o.settings({ maxFrameSize: 16383 }), connection: 'PROTOCOL_ERROR', why: 'settings-frame-size' },
	{ covers: 'R153', name: '6.5.2. MAX_FRAME_SIZE of 0', send: (o) => o.settings({ maxFrameSize: 0 }), connection: 'PROTOCOL_ERROR', why: 'settings-frame-size' },
	{ covers: 'R153', name: '6.5.2. MAX_FRAME_SIZE of 2^24', send: (o) => o.settings({ maxFrameSize: 1 << 24 }), connection: 'PROTOCOL_ERROR', why: 'settings-frame-size' },
	{ covers: 'R153', name: '6.5.2. MAX_FRAME_SIZE of 2^24-1', send: (o) => o.settings({ maxFrameSize: (1 << 24) - 1 }), ignored: true },
	{ covers: 'R153', name: 'RFC 9218 2.1. NO_RFC7540_PRIORITIES=2', send: (o) => o.settings({ noRfc7540Priorities: 2 }), connection: 'PROTOCOL_ERROR', why: 'settings-no-priorities' },
	{ covers: 'R396', name: 'RFC 8441 3. ENABLE_CONNECT_PROTOCOL=2', send: (o) => o.settings({ enableConnectProtocol: 2 }), connection: 'PROTOCOL_ERROR', why: 'settings-connect-protocol' },
	{ covers: 'R396', name: 'RFC 8441 3. ENABLE_CONNECT_PROTOCOL=0 after 1', send: (o) => o.settings({ enableConnectProtocol: 1 }).settings({ enableConnectProtocol: 0 }), connection: 'PROTOCOL_ERROR', why: 'settings-connect-protocol-withdrawn' },
	{ covers: 'R396', name: 'RFC 8441 3. the same in one frame', send: (o) => o.settings([['enableConnectProtocol', 1], ['enableConnectProtocol', 0]]), connection: 'PROTOCOL_ERROR', why: 'settings-connect-protocol-withdrawn' },
	{ covers: 'R396', name: 'RFC 8441 3. ENABLE_CONNECT_PROTOCOL=1 after 0, and again', send: (o) => o.settings({ enableConnectProtocol: 0 }).settings({ enableConnectProtocol: 1 }).settings({ enableConnectProtocol: 1 }), ignored: true },
	{ covers: 'R153', name: '6.5.2. a bad value behind good ones in one frame', send: (o) => o.settings([['maxConcurrentStreams', 5], ['enablePush', 3]]), connection: 'PROTOCOL_ERROR', why: 'settings-enable-push' },
	{ covers: 'R153 R151', name: '6.5.2. unknown settings', send: (o) => o.settings([[0, 1], [0xff, 0xffffffff], [0x0a0a, 7]]), ignored: true },
	{ covers: 'R153', name: '6.5. a SETTINGS frame as large as may be', send: (o) => o.settings(Array.from({ length: 2730 }, (_, i) => [0x1000 + i, i])), ignored: true },
	{ covers: 'R153', name: '6.5.3. of several values in one frame the last one counts', check: async (o, r) => {
		o.settings([['maxConcurrentStreams', 0], ['initialWindowSize', 0], ['maxConcurrentStreams', 100], ['initialWindowSize', 65535]]);
		await o.sync();
		const { id, up } = await ask(r, '/several', { endStream: false }, { method: 'POST' });
		r.client.data(id, 'body', { endStream: true });
		assert.equal((await upload(o, up.stream)).total, 4);
		o.respond(up.stream, { status: 204 });
		await r.client.response(id);
	} },
	{ covers: 'R154', name: '6.5.3. SETTINGS are acknowledged at once and one by one', check: async (o) => {
		o.settings({}).settings({ headerTableSize: 100 }).settings([[0x99, 1]]);
		await o.sync();
		assert.equal(o.seen('SETTINGS', { ack: true }).length, 4, 'one for each, the first included');
	} },
	{ covers: 'R154', name: '6.5.3. an acknowledgement that nobody waits for', send: (o) => o.settingsAck().settingsAck(), ignored: true },

	/* ---- 6.7 ---- */
	{ covers: 'R155', name: '6.7. PING is answered with its payload, undefined flags or not', check: async (o) => {
		o.ping('abcdefgh').frame('PING', 0xfe, 0, Buffer.from('ijklmnop'));
		for (const payload of ['abcdefgh', 'ijklmnop'])
			await o.take((f) => f.type === 'PING' && f.ack && String(f.payload) === payload, payload);
	} },
	{ covers: 'R155', name: '6.7. acknowledgements of PINGs that nobody sent', send: (o) => o.ping('whatever', { ack: true }).ping('\0\0\0\0\0\0\0\x01', { ack: true }), ignored: true },

	/* ---- 6.9: windows ---- */
	{ covers: 'R156', name: '6.9. WINDOW_UPDATE of 0 on the connection', send: (o) => o.windowUpdate(0, 0), connection: 'PROTOCOL_ERROR', why: 'connection-window-increment-zero' },
	{ covers: 'R156', name: '6.9. WINDOW_UPDATE of 0 on a stream', send: (o, r) => o.windowUpdate(r.id, 0), stream: 'PROTOCOL_ERROR', why: 'window-increment-zero' },
	{ covers: 'R156', name: '6.9. WINDOW_UPDATE of 0 on a stream with an upload', given: 'open', send: (o, r) => o.windowUpdate(r.id, 0), stream: 'PROTOCOL_ERROR', why: 'window-increment-zero' },
	{ covers: 'R156', name: '6.9.1. a connection window above 2^31-1', send: (o) => o.windowUpdate(0, 0x7fffffff), connection: 'FLOW_CONTROL_ERROR', why: 'connection-window-overflow' },
	{ covers: 'R156', name: '6.9.1. a stream window above 2^31-1', given: 'open', send: (o, r) => o.windowUpdate(r.id, 0x7fffffff), stream: 'FLOW_CONTROL_ERROR', why: 'window-overflow' },
	{ covers: 'R156', name: '6.9.2. a stream window above 2^31-1 by INITIAL_WINDOW_SIZE', given: 'open', send: (o, r) => o.windowUpdate(r.id, 1).settings({ initialWindowSize: 0x7fffffff }), connection: 'FLOW_CONTROL_ERROR', why: 'settings-window-overflow' },
	{ covers: 'R156', name: '6.9. the reserved bit of an increment', given: 'open', send: (o, r) => o.frame('WINDOW_UPDATE', 0, r.id, u32(0x80000001)).frame('WINDOW_UPDATE', 0, 0, u32(0x80000001)), ignored: true },

	/* ---- 6.8 ---- */
	{ covers: 'R157', name: '6.8. GOAWAY that raises its last id', check: async (o, r) => {
		o.goaway(r.good.stream).goaway(r.good.stream + 2);
		await o.expectConnectionError('PROTOCOL_ERROR');
		await answered(r.client, 1, 502, 'http_protocol_error');
		await answered(r.client, 3, 502, 'http_protocol_error');
	}, over: true },
	{ covers: 'R157', name: '6.8. GOAWAY with an error and unfinished requests', check: async (o, r) => {
		o.goaway(r.good.stream, 'INTERNAL_ERROR', 'some words\xff');
		await answered(r.client, 1, 502, 'connection_terminated');
		await answered(r.client, 3, 502, 'connection_terminated');
		await o.expectClosed();
	}, over: true },
	{ covers: 'R157', name: '6.8. GOAWAY with a code that nobody knows', check: async (o, r) => {
		o.goaway(r.good.stream, 0x1234);
		await answered(r.client, 1, 502, 'connection_terminated');
		await answered(r.client, 3, 502, 'connection_terminated');
	}, over: true },
	{ covers: 'R157 R164', name: '6.8. GOAWAY of 2^31-1, then of what was taken, then the rest', check: async (o, r) => {
		o.goaway(0x7fffffff);
		await o.sync();
		o.goaway(r.good.stream).respond(r.up.stream, { body: 'one' }).respond(r.good.stream, { body: 'two' });
		assert.equal(String((await r.client.response(1)).body), 'one');
		assert.equal(String((await r.client.response(3)).body), 'two');
		assert.equal((await o.expect('GOAWAY')).code, 'NO_ERROR');
		await o.expectClosed();
	}, over: true },
	{ covers: 'R157', name: '6.8. GOAWAY with an even last id, as some servers send it', check: async (o, r) => {
		o.goaway(0x7ffffffe).respond(r.up.stream, { body: 'one' }).respond(r.good.stream, { body: 'two' });
		assert.equal((await r.client.response(1)).status, 200);
		assert.equal((await r.client.response(3)).status, 200);
	}, over: true },
	{ covers: 'R157 R158', name: '6.8, 8.7. what lies above the last id is sent again, what lies below is not', check: async (o, r) => {
		o.goaway(r.up.stream);
		const next = await r.site.scenario.accept('main');
		const again = await next.expectRequest(r.good.headers[':path']);
		next.respond(again.stream, { body: 'again' });
		assert.equal(String((await r.client.response(3)).body), 'again');
		o.respond(r.up.stream, { body: 'first' });
		assert.equal(String((await r.client.response(1)).body), 'first');
		assert.equal(next.seen('HEADERS').length, 0);
	}, over: true },

	{ covers: 'R157 R158', name: '6.8. GOAWAY with an error and nothing taken: all is sent again', check: async (o, r) => {
		o.goaway(0, 'ENHANCE_YOUR_CALM');
		const next = await r.site.scenario.accept('main');
		for (const [id, path] of [[1, r.path], [3, r.good.headers[':path']]]) {
			next.respond((await next.expectRequest(path)).stream, { body: path });
			assert.equal(String((await r.client.response(id)).body), path);
		}
		await o.expectClosed();
	}, over: true },
	{ covers: 'R157', name: '6.8. after GOAWAY an origin may still promise on what it answers', check: async (o, r) => {
		o.goaway(0x7fffffff);
		r.promise(2, '/pushed').respond(2, { body: 'pushed' }).respond(r.up.stream, { body: 'page' }).respond(r.good.stream, { body: 'two' });
		assert.equal(String((await r.client.response((await r.client.expectPromise('/pushed')).promised)).body), 'pushed');
		assert.equal(String((await r.client.response(1)).body), 'page');
		assert.equal(String((await r.client.response(3)).body), 'two');
		await o.expectClosed();
	}, over: true },

	/* ---- 8.7: retries ---- */
	{ covers: 'R158', name: '8.7. a POST refused before any of its body left is sent again', check: async (o, r) => {
		const { id, up } = await ask(r, '/refused', { endStream: false }, { method: 'POST' });
		o.rst(up.stream, 'REFUSED_STREAM');
		const again = await o.expectRequest('/refused');
		r.client.data(id, 'body', { endStream: true });
		assert.equal((await upload(o, again.stream)).total, 4);
		o.respond(again.stream, { status: 201 });
		assert.equal((await r.client.response(id)).status, 201);
	} },
	...['GET', 'HEAD', 'PUT', 'POST'].map((method) => ({
		covers: 'R158', name: `8.7. a ${method} that was reset with another code is not sent again`, check: async (o, r) => {
			const { id, up } = await ask(r, '/reset', {}, { method });
			o.rst(up.stream, 'INTERNAL_ERROR');
			await answered(r.client, id, 502, 'http_response_incomplete');
			await o.sync();
			assert.equal(o.seen('HEADERS').length, 0);
		},
	})),
	{ covers: 'R158', name: '8.7. REFUSED_STREAM in the middle of a response is passed on as INTERNAL_ERROR', check: async (o, r) => {
		const { id, up } = await ask(r, '/refused');
		o.headers(up.stream, { ':status': 200 });
		await r.client.expectHead(id);
		o.rst(up.stream, 'REFUSED_STREAM');
		await r.client.expectReset(id, 'INTERNAL_ERROR');
	} },
	{ covers: 'R158', name: '8.1. NO_ERROR before any response is an error like others', check: async (o, r) => {
		const { id, up } = await ask(r, '/none');
		o.rst(up.stream, 'NO_ERROR');
		await answered(r.client, id, 502, 'http_response_incomplete');
	} },
], { over: ['h2c', 'TLS'] });

/* ---- limits of the origin, as they change ---- */
// covers: R159
scenario('5.1.2. MAX_CONCURRENT_STREAMS of an origin is kept when lowered, 0 and raised again', { origin: { 'max-connections': 1 } }, async (s) => {
	const { client, origin, up } = await s.open();
	client.request(3, { path: '/b' });
	const b = await origin.expectRequest('/b');
	origin.settings({ maxConcurrentStreams: 1 });
	await origin.sync();
	client.request(5, { path: '/c' });
	await client.sync();
	origin.respond(up.stream, { body: 'a' });
	await client.response(1);
	await origin.expectNone('HEADERS');
	origin.settings({ maxConcurrentStreams: 0 });
	await origin.sync();
	origin.respond(b.stream, { body: 'b' });
	await client.response(3);
	await origin.expectNone('HEADERS');
	origin.settings({ maxConcurrentStreams: 1 });
	origin.respond((await origin.expectRequest('/c')).stream, { body: 'c' });
	assert.equal(String((await client.response(5)).body), 'c');
});
scenario('5.1.2. an origin that takes no stream at all: 504 after queue-timeout', {
	origin: { 'max-connections': 1, 'queue-timeout': '300ms' }, origins: { main: { settings: { maxConcurrentStreams: 0 } } },
}, async (s) => {
	const client = await s.connect();
	client.request(1);
	await answered(client, 1, 504);
	const origin = await s.accept();
	await origin.sync();
	assert.equal(origin.seen('HEADERS').length, 0);
});
// covers: R160
scenario('6.9.2. INITIAL_WINDOW_SIZE raised, lowered below what was sent, and raised again under an upload', {
	origins: { main: { settings: { initialWindowSize: 1000 }, auto: { window: false } } },
}, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'PUT' }, options: { endStream: false } });
	await client.ready();
	client.data(1, Buffer.alloc(9000, 0x61), { endStream: true });
	const take = async (total) => {
		let got = 0;
		while (got < total)
			got += (await origin.expect('DATA', { stream: up.stream })).length;
		assert.equal(got, total);
		await origin.expectNone('DATA', { stream: up.stream });
	};
	await take(1000);
	origin.settings({ initialWindowSize: 3000 });
	await take(2000);
	origin.settings({ initialWindowSize: 0 });
	await origin.sync();
	/* The window is at -3000 now: an increment of 3000 makes it 0. */
	origin.windowUpdate(up.stream, 3000);
	await origin.expectNone('DATA', { stream: up.stream });
	origin.windowUpdate(up.stream, 1);
	await take(1);
	origin.settings({ initialWindowSize: 5999 });
	await take(5999);
	origin.respond(up.stream, { status: 204 });
	assert.equal((await client.response(1)).status, 204);
});
scenario('6.9.1. the connection window of an origin bounds all uploads together', {
	origins: { main: { auto: { window: false } } }, origin: { 'max-connections': 1 },
}, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'PUT' }, options: { endStream: false } });
	await client.ready();
	origin.settings({ initialWindowSize: 1 << 20 });
	await origin.sync();
	client.request(3, { path: '/b', method: 'PUT' }, { endStream: false });
	const b = await origin.expectRequest('/b');
	for (let i = 0; i < 3; i++)
		client.data(1, zeros(16384)).data(3, zeros(16384));
	client.data(1, '', { endStream: true }).data(3, '', { endStream: true });
	while (origin.received < 65535)
		await origin.expect('DATA');
	await origin.sync();
	assert.equal(origin.received, 65535);
	origin.drop((f) => f.type === 'DATA');
	origin.windowUpdate(0, 2 * 3 * 16384 - 65535);
	while (origin.received < 6 * 16384)
		await origin.expect('DATA');
	for (const [id, stream] of [[1, up.stream], [3, b.stream]]) {
		origin.respond(stream, { status: 204 });
		await client.response(id);
	}
});
// covers: R161
scenario('4.2, 6.5.2. DATA and HEADERS keep to MAX_FRAME_SIZE, what is longer goes on in CONTINUATION', {
	origins: { main: { auto: { window: true } } },
}, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'PUT' }, options: { endStream: false } });
	for (let i = 0; i < 4; i++)
		client.data(1, zeros(16384));
	client.data(1, '', { endStream: true });
	const small = await upload(origin, up.stream);
	assert.equal(small.total, 65536);
	assert.ok(small.lengths.every((n) => n <= 16384), String(small.lengths));
	/* A field block of more than 16384 bytes, random so that no coding shortens it. */
	const long = Array.from({ length: 3 }, (_, i) => [`x-${i}`, Array.from({ length: 7000 }, (_, k) => '\\^~{}'[(k * 7 + i) % 5]).join('')]);
	client.headers(3, [[':method', 'GET'], [':scheme', 'http'], [':authority', client.authority], [':path', '/long'], ...long], { endStream: true, split: [16000] });
	const far = await origin.expectRequest('/long');
	assert.ok(far.parts.length > 1, 'CONTINUATION');
	assert.ok(far.parts.every((p) => p.length <= 16384));
	for (const [name, value] of long)
		assert.equal(far.headers[name], value);
	origin.respond(up.stream, { status: 204 }).respond(far.stream, { status: 204 });
	await client.response(1);
	await client.response(3);
});
// covers: R162
for (const sizes of [[0], [0, 4096], [100], [65536], [4096, 0, 50]])
	scenario(`RFC 7541 4.2. our encoder keeps to HEADER_TABLE_SIZE ${sizes.join(', then ')}`, { origin: { 'max-connections': 1 } }, async (s) => {
		const { client, origin, up } = await s.open({ request: { 'x-kept': 'value-one', 'x-more': 'value-two' } });
		origin.settings(sizes.map((n) => ['headerTableSize', n]));
		await origin.sync();
		const before = origin.decoder.updates.length;
		for (const id of [3, 5, 7]) {
			client.request(id, { path: '/next', 'x-kept': 'value-one', 'x-more': 'value-two' });
			const next = await origin.expectRequest('/next');
			assert.equal(next.headers['x-kept'], 'value-one');
			assert.equal(next.headers['x-more'], 'value-two');
			assert.ok(origin.decoder.table.size <= sizes.at(-1));
			origin.respond(next.stream, { status: 204 });
			await client.response(id);
		}
		const updates = origin.decoder.updates.slice(before);
		const least = Math.min(...sizes);
		if (least < 4096)
			assert.equal(updates[0], least, `the smallest is said first: ${updates}`);
		assert.ok(updates.every((n) => n <= 65536) && updates.length <= 2, `${updates}`);
		origin.respond(up.stream, { status: 204 });
		await client.response(1);
	});
scenario('RFC 7541 7.1.3. a field that came as never indexed leaves so, toward the origin and back', async (s) => {
	const client = await s.connect();
	client.headers(1, [
		[':method', 'GET'], [':scheme', 'http'], [':authority', client.authority], [':path', '/secret', { as: 'never' }],
		['x-key', 'k', { as: 'never' }], ['authorization', 'Basic xyz', { as: 'never' }],
	], { endStream: true });
	const origin = await s.accept();
	const up = await origin.expectRequest('/secret');
	for (const name of [':path', 'x-key', 'authorization'])
		assert.equal(up.fields.find((f) => f.name === name).as, 'never', name);
	origin.headers(up.stream, [[':status', '200'], ['x-token', 't', { as: 'never' }], ['set-cookie', 'a=1', { as: 'never' }]], { endStream: true });
	const { head } = await client.response(1);
	for (const name of ['x-token', 'set-cookie'])
		assert.equal(head.fields.find((f) => f.name === name).as, 'never', name);
});
// covers: R163
scenario('6.5.2. a request larger than the origin\'s MAX_HEADER_LIST_SIZE is answered 431, the connection goes on', {
	origins: { main: { settings: { maxHeaderListSize: 1000 } } }, origin: { 'max-connections': 1 },
}, async (s) => {
	const { client, origin, up } = await s.open();
	client.request(3, { path: '/large', 'x-large': 'x'.repeat(900) });
	const { params } = await answered(client, 3, 431, 'http_request_error');
	assert.equal(params['status-code'], 431);
	client.request(5, { path: '/fits', 'x-fits': 'x'.repeat(300) });
	const fits = await origin.expectRequest('/fits');
	assert.equal(origin.seen('HEADERS').length, 0);
	origin.respond(fits.stream, { status: 204 }).respond(up.stream, { status: 204 });
	await client.response(5);
	await client.response(1);
});

/* ---- 3.4: the preface ---- */
// covers: R140
for (const [what, bytes, why, details = why] of [
	['HTTP/1.1', Buffer.from('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n'), 'first-frame-not-settings', 'origin-not-http2'],
	['a TLS record', Buffer.from('1603010200010001fc0303', 'hex'), 'first-frame-not-settings'],
	['zeros', zeros(40), 'first-frame-not-settings'],
	['PING', frame('PING', 0, 0, zeros(8)), 'first-frame-not-settings'],
	['GOAWAY', frame('GOAWAY', 0, 0, zeros(8)), 'first-frame-not-settings'],
	['HEADERS', frame('HEADERS', FLAG.END_HEADERS, 1, Buffer.from([0x88])), 'first-frame-not-settings'],
	['an unknown frame', frame(0xfe, 0, 0), 'first-frame-not-settings'],
	['a SETTINGS acknowledgement', frame('SETTINGS', FLAG.ACK, 0), 'first-frame-not-settings'],
	['SETTINGS on a stream', frame('SETTINGS', 0, 1), 'settings-on-a-stream'],
	['SETTINGS of a bad value', frame('SETTINGS', 0, 0, settingsPayload({ enablePush: 7 })), 'settings-enable-push'],
])
	for (const originTls of [false, true])
		scenario(`3.4. an origin whose first words are ${what}, ${originTls ? 'TLS' : 'h2c'}: connection error, 502`, {
			originTls, origins: { main: { settings: null, auto: { settings: false } } },
		}, async (s) => {
			const client = await s.connect();
			client.request(1);
			const origin = await s.accept();
			origin.raw(bytes);
			const goaway = await origin.expectConnectionError('PROTOCOL_ERROR');
			assert.equal(goaway.debug, why);
			const { params } = await answered(client, 1, 502, 'http_protocol_error');
			assert.equal(params.details, details);
			await client.sync();
		});
scenario('3.4, 6.5. our own preface: SETTINGS first, in one piece with it, and no ENABLE_PUSH other than 0 or 1', { origin: { push: 'refuse' } }, async (s) => {
	const { origin, up, client } = await s.open();
	const first = origin.trace.find((line) => line.includes('<- '));
	assert.match(first, /SETTINGS/);
	assert.equal(origin.peerSettings.enablePush, 0);
	assert.equal(origin.peerSettings.noRfc7540Priorities, 1);
	origin.respond(up.stream, { status: 204 });
	await client.response(1);
});
scenario('3.4. an origin that never sends SETTINGS: SETTINGS_TIMEOUT, 504', {
	origins: { main: { settings: null, auto: { settings: false } } }, origin: { 'settings-timeout': '300ms' },
}, async (s) => {
	const client = await s.connect();
	client.request(1);
	const origin = await s.accept();
	await answered(client, 1, 504, 'connection_timeout');
	await origin.expectConnectionError('SETTINGS_TIMEOUT');
});
// covers: R154
scenario('6.5.3. an origin that never acknowledges our SETTINGS: SETTINGS_TIMEOUT, 502', {
	origins: { main: { auto: { settings: false } } }, origin: { 'settings-timeout': '1s' },
}, async (s) => {
	const { client, origin } = await s.open();
	await origin.expectConnectionError('SETTINGS_TIMEOUT');
	const { params } = await answered(client, 1, 502, 'http_protocol_error');
	assert.equal(params.details, 'settings-timeout');
});
// covers: R164
scenario('6.8. an idle connection is ended with GOAWAY NO_ERROR, not torn off', { origin: { 'idle-timeout': '300ms' } }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { body: 'x' });
	await client.response(1);
	const goaway = await origin.expect('GOAWAY');
	assert.equal(goaway.code, 'NO_ERROR');
	assert.equal(goaway.lastId, 0);
	await origin.expectClosed();
});
for (const [what, options] of [['h2c', {}], ['TLS', { originTls: true }], ['master and workers', { single: false }]])
	scenario(`6.8. at its end pushgate says GOAWAY NO_ERROR to its origins, ${what}`, options, async (s) => {
		const { client, origin, up } = await s.open();
		origin.push(up, 2, '/a').respond(2, { body: 'a' }).respond(up.stream, { body: 'x' });
		await client.response(1);
		client.close();
		process.kill(s.gate.pid, 'SIGTERM');
		const goaway = await origin.expect('GOAWAY');
		assert.equal(goaway.code, 'NO_ERROR');
		assert.equal(goaway.lastId, 2);
		await origin.expectClosed();
		await s.gate.ended();
	});
