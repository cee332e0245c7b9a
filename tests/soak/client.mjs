/* SPDX-License-Identifier: MIT */
/*
 * The clients of the soak, all in one process. Sessions come and go; on each, requests of every kind are under way
 * side by side: some are read to the end, some cancelled, some left lying, some lose their connection.
 *
 * A request is *owed* its answer when client and origin both behave: whatever others do meanwhile, it must come whole.
 * Every other one may fail, but what looks complete must be whole, and every stream must end.
 */
import http2 from 'node:http2';
import net from 'node:net';
import tls from 'node:tls';
import { Checker, Random, body } from './random.mjs';

const { ports, ca, seed, sessions: wanted, rate, maxMs } = JSON.parse(process.argv[2]);
const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = http2.constants;
const random = new Random(seed);
const accounts = {
	begun: 0, ended: 0, sessions: 0, lost: 0, deaf: 0, vandals: 0, ends: {}, owed: 0, octets: 0, pushes: 0, pushesEnded: 0, pushEnds: {}, claims: 0,
	broken: [], longestMs: 0,
};
let isOver = false, nextSeed = seed * 1000;
const alive = new Set();
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

function complain(what, more) {
	if (accounts.broken.length < 50)
		accounts.broken.push({ what, at: new Date().toISOString(), ...more });
	else
		accounts.more = (accounts.more ?? 0) + 1;
}
const count = (of, name) => { of[name] = (of[name] ?? 0) + 1; };

/* Reads a stream to its end in the way asked; resolves when it is over. */
function read(session, stream, event, expected, how, note) {
	const seen = { status: 0, code: 0, ended: false, cancelled: false };
	const checker = new Checker(expected.seed, expected.size);
	const began = Date.now();
	stream.on('error', () => {});
	stream.on('aborted', () => { seen.aborted = true; });
	stream.on(event, (headers) => {
		seen.status = headers[':status'];
		seen.checks = seen.status === 200 && headers['x-seed'] !== undefined;
	});
	stream.on('trailers', (headers) => { seen.trailers = headers['x-octets']; });
	stream.on('data', (chunk) => {
		accounts.octets += chunk.length;
		/* It can come before the event of the head: what it is, is looked at in the end. */
		checker.add(chunk);
		if (how.pauseMs && !seen.paused) {
			seen.paused = true;
			stream.pause();
			setTimeout(() => stream.resume(), how.pauseMs);
		}
		if (how.cancelAfter !== undefined && checker.received >= how.cancelAfter && !seen.cancelled) {
			seen.cancelled = true;
			stream.close(how.code ?? NGHTTP2_CANCEL);
		}
	});
	stream.on('end', () => { seen.ended = true; });
	if (how.cancelMs !== undefined)
		setTimeout(() => {
			if (stream.closed || stream.destroyed)
				return;
			seen.cancelled = true;
			stream.close(how.code ?? NGHTTP2_CANCEL);
		}, how.cancelMs);
	return new Promise((resolve) => {
		stream.on('close', () => {
			seen.code = stream.rstCode;
			const ms = Date.now() - began;
			accounts.longestMs = Math.max(accounts.longestMs, ms);
			if (ms > maxMs && !session.isDeaf)
				complain('a stream did not end in time', { ms, ...expected });
			/* When we end a connection ourselves, what was under way seems to end well here. */
			seen.isWhole = seen.ended && !seen.aborted && seen.code === 0 && !seen.cancelled && !session.isKilled;
			if (checker.isWrong && seen.checks)
				complain('wrong octets', { ...expected, received: checker.received, note, status: seen.status });
			else if (seen.isWhole && seen.checks && !checker.isWhole)
				complain('an incomplete body looks complete', { ...expected, received: checker.received, note, status: seen.status });
			seen.isGood = seen.isWhole && (!seen.checks || checker.isWhole);
			resolve(seen);
		});
	});
}

function describe(seen) {
	if (seen.cancelled)
		return 'cancelled';
	return seen.isWhole || seen.status === 0 ? `status ${seen.status}` : `reset ${seen.code}${seen.aborted ? ', aborted' : ''}`;
}

class Session {
	/* of a push that was seen or promised: what may be asked for */
	held = [];
	streams = 0;
	isKilled = false;

