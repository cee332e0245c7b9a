/* SPDX-License-Identifier: MIT */
/*
 * A browser refuses pushes. Told by one 103 of what is held for it, Chromium asks for it at once and gets what the
 * origin pushed: on a visit of a page with assets the origin is asked for the page alone.
 */
import assert from 'node:assert/strict';
import { freePort, scenario, section, until } from '../support/gate.mjs';
import { nodeOrigin } from '../support/node.mjs';
import { SCALE } from '../support/peer.mjs';
import { browse, skip } from './chromium.mjs';

const svg = (colour) => `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8" fill="${colour}"/></svg>`;
const assets = {
	'/site.css': { type: 'text/css', body: 'body { color: rgb(1, 2, 3); }' },
	'/print.css': { type: 'text/css', body: 'p { margin-left: 17px; }' },
	'/app.js': { type: 'text/javascript', body: 'document.documentElement.dataset.app = "ran";' },
	'/red.svg': { type: 'image/svg+xml', body: svg('red') },
	'/blue.svg': { type: 'image/svg+xml', body: svg('blue') },
};
const names = Object.keys(assets);
const html = `<!doctype html><html lang=en><head><meta charset=utf-8><title>held</title><link rel=icon href=data:,>
<link rel=stylesheet href=/site.css><link rel=stylesheet href=/print.css><script src=/app.js defer></script></head>
<body><p>text</p><img src=/red.svg alt=red><img src=/blue.svg alt=blue></body></html>`;
const fresh = { 'cache-control': 'max-age=600' };

/* Pushes all assets with the page; `ready(path)` may keep the page back. Gives the list of what it saw and did. */
async function origin(s, port, ready) {
	const log = [];
	await nodeOrigin(s, port, async (stream, headers) => {
		const path = headers[':path'];
		log.push(`asked ${path}`);
		if (!path.startsWith('/page')) {
			const asset = assets[path];
			stream.respond(asset ? { ':status': 200, 'content-type': asset.type, ...fresh } : { ':status': 404 });
			return void stream.end(asset?.body);
		}
		for (const name of stream.pushAllowed ? names : [])
			stream.pushStream({ ':path': name }, (error, pushed) => {
				if (error)
					return;
				log.push(`pushed ${name}`);
				pushed.on('error', () => {});
				pushed.respond({ ':status': 200, 'content-type': assets[name].type, ...fresh });
				pushed.end(assets[name].body);
			});
		await ready(path).catch((error) => log.push(error.message));
		if (stream.destroyed)
			return;
		stream.respond({ ':status': 200, 'content-type': 'text/html', 'cache-control': 'no-store' });
		stream.end(html);
	});
	return log;
}

async function site(name, { action, ready = async () => {}, routes }, body) {
	const port = await freePort();
	scenario(name, {
		skip, tls: true, origins: { main: { server: `h2c://127.0.0.1:${port}` } }, timeout: 90000,
		extra: section('push browsers', { action }), routes,
	}, async (s) => {
		s.log = await origin(s, port, (path) => ready(s, path));
		Object.assign(s, await browse(s));
		s.early = [];
		s.cdp.on('Network.responseReceivedEarlyHints', (e) => s.early.push(e.headers));
		s.visit = async (path) => {
			await s.page.goto(`https://localhost:${s.port}${path}`, { waitUntil: 'load' });
			await works(s.page);
			assert.deepEqual(s.complaints, []);
		};
		await body(s);
	});
}

/* Everything on the page has its effect. */
async function works(page) {
	assert.deepEqual(await page.evaluate(() => ({
		colour: getComputedStyle(document.body).color,
		margin: getComputedStyle(document.querySelector('p')).marginLeft,
		script: document.documentElement.dataset.app,
		images: [...document.images].map((i) => i.naturalWidth),
	})), { colour: 'rgb(1, 2, 3)', margin: '17px', script: 'ran', images: [8, 8] });
}
/* The page's own measurements: a list, and by path. */
const timing = (page) => page.evaluate(() => performance.getEntriesByType('resource')
	.map((e) => ({ path: new URL(e.name).pathname, initiator: e.initiatorType, protocol: e.nextHopProtocol, status: e.responseStatus })));
/* Cache-Status of what the browser's own cache has; the network is not asked. */
const cached = (page, list) => page.evaluate((paths) => Promise.all(paths.map(async (path) => {
	const response = await fetch(path, { cache: 'only-if-cached', mode: 'same-origin' });
	return response.headers.get('cache-status');
})), list);
const sorted = (list) => [...list].sort();
const requestsFor = (s, path) => s.gate.accessLines().filter((l) => !l.push && l.path === path);

