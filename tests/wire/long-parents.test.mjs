/* SPDX-License-Identifier: MIT */
/*
 * Parents that live long and wait for pushes (RFC 8030, event feeds): in a route with subscription = yes a parent that
 * is never answered gets every push in the order of its promise, however slow its client is, and costs nobody else
 * anything. Elsewhere the caps hold, and what they refuse is loud.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { freePort, scenario, section, sleep, until } from '../support/gate.mjs';
import { nodeOrigin } from '../support/node.mjs';
import { SCALE } from '../support/peer.mjs';

const MESSAGES = 2000;
const MIB = 1 << 20;
/* Sanitizers keep freed memory back, so their figures say nothing. */
const MEASURED = !/asan/.test(process.env.PUSHGATE ?? '') && !process.env.PUSHGATE_SANITIZED;

const routes = section('route feed', { path: '/feed', origin: 'main', subscription: 'yes' }) + section('route all', { origin: 'main' });
const server = { 'diary-entries': 0 };

const status = (s) => s.gate.status();
const counter = (s, name) => s.gate.counters()[name];
const statusSocket = { 'status-socket': 'status.sock' };

/* A client that asks for `path`, and notes what is promised and what is complete, in order. */
async function subscriber(s, path, settings = {}) {
	const got = { promised: [], done: [], resets: [], bytes: 0, answer: null };
	const paths = new Map();
	const onFrame = (f) => {
		if (f.type === 'PUSH_PROMISE') {
			paths.set(f.promised, f.headers[':path']);
			got.promised.push(f.headers[':path']);
		} else if (f.type === 'RST_STREAM') {
			got.resets.push(f);
		} else if (f.type === 'HEADERS' && f.stream === 1) {
			got.answer = f;
		}
		got.bytes += f.type === 'DATA' ? f.data.length : 0;
		if (f.endStream && paths.has(f.stream))
			got.done.push(paths.get(f.stream));
	};
	got.client = await s.connect({ settings, onFrame });
	got.client.request(1, { path });
	return got;
}
const names = (n) => Array.from({ length: n }, (_, i) => `/message/${i}`);
const all = (got, n, timeout) => until(() => `all pushes; ${got.done.length} of ${n} are complete`, () => got.done.length >= n, timeout);

function inOrder(got, n) {
	assert.deepEqual(got.promised, names(n));
	assert.deepEqual(got.done, names(n));
	assert.deepEqual(got.resets, []);
	assert.equal(got.answer, null);
}

// covers: P-sub-silent P-sub-caps P-sub-in-order P-sub-cancel
scenario('a subscription gets 2,000 pushes in order and is never answered', {
	routes, server: { ...server, ...statusSocket }, origin: { 'response-timeout': `${3 * SCALE}s` },
}, async (s) => {
	const got = await subscriber(s, '/feed');
	const origin = await s.accept();
	const up = await origin.expectRequest('/feed');
	const begun = Date.now();
	/* They last longer than response-timeout. */
	for (let i = 0; i < MESSAGES; i++) {
		origin.push(up, 2 + 2 * i, `/message/${i}`).respond(2 + 2 * i, { body: `${i}` });
		if (i % 50 === 49)
			await sleep(100 * SCALE);
	}
	await all(got, MESSAGES);
	assert.ok(Date.now() - begun > 3000 * SCALE);
	inOrder(got, MESSAGES);
	assert.equal(counter(s, 'subscriptions_open'), 1);
	/* Its cancellation closes its connection. */
	got.client.frame('RST_STREAM', 0, 1, Buffer.from([0, 0, 0, 8]));
	await origin.expectReset(up.stream, 'CANCEL');
	await origin.expectGoaway('NO_ERROR');
	await origin.expectClosed();
	assert.equal(counter(s, 'subscriptions_open'), 0);
});

