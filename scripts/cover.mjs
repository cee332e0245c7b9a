#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// Branch coverage of the folders that hold the meaning, from gcov's data below the build folder given.
// Prints a table, and fails when a folder is below its share, when a branch that no test takes is missing
// in tests/uncovered.txt, or when that list names one that is taken now or is gone.
//
//   usage: scripts/cover.mjs BUILD [--list]       --list: the branches never taken, in the list's format
//
// Branches of an ensure() are left out of the shares, both sides: the other one is our own bug, which no
// test can show. Their number stands in a column of its own. All others count, those that the compiler made included.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const SHARE = 90;
const FOLDERS = ["proxy/h2", "proxy/hpack", "proxy/relay", "policy"];
const LIST = "tests/uncovered.txt";

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

/** file → lines, each {number, function, counts}: how often each branch was taken, over all objects that have it. */
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
	lines.set(key, { number, function: name, counts: known ? known.counts.map((count, i) => count + counts[i]) : counts });
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

const squeeze = (text) => text.trim().replace(/\s+/g, " ");

// ---- the list ----

/** One entry: FILE FUNCTION COUNT, below it the line of the source behind a bar, then why in one or more lines. */
function readList() {
	const entries = new Map();
	let entry = null;
	readFileSync(LIST, "utf8").split("\n").forEach((line, i) => {
		const place = `${LIST}:${i + 1}`;
		if (line === "" || line.startsWith("#")) {
			entry = null;
		} else if (/^\S+ \S+ \d+$/.test(line)) {
			const [file, name, count] = line.split(" ");
			entry = { place, file, function: name, count: Number(count), text: null, why: "" };
		} else if (entry && !entry.text && /^\t\| /.test(line)) {
			entry.text = squeeze(line.slice(3));
			if (entries.has(keyOf(entry)))
				fail(`${place}: a second entry for this line`);
			entries.set(keyOf(entry), entry);
		} else if (entry?.text && /^\t\S/.test(line)) {
			entry.why += line.trim();
		} else {
			fail(`${place}: not an entry: FILE FUNCTION COUNT, then "| source", then why`);
		}
	});
	for (const { place, why } of entries.values()) {
		if (why === "")
			fail(`${place}: does not say why`);
	}
	return entries;
}

// Lines of one function with the same text are one entry: the list stays true when lines move.
const keyOf = (e) => `${e.file} ${e.function} ${e.text}`;
const format = (e) => `${e.file} ${e.function} ${e.count}\n\t| ${e.text}`;

// ---- both compared ----

let failures = 0;
function fail(text) {
	console.error(text);
	failures++;
}

const totals = new Map(FOLDERS.map((folder) => [folder, { all: 0, taken: 0, ensures: 0, ensuresTaken: 0 }]));
const missing = new Map();
for (const [file, lines] of readBranches()) {
	const source = readFileSync(file, "utf8");
	const texts = source.split("\n"), ensures = ensureLines(source), total = totals.get(folderOf(file));
	for (const { number, function: name, counts } of lines.values()) {
		const taken = counts.filter((count) => count > 0).length;
		if (ensures.has(number)) {
			total.ensures += counts.length;
			total.ensuresTaken += taken;
			continue;
		}
		total.all += counts.length;
		total.taken += taken;
		if (taken === counts.length)
			continue;
		const e = { file, function: name, text: squeeze(texts[number - 1]), count: counts.length - taken, at: [] };
		const entry = missing.get(keyOf(e)) ?? { ...e, count: 0 };
		entry.count += e.count;
		entry.at.push(`${number}: ${counts.map((count) => (count > 0 ? "+" : "-")).join("")}`);
		missing.set(keyOf(e), entry);
	}
}

if (option === "--list") {
	for (const e of missing.values())
		console.log(`${format(e)}\n\t${e.at.join(", ")}\n`);
	process.exit(0);
}

const listed = readList();
for (const [key, e] of missing) {
	const entry = listed.get(key);
	if (!entry)
		fail(`no test takes, and ${LIST} does not say why (line: taken +, not -; ${e.at.join(", ")}):\n${format(e)}`);
	else if (entry.count !== e.count)
		fail(`${entry.place}: ${e.count} branches are not taken now (${e.at.join(", ")}):\n${format(e)}`);
}
for (const [key, entry] of listed) {
	if (!missing.has(key))
		fail(`${entry.place}: is taken now, or gone:\n${format(entry)}`);
}

const percent = (part, whole) => (100 * part / whole).toFixed(1).padStart(6);
console.log("folder       branches   taken  share  listed   in ensure()  share with them");
for (const [folder, t] of totals) {
	const row = [folder.padEnd(12), String(t.all).padStart(8), String(t.taken).padStart(7), percent(t.taken, t.all),
		String(t.all - t.taken).padStart(7), String(t.ensures).padStart(13),
		percent(t.taken + t.ensuresTaken, t.all + t.ensures).padStart(16)];
	console.log(row.join(" "));
	if (100 * t.taken < SHARE * t.all)
		fail(`${folder}: less than ${SHARE} % of the branches are taken`);
}
process.exit(failures > 0 ? 1 : 0);
