/* SPDX-License-Identifier: MIT */
/*
 * HTTP/1.1 and HTTP/1.0 for tests, independent of the program: a strict reader, a writer, a raw client, and an origin
 * that records. All text is latin1: one character, one byte.
 *
 *   const { messages, error, partial } = read('request', bytes);   all at once; see Reader for pieces
 *   const bytes = request('POST', '/x', [['host', 'a.test']], { body: 'text' });
 *
 *   const origin = await recordingOrigin();            answers each complete request with 200 and a JSON of what it saw
 *   const origin = await recordingOrigin({ respond: (message, connection) => connection.send(response(204)) });
 *   origin.port; origin.requests; origin.partials; origin.errors; await origin.request('/x'); await origin.close();
 *
 *   const client = await connect1(port, { tls, ca });  or connect1({ unix })
 *   client.request('GET', '/', [['host', 'a.test']]);  writes, and notes which response belongs to it
 *   client.send('GET / HTTP/1.1\r\n…', [{ method: 'GET' }]);   bytes as they are, and what is asked with them
 *   const r = await client.response();                 {status, fields, headers, body, trailers, interim}
 *   await client.over();                               until the connection has ended: client.end is 'clean' or why not
 *
 * A message is {kind, version, method, target | status, reason, fields ([name, value] as sent), headers (names in lower
 * case, values joined by ", "), framing ('none', 'length', 'chunked', 'close'), body, trailers, begin and end (offsets
 * in the stream), refusable: why a careful recipient may refuse this message although it is well formed}. An error is
 * {offset, section, text, statuses}: those that RFC 9110 and 9112 give to a server for its answer.
 */
import assert from 'node:assert/strict';
import net from 'node:net';
import tls from 'node:tls';
import { PATIENCE } from './peer.mjs';

const TCHAR = "!#$%&'*+\\-.^_`|~0-9A-Za-z";
const TOKEN = new RegExp(`^[${TCHAR}]+$`);
const FIELD = new RegExp(`^([${TCHAR}]+):[ \\t]*(.*?)[ \\t]*$`, 's');
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/; /* not allowed in a field value (RFC 9110 5.5) */
const QUOTED = '"(?:[\\t !#-\\[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"';
const EXTENSION = `([ \\t]*);([ \\t]*)[${TCHAR}]+(?:([ \\t]*)=([ \\t]*)(?:[${TCHAR}]+|${QUOTED}))?`;
const CHUNK = new RegExp(`^([0-9A-Fa-f]+)((?:${EXTENSION})*)$`);
const PCHAR = "A-Za-z0-9\\-._~!$&'()*+,;=:@%";
const PATH = new RegExp(`^/[${PCHAR}/?]*$`);
/* Dots alone, or percent-encoding of a byte that no host has: by the grammar of RFC 3986 a host, and none to any program. */
export const NO_HOST = /^\.+(?::|$)|%(?![89A-Fa-f]|2[146-9A-Ea-e]|3[0-9BDbd]|[46][1-9A-Fa-f]|5[0-9AaFf]|7[0-9AaEe])/;
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$/;
/* A message stays the same without these; what stands in them concerns one connection (RFC 9110 7.6.1). */
export const HOP_BY_HOP = ['connection', 'proxy-connection', 'keep-alive', 'te', 'transfer-encoding', 'upgrade', 'http2-settings'];
/* No sender may name these in Connection, or write them into trailers (RFC 9110 6.5.1, 7.6.1). */
export const FRAMING = ['content-length', 'transfer-encoding', 'host'];
/* Whoever names these in Connection wants them away where they have a meaning for every recipient. */
const PROTECTED = ['via', 'max-forwards', 'forwarded', 'expect', 'trailer'];
const OPTIONS_MANY = 30;

const latin1 = (text) => (Buffer.isBuffer(text) ? text : Buffer.from(String(text), 'latin1'));

/* "a, b" and several lines as one list (RFC 9110 5.6.1). `empty`: the list has empty members. */
function list(values) {
	const members = values.join(',').split(',').map((x) => x.replace(/^[ \t]+|[ \t]+$/g, ''));
	return { members: members.filter(Boolean), empty: members.some((x) => !x) };
}

class Fault {
	constructor(offset, section, text, statuses = [400]) { Object.assign(this, { offset, section, text, statuses }); }
}

