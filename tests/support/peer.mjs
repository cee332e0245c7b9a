/* SPDX-License-Identifier: MIT */
/*
 * The scripted HTTP/2 peer, either role, plain or TLS: a test says which frames leave and which
 * must come. Besides, every connection checks by itself what must hold always (windows, stream
 * ids and states, limits, declared lengths); what it finds is in `violations`, and the harness
 * fails the test for it.
 *
 * Frames that nobody waited for stay in the inbox, so the order of `expect` is free; where order
 * matters, compare `seq`.
 */
import assert from 'node:assert/strict';
import net from 'node:net';
import tls from 'node:tls';
import { CODE, FLAG, FrameReader, PREFACE, codeNumber, describe, frame, padded, settingsPayload, u32 } from './frames.mjs';
import { Decoder, Encoder, fieldList } from './hpack.mjs';

export const SCALE = Number(process.env.PUSHGATE_TEST_SLOW ?? 1);
/* Used up by failures alone: it may be long. */
export const PATIENCE = 20000 * SCALE;

const FORBIDDEN = ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'];
const INITIAL_WINDOW = 65535;

export class Connection {
	peerSettings = {};
	violations = [];
	frames = 0;
	received = 0; /* DATA payload bytes, padding not counted */
	/* The checker is of no use once raw bytes have been sent: it cannot know what they opened. */
	checking = true;
	#inbox = [];
	#waiters = [];
	#trace = [];
	#streams = new Map();
	/* of #streams: what counts as concurrent */
	#requests = new Set();
	#pushes = new Set();
	#unacknowledged = [];
	#onFrame;
	#onViolation;
	#held = null;
	#prefaceLeft;
	#reader = new FrameReader();
	#pings = 0;
	#window = INITIAL_WINDOW;
	#local = { initialWindowSize: INITIAL_WINDOW, maxConcurrentStreams: Infinity, enablePush: 1, maxFrameSize: 16384 };
	#takesTunnels = false;
	#lastPeerId = 0;
	#sawPreface;

