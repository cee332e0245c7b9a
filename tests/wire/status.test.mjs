/* SPDX-License-Identifier: MIT */
/* `pushgate status`: the text as a monitoring system reads it, the same as JSON, and what is said when nobody answers. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { BINARY, Gate, ROOT, scenario, section, until, workDir } from '../support/gate.mjs';
import { u32 } from '../support/frames.mjs';
import { families, lint } from '../support/prometheus.mjs';
import { run } from '../support/programs.mjs';

const RULES = section('push pictures', { 'promised-path': '*.png', action: 'drop' }) + section('push rest', { action: 'forward' });
const SERVER = { 'status-socket': 'status', 'promise-rate': 5, 'reset-rate': 3 };

/* Pushes of all kinds, a fault of a client, an end that is the origin's, and push that is off: all that has labels. */
async function busy(s) {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a.css').respond(2, { body: 'css' }).push(up, 4, '/b.png').push(up, 6, '/c.js');
	await client.expectPromise('/a.css');
	const reset = await client.expectPromise('/c.js');
	await client.response(2);
	client.frame('RST_STREAM', 0, reset.promised, u32(8));
	for (let i = 4; i <= 30; i++)
		origin.push(up, 2 * i, `/p${i}`);
	await s.gate.error(/push is off for route main/);
	client.frame('WINDOW_UPDATE', 0, 1, u32(0));
	await client.expectReset(1, 'PROTOCOL_ERROR');
	client.close();
	await until('all is over', () => {
		const { requests_open: requests, 'pushgate_connections_open{side="client"}': connections } = s.gate.counters();
		return requests === 0 && connections === 0;
	});
}

const valueOf = (all, name) => all.find((f) => f.name === name).samples[0].value;

