/* SPDX-License-Identifier: MIT */
/* What `check --json` prints, held against the lines of `check` and against the configuration that both are about. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { BINARY } from './gate.mjs';

const PREFIXES = { error: '', warning: 'warning: ', note: 'note: ' };
const MEMBERS = ['file', 'line', 'severity', 'section', 'section_name', 'option', 'message'];

let known;
/* The names of each section's options. */
export function optionsOf(section) {
	known ??= JSON.parse(execFileSync(BINARY, ['help-config', '--json'], { encoding: 'utf8' })).sections;
	const { options_of: rows } = known.find((s) => s.section === section) ?? {};
	return known.find((s) => s.section === rows)?.options.map((o) => o.name) ?? [];
}

/* The section that a line stands in, and the option of the line: as a reader of the file sees them. */
function subjectOf(text, number) {
	/* trim() would take more for blanks than the program does. */
	const lines = text.split('\n').map((line) => line.replace(/^[ \t\ufeff]+|[ \t\r]+$/g, ''));
	const header = lines.slice(0, number).findLast((line) => line.startsWith('['));
	const [, section, name] = header?.match(/^\[(\S+?)\s*(?:\s(\S+))?\]$/) ?? [];
	const [, key] = lines[number - 1]?.match(/^([a-z0-9-]+)[ \t]*[=:][^\0]*$/) ?? [];
	return { section, name: name ?? null, option: optionsOf(section).includes(key) ? key : undefined };
}

/*
 * stdout: of `check --json`; code: its exit status; lines: all that `check` prints on standard error. Returns the object.
 */
export function assertSameFindings(ini, stdout, code, lines) {
	const all = JSON.parse(stdout);
	assert.deepEqual(Object.keys(all), ['version', 'file', 'result', 'mistakes', 'warnings', 'notes', 'findings']);
	assert.equal(all.file, ini);
	assert.equal(all.result, code === 0 ? 'ok' : 'wrong');
	const printed = lines.split('\n').filter((line) => line && !line.startsWith(`${ini}: `));
	assert.deepEqual(all.findings.map((f) => `${f.file}:${f.line}: ${PREFIXES[f.severity]}${f.message}`), printed);
	for (const [count, severity] of [['mistakes', 'error'], ['warnings', 'warning'], ['notes', 'note']])
		assert.equal(all[count], all.findings.filter((f) => f.severity === severity).length, count);
	for (const finding of all.findings) {
		assert.deepEqual(Object.keys(finding), MEMBERS);
		if (finding.file !== ini || !fs.existsSync(ini))
			continue;
		const { section, name, option } = subjectOf(fs.readFileSync(ini, 'utf8'), finding.line);
		if (finding.section)
			assert.deepEqual([finding.section, finding.section_name], [section, name], JSON.stringify(finding));
		assert.equal(finding.option ?? undefined, option, JSON.stringify(finding));
	}
	return all;
}
