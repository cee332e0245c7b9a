/* SPDX-License-Identifier: MIT */
/*
 * The fourth part: error log, access log and remembered-file are on a disk that is full while pushgate is reloaded and
 * upgraded. The running one goes on, and a reload or an upgrade that fails says why.
 */
import fs from 'node:fs';
import path from 'node:path';
import { freePort, section, until, workDir } from '../../support/gate.mjs';
import { mountTmpfs } from '../../support/small_disk.mjs';
import { MAX_MS } from './load.mjs';
import { Stage, atExit, helper, show, within } from './stage.mjs';

export async function disk(checks, factor) {
	const full = workDir(), filler = path.join(full, 'filler');
	try {
		const unmount = mountTmpfs(full, '4M');
		atExit(() => {
			unmount();
			fs.rmSync(full, { recursive: true, force: true });
		});
	} catch (error) {
		fs.rmdirSync(full);
		console.log(`skipped: no permission to mount a tmpfs (${error.message.split('\n')[0]})`);
		return;
	}
	const stage = new Stage({ logs: full }), port = await freePort(), originPort = await freePort(), rounds = Math.max(Math.round(10 * factor), 3);
	const calm = helper(checks, 'origin.mjs', { name: 'calm', port: originPort, seed: 1 });
	await within('the origin begins', MAX_MS, calm.next());
	const configuration = (n) => stage.server({ 'remembered-file': path.join(full, 'pages') })
		+ section('listen plain', { address: `127.0.0.1:${port}` }) + section('origin calm', { server: `h2c://127.0.0.1:${originPort}` })
		+ section('preload p', { remembered: 'propose' }) + section('route feed', { host: 'feed.test', origin: 'calm', subscription: 'yes' })
		+ section('route moving', { path: `/r${n}`, redirect: '/here' }) + section('route calm', { origin: 'calm' });
	await stage.start(configuration(0), [port]);
	const requests = helper(checks, 'reloads/requests.mjs', { ports: { h1: port, h2: port }, seed: 13, rate: 60, pushes: true, host: 'calm.test', maxMs: MAX_MS });
	await until('requests', async () => (await requests.accounts())?.whole > 20, MAX_MS);
	const fill = () => {
		const fd = fs.openSync(filler, 'a');
		try {
			for (const size of [65536, 4096, 1])
				try {
					for (;;)
						if (fs.writeSync(fd, Buffer.alloc(size)) < size)
							break;
				} catch (error) {
					if (error.code !== 'ENOSPC')
						throw error;
				}
		} finally {
			fs.closeSync(fd);
		}
	};
	const results = [], wrong = [];
	let n = 0;
	const change = async (how, mayFail) => {
		const asked = (await requests.accounts())?.whole, { code, stderr } = await stage.change(configuration(++n), how);
		results.push(`${how} ${code}`);
		if (code !== 0 && !mayFail)
			wrong.push({ how, code, stderr });
		if (code !== 0 && !/No space left|log|disk|write/.test(stderr))
			wrong.push({ how, code, stderr, what: 'it does not say why' });
		if (code !== 0)
			console.log(`    ${how}: ${stderr.trim().split('\n').join('\n        ')}`);
		await until('requests go on', async () => (await requests.accounts())?.whole > asked + 20, MAX_MS).catch((error) => wrong.push(error.message));
	};
	for (let round = 0; round < rounds; round++) {
		fill();
		await until('lines are lost', async () => { fill(); return (await stage.counters())['pushgate_log_lines_lost_total{log="access",cause="file"}'] > 0; }, MAX_MS);
		await change('reload', true);
		await change('upgrade', true);
		await change('reload', true);
		fs.rmSync(filler);
		/* The logs have no end of their own here. */
		await change('reload', false);
		await change('upgrade', false);
	}
	[requests, calm].forEach((one) => one.tell('over'));
	const r = await within('the requests end', 2 * MAX_MS, requests.finished);
	await until('nothing is open', async () => (await stage.counters()).requests_open === 0, MAX_MS).catch((error) => wrong.push(error.message));
	const isCounted = (c) => stage.lines() + c['pushgate_log_lines_lost_total{log="access",cause="pipe"}'] + c['pushgate_log_lines_lost_total{log="access",cause="file"}'] === c.requests + c.pushes_offered;
	await until('all lines are there or counted', async () => isCounted(await stage.counters()), 20000).catch(() => {});
	const c = await stage.counters();
	checks.check('on a full disk reloads and upgrades are done, or say why not', wrong.length === 0, `${results.join(', ')}${show(wrong)}`);
	checks.check('no request failed', r.failed === 0 && r.whole === r.requests, `${r.requests} requests, ${r.pushesWhole} pushes${show(r.failures)}`);
	checks.check('requests are counted exactly', c.requests === r.requests, `${c.requests} counted, ${r.requests} made`);
	checks.check('each request and each push has its line, or is counted as a lost line', isCounted(c), `${stage.lines()} lines, ${c['pushgate_log_lines_lost_total{log="access",cause="pipe"}']} dropped, ${c['pushgate_log_lines_lost_total{log="access",cause="file"}']} lost, ${c.requests} requests, ${c.pushes_offered} pushes`);
	const end = await stage.end();
	checks.check('all processes end at SIGTERM', end === '', end);
	[requests, calm].forEach((one) => one.kill());
	stage.close();
}
