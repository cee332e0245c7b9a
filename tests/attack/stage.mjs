/* SPDX-License-Identifier: MIT */
/*
 * One attack on stage: a fresh gate, the honest client at work beside the attacker, quiet and attacked rounds in
 * turn, and the numbers that tell what the attack could do. Origin, honest client and attacker are processes of
 * their own and serve one row after the other.
 */
import { fork, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { BINARY, Gate, certs, freePort, patiently, section, sleep, until, workDir } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const MB = 1 << 20;
/* Of the error log: an attack may not become one on the disk. */
const LINES_MOST = 400;

/* A process that is asked one thing at a time. */
class Player {
	constructor(file) {
		this.child = fork(path.join(HERE, file), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], serialization: 'advanced' });
		/* Without one of them nothing that is measured means anything. */
		this.child.once('exit', (code, signal) => {
			if (!this.isEnded)
				throw new Error(`${file} ended by itself: ${code ?? signal}`);
		});
	}

	/* The next thing that it says. */
	answer() {
		return new Promise((resolve, reject) => {
			this.child.once('message', (message) => {
				if (message.error)
					reject(new Error(message.error));
				else
					resolve(message.result ?? message);
			});
		});
	}

	ask(message) {
		const answer = this.answer();
		this.child.send(message);
		return answer;
	}

	end() {
		this.isEnded = true;
		this.child.disconnect();
	}
}

/* What the gate's workers use. */
class Meter {
	constructor(gate) {
		this.gate = gate;
		this.pids = gate.workers();
	}
	#sum(of) { return this.pids.reduce((sum, pid) => sum + of(pid), 0); }

