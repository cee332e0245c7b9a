/* SPDX-License-Identifier: MIT */
/* The life of a forwarded push, from the promise to the last byte (RFC 9113 8.4). */
import assert from 'node:assert/strict';
import { scenario } from '../support/gate.mjs';

const pick = (fields, name) => fields.filter((f) => f.name === name).map((f) => f.value);

// covers: R41 P-make-request-fields
scenario('all fields of a promise come through, in order, on the right parent', async (s) => {
	const { client, origin, up } = await s.open();
	origin.pushPromise(up.stream, 2, [
		[':method', 'GET'], [':scheme', 'http'], [':authority', up.headers[':authority']], [':path', '/a?b=c&d=%20'],
		['x-same', 'one'], ['cookie', 'a=1'], ['x-empty', ''], ['x-same', 'two'], ['cookie', 'b=2'], ['x-same', 'one'],
		['accept', 'text/css'], ['x-latin1', 'caf\xe9'],
	]);
	const p = await client.expectPromise('/a?b=c&d=%20');
	assert.equal(p.stream, 1);
	assert.equal(p.headers[':method'], 'GET');
	assert.equal(p.headers[':authority'], up.headers[':authority']);
	assert.deepEqual(pick(p.fields, 'x-same'), ['one', 'two', 'one']);
	assert.deepEqual(pick(p.fields, 'x-empty'), ['']);
	assert.equal(pick(p.fields, 'cookie').join('; '), 'a=1; b=2');
	assert.deepEqual(pick(p.fields, 'x-latin1'), ['caf\xe9']);
});

// covers: R42 R43 P-make-before-reference
scenario('a promise keeps its place before the head and the body that follow it', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/one').headers(up.stream, { ':status': 200 }).push(up, 4, '/two')
		.data(up.stream, 'see /two').push(up, 6, '/three').data(up.stream, 'see /three', { endStream: true });
	const one = await client.expectPromise('/one');
	const two = await client.expectPromise('/two');
	const three = await client.expectPromise('/three');
	const head = await client.expectHead(1);
	assert.ok(one.seq < head.seq && one.seq < two.seq);
	let text = '';
	for (let f; !f?.endStream;) {
		f = await client.expect('DATA', { stream: 1 });
		text += f.data;
		if (text.includes('/two'))
			assert.ok(two.seq < f.seq);
		if (text.includes('/three'))
			assert.ok(three.seq < f.seq);
	}
	assert.equal(text, 'see /twosee /three');
});
scenario('a promise keeps its place though flow control holds the parent back', async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { initialWindowSize: 0 } } });
	origin.headers(up.stream, { ':status': 200 }).data(up.stream, 'held back').push(up, 2, '/a').data(up.stream, 'more', { endStream: true });
	await client.expectHead(1);
	await client.expectPromise('/a');
	await client.expectNone('DATA');
	client.windowUpdate(1, 1000);
	assert.equal(String((await client.expect('DATA', { stream: 1 })).data).slice(0, 4), 'held');
});
// covers: R43 P-make-before-reference
scenario('a promise is sent on at once, before anything else happens', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a');
	await client.expectPromise('/a');
	origin.respond(2, { body: 'a' });
	await client.response(2);
});

// covers: R44
scenario('promised ids toward the client are even and rising whatever the origin\'s', async (s) => {
	const { client, origin, up } = await s.open();
	const ids = [100, 1000, 0x7ffffff0, 0x7ffffffe];
	ids.forEach((id, i) => origin.push(up, id, `/p${i}`));
	const promised = [];
	for (const i of ids.keys())
		promised.push((await client.expectPromise(`/p${i}`)).promised);
	assert.deepEqual(promised, [2, 4, 6, 8]);
	ids.forEach((id, i) => origin.respond(id, { body: `${i}` }));
	for (const i of ids.keys())
		assert.equal(String((await client.response(promised[i])).body), `${i}`);
});

