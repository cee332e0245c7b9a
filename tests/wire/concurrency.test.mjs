/* SPDX-License-Identifier: MIT */
/* MAX_CONCURRENT_STREAMS, hop by hop (RFC 9113 5.1.2, 8.4). The peers check every head against it. */
import assert from 'node:assert/strict';
import { scenario } from '../support/gate.mjs';

// covers: R33 R34 P-make-starts
scenario('promises above the client\'s limit wait, then flow one by one', async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { maxConcurrentStreams: 2 } } });
	await client.ready();
	for (let i = 1; i <= 6; i++)
		origin.push(up, 2 * i, `/p${i}`);
	for (let i = 1; i <= 6; i++)
		origin.respond(2 * i, { body: `pushed ${i}` });
	const promised = [];
	for (let i = 1; i <= 6; i++)
		promised.push((await client.expectPromise(`/p${i}`)).promised);
	for (let i = 1; i <= 6; i++)
		assert.equal(String((await client.response(promised[i - 1])).body), `pushed ${i}`);
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
});

scenario('raising the limit lets waiting pushes flow at once', async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { maxConcurrentStreams: 1 } } });
	await client.ready();
	origin.push(up, 2, '/a').push(up, 4, '/b').headers(2, { ':status': 200 }).headers(4, { ':status': 200 });
	const a = await client.expectPromise('/a');
	const b = await client.expectPromise('/b');
	await client.expectHead(a.promised);
	await client.expectNone('HEADERS', { stream: b.promised }, () => origin.sync());
	client.settings({ maxConcurrentStreams: 2 });
	await client.expectHead(b.promised);
});

scenario('resetting an open push makes room for the next', async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { maxConcurrentStreams: 1 } } });
	await client.ready();
	origin.push(up, 2, '/a').push(up, 4, '/b').headers(2, { ':status': 200 }).respond(4, { body: 'b' });
	const a = await client.expectPromise('/a');
	const b = await client.expectPromise('/b');
	await client.expectHead(a.promised);
	client.rst(a.promised, 'CANCEL');
	assert.equal(String((await client.response(b.promised)).body), 'b');
	await origin.expectReset(2, 'CANCEL');
});

scenario('lowering the limit leaves open pushes and delays others', async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { maxConcurrentStreams: 2 } } });
	await client.ready();
	origin.push(up, 2, '/a').push(up, 4, '/b').push(up, 6, '/c');
	origin.headers(2, { ':status': 200 }).headers(4, { ':status': 200 });
	const ids = [];
	for (const path of ['/a', '/b', '/c'])
		ids.push((await client.expectPromise(path)).promised);
	await client.expectHead(ids[0]);
	await client.expectHead(ids[1]);
	client.settings({ maxConcurrentStreams: 1 });
	await client.sync();
	origin.respond(6, { body: 'c' }).data(2, 'a', { endStream: true });
	await client.expect('DATA', { stream: ids[0], endStream: true });
	await client.expectNone('HEADERS', { stream: ids[2] }, () => origin.sync());
	origin.data(4, 'b', { endStream: true });
	await client.expect('DATA', { stream: ids[1], endStream: true });
	assert.equal(String((await client.response(ids[2])).body), 'c');
});

// covers: R33 P-make-allowed
scenario('at a limit of 0 nothing is promised', { origin: { push: 'accept' } }, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { maxConcurrentStreams: 0 } } });
	origin.push(up, 2, '/a').respond(up.stream, { body: 'page' });
	await origin.expectReset(2, ['CANCEL', 'REFUSED_STREAM']);
	assert.equal(String((await client.response(1)).body), 'page');
	await client.expectNone('PUSH_PROMISE');
	await s.gate.access((l) => l.path === '/a' && JSON.stringify(l).includes('no-streams'));
});
scenario('at a limit of 0 in the middle promises made wait, and raising it lets them flow', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a');
	const a = await client.expectPromise('/a');
	client.settings({ maxConcurrentStreams: 0 });
	await client.sync();
	origin.respond(2, { body: 'a' });
	await client.expectNone('HEADERS', { stream: a.promised }, () => origin.sync());
	client.settings({ maxConcurrentStreams: 10 });
	assert.equal(String((await client.response(a.promised)).body), 'a');
});

// covers: R34 P-make-starts
scenario('a promise that may not begin in time is reset on both sides', { server: { 'push-start-timeout': '200ms' } }, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { maxConcurrentStreams: 1 } } });
	await client.ready();
	origin.push(up, 2, '/a').push(up, 4, '/b').headers(2, { ':status': 200 }).headers(4, { ':status': 200 });
	const a = await client.expectPromise('/a');
	const b = await client.expectPromise('/b');
	await client.expectHead(a.promised);
	await client.expectReset(b.promised);
	await origin.expectReset(4);
	await s.gate.access((l) => l.path === '/b' && JSON.stringify(l).includes('start-timeout'));
	origin.data(2, 'x', { endStream: true }).respond(up.stream, { body: 'page' });
	await client.response(1);
});
scenario('a promise that the origin never answers is reset on both sides', { server: { 'push-start-timeout': '200ms' } }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').respond(up.stream, { body: 'page' });
	const a = await client.expectPromise('/a');
	await client.response(1);
	await client.expectReset(a.promised);
	await origin.expectReset(2);
});

