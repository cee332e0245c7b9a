/* SPDX-License-Identifier: MIT */
/*
 * Tunnels and event streams through a proxy whose configuration changes, and their origins: both ends are in this
 * process. Most stay for the whole run, the others are ended by the client some turns after they have begun; a turn is a
 * message of the parent. One that ends earlier has failed, and another one takes its place.
 *
 * Each tunnel sends a message once a second, and must get it back.
 */
import http from 'node:http';
import net from 'node:net';
import { openConnect, openTunnel, session2, tunnelOrigin } from '../../support/tunnel_ends.mjs';
import { body } from '../random.mjs';

const { count, versions, forward, maxMs } = JSON.parse(process.argv[2]);
const accounts = { requests: 0, opened: 0, open: 0, closed: 0, retried: 0, endedEarly: 0, echoes: 0, events: 0, eventStreams: 0, failures: [], failed: 0 };
const HOST = 'ws.test', EVENT_MS = 100, PER_SESSION = 10, TURNS = 3;
let isOver = false, turn = 0, ports;
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

function fail(what, more) {
	accounts.failed++;
	if (accounts.failures.length < 2000)
		accounts.failures.push({ what, at: Date.now(), ...more });
}

/* ---- the origins ---- */

function answer(response, path, headers) {
	response.on('error', () => {});
	if (path !== '/events') {
		const of = Number(headers['x-seed'] ?? 0), size = Number(headers['x-size'] ?? 1000);
		response.writeHead(200, { 'content-length': size });
		response.end(body(of, 0, size));
		return;
	}
	let n = 0;
	response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
	const timer = setInterval(() => response.write(`data: ${n++}\n\n`), EVENT_MS);
	response.on('close', () => clearInterval(timer));
}
const echo = (stream) => stream.on('error', () => {}).pipe(stream);
const origin = await tunnelOrigin('1.1', { tunnel: echo, request: answer });
const raw = net.createServer(echo);
await new Promise((resolve) => { raw.listen(0, '127.0.0.1', resolve); });

/* ---- the clients ---- */

/* A session of HTTP/2 for the next tunnels, until it is full or told to go. */
const sessions = new Map();
async function sessionOn(port) {
	const old = sessions.get(port);
	if (old && old.left > 0 && !old.session.closed && !old.session.destroyed) {
		old.left--;
		return old;
	}
	const made = { left: PER_SESSION - 1, used: 0, session: await session2({ port, host: HOST }) };
	sessions.set(port, made);
	return made;
}

/* {stream, port, done}: the client's end, the port that the connection has here, and what is called at its end. */
async function open(kind) {
	const isConnect = kind.startsWith('connect'), version = kind.endsWith('2') ? '2' : '1.1', port = isConnect ? ports.forward : ports.plain;
	const options = { port, host: HOST, path: '/ws', to: `127.0.0.1:${raw.address().port}` };
	if (version === '1.1') {
		const stream = await (isConnect ? openConnect : openTunnel)('1.1', options);
		return { stream, port: stream.from, done: () => {} };
	}
	const shared = await sessionOn(port);
	shared.used++;
	const done = () => {
		if (--shared.used === 0)
			shared.session.close();
	};
	try {
		return { stream: await (isConnect ? openConnect : openTunnel)('2', { ...options, session: shared.session }), port: shared.session.from, done };
	} catch (error) {
		done();
		error.port = shared.session.from;
		error.wasToldToGo = shared.session.closed && /GOAWAY|INVALID_SESSION|REFUSED_STREAM|code 7/.test(`${error.code} ${error.message}`);
		throw error;
	}
}

function events() {
	return new Promise((resolve, reject) => {
		const request = http.get({ port: ports.plain, host: '127.0.0.1', path: '/events', agent: false, headers: { host: HOST } }, (response) => {
			if (response.statusCode !== 200)
				reject(new Error(`status ${response.statusCode}`));
			resolve({ stream: response, port: from, done: () => {} });
		});
		let from;
		request.once('socket', (socket) => socket.once('connect', () => { from = socket.localPort; }));
		request.once('error', (error) => reject(Object.assign(error, { port: from })));
		request.on('error', () => {});
	});
}

/* One place for a tunnel: whenever there is none, another one is opened. */
class Place {
	isAsked = false;
	expected = '';
	n = 0;

	constructor(kind, turns) {
		this.kind = kind;
		this.turns = turns;
	}

