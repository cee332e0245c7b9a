/* SPDX-License-Identifier: MIT */
/* The relay that is far away. */
import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { delay } from './delay.mjs';

/* A server that gives back what it gets, and a relay before it; ended with the test. Gives {relay, peers}. */
async function far(t, ms, options) {
	const peers = [];
	const server = net.createServer((socket) => {
		peers.push(socket.remoteAddress);
		socket.on('error', () => {});
		socket.pipe(socket);
	});
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	const relay = await delay(server.address().port, ms, options);
	t.after(async () => {
		await relay.close();
		server.close();
	});
	return { relay, peers };
}

/* Sends text and waits until as much has come back: {back, ms}. */
async function echo(relay, text) {
	const socket = net.connect(relay.port, '127.0.0.1');
	const begin = performance.now();
	let back = '';
	socket.end(text);
	for await (const chunk of socket)
		back += chunk;
	return { back, ms: performance.now() - begin };
}

test('bytes are late by the time of both directions, and in order', async (t) => {
	const { relay } = await far(t, 50);
	const text = Array.from({ length: 20000 }, (_, i) => i).join();
	const { back, ms } = await echo(relay, text);
	assert.equal(back, text);
	assert.ok(ms >= 100, `${ms}`);
	assert.deepEqual(relay.bytes, { up: text.length, down: text.length });
});

test('a line with a rate takes as long as its bytes need', async (t) => {
	const { relay } = await far(t, 0, { rate: 100000 });
	const { back, ms } = await echo(relay, 'x'.repeat(20000));
	assert.equal(back.length, 20000);
	assert.ok(ms >= 200, `${ms}`);
});

test('connections come from the address that the way has at the time', async (t) => {
	const { relay, peers } = await far(t, 0, { from: '127.0.0.7' });
	await echo(relay, 'a');
	relay.way.from = '127.0.0.8';
	await echo(relay, 'b');
	assert.deepEqual(peers, ['127.0.0.7', '127.0.0.8']);
});

test('a relay that is cut ends its connections and takes new ones', async (t) => {
	const { relay } = await far(t, 0);
	const socket = net.connect(relay.port, '127.0.0.1');
	socket.on('error', () => {});
	socket.write('a');
	await new Promise((resolve) => { socket.once('data', resolve); });
	const closed = new Promise((resolve) => { socket.once('close', resolve); });
	relay.cut();
	await closed;
	assert.equal((await echo(relay, 'b')).back, 'b');
});