/*
 * push(bytes) and end() give events: {type: 'head' | 'data' | 'end', message, bytes}. What cannot be read on is `error`;
 * nothing is read behind it. options: asked: a list of {method, version} to which responses belong, may grow;
 * headBytes: the longest head.
 */
export class Reader {
	messages = []; /* complete ones */
	partial = null; /* one that has begun */
	error = null;
	offset = 0; /* of the first byte in #bytes */
	#bytes = Buffer.alloc(0);
	#state = 'start';
	#left = 0; /* of the body or the chunk */
	#parts = [];
	#began = 0;

	constructor(kind, { asked = [], headBytes = 1 << 20 } = {}) {
		this.kind = kind;
		this.asked = asked;
		this.headBytes = headBytes;
	}

	push(bytes) {
		const events = [];
		this.#bytes = this.#bytes.length ? Buffer.concat([this.#bytes, latin1(bytes)]) : latin1(bytes);
		try {
			while (!this.error && this.#step(events));
		} catch (fault) {
			if (!(fault instanceof Fault))
				throw fault;
			this.error = fault;
		}
		return events;
	}

	/* Nothing more comes. Only a response that lasts until then is complete now. */
	end(isClean = true) {
		const events = [];
		if (!this.error && this.#state === 'until close' && isClean)
			this.#finish(events);
		else if (!this.error && (this.partial || this.#bytes.length))
			this.error = new Fault(this.offset + this.#bytes.length, 'RFC 9112 8', `the connection ends in ${this.#state}`, []);
		return events;
	}
	get isIncomplete() { return this.error?.section === 'RFC 9112 8'; }

	#fail(at, section, text, statuses) { throw new Fault(this.offset + at, section, text, statuses); }

	#take(n) {
		const taken = this.#bytes.subarray(0, n);
		this.#bytes = this.#bytes.subarray(n);
		this.offset += n;
		return taken;
	}

	/* The next line without its CRLF, not taken yet; null: it is not here. */
	#line(what) {
		const lf = this.#bytes.indexOf(10);
		const within = lf < 0 ? this.#bytes : this.#bytes.subarray(0, lf);
		const cr = within.indexOf(13);
		if (cr >= 0 && cr < within.length - 1)
			this.#fail(cr, 'RFC 9112 2.2', `bare CR in ${what}`);
		if (lf >= 0 && cr < 0)
			this.#fail(lf, 'RFC 9112 2.2', `bare LF behind ${what}`);
		return lf < 0 ? null : within.subarray(0, lf - 1).toString('latin1');
	}

	#step(events) {
		switch (this.#state) {
		case 'start': return this.#start();
		case 'fields': case 'trailers': return this.#field(events);
		case 'body': case 'chunk': return this.#body(events);
		case 'until close': return this.#data(events, this.#bytes.length);
		case 'chunk size': return this.#chunkSize();
		default: return this.#chunkEnd();
		}
	}

	/* ---- the first line ---- */

	#start() {
		if (!this.#bytes.length)
			return false;
		const line = this.#line('the first line');
		if (line === null)
			return false;
		/* RFC 9112 2.2: an empty line before a request may be there. */
		if (line === '' && this.kind === 'request') {
			this.#take(2);
			this.emptyLines = (this.emptyLines ?? 0) + 1;
			return true;
		}
		this.#began = this.offset;
		const m = this.kind === 'request' ? this.#requestLine(line) : this.#statusLine(line);
		this.partial = { kind: this.kind, ...m, fields: [], trailers: [], begin: this.offset };
		if (this.emptyLines)
			this.partial.refusable = 'empty lines before it';
		this.emptyLines = 0;
		this.#take(line.length + 2);
		this.#state = 'fields';
		return true;
	}

	#requestLine(line) {
		const words = line.split(' ');
		if (words.length !== 3)
			this.#fail(0, 'RFC 9112 3', `${words.length - 1} spaces in the request line`);
		const [method, target, version] = words;
		if (!TOKEN.test(method))
			this.#fail(0, 'RFC 9112 3.1', 'the method is not a token', [400, 501]);
		if (!target || CONTROL.test(target) || /[\t#]/.test(target))
			this.#fail(method.length + 1, 'RFC 9112 3.2', 'a byte that no target has', [400]);
		this.#version(version, line.length - version.length);
		return { method, target, version };
	}

	#statusLine(line) {
		const [, version, status, reason] = /^(\S*) ([1-9][0-9]{2})(?: (.*))?$/s.exec(line) ?? this.#fail(0, 'RFC 9112 4', `status line ${JSON.stringify(line)}`);
		this.#version(version, 0);
		if (reason && CONTROL.test(reason))
			this.#fail(version.length + 5, 'RFC 9112 4', 'control byte in the reason');
		const refusable = reason === undefined ? 'no space behind the status' : Number(status) >= 600 ? 'a status of no class' : undefined;
		return { version, status: Number(status), reason, refusable };
	}

	#version(version, at) {
		if (!/^HTTP\/[0-9]\.[0-9]$/.test(version))
			this.#fail(at, 'RFC 9112 2.3', `version ${JSON.stringify(version)}`, [400, 505]);
		if (version[5] !== '1')
			this.#fail(at, 'RFC 9110 15.6.6', `version ${version}`, [505]);
	}

	/* ---- fields ---- */

	#field(events) {
		const what = this.#state === 'fields' ? 'a field' : 'a trailer';
		const line = this.#line(what);
		if (this.offset - this.#began + (line ?? this.#bytes).length > this.headBytes)
			this.#fail(0, 'RFC 6585 5', 'the head is too long', [431]);
		if (line === null)
			return false;
		if (line === '') {
			this.#take(2);
			if (this.#state === 'fields')
				this.#headEnds(events);
			else
				this.#finish(events);
			return true;
		}
		if (/^[ \t]/.test(line))
			this.#fail(0, 'RFC 9112 5.2', `${what} begins with whitespace`);
		const [, name, value] = FIELD.exec(line) ?? this.#fail(0, 'RFC 9112 5.1', `${what} line ${JSON.stringify(line.slice(0, 80))}`);
		if (CONTROL.test(value))
			this.#fail(name.length + 1, 'RFC 9110 5.5', `control byte in the value of ${name}`);
		if (this.#state === 'trailers' && [...FRAMING, ...HOP_BY_HOP].includes(name.toLowerCase()))
			this.partial.refusable = `${name} in trailers`;
		this.partial[this.#state].push([name, value]);
		this.#take(line.length + 2);
		return true;
	}

	#values(name) { return this.partial.fields.filter(([n]) => n.toLowerCase() === name).map(([, v]) => v); }
	#mayRefuse(why) { this.partial.refusable ??= why; }

	#headEnds(events) {
		const m = this.partial;
		m.headers = {};
		for (const [n, value] of m.fields) {
			const name = n.toLowerCase();
			m.headers[name] = name in m.headers ? `${m.headers[name]}, ${value}` : value;
		}
		if (m.version > 'HTTP/1.1')
			this.#mayRefuse('a later minor version');
		this.#connection(m);
		if (m.kind === 'request')
			this.#host(m);
		this.#framing(m);
		events.push({ type: 'head', message: m });
		this.#state = { none: 'end', length: 'body', chunked: 'chunk size', close: 'until close' }[m.framing];
		if (m.framing === 'none' || (m.framing === 'length' && !this.#left))
			this.#finish(events);
	}

	#connection(m) {
		const { members } = list(this.#values('connection'));
		m.nominated = members.map((x) => x.toLowerCase());
		if (m.nominated.some((x) => FRAMING.includes(x)))
			this.#fail(0, 'RFC 9110 7.6.1', 'Connection names a field of the framing or the routing');
		if (!m.nominated.every((x) => TOKEN.test(x)))
			this.#mayRefuse('Connection is not a list of tokens');
		if (m.nominated.length > OPTIONS_MANY || m.nominated.some((x) => PROTECTED.includes(x)))
			this.#mayRefuse('Connection names what every recipient needs, or very much');
		m.closes = m.nominated.includes('close') || (m.version === 'HTTP/1.0' && !m.nominated.includes('keep-alive'));
	}

	/* RFC 9112 3.2. */
	#host(m) {
		const hosts = this.#values('host');
		if (hosts.length > 1 || (!hosts.length && m.version !== 'HTTP/1.0'))
			this.#fail(0, 'RFC 9112 3.2', `${hosts.length} Host fields`);
		const host = hosts[0] ?? '';
		if (!HOST.test(host))
			this.#fail(0, 'RFC 9110 7.2', `Host ${JSON.stringify(host)}`);
		if (NO_HOST.test(host))
			this.#mayRefuse('Host is no host to any program');
		if (!host || host.startsWith(':') || !Number(/:([0-9]+)$/.exec(host)?.[1] ?? 1) || Number(/:([0-9]+)$/.exec(host)?.[1]) > 65535)
			this.#mayRefuse('Host has no name, or its port is none');
		this.#target(m, host, hosts.length > 0);
	}

	#target(m, host, hasHost) {
		const absolute = /^([A-Za-z][A-Za-z0-9+\-.]*):\/\/([^/?]*)(.*)$/s.exec(m.target);
		if (m.method === 'CONNECT') {
			if (!/:[0-9]+$/.test(m.target) || !HOST.test(m.target))
				this.#fail(0, 'RFC 9112 3.2.3', 'CONNECT without host and port');
			m.form = 'authority';
		} else if (m.target === '*' && m.method === 'OPTIONS') {
			m.form = 'asterisk';
		} else if (m.target.startsWith('/')) {
			m.form = 'origin';
			if (!PATH.test(m.target) || /%(?![0-9A-Fa-f]{2})/.test(m.target))
				this.#mayRefuse('bytes in the target that no URI has');
		} else if (absolute) {
			m.form = 'absolute';
			[, m.scheme, m.authority, m.path] = absolute;
			if (!HOST.test(m.authority) || !m.authority || m.authority.startsWith(':'))
				this.#fail(0, 'RFC 9110 4.2.4', 'no authority, or more than host and port, in the target');
			const same = (x) => x.toLowerCase().replace(/\.(?=:|$)/, '').replace(/:$/, '').replace(m.scheme.toLowerCase() === 'https' ? /:0*443$/ : /:0*80$/, '');
			if (hasHost && same(host) !== same(m.authority))
				this.#fail(0, 'RFC 9112 3.2.2', `Host ${host} disagrees with the target`);
			if (hasHost && host.toLowerCase() !== m.authority.toLowerCase())
				this.#mayRefuse('Host is spelled otherwise than the target');
			if (m.path && !PATH.test(m.path.replace(/^\?/, '/?')))
				this.#mayRefuse('bytes in the target that no URI has');
		} else {
			this.#fail(0, 'RFC 9112 3.2', 'a target of none of the four forms');
		}
	}

	/* RFC 9112 6.3. */
	#framing(m) {
		const codings = this.#values('transfer-encoding');
		const lengths = this.#values('content-length');
		if (codings.length && lengths.length)
			this.#fail(0, 'RFC 9112 6.1', 'Transfer-Encoding together with Content-Length');
		if (codings.length && m.version === 'HTTP/1.0')
			this.#fail(0, 'RFC 9112 6.1', 'Transfer-Encoding in HTTP/1.0');
		if (codings.length)
			this.#codings(m, codings);
		if (lengths.length)
			this.#length(m, lengths);
		m.framing = codings.length ? 'chunked' : lengths.length ? 'length' : 'none';
		if (m.kind === 'response')
			this.#responseFraming(m);
	}

	#codings(m, values) {
		const { members, empty } = list(values);
		const names = members.map((x) => x.toLowerCase());
		if (!names.every((x) => TOKEN.test(x.split(';')[0].trimEnd())))
			this.#fail(0, 'RFC 9112 6.1', 'a transfer coding that is not a token', [400, 501]);
		if (names.at(-1) !== 'chunked' || names.indexOf('chunked') !== names.length - 1)
			this.#fail(0, 'RFC 9112 6.3', 'chunked is not the last transfer coding, once', [400, 501]);
		if (names.length > 1)
			this.#fail(0, 'RFC 9112 6.1', `transfer coding ${names[0]}`, [400, 501]);
		if (empty || values.length > 1)
			this.#mayRefuse('empty members of Transfer-Encoding');
	}

	#length(m, values) {
		const members = values.join(',').split(',').map((x) => x.replace(/^[ \t]+|[ \t]+$/g, ''));
		if (!members.every((x) => /^[0-9]+$/.test(x)))
			this.#fail(0, 'RFC 9110 8.6', `Content-Length ${JSON.stringify(values)}`);
		const numbers = members.map((x) => BigInt(x));
		if (numbers.some((x) => x !== numbers[0]))
			this.#fail(0, 'RFC 9110 8.6', 'Content-Lengths differ');
		if (numbers[0] > 2n ** 63n)
			this.#fail(0, 'RFC 9110 8.6', 'Content-Length is too large', [400, 413]);
		if (members.length > 1)
			this.#mayRefuse('Content-Length more than once');
		this.#left = Number(numbers[0]);
	}

