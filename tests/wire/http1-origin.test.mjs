/* SPDX-License-Identifier: MIT */
/*
 * Origins over TLS: which protocol is spoken with them, and how the end of the TLS stream ends a response. Uploads that
 * an origin answers before it has read them.
 */
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import tls from 'node:tls';
import { certs, freePort, scenario, section } from '../support/gate.mjs';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/* An origin that calls onRequest(socket, head) for each head; `connections` counts what it has accepted. */
async function origin(s, port, { alpn, secure = true, onRequest = (socket) => socket.write(OK) }) {
	const it = { connections: 0, heads: [] }, sockets = [];
	const onSocket = (socket) => {
		let text = '';
		it.connections++;
		sockets.push(socket);
		socket.on('error', () => {});
		socket.on('data', (bytes) => {
			text += bytes.toString('latin1');
			for (let end; (end = text.indexOf('\r\n\r\n')) >= 0;) {
				it.heads.push(text.slice(0, end));
				text = text.slice(end + 4);
				onRequest(socket, it.heads.at(-1));
			}
		});
	};
	const server = secure ? tls.createServer({ ...certs().server, ALPNProtocols: alpn }, onSocket) : net.createServer(onSocket);
	server.on('tlsClientError', () => {});
	s.cleanups.push(() => {
		server.close(); /* not waited for: connections in their handshake end with the gateway */
		sockets.forEach((socket) => socket.destroy());
	});
	await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
	return it;
}

/* Resolves with { status, body, isWhole } in HTTP/1.1. */
function ask(port, path, { method = 'GET', body } = {}) {
	return new Promise((resolve) => {
		const request = http.request({ port, host: '127.0.0.1', path, method, agent: false, headers: { host: 'a.test' } }, (r) => {
			let text = '';
			const done = (isWhole) => resolve({ status: r.statusCode, body: text, isWhole });
			r.setEncoding('latin1');
			r.on('data', (part) => { text += part; });
			r.on('end', () => done(r.complete));
			r.on('error', () => done(false));
		});
		request.on('error', (error) => resolve({ error }));
		body ? body(request) : request.end();
	});
}

const at = async (scheme, config = {}) => {
	const port = await freePort();
	return {
		port,
		options: {
			origins: {}, routes: section('origin main', { server: `${scheme}://localhost:${port}`, 'tls-ca': certs().file('ca.pem'), ...config })
				+ section('route main', { origin: 'main' }),
		},
	};
};

for (const [name, alpn] of [['http/1.1 by ALPN', ['http/1.1']], ['no ALPN', undefined]]) {
	const { port, options } = await at('https');
	scenario(`an https origin with ${name} speaks HTTP/1.1, which is remembered`, options, async (s) => {
		const o = await origin(s, port, { alpn });
		for (let i = 0; i < 3; i++)
			assert.deepEqual(await ask(s.port, `/${i}`), { status: 200, body: 'ok', isWhole: true });
		assert.equal(o.connections, 1);
		const line = await s.gate.access((x) => x.path === '/2');
		assert.equal(line.origin_protocol, 'http/1.1');
		const all = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(s.port, `/many/${i}`)));
		assert.ok(all.every((r) => r.status === 200 && r.isWhole));
		assert.ok(o.connections <= 20, `${o.connections} connections`);
	});
}

{
	const { port, options } = await at('h2');
	scenario('an h2 origin that does not choose h2 gets no request', options, async (s) => {
		const o = await origin(s, port, { alpn: undefined });
		assert.equal((await ask(s.port, '/')).status, 503);
		assert.deepEqual(o.heads, []);
		await s.gate.error(/cannot speak HTTP\/2.*must offer h2.*server = https:/);
	});
}

{
	const { port, options } = await at('https');
	scenario('a response without length over TLS is complete only with close_notify', options, async (s) => {
		await origin(s, port, {
			alpn: ['http/1.1'],
			onRequest(socket, head) {
				socket.write('HTTP/1.1 200 OK\r\n\r\nsome');
				/* The second way ends TCP below TLS. */
				if (head.startsWith('GET /whole'))
					socket.end();
				else
					setTimeout(() => socket._parent?.end() ?? socket.destroy(), 50);
			},
		});
		assert.deepEqual(await ask(s.port, '/whole'), { status: 200, body: 'some', isWhole: true });
		const cut = await ask(s.port, '/cut');
		assert.ok(cut.error || !cut.isWhole, JSON.stringify(cut));
	});
}

{
	const port = await freePort();
	const options = {
		origins: {}, routes: section('origin main', { server: `http://127.0.0.1:${port}` }) + section('route main', { origin: 'main' }),
	};
	scenario('an upload that is answered and refused unread gets the whole answer', options, async (s) => {
		await origin(s, port, {
			secure: false,
			onRequest(socket) {
				socket.pause(); /* so that bytes are unread when it closes: the kernel sends RST */
				socket.write('HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 5\r\n\r\nlarge', () => {
					setTimeout(() => socket.destroy(), 100);
				});
			},
		});
		for (let i = 0; i < 10; i++) {
			const r = await ask(s.port, `/${i}`, {
				method: 'POST',
				body(request) {
					const timer = setInterval(() => request.write('x'.repeat(20000)), 5);
					request.on('close', () => clearInterval(timer));
				},
			});
			assert.deepEqual([r.status, r.body], [413, 'large'], `${i}: ${JSON.stringify(r)} ${r.error}`);
		}
	});
}
