/* SPDX-License-Identifier: MIT */
/* What ps, top and pgrep show: which process is what, and that it drains. */
// covers: R224
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { scenario, section, until, workDir } from '../support/gate.mjs';

const read = (pid, name) => {
	try {
		return fs.readFileSync(`/proc/${pid}/${name}`, 'utf8');
	} catch {
		return ''; /* it ended meanwhile */
	}
};
const title = (pid) => read(pid, 'cmdline').replace(/\0+$/, '');
const comm = (pid) => read(pid, 'comm').trim();
const children = (pid) => read(pid, `task/${pid}/children`).split(' ').filter(Boolean);
const titles = (s) => children(s.gate.pid).map(title).sort();

for (const [where, env] of [['with much environment', { FILLER: 'x'.repeat(500) }], ['with hardly any', undefined]])
	scenario(`titles tell master, workers and helpers, ${where}`, {
		single: false, server: { workers: 2, 'remembered-file': path.join(workDir(), 'pages.json') }, env, listen: { access: 'home' },
		prepare: (s) => fs.writeFileSync(path.join(s.dir, 'users'), ''),
		extra: section('access home', { users: 'users', ask: 'path=/never', allow: 'path=/*' }) + section('preload pages', { remembered: 'propose' }),
	}, async (s) => {
		const conf = s.gate.config;
		const all = ['pushgate: files', 'pushgate: logger', 'pushgate: passwords', 'pushgate: worker 0', 'pushgate: worker 1'];
		await until(() => `titles: ${titles(s)}`, () => String(titles(s)) === String(all));
		await until(() => title(s.gate.pid), () => title(s.gate.pid) === `pushgate: master (${conf})`);
		assert.equal(comm(s.gate.pid), 'pushgate');
		await until('names', () => String(children(s.gate.pid).map(comm).sort())
			=== String(['pushgate-files', 'pushgate-log', 'pushgate-pass', 'pushgate-w0', 'pushgate-w1']));
		const ps = spawnSync('ps', ['-o', 'args=', '-p', String(s.gate.pid)], { encoding: 'utf8' });
		if (ps.status === 0) /* else there is no ps here */
			assert.equal(ps.stdout.trimEnd(), `pushgate: master (${conf})`);

		const worker = children(s.gate.pid).find((pid) => title(pid) === 'pushgate: worker 1');
		process.kill(Number(worker), 'SIGKILL');
		await until('another worker 1', () => children(s.gate.pid).some((pid) => pid !== worker && title(pid) === 'pushgate: worker 1'));

		/* An exchange without an end keeps a worker draining. */
		const { client } = await s.open();
		process.kill(s.gate.pid, 'SIGTERM');
		await until(() => `titles: ${title(s.gate.pid)}, ${titles(s)}`, () => title(s.gate.pid) === `pushgate: master, draining (${conf})`
			&& titles(s).some((t) => /^pushgate: worker \d, draining$/.test(t)));
		client.rst(1, 'CANCEL');
		await s.gate.ended();
	});

scenario('the only process says that it is', { server: { 'drain-timeout': '5s' } }, async (s) => {
	await until(() => title(s.gate.pid), () => title(s.gate.pid) === `pushgate: single (${s.gate.config})`);
	const { client } = await s.open();
	process.kill(s.gate.pid, 'SIGTERM');
	await until(() => title(s.gate.pid), () => title(s.gate.pid) === `pushgate: single, draining (${s.gate.config})`);
	client.rst(1, 'CANCEL');
	await s.gate.ended();
});
