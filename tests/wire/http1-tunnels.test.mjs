/* SPDX-License-Identifier: MIT */
/*
 * Tunnels in HTTP/1.1 as bytes, on both sides of the gate: what asks for one, what opens one, and whose bytes are whose
 * (RFC 9110 7.8, RFC 6455 4).
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import net from 'node:net';
import tls from 'node:tls';
import { certs, freePort, scenario, section, sleep, until } from '../support/gate.mjs';

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==', ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';
const acceptOf = (key) => createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
const asked = (path, fields = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${KEY}\r\n`) => `GET ${path} HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n`;
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n';

/* One end of a connection: all that came as text, and how it ended. */
class End {
	text = '';
	end = null;

	constructor(socket) {
		this.socket = socket;
		socket.setEncoding('latin1').setNoDelay();
		socket.on('data', (text) => { this.text += text; });
		socket.on('end', () => { this.end ??= 'clean'; });
		socket.on('error', (error) => { this.end ??= error.code; });
		socket.on('close', () => { this.end ??= 'closed'; });
	}
	send(text) { this.socket.write(text, 'latin1'); return this; }
	finish() { this.socket.end(); return this; }
	/* Resolves with the match, which is taken off. */
	async expect(pattern) {
		let m;
		await until(`${pattern} in ${JSON.stringify(this.text)}`, () => (m = pattern.exec(this.text)) !== null);
		this.text = this.text.slice(m.index + m[0].length);
		return m;
	}
	head() { return this.expect(/^.*?\r\n\r\n/s).then(([head]) => head); }
	async over() {
		await until(`the end behind ${JSON.stringify(this.text)}`, () => this.end);
		return this.end;
	}
}

async function start(s, port) {
	const ends = [];
	const server = net.createServer({ allowHalfOpen: true }, (socket) => ends.push(new End(socket)));
	const sockets = [];
	server.listen(port, '127.0.0.1');
	s.cleanups.push(() => {
		server.close();
		[...ends.map((e) => e.socket), ...sockets].forEach((socket) => socket.destroy());
	});
	return {
		ends,
		/* The next connection on which a head comes, and that head. */
		async accept() {
			let up;
			await until('a request at the origin', () => (up = ends.find((e) => e.text.includes('\r\n\r\n'))));
			return { up, head: await up.head() };
		},
		connect() {
			const socket = net.connect({ port: s.port, host: '127.0.0.1', allowHalfOpen: true });
			sockets.push(socket);
			return new End(socket);
		},
	};
}

const at = async (config = {}) => {
	const port = await freePort();
	return { port, options: { origins: {}, routes: section('origin main', { server: `http://127.0.0.1:${port}` }) + section('route main', { origin: 'main', upgrade: 'websocket echo', ...config }) } };
};
const field = (head, name) => [...head.matchAll(new RegExp(`^${name}: (.*)\r$`, 'gim'))].map(([, v]) => v);
const opening = (head, more = '') => `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${acceptOf(field(head, 'sec-websocket-key')[0])}\r\n${more}\r\n`;

async function open(site, path) {
	const client = site.connect().send(asked(path));
	const { up, head } = await site.accept();
	up.send(opening(head));
	assert.match(await client.head(), /^HTTP\/1\.1 101 /);
	return { client, up };
}

