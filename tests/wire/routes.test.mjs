/* SPDX-License-Identifier: MIT */
/*
 * Routes as people write them, with real sockets: rewritten paths, redirects, fixed answers, conditions, weights, and lists
 * from files; over both versions of HTTP; and what explain says of them.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { BINARY, scenario, section, workDir } from '../support/gate.mjs';

const dir = workDir();
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));

function explain(s, ...args) {
	const run = spawnSync(BINARY, ['explain', '-c', s.gate.config, ...args], { encoding: 'utf8' });
	assert.equal(run.status, 0, run.stderr);
	return run.stdout;
}

/* A request in HTTP/1.1 without a body. */
function ask(s, url, { method = 'GET', headers = {} } = {}) {
	return new Promise((resolve, reject) => {
		const request = http.request({ port: s.port, path: url, method, headers: { host: 'www.example', ...headers }, agent: false }, (response) => {
			let body = '';
			response.setEncoding('utf8');
			response.on('data', (text) => { body += text; });
			response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
		});
		request.on('error', reject);
		request.end();
	});
}

/* ---- rewrite ---- */

const API = section('route api', { path: '/api', origin: 'main', rewrite: '/api /v1' }) + section('route rest', { origin: 'main' });

// covers: R491 R492
scenario('the origin gets its own paths, and the client public ones', { routes: API }, async (s) => {
	const { client, origin, up } = await s.open({ path: '/api/page?q=1' });
	assert.equal(up.headers[':path'], '/v1/page?q=1');
	origin.respond(up.stream, { status: 302, fields: {
		location: '/v1/next?q', 'content-location': '/v1/page', 'set-cookie': 'a=b; Path=/v1; Secure', link: '</v1/a.css>; rel=prefetch, </out>; rel=next',
	} });
	const { headers } = await client.response(1);
	assert.equal(headers.location, '/api/next?q');
	assert.equal(headers['content-location'], '/api/page');
	assert.equal(String(headers['set-cookie']), 'a=b; Path=/api; Secure');
	assert.equal(headers.link, '</api/a.css>; rel=prefetch, </out>; rel=next');
	const line = await s.gate.access((x) => x.path === '/api/page?q=1');
	assert.equal(line.status, 302);
});

// covers: R493
scenario('a promise gets the public path, or is refused when it points out of the prefix', { routes: API }, async (s) => {
	const { client, origin, up } = await s.open({ path: '/api/page' });
	origin.push(up, 2, '/v1/a.css');
	origin.push(up, 4, '/other/b.css');
	await origin.expectReset(4, 'CANCEL');
	const push = await client.expectPromise('/api/a.css');
	origin.respond(2, { body: 'css' });
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(push.promised)).body), 'css');
	assert.equal((await s.gate.access((x) => x.reason === 'outside-prefix')).path, '/other/b.css');
});

// covers: R491 R493
scenario('a hint, the diary and Vary know a resource by its public path', {
	routes: API, origin: { push: 'accept' },
	extra: section('push hints', { 'promised-path': '*.css', action: 'hint' }) + section('push held', { 'promised-path': '*.js', action: 'hold' }) + section('push rest', { action: 'forward' }),
}, async (s) => {
	const visit = { 'sec-fetch-mode': 'navigate', 'accept-language': 'de' };
	const { client, origin, up } = await s.open({ path: '/api/page', request: visit });
	origin.push(up, 2, '/v1/a.css');
	await origin.expectReset(2, 'CANCEL');
	const hint = await client.expectHead(1);
	assert.equal(`${hint.headers[':status']} ${hint.headers.link}`, '103 </api/a.css>; rel=preload; as=style');
	origin.push(up, 4, '/v1/b.js', { 'accept-language': 'de' });
	origin.respond(4, { fields: { 'cache-control': 'max-age=60', vary: 'accept-language' }, body: 'held' });
	origin.push(up, 6, '/v1/c.png');
	origin.respond(6, { fields: { 'cache-control': 'max-age=60' }, body: 'pushed' });
	const push = await client.expectPromise('/api/c.png');
	origin.respond(up.stream, { body: 'page' });
	await client.response(push.promised);
	await client.response(1);
	client.request(3, { path: '/api/b.js', ...visit });
	assert.equal(String((await client.response(3)).body), 'held');
	/* what the client has is promised no more, and what varies is asked for */
	client.request(5, { path: '/api/again', ...visit });
	const again = await origin.expectRequest('/v1/again');
	origin.push(again, 8, '/v1/c.png');
	await origin.expectReset(8, 'CANCEL');
	origin.push(again, 10, '/v1/d.js', { 'accept-language': 'de' });
	origin.respond(10, { fields: { 'cache-control': 'max-age=60', vary: 'accept-language' }, body: 'German' });
	origin.respond(again.stream, { body: 'page' });
	await client.response(5);
	assert.match((await s.gate.access((x) => x.path === '/api/c.png' && x.verdict === 'drop')).reason, /diary|known/);
	client.request(7, { path: '/api/d.js', ...visit, 'accept-language': 'fr' });
	origin.respond((await origin.expectRequest('/v1/d.js')).stream, { body: 'French' });
	assert.equal(String((await client.response(7)).body), 'French');
});

