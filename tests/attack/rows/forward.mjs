/* SPDX-License-Identifier: MIT */
/*
 * Clients that mean harm to a forward proxy, and destinations and name servers that do: tunnels by CONNECT, many
 * destinations, ports that say nothing, names that are not there. The honest client uses the same proxy beside them.
 */
import net from 'node:net';
import { frame, u32 } from '../../support/frames.mjs';
import { SCALE } from '../../support/peer.mjs';
import { callers } from '../caller.mjs';
import { plains, text } from '../plain.mjs';
import { sleep } from '../raw.mjs';
import { EvilResolver, address, answerTo, isForIpv4 } from '../resolver.mjs';
import { END, connect, stay, sum, tunnels1, tunnels2 } from '../tunnel.mjs';

const LIMIT = '1s';
const MS = 2500;
const ended = (cause) => [`pushgate_end_total{cause="${cause}"}`];
const row = (name, what, more) => ({ name: `forward: ${name}`, what, forward: true, by: 'client', ...more });

/* ---- destinations ---- */

/* Each connection gets what `accept(socket)` does, on all addresses of the loopback. What comes is counted. */
class Destination {
	accepted = 0;
	received = 0; /* bytes */

	constructor(accept, reads = true) {
		this.accept = accept;
		this.reads = reads;
	}

	listen(port) {
		this.sockets = new Set();
		this.server = net.createServer({ allowHalfOpen: true, pauseOnConnect: !this.reads }, (socket) => {
			this.accepted++;
			this.sockets.add(socket);
			socket.on('error', () => {});
			socket.on('close', () => this.sockets.delete(socket));
			if (this.reads)
				socket.on('data', (bytes) => { this.received += bytes.length; });
			this.accept(socket);
		});
		return new Promise((resolve) => { this.server.listen(port, '0.0.0.0', () => resolve(this)); });
	}

	close() {
		this.server.close();
		for (const socket of this.sockets)
			socket.destroy();
	}
}
const destination = (accept, reads) => (env) => new Destination(accept, reads).listen(env.evil);
const mute = destination(() => {}, false);
const echo = destination((socket) => {
	socket.on('data', (bytes) => socket.write(bytes));
	socket.on('end', () => socket.end());
});
/* Takes what comes, and never ends its direction. */
const keep = destination((socket) => socket.on('end', () => {}));
/* Ends its direction at once, and takes what comes. */
const bye = destination((socket) => { socket.end(); });
/* One response to whatever comes. */
const respond = (socket) => {
	socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx'));
	socket.on('end', () => socket.end());
};
const page = destination(respond);

/* The n-th address of the loopback that nobody else uses. */
const loopback = (n) => `127.${100 + ((n >> 16) & 63)}.${(n >> 8) & 255}.${n & 255}`;

/* ---- tunnels ---- */

const data = (id, bytes, flags = 0) => frame('DATA', flags, id, Buffer.from(bytes));
const toEvil = (env) => connect(() => `127.0.0.1:${env.evil}`);

/* `count` tunnels, half of them in either version. */
const both = (count, to, { life1 = stay, life2, options1 = { lives: 1 }, options2 } = {}) => async (env, clock) => sum(...await Promise.all([
	tunnels1(env, clock, Math.ceil(count / 2), to(env), (c, i) => life1(c, clock, i), options1),
	tunnels2(env, clock, Math.ceil(count / 20), 10, to(env), life2, options2),
]));

const drip1 = async (c, clock) => {
	while (!c.over && clock.goesOn) {
		await c.send(Buffer.from('x'));
		await Promise.race([c.gone, sleep(100)]);
	}
};
const drip2 = (c, id) => {
	const timer = setInterval(() => (c.over ? clearInterval(timer) : c.send(data(id, 'x')).catch(() => {})), 100);
};

