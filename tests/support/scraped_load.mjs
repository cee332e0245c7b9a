/* SPDX-License-Identifier: MIT */
/*
 * A load of h2load on two workers that Prometheus scrapes: what it has counted beside what h2load has. The origin waits
 * before it answers, so long that the median and the 99th percentile lie in the middle of buckets.
 */
import fs from 'node:fs';
import path from 'node:path';
import { freePort, section, until } from './gate.mjs';
import { FleetServer, load } from './fleet.mjs';
import { daemon } from './programs.mjs';

/* Of twenty answers: milliseconds, and how many have them. */
const WAITS = [[15, 6], [35, 13], [160, 1]].flatMap(([ms, count]) => Array(count).fill(ms));
const CONNECTIONS = 20;
/* Seconds; what the origin has waited at least. */
export const QUANTILES = [{ q: 0.5, waits: 0.035 }, { q: 0.99, waits: 0.16 }];
const SUMS = {
	requests: 'pushgate_request_duration_seconds_count{listen="main"}',
	firstBytes: 'pushgate_origin_first_byte_seconds_count{origin="slow"}',
	queued: 'pushgate_queue_wait_seconds_count{origin="slow"}',
};
/* Those of the scrapes are answered by pushgate itself; the first one that sees another has this sample. */
const RECEIVED = 'pushgate_requests_total - ignoring (cause) pushgate_end_total{cause="admin-page"}';

/* Prometheus, in the folder and on a port of its own. */
class Prometheus {
	static async start(s, target, interval) {
		const p = new Prometheus();
		p.port = await freePort();
		fs.writeFileSync(path.join(s.dir, 'scraped.yml'), `global: { scrape_interval: ${interval}, scrape_timeout: ${interval} }
scrape_configs: [{ job_name: pushgate, static_configs: [{ targets: ['127.0.0.1:${target}'] }] }]
`);
		await daemon(s, 'prometheus', [`--config.file=${s.dir}/scraped.yml`, `--storage.tsdb.path=${s.dir}/scraped`,
			`--web.listen-address=127.0.0.1:${p.port}`], p.port);
		await until('Prometheus is ready', async () => (await fetch(`http://127.0.0.1:${p.port}/-/ready`)).ok);
		return p;
	}
	/* time: seconds since 1970; without it now. */
	async query(expression, time = null) {
		const at = time === null ? '' : `&time=${time}`;
		const { status, data, error } = await (await fetch(`http://127.0.0.1:${this.port}/api/v1/query?query=${encodeURIComponent(expression)}${at}`)).json();
		if (status !== 'success')
			throw new Error(`${expression}: ${error}`);
		return data.result;
	}
	/* Of the one series that it has; undefined: it has none. */
	async value(expression, time) {
		const [first] = await this.query(expression, time);
		return first && Number(first.value[1]);
	}
}

/* The configuration of a gate for it, and its origin. */
export async function scrapedSite(s) {
	let count = 0;
	const answer = (request, response) => setTimeout(() => response.writeHead(200, { 'content-length': 3 }).end('ok\n'), WAITS[count++ % WAITS.length]);
	s.origin = await new FleetServer({ port: await freePort(), answer }).open();
	s.cleanups.push(() => s.origin.shut());
	s.admin = await freePort();
	return section('listen admin', { address: `127.0.0.1:${s.admin}`, mode: 'admin' })
		+ section('origin slow', { server: `h2c://${s.origin.address}` }) + section('route slow', { origin: 'slow' });
}

/* The buckets between whose bounds the quantile lies, of all requests: { low, high, estimate }, in seconds. */
async function bucketOf(prometheus, q, total) {
	const buckets = (await prometheus.query('sum by (le) (pushgate_request_duration_seconds_bucket{listen="main"})'))
		.map(({ metric, value }) => ({ bound: metric.le === '+Inf' ? Infinity : Number(metric.le), count: Number(value[1]) }))
		.sort((a, b) => a.bound - b.bound);
	const at = buckets.findIndex(({ count }) => count >= q * total);
	const estimate = await prometheus.value(`histogram_quantile(${q}, sum by (le) (pushgate_request_duration_seconds_bucket{listen="main"}))`);
	return { low: buckets[at - 1]?.bound ?? 0, high: buckets[at].bound, estimate };
}

/* The rate in the middle of the load, as Prometheus and as h2load have seen it. */
async function rates(prometheus, ends) {
	const [first, last] = [ends[0], ends.at(-1)], span = Math.floor(0.8 * (last - first)), to = last - 0.1 * (last - first);
	return {
		prometheus: await prometheus.value(`sum(rate(${SUMS.requests}[${span}s]))`, to),
		h2load: ends.filter((end) => end > to - span && end <= to).length / span,
	};
}

/*
 * The load, on a gate that listens on `port`, at so many requests a second. Gives { sums, done, statuses, latencies (in
 * seconds), quantiles, rates, busy: processor seconds of each worker }.
 */
export async function scrapedLoad(s, { port, seconds, rate, interval }) {
	const prometheus = await Prometheus.start(s, s.admin, interval);
	const before = await until('two scrapes', () => prometheus.value(RECEIVED));
	const total = CONNECTIONS * Math.floor(rate / CONNECTIONS) * seconds;
	const loaded = await load(`http://127.0.0.1:${port}/`, { connections: CONNECTIONS, dir: s.dir, paced: { total, rate } });
	const sums = async () => Object.fromEntries(await Promise.all(Object.entries(SUMS).map(async ([name, expression]) => [name, await prometheus.value(`sum(${expression})`)])));
	/* A request is counted when it has ended; a scrape may come a moment later. */
	await until('all are counted', async () => (await sums()).requests >= total).catch(() => {});
	const quantiles = [];
	for (const { q, waits } of QUANTILES)
		quantiles.push({ q, waits, h2load: loaded.latencies[Math.ceil(q * loaded.latencies.length) - 1] / 1e6, ...await bucketOf(prometheus, q, total) });
	const received = await prometheus.value(RECEIVED) - before;
	return {
		total, ...loaded, sums: { ...await sums(), received }, quantiles, rates: await rates(prometheus, loaded.ends),
		busy: await Promise.all([0, 1].map((i) => prometheus.value(`process_cpu_seconds_total{process="worker ${i}"}`))),
	};
}
