/* SPDX-License-Identifier: MIT */
/*
 * The honest client, a process of its own with Node's http2. It asks at a steady rate, whatever becomes of the answers,
 * over three kinds of connection: one that stays, one that takes pushes, and fresh ones; each answer is compared with
 * what the origin has. It is told which phase it is ({phase}); {tell} gives what came of each phase's requests.
 */
import http2 from 'node:http2';
import { bodyOf } from './bodies.mjs';
import { SCALE } from '../support/peer.mjs';

const PATIENCE = 10000 * SCALE;
const PERIOD = 20; /* ms, from one request to the next */

let phases = {};
let phase = 'warm-up';
let clients = null;
const under = new Set(); /* requests under way */

const record = () => { phases[phase] ??= { latencies: [], failures: [] }; return phases[phase]; };

class Client {
	constructor(target, pushes) {
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

	/* One request; its phase is the one in which it began. */
	async get(path) {
		const mine = record();
		const begun = performance.now();
		const mark = {};
		under.add(mark);
		try {
			if (this.session.destroyed || this.session.closed)
				throw new Error(`its connection is over: ${this.fault}`);
			const stream = this.session.request({ ':path': path });
			let status;
			stream.on('response', (headers) => { status = headers[':status']; });
			const body = await gather(stream);
			if (status !== 200 || !body.equals(bodyOf(path)))
				throw new Error(`status ${status}, ${body.length} bytes of ${bodyOf(path).length}`);
			mine.latencies.push(performance.now() - begun - (path === '/slow' ? 50 : 0));
		} catch (error) {
			mine.failures.push(`${path} after ${Math.round(performance.now() - begun)} ms: ${error.message}${this.fault ? ` (${this.fault})` : ''}`);
		} finally {
			under.delete(mark);
		}
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

/* Of 20 requests 8 are small, 6 slow, 2 large, 2 for the page with pushes, 2 over fresh connections. */
function tick(target, n) {
	const turn = n % 20;
	if (turn % 10 === 3) {
		clients.pushes.get('/site');
	} else if (turn % 10 === 6 && target.fresh) {
		const fresh = new Client(target, false);
		fresh.get('/small').finally(() => fresh.session.close());
	} else {
		clients.steady.get(turn % 10 === 9 ? '/large' : turn % 3 === 0 ? '/slow' : '/small');
	}
}

function start(target) {
	phases = {};
	phase = 'warm-up';
	clients = { target, steady: new Client(target, false), pushes: new Client(target, true) };
	let n = 0;
	clients.timer = setInterval(() => tick(target, n++), PERIOD);
}

async function stop() {
	clearInterval(clients.timer);
	while (under.size)
		await new Promise((resolve) => { setTimeout(resolve, 10); });
	clients.steady.session.close();
	clients.pushes.session.close();
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
