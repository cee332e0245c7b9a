/* SPDX-License-Identifier: MIT */
/*
 * SIGHUP: another configuration takes over while clients are served. What is under way ends well, what is wrong changes
 * nothing, and counters go on.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { BINARY, freePort, section, sleep, until } from '../support/gate.mjs';
import { KEPT, SAME, TAKEN, change, count, gate, get, haveEnded, lastReload, one, open, refused, reload, serves, two, workersAre, write } from '../support/reloads.mjs';

// covers: R231
gate('another origin and another route are used after a reload', async (s) => {
	assert.match((await get(s.port)).text, /one/);
	await change(s, { origin: two, more: section('route old', { path: '/old', redirect: '/new' }) });
	await s.gate.error(/generation 1 has ended/);
	assert.match((await get(s.port)).text, /two/);
	assert.equal((await get(s.port, '/old')).status, 308);
});

gate('listeners come and go', async (s) => {
	const more = await freePort();
	await change(s, { ports: [s.port, more] });
	assert.equal((await get(more)).status, 200);
	assert.equal((await get(s.port)).status, 200);
	await change(s, { ports: [more] });
	await until('the port is closed', () => refused(s.port));
	assert.equal((await get(more)).status, 200);
	await change(s, { ports: [s.port] });
	assert.equal((await get(s.port)).status, 200);
	await until('the port is closed', () => refused(more));
});

gate('there may be more workers, and fewer', async (s) => {
	for (const workers of [4, 1, 3]) {
		await change(s, { workers });
		await haveEnded(s, count(s, TAKEN));
		await workersAre(s, workers);
		for (let i = 0; i < 20; i++)
			assert.equal((await get(s.port)).status, 200);
	}
});

gate('a configuration with a mistake changes nothing, and the log says where it is', async (s) => {
	const before = s.gate.workers().join();
	write(s, {});
	fs.appendFileSync(s.gate.config, '[route bad]\norigin = nowhere\n');
	await reload(s, KEPT);
	const line = fs.readFileSync(s.gate.config, 'utf8').split('\n').indexOf('origin = nowhere') + 1;
	await s.gate.error(new RegExp(`reload: .*pushgate\\.ini:${line}: .*nowhere`));
	assert.equal(s.gate.workers().join(), before);
	assert.match((await get(s.port)).text, /one/);
	await change(s, { origin: two });
	await serves(s, 'two');
});

gate('an address that is taken changes nothing', async (s) => {
	const other = await open(net.createServer());
	s.cleanups.push(() => other.close());
	const before = s.gate.workers().join();
	await change(s, { ports: [s.port, other.address().port], origin: two }, KEPT);
	await s.gate.error(/reload: .*pushgate\.ini:\d+: .* is in use by/);
	assert.equal(s.gate.workers().join(), before);
	assert.match((await get(s.port)).text, /one/);
});

gate('workers that do not come up change nothing', async (s) => {
	let before, [serving, next] = [one, two];
	/* Under load a worker may be killed too late: then its generation has taken over, and it is tried again. */
	for (let taken = 0; count(s, KEPT) === 0; taken++) {
		if (taken > 0) {
			[serving, next] = [next, serving];
			await haveEnded(s, taken);
			await workersAre(s, 3);
		}
		before = s.gate.workers();
		write(s, { workers: 3, origin: next });
		s.gate.child.kill('SIGHUP');
		const fresh = await until('a new worker', () => s.gate.workers().find((pid) => !before.includes(pid)));
		process.kill(fresh, 'SIGKILL');
		await until('the result', () => count(s, KEPT) > 0 || count(s, TAKEN) > taken);
	}
	await s.gate.error(/reload: the new configuration is not used, and all stays as it was: worker \d \(process \d+\) was killed by signal 9/);
	await until('the others have gone', () => s.gate.workers().join() === before.join());
	assert.match((await get(s.port)).text, serving === one ? /one/ : /two/);
	for (let i = 0; i < 20; i++) /* the sockets of those that never came have no clients */
		assert.equal((await get(s.port)).status, 200);
	await reload(s);
	await serves(s, next === one ? 'one' : 'two');
});

