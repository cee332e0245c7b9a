/* SPDX-License-Identifier: MIT */
/*
 * Files that change while the configuration stays: certificates, keys and authorities are taken by the workers that run,
 * after a reload or by themselves (watch-files), and so are lists (renewed-lists.test.mjs). No handshake ever has a wrong pair.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import path from 'node:path';
import tls from 'node:tls';
import { after } from 'node:test';
import { BINARY, ROOT, certs, freePort, scenario, section, until } from '../support/gate.mjs';

const origin = http.createServer((request, response) => response.end(`from ${request.url}`));
await new Promise((resolve) => { origin.listen(0, '127.0.0.1', resolve); });
after(() => { origin.closeAllConnections(); origin.close(); });
const url = `http://127.0.0.1:${origin.address().port}`;

/* ---- the gate: a listener with TLS, whose files are the test's ---- */

const RENEWED = /reload: new connections use the new certificates/g, TAKEN = /reload: generation \d+ has taken over/g;
const KEPT = /all stays as it was/g;
const count = (s, pattern) => s.gate.read('error.log').match(pattern)?.length ?? 0;
const seen = (s, pattern, n = 1) => until(() => `${pattern}\n${s.gate.read('error.log')}`, () => count(s, pattern) >= n);

const put = (s, name, kind) => {
	const from = certs().file(kind), to = path.join(s.dir, name);
	fs.copyFileSync(from, `${to}.new`);
	fs.chmodSync(`${to}.new`, 0o600);
	fs.renameSync(`${to}.new`, to);
};
const putPair = (s, kind) => {
	put(s, 'chain.key', `${kind}.key`);
	put(s, 'chain.pem', `${kind}.pem`);
};

function write(s, { server = {}, files = ['chain.pem', 'chain.key'], to = { server: url }, more = '' } = {}) {
	fs.writeFileSync(s.gate.config, section('server', {
		workers: 2, 'access-log': path.join(s.dir, 'access.log'), 'error-log': path.join(s.dir, 'error.log'), 'drain-timeout': '5s',
		'status-socket': path.join(s.dir, 'status'), ...server,
	}) + section('listen main', { address: `127.0.0.1:${s.port}` })
		+ section('listen tls', { address: `127.0.0.1:${s.secure}`, certificate: files[0], key: files[1] })
		+ section('origin main', to) + section('route main', { origin: 'main' }) + more);
}
async function reload(s, result) {
	const before = count(s, result);
	s.gate.child.kill('SIGHUP');
	await seen(s, result, before + 1);
}

/* The key type that a handshake shows. It fails when certificate and key do not belong together. */
const shown = (s) => new Promise((resolve, reject) => {
	const socket = tls.connect({ port: s.secure, host: '127.0.0.1', ca: certs().ca, servername: 'localhost' }, () => {
		resolve(socket.getPeerCertificate().asn1Curve ? 'ecdsa' : 'rsa');
		socket.destroy();
	});
	socket.once('error', reject);
});
const isShown = (s, kind) => until(`handshakes with ${kind}`, async () => {
	for (let i = 0; i < 6; i++)
		if (await shown(s) !== kind)
			return false;
	return true;
});

/* Handshakes in a loop; its end tells how many succeeded. */
function handshakes(s) {
	let ends = false;
	const loop = (async () => {
		let n = 0;
		for (; !ends; n++)
			await shown(s);
		return n;
	})();
	loop.catch(() => {});
	return async () => {
		ends = true;
		return loop;
	};
}

const gate = (name, parts, body) => scenario(name, { single: false, origins: false, server: { workers: 2, 'drain-timeout': '5s', 'status-socket': 'status' }, routes: '[route x]\norigin = x\n', extra: section('origin x', { server: url }) }, async (s) => {
	await s.gate.error(/ ready\n/);
	s.secure = await freePort();
	putPair(s, 'rsa');
	write(s, parts(s));
	await reload(s, TAKEN);
	await until('two workers', () => s.gate.workers().length === 2);
	await body(s);
});
const asIs = () => ({});
const watched = (s, more = {}) => ({ server: { 'watch-files': 'yes' }, ...more });

/* ---- by a reload ---- */

