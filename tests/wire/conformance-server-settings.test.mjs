/* SPDX-License-Identifier: MIT */
/* SETTINGS of a client and the windows of both sides (RFC 9113 4.2, 5.2, 6.5, 6.9, 10.5.1). */
import assert from 'node:assert/strict';
import { conformance } from '../support/site.mjs';

const settings = (...values) => (c) => c.settings(...values);
const acknowledged = (c) => c.expect('SETTINGS', { ack: true });
const bytes = (n) => Buffer.alloc(n, 0x61);

/* So many bytes of DATA come for these streams, and no more. */
async function arrives(c, wanted, ...streams) {
	const matches = (f) => f.type === 'DATA' && streams.includes(f.stream);
	let n = 0;
	while (n < wanted)
		n += (await c.take(matches, `DATA on ${streams}, ${n} of ${wanted} so far`)).length;
	/* A PING is answered ahead of DATA that is ready, a second one behind it. */
	await c.sync();
	await c.sync();
	n += streams.flatMap((stream) => c.seen('DATA', { stream })).reduce((sum, f) => sum + f.length, 0);
	assert.equal(n, wanted);
}
/* The response head, and as many bytes of body at the gate as the origin may send. */
async function body(c, { origin, up, id }, n) {
	origin.headers(up.stream, { ':status': 200 });
	for (; n > 16384; n -= 16384)
		origin.data(up.stream, bytes(16384));
	origin.data(up.stream, bytes(n), { endStream: true });
	await c.expectHead(id);
	await origin.sync();
}
/* Credit of a stream (0: the connection) since the last look. */
async function credit(c, stream) {
	await c.sync();
	const given = c.seen('WINDOW_UPDATE', { stream }).reduce((n, f) => n + f.increment, 0);
	c.drop((f) => f.type === 'WINDOW_UPDATE' && f.stream === stream);
	return given;
}
/* The origin reads the whole upload. */
async function upload(r) {
	let n = 0;
	for (let f; !f?.endStream; n += f.data.length)
		f = await r.origin.expect('DATA', { stream: r.up.stream });
	return n;
}
const noWindow = { settings: { initialWindowSize: 0 }, auto: { window: false } };

