/* SPDX-License-Identifier: MIT */
/*
 * Flow control (RFC 9113 5.2, 6.9): windows are per hop and per stream, credit comes back for what
 * is thrown away, and what is taken for a client that does not read is bounded.
 */
import assert from 'node:assert/strict';
import { PATIENCE } from '../support/peer.mjs';
import { scenario, section } from '../support/gate.mjs';

/* Sends as the windows allow until `total` bytes are gone or `stop` says so; returns what was sent. */
class Sender {
	constructor(connection, stream) {
		this.c = connection;
		this.stream = stream;
		this.sent = 0;
	}
	/* All credit that came so far, connection first. */
	static windows(c) {
		c.credit ??= { 0: 65535 };
		for (const f of c.seen('WINDOW_UPDATE'))
			c.credit[f.stream] = (c.credit[f.stream] ?? c.peerSettings.initialWindowSize ?? 65535) + f.increment;
		c.drop((f) => f.type === 'WINDOW_UPDATE');
		return c.credit;
	}
	/* Sends what can be sent now, at most `most`. */
	burst(most = Infinity) {
		const w = Sender.windows(this.c);
		w[this.stream] ??= this.c.peerSettings.initialWindowSize ?? 65535;
		let n = Math.min(most, w[0], w[this.stream]);
		const all = n;
		for (; n > 0; n -= 16384) {
			const size = Math.min(n, 16384);
			this.c.data(this.stream, Buffer.alloc(size, 0x61));
			w[0] -= size;
			w[this.stream] -= size;
			this.sent += size;
		}
		return all;
	}
}

// covers: R56 P-make-never-starves
scenario('a pushed stream without window stalls neither parent nor sibling nor another client', { origin: { 'max-connections': 1 } }, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { initialWindowSize: 0 }, auto: { window: false } } });
	await origin.sync();
	client.windowUpdate(0, 1 << 20);
	client.windowUpdate(1, 1 << 20);
	const other = await s.connect();
	other.request(1, { path: '/other' });
	const far = await origin.expectRequest('/other');
	origin.push(up, 2, '/stuck').push(up, 4, '/sibling').headers(2, { ':status': 200 }).headers(4, { ':status': 200 });
	const stuck = await client.expectPromise('/stuck');
	const sibling = await client.expectPromise('/sibling');
	client.windowUpdate(sibling.promised, 1 << 20);
	const sender = new Sender(origin, 2);
	sender.burst();
	await origin.sync();
	origin.data(4, 'sibling', { endStream: true });
	origin.headers(up.stream, { ':status': 200 }).data(up.stream, 'page', { endStream: true });
	origin.respond(far.stream, { body: 'other' });
	assert.equal(String((await client.response(1)).body), 'page');
	assert.equal(String((await other.response(1)).body), 'other');
	assert.equal(String((await client.response(sibling.promised)).body), 'sibling');
	await client.expectHead(stuck.promised);
	await client.expectNone('DATA', { stream: stuck.promised, length: (n) => n > 0 });
});

// covers: R57
scenario('credit for dropped and cancelled pushes goes back to the origin, padding included', {
	extra: section('push nothing', { 'promised-path': '/drop*', action: 'drop' }), origin: { 'connection-window': '64k' },
}, async (s) => {
	const { client, origin, up } = await s.open();
	await origin.sync();
	let total = 0;
	for (let i = 0; i < 12; i++) {
		const id = 2 + 2 * i;
		const cancelled = i % 2;
		origin.push(up, id, cancelled ? `/cancel${i}` : `/drop${i}`);
		if (cancelled)
			client.rst((await client.expectPromise(`/cancel${i}`)).promised);
		origin.headers(id, { ':status': 200 });
		for (let n = 0; n < 3; n++) {
			/* Never more than the connection window allows: each round waits for credit. */
			while (Sender.windows(origin)[0] < 10256)
				await origin.expect('WINDOW_UPDATE', { stream: 0 }).then((f) => { origin.credit[0] += f.increment; });
			origin.data(id, Buffer.alloc(10000), { padding: 255 });
			origin.credit[0] -= 10256;
			total += 10256;
		}
		await origin.expectReset(id);
	}
	assert.ok(total > 3 * 65535);
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
});

// covers: R58
scenario('a lowered INITIAL_WINDOW_SIZE makes a window negative; nothing comes until it is above zero', async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { initialWindowSize: 1000 }, auto: { window: false } } });
	await client.ready();
	origin.push(up, 2, '/a').headers(2, { ':status': 200 }).data(2, Buffer.alloc(5000, 0x61), { endStream: true });
	const { promised } = await client.expectPromise('/a');
	let got = 0;
	while (got < 1000)
		got += (await client.expect('DATA', { stream: promised })).length;
	assert.equal(got, 1000);
	client.settings({ initialWindowSize: 0 });
	await client.sync();
	client.windowUpdate(promised, 1000);
	await client.expectNone('DATA', { stream: promised });
	client.windowUpdate(promised, 1);
	assert.equal((await client.expect('DATA', { stream: promised })).length, 1);
	client.settings({ initialWindowSize: 5000 });
	got++;
	while (got < 5000)
		got += (await client.expect('DATA', { stream: promised })).length;
});

