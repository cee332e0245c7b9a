/* SPDX-License-Identifier: MIT */
/*
 * A gate in forward mode behind a scripted upstream proxy, and destinations that only the proxy can find: every name is
 * 127.0.0.1 there, and the name server of the gate knows none.
 */
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { startDns } from './dns.mjs';
import { certs, scenario, section, until } from './gate.mjs';
import { versionedOrigins } from './versions.mjs';

export const USER = 'ship', PASSWORD = 'p@ss:wörd', SECRET = Buffer.from(`${USER}:${PASSWORD}`).toString('base64');
const inUrl = (text) => encodeURIComponent(text);

/* One end of a connection: what has come as text, and how it ended. */
export class End {
	text = '';
	end = null;

	constructor(socket) {
		this.socket = socket;
		socket.setEncoding('latin1').setNoDelay();
		socket.on('data', (text) => { this.text += text; });
		socket.on('end', () => { this.end ??= 'clean'; });
		socket.on('error', (error) => { this.end ??= error.code; });
		socket.on('close', () => { this.end ??= 'closed'; });
	}
	send(text) { this.socket.write(text, 'latin1'); return this; }
	/* Resolves with the match, which is taken off with what is before it. */
	async expect(pattern) {
		let m;
		await until(() => `${pattern} in ${JSON.stringify(this.text)} (${this.end})`, () => (m = pattern.exec(this.text)) !== null);
		this.text = this.text.slice(m.index + m[0].length);
		return m;
	}
	head() { return this.expect(/^.*?\r\n\r\n/s).then(([head]) => head); }
	async over() {
		await until(() => `the end behind ${JSON.stringify(this.text)}`, () => this.end);
		return this.end;
	}
}

/* Reads the head that a connection begins with, gives the rest back, and hands it to `answer`. */
function headOf(socket, take) {
	let seen = Buffer.alloc(0);
	const more = (bytes) => {
		seen = Buffer.concat([seen, bytes]);
		const end = seen.indexOf('\r\n\r\n');
		if (end < 0)
			return;
		socket.removeListener('data', more);
		socket.pause();
		if (seen.length > end + 4)
			socket.unshift(seen.subarray(end + 4));
		take(seen.subarray(0, end + 4).toString('latin1'));
	};
	socket.on('data', more);
	socket.on('error', () => {});
}

/*
 * Listens as an http:// or https:// proxy. Heads that came are in `heads`. `answer(head, socket)` answers CONNECTs and
 * requests; without it a CONNECT is a tunnel to its port on 127.0.0.1, and other requests are answered with their target.
 */
export async function startProxy({ secure = false, answer, port = 0 } = {}) {
	const proxy = { heads: [], connections: 0, answer };
	const tunnel = (head, socket) => {
		const to = net.connect({ host: '127.0.0.1', port: Number(/:(\d+) HTTP/.exec(head)[1]) }, () => {
			socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
			socket.pipe(to).pipe(socket);
		});
		to.on('error', () => socket.destroy());
		socket.on('close', () => to.destroy());
	};
	const respond = (head, socket) => {
		const body = head.split(' ')[1];
		socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
		next(socket);
	};
	const next = (socket) => {
		headOf(socket, (head) => {
			proxy.heads.push(head);
			(proxy.answer ?? (head.startsWith('CONNECT ') ? tunnel : respond))(head, socket, next);
		});
		socket.resume();
	};
	const sockets = new Set();
	const taken = (socket) => {
		proxy.connections++;
		sockets.add(socket.on('close', () => sockets.delete(socket)));
		next(socket);
	};
	const server = secure ? tls.createServer({ ...certs().server, ALPNProtocols: ['http/1.1'] }, taken) : net.createServer(taken);
	server.on('tlsClientError', () => {});
	await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
	proxy.port = server.address().port;
	proxy.tunnel = tunnel;
	proxy.respond = respond;
	proxy.close = () => {
		server.close();
		sockets.forEach((socket) => socket.destroy());
	};
	return proxy;
}

/*
 * chain('what holds', options, async (s) => …). options, besides those of scenario():
 *   secure     the upstream proxy is spoken to over TLS
 *   answer     of startProxy
 *   behind     what stands behind its URL in upstream-proxy
 *   origin     more keys of [origin forward]
 *   route      more keys of [route forward]
 *   rules      of [access test]
 *   kinds      of destinations (versions.mjs); s.ports has their ports
 */
export function chain(name, { secure = false, answer, behind = '', user = true, origin, route, rules, kinds = [], serve, prepare, ...options }, body) {
	const started = async (s) => {
		const dns = await startDns({});
		s.cleanups.push(() => dns.close());
		s.options.server = { resolver: dns.address, ...options.server };
		s.proxy = await startProxy({ secure, answer });
		s.cleanups.push(() => s.proxy.close());
		if (kinds.length > 0) {
			const { ports, close } = await versionedOrigins(serve ?? ((request, response) => response.end(`here is ${request.url}`)), kinds);
			s.cleanups.push(close);
			s.ports = ports;
		}
		await prepare?.(s);
		fs.writeFileSync(path.join(s.dir, 'secret'), `${PASSWORD}\n`);
		const credentials = user ? `${USER}:${inUrl(PASSWORD)}@` : '';
		s.options.routes = section('origin forward', {
			server: 'forward:', 'tls-ca': certs().file('ca.pem'),
			'upstream-proxy': `${secure ? 'https' : 'http'}://${credentials}localhost:${s.proxy.port}${behind}`,
			...(typeof origin === 'function' ? origin(s) : origin),
		}) + section('route forward', { origin: 'forward', upgrade: 'websocket', ...route })
			+ section('access test', { allow: rules ?? 'host=* address=any port=1-65535' });
	};
	scenario(name, { ...options, origins: {}, listen: { mode: 'forward', access: 'test', ...options.listen }, prepare: started }, async (s) => {
		const sockets = [];
		s.cleanups.push(() => sockets.forEach((socket) => socket.destroy()));
		s.client = () => {
			const socket = net.connect({ port: s.port, host: '127.0.0.1', allowHalfOpen: true });
			sockets.push(socket);
			return new End(socket);
		};
		await body(s);
		/* Whatever has happened, nobody has heard the password. */
		for (const text of [s.gate.read('access.log'), s.gate.read('error.log'), s.gate.stderr, s.gate.stdout])
			for (const secret of [PASSWORD, inUrl(PASSWORD), SECRET])
				if (text.includes(secret))
					throw new Error(`the password is in a log:\n${text}`);
	});
}
