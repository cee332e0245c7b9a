/* SPDX-License-Identifier: MIT */
/*
 * The attacker's own end of a connection: octets out as they are given, and of what comes in only
 * what tells how it ended. Nothing is checked and little is kept, so that the attacker's cost per
 * frame stays below its victim's.
 */
import net from 'node:net';
import tls from 'node:tls';
import { FLAG, FrameReader, PREFACE, frame, settingsPayload } from '../support/frames.mjs';
import { Encoder } from '../support/hpack.mjs';

export const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const SETTINGS_ACK = frame('SETTINGS', FLAG.ACK, 0);

/* The client's first octets. */
export const hello = (settings = {}) => Buffer.concat([PREFACE, frame('SETTINGS', 0, 0, settingsPayload(settings))]);

/* A request's field block that leaves the table alone, so it can be sent any number of times. */
export function block(env, { path = '/small', method = 'GET', ...fields } = {}) {
	return new Encoder().encode({ ':method': method, ':scheme': env.scheme, ':authority': env.authority, ':path': path, ...fields });
}
export function request(env, id, fields = {}, flags = FLAG.END_STREAM) {
	return frame('HEADERS', FLAG.END_HEADERS | flags, id, block(env, fields));
}

/*
 * A tape is what one connection sends after its first octets: parts = [{octets, frames}], played in order and, if
 * `repeat`, again. reel(n, size, make) cuts make(0), make(1), … (each a list of frames) into parts of about `size` frames.
 */
export function reel(count, size, make) {
	const parts = [];
	let list = [];
	const cut = () => {
		if (list.length)
			parts.push({ octets: Buffer.concat(list), frames: list.length });
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

export class Raw {
	answers = { frames: 0, responses: 0, resets: {}, statuses: {} };
	over = false;
	end = null; /* how it ended, in words */
	frames = 0; /* sent */
	#reader = new FrameReader();

	/* env: {port, host, tls}; options: from (local address), reads (false: nothing is read, ever), settings, silent. */
	constructor(env, { from, reads = true, settings = {}, silent = false, secure = env.tls, keep = false } = {}) {
		const where = { port: env.port, host: '127.0.0.1', localAddress: from };
		this.keep = keep;
		this.socket = secure
			? tls.connect({ ...where, rejectUnauthorized: false, ALPNProtocols: ['h2'], servername: 'localhost' })
			: net.connect(where);
		this.socket.setNoDelay(true);
		this.opened = new Promise((resolve) => { this.socket.once(secure ? 'secureConnect' : 'connect', () => resolve(true)); });
		this.closed = new Promise((resolve) => { this.socket.once('close', resolve); });
		this.gone = new Promise((resolve) => { this.conclude = resolve; });
		this.socket.on('error', (error) => this.#over(error.code === 'ECONNRESET' || error.code === 'EPIPE' ? 'closed' : error.code ?? error.message));
		this.socket.on('end', () => this.#over('closed'));
		this.socket.on('close', () => this.#over('closed'));
		if (reads)
			this.socket.on('data', (chunk) => this.#receive(chunk));
		else
			this.socket.pause();
		if (!silent)
			this.socket.write(hello(settings));
	}

	#over(how) {
		this.end ??= how;
		this.over = true;
		this.conclude();
	}

	#receive(chunk) {
		try {
			for (const f of this.#reader.push(chunk))
				this.#take(f);
		} catch (error) {
			this.#over(`answer that is no HTTP/2: ${error.message}`);
			this.socket.destroy();
		}
	}

	#take(f) {
		const a = this.answers;
		a.frames++;
		if (f.type === 'SETTINGS' && !f.ack) {
			this.socket.write(SETTINGS_ACK);
		} else if (f.type === 'RST_STREAM') {
			a.resets[f.code] = (a.resets[f.code] ?? 0) + 1;
		} else if (f.type === 'GOAWAY' && f.code !== 'NO_ERROR') {
			this.#over(`GOAWAY ${f.code} ${f.debug}`);
		} else if (f.type === 'GOAWAY') {
			this.isLeaving = true;
		} else if (f.type === 'HEADERS' || f.type === 'DATA') {
			a.responses += f.endStream ? 1 : 0;
		}
		this.onFrame?.(f);
	}

	/* Resolves when the kernel has it; at once when the connection is over. */
	send(octets, frames = 1) {
		if (this.over || !this.socket.writable)
			return Promise.resolve();
		return Promise.race([this.gone, new Promise((resolve) => {
			this.socket.write(octets, () => { this.frames += frames; resolve(); });
		})]);
	}

	/*
	 * Plays a tape until it or the connection is over, or the time. A millisecond after each part (`pace`) lets the answer
	 * come first that ends the connection: what is counted as sent has been looked at, but for the last part or two.
	 */
	async play({ parts, repeat = false, pace = 1 }, until) {
		do {
			for (const part of parts) {
				if (this.over || Date.now() >= until)
					return;
				await this.send(part.octets, part.frames);
				await sleep(pace);
			}
		} while (repeat);
	}

	close() {
		this.end ??= 'open';
		this.over = true;
		this.socket.destroy();
		return this.closed;
	}
}
