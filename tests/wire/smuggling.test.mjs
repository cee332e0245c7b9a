/* SPDX-License-Identifier: MIT */
/*
 * Request smuggling (RFC 9113 10.3): whatever a client writes, one request in gives at most one out,
 * and what reaches the origin is what was written, byte by byte, or nothing. The rules one by one,
 * with their sections, are in conformance-server-messages.test.mjs.
 */
import assert from 'node:assert/strict';
import { scenario } from '../support/gate.mjs';
import { add, conformance, passed, refused, set, without } from '../support/site.mjs';

/* ---- every byte in every place ---- */

const all = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i));
const LOWER_TOKEN = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
const TOKEN = `${LOWER_TOKEN}ABCDEFGHIJKLMNOPQRSTUVWXYZ`;
const VALUE = all.filter((o) => o >= ' ' && o !== '\x7f');
const HOST = "-._~!$&'()*+,;=0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/*
 * at: the field list with the byte in this place; from: what of the request at the origin must hold
 * it; first, middle, last: the bytes that are passed on there. Any other is refused.
 */
const PLACES = {
	'a name': {
		at: (f, text) => [...f, [text, 'v']], from: (up) => up.fields[up.fields.findIndex((f) => f.name === 'x-byte') - 1].name,
		first: LOWER_TOKEN, middle: LOWER_TOKEN, last: LOWER_TOKEN,
	},
	'a value': {
		at: (f, text) => [...f, ['x', text]], from: (up) => up.headers.x,
		first: VALUE.filter((o) => o !== ' '), middle: ['\t', ...VALUE], last: VALUE.filter((o) => o !== ' '),
	},
	':method': {
		at: (f, text) => set(':method', text)(f), from: (up) => up.headers[':method'], first: TOKEN, middle: TOKEN, last: TOKEN,
	},
	':path': {
		at: (f, text) => set(':path', text)(f), from: (up) => up.headers[':path'],
		first: '/', middle: VALUE.filter((o) => o !== ' ' && o !== '#'), last: VALUE.filter((o) => o !== ' ' && o !== '#'),
	},
	':authority': {
		/* A colon at the end is an empty port. */
		at: (f, text) => set(':authority', text)(f), from: (up) => up.headers[':authority'], first: HOST, middle: HOST, last: [...HOST, ':'],
	},
	host: {
		at: (f, text) => [...without(':authority')(f), ['host', text]], from: (up) => up.headers[':authority'],
		first: HOST, middle: HOST, last: [...HOST, ':'],
	},
	'content-length': {
		at: (f, text) => [...f, ['content-length', text]], from: (up) => up.headers['content-length'],
		first: '0123456789', middle: '0123456789', last: '0123456789', sample: '111', endStream: false,
	},
};

/* The requests of one connection, all at once; what became of each, and what the origin saw. */
async function sweep(s, place, requests) {
	const client = await s.connect();
	requests.forEach(({ byte, text }, i) => client.headers(1 + 2 * i, place.at([
		[':method', 'POST'], [':scheme', 'http'], [':authority', client.authority], [':path', '/'],
	], text).concat([['x-byte', String(byte.charCodeAt(0))]]), { endStream: place.endStream ?? true }));
	for (let i = 0; i < requests.length; i++)
		await client.take((f) => f.stream === 1 + 2 * i && (f.type === 'RST_STREAM' ? f.code === 'PROTOCOL_ERROR' : f.headers?.[':status'] === '204'), `the end of ${i}`);
	await client.sync();
	assert.deepEqual(client.seen('GOAWAY'), []);
	client.close();
}

// covers: R77 R131 R132
for (const [what, place] of Object.entries(PLACES))
	scenario(`every byte at every place of ${what} is passed on as it is, or refused`, async (s) => {
		const seen = new Map();
		const serve = async () => {
			const origin = await s.accept('main', 3600e3);
			for (;;) {
				const up = await origin.expectRequest(undefined, 3600e3);
				seen.set(up.headers['x-byte'], [...seen.get(up.headers['x-byte']) ?? [], place.from(up)]);
				origin.respond(up.stream, { status: 204 });
			}
		};
		serve().catch(() => {});
		const sample = place.sample ?? 'xyz';
		for (const [position, write] of Object.entries({
			first: (o) => o + sample.slice(1), middle: (o) => sample[0] + o + sample[2], last: (o) => sample.slice(0, 2) + o,
		})) {
			seen.clear();
			const lead = what === ':path' && position !== 'first' ? '/' : '';
			const requests = all.map((byte) => ({ byte, text: lead + write(byte) }));
			for (let i = 0; i < requests.length; i += 64)
				await sweep(s, place, requests.slice(i, i + 64));
			for (const { byte, text } of requests) {
				const wanted = [...place[position]].includes(byte) ? [text] : undefined;
				assert.deepEqual(seen.get(String(byte.charCodeAt(0))), wanted, `${JSON.stringify(byte)} as the ${position} byte`);
			}
		}
	});

/* ---- what else can be written in several ways ---- */

const authority = (value) => set(':authority', value);
const path = (end) => set(':path', (was) => was + end);
const as = (name, value) => (up) => assert.equal(up.headers[name], value);

