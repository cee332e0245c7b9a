/* SPDX-License-Identifier: MIT */
/*
 * The page of an admin listener in Chromium: the waterfall of a page with a push of each verdict, beside the access log; what
 * comes live; filters; HAR; hostile texts; and what axe finds in each section, light and dark, wide and narrow.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http2 from 'node:http2';
import { createRequire } from 'node:module';
import { freePort, section, until } from '../support/gate.mjs';
import { withAdmin } from '../support/admin.mjs';
import { nodeOrigin } from '../support/node.mjs';
import { SCALE } from '../support/peer.mjs';
import { xssForms } from '../support/xss_forms.mjs';
import { browse, skip } from './chromium.mjs';

const require = createRequire(import.meta.url);
const NAMES = ['/drop.css', '/hint.css', '/hold.css', '/both.css', '/go.css'];
const VERDICTS = ['drop', 'hint', 'hold', 'hint+hold', 'forward'];
const RULES = section('push no', { 'promised-path': '/drop*', action: 'drop' })
	+ section('push hint', { 'promised-path': '/hint*', action: 'hint', 'hint-clients': 'all' })
	+ section('push hold', { 'promised-path': '/hold*', action: 'hold' })
	+ section('push both', { 'promised-path': '/both*', action: 'hint+hold', 'hint-clients': 'all' })
	+ section('push shadow', { 'promised-path': '/go*', shadow: 'yes', action: 'drop' });

/* A page whose origin pushes all names, each with a body of another length. */
async function site(name, body) {
	const port = await freePort();
	withAdmin(name, {
		skip, timeout: 300000, extra: RULES, origins: { main: { server: `h2c://127.0.0.1:${port}` } },
		server: { 'page-records': 512, 'hint-wait': '200ms' },
	}, async (s) => {
		await nodeOrigin(s, port, (stream, headers) => {
			if (headers[':path'].startsWith('/page'))
				NAMES.forEach((path, i) => stream.pushAllowed && stream.pushStream({ ':path': path }, (error, pushed) => {
					if (error)
						return;
					pushed.on('error', () => {});
					pushed.respond({ ':status': 200, 'content-type': 'text/css', 'cache-control': 'max-age=60' });
					pushed.end('x'.repeat(1000 * (i + 1)));
				}));
			stream.respond({ ':status': 200, 'content-type': 'text/html' });
			stream.end('page');
		});
		s.session = http2.connect(`http://127.0.0.1:${s.port}`);
		s.session.on('error', () => {}).on('stream', (pushed) => pushed.on('error', () => {}).resume());
		s.cleanups.push(() => s.session.destroy());
		s.get = (path, fields = {}) => new Promise((resolve, reject) => {
			const stream = s.session.request({ ':path': path, ':authority': 'www.a.test', ...fields });
			let bytes = 0;
			stream.on('data', (part) => { bytes += part.length; }).on('end', () => resolve(bytes)).on('error', reject);
		});
		/* All of the page has happened: what was held and is not asked for stays. */
		s.visit = async (path) => {
			await s.get(path);
			const { id } = await until('the page is listed', async () => (await s.api('pages')).pages.find((p) => p.path === path.replace(/=.*/, '=…') && p.over && p.offers === NAMES.length));
			await s.get('/hold.css');
			return until('all has ended', async () => {
				const whole = await s.api(`pages/${id}`);
				const of = (x) => whole.pushes.find((p) => p.path === x).times;
				return of('/hold.css').end !== undefined && of('/go.css').end !== undefined && whole;
			});
		};
		Object.assign(s, await browse(s));
		s.complaintsOf = () => s.complaints.filter((c) => !/\/(events|api\/[a-z/0-9-]+): net::ERR_ABORTED/.test(c));
		await body(s);
		assert.deepEqual(s.complaintsOf(), []);
	});
}
const openAt = (s, hash) => s.page.goto('about:blank').then(() => s.page.goto(`http://127.0.0.1:${s.admin}/${hash}`));
const words = (page, selector) => page.$$eval(selector, (all) => all.map((e) => e.textContent));

