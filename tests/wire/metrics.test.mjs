/* SPDX-License-Identifier: MIT */
/* Histograms of times: what is counted with which labels, how many series there are, and what becomes of them at a reload. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { fleet } from '../support/fleet.mjs';
import { forward } from '../support/forward.mjs';
import { BINARY, certs, freePort, samples, scenario, section, sleep, until } from '../support/gate.mjs';
import { connect1 } from '../support/http1.mjs';
import { families, lint } from '../support/prometheus.mjs';
import { change, gate, get, haveEnded } from '../support/reloads.mjs';

const SERVER = { 'status-socket': 'status' };

/* {'request_duration_seconds{listen="main",route="main"}': count, …} of all histograms. */
function counts(text) {
	const all = Object.entries(samples(text)).filter(([name]) => /_seconds_count\{/.test(name));
	return Object.fromEntries(all.map(([name, n]) => [name.replace(/^pushgate_(.*)_count\{/, '$1{'), n]));
}

const counted = (s, wanted) => until(() => `${JSON.stringify(wanted)}, not ${JSON.stringify(counts(s.gate.status()))}`, () => {
	try {
		assert.deepEqual(counts(s.gate.status()), wanted);
		return true;
	} catch {
		return false;
	}
});

// covers: R660
scenario('times are counted once each, by listener, route, origin and server', {
	tls: true, originTls: true, server: SERVER, extra: section('push rest', { action: 'forward' }),
}, async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a.css').respond(2, { body: 'css' });
	await client.expectPromise('/a.css');
	await client.response(2);
	await sleep(60);
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	const server = `h2://127.0.0.1:${s.server.port}`;
	await counted(s, {
		'request_duration_seconds{listen="main",route="main"}': 1,
		'push_duration_seconds{route="main"}': 1,
		'queue_wait_seconds{origin="main"}': 1,
		[`origin_first_byte_seconds{origin="main",server="${server}"}`]: 1,
		[`origin_connect_seconds{origin="main",server="${server}"}`]: 1,
		[`origin_tls_handshake_seconds{origin="main",server="${server}"}`]: 1,
		'tls_handshake_seconds{listen="main"}': 1,
	});
	/* The origin has waited 60 ms. */
	const text = s.gate.status(), all = samples(text);
	const late = (name, labels) => all[`pushgate_${name}_bucket{${labels},le="0.05"}`] === 0 && all[`pushgate_${name}_sum{${labels}}`] >= 0.06;
	assert.ok(late('request_duration_seconds', 'listen="main",route="main"'), text);
	assert.ok(late('origin_first_byte_seconds', `origin="main",server="${server}"`), text);
	assert.equal(all.series, 7);
	assert.equal(all.series_left_out, 0);
	lint(families(text), 'pushgate_', 'process_');
});

scenario('a request that joins a held response has waited for it, and not for an origin', {
	server: SERVER, extra: section('push hold', { action: 'hold' }),
}, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { enablePush: 0 } } });
	origin.push(up, 2, '/a.css');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	await s.settle(client, origin);
	client.request(3, { path: '/a.css' });
	await s.settle(client, origin);
	await sleep(30);
	origin.respond(2, { fields: { 'cache-control': 'max-age=60' }, body: 'css' });
	await client.response(3);
	const server = `h2c://127.0.0.1:${s.server.port}`;
	await counted(s, {
		'request_duration_seconds{listen="main",route="main"}': 2,
		'claim_wait_seconds{route="main"}': 1,
		'queue_wait_seconds{origin="main"}': 1,
		[`origin_first_byte_seconds{origin="main",server="${server}"}`]: 1,
		[`origin_connect_seconds{origin="main",server="${server}"}`]: 1,
	});
	assert.ok(samples(s.gate.status())['pushgate_claim_wait_seconds_sum{route="main"}'] >= 0.03);
});

scenario('what no route takes is counted without one, and what an origin never answers has no first byte', {
	server: SERVER, origins: { main: { server: 'http://127.0.0.1:1' } }, routes: section('route main', { path: '/a', origin: 'main' }),
}, async (s) => {
	const client = await connect1(s.port);
	s.cleanups.push(() => client.close());
	for (const [asked, status] of [['/none', 404], ['/a', 503]]) {
		client.request('GET', asked, [['Host', 'a.test']]);
		assert.equal((await client.response()).status, status);
	}
	await counted(s, {
		'request_duration_seconds{listen="main",route="(none)"}': 1,
		'request_duration_seconds{listen="main",route="main"}': 1,
		'queue_wait_seconds{origin="main"}': 1,
	});
});

