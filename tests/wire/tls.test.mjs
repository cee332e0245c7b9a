/* SPDX-License-Identifier: MIT */
/* TLS on either hop: certificates, sessions, handshakes that fail. What RFC 9113 3.3 and 9.2 ask of the listener: conformance-server-connection.test.mjs. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import http from 'node:http';
import https from 'node:https';
import tls from 'node:tls';
import { certs, freePort, scenario, section, until } from '../support/gate.mjs';
import { listen } from '../support/peer.mjs';

const shake = (port, options) => new Promise((resolve) => {
	const socket = tls.connect({ port, host: '127.0.0.1', ca: certs().ca, servername: 'localhost', ...options });
	socket.once('secureConnect', () => resolve(socket));
	socket.once('error', (error) => resolve(error));
});

/* A server that ends each connection with its response. Tells which handshakes resumed a session. */
async function resuming() {
	const server = https.createServer(certs().server, (request, response) => {
		response.writeHead(200, { connection: 'close' }).end(String(server.port));
	});
	server.seen = [];
	server.on('secureConnection', (socket) => server.seen.push(socket.isSessionReused()));
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	server.port = server.address().port;
	server.unref();
	return server;
}
const servers = [await resuming(), await resuming()];

for (const version of ['TLSv1.2', 'TLSv1.3'])
	scenario(`${version} with ALPN h2 is served`, { tls: true }, async (s) => {
		const { client, origin, up } = await s.open({ client: { tls: { minVersion: version, maxVersion: version } } });
		assert.equal(client.socket.getProtocol(), version);
		assert.equal(client.socket.alpnProtocol, 'h2');
		origin.respond(up.stream, { body: 'x' });
		assert.equal((await client.response(1)).status, 200);
	});