	#responseFraming(m) {
		const bare = m.status < 200 || m.status === 204;
		if (m.status === 101)
			this.#fail(0, 'RFC 9110 15.2.2', 'a 101 that nobody asked for');
		const asked = this.asked[0];
		if (m.status >= 200)
			this.asked.shift();
		else if (asked?.version === 'HTTP/1.0')
			this.#fail(0, 'RFC 9110 15.2', `${m.status} to HTTP/1.0`);
		if (bare && m.framing !== 'none')
			this.#fail(0, 'RFC 9110 8.6', `${m.status} with Content-Length or Transfer-Encoding`);
		if (m.framing === 'chunked' && asked?.version === 'HTTP/1.0')
			this.#fail(0, 'RFC 9112 6.1', 'chunks to HTTP/1.0');
		m.to = asked;
		if (bare || m.status === 304 || asked?.method === 'HEAD')
			m.framing = 'none';
		else if (m.framing === 'none')
			m.framing = 'close';
	}

	/* ---- bodies ---- */

	#data(events, n) {
		if (!n)
			return false;
		const bytes = this.#take(n);
		this.#parts.push(bytes);
		events.push({ type: 'data', message: this.partial, bytes });
		return true;
	}

	#body(events) {
		const n = Math.min(this.#left, this.#bytes.length);
		if (!this.#data(events, n))
			return false;
		this.#left -= n;
		if (this.#left)
			return false;
		if (this.#state === 'chunk')
			this.#state = 'chunk end';
		else
			this.#finish(events);
		return true;
	}

	#chunkSize() {
		const line = this.#line('a chunk size');
		if (line === null)
			return false;
		const [, size, extensions] = CHUNK.exec(line) ?? this.#fail(0, 'RFC 9112 7.1', `chunk size ${JSON.stringify(line.slice(0, 80))}`);
		if (BigInt(`0x${size}`) > 2n ** 60n)
			this.#fail(0, 'RFC 9112 7.1', `chunk size ${size}`, [400, 413]);
		if (/^[ \t]/.test(extensions) || /;[ \t]|[ \t][;=]|=[ \t]/.test(extensions))
			this.#mayRefuse('whitespace in a chunk extension');
		if (size.length > 15)
			this.#mayRefuse('a chunk size of more than 15 digits');
		if (extensions)
			this.partial.extensions = (this.partial.extensions ?? '') + extensions;
		this.#take(line.length + 2);
		this.#left = parseInt(size, 16);
		this.#began = this.offset;
		this.#state = this.#left ? 'chunk' : 'trailers';
		return true;
	}

	#chunkEnd() {
		const end = this.#bytes.subarray(0, 2).toString('latin1');
		if (!'\r\n'.startsWith(end))
			this.#fail(0, 'RFC 9112 7.1', `${JSON.stringify(end)} behind a chunk`);
		if (end.length < 2)
			return false;
		this.#take(2);
		this.#state = 'chunk size';
		return true;
	}

	#finish(events) {
		const m = this.partial;
		m.body = Buffer.concat(this.#parts);
		m.end = this.offset;
		this.#parts = [];
		this.partial = null;
		this.#left = 0;
		this.#state = 'start';
		this.messages.push(m);
		events.push({ type: 'end', message: m });
	}
}

