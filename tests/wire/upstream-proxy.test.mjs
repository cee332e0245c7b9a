/* SPDX-License-Identifier: MIT */
/*
 * Behind an upstream proxy: what it is sent, what opens a tunnel there, whose bytes are whose, and which of its answers
 * the client never sees. docs/FORWARD.md.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import { BINARY, Gate, certs, freePort, section, until } from '../support/gate.mjs';
import { nodeClient } from '../support/node.mjs';
import { PASSWORD, SECRET, USER, chain, startProxy } from '../support/upstream_proxy.mjs';

const field = (head, name) => [...head.matchAll(new RegExp(`^${name}: (.*)\r$`, 'gim'))].map(([, v]) => v);
const get = (target, more = '') => `GET ${target} HTTP/1.1\r\nHost: ${target.split('/')[2]}\r\n${more}\r\n`;
const connect = (to, more = '') => `CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n${more}\r\n`;
const statusOf = (head) => Number(head.split(' ')[1]);
const say = (text) => (head, socket) => { socket.write(text, 'latin1'); };

for (const secure of [false, true]) {
	const how = secure ? 'an https proxy' : 'an http proxy';

	// covers: R610
	chain(`${how} gets http requests in absolute-form, on connections that all hosts share`, { secure }, async (s) => {
		const client = s.client().send(get('http://one.test/a?b=c', 'Proxy-Authorization: Basic bXk6b3du\r\n'));
		assert.equal(statusOf(await client.head()), 200);
		await client.expect(/^http:\/\/one\.test\/a\?b=c/);
		client.send(get('http://two.test:8080/'));
		await client.head();
		await client.expect(/^http:\/\/two\.test:8080\//);
		client.send('OPTIONS http://three.test HTTP/1.1\r\nHost: three.test\r\n\r\n');
		await client.head();
		await client.expect(/^http:\/\/three\.test/);
		assert.equal(s.proxy.connections, 1);
		for (const head of s.proxy.heads) {
			assert.deepEqual(field(head, 'proxy-authorization'), [`Basic ${SECRET}`]);
			assert.equal(field(head, 'host').length, 1);
			assert.match(field(head, 'via')[0], /pushgate/);
		}
		assert.equal(s.proxy.heads[2].split(' ')[1], 'http://three.test');
	});

	chain(`a CONNECT through ${how} is a tunnel end to end, and what comes with the answer is in it`, { secure,
		answer: (head, socket) => {
			socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello');
			socket.on('data', (bytes) => socket.write(bytes.toString('latin1').toUpperCase()));
			socket.resume();
		} }, async (s) => {
		const client = s.client().send(connect('one.test:443'));
		const head = await client.head();
		assert.equal(statusOf(head), 200);
		assert.deepEqual(field(head, 'content-length'), []);
		client.send('abc');
		await client.expect(/^helloABC$/);
		assert.match(s.proxy.heads[0], /^CONNECT one\.test:443 HTTP\/1\.1\r\n/);
		assert.deepEqual(field(s.proxy.heads[0], 'proxy-authorization'), [`Basic ${SECRET}`]);

		const h2 = await s.connect();
		h2.headers(1, { ':method': 'CONNECT', ':authority': 'two.test:443' });
		assert.equal((await h2.expectHead(1)).headers[':status'], '200');
		h2.data(1, 'xyz', { endStream: false });
		let text = '';
		while (text !== 'helloXYZ')
			text += (await h2.expect('DATA', { stream: 1 })).data;
		h2.rst(1);
	});

	// covers: R611
	chain(`a request for https goes through a tunnel of ${how}, with TLS to its destination`, { secure, kinds: ['alpn', 'h1s'] }, async (s) => {
		const client = nodeClient(s);
		for (const kind of ['alpn', 'h1s', 'alpn', 'h1s']) {
			const to = `a.test:${s.ports[kind]}`;
			const answer = await client.get({ ':scheme': 'https', ':authority': to, ':path': `/${kind}` });
			assert.equal(answer.body, `here is /${kind}`, JSON.stringify(answer));
		}
		/* Each destination has one tunnel; nothing but that is asked of the proxy. */
		assert.deepEqual(s.proxy.heads.map((head) => head.split(' ').slice(0, 2).join(' ')).sort(),
			[`CONNECT a.test:${s.ports.alpn}`, `CONNECT a.test:${s.ports.h1s}`].sort());
		assert.deepEqual(field(s.proxy.heads[0], 'proxy-authorization'), [`Basic ${SECRET}`]);
		assert.match(field(s.proxy.heads[0], 'via')[0], /pushgate/);
		/* c.test is not in the certificate. */
		const other = await client.get({ ':scheme': 'https', ':authority': `c.test:${s.ports.alpn}`, ':path': '/' });
		assert.equal(other.status, 503);
		assert.match(other.headers['proxy-status'], /tls_certificate_error/);
	});

	chain(`a megabyte each way in TLS to a destination through ${how}`, { secure, kinds: ['alpn'],
		serve: (request, response) => { request.pipe(response); } }, async (s) => {
		const { session } = nodeClient(s);
		const stream = session.request({ ':method': 'POST', ':scheme': 'https', ':authority': `a.test:${s.ports.alpn}`, ':path': '/' });
		const body = Buffer.alloc(1 << 20, 'pushgate through a proxy ');
		const got = [];
		stream.on('data', (bytes) => got.push(bytes));
		stream.end(body);
		await new Promise((resolve, reject) => stream.on('end', resolve).on('error', reject));
		assert.ok(Buffer.concat(got).equals(body));
	});

	// covers: R611
	chain(`WebSockets over http and https, in HTTP/1.1 and HTTP/2, go through tunnels of ${how}`, { secure,
		prepare: async (s) => {
			const upgrade = (request, socket) => {
				const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
				socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
				socket.on('data', (bytes) => socket.write(bytes.toString('latin1').toUpperCase())).on('error', () => {});
			};
			s.ws = {};
			for (const [scheme, server] of [['http', http.createServer()], ['https', https.createServer(certs().server)]]) {
				server.on('upgrade', upgrade).on('connection', (socket) => s.cleanups.push(() => socket.destroy()));
				await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
				s.cleanups.push(() => server.close());
				s.ws[scheme] = server.address().port;
			}
		} }, async (s) => {
		const h2 = await s.connect();
		for (const [i, scheme] of ['http', 'https'].entries()) {
			const to = `a.test:${s.ws[scheme]}`;
			const client = s.client().send(get(`${scheme}://${to}/ws`, 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'));
			assert.equal(statusOf(await client.head()), 101);
			client.send('abc');
			await client.expect(/^ABC$/);
			const id = 2 * i + 1;
			h2.headers(id, { ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': scheme, ':authority': to, ':path': '/ws', 'sec-websocket-version': '13' });
			assert.equal((await h2.expectHead(id)).headers[':status'], '200');
			h2.data(id, 'xyz', { endStream: false });
			assert.equal(String((await h2.expect('DATA', { stream: id })).data), 'XYZ');
			assert.equal(s.proxy.heads.filter((head) => head.startsWith(`CONNECT ${to} `)).length, 2);
			h2.rst(id);
		}
	});

	chain(`what an https site pushes comes through the tunnel of ${how}`, { secure, listen: { mode: 'forward', access: 'test' },
		prepare: async (s) => {
			const server = http2.createSecureServer(certs().server);
			const sessions = [];
			server.on('session', (session) => sessions.push(session.on('error', () => {})));
			server.on('stream', (stream) => {
				stream.pushStream({ ':path': '/pushed' }, (error, push) => {
					push?.respond({ ':status': 200 });
					push?.end('pushed');
				});
				stream.respond({ ':status': 200 });
				stream.end('page');
			});
			await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
			s.cleanups.push(() => { sessions.forEach((session) => session.destroy()); server.close(); });
			s.site = `a.test:${server.address().port}`;
		} }, async (s) => {
		const client = nodeClient(s);
		const page = await client.get({ ':scheme': 'https', ':authority': s.site, ':path': '/' });
		assert.equal(page.body, 'page');
		assert.equal((await client.pushes.get('/pushed'))?.body, 'pushed');
	});

	chain(`a WebSocket over http that the site does not want asks ${how} for a tunnel`, { secure, kinds: ['h1'] }, async (s) => {
		const key = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
		const client = s.client().send(get(`http://one.test:${s.ports.h1}/ws`, key));
		assert.equal(statusOf(await client.head()), 200); /* the destination knows no WebSocket */
		await client.expect(/^here is \/ws|\r\nhere is \/ws/);
		assert.match(s.proxy.heads[0], new RegExp(`^CONNECT one\\.test:${s.ports.h1} `));
	});
}

/* ---- answers ---- */

const ANSWERS = [
	['407', 'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="theirs"\r\nContent-Length: 2\r\n\r\nno', 'proxy_configuration_error', 'upstream-proxy-user'],
	['407 without a body', 'HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n', 'proxy_configuration_error', 'upstream-proxy-user'],
	['502', 'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\nX-Inside: 10.1.2.3\r\n\r\nsecret', 'destination_unavailable', 'upstream-proxy-refused'],
	['403 to the end', 'HTTP/1.1 403 No\r\n\r\nsecret', 'destination_unavailable', 'upstream-proxy-refused'],
	['a redirect', 'HTTP/1.1 302 Found\r\nLocation: http://login.test/\r\nContent-Length: 0\r\n\r\n', 'destination_unavailable', 'upstream-proxy-refused'],
	['garbage', 'garbage\r\n\r\n', 'http_protocol_error'],
	['HTTP/2', '\0\0\x12\x04\0\0\0\0\0', 'http_protocol_error'],
	['a folded field', 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n', 'http_protocol_error'],
	['101', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n', 'http_protocol_error'],
	['a head without end', `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(200000)}`, 'http_(protocol_error|response_header_section_size)'],
];

async function assertTold(s, answer, error) {
	assert.equal(statusOf(answer.head), 502, answer.head);
	assert.match(field(answer.head, 'proxy-status')[0], new RegExp(`error=${error}`));
	assert.ok(!/secret|theirs|x-inside|10\.1\.2\.3|proxy-authenticate|location/i.test(answer.head + answer.body), answer.head);
}

async function ask(s, bytes) {
	const client = s.client().send(bytes);
	const head = await client.head();
	await until('the body', () => client.text.length >= Number(field(head, 'content-length')[0] ?? 0));
	return { client, head, body: client.text };
}

// covers: R612
chain('no answer of an upstream proxy to a CONNECT but an opening one reaches the client', { kinds: ['alpn'] }, async (s) => {
	const h2 = nodeClient(s);
	for (const [name, bytes, error, cause] of ANSWERS) {
		s.proxy.answer = (head, socket) => { socket.end(bytes, 'latin1'); };
		await assertTold(s, await ask(s, connect('one.test:443')), error);
		const answer = await h2.get({ ':scheme': 'https', ':authority': `a.test:${s.ports.alpn}`, ':path': `/${encodeURIComponent(name)}` });
		assert.equal(answer.status, 502, name);
		assert.match(answer.headers['proxy-status'], new RegExp(`error=${error}`), name);
		assert.ok(!/secret|theirs|10\.1\.2\.3/.test(answer.body + JSON.stringify(answer.headers)), name);
		if (cause)
			assert.match(answer.headers['proxy-status'], new RegExp(cause));
	}
	/* And then it works. */
	s.proxy.answer = null;
	await until('an answer', async () => (await h2.get({ ':scheme': 'https', ':authority': `a.test:${s.ports.alpn}`, ':path': '/then' })).body === 'here is /then');
	await s.gate.error(/upstream proxy refused.*407/);
});

chain('a 407 to a request is no answer for the client, other answers are', {}, async (s) => {
	for (const [name, bytes, error] of ANSWERS.slice(0, 2)) {
		s.proxy.answer = (head, socket) => { socket.end(bytes, 'latin1'); };
		await assertTold(s, await ask(s, get(`http://one.test/${name.replaceAll(' ', '')}`)), error);
	}
	s.proxy.answer = say('HTTP/1.1 403 Theirs\r\nContent-Length: 4\r\n\r\nthis');
	const answer = await ask(s, get('http://one.test/'));
	assert.equal(statusOf(answer.head), 403);
	assert.equal(answer.body, 'this');
});

// covers: R612
chain('bytes behind the answer that opens a tunnel to a destination of TLS are refused', { kinds: ['alpn'] }, async (s) => {
	s.proxy.answer = say('HTTP/1.1 200 OK\r\n\r\n\x15\x03\x03\0\x02\x02\x28');
	const answer = await nodeClient(s).get({ ':scheme': 'https', ':authority': `a.test:${s.ports.alpn}`, ':path': '/' });
	assert.equal(answer.status, 502);
	assert.match(answer.headers['proxy-status'], /error=http_protocol_error/);
	await s.gate.error(/bytes follow the answer/);
});

chain('an upstream proxy of HTTP/1.0', { kinds: ['alpn'] }, async (s) => {
	s.proxy.answer = (head, socket) => {
		if (!head.startsWith('CONNECT '))
			return void socket.end('HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nthis');
		socket.write('HTTP/1.0 200 Connection established\r\nProxy-agent: old\r\n\r\n');
		const to = net.connect(s.ports.alpn, '127.0.0.1').on('error', () => {});
		socket.pipe(to).pipe(socket);
		s.cleanups.push(() => to.destroy());
	};
	for (let i = 0; i < 2; i++)
		assert.equal((await ask(s, get('http://one.test/'))).body, 'this');
	assert.equal((await nodeClient(s).get({ ':scheme': 'https', ':authority': `a.test:${s.ports.alpn}`, ':path': '/old' })).body, 'here is /old');
	assert.equal(statusOf(await s.client().send(connect('one.test:443')).head()), 200);
});

chain('an upstream proxy that closes the tunnel that it has opened', { kinds: ['alpn'] }, async (s) => {
	const https = { ':scheme': 'https', ':authority': `a.test:${s.ports.alpn}`, ':path': '/' };
	const client = nodeClient(s);
	s.proxy.answer = (_, socket) => { socket.end('HTTP/1.1 200 OK\r\n\r\n'); };
	assert.equal((await client.get(https)).status, 503);
	const tunnel = s.client().send(connect('one.test:443'));
	assert.equal(statusOf(await tunnel.head()), 200);
	assert.equal(await tunnel.over(), 'clean');
});

chain('an upstream proxy that answers slowly, in pieces, with interim responses first', { kinds: ['alpn'] }, async (s) => {
	s.proxy.answer = (head, socket) => {
		const text = 'HTTP/1.1 103 Wait\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nB: c\r\n\r\n';
		let at = 0;
		const timer = setInterval(() => {
			socket.write(text.slice(at, at += 7));
			if (at < text.length)
				return;
			clearInterval(timer);
			const to = s.proxy.pipe(head, socket);
			s.cleanups.push(() => to.destroy());
		}, 2);
	};
	s.proxy.pipe = (head, socket) => {
		const to = net.connect(s.ports.alpn, '127.0.0.1');
		to.on('error', () => {});
		socket.pipe(to).pipe(socket);
		return to;
	};
	const answer = await nodeClient(s).get({ ':scheme': 'https', ':authority': `a.test:${s.ports.alpn}`, ':path': '/slow' });
	assert.equal(answer.body, 'here is /slow');
});

chain('an upstream proxy that never answers costs connect-timeout', { kinds: ['alpn'], origin: { 'connect-timeout': '300ms', 'response-timeout': '300ms' }, answer: () => {} }, async (s) => {
	const answer = await nodeClient(s).get({ ':scheme': 'https', ':authority': `a.test:${s.ports.alpn}`, ':path': '/' });
	assert.equal(answer.status, 504);
	const { head } = await ask(s, connect('one.test:443'));
	assert.equal(statusOf(head), 504);
});

chain('an upstream proxy that is not there is a failure of the connection', { kinds: ['alpn'] }, async (s) => {
	s.proxy.close();
	for (const bytes of [get('http://one.test/'), connect('one.test:443')]) {
		const { head } = await ask(s, bytes);
		assert.equal(statusOf(head), 503);
		assert.match(field(head, 'proxy-status')[0], /error=connection_(refused|terminated)/);
	}
	assert.equal((await nodeClient(s).get({ ':scheme': 'https', ':authority': `a.test:${s.ports.alpn}`, ':path': '/' })).status, 503);
});

chain('bytes behind a CONNECT that the upstream proxy refuses never become a request', { answer: say('HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n') }, async (s) => {
	const client = s.client().send(connect('one.test:443') + get('http://smuggled.test/'));
	assert.equal(statusOf(await client.head()), 502);
	await client.over();
	assert.ok(!client.text.includes('HTTP/1.1'));
	assert.equal(s.proxy.heads.length, 1);
});

/* ---- which way ---- */

chain('no-proxy, localhost and addresses of this machine are connected to', { kinds: ['h1'], origin: { 'no-proxy': '127.0.0.0/8 localhost' } }, async (s) => {
	for (const host of ['127.0.0.1', 'localhost'])
		assert.match((await ask(s, get(`http://${host}:${s.ports.h1}/near`))).body, /here is \/near/);
	assert.equal(s.proxy.heads.length, 0);
	assert.match((await ask(s, get('http://far.test/'))).body, /^http:\/\/far\.test/);
});

chain('each destination goes through the first proxy that is for it', { user: false, behind: ' *.a.test b.test',
	prepare: async (s) => {
		s.other = await startProxy();
		s.cleanups.push(() => s.other.close());
	},
	origin: (s) => ({ 'no-proxy': 'no.a.test', 'upstream-proxy': [`http://localhost:${s.proxy.port} *.a.test b.test`, `http://${USER}@127.0.0.1:${s.other.port} password-file=secret c.test`] }) },
async (s) => {
	for (const host of ['x.a.test', 'b.test', 'y.x.a.test', 'B.TEST.'])
		assert.equal(statusOf((await ask(s, get(`http://${host}/`))).head), 200, host);
	assert.equal(s.proxy.heads.length, 4);
	assert.deepEqual(field(s.proxy.heads[0], 'proxy-authorization'), []);
	assert.equal(statusOf((await ask(s, get('http://c.test/'))).head), 200);
	assert.deepEqual(field(s.other.heads[0], 'proxy-authorization'), [`Basic ${SECRET}`]);
	for (const host of ['a.test', 'no.a.test']) /* nobody here can find them */
		assert.match(field((await ask(s, get(`http://${host}/`))).head, 'proxy-status')[0], /error=dns_/, host);
});

/* ---- what may be reached ---- */

// covers: R613
chain('a destination that is written as an address is judged, a name is not', { rules: 'host=* port=1-65535', kinds: ['alpn'] }, async (s) => {
	for (const host of ['10.0.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '[fc00::1]', '[::ffff:10.0.0.1]', '[64:ff9b::a00:1]', '0.0.0.0', '127.0.0.1', 'localhost', 'x.localhost', '[::1]'])
		for (const bytes of [get(`http://${host}/`), connect(`${host}:443`), get(`http://${host}:8080/`)]) {
			const { head } = await ask(s, bytes);
			assert.equal(statusOf(head), host.includes('localhost') && !head.includes('403') ? 503 : 403, `${host}\n${head}`);
		}
	for (const host of ['0x7f.1', '017700000001', '2130706433', '127.1'])
		assert.equal(statusOf((await ask(s, get(`http://${host}/`))).head), 403, host);
	assert.equal(s.proxy.heads.length, 0);
	for (const host of ['one.test', '8.8.8.8', '[2606:4700::1111]'])
		assert.equal(statusOf((await ask(s, get(`http://${host}/`))).head), 200, host);
	assert.equal((await nodeClient(s).get({ ':scheme': 'https', ':authority': `10.0.0.1:${s.ports.alpn}`, ':path': '/' })).status, 403);
	assert.equal(s.proxy.heads.length, 3);
});

/* A connection to 0.0.0.0 or :: is one to this machine, as one to 127.0.0.1 is. */
chain('no address of this machine is asked of the proxy, even where each address may be reached', { rules: 'address=any port=1-65535', kinds: ['h1'] }, async (s) => {
	for (const host of ['127.0.0.1', '0.0.0.0'])
		assert.match((await ask(s, get(`http://${host}:${s.ports.h1}/near`))).body, /here is \/near/, host);
	for (const host of ['[::]', '[0:0::0]', '[::1]', '127.1.2.3', 'localhost', '0.0.0.0'])
		for (const bytes of [get(`http://${host}:1/`), connect(`${host}:1`)])
			assert.equal(statusOf((await ask(s, bytes)).head), 503, host);
	assert.equal(s.proxy.heads.length, 0);
	assert.equal(statusOf((await ask(s, get('http://10.0.0.1/'))).head), 200);
	assert.equal(s.proxy.heads.length, 1);
});

chain('a rule for an address range takes no name that the proxy looks up', { rules: 'host=* address=127.0.0.0/8 port=1-65535', kinds: ['alpn'] }, async (s) => {
	for (const bytes of [get('http://one.test/'), connect('one.test:443')]) {
		const { head } = await ask(s, bytes);
		assert.equal(statusOf(head), 403);
		assert.match(field(head, 'proxy-status')[0], /error=(destination_ip_prohibited|http_request_denied); details="address"/);
	}
	assert.equal((await nodeClient(s).get({ ':scheme': 'https', ':authority': `a.test:${s.ports.alpn}`, ':path': '/' })).status, 403);
	assert.equal(s.proxy.heads.length, 0);
});

chain('explain says which proxy a request goes through, and nobody its password', { rules: 'host=*.a.test address=127.0.0.0/8', origin: { 'no-proxy': 'near.a.test' } }, async (s) => {
	const told = (url) => {
		const { stdout, stderr } = spawnSync(BINARY, ['explain', '-c', s.gate.config, '--client', '127.0.0.1', url], { encoding: 'utf8' });
		assert.ok(!stdout.includes(PASSWORD) && !stdout.includes(SECRET) && !stdout.includes(USER), stdout);
		assert.equal(stderr.includes(PASSWORD), false);
		return stdout;
	};
	assert.match(told('http://www.a.test/'), new RegExp(`through upstream-proxy http://localhost:${s.proxy.port}, which looks the host up: no range of addresses holds, and so no line takes the request \\(address\\)`));
	assert.ok(!told('http://near.a.test/').includes('upstream-proxy'));
});

chain('two proxies that send each other what they get find the loop', {
	prepare: async (s) => {
		s.options.port = await freePort();
		s.second = await freePort();
		const dir = path.join(s.dir, 'second');
		fs.mkdirSync(dir);
		const gate = new Gate({ dir, ports: [s.second], config: section('server', { 'error-log': path.join(dir, 'error.log') })
			+ section('listen second', { address: `127.0.0.1:${s.second}`, mode: 'forward' })
			+ section('origin forward', { server: 'forward:', 'upstream-proxy': `http://127.0.0.1:${s.options.port}` }) + section('route forward', { origin: 'forward' }) });
		await gate.listening();
		s.cleanups.push(() => gate.stop());
	},
	origin: (s) => ({ 'upstream-proxy': `http://127.0.0.1:${s.second}` }) }, async (s) => {
	const { head } = await ask(s, get('http://one.test/'));
	assert.equal(statusOf(head), 508);
	assert.match(field(head, 'proxy-status')[0], /error=proxy_loop_detected/);
	assert.equal(statusOf((await ask(s, connect('one.test:443'))).head), 502);
	assert.equal((await nodeClient(s).get({ ':scheme': 'https', ':authority': 'one.test', ':path': '/' })).status, 502);
});
