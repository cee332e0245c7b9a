/* SPDX-License-Identifier: MIT */
/*
 * Draws docs/visits.svg from a real run: the site of tests/browser/far-site.mjs, whose origin takes 200 ms for each
 * response and promises ten assets with each page, 100 ms of round trip away from Chromium and from a program that takes
 * pushes. Times are those of frames as the client saw them; Chromium's are from its own network log.
 */
import fs from 'node:fs';
import http2 from 'node:http2';
import path from 'node:path';
import { ORIGIN_MS, WAY_MS, farSite, open, originOf } from '../tests/browser/far-site.mjs';
import { delay } from '../tests/support/delay.mjs';
import { ROOT, Scenario, certs, sleep, workDir } from '../tests/support/gate.mjs';

const VISITS = 5;
const site = { assetFields: () => ({ 'cache-control': 'max-age=600' }) };

/* ---- measuring: a visit is {streams: [{path, from, first, end, hint}], done}, in ms since its page was asked for ---- */

function sinceRequest(streams, done) {
	const [page, ...assets] = streams;
	const shift = (s) => ({ path: s.path, from: s.from - page.from, first: s.first - page.from, end: s.end - page.from, hint: s.hint && s.hint - page.from });
	assets.sort((a, b) => a.path.localeCompare(b.path));
	return { streams: [page, ...assets].map(shift), done: done ?? Math.max(...streams.map((s) => s.end)) - page.from };
}

/* What Chromium wrote down of one visit: its log has each HTTP/2 frame with its time. */
function visitOf(log, name) {
	const types = Object.fromEntries(Object.entries(log.constants.logEventTypes).map(([text, number]) => [number, text]));
	const streams = new Map();
	for (const { type, time, source, params } of log.events) {
		const key = `${source.id} ${params?.stream_id}`;
		const stream = streams.get(key);
		if (types[type] === 'HTTP2_SESSION_SEND_HEADERS') {
			const asked = params.headers.find((h) => h.startsWith(':path: ')).slice(7);
			if (asked === `/page/${name}` || asked.startsWith(`/asset/${name}/`))
				streams.set(key, { path: asked, from: Number(time) });
		} else if (stream && types[type] === 'HTTP2_SESSION_RECV_HEADERS') {
			stream[params.headers.includes(':status: 103') ? 'hint' : 'first'] ??= Number(time);
		} else if (stream && types[type] === 'HTTP2_SESSION_RECV_DATA') {
			stream.end = Number(time);
		}
	}
	return [...streams.values()].sort((a, b) => a.from - b.from);
}

const median = (visits) => visits.sort((a, b) => a.done - b.done)[visits.length >> 1];

async function scene(action, body) {
	const { originPort, ...options } = await farSite(action);
	const s = new Scenario(options);
	let failure, result;
	try {
		await s.start();
		result = await body(s, originPort);
	} catch (error) {
		failure = error;
	}
	await s.stop(failure);
	return result;
}

async function browser(action) {
	const dir = workDir();
	const file = path.join(dir, 'net.json');
	const loads = await scene(action, async (s, originPort) => {
		const { visit } = await open(s, { originPort, ...site, browserArgs: [`--log-net-log=${file}`] });
		const times = [];
		/* The first visit opens connections. */
		for (let i = 0; i <= VISITS; i++)
			times.push((await visit(`v${i}`)).load);
		return times;
	});
	const log = JSON.parse(fs.readFileSync(file, 'utf8'));
	fs.rmSync(dir, { recursive: true });
	return median(loads.map((load, i) => sinceRequest(visitOf(log, `v${i}`), load)).slice(1));
}

/* A client of Node's that accepts pushes. */
async function program() {
	return scene('forward', async (s, originPort) => {
		await originOf(s, originPort, site);
		const relay = await delay(s.port, WAY_MS);
		s.cleanups.push(() => relay.close());
		const session = http2.connect(`https://localhost:${relay.port}`, { ca: certs().ca });
		s.cleanups.push(() => session.destroy());
		await new Promise((resolve) => { session.once('remoteSettings', resolve); });
		/* Room for all of a page's assets, as other clients give it. */
		session.setLocalWindowSize(1 << 20);
		let streams, ends;
		const follow = (stream, asked, event) => {
			const entry = { path: asked, from: performance.now() };
			streams.push(entry);
			stream.on(event, () => { entry.first = performance.now(); });
			stream.resume();
			return new Promise((resolve) => { stream.on('end', () => { entry.end = performance.now(); resolve(); }); });
		};
		session.on('stream', (stream, headers) => ends.push(follow(stream, headers[':path'], 'push')));
		const visits = [];
		for (let i = 0; i <= VISITS; i++) {
			[streams, ends] = [[], []];
			const asked = `/page/v${i}`;
			await follow(session.request({ ':path': asked }), asked, 'response');
			await Promise.all(ends);
			visits.push(sinceRequest(streams));
			await sleep(20);
		}
		return median(visits.slice(1));
	});
}

