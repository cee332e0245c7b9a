/* SPDX-License-Identifier: MIT */
/*
 * curl, h2load and what an operator does: downloads and uploads, memory while a client is slow,
 * load over TLS without a failed request, a worker killed under load, mistakes in the configuration.
 *
 * PUSHGATE_TEST_FULL=1 runs the load in full.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http2 from 'node:http2';
import path from 'node:path';
import { test } from 'node:test';
import { BINARY, certs, freePort, scenario, section, until, workDir } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';
import { daemon, run } from '../support/programs.mjs';

const SANITIZED = /asan/.test(BINARY) || !!process.env.PUSHGATE_SANITIZED;
const MIB = 1 << 20;

/* A node origin: /sum gives the digest of an upload, /mbN N megabytes, else the path. */
async function start(s, port) {
	const server = http2.createServer();
	const sessions = new Set();
	server.on('session', (session) => { sessions.add(session); session.on('error', () => {}); session.on('close', () => sessions.delete(session)); });
	server.on('stream', (stream, headers) => {
		stream.on('error', () => {});
		const asked = headers[':path'];
		if (asked === '/sum') {
			const hash = createHash('sha256');
			stream.on('data', (d) => hash.update(d));
			stream.on('end', () => { stream.respond({ ':status': 200 }); stream.end(hash.digest('hex')); });
			return;
		}
		const size = Number(asked.match(/^\/mb(\d+)/)?.[1] ?? 0) * MIB;
		stream.respond({ ':status': 200, ...(size ? { 'content-length': size } : {}) });
		if (!size)
			return void stream.end(asked);
		const chunk = Buffer.alloc(65536, 'p');
		let left = size;
		const more = () => {
			while (left > 0 && !stream.destroyed) {
				left -= chunk.length;
				if (!stream.write(chunk))
					return void stream.once('drain', more);
			}
			stream.end();
		};
		more();
	});
	await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
	s.cleanups.push(() => new Promise((resolve) => {
		for (const session of sessions)
			session.destroy();
		server.close(resolve);
	}));
}
async function gate(name, options, body) {
	const port = await freePort();
	scenario(name, { ...options, origins: { main: { server: `h2c://127.0.0.1:${port}` } } }, async (s) => {
		await start(s, port);
		await body(s);
	});
}
const tlsArgs = () => ['--cacert', certs().file('ca.pem')];
const plainArgs = ['--http2-prior-knowledge'];

for (const [what, tls] of [['over TLS', true], ['in cleartext with prior knowledge', false]]) {
	const url = (s) => `${tls ? 'https' : 'http'}://localhost:${s.port}`;
	const args = () => ['-sS', '-4', ...(tls ? tlsArgs() : plainArgs)];
	await gate(`curl ${what}: page, HEAD, query, large download`, { tls }, async (s) => {
		const page = await run('curl', [...args(), '-i', `${url(s)}/hello?x=1`]);
		assert.match(page.stdout, /^HTTP\/2 200/);
		assert.ok(page.stdout.endsWith('/hello?x=1'));
		assert.match((await run('curl', [...args(), '-I', `${url(s)}/mb1`])).stdout, /content-length: 1048576/);
		const big = await run('curl', [...args(), `${url(s)}/mb20`]);
		assert.equal(big.raw.length, 20 * MIB);
		assert.equal(big.raw.findIndex((b) => b !== 0x70), -1);
		/* curl 7.88 multiplexes in parallel over TLS alone. */
		if (!tls)
			return;
		const many = await run('curl', [...args(), '--parallel', `${url(s)}/p[1-50]`]);
		assert.equal(many.stdout.match(/\/p\d+/g).length, 50);
	});
	await gate(`curl ${what}: uploads arrive to the byte`, { tls }, async (s) => {
		const file = path.join(s.dir, 'upload');
		const bytes = Buffer.from(Array.from({ length: 5 * MIB }, (_, i) => (i * 37 + (i >> 9)) & 255));
		fs.writeFileSync(file, bytes);
		const digest = createHash('sha256').update(bytes).digest('hex');
		assert.equal((await run('curl', [...args(), '-T', file, `${url(s)}/sum`])).stdout, digest);
		assert.equal((await run('curl', [...args(), '-H', 'expect:', '--data-binary', `@${file}`, `${url(s)}/sum`])).stdout, digest);
		assert.equal((await run('curl', [...args(), '-H', 'transfer-encoding: chunked', '-T', '-', `${url(s)}/sum`], { input: bytes })).stdout, digest);
		assert.equal((await run('curl', [...args(), '--limit-rate', '4M', '-T', file, `${url(s)}/sum`])).stdout, digest);
	});
}

