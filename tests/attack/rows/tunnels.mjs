/* SPDX-License-Identifier: MIT */
/*
 * Tunnels that mean harm, in both versions: silent, never read, half-closed, refused, opened and left, in masses. The
 * honest client's requests go to the same origins beside them.
 */
import { frame, u32 } from '../../support/frames.mjs';
import { Evil1, page1, visit1 } from '../evil1.mjs';
import { sleep } from '../raw.mjs';
import { END, extended, stay, sum, tunnels1, tunnels2 } from '../tunnel.mjs';

const LIMIT = '1s';
const MS = 2500;
const WS = { upgrade: 'websocket', 'tunnel-idle-timeout': '10s' };
const ended = (cause) => [`pushgate_end_total{cause="${cause}"}`];
const row = (name, what, { route = {}, ...more }) => ({ name: `tunnels: ${name}`, what, http1: true, route: { ...WS, ...route }, ...more });
const CHUNK = Buffer.alloc(16000, 'x');
const data = (id, bytes, flags = 0) => frame('DATA', flags, id, Buffer.from(bytes));

/* Half of them by either version, to an origin of either version. */
const both = (count, path, { life1 = stay, life2, options1, options2 } = {}) => async (env, clock) => {
	const other = { ...env, authority: `localhost:${env.port}` };
	const [one, two] = [Math.ceil(count / 4), Math.ceil(count / 40)];
	return sum(...await Promise.all([
		tunnels1(env, clock, one, path, (c, i) => life1(c, clock, i), options1),
		tunnels1(other, clock, one, path, (c, i) => life1(c, clock, i), options1),
		tunnels2(env, clock, two, 10, path, life2, options2),
		tunnels2(other, clock, two, 10, path, life2, options2),
	]));
};
const pour = async (c, clock) => {
	while (!c.over && clock.goesOn) {
		await Promise.race([c.send(CHUNK), sleep(200)]);
		await sleep(1);
	}
};
const leave = async (c) => { await Promise.race([c.gone, sleep(1)]); };

