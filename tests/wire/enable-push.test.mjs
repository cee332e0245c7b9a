/* SPDX-License-Identifier: MIT */
/*
 * ENABLE_PUSH is negotiated for each hop on its own (RFC 9113 6.5.2, 8.4): what a client says
 * chooses the origin connection, and never changes a setting of a live one.
 */
import assert from 'node:assert/strict';
import { scenario, section } from '../support/gate.mjs';

const accepts = (origin) => origin.peerSettings.enablePush !== 0;

// covers: R26 R30 P-make-allowed
scenario('a client with ENABLE_PUSH=0 gets none, over an origin connection with ENABLE_PUSH=0', async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { enablePush: 0 } } });
	await origin.sync();
	assert.equal(origin.peerSettings.enablePush, 0);
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
	await client.expectNone('PUSH_PROMISE');
	const first = await client.expect('SETTINGS', { ack: false });
	assert.ok(!first.values.enablePush, 'a server never announces ENABLE_PUSH=1');
});

scenario('by default a client gets pushes, over an origin connection with ENABLE_PUSH=1', async (s) => {
	const { client, origin, up } = await s.open();
	await origin.sync();
	assert.ok(accepts(origin));
	assert.ok([undefined, 0, 1].includes(origin.peerSettings.enablePush));
	origin.push(up, 2, '/a').respond(up.stream, { body: 'page' });
	await client.expectPromise('/a');
});

// covers: R26 R27 P-make-allowed
scenario('push=accept: promises for a client with ENABLE_PUSH=0 are reset at the origin', { origin: { push: 'accept' } }, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { enablePush: 0 } } });
	await origin.sync();
	assert.ok(accepts(origin));
	origin.push(up, 2, '/a').push(up, 4, '/b').respond(up.stream, { body: 'page' });
	await origin.expectReset(2, ['CANCEL', 'REFUSED_STREAM']);
	await origin.expectReset(4, ['CANCEL', 'REFUSED_STREAM']);
	assert.equal(String((await client.response(1)).body), 'page');
	await client.expectNone('PUSH_PROMISE');
	await s.gate.access((l) => l.path === '/a' && JSON.stringify(l).includes('push-disabled'));
});

// covers: R26 P-make-allowed
scenario('ENABLE_PUSH=0 in the middle stops new promises, not those made', { origin: { push: 'accept' } }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').headers(2, { ':status': 200 }).data(2, 'first ');
	const a = await client.expectPromise('/a');
	client.settings({ enablePush: 0 });
	await client.sync();
	origin.push(up, 4, '/b');
	await origin.expectReset(4, ['CANCEL', 'REFUSED_STREAM']);
	origin.data(2, 'second', { endStream: true }).respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(a.promised)).body), 'first second');
	assert.equal((await client.response(1)).status, 200);
	await client.expectNone('PUSH_PROMISE');
});

// covers: R28 P-recv-enable-push-value
scenario('the last of two ENABLE_PUSH values in one frame counts', async (s) => {
	const off = await s.open({ client: { settings: [['enablePush', 1], ['enablePush', 0]] } });
	await off.origin.sync();
	assert.ok(!accepts(off.origin));
	const on = await s.open({ client: { settings: [['enablePush', 0], ['enablePush', 1]] } });
	await on.origin.sync();
	assert.ok(accepts(on.origin));
});
for (const value of [2, 0xffffffff])
	scenario(`ENABLE_PUSH=${value} from a client is a connection error`, async (s) => {
		const client = await s.connect({ settings: { enablePush: value } });
		await client.expectConnectionError('PROTOCOL_ERROR');
	});

