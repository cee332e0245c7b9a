/* SPDX-License-Identifier: MIT */
/*
 * Requests without pause, for a proxy whose configuration changes: HTTP/2 on connections that are left when they are told
 * to go, with pushes; HTTP/1.1 with keep-alive; subscriptions; h2load. Its parent gets accounts with the message
 * 'accounts', and ends it with 'over'; `use` names a port that is to be visited too, until `gone` names it.
 *
 * A request is *retried*, and not counted, when it has a higher stream id than the GOAWAY names, or when HTTP/1.1 let it
 * meet the end of a connection that had been idle for LEAVE_MS. Any other one must be answered, once and whole. A page
 * that is asked for on a connection which is told to go meanwhile may come without its pushes.
 */
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { Endpoint } from '../../support/endpoint.mjs';
import { LEAVE_MS } from '../../support/gate.mjs';
import { run } from '../../support/programs.mjs';
import { Checker, Random, body, bodyOf } from '../random.mjs';

const { ports, ca, seed, rate, pushes, host, maxMs } = JSON.parse(process.argv[2]);
const random = new Random(seed);
const accounts = {
	requests: 0, whole: 0, retried: 0, pushes: 0, pushesWhole: 0, told: 0, connections: 0, feeds: 0, notPromised: 0, h2load: { succeeded: 0, givenUp: 0, rounds: 0 },
	visits: 0, visitsTold: 0, failures: [], failed: 0,
};
const gone = new Set();
const MAX_BYTES = 65536;
const FEED_PUSHES = 20;
let isOver = false, nextSeed = seed * 1000;
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

function fail(what, more) {
	accounts.failed++;
	if (accounts.failures.length < 2000)
		accounts.failures.push({ what, at: Date.now(), ...more });
}
/* Calls so often a second; each call takes the time that the ones before have left over. */
function pacer(perSecond) {
	let next = Date.now();
	return () => {
		next = Math.max(next + 1000 / perSecond, Date.now() - 1000);
		return sleep(Math.max(next - Date.now(), 0));
	};
}

/* ---- HTTP/2 ---- */

class Line {
	lastId = Infinity;
	promised = new Map();

	constructor(port, secure, { isFeed = false } = {}) {
		const socket = secure ? tls.connect({ port, host: '127.0.0.1', ca, servername: 'a.test', ALPNProtocols: ['h2'] }) : net.connect(port, '127.0.0.1');
		accounts.connections++;
		this.scheme = secure ? 'https' : 'http';
		this.isFeed = isFeed;
		this.local = { connection: accounts.connections };
		socket.once('connect', () => { this.local.port = socket.localPort; });
		this.opened = new Promise((resolve) => {
			socket.once(secure ? 'secureConnect' : 'connect', () => resolve(true));
			socket.once('close', () => resolve(false));
		});
		this.endpoint = new Endpoint(socket, 'client', {
			name: `client ${accounts.connections}`, settings: { enablePush: pushes ? 1 : 0, initialWindowSize: 1 << 20 },
			on: {
				stream: (stream, headers) => this.#pushed(stream, headers),
				violation: (what) => fail('not HTTP/2', { ...this.local, ...what }),
				goaway: (f) => {
					accounts.told += this.lastId === Infinity;
					this.lastId = f.lastId;
					if (f.code !== 'NO_ERROR')
						fail(`GOAWAY ${f.code} ${f.debug}`, this.local);
				},
			},
		});
	}

	get isLeaving() { return this.lastId !== Infinity || this.endpoint.isOver; }

