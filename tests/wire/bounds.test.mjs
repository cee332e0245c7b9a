/* SPDX-License-Identifier: MIT */
/*
 * Floods and bombs from both sides, in small forms (RFC 9113 10.5): memory stays bounded, everybody
 * else is served, descriptors come back.
 */
import assert from 'node:assert/strict';
import { FLAG, frame, u32 } from '../support/frames.mjs';
import { scenario, section, until } from '../support/gate.mjs';
import { Encoder, integer } from '../support/hpack.mjs';

/* Sanitizers keep freed memory back, so their figures say nothing. */
const MEASURED = !/asan/.test(process.env.PUSHGATE ?? '') && !process.env.PUSHGATE_SANITIZED;
const MIB = 1 << 20;

/* Another client on the same gate is served, again and again, while `during` runs. */
async function others(s, name = 'other') {
	const client = await s.connect();
	let id = -1;
	return {
		async ask() {
			client.request(id += 2, { path: `/${name}${id}` });
			const r = await client.response(id);
			assert.equal(r.status, 200);
			assert.equal(String(r.body), `/${name}${id}`);
		},
	};
}
/* Answers every request for /other… on every connection of a server; gives the others to `else_`. */
function serve(server, else_ = () => {}) {
	(async () => {
		for (;;) {
			const origin = await server.accept(3600e3);
			(async () => {
				for (;;) {
					const up = await origin.take((f) => f.type === 'HEADERS' && f.headers[':path'], 'request', 3600e3);
					if (up.headers[':path'].startsWith('/other'))
						origin.respond(up.stream, { body: up.headers[':path'] });
					else
						else_(origin, up);
				}
			})().catch(() => {});
		}
	})().catch(() => {});
}
async function memory(s, limit, body) {
	const before = s.gate.rss();
	await body();
	const grown = s.gate.rss() - before;
	if (MEASURED)
		assert.ok(grown < limit, `grown by ${(grown / MIB).toFixed(1)} MiB`);
}
/* What a flooding peer is answered need not be kept. */
const forget = (c) => c.drop(() => true);

// covers: R63 R64 P-recv-too-many
scenario('10,000 promises never answered cost little, the parent and others are served', { server: { 'promise-rate': 100000 } }, async (s) => {
	let page;
	serve(s.server, (origin, up) => { page ??= { origin, up }; });
	const client = await s.connect();
	client.request(1, { path: '/page' });
	await until('request', () => page);
	const { origin, up } = page;
	const other = await others(s);
	await other.ask();
	await memory(s, 24 * MIB, async () => {
		for (let i = 1; i <= 10000; i++) {
			origin.push(up, 2 * i, `/p${i}`);
			if (i % 500 === 0) {
				await other.ask();
				await origin.sync().catch(() => {});
				forget(origin);
				forget(client);
			}
		}
	});
	if (!origin.ended) {
		origin.respond(up.stream, { body: 'page' });
		assert.equal(String((await client.response(1)).body), 'page');
	}
	await other.ask();
});
// covers: P-recv-too-many
scenario('promises past promise-refusals turn push off on that connection, and others live', {
	server: { 'promise-refusals': 20, 'max-pushes-per-parent': 5, 'reset-rate': 1000000 },
}, async (s) => {
	const { client, origin, up } = await s.open();
	for (let i = 1; i <= 40; i++)
		origin.push(up, 2 * i, `/p${i}`);
	await origin.sync();
	assert.ok(origin.seen('RST_STREAM').length >= 20 || origin.seen('SETTINGS', { ack: false }).length > 1);
	const off = await origin.expect('SETTINGS', { ack: false, values: (v) => v.enablePush === 0 });
	assert.equal(off.values.enablePush, 0);
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
	await client.sync();
});
scenario('dropped promises past reset-rate move the route to connections without push', {
	server: { 'reset-rate': 5 }, extra: section('push nothing', { 'promised-path': '/drop*', action: 'drop' }),
}, async (s) => {
	const { client, origin, up } = await s.open();
	for (let i = 1; i <= 30; i++)
		origin.push(up, 2 * i, `/drop${i}`);
	await origin.sync();
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	client.request(3, { path: '/next' });
	const next = await s.accept();
	const request = await next.expectRequest('/next');
	await next.sync();
	assert.equal(next.peerSettings.enablePush, 0);
	next.respond(request.stream, { body: 'x' });
	assert.equal((await client.response(3)).status, 200);
});
scenario('promises that are reset at once, over and over, are bounded', { server: { 'promise-rate': 100000 } }, async (s) => {
	let page;
	serve(s.server, (origin, up) => { page ??= { origin, up }; });
	const client = await s.connect();
	client.request(1, { path: '/page' });
	await until('request', () => page);
	const { origin, up } = page;
	const other = await others(s);
	await memory(s, 24 * MIB, async () => {
		for (let i = 1; i <= 5000 && !origin.ended; i++) {
			origin.push(up, 2 * i, `/p${i}`).rst(2 * i, 'CANCEL');
			if (i % 250 === 0) {
				await other.ask();
				forget(origin);
				forget(client);
			}
		}
	});
	await other.ask();
	await client.sync();
});
scenario('promises that the client refuses all are bounded', async (s) => {
	const { client, origin, up } = await s.open();
	const other = await s.connect();
	for (let i = 1; i <= 300; i++) {
		origin.push(up, 2 * i, `/p${i}`);
		const p = await client.take((f) => f.type === 'PUSH_PROMISE' || f.type === 'PING', 'a promise').catch(() => null);
		if (p?.type !== 'PUSH_PROMISE')
			break;
		client.rst(p.promised, 'REFUSED_STREAM');
		if (i === 90)
			break;
	}
	await origin.expectReset(2, 'REFUSED_STREAM');
	other.request(1, { path: '/other' });
	const next = await origin.expectRequest('/other');
	origin.respond(next.stream, { body: 'x' }).respond(up.stream, { body: 'page' });
	assert.equal((await other.response(1)).status, 200);
	assert.equal((await client.response(1)).status, 200);
});

