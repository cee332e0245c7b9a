/* SPDX-License-Identifier: MIT */
/* Pushes that no origin promised, made from Link fields and `add` lists; and 103 Early Hints (RFC 8288, RFC 8297). */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { scenario, section, workDir } from '../support/gate.mjs';

/* An origin that does not push itself: all its requests share one connection. */
const LINKS = { origin: { push: 'refuse' }, extra: section('preload links', { link: 'yes' }) };
const link = (path, rest = 'rel=preload; as=style') => `<${path}>; ${rest}`;

/* The origin answers whatever it is asked for with its path, until the test is over. */
async function serve(origin, count) {
	for (let i = 0; i < count; i++) {
		const asked = await origin.expectRequest();
		origin.respond(asked.stream, { body: `this is ${asked.headers[':path']}` });
	}
}

// covers: R78 P-src-link P-make-before-reference
scenario('links of a response are promised before it, asked for, and pushed', LINKS, async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { fields: { link: `${link('/a.css')}, ${link('/b.js', 'rel="preload"; as=script')}` }, body: 'page' });
	const a = await client.expectPromise('/a.css');
	const b = await client.expectPromise('/b.js');
	const head = await client.expectHead(1);
	assert.ok(a.seq < head.seq && b.seq < head.seq);
	assert.equal(a.stream, 1);
	assert.equal(a.headers[':method'], 'GET');
	assert.equal(a.headers[':scheme'], 'http');
	assert.equal(a.headers[':authority'], up.headers[':authority']);
	await serve(origin, 2).catch(async () => { throw new Error('the origin was not asked for what was promised'); });
	assert.equal(String((await client.response(a.promised)).body), 'this is /a.css');
	assert.equal(String((await client.response(b.promised)).body), 'this is /b.js');
	const line = await s.gate.access((l) => l.path === '/a.css');
	assert.equal(line.source, 'link');
	assert.equal(line.verdict, 'forward');
});

// covers: R79 P-make-request-fields
scenario('a promise of our own has what selects the variant, and no credentials or conditions', LINKS, async (s) => {
	const { client, origin, up } = await s.open({ request: {
		'accept-encoding': 'br', 'accept-language': 'de', 'user-agent': 'tester', cookie: 'secret=1',
		authorization: 'Basic eDp5', range: 'bytes=0-9', 'sec-fetch-mode': 'navigate', priority: 'u=1',
	} });
	origin.respond(up.stream, { fields: { link: link('/a.css') }, body: 'page' });
	const { headers } = await client.expectPromise('/a.css');
	assert.deepEqual(headers, {
		':method': 'GET', ':scheme': 'http', ':authority': up.headers[':authority'], ':path': '/a.css',
		accept: 'text/css,*/*;q=0.1', 'accept-encoding': 'br', 'accept-language': 'de', 'user-agent': 'tester',
	});
	const asked = await origin.expectRequest('/a.css');
	for (const name of ['cookie', 'authorization', 'range', 'sec-fetch-mode', 'priority'])
		assert.equal(asked.headers[name], undefined, name);
});

// covers: R78 P-src-link-skipped
for (const [name, value, reason] of [
	['nopush', link('/a.css', 'rel=preload; as=style; nopush'), 'link-nopush'],
	['anchor', link('/a.css', 'rel=preload; anchor="/other"'), 'link-anchor'],
	['the page itself', link('/'), 'link-self'],
	['another authority', link('https://elsewhere.example/a.css'), undefined],
	['another scheme', link('ftp://localhost/a.css'), 'link-target'],
]) {
	scenario(`a link is not pushed: ${name}`, LINKS, async (s) => {
		const { client, origin, up } = await s.open();
		origin.respond(up.stream, { fields: { link: value }, body: 'page' });
		assert.equal(String((await client.response(1)).body), 'page');
		await client.expectNone('PUSH_PROMISE');
		const line = await s.gate.access((l) => l.push);
		assert.equal(line.verdict, 'drop');
		if (reason)
			assert.equal(line.reason, reason);
		assert.equal(origin.seen('HEADERS').length, 0);
	});
}
scenario('other relations are no offers', LINKS, async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { fields: { link: `${link('/next', 'rel=next')}, ${link('/s.css', 'rel=stylesheet')}` }, body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	await client.expectNone('PUSH_PROMISE');
});

// covers: P-src-link
scenario('x-http2-push-only is pushed, and removed from what the client sees', LINKS, async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { fields: { link: `${link('/a.css', 'rel=preload; x-http2-push-only')}, ${link('/b.css')}` }, body: 'page' });
	await client.expectPromise('/a.css');
	await client.expectPromise('/b.css');
	const head = await client.expectHead(1);
	assert.equal(head.headers.link.includes('/a.css'), false);
	assert.equal(head.headers.link.includes('/b.css'), true);
});

