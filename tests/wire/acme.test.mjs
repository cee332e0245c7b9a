/* SPDX-License-Identifier: MIT */
/*
 * Certificates by ACME, from pebble: the first one, renewal under load, refused nonces, failed validations, an outage, two
 * names, and processes that are killed. At each moment the listener has a certificate.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';
import { BINARY, Gate, section, sleep, until, workDir } from '../support/gate.mjs';
import { children, get, LONG, scenario, served, verified } from '../support/acme.mjs';

// covers: R721
scenario('first certificate comes for all names, and a client that trusts the authority takes it', {}, async (s) => {
	const before = await served(s.port, 'a.example');
	if (!before.issuer.includes('Pebble'))
		assert.equal(before.issuer, before.subject);
	await s.first();
	for (const name of ['a.example', 'b.example'])
		await verified(s.port, name, s.pebble.root);
	assert.match(s.gate.stderr, /warning: there is no certificate in .*main\.pem yet; clients get one that nobody has signed/);
	await s.gate.error(/warn \[acme\] acme: main has no certificate for all hosts of its routes yet; one is ordered/);
	for (const name of ['main.pem', 'account.key'])
		assert.equal(fs.statSync(path.join(s.dir, 'acme', name)).mode & 0o777, 0o600);
	assert.deepEqual(fs.readdirSync(path.join(s.dir, 'acme')).sort(), ['account.key', 'lock', 'main.pem']);
	const counters = s.gate.counters();
	assert.equal(counters.acme_certificates, 1);
	assert.equal(counters.acme_orders_failed, 0);
	assert.match(s.gate.status(), /^# certificate of listen main: good; the next order is due at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/m);
	assert.equal(counters['pushgate_acme_certificate_state{listen="main",state="good"}'], 1);
	/* At two thirds of ninety days. */
	assert.ok(Math.abs(counters['pushgate_acme_next_order_timestamp_seconds{listen="main"}'] - Date.now() / 1000 - 5184000) < 3600);
	const checked = spawnSync(BINARY, ['check', '-c', s.gate.config], { cwd: s.dir, encoding: 'utf8' });
	assert.match(checked.stderr, /note: the certificate in .*main\.pem is good until \S+Z; it is renewed after \S+Z, or when the authority says/);
	const ends = await until('the new end', () => {
		const [, seconds] = Object.entries(s.gate.counters()).find(([k]) => k.startsWith('pushgate_certificate_expiry_timestamp_seconds{') && k.includes('main.pem'));
		return Math.abs(seconds - Date.parse(new crypto.X509Certificate(s.read()).validTo) / 1000) <= 1 && seconds;
	});
	assert.ok(Math.abs(ends - Date.now() / 1000 - 7776000) < 3600);
});

// covers: R722
scenario('challenge is answered for hosts of listeners with acme alone', {}, async (s) => {
	await s.first();
	const token = 'LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0', at = `/.well-known/acme-challenge/${token}`;
	const answer = await get(s.clear, at, 'a.example');
	assert.equal(answer.status, 200);
	const key = crypto.createPublicKey(fs.readFileSync(path.join(s.dir, 'acme', 'account.key'))).export({ format: 'jwk' });
	const thumbprint = crypto.createHash('sha256').update(JSON.stringify({ crv: key.crv, kty: key.kty, x: key.x, y: key.y })).digest('base64url');
	assert.equal(answer.text, `${token}.${thumbprint}`);
	assert.equal((await get(s.clear, at, 'A.Example:80')).text, answer.text);
	assert.equal((await get(s.clear, at, 'c.example')).status, 308);
	assert.equal((await get(s.clear, `${at}/x`, 'a.example')).status, 308);
	assert.equal((await get(s.clear, '/.well-known/acme-challenge/test', 'a.example')).status, 308);
	assert.equal((await get(s.clear, '/.well-known/acme-challenge/%3Cb%3E', 'a.example')).status, 308);
});

// covers: R720
scenario('refused nonces cost nothing', { authority: { env: { PEBBLE_WFE_NONCEREJECT: '50' } } }, async (s) => {
	await s.first();
	assert.equal(s.gate.counters().acme_orders_failed, 0);
});

scenario('slow validation is waited for', { authority: { env: { PEBBLE_VA_NOSLEEP: '0', PEBBLE_VA_SLEEPTIME: '3' } } }, async (s) => {
	await s.first();
});

scenario('authorizations that are valid already are used', { authority: { env: { PEBBLE_AUTHZREUSE: '100' } } }, async (s) => {
	await s.first();
	fs.unlinkSync(s.file);
	process.kill(children(s.gate, 'pushgate-acme')[0], 'SIGKILL');
	await until('another certificate', () => fs.existsSync(s.file), LONG);
	await until('it is counted', () => s.gate.counters().acme_certificates === 2);
});

