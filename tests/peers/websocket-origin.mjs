/* SPDX-License-Identifier: MIT */
/*
 * Node's servers in each version of HTTP as origins of WebSockets: npm's ws behind Upgrade, and on the streams of
 * extended CONNECTs (RFC 8441). The last segments of the path say what such an origin does; what it saw of a request
 * is `run(id)`, by the request's field x-run.
 */
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { certs, sleep } from '../support/gate.mjs';
import { LIMITS, PerMessageDeflate, WebSocket, acceptOf, deflateIn, extension, websocketOn } from './websocket-client.mjs';

/* All ways share one connection. Above 10 MB of its memory, the default, Node refuses new streams with ENHANCE_YOUR_CALM. */
const EXTENDED = { settings: { enableConnectProtocol: true }, maxSessionMemory: 1000 };
const secure = () => ({ ...certs().server, allowHalfOpen: true });

/* scheme: what an [origin] calls it; version: what it speaks to a tunnel. */
export const ORIGINS = {
	h1: { scheme: 'http', version: '1.1', make: () => http.createServer() },
	h1s: { scheme: 'https', version: '1.1', make: () => https.createServer(secure()) },
	h2c: { scheme: 'h2c', version: '2.0', make: () => http2.createServer(EXTENDED) },
	h2: { scheme: 'h2', version: '2.0', make: () => http2.createSecureServer({ ...secure(), ...EXTENDED }) },
	alpn: { scheme: 'https', version: '2.0', make: () => http2.createSecureServer({ ...secure(), ...EXTENDED, allowHTTP1: true }) },
	old: { scheme: 'https', version: '1.1', make: () => http2.createSecureServer({ ...secure(), allowHTTP1: true }) }, /* HTTP/2 without RFC 8441 */
	none: { scheme: 'h2c', version: '2.0', make: () => http2.createServer() },
};
const DEFLATE = 'permessage-deflate';
const BODIES = { 200: 'a page', 302: '', 401: 'who are you?', 404: 'no such socket', 426: 'another version, please', 503: 'later' };
const FIELDS = {
	302: { location: '/elsewhere' }, 401: { 'www-authenticate': 'Basic realm="sockets"' }, 426: { 'sec-websocket-version': '13, 8' }, 503: { 'retry-after': '7' },
};
const ANSWER = { 'x-answer': 'from the origin', 'set-cookie': ['a=1; Path=/', 'b=2'] };

/* What each WebSocket does. */
const SPEAK = {
	echo: (ws) => ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary })),
	/* Pings when told so, and says what came back. */
	pings: (ws) => {
		ws.on('message', (data) => ws.ping(data));
		ws.on('pong', (data) => ws.send(`pong ${data}`));
	},
	closes: (ws, code) => ws.on('message', (data) => (code ? ws.close(Number(code), String(data)) : ws.close())),
	drops: (ws) => ws.on('message', () => ws.terminate()),
	/* Chromium ends its stream right behind its close frame; if ws is still busy with a message, it does not close in turn. */
	answers: (ws, _, seen) => ws.on('message', () => SPEAK.tells(ws, _, seen)),
	tells: (ws, _, seen) => ws.send(JSON.stringify({ ...seen, deflate: DEFLATE in ws._extensions, protocol: ws.protocol })),
	silent: () => {},
};
/* How long an origin waits that answers late. */
const LATE = 30;
/* What a tunnel does that is no WebSocket: one direction ends, and the other goes on. */
const RAW = {
	/* Says at the client's end how much came, after that. */
	counts(stream) {
		let bytes = 0;
		stream.write('hello');
		stream.on('data', (d) => { bytes += d.length; });
		stream.on('end', () => { stream.write(`${bytes} bytes`); setTimeout(() => stream.end(', over'), 20); });
	},
	/* Answers late; `early`: what had come by then. */
	late(stream, seen) {
		stream.on('data', (d) => stream.write(d));
		stream.on('end', () => stream.end(`, early ${seen.early}`));
	},
	/* Ends first, and reads on. */
	leaves(stream, seen) {
		stream.end('bye');
		seen.text = '';
		stream.on('data', (d) => { seen.text += d; });
		stream.on('end', () => { seen.ended = true; });
	},
};

class Origin {
	#runs = new Map();