// covers: R250
await site('the waterfall has a row for each push, with its verdict, reason, bytes and times', async (s) => {
	const whole = await s.visit('/page?user=secret');
	await openAt(s, `#page=${whole.id}`);
	await s.page.waitForSelector('.fall tbody tr:nth-child(6)');
	const rows = await s.page.$$eval('.fall tbody tr', (all) => all.map((row) => ({
		path: row.querySelector('.c-path').textContent, verdict: row.querySelector('.c-verdict').textContent, reason: row.querySelector('.c-reason').textContent,
		size: row.querySelector('.c-size').textContent, use: row.querySelector('.c-use').textContent, words: row.querySelector('svg').getAttribute('aria-label'),
		shapes: [...row.querySelectorAll('svg [class]')].map((e) => e.getAttribute('class')).filter((c) => c !== 'g-grid'),
		bars: [...row.querySelectorAll('svg > rect')].map((e) => [parseFloat(e.getAttribute('x')), parseFloat(e.getAttribute('width'))]),
	})));
	const lines = s.gate.accessLines().filter((l) => l.push);
	const row = (path) => rows.find((r) => r.path === path);
	assert.equal(rows[0].path, '/page?user=…');
	NAMES.forEach((name, i) => {
		const line = lines.find((l) => l.path === name);
		assert.equal(row(name).verdict, VERDICTS[i]);
		if (line) { /* that of /both.css comes when it has expired */
			assert.equal(row(name).verdict, line.verdict);
			assert.ok(row(name).reason.endsWith(line.reason), `${row(name).reason}: ${line.reason}`);
		}
	});
	assert.deepEqual(NAMES.map((name) => row(name).size), ['', '', '3.0 kB', '', '5.0 kB']);
	assert.deepEqual(NAMES.map((name) => row(name).use), ['', '', 'used', '', 'used']);
	assert.deepEqual(NAMES.map((name) => row(name).shapes.join(' ')), ['g-dropmark', 'g-hintmark', 'g-hold g-wait g-hold g-hold g-kept g-claim', 'g-both g-wait g-hintmark', 'g-forward g-wait g-forward']);
	/* A bar begins and ends where its times are. */
	const most = Math.max(1000, ...[whole, ...whole.pushes].flatMap((p) => Object.entries(p.times).filter(([name]) => name !== 'end' || p.path !== '/both.css').map(([, us]) => us)));
	const t = whole.pushes.find((p) => p.path === '/hold.css').times;
	const [[from], [head, width]] = row('/hold.css').bars;
	for (const [shown, us] of [[from, t.hold], [head, t.head]])
		assert.ok(Math.abs(shown - 100 * us / most) < 0.01, `${shown} % of ${most} is ${us}`);
	assert.ok(Math.abs(head + width - 100 * t.complete / most) < 0.5);
	assert.match(row('/hold.css').words, /^held at .*, head at .*, complete at .*, claimed at .*, ended at /);
	assert.match((await words(s.page, '.totals'))[0], /^5 offers: 1 forward, 1 hold, 1 hint, 1 hint\+hold, 1 drop · 2 of 2 used · 8\.0 kB pushed/);
	await s.page.click('summary');
	assert.equal((await words(s.page, 'details tbody tr')).length, NAMES.length + 1);
});

// covers: R250 R254
await site('pages appear as they come, and filters and links choose among them', async (s) => {
	const one = await s.visit('/page1');
	await openAt(s, '#pages');
	await s.page.waitForSelector('.entry');
	await s.page.waitForSelector('#ready.v-good'); /* in each section */
	assert.equal((await words(s.page, '.entry')).length, 1);
	await s.get('/page2');
	await s.page.waitForFunction(() => document.querySelectorAll('.entry').length === 2);
	assert.match((await words(s.page, '.entry'))[0], /^\/page2/);
	await s.page.click(`.entry[data-id="${one.id}"]`);
	await s.page.waitForSelector('.fall');
	assert.equal(new URL(s.page.url()).hash, `#page=${one.id}`);
	await s.get('/plain', { accept: 'text/html' });
	await s.page.mouse.move(5, 5);
	await s.page.waitForFunction(() => document.querySelectorAll('.entry').length === 3 || document.querySelector('.news button'));
	await s.page.selectOption('[name=verdict]', 'drop');
	await s.page.waitForFunction(() => document.querySelectorAll('.entry').length === 2);
	await s.page.fill('[name=path]', 'age1');
	await s.page.waitForFunction(() => document.querySelectorAll('.entry').length === 1);
	await until('the link to the HAR has the filter', () => s.page.$eval('#har', (a) => a.getAttribute('href') === 'api/har?path=age1&verdict=drop'));
	await s.page.click('text=Clear');
	await s.page.waitForFunction(() => document.querySelectorAll('.entry').length === 3);
	for (const [tab, text] of [['Rules', 'shadow'], ['Servers', '127.0.0.1'], ['Connections', 'push on'], ['Configuration', 'promised-path'], ['Overview', 'ready']]) {
		await s.page.click(`#tabs >> text=${tab}`);
		await s.page.waitForFunction((wanted) => document.body.innerText.includes(wanted), text);
	}
});