// covers: R231
gate('new connections have the new certificate, and those that are open go on', asIs, async (s) => {
	const workers = s.gate.workers();
	const client = http2.connect(`https://localhost:${s.secure}`, { ca: certs().ca, lookup: (_, o, done) => (o.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)) });
	s.cleanups.push(() => client.destroy());
	let goaways = 0;
	client.on('goaway', () => { goaways++; });
	const ask = () => new Promise((resolve, reject) => {
		client.request({ ':path': '/open' }).on('response', (h) => resolve(h[':status'])).on('error', reject).resume().end();
	});
	assert.equal(await ask(), 200);
	assert.equal(await shown(s), 'rsa');
	putPair(s, 'ecdsa');
	const command = spawnSync(BINARY, ['reload', '-c', s.gate.config], { cwd: s.dir, encoding: 'utf8' });
	assert.equal(command.status, 0);
	assert.match(command.stderr, /^new connections use the new certificates, keys and authorities; nothing else has changed$/m);
	await isShown(s, 'ecdsa');
	assert.equal(await ask(), 200);
	assert.equal(goaways, 0);
	assert.deepEqual(s.gate.workers(), workers);
	await until('each worker counts it', () => s.gate.counters().tls_renewed === 2);
	await reload(s, /nothing is to be done/g);
});

