/* SPDX-License-Identifier: MIT */
/* What clients ask for after a page is learned, proposed, and offered where the configuration says so. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { BINARY, Scenario, scenario, section, until, workDir } from '../support/gate.mjs';

const dir = workDir();
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));

/* One client at an address of its own visits the page and asks for what it needs. */
async function visit(s, origin, address, extra = {}) {
	const client = await s.connect({ localAddress: address });
	client.request(1, { path: '/page', 'sec-fetch-mode': 'navigate' });
	const from = origin ?? await s.accept();
	from.respond((await from.expectRequest('/page')).stream, { body: 'page' });
	await client.response(1);
	client.request(3, { path: '/dep.css', referer: `http://localhost:${s.port}/page`, ...extra });
	from.respond((await from.expectRequest('/dep.css')).stream, { body: 'css' });
	await client.response(3);
	return from;
}

async function learn(s) {
	let origin;
	for (const n of [1, 2, 3, 4]) {
		origin = await visit(s, origin, `127.0.0.${n}`);
		const secret = await s.connect({ localAddress: `127.0.1.${n}` });
		secret.request(1, { path: '/page', 'sec-fetch-mode': 'navigate' });
		origin.respond((await origin.expectRequest('/page')).stream, { body: 'page' });
		await secret.response(1);
		for (const [i, credentials] of [{ cookie: 'me=1' }, { authorization: 'Basic bWU6MQ==' }, { cookie: ['a=1', 'b=2'] }].entries()) {
			secret.request(3 + 2 * i, { path: `/private${i}.js`, referer: `http://localhost:${s.port}/page`, ...credentials });
			origin.respond((await origin.expectRequest(`/private${i}.js`)).stream, { body: 'js' });
			await secret.response(3 + 2 * i);
		}
	}
	/* A load counts when its window is over, in which a request belongs to the page before it. This one's is the last. */
	await visit(s, origin, '127.0.0.5');
	await until(() => `each load has counted: ${learning(s)}`,
		() => learning(s)[1]?.endsWith(': 5 clients, 5 loads so far; 1 of 1 resource proposed'), 60_000);
	const client = await s.connect({ localAddress: '127.0.0.10' });
	client.request(1, { path: '/page', 'sec-fetch-mode': 'navigate' });
	const push = await client.expectPromise('/dep.css');
	origin.respond((await origin.expectRequest('/dep.css')).stream, { body: 'css' });
	assert.equal(String((await client.response(push.promised)).body), 'css');
	origin.respond((await origin.expectRequest('/page')).stream, { body: 'page' });
	await client.response(1);
	await client.expectNone('PUSH_PROMISE');
	assert.equal((await s.gate.access((l) => l.push)).source, 'learned');
}

/* What `pushgate explain` says of the page, in one line. */
function explain(s, ...args) {
	const run = spawnSync(BINARY, ['explain', '-c', s.gate.config, ...args, `http://localhost:${s.port}/page`], { encoding: 'utf8' });
	assert.equal(run.status, 0, run.stderr);
	return run.stdout.replace(/\n/g, ' ');
}
const learning = (s) => s.gate.status().split('\n').filter((line) => line.startsWith('# learned'));

// covers: P-src-learned-shown
scenario('status and explain say what is being learned, and what is missing', {
	server: { 'status-socket': 'status' }, origin: { push: 'refuse' }, extra: section('preload learned', { learned: 'propose' }),
}, async (s) => {
	const NEEDS = /when 3 clients have requested it after the page, in 3 loads and 35 % of all; each client counts once in 7 days/;
	assert.deepEqual(learning(s), []);
	assert.match(explain(s), NEEDS);
	assert.match(explain(s), /learned = propose: .* no load of this page has counted yet/);
	let origin;
	for (const n of [1, 2])
		origin = await visit(s, origin, `127.0.0.${n}`);
	const page = `localhost:${s.port}/page: 2 clients, 2 loads so far; 0 of 1 resource proposed; /dep.css lacks 1 more client`;
	await until('both loads have counted', () => learning(s)[1]?.includes(': 2 clients'), 60_000);
	const [needs, line] = learning(s);
	assert.match(needs, NEEDS);
	assert.equal(line, `# learned by worker 0: ${page}`);
	assert.ok(explain(s).includes(`by worker 0: ${page}`), explain(s));
	assert.doesNotMatch(explain(s, '-H', 'x: y'), /no load of this page/);
});
scenario('without a status socket explain says how to learn it, and without learned nothing', {
	extra: section('preload learned', { learned: 'apply', path: '/page' }) + section('preload other', { path: '/other', link: 'yes' }),
}, async (s) => {
	assert.match(explain(s), /learned = apply: .* how far it is: set status-socket/);
	const other = spawnSync(BINARY, ['explain', '-c', s.gate.config, `http://localhost:${s.port}/other`], { encoding: 'utf8' });
	assert.doesNotMatch(other.stdout, /learned/);
});

// covers: P-src-learned P-src-learned-private
test('what several clients ask for after a page is offered with it, and what they ask for with credentials is not', { timeout: 120_000 }, async () => {
	const s = new Scenario({
		origin: { push: 'refuse' },
		server: { 'learned-file': path.join(dir, 'learned.json'), 'status-socket': 'status' },
		extra: section('preload learned', { learned: 'apply' }),
	});
	let failure;
	await s.start();
	try {
		await learn(s);
	} catch (error) {
		failure = error;
	}
	await s.stop(failure);
	const kept = fs.readFileSync(path.join(dir, 'learned.json'), 'utf8');
	assert.match(kept, /dep\.css/);
	assert.doesNotMatch(kept, /private/);
});
