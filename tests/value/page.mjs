#!/usr/bin/env node
/* SPDX-License-Identifier: MIT */
/* Writes docs/VALUE.md and its pictures from the numbers of docs/value.json. usage: page.mjs */
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from '../support/gate.mjs';
import { bars } from './pictures.mjs';
import { missed, sooner } from './targets.mjs';

const NAMES = { nothing: 'without', hint: 'hint', hold: 'hold', both: 'hint+hold', haproxy: 'HAProxy', h2o: 'h2o', nginx: 'nginx' };
const BEST = '30-100-300';

const CONFIGURATION = `[server]
; The assets that a browser has are not fetched again when it comes back over another connection.
diary-cookie = diary
diary-cookie-key = /etc/pushgate/diary.key
; For pages of more than 32 assets.
hold-max-count = 128
hold-max-bytes = 8M
max-pushes-per-parent = 128

[preload pages]
remembered = apply

[push browsers]
navigation = yes
action = hint+hold
`;

const LATER_KNOWN = `What the head and the style sheets name is told from the third visitor on. What visitors merely asked for, such as images and
	the modules of modules, is told from the fourth on (\`remembered-clients\`): in these cells the
	value in parentheses is mostly that of the third visitor.`;

const docs = (name) => path.join(ROOT, 'docs', name);
const ms = ([median, p95]) => `${median.toFixed(0)} (${p95.toFixed(0)})`;
const kib = (bytes) => (bytes / 1024).toFixed(bytes < 10240 ? 1 : 0);
const percent = (value) => (Math.round(value) === 0 ? '0' : value.toFixed(0).replace('-', '−'));
const table = (heads, rows) => `| ${heads.join(' | ')} |\n|${heads.map(() => '---|').join('')}\n${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`;

/* Prose with at most 100 columns. */
function wrap(text, indent = '') {
	const lines = [''];
	for (const word of text.split(/\s+/)) {
		const last = lines.at(-1);
		if (last && last.length + 1 + word.length > 100)
			lines.push(indent + word);
		else
			lines[lines.length - 1] = last ? `${last} ${word}` : word;
	}
	return `${lines.join('\n')}\n`;
}

const SPECIAL = { '30-100-300-assets-0': '30, assets at once', '30-50-300-10M': '30, 10 Mbit/s' };

function gains(cells) {
	const rows = Object.values(cells).map(({ name, assets, ms: way, think, gates }) => [
		SPECIAL[name] ?? assets, way, think, ms(gates.nothing.first.paint), ms(gates.nothing.first.load),
		...['hint', 'hold', 'both'].map((gate) => `${percent(sooner(gates, gate, 'paint'))} / ${percent(sooner(gates, gate, 'load'))}`)]);
	return table(['assets', 'ms each way', 'think ms', 'paint without', 'load without', 'hint %', 'hold %', 'hint+hold %'], rows);
}

function beside(gates, kind = 'first') {
	return table(['', 'paint', 'load', 'requests at the origin', 'KiB from the origin', 'of these wasted', 'KiB to the client'],
		Object.entries(gates).map(([gate, kinds]) => [NAMES[gate], ms(kinds[kind].paint), ms(kinds[kind].load), kinds[kind].requests,
			kib(kinds[kind].origin), kib(kinds[kind].wasted), kib(kinds[kind].down)]));
}

function others(cells) {
	const rows = Object.values(cells).filter(({ gates }) => gates.haproxy).map(({ name, ms: way, think, gates }) => [
		SPECIAL[name] ?? '30', way, think, ...['nothing', 'both', 'haproxy', 'h2o', 'nginx'].map((gate) => `${gates[gate].first.paint[0].toFixed(0)} / ${gates[gate].first.load[0].toFixed(0)}`)]);
	return table(['assets', 'ms each way', 'think ms', 'without', 'hint+hold', 'HAProxy', 'h2o', 'nginx'], rows);
}

function siteTable(sites) {
	return table(['start page', 'requests', 'KiB', 'paint', 'load', 'paint, hint+hold', 'load, hint+hold', 'sooner %', 'wasted %'],
		Object.values(sites).map(({ what, gates: { nothing, both }, gates }) => [what, nothing.first.requests, kib(nothing.first.origin),
			ms(nothing.first.paint), ms(nothing.first.load), ms(both.first.paint), ms(both.first.load),
			`${percent(sooner(gates, 'both', 'paint'))} / ${percent(sooner(gates, 'both', 'load'))}`,
			percent(100 * both.first.wasted / Math.max(1, both.first.origin))]));
}

function returning(all) {
	const sum = (kind, gate, what) => Object.values(all).reduce((total, { gates }) => total + (gates[gate]?.[kind][what] ?? 0), 0);
	const rows = ['repeat', 'reload'].flatMap((kind) => ['nothing', 'hint', 'hold', 'both'].map((gate) => [kind, NAMES[gate],
		sum(kind, gate, 'requests'), kib(sum(kind, gate, 'origin')), kib(sum(kind, gate, 'wasted')), kib(sum(kind, gate, 'down'))]));
	return table(['visit', '', 'requests at the origin', 'KiB from the origin', 'of these had before', 'KiB to the client'], rows);
}

