/* SPDX-License-Identifier: MIT */
/*
 * Promises of an origin that end the origin connection, and only that (RFC 9113 5.1, 6.5.2, 6.6,
 * 8.4): every client lives on, its request gets an answer or a reset at once, and the next one is served
 * over a new origin connection.
 */
import assert from 'node:assert/strict';
import { FLAG, frame, u32 } from '../support/frames.mjs';
import { scenario } from '../support/gate.mjs';
import { integer, string } from '../support/hpack.mjs';

const good = (up, path = '/pushed.css') => ({
	':method': 'GET', ':scheme': up.headers[':scheme'], ':authority': up.headers[':authority'], ':path': path,
});

/* send(origin, up, client, s) commits the fault. `ended`: the response was complete before it. */
function fault(name, code, send, { ended = false, method = 'GET', ...options } = {}) {
	scenario(name, options, async (s) => {
		const { client, origin, up } = await s.open(
			method === 'POST' ? { request: { method }, options: { endStream: false } } : {});
		await send(origin, up, client, s);
		await origin.expectConnectionError(code);
		if (!ended) {
			const f = await client.take((x) => x.stream === 1 && ['HEADERS', 'RST_STREAM'].includes(x.type), 'the end of the request');
			if (f.type === 'HEADERS')
				assert.match(f.headers[':status'], /^5/);
		}
		await client.sync();
		assert.equal(client.seen('GOAWAY').length, 0);
		client.request(3, { path: '/after' });
		const next = await s.accept();
		const after = await next.expectRequest('/after');
		next.respond(after.stream, { body: 'alive' });
		assert.equal(String((await client.response(3)).body), 'alive');
	});
}

// covers: R1 R13 R14 P-recv-stream-zero
fault('promise on stream 0 is a connection error', 'PROTOCOL_ERROR',
	(origin, up) => origin.pushPromise(0, 2, good(up)));

// covers: R2 P-recv-promised-id
fault('promised id 0 is a connection error', 'PROTOCOL_ERROR',
	(origin, up) => origin.pushPromise(up.stream, 0, good(up)));
fault('odd promised id is a connection error', 'PROTOCOL_ERROR',
	(origin, up) => origin.pushPromise(up.stream, up.stream + 2, good(up)));
fault('promised id below an earlier one is a connection error', 'PROTOCOL_ERROR',
	(origin, up) => origin.push(up, 4, '/a').push(up, 2, '/b'));
fault('promised id that is in use is a connection error', 'PROTOCOL_ERROR',
	(origin, up) => origin.push(up, 2, '/a').push(up, 2, '/b'));
fault('promised id of a push that has ended is a connection error', 'PROTOCOL_ERROR', async (origin, up, client) => {
	origin.push(up, 2, '/a').respond(2, { body: 'a' });
	await client.response((await client.expectPromise('/a')).promised);
	origin.push(up, 2, '/b');
});
fault('promised id of a refused promise stays used', 'PROTOCOL_ERROR', async (origin, up) => {
	origin.push(up, 2, '/a', { ':method': 'POST' });
	await origin.expectReset(2, 'PROTOCOL_ERROR');
	origin.push(up, 2, '/b');
});

// covers: R3 P-recv-parent
fault('promise on an idle stream is a connection error', 'PROTOCOL_ERROR',
	(origin, up) => origin.pushPromise(up.stream + 20, 2, good(up)));
fault('promise on a reserved stream is a connection error', 'PROTOCOL_ERROR',
	(origin, up) => origin.push(up, 2, '/a').pushPromise(2, 4, good(up)));
fault('promise on a pushed stream is a connection error', 'PROTOCOL_ERROR',
	(origin, up) => origin.push(up, 2, '/a').headers(2, { ':status': 200 }).pushPromise(2, 4, good(up)));

// covers: R4 P-recv-parent
fault('promise after the end of its parent is a connection error', ['PROTOCOL_ERROR', 'STREAM_CLOSED'],
	async (origin, up, client) => {
		origin.respond(up.stream, { body: 'done' });
		await client.response(1);
		origin.push(up, 2, '/late');
	}, { ended: true });
fault('promise on a half-closed (remote) parent is a connection error', ['PROTOCOL_ERROR', 'STREAM_CLOSED'],
	async (origin, up, client) => {
		origin.respond(up.stream, { body: 'done' });
		await client.response(1);
		origin.push(up, 2, '/late');
	}, { ended: true, method: 'POST' });

