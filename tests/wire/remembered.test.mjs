/* SPDX-License-Identifier: MIT */
/* One memory of pages for all workers: over restarts, reloads, and deaths of processes. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http2 from 'node:http2';
import path from 'node:path';
import { test } from 'node:test';
import { SCALE } from '../support/peer.mjs';
import { BINARY, freePort, Scenario, scenario, until, workDir } from '../support/gate.mjs';
import { css, filesProcess, hintedByAll, hinting, html, load, look, pageOrigin, remembered } from '../support/pages.mjs';

const dir = workDir();
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));

/* An origin with a page for each path, which names a style sheet of its own name. */
const withPages = (options) => hinting({
	...options,
	serve: (request, response) => html(response, [css(`${request.url}.css`)]),
});
async function twoLoad(s, ...pages) {
	for (const page of pages) {
		await load(s, 1, page);
		await load(s, 2, page);
	}
}

// covers: P-src-remembered-all
scenario('what clients of different workers got is offered by all workers, and status says so', withPages(), async (s) => {
	const pages = ['/a', '/b', '/c', '/d', '/e', '/f', '/g', '/h'];
	await twoLoad(s, ...pages);
	for (const page of pages)
		await hintedByAll(s, page, [`${page}.css`]);
	await until(() => `all pages in the status:\n${remembered(s).join('\n')}`, () => remembered(s).length === pages.length);
	assert.match(remembered(s).find((l) => l.includes('/a: ')),
		new RegExp(`^# remembered: http://localhost:${s.port}/a: 2 clients, 2 views, known for \\d+s; 1 of 1 resource told \\(link 1\\)`));
});

// covers: P-src-remembered-shown
const explain = (s, page) => {
	const run = spawnSync(BINARY, ['explain', '-c', s.gate.config, `http://localhost:${s.port}${page}`], { encoding: 'utf8' });
	assert.equal(run.status, 0, run.stderr);
	return run.stdout;
};
const kept = path.join(dir, 'shown.json');
scenario('explain says what is known of a page, from the status and from the file', withPages({ server: { 'remembered-file': kept } }), async (s) => {
	assert.match(explain(s, '/a'), /\nremembered = apply: what 2 clients got with the page alike; 3 for a page that is private.*\n {3}nothing is known of this page/);
	await twoLoad(s, '/a', '/ab');
	await until('it is in the status', () => remembered(s).length === 2);
	const said = explain(s, '/a');
	assert.match(said, new RegExp(`\n {3}http://localhost:${s.port}/a: 2 clients, 2 views, .*; 1 of 1 resource told \\(link 1\\)\n`));
	assert.doesNotMatch(said, /\/ab: /);
	s.gate.child.kill('SIGTERM');
	await s.gate.ended();
	assert.match(explain(s, '/a'), /\n {3}in \S+shown.json:\n {3}\/a.css as style: told \(link\); known for /);
	/* As long as that of many pages: a page that is there already is left out. */
	const page = fs.readFileSync(kept, 'utf8').split('\n')[1];
	fs.appendFileSync(kept, `${page}${' '.repeat(140_000)}\n`.repeat(150));
	assert.match(explain(s, '/a'), /\n {3}in \S+shown.json:\n {3}\/a.css as style: told \(link\); known for /);
	fs.writeFileSync(kept, 'nonsense\n');
	assert.match(explain(s, '/a'), /\n {3}\S+shown.json:1: the first line is not that of a memory of pages\n/);
});

scenario('a page that one client loads by way of all workers is not offered', withPages(), async (s) => {
	for (let i = 0; i < 20; i++)
		await load(s, 7, '/a');
	await twoLoad(s, '/last');
	await hintedByAll(s, '/last', ['/last.css']);
	await hintedByAll(s, '/a', []);
});

// covers: P-src-remembered-hint
{
	const waiting = [];
	let thinks = false;
	const serve = (request, response) => {
		const answer = () => html(response, [css('/a.css')]);
		if (thinks)
			waiting.push(answer);
		else
			answer();
	};
	scenario('the 103 is there while the origin thinks: it answers only when the client has the hints', hinting({ serve }), async (s) => {
		await twoLoad(s, '/a');
		await hintedByAll(s, '/a', ['/a.css']);
		thinks = true;
		const session = http2.connect(`http://127.0.0.1:${s.port}`, { localAddress: '127.0.0.9' });
		const stream = session.request({
			':path': '/a', ':authority': `localhost:${s.port}`, 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate',
		});
		const [early] = await once(stream, 'headers');
		assert.deepEqual([early[':status'], early.link], [103, css('/a.css')]);
		await until('the origin has the request', () => waiting.length === 1);
		waiting[0]();
		const [final] = await once(stream, 'response');
		assert.equal(final[':status'], 200);
		session.close();
	});
}

/* Gates that follow each other at the same address, with the same file. body(s, run) for each. */
function runs(name, all, body) {
	test(name, { timeout: 240_000 * SCALE }, async () => {
		const port = await freePort();
		const file = path.join(dir, `${port}.json`);
		for (const [run, options] of all.entries()) {
			const s = new Scenario(withPages({ port, ...options, server: { 'remembered-file': file, ...options.server } }));
			let failure;
			try {
				await s.start();
				await body(s, run, file);
			} catch (error) {
				failure = error;
			}
			await s.stop(failure);
		}
	});
}

