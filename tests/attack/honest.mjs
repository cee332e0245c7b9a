/* SPDX-License-Identifier: MIT */
/*
 * The honest client, a process of its own with Node's http2. It asks every `period` ms, whatever becomes of the answers,
 * over three kinds of connection: one that stays, one that takes pushes, and fresh ones; and, if told so, over HTTP/1.1,
 * with connections that it uses again. Where the gate is a forward proxy it asks for everything at one authority, `forward`,
 * and through tunnels too. Each answer is compared with what the origin has. It is told which phase it is ({phase}); {tell} gives what came of each phase's requests.
 */
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { bodyOf } from './bodies.mjs';
import { SCALE } from '../support/peer.mjs';

const PATIENCE = 10000 * SCALE;

let phases = {};
let phase = 'warm-up';
let clients = null;
const under = new Set(); /* requests under way */

const record = () => { phases[phase] ??= { latencies: [], failures: [] }; return phases[phase]; };

class Client {
	constructor(target, pushes) {
		this.more = target.forward ? { ':scheme': 'http', ':authority': target.forward } : {};
		this.session = http2.connect(`${target.tls ? 'https' : 'http'}://localhost:${target.port}`, {
			settings: { enablePush: pushes }, ca: target.ca, host: '127.0.0.1', localAddress: '127.0.0.1', family: 4,
		});
		this.session.on('error', (error) => { this.fault = error.message; });
		this.session.on('goaway', (code) => { this.fault = `GOAWAY ${code}`; });
		this.session.on('stream', (stream, headers) => this.#pushed(stream, headers[':path']));
	}

	#pushed(stream, path) {
		const mine = record();
		gather(stream).then((body) => {
			if (!body.equals(bodyOf(path)))
				mine.failures.push(`push ${path}: ${body.length} bytes of ${bodyOf(path).length}`);
		}, (error) => mine.failures.push(`push ${path}: ${error.message}`));
	}

	get(path) {
		return timed(path, async () => {
			if (this.session.destroyed || this.session.closed)
				throw new Error(`its connection is over: ${this.fault}`);
			const stream = this.session.request({ ':path': path, ...this.more });
			let status;
			stream.on('response', (headers) => { status = headers[':status']; });
			const body = await gather(stream);
			compare(status, body, bodyOf(path));
		}, () => (this.fault ? ` (${this.fault})` : ''));
	}
}

/* HTTP/1.1: at the host one.test, an origin of that version; at localhost, the one of HTTP/2. */
class Client1 {
	#n = 0;

	constructor(target) {
		this.module = target.tls ? https : http;
		this.forward = target.forward;
		this.options = { port: target.port, host: '127.0.0.1', localAddress: '127.0.0.1', ...(target.tls ? { ca: target.ca, servername: 'localhost' } : {}) };
		/* It gives up an idle connection before the gate would, in the rows in which that is soon. */
		this.agent = new this.module.Agent({ keepAlive: true, maxSockets: 16, timeout: 500 });
	}

	/* `upload`: bytes of a POST, in chunks. */
	get(path, { host = 'localhost', upload = 0, agent = this.agent } = {}) {
		const target = `${path}?${this.#n++}`;
		const saysPath = host === 'one.test' || this.forward;
		if (this.forward)
			host = this.forward;
		return timed(`${host}${path} over HTTP/1.1`, () => new Promise((resolve, reject) => {
			const request = this.module.request({
				...this.options, agent, path: this.forward ? `http://${host}${target}` : saysPath ? target : path, method: upload ? 'POST' : 'GET', headers: { host },
			});
			const timer = setTimeout(() => request.destroy(new Error('no end')), PATIENCE);
			request.on('error', reject);
			request.on('close', () => clearTimeout(timer));
			request.on('response', async (response) => {
				const parts = [];
				try {
					for await (const part of response)
						parts.push(part);
					if (saysPath && response.headers['x-path'] !== target)
						throw new Error(`the answer to ${response.headers['x-path']}`);
					compare(response.statusCode, Buffer.concat(parts), upload ? Buffer.from(String(upload)) : bodyOf(path));
					resolve();
				} catch (error) {
					reject(error);
				}
			});
			if (upload)
				request.write(Buffer.alloc(upload - 1));
			request.end(upload ? Buffer.alloc(1) : undefined);
		}));
	}

	/* A tunnel of its own, and in it one request. */
	tunnelled(path) {
		const target = `${path}?${this.#n++}`;
		return timed(`CONNECT, ${path}`, async () => {
			const socket = await this.#tunnel();
			try {
				const answer = await new Promise((resolve, reject) => {
					http.get({ createConnection: () => socket, path: target, headers: { host: this.forward } }, resolve).on('error', reject);
				});
				const parts = [];
				for await (const part of answer)
					parts.push(part);
				compare(answer.statusCode, Buffer.concat(parts), bodyOf(path));
			} finally {
				socket.destroy();
			}
		});
	}

