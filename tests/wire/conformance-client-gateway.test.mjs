/* SPDX-License-Identifier: MIT */
/*
 * What an intermediary owes beside the protocol of each hop: Via, Date, Max-Forwards and what is for one hop alone
 * (RFC 9110 6.6.1, 7.6), Proxy-Status (RFC 9209), priorities (RFC 9218), and the TLS client (RFC 9113 9.2).
 */
import assert from 'node:assert/strict';
import { answered, conformance, outcome } from '../support/faulty.mjs';
import { certs, scenario, section } from '../support/gate.mjs';
import { parseList } from '../support/structured.mjs';

const values = (f, name) => f.fields.filter((x) => x.name === name).map((x) => x.value);
const DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT$/;
const isNow = (text) => {
	assert.match(text, DATE);
	assert.ok(Math.abs(Date.parse(text) - Date.now()) < 60e3, text);
};
/* A request with these fields beside the usual ones, and how it came to the origin. */
async function forwarded(r, more, method = 'GET', path = `/x-${r.path.slice(1)}`) {
	r.client.headers(11, [[':method', method], [':scheme', 'http'], [':authority', r.client.authority], [':path', path], ...more], { endStream: true });
	const up = await r.origin.expectRequest(path);
	return { up, done: async (fields = {}) => { r.origin.respond(up.stream, { fields }); return r.client.response(11); } };
}
const row = (covers, name, check) => ({ covers, name, check });

