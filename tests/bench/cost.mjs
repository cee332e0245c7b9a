/* SPDX-License-Identifier: MIT */
/*
 * What a request, a push and an idle connection cost the gateway process. scripts/cost starts this and has the usage.
 *
 * Callgrind counts the instructions. Two runs differ only in their number of requests, and the difference of their
 * counts is what the additional requests cost: start-up, handshakes and shutdown are in both. The lockstep peers and
 * a fixed seed of the hash tables make a repeated run count the same. One seed may be luckier than another, so the
 * result is the mean over several.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import zlib from 'node:zlib';
import { Gate, ROOT, certs, freePort, section, sleep, until, workDir } from '../support/gate.mjs';
import { openTunnel, session2, tunnelOrigin } from '../support/tunnel_ends.mjs';
import { BODY_BYTES, Lockstep } from './lockstep.mjs';
import { Lockstep1 } from './lockstep1.mjs';

const BASELINE = path.join(ROOT, 'tests/bench/cost.baseline');
const IDLE_LOAD = path.join(ROOT, 'build/release/tests/bench/idle_load');
const PRELOADS = ['fixed_random', 'still_clock'].map((name) => path.join(ROOT, `build/release/tests/bench/${name}.so`)).join(':');

const SEEDS = [1, 2, 3, 4];
const CONNECTIONS = 4;
/* Both runs have these; they fill the gateway's pools and HPACK tables. */
const WARM_UP_RESPONSES = 1000;
const MEASURED_RESPONSES = 5000;

/* The first connections make the process touch memory that all share; they are not counted. */
const FIRST_IDLE_CONNECTIONS = 100;
const FIRST_SETTLE_MS = 2000;
const IDLE_CONNECTIONS = 5000;
/* Enough for each of a thousand servers to be drawn a few times: its connection is open, its HPACK tables are filled. */
const WARM_UP_OF_SERVERS = 12000;
const IDLE_ORIGINS = 1000;
/* Of each. What loading leaves behind on the heap is used up by the few, so that it does not make the others look cheap. */
const FEW_IDLE_SERVERS = 10;
const IDLE_SERVERS = 30;
/* Each is a connection on either side, and both ends of it are here. */
const IDLE_TUNNELS = 2000;
const FIRST_IDLE_TUNNELS = 200;
/* The kernel's queue of new connections is short. */
const AT_A_TIME = 50;
const PATIENCE_MS = 60000;
/* The gateway gives memory back 10 s after a peak. */
const SETTLE_MS = 12000;

/* ---- what is asked for, and what is answered ---- */

const request = (scheme, asked) => ({
	':method': 'GET', ':scheme': scheme, ':authority': 'localhost', ':path': asked,
	'user-agent': 'pushgate-cost', accept: '*/*', 'accept-encoding': 'gzip, deflate, br',
});
const response = [
	[':status', '200'], ['server', 'lockstep'], ['date', 'Thu, 01 Jan 2026 00:00:00 GMT'],
	['content-type', 'text/plain'], ['content-length', String(BODY_BYTES)], ['cache-control', 'max-age=3600'],
	['last-modified', 'Wed, 31 Dec 2025 00:00:00 GMT'],
];
const eight = (make) => Array.from({ length: 8 }, (_, i) => make(i));
/* The gateway reads them in a field named link, and passes them on in any other. */
const preloads = (name) => eight((i) => [name, `</assets/style-${i}.css>; rel=preload; as=style`]);

function page({ scheme = 'http', accept, fields = [], pushes = [] } = {}) {
	return { request: { ...request(scheme, '/1k.txt'), ...(accept ? { accept } : {}) }, response: [...response, ...fields], pushes: pushes.map((p) => request(scheme, p)) };
}

