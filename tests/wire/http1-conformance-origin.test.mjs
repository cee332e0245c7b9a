/* SPDX-License-Identifier: MIT */
/*
 * What an origin that speaks HTTP/1.1 gets, from clients of both versions, and when its connection is used again (RFC 9112
 * 3, 6, 9; RFC 9113 8.2.3, 8.3.1; RFC 9110 7, 9.2.2).
 * The first word of a row is what it covers: a line of docs/REQUIREMENTS.md.
 */
import assert from 'node:assert/strict';
import tls from 'node:tls';
import { certs, freePort, section, until } from '../support/gate.mjs';
import { Connection1 } from '../support/http1.mjs';
import { responses, whole } from '../support/http1_rows.mjs';

const names = (request) => request.message.fields.map(([n]) => n.toLowerCase());
const values = (request, name) => request.fields.filter(([n]) => n === name).map(([, v]) => v);
const ok = (r, status = 200) => assert.deepEqual([r.whole, r.status], [true, status], JSON.stringify(r.headers));
/* A request by a client of the row's version. */
const gets = (covers, name, options, holds, more = {}) => whole(covers, name, async (row) => {
	const r = await row.ask(more.version ?? row.kind, { ...options, path: options.path?.(row) ?? row.path });
	ok(r);
	await holds({ request: await row.site.request(options.path?.(row) ?? row.path), row, response: r });
}, more);
/* How the n-th request of a row is answered: the connection is at hand. */
const drops = (row, path, times, how = (c) => c.abort()) => {
	let n = 0;
	row.site.onHead(path, (m, c) => { if (n++ < times) how(c, m); });
	return () => n;
};
/* The row's next request has a connection that was used before. */
const warm = async (row) => {
	await row.ask(row.kind, { path: `${row.path}/warm` });
	return (await row.site.request(`${row.path}/warm`)).connection;
};