// covers: R45 P-make-messages
/* The largest of them goes out in one go. */
scenario('pushed responses of every kind come through', { origin: { 'stream-window': '1M' } }, async (s) => {
	const { client, origin, up } = await s.open();
	const big = Buffer.from(Array.from({ length: 300000 }, (_, i) => (i * 7 + (i >> 8)) & 255));
	const kinds = [
		['/big', { body: big, fields: { 'content-length': big.length } }],
		['/trailers', { body: 'x', trailers: { 'x-sum': '1', 'x-last': '' } }],
		['/none', { status: 204 }],
		['/same', { status: 304, fields: { etag: '"e"' } }],
		['/moved', { status: 302, fields: { location: '/there' } }],
		['/missing', { status: 404, body: 'no' }],
		['/broken', { status: 503, body: 'no' }],
		['/empty', { body: '' }],
		['/end', { fields: { 'content-length': 0 } }],
	];
	/* The origin obeys our windows: the big body goes in pieces as credit comes. */
	kinds.forEach(([path], i) => origin.push(up, 2 + 2 * i, path));
	for (const [i, [, r]] of kinds.entries()) {
		if (r.body?.length > 60000) {
			origin.headers(2, { ':status': 200, ...r.fields });
			for (let at = 0; at < r.body.length; at += 10000) {
				origin.data(2, r.body.subarray(at, at + 10000), { endStream: at + 10000 >= r.body.length });
				if (at % 100000 === 90000)
					await client.sync();
			}
			continue;
		}
		origin.respond(2 + 2 * i, r);
	}
	for (const [path, r] of kinds) {
		const p = await client.expectPromise(path);
		const got = await client.response(p.promised);
		assert.equal(got.status, r.status ?? 200, path);
		assert.ok(got.body.equals(Buffer.from(r.body ?? '')), path);
		for (const [name, value] of Object.entries(r.fields ?? {}))
			assert.equal(got.headers[name], String(value), path);
		if (r.trailers)
			assert.deepEqual(got.trailers, r.trailers);
	}
});
scenario('a pushed HEAD has a content-length and no body', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/head', { ':method': 'HEAD' }).respond(2, { fields: { 'content-length': 1000 } });
	const p = await client.expectPromise('/head');
	assert.equal(p.headers[':method'], 'HEAD');
	const r = await client.response(p.promised);
	assert.equal(r.headers['content-length'], '1000');
	assert.equal(r.body.length, 0);
});
// covers: R45 P-hint-forwarded P-make-messages
scenario('1xx before the final head of a push is passed on', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').headers(2, { ':status': 103, link: '</x>; rel=preload' }).respond(2, { body: 'a' });
	const p = await client.expectPromise('/a');
	const r = await client.response(p.promised);
	assert.equal(r.interim[0]?.headers[':status'], '103');
	assert.equal(String(r.body), 'a');
});

// covers: R46
scenario('pushes are answered in any order, interleaved, and after the parent\'s end', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').push(up, 4, '/b').push(up, 6, '/c').respond(up.stream, { body: 'page' });
	const ids = [];
	for (const path of ['/a', '/b', '/c'])
		ids.push((await client.expectPromise(path)).promised);
	await client.response(1);
	for (const id of [6, 2, 4])
		origin.headers(id, { ':status': 200 });
	for (let i = 0; i < 5; i++)
		for (const id of [2, 6, 4])
			origin.data(id, `${id}${i};`);
	for (const id of [4, 6, 2])
		origin.data(id, '', { endStream: true });
	for (const [i, id] of [2, 4, 6].entries())
		assert.equal(String((await client.response(ids[i])).body), [0, 1, 2, 3, 4].map((n) => `${id}${n};`).join(''));
});
scenario('pushes are answered while the parent\'s request body is still being sent', async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST' }, options: { endStream: false } });
	client.data(1, 'one');
	origin.push(up, 2, '/a').respond(2, { body: 'a' });
	const p = await client.expectPromise('/a');
	assert.equal(String((await client.response(p.promised)).body), 'a');
	client.data(1, 'two', { endStream: true });
	let text = '';
	for (let f; !f?.endStream;) {
		f = await origin.expect('DATA', { stream: up.stream });
		text += f.data;
	}
	assert.equal(text, 'onetwo');
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
});
scenario('a promise after a 103 comes after it', async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 103, link: '</a>; rel=preload' }).push(up, 2, '/a').respond(up.stream, { body: 'page' });
	const p = await client.expectPromise('/a');
	const r = await client.response(1);
	assert.equal(r.interim.length, 1);
	assert.ok(r.interim[0].seq < p.seq && p.seq < r.head.seq);
});