conformance('a request with', [
	...Object.entries({
		'obs-fold in a value': add(['x', 'a\r\n b']),
		'a whole request in a value': add(['x', 'a\r\n\r\nGET /evil HTTP/1.1\r\nhost: evil.test']),
		'a whole request in a name': add(['x\r\n\r\nget /evil http/1.1\r\nhost', 'evil.test']),
		'a field in a name': add(['transfer-encoding: chunked\r\nx', 'z']),
		'transfer-encoding behind a space': add(['transfer-encoding ', 'chunked']),
		'transfer-encoding behind a tab': add(['\ttransfer-encoding', 'chunked']),
		'Transfer-Encoding in upper case': add(['Transfer-Encoding', 'chunked']),
		'transfer-encoding: identity': add(['transfer-encoding', 'identity']),
		'an empty transfer-encoding': add(['transfer-encoding', '']),
		'connection, and a field that it names': add(['connection', 'x-secret'], ['x-secret', 'y']),
		'an empty connection': add(['connection', '']),
		'a request line in :method': set(':method', 'GET /evil HTTP/1.1\r\nhost: x\r\n\r\nGET'),
		'a request line in :path': set(':path', '/ HTTP/1.1\r\nhost: evil.test\r\n\r\nGET /'),
		'a whole URI in :path': set(':path', 'https://evil.test/'),
		'no slash in :path': set(':path', 'x/'),
		'** in :path for OPTIONS': (f) => set(':path', '**')(set(':method', 'OPTIONS')(f)),
		'a query alone in :path': set(':path', '?x'),
		'a fragment in :path': set(':path', '/#/'),
		'an authority in :scheme': set(':scheme', 'http://evil.test/'),
		'CR LF in :scheme': set(':scheme', 'http\r\nx'),
		'a second :path behind the first': (f) => f.flatMap((x) => (x[0] === ':path' ? [x, [':path', '/evil']] : [x])),
		'a :path behind content': add([':path', '/evil']),
		'two hosts, one of them right': (f) => [...f, ['host', f[2][1]], ['host', 'evil.test']],
	}).map(([what, change]) => refused('R77 R131', what, change)),
	...['me@localhost', 'me:pw@localhost:1', '@localhost', 'localhost:x', 'localhost:-1', 'localhost:+80', 'localhost:65536', 'localhost:0', 'localhost:80:80',
		'localhost: 80', 'localhost :80', ' localhost', 'local host', 'localhost/', 'localhost/evil', 'localhost?x', 'localhost#x', 'localhost\\evil',
		'http://localhost', '[::1', '::1', '[::1]x', '[localhost]', '[]', 'a]b', '%', '%4', '%zz', '%00.test', 'a%0d%0a', 'me%40localhost', 'localhost%3a80', '.', '..:80', ':80', 'localhost\r\nx: y', 'a@b@c', '<b>', '"x"', 'a|b', 'a^b', '{x}', 'a`b',
	].flatMap((value) => [
		refused('R127 R131', `an :authority of ${JSON.stringify(value)}`, authority(value)),
		refused('R127 R131', `a host of ${JSON.stringify(value)}`, (f) => [...without(':authority')(f), ['host', value]]),
	]),
	...['localhost', 'LOCALHOST', 'localhost.', 'localhost:', 'localhost:00080', '[::1]', '[::1]:8443', '[2001:DB8::1]', '127.0.0.1:65535', 'a%41.test', '%c3%a4.test', 'a_b.test',
		'xn--bcher-kva.test', "a!$&'()*+,;=b", 'a,evil.test',
	].map((value) => passed('R127 R131', `an :authority of ${value} comes through as it is`, authority(value), as(':authority', value))),
	...['?x=%0d%0aGET%20/evil', '\\..\\x', '/../x', '//x', '/%2e%2e/x', ';a=b', '?', '?a?b', '"<>^`{|}', '\xe9\xff\x80', '%', '%zz', "~!$&'()*+,;=:@", '?x=http://evil.test/',
	].map((end) => passed('R126 R131', `${JSON.stringify(end)} in :path comes through as it is`, path(end), (up) => assert.ok(up.headers[':path'].endsWith(end)))),
	...[['x', 'GET / HTTP/1.1'], ['x', 'a\tb'], ['x', '\x80\xff'], ['x', '"\\"'], ['x', ''], ['content_length', '5'], ['transfer_encoding', 'chunked'], ['x-http-method-override', 'PUT'],
		['trailer', 'content-length'], ['expect', '100-continue'], ['expect', 'what'], ['x', 'v'.repeat(20000)],
	].map(([name, value]) => passed('R123 R131', `${name}: ${JSON.stringify(value).slice(0, 20)} comes through as it is`, add([name, value]), as(name, value),
		value.length > 9000 ? { split: [9000, 9000] } : {})),
	passed('R640', 'x-forwarded-host: "evil.test" is replaced', add(['x-forwarded-host', 'evil.test']), (up) => assert.equal(up.headers['x-forwarded-host'], up.headers[':authority'])),
	passed('R124', 'http2-settings comes through without it', add(['http2-settings', 'AAMAAABk']), as('http2-settings', undefined)),
	passed('R126 R131', '* for OPTIONS comes through', (f) => set(':path', '*')(set(':method', 'OPTIONS')(f)), as(':path', '*')),
	{ covers: 'R77 R132', name: 'a body that looks like requests stays a body', given: 'open', check: async (c, r) => {
		const text = 'GET /evil HTTP/1.1\r\nhost: x\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
		const before = r.site.requests;
		c.data(1, text, { endStream: true });
		let got = '';
		for (let f; !f?.endStream; got += f.data)
			f = await r.origin.expect('DATA', { stream: r.up.stream });
		assert.equal(got, text);
		r.origin.respond(r.up.stream, { status: 204 });
		await c.response(1);
		assert.equal(r.site.requests, before);
	} },
	{ covers: 'R132', name: 'nothing of a refused body goes on as the next request', check: async (c, r) => {
		const before = r.site.requests;
		c.headers(5, { ...r.get(), ':method': 'POST', 'content-length': '5, 5' });
		c.data(5, 'GET /evil HTTP/1.1\r\n\r\n', { endStream: true });
		await c.expectReset(5, 'PROTOCOL_ERROR');
		await r.goesOn();
		assert.equal(r.site.requests, before + 1);
	} },
]);
