/* SPDX-License-Identifier: MIT */
/*
 * Lists of hosts and paths, pages and passwords that change while the configuration stays: the workers that run take them,
 * after a reload or by themselves (watch-files). Connections go on, and the next request meets what is new.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import path from 'node:path';
import { after } from 'node:test';
import { BINARY, freePort, scenario, section, until } from '../support/gate.mjs';

const origin = http.createServer((_, response) => response.end('from the origin'));
/* Answers with the credentials that it has got. */
const proxy = http.createServer((request, response) => response.end(Buffer.from(request.headers['proxy-authorization'].slice('Basic '.length), 'base64')));
for (const server of [origin, proxy])
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
after(() => [origin, proxy].forEach((server) => { server.closeAllConnections(); server.close(); }));
const at = (server) => `127.0.0.1:${server.address().port}`;

/* ---- the kinds of files ---- */

const PAGE = { one: 'one '.repeat(10000), two: 'two '.repeat(12000) };
/* What is asked for, and what comes of each content of the file. */
const KINDS = [
	{ kind: 'the hosts of a route', file: 'hosts.txt', texts: ['a.example\n*.b.example\n', 'c.example\n'], host: 'x.b.example', path: '/', seen: ['308', '200 from the origin'] },
	{ kind: 'the paths of a route', file: 'paths.txt', texts: ['/old\n', '/new\n/newer\n'], host: 'p.example', path: '/newer/x', seen: ['200 from the origin', '308'] },
	{ kind: 'the hosts of a rule', file: 'denied.txt', texts: ['*.evil.example\n', 'good.example\n'], host: 'www.evil.example', path: '/', seen: ['403', '200 from the origin'] },
	{ kind: 'the page of an error', file: 'lost.html', texts: [PAGE.one, PAGE.two], host: 'p.example', path: '/old-and-none', seen: [`404 ${PAGE.one}`, `404 ${PAGE.two}`] },
	{ kind: 'the body of an answer', file: 'robots.txt', texts: ['Disallow: /one', 'Disallow:\n'], host: 'r.example', path: '/robots.txt', seen: ['200 Disallow: /one', '200 Disallow:\n'] },
	{ kind: 'the password of an upstream proxy', file: 'password', texts: ['first\n', 'a longer one\n'], target: 'http://behind.example/', seen: ['200 bob:first', '200 bob:a longer one'] },
];

const put = (s, name, text) => {
	fs.writeFileSync(path.join(s.dir, `${name}.new`), text);
	fs.renameSync(path.join(s.dir, `${name}.new`), path.join(s.dir, name));
};

const config = (s, server) => section('server', {
	workers: 2, user: process.getuid() === 0 ? 'nobody' : undefined, 'access-log': path.join(s.dir, 'access.log'), 'error-log': path.join(s.dir, 'error.log'), 'drain-timeout': '5s',
	'status-socket': path.join(s.dir, 'status'), ...server,
})
	+ section('listen main', { address: `127.0.0.1:${s.port}`, access: 'rules' })
	+ section('access rules', { deny: 'host-file=denied.txt', allow: 'all' })
	+ section('listen forward', { address: `127.0.0.1:${s.forward}`, mode: 'forward' })
	+ section('origin main', { server: `http://${at(origin)}` })
	+ section('origin chained', { server: 'forward:', 'upstream-proxy': `http://bob@${at(proxy)} password-file=password` })
	+ section('route rest', { host: ['*.evil.example', '*.b.example', 'good.example', 'c.example'], origin: 'main', 'limit-requests': '100000/s' })
	+ section('route p', { host: 'p.example', path: ['/old', '/new', '/newer'], origin: 'main' })
	+ section('route hosts', { 'host-file': 'hosts.txt', method: 'GET', redirect: 'https://listed.example/' })
	+ section('route paths', { host: 'p.example', 'path-file': 'paths.txt', method: 'GET', redirect: 'https://listed.example/' })
	+ section('route fixed', { host: 'r.example', answer: '200 robots.txt' })
	+ section('route chained', { origin: 'chained' })
	+ section('errors', { 404: 'lost.html' });

const gate = (name, server, body) => scenario(name, {
	single: false, origins: false, server: { workers: 2, 'status-socket': 'status' }, routes: '[route x]\norigin = x\n', extra: section('origin x', { server: `http://${at(origin)}` }),
}, async (s) => {
	await s.gate.error(/ ready\n/);
	s.forward = await freePort();
	for (const { file, texts } of KINDS)
		put(s, file, texts[0]);
	fs.writeFileSync(s.gate.config, config(s, server));
	s.gate.child.kill('SIGHUP');
	await until(() => s.gate.read('error.log'), () => /generation 1 has ended/.test(s.gate.read('error.log')));
	await until('two workers', () => s.gate.workers().length === 2);
	await body(s);
});

/* ---- clients whose connections stay ---- */

const readAll = (stream) => new Promise((resolve, reject) => {
	let text = '';
	stream.setEncoding('utf8').on('data', (part) => { text += part; }).on('end', () => resolve(text)).on('error', reject);
});
const told = (status, text) => (status === 308 || status === 403 ? `${status}` : `${status} ${text}`);

