/* SPDX-License-Identifier: MIT */
/*
 * The command line keeps conventions: each command and each of its options, as the help lists them, is tried with
 * what users get wrong. Help goes to standard output with status 0, complaints to standard error with status 2.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { BINARY, ROOT, workDir } from '../support/gate.mjs';

const run = (...args) => spawnSync(BINARY, args, { encoding: 'utf8', timeout: 20000 });
const HELP = run('help').stdout;
const COMMANDS = [...HELP.matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, name]) => name);
/* A value that each option and operand accepts, by what the help calls it. */
const VALUES = {
	FILE: '/nowhere/file', SOCKET: '/nowhere/socket', N: '1', SECONDS: '1', MILLISECONDS: '1', 'ADDRESS[/BITS]': '192.0.2.1', URL: 'http://a.test/',
	"'N: VALUE'": 'a: b', METHOD: 'PUT', DATA: 'x', 'HOST:PORT': 'a.test:80', CLIENT: 'push', NAME: 'front', "'[METHOD ]URL'": '/a', CODE: '200',
	SECTION: 'server', COMMAND: 'run', SHELL: 'bash', USER: 'nobody',
	'ORIGIN URL ORDER': ['shop', 'http://192.0.2.1', 'drain'], 'LOG ...': '/nowhere/log',
};
const MAY_BE_EMPTY = ['--data'];

