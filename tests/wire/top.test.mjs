/* SPDX-License-Identifier: MIT */
/*
 * `pushgate top` in a pseudo-terminal, which script(1) makes: it shows pages without end, and leaves the terminal as it
 * was, however it is ended. What it shows is in tests/unit/top.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import { BINARY, patiently, scenario, until } from '../support/gate.mjs';
import { PATIENCE } from '../support/peer.mjs';

const STATUS = { server: { 'status-socket': 'status' } };
const HIDE = '\x1b[?1049h\x1b[?25l', SHOW = '\x1b[?25h\x1b[?1049l';

/* A shell in a terminal of its own, in which top runs. Its output has the state of the terminal before and after. */
class Terminal {
	output = '';

	constructor(s, args, shell = '') {
		const top = `${BINARY} top ${args}`;
		/* A shell that ignores ^C itself, and lets its children have it. */
		const run = `trap : INT; stty cols 100 rows 30; stty -g; ${shell || `${top}; echo "status $?"`}; stty -g`;
		this.child = spawn('script', ['-qec', run, '/dev/null'], { cwd: s.gate.dir, env: { ...process.env, SHELL: '/bin/sh', TOP: top } });
		this.child.stdout.on('data', (chunk) => { this.output += chunk; });
		this.ended = new Promise((resolve) => { this.child.on('close', resolve); });
		s.cleanups.push(() => this.child.kill('SIGKILL'));
	}
	/* Until the output that came since the last call has the text. */
	async shows(text, from = 0) {
		await until(() => `${JSON.stringify(text)} in ${JSON.stringify(this.output)}`, () => this.output.indexOf(text, from) >= 0);
		return this.output.indexOf(text, from) + text.length;
	}
	types(keys) { this.child.stdin.write(keys); }
	async leaves() {
		await patiently(this.ended, PATIENCE);
		const states = this.output.split(/[\r\n]+/).filter((line) => /^[0-9a-f]+(:[0-9a-f]+){10}/.test(line));
		assert.equal(states.length, 2, this.output);
		assert.equal(states[0], states[1], 'the terminal is as it was');
		assert.ok(this.output.lastIndexOf(SHOW) > this.output.lastIndexOf(HIDE));
	}
}

scenario('pages follow each other without a clear between them, and q leaves', STATUS, async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream);
	await client.response(1);
	const t = new Terminal(s, `-c ${s.gate.config}`);
	await t.shows(`${HIDE}\x1b[Hpushgate `);
	const first = await t.shows('averages since the start');
	assert.match(t.output, /requests {5}\/s \d/);
	const second = await t.shows('\x1b[Hpushgate ', first);
	await t.shows('\x1b[Hpushgate ', second);
	assert.ok(!t.output.slice(second).includes('averages since'));
	assert.ok(!t.output.includes('\x1b[2J'), 'nothing flickers');
	t.types('q');
	await t.shows('status 0');
	await t.leaves();
});

for (const [name, end] of [
	['^C', (t) => t.types('\x03')],
	['SIGTERM', (t, pid) => process.kill(pid, 'SIGTERM')],
	['SIGHUP', (t, pid) => process.kill(pid, 'SIGHUP')],
]) {
	scenario(`${name} leaves the terminal as it was`, STATUS, async (s) => {
		const t = new Terminal(s, '', 'sh -c \'echo "pid $$"; exec $TOP status\'; echo "status $?"');
		await t.shows('\x1b[Hpushgate ');
		end(t, Number(t.output.match(/pid (\d+)/)[1]));
		await t.shows('status 0');
		await t.leaves();
	});
}

scenario('a pushgate that ends is told, and the page stays', STATUS, async (s) => {
	const t = new Terminal(s, 'status');
	await t.shows('\x1b[Hpushgate ');
	s.gate.child.kill('SIGTERM');
	await s.gate.ended();
	await t.shows('no pushgate is listening there');
	t.types('q');
	await t.leaves();
});

scenario('without a terminal one page is printed', STATUS, async (s) => {
	for (const args of [['-c', s.gate.config], ['--once', 'status']]) {
		const { status, stdout } = spawnSync(BINARY, ['top', ...args], { cwd: s.gate.dir, encoding: 'utf8' });
		assert.equal(status, 0);
		assert.match(stdout, /^pushgate .*, up 0 d 00:00:\d\d; averages since the start\n\nrequests/);
		assert.match(stdout, /\nprocess +pid +up +starts +cpu % +memory\n/);
		assert.doesNotMatch(stdout, /\x1b/);
	}
	const lost = spawnSync(BINARY, ['top', path.join(s.gate.dir, 'nowhere')], { encoding: 'utf8' });
	assert.equal(lost.status, 1);
	assert.match(lost.stderr, /^pushgate top: .*nowhere: no pushgate is listening there/);
});