/* 32 KiB with a head of 4 KiB, as browsers load it. */
const PAGE_HEAD = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A page &amp; what it needs – Example</title>
<meta name="description" content="${'Words about the page. '.repeat(7)}">
${['type', 'title', 'url', 'image', 'site_name', 'locale'].map((name) => `<meta property="og:${name}" content="https://www.example.com/${name}">`).join('\n')}
<link rel="canonical" href="https://www.example.com/page">
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="alternate" type="application/rss+xml" title="Feed" href="/feed.xml">
<link rel="preconnect" href="https://cdn.example.net" crossorigin>
<link rel="preload" href="/assets/font.woff2" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="/assets/base.css?v=3">
<link rel="stylesheet" href="assets/theme.css">
<link rel="stylesheet" href="/assets/print.css" media="print">
<style>${'.a > .b { color: #123456; margin: 0 auto }\n'.repeat(20)}</style>
<script type="application/ld+json">{${'"name": "value", '.repeat(40)}"end": 0}</script>
<script>window.config = { a: 1 < 2, b: "</" };</script>
<script src="/assets/app.js" defer></script>
<script src="/assets/early.js"></script>
</head>
`;
const HTML = Buffer.from(`${PAGE_HEAD}<body>\n${'<p class="text">Text of the page, with <a href="/link">a link</a>.</p>\n'.repeat(1000)}`.slice(0, 32768));

/* ---- the works ---- */

const PRELOAD = '[preload links]\nlink = yes\n';
const perRequest = { measure: instructions, unit: 'instructions/request', tolerance: '1%', streams: 32 };
/* One request at a time: several at once share reads and writes, which more servers cannot. */
const perServer = { ...perRequest, streams: 1, page: page(), seeds: [1, 2], origin: { 'idle-timeout': '1h' } };
/* HTTP/1.1 on both sides, where a connection has one request at a time. */
const perRequest1 = { ...perRequest, streams: 1, page: page(), seeds: [1, 2], protocol: 'http' };
const perTunnel = { measure: pairs, unit: 'KiB/pair', tolerance: '10%', isTunnel: true };
/* Its requests are all under way at once, and how much of that peak the heap keeps varies. */
const perPair = { measure: pairs, unit: 'KiB/pair', tolerance: '20%' };
/* Without a diary each page is pushed anew. */
const perPush = {
	...perRequest, unit: 'instructions/response', streams: 4, page: page({ pushes: eight((i) => `/p${i}.js`) }),
	server: { 'diary-entries': 0, 'promise-rate': 1000000 },
};
/* A page of HTML that names five resources, as a browser asks for it. */
const html = () => {
	const { request: asked, ...rest } = page({ fields: preloads('link').slice(0, 5), accept: 'text/html' });
	const answer = rest.response.map(([name, value]) => [name, name === 'content-type' ? 'text/html' : value]);
	return { ...rest, request: { ...asked, 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' }, response: answer };
};
/* In a worker, which has a copy of the memory. Each connection is a client of its own; without a diary each page is hinted at. */
const perHtml = { ...perRequest, page: html(), seeds: [1, 2], isOfWorker: true, isOfClients: true, server: { 'diary-entries': 0 } };
/* As a browser asks when it navigates. */
const perPage = { ...perRequest, page: page({ accept: 'text/html' }) };
/* Each time another version, so that each is read by a [preload] that remembers. */
const perDocument = {
	...perRequest, tolerance: '2%', streams: 1, seeds: [1], warmUp: 100, measured: 400, isTls: true, isOfWorker: true,
	page: {
		request: { ...request('https', '/page'), 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' },
		response: [...response.filter(([name]) => !['content-type', 'content-length', 'last-modified'].includes(name)), ['content-type', 'text/html; charset=utf-8']],
		pushes: [], body: HTML, isNew: true,
	},
};
/* The same in cleartext, and encoded. */
const perCleartext = { ...perDocument, isTls: false, page: { ...perDocument.page, request: { ...perDocument.page.request, ':scheme': 'http' } } };
const perGzip = { ...perDocument, page: { ...perDocument.page, response: [...perDocument.page.response, ['content-encoding', 'gzip']], body: zlib.gzipSync(HTML) } };
const READ = { extra: '[preload page]\nremembered = propose\n' };
const WORKS = {
	'request-h2c': { ...perRequest, page: page() },
	/* The origin is told of the client, in six fields: the default. */
	'request-forwarded': { ...perRequest, page: page(), route: { forwarded: 'replace' } },
	'request-logged': { ...perRequest, page: page(), server: { 'access-log': '/dev/null' } },
	/* In a worker, since the single process has no tracer; and the same without tracing. */
	'request-worker': { ...perRequest, page: page(), seeds: [1, 2], isOfWorker: true },
	'request-traced': { ...perRequest, page: page(), seeds: [1, 2], isOfWorker: true, server: { tracing: 'http://127.0.0.1:1', 'tracing-ratio': '1%' } },
	'request-tls': { ...perRequest, page: page({ scheme: 'https' }), isTls: true },
	/* A page and its 8 pushes are 9 responses. */
	'push-h2c': perPush,
	'page-h2c': perPage,
	/* An admin listener shows the last pages with their pushes. How many have a record depends on how long the run takes. */
	'request-shown': { ...perRequest, page: page(), isShown: true },
	'page-shown': { ...perPage, tolerance: '3%', isShown: true },
	'push-shown': { ...perPush, tolerance: '3%', isShown: true },
	'page-unread': perDocument,
	'page-read': { ...perDocument, ...READ },
	'page-unread-h2c': perCleartext,
	'page-read-h2c': { ...perCleartext, ...READ },
	'page-unread-gzip': perGzip,
	'page-read-gzip': { ...perGzip, ...READ },
	'links-8': { ...perRequest, page: page({ fields: preloads('link') }), extra: PRELOAD },
	'fields-8': { ...perRequest, page: page({ fields: preloads('note') }), extra: PRELOAD },
	/* Nothing is remembered; five hints from the memory of pages, in a 103. */
	'page-plain': perHtml,
	'page-remembered': { ...perHtml, extra: '[preload pages]\nremembered = apply\n\n[push hints]\naction = hint\n' },
	'request-1-server': { ...perServer, servers: 1 },
	'request-10-servers': { ...perServer, servers: 10 },
	'request-1000-servers': { ...perServer, servers: 1000, warmUp: WARM_UP_OF_SERVERS },
	'request-http1': { ...perRequest1, way: 'origin' },
	'request-absolute': { ...perRequest1, way: 'absolute' },
	/* By CONNECT, 64 KiB each time. */
	'connect-bytes': { ...perRequest1, way: 'tunnel', unit: 'instructions/64-KiB', tolerance: '3%' },
	/* Servers that nobody has asked for anything yet. */
	'idle-server-kib': { measure: servers, unit: 'KiB/server', tolerance: '20%', most: 1 },
	'idle-tls-kib': { measure: memory, unit: 'KiB/connection', tolerance: '3%' },
	/* A pair is a client connection and an origin connection of HTTP/1.1, both idle and kept for the next request. */
	'idle-pair-http1-kib': { ...perPair, client: '1.1' },
	'idle-tunnel-http1-kib': { ...perTunnel, client: '1.1' },
	'idle-pair-http1-tls-kib': { ...perPair, client: '1.1', isTls: true },
	'idle-tunnel-http1-tls-kib': { ...perTunnel, client: '1.1', isTls: true },
	'idle-pair-h2-tls-kib': { ...perPair, client: '2', isTls: true },
	'idle-tunnel-h2-tls-kib': { ...perTunnel, client: '2', isTls: true },
};

/* What one work may cost above another, in percent. */
const RELATIONS = [
	/* If each page had a record (docs/decisions/page-records.md). */
	{ work: 'request-shown', above: 'request-h2c', most: 1 },
	{ work: 'page-shown', above: 'page-h2c', most: 4 },
	{ work: 'push-shown', above: 'push-h2c', most: 3 },
	/* Its head is read, and what it names is taught: of a page that is known, one view of eight. docs/design/markup.md. */
	{ work: 'page-read', above: 'page-unread', most: 30 },
	{ work: 'page-read-h2c', above: 'page-unread-h2c', most: 190 },
	{ work: 'page-read-gzip', above: 'page-unread-gzip', most: 350 },
	/* Its client accepts no pushes, so its links need not be read. */
	{ work: 'links-8', above: 'fields-8', most: 10 },
	/* Five hints, of which each is an offer with counters, and a head more. One decision is a third of it, and lessons a sixth. */
	{ work: 'page-remembered', above: 'page-plain', most: 110 },
	/* Nearly all of its requests are not recorded, and each gets a traceparent. */
	{ work: 'request-traced', above: 'request-worker', most: 1.5 },
	/* A forward proxy looks at where each request goes. */
	{ work: 'request-absolute', above: 'request-http1', most: 15 },
	{ work: 'request-10-servers', above: 'request-1-server', most: 2 },
	{ work: 'request-1000-servers', above: 'request-1-server', most: 2 },
	{ work: 'idle-tunnel-http1-kib', above: 'idle-pair-http1-kib', most: 50 },
	{ work: 'idle-tunnel-http1-tls-kib', above: 'idle-pair-http1-tls-kib', most: 50 },
	{ work: 'idle-tunnel-h2-tls-kib', above: 'idle-pair-h2-tls-kib', most: 50 },
];

const directories = [];
function newDirectory() {
	directories.push(workDir());
	return directories.at(-1);
}

/* Addresses of the loopback, all with one port. */
const serverLines = (count, port) => Array.from({ length: count }, (_, i) => `h2c://127.0.${1 + (i >> 8)}.${i & 255}:${port}`);

