#!/usr/bin/env node
/* SPDX-License-Identifier: MIT */
/*
 * What readers of an admin listener cost other clients while 10,000 pages a second come. Turns with and without readers
 * alternate in one run, so that a noisy machine does the same to both. Half of the readers take nothing of what they are
 * sent. Then Chromium opens the page, and opens waterfalls. usage: page_events.mjs [TURNS]
 */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { listenTo } from '../support/admin.mjs';
import { Scenario, freePort, section, sleep, until } from '../support/gate.mjs';
import { browse } from '../browser/chromium.mjs';

const TURNS = Number(process.argv[2] ?? 6);
const TURN_MS = 5000, RATE = 10000, CONNECTIONS = 4, READERS = 20, HONEST_MS = 5;

const at = (times, q) => times.sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(q * times.length))];

/* Pages with the offers of the demo site, as fast as RATE says. Ends by itself. */
function load(port, seconds) {
	return spawn('h2load', ['-c', String(CONNECTIONS), '-m', '10', '--rps', String(RATE / CONNECTIONS), '-D', String(seconds), '-H', 'accept: text/html', `http://127.0.0.1:${port}/`], { stdio: 'ignore' });
}

/* One request after another, each on the same connection; the times of all of them in ms. */
async function honest(port, ms) {
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1 }), times = [];
	for (const end = performance.now() + ms; performance.now() < end; await sleep(HONEST_MS)) {
		const begun = performance.now();
		const [response] = await once(http.get({ port, host: '127.0.0.1', path: '/style.css', agent }), 'response');
		await once(response.resume(), 'end');
		times.push(performance.now() - begun);
	}
	agent.destroy();
	return times;
}

/* Half of them read. Gives what ends them, and how many events have come. */
function readers(port) {
	const reading = Array.from({ length: READERS / 2 }, () => listenTo(port));
	const silent = Array.from({ length: READERS / 2 }, () => {
		const socket = net.connect(port, '127.0.0.1', () => socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n')).on('error', () => {});
		return socket.pause();
	});
	return {
		events: () => reading.reduce((n, r) => n + r.events.length, 0),
		close() {
			reading.forEach((r) => r.close());
			silent.forEach((socket) => socket.destroy());
		},
	};
}

/* Of the first process and its children. */
function resident(gate) {
	const children = fs.readFileSync(`/proc/${gate.pid}/task/${gate.pid}/children`, 'utf8').trim().split(' ').map(Number);
	return [gate.pid, ...children].reduce((sum, pid) => sum + gate.rss(pid), 0) / 1e6;
}

async function inChromium(s, admin) {
	const { page, complaints } = await browse(s);
	const heap = async () => {
		await page.requestGC();
		return (await page.evaluate(() => performance.memory.usedJSHeapSize)) / 1e6;
	};
	await page.goto(`http://127.0.0.1:${admin}/#pages`);
	await page.waitForSelector('.entry');
	await sleep(5000);
	const before = await heap(), opened = [];
	for (let i = 0; i < 20; i++) {
		const begun = performance.now();
		await page.evaluate(() => { document.querySelector('.fall')?.remove(); document.querySelector('.entry').click(); });
		await page.waitForSelector('.fall, .detail [role=alert]');
		opened.push(performance.now() - begun);
		await sleep(500);
	}
	const after = await heap(), entries = (await page.$$('.entry')).length;
	console.log(`Chromium: a waterfall opens in ${at(opened, 0.5).toFixed(0)} ms (median), ${at(opened, 1).toFixed(0)} ms at most; ${entries} entries; heap ${before.toFixed(1)} MB, 15 s later ${after.toFixed(1)} MB`);
	console.log(`complaints: ${complaints.filter((c) => !/ERR_ABORTED|404/.test(c)).join('; ') || 'none'}`);
}

const admin = await freePort();
const s = new Scenario({
	origins: { main: { server: 'demo:' } }, single: false, server: { 'access-log': undefined, workers: 2 },
	extra: section('listen admin', { address: `127.0.0.1:${admin}`, mode: 'admin' }),
});
let failure;
try {
	await s.start();
	const pages = async () => (await until('the counters', async () => new Promise((resolve) => {
		http.get({ port: admin, host: '127.0.0.1', path: '/api/overview', agent: false }, async (r) => resolve(JSON.parse((await r.setEncoding('utf8').toArray()).join('')))).on('error', () => resolve(null));
	}))).requests;
	const times = { without: [], with: [] }, rates = [], events = [];
	let first;
	for (let turn = 0; turn < 2 * TURNS; turn++) {
		const kind = turn % 2 ? 'with' : 'without';
		const begun = await pages(), since = performance.now();
		const r = kind === 'with' ? readers(admin) : undefined;
		const child = load(s.port, TURN_MS / 1000 + 1);
		await sleep(500);
		times[kind].push(...await honest(s.port, TURN_MS));
		rates.push((await pages() - begun) / (performance.now() - since) * 1000);
		if (r)
			events.push(r.events() / TURN_MS * 1000 / (READERS / 2));
		r?.close();
		child.kill();
		await sleep(300);
		first ??= resident(s.gate);
	}
	console.log(`pages a second: ${at(rates, 0.5).toFixed(0)} (median of the turns); events a second for each reader: ${at(events, 0.5).toFixed(1)}`);
	for (const q of [0.5, 0.9, 0.99])
		console.log(`an honest client's ${100 * q} %: ${at(times.without, q).toFixed(2)} ms without readers, ${at(times.with, q).toFixed(2)} ms with ${READERS}: ${(at(times.with, q) / at(times.without, q)).toFixed(2)}`);
	console.log(`resident memory of all processes: ${first.toFixed(1)} MB after the first turn, ${resident(s.gate).toFixed(1)} MB after the last`);
	const child = load(s.port, 30);
	await inChromium(s, admin);
	child.kill();
} catch (error) {
	failure = error;
}
await s.stop(failure);
process.exit();
