/* SPDX-License-Identifier: MIT */
/*
 * Requests that are sent again: to another server of the origin, after which failures, how often, and never twice to
 * the same one. Which server is asked first is the balance's to say: a test asks until the faulty one has been.
 */
import assert from 'node:assert/strict';
import net from 'node:net';
import { freePort, scenario, section } from '../support/gate.mjs';
import { recordingOrigin, response } from '../support/http1.mjs';
import { listen } from '../support/peer.mjs';

/* ---- servers ---- */

/*
 * A server in HTTP/1.1: `answer` gets each complete request and its connection. `asked` has their paths, in order. Its
 * port is known before the scenario starts, so that its line `server` can be written.
 */
const http1 = (answer) => ({
	asked: [],
	async open() {
		this.peer = await recordingOrigin({ respond: (m, c) => { this.asked.push(m.target); answer(m, c); } });
		this.line = `http://127.0.0.1:${this.peer.port}`;
	},
	close() { return this.peer.close(); },
});

/* The same in HTTP/2: `answer` gets the head of each request, and its connection. */
const http2 = (answer) => ({
	asked: [],
	async open() {
		this.peer = await listen({ name: 'server' });
		this.line = `h2c://127.0.0.1:${this.peer.port}`;
		const serve = async (c) => {
			for (;;) {
				const f = await c.expectRequest(undefined, 1e6);
				this.asked.push(f.headers[':path']);
				answer(f, c);
			}
		};
		const welcome = async () => {
			for (;;)
				serve(await this.peer.accept(1e6)).catch(() => {});
		};
		welcome().catch(() => {});
	},
	close() { return this.peer.close(); },
});

/* Nothing listens there. */
const dead = (scheme) => ({
	async open() { this.line = `${scheme}://127.0.0.1:${await freePort()}`; },
	close() {},
});

