/* SPDX-License-Identifier: MIT */
/*
 * Health of servers: checks (health-check), of which one worker makes those of all, and ejection for what came of
 * requests. What `status`, the counters and the log say of both.
 */
import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { Scenario, certs, samples, sleep, until } from '../support/gate.mjs';
import { nodeClient } from '../support/node.mjs';
import { SCALE } from '../support/peer.mjs';
import { versionedOrigins } from '../support/versions.mjs';

/* Three servers of one kind. Each says at /health what `health` of it is, and answers all else with `status`. */
async function fleet(kind) {
	const servers = [];
	for (let i = 0; i < 3; i++) {
		const server = { name: `s${i}`, health: 200, status: 200, checks: [], requests: 0 };
		const serve = (request, response) => {
			if (request.url === '/health') {
				server.checks.push({ agent: request.headers['user-agent'], host: request.headers[':authority'] ?? request.headers.host, version: request.httpVersion });
				response.writeHead(server.health);
				response.end('so it is\n');
				return;
			}
			server.requests++;
			response.writeHead(server.status, { 'x-server': server.name });
			response.end(server.name);
		};
		const { ports, close } = await versionedOrigins(serve, [kind]);
		Object.assign(server, { port: ports[kind], address: `127.0.0.1:${ports[kind]}`, close });
		server.reopen = async () => { server.close = (await versionedOrigins(serve, [kind], server.port)).close; };
		servers.push(server);
	}
	return servers;
}

/* One test, with the gate before these servers. */
function behind(name, { kind = 'h1', origin = {}, prepare = () => ({}), ...options }, body) {
	test(name, { timeout: 120000 * SCALE }, async () => {
		const servers = await fleet(kind);
		const scheme = { h1: 'http', h2c: 'h2c', alpn: 'https' }[kind];
		const tls = scheme === 'https' ? { 'tls-ca': certs().file('ca.pem'), 'tls-name': 'localhost' } : {};
		const s = new Scenario({
			...options, server: { 'status-socket': 'status', ...options.server },
			origins: { main: { server: servers.map((server) => `${scheme}://${server.address}`), config: { ...tls, ...origin } } },
		});
		s.cleanups.push(() => Promise.all(servers.map((server) => server.close())));
		let failure;
		try {
			await prepare(servers);
			await s.start();
			await body(s, servers);
		} catch (error) {
			failure = error;
		}
		await s.stop(failure);
	});
}

/* So many requests, at a time each on a connection of its own, so that each worker gets some. */
async function ask(s, count) {
	const statuses = {};
	for (let i = 0; i < count; i++) {
		const client = nodeClient(s);
		const { status } = await client.get({ ':path': '/' });
		statuses[status] = (statuses[status] ?? 0) + 1;
		client.session.destroy();
	}
	return statuses;
}

const isUp = (s, server, status = s.gate.status()) => samples(status)[`pushgate_server_up{origin="main",server="${server.address}"}`];
const comesUp = (s, server, value) => until(() => `${server.name} is up: ${value}\n${s.gate.status()}`, () => isUp(s, server) === value);
const QUICK = { 'health-check': '/health', 'health-interval': '100ms', 'health-fall': 3, 'health-rise': 2, 'health-timeout': `${2000 * SCALE}ms` };

