#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// Changes the program at random places, one at a time, and runs the tests that are near. A change that
// no test notices, a survivor, is a line that could be wrong without a test that fails.
//
//   usage: scripts/mutants.mjs [-n NUMBER] [-s SEED] [-b BASE] [-c] [PLACE...]
//
// PLACE: a folder, a file, or FILE:LINE for every change of that line. Without one: the files that
// differ from the revision BASE (HEAD^). -n: so many changes (20). -s: the seed, which is printed: the
// same source and seed make the same changes. -c: the first stage alone, the C tests; its survivors want
// a C test, or the second stage with their FILE:LINE. The exit status is 1 when there are survivors.
//
// A change is one of: a comparison flipped, a negation dropped or added, one side of && or || left out,
// a statement dropped, a row of a table dropped, or its value swapped with the next row's, true for
// false, + for -. Lines of ensure() are spared, and so are those that are marked `uncovered`. A change of which the
// compiler makes the same instructions as of the source is none: another one is drawn.
//
// The first stage are the C tests of the folder and of those in ALSO, the second one the wire tests in WIRE. A change is
// noticed when a test program fails with it twice, so that a slow machine notices nothing, or when a C test uses far
// more processor time than without it. All programs of both stages have passed before a change is called a survivor. A
// program ends at its first failed test.
//
// All happens in a copy of the source, build/mutants/tree. The library is a shared one there (KIND=mutants),
// so that a change costs one object and one link, and the test programs and the program stay as they are.
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const TREE = join(ROOT, "build/mutants/tree");
const LIBRARY = "build/mutants/libpushgate.so", PROGRAM = "build/mutants/pushgate";

// Which tests a folder has besides tests/unit/FOLDER.
const ALSO = {
	admin: ["unit/gateway", "unit/process"],
	admission: ["relay", "unit/gateway", "unit/client"],
	client: ["unit/gateway", "unit/session"],
	gateway: ["unit/session", "unit/upstream", "unit/origin", "unit/client", "unit/admission"],
	h1: ["unit/protocols", "unit/session", "unit/gateway", "unit/origin", "unit/upstream", "unit/client"],
	h2: ["pair", "unit/protocols", "unit/session", "unit/gateway", "unit/origin", "unit/upstream"],
	hold: ["relay", "unit/gateway", "unit/client"],
	hpack: ["unit/h2", "pair"],
	offer: ["unit/gateway", "unit/upstream", "unit/tool"],
	origin: ["unit/upstream", "unit/gateway", "unit/session", "unit/client"],
	peer: ["unit/route", "unit/client"],
	policy: ["unit/offer", "unit/route", "unit/gateway", "unit/tool"],
	relay: ["relay", "unit/gateway", "unit/origin", "unit/upstream", "unit/client", "unit/admission"],
	route: ["unit/offer", "unit/gateway", "unit/origin", "unit/upstream", "unit/tool"],
	protocols: ["unit/session", "unit/gateway"],
	session: ["unit/protocols", "unit/h1", "unit/h2", "unit/gateway"],
	upstream: ["unit/origin", "unit/gateway", "unit/session", "unit/client"],
	waterfall: ["unit/gateway"],
};

