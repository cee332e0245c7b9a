/* SPDX-License-Identifier: MIT */
/*
 * Each limit of the configuration, narrow: who exceeds it is ended with the code and the name of the fault in the
 * GOAWAY, the error log names it and the client, and its counter moves. An honest client beside it notices nothing.
 */
import assert from 'node:assert/strict';
import net from 'node:net';
import { samples, scenario, until } from '../support/gate.mjs';
import { forward } from '../support/forward.mjs';
import { frame, u32 } from '../support/frames.mjs';

const status = (s) => s.gate.status();
const SERVER = { 'status-socket': 'status' };

function counted(s, line) {
	const text = status(s);
	assert.ok(samples(text)[line] > 0, `${line} is in\n${text}`);
}

/* What a client does once more, for the i-th time, until it is ended. */
const CLIENT = [
	['limit-resets', 'reset-flood', (c, i) => c.request(2 * i + 1, { path: `/${i}` }).frame('RST_STREAM', 0, 2 * i + 1, u32(8))],
	['limit-faults', 'fault-flood', (c, i) => c.request(2 * i + 1, { path: `/${i}` }).windowUpdate(2 * i + 1, 0)],
	['limit-pings', 'ping-flood', (c) => c.ping('floodfly')],
	['limit-settings', 'settings-flood', (c) => c.settings()],
	['limit-priorities', 'priority-flood', (c) => c.priority(1, { dependsOn: 3 })],
	['limit-empty-frames', 'empty-frame-flood', (c, i) => (i === 0 ? c.request(1, { method: 'POST' }, { endStream: false }) : c).data(1, '')],
	['limit-window-updates', 'window-update-flood', (c) => c.windowUpdate(0, 1)],
	['limit-field-blocks', 'field-block-flood', (c, i) => c.request(2 * i + 1, { path: `/${i}` })],
	/* A field of 3,000 bytes that is sent once: then each request has it for a byte. */
	['limit-expansion', 'expansion-flood', (c, i) => c.request(2 * i + 1, { path: `/${i}`, 'x-large': 'v'.repeat(3000) }, { as: 'incremental' })],
];

for (const [option, fault, act] of CLIENT) {
	// covers: R65
	scenario(`${option}: ${fault}`, { server: SERVER, listen: { [option]: '1/s burst 20' } }, async (s) => {
		const honest = await s.connect();
		await honest.ready();
		const c = await s.connect();
		await c.ready();
		c.checking = false;
		for (let i = 0; i < 60; i++)
			act(c, i);
		const goaway = await c.expectConnectionError('ENHANCE_YOUR_CALM');
		assert.equal(goaway.debug, fault);
		await s.gate.error(new RegExp(`info \\[w0\\] main: client 127\\.0\\.0\\.1: ${fault}: `));
		counted(s, `pushgate_peer_faults_by_fault_total{side="client",fault="${fault}"}`);
		counted(s, 'pushgate_guard_closes_total{side="client"}');
		honest.request(1, { path: '/honest' });
		const origin = await s.accept();
		origin.respond((await origin.expectRequest('/honest')).stream, { body: 'x' });
		assert.equal((await honest.response(1)).status, 200);
	});
}

// covers: R65
forward('forward mode: limit-expansion counts what a client sends for all destinations', {
	server: SERVER, listen: { 'limit-expansion': '1/s burst 20' },
	serve(request, response) { /* an exchange that completes would pay for others */
		if (request.url === '/honest')
			response.end('here');
	},
}, async (s) => {
	const www = s.http.replace('http://', '');
	const honest = await s.connect();
	await honest.ready();
	const c = await s.connect();
	await c.ready();
	c.checking = false;
	for (let i = 0; i < 60; i++)
		c.request(2 * i + 1, { ':authority': i % 2 ? www : www.replace('www.', ''), path: `/${i}`, 'x-large': 'v'.repeat(3000) }, { as: 'incremental' });
	assert.equal((await c.expectConnectionError('ENHANCE_YOUR_CALM')).debug, 'expansion-flood');
	counted(s, 'pushgate_peer_faults_by_fault_total{side="client",fault="expansion-flood"}');
	counted(s, 'pushgate_guard_closes_total{side="client"}');
	/* What is sent in full, and sent once, costs nothing. */
	honest.request(1, { ':authority': www, path: '/honest', 'x-large': 'v'.repeat(12000) });
	assert.equal(String((await honest.response(1)).body), 'here');
});

// covers: R64
scenario('max-field-block and max-continuations', { server: SERVER, listen: { 'max-field-block': '4k', 'max-header-list': '4k', 'max-continuations': 2 } }, async (s) => {
	const fields = { ':method': 'GET', ':scheme': 'http', ':authority': 'a', ':path': '/' };
	let c = await s.connect();
	await c.ready();
	c.headers(1, { ...fields, 'x-long': 'v'.repeat(6000) }, { endStream: true });
	assert.equal((await c.expectConnectionError('ENHANCE_YOUR_CALM')).debug, 'field-block-too-large');
	c = await s.connect();
	await c.ready();
	c.headers(1, fields, { endStream: true, split: [3, 3, 3] });
	assert.equal((await c.expectConnectionError('ENHANCE_YOUR_CALM')).debug, 'continuation-flood');
	counted(s, 'pushgate_peer_faults_by_fault_total{side="client",fault="field-block-too-large"}');
	counted(s, 'pushgate_peer_faults_by_fault_total{side="client",fault="continuation-flood"}');
});

