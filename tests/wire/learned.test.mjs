/* SPDX-License-Identifier: MIT */
/* What clients ask for after a page is learned, proposed, and offered where the configuration says so. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Scenario, section, sleep, workDir } from '../support/gate.mjs';

const WINDOW = 10_000; /* in which a request belongs to the page before it */
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
	await sleep(WINDOW + 1000);
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

// covers: P-src-learned P-src-learned-private
test('what several clients ask for after a page is offered with it, and what they ask for with credentials is not', { timeout: 120_000 }, async () => {
	const s = new Scenario({
		origin: { push: 'refuse' },
		server: { 'learned-file': path.join(dir, 'learned.json') },
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
