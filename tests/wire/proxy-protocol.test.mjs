/* SPDX-License-Identifier: MIT */
/*
 * The PROXY protocol of a listener: who is believed, what counts from then on, and what becomes of headers that are
 * wrong, in pieces, slow, or missing.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import net from 'node:net';
import tls from 'node:tls';
import { BINARY, certs, freePort, scenario, section } from '../support/gate.mjs';
import { Connection1, recordingOrigin } from '../support/http1.mjs';
import { local, v1, v2, value } from '../support/proxy_header.mjs';

const REQUIRED = { 'proxy-protocol': 'required', trusted: '127.0.0.1' };
const FIELDS = [['host', 'a.test']];

function connected(port) {
	return new Promise((resolve, reject) => {
		const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => resolve(socket));
		socket.once('error', reject);
	});
}

/* A client in HTTP/1.1 behind a balancer that has written these bytes. */
async function through(s, header, { port = s.port } = {}) {
	const client = new Connection1(await connected(port), 'response');
	client.socket.write(header);
	return client;
}

/* The same over TLS, which begins right behind the header. */
async function throughTls(s, header, port) {
	const raw = await connected(port);
	raw.write(header);
	const socket = tls.connect({ socket: raw, ca: certs().ca, servername: 'localhost', ALPNProtocols: ['http/1.1'] });
	await new Promise((resolve, reject) => { socket.once('secureConnect', resolve); socket.once('error', reject); });
	return new Connection1(socket, 'response');
}

/* All that comes until the gate ends the connection. */
function last(socket) {
	return new Promise((resolve) => {
		const parts = [];
		socket.on('data', (d) => parts.push(d));
		socket.on('error', () => {});
		socket.on('close', () => resolve(Buffer.concat(parts)));
		socket.on('end', () => socket.end());
	});
}

/* scenario() with an origin in HTTP/1.1 that records. */
function gated(name, options, body) {
	scenario(name, { ...options, prepare: async (s) => {
		s.origin = await recordingOrigin();
		s.cleanups.push(() => s.origin.close());
		s.options.origins = { main: { server: `http://127.0.0.1:${s.origin.port}` } };
		s.options.extra = await options.more?.(s) ?? options.extra;
	} }, async (s) => {
		await body(s);
		assert.deepEqual(s.origin.errors, []);
	});
}

async function asks(s, client, path) {
	client.request('GET', path, FIELDS);
	const { status } = await client.response();
	return { status, line: await s.gate.access((x) => x.path === path), seen: s.origin.requests.find((m) => m.target === path)?.headers };
}

// covers: R687
gated('the claimed peer is the client: for rules, the log and the origin, in both versions and families', {
	listen: { ...REQUIRED, access: 'a' },
	extra: '[access a]\ndeny = client=192.0.2.13,2001:db8::13\nallow = client=192.0.2.0/24,2001:db8::/32,127.0.0.0/8\n',
}, async (s) => {
	const wide = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff';
	for (const [header, client, status] of [
		[v1('192.0.2.1'), '192.0.2.1', 200],
		[v2('192.0.2.1'), '192.0.2.1', 200],
		[v2('192.0.2.1', undefined, 1, 2, { id: 'abc', authority: 'a.test', alpn: 'h2', sum: true, more: [value(0x04, Buffer.alloc(7)), value(0xee, Buffer.from('x'))] }), '192.0.2.1', 200],
		[v1('2001:db8::1', '2001:db8::2'), '2001:db8::1', 200],
		[v2('2001:db8::1'), '2001:db8::1', 200],
		[v1('192.0.2.13'), '192.0.2.13', 403],
		[v2('2001:db8::13'), '2001:db8::13', 403],
		[v1('203.0.113.1'), '203.0.113.1', 403],
		[v1(wide, wide, 65535, 65535), wide, 403],
		/* The balancer speaks for itself. */
		[Buffer.from('PROXY UNKNOWN\r\n'), '127.0.0.1', 200],
		[local(), '127.0.0.1', 200],
	]) {
		const what = header.toString('latin1');
		const path = `/${s.count = (s.count ?? 0) + 1}`;
		const { status: got, line, seen } = await asks(s, await through(s, header), path);
		assert.equal(got, status, what);
		assert.equal(line.client, client, what);
		assert.equal(line.tcp_peer, client === '127.0.0.1' ? undefined : '127.0.0.1', what);
		if (status === 200)
			assert.equal(seen['x-forwarded-for'], client, what);
	}
	const line = await s.gate.access((x) => x.path === '/3');
	assert.deepEqual([line.proxy_id, line.proxy_authority, line.proxy_alpn], ['abc', 'a.test', 'h2']);
});

