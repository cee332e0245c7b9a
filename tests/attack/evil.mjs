/* SPDX-License-Identifier: MIT */
/*
 * An origin that means harm: accepts the gate's connections, and gives each request to `serve(line, id, origin)`,
 * which may send on it what it likes. And the clients that set it off, who mean no harm.
 */
import net from 'node:net';
import { FLAG, frame, u32 } from '../support/frames.mjs';
import { Encoder } from '../support/hpack.mjs';
import { FOREIGN } from './plain.mjs';
import { Raw, Tally, addressOf, request, sleep } from './raw.mjs';

/* Blocks that leave the table alone. */
export const fields = (list) => new Encoder().encode(list);
export const OK = fields({ ':status': '200' });
export const head = (id, bytes = OK, flags = 0) => frame('HEADERS', FLAG.END_HEADERS | flags, id, bytes);
export const page = (id, bytes = OK, body = 'x') => Buffer.concat([head(id, bytes), frame('DATA', FLAG.END_STREAM, id, Buffer.from(body))]);

/* Promised ids belong to the connection. */
export function promised(line) {
	line.lastPromised = (line.lastPromised ?? 0) + 2;
	return line.lastPromised;
}
export const promise = (parent, id, path = `/pushed/${id}`) => frame('PUSH_PROMISE', FLAG.END_HEADERS, parent,
	Buffer.concat([u32(id), fields({ ':method': 'GET', ':scheme': 'http', ':authority': 'evil.test', ':path': path })]));

export class Evil {
	lines = new Set();
	tally = new Tally();
	accepted = 0;

	/* options: settings, silent (says nothing of itself), reads, accept(line): before any request */
	constructor(serve, options = {}) {
		this.serve = serve;
		this.options = options;
	}

	listen(port) {
		this.server = net.createServer((socket) => this.#accept(socket));
		return new Promise((resolve) => { this.server.listen(port, '127.0.0.1', () => resolve(this)); });
	}

	#accept(socket) {
		const { accept, ...options } = this.options;
		this.accepted++;
		const line = new Raw({}, { socket, ...options, onFrame: (f) => {
			if (f.type === 'SETTINGS' && !f.ack) {
				line.initial = f.values.initialWindowSize ?? 65535;
				line.takesPushes = f.values.enablePush !== 0;
			}
			if (f.type === 'WINDOW_UPDATE')
				line.granted[f.stream] = (line.granted[f.stream] ?? 0) + f.increment;
			else if (f.type === 'RST_STREAM')
				line.refused.add(f.stream);
			else if (f.type === 'HEADERS')
				this.serve(line, f.stream, this);
		} });
		line.granted = {};
		line.refused = new Set();
		this.lines.add(line);
		line.gone.then(() => {
			socket.destroy();
			this.count(line);
		});
		accept?.(line, this);
	}

	count(line) {
		if (this.lines.delete(line))
			this.tally.add(line);
	}

	/* DATA without end, as far as the windows go; until the stream is reset. */
	async fill(line, id, bytes) {
		const one = frame('DATA', 0, id, bytes);
		for (let sent = 0; !line.over && !line.refused.has(id);) {
			if (line.initial + (line.granted[id] ?? 0) - sent < bytes.length) {
				await sleep(2);
				continue;
			}
			sent += bytes.length;
			await line.send(one);
		}
	}

	/* What there has been since the last time. */
	take() {
		const { tally } = this;
		for (const line of this.lines) {
			tally.frames += line.frames;
			line.frames = 0;
			for (const [word, n] of Object.entries(line.answers.resets))
				tally.resets[word] = (tally.resets[word] ?? 0) + n;
			line.answers.resets = {};
		}
		tally.accepted = this.accepted;
		this.tally = new Tally();
		this.accepted = 0;
		return tally;
	}

	close() {
		for (const line of this.lines)
			line.socket.destroy();
		this.server.close();
	}
}

/*
 * Ask for one page of the evil origin after the other, on some connections, each with some at a time. Give what
 * they were answered, which is in the tally of visit as `client`. options: connections, parallel, settings, reads, pace (ms between requests), fields, ask(c, id): instead of a GET.
 */
export async function visitors(env, clock, { connections = 2, parallel = 4, settings = {}, reads = true, pace = 5, fields = {}, ask } = {}) {
	const clients = new Tally();
	const evil = { ...env, authority: 'evil.test' };
	await Promise.all(Array.from({ length: connections }, async (_, i) => {
		while (clock.goesOn) {
			let next = 1, open = 0;
			const c = new Raw(env, { from: addressOf(i), settings, reads, onFrame(f) {
				if (f.type === 'DATA' && f.length > 0)
					c.send(Buffer.concat([frame('WINDOW_UPDATE', 0, 0, u32(f.length)), frame('WINDOW_UPDATE', 0, f.stream, u32(f.length))]), 0);
				if (f.type === 'DATA' && f.data.includes(FOREIGN))
					c.answers.strangers++;
				if (f.stream & 1 && (f.endStream || f.type === 'RST_STREAM'))
					open--;
			} });
			await c.begin();
			while (clock.goesOn && !c.over && !c.isLeaving && next < 4000) {
				if (open < parallel) {
					open++;
					(ask ?? ((to, id) => to.send(request(evil, id, { path: `/evil/${id}`, ...fields }), 0)))(c, next);
					next += 2;
				}
				await Promise.race([c.gone, sleep(pace)]);
			}
			await Promise.race([c.gone, sleep(200)]);
			await c.close();
			clients.add(c);
		}
	}));
	return { statuses: clients.statuses, resets: clients.resets, responses: clients.responses, ends: clients.ends, strangers: clients.strangers };
}

export async function visit(env, clock, origin, options) {
	const client = await visitors(env, clock, options);
	return Object.assign(origin.take(), { client });
}
