/* SPDX-License-Identifier: MIT */
/* The picture of README is made by a script, which therefore must go on working. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT, workDir } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';
import { skip } from './chromium.mjs';

test('scripts/visits draws a page and ten assets in each of three lanes', { skip, timeout: 120000 * SCALE }, (t) => {
	const dir = workDir();
	t.after(() => fs.rmSync(dir, { recursive: true }));
	const file = path.join(dir, 'visits.svg');
	const { status, stderr } = spawnSync(path.join(ROOT, 'scripts/visits'), [file], { encoding: 'utf8' });
	assert.equal(status, 0, stderr);
	const picture = fs.readFileSync(file, 'utf8');
	const bars = (name) => [...picture.matchAll(new RegExp(`<rect class="${name}" x="([0-9.]+)" y="[0-9.]+" width="([0-9.]+)"`, 'g'))];
	assert.deepEqual(['page', 'page wait', 'asset', 'asset wait'].map((name) => bars(name).length), [3, 3, 30, 30]);
	assert.equal(bars('hint').length, 1);
	assert.equal(picture.includes('NaN'), false);
});
