/* SPDX-License-Identifier: MIT */
/*
 * The harness: starts the real binary with a configuration made for one test, scripted peers on
 * both sides of it, and looks at the end whether it is still well: alive, no fault of memory, exit
 * status 0 on SIGTERM.
 *
 * PUSHGATE names the binary (build/pushgate by default), PUSHGATE_TEST_SLOW stretches every deadline.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PATIENCE, SCALE, connect, listen } from './peer.mjs';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const BINARY = path.resolve(ROOT, process.env.PUSHGATE ?? 'build/pushgate');

/* A worker that drains waits for a second: a client that the processor has kept waiting for as long has lost its connection. */
export const LEAVE_MS = 900;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/* Waits for a promise, but not for ever; whether it was in time, the caller sees elsewhere. */
export function patiently(promise, ms) {
	let timer;
	return Promise.race([promise, new Promise((resolve) => { timer = setTimeout(resolve, ms); })]).finally(() => clearTimeout(timer));
}

/* Waits for a condition outside of our sockets (a file, a process): there is no frame to wait for. */
export async function until(what, condition, timeout = PATIENCE) {
	for (const end = Date.now() + timeout; ;) {
		const value = await condition();
		if (value)
			return value;
		if (Date.now() > end)
			assert.fail(`not within ${timeout} ms: ${typeof what === 'function' ? what() : what}`);
		await sleep(10);
	}
}

