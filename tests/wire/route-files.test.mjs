/* SPDX-License-Identifier: MIT */
/* Routes that answer from a folder (`files`): what comes of each path and method, in both versions of HTTP. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import { scenario, section, until } from '../support/gate.mjs';

const BIG = 'b'.repeat(200000);
const FILES = {
	'index.html': '<p>home', 'sub/index.html': '<p>sub', 'sub/a b.txt': 'a b', 'sub/c%2fd.txt': 'odd', 'empty.css': '', 'big.js': BIG,
	'.well-known/security.txt': 'Contact: x', '.well-known/acme-challenge/tok-en_1': 'tok.en', 'r.speculationrules.json': '{}', '.git': 'secret',
};
const JS = 'text/javascript; charset=utf-8';
/* method, path, fields of the request → status, body (undefined: any), fields of the response. */
const ROWS = [
	['GET', '/', {}, 200, '<p>home', { 'content-type': 'text/html; charset=utf-8', 'content-length': '7', 'x-content-type-options': 'nosniff' }],
	['GET', '/?a=b', {}, 200, '<p>home', {}],
	['GET', '/sub', {}, 301, '', { location: '/sub/' }],
	['GET', '/sub?a=/b', {}, 301, '', { location: '/sub/?a=/b' }],
	['GET', '/sub/', {}, 200, '<p>sub', {}],
	['GET', '/s%75b/%61%20b.txt', {}, 200, 'a b', { 'content-type': 'text/plain; charset=utf-8' }],
	['GET', '/sub/c%252fd.txt', {}, 200, 'odd', {}],
	['GET', '/sub/c%2fd.txt', {}, 404, undefined, {}],
	['GET', '/sub%2findex.html', {}, 404, undefined, {}],
	['GET', '/sub/index.html%00', {}, 404, undefined, {}],
	['GET', '/sub//index.html', {}, 404, undefined, {}],
	['GET', '/empty.css', {}, 200, '', { 'content-type': 'text/css; charset=utf-8', 'content-length': '0' }],
	['GET', '/big.js', {}, 200, BIG, { 'content-type': JS }],
	['GET', '/big.js', { range: 'bytes=0-1' }, 200, BIG, {}],
	['HEAD', '/big.js', {}, 200, '', { 'content-type': JS, 'content-length': '200000' }],
	['GET', '/r.speculationrules.json', {}, 200, '{}', { 'content-type': 'application/speculationrules+json' }],
	['GET', '/.well-known/security.txt', {}, 200, 'Contact: x', {}],
	['GET', '/.well-known/acme-challenge/tok-en_1', {}, 200, 'tok.en', { 'content-type': 'application/octet-stream' }],
	['GET', '/.git', {}, 404, undefined, {}],
	['GET', '/.well-known/', {}, 404, undefined, {}],
	['GET', '/.well-known', {}, 404, undefined, {}],
	['GET', '/none', { accept: 'application/json' }, 404, undefined, { 'content-type': 'application/problem+json' }],
	['GET', `/${'x'.repeat(3000)}`, {}, 404, undefined, {}],
	['POST', '/', {}, 405, undefined, { allow: 'GET, HEAD' }],
	['DELETE', '/none', {}, 405, undefined, { allow: 'GET, HEAD' }],
	['GET', '/', { 'if-none-match': '*' }, 304, '', {}],
	['GET', '/', { 'if-none-match': '"other"' }, 200, '<p>home', {}],
	['GET', '/', { 'if-modified-since': new Date(5000 * 1000).toUTCString() }, 304, '', { 'last-modified': new Date(5000 * 1000).toUTCString() }],
	['GET', '/', { 'if-modified-since': new Date(4999 * 1000).toUTCString() }, 200, '<p>home', {}],
	['GET', '/', { 'if-modified-since': new Date(5000 * 1000).toUTCString(), 'if-none-match': '"other"' }, 200, '<p>home', {}],
];