	run(id) {
		if (!this.#runs.has(id))
			this.#runs.set(id, []);
		return this.#runs.get(id);
	}

	/* The last two segments of "/NAME/does[/with]". */
	note(path, version, headers) {
		const [, , does, argument] = path.split('?')[0].split('/');
		const seen = { version, path, headers: { ...headers } };
		this.run(headers['x-run']).push(seen);
		return { seen, does, argument };
	}

	speak(ws, does, argument, seen) {
		ws.on('error', (error) => { seen.error = error.message; });
		ws.on('close', (code, reason) => { seen.closed = { code, reason: String(reason) }; });
		const begin = () => SPEAK[does](ws, argument, seen);
		ws.readyState === ws.OPEN ? begin() : ws.once('open', begin);
	}
}

const lines = (fields) => Object.entries(fields).flatMap(([name, value]) => [value].flat().map((v) => `${name}: ${v}\r\n`)).join('');
const switching = (accept, fields = {}, protocol = 'websocket') =>
	`HTTP/1.1 101 Switching Protocols\r\nupgrade: ${protocol}\r\nconnection: Upgrade\r\n${accept ? `sec-websocket-accept: ${accept}\r\n` : ''}${lines(fields)}\r\n`;

/* An origin whose 101 is wrong, by what is wrong. */
const WRONG = {
	accept: () => switching('AAAAAAAAAAAAAAAAAAAAAAAAAAA='),
	missing: () => switching(null),
	other: (key) => switching(acceptOf(key), {}, 'another'),
};

async function answerRaw(does, stream, seen, answer) {
	if (does === 'late') {
		stream.on('readable', () => {}); /* so that it reads, and keeps it */
		await sleep(LATE);
		seen.early = stream.readableLength;
		stream.removeAllListeners('readable');
	}
	answer();
	RAW[does](stream, seen);
}

function onUpgrade(origin, sockets, request, socket, first) {
	const { seen, does, argument } = origin.note(request.url, request.httpVersion, request.headers);
	const key = request.headers['sec-websocket-key'];
	socket.on('error', () => {});
	if (does === 'refuse') {
		const body = BODIES[argument];
		return void socket.end(`HTTP/1.1 ${argument} Refused\r\n${lines({ ...ANSWER, ...FIELDS[argument] })}content-length: ${body.length}\r\n\r\n${body}`);
	}
	if (does === 'wrong')
		return void socket.write(`${WRONG[argument](key)}bytes of the tunnel`);
	if (RAW[does]) {
		if (first.length)
			socket.unshift(first);
		return void answerRaw(does, socket, seen, () => socket.write(switching(acceptOf(key))));
	}
	sockets.handleUpgrade(request, socket, first, (ws) => origin.speak(ws, does, argument, seen));
}

function onConnect(origin, stream, headers) {
	stream.on('error', () => {});
	const { seen, does, argument } = origin.note(headers[':path'], '2.0', headers);
	if (does === 'refuse') {
		stream.respond({ ':status': Number(argument), ...ANSWER, ...FIELDS[argument] });
		return void stream.end(BODIES[argument]);
	}
	if (RAW[does])
		return void answerRaw(does, stream, seen, () => stream.respond({ ':status': 200 }));
	const offers = deflateIn(headers['sec-websocket-extensions']);
	const pmd = offers ? new PerMessageDeflate({ isServer: true }) : null;
	const agreed = pmd?.accept(offers);
	const protocol = (headers['sec-websocket-protocol'] ?? '').split(',').map((p) => p.trim()).find((p) => p.startsWith('chosen')) ?? '';
	stream.respond({
		':status': 200, ...ANSWER,
		...(agreed ? { 'sec-websocket-extensions': extension.format({ [DEFLATE]: agreed }) } : {}),
		...(protocol ? { 'sec-websocket-protocol': protocol } : {}),
	});
	origin.speak(websocketOn(stream, { isServer: true, protocol, pmd }), does, argument, seen);
}

/* Starts them on ports of their own, or one on `port`. Gives {origin, ports, close}. */
export async function websocketOrigins(names = Object.keys(ORIGINS), port = 0, serve) {
	const origin = new Origin();
	const ports = {};
	const servers = [];
	const open = new Set();
	const sockets = new WebSocket.Server({
		...LIMITS, noServer: true, perMessageDeflate: {}, handleProtocols: (all) => [...all].find((p) => p.startsWith('chosen')) ?? false,
	});
	sockets.on('headers', (head) => { head.push(...lines(ANSWER).trim().split('\r\n')); });
	const keep = (what) => {
		open.add(what);
		what.on('error', () => {});
		what.on('close', () => open.delete(what));
	};
	for (const name of names) {
		const server = ORIGINS[name].make();
		server.on('connection', keep).on('secureConnection', keep).on('session', keep);
		server.on('upgrade', (...all) => onUpgrade(origin, sockets, ...all));
		/* Over HTTP/1.1 it is an ordinary CONNECT, which nobody sends here. */
		server.on('connect', ({ stream, headers }) => stream && onConnect(origin, stream, headers));
		server.on('request', serve ?? ((request, response) => {
			origin.note(request.url, request.httpVersion, request.headers);
			response.end(BODIES[200]);
		}));
		await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
		ports[name] = server.address().port;
		servers.push(server);
	}
	const close = () => Promise.all(servers.map((server) => new Promise((resolve) => {
		for (const what of open)
			what.destroy();
		server.close(resolve);
	})));
	return { origin, ports, close };
}
