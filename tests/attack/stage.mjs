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
import { BINARY, Gate, certs, freePort, patiently, samples, section, sleep, until, workDir } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';
import { isCrowded, judge, unmoved } from './judge.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));

const made = (lines, ...args) => (typeof lines === 'function' ? lines(...args) : lines);

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
	get cpu() { return this.#scheduled(0); }
	/* µs in which they could have run, but other programs had the processors. */
	get waited() { return this.#scheduled(1); }
	#scheduled(column) {
		return this.#sum((pid) => fs.readdirSync(`/proc/${pid}/task`).reduce((sum, task) =>
			sum + Number(fs.readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1').split(' ')[column]) / 1000, 0));
	}
	/* Looks every now and then, and keeps the most of each. */
	watch() {
		this.forget();
		this.timer = setInterval(() => { try { this.look(); } catch { /* it ended; seen elsewhere */ } }, 50);
	}
	look() {
		for (const what of ['rss', 'descriptors'])
			this.most[what] = Math.max(this.most[what], this[what]);
	}
	forget() { this.most = { rss: 0, descriptors: 0 }; }
	rest() { clearInterval(this.timer); }

	get rss() { return this.#sum((pid) => this.gate.rss(pid)); }
	get descriptors() { return this.#sum((pid) => this.gate.descriptors(pid)); }
}

export class Stage {
	/* options: isShort, period (ms, from one honest request to the next), warmUp (requests), rounds, quiet and attacked (ms of each), p99 (ms at most) */
	constructor(options) {
		this.options = options;
	}

	async open() {
		this.origin = new Player('origin.mjs');
		this.honest = new Player('honest.mjs');
		this.attacker = new Player('attacker.mjs');
		this.originPorts = await this.origin.answer();
	}

	close() {
		for (const player of [this.origin, this.honest, this.attacker])
			player.end();
	}

	/* The destinations are on the loopback, which forward mode does not reach unless it is told to. */
	#forward(row) {
		return section('access attack', { allow: 'address=127.0.0.0/8 port=1-65535' })
			+ section('origin forward', { server: 'forward:', 'idle-timeout': '1s', ...row.origin })
			+ section('route forward', { origin: 'forward', ...row.route }) + (row.rules ?? '');
	}

	#config(row, dir, { port, evil, admin, behind }) {
		const env = { evil, honest: this.originPorts.port };
		return section('server', {
			workers: row.workers ?? 1, 'access-log': path.join(dir, 'access.log'), 'error-log': path.join(dir, 'error.log'),
			'status-socket': path.join(dir, 'status'), 'drain-timeout': '1s', ...made(row.server, dir, env),
		}) + section('listen main', {
			address: `127.0.0.1:${port}`, ...(row.tls ? { certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') } : {}),
			...(row.forward ? { mode: 'forward', access: 'attack' } : {}), ...row.listener,
		}) + (row.admin ? section('listen admin', { address: `127.0.0.1:${admin}`, mode: 'admin', ...row.admin }) : '')
			+ (row.behind ? section('listen behind', { address: `127.0.0.1:${behind}`, 'proxy-protocol': 'required', trusted: '127.0.0.0/8', ...row.behind }) : '')
			+ (row.forward ? this.#forward(row) : this.#gateway(row, env));
	}

	#gateway(row, env) {
		const { evil } = env;
		return section('origin main', {
			server: `h2c://127.0.0.1:${this.originPorts.port}`, 'idle-timeout': '1s', ...row.origin,
		}) + section('route main', { origin: 'main', ...row.route }) + (row.http1 ? section('origin one', {
			server: `http://127.0.0.1:${this.originPorts.port1}`, 'idle-timeout': '1s', ...row.origin,
		}) + section('route one', { host: 'one.test', origin: 'one', ...row.route }) : '') + (evil ? section('origin evil', {
			server: `${row.http1 ? 'http' : 'h2c'}://127.0.0.1:${evil}`, 'idle-timeout': '1s', ...made(row.evil, env),
		}) + section('route evil', { host: 'evil.test', origin: 'evil', ...row.route }) : '') + (row.rules ?? '');
	}

	/* Runs one row. Gives its numbers and, in `faults`, what should not have been. */
	async play(row) {
		const port = await freePort();
		const evil = row.listen ? await freePort() : 0;
		const one = `127.0.0.1:${this.originPorts.port1}`;
		const admin = row.admin ? await freePort() : 0;
		const behind = row.behind ? await freePort() : 0;
		const env = { port, evil, admin, behind, tls: !!row.tls, scheme: row.tls ? 'https' : 'http', authority: row.forward ? one : row.http1 && !evil ? 'one.test' : `localhost:${port}` };
		if (evil)
			await this.attacker.ask({ run: 'listen', name: row.name, env });
		const dir = workDir();
		const gate = new Gate({ config: this.#config(row, dir, env), dir, ports: [port, admin, behind].filter(Boolean), single: false, limit: row.limit });
		const out = { row, faults: [] };
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
		judge(out, this.options.p99 * SCALE);
		return out;
	}

	async #rounds(row, gate, env, out) {
		await until('all workers are up', () => gate.workers().length === (row.workers ?? 1));
		const meter = new Meter(gate);
		const idle = meter.descriptors;
		out.workersBefore = String(meter.pids);
		await this.honest.ask({ start: { period: this.options.period, port: env.port, tls: env.tls, ca: env.tls ? certs().ca : undefined, fresh: row.fresh ?? true, mayIdle: !!row.listener?.['idle-timeout'], http1: row.http1 || row.forward, forward: row.forward ? env.authority : undefined } });
		meter.watch();
		try {
			await until('the honest client is served', async () => await this.#served('warm-up') >= this.options.warmUp, 20000 * SCALE);
			meter.forget();
			out.rssBefore = meter.rss;
			out.statusBefore = statusOf(gate);
			await this.#alternate(row, gate, env, meter, out);
			/* The attacker has gone: what it held comes back. */
			await patiently(until('descriptors come back', () => meter.descriptors <= out.fdsBefore, 20000 * SCALE), 21000 * SCALE).catch(() => {});
			if (row.fresh === false) { /* and new clients are served again */
				await this.honest.ask({ fresh: true });
				await sleep(1500);
			}
			meter.look();
			out.fdsAfter = meter.descriptors;
			out.fdsMost = meter.most.descriptors;
			out.rssMost = meter.most.rss;
			out.workersAfter = String(gate.workers());
		} finally {
			meter.rest();
			out.phases = await this.honest.ask({ stop: true });
		}
		/* What is too much may be the honest client's, whose requests pile up on a busy machine. Now it has gone too. */
		if (isCrowded(out)) {
			/* The last one of its own it may have opened since. */
			await patiently(until('no descriptor is left', () => meter.descriptors <= idle + 1, 30000 * SCALE), 31000 * SCALE).catch(() => {});
			out.isLeaking = meter.descriptors > idle + 1;
			out.left = `${meter.descriptors} descriptors with no client, ${idle} at the start: ${descriptorsOf(meter.pids)}`;
		}
		out.status = statusOf(gate);
		out.access = fs.readFileSync(path.join(gate.dir, 'access.log'));
		out.log = gate.read('error.log').split('\n').filter(Boolean);
	}

	/* Honest requests of a phase that were answered so far. */
	async #served(phase) { return (await this.honest.ask({}))[phase] ?? 0; }

	/* Quiet and attacked rounds in turn; what the honest client costs in the quiet ones is not the attacker's. */
	async #alternate(row, gate, env, meter, out) {
		const { quiet, attacked, isShort } = this.options;
		const spent = { quiet: 0, attacked: 0 };
		const asked = { quiet: 0, attacked: 0 };
		const waited = { quiet: 0, attacked: 0 };
		const span = async (phase, ...work) => {
			await this.honest.ask({ phase });
			const [cpu, wait, before] = [meter.cpu, meter.waited, await this.#served(phase)];
			const [result] = await Promise.all(work.map((f) => f()));
			spent[phase] += meter.cpu - cpu;
			waited[phase] += meter.waited - wait;
			asked[phase] += await this.#served(phase) - before;
			return result;
		};
		const attack = () => this.attacker.ask({ run: 'attack', name: row.name, env, ms: (isShort && row.brief) || (row.ms ?? attacked) });
		out.results = [];
		/* On a busy machine a time limit may not have been over within a round: then there are some more. */
		const isShy = () => unmoved(row, out.statusBefore, statusOf(gate)).length > 0;
		for (let i = 0, rounds = row.rounds ?? this.options.rounds; i < rounds || (i < rounds + 5 && isShy()); i++) {
			await span('quiet', () => sleep(quiet));
			out.fdsBefore ??= meter.most.descriptors;
			out.results.push(await span('attacked', attack, () => sleep(300)));
			await this.honest.ask({ phase: 'after' });
			await sleep(100);
		}
		out.slowdown = 1 + waited.attacked / Math.max(1, spent.attacked);
		out.cpu = Math.max(0, spent.attacked - asked.attacked * spent.quiet / Math.max(1, asked.quiet));
	}
}

/* What the descriptors of processes are, as text: "TCP from 8080 to 35377 state 01". A socket in no table of the kernel is closed. */
function descriptorsOf(pids) {
	const port = (cell) => parseInt(cell.split(':')[1], 16);
	const known = new Map(['tcp', 'tcp6', 'udp', 'udp6', 'unix'].flatMap((kind) => fs.readFileSync(`/proc/net/${kind}`, 'latin1').split('\n').slice(1).filter(Boolean).map((line) => {
		const cells = line.trim().split(/\s+/);
		return kind === 'unix' ? [cells[6], kind] : [cells[9], `${kind} from ${port(cells[1])} to ${port(cells[2])} state ${cells[3]}`];
	})));
	const words = {};
	for (const pid of pids)
		for (const fd of fs.readdirSync(`/proc/${pid}/fd`)) {
			let word = 'gone';
			try {
				word = fs.readlinkSync(`/proc/${pid}/fd/${fd}`);
			} catch { /* it was closed meanwhile */ }
			const inode = /^socket:\[(\d+)\]$/.exec(word)?.[1];
			word = inode ? known.get(inode) ?? 'closed socket' : word.replace(/\[\d+\]/, '');
			words[word] = (words[word] ?? 0) + 1;
		}
	return Object.entries(words).map(([word, n]) => `${word} ×${n}`).join(', ');
}

const firstLines = (error) => `${error.message}`.split('\n').slice(0, 6).join(' | ');

function statusOf(gate) {
	const { stdout } = spawnSync(BINARY, ['status', '-c', gate.config], { encoding: 'utf8' });
	return samples(stdout);
}