conformance('gateway', [
	/* ---- RFC 9110 7.6 ---- */
	row('R177', '7.6.3. Via goes behind those that came, in requests and responses', async (o, r) => {
		const { up, done } = await forwarded(r, [['via', '1.1 first, 2 second (comment)'], ['via', '1.0 third']]);
		const via = values(up, 'via');
		assert.deepEqual(via.slice(0, 2), ['1.1 first, 2 second (comment)', '1.0 third']);
		assert.match(via[2], /^2 pushgate-[0-9a-f]{8}$/);
		const got = await done({ via: '1.1 behind' });
		assert.deepEqual(values(got.head, 'via'), ['1.1 behind', via[2]]);
	}),
	row('R177', '7.6.1. what names one hop goes no further, te: trailers does', async (o, r) => {
		const { up, done } = await forwarded(r, [['te', 'trailers'], ['http2-settings', 'AAMAAABk'], ['x-end', '1']]);
		assert.equal(up.headers.te, 'trailers');
		for (const name of ['http2-settings', 'connection', 'host'])
			assert.equal(up.headers[name], undefined, name);
		assert.equal(up.headers['x-end'], '1');
		await done();
	}),
	...[['OPTIONS', '5', '4'], ['TRACE', '1', '0'], ['OPTIONS', '4294967296', '4294967294'], ['OPTIONS', '99999999999999999999', '4294967294'], ['OPTIONS', 'x', 'x'], ['GET', '0', '0'], ['POST', '3', '3']]
		.map(([method, came, left]) => row('R178', `7.6.2. Max-Forwards ${came} of ${method} goes on as ${left}`, async (o, r) => {
			const { up, done } = await forwarded(r, [['max-forwards', came]], method);
			assert.deepEqual(values(up, 'max-forwards'), [left]);
			await done();
		})),
	row('R178', '7.6.2. Max-Forwards 0 of OPTIONS and TRACE goes no further', async (o, r) => {
		for (const [id, method, status] of [[11, 'OPTIONS', '204'], [13, 'TRACE', '501']]) {
			r.client.request(id, { path: '/none', method, 'max-forwards': 0 });
			assert.equal((await outcome(r.client, id)).headers[':status'], status);
		}
		await o.sync();
		assert.equal(o.seen('HEADERS').length, 0);
	}),
	row('R179', '6.6.1. a response without Date gets the time at which it came, one with Date keeps it', async (o, r) => {
		const first = await forwarded(r, []);
		const got = await first.done();
		assert.equal(values(got.head, 'date').length, 1);
		isNow(got.headers.date);
		r.client.request(13, { path: '/dated' });
		o.respond((await o.expectRequest('/dated')).stream, { fields: { date: 'Sun, 06 Nov 1994 08:49:37 GMT' } });
		assert.deepEqual(values((await r.client.response(13)).head, 'date'), ['Sun, 06 Nov 1994 08:49:37 GMT']);
		r.client.request(15, { path: '/odd' });
		o.respond((await o.expectRequest('/odd')).stream, { fields: { date: 'yesterday' } });
		assert.deepEqual(values((await r.client.response(15)).head, 'date'), ['yesterday']);
	}),
	row('R179', '6.6.1. so do pushed responses, interim ones do not, and our own answers have one', async (o, r) => {
		r.promise(2, '/pushed').headers(2, { ':status': 103 }).respond(2, { status: 404 });
		const told = await r.client.expectPromise('/pushed');
		const pushed = await r.client.response(told.promised);
		isNow(pushed.headers.date);
		assert.equal(pushed.interim[0].headers.date, undefined);
		o.rst(r.up.stream, 'INTERNAL_ERROR');
		isNow((await answered(r.client, 1, 502)).f.headers.date);
	}),
	row('R180', '9110 5.3, 7.7. fields of requests go on in their order, byte for byte', async (o, r) => {
		const { up, done } = await forwarded(r, [['x-b', '\x80\xff, "q"'], ['x-a', '1'], ['x-b', ''], ['accept', 'a'], ['accept', 'b'], ['cookie', 'a=1; b=2']]);
		assert.deepEqual(values(up, 'x-b'), ['\x80\xff, "q"', '']);
		assert.deepEqual(values(up, 'accept'), ['a', 'b']);
		assert.equal(values(up, 'cookie').join('; '), 'a=1; b=2');
		await done();
	}),

	/* ---- RFC 9218 ---- */
	row('R181', 'RFC 9218 5, 13. the priority field goes through both ways, PRIORITY_UPDATE and old priorities stay on their hop', async (o, r) => {
		r.client.priority(11, { weight: 200 }).frame('PRIORITY_UPDATE', 0, 0, Buffer.from('\0\0\0\x0bu=1', 'latin1'));
		const { up, done } = await forwarded(r, [['priority', 'u=6, i, x=(1 2)']]);
		assert.equal(up.headers.priority, 'u=6, i, x=(1 2)');
		assert.equal((await done({ priority: 'u=2' })).headers.priority, 'u=2');
		await o.sync();
		for (const type of ['PRIORITY', 'PRIORITY_UPDATE'])
			assert.equal(o.seen(type).length, 0, type);
		assert.equal(o.peerSettings.noRfc7540Priorities, 1);
	}),

	/* ---- RFC 9209: what others said ---- */
	row('R182', 'RFC 9209 2. Proxy-Status of others is passed on unchanged, in trailers too', async (o, r) => {
		const theirs = 'ExampleCDN; error=http_response_timeout, "other proxy"; received-status=504';
		o.headers(r.up.stream, [[':status', '504'], ['proxy-status', theirs], ['proxy-status', 'third']]).data(r.up.stream, 'x').headers(r.up.stream, [['proxy-status', 'late; error=http_response_incomplete']], { endStream: true });
		const got = await r.client.response(1);
		assert.deepEqual(values(got.head, 'proxy-status'), [theirs, 'third']);
		assert.equal(got.trailers['proxy-status'], 'late; error=http_response_incomplete');
	}),
	row('R182', 'RFC 9209 2. a response that came whole has no Proxy-Status of ours', async (o, r) => {
		o.respond(r.up.stream, { status: 503 });
		assert.equal((await r.client.response(1)).headers['proxy-status'], undefined);
	}),
], { over: ['h2c'] });

