/* SPDX-License-Identifier: MIT */
/*
 * An origin that means harm, over HTTP/1.1: gives each request to `serve(line, message, origin)` when its head is there
 * (`atHead`) or when all of it is, which may send what it likes. And the clients that set it off, who mean no harm: some
 * speak HTTP/2 and some HTTP/1.1, for one may not harm the other.
 */
import net from 'node:net';
import { Evil, visitors } from './evil.mjs';
import { Plain, ask, text } from './plain.mjs';
import { Tally, addressOf, sleep } from './raw.mjs';

/* The head of a response to `m`, which says what it is the answer to. */
export const head1 = (m, fields = {}, status = '200 OK') => text([`HTTP/1.1 ${status}`, `X-Path: ${m.target}`,
	...Object.entries(fields).map(([name, value]) => `${name}: ${value}`), '']);
export const page1 = (m, body = 'x', fields = {}, status) => Buffer.concat([
	head1(m, { 'Content-Length': body.length, ...fields }, status), Buffer.from(m.method === 'HEAD' ? '' : body)]);

export class Evil1 extends Evil {
	/* options: reads, atHead, accept(line): before any request */
	listen(port) {
		this.server = net.createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
		return new Promise((resolve) => { this.server.listen(port, '127.0.0.1', () => resolve(this)); });
	}

	#accept(socket) {
		const { accept, atHead, reads } = this.options;
		this.accepted++;
		const serve = (m, line) => this.serve(line, m, this);
		const line = new Plain({}, { socket, reads, [atHead ? 'onHead' : 'onMessage']: serve });
		this.lines.add(line);
		line.gone.then(() => {
			socket.destroy();
			this.count(line);
		});
		accept?.(line, this);
	}
}

/* One client of HTTP/1.1: one request after the other. options: pace, reads, ask(c, target): instead of a GET; gives the response. */
async function visitor1(env, clock, i, { pace = 5, reads = true, ask: make } = {}, tally) {
	for (let n = 0; clock.goesOn; n++) {
		const c = new Plain(env, { from: addressOf(i), reads });
		await c.begin();
		for (let k = 0; clock.goesOn && !c.over && k < 200; k++) {
			const target = `/evil/${i}/${n}/${k}`;
			const r = await (make ?? ((to, at) => to.call(ask(env, at), { target: at })))(c, target);
			if (!r || /\bclose\b/.test(r.headers.connection ?? ''))
				break;
			await Promise.race([c.gone, sleep(pace)]);
		}
		await c.close();
		tally.add(c);
		await sleep(pace);
	}
}

/* Clients of both versions ask for one page of the evil origin after the other. `one`: options of those of HTTP/1.1. */
export async function visit1(env, clock, origin, { count = 8, one = {}, ...options } = {}) {
	const clients = new Tally();
	const evil = { ...env, authority: 'evil.test' };
	const [client] = await Promise.all([
		visitors(env, clock, options),
		...Array.from({ length: count }, (_, i) => visitor1(evil, clock, 100 + i, one, clients)),
	]);
	const { statuses, responses, ends, strangers } = clients;
	return Object.assign(origin.take(), { client, one: { statuses, responses, ends, strangers } });
}