scenario('explain shows the path of the origin, and the public one of its promise', { routes: API }, async (s) => {
	const said = explain(s, '--promise', '/v1/a.css', '--promise', '/b.css', `http://www.example:${s.port}/api/page`);
	assert.match(said, /the origin gets the path \/v1\/page\n/);
	assert.match(said, /GET http:\/\/www\.example(:\d+)?\/api\/a\.css/);
	assert.match(said, /outside-prefix/);
});

/* ---- without an origin ---- */

fs.writeFileSync(path.join(dir, 'closed.html'), '<p>closed</p>');
fs.writeFileSync(path.join(dir, 'ok.txt'), 'fine\n');
const OWN = [
	section('route old', { path: '/old', redirect: '301 https://new.example/base{rest}' }),
	section('route moved', { path: '/moved', redirect: '/new{rest}' }),
	section('route root', { path: '/strip', redirect: '302 /{rest}' }),
	section('route www', { path: '/www', redirect: '301 https://www.{host}/' }),
	section('route closed', { path: '/closed', answer: `503 ${path.join(dir, 'closed.html')}` }),
	section('route health', { path: '/health', answer: `200 ${path.join(dir, 'ok.txt')}` }),
	section('route empty', { path: '/empty', answer: 204 }),
	section('route gone', { path: '/gone', answer: 410 }),
].join('');

// covers: R494
scenario('redirects lead where their targets say, over both versions', { routes: OWN, origins: {} }, async (s) => {
	const client = await s.connect();
	let id = -1;
	for (const [url, status, location] of [
		['/old/a/b?c=d', 301, 'https://new.example/base/a/b?c=d'], ['/old', 301, 'https://new.example/base'], ['/moved/x', 308, '/new/x'],
		['/strip//evil.example/', 302, '/evil.example/'], ['/strip/\\evil.example', 302, '/evil.example'], ['/strip', 302, '/'],
	]) {
		client.request(id += 2, { path: url });
		for (const r of [await client.response(id), await ask(s, url), await ask(s, url, { method: 'HEAD' })]) {
			assert.equal(r.status, status, url);
			assert.equal(r.headers.location, location, url);
			assert.equal(String(r.body), '', url);
		}
	}
	const line = await s.gate.access((x) => x.path === '/old');
	assert.equal(line.status, 301);
	assert.equal(line.route, 'old');
	assert.match(explain(s, `http://www.example:${s.port}/old/x`), /redirected with 301 by the route, to https:\/\/new\.example\/base\/x/);
});

/* Browsers and servers read some texts as different hosts. */
const STRANGE = ['10.1', '0x0a.0.0.1', '10.0.0.1.', 'a..example', '.a.example', 'a.example..', '%61.example', '[::ffff:10.0.0.1]', 'a,b.example', '0'];
// covers: R494
for (const [what, more, asked] of [['{host}', {}, '/www'], ['redirect-to-https', { listen: { 'redirect-to-https': '8443' } }, '/x']])
	scenario(`${what} leads to hosts alone that are names or addresses`, { routes: OWN, origins: {}, ...more }, async (s) => {
		const client = await s.connect();
		const target = (host) => (asked === '/www' ? `https://www.${host}/` : `https://${host}:8443/x`);
		let id = -1;
		for (const host of ['a.example', 'A_b.example', 'a.example.', '192.0.2.1', '[2001:db8::1]', ...STRANGE]) {
			client.request(id += 2, { path: asked, ':authority': `${host}:8080` });
			for (const r of [await client.response(id), await ask(s, asked, { headers: { host: `${host}:8080` } })]) {
				assert.equal(r.headers.location, STRANGE.includes(host) ? undefined : target(host), host);
				assert.equal(r.status, STRANGE.includes(host) ? 400 : asked === '/www' ? 301 : 308, host);
			}
		}
	});