/* All messages in these bytes, behind which nothing comes. */
export function read(kind, bytes, options = {}) {
	const reader = new Reader(kind, options);
	reader.push(bytes);
	reader.end();
	return reader;
}

/* ---- the writer: what it is given, it writes, legal or not ---- */

/*
 * options: body (its Content-Length is added unless the fields say how it is framed), chunks (a list of bodies: sent
 * chunked), trailers, version.
 */
function message(first, fields, { body, chunks, trailers = [] }) {
	const named = (name) => fields.some(([n]) => n.toLowerCase() === name);
	const lines = [first, ...fields.map(([n, v]) => `${n}: ${v}`)];
	const parts = [];
	if (chunks) {
		if (!named('transfer-encoding'))
			lines.push('transfer-encoding: chunked');
		for (const c of chunks)
			parts.push(latin1(`${latin1(c).length.toString(16)}\r\n`), latin1(c), latin1('\r\n'));
		parts.push(latin1(['0', ...trailers.map(([n, v]) => `${n}: ${v}`), '', ''].join('\r\n')));
	} else if (body !== undefined) {
		if (!named('content-length') && !named('transfer-encoding'))
			lines.push(`content-length: ${latin1(body).length}`);
		parts.push(latin1(body));
	}
	return Buffer.concat([latin1(`${lines.join('\r\n')}\r\n\r\n`), ...parts]);
}
const pairs = (fields) => (Array.isArray(fields) ? fields : Object.entries(fields));

