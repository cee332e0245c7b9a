/* SPDX-License-Identifier: MIT */
/*
 * Smuggling through tunnels: plays vectors (smuggle_forms_tunnel.mjs) through a gate, and judges what a recording origin
 * saw. Each vector has a number n in its targets; the bytes that a client sends behind its request for a tunnel are
 * themselves a request, for /evil/n…n. Until a tunnel is open no origin may see any of them. Once one is open they are
 * bytes of the tunnel, all of them, in order. Otherwise no origin ever sees them.
 *
 * How a vector may end (`want`, a list; each of these has checks of its own):
 *   tunnel     opened: 101 in HTTP/1.1, 200 in HTTP/2; both directions carry what was sent, and their ends
 *   ordinary   answered by the origin, as a request without Upgrade; what came behind it is dropped
 *   plain      the same, of a request that asks for no tunnel: what comes behind it is a request
 *   refused    answered by the gate; the origin has seen `seen` requests at most (0)
 *   reset      HTTP/2: RST_STREAM
 *   passed     the origin's own refusal, as it is
 *   cut        the connection ended, or the stream was reset, within an answer
 */
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import net from 'node:net';
import { Endpoint } from './endpoint.mjs';
import { sleep } from './gate.mjs';
import { Reader, read, response } from './http1.mjs';
import { SCALE } from './peer.mjs';
import { roundTrip, spread } from './smuggle.mjs';
import { evilTarget, numberOf } from './smuggle_forms.mjs';

const latin1 = (text) => Buffer.from(text, 'latin1');
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
export const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
export const acceptOf = (key) => crypto.createHash('sha1').update(key + GUID).digest('base64');
/* So long an origin thinks about a request for a tunnel: what may not come before its answer has time to come. */
const THOUGHT = 25;
const PATIENCE = 15000 * SCALE;

/* What an origin says first in a tunnel. */
export const greeting = (target) => `hello ${target}\r\n`;

/* ---- messages and then a tunnel ---- */

/* Reads messages until `pause` is called with one; what comes from then on is in `rest`. */
class Talk {
	rest = Buffer.alloc(0);
	isTunnel = false;
	error = null;

	constructor(kind, onMessage, asked = []) {
		this.kind = kind;
		this.onMessage = onMessage;
		this.reader = new Reader(kind, { asked });
	}

	push(bytes) {
		this.rest = this.rest.length ? Buffer.concat([this.rest, bytes]) : bytes;
		while (!this.isTunnel && !this.error && this.rest.length) {
			/* Heads are given to the reader one by one, so that it does not read on behind the one that matters. */
			const end = this.reader.partial ? this.rest.length : this.rest.indexOf('\r\n\r\n') + 4;
			if (end < 4)
				return;
			const part = this.rest.subarray(0, end);
			this.rest = this.rest.subarray(end);
			if (this.kind === 'response' && !this.reader.partial && /^HTTP\/1\.1 101/.test(part.subarray(0, 12).toString('latin1')))
				this.#switch(part);
			else
				this.#read(part);
		}
	}
	#read(part) { this.#take(this.reader.push(part)); }
	#take(events) {
		for (const e of events)
			if (e.type === 'end')
				this.onMessage(e.message);
		this.error = this.reader.error;
	}
	/* A response may last until here. */
	end() {
		if (!this.isTunnel && !this.error)
			this.#take(this.reader.end());
		if (this.reader.isIncomplete)
			this.error = null;
	}
	/* The strict reader knows no 101: it reads one as a 100, which has the same rules. */
	#switch(part) {
		const { messages: [m], error } = read('response', latin1(part.toString('latin1').replace('101', '100')), { asked: [{ method: 'GET', version: 'HTTP/1.1' }] });
		this.error = error;
		if (!error)
			this.onMessage({ ...m, status: 101 });
	}
}

const asksForTunnel = (m) => m.nominated.includes('upgrade') && m.headers.upgrade !== undefined;

