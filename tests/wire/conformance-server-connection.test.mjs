/* SPDX-License-Identifier: MIT */
/*
 * A client's connection from its first byte to its last (RFC 9113 3, 5.4.1, 6.8, 9): prefaces, TLS,
 * authorities, GOAWAY in either direction.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { PREFACE, frame, settingsPayload } from '../support/frames.mjs';
import { certs, scenario, section, until, workDir } from '../support/gate.mjs';
import { conformance } from '../support/site.mjs';

const hello = Buffer.concat([PREFACE, frame('SETTINGS', 0, 0, settingsPayload({}))]);

/* What comes back for these bytes, until the connection ends. */
function last(socket, bytes = undefined) {
	return new Promise((resolve) => {
		const parts = [];
		socket.on('data', (d) => parts.push(d));
		socket.on('error', () => {});
		socket.on('close', () => resolve(Buffer.concat(parts)));
		if (bytes)
			socket.write(bytes);
	});
}
const plain = (s) => net.connect({ port: s.port, host: '127.0.0.1' });
/* A socket, or the error of its handshake. */
const shake = (s, options) => new Promise((resolve) => {
	const socket = tls.connect({ port: s.port, host: '127.0.0.1', ca: certs().ca, servername: 'localhost', ALPNProtocols: ['h2'], ...options });
	socket.once('secureConnect', () => resolve(socket));
	socket.once('error', resolve);
});
const isRefused = (result) => {
	assert.ok(result instanceof Error, 'the handshake succeeded');
	return result;
};
/* The connection still serves a page. */
const serves = async (s) => {
	const client = await s.connect();
	client.request(1, { path: '/serves' });
	const origin = s.up ?? (s.up = await s.accept());
	origin.respond((await origin.expectRequest('/serves')).stream, { body: 'x' });
	assert.equal((await client.response(1)).status, 200);
};

/* ---- the preface ---- */

// covers: R81
scenario('3.4. our preface is SETTINGS, sent without waiting for the client\'s', async (s) => {
	const client = await s.connect({ settings: null });
	const first = await client.take(() => true, 'a first frame');
	assert.equal(first.type, 'SETTINGS');
	assert.equal(first.ack, false);
});
// covers: R81
for (const [what, send] of Object.entries({
	PING: (c) => c.ping('tooearly'), 'a SETTINGS acknowledgement': (c) => c.settingsAck(), HEADERS: (c) => c.request(1),
	'an unknown frame': (c) => c.frame(0xfa), WINDOW_UPDATE: (c) => c.windowUpdate(0, 1),
}))
	scenario(`3.4. ${what} in place of the first SETTINGS is a connection error`, async (s) => {
		const client = await s.connect({ settings: null });
		send(client);
		await client.expectConnectionError('PROTOCOL_ERROR');
		await serves(s);
	});
// covers: R81
scenario('3.4. a second preface is a connection error', async (s) => {
	const client = await s.connect();
	await client.ready();
	/* "PRI" as the length of a frame. */
	client.raw(PREFACE);
	await client.expectConnectionError(['FRAME_SIZE_ERROR', 'PROTOCOL_ERROR']);
	await serves(s);
});
// covers: R81
scenario('3.4. a preface that breaks off, or differs in its last byte, gets no HTTP/2', async (s) => {
	const wrong = Buffer.from(PREFACE);
	wrong[23] = 0x20;
	const text = await last(plain(s), wrong);
	assert.match(String(text), /^HTTP\/1\.1 505 /);
	plain(s).end(PREFACE.subarray(0, 10));
	await serves(s);
});
// covers: R81
scenario('3.4. over TLS a wrong preface is a connection error', { tls: true }, async (s) => {
	const wrong = Buffer.from(PREFACE);
	wrong[0] = 0x51;
	const socket = await shake(s, {});
	const got = await last(socket, wrong);
	/* Our SETTINGS, and GOAWAY with PROTOCOL_ERROR. */
	assert.equal(got[3], 4);
	assert.notEqual(got.indexOf(Buffer.from('preface-bad')), -1);
	await serves(s);
});
// covers: R81
scenario('3.4. requests may follow the preface at once', async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { body: 'x' });
	assert.equal((await client.response(1)).status, 200);
});

