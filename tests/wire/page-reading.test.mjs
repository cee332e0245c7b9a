// SPDX-License-Identifier: MIT
// Pages and stylesheets are read while they pass: every byte reaches the client as it came, and what they name is remembered.
import assert from 'node:assert/strict';
import http from 'node:http';
import http2 from 'node:http2';
import zlib from 'node:zlib';
import { freePort, scenario, section, until } from '../support/gate.mjs';
import { realPages } from '../support/real_pages.mjs';

const PAGES = 600;
const AT_A_TIME = 8;
/* Of a page in single bytes, so many are single. */
const SINGLE_BYTES = 1500;
const DOCUMENT = { 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' };
const READ = 'pushgate_page_readings_total{result="read"}', GIVEN_UP = 'pushgate_page_readings_total{result="given-up"}';

/* An origin of HTTP/1.1, in which each write is a chunk, and one for each piece. `serve(path, response)` answers. */
function origin(serve) {
	return {
		server: { 'status-socket': 'status' },
		origins: { main: { server: 'http://127.0.0.1:PORT' } },
		extra: section('preload pages', { remembered: 'propose' }),
		async prepare(s) {
			const port = await freePort();
			const server = http.createServer((request, response) => serve(request.url, response, request));
			await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
			s.cleanups.push(() => new Promise((resolve) => {
				server.closeAllConnections();
				server.close(resolve);
			}));
			s.options.origins.main.server = `http://127.0.0.1:${port}`;
		},
	};
}

/* GETs on one connection, from an address of its own: { status, headers, body, hints, isWhole }. */
function browser(s, localAddress = '127.0.0.1') {
	const session = http2.connect(`http://127.0.0.1:${s.port}`, { localAddress, settings: { enablePush: false } });
	session.on('error', () => {});
	s.cleanups.push(() => session.destroy());
	return (path, fields = {}) => new Promise((resolve) => {
		const stream = session.request({ ':path': path, ':authority': 'a.example', ...fields });
		const got = { body: [], hints: [] };
		stream.on('error', () => {});
		stream.on('headers', (headers) => got.hints.push(headers.link));
		stream.on('response', (headers) => Object.assign(got, { status: headers[':status'], headers }));
		stream.on('data', (octets) => got.body.push(octets));
		stream.on('close', () => resolve({ ...got, body: Buffer.concat(got.body), isWhole: stream.rstCode === 0 }));
	});
}

function inSingleBytes(response, body) {
	response.cork();
	for (let i = 0; i < Math.min(SINGLE_BYTES, body.length); i++)
		response.write(body.subarray(i, i + 1));
	response.end(body.subarray(SINGLE_BYTES));
	response.uncork();
}

const pages = realPages(PAGES);
const FORMS = {
	plain: { send: (response, body) => response.end(body) },
	bytes: { send: inSingleBytes },
	gzip: { coding: 'gzip', encode: zlib.gzipSync, send: (response, body) => response.end(body) },
	'gzip-bytes': { coding: 'gzip', encode: zlib.gzipSync, send: inSingleBytes },
	br: { coding: 'br', encode: (body) => zlib.brotliCompressSync(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }), send: (response, body) => response.end(body) },
};
const sent = new Map();
for (const [name, form] of Object.entries(FORMS))
	// covers: P-src-remembered-reading
	scenario(`every byte of ${pages.length} real pages reaches the client as it came: ${name}`, {
		...origin((path, response) => {
			const body = sent.get(path);
			response.writeHead(200, { 'content-type': 'text/html', ...(form.coding ? { 'content-encoding': form.coding } : {}) });
			form.send(response, body);
		}), timeout: 300000,
	}, async (s) => {
		const get = browser(s);
		assert.ok(pages.length > 50, `only ${pages.length} pages on this machine`);
		for (let at = 0; at < pages.length; at += AT_A_TIME)
			await Promise.all(pages.slice(at, at + AT_A_TIME).map(async ({ name: file, body }, i) => {
				const path = `/${name}/${at + i}`;
				sent.set(path, form.encode ? form.encode(body) : body);
				const got = await get(path, DOCUMENT);
				assert.equal(got.status, 200);
				assert.ok(got.isWhole && got.body.equals(sent.get(path)), `${file} has changed`);
				sent.delete(path);
			}));
		const { [READ]: read, [GIVEN_UP]: givenUp } = s.gate.counters();
		assert.equal(read + givenUp, pages.length);
		assert.ok(givenUp < pages.length / 20, `${givenUp} of ${pages.length} were given up`);
	});

const HEAD = '<!doctype html><title>x</title><link rel=stylesheet href=/a.css><script src=/b.js></script><p>text';

// covers: P-src-remembered
scenario('what the head of a page and its stylesheet name is hinted to the third client', {
	...origin((path, response) => {
		const isCss = path.endsWith('.css');
		response.writeHead(200, { 'content-type': isCss ? 'text/css' : 'text/html; charset=UTF-8', 'cache-control': 'max-age=60', 'content-encoding': 'gzip' });
		response.end(zlib.gzipSync(isCss ? '@font-face { font-family: x; src: url(f.woff2) }' : HEAD));
	}),
	extra: section('preload pages', { remembered: 'apply' }) + section('push all', { action: 'hint' }),
}, async (s) => {
	for (const n of [1, 2, 3]) {
		const get = browser(s, `127.0.0.${n}`);
		assert.equal((await get('/page', DOCUMENT)).status, 200);
		assert.equal((await get('/a.css', { referer: 'http://a.example/page', 'sec-fetch-dest': 'style' })).status, 200);
	}
	const { hints: [link] } = await browser(s, '127.0.0.9')('/page', DOCUMENT);
	assert.match(String(link), /<\/a\.css>; rel=preload; as=style/);
	assert.match(String(link), /<\/b\.js>; rel=preload; as=script/);
	assert.match(String(link), /<\/f\.woff2>; rel=preload; as=font; crossorigin/);
});

