/* SPDX-License-Identifier: MIT */
/*
 * Servers that are names: looked up while pushgate runs, inside the sandbox, by a name server that the test plays. What
 * resolvers do wrong costs no request to another origin.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import { BINARY, Gate, freePort, section, until, workDir } from '../support/gate.mjs';
import { startDns } from '../support/dns.mjs';
import { SCALE } from '../support/peer.mjs';

/* Until a name has changed everywhere, on a busy machine too. */
const LONG = 20000 * SCALE;

/* One address of this host, which says its own name. */
function server(address, port, name = address) {
	return new Promise((resolve, reject) => {
		const s = http.createServer((request, response) => response.end(name));
		s.once('error', reject);
		s.listen(port, address, () => resolve({ close: () => new Promise((done) => { s.closeAllConnections(); s.close(done); }) }));
	});
}

function get(port, target) {
	return new Promise((resolve, reject) => {
		http.get({ host: '127.0.0.1', port, path: target, agent: false }, (response) => {
			let body = '';
			response.on('data', (text) => { body += text; });
			response.on('end', () => resolve(`${response.statusCode} ${body}`));
		}).on('error', reject);
	});
}

/* origins: name → server; the path of an origin's route is its name. */
async function world({ names = {}, origins, settings = {}, single = false, resolver }, body) {
	const dir = workDir(), dns = await startDns(names), open = [];
	const port = await freePort(), serverPort = await freePort();
	const at = (text) => text.replaceAll('PORT', serverPort);
	const config = section('server', { workers: 2, 'error-log': path.join(dir, 'error.log'), 'status-socket': path.join(dir, 'status'), resolver: resolver ? resolver(dns) : dns.address, 'dns-min-ttl': '1s', 'dns-negative-ttl': '1s', ...settings })
		+ section('listen main', { address: `127.0.0.1:${port}` })
		+ Object.entries(origins).map(([name, url]) => section(`origin ${name}`, { server: at(url) }) + section(`route ${name}`, { path: `/${name}`, origin: name })).join('');
	let gate;
	try {
		await body({
			dns, dir, serverPort,
			listen: async (...addresses) => { for (const a of addresses) open.push(await server(a, serverPort)); },
			start: async () => {
				gate = new Gate({ config, dir, ports: [port], single });
				await gate.listening();
				return gate;
			},
			get: (name) => get(port, `/${name}`),
			becomes: (name, expected) => until(() => `${name} becomes ${expected}`, async () => await get(port, `/${name}`) === expected, LONG),
		});
	} finally {
		await gate?.stop();
		await Promise.all([dns.close(), ...open.map((s) => s.close())]);
	}
}
const logs = (gate, pattern) => until(() => `${pattern}\n${gate.report()}`, () => pattern.test(gate.read('error.log')), LONG);
const check = (name, options, body) => test(name, { timeout: 90000 * SCALE }, (t) => world(options, (w) => body(w, t)));

for (const single of [false, true])
	check(`addresses and services follow their records${single ? ' (single)' : ''}`, {
		single, names: { 'www.test': { A: ['127.0.0.1'], ttl: 1 } },
		origins: { w: 'http://www.test:PORT', s: 'srv:_http._tcp.test', l: 'http://api.localhost:PORT' },
	}, async (w) => {
		await w.listen('127.0.0.1', '127.0.0.2');
		w.dns.names['_http._tcp.test'] = { SRV: [{ port: w.serverPort, target: 'www.test' }], ttl: 1 };
		await w.start();
		for (const name of ['w', 's', 'l'])
			await w.becomes(name, '200 127.0.0.1');
		w.dns.names['www.test'] = { A: ['127.0.0.2'], ttl: 1 };
		await w.becomes('w', '200 127.0.0.2');
		await w.becomes('s', '200 127.0.0.2');
		assert.equal(w.dns.queries.filter((q) => q.name === 'api.localhost').length, 0);
	});

/* covers: R438 */
check('hosts and resolv.conf are read, and read again', {
	origins: { h: 'http://hosted.test:PORT' }, settings: { 'hosts-file': 'hosts' },
}, async (w) => {
	const hosts = path.join(w.dir, 'hosts');
	await w.listen('127.0.0.1', '127.0.0.2');
	fs.writeFileSync(hosts, '127.0.0.1 other HOSTED.test # of the test\n');
	const gate = await w.start();
	await w.becomes('h', '200 127.0.0.1');
	fs.writeFileSync(`${hosts}.new`, '127.0.0.2 hosted.test\n');
	fs.renameSync(`${hosts}.new`, hosts);
	await w.becomes('h', '200 127.0.0.2');
	assert.equal(w.dns.queries.length, 0);
	fs.rmSync(hosts);
	await logs(gate, /names: .*hosts cannot be read: No such file or directory; what was read before stays in use/);
	assert.equal(await w.get('h'), '200 127.0.0.2');
});