await gate('curl with --limit-rate against 100 MB: the memory of the gate stays low', { tls: true, timeout: 60000 }, async (s) => {
	const url = `https://localhost:${s.port}`;
	await run('curl', ['-sS', '-4', ...tlsArgs(), `${url}/warm`]);
	const idle = s.gate.rss();
	let most = 0;
	const timer = setInterval(() => { most = Math.max(most, s.gate.rss()); }, 50);
	await run('curl', ['-sS', '-4', ...tlsArgs(), '--limit-rate', '4M', '-o', '/dev/null', `${url}/mb100`], { limit: 5000, signal: 'SIGTERM' });
	clearInterval(timer);
	if (!SANITIZED)
		assert.ok(most - idle < 16 * MIB, `${((most - idle) / MIB).toFixed(1)} MiB above idle`);
	await s.gate.access((l) => l.path === '/mb100' && l.outcome !== 'complete');
});

const requests = process.env.PUSHGATE_TEST_FULL ? 200000 : Number(process.env.PUSHGATE_TEST_REQUESTS ?? 20000);
{
	const port = await freePort();
	scenario(`h2load -n ${requests} -c 50 -m 50 over TLS: no failed request`, {
		tls: true, timeout: 120000, origins: { main: { server: `h2c://127.0.0.1:${port}` } },
	}, async (s) => {
		fs.writeFileSync(path.join(s.dir, 'index.html'), Buffer.alloc(1024, 'x'));
		await daemon(s, 'nghttpd', ['--no-tls', '--address=127.0.0.1', `--htdocs=${s.dir}`, String(port)], port);
		const { stdout } = await run('h2load', ['-n', String(requests), '-c', '50', '-m', '50', `https://localhost:${s.port}/index.html`], { limit: 100000 * SCALE });
		assert.match(stdout, new RegExp(`${requests} done, ${requests} succeeded, 0 failed, 0 errored, 0 timeout`), stdout);
		assert.match(stdout, new RegExp(`status codes: ${requests} 2xx, 0 3xx, 0 4xx, 0 5xx`));
		assert.equal(s.gate.accessLines().filter((l) => l.status !== 200).length, 0);
	});
}

/* ---- processes ---- */
await gate('a worker killed under load: only its own streams fail, it is back, new connections succeed throughout', {
	single: false, server: { workers: 2 }, timeout: 90000,
}, async (s) => {
	const before = await until('two workers', () => s.gate.workers().length === 2 && s.gate.workers());
	let stop = false;
	let served = 0;
	let refused = 0;
	let broken = 0;
	const ask = (session) => new Promise((resolve) => {
		const stream = session.request({ ':path': '/x' });
		let text = '';
		stream.on('data', (d) => { text += d; });
		stream.on('error', () => {});
		stream.on('close', () => resolve(text === '/x'));
	});
	/* Each has a connection of its own that it opens anew when it is lost. */
	const load = Array.from({ length: 20 }, async () => {
		while (!stop) {
			const session = http2.connect(`http://127.0.0.1:${s.port}`);
			let connected = false;
			session.on('error', () => {});
			session.on('connect', () => { connected = true; });
			for (let i = 0; i < 50 && !stop && !session.destroyed; i++)
				if (await ask(session))
					served++;
				else
					break;
			if (!connected)
				refused++;
			else if (session.destroyed && !stop)
				broken++;
			session.destroy();
		}
	});
	await until('load', () => served > 500);
	const other = await s.connect();
	for (let round = 0; round < 3; round++) {
		const [victim] = s.gate.workers();
		process.kill(victim, 'SIGKILL');
		await until('it is back', () => s.gate.workers().length === 2 && !s.gate.workers().includes(victim), 15000 * SCALE);
		const from = served;
		await until('served on', () => served > from + 200);
	}
	stop = true;
	await Promise.all(load);
	other.close();
	assert.equal(refused, 0, 'new connections succeed throughout');
	assert.ok(broken <= 20 * 3, `${broken} connections lost`);
	assert.notDeepEqual(s.gate.workers(), before);
	assert.match(s.gate.read('error.log'), /worker \d+ \(process \d+\)/);
});
await gate('SIGTERM to the master under load: every request that was begun is answered', { single: false, server: { workers: 2, 'drain-timeout': '10s' } }, async (s) => {
	let lost = 0;
	let answered = 0;
	const load = Array.from({ length: 10 }, () => new Promise((resolve) => {
		const session = http2.connect(`http://127.0.0.1:${s.port}`);
		session.on('error', () => {});
		session.on('close', resolve);
		let going = false;
		session.on('goaway', () => { going = true; });
		const next = () => {
			if (session.closed || session.destroyed || going)
				return void session.close();
			const stream = session.request({ ':path': '/x' });
			let text = '';
			stream.on('data', (d) => { text += d; });
			stream.on('error', () => {});
			/* What comes after the GOAWAY may be refused, never half answered. */
			stream.on('close', () => {
				if (text === '/x')
					answered++;
				else if (!going)
					lost++;
				next();
			});
		};
		next();
	}));
	await until('load', () => answered > 500);
	process.kill(s.gate.pid, 'SIGTERM');
	await Promise.all(load);
	await s.gate.ended();
	assert.equal(lost, 0);
});