// covers: R82
for (const [what, bytes] of Object.entries({
	'an HTTP/1.1 request': 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n',
	'an HTTP/1.0 request': 'GET / HTTP/1.0\r\n\r\n',
	'an upgrade to h2c': 'GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n\r\n',
	'PRI of another version': 'PRI * HTTP/1.1\r\n\r\nSM\r\n\r\n',
	'two requests in one packet': 'GET /a HTTP/1.1\r\nhost: x\r\n\r\nGET /b HTTP/1.1\r\nhost: x\r\n\r\n',
	'an upload by HTTP/1.1 that is on its way': `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(1000000)}`,
	'a TLS hello': Buffer.from('160301020001000100', 'hex'),
}))
	scenario(`3.1. ${what} in cleartext gets one 505 and the end`, { listen: { protocols: 'h2' } }, async (s) => {
		const text = String(await last(plain(s), bytes));
		assert.match(text, /^HTTP\/1\.1 505 /);
		assert.match(text.toLowerCase(), /\r\nconnection: close\r\n/);
		assert.doesNotMatch(text, /101|upgrade:/i);
		assert.equal(text.split('HTTP/1.1 505').length, 2);
		assert.equal(s.server.connections.length, 0);
		await serves(s);
	});

/* ---- TLS ---- */

