/* SPDX-License-Identifier: MIT */
/*
 * The waterfall of a page that Chromium loads, beside what the browser itself measures of it. Their clocks differ by an
 * offset that is not known; but a request is sent before it comes, and a response comes after it was sent. Each such pair
 * bounds the offset from one side, and the times are right only if one offset fits all of them, however slow the machine.
 */
import assert from 'node:assert/strict';
import { freePort, section, until } from '../support/gate.mjs';
import { withAdmin } from '../support/admin.mjs';
import { nodeOrigin } from '../support/node.mjs';
import { browse, skip } from './chromium.mjs';

/* The browser rounds its times to 0.1 ms, and both ends of a comparison are such times. */
const ROUNDED_MS = 0.2;
const KINDS = { drop: 'drop', hint: 'hint', hold: 'hold', both: 'hint+hold' };
const names = ['drop', 'hint', 'hold1', 'hold2', 'both1', 'both2'].map((name) => `/${name}.css`);
const bodyOf = (path) => `/* ${'x'.repeat(100 * (1 + names.indexOf(path)))} */`;
const verdictOf = (path) => KINDS[path.match(/[a-z]+/)[0]];
const RULES = Object.entries(KINDS).map(([name, action]) =>
	section(`push ${name}`, { 'promised-path': `/${name}*`, action, ...(action.startsWith('hint') ? { 'hint-clients': 'all' } : {}) })).join('');
const html = `<!doctype html><html lang=en><head><meta charset=utf-8><title>page</title><link rel=icon href=data:,>
${names.map((name) => `<link rel=stylesheet href=${name}>`).join('\n')}</head><body><p>text</p></body></html>`;

/* Pushes all of them; the page comes some time after the hints. */
async function serve(s, stream, path) {
	const fields = { ':status': 200, 'content-type': 'text/css', 'cache-control': 'max-age=600' };
	if (path !== '/page') {
		stream.respond(fields);
		return void stream.end(bodyOf(path));
	}
	for (const name of stream.pushAllowed ? names : [])
		stream.pushStream({ ':path': name }, (error, pushed) => {
			pushed?.on('error', () => {}).respond(fields);
			pushed?.end(bodyOf(name));
		});
	await until('the browser has asked for what was hinted', () => s.gate.accessLines().some((l) => !l.push && l.path === '/both2.css')).catch(() => {});
	stream.respond({ ':status': 200, 'content-type': 'text/html', 'cache-control': 'no-store' });
	stream.end(html);
}

/* By path: what the page's own script reads. */
const measured = (page) => page.evaluate(() => Object.fromEntries(['navigation', 'resource'].flatMap((type) => performance.getEntriesByType(type)).map((e) =>
	[new URL(e.name).pathname, { initiator: e.initiatorType, asked: e.requestStart, first: e.finalResponseHeadersStart || e.responseStart, hinted: e.firstInterimResponseStart, end: e.responseEnd, bytes: e.encodedBodySize }])));

/* By path: when what is drawn happens, in ms since the page's request came. */
const drawn = (page, most) => page.$$eval('.fall tbody tr', (all, us) => Object.fromEntries(all.map((row) => {
	const at = (kind, name) => [...row.querySelectorAll(`svg > ${kind}`)].map((e) => parseFloat(e.getAttribute(name)) / 100 * us / 1000);
	const bars = [...row.querySelectorAll('svg > rect')].map((e) => ['x', 'width'].map((name) => parseFloat(e.getAttribute(name)) / 100 * us / 1000));
	return [row.querySelector('.c-path').textContent, { bars: bars.map(([x, width]) => [x, x + width]), hint: at('line.g-hintmark', 'x1')[0], claim: at('circle', 'cx')[0] }];
})), most);

