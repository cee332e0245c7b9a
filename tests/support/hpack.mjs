/* SPDX-License-Identifier: MIT */
/*
 * HPACK (RFC 7541) for the scripted peers: an encoder that can be told every representation, and
 * a strict decoder that keeps how each field was represented. Independent of the product's own
 * implementation on purpose, and slow. Strings are latin1: one character is one byte.
 */
const STATIC = `:authority|
:method|GET
:method|POST
:path|/
:path|/index.html
:scheme|http
:scheme|https
:status|200
:status|204
:status|206
:status|304
:status|400
:status|404
:status|500
accept-charset|
accept-encoding|gzip, deflate
accept-language|
accept-ranges|
accept|
access-control-allow-origin|
age|
allow|
authorization|
cache-control|
content-disposition|
content-encoding|
content-language|
content-length|
content-location|
content-range|
content-type|
cookie|
date|
etag|
expect|
expires|
from|
host|
if-match|
if-modified-since|
if-none-match|
if-range|
if-unmodified-since|
last-modified|
link|
location|
max-forwards|
proxy-authenticate|
proxy-authorization|
range|
referer|
refresh|
retry-after|
server|
set-cookie|
strict-transport-security|
transfer-encoding|
user-agent|
vary|
via|
www-authenticate|`.split('\n').map((line) => line.split('|'));

/* The code of appendix B is canonical: the lengths alone give it. */
const LENGTHS = [
	13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
	28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5,
	6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
	7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6,
	7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23,
	23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22,
	22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22,
	23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27,
	27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25,
	24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];
const EOS = 256;
const CODES = [];
const TREE = [];
{
	const order = [...LENGTHS.keys()].sort((a, b) => LENGTHS[a] - LENGTHS[b] || a - b);
	let code = 0;
	let length = LENGTHS[order[0]];
	for (const symbol of order) {
		code *= 2 ** (LENGTHS[symbol] - length);
		length = LENGTHS[symbol];
		CODES[symbol] = code.toString(2).padStart(length, '0');
		let node = TREE;
		for (const bit of CODES[symbol].slice(0, -1))
			node = node[bit] ??= [];
		node[CODES[symbol].at(-1)] = symbol;
		code++;
	}
}

export function huffmanEncode(bytes) {
	let bits = '';
	for (const o of bytes)
		bits += CODES[o];
	bits += '1'.repeat((8 - (bits.length % 8)) % 8);
	return Buffer.from((bits.match(/.{8}/g) ?? []).map((b) => parseInt(b, 2)));
}

export function huffmanDecode(bytes) {
	const out = [];
	let node = TREE;
	let pending = '';
	for (const o of bytes) {
		for (let bit = 7; bit >= 0; bit--) {
			const b = (o >> bit) & 1;
			pending += b;
			node = node[b];
			if (node === EOS)
				throw new Error('huffman: EOS inside a string');
			if (typeof node === 'number') {
				out.push(node);
				node = TREE;
				pending = '';
			}
		}
	}
	if (pending.length > 7 || pending.includes('0'))
		throw new Error('huffman: bad padding');
	return Buffer.from(out);
}

/* An integer with an n-bit prefix, `top` being the bits above it. */
export function integer(value, n, top = 0) {
	const max = (1 << n) - 1;
	if (value < max)
		return Buffer.from([top | value]);
	const out = [top | max];
	for (value -= max; value >= 128; value = Math.floor(value / 128))
		out.push((value % 128) | 128);
	out.push(value);
	return Buffer.from(out);
}

export function string(text, huffman = false) {
	const raw = Buffer.from(text, 'latin1');
	const bytes = huffman ? huffmanEncode(raw) : raw;
	return Buffer.concat([integer(bytes.length, 7, huffman ? 128 : 0), bytes]);
}

class Table {
	entries = [];
	size = 0;
	limit = 4096;

