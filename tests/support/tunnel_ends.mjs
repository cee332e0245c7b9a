/* SPDX-License-Identifier: MIT */
/*
 * Both ends of tunnels with Node's own HTTP, for measures and the soak: what goes through a tunnel is bytes here, no
 * WebSocket messages. The client's end opens one over HTTP/1.1 (Upgrade) or HTTP/2 (RFC 8441); the origin's end takes
 * it in the version that its port speaks. Or a forward proxy is asked for it by CONNECT, in either version.
 */
import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import tls from 'node:tls';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
export const accept = (key) => createHash('sha1').update(key + GUID).digest('base64');

/* ---- the origin ---- */

/* `tunnel(stream, path, fields)` gets each tunnel, a Duplex; `request(response, path)` each other request. */
export async function tunnelOrigin(version, { tunnel, request = () => {}, port = 0 }) {
	const server = version === '1.1' ? origin1(tunnel, request) : origin2(tunnel, request);
	const sockets = new Set();
	server.on('connection', (socket) => {
		sockets.add(socket);
		socket.on('error', () => {});
		socket.on('close', () => sockets.delete(socket));
	});
	await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
	return {
		port: server.address().port,
		sockets,
		close() {
			for (const socket of sockets)
				socket.destroy();
			server.close();
		},
	};
}

function origin1(tunnel, request) {
	const server = http.createServer({ keepAliveTimeout: 3600000 }, (incoming, response) => {
		incoming.resume();
		request(response, incoming.url, incoming.headers);
	});
	server.on('upgrade', (incoming, socket, first) => {
		socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
			+ `Sec-WebSocket-Accept: ${accept(incoming.headers['sec-websocket-key'])}\r\n\r\n`);
		if (first.length)
			socket.unshift(first);
		tunnel(socket, incoming.url, incoming.headers);
	});
	return server;
}

function origin2(tunnel, request) {
	const server = http2.createServer({ settings: { enableConnectProtocol: true, initialWindowSize: 1 << 20 } });
	server.on('stream', (stream, headers) => {
		stream.on('error', () => {});
		if (headers[':method'] === 'CONNECT') {
			stream.respond({ ':status': 200 });
			tunnel(stream, headers[':path'], headers);
		} else {
			stream.resume();
			request(stream, headers[':path'], headers);
		}
	});
	return server;
}

/* ---- the client ---- */

export class Refused extends Error {
	constructor(status) {
		super(`the tunnel was refused with status ${status}`);
		this.status = status;
	}
}

function socketTo({ port, secure, alpn }) {
	const socket = secure ? tls.connect({ port, host: '127.0.0.1', servername: 'a.test', rejectUnauthorized: false, ALPNProtocols: [alpn] })
		: net.connect(port, '127.0.0.1');
	/* What a failure may be told by: the socket forgets it at its end. */
	socket.once('connect', () => { socket.from = socket.localPort; });
	return socket;
}

/* Resolves with the status, and leaves behind the head in the socket. */
function headOf(socket) {
	return new Promise((resolve, reject) => {
		let seen = Buffer.alloc(0);
		const gone = () => reject(Object.assign(new Error(`the connection ended before the answer: ${seen.toString('latin1').slice(0, 200)}`), { port: socket.from }));
		const read = () => {
			for (let piece; (piece = socket.read()) !== null;) {
				seen = Buffer.concat([seen, piece]);
				const end = seen.indexOf('\r\n\r\n');
				if (end < 0)
					continue;
				socket.off('readable', read);
				socket.off('close', gone);
				if (end + 4 < seen.length)
					socket.unshift(seen.subarray(end + 4));
				resolve(seen.toString('latin1', 0, end));
				return;
			}
		};
		socket.on('readable', read);
		socket.once('close', gone);
	});
}

function socket1(target) {
	const socket = socketTo({ ...target, alpn: 'http/1.1' });
	socket.on('error', () => {});
	socket.setNoDelay?.(true);
	return socket;
}

async function open1({ port, secure, path, host }) {
	const socket = socket1({ port, secure });
	const key = randomBytes(16).toString('base64');
	socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`
		+ `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`);
	const head = await headOf(socket);
	const status = Number(head.slice(9, 12));
	if (status !== 101) {
		socket.destroy();
		throw new Refused(status);
	}
	if (!head.toLowerCase().includes(`sec-websocket-accept: ${accept(key).toLowerCase()}`))
		throw new Error(`the accept is not that of the key: ${head}`);
	return socket;
}

/* A session in HTTP/2, once it has the gate's SETTINGS. */
export async function session2({ port, secure, host = 'a.test' }) {
	const socket = socketTo({ port, secure, alpn: 'h2' });
	const session = http2.connect(`${secure ? 'https' : 'http'}://${host}`, {
		createConnection: () => socket, settings: { initialWindowSize: 1 << 20, enablePush: false },
	});
	session.on('error', () => {});
	await new Promise((resolve, reject) => {
		session.once('remoteSettings', resolve);
		session.once('close', () => reject(Object.assign(new Error('the session ended before its SETTINGS'), { port: socket.from })));
	});
	session.from = socket.from;
	session.setLocalWindowSize(1 << 24);
	return session;
}

async function open2(session, { secure, path, host }) {
	if (!session.remoteSettings.enableConnectProtocol)
		throw new Error('the gate has not announced ENABLE_CONNECT_PROTOCOL');
	const stream = session.request({ ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': secure ? 'https' : 'http',
		':authority': host, ':path': path, 'sec-websocket-version': '13' }, { endStream: false });
	return answered(stream);
}

function answered(stream) {
	return new Promise((resolve, reject) => {
		stream.once('response', (headers) => {
			if (headers[':status'] === 200)
				return resolve(stream);
			stream.close();
			return reject(new Refused(headers[':status']));
		});
		stream.once('close', () => reject(new Error(`the stream ended before the answer, code ${stream.rstCode}`)));
		stream.on('error', reject);
	});
}

/* A Duplex: the client's end of a new tunnel. In HTTP/2 it is on `session`, or on one of its own, which ends with it. */
export async function openTunnel(version, { port, secure = false, path = '/tunnel', host = 'a.test', session }) {
	if (version === '1.1')
		return open1({ port, secure, path, host });
	const own = session ?? await session2({ port, secure, host });
	try {
		const stream = await open2(own, { secure, path, host });
		if (!session)
			stream.once('close', () => own.close());
		return stream;
	} catch (error) {
		if (!session)
			own.destroy();
		throw error;
	}
}

/* The same through a forward proxy, by CONNECT to the authority `to`. */
export async function openConnect(version, { port, secure = false, to, session }) {
	if (version === '1.1') {
		const socket = socket1({ port, secure });
		socket.write(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n\r\n`);
		const status = Number((await headOf(socket)).slice(9, 12));
		if (status === 200)
			return socket;
		socket.destroy();
		throw new Refused(status);
	}
	const own = session ?? await session2({ port, secure });
	try {
		const stream = await answered(own.request({ ':method': 'CONNECT', ':authority': to }, { endStream: false }));
		if (!session)
			stream.once('close', () => own.close());
		return stream;
	} catch (error) {
		if (!session)
			own.destroy();
		throw error;
	}
}
