/* SPDX-License-Identifier: MIT */
/*
 * Bodies of requests in HTTP/1.1 (RFC 9112 6 and 7): the origin gets the bytes that the client's framing said, or no whole
 * request.
 * The first word of a row is what it covers: a line of docs/REQUIREMENTS.md.
 */
import assert from 'node:assert/strict';
import { passed, refused, requests, whole } from '../support/http1_rows.mjs';

const post = (fields, body = '', version = 'HTTP/1.1') => [`POST PATH ${version}`, 'Host: HOST', ...fields, '', body].join('\r\n');
const chunked = (body, ...fields) => post(['Transfer-Encoding: chunked', ...fields], body);
const shown = (text) => JSON.stringify(text).slice(1, -1);
const POST = { method: 'POST' };
const is = (body) => ({ request }) => assert.equal(request.body, body);

/* A body that cannot be read on: 400 before an answer has begun, the end of the connection, no whole request. */
const faulty = (covers, name, bytes, status = 400) => whole(covers, name, async (row) => {
	const c = await row.connect1();
	c.send(row.text(bytes), [POST]);
	const r = await c.response();
	assert.ok([status].flat().includes(r.status), `${r.status}`);
	assert.equal(r.headers.connection, 'close');
	await c.over();
	assert.equal(c.responses.length, 1);
	assert.equal(c.error, null, c.error?.text);
	await row.site.serves(row.kind);
	assert.deepEqual(row.site.came(row.path), [], 'a whole request came out of it');
});
/* A body that breaks off. */
const short = (covers, name, bytes, leave) => whole(covers, name, async (row) => {
	const c = await row.connect1();
	c.send(row.text(bytes), [POST]);
	leave(c);
	/* It is in the log once it is over. */
	await row.site.scenario.gate.access((l) => l.path === row.path);
	await row.site.serves(row.kind);
	assert.deepEqual(row.site.came(row.path), [], 'it became a whole request');
	assert.ok(c.responses.length === 0 || c.responses[0].status === 400, `${c.responses[0]?.status}`);
});

