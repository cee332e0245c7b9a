/* SPDX-License-Identifier: MIT */
/*
 * send-proxy and connections = private: what an origin is told of the client of a connection, and that a connection carries
 * the requests of that client alone.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { BINARY, certs, scenario, until } from '../support/gate.mjs';
import { connect1 } from '../support/http1.mjs';
import { headedOrigin, v1, v2 } from '../support/proxy_header.mjs';

const FIELDS = [['host', 'a.test']];

/* scenario() with an origin whose connections begin with headers. */
function gated(name, { version = 'v2', secure, respond, origin = {}, ...options }, body) {
	scenario(name, { ...options, prepare: async (s) => {
		s.origin = await headedOrigin({ tls: secure && certs().server, respond });
		s.cleanups.push(() => s.origin.close());
		s.options.origins = { main: { server: `${secure ? 'https1' : 'http'}://127.0.0.1:${s.origin.port}` } };
		s.options.origin = { connections: 'private', 'send-proxy': version, ...secure && { 'tls-verify': 'no' }, ...origin };
	} }, async (s) => {
		await body(s);
		assert.deepEqual(s.origin.faults, []);
	});
}

async function asks(s, client, target, fields = []) {
	client.request('GET', target, [...FIELDS, ...fields]);
	assert.equal((await client.response()).status, 200, target);
	return s.origin.requests.find((r) => r.target === target);
}

const ends = ({ command, from, fromPort, to, toPort }) => [command, from, fromPort, to, toPort];

for (const version of ['v1', 'v2'])
	for (const secure of [false, true])
		// covers: R687
		gated(`${version}${secure ? ' before TLS' : ''}: the origin is told of both ends of the client's connection`, { version, secure }, async (s) => {
			const client = await connect1(s.port, { localAddress: '127.0.0.9' });
			const { header } = await asks(s, client, '/a');
			assert.equal(header.version, Number(version[1]));
			assert.deepEqual(ends(header), ['TCP4', '127.0.0.9', client.socket.localPort, '127.0.0.1', s.port]);
			assert.equal((await asks(s, client, '/b')).number, 1);
			const line = await s.gate.access((x) => x.path === '/b');
			assert.deepEqual([line.client, line.tcp_peer, line.claimed_peer], ['127.0.0.9', undefined, undefined]);
			const other = await connect1(s.port, { localAddress: '127.0.0.9' });
			const second = await asks(s, other, '/c');
			assert.deepEqual([second.number, second.header.fromPort], [2, other.socket.localPort]);
			assert.equal((await asks(s, client, '/d')).number, 1);
		});

for (const version of ['v1', 'v2'])
	gated(`${version}: what a PROXY header has claimed is passed on`, { version, listen: { 'proxy-protocol': 'required', trusted: '127.0.0.1' } }, async (s) => {
		for (const [claim, ...expected] of [
			[v1('192.0.2.1', '198.51.100.2', 1000, 443), 'TCP4', '192.0.2.1', 1000, '198.51.100.2', 443],
			[v2('2001:db8::1', '2001:db8::2', 65535, 1), 'TCP6', '2001:db8::1', 65535, '2001:db8::2', 1],
			[v1('::ffff:192.0.2.1', '2001:db8::2', 5, 6), 'TCP6', '::ffff:192.0.2.1', 5, '2001:db8::2', 6],
		]) {
			const client = await connect1(s.port);
			client.socket.write(claim);
			assert.deepEqual(ends((await asks(s, client, `/${expected[2]}`)).header), expected);
		}
		const balancer = await connect1(s.port);
		balancer.socket.write('PROXY UNKNOWN\r\n');
		assert.deepEqual(ends((await asks(s, balancer, '/self')).header), ['TCP4', '127.0.0.1', balancer.socket.localPort, '127.0.0.1', s.port]);
	});

for (const version of ['v1', 'v2'])
	gated(`${version}: a client that a field names has its connection, and one that nobody knows gets no connection that was used`, {
		version, listen: { trusted: '127.0.0.1', 'client-address': 'x-forwarded-for' },
	}, async (s) => {
		const proxies = [await connect1(s.port), await connect1(s.port)];
		const from = async (address, target, proxy = 0) => asks(s, proxies[proxy], target, [['x-forwarded-for', address]]);
		const first = await from('192.0.2.1', '/1');
		assert.deepEqual(ends(first.header), ['TCP4', '192.0.2.1', 0, '127.0.0.1', s.port]);
		const wide = await from('2001:db8::1', '/2');
		assert.deepEqual(ends(wide.header), ['TCP6', '2001:db8::1', 0, '::ffff:127.0.0.1', s.port]);
		const line = await s.gate.access((x) => x.path === '/1');
		assert.deepEqual([line.client, line.tcp_peer, line.claimed_peer], ['192.0.2.1', '127.0.0.1', undefined]);
		assert.equal((await from('192.0.2.1', '/3', 1)).number, first.number);
		assert.equal((await from('2001:db8::1', '/4', 1)).number, wide.number);
		const numbers = new Set();
		for (const [i, text] of ['unknown', '_x', 'unknown'].entries()) {
			const { header, number } = await from(text, `/unknown-${i}`);
			assert.equal(header.command, 'UNKNOWN');
			numbers.add(number);
		}
		assert.equal(numbers.size, 3);
	});

