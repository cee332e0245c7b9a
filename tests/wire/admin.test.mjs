/* SPDX-License-Identifier: MIT */
/*
 * A listener with mode = admin: /livez and /readyz in each version of HTTP, over TLS and a unix socket; who gets them, and
 * what they say before a drain, before a server works, and while the configuration is reloaded.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import { BINARY, certs, freePort, scenario, section, sleep, until } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';

/* {status, headers, text}, or {error}. where: options of http.request. */
function ask(where, asked = '/readyz', { method = 'GET', headers = {}, agent = false } = {}) {
	return new Promise((resolve) => {
		const request = (where.ca ? https : http).request({ host: '127.0.0.1', ...where, path: asked, method, headers, agent }, (response) => {
			let text = '';
			response.setEncoding('utf8').on('data', (part) => { text += part; })
				.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }))
				.on('error', (error) => resolve({ error: error.code }));
		});
		request.on('error', (error) => resolve({ error: error.code, fresh: !request.reusedSocket })).end();
	});
}

function ask2(url, asked, { method = 'GET', headers = {}, ...options } = {}) {
	return new Promise((resolve, reject) => {
		const session = http2.connect(url, options);
		session.on('error', reject);
		const stream = session.request({ ':path': asked, ':method': method, ...headers });
		const got = { text: '' };
		stream.on('response', (fields) => { got.status = fields[':status']; got.headers = fields; }).on('error', reject);
		stream.setEncoding('utf8').on('data', (part) => { got.text += part; })
			.on('close', () => { session.close(); resolve(got); });
	});
}

/* The gate serves at s.port, and its pages at s.admin. */
const gate = (name, { server, more = '', prepare = () => {}, ...options }, body) => scenario(name, {
	routes: section('route main', { origin: 'main', host: ['www.a.test', 'localhost'] }),
	...options,
	server: { workers: 2, 'status-socket': 'status', ...server },
	prepare: async (s) => {
		s.admin = await freePort();
		await prepare(s);
		s.options.extra = section('listen admin', { address: `127.0.0.1:${s.admin}`, mode: 'admin' }) + (typeof more === 'function' ? more(s) : more);
	},
}, body);

// covers: R234
gate('the pages are the same over each kind of connection, and nothing else is there', {
	single: false,
	more: (s) => section('listen tls', { address: `127.0.0.1:${s.secure}`, mode: 'admin', certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') })
		+ section('listen local', { address: `unix:${s.dir}/admin.sock`, mode: 'admin' }),
	prepare: async (s) => { s.secure = await freePort(); },
}, async (s) => {
	const kinds = {
		'http/1.1': (asked, o) => ask({ port: s.admin }, asked, o),
		h2c: (asked, o) => ask2(`http://127.0.0.1:${s.admin}`, asked, o),
		'http/1.1 over TLS': (asked, o) => ask({ port: s.secure, ca: certs().ca, host: 'localhost' }, asked, o),
		h2: (asked, o) => ask2(`https://localhost:${s.secure}`, asked, { ...o, ca: certs().ca }),
		unix: (asked, o) => ask({ socketPath: `${s.dir}/admin.sock`, host: undefined }, asked, o),
	};
	for (const [kind, get] of Object.entries(kinds)) {
		for (const page of ['/livez', '/readyz', '/readyz?verbose=1']) {
			const { status, headers, text } = await get(page);
			assert.equal(status, 200, kind);
			assert.equal(text, 'ok\n', kind);
			assert.equal(headers['content-type'], 'text/plain', kind);
			assert.equal(headers['cache-control'], 'no-store', kind);
		}
		const head = await get('/readyz', { method: 'HEAD' });
		assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', '3'], kind);
		const post = await get('/livez', { method: 'POST' });
		assert.deepEqual([post.status, post.headers.allow], [405, 'GET, HEAD'], kind);
		for (const other of ['/nothing', '/livez/', '/metrics/', '/%6civez'])
			assert.equal((await get(other)).status, 404, `${kind} ${other}`);
	}
	const host = (name) => ask({ port: s.admin }, '/readyz', { headers: { host: name } });
	for (const name of ['192.0.2.1', '[::1]:9', 'localhost', 'www.a.test:1'])
		assert.equal((await host(name)).status, 200, name);
	for (const name of ['evil.test', 'localhost.evil.test', '127.0.0.1.evil.test', 'a.test'])
		assert.equal((await host(name)).status, 403, name);
	assert.equal((await ask2(`http://127.0.0.1:${s.admin}`, '/readyz', { headers: { ':authority': 'evil.test' } })).status, 403);
	/* A name of the certificate is one of ours. */
	assert.equal((await ask({ port: s.secure, ca: certs().ca, servername: 'b.test' }, '/readyz', { headers: { host: 'b.test' } })).status, 200);
	assert.equal((await host('b.test')).status, 403);
	for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, { origin: 'http://evil.test' }, { origin: 'null' }])
		for (const got of [await ask({ port: s.admin }, '/readyz', { headers }), await ask2(`http://127.0.0.1:${s.admin}`, '/readyz', { headers })]) {
			assert.equal(got.status, 403, JSON.stringify(headers));
			assert.equal(got.headers['access-control-allow-origin'], undefined);
			assert.equal(got.headers['x-content-type-options'], 'nosniff');
		}
	for (const headers of [{ 'sec-fetch-site': 'none' }, { 'sec-fetch-site': 'same-origin', origin: `http://127.0.0.1:${s.admin}` }])
		assert.equal((await ask({ port: s.admin }, '/readyz', { headers })).status, 200, JSON.stringify(headers));
	/* The other listeners have routes as ever. */
	const client = await s.connect();
	client.request(1, { path: '/readyz', authority: 'www.a.test' });
	const origin = await s.accept();
	await origin.expectRequest('/readyz');
	const line = await s.gate.access((l) => l.listen === 'admin' && l.path === '/readyz' && l.status === 200);
	assert.equal(line.outcome, 'complete');
	assert.equal(line.detail, 'admin-page');
});