/* ms in which the first thread of a process could have run, but others had the processors. */
export const waitedForProcessor = (pid) => Number(fs.readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6;

/*
 * A port that nobody listens on, and that no other test process is given as long as this one lives: it has an abstract
 * socket of the port's name. The port is from below the kernel's own range (ip_local_port_range), so that nobody who asks
 * for any port gets it meanwhile, and each test process begins somewhere else.
 */
let lastPort = process.pid * 61;
const opens = (server, ...where) => new Promise((resolve) => {
	server.once('error', () => resolve(false));
	server.listen(...where, () => resolve(true));
});
export async function freePort() {
	for (let tries = 0; tries < 2000; tries++) {
		const port = 12000 + (++lastPort % 20000);
		const claim = net.createServer(), probe = net.createServer();
		if (!await opens(claim, `\0pushgate-test-port-${port}`))
			continue;
		claim.unref();
		if (await opens(probe, port, '127.0.0.1')) {
			await new Promise((resolve) => { probe.close(resolve); });
			return port;
		}
		claim.close();
	}
	throw new Error('no port is free');
}

/* Certificates of a private authority, made once and shared by all test processes. */
let certificates;
export function certs() {
	if (certificates)
		return certificates;
	const dir = path.join(ROOT, 'build/test-certs');
	const stale = () => {
		try {
			return Date.now() - fs.statSync(path.join(dir, 'ca.pem')).mtimeMs > 5 * 86400e3;
		} catch {
			return true;
		}
	};
	if (stale()) {
		const fresh = `${dir}.${process.pid}`;
		fs.mkdirSync(fresh, { recursive: true });
		const made = spawnSync(path.join(ROOT, 'scripts/dev-certs'), [fresh, 'a.test', 'b.test', 'www.a.test'], { encoding: 'utf8' });
		assert.equal(made.status, 0, `scripts/dev-certs failed: ${made.stderr}`);
		/* Whoever comes second uses what is there by then. */
		if (stale()) {
			fs.rmSync(dir, { recursive: true, force: true });
			try {
				fs.renameSync(fresh, dir);
			} catch {
				/* lost the race */
			}
		}
		fs.rmSync(fresh, { recursive: true, force: true });
	}
	const file = (name) => path.join(dir, name);
	certificates = {
		file,
		ca: fs.readFileSync(file('ca.pem')),
		server: { cert: fs.readFileSync(file('rsa.pem')), key: fs.readFileSync(file('rsa.key')) },
	};
	return certificates;
}

export function section(name, values) {
	const lines = Object.entries(values).filter(([, v]) => v !== undefined && v !== null)
		.flatMap(([k, v]) => [v].flat().map((x) => `${k} = ${x}`));
	return `[${name}]\n${lines.join('\n')}\n\n`;
}

const SICK = /ERROR: (Address|Leak|Thread|UndefinedBehavior)Sanitizer|runtime error:|ensure\b.*failed|Assertion|SUMMARY: /;

/*
 * The process. options: config (text), single (default true), ports (that must answer), env, limit (the most
 * descriptors that it may have), wrap (a command and its arguments that the program is run by, such as valgrind).
 */
export class Gate {
	stderr = '';
	stdout = '';
	exit = null;

	constructor({ config, dir, ports, single = true, env = {}, limit = null, wrap = [] }) {
		this.dir = dir;
		this.ports = ports;
		[this.port] = ports;
		this.config = path.join(dir, 'pushgate.ini');
		fs.writeFileSync(this.config, config);
		const args = [...wrap, BINARY, 'run', '-c', this.config, ...(single ? ['--single'] : [])];
		if (limit)
			args.unshift('sh', '-c', `ulimit -n ${limit} && exec "$@"`, 'sh');
		this.child = spawn(args[0], args.slice(1), {
			cwd: dir,
			stdio: ['ignore', 'pipe', 'pipe'],
			env: { ASAN_OPTIONS: 'abort_on_error=0:detect_leaks=1', UBSAN_OPTIONS: 'print_stacktrace=1', ...process.env, ...env },
		});
		this.child.stderr.setEncoding('utf8').on('data', (text) => { this.stderr += text; });
		this.child.stdout.setEncoding('utf8').on('data', (text) => { this.stdout += text; });
		this.finished = new Promise((resolve) => {
			this.child.once('error', (error) => { this.stderr += error.message; this.exit = { code: -1 }; resolve(); });
			this.child.once('close', (code, signal) => { this.exit = { code, signal }; resolve(); });
		});
		/* A test process that dies must not leave it behind. */
		this.reap = () => this.child.kill('SIGKILL');
		process.once('exit', this.reap);
	}

	get pid() { return this.child.pid; }

	async listening() {
		for (const port of this.ports) {
			await until(() => `port ${port} answers\n${this.report()}`, () => {
				assert.equal(this.exit, null, `pushgate ended at once: ${JSON.stringify(this.exit)}\n${this.report()}`);
				return answers(port);
			}, 20000 * SCALE);
		}
		return this;
	}

	read(name) {
		try {
			return fs.readFileSync(path.join(this.dir, name), 'utf8');
		} catch {
			return '';
		}
	}

	/* All lines of the access log so far. Behind the last line break there may be half a line: it is being written. */
	accessLines() {
		return this.read('access.log').split('\n').slice(0, -1).filter(Boolean).map((line) => JSON.parse(line));
	}
	/* The first access line that matches, waiting for it. */
	access(matches = () => true) {
		return until(() => `access log line; there are:\n${this.read('access.log')}`, () => this.accessLines().find(matches));
	}
	error(pattern) {
		return until(() => `error log line ${pattern}; there are:\n${this.read('error.log')}`, () => this.read('error.log').match(pattern));
	}

	/* The text of `pushgate status`, and the samples in it. It needs a status-socket. */
	status() {
		return execFileSync(BINARY, ['status', '-c', this.config], { cwd: this.dir, encoding: 'utf8', maxBuffer: 1 << 26 });
	}
	counters() { return samples(this.status()); }

	/* Resident bytes of a process, the gate itself by default. */
	rss(pid = this.pid) {
		return 1024 * Number(fs.readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);
	}
	descriptors(pid = this.pid) { return fs.readdirSync(`/proc/${pid}/fd`).length; }
	/* The workers of a master. */
	workers() {
		return fs.readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, 'utf8').split(' ').filter(Boolean)
			.filter((pid) => this.#isWorker(pid)).map(Number);
	}

	#isWorker(pid) {
		try {
			return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('pushgate-w');
		} catch (error) {
			if (error.code === 'ENOENT' || error.code === 'ESRCH')
				return false; /* it ended meanwhile */
			throw error;
		}
	}

	report() {
		const tail = (text, lines = 40) => text.split('\n').slice(-lines).map((l) => l.slice(0, 600)).join('\n');
		const sick = this.stderr.search(SICK);
		const stderr = sick < 0 ? tail(this.stderr) : this.stderr.slice(sick).split('\n').slice(0, 45).join('\n');
		return `--- stderr of pushgate\n${stderr}\n--- error log\n${tail(this.read('error.log'))}`
			+ `\n--- access log\n${tail(this.read('access.log'), 12)}`;
	}

	/* It was told to end by the test itself: it must have ended well. */
	async ended() {
		await patiently(this.finished, 10000 * SCALE);
		assert.deepEqual(this.exit, { code: 0, signal: null }, this.report());
		this.asked = true;
	}

	/* Ends it, and fails unless it was well. */
	async stop() {
		const died = this.asked ? null : this.exit;
		if (!this.exit) {
			this.child.kill('SIGTERM');
			await patiently(this.finished, 10000 * SCALE);
		}
		const late = !this.exit;
		if (late) {
			this.child.kill('SIGKILL');
			await this.finished;
		}
		process.off('exit', this.reap);
		const report = this.report();
		fs.rmSync(this.dir, { recursive: true, force: true });
		assert.ok(!SICK.test(this.stderr), `pushgate is not well\n${report}`);
		assert.equal(died, null, `pushgate ended by itself: ${JSON.stringify(died)}\n${report}`);
		assert.ok(!late, `pushgate does not end on SIGTERM\n${report}`);
		assert.deepEqual(this.exit, { code: 0, signal: null }, report);
	}
}