/* Answers to /late… wait for s.release. */
function lately(request, answer) {
	if (request.url.startsWith('/late'))
		lately.waiting.push(() => answer.end('ok'));
	else
		answer.end('ok');
}
lately.waiting = [];

gated('requests of one client at the same time have a connection each', { respond: lately }, async (s) => {
	const client = await s.connect();
	client.request(1, { path: '/late1' });
	client.request(3, { path: '/late2' });
	await until('both are there', () => lately.waiting.length === 2);
	assert.deepEqual(s.origin.requests.map((r) => r.header), [s.origin.headers[0], s.origin.headers[0]]);
	assert.equal(s.origin.headers.length, 2);
	lately.waiting.splice(0).forEach((end) => end());
	assert.equal((await client.response(1)).status, 200);
	assert.equal((await client.response(3)).status, 200);
	client.request(5, { path: '/after' });
	assert.equal((await client.response(5)).status, 200);
	assert.equal(s.origin.headers.length, 2);
});

gated('an idle connection makes room for the next client, and a busy one is waited for', { respond: lately, origin: { 'max-http1-connections': '1' } }, async (s) => {
	const [a, b] = [await connect1(s.port), await connect1(s.port)];
	assert.equal((await asks(s, a, '/a')).number, 1);
	assert.equal((await asks(s, b, '/b')).number, 2);
	assert.equal((await asks(s, a, '/c')).number, 3);
	a.request('GET', '/late', FIELDS);
	await until('it is there', () => lately.waiting.length === 1);
	const waits = asks(s, b, '/d');
	/* A round trip with pushgate alone: it has read the request of b. */
	const other = await connect1(s.port);
	other.send('GET / HTTP/1.1\r\n\r\n', [{ method: 'GET' }]);
	assert.equal((await other.response()).status, 400);
	assert.equal(s.origin.headers.length, 3);
	lately.waiting.splice(0).forEach((end) => end());
	assert.equal((await a.response()).status, 200);
	const { header, number } = await waits;
	assert.deepEqual([number, header.fromPort], [4, b.socket.localPort]);
	for (const socket of s.origin.sockets.slice(0, 3))
		await until('those before are closed', () => socket.destroyed || socket.readableEnded);
});

gated('a request that is cancelled while its connection opens leaves that to the next one of its client', {}, async (s) => {
	const client = await s.connect();
	client.request(1, { path: '/cancelled' });
	client.rst(1);
	client.request(3, { path: '/next' });
	assert.equal((await client.response(3)).status, 200);
	assert.ok(s.origin.headers.length <= 2);
	client.request(5, { path: '/again' });
	assert.equal((await client.response(5)).status, 200);
	assert.ok(s.origin.headers.length <= 2);
});

gated('tunnels have it too', { routes: '[route main]\norigin = main\nupgrade = echo\n' }, async (s) => {
	const client = await connect1(s.port, { localAddress: '127.0.0.7' });
	client.send('GET /tunnel HTTP/1.1\r\nhost: a.test\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\nhello', [{ method: 'GET' }]);
	await until('the echo comes', () => client.bytes.toString('latin1').endsWith('hello'));
	assert.deepEqual(ends(s.origin.requests[0].header).slice(0, 3), ['TCP4', '127.0.0.7', client.socket.localPort]);
});

for (const [version, command] of [['v1', 'UNKNOWN'], ['v2', 'LOCAL']])
	for (const check of ['/health', 'connect'])
		gated(`${version}: a health check (${check}) speaks for no client`, { version, origin: { 'health-check': check, 'health-interval': '100ms' } }, async (s) => {
			await until('it is checked', () => s.origin.headers.length > 1 && (check === 'connect' || s.origin.requests.length > 1));
			assert.ok(s.origin.headers.every((h) => h.command === command && h.version === Number(version[1])));
			assert.equal((await asks(s, await connect1(s.port), '/client')).header.command, 'TCP4');
		});

gated('a connection that fails fails the request that it was opened for, and no other', {}, async (s) => {
	const good = await connect1(s.port);
	await asks(s, good, '/a');
	s.origin.close();
	await until('the gate has seen it', () => s.origin.sockets.every((socket) => socket.destroyed));
	const lost = await connect1(s.port);
	lost.request('GET', '/b', FIELDS);
	assert.ok((await lost.response()).status >= 502);
});

scenario('check refuses it where clients share connections, and says why', {}, async (s) => {
	const check = (lines) => {
		const file = `${s.dir}/checked.ini`;
		fs.writeFileSync(file, `[listen a]\naddress = 127.0.0.1:1\n\n[origin a]\n${lines}\n\n[route a]\norigin = a\n`);
		return spawnSync(BINARY, ['check', '-c', file], { encoding: 'utf8' });
	};
	const shared = check('server = http://127.0.0.1:2\nsend-proxy = v2');
	assert.equal(shared.status, 2);
	assert.match(shared.stderr + shared.stdout, /checked\.ini:6: a PROXY header names one client for a whole connection, and the connections of this origin are shared by all clients; add connections = private/);
	const multiplexed = check('server = https://127.0.0.1:2\nconnections = private');
	assert.match(multiplexed.stderr + multiplexed.stdout, /checked\.ini:6: connections = private needs servers in HTTP\/1\.1 alone/);
	assert.equal(check('server = https1://127.0.0.1:2\nconnections = private\nsend-proxy = v1').status, 0);
});