const HELD = /^pushgate\S*; (hit|fwd=miss; collapsed); detail=held$/;
const pushedOnce = sorted(['asked /page', ...names.map((name) => `pushed ${name}`)]);

// covers: P-hint-once P-hint-clients P-hold-claim P-hold-status
await site('hint+hold: one 103, and each asset is asked for before the page is there and answered from what is held', {
	action: 'hint+hold',
	/* The page comes only when the browser has got all that the 103 told of. */
	ready: (s) => until('the browser asks for what was hinted', () => names.every((name) => requestsFor(s, name).length), 15000 * SCALE),
}, async (s) => {
	await s.visit('/page');
	assert.equal(s.early.length, 1, 'one 103');
	const hints = Object.entries(s.early[0]).find(([name]) => name.toLowerCase() === 'link')[1].split(/\n|, /);
	assert.deepEqual(sorted(hints.map((h) => h.match(/<(.*)>/)[1])), sorted(names));
	for (const hint of hints)
		assert.match(hint, /rel=preload; as=(style|script|image)$/);
	const entries = await timing(s.page);
	assert.deepEqual(sorted(entries.map((e) => e.path)), sorted(names), 'each asset once, nothing else');
	for (const entry of entries) {
		assert.equal(entry.initiator, 'early-hints', entry.path);
		assert.equal(entry.protocol, 'h2', entry.path);
		assert.equal(entry.status, 200, entry.path);
	}
	for (const status of await cached(s.page, names))
		assert.match(status, HELD);
	assert.deepEqual(sorted(s.log), pushedOnce, 'the origin sees each resource once');
	for (const name of names)
		assert.equal(requestsFor(s, name).length, 1, name);
});
await site('hint+hold: nor does the origin see a resource twice when the page comes at once', { action: 'hint+hold' }, async (s) => {
	await s.visit('/page');
	for (const status of await cached(s.page, names))
		assert.match(status, HELD);
	assert.deepEqual(sorted(s.log), pushedOnce);
});
await site('hint+hold: a script of the page reads in Server-Timing what was done, and the times of the access log', {
	action: 'hint+hold', routes: section('route main', { origin: 'main', 'server-timing': 'yes' }),
}, async (s) => {
	await s.visit('/page');
	const entries = await s.page.evaluate(() => ['navigation', 'resource'].flatMap((type) => performance.getEntriesByType(type)).map((e) =>
		[new URL(e.name).pathname, Object.fromEntries(e.serverTiming.map((t) => [t.name, t.description || t.duration]))]));
	const { '/page': page, ...rest } = Object.fromEntries(entries);
	assert.match(page.pushgate, /hint\+hold/);
	const line = await s.gate.access((l) => !l.push && l.path === '/page');
	assert.deepEqual([page.queue, page.connect, page.origin],
		[line.queue_us, line.connect_us, line.origin_first_byte_us].map((us) => us / 1000));
	assert.deepEqual(sorted(Object.keys(rest)), sorted(names));
	for (const name of names) {
		assert.match(rest[name].pushgate, /^(held|joined)$/, name);
		assert.ok(rest[name].held > 0 && rest[name].origin === undefined, name);
	}
});
await site('hint+hold: on the next visit the browser has all in its cache and asks for the page alone', { action: 'hint+hold' }, async (s) => {
	await s.visit('/page');
	await s.visit('/page2');
	assert.deepEqual(s.log.filter((line) => line.startsWith('asked')), ['asked /page', 'asked /page2']);
	assert.equal((await cached(s.page, names)).length, names.length);
	for (const name of names)
		await until('a line for each', () => requestsFor(s, name).length === 1);
});

// covers: P-hold-claim
await site('hold: without a 103 the browser asks when it reads the page, and is answered from what is held', { action: 'hold' }, async (s) => {
	await s.visit('/page');
	assert.deepEqual(s.early, []);
	const entries = await timing(s.page);
	assert.deepEqual(sorted(entries.map((e) => e.path)), sorted(names));
	assert.ok(entries.every((e) => e.initiator !== 'early-hints'));
	for (const status of await cached(s.page, names))
		assert.match(status, HELD);
	assert.deepEqual(sorted(s.log), pushedOnce);
});
await site('drop: the origin may not push, and is asked for all', { action: 'drop' }, async (s) => {
	await s.visit('/page');
	assert.deepEqual(s.early, []);
	for (const status of await cached(s.page, names))
		assert.equal(status, null);
	assert.deepEqual(sorted(s.log), sorted(['/page', ...names].map((name) => `asked ${name}`)));
});
