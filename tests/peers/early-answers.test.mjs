/* SPDX-License-Identifier: MIT */
/*
 * curl uploads much, and the origin answers before it has read it: with 413 or 401, and then reads on, stops reading,
 * resets the stream or ends the connection. The client gets the answer each time, over each version on either side.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import { after } from 'node:test';
import { freePort, scenario, section, certs } from '../support/gate.mjs';

const UPLOAD_BYTES = 8 << 20;
const TIMES = 5;

const servers = [];
async function listen(server) {
	servers.push(server);
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	return server.address().port;
}
after(() => { servers.forEach((server) => server.close()); });

const http1 = (act) => http.createServer((request, response) => {
	response.writeHead(401, { 'content-length': 4 }).end('who\n');
	act(request);
});
const overHttp2 = (act) => http2.createServer().on('sessionError', () => {}).on('stream', (stream) => {
	stream.on('error', () => {}).respond({ ':status': 413, 'content-length': 4 });
	stream.end('big\n');
	setImmediate(act, stream);
});
/* Closes with bytes of the request unread: the kernel sends a reset behind the answer. */
const closing = () => net.createServer((socket) => {
	socket.on('error', () => {}).once('data', () => {
		socket.write('HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbig\n');
		socket.destroySoon();
	});
});

const { NGHTTP2_NO_ERROR, NGHTTP2_CANCEL } = http2.constants;
const origins = {
	reads: ['http', 401, await listen(http1((request) => request.resume()))],
	stops: ['http', 401, await listen(http1((request) => request.pause()))],
	closes: ['http', 413, await listen(closing())],
	'resets-no-error': ['h2c', 413, await listen(overHttp2((stream) => stream.close(NGHTTP2_NO_ERROR)))],
	'resets-cancel': ['h2c', 413, await listen(overHttp2((stream) => stream.close(NGHTTP2_CANCEL)))],
	'goes-away': ['h2c', 413, await listen(overHttp2((stream) => stream.session?.close()))],
};

const curl = (args) => new Promise((resolve) => {
	execFile('curl', ['-s', '-m', '60', '-o', '/dev/null', '-w', '%{http_code}', ...args], { encoding: 'utf8' },
		(error, text) => resolve(`${error ? `exit ${error.code} ` : ''}${text}`));
});

const plain = await freePort();
// covers: R74 R107
for (const [client, options, args] of [
	['HTTP/1.1', { tls: true }, ['--http1.1']],
	['HTTP/2', { tls: true }, ['--http2']],
	['cleartext HTTP/1.1', {}, ['--http1.1']],
	['cleartext HTTP/2', {}, ['--http2-prior-knowledge']],
]) {
	scenario(`an early answer reaches curl while it uploads, over ${client}`, {
		...options, timeout: 120000, origins: {},
		listen: { 'max-request-body': 0 },
		routes: Object.entries(origins).map(([name, [scheme, , port]]) => section(`origin ${name}`, { server: `${scheme}://127.0.0.1:${port}` }) + section(`route ${name}`, { origin: name, path: `/${name}` })).join('')
			+ section('listen small', { address: `127.0.0.1:${plain}`, 'max-request-body': '64k' }),
	}, async (s) => {
		const body = path.join(s.dir, 'body');
		fs.writeFileSync(body, Buffer.alloc(UPLOAD_BYTES, 'b'));
		const upload = (url) => curl([...args, '--cacert', certs().file('ca.pem'), '--connect-to', `a.test:${s.port}:127.0.0.1:${s.port}`, '-H', 'Expect:', '-T', body, url]);
		for (const [name, [, status]] of Object.entries(origins)) {
			const got = [];
			for (let i = 0; i < TIMES; i++)
				got.push(await upload(`${options.tls ? 'https' : 'http'}://a.test:${s.port}/${name}`));
			assert.deepEqual(got, Array(TIMES).fill(`${status}`), `an origin that ${name}`);
		}
		/* And of our own: the request is larger than may be. */
		if (!options.tls)
			assert.equal(await upload(`http://127.0.0.1:${plain}/reads`), '413');
	});
}
