/* SPDX-License-Identifier: MIT */
/*
 * Event streams and long polls between each two versions of HTTP: what one side sends arrives before it sends more, each
 * side sees that the other one has left, and each wait has the limit that is meant for it.
 *
 * covers: R208
 */
import assert from 'node:assert/strict';
import http from 'node:http';
import http2 from 'node:http2';
import { after } from 'node:test';
import { scenario, section, sleep, until } from '../support/gate.mjs';
import { versionedOrigins } from '../support/versions.mjs';

/* ---- origins: the test answers itself ---- */

const waiting = new Map();
/* The request for this path at an origin: {request, response, body, left}. */
const arrived = (path) => until(`a request for ${path}`, () => waiting.get(path));
function serve(request, response) {
	const at = { request, response, body: '', isWhole: false, left: false };
	request.setEncoding('utf8').on('data', (text) => { at.body += text; }).on('end', () => { at.isWhole = true; });
	for (const what of [request, response])
		what.on('error', () => {});
	response.on('close', () => { at.left = true; });
	waiting.set(request.url, at);
}
const origins = await versionedOrigins(serve, ['h1', 'h2c']);
after(() => origins.close());

/* ---- clients ---- */

/* {status, text, end}: what has come so far; end: 'complete', or 'cut' when the response is not. leave() goes away. */
function ask(s, version, { path = '/events', method = 'GET', body = '' } = {}) {
	const got = { text: '', status: 0, end: '' };
	const read = (stream) => stream.setEncoding('utf8').on('data', (text) => { got.text += text; });
	const cut = () => { got.end ||= 'cut'; };
	if (version === 'h1') {
		const request = http.request({ port: s.port, host: '127.0.0.1', path, method, agent: false }, (response) => {
			got.status = response.statusCode;
			read(response).on('end', () => { got.end ||= response.complete ? 'complete' : 'cut'; }).on('error', cut).on('close', cut);
		});
		request.on('error', cut).end(body);
		got.leave = () => request.destroy();
		s.cleanups.push(got.leave);
		return got;
	}
	const session = http2.connect(`http://127.0.0.1:${s.port}`);
	session.on('error', cut);
	s.cleanups.push(() => session.destroy());
	const stream = session.request({ ':path': path, ':method': method }, { endStream: !body });
	stream.on('response', (head) => { got.status = head[':status']; });
	read(stream).on('error', cut).on('close', () => { got.end = stream.rstCode === 0 ? 'complete' : 'cut'; got.code = stream.rstCode; });
	if (body)
		stream.end(body);
	got.leave = () => stream.close(http2.constants.NGHTTP2_CANCEL);
	return got;
}

/* A test of each pair of versions. */
let paths = 0;
function between(name, options, body) {
	for (const client of ['h1', 'h2']) {
		for (const origin of ['h1', 'h2c']) {
			const path = `/${++paths}`;
			scenario(`${client} to ${origin}: ${name}`, {
				origins: { main: { server: `${origin === 'h1' ? 'http' : 'h2c'}://127.0.0.1:${origins.ports[origin]}` } }, ...options,
			}, (s) => body(s, { ask: (request = {}) => ask(s, client, { path, ...request }), arrived: () => arrived(path), client, origin }));
		}
	}
}
/* An event stream whose first event has arrived. */
async function begun(side, request = {}) {
	const got = side.ask(request);
	const { response } = await side.arrived();
	response.writeHead(200, { 'content-type': 'text/event-stream' });
	response.write('data: 0\n\n');
	await until('the first event', () => got.text === 'data: 0\n\n');
	return got;
}
const idle = (limit) => section('route main', { origin: 'main', 'stream-idle-timeout': limit });
async function ended(s, outcome, detail) {
	const line = await s.gate.access();
	assert.equal(line.outcome, outcome);
	if (detail)
		assert.equal(line.detail, detail);
	return line;
}