	async run() {
		while (!isOver)
			try {
				const { stream, port, done } = await (this.kind === 'events' ? events() : open(this.kind));
				accounts.requests++;
				accounts.opened++;
				accounts.eventStreams += this.kind === 'events';
				accounts.open++;
				await this.#carry(stream, port);
				accounts.open--;
				done();
			} catch (error) {
				if (error.wasToldToGo)
					accounts.retried++;
				else
					fail('a tunnel was not opened', { kind: this.kind, port: error.port, error: error.message });
				await sleep(100);
			}
	}

	#carry(stream, port) {
		this.until = turn + this.turns;
		this.isAsked = false;
		this.expected = this.text = '';
		this.events = 0;
		this.stream = stream;
		this.port = port;
		stream.on('error', () => {});
		stream.on('data', (bytes) => (this.kind === 'events' ? this.#event(bytes, port) : this.#echoed(bytes, port)));
		/* It was opened when the others ended. */
		if (isOver)
			setImmediate(() => this.end());
		return new Promise((resolve) => stream.once('close', () => {
			this.stream = undefined;
			if (this.isAsked) {
				accounts.closed++;
			} else {
				accounts.endedEarly++;
				this.turns = TURNS; /* no more than a few generations have tunnels that stay */
				fail(`${this.kind} ended before its time`, { port, turnsLeft: this.until - turn, code: stream.rstCode });
			}
			resolve();
		}));
	}

	#echoed(bytes, port) {
		const text = bytes.toString('latin1');
		if (!this.expected.startsWith(text))
			fail('wrong bytes in a tunnel', { port, kind: this.kind });
		this.expected = this.expected.slice(text.length);
		accounts.echoes += this.expected === '';
	}
	#event(bytes, port) {
		this.text += bytes;
		const lines = this.text.split('\n\n');
		this.text = lines.pop();
		for (const line of lines) {
			if (line !== `data: ${this.events}`)
				fail('an event was lost', { port, line, expected: this.events });
			this.events++;
			accounts.events++;
		}
	}

	/* Once a second. */
	tick() {
		if (!this.stream || this.isAsked || this.kind === 'events')
			return;
		if (this.expected && Date.now() - this.sentAt > maxMs) {
			fail('no echo in time', { kind: this.kind, port: this.port });
			this.expected = '';
		}
		if (this.expected === '') {
			this.expected = `message ${this.n++} of ${this.kind};`;
			this.sentAt = Date.now();
			this.stream.write(this.expected);
		}
	}
	turned() {
		if (this.stream && turn >= this.until && !this.expected)
			this.end();
	}
	end() {
		const { stream } = this;
		if (!stream)
			return;
		this.isAsked = true;
		if (this.kind === 'events')
			return void stream.destroy();
		stream.end();
		stream.resume();
		setTimeout(() => stream.destroy(), 5000).unref();
	}
}

/* ---- the run ---- */

/* Before the first message: two that come together find only who listens by then. */
const places = [];
process.on('message', (message) => {
	if (message === 'accounts')
		process.send({ accounts });
	if (message === 'turn') {
		turn++;
		places.forEach((place) => place.turned());
	}
	if (message === 'over') {
		isOver = true;
		places.forEach((place) => place.end());
	}
});
const begins = new Promise((resolve) => { process.on('message', (message) => message.ports && resolve(message.ports)); });
process.send({ ready: true, ports: { origin: origin.port, raw: raw.address().port } });
ports = await begins;
const add = (kind, n, turns) => places.push(...Array.from({ length: n }, () => new Place(kind, turns)));
/* Three fifths of them stay. */
for (const version of versions) {
	add(`websocket ${version}`, Math.round(count * 0.6 / versions.length), Infinity);
	add(`websocket ${version}`, Math.round(count * 0.4 / versions.length), TURNS);
	if (forward) {
		add(`connect ${version}`, 5, Infinity);
		add(`connect ${version}`, 5, TURNS);
	}
}
add('events', 3, Infinity);
add('events', 3, TURNS);
const ticking = setInterval(() => places.forEach((place) => place.tick()), 1000);
const running = places.map((place) => place.run());
await Promise.all(running);
clearInterval(ticking);
for (const { session } of sessions.values())
	session.close();
origin.close();
raw.close();
process.send({ accounts, finished: true });
process.disconnect();
