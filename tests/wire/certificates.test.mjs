/* SPDX-License-Identifier: MIT */
/*
 * Server certificates from folders, the versions, suites and groups that a listener accepts, strict-sni, and tickets whose
 * keys several gateways share. What one certificate file does: tls.test.mjs, renewal.test.mjs.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import tls from 'node:tls';
import { after } from 'node:test';
import { BINARY, ROOT, freePort, scenario, section, until } from '../support/gate.mjs';

const origin = http.createServer((request, response) => response.end('x'));
await new Promise((resolve) => { origin.listen(0, '127.0.0.1', resolve); });
after(() => { origin.closeAllConnections(); origin.close(); });
const url = `http://127.0.0.1:${origin.address().port}`;

/* ---- certificates, each for one name of its own ---- */

const made = fs.mkdtempSync(path.join(fs.realpathSync('/tmp'), 'pushgate-certificates-'));
after(() => fs.rmSync(made, { recursive: true, force: true }));
/* The folder of rsa.pem, rsa.key, ecdsa.pem and ecdsa.key for the name. */
function pairsFor(name) {
	const folder = path.join(made, name.replace('*', '_'));
	if (!fs.existsSync(folder))
		assert.equal(spawnSync(path.join(ROOT, 'scripts/dev-certs'), [folder, name]).status, 0);
	return folder;
}
const copy = (from, to) => {
	fs.mkdirSync(path.dirname(to), { recursive: true });
	fs.copyFileSync(from, `${to}.new`);
	fs.renameSync(`${to}.new`, to);
};
/* Puts a certificate and its key where the two paths say. */
const put = (name, kind, chain, key) => {
	copy(path.join(pairsFor(name), `${kind}.key`), key);
	copy(path.join(pairsFor(name), `${kind}.pem`), chain);
};

/* ---- the gate ---- */

const RENEWED = /reload: new connections use the new certificates/g, KEPT = /all stays as it was/g, TAKEN = /generation \d+ has taken over/g;
const count = (s, pattern) => s.gate.read('error.log').match(pattern)?.length ?? 0;
async function reload(s, result) {
	const before = count(s, result);
	s.gate.child.kill('SIGHUP');
	await until(() => `${result}\n${s.gate.read('error.log')}`, () => count(s, result) > before);
}
const text = (s, { listen = {}, server = {} } = {}) => section('server', {
	workers: 2, 'access-log': path.join(s.dir, 'access.log'), 'error-log': path.join(s.dir, 'error.log'), 'drain-timeout': '5s',
	'status-socket': path.join(s.dir, 'status'), ...server,
}) + section('listen main', { address: `127.0.0.1:${s.port}` })
	+ section('listen tls', { address: `127.0.0.1:${s.secure}`, ...listen })
	+ section('origin main', { server: url }) + section('route main', { origin: 'main' });
const check = (s, parts) => {
	const file = path.join(s.dir, 'checked.ini');
	fs.writeFileSync(file, text(s, parts));
	return spawnSync(BINARY, ['check', '-c', file], { cwd: s.dir, encoding: 'utf8' });
};
const gate = (name, parts, body) => scenario(name, { single: false, origins: false, server: { workers: 2, 'drain-timeout': '5s', 'status-socket': 'status' }, routes: '[route x]\norigin = x\n', extra: section('origin x', { server: url }) }, async (s) => {
	await s.gate.error(/ ready\n/);
	s.secure = await freePort();
	s.folder = path.join(s.dir, 'live');
	fs.mkdirSync(s.folder);
	fs.writeFileSync(s.gate.config, text(s, parts(s)));
	await reload(s, TAKEN);
	await until('two workers', () => s.gate.workers().length === 2);
	await body(s);
});

const shake = (port, options = {}) => new Promise((resolve) => {
	const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'], ...options }, () => resolve(socket));
	socket.once('error', resolve);
});
/* "NAME KIND" of the certificate that a client sees, or the code of the error. */
async function shown(s, servername, options) {
	const socket = await shake(s.secure, { servername, ...options });
	if (socket instanceof Error)
		return socket.code;
	const { subjectaltname, asn1Curve } = socket.getPeerCertificate();
	socket.destroy();
	return `${subjectaltname.split('DNS:').pop()} ${asn1Curve ? 'ecdsa' : 'rsa'}`;
}
const RSA_ALONE = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' }, ECDSA_ALONE = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' };

