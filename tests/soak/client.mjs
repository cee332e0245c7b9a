/* SPDX-License-Identifier: MIT */
/*
 * The clients of the soak, all in one process. Sessions come and go; on each, requests of every kind are under way
 * side by side: some are read to the end, some cancelled, some left lying, some lose their connection.
 *
 * A request is *owed* its answer when client and origin both behave: whatever others do meanwhile, it must come whole.
 * Every other one may fail, but what looks complete must be whole, and every stream must end.
 */
import net from 'node:net';
import tls from 'node:tls';
import { Endpoint } from '../support/endpoint.mjs';
import { Checker, Random, body, bodyOf } from './random.mjs';

const { ports, ca, seed, sessions: wanted, rate, maxMs } = JSON.parse(process.argv[2]);
const random = new Random(seed);
const accounts = {
	begun: 0, ended: 0, sessions: 0, lost: 0, vandals: 0, ends: {}, owed: 0, bytes: 0, pushes: 0, pushesEnded: 0, pushEnds: {}, claims: 0,
	uploadsUndone: 0, goaways: {}, broken: [], longestMs: 0,
};
let isOver = false, nextSeed = seed * 1000;
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

function complain(what, more) {
	if (accounts.broken.length < 50)
		accounts.broken.push({ what, at: new Date().toISOString(), ...more });
	else
		accounts.more = (accounts.more ?? 0) + 1;
}
const count = (of, name) => { of[name] = (of[name] ?? 0) + 1; };

/* Reads a stream to its end in the way asked; resolves with what was seen when it is over. */
async function read(stream, expected, how, note) {
	const seen = {};
	const checker = new Checker(expected.seed, expected.size);
	const began = Date.now();
	stream.on.head = (headers) => {
		seen.status = Number(headers[':status']);
		seen.checks = seen.status === 200 && headers['x-seed'] !== undefined;
		seen.proxyStatus = headers['proxy-status'];
	};
	stream.on.trailers = (headers) => { seen.trailers = headers['x-bytes']; };
	stream.on.data = (bytes) => {
		accounts.bytes += bytes.length;
		checker.add(bytes);
		if (how.pauseMs && !seen.paused) {
			seen.paused = true;
			stream.pause();
			setTimeout(() => stream.resume(), how.pauseMs);
		}
		if (how.cancelAfter !== undefined && checker.received >= how.cancelAfter)
			stream.reset(how.code);
	};
	if (how.cancelMs !== undefined)
		setTimeout(() => stream.reset(how.code), how.cancelMs);
	const timer = setTimeout(() => {
		complain('a stream did not end in time', { note, ...expected, trace: traceOf(stream) });
		stream.reset();
	}, maxMs);
	Object.assign(seen, await stream.over);
	clearTimeout(timer);
	accounts.longestMs = Math.max(accounts.longestMs, Date.now() - began);
	const fault = checker.isWrong ? 'wrong bytes' : stream.endReceived && !checker.isWhole ? 'an incomplete body looks complete' : '';
	if (seen.checks && fault)
		complain(fault, { ...expected, received: checker.received, note, status: seen.status, trace: traceOf(stream) });
	seen.isGood = seen.end === 'complete' && seen.status === 200 && (!seen.checks || checker.isWhole);
	return seen;
}

/* What happened last on the stream and its connection. */
function traceOf(stream) {
	const mine = new RegExp(` s(${stream.id}|0) | promised=${stream.id}|!!|closed|error`);
	return stream.connection.trace.filter((line) => mine.test(line) && !line.includes('s0 WINDOW_UPDATE')).slice(-25);
}
const describe = ({ end, code, status }) => (end === 'complete' ? `status ${status}` : code ? `${end} ${code}` : end);

class Session {
	/* of a push that was seen or promised: what may be asked for */
	held = [];
	isKilled = false;
	lastId = Infinity;

	constructor() {
		const isTls = random.chance(0.5);
		this.scheme = isTls ? 'https' : 'http';
		const socket = isTls ? tls.connect({ port: ports.tls, host: '127.0.0.1', ca, servername: 'a.test', ALPNProtocols: ['h2'] }) : net.connect(ports.plain, '127.0.0.1');
		accounts.sessions++;
		this.endpoint = new Endpoint(socket, 'client', {
			name: `client ${accounts.sessions}`, huffman: random.chance(0.5), frameBytes: () => random.int(1, 16384), settings: {
				enablePush: random.chance(0.7) ? 1 : 0,
				initialWindowSize: random.pick([1000, 16384, 65535, 65535, 262144, 1048576]),
				maxConcurrentStreams: random.pick([0, 1, 10, 100, 1000]),
				headerTableSize: random.pick([0, 4096, 4096, 65536]),
			},
			on: {
				stream: (stream, headers) => this.#pushed(stream, headers),
				violation: (what) => complain('the gate did not keep to the protocol', what),
				goaway: (f) => {
					this.lastId = f.lastId;
					count(accounts.goaways, `${f.code} ${f.debug}`);
					if (f.code !== 'NO_ERROR' && !this.isKilled)
						complain('a client that behaves was told off', { code: f.code, debug: f.debug, trace: this.endpoint.connection.trace.slice(-40) });
				},
			},
		});
	}

	get isLeaving() { return this.lastId !== Infinity || this.endpoint.isOver || this.isKilled; }