for (const [kind, version] of [['h1', '1.1'], ['h2c', '2.0'], ['alpn', '2.0']])
// covers: R452 R454
	behind(`a server that answers checks with 500 gets no requests until it answers 200 again: ${kind}`, { kind, origin: QUICK }, async (s, servers) => {
		const [, sick] = servers;
		for (const server of servers)
			await comesUp(s, server, 1);
		assert.deepEqual(await ask(s, 12), { 200: 12 });
		/* Which one a request goes to is drawn: one of the three may not have been yet. */
		await until('each gets requests', async () => { await ask(s, 3); return servers.every((server) => server.requests > 0); });
		sick.health = 500;
		const seen = sick.checks.length;
		await comesUp(s, sick, 0);
		assert.ok(sick.checks.length >= seen + 3, `${sick.checks.length - seen} checks`);
		assert.match(s.gate.status(), new RegExp(`\n# origin main: server ${sick.address} has failed its checks for \\d+ s \\(status 500\\)\n`));
		await s.gate.error(new RegExp(`warn .*origin main: server ${sick.address} fails its checks: status 500, 3 in a row\n`));
		const before = sick.requests;
		assert.deepEqual(await ask(s, 12), { 200: 12 });
		assert.equal(sick.requests, before);
		sick.health = 200;
		await comesUp(s, sick, 1);
		await s.gate.error(new RegExp(`info .*origin main: server ${sick.address} passes its checks: status 200, 2 in a row\n`));
		await until('it gets requests again', async () => { await ask(s, 3); return sick.requests > before; });
		assert.deepEqual(sick.checks[0], { agent: 'pushgate-health', host: sick.address, version });
		const { health_checks: made, health_checks_failed: failed } = s.gate.counters();
		assert.ok(failed >= 3 && made > failed, `${made} checks, ${failed} failed`);
	});

behind('checks say what host they are for', { origin: { ...QUICK, 'health-host': 'app.example.com:8443', 'health-check': '/health' } }, async (s, [server]) => {
	await until('a check', () => server.checks.length > 0);
	assert.equal(server.checks[0].host, 'app.example.com:8443');
});

// covers: R452
behind('only the configured statuses pass', { origin: { ...QUICK, 'health-status': '204 300-399' } }, async (s, [first, second]) => {
	first.health = 204;
	second.health = 302;
	await comesUp(s, first, 1);
	await until(() => s.gate.status(), () => /has failed its checks for \d+ s \(status 200\)/.test(s.gate.status()));
	assert.equal(isUp(s, second), 1);
});

// covers: R452
behind('health-check = connect sees a closed port, and that it is open again', { origin: { ...QUICK, 'health-check': 'connect' } }, async (s, [server, other]) => {
	await comesUp(s, server, 1);
	await server.close();
	await comesUp(s, server, 0);
	assert.match(s.gate.status(), /has failed its checks for \d+ s \(cannot connect\)/);
	await server.reopen();
	await comesUp(s, server, 1);
	assert.equal(isUp(s, other), 1);
	assert.equal(other.checks.length, 0);
});

const deaf = {
	sockets: new Set(),
	async open(port) {
		this.server = net.createServer((socket) => { this.sockets.add(socket); socket.resume(); socket.on('error', () => {}); });
		await new Promise((resolve) => { this.server.listen(port, '127.0.0.1', resolve); });
	},
	close() {
		for (const socket of this.sockets)
			socket.destroy();
		return new Promise((resolve) => { this.server.close(resolve); });
	},
};
// covers: R452
behind('a server that accepts and says nothing fails its checks, and costs one connection at a time',
	{ origin: { ...QUICK, 'health-timeout': '150ms' }, prepare: async ([, silent]) => { await silent.close(); await deaf.open(silent.port); silent.close = () => deaf.close(); } },
	async (s, [, silent]) => {
		await comesUp(s, silent, 0);
		assert.match(s.gate.status(), /\(no answer in time\)/);
		const open = [...deaf.sockets].filter((socket) => socket.readyState === 'open').length;
		assert.ok(open <= 2, `${open} connections`);
	});

