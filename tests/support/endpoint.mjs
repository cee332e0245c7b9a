/* SPDX-License-Identifier: MIT */
/*
 * One end of an HTTP/2 connection that carries many streams by itself: it keeps to the other end's windows and
 * settings, sends bodies as fast as they are taken, and tells each stream what comes for it. The connection below
 * checks meanwhile what must hold always (peer.mjs); on.violation hears of what did not.
 */
import { Connection } from './peer.mjs';

/* A stream that is over gets nothing more after this: nobody leaves a socket unread for as long. */
const FORGET_MS = 40000;
const MAX_FRAME_BYTES = 16384;

/*
 * One stream. `on` has what its owner wants to hear: head(headers), data(bytes), trailers(headers). `over` resolves
 * once with { end: 'complete' | 'reset' | 'cancelled' | 'connection', code }.
 */
class Stream {
	on = {};
	isOver = false;
	/* the head, and not an interim one, has been sent; has come */
	isBegun = false;
	hasHead = false;
	endSent = false;
	endReceived = false;
	#endpoint;
	#unacknowledged = 0;
	#isPaused = false;
	#resolve;

	constructor(endpoint, id, window) {
		this.#endpoint = endpoint;
		this.id = id;
		this.window = window;
		this.over = new Promise((resolve) => { this.#resolve = resolve; });
	}

	get connection() { return this.#endpoint.connection; }

	interim(fields) {
		if (!this.isOver)
			this.connection.headers(this.id, fields);
	}
	head(fields, { endStream = false } = {}) {
		if (this.isOver)
			return;
		this.isBegun = true;
		this.connection.headers(this.id, fields, { endStream });
		this.#sent(endStream);
	}
	/*
	 * The bytes [at, end) of a body, and with endStream the end of the stream behind them; `bytes` gives n of them from
	 * some place on: (at, n). Resolves when all has left, with false when the stream was over before.
	 */
	send(bytes, at, end, { endStream = false } = {}) {
		if (this.isOver)
			return Promise.resolve(false);
		return new Promise((resolve) => {
			this.pending = { bytes, at, end, endStream, resolve };
			this.#endpoint.pump();
		});
	}
	/* n bytes of what is pending, as one DATA frame. */
	sendFrame(n) {
		const { bytes, at, end, endStream, resolve } = this.pending;
		const isLast = at + n === end;
		this.window -= n;
		this.pending.at += n;
		if (isLast)
			this.pending = undefined;
		this.connection.data(this.id, bytes(at, n), { endStream: isLast && endStream });
		if (!isLast)
			return;
		this.#sent(endStream);
		resolve(true);
	}
	trailers(fields) { this.head(fields, { endStream: true }); }
	reset(code = 'CANCEL') {
		if (this.isOver)
			return;
		this.connection.rst(this.id, code);
		this.finish({ end: 'cancelled', code });
	}

	/* What comes is still taken, but the window stays shut. */
	pause() { this.#isPaused = true; }
	resume() {
		this.#isPaused = false;
		this.#acknowledge();
	}
	#acknowledge() {
		if (this.#isPaused || !this.#unacknowledged || this.isOver || this.endReceived)
			return;
		this.connection.windowUpdate(this.id, this.#unacknowledged);
		this.#unacknowledged = 0;
	}

	receive(f) {
		if (f.type === 'RST_STREAM')
			this.finish({ end: 'reset', code: f.code });
		else if (f.type === 'WINDOW_UPDATE')
			this.window += f.increment;
		else if (f.type === 'HEADERS' && !f.headers[':status']?.startsWith('1'))
			this.#message(f);
		else if (f.type === 'DATA') {
			this.on.data?.(f.data);
			this.#unacknowledged += f.length;
			if (f.endStream)
				this.receiveEnd();
			this.#acknowledge();
		}
	}
	#message(f) {
		const isTrailers = this.hasHead;
		this.hasHead = true;
		(isTrailers ? this.on.trailers : this.on.head)?.(f.headers);
		if (f.endStream)
			this.receiveEnd();
	}
	receiveEnd() {
		this.endReceived = true;
		this.on.end?.();
		this.#settle();
	}
	#sent(endStream) {
		this.endSent ||= endStream;
		this.#settle();
	}
	#settle() {
		if (this.endSent && this.endReceived)
			this.finish({ end: 'complete' });
	}

	finish(how) {
		if (this.isOver)
			return;
		this.isOver = true;
		this.pending?.resolve(false);
		this.pending = undefined;
		this.#endpoint.release(this);
		this.#resolve(how);
	}
}

export class Endpoint {
	streams = new Map();
	isOver = false;
	#frameBytes;
	#on;
	#window = 65535;
	#initialWindow = 65535;
	#next;
	#gone = [];
	#ignoreAbove = Infinity;
	#highest = 0;
	#resolve;

	/*
	 * frameBytes: how many bytes the next DATA frame may have. `on`: stream(stream, headers) for each one the other end
	 * opens, goaway(frame), violation({ violation, trace }). `over` resolves when the connection has gone.
	 */
	constructor(socket, role, { name, settings, huffman = true, frameBytes = () => MAX_FRAME_BYTES, on = {} }) {
		this.#frameBytes = frameBytes;
		this.#on = on;
		this.#next = role === 'client' ? 1 : 2;
		this.over = new Promise((resolve) => { this.#resolve = resolve; });
		this.connection = new Connection(socket, role, {
			name, settings, auto: { window: 'connection' }, onFrame: (f) => this.#receive(f),
			onViolation: (violation) => on.violation?.({ violation, trace: this.connection.trace.slice(-40) }),
		});
		this.connection.encoder.indexing = true;
		this.connection.encoder.huffman = huffman;
		this.socket = socket;
		socket.on('drain', () => this.pump());
		socket.on('close', () => this.#close());
	}

	/* As a client: the stream of a request that has just left. */
	request(fields, { endStream = true } = {}) {
		const stream = this.#open(this.#next);
		stream.head(fields, { endStream });
		return stream;
	}
	/* As an origin: a promised stream. Nothing of it comes back but resets and windows. */
	promise(parent, fields) {
		const id = this.#next;
		this.connection.pushPromise(parent.id, id, fields);
		const stream = this.#open(id);
		stream.endReceived = true;
		return stream;
	}
	#open(id) {
		const stream = new Stream(this, id, this.#initialWindow);
		this.streams.set(id, stream);
		if (id === this.#next)
			this.#next += 2;
		return stream;
	}
	/* As an origin: requests beyond the one that came last are not looked at any more. */
	goaway() {
		this.#ignoreAbove = Math.min(this.#ignoreAbove, this.#highest);
		this.connection.goaway(this.#ignoreAbove);
	}
	/* As an origin: the promised streams whose response has begun. */
	get begunPushes() { return [...this.streams.values()].filter((s) => !(s.id % 2) && s.isBegun); }

	/* A frame of each stream that may send, as long as anything moves and the socket takes it. */
	pump() {
		for (let moved = true; moved;) {
			moved = false;
			for (const stream of this.streams.values()) {
				if (!stream.pending)
					continue;
				if (this.socket.writableNeedDrain || this.socket.destroyed)
					return;
				const left = stream.pending.end - stream.pending.at;
				const n = Math.min(left, stream.window, this.#window, this.#frameBytes());
				if (left > 0 && n <= 0)
					continue;
				this.#window -= n;
				stream.sendFrame(n);
				moved = true;
			}
		}
	}

	#receive(f) {
		if (f.type === 'SETTINGS' && f.values.initialWindowSize !== undefined && !f.ack) {
			for (const stream of this.streams.values())
				stream.window += f.values.initialWindowSize - this.#initialWindow;
			this.#initialWindow = f.values.initialWindowSize;
		} else if (f.type === 'WINDOW_UPDATE' && !f.stream) {
			this.#window += f.increment;
		} else if (f.type === 'GOAWAY') {
			this.#on.goaway?.(f);
		} else if (f.type === 'PUSH_PROMISE') {
			this.#promised(f);
		} else if (f.type === 'HEADERS' && f.headers[':path'] !== undefined) {
			this.#request(f);
		} else if (f.stream) {
			this.streams.get(f.stream)?.receive(f);
		}
		if (f.type === 'SETTINGS' || f.type === 'WINDOW_UPDATE')
			this.pump();
	}
	#promised(f) {
		const stream = this.#open(f.promised);
		stream.endSent = true;
		this.#on.stream?.(stream, f.headers);
	}
	#request(f) {
		if (f.stream > this.#ignoreAbove)
			return;
		this.#highest = Math.max(this.#highest, f.stream);
		const stream = this.#open(f.stream);
		stream.hasHead = true;
		this.#on.stream?.(stream, f.headers);
		if (f.endStream)
			stream.receiveEnd();
	}

	release(stream) {
		this.streams.delete(stream.id);
		const now = Date.now();
		this.#gone.push([now, stream.id]);
		while (this.#gone.length && this.#gone[0][0] < now - FORGET_MS)
			this.connection.forget(this.#gone.shift()[1]);
	}
	#close() {
		this.isOver = true;
		for (const stream of [...this.streams.values()])
			stream.finish({ end: 'connection' });
		this.#resolve();
	}
}
