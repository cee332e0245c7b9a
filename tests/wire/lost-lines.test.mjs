/* SPDX-License-Identifier: MIT */
/*
 * Each request has its line in the access log, or is counted as a lost line: when the disk is full, when the log's file
 * or its reader is gone, when the logger is killed. The end of a loss is told in the error log, with the exact count.
 * A full disk takes a mount namespace; without permission for one these tests are skipped.
 */
// covers: R220 R221 R222
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { scenario, sleep, until, workDir } from '../support/gate.mjs';
import { nodeClient } from '../support/node.mjs';
import { mountTmpfs } from '../support/small_disk.mjs';

const INSIDE = 'PUSHGATE_TEST_MOUNTS';
const PAD = 'x'.repeat(900);
const LOST = /writing to the log \S+access\.log works again; (\d+) lines were lost \((.*)\)/;

const tellStatus = (s) => s.gate.counters();
/* The last line may be on its way into the file while this reads it: it does not count before it has its end. */
const linesOf = (file) => fs.readFileSync(file, 'utf8').split('\n').slice(0, -1);
const requestsIn = (file) => linesOf(file).map((line) => JSON.parse(line)).filter((l) => !l.push).length;
const assertWhole = (file) => assert.match(fs.readFileSync(file, 'utf8').slice(-80), /\n$/, 'a torn line');

async function load(s, requests) {
	const client = nodeClient(s);
	for (let sent = 0; sent < requests; sent += 50)
		await Promise.all(Array.from({ length: Math.min(50, requests - sent) }, (_, i) => client.get({ ':path': `/${sent + i}?${PAD}` })));
}
const lostSoFar = (c) => c['pushgate_log_lines_lost_total{log="access",cause="pipe"}'] + c['pushgate_log_lines_lost_total{log="access",cause="file"}'];

/* A folder for the logs, and options of a scenario that writes there. */
function logsIn(folder, single, more = {}) {
	const file = (name) => path.join(folder, name);
	return { logs: { access: file('access.log'), error: file('error.log') },
		options: { single, origins: { main: { server: 'demo:' } }, timeout: 120000,
			server: { workers: 2, 'access-log': file('access.log'), 'error-log': file('error.log'),
				'status-socket': path.join(workDir(), 's'), ...more } } };
}
const WAYS = [['by the logger', false], ['with --single', true]];

/* ---- a disk that is full: best in a mount namespace ---- */

function fullDisks() {
	for (const [way, single] of WAYS) {
		const folder = workDir();
		const { logs, options } = logsIn(folder, single);
		mountTmpfs(folder, '1M');
		scenario(`a log on a full disk, written ${way}: lines and lost lines are all requests`, options, async (s) => {
			const filler = path.join(folder, 'filler');
			fs.writeFileSync(filler, Buffer.alloc(600 * 1024));
			await load(s, 600);
			await until('lines are lost', () => tellStatus(s)['pushgate_log_lines_lost_total{log="access",cause="file"}'] > 0);
			await load(s, 100);
			const isAccounted = () => requestsIn(logs.access) + lostSoFar(tellStatus(s)) === 700;
			await until(() => `${requestsIn(logs.access)} lines, ${JSON.stringify(tellStatus(s))}`, isAccounted);
		
			const { 'pushgate_log_lines_lost_total{log="access",cause="file"}': lost } = tellStatus(s);
			fs.rmSync(filler);
			await load(s, 50);
			const told = await until('the end of the loss', () => fs.readFileSync(logs.error, 'utf8').match(LOST));
			assert.deepEqual([Number(told[1]), told[2]], [lost, 'No space left on device']);
			await until('the lines of now', isAccountedFor(s, logs, 750));
			assert.equal(tellStatus(s)['pushgate_log_lines_lost_total{log="access",cause="file"}'], lost);
			assertWhole(logs.access);
			await load(s, 50);
			await sleep(1500);
			assert.equal(fs.readFileSync(logs.error, 'utf8').match(/works again/g).length, 1 + (tellStatus(s)['pushgate_log_lines_lost_total{log="error",cause="file"}'] > 0));
		});
	}

	const folder = workDir();
	const { logs, options } = logsIn(folder, false);
	mountTmpfs(folder, '256k');
	scenario('logs that are rotated while the disk is full', options, async (s) => {
		const filler = path.join(folder, 'filler');
		fs.writeFileSync(filler, Buffer.alloc(100 * 1024));
		await load(s, 300);
		await until('lines are lost', () => tellStatus(s)['pushgate_log_lines_lost_total{log="access",cause="file"}'] > 0);
		fs.renameSync(logs.access, `${logs.access}.1`);
		fs.renameSync(logs.error, `${logs.error}.1`);
		process.kill(s.gate.pid, 'SIGUSR1');
		await until('a new file', () => fs.existsSync(logs.access) && fs.existsSync(logs.error));
		await load(s, 50);
		const all = () => requestsIn(logs.access) + requestsIn(`${logs.access}.1`) + lostSoFar(tellStatus(s));
		await until(() => `${all()} of 350`, () => all() === 350);
		fs.rmSync(filler);
		await load(s, 50);
		await until('the end of the loss', () => fs.readFileSync(logs.error, 'utf8').match(LOST));
		await until(() => `${all()} of 400`, () => all() === 400);
	});
}
/* So many lines fit into a FIFO (64 KiB), whether its reader is awake or not: with --single nobody waits for it. */
const FITS = 30;
const isAccountedFor = (s, logs, requests) => () => requestsIn(logs.access) + lostSoFar(tellStatus(s)) === requests;