// Which wire tests concern a folder. Together they take about two minutes of processor time at most.
const WIRE = {
	admin: ["admin", "admin-metrics", "admin-pages", "status"],
	admission: ["request-limits", "users", "connect", "log", "http1-tunnels"],
	client: ["conformance-server-connection", "http1-client", "diary", "trace", "timeouts", "half-close", "log", "proxy-protocol"],
	gateway: ["log", "own-pushes", "hold", "routes", "request-limits", "users", "pac", "memory", "remembered", "hints", "connect",
		"outcome", "access", "http1-answers", "status", "order", "retries", "server-timing", "speculation"],
	h1: ["http1-client", "http1-origin", "http1-tunnels", "http1-conformance-client", "http1-conformance-origin",
		"http1-conformance-requests", "http1-conformance-responses", "http1-conformance-bodies", "http1-answers", "trace"],
	h2: ["flow", "bounds", "limits", "order", "conformance-client", "conformance-client-settings", "conformance-server-connection",
		"conformance-server-frames", "conformance-server-messages", "conformance-server-settings", "conformance-server-states",
		"promise-faults", "trace"],
	hold: ["hold", "own-pushes", "push-life", "log", "diary"],
	hpack: ["conformance-server-hpack", "conformance-client-settings", "bounds"],
	offer: ["own-pushes", "hints", "explain", "enable-push", "remembered", "files"],
	origin: ["retries", "http1-required", "http1-origin", "timeouts", "slow-uploads", "slow-peers", "upstream-proxy", "log",
		"enable-push", "long-targets", "promise-faults", "conformance-client", "no-internals"],
	peer: ["proxy-protocol", "client-address", "send-proxy"],
	policy: ["push-life", "own-pushes", "explain", "diary", "hints", "clients-misbehaving", "log"],
	relay: ["outcome", "hold", "push-life", "hints", "log", "timeouts", "silence", "retries", "connect", "conformance-tunnels",
		"promise-costs-itself", "slow-uploads", "long-parents"],
	report: ["report"],
	route: ["routes", "scheme", "client-address", "field-rules", "access", "conformance-client-gateway", "explain"],
	session: ["conformance-server-connection", "http1-client", "http1-tunnels", "conformance-tunnels", "timeouts", "trace"],
	speculation: ["speculation"],
	top: ["top"],
	upstream: ["retries", "upstream-proxy", "balance", "http1-required", "http1-origin", "timeouts", "slow-uploads", "slow-peers",
		"status", "log", "enable-push", "long-targets", "names", "forward-idle", "no-internals", "connect", "health"],
	waterfall: ["admin-pages"],
};

function usage(text) {
	console.error(`mutants: ${text}\nusage: scripts/mutants.mjs [-n NUMBER] [-s SEED] [-b BASE] [-c] [PLACE...]`);
	process.exit(2);
}

