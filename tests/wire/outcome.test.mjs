/* SPDX-License-Identifier: MIT */
/*
 * The outcome table: what ends one side of an exchange, and what the other side sees, before and
 * after the final response head (a 1xx does not count), with codes.
 */
import assert from 'node:assert/strict';
import { scenario } from '../support/gate.mjs';

const final = (client, id = 1) => client.take(
	(f) => f.stream === id && (f.type === 'RST_STREAM' || (f.type === 'HEADERS' && !f.headers[':status']?.startsWith('1'))), `an outcome on ${id}`);
async function status(client, expected, id = 1) {
	const f = await final(client, id);
	assert.equal(f.type, 'HEADERS', `reset with ${f.code}`);
	assert.equal(f.headers[':status'], String(expected));
	return f;
}

/* ---- unprocessed: again ---- */
// covers: R72
scenario('REFUSED_STREAM: the request is tried once more', async (s) => {
	const { client, origin, up } = await s.open({ path: '/again' });
	origin.rst(up.stream, 'REFUSED_STREAM');
	const second = await Promise.race([origin.expectRequest('/again'), s.accept().then((o) => o.expectRequest('/again').then((f) => ((f.on = o), f)))]);
	(second.on ?? origin).respond(second.stream, { body: 'second' });
	assert.equal(String((await client.response(1)).body), 'second');
	await s.gate.access((l) => l.path === '/again' && l.retried === true);
});
scenario('REFUSED_STREAM three times: 503', async (s) => {
	const { client, origin, up } = await s.open();
	let refused = 1;
	origin.rst(up.stream, 'REFUSED_STREAM');
	const refuse = async (o) => { for (;; refused++) o.rst((await o.expectRequest('/')).stream, 'REFUSED_STREAM'); };
	refuse(origin).catch(() => {});
	s.accept().then(refuse).catch(() => {});
	await status(client, 503);
	assert.equal(refused, 3);
});
for (const method of ['GET', 'POST'])
	scenario(`above the last id of GOAWAY: ${method} is tried again on a new connection`, async (s) => {
		const { client, origin } = await s.open({ path: '/again', request: { method } });
		origin.goaway(0);
		const next = await s.accept();
		next.respond((await next.expectRequest('/again')).stream, { body: 'second' });
		assert.equal(String((await client.response(1)).body), 'second');
	});
scenario('a POST whose body has begun to leave is not tried again', async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST' }, options: { endStream: false } });
	client.data(1, 'part');
	await origin.expect('DATA', { stream: up.stream });
	origin.rst(up.stream, 'REFUSED_STREAM');
	await status(client, 503);
	await origin.sync();
	assert.equal(origin.seen('HEADERS').length, 0);
	assert.equal(s.server.connections.length, 1);
});
scenario('a POST that may have been processed is never tried again', async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST' } });
	await origin.sync();
	origin.rst(up.stream, 'INTERNAL_ERROR');
	await status(client, 502);
	await origin.sync();
	assert.equal(origin.seen('HEADERS').length, 0);
	assert.equal(s.server.connections.length, 1);
});
scenario('REFUSED_STREAM after an interim response: an interim response does not count', async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 103 }).rst(up.stream, 'REFUSED_STREAM');
	const second = await origin.expectRequest('/');
	origin.respond(second.stream, { body: 'second' });
	assert.equal(String((await client.response(1)).body), 'second');
});
// covers: R76
scenario('no connection: 503 or 502, at once', { origins: { main: { server: 'h2c://127.0.0.1:1' } } }, async (s) => {
	const client = await s.connect();
	client.request(1);
	const f = await final(client);
	assert.match(f.headers[':status'], /^50[234]$/);
});