/* ---- bombs ---- */
/* The connection ends; a flood that goes on may well drown the GOAWAY (a TCP reset throws away what was not read yet). */
async function calmed(c) {
	const goaway = await c.expectGoaway().catch((error) => { if (!c.ended) throw error; });
	if (goaway)
		assert.ok(['ENHANCE_YOUR_CALM', 'PROTOCOL_ERROR', 'COMPRESSION_ERROR'].includes(goaway.code), goaway.code);
}
scenario('a CONTINUATION flood in a promise ends the origin connection alone', async (s) => {
	const { client, origin, up } = await s.open();
	await memory(s, 24 * MIB, async () => {
		origin.push(up, 2, '/p', {}, { endHeaders: false });
		for (let i = 0; i < 20000 && !origin.ended; i++) {
			origin.continuation(up.stream, Buffer.alloc(0), { endHeaders: false });
			if (i % 100 === 0)
				await new Promise(setImmediate);
		}
		await calmed(origin);
	});
	assert.equal((await client.response(1)).status, 502);
});
scenario('a CONTINUATION flood in a request ends the client connection alone', async (s) => {
	const client = await s.connect();
	await client.ready();
	client.headers(1, { ':method': 'GET' }, { endHeaders: false });
	for (let i = 0; i < 20000 && !client.ended; i++) {
		client.continuation(1, Buffer.alloc(i % 2 ? 1000 : 0), { endHeaders: false });
		if (i % 100 === 0)
			await new Promise(setImmediate);
	}
	await calmed(client);
	const other = await s.connect();
	await other.sync();
});
/* One dynamic entry of 4,000 bytes, referred to over and over. */
function bomb(references) {
	const e = new Encoder();
	e.indexing = true;
	return [e.encode([['x-bomb', 'b'.repeat(4000)]]), Buffer.concat(Array.from({ length: references }, () => integer(62, 7, 0x80)))];
}
scenario('a field list bomb in a promise is refused or ends the origin connection, memory stays', async (s) => {
	const { client, origin, up } = await s.open();
	await memory(s, 24 * MIB, async () => {
		const [entry, references] = bomb(12000);
		const fields = new Encoder().encode({ ':method': 'GET', ':scheme': 'http', ':authority': up.headers[':authority'], ':path': '/p' });
		origin.pushPromise(up.stream, 2, null, { block: Buffer.concat([fields, entry, references]) });
		await origin.take((f) => f.type === 'GOAWAY' || (f.type === 'RST_STREAM' && f.stream === 2), 'a refusal');
	});
	assert.equal(client.seen('PUSH_PROMISE').length, 0);
	if (origin.seen('GOAWAY').length)
		return;
	origin.respond(up.stream, { body: 'page' });
	const f = await client.take((x) => x.stream === 1 && x.type === 'HEADERS', 'an answer');
	assert.match(f.headers[':status'], /^(200|502)$/);
});
scenario('a field list bomb in a request gets 431 or ends that connection, memory stays', async (s) => {
	const client = await s.connect();
	await client.ready();
	await memory(s, 24 * MIB, async () => {
		const [entry, references] = bomb(12000);
		const fields = new Encoder().encode({ ':method': 'GET', ':scheme': 'http', ':authority': 'localhost', ':path': '/' });
		client.headers(1, null, { block: Buffer.concat([fields, entry, references]), endStream: true });
		const f = await client.take((x) => ['GOAWAY', 'RST_STREAM', 'HEADERS'].includes(x.type), 'a refusal');
		if (f.type === 'HEADERS')
			assert.equal(f.headers[':status'], '431');
	});
	assert.equal(s.server.connections.length, 0);
});
// covers: P-recv-oversize R64
scenario('an oversize promise within the compressed bound is refused, and compression stays in step', { origin: { 'max-header-list': '8k' } }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.encoder.indexing = true;
	origin.push(up, 2, '/p', { 'x-small': 'kept', 'x-big': 'b'.repeat(10000) });
	await origin.expectReset(2);
	origin.respond(up.stream, { fields: { 'x-small': 'kept' }, body: 'page' });
	assert.equal((await client.response(1)).headers['x-small'], 'kept');
	await client.expectNone('PUSH_PROMISE');
});
scenario('thrashing the table costs nothing but itself', async (s) => {
	const { client, origin, up } = await s.open();
	client.encoder.indexing = true;
	origin.respond(up.stream, { body: 'x' });
	for (let i = 1; i <= 200; i++) {
		client.request(1 + 2 * i, { path: `/${i}`, [`x-${i}`]: `${i}`.repeat(500).slice(0, 1000) });
		const next = await origin.expectRequest(`/${i}`);
		origin.respond(next.stream, { body: 'x' });
		await client.response(1 + 2 * i);
	}
});

