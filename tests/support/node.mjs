/* SPDX-License-Identifier: MIT */
/* Node's http2 as origin and client of a scenario: real peers that a test can talk to. */
import http2 from 'node:http2';

/* `serve(stream, headers)` answers. Ended with the scenario. */
export async function nodeOrigin(s, port, serve) {
	const sessions = new Set();
	const server = http2.createServer();
	server.on('session', (session) => {
		sessions.add(session);
		session.on('error', () => {});
		session.on('close', () => sessions.delete(session));
	});
	server.on('stream', (stream, headers) => {
		stream.on('error', () => {});
		serve(stream, headers);
	});
	await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
	s.cleanups.push(() => new Promise((resolve) => {
		for (const session of sessions)
			session.destroy();
		server.close(resolve);
	}));
}

/*
 * A client: {session, pushes, get}. get(fields) gives {status, headers, body, code}; pushes is a map of the pushed
 * paths to promises of the same.
 */
export function nodeClient(s, settings = {}) {
	const session = http2.connect(`http://127.0.0.1:${s.port}`, { settings });
	session.on('error', () => {});
	s.cleanups.push(() => session.destroy());
	const pushes = new Map();
	session.on('stream', (stream, request) => pushes.set(request[':path'], whole(stream, 'push')));
	return { session, pushes, get: (fields) => whole(session.request(fields), 'response') };
}

function whole(stream, event) {
	const got = { status: 0, body: '' };
	stream.on('error', () => {});
	stream.on(event, (headers) => { got.headers = headers; got.status = headers[':status']; });
	stream.setEncoding('utf8').on('data', (text) => { got.body += text; });
	return new Promise((resolve) => { stream.on('close', () => { got.code = stream.rstCode; resolve(got); }); });
}