	/* µs on a processor, from the scheduler's own sum. */
	get cpu() {
		return this.#sum((pid) => fs.readdirSync(`/proc/${pid}/task`).reduce((sum, task) =>
			sum + Number(fs.readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1').split(' ')[0]) / 1000, 0));
	}
	get rss() { return this.#sum((pid) => this.gate.rss(pid)); }
	get descriptors() { return this.#sum((pid) => this.gate.descriptors(pid)); }
}

export class Stage {
	/* options: warmUp (requests), rounds, quiet and attacked (ms of each), p99 (ms at most) */
	constructor(options) {
		this.options = options;
	}

	async open() {
		this.dir = workDir();
		this.origin = new Player('origin.mjs');
		this.honest = new Player('honest.mjs');
		this.attacker = new Player('attacker.mjs');
		this.originPort = (await this.origin.answer()).port;
	}

	close() {
		for (const player of [this.origin, this.honest, this.attacker])
			player.end();
		fs.rmSync(this.dir, { recursive: true, force: true });
	}

	#config(row, dir, port, evil) {
		return section('server', {
			workers: row.workers ?? 1, 'access-log': path.join(dir, 'access.log'), 'error-log': path.join(dir, 'error.log'),
			'status-socket': path.join(dir, 'status'), 'drain-timeout': '1s', ...row.server,
		}) + section('listen main', {
			address: `127.0.0.1:${port}`, ...(row.tls ? { certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') } : {}),
			...row.listener,
		}) + section('origin main', {
			server: `h2c://127.0.0.1:${this.originPort}`, 'idle-timeout': '1s', ...row.origin,
		}) + section('route main', { origin: 'main' }) + (evil ? section('origin evil', {
			server: `h2c://127.0.0.1:${evil}`, 'idle-timeout': '1s', ...row.evil,
		}) + section('route evil', { host: 'evil.test', origin: 'evil' }) : '');
	}

	/* Runs one row. Gives its numbers and, in `faults`, what should not have been. */
	async play(row) {
		const port = await freePort();
		const evil = row.listen ? await freePort() : 0;
		const env = { port, evil, tls: !!row.tls, scheme: row.tls ? 'https' : 'http', authority: `localhost:${port}` };
		if (evil)
			await this.attacker.ask({ run: 'listen', name: row.name, env });
		const dir = workDir();
		const gate = new Gate({ config: this.#config(row, dir, port, evil), dir, ports: [port], single: false, limit: row.limit });
		const out = { row, faults: [], slowest: this.options.p99 * SCALE };
		try {
			await gate.listening();
			await this.#rounds(row, gate, env, out);
		} catch (error) {
			out.faults.push(firstLines(error));
		}
		try {
			await gate.stop();
		} catch (error) {
			out.faults.push(firstLines(error));
		}
		judge(out);
		return out;
	}

	async #rounds(row, gate, env, out) {
		const { warmUp, quiet, attacked } = this.options;
		const rounds = row.rounds ?? this.options.rounds;
		const { honest } = this;
		await until('all workers are up', () => gate.workers().length === (row.workers ?? 1));
		const meter = new Meter(gate);
		out.pids = String(meter.pids);
		const done = async () => honest.ask({});
		await honest.ask({ start: { port: env.port, tls: env.tls, ca: env.tls ? certs().ca : undefined, fresh: row.fresh ?? true } });
		const most = { rss: 0, descriptors: 0 };
		const look = () => {
			most.rss = Math.max(most.rss, meter.rss);
			most.descriptors = Math.max(most.descriptors, meter.descriptors);
		};
		const watch = setInterval(() => { try { look(); } catch { /* it ended; seen elsewhere */ } }, 20);
		const spent = { quiet: 0, attacked: 0 };
		const asked = { quiet: 0, attacked: 0 };
		const span = async (phase, work) => {
			await honest.ask({ phase });
			const [cpu, before] = [meter.cpu, (await done())[phase] ?? 0];
			const result = await work();
			spent[phase] += meter.cpu - cpu;
			asked[phase] += ((await done())[phase] ?? 0) - before;
			return result;
		};
		try {
			await until('the honest client is served', async () => ((await done())['warm-up'] ?? 0) >= warmUp, 20000 * SCALE);
			out.rssBefore = meter.rss;
			out.statusBefore = statusOf(gate);
			most.descriptors = 0;
			out.results = [];
			for (let i = 0; i < rounds; i++) {
				await span('quiet', () => sleep(quiet));
				if (i === 0)
					out.fdsBefore = most.descriptors;
				out.results.push(await span('attacked', async () => {
					const [result] = await Promise.all([this.attacker.ask({ run: 'attack', name: row.name, env, ms: row.ms ?? attacked }), sleep(300)]);
					return result;
				}));
				await honest.ask({ phase: 'after' });
				await sleep(100);
			}
			/* The attacker has gone: what it held comes back. */
			await patiently(until('descriptors come back', () => meter.descriptors <= out.fdsBefore, 20000 * SCALE), 21000 * SCALE).catch(() => {});
			if (row.fresh === false) { /* and new clients are served again */
				await honest.ask({ fresh: true });
				await sleep(1500);
			}
			look();
			out.fdsAfter = meter.descriptors;
			out.fdsMost = most.descriptors;
			out.rssMost = most.rss;
			out.workersAfter = String(gate.workers());
		} finally {
			clearInterval(watch);
			out.phases = await honest.ask({ stop: true });
		}
		const perRequest = spent.quiet / Math.max(1, asked.quiet);
		out.cpu = Math.max(0, spent.attacked - perRequest * asked.attacked);
		out.status = statusOf(gate);
		out.log = gate.read('error.log').split('\n').filter(Boolean);
	}
}

const firstLines = (error) => `${error.message}`.split('\n').slice(0, 6).join(' | ');

function statusOf(gate) {
	const { stdout } = spawnSync(BINARY, ['status', '-c', gate.config], { encoding: 'utf8' });
	return Object.fromEntries(stdout.split('\n').filter((l) => l && !l.startsWith('#'))
		.map((l) => [l.slice(0, l.lastIndexOf(' ')), Number(l.slice(l.lastIndexOf(' ') + 1))]));
}

const percentile = (list, p) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * p))] ?? NaN;

/* Sums of all rounds; strings stay those of the last. */
function sumUp(results) {
	const sum = {};
	for (const result of results)
		for (const [key, value] of Object.entries(result)) {
			if (typeof value === 'number')
				sum[key] = (sum[key] ?? 0) + value;
			else if (value && typeof value === 'object')
				sum[key] = sumUp([sum[key] ?? {}, value]);
			else
				sum[key] = value;
		}
	return sum;
}

function judge(out) {
	const { row, faults } = out;
	const { expect } = row;
	const say = (isWrong, text) => { if (isWrong) faults.push(text); };
	if (!out.phases)
		return;
	const phase = (name) => out.phases[name] ?? { latencies: [], failures: [] };
	const all = Object.values(out.phases);
	const failures = all.flatMap((p) => p.failures);
	const good = all.reduce((n, p) => n + p.latencies.length, 0);
	out.honest = 100 * good / (good + failures.length);
	for (const [name, p] of [['p50', 0.5], ['p99', 0.99]])
		out[name] = ['quiet', 'attacked'].map((when) => percentile(phase(when).latencies, p));
	say(failures.length > 0, `${failures.length} of ${good + failures.length} honest requests failed, such as ${failures.slice(0, 3).join('; ')}`);
	say(good > 0 && phase('attacked').latencies.length === 0, 'no honest request was answered during the attack');
	/* The machine has other work too: what is slow while it is quiet says nothing about the attack. */
	out.isSlow = out.p99[1] > Math.max(out.slowest, 5 * out.p99[0]);
	say(out.isSlow, `honest p99 ${out.p99[1].toFixed(0)} ms`);
	if (!out.status)
		return;

	const result = sumUp(out.results);
	out.result = result;
	out.growth = (out.rssMost - out.rssBefore) / MB;
	out.perFrame = out.cpu / Math.max(1, result.frames);
	say(!(result.frames > 0), 'the attacker sent nothing');
	say(out.growth > (expect.rss ?? 32), `RSS grew by ${out.growth.toFixed(1)} MB`);
	/* A fresh connection of the honest client may be there just now. */
	say(out.fdsAfter > out.fdsBefore + 1, `${out.fdsAfter} descriptors, ${out.fdsBefore} before`);
	say(expect.cpu !== undefined && out.perFrame > expect.cpu, `${out.perFrame.toFixed(1)} µs per frame, at most ${expect.cpu}`);
	say(out.pids !== out.workersAfter, `workers ${out.pids} became ${out.workersAfter}`);

	out.end = judgeWords(result.ends ?? {}, expect.end, 'end', say);
	const resets = judgeWords(result.resets ?? {}, expect.resets, 'reset', say);
	if (resets)
		out.end = [out.end, `RST_STREAM ${resets}`].filter(Boolean).join('; ');
	for (const counter of countersOf(expect, row.side ?? 'client'))
		say(!(out.status[counter] > (out.statusBefore[counter] ?? 0)), `the counter ${counter} has not moved`);
	const bad = out.log.filter((l) => /^\S+ (warn|error) /.test(l) && !expect.log?.test(l));
	say(bad.length > 0, `${bad.length} lines of the error log, such as ${bad[0]}`);
	say(out.log.length > LINES_MOST, `${out.log.length} lines in the error log`);
	const why = expect.judge?.(result, out);
	say(why, why);
}

/* A connection that is ended for a fault is counted under its name. */
function countersOf(expect, side) {
	const [, named] = /^GOAWAY \S+ (\S+)$/.exec([expect.end ?? ''].flat()[0] ?? '') ?? [];
	const faults = [expect.faults ?? [], named ?? []].flat();
	return [...faults.map((fault) => `pushgate_fault_total{side="${side}",fault="${fault}"}`), ...[expect.counters ?? []].flat()];
}

/* The first word must have occurred, and no other than those; 'open' is what the attacker itself ended. */
function judgeWords(got, wanted, what, say) {
	const list = Object.entries(got).filter(([word]) => word !== 'open').sort((a, b) => b[1] - a[1]);
	const shown = list.map(([word, n]) => `${word} ×${n}`).join(', ');
	if (wanted === null || (wanted === undefined && what === 'reset'))
		return shown || (got.open ? `open ×${got.open}` : '');
	const allowed = [wanted ?? []].flat();
	say(allowed.length > 0 && !got[allowed[0]], `no ${what} was "${allowed[0]}" but ${shown || 'none'}${got.open ? `, ${got.open} stayed open` : ''}`);
	const other = list.filter(([word]) => !allowed.includes(word));
	say(other.length > 0, `${what}s that should not be: ${other.map(([word, n]) => `${word} ×${n}`).join(', ')}`);
	return shown || (got.open ? `open ×${got.open}` : '');
}