/* The status of the answer to these bytes; 0: there is none. */
function askRaw(port, text) {
	return new Promise((resolve) => {
		let got = '';
		const socket = net.connect({ port, host: '127.0.0.1' }, () => socket.write(text));
		const end = () => { socket.destroy(); resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(got)?.[1] ?? 0)); };
		socket.setEncoding('latin1').on('data', (part) => {
			got += part;
			if (got.includes('\r\n\r\n'))
				end();
		}).on('end', end).on('error', end);
	});
}

// covers: R241
gate('whatever way a request names its host and where it comes from', {}, async (s) => {
	const ours = `127.0.0.1:${s.admin}`;
	const get = (...fields) => `GET /livez HTTP/1.1\r\n${fields.map((f) => `${f}\r\n`).join('')}\r\n`;
	const from = (...fields) => get(`Host: ${ours}`, ...fields);
	for (const [text, status] of [
		[get(), 400], [get('Host:'), 400], [get(`Host: ${ours}`, `Host: ${ours}`), 400], [get(`Host: ${ours}`, 'Host: evil.test'), 400],
		[get(`Host: ${ours}, evil.test`), 400], [get(`Host: a@${ours}`), 400], [get('Host: [::1%25lo]'), 400],
		[get('Host: LOCALHOST:1'), 200], [get('Host: localhost.'), 200], [get('Host: [::1]:9'), 200],
		[get('Host: 127.1'), 403], [get('Host: 2130706433'), 403], [get('Host: 127.0.0.1.'), 403], [get('Host: 127.0.0.1.nip.test'), 403], [get('Host: [::ffff:127.0.0.1]'), 403],
		[get('Host: evil.test', `X-Forwarded-Host: ${ours}`), 403], [get('Host: evil.test', `Forwarded: host="${ours}"`), 403],
		['GET /livez HTTP/1.0\r\n\r\n', 200], ['GET /livez HTTP/1.0\r\nHost: evil.test\r\n\r\n', 403],
		[`GET http://${ours}/livez HTTP/1.1\r\nHost: ${ours}\r\n\r\n`, 200],
		['GET http://evil.test/livez HTTP/1.1\r\nHost: evil.test\r\n\r\n', 403],
		[`GET http://evil.test/livez HTTP/1.1\r\nHost: ${ours}\r\n\r\n`, 400], [`GET http://${ours}/livez HTTP/1.1\r\nHost: evil.test\r\n\r\n`, 400],
		[`GET https://${ours}/livez HTTP/1.1\r\nHost: ${ours}\r\n\r\n`, 421],
		[`CONNECT ${ours} HTTP/1.1\r\nHost: ${ours}\r\n\r\n`, 501], [`OPTIONS * HTTP/1.1\r\nHost: ${ours}\r\n\r\n`, 404],
		[`POST /livez HTTP/1.1\r\nHost: ${ours}\r\nContent-Length: 1\r\n\r\nx`, 405],
		[from('Range: bytes=0-0'), 200], [from('Connection: upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: a'), 200],
		[from('Sec-Fetch-Site: none'), 200], [from(`Origin: http://${ours}`, 'Sec-Fetch-Site: same-origin'), 200],
		[from('Sec-Fetch-Site: same-site'), 403], [from('Sec-Fetch-Site:'), 403], [from('Origin: null'), 403], [from('Origin:'), 403],
		[from(`Origin: http://${ours}/`), 403], [from(`Origin: http://localhost:${s.admin}`), 403], [from('Origin: http://127.0.0.1'), 403],
		/* Each of several. */
		[from('Sec-Fetch-Site: none', 'Sec-Fetch-Site: cross-site'), 403], [from(`Origin: http://${ours}`, 'Origin: http://evil.test'), 403],
	])
		assert.equal(await askRaw(s.admin, text), status, text);
});

