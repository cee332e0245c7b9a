/* SPDX-License-Identifier: MIT */
/*
 * Chromium before an origin of HTTP/1.1, which cannot push: what its Link fields, its 103 or the configuration name is
 * hinted and held. And Chromium that speaks HTTP/1.1 itself: pages load, and no 103 is made for it.
 */
import assert from 'node:assert/strict';
import { certs, freePort, scenario, section, sleep, until } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';
import { VERSIONS, versionedOrigins } from '../support/versions.mjs';
import { browse, skip } from './chromium.mjs';

const svg = (colour) => `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8" fill="${colour}"/></svg>`;
const assets = {
	'/site.css': { type: 'text/css', as: 'style', body: 'body { color: rgb(1, 2, 3); }' },
	'/print.css': { type: 'text/css', as: 'style', body: 'p { margin-left: 17px; }' },
	'/app.js': { type: 'text/javascript', as: 'script', body: 'document.documentElement.dataset.app = "ran";' },
	'/red.svg': { type: 'image/svg+xml', as: 'image', body: svg('red') },
	'/blue.svg': { type: 'image/svg+xml', as: 'image', body: svg('blue') },
};
const names = Object.keys(assets);
const html = `<!doctype html><html lang=en><head><meta charset=utf-8><title>page</title><link rel=icon href=data:,>
<link rel=stylesheet href=/site.css><link rel=stylesheet href=/print.css><script src=/app.js defer></script></head>
<body><p>text</p><img src=/red.svg alt=red><img src=/blue.svg alt=blue></body></html>`;
const link = names.map((name) => `<${name}>; rel=preload; as=${assets[name].as}`);
/* Chromium sometimes overlooks a 103 that comes within a millisecond of its request. */
const EARLY = 50;
const sorted = (list) => [...list].sort();
const requestsFor = (s, path) => s.gate.accessLines().filter((l) => !l.push && l.path === path);

/*
 * A gate with the origin's server of `version` (support/versions.mjs). options: links ('103', 'final' or none),
 * waits (the page comes only when the browser has asked for all assets), tls and listen (of the gate), extra.
 */
async function site(name, version, { links, waits, tls = true, listen = {}, extra }, body) {
	const port = await freePort();
	const { scheme } = VERSIONS[version];
	scenario(name, {
		skip, tls, listen, extra, timeout: 90000, server: { 'hint-wait': `${EARLY}ms` }, origins: { main: {
			server: `${scheme}://localhost:${port}`, config: { ...(scheme === 'https' ? { 'tls-ca': certs().file('ca.pem') } : {}) },
		} },
	}, async (s) => {
		s.asked = [];
		const { close } = await versionedOrigins(async (request, response) => {
			const path = request.url;
			s.asked.push(path);
			if (path !== '/page') {
				const asset = assets[path];
				response.writeHead(asset ? 200 : 404, { 'content-type': asset?.type ?? 'text/plain', 'cache-control': 'max-age=600' });
				return void response.end(asset?.body);
			}
			if (links === '103') {
				await sleep(EARLY);
				response.writeEarlyHints({ link });
			}
			if (waits)
				await until('the browser asks for what was hinted', () => names.every((n) => requestsFor(s, n).length), 15000 * SCALE)
					.catch((error) => s.asked.push(error.message));
			response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'no-store', ...(links === 'final' ? { link } : {}) });
			response.end(html);
		}, [version], port);
		s.cleanups.push(close);
		const { page, cdp, complaints } = await browse(s);
		s.early = [];
		cdp.on('Network.responseReceivedEarlyHints', (e) => s.early.push(e.headers));
		s.visit = async () => {
			await page.goto(`${tls ? 'https' : 'http'}://localhost:${s.port}/page`, { waitUntil: 'load' });
			assert.deepEqual(await page.evaluate(() => ({
				colour: getComputedStyle(document.body).color,
				margin: getComputedStyle(document.querySelector('p')).marginLeft,
				script: document.documentElement.dataset.app,
				images: [...document.images].map((i) => i.naturalWidth),
			})), { colour: 'rgb(1, 2, 3)', margin: '17px', script: 'ran', images: [8, 8] });
			assert.deepEqual(complaints, []);
			return page.evaluate(() => performance.getEntriesByType('resource')
				.map((e) => ({ path: new URL(e.name).pathname, initiator: e.initiatorType, protocol: e.nextHopProtocol, status: e.responseStatus })));
		};
		s.cached = () => page.evaluate((paths) => Promise.all(paths.map(async (path) => {
			const response = await fetch(path, { cache: 'only-if-cached', mode: 'same-origin' });
			return response.headers.get('cache-status');
		})), names);
		await body(s);
		assert.deepEqual(sorted(s.asked), sorted(['/page', ...names]), 'the origin is asked for each once');
	});
}

