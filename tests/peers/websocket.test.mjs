/* SPDX-License-Identifier: MIT */
/*
 * WebSockets through the gate: npm's ws, Node's http2 and Python's websockets as clients, in each version of HTTP,
 * before origins in each version. Prints a table: the client's and the origin's version down, cases across.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT, Scenario, certs, freePort, section, sleep, until } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';
import { daemon, run } from '../support/programs.mjs';
import { CASES, ownAnswer } from './websocket-cases.mjs';
import { CLIENTS, Client, skip } from './websocket-client.mjs';
import { ORIGINS, websocketOrigins } from './websocket-origin.mjs';

const AT_ONCE = 3;
const only = process.env.PUSHGATE_TEST_ONLY?.split(','); /* names of ways ("h2>h1") and of cases */
const isWanted = (name, all) => !only || !only.some((o) => all.includes(o)) || only.includes(name);
/* Debian's, which has the module. */
const PYTHON = ['/usr/bin/python3', path.join(ROOT, 'tests/peers/python_websockets.py')];
/* Beside `refusals` they are those of websocket-cases.mjs. */
const PYTHON_CASES = ['echo', '10MB', 'ping', 'close', 'drop', 'protocol', 'deflate', 'fields', 'refusals'];
/* Ways that get many messages and a large one; the others a tenth. */
const FULL = ['h1>h1', 'h1>h2c', 'h1s>alpn', 'h2c>h2c', 'h2>h1', 'h2>h2', 'h2>python', 'pythonh1>h1', 'pythonh1>h2c', 'pythonh1s>h2'];
const ALIKE = ['h1', 'h1s', 'h2c', 'h2', 'alpn'];

/* Calls `work` for each of `list`, some at a time. */
async function inParallel(list, work) {
	const queue = list.values();
	await Promise.all(Array.from({ length: AT_ONCE }, async () => {
		for (const item of queue)
			await work(item);
	}));
}

const isTls = (name) => ['https', 'h2'].includes(ORIGINS[name].scheme);

async function start(options = {}) {
	const { origin, ports, close } = await websocketOrigins();
	const tlsPort = await freePort();
	const pythonPort = await freePort();
	const origins = Object.fromEntries(Object.keys(ORIGINS).map((name) => [name, {
		server: `${ORIGINS[name].scheme}://${isTls(name) ? 'localhost' : '127.0.0.1'}:${ports[name]}`,
		config: isTls(name) ? { 'tls-ca': certs().file('ca.pem') } : {},
	}]));
	const scenario = new Scenario({
		origins: { ...origins, python: { server: `http://127.0.0.1:${pythonPort}` } },
		routes: [...Object.keys(ORIGINS), 'python'].map((name) => section(`route ${name}`, { path: `/${name}`, origin: name, upgrade: 'websocket', ...options.route })).join('')
			+ section('route closed', { path: '/closed', origin: 'h1' }),
		server: { 'status-socket': 'status.socket', ...options.server }, listen: options.listen, origin: options.origin,
		extra: section('listen tls', { address: `127.0.0.1:${tlsPort}`, certificate: certs().file('rsa.pem'), key: certs().file('rsa.key'), ...options.listen }),
	});
	scenario.cleanups.push(close);
	await scenario.start();
	const port = (down) => (CLIENTS[down].tls ? tlsPort : scenario.port);
	return { origin, ports, scenario, port, pythonPort };
}

/* Python's server; what it says of each WebSocket that has closed is noted like our own origins' account. */
async function pythonOrigin(site) {
	const server = await daemon(site.scenario, PYTHON[0], [PYTHON[1], 'serve', String(site.pythonPort)], site.pythonPort);
	server.closed = (id) => {
		const line = server.output.split('\n').slice(0, -1).filter((l) => l.startsWith('{')).map((l) => JSON.parse(l)).find((l) => l.run === id);
		return line?.closed;
	};
	return server;
}