	constructor() {
		const isTls = random.chance(0.5);
		this.accepts = random.chance(0.7);
		const settings = {
			enablePush: this.accepts,
			initialWindowSize: random.pick([1000, 16384, 65535, 65535, 262144, 1048576]),
			maxConcurrentStreams: random.pick([0, 1, 10, 100, 1000]),
		};
		accounts.sessions++;
		this.socket = isTls ? tls.connect({ port: ports.tls, host: '127.0.0.1', ca, servername: 'a.test', ALPNProtocols: ['h2'] }) : net.connect(ports.plain, '127.0.0.1');
		this.socket.on('error', (error) => { this.fault = error.message; });
		this.h2 = http2.connect(`${isTls ? 'https' : 'http'}://a.test`, { createConnection: () => this.socket, settings });
		this.h2.on('error', (error) => { this.fault = error.message; });
		this.h2.on('stream', (stream, headers) => this.#pushed(stream, headers));
		this.h2.on('goaway', (code, last, debug) => {
			this.isLeaving = true;
			this.fault ??= `GOAWAY ${code} ${debug ?? ''}`;
		});
		this.closed = new Promise((resolve) => { this.h2.on('close', resolve); });
		this.scheme = isTls ? 'https' : 'http';
		alive.add(this);
		this.closed.then(() => alive.delete(this));
	}

	#pushed(stream, headers) {
		accounts.pushes++;
		const [, , s, size] = headers[':path'].split('/');
		const expected = { path: headers[':path'], seed: Number(s), size: Number(size) };
		const how = random.pick([{}, {}, {}, { cancelMs: random.int(0, 20), code: random.pick([NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM]) }, { pauseMs: random.int(1, 3000) }]);
		read(this, stream, 'push', expected, how, 'a push').then((seen) => {
			accounts.pushesEnded++;
			count(accounts.pushEnds, describe(seen));
		});
	}

	async request() {
		const host = random.chance(0.6) ? 'calm.test' : 'wild.test';
		const isCalm = host === 'calm.test';
		const s = nextSeed++, size = random.size();
		const way = isCalm ? random.pick(['whole', 'whole', 'whole', 'trailers', 'interim', 'late', 'refuse', 'break', 'silent', 'stall'])
			: random.weighted({ whole: 50, trailers: 5, refuse: 5, break: 10, silent: 2, stall: 3, goaway: 3, cut: 2 });
		const kind = random.weighted({ get: 50, page: 20, post: 15, cancel: 10, pause: 5, claim: this.held.length ? 15 : 0 });
		const expected = { path: `/${random.pick(['a', 'hold', 'hint', 'drop', 'own'])}/${s}`, seed: s, size };
		const fields = { ':method': 'GET', ':scheme': this.scheme, ':authority': host, 'x-do': way, 'x-size': String(size), 'x-seed': String(s) };
		let how = {};
		let isOwed = isCalm && ['whole', 'trailers', 'interim', 'late'].includes(way);
		if (kind === 'claim') {
			Object.assign(expected, this.held.pop());
			fields[':authority'] = 'calm.test';
			isOwed = true;
			accounts.claims++;
			delete fields['x-do'];
		} else if (kind === 'page') {
			fields['x-pushes'] = String(random.int(1, 8));
			if (isCalm && expected.path.startsWith('/hold/') && this.held.length < 20)
				for (let i = Number(fields['x-pushes']); i > 0; i--) {
					const seedOf = s * 31 + i, sizeOf = new Random(seedOf).size();
					this.held.push({ path: `/pushed/${seedOf}/${sizeOf}`, seed: seedOf, size: sizeOf });
				}
		} else if (kind === 'cancel') {
			how = random.chance(0.5) ? { cancelMs: random.int(0, 50) } : { cancelAfter: random.int(0, size) };
			isOwed = false;
		} else if (kind === 'pause') {
			how = { pauseMs: random.int(1, 12000) };
			isOwed &&= how.pauseMs < 3000;
		}
		fields[':path'] = expected.path;
		if (kind === 'post')
			fields[':method'] = 'POST';
		accounts.begun++;
		this.streams++;
		const stream = this.h2.request(fields, { endStream: kind !== 'post' });
		const over = read(this, stream, 'response', expected, how, `${kind} ${way} ${host}`);
		if (kind === 'post')
			isOwed = this.#upload(stream, expected) && isCalm;
		const seen = await Promise.race([over, this.#lost()]);
		accounts.ended++;
		count(accounts.ends, describe(seen));
		if (!isOwed || this.isKilled || this.isLeaving)
			return;
		accounts.owed++;
		if (!seen.isGood || seen.status !== 200 || (way === 'trailers' && kind !== 'post' && kind !== 'claim' && seen.trailers !== String(size)))
			complain('an answer that was owed did not come whole', {
				kind, way, host, ...expected, status: seen.status, code: seen.code, aborted: seen.aborted, trailers: seen.trailers, fault: this.fault,
			});
	}

	/*
	 * Sometimes a session of Node's reads its socket no more, and a stream does not hear that its connection has gone:
	 * whether the gate has anything left open then, its own accounts say in the end.
	 */
	async #lost() {
		const lost = { status: 0, code: 0, isWhole: false, isGood: false };
		await Promise.race([this.closed.then(() => sleep(2000)), sleep(maxMs + 5000)]);
		if (!this.h2.destroyed && !this.isKilled) {
			this.isKilled = this.isDeaf = true;
			accounts.deaf++;
			this.socket.destroy();
		}
		return lost;
	}

	/* Whole, cut short, or abandoned. */
	#upload(stream, { seed: s, size }) {
		const stop = random.chance(0.8) ? size : random.int(0, size);
		let at = 0;
		const go = () => {
			while (at < stop && !stream.destroyed && !stream.closed) {
				const n = Math.min(stop - at, random.int(1, 32768));
				at += n;
				if (!stream.write(body(s, at - n, n)))
					return stream.once('drain', go);
			}
			if (stream.destroyed || stream.closed)
				return undefined;
			/* close() would end the upload in good order first. */
			return stop === size ? stream.end() : stream.destroy(new Error('abandoned'));
		};
		go();
		return stop === size;
	}

