/* SPDX-License-Identifier: MIT */
/*
 * The first part: clients without pause, while the configuration changes again and again, and the program is upgraded in
 * between. No request fails, no push is lost, no tunnel ends before its time, and the counters are the clients' own.
 */
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { certs, freePort, section, until } from '../../support/gate.mjs';
import { Stage, helper, memoryOf, mib, putPair, show, within } from './stage.mjs';

/* Used up by a hang alone. */
export const MAX_MS = 60000;

/* ---- the configuration, and how it changes: each change takes the state, and says what it has changed ---- */

const CHANGES = [
	(s) => { s.workers = 3; return '3 workers'; },
	(s) => { s.extra = s.extraPorts.shift(); return 'a listener added'; },
	(s, stage) => { s.certificate = s.certificate === 'rsa' ? 'ecdsa' : 'rsa'; putPair(stage, s.certificate); return `the certificate is ${s.certificate}`; },
	(s) => { s.rule = ['drop', 'hold', 'hint'][s.n % 3]; return `a rule of ${s.rule}`; },
	(s) => { s.route = `/r${s.n}`; return 'another route'; },
	(s) => { s.servers = 2; return 'a server added'; },
	(s) => { s.low = s.lowPort; return s.low ? 'a low port added' : 'no low port, without root'; },
	(s) => { s.workers = 1; return '1 worker'; },
	(s) => { s.extra = null; return 'the listener removed'; },
	(s) => { s.servers = 1; return 'a server removed'; },
	(s) => { s.low = null; s.workers = 2; return '2 workers, no low port'; },
];

/* A client that the processor keeps waiting is slow, and would be pushed less. */
const UNBOUNDED = { 'max-pushes-per-connection': 100000, 'max-push-bytes': '1G', 'push-start-timeout': 0 };

function configuration(stage, s) {
	const listen = (name, port, keys = {}) => (port ? section(`listen ${name}`, { address: `127.0.0.1:${port}`, 'max-connections-per-client': 0, ...keys }) : '');
	return stage.server({ workers: s.workers, 'remembered-file': path.join(stage.dir, 'pages'), ...UNBOUNDED })
		+ `# change ${s.n}\n`
		+ listen('plain', s.ports.h2) + listen('tls', s.ports.tls, { certificate: 'chain.pem', key: 'chain.key' })
		+ listen('forward', s.ports.forward, { mode: 'forward', access: 'lab' }) + listen('extra', s.extra) + listen('low', s.low)
		+ section('access lab', { allow: 'client=127.0.0.1 address=127.0.0.0/8 port=1024-65535' })
		+ section('origin forward', { server: 'forward:' }) + section('route forward', { origin: 'forward' })
		+ section('origin calm', { server: s.origins.slice(0, s.servers).map((port) => `h2c://127.0.0.1:${port}`) })
		+ section('origin tunnels', { server: `http://127.0.0.1:${s.tunnels}` })
		+ section('route feed', { host: 'feed.test', origin: 'calm', subscription: 'yes' })
		+ section('route tunnels', { host: 'ws.test', origin: 'tunnels', upgrade: 'websocket' })
		+ (s.route ? section('route moving', { path: s.route, redirect: '/here' }) : '')
		+ section('route calm', { origin: 'calm' })
		+ section('preload p', { remembered: 'propose' })
		+ (s.rule ? section('push other', { path: '/other/*', action: s.rule }) : '');
}

/* A port below 1024 that is free. */
async function freeLowPort() {
	if (process.getuid() !== 0)
		return null;
	for (let port = 700; port < 1024; port++)
		if (await new Promise((resolve) => {
			const probe = net.createServer();
			probe.once('error', () => resolve(false));
			probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
		}))
			return port;
	return null;
}

/* ---- what a change must show ---- */

const get = (port, asked) => new Promise((resolve) => {
	http.get({ port, host: '127.0.0.1', path: asked, agent: false, timeout: MAX_MS }, (r) => r.resume().once('end', () => resolve(r.statusCode))).on('error', (e) => resolve(e.code));
});
const shown = (port) => new Promise((resolve) => {
	const socket = tls.connect({ port, host: '127.0.0.1', ca: certs().ca, servername: 'localhost' }, () => {
		resolve(socket.getPeerCertificate().asn1Curve ? 'ecdsa' : 'rsa');
		socket.destroy();
	});
	socket.once('error', (e) => resolve(e.code));
});

