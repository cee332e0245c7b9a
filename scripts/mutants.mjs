#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// Changes the program at random places, one at a time, and runs the tests that are near. A change that
// no test notices, a survivor, is a line that could be wrong without a test that fails.
//
//   usage: scripts/mutants.mjs [-n NUMBER] [-s SEED] [-b BASE] [PLACE...]
//
// PLACE: a folder, a file, or FILE:LINE for every change of that line. Without one: the files that
// differ from the revision BASE (HEAD^). -n: so many changes (20). -s: the seed, which is printed: the
// same source and seed make the same changes. The exit status is 1 when there are survivors.
//
// A change is one of: a comparison flipped, a negation dropped or added, one side of && or || left out,
// a statement dropped, a row of a table dropped, or its value swapped with the next row's, true for
// false, + for -. Lines of ensure() are spared, and so are those that are marked `uncovered`.
//
// A change is noticed when a test program fails with it twice, so that a slow machine notices nothing, or when the
// program uses far more processor time than without it. All programs of the folder and of those in ALSO have passed
// before a change is called a survivor. A program ends at its first failed test.
//
// All happens in a copy of the source, build/mutants/tree. The library is a shared one there (KIND=mutants),
// so that a change costs one object and one link, and the test programs stay as they are.
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const TREE = join(ROOT, "build/mutants/tree");
const LIBRARY = "build/mutants/libpushgate.so";

// Which tests a folder has besides tests/unit/FOLDER.
const ALSO = {
	admission: ["relay", "unit/gateway", "unit/client"],
	client: ["unit/gateway", "unit/session"],
	gateway: ["unit/session", "unit/upstream", "unit/origin", "unit/client", "unit/admission"],
	h1: ["unit/session", "unit/gateway", "unit/origin", "unit/upstream", "unit/client"],
	h2: ["pair", "unit/session", "unit/gateway", "unit/origin", "unit/upstream"],
	hold: ["relay", "unit/gateway", "unit/client"],
	hpack: ["unit/h2", "pair"],
	offer: ["unit/gateway", "unit/upstream", "unit/tool"],
	policy: ["unit/offer", "unit/route", "unit/gateway", "unit/tool"],
	relay: ["relay", "unit/gateway", "unit/origin", "unit/upstream", "unit/client", "unit/admission"],
	route: ["unit/offer", "unit/gateway", "unit/origin", "unit/upstream", "unit/tool"],
	session: ["unit/gateway"],
	origin: ["unit/upstream", "unit/gateway", "unit/session", "unit/client"],
	upstream: ["unit/origin", "unit/gateway", "unit/session", "unit/client"],
};

function usage(text) {
	console.error(`mutants: ${text}\nusage: scripts/mutants.mjs [-n NUMBER] [-s SEED] [-b BASE] [PLACE...]`);
	process.exit(2);
}

function readArguments(words) {
	const chosen = { number: 20, seed: Date.now() % 1000000, base: "HEAD^", places: [] };
	while (words.length > 0) {
		const word = words.shift();
		if (word === "-n" || word === "-s") {
			const value = Number(words.shift());
			if (!Number.isInteger(value) || value < 0)
				usage(`${word} takes a number`);
			chosen[word === "-n" ? "number" : "seed"] = value;
		} else if (word === "-b") {
			chosen.base = words.shift() ?? usage("-b takes a revision");
		} else if (word.startsWith("-")) {
			usage(`unknown option ${word}`);
		} else {
			chosen.places.push(word);
		}
	}
	return chosen;
}

/** Numbers from 0 up to n, the same for a seed each time. */
function randomNumbers(seed) {
	let state = (seed ^ 0x9e3779b9) >>> 0;
	return (n) => {
		state = (state + 0x6d2b79f5) >>> 0;
		let t = Math.imul(state ^ (state >>> 15), state | 1);
		t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) % n;
	};
}

