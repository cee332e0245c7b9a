/* SPDX-License-Identifier: MIT */
/*
 * An origin of the soak, a process of its own. What it does with a request stands in the request: `x-do` is the way
 * of answering, `x-size` and `x-seed` say the body, `x-pushes` how many pushes go before it. Its parent asks for its
 * accounts with the message 'accounts'.
 */
import net from 'node:net';
import { Endpoint } from '../support/endpoint.mjs';
import { Checker, Random, bodyOf } from './random.mjs';

const { port, name, seed: ownSeed } = JSON.parse(process.argv[2]);
const isCalm = name === 'calm';
const random = new Random(ownSeed);
const accounts = { name, begun: 0, ended: 0, pushes: 0, pushesEnded: 0, pushesUnsent: 0, badPromises: 0, uploads: 0, uploadsWrong: [], connections: 0, goaways: {}, violations: [] };
const endpoints = new Set();
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
/* What stalls ends on its own, so that nothing outlives the soak. */
const STALL_MS = 15000;
const FEED_MS = 200;
let isOver = false;
const WILD_PUSHES = { whole: 80, trailers: 5, break: 5, late: 5, silent: 2, stall: 3 };

function watched(stream, counter) {
	stream.over.then(() => { accounts[counter]++; });
	return stream;
}

async function answer(line, stream, way, seed, size) {
	const head = { ':status': 200, 'x-seed': seed, 'cache-control': 'max-age=60' };
	/* Some lengths are announced, some not. */
	if (seed & 1)
		head['content-length'] = size;
	const half = Math.floor(size / 2);
	const whole = () => {
		stream.head(head);
		return stream.send(bodyOf(seed), 0, size, { endStream: true });
	};
	const begin = () => {
		stream.head(head);
		return stream.send(bodyOf(seed), 0, half);
	};
	switch (way) {
	case 'trailers':
		stream.head(head);
		await stream.send(bodyOf(seed), 0, size);
		return stream.trailers({ 'x-bytes': size });
	case 'interim':
		stream.interim({ ':status': 103, link: '</pushed/5/500>; rel=preload; as=style' });
		return whole();
	case 'late':
		await sleep(random.int(1, 500));
		return whole();
	case 'refuse':
		return stream.reset('REFUSED_STREAM');
	case 'break':
		await begin();
		return stream.reset(random.pick(['INTERNAL_ERROR', 'CANCEL', 'PROTOCOL_ERROR']));
	case 'silent':
		await sleep(STALL_MS);
		return stream.reset('INTERNAL_ERROR');
	case 'stall':
		await begin();
		await sleep(STALL_MS);
		return stream.reset('INTERNAL_ERROR');
	case 'goaway': {
		const answered = whole();
		line.goaway();
		await answered;
		return leave(line);
	}
	case 'cut':
		await begin();
		return line.socket.resetAndDestroy();
	case 'deaf': /* reads no more, and what it sends stops with that when the other end waits for its windows */
		line.socket.pause();
		setTimeout(() => line.socket.resume(), random.int(1, STALL_MS));
		return whole();
	default:
		return whole();
	}
}

/* The connection ends when all that came before the GOAWAY has been answered. */
async function leave(line) {
	while (line.streams.size)
		await Promise.race([...line.streams.values()].map((stream) => stream.over));
	line.socket.end();
}

/* Its seed and size stand in its path, so that it can be asked for as well. */
async function push(line, parent, request, seed) {
	const { peerSettings } = line.connection;
	const size = new Random(seed).size();
	const fields = { ':method': 'GET', ':scheme': request[':scheme'], ':authority': request[':authority'], ':path': `/pushed/${seed}/${size}` };
	const isBad = !isCalm && random.chance(0.05);
	if (isBad) {
		accounts.badPromises++;
		Object.assign(fields, random.pick([{ ':authority': 'elsewhere.test' }, { ':method': 'POST' }, { ':scheme': 'ftp' }]));
	}
	accounts.pushes++;
	const stream = watched(line.promise(parent, fields), 'pushesEnded');
	/* A promise may wait; what it promises may begin when there is room for it. */
	while (!stream.isOver && line.begunPushes.length >= (peerSettings.maxConcurrentStreams ?? Infinity))
		await Promise.race([stream.over, ...line.begunPushes.map((begun) => begun.over)]);
	if (stream.isOver) {
		accounts.pushesUnsent++;
		return undefined;
	}
	return answer(line, stream, isCalm ? 'whole' : random.weighted(WILD_PUSHES), seed, size);
}

/* A subscription: pushes one after the other, `x-pushes` of them or until the run is over; trailers tell how many. */
async function feed(line, stream, headers, seed) {
	let n = 0;
	stream.head({ ':status': 200, 'x-seed': seed });
	for (const most = Number(headers['x-pushes']); n < most && !isOver && !stream.isOver; n++) {
		push(line, stream, headers, seed * 31 + n);
		await sleep(FEED_MS);
	}
	stream.trailers({ 'x-pushes': n });
}

function serve(line, stream, headers) {
	accounts.begun++;
	watched(stream, 'ended');
	const [, of, ...numbers] = headers[':path'].split('/');
	const [seed, size] = of === 'pushed' ? numbers.map(Number) : [Number(headers['x-seed'] ?? 0), Number(headers['x-size'] ?? 1000)];
	if (headers['x-do'] === 'feed')
		return feed(line, stream, headers, seed);
	if (line.connection.peerSettings.enablePush !== 0)
		for (let i = Number(headers['x-pushes'] ?? 0); i > 0; i--)
			push(line, stream, headers, seed * 31 + i);
	const way = headers['x-do'] ?? 'whole';
	if (headers[':method'] !== 'POST' || way === 'early')
		return answer(line, stream, way, seed, size);
	const upload = new Checker(seed, size);
	stream.on.data = (bytes) => upload.add(bytes);
	stream.on.end = () => {
		accounts.uploads++;
		if (!upload.isWhole)
			accounts.uploadsWrong.push({ seed, size, received: upload.received });
		answer(line, stream, way, seed, size);
	};
	return undefined;
}

const server = net.createServer((socket) => {
	accounts.connections++;
	const line = new Endpoint(socket, 'origin', {
		name: `${name} ${accounts.connections}`, huffman: random.chance(0.5), frameBytes: () => random.int(1, 16384),
		settings: { maxConcurrentStreams: random.pick([5, 100, 1000]), initialWindowSize: random.pick([16384, 65535, 1048576]) },
		on: {
			stream: (stream, headers) => serve(line, stream, headers),
			violation: (what) => accounts.violations.length < 20 && accounts.violations.push(what),
			goaway: (f) => { accounts.goaways[`${f.code} ${f.debug}`] = (accounts.goaways[`${f.code} ${f.debug}`] ?? 0) + 1; },
		},
	});
	endpoints.add(line);
	line.over.then(() => endpoints.delete(line));
});
server.listen(port, '127.0.0.1', () => process.send({ ready: true }));
process.on('message', (message) => {
	if (message === 'accounts')
		process.send({ accounts });
	isOver ||= message === 'over';
	if (message === 'end') {
		for (const line of endpoints)
			line.socket.destroy();
		server.close();
		process.disconnect();
	}
});