const tunnels = [
	row('1,000 tunnels that never speak', '1,000 CONNECTs to a port that accepts, in which nothing ever moves', {
		ms: MS, listen: mute, route: { 'tunnel-half-closed-timeout': LIMIT }, attack: both(1000, toEvil),
		expect: { end: null, statuses: [200], cpu: 3000 },
	}),
	row('tunnels that never speak, and a limit', 'the same, and tunnel-idle-timeout ends them', {
		ms: MS, listen: mute, route: { 'tunnel-idle-timeout': LIMIT }, attack: both(400, toEvil),
		expect: { end: ['closed'], resets: ['CANCEL', 'CONNECT_ERROR'], statuses: [200], counters: ended('tunnel-idle'), cpu: 3000 },
	}),
	row('half-closed by the client', 'tunnels whose client has ended its direction, and whose destination says nothing', {
		ms: MS, listen: keep, route: { 'tunnel-half-closed-timeout': LIMIT },
		attack: both(200, toEvil, { life1: async (c, clock) => { c.socket.end(); await stay(c, clock); }, life2: (c, id) => { c.send(data(id, '', END), 1); } }),
		expect: { end: ['closed'], resets: ['CANCEL', 'CONNECT_ERROR'], statuses: [200], counters: ended('tunnel-half-closed'), cpu: 4000 },
	}),
	row('half-closed by the destination', 'tunnels whose destination has ended its direction, and whose client says nothing', {
		ms: MS, listen: bye, route: { 'tunnel-half-closed-timeout': LIMIT },
		attack: both(200, toEvil, { life1: async (c, clock) => { while (!c.socket.destroyed && clock.goesOn) await sleep(50); } }),
		expect: { end: null, statuses: [200], counters: ended('tunnel-half-closed'), cpu: 4000 },
	}),
	row('slow tunnels', '200 tunnels, in each of which a byte moves every 100 ms either way; tunnel-age ends them', {
		ms: MS, listen: echo, route: { 'tunnel-age': LIMIT }, attack: both(200, toEvil, { life1: drip1, life2: drip2 }),
		expect: { end: null, statuses: [200], counters: ended('tunnel-age'), cpu: 1500 },
	}),
	row('opened and left', 'tunnels that are opened, and left at once; those of HTTP/1.1 are half-closed then, up to max-tunnels', {
		listen: keep, route: { 'tunnel-half-closed-timeout': LIMIT },
		attack: both(16, toEvil, { life1: async (c) => { await Promise.race([c.gone, sleep(1)]); }, life2: (c, id) => { c.send(frame('RST_STREAM', 0, id, u32(8)), 1); }, options1: {}, options2: { again: true } }),
		expect: { end: null, statuses: [200, 503], counters: ['tunnels'], cpu: 4000 },
	}),
	row('more tunnels than a client may have', '200 CONNECTs at a time, beyond max-tunnels-per-client', {
		ms: MS, listen: mute, route: { 'max-tunnels-per-client': 5, 'tunnel-half-closed-timeout': LIMIT },
		attack: async (env, clock) => sum(...await Promise.all([
			tunnels1(env, clock, 100, toEvil(env), async (c) => { if (c.status === '200') await stay(c, clock); else await Promise.race([c.gone, sleep(300)]); }, { lives: 3, from: '127.0.0.99' }),
			tunnels2(env, clock, 10, 10, toEvil(env)),
		])),
		expect: { end: null, statuses: [429, 200], resets: null, counters: ended('tunnels-per-client'), cpu: 4000 },
	}),
	row('RST flood', 'CONNECTs, each taken back at once', {
		listen: mute,
		tape: (env) => {
			const frames = [];
			for (let id = 1; id < 40000; id += 2)
				frames.push(toEvil(env).head2(id), frame('RST_STREAM', 0, id, u32(8)));
			const parts = [];
			for (let i = 0; i < frames.length; i += 100)
				parts.push({ bytes: Buffer.concat(frames.slice(i, i + 100)), frames: 100 });
			return { parts };
		},
		expect: { end: ['GOAWAY ENHANCE_YOUR_CALM reset-flood', 'closed'], resets: undefined, cpu: 300 },
	}),
];

