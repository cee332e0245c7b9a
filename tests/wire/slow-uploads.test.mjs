/* SPDX-License-Identifier: MIT */
/*
 * Uploads to an origin in HTTP/1.1, where each request has a connection for itself: small ones are sent when they are
 * whole (request-buffer), others take a share of the connections (slow-share), and no other request waits for them.
 */
import assert from 'node:assert/strict';
import { samples, scenario, section, until } from '../support/gate.mjs';
import { connect1, recordingOrigin, response } from '../support/http1.mjs';

const main = {};
/* The origin records; `heads` are the targets of all requests whose head has come. */
function uploads(name, { origin = {}, route = {}, listen = {}, server = {} }, body) {
	scenario(name, {
		server, listen, origins: { main }, routes: section('route main', { origin: 'main', ...route }),
		async prepare(s) {
			s.heads = [];
			s.origin = await recordingOrigin({
				onHead: (m) => s.heads.push(m.target),
				respond: (m, c) => c.send(response(200, [], { body: `got ${m.body.length}` })),
			});
			s.cleanups.push(() => s.origin.close());
			main.server = `http://127.0.0.1:${s.origin.port}`;
			main.config = origin;
		},
	}, async (s) => {
		s.client = await s.connect();
		await body(s, s.client, s.origin);
	});
}

const got = async (client, id, bytes) => {
	const r = await client.response(id);
	assert.deepEqual([r.status, String(r.body)], [200, `got ${bytes}`]);
};
const begin = (client, id, path, length, part = 'x') =>
	client.request(id, { method: 'POST', path, ...(length === undefined ? {} : { 'content-length': length }) }, { endStream: false }).data(id, part);
/* So many bytes more, in frames that every peer takes. */
function feed(client, id, bytes, endStream = true) {
	for (let left = bytes; left > 0; left -= 16384)
		client.data(id, Buffer.alloc(Math.min(left, 16384)), { endStream: endStream && left <= 16384 });
}
/* The gate has read what the client sent, and the origin has got what it would send. */
const settled = async (s, client, path) => {
	await client.sync();
	const probe = await connect1(s.port);
	probe.request('GET', path, [['Host', 'localhost']]);
	assert.equal((await probe.response()).status, 200);
	probe.close();
};

/* ---- others do not wait ---- */

for (const [what, length] of [['large', 1000000], ['of unknown length', undefined], ['small', 1000]]) {
	// covers: R650
	uploads(`200 slow uploads, ${what}: a GET beside them is answered at once`, { server: { 'status-socket': 'status' } }, async (s, client) => {
		const slow = [await s.connect(), await s.connect()];
		for (const c of slow)
			for (let i = 0; i < 100; i++)
				begin(c, 2 * i + 1, '/slow', length);
		for (const c of slow)
			await c.sync();
		if (length !== 1000)
			await until('the share is taken', () => s.heads.length === 96);
		for (let id = 1; id < 40; id += 2)
			client.request(id, { path: '/honest' });
		for (let id = 1; id < 40; id += 2)
			await got(client, id, 0);
		assert.equal(s.heads.filter((path) => path === '/slow').length, length === 1000 ? 0 : 96);
		const open = samples(s.gate.status())['pushgate_connections_open{side="origin"}'] ?? 0;
		assert.ok(open <= 128, `${open} connections`);
	});
}

// covers: R650
uploads('slow-share: more wait, and are sent in their order when others end', { origin: { 'max-http1-connections': 4, 'slow-share': 50 } }, async (s, client) => {
	for (const [id, path] of [[1, '/a'], [3, '/b'], [5, '/c'], [7, '/d']])
		begin(client, id, path, 100000);
	await until('two are sent', () => s.heads.length === 2);
	await settled(s, client, '/probe');
	assert.deepEqual([...s.heads].sort(), ['/a', '/b', '/probe']);
	feed(client, 3, 99999);
	await got(client, 3, 100000);
	await until('the third is sent', () => s.heads.includes('/c'));
	client.rst(1, 'CANCEL');
	await until('the fourth is sent', () => s.heads.includes('/d'));
	for (const id of [5, 7]) {
		feed(client, id, 99999);
		await got(client, id, 100000);
	}
});

// covers: R650
uploads('one that waits for the share and becomes whole is a request like others', { origin: { 'max-http1-connections': 4, 'slow-share': 25 } }, async (s, client) => {
	begin(client, 1, '/slow', 100000);
	begin(client, 3, '/whole', 100000);
	await settled(s, client, '/probe');
	assert.deepEqual(s.heads, ['/slow', '/probe']);
	feed(client, 3, 99999);
	await got(client, 3, 100000);
	feed(client, 1, 99999);
	await got(client, 1, 100000);
});

// covers: R650
uploads('max-requests: its share is theirs too', { origin: { 'max-requests': 2, 'slow-share': 50 } }, async (s, client) => {
	for (const id of [1, 3, 5])
		begin(client, id, '/slow', 100000);
	client.request(7, { path: '/honest' });
	await got(client, 7, 0);
	assert.deepEqual(s.heads.sort(), ['/honest', '/slow']);
});

// covers: R650
uploads('one that waits too long is answered 504, and one that nobody may wait for 503', { origin: { 'max-http1-connections': 1, 'queue-timeout': '300ms', 'max-queue': 2, 'slow-share': 50 } }, async (s, client) => {
	begin(client, 1, '/slow', 100000);
	await until('it is sent', () => s.heads.length === 1);
	begin(client, 3, '/late', 100000);
	begin(client, 5, '/full', 100000);
	assert.equal((await client.response(5)).status, 503);
	assert.equal((await client.response(3)).status, 504);
});

