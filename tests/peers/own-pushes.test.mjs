/* SPDX-License-Identifier: MIT */
/*
 * Pushes made from the Link fields of origins that do not push, for nghttp and for Node; and what Node's origin
 * pushes, held for curl and for clients that share a connection.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { BINARY, freePort, scenario, section, until, workDir } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';
import { nodeClient, nodeOrigin } from '../support/node.mjs';
import { daemon, run } from '../support/programs.mjs';
import { tap } from '../support/tap.mjs';

const LINKS = section('preload links', { link: 'yes' });
const css = (target, rest = '') => `<${target}>; rel=preload; as=style${rest}`;

// covers: R78 P-src-link P-src-link-skipped
const backPort = await freePort();
scenario('Link fields that a route adds to the responses of nghttpd become pushes to nghttp', {
	origins: { main: { server: `h2c://127.0.0.1:${backPort}` } },
	routes: section('route page', {
		path: '/dir/page.html', origin: 'main',
		'response-add': [
			`Link: ${css('../a.css')}, ${css('/b,c.css', '; title="a, b; nopush"')}`,
			`Link: ${css('/never.css', '; nopush')}`,
			`Link: ${css('/a.css')}`,
		],
	}) + section('route rest', { origin: 'main' }),
	extra: LINKS,
}, async (s) => {
	const dir = workDir();
	s.cleanups.push(() => fs.rmSync(dir, { recursive: true, force: true }));
	fs.mkdirSync(path.join(dir, 'dir'));
	for (const [name, bytes] of [['dir/page.html', 'page'], ['a.css', 'a'.repeat(100000)], ['b,c.css', 'b'], ['never.css', 'n']])
		fs.writeFileSync(path.join(dir, name), bytes);
	await daemon(s, 'nghttpd', ['--no-tls', '--address=127.0.0.1', `--htdocs=${dir}`, String(backPort)], backPort);
	const front = await tap(s.port);
	s.cleanups.push(() => front.close());
	const { code } = await run('nghttp', ['-nv', `http://127.0.0.1:${front.port}/dir/page.html`]);
	assert.equal(code, 0);
	const [near] = front.connections;
	const promises = near.of('server', 'PUSH_PROMISE');
	assert.deepEqual(promises.map((f) => f.headers[':path']), ['/a.css', '/b,c.css'], 'each once, without the nopush one');
	const bytes = (stream) => Buffer.concat(near.of('server', 'DATA').filter((f) => f.stream === stream).map((f) => f.data)).length;
	assert.deepEqual(promises.map((f) => bytes(f.promised)), [100000, 1]);
	const head = near.of('server', 'HEADERS').find((f) => f.stream === promises[0].stream);
	assert.ok(promises.every((f) => f.seq < head.seq), 'promised before the links are seen');
});

/* A gate before a node origin whose /page has `link`, and answers anything else with its path. */
async function linked(name, link, body, options = {}) {
	const port = await freePort();
	scenario(name, { origins: { main: { server: `h2c://127.0.0.1:${port}` } }, extra: LINKS, ...options }, async (s) => {
		s.asked = [];
		await nodeOrigin(s, port, (stream, headers) => {
			const asked = headers[':path'];
			s.asked.push(asked);
			stream.respond({ ':status': 200, ...(asked.endsWith('/page') ? { link } : {}) });
			stream.end(`this is ${asked}`);
		});
		await body(s, nodeClient(s));
	});
}

// covers: R78 P-src-link P-src-link-grammar
const fifty = Array.from({ length: 50 }, (_, i) => `/dir/f${i}.css`);
await linked('fifty relative links in one field are pushed to Node', fifty.map((p) => css(path.basename(p))).join(', '), async (s, client) => {
	const page = await client.get({ ':path': '/dir/page' });
	assert.equal(page.body, 'this is /dir/page');
	assert.deepEqual([...client.pushes.keys()], fifty);
	for (const [asked, push] of client.pushes)
		assert.equal((await push).body, `this is ${asked}`);
	assert.deepEqual([...s.asked].sort(), ['/dir/page', ...fifty].sort(), 'the origin is asked once for each');
});
await linked('duplicates, nopush and quoted commas: Node gets each resource once', [
	css('/a.css'), css('a.css'), css('./x/../a.css'), css('/no.css', '; nopush'), css('/b.css', '; title="x, </c.css>; rel=preload"'),
], async (s, client) => {
	assert.equal((await client.get({ ':path': '/page' })).status, 200);
	assert.deepEqual([...client.pushes.keys()], ['/a.css', '/b.css']);
	await Promise.all(client.pushes.values());
	assert.deepEqual([...s.asked].sort(), ['/a.css', '/b.css', '/page']);
});
const long = 60 << 10;
for (const [what, link, pushed] of [
	['one target', css(`/${'x'.repeat(long)}`), []],
	['one quoted string', css('/a.css', `; title="${'x'.repeat(long)}"`), ['/a.css']],
	['a quoted string that does not end', `${css('/a.css')}, </b.css>; title="${'x'.repeat(long)}`, ['/a.css']],
	['nothing but commas', ','.repeat(long), []],
	['thousands of links', Array.from({ length: 2000 }, (_, i) => css(`/${i}`)).join(','), Array.from({ length: 100 }, (_, i) => `/${i}`)],
])
	await linked(`a Link value of 60 KiB: ${what}`, link, async (s, client) => {
		const page = await client.get({ ':path': '/page' });
		assert.equal(page.status, 200);
		assert.equal(page.headers.link, link, 'it reaches the client as it is');
		assert.deepEqual([...client.pushes.keys()], pushed);
		await Promise.all(client.pushes.values());
		assert.equal((await client.get({ ':path': '/next' })).body, 'this is /next');
	}, { origin: { 'max-header-list': '128k' } });

