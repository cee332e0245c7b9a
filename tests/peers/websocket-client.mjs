/* SPDX-License-Identifier: MIT */
/*
 * A client of tunnels in each version of HTTP. Over HTTP/1.1 npm's ws opens WebSockets as it does for anybody; over
 * HTTP/2 Node's http2 asks with an extended CONNECT (RFC 8441), and ws speaks on the stream that it opened.
 *
 *   const client = new Client('h2', port);
 *   const peer = await client.open('/echo', { protocols: ['chat'], deflate: true, headers: { cookie: 'a=1' } });
 *   peer.refused                  {status, headers, body}: another answer; otherwise peer.head is {status, headers}
 *   peer.ws; await peer.next();   a WebSocket of ws, and the next message: {data, isBinary}
 *   await peer.closed;            {code, reason}
 *   const { stream, head } = await client.raw('/half');   the tunnel as a Duplex that may end in one direction alone
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import http2 from 'node:http2';
import { createRequire } from 'node:module';
import net from 'node:net';
import tls from 'node:tls';
import { certs, patiently } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';

/* scripts/setup installs npm's packages into one folder, where there may be Chromium. */
export const skip = process.env.PUSHGATE_NO_BROWSER === '1' ? 'PUSHGATE_NO_BROWSER=1: no npm packages' : false;
export const WebSocket = skip ? null : createRequire(new URL('../browser/package.json', import.meta.url))('ws');
export const { PerMessageDeflate, extension } = WebSocket ?? {};

export const CLIENTS = {
	h1: { tls: false, version: '1.1' },
	h1s: { tls: true, version: '1.1' },
	h2c: { tls: false, version: '2' },
	h2: { tls: true, version: '2' },
};
const DEFLATE = 'permessage-deflate';
export const LIMITS = { maxPayload: 64 << 20, maxFragments: 1 << 20, maxBufferedChunks: 1 << 20 };
const PATIENCE = 20000 * SCALE;

/* What a Sec-WebSocket-Extensions field says of compression; undefined without one. */
export const deflateIn = (field) => (field ? extension.parse(field)[DEFLATE] : undefined);

/* For RFC 6455 4.2.2. */
export const acceptOf = (key) => createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

/* The frames of WebSocket on any Duplex, by ws. pmd: the agreed compression, or null. */
export function websocketOn(duplex, { isServer, protocol = '', pmd = null, first = Buffer.alloc(0) }) {
	const ws = new WebSocket(null, undefined, { ...LIMITS, autoPong: true, closeTimeout: PATIENCE });
	ws._isServer = isServer;
	ws._protocol = protocol;
	if (pmd)
		ws._extensions = { [DEFLATE]: pmd };
	ws.setSocket(duplex, first, LIMITS);
	return ws;
}

/* What came on a WebSocket, for tests that wait for it. */
export class Peer {
	messages = [];
	pongs = [];
	#waiting = [];

