/* SPDX-License-Identifier: MIT */
/*
 * A request that is too large for its origin harms itself alone: its target counts as its fields do, in each version; what
 * the origin takes bounds what it is sent; and a request that has made an origin end its connection is not repeated.
 */
import assert from 'node:assert/strict';
import { samples, scenario } from '../support/gate.mjs';
import { connect1 } from '../support/http1.mjs';
import { forward } from '../support/forward.mjs';
import { listen } from '../support/peer.mjs';

const HOST = [['Host', 'localhost']];
const long = (n) => `/${'x'.repeat(n - 1)}`;
const SERVER = { 'status-socket': 'status' };
/* In frames that every peer takes. */
const SPLIT = { split: Array.from({ length: 8 }, () => 16000) };
const ended = (s, cause) => samples(s.gate.status())[`pushgate_end_total{cause="${cause}"}`];

/* ---- what clients may send ---- */

/* Downloads on the only connection to the origin, beside what `body` does. */
async function besideADownload(s, body) {
	const { client, origin, up } = await s.open({ path: '/download', client: { settings: { enablePush: 0 } } });
	origin.headers(up.stream, { ':status': 200 }).data(up.stream, 'first ');
	await client.expect('DATA', { stream: 1 });
	await body(client, origin);
	origin.data(up.stream, 'last', { endStream: true });
	assert.equal(String((await client.expect('DATA', { stream: 1 })).data), 'last');
	assert.equal(s.server.connections.length, 1);
}

// covers: R115 R317
scenario('a target of HTTP/1.1 counts as fields do: 414 by itself, 431 with the others; the download beside it goes on', { server: SERVER }, async (s) => {
	await besideADownload(s, async (client, origin) => {
		for (const [target, fields, status] of [
			[long(66000), [], 414],
			[long(100000), [], 414],
			[`http://localhost${long(70000)}`, [], 414],
			[long(40000), [['X-A', 'a'.repeat(40000)]], 431],
			[long(65536 - 200), [['X-A', 'a'.repeat(100)]], 431],
		]) {
			const c = await connect1(s.port);
			c.request('GET', target, [...HOST, ...fields]);
			assert.equal((await c.response()).status, status);
			await c.over();
		}
		client.request(3, { path: long(66000) }, SPLIT);
		assert.equal((await client.response(3)).status, 431);
		await origin.sync();
		assert.equal(origin.seen('HEADERS').length, 0);
	});
	assert.equal(ended(s, 'target-too-long'), 3);
	assert.equal(ended(s, 'fields-too-large'), 3);
});

scenario('a target below the limit passes in HTTP/1.1', { listen: { 'max-header-list': '16k' } }, async (s) => {
	const c = await connect1(s.port);
	c.request('GET', long(15000), HOST);
	const origin = await s.accept();
	origin.respond((await origin.expectRequest(long(15000))).stream, { fields: { 'content-length': '2' }, body: 'ok' });
	assert.equal((await c.response()).status, 200);
	c.request('GET', long(17000), HOST);
	assert.equal((await c.response()).status, 414);
});

forward('forward mode: a target in absolute-form counts too', {}, async (s) => {
	const c = await connect1(s.port);
	c.request('GET', `${s.http}${long(70000)}`, [['Host', `www.a.test:${s.ports.h1}`]]);
	assert.equal((await c.response()).status, 414);
});

/* ---- what origins are sent ---- */

const LARGE = { 'max-header-list': '128k' };

async function refusedForOrigin(s, path, origin) {
	const c = await connect1(s.port);
	c.request('GET', path, HOST);
	const answer = await c.response();
	assert.equal(answer.status, 431);
	assert.ok(ended(s, 'fields-too-large-for-origin') > 0);
	await origin.sync();
	assert.equal(origin.seen('HEADERS').length, 0);
	c.close();
}

// covers: R163
scenario('an origin that announces no limit is sent at most max-request-list; the download beside it goes on', { server: SERVER, listen: LARGE }, async (s) => {
	await besideADownload(s, async (client, origin) => {
		await refusedForOrigin(s, long(66000), origin);
		client.request(3, { path: '/fields', 'x-a': 'a'.repeat(40000), 'x-b': 'b'.repeat(30000) }, SPLIT);
		assert.equal((await client.response(3)).status, 431);
		client.request(5, { path: long(60000) }, SPLIT);
		origin.respond((await origin.expectRequest(long(60000))).stream, { status: 204 });
		assert.equal((await client.response(5)).status, 204);
	});
});

