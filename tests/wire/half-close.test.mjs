/* SPDX-License-Identifier: MIT */
/*
 * A client that says all it has to say at once: its request, the end of TLS (close_notify) and the end of TCP (FIN) in
 * one flight, behind the last bytes of its handshake. The program is stopped while the flight arrives, so that one read
 * finds all of it. The answer comes whole, over each version of TLS and of HTTP.
 */
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { Duplex } from 'node:stream';
import { after } from 'node:test';
import tls from 'node:tls';
import { FLAG, frame, PREFACE, settingsPayload, TYPE, u32 } from '../support/frames.mjs';
import { certs, scenario, until } from '../support/gate.mjs';
import { Encoder } from '../support/hpack.mjs';

const BODY = 'all of it. '.repeat(20000);
const UPLOAD = 'u'.repeat(20000);

/* Answers POST with what it got, else with BODY. */
const origin = http.createServer(async (request, response) => {
	let body = '';
	for await (const piece of request)
		body += piece;
	setTimeout(() => { response.write(request.method === 'POST' ? body : BODY); response.end(); }, 20);
}).listen(0, '127.0.0.1');
await new Promise((resolve) => { origin.once('listening', resolve); });
after(() => origin.close());

function overHttp2(method) {
	const block = new Encoder().encode([[':method', method], [':scheme', 'https'], [':path', '/'], [':authority', 'a.test']]);
	const end = method === 'POST' ? 0 : FLAG.END_STREAM;
	return Buffer.concat([
		PREFACE, frame(TYPE.SETTINGS, 0, 0, settingsPayload({ initialWindowSize: 1 << 20 })), frame(TYPE.WINDOW_UPDATE, 0, 0, u32(1 << 20)),
		frame(TYPE.HEADERS, FLAG.END_HEADERS | end, 1, block),
		...(end ? [] : [frame(TYPE.DATA, 0, 1, Buffer.from(UPLOAD.slice(16384))), frame(TYPE.DATA, FLAG.END_STREAM, 1, Buffer.from(UPLOAD.slice(0, 16384)))]),
	]);
}

function overHttp1(method) {
	return Buffer.from(`${method} / HTTP/1.1\r\nHost: a.test\r\n${method === 'POST' ? `Content-Length: ${UPLOAD.length}\r\n\r\n${UPLOAD}` : '\r\n'}`);
}

/* The body of the response on stream 1. */
function bodyOfHttp2(bytes) {
	let body = '';
	for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
		if (bytes[at + 3] === TYPE.DATA)
			body += bytes.toString('latin1', at + 9, at + 9 + bytes.readUIntBE(at, 3));
	}
	return body;
}
/* The origin has not said how long its answers are: they are chunked. */
function bodyOfHttp1(bytes) {
	const text = bytes.toString('latin1');
	let body = '';
	for (let at = text.indexOf('\r\n\r\n') + 4; at > 3;) {
		const line = text.indexOf('\r\n', at);
		const size = Number.parseInt(text.slice(at, line), 16);
		if (!size)
			break;
		body += text.slice(line + 2, line + 2 + size);
		at = line + size + 4;
	}
	return body;
}

/* A long text that differs is not shown. */
const same = (got, want) => assert.ok(got === want, `${got.length} bytes of ${want.length}`);

/* Sends `request` with the two ends behind it. In TLS 1.3 the end of the handshake is in the same flight. */
function oneFlight(s, version, alpn, request) {
	return new Promise((resolve, reject) => {
		const socket = net.connect({ port: s.port, host: '127.0.0.1', allowHalfOpen: true });
		let kept = null;
		const wire = new Duplex({
			allowHalfOpen: true,
			read() {},
			write(bytes, encoding, done) {
				if (kept)
					kept.push(bytes);
				else
					socket.write(bytes);
				done();
			},
			final(done) {
				process.kill(s.gate.pid, 'SIGSTOP');
				socket.end(Buffer.concat(kept));
				/* All of it, and the FIN, are in the gate's socket by then. */
				socket.once('finish', () => process.kill(s.gate.pid, 'SIGCONT'));
				done();
			},
		});
		socket.on('error', reject).on('end', () => wire.push(null)).on('data', (bytes) => {
			kept ??= version === 'TLSv1.3' ? [] : null;
			wire.push(bytes);
		});
		const got = [];
		const client = tls.connect({ socket: wire, servername: 'a.test', ca: certs().ca, ALPNProtocols: [alpn], allowHalfOpen: true, minVersion: version, maxVersion: version });
		client.on('data', (bytes) => got.push(bytes)).on('error', reject).on('end', () => { socket.destroy(); resolve(Buffer.concat(got)); });
		client.on('secureConnect', () => {
			kept ??= [];
			client.end(request);
		});
	});
}

for (const version of ['TLSv1.2', 'TLSv1.3']) {
	// covers: R203
	scenario(`a request, close_notify and FIN in one flight over ${version} are answered`, {
		tls: true, origins: { main: { server: `http://127.0.0.1:${origin.address().port}` } },
	}, async (s) => {
		for (const method of ['GET', 'POST']) {
			const want = method === 'POST' ? UPLOAD : BODY;
			same(bodyOfHttp2(await oneFlight(s, version, 'h2', overHttp2(method))), want);
			same(bodyOfHttp1(await oneFlight(s, version, 'http/1.1', overHttp1(method))), want);
		}
		const lines = await until('a line of each request', () => (s.gate.accessLines().length >= 4 ? s.gate.accessLines() : null));
		assert.deepEqual(lines.map((l) => l.outcome), ['complete', 'complete', 'complete', 'complete']);
	});
}
