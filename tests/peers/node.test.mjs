/* SPDX-License-Identifier: MIT */
/*
 * Node's http2 as the origin and as the client: every event arrives, in order, whatever the timing; and all
 * pushes of every page, always.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http2 from 'node:http2';
import { certs, freePort, scenario, until } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';

const { constants } = http2;
const pattern = (n, salt = 0) => Buffer.from(Array.from({ length: n }, (_, i) => (i * 131 + salt + (i >> 8) * 7) & 255));
const TEN_MB = Buffer.concat(Array.from({ length: 10 }, (_, i) => pattern(1 << 20, i)));
const sum = (bytes) => createHash('sha256').update(bytes).digest('hex');

/* A gate before a node origin; `serve(stream, headers, session)` answers requests. */
async function node(name, { serve, tls = false, ...options }, body) {
	const port = await freePort();
	scenario(name, {
		tls, origins: { main: { server: `h2c://127.0.0.1:${port}` } }, ...options,
	}, async (s) => {
		const server = http2.createServer();
		s.sessions = [];
		server.on('session', (session) => {
			s.sessions.push(session);
			session.on('error', () => {});
		});
		server.on('stream', (stream, headers) => {
			stream.on('error', () => {});
			serve(stream, headers, s);
		});
		await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
		s.cleanups.push(() => new Promise((resolve) => {
			for (const session of s.sessions)
				session.destroy();
			server.close(resolve);
		}));
		s.session = (settings = {}) => {
			const session = http2.connect(`${tls ? 'https' : 'http'}://localhost:${s.port}`, {
				...(tls ? { ca: certs().ca } : {}), settings, lookup: (_, o, done) => done(null, o?.all ? [{ address: '127.0.0.1', family: 4 }] : '127.0.0.1', 4),
			});
			session.on('error', () => {});
			s.cleanups.push(() => session.destroy());
			return session;
		};
		await body(s);
	});
}

/* Everything that happens to a stream, in order. */
function watch(stream) {
	const seen = { events: [], chunks: [], length: 0 };
	const note = (what) => { if (seen.events.at(-1) !== what) seen.events.push(what); };
	stream.on('headers', (h) => note(`interim ${h[':status']}`));
	stream.on('response', (h) => { note('response'); seen.headers = h; });
	stream.on('push', (h) => { note('response'); seen.headers = h; });
	stream.on('data', (d) => { note('data'); seen.chunks.push(d); seen.length += d.length; });
	stream.on('trailers', (h) => { note('trailers'); seen.trailers = h; });
	stream.on('end', () => note('end'));
	stream.on('error', () => { seen.error = true; });
	seen.closed = new Promise((resolve) => {
		stream.on('close', () => { note('close'); seen.code = stream.rstCode; resolve(seen); });
	});
	seen.body = () => Buffer.concat(seen.chunks);
	return seen;
}
function within(promise, what, ms = 20000 * SCALE) {
	let timer;
	return Promise.race([promise, new Promise((_, reject) => {
		timer = setTimeout(() => reject(new assert.AssertionError({ message: `${what}: not within ${ms} ms` })), ms);
	})]).finally(() => clearTimeout(timer));
}

for (const tls of [false, true])
	await node(`eight pushes with fields, trailers, a late one, 10 MB and an error arrive in order${tls ? ', over TLS' : ''}`, {
		tls,
		serve(stream, _, s) {
			const push = (path, then) => stream.pushStream({ ':path': path, 'x-why': `for ${path}` }, (error, pushed) => {
				assert.ifError(error);
				pushed.on('error', () => {});
				then(pushed);
			});
			stream.additionalHeaders({ ':status': 103, link: '</p0>; rel=preload' });
			for (let i = 0; i < 5; i++)
				push(`/p${i}`, (p) => { p.respond({ ':status': 200, 'x-n': `${i}`, 'set-cookie': ['a=1', 'b=2'] }); p.end(`body ${i}`); });
			push('/trailers', (p) => {
				p.respond({ ':status': 200 }, { waitForTrailers: true });
				p.on('wantTrailers', () => p.sendTrailers({ 'x-sum': 'total' }));
				p.end('with trailers');
			});
			push('/ten', (p) => { p.respond({ ':status': 200, 'content-length': TEN_MB.length }); p.end(TEN_MB); });
			push('/error', (p) => { p.respond({ ':status': 200 }); p.write('some'); s.breaks = () => p.destroy(new Error('broken')); });
			stream.respond({ ':status': 200, 'content-type': 'text/html' });
			stream.write('first ');
			setTimeout(() => {
				push('/late', (p) => { p.respond({ ':status': 404 }); p.end('late'); });
				stream.end('second');
			}, 50);
		},
	}, async (s) => {
		const session = s.session();
		const pushes = {};
		const order = [];
		session.on('stream', (pushed, headers) => {
			order.push(headers[':path']);
			pushes[headers[':path']] = watch(pushed);
			pushes[headers[':path']].request = headers;
			/* Breaking it earlier would drop the bytes that wait in the origin for the window of the connection. */
			if (headers[':path'] === '/error')
				pushed.once('data', () => s.breaks());
		});
		const page = watch(session.request({ ':path': '/' }));
		await within(page.closed, 'the page');
		assert.equal(String(page.body()), 'first second');
		assert.deepEqual(page.events, ['interim 103', 'response', 'data', 'end', 'close']);
		await until('nine pushes', () => order.length === 9);
		await within(Promise.all(Object.values(pushes).map((p) => p.closed)), 'the pushes', 60000 * SCALE);
		assert.deepEqual(order, ['/p0', '/p1', '/p2', '/p3', '/p4', '/trailers', '/ten', '/error', '/late']);
		for (let i = 0; i < 5; i++) {
			const p = pushes[`/p${i}`];
			assert.deepEqual(p.events, ['response', 'data', 'end', 'close']);
			assert.equal(String(p.body()), `body ${i}`);
			assert.equal(p.headers['x-n'], `${i}`);
			assert.deepEqual(p.headers['set-cookie'], ['a=1', 'b=2']);
			assert.equal(p.request['x-why'], `for /p${i}`);
		}
		assert.equal(pushes['/trailers'].trailers['x-sum'], 'total');
		assert.equal(pushes['/ten'].length, TEN_MB.length);
		assert.equal(sum(pushes['/ten'].body()), sum(TEN_MB));
		assert.equal(pushes['/error'].code, constants.NGHTTP2_INTERNAL_ERROR);
		assert.equal(String(pushes['/error'].body()), 'some');
		assert.equal(pushes['/late'].headers[':status'], 404);
		assert.equal(String(pushes['/late'].body()), 'late');
	});

