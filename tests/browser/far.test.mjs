/* SPDX-License-Identifier: MIT */
/*
 * Chromium 100 ms away from pushgate, whose origin takes 200 ms: what the origin pushes is what the browser gets. The
 * rows are sites as they are: with fresh assets, with a page that sets a cookie, with assets that say only what version
 * they are.
 */
import assert from 'node:assert/strict';
import { scenario, until } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';
import { skip } from './chromium.mjs';
import { ASSETS, assetsOf, farSite, open } from './far-site.mjs';

const PAGES = ['a', 'b', 'c', 'd'];
const MOST = PAGES.length * ASSETS;

const SITES = {
	'fresh assets': { assetFields: () => ({ 'cache-control': 'max-age=600' }) },
	/* Each page sets another value: no asset is asked for with the cookie that its page was asked for with. */
	'fresh assets of a page that sets a cookie': {
		pageFields: (page) => ({ 'set-cookie': `session=${page}; Path=/; Secure` }),
		assetFields: () => ({ 'cache-control': 'max-age=600' }),
	},
	'assets with ETag and Last-Modified alone': {
		assetFields: (path) => ({ etag: `"${path.length}"`, 'last-modified': new Date(Date.now() - 20 * 86400e3).toUTCString() }),
	},
	/* The promised request has the fields that select the variant as the page's request has them. */
	'assets that vary by Accept-Encoding and User-Agent': {
		selects: ['accept-encoding', 'user-agent'],
		assetFields: () => ({ 'cache-control': 'max-age=600', vary: 'Accept-Encoding, User-Agent' }),
	},
};

const counters = (s) => s.gate.counters();

/* Ports first: a test that is registered late may come after the end. */
const rows = await Promise.all(['hold', 'hint+hold'].flatMap((action) => Object.entries(SITES).map(
	async ([name, fields]) => ({ action, name, fields, site: await farSite(action) }))));

// covers: P-hold-claim P-hint-once
for (const { action, name, fields, site } of rows)
	/* Held for longer than any machine needs for a page. */
	scenario(`${action}: ${name}`, { ...site, server: { ...site.server, 'hold-max-age': '10m' }, skip, timeout: 120000 }, async (s) => {
		const { asked, complaints, visit } = await open(s, { ...site, ...fields });
		for (const page of PAGES) {
			const { resources, works } = await visit(page);
			assert.deepEqual(resources.map((r) => r.path).sort(), assetsOf(page).sort());
			assert.ok(resources.every((r) => r.status === 200), JSON.stringify(resources));
			assert.ok(works, 'everything on the page has its effect');
		}
		assert.deepEqual(complaints, []);
		let c;
		await until(() => `all pushes are over: ${JSON.stringify(c)}`, () => {
			c = counters(s);
			return c.holds_claimed + c.holds_expired + c.holds_evicted + c.holds_failed >= MOST;
		}, 10000 * SCALE).catch(() => {});
		/* What was not claimed, and what the origin was asked for instead. */
		const lost = s.gate.accessLines().filter((l) => l.push && l.end_reason !== 'claimed').map((l) => `${l.path} ${l.verdict} ${l.end_reason}`);
		const why = `${lost.join('\n')}\n${JSON.stringify(asked.find((a) => a.path.startsWith('/asset')))}`;
		assert.equal(c.pushes_held, MOST);
		assert.ok(c.holds_claimed >= 0.95 * MOST, `${c.holds_claimed} of ${MOST} claimed\n${why}`);
		assert.ok(c.hold_wasted_bytes < 0.05 * c['pushgate_body_received_bytes_total{side="origin"}'], `${c.hold_wasted_bytes} bytes of ${c['pushgate_body_received_bytes_total{side="origin"}']} wasted\n${why}`);
	});
