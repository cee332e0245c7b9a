/* SPDX-License-Identifier: MIT */
/*
 * A pushgate for the proof of reloads, in a session of its own, by which all its processes are found: those of old
 * generations and of programs that an upgrade has left, too. Whatever way this process ends, they end with it.
 */
import fs from 'node:fs';
import path from 'node:path';
import { BINARY, Gate, certs, section, until, workDir } from '../../support/gate.mjs';
import { run } from '../../support/programs.mjs';
import { child } from '../child.mjs';

/* Used up by a hang alone. */
const COMMAND_MS = 90000;
const written = (labels) => { const all = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`); return all.length ? `{${all}}` : ''; };
const cleanups = new Set();
process.once('exit', () => cleanups.forEach((clean) => clean()));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
	process.once(signal, () => process.exit(1));
/* Called at any exit; the result is called to have it now. */
export function atExit(clean) {
	cleanups.add(clean);
	return () => cleanups.delete(clean) && clean();
}
/* Ends a wait that lasts too long with what it was for. */
export function within(what, ms, promise) {
	let timer;
	const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`it hangs: ${what}, for ${ms} ms`)), ms); });
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/* A process of this folder's programs, which sends accounts. */
export function helper(checks, file, options) {
	const one = child(file, options, (how) => one.isEnding || checks.check(`${file} lived`, false, how));
	one.kill = atExit(() => { one.isEnding = true; one.process.kill('SIGKILL'); });
	const ask = one.accounts.bind(one);
	/* If the process has died, a call for its accounts fails at once. */
	one.accounts = async () => await ask() ?? Promise.reject(new Error(`${file} has ended`));
	one.tell = (message) => one.process.connected && one.process.send(message);
	return one;
}

/* ---- processes ---- */

const read = (file) => {
	try {
		return fs.readFileSync(file, 'utf8');
	} catch {
		return ''; /* it has ended meanwhile */
	}
};
export function processesOf(session) {
	return fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((pid) => {
		const [, comm, rest] = read(`/proc/${pid}/stat`).match(/^\d+ \((.*)\) (.*)/s) ?? [];
		const [state, parent, , of] = rest?.split(' ') ?? [];
		return { pid: Number(pid), comm, state, parent: Number(parent), session: Number(of) };
	}).filter((p) => p.session === session && p.state !== 'Z');
}
/* Bytes that processes have for themselves, and their part of what they share. */
export function memoryOf(processes) {
	const sum = { pss: 0, rss: 0 };
	for (const { pid } of processes) {
		sum.pss += 1024 * Number(read(`/proc/${pid}/smaps_rollup`).match(/^Pss:\s+(\d+)/m)?.[1] ?? 0);
		sum.rss += 1024 * Number(read(`/proc/${pid}/status`).match(/^VmRSS:\s+(\d+)/m)?.[1] ?? 0);
	}
	return sum;
}
export const mib = (bytes) => `${(bytes / 1048576).toFixed(1)} MiB`;

/* ---- the gate ---- */

export class Stage {
	dir = workDir();
	#gate;

	/* `logs`: the folder of the logs, by default the stage's own. */
	constructor({ logs } = {}) {
		this.logs = logs ?? this.dir;
		this.socket = path.join(this.dir, 'status');
		this.config = path.join(this.dir, 'pushgate.ini');
		this.kill = atExit(() => {
			for (const { pid } of this.#gate ? this.processes() : [])
				this.signal(pid, 'SIGKILL');
			fs.rmSync(this.dir, { recursive: true, force: true });
		});
	}
	/* [server] with the usual keys. */
	server(keys = {}) {
		return section('server', {
			workers: 2, 'access-log': path.join(this.logs, 'access.log'), 'error-log': path.join(this.logs, 'error.log'), 'status-socket': this.socket,
			'drain-timeout': '1h', 'tunnel-drain-timeout': '1h', ...keys,
		});
	}
	async start(config, ports) {
		this.#gate = new Gate({ dir: this.dir, config, ports, single: false, wrap: ['setsid'] });
		await this.#gate.listening();
		await until(`it is ready\n${this.log()}`, () => / ready\n/.test(this.log()));
	}
	get session() { return this.#gate.pid; }
	get stderr() { return this.#gate.stderr; }
	log() { return read(path.join(this.logs, 'error.log')); }
	tail(lines = 15) { return `${this.log().split('\n').slice(-lines).join('\n')}\n${this.stderr.slice(-2000)}`; }
	/* How many lines the access log has: one for each request and one for each push. */
	lines() { return read(path.join(this.logs, 'access.log')).split('\n').length - 1; }
	count(pattern) { return this.log().match(pattern)?.length ?? 0; }
	processes() { return processesOf(this.session); }
	/* Those of a kind: w (worker), files, pass, log. */
	of(kind) { return this.processes().filter((p) => p.comm.startsWith(`pushgate-${kind}`)); }
	signal(pid, name) {
		try {
			process.kill(pid, name);
		} catch (error) {
			if (error.code !== 'ESRCH')
				throw error;
		}
	}

	command(...args) { return run(BINARY, args, { limit: COMMAND_MS, cwd: this.dir }); }
	/* {status of the command, its text}; a configuration is written before, if it is given. */
	async change(config, how = 'reload') {
		if (config !== undefined)
			fs.writeFileSync(this.config, config);
		const began = Date.now(), { code, stderr } = await this.command(how, this.socket);
		return { code, stderr, ms: Date.now() - began };
	}
	/* All samples, by name and labels, as Prometheus writes them. */
	async samples() {
		const { code, stdout, stderr } = await this.command('status', '--json', this.socket);
		if (code)
			throw new Error(`status: ${stderr}`);
		const all = {};
		for (const [name, { type, samples }] of Object.entries(JSON.parse(stdout)))
			for (const { labels, value } of samples)
				all[name + written(labels)] = { value, isCounter: type === 'counter' };
		return all;
	}
	async counters() {
		const all = await this.samples();
		return Object.fromEntries(Object.entries(all).map(([name, { value }]) => [name.replace(/^pushgate_(\w*?)(_total)?$/, '$1'), value]));
	}
	/* How many generations the process that serves has: the newest, and those that drain. */
	async generations() {
		const { stdout } = await this.command('status', this.socket);
		return 1 + new Set(stdout.match(/^# worker \d+ of generation \d+(?=: process)/gm)?.map((line) => line.split(' ').at(-1))).size;
	}
	/* Eight may live at once: a client that stays for some of them must not meet the ninth. */
	fewGenerations(most = 6) { return until('older generations end', async () => await this.generations() <= most, COMMAND_MS); }
	async master() { return Number((await this.command('status', this.socket)).stdout.match(/^# pushgate \S+, process (\d+)/m)?.[1]); }

	/* Tells the process that serves to end, and waits for all of them. The text of what was wrong, or ''. */
	async end() {
		const master = await this.master(), before = this.processes().length;
		this.signal(master || this.session, 'SIGTERM');
		for (const end = Date.now() + 30000; this.processes().length && Date.now() < end;)
			await new Promise((resolve) => { setTimeout(resolve, 50); });
		const left = this.processes();
		const { exit } = this.#gate;
		const wrong = left.length ? `${left.length} of ${before} processes do not end: ${left.map((p) => `${p.pid} ${p.comm}`).join(', ')}`
			: exit && exit.code !== 0 ? `it ended with ${JSON.stringify(exit)}` : '';
		return wrong && `${wrong}\n${this.tail()}`;
	}
	close() { this.kill(); }
}

/* The beginning of a list of what went wrong, a line each. */
export const show = (list) => list.slice(0, 5).map((x) => `\n    ${JSON.stringify(x)}`).join('');

/* A pair of certificate and key in the stage's folder: the key comes first, each in one step. */
export function putPair(stage, kind) {
	for (const end of ['key', 'pem']) {
		const to = path.join(stage.dir, `chain.${end}`);
		fs.copyFileSync(certs().file(`${kind}.${end}`), `${to}.new`);
		fs.chmodSync(`${to}.new`, 0o600);
		fs.renameSync(`${to}.new`, to);
	}
}
