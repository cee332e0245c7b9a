/* SPDX-License-Identifier: MIT */
/*
 * HTTP/2 frames as bytes and back (RFC 9113 4.1, 6), for the scripted peers of the tests. It
 * writes whatever it is told, however illegal; it shares nothing with the product's own codec.
 */
export const TYPE = {
	DATA: 0, HEADERS: 1, PRIORITY: 2, RST_STREAM: 3, SETTINGS: 4, PUSH_PROMISE: 5, PING: 6,
	GOAWAY: 7, WINDOW_UPDATE: 8, CONTINUATION: 9, PRIORITY_UPDATE: 16,
};
export const FLAG = { END_STREAM: 1, ACK: 1, END_HEADERS: 4, PADDED: 8, PRIORITY: 32 };
export const CODE = {
	NO_ERROR: 0, PROTOCOL_ERROR: 1, INTERNAL_ERROR: 2, FLOW_CONTROL_ERROR: 3,
	SETTINGS_TIMEOUT: 4, STREAM_CLOSED: 5, FRAME_SIZE_ERROR: 6, REFUSED_STREAM: 7, CANCEL: 8,
	COMPRESSION_ERROR: 9, CONNECT_ERROR: 10, ENHANCE_YOUR_CALM: 11, INADEQUATE_SECURITY: 12,
	HTTP_1_1_REQUIRED: 13,
};
export const SETTING = {
	headerTableSize: 1, enablePush: 2, maxConcurrentStreams: 3, initialWindowSize: 4,
	maxFrameSize: 5, maxHeaderListSize: 6, enableConnectProtocol: 8, noRfc7540Priorities: 9,
};
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

const invert = (table) => Object.fromEntries(Object.entries(table).map(([k, v]) => [v, k]));
const TYPE_NAME = invert(TYPE);
const CODE_NAME = invert(CODE);
const SETTING_NAME = invert(SETTING);
export const typeName = (type) => TYPE_NAME[type] ?? `0x${type.toString(16)}`;
export const codeName = (code) => CODE_NAME[code] ?? `0x${code.toString(16)}`;
export const codeNumber = (code) => (typeof code === 'string' ? CODE[code] : code);

export function u32(value) {
	const b = Buffer.alloc(4);
	b.writeUInt32BE(value >>> 0);
	return b;
}

export function frame(type, flags, stream, payload = Buffer.alloc(0)) {
	const header = Buffer.alloc(9);
	header.writeUIntBE(payload.length, 0, 3);
	header[3] = typeof type === 'string' ? TYPE[type] : type;
	header[4] = flags;
	header.writeUInt32BE(stream >>> 0, 5);
	return Buffer.concat([header, payload]);
}

/* entries: an object by the names above, or a list of [id or name, value] (doubles, unknown ids). */
export function settingsPayload(entries) {
	const list = Array.isArray(entries) ? entries : Object.entries(entries);
	return Buffer.concat(list.map(([key, value]) => {
		const b = Buffer.alloc(6);
		b.writeUInt16BE(SETTING[key] ?? Number(key), 0);
		b.writeUInt32BE(value >>> 0, 2);
		return b;
	}));
}

export function padded(payload, padding) {
	if (padding === undefined)
		return payload;
	return Buffer.concat([Buffer.from([padding]), payload, Buffer.alloc(padding)]);
}

function unpad(f) {
	if (!(f.flags & FLAG.PADDED))
		return f.payload;
	const padding = f.payload[0];
	if (padding === undefined || padding + 1 > f.payload.length)
		throw new Error(`padding of ${padding} in a payload of ${f.payload.length}`);
	f.padding = padding;
	return f.payload.subarray(1, f.payload.length - padding);
}

