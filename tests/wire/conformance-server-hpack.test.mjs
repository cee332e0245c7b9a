/* SPDX-License-Identifier: MIT */
/* Field compression as a client meets it: what our decoder refuses, how our encoder behaves (RFC 7541). */
import assert from 'node:assert/strict';
import { huffmanEncode, integer, string } from '../support/hpack.mjs';
import { conformance } from '../support/site.mjs';

const hex = (text) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const join = (...parts) => Buffer.concat(parts.map((p) => (typeof p === 'string' ? hex(p) : p)));
/* :method GET, :scheme http, :path /, and a literal :authority; what stands behind is the row's. */
const request = (c, path = '/after') => join('82', c.scheme === 'https' ? '87' : '86', '04', string(path), '01', string(c.authority));
const block = (...parts) => (c) => c.headers(5, null, { block: join(request(c), ...parts), endStream: true });
const first = (...parts) => (c) => c.headers(5, null, { block: join(...parts, request(c)), endStream: true });
const answered = async (c) => assert.equal((await c.response(5)).status, 200);
const bad = (covers, name, send) => ({ covers, name, send, connection: 'COMPRESSION_ERROR' });
const good = (covers, name, send) => ({ covers, name, send, check: answered });
/* What reaches the origin of a field that the block ends with. */
const field = (covers, name, value, ...parts) => ({
	covers, name, check: async (c, r) => {
		const path = r.site.path();
		c.headers(5, null, { block: join(request(c, path), ...parts), endStream: true });
		const { origin, up } = await r.site.request(path);
		assert.equal(up.headers.x, value);
		origin.respond(up.stream, { body: 'x' });
		await answered(c);
	},
});

