/* SPDX-License-Identifier: MIT */
/*
 * Every state of a stream × every frame that a client may think of (RFC 9113 5.1, 6), and what is
 * said of ids and their number (5.1.1, 5.1.2).
 */
import assert from 'node:assert/strict';
import { u32 } from '../support/frames.mjs';
import { conformance } from '../support/site.mjs';

/* What is sent; of a request where that is what the state is waiting for, else of trailers. */
const fields = (r, state) => (['idle', 'idle, ours', 'skipped'].includes(state) ? r.get('/after') : { 'x-trailer': 'y' });
const FRAMES = {
	DATA: (c, r) => c.data(r.id, 'x'),
	'DATA END_STREAM': (c, r) => c.data(r.id, '', { endStream: true }),
	HEADERS: (c, r, state) => c.headers(r.id, fields(r, state)),
	'HEADERS END_STREAM': (c, r, state) => c.headers(r.id, fields(r, state), { endStream: true }),
	PRIORITY: (c, r) => c.priority(r.id),
	RST_STREAM: (c, r) => c.rst(r.id, 'CANCEL'),
	PUSH_PROMISE: (c, r) => c.pushPromise(r.id, 1000, r.get()),
	WINDOW_UPDATE: (c, r) => c.windowUpdate(r.id, 1),
	CONTINUATION: (c, r) => c.continuation(r.id, Buffer.alloc(0)),
	PRIORITY_UPDATE: (c, r) => c.frame('PRIORITY_UPDATE', 0, 0, Buffer.concat([u32(r.id), Buffer.from('u=1')])),
	unknown: (c, r) => c.frame(0xfa, 0xff, r.id, Buffer.alloc(5)),
};

/* The stream ends as the client said: END_STREAM, or its reset, reaches the origin. */
const ends = (r) => r.origin.take((f) => f.stream === r.up.stream && f.endStream, 'the end of the request');
const finished = { ended: async (r) => {
	await ends(r);
	r.origin.respond(r.up.stream, { body: 'page' });
	assert.equal((await r.client.response(1)).status, 200);
} };
const answered = { ended: ends };
const cancelled = { ended: (r) => r.origin.expectReset(r.promiseId ?? r.up.stream, 'CANCEL') };
const page = { check: async (c, r) => assert.equal((await c.response(r.id)).status, 200) };
/* HEADERS that opens a stream: a request with a body to come. */
const opened = { check: async (c, r) => { await c.data(r.id, '', { endStream: true }); await page.check(c, r); } };

/*
 *   -      ignored; the stream goes on as before, or stays closed
 *   ok     taken: the stream ends, or begins, as the client wants
 *   P, C   a stream error, PROTOCOL_ERROR or STREAM_CLOSED
 *   P!, C! the same for the connection
 */
const MEANING = {
	'-': { ignored: true }, P: { stream: 'PROTOCOL_ERROR' }, C: { stream: 'STREAM_CLOSED' },
	'P!': { connection: 'PROTOCOL_ERROR' }, 'C!': { connection: 'STREAM_CLOSED' },
};
const TABLE = [
	/*                                                   DATA   +END   HEADERS +END  PRIORITY RST   PROMISE WINDOW CONT.  P_UPDATE unknown */
	{ covers: 'R100', name: 'idle', row:                 ['P!', 'P!',  opened, page,   '-',   'P!',  'P!',   'P!',  'P!',  '-',     '-'] },
	{ covers: 'R100 R38', name: 'idle, ours', row:       ['P!', 'P!',  'P!',   'P!',   '-',   'P!',  'P!',   'P!',  'P!',  'P!',    '-'] },
	{ covers: 'R104', name: 'skipped', row:              ['C!', 'C!',  'P!',   'P!',   '-',   '-',   'P!',   '-',   'P!',  '-',     '-'] },
	{ covers: 'R102', name: 'open', row:                 ['-',  finished, 'P', finished, '-', cancelled, 'P!', '-',  'P!',  '-',     '-'] },
	{ covers: 'R101', name: 'half-closed (remote)', row: ['C',  'C',   'C',    'C',    '-', cancelled, 'P!', '-',   'P!',  '-',     '-'] },
	{ covers: 'R102', name: 'half-closed (local)', row:  ['-',  answered, 'P', answered, '-', cancelled, 'P!', '-', 'P!',  '-',     '-'] },
	{ covers: 'R102', name: 'closed', row:               ['C!', 'C!',  'C!',   'C!',   '-',   '-',   'P!',   '-',   'P!',  '-',     '-'] },
	{ covers: 'R103', name: 'reset by us', row:          ['-',  '-',   '-',    '-',    '-',   '-',   'P!',   '-',   'P!',  '-',     '-'] },
	{ covers: 'R102', name: 'reset by the client', row:  ['C!', 'C!',  'C!',   'C!',   '-',   '-',   'P!',   '-',   'P!',  '-',     '-'] },
	{ covers: 'R38', name: 'reserved (local)', row:      ['P!', 'P!',  'P!',   'P!',   '-', cancelled, 'P!', '-',   'P!',  '-',     '-'] },
	{ covers: 'R101', name: 'pushed', row:               ['C',  'C',   'C',    'C',    '-', cancelled, 'P!', '-',   'P!',  '-',     '-'] },
	{ covers: 'R102', name: 'pushed, closed', row:       ['C!', 'C!',  'C!',   'C!',   '-',   '-',   'P!',   '-',   'P!',  '-',     '-'] },
	{ covers: 'R102', name: 'pushed, reset by us', row:  ['C!', 'C!',  'C!',   'C!',   '-',   '-',   'P!',   '-',   'P!',  '-',     '-'] },
	{ covers: 'R102', name: 'pushed, reset by the client', row: ['C!', 'C!', 'C!', 'C!', '-', '-',   'P!',   '-',   'P!',  '-',     '-'] },
];

