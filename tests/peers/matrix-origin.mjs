/* SPDX-License-Identifier: MIT */
/* What the origin of the matrix answers, by the second segment of the path, and what it saw of each request. */
import { createHash } from 'node:crypto';
import http2 from 'node:http2';
import { sleep } from '../support/gate.mjs';

const BLOCK = Buffer.from(Array.from({ length: 65536 }, (_, i) => (i * 131 + (i >> 8) * 7 + (i >> 13)) & 255));

/* `size` bytes, in pieces of 64 KiB that differ from each other. */
export function* pieces(size) {
	for (let at = 0; at < size; at += BLOCK.length) {
		const piece = Buffer.from(BLOCK.subarray(0, Math.min(BLOCK.length, size - at)));
		if (piece.length >= 4)
			piece.writeUInt32BE(at, 0);
		yield piece;
	}
}
export const bytes = (size) => Buffer.concat([...pieces(size)]);
const digests = new Map();
export function digest(size) {
	if (!digests.has(size)) {
		const hash = createHash('sha256');
		for (const piece of pieces(size))
			hash.update(piece);
		digests.set(size, hash.digest('hex'));
	}
	return digests.get(size);
}

/* Fields of one hop, and what each run has of its own; `date` stays, without its value. */
const HOP = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'te', 'upgrade', 'http2-settings', 'host', 'via', 'x-run']);
export function endToEnd(fields) {
	const all = fields.map(([name, value]) => [name.toLowerCase(), value]).filter(([name]) => !HOP.has(name) && !name.startsWith(':'))
		.map(([name, value]) => [name, name === 'date' ? '' : value]);
	/* HTTP/2 may carry the pairs of a cookie in fields of their own (RFC 9113 8.2.3). */
	const cookies = all.filter(([name]) => name === 'cookie').map(([, value]) => value);
	const rest = all.filter(([name]) => name !== 'cookie').map(([name, value]) => `${name}: ${value}`);
	return [...rest, ...(cookies.length ? [`cookie: ${cookies.join('; ')}`] : [])].sort();
}

const pairs = (raw) => Array.from({ length: raw.length / 2 }, (_, i) => [raw[2 * i], raw[2 * i + 1]]);

/* The requests, in lists by the value of their field x-run. */
export class MatrixOrigin {
	#runs = new Map();