/* ---- folders ---- */

gate('a folder is read as certbot, Caddy and others write it', (s) => {
	const at = (...names) => path.join(s.folder, ...names);
	put('bot.test', 'ecdsa', at('bot.test', 'fullchain.pem'), at('bot.test', 'privkey.pem'));
	/* certbot's other two are no certificates of their own. */
	copy(path.join(pairsFor('bot.test'), 'ecdsa.pem'), at('bot.test', 'cert.pem'));
	copy(path.join(pairsFor('bot.test'), 'ca.pem'), at('bot.test', 'chain.pem'));
	fs.writeFileSync(at('README'), 'not a certificate\n');
	put('caddy.test', 'ecdsa', at('acme', 'caddy.test', 'caddy.test.crt'), at('acme', 'caddy.test', 'caddy.test.key'));
	fs.writeFileSync(at('acme', 'caddy.test', 'caddy.test.json'), '{}');
	put('flat.test', 'rsa', at('flat.cer'), at('flat.key'));
	fs.writeFileSync(at('one.pem'), ['key', 'pem'].map((x) => fs.readFileSync(path.join(pairsFor('one.test'), `ecdsa.${x}`), 'utf8')).join(''));
	put('*.bot.test', 'ecdsa', at('wild.pem'), at('wild.key'));
	put('a.bot.test', 'rsa', at('z.pem'), at('z.key'));
	return { listen: { certificates: s.folder } };
}, async (s) => {
	for (const [name, kind, seen] of [['bot.test', 'ecdsa'], ['caddy.test', 'ecdsa'], ['flat.test', 'rsa'], ['one.test', 'ecdsa'], ['a.bot.test', 'rsa'], ['b.bot.test', 'ecdsa', '*.bot.test']])
		assert.equal(await shown(s, name), `${seen ?? name} ${kind}`);
	assert.equal(s.gate.read('error.log').match(/its key is not there/), null);
});

gate('a client of RSA alone and one of ECDSA alone get theirs from a folder', (s) => {
	for (const kind of ['rsa', 'ecdsa'])
		put('two.test', kind, path.join(s.folder, `${kind}.crt`), path.join(s.folder, `${kind}.key`));
	return { listen: { certificates: s.folder } };
}, async (s) => {
	assert.equal(await shown(s, 'two.test', RSA_ALONE), 'two.test rsa');
	assert.equal(await shown(s, 'two.test', ECDSA_ALONE), 'two.test ecdsa');
	assert.equal(await shown(s, 'two.test'), 'two.test ecdsa');
});

gate('certificates come to a folder and go from it while pushgate runs', (s) => {
	put('first.test', 'ecdsa', path.join(s.folder, 'first.crt'), path.join(s.folder, 'first.key'));
	return { listen: { certificates: s.folder }, server: { 'watch-files': 'yes' } };
}, async (s) => {
	const workers = s.gate.workers();
	put('second.test', 'ecdsa', path.join(s.folder, 'second.crt'), path.join(s.folder, 'second.key'));
	await until('the second one is served', async () => await shown(s, 'second.test') === 'second.test ecdsa');
	assert.equal(await shown(s, 'first.test'), 'first.test ecdsa');
	fs.rmSync(path.join(s.folder, 'first.crt'));
	fs.rmSync(path.join(s.folder, 'first.key'));
	await until('the first one is gone', async () => await shown(s, 'first.test') === 'second.test ecdsa');
	assert.deepEqual(s.gate.workers(), workers);
});

