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

const say = (text) => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);

function line(name, measured) {
	const percent = (gate, what) => Math.round(100 * (1 - measured[gate].first[what][0] / measured.nothing.first[what][0]));
	const gates = Object.keys(measured).filter((gate) => gate !== 'nothing');
	say(`${name}: ${gates.map((gate) => `${gate} ${percent(gate, 'paint')} % ${percent(gate, 'load')} %`).join(', ')} sooner (paint, load)`);
}

async function measureCells(results) {
	const cells = allCells();
	if (cells.length === 0)
		return;
	const names = [...Object.keys(ACTIONS), ...OTHERS];
	const bench = await new Bench().open({ names, source: SOURCE, cells, sites: {} });
	try {
		for (const cell of cells) {
			const those = cell.isShared ? names : Object.keys(ACTIONS);
			const measured = summary(await bench.compare(those, { path: pathOf(cell), ms: cell.ms, rate: cell.rate }, cell.runs));
			results.cells[cell.name] = { ...cell, gates: measured };
			line(cell.name, measured);
		}
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
	const bench = new Bench();
	try {
		await bench.open({ names: ['nothing', 'both'], source: SOURCE, cells: [], sites: await openSites(applications, needed) });
		for (const host of hosts) {
			const measured = summary(await bench.compare(['nothing', 'both'], { host, path: SITES[host].page ?? '/', ms: SITE_MS }, RUNS));
			results.sites[host] = { what: SITES[host].what, gates: measured };
			line(host, measured);
		}
		for (const host of consoles) {
			const complaints = await complaintsOf(bench, host, CONSOLES[host]);
			results.consoles[host] = complaints;
			say(`console of ${host}: ${complaints.join('; ') || 'nothing'}`);
		}
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
		runs: RUNS, source: SOURCE,
	};
}

const empty = { cells: {}, sites: {}, consoles: {}, constrained: [] };
const results = process.env.VALUE_CELLS && fs.existsSync(FILE) ? JSON.parse(fs.readFileSync(FILE, 'utf8')) : empty;
results.machine = machine();
const begin = performance.now();
await measureCells(results);
await measureSites(results);
if (ONLY.test('constrained'))
	results.constrained = await constrained();
results.machine.minutes = Math.round((performance.now() - begin) / 60000);
fs.writeFileSync(FILE, `${JSON.stringify(results)}\n`);
writePage(results);
const found = missed(results);
console.log(found.map((sentence) => `missed: ${sentence}`).join('\n'));
process.exit(found.length > 0 ? 1 : 0);