	async #pushed(stream, headers) {
		const [, , of, size] = headers[':path'].split('/').map(Number);
		const parent = this.isFeed ? 'feed' : Math.floor(of / 31);
		accounts.pushes++;
		this.promised.set(parent, (this.promised.get(parent) ?? 0) + 1);
		const seen = await read(stream, of, size);
		if (seen.isWhole)
			accounts.pushesWhole++;
		else
			fail('a push was lost', { ...this.local, path: headers[':path'], ...seen });
	}

	/* A request, unless the connection is told to go before it is taken: then nothing. */
	async ask(fields, expected, upload) {
		const stream = this.endpoint.request({ ':method': upload ? 'POST' : 'GET', ':scheme': this.scheme, ...fields }, { endStream: !upload });
		const over = read(stream, expected.seed, expected.size);
		if (upload)
			stream.send(bodyOf(expected.seed), 0, expected.size, { endStream: true });
		const seen = await over;
		if (!seen.isWhole && stream.id > this.lastId) {
			accounts.retried++;
			return undefined;
		}
		accounts.requests++;
		return seen;
	}

	async close() {
		const { connection, socket, over } = this.endpoint;
		while (this.endpoint.streams.size)
			await Promise.race([...this.endpoint.streams.values()].map((stream) => stream.over));
		connection.goaway(0);
		socket.end();
		await Promise.race([over, sleep(5000)]);
		socket.destroy();
	}
}

/* `isWhole`: a response 200 with the body of this seed; for a feed with any, and its trailers. */
async function read(stream, of, size) {
	const seen = {}, checker = new Checker(of, size);
	stream.on.head = (headers) => { seen.status = Number(headers[':status']); };
	stream.on.trailers = (headers) => { seen.trailers = headers; };
	stream.on.data = (bytes) => checker.add(bytes);
	const timer = size === undefined ? undefined : setTimeout(() => stream.reset(), maxMs);
	Object.assign(seen, await stream.over);
	clearTimeout(timer);
	seen.received = checker.received;
	seen.isWhole = seen.end === 'complete' && seen.status === 200 && (size === undefined || checker.isWhole);
	if (!seen.isWhole)
		seen.trace = stream.connection.trace.filter((l) => new RegExp(` s(${stream.id}|0) |closed|error|!!`).test(l)).slice(-12);
	return seen;
}

async function page(line) {
	const of = nextSeed++, size = Math.min(random.size(), MAX_BYTES), n = pushes ? random.int(0, 2) : 0;
	const fields = { ':authority': host, ':path': `/a/${of}`, 'x-size': String(size), 'x-seed': String(of), ...(n ? { 'x-pushes': String(n) } : {}) };
	const seen = await line.ask(fields, { seed: of, size }, pushes && random.chance(0.1));
	if (!seen)
		return;
	if (!seen.isWhole)
		fail('a request over HTTP/2', { ...line.local, path: fields[':path'], ...seen });
	else if ((line.promised.get(of) ?? 0) !== n && line.lastId === Infinity)
		fail('a promise was lost', { ...line.local, path: fields[':path'], promised: line.promised.get(of) ?? 0, n });
	else
		accounts.whole++;
	accounts.notPromised += n - (line.promised.get(of) ?? 0);
	line.promised.delete(of);
}

/* Requests on one connection after the other, until the port is gone. */
async function pages(port, secure, perSecond) {
	const pace = pacer(perSecond), closing = new Set(), isVisit = port !== ports.h2 && port !== ports.tls;
	while (!isOver) {
		const line = new Line(port, secure), under = new Set();
		if (!await line.opened) {
			if (gone.has(port))
				break;
			fail('a connection was refused', line.local);
			await sleep(100);
			continue;
		}
		accounts.visits += isVisit;
		for (; !isOver && !line.isLeaving; await pace()) {
			if (under.size >= 20)
				continue;
			const one = page(line).finally(() => under.delete(one));
			under.add(one);
		}
		accounts.visitsTold += isVisit && line.lastId !== Infinity;
		const end = Promise.all(under).then(() => line.close()).finally(() => closing.delete(end));
		closing.add(end);
	}
	await Promise.all(closing);
}

/* A subscription with so many pushes; each must come, in its order, and be whole. */
async function feed(most) {
	const line = new Line(ports.h2, false, { isFeed: true }), of = nextSeed++;
	if (!await line.opened)
		return fail('a connection was refused', line.local);
	const seen = await line.ask({ ':authority': 'feed.test', ':path': `/feed/${of}`, 'x-do': 'feed', 'x-seed': String(of), 'x-size': '0', 'x-pushes': String(most) }, { seed: of });
	if (!seen)
		return undefined;
	const promised = line.promised.get('feed') ?? 0;
	if (!seen.isWhole || Number(seen.trailers?.['x-pushes']) !== promised)
		fail('a subscription', { ...line.local, promised, ...seen });
	else
		accounts.whole++;
	accounts.feeds++;
	return line.close();
}
async function feeds(most) {
	while (!isOver) {
		await feed(most);
		await sleep(200);
	}
}