/* Fills in what the payload of a known type says; throws on a frame that is illegal in itself. */
function interpret(f) {
	const { payload } = f;
	const size = (n) => {
		if (payload.length !== n)
			throw new Error(`${f.type} of ${payload.length} bytes`);
	};
	switch (f.type) {
	case 'DATA':
		f.data = unpad(f);
		f.endStream = !!(f.flags & FLAG.END_STREAM);
		break;
	case 'HEADERS':
		f.fragment = unpad(f);
		if (f.flags & FLAG.PRIORITY)
			f.fragment = f.fragment.subarray(5);
		f.endStream = !!(f.flags & FLAG.END_STREAM);
		break;
	case 'PUSH_PROMISE':
		f.fragment = unpad(f);
		f.promised = f.fragment.readUInt32BE(0) & 0x7fffffff;
		f.fragment = f.fragment.subarray(4);
		break;
	case 'CONTINUATION':
		f.fragment = payload;
		break;
	case 'RST_STREAM':
		size(4);
		f.code = codeName(payload.readUInt32BE(0));
		break;
	case 'SETTINGS':
		if (payload.length % 6)
			throw new Error(`SETTINGS of ${payload.length} bytes`);
		f.ack = !!(f.flags & FLAG.ACK);
		f.entries = [];
		for (let i = 0; i < payload.length; i += 6) {
			const id = payload.readUInt16BE(i);
			f.entries.push([SETTING_NAME[id] ?? id, payload.readUInt32BE(i + 2)]);
		}
		f.values = Object.fromEntries(f.entries);
		break;
	case 'PING':
		size(8);
		f.ack = !!(f.flags & FLAG.ACK);
		break;
	case 'GOAWAY':
		f.lastId = payload.readUInt32BE(0) & 0x7fffffff;
		f.code = codeName(payload.readUInt32BE(4));
		f.debug = payload.subarray(8).toString('latin1');
		break;
	case 'WINDOW_UPDATE':
		size(4);
		f.increment = payload.readUInt32BE(0) & 0x7fffffff;
		break;
	}
	return f;
}

/* Cuts a stream of bytes into frames. */
export class FrameReader {
	#rest = [];
	#length = 0;

	*push(chunk) {
		this.#rest.push(chunk);
		this.#length += chunk.length;
		for (;;) {
			if (this.#length < 9)
				return;
			if (this.#rest[0].length < 9)
				this.#rest = [Buffer.concat(this.#rest)];
			const total = 9 + this.#rest[0].readUIntBE(0, 3);
			if (this.#length < total)
				return;
			const all = this.#rest.length === 1 ? this.#rest[0] : Buffer.concat(this.#rest);
			this.#rest = all.length > total ? [all.subarray(total)] : [];
			this.#length -= total;
			yield interpret({
				type: typeName(all[3]),
				flags: all[4],
				stream: all.readUInt32BE(5) & 0x7fffffff,
				payload: all.subarray(9, total),
				length: total - 9,
			});
		}
	}
}

const show = (v) => (v.length > 60 ? `${v.slice(0, 57)}...` : v);

/* One line, for the trace. */
export function describe(f) {
	const words = [`s${f.stream}`, f.type, `len=${f.length}`];
	if (f.padding !== undefined)
		words.push(`pad=${f.padding}`);
	if (f.promised !== undefined)
		words.push(`promised=${f.promised}`);
	if (f.code !== undefined)
		words.push(f.code);
	if (f.lastId !== undefined)
		words.push(`last=${f.lastId} ${JSON.stringify(f.debug)}`);
	if (f.increment !== undefined)
		words.push(`+${f.increment}`);
	if (f.ack)
		words.push('ack');
	if (f.entries && !f.ack)
		words.push(f.entries.map(([k, v]) => `${k}=${v}`).join(' '));
	if (f.fragment && !(f.flags & FLAG.END_HEADERS))
		words.push('more');
	if (f.endStream)
		words.push('end');
	if (f.fields)
		words.push(`{${f.fields.map((x) => `${x.name}: ${show(x.value)}`).join(', ')}}`);
	return words.join(' ');
}