/* ---- origins ---- */

class Record {
	#byNumber = new Map();
	of(n) {
		if (!this.#byNumber.has(n))
			this.#byNumber.set(n, { requests: [], tunnels: [] });
		return this.#byNumber.get(n);
	}
}

/* One tunnel, or one request for it, at an origin. early: what came before its answer. */
class Opening {
	constructor(target) { this.target = target; }
	early = Buffer.alloc(0);
	bytes = Buffer.alloc(0);
	isOpen = false;
	isOver = false;
	end = null; /* 'fin', 'reset' */

	take(bytes) {
		if (this.isOpen)
			this.bytes = Buffer.concat([this.bytes, bytes]);
		else
			this.early = Buffer.concat([this.early, bytes]);
	}
}

/*
 * An origin of HTTP/1.1. Answers requests with their target, and those for tunnels by opening them, with a greeting and
 * an echo; or as answers(n) says: a function (line, message) that may call line.write, line.open, line.finish.
 */
export async function tunnelOrigin1({ answers = () => null, thought = THOUGHT } = {}) {
	const record = new Record();
	const lines = [];
	const server = net.createServer({ allowHalfOpen: true }, (socket) => {
		const line = { socket, outside: [], opening: null };
		lines.push(line);
		line.write = (bytes) => { if (!socket.destroyed && socket.writable) socket.write(latin1(bytes)); };
		line.finish = () => socket.end();
		line.open = (head) => {
			line.write(head);
			line.opening.isOpen = true;
		};
		/* The request for a tunnel was refused: requests may follow. */
		line.refuse = () => { line.opening = line.onTunnel = line.onTunnelEnd = null; line.talk.isTunnel = false; };
		const talk = new Talk('request', (m) => take1(record, line, talk, m, answers, thought));
		line.talk = talk;
		socket.setNoDelay(true);
		socket.on('data', (bytes) => {
			if (line.opening)
				line.opening.take(bytes);
			if (!line.opening?.isOpen)
				line.outside.push(bytes);
			if (line.opening)
				line.onTunnel?.(bytes);
			else
				talk.push(bytes);
		});
		socket.on('end', () => { line.opening && (line.opening.end ??= 'fin'); line.onTunnelEnd?.(); if (!line.opening) socket.end(); });
		socket.on('error', () => { line.opening && (line.opening.end ??= 'reset'); });
		socket.on('close', () => { line.opening && (line.opening.end ??= 'reset'); });
	});
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	return {
		record, lines, version: 1, server: `http://127.0.0.1:${server.address().port}`,
		/* Of which vectors the hidden request came, outside of a tunnel. */
		evil: () => lines.flatMap((l) => [...Buffer.concat(l.outside).toString('latin1').matchAll(/\/evil\/n(\d+)n/g)].map(([, n]) => Number(n))),
		check: () => assert.deepEqual(lines.map((l) => l.talk.error?.text).filter(Boolean), [], 'the origin got what is no HTTP/1.1'),
		close: () => new Promise((resolve) => {
			lines.forEach((l) => l.socket.destroy());
			server.close(resolve);
		}),
	};
}

function take1(record, line, talk, m, answers, thought) {
	const n = numberOf(m.target);
	const own = record.of(n);
	own.requests.push({ method: m.method, target: m.target, protocol: asksForTunnel(m) ? m.headers.upgrade : null, headers: m.headers, fields: m.fields, body: m.body });
	const special = answers(n, own.requests.at(-1));
	if (!asksForTunnel(m)) {
		if (special)
			special(line, m);
		else
			line.write(response(200, [['X-Path', m.target]], { body: m.method === 'HEAD' ? undefined : m.target }).toString('latin1'));
		return;
	}
	line.opening = new Opening(m.target);
	own.tunnels.push(line.opening);
	/* What came in the same segment as the head came too early. */
	talk.isTunnel = true;
	line.opening.take(talk.rest);
	setTimeout(() => (special ?? echo1)(line, m), thought);
}

function echo1(line, m) {
	const accept = m.headers['sec-websocket-key'] ? `Sec-WebSocket-Accept: ${acceptOf(m.headers['sec-websocket-key'])}\r\n` : '';
	line.onTunnel = (bytes) => line.write(bytes.toString('latin1'));
	line.onTunnelEnd = () => line.finish();
	line.open(`HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: ${m.headers.upgrade}\r\n${accept}\r\n${greeting(m.target)}`);
	if (line.opening.end)
		line.finish();
}

/* The same over HTTP/2. `announces`: SETTINGS_ENABLE_CONNECT_PROTOCOL. answers: functions (stream, headers). */
export async function tunnelOrigin2({ answers = () => null, announces = true, thought = THOUGHT } = {}) {
	const record = new Record();
	const lines = [];
	const found = [];
	const violations = [];
	const server = net.createServer((socket) => {
		lines.push(new Endpoint(socket, 'origin', {
			name: 'origin', settings: { maxConcurrentStreams: 1000, ...(announces ? { enableConnectProtocol: 1 } : {}) },
			on: { stream: (stream, headers) => take2(record, stream, headers, answers, thought, found), violation: ({ violation }) => violations.push(violation) },
		}));
	});
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	return {
		record, lines, version: 2, server: `h2c://127.0.0.1:${server.address().port}`,
		evil: () => found,
		check: () => assert.deepEqual(violations, []),
		close: () => new Promise((resolve) => {
			lines.forEach((l) => l.socket.destroy());
			server.close(resolve);
		}),
	};
}

/* Sends what it is given, in order. */
function writer(stream) {
	let left = Buffer.alloc(0);
	let ends = false, busy = false, ended = false;
	const go = async () => {
		if (busy || ended || (!left.length && !ends))
			return;
		busy = true;
		const bytes = left;
		const endStream = ended = ends;
		left = Buffer.alloc(0);
		await stream.send((at, n) => bytes.subarray(at, at + n), 0, bytes.length, { endStream });
		busy = false;
		if (!endStream)
			go();
	};
	return { write(bytes) { left = Buffer.concat([left, latin1(bytes)]); go(); }, end() { ends = true; go(); } };
}

function take2(record, stream, headers, answers, thought, found) {
	const target = headers[':path'];
	const n = numberOf(target);
	const own = record.of(n);
	const isTunnel = headers[':protocol'] !== undefined;
	const request = { method: isTunnel ? 'GET' : headers[':method'], target, protocol: headers[':protocol'] ?? null, headers, fields: Object.entries(headers), body: Buffer.alloc(0) };
	own.requests.push(request);
	if (target.startsWith('/evil/'))
		found.push(n);
	const special = answers(n, request);
	if (!isTunnel) {
		stream.on.data = (data) => { request.body = Buffer.concat([request.body, data]); };
		stream.on.end = () => {
			if (special) {
				special(stream, headers);
				return;
			}
			stream.head({ ':status': 200, 'x-path': target }, { endStream: headers[':method'] === 'HEAD' });
			if (headers[':method'] !== 'HEAD')
				stream.send((at, k) => latin1(target).subarray(at, at + k), 0, target.length, { endStream: true });
		};
		return;
	}
	const opening = new Opening(target);
	const out = writer(stream);
	own.tunnels.push(opening);
	stream.opening = opening;
	stream.on.data = (data) => { opening.take(data); if (opening.isOpen && !special) out.write(data.toString('latin1')); };
	stream.on.end = () => { opening.end ??= 'fin'; if (opening.isOpen && !special) out.end(); };
	stream.over.then((how) => { opening.end ??= how.end === 'complete' ? 'fin' : 'reset'; });
	setTimeout(() => {
		if (special) {
			special(stream, headers, out);
			return;
		}
		opening.isOpen = true;
		stream.head({ ':status': 200 });
		out.write(greeting(target));
		if (opening.end)
			out.end();
	}, thought);
}

/* ---- clients ---- */

/* What a client got. tunnel: the bytes behind the 101 or the 200, null while there is no such. */
class Got {
	responses = [];
	interim = [];
	tunnel = null;
	end = null; /* of the connection, or of the stream: 'clean', or what else */
	reset = null;
	goaway = null; /* of an error */
	cut = false;
	error = null;
	look = () => {};

