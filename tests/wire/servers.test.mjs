/* SPDX-License-Identifier: MIT */
/* `pushgate server`: drain, down, ready and weight of one server, over reloads, and what is refused. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after } from 'node:test';
import { BINARY, freePort, samples, scenario, section, until } from '../support/gate.mjs';

/* ---- servers: /slow is answered when the test says so ---- */

async function open(name) {
	const own = { name, requests: 0, slow: [], connections: new Set() };
	own.server = http.createServer((request, response) => {
		own.requests++;
		response.setHeader('x-server', name);
		if (request.url === '/slow')
			own.slow.push(response);
		else
			response.end(name);
	}).on('connection', (socket) => {
		own.connections.add(socket);
		socket.on('close', () => own.connections.delete(socket));
	});
	await new Promise((resolve) => { own.server.listen(0, '127.0.0.1', resolve); });
	own.url = `http://127.0.0.1:${own.server.address().port}`;
	return own;
}
const [one, two, three] = await Promise.all(['one', 'two', 'three'].map(open));
after(() => [one, two, three].forEach(({ server }) => { server.closeAllConnections(); server.close(); }));

/* {status, from}; each request on a connection of its own. */
function get(s, asked = '/', method = 'GET') {
	return new Promise((resolve, reject) => {
		http.request({ port: s.port, host: '127.0.0.1', path: asked, method, agent: false }, (response) => {
			response.resume().on('end', () => resolve({ status: response.statusCode, from: response.headers['x-server'] })).on('error', reject);
		}).on('error', reject).end();
	});
}

/* How many of so many requests went to each server. */
async function shares(s, count = 16) {
	const sum = { one: 0, two: 0, three: 0 };
	for (let i = 0; i < count; i++) {
		const { status, from } = await get(s);
		assert.equal(status, 200);
		sum[from]++;
	}
	return sum;
}

/* ---- the gate and the command ---- */

const gate = (name, body, { server = {}, origin = {}, prepare = () => {} } = {}) => scenario(name, {
	prepare, single: false, origins: false, server: { workers: 2, 'status-socket': 'status', 'drain-timeout': '2s', ...server },
	routes: section('route x', { origin: 'shop' }), extra: section('origin shop', { server: [one.url, two.url], balance: 'round-robin', ...origin }),
}, async (s) => {
	await s.gate.error(/ ready\n/);
	await body(s);
});

function order(s, ...args) {
	return new Promise((resolve) => {
		const child = spawn(BINARY, ['server', '-c', s.gate.config, ...args], { cwd: s.dir });
		let said = '';
		child.stdout.on('data', (text) => { said += text; });
		child.stderr.on('data', (text) => { said += text; });
		child.on('close', (status) => resolve({ status, said }));
	});
}
async function ordered(s, ...args) {
	const { status, said } = await order(s, ...args);
	assert.equal(status, 0, said);
	return said;
}

const TAKEN = /reload: generation \d+ has taken over/g;
const count = (s, pattern) => s.gate.read('error.log').match(pattern)?.length ?? 0;
async function reload(s, change) {
	const before = count(s, TAKEN);
	fs.writeFileSync(s.gate.config, change(fs.readFileSync(s.gate.config, 'utf8')));
	s.gate.child.kill('SIGHUP');
	await until(() => `a take-over\n${s.gate.read('error.log')}`, () => count(s, TAKEN) > before);
	await s.gate.error(new RegExp(`generation ${before + 1} has ended`));
}

gate('a server that drains gets no new request, ends those that it has, and is used again when it is ready', async (s) => {
	let sum = await shares(s);
	assert.ok(sum.one > 0 && sum.two > 0);
	const slow = [];
	await until('one has a slow request', () => {
		if (one.slow.length === 0)
			slow.push(get(s, '/slow'));
		return one.slow.length > 0;
	});
	assert.match(await ordered(s, 'shop', one.url, 'drain'), new RegExp(`^origin shop: server ${one.url} gets no new requests; those that are open end; weight 1\n$`));
	sum = await shares(s);
	assert.deepEqual(sum, { one: 0, two: 16, three: 0 });
	const open = one.slow.length;
	await until(() => s.gate.status(), () => s.gate.status().includes(`# origin shop: server ${one.url}: drain by command, ${open} request${open === 1 ? '' : 's'} open\n`));
	assert.equal(samples(s.gate.status())[`pushgate_server_order_requests{origin="shop",server="${one.url}",order="drain"}`], open);
	for (const response of [...one.slow.splice(0), ...two.slow.splice(0)])
		response.end();
	assert.ok((await Promise.all(slow)).every(({ status }) => status === 200));
	/* Its connections end, and then it may be stopped. */
	await until('it has no connection', () => one.connections.size === 0);
	await until('no request is open', () => s.gate.status().includes(`server ${one.url}: drain by command, 0 requests open\n`));
	await ordered(s, 'shop', one.url, 'ready');
	sum = await shares(s);
	assert.ok(sum.one > 0 && sum.two > 0);
	assert.doesNotMatch(s.gate.status(), /by command/);
	assert.match(s.gate.read('error.log'), new RegExp(`by command: origin shop: server ${one.url} gets no new requests`));
});