const isForward = (work) => ['absolute', 'tunnel'].includes(work.way);

function configuration(dir, port, work) {
	const { originPort, originUrl, servers: count, isTls, isShown, protocol = 'h2c', server, listen, origin, route, extra = '' } = work;
	return section('server', { workers: 1, 'error-log': path.join(dir, 'error.log'), 'drain-timeout': '1s', ...server })
		+ section('listen main', {
			address: `127.0.0.1:${port}`,
			...(isTls ? { certificate: certs().file('ecdsa.pem'), key: certs().file('ecdsa.key') } : {}),
			...(isForward(work) ? { mode: 'forward', access: 'main' } : {}),
			...listen,
		})
		+ (isShown ? section('listen admin', { address: `unix:${path.join(dir, 'admin')}`, mode: 'admin' }) : '')
		+ (isForward(work) ? section('access main', { allow: `address=127.0.0.0/8 port=${originPort}` }) : section('origin main', { server: count ? serverLines(count, originPort) : originUrl ?? `${protocol}://127.0.0.1:${originPort}`, 'max-connections': originUrl ? undefined : 1, ...origin })
			/* What is written of the client has a work of its own. */
			+ section('route main', { origin: 'main', forwarded: 'keep', ...route })) + extra;
}

/* ---- instructions ---- */

