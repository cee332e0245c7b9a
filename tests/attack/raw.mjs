/* SPDX-License-Identifier: MIT */
/*
 * The attacker's own end of a connection: bytes out as they are given, and of what comes in only
 * what tells how it ended. Nothing is checked and little is kept, so that the attacker's cost per
 * frame stays below its victim's.
 */
import net from 'node:net';
import tls from 'node:tls';
import { FLAG, FrameReader, PREFACE, frame, settingsPayload, u32 } from '../support/frames.mjs';
import { Encoder, huffmanDecode } from '../support/hpack.mjs';
import { SCALE } from '../support/peer.mjs';

export const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const SETTINGS_ACK = frame('SETTINGS', FLAG.ACK, 0);

/* Another address for each: what bounds connections by address is a row of its own. */
export const addressOf = (i) => `127.0.0.${2 + (i % 200)}`;

/*
 * The client's first bytes. Without a table of ours an answer's status can be read off its block; the connection's
 * window stands open, so that no response waits for it.
 */
export const hello = (settings = {}) => Buffer.concat([PREFACE,
	frame('SETTINGS', 0, 0, settingsPayload({ headerTableSize: 0, ...settings })), frame('WINDOW_UPDATE', 0, 0, u32(1 << 30))]);

/* A request's field block that leaves the table alone, so it can be sent any number of times. */
export function block(env, { path = '/small', method = 'GET', ...fields } = {}) {
	return new Encoder().encode({ ':method': method, ':scheme': env.scheme, ':authority': env.authority, ':path': path, ...fields });
}
export function request(env, id, fields = {}, flags = FLAG.END_STREAM) {
	return frame('HEADERS', FLAG.END_HEADERS | flags, id, block(env, fields));
}

/*
 * A tape is what one connection sends after its first bytes: first (if given) and parts, each [{bytes, frames}], played
 * in order and, if `repeat`, the parts again. reel(n, size, make) cuts make(0), make(1), … (each a list of frames) into parts of about `size` frames.
 */
export function reel(count, size, make) {
	const parts = [];
	let list = [];
	const cut = () => {
		if (list.length)
			parts.push({ bytes: Buffer.concat(list), frames: list.length });
		list = [];
	};
	for (let i = 0; i < count; i++) {
		list.push(...make(i));
		if (list.length >= size)
			cut();
	}
	cut();
	return parts;
}
export const loop = (frames, size) => ({ parts: reel(Math.ceil(size / frames.length), size, () => frames), repeat: true });

/* A block begins with :status: an entry of the static table, or a literal with its name (RFC 7541 appendix A). */
function statusOf(fragment) {
	if (fragment[0] === 0x20) /* a size update: our table is none */
		fragment = fragment.subarray(1);
	const known = { 0x88: 200, 0x89: 204, 0x8a: 206, 0x8b: 304, 0x8c: 400, 0x8d: 404, 0x8e: 500 };
	if (known[fragment[0]])
		return known[fragment[0]];
	const literal = [0x08, 0x48, 0x18].includes(fragment[0]) ? fragment.subarray(1, 4) : null;
	if (literal?.[0] === 3)
		return fragment.subarray(2, 5).toString('latin1');
	if (literal)
		return huffmanDecode(fragment.subarray(2, 2 + (literal[0] & 127))).toString('latin1');
	return null;
}

/* Ends, resets and statuses that there have been in this round. */
const seen = new Set();
export const note = (word) => seen.add(word);
/* A status says little before there are many of it: the first may be that of a page which an attack begins with. */
let many;
const counts = new Map();
function noteMany(word) {
	const n = (counts.get(String(word)) ?? 0) + 1;
	counts.set(String(word), n);
	if (n >= many)
		note(word);
}

/*
 * How long an attack goes on: for its time, and longer while what must come of it has not come yet, since on a busy
 * machine a flood takes its time too.
 */
export class Clock {
	constructor(ms, expect = {}) {
		seen.clear();
		counts.clear();
		many = expect.many ?? 200;
		this.answers = Object.entries(expect.answers ?? {});
		this.until = Date.now() + ms;
		this.last = this.until + 30000 * SCALE;
		this.wanted = [expect.end, expect.resets, expect.statuses].filter(Boolean).map((words) => String([words].flat()[0]));
	}

	/* What the attack itself must have done by then, such as to ask for so many things. */
	needs(isDone) { this.isDone = isDone; }
	isDone = () => true;

	get goesOn() {
		const isOver = this.isDone() && this.wanted.every((word) => seen.has(word)) && this.answers.every(([status, n]) => counts.get(status) >= n);
		return Date.now() < (isOver ? this.until : this.last);
	}
}

/* What came of one round, summed over connections. Strangers: answers to something else than what was asked. */
export class Tally {
	frames = 0;
	connections = 0;
	ends = {};
	resets = {};
	statuses = {};
	responses = 0;
	strangers = 0;
	answers = 0;

	add(c) {
		this.frames += c.frames;
		this.connections++;
		this.ends[c.end] = (this.ends[c.end] ?? 0) + 1;
		for (const kind of ['resets', 'statuses'])
			for (const [word, n] of Object.entries(c.answers[kind]))
				this[kind][word] = (this[kind][word] ?? 0) + n;
		this.responses += c.answers.responses;
		this.strangers += c.answers.strangers;
		this.answers += c.answers.frames;
	}
}