	get final() { return this.responses.at(-1) ?? null; }
	until(condition) {
		return new Promise((resolve) => {
			const timer = setTimeout(resolve, PATIENCE);
			this.look = () => { if (condition()) { clearTimeout(timer); resolve(); } };
			this.look();
		});
	}
}

async function ask1(v, n, port) {
	const got = new Got();
	const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
	const head = v.head(n);
	const behind = latin1(v.behind(n));
	const asked = [...(v.before ? [{ method: 'GET', version: 'HTTP/1.1' }] : []), { method: v.method ?? /^\S*/.exec(head)[0], version: 'HTTP/1.1' }];
	/* of what comes behind, should it be taken for requests */
	asked.push({ method: 'GET', version: 'HTTP/1.1' }, { method: 'GET', version: 'HTTP/1.1' });
	const talk = new Talk('response', (m) => {
		if (m.status === 101)
			talk.isTunnel = true;
		(m.status < 200 && m.status !== 101 ? got.interim : got.responses).push(m);
	}, asked);
	const update = () => {
		got.tunnel = talk.isTunnel ? talk.rest : null;
		got.error = talk.error?.text ?? null;
		got.look();
	};
	socket.setNoDelay(true);
	socket.on('data', (bytes) => { talk.push(bytes); update(); });
	socket.on('end', () => { got.end ??= 'clean'; got.cut = talk.reader.partial !== null && talk.reader.partial.framing !== 'close'; talk.end(); update(); });
	socket.on('error', (e) => { got.end ??= e.code; update(); });
	socket.on('close', () => { got.end ??= 'closed'; got.cut ||= talk.reader.partial !== null || (!talk.isTunnel && talk.rest.length > 0); update(); });
	await new Promise((resolve) => { socket.once('connect', resolve); socket.once('error', resolve); });
	const first = v.before?.(n) ?? '';
	const answered = () => got.responses.length > (first ? 1 : 0) || got.end !== null;
	const put = (bytes) => { if (!socket.destroyed && socket.writable) socket.write(bytes); };
	if (v.when === 'glued') {
		put(Buffer.concat([latin1(first + head), behind]));
	} else if (v.when === 'split') {
		put(latin1(first + head));
		await sleep(5);
		put(behind.subarray(0, 7));
		await sleep(2);
		put(behind.subarray(7));
	} else {
		put(latin1(first + head));
		await got.until(answered);
		put(behind);
	}
	if (v.isPlain)
		put(latin1(v.last(n)));
	/* The end of the client's direction before any answer. */
	if (v.ends)
		socket.end();
	await got.until(answered);
	if (got.tunnel !== null) {
		await got.until(() => got.end !== null || got.tunnel.length >= v.comes(n, behind).length);
		socket.end();
	}
	await got.until(() => got.end !== null);
	socket.destroy();
	if (first)
		assert.equal(got.responses.shift()?.headers['x-path'], v.firstTarget(n), 'the answer to the request before it');
	return { got, behind };
}

async function ask2(v, n, port) {
	const got = new Got();
	const socket = await new Promise((resolve, reject) => {
		const s = net.connect(port, '127.0.0.1', () => resolve(s));
		s.once('error', reject);
	});
	const client = new Endpoint(socket, 'client', { name: 'client', settings: { initialWindowSize: 1 << 20 }, on: {
		goaway(f) { got.goaway = f.code === 'NO_ERROR' ? null : f.code; },
	} });
	client.connection.checking = false;
	const behind = latin1(v.behind(n));
	const { fields, endStream = false, trailers } = v.request(n);
	const stream = client.request(fields, { endStream });
	const update = () => {
		got.tunnel = v.asksForTunnel && got.final && got.final.status < 300 ? got.final.body : null;
		got.look();
	};
	stream.on.head = (headers) => {
		got.responses.push({ status: Number(headers[':status']), headers, fields: Object.entries(headers), body: Buffer.alloc(0) });
		update();
	};
	stream.on.data = (bytes) => { got.final.body = Buffer.concat([got.final.body, bytes]); update(); };
	stream.on.end = () => { got.end ??= 'clean'; update(); };
	stream.over.then(({ end, code }) => {
		if (end === 'reset')
			got.reset = code;
		got.end ??= end === 'complete' ? 'clean' : code ?? end;
		update();
	});
	const answered = () => got.responses.length > 0 || got.end !== null;
	const put = (bytes, end) => stream.send((at, k) => bytes.subarray(at, at + k), 0, bytes.length, { endStream: end });
	const mayEnd = !endStream && !trailers;
	if (v.when === 'late')
		await got.until(answered);
	if (!endStream) {
		/* The end waits for the answer, unless it is to come before. */
		if (behind.length)
			await put(behind.subarray(0, 7), false);
		if (behind.length > 7 || v.ends)
			put(behind.subarray(7), mayEnd && !!v.ends);
	}
	if (trailers)
		stream.trailers(trailers);
	await got.until(answered);
	if (got.tunnel !== null)
		await got.until(() => got.end !== null || got.tunnel.length >= v.comes(n, behind).length);
	if (mayEnd && !v.ends && !stream.isOver)
		put(Buffer.alloc(0), true);
	await got.until(() => got.end !== null && (got.end !== 'clean' || stream.isOver || v.isAnswer));
	/* Whether the connection is still of use. */
	await sleep(1);
	got.cut = got.end !== 'clean' && got.responses.length > 0;
	socket.destroy();
	return { got, behind };
}

/* ---- judging ---- */

function outcomeOf(v, got) {
	const r = v.isPlain ? got.responses[0] : got.final;
	if (!r)
		return got.reset !== null && got.end !== 'clean' ? 'reset' : 'cut';
	if (got.tunnel !== null)
		return 'tunnel';
	if (r.status >= 400 && r.headers['proxy-status'] !== undefined && r.headers['x-path'] === undefined)
		return 'refused';
	if (got.cut)
		return 'cut';
	if (r.status >= 300 || v.isAnswer)
		return 'passed';
	return v.isPlain ? 'plain' : 'ordinary';
}

const isKey = (key) => /^[A-Za-z0-9+/]{22}==$/.test(key) && Buffer.from(key, 'base64').length === 16;

/* A request for a tunnel, at the origin. */
function checkOpening(v, n, request, key) {
	assert.equal(request.method, 'GET');
	assert.equal(request.target, v.target(n));
	assert.equal(request.protocol?.toLowerCase(), v.protocol ?? 'websocket', 'another protocol at the origin');
	for (const name of ['sec-websocket-accept', 'http2-settings', 'transfer-encoding', 'content-length'])
		assert.equal(request.headers[name], undefined, `${name} at the origin`);
	const keys = request.fields.filter(([name]) => name.toLowerCase() === 'sec-websocket-key').map(([, value]) => value);
	if (request.headers[':protocol'] !== undefined || (v.protocol ?? 'websocket') !== 'websocket') {
		assert.deepEqual(keys, [], 'a key where none has a meaning');
		return;
	}
	assert.equal(keys.length, 1, `${keys.length} keys at the origin`);
	assert.ok(isKey(keys[0]), `the key ${keys[0]}`);
	assert.notEqual(keys[0], key, 'the client\'s own key at the origin');
}

const show = (bytes) => JSON.stringify(bytes.toString('latin1').slice(0, 300));
function same(got, wanted, what) {
	assert.ok(got.equals(wanted), `${what}: ${got.length} bytes of ${wanted.length}: ${show(got)} instead of ${show(wanted)}`);
}

const checks = {
	tunnel(v, n, { got, behind }, seen) {
		const r = got.final;
		assert.equal(got.responses.length, 1, 'more than one answer');
		assert.equal(seen.requests.length, 1, `${seen.requests.length} requests at the origin`);
		if (!v.isAnswer)
			checkOpening(v, n, seen.requests[0], v.key);
		assert.equal(seen.tunnels.length, 1);
		const [t] = seen.tunnels;
		same(t.bytes, behind, 'at the origin');
		same(got.tunnel, v.comes(n, behind), 'at the client');
		assert.equal(got.end, 'clean', 'how the tunnel ended');
		if (!v.isAnswer)
			assert.equal(t.end, 'fin', 'how it ended at the origin');
		for (const name of ['content-length', 'transfer-encoding'])
			assert.equal(r.headers[name], undefined, `${name} in the answer`);
		const accepts = r.fields.filter(([name]) => name.toLowerCase() === 'sec-websocket-accept').map(([, value]) => value);
		if (r.status !== 101) {
			assert.deepEqual(accepts, [], 'an accept in HTTP/2');
			return;
		}
		assert.match(r.headers.connection, /^upgrade$/i);
		assert.equal(r.headers.upgrade.toLowerCase(), v.protocol ?? 'websocket');
		assert.deepEqual(accepts, (v.protocol ?? 'websocket') === 'websocket' ? [acceptOf(v.key)] : [], 'the accept');
	},
	ordinary(v, n, { got }, seen) {
		assert.equal(got.responses.length, 1, 'more than one answer');
		assert.equal(got.final.status, 200);
		assert.equal(got.final.headers['x-path'], v.target(n), 'the answer to something else');
		assert.equal(seen.requests.length, 1, `${seen.requests.length} requests at the origin`);
		const [request] = seen.requests;
		assert.equal(request.protocol, null);
		for (const name of ['upgrade', 'http2-settings', 'sec-websocket-accept'])
			assert.equal(request.headers[name], undefined, `${name} at the origin`);
		assert.equal(seen.tunnels.length, 0);
	},
	plain(v, n, { got }, seen) {
		const targets = got.responses.map((r) => r.headers['x-path'] ?? r.status);
		const wanted = v.then?.(n) ?? [v.target(n), evilTarget(n), `/last/n${n}n`];
		assert.deepEqual(targets, wanted, 'each request with its own answer');
		assert.deepEqual(seen.requests.map((r) => r.target).sort(), wanted.filter((t) => typeof t === 'string').sort());
		assert.ok(seen.requests.every((r) => r.protocol === null && r.headers.upgrade === undefined));
	},
	refused(v, n, { got }, seen) {
		const r = got.final;
		assert.equal(got.responses.length, 1, 'more than one answer');
		assert.ok(!v.statuses || v.statuses.includes(r.status), `status ${r.status}, not ${v.statuses}: ${r.headers['proxy-status']}`);
		assert.ok(seen.requests.length <= (v.seen ?? 0), `${seen.requests.length} requests at the origin, at most ${v.seen ?? 0}`);
		if (!r.headers[':status'])
			assert.match(r.headers.connection ?? '', /\bclose\b/, `no Connection: close in a ${r.status}`);
	},
	reset(v, n, { got }, seen) {
		assert.ok((v.codes ?? ['PROTOCOL_ERROR']).includes(got.reset), `reset with ${got.reset}`);
		assert.equal(got.goaway, null, 'the connection ended too');
		assert.ok(seen.requests.length <= (v.seen ?? 0), `${seen.requests.length} requests at the origin`);
	},
	passed(v, n, { got }, seen) {
		assert.equal(got.responses.length, 1, 'more than one answer');
		assert.equal(got.final.status, v.status, `status ${got.final.status}`);
		if (!v.anyBody)
			assert.equal(got.final.body.toString('latin1'), v.body ?? '', 'its body');
		assert.equal(got.final.headers['sec-websocket-accept'], undefined);
		/* The connection may have been one that the origin had just ended: it is asked once more. */
		assert.ok(seen.requests.length >= 1 && seen.requests.length <= 2, `${seen.requests.length} requests at the origin`);
	},
	cut() {},
};

function judge(v, n, played, seen, evil) {
	const { got } = played;
	assert.equal(got.error, null, `an answer is no HTTP/1.1: ${got.error}`);
	const outcome = outcomeOf(v, got);
	const words = () => `${outcome} (${got.responses.map((r) => `${r.status} ${r.headers['proxy-status'] ?? ''}`)}; end ${got.end}; reset ${got.reset})`;
	assert.ok(v.want.includes(outcome), `${words()}, not ${v.want}`);
	for (const t of seen.tunnels)
		assert.equal(t.early.length, 0, `${t.early.length} bytes at the origin before its answer: ${show(t.early)}`);
	if (outcome !== 'plain' && !v.isBody)
		assert.ok(!evil.includes(n), 'the origin has seen what came behind the request');
	if (outcome !== 'tunnel')
		assert.ok(seen.tunnels.every((t) => t.bytes.length === 0), 'bytes of the client at the origin, without a tunnel');
	assert.notEqual(got.end, null, `the connection does not end: ${words()}`);
	checks[outcome](v, n, played, seen);
	return outcome;
}

/*
 * Plays all of them, `first` is the number of the first. follow(v, n): what is to hold after each. Gives how many ended
 * in which way, by row; throws for what may not be.
 */
export async function playTunnels(vectors, origin, port, { first = 0, width = 32, follow } = {}) {
	const failures = [];
	const table = {};
	const played = await spread(vectors, width, async (v, i) => {
		try {
			const p = await (v.version === 2 ? ask2 : ask1)(v, first + i, port);
			await follow?.(v, first + i);
			return p;
		} catch (error) {
			return { error };
		}
	});
	await roundTrip(port, `/next/n${first + vectors.length}n`, 'a.test');
	const evil = origin.evil();
	for (const [i, v] of vectors.entries()) {
		const n = first + i;
		try {
			if (played[i].error)
				throw played[i].error;
			const { requests, tunnels } = origin.record.of(n);
			const isOwn = (r) => !/^\/(first|next|again)\//.test(r.target);
			const seen = { tunnels: tunnels.filter(isOwn), requests: requests.filter(isOwn) };
			const outcome = judge(v, n, played[i], seen, evil);
			const row = table[v.row] ??= {};
			row[outcome] = (row[outcome] ?? 0) + 1;
		} catch (error) {
			failures.push(`${v.row}: ${v.name} (${v.when ?? ''})\n  ${error.message.slice(0, 900)}`);
		}
	}
	const shown = Number(process.env.SMUGGLE_SHOWN ?? 8);
	assert.equal(failures.length, 0, `${failures.length} of ${vectors.length} vectors; the first:\n${failures.slice(0, shown).join('\n')}`);
	assert.deepEqual(origin.record.of(-1).requests, [], 'requests at the origin that nobody sent');
	origin.check();
	return table;
}

/* A request, and one for a tunnel, each on a connection of its own: the answers are their own. */
export async function followUp(n, port, host) {
	const head = (path, lines) => () => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${lines}\r\n`;
	const form = { version: 1, when: 'late', behind: () => '' };
	const { got } = await ask1({ ...form, head: head(`/next/n${n}n`, 'Connection: close\r\n') }, n, port);
	assert.equal(got.final?.headers['x-path'], `/next/n${n}n`, 'then a request gets something else than its own answer');
	const again = greeting(`/again/n${n}n`);
	const opened = await ask1({ ...form, comes: () => latin1(again), head: head(`/again/n${n}n`, `Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n`) }, n, port);
	assert.equal(opened.got.tunnel?.toString('latin1'), again, 'then a tunnel is another one');
}
