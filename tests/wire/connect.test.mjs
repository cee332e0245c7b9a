/* SPDX-License-Identifier: MIT */
/*
 * CONNECT through the real program, in cleartext and over TLS: what its log says of a tunnel, and that no byte behind
 * a CONNECT which is refused or fails becomes a request, whatever it is refused for.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import { after } from 'node:test';
import tls from 'node:tls';
import { startDns } from '../support/dns.mjs';
import { certs, freePort, scenario, section, until, workDir } from '../support/gate.mjs';

/* The password is "hunter"; bcrypt with cost 4. */
const BOB = 'bob:$2b$04$DDDDDDDDDDDDDDDDDDDDD./G8yeFqOwrkLaRfiIayxru6Hhx3l9he';
const asBob = `Proxy-Authorization: Basic ${Buffer.from('bob:hunter').toString('base64')}\r\n`;

/* Destinations: sends back what it gets, and notes it. */
async function echo(s) {
	const seen = { connections: 0, bytes: '' };
	const sockets = new Set();
	const server = net.createServer({ allowHalfOpen: true }, (socket) => {
		seen.connections++;
		sockets.add(socket);
		socket.on('error', () => {}).on('end', () => socket.end()).on('data', (bytes) => {
			seen.bytes += bytes.toString('latin1');
			socket.write(bytes);
		});
	});
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	s.cleanups.push(() => { sockets.forEach((socket) => socket.destroy()); server.close(); });
	seen.port = server.address().port;
	return seen;
}

const dial = (s) => (s.options.tls
	? tls.connect({ port: s.port, host: '127.0.0.1', servername: 'a.test', ca: certs().ca, ALPNProtocols: ['http/1.1'] })
	: net.connect(s.port, '127.0.0.1'));

/* All that comes for these bytes, until the proxy has ended the connection. */
function ask(s, bytes) {
	return new Promise((resolve) => {
		const socket = dial(s);
		let got = '';
		socket.setEncoding('latin1').on('data', (text) => { got += text; }).on('error', () => {}).on('close', () => resolve(got));
		socket.write(bytes);
	});
}