// covers: R47
for (const [what, options] of Object.entries({
	'in CONTINUATIONs': { split: [5, 10, 1] },
	'with an empty first fragment': { split: [0] },
	'with empty CONTINUATIONs': { split: [3, 0, 0, 4, 0] },
	'with padding': { padding: 200 },
	'with padding and CONTINUATIONs': { padding: 7, split: [4, 0] },
	'with padding of 0': { padding: 0 },
}))
	scenario(`a promise ${what} comes through`, async (s) => {
		const { client, origin, up } = await s.open();
		origin.push(up, 2, '/a', { 'x-f': 'value' }, options).respond(2, { body: 'a' });
		const p = await client.expectPromise('/a');
		assert.equal(p.headers['x-f'], 'value');
		await client.response(p.promised);
	});
scenario('a promise larger than one frame comes through', async (s) => {
	const { client, origin, up } = await s.open();
	const long = 'x'.repeat(30000);
	origin.push(up, 2, '/a', { 'x-long': long }, { split: [16000, 14000] });
	assert.equal((await client.expectPromise('/a')).headers['x-long'], long);
});

// covers: R48
for (const [what, send] of Object.entries({
	'shorter than content-length': (o) => o.headers(2, { ':status': 200, 'content-length': 10 }).data(2, 'short', { endStream: true }),
	'longer than content-length': (o) => o.headers(2, { ':status': 200, 'content-length': 2 }).data(2, 'long', { endStream: true }),
	'of nothing with content-length': (o) => o.headers(2, { ':status': 200, 'content-length': 2 }, { endStream: true }),
	'without :status': (o) => o.headers(2, { 'x-y': 'z' }, { endStream: true }),
	'with an upper-case name': (o) => o.headers(2, { ':status': 200, Upper: 'x' }, { endStream: true }),
	'with connection': (o) => o.headers(2, { ':status': 200, connection: 'close' }, { endStream: true }),
	'with a second head without END_STREAM': (o) => o.headers(2, { ':status': 200 }).headers(2, { 'x-t': '1' }),
	'with pseudo-fields in trailers': (o) => o.headers(2, { ':status': 200 }).headers(2, { ':status': 200 }, { endStream: true }),
	'that ends with a 1xx': (o) => o.headers(2, { ':status': 103 }, { endStream: true }),
}))
	scenario(`a pushed response ${what} is an error on both sides, never a normal end`, async (s) => {
		const { client, origin, up } = await s.open();
		origin.push(up, 2, '/a');
		const p = await client.expectPromise('/a');
		send(origin);
		await client.expectReset(p.promised);
		await origin.expectReset(2, 'PROTOCOL_ERROR');
		assert.equal(client.seen('DATA', { stream: p.promised, endStream: true }).length, 0);
		assert.equal(client.seen('HEADERS', { stream: p.promised, endStream: true }).length, 0);
		origin.respond(up.stream, { body: 'page' });
		assert.equal((await client.response(1)).status, 200);
	});