export const tunnels = [
	row('1,000 silent ones', '1,000 tunnels, in which nothing ever moves', {
		ms: MS, attack: both(1000, '/tunnel'),
		expect: { end: null, statuses: [101, 200], cpu: 3000, rss: 32 },
	}),
	row('1,000 silent ones, and a limit', 'the same, and tunnel-idle-timeout ends them', {
		ms: MS, route: { 'tunnel-idle-timeout': LIMIT }, attack: both(1000, '/tunnel', { options1: { lives: 1 } }),
		expect: { end: ['closed'], resets: ['CANCEL'], statuses: [101, 200], counters: ended('tunnel-idle'), cpu: 3000 },
	}),
	row('the client does not read', 'tunnels from which bytes without end come, which nobody takes', {
		ms: MS, route: { 'tunnel-idle-timeout': LIMIT }, listener: { 'write-timeout': LIMIT },
		attack: both(40, '/pour', { options1: { reads: false, lives: 1 }, options2: { window: false } }),
		expect: { end: null, counters: ['pushgate_connection_timeouts_total{side="client",timeout="write-timeout"}', ...ended('client-stalled')], cpu: 30000, rss: 96 },
	}),
	row('the origin does not read', 'tunnels that are filled, and whose origin takes nothing', {
		ms: MS, origin: { 'write-timeout': LIMIT }, attack: both(40, '/deaf', { life1: pour, life2: (c, id) => { c.send(Buffer.concat([data(id, CHUNK), data(id, CHUNK), data(id, CHUNK)]), 3); }, options1: { lives: 1 } }),
		expect: { end: null, statuses: [101, 200], resets: ['CANCEL', 'INTERNAL_ERROR'], counters: ended('origin-stalled'), cpu: 10000, rss: 64, log: /does not read/ },
	}),
	row('refused ones', 'an Upgrade after the other, each refused by the origin', {
		attack: (env, clock) => tunnels1(env, clock, 8, '/refuse', async (c) => { await Promise.race([c.gone, sleep(300)]); }),
		expect: { end: ['closed'], statuses: [401], counters: ['tunnels_refused'], cpu: 3000 },
	}),
	row('refused ones over HTTP/2', 'the same by extended CONNECT', {
		attack: (env, clock) => tunnels2(env, clock, 4, 10, '/refuse', undefined, { again: true }),
		expect: { end: null, statuses: [401], counters: ['tunnels_refused'], cpu: 3000 },
	}),
	row('none of this route', 'an Upgrade after the other, to a route without tunnels', {
		route: { upgrade: 'chat' },
		attack: (env, clock) => tunnels1(env, clock, 8, '/small', async (c) => { await Promise.race([c.gone, sleep(300)]); }),
		expect: { end: ['closed'], statuses: [200], cpu: 3000 },
	}),
	row('opened and left', 'tunnels that are accepted, and left at once', {
		attack: both(16, '/tunnel', { life1: leave, life2: (c, id) => { c.send(data(id, '', END), 1); }, options2: { again: true } }),
		expect: { end: null, statuses: [101, 200], counters: ['tunnels'], cpu: 4000 },
	}),
	row('left before the answer', 'requests for tunnels that are given up by RST', {
		attack: async (env, clock) => tunnels1(env, clock, 16, '/never', async (c) => { c.socket.resetAndDestroy(); }, { reads: false }),
		expect: { end: null, cpu: 4000 },
	}),
	row('half-closed by the client', 'tunnels whose client has ended its direction, and whose origin says nothing', {
		ms: MS, route: { 'tunnel-half-closed-timeout': LIMIT },
		attack: both(100, '/keep', { life1: async (c, clock) => { c.socket.end(); await stay(c, clock); }, life2: (c, id) => { c.send(data(id, '', END), 1); }, options1: { lives: 1 } }),
		expect: { end: ['closed'], resets: ['CANCEL'], statuses: [101, 200], counters: ended('tunnel-half-closed'), cpu: 4000 },
	}),
	row('half-closed by the origin', 'tunnels whose origin has ended its direction, and whose client says nothing', {
		ms: MS, route: { 'tunnel-half-closed-timeout': LIMIT },
		attack: async (env, clock) => sum(
			...await Promise.all([
				tunnels1(env, clock, 40, '/bye', async (c) => { while (!c.socket.destroyed && clock.goesOn) await sleep(50); }, { lives: 1 }),
				tunnels2(env, clock, 4, 10, '/bye'),
			])),
		expect: { end: null, statuses: [101, 200], counters: ended('tunnel-half-closed'), cpu: 4000 },
	}),
	row('never answered', 'requests for tunnels that the origin does not answer', {
		ms: MS, origin: { 'response-timeout': LIMIT },
		attack: both(200, '/never'),
		expect: { end: ['closed'], statuses: [504], counters: ended('response-late'), cpu: 4000 },
	}),
	row('as many as there may be', 'more tunnels than max-tunnels', {
		ms: MS, origin: { 'max-tunnels': 20 },
		attack: both(200, '/tunnel', { life1: async (c, clock) => { if (c.status === '101') await stay(c, clock); else await Promise.race([c.gone, sleep(300)]); }, options1: { lives: 5 } }),
		expect: { end: null, statuses: [503, 101, 200], counters: ended('tunnels-full'), cpu: 4000 },
	}),
	row('a byte now and then', '200 tunnels, each of which gets a byte every 100 ms; tunnel-age ends them', {
		ms: MS, route: { 'tunnel-age': LIMIT },
		attack: both(200, '/tunnel', {
			life1: async (c, clock) => { while (!c.over && clock.goesOn) { await c.send(Buffer.from('x')); await Promise.race([c.gone, sleep(100)]); } },
			life2: (c, id) => { const timer = setInterval(() => (c.over ? clearInterval(timer) : c.send(data(id, 'x')).catch(() => {})), 100); }, options1: { lives: 1 },
		}),
		expect: { end: null, statuses: [101, 200], counters: ended('tunnel-age'), cpu: 1000 },
	}),
	row('more bytes than there may be', 'tunnels without end, and tunnel-bytes', {
		route: { 'tunnel-bytes': '256k' }, attack: both(20, '/pour'),
		expect: { end: null, statuses: [101, 200], counters: ended('tunnel-bytes'), cpu: 10000 },
	}),
	row('RST flood', 'extended CONNECT, each taken back at once', {
		tape: (env) => {
			const frames = [];
			for (let id = 1; id < 40000; id += 2)
				frames.push(extended(env, id, '/never'), frame('RST_STREAM', 0, id, u32(8)));
			const parts = [];
			for (let i = 0; i < frames.length; i += 100)
				parts.push({ bytes: Buffer.concat(frames.slice(i, i + 100)), frames: 100 });
			return { parts };
		},
		expect: { end: ['GOAWAY ENHANCE_YOUR_CALM reset-flood', 'closed'], resets: undefined, cpu: 200 },
	}),
	row('empty DATA', 'frames without bytes in an open tunnel', {
		attack: (env, clock) => tunnels2(env, clock, 4, 1, '/tunnel', async (c, id) => {
			const empty = Buffer.concat(Array.from({ length: 200 }, () => data(id, '')));
			while (!c.over && clock.goesOn) {
				await c.send(empty, 200);
				await sleep(1);
			}
		}),
		expect: { end: ['GOAWAY ENHANCE_YOUR_CALM empty-frame-flood', 'closed'], statuses: [200], cpu: 50 },
	}),
	row('101 to all', 'an origin that changes the protocol whatever it is asked', {
		listen: (env) => new Evil1((line, m) => line.send(Buffer.concat([
			Buffer.from('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'), page1(m)]))).listen(env.evil),
		attack: (env, clock, origin) => visit1(env, clock, origin),
		expect: { end: null, statuses: [502], counters: ['pushgate_peer_faults_by_fault_total{side="origin",fault="upgrade-unasked"}'], log: /upgrade-unasked|protocol/, cpu: 3000 },
	}),
];