	async run() {
		const parallel = random.pick([1, 2, 5, 20]);
		let left = random.int(3, 200);
		await Promise.all(Array.from({ length: parallel }, async () => {
			while (left-- > 0 && !isOver && !this.isLeaving && !this.h2.closed && !this.h2.destroyed) {
				await this.request();
				/* So that all of them together keep to the rate. */
				await sleep(random.next() * 2000 * wanted * Math.min(parallel, 4) / rate);
			}
		}));
	}

	async end() {
		await sleep(0);
		const how = random.weighted({ close: 60, destroy: 15, cut: 15, half: 10 });
		this.isKilled = true;
		if (how === 'destroy')
			this.h2.destroy();
		else if (how === 'cut')
			this.socket.destroy();
		else if (how === 'half')
			this.socket.end();
		else
			this.h2.close();
		await Promise.race([this.closed, sleep(5000)]);
		this.h2.destroy();
	}
}

async function visitor() {
	while (!isOver) {
		const session = new Session();
		/* Some die with everything under way. */
		const early = random.chance(0.2) ? sleep(random.int(1, 4000)).then(() => { session.isKilled = true; accounts.lost++; return session.end(); }) : null;
		await session.run();
		await (early ?? session.end());
	}
}

/* Whoever comes without speaking the protocol. */
async function vandal() {
	while (!isOver) {
		accounts.vandals++;
		const isTls = random.chance(0.3);
		const socket = isTls ? tls.connect({ port: ports.tls, host: '127.0.0.1', ca, servername: 'a.test', ALPNProtocols: ['h2'] })
			: net.connect(random.chance(0.3) ? ports.tls : ports.plain, '127.0.0.1');
		socket.on('error', () => {});
		socket.on('data', () => {});
		const octets = body(random.int(0, 1e6), 0, random.int(0, 2000));
		if (random.chance(0.5))
			socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
		if (random.chance(0.7))
			socket.write(octets);
		await sleep(random.int(0, 500));
		if (random.chance(0.5) && !isTls)
			socket.resetAndDestroy();
		else
			socket.destroy();
	}
}

process.on('message', (message) => {
	if (message === 'accounts')
		process.send({ accounts });
	if (message === 'over')
		isOver = true;
});
await Promise.all([...Array.from({ length: wanted }, visitor), vandal()]);
process.send({ accounts, finished: true });
process.disconnect();