/* Valgrind makes system calls of its own, and at the end it writes its file as the user that it started as. */
const UNDER_VALGRIND = { sandbox: 'off', user: process.getuid() === 0 ? 'root' : undefined };

/* Those of a whole run, from the start of the process to its end. */
async function countInstructions(work, pages, seed, keep) {
	const dir = newDirectory();
	const out = path.join(dir, 'callgrind.out');
	const peers = work.way ? new Lockstep1(work) : new Lockstep(work);
	let gate;
	try {
		const port = await freePort();
		const originPort = await peers.listen(work.servers ? '0.0.0.0' : undefined);
		gate = new Gate({
			config: configuration(dir, port, { ...work, originPort, server: { ...UNDER_VALGRIND, ...work.server } }),
			dir,
			ports: [port],
			single: !work.isOfWorker,
			wrap: ['valgrind', '-q', '--vgdb=no', '--tool=callgrind'],
			/* An argument would not do for workers: they write their titles over the arguments. */
			env: { LD_PRELOAD: PRELOADS, COST_SEED: String(seed), VALGRIND_OPTS: `--callgrind-out-file=${out}.%p` },
		});
		await gate.listening();
		/* Callgrind writes a file for each process. Master and helpers do other things in each run. */
		const pid = work.isOfWorker ? await until('a worker', () => gate.workers()[0]) : gate.pid;
		await peers.connect(port, { connections: CONNECTIONS, isTls: work.isTls, isOfClients: work.isOfClients });
		await peers.run(pages);
		peers.stop();
		gate.child.kill('SIGTERM');
		await gate.ended();
		if (keep)
			fs.copyFileSync(`${out}.${pid}`, keep);
		return Number(/^totals: (\d+)$/m.exec(fs.readFileSync(`${out}.${pid}`, 'latin1'))[1]);
	} finally {
		peers.stop();
		await gate?.stop();
	}
}