function consoleList(consoles) {
	return Object.entries(consoles).map(([host, texts]) => {
		const preloads = texts.filter((text) => text.includes('preload'));
		return `- ${host}: ${preloads.length ? preloads.map((text) => `\`${text}\``).join('; ') : 'nothing about preloads'}`;
	}).join('\n');
}

function pictures({ cells, sites }) {
	if (cells[BEST])
		fs.writeFileSync(docs('value-gates.svg'), bars(Object.entries(cells[BEST].gates).map(([gate, { first }]) => (
			{ name: `${NAMES[gate]}`, paint: first.paint[0], load: first.load[0] })),
		{ unit: 'ms', title: 'First contentful paint and load of a page of 30 assets, 100 ms away, 300 ms of think time, by what stands before the origin' }));
	if (Object.keys(sites).length)
		fs.writeFileSync(docs('value-sites.svg'), bars(Object.entries(sites).map(([host, { gates }]) => (
			{ name: host, paint: sooner(gates, 'both', 'paint'), load: sooner(gates, 'both', 'load') })),
		{ unit: '%', title: 'By how many percent real start pages are sooner with hint+hold' }));
}

function text({ machine, cells, sites, consoles, constrained }) {
	const found = missed({ cells, sites, consoles });
	const best = cells[BEST]?.gates;
	const source = machine.source === 'remembered'
		? '`remembered = apply`: two visitors came before those that are measured, so these are the third and later ones'
		: 'lists of `add`, as an operator writes them by hand';
	return [
		'# What it gains\n',
		wrap(`How much sooner Chromium shows and loads a page when pushgate knows what the page needs, when that does not pay, and what
		it costs. \`make value\` measures all of it again and writes this page; [value.json](value.json) has the numbers.`),
		wrap(`Measured on ${machine.date} in ${machine.minutes} minutes: Chromium ${machine.chromium} and everything else on ${machine.processors}
		processors (${machine.cpu}), ${machine.runs} visitors for each value, all gates in turn, with a load average of ${machine.load}
		at the begin. Times are in ms from the begin of the navigation, over a new connection: the median, and in parentheses what 95 % are below. TLS is part of that, the handshake of TCP
		is not delayed. Each direction of the line between browser and gate takes the ms given.`),
		best ? '![First contentful paint and load by gate](value-gates.svg)\n' : '',
		`What an operator writes for hint+hold, beside listener, origin and route:\n\n\`\`\`ini\n${CONFIGURATION}\`\`\`\n`,
		'## When it pays\n',
		wrap(`A page that was made for this names style sheets, fonts in these, scripts, a tree of modules and images; the origin takes the
		think time for each response and names nothing beforehand: no Link field, no push. Pushgate knows by ${source}. ${LATER_KNOWN} The percentages say
		how much sooner first contentful paint / load are than through the same pushgate without.`),
		gains(cells),
		wrap(`A hint pays for the way: the browser asks for assets while the origin works on the page. A hold pays for the think time of the
		assets, and for nothing else. Both pay most where the page takes long and the client is far away. They cannot pay where the origin
		answers at once on the same machine: there is no time to be used.`),
		best ? `The cell of the picture (30 assets, 100 ms each way, 300 ms):\n\n${beside(best)}` : '',
		'## When it does not\n',
		found.length ? found.map((sentence) => wrap(`- ${sentence}.`, '  ').trimEnd()).join('\n') + '\n'
			: wrap('In no cell is the median more than 2 % later than without while three quarters of the runs say so too.'),
		'## Beside others\n',
		wrap(`The same pages: HAProxy with a static list of all assets (\`http-request early-hint\`), h2o 2.2 with an origin that names all of
		them in Link fields, and casper; nginx, which knows of none of this. Browsers refuse h2o's pushes, and a Link field of the final
		response comes when the page does. First contentful paint / load:`),
		others(cells),
		'## Who comes again\n',
		wrap(`A repeat visit is a new navigation over a new connection, a reload one over the same connection. The assets are fresh for a
		day, the page is asked for each time. Sums over all cells of the medians, and of the means of what a browser had before:`),
		returning(cells),
		'## Real pages\n',
		wrap(`Start pages as npm packages and Debian ship them, ${50} ms each way. Folders of files are served with 200 ms of think time
		for the page and none for assets; WordPress takes its own time. What they name on other sites does not load, with or without.`),
		Object.keys(sites).length ? `![Percent sooner by page](value-sites.svg)\n\n${siteTable(sites)}` : '',
		'## A client to which pushes are a burden\n',
		wrap(`An origin that pushes 30 assets with a page, and a client that wants none of them: KiB of a visit. With \`push = auto\` the
		origin is told not to push on connections whose requests can use no push.`),
		table(['client, and what the operator says', 'KiB from the origin', 'KiB to the client'], constrained.map(({ what, origin, client }) => [what, kib(origin), kib(client)])),
		'## What the browser says\n',
		wrap('Chromium complains when something was preloaded and not used. On its console, six seconds after a visit with hint+hold:'),
		`${consoleList(consoles)}\n`,
		'## Measure again\n',
		'```sh\nscripts/setup value\nmake value\nmake value VALUE_CELLS=\'^30-100\' VALUE_RUNS=3   # some cells; the others stay as they are\n```\n',
		wrap('It ends with status 1 when something does not hold: 30 % in the cell of the picture, no cell more than 2 % later, at most 5 % of bytes wasted, nothing fetched that the browser had, nothing on consoles.'),
	].filter(Boolean).join('\n');
}

export function writePage(results) {
	pictures(results);
	fs.writeFileSync(docs('VALUE.md'), text(results));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	writePage(JSON.parse(fs.readFileSync(docs('value.json'), 'utf8')));
	process.exit();
}
