/* SPDX-License-Identifier: MIT */
/*
 * The tunnels of the soak, and the streams that are silent for long: both their ends are in this process. Tunnels come
 * and go in all four combinations of versions, over TLS and in cleartext, and by CONNECT through the forward proxy to a
 * third origin, which speaks no HTTP; some are cut off. One of each combination is
 * silent from the beginning of the run to its end, and still carries every byte then. Calls as those of gRPC and event
 * streams are silent for `silentMs` at a time.
 *
 * A tunnel is *owed* its bytes if neither end cuts it off.
 */
import net from 'node:net';
import { openConnect, openTunnel, session2, tunnelOrigin } from '../support/tunnel_ends.mjs';
import { Checker, Random, body } from './random.mjs';

const { seed, rate, silentMs, maxMs } = JSON.parse(process.argv[2]);
const random = new Random(seed);
const accounts = { begun: 0, ended: 0, owed: 0, bytes: 0, cutOff: 0, atOrigin: 0, endedAtOrigin: 0, idle: 0, idleWhole: 0, calls: 0, events: 0, broken: [] };
const HOSTS = { '1.1': 'http1.test', 2: 'h2.test' };
const MAX_BYTES = 1 << 20;
const IDLE_BYTES = 100000;
let isOver = false, nextSeed = seed * 1000, ports;
const over = new Promise((resolve) => { process.on('message', (message) => message === 'over' && resolve()); });
over.then(() => { isOver = true; });
/* For a time, or until the run is over. */
const sleep = (ms) => {
	let timer;
	return Promise.race([new Promise((resolve) => { timer = setTimeout(resolve, ms); }), over]).finally(() => clearTimeout(timer));
};

function complain(what, more) {
	if (accounts.broken.length < 50)
		accounts.broken.push({ what, at: new Date().toISOString(), ...more });
}

/* ---- the origins: what a tunnel does stands in its path ---- */

const SILENCE = Buffer.from('x');

function serve(stream, path) {
	const [, way, of, size] = path.split('/');
	accounts.atOrigin++;
	stream.on('error', () => {});
	stream.once('close', () => { accounts.endedAtOrigin++; });
	if (way === 'echo')
		return stream.pipe(stream);
	if (way === 'source') {
		stream.resume();
		return write(stream, Number(of), Number(size));
	}
	/* sink: answers when all has come, after the client has ended its direction */
	const checker = new Checker(Number(of), Number(size));
	stream.on('data', (bytes) => checker.add(bytes));
	stream.once('end', () => stream.end(checker.isWhole ? 'whole' : `${checker.received} of ${size} bytes, wrong: ${checker.isWrong}`));
	return undefined;
}

/* By CONNECT: the path comes as the first line of the tunnel. */
function serveRaw(socket) {
	let line = Buffer.alloc(0);
	socket.setNoDelay(true);
	socket.on('error', () => {});
	socket.on('readable', function read() {
		for (let piece; (piece = socket.read()) !== null;) {
			line = Buffer.concat([line, piece]);
			const end = line.indexOf('\n');
			if (end < 0)
				continue;
			socket.off('readable', read);
			if (end + 1 < line.length)
				socket.unshift(line.subarray(end + 1));
			serve(socket, line.toString('latin1', 0, end));
			return;
		}
	});
}

/* The port that serves such tunnels, by whether it speaks TLS. */
const portFor = (origin, secure) => (origin === 'raw' ? secure ? ports.forwardTls : ports.forward : secure ? ports.tls : ports.plain);
async function open(client, origin, secure, path, session) {
	const port = portFor(origin, secure);
	if (origin !== 'raw')
		return openTunnel(client, { port, secure, host: HOSTS[origin], path, session });
	const stream = await openConnect(client, { port, secure, to: `127.0.0.1:${origins.raw.port}`, session });
	stream.write(`${path}\n`);
	return stream;
}

/* Events, and a call's messages: one at the beginning, silence, and one at the end. */
function answer(response, path, headers) {
	const isLate = path.endsWith('/late');
	if (response.respond && headers['content-type'] === 'application/grpc') {
		const head = () => response.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
		response.on('error', () => {});
		response.on('wantTrailers', () => response.sendTrailers({ 'grpc-status': '0' }));
		/* `late`: the head comes with the end alone. */
		if (!isLate)
			head();
		response.once('end', () => {
			if (isLate)
				head();
			response.end(SILENCE);
		});
		return;
	}
	const head = { 'content-type': 'text/event-stream' };
	response.respond ? response.respond({ ':status': 200, ...head }) : response.writeHead(200, head);
	response.on('error', () => {});
	response.write('data: 1\n\n');
	sleep(silentMs).then(() => response.end('data: 2\n\n'));
}