/*
 * The samples in the text of `pushgate status`: those without labels under their short names ("requests" for
 * pushgate_requests_total, "requests_open" for pushgate_requests_open), the others as they are written.
 */
export function samples(text) {
	return Object.fromEntries(text.split('\n').filter((line) => line && !line.startsWith('#')).map((line) => {
		const name = line.slice(0, line.lastIndexOf(' '));
		return [name.includes('{') ? name : name.replace(/^pushgate_(.*?)(_total)?$/, '$1'), Number(line.slice(name.length + 1))];
	}));
}

export function answers(port) {
	return new Promise((resolve) => {
		const s = net.connect(port, '127.0.0.1');
		s.once('connect', () => { s.destroy(); resolve(true); });
		s.once('error', () => resolve(false));
	});
}

export function workDir() {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'pushgate-test-'));
	/* Started by root, the workers are somebody else. */
	fs.chmodSync(dir, 0o777);
	return dir;
}

/*
 * Peers and gate of one test. options:
 *   tls          the listener speaks TLS (with the RSA certificate)
 *   originTls    so does the origin
 *   origins      {name: options of listen()}; by default {main: {}}; false = none started
 *   server, listen, origin   more keys of [server], [listen main], and every [origin …]
 *   routes       text instead of the one [route main] that sends all to `main`
 *   extra        text behind all that
 *   prepare      called before the configuration is written: starts what that names
 *   single       false: master and workers
 *   wrap         a command and its arguments that the program is run by
 */
export class Scenario {
	connections = [];
	servers = {};
	cleanups = [];

	constructor(options = {}) { this.options = options; }

