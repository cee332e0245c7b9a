/* SPDX-License-Identifier: MIT */
/* Field blocks (RFC 9113 10.5.1, RFC 7541 7): never finished, in crumbs, or far larger than they look. */
import net from 'node:net';
import { FLAG, frame } from '../../support/frames.mjs';
import { Encoder, integer, string } from '../../support/hpack.mjs';
import { Raw, Tally, addressOf, block, reel, request, sleep } from '../raw.mjs';

const calm = (...faults) => ({ end: [...faults.map((f) => `GOAWAY ENHANCE_YOUR_CALM ${f}`), 'closed'] });
const open = (env) => frame('HEADERS', 0, 1, block(env));
/* A block that is begun, and then continued. */
const continued = (piece) => (env) => ({ parts: reel(2000, 20, (i) => [i ? frame('CONTINUATION', 0, 1, piece) : open(env)]) });

const whole = (id, bytes) => frame('HEADERS', FLAG.END_HEADERS | FLAG.END_STREAM, id, bytes);

/* A literal with incremental indexing, of a new name. */
const entry = (name, value) => Buffer.concat([Buffer.from([0x40]), string(name), string(value)]);
const newest = Buffer.from([0x80 | 62]);

/* One entry that fills the table, and then its index 16,000 times: 64 MiB of fields in 16 KiB. */
const bomb = (env) => Buffer.concat([entry('bomb', 'x'.repeat(4000)), block(env), Buffer.alloc(12000, newest)]);

/*
 * Bombs; the fields are refused (431), and the table is what it was: the next request uses an entry that a bomb has made.
 * Each stands for 60 KiB of fields: not so many a second that limit-expansion ends the connection.
 */
async function bombs(env, clock) {
	const tally = new Tally();
	await Promise.all([0, 1, 2, 3].map(async (i) => {
		const c = new Raw(env, { from: addressOf(i) });
		await c.begin();
		const bytes = bomb(env);
		const after = Buffer.concat([block(env), newest]); /* 4 KB of a field that the origin gets */
		for (let id = 1; id < 4000 && !c.over && clock.goesOn; id += 4) {
			await c.send(whole(id, bytes));
			await c.send(whole(id + 2, after));
			await sleep(20);
		}
		await Promise.race([c.gone, sleep(300)]);
		await c.close();
		tally.add(c);
	}));
	return tally;
}

/*
 * An origin in HTTP/1.1 that looks for the end of each head and keeps nothing of it. The origin of the honest client takes
 * 5 ms for a head of 47 KB, and the honest client would wait for that and not for the gateway.
 */
class QuickOrigin {
	listen(port) {
		this.server = net.createServer((socket) => {
			const end = Buffer.from('\r\n\r\n');
			let before = Buffer.alloc(0); /* the last bytes of the piece before */
			socket.on('error', () => {});
			socket.on('data', (piece) => {
				const bytes = Buffer.concat([before, piece]);
				let at = 0;
				for (let next; (next = bytes.indexOf(end, at)) >= 0; at = next + end.length)
					socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
				before = bytes.subarray(Math.max(at, bytes.length - end.length + 1));
			});
		});
		return new Promise((resolve) => { this.server.listen(port, '127.0.0.1', () => resolve(this)); });
	}

	close() { this.server.close(); }
}

/* Requests that are all good, each with a hundred new entries that throw the last ones out. */
const thrash = (env) => Buffer.concat([block(env), ...Array.from({ length: 100 }, (_, i) => entry(`x${i % 10}`, String(i)))]);
const resizes = (n) => Buffer.concat(Array.from({ length: n }, (_, i) => integer(i % 2 ? 4096 : 0, 5, 0x20)));

