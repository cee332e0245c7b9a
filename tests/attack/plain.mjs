/* SPDX-License-Identifier: MIT */
/*
 * The attacker's own end of a connection in HTTP/1.1. What comes in is read by the tests' own strict reader, so that what
 * is cut off never counts as a response; nothing is kept of it but numbers.
 *
 * A response is a stranger when it says that it belongs to another target than was asked for (x-path), or when it has
 * what no request asked for (FOREIGN).
 */
import { Reader } from '../support/http1.mjs';
import { Line, Tally, addressOf, note, sleep } from './raw.mjs';

/* What an evil origin sends besides its responses. */
export const FOREIGN = 'what nobody asked for';

export const text = (lines) => Buffer.from(`${lines.join('\r\n')}\r\n`, 'latin1');
export function ask(env, target = '/small', { method = 'GET', fields = {}, body = '' } = {}) {
	return Buffer.concat([text([`${method} ${target} HTTP/1.1`, `Host: ${env.authority}`,
		...Object.entries(fields).map(([name, value]) => `${name}: ${value}`), '']), Buffer.from(body)]);
}
export const chunk = (bytes, extension = '') => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}${extension}\r\n`), Buffer.from(bytes), Buffer.from('\r\n')]);
export const CHUNKED = { 'transfer-encoding': 'chunked' };

export class Plain extends Line {
	asked = []; /* {method, version, target} */
	#reader;

	/* As Raw; onMessage sees each complete message, onHead the head of each request. */
	constructor(env, { onMessage, onHead, socket, ...options } = {}) {
		super(env, 'http/1.1', { socket, ...options });
		this.onMessage = onMessage;
		this.onHead = onHead;
		this.#reader = new Reader(socket ? 'request' : 'response', { asked: this.asked });
		this.gone.then(() => { this.#reader.end(false); });
	}

	receive(bytes) {
		for (const e of this.#reader.push(bytes)) {
			this.answers.frames++;
			if (e.type === 'head')
				this.onHead?.(e.message, this);
			else if (e.type === 'end')
				this.#message(e.message);
		}
		this.#reader.messages.length = 0;
		if (!this.#reader.error)
			return;
		this.conclusion(`answer that is no HTTP/1.1: ${this.#reader.error.text}`);
		this.socket.destroy();
	}

	#message(m) {
		if (m.kind === 'response') {
			const { answers } = this;
			answers.statuses[m.status] = (answers.statuses[m.status] ?? 0) + 1;
			answers.responses += m.status >= 200 ? 1 : 0;
			const isForeign = m.body.includes(FOREIGN) || (m.headers['x-path'] !== undefined && m.to?.target !== undefined && m.headers['x-path'] !== m.to.target);
			answers.strangers += isForeign ? 1 : 0;
			note(String(m.status));
		}
		this.onMessage?.(m, this);
		if (m.status >= 200)
			this.answered?.(m);
	}

	/* Sends a request and waits for its response; null: there is none, or none in time. */
	async call(bytes, asked = {}, ms = 5000) {
		this.asked.push({ method: 'GET', version: 'HTTP/1.1', ...asked });
		const answer = new Promise((resolve) => { this.answered = resolve; });
		this.send(bytes);
		return Promise.race([answer, this.gone.then(() => null), sleep(ms).then(() => null)]);
	}

	begin() { return Promise.race([this.opened, this.gone, sleep(3000)]); }
}

/* `count` connections at a time, each of which lives its life(connection, i, n-th of its place) again and again until the clock is out. */
export async function plains(env, clock, count, life, options = {}) {
	const tally = new Tally();
	await Promise.all(Array.from({ length: count }, async (_, i) => {
		for (let n = 0; clock.goesOn && n < (options.lives ?? Infinity); n++) {
			const c = new Plain(env, { from: addressOf(i), ...options });
			await c.begin();
			await life(c, i, n);
			await c.close();
			tally.add(c);
		}
	}));
	return tally;
}