gate('the same configuration changes nothing', async (s) => {
	const before = s.gate.workers().join();
	await reload(s, SAME);
	assert.equal(s.gate.workers().join(), before);
	fs.appendFileSync(s.gate.config, '# another byte\n');
	await reload(s);
});

gate('a request that is under way is answered to its end', async (s) => {
	const slow = get(s.port, '/slow?wait=1500');
	await until('it is under way', () => s.gate.counters().requests_open === 1);
	await change(s, { origin: two });
	await serves(s, 'two');
	const { status, text } = await slow;
	assert.equal(status, 200);
	assert.equal(text, 'begin one /slow?wait=1500');
});

gate('counters go on over reloads, and each rule, route and whole is counted by its name', async (s) => {
	const limited = section('route few', { path: '/few', origin: 'main', 'limit-requests': '1/m burst 1' });
	let sent = 0;
	const ask = async (n, asked = '/') => {
		for (let i = 0; i < n; i++, sent++)
			await get(s.port, asked);
	};
	await ask(3);
	await change(s, { more: limited });
	await haveEnded(s, 1);
	await ask(4, '/few');
	await until('all are counted', () => s.gate.counters().requests === sent);
	const refusals = s.gate.counters()['pushgate_route_limited_total{route="few",verdict="refused"}'];
	assert.ok(refusals > 0);
	/* Another route before it, and then it is gone: its count is neither moved nor lost. */
	await change(s, { more: section('route other', { path: '/other', origin: 'main' }) + limited });
	await change(s, { workers: 1 });
	await ask(2);
	await haveEnded(s, 3);
	await until('all are counted', () => s.gate.counters().requests === sent);
	assert.equal(s.gate.counters()['pushgate_route_limited_total{route="few",verdict="refused"}'], refusals);
	assert.equal(s.gate.counters()['pushgate_route_limited_total{route="other",verdict="refused"}'], undefined);
	assert.equal(s.gate.counters().requests_open, 0);
});

gate('a signal that comes while a generation comes up is obeyed after it', async (s) => {
	write(s, { origin: two });
	s.gate.child.kill('SIGHUP');
	await s.gate.error(/generation 2 comes up/);
	write(s, { origin: one, workers: 1 });
	s.gate.child.kill('SIGHUP');
	await s.gate.error(/generation 3 has taken over/);
	await haveEnded(s, 2);
	await workersAre(s, 1);
	assert.match((await get(s.port)).text, /one/);
});

gate('a unix socket outlives reloads, and its file goes with its listener', async (s) => {
	const file = path.join(s.dir, 'web');
	const ask = () => new Promise((resolve) => {
		http.get({ socketPath: file, path: '/', agent: false }, (r) => { r.resume().on('end', () => resolve(r.statusCode)); }).on('error', (e) => resolve(e.code));
	});
	const more = `[listen u]\naddress = unix:${file}\n`;
	await change(s, { more });
	assert.equal(await ask(), 200);
	const { ino } = fs.statSync(file);
	await change(s, { workers: 3, more });
	assert.equal(await ask(), 200);
	assert.equal(fs.statSync(file).ino, ino);
	await change(s);
	await until('the file is gone', async () => await ask() === 'ENOENT');
});

gate('the oldest of too many generations is ended', async (s) => {
	/* Holds each response until it is let go. */
	const held = [], texts = [];
	const holding = await open(http.createServer((request, response) => {
		response.write('begin ');
		held.push({ generation: request.headers['x-generation'], letGo: () => response.end(request.url) });
	}));
	s.cleanups.push(() => { holding.closeAllConnections(); holding.close(); });
	for (let n = 2; n <= 10; n++) {
		await change(s, { workers: 1, origin: holding, server: { 'drain-timeout': '60s' }, route: { 'request-set': `x-generation: ${n}` } });
		if (n === 2)
			await haveEnded(s, 1);
		/* The one before may accept a last connection: then another one is needed. */
		while (n < 10 && held.at(-1)?.generation !== String(n)) {
			const before = held.length;
			const text = get(s.port, `/${n}`);
			await until('it is under way', () => held.length > before);
			texts.push({ generation: held.at(-1).generation, text });
		}
	}
	await s.gate.error(/reload: generation 2 is ended, with the connections that it still has: there are 9 generations/);
	await s.gate.error(/generation 2 has ended/);
	assert.equal(count(s, / is ended, with the connections/g), 1);
	for (const h of held)
		h.letGo();
	for (const { generation, text } of texts)
		if (generation === '2')
			assert.doesNotMatch((await text).text ?? '', /^begin \/\d$/);
		else
			assert.match((await text).text, /^begin \/\d$/);
	await haveEnded(s, 9);
	await workersAre(s, 1);
});

