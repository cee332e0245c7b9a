/* SPDX-License-Identifier: MIT */
/* Field compression stays in step whatever becomes of a block (RFC 7541, RFC 9113 4.3). */
import assert from 'node:assert/strict';
import { scenario, section } from '../support/gate.mjs';

const drop = section('push nothing', { 'promised-path': '/drop*', action: 'drop' });
const field = (n) => ({ [`x-field-${n}`]: `value ${n} ${'v'.repeat(40)}` });

// covers: R23 P-recv-decoded P-recv-after-reset
scenario('blocks of dropped promises are decoded', { extra: drop }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.encoder.indexing = true;
	for (let i = 0; i < 8; i++)
		origin.push(up, 2 + 2 * i, `/drop${i}`, field(i));
	origin.respond(up.stream, { fields: Object.assign({}, ...Array.from({ length: 8 }, (_, i) => field(i))), body: 'page' });
	for (let i = 0; i < 8; i++)
		await origin.expectReset(2 + 2 * i, ['CANCEL', 'REFUSED_STREAM']);
	const r = await client.response(1);
	for (let i = 0; i < 8; i++)
		assert.equal(r.headers[`x-field-${i}`], field(i)[`x-field-${i}`]);
});

scenario('responses and trailers on reset promised streams are decoded', { extra: drop }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.encoder.indexing = true;
	origin.push(up, 2, '/drop', field(0));
	/* All of this is under way before the origin has seen the reset. */
	origin.respond(2, { fields: field(1), body: 'unwanted', trailers: field(2) });
	await origin.expectReset(2, ['CANCEL', 'REFUSED_STREAM']);
	origin.respond(up.stream, { fields: { ...field(0), ...field(1) }, body: 'page', trailers: field(2) });
	const r = await client.response(1);
	assert.equal(r.headers['x-field-1'], field(1)['x-field-1']);
	assert.equal(r.trailers['x-field-2'], field(2)['x-field-2']);
});

scenario('refused blocks in CONTINUATIONs with size updates are decoded', { extra: drop }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.encoder.indexing = true;
	origin.encoder.resize(100);
	origin.encoder.resize(4096);
	origin.push(up, 2, '/drop', { ...field(0), ...field(1) }, { split: [0, 1, 7, 0, 30] });
	origin.encoder.resize(0);
	origin.encoder.resize(2000);
	origin.push(up, 4, '/drop2', field(2), { split: [2, 2] });
	origin.respond(up.stream, { fields: field(2), body: 'page' });
	await origin.expectReset(2);
	await origin.expectReset(4);
	assert.equal((await client.response(1)).headers['x-field-2'], field(2)['x-field-2']);
});

scenario('what a client sends for cancelled requests is decoded', async (s) => {
	const { client, origin, up } = await s.open({ options: { endStream: false }, request: { method: 'POST' } });
	client.encoder.indexing = true;
	origin.rst(up.stream, 'CANCEL');
	await client.take((f) => f.stream === 1 && ['RST_STREAM', 'HEADERS'].includes(f.type), 'the end of 1');
	client.headers(1, field(7), { endStream: true });
	client.request(3, field(7));
	assert.equal((await origin.expectRequest('/')).headers['x-field-7'], field(7)['x-field-7']);
});

// covers: R24
scenario('never-indexed fields stay so in requests, responses and promises', async (s) => {
	const client = await s.connect();
	client.headers(1, [
		[':method', 'GET'], [':scheme', 'http'], [':authority', client.authority], [':path', '/secret', { as: 'never' }],
		['x-secret', 's3cret', { as: 'never' }], ['x-open', 'open', { as: 'incremental' }],
	], { endStream: true });
	const origin = await s.accept();
	const up = await origin.expectRequest('/secret');
	const as = (f, name) => f.fields.find((x) => x.name === name).as;
	assert.equal(as(up, 'x-secret'), 'never');
	assert.equal(as(up, ':path'), 'never');
	assert.notEqual(as(up, 'x-open'), 'never');
	origin.pushPromise(up.stream, 2, [
		[':method', 'GET'], [':scheme', 'http'], [':authority', up.headers[':authority']], [':path', '/p'],
		['x-key', 'k', { as: 'never', huffman: true }],
	]);
	assert.equal(as(await client.expectPromise('/p'), 'x-key'), 'never');
	origin.headers(2, [[':status', '200'], ['set-cookie', 'a=b', { as: 'never' }]], { endStream: true });
	origin.headers(up.stream, [[':status', '200'], ['x-token', 't', { as: 'never' }]]);
	origin.headers(up.stream, [['x-trail', 't', { as: 'never' }]], { endStream: true });
	assert.equal(as((await client.response(2)).head, 'set-cookie'), 'never');
	const r = await client.response(1);
	assert.equal(as(r.head, 'x-token'), 'never');
	assert.equal(as(r.last, 'x-trail'), 'never');
});

