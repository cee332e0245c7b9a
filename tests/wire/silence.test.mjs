/* SPDX-License-Identifier: MIT */
/*
 * Silence is no fault by itself: streams of messages may be silent in both directions, bodies that are owed may not;
 * and a client that ends its sending side after whole requests is answered.
 *
 * covers: R200 R203
 */
import assert from 'node:assert/strict';
import net from 'node:net';
import { scenario, section, sleep } from '../support/gate.mjs';

const LIMIT = '300ms';
const GRPC = { 'content-type': 'application/grpc+proto', te: 'trailers' };
const OWED = { listen: { 'body-timeout': LIMIT }, origin: { 'body-timeout': LIMIT } };
const route = (values) => section('route main', { origin: 'main', ...values });

/* Longer than LIMIT by the gate's own clock: another request's upload is ended for it meanwhile. */
async function aLimitLater(client, stream) {
	client.request(stream, { method: 'POST', path: '/late' }, { endStream: false });
	assert.equal((await client.expectHead(stream)).headers[':status'], '408');
}

async function ended(s, detail) {
	const line = await s.gate.access((l) => l.detail === detail);
	assert.equal(line.outcome, 'timeout');
}

/* ---- streams and bodies ---- */
scenario('an event stream may be silent for longer than body-timeout', OWED, async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 200, 'content-type': 'text/event-stream' }).data(up.stream, 'data: 1\n\n');
	await client.expect('DATA', { stream: 1 });
	await aLimitLater(client, 3);
	origin.data(up.stream, 'data: 2\n\n', { endStream: true });
	assert.match(String((await client.response(1)).body), /data: 2\n\n$/);
});
for (const [what, routes, fields] of [['a gRPC call', {}, GRPC], ['a request of a route with streaming = yes', { streaming: 'yes' }, {}]]) {
	scenario(`${what} may be silent before and after the response begins`, {
		listen: { 'body-timeout': LIMIT }, origin: { 'body-timeout': LIMIT, 'response-timeout': LIMIT }, routes: route({ ...routes, path: '/call' }) + section('route late', { origin: 'main', path: '/late' }),
	}, async (s) => {
		const { client, origin, up } = await s.open({ path: '/call', request: { method: 'POST', ...fields }, options: { endStream: false } });
		await aLimitLater(client, 3);
		client.data(1, 'a question');
		await origin.expect('DATA', { stream: up.stream });
		await aLimitLater(client, 5);
		origin.headers(up.stream, { ':status': 200 });
		await client.expectHead(1);
		await aLimitLater(client, 7);
		client.data(1, 'bye', { endStream: true });
		origin.data(up.stream, 'an answer').headers(up.stream, { 'grpc-status': 0 }, { endStream: true });
		await client.expect('DATA', { stream: 1 });
		await client.expect('HEADERS', { stream: 1 });
	});
}
scenario('response-timeout counts from the end of a streaming upload, unless it is a gRPC call', {
	origin: { 'response-timeout': LIMIT }, routes: route({ streaming: 'yes' }),
}, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST', ...GRPC }, options: { endStream: false } });
	client.data(1, 'whole', { endStream: true });
	client.request(3, { method: 'POST', path: '/upload' }, { endStream: false });
	const other = await origin.expectRequest();
	client.data(3, 'whole', { endStream: true });
	assert.equal((await client.response(3)).status, 504);
	await origin.expectReset(other.stream, 'CANCEL');
	await ended(s, 'response-late');
	origin.headers(up.stream, { ':status': 200, 'grpc-status': 0 }, { endStream: true });
	assert.equal((await client.response(1)).status, 200);
});
scenario('gRPC-Web does not stream: its upload is owed', { listen: { 'body-timeout': LIMIT } }, async (s) => {
	const { client } = await s.open({ request: { method: 'POST', 'content-type': 'application/grpc-web+proto' }, options: { endStream: false } });
	assert.equal((await client.expectHead(1)).headers[':status'], '408');
	await ended(s, 'request-stalled');
});
scenario('an upload with content-length is owed, whatever its type', { listen: { 'body-timeout': LIMIT } }, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST', ...GRPC, 'content-length': 10 }, options: { endStream: false } });
	client.data(1, 'five.');
	assert.equal((await client.expectHead(1)).headers['grpc-status'], '4');
	await origin.expectReset(up.stream, 'CANCEL');
	await ended(s, 'request-stalled');
});
scenario('stream-idle-timeout ends a silent event stream on both sides', { routes: route({ 'stream-idle-timeout': LIMIT }) }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 200 }).data(up.stream, 'data: 1\n\n');
	await client.expectReset(1, 'CANCEL');
	await origin.expectReset(up.stream, 'CANCEL');
	await ended(s, 'stream-idle');
});
scenario('stream-idle-timeout ends a gRPC call that was never answered', { routes: route({ 'stream-idle-timeout': LIMIT }) }, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST', ...GRPC }, options: { endStream: false } });
	assert.equal((await client.expectHead(1)).headers['grpc-status'], '4');
	await origin.expectReset(up.stream, 'CANCEL');
	await ended(s, 'stream-idle');
});
scenario('stream-idle-timeout does not end what moves, in one direction alone', { routes: route({ 'stream-idle-timeout': '1500ms' }) }, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST', ...GRPC }, options: { endStream: false } });
	for (const end = Date.now() + 2000; Date.now() < end; await sleep(50))
		client.data(1, 'x');
	origin.headers(up.stream, { ':status': 200 });
	for (const end = Date.now() + 2000; Date.now() < end; await sleep(50))
		origin.data(up.stream, 'y');
	client.data(1, '', { endStream: true });
	origin.data(up.stream, 'end', { endStream: true });
	assert.match(String((await client.response(1)).body), /^y+end$/);
});

