/* SPDX-License-Identifier: MIT */
/*
 * Requests in HTTP/1.1 as bytes (RFC 9112 2 to 5): what is not a request is refused, and nothing of it is seen at an origin
 * of either version; what is one arrives there as it was meant.
 * The first word of a row is what it covers: a line of docs/REQUIREMENTS.md.
 */
import assert from 'node:assert/strict';
import { assertRefused, passed, refused, requests, whole } from '../support/http1_rows.mjs';

const get = (...fields) => ['GET PATH HTTP/1.1', 'Host: HOST', ...fields, '', ''].join('\r\n');
const line = (first, host = 'Host: HOST') => [first, ...(host ? [host] : []), '', ''].join('\r\n');
/* All x-… fields but those in which the origin is told of the client. */
const own = (request) => request.fields.filter(([n]) => /^x-(?!forwarded-|real-ip)/.test(n));
const shown = (text) => JSON.stringify(text).slice(1, -1);

requests('requests', [
	/* ---- 2.2: lines ---- */
	refused('R300', '2.2. LF alone behind the request line', 'GET PATH HTTP/1.1\nHost: HOST\r\n\r\n'),
	refused('R300', '2.2. LF alone behind a field', 'GET PATH HTTP/1.1\r\nHost: HOST\nx-a: b\r\n\r\n'),
	refused('R300', '2.2. LF alone as the empty line', 'GET PATH HTTP/1.1\r\nHost: HOST\r\n\n'),
	refused('R300', '2.2. CR alone behind the request line', 'GET PATH HTTP/1.1\rHost: HOST\r\n\r\n'),
	refused('R300', '2.2. CR alone in a value', get('x-a: b\rc')),
	refused('R300', '2.2. CR CR LF', get('x-a: b\r')),
	refused('R300', '2.2. CR in the target', line('GET PATH\r?a HTTP/1.1')),
	passed('R301', '2.2. an empty line before the request line', `\r\n${get()}`),
	refused('R301', '2.2. a line of spaces before the request line', ` \r\n${get()}`),
	refused('R301', '2.2. whitespace before the first field', 'GET PATH HTTP/1.1\r\n x-a: b\r\nHost: HOST\r\n\r\n'),
	refused('R301', '2.2. a tab before the first field', 'GET PATH HTTP/1.1\r\n\tHost: HOST\r\n\r\n'),

	/* ---- 2.3: versions ---- */
	...['HTTP/2.0', 'HTTP/3.0', 'HTTP/0.9', 'HTTP/9.9'].map((v) => refused('R302', `2.3. ${v}`, line(`GET PATH ${v}`), 505)),
	refused('R302', '2.3. HTTP/1.2, of which nobody knows how it frames', line('GET PATH HTTP/1.2'), 505),
	...['http/1.1', 'Http/1.1', 'HTTP/1', 'HTTP/1.', 'HTTP/11', 'HTTP/1.10', 'HTTP/01.1', 'HTTP/1,1', 'HTTP 1.1', 'HTTP/1.1x', 'HTTPS/1.1', 'RTSP/1.0', 'ICE/1.0', 'HTTP/-1.1', 'HTTP/1.\xb9']
		.map((v) => refused('R302', `2.3. the version ${shown(v)}`, line(`GET PATH ${v}`), [400, 505])),
	refused('R302', '2.3. HTTP/0.9, a line without version', 'GET PATH\r\n'),
	passed('R302', '2.3. HTTP/1.0', line('GET PATH HTTP/1.0'), ({ request }) => {
		assert.notEqual(request.version, 'HTTP/1.0', 'a gateway says its own version');
	}, { version: 'HTTP/1.0', closes: true }),

	/* ---- 3: the request line ---- */
	...['GET  PATH HTTP/1.1', 'GET PATH  HTTP/1.1', ' GET PATH HTTP/1.1', 'GET\tPATH\tHTTP/1.1', 'GET PATH HTTP/1.1 ', 'GET PATH /other HTTP/1.1', 'GET PATH\x0bHTTP/1.1',
		'GET PATH\xa0HTTP/1.1', 'PATH HTTP/1.1', 'GET', 'GET HTTP/1.1', ':', '\0', '\x16\x03\x01\x02']
		.map((text) => refused('R303', `3. ${shown(text)} as request line`, line(text))),
	passed('R304', '3. a request line of 8000 bytes', (r) => line(`GET ${r.path.padEnd(7983, 'x')} HTTP/1.1`), ({ request, row }) => {
		assert.equal(request.target, row.path.padEnd(7983, 'x'));
	}, { path: (r) => r.path.padEnd(7983, 'x') }),
	refused('R304', '3. a target of 200,000 bytes', line(`GET PATH${'x'.repeat(200000)} HTTP/1.1`), 414),
	whole('R304', '3. a target that does not end is refused before it does', async (row) => {
		const c = await row.connect1();
		c.send(`GET ${row.path}`, [{ method: 'GET' }]);
		for (let i = 0; i < 200 && !c.responses.length && !c.end; i++) {
			c.send('x'.repeat(4096));
			await new Promise(setImmediate);
		}
		await assertRefused(c, 414);
		assert.deepEqual(row.site.came(row.path), []);
	}),
	...['get', 'Get', 'PROPFIND', 'M-SEARCH', 'PRI', 'PRIX', 'BREW', '!#$%&\'*+-.^_`|~09azAZ', 'X'.repeat(100)]
		.map((method) => passed('R305', `3.1. the method ${method.slice(0, 30)}`, line(`${method} PATH HTTP/1.1`), ({ request }) => {
			assert.equal(request.method, method);
		}, { method })),
	...['GE(T', 'GET:', 'G\x80T', 'G\0T', 'G,T', '"GET"', 'G/T', 'G@T'].map((method) => refused('R305', `3.1. the method ${shown(method)}`, line(`${method} PATH HTTP/1.1`))),

	/* ---- 3.2: Host ---- */
	refused('R306', '3.2. no Host', line('GET PATH HTTP/1.1', null)),
	refused('R306', '3.2. no Host in HTTP/1.0, and no route for any host', line('GET PATH HTTP/1.0', null), 400, { version: 'HTTP/1.0' }),
	refused('R306', '3.2. two Hosts', get('Host: elsewhere.test')),
	refused('R306', '3.2. the same Host twice', get('host: HOST')),
	refused('R306', '3.2. two Hosts in HTTP/1.0', 'GET PATH HTTP/1.0\r\nHost: HOST\r\nHost: HOST\r\n\r\n', 400, { version: 'HTTP/1.0' }),
	...['', 'HOST/x', 'user@HOST', 'user:pass@HOST', 'HOST:x', 'HOST:80:80', 'HOST:-1', 'HOST:99999', 'a b', 'HOST, HOST', '[::1', '::1', 'http://HOST', 'HOST#x', 'HOST?x', ':80', 'HO\x80ST', 'a%zz', '<HOST>']
		.map((host) => refused('R306', `3.2. Host: ${shown(host) || '(empty)'}`, line('GET PATH HTTP/1.1', `Host: ${host}`))),
	...['HOST', 'HOST:80', 'HOST.', 'HOST:'].map((host) => passed('R306', `3.2. Host: ${host}`, line('GET PATH HTTP/1.1', `Host: ${host}`), ({ request, row }) => {
		assert.equal(request.host, host.replace('HOST', row.host));
	})),
	passed('R306', '3.2. Host in another case', (r) => line('GET PATH HTTP/1.1', `hOsT:${r.host.toUpperCase()}`)),

	/* ---- 3.2.1: origin-form ---- */
	...['?', '?a=b&c=%20%2f', '/%2e%2E/..;/a%00', '//double///slash/', '/./a/../b', "/!$&'()*+,;=:@-._~", '/%zz', '?a/b?c', '/\x80\xff', '/a\\b', '/"<>[]^`{|}']
		.map((tail) => passed('R307', `3.2.1, RFC 9110 7.7. the path with ${shown(tail)}`, line(`GET PATH${tail} HTTP/1.1`), ({ request, row }) => {
			assert.equal(request.target, `${row.path}${tail}`);
		}, { path: `PATH${tail}` })),
	...['/a#b', '/a b', '/a\tb', '/a\x7fb', '/a\x01b'].map((tail) => refused('R307', `3.2.1. the path with ${shown(tail)}`, line(`GET PATH${tail} HTTP/1.1`))),
	refused('R307', '3.2. a target without slash', (r) => line(`GET ${r.path.slice(1)} HTTP/1.1`)),

	/* ---- 3.2.2: absolute-form ---- */
	passed('R308', '3.2.2. absolute-form', line('GET http://HOSTPATH HTTP/1.1'), ({ request, row }) => {
		assert.equal(request.target, row.path);
		assert.equal(request.host, row.host);
	}),
	passed('R308', '3.2.2. absolute-form with a Host that says the same otherwise', (r) => line(`GET HTTP://${r.host.toUpperCase()}:80PATH HTTP/1.1`), ({ request, row }) => {
		assert.equal(request.host.toLowerCase(), `${row.host}:80`);
	}),
	passed('R308', '3.2.2. absolute-form in HTTP/1.0 without Host', line('GET http://HOSTPATH HTTP/1.0', null), ({ request, row }) => {
		assert.equal(request.host, row.host);
	}, { version: 'HTTP/1.0', closes: true }),
	refused('R308', '3.2.2. absolute-form without Host', line('GET http://HOSTPATH HTTP/1.1', null)),
	...['elsewhere.test', 'HOST:81', '', 'a.test.b.test'].map((host) => refused('R308', `3.2.2. absolute-form, and Host: ${host || '(empty)'}`, line('GET http://HOSTPATH HTTP/1.1', `Host: ${host}`))),
	passed('R309', '3.2.2. absolute-form without path', line('GET http://HOST?x=PATH HTTP/1.1'), ({ request, row }) => {
		assert.equal(request.target, `/?x=${row.path}`);
	}, { path: '/?x=PATH' }),
	...['http://PATH', 'http:PATH', 'http:/HOSTPATH', '://HOSTPATH', 'http://user@HOSTPATH', 'http://user:pass@HOSTPATH', 'http://HOST:xPATH', 'http://HOST PATH', 'http://HO\\STPATH', '1http://HOSTPATH', 'ht_tp://HOSTPATH']
		.map((target) => refused('R309', `3.2.2, RFC 9110 4.2. the target ${target}`, line(`GET ${target} HTTP/1.1`))),
	...['ftp', 'ws', 'x-any'].map((scheme) => whole('R309', `RFC 9110 7.4. the scheme ${scheme}`, async (row) => {
		const c = await row.connect1();
		c.send(row.text(line(`GET ${scheme}://HOSTPATH HTTP/1.1`)), [{ method: 'GET' }]);
		assert.equal((await c.response()).status, 421);
		await row.site.serves(row.kind);
		assert.deepEqual(row.site.came(row.path), []);
	})),

	/* ---- 3.2.3, 3.2.4 ---- */
	whole('R310', '3.2.4. OPTIONS *', async (row) => {
		for (const target of ['*', `http://${row.host}`]) {
			const c = await row.connect1();
			const asterisks = () => row.site.came('*').filter((x) => x === 'OPTIONS *').length;
			const before = asterisks();
			c.request('OPTIONS', target, [['host', row.host]]);
			assert.equal((await c.response()).status, 200);
			assert.equal(asterisks(), before + 1, `for ${target}`);
		}
	}),
	passed('R310', '3.2.4. OPTIONS of an absolute-form with a slash', line('OPTIONS http://HOST/?x=PATH HTTP/1.1'), ({ request, row }) => {
		assert.equal(request.target, `/?x=${row.path}`);
	}, { method: 'OPTIONS', path: '/?x=PATH' }),
	...['GET', 'POST', 'options', 'HEAD'].map((method) => refused('R310', `3.2.4. ${method} *`, line(`${method} * HTTP/1.1`), 400, { method })),
	refused('R310', '3.2.4. OPTIONS **', line('OPTIONS ** HTTP/1.1'), 400, { method: 'OPTIONS' }),
	...['HOST', 'HOST:', 'HOST:0', 'HOST:x', 'PATH', 'http://HOSTPATH', '*', 'user@HOST:443', ':443', 'HOST:443/'].map((target) =>
		refused('R311', `3.2.3, RFC 9110 9.3.6. CONNECT ${target}`, line(`CONNECT ${target} HTTP/1.1`), 400, { method: 'CONNECT' })),
	refused('R311', '3.2.3. a good CONNECT', 'CONNECT HOST:443 HTTP/1.1\r\nHost: HOST:443\r\n\r\n', 501, { method: 'CONNECT' }),
	refused('R311', '3.2.3. a good CONNECT whose Host has no port, as in RFC 9110 9.3.6', 'CONNECT HOST:443 HTTP/1.1\r\nHost: HOST\r\n\r\n', 501, { method: 'CONNECT' }),
	refused('R311', '3.2.3. CONNECT with another Host', 'CONNECT HOST:443 HTTP/1.1\r\nHost: elsewhere.test\r\n\r\n', 400, { method: 'CONNECT' }),
	refused('R311', '3.2.3. CONNECT with another port in Host', 'CONNECT HOST:443 HTTP/1.1\r\nHost: HOST:444\r\n\r\n', 400, { method: 'CONNECT' }),
	refused('R311', '3.2.3. authority-form for GET', line('GET HOST:80 HTTP/1.1')),

	/* ---- 3.3 ---- */
	passed('R312', '3.3. http in cleartext', get(), ({ request }) => assert.equal(request.scheme, 'http'), { only: 'h2' }),
	passed('R312', '3.3. https over TLS', get(), ({ request }) => assert.equal(request.scheme, 'https'), { only: 'h2', tls: true }),
	passed('R312', '3.3. over TLS to an origin of HTTP/1.1', get(), ({ request, row }) => assert.equal(request.host, row.host), { only: 'h1', tls: true }),
	...[['https', false], ['http', true]].map(([scheme, tls]) => whole('R312', `RFC 9110 7.4. ${scheme} ${tls ? 'over TLS' : 'in cleartext'} is misdirected`, async (row) => {
		const c = await row.connect1({ tls });
		c.send(row.text(line(`GET ${scheme}://HOSTPATH HTTP/1.1`)), [{ method: 'GET' }]);
		assert.equal((await c.response()).status, 421);
		await row.site.serves(row.kind);
		assert.deepEqual(row.site.came(row.path), []);
	})),

	/* ---- 5: fields ---- */
	...['x-a : b', 'x-a\t: b', 'x-a', 'x-a b', ': b', 'x a: b', 'x(a): b', 'x/a: b', 'x@a: b', 'x"a: b', 'x\x80: b', 'x\0: b', 'x;a: b', '[x]: b', ':path: /x', ':method: POST', 'Content-Length : 5', 'Transfer-Encoding : chunked']
		.map((field) => refused('R313', `5.1. the field line ${shown(field)}`, get(field))),
	passed('R314', '5.1. whitespace around values, and empty ones', get('x-a: \t b c \t ', 'x-b:', 'x-c: ', 'x-d:e', 'x-e:\t', 'x-f: a\tb'), ({ request }) => {
		assert.deepEqual(own(request), [['x-a', 'b c'], ['x-b', ''], ['x-c', ''], ['x-d', 'e'], ['x-e', ''], ['x-f', 'a\tb']]);
	}),
	...['x-a: b\r\n c', 'x-a: b\r\n\tc', 'x-a:\r\n b', 'x-a: b\r\n  ', 'Transfer-Encoding:\r\n chunked', 'Content-Length: 1\r\n 0'].map((field) => refused('R315', `5.2. ${shown(field)}`, get(field))),
	...['\0', '\x01', '\x08', '\x0b', '\x0c', '\x1b', '\x1f', '\x7f'].map((byte) => refused('R316', `RFC 9110 5.5. ${shown(byte)} in a value`, get(`x-a: b${byte}c`))),
	passed('R316 R318', 'RFC 9110 5.5. every byte that a value may have', get(`x-a: <${String.fromCharCode(9, ...Array.from({ length: 224 }, (_, i) => i + 32).filter((i) => i !== 127))}>`), ({ request }) => {
		assert.equal(request.headers['x-a'].length, 2 + 224);
		assert.match(request.headers['x-a'], /\x80.*\xff>$/);
	}),
	passed('R318', '2.2. bytes that are no UTF-8', get('x-a: \xc3\x28 \xff\xfe'), ({ request }) => assert.equal(request.headers['x-a'], '\xc3\x28 \xff\xfe')),
	passed('R318', 'RFC 9110 5.3. equal names in their order', get('x-a: 1', 'x-b: 2', 'X-A: 3', 'x-a: '), ({ request }) => {
		assert.deepEqual(own(request), [['x-a', '1'], ['x-b', '2'], ['x-a', '3'], ['x-a', '']]);
	}),
	refused('R317', 'RFC 9110 5.4. a field of 200,000 bytes', get(`x-a: ${'x'.repeat(200000)}`), 431),
	refused('R317', 'RFC 9110 5.4. 70,000 bytes of fields', get(...Array.from({ length: 70 }, (_, i) => `x-${i}: ${'x'.repeat(1000)}`)), 431),
	refused('R317', 'RFC 9110 5.4. very many fields', get(...Array.from({ length: 20000 }, () => 'a:')), 431),
	passed('R317', 'RFC 9110 5.4. 30,000 bytes of fields', get(...Array.from({ length: 30 }, (_, i) => `x-${i}: ${'x'.repeat(1000)}`)), ({ request }) => {
		assert.equal(request.headers['x-29'].length, 1000);
	}),
]);
