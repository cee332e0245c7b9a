/* SPDX-License-Identifier: MIT */
/* Flow control (RFC 9113 5.2, 10.5): windows that overflow, are not kept to, hardly open, or never. */
import { FLAG, frame, u32 } from '../../support/frames.mjs';
import { Raw, Tally, addressOf, block, request, sleep } from '../raw.mjs';

const bytes = (n) => Buffer.alloc(n, 'x');

/* `count` connections ask for `path` on `streams` streams each, and then turn(c) happens every `every` ms. */
const takers = ({ count = 8, streams = 100, path = '/huge', settings, reads, every = 10, turn = () => {}, ask = (env, id) => request(env, id, { path }) }) => async (env, clock) => {
	const tally = new Tally();
	await Promise.all(Array.from({ length: count }, async (_, i) => {
		const c = new Raw(env, { from: addressOf(i), reads, settings });
		await c.begin();
		for (let id = 1; id < 2 * streams; id += 2)
			await c.send(ask(env, id));
		while (!c.over && clock.goesOn) {
			turn(c, streams);
			await Promise.race([c.gone, sleep(every)]);
		}
		await c.close();
		tally.add(c);
	}));
	return tally;
};
/* A byte for each stream and as many for the connection. */
function crumbs(c, streams) {
	c.send(Buffer.concat([frame('WINDOW_UPDATE', 0, 0, u32(streams)),
		...Array.from({ length: streams }, (_, i) => frame('WINDOW_UPDATE', 0, 2 * i + 1, u32(1)))]), streams + 1);
}

/* What waits for one client is bounded by twice this, or by 16 KiB for each of its streams if that is more (relay/charge.c). */
const server = { 'connection-memory': '1M' };

const impatient = { ms: 2500, listener: { 'write-timeout': '1s' } };

export const windows = [
	{
		name: 'connection window overflow',
		what: 'WINDOW_UPDATE beyond 2^31-1',
		lives: 500,
		tape: () => ({ parts: [{ bytes: frame('WINDOW_UPDATE', 0, 0, u32(0x7fffffff)), frames: 1 }] }),
		expect: { end: ['GOAWAY FLOW_CONTROL_ERROR connection-window-overflow', 'closed'], cpu: 1500 },
	},
	{
		name: 'our window overrun',
		what: 'an upload that does not wait for WINDOW_UPDATE, to an origin that does not read',
		tape: (env) => ({ parts: [{ bytes: request(env, 1, { method: 'POST', path: '/never' }, 0), frames: 1 },
			...Array.from({ length: 64 }, () => ({ bytes: frame('DATA', 0, 1, bytes(16384)), frames: 1 }))] }),
		expect: { resets: ['FLOW_CONTROL_ERROR'], faults: ['window-overrun'], cpu: 400 },
	},
	{
		covers: 'R65', name: 'windows of one byte',
		what: '800 large responses, of each a byte now and then',
		server,
		attack: takers({ settings: { initialWindowSize: 1 }, turn: crumbs }),
		expect: { cpu: 60 },
	},
	{
		covers: 'R65', name: 'windows shut for ever',
		what: '800 large responses with a window of 0',
		server,
		attack: takers({ settings: { initialWindowSize: 0 } }),
		expect: { cpu: 2000 },
	},
	{
		covers: 'R62 R65', name: 'responses unread',
		what: '800 large responses with the widest windows, and the socket never read',
		server,
		attack: takers({ settings: { initialWindowSize: 0x7fffffff }, reads: false }),
		expect: { cpu: 20000 },
	},
	{
		name: 'silent calls',
		what: '800 gRPC calls that say nothing, and get no answer',
		server,
		attack: takers({ ask: (env, id) => request(env, id, { method: 'POST', path: '/never', 'content-type': 'application/grpc' }, 0) }),
		expect: { cpu: 2000 },
	},
	{
		name: 'large heads kept',
		what: '800 requests of 900 fields, and a window of 0 for the answers',
		server,
		attack: takers({ settings: { initialWindowSize: 0 },
			ask: (env, id) => frame('HEADERS', FLAG.END_HEADERS | FLAG.END_STREAM, id, Buffer.concat([block(env), Buffer.alloc(900, 0x90)])) }),
		expect: { cpu: 2000 },
	},
	{
		name: 'windows of one byte, too slow',
		what: 'the same with a write-timeout that they do not live to see the end of: a tenth of min-rate',
		ms: impatient.ms,
		listener: { ...impatient.listener, 'min-rate': 1000 },
		attack: takers({ count: 4, streams: 50, settings: { initialWindowSize: 1 }, turn: crumbs }),
		expect: { resets: ['CANCEL', 'REFUSED_STREAM', 'INTERNAL_ERROR'], cpu: 60 },
	},
	{
		name: 'windows shut, too slow',
		what: 'likewise',
		...impatient,
		attack: takers({ count: 4, streams: 50, settings: { initialWindowSize: 0 } }),
		expect: { resets: ['CANCEL', 'REFUSED_STREAM', 'INTERNAL_ERROR'], cpu: 2000 },
	},
	{
		name: 'responses unread, too slow',
		what: 'likewise',
		...impatient,
		attack: takers({ count: 4, streams: 50, settings: { initialWindowSize: 0x7fffffff }, reads: false }),
		ms: 4000,
		/* 200 streams; the windows of those that got something before the sockets were full have grown to 256 KiB. */
		expect: { end: null, counters: ['pushgate_connection_timeouts_total{side="client",timeout="write-timeout"}'], cpu: 20000, rss: 64 },
	},
];