const single = { single: true, server: { workers: 1 } };
// covers: P-src-remembered-all
runs('the file keeps what is told over restarts, and nothing of any client', [{}, single, {}], async (s, run, file) => {
	for (let before = 0; before < run; before++)
		await hintedByAll(s, `/kept${before}`, [`/kept${before}.css`]);
	await hintedByAll(s, '/alone', []);
	await twoLoad(s, `/kept${run}`);
	/* The same client in each life of the process is one client. */
	await load(s, 1, '/alone');
	await hintedByAll(s, `/kept${run}`, [`/kept${run}.css`]);
	s.gate.child.kill('SIGTERM');
	await s.gate.ended();
	const text = fs.readFileSync(file, 'utf8');
	const lines = text.trim().split('\n').map((line) => JSON.parse(line));
	assert.equal(lines[0]['pushgate-pages'], 1);
	assert.deepEqual(lines.slice(1).map((page) => page.path).sort(), Array.from({ length: run + 1 }, (_, i) => `/kept${i}`));
	assert.doesNotMatch(text, /127\.0\./);
});

runs('a broken file is a warning at the start, and is replaced', [{}, single], async (s, run, file) => {
	if (run === 1)
		await s.gate.error(/remembered: \S+:1: the first line is not that of a memory of pages; the memory begins empty/);
	await twoLoad(s, '/a');
	await hintedByAll(s, '/a', ['/a.css']);
	s.gate.child.kill('SIGTERM');
	await s.gate.ended();
	assert.match(fs.readFileSync(file, 'utf8'), /"path":"\/a"/);
	fs.writeFileSync(file, 'nonsense\n');
});

/* ---- deaths ---- */

scenario('a worker that dies begins again with what all have learned', withPages(), async (s) => {
	await twoLoad(s, '/a');
	await hintedByAll(s, '/a', ['/a.css']);
	for (const worker of s.gate.workers()) {
		process.kill(worker, 'SIGKILL');
		await until('another worker', () => s.gate.workers().length === 2 && !s.gate.workers().includes(worker));
	}
	await s.gate.error(/worker 1 \(process \d+\) is up again/);
	await hintedByAll(s, '/a', ['/a.css']);
});

scenario('the files process is killed: workers go on with their copies, and the next one learns with them', withPages(), async (s) => {
	await twoLoad(s, '/a');
	await hintedByAll(s, '/a', ['/a.css']);
	const pid = filesProcess(s);
	process.kill(pid, 'SIGKILL');
	await hintedByAll(s, '/a', ['/a.css']);
	await until('another files process', () => { const next = filesProcess(s); return next && next !== pid; }, 30_000);
	/* A lesson that comes while it is down is lost: the next client brings it again. */
	let client = 10;
	await until('the next one learns', async () => {
		await load(s, client++, '/b');
		return (await look(s, '/b')).hinted.includes('/b.css');
	}, 60_000);
	await hintedByAll(s, '/b', ['/b.css']);
});

/* ---- reloads ---- */

const count = (s, pattern) => s.gate.read('error.log').match(pattern)?.length ?? 0;
const TAKEN = /reload: generation \d+ has taken over/g;
async function reload(s, change = (text) => text) {
	const before = count(s, TAKEN);
	const text = change(fs.readFileSync(s.gate.config, 'utf8'));
	fs.writeFileSync(s.gate.config, `${text}[route more${before}]\npath = /more${before}\nanswer = 204\n`);
	s.gate.child.kill('SIGHUP');
	await until(() => `a take-over\n${s.gate.read('error.log')}`, () => count(s, TAKEN) > before, 60_000);
}

// covers: P-src-remembered-all
scenario('the next generation begins with all that is told, whatever the number of workers, without a file', withPages(), async (s) => {
	await twoLoad(s, '/a', '/b');
	await hintedByAll(s, '/b', ['/b.css']);
	for (const workers of [3, 1, 2]) {
		await reload(s, (text) => text.replace(/workers = \d/, `workers = ${workers}`));
		/* Nobody has loaded them since. */
		await hintedByAll(s, '/b', ['/b.css']);
		await hintedByAll(s, '/a', ['/a.css']);
		await twoLoad(s, `/with${workers}`);
		await hintedByAll(s, `/with${workers}`, [`/with${workers}.css`]);
	}
	assert.doesNotMatch(s.gate.read('error.log'), /begins empty|malformed/);
});

scenario('where nothing remembers any more, nothing is, and no files process is there', withPages(), async (s) => {
	await twoLoad(s, '/a');
	await hintedByAll(s, '/a', ['/a.css']);
	await reload(s, (text) => text.replace('remembered = apply', 'remembered = off\nlink = yes'));
	await hintedByAll(s, '/a', []);
	await until('no files process', () => !filesProcess(s));
	assert.deepEqual(remembered(s), []);
});
