#!/usr/bin/env node
/* SPDX-License-Identifier: MIT */
/*
 * What the memory of pages gains, in Chromium, for pages made for it and for real ones: writes docs/value.json, and from
 * that docs/VALUE.md with its pictures (page.mjs). Needs build/pushgate and what scripts/setup value installs. Exit status 1
 * when a target is missed (targets.mjs).
 *
 *   VALUE_RUNS    visitors of each gate in a cell (7)
 *   VALUE_CELLS   a regular expression for names of cells (30-100-300: assets, ms each way, ms of think time), hosts of
 *                 sites.mjs, consoles and constrained; only those are measured, and those of docs/value.json stay
 *   VALUE_SOURCE  add: lists as an operator writes them, in place of what is remembered
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT, sleep } from '../support/gate.mjs';
import { Bench } from './bench.mjs';
import { constrained } from './constrained.mjs';
import { ACTIONS, OTHERS } from './gates.mjs';
import { summary } from './numbers.mjs';
import { writePage } from './page.mjs';
import { SITES, openSites } from './sites.mjs';
import { missed } from './targets.mjs';
import { pathOf } from './works.mjs';

const RUNS = Number(process.env.VALUE_RUNS ?? 7);
const ONLY = new RegExp(process.env.VALUE_CELLS ?? '');
const SOURCE = process.env.VALUE_SOURCE ?? 'remembered';
const FILE = path.join(ROOT, 'docs/value.json');
/* Real pages are this far away. */
const SITE_MS = 50;
/* A page that is loaded at once is measured more often: there a few ms of noise are some percent. */
const QUICK = 3;
/* Chromium complains of what was preloaded and not used some seconds after a page has loaded. */
const COMPLAINS_MS = 6000;
const CONSOLES = { demo: '/', wordpress: '/', flask: '/' };

/* isShared: the other programs are measured there too. */
function allCells() {
	const cells = [];
	for (const assets of [5, 30, 100])
		for (const ms of [0, 50, 100])
			for (const think of [0, 300])
				cells.push({
					name: `${assets}-${ms}-${think}`, assets, ms, think, runs: RUNS * (ms + think === 0 ? QUICK : 1),
					isShared: assets === 30 && ms + think > 0,
				});
	/* Assets at once, as from a folder of files; and a line of 10 Mbit/s. */
	cells.push({ name: '30-100-300-assets-0', assets: 30, ms: 100, think: 300, assetThink: 0, runs: RUNS, isShared: true });
	cells.push({ name: '30-50-300-10M', assets: 30, ms: 50, think: 300, rate: 1250000, runs: RUNS, isShared: true });
	return cells.filter((cell) => ONLY.test(cell.name));
}

const benches = [];
function newBench() {
	const bench = new Bench();
	benches.push(bench);
	return bench;
}

const say = (text) => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);

function line(name, measured) {
	const percent = (gate, what) => Math.round(100 * (1 - measured[gate].first[what][0] / measured.nothing.first[what][0]));
	const gates = Object.keys(measured).filter((gate) => gate !== 'nothing');
	say(`${name}: ${gates.map((gate) => `${gate} ${percent(gate, 'paint')} % ${percent(gate, 'load')} %`).join(', ')} sooner (paint, load)`);
}

const save = (results) => fs.writeFileSync(FILE, `${JSON.stringify(results)}\n`);

/* What fails in one place leaves the others to be measured; a long run keeps what it has. */
const failures = [];
async function attempt(results, name, act) {
	try {
		await act();
	} catch (error) {
		failures.push(`${name}: ${error.message}`);
		say(`${name} failed: ${error.stack}`);
	}
	save(results);
}

async function measureCells(results) {
	const cells = allCells();
	if (cells.length === 0)
		return;
	const names = [...Object.keys(ACTIONS), ...OTHERS];
	const bench = newBench();
	try {
		await bench.open({ names, source: SOURCE, cells, sites: {} });
		for (const cell of cells)
			await attempt(results, cell.name, async () => {
				const those = cell.isShared ? names : Object.keys(ACTIONS);
				const measured = summary(await bench.compare(those, { path: pathOf(cell), ms: cell.ms, rate: cell.rate }, cell.runs));
				results.cells[cell.name] = { ...cell, gates: measured };
				line(cell.name, measured);
			});
	} finally {
		await bench.close();
	}
}

async function complaintsOf(bench, host, page) {
	await bench.teach('both', { host, path: page });
	const visitor = await bench.visitor('both', { host, path: page, ms: SITE_MS });
	await visitor.first();
	await sleep(COMPLAINS_MS);
	await visitor.close();
	return visitor.complaints;
}

async function measureSites(results) {
	const hosts = Object.keys(SITES).filter((host) => ONLY.test(host));
	const consoles = ONLY.test('consoles') ? Object.keys(CONSOLES) : [];
	const needed = [...new Set([...hosts, ...consoles])].filter((host) => SITES[host]);
	if (needed.length + consoles.length === 0)
		return;
	const applications = { dir: fs.mkdtempSync(path.join(os.tmpdir(), 'pushgate-sites-')), cleanups: [] };
	fs.chmodSync(applications.dir, 0o777);
	const bench = newBench();
	try {
		await bench.open({ names: ['nothing', 'both'], source: SOURCE, cells: [], sites: await openSites(applications, needed) });
		for (const host of hosts)
			await attempt(results, host, async () => {
				const measured = summary(await bench.compare(['nothing', 'both'], { host, path: SITES[host].page ?? '/', ms: SITE_MS }, RUNS));
				results.sites[host] = { what: SITES[host].what, gates: measured };
				line(host, measured);
			});
		for (const host of consoles)
			await attempt(results, `console of ${host}`, async () => {
				results.consoles[host] = await complaintsOf(bench, host, CONSOLES[host]);
				say(`console of ${host}: ${results.consoles[host].join('; ') || 'nothing'}`);
			});
	} finally {
		await bench.close();
		for (const end of applications.cleanups.reverse())
			await end();
		fs.rmSync(applications.dir, { recursive: true, force: true });
	}
}

function machine() {
	const [cpu] = os.cpus();
	const chromium = execFileSync(process.env.CHROMIUM ?? '/usr/bin/chromium', ['--version', '--no-sandbox'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
	return {
		date: new Date().toISOString().slice(0, 10), cpu: cpu.model, processors: os.cpus().length, chromium: /[\d.]+/.exec(chromium)[0].split('.')[0],
		load: os.loadavg()[0].toFixed(1), runs: RUNS, source: SOURCE,
	};
}

/* Whoever ends the measuring ends what it has started. */
for (const signal of ['SIGINT', 'SIGTERM'])
	process.once(signal, async () => {
		for (const bench of benches)
			await bench.close();
		process.exit(1);
	});

const empty = { cells: {}, sites: {}, consoles: {}, constrained: [] };
const results = process.env.VALUE_CELLS && fs.existsSync(FILE) ? JSON.parse(fs.readFileSync(FILE, 'utf8')) : empty;
results.machine = machine();
const begin = performance.now();
await measureCells(results);
await measureSites(results);
if (ONLY.test('constrained'))
	await attempt(results, 'constrained', async () => { results.constrained = await constrained(); });
results.machine.minutes = Math.round((performance.now() - begin) / 60000);
save(results);
writePage(results);
const found = [...failures, ...missed(results)];
for (const sentence of found)
	console.log(`missed: ${sentence}`);
process.exit(found.length > 0 ? 1 : 0);