/* One end of a connection: bytes out as they are given, and how it ended. A protocol has receive(chunk). */
export class Line {
	answers = { frames: 0, responses: 0, resets: {}, statuses: {}, strangers: 0 };
	over = false;
	end = null; /* how it ended, in words */
	frames = 0; /* sent */

	/* See Raw and Plain. */
	constructor(env, alpn, { from, reads = true, secure = env.tls, socket }) {
		const where = { port: env.port, host: '127.0.0.1', localAddress: from };
		this.socket = socket ?? (secure
			? tls.connect({ ...where, rejectUnauthorized: false, ALPNProtocols: [alpn], servername: 'localhost' })
			: net.connect(where));
		this.socket.setNoDelay(true);
		this.opened = new Promise((resolve) => { this.socket.once(secure ? 'secureConnect' : 'connect', () => resolve(true)); });
		this.closed = new Promise((resolve) => { this.socket.once('close', resolve); });
		this.gone = new Promise((resolve) => { this.conclude = resolve; });
		this.socket.on('error', (error) => this.conclusion(error.code === 'ECONNRESET' || error.code === 'EPIPE' ? 'closed' : error.code ?? error.message));
		this.socket.on('end', () => this.conclusion('closed'));
		this.socket.on('close', () => this.conclusion('closed'));
		if (reads)
			this.socket.on('data', (chunk) => this.receive(chunk));
		else
			this.socket.pause();
	}

	conclusion(how) {
		if (!this.over)
			note(how);
		this.end ??= how;
		this.over = true;
		this.conclude();
	}

	/* Resolves when the kernel has it; at once when the connection is over. */
	send(bytes, frames = 1) {
		if (this.over || !this.socket.writable)
			return Promise.resolve();
		return Promise.race([this.gone, new Promise((resolve) => {
			this.socket.write(bytes, () => { this.frames += frames; resolve(); });
		})]);
	}

	/*
	 * Plays a tape until it or the connection is over, or the clock. A millisecond after each part (`pace`) lets the answer
	 * come first that ends the connection: what is counted as sent has been looked at, but for the last part or two.
	 */
	async play({ first = [], parts, repeat = false, pace = 1 }, clock) {
		let list = [...first, ...parts];
		do {
			for (const part of list) {
				if (this.over || !clock.goesOn)
					return;
				await this.send(part.bytes, part.frames);
				await sleep(pace);
			}
			list = parts;
		} while (repeat);
	}

	close() {
		this.end ??= 'open';
		this.over = true;
		this.socket.destroy();
		return this.closed;
	}
}

/* HTTP/2. */
export class Raw extends Line {
	#reader = new FrameReader();
	#preface; /* bytes of it that have not come yet */

	/*
	 * env: {port, tls}; options: from (local address), reads (false: nothing is read, ever), settings, silent (sends no
	 * preface), secure, onFrame (sees each frame that comes); socket: one that was accepted, on which we are the origin.
	 */
	constructor(env, { settings = {}, silent = false, onFrame, socket, ...options } = {}) {
		super(env, 'h2', { socket, ...options });
		this.onFrame = onFrame;
		this.#preface = socket ? PREFACE.length : 0;
		this.ready = new Promise((resolve) => { this.greeted = resolve; });
		if (!silent)
			this.socket.write(socket ? hello(settings).subarray(PREFACE.length) : hello(settings));
	}

	receive(chunk) {
		const skipped = Math.min(this.#preface, chunk.length);
		this.#preface -= skipped;
		try {
			for (const f of this.#reader.push(chunk.subarray(skipped)))
				this.#take(f);
		} catch (error) {
			this.conclusion(`answer that is no HTTP/2: ${error.message}`);
			this.socket.destroy();
		}
	}

	#take(f) {
		const a = this.answers;
		a.frames++;
		if (f.type === 'SETTINGS' && !f.ack) {
			this.send(SETTINGS_ACK, 0);
			this.greeted();
		} else if (f.type === 'RST_STREAM') {
			a.resets[f.code] = (a.resets[f.code] ?? 0) + 1;
			note(f.code);
		} else if (f.type === 'GOAWAY' && f.code !== 'NO_ERROR') {
			this.conclusion(`GOAWAY ${f.code} ${f.debug}`);
		} else if (f.type === 'GOAWAY') {
			this.isLeaving = true;
		} else if (f.type === 'HEADERS' || f.type === 'DATA') {
			const status = f.type === 'HEADERS' ? statusOf(f.fragment) : null;
			if (status) {
				a.statuses[status] = (a.statuses[status] ?? 0) + 1;
				noteMany(String(status));
			}
			a.responses += f.endStream ? 1 : 0;
		}
		this.onFrame?.(f);
	}

	/* The server's SETTINGS are here: no acknowledgement of ours comes between what is sent from now on. */
	begin() {
		return Promise.race([this.socket.isPaused() ? this.opened : this.ready, this.gone, sleep(3000)]);
	}
}