/* ---- what must not become a request ---- */

/* The target of the hidden request: whoever asks for it there was not refused. */
const refused = (what, why, expect) => row(`bytes behind a CONNECT: ${what}`, `a request is sent behind a CONNECT that ${why}`, {
	listen: page,
	attack: async (env, clock, origin) => {
		const tally = await plains(env, clock, 8, async (c, i) => {
			const hidden = text([`GET http://127.0.0.1:${env.evil}/hidden HTTP/1.1`, `Host: 127.0.0.1:${env.evil}`, '']);
			await c.call(Buffer.concat([text([`CONNECT ${expect.to(env, i)} HTTP/1.1`, `Host: ${expect.to(env, i)}`, '']), hidden]), { method: 'CONNECT', target: expect.to(env, i) });
			await Promise.race([c.gone, sleep(300)]);
		});
		return Object.assign(tally, { hidden: origin.accepted, strangers: 0 });
	},
	expect: {
		end: ['closed'], statuses: expect.statuses, cpu: 4000, log: /cannot connect/,
		judge: (result) => (result.hidden > 0 ? `${result.hidden} connections for the hidden request` : undefined),
	},
});

const hidden = [
	refused('refused', 'is refused', { to: () => '10.0.0.1:443', statuses: [403] }),
	refused('failed', 'fails', { to: (env, i) => `${loopback(i)}:1`, statuses: [503] }),
	refused('malformed', 'cannot be read', { to: () => '127.0.0.1', statuses: [400] }),
	row('loops', 'requests and CONNECTs to the proxy itself', {
		attack: async (env, clock) => sum(...await Promise.all([
			plains(env, clock, 4, async (c) => {
				const at = `127.0.0.1:${env.port}`;
				await c.call(text([`GET http://${at}/small HTTP/1.1`, `Host: ${at}`, '']), { target: `http://${at}/small` });
			}),
			tunnels1(env, clock, 4, connect(() => `127.0.0.1:${env.port}`), async (c) => { await Promise.race([c.gone, sleep(100)]); }),
			callers({ ...env, authority: `127.0.0.1:${env.port}` }, clock, 4, async (c) => {
				while (c.mayAsk && clock.goesOn) {
					await c.ask(Array.from({ length: 10 }, () => ({})));
					await c.rest();
				}
			}),
		])),
		expect: { end: null, statuses: [403, 508], cpu: 2000 },
	}),
];

/* ---- destinations in masses ---- */

/* Each request for another destination: targetOf(n) gives its authority; at least so many. Half of them in either version. */
const wander = (targetOf, { width = 8, pace = 1, least = 0 } = {}) => async (env, clock) => {
	let next = 0;
	clock.needs(() => next >= least);
	const target = () => targetOf(env, next++);
	return sum(...await Promise.all([
		plains(env, clock, width, async (c) => {
			while (clock.goesOn && !c.over) {
				const to = target();
				await c.send(text([`GET http://${to}/ HTTP/1.1`, `Host: ${to}`, '']), 0);
				if (!await c.call(Buffer.alloc(0), { target: `http://${to}/` }))
					break;
				await sleep(pace);
			}
		}),
		callers(env, clock, width, async (c) => {
			while (clock.goesOn && c.mayAsk) {
				await c.ask(Array.from({ length: 20 }, () => ({ ':authority': target() })));
				/* No more than these at a time, however late they are: it is not the number of open requests that attacks. */
				await c.rest(10000 * SCALE);
				await sleep(pace);
			}
		}),
	]));
};

/* A name server beside the destination, which is TCP at the same port. */
class Named extends Destination {
	constructor(accept, serve) {
		super(accept);
		this.resolver = new EvilResolver(serve);
	}

	async listen(port) {
		await super.listen(port);
		await this.resolver.listen(port);
		return this;
	}

