/* SPDX-License-Identifier: MIT */
/*
 * gRPC frame by frame: what a call is told when pushgate answers it, how grpc-timeout ends it on both sides, and what
 * passes as it came. tests/peers/grpc.test.mjs has the same with a library's client and server.
 *
 * covers: R204 R205 R206
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after } from 'node:test';
import { scenario, section, workDir } from '../support/gate.mjs';
import { connect1 } from '../support/http1.mjs';

const CALL = { method: 'POST', path: '/a.Service/Method', 'content-type': 'application/grpc', te: 'trailers' };
const OPEN = { endStream: false };

async function ended(s, detail, outcome = 'timeout') {
	const line = await s.gate.access((l) => l.detail === detail);
	assert.equal(line.outcome, outcome);
	return line;
}

/* ---- answers of pushgate's own ---- */
scenario('over HTTP/1.1 the answer to a call says the same', { routes: section('route main', { origin: 'main', path: '/other' }) }, async (s) => {
	const client = await connect1(s.port);
	s.cleanups.push(() => client.close());
	client.request('POST', CALL.path, [['host', 'a.test'], ['content-type', 'application/grpc']], { body: 'x' });
	const answer = await client.response();
	assert.equal(answer.status, 200);
	assert.equal(answer.headers['grpc-status'], '12');
	assert.equal(answer.body.length, 0);
});
scenario('what cannot be read is no call: the status is what HTTP demands', async (s) => {
	const head = `POST ${CALL.path} HTTP/1.1\r\nhost: a.test\r\ncontent-type: application/grpc\r\n`;
	for (const [rest, status] of [
		['host: a.test\r\n\r\n', 400], ['content-length : 1\r\n\r\nx', 400], ['transfer-encoding: identity\r\n\r\n', 400],
		['transfer-encoding: gzip, chunked\r\n\r\n', 501], ['transfer-encoding: chunked\r\n\r\nx', 400],
	]) {
		const client = await connect1(s.port);
		s.cleanups.push(() => client.close());
		client.send(head + rest, [{ method: 'POST' }]);
		const answer = await client.response();
		assert.equal(answer.status, status, rest);
		assert.equal(answer.headers['grpc-status'], undefined);
	}
});
const dir = workDir();
after(() => fs.rmSync(dir, { recursive: true }));
const page = path.join(dir, 'error.html');
fs.writeFileSync(page, '<p>for browsers');
scenario('an answer to a call is one HEADERS frame that ends the stream, and has no page in it', {
	routes: section('route main', { origin: 'main', path: '/other' }), extra: section('errors', { 404: page }),
}, async (s) => {
	const client = await s.connect();
	await client.ready();
	client.request(1, { ...CALL, accept: 'application/json' }, OPEN);
	const f = await client.expect('HEADERS', { stream: 1 });
	const { date, 'proxy-status': proxy, ...rest } = f.headers;
	assert.ok(f.endStream);
	assert.ok(date);
	assert.match(proxy, /; error=destination_not_found; details="no route for this path"$/);
	assert.deepEqual(rest, {
		':status': '200', 'content-type': 'application/grpc', 'grpc-status': '12', 'grpc-message': 'no route for this path',
		server: 'pushgate', 'cache-control': 'no-store',
	});
	assert.equal((await ended(s, 'no route for this path', 'refused')).status, 200);
	let stream = 3;
	for (const other of [{ 'content-type': 'application/grpc-web' }, { method: 'GET' }]) {
		client.request(stream, { ...CALL, ...other });
		const answer = await client.response(stream);
		assert.equal(answer.status, 404);
		assert.equal(String(answer.body), '<p>for browsers');
		stream += 2;
	}
});
for (const [code, wanted] of [['REFUSED_STREAM', 14], ['CANCEL', 1], ['ENHANCE_YOUR_CALM', 8], ['INTERNAL_ERROR', 13]]) {
	scenario(`an origin's ${code} in place of an answer becomes grpc-status ${wanted}`, async (s) => {
		const { client, origin, up } = await s.open({ request: CALL, options: OPEN });
		client.data(1, 'a message');
		await origin.expect('DATA', { stream: up.stream });
		origin.rst(up.stream, code);
		assert.equal((await client.expectHead(1)).headers['grpc-status'], `${wanted}`);
	});
}
scenario('an origin that answers with what is not HTTP/2: INTERNAL, so that no client calls again by itself', async (s) => {
	const { client, origin, up } = await s.open({ request: CALL, options: OPEN });
	origin.headers(up.stream, { ':status': 200, 'Upper-Case': 'x' });
	assert.equal((await client.expectHead(1)).headers['grpc-status'], '13');
});