/* ---- events ---- */
between('the head and each of 1,000 events arrive before the next is sent', {}, async (s, side) => {
	const got = side.ask();
	const { response } = await side.arrived();
	response.writeHead(200, { 'content-type': 'text/event-stream' });
	response.flushHeaders();
	await until('the head', () => got.status === 200);
	let all = '';
	for (let i = 0; i < 1000; i++) {
		const event = `data: ${i}\n\n`;
		all += event;
		response.write(event);
		while (got.text.length < all.length)
			await new Promise((resolve) => { setImmediate(resolve); });
	}
	response.end();
	await until('the end', () => got.end);
	assert.equal(got.end, 'complete');
	assert.equal(got.text, all);
	assert.equal((await ended(s, 'complete')).response_bytes, all.length);
});
/*
 * Over HTTP/1.1 a client that is gone looks at first like one that has only ended its sending side, and is answered
 * (docs/STREAMS.md). The next event tells, or write-timeout.
 */
between('a client that leaves: the origin sees it', { listen: { 'write-timeout': '1s' } }, async (s, side) => {
	const got = await begun(side);
	const at = await side.arrived();
	got.leave();
	await until('the origin sees it', () => at.left);
	await s.gate.access((l) => l.outcome === 'client-reset' || l.outcome === 'client-lost');
});
between('a client that leaves: the next event tells', {}, async (s, side) => {
	const got = await begun(side);
	const at = await side.arrived();
	got.leave();
	await until('the origin sees it', () => {
		if (!at.left)
			at.response.write('data: 1\n\n');
		return at.left;
	});
	await s.gate.access((l) => l.outcome === 'client-reset' || l.outcome === 'client-lost');
});
between('an origin that leaves: the client sees that the stream is not complete', {}, async (s, side) => {
	const got = await begun(side);
	const { response } = await side.arrived();
	if (side.origin === 'h1')
		response.destroy();
	else
		response.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
	await until('the end', () => got.end);
	assert.equal(got.end, 'cut');
	await s.gate.access((l) => l.outcome === 'origin-reset' || l.outcome === 'origin-lost');
});
between('stream-idle-timeout ends a silent event stream on both sides, response-timeout does not', {
	routes: idle('2s'), origin: { 'response-timeout': '1s', 'body-timeout': '1s' },
}, async (s, side) => {
	const got = await begun(side);
	const at = await side.arrived();
	await until('the end', () => got.end);
	assert.equal(got.end, 'cut');
	await until('the origin sees it', () => at.left);
	assert.ok((await ended(s, 'timeout', 'stream-idle')).duration_us >= 2000000);
});

/* ---- long polls ---- */
for (const [method, body] of [['GET', ''], ['POST', '{"after":7}']]) {
	between(`a long poll by ${method} is answered late: stream-idle-timeout does not count for it`, {
		routes: idle('100ms'), listen: { 'body-timeout': '100ms' }, origin: { 'body-timeout': '100ms' },
	}, async (s, side) => {
		const got = side.ask({ method, body });
		const at = await side.arrived();
		await until('the whole request', () => at.isWhole);
		assert.equal(at.body, body);
		await sleep(300);
		assert.equal(got.end, '');
		at.response.end('news');
		await until('the end', () => got.end);
		assert.equal(got.end, 'complete');
		assert.equal(got.text, 'news');
	});
	between(`a long poll by ${method} that is not answered ends with response-timeout`, { origin: { 'response-timeout': '300ms' } }, async (s, side) => {
		const got = side.ask({ method, body });
		const at = await side.arrived();
		await until('the end', () => got.end);
		assert.equal(got.end, 'complete');
		assert.equal(got.status, 504);
		await until('the origin sees it', () => at.left);
		await ended(s, 'timeout', 'response-late');
	});
}
between('a client that leaves a long poll: the origin sees it', { listen: { 'write-timeout': '1s' } }, async (s, side) => {
	const got = side.ask();
	const at = await side.arrived();
	got.leave();
	await until('the origin sees it', () => at.left);
	await s.gate.access((l) => l.outcome === 'client-reset' || l.outcome === 'client-lost');
});
