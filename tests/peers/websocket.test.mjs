/* SPDX-License-Identifier: MIT */
/*
 * WebSockets through the gate: npm's ws, Node's http2 and Python's websockets as clients, in each version of HTTP,
 * before origins in each version. Prints a table: the client's and the origin's version down, cases across.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT, Scenario, certs, freePort, section, until } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';
import { daemon, run } from '../support/programs.mjs';
import { CASES, MANY, ownAnswer } from './websocket-cases.mjs';
import { CLIENTS, Client, skip } from './websocket-client.mjs';
import { ORIGINS, websocketOrigins } from './websocket-origin.mjs';

const AT_ONCE = 3;
const only = process.env.PUSHGATE_TEST_ONLY?.split(','); /* names of ways ("h2>h1") and of cases */
const isWanted = (name, all) => !only || !only.some((o) => all.includes(o)) || only.includes(name);
/* Debian's, which has the module. */
const PYTHON = ['/usr/bin/python3', path.join(ROOT, 'tests/peers/python_websockets.py')];
const PYTHON_CASES = ['echo', '10MB', 'ping', 'close', 'drop', 'protocol', 'deflate', 'fields', 'refusals'];
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
		server: { 'status-socket': 'status.socket' },
		extra: section('listen tls', { address: `127.0.0.1:${tlsPort}`, certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') }),
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
function way(site, client, name, python) {
	const last = { id: '' };
	const prefix = `/${name}/`;
	const headers = () => {
		last.id = `${++runs}`;
		return { 'x-run': last.id };
	};
	const ask = (what, { headers: more, ...options } = {}) => client.open(`${prefix}${what}`, { ...options, headers: { ...headers(), ...more } });
	const asked = headers();
	return {
		client, path: prefix, up: ORIGINS[name] ?? { scheme: 'http', version: '1.1' }, ask,
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
			await one.run(way(site, client, row.up, python));
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
	const { stdout, stderr } = await run(PYTHON[0], [PYTHON[1], 'ask', String(MANY), url, certs().file('ca.pem'), ...PYTHON_CASES]);
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

test('WebSockets from clients to origins in each version', { skip, timeout: 300000 * SCALE }, async (t) => inScenario(await start(), async (site) => {
	const python = await pythonOrigin(site);
	const ways = [
		...Object.keys(CLIENTS).flatMap((down) => [...ALIKE, 'python'].map((up) => ({ down, up, name: `${down} > ${up}` }))),
		...[false, true].flatMap((tls) => [...ALIKE, 'python'].map((up) => ({ isPython: true, isTls: tls, up, name: `python${tls ? ' h1s' : ' h1'} > ${up}` }))),
	].map((row) => ({ ...row, cells: new Map(), wrong: [] }));
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
