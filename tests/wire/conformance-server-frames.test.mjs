/* SPDX-License-Identifier: MIT */
/* What a client's frames must look like (RFC 9113 4, 6), each offence with its code and its scope. */
import assert from 'node:assert/strict';
import { FLAG, frame, u32 } from '../support/frames.mjs';
import { conformance } from '../support/site.mjs';

const bytes = (n, fill = 0) => Buffer.alloc(n, fill);
/* The fields of a request, encoded and not yet sent. */
const block = (c, r, extra = {}) => c.encoder.encode({ ...r.get('/after'), ...extra });
const answered = async (c, id) => assert.equal((await c.response(id)).status, 200);

conformance('a frame', [
	/* ---- unknown things ---- */
	{ covers: 'R90', name: '4.1. of an unknown type on stream 0 is ignored', ignored: true,
		send: (c) => c.frame(0x16, 0xff, 0, bytes(100)).frame(0xff, 0, 0) },
	{ covers: 'R90', name: '5.5. of an unknown type on an open stream is ignored', given: 'open', ignored: true,
		send: (c) => c.frame(0xfa, 0xff, 1, bytes(8)) },
	{ covers: 'R90', name: '5.5. of an unknown type on an idle stream opens nothing', ignored: true,
		send: (c) => c.frame(0xfa, 0xff, 51, bytes(8)) },
	{ covers: 'R90', name: '5.5. of an extension that was not agreed on (ALTSVC, ORIGIN) is ignored', ignored: true,
		send: (c) => c.frame(0x0a, 0, 0, bytes(10)).frame(0x0c, 0, 0, bytes(10)) },
	{ covers: 'R90', name: '4.1. with the reserved bit set is read without it', send: (c) => {
		c.frame('PING', 0, 0x80000000, bytes(8, 1)).frame('WINDOW_UPDATE', 0, 0x80000000, u32(0x80000001));
	}, check: (c) => c.expect('PING', { ack: true }) },
	{ covers: 'R90', name: '4.1. with the reserved bit set belongs to the stream without it', given: 'open',
		send: (c, r) => c.frame('DATA', FLAG.END_STREAM, 0x80000001, Buffer.from('x')),
		check: async (c, r) => {
			await r.origin.expect('DATA', { stream: r.up.stream, endStream: true });
			r.origin.respond(r.up.stream, { body: 'x' });
			await answered(c, 1);
		} },
	{ covers: 'R90', name: '4.1. HEADERS with undefined flags is a request', check: (c) => answered(c, 5),
		send: (c, r) => c.frame('HEADERS', FLAG.END_HEADERS | FLAG.END_STREAM | 0xd2 & ~FLAG.PADDED & ~FLAG.PRIORITY, 5, block(c, r)) },
	{ covers: 'R90', name: '4.1. DATA with undefined flags is DATA', given: 'open', ignored: true,
		send: (c) => c.frame('DATA', 0xf6, 1, Buffer.from('x')) },
	{ covers: 'R90', name: '4.1. PING with undefined flags is a PING', send: (c) => c.frame('PING', 0xfe, 0, bytes(8, 2)),
		check: (c) => c.expect('PING', { ack: true }) },
	{ covers: 'R90', name: '4.1. SETTINGS with undefined flags is acknowledged', send: (c) => c.settings({}, 0xfe),
		check: (c) => c.expect('SETTINGS', { ack: true }) },
	{ covers: 'R90', name: '4.1. RST_STREAM, PRIORITY and WINDOW_UPDATE with undefined flags do what they say', given: 'open',
		send: (c) => c.frame('PRIORITY', 0xff, 1, bytes(5)).frame('WINDOW_UPDATE', 0xff, 1, u32(1)).frame('RST_STREAM', 0xff, 1, u32(8)),
		ended: (r) => r.origin.expectReset(r.up.stream, 'CANCEL') },

	/* ---- sizes ---- */
	{ covers: 'R91', name: '4.2. DATA of 2^14 bytes is taken', given: 'open', ignored: true, send: (c) => c.data(1, bytes(16384)) },
	{ covers: 'R91', name: '4.2. HEADERS of 2^14 bytes is taken', check: (c) => answered(c, 5),
		send: (c, r) => {
			const short = block(c, r, { 'x-fill': '' }).length + 2;
			const whole = block(c, r, { 'x-fill': 'v'.repeat(16384 - short) });
			assert.equal(whole.length, 16384);
			c.headers(5, null, { block: whole, endStream: true });
		} },
	{ covers: 'R91', name: '4.2. an unknown frame of 2^14 bytes is ignored', ignored: true, send: (c) => c.frame(0xee, 0, 0, bytes(16384)) },
	{ covers: 'R91', name: '4.2. SETTINGS of 2730 values is taken', send: (c) => c.settings(Array.from({ length: 2730 }, () => [0xf0f0, 1])),
		check: (c) => c.expect('SETTINGS', { ack: true }) },
	{ covers: 'R91', name: '4.2. DATA of 2^14 + 1 bytes', given: 'open', connection: 'FRAME_SIZE_ERROR', send: (c) => c.data(1, bytes(16385)) },
	{ covers: 'R91', name: '4.2. HEADERS of 2^14 + 1 bytes', connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('HEADERS', FLAG.END_HEADERS, 5, bytes(16385)) },
	{ covers: 'R91', name: '4.2. CONTINUATION of 2^14 + 1 bytes', connection: 'FRAME_SIZE_ERROR',
		send: (c, r) => c.headers(5, r.get(), { endHeaders: false }).continuation(5, bytes(16385)) },
	{ covers: 'R91', name: '4.2. an unknown frame of 2^14 + 1 bytes', connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame(0xee, 0, 0, bytes(16385)) },
	{ covers: 'R91', name: '4.2. a frame that claims 2^24 - 1 bytes is refused by its header', connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.raw(Buffer.from('ffffff000000000001', 'hex')) },
	{ covers: 'R91', name: '4.2. a SETTINGS that claims 2^14 + 2 bytes is refused by its header', connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.raw(Buffer.from('004002040000000000', 'hex')) },

	{ covers: 'R92', name: '6.3. PRIORITY of 4 bytes', given: 'open', stream: 'FRAME_SIZE_ERROR', send: (c) => c.frame('PRIORITY', 0, 1, bytes(4)) },
	{ covers: 'R92', name: '6.3. PRIORITY of 6 bytes', given: 'half-closed (remote)', stream: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('PRIORITY', 0, 1, bytes(6)) },
	{ covers: 'R92', name: '6.3. PRIORITY of no bytes on an idle stream, which cannot be reset', connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('PRIORITY', 0, 5) },
	...[0, 3, 5].map((n) => ({ covers: 'R92', name: `6.4. RST_STREAM of ${n} bytes`, given: 'open', connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('RST_STREAM', 0, 1, bytes(n)) })),
	...[1, 5, 7].map((n) => ({ covers: 'R92', name: `6.5. SETTINGS of ${n} bytes`, connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('SETTINGS', 0, 0, bytes(n)) })),
	{ covers: 'R92', name: '6.5. SETTINGS acknowledgement with a payload', connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('SETTINGS', FLAG.ACK, 0, bytes(6)) },
	{ covers: 'R92', name: '6.5. SETTINGS acknowledgement of one byte', connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('SETTINGS', FLAG.ACK, 0, bytes(1)) },
	...[0, 7, 9].map((n) => ({ covers: 'R92', name: `6.7. PING of ${n} bytes`, connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('PING', 0, 0, bytes(n)) })),
	{ covers: 'R92', name: '6.7. PING acknowledgement of 6 bytes', connection: 'FRAME_SIZE_ERROR', send: (c) => c.frame('PING', FLAG.ACK, 0, bytes(6)) },
	...[0, 7].map((n) => ({ covers: 'R92', name: `6.8. GOAWAY of ${n} bytes`, connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('GOAWAY', 0, 0, bytes(n)) })),
	...[0, 3, 5].map((n) => ({ covers: 'R92', name: `6.9. WINDOW_UPDATE of ${n} bytes on stream 0`, connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('WINDOW_UPDATE', 0, 0, bytes(n)) })),
	{ covers: 'R92', name: '6.9. WINDOW_UPDATE of 3 bytes on a stream', given: 'open', connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('WINDOW_UPDATE', 0, 1, bytes(3)) },
	{ covers: 'R92', name: '6.1. DATA with PADDED and no byte', given: 'open', connection: 'FRAME_SIZE_ERROR', send: (c) => c.frame('DATA', FLAG.PADDED, 1) },
	{ covers: 'R92', name: '6.2. HEADERS with PADDED and no byte', connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('HEADERS', FLAG.PADDED | FLAG.END_HEADERS, 5) },
	{ covers: 'R92', name: '6.2. HEADERS with PRIORITY and 4 bytes', connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('HEADERS', FLAG.PRIORITY | FLAG.END_HEADERS, 5, bytes(4)) },
	{ covers: 'R92', name: '6.2. HEADERS with PADDED, PRIORITY and 5 bytes', connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('HEADERS', FLAG.PADDED | FLAG.PRIORITY | FLAG.END_HEADERS, 5, bytes(5)) },
	...[0, 3].map((n) => ({ covers: 'R92 R139', name: `RFC 9218 7.1. PRIORITY_UPDATE of ${n} bytes`, connection: 'FRAME_SIZE_ERROR',
		send: (c) => c.frame('PRIORITY_UPDATE', 0, 0, bytes(n)) })),

	/* ---- stream 0 and others ---- */
	{ covers: 'R93', name: '6.1. DATA on stream 0', connection: 'PROTOCOL_ERROR', send: (c) => c.data(0, 'x') },
	{ covers: 'R93', name: '6.2. HEADERS on stream 0', connection: 'PROTOCOL_ERROR', send: (c, r) => c.headers(0, r.get(), { endStream: true }) },
	{ covers: 'R93', name: '6.3. PRIORITY on stream 0', connection: 'PROTOCOL_ERROR', send: (c) => c.priority(0) },
	{ covers: 'R93', name: '6.4. RST_STREAM on stream 0', connection: 'PROTOCOL_ERROR', send: (c) => c.rst(0) },
	{ covers: 'R93', name: '6.5. SETTINGS on a stream', given: 'open', connection: 'PROTOCOL_ERROR', send: (c) => c.frame('SETTINGS', 0, 1) },
	{ covers: 'R93', name: '6.5. SETTINGS acknowledgement on a stream', connection: 'PROTOCOL_ERROR', send: (c) => c.frame('SETTINGS', FLAG.ACK, 5) },
	{ covers: 'R93 R37', name: '6.6. PUSH_PROMISE on stream 0', connection: 'PROTOCOL_ERROR', send: (c, r) => c.pushPromise(0, 4, r.get()) },
	{ covers: 'R93 R37', name: '8.4. PUSH_PROMISE on an open stream', given: 'open', connection: 'PROTOCOL_ERROR',
		send: (c, r) => c.pushPromise(1, 4, r.get()) },
	{ covers: 'R93', name: '6.7. PING on a stream', given: 'open', connection: 'PROTOCOL_ERROR', send: (c) => c.frame('PING', 0, 1, bytes(8)) },
	{ covers: 'R93', name: '6.8. GOAWAY on a stream', given: 'open', connection: 'PROTOCOL_ERROR', send: (c) => c.frame('GOAWAY', 0, 1, bytes(8)) },
	{ covers: 'R93 R98', name: '6.10. CONTINUATION on stream 0', connection: 'PROTOCOL_ERROR', send: (c) => c.continuation(0, bytes(0)) },
	{ covers: 'R93 R139', name: 'RFC 9218 7.1. PRIORITY_UPDATE on a stream', given: 'open', connection: 'PROTOCOL_ERROR',
		send: (c) => c.frame('PRIORITY_UPDATE', 0, 1, Buffer.from('\0\0\0\x01u=1')) },

	/* ---- padding ---- */
	{ covers: 'R94', name: '6.1. DATA padded by as much as its payload has', given: 'open', connection: 'PROTOCOL_ERROR',
		send: (c) => c.frame('DATA', FLAG.PADDED, 1, Buffer.from([5, 1, 2, 3, 4])) },
	{ covers: 'R94', name: '6.1. DATA of a pad length and nothing to pad with', given: 'open', connection: 'PROTOCOL_ERROR',
		send: (c) => c.frame('DATA', FLAG.PADDED, 1, Buffer.from([1])) },
	{ covers: 'R94', name: '6.2. HEADERS padded by more than its payload', connection: 'PROTOCOL_ERROR',
		send: (c) => c.frame('HEADERS', FLAG.PADDED | FLAG.END_HEADERS | FLAG.END_STREAM, 5, Buffer.from([3, 0x82, 0x86])) },
	{ covers: 'R94', name: '6.2. HEADERS padded into its priority fields', connection: 'PROTOCOL_ERROR',
		send: (c) => c.frame('HEADERS', FLAG.PADDED | FLAG.PRIORITY | FLAG.END_HEADERS, 5, Buffer.from([4, 0, 0, 0, 0, 0, 0x82, 0x86, 0x84])) },
	...[0, 1, 255].map((n) => ({ covers: 'R94', name: `6.2. HEADERS padded by ${n} is a request`, check: (c) => answered(c, 5),
		send: (c, r) => c.headers(5, r.get('/after'), { endStream: true, padding: n }) })),
	{ covers: 'R94', name: '6.2. HEADERS padded and with priority fields is a request', check: (c) => answered(c, 5),
		send: (c, r) => c.headers(5, r.get('/after'), { endStream: true, padding: 7, priority: { dependsOn: 3, exclusive: true, weight: 255 } }) },
	{ covers: 'R94', name: '6.1. DATA of padding alone brings nothing to the origin, and its end', given: 'open',
		send: (c) => c.data(1, '', { padding: 255 }).data(1, 'x', { padding: 0 }).data(1, '', { padding: 254, endStream: true }),
		check: async (c, r) => {
			let text = '';
			for (let f; !f?.endStream; text += f.data)
				f = await r.origin.expect('DATA', { stream: r.up.stream });
			assert.equal(text, 'x');
			r.origin.respond(r.up.stream, { body: 'x' });
			await answered(c, 1);
		} },
	{ covers: 'R94', name: '6.1. padding that is not zero is not looked at', given: 'open', ignored: true,
		send: (c) => c.frame('DATA', FLAG.PADDED, 1, Buffer.concat([Buffer.from([3, 0x61]), bytes(3, 0xff)])) },

	/* ---- priority of RFC 7540 ---- */
	{ covers: 'R95', name: '5.3.2. PRIORITY of an open stream changes nothing', given: 'open', ignored: true,
		send: (c) => c.priority(1, { dependsOn: 99, exclusive: true, weight: 0 }).priority(1, { weight: 255 }) },
	{ covers: 'R95', name: '5.3.2. PRIORITY of idle streams of either side opens nothing', ignored: true,
		send: (c) => c.priority(51, { dependsOn: 53 }).priority(52) },
	{ covers: 'R95', name: '6.3. PRIORITY of an idle stream leaves lower ids free', send: (c, r) => c.priority(51).headers(5, r.get('/after'), { endStream: true }),
		check: (c) => answered(c, 5) },
	{ covers: 'R95', name: '6.2. HEADERS with priority fields is a request', check: (c) => answered(c, 5),
		send: (c, r) => c.headers(5, r.get('/after'), { endStream: true, priority: { dependsOn: 77, weight: 255 } }) },
	{ covers: 'R95', name: 'RFC 7540 5.3.1. PRIORITY that makes an open stream depend on itself', given: 'open', stream: 'PROTOCOL_ERROR',
		send: (c) => c.priority(1, { dependsOn: 1 }) },
	{ covers: 'R95', name: 'RFC 7540 5.3.1. HEADERS that depends on itself', stream: 'PROTOCOL_ERROR', on: 5,
		send: (c, r) => c.headers(5, r.get(), { endStream: true, priority: { dependsOn: 5 } }) },
	{ covers: 'R95', name: 'RFC 7540 5.3.1. PRIORITY that makes an idle stream depend on itself, which cannot be reset',
		connection: 'PROTOCOL_ERROR', send: (c) => c.priority(51, { dependsOn: 51 }) },

	/* ---- RST_STREAM ---- */
	...[['NO_ERROR', 0], ['INTERNAL_ERROR', 2], ['HTTP_1_1_REQUIRED', 13], ['an unknown code', 0xdeadbeef]].map(([what, code]) => ({
		covers: 'R96', name: `6.4, 7. RST_STREAM with ${what} ends the stream here and at the origin`, given: 'open',
		send: (c) => c.rst(1, code), ended: (r) => r.origin.expectReset(r.up.stream, 'CANCEL') })),
	{ covers: 'R96', name: '5.4.2. RST_STREAM twice is not answered', given: 'open', send: (c) => c.rst(1).rst(1),
		ended: (r) => r.origin.expectReset(r.up.stream) },
	{ covers: 'R96', name: '5.4.2. RST_STREAM that crossed ours is not answered', given: 'reset by us', ignored: true, send: (c) => c.rst(1) },

	...Object.entries({
		'RST_STREAM of the client': async (c) => { c.rst(1); await c.sync(); },
		'RST_STREAM of ours': async (c) => { c.windowUpdate(1, 0); await c.expectReset(1, 'PROTOCOL_ERROR'); },
	}).map(([what, reset]) => ({ covers: 'R96', name: `5.1, 6.4. behind ${what} nothing more comes on its stream`, given: 'half-closed (remote)', check: async (c, r) => {
		r.origin.headers(r.up.stream, { ':status': 200 }).data(r.up.stream, 'before');
		await c.expect('DATA', { stream: 1 });
		await reset(c);
		c.drop((f) => f.stream === 1);
		r.origin.data(r.up.stream, 'behind').headers(r.up.stream, { x: 'y' }, { endStream: true });
		await r.origin.expectReset(r.up.stream, 'CANCEL');
		await r.origin.sync();
		await c.sync();
		assert.deepEqual(['HEADERS', 'DATA', 'RST_STREAM', 'WINDOW_UPDATE'].flatMap((type) => c.seen(type, { stream: 1 })), []);
	} })),

	/* ---- PING ---- */
	{ covers: 'R97', name: '6.7. PING comes back with its eight bytes', send: (c) => c.ping(Buffer.from('0001fe7f80ffaa55', 'hex')),
		check: async (c) => assert.equal((await c.expect('PING', { ack: true })).payload.toString('hex'), '0001fe7f80ffaa55') },
	{ covers: 'R97', name: '6.7. PINGs come back in order', send: (c) => c.ping('first...').ping('second..'), check: async (c) => {
		assert.equal(String((await c.expect('PING', { ack: true })).payload), 'first...');
		assert.equal(String((await c.expect('PING', { ack: true })).payload), 'second..');
	} },
	{ covers: 'R97', name: '6.7. a PING acknowledgement that nobody asked for is not answered', ignored: true,
		send: (c) => c.ping('whatever', { ack: true }) },
	{ covers: 'R97', name: '6.7. PING is answered ahead of DATA that waits', given: 'half-closed (remote)',
		client: { settings: { initialWindowSize: 0 }, auto: { window: false } }, check: async (c, r) => {
			r.origin.headers(r.up.stream, { ':status': 200 }).data(r.up.stream, bytes(1000), { endStream: true });
			await c.expectHead(1);
			await r.origin.sync();
			/* In one packet: the window comes first. */
			c.socket.cork();
			c.windowUpdate(1, 1000).ping('overtake');
			c.socket.uncork();
			const data = await c.expect('DATA', { stream: 1 });
			const ping = await c.expect('PING', { ack: true });
			assert.ok(ping.seq < data.seq);
		} },
	{ covers: 'R97', name: '6.7. PING is answered inside an upload', given: 'open', ignored: true,
		send: async (c) => { await c.data(1, 'x').ping('midst...').data(1, 'y').expect('PING', { ack: true }); } },

	/* ---- field blocks ---- */
	{ covers: 'R98', name: '6.10. CONTINUATION out of the blue', connection: 'PROTOCOL_ERROR', send: (c) => c.continuation(5, bytes(0)) },
	{ covers: 'R98', name: '6.10. CONTINUATION behind END_HEADERS', given: 'open', connection: 'PROTOCOL_ERROR', send: (c) => c.continuation(1, bytes(0)) },
	{ covers: 'R98', name: '6.10. CONTINUATION behind DATA', given: 'open', connection: 'PROTOCOL_ERROR',
		send: (c) => c.data(1, 'x').continuation(1, bytes(0)) },
	{ covers: 'R98', name: '6.10. CONTINUATION twice with END_HEADERS', connection: 'PROTOCOL_ERROR',
		send: (c, r) => c.headers(5, r.get(), { endHeaders: false }).continuation(5, bytes(0)).continuation(5, bytes(0)) },
	{ covers: 'R98', name: '6.10. CONTINUATION of another stream inside a block', connection: 'PROTOCOL_ERROR',
		send: (c, r) => c.headers(5, r.get(), { endHeaders: false }).continuation(7, bytes(0)) },
	...Object.entries({
		DATA: (c) => c.data(5, 'x'), 'DATA of another stream': (c) => c.data(1, 'x'), HEADERS: (c, r) => c.headers(5, r.get()),
		'HEADERS of another stream': (c, r) => c.headers(7, r.get()), PRIORITY: (c) => c.priority(5), RST_STREAM: (c) => c.rst(5),
		SETTINGS: (c) => c.settings(), 'SETTINGS acknowledgement': (c) => c.settingsAck(), PING: (c) => c.ping(), GOAWAY: (c) => c.goaway(0),
		WINDOW_UPDATE: (c) => c.windowUpdate(0, 1), PRIORITY_UPDATE: (c) => c.frame('PRIORITY_UPDATE', 0, 0, Buffer.from('\0\0\0\x05u=1')),
		PUSH_PROMISE: (c, r) => c.pushPromise(5, 4, r.get()), 'an unknown frame': (c) => c.frame(0xfa, 0, 5), 'an unknown frame on stream 0': (c) => c.frame(0xfa),
	}).map(([what, send]) => ({ covers: 'R98', name: `4.3. ${what} inside a field block`, given: 'open', connection: 'PROTOCOL_ERROR',
		send: (c, r) => { c.headers(5, r.get(), { endHeaders: false, endStream: true }); send(c, r); } })),
	{ covers: 'R98', name: '6.10. PING inside a block of trailers', given: 'open', connection: 'PROTOCOL_ERROR',
		send: (c) => c.headers(1, { x: 'y' }, { endHeaders: false, endStream: true }).ping() },
	{ covers: 'R98', name: '6.10. a block in CONTINUATIONs, empty ones too, is one request', check: (c) => answered(c, 5),
		send: (c, r) => c.headers(5, r.get('/after'), { endStream: true, split: [0, 1, 0, 3, 5, 0] }) },
	{ covers: 'R98', name: '6.2. padding and priority count for the first frame of a block alone', check: (c) => answered(c, 5),
		send: (c, r) => c.headers(5, r.get('/after'), { endStream: true, split: [2], padding: 9, priority: {} }) },
	{ covers: 'R98', name: '6.10. CONTINUATION with undefined flags is a fragment', check: (c) => answered(c, 5),
		send: (c, r) => {
			const all = block(c, r);
			c.headers(5, null, { block: all.subarray(0, 5), endHeaders: false, endStream: true }).frame('CONTINUATION', 0xff, 5, all.subarray(5));
		} },

	/* ---- what has no end ---- */
	{ covers: 'R99', name: '10.5.1. a field block above what is taken', connection: 'ENHANCE_YOUR_CALM', send: (c, r) => {
		c.headers(5, r.get(), { endHeaders: false });
		/* All that this listener takes, and the bytes before. */
		for (let i = 0; i < 4; i++)
			c.continuation(5, bytes(16384), { endHeaders: false });
	} },
	{ covers: 'R99', name: '10.5. a field block in too many CONTINUATIONs', connection: 'ENHANCE_YOUR_CALM', send: (c, r) => {
		c.headers(5, r.get(), { endHeaders: false });
		for (let i = 0; i < 40; i++)
			c.continuation(5, bytes(0), { endHeaders: false });
	} },
	{ covers: 'R99', name: '10.5. frames byte by byte are the same frames', only: 'h2c', check: (c) => answered(c, 5), send: async (c, r) => {
		for (const byte of frame('HEADERS', FLAG.END_HEADERS | FLAG.END_STREAM, 5, block(c, r))) {
			c.raw(Buffer.from([byte]));
			await new Promise(setImmediate);
		}
	} },
], { listen: { 'max-field-block': '64k', 'max-header-list': '32k' } });