	/* With onFrame, frames go there instead of the inbox; onViolation hears of each violation when it is seen. */
	constructor(socket, role, { name = role, auto = {}, settings = {}, onFrame, onViolation } = {}) {
		this.socket = socket;
		this.#onFrame = onFrame;
		this.#onViolation = onViolation;
		this.role = role;
		this.name = name;
		this.auto = { settings: true, ping: true, window: true, ...auto };
		this.encoder = new Encoder();
		this.decoder = new Decoder();
		this.begun = Date.now();
		this.closed = false;
		this.ended = false;
		this.preface = new Promise((resolve) => { this.#sawPreface = resolve; });
		this.#prefaceLeft = role === 'origin' ? PREFACE : Buffer.alloc(0);
		socket.setNoDelay?.(true);
		socket.on('data', (chunk) => this.#receive(chunk));
		socket.on('error', (error) => this.#note(`socket error ${error.message}`));
		socket.on('end', () => this.#end('peer closed its side'));
		socket.on('close', () => {
			this.closed = true;
			this.#end('closed');
		});
		if (role === 'client')
			this.write(PREFACE);
		if (settings)
			this.settings(settings);
	}

	/* ---- out ---- */

	write(bytes) {
		if (!this.socket.destroyed && this.socket.writable)
			this.socket.write(bytes);
		return this;
	}

	raw(bytes) {
		this.checking = false;
		this.#note(`-> raw ${bytes.length} bytes ${bytes.subarray(0, 40).toString('hex')}`);
		return this.write(bytes);
	}

	frame(type, flags = 0, stream = 0, payload = Buffer.alloc(0), shown = undefined) {
		const bytes = frame(type, flags, stream, payload);
		const [f] = (() => {
			try {
				return [...new FrameReader().push(bytes)];
			} catch (error) {
				return [];
			}
		})();
		this.#note(`-> ${f ? describe({ ...f, fields: shown }) : `s${stream} ${type} len=${payload.length} (illegal)`}`);
		if (f)
			this.#sent(f);
		return this.write(bytes);
	}

	settings(values = {}, flags = 0) {
		const list = Array.isArray(values) ? values : Object.entries(values);
		this.#unacknowledged.push(list);
		for (const [key, value] of list) {
			if (key === 'headerTableSize')
				this.decoder.limit = Math.max(this.decoder.limit, value);
			if (key === 'initialWindowSize' && value > this.#local.initialWindowSize)
				this.#resizeWindows(value);
			if (key === 'maxConcurrentStreams' && value > this.#local.maxConcurrentStreams)
				this.#local.maxConcurrentStreams = value;
			if (key === 'enablePush' && value === 1)
				this.#local.enablePush = 1;
			if (key === 'enableConnectProtocol' && value === 1)
				this.#takesTunnels = true;
		}
		return this.frame('SETTINGS', flags, 0, settingsPayload(list));
	}

	settingsAck() { return this.frame('SETTINGS', FLAG.ACK); }

	/*
	 * options: endStream, endHeaders (false leaves the block open), padding, priority
	 * ({dependsOn, exclusive, weight}), split ([n, …]: bytes of each fragment, the rest last),
	 * block (bytes instead of fields), and those of Encoder.encode.
	 */
	headers(stream, fields, options = {}) {
		const prefix = options.priority
			? Buffer.concat([
				u32((options.priority.dependsOn ?? 0) | (options.priority.exclusive ? 0x80000000 : 0)),
				Buffer.from([options.priority.weight ?? 15]),
			])
			: Buffer.alloc(0);
		const flags = (options.endStream ? FLAG.END_STREAM : 0) | (options.priority ? FLAG.PRIORITY : 0);
		const entry = this.#stream(stream);
		if (fields) {
			const get = (name) => fieldList(fields).find(([n]) => n === name)?.[1];
			if (this.role === 'client')
				entry.method ??= get(':method');
		}
		return this.#block('HEADERS', flags, stream, prefix, fields, options);
	}

	pushPromise(stream, promised, fields, options = {}) {
		const entry = this.#stream(promised & 0x7fffffff);
		if (fields)
			entry.method = fieldList(fields).find(([n]) => n === ':method')?.[1];
		return this.#block('PUSH_PROMISE', 0, stream, u32(promised), fields, options);
	}

	#block(type, flags, stream, prefix, fields, options) {
		const block = options.block ?? this.encoder.encode(fields, options);
		const shown = fields ? fieldList(fields).map(([name, value]) => ({ name, value: String(value) })) : undefined;
		const parts = [];
		let rest = block;
		for (const size of options.split ?? []) {
			parts.push(rest.subarray(0, size));
			rest = rest.subarray(size);
		}
		parts.push(rest);
		const last = options.endHeaders === false ? 0 : FLAG.END_HEADERS;
		parts.forEach((part, i) => {
			const end = i === parts.length - 1 ? last : 0;
			if (i)
				this.frame('CONTINUATION', end, stream, part);
			else
				this.frame(type, flags | end | (options.padding === undefined ? 0 : FLAG.PADDED), stream,
					padded(Buffer.concat([prefix, part]), options.padding), shown);
		});
		return this;
	}

	continuation(stream, block, { endHeaders = true } = {}) {
		return this.frame('CONTINUATION', endHeaders ? FLAG.END_HEADERS : 0, stream, block);
	}

	data(stream, data = '', { endStream = false, padding } = {}) {
		return this.frame('DATA', (endStream ? FLAG.END_STREAM : 0) | (padding === undefined ? 0 : FLAG.PADDED),
			stream, padded(Buffer.from(data), padding));
	}

	rst(stream, code = 'CANCEL') { return this.frame('RST_STREAM', 0, stream, u32(codeNumber(code))); }
	goaway(lastId, code = 'NO_ERROR', debug = '') {
		return this.frame('GOAWAY', 0, 0, Buffer.concat([u32(lastId), u32(codeNumber(code)), Buffer.from(debug)]));
	}
	windowUpdate(stream, increment) { return this.frame('WINDOW_UPDATE', 0, stream, u32(increment)); }
	priority(stream, { dependsOn = 0, exclusive = false, weight = 15 } = {}) {
		return this.frame('PRIORITY', 0, stream,
			Buffer.concat([u32(dependsOn | (exclusive ? 0x80000000 : 0)), Buffer.from([weight])]));
	}
	ping(payload = 'pingping', { ack = false } = {}) {
		return this.frame('PING', ack ? FLAG.ACK : 0, 0, Buffer.from(payload));
	}

	/* ---- sequences that many tests begin with ---- */

	request(stream, fields = {}, options = {}) {
		const { path = '/', method = 'GET', ...rest } = fields;
		return this.headers(stream, {
			':method': method, ':scheme': this.scheme, ':authority': this.authority, ':path': path, ...rest,
		}, { endStream: true, ...options });
	}

	respond(stream, { status = 200, fields = {}, body, trailers } = {}) {
		this.headers(stream, { ':status': status, ...fields }, { endStream: body === undefined && !trailers });
		if (body !== undefined)
			this.data(stream, body, { endStream: !trailers });
		if (trailers)
			this.headers(stream, trailers, { endStream: true });
		return this;
	}

	/* As the origin: promises `path` on the request that came. */
	push(request, promised, path, extra = {}, options = {}) {
		const { ':method': method = 'GET', ':scheme': scheme = request.headers[':scheme'],
			':authority': authority = request.headers[':authority'], ...rest } = extra;
		return this.pushPromise(request.stream, promised,
			{ ':method': method, ':scheme': scheme, ':authority': authority, ':path': path, ...rest }, options);
	}

	/* ---- in ---- */

	/* The next frame, seen already or still to come, that `matches`. */
	take(matches, what, timeout = PATIENCE) {
		const at = this.#inbox.findIndex(matches);
		if (at >= 0)
			return Promise.resolve(this.#inbox.splice(at, 1)[0]);
		if (this.ended)
			return Promise.reject(this.#failure(`connection is over, waiting for ${what}`));
		return new Promise((resolve, reject) => {
			const waiter = { matches, what, resolve, reject };
			waiter.timer = setTimeout(() => {
				this.#waiters = this.#waiters.filter((w) => w !== waiter);
				reject(this.#failure(`no ${what} within ${timeout} ms`));
			}, timeout);
			/* A standing order must not keep the process alive. */
			if (timeout > 600e3)
				waiter.timer.unref();
			this.#waiters.push(waiter);
		});
	}

	/* expect('HEADERS', {stream: 1}): the filter's members must equal the frame's; a list means any of. */
	expect(type, filter = {}, timeout = PATIENCE) {
		return this.take((f) => f.type === type && matching(f, filter), `${type} ${JSON.stringify(filter)}`, timeout);
	}

	/* Fails when the stream is reset instead. */
	async expectHead(stream, timeout = PATIENCE) {
		const f = await this.take((x) => x.stream === stream && (x.type === 'HEADERS' || x.type === 'RST_STREAM'),
			`HEADERS on ${stream}`, timeout);
		if (f.type === 'RST_STREAM')
			throw this.#failure(`stream ${stream} was reset with ${f.code}, waiting for HEADERS`);
		return f;
	}

	async expectRequest(path, timeout = PATIENCE) {
		return this.take((f) => f.type === 'HEADERS' && f.headers[':path'] !== undefined
			&& (path === undefined || f.headers[':path'] === path), `request${path ? ` for ${path}` : ''}`, timeout);
	}

	async expectPromise(path, timeout = PATIENCE) {
		return this.take((f) => f.type === 'PUSH_PROMISE' && (path === undefined || f.headers[':path'] === path),
			`PUSH_PROMISE${path ? ` for ${path}` : ''}`, timeout);
	}

	async expectReset(stream, code, timeout = PATIENCE) {
		const f = await this.take((x) => x.type === 'RST_STREAM' && x.stream === stream, `RST_STREAM on ${stream}`, timeout);
		this.#isCode(f.code, code, `RST_STREAM on ${stream}`);
		return f;
	}

	async expectGoaway(code, timeout = PATIENCE) {
		const f = await this.take((x) => x.type === 'GOAWAY' && (code === 'NO_ERROR' || x.code !== 'NO_ERROR'), 'GOAWAY', timeout);
		this.#isCode(f.code, code, 'GOAWAY');
		return f;
	}

	#isCode(got, wanted, what) {
		if (wanted !== undefined && ![wanted].flat().includes(got))
			throw this.#failure(`${what} with ${got}, not ${[wanted].flat().join(' or ')}`);
	}

	/* A connection error as the RFC has it: GOAWAY with the code, then the end of the connection. */
	async expectConnectionError(code) {
		const goaway = await this.expectGoaway(code);
		await this.expectClosed();
		return goaway;
	}

	async expectClosed(timeout = PATIENCE) {
		if (this.ended)
			return;
		await new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(this.#failure(`still open after ${timeout} ms`)), timeout);
			this.socket.once('close', () => { clearTimeout(timer); resolve(); });
			this.socket.once('end', () => { clearTimeout(timer); resolve(); });
		});
	}

	/* All of a response: interim heads, final head, body, trailers. A reset fails it. */
	async response(stream, timeout = PATIENCE) {
		const r = { interim: [], body: Buffer.alloc(0), chunks: [] };
		for (let end = false; !end;) {
			const f = await this.take((x) => x.stream === stream && ['HEADERS', 'DATA', 'RST_STREAM'].includes(x.type),
				`rest of the response on ${stream}`, timeout);
			if (f.type === 'RST_STREAM')
				throw this.#failure(`stream ${stream} was reset with ${f.code} in its response`);
			if (f.type === 'DATA')
				r.chunks.push(f.data);
			else if (r.head)
				r.trailers = f.headers;
			else if (f.headers[':status'].startsWith('1'))
				r.interim.push(f);
			else
				r.head = f;
			end = f.endStream;
			r.last = f;
		}
		r.body = Buffer.concat(r.chunks);
		r.status = Number(r.head.headers[':status']);
		r.headers = r.head.headers;
		return r;
	}

	/* When it resolves, the peer has read and acted on all that was sent before. */
	async sync(timeout = PATIENCE) {
		const payload = `sync${String(++this.#pings).padStart(4, '0')}`;
		this.ping(payload);
		await this.take((f) => f.type === 'PING' && f.ack && f.payload.toString() === payload, 'PING acknowledgement', timeout);
		return this;
	}

	/* Nothing of the kind has come and none does before a round trip (or `until`) is over. */
	async expectNone(type, filter = {}, until = undefined) {
		if (until)
			await until();
		if (!this.ended)
			await this.sync();
		const f = this.#inbox.find((x) => x.type === type && matching(x, filter));
		if (f)
			throw this.#failure(`unexpected ${describe(f)}`);
	}

	/* Seen and not yet taken, without waiting. */
	seen(type, filter = {}) { return this.#inbox.filter((f) => f.type === type && matching(f, filter)); }
	/* Forgets what came for a stream. */
	drop(matches) { this.#inbox = this.#inbox.filter((f) => !matches(f)); }

	/* The peer's SETTINGS are here and it has acknowledged ours. */
	async ready() {
		this.first = await this.expect('SETTINGS', { ack: false });
		await this.expect('SETTINGS', { ack: true });
		return this;
	}

	end() { this.socket.end(); return this; }
	/* The same, and waits until the peer has closed too. A client gives up its requests before: it would be answered. */
	async gone() {
		if (this.closed)
			return;
		if (this.role === 'client')
			for (const id of [...this.#streams.keys()].filter((n) => n % 2 === 1))
				this.rst(id, 'CANCEL');
		await new Promise((resolve) => {
			const timer = setTimeout(() => this.close(), 6000 * SCALE);
			this.socket.once('close', () => { clearTimeout(timer); resolve(); });
			this.end();
		});
	}
	close() { this.socket.destroy(); return this; }
	get trace() { return this.#trace; }

	#failure(text) {
		const lines = this.#trace.slice(-80).map((l) => `    ${l}`).join('\n');
		return new assert.AssertionError({ message: `${this.name}: ${text}\n${lines}`, stackStartFn: this.take });
	}

	#note(text) {
		this.#trace.push(`+${String(Date.now() - this.begun).padStart(4)} ms ${text}`);
		if (this.#trace.length > 400)
			this.#trace.splice(0, 200);
	}

	#end(why) {
		if (this.ended)
			return;
		this.ended = true;
		this.#note(why);
		for (const w of this.#waiters.splice(0)) {
			clearTimeout(w.timer);
			w.reject(this.#failure(`${why}, waiting for ${w.what}`));
		}
	}

	#receive(chunk) {
		if (this.#prefaceLeft.length) {
			const n = Math.min(this.#prefaceLeft.length, chunk.length);
			if (!chunk.subarray(0, n).equals(this.#prefaceLeft.subarray(0, n)))
				this.#violation(`preface is ${chunk.subarray(0, 24).toString('latin1')}`);
			this.#prefaceLeft = this.#prefaceLeft.subarray(n);
			if (!this.#prefaceLeft.length)
				this.#sawPreface(this);
			chunk = chunk.subarray(n);
		}
		try {
			for (const f of this.#reader.push(chunk))
				this.#take(f);
		} catch (error) {
			this.#violation(`cannot read what came: ${error.message}`);
			this.socket.destroy();
		}
	}

	#take(f) {
		f.seq = this.frames++;
		if (this.#held) {
			if (f.type !== 'CONTINUATION' || f.stream !== this.#held.stream)
				throw new Error(`${f.type} inside a field block`);
			this.#note(`<- ${describe(f)}`);
			this.#held.parts.push(f.fragment);
			if (!(f.flags & FLAG.END_HEADERS))
				return;
			f = this.#held;
			f.flags |= FLAG.END_HEADERS;
			this.#held = null;
		} else if (f.type === 'HEADERS' || f.type === 'PUSH_PROMISE') {
			f.parts = [f.fragment];
			if (!(f.flags & FLAG.END_HEADERS)) {
				this.#note(`<- ${describe(f)}`);
				this.#held = f;
				return;
			}
		} else if (f.type === 'CONTINUATION') {
			throw new Error('CONTINUATION out of place');
		}
		if (f.parts) {
			f.fields = this.decoder.decode(Buffer.concat(f.parts));
			f.headers = {};
			for (const { name, value } of f.fields)
				f.headers[name] = name in f.headers ? `${f.headers[name]}, ${value}` : value;
		}
		this.#note(`<- ${describe(f)}`);
		if (this.checking)
			this.#check(f);
		this.#react(f);
		if (this.#onFrame) {
			this.#onFrame(f);
			return;
		}
		const at = this.#waiters.findIndex((w) => w.matches(f));
		if (at < 0) {
			this.#inbox.push(f);
			return;
		}
		const [w] = this.#waiters.splice(at, 1);
		clearTimeout(w.timer);
		w.resolve(f);
	}

	#react(f) {
		switch (f.type) {
		case 'SETTINGS':
			if (f.ack) {
				this.#acknowledged(this.#unacknowledged.shift());
				return;
			}
			Object.assign(this.peerSettings, f.values);
			if (f.values.headerTableSize < this.encoder.table.limit)
				this.encoder.resize(f.values.headerTableSize);
			if (this.auto.settings)
				this.settingsAck();
			return;
		case 'PING':
			if (!f.ack && this.auto.ping)
				this.frame('PING', FLAG.ACK, 0, f.payload);
			return;
		case 'DATA':
			this.received += f.data.length;
			if (this.auto.window && f.length) {
				this.windowUpdate(0, f.length);
				if (!f.endStream && this.auto.window !== 'connection')
					this.windowUpdate(f.stream, f.length);
			}
			return;
		}
	}

	#acknowledged(list) {
		if (!list) {
			this.#violation('SETTINGS acknowledged more often than sent');
			return;
		}
		for (const [key, value] of list) {
			if (key === 'headerTableSize')
				this.decoder.limit = value;
			else if (key === 'initialWindowSize')
				this.#resizeWindows(value);
			else if (key in this.#local)
				this.#local[key] = value;
		}
	}

	/* ---- what must hold always ---- */

	#violation(text) {
		this.violations.push(text);
		this.#note(`!! ${text}`);
		this.#onViolation?.(text);
	}

	#stream(id) {
		let s = this.#streams.get(id);
		if (!s) {
			s = { id, window: this.#local.initialWindowSize, bytes: 0 };
			this.#streams.set(id, s);
		}
		return s;
	}

	#resizeWindows(value) {
		for (const s of this.#streams.values())
			s.window += value - this.#local.initialWindowSize;
		this.#local.initialWindowSize = value;
	}

	#sent(f) {
		if (f.type === 'HEADERS') {
			const s = this.#stream(f.stream);
			s.sentEnd ||= f.endStream;
		} else if (f.type === 'DATA' && f.endStream) {
			this.#stream(f.stream).sentEnd = true;
		} else if (f.type === 'PUSH_PROMISE') {
			this.#stream(f.promised);
		} else if (f.type === 'RST_STREAM') {
			this.#stream(f.stream).weReset = true;
		} else if (f.type === 'WINDOW_UPDATE') {
			if (f.stream)
				this.#stream(f.stream).window += f.increment;
			else
				this.#window += f.increment;
		}
		if (this.#streams.has(f.stream))
			this.#settle(this.#streams.get(f.stream));
	}

	/* After each frame that may end a stream. */
	#settle(s) {
		const isReset = s.weReset || s.peerReset;
		if (isReset || s.gotEnd)
			this.#pushes.delete(s);
		if (isReset || (s.gotEnd && s.sentEnd))
			this.#requests.delete(s);
	}

	/* For a long-lived connection: a stream that has been over for so long that nothing can come for it any more. */
	forget(id) { this.#streams.delete(id); }

	#check(f) {
		if (f.length > this.#local.maxFrameSize)
			this.#violation(`${f.type} of ${f.length} bytes`);
		if (f.fields)
			this.#checkFields(f);
		if (f.type === 'SETTINGS') {
			if (this.role === 'client' && f.values.enablePush)
				this.#violation('a server announced ENABLE_PUSH=1');
			return;
		}
		if (f.type === 'PUSH_PROMISE') {
			this.#checkPromise(f);
			return;
		}
		if (!f.stream || f.type === 'PRIORITY_UPDATE' || f.type === 'PRIORITY')
			return;
		const opens = this.role === 'origin' && f.type === 'HEADERS' && f.stream % 2 && !this.#streams.has(f.stream);
		if (opens) {
			if (f.stream <= this.#lastPeerId)
				this.#violation(`request on ${f.stream} after ${this.#lastPeerId}`);
			this.#lastPeerId = f.stream;
		}
		const s = this.#streams.get(f.stream) ?? (opens ? this.#stream(f.stream) : null);
		if (!s) {
			this.#violation(`${f.type} on idle stream ${f.stream}`);
			return;
		}
		if (opens) {
			s.method = f.headers[':method'];
			if (':protocol' in f.headers && !this.#takesTunnels)
				this.#violation(`:protocol on ${f.stream}, which nobody has announced (RFC 8441 3)`);
			this.#requests.add(s);
			if (this.#requests.size > this.#local.maxConcurrentStreams)
				this.#violation(`${this.#requests.size} requests at a time, allowed ${this.#local.maxConcurrentStreams}`);
		}
		if (f.type === 'HEADERS' || f.type === 'DATA')
			this.#checkMessage(f, s);
		else if (f.type === 'RST_STREAM')
			s.peerReset = true;
		this.#settle(s);
	}

	#checkPromise(f) {
		if (this.role !== 'client')
			this.#violation('PUSH_PROMISE from a client');
		if (f.promised % 2 || f.promised <= this.#lastPeerId)
			this.#violation(`promised ${f.promised} after ${this.#lastPeerId}`);
		this.#lastPeerId = f.promised;
		const parent = this.#streams.get(f.stream);
		if (!parent || !(f.stream % 2) || parent.gotEnd || parent.peerReset)
			this.#violation(`promise on stream ${f.stream}, which is not open`);
		if (this.#local.enablePush === 0)
			this.#violation('promise although ENABLE_PUSH=0 is acknowledged');
		const s = this.#stream(f.promised);
		s.pushed = true;
		s.method = f.headers[':method'];
	}

	#checkMessage(f, s) {
		if (s.gotEnd || s.peerReset)
			this.#violation(`${f.type} on ${f.stream} after its end`);
		if (f.type === 'DATA') {
			if (!s.gotHead)
				this.#violation(`DATA before HEADERS on ${f.stream}`);
			s.window -= f.length;
			this.#window -= f.length;
			s.bytes += f.data.length;
			if (f.length && (s.window < 0 || this.#window < 0))
				this.#violation(`window overrun on ${f.stream}: stream ${s.window}, connection ${this.#window}`);
		} else if (!s.gotHead && !f.headers[':status']?.startsWith('1')) {
			s.gotHead = true;
			s.status = f.headers[':status'];
			s.length = f.headers['content-length'];
			if (s.pushed && !s.weReset) {
				this.#pushes.add(s);
				if (this.#pushes.size > this.#local.maxConcurrentStreams)
					this.#violation(`${this.#pushes.size} pushed responses at a time, allowed ${this.#local.maxConcurrentStreams}`);
			}
		} else if (s.gotHead && s.method === 'CONNECT' && this.role === 'origin') {
			this.#violation(`HEADERS behind the head of a CONNECT on ${f.stream} (RFC 9113 8.5)`);
		}
		if (f.endStream) {
			s.gotEnd = true;
			const bodyless = this.role === 'client' && (s.method === 'HEAD' || s.status === '304');
			if (s.length !== undefined && Number(s.length) !== s.bytes && !bodyless)
				this.#violation(`normal end of ${f.stream} after ${s.bytes} bytes of ${s.length}`);
		}
	}

	#checkFields(f) {
		let regular = false;
		for (const { name, value } of f.fields) {
			if (name !== name.toLowerCase() || FORBIDDEN.includes(name) || /[\r\n\0]/.test(value))
				this.#violation(`field ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
			if (name.startsWith(':') && regular)
				this.#violation(`${name} behind a regular field`);
			regular ||= !name.startsWith(':');
		}
	}
}

function matching(f, filter) {
	return Object.entries(filter).every(([key, value]) =>
		typeof value === 'function' ? value(f[key], f) : [value].flat().includes(f[key]));
}

/*
 * As a client. options: tls (true or options of tls.connect), ca, servername, settings (false =
 * none yet: the test sends them), auto, name, authority, host, unix (the path of a socket, instead of the port).
 */
export async function connect(port, options = {}) {
	const { tls: secure, ca, servername = 'localhost', host = '127.0.0.1', localAddress, unix } = options;
	const at = unix ? { path: unix } : { port, host, localAddress };
	const socket = await new Promise((resolve, reject) => {
		const s = secure
			? tls.connect({ ...at, ca, servername, ALPNProtocols: ['h2'], ...(secure === true ? {} : secure) })
			: net.connect(at);
		s.once('error', reject);
		s.once(secure ? 'secureConnect' : 'connect', () => {
			s.off('error', reject);
			resolve(s);
		});
	});
	const c = new Connection(socket, 'client', { name: 'client', ...options });
	c.scheme = secure ? 'https' : 'http';
	c.authority = options.authority ?? `localhost:${port}`;
	return c;
}

/*
 * As an origin. options: tls ({key, cert}), settings, auto, name. accept() gives the connections in order, each
 * once its preface is here.
 */
export async function listen(options = {}) {
	const { tls: secure, name = 'origin', port = 0 } = options;
	const connections = [];
	const ready = [];
	const waiting = [];
	const welcome = (socket) => {
		const c = new Connection(socket, 'origin', { ...options, name: `${name}#${connections.length + 1}` });
		connections.push(c);
		c.preface.then(() => {
			const w = waiting.shift();
			if (w)
				w(c);
			else
				ready.push(c);
		});
	};
	const server = secure
		? tls.createServer({ ALPNProtocols: ['h2'], ...secure }, welcome)
		: net.createServer(welcome);
	server.on('tlsClientError', () => {});
	await new Promise((resolve, reject) => {
		server.once('error', reject);
		server.listen(port, '127.0.0.1', resolve);
	});
	return {
		server,
		connections,
		port: server.address().port,
		/* What later connections are greeted with. */
		options,
		async accept(timeout = PATIENCE) {
			if (ready.length)
				return ready.shift();
			return new Promise((resolve, reject) => {
				const timer = setTimeout(() => reject(new assert.AssertionError({ message:
					`${name}: no connection within ${timeout} ms, ${connections.length} so far\n${
						connections.flatMap((c) => c.trace).slice(-60).join('\n')}` })), timeout);
				if (timeout > 600e3)
					timer.unref();
				waiting.push((c) => { clearTimeout(timer); resolve(c); });
			});
		},
		/* Ends the connections that there are, in good order, and forgets them. */
		async clear() {
			await Promise.all(connections.map((c) => c.gone()));
			connections.length = ready.length = 0;
		},
		close() {
			for (const c of connections)
				c.close();
			return new Promise((resolve) => server.close(resolve));
		},
	};
}

export { CODE };
