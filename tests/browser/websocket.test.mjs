/* SPDX-License-Identifier: MIT */
/*
 * Chromium opens WebSockets through the gate: over HTTP/2 by an extended CONNECT on the connection that the page came
 * by, over HTTP/1.1 by Upgrade; before origins of either version.
 */
import assert from 'node:assert/strict';
import { certs, freePort, scenario, section } from '../support/gate.mjs';
import { ORIGINS, websocketOrigins } from '../peers/websocket-origin.mjs';
import { browse, skip } from './chromium.mjs';

const html = '<!doctype html><html lang=en><head><meta charset=utf-8><title>page</title><link rel=icon href=data:,></head><body><p>text</p></body></html>';

/* In the page: what a WebSocket brought, sent what it was told to, and how it closed. */
const converse = ({ url, protocols, send, close }) => new Promise((resolve) => {
	const ws = new WebSocket(url, protocols);
	const got = { messages: [] };
	ws.binaryType = 'arraybuffer';
	ws.onopen = () => {
		got.protocol = ws.protocol;
		got.extensions = ws.extensions;
		for (const message of send)
			ws.send(Array.isArray(message) ? new Uint8Array(message) : message);
	};
	ws.onmessage = ({ data }) => {
		got.messages.push(typeof data === 'string' ? data : [...new Uint8Array(data)]);
		if (got.messages.length === send.length && close)
			ws.close(...close);
	};
	ws.onerror = () => { got.failed = true; };
	ws.onclose = ({ code, reason, wasClean }) => resolve({ ...got, code, reason, wasClean });
});

/* What a page does with WebSockets, before an origin of the kind `up`. */
async function site(name, up, { tls, protocols = undefined, version }) {
	const port = await freePort();
	const { scheme, version: originVersion } = ORIGINS[up];
	const isTls = scheme === 'https' || scheme === 'h2';
	scenario(name, {
		skip, tls, listen: { protocols }, timeout: 60000,
		origins: { main: { server: `${scheme}://${isTls ? 'localhost' : '127.0.0.1'}:${port}`, config: isTls ? { 'tls-ca': certs().file('ca.pem') } : {} } },
		/* Chromium 150 leaves its side of a closed WebSocket's stream open. */
		routes: section('route main', { origin: 'main', upgrade: 'websocket', 'tunnel-half-closed-timeout': '500ms' }),
	}, async (s) => {
		const { origin, close } = await websocketOrigins([up], port, (request, response) => {
			response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'session=42; Path=/' });
			response.end(html);
		});
		s.cleanups.push(close);
		const { page, complaints } = await browse(s);
		await page.goto(`${tls ? 'https' : 'http'}://localhost:${s.port}/page`, { waitUntil: 'load' });
		const base = `${tls ? 'wss' : 'ws'}://localhost:${s.port}/page`;
		const long = 'again and again. '.repeat(50000);
		const { extensions, ...echoed } = await page.evaluate(converse, {
			url: `${base}/echo`, protocols: ['other', 'chosen'], send: ['text', [0, 1, 255], '', long], close: [4001, 'mine'],
		});
		assert.match(extensions, /^permessage-deflate/);
		assert.deepEqual(echoed, { protocol: 'chosen', messages: ['text', [0, 1, 255], '', long], code: 4001, reason: 'mine', wasClean: true });
		const closed = await page.evaluate(converse, { url: `${base}/closes/4002`, send: ['the origin\'s reason'] });
		assert.deepEqual([closed.code, closed.reason, closed.wasClean], [4002, 'the origin\'s reason', true]);
		const dropped = await page.evaluate(converse, { url: `${base}/drops`, send: ['now'] });
		assert.deepEqual([dropped.code, dropped.wasClean], [1006, false]);
		const told = await page.evaluate(converse, { url: `${base}/answers`, send: ['now'], close: [1000] });
		assert.equal(told.code, 1000);
		const [{ version: spoken, headers }] = origin.run(undefined).filter((seen) => seen.path.endsWith('/answers'));
		assert.equal(spoken, originVersion);
		assert.deepEqual(headers.cookie.split('; ').sort(), ['a=1', 'b=2', 'session=42'], 'those of the answers to WebSockets too');
		assert.equal(headers.origin, `${tls ? 'https' : 'http'}://localhost:${s.port}`);
		const expected = complaints.length;
		const refused = await page.evaluate(converse, { url: `${base}/refuse/401`, send: [] });
		assert.deepEqual([refused.failed, refused.code], [true, 1006]);
		/* The browser tells the page of no status, but the console. */
		assert.match(complaints.slice(expected).join('\n'), /401|Authentication/);
		const lines = await Promise.all(['echo', 'closes/4002', 'drops', 'answers', 'refuse/401'].map((path) => s.gate.access((l) => l.path === `/page/${path}`)));
		for (const line of lines)
			assert.equal(line.protocol, version, JSON.stringify(line));
		if (version === 'h2')
			assert.equal(new Set(s.gate.accessLines().map((l) => l.connection)).size, 1, 'all in one connection');
	});
}

const WHAT = { h1: 'HTTP/1.1', h2c: 'HTTP/2' };
for (const up of ['h1', 'h2c']) {
	await site(`WebSockets of a page that came over HTTP/2, the origin speaks ${WHAT[up]}`, up, { tls: true, version: 'h2' });
	await site(`WebSockets of a page in cleartext, the origin speaks ${WHAT[up]}`, up, { tls: false, version: 'http/1.1' });
}
await site('WebSockets over TLS and HTTP/1.1', 'h1', { tls: true, protocols: 'http/1.1', version: 'http/1.1' });