let runs = 0;
/* One case by one way. */
function way(site, client, name, { python = null, part = 1 } = {}) {
	const last = { id: '' };
	const prefix = `/${name}/`;
	const headers = () => {
		last.id = `${++runs}`;
		return { 'x-run': last.id };
	};
	const ask = (what, { headers: more, ...options } = {}) => client.open(`${prefix}${what}`, { ...options, headers: { ...headers(), ...more } });
	const asked = headers();
	return {
		client, part, path: prefix, up: ORIGINS[name] ?? { scheme: 'http', version: '1.1' }, ask,
		headers: asked, seen: site.origin.run(asked['x-run']),
		async open(...all) {
			const peer = await ask(...all);
			assert.ok(!peer.refused, `refused: ${JSON.stringify(peer.refused)}`);
			return peer;
		},
		/* How the last WebSocket that was opened ended at the origin. */
		closed: () => until('the origin sees the end', () => (python ? python.closed(last.id) : site.origin.run(last.id).at(-1)?.closed)),
	};
}

/* The letters of each name below each other. */
function table(rows, names) {
	const first = Math.max(...rows.map(({ name }) => name.length));
	const high = Math.max(...names.map((name) => name.length));
	const lines = Array.from({ length: high }, (_, i) => `${' '.repeat(first)}  ${names.map((name) => ` ${name.padStart(high)[i]}`).join(' ')}`);
	return [...lines, ...rows.map(({ name, cells }) => `${name.padEnd(first)}  ${names.map((n) => (cells.get(n) ?? '-').padStart(2)).join(' ')}`)];
}

function note(row, name, wrong) {
	row.cells.set(name, wrong ? 'NO' : 'ok');
	if (wrong)
		row.wrong.push(`${name}: ${wrong}`);
}

async function playNode(site, row, python, cases, times) {
	const client = new Client(row.down, site.port(row.down));
	for (const one of cases) {
		if (one.only && !one.only(row.down, row.up) || python && !one.python)
			continue;
		const begin = Date.now();
		let wrong = null;
		try {
			await one.run(way(site, client, row.up, { python, part: row.part }));
		} catch (error) {
			wrong = error.stack;
		}
		note(row, one.name, wrong);
		times.set(one.name, (times.get(one.name) ?? 0) + Date.now() - begin);
	}
	client.close();
}

async function playPython(site, row) {
	const url = `${row.isTls ? 'wss' : 'ws'}://localhost:${row.isTls ? site.port('h1s') : site.port('h1')}/${row.up}/`;
	const { stdout, stderr } = await run(PYTHON[0], [PYTHON[1], 'ask', String(row.part), url, certs().file('ca.pem'), ...PYTHON_CASES]);
	const all = Object.assign({}, ...stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line)));
	for (const name of PYTHON_CASES)
		note(row, name, all[name] === undefined ? `no result: ${stderr.slice(-2000)}` : all[name]);
}

async function inScenario(site, body) {
	let failure;
	try {
		await body(site);
	} catch (error) {
		failure = error;
	}
	await site.scenario.stop(failure);
}

// covers: R380 R382 R383 R384 R387 R391 R392 R397
test('WebSockets from clients to origins in each version', { skip, timeout: 300000 * SCALE }, async (t) => inScenario(await start(), async (site) => {
	const python = await pythonOrigin(site);
	const ways = [
		...Object.keys(CLIENTS).flatMap((down) => [...ALIKE, 'python'].map((up) => ({ down, up, name: `${down} > ${up}` }))),
		...[false, true].flatMap((tls) => [...ALIKE, 'python'].map((up) => ({ isPython: true, isTls: tls, up, name: `python${tls ? ' h1s' : ' h1'} > ${up}` }))),
	].map((row) => ({ ...row, part: FULL.includes(row.name.replaceAll(' ', '')) ? 1 : 10, cells: new Map(), wrong: [] }));
	const names = ways.map(({ name }) => name.replaceAll(' ', ''));
	const wanted = ways.filter(({ name }) => isWanted(name.replaceAll(' ', ''), names));
	const caseNames = CASES.map(({ name }) => name);
	const cases = CASES.filter(({ name }) => isWanted(name, caseNames));
	const times = new Map();
	await inParallel(wanted, (row) => (row.isPython ? playPython(site, row) : playNode(site, row, row.up === 'python' ? python : null, cases, times)));
	t.diagnostic([...times].sort((a, b) => b[1] - a[1]).map(([n, ms]) => `${n} ${ms}`).join(', '));
	for (const line of table(wanted, [...new Set([...cases.map(({ name }) => name), ...PYTHON_CASES])]))
		t.diagnostic(line);
	for (const row of wanted)
		await t.test(row.name, () => {
			if (row.wrong.length)
				throw new Error(row.wrong.join('\n'));
		});
}));