/* ---- reset or lost ---- */
for (const code of ['CANCEL', 'NO_ERROR', 'INTERNAL_ERROR', 'PROTOCOL_ERROR', 'ENHANCE_YOUR_CALM', 'HTTP_1_1_REQUIRED']) {
	scenario(`origin resets with ${code} before the response: 502`, async (s) => {
		const { client, origin, up } = await s.open();
		origin.headers(up.stream, { ':status': 103 }).rst(up.stream, code);
		await status(client, 502);
	});
	/* Clients take what ends with NO_ERROR for complete. */
	const across = code === 'CANCEL' ? code : 'INTERNAL_ERROR';
	scenario(`origin resets with ${code} in the response: reset with ${across}`, async (s) => {
		const { client, origin, up } = await s.open();
		origin.headers(up.stream, { ':status': 200 }).data(up.stream, 'x');
		await client.expect('DATA', { stream: 1 });
		origin.rst(up.stream, code);
		await client.expectReset(1, across);
	});
}
scenario('origin resets with REFUSED_STREAM in the response: reset with INTERNAL_ERROR, as it was processed', async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 200 });
	await client.expectHead(1);
	origin.rst(up.stream, 'REFUSED_STREAM');
	await client.expectReset(1, 'INTERNAL_ERROR');
});
for (const [code, across] of [['CANCEL', 'CANCEL'], ['REFUSED_STREAM', 'REFUSED_STREAM'], ['NO_ERROR', 'INTERNAL_ERROR'], ['PROTOCOL_ERROR', 'INTERNAL_ERROR']])
	for (const begun of [false, true])
		scenario(`origin resets a push with ${code} ${begun ? 'in' : 'before'} its response: reset with ${across}`, async (s) => {
			const { client, origin, up } = await s.open();
			origin.push(up, 2, '/a');
			const { promised } = await client.expectPromise('/a');
			if (begun) {
				origin.headers(2, { ':status': 200 });
				await client.expectHead(promised);
			}
			origin.rst(2, code);
			await client.expectReset(promised, across);
		});
for (const [length, across] of [[4, null], [5, 'INTERNAL_ERROR']])
	scenario(`origin resets with NO_ERROR after 4 of ${length} announced bytes: ${across ? `reset with ${across}` : 'a normal end'}, also of a push`, async (s) => {
		const { client, origin, up } = await s.open();
		origin.push(up, 2, '/a');
		const { promised } = await client.expectPromise('/a');
		for (const [stream, at] of [[up.stream, 1], [2, promised]]) {
			origin.headers(stream, { ':status': 200, 'content-length': length }).data(stream, 'four').rst(stream, 'NO_ERROR');
			if (across) {
				await client.expect('DATA', { stream: at });
				await client.expectReset(at, across);
			} else {
				assert.equal(String((await client.response(at)).body), 'four');
			}
		}
	});
scenario('origin lost before the response: 502', async (s) => {
	const { client, origin } = await s.open();
	origin.close();
	await status(client, 502);
});
scenario('origin lost in the response: reset with INTERNAL_ERROR', async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 200 });
	await client.expectHead(1);
	origin.close();
	await client.expectReset(1, 'INTERNAL_ERROR');
});
scenario('origin lost while two pushes and a page are under way: each of them is settled', async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a').push(up, 4, '/b').headers(2, { ':status': 200 });
	const a = await client.expectPromise('/a');
	const b = await client.expectPromise('/b');
	await client.expectHead(a.promised);
	origin.close();
	await client.expectReset(a.promised, 'INTERNAL_ERROR');
	await client.expectReset(b.promised, ['INTERNAL_ERROR', 'CANCEL', 'REFUSED_STREAM']);
	await status(client, 502);
});
for (const [what, bytes] of Object.entries({
	'HTTP/1.1': 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n', nothing: '', 'random bytes': '\x16\x03\x01\xff\xff\xff\x00\x01\x02\x03\x04\x05\x06\x07\x08',
}))
	scenario(`an origin that answers with ${what} and closes: 5xx`, { origins: { main: { settings: null } } }, async (s) => {
		const client = await s.connect();
		client.request(1);
		/* A second attempt is lawful: nothing was processed. */
		const serve = async () => { (await s.accept()).raw(Buffer.from(bytes, 'latin1')).end(); };
		serve().then(serve).catch(() => {});
		const f = await final(client);
		assert.match(f.headers?.[':status'] ?? f.code, /^50[234]$/);
		await client.sync();
	});

