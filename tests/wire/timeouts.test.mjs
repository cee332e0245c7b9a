/* SPDX-License-Identifier: MIT */
/* Every time limit, with a small value: who is waited for, how long, and what happens then. */
import assert from 'node:assert/strict';
import net from 'node:net';
import { certs, scenario } from '../support/gate.mjs';

const LIMIT = '300ms';

/* The end of a raw connection, and what came before it. */
function last(socket) {
	return new Promise((resolve) => {
		const parts = [];
		socket.on('data', (d) => parts.push(d));
		socket.on('error', () => {});
		socket.on('close', () => resolve(Buffer.concat(parts)));
	});
}

/* ---- the client's side ---- */
scenario('a TLS handshake that does not come ends the connection', { tls: true, listen: { 'tls-timeout': LIMIT } }, async (s) => {
	const socket = net.connect(s.port, '127.0.0.1');
	await last(socket);
});
scenario('a preface that does not come ends the connection', { listen: { 'preface-timeout': LIMIT } }, async (s) => {
	const socket = net.connect(s.port, '127.0.0.1');
	socket.write('PRI * HTTP');
	await last(socket);
});
scenario('SETTINGS that are never acknowledged end the connection', { listen: { 'settings-timeout': LIMIT } }, async (s) => {
	const client = await s.connect({ auto: { settings: false } });
	await client.expectConnectionError('SETTINGS_TIMEOUT');
});
scenario('a field block that is never finished ends the connection', { listen: { 'header-timeout': LIMIT } }, async (s) => {
	const client = await s.connect();
	await client.ready();
	client.headers(1, { ':method': 'GET' }, { endHeaders: false });
	await client.expectClosed();
	assert.equal(s.server.connections.length, 0);
});
scenario('an idle connection is closed without an error', { listen: { 'idle-timeout': LIMIT } }, async (s) => {
	const client = await s.connect();
	await client.ready();
	await client.expectGoaway('NO_ERROR');
	await client.expectClosed();
});
scenario('a connection with a request is not idle', { listen: { 'idle-timeout': '200ms' } }, async (s) => {
	const { client, origin, up } = await s.open();
	/* Twice the limit by the gate's own clock: another connection ends meanwhile. */
	for (let i = 0; i < 2; i++) {
		const other = await s.connect();
		await other.expectClosed();
	}
	assert.equal(client.ended, false);
	origin.respond(up.stream, { body: 'x' });
	assert.equal((await client.response(1)).status, 200);
});
scenario('an upload that stops is ended: 408 or a reset, never completed at the origin', { listen: { 'body-timeout': LIMIT } }, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST' }, options: { endStream: false } });
	client.data(1, 'part');
	await origin.expect('DATA', { stream: up.stream });
	const f = await client.take((x) => x.stream === 1 && ['HEADERS', 'RST_STREAM'].includes(x.type), 'an end');
	if (f.type === 'HEADERS')
		assert.equal(f.headers[':status'], '408');
	await origin.expectReset(up.stream);
	assert.equal(origin.seen('DATA', { endStream: true }).length, 0);
});
scenario('a client that takes nothing is ended', { listen: { 'write-timeout': LIMIT }, origin: { 'stream-window': '256k' } }, async (s) => {
	const { client, origin, up } = await s.open({ client: { auto: { window: false } } });
	await origin.sync();
	origin.headers(up.stream, { ':status': 200 });
	await client.expectHead(1);
	for (let i = 0; i < 8; i++)
		origin.data(up.stream, Buffer.alloc(16384));
	await client.take((f) => f.type === 'GOAWAY' || (f.type === 'RST_STREAM' && f.stream === 1), 'an end');
	await origin.expectReset(up.stream, 'CANCEL');
});

/* ---- the origin's side ---- */
// covers: R76
scenario('an origin that does not answer: 504', { origin: { 'response-timeout': LIMIT } }, async (s) => {
	const { client, origin, up } = await s.open();
	assert.equal((await client.response(1)).status, 504);
	await origin.expectReset(up.stream, 'CANCEL');
});
scenario('1xx does not stop the clock of the final response', { origin: { 'response-timeout': LIMIT } }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 103 });
	assert.equal((await client.response(1)).status, 504);
	await origin.expectReset(up.stream, 'CANCEL');
});
scenario('a response that stops in the middle: reset on both sides', { origin: { 'body-timeout': LIMIT } }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 200, 'content-length': 5 }).data(up.stream, 'some');
	await client.expect('DATA', { stream: 1 });
	await client.expectReset(1, 'INTERNAL_ERROR');
	await origin.expectReset(up.stream, 'CANCEL');
});
scenario('a pushed response that stops in the middle: reset on both sides, the parent goes on', { origin: { 'body-timeout': LIMIT } }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').headers(2, { ':status': 200, 'content-length': 5 }).data(2, 'some');
	const { promised } = await client.expectPromise('/a');
	await client.expectReset(promised);
	await origin.expectReset(2);
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
});
scenario('an origin that never acknowledges our SETTINGS ends its connection', {
	origins: { main: { auto: { settings: false } } }, origin: { 'settings-timeout': LIMIT },
}, async (s) => {
	const { client, origin } = await s.open();
	await origin.expectGoaway('SETTINGS_TIMEOUT');
	const f = await client.take((x) => x.stream === 1, 'an end');
	if (f.type === 'HEADERS')
		assert.match(f.headers[':status'], /^50[24]$/);
});
scenario('an idle origin connection is closed', { origin: { 'idle-timeout': LIMIT } }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { body: 'x' });
	await client.response(1);
	await origin.expectClosed();
	client.request(3, { path: '/again' });
	const next = await s.accept();
	next.respond((await next.expectRequest('/again')).stream, { body: 'y' });
	assert.equal((await client.response(3)).status, 200);
});
scenario('a request that waits too long for a stream: 504', {
	origins: { main: { settings: { maxConcurrentStreams: 1 } } }, origin: { 'queue-timeout': LIMIT, 'max-connections': 1 },
}, async (s) => {
	const { client, origin, up } = await s.open({ path: '/first' });
	await origin.sync();
	client.request(3, { path: '/queued' });
	assert.equal((await client.response(3)).status, 504);
	origin.respond(up.stream, { body: 'x' });
	assert.equal((await client.response(1)).status, 200);
	await origin.sync();
	assert.equal(origin.seen('HEADERS').length, 0);
});
scenario('a full queue: 503 at once', {
	origins: { main: { settings: { maxConcurrentStreams: 1 } } }, origin: { 'max-queue': 1, 'max-connections': 1 },
}, async (s) => {
	const { client, origin } = await s.open({ path: '/first' });
	await origin.sync();
	client.request(3, { path: '/queued' }).request(5, { path: '/over' });
	assert.equal((await client.response(5)).status, 503);
});
{
	const silent = net.createServer(() => {});
	await new Promise((resolve) => { silent.listen(0, '127.0.0.1', resolve); });
	silent.unref();
	scenario('a TLS origin that does not finish the handshake: 504', {
		origins: { main: { server: `h2://127.0.0.1:${silent.address().port}`, config: { 'connect-timeout': LIMIT, 'tls-ca': certs().file('ca.pem') } } },
	}, async (s) => {
		const client = await s.connect();
		client.request(1);
		assert.equal((await client.response(1)).status, 504);
	});
}
