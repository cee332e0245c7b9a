/* SPDX-License-Identifier: MIT */
/* What tests/value makes of its measures. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quantile, summary } from '../value/numbers.mjs';
import { openOrigin } from '../value/origin.mjs';
import { missed, sooner } from '../value/targets.mjs';
import { addsOf, linksOf, namesOf, pathOf } from '../value/works.mjs';

const asset = (path, bytes = 100000) => ({ path, bytes });
/* A visit that took so long, and for which the origin was asked for these. */
const visit = (ms, ...asked) => ({ paint: ms, load: 2 * ms, asked, down: 1000 });
const PAGE = asset('/', 1000), CSS = asset('/a.css');

/* A gate whose visitors come for the first time in `first` ms, again in `repeat` ms, and reload in as many. */
const gate = (first, repeat, extra = []) => ({
	first: Array.from({ length: 4 }, () => visit(first, PAGE, CSS)), repeat: Array.from({ length: 4 }, () => visit(repeat, PAGE, ...extra)),
	reload: Array.from({ length: 4 }, () => visit(repeat, PAGE)),
});

test('the median is between two values, and of few values the highest is the 95th percentile', () => {
	assert.equal(quantile([3, 1, 2], 0.5), 2);
	assert.equal(quantile([4, 1, 2, 3], 0.5), 2.5);
	assert.equal(quantile([4, 1, 2, 3], 0.95), 4);
});

test('what the visit without needed once is no waste; what it did not need, and what comes twice, is', () => {
	const all = { nothing: gate(100, 50), both: gate(60, 50, [CSS]) };
	all.both.first.forEach((v) => v.asked.push(CSS, asset('/b.css', 7)));
	const { both, nothing } = summary(all);
	assert.equal(nothing.first.wasted, 0);
	assert.equal(both.first.wasted, CSS.bytes + 7);
	assert.equal(both.repeat.wasted, CSS.bytes);
	assert.deepEqual(both.first.later, [0, 0]);
	assert.equal(sooner({ nothing, both }, 'both', 'paint'), 40);
});

const targetsOf = (name, gates) => missed({ cells: { [name]: { gates: summary(gates) } }, sites: {}, consoles: {} });

test('numbers that are good miss no target', () => {
	assert.deepEqual(targetsOf('30-100-300', { nothing: gate(100, 50), both: gate(60, 50) }), []);
});

test('each target is missed by numbers that are not as they must be', () => {
	assert.deepEqual(targetsOf('30-100-300', { nothing: gate(100, 50), both: gate(80, 50) }), [
		'30-100-300: hint+hold is sooner by 20 % only (paint)', '30-100-300: hint+hold is sooner by 20 % only (load)']);
	assert.deepEqual(targetsOf('5-0-0', { nothing: gate(100, 50), hint: gate(110, 50) }), [
		'5-0-0: hint is later by 10 % (paint, first visit)', '5-0-0: hint is later by 10 % (load, first visit)']);
	assert.deepEqual(targetsOf('5-0-0', { nothing: gate(100, 50), hold: gate(100, 50, [CSS]) }), [
		'5-0-0: hold fetched 100000 bytes that the browser had (repeat)']);
	const wasteful = gate(100, 50);
	wasteful.first.forEach((v) => v.asked.push(CSS));
	assert.deepEqual(targetsOf('5-0-0', { nothing: gate(100, 50), hold: wasteful }), [
		'5-0-0: hold wasted 100000 of 201000 bytes on first visits']);
	assert.deepEqual(missed({ cells: {}, sites: {}, consoles: { demo: ['x was preloaded but not used', 'else'] } }), [
		'console of demo: x was preloaded but not used']);
});

test('a later median that few runs share is noise', () => {
	const plain = gate(100, 50), noisy = gate(100, 50);
	[90, 90, 120, 120].forEach((ms, i) => Object.assign(noisy.first[i], { paint: ms }));
	assert.deepEqual(targetsOf('5-0-0', { nothing: plain, hint: noisy }), []);
});

const skip = process.env.PUSHGATE_NO_BROWSER === '1' ? 'its font is from an npm package' : false;

test('the origin answers each asset that a page has, keeps account, and names them in Link fields only if told to', { skip }, async (t) => {
	const cell = { assets: 30, think: 0 };
	const origin = await openOrigin(), naming = await openOrigin({ names: true });
	t.after(() => Promise.all([origin.close(), naming.close()]));
	const ask = (to, path) => fetch(`http://127.0.0.1:${to.port}${path}`);
	const page = await ask(origin, pathOf(cell));
	assert.equal(page.headers.get('link'), null);
	await page.text();
	assert.equal((await ask(naming, pathOf(cell))).headers.get('link'), linksOf(cell).join(', '));
	await origin.take();
	for (const path of namesOf(cell))
		assert.equal((await (await ask(origin, path)).arrayBuffer()).byteLength > 3000, true, path);
	const taken = await origin.take();
	assert.deepEqual(taken.map(({ path, status }) => `${path} ${status}`), namesOf(cell).map((path) => `${path} 200`));
	assert.equal(addsOf(cell).length, cell.assets);
	assert.deepEqual(await origin.take(), []);
});