	async start() {
		const o = this.options;
		this.dir = workDir();
		await o.prepare?.(this);
		const port = o.port ?? await freePort();
		let config = section('server', {
			workers: 1, 'access-log': path.join(this.dir, 'access.log'), 'error-log': path.join(this.dir, 'error.log'),
			'drain-timeout': '1s', ...o.server,
		});
		config += section('listen main', {
			address: `127.0.0.1:${port}`,
			...(o.tls ? { certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') } : {}),
			...o.listen,
		});
		for (const [name, options] of Object.entries(o.origins ?? { main: {} })) {
			const { config: own = {}, ...rest } = options;
			if (rest.server === undefined) {
				const server = await listen({ name, ...(o.originTls ? { tls: certs().server } : {}), ...rest });
				this.servers[name] = server;
				/* An address and not a name: localhost has two, which would be two servers. */
				rest.server = `${o.originTls ? 'h2' : 'h2c'}://127.0.0.1:${server.port}`;
			}
			config += section(`origin ${name}`, {
				server: rest.server, ...(o.originTls ? { 'tls-ca': certs().file('ca.pem'), 'tls-name': 'localhost' } : {}), ...o.origin, ...own,
			});
		}
		config += o.routes ?? section('route main', { origin: Object.keys(o.origins ?? { main: {} })[0] });
		config += o.extra ?? '';
		this.gate = new Gate({ config, dir: this.dir, ports: [port], single: o.single ?? true, env: o.env, wrap: o.wrap });
		await this.gate.listening();
		return this;
	}

	get server() { return this.servers.main; }
	get port() { return this.gate.port; }

	async connect(options = {}) {
		const { tls = this.options.tls, port = this.port, ...rest } = options;
		const c = await connect(port, { tls, ca: tls ? certs().ca : undefined, ...rest, name: rest.name ?? `client#${this.connections.length + 1}` });
		this.connections.push(c);
		return c;
	}
	accept(name = 'main', timeout = undefined) { return this.servers[name].accept(timeout); }

	/* A client that has asked for `path`, and the origin connection on which the request came. */
	async open({ path: asked = '/', client = {}, request = {}, options = {} } = {}) {
		const c = await this.connect(client);
		c.request(1, { path: asked, ...request }, options);
		const origin = await this.accept();
		const up = await origin.expectRequest();
		return { client: c, origin, up };
	}

	/* Both hops are quiet: what was sent on one has had its effect on the other. */
	async settle(...connections) {
		for (const c of connections)
			await c.sync();
		for (const c of connections.reverse())
			await c.sync();
	}

	async stop(failure) {
		const all = [...this.connections, ...Object.values(this.servers).flatMap((s) => s.connections)];
		const violations = all.flatMap((c) => c.violations.map((v) => `${c.name}: ${v}`));
		const traces = () => all.map((c) => `--- ${c.name}\n${c.trace.slice(-60).join('\n')}`).join('\n');
		let report = '';
		if (failure || violations.length)
			report = `\n${traces()}\n${this.gate?.report() ?? ''}`;
		for (const c of this.connections)
			c.close();
		for (const f of this.cleanups.reverse())
			await f();
		await Promise.all(Object.values(this.servers).map((s) => s.close()));
		try {
			await this.gate?.stop();
		} catch (error) {
			if (!failure)
				throw error;
			failure.message += `\n(besides: ${error.message.split('\n')[0]})`;
		}
		if (failure) {
			failure.message += report;
			throw failure;
		}
		assert.equal(violations.length, 0, `a peer saw what may never be:\n${violations.join('\n')}${report}`);
	}
}

/* A test that ran out of time may have left something open: the others' results must not wait for it. */
let hasEnd = false;
function endInTime() {
	if (!hasEnd)
		after(() => { setTimeout(() => process.exit(), 3000).unref(); });
	hasEnd = true;
}

/* One test: scenario('what holds', {options}, async (s) => { … }). */
export function scenario(name, options, body) {
	endInTime();
	if (typeof options === 'function')
		[options, body] = [{}, options];
	const { skip, timeout = 120000, ...rest } = options;
	test(name, { skip, timeout: timeout * SCALE }, async () => {
		const s = new Scenario(rest);
		let failure;
		try {
			await s.start();
			await body(s);
		} catch (error) {
			failure = error;
		}
		await s.stop(failure);
	});
}