await site('HAR is as its schema says, of all pages and of one', async (s) => {
	const har = require('har-validator');
	const whole = await s.visit('/page?x=secret');
	for (const asked of ['har', `pages/${whole.id}.har`]) {
		const file = await s.api(asked);
		await har.har(file);
		assert.equal(file.log.pages.length, 1);
		assert.deepEqual(file.log.entries.map((e) => new URL(e.request.url).pathname).sort(), ['/both.css', '/go.css', '/hold.css', '/page']);
		const pushed = file.log.entries.find((e) => e.request.url.endsWith('/go.css'));
		assert.equal(pushed._was_pushed, true);
		assert.equal(pushed.response.content.size, 5000);
		assert.equal(pushed.response.status, 200);
		assert.ok(Math.abs(pushed.time - pushed.timings.wait - pushed.timings.receive) < 0.01);
		assert.deepEqual(file.log.entries[0].request.queryString, [{ name: 'x', value: '…' }]);
	}
});

// covers: R252
await site('200 forms of scripts as paths and user-agents are shown, and none runs', async (s) => {
	const forms = xssForms();
	s.page.on('dialog', (d) => { s.complaints.push(`dialog: ${d.message()}`); d.dismiss(); });
	for (const form of forms)
		await s.get(`/${form}`, { accept: 'text/html', 'user-agent': form });
	await openAt(s, '#pages');
	await s.page.waitForFunction((n) => document.querySelectorAll('.entry').length >= n, forms.length);
	const shown = await s.page.$$eval('.entry > span:first-child', (all) => all.map((e) => e.textContent));
	assert.deepEqual(shown.sort(), forms.map((f) => `/${f}`).sort());
	for (let i = 0; i < forms.length; i += 10) {
		await s.page.click(`ol > li:nth-child(${i + 1}) > .entry`);
		await s.page.waitForSelector('.fall');
	}
	assert.equal(await s.page.evaluate(() => window.__ran), undefined);
	assert.deepEqual(await s.page.evaluate(() => [...document.querySelectorAll('script')].map((e) => e.getAttribute('src'))), ['page.js']);
});

// covers: R253
await site('axe finds nothing in any section, light or dark, wide or narrow, and nothing is wider than the screen', async (s) => {
	const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
	const { id } = await s.visit('/page');
	for (const [colorScheme, width] of [['light', 1280], ['dark', 1280], ['light', 390], ['dark', 390]]) {
		await s.page.emulateMedia({ colorScheme });
		await s.page.setViewportSize({ width, height: 900 });
		for (const [hash, ready] of [['#overview', '.tile'], ['#pages', '.entry'], [`#page=${id}`, '.fall'], ['#rules', '#rules table'], ['#servers', '#servers table'],
			['#connections', '#connections table'], ['#configuration', '#configuration table'], ['#explain', '#explain-form']]) {
			await openAt(s, hash);
			await s.page.waitForSelector(ready);
			await s.page.evaluate(axe);
			const found = await s.page.evaluate(async () => (await globalThis.axe.run()).violations.map((v) => `${v.id}: ${v.nodes[0].html} ${v.nodes[0].failureSummary}`));
			assert.deepEqual(found, [], `${colorScheme} ${width} ${hash}`);
			assert.ok(await s.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} ${hash}`);
		}
	}
});
