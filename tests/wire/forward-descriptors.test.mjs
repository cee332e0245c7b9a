/* SPDX-License-Identifier: MIT */
/* Forward mode with few descriptors: connections that idle give theirs to those that are asked for. */
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { Gate, freePort, section, workDir } from '../support/gate.mjs';

const LIMIT = 200;

const listen = () => new Promise((resolve) => {
	const server = http.createServer({ keepAliveTimeout: 0 }, (request, response) => response.end('x'));
	server.listen(0, '0.0.0.0', () => resolve(server));
});

test('destinations that nobody uses give their descriptors to others', async () => {
	const origin = await listen();
	const originPort = origin.address().port;
	const port = await freePort();
	const dir = workDir();
	const gate = new Gate({
		dir, ports: [port], limit: LIMIT,
		config: section('server', { workers: 1, 'error-log': `${dir}/error.log`, 'status-socket': `${dir}/status` })
			+ section('listen main', { address: `127.0.0.1:${port}`, mode: 'forward', access: 'main' })
			+ section('access main', { allow: `address=127.0.0.0/8 port=${originPort}` }),
	});
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
	const ask = (host) => new Promise((resolve, reject) => {
		const request = http.get({ port, host: '127.0.0.1', agent, path: `http://${host}:${originPort}/`, headers: { host: `${host}:${originPort}` } }, (response) => {
			response.resume();
			response.once('end', () => resolve(response.statusCode));
		});
		request.once('error', reject);
	});
	try {
		await gate.listening();
		for (let i = 0; i < 2 * LIMIT; i++)
			assert.equal(await ask(`127.1.${i >> 8}.${i & 255}`), 200, `destination ${i}`);
		assert.ok(gate.descriptors() < LIMIT, `${gate.descriptors()} descriptors`);
		assert.ok(gate.counters().destinations_evicted > 0, 'none was evicted');
		/* A client that comes now is served. */
		agent.destroy();
		assert.equal(await ask('127.0.0.1'), 200);
	} finally {
		agent.destroy();
		origin.closeAllConnections?.();
		origin.close();
		await gate.stop();
	}
});