const byBoth = Object.keys(CLIENTS);

// covers: R399
test('an origin of HTTP/2 that takes no tunnels, and does not speak HTTP/1.1: 501', { skip, timeout: 120000 * SCALE }, async () => inScenario(await start(), async (site) => {
	for (const down of byBoth) {
		const client = new Client(down, site.port(down));
		for (let i = 0; i < 2; i++)
			ownAnswer((await way(site, client, 'none').ask('echo')).refused, 501, 'http_upgrade_failed');
		assert.equal(await client.get('/none/page'), 200);
		client.close();
	}
	assert.deepEqual(new Set(site.scenario.gate.accessLines().filter((l) => l.status === 501).map((l) => l.detail)), new Set(['origin-no-tunnel']));
}));

// covers: R399
test('an origin whose HTTP/2 takes no tunnels is asked by HTTP/1.1', { skip, timeout: 120000 * SCALE }, async () => inScenario(await start(), async (site) => {
	for (const down of byBoth) {
		const client = new Client(down, site.port(down));
		assert.equal(await client.get('/old/page'), 200);
		for (let i = 0; i < 3; i++) {
			const peer = await way(site, client, 'old').open('tells');
			assert.equal(JSON.parse(await peer.text()).version, '1.1');
			peer.ws.close();
			await peer.over();
		}
		assert.equal(await client.get('/old/page'), 200);
		client.close();
	}
	const pages = site.scenario.gate.accessLines().filter((l) => l.path === '/old/page');
	assert.deepEqual(new Set(pages.map((l) => l.origin_protocol)), new Set(['h2']), 'requests go on over HTTP/2');
}));

test('an origin that refuses and closes has made no mistake, though the client has not read the answer yet', { skip, timeout: 120000 * SCALE },
	async () => inScenario(await start(), async (site) => {
		const { gate } = site.scenario;
		const session = http2.connect(`http://127.0.0.1:${site.port('h2c')}`, { settings: { initialWindowSize: 0 } }).on('error', () => {});
		await once(session, 'remoteSettings');
		const stream = session.request({
			':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'http', ':authority': 'localhost', ':path': '/h1/refuse/401',
		}, { endStream: false }).on('error', () => {});
		const [head] = await once(stream, 'response');
		assert.equal(head[':status'], 401);
		await until('the origin has closed', () => gate.counters()['pushgate_connections_open{side="origin"}'] === 0);
		session.settings({ initialWindowSize: 65535 });
		let body = '';
		stream.setEncoding('latin1').on('data', (d) => { body += d; });
		await once(stream, 'end');
		assert.equal(body, 'who are you?');
		const line = await gate.access((l) => l.path === '/h1/refuse/401');
		assert.equal(line.outcome, 'complete');
		assert.doesNotMatch(gate.read('error.log'), / warn /);
		session.destroy();
	}));

// covers: R346
test('a route without `upgrade`: the request is an ordinary one', { skip, timeout: 120000 * SCALE }, async () => inScenario(await start(), async (site) => {
	for (const down of byBoth) {
		const client = new Client(down, site.port(down));
		const { refused } = await client.open('/closed/echo', { headers: { 'x-run': `closed ${down}` } });
		if (CLIENTS[down].version === '2') {
			assert.equal(refused.status, 501);
			assert.deepEqual(site.origin.run(`closed ${down}`), []);
		} else {
			assert.deepEqual([refused.status, refused.body], [200, 'a page']);
			const [{ headers }] = site.origin.run(`closed ${down}`);
			assert.deepEqual([headers.upgrade, headers.connection], [undefined, undefined]);
		}
		assert.equal(await client.get('/h1/page'), 200);
		client.close();
	}
	await site.scenario.gate.error(/info .*main: client 127\.0\.0\.1 asks for a WebSocket at \/closed\/echo; if it is to get one, add upgrade = websocket to \[route closed\]/);
	assert.equal(site.scenario.gate.read('error.log').match(/asks for a WebSocket/g).length, 4);
}));

