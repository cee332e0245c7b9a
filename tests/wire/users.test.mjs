/* SPDX-License-Identifier: MIT */
/*
 * Users on real connections: what clients read without a password, with a right and with a wrong one; the password
 * process, its file and its death; and what comes of 10,000 wrong passwords for those who have the right one.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { BINARY, freePort, scenario, section, until } from '../support/gate.mjs';
import { connect1 } from '../support/http1.mjs';
import { nodeOrigin } from '../support/node.mjs';

const run = promisify(execFile);
const basic = (text) => `Basic ${Buffer.from(text).toString('base64')}`;
/* Of the passwords "secret" and "hunter", with bcrypt: cost 12 takes a quarter of a second. */
const ALICE = 'alice:$2b$12$CCCCCCCCCCCCCCCCCCCCC.a1EUcOw0CgFYsXsu36AAoUgQuzw6ore';
const BOB = 'bob:$2b$04$DDDDDDDDDDDDDDDDDDDDD./G8yeFqOwrkLaRfiIayxru6Hhx3l9he';
const BOB_SLOW = 'bob:$2b$12$DDDDDDDDDDDDDDDDDDDDD.QOSHuEjfwgSV7yMgnbEcKdESbu6ncyK';
const originPort = await freePort();
const isSlow = /asan|cover/.test(BINARY);

const withUsers = (lines, more = {}) => ({
	single: false, listen: { access: 'home' }, server: { 'status-socket': 'status' }, ...more,
	origins: { main: { server: `h2c://127.0.0.1:${originPort}` } },
	prepare: (s) => fs.writeFileSync(path.join(s.dir, 'users'), `${lines.join('\n')}\n`),
	extra: section('access home', { users: 'users', realm: 'a house', ask: 'path=/*', allow: 'user=*' }),
});

/* The origin says what it was sent. */
const echo = (s) => nodeOrigin(s, originPort, (stream, headers) => {
	stream.respond({ ':status': 200, 'x-authorization': headers.authorization ?? 'none', 'x-proxy-authorization': headers['proxy-authorization'] ?? 'none' });
	stream.end('served');
});

/* A client in HTTP/2 from an address of its own. get gives {status, headers}. */
function client(s, localAddress = '127.0.0.1') {
	const session = http2.connect(`http://127.0.0.1:${s.port}`, { createConnection: () => net.connect({ port: s.port, host: '127.0.0.1', localAddress }) });
	session.on('error', () => {});
	s.cleanups.push(() => session.destroy());
	return (authorization, asked = '/') => new Promise((resolve, reject) => {
		const stream = session.request({ ':path': asked, ...(authorization ? { authorization } : {}) });
		let headers;
		stream.on('response', (h) => { headers = h; });
		stream.on('error', reject);
		stream.on('close', () => resolve({ status: headers?.[':status'], headers }));
		stream.resume();
	});
}

/* The process of this name, among the children of the master. */
function child(s, comm) {
	const pids = fs.readFileSync(`/proc/${s.gate.pid}/task/${s.gate.pid}/children`, 'utf8').split(' ').filter(Boolean);
	return pids.find((pid) => {
		try {
			return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === comm;
		} catch {
			return false;
		}
	});
}

