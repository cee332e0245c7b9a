/* SPDX-License-Identifier: MIT */
/*
 * limit-requests on real connections: what a client over either protocol reads above a limit, what log and counters say,
 * and that held responses and tunnels count.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after } from 'node:test';
import { scenario, section, workDir } from '../support/gate.mjs';
import { connect1 } from '../support/http1.mjs';

const SERVER = { 'status-socket': 'status' };
const limited = (lines, more = {}) => ({ server: SERVER, routes: section('route main', { origin: 'main', 'limit-requests': lines, ...more }) });

async function client1(s) {
	const client = await connect1(s.port);
	s.cleanups.push(() => client.close());
	return client;
}

/* The origin answers whatever comes. */
async function serve(s) {
	const origin = await s.accept();
	(async () => {
		for (;;)
			origin.respond((await origin.expectRequest()).stream, { body: 'served' });
	})().catch(() => {}); /* its end is the test's */
	return origin;
}

// covers: R470 R471 R475
scenario('above the rate: 429 with Retry-After over HTTP/2, a line in both logs, a counter', limited('2/h'), async (s) => {
	const client = await s.connect();
	await client.ready();
	client.request(1);
	const serving = serve(s);
	assert.equal((await client.response(1)).status, 200);
	client.request(3);
	assert.equal((await client.response(3)).status, 200);
	client.request(5, { path: '/over', accept: 'application/json' });
	const answer = await client.response(5);
	assert.equal(answer.status, 429);
	assert.equal(answer.headers['retry-after'], '1800');
	assert.equal(answer.headers['content-type'], 'application/problem+json');
	assert.match(answer.headers['proxy-status'], /; error=http_request_denied; details="request-rate"$/);
	const line = await s.gate.access((l) => l.path === '/over');
	assert.equal(`${line.status} ${line.outcome} ${line.detail} ${line.route}`, '429 refused request-rate main');
	await s.gate.error(/main: client 127\.0\.0\.1: route main: over limit-requests = 2\/h, answered 429/);
	const counters = s.gate.counters();
	assert.equal(counters['pushgate_requests_limited_total{verdict="refused"}'], 1);
	assert.equal(counters['pushgate_end_total{cause="request-rate"}'], 1);
	assert.equal(counters['pushgate_route_limited_total{route="main",verdict="refused"}'], 1);
	await serving;
});

// covers: R470 R471
scenario('over HTTP/1.1 the connection goes on behind the answer, unless an upload is under way', limited('1/h'), async (s) => {
	const client = await client1(s);
	client.request('GET', '/', [['host', 'a.test']]);
	await serve(s);
	assert.equal((await client.response()).status, 200);
	for (const [method, connection] of [['GET', undefined], ['HEAD', undefined], ['POST', 'close']]) {
		client.request(method, '/over', [['host', 'a.test']], method === 'POST' ? { body: 'x'.repeat(50000) } : {});
		const answer = await client.response();
		assert.equal(`${method} ${answer.status} ${answer.headers['retry-after']}`, `${method} 429 3600`);
		assert.equal(answer.headers['cache-control'], 'no-store');
		assert.equal(answer.headers.connection, connection);
		assert.equal(String(answer.body), method === 'HEAD' ? '' : '429 Too Many Requests: request-rate\n');
	}
});

// covers: R470
scenario('with time, requests pass again', limited('20/s burst 1'), async (s) => {
	const client = await s.connect();
	await client.ready();
	client.request(1);
	await serve(s);
	assert.equal((await client.response(1)).status, 200);
	const statuses = new Set();
	for (let id = 3; !(statuses.has(429) && statuses.has(200)); id += 2) {
		client.request(id);
		statuses.add((await client.response(id)).status);
	}
});

// covers: R472
scenario('both protocols share what is counted for a client, and open requests count until they end', limited('concurrent=1'), async (s) => {
	const { client, origin, up } = await s.open();
	const other = await client1(s);
	other.request('GET', '/over', [['host', 'a.test']]);
	const answer = await other.response();
	assert.equal(`${answer.status} ${answer.headers['retry-after']}`, '429 1');
	origin.respond(up.stream, { body: 'done' });
	await client.response(1);
	await s.gate.access((l) => l.path === '/');
	other.request('GET', '/next', [['host', 'a.test']]);
	const second = await s.accept(); /* without push */
	second.respond((await second.expectRequest('/next')).stream, { body: 'next' });
	assert.equal(String((await other.response()).body), 'next');
	assert.equal((await s.gate.access((l) => l.path === '/over')).detail, 'request-concurrency');
});

