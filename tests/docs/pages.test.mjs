/* SPDX-License-Identifier: MIT */
/* Every command block of the pages that people paste from, run as it stands in the text; every option that they name. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT, workDir } from '../support/gate.mjs';
import { checkFragment, checkOption, optionsKnown, optionsNamed } from '../support/page_config.mjs';
import { readPage } from '../support/page_text.mjs';
import { runPage } from '../support/page_alone.mjs';

const MOVING = fs.readFileSync(path.join(ROOT, 'docs/MOVING.md'), 'utf8');
const FLEET = fs.readFileSync(path.join(ROOT, 'docs/FLEET.md'), 'utf8');
const PAGES = ['README.md', 'docs/RECIPES.md', 'docs/MOVING.md', 'docs/FLEET.md', 'docs/FORWARD.md'];

for (const page of PAGES) {
	test(page, async (t) => {
		const { results, skipped } = await runPage(path.join(ROOT, page));
		if (skipped)
			return t.skip(skipped);
		for (const { line, name, why, skipped: reason } of results)
			await t.test(`${page}:${line}: ${name}`, { skip: reason }, () => assert.ok(!why, `${page}:${line}: ${why}`));
	});
}

/* What a page above has in its blocks is checked there. */
test('configurations in the other documents are right', (t) => {
	const folder = workDir();
	t.after(() => fs.rmSync(folder, { recursive: true }));
	const documents = ['.', 'docs', 'docs/decisions'].flatMap((dir) => fs.readdirSync(path.join(ROOT, dir)).map((name) => path.join(dir, name)));
	const wrong = documents.filter((name) => name.endsWith('.md') && !PAGES.includes(name)).flatMap((name) => {
		const blocks = readPage(fs.readFileSync(path.join(ROOT, name), 'utf8')).sections.flatMap((section) => section.blocks);
		return blocks.filter((b) => b.language === 'ini' && b.kind !== 'not run')
			.map((b) => [`${name}:${b.line}`, checkFragment(b.lines.join('\n'), folder)]);
	}).filter(([, why]) => why);
	assert.deepEqual(wrong, []);
});

for (const [page, text, least] of [['docs/MOVING.md', MOVING, 50], ['docs/FLEET.md', FLEET, 40]]) {
	test(`${page} names options that are there, with values that they take`, (t) => {
		const folder = workDir();
		t.after(() => fs.rmSync(folder, { recursive: true }));
		const known = optionsKnown();
		const named = optionsNamed(text);
		assert.ok(named.length > least, `${named.length} options`);
		const unknown = named.filter(({ section, option }) => !known[section]?.has(option));
		assert.deepEqual(unknown.map(({ line, code }) => `${page}:${line}: ${code}`), []);
		const wrong = named.filter(({ value }) => value).map((o) => ({ ...o, why: checkOption(o, folder) })).filter(({ why }) => why);
		assert.deepEqual(wrong.map(({ line, code, why }) => `${page}:${line}: ${code}: ${why}`), []);
	});
}

test('docs/MOVING.md has every option of nghttpx', () => {
	const { stdout } = spawnSync('nghttpx', ['--help'], { encoding: 'utf8', env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` } });
	const options = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z0-9-]+)/gm)].map(([, name]) => name);
	assert.ok(options.length > 100, `${options.length} options`);
	assert.deepEqual(options.filter((name) => !new RegExp(`\`${name}[=\`]`).test(MOVING)), []);
});
