/* SPDX-License-Identifier: MIT */
/* tunnel-sni = match: tunnels whose first bytes name the host of the CONNECT go on, all others are ended after the 200. */
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import net from 'node:net';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import { forward } from '../support/forward.mjs';
import { certs, sleep, until } from '../support/gate.mjs';

/* The destination: TLS under any name; it says what it was asked for. Behind it, bytes of other kinds. */
async function start(s) {
	s.reached = [];
	const server = tls.createServer({ ...certs().server }, (socket) => {
		socket.on('error', () => {}).on('data', () => {});
		socket.end(`reached ${socket.servername || 'nothing'}`);
	});
	server.on('tlsClientError', () => {}).on('connection', (socket) => {
		socket.on('error', () => {});
		s.reached.push(socket);
	});
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	s.cleanups.push(() => { s.reached.forEach((socket) => socket.destroy()); server.close(); });
	return { h1: server.address().port };
}

/* An open tunnel as a stream. */
const open1 = (s, authority) => new Promise((resolve, reject) => {
	const socket = net.connect(s.port, '127.0.0.1');
	s.cleanups.push(() => socket.destroy());
	let got = '';
	socket.on('error', reject).on('data', function read(bytes) {
		got += bytes.toString('latin1');
		if (!got.includes('\r\n\r\n'))
			return;
		socket.off('data', read).off('error', reject).on('error', () => {});
		assert.match(got, /^HTTP\/1\.1 200 [^]*\r\n\r\n$/);
		resolve(socket);
	});
	socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
});
const open2 = (s, authority) => new Promise((resolve, reject) => {
	s.session ??= http2.connect(`http://127.0.0.1:${s.port}`).on('error', () => {});
	s.cleanups.push(() => s.session.destroy());
	const stream = s.session.request({ ':method': 'CONNECT', ':authority': authority });
	stream.on('error', reject).on('response', (headers) => {
		assert.equal(headers[':status'], 200);
		stream.off('error', reject).on('error', (error) => { stream.failure = error; });
		resolve(stream);
	});
});

/* Writes in pieces of `size` bytes, each a write of its own. */
class Pieces extends Duplex {
	constructor(inner, size) {
		super();
		Object.assign(this, { inner, size });
		inner.on('data', (bytes) => this.push(bytes)).on('end', () => this.push(null)).on('close', () => this.destroy());
	}
	_read() {}
	async _write(bytes, encoding, done) {
		for (let at = 0; at < bytes.length; at += this.size) {
			this.inner.write(bytes.subarray(at, at + this.size));
			if (at < 20 * this.size)
				await sleep(1);
		}
		done();
	}
}

/* What the destination says over TLS through the tunnel; undefined: the tunnel was ended. */
const speak = (tunnel, servername) => new Promise((resolve) => {
	const socket = tls.connect({ socket: tunnel, servername, rejectUnauthorized: false });
	socket.setEncoding('latin1').on('data', resolve).on('error', () => resolve()).on('close', () => resolve());
	tunnel.on('close', () => resolve());
});

const sni = (name, body) => forward(name, { route: { 'tunnel-sni': 'match' }, start }, body);

for (const [version, open] of [['HTTP/1.1', open1], ['HTTP/2', open2]]) {
	sni(`the name of the CONNECT passes over ${version}`, async (s) => {
		const to = (host) => `${host}:${s.ports.h1}`;
		assert.equal(await speak(await open(s, to('a.test')), 'a.test'), 'reached a.test');
		assert.equal(await speak(await open(s, to('A.Test.')), 'a.test'), 'reached a.test');
		assert.equal(await speak(await open(s, to('127.0.0.1')), ''), 'reached nothing');
		assert.equal(await speak(new Pieces(await open(s, to('a.test')), 7), 'a.test'), 'reached a.test');
	});

	sni(`another name, none, and no TLS are ended over ${version}`, async (s) => {
		const to = (host) => `${host}:${s.ports.h1}`;
		for (const [host, name, why] of [
			['a.test', 'www.a.test', 'the ClientHello names another host: www.a.test'],
			['a.test', '', 'the ClientHello names no host'],
			['127.0.0.1', 'a.test', 'the ClientHello names another host: a.test'],
		]) {
			assert.equal(await speak(await open(s, to(host)), name), undefined, why);
			await s.gate.access((l) => l.detail === why && l.status === 200);
		}
		const tunnel = await open(s, to('a.test'));
		const closed = new Promise((resolve) => { tunnel.on('close', resolve); });
		tunnel.resume().write('SSH-2.0-x\r\n');
		await closed;
		if (version === 'HTTP/2')
			assert.equal(tunnel.rstCode, http2.constants.NGHTTP2_CANCEL);
		await s.gate.access((l) => l.detail === 'the tunnel does not begin with a ClientHello');
		/* The client has ended before its ClientHello was whole. */
		const cut = await open(s, to('a.test'));
		cut.resume().end(Buffer.from([22, 3, 1, 1, 0, 1]));
		await s.gate.access((l) => l.detail === 'the ClientHello is too long or not whole');
		await until('the destinations have got nothing', () => s.reached.every((socket) => socket.bytesRead === 0));
	});
}