/* Answers whatever comes in HTTP/1.1. */
const speaksHttp1 = () => ({
	async open() {
		this.sockets = [];
		this.server = net.createServer((c) => {
			this.sockets.push(c.on('error', () => {}).resume());
			c.write('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
		});
		await new Promise((resolve) => { this.server.listen(0, '127.0.0.1', resolve); });
		this.line = `h2c://127.0.0.1:${this.server.address().port}`;
	},
	close() {
		for (const c of this.sockets)
			c.destroy();
		return new Promise((resolve) => { this.server.close(resolve); });
	},
});

const ok1 = () => http1((m, c) => c.send(response(200, [], { body: m.method === 'HEAD' ? '' : 'fine' })));
const ok2 = () => http2((f, c) => c.respond(f.stream, { body: 'fine' }));
const says = (status, body = 'sorry') => http1((m, c) => c.send(response(status, [], { body })));
const dies = () => http1((m, c) => c.abort());
const mute = () => http1(() => {});

/* A scenario with these servers. options: origin, route: options of the sections. */
function fleet(name, servers, { origin = {}, route = {} }, body) {
	const main = { config: origin };
	scenario(name, {
		server: { 'status-socket': 'status' },
		origins: { main },
		routes: section('route main', { origin: 'main', ...route }),
		async prepare(s) {
			for (const server of servers) {
				await server.open();
				s.cleanups.push(() => server.close());
			}
			main.server = servers.map((server) => server.line);
		},
	}, async (s) => {
		s.next = 1;
		s.ask = async (path, request = {}) => {
			s.client ??= await s.connect();
			const id = s.next;
			s.next += 2;
			s.client.request(id, { path, ...request });
			return s.client.response(id);
		};
		await body(s, ...servers);
	});
}

/* Asks for one path after another until `server` has been asked, or for `least` of them. */
async function askUntil(s, server, { least = 1, request = {}, check = () => {} } = {}) {
	const paths = [];
	for (let n = 0; n < least || server.asked.length === 0; n++) {
		assert.ok(n < 200, 'the faulty server is never asked');
		paths.push(`/${n}`);
		check(await s.ask(`/${n}`, request), `/${n}`);
	}
	return paths;
}
const isFine = (r) => assert.deepEqual([r.status, String(r.body)], [200, 'fine']);
const isNeverAskedTwice = (...servers) => {
	for (const server of servers)
		assert.deepEqual([...new Set(server.asked)], server.asked);
};

/* ---- what no server has processed ---- */
// covers: R72 R158
for (const [method, live, scheme] of [['GET', ok1, 'http'], ['POST', ok1, 'http'], ['GET', ok2, 'h2c'], ['POST', ok2, 'h2c']])
	fleet(`a server that cannot be connected to costs no ${method} over ${scheme}`, [dead(scheme), live()], {}, async (s) => {
		/* Which server is asked is a matter of chance. */
		const retries = () => s.gate.counters()['pushgate_retries_total{cause="unprocessed"}'] ?? 0;
		for (let n = 0; n < 10 || (retries() === 0 && n < 200); n++)
			isFine(await s.ask(`/${n}`, { method }));
		const line = await s.gate.access((l) => l.retried);
		assert.equal(line.retries, 1);
		assert.ok(retries() > 0);
	});

for (const method of ['GET', 'POST'])
	fleet(`REFUSED_STREAM: a ${method} goes to another server`,
		[http2((f, c) => c.rst(f.stream, 'REFUSED_STREAM')), ok2()], {}, async (s, refuses, fine) => {
			const paths = await askUntil(s, refuses, { request: { method }, check: isFine });
			assert.deepEqual(fine.asked, paths);
			isNeverAskedTwice(refuses, fine);
			assert.ok(s.gate.counters()['pushgate_retries_total{cause="unprocessed"}'] > 0);
			const line = await s.gate.access((l) => l.path === refuses.asked[0]);
			assert.deepEqual([line.retried, line.retries], [true, 1]);
		});

fleet('above the last id of GOAWAY: a POST goes to another server',
	[http2((f, c) => c.goaway(Math.max(0, f.stream - 2))), ok2()], {}, async (s, goes, fine) => {
		const paths = await askUntil(s, goes, { request: { method: 'POST' }, check: isFine });
		assert.deepEqual(fine.asked, paths);
	});

/* Nothing of it has been processed anywhere, so nothing bounds it but the servers that there are. */
fleet('all servers refuse: each is asked once, and the client may come back',
	[1, 2, 3].map(() => http2((f, c) => c.rst(f.stream, 'REFUSED_STREAM'))), { origin: { 'retry-budget': '0%' } },
	async (s, ...servers) => {
		const r = await s.ask('/', { method: 'POST' });
		assert.deepEqual([r.status, r.headers['retry-after']], [503, '1']);
		assert.deepEqual(servers.map((server) => server.asked), [['/'], ['/'], ['/']]);
	});

/* Whichever is tried last, what is told is what the operator can mend. */
fleet('one server is not there, the other speaks HTTP/1.1 where HTTP/2 is needed: that is told',
	[dead('h2c'), speaksHttp1()],
	{}, async (s) => {
		for (let n = 0; n < 4; n++) {
			const r = await s.ask(`/${n}`);
			assert.equal(r.status, 502);
			assert.match(r.headers['proxy-status'], /error=http_protocol_error/);
		}
	});

fleet('one server that cannot be connected to: 503 with Retry-After', [dead('http')], {}, async (s) => {
	const r = await s.ask('/');
	assert.deepEqual([r.status, r.headers['retry-after']], [503, '1']);
});

/* ---- what a server may have processed ---- */
// covers: R158
for (const method of ['GET', 'PUT', 'DELETE'])
	fleet(`lost before the response: a ${method} goes to another server`, [dies(), ok1()], {}, async (s, server, fine) => {
		const paths = await askUntil(s, server, { request: { method }, check: isFine });
		assert.deepEqual(fine.asked, paths);
		isNeverAskedTwice(server, fine);
		assert.ok(s.gate.counters()['pushgate_retries_total{cause="lost"}'] > 0);
	});

fleet('a stream that is reset before its response is lost too',
	[http2((f, c) => c.rst(f.stream, 'INTERNAL_ERROR')), ok2()], {}, async (s, server, fine) => {
		assert.deepEqual(await askUntil(s, server, { check: isFine }), fine.asked);
	});


for (const [what, route] of [['POST', {}], ['GET', { 'retry-on': 'off' }], ['GET', { 'retry-on': '503 late' }], ['GET', { retries: 0 }]])
	fleet(`lost before the response: a ${what} with ${JSON.stringify(route)} gets 502`, [dies(), ok1()], { route },
		async (s, server, fine) => {
			await askUntil(s, server, {
				request: { method: what },
				check: (r, path) => assert.equal(r.status, server.asked.includes(path) ? 502 : 200),
			});
			assert.ok(!fine.asked.includes(server.asked[0]));
		});

fleet('lost before the response, and no other server: 502', [dies()], {}, async (s, server) => {
	assert.equal((await s.ask('/')).status, 502);
	assert.deepEqual(server.asked, ['/']);
});

fleet('a request whose body has left is not sent again', [dies(), ok1()], {}, async (s, server, fine) => {
	const client = await s.connect();
	for (let id = 1; server.asked.length === 0; id += 2) {
		assert.ok(id < 400);
		client.request(id, { path: `/${id}`, method: 'PUT' }, { endStream: false });
		client.data(id, 'body', { endStream: true });
		const r = await client.response(id);
		assert.equal(r.status, server.asked.length > 0 ? 502 : 200);
	}
	assert.ok(!fine.asked.includes(server.asked[0]));
});

fleet('no server gets the same request twice, and retries bounds how many get it',
	[1, 2, 3, 4].map(dies), { route: { retries: 2 } }, async (s, ...servers) => {
		assert.equal((await s.ask('/')).status, 502);
		assert.equal(servers.flatMap((server) => server.asked).length, 3);
		isNeverAskedTwice(...servers);
		const line = await s.gate.access();
		assert.equal(line.retries, 2);
	});

/* ---- statuses ---- */
fleet('a status of retry-on: another server is asked', [says(503), ok1()], { route: { 'retry-on': '502 503' } },
	async (s, server, fine) => {
		const paths = await askUntil(s, server, { least: 20, check: isFine });
		assert.deepEqual(fine.asked, paths);
		isNeverAskedTwice(server, fine);
		/* The response that nobody wanted was read to its end. */
		assert.equal(server.peer.connections.length, 1);
		/* What it did not fail with is used again. */
		assert.equal(fine.peer.connections.length, 1);
		assert.ok(s.gate.counters()['pushgate_retries_total{cause="status"}'] > 0);
	});

fleet('the same in HTTP/2', [http2((f, c) => c.respond(f.stream, { status: 503, body: 'sorry' })), ok2()],
	{ route: { 'retry-on': '503' } }, async (s, server, fine) => {
		assert.deepEqual(await askUntil(s, server, { least: 20, check: isFine }), fine.asked);
	});

fleet('the same in HTTP/2, without a body', [http2((f, c) => c.respond(f.stream, { status: 503 })), ok2()],
	{ route: { 'retry-on': '503' } }, async (s, server, fine) => {
		assert.deepEqual(await askUntil(s, server, { least: 20, check: isFine }), fine.asked);
	});

fleet('a status that is not in retry-on reaches the client', [says(500), ok1()], { route: { 'retry-on': '503' } },
	async (s, server) => {
		await askUntil(s, server, { check: (r, path) => assert.equal(r.status, server.asked.includes(path) ? 500 : 200) });
	});

fleet('no server is left: the client gets the last response as it came',
	[says(503, 'from one'), says(503, 'from two')], { route: { 'retry-on': '503' } }, async (s, one, two) => {
		const r = await s.ask('/');
		assert.equal(r.status, 503);
		assert.match(String(r.body), /^from (one|two)$/);
		assert.deepEqual([one.asked, two.asked], [['/'], ['/']]);
	});

fleet('one server alone: its status is not a reason to ask it again', [says(503)], { route: { 'retry-on': '503' } },
	async (s, server) => {
		assert.equal((await s.ask('/')).status, 503);
		assert.deepEqual(server.asked, ['/']);
	});

fleet('a POST is answered with the status', [says(503), ok1()], { route: { 'retry-on': '503' } }, async (s, server, fine) => {
	await askUntil(s, server, {
		request: { method: 'POST' },
		check: (r, path) => assert.equal(r.status, server.asked.includes(path) ? 503 : 200),
	});
	assert.ok(!fine.asked.includes(server.asked[0]));
});

/* ---- the budget ---- */
fleet('past the budget failures reach the client', [dies(), dies()], { origin: { 'retry-budget': '1%' } }, async (s, one, two) => {
	const client = await s.connect();
	for (let i = 0; i < 60; i++)
		client.request(2 * i + 1, { path: `/${i}` });
	for (let i = 0; i < 60; i++)
		assert.equal((await client.response(2 * i + 1)).status, 502);
	const { 'pushgate_retries_total{cause="lost"}': retries, retries_over_budget: over } = s.gate.counters();
	assert.equal(retries + over, 60);
	assert.equal(one.asked.length + two.asked.length, 60 + retries);
	assert.ok(retries >= 10, `${retries} retries`); /* what a quiet origin may have, and 1 % */
	assert.ok(over > 0);
});

fleet('a budget of 0 %: no request is sent again', [dies(), ok1()], { origin: { 'retry-budget': '0%' } }, async (s, server) => {
	await askUntil(s, server, { check: (r, path) => assert.equal(r.status, server.asked.includes(path) ? 502 : 200) });
});

/* ---- time ---- */
fleet('retry-on = late: another server is asked after response-timeout', [mute(), ok1()],
	{ origin: { 'response-timeout': '60s' }, route: { 'retry-on': 'late', 'response-timeout': '1s' } }, async (s, server) => {
		await askUntil(s, server, { check: isFine });
		assert.ok(s.gate.counters()['pushgate_retries_total{cause="late"}'] > 0);
	});

fleet('response-timeout of the route: 504', [mute()], { route: { 'response-timeout': '200ms' } }, async (s) => {
	assert.equal((await s.ask('/')).status, 504);
	await s.gate.access((l) => l.detail === 'response-late');
});

fleet('request-timeout: 504 before the response', [mute()], { route: { 'request-timeout': '200ms' } }, async (s) => {
	assert.equal((await s.ask('/')).status, 504);
	await s.gate.access((l) => l.detail === 'request-deadline' && l.outcome === 'timeout');
});

fleet('request-timeout: a reset in the response', [http2((f, c) => c.headers(f.stream, { ':status': '200' }))],
	{ route: { 'request-timeout': '2s' } }, async (s) => {
		const client = await s.connect();
		client.request(1);
		assert.equal((await client.expectHead(1)).headers[':status'], '200');
		await client.expectReset(1, 'CANCEL');
		await s.gate.access((l) => l.detail === 'request-deadline');
	});

fleet('connect-timeout of the route bounds the wait for a server that has max-requests', [mute()],
	{ origin: { 'max-requests': 1 }, route: { 'connect-timeout': '1s' } }, async (s, server) => {
		const client = await s.connect();
		client.request(1, { path: '/first' });
		await server.peer.request('/first');
		client.request(3, { path: '/second' });
		assert.equal((await client.response(3)).status, 504);
		await s.gate.access((l) => l.path === '/second' && l.detail === 'queue-late');
		assert.deepEqual(server.asked, ['/first']);
	});
