/* SPDX-License-Identifier: MIT */
/* Clients that speak HTTP/1: sockets and TLS of the system, and Node's own client. */
import assert from 'node:assert/strict';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { certs, scenario, until } from '../support/gate.mjs';

const get = (path, more = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;

/* A connection that collects what comes: `text`, and how it ended: 'end' (FIN or close_notify), or the error's code. */
function watch(socket) {
	const c = { socket, text: '', ended: null };
	socket.on('data', (d) => { c.text += d.toString('latin1'); });
	socket.on('end', () => { c.ended ??= 'end'; });
	socket.on('error', (e) => { c.ended ??= e.code; });
	socket.on('close', () => { c.ended ??= 'close'; });
	c.sees = (what) => until(`${what} in ${JSON.stringify(c.text)}`, () => c.text.includes(what));
	c.end = () => until('the end', () => c.ended);
	return c;
}

const plain = (s) => watch(net.connect({ port: s.port, host: '127.0.0.1', allowHalfOpen: true }));
function secure(s, ALPNProtocols) {
	return watch(tls.connect({ port: s.port, host: '127.0.0.1', servername: 'localhost', ca: certs().ca, ALPNProtocols, rejectUnauthorized: false }));
}

/* The next request at the origin. */
async function asked(s, path) {
	s.origin ??= await s.accept();
	return s.origin.expectRequest(path);
}

scenario('requests that are pipelined are answered in order', async (s) => {
	const c = plain(s);
	c.socket.write(get('/1') + 'POST /2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello' + get('/3'));
	for (const path of ['/1', '/2', '/3']) {
		const up = await asked(s, path);
		s.origin.respond(up.stream, { fields: { 'content-length': '2' }, body: path });
	}
	await c.sees('\r\n\r\n/3');
	assert.ok(c.text.indexOf('\r\n\r\n/1') < c.text.indexOf('\r\n\r\n/2'));
	assert.ok(c.text.indexOf('\r\n\r\n/2') < c.text.indexOf('\r\n\r\n/3'));
	const lines = await Promise.all(['/1', '/2', '/3'].map((path) => s.gate.access((l) => l.path === path)));
	assert.equal(new Set(lines.map((l) => l.connection)).size, 1);
	c.socket.destroy();
});

scenario('bytes that come one at a time are the same request', async (s) => {
	const c = plain(s);
	c.socket.setNoDelay(true);
	for (const byte of 'PATCH /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nk') {
		c.socket.write(byte);
		await new Promise((resolve) => setImmediate(resolve));
	}
	const up = await asked(s, '/slow');
	assert.equal(String((await s.origin.expect('DATA', { stream: up.stream })).data), 'k');
	s.origin.respond(up.stream, { status: 204 });
	await c.sees('HTTP/1.1 204 ');
	c.socket.destroy();
});

scenario('ALPN http/1.1, or none, is HTTP/1.1 over TLS', { tls: true }, async (s) => {
	for (const alpn of [['http/1.1'], undefined, ['h3', 'http/1.1']]) {
		const c = secure(s, alpn);
		c.socket.write(get('/tls'));
		const up = await asked(s, '/tls');
		s.origin.respond(up.stream, { fields: { 'content-length': '1' }, body: 'x' });
		await c.sees('\r\n\r\nx');
		assert.equal(c.socket.alpnProtocol, alpn ? 'http/1.1' : false);
		c.socket.destroy();
	}
});

scenario("Node's client keeps its connection", { tls: true }, async (s) => {
	const agent = new https.Agent({ keepAlive: true, maxSockets: 1, ca: certs().ca, servername: 'localhost', rejectUnauthorized: false });
	for (let i = 0; i < 3; i++) {
		const answer = new Promise((resolve, reject) => {
			https.get({ agent, port: s.port, host: '127.0.0.1', path: `/${i}`, headers: { host: 'localhost' } }, (r) => {
				const parts = [];
				r.on('data', (d) => parts.push(d));
				r.on('end', () => resolve({ status: r.statusCode, body: String(Buffer.concat(parts)) }));
			}).on('error', reject);
		});
		const up = await asked(s, `/${i}`);
		s.origin.respond(up.stream, { body: `body ${i}` });
		assert.deepEqual(await answer, { status: 200, body: `body ${i}` });
	}
	const lines = await Promise.all([0, 1, 2].map((i) => s.gate.access((l) => l.path === `/${i}`)));
	assert.equal(new Set(lines.map((l) => l.connection)).size, 1);
	agent.destroy();
});

scenario('a refused client reads its answer, although it sends more', async (s) => {
	const c = plain(s);
	c.socket.write('GET / HTTP/1.1\r\nHost : localhost\r\n\r\n');
	c.socket.write(Buffer.alloc(1000000, 'x'));
	await c.end();
	assert.match(c.text, /^HTTP\/1\.1 400 /);
	assert.match(c.text, /\r\nconnection: close\r\n/i);
	assert.equal(c.ended, 'end');
	c.socket.destroy();
});

scenario('a head that is never finished gets 408', { listen: { 'header-timeout': '300ms' } }, async (s) => {
	const c = plain(s);
	c.socket.write('GET / HTTP/1.1\r\nHost: local');
	await c.end();
	assert.match(c.text, /^HTTP\/1\.1 408 /);
	c.socket.destroy();
});

scenario('a client that has ended its side gets its answers', async (s) => {
	const c = plain(s);
	c.socket.end(get('/1') + get('/2'));
	for (const path of ['/1', '/2']) {
		const up = await asked(s, path);
		s.origin.respond(up.stream, { fields: { 'content-length': '2' }, body: path });
	}
	await c.end();
	assert.equal(c.ended, 'end');
	assert.match(c.text, /\r\n\r\n\/1[^]*\r\n\r\n\/2$/);
});

/* The end of the connection is the end of a response to HTTP/1.0: one that breaks off must look otherwise. */
for (const withTls of [false, true])
	scenario(`a response to HTTP/1.0 that breaks off does not look complete${withTls ? ', over TLS' : ''}`, { tls: withTls }, async (s) => {
		for (const breaks of [false, true]) {
			const c = withTls ? secure(s, ['http/1.1']) : plain(s);
			c.socket.write('GET /old HTTP/1.0\r\nHost: localhost\r\n\r\n');
			const up = await asked(s, '/old');
			s.origin.headers(up.stream, { ':status': 200 });
			s.origin.data(up.stream, 'part');
			await c.sees('\r\n\r\npart');
			if (breaks)
				s.origin.rst(up.stream, 'INTERNAL_ERROR');
			else
				s.origin.data(up.stream, ' and rest', { endStream: true });
			await c.end();
			assert.equal(c.text.endsWith('part and rest'), !breaks);
			/* Node shows a TLS stream without close_notify as its end all the same. */
			if (!withTls)
				assert.equal(c.ended, breaks ? 'ECONNRESET' : 'end');
			c.socket.destroy();
		}
	});

scenario('a listener speaks what its protocols say', { listen: { protocols: 'http/1.1' } }, async (s) => {
	const c = plain(s);
	c.socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
	await c.end();
	assert.match(c.text, /^HTTP\/1\.1 505 /);
	c.socket.destroy();
	const other = plain(s);
	other.socket.write(get('/'));
	const up = await asked(s, '/');
	s.origin.respond(up.stream, { status: 204 });
	await other.sees('HTTP/1.1 204 ');
	other.socket.destroy();
});
