/* SPDX-License-Identifier: MIT */
/*
 * The consoles of browsers: what pushgate hints at for the demo site is used, so that none of them complains of a preload in
 * vain. Browsers complain some seconds after a page has loaded; one more hint, for what no page uses, shows that they have.
 */
import assert from 'node:assert/strict';
import { freePort, scenario, section, sleep, until } from '../support/gate.mjs';
import { nodeOrigin } from '../support/node.mjs';
import { SCALE } from '../support/peer.mjs';
import { browse, skip } from './chromium.mjs';
import { fox, skipFirefox } from './firefox.mjs';

const isInVain = (text) => /preloaded/.test(text) && /not used/.test(text);

const browsers = [
	['Chromium', skip, async (s) => {
		const { page, complaints } = await browse(s);
		return { visit: (url) => page.goto(url, { waitUntil: 'load' }), messages: async () => complaints };
	}],
	['Firefox', skipFirefox, async (s) => {
		const { navigate, messages } = await fox(s);
		return { visit: navigate, messages };
	}],
];

for (const [name, skipped, open] of browsers)
	scenario(`${name} complains of no hint for the demo site, but of one that the site does not use`, {
		skip: skipped, tls: true, timeout: 180000,
		server: { 'hint-wait': '200ms' }, /* all hints are in one 103 */
		prepare: async (s) => {
			const port = await freePort();
			await nodeOrigin(s, port, (stream) => {
				stream.respond({ ':status': 200, 'content-type': 'text/css', 'cache-control': 'max-age=60' });
				stream.end('p { color: red }');
			});
			s.options.origins = { demo: { server: 'demo:?think=500ms' }, other: { server: `h2c://127.0.0.1:${port}` } };
		},
		routes: section('route all', { origin: 'demo' }) + section('route other', { path: '/unused.css', origin: 'other' }),
		extra: section('push unused', { 'promised-path': '/unused.css', action: 'hint' }) +
			section('push browsers', { navigation: 'yes', action: 'hint+hold' }) +
			section('preload unused', { path: '/', add: '/unused.css as=style' }),
	}, async (s) => {
		const browser = await open(s);
		await browser.visit(`https://localhost:${s.port}/`);
		const inVain = async () => (await browser.messages()).filter(isInVain);
		await until('the complaint of the unused one', async () => (await inVain()).some((text) => text.includes('/unused.css')), 60000 * SCALE);
		await sleep(2000);
		assert.deepEqual((await inVain()).filter((text) => !text.includes('/unused.css')), []);
		const offers = s.gate.accessLines().filter((line) => line.push && line.rule === 'browsers');
		assert.ok(offers.length >= 7, `${offers.length} hints`);
		assert.deepEqual(offers.map((line) => `${line.verdict} ${line.end_reason}`), offers.map(() => 'hint+hold claimed'));
	});