gate('other addresses are for those whom the rules allow', {
	more: (s) => section('listen any', { address: `*:${s.any}`, mode: 'admin', access: 'probes' })
		+ section('access probes', { allow: ['client=127.0.0.1 path=/readyz host=pushgate.internal', 'client=127.0.0.1 path=/livez'] }),
	prepare: async (s) => { s.any = await freePort(); },
}, async (s) => {
	const get = (asked, host, localAddress = '127.0.0.1') => ask({ port: s.any, localAddress }, asked, { headers: { host } });
	assert.equal((await get('/readyz', 'pushgate.internal')).status, 200);
	assert.equal((await get('/readyz', '127.0.0.1')).status, 403);
	assert.equal((await get('/livez', '127.0.0.1')).status, 200);
	assert.equal((await get('/livez', '127.0.0.1', '127.0.0.2')).status, 403);
	/* Without rules it is a mistake. */
	const file = path.join(s.dir, 'open.ini');
	fs.writeFileSync(file, section('listen a', { address: '*:9', mode: 'admin' }) + section('origin o', { server: 'demo:' }) + section('route r', { origin: 'o' }));
	const check = spawnSync(BINARY, ['check', '-c', file], { encoding: 'utf8' });
	assert.equal(check.status, 2);
	assert.match(check.stdout + check.stderr, /open\.ini:2: .*\[listen a\] has mode = admin and listens for other machines on \*:9, but it has no access/);
});

