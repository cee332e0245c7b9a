#!/usr/bin/env node
/* SPDX-License-Identifier: MIT */
/*
 * How long Chromium takes to load a page of ten assets when pushgate is 100 ms away and the origin takes 200 ms for each
 * response (tests/browser/far-site.mjs), by what becomes of the origin's pushes. usage: far_load.mjs [VISITS]
 */
import { Scenario } from '../support/gate.mjs';
import { farSite, open } from '../browser/far-site.mjs';

const VISITS = Number(process.argv[2] ?? 9);
/* What the pushes' rule says; without pushes the browser asks for all by itself. */
const ROWS = { plain: 'drop', hold: 'hold', hint: 'hint', 'hint+hold': 'hint+hold' };

async function loads(action) {
	const { originPort, ...options } = await farSite(action);
	const s = new Scenario(options);
	const times = [];
	let failure;
	try {
		await s.start();
		const { visit, complaints } = await open(s, { originPort, assetFields: () => ({ 'cache-control': 'max-age=600' }) });
		/* The first visit opens connections. */
		for (let i = 0; i <= VISITS; i++) {
			const { load, works } = await visit(`v${i}`);
			if (!works || complaints.length)
				throw new Error(`the page is not whole: ${complaints.join('; ')}`);
			times.push(load);
		}
	} catch (error) {
		failure = error;
	}
	await s.stop(failure);
	return times.slice(1).sort((a, b) => a - b);
}

console.log(`\nload of a page with 10 assets in Chromium, 100 ms away, origin 200 ms: ms, ${VISITS} visits`);
console.log(`${'pushes'.padEnd(12)}${'median'.padStart(8)}${'least'.padStart(8)}${'most'.padStart(8)}`);
for (const [name, action] of Object.entries(ROWS)) {
	const times = await loads(action);
	const cells = [times[times.length >> 1], times[0], times.at(-1)].map((ms) => ms.toFixed(0).padStart(8));
	console.log(name.padEnd(12) + cells.join(''));
}
process.exit();
