/* SPDX-License-Identifier: MIT */
/* What the log says of tunnels that have been open: the texts of their requests outlive the requests' memory. */
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import net from 'node:net';
import tls from 'node:tls';
import { forward } from '../support/forward.mjs';
import { freePort, scenario, section } from '../support/gate.mjs';

const TRACE = '0123456789abcdef0123456789abcdef', SPAN = '0123456789abcdef', ID = 'the-balancer-s:1', NAME = 'another.example.test', BYTES = 200000;
const FIELDS = { 'x-request-id': ID, 'user-agent': 'the user agent', referer: 'https://a.test/page', traceparent: `00-${TRACE}-${SPAN}-00` };
const LISTEN = { 'request-id': 'keep', trusted: '127.0.0.1' };

/* The bytes go both ways, so that the memory of the request is used for others. */
async function exchange(tunnel) {
	let got = 0;
	tunnel.on('data', (bytes) => { got += bytes.length; }).write(Buffer.alloc(BYTES, 'x'));
	while (got < BYTES)
		await new Promise((resolve) => { tunnel.once('data', resolve); });
	tunnel.end();
}

async function speak1(s, line, fields, status) {
	const socket = tls.connect({ port: s.port, host: '127.0.0.1', servername: NAME, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
	s.cleanups.push(() => socket.destroy());
	socket.on('error', () => {}).write(`${line} HTTP/1.1\r\n${Object.entries(fields).map(([n, v]) => `${n}: ${v}\r\n`).join('')}\r\n`);
	let head = '';
	while (!head.includes('\r\n\r\n'))
		head += await new Promise((resolve) => { socket.once('data', (bytes) => resolve(bytes.toString('latin1'))); });
	assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `));
	await exchange(socket);
}

async function speak2(s, headers) {
	const session = http2.connect(`https://127.0.0.1:${s.port}`, { servername: NAME, rejectUnauthorized: false });
	s.cleanups.push(() => session.destroy());
	await new Promise((resolve) => { session.on('error', () => {}).once('remoteSettings', resolve); });
	const stream = session.request({ ...headers, ...FIELDS });
	const [status] = await new Promise((resolve) => { stream.on('error', () => {}).on('response', (got) => resolve([got[':status']])); });
	assert.equal(status, 200);
	await exchange(stream);
}

async function logged(s, authority) {
	const l = await s.gate.access((line) => line.tunnel);
	assert.deepEqual([l.request_id, l.sni, l.user_agent, l.referer, l.authority], [ID, NAME, FIELDS['user-agent'], FIELDS.referer, authority]);
	assert.deepEqual([l.trace, l.span], [TRACE, SPAN]);
	assert.equal(l.request_bytes, BYTES);
	assert.equal(l.response_bytes, BYTES);
}

/* Sends back what comes, behind an opening if `opens`. */
async function echo(s, port, opens) {
	const server = net.createServer((socket) => {
		s.cleanups.push(() => socket.destroy());
		socket.on('error', () => {});
		if (!opens)
			return void socket.pipe(socket);
		socket.once('data', () => {
			socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
			socket.pipe(socket);
		});
	});
	await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
	s.cleanups.push(() => server.close());
	return server.address().port;
}

for (const version of ['HTTP/1.1', 'HTTP/2']) {
	const port = await freePort();
	scenario(`of an upgrade over ${version}`, {
		tls: true, origins: {}, listen: LISTEN,
		routes: section('origin main', { server: `http://127.0.0.1:${port}` }) + section('route main', { origin: 'main', upgrade: 'echo' }),
	}, async (s) => {
		await echo(s, port, true);
		if (version === 'HTTP/2')
			await speak2(s, { ':method': 'CONNECT', ':protocol': 'echo', ':scheme': 'https', ':path': '/t', ':authority': 'a.test' });
		else
			await speak1(s, 'GET /t', { host: 'a.test', connection: 'upgrade', upgrade: 'echo', ...FIELDS }, 101);
		await logged(s, 'a.test');
	});

	forward(`of a CONNECT over ${version}`, {
		tls: true, listen: LISTEN, start: async (s) => ({ h1: await echo(s, 0, false) }),
	}, async (s) => {
		const to = `a.test:${s.ports.h1}`;
		if (version === 'HTTP/2')
			await speak2(s, { ':method': 'CONNECT', ':authority': to });
		else
			await speak1(s, `CONNECT ${to}`, { host: to, ...FIELDS }, 200);
		await logged(s, to);
	});
}
