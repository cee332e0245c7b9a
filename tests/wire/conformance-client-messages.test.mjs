/* SPDX-License-Identifier: MIT */
/*
 * Responses and promises as messages: what is malformed costs its own stream alone and reaches no client
 * (RFC 9113 8.1.1), what is odd and well formed arrives byte for byte. This is the table against response
 * splitting: whatever an origin writes, one answer comes out of one request, with the meaning that it has.
 */
import assert from 'node:assert/strict';
import { conformance } from '../support/faulty.mjs';

const status = (value, options = { endStream: true }) => (o, r) => o.headers(r.id, [[':status', value]], options);
const fields = (...more) => (o, r) => o.headers(r.id, [[':status', '200'], ...more], { endStream: true });
const refused = (covers, what, send, why, more = {}) => ({ covers, name: what, send, stream: 'PROTOCOL_ERROR', why, ...more });

/* The answer arrives, and `check` looks at it. */
const arrives = (covers, name, send, check, more = {}) => ({
	covers, name, send, ...more,
	check: async (o, r) => check(await r.client.response(1), r),
});
const values = (f, name) => f.fields.filter((x) => x.name === name).map((x) => x.value);

conformance('responses', [
	/* ---- 8.2.1: names ---- */
	...[['upper case', 'X-Any'], ['a known name in upper case', 'Server'], ['an empty name', ''], ['a space', 'x y'], ['a space at the end', 'x '],
		['a tab', 'x\ty'], ['CR LF', 'x\r\ny'], ['LF', 'x\ny'], ['NUL', 'x\0'], ['a byte of 127', 'x\x7f'], ['a byte of 128', 'x\x80'], ['a colon inside', 'x:y'],
		['a colon at the end', 'x:'], ['a line that splits', 'x: y\r\nset-cookie'], ['parentheses', 'x(y)'], ['a slash', 'x/y'], ['a quote', 'x"y'], ['a comma', 'x,y']]
		.map(([what, name]) => refused('R165', `8.2.1. a field name with ${what}`, fields([name, 'v']), '8\\.2\\.1|9110 5\\.1')),
	/* ---- 8.2.1: values ---- */
	...[['CR', 'a\rb'], ['LF', 'a\nb'], ['CR LF', 'a\r\nset-cookie: b=c'], ['obs-fold', 'a\r\n b'], ['LF at its end', 'a\n'], ['NUL', 'a\0b'], ['NUL alone', '\0'],
		['a leading space', ' a'], ['a trailing space', 'a '], ['a leading tab', '\ta'], ['a trailing tab', 'a\t'], ['a space alone', ' '],
		['a control byte', 'a\x01b'], ['a byte of 127', 'a\x7fb'], ['a whole response', 'a\r\n\r\nHTTP/1.1 200 OK\r\n\r\nevil']]
		.flatMap(([what, value]) => ['x-any', 'location', 'set-cookie'].map((name) =>
			refused('R165', `8.2.1. ${name} with ${what}`, fields([name, value]), '8\\.2\\.1|9110 5\\.5'))),
	arrives('R166', '8.2.1. every byte that a value may have, inside and in any place', (o, r) => {
		const inside = Array.from({ length: 256 }, (_, i) => i).filter((i) => i === 9 || (i >= 0x20 && i !== 0x7f));
		r.value = `<${String.fromCharCode(...inside)}>`;
		fields(['x-bytes', r.value], ['x-high', '\x80\xff'], ['x-empty', ''], ['x-inside', 'a \t b'])(o, r);
	}, ({ headers }, r) => {
		assert.equal(headers['x-bytes'], r.value);
		assert.equal(headers['x-high'], '\x80\xff');
		assert.equal(headers['x-empty'], '');
		assert.equal(headers['x-inside'], 'a \t b');
	}),
	arrives('R166', '8.2.1. every byte that a name may have', fields(['!#$%&\'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz', 'v']), ({ headers }) => {
		assert.equal(headers['!#$%&\'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz'], 'v');
	}),
	arrives('R166', 'RFC 9110 5.3. equal names in their order, set-cookie each for itself, lists as they were cut', fields(
		['set-cookie', 'a=1; Path=/'], ['x-list', 'one, two'], ['set-cookie', 'b=2, c'], ['x-list', ''], ['x-list', 'three'], ['set-cookie', ''], ['vary', 'a'], ['vary', 'b'],
	), ({ head }) => {
		assert.deepEqual(values(head, 'set-cookie'), ['a=1; Path=/', 'b=2, c', '']);
		assert.deepEqual(values(head, 'x-list'), ['one, two', '', 'three']);
		assert.deepEqual(values(head, 'vary'), ['a', 'b']);
	}),

	/* ---- 8.2.2: fields of one connection ---- */
	...[['connection', 'close'], ['connection', 'x-any'], ['connection', ''], ['keep-alive', 'timeout=5'], ['proxy-connection', 'keep-alive'], ['transfer-encoding', 'chunked'],
		['transfer-encoding', 'identity'], ['transfer-encoding', ''], ['upgrade', 'h2c'], ['te', 'gzip'], ['te', 'trailers, deflate']]
		.map(([name, value]) => refused('R167', `8.2.2. ${name}: ${value || '(empty)'} in a response`, fields([name, value]), '8\\.2\\.2')),
	arrives('R167', '8.2.2. te: trailers and http2-settings in a response go no further', fields(['te', 'trailers'], ['http2-settings', 'AAMAAABk'], ['x-end', '1']), ({ headers }) => {
		assert.equal(headers.te, undefined);
		assert.equal(headers['http2-settings'], undefined);
		assert.equal(headers['x-end'], '1');
	}),

	/* ---- 8.3, 8.3.2, RFC 9110 15: :status ---- */
	...['', '0', '20', '000', '099', '1000', '2000', '2 0', ' 200', '200 ', '+20', '-20', '0x2', '20x', 'abc', '２００', '200 OK', '2e2', '200\r\n', '20\0']
		.map((value) => refused('R168', `8.3.2. :status ${JSON.stringify(value)}`, status(value), '9110 15')),
	refused('R168', '8.6. :status 101', status('101', {}), '9110 7\\.8'),
	refused('R168', '8.6. :status 101 with END_STREAM', status('101'), '9110 7\\.8'),
	refused('R168', '8.3.2. no :status', (o, r) => o.headers(r.id, { server: 'x' }, { endStream: true }), '8\\.3\\.2'),
	refused('R168', '8.3.2. an empty field block', (o, r) => o.headers(r.id, [], { endStream: true }), '8\\.3\\.2'),
	refused('R168', '8.3. :status twice, equal', fields([':status', '200']), '8\\.3'),
	refused('R168', '8.3. :status twice, different', fields([':status', '404']), '8\\.3'),
	refused('R168', '8.3. :status behind a field', (o, r) => o.headers(r.id, [['server', 'x'], [':status', '200']], { endStream: true }), '8\\.3'),
	refused('R168', '8.3. :STATUS', (o, r) => o.headers(r.id, [[':STATUS', '200']], { endStream: true }), '8\\.(3|2)'),
	...[':method', ':scheme', ':authority', ':path', ':protocol', ':unknown', ':'].flatMap((name) => [
		refused('R168', `8.3. ${name} in a response`, fields([name, 'GET']), '8\\.(3|2)'),
		refused('R168', `8.3. ${name} before :status`, (o, r) => o.headers(r.id, [[name, '/'], [':status', '200']], { endStream: true }), '8\\.(3|2)'),
	]),
	...['200', '205', '226', '299', '300', '399', '404', '451', '499', '500', '599', '600', '777', '999'].map((value) =>
		arrives('R168', `RFC 9110 15. :status ${value} goes through as it is`, (o, r) => o.headers(r.id, [[':status', value], ['x-any', 'v']]).data(r.id, 'body', { endStream: true }), (got) => {
			assert.equal(got.headers[':status'], value);
			assert.equal(String(got.body), 'body');
		})),

	/* ---- RFC 9110 8.6, 9113 8.1.1: content-length ---- */
	...['-1', '+1', '1 2', '1,2', '1, 1', '0x1', '1.0', '1e1', 'one', '', '18446744073709551616', '99999999999999999999', '１', '1\x0b']
		.map((value) => refused('R169', `RFC 9110 8.6. content-length ${JSON.stringify(value)}`, fields(['content-length', value]), '8\\.6|8\\.2\\.1')),
	refused('R169', 'RFC 9110 8.6. content-length twice, different', fields(['content-length', '0'], ['content-length', '1']), '8\\.6'),
	refused('R169', '8.1.1. content-length 5 and END_STREAM', fields(['content-length', '5']), 'body-shorter'),
	{ covers: 'R169', name: '8.1.1. a body that is shorter', given: 'answering', send: (o, r) => o.data(r.id, 'x', { endStream: true }), check: async (o, r) => { assert.equal(String((await r.client.expect('DATA', { stream: 1, endStream: true })).data), 'x'); } },
	...[['shorter', 'body'], ['longer', 'body and more']].map(([what, text]) => ({
		covers: 'R169', name: `8.1.1. a body that is ${what} than content-length never ends normally`, send: async (o, r) => {
			o.headers(r.id, { ':status': 200, 'content-length': 5 });
			await r.client.expectHead(1);
			o.data(r.id, text, { endStream: true });
		}, stream: 'PROTOCOL_ERROR', owes: 'rest',
	})),
	{ covers: 'R169', name: '8.1.1. trailers before all of content-length', send: async (o, r) => {
		o.headers(r.id, { ':status': 200, 'content-length': 5 });
		await r.client.expectHead(1);
		o.data(r.id, 'body').headers(r.id, { x: 'y' }, { endStream: true });
	}, stream: 'PROTOCOL_ERROR', owes: 'rest' },
	arrives('R169', 'RFC 9110 8.6. equal content-lengths become one', (o, r) => o.headers(r.id, [[':status', '200'], ['content-length', '4'], ['content-length', '4']]).data(r.id, 'body', { endStream: true }), (got) => {
		assert.deepEqual(values(got.head, 'content-length'), ['4']);
		assert.equal(String(got.body), 'body');
	}),
	arrives('R169', 'RFC 9110 8.6. content-length with the right body, in pieces, padded, with trailers', (o, r) => o.headers(r.id, { ':status': 200, 'content-length': 6 }).data(r.id, 'ab', { padding: 9 }).data(r.id, '').data(r.id, 'cdef').headers(r.id, { x: 'y' }, { endStream: true }), (got) => {
		assert.equal(String(got.body), 'abcdef');
		assert.deepEqual(got.trailers, { x: 'y' });
	}),

	/* ---- RFC 9110 6.4.1, 15.2, 15.3.5, 15.4.5: responses without content ---- */
	...[['204', 'DATA'], ['304', 'DATA'], ['204', 'content-length and DATA'], ['304', 'content-length and DATA']].map(([code, what]) => ({
		covers: 'R170', name: `RFC 9110 6.4.1. ${code} with ${what}`, send: async (o, r) => {
			o.headers(r.id, { ':status': code, ...(what.startsWith('content') ? { 'content-length': 4 } : {}) });
			await r.client.expectHead(1);
			o.data(r.id, 'body', { endStream: true });
		}, stream: 'PROTOCOL_ERROR', owes: 'rest',
	})),
	...['204', '304'].map((code) => arrives('R170', `RFC 9110 6.4.1. ${code} that ends with an empty DATA frame`, (o, r) => o.headers(r.id, { ':status': code }).data(r.id, '', { endStream: true }), (got) => { assert.equal(got.headers[':status'], code); })),
	arrives('R170', 'RFC 9110 8.6. content-length of a 204 goes no further', (o, r) => o.headers(r.id, { ':status': 204, 'content-length': 5, 'x-any': 'v' }, { endStream: true }), ({ headers }) => {
		assert.equal(headers['content-length'], undefined);
		assert.equal(headers['x-any'], 'v');
	}),
	arrives('R170', 'RFC 9110 8.6, 15.4.5. content-length of a 304 stays', (o, r) => o.headers(r.id, { ':status': 304, 'content-length': 12345, etag: '"x"' }, { endStream: true }), ({ headers }) => {
		assert.equal(headers['content-length'], '12345');
		assert.equal(headers.etag, '"x"');
	}),
	arrives('R170', 'RFC 9110 15.3.6. 205 with content-length 0', (o, r) => o.headers(r.id, { ':status': 205, 'content-length': 0 }, { endStream: true }), ({ headers }) => { assert.equal(headers['content-length'], '0'); }),
	{ covers: 'R170', name: 'RFC 9110 9.3.2. HEAD: fields as for GET, content-length of any size, and DATA is a fault', check: async (o, r) => {
		r.client.request(11, { path: '/head', method: 'HEAD' }).request(13, { path: '/head-body', method: 'HEAD' });
		const head = await o.expectRequest('/head');
		const body = await o.expectRequest('/head-body');
		o.headers(head.stream, { ':status': 200, 'content-length': 777, etag: '"y"' }, { endStream: true });
		const got = await r.client.response(11);
		assert.equal(got.headers['content-length'], '777');
		o.headers(body.stream, { ':status': 200, 'content-length': 4 });
		await r.client.expectHead(13);
		o.data(body.stream, 'body', { endStream: true });
		await o.expectReset(body.stream, 'PROTOCOL_ERROR');
		await r.client.expectReset(13, 'PROTOCOL_ERROR');
	} },

	/* ---- 8.1: the order of a response ---- */
	{ covers: 'R171', name: '8.1. DATA before HEADERS', send: (o, r) => o.data(r.id, 'x'), stream: 'PROTOCOL_ERROR', why: 'data-before-head' },
	{ covers: 'R171', name: '8.1. empty DATA with END_STREAM before HEADERS', send: (o, r) => o.data(r.id, '', { endStream: true }), stream: 'PROTOCOL_ERROR', why: 'data-before-head' },
	{ covers: 'R171', name: '8.1. DATA behind an interim response', send: (o, r) => o.headers(r.id, { ':status': 103 }).data(r.id, 'x'), stream: 'PROTOCOL_ERROR', why: 'data-before-head' },
	{ covers: 'R171', name: '8.1. a second head', given: 'answering', send: (o, r) => o.headers(r.id, { ':status': 200 }), stream: 'PROTOCOL_ERROR' },
	{ covers: 'R171', name: '8.1. an interim response behind the final one', given: 'answering', send: (o, r) => o.headers(r.id, { ':status': 103 }), stream: 'PROTOCOL_ERROR' },
	{ covers: 'R171', name: '8.1. HEADERS without END_STREAM behind DATA', given: 'answering', send: (o, r) => o.data(r.id, 'x').headers(r.id, { x: 'y' }), stream: 'PROTOCOL_ERROR' },

	/* ---- 8.1, RFC 9110 6.5: trailers ---- */
	...[['a pseudo-field', [':status', '200']], [':path', [':path', '/']], ['an upper-case name', ['X-Any', 'v']], ['an empty name', ['', 'v']], ['CR LF in a value', ['x', 'a\r\nb']], ['NUL in a value', ['x', '\0']],
		['transfer-encoding', ['transfer-encoding', 'chunked']], ['connection', ['connection', 'close']], ['content-length', ['content-length', '4']], ['host', ['host', 'a.test']]]
		.map(([what, field]) => ({
			covers: 'R172', name: `8.1. trailers with ${what}`, given: 'answering', send: (o, r) => o.data(r.id, 'body').headers(r.id, [['x-before', '1'], field].slice(field[0].startsWith(':') ? 1 : 0), { endStream: true }), stream: 'PROTOCOL_ERROR',
		})),
	{ covers: 'R172', name: '8.1. trailers of every kind arrive as they are', given: 'answering', check: async (o, r) => {
		o.data(r.id, 'body').headers(r.id, [['x-sum', '\x80 "q"'], ['set-cookie', 'a=1'], ['set-cookie', 'b=2'], ['x-empty', ''], ['grpc-status', '0']], { endStream: true });
		await r.client.expect('DATA', { stream: 1 });
		const t = await r.client.expect('HEADERS', { stream: 1 });
		assert.deepEqual(values(t, 'set-cookie'), ['a=1', 'b=2']);
		assert.deepEqual(t.fields.map((f) => f.name), ['x-sum', 'set-cookie', 'set-cookie', 'x-empty', 'grpc-status']);
		assert.equal(t.headers['x-sum'], '\x80 "q"');
	} },
	{ covers: 'R172', name: '8.1. empty trailers', given: 'answering', check: async (o, r) => {
		o.data(r.id, 'body').headers(r.id, [], { endStream: true });
		await r.client.take((f) => f.stream === 1 && f.endStream, 'the end');
	} },

	/* ---- RFC 9110 15.2, RFC 8297: interim responses ---- */
	arrives('R173', 'RFC 9110 15.2. interim responses of every number, known or not, in order', (o, r) => {
		for (const code of [100, 102, 103, 103, 110, 199])
			o.headers(r.id, { ':status': code, 'x-code': code });
		o.headers(r.id, { ':status': 200 }, { endStream: true });
	}, (got) => {
		assert.deepEqual(got.interim.map((f) => f.headers['x-code']), ['100', '102', '103', '103', '110', '199']);
		assert.equal(got.status, 200);
	}),
	arrives('R173', 'RFC 8297. a 103 arrives before the final response is there', async (o, r) => {
		o.headers(r.id, { ':status': 103, link: '</a.css>; rel=preload' });
		r.hint = await r.client.expectHead(1);
		o.headers(r.id, { ':status': 200 }, { endStream: true });
	}, (got, r) => {
		assert.equal(r.hint.headers[':status'], '103');
		assert.equal(r.hint.headers.link, '</a.css>; rel=preload');
		assert.equal(got.status, 200);
	}),
	arrives('R173', 'RFC 9110 8.6. content-length of an interim response goes no further and says nothing of the final one', (o, r) => o.headers(r.id, { ':status': 103, 'content-length': 7, 'x-any': 'v' }).headers(r.id, { ':status': 200 }).data(r.id, 'body', { endStream: true }), (got) => {
		assert.equal(got.interim[0].headers['content-length'], undefined);
		assert.equal(got.interim[0].headers['x-any'], 'v');
		assert.equal(String(got.body), 'body');
	}),
	...['100', '103', '199'].map((code) => refused('R173', `8.1. ${code} with END_STREAM`, status(code), 'interim-with-end')),
	refused('R173', '8.2.1. a malformed interim response', (o, r) => o.headers(r.id, { ':status': 103, Upper: 'x' }), '8\\.2\\.1'),
	refused('R173', '8.2.2. transfer-encoding in an interim response', (o, r) => o.headers(r.id, { ':status': 103, 'transfer-encoding': 'chunked' }), '8\\.2\\.2'),
	{ covers: 'R173', name: 'RFC 9110 15.2. more interim responses than any origin needs', send: (o, r) => {
		for (let i = 0; i < 33; i++)
			o.headers(r.id, { ':status': 102 });
	}, stream: 'ENHANCE_YOUR_CALM', why: 'interim-flood' },

	/* ---- 6.5.2, 10.5.1: our MAX_HEADER_LIST_SIZE ---- */
	{ covers: 'R174', name: '10.5.1. a field list over our MAX_HEADER_LIST_SIZE', send: (o, r) => {
		o.encoder.indexing = true;
		o.headers(r.id, [[':status', '200'], ...Array.from({ length: 40 }, () => ['x-large', 'v'.repeat(3000)])], { endStream: true });
	}, stream: 'ENHANCE_YOUR_CALM', error: 'http_response_header_section_size', why: 'field-list-too-large' },
	{ covers: 'R174', name: '10.5.1. trailers over our MAX_HEADER_LIST_SIZE', given: 'answering', send: (o, r) => {
		o.encoder.indexing = true;
		o.headers(r.id, Array.from({ length: 40 }, () => ['x-large', 'v'.repeat(3000)]), { endStream: true });
	}, check: async (o, r) => {
		await o.expectReset(r.id, 'ENHANCE_YOUR_CALM');
		await r.client.expectReset(1, 'INTERNAL_ERROR');
	} },
], { over: ['h2c'] });

