/* SPDX-License-Identifier: MIT */
/* source-address: where connections to servers begin, of requests, checks and tunnels; and what a missing address does. */
import assert from 'node:assert/strict';
import net from 'node:net';
import { forward } from '../support/forward.mjs';
import { nodeClient } from '../support/node.mjs';
import { scenario, until } from '../support/gate.mjs';
import { versionedOrigins } from '../support/versions.mjs';

const SOURCE = '127.0.0.77';

for (const kind of ['h1', 'h2c'])
	scenario(`requests and checks over ${kind} come from it`, {
		prepare: async (s) => {
			s.from = new Map();
			const { ports, close } = await versionedOrigins((request, response) => {
				s.from.set(request.url, request.socket.remoteAddress);
				response.end('here');
			}, [kind]);
			s.cleanups.push(close);
			const server = `${kind === 'h1' ? 'http' : 'h2c'}://127.0.0.1:${ports[kind]}`;
			s.options.origins = { main: { server, config: { 'source-address': SOURCE, 'health-check': '/health' } } };
		},
	}, async (s) => {
		const c = nodeClient(s);
		const { status } = await c.get({ ':path': '/page' });
		assert.equal(status, 200);
		await until('a check', () => s.from.has('/health'));
		assert.deepEqual([s.from.get('/page'), s.from.get('/health')], [SOURCE, SOURCE]);
	});

forward('tunnels come from it', {
	origin: { 'source-address': SOURCE }, kinds: [],
	start: async (s) => {
		const server = net.createServer((socket) => { socket.on('error', () => {}).end(socket.remoteAddress); });
		await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
		s.cleanups.push(() => server.close());
		return { h1: server.address().port };
	},
}, async (s) => {
	const said = await new Promise((resolve, reject) => {
		const socket = net.connect(s.port, '127.0.0.1');
		let got = '';
		socket.setEncoding('latin1').on('data', (text) => { got += text; }).on('error', reject).on('close', () => resolve(got));
		socket.write(`CONNECT a.test:${s.ports.h1} HTTP/1.1\r\nHost: a.test:${s.ports.h1}\r\n\r\n`);
	});
	assert.match(said, /^HTTP\/1\.1 200 /);
	assert.ok(said.endsWith(SOURCE), said);
});

scenario('an address that the machine lacks fails the request and is logged', {
	origins: { main: { server: 'http://127.0.0.1:1', config: { 'source-address': '192.0.2.1' } } },
}, async (s) => {
	const { status } = await nodeClient(s).get({ ':path': '/' });
	assert.equal(status, 503);
	await s.gate.error(/cannot connect: .*source address: Cannot assign requested address/);
});
