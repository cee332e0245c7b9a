/* SPDX-License-Identifier: MIT */
/* Chromium follows the rules that pushgate makes: the next page is there before its link is followed. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { freePort, scenario, section, until, workDir } from '../support/gate.mjs';
import { nodeOrigin } from '../support/node.mjs';
import { browse, skip } from './chromium.mjs';

const html = (title, body) => `<!doctype html><html lang=en><head><meta charset=utf-8><title>${title}</title><link rel=icon href=data:,></head>
<body>${body}<script>addEventListener('load', () => fetch('/seen?' + document.title + (document.prerendering ? '-unseen' : '')));</script></body></html>`;
const pages = { '/': html('first', '<a id=next href=/next>next</a> <a href=/logout>out</a>'), '/next': html('next', '<p id=there>there'), '/logout': html('bye', '') };

/* All requests that the origin got, with why the browser made them. */
async function origin(s, port) {
	const log = [];
	await nodeOrigin(s, port, (stream, headers) => {
		const page = pages[headers[':path']];
		log.push({ path: headers[':path'], purpose: headers['sec-purpose'], dest: headers['sec-fetch-dest'], referer: headers.referer, tags: headers['sec-speculation-tags'] });
		stream.respond({ ':status': 200, 'content-type': 'text/html', 'cache-control': 'max-age=0' });
		stream.end(page ?? 'seen');
	});
	return log;
}

/* Three visitors before the browser: they follow both links. */
async function teach(s) {
	for (const to of ['/next', '/logout'])
		for (const n of [1, 2, 3]) {
			const client = await s.connect({ localAddress: `127.0.0.${n}` });
			client.request(1, { path: to, 'sec-fetch-dest': 'document', referer: `https://localhost:${s.port}/` });
			assert.equal((await client.response(1)).headers[':status'], '200');
		}
}

async function site(name, options, body) {
	const port = await freePort();
	scenario(name, {
		skip, tls: true, origins: { main: { server: `h2c://127.0.0.1:${port}` } }, timeout: 90000,
		routes: section('route main', { origin: 'main', ...options }),
	}, async (s) => {
		s.log = await origin(s, port);
		await teach(s);
		s.log.length = 0;
		await body(s);
	});
}

async function visit(s) {
	Object.assign(s, await browse(s));
	await s.page.goto(`https://localhost:${s.port}/`, { waitUntil: 'load' });
}

/* A browser that nobody looks into: Chromium renders no page ahead while DevTools are attached. */
function visitAlone(s) {
	const profile = workDir();
	const run = spawn(process.env.CHROMIUM ?? '/usr/bin/chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
		'--disable-dev-shm-usage', '--ignore-certificate-errors', `--user-data-dir=${profile}`, `https://localhost:${s.port}/`], { stdio: 'ignore' });
	s.cleanups.push(async () => {
		run.kill();
		await once(run, 'exit');
		fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
	});
}
const asked = (s, path) => s.log.filter((r) => r.path === path);

await site('a page is fetched before its link is followed, and asked for once', { speculation: 'prefetch', 'speculation-eagerness': 'immediate' }, async (s) => {
	await visit(s);
	await until('the next page was fetched', () => asked(s, '/next').length > 0);
	const [load] = asked(s, '/next');
	assert.match(load.purpose, /^prefetch/);
	assert.equal(load.dest, 'document');
	assert.equal(load.referer, `https://localhost:${s.port}/`);
	const line = await s.gate.access((l) => l.path === '/next' && l.client === '127.0.0.1' && l.speculation_tags);
	assert.equal(line.speculation_tags, '"pushgate"');
	await s.page.click('#next');
	await s.page.waitForSelector('#there');
	assert.deepEqual([asked(s, '/next').length, asked(s, '/logout').length], [1, 0]);
	assert.deepEqual(s.complaints, []);
});

await site('a page is rendered before its link is followed', { speculation: 'prerender', 'speculation-eagerness': 'immediate' }, async (s) => {
	visitAlone(s);
	await until('the next page ran its script', () => asked(s, '/seen?next-unseen').length > 0);
	assert.match(asked(s, '/next')[0].purpose, /^prefetch;\s*prerender$/);
	assert.deepEqual([asked(s, '/next').length, asked(s, '/logout').length], [1, 0]);
});

await site('a page is fetched when the pointer rests on its link, and not before', { speculation: 'prefetch', 'speculation-eagerness': 'moderate' }, async (s) => {
	await visit(s);
	await until('the page is complete', () => asked(s, '/seen?first').length > 0);
	await s.gate.access((l) => l.path.startsWith('/.well-known/'));
	assert.equal(asked(s, '/next').length, 0);
	await s.page.hover('#next');
	await until('the next page was fetched', () => asked(s, '/next').length > 0);
	assert.match(asked(s, '/next')[0].purpose, /^prefetch/);
});