// covers: P-sub-held-back P-sub-own-connection P-sub-origin-clocks
const port = await freePort();
scenario('a slow subscriber loses nothing, holds back its own connection alone, and memory stays bounded', {
	routes, server: { ...server, ...statusSocket, 'push-start-timeout': '100ms', 'max-pushes-per-parent': 20 },
	origins: { main: { server: `h2c://127.0.0.1:${port}` } }, timeout: 120000,
}, async (s) => {
	const body = Buffer.alloc(10000, 'x');
	const sent = { promised: 0 };
	await nodeOrigin(s, port, (stream, headers) => {
		if (!headers[':path'].startsWith('/feed')) {
			stream.respond();
			stream.end('page');
			return;
		}
		const next = () => {
			if (sent.promised === MESSAGES || stream.destroyed)
				return;
			stream.pushStream({ ':path': `/message/${sent.promised++}` }, (error, push) => {
				assert.equal(error, null);
				push.on('error', () => {});
				push.respond();
				push.end(body);
				setImmediate(next);
			});
		};
		next();
	});
	const other = await s.connect();
	const ask = async (id) => {
		other.request(id, { path: '/page' });
		assert.equal(String((await other.response(id)).body), 'page');
	};
	await ask(1);
	const before = s.gate.rss();
	const got = await subscriber(s, '/feed', { maxConcurrentStreams: 1, initialWindowSize: 5000 });
	await all(got, 5);
	got.client.socket.pause();
	await until('the origin is held back', () => counter(s, 'subscriptions_held_back') > 0);
	const late = counter(s, 'pushes_open');
	await sleep(500 * SCALE);
	for (let id = 3; id < 23; id += 2)
		await ask(id);
	assert.ok(late < MESSAGES / 2, `${late} pushes are open`);
	if (MEASURED)
		assert.ok(s.gate.rss() - before < 16 * MIB, `${s.gate.rss() - before} bytes more`);
	got.client.socket.resume();
	await all(got, MESSAGES, 60000 * SCALE);
	inOrder(got, MESSAGES);
	assert.equal(got.bytes, MESSAGES * body.length);
	assert.equal(counter(s, 'pushes_dropped'), 0);
	await ask(23);
});

// covers: P-sub-held-back P-sub-in-order
scenario('a slow subscriber loses nothing over TLS either', {
	routes, tls: true, originTls: true, server: { ...server, ...statusSocket, 'max-pushes-per-parent': 10 },
}, async (s) => {
	const count = 500;
	const got = await subscriber(s, '/feed', { maxConcurrentStreams: 1, initialWindowSize: 500 });
	const origin = await s.accept();
	const up = await origin.expectRequest('/feed');
	origin.push(up, 2, '/message/0').respond(2, { body: 'x' });
	await all(got, 1);
	got.client.socket.pause();
	for (let i = 1; i < count; i++)
		origin.push(up, 2 + 2 * i, `/message/${i}`).respond(2 + 2 * i, { body: 'y'.repeat(1000) });
	await until('the origin is held back', () => counter(s, 'subscriptions_held_back') > 0);
	got.client.socket.resume();
	await all(got, count, 30000 * SCALE);
	inOrder(got, count);
});

// covers: P-sub-refusals P-make-allowed
scenario('a subscription gets its pushes after the GOAWAY of a pushgate that drains, another page none', {
	routes, single: false, server: { ...server, ...statusSocket, 'drain-timeout': '1s', 'tunnel-drain-timeout': '1h' },
}, async (s) => {
	await s.gate.error(/ ready\n/);
	const got = await subscriber(s, '/feed');
	const origin = await s.accept(), feed = await origin.expectRequest('/feed');
	const page = await s.connect();
	page.request(1, { path: '/page' });
	const other = await s.accept(), up = await other.expectRequest('/page');
	const late = await s.connect();
	late.request(1, { path: '/late' });
	origin.push(feed, 2, '/message/0').respond(2, { body: '0' });
	await all(got, 1);
	fs.appendFileSync(s.gate.config, section('route more', { path: '/more', redirect: '/here' }));
	s.gate.child.kill('SIGHUP');
	await page.expectGoaway('NO_ERROR');
	await page.expectGoaway('NO_ERROR');
	origin.push(feed, 4, '/message/1').respond(4, { body: '1' });
	await all(got, 2);
	other.push(up, 2, '/none');
	await other.expectReset(2, 'CANCEL');
	other.respond(up.stream, { body: 'page' });
	assert.equal((await page.response(1)).status, 200);
	/* One is under way when drain-timeout is over. */
	origin.push(feed, 6, '/message/2').headers(6, { ':status': 200 });
	assert.equal((await late.response(1)).status, 503);
	origin.data(6, '2', { endStream: true });
	origin.push(feed, 8, '/message/3').respond(8, { body: '3' });
	await all(got, 4);
	inOrder(got, 4);
});

