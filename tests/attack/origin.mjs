/* SPDX-License-Identifier: MIT */
/*
 * The honest origin, a process of its own, for honest clients and attackers alike, over HTTP/2 and, at a port of its own,
 * over HTTP/1.1:
 *   /small       1 KiB            /site      the same with two pushes, /site/a and /site/b
 *   /large       64 KiB           /huge      8 MiB
 *   /upload      says how many bytes came, when all have      /slow    1 KiB after 50 ms
 *   /never       no answer
 */
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

function serve(line, stream, request) {
	const path = request[':path'];
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
		name: 'origin', settings: { maxConcurrentStreams: 1000 }, on: { stream: (stream, request) => serve(line, stream, request) },
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

server.listen(0, '127.0.0.1', () => server1.listen(0, '127.0.0.1', () => {
	process.send({ port: server.address().port, port1: server1.address().port });
}));
process.on('disconnect', () => process.exit());
