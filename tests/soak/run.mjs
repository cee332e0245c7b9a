/* SPDX-License-Identifier: MIT */
/*
 * The soak: clients and origins that cancel, die, stall and push at random, for as long as one likes, and accounts at
 * the end. usage: node tests/soak/run.mjs [SECONDS [REQUESTS-A-SECOND [SEED]]]
 *
 * Beside them tunnels in all combinations of versions (tunnels.mjs), and a forward proxy in the same program: requests
 * (forward.mjs) and CONNECTs; and visitors of pages that the memory of pages learns (pages.mjs). Some tunnels are silent
 * for as long as the run lasts: half an hour of it is half an hour of silence in real time. SOAK_SILENT is how many seconds a call is silent (180).
 *
 * What must hold: every byte that arrives is the right one, nothing incomplete looks complete, what was owed came,
 * every stream ended on all sides, every request has its line in the access log, memory does not grow in the
 * second half, descriptors come back, and the program ends well.
 */
import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import { BINARY, Gate, certs, freePort, samples, section, sleep, until, workDir } from '../support/gate.mjs';
import { Checks, child as fork } from './child.mjs';

const [seconds = 60, rate = 300, seed = Date.now() % 1e6] = process.argv.slice(2).map(Number);
/* Ten times write-timeout is what a stream behind a shut connection window may have, and then some. */
const MAX_STREAM_MS = 100000;
const checks = new Checks();
const check = (...args) => checks.check(...args);
let isEnding = false;
const child = (file, options) => fork(file, options, (how) => {
	if (!isEnding)
		check(`${file} ${options.name ?? ''} lived`, false, how);
});

const dir = workDir();
const ports = { plain: await freePort(), tls: await freePort(), calm: await freePort(), wild: await freePort(), forward: await freePort(), forwardTls: await freePort() };
const calm = child('origin.mjs', { name: 'calm', port: ports.calm, seed });
const wild = child('origin.mjs', { name: 'wild', port: ports.wild, seed: seed + 1 });
/* In a short run at least one silence is whole. */
const silentMs = Math.min(Number(process.env.SOAK_SILENT ?? 180), seconds / 3) * 1000;
const tunnels = child('tunnels.mjs', { seed: seed + 2, rate, silentMs, maxMs: MAX_STREAM_MS });
const forward = child('forward.mjs', { seed: seed + 3, rate, maxMs: MAX_STREAM_MS });
const pages = child('pages.mjs', { seed: seed + 4, rate, maxMs: MAX_STREAM_MS });
const [, , { ports: tunnelPorts }, { port: forwardPort }, { port: pagesPort }] = await Promise.all([calm.next(), wild.next(), tunnels.next(), forward.next(), pages.next()]);