// covers: P-sub-limit
scenario('subscriptions above max-subscriptions get 503, and other requests are served', { routes, origin: { 'max-subscriptions': 1 } }, async (s) => {
	const { client, origin } = await s.open({ path: '/feed/1' });
	client.request(3, { path: '/feed/2' });
	const refused = await client.response(3);
	assert.equal(refused.status, 503);
	await s.gate.access((l) => l.path === '/feed/2' && l.detail === 'subscriptions-full');
	client.request(5, { path: '/page' });
	const second = await s.accept();
	assert.notEqual(second, origin);
	second.respond((await second.expectRequest('/page')).stream, { body: 'page' });
	assert.equal((await client.response(5)).status, 200);
});

// covers: P-recv-too-many
scenario('without the option the 1,001st push of a request is refused, with a reason in the logs', async (s) => {
	const { client, origin, up } = await s.open();
	for (let i = 0; i < 1000; i++) {
		const id = 2 + 2 * i;
		origin.push(up, id, `/message/${i}`).respond(id, { body: 'x' });
		if (i % 50 === 49) {
			const p = await client.expectPromise(`/message/${i}`);
			await client.response(p.promised);
			client.drop(() => true);
		}
	}
	origin.push(up, 2002, '/message/1000');
	await origin.expectReset(2002, 'REFUSED_STREAM');
	await s.gate.access((l) => l.path === '/message/1000' && l.reason === 'parent-life-cap');
	await s.gate.error(/origin main \(h2c:.*\): promises are refused: parent-life-cap: .*max-pushes-per-parent-life/);
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
});
// covers: P-recv-too-many
scenario('max-pushes-per-parent bounds the pushes that are open', { server: { 'max-pushes-per-parent': 2 } }, async (s) => {
	const { client, origin, up } = await s.open();
	for (const id of [2, 4, 6])
		origin.push(up, id, `/${id}`);
	await origin.expectReset(6, 'REFUSED_STREAM');
	origin.respond(2, { body: 'x' });
	await client.response((await client.expectPromise('/2')).promised);
	origin.push(up, 8, '/8').respond(8, { body: 'y' });
	assert.equal(String((await client.response((await client.expectPromise('/8')).promised)).body), 'y');
});

// covers: P-recv-too-many P-loud-log P-loud-status
scenario('promises past promise-rate are loud: log and status name origin, limit and end', {
	server: { ...statusSocket, 'promise-rate': 5, 'reset-rate': 10 },
}, async (s) => {
	const { client, origin, up } = await s.open();
	for (let i = 1; i <= 60; i++)
		origin.push(up, 2 * i, `/p${i}`);
	await origin.sync();
	await s.gate.error(/warn .*origin main \(h2c:.*\): promises are refused: promise-rate: .*Raise promise-rate.* 1 refused on this connection so far/);
	await s.gate.error(/warn .*origin main \(h2c:.*\): push is off for route main for 60 s: reset-budget: .*the last one: promise-rate/);
	assert.match(status(s), /^# route main: push from origin main is off for \d+ s more \(reset-budget\)$/m);
	assert.equal(counter(s, 'push_off_routes'), 1);
	assert.equal(s.gate.read('error.log').match(/: promises are refused: /g).length, 1);
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
});
// covers: P-loud-log P-loud-status
scenario('a connection on which push was turned off stands in status until it ends', {
	server: { ...statusSocket, 'promise-refusals': 5, 'reset-rate': 1000, 'max-pushes-per-parent': 1 },
}, async (s) => {
	const { client, origin, up } = await s.open();
	for (let i = 1; i <= 10; i++)
		origin.push(up, 2 * i, `/p${i}`);
	await origin.expect('SETTINGS', { ack: false, values: (v) => v.enablePush === 0 });
	await s.gate.error(/origin main \(h2c:.*\): push is off on this connection until it ends: more than promise-refusals = 5 .*parent-cap/);
	assert.match(status(s), /^# origin main: push is off on 1 connection until they end \(promise-refusals\)$/m);
	origin.respond(2, { body: 'x' }).respond(up.stream, { body: 'page' });
	await client.response(1);
	await origin.expectClosed();
	assert.doesNotMatch(status(s), /^# origin/m);
});