function readArguments(words) {
	const chosen = { number: 20, seed: Date.now() % 1000000, base: "HEAD^", onlyC: false, places: [] };
	while (words.length > 0) {
		const word = words.shift();
		if (word === "-n" || word === "-s") {
			const value = Number(words.shift());
			if (!Number.isInteger(value) || value < 0)
				usage(`${word} takes a number`);
			chosen[word === "-n" ? "number" : "seed"] = value;
		} else if (word === "-b") {
			chosen.base = words.shift() ?? usage("-b takes a revision");
		} else if (word === "-c") {
			chosen.onlyC = true;
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

const linesIn = (text) => text.split("\n").length - 1;

/** The changed source. All lines keep their numbers, which ensure() puts into the program. */
function mutated({ source, from, to, text }) {
	const lost = linesIn(source.slice(from, to)) - linesIn(text);
	return source.slice(0, from) + text + "\n".repeat(lost) + source.slice(to);
}

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

/** The wire tests of a file's folder. */
const wireTestsOf = (file) => (WIRE[basename(dirname(file))] ?? []).map((name) => `tests/wire/${name}.test.mjs`);
const isWireTest = (program) => program.endsWith(".mjs");

// ---- running ----

// What is known of a test program: {noticed, seconds, processor, passes}. noticed: so many changes; seconds, processor: what
// it used when it passed; passes: whether it does with the source as it stands, undefined until it was tried.
const known = new Map();
const knownOf = (program) => known.get(program) ?? known.set(program, { noticed: 0 }).get(program);

/** What a program may use: ten times the processor time with which it passed, and much of either if it never has. */
function limitOf(program) {
	const { seconds, processor } = knownOf(program);
	if (isWireTest(program) || seconds === undefined)
		return { seconds: 600, processor: 60 };
	return { seconds: 60 + 4 * seconds, processor: Math.ceil(5 + 10 * processor) };
}

const STATUS_OF_SIGNAL = 128, SIGXCPU = 24;
// If the memory of the machine is used up, this is what has to end.
const COMMAND = 'ulimit -c 0; ulimit -t "$1"; echo 1000 >/proc/self/oom_score_adj; $2 "$0"; status=$?; times >&3; exit $status';
const environmentOf = (program) => ({
	...process.env, CMOCKA_TEST_ABORT: "1", PUSHGATE: join(TREE, PROGRAM),
	// The sandbox of the program takes no thread that watches its memory.
	ASAN_OPTIONS: `detect_odr_violation=0${isWireTest(program) ? "" : ":hard_rss_limit_mb=1500"}`,
});

/**
 * Runs a program in the copy within limitOf. Returns its status: 0 (it passed), what it exits with, "signal N", "too long",
 * "too much" processor time, or "not ok", with which a wire test is ended at once.
 */
function run(program, stops = new Set()) {
	return new Promise((done) => {
		const begin = Date.now(), limit = limitOf(program);
		const words = isWireTest(program) ? "node --test-reporter=tap" : "";
		const child = spawn("sh", ["-c", COMMAND, program, String(limit.processor), words],
			{ cwd: TREE, detached: true, stdio: ["ignore", words ? "pipe" : "ignore", "ignore", "pipe"], env: environmentOf(program) });
		let ended = null, times = "";
		const end = (why) => {
			ended ??= why;
			try { process.kill(-child.pid, "SIGKILL"); } catch { /* it has ended */ }
		};
		const stop = () => end("stopped"), timer = setTimeout(() => end("too long"), limit.seconds * 1000);
		child.stdio[3].on("data", (text) => { times += text; });
		child.stdout?.setEncoding("utf8").on("data", (text) => { if (/^ *not ok/m.test(text)) end("not ok"); });
		stops.add(stop);
		child.on("close", (code) => {
			clearTimeout(timer);
			stops.delete(stop);
			const status = ended ?? (code === STATUS_OF_SIGNAL + SIGXCPU ? "too much" : code > STATUS_OF_SIGNAL ? `signal ${code - STATUS_OF_SIGNAL}` : code);
			if (status === 0)
				noteUse(program, (Date.now() - begin) / 1000, times);
			done(status);
		});
	});
}

/** times: the shell's, of its children in the second line. The largest use that was seen counts. */
function noteUse(program, seconds, times) {
	const processor = [...(times.split("\n")[1] ?? "").matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, m, s]) => sum + m * 60 + Number(s), 0);
	const use = knownOf(program);
	use.seconds = Math.max(use.seconds ?? 0, seconds);
	use.processor = Math.max(use.processor ?? 0, processor);
}

/** Calls work(item) for each item of a list, so many at a time, which takes them out of it. Goes no further once work has returned true. */
async function each(items, number, work) {
	let ended = false;
	const worker = async () => {
		while (!ended && items.length > 0)
			ended = await work(items.shift()) || ended;
	};
	await Promise.all(Array.from({ length: number }, worker));
}

// Wire tests wait most of the time.
const numberAtOnce = (programs) => availableParallelism() * (programs.every(isWireTest) ? 3 : 1);
const nameOf = (program) => program.replace("build/mutants/", "");

/** The first of the programs that fails twice, {program, status}, or null; `once` gets the names of those that failed once alone. */
async function firstFailure(programs, once) {
	const waiting = [...programs];
	while (waiting.length > 0) {
		const stops = new Set();
		let failed = null;
		await each(waiting, numberAtOnce(waiting), async (program) => {
			const status = await run(program, stops);
			if (failed !== null)
				waiting.unshift(program); // it was stopped
			else if (status !== 0) {
				failed = { program, status };
				stops.forEach((stop) => stop());
			}
			return failed !== null;
		});
		// Processor time does not depend on what else the machine does.
		if (failed && (failed.status === "too much" || await run(failed.program) !== 0))
			return failed;
		if (failed)
			once.push(`${nameOf(failed.program)} (${failed.status})`);
	}
	return null;
}

/** What one shell command prints in the copy, or null when it fails. */
function printed(command) {
	try {
		return execFileSync("sh", ["-ec", command], { cwd: TREE, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] }).toString();
	} catch {
		return null;
	}
}

/**
 * How a file is built: `all` builds its object and the library anew, `text` prints the instructions that the release
 * has of it, and `instructions` are those of the source as it stands.
 */
function recipeOf(file) {
	const commands = make("-n", "-W", file, "V=1", LIBRARY).split("\n").filter((line) => !line.startsWith(":"));
	const object = ` -MMD -MP -c -o build/mutants/${file.slice(0, -2)}.o `;
	const text = commands.find((line) => line.includes(object)).replace(object, " -w -O2 -g0 -fno-sanitize=all -S -o - ");
	return { all: commands.join("\n"), text, instructions: printed(text) };
}

