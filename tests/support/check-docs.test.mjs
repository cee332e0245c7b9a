/* SPDX-License-Identifier: MIT */
/* scripts/check-docs: which lines of a document are mistakes, and which may be long. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const SCRIPT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../scripts/check-docs');
const LONG = 'word '.repeat(21).trim(); /* 104 columns */

/* What the script says of a document: its lines without the file's name. */
function check(t, ...lines) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'pushgate-docs-'));
	t.after(() => fs.rmSync(dir, { recursive: true }));
	const file = path.join(dir, 'page.md');
	fs.writeFileSync(file, `${lines.join('\n')}\n`);
	const { status, stdout, stderr } = spawnSync(SCRIPT, [file], { encoding: 'utf8' });
	assert.equal(stderr, '');
	const said = stdout.split('\n').filter(Boolean).map((line) => line.replace(`${file}:`, ''));
	assert.equal(status === 0, said.length === 0, stdout);
	return said;
}

test('prose of more than 100 columns is a mistake, with its line', (t) => {
	assert.deepEqual(check(t, '# Title', '', LONG, `- ${LONG}`), [
		'3: 104 columns; break the line before column 101', '4: 106 columns; break the line before column 101',
	]);
});

test('a hundred columns are fine, and a character is one column however many bytes it has', (t) => {
	assert.deepEqual(check(t, 'x'.repeat(99) + '…', '… '.repeat(50).trim()), []);
});

test('tables, code and links on a line of their own may be longer', (t) => {
	assert.deepEqual(check(t, `| ${LONG} | ${LONG} |`, '', '```sh', LONG, '```', '', `    ${LONG}`, `    ${LONG}`, '',
		`- [${LONG}](https://example.com/)`, `<https://example.com/${'a'.repeat(100)}>`), []);
});

test('prose behind a block of code is prose again', (t) => {
	assert.deepEqual(check(t, '```', '```', LONG), ['3: 104 columns; break the line before column 101']);
	assert.deepEqual(check(t, '', '    code', '', LONG), ['4: 104 columns; break the line before column 101']);
});

test('an indented line of a paragraph is no code', (t) => {
	assert.equal(check(t, '- item', `    ${LONG}`).length, 1);
});

test('a file that is not there is a mistake, in prose and in tables', (t) => {
	assert.deepEqual(check(t, 'See `relay/push.c`, `proxy/relay/push.c`, `relay/gone.c`.', '| `tests/gone.mjs` |'), [
		'1: relay/gone.c is not there; name the file as it is called now',
		'2: tests/gone.mjs is not there; name the file as it is called now',
	]);
});

test('the documents have no mistake', () => {
	assert.equal(spawnSync(SCRIPT, { encoding: 'utf8' }).stdout, '');
});