const HELD = /^pushgate\S*; (hit|fwd=miss; collapsed); detail=held$/;
const ADD = section('preload page', { path: '/page', add: names.map((name) => `${name} as=${assets[name].as}`) });
const LINKS = section('preload links', { link: 'yes' });
const browsers = (action) => section('push browsers', { action });

/* Each asset was asked for because of one 103, before the page was there. */
function hintedEarly(s, entries) {
	assert.equal(s.early.length, 1, 'one 103');
	const hints = Object.entries(s.early[0]).find(([name]) => name.toLowerCase() === 'link')[1].split(/\n|, /);
	assert.deepEqual(sorted(hints.map((hint) => hint.match(/<(.*)>/)[1])), sorted(names));
	assert.deepEqual(sorted(entries.map((e) => e.path)), sorted(names), 'each asset once, nothing else');
	for (const { path, ...rest } of entries)
		assert.deepEqual(rest, { initiator: 'early-hints', protocol: 'h2', status: 200 }, path);
}
async function heldAll(s) {
	for (const status of await s.cached())
		assert.match(status, HELD);
}

// covers: P-src-config P-src-link P-hint-forwarded P-hold-claim
await site('an origin of HTTP/1.1, hint from the configuration: the browser asks for all before the page is there', 'h1',
	{ waits: true, extra: ADD + browsers('hint') }, async (s) => hintedEarly(s, await s.visit()));
for (const [version, what] of [['h1', 'HTTP/1.1'], ['h1s', 'HTTP/1.1 over TLS']])
	await site(`an origin of ${what}, hint+hold from the configuration: the browser is answered from what is held`, version,
		{ waits: true, extra: ADD + browsers('hint+hold') }, async (s) => {
			hintedEarly(s, await s.visit());
			await heldAll(s);
		});
await site('the 103 of an origin of HTTP/1.1 reaches the browser, and what it names is held', 'h1',
	{ links: '103', waits: true, extra: LINKS + browsers('hold') }, async (s) => {
		hintedEarly(s, await s.visit());
		await heldAll(s);
	});
await site('what an origin of HTTP/1.1 names with the page is held, without a 103', 'h1',
	{ links: 'final', extra: LINKS + browsers('hold') }, async (s) => {
		const entries = await s.visit();
		assert.deepEqual(s.early, []);
		assert.deepEqual(sorted(entries.map((e) => e.path)), sorted(names));
		await heldAll(s);
	});

/* Chromium speaks HTTP/1.1 in cleartext, and over TLS where ALPN offers nothing else. */
// covers: P-hint-clients
for (const version of ['h1', 'h2c'])
	for (const tls of [false, true])
		await site(`the browser speaks HTTP/1.1${tls ? ' over TLS' : ''}, the origin ${version === 'h1' ? 'too' : 'HTTP/2'}: the page loads, and gets no 103`,
			version, { tls, extra: ADD + browsers('hint'), listen: tls ? { protocols: 'http/1.1' } : {} }, async (s) => {
				const entries = await s.visit();
				assert.deepEqual(s.early, []);
				assert.deepEqual(sorted(entries.map((e) => e.path)), sorted(names));
				for (const { path, initiator, protocol, status } of entries) {
					assert.deepEqual({ protocol, status }, { protocol: 'http/1.1', status: 200 }, path);
					assert.notEqual(initiator, 'early-hints', path);
				}
				await until('each refusal is logged', () => s.gate.accessLines().filter((l) => l.push).length === names.length);
				assert.deepEqual([...new Set(s.gate.accessLines().filter((l) => l.push).map((l) => l.reason))], ['hint-client']);
			});