// covers: R660
scenario('requests of one route that come to two listeners and go to two servers are told apart', {
	server: SERVER, origins: {}, routes: ' ',
	prepare: async (s) => {
		s.fleet = await fleet([{}, {}]);
		s.cleanups.push(() => s.fleet.forEach((one) => one.shut()));
		s.other = await freePort();
		s.options.extra = section('listen other', { address: `127.0.0.1:${s.other}` }) + section('route main', { origin: 'both' })
			+ section('origin both', { server: s.fleet.map((one) => `h2c://${one.address}`), balance: 'round-robin' });
	},
}, async (s) => {
	for (let i = 0; i < 30; i++)
		assert.equal((await get(i % 3 === 0 ? s.other : s.port, '/')).status, 200);
	const [a, b] = s.fleet;
	assert.ok(a.requests > 5 && b.requests > 5, `${a.requests} and ${b.requests}`);
	await until('all are counted', () => s.gate.counters().requests_open === 0);
	const all = counts(s.gate.status());
	assert.equal(all['request_duration_seconds{listen="main",route="main"}'], 20);
	assert.equal(all['request_duration_seconds{listen="other",route="main"}'], 10);
	assert.equal(all['queue_wait_seconds{origin="both"}'], 30);
	for (const one of s.fleet)
		assert.equal(all[`origin_first_byte_seconds{origin="both",server="h2c://${one.address}"}`], one.requests);
});

/* Each address of 127.0.0.0/8 is a destination of its own. */
async function everywhere(s) {
	const server = http.createServer((request, response) => response.end('here'));
	await new Promise((resolve) => { server.listen(0, '0.0.0.0', resolve); });
	s.cleanups.push(() => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }));
	return { h1: server.address().port };
}

