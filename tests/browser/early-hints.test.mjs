/* SPDX-License-Identifier: MIT */
/*
 * Which loads of Chromium get a 103 (Early Hints), by the fields that it sends itself: its documents do and use it, what
 * they embed and what it prefetches do not. A page that it prerenders is hinted to by a rule alone.
 */
import assert from 'node:assert/strict';
import { freePort, scenario, section, until } from '../support/gate.mjs';
import { nodeOrigin } from '../support/node.mjs';
import { SCALE } from '../support/peer.mjs';
import { browse, skip } from './chromium.mjs';

const head = '<!doctype html><html lang=en><meta charset=utf-8><title>hints</title><link rel=icon href=data:,>';
const sheet = (path) => `${path}.css`;
const document = (path, body) => `${head}<link rel=stylesheet href=${sheet(path)}><p>text</p>${body}`;

/* Pages by path; their style sheets are hinted, and wanted by them. */
async function site(name, pages, { rules = section('push browsers', { action: 'hint' }) } = {}, body) {
	const port = await freePort();
	scenario(name, {
		skip, tls: true, timeout: 90000, origins: { main: { server: `h2c://127.0.0.1:${port}` } },
		extra: Object.keys(pages).map((path) => section(`preload ${path.slice(1)}`, { path, add: `${sheet(path)} as=style` })).join('') + rules,
	}, async (s) => {
		s.asked = [];
		await nodeOrigin(s, port, async (stream, headers) => {
			const path = headers[':path'];
			s.asked.push({ path, purpose: headers['sec-purpose'], dest: headers['sec-fetch-dest'] });
			const is_page = path in pages;
			if (is_page) /* the 103 is not only the first, but there before */
				await new Promise((resolve) => setTimeout(resolve, 50));
			if (stream.destroyed)
				return;
			stream.respond({ ':status': 200, 'cache-control': 'max-age=600', 'content-type': is_page ? 'text/html' : 'text/css' });
			stream.end(is_page ? document(path, pages[path]) : 'p { margin-left: 17px; }');
		});
		Object.assign(s, await browse(s));
		s.early = [];
		s.cdp.on('Network.responseReceivedEarlyHints', (e) => s.early.push(e.headers));
		await s.page.goto(`https://localhost:${s.port}/page`, { waitUntil: 'load' });
		assert.deepEqual(s.complaints, []);
		s.offered = async (path) => {
			const line = await s.gate.access((l) => l.push && l.path === sheet(path));
			return `${line.verdict} ${line.reason}`;
		};
		await body(s);
	});
}

// covers: P-hint-clients
await site('a document uses the 103, and a page within it gets none', { '/page': '<iframe src=/inner></iframe>', '/inner': '' }, {}, async (s) => {
	assert.equal(s.early.length, 1, 'one 103');
	assert.equal(await s.offered('/page'), 'hint rule');
	assert.equal(await s.offered('/inner'), 'drop hint-client');
	assert.deepEqual(s.asked.filter((r) => !r.path.endsWith('.css')).map((r) => r.dest), ['document', 'iframe']);
	const initiators = await s.page.evaluate(() => performance.getEntriesByType('resource').map((e) => [new URL(e.name).pathname, e.initiatorType]));
	assert.deepEqual(initiators.find(([path]) => path === '/page.css'), ['/page.css', 'early-hints']);
	const inner = s.page.frames().find((f) => f.url().endsWith('/inner'));
	assert.deepEqual(await inner.evaluate(() => performance.getEntriesByType('resource').map((e) => e.initiatorType)), ['link']);
});

const speculate = (action) => `<script type=speculationrules>${JSON.stringify({ [action]: [{ source: 'list', urls: ['/next'], eagerness: 'immediate' }] })}</script>`;
const nextAsked = (s) => until('the browser asks ahead', () => s.asked.some((r) => r.path === '/next'), 15000 * SCALE);

// covers: P-src-speculative
await site('a page that is prefetched gets no 103', { '/page': speculate('prefetch'), '/next': '' }, {}, async (s) => {
	await nextAsked(s);
	assert.equal(s.asked.find((r) => r.path === '/next').purpose, 'prefetch');
	assert.equal(await s.offered('/next'), 'drop speculative');
	assert.ok(!s.asked.some((r) => r.path === '/next.css'), 'nothing is asked for on its behalf');
});

// covers: P-src-speculative
await site('a page that is prerendered gets one by a rule that names it', { '/page': speculate('prerender'), '/next': '' }, {
	rules: section('push browsers', { purpose: 'none prerender', action: 'hint' }),
}, async (s) => {
	await nextAsked(s);
	assert.equal(s.asked.find((r) => r.path === '/next').purpose, 'prefetch;prerender');
	assert.equal(await s.offered('/next'), 'hint rule');
});