/* An open tunnel over HTTP/1.1. */
function open(s, authority, fields = '', begin = dial) {
	return new Promise((resolve, reject) => {
		const socket = begin(s);
		let got = '';
		socket.setEncoding('latin1').on('error', reject).on('data', function read(text) {
			got += text;
			if (!got.includes('\r\n\r\n'))
				return;
			socket.off('data', read);
			resolve({ socket, head: got });
		});
		socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${fields}\r\n`);
		s.cleanups.push(() => socket.destroy());
	});
}

const proxy = (more = {}) => ({
	origins: {}, routes: '',
	...more,
	listen: { mode: 'forward', access: 'lab', ...more.listen },
	extra: section('access lab', {
		users: 'users', ask: 'host=ask.test', deny: 'host=denied.test',
		allow: ['address=127.0.0.0/8 port=1024-65535', 'host=*.test', 'host=nowhere.invalid'],
	}) + section('origin world', { server: 'forward:', 'connect-timeout': '1s' })
		+ section('route all', { origin: 'world', ...more.route }),
	prepare: async (s) => {
		fs.writeFileSync(path.join(s.dir, 'users'), `${BOB}\n`);
		s.dns = await startDns({ 'private.test': { A: ['10.1.2.3'] }, 'mixed.test': { A: ['1.2.3.4', '127.0.0.1'] } });
		s.cleanups.push(() => s.dns.close());
		s.options.server = { resolver: s.dns.address, ...more.server };
	},
});

for (const secure of [false, true]) {
	const over = secure ? 'over TLS' : 'in cleartext';
	// covers: R621 R622
	scenario(`no byte behind a refused or failed CONNECT becomes a request, ${over}`, proxy({ tls: secure }), async (s) => {
		const evil = await echo(s), closed = await freePort();
		const rows = [
			[`127.0.0.1:${evil.port}`, 'Transfer-Encoding: chunked\r\n', 400],
			[`127.0.0.1:${evil.port}`, 'Content-Length: 9\r\n', 400],
			[`127.0.0.1:${evil.port}`, 'Content-Length: 0\r\nTransfer-Encoding: chunked\r\n', 400],
			['127.0.0.1', '', 400],
			['127.0.0.1:0', '', 400],
			['me@127.0.0.1:443', '', 400],
			[':443', '', 400],
			['http://127.0.0.1/', '', 400],
			['127.0.0.1:25', '', 403],
			['10.0.0.1:443', '', 403],
			['2130706433:443', '', 403],
			['0x7f.1:443', '', 403],
			['denied.test:443', '', 403],
			['private.test:443', '', 403],
			['mixed.test:443', '', 403],
			[`127.0.0.1:${s.port}`, '', 403],
			['ask.test:443', '', 407],
			[`127.0.0.1:${closed}`, '', 503],
			['nowhere.invalid:443', '', 503],
		];
		const follows = `GET http://127.0.0.1:${evil.port}/evil HTTP/1.1\r\nHost: 127.0.0.1:${evil.port}\r\n\r\n`;
		await Promise.all(rows.map(async ([authority, fields, status]) => {
			const got = await ask(s, `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${fields}\r\n${follows}`);
			const what = `${authority} ${fields}: ${got}`;
			assert.match(got, new RegExp(`^HTTP/1\\.1 ${status} `), what);
			assert.equal(got.split('HTTP/1.1 ').length, 2, what);
			assert.match(got, /\r\nconnection: close\r\n/, what);
			if (status !== 407 && status !== 400)
				assert.match(got, /\r\nproxy-status: /, what);
		}));
		const lines = await until('all lines', () => (s.gate.accessLines().length >= rows.length ? s.gate.accessLines() : null));
		assert.equal(lines.length, rows.length);
		assert.ok(lines.every((l) => l.method === 'CONNECT' && l.path !== '/evil'), JSON.stringify(lines));
		assert.equal(evil.connections, 0);
		/* Where clients go is their affair. */
		await s.gate.error(/ info \[w0\] origin world \(127\.0\.0\.1\): cannot connect: /);
		assert.doesNotMatch(s.gate.read('error.log'), / warn /);
	});

	// covers: R620 R624
	scenario(`the log has a line of a tunnel at its end, ${over}`, proxy({ tls: secure }), async (s) => {
		const to = await echo(s);
		const authority = `127.0.0.1:${to.port}`;
		const { socket, head } = await open(s, authority);
		assert.match(head, /^HTTP\/1\.1 200 OK\r\n/);
		assert.doesNotMatch(head, /content-length|transfer-encoding|connection:|proxy-status/i);
		let back = '';
		socket.on('data', (text) => { back += text; });
		socket.write('through and back');
		await until('the echo', () => back === 'through and back');
		assert.equal(s.gate.accessLines().length, 0);
		socket.end();
		const line = await s.gate.access();
		assert.equal(line.method, 'CONNECT');
		assert.equal(line.status, 200);
		assert.equal(line.authority, authority);
		assert.equal(line.origin_address, authority);
		assert.equal(line.origin_protocol, 'tcp');
		assert.equal(line.tunnel, 'connect');
		assert.equal(line.tunnel_ended, 'client');
		assert.equal(line.outcome, 'complete');
		assert.equal(`${line.request_bytes} ${line.response_bytes}`, '16 16');
		assert.ok(line.duration_us > 0);
	});
}

/* Goes on talking behind the client's end, and closes when that is answered with a reset. */
async function talker(s) {
	const sockets = new Set();
	const server = net.createServer({ allowHalfOpen: true }, (socket) => {
		sockets.add(socket);
		let timer;
		socket.on('error', () => {}).on('close', () => clearInterval(timer));
		socket.on('data', () => socket.write('answer')).on('end', () => {
			timer = setInterval(() => socket.write('and more'), 5);
		});
	});
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	s.cleanups.push(() => { sockets.forEach((socket) => socket.destroy()); server.close(); });
	return server.address().port;
}

const overHttp2 = (s) => http2.connect(`https://a.test:${s.port}`, { createConnection: () => tls.connect({ port: s.port, host: '127.0.0.1', servername: 'a.test', ca: certs().ca, ALPNProtocols: ['h2'] }) });

// covers: R620
for (const [how, options, leave] of [
	['closes its connection', {}, (socket) => socket.destroy()],
	['closes its connection without a close_notify', { tls: true }, (socket) => { socket._handle.close(); socket.destroy(); }],
	['ends its connection and goes', { tls: true }, (socket) => { socket.end(); setTimeout(() => socket.destroy(), 20); }],
]) {
	scenario(`a client that ${how} has ended its tunnel well, over ${options.tls ? 'TLS' : 'cleartext'}`, proxy(options), async (s) => {
		const authority = `127.0.0.1:${await talker(s)}`;
		const { socket } = await open(s, authority);
		const answered = new Promise((resolve) => { socket.on('data', resolve); });
		socket.on('error', () => {}).write('question');
		await answered;
		leave(socket);
		const line = await s.gate.access();
		assert.deepEqual([line.outcome, line.tunnel_ended, line.detail], ['complete', 'client', undefined]);
	});
}