export const blocks = [
	{
		covers: 'R65', name: 'CONTINUATION flood, empty',
		what: 'a field block that never ends, of empty frames',
		tape: continued(Buffer.alloc(0)),
		expect: { ...calm('continuation-flood'), cpu: 20 },
	},
	{
		name: 'CONTINUATION flood, crumbs',
		what: 'a field block that never ends, a byte at a time',
		tape: continued(Buffer.from([0x82])),
		expect: { ...calm('continuation-flood'), cpu: 20 },
	},
	{
		name: 'CONTINUATION flood, full frames',
		what: 'a field block that never ends, 16 KiB at a time',
		tape: (env) => ({ parts: reel(64, 4, (i) => [i ? frame('CONTINUATION', 0, 1, Buffer.alloc(16384, 0x82)) : open(env)]) }),
		expect: { ...calm('field-block-too-large'), cpu: 200 },
	},
	{
		name: 'field blocks in crumbs',
		what: 'requests whose blocks all come in 30 pieces',
		tape: (env) => ({ parts: reel(3000, 120, (i) => {
			const bytes = block(env, { path: '/small' });
			const at = (n) => bytes.subarray(n, n + 1);
			return [frame('HEADERS', FLAG.END_STREAM, 2 * i + 1, at(0)),
				...Array.from({ length: 29 }, (_, n) => frame('CONTINUATION', 0, 2 * i + 1, at(n + 1))),
				frame('CONTINUATION', FLAG.END_HEADERS, 2 * i + 1, bytes.subarray(30))];
		}), pace: 20 }),
		expect: { cpu: 40 },
	},
	{
		covers: 'R65', name: 'HPACK bomb',
		what: 'one large entry, referred to 12,000 times a request; the answer is 431 and the next request is fine',
		attack: bombs,
		expect: {
			cpu: 400,
			answers: { 431: 11, 200: 11 },
		},
	},
	{
		covers: 'R478', name: 'HPACK amplifier',
		what: 'good requests of 30 bytes, each with the same 4 KB twelve times: 47 KB for the origin',
		by: 'client', listen: (env) => new QuickOrigin().listen(env.evil), evil: ({ evil }) => ({ server: `http://127.0.0.1:${evil}` }),
		tape: (env) => {
			const large = block({ ...env, authority: 'evil.test' });
			return { parts: reel(4000, 10, (i) => [whole(2 * i + 1, Buffer.concat([large,
				i ? Buffer.alloc(12, newest) : entry('large', 'x'.repeat(3900))]))]), pace: 20 };
		},
		expect: { ...calm('expansion-flood'), cpu: 400, rss: 64 },
	},
	{
		name: 'thousands of fields',
		what: 'fields of the static table, a byte each',
		tape: (env) => ({ parts: reel(2000, 4, (i) => [whole(2 * i + 1, Buffer.concat([block(env), Buffer.alloc(5000, 0x90)]))]), pace: 4 }),
		expect: { ...calm('expansion-flood'), cpu: 200 },
	},
	{
		covers: 'R65', name: 'table thrash',
		what: 'each request has a hundred new entries',
		tape: (env) => ({ parts: reel(1000, 4, (i) => [whole(2 * i + 1, thrash(env))]), pace: 20 }),
		expect: { cpu: 600, answers: { 200: 11 } },
	},
	{
		name: 'size updates',
		what: 'each request begins with two size updates that empty the table',
		tape: (env) => ({ parts: reel(1000, 4, (i) => [whole(2 * i + 1, Buffer.concat([resizes(2), thrash(env)]))]), pace: 20 }),
		expect: { cpu: 600, answers: { 200: 11 } },
	},
	{
		name: 'thousands of size updates',
		what: 'in one block',
		tape: (env) => ({ parts: reel(200, 1, (i) => [whole(2 * i + 1, Buffer.concat([resizes(5000), block(env)]))]), pace: 10 }),
		expect: { cpu: 400, answers: { 200: 11 } },
	},
	{
		name: 'large strings',
		what: 'Huffman code of 12 KiB in each request',
		tape: (env) => {
			const fields = new Encoder().encode({ cookie: 'e'.repeat(18000) }, { huffman: true });
			return { parts: reel(400, 2, (i) => [whole(2 * i + 1, Buffer.concat([block(env), fields]))]), pace: 20 };
		},
		expect: { cpu: 800, answers: { 200: 11 } },
	},
	{
		name: 'blocks that cannot be decoded',
		what: 'an index that is in no table, on a fresh connection each',
		lives: 1000,
		tape: (env) => ({ parts: [{ bytes: whole(1, Buffer.concat([block(env), Buffer.from([0xff, 0xff, 0x7f])])), frames: 1 }] }),
		expect: { end: ['GOAWAY COMPRESSION_ERROR field-block-undecodable', 'closed'], cpu: 1500 },
	},
	{
		name: 'requests unread',
		what: 'good requests without end, the responses never read',
		reads: false,
		tape: (env) => ({ parts: reel(5000, 50, (i) => [request(env, 2 * i + 1)]), pace: 2 }),
		expect: { cpu: 200 },
	},
];