for (const single of [false, true]) {
	const who = single ? 'the only process' : 'a master with two workers';
	// covers: R235
	gate(`${who} goes on for drain-delay after SIGTERM, and says so at /readyz`, {
		single, server: { 'drain-delay': `${2 * SCALE}s`, 'drain-timeout': '5s' },
		origins: { main: { server: 'demo:' } }, routes: undefined,
	}, async (s) => {
		const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
		s.cleanups.push(() => agent.destroy());
		assert.equal((await ask({ port: s.admin }, '/readyz', { agent })).status, 200);
		const told = Date.now();
		s.gate.child.kill('SIGTERM');
		await until('/readyz says 503', async () => (await ask({ port: s.admin })).status === 503);
		const { text, status } = await ask({ port: s.admin }, '/readyz', { agent });
		assert.deepEqual([status, text], [503, '503 Service Unavailable: draining\n']);
		assert.equal((await ask({ port: s.admin }, '/livez')).status, 200);
		assert.match(s.gate.status(), /^# draining in \d+ s \(drain-delay\)$/m);
		await s.gate.error(/draining in \d+ s \(drain-delay\)/);
		let served = 0;
		for (;;) {
			const answer = await ask({ port: s.port }, '/');
			if (answer.error)
				break;
			assert.equal(answer.status, 200);
			served++;
			await sleep(20);
		}
		assert.ok(served > 5, `${served} served`);
		assert.ok(Date.now() - told >= 2000 * SCALE, `the port closed after ${Date.now() - told} ms`);
		await until('the port of the pages closes', async () => (await ask({ port: s.admin })).error === 'ECONNREFUSED');
		await s.gate.ended();
	});

	gate(`a second SIGTERM begins the drain of ${who} at once`, {
		single, server: { 'drain-delay': '1h', 'drain-timeout': '5s' },
	}, async (s) => {
		const { client } = await s.open({ request: { authority: 'www.a.test' } });
		s.gate.child.kill('SIGTERM');
		await until('/readyz says 503', async () => (await ask({ port: s.admin })).status === 503);
		if (!single) {
			/* There is no reload any more. */
			const reload = spawnSync(BINARY, ['reload', '-c', s.gate.config], { cwd: s.dir, encoding: 'utf8' });
			assert.equal(reload.status, 1);
			assert.equal(reload.stderr, 'pushgate ends\n');
			const upgrade = spawnSync(BINARY, ['upgrade', '-c', s.gate.config], { cwd: s.dir, encoding: 'utf8' });
			assert.deepEqual([upgrade.status, upgrade.stderr], [1, 'pushgate ends\n']);
			assert.doesNotMatch(s.gate.read('error.log'), /upgrade: process/);
		}
		s.gate.child.kill('SIGTERM');
		await until('the port closes', async () => (await ask({ port: s.admin })).error === 'ECONNREFUSED');
		/* It drains, and does not end at once. */
		assert.equal(s.gate.exit, null);
		client.rst(1, 'CANCEL');
		await s.gate.ended();
	});
}

// covers: R236
gate('with ready-when = servers it waits for the first server that passes its check', {
	single: false, server: { 'ready-when': 'servers' },
	prepare: async (s) => {
		s.late = await freePort();
		s.options.origins = { main: { server: `http://127.0.0.1:${s.late}`, config: { 'health-check': '/up', 'health-interval': '200ms' } } };
	},
}, async (s) => {
	const before = await ask({ port: s.admin });
	assert.deepEqual([before.status, before.text], [503, '503 Service Unavailable: no server has passed its health check yet\n']);
	assert.equal((await ask({ port: s.admin }, '/livez')).status, 200);
	const line = await s.gate.access((l) => l.path === '/readyz');
	assert.deepEqual([line.status, line.detail], [503, 'no server has passed its health check yet']);
	const server = http.createServer((request, response) => response.end('up'));
	await new Promise((resolve) => { server.listen(s.late, '127.0.0.1', resolve); });
	await until('it is ready', async () => (await ask({ port: s.admin })).status === 200);
	/* From here on servers do not count, in whichever worker. */
	server.closeAllConnections();
	await new Promise((resolve) => { server.close(resolve); });
	await s.gate.error(/fails its checks/);
	for (let i = 0; i < 20; i++)
		assert.equal((await ask({ port: s.admin })).status, 200);
});

gate('a reload is not seen at /readyz; the listener comes and goes with it', { single: false, origins: { main: { server: 'demo:' } } }, async (s) => {
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
	s.cleanups.push(() => agent.destroy());
	let stops = false;
	const failures = [];
	const poll = async (options) => {
		let count = 0;
		for (; !stops; count++) {
			const r = await ask({ port: s.admin }, '/readyz', options);
			/* A connection that is kept may be closed just then. */
			if (r.status !== 200 && r.fresh !== false)
				failures.push(JSON.stringify(r));
			await sleep(2);
		}
		return count;
	};
	const polls = [poll({}), poll({ agent })];
	const written = fs.readFileSync(s.gate.config, 'utf8');
	const reload = (text) => {
		fs.writeFileSync(s.gate.config, text);
		return new Promise((resolve) => {
			const done = (s.gate.read('error.log').match(/has taken over/g) ?? []).length;
			s.gate.child.kill('SIGHUP');
			until('it has taken over', () => (s.gate.read('error.log').match(/has taken over/g) ?? []).length > done).then(resolve);
		});
	};
	for (const workers of [3, 1, 2, 2, 4])
		await reload(`${written.replace(/workers = \d+/, `workers = ${workers}`)}# ${Math.random()}\n`);
	stops = true;
	assert.ok((await Promise.all(polls)).every((n) => n > 10));
	assert.deepEqual(failures, []);
	await reload(written.slice(0, written.indexOf('[listen admin]')));
	await until('the port closes', async () => (await ask({ port: s.admin })).error === 'ECONNREFUSED');
	await reload(written);
	assert.equal((await ask({ port: s.admin })).status, 200);
});