/* ---- the clients ---- */

/* Writes a body in pieces of any size, as fast as the stream takes them. False: the stream has ended before. */
async function write(stream, of, size, { ends = true } = {}) {
	const gone = closed(stream);
	for (let at = 0; at < size && !stream.destroyed;) {
		const n = Math.min(size - at, random.chance(0.5) ? random.int(1, 2000) : random.int(1, 65536));
		if (!stream.write(body(of, at, n)))
			await Promise.race([new Promise((resolve) => { stream.once('drain', resolve); }), gone]);
		at += n;
	}
	if (ends)
		stream.end();
	return !stream.destroyed;
}
const closed = (stream) => new Promise((resolve) => (stream.closed ? resolve() : stream.once('close', resolve)));
/* The end of the other side's direction, or of the stream. */
const ended = (stream) => new Promise((resolve) => {
	stream.once('end', () => resolve(true));
	stream.once('close', () => resolve(false));
	stream.once('error', () => resolve(false));
});

/* Runs one tunnel to its end; `how.cutMs`: it is cut off meanwhile. */
async function carry(stream, way, of, size, how) {
	const checker = new Checker(of, way === 'sink' ? 0 : size);
	let said = '';
	const end = ended(stream);
	stream.on('error', () => {});
	stream.on('data', (bytes) => {
		accounts.bytes += bytes.length;
		if (way === 'sink')
			said += bytes;
		else
			checker.add(bytes);
		if (how.pauseMs && !how.paused) {
			how.paused = true;
			stream.pause();
			setTimeout(() => stream.resume(), how.pauseMs);
		}
		/* Everything came back: it is this end's turn. */
		if (way === 'echo' && !how.halfCloses && checker.isWhole)
			stream.end();
	});
	if (how.cutMs !== undefined)
		setTimeout(() => stream.destroy(), how.cutMs);
	if (way === 'source')
		end.then(() => stream.end());
	else
		await write(stream, of, size, { ends: way === 'sink' || how.halfCloses || size === 0 });
	const endedWell = await end;
	return { endedWell, isWhole: way === 'sink' ? said === 'whole' : checker.isWhole, isWrong: checker.isWrong, received: checker.received, said };
}

async function tunnel(client, origin, secure, session) {
	const way = random.weighted({ echo: 60, source: 20, sink: 20 });
	const of = nextSeed++, size = Math.min(random.size(), MAX_BYTES);
	const how = { halfCloses: random.chance(0.5) };
	if (random.chance(0.2))
		how.cutMs = random.int(0, 200);
	else if (random.chance(0.1))
		how.pauseMs = random.int(1, 3000);
	accounts.begun++;
	const note = { client, origin, secure, way, of, size, ...how };
	const timer = setTimeout(() => complain('a tunnel did not end in time', note), maxMs);
	try {
		const stream = await open(client, origin, secure, `/${way}/${of}/${size}`, session);
		const seen = await carry(stream, way, of, size, how);
		if (how.cutMs !== undefined)
			accounts.cutOff++;
		else
			accounts.owed++;
		if (seen.isWrong || (how.cutMs === undefined && !(seen.endedWell && seen.isWhole)))
			complain('bytes of a tunnel were lost', { ...note, ...seen });
		stream.destroy();
	} catch (error) {
		complain('a tunnel was not opened', { ...note, error: error.message });
	}
	clearTimeout(timer);
	accounts.ended++;
}

/* Tunnels one after the other; in HTTP/2 several on a session. */
async function visitor(client, origin, secure) {
	while (!isOver) {
		const session = client === '2' ? await session2({ port: portFor(origin, secure), secure, host: HOSTS[origin] }) : undefined;
		for (let left = random.int(1, 20); left > 0 && !isOver; left--) {
			await Promise.all(Array.from({ length: session ? random.int(1, 4) : 1 }, () => tunnel(client, origin, secure, session)));
			await sleep(random.next() * 120000 / rate);
		}
		session?.close();
	}
}