gate('a folder with a mistake keeps the certificates of before', (s) => {
	put('first.test', 'ecdsa', path.join(s.folder, 'first.crt'), path.join(s.folder, 'first.key'));
	return { listen: { certificates: s.folder } };
}, async (s) => {
	const mixed = path.join(s.folder, 'mixed');
	copy(path.join(pairsFor('second.test'), 'ecdsa.pem'), `${mixed}.crt`);
	copy(path.join(pairsFor('first.test'), 'ecdsa.key'), `${mixed}.key`);
	await reload(s, KEPT);
	assert.match(s.gate.read('error.log'), /pushgate\.ini:\d+: the key '.*mixed\.key' does not belong to the certificate '.*mixed\.crt'/);
	assert.equal(await shown(s, 'second.test'), 'first.test ecdsa');
	fs.rmSync(`${mixed}.key`);
	put('third.test', 'rsa', path.join(s.folder, 'third.crt'), path.join(s.folder, 'third.key'));
	await reload(s, RENEWED);
	assert.match(s.gate.read('error.log'), /warning: the certificate '.*mixed\.crt' is not used, because its key is not there; put it into '.*mixed\.key'/);
	await until('the third one is served', async () => await shown(s, 'third.test') === 'third.test rsa');
	for (const name of fs.readdirSync(s.folder))
		fs.rmSync(path.join(s.folder, name));
	await reload(s, KEPT);
	assert.match(s.gate.read('error.log'), /there is no certificate with its key in the folder '.*live'/);
	assert.equal(await shown(s, 'third.test'), 'third.test rsa');
});

/* ---- what a listener accepts ---- */