/* ---- mistakes ---- */
const good = {
	server: 'workers = 1\n', listen: 'address = 127.0.0.1:18999\n', origin: 'server = h2c://127.0.0.1:1\n', route: 'origin = o\n', push: '',
};
const text = (change = {}) => {
	const p = { ...good, ...change };
	return `[server]\n${p.server}[listen l]\n${p.listen}[origin o]\n${p.origin}[route r]\n${p.route}${p.push}`;
};
const mistakes = {
	'an unknown section': [`${text()}[serve]\n`, /:\d+: /],
	'an unknown option': [text({ server: 'worker = 2\n' }), /:2: .*worker/],
	'an option twice': [text({ server: 'workers = 1\nworkers = 2\n' }), /:3: /],
	'a word for a number': [text({ server: 'workers = many\n' }), /:2: .*many/],
	'a number out of range': [text({ listen: 'address = 127.0.0.1:18999\nmax-concurrent-streams = 0\n' }), /:5: /],
	'a bad size': [text({ server: 'memory = 1X\n' }), /:2: /],
	'a bad time': [text({ server: 'drain-timeout = 5 parsecs\n' }), /:2: /],
	'a bad address': [text({ listen: 'address = 127.0.0.1\n' }), /:4: /],
	'a port above 65535': [text({ listen: 'address = 127.0.0.1:65536\n' }), /:4: /],
	'a bad scheme': [text({ origin: 'server = gopher://x\n' }), /:\d+: .*gopher/],
	'a certificate without a key': [text({ listen: `address = 127.0.0.1:18999\ncertificate = ${certs().file('rsa.pem')}\n` }), /:[345]: /],
	'a certificate that is not there': [text({ listen: 'address = 127.0.0.1:18999\ncertificate = /nowhere.pem\nkey = /nowhere.key\n' }), /:5: .*nowhere/],
	'a key of another certificate': [text({ listen: `address = 127.0.0.1:18999\ncertificate = ${certs().file('rsa.pem')}\nkey = ${certs().file('ecdsa.key')}\n` }), /:[456]: /],
	'a route to nowhere': [text({ route: 'origin = nobody\n' }), /:8: .*nobody/],
	'a route without origin': [text({ route: 'host = a.test\n' }), /:[78]: /],
	'a bad path in a route': [text({ route: 'origin = o\npath = api\n' }), /:9: /],
	'a push rule without action': [text({ push: '[push p]\npath = /*\n' }), /:\d+: /],
	'a push rule with a bad action': [text({ push: '[push p]\naction = perhaps\n' }), /:10: .*perhaps/],
	'a push rule that can never be reached': [text({ push: '[push p]\naction = drop\n[push q]\npath = /x\naction = forward\n' }), /:1[123]: /],
	'no listener': [text().replace(/\[listen l\]\n.*\n/, ''), /: /],
	'no route': [text().replace(/\[route r\]\n.*\n/, ''), /: /],
	'a line without =': [text({ server: 'workers\n' }), /:2: /],
	'a second section of the same name': [`${text()}[origin o]\nserver = h2c://127.0.0.1:2\n`, /:9: /],
	'an indented line': [text({ server: 'workers = 1\n  2\n' }), /:3: /],
	'text before the first section': [`workers = 1\n${text()}`, /:1: /],
};
for (const command of ['run', 'check'])
	for (const [what, [config, pattern]] of Object.entries(mistakes))
		test(`${command}: ${what} is a mistake: exit status 2, file and line`, async () => {
			const dir = workDir();
			try {
				const file = path.join(dir, 'bad.ini');
				fs.writeFileSync(file, config);
				const r = await run(BINARY, [command, '-c', file], { limit: 10000 * SCALE });
				assert.equal(r.code, 2, `${r.stdout}${r.stderr}`);
				assert.ok(r.stderr.includes(`${file}:`), r.stderr);
				assert.match(r.stderr, pattern);
			} finally {
				fs.rmSync(dir, { recursive: true });
			}
		});
test('a file that is not there is a mistake', async () => {
	const r = await run(BINARY, ['run', '-c', '/nowhere/pushgate.ini'], { limit: 10000 });
	assert.equal(r.code, 2);
	assert.match(r.stderr, /\/nowhere\/pushgate\.ini/);
});
test('check says that a good file is good', async () => {
	const dir = workDir();
	const file = path.join(dir, 'good.ini');
	fs.writeFileSync(file, text({ push: section('push p', { 'promised-path': '*.js', action: 'drop' }) }));
	const r = await run(BINARY, ['check', '-c', file], { limit: 10000 });
	fs.rmSync(dir, { recursive: true });
	assert.equal(r.code, 0, r.stderr);
});
scenario('an address that is taken: an exit status and a clear word', { origins: { main: {} } }, async (s) => {
	const file = path.join(s.dir, 'second.ini');
	fs.writeFileSync(file, text({ listen: `address = 127.0.0.1:${s.port}\n` }));
	const r = await run(BINARY, ['run', '-c', file, '--single'], { limit: 10000 });
	assert.notEqual(r.code, 0);
	assert.match(r.stderr + r.stdout, new RegExp(`${s.port}`));
});