// covers: R725
scenario('certificates are renewed under load without a failed handshake', { authority: { life: 24 }, workers: 2 }, async (s) => {
	const serials = new Set();
	let failed = 0, ended = false, handshakes = 0;
	await s.first();
	const load = Promise.all(Array.from({ length: 4 }, async () => {
		while (!ended) {
			await served(s.port, 'a.example').then((c) => {
				handshakes++;
				serials.add(c.serialNumber);
				if (Date.parse(c.validTo) < Date.now() - 1000)
					failed++;
			}, () => { failed++; });
			await sleep(20);
		}
	}));
	await until(() => `two renewals\n${s.gate.report()}`, () => serials.size >= 3, 2 * LONG);
	ended = true;
	await load;
	assert.ok(handshakes > 50);
	assert.equal(failed, 0);
});

// covers: R722
scenario('challenge over TLS is answered by each worker, and the handshake is all', { workers: 2, server: { 'acme-challenge': 'tls' }, authority: { httpPort: 1 } }, async (s) => {
	await s.first();
	for (const name of ['a.example', 'b.example'])
		await verified(s.port, name, s.pebble.root);
	assert.equal(s.gate.counters().acme_orders_failed, 0);
	/* The last challenge is still answered, to who asks for it alone. */
	const challenge = (servername, ALPNProtocols) => new Promise((resolve) => {
		const socket = tls.connect({ port: s.port, host: '127.0.0.1', servername, rejectUnauthorized: false, ALPNProtocols });
		let certificate = null, agreed = null;
		socket.once('secureConnect', () => { certificate = socket.getPeerX509Certificate(); agreed = socket.alpnProtocol; });
		socket.once('error', (error) => resolve({ certificate, agreed, failed: certificate === null, error: String(error) })); /* the end may be a reset */
		socket.once('end', () => socket.end());
		socket.once('close', () => resolve({ certificate, agreed, failed: false }));
		socket.resume();
		if (!ALPNProtocols.includes('acme-tls/1') || ALPNProtocols.length > 1)
			socket.once('secureConnect', () => socket.destroy());
	});
	const oid = Buffer.from('06082b0601050507011f', 'hex'); /* id-pe-acmeIdentifier */
	let answered = 0;
	const errors = [];
	for (const name of ['a.example', 'b.example', 'B.Example']) {
		const c = await challenge(name, ['acme-tls/1']);
		if (c.failed) {
			errors.push(c.error); /* no_application_protocol */
			continue;
		}
		answered++;
		assert.equal(c.agreed, 'acme-tls/1');
		assert.ok(c.certificate.raw.includes(oid));
		assert.ok(c.certificate.checkHost(name));
	}
	assert.ok(answered === 1 || answered === 2, `${errors.join()}\n${s.gate.report()}`);
	assert.equal((await challenge('c.example', ['acme-tls/1'])).failed, true);
	const other = await challenge('a.example', ['acme-tls/1', 'http/1.1']);
	assert.ok(!other.certificate.raw.includes(oid));
	assert.equal(other.agreed, 'http/1.1');
});

