/* SPDX-License-Identifier: MIT */
/*
 * The origin's frames against RFC 9113 4, 5.1 and 6: each frame type in each state of a stream, each
 * form that a frame may not have, and what all that costs: the stream or that one connection to the
 * origin, never the client's and never another origin's.
 */
import assert from 'node:assert/strict';
import { FLAG, frame, u32 } from '../support/frames.mjs';
import { answered, conformance } from '../support/faulty.mjs';
import { integer, string } from '../support/hpack.mjs';

const head = { ':status': 200 };
const zeros = (n) => Buffer.alloc(n);
const begin = (o, r) => o.headers(r.id, head, { endHeaders: false });

conformance('5.1', [
	/* ---- idle: only the client opens streams by HEADERS, and what nobody opened has no frames ---- */
	{ covers: 'R144', name: 'HEADERS on an idle stream', given: 'idle', send: (o, r) => o.headers(r.id, head), connection: 'PROTOCOL_ERROR', why: 'headers-on-idle-stream' },
	{ covers: 'R144', name: 'DATA on an idle stream', given: 'idle', send: (o, r) => o.data(r.id, 'x'), connection: 'PROTOCOL_ERROR', why: 'data-on-idle-stream' },
	{ covers: 'R144', name: 'RST_STREAM on an idle stream', given: 'idle', send: (o, r) => o.rst(r.id), connection: 'PROTOCOL_ERROR', why: 'reset-on-idle-stream' },
	{ covers: 'R144', name: 'WINDOW_UPDATE on an idle stream', given: 'idle', send: (o, r) => o.windowUpdate(r.id, 1), connection: 'PROTOCOL_ERROR', why: 'window-update-on-idle-stream' },
	{ covers: 'R144', name: 'PUSH_PROMISE on an idle stream', given: 'idle', send: (o, r) => o.pushPromise(r.id, 2, r.request('/a')), connection: 'PROTOCOL_ERROR', why: 'promise-on-idle-stream' },
	{ covers: 'R144', name: 'PRIORITY on an idle stream is ignored', given: 'idle', send: (o, r) => o.priority(r.id), ignored: true },
	{ covers: 'R144', name: 'HEADERS on an even stream never promised', given: 'idle, even', send: (o, r) => o.headers(r.id, head), connection: 'PROTOCOL_ERROR', why: 'headers-on-idle-stream' },
	{ covers: 'R144', name: 'DATA on an even stream never promised', given: 'idle, even', send: (o, r) => o.data(r.id, 'x'), connection: 'PROTOCOL_ERROR', why: 'data-on-idle-stream' },
	{ covers: 'R144', name: 'RST_STREAM on an even stream never promised', given: 'idle, even', send: (o, r) => o.rst(r.id), connection: 'PROTOCOL_ERROR', why: 'reset-on-idle-stream' },
	{ covers: 'R144', name: 'WINDOW_UPDATE on an even stream never promised', given: 'idle, even', send: (o, r) => o.windowUpdate(r.id, 1), connection: 'PROTOCOL_ERROR', why: 'window-update-on-idle-stream' },
	{ covers: 'R144', name: 'PUSH_PROMISE on an even stream never promised', given: 'idle, even', send: (o, r) => o.pushPromise(r.id, 102, r.request('/a')), connection: 'PROTOCOL_ERROR', why: 'promise-on-idle-stream' },
	{ covers: 'R144', name: 'PRIORITY on an even stream never promised is ignored', given: 'idle, even', send: (o, r) => o.priority(r.id), ignored: true },

	/* ---- asked: half-closed (local), and open while the upload is under way ---- */
	{ covers: 'R145', name: 'WINDOW_UPDATE and PRIORITY on a request that was sent whole', send: (o, r) => o.windowUpdate(r.id, 1).priority(r.id), ignored: true },
	{ covers: 'R145', name: 'WINDOW_UPDATE and PRIORITY on an open stream', given: 'open', send: (o, r) => o.windowUpdate(r.id, 1).priority(r.id), ignored: true },
	{ covers: 'R145', name: 'WINDOW_UPDATE and PRIORITY in the middle of a response', given: 'answering', send: (o, r) => o.windowUpdate(r.id, 1).priority(r.id), ignored: true },

	{ covers: 'R145', name: 'PUSH_PROMISE while the upload is under way', given: 'open', check: async (o, r) => {
		r.promise(2, '/pushed').respond(2, { body: 'pushed' });
		assert.equal(String((await r.client.response((await r.client.expectPromise('/pushed')).promised)).body), 'pushed');
	} },
	{ covers: 'R145', name: 'PUSH_PROMISE in the middle of a response', given: 'answering', check: async (o, r) => {
		r.promise(2, '/pushed').respond(2, { body: 'pushed' });
		assert.equal(String((await r.client.response((await r.client.expectPromise('/pushed')).promised)).body), 'pushed');
	} },
	...['NO_ERROR', 'PROTOCOL_ERROR', 'HTTP_1_1_REQUIRED', 0x12345678, 0xffffffff].map((code) => ({
		covers: 'R145', name: `RST_STREAM with code ${code}`, check: async (o, r) => {
			o.rst(r.id, code);
			await answered(r.client, 1, 502, 'http_response_incomplete');
		},
	})),
	...[['NO_ERROR', 'INTERNAL_ERROR'], ['CANCEL', 'CANCEL'], ['STREAM_CLOSED', 'INTERNAL_ERROR'], [0xffffffff, 'INTERNAL_ERROR']].map(([code, across]) => ({
		covers: 'R145', name: `RST_STREAM with code ${code} in the middle of a response`, given: 'answering', check: async (o, r) => {
			o.rst(r.id, code);
			await r.client.expectReset(1, across);
		},
	})),

	/* ---- half-closed (remote): the origin has ended its side ---- */
	{ covers: 'R146', name: 'HEADERS after END_STREAM', given: 'half-closed (remote)', send: (o, r) => o.headers(r.id, { x: 'y' }, { endStream: true }), stream: 'STREAM_CLOSED' },
	{ covers: 'R146', name: 'DATA after END_STREAM', given: 'half-closed (remote)', send: (o, r) => o.data(r.id, 'x'), stream: 'STREAM_CLOSED' },
	{ covers: 'R146', name: 'PUSH_PROMISE after END_STREAM', given: 'half-closed (remote)', send: (o, r) => o.pushPromise(r.id, 2, r.request('/a')), connection: 'PROTOCOL_ERROR', why: 'promise-on-half-closed-stream' },
	{ covers: 'R146', name: 'WINDOW_UPDATE and PRIORITY after END_STREAM', given: 'half-closed (remote)', send: (o, r) => o.windowUpdate(r.id, 1).priority(r.id), ignored: true },

	/* ---- closed, by both ends or by the origin's RST_STREAM ---- */
	{ covers: 'R147', name: 'HEADERS on a closed stream', given: 'closed', send: (o, r) => o.headers(r.id, { x: 'y' }, { endStream: true }), connection: 'STREAM_CLOSED' },
	{ covers: 'R147', name: 'DATA on a closed stream', given: 'closed', send: (o, r) => o.data(r.id, 'x'), connection: 'STREAM_CLOSED', why: 'data-on-closed-stream' },
	{ covers: 'R147', name: 'PUSH_PROMISE on a closed stream', given: 'closed', send: (o, r) => o.pushPromise(r.id, 2, r.request('/a')), connection: ['PROTOCOL_ERROR', 'STREAM_CLOSED'] },
	{ covers: 'R147', name: 'RST_STREAM, WINDOW_UPDATE and PRIORITY on a closed stream', given: 'closed', send: (o, r) => o.rst(r.id).windowUpdate(r.id, 1).priority(r.id), ignored: true },
	{ covers: 'R147', name: 'HEADERS after the origin\'s RST_STREAM', given: 'reset by the origin', send: (o, r) => o.headers(r.id, head), connection: 'STREAM_CLOSED' },
	{ covers: 'R147', name: 'DATA after the origin\'s RST_STREAM', given: 'reset by the origin', send: (o, r) => o.data(r.id, 'x'), connection: 'STREAM_CLOSED', why: 'data-on-closed-stream' },
	{ covers: 'R147', name: 'PUSH_PROMISE after the origin\'s RST_STREAM', given: 'reset by the origin', send: (o, r) => o.pushPromise(r.id, 2, r.request('/a')), connection: ['PROTOCOL_ERROR', 'STREAM_CLOSED'] },
	{ covers: 'R147', name: 'RST_STREAM, WINDOW_UPDATE and PRIORITY after the origin\'s RST_STREAM', given: 'reset by the origin', send: (o, r) => o.rst(r.id).windowUpdate(r.id, 1).priority(r.id), ignored: true },
	{ covers: 'R147', name: 'HEADERS on a push that is over', given: 'push over', send: (o, r) => o.headers(r.id, head), connection: 'STREAM_CLOSED' },
	{ covers: 'R147', name: 'DATA on a push that is over', given: 'push over', send: (o, r) => o.data(r.id, 'x'), connection: 'STREAM_CLOSED' },
	{ covers: 'R147', name: 'PUSH_PROMISE on a push that is over', given: 'push over', send: (o, r) => o.pushPromise(r.id, 4, r.request('/a')), connection: 'PROTOCOL_ERROR', why: 'promise-on-pushed-stream' },
	{ covers: 'R147', name: 'RST_STREAM, WINDOW_UPDATE and PRIORITY on a push that is over', given: 'push over', send: (o, r) => o.rst(r.id).windowUpdate(r.id, 1).priority(r.id), ignored: true },

	/* ---- reset by us: what was on its way does no harm ---- */
	{ covers: 'R148', name: 'a whole response on a stream that pushgate has reset', given: 'reset by us', send: (o, r) => o.respond(r.id, { body: 'late', trailers: { x: 'y' } }), ignored: true },
	{ covers: 'R148', name: 'what would be malformed on a stream that pushgate has reset', given: 'reset by us', send: (o, r) => o.headers(r.id, { Upper: 'x' }).headers(r.id, head).data(r.id, 'x'), ignored: true },
	{ covers: 'R148', name: 'RST_STREAM, WINDOW_UPDATE and PRIORITY on a stream that pushgate has reset', given: 'reset by us', send: (o, r) => o.windowUpdate(r.id, 1).priority(r.id).rst(r.id), ignored: true },
	{ covers: 'R148', name: 'a whole response on a promise that pushgate has refused', given: 'push refused', send: (o, r) => o.respond(r.id, { body: 'late', trailers: { x: 'y' } }), ignored: true },
	{ covers: 'R148', name: 'RST_STREAM, WINDOW_UPDATE and PRIORITY on a promise that pushgate has refused', given: 'push refused', send: (o, r) => o.windowUpdate(r.id, 1).priority(r.id).rst(r.id), ignored: true },
	{ covers: 'R148', name: 'PUSH_PROMISE on a promise that pushgate has refused', given: 'push refused', send: (o, r) => o.pushPromise(r.id, 4, r.request('/a')), connection: 'PROTOCOL_ERROR', why: 'promise-on-pushed-stream' },
	{ covers: 'R148', name: 'a block that cannot be decoded, on a stream that pushgate has reset', given: 'reset by us', send: (o, r) => o.headers(r.id, null, { block: integer(200, 7, 0x80) }), connection: 'COMPRESSION_ERROR' },

	/* ---- promised streams ---- */
	{ covers: 'R149', name: 'DATA on a reserved stream', given: 'reserved (remote)', send: (o, r) => o.data(r.id, 'x'), connection: 'PROTOCOL_ERROR', why: 'data-on-reserved-stream' },
	{ covers: 'R149', name: 'WINDOW_UPDATE on a reserved stream', given: 'reserved (remote)', send: (o, r) => o.windowUpdate(r.id, 1), connection: 'PROTOCOL_ERROR', why: 'window-update-on-reserved-stream' },
	{ covers: 'R149', name: 'PUSH_PROMISE on a reserved stream', given: 'reserved (remote)', send: (o, r) => o.pushPromise(r.id, 4, r.request('/a')), connection: 'PROTOCOL_ERROR', why: 'promise-on-pushed-stream' },
	{ covers: 'R149', name: 'PUSH_PROMISE of a reserved stream again', given: 'reserved (remote)', send: (o, r) => o.push(r.up, 2, '/a'), connection: 'PROTOCOL_ERROR', why: 'promised-id-wrong' },
	{ covers: 'R149', name: 'PRIORITY on a reserved stream', given: 'reserved (remote)', send: (o, r) => o.priority(r.id), ignored: true },
	{ covers: 'R149', name: 'RST_STREAM on a reserved stream', given: 'reserved (remote)', check: async (o, r) => { o.rst(r.id, 'CANCEL'); await r.client.expectReset(r.told, 'CANCEL'); } },
	{ covers: 'R149', name: 'PUSH_PROMISE on a pushed stream', given: 'pushed', send: (o, r) => o.pushPromise(r.id, 4, r.request('/a')), connection: 'PROTOCOL_ERROR', why: 'promise-on-pushed-stream' },
	{ covers: 'R149', name: 'PUSH_PROMISE of a pushed stream again', given: 'pushed', send: (o, r) => o.push(r.up, 2, '/a'), connection: 'PROTOCOL_ERROR', why: 'promised-id-wrong' },
	{ covers: 'R149', name: 'WINDOW_UPDATE and PRIORITY on a pushed stream', given: 'pushed', send: (o, r) => o.windowUpdate(r.id, 1).priority(r.id), ignored: true },
	{ covers: 'R149', name: 'HEADERS without END_STREAM in a pushed response', given: 'pushed', send: (o, r) => o.headers(r.id, { x: 'y' }), stream: 'PROTOCOL_ERROR' },
	{ covers: 'R149', name: 'RST_STREAM on a pushed stream', given: 'pushed', check: async (o, r) => { o.rst(r.id, 'CANCEL'); await r.client.expectReset(r.told, 'CANCEL'); } },
]);