const git = (...words) => execFileSync("git", words, { cwd: ROOT, maxBuffer: 1 << 26 }).toString().split("\n").filter(Boolean);

// ---- where ----

const isSource = (path) => /^(proxy\/[a-z0-9_]+|policy)\/[a-z0-9_]+\.c$/.test(path) && existsSync(join(ROOT, path));

/** The places named: {file, line}, line 0 for a whole file. */
function filesOf({ places, base }) {
	if (places.length === 0)
		return git("diff", "--name-only", base, "--", "proxy", "policy").filter(isSource).map((file) => ({ file, line: 0 }));
	return places.flatMap((place) => {
		const [, path, line] = /^(.*?)\/?(?::(\d+))?$/.exec(place);
		if (isSource(path))
			return [{ file: path, line: Number(line ?? 0) }];
		if (!existsSync(join(ROOT, path)) || !statSync(join(ROOT, path)).isDirectory())
			usage(`${path} is neither a source below proxy/ or policy/ nor a folder`);
		return git("ls-files", "--", path).filter(isSource).map((file) => ({ file, line: 0 }));
	});
}

// ---- what ----

/** The source with a blank for each character that is no code: comments, strings, the preprocessor's lines. */
function codeOf(source) {
	const blank = (text) => text.replace(/[^\n]/g, " ");
	return source.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*/gm, blank);
}

/** Where the parenthesis that opens at `from` closes. */
function closing(code, from) {
	let depth = 0;
	for (let i = from; i < code.length; i++) {
		if (code[i] === "(")
			depth++;
		else if (code[i] === ")" && --depth === 0)
			return i;
	}
	return code.length;
}

/** Where the operand ends that begins at `from`, going on to the right. */
function operandEnd(code, from) {
	for (let i = from, depth = 0; i < code.length; i++) {
		if (/[([{]/.test(code[i]))
			depth++;
		else if (/[)\]}]/.test(code[i]) && --depth < 0)
			return i;
		else if (depth === 0 && (/[;,?:]/.test(code[i]) || /^(&&|\|\|)/.test(code.slice(i, i + 2))))
			return i;
	}
	return code.length;
}