conformance('SETTINGS', [
	{ covers: 'R108', name: '6.5.2. ENABLE_PUSH of 2', connection: 'PROTOCOL_ERROR', send: settings({ enablePush: 2 }) },
	{ covers: 'R108', name: '6.5.2. ENABLE_PUSH of 2^32 - 1', connection: 'PROTOCOL_ERROR', send: settings({ enablePush: 0xffffffff }) },
	{ covers: 'R108', name: '6.5.2. INITIAL_WINDOW_SIZE of 2^31', connection: 'FLOW_CONTROL_ERROR', send: settings({ initialWindowSize: 0x80000000 }) },
	{ covers: 'R108', name: '6.5.2. INITIAL_WINDOW_SIZE of 2^31 - 1 is taken', check: acknowledged, send: settings({ initialWindowSize: 0x7fffffff }) },
	{ covers: 'R108', name: '6.5.2. MAX_FRAME_SIZE of 2^14 - 1', connection: 'PROTOCOL_ERROR', send: settings({ maxFrameSize: 16383 }) },
	{ covers: 'R108', name: '6.5.2. MAX_FRAME_SIZE of 2^24', connection: 'PROTOCOL_ERROR', send: settings({ maxFrameSize: 0x1000000 }) },
	{ covers: 'R108', name: '6.5.2. MAX_FRAME_SIZE of 2^24 - 1 is taken', check: acknowledged, send: settings({ maxFrameSize: 0xffffff }) },
	{ covers: 'R108', name: '6.5.2. MAX_CONCURRENT_STREAMS of 0 hinders no request', check: acknowledged, send: settings({ maxConcurrentStreams: 0 }) },
	{ covers: 'R108', name: 'RFC 9218 2.1. NO_RFC7540_PRIORITIES of 2', connection: 'PROTOCOL_ERROR', send: settings({ noRfc7540Priorities: 2 }) },
	{ covers: 'R108', name: 'RFC 8441 3. ENABLE_CONNECT_PROTOCOL of 2', connection: 'PROTOCOL_ERROR', send: settings({ enableConnectProtocol: 2 }) },
	{ covers: 'R108', name: 'RFC 8441 3. ENABLE_CONNECT_PROTOCOL of a client says nothing', check: acknowledged,
		send: settings([['enableConnectProtocol', 1], ['enableConnectProtocol', 0]]) },
	{ covers: 'R108', name: '6.5.2. a bad value among good ones', connection: 'PROTOCOL_ERROR',
		send: settings([['initialWindowSize', 70000], [0xabcd, 1], ['enablePush', 3]]) },
	{ covers: 'R108', name: '6.5.2. a bad value while requests are under way', given: 'open', connection: 'FLOW_CONTROL_ERROR',
		send: settings({ initialWindowSize: 0xffffffff }) },

	{ covers: 'R109', name: '6.5.3. each is acknowledged, in order with what else is answered',
		send: (c) => c.settings({ enablePush: 0 }).ping('between.').settings({}).settings([[0xabcd, 1]]), check: async (c) => {
			const first = await acknowledged(c);
			const ping = await c.expect('PING', { ack: true });
			const second = await acknowledged(c);
			const third = await acknowledged(c);
			assert.ok(first.seq < ping.seq && ping.seq < second.seq && second.seq < third.seq);
		} },
	{ covers: 'R109', name: '6.5.2. unknown identifiers are ignored', check: acknowledged,
		send: settings([[0, 1], [0xffff, 0xffffffff], [0x7, 2], [0x0a0a, 0]]) },
	{ covers: 'R109', name: '6.5.3. of equal identifiers the last counts', given: 'half-closed (remote)', client: { auto: { window: false } },
		send: settings([['initialWindowSize', 100], ['initialWindowSize', 5]]), check: async (c, r) => {
			await body(c, r, 50);
			await arrives(c, 5, 1);
			await arrives(c.windowUpdate(1, 45), 45, 1);
		} },
	{ covers: 'R109', name: '6.5.3. an acknowledgement that nobody waits for is ignored', ignored: true, send: (c) => c.settingsAck() },
	{ covers: 'R109', name: '6.5. ENABLE_PUSH and INITIAL_WINDOW_SIZE are not ours to say, what we say is what the RFC allows', check: (c) => {
		const values = c.first.values;
		assert.equal(values.enablePush, undefined);
		assert.ok((values.initialWindowSize ?? 65535) <= 0x7fffffff);
		assert.ok((values.maxFrameSize ?? 16384) >= 16384);
		assert.equal(values.noRfc7540Priorities, 1);
		assert.equal(values.maxConcurrentStreams, 100);
	} },

	/* ---- INITIAL_WINDOW_SIZE under way ---- */
	{ covers: 'R110', name: '6.9.2. raised: what waited goes on by the difference', given: 'half-closed (remote)', client: noWindow, check: async (c, r) => {
		await body(c, r, 5000);
		await arrives(c, 0, 1);
		await arrives(c.settings({ initialWindowSize: 1000 }), 1000, 1);
		await arrives(c.settings({ initialWindowSize: 1001 }), 1, 1);
		await arrives(c.settings({ initialWindowSize: 10000 }), 3999, 1);
	} },
	{ covers: 'R110', name: '6.9.2. lowered: the window may go below zero, and updates count from there', given: 'half-closed (remote)',
		client: { settings: { initialWindowSize: 1000 }, auto: { window: false } }, check: async (c, r) => {
			await body(c, r, 5000);
			await arrives(c, 1000, 1);
			await arrives(c.settings({ initialWindowSize: 400 }), 0, 1);
			await arrives(c.windowUpdate(1, 600), 0, 1);
			await arrives(c.windowUpdate(1, 1), 1, 1);
			await arrives(c.settings({ initialWindowSize: 0 }), 0, 1);
			await arrives(c.settings({ initialWindowSize: 410 }), 10, 1);
			await arrives(c.settings({ initialWindowSize: 65535 }), 3989, 1);
		} },
	{ covers: 'R110', name: '6.9.2. it moves every stream\'s window and not the connection\'s', given: 'half-closed (remote)', client: noWindow, check: async (c, r) => {
		const path = r.site.path();
		c.headers(5, r.get(path), { endStream: true });
		const other = await r.site.request(path);
		await body(c, r, 40000);
		await body(c, { ...other, id: 5 }, 40000);
		c.settings({ initialWindowSize: 60000 });
		await arrives(c, 65535, 1, 5);
		c.windowUpdate(0, 14465);
		await arrives(c, 14465, 1, 5);
		c.auto.window = true;
		c.windowUpdate(0, 65535);
	} },
	{ covers: 'R110', name: '6.9.2. it holds for streams to come', client: { auto: { window: false } }, send: settings({ initialWindowSize: 7 }),
		check: async (c, r) => {
			await r.ask();
			await body(c, r, 100);
			await arrives(c, 7, 1);
			await arrives(c.windowUpdate(1, 93), 93, 1);
		} },
	{ covers: 'R110', name: '6.9.2. one that lifts a window above 2^31 - 1', given: 'half-closed (remote)', connection: 'FLOW_CONTROL_ERROR',
		send: (c) => c.windowUpdate(1, 0x7fffffff - 65535).settings({ initialWindowSize: 65536 }) },
	{ covers: 'R61', name: '6.9. an empty DATA frame with END_STREAM waits for no window', given: 'half-closed (remote)', client: noWindow, check: async (c, r) => {
		r.origin.headers(r.up.stream, { ':status': 200 }).data(r.up.stream, '', { endStream: true });
		assert.equal((await c.response(1)).status, 200);
		c.settings({ initialWindowSize: 1000 });
	} },

	/* ---- WINDOW_UPDATE ---- */
	{ covers: 'R111', name: '6.9. an increment of 0 on the connection', connection: 'PROTOCOL_ERROR', send: (c) => c.windowUpdate(0, 0) },
	{ covers: 'R111', name: '6.9. an increment of 0 on a stream', given: 'open', stream: 'PROTOCOL_ERROR', send: (c) => c.windowUpdate(1, 0) },
	{ covers: 'R111', name: '6.9. an increment of 0 with the reserved bit', given: 'half-closed (remote)', stream: 'PROTOCOL_ERROR',
		send: (c) => c.windowUpdate(1, 0x80000000) },
	{ covers: 'R111', name: '6.9.1. one that lifts the connection\'s window above 2^31 - 1', connection: 'FLOW_CONTROL_ERROR',
		send: (c) => c.windowUpdate(0, 0x7fffffff - 65535).windowUpdate(0, 1) },
	{ covers: 'R111', name: '6.9.1. one in one piece', connection: 'FLOW_CONTROL_ERROR', send: (c) => c.windowUpdate(0, 0x7fffffff) },
	{ covers: 'R111', name: '6.9.1. a connection\'s window of 2^31 - 1 is fine', ignored: true, send: (c) => c.windowUpdate(0, 0x7fffffff - 65535) },
	{ covers: 'R111', name: '6.9.1. one that lifts a stream\'s window above 2^31 - 1', given: 'half-closed (remote)', stream: 'FLOW_CONTROL_ERROR',
		send: (c) => c.windowUpdate(1, 0x7fffffff - 65535).windowUpdate(1, 1) },
	{ covers: 'R111', name: '6.9.1. a stream\'s window of 2^31 - 1 is fine', given: 'half-closed (remote)', ignored: true,
		send: (c) => c.windowUpdate(1, 0x7fffffff - 65535) },

	/* ---- what we send ---- */
	{ covers: 'R112', name: '6.9.1. nothing is sent beyond the stream\'s window', given: 'half-closed (remote)', client: noWindow, check: async (c, r) => {
		await body(c, r, 10);
		for (const n of [1, 2, 3, 4])
			await arrives(c.windowUpdate(1, n), n, 1);
	} },
	{ covers: 'R112', name: '6.9.1. nothing is sent beyond the connection\'s window, whatever the streams have', given: 'half-closed (remote)',
		client: { settings: { initialWindowSize: 1 << 20 }, auto: { window: false } }, check: async (c, r) => {
			await body(c, r, 16384);
			for (let id = 5; id < 13; id += 2) {
				const path = r.site.path();
				c.headers(id, r.get(path), { endStream: true });
				const { origin, up } = await r.site.request(path);
				origin.respond(up.stream, { body: bytes(16384) });
				await c.expectHead(id);
			}
			await arrives(c, 65535, 1, 5, 7, 9, 11);
			c.windowUpdate(0, 1);
			await arrives(c, 1, 1, 5, 7, 9, 11);
			c.auto.window = true;
			c.windowUpdate(0, 1 << 20);
		} },

	/* ---- MAX_FRAME_SIZE ---- */
	{ covers: 'R113', name: '4.2. DATA keeps to the initial MAX_FRAME_SIZE', given: 'half-closed (remote)', check: async (c, r) => {
		r.origin.headers(r.up.stream, { ':status': 200 });
		for (let i = 0; i < 3; i++)
			r.origin.data(r.up.stream, bytes(16384));
		r.origin.data(r.up.stream, '', { endStream: true });
		let n = 0;
		for (let f; !f?.endStream; n += f.length) {
			f = await c.expect('DATA', { stream: 1 });
			assert.ok(f.length <= 16384);
		}
		assert.equal(n, 3 * 16384);
	} },
	{ covers: 'R113', name: '4.2. a field block is cut at the initial MAX_FRAME_SIZE', given: 'half-closed (remote)', check: async (c, r) => {
		const large = Object.fromEntries([1, 2, 3].map((n) => [`x-large-${n}`, String(n).repeat(9000)]));
		r.origin.headers(r.up.stream, { ':status': 200, ...large }, { split: [16000], endStream: true });
		const { head } = await c.response(1);
		assert.ok(head.parts.length > 1);
		for (const part of head.parts)
			assert.ok(part.length <= 16384);
		for (const [name, value] of Object.entries(large))
			assert.equal(head.headers[name], value);
	} },
	{ covers: 'R113', name: '6.5.3. both may be larger once the client says so', given: 'half-closed (remote)', send: settings({ maxFrameSize: 65536 }),
		check: async (c, r) => {
			await c.sync();
			r.origin.headers(r.up.stream, { ':status': 200, 'x-large': '~'.repeat(30000) }, { split: [16000, 16000], endStream: true });
			const { head } = await c.response(1);
			assert.equal(head.headers['x-large'].length, 30000);
			for (const part of head.parts)
				assert.ok(part.length <= 65536);
		} },

	{ covers: 'R115', name: '6.5.2. a response larger than the client\'s MAX_HEADER_LIST_SIZE, which is advice, comes all the same', given: 'half-closed (remote)',
		send: settings({ maxHeaderListSize: 100 }), check: async (c, r) => {
			await c.sync();
			r.origin.respond(r.up.stream, { fields: { 'x-large': 'l'.repeat(1000) }, body: 'x' });
			assert.equal((await c.response(1)).headers['x-large'].length, 1000);
		} },
	{ covers: 'R115', name: '10.5.1. a request larger than our MAX_HEADER_LIST_SIZE gets 431, and is decoded', check: async (c, r) => {
		const limit = c.first.values.maxHeaderListSize;
		assert.equal(limit, 65536);
		c.encoder.indexing = true;
		c.headers(5, { ...r.get(), 'x-small': 'kept in the table', 'x-a': 'a'.repeat(20), ...Object.fromEntries(
			Array.from({ length: 900 }, (_, i) => [`x-${i}`, 'b'.repeat(40)])) }, { endStream: true, split: [16000, 16000, 16000] });
		const answer = await c.response(5);
		assert.equal(answer.status, 431);
	} },
	{ covers: 'R115', name: '10.5.1. trailers larger than our MAX_HEADER_LIST_SIZE', given: 'open', stream: 'ENHANCE_YOUR_CALM',
		send: (c) => c.headers(1, { x: 'b'.repeat(80000) }, { huffman: true, endStream: true, split: [16000, 16000, 16000] }) },
]);

