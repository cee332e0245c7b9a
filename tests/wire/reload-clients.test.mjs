/* SPDX-License-Identifier: MIT */
/*
 * Clients that go on all the time while the configuration changes again and again, and processes that die meanwhile: no
 * request fails, and nothing that is long ends before its time.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import { LEAVE_MS, freePort, section, until } from '../support/gate.mjs';
import { TAKEN, change, count, gate, get, haveEnded, one, open, run, statusSocket, two, urlOf, workersAre, write } from '../support/reloads.mjs';

/* ---- requests without pause; `failures` gets a text for each that fails ---- */

async function askInHttp1(s, failures) {
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
	let done = 0;
	for (let last = Date.now(); !s.stops; last = Date.now()) {
		const r = await get(s.port, '/1', agent);
		done++;
		if (r.status === 200 && /^begin (one|two) \/1$/.test(r.text))
			continue;
		if (r.status || r.fresh !== false || Date.now() - last < LEAVE_MS)
			failures.push(`HTTP/1.1: ${JSON.stringify(r)}`);
	}
	agent.destroy();
	return done;
}

function ask(session) {
	return new Promise((resolve) => {
		let text = '';
		try {
			const stream = session.request({ ':path': '/2' });
			stream.setEncoding('latin1').on('data', (part) => { text += part; }).on('error', (e) => resolve(e.message)).on('close', () => resolve(text));
		} catch (e) {
			resolve(e.code);
		}
	});
}
async function askInHttp2(s, failures) {
	let session, done = 0;
	while (!s.stops) {
		if (!session || session.closed || session.destroyed) {
			session = http2.connect(`http://127.0.0.1:${s.port}`);
			session.on('error', (e) => failures.push(`HTTP/2: ${e.code}`));
		}
		const results = await Promise.all(Array.from({ length: 4 }, () => ask(session)));
		for (const r of results) {
			/* Node has heard of the GOAWAY, and sends this request nowhere. */
			if (/REFUSED_STREAM|ERR_HTTP2_GOAWAY_SESSION|ERR_HTTP2_INVALID_SESSION/.test(r)) {
				session.close();
				continue;
			}
			done++;
			if (!/^begin (one|two) \/2$/.test(r))
				failures.push(`HTTP/2: ${r}`);
		}
	}
	session?.close();
	return done;
}

/* ---- what is long ---- */

/* An echo behind an upgrade, and behind CONNECT. */
const echo = await open(net.createServer((c) => c.on('error', () => {}).once('data', (first) => {
	if (String(first).startsWith('GET')) {
		c.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
		c.pipe(c);
	} else {
		c.write(first);
		c.pipe(c);
	}
})));
/* Numbers its events. */
const events = await open(http.createServer((request, response) => {
	let n = 0;
	response.writeHead(200, { 'content-type': 'text/event-stream' });
	const timer = setInterval(() => response.write(`data: ${n++}\n\n`), 30);
	response.on('close', () => clearInterval(timer));
}));
const close = (server) => { server.close(); server.closeAllConnections?.(); };

/* A tunnel or a stream: {text, socket, ended}. */
function begin(s, port, head) {
	const c = { text: '', socket: net.connect(port, '127.0.0.1') };
	c.socket.setEncoding('latin1').on('data', (text) => { c.text += text; }).on('error', (e) => { c.ended = e.code; }).on('close', () => { c.ended ??= 'closed'; });
	s.cleanups.push(() => c.socket.destroy());
	c.socket.write(head);
	return c;
}
async function tunnel(s, port, head, answer) {
	const c = begin(s, port, head);
	await until(() => `a tunnel, not ${c.text}${c.ended}`, () => c.text.startsWith(answer) && c.text.endsWith('\r\n\r\n'));
	c.text = '';
	return c;
}
async function tunnelsOf(s) {
	const at = `127.0.0.1:${echo.address().port}`;
	return [
		...await Promise.all([1, 2].map(() => tunnel(s, s.port, 'GET /ws HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n', 'HTTP/1.1 101'))),
		await tunnel(s, s.forward, `CONNECT ${at} HTTP/1.1\r\nhost: ${at}\r\n\r\n`, 'HTTP/1.1 200'),
	];
}
async function expectEcho(tunnels, text) {
	for (const t of tunnels)
		t.socket.write(text);
	for (const t of tunnels) {
		await until(() => `the echo ${text}, not ${t.text}, ended: ${t.ended}`, () => t.text === text || t.ended);
		assert.equal(t.ended, undefined, text);
		t.text = '';
	}
}
const numbers = (c) => [...c.text.matchAll(/data: (\d+)\n/g)].map((m) => Number(m[1]));
function expectEvents(c) {
	assert.equal(c.ended, undefined);
	assert.deepEqual(numbers(c), numbers(c).map((_, i) => i), 'no event is lost');
}

/* ---- changes of workers, listeners, rules, routes and origins ---- */