const port = await freePort();
// covers: R250
withAdmin('what the waterfall draws of a page that Chromium loads is what Chromium measures', {
	skip, timeout: 120000, tls: true, extra: RULES, origins: { main: { server: `h2c://127.0.0.1:${port}` } },
}, async (s) => {
	await nodeOrigin(s, port, (stream, headers) => serve(s, stream, headers[':path']));
	Object.assign(s, await browse(s));
	await s.page.goto(`https://localhost:${s.port}/page`, { waitUntil: 'load' });
	const browser = await measured(s.page);
	const { id } = await until('the page is listed', async () => (await s.api('pages')).pages.find((p) => p.over && p.used === 4));
	const whole = await s.api(`pages/${id}`);
	const push = Object.fromEntries(whole.pushes.map((p) => [p.path, p]));

	/* What was decided, what came of it, and how long it is. */
	assert.deepEqual(names.map((name) => push[name].verdict), names.map(verdictOf));
	assert.deepEqual(names.map((name) => push[name].use), ['unknown', 'unknown', 'used', 'used', 'used', 'used']);
	assert.equal(whole.bytes, browser['/page'].bytes);
	for (const name of names) {
		const isHinted = verdictOf(name).startsWith('hint'), isHeld = verdictOf(name).endsWith('hold');
		assert.equal(browser[name].bytes, bodyOf(name).length);
		assert.equal(push[name].bytes, isHeld ? browser[name].bytes : 0, name);
		assert.equal(browser[name].initiator === 'early-hints', isHinted, name);
		const line = s.gate.accessLines().find((l) => !l.push && l.path === name);
		assert.equal(line.held !== undefined, isHeld, name);
	}

	/* The same as it is drawn. */
	await s.page.goto(`http://127.0.0.1:${s.admin}/#page=${id}`);
	await s.page.waitForSelector('.fall tbody tr:nth-child(7)');
	const most = Math.max(1000, ...[whole, ...whole.pushes].flatMap((p) => Object.values(p.times)));
	const shown = await drawn(s.page, most);
	const above = [], below = []; /* what the offset is at least and at most, with what says so */
	const sentBefore = (sent, came, what) => above.push([sent - came, what]); /* the browser sent it, and then it came */
	const cameAfter = (came, sent, what) => below.push([came - sent, what]);
	const [[, head], [, end]] = shown['/page'].bars;
	sentBefore(browser['/page'].asked, shown['/page'].bars[0][0], 'request for the page');
	cameAfter(browser['/page'].hinted, Math.max(...names.map((n) => shown[n].hint ?? 0)), 'hints');
	cameAfter(browser['/page'].first, head, 'head of the page');
	cameAfter(browser['/page'].end, head, 'end of the page');
	assert.ok(end >= head);
	for (const name of names) {
		const { hint, claim, bars } = shown[name];
		assert.equal(hint !== undefined, verdictOf(name).startsWith('hint'), name);
		assert.equal(claim !== undefined, verdictOf(name).endsWith('hold'), name);
		if (claim === undefined)
			continue;
		/* Of what was hinted, Chromium has the times at which the document took it from the cache: it was asked for after the 103 came. */
		if (hint !== undefined)
			sentBefore(browser['/page'].hinted, claim, `hint at ${name}`);
		else
			sentBefore(browser[name].asked, claim, `request for the held ${name}`);
		cameAfter(browser[name].first, Math.max(claim, bars[1][0]), `head of ${name}`);
		cameAfter(browser[name].end, Math.max(claim, bars[1][1] - 0.004 * most / 1000), `end of ${name}`);
	}
	const least = above.sort((a, b) => b[0] - a[0])[0], greatest = below.sort((a, b) => a[0] - b[0])[0];
	assert.ok(least[0] <= greatest[0] + ROUNDED_MS, `the ${least[1]} came before it was sent, or the ${greatest[1]} was sent after it came: ${JSON.stringify([above, below])}`);

	/* What the browser asked for first was claimed first. */
	const held = names.filter((name) => shown[name].claim !== undefined).sort((a, b) => shown[a].claim - shown[b].claim);
	assert.deepEqual(held.slice(0, 2).map(verdictOf), ['hint+hold', 'hint+hold'], 'what was hinted comes first');
	assert.ok(browser[held[2]].asked <= browser[held[3]].asked + ROUNDED_MS, `${held[2]} before ${held[3]}`);
	assert.deepEqual(s.complaints.filter((c) => !/ERR_ABORTED/.test(c)), []);
});