gated('a header in pieces is waited for, and the bytes behind it are the request', { listen: REQUIRED }, async (s) => {
	const request = 'GET /%s HTTP/1.1\r\nhost: a.test\r\n\r\n';
	let n = 0;
	for (const header of [v1('192.0.2.7'), v2('192.0.2.7', undefined, 1, 2, { id: 'x'.repeat(128), sum: true })]) {
		for (const cut of [1, 5, 6, 12, 13, 16, 17, header.length - 1, header.length]) {
			const bytes = Buffer.concat([header, Buffer.from(request.replace('%s', `cut-${++n}`))]);
			const client = await through(s, bytes.subarray(0, cut));
			/* Another connection's whole round trip: the first piece has been read meanwhile. */
			await asks(s, await through(s, header), `/between-${n}`);
			client.send(bytes.subarray(cut), [{ method: 'GET' }]);
			assert.equal((await client.response()).status, 200);
			assert.equal((await s.origin.request(`/cut-${n}`)).headers['x-forwarded-for'], '192.0.2.7');
		}
		const client = await through(s, Buffer.alloc(0));
		client.socket.setNoDelay(true);
		for (const byte of header) {
			client.socket.write(Buffer.from([byte]));
			await new Promise((resolve) => { setImmediate(resolve); });
		}
		assert.equal((await asks(s, client, `/bytes-${n}`)).line.client, '192.0.2.7');
	}
});

