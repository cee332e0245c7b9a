/* SPDX-License-Identifier: MIT */
/* Java's HttpClient, which takes pushes, before Node's http2 as origin: pushes that are data arrive, each of them. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import path from 'node:path';
import { ROOT, certs, freePort, scenario, section } from '../support/gate.mjs';
import { nodeOrigin } from '../support/node.mjs';
import { run } from '../support/programs.mjs';

const SOURCE = path.join(ROOT, 'tests/peers/PushClient.java');

/* The lines that the program prints; it has ended well. */
async function java(s, mode, asked, count) {
	const { stdout, stderr, code } = await run('java', [
		'-Xshare:auto', '-XX:TieredStopAtLevel=1', SOURCE, certs().file('ca.pem'), mode, `https://localhost:${s.port}${asked}`, String(count),
	]);
	assert.equal(code, 0, `${stdout}\n${stderr}`);
	const lines = stdout.trimEnd().split('\n');
	assert.equal(lines.pop(), 'done');
	return lines;
}

/* `serve(stream, headers, push)` answers; push(path, fields, body) promises and answers a resource. */
async function behindNode(name, serve, body, options = {}) {
	const port = await freePort();
	scenario(name, { tls: true, listen: { 'tls-timeout': '2m' }, origins: { main: { server: `h2c://127.0.0.1:${port}` } }, timeout: 120000, ...options }, async (s) => {
		await nodeOrigin(s, port, (stream, headers) => {
			const push = (asked, fields, text) => new Promise((resolve) => {
				stream.pushStream({ ':path': asked }, (error, pushed) => {
					assert.ifError(error);
					pushed.on('error', () => {});
					pushed.on('close', () => resolve(pushed.rstCode));
					pushed.respond({ ':status': 200, ...fields });
					pushed.end(text);
				});
			});
			serve(stream, headers, push);
		});
		await body(s);
	});
}

const POLLS = 20;
const from1 = (n, text) => Array.from({ length: n }, (_, i) => text(i + 1));
const of = (lines, word) => lines.filter((line) => line.startsWith(`${word} `));
/* Each page pushes what has just changed. */
function pages() {
	let page = 0;
	return (stream, headers, push) => {
		assert.equal(headers[':path'], '/page');
		page++;
		push('/data', { 'cache-control': 'no-cache' }, `data ${page}`);
		stream.respond({ ':status': 200 });
		stream.end(`page ${page}`);
	};
}

// covers: P-src-data
await behindNode('a page that is polled with its no-cache push: each poll gets its own', pages(), async (s) => {
	const lines = await java(s, 'poll', '/page', POLLS);
	assert.deepEqual(of(lines, 'page'), from1(POLLS, (i) => `page 200 page ${i}`));
	assert.deepEqual(of(lines, 'push'), from1(POLLS, (i) => `push /data 200 data ${i}`));
	assert.deepEqual(of(lines, 'cancelled'), []);
});

// covers: P-src-data P-make-client-reset
await behindNode('data that the client refuses with one page is promised with the next', pages(), async (s) => {
	const lines = await java(s, 'poll-half', '/page', POLLS);
	assert.deepEqual(of(lines, 'promise'), from1(POLLS, () => 'promise /data'));
	assert.deepEqual(of(lines, 'push'), from1(POLLS / 2, (i) => `push /data 200 data ${2 * i - 1}`));
	assert.deepEqual(of(lines, 'page'), from1(POLLS, (i) => `page 200 page ${i}`));
});

// covers: P-src-data
await behindNode('a map of pushes has the newest data in the end', pages(), async (s) => {
	const lines = await java(s, 'poll-one-map', '/page', POLLS);
	assert.deepEqual(lines, [...from1(POLLS, (i) => `page 200 page ${i}`), `push /data 200 data ${POLLS}`]);
});

const MESSAGES = 2000;
const routes = section('route feed', { path: '/subscription', origin: 'main', subscription: 'yes' }) + section('route all', { origin: 'main' });
// covers: P-src-data P-sub-silent P-sub-caps
const taken = new EventEmitter();
await behindNode('a request that is never answered, whose pushes are messages', (stream, headers, push) => {
	if (headers[':path'].startsWith('/taken/')) {
		stream.respond({ ':status': 204 }, { endStream: true });
		taken.emit(headers[':path']);
		return;
	}
	(async () => {
		for (let i = 1; i <= MESSAGES; i++) {
			const hasTaken = i % 50 === 0 && i < MESSAGES ? once(taken, `/taken/${i}`) : null;
			await push(`/message/${i}`, { 'cache-control': 'no-store' }, `message ${i}`);
			await hasTaken;
		}
	})();
}, async (s) => {
	const lines = await java(s, 'subscribe', '/subscription', MESSAGES);
	assert.deepEqual(of(lines, 'promise'), from1(MESSAGES, (i) => `promise /message/${i}`));
	assert.deepEqual(of(lines, 'push').sort(), from1(MESSAGES, (i) => `push /message/${i} 200 message ${i}`).sort());
	assert.deepEqual(of(lines, 'page'), []);
}, { routes });
