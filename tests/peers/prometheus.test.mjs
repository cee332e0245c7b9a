/* SPDX-License-Identifier: MIT */
/*
 * Debian's Prometheus scrapes an admin listener, whose samples come from two workers, and its Alertmanager hears of an alert.
 * Both programs run in the folder of the scenario, on ports of their own.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { freePort, scenario, section, until } from '../support/gate.mjs';
import { daemon, run } from '../support/programs.mjs';
import { scrapedLoad, scrapedSite } from '../support/scraped_load.mjs';

const json = async (url) => (await fetch(url)).json();

/* Its configuration: scrapes often; the rule is true when pushgate has answered a request. */
function configure(s) {
	fs.writeFileSync(path.join(s.dir, 'rules.yml'), `groups:
- name: test
  rules:
  - alert: PushgateHasServed
    expr: pushgate_requests_total > 0
    labels: { severity: page }
`);
	fs.writeFileSync(path.join(s.dir, 'prometheus.yml'), `global: { scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms }
rule_files: [rules.yml]
alerting: { alertmanagers: [{ static_configs: [{ targets: ['127.0.0.1:${s.alerts}'] }] }] }
scrape_configs:
- job_name: pushgate
  static_configs: [{ targets: ['127.0.0.1:${s.admin}'] }]
- job_name: alertmanager
  static_configs: [{ targets: ['127.0.0.1:${s.alerts}'] }]
`);
	fs.writeFileSync(path.join(s.dir, 'alertmanager.yml'), 'route: { receiver: none }\nreceivers: [{ name: none }]\n');
}

async function start(s) {
	s.prometheus = await freePort();
	s.alerts = await freePort();
	configure(s);
	await daemon(s, 'prometheus-alertmanager', [`--config.file=${s.dir}/alertmanager.yml`, `--storage.path=${s.dir}/alerts`,
		`--web.listen-address=127.0.0.1:${s.alerts}`, '--cluster.listen-address='], s.alerts);
	await daemon(s, 'prometheus', [`--config.file=${s.dir}/prometheus.yml`, `--storage.tsdb.path=${s.dir}/tsdb`,
		`--web.listen-address=127.0.0.1:${s.prometheus}`], s.prometheus);
}
/* The value of an expression that has one; undefined: it has none. */
async function query(s, expression) {
	const { status, data } = await json(`http://127.0.0.1:${s.prometheus}/api/v1/query?query=${encodeURIComponent(expression)}`);
	assert.equal(status, 'success', expression);
	return data.result[0] && Number(data.result[0].value[1]);
}

scenario('Prometheus scrapes two workers, and Alertmanager hears of what it sees', {
	single: false, server: { workers: 2, 'status-socket': 'status' }, origins: { main: { server: 'demo:' } },
	prepare: async (s) => { s.admin = await freePort(); s.options.extra = section('listen admin', { address: `127.0.0.1:${s.admin}`, mode: 'admin' }); },
}, async (s) => {
	await start(s);
	/* The target is well: it has the Content-Type, the labels and the numbers that Prometheus wants. */
	await until('a scrape', async () => (await query(s, 'up{job="pushgate"}')) === 1);
	const { data } = await json(`http://127.0.0.1:${s.prometheus}/api/v1/targets`);
	const target = data.activeTargets.find((t) => t.labels.job === 'pushgate');
	assert.deepEqual([target.health, target.lastError], ['up', '']);
	/* So many requests, each on a connection of its own: either worker gets some. */
	const clients = 'pushgate_requests_total - ignoring(cause) pushgate_end_total{cause="admin-page"}';
	/* The first scrape finds none before it, and so no such end. */
	const before = await until('two scrapes', () => query(s, clients));
	for (let i = 0; i < 100; i++)
		await new Promise((resolve, reject) => {
			http.get({ port: s.port, host: '127.0.0.1', agent: false }, (r) => { r.resume().on('end', resolve); }).on('error', reject);
		});
	await until('all are counted', async () => (await query(s, clients)) === before + 100);
	for (const [name, labels] of [['pushgate_process_starts_total', '{process="worker 1"}'], ['pushgate_connections_total', ''], ['pushgate_memory_used_bytes', '']])
		assert.ok(await query(s, name + labels) > 0, name);
	/* Types and helps are known as well. */
	const { data: about } = await json(`http://127.0.0.1:${s.prometheus}/api/v1/targets/metadata?match_target=${encodeURIComponent('{job="pushgate"}')}`);
	const types = Object.fromEntries(about.map((m) => [m.metric, m.type]));
	assert.equal(types.pushgate_requests ?? types.pushgate_requests_total, 'counter');
	assert.equal(types.pushgate_memory_used_bytes, 'gauge');
	await until('an alert', async () => (await json(`http://127.0.0.1:${s.alerts}/api/v2/alerts`)).some((a) => a.labels.alertname === 'PushgateHasServed' && a.labels.job === 'pushgate'));
});

/* Five minutes of it, with rates as well: tests/soak/scrape.mjs. */
scenario('what Prometheus has counted is what h2load has', {
	single: false, server: { workers: 2, 'log-sample': '1/1000' }, origins: {}, routes: ' ',
	prepare: async (s) => { s.options.extra = await scrapedSite(s); },
}, async (s) => {
	const f = await scrapedLoad(s, { port: s.port, seconds: 20, rate: 500, interval: '500ms' });
	for (const [name, n] of Object.entries(f.sums))
		assert.equal(n, f.total, name);
	assert.deepEqual(f.statuses, { 200: f.total });
	/* A request takes longer than its origin waits, and for its client longer than for pushgate. Clocks count milliseconds. */
	for (const { q, waits, low, high, estimate, h2load } of f.quantiles) {
		const report = `${q}: ${estimate} in (${low}, ${high}], h2load ${h2load}`;
		assert.ok(low - 0.002 < h2load && high >= waits, report);
		assert.ok(low <= estimate && estimate <= high, report);
	}
	assert.ok(f.busy.every((busy) => busy > 0), `processor seconds of the workers: ${f.busy}`);
});

scenario('promtool finds nothing to complain about', {
	single: false, server: { workers: 2, 'status-socket': 'status' }, prepare: async (s) => { s.admin = await freePort(); s.options.extra = section('listen admin', { address: `127.0.0.1:${s.admin}`, mode: 'admin' }); },
}, async (s) => {
	const text = await (await fetch(`http://127.0.0.1:${s.admin}/metrics`)).text();
	const checked = await run('promtool', ['check', 'metrics'], { input: text });
	assert.deepEqual([checked.code, checked.stdout, checked.stderr], [0, '', '']);
});
