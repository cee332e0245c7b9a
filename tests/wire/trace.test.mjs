/* SPDX-License-Identifier: MIT */
/*
 * Traces of client connections in the running server: `pushgate trace`, which asks for one through the status socket,
 * and the option `trace`.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { BINARY, scenario, section, until, workDir } from '../support/gate.mjs';

const SOCKET = { 'status-socket': 'status' };
const SECRETS = { cookie: 'secret=crumb', authorization: 'Basic c2VjcmV0' };

/* The command, ended with the test. seen(pattern) waits for a line. */
class Trace {
	out = '';
	err = '';
	code = null;

	constructor(s, ...args) {
		this.child = spawn(BINARY, ['trace', '-c', s.gate.config, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
		this.child.stdout.setEncoding('utf8').on('data', (text) => { this.out += text; });
		this.child.stderr.setEncoding('utf8').on('data', (text) => { this.err += text; });
		this.over = new Promise((resolve) => {
			this.child.once('close', (code, signal) => { this.code = code ?? signal; resolve(); });
		});
		s.cleanups.push(async () => { this.child.kill(); await this.over; });
	}

	async begun() {
		await until(() => `the trace has begun: ${this.err}`, () => this.err.includes('\n'));
		assert.match(this.err, /^pushgate trace: tracing \S+ for \d+ s\n/);
		return this;
	}
	seen(pattern) { return until(() => `${pattern} in\n${this.out}`, () => this.out.match(pattern)); }
}

async function exchange(s, client, stream, asked) {
	client.request(stream, { path: asked, ...SECRETS });
	s.origin ??= await s.accept();
	const up = await s.origin.expectRequest(asked);
	s.origin.respond(up.stream, { fields: { 'set-cookie': 'answer=crumb' }, body: 'hello' });
	await client.response(stream);
}

/* Lines of one connection, as "s1 <- HEADERS len=5 end". */
const frames = (out) => out.split('\n').filter(Boolean).map((line) => line.replace(/^.* port \d+: /, ''));

function inOrder(lines, ...patterns) {
	let at = -1;
	for (const pattern of patterns) {
		const next = lines.findIndex((line, i) => i > at && pattern.test(line));
		assert.ok(next > at, `${pattern} behind line ${at} of\n${lines.join('\n')}`);
		at = next;
	}
}

for (const single of [true, false]) {
	const mode = single ? 'in one process' : 'with master and workers';

	scenario(`the chosen client's frames come in order and without values, no other's: ${mode}`,
		{ single, server: SOCKET }, async (s) => {
			const trace = await new Trace(s, '127.0.0.1/32').begun();
			const chosen = await s.connect();
			const other = await s.connect({ localAddress: '127.0.0.2' });
			await exchange(s, other, 1, '/other');
			await exchange(s, other, 3, '/another');
			await exchange(s, chosen, 1, '/chosen');
			await trace.seen(/s1 -> DATA len=5 end\n/);
			inOrder(frames(trace.out), /^s0 -> SETTINGS len=\d+$/, /^s0 <- SETTINGS len=\d+$/, /^s1 <- HEADERS len=\d+ end$/,
				/^s1 -> HEADERS len=\d+$/, /^s1 -> DATA len=5 end$/);
			for (const line of trace.out.split('\n').filter(Boolean)) {
				assert.match(line, /^\d{4}-\d\d-\d\dT[\d:.]+Z info \[w\d+\] trace main: client 127\.0\.0\.1 port \d+: s\d+ (<-|->) [A-Z_]+ len=\d+/);
				assert.ok(line.length < 200, line);
			}
			assert.equal(new Set(trace.out.match(/port \d+/g)).size, 1, 'one connection');
			assert.doesNotMatch(trace.out, /crumb|c2VjcmV0|secret|chosen|s3 /);
			assert.doesNotMatch(s.gate.read('error.log'), / trace /, 'nothing of it is in the log');
		});

	scenario(`a connection that is open already is traced from the switch on, and not when the time is over: ${mode}`,
		{ single, server: SOCKET }, async (s) => {
			const client = await s.connect();
			await exchange(s, client, 1, '/before');
			const trace = await new Trace(s, '--seconds', '2', '127.0.0.1').begun();
			const begin = Date.now();
			await exchange(s, client, 3, '/during');
			await trace.seen(/s3 -> DATA len=5 end\n/);
			await trace.over;
			assert.ok(Date.now() - begin > 1500, 'not before the time is over');
			assert.equal(trace.code, 0, trace.err);
			await exchange(s, client, 5, '/after');
			assert.doesNotMatch(trace.out, / s1 | s5 /);
			/* The next one begins anew. */
			const next = await new Trace(s, '127.0.0.1').begun();
			await exchange(s, client, 7, '/next');
			await next.seen(/s7 -> DATA len=5 end\n/);
		});

	scenario(`an ended command makes room; more than four at a time are refused: ${mode}`, { single, server: SOCKET }, async (s) => {
		const traces = [];
		for (let i = 0; i < 4; i++)
			traces.push(await new Trace(s, '127.0.0.1').begun());
		const refused = new Trace(s, '127.0.0.1');
		await refused.over;
		assert.equal(refused.code, 1);
		assert.match(refused.err, /status: refused: too many traces are on/);
		traces[1].child.kill('SIGINT');
		await traces[1].over;
		const next = await new Trace(s, '127.0.0.1').begun();
		const client = await s.connect();
		await exchange(s, client, 1, '/');
		for (const t of [traces[0], traces[2], traces[3], next])
			await t.seen(/s1 -> DATA len=5 end\n/);
		assert.equal(s.gate.counters().requests, 1);
	});
}

scenario('a worker that is started again traces as well, and the command sees the end of the server',
	{ single: false, server: SOCKET }, async (s) => {
		const trace = await new Trace(s, '127.0.0.1').begun();
		const [pid] = s.gate.workers();
		process.kill(pid, 'SIGKILL');
		await s.gate.error(/worker 0 \(process \d+\) is up again/);
		const client = await s.connect();
		await exchange(s, client, 1, '/');
		await trace.seen(/s1 -> DATA len=5 end\n/);
		client.close();
		s.gate.child.kill('SIGTERM');
		await s.gate.ended();
		await trace.over;
		assert.equal(trace.code, 1);
		assert.match(trace.err, /ended before the time was over/);
	});

scenario('trace = ADDRESS: frames of these clients are lines of the error log', { server: { trace: '192.0.2.0/24 127.0.0.3' } }, async (s) => {
	const other = await s.connect();
	await exchange(s, other, 1, '/other');
	const client = await s.connect({ localAddress: '127.0.0.3' });
	await exchange(s, client, 1, '/');
	await s.gate.error(/trace main: client 127\.0\.0\.3 port \d+: s1 -> DATA len=5 end\n/);
	const lines = s.gate.read('error.log').split('\n').filter((line) => line.includes(' trace '));
	inOrder(lines, /s0 -> SETTINGS/, /s0 <- SETTINGS/, /s1 <- HEADERS len=\d+ end$/, /s1 -> HEADERS/);
	assert.ok(lines.every((line) => line.includes('client 127.0.0.3 port ')), lines.join('\n'));
	assert.doesNotMatch(s.gate.read('error.log'), /crumb|c2VjcmV0/);
});

/* ---- the command line ---- */

function run(...args) {
	return spawnSync(BINARY, ['trace', ...args], { encoding: 'utf8' });
}

test('wrong arguments end with 2 and the usage', () => {
	for (const args of [[], ['nowhere'], ['127.0.0.1/8'], ['127.0.0.1', '127.0.0.2'], ['127.0.0.1', '--seconds', '0'],
		['127.0.0.1', '--seconds', '3601'], ['127.0.0.1', '--seconds', 'x'], ['127.0.0.1', '--seconds'], ['--single', '127.0.0.1']]) {
		const { status, stdout, stderr } = run(...args);
		assert.equal(status, 2, `${args.join(' ')}: ${stderr}`);
		assert.equal(stdout, '');
		assert.match(stderr, /^pushgate trace: .*\nusage: pushgate trace /, args.join(' '));
	}
	const help = run('--help');
	assert.equal(help.status, 0);
	assert.match(help.stdout, /^usage: pushgate trace /);
});

test('a socket that is not there, not given or refused is said to be', () => {
	const dir = workDir();
	try {
		const write = (server) => {
			const file = path.join(dir, 'gate.ini');
			fs.writeFileSync(file, section('server', server) + section('listen a', { address: '127.0.0.1:1' })
				+ section('origin demo', { server: 'demo:' }) + section('route all', { origin: 'demo' }));
			return file;
		};
		const without = run('-c', write({ workers: 1 }), '127.0.0.1');
		assert.equal(without.status, 2);
		assert.match(without.stderr, /sets no status-socket/);
		const absent = run('-c', write({ 'status-socket': 'nothing' }), '127.0.0.1');
		assert.equal(absent.status, 1);
		assert.match(absent.stderr, /^pushgate trace: .*nothing: no pushgate is listening there/);
		fs.writeFileSync(path.join(dir, 'file'), '');
		const refused = run('-c', write({ 'status-socket': 'file' }), '127.0.0.1');
		assert.equal(refused.status, 1);
		assert.match(refused.stderr, /^pushgate trace: .*file: no pushgate is listening there/);
	} finally {
		fs.rmSync(dir, { recursive: true });
	}
});