// covers: R5 P-recv-parent P-recv-decoded
scenario('promise on a stream that pushgate has reset is refused, not a fault', async (s) => {
	const { client, origin, up } = await s.open();
	origin.encoder.indexing = true;
	client.rst(1, 'CANCEL');
	await origin.expectReset(up.stream, 'CANCEL');
	origin.push(up, 2, '/a', { 'x-table': 'kept in step' });
	await origin.expectReset(2, ['CANCEL', 'REFUSED_STREAM']);
	client.request(3);
	const next = await origin.expectRequest('/');
	origin.push(next, 4, '/b', { 'x-table': 'kept in step' }).respond(next.stream, { fields: { 'x-table': 'kept in step' } });
	assert.equal((await client.expectPromise('/b')).headers['x-table'], 'kept in step');
	assert.equal((await client.response(3)).headers['x-table'], 'kept in step');
});

// covers: R6 P-recv-push-off
fault('promise after ENABLE_PUSH=0 was acknowledged is a connection error', 'PROTOCOL_ERROR', async (origin, up) => {
	await origin.sync();
	assert.equal(origin.peerSettings.enablePush, 0);
	origin.push(up, 2, '/a');
}, { origin: { push: 'refuse' } });
scenario('promise before ENABLE_PUSH=0 is acknowledged is refused', {
	origin: { push: 'refuse' }, origins: { main: { auto: { settings: false } } },
}, async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a');
	await origin.expectReset(2, ['CANCEL', 'REFUSED_STREAM']);
	origin.settingsAck();
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	await client.expectNone('PUSH_PROMISE');
});

// covers: R7 P-recv-padding P-recv-size
fault('padding longer than the promise is a connection error', 'PROTOCOL_ERROR', (origin, up) => {
	const block = origin.encoder.encode(good(up));
	origin.frame('PUSH_PROMISE', FLAG.END_HEADERS | FLAG.PADDED, up.stream, Buffer.concat([Buffer.from([255]), u32(2), block]));
});
fault('padding that leaves no room for the promised id is a connection error', ['PROTOCOL_ERROR', 'FRAME_SIZE_ERROR'], (origin, up) =>
	origin.frame('PUSH_PROMISE', FLAG.END_HEADERS | FLAG.PADDED, up.stream, Buffer.concat([Buffer.from([2]), u32(2), Buffer.alloc(1)])));
fault('promise too short for its id is a connection error', ['FRAME_SIZE_ERROR', 'PROTOCOL_ERROR'], (origin, up) =>
	origin.frame('PUSH_PROMISE', FLAG.END_HEADERS, up.stream, Buffer.alloc(3)));
fault('padded promise without a pad length is a connection error', ['FRAME_SIZE_ERROR', 'PROTOCOL_ERROR'], (origin, up) =>
	origin.frame('PUSH_PROMISE', FLAG.END_HEADERS | FLAG.PADDED, up.stream));
fault('promise longer than MAX_FRAME_SIZE is a connection error', 'FRAME_SIZE_ERROR', (origin, up) =>
	origin.pushPromise(up.stream, 2, { ...good(up), 'x-long': 'x'.repeat(16500) }));

// covers: R8 P-recv-continuation
for (const [what, send] of Object.entries({
	'DATA of the parent': (origin, up) => origin.data(up.stream, 'x'),
	'HEADERS of the parent': (origin, up) => origin.headers(up.stream, { ':status': 200 }),
	PING: (origin) => origin.ping('12345678'),
	SETTINGS: (origin) => origin.frame('SETTINGS', FLAG.ACK),
	'an unknown frame': (origin, up) => origin.frame(0xfe, 0, up.stream, Buffer.from('x')),
	'a CONTINUATION of the promised stream': (origin) => origin.continuation(2, Buffer.alloc(0)),
	'another PUSH_PROMISE': (origin, up) => origin.push(up, 4, '/b'),
	WINDOW_UPDATE: (origin, up) => origin.windowUpdate(up.stream, 1),
}))
	fault(`open promise followed by ${what} is a connection error`, 'PROTOCOL_ERROR', (origin, up) => {
		origin.pushPromise(up.stream, 2, good(up), { endHeaders: false });
		send(origin, up);
	});
fault('CONTINUATION out of the blue is a connection error', 'PROTOCOL_ERROR',
	(origin, up) => origin.continuation(up.stream, Buffer.alloc(0)));
fault('CONTINUATION after a complete promise is a connection error', 'PROTOCOL_ERROR',
	(origin, up) => origin.push(up, 2, '/a').continuation(up.stream, Buffer.alloc(0)));