// covers: R59
scenario('WINDOW_UPDATE on a reserved stream counts once the response begins', async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { initialWindowSize: 0 }, auto: { window: false } } });
	await client.ready();
	origin.push(up, 2, '/a');
	const { promised } = await client.expectPromise('/a');
	client.windowUpdate(promised, 4);
	await client.sync();
	origin.headers(2, { ':status': 200 }).data(2, 'body', { endStream: true });
	assert.equal(String((await client.response(promised)).body), 'body');
});

// covers: R60
scenario('an origin that overruns a stream window is at fault', { origin: { 'stream-window': '16k', 'max-stream-window': '16k' } }, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { initialWindowSize: 0 } } });
	await origin.sync();
	origin.headers(up.stream, { ':status': 200 });
	for (let i = 0; i < 4; i++)
		origin.data(up.stream, Buffer.alloc(16384));
	const f = await origin.take((x) => (x.type === 'RST_STREAM' && x.stream === up.stream) || x.type === 'GOAWAY', 'FLOW_CONTROL_ERROR');
	assert.equal(f.code, 'FLOW_CONTROL_ERROR');
	await client.expectReset(1);
});
scenario('an origin that overruns the connection window is at fault', {
	origin: { 'connection-window': '64k', 'stream-window': '1M' },
}, async (s) => {
	const { client, origin, up } = await s.open();
	await origin.sync();
	origin.headers(up.stream, { ':status': 200 });
	/* In one go, so that no credit can come between. */
	const one = Buffer.concat([Buffer.from([0, 0x40, 0, 0, 0, 0, 0, 0, up.stream]), Buffer.alloc(16384)]);
	origin.write(Buffer.concat(Array.from({ length: 40 }, () => one)));
	const f = await Promise.race([
		origin.take((x) => x.type === 'GOAWAY' || x.type === 'RST_STREAM', 'FLOW_CONTROL_ERROR', PATIENCE),
		/* Credit is given on receipt, so it may keep pace lawfully. */
		(async () => { while (client.received < 40 * 16384) await client.sync(); return null; })(),
	]);
	if (f)
		assert.equal(f.code, 'FLOW_CONTROL_ERROR');
});
scenario('a client that overruns an upload window is at fault', { listen: { 'stream-window': '16k' } }, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST' }, options: { endStream: false } });
	await client.ready();
	origin.settings({ initialWindowSize: 0 });
	await origin.sync();
	for (let i = 0; i < 3; i++)
		client.data(1, Buffer.alloc(16384));
	const f = await client.take((x) => x.type === 'RST_STREAM' || x.type === 'GOAWAY', 'FLOW_CONTROL_ERROR');
	assert.equal(f.code, 'FLOW_CONTROL_ERROR');
	if (f.type === 'RST_STREAM')
		await origin.expectReset(up.stream);
});

// covers: R61
scenario('an empty DATA frame with END_STREAM needs no window', async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { initialWindowSize: 0 }, auto: { window: false } } });
	origin.push(up, 2, '/a').headers(2, { ':status': 200 }).headers(up.stream, { ':status': 200 });
	const { promised } = await client.expectPromise('/a');
	await client.expectHead(promised);
	await client.expectHead(1);
	origin.data(2, '', { endStream: true }).data(up.stream, '', { endStream: true });
	const a = await client.take((f) => f.stream === promised && f.endStream, 'the end of the push');
	assert.equal(a.length, 0);
	await client.take((f) => f.stream === 1 && f.endStream, 'the end of the page');
});
scenario('trailers need no window', async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { initialWindowSize: 0 }, auto: { window: false } } });
	origin.headers(up.stream, { ':status': 200 });
	await client.expectHead(1);
	origin.headers(up.stream, { 'x-t': '1' }, { endStream: true });
	assert.equal((await client.expectHead(1)).headers['x-t'], '1');
});