// covers: R560 R561 R563
scenario('curl is challenged, shows who it is, and is served; log and status say so', withUsers([ALICE, BOB]), async (s) => {
	await echo(s);
	const get = async (...args) => (await run('curl', ['-s', '-D', '-', '-o', '/dev/null', ...args, `http://127.0.0.1:${s.port}/`])).stdout;
	assert.match(await get(), /^HTTP\/1\.1 401 .*www-authenticate: Basic realm="a house", charset="UTF-8"/is);
	assert.match(await get('--anyauth', '-u', 'bob:hunter'), /^HTTP\/1\.1 401 .*HTTP\/1\.1 200 .*x-authorization: none/is);
	assert.match(await get('-u', 'bob:hunted'), /^HTTP\/1\.1 401 /);
	assert.match(await get('-u', 'nobody:hunter'), /^HTTP\/1\.1 401 /);
	assert.match(await get('--http2-prior-knowledge', '-u', 'bob:hunter'), /^HTTP\/2 200 /);
	const line = await s.gate.access((l) => l.user);
	assert.equal(`${line.user} ${line.status}`, 'bob 200');
	const denied = await s.gate.access((l) => l.status === 401);
	assert.equal(`${denied.outcome} ${denied.user} ${denied.detail}`, 'refused undefined ask');
	await s.gate.access((l) => l.status === 401 && l.detail === 'credentials-refused');
	const text = s.gate.read('access.log') + s.gate.read('error.log');
	for (const secret of ['hunter', 'hunted', 'nobody', Buffer.from('bob:hunter').toString('base64').slice(0, 12)])
		assert.ok(!text.includes(secret), secret);
	assert.match(s.gate.status(), /pushgate_process_up\{process="passwords"\} 1/);
	const counters = s.gate.counters();
	assert.equal(counters.password_hashes, 3);
	assert.equal(counters.passwords_wrong, 2);
});

// covers: R560
scenario('over HTTP/1.1 the connection goes on behind a 401, and a pipelined request waits for its turn', withUsers([BOB]), async (s) => {
	await echo(s);
	const c = await connect1(s.port);
	s.cleanups.push(() => c.close());
	c.request('GET', '/1', [['host', 'a.test']]);
	c.request('GET', '/2', [['host', 'a.test'], ['authorization', basic('bob:hunter')]]);
	c.request('POST', '/3', [['host', 'a.test'], ['authorization', basic('bob:hunter')]], { body: 'x'.repeat(5000) });
	assert.deepEqual([(await c.response()).status, (await c.response()).status, (await c.response()).status], [401, 200, 200]);
});

// covers: R562
scenario('a changed file is noticed; one with a mistake is not used', withUsers([BOB]), async (s) => {
	await echo(s);
	const get = client(s);
	const users = path.join(s.dir, 'users');
	assert.equal((await get(basic('bob:hunter'))).status, 200);
	fs.writeFileSync(users, 'bob:hunter\n');
	await s.gate.error(/\[passwords\] users: \S+users:1: what stands behind the name is no hash .*; the users that were read before stay/);
	assert.equal((await get(basic('bob:hunter'))).status, 200);
	fs.writeFileSync(`${users}.new`, `${BOB.replace('bob', 'carol')}\n`);
	fs.renameSync(`${users}.new`, users);
	await until('bob is gone', async () => (await get(basic('bob:hunter'))).status === 401);
	assert.equal((await get(basic('carol:hunter'))).status, 200);
});

// covers: R562
scenario('a password process that is killed comes back', withUsers([BOB]), async (s) => {
	await echo(s);
	const get = client(s);
	assert.equal((await get(basic('bob:hunter'))).status, 200);
	const first = child(s, 'pushgate-pass');
	process.kill(Number(first), 'SIGKILL');
	await s.gate.error(/the password process was killed by signal 9/);
	const second = await until('another one', () => child(s, 'pushgate-pass'));
	assert.notEqual(second, first);
	/* What was known is forgotten then, since the file may have changed meanwhile. */
	await until('another hash', async () => {
		assert.equal((await get(basic('bob:hunter'))).status, 200);
		return s.gate.counters().password_hashes === 2;
	});
	assert.equal((await get(basic('bob:wrong'))).status, 401);
});

// covers: R560
scenario('in single mode the loop itself hashes', withUsers([BOB], { single: true }), async (s) => {
	await echo(s);
	const get = client(s);
	const answers = await Promise.all([get(basic('bob:hunter')), get(basic('bob:wrong')), get(), get(basic('bob:hunter'))]);
	assert.deepEqual(answers.map((a) => a.status), [200, 401, 401, 200]);
	fs.writeFileSync(path.join(s.dir, 'users'), '');
	await until('nobody is known', async () => (await get(basic('bob:hunter'))).status === 401);
});

