/* SPDX-License-Identifier: MIT */
/*
 * Origins that cannot push, as most are: Apache httpd, nginx and Node over HTTP/1.1, and the first two over HTTP/2
 * where ALPN chooses it. What their Link fields, `add` or a manifest name is pushed to Node, nghttp and Java.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT, Scenario, certs, section, until, workDir } from '../support/gate.mjs';
import { nodeClient } from '../support/node.mjs';
import { SCALE } from '../support/peer.mjs';
import { run } from '../support/programs.mjs';
import { tap } from '../support/tap.mjs';
import { versionedOrigins } from '../support/versions.mjs';
import { apache, nginx } from '../support/web-servers.mjs';

const text = (size, salt) => Array.from({ length: size }, (_, i) => String.fromCharCode(97 + (i * 7 + (i >> 8) * salt) % 26)).join('');
const ASSETS = {
	'/site/base.css': { as: 'style', body: text(1, 3) },
	'/site/page.css': { as: 'style', body: text(10000, 5) },
	'/site/app.js': { as: 'script', body: text(300000, 7) },
	'/logo.svg': { as: 'image', body: text(70001, 11) },
	'/site/empty.js': { as: 'script', body: '' },
};
const NAMES = Object.keys(ASSETS);
const PAGE = '/site/page.html';
const PAGE_BODY = text(5000, 13);
const digest = (bytes) => createHash('sha256').update(bytes).digest('hex');
/* Two in one field, one relative; one that is not to be pushed. */
const LINKS = [
	`<base.css>; rel=preload; as=style, </site/page.css>; rel=preload; as=style`,
	...NAMES.slice(2).map((name) => `<${name}>; rel=preload; as=${ASSETS[name].as}`),
	'</site/other.css>; rel=preload; as=style; nopush',
];

function folder(s) {
	const root = path.join(s.dir, 'root');
	for (const [name, body] of [[PAGE, PAGE_BODY], ...Object.entries(ASSETS).map(([n, { body }]) => [n, body]), ['/site/other.css', 'other']]) {
		const file = path.join(root, name);
		fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o755 });
		fs.writeFileSync(file, body);
	}
	return root;
}

/* Node's server, with the same answers and the same account of its requests. */
async function nodeServer(s, name, links) {
	const list = [];
	const { ports, close } = await versionedOrigins((request, response) => {
		const target = request.url;
		const body = target === PAGE ? PAGE_BODY : ASSETS[target]?.body;
		list.push({ connection: String(request.socket.remotePort), protocol: `HTTP/${request.httpVersion}`, status: body === undefined ? 404 : 200, target });
		response.writeHead(body === undefined ? 404 : 200, {
			...(links[target] ? { link: links[target] } : {}), etag: '"v1"', 'cache-control': 'max-age=60',
			...(target.endsWith('.js') ? {} : { 'content-length': (body ?? '').length }),
		});
		response.end(body);
	}, [name]);
	s.cleanups.push(close);
	return { port: ports[name], requests: () => list };
}

const ORIGINS = {
	'Apache httpd over HTTP/1.1': { scheme: 'http', version: '1.1', start: (s, o) => apache(s, o) },
	'Apache httpd over HTTP/1.1 and TLS': { scheme: 'https', version: '1.1', start: (s, o) => apache(s, { ...o, tls: ['http/1.1'] }) },
	'Apache httpd by ALPN': { scheme: 'https', version: '2.0', start: (s, o) => apache(s, { ...o, tls: ['h2', 'http/1.1'] }) },
	'nginx over HTTP/1.1': { scheme: 'http', version: '1.1', start: (s, o) => nginx(s, o) },
	'nginx over HTTP/1.1 and TLS': { scheme: 'https', version: '1.1', start: (s, o) => nginx(s, { ...o, tls: ['http/1.1'] }) },
	'nginx by ALPN': { scheme: 'https', version: '2.0', start: (s, o) => nginx(s, { ...o, tls: ['h2', 'http/1.1'] }) },
	'Node over HTTP/1.1': { scheme: 'http', version: '1.1', start: (s, { links }) => nodeServer(s, 'h1', links) },
	'Node over HTTP/1.1 and TLS': { scheme: 'https', version: '1.1', start: (s, { links }) => nodeServer(s, 'h1s', links) },
};

const MANIFEST = JSON.stringify({ 'site/page.html': Object.fromEntries(NAMES.map((name) => [name, { type: ASSETS[name].as, weight: 1 }])) });
const SOURCES = {
	'Link fields': { links: { [PAGE]: LINKS }, preload: () => section('preload links', { link: 'yes' }), source: 'link' },
	add: { links: {}, preload: () => section('preload list', { path: PAGE, add: NAMES.map((name) => `${name} as=${ASSETS[name].as}`) }), source: 'config' },
	'a manifest': { links: {}, preload: (dir) => {
		const file = path.join(dir, 'push_manifest.json');
		fs.writeFileSync(file, MANIFEST);
		return section('preload built', { manifest: file });
	}, source: 'manifest' },
};

