/* SPDX-License-Identifier: MIT */
/*
 * Requests through the forward proxy of the soak, and the origin that they name; both ends are in this process. Clients
 * of both versions ask for bodies and send some; some go away meanwhile, and some ask for what they may not have.
 *
 * A request is *owed* its answer if its client stays.
 */
import http from 'node:http';
import https from 'node:https';
import { session2 } from '../support/tunnel_ends.mjs';
import { Checker, Random, body } from './random.mjs';

const { seed, rate, maxMs } = JSON.parse(process.argv[2]);
const random = new Random(seed);
const accounts = { begun: 0, ended: 0, owed: 0, refused: 0, left: 0, bytes: 0, atOrigin: 0, endedAtOrigin: 0, broken: [] };
const MAX_BYTES = 1 << 20;
let isOver = false, nextSeed = seed * 1000, ports;
process.on('message', (message) => { isOver ||= message === 'over'; });
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

function complain(what, more) {
	if (accounts.broken.length < 50)
		accounts.broken.push({ what, at: new Date().toISOString(), ...more });
}

/* ---- the origin: /down/SEED/SIZE is that body, /up/SEED/SIZE says whether that body came ---- */

const origin = http.createServer({ keepAliveTimeout: 3000 }, (request, response) => {
	const [, way, of, size] = request.url.split('/');
	const checker = new Checker(Number(of), way === 'up' ? Number(size) : 0);
	accounts.atOrigin++;
	response.once('close', () => { accounts.endedAtOrigin++; });
	request.on('error', () => {});
	response.on('error', () => {});
	request.on('data', (bytes) => checker.add(bytes));
	request.once('end', () => {
		if (way === 'up')
			return response.end(checker.isWhole ? 'whole' : `${checker.received} of ${size} bytes, wrong: ${checker.isWrong}`);
		/* Some with a length, some in chunks. */
		if (Number(of) & 1)
			response.setHeader('content-length', size);
		return response.end(body(Number(of), 0, Number(size)));
	});
});
await new Promise((resolve) => { origin.listen(0, '127.0.0.1', resolve); });
const AUTHORITY = `127.0.0.1:${origin.address().port}`;

/* ---- the clients ---- */

/* A stream of either version: {send(bytes), answer: {status, stream}, destroy()}. */
function ask1(agent, secure, method, authority, path) {
	const request = (secure ? https : http).request({
		agent, method, port: secure ? ports.forwardTls : ports.forward, host: '127.0.0.1', path: `http://${authority}${path}`, headers: { host: authority }, rejectUnauthorized: false,
	});
	const answer = new Promise((resolve) => {
		request.once('response', (response) => resolve({ status: response.statusCode, stream: response }));
		request.once('error', (error) => resolve({ error: error.message }));
	});
	request.on('error', () => {});
	return { end: (bytes) => request.end(bytes), answer, destroy: () => request.destroy() };
}

function ask2(session, method, authority, path) {
	const stream = session.request({ ':method': method, ':scheme': 'http', ':authority': authority, ':path': path }, { endStream: method === 'GET' });
	const answer = new Promise((resolve) => {
		stream.once('response', (headers) => resolve({ status: headers[':status'], stream }));
		stream.once('close', () => resolve({ error: `the stream ended with ${stream.rstCode}` }));
	});
	stream.on('error', () => {});
	return { end: (bytes) => (method === 'GET' ? undefined : stream.end(bytes)), answer, destroy: () => stream.close(8) };
}

/* Resolves with whether it ended well. */
const read = (stream, add) => new Promise((resolve) => {
	stream.on('data', (bytes) => { accounts.bytes += bytes.length; add(bytes); });
	stream.once('end', () => resolve(true));
	stream.once('error', () => resolve(false));
	stream.once('close', () => resolve(false));
});

async function request(make, note) {
	const of = nextSeed++, size = Math.min(random.size(), MAX_BYTES);
	const what = random.weighted({ down: 60, up: 30, denied: 10 });
	const leavesMs = random.chance(0.1) ? random.int(0, 50) : undefined;
	const about = { ...note, what, of, size, leavesMs };
	accounts.begun++;
	const timer = setTimeout(() => complain('a request did not end in time', about), maxMs);
	const method = what === 'up' ? 'POST' : 'GET';
	/* Port 9 is not allowed. */
	const asked = make(method, what === 'denied' ? '127.0.0.1:9' : AUTHORITY, `/${what}/${of}/${size}`);
	asked.end(method === 'POST' ? body(of, 0, size) : undefined);
	if (leavesMs !== undefined)
		setTimeout(asked.destroy, leavesMs);
	const checker = new Checker(of, what === 'down' ? size : 0);
	let said = '';
	const { status, stream, error } = await asked.answer;
	const endedWell = stream ? await read(stream, (bytes) => { if (what === 'down') checker.add(bytes); else said += bytes; }) : false;
	clearTimeout(timer);
	const isRight = endedWell && (what === 'denied' ? status === 403 : status === 200 && (what === 'up' ? said === 'whole' : checker.isWhole));
	if (leavesMs !== undefined)
		accounts.left++;
	else if (what === 'denied')
		accounts.refused++;
	else
		accounts.owed++;
	if (leavesMs === undefined ? !isRight : what === 'down' && status === 200 && checker.isWrong)
		complain('a request through the forward proxy went wrong', { ...about, status, error, endedWell, received: checker.received, said: said.slice(0, 200) });
	accounts.ended++;
}

async function visitor(version, secure) {
	while (!isOver) {
		const session = version === '2' ? await session2({ port: secure ? ports.forwardTls : ports.forward, secure, host: 'localhost' }) : undefined;
		/* It gives up an idle connection before the gate does. */
		const agent = session ? undefined : new (secure ? https : http).Agent({ keepAlive: true, maxSockets: 2, timeout: 3000 });
		const make = session ? (...args) => ask2(session, ...args) : (...args) => ask1(agent, secure, ...args);
		for (let left = random.int(1, 30); left > 0 && !isOver; left--) {
			await Promise.all(Array.from({ length: random.int(1, 4) }, () => request(make, { version, secure })));
			await sleep(random.next() * 40000 / rate);
		}
		session?.close();
		agent?.destroy();
	}
}

/* ---- the run ---- */

process.on('message', (message) => {
	if (message === 'accounts')
		process.send({ accounts });
});
const begins = new Promise((resolve) => { process.on('message', (message) => message.ports && resolve(message.ports)); });
process.send({ ready: true, port: origin.address().port });
ports = await begins;
await Promise.all([['1.1', false], ['1.1', true], ['2', false], ['2', true]].map((one) => visitor(...one)));
origin.close();
origin.closeAllConnections?.();
process.send({ accounts, finished: true });
process.disconnect();