test('the log and the counters have tunnels', { skip, timeout: 120000 * SCALE }, async () => inScenario(await start(), async (site) => {
	const { gate } = site.scenario;
	for (const down of byBoth)
		for (const up of ['h1', 'h2c']) {
			const client = new Client(down, site.port(down));
			const peer = await way(site, client, up).open(`echo?${down}`);
			assert.equal(gate.counters().tunnels_open, 1);
			peer.ws.send('x'.repeat(1000));
			await peer.text();
			peer.ws.close();
			await peer.over();
			await way(site, client, up).ask(`refuse/404?${down}`);
			const line = await gate.access((l) => l.path === `/${up}/echo?${down}`);
			const isUpgrade = CLIENTS[down].version === '1.1';
			assert.deepEqual({
				method: line.method, status: line.status, tunnel: line.tunnel, outcome: line.outcome, ended: line.tunnel_ended,
				request_bytes: line.request_bytes, response_bytes: line.response_bytes,
				protocols: [line.protocol, line.origin_protocol],
			}, {
				method: isUpgrade ? 'GET' : 'CONNECT', status: isUpgrade ? 101 : 200, tunnel: 'websocket', outcome: 'complete', ended: line.tunnel_ended,
				request_bytes: 1014, response_bytes: 1006, protocols: [isUpgrade ? 'http/1.1' : 'h2', up === 'h1' ? 'http/1.1' : 'h2'],
			});
			assert.match(line.tunnel_ended, /^(client|origin)$/);
			const no = await gate.access((l) => l.path === `/${up}/refuse/404?${down}`);
			assert.deepEqual([no.status, no.tunnel], [404, undefined]);
			client.close();
		}
	const counters = await until('no tunnel is open', () => {
		const now = gate.counters();
		return now.tunnels_open === 0 && now;
	});
	assert.deepEqual([counters.tunnels, counters.tunnels_refused], [8, 8]);
	assert.deepEqual([counters['pushgate_tunnel_sent_bytes_total{side="origin"}'], counters['pushgate_tunnel_sent_bytes_total{side="client"}']], [8 * 1014, 8 * 1006]);
}));

/* Their own limits are longer. */
const SHORT = `${1000 * SCALE}ms`;
const LIMITS = { 'idle-timeout': SHORT, 'write-timeout': SHORT, 'body-timeout': SHORT };
test('a silent tunnel outlives every limit that is for something else', { skip, timeout: 120000 * SCALE }, async () => inScenario(
	await start({ listen: { 'header-timeout': SHORT, ...LIMITS }, origin: { 'response-timeout': SHORT, ...LIMITS }, route: { 'stream-idle-timeout': SHORT } }),
	async (site) => {
		const peers = await Promise.all(byBoth.flatMap((down) => ALIKE.map((up) => way(site, new Client(down, site.port(down)), up).open('echo'))));
		await sleep(2500 * SCALE);
		for (const peer of peers) {
			peer.ws.send('still here');
			assert.equal(await peer.text(), 'still here');
			peer.ws.terminate();
		}
	}));

test('tunnels that nobody ends go on when pushgate is stopped, until tunnel-drain-timeout', { skip, timeout: 120000 * SCALE }, async () => inScenario(
	await start({ server: { 'drain-timeout': '60s', 'tunnel-drain-timeout': '1s' } }), async (site) => {
		const peers = [];
		for (const down of byBoth)
			for (const up of ALIKE)
				peers.push(await way(site, new Client(down, site.port(down)), up).open('echo'));
		process.kill(site.scenario.gate.pid, 'SIGTERM');
		for (const peer of peers) {
			peer.ws.send('still here');
			assert.equal(await peer.text(), 'still here');
		}
		for (const peer of peers)
			assert.equal((await peer.over()).code, 1006);
		await site.scenario.gate.ended();
	}));