/* Starts the origin first, since the gate's configuration needs its port. */
function behind(name, origin, source, options, body) {
	test(name, { timeout: 120000 * SCALE }, async () => {
		const s = { dir: workDir(), cleanups: [] };
		let scenario;
		let failure;
		try {
			s.origin = await origin.start(s, { root: folder(s), links: source.links });
			const isTls = origin.scheme === 'https';
			scenario = new Scenario({
				origins: { main: {
					server: `${origin.scheme}://${isTls ? 'localhost' : '127.0.0.1'}:${s.origin.port}`,
					config: { ...(isTls ? { 'tls-ca': certs().file('ca.pem') } : {}) },
				} },
				/* Java needs its time for a handshake. */
				extra: source.preload(s.dir), ...options, listen: { ...(options.tls ? { 'tls-timeout': '2m' } : {}), ...options.listen },
			});
			await scenario.start();
			Object.assign(s, { gate: scenario.gate, port: scenario.port });
			await body(s);
		} catch (error) {
			failure = error;
			failure.message += `\n--- at the origin\n${JSON.stringify(s.origin?.requests())}`;
		}
		await scenario?.stop(failure).catch((error) => { failure ??= error; });
		for (const f of s.cleanups.reverse())
			await f();
		fs.rmSync(s.dir, { recursive: true, force: true });
		if (failure)
			throw failure;
	});
}

/* The origin was asked for the page and each asset so many times, in the version that was meant, over few connections. */
async function asked(s, origin, times) {
	const expected = [PAGE, ...NAMES].flatMap((name) => Array(times).fill(name)).sort();
	await until(() => `its log is complete: ${JSON.stringify(s.origin.requests())}`, () => s.origin.requests().length >= expected.length);
	/* Apache promises a relative link as it stands, without resolving it; such a promise is refused. */
	const list = s.origin.requests().filter(({ target }) => target.startsWith('/'));
	assert.deepEqual(list.map(({ target }) => target).sort(), expected);
	assert.deepEqual([...new Set(list.map(({ protocol }) => protocol))], [`HTTP/${origin.version}`]);
	const connections = new Set(list.map(({ connection }) => connection)).size;
	const most = origin.version === '1.1' ? 1 + NAMES.length : 4;
	assert.ok(connections <= most, `${connections} connections for ${list.length} requests`);
}

// covers: P-src-link P-src-config P-src-manifest
const VISITS = 4;
for (const [originName, origin] of Object.entries(ORIGINS))
	for (const [sourceName, source] of Object.entries(SOURCES))
		behind(`${originName}, with ${sourceName}: Node gets the page and each push, ${VISITS} times`, origin, source, {}, async (s) => {
			for (let visit = 0; visit < VISITS; visit++) {
				const client = nodeClient(s);
				const page = await client.get({ ':path': PAGE });
				assert.equal(page.status, 200);
				assert.equal(page.body, PAGE_BODY);
				assert.deepEqual([...client.pushes.keys()].sort(), [...NAMES].sort());
				for (const [name, push] of client.pushes) {
					const { status, body } = await push;
					assert.equal(status, 200, name);
					assert.equal(digest(body), digest(ASSETS[name].body), name);
				}
				client.session.close();
			}
			await asked(s, origin, VISITS);
			const made = () => s.gate.accessLines().filter((l) => l.push && l.verdict === 'forward');
			await until('each push is logged', () => made().length === VISITS * NAMES.length);
			assert.deepEqual([...new Set(made().map((l) => l.source))], [source.source]);
		});

for (const [originName, origin] of Object.entries(ORIGINS))
	behind(`${originName}, with Link fields: nghttp gets promises before the page, and all bytes`, origin, SOURCES['Link fields'], {}, async (s) => {
		const front = await tap(s.port);
		s.cleanups.push(() => front.close());
		const { code } = await run('nghttp', ['-nv', `http://127.0.0.1:${front.port}${PAGE}`]);
		assert.equal(code, 0);
		const [near] = front.connections;
		const promises = near.of('server', 'PUSH_PROMISE');
		assert.deepEqual(promises.map((f) => f.headers[':path']).sort(), [...NAMES].sort());
		const bytes = (stream) => Buffer.concat(near.of('server', 'DATA').filter((f) => f.stream === stream).map((f) => f.data));
		for (const promise of promises)
			assert.equal(digest(bytes(promise.promised)), digest(ASSETS[promise.headers[':path']].body), promise.headers[':path']);
		const head = near.of('server', 'HEADERS').find((f) => f.stream === promises[0].stream);
		assert.equal(digest(bytes(head.stream)), digest(PAGE_BODY));
		assert.ok(promises.every((f) => f.seq < head.seq), 'promised before the links are seen');
		await asked(s, origin, 1);
	});

const SOURCE = path.join(ROOT, 'tests/peers/PushClient.java');
for (const [originName, sourceName] of [['Apache httpd over HTTP/1.1', 'Link fields'], ['nginx over HTTP/1.1', 'add'], ['Node over HTTP/1.1 and TLS', 'a manifest']])
	behind(`${originName}, with ${sourceName}: Java gets the page and each push`, ORIGINS[originName], SOURCES[sourceName], { tls: true }, async (s) => {
		const { stdout, stderr, code } = await run('java', ['-Xshare:auto', '-XX:TieredStopAtLevel=1', SOURCE, certs().file('ca.pem'), 'poll',
			`https://localhost:${s.port}${PAGE}`, '1']);
		assert.equal(code, 0, `${stdout.slice(0, 2000)}\n${stderr}`);
		const lines = stdout.trimEnd().split('\n');
		assert.equal(lines.pop(), 'done');
		assert.deepEqual(lines.filter((l) => l.startsWith('push ')).sort(), NAMES.map((name) => `push ${name} 200 ${ASSETS[name].body}`).sort());
		assert.deepEqual(lines.filter((l) => l.startsWith('page ')), [`page 200 ${PAGE_BODY}`]);
		await asked(s, ORIGINS[originName], 1);
	});
