/* SPDX-License-Identifier: MIT */
/* Forward mode: what connections stay when many hosts were asked for once each. */
import assert from 'node:assert/strict';
import http from 'node:http';
import { forward } from '../support/forward.mjs';
import { samples, until } from '../support/gate.mjs';
import { connect1 } from '../support/http1.mjs';
import { PATIENCE } from '../support/peer.mjs';

const HOSTS = 200;
const ONCE_MS = 5000;

/* Any address of 127.0.0.0/8 is a host of its own; `s.conns` are its connections: {host, answered, closed}. */
async function manyHosts(s) {
	s.conns = [];
	const server = http.createServer({ keepAliveTimeout: 0 }, (request, response) => {
		Object.assign(request.socket.conn, { host: request.headers.host.replace(/:.*/, ''), answered: performance.now() });
		response.end('here');
	});
	server.on('connection', (socket) => {
		socket.conn = {};
		s.conns.push(socket.conn);
		socket.on('close', () => { socket.conn.closed = performance.now(); });
	});
	await new Promise((resolve) => { server.listen(0, '0.0.0.0', resolve); });
	s.cleanups.push(() => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }));
	return { h1: server.address().port };
}

forward(`${HOSTS} hosts that are asked once each: their connections end after ${ONCE_MS / 1000} s, that of a host that is asked again stays`, {
	server: { 'status-socket': 'status' }, origin: { 'idle-timeout': '1h' }, start: manyHosts,
}, async (s) => {
	const client = await connect1(s.port);
	s.cleanups.push(() => client.close());
	const ask = async (host) => {
		client.request('GET', `http://${host}:${s.ports.h1}/`, [['Host', `${host}:${s.ports.h1}`]]);
		assert.equal((await client.response()).status, 200);
	};
	await ask('127.2.0.1');
	await ask('127.2.0.1');
	for (let i = 0; i < HOSTS; i++)
		await ask(`127.1.${i >> 8}.${i & 255}`);
	const open = () => s.conns.filter((c) => c.closed === undefined);
	await until('the idle connections are closed', () => open().length === 1, 4 * PATIENCE);
	assert.deepEqual(open().map((c) => c.host), ['127.2.0.1']);
	for (const { host, answered, closed } of s.conns.filter((c) => c.closed))
		assert.ok(closed - answered > ONCE_MS - 100, `${host}: ${closed - answered} ms`);
	assert.equal(samples(s.gate.status())['pushgate_connections_open{side="origin"}'], 1);
	await ask('127.2.0.1');
	assert.equal(s.conns.length, HOSTS + 1);
});