	at(index) {
		if (index <= 0 || index > STATIC.length + this.entries.length)
			throw new Error(`index ${index} with ${this.entries.length} dynamic entries`);
		return index <= STATIC.length ? STATIC[index - 1] : this.entries[index - STATIC.length - 1];
	}
	add(name, value) {
		this.entries.unshift([name, value]);
		this.size += name.length + value.length + 32;
		this.shrink(this.limit);
	}
	shrink(limit) {
		while (this.size > limit) {
			const [name, value] = this.entries.pop();
			this.size -= name.length + value.length + 32;
		}
	}
	resize(limit) {
		this.limit = limit;
		this.shrink(limit);
	}
	/* [index of name and value or 0, index of the name or 0] */
	find(name, value) {
		let byName = 0;
		for (let i = 1; i <= STATIC.length + this.entries.length; i++) {
			const [n, v] = this.at(i);
			if (n !== name)
				continue;
			byName ||= i;
			if (v === value)
				return [i, byName];
		}
		return [0, byName];
	}
}

/* Fields come as an object, or as a list of [name, value, {options}] where order or doubles matter. */
export function fieldList(fields) {
	if (Array.isArray(fields))
		return fields;
	return Object.entries(fields).flatMap(([name, value]) =>
		(Array.isArray(value) ? value : [value]).map((v) => [name, String(v)]));
}

export class Encoder {
	table = new Table();
	/* Literals without indexing unless told otherwise, so that raw blocks can stand between. */
	indexing = false;
	huffman = false;
	#updates = [];

	/* A size update at the front of the next block; the table follows. */
	resize(limit) {
		this.#updates.push(limit);
		this.table.resize(limit);
	}

	/* Options, for all or by field: as = 'never' | 'without' | 'incremental', huffman. */
	encode(fields, options = {}) {
		const parts = this.#updates.map((limit) => integer(limit, 5, 0x20));
		this.#updates = [];
		for (const [name, value, own] of fieldList(fields)) {
			const o = { huffman: this.huffman, as: this.indexing ? 'incremental' : 'without', ...options, ...own };
			const text = Buffer.from(String(value), 'latin1').toString('latin1');
			const [exact, byName] = this.table.find(name, text);
			if (exact && o.as === 'incremental') {
				parts.push(integer(exact, 7, 0x80));
				continue;
			}
			const index = o.as === 'incremental' || o.nameIndex ? byName : 0;
			const [bits, top] = { incremental: [6, 0x40], without: [4, 0], never: [4, 0x10] }[o.as];
			parts.push(integer(index, bits, top));
			if (!index)
				parts.push(string(name, o.huffman));
			parts.push(string(text, o.huffman));
			if (o.as === 'incremental')
				this.table.add(name, text);
		}
		return Buffer.concat(parts);
	}
}

export class Decoder {
	table = new Table();
	/* What we announced as HEADER_TABLE_SIZE and the peer may use. */
	limit = 4096;
	/* Size updates seen, over all blocks. */
	updates = [];

	decode(block) {
		const fields = [];
		let at = 0;
		const byte = () => {
			if (at >= block.length)
				throw new Error('block ends inside a field');
			return block[at++];
		};
		const number = (first, n) => {
			const max = (1 << n) - 1;
			let value = first & max;
			if (value < max)
				return value;
			for (let scale = 1; ; scale *= 128) {
				const o = byte();
				value += (o & 127) * scale;
				if (value > 2 ** 31)
					throw new Error('integer too large');
				if (!(o & 128))
					return value;
			}
		};
		const text = () => {
			const first = byte();
			const length = number(first, 7);
			if (at + length > block.length)
				throw new Error('string longer than the block');
			const raw = block.subarray(at, at + length);
			at += length;
			return (first & 128 ? huffmanDecode(raw) : raw).toString('latin1');
		};
		while (at < block.length) {
			const first = byte();
			if (first & 0x80) {
				const [name, value] = this.table.at(number(first, 7));
				fields.push({ name, value, as: 'indexed' });
			} else if ((first & 0xe0) === 0x20) {
				const limit = number(first, 5);
				if (fields.length)
					throw new Error('size update behind a field');
				if (limit > this.limit)
					throw new Error(`size update to ${limit}, allowed ${this.limit}`);
				this.updates.push(limit);
				this.table.resize(limit);
			} else {
				const as = first & 0x40 ? 'incremental' : first & 0x10 ? 'never' : 'without';
				const index = number(first, as === 'incremental' ? 6 : 4);
				const name = index ? this.table.at(index)[0] : text();
				const value = text();
				fields.push({ name, value, as });
				if (as === 'incremental')
					this.table.add(name, value);
			}
		}
		return fields;
	}
}