/* ---- floods of small frames; answers read, or never read ---- */
const floods = {
	'rapid reset': (c, i) => c.request(1 + 2 * i).rst(1 + 2 * i),
	PING: (c) => c.ping('flooding'),
	SETTINGS: (c) => c.settings(),
	PRIORITY: (c, i) => c.priority(1 + 2 * i),
	'empty DATA': (c, i) => (i ? c.data(1, '') : c.request(1, { method: 'POST' }, { endStream: false })),
	'WINDOW_UPDATE of 1': (c) => c.windowUpdate(0, 1),
	'resets provoked by malformed requests': (c, i) => c.headers(1 + 2 * i, { ':method': 'GET', x: 'y' }, { endStream: true }),
	'resets provoked by increments of 0': (c, i) => c.request(1 + 2 * i).windowUpdate(1 + 2 * i, 0),
	'requests with a self-made table': (c, i) => c.headers(1 + 2 * i, { ':method': 'GET', ':scheme': 'http', ':authority': 'localhost', ':path': '/', [`x${i}`]: 'y'.repeat(900) }, { endStream: true, as: 'incremental' }),
	'unknown frames': (c) => c.frame(0xee, 0, 0, Buffer.alloc(10)),
};
// covers: R65
for (const [what, send] of Object.entries(floods))
	for (const reading of [true, false])
		scenario(`a flood of ${what}, answers ${reading ? 'read' : 'never read'}: others are served, memory stays`, async (s) => {
			serve(s.server);
			const client = await s.connect({ auto: { ping: reading } });
			await client.ready();
			const other = await others(s);
			await other.ask();
			const descriptors = s.gate.descriptors();
			if (!reading)
				client.socket.pause();
			await memory(s, 64 * MIB, async () => {
				for (let i = 0; i < 6000 && !client.ended; i++) {
					send(client, i);
					if (i % 300 === 0)
						await other.ask();
				}
			});
			await other.ask();
			client.close();
			await until('descriptors come back', () => s.gate.descriptors() <= descriptors + 2);
		});

scenario('a flood of 1xx from an origin ends that exchange or its connection, nothing else', async (s) => {
	let page;
	serve(s.server, (origin, up) => { page ??= { origin, up }; });
	const client = await s.connect();
	client.request(1, { path: '/page' });
	await until('request', () => page);
	const { origin, up } = page;
	const other = await others(s);
	await memory(s, 24 * MIB, async () => {
		for (let i = 0; i < 5000 && !origin.ended && !origin.seen('RST_STREAM').length; i++) {
			origin.headers(up.stream, { ':status': 103 });
			if (i % 100 === 0)
				await other.ask();
		}
	});
	const f = await client.take((x) => x.stream === 1 && (x.type === 'RST_STREAM' || (x.type === 'HEADERS' && !x.headers[':status'].startsWith('1'))), 'an end');
	if (f.type === 'HEADERS')
		assert.equal(f.headers[':status'], '502');
	await other.ask();
});
scenario('a flood of DATA on dropped pushes is thrown away with credit, others are served', {
	extra: section('push nothing', { 'promised-path': '/drop*', action: 'drop' }),
}, async (s) => {
	let page;
	serve(s.server, (origin, up) => { page ??= { origin, up }; });
	const client = await s.connect();
	client.request(1, { path: '/page' });
	await until('request', () => page);
	const { origin, up } = page;
	const other = await others(s);
	await memory(s, 24 * MIB, async () => {
		for (let i = 1; i <= 20; i++) {
			origin.push(up, 2 * i, `/drop${i}`).headers(2 * i, { ':status': 200 });
			for (let n = 0; n < 4; n++)
				origin.data(2 * i, Buffer.alloc(16384));
			await other.ask();
		}
	});
	await other.ask();
});
scenario('a DATA flood of one-byte frames does not pin memory', { origin: { 'max-connections': 1 } }, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { initialWindowSize: 0 } } });
	origin.headers(up.stream, { ':status': 200 });
	await client.expectHead(1);
	await origin.sync();
	const one = frame('DATA', 0, up.stream, Buffer.from('x'));
	await memory(s, 16 * MIB, async () => {
		for (let i = 0; i < 50; i++) {
			origin.write(Buffer.concat(Array.from({ length: 1000 }, () => one)));
			await origin.sync();
		}
	});
	assert.equal(origin.ended, false);
	client.windowUpdate(1, 1 << 20).windowUpdate(0, 1 << 20);
	while (client.received < 50000)
		await client.expect('DATA');
});