requests('bodies of requests', [
	/* ---- 7.1: chunked ---- */
	passed('R320', '7.1. chunks', chunked('5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n'), is('hello, world'), POST),
	passed('R320', '7.1. no chunk but the last', chunked('0\r\n\r\n'), is(''), POST),
	passed('R320', '7.1. sizes in either case, and zeros in front', chunked(`0a\r\n0123456789\r\n00F\r\n${'x'.repeat(15)}\r\n000\r\n\r\n`), is(`0123456789${'x'.repeat(15)}`), POST),
	passed('R320', '7.1. chunks with CRLF, and what looks like the end, in them', chunked('7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n'), is('\r\n0\r\n\r\n'), POST),
	passed('R320', '7.1. every byte', chunked(`100\r\n${String.fromCharCode(...Array(256).keys())}\r\n0\r\n\r\n`), is(String.fromCharCode(...Array(256).keys())), POST),
	passed('R320', '7. the coding in upper case', post(['TRANSFER-ENCODING: Chunked'], '1\r\nx\r\n0\r\n\r\n'), is('x'), POST),
	whole('R320', '7.1. chunks that come byte by byte', async (row) => {
		const c = await row.connect1();
		c.asked.push(POST);
		for (const byte of row.text(chunked('5;a="b;c"\r\nhello\r\n1\r\n!\r\n0\r\nx-t: v\r\n\r\n'))) {
			c.send(byte);
			await new Promise(setImmediate);
		}
		assert.equal((await c.response()).status, 200);
		assert.equal((await row.site.request(row.path)).body, 'hello!');
	}),
	...['x', '', ' 5', '0x5', '+5', '-1', '5.', '5 5', '5,', '1_0', 'g', '\x005', '10000000000000005', 'fffffffffffffffff', '8000000000000000', '\t5', '5\x0b', '\xb5'].map((size) =>
		faulty('R321', `7.1. the size ${shown(size) || '(empty)'}`, chunked(`${size}\r\nhello\r\n0\r\n\r\n`))),
	...['5\r\nhelloX\r\n0\r\n\r\n', '5\r\nhello\n0\r\n\r\n', '5\r\nhello\r0\r\n\r\n', '5\nhello\r\n0\r\n\r\n', '4\r\nhello\r\n0\r\n\r\n', '5\r\r\nhello\r\n0\r\n\r\n', '5\r\nhello0\r\n\r\n', '5\r\nhello\r\n0\n\r\n', '5\r\nhello\r\n\r\n']
		.map((body) => faulty('R321', `7.1. ${shown(body)}`, chunked(body))),

	/* ---- 7.1.1 ---- */
	passed('R322', '7.1.1. extensions', chunked('5;a\r\nhello\r\n1;a=b;c="d e";f\r\n!\r\n0;last="\\""\r\n\r\n'), ({ request }) => {
		assert.equal(request.body, 'hello!');
		assert.equal(request.message?.extensions, undefined);
	}, POST),
	faulty('R322', '7.1.1. a chunk extension of 100,000 bytes', chunked(`5;a=${'x'.repeat(100000)}\r\nhello\r\n0\r\n\r\n`), [400, 413, 431]),
	faulty('R322', '7.1.1. extensions of 100,000 bytes together', chunked(`${`1;a=${'x'.repeat(100)}\r\nx\r\n`.repeat(1000)}0\r\n\r\n`), [400, 413, 431]),
	faulty('R322', '7.1.1. a bare LF in an extension', chunked('5;a=\nb\r\nhello\r\n0\r\n\r\n')),

	/* ---- 6.1, 6.3: the coding ---- */
	refused('R323', '6.3. Transfer-Encoding, then Content-Length', post(['Transfer-Encoding: chunked', 'Content-Length: 6'], '0\r\n\r\nG'), 400, POST),
	refused('R323', '6.3. Content-Length, then Transfer-Encoding', post(['Content-Length: 6', 'Transfer-Encoding: chunked'], '0\r\n\r\nG'), 400, POST),
	refused('R323', '6.3. a Content-Length of 0 and Transfer-Encoding', post(['Content-Length: 0', 'Transfer-Encoding: chunked'], '0\r\n\r\n'), 400, POST),
	refused('R324', '6.1. Transfer-Encoding in HTTP/1.0', post(['Transfer-Encoding: chunked'], '0\r\n\r\n', 'HTTP/1.0'), 400, { ...POST, version: 'HTTP/1.0' }),
	...['chunked, chunked', 'chunked\r\nTransfer-Encoding: chunked', 'chunked, gzip', 'gzip', 'identity', 'chunked, identity', 'xchunked', 'chunkedx', '"chunked"', '', ',', 'chunked;a', 'chunked;q=1', "'chunked'", 'chunked chunked', '\x0bchunked', 'chu\x00nked']
		.map((coding) => refused('R324', `6.1, 6.3. Transfer-Encoding: ${shown(coding) || '(empty)'}`, post([`Transfer-Encoding: ${coding}`], '0\r\n\r\n'), [400, 501], POST)),
	...['gzip, chunked', 'deflate, chunked', 'compress, chunked', 'x-any, chunked', 'identity, chunked', 'gzip\r\nTransfer-Encoding: chunked']
		.map((coding) => refused('R324', `6.1. Transfer-Encoding: ${shown(coding)}`, post([`Transfer-Encoding: ${coding}`], '0\r\n\r\n'), 501, POST)),

	/* ---- 6.2, 6.3: the length ---- */
	...['x', '', '-1', '+5', '5,', '5, 6', '5 5', '0x5', '5.0', '1e1', '18446744073709551616', '99999999999999999999999', '٥', '5\x0b', '"5"'].map((length) =>
		refused('R325', `6.3, RFC 9110 8.6. Content-Length: ${shown(length) || '(empty)'}`, post([`Content-Length: ${Buffer.from(length).toString('latin1')}`], 'hello'), 400, POST)),
	refused('R325', '6.3. two Content-Lengths that differ', post(['Content-Length: 5', 'Content-Length: 6'], 'hello!'), 400, POST),
	passed('R325', 'RFC 9110 8.6. two equal ones', post(['Content-Length: 5', 'content-length: 5'], 'hello'), ({ request }) => {
		assert.equal(request.body, 'hello');
		assert.equal(request.headers['content-length'], '5');
	}, POST),
	passed('R325', 'RFC 9110 8.6. zeros in front', post(['Content-Length: 0005'], 'hello'), is('hello'), POST),
	passed('R326', '6.3. POST without either', post([]), ({ request }) => {
		assert.equal(request.body, '');
		assert.equal(request.headers['transfer-encoding'], undefined);
	}, POST),
	passed('R326', '6.3. GET with a body', 'GET PATH HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\n\r\nhello', is('hello')),
	passed('R326', '6.3. HEAD with a chunked body', 'HEAD PATH HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n', is('hello'), { method: 'HEAD' }),
	passed('R326', '6.3. HTTP/1.0 with a length', post(['Content-Length: 5'], 'hello', 'HTTP/1.0'), is('hello'), { ...POST, version: 'HTTP/1.0', closes: true }),

	/* ---- 8: incomplete requests ---- */
	...[['FIN', (c) => c.finish()], ['a reset', (c) => setTimeout(() => c.abort(), 50)]].flatMap(([how, leave]) => [
		short('R327', `8. fewer bytes than Content-Length, then ${how}`, post(['Content-Length: 10'], 'hello'), leave),
		short('R327', `8. a chunk cut off, then ${how}`, chunked('a\r\nhello'), leave),
		short('R327', `8. chunks without the last, then ${how}`, chunked('5\r\nhello\r\n'), leave),
		short('R327', `8. the last chunk without its empty line, then ${how}`, chunked('5\r\nhello\r\n0\r\n'), leave),
		short('R327', `8. trailers cut off, then ${how}`, chunked('5\r\nhello\r\n0\r\nx-t: v\r\n'), leave),
	]),
	whole('R327', '8. a head cut off', async (row) => {
		const c = await row.connect1();
		c.send(`GET ${row.path} HTTP/1.1\r\nHost: ${row.host}\r\n`, [{ method: 'GET' }]).finish();
		await c.over();
		assert.ok(c.responses.length === 0 || c.responses[0].status === 400);
		await row.site.serves(row.kind);
		assert.deepEqual(row.site.came(row.path), []);
	}),

	/* ---- trailers, TE ---- */
	passed('R328', '7.1.2. trailers', chunked('5\r\nhello\r\n0\r\nX-T: v\r\nx-u:\r\n\r\n', 'Trailer: x-t', 'TE: trailers', 'Connection: TE'), ({ request }) => {
		assert.equal(request.body, 'hello');
		assert.deepEqual(request.trailers.map(([n, v]) => [n.toLowerCase(), v]), [['x-t', 'v'], ['x-u', '']]);
		assert.equal(request.headers['x-t'], undefined, 'a trailer is no field of the head');
	}, POST),
	...['Content-Length: 5', 'Transfer-Encoding: chunked', 'Host: elsewhere.test', ' folded: x', 'no colon', 'x : y', 'x: a\x00b', ':path: /x', 'x-a: b\n', 'Connection: close'].map((field) =>
		faulty('R328', `RFC 9110 6.5.1. the trailer ${shown(field)}`, chunked(`5\r\nhello\r\n0\r\n${field}\r\n\r\n`))),
	faulty('R328', '7.1.2. endless trailers', chunked(`0\r\n${'x-t: v\r\n'.repeat(30000)}\r\n`), [400, 431]),
	passed('R345', 'RFC 9110 7.6.1. a trailer that Connection names', chunked('5\r\nhello\r\n0\r\nx-t: v\r\nx-hop: 1\r\n\r\n', 'Connection: X-Hop'), ({ request }) => {
		assert.deepEqual(request.trailers.map(([n, v]) => [n.toLowerCase(), v]), [['x-t', 'v']]);
	}, POST),
	passed('R329', '7.4, RFC 9110 10.1.4. TE: deflate, trailers', chunked('0\r\n\r\n', 'TE: deflate, Trailers', 'Connection: TE'), ({ request }) => {
		assert.equal(request.headers.te?.toLowerCase(), 'trailers');
		if (request.version === 'HTTP/1.1')
			assert.match(request.headers.connection, /\bte\b/i);
	}, POST),
	passed('R329', '7.4. TE without trailers', chunked('0\r\n\r\n', 'TE: gzip', 'Connection: TE'), ({ request }) => {
		assert.equal(request.headers.te, undefined);
	}, POST),
]);