/* ---- malformed ---- */
scenario('malformed response: 502 and PROTOCOL_ERROR upstream', async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 200, Upper: 'x' });
	await status(client, 502);
	await origin.expectReset(up.stream, 'PROTOCOL_ERROR');
});
scenario('malformed in the middle: PROTOCOL_ERROR both ways', async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 200, 'content-length': 3 });
	await client.expectHead(1);
	origin.data(up.stream, 'four');
	await client.expectReset(1, 'PROTOCOL_ERROR');
	await origin.expectReset(up.stream, 'PROTOCOL_ERROR');
});

/* ---- downstream reset or gone ---- */
// covers: R74 R40
for (const begun of [false, true]) {
	const when = begun ? 'in' : 'before';
	scenario(`client resets ${when} the response: CANCEL at the origin`, async (s) => {
		const { client, origin, up } = await s.open();
		if (begun) {
			origin.headers(up.stream, { ':status': 200 });
			await client.expectHead(1);
		}
		client.rst(1, 'INTERNAL_ERROR');
		await origin.expectReset(up.stream, 'CANCEL');
	});
	scenario(`client gone ${when} the response: CANCEL at the origin`, async (s) => {
		const { client, origin, up } = await s.open();
		if (begun) {
			origin.headers(up.stream, { ':status': 200 });
			await client.expectHead(1);
		}
		client.close();
		await origin.expectReset(up.stream, 'CANCEL');
	});
	scenario(`client gone ${when} a pushed response: CANCEL at the origin`, async (s) => {
		const { client, origin, up } = await s.open();
		origin.push(up, 2, '/a');
		const { promised } = await client.expectPromise('/a');
		if (begun) {
			origin.headers(2, { ':status': 200 });
			await client.expectHead(promised);
		}
		client.close();
		await origin.expectReset(2, 'CANCEL');
	});
}
scenario('client resets while the request waits for a connection: nothing is left', { origins: { main: { settings: { maxConcurrentStreams: 1 } } }, origin: { 'max-connections': 1 } }, async (s) => {
	const { client, origin, up } = await s.open({ path: '/first' });
	await origin.sync();
	client.request(3, { path: '/queued' });
	client.rst(3);
	await client.sync();
	origin.respond(up.stream, { body: 'x' });
	await client.response(1);
	client.request(5, { path: '/third' });
	const third = await origin.expectRequest();
	if (third.headers[':path'] === '/queued')
		await origin.expectReset(third.stream, 'CANCEL');
	else
		assert.equal(third.headers[':path'], '/third');
});

/* ---- response done, request unfinished ---- */
scenario('an early response is relayed, and the upload goes on', async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST' }, options: { endStream: false } });
	origin.respond(up.stream, { body: 'early' });
	assert.equal(String((await client.response(1)).body), 'early');
	client.data(1, 'rest', { endStream: true });
	assert.equal(String((await origin.expect('DATA', { stream: up.stream })).data), 'rest');
});
scenario('an upload that lingers too long after the response is stopped on both sides', { origin: { 'upload-linger': '200ms' } }, async (s) => {
	const { client, origin, up } = await s.open({ request: { method: 'POST' }, options: { endStream: false } });
	origin.respond(up.stream, { body: 'early' });
	await client.response(1);
	await client.expectReset(1, ['NO_ERROR', 'CANCEL']);
	await origin.expectReset(up.stream, ['CANCEL', 'NO_ERROR']);
});

/* ---- drain ---- */
scenario('on SIGTERM requests under way finish, new ones are not taken, then it ends', { server: { 'drain-timeout': '5s' } }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.push(up, 2, '/a');
	const { promised } = await client.expectPromise('/a');
	process.kill(s.gate.pid, 'SIGTERM');
	const first = await client.expect('GOAWAY');
	assert.equal(first.code, 'NO_ERROR');
	origin.respond(2, { body: 'pushed' }).respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(promised)).body), 'pushed');
	assert.equal(String((await client.response(1)).body), 'page');
	await client.expectClosed();
	await s.gate.ended();
});
scenario('what is not over when the drain deadline comes is reset', { server: { 'drain-timeout': '300ms' } }, async (s) => {
	const { client, origin, up } = await s.open();
	origin.headers(up.stream, { ':status': 200 });
	await client.expectHead(1);
	process.kill(s.gate.pid, 'SIGTERM');
	await client.expectClosed();
	await s.gate.ended();
});