/* ---- slow and silent clients ---- */
scenario('hundreds of silent connections cost little and leave nothing behind', async (s) => {
	serve(s.server);
	const other = await others(s);
	await other.ask();
	const descriptors = s.gate.descriptors();
	await memory(s, 24 * MIB, async () => {
		const silent = [];
		for (let i = 0; i < 300; i++)
			silent.push(await s.connect({ settings: null, tls: false }));
		await other.ask();
		for (const c of silent)
			c.close();
	});
	await until('descriptors come back', () => s.gate.descriptors() <= descriptors + 2);
	await other.ask();
});
scenario('connections above max-connections are closed, the others live', { listen: { 'max-connections': 3 } }, async (s) => {
	serve(s.server);
	const other = await others(s);
	/* By its answer the connection that tried whether the gate listens is gone. */
	await other.ask();
	const second = await s.connect();
	const third = await s.connect();
	await third.ready();
	const fourth = await s.connect();
	await fourth.expectClosed();
	await other.ask();
	second.close();
	await until('room again', async () => {
		const c = await s.connect();
		return c.sync(1000).then(() => true, () => false);
	});
});
scenario('streams above our limit are refused one by one', { listen: { 'max-concurrent-streams': 3 } }, async (s) => {
	const client = await s.connect();
	await client.ready();
	for (let i = 0; i < 5; i++)
		client.request(1 + 2 * i, { path: `/${i}` });
	for (const id of [7, 9])
		await client.expectReset(id, ['REFUSED_STREAM', 'PROTOCOL_ERROR']);
	const origin = await s.accept();
	for (let i = 0; i < 3; i++)
		origin.respond((await origin.expectRequest()).stream, { body: 'x' });
	for (const id of [1, 3, 5])
		assert.equal((await client.response(id)).status, 200);
});

/* ---- random and mutated sessions ---- */
function random(seed) {
	let x = seed >>> 0 || 1;
	return (n) => {
		x ^= x << 13; x >>>= 0; x ^= x >>> 17; x ^= x << 5; x >>>= 0;
		return x % n;
	};
}
for (const side of ['client', 'origin'])
	scenario(`sessions of random frames from a ${side} harm nobody else`, async (s) => {
		const other = await s.connect();
		for (let seed = 1; seed <= 40; seed++) {
			const r = random(seed * 7919);
			const { client, origin, up } = await s.open();
			const c = side === 'client' ? client : origin;
			client.checking = origin.checking = false;
			const streams = [0, 1, 2, 3, 4, up.stream, 99, 100];
			for (let i = 0; i < 60; i++) {
				const length = [0, 1, 4, 5, 6, 8, 9, 20, 100][r(9)];
				const payload = Buffer.from(Array.from({ length }, () => r(4) ? r(256) : 0));
				const f = frame(r(12), r(3) ? FLAG.END_HEADERS | (r(2) ? FLAG.END_STREAM : 0) : r(256), streams[r(streams.length)], payload);
				if (r(10) === 0)
					f[r(f.length)] ^= 1 << r(8);
				c.write(f);
			}
			c.write(u32(0));
			client.close();
			origin.close();
		}
		/* Of events that come together the gateway may see this request before the end of the last session. */
		await other.sync();
		other.request(1, { path: '/other' });
		for (;;) {
			const origin = await s.accept();
			const up = await origin.expectRequest('/other', 500).catch(() => null);
			if (up) {
				origin.respond(up.stream, { body: 'alive' });
				break;
			}
		}
		assert.equal(String((await other.response(1)).body), 'alive');
	});