export function request(method, target, fields = [], options = {}) {
	return message(`${method} ${target} ${options.version ?? 'HTTP/1.1'}`, pairs(fields), options);
}
export function response(status, fields = [], options = {}) {
	const bare = status < 200 || status === 204 || status === 304 || options.body !== undefined || options.chunks;
	return message(`${options.version ?? 'HTTP/1.1'} ${status} ${options.reason ?? 'Whatever'}`, pairs(fields), bare ? options : { body: '', ...options });
}

/* ---- connections ---- */

/* Waits for what `look` gives; each event of the socket looks again. */
class Waiters {
	#all = new Set();

	look() {
		for (const w of [...this.#all])
			w();
	}
	async until(look, what, timeout = PATIENCE) {
		const at = new Error();
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => {
				this.#all.delete(w);
				reject(new assert.AssertionError({ message: `${typeof what === 'function' ? what() : what}: not within ${timeout} ms\n${at.stack.split('\n').slice(3, 6).join('\n')}` }));
			}, timeout);
			const w = () => {
				const value = look();
				if (value === undefined || value === null || value === false)
					return;
				clearTimeout(timer);
				this.#all.delete(w);
				if (value instanceof Error)
					reject(value);
				else
					resolve(value);
			};
			this.#all.add(w);
			w();
		});
	}
}