/* ---- RFC 9209 2.3: our own errors, each by its name ---- */
// covers: R183
scenario('RFC 9209 2.3.7. nobody listens: connection_refused', { origins: { main: { server: 'h2c://127.0.0.1:1' } } }, async (s) => {
	const client = await s.connect();
	client.request(1);
	const { params } = await answered(client, 1, 503, 'connection_refused');
	assert.equal(params.details, 'origin-unreachable');
});
scenario('RFC 9209 2.3.8. a lost connection: connection_terminated', async (s) => {
	const { client, origin } = await s.open();
	origin.close();
	await answered(client, 1, 502, 'connection_terminated');
});
scenario('RFC 9209 2.3.12. an origin too slow to answer: http_response_timeout', { origin: { 'response-timeout': '300ms' } }, async (s) => {
	const { client } = await s.open();
	await answered(client, 1, 504, 'http_response_timeout');
});
scenario('RFC 9209 2.3.11. an origin that takes no upload: connection_write_timeout', {
	origin: { 'write-timeout': '300ms' }, origins: { main: { settings: { initialWindowSize: 0 } } },
}, async (s) => {
	const { client } = await s.open({ request: { method: 'POST' }, options: { endStream: false } });
	client.data(1, 'stuck');
	await answered(client, 1, 504, 'connection_write_timeout');
});
scenario('RFC 9209 2.3.12. a full queue: connection_limit_reached', {
	origin: { 'max-connections': 1, 'max-queue': 1 }, origins: { main: { settings: { maxConcurrentStreams: 1 } } },
}, async (s) => {
	const { client } = await s.open();
	client.request(3).request(5);
	await answered(client, 5, 503, 'connection_limit_reached');
});
scenario('RFC 9209 2.3.16. a request of ours to refuse: http_request_error with its status-code', { listen: { 'max-request-body': 10 } }, async (s) => {
	const client = await s.connect();
	client.request(1, { method: 'POST', 'content-length': 11 }, { endStream: false });
	const { params } = await answered(client, 1, 413, 'http_request_error');
	assert.equal(params['status-code'], 413);
});
scenario('RFC 9209 2.3.2, 2.3.31. no route, and a loop', { routes: section('route main', { host: 'a.test', path: '/here', origin: 'main' }) }, async (s) => {
	const client = await s.connect({ authority: 'a.test' });
	client.request(1, { path: '/elsewhere' });
	await answered(client, 1, 404, 'destination_not_found');
	client.request(3, { path: '/here' });
	const origin = await s.accept();
	const up = await origin.expectRequest('/here');
	client.request(5, { path: '/here', via: `1.1 x, ${up.headers.via}` });
	await answered(client, 5, 508, 'proxy_loop_detected');
	origin.respond(up.stream, { status: 204 });
	await client.response(3);
});
scenario('RFC 9209 2. a name of ours that is no token is quoted, as are details', { server: { pseudonym: '10.0.0.1' } }, async (s) => {
	const { client, origin } = await s.open();
	origin.data(1, 'x');
	const f = await outcome(client, 1);
	assert.match(f.headers['proxy-status'], /^"10\.0\.0\.1"; error=/);
	const [{ value, params }] = parseList(f.headers['proxy-status']);
	assert.equal(value, '10.0.0.1');
	assert.equal(params.error, 'http_protocol_error');
	assert.equal(params.details, 'data-before-head');
});

/* ---- RFC 9113 9.2: TLS toward origins ---- */
// covers: R184
scenario('9.2. SNI names the origin, ALPN offers h2 alone, TLS is 1.2 or newer', { originTls: true }, async (s) => {
	const { client, origin, up } = await s.open();
	assert.equal(origin.socket.servername, 'localhost');
	assert.equal(origin.socket.alpnProtocol, 'h2');
	assert.match(origin.socket.getProtocol(), /^TLSv1\.[23]$/);
	origin.respond(up.stream, { status: 204 });
	await client.response(1);
});
for (const [what, error, options, config] of [
	['that speaks TLS 1.1 at most', 'tls_(alert_received|protocol_error)', { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' }],
	['without an AEAD cipher', 'tls_(alert_received|protocol_error)', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-SHA' }],
	['without ephemeral keys', 'tls_(alert_received|protocol_error)', { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' }],
	/* A callback, for with a list a Node.js before 20 goes on without a protocol. */
	['that agrees on no protocol', 'tls_alert_received', { ALPNProtocols: undefined, ALPNCallback: () => undefined }],
	['without ALPN', 'tls_protocol_error', { ALPNProtocols: undefined }],
	['whose certificate is of another name', 'tls_certificate_error', {}, { 'tls-name': 'elsewhere.test' }],
])
	scenario(`9.2. an origin ${what}: 503, ${error}`, {
		originTls: true, origins: { main: { tls: { ...certs().server, ...options }, config } },
	}, async (s) => {
		const client = await s.connect();
		client.request(1);
		const { params } = await answered(client, 1, 503);
		assert.match(params.error, new RegExp(`^${error}$`));
		assert.ok(params.details);
		await client.sync();
	});
