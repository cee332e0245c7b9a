/* SPDX-License-Identifier: MIT */
/*
 * Promises that cost only themselves: RST_STREAM PROTOCOL_ERROR on the promised stream, the parent
 * goes on, the client sees nothing, and what comes next on that connection is decoded right (RFC 9113 8.4).
 */
import assert from 'node:assert/strict';
import { certs, scenario, section } from '../support/gate.mjs';

const request = (up, changes) => {
	const fields = [
		[':method', 'GET'], [':scheme', up.headers[':scheme']], [':authority', up.headers[':authority']], [':path', '/bad'],
	];
	return changes(fields, up);
};
const set = (name, value) => (fields) => fields.map(([n, v]) => [n, n === name ? value : v]);
const without = (name) => (fields) => fields.filter(([n]) => n !== name);
const add = (...more) => (fields) => [...fields, ...more];

async function refused(s, fields, code = 'PROTOCOL_ERROR') {
	const { client, origin, up } = await s.open();
	origin.encoder.indexing = true;
	origin.pushPromise(up.stream, 2, [...request(up, fields), ['x-mark', 'one']]);
	await origin.expectReset(2, code);
	origin.push(up, 4, '/good', { 'x-mark': 'one' });
	const p = await client.expectPromise('/good');
	assert.equal(p.headers['x-mark'], 'one');
	origin.respond(4, { fields: { 'x-mark': 'one' }, body: 'pushed' }).respond(up.stream, { fields: { 'x-mark': 'one' }, body: 'page' });
	assert.equal(String((await client.response(p.promised)).body), 'pushed');
	const r = await client.response(1);
	assert.equal(String(r.body), 'page');
	assert.equal(r.headers['x-mark'], 'one');
	await client.expectNone('PUSH_PROMISE');
	return s;
}

const cases = (list) => {
	for (const [what, fields] of Object.entries(list))
		scenario(`promise with ${what} costs itself alone`, (s) => refused(s, fields));
};

