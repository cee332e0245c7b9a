/* SPDX-License-Identifier: MIT */
/* Every command block of the pages that people paste from, run as it stands in the text; every option that they name. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../support/gate.mjs';
import { checkOption, optionsKnown, optionsNamed } from '../support/page_config.mjs';
import { runPage } from '../support/pages.mjs';

const MOVING = fs.readFileSync(path.join(ROOT, 'docs/MOVING.md'), 'utf8');
const PAGES = ['README.md', 'docs/RECIPES.md', 'docs/MOVING.md'];

for (const page of PAGES) {
	test(page, async (t) => {
		const { results, skipped } = await runPage(path.join(ROOT, page));
		if (skipped)
			return t.skip(skipped);
		for (const { line, name, why, skipped: reason } of results)
			await t.test(`${page}:${line}: ${name}`, { skip: reason }, () => assert.ok(!why, `${page}:${line}: ${why}`));
	});
}

test('docs/MOVING.md names options that are there, with values that they take', async (t) => {
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pushgate-options-'));
	t.after(() => fs.rmSync(folder, { recursive: true }));
	const known = optionsKnown();
	const named = optionsNamed(MOVING);
	assert.ok(named.length > 50, `${named.length} options`);
	const unknown = named.filter(({ section, option }) => !known[section]?.has(option));
	assert.deepEqual(unknown.map(({ line, code }) => `docs/MOVING.md:${line}: ${code}`), []);
	const wrong = named.filter(({ value }) => value).map((o) => ({ ...o, why: checkOption(o, folder) })).filter(({ why }) => why);
	assert.deepEqual(wrong.map(({ line, code, why }) => `docs/MOVING.md:${line}: ${code}: ${why}`), []);
});

test('docs/MOVING.md has every option of nghttpx', () => {
	const { stdout } = spawnSync('nghttpx', ['--help'], { encoding: 'utf8', env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` } });
	const options = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z0-9-]+)/gm)].map(([, name]) => name);
	assert.ok(options.length > 100, `${options.length} options`);
	assert.deepEqual(options.filter((name) => !new RegExp(`\`${name}[=\`]`).test(MOVING)), []);
});