gate('strict-sni refuses who names no host that has a certificate', (s) => {
	put('first.test', 'ecdsa', path.join(s.folder, 'first.crt'), path.join(s.folder, 'first.key'));
	return { listen: { certificates: s.folder, 'strict-sni': 'yes' } };
}, async (s) => {
	assert.equal(await shown(s, 'first.test'), 'first.test ecdsa');
	assert.equal(await shown(s, 'second.test'), 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME');
	assert.match(await shown(s, undefined), /^ERR_SSL_/);
	assert.match(await shown(s, undefined, { maxVersion: 'TLSv1.2' }), /^ERR_SSL_TLSV1_UNRECOGNIZED_NAME/);
});

gate('the access log has ALPN, and SNI where the request is for another host', (s) => {
	put('first.test', 'ecdsa', path.join(s.folder, 'first.crt'), path.join(s.folder, 'first.key'));
	return { listen: { certificates: s.folder } };
}, async (s) => {
	for (const [options, host, wanted] of [
		[{ servername: 'first.test' }, 'FIRST.test:8443', { alpn: 'http/1.1', sni: undefined }],
		[{ servername: 'first.test' }, 'first.test.example', { alpn: 'http/1.1', sni: 'first.test' }],
		[{ servername: 'first.test', ALPNProtocols: undefined }, 'other.test', { alpn: undefined, sni: 'first.test' }],
		[{}, 'none.test', { alpn: 'http/1.1', sni: undefined }],
	]) {
		const socket = await shake(s.secure, options);
		socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
		socket.resume();
		const line = () => s.gate.read('access.log').split('\n').filter(Boolean).map((x) => JSON.parse(x)).find((x) => x.authority === host);
		await until(`the line of ${host}`, line);
		const { alpn, sni } = line();
		assert.deepEqual({ alpn, sni }, wanted);
		socket.destroy();
	}
});

gate('mistakes about TLS are told with the line', (s) => {
	put('first.test', 'ecdsa', path.join(s.folder, 'first.crt'), path.join(s.folder, 'first.key'));
	return { listen: { certificates: s.folder } };
}, async (s) => {
	const secrets = path.join(s.dir, 'short.keys');
	fs.writeFileSync(secrets, 'short\n');
	for (const [parts, message] of [
		[{ listen: { 'tls-min': '1.1' } }, /checked\.ini:\d+: bad value '1\.1' for tls-min/],
		[{ listen: { 'tls-min': '1.3', 'tls-max': '1.2' } }, /checked\.ini:\d+: tls-min is above tls-max/],
		[{ listen: { ciphers: 'AES128-SHA' } }, /checked\.ini:\d+: bad value 'AES128-SHA' for ciphers: HTTP\/2 forbids it/],
		[{ listen: { groups: 'ffdhe2048' } }, /checked\.ini:\d+: bad value 'ffdhe2048' for groups: the linked BoringSSL does not have it/],
		[{ listen: { groups: 'X25519 x25519' } }, /bad value 'x25519' for groups: it is there twice/],
		[{ listen: { certificates: [s.folder, s.folder] } }, /it is there twice/],
		[{ listen: { certificates: path.join(s.folder, 'first.crt') } }, /first\.crt' for certificates is no folder/],
		[{ server: { 'ticket-keys': secrets } }, /checked\.ini:\d+: ticket-keys cannot be used: .*short\.keys: line 1 is too short for a secret/],
	]) {
		const { status, stdout, stderr } = check(s, { ...parts, listen: { certificates: s.folder, ...parts.listen } });
		assert.notEqual(status, 0);
		assert.match(stdout + stderr, message);
	}
	const { stdout, stderr } = check(s, { listen: { certificates: s.folder, 'tls-min': '1.3', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' } });
	assert.match(stdout + stderr, /ciphers has no effect, because tls-min is 1\.3/);
});

/* ---- tickets ---- */

const SECRETS = ['a', 'b', 'c'].map((x) => x.repeat(64));
const writeSecrets = (file, secrets) => {
	fs.writeFileSync(`${file}.new`, secrets.map((x) => `${x}\n`).join(''), { mode: 0o600 });
	fs.renameSync(`${file}.new`, file);
};
/* A session of the gateway; whether one is resumed there, and the session that is offered next. */
async function resume(port, session, version) {
	const socket = await shake(port, { servername: 'first.test', minVersion: version, maxVersion: version, session });
	assert.ok(!(socket instanceof Error), String(socket));
	let next = version === 'TLSv1.2' ? socket.getSession() : undefined;
	socket.on('session', (x) => { next = x; });
	const isResumed = socket.isSessionReused();
	socket.write('GET / HTTP/1.1\r\nhost: first.test\r\n\r\n');
	await new Promise((resolve, reject) => { socket.once('data', resolve).once('error', reject); });
	await until('a ticket', () => next);
	socket.destroy();
	return { isResumed, session: next };
}

gate('a second gateway with the same ticket-keys resumes a session, and keys are exchanged without a refused handshake', (s) => {
	put('first.test', 'ecdsa', path.join(s.folder, 'first.crt'), path.join(s.folder, 'first.key'));
	s.secrets = path.join(s.dir, 'tickets.keys');
	writeSecrets(s.secrets, SECRETS.slice(0, 2));
	return { listen: { certificates: s.folder }, server: { 'ticket-keys': s.secrets } };
}, async (s) => {
	const other = { port: await freePort(), secure: await freePort(), dir: path.join(s.dir, 'other') };
	fs.mkdirSync(other.dir);
	fs.writeFileSync(path.join(other.dir, 'other.ini'), text(other, { listen: { certificates: s.folder }, server: { 'ticket-keys': s.secrets, workers: 1 } }));
	const { spawn } = await import('node:child_process');
	const second = spawn(BINARY, ['run', '-c', path.join(other.dir, 'other.ini')], { cwd: other.dir, stdio: 'ignore' });
	s.cleanups.push(() => second.kill('SIGKILL'));
	await until('the second gateway', async () => !((await shake(other.secure)) instanceof Error));
	for (const version of ['TLSv1.2', 'TLSv1.3']) {
		const first = await resume(s.secure, undefined, version);
		assert.equal(first.isResumed, false);
		assert.equal((await resume(other.secure, first.session, version)).isResumed, true);
	}
	/* Handshakes without pause, each with the session of the one before. */
	let ends = false, handshakes = 0;
	const load = (async () => {
		for (let session; !ends; handshakes++)
			({ session } = await resume(s.secure, session, 'TLSv1.3'));
	})();
	load.catch(() => {});
	const old = (await resume(s.secure, undefined, 'TLSv1.2')).session;
	for (const secrets of [[SECRETS[0], SECRETS[2]], [SECRETS[2], SECRETS[0]], [SECRETS[2]]]) {
		const before = handshakes;
		writeSecrets(s.secrets, secrets);
		await reload(s, RENEWED);
		await until('both workers have them', () => s.gate.counters().tls_renewed >= 2);
		await until('handshakes with the new keys', () => handshakes > before + 4);
	}
	ends = true;
	await load;
	await until('the old key is gone', async () => !(await resume(s.secure, old, 'TLSv1.2')).isResumed);
});
