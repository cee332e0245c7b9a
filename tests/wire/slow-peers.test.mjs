/* SPDX-License-Identifier: MIT */
/*
 * Peers that do too little rather than nothing: a byte now and then does not move a deadline. Each dribbles
 * until its end comes, so that a slow machine makes the test longer and never wrong.
 */
import assert from 'node:assert/strict';
import net from 'node:net';
import { samples, scenario, sleep } from '../support/gate.mjs';
import { FLAG, PREFACE, frame } from '../support/frames.mjs';

/* 400 ms, in which 2,000 bytes have to move. */
const LIMITS = { 'body-timeout': '400ms', 'write-timeout': '400ms', 'min-rate': 5000 };

/* Does it again and again until `promise` is settled. */
async function dribbling(act, promise) {
	let is_over = false;
	const end = promise.finally(() => { is_over = true; });
	let times = 0;
	for (; !is_over; times++) {
		act();
		await Promise.race([sleep(20), end]);
	}
	assert.ok(times > 3, 'it had time to dribble');
	return end;
}

async function logged(s, detail) {
	const line = await s.gate.access((l) => l.detail === detail);
	assert.equal(line.outcome, 'timeout');
}

// covers: R65
scenario('an upload of a byte now and then ends with 408', { listen: LIMITS }, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST' }, options: { endStream: false } });
	const answer = client.expectHead(1);
	await dribbling(() => client.data(1, 'x'), answer);
	assert.equal((await answer).headers[':status'], '408');
	await origin.expectReset(up.stream, 'CANCEL');
	assert.equal(origin.seen('DATA', { endStream: true }).length, 0);
	await logged(s, 'request-stalled');
});

// covers: R65
scenario('a response of a byte now and then is given up', { origin: LIMITS }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 200, 'content-length': '100000' });
	await dribbling(() => origin.data(up.stream, 'x'), origin.expectReset(up.stream, 'CANCEL'));
	await client.expectReset(1, 'INTERNAL_ERROR');
	await logged(s, 'response-stalled');
});

// covers: R65
scenario('an event stream may say little, and its client nothing', {
	listen: { ...LIMITS, 'body-timeout': '1500ms' }, origin: { ...LIMITS, 'body-timeout': '1500ms' },
}, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST' }, options: { endStream: false } });
	client.data(1, 'a subscription');
	origin.headers(up.stream, { ':status': 200, 'content-type': 'text/event-stream' });
	for (const end = Date.now() + 2000; Date.now() < end; await sleep(50))
		origin.data(up.stream, ':\n\n');
	origin.data(up.stream, 'end', { endStream: true });
	client.data(1, 'bye', { endStream: true });
	const { status, body } = await client.response(1);
	assert.equal(status, 200);
	assert.match(String(body), /^(:\n\n)+end$/);
});

// covers: R65
scenario('a client that opens its window byte by byte is too slow', { listen: LIMITS }, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { initialWindowSize: 1 }, auto: { window: false } } });
	await origin.sync();
	origin.headers(up.stream, { ':status': 200 }).data(up.stream, Buffer.alloc(10000));
	await client.expectHead(1);
	await dribbling(() => client.windowUpdate(1, 1), client.expectReset(1, 'CANCEL'));
	await origin.expectReset(up.stream, 'CANCEL');
	await logged(s, 'client-stalled');
	/* The connection is none the worse for it. */
	client.request(3, { path: '/next' });
	client.windowUpdate(3, 100);
	origin.respond((await origin.expectRequest('/next')).stream, { body: 'x' });
	assert.equal((await client.response(3)).status, 200);
});

// covers: R65
scenario('a client whose connection window stays shut is too slow, on all its streams', {
	listen: LIMITS, origin: { 'stream-window': '256k' },
}, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { initialWindowSize: 1 << 20 }, auto: { window: false } } });
	client.request(3, { path: '/second' });
	const second = await origin.expectRequest('/second');
	for (const stream of [up.stream, second.stream]) {
		origin.headers(stream, { ':status': 200 });
		for (let i = 0; i < 8; i++)
			origin.data(stream, Buffer.alloc(10000));
	}
	await dribbling(() => client.windowUpdate(0, 1), Promise.all([client.expectReset(1, 'CANCEL'), client.expectReset(3, 'CANCEL')]));
});

// covers: R65
scenario('a stream whose own window stays shut has its time, however busy the others are', {
	listen: { ...LIMITS, 'write-timeout': '1s' },
}, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { initialWindowSize: 0 }, auto: { window: false } } });
	client.request(3, { path: '/busy' });
	const busy = await origin.expectRequest('/busy');
	origin.headers(up.stream, { ':status': 200 }).data(up.stream, Buffer.alloc(10000));
	origin.headers(busy.stream, { ':status': 200 });
	await dribbling(() => {
		origin.data(busy.stream, Buffer.alloc(1000));
		client.windowUpdate(3, 1000).windowUpdate(0, 1000);
	}, client.expectReset(1, 'CANCEL'));
	origin.data(busy.stream, 'end', { endStream: true });
	client.windowUpdate(3, 3).windowUpdate(0, 3);
	assert.equal((await client.response(3)).status, 200);
});

