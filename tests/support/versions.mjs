/* SPDX-License-Identifier: MIT */
/* Node's servers as one origin in each version of HTTP, which answers the same in all of them. */
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { certs } from './gate.mjs';

/* curl --http1.0 offers http/1.0 alone. Node.js 18 goes on with a client that offers no name in common, Node.js 20 ends its handshake. */
const http1Tls = () => ({ ...certs().server, ALPNProtocols: ['http/1.1', 'http/1.0'] });

/* What an [origin] calls each of them; `version` is what it then speaks. */
export const VERSIONS = {
	h1: { scheme: 'http', version: '1.1', make: (serve) => http.createServer(serve) },
	h1s: { scheme: 'https', version: '1.1', make: (serve) => https.createServer(http1Tls(), serve) },
	h2c: { scheme: 'h2c', version: '2.0', make: (serve) => http2.createServer(serve) },
	h2: { scheme: 'h2', version: '2.0', make: (serve) => http2.createSecureServer(certs().server, serve) },
	alpn: { scheme: 'https', version: '2.0', make: (serve) => http2.createSecureServer({ ...certs().server, allowHTTP1: true }, serve) },
};

/*
 * `serve(request, response, expects)` answers in each of them; `expects`: the request waits for 100 (Continue).
 * port: of one server alone. Gives {ports, servers, close}: by name.
 */
export async function versionedOrigins(serve, names = Object.keys(VERSIONS), port = 0) {
	const ports = {};
	const servers = {};
	const open = new Set();
	const keep = (what) => {
		open.add(what);
		what.on('error', () => {});
		what.on('close', () => open.delete(what));
	};
	for (const name of names) {
		const server = VERSIONS[name].make((request, response) => serve(request, response, false));
		server.on('checkContinue', (request, response) => serve(request, response, true));
		server.on('connection', keep);
		server.on('session', keep);
		await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
		ports[name] = server.address().port;
		servers[name] = server;
	}
	const close = () => Promise.all(Object.values(servers).map((server) => new Promise((resolve) => {
		for (const what of open)
			what.destroy();
		server.close(resolve);
	})));
	return { ports, servers, close };
}
