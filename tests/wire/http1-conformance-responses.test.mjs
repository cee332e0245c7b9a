/* SPDX-License-Identifier: MIT */
/*
 * Responses of an origin that speaks HTTP/1.1, as bytes (RFC 9112 4 to 9): one that is not well formed is 502 and costs the
 * connection, one that breaks off never looks whole, and all others arrive at clients of either version.
 * The first word of a row is what it covers: a line of docs/REQUIREMENTS.md.
 */
import assert from 'node:assert/strict';
import { arrives, bad, cut, responses, whole } from '../support/http1_rows.mjs';

const head = (...fields) => ['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n');
const sized = (body, ...fields) => `${head(`Content-Length: ${body.length}`, ...fields)}${body}`;
const chunked = (body, ...fields) => `${head('Transfer-Encoding: chunked', ...fields)}${body}`;
const shown = (text) => JSON.stringify(text).slice(1, -1);
const is = (body, status = 200) => ({ response }) => {
	assert.equal(response.status, status);
	assert.equal(response.body, body);
};
const status = (line) => `${line}\r\nContent-Length: 0\r\n\r\n`;

responses('responses', [
	/* ---- 4: the status line ---- */
	...['HTTP/1.1 200 OK', 'HTTP/1.1 200 ', 'HTTP/1.1 200', 'HTTP/1.1 200 A phrase of \xc3\xa9 \ttabs and  spaces', 'HTTP/1.1 200 \xff', 'HTTP/1.1 200 HTTP/1.1 500'].map((line) =>
		arrives('R360', `4. ${shown(line)}`, status(line), is(''), { reused: true })),
	...['201', '206', '299', '300', '308', '399', '404', '418', '499', '500', '599', '600', '999'].map((code) =>
		arrives('R360 R376', `9110 15. status ${code}`, status(`HTTP/1.1 ${code} Whatever`), is('', Number(code)))),
	...['HTTP/2.0 200 OK', 'HTTP/0.9 200 OK', 'HTTP/1.2 200 OK', 'http/1.1 200 OK', 'HTTP/1.1 20 OK', 'HTTP/1.1 2000 OK', 'HTTP/1.1 099 OK', 'HTTP/1.1 000 OK', 'HTTP/1.1 -20 OK', 'HTTP/1.1 20x OK', 'HTTP/1.1  200 OK', 'HTTP/1.1\t200 OK',
		' HTTP/1.1 200 OK', 'HTTP/1.1 200\tOK', 'HTTP/1.1 200OK', 'HTTP/1.1 OK', 'HTTP/1.1', 'HTTP/11 200 OK', 'HTTP/1.1 200 a\0b', 'HTTP/1.1 200 a\x1bb', 'ICY 200 OK', 'RTSP/1.0 200 OK', '200 OK', '', 'GET / HTTP/1.1', '<html>', '\x16\x03\x01', '\x00\x00\x12\x04\x00']
		.map((line) => bad('R360', `4. ${shown(line) || 'an empty line'}`, status(line))),

	/* ---- 2.2, 5: lines and fields ---- */
	bad('R361', '2.2. LF alone', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'),
	bad('R361', '2.2. LF alone behind a field', 'HTTP/1.1 200 OK\r\nx: y\nContent-Length: 0\r\n\r\n'),
	bad('R361', '2.2. CR alone in a value', sized('x', 'x-a: b\rset-cookie: c')),
	bad('R361', '2.2. CR alone behind the status line', 'HTTP/1.1 200 OK\rContent-Length: 0\r\n\r\n'),
	bad('R361', '2.2. whitespace before the first field', 'HTTP/1.1 200 OK\r\n x: y\r\nContent-Length: 0\r\n\r\n'),
	...['x-a : b', 'x-a', ': b', 'x a: b', 'x\x80: b', 'x(: b', 'x\0: b', ':status: 500', 'x-a: b\0', 'x-a: b\x01', 'x-a: \x7f', 'Content-Length : 1'].map((field) =>
		bad('R361', `5.1. the field line ${shown(field)}`, chunked('1\r\nx\r\n0\r\n\r\n', field))),
	...['x-a: b\r\n c', 'x-a:\r\n\tb', 'x-a: b\r\n '].map((field) => bad('R362', `5.2. ${shown(field)}`, sized('x', field))),
	arrives('R361', '5.1. whitespace around a value is no part of it', sized('x', 'x-a: \t b \t', 'x-b:', 'x-c:d'), ({ response }) => {
		assert.deepEqual(['x-a', 'x-b', 'x-c'].map((n) => response.headers[n]), ['b', '', 'd']);
	}),

	/* ---- 6: framing ---- */
	bad('R363', '6.3. Transfer-Encoding and Content-Length', `${head('Transfer-Encoding: chunked', 'Content-Length: 1')}1\r\nx\r\n0\r\n\r\n`),
	bad('R363', '6.3. Content-Length and Transfer-Encoding', `${head('Content-Length: 11', 'Transfer-Encoding: chunked')}1\r\nx\r\n0\r\n\r\n`),
	bad('R363', '6.1. Transfer-Encoding in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n'),
	...['gzip, chunked', 'chunked, chunked', 'chunked, gzip', 'gzip', 'identity', 'xchunked', '', 'chunked;a', '"chunked"'].map((coding) =>
		bad('R363', `6.1. Transfer-Encoding: ${coding || '(empty)'}`, `${head(`Transfer-Encoding: ${coding}`)}1\r\nx\r\n0\r\n\r\n`, { end: 'fin' })),
	...['x', '', '-1', '+1', '1, 2', '1, 1', '1 1', '0x1', '1.0', '18446744073709551616'].map((length) =>
		bad('R364', `6.3. Content-Length: ${length || '(empty)'}`, `${head(`Content-Length: ${length}`)}x`)),
	bad('R364', '6.3. Content-Lengths that differ', `${head('Content-Length: 1', 'Content-Length: 2')}xy`),
	arrives('R364', '9110 8.6. equal Content-Lengths', `${head('Content-Length: 1', 'content-length: 1')}x`, ({ response }) => {
		assert.equal(response.body, 'x');
		assert.equal(response.headers['content-length'], '1');
	}, { reused: true }),

	/* ---- 7: chunked ---- */
	arrives('R365', '7.1. chunks', chunked('5\r\nhello\r\n0A;x=y\r\n, world!!!\r\n00\r\n\r\n'), is('hello, world!!!'), { reused: true }),
	arrives('R365', '7.1. no chunk but the last', chunked('0\r\n\r\n'), is(''), { reused: true }),
	arrives('R365', '7.1. extensions', chunked('1;a;b="c;\\"";d=e\r\nx\r\n0;f\r\n\r\n'), is('x'), { reused: true }),
	arrives('R365 R375', '7.1.2. trailers', chunked('1\r\nx\r\n0\r\nX-T: v\r\nx-u:\r\n\r\n', 'Trailer: x-t'), ({ response }) => {
		assert.equal(response.body, 'x');
		assert.deepEqual(response.trailers.map(([n, v]) => [n.toLowerCase(), v]), [['x-t', 'v'], ['x-u', '']]);
		assert.equal(response.headers['x-t'], undefined);
	}, { reused: true }),
	...['x\r\nhello\r\n', '\r\n', '5\nhello\r\n', '5\r\nhelloX\r\n', '5\r\nhello\n', '5\r\nhello\r0', '0x5\r\nhello\r\n', '-5\r\nhello\r\n', 'fffffffffffffffff\r\nx', '5 5\r\nhello\r\n'].map((body) =>
		cut('R365', `7.1. ${shown(body)}`, chunked(`2\r\nab\r\n${body}0\r\n\r\n`))),
	...['Content-Length: 5', 'Transfer-Encoding: chunked', ' folded: x', 'no colon', 'x : y', 'x: a\0', ':status: 500', 'x-a: b\n', 'Connection: close'].map((field) =>
		cut('R375', `RFC 9110 6.5.1. the trailer ${shown(field)}`, chunked(`2\r\nab\r\n0\r\n${field}\r\n\r\n`))),
	cut('R365', '7.1.1. endless extensions', chunked(`2\r\nab\r\n${`1;a=${'x'.repeat(100)}\r\nx\r\n`.repeat(1000)}0\r\n\r\n`)),
	cut('R375', '7.1.2. endless trailers', chunked(`2\r\nab\r\n0\r\n${'x-t: v\r\n'.repeat(30000)}\r\n`)),

	/* ---- 6.3, 8: incomplete ---- */
	...['fin', 'reset'].flatMap((end) => [
		cut('R366', `8. fewer bytes than Content-Length, then ${end}`, `${head('Content-Length: 10')}hello`, { end }),
		cut('R366', `8. a chunk cut off, then ${end}`, chunked('a\r\nhello'), { end }),
		cut('R366', `8. chunks without the last, then ${end}`, chunked('5\r\nhello\r\n'), { end }),
		cut('R366', `8. the last chunk without its empty line, then ${end}`, chunked('5\r\nhello\r\n0\r\n'), { end }),
		cut('R366', `8. trailers cut off, then ${end}`, chunked('5\r\nhello\r\n0\r\nx-t: v\r\n'), { end }),
	]),
	bad('R366', '8. a head cut off', 'HTTP/1.1 200 OK\r\nContent-Le', { end: 'fin', error: 'connection_terminated|http_response_incomplete|http_protocol_error' }),
	arrives('R366', '6.3. a body that ends with the connection', `${head()}hello`, is('hello'), { end: 'fin', reused: false }),
	arrives('R366', '6.3. the same, in HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nhello', is('hello'), { end: 'fin', reused: false }),
	cut('R366', '6.3. the same, cut off by a reset', `${head()}hello`, { end: 'reset' }),
	arrives('R366', '6.3. an empty body that ends with the connection', head(), is(''), { end: 'fin', reused: false }),

	/* ---- 6.3: no body ---- */
	...[['HEAD', '200', 'Content-Length: 100', 'HEAD'], ['HEAD with a coding', '200', 'Transfer-Encoding: chunked', 'HEAD'], ['HEAD without length', '200', 'x-a: b', 'HEAD'], ['304', '304', 'Content-Length: 100', 'GET'],
		['304 with a coding', '304', 'Transfer-Encoding: chunked', 'GET'], ['204', '204', 'x-a: b', 'GET'], ['204 with a length of 0', '204', 'Content-Length: 0', 'GET']].map(([what, code, field, method]) =>
		arrives('R367', `6.3. ${what}`, `HTTP/1.1 ${code} Whatever\r\n${field}\r\n\r\n`, is('', Number(code)), { method, reused: true })),
	arrives('R367', '6.3. 204 with a length that is not 0 has no body all the same', 'HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n', ({ response }) => {
		assert.equal(response.status, 204);
		assert.equal(response.headers['content-length'], undefined);
	}),

	/* ---- 6.3, 9.2: bytes that nobody asked for ---- */
	...[['a second response', sized('evil')], ['garbage', 'garbage'], ['CRLF', '\r\n']].map(([what, more]) =>
		arrives('R368', `9.2. ${what} behind the response`, `${sized('x')}${more}`, is('x'), { reused: false })),
	arrives('R368', '6.3. bytes behind a response to HEAD', `${head('Content-Length: 4')}evil`, is(''), { method: 'HEAD', reused: false }),
	arrives('R368', '6.3. bytes behind a 304', 'HTTP/1.1 304 Not Modified\r\n\r\nevil', is('', 304), { reused: false }),
	arrives('R368', '6.3. bytes behind a 204', 'HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\n', is('', 204), { reused: false }),
	arrives('R368', '9.2. bytes behind the last chunk', `${chunked('1\r\nx\r\n0\r\n\r\n')}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`, is('x'), { reused: false }),
	whole('R368', '9.2. a response on an idle connection', async (row) => {
		row.site.answer(row.path, (request, final) => { row.origin = request.connection; final({ body: 'x' }); });
		assert.equal((await row.ask(row.kind)).body, 'x');
		row.origin.send(sized('evil'));
		await row.origin.over();
		const next = await row.ask(row.kind, { path: `${row.path}/next` });
		assert.equal(next.body, 'page');
		assert.notEqual((await row.site.request(`${row.path}/next`)).connection, row.origin);
	}),

	/* ---- interim responses ---- */
	arrives('R369', 'RFC 9110 15.2. 103, 100, an unknown one, and the final response', `HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=x\r\n\r\nHTTP/1.1 199 What\r\nx: y\r\n\r\n${sized('x')}`, ({ response, row }) => {
		assert.equal(response.body, 'x');
		assert.deepEqual(response.interim, [103, 199]);
	}, { reused: true }),
	arrives('R369', 'RFC 9110 8.6. a length in an interim response means nothing', `HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n${sized('x')}`, is('x'), { reused: true }),
	bad('R369', '6.1. a coding in an interim response', `HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n${sized('x')}`),
	bad('R369', 'RFC 9110 7.8. a 101 that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nevil'),
	bad('R369', 'RFC 9110 15.2. endless interim responses', `${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)}${sized('x')}`),
	bad('R369', 'RFC 9110 15.2. an interim response and then the end', 'HTTP/1.1 103 Early Hints\r\n\r\n', { end: 'fin', error: 'connection_terminated|http_response_incomplete|http_protocol_error' }),

	/* ---- the connection ---- */
	arrives('R370', '9.3. keep-alive by default', sized('x'), is('x'), { reused: true }),
	...['close', 'Close', 'x-a, CLOSE', 'keep-alive, close'].map((value) => arrives('R370', `9.6. Connection: ${value}`, sized('x', `Connection: ${value}`), is('x'), { reused: false })),
	arrives('R370', '9.3. HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx', is('x'), { reused: false }),
	arrives('R370', '9.3. HTTP/1.0 with keep-alive', 'HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx', is('x'), { reused: true }),
	arrives('R371', 'RFC 9110 7.6.1. what Connection names, and what is for one hop', sized('x', 'Connection: X-Hop , x-other', 'x-hop: 1', 'X-Other: 2', 'Keep-Alive: timeout=50', 'Proxy-Connection: keep-alive', 'Upgrade: h2c', 'x-end: 3'), ({ response }) => {
		for (const name of ['x-hop', 'x-other', 'keep-alive', 'proxy-connection', 'upgrade', 'transfer-encoding'])
			assert.equal(response.headers[name], undefined, name);
		assert.equal(response.headers['x-end'], '3');
	}, { reused: true }),
	...['Content-Length', 'Transfer-Encoding'].map((name) => bad('R371', `RFC 9110 7.6.1. a response whose Connection names ${name}`, `${head(`Connection: ${name}`, 'Content-Length: 1')}x`)),
	arrives('R371', 'RFC 9110 7.6.1. a trailer that Connection names', chunked('1\r\nx\r\n0\r\nx-hop: 1\r\nx-t: v\r\n\r\n', 'Connection: x-hop'), ({ response }) => {
		assert.deepEqual(response.trailers.map(([n, v]) => [n.toLowerCase(), v]), [['x-t', 'v']]);
	}),

	/* ---- what goes through ---- */
	arrives('R374', 'RFC 9110 6.6.1. no Date', sized('x'), ({ response }) => assert.ok(Math.abs(Date.parse(response.headers.date) - Date.now()) < 100000, response.headers.date)),
	arrives('R374', 'RFC 9110 6.6.1. a Date', sized('x', 'Date: Sun, 06 Nov 1994 08:49:37 GMT'), ({ response }) => assert.equal(response.headers.date, 'Sun, 06 Nov 1994 08:49:37 GMT')),
	arrives('R376', 'RFC 9110 5.3. equal names in their order, set-cookie each for itself, every byte', sized('x', 'Set-Cookie: a=1', 'x-list: one, two', 'SET-COOKIE: b=2, c', 'x-list:', 'x-list: three',
		`x-bytes: <${String.fromCharCode(9, ...Array.from({ length: 224 }, (_, i) => i + 32).filter((i) => i !== 127))}>`), ({ response }) => {
		const values = (name) => response.fields.filter(([n]) => n.toLowerCase() === name).map(([, v]) => v);
		assert.deepEqual(values('set-cookie'), ['a=1', 'b=2, c']);
		assert.deepEqual(values('x-list'), ['one, two', '', 'three']);
		assert.equal(values('x-bytes')[0].length, 226);
	}),
	arrives('R376', 'RFC 9110 7.7. content as it came', (() => {
		const body = String.fromCharCode(...Array(256).keys()).repeat(300);
		return sized(body, 'Content-Encoding: x-any', 'Content-Type: application/octet-stream', 'ETag: "a"', 'Cache-Control: no-transform');
	})(), ({ response }) => {
		assert.equal(response.body, String.fromCharCode(...Array(256).keys()).repeat(300));
		assert.equal(response.headers.etag, '"a"');
		assert.equal(response.headers['content-encoding'], 'x-any');
	}),
]);