gate('requests at a server that is taken down go to another one', async (s) => {
	const slow = [];
	await until('one has a slow request', () => {
		slow.push(get(s, '/slow'));
		return one.slow.length > 0;
	});
	await ordered(s, 'shop', one.url, 'down');
	await until('its requests have moved', () => one.connections.size === 0 && two.slow.length === slow.length);
	two.slow.splice(0).forEach((response) => response.end());
	assert.ok((await Promise.all(slow)).every(({ status, from }) => status === 200 && from === 'two'));
	one.slow.splice(0);
	assert.deepEqual(await shares(s), { one: 0, two: 16, three: 0 });
	/* It is no failure of the server: nothing ejects it. */
	assert.doesNotMatch(s.gate.status(), /ejected for/);
	await ordered(s, 'shop', one.url, 'ready');
	assert.ok((await shares(s)).one > 0);
}, { origin: { 'retry-budget': '100%' } });

gate('without a server that is in use requests get 503 at once, and the command says so', async (s) => {
	await ordered(s, 'shop', one.url, 'drain');
	assert.match(await ordered(s, 'shop', two.url, 'down'), /\norigin shop: no server gets requests now\n/);
	assert.equal((await get(s)).status, 503);
	const line = await s.gate.access((l) => l.status === 503);
	assert.equal(line.detail, 'all servers are out of use by command');
	await ordered(s, 'shop', two.url, 'ready');
	assert.deepEqual(await shares(s), { one: 0, two: 16, three: 0 });
});

gate('a weight holds until the configured one is given', async (s) => {
	assert.match(await ordered(s, 'shop', one.url, 'weight=9'), /; weight 9 by command\n/);
	let sum = await shares(s, 40);
	assert.ok(sum.one >= 32 && sum.two >= 2, JSON.stringify(sum));
	assert.equal(samples(s.gate.status())[`pushgate_server_order_weight{origin="shop",server="${one.url}"}`], 9);
	assert.match(s.gate.status(), new RegExp(`# origin shop: server ${one.url} has weight 9 by command\n`));
	await ordered(s, 'shop', one.url, 'weight=1');
	sum = await shares(s, 40);
	assert.ok(sum.one >= 16 && sum.two >= 16, JSON.stringify(sum));
	assert.doesNotMatch(s.gate.status(), /by command/);
}, { server: { workers: 1 } });

gate('orders hold over reloads, for a worker that is started again too, and are forgotten with their server', async (s) => {
	await ordered(s, 'shop', one.url, 'drain');
	await ordered(s, 'shop', two.url, 'weight=3');
	await reload(s, (text) => text.replace(`server = ${one.url}\n`, `server = ${three.url}\nserver = ${one.url}\n`).replace('workers = 2', 'workers = 3'));
	let sum = await shares(s, 24);
	assert.equal(sum.one, 0);
	assert.ok(sum.two > sum.three && sum.three > 0, JSON.stringify(sum));
	assert.match(s.gate.status(), new RegExp(`# origin shop: server ${one.url}: drain by command, 0 requests open\n# origin shop: server ${two.url} has weight 3 by command\n`));
	for (const worker of s.gate.workers())
		process.kill(worker, 'SIGKILL');
	await until('others serve', () => get(s).then(() => true, () => false));
	assert.equal((await shares(s)).one, 0);
	await ordered(s, 'shop', one.url, 'ready');
	await ordered(s, 'shop', three.url, 'down');
	assert.equal((await shares(s)).three, 0);
	await reload(s, (text) => text.replace(`server = ${three.url}\n`, ''));
	await s.gate.error(new RegExp(`reload: origin shop: server ${three.url} is gone, and what was ordered for it is forgotten`));
	await reload(s, (text) => text.replace(`server = ${one.url}\n`, `server = ${three.url}\nserver = ${one.url}\n`));
	sum = await shares(s, 24);
	assert.ok(sum.one > 0 && sum.three > 0, JSON.stringify(sum));
});

