#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// Branch coverage of the folders that hold the meaning, from gcov's data below the build folder given.
// Prints a table, and fails when a folder is below its share, when a branch that no test takes has no mark
// in the source, or when a mark stands where all branches are taken.
//
// A mark is a comment, on the line of the branch or in lines of its own right above it, and says why:
//
//   /* uncovered: REASON */       one branch
//   /* uncovered 2: REASON */     as many as gcov (GCC 12, -O0) shows
//
//   usage: scripts/cover.mjs BUILD [--list]       --list: the lines that lack a mark, or have too many
//
// Branches of an ensure() are left out of the shares, both sides: the other one is our own bug, which no
// test can show. Their number stands in a column of its own. All others count, those that the compiler made included.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const SHARE = 90;
const FOLDERS = ["proxy/h1", "proxy/h2", "proxy/hpack", "proxy/relay", "proxy/hold", "policy"];

const [build, option] = process.argv.slice(2);
if (!build || (option && option !== "--list")) {
	console.error("usage: scripts/cover.mjs BUILD [--list]");
	process.exit(2);
}

const folderOf = (file) => file.slice(0, file.lastIndexOf("/"));

// ---- what gcov knows ----

/** The notes of the objects whose source is still there. */
function notesIn(folder) {
	return readdirSync(join(build, folder))
		.filter((name) => name.endsWith(".gcno") && existsSync(join(folder, name.replace(/gcno$/, "c"))))
		.map((name) => join(build, folder, name));
}

/** Sources of the folders that have no branch at all: a mark in them is wrong. */
function sourcesWithout(files) {
	return FOLDERS.flatMap((folder) => readdirSync(folder).filter((name) => /\.[ch]$/.test(name)).map((name) => join(folder, name)))
		.filter((file) => !files.has(file));
}

/** file → lines, each {number, counts}: how often each branch was taken, over all objects that have it. */
function readBranches() {
	const data = FOLDERS.flatMap(notesIn);
	const json = execFileSync("gcov", ["--json-format", "--branch-probabilities", "--stdout", ...data],
		{ maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] }).toString();
	const files = new Map();
	for (const unit of json.trim().split("\n").map(JSON.parse)) {
		for (const { file, lines } of unit.files.filter((f) => FOLDERS.includes(folderOf(f.file)))) {
			if (!files.has(file))
				files.set(file, new Map());
			for (const line of lines.filter((l) => l.branches.length > 0))
				addLine(files.get(file), line);
		}
	}
	return files;
}

function addLine(lines, { line_number: number, function_name: name, branches }) {
	const key = `${number} ${name}`, known = lines.get(key);
	const counts = branches.map((branch) => branch.count);
	lines.set(key, { number, counts: known ? known.counts.map((count, i) => count + counts[i]) : counts });
}

// ---- what the source says ----

/** The lines (from 1) of each ensure(…), to its closing parenthesis. */
function ensureLines(source) {
	const lines = new Set();
	for (const { index } of source.matchAll(/\bensure\(/g)) {
		let depth = 0, end = source.indexOf("(", index);
		do {
			depth += source[end] === "(" ? 1 : source[end] === ")" ? -1 : 0;
		} while (depth > 0 && ++end < source.length);
		const first = source.slice(0, index).split("\n").length;
		const last = source.slice(0, end).split("\n").length;
		for (let number = first; number <= last; number++)
			lines.add(number);
	}
	return lines;
}

const lineAt = (source, index) => source.slice(0, index).split("\n").length;

/** line → {count, at}: the branches that the source's marks say no test takes; `at` is where the mark begins. */
function readMarks(file, source) {
	const marks = new Map(), lines = source.split("\n");
	for (const { 0: text, 1: count, 2: why, index } of source.matchAll(/\/\* uncovered(?: (\d+))?:([\s\S]*?)\*\//g)) {
		const at = lineAt(source, index), end = lineAt(source, index + text.length);
		const before = lines[at - 1].slice(0, index - source.lastIndexOf("\n", index - 1) - 1).trim();
		const number = before === "" ? end + 1 : at;
		if (why.trim() === "")
			fail(`${file}:${at}: does not say why`);
		if (marks.has(number))
			fail(`${file}:${at}: a second mark for one line; give the first a count`);
		marks.set(number, { count: Number(count ?? 1), at });
	}
	return marks;
}

// ---- both compared ----

let failures = 0;
function fail(text) {
	(option ? console.log : console.error)(text);
	failures++;
}

/** A line's branches that are not taken, in all functions that gcov finds there (one after another for a header's). */
function missingOn(missing, number, counts) {
	const line = missing.get(number) ?? { count: 0, shown: [] };
	line.count += counts.filter((count) => count === 0).length;
	line.shown.push(counts.map((count) => (count > 0 ? "+" : "-")).join(""));
	missing.set(number, line);
}

function compare(file, source, missing) {
	const texts = source.split("\n"), marks = readMarks(file, source);
	for (const [number, { count, shown }] of missing) {
		const mark = marks.get(number);
		if (mark?.count !== count)
			fail(`${file}:${number}: no test takes ${count} of ${shown.join(" ")} (taken +, not -), ` +
				`${mark ? `the mark says ${mark.count}` : "no mark says why"}\n\t${texts[number - 1].trim()}`);
	}
	for (const [number, { at }] of marks) {
		if (!missing.has(number))
			fail(`${file}:${at}: is marked, and all is taken\n\t${(texts[number - 1] ?? "").trim()}`);
	}
}

const totals = new Map(FOLDERS.map((folder) => [folder, { all: 0, taken: 0, ensures: 0, ensuresTaken: 0 }]));
const branches = readBranches();
for (const [file, lines] of branches) {
	const source = readFileSync(file, "utf8");
	const ensures = ensureLines(source), total = totals.get(folderOf(file)), missing = new Map();
	for (const { number, counts } of lines.values()) {
		const taken = counts.filter((count) => count > 0).length;
		if (ensures.has(number)) {
			total.ensures += counts.length;
			total.ensuresTaken += taken;
			continue;
		}
		total.all += counts.length;
		total.taken += taken;
		if (taken < counts.length)
			missingOn(missing, number, counts);
	}
	compare(file, source, missing);
}
for (const file of sourcesWithout(branches))
	compare(file, readFileSync(file, "utf8"), new Map());

if (option === "--list")
	process.exit(0);

const percent = (part, whole) => (100 * part / whole).toFixed(1).padStart(6);
console.log("folder       branches   taken  share  marked   in ensure()  share with them");
for (const [folder, t] of totals) {
	const row = [folder.padEnd(12), String(t.all).padStart(8), String(t.taken).padStart(7), percent(t.taken, t.all),
		String(t.all - t.taken).padStart(7), String(t.ensures).padStart(13),
		percent(t.taken + t.ensuresTaken, t.all + t.ensures).padStart(16)];
	console.log(row.join(" "));
	if (100 * t.taken < SHARE * t.all)
		fail(`${folder}: less than ${SHARE} % of the branches are taken`);
}
process.exit(failures > 0 ? 1 : 0);