// covers: R31 R56
const pages = { connections: 32, streams: 8, pushes: 8 };
await node('32 connections × 8 streams × 8 pushes a page: all 8 of 8 arrive, always', {
	timeout: 180000,
	serve(stream, headers) {
		const page = headers[':path'];
		for (let i = 0; i < pages.pushes; i++)
			stream.pushStream({ ':path': `${page}/${i}` }, (error, pushed) => {
				if (error)
					return;
				pushed.on('error', () => {});
				pushed.respond({ ':status': 200 });
				pushed.end(`${page}/${i}`.repeat(20));
			});
		stream.respond({ ':status': 200 });
		stream.end(page);
	},
}, async (s) => {
	let wrong = 0;
	const rounds = Number(process.env.PUSHGATE_TEST_ROUNDS ?? 3);
	const all = Array.from({ length: pages.connections }, (_, c) => (async () => {
		const session = s.session();
		const pushed = new Map();
		session.on('stream', (stream, headers) => {
			const w = watch(stream);
			pushed.set(headers[':path'], w);
		});
		for (let round = 0; round < rounds; round++) {
			const names = Array.from({ length: pages.streams }, (_, n) => `/${c}-${n}-${round}`);
			await within(Promise.all(names.map((name) => watch(session.request({ ':path': name })).closed)), 'pages', 60000 * SCALE);
			for (const name of names)
				for (let i = 0; i < pages.pushes; i++) {
					const w = pushed.get(`${name}/${i}`);
					if (!w) {
						wrong++;
						continue;
					}
					await within(w.closed, `push ${name}/${i}`);
					if (String(w.body()) !== `${name}/${i}`.repeat(20))
						wrong++;
				}
		}
		session.close();
	})());
	await Promise.all(all);
	assert.equal(wrong, 0, `${wrong} of ${pages.connections * pages.streams * pages.pushes * rounds} pushes missing or wrong`);
});

await node('an origin session that is destroyed in mid-body: 502 or a reset, then served again', {
	serve(stream, headers, s) {
		stream.respond({ ':status': 200 });
		if (headers[':path'] === '/die') {
			stream.write('some');
			setTimeout(() => s.sessions.at(-1).destroy(), 20);
		} else {
			stream.end('fine');
		}
	},
}, async (s) => {
	const session = s.session();
	for (let i = 0; i < 5; i++) {
		const dead = watch(session.request({ ':path': '/die' }));
		await within(dead.closed, 'the end');
		assert.ok(dead.code !== 0 || dead.headers[':status'] === 502);
		const fine = watch(session.request({ ':path': '/fine' }));
		await within(fine.closed, 'an answer');
		assert.equal(String(fine.body()), 'fine');
	}
});
await node('a graceful close of the origin session loses no request', {
	serve(stream, headers, s) {
		if (headers[':path'].endsWith('7'))
			s.sessions.at(-1).close();
		stream.respond({ ':status': 200 });
		setTimeout(() => stream.end(headers[':path']), 5);
	},
}, async (s) => {
	const session = s.session();
	let failed = 0;
	for (let round = 0; round < 10; round++)
		await within(Promise.all(Array.from({ length: 10 }, async (_, i) => {
			const w = await watch(session.request({ ':path': `/${round}-${i}` })).closed;
			if (String(w.body()) !== `/${round}-${i}`)
				failed++;
		})), 'a round');
	assert.equal(failed, 0);
});
await node('uploads of 10 MB arrive to the byte, several at a time, with a gentle origin', {
	serve(stream) {
		const hash = createHash('sha256');
		let n = 0;
		stream.on('data', (d) => { hash.update(d); n += d.length; });
		stream.on('end', () => { stream.respond({ ':status': 200 }); stream.end(`${n} ${hash.digest('hex')}`); });
	},
}, async (s) => {
	const session = s.session();
	await within(Promise.all(Array.from({ length: 4 }, async () => {
		const stream = session.request({ ':path': '/up', ':method': 'POST' });
		const w = watch(stream);
		stream.end(TEN_MB);
		await w.closed;
		assert.equal(String(w.body()), `${TEN_MB.length} ${sum(TEN_MB)}`);
	})), 'uploads', 60000 * SCALE);
});
await node('a client that asks for no push through node gets none, and pages work', {
	serve(stream, headers, s) {
		s.allowed = stream.pushAllowed;
		stream.respond({ ':status': 200 });
		stream.end('page');
	},
}, async (s) => {
	const session = s.session({ enablePush: false });
	const page = watch(session.request({ ':path': '/' }));
	await within(page.closed, 'the page');
	assert.equal(String(page.body()), 'page');
	assert.equal(s.allowed, false);
});