	constructor(ws, head) {
		this.ws = ws;
		this.head = head;
		ws.on('error', (error) => { this.error = error; });
		ws.on('message', (data, isBinary) => {
			const message = { data, isBinary };
			const taker = this.#waiting.shift();
			taker ? taker(message) : this.messages.push(message);
		});
		ws.on('pong', (data) => this.pongs.push(String(data)));
		this.closed = new Promise((resolve) => {
			ws.on('close', (code, reason) => {
				resolve({ code, reason: String(reason) });
				for (const taker of this.#waiting)
					taker(null);
			});
		});
	}

	/* The next message; null when the WebSocket has closed. */
	async next() {
		if (this.messages.length)
			return this.messages.shift();
		const message = await patiently(new Promise((resolve) => { this.#waiting.push(resolve); }), PATIENCE);
		assert.notEqual(message, undefined, 'no message came');
		return message;
	}
	async text() {
		const message = await this.next();
		assert.ok(message, `closed instead of a message${this.error ? `: ${this.error.message}` : ''}`);
		return String(message.data);
	}
	async over() {
		const how = await patiently(this.closed, PATIENCE);
		assert.ok(how, 'the WebSocket does not close');
		return how;
	}
}

function collected(stream, status, headers) {
	return new Promise((resolve) => {
		let body = '';
		stream.setEncoding('latin1').on('data', (d) => { body += d; });
		const done = () => resolve({ status, headers, body });
		stream.on('end', done).on('close', done).on('error', done);
	});
}

/* The head of an answer in HTTP/1.1; what came behind it stays in the socket. */
function headOn(socket) {
	return new Promise((resolve, reject) => {
		let got = Buffer.alloc(0);
		const take = () => {
			for (let piece; (piece = socket.read());)
				got = Buffer.concat([got, piece]);
			const end = got.indexOf('\r\n\r\n');
			if (end < 0)
				return;
			socket.off('readable', take).off('error', reject).off('end', lost);
			socket.unshift(got.subarray(end + 4));
			const [first, ...fields] = got.toString('latin1', 0, end).split('\r\n');
			resolve({
				status: Number(first.split(' ')[1]),
				headers: Object.fromEntries(fields.map((f) => [f.slice(0, f.indexOf(':')).toLowerCase(), f.slice(f.indexOf(':') + 1).trim()])),
			});
		};
		const lost = () => reject(new Error(`the connection ended before an answer: ${got}`));
		socket.on('readable', take).on('error', reject).on('end', lost);
	});
}

export class Client {
	#session = null;
	#settings;

	constructor(down, port) {
		const { tls: isTls, version } = CLIENTS[down];
		this.isTls = isTls;
		this.version = version;
		this.port = port;
		this.authority = `localhost:${port}`;
		this.secure = isTls ? { ca: certs().ca, servername: 'localhost' } : {};
	}

	/* One connection for all tunnels of HTTP/2, once the server has sent its settings. */
	async session() {
		if (!this.#session || this.#session.closed || this.#session.destroyed) {
			this.#session = http2.connect(`${this.isTls ? 'https' : 'http'}://127.0.0.1:${this.port}`, this.secure);
			this.#session.on('error', () => {});
			this.#settings = new Promise((resolve, reject) => {
				this.#session.once('remoteSettings', resolve).once('close', () => reject(new Error('no SETTINGS')));
			});
		}
		await this.#settings;
		return this.#session;
	}

	open(path, { protocols = [], deflate = false, headers = {} } = {}) {
		return this.version === '2' ? this.#open2(path, protocols, deflate, headers) : this.#open1(path, protocols, deflate, headers);
	}

	#open1(path, protocols, deflate, headers) {
		const ws = new WebSocket(`${this.isTls ? 'wss' : 'ws'}://${this.authority}${path}`, protocols, {
			...LIMITS, headers, perMessageDeflate: deflate, family: 4, handshakeTimeout: PATIENCE, ...this.secure,
		});
		const peer = new Peer(ws);
		return new Promise((resolve, reject) => {
			ws.once('upgrade', ({ statusCode: status, headers: fields }) => { peer.head = { status, headers: fields }; });
			ws.once('open', () => resolve(peer));
			ws.once('unexpected-response', (_, response) => {
				collected(response, response.statusCode, response.headers).then((refused) => { ws.terminate(); resolve({ refused }); });
			});
			ws.once('error', reject);
		});
	}

	async #open2(path, protocols, deflate, headers) {
		const session = await this.session();
		assert.equal(session.remoteSettings.enableConnectProtocol, true, 'SETTINGS_ENABLE_CONNECT_PROTOCOL');
		const pmd = deflate ? new PerMessageDeflate({}) : null;
		const { stream, status, fields, body } = await this.#connect(session, path, {
			'sec-websocket-version': '13',
			...(protocols.length ? { 'sec-websocket-protocol': protocols.join(', ') } : {}),
			...(pmd ? { 'sec-websocket-extensions': extension.format({ [DEFLATE]: pmd.offer() }) } : {}),
			...headers,
		});
		if (!stream)
			return { refused: { status, headers: fields, body } };
		const agreed = deflateIn(fields['sec-websocket-extensions']);
		if (agreed)
			pmd.accept(agreed);
		const ws = websocketOn(stream, { isServer: false, protocol: fields['sec-websocket-protocol'], pmd: agreed ? pmd : null });
		return new Peer(ws, { status, headers: fields });
	}

	#connect(session, path, headers, early = null) {
		const stream = session.request({
			':method': 'CONNECT', ':protocol': 'websocket', ':scheme': this.isTls ? 'https' : 'http', ':authority': this.authority, ':path': path, ...headers,
		}, { endStream: false });
		if (early)
			stream.write(early);
		return new Promise((resolve, reject) => {
			const lost = () => reject(new Error(`the stream ended without an answer, code ${stream.rstCode}`));
			stream.on('error', reject).on('close', lost);
			stream.once('response', async (fields) => {
				stream.off('close', lost);
				const status = fields[':status'];
				if (status >= 200 && status < 300)
					return void resolve({ stream, status, fields });
				const { body } = await collected(stream, status, fields);
				stream.destroy();
				resolve({ status, fields, body });
			});
		});
	}

	/*
	 * The tunnel without WebSocket's frames; a stream that stays open when the other direction has ended. early: bytes
	 * that are sent with the request.
	 */
	async raw(path, headers = {}, early = null) {
		if (this.version === '2') {
			const { stream, status, fields, body } = await this.#connect(await this.session(), path, { 'sec-websocket-version': '13', ...headers }, early);
			assert.ok(stream, `refused with ${status}: ${body}`);
			return { stream, head: { status, headers: fields }, reset: () => stream.close(http2.constants.NGHTTP2_CANCEL) };
		}
		const key = randomBytes(16).toString('base64');
		const fields = {
			host: this.authority, connection: 'keep-alive, Upgrade', upgrade: 'websocket', 'sec-websocket-key': key, 'sec-websocket-version': '13', ...headers,
		};
		const socket = this.#socket({ allowHalfOpen: true });
		socket.write(Buffer.concat([
			Buffer.from(`GET ${path} HTTP/1.1\r\n${Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`), early ?? Buffer.alloc(0),
		]));
		const head = await headOn(socket);
		assert.equal(head.status, 101);
		assert.equal(head.headers['sec-websocket-accept'], acceptOf(key));
		return { stream: socket, head, reset: () => socket.destroy() };
	}

	/* An ordinary request on the same connection, if that can be: the status. */
	async get(path) {
		if (this.version === '2') {
			const stream = (await this.session()).request({ ':path': path, ':authority': this.authority });
			return new Promise((resolve, reject) => {
				stream.on('error', reject).on('response', (fields) => { stream.resume(); resolve(fields[':status']); });
			});
		}
		return new Promise((resolve, reject) => {
			http.get({ path, createConnection: () => this.#socket(), headers: { host: this.authority } },
				(response) => { response.resume(); resolve(response.statusCode); }).on('error', reject);
		});
	}

	#socket(more = {}) {
		const options = { host: '127.0.0.1', port: this.port, ...this.secure, ...more };
		return this.isTls ? tls.connect(options) : net.connect(options);
	}

	close() { this.#session?.destroy(); }
}