// covers: R29
scenario('a client that turns push on again gets pushes again, but not those refused', { origin: { push: 'accept' } }, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { enablePush: 0 } } });
	origin.push(up, 2, '/a');
	await origin.expectReset(2);
	client.settings({ enablePush: 1 });
	await client.sync();
	origin.push(up, 4, '/b').respond(4, { body: 'b' }).respond(up.stream, { body: 'page' });
	const b = await client.expectPromise('/b');
	assert.equal(String((await client.response(b.promised)).body), 'b');
	await client.response(1);
	await client.expectNone('PUSH_PROMISE');
});
scenario('push=auto: turning push on moves later requests to a connection with push, and changes no live one', async (s) => {
	const { client, origin: off, up } = await s.open({ client: { settings: { enablePush: 0 } } });
	off.respond(up.stream, { body: 'page' });
	await client.response(1);
	client.settings({ enablePush: 1 });
	client.request(3, { path: '/again' });
	const on = await s.accept();
	const again = await on.expectRequest('/again');
	await on.sync();
	assert.ok(accepts(on));
	on.push(again, 2, '/a').respond(again.stream, { body: 'page' });
	await client.expectPromise('/a');
	await off.sync();
	assert.equal(off.seen('SETTINGS', { ack: false }).length, 1, 'the live connection keeps its settings');
});

// covers: R31
scenario('two clients on one origin connection each get what they asked for', { origin: { push: 'accept', 'max-connections': 1 } }, async (s) => {
	const { client: eager, origin, up: first } = await s.open({ path: '/eager' });
	const shy = await s.connect({ settings: { enablePush: 0 } });
	shy.request(1, { path: '/shy' });
	const second = await origin.expectRequest('/shy');
	origin.push(second, 2, '/no').push(first, 4, '/yes');
	origin.respond(4, { body: 'pushed' }).respond(second.stream, { body: 'shy' }).respond(first.stream, { body: 'eager' });
	await origin.expectReset(2, ['CANCEL', 'REFUSED_STREAM']);
	const p = await eager.expectPromise('/yes');
	assert.equal(p.stream, 1);
	assert.equal(String((await eager.response(p.promised)).body), 'pushed');
	assert.equal(String((await shy.response(1)).body), 'shy');
	await shy.expectNone('PUSH_PROMISE');
	await eager.expectNone('PUSH_PROMISE');
});
scenario('a promise goes to the client and onto the stream whose request it belongs to', { origin: { 'max-connections': 1 } }, async (s) => {
	const { client: a, origin, up: a1 } = await s.open({ path: '/a1' });
	const b = await s.connect();
	b.request(1, { path: '/b1' });
	const b1 = await origin.expectRequest('/b1');
	a.request(3, { path: '/a3' });
	const a3 = await origin.expectRequest('/a3');
	origin.push(b1, 2, '/for-b1').push(a3, 4, '/for-a3').push(a1, 6, '/for-a1');
	assert.equal((await b.expectPromise('/for-b1')).stream, 1);
	assert.equal((await a.expectPromise('/for-a3')).stream, 3);
	assert.equal((await a.expectPromise('/for-a1')).stream, 1);
	await a.expectNone('PUSH_PROMISE');
	await b.expectNone('PUSH_PROMISE');
});

// covers: R32
scenario('a drop rule lets none through, the others come', {
	extra: section('push scripts', { 'promised-path': '*.js', action: 'drop' }),
}, async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a.css').push(up, 4, '/b.js').push(up, 6, '/c.js?v=1').push(up, 8, '/d.css');
	await origin.expectReset(4, ['CANCEL', 'REFUSED_STREAM']);
	await origin.expectReset(6, ['CANCEL', 'REFUSED_STREAM']);
	await client.expectPromise('/a.css');
	await client.expectPromise('/d.css');
	await client.expectNone('PUSH_PROMISE');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	const line = await s.gate.access((l) => l.path === '/b.js');
	assert.match(JSON.stringify(line), /"scripts"/);
});
scenario('default-action = drop lets none through', { server: { 'default-action': 'drop' } }, async (s) => {
	const { client, origin, up } = await s.open();
	await origin.sync();
	if (accepts(origin)) {
		origin.push(up, 2, '/a');
		await origin.expectReset(2, ['CANCEL', 'REFUSED_STREAM']);
	}
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	await client.expectNone('PUSH_PROMISE');
});

scenario('push=refuse announces ENABLE_PUSH=0 whatever the client says', { origin: { push: 'refuse' } }, async (s) => {
	const { client, origin, up } = await s.open();
	await origin.sync();
	assert.equal(origin.peerSettings.enablePush, 0);
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
});
