/* SPDX-License-Identifier: MIT */
/* Which version of HTTP tunnels use to an origin whose abilities change while pushgate runs. */
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { certs, freePort, scenario, section, until } from '../support/gate.mjs';

const port = await freePort();
const ORIGIN = section('origin main', { server: `https://localhost:${port}`, 'tls-ca': certs().file('ca.pem') });
const OPTIONS = { origins: {}, routes: ORIGIN + section('route main', { origin: 'main', upgrade: 'echo' }) };

/* An origin that speaks HTTP/2 alone. */
async function origin(s, enableConnectProtocol) {
	const server = http2.createSecureServer({ ...certs().server, settings: { enableConnectProtocol } });
	const sessions = new Set();
	server.on('session', (session) => sessions.add(session.on('error', () => {})));
	server.on('stream', (stream) => stream.on('error', () => {}).respond({ ':status': 200 }));
	server.on('unknownProtocol', (socket) => socket.destroy());
	server.listen(port, '127.0.0.1');
	const close = () => {
		sessions.forEach((session) => session.destroy());
		return new Promise((resolve) => { server.close(resolve); });
	};
	s.cleanups.push(() => close().catch(() => {}));
	await until('the origin listens', () => server.listening);
	return close;
}

async function ask(client, stream) {
	client.headers(stream, { ':method': 'CONNECT', ':protocol': 'echo', ':scheme': 'http', ':authority': client.authority, ':path': '/' });
	return (await client.expectHead(stream)).headers;
}

// covers: R210
scenario('an origin that has learnt RFC 8441 gets tunnels, though it spoke HTTP/2 without it before', OPTIONS, async (s) => {
	const client = await s.connect();
	await client.ready();
	const close = await origin(s, false);
	const refusal = await ask(client, 1); /* HTTP/1.1 is tried, in vain */
	assert.equal(refusal[':status'], '501');
	assert.match(refusal['proxy-status'], /; error=http_upgrade_failed; details="origin-no-tunnel"$/);
	const line = await s.gate.access((l) => l.status === 501);
	assert.match(line.detail, new RegExp(`${port}`));
	await close();
	await origin(s, true);
	let status, stream = 3;
	for (; stream < 9 && status !== '200'; stream += 2)
		status = (await ask(client, stream))[':status'];
	assert.equal(status, '200');
});