/* One end of a connection, and what it has read. `end`: null, 'clean' (FIN; over TLS close_notify before it), or an error's code. */
export class Connection1 {
	end = null;
	chunks = []; /* all that came */
	interim = [];
	responses = []; /* final ones, complete */
	#taken = 0;
	#waiters = new Waiters();

	constructor(socket, kind, { onEvent, onEnd, keep = true } = {}) {
		this.socket = socket;
		this.asked = [];
		this.reader = new Reader(kind, { asked: this.asked });
		socket.setNoDelay?.(true);
		socket.on('data', (bytes) => {
			if (keep)
				this.chunks.push(bytes);
			this.#events(this.reader.push(bytes), onEvent);
		});
		const over = (how) => {
			if (this.end)
				return;
			this.end = how;
			this.#events(this.reader.end(how === 'clean'), onEvent);
			onEnd?.(this);
			this.#waiters.look();
		};
		socket.on('end', () => over('clean'));
		socket.on('error', (error) => over(error.code ?? error.message));
		socket.on('close', () => { over('closed'); this.closed = true; this.#waiters.look(); });
	}

	#events(events, onEvent) {
		for (const e of events) {
			if (e.type === 'end' && e.message.kind === 'response') {
				if (e.message.status < 200)
					this.interim.push(e.message);
				else
					this.responses.push(Object.assign(e.message, { interim: this.interim.splice(0) }));
			}
			onEvent?.(e, this);
		}
		this.#waiters.look();
	}

	get bytes() { return Buffer.concat(this.chunks); }
	get error() { return this.reader.error; }
	#state() {
		return `${this.responses.length} responses, ${this.error ? `error at ${this.error.offset}: ${this.error.text}` : 'no error'}, end ${this.end}`
			+ `\n${JSON.stringify(this.bytes.toString('latin1').slice(-2000))}`;
	}

	/* Bytes as they are. asked: the requests in them, as {method, version}. */
	send(bytes, asked = []) {
		this.asked.push(...asked);
		if (!this.socket.destroyed && this.socket.writable)
			this.socket.write(latin1(bytes));
		return this;
	}
	request(method, target, fields, options = {}) {
		return this.send(request(method, target, fields, options), [{ method, version: options.version ?? 'HTTP/1.1' }]);
	}
	/* Our sending side is over. */
	finish() { this.socket.end(); return this; }
	/* Without FIN: what was sent and not read is lost. */
	abort() { this.socket.resetAndDestroy(); return this; }
	close() { this.socket.destroy(); return this; }