// covers: R560 R563
scenario('a user of a forward proxy is challenged with 407, and no origin reads the credentials', {
	...withUsers([BOB]), listen: { mode: 'forward', access: 'home' }, origins: {}, routes: '',
	extra: section('access home', { users: 'users', ask: 'host=*', allow: `user=bob address=127.0.0.0/8 port=${originPort} client=any` }),
}, async (s) => {
	const origin = http.createServer((request, response) => response.end(JSON.stringify(request.headers)));
	await new Promise((resolve) => { origin.listen(originPort, '127.0.0.1', resolve); });
	s.cleanups.push(() => new Promise((resolve) => { origin.close(resolve); origin.closeAllConnections(); }));
	const c = await connect1(s.port);
	s.cleanups.push(() => c.close());
	const get = async (fields) => {
		c.request('GET', `http://127.0.0.1:${originPort}/`, [['host', `127.0.0.1:${originPort}`], ...fields]);
		return c.response();
	};
	const challenged = await get([]);
	assert.equal(challenged.status, 407);
	assert.equal(challenged.headers['proxy-authenticate'], 'Basic realm="pushgate", charset="UTF-8"');
	assert.equal((await get([['authorization', basic('bob:hunter')]])).status, 407);
	const served = await get([['proxy-authorization', basic('bob:hunter')], ['authorization', 'Basic Zm9yIHRoZSBvcmlnaW4=']]);
	assert.equal(served.status, 200);
	const seen = JSON.parse(String(served.body));
	assert.equal(seen.authorization, 'Basic Zm9yIHRoZSBvcmlnaW4=');
	assert.equal(seen['proxy-authorization'], undefined);
	assert.equal((await s.gate.access((l) => l.status === 200)).user, 'bob');
	/* In a URL they are malformed, and not logged either. */
	const other = await connect1(s.port);
	s.cleanups.push(() => other.close());
	other.request('GET', `http://bob:hun@ter@127.0.0.1:${originPort}/`, [['host', `127.0.0.1:${originPort}`]]);
	assert.equal((await other.response()).status, 400);
	assert.equal((await s.gate.access((l) => l.status === 400)).authority, `127.0.0.1:${originPort}`);
});

// covers: R564
scenario('a connection that a user has authenticated at the site carries no other request', {
	...withUsers([BOB]), listen: { mode: 'forward', access: 'home' }, origins: {}, routes: '',
	extra: section('access home', { allow: `address=127.0.0.0/8 port=${originPort}` }),
}, async (s) => {
	const origin = http.createServer((request, response) => response.end(String(request.socket.remotePort)));
	await new Promise((resolve) => { origin.listen(originPort, '127.0.0.1', resolve); });
	s.cleanups.push(() => new Promise((resolve) => { origin.close(resolve); origin.closeAllConnections(); }));
	const c = await connect1(s.port);
	s.cleanups.push(() => c.close());
	const port = async (...authorization) => {
		c.request('GET', `http://127.0.0.1:${originPort}/`, [['host', `127.0.0.1:${originPort}`], ...authorization.map((value) => ['authorization', value])]);
		return String((await c.response()).body);
	};
	const first = await port();
	assert.equal(await port('Basic Zm9yIHRoZSBvcmlnaW4='), first);
	assert.equal(await port('Negotiate YII='), first);
	const second = await port();
	assert.notEqual(second, first);
	assert.equal(await port('Bearer x', 'ntlm TlRMTVNTUAAD'), second);
	assert.notEqual(await port(), second);
});