// covers: R9 P-recv-block-bad
for (const [what, block] of Object.entries({
	'an index beyond the tables': integer(200, 7, 0x80),
	'index 0': Buffer.from([0x80]),
	'a size update beyond the limit': integer(1 << 20, 5, 0x20),
	'a size update behind a field': Buffer.concat([integer(2, 7, 0x80), integer(0, 5, 0x20)]),
	'bad huffman padding': Buffer.concat([Buffer.from([0x00]), string('x'), Buffer.from([0x82, 0x1f, 0xf0])]),
	'EOS in a string': Buffer.concat([Buffer.from([0x00]), string('x'), Buffer.from([0x84, 0xff, 0xff, 0xff, 0xff])]),
	'a string longer than the block': Buffer.from([0x00, 0x7f, 0x10, 0x61]),
	'an integer without end': Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
	'an end inside a field': Buffer.from([0x00, 0x01, 0x61]),
}))
	fault(`promise with ${what} is a compression error`, 'COMPRESSION_ERROR',
		(origin, up) => origin.pushPromise(up.stream, 2, null, { block }));

// covers: R10 P-recv-reserved
fault('HEADERS on an even stream never promised is a connection error', 'PROTOCOL_ERROR',
	(origin) => origin.headers(4, { ':status': 200 }));
fault('DATA on an even stream never promised is a connection error', 'PROTOCOL_ERROR', (origin) => origin.data(4, 'x'));
fault('RST_STREAM on an even stream never promised is a connection error', 'PROTOCOL_ERROR', (origin) => origin.rst(4));
fault('WINDOW_UPDATE on an even stream never promised is a connection error', 'PROTOCOL_ERROR',
	(origin) => origin.windowUpdate(4, 1));

// covers: R11 P-recv-reserved
fault('DATA on a reserved stream is a connection error', 'PROTOCOL_ERROR',
	(origin, up) => origin.push(up, 2, '/a').data(2, 'x'));
fault('WINDOW_UPDATE on a reserved stream is a connection error', 'PROTOCOL_ERROR',
	(origin, up) => origin.push(up, 2, '/a').windowUpdate(2, 1));
scenario('PRIORITY and RST_STREAM on a reserved stream are fine', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').priority(2).rst(2, 'CANCEL').respond(up.stream, { body: 'page' });
	const { promised } = await client.expectPromise('/a');
	await client.expectReset(promised);
	assert.equal((await client.response(1)).status, 200);
});

// covers: R12 P-recv-enable-push-value
for (const [what, entries, code] of [
	['ENABLE_PUSH=1', { enablePush: 1 }, 'PROTOCOL_ERROR'],
	['ENABLE_PUSH=2', { enablePush: 2 }, 'PROTOCOL_ERROR'],
	['INITIAL_WINDOW_SIZE above 2^31-1', { initialWindowSize: 0x80000000 }, 'FLOW_CONTROL_ERROR'],
	['MAX_FRAME_SIZE below 16384', { maxFrameSize: 16383 }, 'PROTOCOL_ERROR'],
	['MAX_FRAME_SIZE above 2^24-1', { maxFrameSize: 1 << 24 }, 'PROTOCOL_ERROR'],
])
	fault(`${what} from an origin is a connection error`, code, (origin) => origin.settings(entries));
scenario('ENABLE_PUSH=0 from an origin is fine', { origins: { main: { settings: { enablePush: 0 } } } }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').respond(up.stream, { body: 'page' });
	await client.expectPromise('/a');
	assert.equal((await client.response(1)).status, 200);
});

// covers: R15
scenario('reserved bit of the promised id and undefined flags are ignored', async (s) => {
	const { client, origin, up } = await s.open();
	const block = origin.encoder.encode(good(up, '/a'));
	origin.frame('PUSH_PROMISE', FLAG.END_HEADERS | 0xf3 & ~FLAG.PADDED, up.stream, Buffer.concat([u32(0x80000002), block]));
	const head = frame('HEADERS', FLAG.END_HEADERS | 0x92, 2, origin.encoder.encode({ ':status': 200 }));
	head.writeUInt32BE(0x80000002, 5);
	origin.write(head).data(2, 'body', { endStream: true });
	const { promised } = await client.expectPromise('/a');
	assert.equal(String((await client.response(promised)).body), 'body');
});

// covers: R13 R49
scenario('pushes under way on a failed origin connection are reset, none that the client was never told of', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').headers(2, { ':status': 200 }).data(2, 'some').push(up, 4, '/b');
	const a = await client.expectPromise('/a');
	const b = await client.expectPromise('/b');
	await client.expect('DATA', { stream: a.promised });
	origin.pushPromise(0, 6, good(up));
	await origin.expectConnectionError('PROTOCOL_ERROR');
	await client.expectReset(a.promised);
	await client.expectReset(b.promised);
	await client.sync();
});