// covers: R49
scenario('an origin that resets promised and pushed streams resets the client\'s', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/reserved').push(up, 4, '/begun').headers(4, { ':status': 200 }).data(4, 'x');
	const a = await client.expectPromise('/reserved');
	const b = await client.expectPromise('/begun');
	await client.expect('DATA', { stream: b.promised });
	origin.rst(2, 'CANCEL').rst(4, 'INTERNAL_ERROR');
	await client.expectReset(a.promised, 'CANCEL');
	await client.expectReset(b.promised, 'INTERNAL_ERROR');
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
});
for (const [what, end] of Object.entries({
	dies: (origin) => origin.close(),
	'says GOAWAY with an error': (origin) => origin.goaway(1, 'INTERNAL_ERROR').end(),
}))
	scenario(`when the origin connection ${what}, its pushes are reset and the client lives`, async (s) => {
		const { client, origin, up } = await s.open();
		origin.push(up, 2, '/a').push(up, 4, '/b').headers(4, { ':status': 200 });
		const a = await client.expectPromise('/a');
		const b = await client.expectPromise('/b');
		await client.expectHead(b.promised);
		end(origin);
		await client.expectReset(a.promised);
		await client.expectReset(b.promised);
		assert.equal((await client.response(1)).status, 502);
		client.request(3, { path: '/next' });
		const next = await s.accept();
		next.respond((await next.expectRequest('/next')).stream, { body: 'x' });
		assert.equal((await client.response(3)).status, 200);
	});

// covers: R50
scenario('pushes under way complete after GOAWAY NO_ERROR from the origin', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').push(up, 4, '/b').headers(4, { ':status': 200 });
	const a = await client.expectPromise('/a');
	const b = await client.expectPromise('/b');
	origin.goaway(up.stream).respond(2, { body: 'a' }).data(4, 'b', { endStream: true }).respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(a.promised)).body), 'a');
	assert.equal(String((await client.response(b.promised)).body), 'b');
	assert.equal((await client.response(1)).status, 200);
});

// covers: R51 P-make-allowed
scenario('after GOAWAY from the client nothing is promised, pushes up to its last id complete', { origin: { push: 'accept' } }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').headers(2, { ':status': 200 });
	const a = await client.expectPromise('/a');
	client.goaway(a.promised);
	await client.sync();
	origin.push(up, 4, '/b');
	await origin.expectReset(4, ['CANCEL', 'REFUSED_STREAM']);
	origin.data(2, 'a', { endStream: true }).respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(a.promised)).body), 'a');
	const r = await client.response(1);
	assert.equal(String(r.body), 'page');
	assert.equal(client.seen('PUSH_PROMISE').length, 0);
});

// covers: R52 P-make-client-reset
for (const code of ['CANCEL', 'REFUSED_STREAM', 'INTERNAL_ERROR', 'NO_ERROR'])
	scenario(`RST_STREAM ${code} from the client reaches the promised stream at the origin, and nothing else`, async (s) => {
		const { client, origin, up } = await s.open();
		origin.push(up, 2, '/early').push(up, 4, '/during').push(up, 6, '/sibling');
		const early = await client.expectPromise('/early');
		const during = await client.expectPromise('/during');
		const sibling = await client.expectPromise('/sibling');
		client.rst(early.promised, code);
		await origin.expectReset(2, code);
		origin.headers(4, { ':status': 200 }).data(4, 'some');
		await client.expect('DATA', { stream: during.promised });
		client.rst(during.promised, code);
		await origin.expectReset(4, code);
		origin.respond(6, { body: 'sibling' }).respond(up.stream, { body: 'page' });
		assert.equal(String((await client.response(sibling.promised)).body), 'sibling');
		assert.equal(String((await client.response(1)).body), 'page');
	});

// covers: R53 P-recv-parent-gone
scenario('cancelling the parent leaves its pushes to complete or resets them on both sides', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').headers(2, { ':status': 200 }).headers(up.stream, { ':status': 200 });
	const a = await client.expectPromise('/a');
	await client.expectHead(a.promised);
	client.rst(1, 'CANCEL');
	await origin.expectReset(up.stream, 'CANCEL');
	await origin.sync();
	if (origin.seen('RST_STREAM', { stream: 2 }).length) {
		await client.expectReset(a.promised);
		return;
	}
	origin.data(2, 'a', { endStream: true });
	assert.equal(String((await client.expect('DATA', { stream: a.promised, endStream: true })).data), 'a');
});

