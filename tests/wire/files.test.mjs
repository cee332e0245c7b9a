/* SPDX-License-Identifier: MIT */
/*
 * The files process: what it reads reaches every worker, a worker that starts later too, and whatever happens to it,
 * no request waits for it.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { BINARY, freePort, scenario, section, until, workDir } from '../support/gate.mjs';
import { nodeClient, nodeOrigin } from '../support/node.mjs';

const dir = workDir();
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));

let files = 0;
const fresh = (name) => path.join(dir, `${++files}-${name}`);
/* Whole at once, as a build does it. */
function write(file, value) {
	fs.writeFileSync(`${file}.new`, typeof value === 'string' ? value : JSON.stringify(value));
	fs.renameSync(`${file}.new`, file);
}
const pushes = (name) => ({ 'page.html': { [`/${name}.css`]: { type: 'style' } } });

function children(pid) {
	return fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}
function comm(pid) {
	try {
		return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
	} catch {
		return '';
	}
}
const filesProcess = (s) => children(s.gate.pid).find((pid) => comm(pid) === 'pushgate-files');

/* Serves everything with its path. */
async function serveAll(s) {
	await nodeOrigin(s, s.originPort, (stream, headers) => {
		stream.respond({ ':status': 200 });
		stream.end(headers[':path']);
	});
}

/* What a new client is pushed with the page: the kernel chooses its worker. */
async function pushedTo(s) {
	const client = nodeClient(s);
	const got = await client.get({ ':path': '/page.html', 'sec-fetch-mode': 'navigate' });
	assert.equal(got.status, 200);
	for (const push of client.pushes.values())
		await push;
	client.session.destroy();
	return [...client.pushes.keys()].join(' ');
}

/* Every worker offers this now: no one of many clients gets anything else. */
async function offeredByAll(s, expected) {
	await until(`all offer ${expected}`, async () => {
		for (let i = 0; i < 12; i++)
			if (await pushedTo(s) !== expected)
				return false;
		return true;
	}, 20000);
}

async function together(name, { preload, server = {}, early, ...more }, body) {
	const originPort = await freePort();
	scenario(name, {
		single: false, server: { workers: 2, ...server }, origins: { main: { server: `h2c://127.0.0.1:${originPort}` } },
		extra: section('preload built', preload), timeout: 120000, ...more,
	}, async (s) => {
		s.originPort = originPort;
		await early?.(s);
		await serveAll(s);
		await until('two workers', () => more.single || s.gate.workers().length === (server.workers ?? 2), 20000);
		await body(s);
	});
}

{
	const manifest = fresh('push.json');
	write(manifest, pushes('first'));
	await together('all workers offer what a manifest says, and what it says later', { preload: { manifest } }, async (s) => {
		await offeredByAll(s, '/first.css');
		write(manifest, pushes('second'));
		await offeredByAll(s, '/second.css');
		await s.gate.error(/read again/);
		const lines = s.gate.read('error.log').match(/read again/g);
		assert.equal(lines.length, 1, 'it is logged once, not by each worker');
	});
}

{
	const manifest = fresh('push.json');
	write(manifest, pushes('first'));
	await together('a worker that starts later has the last good manifest, whatever the file says then', { preload: { manifest } }, async (s) => {
		write(manifest, pushes('second'));
		await offeredByAll(s, '/second.css');
		write(manifest, '{ broken');
		await s.gate.error(/\[files\] manifest .*push\.json:1:/);
		const [victim] = s.gate.workers();
		process.kill(victim, 'SIGKILL');
		await s.gate.error(/is up again/);
		await offeredByAll(s, '/second.css');
		/* Nor is it lost with the process that has read it. */
		process.kill(filesProcess(s), 'SIGKILL');
		await s.gate.error(/the files process was killed by signal 9/);
		process.kill(s.gate.workers()[0], 'SIGKILL');
		await until('two workers', () => s.gate.workers().length === 2 && s.gate.read('error.log').match(/is up again/g).length === 2);
		await offeredByAll(s, '/second.css');
		write(manifest, pushes('third'));
		await offeredByAll(s, '/third.css');
	});
}

{
	const manifest = fresh('push.json');
	write(manifest, pushes('first'));
	await together('while the files process is stopped no request waits, no worker fails to start, and the end comes in time', { preload: { manifest } }, async (s) => {
		const pid = filesProcess(s);
		process.kill(pid, 'SIGSTOP');
		write(manifest, pushes('second'));
		for (let i = 0; i < 100; i++)
			assert.equal(await pushedTo(s), '/first.css');
		process.kill(s.gate.workers()[0], 'SIGKILL');
		await s.gate.error(/is up again/);
		for (let i = 0; i < 20; i++)
			assert.equal(await pushedTo(s), '/first.css');
		process.kill(pid, 'SIGCONT');
		await offeredByAll(s, '/second.css');
		process.kill(pid, 'SIGSTOP'); /* the scenario now ends pushgate, and allows it ten seconds */
	});
}

