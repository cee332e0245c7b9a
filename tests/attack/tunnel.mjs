/* SPDX-License-Identifier: MIT */
/*
 * The attacker's own end of tunnels: by Upgrade in HTTP/1.1, by extended CONNECT in HTTP/2; and by CONNECT in both, to a
 * forward proxy. `path` is either a path, or connect(to), where to(i) gives the authority of the i-th tunnel.
 */
import { FLAG, frame, u32 } from '../support/frames.mjs';
import { Encoder } from '../support/hpack.mjs';
import { Line, Raw, Tally, addressOf, note, request, sleep } from './raw.mjs';

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
export const upgrade = (env, path) => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${env.authority}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`
	+ `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`);
export const extended = (env, id, path, flags = 0) => request(env, id, { path, method: 'CONNECT', ':protocol': 'websocket' }, flags);

export const connect = (to) => ({
	head1: (i) => Buffer.from(`CONNECT ${to(i)} HTTP/1.1\r\nHost: ${to(i)}\r\n\r\n`),
	head2: (id) => frame('HEADERS', FLAG.END_HEADERS, id, new Encoder().encode({ ':method': 'CONNECT', ':authority': to(id >> 1) })),
});
const head1 = (env, path, i) => (path.head1 ? path.head1(i) : upgrade(env, path));
const head2 = (env, path, id, flags) => (path.head2 ? path.head2(id) : extended(env, id, path, flags));

/* A connection in HTTP/1.1 that asks for the i-th tunnel. `answer` resolves with the status of its answer, or null. */
export class Tunnel1 extends Line {
	received = 0; /* bytes of the tunnel */
	status = null;
	#head = '';

	constructor(env, path, i, options = {}) {
		super(env, 'http/1.1', options);
		this.bytes = head1(env, path, i);
		this.answer = new Promise((resolve) => { this.answered = resolve; });
		this.gone.then(() => this.answered(null));
	}

	open() { return this.send(this.bytes); }

	receive(chunk) {
		this.answers.frames++;
		if (this.status) {
			this.received += chunk.length;
			return;
		}
		this.#head += chunk.toString('latin1');
		const end = this.#head.indexOf('\r\n\r\n');
		if (end < 0)
			return;
		this.status = this.#head.slice(9, 12);
		this.received = this.#head.length - end - 4;
		this.answers.statuses[this.status] = (this.answers.statuses[this.status] ?? 0) + 1;
		this.answers.responses++;
		note(this.status);
		this.answered(this.status);
	}
}

/* `count` tunnels in HTTP/1.1 at a time, at `path`, each of which lives its life(tunnel, i) and is opened again. */
export async function tunnels1(env, clock, count, path, life, { lives = Infinity, ...options } = {}) {
	const tally = new Tally();
	await Promise.all(Array.from({ length: count }, async (_, i) => {
		for (let n = 0; clock.goesOn && n < lives; n++) {
			const c = new Tunnel1(env, path, i + n * count, { from: addressOf(i), ...options });
			await Promise.race([c.opened, c.gone, sleep(3000)]);
			await c.open();
			if (options.reads !== false)
				await Promise.race([c.answer, sleep(3000)]);
			await life(c, i);
			await c.close();
			tally.add(c);
		}
	}));
	return tally;
}

/*
 * The same over HTTP/2: `count` connections, each with `each` streams at a time; life(c, id) is called when the answer
 * to the request on stream id has come. With `again`, another stream follows each that has ended. window: false: nothing
 * of a stream is taken beyond its first window.
 */
export async function tunnels2(env, clock, count, each, path, life = () => {}, { again = false, window = true, flags = 0, pace = 20 } = {}) {
	const tally = new Tally();
	await Promise.all(Array.from({ length: count }, async (_, i) => {
		let next = 1;
		const open = new Set();
		const c = new Raw(env, { from: addressOf(i), onFrame(f) {
			if (f.type === 'HEADERS')
				Object.keys(c.answers.statuses).forEach(note);
			if (f.type === 'HEADERS' && !f.endStream)
				life(c, f.stream);
			if (f.type === 'DATA' && f.length && window)
				c.send(Buffer.concat([frame('WINDOW_UPDATE', 0, 0, u32(f.length)), ...(f.endStream ? [] : [frame('WINDOW_UPDATE', 0, f.stream, u32(f.length))])]), 0);
			if (f.stream && (f.endStream || f.type === 'RST_STREAM'))
				open.delete(f.stream);
		} });
		await c.begin();
		while (clock.goesOn && !c.over && !c.isLeaving) {
			const part = [];
			for (; open.size < each && (again || next < 2 * each) && next < 1 << 20; open.add(next), next += 2)
				part.push(head2(env, path, next, flags));
			if (part.length)
				await c.send(Buffer.concat(part), part.length);
			await Promise.race([c.gone, sleep(pace)]);
		}
		await c.close();
		tally.add(c);
	}));
	return tally;
}

/* Several tallies as one. */
export function sum(...tallies) {
	const all = new Tally();
	for (const t of tallies) {
		for (const key of ['frames', 'connections', 'responses', 'strangers', 'answers'])
			all[key] += t[key];
		for (const kind of ['ends', 'resets', 'statuses'])
			for (const [word, n] of Object.entries(t[kind]))
				all[kind][word] = (all[kind][word] ?? 0) + n;
	}
	return all;
}

/* Waits until a tunnel, or the clock, is over. */
export async function stay(c, clock) {
	while (!c.over && clock.goesOn)
		await Promise.race([c.gone, sleep(50)]);
}
export const END = FLAG.END_STREAM;