gate('the end comes while a generation comes up and another drains', async (s) => {
	const slow = get(s.port, '/slow?wait=1000');
	await until('it is under way', () => s.gate.counters().requests_open === 1);
	await change(s, { origin: two });
	write(s, { workers: 4 });
	s.gate.child.kill('SIGHUP');
	await s.gate.error(/generation 3 comes up/);
	s.gate.child.kill('SIGTERM');
	assert.equal((await slow).text, 'begin one /slow?wait=1000');
	await s.gate.ended();
	/* Under load it may have taken over before the signal came. */
	assert.match(s.gate.read('error.log'), /all stays as it was: pushgate ends|generation 3 has taken over/);
});

/* Whether a worker drains, or has ended. */
function drains(pid) {
	try {
		return fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('draining');
	} catch {
		return true;
	}
}

const REQUEST = 'GET /late HTTP/1.1\r\nhost: a\r\n\r\n';
/* A connection, what it has received, and whether it has ended. */
function raw(s, port) {
	const c = { text: '', socket: net.connect(port, '127.0.0.1') };
	c.socket.setEncoding('latin1').on('data', (text) => { c.text += text; }).on('end', () => { c.ended = true; }).on('error', (e) => { c.error = e.code; });
	s.cleanups.push(() => c.socket.destroy());
	return c;
}

gate('a client that is connected and quiet may send one more request while the old workers drain', async (s) => {
	const fresh = raw(s, s.port), used = raw(s, s.port), quiet = raw(s, s.port);
	used.socket.write(REQUEST);
	await until('an answer', () => used.text.endsWith('0\r\n\r\n'));
	used.text = '';
	await until('they are accepted', () => s.gate.counters()['pushgate_connections_open{side="client"}'] >= 3);
	const before = s.gate.workers();
	await change(s, { origin: two });
	await until('they drain', () => before.every(drains));
	for (const c of [fresh, used])
		c.socket.write(REQUEST);
	for (const c of [fresh, used]) {
		await until('it ends', () => c.ended ?? c.error);
		assert.match(c.text, /^HTTP\/1\.1 200 .*connection: close.*one \/late/is);
	}
	await until('who stays quiet is let go', () => quiet.ended ?? quiet.error);
	assert.equal(quiet.text, '');
	assert.equal(quiet.error, undefined);
});

gate('a client whose response is under way while the old workers drain may send one more request, and is told so', async (s) => {
	const c = raw(s, s.port);
	c.socket.write(REQUEST.replace('/late', '/slow?wait=1500'));
	await until('the head', () => /begin /.test(c.text));
	assert.doesNotMatch(c.text, /connection: close/i);
	const before = s.gate.workers();
	await change(s, { origin: two });
	await until('they drain', () => before.every(drains));
	c.socket.write(REQUEST);
	await until('it ends', () => c.ended ?? c.error);
	assert.equal(c.error, undefined);
	assert.match(c.text, /^HTTP\/1\.1 200 .*one \/slow\?wait=1500\r\n0\r\n\r\nHTTP\/1\.1 200 .*connection: close.*one \/late\r\n0\r\n\r\n$/is);
});