/* ---- 8.4.1: what is promised is a request, and judged as one; it costs itself ---- */
const promise = (change) => (o, r) => {
	const plain = Object.entries(r.request('/pushed'));
	o.pushPromise(r.up.stream, 2, change(plain));
};
const set = (name, value) => (f) => f.map(([n, v]) => [n, n === name ? value : v]);
const add = (...more) => (f) => [...f, ...more];
const without = (name) => (f) => f.filter(([n]) => n !== name);
conformance('promises', [
	...[
		['an upper-case name', add(['X-Any', 'v'])], ['an empty name', add(['', 'v'])], ['CR LF in a name', add(['x\r\ny', 'v'])],
		['CR LF in a value', add(['x', 'a\r\nhost: evil'])], ['LF in a value', add(['x', 'a\n'])], ['NUL in a value', add(['x', '\0'])], ['spaces around a value', add(['x', ' a'])],
		['a control byte in a value', add(['x', '\x1f'])], ['connection', add(['connection', 'close'])], ['transfer-encoding', add(['transfer-encoding', 'chunked'])],
		['te: gzip', add(['te', 'gzip'])], ['upgrade', add(['upgrade', 'x'])], ['keep-alive', add(['keep-alive', '1'])], ['proxy-connection', add(['proxy-connection', 'x'])],
		['content-length 1', add(['content-length', '1'])], ['content-length -1', add(['content-length', '-1'])], ['two content-lengths', add(['content-length', '0'], ['content-length', '1'])],
		['no :method', without(':method')], ['no :scheme', without(':scheme')], ['no :path', without(':path')], ['no :authority', without(':authority')],
		['two :path', add([':path', '/x'])], [':status', (f) => [[':status', '200'], ...f]], [':protocol', (f) => [[':protocol', 'websocket'], ...f]], ['a pseudo-field behind a field', (f) => [['x', 'y'], ...f]],
		['an empty :path', set(':path', '')], ['a :path without slash', set(':path', 'x')], ['a :path of *', set(':path', '*')], ['a space in :path', set(':path', '/a b')], ['CR LF in :path', set(':path', '/a\r\nx: y')],
		['a fragment in :path', set(':path', '/a#b')], ['NUL in :path', set(':path', '/\0')], ['userinfo in :authority', (f) => f.map(([n, v]) => [n, n === ':authority' ? `me@${v}` : v])],
		['a space in :authority', set(':authority', 'a b')], ['an empty :authority', set(':authority', '')], ['an empty :scheme', set(':scheme', '')], ['CR LF in :scheme', set(':scheme', 'http\r\n')],
		['an empty :method', set(':method', '')], ['a space in :method', set(':method', 'GET /')], ['CR LF in :method', set(':method', 'GET\r\n')], ['a method in lower case', set(':method', 'get')],
		['POST', set(':method', 'POST')], ['OPTIONS', set(':method', 'OPTIONS')], ['TRACE', set(':method', 'TRACE')], ['CONNECT', set(':method', 'CONNECT')],
		['host unlike :authority', add(['host', 'evil.test'])], ['another scheme', set(':scheme', 'ftp')],
	].map(([what, change]) => ({
		covers: 'R175', name: `8.4.1. a promise with ${what}`, send: promise(change), check: async (o, r) => {
			await o.expectReset(2, 'PROTOCOL_ERROR');
			/* The next one goes through, so the refused one was decoded. */
			o.push(r.up, 4, '/next').respond(4, { body: 'pushed' });
			const told = await r.client.expectPromise();
			assert.equal(told.headers[':path'], '/next');
			assert.equal(String((await r.client.response(told.promised)).body), 'pushed');
			o.respond(r.up.stream, { body: 'page' });
			await r.client.response(1);
		},
	})),
	{ covers: 'R175', name: '8.4.1. a promise of odd and well-formed fields arrives byte for byte', send: promise(add(['x-odd', '\x80\xff "q", \t z'], ['cookie', 'a=1'], ['cookie', 'b=2'], ['accept', ''])), check: async (o, r) => {
		const told = await r.client.expectPromise('/pushed');
		assert.equal(told.headers['x-odd'], '\x80\xff "q", \t z');
		assert.equal(values(told, 'cookie').join('; '), 'a=1; b=2');
		o.respond(2, { status: 204 });
		await r.client.response(told.promised);
		o.respond(r.up.stream, { status: 204 });
		await r.client.response(1);
	} },
	...[['a malformed head', (o) => o.headers(2, { ':status': 200, Upper: 'x' }, { endStream: true })], ['a :status of 101', (o) => o.headers(2, { ':status': 101 })], ['CR LF in a value', (o) => o.headers(2, { ':status': 200, x: 'a\r\nb' }, { endStream: true })],
		['DATA behind an interim response', (o) => o.headers(2, { ':status': 103 }).data(2, 'x')], ['an interim response with END_STREAM', (o) => o.headers(2, { ':status': 103 }, { endStream: true })], ['content-length and nothing', (o) => o.headers(2, { ':status': 200, 'content-length': 5 }, { endStream: true })]]
		.map(([what, send]) => ({ covers: 'R176', name: `8.1.1, 8.4.2. a pushed response with ${what}`, given: 'reserved (remote)', send, stream: 'PROTOCOL_ERROR' })),
	...[['a second head', (o) => o.headers(2, { ':status': 200 })], ['pseudo-fields in trailers', (o) => o.headers(2, { ':status': 200 }, { endStream: true })], ['content-length in trailers', (o) => o.headers(2, { 'content-length': '1' }, { endStream: true })]]
		.map(([what, send]) => ({ covers: 'R176', name: `8.1.1, 8.4.2. a pushed response with ${what}`, given: 'pushed', send, stream: 'PROTOCOL_ERROR' })),
], { over: ['h2c'] });
