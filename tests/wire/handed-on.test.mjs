/* SPDX-License-Identifier: MIT */
/* What a generation knows goes to the next one at a reload: the health of servers, what is remembered of pages. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import { after } from 'node:test';
import { scenario, section, until } from '../support/gate.mjs';

/* ---- two servers: /health has the status `health`, all else `status` ---- */

const slow = []; /* responses to /slow, which wait to be ended */
async function open(name) {
	const own = { name, health: 200, status: 200, requests: 0 };
	own.server = http.createServer((request, response) => {
		const isCheck = request.url === '/health';
		own.requests += !isCheck;
		if (request.url === '/slow') {
			response.writeHead(200).write('begin');
			slow.push(response);
			return;
		}
		response.writeHead(isCheck ? own.health : own.status).end(name);
	});
	await new Promise((resolve) => { own.server.listen(0, '127.0.0.1', resolve); });
	own.address = `127.0.0.1:${own.server.address().port}`;
	return own;
}
const [well, sick] = await Promise.all([open('well'), open('sick')]);
after(() => [well, sick].forEach(({ server }) => { server.closeAllConnections(); server.close(); }));

/* Each on a connection of its own. */
function get(s, asked = '/') {
	return new Promise((resolve, reject) => {
		http.get({ port: s.port, host: '127.0.0.1', path: asked, agent: false }, (response) => {
			response.resume().on('end', () => resolve(response.statusCode)).on('error', reject);
		}).on('error', reject);
	});
}

/* ---- the gate ---- */

const count = (s, pattern) => s.gate.read('error.log').match(pattern)?.length ?? 0;
const TAKEN = /reload: generation \d+ has taken over/g;

/* Another configuration takes over, and the generation before is gone. */
async function reload(s, change = (text) => text) {
	const before = count(s, TAKEN);
	const text = change(fs.readFileSync(s.gate.config, 'utf8'));
	fs.writeFileSync(s.gate.config, `${text}[route more${before}]\npath = /more${before}\nanswer = 204\n`);
	s.gate.child.kill('SIGHUP');
	await until(() => `a take-over\n${s.gate.read('error.log')}`, () => count(s, TAKEN) > before);
	await s.gate.error(new RegExp(`generation ${before + 1} has ended`));
}

const ORIGIN = { server: [well, sick].map((one) => `http://${one.address}`), balance: 'round-robin' };
const gate = (name, origin, body, more = {}) => scenario(name, {
	single: false, origins: false, server: { workers: 2, 'drain-timeout': '2s', 'status-socket': 'status', ...more.server },
	routes: section('route x', { origin: 'x', ...more.route }), extra: section('origin x', { ...ORIGIN, ...origin }),
}, async (s) => {
	sick.health = sick.status = 200;
	await s.gate.error(/ ready\n/);
	await body(s);
});

async function askWithout(s, server, times = 16) {
	const before = server.requests;
	for (let i = 0; i < times; i++)
		assert.equal(await get(s), 200);
	assert.equal(server.requests, before);
}

gate('a server that was ejected gets no requests after a reload, and its time goes on', { 'eject-failures': 2, 'eject-time': '10m', 'eject-time-max': '20m' }, async (s) => {
	sick.status = 503;
	await until('it is ejected', async () => { await get(s); return / is ejected for \d+ s more/.test(s.gate.status()); });
	await reload(s);
	assert.match(s.gate.status(), new RegExp(`# origin x: server ${sick.address} is ejected for (\\d{2,3}) s more by 2 workers \\(too many failures in a row\\)`));
	await askWithout(s, sick);
	/* And once more, with another number of workers. */
	await reload(s, (text) => text.replace('workers = 2', 'workers = 3'));
	assert.match(s.gate.status(), / is ejected for \d+ s more by 3 workers/);
	await askWithout(s, sick);
	/* Where the configuration ejects none, none is. */
	sick.status = 200;
	await reload(s, (text) => text.replace('eject-failures = 2', 'eject-failures = 0\neject-percent = 0'));
	const before = sick.requests;
	for (let i = 0; i < 8; i++)
		assert.equal(await get(s), 200);
	assert.ok(sick.requests > before);
});

const CHECKED = { 'health-check': '/health', 'health-interval': '100ms', 'health-fall': 1 };
gate('a server that fails its checks gets no requests after a reload, before any check of the new workers', CHECKED, async (s) => {
	const failing = new RegExp(`# origin x: server ${sick.address} has failed its checks for \\d+ s \\(status 500\\)`);
	sick.health = 500;
	await until('it fails', () => failing.test(s.gate.status()));
	await reload(s, (text) => text.replace('health-interval = 100ms', 'health-interval = 1h'));
	assert.match(s.gate.status(), failing);
	await askWithout(s, sick);
	/* What would pass other checks is not known. */
	await reload(s, (text) => text.replace('health-check = /health', 'health-check = /else'));
	assert.doesNotMatch(s.gate.status(), failing);
});

/* ---- what is remembered of pages ---- */