/** Builds one changed object and the library. False: it is no change, because the compiler refuses it or makes the same of it. */
function build(change, recipe) {
	writeFileSync(join(TREE, change.file), mutated(change));
	const instructions = printed(recipe.text);
	return instructions !== null && instructions !== recipe.instructions && printed(recipe.all) !== null;
}

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
try {
	make(`-j${availableParallelism()}`, LIBRARY, PROGRAM, ...new Set(places.flatMap(({ file }) => programsOf(file))));
} catch (error) {
	console.error(`mutants: the source as it stands cannot be built\n${error.stderr}`);
	process.exit(2);
}

/** Programs in the order in which they run: the nearest to the file first, then those that noticed most for their time. */
function ordered(programs, file) {
	const isNear = (program) => basename(program).startsWith(basename(file, ".c"));
	const worth = (program) => {
		const { noticed, seconds = 1, processor = 1 } = knownOf(program);
		return (1 + 4 * noticed) / (0.3 + seconds + processor);
	};
	return programs.filter((program) => knownOf(program).passes !== false).sort((a, b) => isNear(b) - isNear(a) || worth(b) - worth(a));
}

/** Puts back what a change has changed: the file and its object, which was kept. */
function undo(change, object) {
	writeFileSync(join(TREE, change.file), change.source);
	copyFileSync(`${object}.kept`, object);
}

/** Whether a program passes with the source as it stands, tried once. The library stays that of the change if it does not. */
async function passesUnchanged(program, change, object) {
	const about = knownOf(program);
	if (about.passes !== undefined)
		return about.passes;
	copyFileSync(join(TREE, LIBRARY), join(TREE, `${LIBRARY}.changed`));
	undo(change, object);
	make("-W", object.slice(TREE.length + 1), LIBRARY);
	about.passes = await run(program) === 0 || await run(program) === 0;
	if (!about.passes) {
		copyFileSync(join(TREE, `${LIBRARY}.changed`), join(TREE, LIBRARY));
		console.log(`# ${nameOf(program)} fails as the source stands, and is left out`);
	}
	return about.passes;
}

/** What notices a change that has been built, {program, status}, or null: first the C tests, then the wire tests. */
async function whatNotices(change, object, once) {
	for (const stage of [programsOf(change.file), chosen.onlyC ? [] : wireTestsOf(change.file)]) {
		for (;;) {
			const failed = await firstFailure(ordered(stage, change.file), once);
			if (failed && await passesUnchanged(failed.program, change, object))
				return failed;
			if (!failed)
				break;
		}
	}
	return null;
}

const tally = { killed: 0, survived: 0, same: 0 }, recipes = new Map();
while (all.length > 0 && (takesAll || tally.killed + tally.survived < chosen.number)) {
	const [change] = all.splice(takesAll ? 0 : random(all.length), 1);
	const { file } = change, object = join(TREE, `build/mutants/${file.slice(0, -2)}.o`);
	if (!recipes.has(file))
		recipes.set(file, recipeOf(file));
	copyFileSync(object, `${object}.kept`);
	if (build(change, recipes.get(file))) {
		const once = [], failed = await whatNotices(change, object, once);
		if (failed) {
			knownOf(failed.program).noticed++;
			tally.killed++;
			console.log(`ok ${file}:${change.line} noticed by ${nameOf(failed.program)} (${failed.status})`);
		} else {
			tally.survived++;
			console.log(`SURVIVED ${file}:${change.line}${once.length > 0 ? ` (failed once: ${once.join(", ")})` : ""}\n${shown(change)}`);
		}
	} else {
		tally.same++;
		if (takesAll)
			console.log(`same ${file}:${change.line}\n${shown(change)}`);
	}
	undo(change, object);
	rmSync(`${object}.kept`);
}
rmSync(join(TREE, LIBRARY)); // it is that of the last change
console.log(`\n${tally.killed + tally.survived} changes, ${tally.survived} survived; ${tally.same} more make no other instructions, or cannot be compiled (seed ${chosen.seed})`);
process.exitCode = tally.survived > 0 ? 1 : 0;
