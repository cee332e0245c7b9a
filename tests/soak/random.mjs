/* SPDX-License-Identifier: MIT */
/* Numbers that come again for the same seed, and bodies of which every byte is known at both ends. */

/* mulberry32: small, and even enough for choosing. */
export class Random {
	#state;

	constructor(seed) { this.#state = seed >>> 0; }

	/* 0 ≤ x < 1 */
	next() {
		this.#state = (this.#state + 0x6d2b79f5) >>> 0;
		let t = this.#state;
		t = Math.imul(t ^ (t >>> 15), t | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	}
	/* least ≤ n ≤ most */
	int(least, most) { return least + Math.floor(this.next() * (most - least + 1)); }
	chance(p) { return this.next() < p; }
	pick(list) { return list[this.int(0, list.length - 1)]; }
	/* {name: weight}: a name */
	weighted(weights) {
		let at = this.next() * Object.values(weights).reduce((a, b) => a + b, 0);
		for (const [name, weight] of Object.entries(weights))
			if ((at -= weight) < 0)
				return name;
		return Object.keys(weights).at(-1);
	}
	/* Most bodies are small, a few are large. */
	size() { return this.weighted({ small: 70, medium: 25, large: 5 }) === 'small' ? this.int(0, 4096) : this.chance(0.8) ? this.int(4096, 65536) : this.int(65536, 1048576); }
}

const TAPE_BYTES = 1 << 20;
const tape = Buffer.alloc(TAPE_BYTES);
const words = new Random(20161);
for (let i = 0; i < TAPE_BYTES; i++)
	tape[i] = words.int(0, 255);

/* The bytes [at, at + n) of the body with this seed. */
function* pieces(seed, at, n) {
	let from = (seed * 7919 + at) % TAPE_BYTES;
	while (n > 0) {
		const length = Math.min(n, TAPE_BYTES - from);
		yield tape.subarray(from, from + length);
		n -= length;
		from = 0;
	}
}
export const body = (seed, at, n) => Buffer.concat([...pieces(seed, at, n)]);
export const bodyOf = (seed) => (at, n) => body(seed, at, n);

/* Compares what comes with what should. */
export class Checker {
	received = 0;
	isWrong = false;

	constructor(seed, length) {
		this.seed = seed;
		this.length = length;
	}
	add(chunk) {
		let at = 0;
		for (const piece of pieces(this.seed, this.received, chunk.length)) {
			this.isWrong ||= chunk.compare(piece, 0, piece.length, at, at + piece.length) !== 0;
			at += piece.length;
		}
		this.received += chunk.length;
		this.isWrong ||= this.received > this.length;
	}
	get isWhole() { return !this.isWrong && this.received === this.length; }
}
