/* SPDX-License-Identifier: MIT */
/*
 * The third part: workers, helpers and the logger are killed during reloads. Pushgate goes on, what fails is only what
 * had a connection to the worker that was killed, and no counter goes back.
 */
import fs from 'node:fs';
import path from 'node:path';
import { freePort, section, until } from '../../support/gate.mjs';
import { MAX_MS } from './load.mjs';
import { Stage, helper, show, within } from './stage.mjs';

/* The ports at the other ends of a process's connections that have one of these ports here. */
function clientsOf(pid, ports) {
	const inodes = new Set(fs.readdirSync(`/proc/${pid}/fd`).map((fd) => {
		try {
			return fs.readlinkSync(`/proc/${pid}/fd/${fd}`).match(/^socket:\[(\d+)\]/)?.[1];
		} catch {
			return undefined; /* closed meanwhile */
		}
	}));
	const portOf = (address) => parseInt(address.split(':')[1], 16);
	return fs.readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1, -1).map((line) => line.trim().split(/\s+/))
		.filter(([, local, , , , , , , , inode]) => inodes.has(inode) && ports.includes(portOf(local))).map(([, , remote]) => portOf(remote));
}

const ended = /was killed by signal 9|exited with status|has ended/;

export async function kills(checks, factor) {
	const stage = new Stage(), ports = { h2: await freePort(), forward: await freePort() }, guarded = await freePort(), originPort = await freePort();
	ports.h1 = ports.plain = ports.h2;
	const calm = helper(checks, 'origin.mjs', { name: 'calm', port: originPort, seed: 1 });
	const tunnels = helper(checks, 'reloads/tunnels.mjs', { count: 40, versions: ['1.1', '2'], forward: true, maxMs: MAX_MS });
	const [{ ports: far }] = await within('the origins begin', MAX_MS, Promise.all([tunnels, calm].map((c) => c.next())));
	fs.writeFileSync(path.join(stage.dir, 'users'), 'bob:$2b$04$DDDDDDDDDDDDDDDDDDDDD./G8yeFqOwrkLaRfiIayxru6Hhx3l9he\n');
	const configuration = (n) => stage.server({ 'remembered-file': path.join(stage.dir, 'pages') })
		+ section('listen plain', { address: `127.0.0.1:${ports.h2}` }) + section('listen forward', { address: `127.0.0.1:${ports.forward}`, mode: 'forward', access: 'lab' })
		+ section('listen guarded', { address: `127.0.0.1:${guarded}`, access: 'asked' })
		+ section('access asked', { users: 'users', ask: 'all', allow: 'user=*' })
		+ section('access lab', { allow: 'client=127.0.0.1 address=127.0.0.0/8 port=1024-65535' })
		+ section('origin forward', { server: 'forward:' }) + section('route forward', { origin: 'forward' })
		+ section('origin calm', { server: `h2c://127.0.0.1:${originPort}` }) + section('origin tunnels', { server: `http://127.0.0.1:${far.origin}` })
		+ section('preload p', { remembered: 'propose' }) + section('route feed', { host: 'feed.test', origin: 'calm', subscription: 'yes' })
		+ section('route tunnels', { host: 'ws.test', origin: 'tunnels', upgrade: 'websocket' })
		+ section('route moving', { path: `/r${n}`, redirect: '/here' }) + section('route calm', { origin: 'calm' });
	await stage.start(configuration(0), [ports.h2, ports.forward]);
	tunnels.tell({ ports });
	const requests = helper(checks, 'reloads/requests.mjs', { ports, seed: 11, rate: 60, pushes: true, host: 'calm.test', maxMs: MAX_MS });
	await until('all tunnels are open', async () => (await tunnels.accounts())?.open >= 40 + 20 + 6, MAX_MS);

	let before = {};
	const back = [], wrong = [], hung = new Set(), results = { done: 0, refused: 0 };
	const look = async () => {
		const now = await stage.samples();
		for (const [name, { value, isCounter }] of Object.entries(before))
			/* A process that was started again has used nothing yet. */
			if (isCounter && (now[name]?.value ?? 0) < value && !name.startsWith('process_cpu_'))
				back.push({ name, before: value, now: now[name]?.value });
		before = now;
	};
	const order = Object.entries({ w: Math.max(20 * factor, 4), files: Math.max(10 * factor, 2), pass: Math.max(10 * factor, 2), log: Math.max(10 * factor, 2) })
		.flatMap(([kind, n]) => Array.from({ length: Math.round(n) }, (_, i) => ({ kind, at: i / n }))).sort((a, b) => a.at - b.at);
	const killed = { w: 0, files: 0, pass: 0, log: 0 }, began = Date.now();
	for (const [i, { kind }] of order.entries()) {
		const old = (await until(`a process ${kind}`, () => { const all = stage.of(kind); return all.length && all; }, MAX_MS)).map((p) => p.pid);
		const begun = stage.count(/comes up/g), result = stage.change(configuration(i + 1));
		await until(() => `it comes up\n${stage.tail()}`, () => stage.count(/comes up/g) > begun, MAX_MS);
		/* One that serves, one that drains, or one that comes up. */
		const all = stage.of(kind).map((p) => p.pid), fresh = all.filter((pid) => !old.includes(pid));
		const victim = i % 2 && fresh.length ? fresh[0] : old[i % old.length];
		if (kind === 'w') {
			stage.signal(victim, 'SIGSTOP'); /* so that it takes no connection that is not seen here */
			if (fs.existsSync(`/proc/${victim}/fd`))
				clientsOf(victim, Object.values(ports)).forEach((port) => hung.add(port));
		}
		stage.signal(victim, 'SIGKILL');
		killed[kind]++;
		const { code, stderr } = await result;
		results[code === 0 ? 'done' : 'refused']++;
		if (code !== 0 && !(code === 1 && ended.test(stderr)))
			wrong.push({ i, kind, code, stderr });
		await look();
		tunnels.tell('turn');
		const asked = (await requests.accounts())?.whole;
		await until('requests go on', async () => (await requests.accounts())?.whole > asked, MAX_MS).catch((error) => wrong.push(error.message));
		await stage.fewGenerations().catch((error) => wrong.push(error.message));
	}
	await until(() => `a reload succeeds\n${stage.tail()}`, async () => (await stage.change(configuration(1000))).code === 0, MAX_MS).catch((error) => wrong.push(error.message));
	[requests, tunnels, calm].forEach((one) => one.tell('over'));
	const r = await within('the requests end', 2 * MAX_MS, requests.finished), t = await within('the tunnels end', 2 * MAX_MS, tunnels.finished);
	for (const [kind, n] of [['w', 2], ['files', 1], ['pass', 1], ['log', 1]])
		await until(() => `${n} of ${kind}, not ${stage.of(kind).length}\n${stage.tail()}`, () => stage.of(kind).length === n, MAX_MS).catch((error) => wrong.push(error.message));
	await look();
	const c = await stage.counters(), all = [...r.failures, ...t.failures], others = all.filter((f) => !hung.has(f.port));
	checks.check('pushgate goes on', wrong.length === 0, `killed in ${((Date.now() - began) / 1000).toFixed(0)} s: ${killed.w} workers, ${killed.files} files processes, ${killed.pass} password processes, ${killed.log} loggers; ${results.done} reloads were done, ${results.refused} refused with the reason${show(wrong)}`);
	checks.check('only what hung on a killed worker has failed', others.length === 0 && r.whole > 0, `${all.length} of ${r.requests + t.requests} requests and tunnels, on ${hung.size} connections that were lost${show(others)}`);
	checks.check('no counter went back', back.length === 0, `${Object.values(before).filter((x) => x.isCounter).length} counters${show(back)}`);
	checks.check('nothing is left open', c.requests_open === 0 && c.pushes_open === 0 && c.tunnels_open === 0, `${c.requests_open} requests, ${c.pushes_open} pushes, ${c.tunnels_open} tunnels`);
	const end = await stage.end();
	checks.check('all processes end at SIGTERM', end === '', end);
	[requests, tunnels, calm].forEach((one) => one.kill());
	stage.close();
}