/* ---- the deadline of a call ---- */
scenario('grpc-timeout and te go to the origin; at the deadline both sides are told', async (s) => {
	const { client, origin, up } = await s.open({ request: { ...CALL, 'grpc-timeout': '300m' }, options: OPEN });
	assert.equal(up.headers['grpc-timeout'], '300m');
	assert.equal(up.headers.te, 'trailers');
	const f = await client.expect('HEADERS', { stream: 1 });
	assert.ok(f.endStream);
	assert.equal(f.headers[':status'], '200');
	assert.equal(f.headers['grpc-status'], '4');
	assert.equal(f.headers['grpc-message'], 'call-deadline');
	await origin.expectReset(up.stream, 'CANCEL');
	const line = await ended(s, 'call-deadline');
	assert.ok(line.duration_us >= 300000, JSON.stringify(line));
});
scenario('a call whose response has begun is reset soon after its deadline', async (s) => {
	const { client, origin, up } = await s.open({ request: { ...CALL, 'grpc-timeout': '200m' }, options: OPEN });
	origin.headers(up.stream, { ':status': 200, 'content-type': 'application/grpc' });
	await client.expectHead(1);
	await client.expectReset(1, 'CANCEL');
	await origin.expectReset(up.stream, 'CANCEL');
	assert.ok((await ended(s, 'call-deadline')).duration_us >= 1200000);
});
scenario('the deadline counts in the queue too, and a deadline of 0 has passed', {
	origins: { main: { settings: { maxConcurrentStreams: 0 } } },
}, async (s) => {
	const client = await s.connect();
	await client.ready();
	for (const [stream, timeout] of [[1, '0n'], [3, '50000u']]) {
		client.request(stream, { ...CALL, 'grpc-timeout': timeout }, OPEN);
		assert.equal((await client.expectHead(stream)).headers['grpc-status'], '4');
	}
});
scenario('a malformed grpc-timeout is passed on and counts for nothing', async (s) => {
	const client = await s.connect();
	await client.ready();
	let stream = 1;
	let origin;
	const values = ['1', 'm', '1s', '-1m', '1.5m', '000000001m', '1m, 1m'];
	for (const value of values) {
		client.request(stream, { ...CALL, path: `/${stream}`, 'grpc-timeout': value }, OPEN);
		origin ??= await s.accept();
		assert.equal((await origin.expectRequest(`/${stream}`)).headers['grpc-timeout'], value);
		stream += 2;
	}
	client.request(stream, { ...CALL, path: '/clock', 'grpc-timeout': '100m' });
	assert.equal((await client.expectHead(stream)).headers['grpc-status'], '4');
	await client.expectNone('HEADERS');
	await client.expectNone('RST_STREAM');
});
scenario('grpc-timeout of what is no call counts for nothing', async (s) => {
	const { client, origin, up } = await s.open({ request: { ...CALL, 'content-type': 'application/grpc-web', 'grpc-timeout': '10m' }, options: OPEN });
	client.request(3, { ...CALL, path: '/clock', 'grpc-timeout': '100m' });
	assert.equal((await client.expectHead(3)).headers['grpc-status'], '4');
	client.data(1, '', { endStream: true });
	origin.respond(up.stream, { body: 'answered' });
	assert.equal(String((await client.response(1)).body), 'answered');
});

/* ---- silence ---- */
scenario('a call may be answered later than response-timeout, at its very end', {
	listen: { 'body-timeout': '200ms' }, origin: { 'response-timeout': '200ms', 'body-timeout': '200ms' },
}, async (s) => {
	const client = await s.connect();
	await client.ready();
	const kinds = [
		['unary', { endStream: true }],
		['a silent client', OPEN],
	];
	let origin;
	const ups = [];
	for (const [i, [, options]] of kinds.entries()) {
		client.request(1 + 2 * i, { ...CALL, path: `/${i}` }, options);
		origin ??= await s.accept();
		ups.push(await origin.expectRequest(`/${i}`));
	}
	client.request(5, { path: '/late' });
	assert.equal((await client.response(5)).status, 504);
	/* with trailers alone; with a message */
	origin.headers(ups[0].stream, { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': 5, 'grpc-message': 'not%20there' }, { endStream: true });
	const f = await client.expect('HEADERS', { stream: 1 });
	assert.ok(f.endStream);
	assert.equal(f.headers['grpc-status'], '5');
	assert.equal(f.headers['grpc-message'], 'not%20there');
	client.data(3, 'late', { endStream: true });
	await origin.expect('DATA', { stream: ups[1].stream });
	origin.headers(ups[1].stream, { ':status': 200 }).data(ups[1].stream, 'a message').headers(ups[1].stream, { 'grpc-status': 0, 'x-bin': 'AAE' }, { endStream: true });
	const r = await client.response(3);
	assert.equal(String(r.body), 'a message');
	assert.deepEqual(r.trailers, { 'grpc-status': '0', 'x-bin': 'AAE' });
});