const frames = [
	/* ---- 4.1, 5.5: what is unknown passes unnoticed ---- */
	{ covers: 'R151', name: '5.5. unknown frames on stream 0, on our stream, on idle ones', send: (o, r) => o.frame(0xfe, 0xff, 0, zeros(3)).frame(0xfd, 0, r.id).frame(0xfc, 0, 9999, zeros(9)).frame(0xfb, 0, 100), ignored: true },
	{ covers: 'R151', name: '5.5. an ORIGIN frame (RFC 8336)', send: (o) => o.frame(0xc, 0, 0, Buffer.from('\0\x0ehttps://a.test', 'latin1')), ignored: true },
	{ covers: 'R151', name: '5.5. ALTSVC frames (RFC 7838)', send: (o, r) => o.frame(0xa, 0, r.id, Buffer.from('\0\0h2=":8000"')).frame(0xa, 0, 0, Buffer.from('\0\x0ehttps://a.testh2=":8000"', 'latin1')), ignored: true },
	{ covers: 'R151', name: '4.1. undefined flags and the reserved bit', send: (o, r) => {
		const f = frame('HEADERS', FLAG.END_HEADERS | 0xd2, r.id, o.encoder.encode(head));
		f.writeUInt32BE(0x80000000 + r.id, 5);
		const w = frame('WINDOW_UPDATE', 0xff, 0x80000000 + r.id, u32(0x80000001));
		o.write(w).frame('PING', 0xfe, 0, zeros(8)).write(f).data(r.id, 'page', { endStream: true });
	}, check: async (o, r) => { assert.equal(String((await r.client.response(1)).body), 'page'); } },
	{ covers: 'R151', name: '6.2, 6.3. priorities in HEADERS and PRIORITY, exclusive and of idle streams', send: (o, r) => o.priority(99, { dependsOn: 7, exclusive: true }).priority(r.id, { dependsOn: 98 }).headers(r.id, head, { priority: { dependsOn: 77, exclusive: true } }).data(r.id, '', { endStream: true }), check: async (o, r) => { assert.equal((await r.client.response(1)).status, 200); } },
	{ covers: 'R151', name: 'RFC 9218 7.1. PRIORITY_UPDATE from a server', send: (o, r) => o.frame('PRIORITY_UPDATE', 0, 0, Buffer.concat([u32(r.id), Buffer.from('u=0')])), connection: 'PROTOCOL_ERROR', why: 'priority-update-from-server' },

	/* ---- 4.2: sizes ---- */
	{ covers: 'R141', name: '4.2. DATA longer than MAX_FRAME_SIZE', given: 'answering', send: (o, r) => o.data(r.id, zeros(16385)), connection: 'FRAME_SIZE_ERROR', why: 'frame-too-large' },
	{ covers: 'R141', name: '4.2. DATA of exactly MAX_FRAME_SIZE', given: 'answering', send: (o, r) => o.data(r.id, zeros(16384)), ignored: true },
	{ covers: 'R141', name: '4.2. HEADERS longer than MAX_FRAME_SIZE', send: (o, r) => o.headers(r.id, { ...head, x: 'y'.repeat(16400) }), connection: 'FRAME_SIZE_ERROR', why: 'frame-too-large' },
	{ covers: 'R141', name: '4.2. CONTINUATION longer than MAX_FRAME_SIZE', send: (o, r) => begin(o, r).continuation(r.id, zeros(16385)), connection: 'FRAME_SIZE_ERROR', why: 'frame-too-large' },
	{ covers: 'R141', name: '4.2. SETTINGS longer than MAX_FRAME_SIZE', send: (o) => o.frame('SETTINGS', 0, 0, zeros(16386)), connection: 'FRAME_SIZE_ERROR', why: 'frame-too-large' },
	{ covers: 'R141', name: '4.2. GOAWAY longer than MAX_FRAME_SIZE', send: (o) => o.goaway(1, 'NO_ERROR', 'x'.repeat(16384)), connection: 'FRAME_SIZE_ERROR', why: 'frame-too-large' },
	{ covers: 'R141', name: '4.2. an unknown frame longer than MAX_FRAME_SIZE', send: (o) => o.frame(0xfe, 0, 0, zeros(16385)), connection: 'FRAME_SIZE_ERROR', why: 'frame-too-large' },
	{ covers: 'R141', name: '6.2. HEADERS too short for their priority', send: (o, r) => o.frame('HEADERS', FLAG.END_HEADERS | FLAG.PRIORITY, r.id, zeros(4)), connection: ['FRAME_SIZE_ERROR', 'PROTOCOL_ERROR'] },
	{ covers: 'R141', name: '6.3. PRIORITY of 4 bytes', send: (o, r) => o.frame('PRIORITY', 0, r.id, zeros(4)), stream: 'FRAME_SIZE_ERROR' },
	{ covers: 'R141', name: '6.3. PRIORITY of 6 bytes', send: (o, r) => o.frame('PRIORITY', 0, r.id, zeros(6)), stream: 'FRAME_SIZE_ERROR' },
	{ covers: 'R141', name: '6.4. RST_STREAM of 3 bytes', send: (o, r) => o.frame('RST_STREAM', 0, r.id, zeros(3)), connection: 'FRAME_SIZE_ERROR', why: 'frame-length-wrong' },
	{ covers: 'R141', name: '6.4. RST_STREAM of 5 bytes', send: (o, r) => o.frame('RST_STREAM', 0, r.id, zeros(5)), connection: 'FRAME_SIZE_ERROR', why: 'frame-length-wrong' },
	{ covers: 'R141', name: '6.5. SETTINGS of 5 bytes', send: (o) => o.frame('SETTINGS', 0, 0, zeros(5)), connection: 'FRAME_SIZE_ERROR', why: 'frame-length-wrong' },
	{ covers: 'R141', name: '6.5. a SETTINGS acknowledgement with a payload', send: (o) => o.frame('SETTINGS', FLAG.ACK, 0, zeros(6)), connection: 'FRAME_SIZE_ERROR', why: 'settings-ack-not-empty' },
	{ covers: 'R141', name: '6.7. PING of 7 bytes', send: (o) => o.frame('PING', 0, 0, zeros(7)), connection: 'FRAME_SIZE_ERROR', why: 'frame-length-wrong' },
	{ covers: 'R141', name: '6.7. PING of 9 bytes', send: (o) => o.frame('PING', 0, 0, zeros(9)), connection: 'FRAME_SIZE_ERROR', why: 'frame-length-wrong' },
	{ covers: 'R141', name: '6.8. GOAWAY of 7 bytes', send: (o) => o.frame('GOAWAY', 0, 0, zeros(7)), connection: 'FRAME_SIZE_ERROR', why: 'frame-length-wrong' },
	{ covers: 'R141', name: '6.9. WINDOW_UPDATE of 3 bytes', send: (o, r) => o.frame('WINDOW_UPDATE', 0, r.id, zeros(3)), connection: 'FRAME_SIZE_ERROR', why: 'frame-length-wrong' },
	{ covers: 'R141', name: '6.9. WINDOW_UPDATE of 5 bytes', send: (o, r) => o.frame('WINDOW_UPDATE', 0, r.id, zeros(5)), connection: 'FRAME_SIZE_ERROR', why: 'frame-length-wrong' },

	/* ---- 6: frames of streams on 0, frames of the connection on a stream ---- */
	{ covers: 'R150', name: '6.1. DATA on stream 0', send: (o) => o.data(0, 'x'), connection: 'PROTOCOL_ERROR', why: 'data-on-stream-zero' },
	{ covers: 'R150', name: '6.2. HEADERS on stream 0', send: (o) => o.headers(0, head), connection: 'PROTOCOL_ERROR', why: 'headers-on-stream-zero' },
	{ covers: 'R150', name: '6.3. PRIORITY on stream 0', send: (o) => o.priority(0), connection: 'PROTOCOL_ERROR', why: 'priority-on-stream-zero' },
	{ covers: 'R150', name: '6.4. RST_STREAM on stream 0', send: (o) => o.rst(0), connection: 'PROTOCOL_ERROR', why: 'reset-on-stream-zero' },
	{ covers: 'R150', name: '6.5. SETTINGS on a stream', send: (o, r) => o.frame('SETTINGS', 0, r.id), connection: 'PROTOCOL_ERROR', why: 'settings-on-a-stream' },
	{ covers: 'R150', name: '6.6. PUSH_PROMISE on stream 0', send: (o, r) => o.pushPromise(0, 2, r.request('/a')), connection: 'PROTOCOL_ERROR', why: 'promise-on-stream-zero' },
	{ covers: 'R150', name: '6.7. PING on a stream', send: (o, r) => o.frame('PING', 0, r.id, zeros(8)), connection: 'PROTOCOL_ERROR', why: 'ping-on-a-stream' },
	{ covers: 'R150', name: '6.8. GOAWAY on a stream', send: (o, r) => o.frame('GOAWAY', 0, r.id, zeros(8)), connection: 'PROTOCOL_ERROR', why: 'goaway-on-a-stream' },
	{ covers: 'R150', name: '6.10. CONTINUATION on stream 0', send: (o) => o.continuation(0, zeros(0)), connection: 'PROTOCOL_ERROR', why: 'continuation-stray' },

	/* ---- 6.1, 6.2: padding ---- */
	{ covers: 'R152', name: '6.1. padding as long as the DATA frame', given: 'answering', send: (o, r) => o.frame('DATA', FLAG.PADDED, r.id, Buffer.from([3, 1, 2])), connection: 'PROTOCOL_ERROR', why: 'padding-too-long' },
	{ covers: 'R152', name: '6.1. padded DATA without a pad length', given: 'answering', send: (o, r) => o.frame('DATA', FLAG.PADDED, r.id), connection: ['FRAME_SIZE_ERROR', 'PROTOCOL_ERROR'] },
	{ covers: 'R152', name: '6.1. DATA of nothing but padding', given: 'answering', send: (o, r) => o.data(r.id, '', { padding: 255 }).data(r.id, '', { padding: 0 }), ignored: true },
	{ covers: 'R152', name: '6.2. padding as long as the HEADERS frame', send: (o, r) => o.frame('HEADERS', FLAG.END_HEADERS | FLAG.PADDED, r.id, Buffer.from([2, 0x88])), connection: 'PROTOCOL_ERROR', why: 'padding-too-long' },
	{ covers: 'R152', name: '6.2. padded HEADERS without a pad length', send: (o, r) => o.frame('HEADERS', FLAG.END_HEADERS | FLAG.PADDED, r.id), connection: ['FRAME_SIZE_ERROR', 'PROTOCOL_ERROR'] },
	{ covers: 'R152', name: '6.2. padded HEADERS, interim and final, and padded trailers', send: (o, r) => o.headers(r.id, { ':status': 103 }, { padding: 255 }).headers(r.id, head, { padding: 7 }).data(r.id, 'page', { padding: 1 }).headers(r.id, { x: 'y' }, { padding: 0, endStream: true }), check: async (o, r) => { assert.deepEqual((await r.client.response(1)).trailers, { x: 'y' }); } },

	/* ---- 4.3, 6.10: field blocks ---- */
	...Object.entries({
		'DATA of the same stream': (o, r) => o.data(r.id, 'x'),
		'HEADERS of the same stream': (o, r) => o.headers(r.id, head),
		'HEADERS of another stream': (o, r) => o.headers(r.good.stream, head),
		'PRIORITY': (o, r) => o.priority(r.id),
		'RST_STREAM of the same stream': (o, r) => o.rst(r.id),
		'SETTINGS': (o) => o.settings({}),
		'a SETTINGS acknowledgement': (o) => o.settingsAck(),
		'PUSH_PROMISE': (o, r) => o.push(r.up, 2, '/a'),
		'PING': (o) => o.ping('12345678'),
		'GOAWAY': (o) => o.goaway(0),
		'WINDOW_UPDATE': (o) => o.windowUpdate(0, 1),
		'an unknown frame': (o) => o.frame(0xfe),
		'CONTINUATION of another stream': (o, r) => o.continuation(r.good.stream, zeros(0)),
	}).map(([what, then]) => ({
		covers: 'R142', name: `6.2. open HEADERS followed by ${what}`, send: (o, r) => then(begin(o, r), r), connection: 'PROTOCOL_ERROR', why: 'field-block-interrupted',
	})),
	{ covers: 'R142', name: '6.10. CONTINUATION out of the blue', send: (o, r) => o.continuation(r.id, zeros(0)), connection: 'PROTOCOL_ERROR', why: 'continuation-stray' },
	{ covers: 'R142', name: '6.10. CONTINUATION behind END_HEADERS', send: (o, r) => o.headers(r.id, head).continuation(r.id, zeros(0)), connection: 'PROTOCOL_ERROR', why: 'continuation-stray', owes: 'either' },
	{ covers: 'R142', name: '6.10. CONTINUATION behind DATA', given: 'answering', send: (o, r) => o.data(r.id, 'x').continuation(r.id, zeros(0)), connection: 'PROTOCOL_ERROR', why: 'continuation-stray' },
	{ covers: 'R142', name: '6.10. a response in one byte a frame, empty ones between', send: (o, r) => o.headers(r.id, { ...head, 'x-long': 'value' }, { split: [0, 1, 0, 1, 1, 1, 0, 1] }).data(r.id, 'page', { endStream: true }), check: async (o, r) => { assert.equal((await r.client.response(1)).headers['x-long'], 'value'); } },
	{ covers: 'R142', name: '6.10. END_STREAM on HEADERS whose CONTINUATION is still to come', send: (o, r) => o.headers(r.id, { ':status': 204, x: 'y' }, { split: [2], endStream: true }), check: async (o, r) => { assert.equal((await r.client.response(1)).status, 204); } },
	...Object.entries({
		'index 0': Buffer.from([0x80]),
		'an index beyond the tables': integer(200, 7, 0x80),
		'a name index beyond the tables': Buffer.concat([integer(200, 6, 0x40), string('v')]),
		'a size update beyond the limit': integer(4097, 5, 0x20),
		'a size update behind a field': Buffer.concat([integer(8, 7, 0x80), integer(0, 5, 0x20)]),
		'Huffman padding of zeros': Buffer.from([0x88, 0x00, 0x81, 0x00, 0x81, 0xe8]),
		'Huffman padding of a whole byte': Buffer.from([0x88, 0x00, 0x82, 0x1f, 0xff, 0x01, 0x61]),
		'EOS in a string': Buffer.from([0x88, 0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x01, 0x61]),
		'a string longer than the block': Buffer.from([0x88, 0x00, 0x7f, 0x10, 0x61]),
		'an integer of more than 32 bits': Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
		'an end inside a field': Buffer.from([0x88, 0x00, 0x01, 0x61]),
	}).map(([what, block]) => ({
		covers: 'R143', name: `RFC 7541: a response with ${what}`, send: (o, r) => o.headers(r.id, null, { block }), connection: 'COMPRESSION_ERROR', why: 'field-block-undecodable',
	})),
	{ covers: 'R143', name: 'RFC 7541: trailers that cannot be decoded', given: 'answering', send: (o, r) => o.headers(r.id, null, { block: Buffer.from([0x80]), endStream: true }), connection: 'COMPRESSION_ERROR', why: 'field-block-undecodable' },
	{ covers: 'R143', name: 'RFC 7541: an interim response that cannot be decoded', send: (o, r) => o.headers(r.id, { ':status': 103 }).headers(r.id, null, { block: Buffer.from([0x80]) }), connection: 'COMPRESSION_ERROR', why: 'field-block-undecodable' },
	{ covers: 'R143', name: 'RFC 7541 4.2. size updates within what was announced', send: (o, r) => {
		o.encoder.indexing = true;
		o.headers(r.id, { ':status': 103, 'x-a': 'one' });
		o.encoder.resize(0);
		o.encoder.resize(4096);
		o.headers(r.id, { ...head, 'x-a': 'one' }).data(r.id, 'page').headers(r.id, { 'x-a': 'one' }, { endStream: true });
	}, check: async (o, r) => {
		const got = await r.client.response(1);
		assert.deepEqual([got.interim[0].headers['x-a'], got.headers['x-a'], got.trailers['x-a']], ['one', 'one', 'one']);
	} },
];
conformance('frames', frames);