async function instructions(name, work, keep) {
	const responses = 1 + work.page.pushes.length;
	/* Whole batches, the same number on each connection. */
	const round = work.streams * CONNECTIONS;
	const pages = (count) => Math.ceil(count / responses / round) * round;
	const few = pages(work.warmUp ?? WARM_UP_RESPONSES), more = pages(work.measured ?? MEASURED_RESPONSES);
	const seeds = work.seeds ?? SEEDS;
	let sum = 0;
	for (const seed of seeds) {
		const short = await countInstructions(work, few, seed);
		const long = await countInstructions(work, few + more, seed, keep && path.join(keep, `${name}.${seed}`));
		sum += (long - short) / (more * responses);
	}
	return Math.round(sum / seeds.length);
}

/* ---- memory ---- */

/* The helper, with a promise `ready` that all of its connections are there. */
function idleLoad(port, connections) {
	const child = spawn(IDLE_LOAD, ['-n', String(connections), `127.0.0.1:${port}`], { stdio: ['pipe', 'pipe', 'pipe'] });
	let errors = '';
	child.stderr.on('data', (text) => { errors += text; });
	child.stdin.on('error', () => {});
	child.ready = new Promise((resolve, reject) => {
		child.stdout.once('data', resolve);
		child.once('error', reject);
		child.once('close', (code) => reject(new Error(`idle_load ended with status ${code}: ${errors}`)));
	});
	return child;
}

async function memory() {
	const dir = newDirectory();
	const loads = [];
	let gate;
	try {
		const port = await freePort();
		/* Nobody asks for anything, so there need not be an origin. */
		const config = configuration(dir, port, { originPort: 1, isTls: true, listen: { 'max-connections-per-client': 0 } });
		gate = new Gate({ config, dir, ports: [port] });
		await gate.listening();
		const residentWith = async (connections, settle) => {
			loads.push(idleLoad(port, connections));
			await loads.at(-1).ready;
			await sleep(settle);
			return gate.rss();
		};
		const before = await residentWith(FIRST_IDLE_CONNECTIONS, FIRST_SETTLE_MS);
		const after = await residentWith(IDLE_CONNECTIONS, SETTLE_MS);
		if (loads.some((load) => load.exitCode !== null))
			throw new Error(`the gateway closed an idle connection\n${gate.report()}`);
		return Math.round((after - before) / IDLE_CONNECTIONS / 1024 * 100) / 100;
	} finally {
		for (const load of loads)
			load.stdin.end();
		await gate?.stop();
	}
}