	/* The next final response, complete. */
	response(timeout) {
		return this.#waiters.until(() => {
			if (this.#taken < this.responses.length)
				return this.responses[this.#taken++];
			if (this.error || this.end)
				return new assert.AssertionError({ message: `no response: ${this.#state()}` });
			return null;
		}, () => `a response (${this.#state()})`, timeout);
	}
	until(look, what, timeout) { return this.#waiters.until(() => look(this), () => `${what} (${this.#state()})`, timeout); }
	/* The peer has ended the connection. */
	async over(timeout) {
		await this.#waiters.until(() => this.end, () => `the connection's end (${this.#state()})`, timeout);
		return this;
	}
}

/* options: tls (true or options of tls.connect), ca, servername, host, localAddress, unix, alpn (a list; by default http/1.1). */
export async function connect1(port, options = {}) {
	const { tls: secure, ca, servername = 'localhost', host = '127.0.0.1', localAddress, unix, alpn = ['http/1.1'] } = options;
	const at = { ...(unix ? { path: unix } : { port, host, localAddress }), allowHalfOpen: true };
	const socket = await new Promise((resolve, reject) => {
		const s = secure ? tls.connect({ ...at, ca, servername, ALPNProtocols: alpn, ...(secure === true ? {} : secure) }) : net.connect(at);
		s.once('error', reject);
		s.once(secure ? 'secureConnect' : 'connect', () => { s.off('error', reject); resolve(s); });
	});
	return new Connection1(socket, 'response', options);
}

/* What an origin saw of a request, as text. */
export const seen = (m) => JSON.stringify({ method: m.method, target: m.target, fields: m.fields, body: m.body.toString('latin1'), trailers: m.trailers });

/*
 * An origin that records: requests (complete ones, in order, with .connection), partials (those whose connection ended
 * before), errors (what its strict reader could not read). options: respond(message, connection) for each complete request;
 * onHead(message, connection); tls, port, unix; keep: false does not keep the bytes of connections.
 */
export async function recordingOrigin({ respond, onHead, tls: secure, port = 0, unix, keep = true } = {}) {
	const waiters = new Waiters();
	const origin = { requests: [], partials: [], errors: [], connections: [] };
	const answer = respond ?? ((m, c) => c.send(response(200, [['content-type', 'application/json']], { body: m.method === 'HEAD' ? '' : seen(m) })));
	const onEvent = (e, c) => {
		e.message.connection = c;
		if (e.type === 'head') {
			onHead?.(e.message, c);
		} else if (e.type === 'end') {
			origin.requests.push(e.message);
			answer(e.message, c);
			if (e.message.closes && !respond)
				c.finish();
			waiters.look();
		}
	};
	const onEnd = (c) => {
		if (c.reader.partial)
			origin.partials.push(c.reader.partial);
		if (c.error && !c.reader.isIncomplete)
			origin.errors.push(c.error);
		c.finish();
		waiters.look();
	};
	const welcome = (socket) => {
		const c = new Connection1(socket, 'request', { onEvent, onEnd, keep });
		c.number = origin.connections.push(c);
		waiters.look();
	};
	const half = { allowHalfOpen: true };
	const server = secure ? tls.createServer({ ALPNProtocols: ['http/1.1'], ...secure, ...half }, welcome) : net.createServer(half, welcome);
	server.on('tlsClientError', () => {});
	await new Promise((resolve, reject) => {
		server.once('error', reject);
		server.listen(...(unix ? [unix] : [port, '127.0.0.1']), resolve);
	});
	origin.server = server;
	origin.port = unix ? undefined : server.address().port;
	origin.until = (look, what, timeout) => waiters.until(look, what, timeout);
	/* The first complete request for this target. */
	origin.request = (target, timeout) => waiters.until(() => origin.requests.find((m) => m.target === target),
		() => `a request for ${target}; there are ${origin.requests.map((m) => m.target)}`, timeout);
	/* The n-th connection, from 1, once it is here. */
	origin.connection = (n, timeout) => waiters.until(() => origin.connections[n - 1], `connection ${n}`, timeout);
	origin.close = () => {
		for (const c of origin.connections)
			c.close();
		return new Promise((resolve) => { server.close(resolve); });
	};
	return origin;
}