/* The rows of a command as its help shows them. */
function table(command) {
	const text = run(command, '--help').stdout;
	const options = [...text.matchAll(/^ {2}(?:(-\w), |    )(--[a-z0-9.-]+)(?: ('[^']*'|\S+))?(?:$| {2,})/gm)]
		.map(([, letter, name, value]) => ({ letter, name, value })).filter(({ name }) => name !== '--help');
	const [, operand] = text.match(/^ {2}([A-Z][A-Z[\]/]*(?: [A-Z]+)*(?: \.{3})?)(?:$| {2,})/m) ?? [];
	const synopsis = text.split('\n')[0];
	return { text, options, operand, synopsis, isRequired: !!operand && !synopsis.includes(`[${operand}`) };
}

function complains(args, pattern) {
	const { status, stdout, stderr, signal } = run(...args);
	const what = `pushgate ${args.join(' ')}: ${stderr}`;
	assert.equal(signal, null, what);
	assert.equal(status, 2, what);
	assert.equal(stdout, '', what);
	const [first, usage, see] = stderr.split('\n');
	assert.ok(first.startsWith(`pushgate ${args[0]}: `), what);
	assert.match(first, pattern, what);
	assert.ok(usage.startsWith(`usage: pushgate ${args[0]}`), what);
	assert.equal(see, `See \`pushgate ${args[0]} --help\`.`, what);
}

const wordsOf = (text) => text.replace(/\s+/g, ' ');
const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

test('the help names commands, and statuses that are the same for all', () => {
	assert.deepEqual(COMMANDS, ['run', 'check', 'help-config', 'reload', 'server', 'status', 'top', 'trace', 'upgrade', 'fetch', 'explain', 'ech-key', 'report', 'version', 'completion', 'help']);
	for (const args of [['help'], ['--help'], ['-h']]) {
		const r = run(...args);
		assert.deepEqual([r.status, r.stderr, r.stdout], [0, '', HELP], args.join());
	}
	assert.match(HELP, /\nExit status: 0 success, 1 it failed, 2 wrong arguments or a wrong configuration\.\n/);
	for (const args of [['version'], ['--version'], ['-V']]) {
		const r = run(...args);
		assert.deepEqual([r.status, r.stderr], [0, '']);
		assert.match(r.stdout, /^pushgate \d+\.\d+/);
	}
});

test('no command, and a wrong one', () => {
	const none = run();
	assert.deepEqual([none.status, none.stdout, none.stderr], [2, '', HELP]);
	for (const [word, near] of [['chekc', 'check'], ['explian', 'explain'], ['stat', 'status'], ['frobnicate', null], ['-x', null], ['', null], ['manuel', null]]) {
		const r = run(word);
		assert.deepEqual([r.status, r.stdout], [2, ''], word);
		assert.equal(r.stderr, `pushgate: there is no command '${word}'${near ? `; did you mean '${near}'?` : ''}\nSee \`pushgate help\`.\n`);
	}
});

for (const command of COMMANDS) {
	const { text, options, operand, synopsis, isRequired } = table(command);
	const need = isRequired ? [VALUES[operand]].flat() : [];

	test(`${command}: three ways to its help`, () => {
		for (const args of [[command, '--help'], [command, '-h'], ['help', command]]) {
			const r = run(...args);
			assert.deepEqual([r.status, r.stderr, r.stdout], [0, '', text], args.join(' '));
		}
		assert.ok(synopsis.startsWith(`usage: pushgate ${command}`), synopsis);
		assert.match(text, /\n {2}-h, --help +print this\n/);
		assert.ok(wordsOf(text).includes('Exit status: 0 success, 1 it failed, 2 wrong arguments or a wrong configuration.'));
		for (const line of text.split('\n'))
			assert.ok([...line].length <= 80, `${line} is not wider than 80 columns`);
		/* Anywhere before a mistake, too. */
		assert.equal(run(command, ...need, '--help', '--no-such').stdout, text);
	});

	test(`${command}: unknown options`, () => {
		complains([command, '--no-such-option'], /: unknown option --no-such-option$/);
		complains([command, '--zzz=value'], /: unknown option --zzz$/);
		complains([command, '-Z'], /: unknown option -Z$/);
		complains([command, ...need, '-Z'], /: unknown option -Z$/);
		for (const { name } of options.filter((o) => o.name.length > 5))
			complains([command, name.slice(0, -2) + name.at(-1)], new RegExp(`: unknown option .*; did you mean ${name}\\?$`));
	});

	test(`${command}: options without their value, with one too many, empty, and twice`, () => {
		for (const { letter, name, value } of options) {
			for (const spelled of [name, letter].filter(Boolean)) {
				if (!value)
					continue;
				complains([command, spelled], new RegExp(`: a value is missing after ${spelled}: ${literal(value)}$`));
				if (!MAY_BE_EMPTY.includes(name))
					complains([command, spelled, ''], new RegExp(`: ${spelled} is empty$`));
			}
			if (!value)
				complains([command, `${name}=x`], new RegExp(`: ${name} takes no value$`));
			if (wordsOf(text).match(new RegExp(`${name}(?: ('[^']*'|\\S+))? [^-]*[Mm]ay be (repeated|given)`)))
				continue;
			assert.ok(!value || VALUES[value], `the test knows a ${value}`);
			const first = value ? [name, VALUES[value]] : [name];
			complains([command, ...first, ...first], new RegExp(`: ${name} was given twice$`));
			if (letter)
				complains([command, value ? `${name}=${VALUES[value]}` : name, value ? `${letter}${VALUES[value]}` : letter], new RegExp(`: ${letter} was given twice$`));
		}
	});

	test(`${command}: arguments that are missing, empty, or too many`, () => {
		if (isRequired)
			complains([command], new RegExp(`: an argument is missing: ${literal(operand)}`));
		if (operand)
			complains([command, ''], new RegExp(`: ${literal(operand)} is empty$`));
		if (operand?.endsWith(' ...')) /* it takes any number */
			return;
		complains([command, ...(operand ? [VALUES[operand]].flat() : []), 'surplus'], /: unexpected argument 'surplus'$/);
		complains([command, ...(operand ? [VALUES[operand]].flat() : []), '--', '--surplus'], /: unexpected argument '--surplus'$/);
	});
}

test('arguments that contradict each other', () => {
	complains(['status', '-c', 'file', 'socket'], /: give SOCKET or --config, not both$/);
	complains(['status', 'socket', '--config=file'], /: give SOCKET or --config, not both$/);
	complains(['explain', 'http://a.test/', '--log', 'file'], /: give URL or --log, not both$/);
	complains(['explain', '--client', 'chrome', '--client', 'curl', 'http://a.test/'], /: --client 'curl': the client's kind was given before$/);
	complains(['explain', '--client', '192.0.2.1', '--client', 'unix', 'http://a.test/'], /: --client 'unix': the client's address was given before$/);
	complains(['explain'], /: an argument is missing: URL or --log$/);
});

test('values that are none', () => {
	for (const seconds of ['0', '3601', '-1', '1s', '1.5', '99999999999999999999'])
		complains(['trace', '192.0.2.1', '--seconds', seconds], new RegExp(`: --seconds '${literal(seconds)}': write 1 to 3600$`));
	for (const address of ['a.test', '192.0.2', '192.0.2.1/33', '::1/129', '192.0.2.1/'])
		complains(['trace', address], new RegExp(`: ADDRESS\\[/BITS\\] '${literal(address)}': `));
	for (const time of ['soon', '0', '-1', 'nan', 'inf', '1e7', '1s'])
		complains(['fetch', 'http://a.test/', '--max-time', time], /: write seconds, more than 0 and at most 1000000$/);
	for (const url of ['a.test', 'ftp://a.test/', 'http://', 'http://a.test:99999/', 'http://a b/'])
		complains(['fetch', url], new RegExp(`: URL '${literal(url)}': the URL`));
	complains(['fetch', '-d', '@/nowhere/file', 'http://a.test/'], /: -d '@\/nowhere\/file': No such file or directory$/);
	complains(['fetch', '-H', 'no colon', 'http://a.test/'], /: write a field as 'Name: value'$/);
	complains(['fetch', '--connect', 'a.test', 'http://a.test/'], /: write HOST:PORT$/);
	for (const status of ['99', '102', '600', 'ok'])
		complains(['explain', '--status', status, 'http://a.test/'], /: write 103 to 599$/);
	for (const rtt of ['0', '-1', 'far', '1e7'])
		complains(['explain', '--rtt', rtt, 'http://a.test/'], /: write milliseconds, more than 0 and at most 1000000$/);
	complains(['explain', '--client', 'ie6', 'http://a.test/'], /: write an address, unix, push, chrome, curl or h1$/);
	complains(['help-config', 'listn'], /: SECTION: there is no 'listn'; did you mean 'listen'\?$/);
	complains(['help-config', '--json', 'example'], /: the example is a file; leave out --json$/);
	complains(['help-config', 'nothing'], /: SECTION: there is no 'nothing', only server, listen, .*example$/);
	complains(['help', 'fetchh'], /: COMMAND: there is no 'fetchh'; did you mean 'fetch'\?$/);
	complains(['completion', 'tcsh'], /: SHELL: there is no 'tcsh', only bash, zsh, fish$|did you mean 'zsh'/);
});

test('flags may be joined, a value may follow its letter, and options the operand', (t) => {
	const dir = workDir();
	t.after(() => fs.rmSync(dir, { recursive: true }));
	const file = path.join(dir, 'p.ini');
	fs.writeFileSync(file, '[listen a]\naddress = 127.0.0.1:1\n[origin o]\nserver = demo:\n[route r]\norigin = o\n');
	for (const args of [['-c', file], [`-c${file}`], ['--config', file], [`--config=${file}`], ['--config', file, '--']])
		assert.deepEqual([run('check', ...args).status, run('check', ...args).stdout], [0, `${file}: ok\n`], args.join(' '));
	complains(['fetch', 'http://a.test/', '-kZ'], /: unknown option -kZ$/);
	complains(['fetch', 'http://a.test/', '-kk'], /: -k was given twice$/);
	const explained = run('explain', 'http://a.test/', '-c', file);
	assert.equal(explained.status, 0, explained.stderr);
});

/* All paths of members in a value: "findings[].line". */
function membersOf(value, at = '') {
	if (Array.isArray(value))
		return [...new Set(value.flatMap((item) => membersOf(item, `${at}[]`)))];
	if (value === null || typeof value !== 'object')
		return [];
	return Object.entries(value).flatMap(([key, item]) => [`${at}.${key}`, ...membersOf(item, `${at}.${key}`)]);
}

test('docs/CHECK.md shows what check --json and help-config --json print', (t) => {
	const dir = workDir();
	t.after(() => fs.rmSync(dir, { recursive: true }));
	const page = fs.readFileSync(path.join(ROOT, 'docs/CHECK.md'), 'utf8');
	const [checked, table] = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => JSON.parse(text));
	fs.writeFileSync(path.join(dir, 'pushgate.ini'), '[listen front]\naddress = 127.0.0.1:1\nmax-connections = many\n[origin o]\nserver = demo:\n[route r]\norigin = o\n');
	const r = spawnSync(BINARY, ['check', '--json', '-c', 'pushgate.ini'], { cwd: dir, encoding: 'utf8' });
	const help = JSON.parse(run('help-config', '--json').stdout);
	assert.deepEqual([r.status, r.stderr, JSON.parse(r.stdout)], [2, '', { ...checked, version: help.version }]);
	assert.match(run('version').stdout, new RegExp(`^pushgate ${literal(help.version)}\n`));
	assert.deepEqual(membersOf(help), membersOf(table));
	const [server] = help.sections;
	const [shown] = table.sections[0].options;
	assert.deepEqual({ ...table.sections[0], options: [] }, { ...server, options: [] });
	assert.deepEqual(server.options.find((o) => o.name === shown.name), shown);
	for (const type of new Set(help.sections.flatMap((s) => s.options.map((o) => o.type))))
		assert.ok(page.includes(`\`${type}\``), type);
	/* A section alone is as it is in the whole. */
	for (const section of help.sections)
		assert.deepEqual(JSON.parse(run('help-config', '--json', section.section).stdout).sections, [section]);
});

test('help-config --json has each option that help-config has', () => {
	const { sections } = JSON.parse(run('help-config', '--json').stdout);
	let section;
	const listed = run('help-config').stdout.split('\n').flatMap((line) => {
		section = /^\[(\S+?)( NAME)?\]$/.exec(line)?.[1] ?? section;
		const option = /^ {2}([a-z0-9-]+)$/.exec(line)?.[1];
		return option ? [`${section} ${option}`] : [];
	});
	assert.ok(listed.length > 200, `${listed.length} options`);
	assert.deepEqual(sections.flatMap((s) => s.options.map((o) => `${s.section} ${o.name}`)), listed);
});

test('output that is lost is a failure; a reader that has gone is none', () => {
	const sh = (script) => spawnSync('bash', ['-c', script, 'bash', BINARY], { encoding: 'utf8' });
	for (const args of ['help', 'help-config', 'help-config --json', 'run --help', 'version', 'completion bash']) {
		const r = sh(`"$1" ${args} > /dev/full`);
		assert.equal(r.status, 1, `${args}: ${r.stderr}`);
		assert.match(r.stderr, /^pushgate [a-z-]+: cannot write the output: No space left on device\n$/);
		const gone = sh(`"$1" ${args} | true`);
		assert.deepEqual([gone.status, gone.stderr], [0, ''], args);
		/* Where SIGPIPE is ignored, as below some servers. */
		const ignored = sh(`trap "" PIPE; "$1" help-config | head -n 1 > /dev/null; echo "\${PIPESTATUS[0]}"`);
		assert.match(ignored.stdout, /^[01]\n$/);
		assert.equal(ignored.stderr, '');
	}
});

/* ---- completion ---- */

/* What bash offers for the last of these words. */
function offered(script, ...words) {
	const asked = `source "$1"; shift
COMP_WORDS=(pushgate "$@"); COMP_CWORD=$#; COMP_LINE="\${COMP_WORDS[*]}"; COMP_POINT=\${#COMP_LINE}
name=$(complete -p pushgate | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
"$name" pushgate "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD-1]}"
for reply in "\${COMPREPLY[@]}"; do echo "$reply"; done`;
	const r = spawnSync('bash', ['--norc', '--noprofile', '-c', asked, 'bash', script, ...words], { encoding: 'utf8' });
	assert.equal(r.stderr, '');
	return r.stdout.split('\n').filter(Boolean);
}

test('bash completes commands, options and values', (t) => {
	const dir = workDir();
	t.after(() => fs.rmSync(dir, { recursive: true }));
	const script = path.join(dir, 'bash');
	fs.writeFileSync(script, run('completion', 'bash').stdout);
	fs.writeFileSync(path.join(dir, 'one file.ini'), '');
	assert.deepEqual(offered(script, '').sort(), [...COMMANDS, '--help', '--version'].sort());
	assert.deepEqual(offered(script, 'he').sort(), ['help', 'help-config']);
	for (const command of COMMANDS) {
		const { options } = table(command);
		assert.deepEqual(offered(script, command, '--').sort(), [...options.map((o) => o.name), '--help'].sort(), command);
	}
	assert.deepEqual(offered(script, 'help-config', 'l'), ['listen']);
	assert.deepEqual(offered(script, 'help', 'ex'), ['explain']);
	assert.deepEqual(offered(script, 'completion', ''), ['bash', 'zsh', 'fish']);
	assert.deepEqual(offered(script, 'explain', '--client', 'c'), ['chrome', 'curl']);
	assert.deepEqual(offered(script, 'explain', '--client', '=', 'c'), ['chrome', 'curl']);
	for (const words of [['check', '-c'], ['check', '--config'], ['check', '--config', '='], ['status']])
		assert.deepEqual(offered(script, ...words, path.join(dir, 'one')), [path.join(dir, 'one file.ini')], words.join(' '));
	assert.deepEqual(offered(script, 'fetch', '--max-time', ''), []);
});

for (const shell of ['bash', 'zsh', 'fish']) {
	const isThere = spawnSync(shell, ['-c', 'true']).status === 0;
	test(`the script for ${shell} is one, and names each command and option`, { skip: isThere ? false : `${shell} is not here` }, (t) => {
		const dir = workDir();
		t.after(() => fs.rmSync(dir, { recursive: true }));
		const script = path.join(dir, 'script');
		const { stdout, status } = run('completion', shell);
		assert.equal(status, 0);
		fs.writeFileSync(script, stdout);
		const checked = spawnSync(shell, ['-n', script], { encoding: 'utf8' });
		assert.deepEqual([checked.status, checked.stdout, checked.stderr], [0, '', '']);
	});
	test(`the script for ${shell} has what the help has`, () => {
		const { stdout } = run('completion', shell);
		for (const command of COMMANDS) {
			assert.ok(stdout.includes(command), command);
			for (const { name } of table(command).options)
				assert.ok(stdout.includes(shell === 'fish' ? ` -l ${name.slice(2)} ` : name), `${command} ${name}`);
		}
		assert.ok(!stdout.includes('manual'), 'what is hidden is not offered');
	});
}