async function visit(s, origin, address) {
	const client = await s.connect({ localAddress: address });
	client.request(1, { path: '/page', 'sec-fetch-mode': 'navigate' });
	const from = origin ?? await s.accept();
	from.respond((await from.expectRequest('/page')).stream, { fields: { 'content-type': 'text/html' }, body: 'page' });
	await client.response(1);
	client.request(3, { path: '/dep.css', referer: `http://localhost:${s.port}/page` });
	from.respond((await from.expectRequest('/dep.css')).stream, { fields: { 'content-type': 'text/css', 'cache-control': 'max-age=60' }, body: 'css' });
	await client.response(3);
	return from;
}

async function isPushed(s, address) {
	const client = await s.connect({ localAddress: address });
	client.request(1, { path: '/page', 'sec-fetch-mode': 'navigate' });
	const push = await client.expectPromise('/dep.css');
	const origin = await s.accept();
	origin.respond((await origin.expectRequest('/dep.css')).stream, { fields: { 'content-type': 'text/css', 'cache-control': 'max-age=60' }, body: 'css' });
	assert.equal(String((await client.response(push.promised)).body), 'css');
	origin.respond((await origin.expectRequest('/page')).stream, { fields: { 'content-type': 'text/html' }, body: 'page' });
	await client.response(1);
	client.close();
}

/* The watchdog's questions come between that for the memory and its answer. */
for (const [how, env] of [['', {}], [', while a watchdog asks', { WATCHDOG_USEC: '20000' }]])
	scenario(`what is remembered is known to the next generation, without a remembered-file${how}`, {
		single: false, env, server: { 'status-socket': 'status' }, origin: { push: 'refuse' }, extra: section('preload pages', { remembered: 'apply' }),
	}, async (s) => {
		await s.gate.error(/ ready\n/);
		let origin;
		for (const n of [1, 2, 3])
			origin = await visit(s, origin, `127.0.0.${n}`);
		await until(() => `the lessons are taken: ${s.gate.status()}`, () => / 1 of 1 resource told/.test(s.gate.status()), 60_000);
		await reload(s);
		await isPushed(s, '127.0.0.11');
		await reload(s);
		await isPushed(s, '127.0.0.12');
	});

/* It is asked for what it remembers, and tells nothing. */
scenario('a files process that hangs keeps a reload waiting for a short time only', {
	single: false, server: { 'status-socket': 'status' }, extra: section('preload pages', { remembered: 'apply' }),
}, async (s) => {
	await s.gate.error(/ ready\n/);
	const files = s.gate.counters()['pushgate_process_pid{process="files"}'];
	process.kill(files, 'SIGSTOP');
	fs.appendFileSync(s.gate.config, '[route more]\npath = /more\nanswer = 204\n');
	s.gate.child.kill('SIGHUP');
	await s.gate.error(/reload: the newest of what is remembered of pages is not handed on: the files process has not told in time/);
	await s.gate.error(/reload: generation 2 has taken over/);
	await until('the new generation answers', async () => await get(s, '/more') === 204);
	process.kill(files, 'SIGCONT');
	await s.gate.error(/generation 1 has ended/);
});

/* ---- limits ---- */

// covers: R470
gate('a limit that is used up stays used up', {}, async (s) => {
	const pass = async (most) => {
		let passed = 0;
		for (let i = 0; i < most; i++)
			passed += await get(s) === 200;
		return passed;
	};
	assert.equal(await pass(8), 3);
	await reload(s);
	assert.equal(await pass(8), 0);
	/* A worker that dies and its successor, too. */
	const [worker] = s.gate.workers();
	process.kill(worker, 'SIGKILL');
	await until('it is replaced', () => s.gate.workers().length === 1 && s.gate.workers()[0] !== worker);
	await until('it accepts', () => get(s).then(() => true, () => false));
	assert.equal(await pass(4), 0);
	/* With another number it begins anew. */
	await reload(s, (text) => text.replace('limit-requests = 3/h', 'limit-requests = 4/h'));
	assert.equal(await pass(8), 4);
}, { server: { workers: 1 }, route: { 'limit-requests': '3/h' } });

// covers: R470
gate('requests that are open in the generation before count', {}, async (s) => {
	const response = await new Promise((resolve) => {
		http.get({ port: s.port, host: '127.0.0.1', path: '/slow', agent: false }, resolve);
	});
	assert.equal(await get(s), 429);
	const before = count(s, TAKEN);
	fs.appendFileSync(s.gate.config, '[route more]\npath = /more\nanswer = 204\n');
	s.gate.child.kill('SIGHUP');
	await until('a take-over', () => count(s, TAKEN) > before);
	await until('it serves', async () => await get(s, '/more') === 204);
	assert.equal(await get(s), 429);
	slow.forEach((one) => one.end());
	await new Promise((resolve) => { response.resume().on('end', resolve); });
	await until('its end counts', async () => await get(s) === 200);
}, { server: { workers: 1, 'drain-timeout': '30s' }, route: { 'limit-requests': 'concurrent=1' } });
