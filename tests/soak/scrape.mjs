/* SPDX-License-Identifier: MIT */
/*
 * Prometheus scrapes two workers under load: its rates and quantiles beside h2load's own.
 * usage: node tests/soak/scrape.mjs [SECONDS [REQUESTS-A-SECOND]]      (300; 2000)
 *
 * Prints the figures. Exit status 0: no request was counted twice or not at all, the rates are equal within 1 %, and the
 * buckets of the median and of the 99th percentile hold those of h2load.
 */
import path from 'node:path';
import { Gate, freePort, section, workDir } from '../support/gate.mjs';
import { scrapedLoad, scrapedSite } from '../support/scraped_load.mjs';
import { Checks } from './child.mjs';

const [seconds = 300, rate = 2000] = process.argv.slice(2).map(Number);
const checks = new Checks();
const s = { dir: workDir(), cleanups: [] };
const port = await freePort();
const site = await scrapedSite(s);
const gate = new Gate({
	dir: s.dir, ports: [port, s.admin], single: false,
	config: section('server', { workers: 2, 'access-log': path.join(s.dir, 'access.log'), 'log-sample': '1/1000', 'error-log': path.join(s.dir, 'error.log') })
		+ section('listen main', { address: `127.0.0.1:${port}` }) + site,
});
await gate.listening();
try {
	const f = await scrapedLoad(s, { port, seconds, rate, interval: '1s' });
	for (const [name, n] of Object.entries(f.sums))
		checks.check(`${name}: each was counted once`, n === f.total, `${n} of ${f.total}`);
	checks.check('h2load had an answer to each', f.done === f.total && f.statuses[200] === f.total, `${f.done} of ${f.total}, ${JSON.stringify(f.statuses)}`);
	checks.check('the rates are equal within 1 %', Math.abs(f.rates.prometheus / f.rates.h2load - 1) < 0.01, `${f.rates.prometheus.toFixed(2)}/s, h2load ${f.rates.h2load.toFixed(2)}/s`);
	for (const { q, low, high, estimate, h2load } of f.quantiles)
		checks.check(`quantile ${q}: one bucket has both`, low < h2load && h2load <= high && low <= estimate && estimate <= high, `Prometheus ${estimate.toFixed(4)} s in (${low}, ${high}], h2load ${h2load.toFixed(4)} s`);
	checks.check('both workers had work', f.busy.every((busy) => busy > 0), f.busy.map((busy) => `${busy} s`).join(', '));
} catch (error) {
	checks.check('the run came to its end', false, `${error.stack}\n${gate.report()}`);
}
for (const cleanup of s.cleanups.reverse())
	await cleanup();
await gate.stop();
process.exit(checks.sum());