gate('who waits to be accepted when a listener goes is served', async (s) => {
	const gone = await freePort();
	await change(s, { workers: 1, ports: [s.port, gone] });
	await haveEnded(s, 1);
	const [worker] = s.gate.workers();
	process.kill(worker, 'SIGSTOP');
	const clients = Array.from({ length: 5 }, () => raw(s, gone));
	await Promise.all(clients.map((c) => once(c.socket, 'connect')));
	for (const c of clients)
		c.socket.write(REQUEST);
	await change(s, { workers: 1 });
	process.kill(worker, 'SIGCONT');
	for (const c of clients) {
		await until('an end', () => c.ended ?? c.error);
		assert.match(c.text, /^HTTP\/1\.1 200 .*one \/late/is);
	}
	await until('the port is closed', () => refused(gone));
});

/* The parts of a configuration whose route leads to an origin of tunnels; n makes it another one. */
async function echoParts(s, server) {
	const echo = net.createServer((c) => c.on('error', () => {}).once('data', () => {
		c.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
		c.pipe(c);
	}));
	await open(echo);
	s.cleanups.push(() => echo.close());
	return (n) => ({
		origin: { address: () => echo.address() }, server: { 'drain-timeout': '1s', 'tunnel-drain-timeout': '1h', ...server },
		more: `# ${n}\n`, route: { upgrade: 'echo' },
	});
}
async function tunnel(s) {
	const c = raw(s, s.port);
	c.socket.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
	await until('a tunnel', () => c.text.startsWith('HTTP/1.1 101'));
	return c;
}

