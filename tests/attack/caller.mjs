/* SPDX-License-Identifier: MIT */
/*
 * Clients that ask for many things at once, wait for the answers, and ask again; what they ask for, and what they do to
 * the requests, is each row's own.
 */
import { frame, u32 } from '../support/frames.mjs';
import { Raw, Tally, addressOf, request, sleep } from './raw.mjs';

export class Caller extends Raw {
	#env;
	#next = 1;
	#open = new Set();
	#rested = () => {};

	/* `i` gives it an address; it asks at `env.authority`. */
	constructor(env, i, options = {}) {
		super(env, { from: addressOf(i), ...options, onFrame: (f) => {
			if (f.endStream || f.type === 'RST_STREAM')
				this.#over(f.stream);
		} });
		this.#env = env;
	}

	#over(id) {
		this.#open.delete(id);
		if (this.#open.size === 0)
			this.#rested();
	}

	/* Requests, each given by its fields, in one go; with isCancelled each is taken back at once. */
	ask(list, { isCancelled = false } = {}) {
		const frames = list.flatMap((fields) => {
			const id = this.#next;
			this.#next += 2;
			if (isCancelled)
				return [request(this.#env, id, fields), frame('RST_STREAM', 0, id, u32(8))];
			this.#open.add(id);
			return [request(this.#env, id, fields)];
		});
		return this.send(Buffer.concat(frames), frames.length);
	}

	/* Takes back what has no answer yet. */
	cancel() {
		const ids = [...this.#open];
		this.#open.clear();
		return this.send(Buffer.concat(ids.map((id) => frame('RST_STREAM', 0, id, u32(8)))), ids.length);
	}

	/* Everything was answered, or it takes long. */
	async rest(ms = 2000) {
		if (this.#open.size > 0)
			await Promise.race([this.gone, sleep(ms), new Promise((resolve) => { this.#rested = resolve; })]);
	}

	get mayAsk() { return !this.over && !this.isLeaving && this.#next < 1 << 20; }
}

/* `count` callers at a time, each of which lives its life(caller, n-th of its place) again and again. */
export async function callers(env, clock, count, life, options) {
	const tally = new Tally();
	await Promise.all(Array.from({ length: count }, async (_, i) => {
		for (let n = 0; clock.goesOn; n++) {
			const c = new Caller(env, i, options);
			await c.begin();
			await life(c, n);
			await c.close();
			tally.add(c);
		}
	}));
	return tally;
}