/* A file with a page that needs one style sheet. */
const kept = (port) => [{ 'pushgate-pages': 1, written: Math.floor(Date.now() / 1000) }, {
	scheme: 'http', authority: `127.0.0.1:${port}`, path: '/page.html', vary: '', rule: '=*', query: '', variant: '', known: 9, viewed: 1, views: 3,
	resources: [{ target: '/dep.css', rel: 'preload', as: 'style', crossorigin: '', attributes: '', sources: ['link'], known: 9, named: 1, offered: 0, used: 0, failed: 0 }],
}].map((line) => `${JSON.stringify(line)}\n`).join('');
const pagesOf = (file) => fs.readFileSync(file, 'utf8').split('\n').slice(1).filter(Boolean).map((line) => JSON.parse(line));

{
	const file = fresh('pages.json');
	const port = await freePort();
	fs.writeFileSync(file, kept(port));
	await together('a memory of pages is there from the first request on, and its file at the end', {
		preload: { remembered: 'apply' }, server: { 'remembered-file': file }, port,
	}, async (s) => {
		await offeredByAll(s, '/dep.css');
		/* A worker that starts later has it too. */
		for (const victim of s.gate.workers())
			process.kill(victim, 'SIGKILL');
		await until('two new workers', () => (s.gate.read('error.log').match(/is up again/g) ?? []).length === 2);
		await offeredByAll(s, '/dep.css');
		process.kill(s.gate.pid, 'SIGTERM');
		await s.gate.ended();
		assert.deepEqual(pagesOf(file).map((p) => [p.authority, p.path, p.resources.map((r) => r.target)]), [[`127.0.0.1:${port}`, '/page.html', ['/dep.css']]]);
	});
}

/* A manifest that takes long to parse, so that the process can be stopped before it has read anything. */
const slow = () => Object.fromEntries(Array.from({ length: 100 }, (_, page) => [`${page}.html`,
	Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`/${page}/${n}-${'x'.repeat(60)}.css`, {}]))]));

for (const single of [false, true]) {
	const manifest = fresh('push.json');
	write(manifest, pushes('first'));
	await together(`a manifest of a hundred pages is read inside the sandbox, single = ${single}`, { preload: { manifest }, single, server: { workers: 1 } }, async (s) => {
		await offeredByAll(s, '/first.css');
		write(manifest, { ...slow(), ...pushes('second') });
		await offeredByAll(s, '/second.css');
		assert.doesNotMatch(s.gate.read('error.log'), /was killed/);
	});
}

{
	const file = fresh('pages.json'), manifest = fresh('push.json');
	const port = await freePort();
	fs.writeFileSync(file, kept(port));
	write(manifest, slow());
	await together('workers that begin before the files are read get what they say, and nothing of the file is lost', {
		preload: { remembered: 'apply', manifest }, server: { 'remembered-file': file }, port,
		async early(s) {
			const pid = await until('the files process', () => children(s.gate.pid).find((p) => comm(p) === 'pushgate-files'));
			process.kill(pid, 'SIGSTOP');
		},
	}, async (s) => {
		await s.gate.error(/has not read the configured files within 5 s/);
		assert.equal(await pushedTo(s), '');
		process.kill(filesProcess(s), 'SIGCONT');
		await offeredByAll(s, '/dep.css');
		process.kill(s.gate.pid, 'SIGTERM');
		await s.gate.ended();
		assert.ok(pagesOf(file).some((p) => p.resources.some((r) => r.target === '/dep.css')), 'the memory of the file was not lost');
	});
}

{
	const file = fresh('pages.json');
	await together('a files process that does not end is killed, and the log says what is lost with it', {
		preload: { remembered: 'apply' }, server: { 'remembered-file': file },
	}, async (s) => {
		process.kill(filesProcess(s), 'SIGSTOP');
		process.kill(s.gate.pid, 'SIGTERM');
		await s.gate.ended();
		assert.match(s.gate.read('error.log'), /the files process did not end in time and is killed: what was remembered since the last save is lost/);
	});
}

{
	const file = fresh('pages.json');
	await together('a signal that comes while the helpers end changes nothing', {
		preload: { remembered: 'apply' }, server: { 'remembered-file': file },
	}, async (s) => {
		const files = filesProcess(s);
		process.kill(files, 'SIGSTOP');
		process.kill(s.gate.pid, 'SIGTERM');
		await until('the end of the workers', () => s.gate.workers().length === 0);
		process.kill(s.gate.pid, 'SIGTERM');
		process.kill(files, 'SIGCONT');
		await s.gate.ended();
		assert.doesNotMatch(s.gate.read('error.log'), /(files process|logger) (exited|was killed)/);
	});
}

for (const [how, single] of [['master and workers', false], ['a single process', true]]) {
	const manifest = fresh('push.json');
	write(manifest, '{ broken');
	await together(`a manifest that is bad at the start is empty until it is good (${how})`, {
		preload: { manifest }, single, server: single ? { workers: 1, 'status-socket': fresh('status') } : { 'status-socket': fresh('status') },
	}, async (s) => {
		const [line] = await s.gate.error(/manifest .*push\.json:1:\d+: is not JSON.*/);
		assert.match(line, /; it is empty until the file is good$/);
		assert.equal(await pushedTo(s), '');
		assert.match(execFileSync(BINARY, ['status', '-c', s.gate.config], { encoding: 'utf8' }), /files_unusable\S* 1\n/);
		write(manifest, pushes('first'));
		await offeredByAll(s, '/first.css');
	});
}