// covers: R65
scenario('an origin that opens its window byte by byte: 504', {
	origins: { main: { settings: { initialWindowSize: 1 }, auto: { window: false } } }, origin: LIMITS,
}, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST' }, options: { endStream: false } });
	client.data(1, Buffer.alloc(10000), { endStream: true });
	const answer = client.expectHead(1);
	await dribbling(() => origin.windowUpdate(up.stream, 1), answer);
	assert.equal((await answer).headers[':status'], '504');
	await logged(s, 'origin-stalled');
});

// covers: R65
scenario('a client that does not read its socket is ended', { listen: LIMITS }, async (s) => {
	const { client, origin, up } = await s.open({
		client: { settings: { initialWindowSize: 0x7fffffff }, auto: { window: false } },
	});
	client.windowUpdate(0, 0x7fffffff - 65535);
	await origin.sync();
	client.socket.pause();
	origin.headers(up.stream, { ':status': 200 });
	const ended = origin.expectReset(up.stream, 'CANCEL');
	let is_over = false;
	ended.finally(() => { is_over = true; });
	const credit = () => origin.seen('WINDOW_UPDATE', { stream: up.stream }).reduce((sum, f) => sum + f.increment, 0);
	/* What the windows let through, more than any socket keeps. */
	for (let sent = 0; !is_over && sent < 64 << 20;) {
		const room = Math.min((origin.peerSettings.initialWindowSize ?? 65535) + credit() - sent, 16384);
		if (room > 0)
			origin.data(up.stream, Buffer.alloc(room));
		sent += Math.max(room, 0);
		await Promise.race([sleep(room > 0 ? 0 : 20), ended]);
	}
	await ended;
	await s.gate.error(/does not read: write time-out/);
	client.socket.resume();
	await client.expectClosed();
});

/* ---- what has one deadline from beginning to end ---- */

/* Byte by byte, again and again from its beginning, until the gate ends it. */
async function trickle(s, bytes) {
	const socket = net.connect(s.port, '127.0.0.1');
	const ended = new Promise((resolve) => { socket.once('close', resolve); });
	socket.on('error', () => {});
	socket.resume();
	let at = 0;
	await dribbling(() => { socket.write(bytes.subarray(at, at + 1)); at = (at + 1) % bytes.length; }, ended);
}

function counted(s, line) {
	const text = s.gate.status();
	assert.equal(samples(text)[line], 1, `${line} in\n${text}`);
}

const BEGINNING = { server: { 'status-socket': 'status' } };

// covers: R65
scenario('a TLS handshake that comes byte by byte', { ...BEGINNING, tls: true, listen: { 'tls-timeout': '300ms' } }, async (s) => {
	/* A record of 512 bytes with the beginning of a ClientHello of 508. */
	await trickle(s, Buffer.concat([Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]), Buffer.alloc(500, 7)]));
	await s.gate.error(/client 127\.0\.0\.1: no TLS handshake in time/);
	counted(s, 'pushgate_connection_timeouts_total{side="client",timeout="tls-timeout"}');
});

// covers: R65
scenario('a preface that comes byte by byte', { ...BEGINNING, listen: { 'preface-timeout': '200ms' } }, async (s) => {
	await trickle(s, PREFACE);
	await s.gate.error(/client 127\.0\.0\.1: began no protocol in time/);
	counted(s, 'pushgate_connection_timeouts_total{side="client",timeout="preface-timeout"}');
});

// covers: R65
scenario('SETTINGS that come byte by byte', { ...BEGINNING, listen: { 'preface-timeout': '300ms' } }, async (s) => {
	const c = await s.connect({ settings: null, auto: { settings: false } });
	const settings = frame('SETTINGS', 0, 0, Buffer.alloc(600));
	let at = 0;
	const ended = c.expectConnectionError('SETTINGS_TIMEOUT');
	await dribbling(() => c.raw(settings.subarray(at, ++at)), ended);
	assert.equal((await ended).debug, 'preface-timeout');
	counted(s, 'pushgate_peer_faults_by_fault_total{side="client",fault="preface-timeout"}');
});

// covers: R65
scenario('a field block that comes byte by byte', { ...BEGINNING, listen: { 'header-timeout': '300ms' } }, async (s) => {
	const c = await s.connect();
	await c.ready();
	const block = Buffer.concat([frame('HEADERS', FLAG.END_STREAM, 1, Buffer.from([0x82, 0x86])), frame('CONTINUATION', 0, 1, Buffer.alloc(600))]);
	let at = 0;
	const ended = c.expectConnectionError('ENHANCE_YOUR_CALM');
	await dribbling(() => c.raw(block.subarray(at, ++at)), ended);
	assert.equal((await ended).debug, 'field-block-timeout');
	counted(s, 'pushgate_peer_faults_by_fault_total{side="client",fault="field-block-timeout"}');
});