/* Its addresses are servers that come when the name is looked up. */
const NAMED = one.url.replace('127.0.0.1', 'app.test');
gate('an order for a name holds for its addresses, also when they come after a reload', async (s) => {
	await until('the name is known', async () => (await shares(s)).one > 0);
	await ordered(s, 'shop', 'app.test', 'drain');
	assert.equal((await shares(s)).one, 0);
	await reload(s, (text) => text.replace(`server = ${two.url}\n`, `server = ${three.url}\nserver = ${two.url}\n`));
	await until('the name is known', () => s.gate.status().includes(`server ${NAMED}: drain by command`));
	for (let i = 0; i < 3; i++)
		assert.equal((await shares(s)).one, 0);
	await ordered(s, 'shop', NAMED, 'weight=8');
	await ordered(s, 'shop', NAMED, 'ready');
	const sum = await shares(s, 40);
	assert.ok(sum.one > 20, JSON.stringify(sum));
}, { server: { workers: 1, 'hosts-file': 'hosts' }, origin: { server: [NAMED, two.url] }, prepare: (s) => fs.writeFileSync(path.join(s.dir, 'hosts'), '127.0.0.1 app.test\n') });

gate('an order says nothing of servers that requests name', async (s) => {
	const named = (name) => new Promise((resolve, reject) => {
		const host = `${name}:${new URL(three.url).port}`;
		http.get({ port: s.proxy, host: '127.0.0.1', agent: false, path: `http://${host}/`, headers: { host } }, (response) => {
			response.resume().on('end', () => resolve({ status: response.statusCode, from: response.headers['x-server'] }));
		}).on('error', reject);
	});
	assert.deepEqual(await named('a.test'), { status: 200, from: 'three' });
	await ordered(s, 'shop', one.url, 'drain');
	for (const name of ['a.test', 'b.test', '127.0.0.1'])
		assert.deepEqual(await named(name), { status: 200, from: 'three' });
}, {
	server: { workers: 1, 'hosts-file': 'hosts' }, prepare: async (s) => {
		fs.writeFileSync(path.join(s.dir, 'hosts'), '127.0.0.1 a.test\n127.0.0.1 b.test\n');
		s.proxy = await freePort();
		s.options.extra += section('listen proxy', { address: `127.0.0.1:${s.proxy}`, mode: 'forward', access: 'all' })
			+ section('access all', { allow: `address=127.0.0.0/8 port=${new URL(three.url).port}` });
	},
});

gate('a list that is too long for an answer is cut', async (s) => {
	const { status, said } = await order(s, 'shp', one.url, 'drain');
	assert.equal(status, 2, said);
	assert.match(said, /^there is no such origin; there are: shop (?:long-\S+ )+\S*\.\.\.\n$/);
	assert.ok(said.length < 4096);
}, { prepare: (s) => {
	for (let i = 0; i < 120; i++)
		s.options.extra += section(`origin long-${i}-${'x'.repeat(30)}`, { server: 'demo:' });
} });

gate('an order for what is not there is refused, and the answer names what is', async (s) => {
	const refused = async (pattern, ...args) => {
		const { status, said } = await order(s, ...args);
		assert.equal(status, 2, said);
		assert.match(said, pattern);
	};
	await refused(/^there is no such origin; there are: shop\n$/, 'shp', one.url, 'drain');
	await refused(new RegExp(`^origin shop: it has no such server; it has: ${one.url} ${two.url}\n$`), 'shop', three.url, 'drain');
	await refused(new RegExp(`^origin shop: this names several servers; write the URL of one of: ${one.url} ${two.url}\n$`), 'shop', '127.0.0.1', 'drain');
	await refused(/write drain, ready, down or weight=1 to weight=256/, 'shop', one.url, 'stop');
	await refused(/write drain, ready, down or weight=1 to weight=256/, 'shop', one.url, 'weight=257');
	await refused(/an origin, a server and an order are needed/, 'shop', one.url);
	await refused(/unexpected argument 'now'/, 'shop', one.url, 'drain', 'now');
	assert.doesNotMatch(s.gate.status(), /by command/);
	/* As much as tells it from others. */
	await ordered(s, 'shop', one.url.replace('http://', ''), 'drain');
	assert.match(await ordered(s, 'shop', `${two.url}/`, 'weight=2'), /; weight 2 by command\n/);
});

scenario('a pushgate without a master takes no orders', { server: { 'status-socket': 'status' } }, async (s) => {
	const { status, said } = await order(s, 'main', 'http://127.0.0.1:1', 'drain');
	assert.equal(status, 1);
	assert.match(said, /takes no orders for servers: it runs with --single/);
});