// covers: R25
scenario('promises on several parents keep the table toward the client in step', async (s) => {
	const client = await s.connect();
	const n = 6;
	for (let i = 0; i < n; i++)
		client.request(1 + 2 * i, { path: `/page${i}` });
	const origin = await s.accept();
	const ups = [];
	for (let i = 0; i < n; i++)
		ups.push(await origin.expectRequest(`/page${i}`));
	let id = 0;
	for (let round = 0; round < 3; round++)
		for (const [i, up] of ups.entries()) {
			origin.push(up, id += 2, `/p${round}-${i}`, field(i % 3));
			origin.respond(id, { fields: field(round), body: `${round}${i}` });
		}
	ups.forEach((up, i) => origin.respond(up.stream, { fields: field(i % 3), body: 'page' }));
	for (let round = 0; round < 3; round++)
		for (let i = 0; i < n; i++) {
			const p = await client.expectPromise(`/p${round}-${i}`);
			assert.equal(p.stream, 1 + 2 * i);
			assert.equal(p.headers[`x-field-${i % 3}`], field(i % 3)[`x-field-${i % 3}`]);
			const r = await client.response(p.promised);
			assert.equal(String(r.body), `${round}${i}`);
			assert.equal(r.headers[`x-field-${round}`], field(round)[`x-field-${round}`]);
		}
	for (let i = 0; i < n; i++)
		assert.equal((await client.response(1 + 2 * i)).headers[`x-field-${i % 3}`], field(i % 3)[`x-field-${i % 3}`]);
});

// covers: R75
for (const size of [0, 64, 4096, 65536])
	scenario(`a client table of ${size} bytes is kept to`, async (s) => {
		const client = await s.connect({ settings: { headerTableSize: size } });
		for (let i = 0; i < 5; i++)
			client.request(1 + 2 * i, { path: `/${i}` });
		const origin = await s.accept();
		for (let i = 0; i < 5; i++)
			origin.respond((await origin.expectRequest(`/${i}`)).stream, { fields: field(i % 2), body: 'x' });
		for (let i = 0; i < 5; i++)
			assert.equal((await client.response(1 + 2 * i)).headers[`x-field-${i % 2}`], field(i % 2)[`x-field-${i % 2}`]);
		assert.ok(client.decoder.table.limit <= size);
	});
scenario('a client table that shrinks and grows on a live connection is kept to', async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { fields: field(1), body: 'x' });
	await client.response(1);
	client.settings({ headerTableSize: 0 });
	client.settings({ headerTableSize: 4096 });
	for (let i = 1; i < 4; i++) {
		client.request(1 + 2 * i, { path: `/${i}` });
		origin.respond((await origin.expectRequest(`/${i}`)).stream, { fields: field(1), body: 'x' });
		assert.equal((await client.response(1 + 2 * i)).headers['x-field-1'], field(1)['x-field-1']);
	}
	assert.ok(client.decoder.updates.includes(0), 'the shrinking has to be acknowledged with a size update (RFC 7541 4.2)');
});
scenario('an origin table of 0 is kept to', { origins: { main: { settings: { headerTableSize: 0 } } } }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { body: 'x' });
	await client.response(1);
	for (let i = 1; i < 4; i++) {
		client.request(1 + 2 * i, { path: `/${i}`, ...field(1) });
		const next = await origin.expectRequest(`/${i}`);
		assert.equal(next.headers['x-field-1'], field(1)['x-field-1']);
		assert.equal(next.fields.filter((f) => f.as === 'incremental').length, 0);
		origin.respond(next.stream, { body: 'x' });
		await client.response(1 + 2 * i);
	}
});

scenario('a request block that cannot be decoded ends the client connection', async (s) => {
	const client = await s.connect();
	client.headers(1, null, { block: Buffer.from([0xff, 0x80, 0x01]), endStream: true });
	await client.expectConnectionError('COMPRESSION_ERROR');
});
