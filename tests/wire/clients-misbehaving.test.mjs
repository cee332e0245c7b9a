/* SPDX-License-Identifier: MIT */
/*
 * Clients that break the rules while pushes are under way (RFC 9113 5.1, 6.9): what it costs them,
 * and only them. Frame by frame and state by state: conformance-server-*.test.mjs.
 */
import assert from 'node:assert/strict';
import { scenario } from '../support/gate.mjs';

/* A promise to the client is open when `send` commits the fault. */
function fault(name, code, send, options = {}) {
	scenario(name, options, async (s) => {
		const { client, origin, up } = await s.open();
		origin.push(up, 2, '/a');
		const { promised } = await client.expectPromise('/a');
		await send(client, promised, origin, up);
		await client.expectConnectionError(code);
		/* What it had asked for is cancelled at the origin, which is not blamed. */
		await origin.expectReset(up.stream);
		await origin.expectReset(2);
		await origin.sync();
		assert.equal(origin.seen('GOAWAY').length, 0);
		const other = await s.connect();
		other.request(1, { path: '/other' });
		const next = await origin.expectRequest('/other');
		origin.respond(next.stream, { body: 'fine' });
		assert.equal(String((await other.response(1)).body), 'fine');
	});
}
const get = (client) => ({ ':method': 'GET', ':scheme': 'http', ':authority': client.authority, ':path': '/x' });

// covers: R37 R40 P-recv-from-client
fault('PUSH_PROMISE from a client is a connection error', 'PROTOCOL_ERROR', (client) => client.pushPromise(1, 4, get(client)));

// covers: R38
fault('HEADERS on a promised stream is a connection error', ['PROTOCOL_ERROR', 'STREAM_CLOSED'],
	(client, promised) => client.headers(promised, get(client), { endStream: true }));
fault('DATA on a promised stream is a connection error', ['PROTOCOL_ERROR', 'STREAM_CLOSED'],
	(client, promised) => client.data(promised, 'x'));
for (const [what, send] of Object.entries({
	HEADERS: (c, id) => c.headers(id, get(c), { endStream: true }),
	DATA: (c, id) => c.data(id, 'x'),
	RST_STREAM: (c, id) => c.rst(id),
	WINDOW_UPDATE: (c, id) => c.windowUpdate(id, 1),
})) {
	fault(`${what} on an idle even stream is a connection error`, 'PROTOCOL_ERROR', (client) => send(client, 100));
	if (what !== 'HEADERS')
		fault(`${what} on an idle odd stream is a connection error`, 'PROTOCOL_ERROR', (client) => send(client, 99));
}
// covers: R38
scenario('RST_STREAM, PRIORITY and WINDOW_UPDATE on a promised stream are fine', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').push(up, 4, '/b');
	const a = await client.expectPromise('/a');
	const b = await client.expectPromise('/b');
	client.priority(a.promised).windowUpdate(a.promised, 1000).rst(b.promised, 'REFUSED_STREAM');
	await origin.expectReset(4, 'REFUSED_STREAM');
	origin.respond(2, { body: 'a' }).respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(a.promised)).body), 'a');
	assert.equal((await client.response(1)).status, 200);
});
scenario('frames on a stream closed a while ago are ignored or refused, never more', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').respond(2, { body: 'a' }).respond(up.stream, { body: 'page' });
	const a = await client.expectPromise('/a');
	await client.response(a.promised);
	await client.response(1);
	client.windowUpdate(1, 1).windowUpdate(a.promised, 1).rst(1).rst(a.promised).priority(1);
	await client.sync();
	assert.equal(client.seen('GOAWAY').length, 0);
});

// covers: R39
scenario('a window overflow on a pushed stream resets that stream', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').headers(2, { ':status': 200 });
	const { promised } = await client.expectPromise('/a');
	await client.expectHead(promised);
	client.windowUpdate(promised, 0x7fffffff);
	await client.expectReset(promised, 'FLOW_CONTROL_ERROR');
	await origin.expectReset(2);
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
});
scenario('an increment of 0 on a pushed stream resets that stream', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').headers(2, { ':status': 200 });
	const { promised } = await client.expectPromise('/a');
	client.windowUpdate(promised, 0);
	await client.expectReset(promised, 'PROTOCOL_ERROR');
	await origin.expectReset(2);
	origin.respond(up.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
});
fault('INITIAL_WINDOW_SIZE that makes a window overflow is a connection error', 'FLOW_CONTROL_ERROR', (client, promised, origin) => {
	origin.headers(2, { ':status': 200 });
	client.windowUpdate(promised, 0x7fffffff - 65535).settings({ initialWindowSize: 65536 });
});

// covers: R40
for (const [how, end] of Object.entries({
	'closes its connection': (client) => client.close(),
	'says GOAWAY with an error': (client) => client.goaway(0, 'INTERNAL_ERROR').end(),
}))
	scenario(`when a client ${how}, its requests and promises are cancelled at the origin`, async (s) => {
		const { client, origin, up } = await s.open();
		origin.push(up, 2, '/reserved').push(up, 4, '/begun').headers(4, { ':status': 200 }).headers(up.stream, { ':status': 200 });
		await client.expectHead(1);
		await client.expectPromise('/begun');
		end(client);
		await origin.expectReset(up.stream, 'CANCEL');
		/* A last id below a push says that the client did nothing with it. */
		for (const id of [2, 4])
			await origin.expectReset(id, ['CANCEL', 'REFUSED_STREAM']);
		await origin.sync();
		assert.equal(origin.seen('GOAWAY').length, 0);
	});