scenario('cleartext on a TLS port ends the connection', { tls: true }, async (s) => {
	const client = await s.connect({ tls: false });
	await client.expectClosed();
});
scenario('both certificates, RSA and ECDSA, are served to whom they suit', {
	listen: { certificate: [certs().file('ecdsa.pem'), certs().file('rsa.pem')], key: [certs().file('ecdsa.key'), certs().file('rsa.key')] },
}, async (s) => {
	const kind = async (options) => {
		const c = await s.connect({ tls: { maxVersion: 'TLSv1.2', ...options } });
		const { asn1Curve, bits } = c.socket.getPeerCertificate();
		c.close();
		return asn1Curve ? 'ecdsa' : bits && 'rsa';
	};
	assert.equal(await kind({}), 'ecdsa');
	assert.equal(await kind({ ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }), 'ecdsa');
	const rsa = await shake(s.port, { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256', ALPNProtocols: ['h2'] });
	if (!(rsa instanceof Error))
		assert.ok(!rsa.getPeerCertificate().asn1Curve);
	rsa.destroy?.();
});
scenario('a session is resumed', { tls: true }, async (s) => {
	const first = await shake(s.port, { ALPNProtocols: ['h2'], maxVersion: 'TLSv1.2' });
	const session = first.getSession();
	first.destroy();
	const second = await shake(s.port, { ALPNProtocols: ['h2'], maxVersion: 'TLSv1.2', session });
	assert.equal(second.isSessionReused(), true);
	second.destroy();
});
scenario('every worker resumes a session, also one that was started again', { tls: true, single: false, server: { workers: 3 } }, async (s) => {
	const options = { ALPNProtocols: ['h2'], maxVersion: 'TLSv1.2' };
	const first = await shake(s.port, options);
	const session = first.getSession();
	first.destroy();
	const resume = async () => {
		for (let i = 0; i < 15; i++) {
			const next = await shake(s.port, { ...options, session });
			assert.equal(next.isSessionReused(), true);
			next.destroy();
		}
	};
	await resume();
	for (const pid of s.gate.workers())
		process.kill(pid, 'SIGKILL');
	for (const worker of [0, 1, 2])
		await s.gate.error(new RegExp(`worker ${worker} \\(process \\d+\\) is up again`));
	await resume();
});
scenario('a client that closes in the middle of the handshake costs nothing', { tls: true }, async (s) => {
	/* The port answers before the start has opened everything else. */
	const first = await s.connect();
	await first.ready();
	const before = s.gate.descriptors();
	for (let i = 0; i < 20; i++) {
		const client = await s.connect({ tls: false, settings: null });
		client.raw(Buffer.from('16030100050100', 'hex')).close();
	}
	const client = await s.connect();
	await client.ready();
	client.close();
	const other = await s.connect();
	await other.sync();
	await until(() => `${before} descriptors again, and a few; it has ${s.gate.descriptors()}`, () => s.gate.descriptors() <= before + 4);
});

/* ---- toward the origin ---- */
scenario('an origin over TLS is asked for h2 and verified', { originTls: true }, async (s) => {
	const { client, origin, up } = await s.open();
	assert.equal(origin.socket.alpnProtocol, 'h2');
	assert.equal(origin.socket.servername, 'localhost');
	origin.respond(up.stream, { body: 'x' });
	assert.equal((await client.response(1)).status, 200);
});
for (const [what, config, ok] of [
	['that the authority does not know', { 'tls-ca': '/etc/ssl/certs/ca-certificates.crt' }, false],
	['for another name', { 'tls-ca': certs().file('ca.pem'), 'tls-name': 'elsewhere.test' }, false],
	['for the name that is asked for', { 'tls-ca': certs().file('ca.pem'), 'tls-name': 'a.test' }, true],
	['that nobody knows, unverified', { 'tls-verify': 'no' }, true],
]) {
	const port = await freePort();
	scenario(`an origin certificate ${what} is ${ok ? 'fine' : 'refused: 502'}`, {
		origins: { main: { server: `h2://127.0.0.1:${port}`, config } },
		skip: what.includes('authority does not know') && spawnSync('test', ['-r', '/etc/ssl/certs/ca-certificates.crt']).status !== 0,
	}, async (s) => {
		s.servers.main = await listen({ tls: certs().server, port, name: 'main' });
		const client = await s.connect();
		client.request(1);
		if (ok) {
			const origin = await s.accept();
			origin.respond((await origin.expectRequest()).stream, { body: 'x' });
		}
		assert.ok(ok ? (await client.response(1)).status === 200 : [502, 503].includes((await client.response(1)).status));
	});
}
{
	const h1 = tls.createServer({ ...certs().server, ALPNProtocols: ['http/1.1'] }, (socket) => socket.on('error', () => {}));
	h1.on('tlsClientError', () => {});
	await new Promise((resolve) => { h1.listen(0, '127.0.0.1', resolve); });
	h1.unref();
	scenario('an origin over TLS that does not speak h2 is refused: 502', {
		origins: { main: { server: `h2://localhost:${h1.address().port}`, config: { 'tls-ca': certs().file('ca.pem') } } },
	}, async (s) => {
		const client = await s.connect();
		client.request(1);
		const r = await client.response(1);
		assert.ok([502, 503].includes(r.status), `${r.status}`);
	});
}

/* ---- sessions with origins ---- */

scenario('connections that begin at the same time resume sessions, at each server of the origin', {
	origins: {}, single: true,
	routes: section('origin main', { server: servers.map((x) => `https://localhost:${x.port}`), 'tls-ca': certs().file('ca.pem'), 'max-connections': 8 })
		+ section('route main', { origin: 'main' }),
}, async (s) => {
	const ask = () => new Promise((resolve, reject) => {
		http.get({ port: s.port, host: '127.0.0.1', agent: false }, (r) => { r.resume().on('end', () => resolve(r.statusCode)); }).on('error', reject);
	});
	/* More connections are opened than are needed, so some handshakes of the first burst end in the next one. */
	let bursts = 0;
	const count = (server, isResumed) => server.seen.filter((x) => x === isResumed).length;
	const seen = () => servers.map((server) => server.seen.join()).join(' | ');
	while (servers.some((server) => count(server, true) < 24)) {
		assert.ok(bursts++ < 50, seen());
		assert.deepEqual(await Promise.all(Array.from({ length: 8 }, ask)), Array(8).fill(200));
	}
	/* With one session for all, one handshake in six is resumed. */
	for (const server of servers)
		assert.ok(count(server, false) < count(server, true), seen());
});