for (const single of [true, false]) {
	scenario(`each family is one block with HELP and TYPE, under a name that says what it is: ${single ? '--single' : 'master and worker'}`,
		{ single, server: SERVER, extra: RULES }, async (s) => {
			const quiet = families(s.gate.status());
			lint(quiet, 'pushgate_', 'process_');
			await busy(s);
			const text = s.gate.status();
			const all = families(text);
			lint(all, 'pushgate_', 'process_');
			assert.match(text, /^# pushgate \d+\.\d+\.\d+, process \d+, up \d+ s, 1 worker\n# worker 0: process \d+, up \d+ s, started 1 time\n/);
			assert.match(text, /\n# EOF\n$/);
			assert.equal(valueOf(all, 'pushgate_requests_total'), 1);
			assert.equal(valueOf(all, 'pushgate_process_up'), 1);
			const names = all.map((f) => f.name);
			for (const name of ['push_total', 'rule_total', 'rule_reset_seconds_total', 'rule_used_ratio', 'peer_faults_by_fault_total', 'end_total', 'route_push_off_seconds'])
				assert.ok(names.includes(`pushgate_${name}`), `${name} is in\n${text}`);
			assert.ok(quiet.length < all.length);
			/* What the page says of them. */
			const page = fs.readFileSync(path.join(ROOT, 'docs/COUNTERS.md'), 'utf8');
			for (const { name, type, help } of all) {
				const [row] = page.match(new RegExp(`^\\| \`${name}(\\{[^}]*\\})?\` \\|.*$`, 'm')) ?? [];
				assert.ok(row?.includes(` ${type} |`) && row.endsWith(`| ${help} |`), `${name} in docs/COUNTERS.md`);
			}
			for (const { name, samples } of all) {
				const [, labels] = page.match(new RegExp(`^\\| \`${name}\` \\| \\w+ \\| ([a-z, ]*) \\| `, 'm')) ?? [];
				if (labels !== undefined)
					assert.equal(Object.keys(samples[0].labels).filter((label) => label !== 'le').join(', '), labels.trim(), name);
			}
		});
}

scenario('JSON has the same families, labels and values', { server: SERVER, extra: RULES }, async (s) => {
	await busy(s);
	const ask = (...args) => spawnSync(BINARY, ['status', '-c', s.gate.config, ...args], { cwd: s.gate.dir, encoding: 'utf8' });
	/* The time goes on between the two. */
	const steady = (all) => all.filter(([name]) => !/push_off_seconds|memory_used|^process_/.test(name));
	const { stdout, stderr, status } = ask('--json');
	assert.deepEqual([status, stderr], [0, '']);
	const object = JSON.parse(stdout);
	const wanted = families(ask().stdout).map(({ name, type, help, samples }) =>
		[name, { type, help, samples: samples.map(({ name: own, labels, value }) => ({ ...(own === name ? {} : { name: own }), labels, value })) }]);
	assert.deepEqual(steady(Object.entries(object)), steady(wanted));
	assert.deepEqual(Object.keys(object), wanted.map(([name]) => name));
	const socket = spawnSync(BINARY, ['status', '--json', path.join(s.dir, 'status')], { encoding: 'utf8' });
	assert.deepEqual(Object.keys(JSON.parse(socket.stdout)), Object.keys(object));
});

const hasScript = spawnSync('script', ['--version']).status === 0;
scenario('at a terminal the lines for programs are left out', { server: SERVER, skip: hasScript ? false : 'script(1) is not here' }, async (s) => {
	const { stdout } = spawnSync('script', ['-qec', `${BINARY} status ${path.join(s.dir, 'status')}`, '/dev/null'], { encoding: 'utf8' });
	const lines = stdout.split('\r\n').filter(Boolean);
	assert.match(lines[0], /^# pushgate /);
	assert.ok(lines.includes('pushgate_requests_total 0'), stdout);
	assert.deepEqual(lines.filter((line) => /^# (HELP|TYPE|EOF)/.test(line)), []);
});

for (const single of [true, false]) {
	// covers: R232
	scenario(`a pushgate that drains leaves the status socket to the next one: ${single ? '--single' : 'master and worker'}`,
		{ single, server: { 'status-socket': 'status', 'drain-timeout': '10m' } }, async (s) => {
			const holder = () => s.gate.status().match(/^# pushgate \S+, process (\d+),/)[1];
			const { client, origin, up } = await s.open();
			assert.equal(holder(), String(s.gate.pid));
			s.gate.child.kill('SIGTERM');
			await until('it has given up its socket', () => !fs.existsSync(path.join(s.dir, 'status')));
			/* Its listening sockets are closed a moment later, in the worker. */
			const config = fs.readFileSync(s.gate.config, 'utf8');
			const next = await until('the next one starts', async () => {
				const gate = new Gate({ config, dir: s.dir, ports: s.gate.ports, single });
				await until('it serves or ends', () => gate.exit || fs.existsSync(path.join(s.dir, 'status')));
				return !gate.exit && gate;
			});
			try {
				await next.listening();
				assert.equal(holder(), String(next.pid));
				assert.equal(s.gate.exit, null, 'the first one drains');
				origin.respond(up.stream, { body: 'late' });
				assert.equal(String((await client.response(1)).body), 'late');
				client.close();
				await s.gate.ended();
				assert.equal(holder(), String(next.pid));
			} finally {
				next.child.kill('SIGTERM');
				await next.ended();
			}
		});
}

/* What listens on the socket gives this answer to whoever connects. */
async function answering(answer, body) {
	const dir = workDir();
	const socket = path.join(dir, 'socket');
	const server = net.createServer((c) => { c.on('error', () => {}); c.end(answer); });
	await new Promise((resolve) => { server.listen(socket, resolve); });
	try {
		await body(socket);
	} finally {
		server.close();
		fs.rmSync(dir, { recursive: true });
	}
}

test('when no pushgate answers it says which socket, and why', async (t) => {
	const dir = workDir();
	t.after(() => fs.rmSync(dir, { recursive: true }));
	const file = path.join(dir, 'pushgate.ini');
	const rest = section('listen a', { address: '127.0.0.1:1' }) + section('origin o', { server: 'demo:' }) + section('route r', { origin: 'o' });
	const ask = (...args) => spawnSync(BINARY, ['status', ...args], { encoding: 'utf8' });
	const nobody = /: no pushgate is listening there; is it running, and is this its status-socket\?\n$/;
	for (const form of [[], ['--json']]) {
		const absent = ask(path.join(dir, 'absent'), ...form);
		assert.deepEqual([absent.status, absent.stdout], [1, '']);
		assert.ok(absent.stderr.startsWith(`pushgate status: ${dir}/absent: `), absent.stderr);
		assert.match(absent.stderr, nobody);
		fs.writeFileSync(file, section('server', { 'status-socket': 'left' }) + rest);
		const left = ask('-c', file, ...form);
		assert.deepEqual([left.status, left.stdout], [1, '']);
		assert.ok(left.stderr.startsWith(`pushgate status: ${dir}/left: `), left.stderr);
		assert.match(left.stderr, nobody);
	}
	fs.writeFileSync(file, rest);
	const without = ask('-c', file);
	assert.deepEqual([without.status, without.stdout], [2, '']);
	assert.equal(without.stderr, `pushgate status: ${file} sets no status-socket; add one to [server] and start pushgate again\n`);
	const long = ask(`/${'x'.repeat(200)}`);
	assert.deepEqual([long.status, long.stdout], [1, '']);
	assert.match(long.stderr, /too long for a unix socket/);
});

test('an answer that is not whole, or not of a pushgate, is not printed', async () => {
	for (const [answer, why] of [
		['', 'no answer'],
		['HTTP/1.1 400 Bad Request\r\n\r\n', 'what listens there is no pushgate'],
		['# pushgate 1.0\n# HELP pushgate_a_total a\n', 'the answer is not whole'],
	]) {
		await answering(answer, async (socket) => {
			for (const form of [[], ['--json']]) {
				const r = await run(BINARY, ['status', socket, ...form]);
				assert.deepEqual([r.code, r.stdout, r.stderr], [1, '', `pushgate status: ${socket}: ${why}\n`]);
			}
		});
	}
});

test('the manual and the pages lead to the formats', () => {
	const page = fs.readFileSync(path.join(ROOT, 'docs/COUNTERS.md'), 'utf8');
	assert.match(page, /status --json/);
	const example = page.match(/```json\n([\s\S]*?)```/)[1];
	for (const family of Object.values(JSON.parse(example)))
		assert.deepEqual(Object.keys(family), ['type', 'help', 'samples']);
});
