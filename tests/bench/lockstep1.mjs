/* SPDX-License-Identifier: MIT */
/*
 * As lockstep.mjs, over HTTP/1.1 on both sides: one request at a time, on connections that take turns, each answered in
 * one write. What is asked for stands in `way`:
 *   'origin'     origin-form, as of a gateway
 *   'absolute'   absolute-form, as of a forward proxy
 *   'tunnel'     each connection opens a tunnel with CONNECT; then a byte is sent and TUNNEL_BYTES come back
 */
import net from 'node:net';
import { BODY_BYTES } from './lockstep.mjs';

export const TUNNEL_BYTES = 65536;
const PATIENCE_MS = 60000;
const PAYLOAD = Buffer.alloc(TUNNEL_BYTES, 'x');

/* Fields as lines of HTTP/1.1, without those of HTTP/2 alone. */
const lines = (fields) => Object.entries(fields).filter(([name]) => !name.startsWith(':')).map(([name, value]) => `${name}: ${value}\r\n`).join('');

export class Lockstep1 {
	#way;
	#request;
	#response;
	#clients = [];
	#origins = new Set();
	#server = net.createServer((socket) => this.#accepted(socket));
	#turn = 0;
	#failed = () => {};

	constructor({ page, way }) {
		this.#way = way;
		this.#request = page.request;
		this.#response = Buffer.from(`HTTP/1.1 200 OK\r\n${lines(Object.fromEntries(page.response))}\r\n${'x'.repeat(BODY_BYTES)}`);
	}

	async listen() {
		await new Promise((resolve) => { this.#server.listen(0, '127.0.0.1', resolve); });
		return this.#server.address().port;
	}

	async connect(port, { connections }) {
		const authority = `127.0.0.1:${this.#server.address().port}`;
		const path = this.#request[':path'];
		const target = this.#way === 'absolute' ? `http://${authority}${path}` : path;
		this.ask = Buffer.from(this.#way === 'tunnel' ? 'x' : `GET ${target} HTTP/1.1\r\nHost: ${authority}\r\n${lines(this.#request)}\r\n`);
		for (let i = 0; i < connections; i++) {
			const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
			this.#watch('client', socket);
			this.#clients.push(socket);
			if (this.#way === 'tunnel')
				await this.#exchange(socket, `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`, (bytes) => /^HTTP\/1.1 200 [^]*\r\n\r\n$/.test(bytes.toString('latin1')));
		}
	}

	async run(requests) {
		for (let left = requests; left > 0; left--)
			await this.#exchange(this.#clients[this.#turn++ % this.#clients.length], this.ask, this.#way === 'tunnel' ? isPayload : isResponse);
	}

	stop() {
		this.#failed = () => {};
		for (const socket of [...this.#clients, ...this.#origins])
			socket.destroy();
		this.#server.close();
	}

	#watch(name, socket) {
		socket.on('error', (error) => this.#failed(new Error(`${name}: ${error.message}`)));
		socket.on('close', () => this.#failed(new Error(`${name}: the gateway closed the connection`)));
	}

	/* Sends `bytes` and waits until `isWhole` says that all has come. */
	#exchange(socket, bytes, isWhole) {
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => this.#failed(new Error(`only ${seen.length} bytes came: ${seen.toString('latin1', 0, 300)}`)), PATIENCE_MS);
			let seen = Buffer.alloc(0);
			const read = (piece) => {
				seen = seen.length ? Buffer.concat([seen, piece]) : piece;
				if (isWhole(seen))
					done(resolve);
			};
			const done = (settle, value) => {
				clearTimeout(timer);
				socket.off('data', read);
				settle(value);
			};
			this.#failed = (error) => done(reject, error);
			socket.on('data', read);
			socket.write(bytes);
		});
	}

	/* ---- the origin ---- */

	#accepted(socket) {
		const isTunnel = this.#way === 'tunnel';
		let seen = '';
		this.#origins.add(socket);
		socket.setNoDelay(true);
		socket.on('error', () => {});
		socket.on('data', (bytes) => {
			seen += bytes.toString('latin1');
			if (!isTunnel && !seen.endsWith('\r\n\r\n'))
				return;
			seen = '';
			socket.write(isTunnel ? PAYLOAD : this.#response);
		});
	}
}

const isPayload = (bytes) => bytes.length >= TUNNEL_BYTES;
/* Its head may have any length, its body has one. */
function isResponse(bytes) {
	const end = bytes.indexOf('\r\n\r\n');
	return end >= 0 && bytes.length - end - 4 >= BODY_BYTES && bytes.subarray(0, 12).equals(Buffer.from('HTTP/1.1 200'));
}