// covers: R623
for (const [how, leave] of [
	['cancels the stream', (stream) => stream.close(http2.constants.NGHTTP2_CANCEL)],
	['closes the connection', (stream, session) => session.destroy()],
]) {
	scenario(`a client that ${how} has ended its tunnel well, over HTTP/2`, proxy({ tls: true }), async (s) => {
		const session = overHttp2(s);
		s.cleanups.push(() => session.destroy());
		const stream = session.request({ ':method': 'CONNECT', ':authority': `127.0.0.1:${await talker(s)}` }, { endStream: false });
		const answered = new Promise((resolve) => { stream.on('data', resolve); });
		stream.on('error', () => {}).write('question');
		await answered;
		leave(stream, session);
		const line = await s.gate.access();
		assert.deepEqual([line.outcome, line.tunnel_ended, line.detail], ['complete', 'client', undefined]);
	});
}

// covers: R623
scenario('over HTTP/2 each tunnel is a stream, and one that is refused costs no other', proxy({ tls: true }), async (s) => {
	const to = await echo(s);
	const session = overHttp2(s);
	s.cleanups.push(() => session.destroy());
	const connect = (authority, bytes) => new Promise((resolve) => {
		const stream = session.request({ ':method': 'CONNECT', ':authority': authority }, { endStream: false });
		const got = { status: 0, text: '' };
		stream.on('response', (fields) => { got.status = fields[':status']; });
		stream.setEncoding('latin1').on('data', (text) => { got.text += text; });
		stream.on('error', () => {}).on('close', () => resolve({ ...got, code: stream.rstCode }));
		stream.end(bytes);
	});
	const all = await Promise.all([connect(`127.0.0.1:${to.port}`, 'one'), connect('10.0.0.1:443', 'GET / HTTP/1.1\r\n\r\n'), connect(`127.0.0.1:${to.port}`, 'two')]);
	assert.deepEqual(all.map((x) => x.status), [200, 403, 200]);
	assert.deepEqual([all[0].text, all[2].text, all[0].code, all[2].code], ['one', 'two', 0, 0]);
	assert.equal(to.connections, 2);
	const line = await s.gate.access((l) => l.status === 200);
	assert.equal(`${line.protocol} ${line.tunnel} ${line.request_bytes} ${line.response_bytes}`, 'h2 connect 3 3');
});

// covers: R625
scenario('a user has so many tunnels, from whichever addresses', {
	...proxy({ route: { 'max-tunnels-per-user': 1 } }), single: false,
	extra: section('access lab', { users: 'users', ask: 'host=*', allow: 'user=bob address=127.0.0.0/8 port=1024-65535' })
		+ section('origin world', { server: 'forward:' }) + section('route all', { origin: 'world', 'max-tunnels-per-user': 1 }),
}, async (s) => {
	const to = await echo(s);
	const authority = `127.0.0.1:${to.port}`;
	const first = await open(s, authority, asBob);
	assert.match(first.head, /^HTTP\/1\.1 200 /);
	const second = await ask(s, `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${asBob}\r\nGET / HTTP/1.1\r\n\r\n`);
	assert.match(second, /^HTTP\/1\.1 429 /);
	assert.match(second, /\r\nretry-after: 1\r\n/);
	first.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
	await until('the bytes', () => to.bytes.startsWith('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
	first.socket.end();
	const line = await s.gate.access((l) => l.tunnel);
	assert.equal(`${line.user} ${line.tunnel} ${line.status}`, 'bob connect 200');
	const third = await open(s, authority, asBob);
	assert.match(third.head, /^HTTP\/1\.1 200 /);
	assert.doesNotMatch(to.bytes, /Proxy-Authorization/i);
});

const dir = workDir();
after(() => fs.rmSync(dir, { recursive: true }));
const local = path.join(dir, 'local');
// covers: R625
scenario('each address has so many tunnels, and clients on a unix socket, which have none, any number', {
	...proxy(), extra: section('listen local', { address: `unix:${local}`, mode: 'forward', access: 'lab' })
		+ section('access lab', { allow: 'client=any address=127.0.0.0/8 port=1024-65535' })
		+ section('origin world', { server: 'forward:' }) + section('route all', { origin: 'world', 'max-tunnels-per-client': 1 }),
}, async (s) => {
	const to = await echo(s);
	const authority = `127.0.0.1:${to.port}`;
	const heads = [];
	for (const target of [{ path: local }, { path: local }, { port: s.port, host: '127.0.0.1' }, { port: s.port, host: '127.0.0.1' }]) {
		const { head } = await open(s, authority, '', () => net.connect(target));
		heads.push(head.split(' ')[1]);
	}
	assert.deepEqual(heads, ['200', '200', '200', '429']);
});
