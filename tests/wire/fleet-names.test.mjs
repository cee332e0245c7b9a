/* SPDX-License-Identifier: MIT */
/* Names of servers whose addresses change, are of one family, or of which one is a hole. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { startDns } from '../support/dns.mjs';
import { FleetServer, load } from '../support/fleet.mjs';
import { freePort, scenario, section, sleep, workDir } from '../support/gate.mjs';
import { nodeClient } from '../support/node.mjs';
import { SCALE } from '../support/peer.mjs';

const HAS_IPV6 = Object.values(os.networkInterfaces()).flat().some((i) => i.address === '::1');
const to = (name, config) => section(`origin ${name}`, config) + section(`route ${name}`, { host: `${name}.test`, origin: name });

/* ---- a record that changes ---- */

const CHANGES_MS = 1000;
const SECONDS = 6;
/* Its TTL is a second, and what has left gets nothing new after another one. */
const LEFT_MS = 2000 * SCALE;

{
	const port = await freePort();
	const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
	const dns = await startDns({ 'fleet.test': { A: [hosts[0]], ttl: 1 } });
	scenario('a record that changes every second: no request fails, and what has left it gets no new one', {
		server: { resolver: dns.address, 'dns-min-ttl': '1s', 'log-sample': '1/1000' },
		origins: {}, routes: to('fleet', { server: `h2c://fleet.test:${port}` }).replace(/host = .*\n/, ''),
	}, async (s) => {
		const left = new Map(), late = [];
		const servers = await Promise.all(hosts.map((host) => new FleetServer({ host, port, note() {
			const since = Date.now() - (left.get(host) ?? Infinity);
			if (since > LEFT_MS)
				late.push(`${host} ${since} ms after it left`);
		} }).open()));
		s.cleanups.push(() => dns.close(), () => servers.forEach((server) => server.shut()));
		hosts.slice(1).forEach((host) => left.set(host, Date.now() - LEFT_MS));
		let turn = 0;
		const change = setInterval(() => {
			const [now, next] = [hosts[turn % 3], hosts[++turn % 3]];
			dns.names['fleet.test'] = { A: [next], ttl: 1 };
			left.delete(next);
			left.set(now, Date.now());
		}, CHANGES_MS);
		const loaded = await load(`http://127.0.0.1:${s.port}/`, { seconds: SECONDS, dir: s.dir });
		clearInterval(change);
		assert.deepEqual(loaded.statuses, { 200: loaded.done }, loaded.stdout);
		assert.ok(loaded.done > 100, `${loaded.done} requests`);
		assert.deepEqual(late, []);
		assert.ok(servers.every((server) => server.requests > 0), `requests at each: ${servers.map((server) => server.requests)}`);
	});
}

/* ---- families ---- */

/* A hosts file: the names and their addresses. */
function hostsFile(rows) {
	const file = path.join(workDir(), 'hosts');
	fs.writeFileSync(file, rows.map(([address, name]) => `${address} ${name}\n`).join(''));
	return file;
}

{
	const port = await freePort();
	scenario('names with addresses of one family, and with both', {
		skip: !HAS_IPV6 && 'no IPv6 on this machine', origins: {},
		server: { 'hosts-file': hostsFile([['127.0.0.1', 'four.test'], ['::1', 'six.test'], ['127.0.0.1', 'both.test'], ['::1', 'both.test']]) },
		routes: ['four', 'six', 'both'].map((name) => to(name, { server: `h2c://${name}.test:${port}` })).join(''),
	}, async (s) => {
		const servers = await Promise.all(['127.0.0.1', '::1'].map((host) => new FleetServer({ host, port }).open()));
		s.cleanups.push(() => servers.forEach((server) => server.shut()));
		const client = nodeClient(s);
		for (const name of ['four', 'six', 'both'])
			assert.equal((await client.get({ ':authority': `${name}.test` })).status, 200, name);
		const address = async (name) => (await s.gate.access((line) => line.authority === `${name}.test`)).origin_address;
		assert.equal(await address('four'), `127.0.0.1:${port}`);
		assert.equal(await address('six'), `[::1]:${port}`);
	});
}

/*
 * Connects to it hang: its queue of connections is full, and nobody accepts any. That is what a route without an end
 * looks like, and needs no rights.
 */
async function blackHole(s, host, port) {
	const child = spawn(process.execPath, ['-e', `
		require('node:net').createServer().listen({ host: ${JSON.stringify(host)}, port: ${port}, backlog: 1 }, () => {
			require('node:fs').writeSync(1, 'up');
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
		});`], { stdio: ['ignore', 'pipe', 'inherit'] });
	const sockets = [];
	s.cleanups.push(() => {
		sockets.forEach((socket) => socket.destroy());
		child.kill('SIGKILL');
	});
	await once(child.stdout, 'data');
	for (let isFull = false; !isFull;) {
		const socket = net.connect({ host, port });
		socket.on('error', () => {});
		sockets.push(socket);
		isFull = await Promise.race([once(socket, 'connect').then(() => false), sleep(500).then(() => true)]);
	}
}

const CONNECT_TIMEOUT = 30;
for (const [live, dead] of [['127.0.0.1', '::1'], ['::1', '127.0.0.1']]) {
	const port = await freePort();
	scenario(`of a name with two addresses ${dead} is a hole: ${live} answers long before connect-timeout`, {
		skip: !HAS_IPV6 && 'no IPv6 on this machine', origins: {},
		server: { 'hosts-file': hostsFile([['::1', 'both.test'], ['127.0.0.1', 'both.test']]) },
		routes: to('both', { server: `h2c://both.test:${port}`, 'connect-timeout': `${CONNECT_TIMEOUT}s`, 'queue-timeout': `${CONNECT_TIMEOUT}s` }),
	}, async (s) => {
		await blackHole(s, dead, port);
		const server = await new FleetServer({ host: live, port }).open();
		s.cleanups.push(() => server.shut());
		const client = nodeClient(s);
		const begun = Date.now();
		/* Several, so that at least one is given to the address that does not answer. */
		const all = await Promise.all(Array.from({ length: 8 }, () => client.get({ ':authority': 'both.test' })));
		assert.deepEqual(all.map((r) => r.status), all.map(() => 200));
		const took = Date.now() - begun;
		assert.ok(took < CONNECT_TIMEOUT * 1000 / 3, `${took} ms`);
	});
}