// covers: R16 R22 P-recv-request
cases(Object.fromEntries(['POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'BREW'].map((m) => [`method ${m}`, set(':method', m)])));
scenario('promise of CONNECT costs itself alone', (s) => refused(s, () => [[':method', 'CONNECT'], [':authority', 'localhost:1']]));

// covers: R17 P-recv-request
cases({
	'content-length above 0': add(['content-length', '5']),
	'transfer-encoding': add(['transfer-encoding', 'chunked']),
	'a content-length that is no number': add(['content-length', 'x']),
});
scenario('promise with content-length 0 does not hang', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a', { 'content-length': 0 });
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
	const [p] = client.seen('PUSH_PROMISE');
	if (!p) {
		await origin.expectReset(2);
		return;
	}
	origin.respond(2, { body: 'pushed' });
	assert.equal(String((await client.response(p.promised)).body), 'pushed');
});

// covers: R18 P-recv-request
cases({
	'no :method': without(':method'),
	'no :scheme': without(':scheme'),
	'no :authority': without(':authority'),
	'no :path': without(':path'),
	'an empty :path': set(':path', ''),
	'an empty :authority': set(':authority', ''),
	'an empty :method': set(':method', ''),
	'an empty :scheme': set(':scheme', ''),
	'a :path without slash': set(':path', 'bad'),
	'a :path of *': set(':path', '*'),
	'two :path': (f) => [...f, [':path', '/two']],
	'two :method': (f) => [...f, [':method', 'GET']],
	'two :authority': (f) => [...f, [':authority', 'localhost']],
	'two :scheme': (f) => [...f, [':scheme', 'http']],
	':status': (f) => [...f, [':status', '200']],
	'an unknown pseudo-field': (f) => [...f, [':unknown', 'x']],
	'a pseudo-field behind a field': (f) => [...f.slice(0, 3), ['x', 'y'], f[3]],
});

// covers: R19 P-recv-request
cases({
	'an upper-case name': add(['X-Upper', 'x']),
	connection: add(['connection', 'close']),
	'keep-alive': add(['keep-alive', 'timeout=1']),
	'proxy-connection': add(['proxy-connection', 'close']),
	upgrade: add(['upgrade', 'h2c']),
	'te other than trailers': add(['te', 'gzip']),
});

// covers: R20 P-recv-request
cases({
	'CR in a value': add(['x', 'a\rb']),
	'LF in a value': add(['x', 'a\nb']),
	'NUL in a value': add(['x', 'a\0b']),
	'a space in a name': add(['x y', 'z']),
	'a colon in a name': add(['x:y', 'z']),
	'an empty name': add(['', 'z']),
	'a leading space in a value': add(['x', ' a']),
	'a trailing tab in a value': add(['x', 'a\t']),
	'a space in :path': set(':path', '/a b'),
	'a control in :path': set(':path', '/a\x01b'),
});

// covers: R21 P-recv-authority
cases({
	'userinfo in :authority': (f, up) => set(':authority', `me@${up.headers[':authority']}`)(f),
	'a foreign scheme': set(':scheme', 'https'),
	'an unknown scheme': set(':scheme', 'ftp'),
	'a host unlike :authority': add(['host', 'elsewhere.test']),
});

const twoOrigins = {
	origins: { main: {}, other: {} },
	routes: section('route main', { host: 'localhost a.test', origin: 'main' })
		+ section('route part', { host: 'localhost', path: '/other', origin: 'other' })
		+ section('route other', { host: 'b.test', origin: 'other' }),
};
scenario('promise for a host that nobody serves costs itself alone', twoOrigins, async (s) => {
	await refused(s, set(':authority', 'evil.test'));
	const line = await s.gate.access((l) => JSON.stringify(l).includes('evil.test'));
	assert.match(JSON.stringify(line), /"authority"/);
});
scenario('promise for a host of another origin costs itself alone', twoOrigins, (s) => refused(s, set(':authority', 'b.test')));
scenario('promise for a path of another origin costs itself alone', twoOrigins, (s) => refused(s, set(':path', '/other/x')));
scenario('promise for another host of the same origin is forwarded', twoOrigins, async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/x', { ':authority': 'a.test' });
	assert.equal((await client.expectPromise('/x')).headers[':authority'], 'a.test');
});

// covers: P-recv-downstream-authority R21
scenario('promise that our certificate does not cover is dropped with a reason of its own', { tls: true }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/x', { ':authority': 'uncovered.test' });
	await origin.expectReset(2, ['CANCEL', 'REFUSED_STREAM', 'PROTOCOL_ERROR']);
	origin.push(up, 4, '/y', { ':authority': 'a.test' });
	await client.expectPromise('/y');
	await client.expectNone('PUSH_PROMISE');
	await s.gate.access((l) => l.path === '/x' && JSON.stringify(l).includes('downstream-authority'));
	assert.ok(certs().ca);
});

// covers: R22
scenario('many bad promises in a row leave the good ones and the page alone', async (s) => {
	const { client, origin, up } = await s.open();
	origin.encoder.indexing = true;
	const bad = [['x', 'a\rb'], ['X', 'y'], ['content-length', '1'], ['connection', 'x'], ['te', 'x']];
	bad.forEach(([name, value], i) => {
		origin.push(up, 4 * i + 2, `/bad${i}`, { [name]: value, 'x-i': i });
		origin.push(up, 4 * i + 4, `/good${i}`, { 'x-i': i });
	});
	origin.respond(up.stream, { body: 'page' });
	for (let i = 0; i < bad.length; i++) {
		await origin.expectReset(4 * i + 2, 'PROTOCOL_ERROR');
		assert.equal((await client.expectPromise(`/good${i}`)).headers['x-i'], String(i));
	}
	assert.equal(String((await client.response(1)).body), 'page');
	await client.expectNone('PUSH_PROMISE');
});