gated('it comes before TLS, which finds its first bytes untouched', {
	more: async (s) => section('listen secure', { address: `127.0.0.1:${s.secure = await freePort()}`, ...REQUIRED,
		certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') }),
}, async (s) => {
	for (const header of [v1('192.0.2.1'), v2('2001:db8::9')]) {
		const { status, line } = await asks(s, await throughTls(s, header, s.secure), `/tls${header.length}`);
		assert.equal(status, 200);
		assert.equal(line.scheme, 'https');
		assert.match(line.client, /^(192\.0\.2\.1|2001:db8::9)$/);
	}
	const bare = tls.connect({ port: s.secure, host: '127.0.0.1', ca: certs().ca, servername: 'localhost' });
	assert.equal((await last(bare)).length, 0);
});

scenario('HTTP/2 with prior knowledge begins right behind it', { listen: REQUIRED }, async (s) => {
	const relay = net.createServer((socket) => {
		const to = net.connect(s.port, '127.0.0.1', () => { to.write(v2('192.0.2.5', undefined, 1, 443, { tls: true })); socket.pipe(to).pipe(socket); });
		to.on('error', () => socket.destroy());
		socket.on('error', () => to.destroy());
	});
	await new Promise((resolve) => { relay.listen(0, '127.0.0.1', resolve); });
	s.cleanups.push(() => relay.close());
	const client = await s.connect({ port: relay.address().port });
	client.request(1, { ':scheme': 'https', path: '/h2' });
	const origin = await s.accept();
	const up = await origin.expectRequest('/h2');
	assert.match(up.headers.forwarded, /^for=192\.0\.2\.5;.*proto=https/);
	origin.respond(up.stream, { body: 'x' });
	assert.equal((await client.response(1)).status, 200);
	client.request(3, { ':scheme': 'http', path: '/cleartext' });
	assert.equal((await client.response(3)).status, 421);
});

gated('explain takes a request for https for one whose TLS the balancer has ended', { listen: REQUIRED }, async (s) => {
	const explained = (peer, url) => execFileSync(BINARY, ['explain', '-c', s.gate.config, '--client', peer, url], { encoding: 'utf8' });
	for (const scheme of ['http', 'https'])
		assert.match(explained('192.0.2.1', `${scheme}://a.test/`), /client 192\.0\.2\.1: .*\nlisten main, route main/);
});

gated('the scheme is that of the client\'s connection to the balancer', { listen: { ...REQUIRED, 'proxy-protocol-https-port': '443' } }, async (s) => {
	for (const [header, scheme] of [
		[v1('192.0.2.1', undefined, 1, 80), 'http'], [v1('192.0.2.1', undefined, 443, 80), 'http'], [v1('192.0.2.1', undefined, 1, 443), 'https'],
		[v2('192.0.2.1', undefined, 1, 80), 'http'], [v2('192.0.2.1', undefined, 1, 443), 'https'],
		[v2('192.0.2.1', undefined, 1, 80, { tls: true }), 'https'], [local(), 'http'],
	]) {
		const { seen } = await asks(s, await through(s, header), `/${s.count = (s.count ?? 0) + 1}`);
		assert.equal(seen['x-forwarded-proto'], scheme, header.toString('latin1'));
	}
});

const sound = v2('192.0.2.1', undefined, 1, 2, { sum: true });
const WRONG = {
	'a request without a header': Buffer.from('GET / HTTP/1.1\r\nhost: a.test\r\n\r\n'),
	'the preface of HTTP/2': Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
	'a ClientHello': Buffer.from([0x16, 3, 1, 2, 0, 1, 0]),
	'a line without end': Buffer.from(`PROXY TCP4 ${'1'.repeat(200)}`),
	'a line of a host name': Buffer.from('PROXY TCP4 a.test 192.0.2.1 1 2\r\n'),
	'a line with a port too large': Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.2 65536 2\r\n'),
	'a line with LF alone': Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n'),
	'a wrong checksum': v2('192.0.2.1', undefined, 1, 2, { sum: false }),
	'a length of 65535': Buffer.concat([sound.subarray(0, 14), Buffer.from([255, 255])]),
	'a length below that of the addresses': Buffer.concat([sound.subarray(0, 14), Buffer.from([0, 11]), sound.subarray(16, 27)]),
	'a value that is cut off': v2('192.0.2.1', undefined, 1, 2, { more: [Buffer.from([5, 0, 9, 1])] }),
	'an id of 129 bytes': v2('192.0.2.1', undefined, 1, 2, { id: 'x'.repeat(129) }),
	'version 3': Buffer.concat([sound.subarray(0, 12), Buffer.from([0x31]), sound.subarray(13)]),
	'command 2': Buffer.concat([sound.subarray(0, 12), Buffer.from([0x22]), sound.subarray(13)]),
};
// covers: R687
gated('a wrong header ends its connection without a byte, and no other one', { listen: REQUIRED, server: { 'status-socket': 'status.sock' } }, async (s) => {
	const other = await through(s, v1('192.0.2.1'));
	for (const [what, bytes] of Object.entries(WRONG)) {
		const socket = await connected(s.port);
		socket.write(Buffer.concat([bytes, Buffer.from('GET /behind HTTP/1.1\r\nhost: a.test\r\n\r\n')]));
		assert.equal((await last(socket)).length, 0, what);
	}
	const cut = await connected(s.port);
	cut.end(sound.subarray(0, 20));
	assert.equal((await last(cut)).length, 0);
	assert.equal((await asks(s, other, '/other')).status, 200);
	assert.deepEqual(s.origin.requests.map((m) => m.target), ['/other']);
	await s.gate.error(/main: TCP peer 127\.0\.0\.1: PROXY header refused: the connection does not begin with one/);
	assert.equal(s.gate.counters().proxy_headers_refused, Object.keys(WRONG).length + 1);
});

gated('a header that does not come in time ends the connection', { listen: { ...REQUIRED, 'proxy-protocol-timeout': '300ms' } }, async (s) => {
	for (const header of [Buffer.alloc(0), Buffer.from('PROXY TCP4 192'), sound.subarray(0, 30)]) {
		const socket = await connected(s.port);
		socket.write(header);
		assert.equal((await last(socket)).length, 0);
	}
	await s.gate.error(/main: TCP peer 127\.0\.0\.1: no PROXY header in time/);
});

gated('a peer that trusted does not name is refused, whatever it sends', { listen: { ...REQUIRED, trusted: '192.0.2.1 unix' } }, async (s) => {
	for (const header of [v1('192.0.2.1'), v2('192.0.2.1'), local(), Buffer.alloc(0)]) {
		const socket = await connected(s.port);
		socket.write(header);
		assert.equal((await last(socket)).length, 0);
	}
	await s.gate.error(/main: TCP peer 127\.0\.0\.1: connection refused \(proxy-protocol is for trusted peers alone\)/);
	assert.deepEqual(s.origin.requests, []);
});

gated('without the option a header is no request, and its address counts for nothing', { listen: { trusted: '127.0.0.1' } }, async (s) => {
	for (const header of [v1('192.0.2.1'), v2('192.0.2.1')]) {
		const socket = await connected(s.port);
		socket.write(Buffer.concat([header, Buffer.from('GET /behind HTTP/1.1\r\nhost: a.test\r\n\r\n')]));
		assert.match((await last(socket)).toString('latin1'), /^HTTP\/1\.1 (400|505) /);
	}
	assert.deepEqual(s.origin.requests, []);
});

gated('connections are counted for the claimed peer', { listen: { ...REQUIRED, 'max-connections-per-client': '1' } }, async (s) => {
	const first = await through(s, v1('192.0.2.1')), second = await through(s, v1('192.0.2.2'));
	assert.equal((await asks(s, first, '/first')).status, 200);
	assert.equal((await asks(s, second, '/second')).status, 200);
	const third = await connected(s.port);
	third.write(v2('192.0.2.1'));
	assert.equal((await last(third)).length, 0);
	await s.gate.error(/main: client 192\.0\.2\.1: connection refused \(max-connections-per-client\)/);
});

gated('what the claimed peer says of others counts by its own address', {
	listen: { ...REQUIRED, trusted: '127.0.0.1 192.0.2.1', 'client-address': 'x-forwarded-for' },
}, async (s) => {
	const get = async (claimed, path) => {
		const client = await through(s, v1(claimed));
		client.request('GET', path, [...FIELDS, ['x-forwarded-for', '198.51.100.7']]);
		await client.response();
		return s.gate.access((x) => x.path === path);
	};
	const named = await get('192.0.2.1', '/trusted'), forged = await get('192.0.2.9', '/untrusted');
	assert.deepEqual([named.client, named.claimed_peer, named.tcp_peer], ['198.51.100.7', '192.0.2.1', '127.0.0.1']);
	assert.deepEqual([forged.client, forged.claimed_peer, forged.tcp_peer], ['192.0.2.9', undefined, '127.0.0.1']);
	assert.equal(s.origin.requests.find((m) => m.target === '/trusted').headers['x-forwarded-for'], '198.51.100.7, 192.0.2.1');
	assert.equal(s.origin.requests.find((m) => m.target === '/untrusted').headers['x-forwarded-for'], '192.0.2.9');
});