/* covers: R435 */
check('the last good answer stays while no resolver answers', {
	names: { 'www.test': { A: ['127.0.0.1'], ttl: 1 } }, origins: { w: 'http://www.test:PORT' }, settings: { 'dns-timeout': '100ms' },
}, async (w) => {
	await w.listen('127.0.0.1');
	const gate = await w.start();
	await w.becomes('w', '200 127.0.0.1');
	w.dns.isSilent = true;
	await logs(gate, /the name www\.test cannot be looked up: the resolver does not answer; its last addresses stay/);
	assert.equal(await w.get('w'), '200 127.0.0.1');
});

check('a dead resolver is passed over for the next', {
	names: { 'www.test': { A: ['127.0.0.1'], ttl: 1 } }, origins: { w: 'http://www.test:PORT' },
	resolver: (dns) => `127.0.0.3:9 ${dns.address}`,
}, async (w) => {
	await w.listen('127.0.0.1');
	await w.start();
	await w.becomes('w', '200 127.0.0.1');
});

/* How often the kernel has taken the processor away from a worker: a pass that it stops in the middle is long. */
const interruptions = (gate) => gate.workers().reduce((n, pid) => n + Number(/nonvoluntary_ctxt_switches:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]), 0);

/* Under a sanitizer everything is slow. */
const isSlow = /asan|cover/.test(BINARY);
const many = (lie) => Array.from({ length: 6 }, (_, i) => [`${lie}${i}.test`, lie]);
/* covers: R439 */
check('dead, slow and lying resolvers delay no request to another origin', {
	names: {
		...Object.fromEntries(['id', 'question', 'giant', 'truncated', 'garbage', 'short'].flatMap(many)
			.map(([name, lie]) => [name, { A: ['127.0.0.1'], ttl: 1, lie }])),
		...Object.fromEntries(many('slow').map(([name]) => [name, { A: ['127.0.0.1'], ttl: 1, delay: 400 }])),
		...Object.fromEntries(many('silent').map(([name]) => [name, { isSilent: true }])),
		...Object.fromEntries(many('loop').map(([name]) => [name, { CNAME: name }])),
	},
	origins: {
		good: 'http://127.0.0.1:PORT',
		...Object.fromEntries(['id', 'question', 'giant', 'truncated', 'garbage', 'short', 'slow', 'silent', 'loop'].flatMap(many)
			.map(([name]) => [name.replace('.test', ''), `http://${name}:PORT`])),
	},
	settings: { 'dns-timeout': '200ms' },
}, async (w, t) => {
	await w.listen('127.0.0.1');
	const gate = await w.start();
	const lies = ['id', 'question', 'giant', 'truncated', 'garbage', 'short', 'slow', 'silent', 'loop'];
	const wereAsked = () => w.dns.queries.some((q) => q.transport === 'tcp') && lies.every((lie) => w.dns.queries.some((q) => q.name.startsWith(lie)));
	let slowest = 0;
	for (const end = Date.now() + 3000, last = end + LONG; Date.now() < end || !wereAsked();) {
		const since = performance.now();
		assert.equal(await w.get('good'), '200 127.0.0.1');
		slowest = Math.max(slowest, performance.now() - since);
		assert.ok(Date.now() < last, 'each lie was asked for');
	}
	assert.ok(slowest < LONG, `${slowest} ms`);
	/* The first passes open everything. */
	const long = gate.counters().loop_passes_over_5ms, interrupted = interruptions(gate);
	t.diagnostic(`${long} passes of more than 5 ms, ${interrupted} interruptions; the slowest request took ${slowest.toFixed(1)} ms`);
	assert.ok(isSlow || long <= 10 + interrupted, gate.report());
});

/* How often a list has a value again: of n random ones among m, n²/2m on average. */
const repeats = (list) => list.length - new Set(list).size;
const distances = (list) => list.slice(1).map((n, i) => n - list[i]);
/* covers: R431 */
check('ids and ports of queries are random inside the sandbox', {
	origins: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`n${i}`, `http://n${i}.test:PORT`])), settings: { workers: 1 },
}, async (w) => {
	await w.start();
	await until('600 queries', () => w.dns.queries.length >= 600, LONG);
	const queries = w.dns.queries.slice(0, 600);
	for (const [what, list, most] of [['id', queries.map((q) => q.id), 20], ['port', queries.map((q) => q.port), 60]]) {
		assert.ok(repeats(list) <= most, `${repeats(list)} of 600 values of ${what} were there before`);
		assert.ok(repeats(distances(list)) <= 2 * most, `distances of ${what}`);
		assert.ok(distances(list).filter((d) => Math.abs(d) <= 16).length <= most, `neighbours of ${what}`);
	}
});