	run(id) {
		if (!this.#runs.has(id))
			this.#runs.set(id, []);
		return this.#runs.get(id);
	}
	drop(id) { this.#runs.delete(id); }

	serve = (request, response, expects) => {
		const [, , what, size] = request.url.match(/^\/([^/]*)\/([^/?]*)(?:\/(\d+))?/) ?? [];
		const seen = {
			method: request.method, target: request.url.replace(/^\/[^/]*/, ''), version: request.httpVersion,
			authority: request.headers[':authority'] ?? request.headers.host, via: request.headers.via,
			fields: endToEnd(pairs(request.rawHeaders)), expects, bytes: 0, ended: false, aborted: false, closed: false,
		};
		this.run(request.headers['x-run']).push(seen);
		request.on('error', () => {});
		response.on('error', () => {});
		request.on('aborted', () => { seen.aborted = true; });
		response.on('close', () => { seen.closed = true; });
		seen.hash = createHash('sha256');
		request.on('end', () => { seen.ended = true; seen.trailers = Object.fromEntries(Object.entries(request.trailers)); });
		(BEHAVIOUR[what] ?? BEHAVIOUR.unknown)(request, response, seen, Number(size ?? 0));
	};
}

function read(request, seen) {
	request.on('data', (piece) => { seen.bytes += piece.length; seen.hash.update(piece); });
	return new Promise((resolve) => { request.on('end', resolve); });
}
async function write(response, size) {
	for (const piece of pieces(size))
		if (!response.write(piece))
			await writable(response);
}
/* Until it takes more, or takes nothing more. */
export function writable(stream) {
	return new Promise((resolve) => {
		const over = () => {
			stream.off('drain', over);
			stream.off('close', over);
			resolve();
		};
		stream.on('drain', over);
		stream.on('close', over);
	});
}
function cut(response) {
	if (response.stream?.close)
		response.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
	else
		response.socket.destroy();
}
async function answer(request, response, size, end = () => response.end()) {
	if (request.method !== 'HEAD')
		await write(response, size);
	end();
}

const BEHAVIOUR = {
	unknown: (request, response) => { response.writeHead(404); response.end(); },
	page(request, response, seen) {
		read(request, seen);
		response.setHeader('set-cookie', ['a=1; Path=/', 'b=2']);
		response.setHeader('x-twice', ['one', 'two, three']);
		response.setHeader('x-empty', '');
		response.setHeader('ETag', '"v1"');
		response.setHeader('Cache-Control', 'no-cache');
		const body = `<p>${seen.target}</p>`;
		response.writeHead(200, { 'content-type': 'text/html', 'content-length': body.length });
		response.end(request.method === 'HEAD' ? undefined : body);
	},
	length(request, response, seen, size) {
		read(request, seen);
		response.writeHead(200, { 'content-length': size });
		answer(request, response, size);
	},
	chunked(request, response, seen, size) {
		read(request, seen);
		response.writeHead(200, { 'x-framing': 'chunked' });
		answer(request, response, size);
	},
	trailers(request, response, seen, size) {
		read(request, seen);
		response.writeHead(200, { trailer: 'x-sum, x-end' });
		answer(request, response, size, () => {
			response.addTrailers({ 'x-sum': String(size), 'x-end': 'yes' });
			response.end();
		});
	},
	none(request, response, seen) { read(request, seen); response.writeHead(204, { 'x-why': 'nothing to say' }); response.end(); },
	unmodified(request, response, seen) { read(request, seen); response.writeHead(304, { etag: '"v1"', 'cache-control': 'max-age=60' }); response.end(); },
	error(request, response, seen) { read(request, seen); response.writeHead(503, { 'retry-after': '7', 'content-length': 5 }); response.end('later'); },
	early(request, response, seen) {
		read(request, seen);
		response.writeEarlyHints({ link: ['</a.css>; rel=preload; as=style', '</b.js>; rel=preload; as=script'], 'x-early': 'yes' });
		setTimeout(() => { response.writeHead(200, { 'content-length': 4 }); response.end('page'); }, 20);
	},
	field(request, response, seen, size) {
		read(request, seen);
		response.writeHead(200, { 'x-large': 'v'.repeat(size), 'content-length': 5 });
		response.end('large');
	},
	/* Reads all, then says what it was. */
	async upload(request, response, seen) {
		if (seen.expects)
			response.writeContinue();
		await read(request, seen);
		seen.digest = seen.hash.digest('hex');
		const body = `${seen.bytes} ${seen.digest}\n`;
		response.writeHead(200, { 'content-length': body.length });
		response.end(body);
	},
	/* The same, but it rests after each 256 KiB. */
	async slow(request, response, seen) {
		let pause = 0;
		request.on('data', (piece) => {
			pause += piece.length;
			if (pause < 262144)
				return;
			pause = 0;
			request.pause();
			setTimeout(() => request.resume(), 20);
		});
		await BEHAVIOUR.upload(request, response, seen);
	},
	/* Answers at once, and reads on. */
	verdict(request, response, seen) {
		read(request, seen);
		response.writeHead(403, { 'content-length': 3 });
		response.end('no\n');
	},
	/* Does not want the body that is announced. */
	refused(request, response) {
		response.writeHead(417, { 'content-length': 3 });
		response.end('no\n');
	},
	/* Never answers. */
	patient(request, response, seen) { read(request, seen); },
	/* Says that twice as much will come as does. */
	async cut(request, response, seen, size) {
		read(request, seen);
		response.writeHead(200, { 'content-length': 2 * size });
		await write(response, size);
		await sleep(50);
		cut(response);
	},
	async cutchunk(request, response, seen, size) {
		read(request, seen);
		response.writeHead(200, {});
		await write(response, size);
		await sleep(50);
		cut(response);
	},
	async cuthead(request, response, seen) {
		read(request, seen);
		await sleep(20);
		cut(response);
	},
	/* Until the client has gone. */
	async endless(request, response, seen) {
		read(request, seen);
		response.writeHead(200, { 'content-length': 10e9 });
		while (!seen.closed)
			await write(response, 1 << 20);
	},
};
