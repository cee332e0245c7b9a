/* SPDX-License-Identifier: MIT */
/* Cleartext with prior knowledge (RFC 9113 3.3, 3.4); who does not know: conformance-server-connection.test.mjs. */
import assert from 'node:assert/strict';
import net from 'node:net';
import { PREFACE, frame, settingsPayload } from '../support/frames.mjs';
import { scenario } from '../support/gate.mjs';

function talk(port, bytes) {
	return new Promise((resolve) => {
		const socket = net.connect(port, '127.0.0.1');
		let text = '';
		socket.setEncoding('latin1');
		socket.on('data', (d) => { text += d; });
		socket.on('error', () => {});
		socket.on('close', () => resolve(text));
		socket.write(bytes);
	});
}

scenario('garbage ends the connection', { listen: { 'header-timeout': '1s' } }, async (s) => {
	await talk(s.port, Buffer.from('160301020001000100', 'hex'));
	const client = await s.connect();
	await client.ready();
});
scenario('a preface byte by byte is fine', async (s) => {
	const client = await s.connect();
	await client.ready();
	const socket = net.connect(s.port, '127.0.0.1');
	socket.setNoDelay(true);
	const all = Buffer.concat([PREFACE, frame('SETTINGS', 0, 0, settingsPayload({})), frame('PING', 0, 0, Buffer.from('bytewise'))]);
	const got = new Promise((resolve) => {
		let text = '';
		socket.setEncoding('latin1').on('data', (d) => { text += d; if (text.includes('bytewise')) resolve(text); });
	});
	for (const byte of all) {
		socket.write(Buffer.from([byte]));
		await new Promise(setImmediate);
	}
	await got;
	socket.destroy();
});
scenario('an origin gets the preface and SETTINGS first', async (s) => {
	const { origin } = await s.open();
	const first = await origin.expect('SETTINGS', { ack: false });
	assert.equal(first.seq, 0);
	assert.deepEqual(origin.violations, []);
});
scenario('a client may close its sending side and still get its answer', async (s) => {
	const { client, origin, up } = await s.open();
	await client.ready();
	client.socket.allowHalfOpen = true;
	client.end();
	await origin.sync();
	origin.respond(up.stream, { body: 'x' });
	/*
	 * Both are lawful: an answer, or taking the half-close for a leaving client: the request is cancelled, if the origin has not
	 * answered it by then, and the connection closed.
	 */
	await Promise.any([client.response(1), origin.expectReset(up.stream, 'CANCEL'), client.expectClosed()]);
});