/* Resident memory of many origins with many servers beside the same with few servers each, for each server more. */
async function servers() {
	const residentWith = async (count) => {
		const dir = newDirectory();
		const port = await freePort();
		const origins = Array.from({ length: IDLE_ORIGINS }, (_, i) => section(`origin o${i}`, { server: serverLines(count, 1) })
			+ section(`route r${i}`, { host: `h${i}.test`, origin: `o${i}` }));
		const config = section('server', { workers: 1, 'error-log': path.join(dir, 'error.log'), 'drain-timeout': '1s' })
			+ section('listen main', { address: `127.0.0.1:${port}` }) + origins.join('');
		const gate = new Gate({ config, dir, ports: [port] });
		try {
			await gate.listening();
			await sleep(FIRST_SETTLE_MS);
			return gate.rss();
		} finally {
			await gate.stop();
		}
	};
	const bytes = await residentWith(IDLE_SERVERS) - await residentWith(FEW_IDLE_SERVERS);
	return Math.round(bytes / IDLE_ORIGINS / (IDLE_SERVERS - FEW_IDLE_SERVERS) / 1024 * 100) / 100;
}

/* A request on a connection of its own, which stays. The origin answers when `round` is complete. */
async function idleRequest(work, target) {
	if (work.client === '1.1') {
		const socket = work.isTls ? tls.connect({ ...target, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }) : net.connect(target);
		socket.write('GET /idle HTTP/1.1\r\nHost: localhost\r\n\r\n');
		await once(socket, 'data');
		return socket;
	}
	const session = await session2({ port: target.port, secure: work.isTls, host: 'localhost' });
	const stream = session.request({ ':path': '/idle' });
	stream.resume();
	await once(stream, 'end');
	return session;
}

/* A tunnel that has carried a message each way. */
async function idleTunnel(work, target) {
	const stream = await openTunnel(work.client, { port: target.port, secure: work.isTls, host: 'localhost' });
	stream.write('0123456789');
	await once(stream, 'data');
	return stream;
}

/* Resident memory per pair of connections: with an open tunnel between them, or idle after a request. */
async function pairs(name, work) {
	const dir = newDirectory();
	const held = [], waiting = [];
	let gate, round = 0;
	/*
	 * All requests are under way before the first is answered, so that each has its own connection to the origin.
	 * The connections of the first ones are not kept: the others would use them.
	 */
	const origin = await tunnelOrigin('1.1', {
		tunnel: (stream) => stream.pipe(stream),
		request(response) {
			waiting.push(response);
			if (waiting.length === round)
				for (const one of waiting.splice(0)) {
					one.shouldKeepAlive = round === IDLE_TUNNELS;
					one.end('idle');
				}
		},
	});
	try {
		const port = await freePort();
		const config = configuration(dir, port, {
			...work, listen: { 'max-connections-per-client': 0, 'idle-timeout': '1h', 'tls-timeout': '1m', 'preface-timeout': '1m' },
			originUrl: `http://127.0.0.1:${origin.port}`,
			origin: { 'max-http1-connections': 10000, 'idle-timeout': '1h', 'connect-timeout': '1m', 'response-timeout': '10m', 'max-tunnels': work.isTunnel ? 10000 : undefined },
			route: { upgrade: work.isTunnel ? 'websocket' : undefined },
		});
		gate = new Gate({ config, dir, ports: [port] });
		await gate.listening();
		const target = { port, host: '127.0.0.1' };
		const residentWith = async (count, settle) => {
			round = count;
			const open = work.isTunnel ? idleTunnel : idleRequest;
			const opening = [];
			for (let i = 1; i <= count; i++) {
				opening.push(open(work, target));
				if (i % AT_A_TIME !== 0)
					continue;
				/* A request waits for its whole round, so that only its arrival can be waited for. */
				if (work.isTunnel)
					await Promise.all(opening);
				else
					await until('the requests are at the origin', () => waiting.length === i || waiting.length === 0, PATIENCE_MS);
			}
			held.push(...await Promise.all(opening));
			await sleep(settle);
			return gate.rss();
		};
		const before = await residentWith(FIRST_IDLE_TUNNELS, FIRST_SETTLE_MS);
		const after = await residentWith(IDLE_TUNNELS, SETTLE_MS);
		if (origin.sockets.size !== IDLE_TUNNELS + (work.isTunnel ? FIRST_IDLE_TUNNELS : 0))
			throw new Error(`${origin.sockets.size} connections to the origin are left\n${gate.report()}`);
		return Math.round((after - before) / IDLE_TUNNELS / 1024 * 100) / 100;
	} finally {
		for (const one of held)
			one.destroy();
		origin.close();
		await gate?.stop();
	}
}