/* A gate that holds what a node origin pushes: /page pushes `count` assets of `size` bytes, named for page and user. */
async function holding(name, { count, size = 10, cacheControl = 'max-age=60', ...options }, body) {
	const port = await freePort();
	scenario(name, {
		origins: { main: { server: `h2c://127.0.0.1:${port}` } }, extra: section('push hold', { action: 'hold' }), ...options,
	}, async (s) => {
		s.asked = [];
		await nodeOrigin(s, port, (stream, headers) => {
			const asked = headers[':path'];
			const user = headers.cookie ?? 'nobody';
			s.asked.push(asked);
			const answer = (out, what) => {
				out.respond({ ':status': 200, 'cache-control': cacheControl });
				out.end(`${what} for ${user} `.padEnd(size));
			};
			if (!asked.startsWith('/page'))
				return answer(stream, 'asked');
			for (let i = 0; i < count && stream.pushAllowed; i++)
				stream.pushStream({ ':path': `/asset${i}${asked.slice(5)}`, cookie: user }, (error, pushed) => {
					if (error)
						return;
					pushed.on('error', () => {});
					answer(pushed, 'pushed');
				});
			answer(stream, 'page');
		});
		await body(s);
	});
}
async function status(s) {
	const { stdout, code } = await run(BINARY, ['status', path.join(s.gate.dir, 'status')]);
	assert.equal(code, 0);
	return Object.fromEntries([...stdout.matchAll(/^(?:pushgate_)?(\w+?)(?:_total)?[ =:]+(\d+)$/gm)].map(([, key, n]) => [key, Number(n)]));
}

// covers: P-hold-bounds P-num-metrics
await holding('curl, which never asks for what is held: no more than the bounds, and the waste is counted', {
	count: 10, size: 1000, server: { 'status-socket': 'status', 'hold-max-count': 4 },
}, async (s) => {
	const { stdout, code } = await run('curl', ['-sS', '--http2-prior-knowledge', `http://127.0.0.1:${s.port}/page`]);
	assert.equal(code, 0);
	assert.match(stdout, /^page for nobody/);
	let counts;
	await until(() => `what was held is gone: ${JSON.stringify(counts)}`, async () => {
		counts = await status(s);
		return counts.holds_expired + counts.holds_evicted === 10 && s.gate.accessLines().filter((l) => l.push).length === 10;
	}, 10000 * SCALE);
	const lines = s.gate.accessLines().filter((l) => l.push);
	assert.equal(counts.pushes_held, 10);
	assert.equal(counts.holds_evicted, 6, 'four at a time, the oldest go');
	assert.equal(lines.filter((l) => l.end_reason === 'hold-count').length, 6);
	assert.equal(counts.hold_wasted_bytes, lines.reduce((sum, l) => sum + Number(l.wasted_bytes ?? 0), 0));
	assert.equal(counts.holds_claimed, 0);
});

// covers: P-hold-claim
await holding('a page with 20 assets visited twice with hold: the origin is asked for the page alone', {
	count: 20, server: { 'diary-entries': 0 },
}, async (s) => {
	const client = nodeClient(s, { enablePush: false });
	for (let visit = 0; visit < 2; visit++) {
		assert.equal((await client.get({ ':path': '/page' })).status, 200);
		const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => client.get({ ':path': `/asset${i}` })));
		for (const answer of answers) {
			assert.match(answer.body, /^pushed /);
			assert.match(answer.headers['cache-status'], /detail=held/);
		}
	}
	assert.deepEqual(s.asked, ['/page', '/page']);
});

// covers: P-hold-private
await holding('two users on one connection: 200 requests, and never what was pushed for the other', {
	/* Without `private` the response says that it is the same for all, whatever their cookies. */
	cacheControl: 'private, max-age=60',
	/* The diary knows connections, not users; and what one user leaves unclaimed may not turn pushes off. */
	count: 3, server: { 'diary-entries': 0, 'reset-rate': 10000 },
}, async (s) => {
	const client = nodeClient(s, { enablePush: false });
	const seed = Number(process.env.PUSHGATE_TEST_SEED ?? Date.now() % 100000);
	let state = seed;
	const random = (n) => {
		state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
		return (state >> 8) % n;
	};
	let held = 0;
	for (let done = 0; done < 200;) {
		const burst = Array.from({ length: Math.min(200 - done, 1 + random(8)) }, () => ({
			cookie: `user=${random(2)}`, ':path': random(3) ? `/asset${random(3)}` : '/page',
		}));
		done += burst.length;
		await Promise.all(burst.map(async (request) => {
			const answer = await client.get(request);
			assert.equal(answer.status, 200);
			assert.match(answer.body, new RegExp(`for ${request.cookie} *$`), `seed ${seed}: ${request[':path']}`);
			held += /held/.test(answer.headers['cache-status'] ?? '') ? 1 : 0;
		}));
	}
	assert.ok(held > 0, `seed ${seed}: some were answered from what was held`);
});