// covers: R723
scenario('failed validation is logged, and the listener goes on with what it has', { authority: { httpPort: 1 } }, async (s) => {
	await s.gate.error(/\[acme\] acme: no certificate for main: the authorization: that of [ab]\.example is invalid: .*; tried again in 6\d s/);
	const c = await served(s.port, 'a.example');
	assert.equal(c.issuer, c.subject);
	assert.equal(s.gate.counters().acme_orders_failed, 1);
	assert.match(s.gate.status(), /^# certificate of listen main: there is none yet, clients get one of our own; the next order is due at \S+; 1 order has failed, the last: the authorization: that of [ab]\.example is invalid: /m);
	assert.equal(s.gate.counters()['pushgate_acme_certificate_state{listen="main",state="missing"}'], 1);
});

const window = (from, to) => JSON.stringify({ suggestedWindow: { start: new Date(Date.now() + 1000 * from).toISOString(), end: new Date(Date.now() + 1000 * to).toISOString() } });

// covers: R725
scenario('certificate is renewed in the window that the authority suggests, and the order names it', {
	hosts: ['a.example'],
	front(s, request) {
		if (!request.url.startsWith('/ari/'))
			return null;
		(s.asked ??= []).push(request.url.slice(5));
		/* The first certificate has to go; the second one has time. */
		const is_first = s.asked[0] === request.url.slice(5);
		return { status: 200, headers: { 'retry-after': '21600' }, body: is_first ? window(-60, -30) : window(86400, 2 * 86400) };
	},
}, async (s) => {
	await until(() => `a renewal\n${s.gate.report()}`, () => s.gate.counters().acme_certificates === 2, 3 * LONG);
	await s.gate.error(/the certificate of main is renewed after .* as the authority wants/);
	await until('the second question', () => s.asked.length === 2);
	for (const id of s.asked)
		assert.match(id, /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/);
	const [aki, serial] = s.asked[1].split('.').map((part) => Buffer.from(part, 'base64url'));
	const certificate = new crypto.X509Certificate(s.read());
	assert.ok(certificate.raw.includes(aki));
	assert.equal(BigInt(`0x${serial.toString('hex')}`), BigInt(`0x${certificate.serialNumber}`));
	assert.equal(s.gate.counters().acme_certificates, 2);
});

// covers: R723
scenario('rate limit of the authority is kept', {
	front: (s, request) => (request.url.includes('order') ? { status: 429, headers: { 'retry-after': '7200', 'content-type': 'application/problem+json' },
		body: JSON.stringify({ type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many' }) } : null),
}, async (s) => {
	await s.gate.error(/acme: no certificate for main: the order: status 429, rateLimited: too many; tried again in 7200 s/);
	await served(s.port, 'a.example');
});

// covers: R721 R723
scenario('authority that is down delays no start', { starts: false }, async (s) => {
	await s.gate.error(/acme: no certificate for main: the directory: no connection to it; tried again in/);
	await served(s.port, 'a.example');
	await s.open();
	/* A process that begins anew tries at once. */
	process.kill(children(s.gate, 'pushgate-acme')[0], 'SIGKILL');
	await s.first();
	await verified(s.port, 'b.example', s.pebble.root);
});

// covers: R724
scenario('process that is killed at any moment of an order leaves a certificate that can be used', { authority: { life: 60 } }, async (s) => {
	await s.first();
	for (let i = 0; i < 8; i++) {
		fs.rmSync(s.file, { force: true });
		const [pid] = await until('an ACME process', () => {
			const pids = children(s.gate, 'pushgate-acme');
			return pids.length === 1 && pids;
		}, LONG);
		process.kill(pid, 'SIGKILL');
		await until('the next one', () => {
			const pids = children(s.gate, 'pushgate-acme');
			return pids.length === 1 && pids[0] !== pid;
		}, LONG);
		await sleep(40 * i);
		await served(s.port, 'a.example');
		if (fs.existsSync(s.file)) {
			const certificate = new crypto.X509Certificate(s.read());
			assert.ok(certificate.checkPrivateKey(crypto.createPrivateKey(s.read())));
		}
	}
	await until(() => `a certificate\n${s.gate.report()}`, () => fs.existsSync(s.file), LONG);
	assert.ok(new crypto.X509Certificate(s.read()).checkPrivateKey(crypto.createPrivateKey(s.read())));
});

scenario('certificate is there again after a restart, and none is ordered', {}, async (s) => {
	await s.first();
	const before = s.read();
	s.gate.child.kill('SIGTERM');
	await s.gate.ended();
	s.gate = new Gate({ config: fs.readFileSync(s.gate.config, 'utf8'), dir: s.dir, ports: [s.port, s.clear], single: false });
	await s.gate.listening();
	assert.match((await served(s.port, 'a.example')).issuer, /Pebble/);
	await s.gate.error(/acme: the certificate of main is good until .*; it is renewed after/);
	await s.gate.error(/the time of renewal|as the authority wants|does not say when/);
	assert.equal(s.read(), before);
});

test('acme-dir that is no folder is a fault, and a missing certificate a warning', () => {
	const dir = workDir(), file = path.join(dir, 'pushgate.ini');
	fs.writeFileSync(file, section('server', { 'acme-dir': 'gone' }) + section('listen main', { address: `unix:${dir}/s`, acme: 'https://127.0.0.1:1/dir' })
		+ section('listen clear', { address: `unix:${dir}/clear` }) + section('origin main', { server: 'demo:' }) + section('route main', { host: 'a.test', origin: 'main' }));
	const checked = spawnSync(BINARY, ['check', '-c', file], { encoding: 'utf8' });
	assert.equal(checked.status, 2);
	assert.match(checked.stderr, /pushgate\.ini:2: acme-dir \S*\/gone does not exist; make it \(mkdir -p \S*\/gone\) or name another path/);
	assert.match(checked.stderr, /pushgate\.ini:6: warning: there is no certificate in .*gone\/main\.pem yet/);
	/* Without the account's key no ACME process could start. */
	const folder = path.join(dir, 'gone'), key = path.join(folder, 'account.key'), check = () => spawnSync(BINARY, ['check', '-c', file], { encoding: 'utf8' });
	fs.mkdirSync(folder);
	fs.chmodSync(folder, 0o777);
	assert.equal(check().status, 0);
	fs.writeFileSync(key, 'no key');
	assert.match(check().stderr, /pushgate\.ini:2: \S+account\.key is no key of P-256; remove it, and another account is made/);
	fs.rmSync(key);
	fs.mkdirSync(key);
	assert.match(check().stderr, /pushgate\.ini:2: the account's key \S+account\.key cannot be read: Is a directory/);
	fs.rmdirSync(key);
	fs.rmdirSync(folder);
	fs.writeFileSync(folder, '');
	assert.match(check().stderr, /pushgate\.ini:2: a file in acme-dir \S+gone cannot be: \S+gone is no folder; name another path/);
	fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('host = a.test', 'host = a.test *.a.test'));
	const wild = spawnSync(BINARY, ['check', '-c', file], { encoding: 'utf8' });
	assert.equal(wild.status, 2);
	assert.match(wild.stderr, /pushgate\.ini:6: acme gets no certificate for \*\.a\.test of \[route main\]: an authority makes one for a wildcard by a record of the DNS alone; name each host/);
	fs.rmSync(dir, { recursive: true });
});