// covers: P-src-remembered
{
	/* The page is answered behind its style sheet, which no client asks for. */
	const waiting = [];
	const answer = (response, type, body) => response.writeHead(200, { 'content-type': type, 'cache-control': 'max-age=60' }).end(body);
	scenario('what a style sheet names that is held, and that no client has claimed, is hinted to the third client', {
		...origin((path, response) => {
			if (path === '/page')
				return waiting.push(response);
			return answer(response, 'text/css', '@font-face { font-family: x; src: url(f.woff2) }');
		}),
		server: { 'status-socket': 'status', 'hold-shared': 'no' },
		extra: section('preload pages', { remembered: 'apply', add: '/a.css' }) + section('push all', { action: 'hint+hold' }),
	}, async (s) => {
		for (const n of [1, 2, 3]) {
			const page = browser(s, `127.0.0.${n}`)('/page', DOCUMENT);
			await until('the style sheet is read', () => s.gate.counters()[READ] >= 2 * n - 1);
			await until('the origin has the request', () => waiting.length === 1);
			answer(waiting.pop(), 'text/html', '<!doctype html><p>text');
			const { hints } = await page;
			assert.equal(/<\/f\.woff2>; rel=preload; as=font; crossorigin/.test(String(hints[0])), n === 3, `client ${n}: ${hints}`);
		}
	});
}

scenario('what is no page of UTF-8 or ASCII is not read', origin((path, response) => {
	const types = { '/json': 'application/json', '/utf16': 'text/html; charset=utf-16', '/sjis': 'text/html;charset="Shift_JIS"', '/coding': 'text/html', '/status': 'text/html' };
	response.writeHead(path === '/status' ? 404 : 200, { 'content-type': types[path], ...(path === '/coding' ? { 'content-encoding': 'compress' } : {}) });
	response.end(HEAD);
}), async (s) => {
	const get = browser(s);
	for (const path of ['/json', '/utf16', '/sjis', '/status', '/coding'])
		assert.equal(String((await get(path, DOCUMENT)).body), HEAD);
	const counters = s.gate.counters();
	assert.equal(counters[READ] + counters[GIVEN_UP], 0);
});

const BOMB = Buffer.alloc(64 << 20, ' ');
const BOMBS = { '/gzip': zlib.gzipSync(BOMB), '/br': zlib.brotliCompressSync(BOMB, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } }) };
scenario('a bomb ends the reading, and passes', origin((path, response) => {
	response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': path.slice(1) });
	response.end(BOMBS[path]);
}), async (s) => {
	const get = browser(s), before = s.gate.rss();
	for (const path of Object.keys(BOMBS)) {
		const { body } = await get(path, DOCUMENT);
		assert.ok(body.equals(BOMBS[path]));
	}
	const counters = s.gate.counters();
	assert.equal(counters[READ] + counters[GIVEN_UP], 2);
	assert.ok(s.gate.rss() - before < BOMB.length / 2, `${s.gate.rss() - before} bytes more`);
});

scenario('a page that breaks off, names too much or is no gzip teaches nothing', {
	...origin((path, response) => {
		response.writeHead(200, { 'content-type': 'text/html', ...(path === '/no-gzip' ? { 'content-encoding': 'gzip' } : {}) });
		if (path === '/broken')
			response.write('<!doctype html><link rel=stylesheet href=/a.css>', () => response.destroy());
		else if (path === '/many')
			response.end(Array.from({ length: 10_000 }, (_, i) => `<link rel=stylesheet href=/${i}.css>`).join(''));
		else
			response.end(HEAD);
	}),
}, async (s) => {
	const get = browser(s);
	assert.equal((await get('/broken', DOCUMENT)).isWhole, false);
	assert.equal((await get('/many', DOCUMENT)).status, 200);
	assert.equal(String((await get('/no-gzip', DOCUMENT)).body), HEAD);
	const counters = s.gate.counters();
	assert.equal(counters[READ], 0);
	assert.equal(counters[GIVEN_UP], 3);
	assert.equal(counters['pushgate_lessons_total{result="taken"}'], 0);
});

scenario('a client that leaves while its page is read, and a worker that ends, leave nothing behind', {
	...origin((path, response) => {
		response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' });
		const stream = zlib.createGzip();
		stream.pipe(response);
		stream.write('<!doctype html><link rel=stylesheet href=/a.css>');
		stream.flush();
	}), server: { 'status-socket': 'status', 'drain-timeout': '1s' },
}, async (s) => {
	const session = http2.connect(`http://127.0.0.1:${s.port}`);
	session.on('error', () => {});
	s.cleanups.push(() => session.destroy());
	const load = () => new Promise((resolve) => {
		const stream = session.request({ ':path': '/page', ':authority': 'a.example', ...DOCUMENT });
		stream.on('error', () => {});
		stream.once('data', () => resolve(stream));
	});
	(await load()).close(http2.constants.NGHTTP2_CANCEL);
	await s.gate.access((line) => line.path === '/page');
	assert.equal(s.gate.counters()[GIVEN_UP], 1);
	await load();
	s.gate.child.kill('SIGTERM');
	await s.gate.ended();
});