/* ---- HTTP/1.1 ---- */

function ask1(agent, port, secure, of, size, upload) {
	const local = {};
	return new Promise((resolve) => {
		const request = (secure ? https : http).request({
			agent, port, host: '127.0.0.1', path: `/a/${of}`, method: upload ? 'POST' : 'GET', servername: 'a.test',
			headers: { host, 'x-size': size, 'x-seed': of, ...(upload ? { 'content-length': size } : {}) },
		}, (response) => {
			const checker = new Checker(of, size);
			response.on('data', (bytes) => checker.add(bytes));
			response.once('close', () => resolve({
				local, status: response.statusCode, received: checker.received, isWhole: response.complete && response.statusCode === 200 && checker.isWhole,
			}));
			response.on('error', () => {});
		});
		request.setTimeout(maxMs, () => request.destroy(new Error('late')));
		request.once('socket', (socket) => {
			const note = () => { local.port = socket.localPort; };
			socket.connecting ? socket.once('connect', note) : note();
		});
		request.on('error', (error) => resolve({ local, error: error.code ?? error.message, isFresh: !request.reusedSocket }));
		request.end(upload ? body(of, 0, size) : undefined);
	});
}

async function kept(port, secure, perSecond) {
	const agent = new (secure ? https : http).Agent({ keepAlive: true, maxSockets: 1, ca });
	const pace = pacer(perSecond);
	for (let last = Date.now(); !isOver; await pace()) {
		const of = nextSeed++, size = Math.min(random.size(), MAX_BYTES);
		const seen = await ask1(agent, port, secure, of, size, pushes && random.chance(0.1));
		if (gone.has(port) && seen.isFresh && !seen.status)
			break;
		if (seen.error && !seen.isFresh && Date.now() - last >= LEAVE_MS) {
			accounts.retried++;
		} else {
			accounts.requests++;
			if (seen.isWhole)
				accounts.whole++;
			else
				fail('a request over HTTP/1.1', { ...seen.local, ...seen, waitedMs: Date.now() - last });
		}
		last = Date.now();
	}
	agent.destroy();
}

/*
 * ---- h2load: after a GOAWAY it opens no other connection. It counts as failed the requests that it has not sent by then,
 * and those above the last id of the GOAWAY, together with lost ones. The proxy's count of requests tells them apart. ----
 */

async function h2load(perSecond) {
	while (!isOver) {
		const n = Math.ceil(perSecond * 2);
		const { stdout } = await run('h2load', ['-t1', '-c2', '-m2', '-n', String(n), `--rps=${perSecond / 2}`, `http://127.0.0.1:${ports.h2}/a/0`], { limit: maxMs });
		const succeeded = Number(stdout.match(/(\d+) succeeded/)?.[1] ?? 0);
		accounts.h2load.rounds++;
		accounts.h2load.succeeded += succeeded;
		accounts.h2load.givenUp += n - succeeded;
		accounts.requests += succeeded;
		accounts.whole += succeeded;
		if (!/ 0 timeout\n.* 0 3xx, 0 4xx, 0 5xx\n/.test(stdout))
			fail('h2load', { stdout: stdout.slice(-1500) });
	}
}

/* ---- the run ---- */

const all = [];
process.on('message', (message) => {
	if (message === 'accounts')
		process.send({ accounts });
	isOver ||= message === 'over';
	if (message.use)
		all.push(pages(message.use, false, rate / 20), kept(message.use, false, rate / 20));
	if (message.gone)
		gone.add(message.gone);
});
all.push(pages(ports.h2, false, rate * 0.2), pages(ports.h2, false, rate * 0.2));
if (ports.tls)
	all.push(pages(ports.tls, true, rate * 0.1), kept(ports.tls, true, rate * 0.1));
all.push(kept(ports.h1, false, rate * 0.1), kept(ports.h1, false, rate * 0.1), h2load(rate * 0.2));
if (pushes)
	all.push(feed(1e9), feeds(FEED_PUSHES));
for (let i = 0; i < all.length; i++)
	await all[i];
process.send({ accounts, finished: true });
process.disconnect();