// covers: R65
scenario('max-control-output: answers that nobody reads', { server: SERVER, listen: { 'max-control-output': '64k', 'limit-pings': '1000000/s' } }, async (s) => {
	const c = await s.connect();
	await c.ready();
	c.socket.pause();
	const ping = frame('PING', 0, 0, Buffer.alloc(8));
	const block = Buffer.concat(Array.from({ length: 20000 }, () => ping));
	const flood = setInterval(() => c.socket.writableLength < 1 << 24 && c.socket.write(block), 5);
	try {
		await s.gate.error(/main: client 127\.0\.0\.1: control-output-flood: /);
	} finally {
		clearInterval(flood);
	}
	counted(s, 'pushgate_peer_faults_by_fault_total{side="client",fault="control-output-flood"}');
});

/* What an origin does once more, for the i-th time, while a client waits for /. */
const ORIGIN = [
	['limit-promises', 'promise-flood', (o, up, i) => o.push(up, 2 * i + 2, `/${i}`)],
	['limit-pings', 'ping-flood', (o) => o.ping('floodfly')],
	['limit-settings', 'settings-flood', (o) => o.settings()],
	['limit-window-updates', 'window-update-flood', (o) => o.windowUpdate(0, 1)],
	['limit-field-blocks', 'field-block-flood', (o, up) => o.headers(up.stream, { ':status': 103 })],
];

for (const [option, fault, act] of ORIGIN) {
	// covers: R65
	scenario(`${option} of an origin: ${fault}`, { server: SERVER, origin: { [option]: '1/s burst 20' } }, async (s) => {
		const { client, origin, up } = await s.open({ client: { settings: { enablePush: 1 } } });
		await origin.sync();
		origin.checking = false;
		for (let i = 0; i < 100; i++)
			act(origin, up, i);
		const goaway = await origin.expectConnectionError('ENHANCE_YOUR_CALM');
		assert.equal(goaway.debug, fault);
		assert.equal((await client.response(1)).status, 502);
		await s.gate.error(new RegExp(`origin main \\(.*\\): ${fault}: `));
		assert.equal((await s.gate.access((l) => l.path === '/')).detail, fault);
		counted(s, `pushgate_peer_faults_by_fault_total{side="origin",fault="${fault}"}`);
		counted(s, 'pushgate_guard_closes_total{side="origin"}');
		counted(s, 'pushgate_end_total{cause="origin-fault"}');
	});
}

// covers: R64
scenario('max-interim-responses', { server: SERVER, origin: { 'max-interim-responses': 3 } }, async (s) => {
	const { client, origin, up } = await s.open();
	for (let i = 0; i < 4; i++)
		origin.headers(up.stream, { ':status': 103 });
	await origin.expectReset(up.stream, 'ENHANCE_YOUR_CALM');
	const r = await client.response(1);
	assert.equal(r.status, 502);
	assert.equal(r.interim.length, 3);
	counted(s, 'pushgate_peer_faults_by_fault_total{side="origin",fault="interim-flood"}');
	counted(s, 'pushgate_end_total{cause="response-malformed"}');
});

// covers: R63
scenario('max-reserved-pushes: more are refused, one by one', { server: SERVER, origin: { 'max-reserved-pushes': 2 } }, async (s) => {
	const { client, origin, up } = await s.open();
	for (let i = 0; i < 4; i++)
		origin.push(up, 2 * i + 2, `/${i}`);
	await client.expectPromise('/0');
	await client.expectPromise('/1');
	await origin.expectReset(6, 'REFUSED_STREAM');
	await origin.expectReset(8, 'REFUSED_STREAM');
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
	counted(s, 'pushgate_peer_faults_by_fault_total{side="origin",fault="promises-reserved-full"}');
});

// covers: R64
scenario('max-connections-per-client: more are closed at once, and room comes back', { server: SERVER, listen: { 'max-connections-per-client': 3 } }, async (s) => {
	/* The one that asked whether the gate listens may still be about to leave. */
	const held = [];
	await until('three connections at a time', async () => {
		while (held.length < 3) {
			const c = await s.connect();
			if (!await c.ready().then(() => true, () => false))
				return false;
			held.push(c);
		}
		return true;
	});
	const more = net.connect(s.port, '127.0.0.1');
	more.on('error', () => {});
	more.resume();
	await new Promise((resolve) => { more.once('close', resolve); });
	await s.gate.error(/main: client 127\.0\.0\.1: connection refused \(max-connections-per-client\)/);
	counted(s, 'pushgate_connections_refused_total{cause="max-connections-per-client"}');
	/* Another address is another client. */
	const other = net.connect({ port: s.port, host: '127.0.0.1', localAddress: '127.0.0.2' });
	await new Promise((resolve, reject) => { other.once('data', resolve); other.once('close', reject); other.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'); });
	other.destroy();
	held.pop().close();
	await until('room', async () => {
		const c = await s.connect();
		return c.ready().then(() => true, () => false);
	});
});

scenario('a flood of faults is no flood of lines', { server: SERVER, listen: { 'limit-faults': '100000/s' } }, async (s) => {
	const c = await s.connect();
	await c.ready();
	c.checking = false;
	for (let i = 0; i < 500; i++)
		c.request(2 * i + 1, { path: `/${i}` }).windowUpdate(2 * i + 1, 0);
	await c.sync();
	await s.gate.error(/window-increment-zero: \d+ more lines like this were left out/);
	const lines = s.gate.read('error.log').match(/client 127\.0\.0\.1: window-increment-zero/g).length;
	assert.ok(lines < 200, `${lines} lines`);
	assert.match(status(s), /^pushgate_peer_faults_by_fault_total\{side="client",fault="window-increment-zero"\} 500$/m);
	counted(s, 'pushgate_log_lines_left_out_total{log="error"}');
});