/* One connection of each kind. */
function clients(s) {
	const agents = [s.port, s.forward].map(() => new http.Agent({ keepAlive: true, maxSockets: 1 }));
	const h2 = http2.connect(`http://127.0.0.1:${s.port}`);
	const gone = [];
	h2.on('goaway', () => gone.push('goaway')).on('close', () => gone.push('close')).on('error', (error) => gone.push(error));
	s.cleanups.push(() => { h2.destroy(); agents.forEach((agent) => agent.destroy()); });
	const sockets = new Map();
	const one = ({ host, path: asked, target }) => new Promise((resolve, reject) => {
		const port = target ? s.forward : s.port;
		const request = http.request({ port, host: '127.0.0.1', path: target ?? asked, agent: agents[target ? 1 : 0], headers: { host: host ?? 'behind.example' } }, async (response) => {
			const { socket } = request;
			if (sockets.has(port) && sockets.get(port) !== socket)
				gone.push('another socket');
			sockets.set(port, socket);
			resolve(told(response.statusCode, await readAll(response)));
		});
		request.on('error', reject).end();
	});
	const two = async ({ host, path: asked }) => {
		const stream = h2.request({ ':path': asked, ':authority': host });
		const [text, headers] = await Promise.all([readAll(stream), new Promise((resolve, reject) => { stream.on('response', resolve).on('error', reject); })]);
		return told(headers[':status'], text);
	};
	return { gone, ask: async (k) => (k.target ? [await one(k)] : [await one(k), await two(k)]), h2 };
}

const sees = async (c, k, expected) => {
	for (const answer of await c.ask(k))
		assert.ok(answer === expected, `${k.kind}: ${answer.slice(0, 80)}`);
};
const count = (s, pattern) => s.gate.read('error.log').match(pattern)?.length ?? 0;
const RENEWED = 'the workers get the new lists, pages and passwords; nothing else has changed';
const command = (s) => spawnSync(BINARY, ['reload', '-c', s.gate.config], { cwd: s.dir, encoding: 'utf8' });
/* So often has each worker taken new lists. */
const taken = (s, times) => until(() => `lists taken ${times} times\n${s.gate.read('error.log')}`, () => s.gate.counters().lists_renewed === 2 * times);

/* ---- what holds ---- */

// covers: R237
for (const [how, server, change] of [
	['a reload', {}, (s) => {
		const { status, stderr } = command(s);
		assert.equal(status, 0, stderr);
		assert.match(stderr, new RegExp(`^${RENEWED}$`, 'm'));
	}],
	['watch-files', { 'watch-files': 'yes' }, () => {}],
])
	gate(`${how} gives changed lists, pages and passwords to the workers that run, and the next request meets them`, server, async (s) => {
		const workers = s.gate.workers(), c = clients(s);
		let times = 0;
		for (const k of KINDS) {
			await sees(c, k, k.seen[0]);
			put(s, k.file, k.texts[1]);
			change(s);
			await taken(s, ++times);
			await sees(c, k, k.seen[1]);
		}
		assert.equal(count(s, new RegExp(RENEWED, 'g')), times);
		assert.deepEqual(s.gate.workers(), workers);
		assert.deepEqual(c.gone, []);
	});

// covers: R237
gate('a mistake in a new list keeps the one before', {}, async (s) => {
	const c = clients(s), denied = KINDS.find((k) => k.file === 'denied.txt');
	put(s, 'denied.txt', 'good.example\nnot a host\n');
	put(s, 'hosts.txt', 'c.example\n');
	const { status, stderr } = command(s);
	assert.equal(status, 2);
	assert.match(stderr, /denied\.txt:2: bad host 'not a host'/);
	await sees(c, denied, denied.seen[0]);
	await sees(c, KINDS[0], KINDS[0].seen[0]);
	assert.equal(count(s, new RegExp(RENEWED, 'g')), 0);
	put(s, 'denied.txt', denied.texts[1]);
	assert.equal(command(s).status, 0);
	await taken(s, 1);
	await sees(c, denied, denied.seen[1]);
	await sees(c, KINDS[0], KINDS[0].seen[1]);
	assert.equal(command(s).status, 0);
	assert.equal(count(s, /nothing is to be done/g), 1);
	assert.deepEqual(c.gone, []);
});

gate('workers that are started again have the new lists, and so has the next generation', {}, async (s) => {
	for (const { file, texts } of KINDS)
		put(s, file, texts[1]);
	assert.equal(command(s).status, 0);
	await taken(s, 1);
	for (const pid of s.gate.workers())
		process.kill(pid, 'SIGKILL');
	await until('both are up again', () => count(s, /is up again/g) === 2);
	for (let i = 0; i < 3; i++) {
		const c = clients(s);
		for (const k of KINDS)
			await sees(c, k, k.seen[1]);
	}
	put(s, 'lost.html', 'three');
	assert.equal(command(s).status, 0);
	await taken(s, 2);
	const page = KINDS.find((k) => k.file === 'lost.html');
	await sees(clients(s), page, '404 three');
	fs.appendFileSync(s.gate.config, section('route more', { host: 'more.example', answer: 204 }));
	put(s, 'lost.html', 'four');
	assert.match(command(s).stderr, /^$/);
	await until('the generation before ends', () => count(s, /generation 2 has ended/g) === 1);
	await sees(clients(s), page, '404 four');
	await sees(clients(s), { ...page, host: 'more.example' }, '204 ');
});

// covers: R237
gate('a slow client gets the page of before as a whole', {}, async (s) => {
	const c = clients(s), page = KINDS.find((k) => k.file === 'lost.html');
	const slow = http2.connect(`http://127.0.0.1:${s.port}`, { settings: { initialWindowSize: 1000 } });
	s.cleanups.push(() => slow.destroy());
	const stream = slow.request({ ':path': page.path, ':authority': page.host });
	await new Promise((resolve, reject) => { stream.on('response', resolve).on('error', reject); });
	for (let i = 1; i <= 3; i++) {
		put(s, 'lost.html', i % 2 ? PAGE.two : 'short');
		assert.equal(command(s).status, 0);
		await taken(s, i);
	}
	await sees(c, page, `404 ${PAGE.two}`);
	assert.equal(await readAll(stream), PAGE.one);
});
