/* SPDX-License-Identifier: MIT */
/*
 * Certificates of clients: who gets in at which host, whose session is resumed where, which request is served on which
 * connection, and what the origin is told (RFC 9440). Clients: Node, curl, openssl s_client.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import tls from 'node:tls';
import { Gate, certs, freePort, scenario, section, until, workDir } from '../support/gate.mjs';
import { recordingOrigin } from '../support/http1.mjs';
import { run } from '../support/programs.mjs';
import { reload } from '../support/reloads.mjs';

const dir = workDir();
execFileSync(new URL('../support/client-certs', import.meta.url).pathname, [dir]);
const file = (name) => path.join(dir, name);
const pair = (name) => (name ? { cert: fs.readFileSync(file(`${name}.pem`)), key: fs.readFileSync(file(`${name}.key`)) } : {});
const item = (name) => `:${new X509Certificate(fs.readFileSync(file(`${name}.pem`))).raw.toString('base64')}:`;
const own = () => ({ certificate: certs().file('ecdsa.pem'), key: certs().file('ecdsa.key') });

/* One request over HTTP/1.1 on a connection of its own. status 0: there was no answer. */
const ask = (s, { sni = 'localhost', cert, host = sni, target = '/', fields = [], port = s.port, session, version }) => new Promise((resolve) => {
	const got = { text: '', sessions: [], status: 0 };
	const socket = tls.connect({
		port, host: '127.0.0.1', servername: sni ?? '', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'], session,
		minVersion: version, maxVersion: version, ...pair(cert),
	});
	socket.on('session', (ticket) => got.sessions.push(ticket));
	socket.on('secureConnect', () => {
		got.reused = socket.isSessionReused();
		socket.write([`GET ${target} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...fields].join('\r\n') + '\r\n\r\n');
	});
	socket.on('data', (bytes) => { got.text += bytes; });
	socket.on('error', (error) => { got.error = error.code; });
	socket.on('close', () => {
		got.status = Number(/^HTTP\/1\.1 (\d+)/.exec(got.text)?.[1] ?? 0);
		if (got.status === 200)
			got.seen = JSON.parse(got.text.slice(got.text.indexOf('{'), got.text.lastIndexOf('}') + 1));
		resolve(got);
	});
});

/* The fields of the request as the origin got it whose names a program may read as this one. */
const told = (got, name) => got.seen.fields.filter(([n]) => n.toLowerCase().replace(/[^a-z0-9]/g, '-') === name).map(([, value]) => value);

async function origin(s, options = {}) {
	const o = await recordingOrigin(options);
	s.cleanups.push(() => o.close());
	s.options.origins = { main: { server: `http://127.0.0.1:${o.port}` } };
	return o;
}

const listenWith = (crl) => ({
	...own(),
	'client-ca': [
		`${file('ca.pem')} required host=closed.test,*.closed.test crl=${crl ?? file('crl.pem')}`,
		`${file('ca.pem')} host=open.test optional`,
		`${file('other-ca.pem')} host=theirs.test`,
	],
});
const GATE = { listen: listenWith(), prepare: async (s) => { s.origin = await origin(s); } };

// covers: R760
scenario('a host that wants certificates takes those of its authorities alone', GATE, async (s) => {
	for (const [sni, cert, status] of [
		['closed.test', undefined, 0], ['closed.test', 'mallory', 0], ['closed.test', 'expired', 0], ['closed.test', 'server', 0],
		['closed.test', 'early', 0], ['closed.test', 'bob', 0], ['closed.test', 'alice', 200], ['a.closed.test', 'alice', 200], ['a.closed.test', undefined, 0],
		['open.test', undefined, 200], ['open.test', 'alice', 200], ['open.test', 'bob', 200], ['open.test', 'mallory', 0],
		['theirs.test', 'mallory', 200], ['theirs.test', 'alice', 0], ['localhost', undefined, 200], ['localhost', 'mallory', 200],
	])
		for (const version of ['TLSv1.2', 'TLSv1.3']) {
			const got = await ask(s, { sni, cert, version });
			assert.equal(got.status, status, `${sni} ${cert} ${version}: ${got.error} ${got.text}`);
		}
	await s.gate.error(/TLS handshake failed: peer did not return a certificate/);
});

// covers: R760
scenario('curl and openssl s_client are let in with the right certificate, and with no other', GATE, async (s) => {
	for (const [cert, isGood] of [[undefined, false], ['mallory', false], ['expired', false], ['early', false], ['bob', false], ['alice', true]]) {
		const show = cert ? ['--cert', file(`${cert}.pem`), '--key', file(`${cert}.key`)] : [];
		for (const [option, version] of [['--http2', '2'], ['--http1.1', '1.1']]) {
			const curl = await run('curl', ['-sk', option, '-o', '/dev/null', '-w', '%{http_code} %{http_version}', '--resolve', `closed.test:${s.port}:127.0.0.1`,
				...show, `https://closed.test:${s.port}/`]);
			assert.equal(curl.stdout, isGood ? `200 ${version}` : '000 0', `curl ${option} ${cert} ${curl.stderr}`);
		}
		const shown = cert ? ['-cert', file(`${cert}.pem`), '-key', file(`${cert}.key`)] : [];
		const openssl = await run('openssl', ['s_client', '-connect', `127.0.0.1:${s.port}`, '-servername', 'closed.test', '-quiet', ...shown],
			{ input: 'GET / HTTP/1.1\r\nHost: closed.test\r\nConnection: close\r\n\r\n' });
		assert.deepEqual([/alert/.test(openssl.stderr), /^HTTP\/1\.1 200/.test(openssl.stdout)], [!isGood, isGood], `openssl ${cert} ${openssl.stderr}`);
	}
});

// covers: R761
scenario('on the connection of one host no request is served for another one with other authorities', GATE, async (s) => {
	for (const [sni, cert, host, status] of [
		['localhost', undefined, 'closed.test', 421], ['localhost', undefined, 'CLOSED.test.', 421], ['localhost', undefined, 'closed.test:443', 421],
		['localhost', undefined, 'a.closed.test', 421], ['localhost', undefined, 'open.test', 421], ['localhost', undefined, 'closed%2etest', 421],
		['open.test', undefined, 'closed.test', 421], ['open.test', 'alice', 'closed.test', 421], ['open.test', 'alice', 'localhost', 421],
		['closed.test', 'alice', 'theirs.test', 421], ['theirs.test', 'mallory', 'closed.test', 421], [undefined, undefined, 'closed.test', 421],
		['closed.test', 'alice', 'b.closed.test', 200], ['a.closed.test', 'alice', 'closed.test', 200], ['localhost', undefined, 'other.test', 200],
		[undefined, undefined, 'localhost', 200],
	]) {
		const got = await ask(s, { sni: sni ?? null, cert, host });
		assert.equal(got.status, status, `${sni} ${cert} ${host}: ${got.text}`);
	}
	const client = await s.connect({ tls: { servername: 'localhost', rejectUnauthorized: false } });
	client.request(1, { ':authority': 'closed.test' });
	client.request(3, { ':authority': 'localhost' });
	assert.equal((await client.response(1)).status, 421);
	assert.equal((await client.response(3)).status, 200);
	const line = await s.gate.access((x) => x.authority === 'closed.test' && x.status === 421);
	assert.match(line.detail, /other certificates/);
});

// covers: R762
scenario('a session is resumed at the host and the listener where it began, and nowhere else', {
	listen: listenWith(),
	prepare: async (s) => {
		s.origin = await origin(s);
		s.other = await freePort();
		s.options.extra = section('listen other', { address: `127.0.0.1:${s.other}`, ...listenWith() });
	},
}, async (s) => {
	for (const version of ['TLSv1.2', 'TLSv1.3']) {
		const of = async (sni, cert) => {
			const got = await ask(s, { sni, cert, version });
			assert.equal(got.status, 200);
			return got.sessions.at(-1);
		};
		const [open, alice, plain] = [await of('open.test'), await of('closed.test', 'alice'), await of('localhost')];
		const again = await ask(s, { sni: 'closed.test', version, session: alice });
		assert.deepEqual([again.status, again.reused], [200, true]);
		assert.deepEqual(told(again, 'client-cert'), [item('alice')]);
		assert.equal((await ask(s, { sni: 'open.test', version, session: open })).reused, true);
		for (const session of [open, plain, alice])
			for (const [sni, port] of [['theirs.test', s.port], ['closed.test', s.other]])
				assert.equal((await ask(s, { sni, port, version, session })).status, 0, `${sni} ${port}`);
		for (const session of [open, plain])
			assert.equal((await ask(s, { sni: 'closed.test', version, session })).status, 0);
		for (const session of [plain, alice]) {
			const got = await ask(s, { sni: 'open.test', version, session });
			assert.deepEqual([got.status, got.reused], [200, false]);
			assert.deepEqual(told(got, 'client-cert'), []);
		}
	}
});

/* What openssl s_client prints of a connection with these options, and the status of its answer: 0: none. */
async function session(s, sni, options, { port = s.port, host = sni, input = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n` } = {}) {
	const { stdout } = await run('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', sni, '-ign_eof', ...options], { input });
	return { isResumed: /^Reused, /m.test(stdout), status: Number(/HTTP\/1\.1 (\d+)/.exec(stdout)?.[1] ?? 0), text: stdout };
}
const shown = (name) => ['-cert', file(`${name}.pem`), '-key', file(`${name}.key`)];

// covers: R762
scenario('gateways with the same ticket-keys resume a session with a certificate alike, and none that began where nobody asks', {
	prepare: async (s) => {
		s.origin = await origin(s);
		fs.writeFileSync(path.join(s.dir, 'keys'), `${'5a'.repeat(32)}\n`, { mode: 0o600 });
		s.options.server = { 'ticket-keys': path.join(s.dir, 'keys') };
		s.options.listen = listenWith();
	},
}, async (s) => {
	const another = async (name, listen) => {
		const port = await freePort(), folder = path.join(s.dir, name);
		fs.mkdirSync(folder);
		const config = section('server', { 'error-log': path.join(folder, 'error.log'), ...s.options.server }) + section('listen main', { address: `127.0.0.1:${port}`, ...listen })
			+ section('origin main', s.options.origins.main) + section('route main', { origin: 'main' });
		const gate = new Gate({ config, dir: folder, ports: [port] });
		s.cleanups.push(() => gate.stop());
		await gate.listening();
		return port;
	};
	const [same, plain] = [await another('same', listenWith()), await another('plain', own())];
	for (const version of ['TLSv1.2', 'TLSv1.3']) {
		const began = async (sni, port, cert) => (await ask(s, { sni, port, cert, version })).sessions.at(-1);
		const [alice, none, nobody] = [await began('closed.test', s.port, 'alice'), await began('closed.test', plain), await began('open.test', plain)];
		const there = await ask(s, { sni: 'closed.test', port: same, version, session: alice });
		assert.deepEqual([there.reused, told(there, 'client-cert')], [true, [item('alice')]]);
		assert.equal((await ask(s, { sni: 'closed.test', version, session: none })).status, 0);
		for (const [sni, port, session] of [['open.test', s.port, nobody], ['closed.test', plain, alice]]) {
			const got = await ask(s, { sni, port, version, session });
			assert.deepEqual([got.status, got.reused, told(got, 'client-cert')], [200, false, []], `${sni} ${version}`);
		}
	}
});

// covers: R762
scenario('openssl resumes a session at the host where it began, and at no other host or listener', {
	listen: listenWith(),
	prepare: async (s) => {
		s.origin = await origin(s);
		s.other = await freePort();
		s.options.extra = section('listen other', { address: `127.0.0.1:${s.other}`, ...listenWith() });
	},
}, async (s) => {
	for (const version of ['-tls1_2', '-tls1_3']) {
		const kept = path.join(s.dir, `session${version}`), ticket = [version, '-sess_in', kept];
		const first = await session(s, 'closed.test', [version, ...shown('alice'), '-sess_out', kept]);
		assert.equal(first.status, 200, first.text);
		const again = await session(s, 'closed.test', ticket);
		assert.deepEqual([again.isResumed, again.status], [true, 200], again.text);
		assert.ok(s.origin.requests.at(-1).fields.some(([n, v]) => n.toLowerCase() === 'client-cert' && v === item('alice')));
		for (const [sni, port, status] of [['theirs.test', s.port, 0], ['closed.test', s.other, 0], ['open.test', s.port, 200], ['localhost', s.port, 200]]) {
			const elsewhere = await session(s, sni, ticket, { port });
			assert.deepEqual([elsewhere.isResumed, elsewhere.status], [false, status], `${version} ${sni} ${elsewhere.text}`);
			assert.ok(status === 0 || !s.origin.requests.at(-1).fields.some(([n]) => n.toLowerCase() === 'client-cert'));
		}
	}
});

// covers: R761
scenario('behind the handshake no certificate is asked for, however ready the client is', GATE, async (s) => {
	const ready = await session(s, 'localhost', ['-tls1_3', '-enable_pha', ...shown('alice')], { host: 'closed.test' });
	assert.equal(ready.status, 421, ready.text);
	/* In a line of its own it starts a renegotiation. */
	const again = await run('openssl', ['s_client', '-connect', `127.0.0.1:${s.port}`, '-servername', 'localhost', '-tls1_2', ...shown('alice')], { input: 'R\n' });
	assert.match(again.stdout + again.stderr, /RENEGOTIATING\n[^]*no renegotiation/);
});

const FORGED = ['Client-Cert: :Zm9yZ2Vk:', 'client_cert: :Zm9yZ2Vk:', 'Client.Cert: :Zm9yZ2Vk:', 'CLIENT-CERT-CHAIN: :Zm9yZ2Vk:', 'Client_Cert-Chain: :Zm9yZ2Vk:'];

// covers: R763
scenario('the origin gets the certificate that was verified, and nothing that a client says of one', {
	listen: listenWith(),
	prepare: async (s) => {
		s.origin = await origin(s);
		s.plain = await freePort();
		fs.writeFileSync(path.join(s.dir, 'x'), '');
		s.options.extra = section('listen plain', { address: `127.0.0.1:${s.plain}` });
		s.options.routes = section('route main', { origin: 'main' }) + section('route chain', { origin: 'main', path: '/chain', 'client-cert': 'chain' })
			+ section('route no', { origin: 'main', path: '/no', 'client-cert': 'no' });
	},
}, async (s) => {
	const chained = fs.readFileSync(file('alice.pem'), 'latin1') + fs.readFileSync(file('ca.pem'), 'latin1');
	fs.writeFileSync(file('chained.pem'), chained);
	fs.copyFileSync(file('alice.key'), file('chained.key'));
	for (const [target, cert, leaf, chain] of [
		['/', 'alice', [item('alice')], []], ['/', undefined, [], []], ['/chain', 'alice', [item('alice')], []],
		['/chain', 'chained', [item('alice')], [item('ca')]], ['/', 'chained', [item('alice')], []], ['/no', 'alice', [], []],
	])
		for (const fields of [[], FORGED]) {
			const got = await ask(s, { sni: 'open.test', cert, target, fields });
			assert.equal(got.status, 200, got.text);
			assert.deepEqual([told(got, 'client-cert'), told(got, 'client-cert-chain')], [leaf, chain], `${target} ${cert}`);
		}
	const line = await s.gate.access((x) => x.path === '/chain' && x.client_cert);
	assert.deepEqual([line.client_cert, line.client_cert_sha256], ['CN=alice,O=Example', new X509Certificate(fs.readFileSync(file('alice.pem'))).fingerprint256.replaceAll(':', '').toLowerCase()]);
	const client = await s.connect({ tls: { servername: 'localhost', rejectUnauthorized: false } });
	client.request(1, { ':authority': 'localhost', path: '/h2', 'client-cert': ':Zm9yZ2Vk:', 'client_cert': ':Zm9yZ2Vk:', 'client-cert-chain': ':Zm9yZ2Vk:' });
	assert.equal((await client.response(1)).status, 200);
	assert.deepEqual((await s.origin.request('/h2')).fields.filter(([n]) => /cert/i.test(n)), []);
	/* Nor as trailers. */
	const forged = `0\r\n${FORGED.join('\r\n')}\r\nkept: yes`;
	const trailed = await ask(s, { sni: 'open.test', cert: 'alice', target: '/trailed', fields: ['Transfer-Encoding: chunked', 'Trailer: client-cert, kept', '', forged] });
	assert.equal(trailed.status, 200, trailed.text);
	const { fields, trailers } = await s.origin.request('/trailed');
	assert.deepEqual([trailers.map(([n]) => n.toLowerCase()), told({ seen: { fields } }, 'client-cert')], [['kept'], [item('alice')]]);
});

// covers: R764
scenario('conditions of access rules and routes are about the certificate', {
	listen: { ...listenWith(), access: 'site' },
	prepare: async (s) => {
		s.origin = await origin(s);
		s.options.extra = section('access site', {
			deny: ['cert=email:bob@example.com', 'cert=dns:bob.*,dns:nobody.example'],
			allow: ['cert=cn:alice path=/people/*', '"cert=subject:CN=alice,O=Example" path=/subject', 'cert=sha256:00* path=/print', 'cert=* path=/any', 'path=/free*'],
		});
		s.options.routes = section('route plain', { answer: '404' }) + section('route alice', { origin: 'main', cert: 'uri:spiffe://example.com/* dns:x.example' });
	},
}, async (s) => {
	for (const [target, cert, status] of [
		['/people/x', 'alice', 200], ['/people/x', undefined, 403], ['/subject', 'alice', 200], ['/print', 'alice', 403], ['/any', 'alice', 200],
		['/any', undefined, 403], ['/any', 'bob', 403], ['/free', 'bob', 403], ['/free', 'alice', 200], ['/free', undefined, 404],
	]) {
		const got = await ask(s, { sni: 'open.test', cert, target });
		assert.equal(got.status, status, `${target} ${cert}: ${got.text}`);
	}
});

// covers: R765
scenario('a new list of revoked certificates counts for the next handshake, without another generation', {
	single: false,
	prepare: async (s) => {
		s.origin = await origin(s);
		fs.copyFileSync(file('empty.crl'), path.join(s.dir, 'current.crl'));
		s.options.listen = listenWith(path.join(s.dir, 'current.crl'));
	},
}, async (s) => {
	await s.gate.error(/ ready\n/);
	const before = await ask(s, { sni: 'closed.test', cert: 'bob' });
	assert.equal(before.status, 200);
	fs.copyFileSync(file('crl.pem'), path.join(s.dir, 'current.crl'));
	await reload(s, /reload: new connections use the new certificates/g);
	await until('bob is refused', async () => (await ask(s, { sni: 'closed.test', cert: 'bob' })).status === 0);
	assert.equal((await ask(s, { sni: 'closed.test', session: before.sessions.at(-1) })).status, 0);
	assert.equal((await ask(s, { sni: 'closed.test', cert: 'alice' })).status, 200);
});

// covers: R766
scenario('an origin that asks for a certificate gets that of its section, and another origin does not', {
	prepare: async (s) => {
		const asks = { ...certs().server, requestCert: true, rejectUnauthorized: true, ca: fs.readFileSync(file('ca.pem')) };
		s.origin = await recordingOrigin({ tls: asks });
		s.cleanups.push(() => s.origin.close());
		const to = { server: `https://127.0.0.1:${s.origin.port}`, 'tls-ca': certs().file('ca.pem'), 'tls-name': 'localhost' };
		s.options.origins = {
			main: { ...to, config: { 'client-certificate': `${file('alice.pem')} ${file('alice.key')}` } }, none: to,
		};
		for (const o of Object.values(s.options.origins)) {
			const { server, config, ...rest } = o;
			Object.assign(o, { server, config: { ...rest, ...config } });
		}
		s.options.routes = section('route main', { origin: 'main' }) + section('route none', { origin: 'none', path: '/none' });
	},
	tls: true,
}, async (s) => {
	assert.equal((await ask(s, { target: '/' })).status, 200);
	assert.equal((await ask(s, { target: '/none' })).status, 502);
	assert.equal((await ask(s, { target: '/' })).status, 200);
	assert.equal(s.origin.connections[0].socket.getPeerCertificate().subject.CN, 'alice');
});

/* ---- pushes ---- */

const FRESH = { 'cache-control': 'public, max-age=60' };
const as = (servername, cert) => ({ settings: { enablePush: 0 }, authority: servername, tls: { servername, rejectUnauthorized: false, ...pair(cert) } });

// covers: R767
for (const [who, cert, isShared] of [['without a certificate serves others', undefined, true], ['with one serves nobody else', 'alice', false]])
	scenario(`what was held for a client ${who}, and itself`, {
		listen: listenWith(), server: { 'hold-shared': 'yes' }, extra: section('push hold', { action: 'hold' }),
	}, async (s) => {
		const { client, origin, up } = await s.open({ client: as('open.test', cert) });
		for (const [stream, target] of [[2, '/a.css'], [4, '/b.css']]) {
			origin.push(up, stream, target);
			origin.respond(stream, { fields: FRESH, body: 'held' });
		}
		origin.respond(up.stream, { body: 'page' });
		await client.response(1);
		await s.settle(client, origin);
		client.request(3, { path: '/b.css' });
		assert.equal(String((await client.response(3)).body), 'held');
		const other = await s.connect(as('open.test', cert));
		other.request(1, { path: '/a.css' });
		if (!isShared) {
			const asked = await origin.expectRequest('/a.css');
			origin.respond(asked.stream, { body: 'its own' });
		}
		assert.equal(String((await other.response(1)).body), isShared ? 'held' : 'its own');
	});

// covers: R767
scenario('what is pushed for one certificate is for nobody with another one, and for nobody without', {
	listen: listenWith('empty'), server: { 'hold-shared': 'yes' }, extra: section('push hold', { action: 'hold' }),
	prepare: (s) => { s.options.listen = listenWith(file('empty.crl')); },
}, async (s) => {
	const { client, origin, up } = await s.open({ client: as('closed.test', 'alice') });
	for (const [stream, target] of [[2, '/a.css'], [4, '/b.css'], [6, '/own.css']]) {
		origin.push(up, stream, target);
		origin.respond(stream, { fields: FRESH, body: "alice's" });
	}
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	await s.settle(client, origin);
	for (const [cert, target] of [['bob', '/a.css'], ['carol', '/b.css']]) {
		const other = await s.connect(as(cert === 'bob' ? 'closed.test' : 'open.test', cert === 'bob' ? cert : undefined));
		other.request(1, { path: target });
		const asked = await origin.expectRequest(target);
		assert.equal(asked.headers['client-cert'], cert === 'bob' ? item(cert) : undefined);
		origin.respond(asked.stream, { body: 'its own' });
		assert.equal(String((await other.response(1)).body), 'its own');
	}
	client.request(3, { path: '/own.css' });
	assert.equal(String((await client.response(3)).body), "alice's");
});

// covers: R767
scenario('nothing is remembered of a client with a certificate', {
	listen: listenWith(), server: { 'status-socket': 'status' }, origin: { push: 'refuse' }, extra: section('preload pages', { remembered: 'propose' }),
}, async (s) => {
	let origin;
	for (const [page, cert] of [['/secret', 'alice'], ['/open', undefined]]) {
		const client = await s.connect(as('open.test', cert));
		client.request(1, { path: page, 'sec-fetch-mode': 'navigate' });
		origin ??= await s.accept();
		origin.respond((await origin.expectRequest(page)).stream, { fields: { 'content-type': 'text/html' }, body: 'page' });
		await client.response(1);
		client.request(3, { path: `${page}.css`, referer: `https://open.test${page}` });
		origin.respond((await origin.expectRequest(`${page}.css`)).stream, { body: 'css' });
		await client.response(3);
	}
	const known = () => s.gate.status().split('\n').filter((line) => line.startsWith('# remembered: '));
	/* Lessons are taken in the order in which they came. */
	await until('the page is known', () => known().some((line) => line.includes('open.test/open: 1 client')), 60_000);
	assert.equal(known().length, 1);
});

// covers: R767
scenario('a push of our own is asked for with the certificate of the client that gets it, which is not told', {
	listen: listenWith(), origin: { push: 'refuse' },
	extra: section('preload mine', { add: '/mine.css', path: '/' }) + section('push all', { action: 'forward' }),
	prepare: (s) => { s.options.routes = section('route alice', { origin: 'main', path: '/mine.css', cert: 'cn:alice', 'request-set': 'x-route: alice' }) + section('route main', { origin: 'main' }); },
}, async (s) => {
	let origin;
	for (const cert of ['alice', undefined]) {
		const client = await s.connect({ ...as('open.test', cert), settings: {} });
		client.request(1, {});
		const push = await client.expectPromise('/mine.css');
		assert.equal(push.headers['client-cert'], undefined);
		origin ??= await s.accept();
		for (const target of ['/', '/mine.css']) {
			const asked = await origin.expectRequest(target);
			assert.equal(asked.headers['client-cert'], cert ? item(cert) : undefined);
			assert.equal(asked.headers['x-route'], target === '/' ? undefined : cert);
			origin.respond(asked.stream, { body: target });
		}
		assert.equal(String((await client.response(push.promised)).body), '/mine.css');
		await client.response(1);
	}
});

// covers: R767
for (const [asks, reason] of [[false, 'rule'], [true, 'downstream-authority']])
	scenario(`a promise for another host, whose clients are asked for ${asks ? 'something else' : 'nothing either'}`, {
		listen: { ...own(), ...(asks ? { 'client-ca': `${file('ca.pem')} host=localhost` } : {}) }, extra: section('push all', { action: 'forward' }),
	}, async (s) => {
		const { client, origin, up } = await s.open({ client: { ...as('localhost', 'alice'), settings: {} } });
		origin.push(up, 2, '/a.css', { ':authority': '127.0.0.1' });
		origin.respond(up.stream, { body: 'page' });
		await client.response(1);
		assert.equal((await s.gate.access((l) => l.push)).reason, reason);
	});
