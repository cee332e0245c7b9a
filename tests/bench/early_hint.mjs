#!/usr/bin/env node
/* SPDX-License-Identifier: MIT */
/*
 * How long after the last byte of a page's request its 103 is there, while the origin thinks for 500 ms: 100 loads of a
 * remembered page with 30 style sheets, one after the other, each over a new connection from this machine. Beside it is
 * the round trip of a PING on the same connection: what the loopback, the loop and this client need without any 103.
 * Exit status 1: the median is more than 1 ms above that of the PINGs. usage: early_hint.mjs [LOADS]
 */
import net from 'node:net';
import { FLAG, FrameReader, PREFACE, TYPE, frame, settingsPayload } from '../support/frames.mjs';
import { Scenario, sleep } from '../support/gate.mjs';
import { Encoder } from '../support/hpack.mjs';
import { css, hintedByAll, hinting, html, load } from '../support/pages.mjs';

const LOADS = Number(process.argv[2] ?? 100);
const THINK_MS = 500, ASSETS = 30, MOST_MS = 1, STREAM = 1;

const at = (times, q) => times.sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(q * times.length))];

/* Writes the octets; gives the ms until a frame comes that is meant. */
function answered(wire, octets, isMeant) {
	return new Promise((resolve, reject) => {
		wire.fail = reject;
		wire.take = (f) => {
			if (isMeant(f))
				resolve(performance.now() - begun);
		};
		const begun = performance.now();
		wire.socket.write(octets);
	});
}

/* The times of one load: of the PING, of the 103, of the page's own head. */
async function loadOnce(port) {
	const reader = new FrameReader();
	const socket = net.connect({ port, host: '127.0.0.1', localAddress: '127.0.0.9', noDelay: true });
	const wire = { socket, take() {}, fail() {} };
	socket.on('error', (error) => wire.fail(error)).on('close', () => wire.fail(new Error('the connection was closed')));
	socket.on('data', (octets) => {
		for (const f of reader.push(octets))
			wire.take(f);
	});
	await answered(wire, Buffer.concat([PREFACE, frame(TYPE.SETTINGS, 0, 0, settingsPayload({ enablePush: 0 }))]), (f) => f.type === 'SETTINGS' && !f.ack);
	socket.write(frame(TYPE.SETTINGS, FLAG.ACK, 0));
	const ping = await answered(wire, frame(TYPE.PING, 0, 0, Buffer.alloc(8)), (f) => f.type === 'PING' && f.ack);
	const request = new Encoder().encode([
		[':method', 'GET'], [':scheme', 'http'], [':authority', `localhost:${port}`], [':path', '/page'], ['sec-fetch-dest', 'document'], ['sec-fetch-mode', 'navigate'],
	]);
	const early = await answered(wire, frame(TYPE.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, STREAM, request), (f) => f.type === 'HEADERS');
	const final = early + await answered(wire, '', (f) => f.type === 'HEADERS');
	wire.fail = () => {};
	socket.destroy();
	return { ping, early, final };
}

let thinks = false;
const s = new Scenario(hinting({
	async serve(request, response) {
		if (thinks)
			await sleep(THINK_MS);
		html(response, targets.map(css));
	},
}));
const targets = Array.from({ length: ASSETS }, (_, i) => `/${i}.css`);
let failure;
try {
	await s.start();
	for (const client of [1, 2])
		await load(s, client, '/page');
	await hintedByAll(s, '/page', targets);
	thinks = true;
	const loads = [];
	while (loads.length < LOADS)
		loads.push(await loadOnce(s.port));
	const ms = (of, q) => at(loads.map((l) => l[of]), q);
	if (ms('final', 0) < THINK_MS - 1 || ms('early', 1) >= ms('final', 0))
		throw new Error('what came first was no 103');
	console.log(`${LOADS} page loads, ms from the request's last byte: the median, and what 95 % are below`);
	for (const [name, of] of [['PING', 'ping'], ['103', 'early'], ['head of the page', 'final']])
		console.log(`${name.padEnd(20)} ${ms(of, 0.5).toFixed(2).padStart(8)} ${ms(of, 0.95).toFixed(2).padStart(8)}`);
	if (ms('early', 0.5) - ms('ping', 0.5) > MOST_MS) {
		console.log(`not ok: the 103 takes more than ${MOST_MS} ms`);
		process.exitCode = 1;
	}
} catch (error) {
	failure = error;
}
await s.stop(failure);