// covers: P-src-link P-src-link-grammar
scenario('links of a 103 are promised before it', LINKS, async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 103, link: link('a.css') });
	const promise = await client.expectPromise('/a.css');
	const early = await client.expectHead(1);
	assert.equal(early.headers[':status'], '103');
	assert.ok(promise.seq < early.seq);
	await origin.expectRequest('/a.css');
	origin.respond(up.stream, { fields: { link: link('/a.css') }, body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	await client.expectNone('PUSH_PROMISE'); // the same link again is not pushed twice
});

// covers: R78 P-src-link-grammar
scenario('relative references, quoted commas and many links in one field', LINKS, async (s) => {
	const { client, origin, up } = await s.open({ path: '/dir/page?x=1' });
	const many = Array.from({ length: 50 }, (_, i) => link(`f${i}.css`)).join(', ');
	origin.respond(up.stream, { fields: { link: `${link('../up,1.css', 'title="a, b; rel=next"; rel="other preload"')}, ${many}` }, body: 'page' });
	await client.expectPromise('/up,1.css');
	for (let i = 0; i < 50; i++)
		await client.expectPromise(`/dir/f${i}.css`);
});

// covers: R79
scenario('no push of our own for a client that refuses pushes, and the origin is not asked', LINKS, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { enablePush: 0 } } });
	origin.respond(up.stream, { fields: { link: link('/a.css') }, body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	await s.settle(client, origin);
	assert.equal(origin.seen('HEADERS').length, 0);
	await s.gate.access((l) => l.path === '/');
	assert.equal(s.gate.accessLines().some((l) => l.push), false); // the links are not even read
});
scenario('no push of our own at MAX_CONCURRENT_STREAMS 0', LINKS, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { maxConcurrentStreams: 0 } } });
	origin.respond(up.stream, { fields: { link: link('/a.css') }, body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	await client.expectNone('PUSH_PROMISE');
});

// covers: R79 P-src-no-chain
scenario('links of a pushed response are not pushed', LINKS, async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { fields: { link: link('/a.css') }, body: 'page' });
	const a = await client.expectPromise('/a.css');
	const asked = await origin.expectRequest('/a.css');
	origin.respond(asked.stream, { fields: { link: link('/font.woff2', 'rel=preload; as=font') }, body: 'css' });
	assert.equal(String((await client.response(a.promised)).body), 'css');
	await client.expectNone('PUSH_PROMISE');
});

// covers: P-src-revalidation
for (const [name, fields] of [['if-none-match', { 'if-none-match': '"x"' }], ['no-cache', { 'cache-control': 'no-cache' }],
	['max-age=0', { 'cache-control': 'max-age=0' }]]) {
	scenario(`a request that revalidates gets no pushes of our own: ${name}`, LINKS, async (s) => {
		const { client, origin, up } = await s.open({ request: fields });
		origin.respond(up.stream, { status: 304, fields: { link: link('/a.css') } });
		await client.response(1);
		await client.expectNone('PUSH_PROMISE');
		assert.equal((await s.gate.access((l) => l.push)).reason, 'revalidation');
	});
}

// covers: R80
scenario('a client that resets such a push cancels the request made for it', LINKS, async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { fields: { link: link('/a.css') }, body: 'page' });
	const a = await client.expectPromise('/a.css');
	const asked = await origin.expectRequest('/a.css');
	client.rst(a.promised, 'CANCEL');
	await origin.expectReset(asked.stream, 'CANCEL');
	assert.equal(String((await client.response(1)).body), 'page');
});

// covers: P-make-withdrawn
scenario('a push of our own that the origin answers 404 is withdrawn', LINKS, async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { fields: { link: link('/gone.css') }, body: 'page' });
	const a = await client.expectPromise('/gone.css');
	const asked = await origin.expectRequest('/gone.css');
	origin.respond(asked.stream, { status: 404, body: 'no' });
	await client.expectReset(a.promised, 'CANCEL');
	assert.equal((await s.gate.access((l) => l.path === '/gone.css')).reason, 'status');
});