// covers: R54 P-recv-after-reset
scenario('what was under way when a promised stream was reset is tolerated', async (s) => {
	const { client, origin, up } = await s.open();
	origin.encoder.indexing = true;
	origin.push(up, 2, '/a').push(up, 4, '/b').headers(4, { ':status': 200 }).data(4, 'x');
	const a = await client.expectPromise('/a');
	const b = await client.expectPromise('/b');
	await client.expect('DATA', { stream: b.promised });
	client.rst(a.promised).rst(b.promised);
	await origin.expectReset(2);
	await origin.expectReset(4);
	origin.respond(2, { fields: { 'x-new': 'entry' }, body: 'late', trailers: { 'x-other': 'entry' } });
	origin.data(4, 'late').headers(4, { 'x-trail': 'entry' }, { endStream: true });
	origin.respond(up.stream, { fields: { 'x-new': 'entry', 'x-trail': 'entry' }, body: 'page' });
	assert.equal((await client.response(1)).headers['x-trail'], 'entry');
	await origin.sync();
	assert.equal(origin.seen('GOAWAY').length, 0);
});

// covers: R55
scenario('pushes work with TLS on both hops', { tls: true, originTls: true }, async (s) => {
	const { client, origin, up } = await s.open();
	assert.equal(up.headers[':scheme'], 'https');
	origin.push(up, 2, '/a').respond(2, { body: 'a' }).respond(up.stream, { body: 'page' });
	const p = await client.expectPromise('/a');
	assert.equal(p.headers[':scheme'], 'https');
	assert.equal(String((await client.response(p.promised)).body), 'a');
	assert.equal((await client.response(1)).status, 200);
});
for (const [what, fields] of Object.entries({ 'what we sent': {}, 'its own hop\'s scheme': { ':scheme': 'http' } }))
	scenario(`a TLS client gets promises that it can accept from a cleartext origin that promises ${what}`, { tls: true }, async (s) => {
		const { client, origin, up } = await s.open();
		origin.push(up, 2, '/a', fields).respond(2, { body: 'a' });
		const p = await client.expectPromise('/a');
		assert.equal(p.headers[':scheme'], 'https');
		assert.equal(p.headers[':authority'], client.authority);
		assert.equal(String((await client.response(p.promised)).body), 'a');
	});
scenario('promises of an origin that knows another name come under the client\'s', { origin: { host: 'inner.test', scheme: 'hop' }, tls: true }, async (s) => {
	const { client, origin, up } = await s.open();
	assert.equal(up.headers[':authority'], 'inner.test');
	assert.equal(up.headers[':scheme'], 'http');
	origin.push(up, 2, '/a').respond(2, { body: 'a' });
	const p = await client.expectPromise('/a');
	assert.equal(p.headers[':authority'], client.authority);
	assert.equal(p.headers[':scheme'], 'https');
});

scenario('a resource is pushed once for a parent, a repeated promise is refused', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').push(up, 4, '/a').push(up, 6, '/a?x');
	await origin.expectReset(4, ['CANCEL', 'REFUSED_STREAM']);
	await client.expectPromise('/a');
	await client.expectPromise('/a?x');
	await client.expectNone('PUSH_PROMISE');
});

// covers: P-num-log
scenario('each pushed exchange has a line in the access log with its parent', async (s) => {
	const { client, origin, up } = await s.open({ path: '/page' });
	origin.push(up, 2, '/a').respond(2, { body: 'pushed' }).respond(up.stream, { body: 'page' });
	await client.response((await client.expectPromise('/a')).promised);
	await client.response(1);
	const page = await s.gate.access((l) => l.path === '/page');
	const push = await s.gate.access((l) => l.path === '/a');
	assert.equal(page.status, 200);
	assert.equal(push.status, 200);
	const parent = push['parent-id'] ?? push.parent_id ?? push.parent ?? push.push?.parent;
	assert.equal(parent, page.id);
	assert.match(JSON.stringify(push), /"relayed"/);
	assert.match(JSON.stringify(push), /"forward"/);
});
