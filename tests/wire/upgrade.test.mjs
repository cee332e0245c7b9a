/* SPDX-License-Identifier: MIT */
/*
 * A binary upgrade: another process takes the sockets over while clients are served. Nothing is refused and nothing cut,
 * counters go on, and a program that does not come up changes nothing.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { after } from 'node:test';
import { BINARY, certs, freePort, samples, scenario, section, until } from '../support/gate.mjs';
import { run } from '../support/programs.mjs';

/* Upgrades to echo, or answers with the path. */
const origin = http.createServer((request, response) => response.end(`from ${request.url}`));
origin.on('upgrade', (request, socket) => {
	socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
	socket.on('error', () => {}).pipe(socket);
});
await new Promise((resolve) => { origin.listen(0, '127.0.0.1', resolve); });
after(() => { origin.closeAllConnections(); origin.close(); });

/* ---- the gate: its program is a link in its folder, which the tests lead elsewhere ---- */

const lead = (s, to) => {
	fs.rmSync(path.join(s.dir, 'pg'), { force: true });
	if (to.startsWith('#!'))
		fs.writeFileSync(path.join(s.dir, 'pg'), to, { mode: 0o755 });
	else
		fs.symlinkSync(to, path.join(s.dir, 'pg'));
};
const status = (s) => spawnSync(BINARY, ['status', path.join(s.dir, 'status')], { encoding: 'utf8' }).stdout;
const masterOf = (s) => Number(status(s).match(/^# pushgate \S+, process (\d+)/)?.[1]);

function write(s, { ports = [s.port], server = {}, servers = [], route = {}, more = '' } = {}) {
	fs.writeFileSync(s.gate.config, section('server', {
		workers: 2, 'access-log': path.join(s.dir, 'access.log'), 'error-log': path.join(s.dir, 'error.log'),
		'drain-timeout': '5s', 'tunnel-drain-timeout': '1h', 'status-socket': path.join(s.dir, 'status'), ...server,
	}) + ports.map((port, i) => section(`listen l${i}`, { address: `127.0.0.1:${port}` })).join('')
		+ section('listen secure', { address: `127.0.0.1:${s.secure}`, certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') })
		+ section('listen local', { address: `unix:${path.join(s.dir, 'web')}` })
		+ section('origin main', { server: [`http://127.0.0.1:${origin.address().port}`, ...servers], ...(servers.length ? { 'health-check': 'connect', 'health-interval': '3s' } : {}) })
		+ section('route main', { origin: 'main', upgrade: 'echo', ...route }) + more);
}

/* Begins with the configuration of write(), and ends the process that serves at the end. */
const gate = (name, body) => scenario(name, {
	single: false, origins: false, server: { workers: 2, 'drain-timeout': '5s', 'status-socket': 'status' }, routes: '[route x]\norigin = x\n',
	extra: section('origin x', { server: 'demo:' }), wrap: ['sh', '-c', 'shift; exec ./pg "$@"', 'sh'], prepare: (s) => lead(s, BINARY),
}, async (s) => {
	const reap = () => {
		for (const pid of s.gate.exit ? [] : [masterOf(s), s.gate.pid])
			try { process.kill(pid, 'SIGKILL'); } catch { /* it has ended */ }
	};
	process.once('exit', reap);
	s.cleanups.push(() => { reap(); process.off('exit', reap); });
	await s.gate.error(/ ready\n/);
	s.secure = await freePort();
	write(s);
	s.gate.child.kill('SIGHUP');
	/* Until it has, its workers may answer. */
	await s.gate.error(/generation 1 has ended/);
	await body(s);
	if (s.ended)
		return;
	process.kill(masterOf(s), 'SIGTERM');
	await s.gate.ended();
});
/* The clients here go on meanwhile: one that is held up for more than a second may lose a connection that drains (RFC 9112 9.5). */
const command = (s) => run(BINARY, ['upgrade', path.join(s.dir, 'status')], { cwd: s.dir });
async function upgrade(s) {
	const before = masterOf(s), result = await command(s);
	assert.equal(result.code, 0, `${result.stderr}\n${s.gate.report()}`);
	const now = masterOf(s);
	assert.notEqual(now, before);
	assert.match(result.stderr, new RegExp(`^process ${now} serves$`, 'm'));
	return now;
}

/* ---- clients ---- */

function get(options, agent = false) {
	return new Promise((resolve) => {
		http.request({ host: '127.0.0.1', path: '/', agent, ...options }, (response) => {
			response.resume().on('end', () => resolve(response.statusCode)).on('error', (e) => resolve(e.code));
		}).on('error', (e) => resolve(e.code)).end();
	});
}

/* A request after the other, on kept connections; the end tells how many, and the first that failed. */
function load(s, port) {
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
	let ends = false;
	const loop = (async () => {
		for (let n = 0; ; n++) {
			if (ends)
				return { n };
			const result = await get({ port, path: '/load' }, agent);
			if (result !== 200)
				return { n, failed: result };
		}
	})();
	return async () => {
		ends = true;
		const result = await loop;
		agent.destroy();
		return result;
	};
}

function tunnel(s) {
	const socket = net.connect(s.port, '127.0.0.1');
	s.cleanups.push(() => socket.destroy());
	const t = { socket, text: '' };
	socket.setEncoding('latin1').on('data', (part) => { t.text += part; }).on('error', () => {}).on('close', () => { t.ended = true; });
	socket.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
	return t;
}

const resume = (s, session) => new Promise((resolve, reject) => {
	const socket = tls.connect({ port: s.secure, host: '127.0.0.1', ca: certs().ca, servername: 'localhost', session, maxVersion: 'TLSv1.2' }, () => {
		resolve({ session: socket.getSession(), reused: socket.isSessionReused() });
		socket.destroy();
	});
	socket.once('error', reject);
});

// covers: R231
gate('clients notice nothing, tunnels go on, sessions are resumed, and counters are exact', async (s) => {
	const ends = [load(s, s.port), load(s, s.port), load(s, s.port)];
	const t = tunnel(s);
	await until('a tunnel', () => t.text.startsWith('HTTP/1.1 101'));
	const { session } = await resume(s), descriptors = [];
	for (let round = 0; round < 3; round++) {
		const now = await upgrade(s);
		assert.ok((await resume(s, session)).reused, 'the session is not resumed');
		assert.equal(await get({ socketPath: path.join(s.dir, 'web') }), 200);
		t.text = '';
		t.socket.write(`round ${round}`);
		await until('its bytes', () => t.text === `round ${round}`);
		assert.equal(masterOf(s), now);
		descriptors.push(s.gate.descriptors(now));
	}
	assert.equal(descriptors[2], descriptors[1], 'descriptors are left open');
	let sum = 3 + 1; /* through the unix socket, and the tunnel */
	for (const end of ends) {
		const { n, failed } = await end();
		assert.equal(failed, undefined, s.gate.report());
		sum += n;
	}
	assert.ok(!t.ended);
	t.socket.destroy();
	await until(() => `${sum} requests; ${status(s).match(/^pushgate_requests_total.*/m)}`, () => samples(status(s)).requests === sum);
	/* What was left to the old processes ends. */
	await until('one master is left', () => Number(fs.readFileSync(`/proc/${masterOf(s)}/stat`, 'utf8').split(') ')[1].split(' ')[1]) !== s.gate.pid);
});

gate('a program that does not come up changes nothing', async (s) => {
	const before = masterOf(s), end = load(s, s.port);
	for (const [program, why, result] of [
		['#!/bin/sh\nexit 1\n', /the new program exited with status 1; the program that runs goes on/, 1],
		['#!/bin/sh\nkill -ABRT $$\n', /the new program was killed by signal 6/, 1],
		['/nowhere/pushgate', /the new program exited with status 1/, 1],
		['#!/bin/sh\nexec env -u PUSHGATE_UPGRADE sleep 0\n', /the new program exited with status 0/, 1],
	]) {
		lead(s, program);
		const r = await command(s);
		assert.equal(r.code, result, r.stderr);
		assert.match(r.stderr, why);
		assert.equal(masterOf(s), before);
	}
	lead(s, BINARY);
	const { n, failed } = await end();
	assert.equal(failed, undefined);
	assert.ok(n > 0);
	assert.equal(await get({ socketPath: path.join(s.dir, 'web') }), 200);
	await upgrade(s);
});

gate('a mistake in the configuration keeps the old program', async (s) => {
	const before = masterOf(s);
	write(s, { more: '[route bad]\norigin = nobody\n' });
	const r = await command(s);
	assert.equal(r.code, 2, r.stderr);
	await until('its mistake', () => /pushgate\.ini:\d+: .*nobody/.test(s.gate.stderr));
	assert.equal(masterOf(s), before);
	for (const where of [{ port: s.port }, { socketPath: path.join(s.dir, 'web') }])
		assert.equal(await get(where), 200);
	write(s);
	await upgrade(s);
	assert.equal(await get({ socketPath: path.join(s.dir, 'web') }), 200);
});

gate('the new program may have other listeners and workers, and a reload follows', async (s) => {
	const more = await freePort();
	write(s, { ports: [s.port, more], server: { workers: 3 } });
	await upgrade(s);
	assert.equal(await get({ port: more }), 200);
	assert.equal(await get({ port: s.port }), 200);
	write(s, { ports: [more], server: { workers: 1 } });
	const master = await upgrade(s);
	await until('the port is closed', async () => await get({ port: s.port }) === 'ECONNREFUSED');
	assert.equal(await get({ port: more }), 200);
	write(s, { ports: [s.port, more], server: { workers: 2 } });
	const reload = spawnSync(BINARY, ['reload', path.join(s.dir, 'status')], { cwd: s.dir, encoding: 'utf8' });
	assert.equal(reload.status, 0, reload.stderr);
	assert.equal(await get({ port: s.port }), 200);
	assert.equal(masterOf(s), master);
});

gate('an upgrade that fails has not moved a client, whatever number of workers it wanted', async (s) => {
	for (const workers of [5, 1]) {
		write(s, { server: { workers, 'error-log': path.join(s.dir, 'nowhere', 'error.log') } });
		const r = await command(s);
		assert.equal(r.code, 2, r.stderr);
		await until('its mistake', () => /pushgate\.ini:\d+: the folder of error-log .*nowhere/.test(s.gate.stderr));
		const answers = await Promise.all(Array.from({ length: 60 }, () => get({ port: s.port })));
		assert.deepEqual(answers, Array(60).fill(200));
	}
	write(s);
	await upgrade(s);
});

const parentOf = (pid) => Number(fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[1]);
const isThere = (pid) => {
	try {
		return fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1][0] !== 'Z';
	} catch {
		return false;
	}
};

gate('the new program is no child of the old one, which ends with it', async (s) => {
	write(s, { server: { 'drain-timeout': '1s' } });
	const old = await upgrade(s);
	const t = tunnel(s);
	await until('a tunnel', () => t.text.startsWith('HTTP/1.1 101'));
	const now = await upgrade(s);
	await until('another parent', () => parentOf(now) !== old);
	assert.ok(isThere(old));
	t.text = '';
	t.socket.write('still here');
	await until('its bytes', () => t.text === 'still here');
	process.kill(now, 'SIGTERM');
	await until('both have ended', () => !isThere(now) && !isThere(old));
	await until('the tunnel has ended', () => t.ended);
	await s.gate.ended();
	s.ended = true;
});

gate('logs that were moved are opened again by the old program too', async (s) => {
	const t = tunnel(s);
	await until('a tunnel', () => t.text.startsWith('HTTP/1.1 101'));
	const now = await upgrade(s), log = path.join(s.dir, 'access.log');
	fs.renameSync(log, `${log}.1`);
	process.kill(now, 'SIGUSR1');
	await until('a log of that name', () => fs.existsSync(log));
	await until('the tunnel in the new log', async () => {
		assert.equal(await get({ port: s.port }), 200);
		if (!t.ended)
			t.socket.destroy();
		return /"status":101/.test(fs.readFileSync(log, 'utf8'));
	});
});

gate('orders for servers go over, and are forgotten with their server', async (s) => {
	const url = `http://127.0.0.1:${origin.address().port}`;
	const order = (what) => spawnSync(BINARY, ['server', '-c', s.gate.config, 'main', url, what], { cwd: s.dir, encoding: 'utf8' });
	assert.equal(order('drain').status, 0);
	assert.equal(await get({ port: s.port }), 503);
	await upgrade(s);
	assert.equal(await get({ port: s.port }), 503);
	assert.match(status(s), new RegExp(`# origin main: server ${url}: drain by command, 0 requests open\n`));
	const ready = order('ready');
	assert.equal(ready.status, 0, ready.stderr);
	assert.equal(await get({ port: s.port }), 200);
	assert.equal(order('weight=7').status, 0);
	write(s);
	fs.writeFileSync(s.gate.config, fs.readFileSync(s.gate.config, 'utf8').replace(url, url.replace('127.0.0.1', 'localhost')));
	await upgrade(s);
	await s.gate.error(new RegExp(`upgrade: origin main: server ${url} is gone, and what was ordered for it is forgotten`));
});

gate('what is known of servers, and what clients have used of their limits, goes over', async (s) => {
	const dead = `127.0.0.1:${await freePort()}`;
	const isDown = () => status(s).includes(`pushgate_server_up{origin="main",server="${dead}"} 0\n`);
	write(s, { server: { workers: 1 }, servers: [`http://${dead}`], route: { 'limit-requests': '2/h' } });
	assert.equal((await run(BINARY, ['reload', path.join(s.dir, 'status')], { cwd: s.dir })).code, 0);
	await until(() => `a server is known as down\n${status(s)}`, isDown);
	const answers = [await get({ port: s.port }), await get({ port: s.port }), await get({ port: s.port })];
	assert.deepEqual(answers, [200, 200, 429]);
	for (let round = 0; round < 2; round++) {
		await upgrade(s);
		assert.ok(isDown(), status(s));
		assert.equal(await get({ port: s.port }), 429);
	}
});

gate('SIGUSR2 does the same', async (s) => {
	const before = masterOf(s);
	process.kill(before, 'SIGUSR2');
	await s.gate.error(/upgrade: process \d+ serves; this one drains/);
	await until('another master', () => masterOf(s) && masterOf(s) !== before);
	assert.equal(await get({ port: s.port }), 200);
});