// covers: P-src-config
scenario('an add list is promised as soon as the request arrives', {
	origin: { push: 'refuse' },
	extra: section('preload page', { path: '/', add: ['/a.css as=style', '/b.js as=script'] }),
}, async (s) => {
	const client = await s.connect();
	client.request(1, { path: '/' });
	const a = await client.expectPromise('/a.css');
	await client.expectPromise('/b.js');
	const origin = await s.accept();
	const asked = {};
	for (let i = 0; i < 3; i++) {
		const r = await origin.expectRequest();
		asked[r.headers[':path']] = r.stream;
	}
	origin.respond(asked['/a.css'], { body: 'css' });
	assert.equal(String((await client.response(a.promised)).body), 'css');
	origin.respond(asked['/'], { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	assert.equal((await s.gate.access((l) => l.path === '/a.css')).source, 'config');
});
scenario('an add list is for the paths that it names', {
	extra: section('preload page', { path: '/shop/*', add: '/a.css as=style' }),
}, async (s) => {
	const { client, origin, up } = await s.open({ path: '/' });
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	await client.expectNone('PUSH_PROMISE');
});

const manifest = path.join(workDir(), 'push_manifest.json');
const writeManifest = (pages) => fs.writeFileSync(manifest, JSON.stringify(pages));
writeManifest({ 'page.html': { '/a.css': { type: 'style', weight: 1 }, 'b.js': { type: 'script', weight: 1 } } });

// covers: P-src-manifest
scenario('a manifest is offered with the page that it names, and read again when it changes', {
	origin: { push: 'refuse' }, extra: section('preload built', { manifest }),
}, async (s) => {
	s.cleanups.push(() => fs.rmSync(path.dirname(manifest), { recursive: true }));
	const client = await s.connect();
	client.request(1, { path: '/page.html' });
	const a = await client.expectPromise('/a.css');
	await client.expectPromise('/b.js');
	const origin = await s.accept();
	const asked = await origin.expectRequest('/a.css');
	origin.respond(asked.stream, { body: 'css' });
	assert.equal(String((await client.response(a.promised)).body), 'css');
	assert.equal((await s.gate.access((l) => l.path === '/a.css')).source, 'manifest');
	client.request(3, { path: '/other.html' });
	await origin.expectRequest('/other.html');
	await client.expectNone('PUSH_PROMISE');
	writeManifest({ 'page.html': { '/new.css': { type: 'style', weight: 1 } } });
	await s.gate.error(/read again/);
	client.request(5, { path: '/page.html' });
	const fresh = await client.expectPromise('/new.css');
	client.rst(fresh.promised, 'REFUSED_STREAM');
	fs.writeFileSync(manifest, '{ broken');
	await s.gate.error(/manifest .*push_manifest\.json:1/);
	client.request(7, { path: '/page.html' });
	await client.expectNone('GOAWAY'); // the old one stays in use, and nothing else is the matter
});

/* The wait is for promises that come in two reads of a busy machine. */
const HINTS = { server: { 'hint-wait': '200ms' }, extra: section('push hints', { action: 'hint' }) };
const browser = { client: { settings: { enablePush: 0 } }, request: { 'sec-fetch-mode': 'navigate' } };

// covers: P-hint-once P-hint-clients
scenario('promises become one 103 for a browser that refuses pushes', HINTS, async (s) => {
	const { client, origin, up } = await s.open(browser);
	origin.push(up, 2, '/a.css').push(up, 4, '/b.js');
	await origin.expectReset(2, 'CANCEL');
	await origin.expectReset(4, 'CANCEL');
	const early = await client.expectHead(1);
	assert.equal(early.headers[':status'], '103');
	const hints = early.fields.filter((f) => f.name === 'link').map((f) => f.value);
	assert.deepEqual(hints, ['</a.css>; rel=preload; as=style', '</b.js>; rel=preload; as=script']);
	origin.push(up, 6, '/late.css');
	await origin.expectReset(6, 'CANCEL');
	origin.respond(up.stream, { body: 'page' });
	const page = await client.expectHead(1);
	assert.equal(page.headers[':status'], '200');
	assert.equal(page.headers.link, undefined);
	const reasons = [];
	for (const path of ['/a.css', '/late.css'])
		reasons.push((await s.gate.access((l) => l.path === path)).reason);
	assert.deepEqual(reasons, ['rule', 'hint-late']);
	await client.expectNone('PUSH_PROMISE');
});

// covers: P-hint-clients
scenario('no hints for what is no navigation', { ...HINTS, origin: { push: 'accept' } }, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { enablePush: 0 } } });
	origin.push(up, 2, '/a.css');
	await origin.expectReset(2, 'CANCEL');
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.expectHead(1)).headers[':status'], '200');
	assert.equal((await s.gate.access((l) => l.push)).reason, 'hint-client');
});

// covers: P-hint-forwarded P-hint-once
scenario('hints of ours join the 103 of the origin', {
	server: { 'hint-wait': '1s' },
	extra: HINTS.extra,
}, async (s) => {
	const { client, origin, up } = await s.open(browser);
	origin.push(up, 2, '/a.css');
	await origin.expectReset(2, 'CANCEL');
	origin.headers(up.stream, { ':status': 103, link: link('/own.css') });
	const early = await client.expectHead(1);
	const hints = early.fields.filter((f) => f.name === 'link').map((f) => f.value);
	assert.deepEqual(hints, [link('/own.css'), '</a.css>; rel=preload; as=style']);
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.expectHead(1)).headers[':status'], '200');
});