/* ---- a client that ends its sending side ---- */
for (const tls of [false, true]) {
	const how = tls ? 'close_notify' : 'FIN';
	scenario(`eight requests and then ${how}: all are answered, then the connection ends`, { tls }, async (s) => {
		const client = await s.connect();
		await client.ready();
		for (let i = 0; i < 8; i++)
			client.request(1 + 2 * i, { path: `/${i}` });
		client.end();
		const origin = await s.accept();
		await client.expectGoaway('NO_ERROR');
		for (let i = 0; i < 8; i++) {
			const up = await origin.expectRequest();
			origin.respond(up.stream, { body: `answer to ${up.headers[':path']}` });
		}
		for (let i = 0; i < 8; i++)
			assert.equal(String((await client.response(1 + 2 * i)).body), `answer to /${i}`);
		await client.expectClosed();
	});
	scenario(`an upload that ${how} leaves unfinished is aborted, a whole one is answered`, { tls }, async (s) => {
		const { client, origin, up } = await s.open({ request: { method: 'POST' }, options: { endStream: false } });
		client.data(1, 'part');
		client.request(3, { path: '/whole' });
		const whole = await origin.expectRequest('/whole');
		client.end();
		await origin.expectReset(up.stream, 'CANCEL');
		origin.respond(whole.stream, { body: 'x' });
		assert.equal((await client.response(3)).status, 200);
		await client.expectClosed();
	});
}
scenario('TLS that ends without close_notify is truncated: the request is aborted', { tls: true }, async (s) => {
	const below = net.connect(s.port, '127.0.0.1');
	const { client, origin, up } = await s.open({ client: { tls: { socket: below } } });
	await client.sync();
	below.end();
	await origin.expectReset(up.stream, 'CANCEL');
	assert.equal(client.seen('GOAWAY').length, 0);
});
scenario('after its end a client gets no promise and no 103', async (s) => {
	const { client, origin, up } = await s.open();
	client.end();
	await client.expectGoaway('NO_ERROR');
	origin.push(up, 2, '/a').headers(up.stream, { ':status': 103, link: '</b>; rel=preload' });
	await origin.expectReset(2, 'CANCEL');
	origin.respond(up.stream, { body: 'x' });
	assert.equal((await client.response(1)).status, 200);
	await client.expectClosed();
	assert.equal(client.seen('PUSH_PROMISE').length, 0);
	assert.equal((await s.gate.access((l) => l.push && l.path === '/a')).reason, 'client-going-away');
});
scenario('a client that has ended its side and for which nothing moves is given up', { listen: { 'write-timeout': LIMIT } }, async (s) => {
	const { client, origin, up } = await s.open();
	client.end();
	await client.expectGoaway('NO_ERROR');
	await origin.expectReset(up.stream, 'CANCEL');
	assert.equal((await s.gate.access()).detail, 'write-timeout');
	await s.gate.error(/nothing moved/);
});
scenario('a client that closes while its request is under way is noticed', async (s) => {
	const { client, origin, up } = await s.open();
	await client.sync();
	client.close();
	await origin.expectReset(up.stream, 'CANCEL');
});
