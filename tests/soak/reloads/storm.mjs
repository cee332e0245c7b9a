/* SPDX-License-Identifier: MIT */
/*
 * The second part: 200 reloads in a minute, with a tunnel in each generation, so that none would end by itself. Processes
 * and memory are bounded, and nothing is refused: at most eight generations are left, the oldest is ended with its tunnel.
 */
import fs from 'node:fs';
import { freePort, section, sleep, until } from '../../support/gate.mjs';
import { openTunnel } from '../../support/tunnel_ends.mjs';
import { MAX_MS } from './load.mjs';
import { Stage, helper, memoryOf, mib, show, within } from './stage.mjs';

const GENERATIONS = 10; /* eight that serve, one that comes up, one that is being ended */
const MIB = 1 << 20;

export async function storm(checks, factor) {
	const stage = new Stage(), reloads = Math.max(Math.round(200 * factor), 20), everyMs = 300;
	const port = await freePort(), originPort = await freePort();
	const calm = helper(checks, 'origin.mjs', { name: 'calm', port: originPort, seed: 1 });
	const far = helper(checks, 'reloads/tunnels.mjs', { count: 0, versions: [], forward: false, maxMs: MAX_MS });
	const [{ ports: { origin } }] = await within('the origins begin', MAX_MS, Promise.all([far, calm].map((c) => c.next())));
	const configuration = (n) => stage.server({ workers: 2, 'remembered-file': `${stage.dir}/pages` })
		+ section('listen plain', { address: `127.0.0.1:${port}` }) + section('origin calm', { server: `h2c://127.0.0.1:${originPort}` })
		+ section('origin tunnels', { server: `http://127.0.0.1:${origin}` }) + section('preload p', { remembered: 'propose' })
		+ section('route tunnels', { host: 'ws.test', origin: 'tunnels', upgrade: 'websocket' }) + section('route moving', { path: `/r${n}`, redirect: '/here' })
		+ section('route feed', { host: 'feed.test', origin: 'calm' }) + section('route calm', { origin: 'calm' });
	await stage.start(configuration(0), [port]);
	const requests = helper(checks, 'reloads/requests.mjs', { ports: { h1: port, h2: port }, seed: 9, rate: 100, pushes: false, host: 'calm.test', maxMs: MAX_MS });
	await until('requests', async () => (await requests.accounts())?.whole > 50, MAX_MS);
	await until('two workers', () => stage.of('w').length === 2);
	/* It grows with the first reloads. */
	const first = { ...memoryOf(stage.processes()), processes: stage.processes().length };
	const master = () => ({ rss: memoryOf([{ pid: stage.session }]).rss, descriptors: fs.readdirSync(`/proc/${stage.session}/fd`).length });
	const peak = { processes: 0, pss: 0, rss: 0 }, wrong = [], tunnels = { opened: 0, failed: [] };
	const watch = setInterval(() => {
		const now = stage.processes(), memory = memoryOf(now);
		peak.processes = Math.max(peak.processes, now.length);
		peak.pss = Math.max(peak.pss, memory.pss);
		peak.rss = Math.max(peak.rss, memory.rss);
	}, 200);
	const open = new Set(), began = Date.now();
	let early;
	for (let i = 1; i <= reloads; i++) {
		const { code, stderr } = await stage.change(configuration(i));
		if (code)
			wrong.push({ i, code, stderr });
		await openTunnel('1.1', { port, host: 'ws.test', path: '/ws' }).then((stream) => {
			tunnels.opened++;
			open.add(stream);
			stream.on('error', () => {}).on('close', () => open.delete(stream)).resume();
		}, (error) => tunnels.failed.push(error.message));
		if (i === Math.min(20, reloads / 2))
			early = master();
		await sleep(Math.max(0, began + i * everyMs - Date.now()));
	}
	const seconds = (Date.now() - began) / 1000, atEnd = master(), stillOpen = open.size;
	requests.tell('over');
	for (const stream of open)
		stream.destroy();
	const r = await within('the requests end', 2 * MAX_MS, requests.finished);
	await until(() => `one generation is left\n${stage.tail()}`, () => stage.processes().length <= first.processes, MAX_MS).catch((error) => wrong.push(error.message));
	clearInterval(watch);
	const refusals = (c) => Object.entries(c).filter(([name]) => name.startsWith('pushgate_connections_refused_total{')).reduce((sum, [, n]) => sum + n, 0);
	const last = memoryOf(stage.processes()), c = await stage.counters(), ended = stage.count(/is ended, with the connections/g);
	const most = 2 + GENERATIONS * (first.processes - 2);
	checks.check('each of many reloads is done', wrong.length === 0, `${reloads} in ${seconds.toFixed(1)} s, ${(60 * reloads / seconds).toFixed(0)} a minute${show(wrong)}`);
	checks.check('nothing was refused', r.failed === 0 && tunnels.failed.length === 0 && refusals(c) === 0, `${r.requests} requests, ${tunnels.opened} tunnels${show(r.failures)}${show(tunnels.failed)}`);
	checks.check('processes are bounded', peak.processes <= most, `${first.processes} at first, ${peak.processes} at the peak, of ${most}; ${ended} generations were ended with their tunnel, ${stillOpen} tunnels were left`);
	checks.check('memory is bounded', peak.pss <= GENERATIONS * first.pss && last.pss <= 1.5 * first.pss + 4 * MIB, `${mib(first.pss)} at first, ${mib(peak.pss)} at the peak (${mib(peak.rss)} resident), ${mib(last.pss)} at the end`);
	checks.check('the master does not grow', atEnd.rss <= early.rss + 4 * MIB && atEnd.descriptors <= early.descriptors + 8, `${mib(early.rss)} and ${early.descriptors} descriptors, then ${mib(atEnd.rss)} and ${atEnd.descriptors}`);
	const end = await stage.end();
	checks.check('all processes end at SIGTERM', end === '', end);
	[requests, far, calm].forEach((one) => one.kill());
	stage.close();
}