/* Silent for the whole run. */
async function idler(client, origin, secure) {
	accounts.begun++;
	accounts.idle++;
	const note = { client, origin, secure };
	try {
		const of = nextSeed++;
		const stream = await open(client, origin, secure, `/echo/${of}/${IDLE_BYTES}`);
		await Promise.race([over, closed(stream)]);
		const seen = await carry(stream, 'echo', of, IDLE_BYTES, { halfCloses: true });
		if (seen.endedWell && seen.isWhole)
			accounts.idleWhole++;
		else
			complain('a tunnel that was silent for the whole run lost bytes', { ...note, ...seen });
	} catch (error) {
		complain('a tunnel that was to be silent was not opened', { ...note, error: error.message });
	}
	accounts.ended++;
}

/* A bidirectional call: a message, silence on both sides, a message, and the trailers. */
async function caller(isLate) {
	while (!isOver) {
		accounts.begun++;
		const session = await session2({ port: ports.plain, host: HOSTS[2] });
		const stream = session.request({ ':method': 'POST', ':path': isLate ? '/call/late' : '/call', 'content-type': 'application/grpc', te: 'trailers' }, { endStream: false });
		const end = ended(stream);
		let status, trailers, bytes = 0;
		stream.on('error', () => {});
		stream.on('response', (headers) => { status = headers[':status']; });
		stream.on('trailers', (headers) => { trailers = headers['grpc-status']; });
		stream.on('data', (data) => { bytes += data.length; });
		stream.write(SILENCE);
		await Promise.race([sleep(silentMs), closed(stream)]);
		stream.end(SILENCE);
		if (await end && status === 200 && trailers === '0' && bytes === SILENCE.length)
			accounts.calls++;
		else
			complain('a silent call did not end well', { isLate, status, trailers, bytes, code: stream.rstCode });
		session.destroy();
		accounts.ended++;
	}
}

async function listener(origin) {
	while (!isOver) {
		accounts.begun++;
		const session = await session2({ port: ports.plain, host: HOSTS[origin] });
		const stream = session.request({ ':path': '/events' });
		let text = '', eventsEarly;
		const end = ended(stream);
		stream.on('error', () => {});
		stream.on('data', (data) => { text += data; });
		setTimeout(() => { eventsEarly = text; }, 2000).unref();
		if (await end && text === 'data: 1\n\ndata: 2\n\n' && (eventsEarly === undefined || eventsEarly.startsWith('data: 1')))
			accounts.events++;
		else
			complain('an event stream did not come whole, or came late', { origin, text, eventsEarly, code: stream.rstCode });
		session.destroy();
		accounts.ended++;
	}
}

/* ---- the run ---- */

async function rawOrigin() {
	const sockets = new Set();
	const server = net.createServer({ allowHalfOpen: true }, (socket) => {
		sockets.add(socket);
		socket.once('close', () => sockets.delete(socket));
		serveRaw(socket);
	});
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	return {
		port: server.address().port,
		close() {
			for (const socket of sockets)
				socket.destroy();
			server.close();
		},
	};
}

const origins = { raw: await rawOrigin(), '1.1': await tunnelOrigin('1.1', { tunnel: serve, request: answer }), 2: await tunnelOrigin('2', { tunnel: serve, request: answer }) };
process.on('message', (message) => {
	if (message === 'accounts')
		process.send({ accounts });
});
const begins = new Promise((resolve) => { process.on('message', (message) => message.ports && resolve(message.ports)); });
process.send({ ready: true, ports: { http1: origins['1.1'].port, h2: origins[2].port, raw: origins.raw.port } });
ports = await begins;
const combinations = ['1.1', '2'].flatMap((client) => ['1.1', '2', 'raw'].flatMap((origin) => [true, false].map((secure) => [client, origin, secure])));
await Promise.all([
	...combinations.flatMap((combination) => [visitor(...combination), idler(...combination)]),
	caller(false), caller(true), listener('1.1'), listener('2'),
]);
/* A client that closes its connection has only ended its direction of a CONNECT: the gate waits for the other one. */
for (let i = 0; i < 300 && accounts.endedAtOrigin < accounts.atOrigin; i++)
	await new Promise((resolve) => { setTimeout(resolve, 100); });
for (const origin of Object.values(origins))
	origin.close();
process.send({ accounts, finished: true });
process.disconnect();