	close() {
		this.resolver.close();
		super.close();
	}
}
const named = (accept, serve) => (env) => new Named(accept, serve).listen(env.evil);
const resolver = (dir, env) => ({ resolver: `127.0.0.1:${env.evil}` });
const refuse = () => {};

/* More destinations than there may be, or none are counted. */
const few = (out, most) => (out.status.destinations > most || out.status.destinations === undefined ? `${out.status.destinations} destinations` : undefined);

const masses = [
	row('10,000 destinations', 'each request for another destination, by its address, and connections that stay', {
		ms: MS, listen: page, origin: { 'idle-timeout': '10s', 'max-destinations': 1000 }, attack: wander((env, n) => `${loopback(n % 10000)}:${env.evil}`, { least: 1500 }),
		expect: { end: null, statuses: [200], cpu: 2000, counters: ['destinations_evicted'], rss: 32, judge: (result, out) => few(out, 1000) },
	}),
	row('10,000 destinations, few descriptors', 'the same, and a connection to each is more than there are descriptors', {
		ms: MS, listen: page, limit: 400, origin: { 'idle-timeout': '10s' }, attack: wander((env, n) => `${loopback(n % 10000)}:${env.evil}`, { least: 800 }),
		expect: { end: null, statuses: [200, 503], cpu: 2000, rss: 32, counters: ['destinations_evicted'], log: /accepting pauses|Too many open files/ },
	}),
	row('ports that accept and never answer', 'requests to destinations that take them and say nothing', {
		ms: MS, listen: mute, origin: { 'response-timeout': LIMIT }, attack: wander((env, n) => `${loopback(n % 200)}:${env.evil}`),
		expect: { end: null, statuses: [504], counters: ended('response-late'), cpu: 4000 },
	}),
	row('ports at which nobody listens', 'requests to destinations that refuse each connection', {
		ms: MS, attack: wander((env, n) => `${loopback(n)}:1`),
		expect: { end: null, statuses: [503], cpu: 4000, log: /cannot connect/ },
	}),
];

const names = [
	row('10,000 names', 'each request for another name, all of which are one address', {
		ms: MS, server: resolver, origin: { 'idle-timeout': '10s', 'max-destinations': 300 },
		listen: named(respond, (send, query) => send(answerTo(query, isForIpv4(query) ? [address(127, 0, 0, 1)] : []))),
		attack: wander((env, n) => `n${n % 10000}.test:${env.evil}`, { least: 600 }),
		expect: { end: null, statuses: [200], cpu: 4000, counters: ['destinations_evicted'], log: /test/, judge: (result, out) => few(out, 300) },
	}),
	row('names that are not there', 'each request for another name that does not exist', {
		ms: MS, server: resolver, listen: named(refuse, (send, query) => send(answerTo(query, [], 3))), attack: wander((env, n) => `n${n}.test:443`),
		expect: { end: null, statuses: [503, 502], cpu: 4000, log: /test/ },
	}),
	row('names that nobody answers', 'each request for another name, and a name server that says nothing', {
		ms: MS, server: (dir, env) => ({ ...resolver(dir, env), 'dns-timeout': '500ms' }), listen: named(refuse, () => {}), attack: wander((env, n) => `n${n}.test:443`),
		expect: { end: null, statuses: [504, 503], cpu: 4000, log: /test/ },
	}),
	row('a denied name kept warm', 'requests again and again for a name whose address may not be reached', {
		ms: MS, server: resolver, listen: named(refuse, (send, query) => send(answerTo(query, isForIpv4(query) ? [address(10, 1, 2, 3)] : []))),
		attack: wander((env, n) => `private${n % 4}.test`),
		expect: { end: null, statuses: [403], counters: ended('address-denied'), cpu: 2000, rss: 16, log: /test/ },
	}),
];

export const forward = [...tunnels, ...hidden, ...masses, ...names];
