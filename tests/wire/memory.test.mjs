/* SPDX-License-Identifier: MIT */
/*
 * The worker's memory is used up by clients that take nothing of large responses. What they keep is bounded, an
 * honest client beside them is served, refused at most in a way that it may send again, and when they are gone so is
 * what they kept.
 */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { freePort, scenario, sleep, until } from '../support/gate.mjs';
import { nodeOrigin } from '../support/node.mjs';

/* Sanitizers keep freed memory back, so their figures say nothing. */
const MEASURED = !/asan/.test(process.env.PUSHGATE ?? '') && !process.env.PUSHGATE_SANITIZED;
const MIB = 1 << 20;
const PIECE = Buffer.alloc(16384, 'x');

const counters = (s) => s.gate.counters();

const originPort = await freePort();

/* As an honest client does: a refused request is sent once more, and a connection that goes away replaced. */
class Honest {
	#id = -1;
	refused = 0;

	constructor(s) { this.s = s; }

	/* The head of the answer, or what came instead; NULL when the connection was closed on us. */
	async #answer(path) {
		try {
			this.client ??= await this.s.connect();
			this.#id += 2;
			this.client.request(this.#id, { path });
			return await this.client.take((x) => (x.stream === this.#id && ['HEADERS', 'RST_STREAM'].includes(x.type)) || x.type === 'GOAWAY', 'an answer');
		} catch (error) {
			if (!this.client || !this.client.ended)
				throw error;
			return null;
		}
	}

	async ask(path) {
		for (;;) {
			const f = await this.#answer(path);
			if (f?.type === 'HEADERS' && f.headers[':status'] === '200') {
				const body = await this.client.expect('DATA', { stream: this.#id });
				assert.equal(String(body.data), path);
				return;
			}
			this.refused++;
			if (f?.type === 'RST_STREAM')
				assert.equal(f.code, 'REFUSED_STREAM');
			else if (f?.type === 'HEADERS')
				assert.equal(f.headers[':status'], '503');
			if (!f || f.type === 'GOAWAY') {
				assert.equal(f?.code ?? 'NO_ERROR', 'NO_ERROR');
				this.client = null;
				this.#id = -1;
			}
			await sleep(20);
		}
	}
}

// covers: R62 R63
scenario('clients that take nothing use up the memory: an honest one is served, and it all comes back', {
	origins: { main: { server: `h2c://127.0.0.1:${originPort}` } }, server: { memory: '16M', 'connection-memory': '4M', 'status-socket': 'status' },
}, async (s) => {
	await nodeOrigin(s, originPort, (stream, headers) => {
		stream.respond({ ':status': 200 });
		if (headers[':path'].startsWith('/large')) /* 4 MiB, as fast as the window lets it */
			Readable.from(Array(256).fill(PIECE)).pipe(stream);
		else
			stream.end(headers[':path']);
	});
	const honest = new Honest(s);
	await honest.ask('/first');
	const before = s.gate.rss();
	const stuck = [];
	for (let i = 0; i < 30; i++) {
		const c = await s.connect({ auto: { window: false } });
		c.checking = false;
		stuck.push(c);
		for (let j = 0; j < 10; j++)
			c.request(2 * j + 1, { path: `/large/${i}/${j}` });
		await honest.ask(`/meanwhile/${i}`);
	}
	await until('memory is short', () => counters(s)['pushgate_shed_total{kind="stream"}'] > 0);
	let most = 0;
	for (let i = 0; i < 50; i++) {
		await honest.ask(`/small/${i}`);
		most = Math.max(most, s.gate.rss());
	}
	if (MEASURED)
		assert.ok(most - before < 32 * MIB, `grown by ${((most - before) / MIB).toFixed(1)} MiB`);
	const peak = counters(s);
	assert.ok(peak.memory_used_bytes < 20 * MIB, `${peak.memory_used_bytes} bytes are in use`);
	for (const c of stuck)
		c.close();
	await until(() => `memory comes back: ${counters(s).memory_used_bytes}`, () => counters(s).memory_used_bytes < MIB);
	/* The system gets it too: ten seconds after the peak, in steps. */
	if (MEASURED)
		await until(() => `${((s.gate.rss() - before) / MIB).toFixed(1)} MiB are still resident`, () => s.gate.rss() - before < 8 * MIB, 30000);
	const { refused } = honest;
	for (let i = 0; i < 20; i++)
		await honest.ask(`/after/${i}`);
	assert.equal(honest.refused, refused);
});

/* Address space: what the program begins with, and some tens of MiB. */
const LIMIT_KIB = 44 * 1024;

// covers: R233
scenario('the system gives less than `memory`: the start says so, load is shed, and an honest client is served', {
	skip: MEASURED ? false : 'a sanitizer needs terabytes of address space',
	origins: { main: { server: `h2c://127.0.0.1:${originPort}` } },
	server: { memory: '1G', 'connection-memory': '16M', 'status-socket': 'status' },
	wrap: ['sh', '-c', `ulimit -v ${LIMIT_KIB} && exec "$@"`, 'sh'],
}, async (s) => {
	await until(() => `the start says so: ${s.gate.stderr}`,
		() => /a process may have 44 MiB, too few for a worker, which may want \d+ MiB: 1024 of memory/.test(s.gate.stderr));
	await nodeOrigin(s, originPort, (stream, headers) => {
		stream.respond({ ':status': 200 });
		if (headers[':path'].startsWith('/large'))
			Readable.from(Array(256).fill(PIECE)).pipe(stream);
		else
			stream.end(headers[':path']);
	});
	const honest = new Honest(s);
	await honest.ask('/first');
	const stuck = [];
	for (let i = 0; i < 200 && !/the system refuses memory/.test(s.gate.read('error.log')); i++) {
		const c = await s.connect({ auto: { window: false } }).catch(() => null);
		if (!c)
			continue;
		c.checking = false;
		stuck.push(c);
		for (let j = 0; j < 20; j++)
			c.request(2 * j + 1, { path: `/large/${i}/${j}` });
		await honest.ask(`/meanwhile/${i}`);
	}
	await s.gate.error(/the system refuses memory with \d+ bytes in use/);
	for (let i = 0; i < 50; i++)
		await honest.ask(`/short/${i}`);
	assert.ok(counters(s).memory_system_refusals > 0);
	for (const c of stuck)
		c.close();
	await until(() => `memory comes back: ${counters(s).memory_used_bytes}`, () => counters(s).memory_used_bytes < MIB);
	for (let i = 0; i < 20; i++)
		await honest.ask(`/after/${i}`);
});