/* ---- sent when they are whole ---- */

// covers: R650
uploads('a small upload is sent when it is whole, from HTTP/2 and HTTP/1.1', {}, async (s, client, origin) => {
	begin(client, 1, '/two', 65536);
	const one = await connect1(s.port);
	one.send('POST /one HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhe', [{ method: 'POST' }]);
	await settled(s, client, '/probe');
	assert.deepEqual(s.heads, ['/probe']);
	feed(client, 1, 65535);
	await got(client, 1, 65536);
	one.send('llo');
	assert.equal(String((await one.response()).body), 'got 5');
	assert.equal(String((await origin.request('/one')).body), 'hello');
	one.close();
});

for (const version of ['HTTP/1.1', 'HTTP/2']) {
	// covers: R650
	uploads(`request-buffer and Expect: 100-continue over ${version}: 100 comes from pushgate, and the origin gets no expectation`, { route: { 'request-buffer': '64k' } }, async (s, client, origin) => {
		if (version === 'HTTP/2') {
			client.request(1, { method: 'PUT', path: '/put', 'content-length': 4, expect: '100-continue' }, { endStream: false });
			assert.equal((await client.expectHead(1)).headers[':status'], '100');
			client.data(1, 'body', { endStream: true });
			await got(client, 1, 4);
		} else {
			const c = await connect1(s.port);
			c.send('PUT /put HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n', [{ method: 'PUT' }]);
			await c.until(() => c.interim.length === 1, '100');
			assert.deepEqual(s.heads, []);
			c.send('body');
			assert.equal(String((await c.response()).body), 'got 4');
			c.close();
		}
		assert.ok(!(await origin.request('/put')).fields.some(([name]) => name.toLowerCase() === 'expect'));
	});
}

// covers: R650
uploads('without request-buffer an expectation goes to the origin at once', {}, async (s, client) => {
	client.request(1, { method: 'PUT', path: '/put', 'content-length': 4, expect: '100-continue' }, { endStream: false });
	await until('it is sent', () => s.heads.includes('/put'));
	client.data(1, 'body', { endStream: true });
	await got(client, 1, 4);
});

// covers: R650
uploads('request-buffer = off: each is sent as it comes', { route: { 'request-buffer': 'off' } }, async (s, client) => {
	begin(client, 1, '/small', 10);
	await until('it is sent', () => s.heads.includes('/small'));
	client.data(1, 'xxxxxxxxx', { endStream: true });
	await got(client, 1, 10);
});

// covers: R650
uploads('request-buffer: also without content-length, up to its size', { route: { 'request-buffer': '100k' } }, async (s, client) => {
	begin(client, 1, '/unknown');
	begin(client, 3, '/announced', 102400);
	begin(client, 5, '/larger', 102401);
	await until('the larger one is sent', () => s.heads.includes('/larger'));
	await settled(s, client, '/probe');
	assert.deepEqual(s.heads, ['/larger', '/probe']);
	feed(client, 1, 120000, false); /* more than it may be */
	await until('it is sent', () => s.heads.includes('/unknown'));
	assert.ok(!s.heads.includes('/announced'));
	for (const [id, rest, sum] of [[1, 10, 120011], [3, 102399, 102400], [5, 102400, 102401]]) {
		feed(client, id, rest);
		await got(client, id, sum);
	}
});

// covers: R650
uploads('the window of its listener bounds what is gathered', { route: { 'request-buffer': '1M' }, listen: { 'stream-window': '32k' } }, async (s, client) => {
	const c = await connect1(s.port);
	c.request('POST', '/one', [['Host', 'localhost'], ['Transfer-Encoding', 'chunked']], {});
	begin(client, 1, '/two', 40000);
	await until('it is sent', () => s.heads.includes('/two'));
	c.close();
	client.rst(1, 'CANCEL');
});

// covers: R650
uploads('uploads of a route with streaming are sent as they come', { route: { streaming: 'yes', 'request-buffer': '100k' } }, async (s, client) => {
	begin(client, 1, '/stream');
	await until('it is sent', () => s.heads.includes('/stream'));
	client.data(1, 'x', { endStream: true });
	await got(client, 1, 2);
});

// covers: R650
scenario('an origin in HTTP/2 gets each upload as it comes', { route: { 'request-buffer': '100k' } }, async (s) => {
	const client = await s.connect();
	begin(client, 1, '/small', 10);
	const origin = await s.accept();
	const up = await origin.expectRequest('/small');
	await origin.expect('DATA', { stream: up.stream });
	client.data(1, 'xxxxxxxxx', { endStream: true });
	origin.respond(up.stream, { status: 204 });
	assert.equal((await client.response(1)).status, 204);
});

// covers: R650
uploads('body-timeout: a client that does not go on is answered 408, and the origin hears nothing', { listen: { 'body-timeout': '300ms' } }, async (s, client) => {
	begin(client, 1, '/stalled', 2001);
	assert.equal((await client.response(1)).status, 408);
	feed(client, 1, 2000); /* too late */
	await settled(s, client, '/probe');
	assert.deepEqual(s.heads, ['/probe']);
});

// covers: R650
uploads('a client that goes away while its upload is gathered leaves nothing behind', {}, async (s, client) => {
	begin(client, 1, '/gone', 1000);
	client.rst(1, 'CANCEL');
	begin(client, 3, '/lost', 1000);
	await client.sync();
	client.end?.();
	const probe = await connect1(s.port);
	probe.request('GET', '/probe', [['Host', 'localhost']]);
	assert.equal((await probe.response()).status, 200);
	await s.gate.access((l) => l.path === '/gone');
	assert.deepEqual(s.heads, ['/probe']);
	probe.close();
});