// covers: R163
scenario('max-request-list says what an origin takes that announces nothing', { server: SERVER, listen: LARGE, origin: { 'max-request-list': '100k' } }, async (s) => {
	const client = await s.connect();
	client.request(1, { path: long(90000) }, SPLIT);
	const origin = await s.accept();
	origin.respond((await origin.expectRequest(long(90000))).stream, { status: 204 });
	assert.equal((await client.response(1)).status, 204);
	await refusedForOrigin(s, long(103000), origin);
});

// covers: R163
scenario('an origin that announces more is sent more', { listen: LARGE, origins: { main: { settings: { maxHeaderListSize: 200000 } } } }, async (s) => {
	const client = await s.connect();
	client.request(1, { path: long(90000) }, SPLIT);
	const origin = await s.accept();
	origin.respond((await origin.expectRequest(long(90000))).stream, { status: 204 });
	assert.equal((await client.response(1)).status, 204);
});

/* ---- requests that end connections ---- */

const isFine = async (client, id) => assert.equal(String((await client.response(id)).body), 'fine');

/* Three requests on one connection, which then ends with this error. */
const ends = (name, code, lastId, body) => scenario(name, { server: SERVER }, async (s) => {
	const { client, origin, up } = await s.open({ path: '/good' });
	client.request(3, { path: '/evil' });
	await origin.expectRequest('/evil');
	client.request(5, { path: '/later' });
	await origin.expectRequest('/later');
	origin.goaway(lastId(up), code).end();
	await body(s, client, up);
});

for (const code of ['COMPRESSION_ERROR', 'PROTOCOL_ERROR', 'INTERNAL_ERROR', 'FRAME_SIZE_ERROR']) {
	// covers: R157 R158
	ends(`GOAWAY ${code}: the first request that was not processed is not repeated, those behind it are`, code, (up) => up.stream, async (s, client) => {
		const answer = await client.response(3);
		assert.equal(answer.status, 502);
		const line = await s.gate.access((l) => l.path === '/evil');
		assert.equal(line.retried ?? false, false);
		assert.equal(ended(s, 'origin-ended-by-request'), 1);
		const next = await s.accept();
		next.respond((await next.expectRequest('/later')).stream, { body: 'fine' });
		await isFine(client, 5);
		assert.equal((await client.response(1)).status, 502); /* it may have been processed, and there is no other server */
		await s.settle(client, next);
		assert.equal(s.server.connections.length, 2);
	});
}

// covers: R157 R158
ends('GOAWAY ENHANCE_YOUR_CALM is about the connection: all that was not processed is repeated', 'ENHANCE_YOUR_CALM', (up) => up.stream, async (s, client) => {
	const next = await s.accept();
	for (const [id, path] of [[3, '/evil'], [5, '/later']]) {
		next.respond((await next.expectRequest(path)).stream, { body: 'fine' });
		await isFine(client, id);
	}
});

// covers: R157 R158
scenario('a request that ends connections is sent twice at most, though the ids are wrong', {
	server: { 'status-socket': 'status' },
}, async (s) => {
	const { client, origin } = await s.open({ path: '/good' });
	client.request(3, { path: '/evil' });
	await origin.expectRequest('/evil');
	origin.goaway(0, 'COMPRESSION_ERROR').end(); /* as if nothing had been read */
	const next = await s.accept();
	await next.expectRequest('/evil');
	client.request(5, { path: '/other' });
	await next.expectRequest('/other');
	next.goaway(0, 'COMPRESSION_ERROR').end();
	assert.equal((await client.response(3)).status, 502);
	const last = await s.accept();
	const again = await last.expectRequest('/other');
	last.respond(again.stream, { body: 'fine' });
	await isFine(client, 5);
	assert.equal(s.server.connections.length, 3);
});

// covers: R157 R158
const pair = { servers: [], origin: {} };
scenario('a request that ends its connection is repeated at no other server, though that is wanted of lost ones', {
	origins: { main: pair.origin },
	async prepare(s) {
		for (let i = 0; i < 2; i++) {
			pair.servers.push(await listen({ name: `server#${i}` }));
			s.cleanups.push(() => pair.servers[i].close());
		}
		pair.origin.server = pair.servers.map((server) => `h2c://127.0.0.1:${server.port}`);
	},
}, async (s) => {
	const client = await s.connect();
	client.request(1, { path: '/evil' });
	const first = await Promise.any(pair.servers.map((server) => server.accept()));
	const up = await first.expectRequest('/evil');
	first.goaway(up.stream, 'PROTOCOL_ERROR').end(); /* it was processed, this says */
	assert.equal((await client.response(1)).status, 502);
	assert.equal(pair.servers[0].connections.length + pair.servers[1].connections.length, 1);
});
