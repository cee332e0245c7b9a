/* SPDX-License-Identifier: MIT */
/*
 * What pushgate itself says to a client names no address, no port, no errno, no origin and no file: those are in the
 * logs. An origin that speaks no HTTP/2 is named as that, in the logs and in Proxy-Status.
 */
// covers: R210 R211
import assert from 'node:assert/strict';
import { spawnSync, spawn } from 'node:child_process';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { createServer } from 'node:tls';
import { BINARY, certs, freePort, scenario } from '../support/gate.mjs';

const ORIGIN = 'secret-origin';

/* Any word of ours that a client may not read. */
function assertPublic(s, frame, port) {
	const text = JSON.stringify(frame.headers) + String(frame.body ?? '');
	for (const secret of ['127.0.0.1', 'localhost', ORIGIN, s.dir, '/tmp', 'ECONN', 'errno', 'Connection refused', 'Connection reset',
		'timed out', 'CERTIFICATE', 'alert:', 'recv', 'connect:', ...(port ? [String(port)] : [])])
		assert.ok(!text.includes(secret), `${secret} in ${text}`);
}

/* A server that is none of ours, for a scenario that is configured with its port. */
async function serve(server, port) {
	const sockets = new Set();
	server.on('connection', (socket) => sockets.add(socket));
	await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
	return () => new Promise((resolve) => {
		for (const socket of sockets)
			socket.destroy();
		server.close(resolve);
	});
}

const tcp = (answer) => net.createServer((socket) => {
	socket.on('error', () => {});
	answer(socket);
});
const tls = { cert: certs().server.cert, key: certs().server.key };

