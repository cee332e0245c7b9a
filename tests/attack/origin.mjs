/* SPDX-License-Identifier: MIT */
/*
 * The honest origin, a process of its own with Node's http2, for honest clients and attackers alike:
 *   /small       1 KiB            /site      the same with two pushes, /site/a and /site/b
 *   /large       64 KiB           /huge      8 MiB
 *   /upload      says how many octets came, when all have      /slow    1 KiB after 50 ms
 *   /never       no answer
 */
import http2 from 'node:http2';
import { Readable } from 'node:stream';
import { bodyOf } from './bodies.mjs';

function* pieces(body) {
	for (let at = 0; at < body.length; at += 16384)
		yield body.subarray(at, at + 16384);
}

/* What waits for clients that do not take it may not make Node refuse requests. */
const server = http2.createServer({ settings: { maxConcurrentStreams: 1000 }, maxSessionMemory: 1000 });
server.on('session', (session) => session.on('error', () => {}));
server.on('stream', (stream, headers) => {
	const path = headers[':path'];
	stream.on('error', () => {});
	if (path === '/never')
		return;
	if (path === '/upload') {
		let octets = 0;
		stream.on('data', (chunk) => { octets += chunk.length; });
		stream.on('end', () => {
			if (stream.destroyed)
				return;
			stream.respond({ ':status': 200 });
			stream.end(String(octets));
		});
		return;
	}
	if (path === '/site' && stream.pushAllowed) {
		for (const resource of ['/site/a', '/site/b'])
			stream.pushStream({ ':path': resource }, (error, push) => {
				if (error)
					return;
				push.on('error', () => {});
				push.respond({ ':status': 200 });
				push.end(bodyOf(resource));
			});
	}
	const answer = () => {
		if (stream.destroyed)
			return;
		stream.respond({ ':status': 200, 'content-type': 'text/plain' });
		if (path === '/huge')
			Readable.from(pieces(bodyOf(path))).pipe(stream);
		else
			stream.end(bodyOf(path));
	};
	if (path === '/slow')
		setTimeout(answer, 50);
	else
		answer();
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('disconnect', () => process.exit());