responses('an origin', [
	/* ---- 3.2: the request line and Host ---- */
	gets('R350 R351', '3.2. a request', { fields: [['x-a', 'b']] }, ({ request, row }) => {
		assert.deepEqual([request.version, request.method, request.target, request.host], ['HTTP/1.1', 'GET', row.path, row.host]);
		assert.equal(names(request)[0], 'host');
		assert.equal(names(request).filter((n) => n === 'host').length, 1);
		assert.equal(request.framing, 'none');
	}),
	gets('R350', '2.3. from HTTP/1.0', {}, ({ request }) => assert.equal(request.version, 'HTTP/1.1'), { version: '1.0', only: 'h1' }),
	gets('R350', '3.2.1. a query alone, and dot segments', { path: (row) => `/a/../${row.path}//?a=/../%2e` }, () => {}),
	whole('R350', '3.2.4. OPTIONS * from HTTP/2', async (row) => {
		const before = row.site.came('*').length;
		const r = await row.ask('h2', { method: 'OPTIONS', path: '*' });
		ok(r);
		assert.deepEqual(row.site.h1.requests.filter((m) => m.target === '*').slice(before).map((m) => [m.method, m.headers.host]), [['OPTIONS', row.host]]);
	}, { only: 'h2' }),
	whole('R351', 'RFC 9113 8.3.1. HTTP/2 with host instead of :authority', async (row) => {
		const c = await row.site.connect2();
		c.headers(1, [[':method', 'GET'], [':scheme', 'http'], [':path', row.path], ['x-a', 'b'], ['host', row.host]], { endStream: true });
		assert.equal((await c.response(1)).status, 200);
		const request = await row.site.request(row.path);
		assert.deepEqual(values(request, 'host'), [row.host]);
		assert.equal(names(request)[0], 'host');
	}, { only: 'h2' }),

	/* ---- 6: framing ---- */
	gets('R352', '6.2. a length that is known', { method: 'POST', body: 'hello', fields: [['content-length', '5']] }, ({ request }) => {
		assert.deepEqual([request.framing, request.body, values(request, 'content-length')], ['length', 'hello', ['5']]);
	}),
	gets('R352', '9110 8.6. a length of 0', { method: 'POST', fields: [['content-length', '0']] }, ({ request }) => {
		assert.deepEqual([request.body, values(request, 'content-length'), values(request, 'transfer-encoding')], ['', ['0'], []]);
	}),
	gets('R352', '6.1. a length that is not known', { method: 'POST', body: 'hello' }, ({ request }) => {
		assert.deepEqual([request.framing, request.body, values(request, 'transfer-encoding'), values(request, 'content-length')], ['chunked', 'hello', ['chunked'], []]);
	}, { only: 'h2' }),
	whole('R352', '6.1. chunks stay chunks, applied once', async (row) => {
		const c = await row.connect1();
		c.request('PUT', row.path, [['host', row.host]], { chunks: ['hello', ', world'] });
		assert.equal((await c.response()).status, 200);
		const request = await row.site.request(row.path);
		assert.deepEqual([request.framing, request.body, values(request, 'transfer-encoding')], ['chunked', 'hello, world', ['chunked']]);
	}, { only: 'h1' }),
	...['GET', 'HEAD', 'DELETE', 'OPTIONS', 'PROPFIND'].map((method) => gets('R352', `6.3. ${method} without a body`, { method }, ({ request }) => assert.equal(request.framing, 'none'))),
	whole('R352', '6.3. a request of HTTP/2 whose body is empty', async (row) => {
		const c = await row.site.connect2();
		c.headers(1, [[':method', 'POST'], [':scheme', 'http'], [':authority', row.host], [':path', row.path]]).data(1, '', { endStream: true });
		assert.equal((await c.response(1)).status, 200);
		assert.equal((await row.site.request(row.path)).body, '');
	}, { only: 'h2' }),
	whole('R353', '6.1. a body of unknown length to an origin of HTTP/1.0', async (row) => {
		row.site.answer(row.path, { bytes: 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx' });
		ok(await row.ask(row.kind));
		const path = `${row.path}/upload`;
		if (row.kind === 'h2') {
			const r = await row.ask('h2', { method: 'POST', body: 'hello', path });
			assert.equal(r.status, 411);
		} else {
			const c = await row.connect1();
			c.request('POST', path, [['host', row.host]], { chunks: ['hello'] });
			assert.equal((await c.response()).status, 411);
		}
		assert.deepEqual(row.site.came(path), []);
		/* It says again what it speaks: the rows behind this one rely on it. */
		await until('an origin of HTTP/1.1', async () => (await row.ask(row.kind, { path: `${row.path}/again`, method: 'POST', body: 'x', fields: [['content-length', '1']] })).status === 200);
	}),
	whole('R335 R353', '9110 10.1.1. Expect toward an origin of HTTP/1.0: the 100 is ours', async (row) => {
		row.site.answer(row.path, { bytes: 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx' });
		ok(await row.ask(row.kind));
		const path = `${row.path}/upload`;
		const c = await row.connect1();
		c.send(`POST ${path} HTTP/1.1\r\nHost: ${row.host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`, [{ method: 'POST' }]);
		await c.until(() => c.interim.length > 0, '100');
		c.send('hello');
		assert.equal((await c.response()).status, 200);
		const request = await row.site.request(path);
		assert.deepEqual([request.body, request.headers.expect], ['hello', undefined]);
	}, { only: 'h1' }),

	/* ---- from HTTP/2 ---- */
	gets('R354', 'RFC 9113 8.2.3. cookies', { fields: [['cookie', 'a=1'], ['x-a', 'b'], ['cookie', 'b=2; c=3'], ['cookie', 'd=4']] }, ({ request }) => {
		assert.deepEqual(values(request, 'cookie'), ['a=1; b=2; c=3; d=4']);
	}, { only: 'h2' }),
	whole('R355', 'RFC 9113 8.2.1, 10.3. every byte in every part of a request', async (row) => {
		let c, id;
		const good = (n) => `${row.path}/${n}`;
		const sent = [];
		for (let byte = 0; byte < 256; byte++) {
			const b = String.fromCharCode(byte);
			/* A connection with many faults is ended. */
			if (byte % 16 === 0)
				[c, id] = [await row.site.connect2(), -1];
			const path = good(`${byte}-`);
			for (const [what, fields] of Object.entries({
				method: [[':method', `GE${b}T`], [':scheme', 'http'], [':authority', row.host], [':path', `${path}method`]],
				path: [[':method', 'GET'], [':scheme', 'http'], [':authority', row.host], [':path', `${path}path${b}x`]],
				authority: [[':method', 'GET'], [':scheme', 'http'], [':authority', `${row.host}${b}`], [':path', `${path}authority`]],
				name: [[':method', 'GET'], [':scheme', 'http'], [':authority', row.host], [':path', `${path}name`], [`x${b}y`, 'v']],
				value: [[':method', 'GET'], [':scheme', 'http'], [':authority', row.host], [':path', `${path}value`], ['x-y', `v${b}GET /hidden HTTP/1.1`]],
				cookie: [[':method', 'GET'], [':scheme', 'http'], [':authority', row.host], [':path', `${path}cookie`], ['cookie', `a${b}b`]],
			})) {
				id += 2;
				c.headers(id, fields, { endStream: true });
				const one = { what, byte };
				sent.push(one);
				const f = await c.take((x) => x.stream === id && ((x.type === 'HEADERS') || x.type === 'RST_STREAM'), `${what} with ${byte}`);
				if (f.type === 'HEADERS' && f.headers[':status'] === '200') {
					if (!f.endStream)
						await c.take((x) => x.stream === id && x.type === 'DATA' && x.endStream, 'its end');
					one.isServed = true;
				}
			}
		}
		const served = sent.filter((x) => x.isServed).length;
		assert.equal(row.site.came(row.path).length, served, 'one request in, one out');
		assert.deepEqual(row.site.came('/hidden'), []);
		for (const { what, byte } of sent.filter((x) => x.isServed))
			assert.ok(byte >= 0x20 || (byte === 9 && ['value', 'cookie'].includes(what)), `${what} with ${byte} was served`);
		assert.deepEqual(row.site.h1.errors, []);
	}, { only: 'h2' }),
	gets('R358', 'RFC 9110 5.1, 5.3. fields', { fields: [['x-unknown', '1'], ['x-list', 'a'], ['accept', '*/*'], ['x-list', ''], ['x-list', 'b, c'], ['x-high', '\x80\xff']] }, ({ request }) => {
		assert.deepEqual(request.fields.filter(([n]) => /^x-(?!forwarded-|real-ip)|^accept$/.test(n)), [['x-unknown', '1'], ['x-list', 'a'], ['accept', '*/*'], ['x-list', ''], ['x-list', 'b, c'], ['x-high', '\x80\xff']]);
	}),
	whole('R358', 'RFC 9113 8.2. names in upper case reach HTTP/2 in lower case', async (row) => {
		row.site.answer(row.path, { bytes: 'HTTP/1.1 200 OK\r\nX-Upper-CASE: Value\r\nCONTENT-LENGTH: 0\r\n\r\n' });
		const r = await row.ask('h2');
		assert.equal(r.headers['x-upper-case'], 'Value');
		assert.ok(r.fields.every(([n]) => n === n.toLowerCase()));
	}, { only: 'h2' }),

	/* ---- 9: the connection ---- */
	whole('R356', '9.3.2. one request at a time on a connection', async (row) => {
		const open = new Map();
		let most = 0;
		const all = [...Array(12).keys()].map((i) => `${row.path}/${i}`);
		for (const path of all) {
			row.site.onHead(path, (m, c) => { open.set(c, (open.get(c) ?? 0) + 1); most = Math.max(most, open.get(c)); });
			row.site.answer(path, (request, final) => { setTimeout(() => { open.set(request.connection, open.get(request.connection) - 1); final({ body: 'x' }); }, 20); });
		}
		const got = await Promise.all(all.map((path) => row.ask(row.kind, { path })));
		got.forEach((r) => ok(r));
		assert.equal(most, 1);
	}),
	...[['GET', undefined], ['HEAD', undefined], ['OPTIONS', undefined], ['PUT', undefined], ['DELETE', undefined]].map(([method]) =>
		whole('R357', `9.3.1. ${method} that a reused connection lost is sent again, once`, async (row) => {
			await warm(row);
			const count = drops(row, row.path, 1);
			ok(await row.ask(row.kind, { method }));
			assert.equal(count(), 2);
		})),
	whole('R357', '9.3.1. never twice', async (row) => {
		await warm(row);
		const count = drops(row, row.path, 5);
		const r = await row.ask(row.kind);
		assert.ok([502, 503].includes(r.status), String(r.status));
		assert.equal(count(), 2);
	}),
	...['POST', 'PATCH', 'BREW'].map((method) => whole('R357', `9.3.1. ${method} never`, async (row) => {
		await warm(row);
		const count = drops(row, row.path, 5);
		const r = await row.ask(row.kind, { method, body: 'x', fields: [['content-length', '1']] });
		assert.ok([502, 503].includes(r.status), String(r.status));
		assert.equal(count(), 1);
	})),
	whole('R370', '9.3. a connection that the origin has closed while it was idle is no fault of the next request', async (row) => {
		const c = await warm(row);
		c.finish();
		await c.over();
		const r = await row.ask(row.kind, { method: 'POST', body: 'x', fields: [['content-length', '1']] });
		ok(r);
		assert.notEqual((await row.site.request(row.path)).connection, c);
	}),
	whole('R372', '9.5. a response while the body is under way, and the end of the connection', async (row) => {
		row.site.onHead(row.path, (m, c) => c.send('HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno').finish());
		if (row.kind === 'h1') {
			const c = await row.connect1();
			c.send(`POST ${row.path} HTTP/1.1\r\nHost: ${row.host}\r\nContent-Length: 1000000\r\n\r\nhello`, [{ method: 'POST' }]);
			const r = await c.response();
			assert.deepEqual([r.status, r.body.toString()], [413, 'no']);
		} else {
			const c = await row.site.connect2();
			c.headers(1, [[':method', 'POST'], [':scheme', 'http'], [':authority', row.host], [':path', row.path], ['content-length', '1000000']]).data(1, 'hello');
			const r = await c.response(1);
			assert.deepEqual([r.status, String(r.body)], [413, 'no']);
		}
		await row.site.serves('h1');
	}),
	whole('R373', '9.3. a request that its client gave up ends its connection', async (row) => {
		let up;
		const came = new Promise((resolve) => { row.site.answer(row.path, (request) => { up = request.connection; up.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello'); resolve(); }); });
		if (row.kind === 'h1') {
			const c = await row.connect1();
			c.request('GET', row.path, [['host', row.host]]);
			await came;
			c.abort();
		} else {
			const c = await row.site.connect2();
			c.request(1, { ':authority': row.host, path: row.path });
			await came;
			c.rst(1, 'CANCEL');
		}
		await up.over();
		await row.site.serves('h1');
	}),
]);

/* One connection to the origin, and short waits. */
responses('an origin with one connection', [
	whole('R377', '9.4. requests above the bound wait for their turn', async (row) => {
		const all = [...Array(6).keys()].map((i) => `${row.path}/${i}`);
		for (const path of all)
			row.site.answer(path, (request, final) => { setTimeout(() => final({ body: 'x' }), 30); });
		(await Promise.all(all.map((path) => row.ask(row.kind, { path })))).forEach((r) => ok(r));
		assert.equal(new Set(row.site.h1.requests.map((m) => m.connection)).size, 1);
	}),
	whole('R368 R370', '9.3, 9.6. an idle connection ends', async (row) => {
		ok(await row.ask(row.kind));
		const { connection } = await row.site.request(row.path);
		await connection.over();
		assert.equal(connection.end, 'clean');
	}),
], { h1Config: { 'max-http1-connections': 1, 'idle-timeout': '500ms' } });

/* Origins over TLS: https:// lets ALPN decide. */
const port = await freePort();
responses('an origin over TLS', [
	...[['http/1.1 by ALPN', ['http/1.1']], ['no ALPN', undefined]].map(([what, ALPNProtocols]) => whole('R359', `9.7. ${what}`, async (row) => {
		const seen = [];
		const server = tls.createServer({ ...certs().server, ALPNProtocols }, (socket) => {
			const c = new Connection1(socket, 'request', {
				onEvent: (e) => { if (e.type === 'end') c.send('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx'); },
			});
			seen.push([c, socket.alpnProtocol]);
		});
		await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
		try {
			const c = await row.connect1();
			c.request('GET', row.path, [['host', 'secure.test']]);
			const r = await c.response();
			assert.deepEqual([r.status, r.body.toString()], [200, 'x']);
			const [[up, protocol]] = seen;
			assert.equal(protocol, ALPNProtocols ? 'http/1.1' : false);
			await up.over();
			assert.deepEqual([up.end, up.error], ['clean', null]);
		} finally {
			for (const [c] of seen)
				c.close();
			await new Promise((resolve) => { server.close(resolve); });
		}
	}, { only: 'h1' })),
], {
	extraOrigin: section('origin secure', { server: `https://localhost:${port}`, 'tls-ca': certs().file('ca.pem') }) + section('route secure', { host: 'secure.test', origin: 'secure' }),
});