// covers: R453
behind('one worker checks for all, another takes over when it is killed', { single: false, server: { workers: 2 }, origin: { ...QUICK, 'health-interval': '200ms' } }, async (s, servers) => {
	const [sick] = servers;
	await until('both workers', () => s.gate.workers().length === 2);
	await comesUp(s, sick, 1);
	/* A slow machine only makes fewer checks; two workers would make twice as many. */
	const began = Date.now();
	const before = servers.map((server) => server.checks.length);
	await sleep(2000);
	servers.forEach((server, i) => {
		const most = (Date.now() - began) / 180 + 2;
		const made = server.checks.length - before[i];
		assert.ok(made > 0 && made <= most, `${made} checks, at most ${most}`);
	});
	sick.health = 503;
	await comesUp(s, sick, 0);
	await until('both workers know it', async () => { const n = sick.requests; await ask(s, 20); return sick.requests === n; });
	/* Whichever of them checks: it is killed with the first or with the second. */
	for (const pid of s.gate.workers()) {
		process.kill(pid, 'SIGKILL');
		const checks = servers.map((server) => server.checks.length);
		await until('checks go on', () => servers.every((server, i) => server.checks.length > checks[i] + 2));
		await until('it is started again', () => s.gate.workers().length === 2 && !s.gate.workers().includes(pid));
	}
	sick.health = 200;
	await comesUp(s, sick, 1);
});

/* ---- ejection ---- */

// covers: R450 R454
behind('a server whose answers fail is ejected, and gets requests again', { origin: { 'eject-time': '1s', 'failure-status': '500 503' } }, async (s, servers) => {
	const [, sick] = servers;
	sick.status = 503;
	let status;
	await until('it is ejected', async () => { await ask(s, 3); status = s.gate.status(); return isUp(s, sick, status) === 0; });
	assert.match(status, new RegExp(`\n# origin main: server ${sick.address} is ejected for \\d+ s more by 1 worker \\(`));
	await s.gate.error(new RegExp(`warn .*origin main: server ${sick.address} is ejected for 1 s: 5 failures in a row\n`));
	assert.ok(s.gate.counters().server_ejections >= 1);
	sick.status = 200;
	await s.gate.error(new RegExp(`info .*origin main: server ${sick.address} is used again\n`));
	await comesUp(s, sick, 1);
	const before = sick.requests;
	await until('it gets requests again', async () => { await ask(s, 3); return sick.requests > before; });
});

// covers: R450
behind('a server that cannot be connected to is ejected, and no request fails', { origin: { 'eject-time': '1s' }, prepare: ([dead]) => dead.close() }, async (s, servers) => {
	const [dead] = servers;
	const ejected = async () => {
		assert.deepEqual(await ask(s, 3), { 200: 3 });
		return isUp(s, dead) === 0;
	};
	await until('it is ejected', ejected);
	await s.gate.error(new RegExp(`origin main: server ${dead.address} is ejected for 1 s: 2 failed connects in a row\n`));
	/* Back for a moment, and ejected by the first failure, for longer. */
	await until('it is ejected again', async () => { await ejected(); return /is ejected for 2 s: failed again after its return/.test(s.gate.read('error.log')); });
	await dead.reopen();
	await until('it gets requests', async () => { await ask(s, 3); return dead.requests > 0; });
	assert.equal(isUp(s, dead), 1);
});

// covers: R451
behind('at most half of the servers are ejected, and a status that is not configured counts as an answer', { origin: { 'failure-status': '503' } }, async (s, servers) => {
	for (const server of servers)
		server.status = 503;
	await until('one is ejected', async () => { await ask(s, 6); return s.gate.counters().server_ejections === 1; });
	assert.deepEqual(await ask(s, 20), { 503: 20 });
	assert.equal(s.gate.counters().server_ejections, 1);
	assert.equal(servers.filter((server) => isUp(s, server) === 0).length, 1);
});

behind('nothing is ejected when both limits are 0', { origin: { 'eject-failures': 0, 'eject-percent': 0 } }, async (s, servers) => {
	servers[0].status = 503;
	const got = await ask(s, 60);
	assert.ok(got[503] > 0);
	assert.equal(s.gate.counters().server_ejections, 0);
	/* Nothing is known of them, so nothing is said. */
	assert.doesNotMatch(s.gate.status(), /pushgate_server_up/);
});