conformance('a field block', [
	/* ---- indices ---- */
	bad('R116', '6.1. with index 0', block('80')),
	bad('R116', '2.3.3. with an index above both tables', block('be')),
	bad('R116', '2.3.3. with an index far above', block('ff ff ff 7f')),
	bad('R116', '2.3.3. with a name of an index above both tables', block('7e', string('v'))),
	bad('R116', '2.3.3. with a name of an index above, not indexed', block('0f ff 00', string('v'))),
	bad('R116', '2.3.3. with a name of an index above, never indexed', block('1f ff 00', string('v'))),
	bad('R116', '2.3.3. with an entry that a size update has evicted', (c) => {
		c.headers(5, null, { block: join(request(c), '40', string('x'), string('y')), endStream: true });
		c.headers(7, null, { block: join('20', request(c), 'be'), endStream: true });
	}),
	bad('R116', '4.4. with an entry that is too large to be kept, and what it has evicted', (c) => {
		c.headers(5, null, { block: join(request(c), '40', string('x'), string('y')), endStream: true });
		c.headers(7, null, { block: join(request(c), '40', string('z'), string('v'.repeat(4096)), 'be'), endStream: true });
	}),
	field('R116', '2.3.3. with an entry of the dynamic table', 'z, y', '40', string('x'), string('z'), '7e', string('y'), '40', string('q'), string('q')),

	/* ---- integers ---- */
	bad('R117', '5.1. with an integer that has no end', block('ff 80 80 80 80 80 80 80 80 80 80 80 80 01')),
	bad('R117', '5.1. with an integer above 2^32', block('ff ff ff ff ff 7f')),
	bad('R117', '5.1. that ends inside an integer', block('ff')),
	bad('R117', '5.1. that ends inside the bytes of an integer', block('ff 80')),
	good('R117', '5.1. with an integer longer than it needs to be', block('0f 80 80 00', string('u'))),

	/* ---- strings ---- */
	bad('R118', '5.2. with a string longer than the block', block('40 05 61')),
	bad('R118', '5.2. that ends before a value', block('40', string('x'))),
	bad('R118', '5.2. that ends before a name', block('40')),
	bad('R118', '5.2. with Huffman padding of eight bits', block('40', string('x'), '82', '1f ff')),
	bad('R118', '5.2. with Huffman padding of zeros', block('40', string('x'), '81', '18')),
	bad('R118', '5.2. with Huffman padding that is no prefix of EOS', block('40', string('x'), '81', '1e')),
	bad('R118', '5.2. with EOS in a Huffman string', block('40', string('x'), '84', 'ff ff ff ff')),
	field('R118', '5.2. with an empty Huffman string', '', '40', string('x'), '80'),
	field('R118', '5.2. with Huffman in name and value', 'www.example.com', '00', join(Buffer.from([0x80 | huffmanEncode(Buffer.from('x')).length]),
		huffmanEncode(Buffer.from('x'))), string('www.example.com', true)),
	field('R118', '5.2. with every byte that a value may have, by Huffman', Buffer.from([9, ...Array.from({ length: 95 }, (_, i) => 32 + i),
		...Array.from({ length: 128 }, (_, i) => 128 + i)]).toString('latin1').trim(), '00', string('x'),
	string(Buffer.from([9, ...Array.from({ length: 95 }, (_, i) => 32 + i), ...Array.from({ length: 128 }, (_, i) => 128 + i)]).toString('latin1').trim(), true)),

	/* ---- representations ---- */
	field('R116', '6.2.1. with incremental indexing', 'v', '40', string('x'), string('v')),
	field('R116', '6.2.2. without indexing', 'v', '00', string('x'), string('v')),
	field('R116', '6.2.3. never indexed', 'v', '10', string('x'), string('v')),

	/* ---- size updates ---- */
	bad('R119', '6.3. with a size update above our HEADER_TABLE_SIZE', first(integer(4097, 5, 0x20))),
	bad('R119', '4.2. with a size update behind a field', block('20')),
	bad('R119', '4.2. with a size update between fields', block('20', '40', string('x'), string('y'))),
	good('R119', '4.2. with a size update to our HEADER_TABLE_SIZE', first(integer(4096, 5, 0x20))),
	good('R119', '4.2. with two size updates', first('20', integer(4096, 5, 0x20))),
	good('R119', '4.2. with a size update to 0', first('20')),
	bad('R119', '4.2. with a size update in trailers behind a field', (c, r) => {
		c.headers(5, { ...r.get(), ':method': 'POST' }).headers(5, null, { block: join('00', string('x'), string('y'), '20'), endStream: true });
	}),

	/* ---- scope ---- */
	bad('R121', '4.3. that is broken, in trailers', (c, r) => c.headers(5, { ...r.get(), ':method': 'POST' }).headers(5, null, { block: hex('80'), endStream: true })),
	bad('R121', '4.3. that is broken, in CONTINUATION', (c) => c.headers(5, null, { block: request(c), endHeaders: false, endStream: true }).continuation(5, hex('80'))),
	bad('R121', '4.3. that ends in a string, although the frame has padding', (c) =>
		c.headers(5, null, { block: join(request(c), '40 05 61'), endStream: true, padding: 10 })),
	{ covers: 'R121', name: '4.3. that is broken on a stream which we have reset', given: 'reset by us', connection: 'COMPRESSION_ERROR',
		send: (c) => c.headers(1, null, { block: hex('80'), endStream: true }) },
	{ covers: 'R121', name: '4.3. that is broken on a half-closed stream', given: 'half-closed (remote)', connection: 'COMPRESSION_ERROR',
		send: (c) => c.headers(1, null, { block: hex('80'), endStream: true }) },
	...Object.entries({
		'malformed': (c, r) => c.headers(5, [...Object.entries(r.get()), ['Upper', 'case'], ['x', 'kept'.repeat(9)]], { endStream: true }),
		'too large': (c, r) => c.headers(5, [...Object.entries(r.get()), ['x-big', 'b'.repeat(80000), { as: 'without' }], ['x', 'kept'.repeat(9)]],
			{ huffman: true, endStream: true, split: [16000, 16000, 16000] }),
		'on a half-closed stream': async (c, r) => {
			c.headers(5, r.get(), { endStream: true });
			c.headers(5, { x: 'kept'.repeat(9) }, { endStream: true });
		},
	}).map(([what, send]) => ({ covers: 'R121', name: `9113 4.3. of a request that is ${what} counts for the table`, check: async (c, r) => {
		c.encoder.indexing = true;
		await send(c, r);
		await c.take((f) => f.stream === 5 && (f.type === 'RST_STREAM' || f.endStream), 'the refusal');
		c.drop((f) => f.stream === 5);
		const path = r.site.path();
		c.headers(7, { ...r.get(path), x: 'kept'.repeat(9) }, { endStream: true });
		const { origin, up } = await r.site.request(path);
		assert.equal(up.headers.x, 'kept'.repeat(9));
		origin.respond(up.stream, { body: 'x' });
		await c.response(7);
	} })),

	/* ---- our encoder ---- */
	{ covers: 'R120', name: '4.2. of ours begins with a size update after HEADER_TABLE_SIZE went down', given: 'half-closed (remote)', check: async (c, r) => {
		c.settings({ headerTableSize: 100 });
		await c.sync();
		r.origin.respond(r.up.stream, { body: 'x' });
		await c.response(1);
		assert.equal(c.decoder.updates.length, 1);
		assert.ok(c.decoder.updates[0] <= 100);
	} },
	{ covers: 'R120', name: '4.2. of ours begins with the smallest size, then the last, after it went down and up', given: 'half-closed (remote)', check: async (c, r) => {
		c.settings({ headerTableSize: 0 }).settings({ headerTableSize: 4096 });
		await c.sync();
		r.origin.respond(r.up.stream, { body: 'x' });
		await c.response(1);
		assert.equal(c.decoder.updates[0], 0);
		assert.equal(c.decoder.updates.length, 2);
		assert.ok(c.decoder.updates[1] <= 4096);
	} },
	{ covers: 'R120', name: '4.2. of ours begins so after both in one SETTINGS frame', given: 'half-closed (remote)', check: async (c, r) => {
		c.settings([['headerTableSize', 0], ['headerTableSize', 300]]);
		c.decoder.limit = 300;
		await c.sync();
		c.decoder.limit = 300;
		r.origin.respond(r.up.stream, { body: 'x' });
		await c.response(1);
		assert.deepEqual(c.decoder.updates, [0, 300]);
	} },
	{ covers: 'R120', name: '4.2. of ours keeps to a table of 0', client: { settings: { headerTableSize: 0 } }, check: async (c, r) => {
		for (let id = 5; id < 15; id += 2) {
			const path = r.site.path();
			c.headers(id, r.get(path), { endStream: true });
			const { origin, up } = await r.site.request(path);
			origin.respond(up.stream, { fields: { 'x-same': 'same' }, body: 'x' });
			assert.equal((await c.response(id)).headers['x-same'], 'same');
		}
		assert.equal(c.decoder.table.entries.length, 0);
	} },
	{ covers: 'R120', name: '4.2. of ours need not use a larger table than it likes', given: 'half-closed (remote)', check: async (c, r) => {
		c.settings({ headerTableSize: 1 << 24 });
		await c.sync();
		r.origin.respond(r.up.stream, { fields: { 'x-one': '1' }, body: 'x' });
		assert.equal((await c.response(1)).headers['x-one'], '1');
		for (const update of c.decoder.updates)
			assert.ok(update <= 1 << 24);
	} },
	{ covers: 'R24', name: '7.1.3. of ours keeps never-indexed fields so', given: 'half-closed (remote)', check: async (c, r) => {
		r.origin.headers(r.up.stream, [[':status', '200'], ['x-secret', 's', { as: 'never' }]], { endStream: true });
		const { head } = await c.response(1);
		assert.equal(head.fields.find((f) => f.name === 'x-secret').as, 'never');
	} },
]);

conformance('with a HEADER_TABLE_SIZE of ours below the default, a field block', [
	{ covers: 'R119', name: '4.2. without a size update once it is acknowledged', connection: 'COMPRESSION_ERROR',
		send: (c) => c.headers(5, null, { block: request(c), endStream: true }) },
	{ covers: 'R119', name: '6.3. with a size update above it', connection: 'COMPRESSION_ERROR', send: first(integer(1025, 5, 0x20)) },
	{ covers: 'R119', name: '4.2. with the size update', send: first(integer(1024, 5, 0x20)), check: answered },
], { listen: { 'header-table': '1k' } });