	#pushed(stream, headers) {
		accounts.pushes++;
		const [, , s, size] = headers[':path'].split('/');
		const expected = { path: headers[':path'], seed: Number(s), size: Number(size) };
		const how = random.pick([{}, {}, {}, { cancelMs: random.int(0, 20), code: random.pick(['CANCEL', 'REFUSED_STREAM']) }, { pauseMs: random.int(1, 3000) }]);
		read(stream, expected, how, 'a push').then((seen) => {
			accounts.pushesEnded++;
			count(accounts.pushEnds, describe(seen));
		});
	}

	async request() {
		const host = random.chance(0.6) ? 'calm.test' : 'wild.test';
		const isCalm = host === 'calm.test';
		const s = nextSeed++, size = random.size();
		const way = isCalm ? random.weighted({ whole: 60, trailers: 20, interim: 20, late: 20, early: 5, refuse: 15, break: 15, silent: 1, stall: 2, goaway: 1 })
			: random.weighted({ whole: 50, trailers: 5, early: 5, refuse: 5, break: 10, silent: 1, stall: 1, goaway: 3, cut: 2, deaf: 1 });
		const kind = random.weighted({ get: 50, page: 20, post: 15, cancel: 10, pause: 5, claim: this.held.length ? 15 : 0 });
		const expected = { path: `/${random.pick(['a', 'hold', 'hint', 'drop', 'own'])}/${s}`, seed: s, size };
		const fields = { ':method': 'GET', ':scheme': this.scheme, ':authority': host, ':path': '', 'x-do': way, 'x-size': String(size), 'x-seed': String(s) };
		let how = {};
		let isOwed = isCalm && ['whole', 'trailers', 'interim', 'late', 'goaway'].includes(way);
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
		if (this.isLeaving)
			return;
		accounts.begun++;
		const stream = this.endpoint.request(fields, { endStream: kind !== 'post' });
		const over = read(stream, expected, how, `${kind} ${way} ${host}`);
		if (kind === 'post')
			isOwed = this.#upload(stream, expected) && isOwed;
		const seen = await over;
		accounts.ended++;
		count(accounts.ends, describe(seen));
		if (!isOwed || this.isKilled || stream.id > this.lastId)
			return;
		/* It met the origin's GOAWAY, and nobody has its bytes to send them again: the client is told that it was not done. */
		if (kind === 'post' && seen.status === 503 && seen.proxyStatus?.includes('error=connection_terminated')) {
			accounts.uploadsUndone++;
			return;
		}
		accounts.owed++;
		if (!seen.isGood || (way === 'trailers' && kind !== 'post' && kind !== 'claim' && seen.trailers !== String(size)))
			complain('an answer that was owed did not come whole', { kind, way, host, ...expected, ...seen, trace: traceOf(stream) });
	}

	/* Whole or abandoned; says whether it is to be whole. */
	#upload(stream, { seed: s, size }) {
		const stop = random.chance(0.8) ? size : random.int(0, size);
		if (stop === size)
			stream.send(bodyOf(s), 0, size, { endStream: true });
		else
			stream.send(bodyOf(s), 0, stop).then(() => stream.reset());
		return stop === size;
	}

	/* What a client says besides its requests. */
	#chatter() {
		const { connection } = this.endpoint;
		switch (random.int(0, 3)) {
		case 0: return connection.ping(String(random.int(1e7, 9e7)));
		case 1: return connection.settings({ initialWindowSize: random.pick([1000, 16384, 65535, 262144]) });
		case 2: return connection.settings({ headerTableSize: random.pick([0, 100, 4096]), maxConcurrentStreams: random.pick([0, 1, 100]) });
		default: return connection.frame('PRIORITY_UPDATE', 0, 0, Buffer.from(`\0\0\0\x01u=${random.int(0, 7)}`, 'latin1'));
		}
	}

	async run() {
		const parallel = random.pick([1, 2, 5, 20]);
		let left = random.int(3, 200);
		const naps = random.chance(0.05);
		await Promise.all(Array.from({ length: parallel }, async () => {
			while (left-- > 0 && !isOver && !this.isLeaving) {
				await this.request();
				if (random.chance(0.03) && !this.isLeaving)
					this.#chatter();
				if (naps && random.chance(0.05))
					this.#nap();
				/* So that all of them together keep to the rate. */
				await sleep(random.next() * 2000 * wanted * Math.min(parallel, 4) / rate);
			}
		}));
	}

	/* Reads nothing for a moment. */
	#nap() {
		this.endpoint.socket.pause();
		setTimeout(() => this.endpoint.socket.resume(), random.int(1, 2000));
	}

	async end() {
		const { socket, connection, over } = this.endpoint;
		this.isKilled = true;
		switch (random.weighted({ close: 60, destroy: 15, cut: 10, half: 10, deaf: 5 })) {
		case 'destroy':
			socket.destroy();
			break;
		case 'cut':
			this.scheme === 'http' ? socket.resetAndDestroy() : socket.destroy();
			break;
		case 'half':
			socket.end();
			break;
		case 'deaf': /* with whatever is on its way */
			socket.pause();
			await sleep(random.int(0, 15000));
			socket.destroy();
			break;
		default:
			connection.goaway(0);
			socket.end();
		}
		await Promise.race([over, sleep(maxMs)]);
		if (!this.endpoint.isOver)
			complain('a connection did not end in time', { trace: connection.trace.slice(-10) });
		socket.destroy();
	}
}

async function visitor() {
	while (!isOver) {
		const session = new Session();
		/* Some die with everything under way. */
		const early = random.chance(0.2) ? sleep(random.int(1, 4000)).then(() => { accounts.lost++; return session.end(); }) : null;
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
		const bytes = body(random.int(0, 1e6), 0, random.int(0, 2000));
		if (random.chance(0.5))
			socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
		if (random.chance(0.7))
			socket.write(bytes);
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