/* ---- the baseline ---- */

const HEAD = `# What scripts/cost compares with; scripts/cost --update writes it.
# x86-64, Debian 12's compiler and libraries: others count differently, so measure the older program with them first.
# work, number, unit, tolerance
`;

/* Rows by name, each { value, unit, tolerance }. */
function readBaseline() {
	const text = fs.existsSync(BASELINE) ? fs.readFileSync(BASELINE, 'utf8') : '';
	const lines = text.split('\n').filter((line) => line && !line.startsWith('#'));
	return Object.fromEntries(lines.map((line) => {
		const [name, value, unit, tolerance] = line.split(/\s+/);
		return [name, { value: Number(value), unit, tolerance }];
	}));
}

function writeBaseline(rows) {
	const lines = Object.keys(WORKS).filter((name) => rows[name]).map((name) => {
		const { value, unit, tolerance } = rows[name];
		return `${name.padEnd(14)} ${String(value).padStart(8)}  ${unit.padEnd(22)} ${tolerance}\n`;
	});
	fs.writeFileSync(BASELINE, HEAD + lines.join(''));
}

/* ---- the command ---- */

function usage() {
	console.error(`usage: scripts/cost [--update] [--keep DIR] [WORK...]\nworks: ${Object.keys(WORKS).join(' ')}`);
	process.exit(2);
}

function parse(args) {
	const options = { names: [] };
	while (args.length > 0) {
		const arg = args.shift();
		if (arg === '--update')
			options.isUpdate = true;
		else if (arg === '--keep' && args.length > 0)
			options.keep = path.resolve(args.shift());
		else if (WORKS[arg])
			options.names.push(arg);
		else
			usage();
	}
	if (options.names.length === 0)
		options.names = Object.keys(WORKS);
	return options;
}

const show = (...cells) => console.log(cells.map((cell, i) => (i === 0 ? cell.padEnd(14) : cell.padStart(10))).join(''));

async function main({ names, isUpdate, keep }) {
	const rows = readBaseline();
	let isWithin = true;
	if (keep)
		fs.mkdirSync(keep, { recursive: true });
	show('work', 'baseline', 'now', 'ratio');
	for (const name of names) {
		const { measure, unit, tolerance } = WORKS[name];
		const now = await measure(name, WORKS[name], keep);
		const row = rows[name];
		const ratio = row ? now / row.value : NaN;
		const { most = Infinity } = WORKS[name];
		const isFine = now <= most && (isUpdate || ratio <= 1 + parseFloat(row?.tolerance) / 100);
		const verdict = isFine ? '' : now > most ? `  more than ${most}` : row ? `  more than ${row.tolerance} above` : '  not in the baseline';
		show(name, row ? String(row.value) : '-', String(now), row ? ratio.toFixed(3) : '-', `  ${unit}${verdict}`);
		isWithin &&= isFine;
		rows[name] = { value: now, unit, tolerance };
	}
	for (const { work, above, most } of RELATIONS) {
		if (!names.includes(work) || !names.includes(above))
			continue;
		const ratio = rows[work].value / rows[above].value;
		const isFine = ratio <= 1 + most / 100;
		console.log(`${work} / ${above}: ${ratio.toFixed(3)}${isFine ? '' : `, more than ${most}% above`}`);
		isWithin &&= isFine;
	}
	if (isUpdate)
		writeBaseline(rows);
	return isWithin ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
	process.once(signal, () => process.exit(130));
/* The gateway has been ended by then, whatever happened. */
process.on('exit', () => {
	for (const dir of directories)
		fs.rmSync(dir, { recursive: true, force: true });
});
try {
	process.exitCode = await main(parse(process.argv.slice(2)));
} catch (error) {
	console.error(`cost: ${error.message}`);
	process.exitCode = 2;
}
