/* SPDX-License-Identifier: MIT */
// covers: R452
/*
 * nginx, Apache httpd, HAProxy and Node as servers of one origin, each with the health page that it has: a file, a
 * monitor-uri, a handler. Each fails in turn, and gets requests again when its page says so.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Scenario, certs, freePort, until, workDir } from '../support/gate.mjs';
import { nodeClient } from '../support/node.mjs';
import { SCALE } from '../support/peer.mjs';
import { daemon } from '../support/programs.mjs';
import { versionedOrigins } from '../support/versions.mjs';
import { apache, nginx } from '../support/web-servers.mjs';

/* Files of a web server: the page is well as long as it is there. */
function folder(s, name) {
	const root = path.join(s.dir, `root-${name}`);
	fs.mkdirSync(root, { mode: 0o755 });
	fs.writeFileSync(path.join(root, 'who.html'), name);
	const page = path.join(root, 'health.html');
	const fine = () => fs.writeFileSync(page, 'well');
	fine();
	return { root, fine, sick: () => fs.unlinkSync(page) };
}

async function files(s, name, start, tls) {
	const { root, fine, sick } = folder(s, name);
	const { port } = await start(s, { root, tls });
	return { name, port, fine, sick, result: 'status 404' };
}

async function node(s, kind) {
	let status = 200;
	const { ports, close } = await versionedOrigins((request, response) => {
		response.writeHead(request.url === '/health.html' ? status : 200);
		response.end('Node');
	}, [kind]);
	s.cleanups.push(close);
	return { name: 'Node', port: ports[kind], fine: () => { status = 200; }, sick: () => { status = 500; }, result: 'status 500' };
}

/* It says that it is well as long as the server behind it is. */
async function haproxy(s) {
	const port = await freePort();
	let status = 200;
	const { ports, close } = await versionedOrigins((request, response) => {
		response.writeHead(request.url === '/up' ? status : 200);
		response.end('HAProxy');
	}, ['h1']);
	s.cleanups.push(close);
	const config = path.join(s.dir, 'haproxy.cfg');
	fs.writeFileSync(config, `defaults
	mode http
	timeout connect 5s
	timeout check 20s
	timeout client 60s
	timeout server 60s
frontend f
	bind 127.0.0.1:${port}
	monitor-uri /health.html
	monitor fail if { nbsrv(app) eq 0 }
	default_backend app
backend app
	option httpchk GET /up
	server a 127.0.0.1:${ports.h1} check inter 300ms fall 2 rise 1
`);
	await daemon(s, 'haproxy', ['-db', '-f', config], port);
	return { name: 'HAProxy', port, fine: () => { status = 200; }, sick: () => { status = 500; }, result: 'status 503' };
}

const FLEETS = {
	'HTTP/1.1': { scheme: 'http', start: async (s) => [await files(s, 'nginx', nginx), await files(s, 'Apache', apache), await haproxy(s), await node(s, 'h1')] },
	'HTTP/2 by ALPN': { scheme: 'https', start: async (s) => [
		await files(s, 'nginx', nginx, ['h2', 'http/1.1']), await files(s, 'Apache', apache, ['h2', 'http/1.1']), await node(s, 'alpn')] },
};

for (const [version, { scheme, start }] of Object.entries(FLEETS))
	test(`each server is left out while its health page fails: ${version}`, { timeout: 120000 * SCALE }, async () => {
		const s = { dir: workDir(), cleanups: [] };
		let scenario;
		let failure;
		try {
			const servers = await start(s);
			scenario = new Scenario({
				server: { 'status-socket': 'status' },
				origins: { main: {
					server: servers.map(({ port }) => `${scheme}://127.0.0.1:${port}`),
					config: {
						...(scheme === 'https' ? { 'tls-ca': certs().file('ca.pem'), 'tls-name': 'localhost' } : {}),
						'health-check': '/health.html', 'health-interval': '100ms', 'health-timeout': `${2000 * SCALE}ms`, 'eject-failures': 0, 'eject-percent': 0,
					},
				} },
			});
			await scenario.start();
			await failInTurn({ gate: scenario.gate, port: scenario.port, cleanups: s.cleanups }, servers);
		} catch (error) {
			failure = error;
		}
		await scenario?.stop(failure).catch((error) => { failure ??= error; });
		for (const f of s.cleanups.reverse())
			await f();
		fs.rmSync(s.dir, { recursive: true, force: true });
		if (failure)
			throw failure;
	});

async function failInTurn(s, servers) {
	const client = nodeClient(s);
	const address = ({ port }) => `127.0.0.1:${port}`;
	const isUp = (server) => s.gate.counters()[`pushgate_server_up{origin="main",server="${address(server)}"}`];
	const becomes = (server, value) => until(() => `${server.name} up: ${value}\n${s.gate.status()}`, () => isUp(server) === value);
	/* Who answers so many requests. */
	const answers = async (count) => {
		const names = new Set();
		for (let i = 0; i < count; i++) {
			const { status, body } = await client.get({ ':path': '/who.html' });
			assert.equal(status, 200);
			names.add(body);
		}
		return names;
	};
	const all = servers.map(({ name }) => name).sort();
	const everyone = () => until('each answers', async () => (await answers(8 * servers.length)).size === servers.length);
	for (const server of servers)
		await becomes(server, 1);
	await everyone();
	for (const server of servers) {
		await server.sick();
		await becomes(server, 0);
		assert.match(s.gate.status(), new RegExp(`server ${address(server)} has failed its checks for \\d+ s \\(${server.result}\\)`));
		assert.ok(!(await answers(8 * servers.length)).has(server.name), server.name);
		await server.fine();
		await becomes(server, 1);
	}
	await everyone();
	assert.deepEqual([...await until('each answers', async () => { const names = await answers(50); return names.size === all.length && names; })].sort(), all);
}
