/* SPDX-License-Identifier: MIT */
/* What runs the pages: that it runs what stands there, and that nothing wrong passes. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { mayBeAlone, runPage } from '../support/page_alone.mjs';

const ALONE = mayBeAlone();

/* Runs a page of these lines; ~~~ stands for the fence. Its results as "line", or "line: why" up to the end of that line. */
async function run(t, ...lines) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'pushgate-runner-'));
	t.after(() => fs.rmSync(dir, { recursive: true }));
	const file = path.join(dir, 'page.md');
	fs.writeFileSync(file, `${lines.join('\n').replaceAll('~~~', '```')}\n`);
	const { results } = await runPage(file);
	return results.map(({ line, why, skipped }) => [line, why?.split('\n')[0], skipped && `skipped: ${skipped}`].filter((x) => x !== undefined).join(': '));
}

test('commands run in order, in a folder that keeps what they made', async (t) => {
	assert.deepEqual(await run(t, '~~~sh', 'echo one > a', '~~~', '', '~~~sh', 'grep one a    # a comment', '~~~'), ['1', '5']);
});

test('a failing command fails, and what follows in its section is not run', async (t) => {
	assert.deepEqual(await run(t, '~~~sh', 'false', 'true', '~~~', '~~~sh', 'true', '~~~', '## Next', '~~~sh', 'true', '~~~'),
		['1: exit status 1', '5: not run, as the block of line 1 failed', '9']);
});

test('lines that are not printed, or in another order, fail', async (t) => {
	const printed = (...wanted) => run(t, '~~~sh', 'printf "%s\\n" one "two 17 times" three', '~~~', '<!-- prints -->', '~~~text', ...wanted, '~~~');
	assert.deepEqual(await printed('one', '…', 'three'), ['1', '5']);
	assert.deepEqual(await printed('two … times'), ['1', '5']);
	assert.deepEqual(await printed('two'), ['1', '5: line not printed, or not at this place: two']);
	assert.deepEqual(await printed('three', 'one'), ['1', '5: line not printed, or not at this place: one']);
});

test('unknown, misplaced and incomplete marks fail', async (t) => {
	assert.deepEqual(await run(t, '<!-- file -->', '~~~sh', 'true', '~~~'), ['1: mark <!-- file -->: its value is missing or wrong', '2']);
	assert.deepEqual(await run(t, '<!-- starts: 1 -->', '~~~sh', 'true', '~~~'), ['1: unknown mark <!-- starts: 1 -->', '2']);
	assert.deepEqual(await run(t, '<!-- stays: 1 -->', '', '~~~sh', 'true', '~~~'), ['1: mark <!-- stays: 1 --> is not directly above a block', '3']);
	assert.deepEqual(await run(t, '<!-- prints -->', '~~~sh', 'true', '~~~'), ['1: mark <!-- prints --> does not go with a block of sh', '2']);
	assert.deepEqual(await run(t, '<!-- file: ../a -->', '~~~ini', '~~~'), ['1: mark <!-- file: ../a -->: its value is missing or wrong', '2']);
	assert.deepEqual(await run(t, '~~~sh', 'true'), ['1: the block has no end', '1']);
});

test('blocks that would pass unread fail', async (t) => {
	const unread = 'this block is not read: begin it with ``` and one word, at the beginning of a line';
	assert.deepEqual(await run(t, '- an item', '', '  ~~~sh', '  false', '  ~~~'), [`3: ${unread}`, `5: ${unread}`]);
	assert.deepEqual(await run(t, '~~~sh extra', 'false'), [`1: ${unread}`]);
	assert.deepEqual(await run(t, '`~~~sh', 'false'), [`1: ${unread}`]);
	assert.deepEqual(await run(t, '~~~bash', 'false', '~~~'), ['1: a block of bash is not run: write sh']);
	assert.deepEqual(await run(t, '~~~text', '$ false', '~~~'), ['2: a command behind a prompt is not run: write a block of sh']);
});

test('a block that is not run is skipped with its reason', async (t) => {
	assert.deepEqual(await run(t, '<!-- not run: no systemd -->', '~~~sh', 'false', '~~~'), ['2: skipped: no systemd']);
});

test('a page begins each section with what it made before the first', async (t) => {
	assert.deepEqual(await run(t, '<!-- file: a -->', '~~~', 'one', '~~~', '## First', '~~~sh', 'grep one a', 'rm a', '~~~', '## Second', '~~~sh', 'cat a', '~~~'),
		['2', '6', '11']);
});

test('a program stays until its section ends', { skip: !ALONE && 'no network namespace' }, async (t) => {
	const server = (port) => ['<!-- file: s.mjs -->', '~~~js', `import net from 'node:net'; net.createServer().listen(${port}, () => console.log('ready'));`,
		'~~~', `<!-- stays: ${port} -->`, '~~~sh', `${process.execPath} s.mjs`, '~~~', '<!-- prints -->', '~~~text', 'ready', '~~~'];
	const connects = ['~~~sh', `${process.execPath} -e "require('net').connect(7777).on('error', () => process.exit(1)).on('connect', () => process.exit(0))"`, '~~~'];
	assert.deepEqual(await run(t, '## A', ...server(7777), ...connects, '## B', ...server(7777), '## C', ...connects),
		['3', '7', '11', '14', '19', '23', '27', '31: exit status 1']);
});

test('what a command leaves behind ends with its section, in whatever process group', { skip: !ALONE && 'no network namespace' }, async (t) => {
	const leaves = ['<!-- stays: 7777 -->', '~~~sh', `timeout 1000 ${process.execPath} -e "require('net').createServer().listen(7777)" &`, 'wait', '~~~'];
	const server = ['<!-- stays: 7777 -->', '~~~sh', `${process.execPath} -e "require('net').createServer().listen(7777)"`, '~~~'];
	assert.deepEqual(await run(t, '## A', ...leaves, '## B', ...server), ['3', '9']);
});

test('a program that ends, or listens elsewhere, or finds its port taken fails', { skip: !ALONE && 'no network namespace' }, async (t) => {
	assert.deepEqual(await run(t, '<!-- stays: 7777 -->', '~~~sh', 'exit 3', '~~~'), ['2: exit status 3']);
	const server = ['<!-- stays: 7777 -->', '~~~sh', `${process.execPath} -e "require('net').createServer().listen(7777)"`, '~~~'];
	assert.deepEqual(await run(t, ...server, ...server), ['2', '6: port 7777 is taken before the program is started']);
});

test('a configuration that pushgate refuses fails, a whole one and a part of one', async (t) => {
	const whole = ['[listen front]', 'address = 127.0.0.1:8443', '[origin app]', 'server = h2c://127.0.0.1:8080', '[route all]', 'origin = app'];
	assert.deepEqual(await run(t, '<!-- file: a.ini -->', '~~~ini', ...whole, '~~~'), ['2']);
	assert.deepEqual(await run(t, '<!-- file: a.ini -->', '~~~ini', ...whole, 'orgin = app', '~~~'), ['2: pushgate check says']);
	assert.deepEqual(await run(t, '<!-- file: a.ini -->', '~~~ini', ...whole, '[origin spare]', 'server = h2c://127.0.0.1:8081', '[push a]', 'action = drop',
		'[push b]', 'action = drop', '~~~'), ['2: pushgate check says']);
	assert.deepEqual(await run(t, '~~~ini', '[push a]', 'action = drop', '~~~', '~~~ini', '[route x]', 'origin = y', '~~~'), ['1', '5']);
	assert.deepEqual(await run(t, '~~~ini', '[push a]', 'action = throw', '~~~'), ['1: pushgate check says']);
});