// covers: R35
scenario('the client\'s limit does not bound its own requests', async (s) => {
	const client = await s.connect({ settings: { maxConcurrentStreams: 1 } });
	for (let i = 0; i < 10; i++)
		client.request(1 + 2 * i, { path: `/${i}` });
	const origin = await s.accept();
	for (let i = 0; i < 10; i++)
		origin.respond((await origin.expectRequest(`/${i}`)).stream, { body: 'x' });
	for (let i = 0; i < 10; i++)
		assert.equal((await client.response(1 + 2 * i)).status, 200);
});
scenario('the origin\'s limit bounds our requests; the others wait', {
	origins: { main: { settings: { maxConcurrentStreams: 2 } } }, origin: { 'max-connections': 1 },
}, async (s) => {
	const client = await s.connect();
	for (let i = 0; i < 6; i++)
		client.request(1 + 2 * i, { path: `/${i}` });
	const origin = await s.accept();
	for (let i = 0; i < 6; i++) {
		const up = await origin.expectRequest();
		await origin.sync();
		assert.ok(origin.seen('HEADERS').length <= 1, 'never more than two at a time');
		origin.respond(up.stream, { body: 'x' });
	}
	for (let i = 0; i < 6; i++)
		assert.equal((await client.response(1 + 2 * i)).status, 200);
});
scenario('requests queued before the origin\'s SETTINGS came keep to its limit', {
	origins: { main: { settings: null, auto: { settings: false } } }, origin: { 'max-connections': 1 },
}, async (s) => {
	const client = await s.connect();
	for (let i = 0; i < 20; i++)
		client.request(1 + 2 * i, { path: `/${i}` });
	const origin = await s.accept();
	origin.settings({ maxConcurrentStreams: 1 }).settingsAck();
	await client.sync();
	await origin.expect('SETTINGS', { ack: true });
	let streams = origin.seen('HEADERS').length;
	/* Those that were under way before our SETTINGS were read are lawful; none may follow before they end. */
	await origin.sync();
	assert.equal(origin.seen('HEADERS').length, streams);
	for (let done = 0; done < 20; done++) {
		const up = await origin.expectRequest();
		streams--;
		origin.respond(up.stream, { body: 'x' });
	}
	for (let i = 0; i < 20; i++)
		assert.equal((await client.response(1 + 2 * i)).status, 200);
});

// covers: R36 P-recv-pushed-limit
scenario('pushes above our own limit are refused stream by stream', { origin: { 'max-concurrent-pushes': 2 } }, async (s) => {
	const { client, origin, up } = await s.open();
	await origin.sync();
	assert.equal(origin.peerSettings.maxConcurrentStreams, 2);
	for (let i = 1; i <= 3; i++)
		origin.push(up, 2 * i, `/p${i}`).headers(2 * i, { ':status': 200 });
	await origin.expectReset(6, 'REFUSED_STREAM');
	origin.data(2, 'one', { endStream: true }).data(4, 'two', { endStream: true }).respond(up.stream, { body: 'page' });
	const p = await client.expectPromise('/p1');
	assert.equal(String((await client.response(p.promised)).body), 'one');
	assert.equal((await client.response(1)).status, 200);
});
scenario('we announce 1000 pushes at a time to origins by default', async (s) => {
	const { origin } = await s.open();
	await origin.sync();
	assert.equal(origin.peerSettings.maxConcurrentStreams, 1000);
});

// covers: R36 P-recv-too-many
for (const [what, server, option] of [
	['per parent', { 'max-pushes-per-parent': 3 }, 'parent-cap'],
	['per connection', { 'max-pushes-per-connection': 3 }, 'connection-cap'],
])
	scenario(`promises above the cap ${what} are refused, the others come`, { server }, async (s) => {
		const { client, origin, up } = await s.open();
		for (let i = 1; i <= 5; i++)
			origin.push(up, 2 * i, `/p${i}`);
		await origin.expectReset(8, 'REFUSED_STREAM');
		await origin.expectReset(10, 'REFUSED_STREAM');
		for (let i = 1; i <= 3; i++)
			origin.respond(2 * i, { body: 'x' });
		for (let i = 1; i <= 3; i++)
			await client.response((await client.expectPromise(`/p${i}`)).promised);
		await s.gate.access((l) => l.path === '/p4' && JSON.stringify(l).includes(option));
		client.request(3, { path: '/next' });
		const next = await origin.expectRequest('/next');
		origin.push(next, 12, '/p6');
		await client.expectPromise('/p6');
	});