const tls = { certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') };
const listen = { 'idle-timeout': '8s', 'body-timeout': '8s', 'write-timeout': '8s', 'header-timeout': '5s', 'preface-timeout': '5s', 'tls-timeout': '5s' };
const origin = { 'idle-timeout': '5s', 'body-timeout': '8s', 'response-timeout': '10s', 'write-timeout': '8s' };
const rule = (name, at, action) => section(`push ${name}`, { path: `/${at}/*`, action });
const socket = path.join(dir, 'status');
/* The access log is read as it is written: half an hour of it would be large. */
const log = reader();
const gate = new Gate({
	dir, ports: [ports.plain, ports.tls, ports.forward, ports.forwardTls], single: false,
	config: section('server', { workers: 2, 'access-log': path.join(dir, 'access.fifo'), 'error-log': path.join(dir, 'error.log'), 'status-socket': socket, memory: '64M', 'drain-timeout': '10s', 'hold-max-age': '3s' })
		+ section('listen plain', { address: `127.0.0.1:${ports.plain}`, ...listen })
		+ section('listen tls', { address: `127.0.0.1:${ports.tls}`, ...tls, ...listen })
		+ section('listen forward', { address: `127.0.0.1:${ports.forward}`, mode: 'forward', access: 'forward', ...listen })
		+ section('listen forward-tls', { address: `127.0.0.1:${ports.forwardTls}`, mode: 'forward', access: 'forward', ...tls, ...listen })
		+ section('access forward', { allow: `address=127.0.0.0/8 port=${tunnelPorts.raw},${forwardPort}` })
		+ section('origin forward', { server: 'forward:', ...origin })
		+ section('route forward', { origin: 'forward', 'tunnel-half-closed-timeout': '10s' })
		+ section('origin calm', { server: `h2c://127.0.0.1:${ports.calm}`, ...origin })
		+ section('origin wild', { server: `h2c://127.0.0.1:${ports.wild}`, ...origin })
		+ section('origin http1', { server: `http://127.0.0.1:${tunnelPorts.http1}` })
		+ section('origin h2', { server: `h2c://127.0.0.1:${tunnelPorts.h2}` })
		+ section('route http1', { host: 'http1.test', origin: 'http1', upgrade: 'websocket' })
		+ section('route h2', { host: 'h2.test', origin: 'h2', upgrade: 'websocket' })
		+ section('route calm', { host: 'calm.test', origin: 'calm' })
		+ section('route wild', { host: 'wild.test', origin: 'wild' })
		+ section('origin pages', { server: `http://127.0.0.1:${pagesPort}`, ...origin })
		+ section('route pages', { host: 'pages.test', origin: 'pages', speculation: 'prefetch' })
		+ section('preload pages', { host: 'pages.test', remembered: 'apply' })
		+ section('push pages', { host: 'pages.test', navigation: 'yes', action: 'hint+hold' })
		+ section('preload own', { path: '/own/*', add: '/pushed/77/1234 as=script', link: 'yes' })
		+ rule('hold', 'hold', 'hold') + rule('hint', 'hint', 'hint+hold') + rule('drop', 'drop', 'drop'),
});
await gate.listening();

function reader() {
	const fifo = path.join(dir, 'access.fifo');
	spawnSync('mkfifo', [fifo]);
	const lines = { requests: 0, pushes: 0, outcomes: {} };
	let rest = '';
	/* Whoever opens it waits for the other end: better in a process of its own. */
	const cat = spawn('cat', [fifo], { stdio: ['ignore', 'pipe', 'inherit'] });
	process.once('exit', () => cat.kill('SIGKILL'));
	cat.stdout.setEncoding('utf8').on('data', (text) => {
		const all = (rest + text).split('\n');
		rest = all.pop();
		for (const line of all) {
			const push = line.includes('"push":true');
			lines[push ? 'pushes' : 'requests']++;
			const outcome = `${push ? 'push ' : ''}${line.match(/"outcome":"([^"]*)"/)?.[1]}`;
			lines.outcomes[outcome] = (lines.outcomes[outcome] ?? 0) + 1;
		}
	});
	return lines;
}

function status() {
	const { stdout } = spawnSync(BINARY, ['status', socket], { encoding: 'utf8' });
	return samples(stdout);
}
const workers = await until('two workers', () => (gate.workers().length === 2 ? gate.workers() : null));
const resident = () => workers.reduce((sum, pid) => sum + gate.rss(pid), 0);
const descriptors = () => workers.reduce((sum, pid) => sum + gate.descriptors(pid), 0);
await sleep(500);
const descriptorsBefore = descriptors();

const client = child('client.mjs', { ports, ca: certs().ca.toString(), seed, sessions: 24, rate, maxMs: MAX_STREAM_MS });
tunnels.process.send({ ports });
forward.process.send({ ports });
pages.process.send({ ports });
console.log(`soak: ${seconds} s, about ${rate} requests/s, seed ${seed}, ${workers.length} workers`);
const memory = [];
const began = Date.now();
const told = { at: began, complaints: 0 };
while (Date.now() - began < seconds * 1000) {
	await sleep(Math.min(1000, seconds * 10));
	memory.push(resident());
	if (Date.now() >= told.at + 60000) {
		told.at = Date.now();
		const a = await client.accounts(), t = await tunnels.accounts(), f = await forward.accounts(), p = await pages.accounts(), s = status();
		if (!a || !t || !f || !p)
			break;
		console.log(`${Math.round((Date.now() - began) / 1000)} s: ${a.ended} of ${a.begun} requests ended, ${a.pushes} pushes, ${(a.bytes / 1048576).toFixed(0)} MiB, `
			+ `${(memory.at(-1) / 1048576).toFixed(1)} MiB resident, ${descriptors()} descriptors, ${s['pushgate_connections_open{side="client"}']} connections, ${t.ended} of ${t.begun} tunnels and silent streams ended, ${f.ended} of ${f.begun} forward requests, ${p.ended} of ${p.begun} for pages, ${a.broken.length + t.broken.length + f.broken.length + p.broken.length} complaints`);
		const complaints = [...a.broken, ...t.broken, ...f.broken, ...p.broken];
		for (; told.complaints < complaints.length; told.complaints++)
			console.log(`    ${JSON.stringify(complaints[told.complaints])}`);
	}
	if (gate.exit || client.process.exitCode !== null || tunnels.process.exitCode !== null || forward.process.exitCode !== null || pages.process.exitCode !== null)
		break;
}

/* They may end before the other clients do. */
const left = (one) => new Promise((resolve) => { one.process.connected ? one.process.once('disconnect', () => resolve(null)) : resolve(null); });
const tunnelsLeft = left(tunnels), forwardLeft = left(forward), pagesLeft = left(pages);
for (const { process: one } of [client, tunnels, forward, pages])
	if (one.connected)
		one.send('over');
const limit = new Promise((resolve) => { setTimeout(resolve, MAX_STREAM_MS + 30000, null); });
const end = (client.process.connected ? await Promise.race([client.finished, limit]) : null) ?? await client.accounts() ?? { broken: [] };
const tunnelled = await Promise.race([tunnels.finished, tunnelsLeft, limit]) ?? await tunnels.accounts() ?? { broken: [] };
const forwarded = await Promise.race([forward.finished, forwardLeft, limit]) ?? await forward.accounts() ?? { broken: [] };
const viewed = await Promise.race([pages.finished, pagesLeft, limit]) ?? await pages.accounts() ?? { broken: [] };
let s = status();
for (let i = 0; i < 600 && (s.requests_open || s.pushes_open || s['pushgate_connections_open{side="client"}'] || s['pushgate_connections_open{side="origin"}'] || descriptors() !== descriptorsBefore); i++) {
	await sleep(100);
	s = status();
}
const origins = await Promise.all([calm.accounts(), wild.accounts()]);
const descriptorsAfter = descriptors();
/* The logger's last lines. */
for (let i = 0; i < 50 && log.requests < s.requests; i++)
	await sleep(100);

console.log(JSON.stringify({ client: { ...end, broken: undefined }, tunnels: { ...tunnelled, broken: undefined }, forward: { ...forwarded, broken: undefined }, pages: { ...viewed, broken: undefined }, origins: origins.map((o) => ({ ...o, violations: undefined })), log: { requests: log.requests, pushes: log.pushes, outcomes: log.outcomes } }, null, 1));
check('the clients saw nothing broken', end.broken.length === 0, end.broken.slice(0, 10).map((b) => JSON.stringify(b)).join('\n    '));
check('answers that were owed came', end.owed > 0, `${end.owed} of ${end.begun} requests were owed one`);
check('every request of the clients ended', end.begun === end.ended, `${end.ended} of ${end.begun}`);
check('every push to the clients ended', end.pushes === end.pushesEnded, `${end.pushesEnded} of ${end.pushes}`);
check('held responses were asked for', end.claims > 0, `${end.claims}`);
check('no byte of a tunnel was lost', tunnelled.broken.length === 0 && tunnelled.owed > 0, `${tunnelled.owed} tunnels, ${(tunnelled.bytes / 1048576).toFixed(1)} MiB ${tunnelled.broken.slice(0, 10).map((b) => JSON.stringify(b)).join('\n    ')}`);
check('every tunnel ended', tunnelled.begun === tunnelled.ended && tunnelled.atOrigin === tunnelled.endedAtOrigin, `${tunnelled.ended} of ${tunnelled.begun}; at the origins ${tunnelled.endedAtOrigin} of ${tunnelled.atOrigin}`);
check('tunnels that were silent for the whole run carried every byte then', tunnelled.idle > 0 && tunnelled.idleWhole === tunnelled.idle, `${tunnelled.idleWhole} of ${tunnelled.idle}, ${seconds} s`);
check('no byte was lost through the forward proxy', forwarded.broken.length === 0 && forwarded.owed > 0 && forwarded.refused > 0, `${forwarded.owed} requests, ${forwarded.refused} denied, ${(forwarded.bytes / 1048576).toFixed(1)} MiB ${forwarded.broken.slice(0, 10).map((b) => JSON.stringify(b)).join('\n    ')}`);
check('every request through the forward proxy ended', forwarded.begun === forwarded.ended && forwarded.atOrigin === forwarded.endedAtOrigin, `${forwarded.ended} of ${forwarded.begun}; at the origin ${forwarded.endedAtOrigin} of ${forwarded.atOrigin}`);
check('no byte of a page was lost, and none was wrong', viewed.broken.length === 0 && viewed.owed > 0, `${viewed.owed} requests, ${(viewed.bytes / 1048576).toFixed(1)} MiB ${viewed.broken.slice(0, 10).map((b) => JSON.stringify(b)).join('\n    ')}`);
check('every request for a page ended', viewed.begun === viewed.ended && viewed.atOrigin === viewed.endedAtOrigin, `${viewed.ended} of ${viewed.begun}; at the origin ${viewed.endedAtOrigin} of ${viewed.atOrigin}`);
check('what pages need was hinted, held and asked for', viewed.hinted > 0 && viewed.claimed > 0, `${viewed.hinted} hints, ${viewed.claimed} claims`);
check('silent calls and event streams came whole', tunnelled.calls > 0 && tunnelled.events > 0, `${tunnelled.calls} calls and ${tunnelled.events} event streams, silent for ${silentMs / 1000} s`);
for (const o of origins.filter(Boolean)) {
	check(`every stream of ${o.name} ended`, o.begun === o.ended && o.pushes === o.pushesEnded, `${o.ended} of ${o.begun} requests, ${o.pushesEnded} of ${o.pushes} pushes`);
	check(`uploads that ended at ${o.name} are whole`, o.uploadsWrong.length === 0, `${o.uploads} uploads ${o.uploadsWrong.slice(0, 5).map((u) => JSON.stringify(u)).join(' ')}`);
	check(`the gate kept to the protocol with ${o.name}`, o.violations.length === 0, o.violations.slice(0, 3).map((v) => JSON.stringify(v, null, 1)).join(' '));
}
check('nothing is left open', !s.requests_open && !s.pushes_open && !s['pushgate_connections_open{side="client"}'] && !s['pushgate_connections_open{side="origin"}'],
	`${s.requests_open} requests, ${s.pushes_open} pushes, ${s['pushgate_connections_open{side="client"}']} client and ${s['pushgate_connections_open{side="origin"}']} origin connections`);
check('each request has its line in the log', log.requests === s.requests && s['pushgate_log_lines_lost_total{log="access",cause="pipe"}'] + s['pushgate_log_lines_lost_total{log="access",cause="file"}'] === 0, `${log.requests} lines, ${s.requests} requests, ${s['pushgate_log_lines_lost_total{log="access",cause="pipe"}']} dropped, ${s['pushgate_log_lines_lost_total{log="access",cause="file"}']} lost`);
/* What a vandal sends may be taken for a request in HTTP/1.1 that cannot be read, and is answered. */
const made = end.begun + tunnelled.begun + forwarded.begun + viewed.begun + end.vandals;
check('requests are not more than were made', s.requests <= made, `${s.requests} of ${made}`);
check('descriptors came back', descriptorsAfter === descriptorsBefore, `${descriptorsBefore} before, ${descriptorsAfter} after`);
/* What is held at quiet moments: above that it goes up and down with what is under way. */
const base = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 10)] ?? 0;
const quarter = Math.floor(memory.length / 4);
const third = base(memory.slice(2 * quarter, 3 * quarter)), fourth = base(memory.slice(3 * quarter));
/* In a short run the pools are still filling. */
const allowed = Math.max(seconds < 600 ? 8 << 20 : 2 << 20, third * 0.05);
check('memory is flat in the second half', fourth <= third + allowed, `${(third / 1048576).toFixed(1)} MiB, then ${(fourth / 1048576).toFixed(1)} MiB`);

isEnding = true;
for (const c of [calm, wild])
	if (c.process.connected)
		c.process.send('end');
client.process.kill();
tunnels.process.kill();
forward.process.kill();
pages.process.kill();
try {
	const stderr = gate.read('error.log');
	check('no worker died', !/was killed|is started again/.test(stderr), stderr.match(/.*(was killed|is started again).*/)?.[0]);
	await gate.stop();
	check('it ended well', true);
} catch (error) {
	check('it ended well', false, error.message);
}
/* An origin whose peer went away in the middle of an answer may have more to do for long. */
for (const c of [calm, wild])
	c.process.kill('SIGKILL');
process.exit(checks.sum());