// covers: R495
scenario('fixed answers have their status and file', { routes: OWN, origins: {} }, async (s) => {
	const client = await s.connect();
	let id = -1;
	for (const [url, status, body, type] of [
		['/health', 200, 'fine\n', 'text/plain; charset=utf-8'], ['/closed/x', 503, '<p>closed</p>', 'text/html; charset=utf-8'],
		['/empty', 204, '', undefined], ['/gone', 410, '410 Gone\n', 'text/plain'],
	]) {
		client.request(id += 2, { path: url });
		for (const r of [await client.response(id), await ask(s, url)]) {
			assert.equal(r.status, status, url);
			assert.equal(String(r.body), body, url);
			assert.equal(r.headers['content-type'], type, url);
		}
		const head = await ask(s, url, { method: 'HEAD' });
		assert.equal(head.status, status, url);
		assert.equal(head.body, '', url);
		if (body)
			assert.equal(head.headers['content-length'], String(body.length), url);
	}
	client.request(id += 2, { ':method': 'POST', path: '/closed' }, { end: false });
	assert.equal((await client.response(id)).status, 503);
	assert.match(explain(s, `http://www.example:${s.port}/gone`), /answered 410 by the route/);
});

/* ---- which route ---- */

const CONDITIONS = section('route all', { origin: 'main' })
	+ section('route write', { method: 'POST PUT', origin: 'other' })
	+ section('route beta', { path: '/app', field: 'Cookie: *beta=1*', origin: 'other' });

// covers: R490
scenario('conditions on method and fields choose the origin', { routes: CONDITIONS, origins: { main: {}, other: {} } }, async (s) => {
	const client = await s.connect();
	const origins = {};
	let id = -1;
	for (const [fields, name] of [
		[{ path: '/app/1' }, 'main'], [{ path: '/app/2', cookie: 'a=b; beta=1' }, 'other'], [{ path: '/3', cookie: 'beta=1' }, 'main'],
		[{ path: '/app/4', ':method': 'POST' }, 'other'], [{ path: '/app/5', ':method': 'DELETE' }, 'main'],
	]) {
		client.request(id += 2, fields);
		origins[name] ??= await s.accept(name);
		const up = await origins[name].expectRequest(fields.path);
		origins[name].respond(up.stream, { body: name });
		assert.equal(String((await client.response(id)).body), name);
	}
});

// covers: R490
scenario('answers of a route tell caches which fields its conditions look at', {
	routes: CONDITIONS + section('route moved', { path: '/moved', redirect: '301 /app' }) + section('route gone', { path: '/gone', answer: 410 }),
	origins: { main: {}, other: {} },
}, async (s) => {
	assert.equal((await ask(s, '/moved')).headers.vary, 'cookie');
	assert.equal((await ask(s, '/gone')).headers.vary, 'accept, cookie');
});

// covers: R496
scenario('a client stays with its side, and explain names it', {
	routes: section('route split', { origin: 'main 50, other 50' }), origins: { main: {}, other: {} },
}, async (s) => {
	const said = explain(s, '--client', '127.0.0.1', `http://www.example:${s.port}/`);
	const side = /this client's address is on the side of (\w+)/.exec(said)[1];
	for (let i = 0; i < 3; i++) {
		const client = await s.connect();
		client.request(1, { path: `/${i}` });
		s.atSide ??= await s.accept(side);
		const up = await s.atSide.expectRequest(`/${i}`);
		s.atSide.respond(up.stream, { body: side });
		assert.equal(String((await client.response(1)).body), side);
	}
});

fs.writeFileSync(path.join(dir, 'hosts.txt'), `# all of them\n${Array.from({ length: 99990 }, (_, i) => `h${i}.example`).join('\n')}\n*.w.example\n`);
fs.writeFileSync(path.join(dir, 'paths.txt'), Array.from({ length: 10000 }, (_, i) => `/p/${i}`).join('\n'));
// covers: R490
scenario('hosts and paths come from files', {
	routes: section('route listed', { 'host-file': path.join(dir, 'hosts.txt'), 'path-file': path.join(dir, 'paths.txt'), answer: 200 }), origins: {},
}, async (s) => {
	for (const [host, url, status] of [
		['h0.example', '/p/0', 200], ['H99989.example', '/p/9999/x', 200], ['a.b.w.example', '/p/77?x', 200], ['h0.example', '/p', 404],
		['h0.example', '/p/10000', 404], ['w.example', '/p/0', 421], ['h99990.example', '/p/0', 421],
	])
		assert.equal((await ask(s, url, { headers: { host } })).status, status, `${host}${url}`);
});