conformance('windows of a small listener', [
	{ covers: 'R112', name: '6.9.1. an upload one byte beyond the stream\'s window', stream: 'FLOW_CONTROL_ERROR', on: 1, send: async (c, r) => {
		/* The origin takes nothing: no credit comes back. */
		await r.ask({ endStream: false }, { method: 'POST' });
		for (let i = 0; i < 4; i++)
			c.data(1, bytes(16384));
		await c.sync();
		assert.equal(await credit(c, 1), 0);
		c.data(1, 'x');
	} },
	{ covers: 'R112', name: '6.9.1. an upload to the last byte of the stream\'s window is fine', check: async (c, r) => {
		await r.ask({ endStream: false }, { method: 'POST' });
		for (let i = 0; i < 4; i++)
			c.data(1, bytes(16384));
		await c.sync();
		assert.deepEqual(c.seen('RST_STREAM'), []);
		r.origin.windowUpdate(r.up.stream, 65536);
		await r.origin.take((f) => f.type === 'DATA' && f.stream === r.up.stream, 'DATA');
		c.rst(1);
	} },
], {
	listen: { 'stream-window': '64k' }, origins: { main: { settings: { initialWindowSize: 0 } } },
});

/* Uploads as the windows allow; each row says how. */
async function uploads(c, r, frames, send) {
	const room = { 0: 65535 + await credit(c, 0), 1: c.peerSettings.initialWindowSize + await credit(c, 1) };
	let sent = 0;
	for (let i = 0; i < frames; i++) {
		const { length, padding } = send(i);
		const all = padding === undefined ? length : length + 1 + padding;
		while (Math.min(room[0], room[1]) < all) {
			const f = await c.expect('WINDOW_UPDATE');
			room[f.stream] += f.increment;
		}
		c.data(1, bytes(length), { padding });
		room[0] -= all;
		room[1] -= all;
		sent += length;
	}
	c.data(1, '', { endStream: true });
	assert.equal(await upload(r), sent);
	r.origin.respond(r.up.stream, { body: 'x' });
	await c.response(1);
}

/* Several windows full: what is not given back stops the upload for good. */
conformance('an upload', [
	{ covers: 'R114', name: '6.9. is credited to connection and stream', given: 'open',
		check: (c, r) => uploads(c, r, 40, () => ({ length: 16384 })) },
	{ covers: 'R114', name: '6.9. is credited with its padding', given: 'open',
		check: (c, r) => uploads(c, r, 300, () => ({ length: 1000, padding: 255 })) },
	{ covers: 'R114', name: '6.9. is credited when it is all padding', given: 'open',
		check: (c, r) => uploads(c, r, 700, (i) => ({ length: i % 8 ? 0 : 1, padding: 255 - (i % 2) })) },
], { listen: { 'stream-window': '64k', 'connection-window': '64k' } });