{
	const { port, options } = await at();
	/* covers: R380 R381 R382 R384 R385 */
	scenario('an Upgrade is asked for and answered with keys of each hop', options, async (s) => {
		const site = await start(s, port);
		const seen = new Set();
		for (let i = 0; i < 2; i++) {
			const client = site.connect().send(asked(`/${i}`, `Connection: keep-alive, UPGRADE\r\nUpgrade: h2c, WebSocket\r\nSec-WebSocket-Key: ${KEY}\r\nSec-WebSocket-Version: 13\r\nOrigin: http://a\r\n`));
			const { up, head } = await site.accept();
			assert.match(head, new RegExp(`^GET /${i} HTTP/1\\.1\r\nhost: a\\.test\r\n`, 'i'));
			assert.deepEqual(['connection', 'upgrade', 'sec-websocket-version', 'origin'].map((n) => field(head, n).map((v) => v.toLowerCase())), [['upgrade'], ['websocket'], ['13'], ['http://a']]);
			assert.deepEqual([field(head, 'content-length'), field(head, 'transfer-encoding')], [[], []]);
			const [key, ...more] = field(head, 'sec-websocket-key');
			assert.deepEqual([Buffer.from(key, 'base64').length, key.length, more.length], [16, 24, 0]);
			seen.add(key);
			up.send(`HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=x\r\n\r\n${opening(head, 'Sec-WebSocket-Protocol: chat\r\nContent-Length: 4\r\n')}first`);
			assert.match(await client.head(), /^HTTP\/1\.1 103 /);
			const answer = await client.head();
			assert.match(answer, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
			assert.deepEqual(['connection', 'upgrade', 'sec-websocket-accept', 'sec-websocket-protocol', 'content-length', 'transfer-encoding'].map((n) => field(answer, n).map((v) => (n === 'upgrade' ? v.toLowerCase() : v))),
				[['upgrade'], ['websocket'], [ACCEPT], ['chat'], [], []]);
			await client.expect(/^first/);
		}
		assert.equal(seen.size, 2);
		assert.ok(!seen.has(KEY));
	});
}

{
	const { port, options } = await at();
	/* covers: R346 R380 R382 */
	scenario('what is no offer of a tunnel is an ordinary request', options, async (s) => {
		const site = await start(s, port);
		const websocket = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${KEY}\r\n`;
		for (const [i, request] of [
			asked('/', `Upgrade: websocket\r\nSec-WebSocket-Key: ${KEY}\r\n`),
			asked('/', 'Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'),
			asked('/', 'Connection: upgrade\r\nUpgrade: other\r\n'),
			asked('/', 'Connection: upgrade\r\nUpgrade: websocket\r\n'),
			asked('/', `${websocket}Sec-WebSocket-Key: ${KEY}\r\n`),
			asked('/', websocket.replace(KEY, 'dGhlIHNhbXBsZSBub25jZQ')),
			`GET / HTTP/1.0\r\nHost: a.test\r\n${websocket}\r\n`,
			`POST / HTTP/1.1\r\nHost: a.test\r\n${websocket}Content-Length: 2\r\n\r\nhi`,
		].entries()) {
			const client = site.connect().send(request);
			const { up, head } = await site.accept();
			assert.deepEqual([field(head, 'upgrade'), field(head, 'connection')], [[], []], request);
			up.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage');
			assert.match(await client.head(), /^HTTP\/1\.1 200 /);
			await client.expect(/^page/);
			if (request.startsWith('POST'))
				await up.expect(/^hi/);
			if (i < 2) { /* nothing in it could change the protocol: the connection goes on */
				client.send('GET /next HTTP/1.1\r\nHost: a.test\r\n\r\n');
				(await site.accept()).up.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext');
				await client.expect(/next$/);
			} else {
				client.send(SMUGGLED);
				await client.over();
			}
		}
		assert.ok(site.ends.every((e) => !e.text.includes('smuggled')));
	});
}

{
	const { port, options } = await at();
	/* covers: R383 R386 */
	scenario('bytes behind an Upgrade are the tunnel\'s, or nobody\'s', options, async (s) => {
		const site = await start(s, port);
		const client = site.connect().send(`${asked('/early')}${SMUGGLED}`);
		const { up, head } = await site.accept();
		client.send('more');
		/* A request that was sent later has come: so would those bytes have. */
		const other = site.connect().send(asked('/behind'));
		const { up: behind } = await site.accept();
		assert.equal(up.text, '');
		behind.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno');
		await other.expect(/no$/);
		up.send(opening(head));
		assert.match(await client.head(), /^HTTP\/1\.1 101 /);
		assert.equal((await up.expect(/^.*more$/s))[0], `${SMUGGLED}more`);
		for (const answer of ['200 OK', '403 Forbidden', '426 Upgrade Required', '302 Found']) {
			const refused = site.connect().send(`${asked('/refused')}${SMUGGLED}`);
			const next = await site.accept();
			next.up.send(`HTTP/1.1 ${answer}\r\nContent-Length: 2\r\n\r\nno`);
			const got = await refused.head();
			assert.match(got, new RegExp(`^HTTP/1\\.1 ${answer.slice(0, 3)} `));
			assert.deepEqual(field(got, 'connection'), ['close']);
			assert.equal((await refused.expect(/^no/))[0], 'no');
			refused.send(SMUGGLED);
			await refused.over();
			assert.equal(next.up.text, '');
		}
		assert.equal(site.ends.length, 2); /* an origin's connection goes on behind a refusal */
		assert.ok(site.ends.every((e) => !e.text.includes('smuggled')));
	});
}

{
	const { port, options } = await at();
	/* covers: R385 R369 */
	scenario('a 101 that is not what was asked for is a 502', options, async (s) => {
		const site = await start(s, port);
		for (const [request, answer] of [
			['GET / HTTP/1.1\r\nHost: a.test\r\n\r\n', () => opening(`sec-websocket-key: ${KEY}\r\n`)],
			[asked('/', 'Connection: upgrade\r\nUpgrade: echo\r\n'), () => 'HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
			[asked('/'), (head) => opening(head).replace('Upgrade: websocket', 'Upgrade: websocket, echo')],
			[asked('/'), (head) => opening(head).replace('Connection: Upgrade\r\n', '')],
			[asked('/'), (head) => opening(head).replace('HTTP/1.1', 'HTTP/1.0')],
			[asked('/'), () => opening(`sec-websocket-key: ${KEY}\r\n`)],
			[asked('/'), (head) => opening(head).replace(/Sec-WebSocket-Accept.*\r\n/, '')],
			[asked('/'), (head) => opening(head, `Sec-WebSocket-Accept: ${ACCEPT}\r\n`)],
			[asked('/'), (head) => opening(head, 'Transfer-Encoding: chunked\r\n')],
		]) {
			const client = site.connect().send(request);
			const { up, head } = await site.accept();
			up.send(`${answer(head)}evil`);
			assert.match(await client.head(), /^HTTP\/1\.1 502 /, request);
			assert.ok(!client.text.includes('evil'));
			await up.over();
		}
	});
}

{
	const { port, options } = await at();
	/* covers: R387 */
	scenario('each direction of a tunnel ends by itself, and an abort is an abort', options, async (s) => {
		const site = await start(s, port);
		for (const first of ['client', 'up']) {
			const both = await open(site, '/');
			const [a, b] = first === 'client' ? [both.client, both.up] : [both.up, both.client];
			a.send('last').finish();
			await b.expect(/^last/);
			assert.equal(await b.over(), 'clean');
			b.send('still');
			await a.expect(/^still/);
			assert.equal(a.end, null);
			b.finish();
			assert.equal(await a.over(), 'clean');
		}
		for (const first of ['client', 'up']) {
			const { client, up } = await open(site, '/');
			(first === 'client' ? client : up).socket.resetAndDestroy();
			assert.equal(await (first === 'client' ? up : client).over(), 'ECONNRESET');
		}
	});
}

{
	const port = await freePort();
	/* covers: R387 */
	scenario('over TLS too each direction goes on behind the end of the other', {
		tls: true, origins: {},
		routes: section('origin main', { server: `https://127.0.0.1:${port}`, 'tls-name': 'a.test', 'tls-ca': certs().file('ca.pem') }) + section('route main', { origin: 'main', upgrade: 'websocket' }),
	}, async (s) => {
		const LENGTH = 8 << 20;
		for (const first of ['client', 'up']) {
			let up;
			const server = tls.createServer({ ...certs().server, ALPNProtocols: ['http/1.1'], allowHalfOpen: true }, (socket) => { up = socket; });
			server.listen(port, '127.0.0.1');
			const client = tls.connect({ port: s.port, host: '127.0.0.1', servername: 'a.test', ca: certs().ca, ALPNProtocols: ['http/1.1'], allowHalfOpen: true });
			s.cleanups.push(() => { server.close(); client.destroy(); up?.destroy(); });
			client.write(asked('/'));
			await until('a connection at the origin', () => up);
			const head = await new Promise((resolve) => { up.once('data', (d) => resolve(d.toString('latin1'))); });
			up.write(opening(head));
			await new Promise((resolve) => { client.once('data', resolve); });
			const [a, b] = first === 'client' ? [client, up] : [up, client];
			let ended = false, came = 0, over = false;
			b.on('end', () => { ended = true; }).resume();
			a.pause().end();
			await until('the end of the first direction', () => ended);
			b.end(Buffer.alloc(LENGTH, 'x'));
			await sleep(200); /* in which all that is between the two becomes full */
			a.on('data', (d) => { came += d.length; }).on('end', () => { over = true; }).resume();
			await until('the end of the second direction', () => over);
			assert.equal(came, LENGTH);
			const line = await s.gate.access((l) => l.tunnel_ended === (first === 'client' ? 'client' : 'origin'));
			assert.deepEqual([line.outcome, line.request_bytes + line.response_bytes], ['complete', LENGTH]);
			server.close();
		}
	});
}