const ROUNDS = 20;
async function parts(s, i) {
	const forward = section('listen forward', { address: `127.0.0.1:${s.forward}`, mode: 'forward', access: 'lab' })
		+ section('access lab', { allow: 'client=127.0.0.1 address=127.0.0.0/8 port=1024-65535' }) + section('origin out', { server: 'forward:' })
		+ section('route out', { origin: 'out' });
	return {
		workers: 1 + i % 3, origin: i % 2 ? two : one, ports: i % 4 < 2 ? [s.port] : [s.port, s.more],
		server: { 'drain-timeout': '100s', 'tunnel-drain-timeout': '1h' },
		more: `${forward}${section('origin echo', { server: urlOf(echo) })}${section('route ws', { path: '/ws', origin: 'echo', upgrade: 'echo' })}`
			+ section('origin events', { server: urlOf(events) }) + section('route events', { path: '/events', origin: 'events' })
			+ (i % 3 ? section(`route r${i}`, { path: `/r${i}`, redirect: '/1' }) + section(`push p${i}`, { action: i % 3 === 1 ? 'drop' : 'forward' }) : ''),
	};
}

gate('requests, tunnels and event streams go on over many changes', async (s) => {
	s.cleanups.push(() => [echo, events].forEach(close));
	s.more = await freePort();
	s.forward = await freePort();
	await change(s, await parts(s, 0));
	const failures = [];
	const clients = [askInHttp1(s, failures), askInHttp1(s, failures), askInHttp2(s, failures)];
	const early = await tunnelsOf(s);
	const stream = begin(s, s.port, 'GET /events HTTP/1.1\r\nhost: a\r\n\r\n');
	await until('an event', () => numbers(stream).length > 0);
	let late = [];
	for (let i = 1; i <= ROUNDS; i++) {
		await change(s, await parts(s, i));
		if (i % 4 >= 2)
			assert.equal((await get(s.more)).status, 200, 'the listener that has come');
		if (i === ROUNDS / 2)
			late = await tunnelsOf(s);
		/* Three generations have tunnels or are the newest: the others end, before there are too many. */
		await until('older generations end', () => count(s, TAKEN) - count(s, /has ended/g) < 6);
		await expectEcho([...early, ...late], `round ${i}`);
	}
	s.stops = true;
	const done = (await Promise.all(clients)).reduce((a, b) => a + b);
	assert.deepEqual(failures, []);
	assert.ok(done > 3 * ROUNDS, `${done} requests`);
	await expectEcho([...early, ...late], 'the end');
	expectEvents(stream);
	assert.equal(count(s, / is ended, with the connections/g), 0);
	for (const c of [...early, ...late, stream])
		c.socket.destroy();
	await haveEnded(s, ROUNDS + 1);
	await workersAre(s, 1 + ROUNDS % 3);
	assert.equal(s.gate.counters().requests_open, 0);
});

/* ---- deaths ---- */

/* The master's children whose names begin so. */
function children(s, name) {
	const all = fs.readFileSync(`/proc/${s.gate.pid}/task/${s.gate.pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
	return all.filter((pid) => {
		try {
			return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith(`pushgate-${name}`);
		} catch {
			return false;
		}
	});
}
function kill(pid) {
	try {
		process.kill(pid, 'SIGKILL');
	} catch (e) {
		assert.equal(e.code, 'ESRCH');
	}
}

gate('processes that are killed during reloads cost their own connections alone', async (s) => {
	fs.writeFileSync(path.join(s.dir, 'users'), 'bob:$2b$04$DDDDDDDDDDDDDDDDDDDDD./G8yeFqOwrkLaRfiIayxru6Hhx3l9he\n');
	s.more = await freePort();
	const next = (i) => ({
		origin: i % 2 ? two : one, server: { 'remembered-file': path.join(s.dir, 'pages') },
		more: `# ${i}\n[preload p]\nremembered = propose\n${section('access a', { users: 'users', ask: 'all', allow: 'user=*' })}`
			+ section('listen guarded', { address: `127.0.0.1:${s.more}`, access: 'a' }),
	});
	await change(s, next(0));
	const kinds = ['w', 'files', 'pass', 'log'];
	for (let i = 1; i <= 12; i++) {
		const kind = kinds[i % 4], old = children(s, kind), begun = count(s, /comes up/g);
		write(s, next(i));
		const result = run(s, 'reload', statusSocket(s));
		await until('it comes up', () => count(s, /comes up/g) > begun);
		/* One that serves, or one that comes up. */
		const fresh = () => children(s, kind).find((pid) => !old.includes(pid));
		kill(i % 3 === 0 || kind === 'log' ? old[0] : await until(`another ${kind}`, fresh));
		const { status, stderr } = await result;
		assert.ok(status === 0 || status === 1, `${status}: ${stderr}`);
		if (status === 1)
			assert.match(stderr, /was killed by signal 9|exited with status/);
		await until('it serves', async () => (await get(s.port)).status === 200);
	}
	write(s, next(100));
	await until('a reload succeeds', async () => (await run(s, 'reload', statusSocket(s))).status === 0);
	await until('the newest serves', async () => /one/.test((await get(s.port)).text));
	/* Nothing is left over of those that were given up, and nothing is missing. */
	for (const [kind, n] of [['w', 2], ['files', 1], ['pass', 1], ['log', 1]])
		await until(() => `${n} of ${kind}, not ${children(s, kind)}`, () => children(s, kind).length === n);
	for (let i = 0; i < 20; i++)
		assert.equal((await get(s.port)).status, 200);
	assert.equal(s.gate.counters().requests_open, 0);
});
