/* SPDX-License-Identifier: MIT */
/*
 * Chromium behind a forward proxy: an https proxy, with which it speaks HTTP/2, and an http proxy. A page of 50
 * resources, WebSockets, a download of 100 MB by a tunnel over HTTP/2, and the password that the proxy asks for.
 */
import assert from 'node:assert/strict';
import { websocketOrigins } from '../peers/websocket-origin.mjs';
import { MIB, PASSWORD, USER, forward, serveAll } from '../support/forward.mjs';
import { until } from '../support/gate.mjs';
import { browse, skip, typePasswords } from './chromium.mjs';

const COUNT = 50;
const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8" fill="red"/></svg>';
const html = `<!doctype html><html lang=en><head><meta charset=utf-8><title>page</title><link rel=icon href=data:,></head><body>
${Array.from({ length: COUNT }, (_, i) => `<img src=/p${i}.svg alt=${i}>`).join('\n')}</body></html>`;

function serve(request, response) {
	if (request.url === '/page' || request.url.endsWith('.svg')) {
		response.writeHead(200, { 'content-type': request.url === '/page' ? 'text/html' : 'image/svg+xml', 'cache-control': 'no-store' });
		return void response.end(request.url === '/page' ? html : svg);
	}
	serveAll(request, response);
}
async function start(s) {
	const { ports, close } = await websocketOrigins(['h1', 'h1s', 'alpn'], 0, serve);
	s.cleanups.push(close);
	return ports;
}
/* What goes to localhost goes by the proxy too. */
const proxied = (s) => [`--proxy-server=${s.proxy}`, '--proxy-bypass-list=<-loopback>'];

async function loadAll(page, url) {
	await page.goto(url, { waitUntil: 'load' });
	assert.deepEqual(await page.evaluate(() => [...document.images].map((i) => i.naturalWidth)), Array(COUNT).fill(8));
}
const downloaded = (page, url) => page.evaluate(async (from) => {
	let bytes = 0;
	for (const reader = (await fetch(from)).body.getReader(); ;) {
		const { done, value } = await reader.read();
		if (done)
			return bytes;
		bytes += value.length;
	}
}, url);
/* The answer of an echoing WebSocket. */
const echoed = (page, url) => page.evaluate((to) => new Promise((resolve) => {
	const ws = new WebSocket(to);
	ws.onopen = () => ws.send('by the proxy');
	ws.onmessage = ({ data }) => { resolve(data); ws.close(1000); };
	ws.onerror = () => resolve('failed');
}), url);

for (const isTls of [true, false])
	forward(`Chromium by an ${isTls ? 'https' : 'http'} proxy: pages of 50 resources, WebSockets, a large download`, {
		skip, tls: isTls, start, timeout: 120000,
	}, async (s) => {
		const { page, complaints } = await browse(s, proxied(s));
		const sites = [[`http://www.a.test:${s.ports.h1}`, `ws://www.a.test:${s.ports.h1}`, 'http/1.1'],
			[`https://www.a.test:${s.ports.alpn}`, `wss://www.a.test:${s.ports.h1s}`, 'h2']];
		for (const [base, ws, protocol] of sites) {
			await loadAll(page, `${base}/page`);
			const protocols = await page.evaluate(() => performance.getEntriesByType('resource').map((e) => e.nextHopProtocol));
			/* Of http the browser tells what it speaks with the proxy. */
			assert.deepEqual([...new Set(protocols)], [isTls ? 'h2' : protocol]);
			const mib = isTls && base.startsWith('https') ? 100 : 10;
			assert.equal(await downloaded(page, `${base}/mb${mib}`), mib * MIB);
			assert.equal(await echoed(page, `${ws}/chat/echo`), 'by the proxy');
		}
		await loadAll(page, `http://127.0.0.1:${s.ports.h1}/page`);
		assert.deepEqual(complaints, []);
		/* Of https the proxy sees tunnels alone. */
		const ofImages = () => s.gate.accessLines().filter((l) => l.path?.endsWith('.svg') && l.status === 200);
		await until(() => `${2 * COUNT} images in the access log; it has ${ofImages().length}`, () => ofImages().length >= 2 * COUNT);
		const images = ofImages();
		assert.equal(images.length, 2 * COUNT);
		await s.gate.access((l) => l.method === 'CONNECT');
		if (isTls)
			assert.deepEqual([...new Set(images.map((l) => l.protocol))], ['h2']);
	});

for (const scheme of ['http', 'https'])
	forward(`Chromium is asked for its password by an https proxy once, for ${scheme}`, { skip, tls: true, start, asks: true, timeout: 90000 }, async (s) => {
		const { page, cdp } = await browse(s, proxied(s));
		const asked = await typePasswords(cdp, USER, ['wrong', PASSWORD]);
		await loadAll(page, `${scheme}://www.a.test:${s.ports[scheme === 'http' ? 'h1' : 'alpn']}/page`);
		assert.equal(asked.length, 2, 'once for the wrong password, once for the right one');
		for (const { source, scheme: how, realm, origin } of asked)
			assert.deepEqual({ source, how, realm, origin }, { source: 'Proxy', how: 'basic', realm: 'the test', origin: s.proxy });
		await loadAll(page, `http://a.test:${s.ports.h1}/page`);
		assert.equal(asked.length, 2, 'not again for another site');
	});

forward('Chromium shows the proxy\'s page when nobody types a password', { skip, tls: true, start, asks: true, timeout: 90000 }, async (s) => {
	const { page, cdp } = await browse(s, proxied(s));
	await typePasswords(cdp, USER, []);
	const response = await page.goto(`http://www.a.test:${s.ports.h1}/page`);
	assert.equal(response.status(), 407);
});
