#!/usr/bin/env node
/* SPDX-License-Identifier: MIT */
/*
 * Attacks on the release binary, with an honest client beside each:
 *
 *   tests/attack/run.mjs [--short] [--details] [--out FILE] [--list] [--rows FILE] [NAME …]
 *
 * NAME: those whose name has it in it. --rows: those of one file of rows/. --short: one brief round each. --details: what the attacker saw.
 * PUSHGATE names the binary. Prints a table and, with --out, writes it as Markdown. The last line is "N passed, N failed"; the exit status is 0 when none failed.
 */
import fs from 'node:fs';
import path from 'node:path';
import { Stage } from './stage.mjs';
import { rows } from './rows.mjs';

const args = process.argv.slice(2);
const flag = (name) => args.includes(name) && !!args.splice(args.indexOf(name), 1);
const option = (name) => (args.includes(name) ? args.splice(args.indexOf(name), 2)[1] : undefined);
const isShort = flag('--short');
const details = flag('--details');
const list = flag('--list');
const file = option('--out');
const part = option('--rows');

const HEAD = ['attack', 'frames', 'end', 'honest %', 'p50 ms', 'p99 ms', 'RSS MB', 'descriptors', 'µs/frame', 'verdict'];
const arrow = ([a, b], digits = 0) => `${a.toFixed(digits)} → ${b.toFixed(digits)}`;

function cells(out) {
	const verdict = out.faults.length ? 'FAILED' : 'ok';
	if (!out.result)
		return [out.row.name, '', '', '', '', '', '', '', '', verdict];
	return [out.row.name, String(out.result.frames), out.end, out.honest.toFixed(1), arrow(out.p50, 1), arrow(out.p99), `+${out.growth.toFixed(1)}`,
		`${out.fdsBefore} → ${out.fdsMost} → ${out.fdsAfter}`, out.perFrame.toFixed(2), verdict];
}

const WIDTHS = [34, 8, 46, 8, 14, 12, 7, 18, 8, 8];
const line = (values) => values.map((v, i) => (v.length > WIDTHS[i] ? `${v.slice(0, WIDTHS[i] - 1)}…` : v.padEnd(WIDTHS[i]))).join(' ').trimEnd();

function markdown(table) {
	const row = (values) => `| ${values.map((v) => v.replace(/\|/g, '\\|')).join(' | ')} |`;
	return `${[
		'# Attacks', '',
		'Made by `make attack`. Times and descriptors: quiet → attacked, before → most → after; RSS: growth of the workers; µs/frame:',
		'processor time of the workers for each frame of the attacker, without what the honest client takes.', '',
		row(HEAD), row(HEAD.map(() => '---')), ...table.map(row),
	].join('\n')}\n`;
}

const ofPart = part && Object.values(await import(path.resolve(part))).flat();
const wanted = rows.filter((r) => (!part || ofPart.includes(r)) && (!args.length || args.some((a) => r.name.includes(a))));
if (list) {
	for (const r of wanted)
		console.log(`${r.name}: ${r.what}`);
	process.exit(0);
}

/* Rows are played side by side: they mostly wait. In a queue of files (--rows) others are played beside them already. */
const stages = part ? 2 : 3;
/* Of one brief round the 99th percentile is the slowest of some twenty requests. */
const options = isShort ? { isShort, period: 40, warmUp: 10, rounds: 1, quiet: 300, attacked: 600, p99: 2000 }
	: { period: 20, warmUp: 50, rounds: 3, quiet: 1000, attacked: 1500, p99: 500 };
const table = new Map();
let failed = 0;

async function play(stage, row, again) {
	const out = await stage.play(row);
	/* Late answers alone may be some other program's doing, or another row's. They count if they come again when no other row is played. */
	if (again && out.isSlow && out.faults.length === 1)
		return void again.push(row);
	table.set(row, cells(out));
	console.log(line(table.get(row)));
	failed += out.faults.length ? 1 : 0;
	if (details)
		console.log(`    ${JSON.stringify(out.result)}\n    ${out.log?.slice(0, 8).join('\n    ')}`);
	for (const fault of out.faults)
		console.log(`    ${row.name}: ${fault}`);
}

console.log(line(HEAD));
const queue = wanted.values(), late = [];
await Promise.all(Array.from({ length: stages }, async () => {
	const stage = new Stage(options);
	await stage.open();
	for (const row of queue)
		await play(stage, row, late);
	stage.close();
}));
if (late.length) {
	const stage = new Stage(options);
	await stage.open();
	for (const row of late)
		await play(stage, row);
	stage.close();
}
if (file)
	fs.writeFileSync(file, markdown(wanted.map((row) => table.get(row))));
console.log(`${wanted.length - failed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