gate('a pair that does not fit keeps the old one, and no handshake has a mixed one', asIs, async (s) => {
	const end = handshakes(s);
	for (const kind of ['ecdsa', 'rsa', 'ecdsa']) {
		put(s, 'chain.key', `${kind}.key`);
		await reload(s, KEPT);
		assert.match(s.gate.read('error.log'), /pushgate\.ini:\d+: the key .*chain\.key' does not belong to the certificate/);
		assert.notEqual(await shown(s), kind);
		put(s, 'chain.pem', `${kind}.pem`);
		await reload(s, RENEWED);
		await isShown(s, kind);
	}
	assert.ok(await end() > 0);
});

gate('a worker that is started again has the new certificate', asIs, async (s) => {
	const before = s.gate.workers();
	putPair(s, 'ecdsa');
	await reload(s, RENEWED);
	for (const pid of before)
		process.kill(pid, 'SIGKILL');
	await until('other workers', () => s.gate.workers().length === 2 && s.gate.workers().every((p) => !before.includes(p)));
	await seen(s, /is up again/g, 2);
	await isShown(s, 'ecdsa');
});

gate('authorities are exchanged too: another origin certificate is believed, the one before no more', asIs, async (s) => {
	const made = spawnSync(path.join(ROOT, 'scripts/dev-certs'), [path.join(s.dir, 'other')], { encoding: 'utf8' });
	assert.equal(made.status, 0, made.stderr);
	const file = (name) => path.join(s.dir, 'other', name);
	const secure = https.createServer(certs().server, (_, response) => {
		response.setHeader('connection', 'close');
		response.end('secure');
	});
	await new Promise((resolve) => { secure.listen(0, '127.0.0.1', resolve); });
	s.cleanups.push(() => { secure.closeAllConnections(); secure.close(); });
	put(s, 'ca.pem', 'ca.pem');
	write(s, { to: { server: `https://localhost:${secure.address().port}`, 'tls-ca': 'ca.pem' } });
	await reload(s, TAKEN);
	const workers = () => s.gate.workers();
	await until('one generation', () => count(s, /has ended/g) === 2 && workers().length === 2);
	const before = workers();
	const status = () => new Promise((resolve) => {
		http.get({ port: s.port, host: '127.0.0.1', path: '/', agent: false }, (r) => r.resume().on('end', () => resolve(r.statusCode))).on('error', (e) => resolve(e.code));
	});
	await until('an answer', async () => await status() === 200);
	secure.setSecureContext({ cert: fs.readFileSync(file('rsa.pem')), key: fs.readFileSync(file('rsa.key')) });
	assert.equal(await status(), 503);
	fs.copyFileSync(file('ca.pem'), path.join(s.dir, 'ca.pem'));
	await reload(s, RENEWED);
	await until('an answer', async () => await status() === 200);
	secure.setSecureContext(certs().server);
	await until('a refusal', async () => await status() === 503);
	assert.deepEqual(workers(), before);
});

/* ---- by itself ---- */

gate('watch-files takes a renewed pair, though its key comes before its certificate', watched, async (s) => {
	const workers = s.gate.workers();
	const end = handshakes(s);
	put(s, 'chain.key', 'ecdsa.key');
	await seen(s, KEPT);
	assert.equal(await shown(s), 'rsa');
	const half = fs.readFileSync(certs().file('ecdsa.pem')).subarray(0, 300);
	fs.writeFileSync(path.join(s.dir, 'chain.pem'), half);
	await seen(s, KEPT, 2);
	assert.equal(await shown(s), 'rsa');
	put(s, 'chain.pem', 'ecdsa.pem');
	await seen(s, RENEWED);
	await isShown(s, 'ecdsa');
	assert.ok(await end() > 0);
	assert.deepEqual(s.gate.workers(), workers);
	assert.equal(count(s, KEPT), 2);
});

gate('watch-files sees a symbolic link switched', (s) => {
	for (const kind of ['rsa', 'ecdsa']) {
		fs.mkdirSync(path.join(s.dir, kind));
		for (const end of ['pem', 'key'])
			fs.copyFileSync(certs().file(`${kind}.${end}`), path.join(s.dir, kind, `tls.${end}`));
	}
	fs.symlinkSync('rsa', path.join(s.dir, 'current'));
	return watched(s, { files: ['current/tls.pem', 'current/tls.key'] });
}, async (s) => {
	const end = handshakes(s);
	fs.symlinkSync('ecdsa', path.join(s.dir, 'next'));
	fs.renameSync(path.join(s.dir, 'next'), path.join(s.dir, 'current'));
	await seen(s, RENEWED);
	await isShown(s, 'ecdsa');
	assert.ok(await end() > 0);
});

const withList = (s) => {
	fs.writeFileSync(path.join(s.dir, 'hosts.txt'), 'a.example\n');
	return watched(s, { more: section('route listed', { 'host-file': 'hosts.txt', redirect: 'https://listed.example/' }) });
};
const statusOf = (s, host) => new Promise((resolve) => {
	http.get({ port: s.port, host: '127.0.0.1', path: '/', agent: false, headers: { host } }, (r) => r.resume().on('end', () => resolve(r.statusCode))).on('error', (e) => resolve(e.code));
});

gate('certificates and a list that change together are both taken by the workers that run', withList, async (s) => {
	const workers = s.gate.workers();
	assert.equal(await statusOf(s, 'b.example'), 200);
	fs.writeFileSync(path.join(s.dir, 'hosts.txt'), 'b.example\n');
	putPair(s, 'ecdsa');
	await reload(s, /reload: new connections use the new certificates, keys and authorities, and the workers get the new lists, pages and passwords; nothing else has changed/g);
	await until('the new list', async () => await statusOf(s, 'b.example') === 308);
	await isShown(s, 'ecdsa');
	const { tls_renewed: certificates, lists_renewed: lists } = await until('each worker counts both', () => s.gate.counters().lists_renewed === 2 && s.gate.counters());
	assert.deepEqual([certificates, lists], [2, 2]);
	putPair(s, 'rsa');
	await reload(s, /reload: new connections use the new certificates, keys and authorities; nothing else/g);
	await isShown(s, 'rsa');
	fs.writeFileSync(path.join(s.dir, 'hosts.txt'), 'c.example\n');
	await reload(s, /reload: the workers get the new lists/g);
	await until('the next list', async () => await statusOf(s, 'b.example') === 200);
	await isShown(s, 'rsa');
	assert.deepEqual(s.gate.workers(), workers);
});

gate('a diary-cookie-key that changes needs another generation', (s) => {
	fs.writeFileSync(path.join(s.dir, 'diary.key'), '0123456789abcdef');
	return { server: { 'diary-cookie': 'd', 'diary-cookie-key': 'diary.key' } };
}, async (s) => {
	fs.writeFileSync(path.join(s.dir, 'diary.key'), 'fedcba9876543210');
	await reload(s, TAKEN);
});

gate('watch-files leaves a changed configuration to a reload', withList, async (s) => {
	write(s, watched(s, { more: section('route listed', { 'host-file': 'hosts.txt', redirect: 'https://other.example/' }) }));
	fs.writeFileSync(path.join(s.dir, 'hosts.txt'), 'b.example\n');
	await seen(s, /the configuration itself has changed too: tell pushgate to reload/g);
	await seen(s, KEPT);
	assert.equal(await statusOf(s, 'b.example'), 200);
	await reload(s, TAKEN);
	await until('the new list', async () => await statusOf(s, 'b.example') === 308);
});