/** The lines that are spared: each ensure(), and what an `uncovered` mark stands above or beside. */
function sparedLines(source, code) {
	const lines = new Set(), at = (index) => source.slice(0, index).split("\n").length;
	for (const { index, 0: text } of code.matchAll(/\b(ensure|static_assert|_Static_assert)\(/g))
		for (let line = at(index), last = at(closing(code, index + text.length - 1)); line <= last; line++)
			lines.add(line);
	for (const { index, 0: text } of source.matchAll(/\/\* uncovered[\s\S]*?\*\//g))
		lines.add(at(index)).add(at(index + text.length) + 1);
	return lines;
}

const FLIPPED = {
	"==": "!=", "!=": "==", "<=": "<", ">=": ">", "<": "<=", ">": ">=", "&&": "||", "||": "&&", "+=": "-=", "-=": "+=",
	"++": "--", "--": "++", "+": "-", "-": "+", true: "false", false: "true",
};
const DECLARES = /^(?:(?:const|static|struct|enum|union|unsigned|typedef|extern|void|bool|char|int|long|size_t|ssize_t|usec|u?int\d+_t|time_t)\b|[a-z_0-9]+ \*?[a-z_0-9]+( =|;|\[))/;

/** All changes of a source: {from, to, text}, in order of their places. */
function changesOf(source) {
	const code = codeOf(source), changes = [];
	const change = (from, to, text) => changes.push({ from, to, text });
	for (const { 0: operator, index } of code.matchAll(/(?<= )(==|!=|<=|>=|<|>|&&|\|\||\+=|-=|\+|-)(?=\s)|\+\+|--|\b(?:true|false)\b/g))
		change(index, index + operator.length, FLIPPED[operator]);
	for (const { index } of code.matchAll(/!(?=[a-z(])/g))
		change(index, index + 1, "");
	for (const { index, 0: word } of code.matchAll(/\b(?:if|while) \(/g)) {
		const open = index + word.length - 1, close = closing(code, open);
		change(open, close + 1, `(!${source.slice(open, close + 1)})`);
	}
	for (const { index } of code.matchAll(/ (?:&&|\|\|)\s/g))
		change(index, operandEnd(code, index + 4), "");
	// A statement on lines of its own, behind the end of another one or the head of a block.
	for (const { index, 1: before, 2: text } of code.matchAll(/([;{}):]\s*\n)([ \t]+[a-z_*(+-][^;{}]*;)(?=[ \t]*\n)/gi)) {
		const from = index + before.length, statement = text.trim();
		if (!DECLARES.test(statement) && !/^(return|goto|case|default|else|if|for|while|do|switch)\b/.test(statement))
			change(from + text.length - text.trimStart().length, from + text.length, ";");
	}
	changeRows(source, change);
	return changes.sort((a, b) => a.from - b.from || a.to - b.to);
}

/** Rows of tables: {…}, is dropped, and so is a name or a text in a list of them; what [A] = … has is swapped with what the next row has. */
function changeRows(source, change) {
	for (const { index, 0: list } of source.matchAll(/\] = \{(?:\s*(?:[A-Z][A-Z0-9_]*|"[^"\n]*"),?)+\s*\};/g))
		for (const item of list.matchAll(/([A-Z][A-Z0-9_]*|"[^"\n]*")(?:,|(?=\s*\}))/g))
			change(index + item.index, index + item.index + item[0].length, "");
	for (const { index, 1: space, 2: row } of source.matchAll(/^([ \t]+)(\{[^{}\n]*(?:\{[^{}\n]*\}[^{}\n]*)*\},)$/gm))
		change(index + space.length, index + space.length + row.length, "");
	const rows = [...source.matchAll(/^[ \t]+\[\w+\] = (.*),$/gm)];
	rows.forEach((row, i) => {
		const next = rows[i + 1];
		if (!next || next.index !== row.index + row[0].length + 1 || next[1] === row[1])
			return;
		const from = row.index + row[0].length - 1 - row[1].length, end = next.index + next[0].length - 1;
		const between = source.slice(from + row[1].length, end - next[1].length);
		change(from, end, next[1] + between + row[1]);
	});
}

/** The changes of a file that are neither spared nor elsewhere than on the line asked for. */
function candidates({ file, line }) {
	const source = readFileSync(join(ROOT, file), "utf8"), spared = sparedLines(source, codeOf(source));
	return changesOf(source)
		.map((change) => ({ ...change, file, source, line: source.slice(0, change.from).split("\n").length }))
		.filter((change) => !spared.has(change.line) && (line === 0 || change.line === line));
}

const mutated = ({ source, from, to, text }) => source.slice(0, from) + text + source.slice(to);

/** What a reader has to see: the lines before and after. */
function shown({ source, from, to, text }) {
	const begin = source.lastIndexOf("\n", from - 1) + 1, end = source.indexOf("\n", to);
	const lines = (all) => all.split("\n").map((line) => line.trim()).join(" ");
	return `    - ${lines(source.slice(begin, end))}\n    + ${lines(source.slice(begin, from) + text + source.slice(to, end))}`;
}

// ---- the copy ----

/** Makes the copy equal to the source; what has not changed keeps its time, so that it is not built again. */
function copyTree() {
	const wanted = new Set(git("ls-files", "-co", "--exclude-standard").filter((path) => existsSync(join(ROOT, path))));
	const walk = (folder) => !existsSync(join(TREE, folder)) ? [] : readdirSync(join(TREE, folder), { withFileTypes: true }).flatMap((entry) =>
		entry.isDirectory() ? (folder === "" && entry.name === "build" ? [] : walk(join(folder, entry.name))) : [join(folder, entry.name)]);
	for (const path of walk("").filter((path) => !wanted.has(path)))
		rmSync(join(TREE, path));
	for (const path of wanted) {
		const from = join(ROOT, path), to = join(TREE, path);
		if (existsSync(to) && readFileSync(from).equals(readFileSync(to)))
			continue;
		mkdirSync(dirname(to), { recursive: true });
		copyFileSync(from, to);
	}
}

const make = (...words) => execFileSync("make", ["--no-print-directory", "KIND=mutants", ...words],
	{ cwd: TREE, maxBuffer: 1 << 26, stdio: ["ignore", "pipe", "pipe"] }).toString();

/** The test programs of a file's folder and of those in ALSO. */
function programsOf(file) {
	const folder = basename(dirname(file)), folders = [`unit/${folder}`, ...(ALSO[folder] ?? [])];
	return folders.flatMap((tests) => {
		const here = join(TREE, "tests", tests);
		return !existsSync(here) ? [] : readdirSync(here).filter((test) => test.endsWith("_test.c"))
			.map((test) => `build/mutants/tests/${tests}/${test.slice(0, -2)}`);
	});
}

// ---- running ----

const WHAT_LOADS = 'ulimit -c 0; ulimit -t "$1"; exec "$0"', WHAT_MEASURES = 'ulimit -c 0; "$0"; status=$?; times >&3; exit $status';

/**
 * Runs a program in the copy, at most `limit` ({seconds, processor}, in seconds, both of them), or without `limit` to learn
 * how much it uses. Returns {status, seconds, processor}; status: what it exits with, "signal NAME", "too long", or "too
 * much" processor time. It may take no more memory than a machine has.
 */
function run(program, limit, stops = new Set()) {
	return new Promise((done) => {
		const begin = Date.now();
		const child = spawn("sh", ["-c", limit ? WHAT_LOADS : WHAT_MEASURES, program, limit ? String(limit.processor) : ""], {
			cwd: TREE, detached: true, stdio: ["ignore", "ignore", "ignore", "pipe"],
			env: { ...process.env, ASAN_OPTIONS: "detect_odr_violation=0:hard_rss_limit_mb=1500", CMOCKA_TEST_ABORT: "1" },
		});
		let late = false, times = "";
		child.stdio[3].on("data", (text) => { times += text; });
		const end = () => { try { process.kill(-child.pid, "SIGKILL"); } catch { /* it has ended */ } };
		const timer = setTimeout(() => { late = true; end(); }, (limit?.seconds ?? 600) * 1000);
		stops.add(end);
		child.on("close", (code, signal) => {
			clearTimeout(timer);
			stops.delete(end);
			const status = late ? "too long" : signal === "SIGXCPU" ? "too much" : code ?? `signal ${signal}`;
			const used = [...(times.split("\n")[1] ?? "").matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, m, s]) => sum + m * 60 + Number(s), 0);
			done({ status, seconds: (Date.now() - begin) / 1000, processor: used });
		});
	});
}

/** Calls work(item) for each item of a list, some at a time, which takes them out of it. Goes no further once work has returned true. */
async function each(items, work) {
	let ended = false;
	const worker = async () => {
		while (!ended && items.length > 0)
			ended = await work(items.shift()) || ended;
	};
	await Promise.all(Array.from({ length: availableParallelism() }, worker));
}

/** The first of the programs that fails twice, {program, status}, or null; `once` gets the names of those that failed once alone. */
async function firstFailure(programs, uses, once) {
	const waiting = [...programs];
	while (waiting.length > 0) {
		const stops = new Set();
		let failed = null;
		await each(waiting, async (program) => {
			const { status } = await run(program, uses.get(program).limit, stops);
			if (failed !== null)
				waiting.unshift(program); // it was stopped
			else if (status !== 0) {
				failed = { program, status };
				stops.forEach((stop) => stop());
			}
			return failed !== null;
		});
		// Processor time does not depend on what else the machine does.
		if (failed && (failed.status === "too much" || (await run(failed.program, uses.get(failed.program).limit)).status !== 0))
			return failed;
		if (failed)
			once.push(`${failed.program.replace("build/mutants/", "")} (${failed.status})`);
	}
	return null;
}

/** Builds one changed object and the library. False: the compiler refuses it. */
function build(change, commands) {
	writeFileSync(join(TREE, change.file), mutated(change));
	try {
		execFileSync("sh", ["-ec", commands], { cwd: TREE, stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
}

/** What builds a file's object and the library anew. */
const commandsOf = (file) => make("-n", "-W", file, "V=1", LIBRARY).split("\n").filter((line) => !line.startsWith(":")).join("\n");

// ---- all of it ----

const chosen = readArguments(process.argv.slice(2));
const places = filesOf(chosen), random = randomNumbers(chosen.seed);
if (places.length === 0) {
	console.log(`mutants: no source below proxy/ and policy/ differs from ${chosen.base}`);
	process.exit(0);
}
const all = places.flatMap(candidates);
const takesAll = places.every(({ line }) => line > 0);
console.log(`mutants: ${all.length} possible changes in ${places.length} places; seed ${chosen.seed}`);

copyTree();
const programs = [...new Set(places.flatMap(({ file }) => programsOf(file)))];
try {
	make(`-j${availableParallelism()}`, LIBRARY, ...programs);
} catch (error) {
	console.error(`mutants: the source as it stands cannot be built\n${error.stderr}`);
	process.exit(2);
}
// What each program uses as the source stands. Ten times as much processor time is noticed.
const uses = new Map();
await each([...programs], async (program) => {
	let used = await run(program);
	if (used.status !== 0)
		used = await run(program);
	if (used.status !== 0) {
		console.error(`mutants: ${program} fails as the source stands (status ${used.status})`);
		process.exit(2);
	}
	uses.set(program, { ...used, limit: { seconds: 60 + 4 * used.seconds, processor: Math.ceil(5 + 10 * used.processor) } });
});

/** The test programs of a file in the order in which they run: the nearest first, then those that noticed most for their time. */
function orderOf(file, noticed) {
	const isNear = (program) => basename(program).startsWith(basename(file, ".c"));
	const worth = (program) => (1 + 4 * (noticed.get(program) ?? 0)) / (0.3 + uses.get(program).seconds + uses.get(program).processor);
	return programsOf(file).sort((a, b) => isNear(b) - isNear(a) || worth(b) - worth(a));
}

const tally = { killed: 0, survived: 0 };
const noticed = new Map(); // program → how many changes it noticed
const commands = new Map();
while (all.length > 0 && (takesAll || tally.killed + tally.survived < chosen.number)) {
	const [change] = all.splice(takesAll ? 0 : random(all.length), 1);
	const { file } = change, object = join(TREE, `build/mutants/${file.slice(0, -2)}.o`);
	if (!commands.has(file))
		commands.set(file, commandsOf(file));
	copyFileSync(object, `${object}.kept`);
	if (build(change, commands.get(file))) {
		const once = [], failed = await firstFailure(orderOf(file, noticed), uses, once);
		if (failed) {
			noticed.set(failed.program, (noticed.get(failed.program) ?? 0) + 1);
			tally.killed++;
			console.log(`ok ${file}:${change.line} noticed by ${failed.program.replace("build/mutants/", "")} (${failed.status})`);
		} else {
			tally.survived++;
			console.log(`SURVIVED ${file}:${change.line}${once.length > 0 ? ` (failed once: ${once.join(", ")})` : ""}\n${shown(change)}`);
		}
	}
	writeFileSync(join(TREE, file), change.source);
	copyFileSync(`${object}.kept`, object);
	rmSync(`${object}.kept`);
}
rmSync(join(TREE, LIBRARY)); // it is that of the last change
console.log(`\n${tally.killed + tally.survived} changes, ${tally.survived} survived (seed ${chosen.seed})`);
process.exitCode = tally.survived > 0 ? 1 : 0;