	#tunnel() {
		return new Promise((resolve, reject) => {
			const request = this.module.request({ ...this.options, agent: false, method: 'CONNECT', path: this.forward, headers: { host: this.forward } });
			const timer = setTimeout(() => request.destroy(new Error('no answer')), PATIENCE);
			request.on('close', () => clearTimeout(timer));
			request.on('error', reject);
			request.on('response', (response) => { request.destroy(); reject(new Error(`CONNECT got ${response.statusCode}`)); });
			request.on('connect', (response, socket) => {
				socket.on('error', () => {});
				if (response.statusCode === 200)
					return resolve(socket);
				socket.destroy();
				return reject(new Error(`CONNECT got ${response.statusCode}`));
			});
			request.end();
		});
	}

	close() { this.agent.destroy(); }
}

function compare(status, body, expected) {
	if (status !== 200 || !body.equals(expected))
		throw new Error(`status ${status}, ${body.length} bytes of ${expected.length}`);
}

/* One request; its phase is the one in which it began. */
async function timed(path, work, more = () => '') {
	const mine = record();
	const begun = performance.now();
	const mark = {};
	under.add(mark);
	try {
		await work();
		mine.latencies.push(performance.now() - begun - (path.includes('/slow') ? 50 : 0));
	} catch (error) {
		mine.failures.push(`${path} after ${Math.round(performance.now() - begun)} ms: ${error.message}${more()}`);
	} finally {
		under.delete(mark);
	}
}

function gather(stream) {
	return new Promise((resolve, reject) => {
		const parts = [];
		const timer = setTimeout(() => { reject(new Error('no end')); stream.close(); }, PATIENCE);
		stream.on('data', (chunk) => parts.push(chunk));
		stream.on('error', () => {});
		stream.on('close', () => {
			clearTimeout(timer);
			if (stream.rstCode)
				reject(new Error(`reset with ${stream.rstCode}`));
			else
				resolve(Buffer.concat(parts));
		});
	});
}

/* A connection that the gate has ended because nothing was asked on it for a time: on a slow machine that may come. */
const isIdled = ({ session, fault }) => fault === 'GOAWAY 0' && (session.closed || session.destroyed);

/* Of 20 requests 8 are small, 6 slow, 2 large, 2 for the page with pushes, 2 over fresh connections. */
function tick(target, n) {
	const turn = n % 20;
	for (const kind of target.mayIdle ? ['steady', 'pushes'] : [])
		if (isIdled(clients[kind]))
			clients[kind] = new Client(target, kind === 'pushes');
	if (turn % 10 === 3) {
		clients.pushes.get('/site');
	} else if (turn % 10 === 6 && target.fresh) {
		const fresh = new Client(target, false);
		fresh.get('/small').finally(() => fresh.session.close());
	} else {
		clients.steady.get(turn % 10 === 9 ? '/large' : turn % 3 === 0 ? '/slow' : '/small');
	}
}

/* Of 20 over HTTP/1.1, 13 go to the origin of that version; 2 are uploads, 2 over fresh connections. In forward mode 2 more through tunnels. */
function tick1(target, n) {
	const turn = n % 20;
	if (target.forward && target.fresh && turn % 10 === 7)
		clients.one.tunnelled('/small');
	else if (turn % 10 === 2)
		clients.one.get('/upload', { host: 'one.test', upload: 3000 });
	else if (turn % 10 === 5 && target.fresh)
		clients.one.get('/small', { host: 'one.test', agent: false });
	else
		clients.one.get(turn % 10 === 8 ? '/large' : turn % 3 === 0 ? '/slow' : '/small', { host: turn % 3 === 1 ? 'localhost' : 'one.test' });
}

function start(target) {
	phases = {};
	phase = 'warm-up';
	clients = { target, steady: new Client(target, false), pushes: new Client(target, true) };
	if (target.http1)
		clients.one = new Client1(target);
	let n = 0;
	/* In turn, where there are both versions: the rate stays. */
	clients.timer = setInterval(() => {
		const turn = n++;
		if (!target.http1)
			tick(target, turn);
		else if (turn & 1)
			tick1(target, turn >> 1);
		else
			tick(target, turn >> 1);
	}, target.period);
}

async function stop() {
	clearInterval(clients.timer);
	while (under.size)
		await new Promise((resolve) => { setTimeout(resolve, 10); });
	clients.steady.session.close();
	clients.pushes.session.close();
	clients.one?.close();
	clients = null;
}

process.on('message', async (message) => {
	if (message.start)
		start(message.start);
	else if (message.phase)
		phase = message.phase;
	else if (message.fresh)
		clients.target.fresh = true;
	else if (message.stop)
		await stop();
	process.send({ result: message.stop ? phases : Object.fromEntries(Object.entries(phases).map(([k, v]) => [k, v.latencies.length])) });
});
process.on('disconnect', () => process.exit());