gate('a tunnel outlives its generation for tunnel-drain-timeout, but not pushgate', async (s) => {
	const parts = await echoParts(s);
	await change(s, parts(1));
	await haveEnded(s, 1);
	const c = await tunnel(s);
	const slow = raw(s, s.port);
	await change(s, parts(2));
	await sleep(4000);
	c.text = '';
	c.socket.write('still here');
	await until('its bytes', () => c.text === 'still here');
	await until('the quiet one is let go', () => slow.ended);
	assert.match(s.gate.status(), /# worker \d of generation 2: process \d+, up/);
	s.gate.child.kill('SIGTERM');
	await until('its end', () => c.ended ?? c.error);
	await s.gate.ended();
});

gate('of more generations than max-generations the oldest is ended', async (s) => {
	const parts = await echoParts(s, { 'max-generations': 2 });
	await change(s, parts(1));
	await haveEnded(s, 1);
	const first = await tunnel(s), old = s.gate.workers();
	await change(s, parts(2));
	await until('the new generation alone accepts', () => old.every(drains));
	const second = await tunnel(s);
	assert.equal(count(s, /is ended, with the connections/g), 0);
	await change(s, parts(3));
	await s.gate.error(/reload: generation 2 is ended, with the connections that it still has: there are 3 generations\n/);
	await until('the end of its tunnel', () => first.ended ?? first.error);
	await haveEnded(s, 2);
	second.text = '';
	second.socket.write('still here');
	await until('bytes of the other tunnel', () => second.text === 'still here');
	assert.equal(count(s, /is ended, with the connections/g), 1);
});

gate('the status names the last reload, and the first line of what was wrong', async (s) => {
	const is = async (result, generation, note) => {
		const last = await lastReload(s);
		assert.deepEqual(last.successful, [{ labels: {}, value: result === 'refused' ? 0 : 1 }]);
		assert.deepEqual(last.at.map((sample) => sample.labels), [{}]);
		assert.ok(Math.abs(last.at[0].value - Date.now() / 1000) < 60);
		assert.match(last.note, new RegExp(`^${result} at \\d{4}-\\d\\d-\\d\\dT[0-9:]+Z, generation ${generation} serves${note}$`));
	};
	assert.deepEqual(await lastReload(s), { note: undefined, at: undefined, successful: undefined });
	await change(s, { origin: two });
	await is('done', 2, '');
	await reload(s, SAME);
	await is('same', 2, '');
	/* A warning comes before the mistake. */
	write(s, { more: '[origin unused]\nserver = http://127.0.0.1:1\n[route bad]\npath = /b\norigin = no\u0001where\n' });
	await reload(s, KEPT);
	await is('refused', 2, ': .*pushgate\\.ini:\\d+: .*no\\?where.*');
	await change(s, { workers: 1 });
	await is('done', 3, '');
});

gate('a change that the logger does not take part in is named', async (s) => {
	await change(s, { server: { sandbox: 'log' } });
	await s.gate.error(/reload: .*pushgate\.ini:\d+: the logger keeps the sandbox that it has until it is started again/);
	await change(s, { server: { 'access-log': path.join(s.dir, 'other.log') } });
	await s.gate.error(/reload: .*pushgate\.ini:\d+: another access-log needs a restart; .*access\.log stays in use/);
});

gate('a files process that hangs is killed while its generation drains', async (s) => {
	const kept = { 'remembered-file': path.join(s.dir, 'pages') };
	const slow = () => get(s.port, '/slow?wait=4000');
	await change(s, { workers: 1, server: { ...kept, 'drain-timeout': '60s' }, more: section('preload pages', { remembered: 'propose' }) });
	await haveEnded(s, 1);
	const text = slow();
	await until('it is under way', () => s.gate.counters().requests_open === 1);
	const files = s.gate.counters()['pushgate_process_pid{process="files"}'];
	process.kill(files, 'SIGSTOP');
	await change(s, { workers: 1, server: { ...kept, 'drain-timeout': '61s' }, more: section('preload pages', { remembered: 'propose' }) });
	await s.gate.error(/the files process did not end in time and is killed: what was remembered since the last save is lost/);
	assert.equal((await text).text, 'begin one /slow?wait=4000');
	await haveEnded(s, 2);
});

const command = (s, ...args) => spawnSync(BINARY, ['reload', ...args], { cwd: s.dir, encoding: 'utf8' });

gate('the command waits for the result, and says what is wrong', async (s) => {
	write(s, { origin: two });
	assert.equal(command(s, '-c', s.gate.config).status, 0);
	await haveEnded(s, 1);
	await serves(s, 'two');
	const same = command(s, path.join(s.dir, 'status'));
	assert.equal(same.status, 0);
	assert.match(same.stderr, /^nothing is to be done: /);
	write(s, { more: section('access a', { users: 'nowhere/users' }) + section('listen p', { address: `127.0.0.1:${await freePort()}`, access: 'a' }) });
	const bad = command(s, path.join(s.dir, 'status'));
	assert.equal(bad.status, 2, bad.stderr);
	assert.match(bad.stderr, /pushgate\.ini:\d+: users .*nowhere/);
	assert.match(bad.stderr, /all stays as it was/);
	const other = await open(net.createServer());
	s.cleanups.push(() => other.close());
	write(s, { ports: [s.port, other.address().port] });
	const taken = command(s, path.join(s.dir, 'status'));
	assert.equal(taken.status, 1, taken.stderr);
	assert.match(taken.stderr, /is in use/);
	assert.match((await get(s.port)).text, /two/);
});

gate('without a status-socket the command sends a signal to the process that systemd names', async (s) => {
	write(s, { origin: two, server: { 'status-socket': null } });
	const reloadFor = (MAINPID) => spawnSync(BINARY, ['reload', '-c', s.gate.config], { encoding: 'utf8', env: { ...process.env, MAINPID } });
	const none = reloadFor(undefined);
	assert.equal(none.status, 2, none.stderr);
	assert.match(none.stderr, /sets no status-socket/);
	for (const wrong of ['', '0', '1', '-1', 'x'])
		assert.equal(reloadFor(wrong).status, 1, wrong);
	assert.equal(count(s, /comes up/g), 0);
	const sent = reloadFor(String(s.gate.pid));
	assert.equal(sent.status, 0, sent.stderr);
	assert.match(sent.stderr, /no status-socket to ask for the result; the error log has it/);
	await s.gate.error(/generation 2 has taken over/);
	await s.gate.error(/another status-socket needs a restart/);
	fs.appendFileSync(s.gate.config, 'nonsense\n');
	assert.equal(reloadFor(String(s.gate.pid)).status, 2, 'a mistake is found before');
});