// covers: R83
scenario('RFC 7301 3.2. ALPN without h2 fails with no_application_protocol', { tls: true, listen: { protocols: 'h2' } }, async (s) => {
	for (const ALPNProtocols of [['http/1.1'], ['h2c'], ['h3', 'http/1.1'], ['H2'], ['h2-14']])
		assert.match(isRefused(await shake(s, { ALPNProtocols })).message, /no.application.protocol/i);
	await serves(s);
});
// covers: R83
scenario('RFC 7301 3.2. http/1.1 is one of ours, and then no bytes are taken for HTTP/2', { tls: true }, async (s) => {
	for (const ALPNProtocols of [['http/0.9'], ['h2c'], ['h3', 'HTTP/1.1'], ['H2'], ['h2-14']])
		assert.match(isRefused(await shake(s, { ALPNProtocols })).message, /no.application.protocol/i);
	for (const [ALPNProtocols, chosen] of [[['http/1.1'], 'http/1.1'], [['h3', 'http/1.1', 'h2c'], 'http/1.1'],
		[['http/1.0'], 'http/1.0'], [['http/1.0', 'http/1.1'], 'http/1.1'], [undefined, false]]) {
		const socket = await shake(s, { ALPNProtocols });
		assert.equal(socket.alpnProtocol, chosen);
		assert.match(String(await last(socket, hello)), /^HTTP\/1\.1 505 /);
	}
	assert.equal(s.server.connections.length, 0);
	await serves(s);
});
// covers: R82
scenario('3.1. an upgrade to h2c is answered in HTTP/1.1', async (s) => {
	const text = last(plain(s), 'GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, http2-settings, close\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n\r\n');
	const origin = await s.accept();
	const up = await origin.expectRequest('/');
	assert.equal(up.headers.upgrade, undefined);
	assert.equal(up.headers['http2-settings'], undefined);
	origin.respond(up.stream, { body: 'x' });
	assert.match(String(await text), /^HTTP\/1\.1 200 /);
	assert.doesNotMatch(String(await text), /HTTP\/1\.1 101|upgrade:/i);
});
// covers: R83
scenario('RFC 7301 3.2. h2 is chosen wherever it stands in the list', { tls: true }, async (s) => {
	for (const ALPNProtocols of [['h2'], ['http/1.1', 'h2'], ['h3', 'spdy/3.1', 'h2', 'http/1.1']]) {
		const socket = await shake(s, { ALPNProtocols });
		assert.equal(socket.alpnProtocol, 'h2');
		socket.destroy();
	}
});
// covers: R83
scenario('3.3. without ALPN nothing is taken for HTTP/2, its preface neither', { tls: true, listen: { protocols: 'h2' } }, async (s) => {
	for (const bytes of [hello, 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n']) {
		const socket = await shake(s, { ALPNProtocols: undefined });
		assert.match(String(await last(socket, bytes)), /^HTTP\/1\.1 505 /);
	}
	assert.equal(s.server.connections.length, 0);
	await serves(s);
});
// covers: R84
scenario('9.2. TLS below 1.2 is refused', { tls: true }, async (s) => {
	for (const version of ['TLSv1', 'TLSv1.1'])
		isRefused(await shake(s, { minVersion: version, maxVersion: version, ciphers: 'DEFAULT:@SECLEVEL=0' }));
	await serves(s);
});
// covers: R84
scenario('9.2.2. TLS 1.2 with a suite of appendix A is refused, with an ephemeral AEAD one it is served', { tls: true }, async (s) => {
	for (const ciphers of ['AES128-GCM-SHA256', 'AES256-SHA', 'ECDHE-RSA-AES128-SHA', 'ECDHE-RSA-AES128-SHA256', 'DHE-RSA-AES128-GCM-SHA256'])
		isRefused(await shake(s, { maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0` }));
	for (const ciphers of ['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-CHACHA20-POLY1305']) {
		const socket = await shake(s, { maxVersion: 'TLSv1.2', ciphers });
		assert.equal(socket.getCipher().name, ciphers);
		assert.match(socket.getEphemeralKeyInfo().type, /ECDH/);
		socket.destroy();
	}
});
// covers: R84
scenario('9.2.1. TLS 1.2 is neither compressed nor renegotiated', { tls: true }, async (s) => {
	const socket = await shake(s, { maxVersion: 'TLSv1.2' });
	assert.equal(socket.renegotiate({}, () => {}) === false || await new Promise((resolve) => {
		socket.once('error', () => resolve(true));
		socket.once('close', () => resolve(true));
	}), true);
	socket.destroy();
	await serves(s);
});

// covers: R84
scenario('9.2.3. TLS 1.3 tickets allow no early data', { tls: true }, async (s) => {
	const dir = workDir(), file = path.join(dir, 'ticket.pem');
	const client = spawn('openssl', ['s_client', '-connect', `127.0.0.1:${s.port}`, '-servername', 'localhost', '-alpn', 'h2', '-tls1_3', '-sess_out', file],
		{ stdio: ['pipe', 'ignore', 'ignore'] });
	try {
		await until('a ticket', () => /END SSL SESSION/.test(fs.existsSync(file) && fs.readFileSync(file, 'utf8')));
	} finally {
		client.kill();
	}
	const shown = spawnSync('openssl', ['sess_id', '-in', file, '-noout', '-text'], { encoding: 'utf8' });
	fs.rmSync(dir, { recursive: true });
	assert.match(shown.stdout, /Protocol *: TLSv1\.3/);
	assert.match(shown.stdout, /Max Early Data: 0\n/);
});

/* ---- authorities ---- */

// covers: R85
scenario('RFC 9110 7.4. an authority that nobody serves gets 421, and so does a foreign scheme', {
	routes: section('route main', { host: 'a.test', origin: 'main' }), tls: true,
}, async (s) => {
	const client = await s.connect();
	const ask = async (id, fields) => {
		client.headers(id, { ':method': 'GET', ':scheme': 'https', ':authority': 'a.test', ':path': '/', ...fields }, { endStream: true });
		return (await client.response(id)).status;
	};
	assert.equal(await ask(1, { ':authority': 'b.test' }), 421);
	assert.equal(await ask(3, { ':authority': 'a.test.evil' }), 421);
	assert.equal(await ask(5, { ':authority': '127.0.0.1' }), 421);
	assert.equal(await ask(7, { ':scheme': 'ftp' }), 421);
	assert.equal(await ask(9, { ':scheme': 'ws' }), 421);
	assert.equal(s.server.connections.length, 0);
	client.request(11, { path: '/right', ':authority': 'A.TEST.' });
	const origin = await s.accept();
	origin.respond((await origin.expectRequest('/right')).stream, { body: 'x' });
	assert.equal((await client.response(11)).status, 200);
});
// covers: R85
scenario('9.1.1. one connection serves every authority that has a route', {
	routes: section('route a', { host: 'a.test', origin: 'main' }) + section('route b', { host: '*.b.test', origin: 'main' }), tls: true,
}, async (s) => {
	const client = await s.connect();
	let origin;
	for (const [i, authority] of ['a.test', 'www.b.test', 'a.test:443'].entries()) {
		client.request(1 + 2 * i, { path: `/${i}`, ':authority': authority });
		origin ??= await s.accept();
		const up = await origin.expectRequest(`/${i}`);
		assert.equal(up.headers[':authority'], authority);
		origin.respond(up.stream, { body: 'x' });
		assert.equal((await client.response(1 + 2 * i)).status, 200);
	}
});

/* ---- GOAWAY ---- */

conformance('GOAWAY', [
	{ covers: 'R86', name: '5.4.1. of ours names the last stream that was acted on', final: true, check: async (c, r) => {
		const path = r.site.path();
		c.headers(7, r.get(path), { endStream: true });
		await r.site.request(path);
		c.data(0, 'x').headers(9, r.get('/after'), { endStream: true });
		assert.equal((await c.expectConnectionError('PROTOCOL_ERROR')).lastId, 7);
	} },
	{ covers: 'R86', name: '5.4.1. of ours names 0 when there was none', final: true, check: async (c, r) => {
		c.data(0, 'x');
		assert.equal((await c.expectConnectionError('PROTOCOL_ERROR')).lastId, 0);
	} },
	{ covers: 'R86', name: '5.4.1. of ours is the last frame, and comes once', given: 'open', final: true, check: async (c, r) => {
		c.frame('PING', 0, 0, Buffer.alloc(7)).data(0, 'x').ping().frame('SETTINGS', 0, 1);
		const { seq } = await c.expectConnectionError('FRAME_SIZE_ERROR');
		assert.equal(c.frames, seq + 1);
		await r.origin.expectReset(r.up.stream, 'CANCEL');
	} },
	{ covers: 'R86', name: '5.4.1. of ours reaches a client that had a whole window on its way', given: 'open', final: true, check: async (c, r) => {
		c.data(0, 'x');
		for (let i = 0; i < 128; i++)
			c.data(1, Buffer.alloc(16384));
		await c.expectGoaway('PROTOCOL_ERROR');
		await c.expectClosed();
		await r.origin.expectReset(r.up.stream, 'CANCEL');
	} },
	{ covers: 'R86', name: '5.4.1. of ours for one client leaves the others alone', given: 'open', check: async (c, r) => {
		const other = await r.site.connect();
		other.data(0, 'x');
		await other.expectConnectionError('PROTOCOL_ERROR');
		c.data(1, '', { endStream: true });
		r.origin.respond(r.up.stream, { body: 'fine' });
		assert.equal(String((await c.response(1)).body), 'fine');
	} },
	{ covers: 'R89', name: '6.8. NO_ERROR of a client: what it has asked for is answered, then we close', given: 'open', final: true, check: async (c, r) => {
		c.goaway(0);
		await c.sync();
		c.data(1, '', { endStream: true });
		r.origin.respond(r.up.stream, { body: 'page' });
		assert.equal(String((await c.response(1)).body), 'page');
		await c.expectClosed();
	} },
	{ covers: 'R89', name: '6.8. of a client without streams ends the connection', final: true, check: async (c, r) => {
		c.goaway(0);
		await c.expectClosed();
	} },
	{ covers: 'R89', name: '6.8. of a client with debug data and an unknown code ends the connection', given: 'open', final: true, check: async (c, r) => {
		c.goaway(0, 0xdeadbeef, 'd'.repeat(1000));
		await c.expectClosed();
		await r.origin.expectReset(r.up.stream, 'CANCEL');
	} },
	{ covers: 'R89', name: '6.8. of a client, again and again with the same or a lower id, is fine', given: 'open', final: true, check: async (c, r) => {
		c.goaway(0x7fffffff).goaway(100).goaway(100).goaway(0);
		await c.sync();
		c.data(1, '', { endStream: true });
		r.origin.respond(r.up.stream, { body: 'page' });
		assert.equal((await c.response(1)).status, 200);
	} },
	{ covers: 'R89', name: '6.8. of a client with a raised last id', given: 'open', connection: 'PROTOCOL_ERROR', send: (c) => c.goaway(0).goaway(2) },
]);

// covers: R87 R88
for (const secure of [false, true])
	scenario(`6.8. on SIGTERM GOAWAY comes twice, streams opened meanwhile count, later ones are not looked at, ${secure ? 'TLS' : 'h2c'}`, {
		server: { 'drain-timeout': '20s' }, tls: secure,
	}, async (s) => {
		const { client, origin, up } = await s.open({ client: { auto: { ping: false } } });
		process.kill(s.gate.pid, 'SIGTERM');
		const announced = await client.expect('GOAWAY');
		assert.deepEqual([announced.code, announced.lastId], ['NO_ERROR', 0x7fffffff]);
		/* It was under way: the PING that follows is not answered yet. (The connection to the origin takes no more.) */
		client.request(3, { path: '/under-way' });
		const next = await s.accept();
		const second = await next.expectRequest('/under-way');
		client.frame('PING', 1, 0, (await client.expect('PING', { ack: false })).payload);
		const final = await client.expect('GOAWAY');
		assert.deepEqual([final.code, final.lastId], ['NO_ERROR', 3]);
		/* Too late, and without effect, but for what it means to compression and windows. */
		client.encoder.indexing = true;
		client.headers(5, { ':method': 'POST', ':scheme': client.scheme, ':authority': client.authority, ':path': '/late', 'x-late': 'late' });
		client.data(5, Buffer.alloc(16000)).data(5, Buffer.alloc(16000), { endStream: true }).rst(5);
		await client.sync();
		assert.deepEqual(client.seen('RST_STREAM'), []);
		next.respond(second.stream, { body: 'second' });
		origin.respond(up.stream, { body: 'first' });
		assert.equal(String((await client.response(3)).body), 'second');
		assert.equal(String((await client.response(1)).body), 'first');
		await client.expectClosed();
		assert.deepEqual([origin, next].flatMap((o) => o.seen('HEADERS')), []);
		await s.gate.ended();
	});
// covers: R88
scenario('6.8. DATA of streams above our last id is credited to the connection', { server: { 'drain-timeout': '20s' } }, async (s) => {
	const { client, origin, up } = await s.open();
	process.kill(s.gate.pid, 'SIGTERM');
	await client.expect('GOAWAY');
	assert.equal((await client.expect('GOAWAY')).lastId, 1);
	client.headers(5, { ':method': 'POST', ':scheme': client.scheme, ':authority': client.authority, ':path': '/late' });
	for (let i = 0, room = 65535 + 983041; i < 100; i++) {
		while (room < 16384)
			room += (await client.expect('WINDOW_UPDATE', { stream: 0 })).increment;
		client.data(5, Buffer.alloc(16384));
		room -= 16384;
	}
	await client.sync();
	assert.deepEqual(client.seen('GOAWAY'), []);
	origin.respond(up.stream, { body: 'x' });
	assert.equal((await client.response(1)).status, 200);
	await s.gate.ended();
});
// covers: R87
scenario('5.4.1. an idle connection is told before it is closed', { listen: { 'idle-timeout': '100ms' } }, async (s) => {
	const client = await s.connect();
	await client.ready();
	await client.expectGoaway('NO_ERROR');
	await client.expectClosed();
});
// covers: R87
scenario('6.5.3. a client that never acknowledges our SETTINGS gets SETTINGS_TIMEOUT', { listen: { 'settings-timeout': '100ms' } }, async (s) => {
	const client = await s.connect({ auto: { settings: false } });
	await client.expectConnectionError('SETTINGS_TIMEOUT');
});
