/* SPDX-License-Identifier: MIT */
/*
 * The honest origin, a process of its own, for honest clients and attackers alike, over HTTP/2 and, at a port of its own,
 * over HTTP/1.1:
 *   /small       1 KiB            /site      the same with two pushes, /site/a and /site/b
 *   /large       64 KiB           /huge      8 MiB
 *   /upload      says how many bytes came, when all have      /slow    1 KiB after 50 ms
 *   /never       no answer
 * And for tunnels (/never too):
 *   /tunnel      an echo           /keep      the same, and its direction never ends
 *   /pour        bytes without end            /deaf      takes none
 *   /bye         ends its direction at once   /refuse    401
 */
import crypto from 'node:crypto';
import http from 'node:http';
import net from 'node:net';
import { Endpoint } from '../support/endpoint.mjs';
import { bodyOf } from './bodies.mjs';

function answer(stream, path, fields = {}) {
	const body = bodyOf(path);
	stream.head({ ':status': 200, ...fields });
	stream.send((at, n) => body.subarray(at, at + n), 0, body.length, { endStream: true });
}

function push(line, parent, request, path) {
	const fields = { ':method': 'GET', ':scheme': request[':scheme'], ':authority': request[':authority'], ':path': path };
	answer(line.promise(parent, fields), path);
}

function count(stream) {
	let bytes = 0;
	stream.on.data = (data) => { bytes += data.length; };
	stream.on.end = () => {
		const text = Buffer.from(String(bytes));
		stream.head({ ':status': 200 });
		stream.send((at, n) => text.subarray(at, at + n), 0, text.length, { endStream: true });
	};
}

/* ---- tunnels ---- */

const CHUNK = Buffer.alloc(16384, 'x');

async function pour(stream) {
	while (await stream.send((at, n) => CHUNK.subarray(at, at + n), 0, CHUNK.length));
}

/* Each of them once, in order, while there are any. */
function echo(stream, endless) {
	let waiting = [], isBusy = false, isOver = false;
	const go = async () => {
		if (isBusy)
			return;
		isBusy = true;
		while (waiting.length) {
			const bytes = Buffer.concat(waiting.splice(0));
			await stream.send((at, n) => bytes.subarray(at, at + n), 0, bytes.length);
		}
		isBusy = false;
		if (isOver)
			stream.send(() => Buffer.alloc(0), 0, 0, { endStream: true });
	};
	stream.on.data = (data) => { waiting.push(data); go(); };
	stream.on.end = () => { isOver = !endless; go(); };
}

function tunnel(stream, path) {
	if (path === '/never')
		return;
	if (path === '/refuse') {
		stream.head({ ':status': 401 }, { endStream: true });
		return;
	}
	stream.head({ ':status': 200 }, { endStream: path === '/bye' });
	if (path === '/pour')
		pour(stream);
	else if (path === '/deaf')
		stream.pause();
	else if (path !== '/bye')
		echo(stream, path === '/keep');
}

function tunnel1(request, socket) {
	const path = request.url.split('?')[0];
	socket.on('error', () => {});
	if (path === '/never')
		return;
	if (path === '/refuse') {
		socket.end('HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n');
		return;
	}
	const accept = crypto.createHash('sha1').update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
	socket.write(`HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
	const fill = () => { while (!socket.destroyed && socket.write(CHUNK)); };
	if (path === '/bye') {
		socket.end();
		socket.resume();
	} else if (path === '/pour') {
		socket.on('drain', fill);
		socket.resume();
		fill();
	} else if (path !== '/deaf') {
		socket.on('data', (bytes) => socket.write(bytes));
		socket.on('end', () => { if (path !== '/keep') socket.end(); });
	}
}

function serve(line, stream, request) {
	const path = request[':path'];
	if (request[':protocol']) {
		tunnel(stream, path);
		return;
	}
	if (path === '/upload') {
		count(stream);
		return;
	}
	/* What comes with any other request is not wanted. */
	stream.pause();
	if (path === '/never')
		return;
	if (path === '/site' && line.connection.peerSettings.enablePush !== 0)
		for (const resource of ['/site/a', '/site/b'])
			push(line, stream, request, resource);
	if (path === '/slow')
		setTimeout(() => answer(stream, path), 50);
	else
		answer(stream, path, { 'content-type': 'text/plain' });
}

const server = net.createServer((socket) => {
	const line = new Endpoint(socket, 'origin', {
		name: 'origin', settings: { maxConcurrentStreams: 1000, enableConnectProtocol: 1 }, on: { stream: (stream, request) => serve(line, stream, request) },
	});
});

/* x-path says what it is the answer to. */
function answer1(request, response) {
	const path = request.url.split('?')[0];
	const say = (body) => {
		response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length, 'x-path': request.url });
		response.end(body);
	};
	let bytes = 0;
	request.on('error', () => {});
	request.on('data', (data) => { bytes += data.length; });
	if (path === '/upload')
		request.on('end', () => say(Buffer.from(String(bytes))));
	else if (path === '/slow')
		setTimeout(() => say(bodyOf(path)), 50);
	else if (path !== '/never')
		say(bodyOf(path));
}
const server1 = http.createServer({ keepAliveTimeout: 0 }, answer1);
server1.on('upgrade', tunnel1);

server.listen(0, '127.0.0.1', () => server1.listen(0, '127.0.0.1', () => {
	process.send({ port: server.address().port, port1: server1.address().port });
}));
process.on('disconnect', () => process.exit());
