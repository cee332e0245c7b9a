/* SPDX-License-Identifier: MIT */
/* The demo page, as whoever runs scripts/run sees it in a browser. */
import assert from 'node:assert/strict';
import { scenario, section, until } from '../support/gate.mjs';
import { browse, skip } from './chromium.mjs';

const assets = ['/base.css', '/page.css', '/timing.js', '/greet.js', '/logo.svg', '/gradient.svg', '/waves.svg'];

scenario('the demo page loads whole, and its table has a row for the page and each asset', {
	skip, tls: true, origins: { demo: { server: 'demo:' } }, timeout: 90000,
}, async (s) => {
	const { page, complaints } = await browse(s);
	await page.goto(`https://localhost:${s.port}/`, { waitUntil: 'load' });
	await page.waitForSelector('#timing tbody tr');
	const rows = await page.evaluate(() => [...document.querySelectorAll('#timing tbody tr')]
		.map((row) => [...row.cells].map((cell) => cell.textContent)));
	/* The facts are asked for by a script and may be late for the table; the logo may be there twice, as the icon too. */
	const shown = new Set(rows.map(([path]) => path));
	shown.delete('/facts.json');
	assert.deepEqual([...shown].sort(), ['/', ...assets].sort());
	for (const [path, protocol, asked, waited, bytes] of rows) {
		assert.equal(protocol, 'h2', path);
		assert.match(asked, /^\d+\.\d ms$/, path);
		assert.match(waited, /^\d+\.\d ms$/, path);
		assert.ok(Number(bytes) > 0, path);
	}
	assert.match(await page.textContent('#hello'), /^Good /);
	await page.waitForFunction(() => !document.querySelector('#facts').textContent.startsWith('Loading'));
	assert.ok((await page.evaluate(() => [...document.images].map((i) => i.naturalWidth))).every((width) => width > 0));
	assert.deepEqual(complaints, []);
});

/* What scripts/run shows a browser. */
scenario('the demo site\'s pushes are held for a browser, which asks for all of them because of the hint', {
	skip, tls: true, origins: { demo: { server: 'demo:?think=200ms&rtt=300ms' } }, timeout: 90000,
	extra: section('push browsers', { navigation: 'yes', action: 'hint+hold' }),
}, async (s) => {
	const { page, complaints } = await browse(s);
	await page.goto(`https://localhost:${s.port}/`, { waitUntil: 'load' });
	await page.waitForFunction(() => !document.querySelector('#facts').textContent.startsWith('Loading'));
	await until('each push is over', () => s.gate.accessLines().filter((line) => line.push).length >= assets.length + 1);
	const pushes = s.gate.accessLines().filter((line) => line.push);
	assert.deepEqual(pushes.map(({ path }) => path).sort(), [...assets, '/facts.json'].sort());
	assert.deepEqual(pushes.map(({ verdict, end_reason: end }) => `${verdict} ${end}`), pushes.map(() => 'hint+hold claimed'));
	assert.deepEqual(complaints, []);
});