/* The driver's own requests are counted too. */
async function isInForce(s) {
	const ask = async (port, path_, wanted) => {
		s.asked++;
		return await get(port, path_) === wanted;
	};
	return (!s.route || await ask(s.ports.h2, s.route, 308))
		&& (!s.low || await ask(s.low, '/a/0', 200))
		&& await shown(s.ports.tls) === s.certificate;
}

/* ---- the part ---- */

export const changesOf = (factor) => ({
	changes: Math.max(Math.round(50 * factor), CHANGES.length), upgrades: Math.max(Math.round(5 * factor), 1), wantedRequests: 100000 * factor, rate: 220,
});

export async function load(checks, factor) {
	const stage = new Stage(), wantedPushes = 50000 * factor, { changes, upgrades, wantedRequests, rate } = changesOf(factor);
	const origins = [], ports = { h2: await freePort(), tls: await freePort(), forward: await freePort() };
	ports.h1 = ports.plain = ports.h2;
	for (const seed of [1, 2])
		origins.push({ port: await freePort(), seed });
	const calm = origins.map((o) => helper(checks, 'origin.mjs', { name: 'calm', ...o }));
	const tunnels = helper(checks, 'reloads/tunnels.mjs', { count: 200, versions: ['1.1', '2'], forward: true, maxMs: MAX_MS });
	const [{ ports: far }] = await within('the origins begin', MAX_MS, Promise.all([tunnels, ...calm].map((c) => c.next())));
	const s = {
		n: 0, asked: 0, workers: 2, servers: 1, certificate: 'rsa', ports, origins: origins.map((o) => o.port), tunnels: far.origin,
		lowPort: await freeLowPort(), extraPorts: [], route: null, rule: null, low: null, extra: null,
	};
	while (s.extraPorts.length < changes / CHANGES.length + 1)
		s.extraPorts.push(await freePort());
	putPair(stage, 'rsa');
	await stage.start(configuration(stage, s), [ports.h2, ports.tls, ports.forward]);
	tunnels.tell({ ports });
	const requests = helper(checks, 'reloads/requests.mjs', { ports, ca: certs().ca.toString(), seed: 7, rate, pushes: true, host: 'calm.test', maxMs: MAX_MS });
	await until('all tunnels are open', async () => (await tunnels.accounts())?.open >= 200 + 20 + 6, MAX_MS);
	const before = stage.processes().length, peak = { processes: 0, pss: 0 }, began = Date.now();
	console.log(`load: about ${rate} requests/s, ${changes} reloads and ${upgrades} upgrades, ${wantedRequests} requests`);

	const failed = [], took = [];
	for (let i = 1; i <= changes + upgrades; i++) {
		const isUpgrade = i % Math.floor((changes + upgrades) / upgrades) === 0 && i / Math.floor((changes + upgrades) / upgrades) <= upgrades;
		const goal = wantedRequests * i / (changes + upgrades + 1);
		await until(`${goal} requests`, async () => (await requests.accounts())?.requests >= goal, 20 * MAX_MS);
		let what = 'the same program again';
		const had = s.extra;
		if (!isUpgrade) {
			what = CHANGES[s.n % CHANGES.length](s, stage);
			s.n++;
			if (had && !s.extra)
				requests.tell({ gone: had });
		}
		const { code, stderr, ms } = await stage.change(configuration(stage, s), isUpgrade ? 'upgrade' : 'reload');
		took.push(ms);
		if (code !== 0)
			failed.push(`${i}: ${what}: status ${code}: ${stderr}`);
		await until(`it is in force: ${what}`, () => isInForce(s), MAX_MS).catch((error) => failed.push(error.message));
		if (s.extra && s.extra !== had)
			requests.tell({ use: s.extra });
		tunnels.tell('turn');
		const now = stage.processes();
		peak.processes = Math.max(peak.processes, now.length);
		peak.pss = Math.max(peak.pss, memoryOf(now).pss);
		await stage.fewGenerations().catch((error) => failed.push(error.message));
	}
	await until(`${wantedRequests} requests and ${wantedPushes} pushes`, async () => {
		const a = await requests.accounts();
		return a?.requests >= wantedRequests && a?.pushesWhole >= wantedPushes;
	}, 20 * MAX_MS).catch((error) => failed.push(error.message));
	[requests, tunnels, ...calm].forEach((one) => one.tell('over'));
	const r = await within('the requests end', 2 * MAX_MS, requests.finished), t = await within('the tunnels end', 2 * MAX_MS, tunnels.finished);
	await until('nothing is open', async () => { const c = await stage.counters(); return !c.requests_open && !c.pushes_open; }, MAX_MS).catch((error) => failed.push(error.message));
	await until(() => `older programs and generations end, not ${stage.processes().map((p) => `${p.pid} ${p.comm}`)}`, () => stage.processes().length <= before - 2 + s.workers, MAX_MS).catch((error) => failed.push(error.message));
	const c = await stage.counters(), seconds = (Date.now() - began) / 1000;
	await until('each request has its line', () => stage.lines() === c.requests + c.pushes_offered, 10000).catch(() => {});

	const reasons = Object.entries(await stage.samples()).filter(([name]) => name.includes('reason="')).map(([name, { value }]) => `${name.match(/reason="([^"]*)"/)[1]} ${value}`);
	console.log(`reasons of pushes: ${reasons.join(', ')}`);
	console.log(JSON.stringify({ requests: { ...r, failures: undefined }, tunnels: { ...t, failures: undefined } }));
	checks.check('each reload and each upgrade is done, and in force', failed.length === 0, `${changes} reloads and ${upgrades} upgrades in ${seconds.toFixed(0)} s, the longest took ${Math.max(...took)} ms${show(failed)}`);
	checks.check('no request failed', r.failed === 0 && r.whole === r.requests, `${r.requests} requests, ${r.retried} sent again on another connection, ${r.told} connections told to go${show(r.failures)}`);
	checks.check('no push was lost', r.pushes === r.pushesWhole && r.pushes > 0, `${r.pushesWhole} of ${r.pushes} promises, ${r.feeds} subscriptions; ${r.notPromised} were not promised on connections that had been told to go`);
	checks.check('no tunnel ended before its time', t.failed === 0 && t.endedEarly === 0, `${t.opened} opened, ${t.echoes} echoes, ${t.events} events${show(t.failures)}`);
	checks.check('clients of a listener that went were told to go', r.visits > 0 && r.visitsTold > 0, `${r.visitsTold} of ${r.visits} connections; the others ended with the run`);
	const made = r.requests + t.requests + s.asked;
	checks.check('requests are counted exactly', c.requests === made, `${c.requests} counted, ${made} made`);
	checks.check('pushes are counted exactly', c.pushes_forwarded === r.pushes && c.pushes_completed === r.pushesWhole, `${c.pushes_forwarded} promised and ${c.pushes_completed} delivered, the clients saw ${r.pushes} and ${r.pushesWhole}`);
	checks.check('tunnels are counted exactly', c.tunnels === t.opened - t.eventStreams, `${c.tunnels} counted, ${t.opened - t.eventStreams} opened`);
	checks.check('each request and each push has its line in the log', stage.lines() + c['pushgate_log_lines_lost_total{log="access",cause="pipe"}'] + c['pushgate_log_lines_lost_total{log="access",cause="file"}'] === c.requests + c.pushes_offered, `${stage.lines()} lines, ${c.pushes_offered} pushes, ${c['pushgate_log_lines_lost_total{log="access",cause="pipe"}']} dropped, ${c['pushgate_log_lines_lost_total{log="access",cause="file"}']} lost`);
	checks.check('no generation was ended with its connections', stage.count(/is ended, with the connections/g) === 0);
	checks.check('no process died', !/was killed by signal|is started again/.test(stage.log()), stage.log().match(/.*(was killed by signal|is started again).*/)?.[0]);
	const wrong = await stage.end();
	checks.check('all processes end at SIGTERM', wrong === '', wrong || `${peak.processes} processes and ${mib(peak.pss)} at the peak`);
	[requests, tunnels, ...calm].forEach((one) => one.kill());
	stage.close();
	return { name: 'pushgate', reloads: changes + upgrades, requests: r.requests, failed: r.failed, retried: r.retried, tunnels: t.opened, ended: t.endedEarly };
}