/* [what, scheme, server or null, status, error, details, detail in the access log] */
const cases = [
	['refuses connections', 'h2c', () => null, 503, 'connection_refused', 'origin-unreachable', /^127\.0\.0\.1:PORT: connect: Connection refused$/],
	['resets', 'h2c', () => tcp((c) => c.once('data', () => c.resetAndDestroy())), 503, 'connection_terminated', 'origin-unprocessed', /^127\.0\.0\.1:PORT: .*Connection reset/],
	['is silent', 'h2c', () => tcp(() => {}), 504, 'connection_timeout', 'connect-late', /^127\.0\.0\.1:PORT: no SETTINGS/, { 'settings-timeout': '300ms' }],
	['sends garbage', 'h2c', () => tcp((c) => c.end('garbage that is no frame')), 502, 'http_protocol_error', undefined, /./],
	['has a certificate of another name', 'h2', () => https.createServer({ ...tls, ALPNProtocols: ['h2'] }), 503, 'tls_certificate_error', 'origin-certificate', /^127\.0\.0\.1:PORT: /, { 'tls-name': 'elsewhere.test' }],
	['speaks no TLS', 'h2', () => tcp((c) => c.end('no TLS')), 503, 'tls_protocol_error', 'origin-tls', /^127\.0\.0\.1:PORT: /],
	['is a Node.js server of HTTP/1', 'h2c', () => http.createServer((q, r) => r.end('x')), 502, 'http_protocol_error', 'origin-not-http2',
		/^127\.0\.0\.1:PORT: it answered with HTTP\/1 \("HTTP\/1\.1 400 Bad Request"\); it must speak h2c with prior knowledge$/],
	['sends its HTTP/1 in small pieces', 'h2c', () => tcp((c) => {
		c.setNoDelay(true);
		let at = 0;
		const next = () => {
			const text = 'HTTP/1.0 501 No\r\n\r\n';
			if (at < text.length && !c.destroyed)
				c.write(text[at++], () => setTimeout(next, 2));
		};
		next();
	}), 502, 'http_protocol_error', 'origin-not-http2', /^127\.0\.0\.1:PORT: it answered with HTTP\/1 \("HTTP\/1\./],
	/* No https.createServer: that of Node.js 18 has a list of protocols of its own, and then goes on without one. */
	['offers HTTP/1 alone over TLS', 'h2', () => createServer({ ...tls, ALPNProtocols: undefined, ALPNCallback: () => undefined }, (c) => c.destroy()), 503, 'tls_alert_received', 'origin-alert',
		/^127\.0\.0\.1:PORT: it chose no protocol by ALPN; it must offer h2, or server = https:\/\/\.\.\. lets it speak HTTP\/1\.1$/],
	['speaks TLS without ALPN', 'h2', () => {
		const server = https.createServer(tls);
		server.ALPNProtocols = undefined;
		return server;
	}, 503, 'tls_(protocol_error|alert_received)', 'origin-(no-alpn|alert)', /^127\.0\.0\.1:PORT: it chose no protocol by ALPN; it must offer h2, or server = https:\/\/\.\.\. lets it speak HTTP\/1\.1$/],
];

for (const [what, scheme, make, status, error, details, detail, config = {}] of cases) {
	const port = await freePort();
	scenario(`an origin that ${what}: the client is told the kind, the log the rest`, {
		origins: { [ORIGIN]: { server: `${scheme}://${scheme === 'h2' ? 'localhost' : '127.0.0.1'}:${port}`,
			config: { 'tls-ca': scheme === 'h2' ? certs().file('ca.pem') : undefined, ...config } } },
	}, async (s) => {
		const server = make();
		if (server) {
			const stop = await serve(server, port);
			s.cleanups.push(stop);
		}
		const client = await s.connect();
		client.request(1, { path: '/asked' });
		const got = await client.response(1);
		assertPublic(s, got, port);
		assert.equal(got.headers[':status'], String(status));
		const said = got.headers['proxy-status'];
		assert.match(said, new RegExp(`; error=${error}(;|$)`));
		if (details)
			assert.match(said, new RegExp(`; details="${details}"$`));
		const line = await s.gate.access((l) => l.path === '/asked');
		assert.match(line.detail, new RegExp(detail.source.replace('PORT', port)));
		await s.gate.error(new RegExp(`origin ${ORIGIN} \\(`));
	});
}

scenario('an origin that was lost in the middle: the client is told the kind', { origins: { [ORIGIN]: {} } }, async (s) => {
	const client = await s.connect();
	client.request(1, { path: '/asked' });
	const origin = await s.accept(ORIGIN);
	await origin.expectRequest();
	origin.socket.resetAndDestroy();
	const got = await client.response(1);
	assertPublic(s, got);
	assert.equal(got.headers['proxy-status'].split('; ').pop(), 'details="origin-lost"');
	assert.match((await s.gate.access((l) => l.path === '/asked')).detail, /^127\.0\.0\.1:\d+/);
});

/* Nobody answers at the resolver's port. The start does not wait for it. */
const noResolver = await freePort();
scenario('a name that cannot be looked up: the client is told the kind, the log the rest', {
	server: { resolver: `127.0.0.1:${noResolver}`, 'dns-timeout': '200ms' },
	origins: { [ORIGIN]: { server: 'h2c://nowhere.internal.test:80' } },
}, async (s) => {
	const client = await s.connect();
	client.request(1, { path: '/asked' });
	const got = await client.response(1);
	assertPublic(s, got, noResolver);
	assert.doesNotMatch(JSON.stringify(got.headers) + String(got.body ?? ''), /nowhere|internal/);
	assert.equal(got.headers[':status'], '503');
	const line = await s.gate.access((l) => l.path === '/asked');
	assert.match(`${line.outcome} ${line.detail}`, /resolver/);
	await s.gate.error(new RegExp(`origin ${ORIGIN}: the name nowhere\\.internal\\.test cannot be looked up: there is no resolver at its address`));
});

const h1 = await freePort();
scenario('pushgate fetch names a server of HTTP/1', {}, async (s) => {
	const stop = await serve(http.createServer((q, r) => r.end('x')), h1);
	s.cleanups.push(stop);
	const child = spawn(BINARY, ['fetch', `http://127.0.0.1:${h1}/`]);
	let text = '';
	child.stderr.on('data', (d) => { text += d; });
	const code = await new Promise((resolve) => { child.once('close', resolve); });
	assert.equal(code, 92);
	assert.match(text, new RegExp(`127\\.0\\.0\\.1:${h1} answered with HTTP/1 \\("HTTP/1\\.1 400 Bad Request"\\): it does not speak h2c with prior knowledge; --http1\\.1 asks in HTTP/1\\.1`));
});