conformance('5.1', TABLE.flatMap(({ covers, name: state, row }) => {
	assert.equal(row.length, Object.keys(FRAMES).length);
	return Object.entries(FRAMES).map(([what, send], i) => ({
		covers, name: `${what}, stream is ${state}`, given: state, send: (c, r) => send(c, r, state),
		...(typeof row[i] === 'string' ? MEANING[row[i]] : row[i]),
	}));
}));

const post = (c, r, id, path = r.site.path()) => { c.headers(id, { ...r.get(path), ':method': 'POST' }); return r.site.request(path); };

conformance('streams', [
	{ covers: 'R104', name: '5.1.1. an even id for a request', connection: 'PROTOCOL_ERROR', send: (c, r) => c.headers(8, r.get(), { endStream: true }) },
	{ covers: 'R104', name: '5.1.1. the id of an open stream again is trailers, not a request', given: 'open', stream: 'PROTOCOL_ERROR',
		send: (c, r) => c.headers(1, r.get(), { endStream: true }) },
	{ covers: 'R104', name: '5.1.1. a lower id than before', connection: 'PROTOCOL_ERROR', send: (c, r) =>
		c.headers(7, r.get(), { endStream: true }).headers(5, r.get(), { endStream: true }) },
	{ covers: 'R104', name: '5.1.1. a lower id counts from refused requests too', connection: 'PROTOCOL_ERROR', send: async (c, r) => {
		c.headers(7, { ':method': 'GET' }, { endStream: true });
		await c.expectReset(7, 'PROTOCOL_ERROR');
		c.headers(5, r.get(), { endStream: true });
	} },
	{ covers: 'R104', name: '5.1.1. ids may skip, up to the last one there is', final: true, check: async (c, r) => {
		for (const id of [5, 2001, 0x7fffffff])
			assert.equal((await c.headers(id, r.get('/after'), { endStream: true }).response(id)).status, 200);
		await c.sync();
	} },
	{ covers: 'R103', name: '5.1. blocks on a stream that we have reset are decoded', given: 'reset by us', check: async (c, r) => {
		c.encoder.indexing = true;
		c.headers(1, { 'x-late': 'l'.repeat(50) }, { endStream: true });
		const path = r.site.path();
		c.headers(5, { ...r.get(path), 'x-late': 'l'.repeat(50) }, { endStream: true });
		const { origin, up } = await r.site.request(path);
		assert.equal(up.headers['x-late'], 'l'.repeat(50));
		origin.respond(up.stream, { body: 'x' });
		await c.response(5);
	} },
	{ covers: 'R103', name: '5.1. DATA on a stream that we have reset is credited to the connection', given: 'reset by us', check: async (c) => {
		c.drop((f) => f.type === 'WINDOW_UPDATE');
		for (let i = 0; i < 40; i++)
			c.data(1, Buffer.alloc(16384));
		await c.sync();
		const given = c.seen('WINDOW_UPDATE', { stream: 0 }).reduce((n, f) => n + f.increment, 0);
		assert.ok(given >= 40 * 16384 / 2, `${given}`);
	} },
	{ covers: 'R103', name: '5.1. for longer than a round trip, as its sender may not know yet', given: 'reset by us', ignored: true,
		send: async (c) => { await c.sync(); await c.sync(); c.data(1, 'x', { endStream: true }).windowUpdate(1, 1).rst(1); } },
	{ covers: 'R105', name: '5.1.2. streams above our limit are refused, without harm to the others', check: async (c, r) => {
		const all = [];
		for (let i = 0; i < 100; i++)
			all.push(post(c, r, 1001 + 2 * i));
		await Promise.all(all);
		for (const id of [1201, 1203])
			c.headers(id, r.get(), { endStream: true });
		await c.expectReset(1201, 'REFUSED_STREAM');
		await c.expectReset(1203, 'REFUSED_STREAM');
		/* One that ends makes room for one. */
		const { origin, up } = await all[0];
		c.data(1001, '', { endStream: true });
		origin.respond(up.stream, { body: 'x' });
		await c.response(1001);
		await c.headers(1205, r.get('/after'), { endStream: true }).response(1205);
		c.rst(1003);
		r.fresh = () => 1207;
	} },
	{ covers: 'R105', name: '5.1.2. half-closed streams count, on either side', check: async (c, r) => {
		const all = [];
		for (let i = 0; i < 100; i++) {
			const path = r.site.path();
			c.headers(1001 + 2 * i, { ...r.get(path), ':method': i % 2 ? 'GET' : 'POST' }, { endStream: i % 2 === 1 });
			all.push(r.site.request(path));
		}
		const legs = await Promise.all(all);
		for (let i = 0; i < 100; i += 2)
			legs[i].origin.respond(legs[i].up.stream, { body: 'x' });
		for (let i = 0; i < 100; i += 2)
			await c.response(1001 + 2 * i);
		c.headers(1201, r.get(), { endStream: true });
		await c.expectReset(1201, 'REFUSED_STREAM');
		c.data(1001, '', { endStream: true });
		await c.headers(1203, r.get('/after'), { endStream: true }).response(1203);
		c.rst(1003);
		r.fresh = () => 1205;
	} },
	{ covers: 'R106', name: '5.4.2. an error of one stream leaves the others as they are', given: 'open', check: async (c, r) => {
		const path = r.site.path();
		c.headers(5, r.get(path), { endStream: true });
		const other = await r.site.request(path);
		c.windowUpdate(1, 0);
		await c.expectReset(1, 'PROTOCOL_ERROR');
		await r.origin.expectReset(r.up.stream, 'CANCEL');
		other.origin.respond(other.up.stream, { body: 'other' });
		assert.equal(String((await c.response(5)).body), 'other');
	} },
	...Object.entries({
		204: { ':method': 'OPTIONS', 'max-forwards': '0' }, 421: { ':scheme': 'gopher' }, 431: { x: 'b'.repeat(80000) },
		501: { ':method': 'TRACE', 'max-forwards': '0' },
	}).map(([status, fields]) => ({ covers: 'R107', name: `8.1. an answer of our own (${status}) is over before its request too, and harms nobody`, check: async (c, r) => {
		c.headers(5, { ...r.get(), ':method': 'POST', ...fields }, { huffman: true, split: status === '431' ? [16000, 16000, 16000] : [] });
		c.data(5, 'on its way');
		assert.equal((await c.response(5)).status, Number(status));
		await c.expectReset(5, 'NO_ERROR');
		c.data(5, 'late', { endStream: true });
		await c.sync();
	} })),
	{ covers: 'R107', name: '8.1. a response may be over before its request, which then is asked to stop', given: 'open', check: async (c, r) => {
		r.origin.respond(r.up.stream, { status: 413, body: 'too large' }).rst(r.up.stream, 'NO_ERROR');
		const answer = await c.response(1);
		assert.equal(answer.status, 413);
		assert.equal(String(answer.body), 'too large');
		await c.expectReset(1, 'NO_ERROR');
	} },
], { origin: { 'upload-linger': '300ms' } });
