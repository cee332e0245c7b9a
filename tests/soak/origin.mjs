/* SPDX-License-Identifier: MIT */
/*
 * An origin of the soak, a process of its own. What it does with a request stands in the request: `x-do` is the way
 * of answering, `x-size` and `x-seed` say the body, `x-pushes` how many pushes go before it. Its parent asks for its
 * accounts with the message 'accounts'.
 */
import http2 from 'node:http2';
import net from 'node:net';
import { Checker, Random, body } from './random.mjs';

const { port, name } = JSON.parse(process.argv[2]);
const { NGHTTP2_REFUSED_STREAM } = http2.constants;
const random = new Random(port);
const accounts = { name, begun: 0, ended: 0, pushes: 0, pushesEnded: 0, refusedPushes: 0, uploads: 0, uploadsWrong: [], sessions: 0 };
const sessions = new Set();
/* by the port of the inner end */
const lines = new Map();
/* A dribble or a stall ends on its own, so that nothing outlives the soak. */
const STALL_MS = 15000;
const WILD_PUSHES = { whole: 80, trailers: 5, break: 5, late: 5, silent: 2, stall: 3 };

function watched(stream, counter) {
	stream.on('error', () => {});
	stream.on('close', () => { accounts[counter]++; });
	return stream;
}

/* Writes [at, size) in pieces, as fast as it is taken, and then calls back. */
function write(stream, seed, at, size, then) {
	for (;;) {
		if (stream.destroyed || stream.closed)
			return;
		if (at === size)
			return then();
		const n = Math.min(size - at, random.int(1, 32768));
		const octets = body(seed, at, n);
		at += n;
		if (!stream.write(octets)) {
			stream.once('drain', () => write(stream, seed, at, size, then));
			return;
		}
	}
}

/* close() would end the body in good order first. */
const breakOff = (stream) => stream.destroy(new Error('broken off'));

function answer(stream, way, seed, size) {
	const head = { ':status': 200, 'x-seed': String(seed), 'cache-control': 'max-age=60' };
	/* Some lengths are announced, some not. */
	if (seed & 1)
		head['content-length'] = String(size);
	const half = Math.floor(size / 2);
	if (stream.destroyed || stream.closed)
		return undefined;
	switch (way) {
	case 'trailers':
		stream.respond(head, { waitForTrailers: true });
		stream.on('wantTrailers', () => stream.sendTrailers({ 'x-octets': String(size) }));
		return write(stream, seed, 0, size, () => stream.end());
	case 'interim':
		stream.additionalHeaders({ ':status': 103, link: '</pushed/5/500>; rel=preload; as=style' });
		stream.respond(head);
		return write(stream, seed, 0, size, () => stream.end());
	case 'late':
		return setTimeout(() => {
			if (stream.destroyed || stream.closed)
				return;
			stream.respond(head);
			write(stream, seed, 0, size, () => stream.end());
		}, random.int(1, 500));
	case 'refuse':
		return stream.close(NGHTTP2_REFUSED_STREAM);
	case 'break':
		stream.respond(head);
		return write(stream, seed, 0, half, () => breakOff(stream));
	case 'silent':
		return setTimeout(() => breakOff(stream), STALL_MS);
	case 'stall':
		stream.respond(head);
		return write(stream, seed, 0, half, () => setTimeout(() => breakOff(stream), STALL_MS));
	case 'goaway':
		stream.respond(head);
		write(stream, seed, 0, size, () => stream.end());
		return stream.session?.goaway();
	case 'cut':
		stream.respond(head);
		return write(stream, seed, 0, half, () => lines.get(stream.session?.socket?.remotePort)?.resetAndDestroy());
	default:
		stream.respond(head);
		return write(stream, seed, 0, size, () => stream.end());
	}
}

/* Its seed and size stand in its path, so that it can be asked for as well. */
function push(stream, seed) {
	const size = new Random(seed).size();
	stream.pushStream({ ':path': `/pushed/${seed}/${size}` }, (error, pushed) => {
		if (error) {
			accounts.refusedPushes++;
			return;
		}
		accounts.pushes++;
		watched(pushed, 'pushesEnded');
		answer(pushed, name === 'calm' ? 'whole' : random.weighted(WILD_PUSHES), seed, size);
	});
}

const server = http2.createServer({ maxSessionMemory: 100 });
server.on('session', (session) => {
	accounts.sessions++;
	sessions.add(session);
	session.on('error', () => {});
	session.on('close', () => sessions.delete(session));
});
server.on('sessionError', () => {});
server.on('stream', (stream, headers) => {
	accounts.begun++;
	watched(stream, 'ended');
	const [, of, ...numbers] = headers[':path'].split('/');
	const [seed, size] = of === 'pushed' ? numbers.map(Number) : [Number(headers['x-seed'] ?? 0), Number(headers['x-size'] ?? 1000)];
	for (let i = Number(headers['x-pushes'] ?? 0); i > 0 && stream.pushAllowed; i--)
		push(stream, seed * 31 + i);
	if (headers[':method'] !== 'POST')
		return answer(stream, headers['x-do'] ?? 'whole', seed, size);
	const upload = new Checker(seed, size);
	stream.on('data', (chunk) => upload.add(chunk));
	/* The reading side ends when the stream is reset as well: that shows a moment later. */
	stream.on('end', () => setImmediate(() => {
		if (stream.aborted || stream.destroyed || stream.closed || stream.rstCode)
			return;
		accounts.uploads++;
		if (!upload.isWhole)
			accounts.uploadsWrong.push({ seed, size, received: upload.received });
		stream.respond({ ':status': upload.isWhole ? 200 : 500, 'x-octets': String(upload.received) });
		stream.end();
	}));
});

/*
 * A line to the server that can be cut: what dies is then the connection as the other end sees it, and the server's
 * own socket ends like any that its peer has left.
 */
const line = net.createServer((outer) => {
	const inner = net.connect(server.address().port, '127.0.0.1');
	for (const [from, to] of [[outer, inner], [inner, outer]]) {
		from.pipe(to);
		from.on('error', () => {});
		from.on('close', () => to.destroy());
	}
	inner.on('connect', () => {
		const { localPort } = inner;
		lines.set(localPort, outer);
		inner.on('close', () => lines.delete(localPort));
	});
});
server.listen(0, '127.0.0.1', () => line.listen(port, '127.0.0.1', () => process.send({ ready: true })));
process.on('message', (message) => {
	if (message === 'accounts')
		process.send({ accounts });
	if (message === 'end') {
		for (const session of sessions)
			session.destroy();
		server.close();
		line.close();
		process.disconnect();
	}
});