// covers: R62
scenario('what is taken for a client that does not read is bounded', async (s) => {
	const { client, origin, up } = await s.open({ client: { auto: { window: false } } });
	await client.ready();
	await origin.sync();
	const before = s.gate.rss();
	origin.push(up, 2, '/a').headers(2, { ':status': 200 }).headers(up.stream, { ':status': 200 });
	await client.expectPromise('/a');
	const senders = [new Sender(origin, 2), new Sender(origin, up.stream)];
	for (let idle = 0; idle < 5;) {
		const n = senders.reduce((sum, x) => sum + x.burst(), 0);
		idle = n ? 0 : idle + 1;
		await origin.sync();
	}
	assert.ok(senders[0].sent <= 2 << 20, `${senders[0].sent} bytes of the push`);
	assert.ok(senders[1].sent <= 2 << 20, `${senders[1].sent} bytes of the page`);
	if (!process.env.PUSHGATE?.includes('asan'))
		assert.ok(s.gate.rss() - before < 6 << 20, `${s.gate.rss() - before} bytes of memory`);
	/* Credit to the client lets all of it out. */
	client.auto.window = true;
	const total = senders[0].sent + senders[1].sent;
	client.windowUpdate(0, 4 << 20).windowUpdate(1, 4 << 20).windowUpdate(2, 4 << 20);
	while (client.received < total)
		await client.expect('DATA');
});

scenario('an upload goes as fast as the origin takes it, to the byte', async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'PUT' }, options: { endStream: false } });
	await client.ready();
	const sender = new Sender(client, 1);
	const total = 1 << 20;
	while (sender.sent < total) {
		if (!sender.burst(total - sender.sent))
			await client.sync();
	}
	client.data(1, '', { endStream: true });
	let got = 0;
	for (let f; !f?.endStream;) {
		f = await origin.expect('DATA', { stream: up.stream });
		got += f.data.length;
	}
	assert.equal(got, total);
	origin.respond(up.stream, { body: 'thanks' });
	assert.equal(String((await client.response(1)).body), 'thanks');
});
scenario('an upload that the origin does not read is held back at the client', async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'PUT' }, options: { endStream: false } });
	await client.ready();
	origin.auto.window = false;
	const sender = new Sender(client, 1);
	for (let idle = 0; idle < 5;) {
		idle = sender.burst() ? 0 : idle + 1;
		await client.sync();
	}
	assert.ok(sender.sent <= 2 << 20, `${sender.sent} bytes`);
	/* Others are not held back with it. */
	client.request(3, { path: '/other' });
	const other = await origin.expectRequest('/other');
	origin.respond(other.stream, { body: 'x' });
	assert.equal((await client.response(3)).status, 200);
	client.rst(1);
	await origin.expectReset(up.stream, 'CANCEL');
});
scenario('DATA with padding comes through without it', async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 200, 'content-length': 6 }, { padding: 10 })
		.data(up.stream, 'abc', { padding: 255 }).data(up.stream, 'def', { padding: 0 }).data(up.stream, '', { padding: 7, endStream: true });
	assert.equal(String((await client.response(1)).body), 'abcdef');
});
scenario('one client that takes nothing does not stall others on the shared origin connection', { origin: { 'max-connections': 1 } }, async (s) => {
	const { client: slow, origin, up } = await s.open({ client: { settings: { initialWindowSize: 0 } } });
	await origin.sync();
	const stuck = new Sender(origin, up.stream);
	origin.headers(up.stream, { ':status': 200 });
	await slow.expectHead(1);
	const quick = await s.connect();
	quick.request(1, { path: '/quick' });
	const far = await origin.expectRequest('/quick');
	origin.headers(far.stream, { ':status': 200 });
	const flowing = new Sender(origin, far.stream);
	const total = 3 << 20;
	while (flowing.sent < total) {
		stuck.burst();
		if (!flowing.burst(total - flowing.sent))
			await origin.sync();
	}
	origin.data(far.stream, '', { endStream: true });
	assert.equal((await quick.response(1)).body.length, total);
});

// covers: R74
for (const kind of ['response', 'pushed response'])
	for (const windows of ['shut', 'open'])
		scenario(`RST_STREAM NO_ERROR behind the end of a ${kind} that is still being delivered loses nothing, windows ${windows}`, { origin: { 'stream-window': '256k' } }, async (s) => {
			const { client, origin, up } = await s.open({ client: { settings: { initialWindowSize: windows === 'shut' ? 0 : 1000 } } });
			await client.ready();
			await origin.sync();
			let [id, near] = [up.stream, 1];
			if (kind.startsWith('pushed')) {
				origin.push(up, 2, '/a');
				[id, near] = [2, (await client.expectPromise('/a')).promised];
			}
			origin.headers(id, { ':status': 200 });
			await client.expectHead(near);
			for (let i = 0; i < 6; i++)
				origin.data(id, Buffer.alloc(16384, 0x61));
			origin.data(id, '', { endStream: true }).rst(id, 'NO_ERROR');
			await origin.sync();
			client.windowUpdate(near, 10);
			await client.sync();
			client.windowUpdate(near, 1 << 20);
			let got = 0;
			for (let f; !f?.endStream;) {
				f = await client.take((x) => x.stream === near && ['DATA', 'RST_STREAM'].includes(x.type), `the rest after ${got} bytes`);
				assert.equal(f.type, 'DATA', `reset with ${f.code} after ${got} bytes`);
				got += f.length;
			}
			assert.equal(got, 6 * 16384);
		});