const readAll = (stream) => new Promise((resolve, reject) => {
	let text = '';
	stream.setEncoding('utf8').on('data', (part) => { text += part; }).on('end', () => resolve(text)).on('error', reject);
});
const ask1 = (s) => (method, asked, headers = {}) => new Promise((resolve, reject) => {
	http.request({ port: s.port, host: '127.0.0.1', method, path: asked, headers, agent: false }, async (response) => {
		resolve({ status: response.statusCode, headers: response.headers, body: await readAll(response) });
	}).on('error', reject).end();
});
function ask2(s) {
	const session = http2.connect(`http://127.0.0.1:${s.port}`);
	s.cleanups.push(() => session.destroy());
	return (method, asked, headers = {}) => new Promise((resolve, reject) => {
		const stream = session.request({ ':method': method, ':path': asked, ...headers });
		stream.on('error', reject).on('response', async (got) => resolve({ status: got[':status'], headers: got, body: await readAll(stream) }));
		stream.end();
	});
}

function write(s) {
	for (const [name, text] of Object.entries(FILES)) {
		const at = path.join(s.dir, 'www', name);
		fs.mkdirSync(path.dirname(at), { recursive: true });
		fs.writeFileSync(at, text);
		fs.utimesSync(at, 5000, 5000);
	}
}

const site = (name, options, body) => scenario(name, {
	origins: {}, ...options, prepare: write, routes: section('route site', { files: 'www' }),
}, body);

for (const [version, client] of [['HTTP/1.1', ask1], ['HTTP/2', ask2]])
	site(`each path and method over ${version}`, {}, async (s) => {
		const ask = client(s);
		for (const [method, asked, headers, status, body, fields] of ROWS) {
			const what = `${method} ${asked.slice(0, 50)} ${JSON.stringify(headers)}`;
			const got = await ask(method, asked, headers);
			assert.equal(got.status, status, what);
			if (body !== undefined)
				assert.equal(got.body, body, what);
			for (const [field, value] of Object.entries(fields))
				assert.equal(got.headers[field], value, `${field} of ${what}`);
			if (status === 200)
				assert.match(got.headers.etag, /^"[\w-]{27}"$/, what);
		}
		const { etag } = (await ask('GET', '/')).headers;
		for (const list of [etag, `"a", W/${etag}`]) {
			const again = await ask('GET', '/', { 'if-none-match': list });
			assert.deepEqual([again.status, again.headers.etag, again.body], [304, etag, '']);
		}
		assert.notEqual((await ask('GET', '/sub/')).headers.etag, etag);
		await until('the log', () => s.gate.read('access.log').includes('"status":304'));
		assert.match(s.gate.read('access.log'), /"path":"\/sub\/","status":200.*"outcome":"complete","detail":"the route answers from a folder"/);
	});

site('a path that points out of the folder finds nothing', { }, async (s) => {
	fs.writeFileSync(path.join(s.dir, 'secret'), 'secret');
	for (const asked of ['/../secret', '/sub/../../secret', '/%2e%2e/secret', '/..%2fsecret', '/sub/..%2f..%2fsecret', '/..', '//../secret', '/%252e%252e/secret', '/..%5csecret', '/./../secret']) {
		const got = await new Promise((resolve, reject) => {
			const socket = net.connect(s.port, '127.0.0.1');
			let text = '';
			socket.setEncoding('latin1').on('data', (part) => { text += part; }).on('error', reject).on('close', () => resolve(text));
			socket.write(`GET ${asked} HTTP/1.1\r\nHost: x.test\r\nConnection: close\r\n\r\n`);
		});
		assert.match(got, /^HTTP\/1\.1 40[04] /, asked);
		assert.doesNotMatch(got, /secret$/, asked);
	}
});

site('files that change, come and go are served without a restart', { single: false, server: { workers: 2, 'watch-files': 'yes', 'status-socket': 'status' } }, async (s) => {
	const ask = ask1(s);
	await s.gate.error(/ ready\n/);
	const workers = s.gate.workers();
	const first = await ask('GET', '/');
	const www = path.join(s.dir, 'www');
	fs.writeFileSync(path.join(www, 'index.html'), '<p>another');
	fs.mkdirSync(path.join(www, 'new'));
	fs.writeFileSync(path.join(www, 'new', 'x.txt'), 'new');
	fs.rmSync(path.join(www, 'big.js'));
	/* Each worker takes the files by itself. */
	await until('all changes', async () => {
		for (let i = 0; i < 8; i++) {
			const [page, made, gone] = [await ask('GET', '/', { 'if-none-match': first.headers.etag }), await ask('GET', '/new/x.txt'), await ask('GET', '/big.js')];
			if (page.body !== '<p>another' || made.body !== 'new' || gone.status !== 404)
				return false;
		}
		return true;
	});
	assert.deepEqual(s.gate.workers(), workers);
});