// covers: R660
forward('destinations that requests name count as their origin', { server: SERVER, start: everywhere }, async (s) => {
	const client = await connect1(s.port);
	s.cleanups.push(() => client.close());
	for (let i = 1; i <= 5; i++) {
		client.request('GET', `http://127.0.0.${i}:${s.ports.h1}/`, [['Host', `127.0.0.${i}:${s.ports.h1}`]]);
		assert.equal((await client.response()).status, 200);
	}
	await counted(s, {
		'request_duration_seconds{listen="main",route="forward"}': 5,
		'queue_wait_seconds{origin="forward"}': 5,
		'origin_first_byte_seconds{origin="forward",server="(none)"}': 5,
		'origin_connect_seconds{origin="forward",server="(none)"}': 5,
	});
	assert.doesNotMatch(s.gate.status(), /_seconds_count\{.*127\.0\.0\./);
});

const numbered = (n) => Array.from({ length: n }, (_, i) => section(`route r${i}`, { path: `/${i}`, answer: 200 })).join('');
const askAll = async (s, n) => {
	for (let i = 0; i < n; i++)
		assert.equal((await get(s.port, `/${i}`)).status, 200);
};

// covers: R661
scenario('max-series bounds them, and what is left out is counted together', {
	server: { ...SERVER, 'max-series': 2 }, origins: {}, routes: numbered(5),
}, async (s) => {
	await askAll(s, 5);
	await askAll(s, 5);
	await counted(s, {
		'request_duration_seconds{listen="main",route="r0"}': 2,
		'request_duration_seconds{listen="main",route="r1"}': 2,
		'request_duration_seconds{listen="(other)",route="(other)"}': 6,
	});
	const { series, series_left_out: leftOut } = samples(s.gate.status());
	assert.deepEqual([series, leftOut], [2, 3]);
});

// covers: R663
for (const single of [true, false])
	scenario(`a status that is longer than a socket takes comes whole: ${single ? '--single' : 'master and worker'}`, {
		single, server: SERVER, origins: {}, routes: numbered(400),
	}, async (s) => {
		await askAll(s, 400);
		await until('all have ended', () => s.gate.counters().requests_open === 0);
		const text = s.gate.status();
		assert.ok(text.length > 400000, `${text.length} bytes`);
		assert.ok(text.endsWith('\n# EOF\n'));
		assert.equal(Object.keys(counts(text)).length, 400);
		lint(families(text), 'pushgate_', 'process_');
		const json = spawnSync(BINARY, ['status', '--json', path.join(s.dir, 'status')], { encoding: 'utf8', maxBuffer: 1 << 26 });
		assert.equal(JSON.parse(json.stdout).pushgate_request_duration_seconds.samples.length, 400 * 17);
		/* One who takes no descriptors gets the beginning, or all if it reads as fast as it is sent. */
		const plain = await new Promise((resolve) => {
			let read = '';
			net.connect(path.join(s.dir, 'status')).setEncoding('utf8').on('data', (part) => { read += part; }).on('close', () => resolve(read));
		});
		assert.match(plain, /^# pushgate /);
		assert.ok(plain.length > 10000 && plain.includes('# HELP pushgate_requests_total '), plain);
	});

// covers: R662
gate('histograms go on over reloads, by the names of their labels', async (s) => {
	const answer = (name) => section(`route ${name}`, { path: `/${name}`, answer: 200 });
	const started = samples(s.gate.status()).start_time_seconds;
	assert.ok(Math.abs(started - Date.now() / 1000) < 300, `${started}`);
	await change(s, { more: answer('a') + answer('b') });
	await haveEnded(s, 1);
	for (let i = 0; i < 3; i++)
		await get(s.port, '/a');
	await get(s.port, '/b');
	await until('all are counted', () => {
		const now = counts(s.gate.status());
		return now['request_duration_seconds{listen="l0",route="a"}'] === 3 && now['request_duration_seconds{listen="l0",route="b"}'] === 1;
	});
	const killed = s.gate.workers();
	killed.forEach((pid) => process.kill(pid, 'SIGKILL'));
	await until('others have taken their places', () => s.gate.workers().length === 2 && !s.gate.workers().some((pid) => killed.includes(pid)));
	assert.equal(counts(s.gate.status())['request_duration_seconds{listen="l0",route="a"}'], 3);
	await change(s, { more: answer('c') + answer('b') + answer('a') });
	await get(s.port, '/a');
	await until('the next one is counted', () => counts(s.gate.status())['request_duration_seconds{listen="l0",route="a"}'] === 4);
	await change(s, { workers: 1 });
	await haveEnded(s, 3);
	const all = counts(s.gate.status());
	assert.equal(all['request_duration_seconds{listen="l0",route="a"}'], 4);
	assert.equal(all['request_duration_seconds{listen="l0",route="b"}'], 1);
	assert.equal(all['request_duration_seconds{listen="l0",route="c"}'], undefined);
	assert.equal(s.gate.counters()['pushgate_reloads_total{result="done"}'], 3);
	assert.equal(samples(s.gate.status()).start_time_seconds, started, 'reloads are no starts');
});

scenario('the status has what the program is made of, what its processes use, and when its certificates end', {
	single: false, tls: true, server: { ...SERVER, memory: '64M' },
}, async (s) => {
	const { client, origin, up } = await s.open();
	const all = samples(s.gate.status()), file = certs().file('rsa.pem');
	const build = Object.keys(all).find((name) => name.startsWith('pushgate_build_info{'));
	assert.match(build, /\{version="\d+\.\d+\.\d+",tls_library="\w+"\}$/);
	assert.equal(all.memory_limit_bytes, 64 << 20);
	const end = Date.parse(new X509Certificate(fs.readFileSync(file)).validTo) / 1000;
	assert.equal(all[`pushgate_certificate_expiry_timestamp_seconds{listen="main",file="${file}"}`], end);
	assert.equal(all['pushgate_connections_open{side="client"}'], 1);
	assert.equal(all['pushgate_sessions_open{side="client",protocol="h2"}'], 1);
	assert.equal(all['pushgate_sessions_open{side="client",protocol="http/1.1"}'], 0);
	assert.equal(all['pushgate_sessions_open{side="origin",protocol="h2"}'], 1);
	for (const name of ['worker 0', 'master']) {
		const of = (metric) => all[`${metric}{process="${name}"}`];
		assert.equal(of('pushgate_process_up'), 1, name);
		assert.ok(Math.abs(of('process_start_time_seconds') - Date.now() / 1000) < 300, `${name}: ${of('process_start_time_seconds')}`);
		assert.ok(of('process_cpu_seconds_total') >= 0, name);
		assert.ok(of('process_resident_memory_bytes') > 1 << 20 && of('process_virtual_memory_bytes') > of('process_resident_memory_bytes'), name);
		assert.ok(of('process_max_fds') > 10, name);
	}
	assert.ok(all['process_open_fds{process="master"}'] > 3);
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	client.close();
	await until('no session of a client is left', () => s.gate.counters()['pushgate_sessions_open{side="client",protocol="h2"}'] === 0);
});

/* The program that reads them has the last word. */
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
// covers: R663
scenario('promtool has nothing to say', { tls: true, server: SERVER, skip: hasPromtool ? false : 'promtool(1) is not here' }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a.css').respond(2, { body: 'css' });
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	await until('it has ended', () => s.gate.counters().requests_open === 0);
	const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: s.gate.status(), encoding: 'utf8' });
	assert.equal(stdout + stderr, '');
	assert.equal(status, 0);
});