/* ---- drawing ---- */

const WIDTH = 900, LEFT = 236, RIGHT = 70, TOP = 28, BAR = 3, STEP = 4, GAP = 15, FOOT = 18;

const STYLE = `.paper { fill: #fff }
text { font: 13px system-ui, sans-serif; fill: #1f2937 }
.title { font-weight: 600; font-size: 14px }
.small { font-size: 12px; fill: #57606a }
.grid { stroke: #d0d7de }
.done { stroke: #1f2937; stroke-width: 1.5 }
.origin { fill: #afb8c1; fill-opacity: .28 }
.page { fill: #2563c9 } .asset { fill: #d9730d } .hint { fill: #1a7f37 }
.wait { fill-opacity: .3 }
@media (prefers-color-scheme: dark) {
.paper { fill: #0d1117 } .origin { fill-opacity: .16 } .wait { fill-opacity: .45 }
text { fill: #e6edf3 } .small { fill: #9aa4af } .grid { stroke: #30363d } .done { stroke: #e6edf3 }
.page { fill: #6ea8fe } .asset { fill: #f2a65a } .hint { fill: #3fb950 }
}`;

function draw(lanes) {
	const most = Math.ceil(Math.max(...lanes.map((l) => l.visit.done)) / 100) * 100;
	const x = (ms) => Number((LEFT + ms * (WIDTH - LEFT - RIGHT) / most).toFixed(1));
	const tall = (lane) => lane.visit.streams.length * STEP;
	const height = TOP + lanes.reduce((sum, lane) => sum + tall(lane) + GAP, 0) + FOOT;
	const foot = height - FOOT;
	const out = [];
	const bar = (name, from, to, y, high = BAR) =>
		out.push(`<rect class="${name}" x="${x(from)}" y="${y}" width="${Math.max(3, x(to) - x(from)).toFixed(1)}" height="${high}"/>`);
	const text = (name, at, y, words, anchor = 'start') =>
		out.push(`<text class="${name}" x="${at}" y="${y}" text-anchor="${anchor}">${words}</text>`);
	const line = (name, ms, from, to) => out.push(`<path class="${name}" d="M${x(ms)} ${from}V${to}"/>`);

	bar('origin', WAY_MS, WAY_MS + ORIGIN_MS, TOP - 8, foot - TOP + 4);
	text('small', x(WAY_MS + ORIGIN_MS / 2), TOP - 14, `the origin works on the page: ${ORIGIN_MS} ms`, 'middle');
	for (let ms = 0; ms <= most; ms += 100) {
		line('grid', ms, TOP - 8, foot - 4);
		text('small', x(ms), height - 4, ms === most ? `${ms} ms` : ms, 'middle');
	}
	let y = TOP;
	for (const lane of lanes) {
		const { visit, title, words } = lane;
		const middle = y + tall(lane) / 2;
		text('title', 4, middle - 8, title);
		words.forEach((row, i) => text('small', 4, middle + 8 + 15 * i, row));
		visit.streams.forEach((s, i) => {
			const kind = i === 0 ? 'page' : 'asset';
			bar(`${kind} wait`, s.from, s.first, y + i * STEP);
			bar(kind, s.first, s.end, y + i * STEP);
			if (s.hint)
				bar('hint', s.hint, s.hint, y + i * STEP - 1, BAR + 3);
		});
		line('done', visit.done, y - 4, y + tall(lane) + 2);
		text('title', x(visit.done) + 6, middle + 5, `${visit.done.toFixed(0)} ms`);
		y += tall(lane) + GAP;
	}
	const sum = lanes.map((lane) => `${lane.title}: ${lane.visit.done.toFixed(0)} ms.`).join(' ');
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="t d">
<title id="t">The same page three times, with and without the origin's pushes</title>
<desc id="d">A page with ten assets, ${2 * WAY_MS} ms of round trip away. Its origin takes ${ORIGIN_MS} ms for each response and pushes the assets while it works on the page. ${sum} Made by scripts/visits from a real run.</desc>
<style>
${STYLE}
</style>
<rect class="paper" width="${WIDTH}" height="${height}" rx="6"/>
${out.join('\n')}
</svg>
`;
}

const lanes = [
	{ title: 'Browser, pushes dropped', words: ['asks for the assets', 'when it has the page'], visit: await browser('drop') },
	{ title: 'Browser, action = hint+hold', words: ['asks when the hint (green) comes,', 'gets what pushgate holds'], visit: await browser('hint+hold') },
	{ title: 'Program that takes pushes', words: ['is sent the assets unasked'], visit: await program() },
];
fs.writeFileSync(process.argv[2] ?? path.join(ROOT, 'docs/visits.svg'), draw(lanes));
console.log(lanes.map((lane) => `${lane.title}: ${lane.visit.done.toFixed(0)} ms`).join('\n'));
process.exit();
