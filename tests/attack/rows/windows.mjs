/* SPDX-License-Identifier: MIT */
/* Flow control (RFC 9113 5.2, 10.5): windows that overflow, are not kept to, hardly open, or never. */
import { frame, u32 } from '../../support/frames.mjs';
import { Raw, Tally, addressOf, request, sleep } from '../raw.mjs';

const octets = (n) => Buffer.alloc(n, 'x');

/* `count` connections ask for `path` on `streams` streams each, and then turn(c) happens every `every` ms. */
const takers = ({ count = 8, streams = 100, path = '/huge', settings, reads, every = 10, turn = () => {} }) => async (env, clock) => {
	const tally = new Tally();
	await Promise.all(Array.from({ length: count }, async (_, i) => {
		const c = new Raw(env, { from: addressOf(i), reads, settings });
		await c.begin();
		for (let id = 1; id < 2 * streams; id += 2)
			await c.send(request(env, id, { path }));
		while (!c.over && clock.goesOn) {
			turn(c, streams);
			await Promise.race([c.gone, sleep(every)]);
		}
		await c.close();
		tally.add(c);
	}));
	return tally;
};
/* An octet for each stream and as many for the connection. */
function crumbs(c, streams) {
	c.send(Buffer.concat([frame('WINDOW_UPDATE', 0, 0, u32(streams)),
		...Array.from({ length: streams }, (_, i) => frame('WINDOW_UPDATE', 0, 2 * i + 1, u32(1)))]), streams + 1);
}

/* What waits for clients is bounded by `memory`. */
const kept = { rss: 256 };

export const windows = [
	{
		name: 'connection window overflow',
		what: 'WINDOW_UPDATE beyond 2^31-1',
		lives: 500,
		tape: () => ({ parts: [{ octets: frame('WINDOW_UPDATE', 0, 0, u32(0x7fffffff)), frames: 1 }] }),
		expect: { end: ['GOAWAY FLOW_CONTROL_ERROR connection-window-overflow', 'closed'], counters: ['peer_faults_down'], cpu: 1500 },
	},
	{
		name: 'our window overrun',
		what: 'an upload that does not wait for WINDOW_UPDATE, to an origin that does not read',
		tape: (env) => ({ parts: [{ octets: request(env, 1, { method: 'POST', path: '/never' }, 0), frames: 1 },
			...Array.from({ length: 64 }, () => ({ octets: frame('DATA', 0, 1, octets(16384)), frames: 1 }))] }),
		expect: { resets: ['FLOW_CONTROL_ERROR'], counters: ['peer_faults_down'], cpu: 400 },
	},
	{
		name: 'windows of one octet',
		what: '800 large responses, of each an octet now and then',
		attack: takers({ settings: { initialWindowSize: 1 }, turn: crumbs }),
		expect: { ...kept, cpu: 60 },
	},
	{
		name: 'windows shut for ever',
		what: '800 large responses with a window of 0',
		attack: takers({ settings: { initialWindowSize: 0 } }),
		expect: { ...kept, cpu: 2000 },
	},
	{
		name: 'responses unread',
		what: '800 large responses with the widest windows, and the socket never read',
		attack: takers({ settings: { initialWindowSize: 0x7fffffff }, reads: false }),
		expect: { ...kept, cpu: 20000 },
	},
];