// covers: R560
scenario('a CONNECT without its password opens nothing, and what stands behind it is no request', {
	...withUsers([BOB]), listen: { mode: 'forward', access: 'home' }, origins: {}, routes: '',
	extra: section('access home', { users: 'users', ask: 'host=*', allow: `user=bob address=127.0.0.0/8 port=${originPort} client=any` }),
}, async (s) => {
	let reached = 0;
	const origin = net.createServer((socket) => { reached++; socket.on('error', () => {}).on('data', (bytes) => socket.end(`echo ${bytes}`)); });
	await new Promise((resolve) => { origin.listen(originPort, '127.0.0.1', resolve); });
	s.cleanups.push(() => new Promise((resolve) => { origin.close(resolve); }));
	const connect = (credentials, behind) => new Promise((resolve) => {
		const socket = net.connect(s.port, '127.0.0.1');
		let text = '';
		socket.setEncoding('latin1').on('data', (more) => { text += more; }).on('error', () => {}).on('close', () => resolve(text));
		const fields = credentials ? `Proxy-Authorization: ${basic(credentials)}\r\n` : '';
		socket.write(`CONNECT 127.0.0.1:${originPort} HTTP/1.1\r\nHost: 127.0.0.1:${originPort}\r\n${fields}\r\n${behind}`);
	});
	const hidden = `GET http://127.0.0.1:${originPort}/hidden HTTP/1.1\r\nHost: 127.0.0.1:${originPort}\r\nProxy-Authorization: ${basic('bob:hunter')}\r\n\r\n`;
	for (const credentials of [null, 'bob:wrong', 'bob:wrong', 'nobody:hunter']) {
		const text = await connect(credentials, hidden);
		assert.match(text, /^HTTP\/1\.1 407 [^]*proxy-authenticate: Basic realm="pushgate"/i);
		assert.equal(text.match(/HTTP\/1\.1/g).length, 1, text);
	}
	assert.equal(reached, 0);
	assert.match(await connect('bob:hunter', 'hello'), /^HTTP\/1\.1 200 [^]*echo hello$/);
	assert.ok(!s.gate.read('access.log').includes('/hidden'));
});

const WRONG = 10000;
const FAILURES = 3;
// covers: R565
scenario(`${WRONG} wrong passwords: at most ${FAILURES} hashes are begun for their address, and honest users are served`, {
	...withUsers([ALICE, BOB_SLOW], { server: { 'status-socket': 'status', 'user-failures': FAILURES } }), timeout: 120000,
}, async (s) => {
	await echo(s);
	const alice = client(s), mallory = client(s, '127.0.0.2'), bob = client(s, '127.0.0.3');
	assert.equal((await alice(basic('alice:secret'))).status, 200);
	const statuses = {};
	let sent = 0;
	const since = Date.now();
	const guess = async () => {
		while (sent < WRONG) {
			const { status } = await mallory(basic(`alice:guess ${sent++}`));
			statuses[status] = (statuses[status] ?? 0) + 1;
		}
	};
	let goesOn = true;
	let served = 0;
	const honest = async () => {
		while (goesOn) {
			assert.equal((await alice(basic('alice:secret'))).status, 200);
			served++;
		}
	};
	const serving = honest();
	const flood = Promise.all(Array.from({ length: 50 }, guess));
	/* One whom the worker does not know yet waits for a few hashes at most: each address has its turn. */
	assert.equal((await bob(basic('bob:hunter'))).status, 200);
	await flood;
	goesOn = false;
	await serving;
	const counters = s.gate.counters();
	const refilled = Math.ceil((Date.now() - since) / 60000 * FAILURES);
	assert.ok(counters.password_hashes <= 2 + FAILURES + refilled, `${counters.password_hashes} hashes`);
	/* On a machine that does too much else, some wait for their hash in vain: 503. */
	const hashed = (statuses[401] ?? 0) + (statuses[503] ?? 0);
	assert.equal(hashed + statuses[429], WRONG);
	/* Who waited in vain has not failed, so that its place is free for another guess. */
	assert.ok((statuses[401] ?? 0) <= FAILURES + refilled, `${statuses[401]} were wrong, ${statuses[503] ?? 0} were not hashed in time`);
	assert.equal(counters['pushgate_end_total{cause="user-failures"}'], statuses[429]);
	/* One after the other, and each hash takes a quarter of a second: had they waited for hashes, it would be one for each. */
	assert.ok(served > 5 * counters.password_hashes, `${served} requests of an honest user during ${counters.password_hashes} hashes`);
	const interrupted = s.gate.workers().reduce((n, pid) => n + Number(/nonvoluntary_ctxt_switches:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]), 0);
	assert.ok(isSlow || counters.loop_passes_over_5ms <= 10 + interrupted, `${counters.loop_passes_over_5ms} long passes`);
	await s.gate.error(/client 127\.0\.0\.2: too many wrong passwords \(user-failures\), answered 429/);
});