// covers: R472
scenario('requests that are pipelined are open one after the other', limited('concurrent=1'), async (s) => {
	const client = await client1(s);
	for (const target of ['/1', '/2', '/3'])
		client.request('GET', target, [['host', 'a.test']]);
	await serve(s);
	for (let i = 0; i < 3; i++)
		assert.equal((await client.response()).status, 200);
});

// covers: R473
scenario('values of a field count apart, in a table that stays as it is', {
	...limited(['1/h by=field:X-Api-Key', 'concurrent=50 by=field:X-Api-Key']), server: { ...SERVER, 'limit-table': 1024 },
}, async (s) => {
	const client = await s.connect();
	await client.ready();
	client.request(1, { 'x-api-key': 'v0' });
	await serve(s);
	assert.equal((await client.response(1)).status, 200);
	let id = 3;
	for (const [key, status] of [['v0', 429], ['other', 200], ['other', 429]]) {
		client.request(id, { 'x-api-key': key });
		assert.equal((await client.response(id)).status, status, key);
		id += 2;
	}
	for (let i = 1; i < 2500; i += 50) {
		for (let k = 0; k < 50; k++)
			client.request(id + 2 * k, { 'x-api-key': `v${i + k}` });
		for (let k = 0; k < 50; k++)
			assert.equal((await client.response(id + 2 * k)).status, 200);
		id += 100;
	}
	assert.ok(s.gate.counters().limit_table_full > 500);
});

// covers: R474
scenario('a line in shadow refuses nothing, and says what it would', limited('1/h shadow'), async (s) => {
	const client = await s.connect();
	await client.ready();
	client.request(1);
	await serve(s);
	await client.response(1);
	for (let id = 3; id < 9; id += 2) {
		client.request(id);
		assert.equal((await client.response(id)).status, 200);
	}
	await s.gate.error(/over limit-requests = 1\/h shadow, which is in shadow: passes/);
	const counters = s.gate.counters();
	assert.equal(counters['pushgate_requests_limited_total{verdict="shadow"}'], 3);
	assert.equal(counters['pushgate_route_limited_total{route="main",verdict="shadow"}'], 3);
	assert.equal(counters['pushgate_requests_limited_total{verdict="refused"}'], 0);
});

// covers: R475
scenario('a request that a held response would answer counts, the push does not', {
	...limited('2/h'), extra: section('push hold', { action: 'hold' }),
}, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { enablePush: 0 } } });
	origin.push(up, 2, '/a.css');
	origin.respond(2, { fields: { 'cache-control': 'max-age=60' }, body: 'held' });
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	client.request(3, { path: '/a.css' });
	assert.equal(String((await client.response(3)).body), 'held');
	client.request(5, { path: '/a.css' });
	assert.equal((await client.response(5)).status, 429);
});

// covers: R472
scenario('a tunnel is open until it ends, and one too many is refused as any request', {
	...limited('concurrent=1', { upgrade: 'websocket' }), origins: { main: { settings: { enableConnectProtocol: 1 } } },
}, async (s) => {
	const client = await s.connect();
	await client.ready();
	const open = (id) => client.request(id, { method: 'CONNECT', ':protocol': 'websocket' }, { endStream: false });
	open(1);
	const origin = await s.accept();
	const up = await origin.expectRequest();
	origin.headers(up.stream, { ':status': 200 }, { endStream: false });
	assert.equal((await client.expectHead(1)).headers[':status'], '200');
	open(3);
	assert.equal((await client.expectHead(3)).headers[':status'], '429');
	client.rst(1, 'CANCEL');
	await origin.expectReset(up.stream, 'CANCEL');
	await s.gate.access((l) => l.tunnel === 'websocket');
	open(5);
	await origin.expectRequest();
});

// covers: R473
const dir = workDir();
after(() => fs.rmSync(dir, { recursive: true }));
const local = path.join(dir, 'local');
scenario('a client on a unix socket has no address to be counted by, and a value or the route counts all the same', {
	...limited(['1/h', '1/h by=field:x-key', '3/h by=all']), extra: section('listen local', { address: `unix:${local}` }),
}, async (s) => {
	const client = await connect1(0, { unix: local });
	s.cleanups.push(() => client.close());
	const ask = async (fields, status) => {
		client.request('GET', '/', [['host', 'a.test'], ...fields]);
		assert.equal((await client.response()).status, status);
	};
	const serving = serve(s);
	await ask([], 200);
	await ask([], 200);
	await ask([['x-key', 'one']], 200);
	await ask([['x-key', 'one']], 429);
	await ask([], 429);
	await s.gate.error(/local: client unix: route main: over limit-requests = 1\/h by=field:x-key, answered 429/);
	await serving;
});