/* ---- without one ---- */

function otherLosses() {
	for (const [way, single] of WAYS) {
		const { logs, options } = logsIn(workDir(), single);
		scenario(`a log whose file was removed, written ${way}: its lines are counted until SIGUSR1`, options, async (s) => {
			await load(s, 50);
			await until('50 lines', isAccountedFor(s, logs, 50));
			fs.rmSync(logs.access);
			await load(s, 50);
			await until('50 lost lines', () => tellStatus(s)['pushgate_log_lines_lost_total{log="access",cause="file"}'] === 50);
			await until('it is told', () => /cannot write to the log \S+access\.log: the file was removed; SIGUSR1/.test(fs.readFileSync(logs.error, 'utf8')));
			process.kill(s.gate.pid, 'SIGUSR1');
			await until('a new file', () => fs.existsSync(logs.access));
			await load(s, 50);
			await until('all requests', isAccountedFor(s, logs, 100));
			const told = await until('the end of the loss', () => fs.readFileSync(logs.error, 'utf8').match(LOST));
			assert.equal(Number(told[1]), 50);
		});

		const folder = workDir();
		const fifo = logsIn(folder, single);
		execFileSync('mkfifo', [fifo.logs.access]);
		/* The start wants a reader, so one is there before. */
		const copy = path.join(folder, 'copy');
		const reader = () => spawn('sh', ['-c', `exec cat ${fifo.logs.access} >>${copy}`]);
		let first = reader();
		process.on('exit', () => first.kill());
		scenario(`a FIFO without a reader, written ${way}`, fifo.options, async (s) => {
			await load(s, FITS);
			await until('the first lines', () => fs.existsSync(copy) && requestsIn(copy) === FITS);
			const gone = new Promise((resolve) => { first.once('exit', resolve); });
			first.kill('SIGKILL');
			await gone;
			await load(s, FITS);
			await until('lost lines', () => tellStatus(s)['pushgate_log_lines_lost_total{log="access",cause="file"}'] === FITS);
			await until('it is told', () => /cannot write to the log \S+access\.log: no process reads it/.test(fs.readFileSync(fifo.logs.error, 'utf8')));
			first = reader();
			await until('another reader', () => fs.readdirSync(`/proc/${first.pid}/fd`).some((fd) => {
				try {
					return fs.readlinkSync(`/proc/${first.pid}/fd/${fd}`) === fifo.logs.access;
				} catch {
					return false;
				}
			}));
			await load(s, FITS);
			await until('the others', () => requestsIn(copy) === 2 * FITS);
			const told = await until('the end of the loss', () => fs.readFileSync(fifo.logs.error, 'utf8').match(LOST));
			assert.equal(Number(told[1]), FITS);
		});
	}

	const { logs, options } = logsIn(workDir(), false);
	const logger = (s) => Number(fs.readFileSync(`/proc/${s.gate.pid}/task/${s.gate.pid}/children`, 'utf8').split(' ').filter(Boolean).find((pid) => {
		try {
			return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'pushgate-log';
		} catch {
			return false;
		}
	}) ?? 0);
	scenario('the logger is killed twenty times under load: no line is uncounted, torn or there twice', { ...options, timeout: 240000 }, async (s) => {
		let goesOn = true;
		let answered = 0;
		const clients = Array.from({ length: 3 }, () => nodeClient(s));
		const loads = clients.map(async (client, at) => {
			for (let i = 0; goesOn; i += 20) {
				await Promise.all(Array.from({ length: 20 }, (_, k) => client.get({ ':path': `/${at}/${i + k}?${PAD}` })));
				answered += 20;
				/* What waits in the pipe while there is no logger must fit into it: up to five seconds. */
				await sleep(100);
			}
		});
		s.cleanups.push(() => { goesOn = false; return Promise.allSettled(loads); });
		let last = 0;
		for (let kills = 0; kills < 20; kills++) {
			const pid = await until('another logger', () => {
				const found = logger(s);
				return found && found !== last && found;
			}, 30000);
			const before = fs.statSync(logs.access).size;
			await until('it writes', () => fs.statSync(logs.access).size > before);
			process.kill(pid, 'SIGKILL');
			last = pid;
		}
		goesOn = false;
		await Promise.all(loads);
		await until(() => `${requestsIn(logs.access)} lines of ${answered}, ${JSON.stringify(tellStatus(s))}`,
			isAccountedFor(s, logs, answered), 30000);
		assertWhole(logs.access);
		const paths = linesOf(logs.access).map((line) => JSON.parse(line).path);
		assert.equal(new Set(paths).size, paths.length, 'a line is there twice');
		await until('the deaths are logged', () => fs.readFileSync(logs.error, 'utf8').match(/the logger was killed by signal 9/g).length === 20);
		assert.equal(tellStatus(s)['pushgate_log_lines_lost_total{log="access",cause="file"}'], 0);
	});

	const end = logsIn(workDir(), false);
	scenario('the last lines are written before the end', end.options, async (s) => {
		await load(s, 500);
		process.kill(s.gate.pid, 'SIGTERM');
		await s.gate.ended();
		assert.equal(requestsIn(end.logs.access), 500);
		assertWhole(end.logs.access);
	});

	const early = logsIn(workDir(), false);
	scenario('the last lines are written though the logger is dead when the end comes', early.options, async (s) => {
		/* A logger that dies again and again is not started at once. */
		for (let kills = 0, last = 0; kills < 5; kills++) {
			last = await until('another logger', () => logger(s) !== last && logger(s));
			process.kill(last, 'SIGKILL');
		}
		await load(s, 50);
		process.kill(s.gate.pid, 'SIGTERM');
		await s.gate.ended();
		assert.equal(requestsIn(early.logs.access), 50);
		assertWhole(early.logs.access);
		const told = fs.readFileSync(early.logs.error, 'utf8');
		assert.match(told, / counter \S*requests\S* 50\n/);
		assert.match(told, / counter pushgate_request_duration_seconds_count\S* 50\n/);
		assert.doesNotMatch(told, /_bucket/);
	});
}

if (process.env[INSIDE]) {
	fullDisks();
} else {
	const mount = ['mount', '-t', 'tmpfs', 'none'];
	const can = (command) => spawnSync(command[0], command.slice(1)).status === 0;
	/* A chroot has no mount namespaces (its root is no mount point), but root may mount there all the same. */
	const probe = workDir();
	const ways = [['unshare', '-m'], ['unshare', '-rm'], []];
	const how = ways.find((way) => can([...way, ...mount, probe]));
	if (how?.length === 0)
		execFileSync('umount', [probe]);
	fs.rmdirSync(probe);
	test('on file systems of its own', { skip: how ? false : 'no permission to mount a tmpfs' }, () => {
		const { NODE_TEST_CONTEXT, ...env } = process.env;
		const [command, ...args] = [...how, process.execPath, fileURLToPath(import.meta.url)];
		const r = spawnSync(command, args, { encoding: 'utf8', env: { ...env, [INSIDE]: '1' } });
		assert.equal(r.status, 0, r.stdout + r.stderr);
	});
	otherLosses();
}
