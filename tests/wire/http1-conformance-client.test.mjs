/* SPDX-License-Identifier: MIT */
/*
 * What a client of HTTP/1.1 or HTTP/1.0 gets, from origins of both versions, and how its connection lives (RFC 9112 4, 6, 9;
 * RFC 9110 7, 10, 11, 15).
 * The first word of a row is what it covers: a line of docs/REQUIREMENTS.md.
 */
import assert from 'node:assert/strict';
import net from 'node:net';
import { sleep, until } from '../support/gate.mjs';
import { requests, whole } from '../support/http1_rows.mjs';
import { SCALE } from '../support/peer.mjs';

const field = (m, name) => m.fields.filter(([n]) => n.toLowerCase() === name).map(([, v]) => v);
/* A response as bytes: what stands before its empty line. */
const lines = (c) => c.bytes.toString('latin1').split('\r\n\r\n')[0].split('\r\n');

/* A response in both versions of the client; holds({ row, client, response, version }). */
const told = (covers, name, answer, holds, { method = 'GET', fields = [], versions = ['HTTP/1.1', 'HTTP/1.0'], ...more } = {}) => whole(covers, name, async (row) => {
	for (const version of versions) {
		const path = `${row.path}/${version}`;
		row.site.answer(path, answer);
		const c = await row.connect1();
		c.request(method, path, [['host', row.host], ...fields], { version });
		const response = await c.response();
		await holds({ row, client: c, response, version, request: await row.site.request(path) });
		if (version === 'HTTP/1.0') {
			await c.over();
			assert.equal(c.end, 'clean');
		} else {
			c.request('GET', `${path}/next`, [['host', row.host]]);
			assert.equal((await c.response()).status, 200);
		}
		assert.equal(c.error, null, c.error?.text);
	}
}, more);

/* A body without a length that is announced, in the origin's own way. */
const streamed = (body, trailers = []) => (request, final) => {
	if (request.connection.send)
		request.connection.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n${trailers.map(([n, v]) => `${n}: ${v}\r\n`).join('')}\r\n`);
	else
		final({ status: 200, fields: [], body, trailers: trailers.length ? trailers : undefined });
};
/* A response that breaks off once `seen` resolves. */
const broken = (fields, seen) => async (request) => {
	const c = request.connection;
	const [head, rest] = fields.length ? [fields.map(([n, v]) => `${n}: ${v}\r\n`).join(''), 'hello'] : ['Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n'];
	if (c.send)
		c.send(`HTTP/1.1 200 OK\r\n${head}\r\n${rest}`);
	else
		c.headers(request.frame.stream, [[':status', '200'], ...fields]).data(request.frame.stream, 'hello');
	await seen;
	if (c.send)
		c.finish();
	else
		c.rst(request.frame.stream, 'INTERNAL_ERROR');
};
/*
 * A connection over TLS 1.2 whose records are kept: the last one that came is an alert (type 21) if and only if close_notify
 * did. Node.js itself takes the end of TCP for the end of TLS.
 */
async function connectSecure(row) {
	const types = [];
	let bytes = Buffer.alloc(0);
	const relay = net.createServer((near) => {
		const far = net.connect(row.site.securePort, '127.0.0.1');
		far.on('data', (more) => {
			for (bytes = Buffer.concat([bytes, more]); bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt16BE(3); bytes = bytes.subarray(5 + bytes.readUInt16BE(3)))
				types.push(bytes[0]);
		});
		near.pipe(far).pipe(near);
		for (const s of [near, far])
			s.on('error', () => { near.destroy(); far.destroy(); });
	});
	await new Promise((resolve) => { relay.listen(0, '127.0.0.1', resolve); });
	const c = await row.connect1({ port: relay.address().port, tls: { maxVersion: 'TLSv1.2' } });
	relay.close();
	return { c, isNotified: () => types.at(-1) === 21 };
}
const interim = (status, answer = { status: 200, fields: [], body: 'page' }) => (request, final, early) => {
	early({ status, fields: [['x-early', '1']] });
	final(answer);
};

requests('a client', [
	/* ---- the status line, the framing ---- */
	...[200, 201, 299, 404, 418, 499, 599].map((status) => told('R330', `4. status ${status}`, { status, fields: [], body: 'x' }, ({ client, response }) => {
		assert.equal(response.status, status);
		assert.match(lines(client)[0], /^HTTP\/1\.1 [1-9][0-9]{2} [ -~]*$/);
	})),
	told('R331 R332', '6.3. a response without length', streamed('hello'), ({ response, version }) => {
		assert.equal(response.body.toString(), 'hello');
		assert.equal(response.framing, version === 'HTTP/1.1' ? 'chunked' : 'close');
		assert.equal(response.headers['content-length'], undefined);
	}),
	told('R332', '6.2. a response with a length', { status: 200, fields: [['content-length', '5']], body: 'hello' }, ({ response }) => {
		assert.equal(response.framing, 'length');
		assert.equal(response.headers['transfer-encoding'], undefined);
		assert.deepEqual(field(response, 'content-length'), ['5']);
	}, { only: 'h2' }),
	told('R332', '6.2. a response with a length from an origin of HTTP/1.1', { status: 200, fields: [], body: 'hello' }, ({ response }) => {
		assert.equal(response.framing, 'length');
		assert.deepEqual(field(response, 'content-length'), ['5']);
	}, { only: 'h1' }),
	told('R332', '6.3. an empty response', { status: 200, fields: [], body: '' }, ({ response }) => assert.equal(response.body.length, 0)),
	told('R333', '9110 8.6. HEAD keeps its length', { status: 200, fields: [['content-length', '1000']] }, ({ response }) => {
		assert.equal(response.headers['content-length'], '1000');
		assert.equal(response.body.length, 0);
	}, { method: 'HEAD' }),
	told('R333', '9110 8.6. so does 304', { status: 304, fields: [['content-length', '1000'], ['etag', '"a"']] }, ({ response }) => {
		assert.equal(response.headers['content-length'], '1000');
		assert.equal(response.body.length, 0);
	}),
	told('R331 R333', '9110 8.6. 204 has neither length nor coding', { status: 204, fields: [] }, ({ response }) => {
		assert.equal(response.headers['content-length'], undefined);
		assert.equal(response.headers['transfer-encoding'], undefined);
	}),
	whole('R333', '9110 9.3.2. an answer of our own to HEAD', async (row) => {
		const c = await row.connect1();
		c.request('HEAD', row.path, [['host', 'nowhere.test']]);
		const r = await c.response();
		assert.ok([404, 421].includes(r.status));
		assert.equal(r.body.length, 0);
		c.request('GET', row.path, [['host', row.host]]);
		assert.equal((await c.response()).status, 200, 'the bytes behind it are the next response');
	}),
	whole('R333', '9110 9.3.2. a refused HEAD', async (row) => {
		const c = await row.connect1();
		c.send('HEAD / HTTP/1.1\r\n\r\n', [{ method: 'HEAD' }]);
		assert.equal((await c.response()).status, 400);
		await c.over();
		assert.equal(c.error, null, c.error?.text);
		assert.ok(c.bytes.toString('latin1').endsWith('\r\n\r\n'), 'no content');
	}),

	...[['whose field has no CR', 'x-a: b\n', 400], ['whose field is too large', `x-a: ${'x'.repeat(200000)}\r\n`, 431], ['whose fields are folded', ' x\r\n', 400]].map(([what, field, status]) =>
		whole('R333', `9110 9.3.2. a HEAD ${what}`, async (row) => {
			const c = await row.connect1();
			for (const bytes of ['HEA', 'D / HTTP/1.1\r', `\n${field}\r\n`]) {
				c.send(bytes, bytes === 'HEA' ? [{ method: 'HEAD' }] : []);
				await sleep(20);
			}
			assert.equal((await c.response()).status, status);
			await c.over();
			assert.equal(c.error, null, c.error?.text);
			assert.ok(c.bytes.toString('latin1').endsWith('\r\n\r\n'), 'no content');
		})),

	/* ---- interim responses, Expect ---- */
	...[100, 102, 103, 150, 199].map((status) => told('R331 R334', `9110 15.2. ${status}`, interim(status), ({ response, version }) => {
		assert.deepEqual(response.interim.map((i) => i.status), version === 'HTTP/1.1' ? [status] : []);
		for (const i of response.interim) {
			assert.equal(i.headers['x-early'], '1');
			assert.equal(i.headers['content-length'], undefined);
			assert.equal(i.headers['transfer-encoding'], undefined);
		}
	})),
	whole('R335', '9110 10.1.1. Expect goes ahead, 100 comes back, the body follows', async (row) => {
		let asked;
		const head = new Promise((resolve) => { asked = resolve; });
		row.site.onHead(row.path, (m, c) => { asked(m); c.send('HTTP/1.1 100 Continue\r\n\r\n'); });
		const c = await row.connect1();
		c.send(`POST ${row.path} HTTP/1.1\r\nHost: ${row.host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`, [{ method: 'POST' }]);
		const m = await head;
		assert.equal(m.headers.expect.toLowerCase(), '100-continue');
		await c.until(() => c.interim.length > 0, '100');
		assert.deepEqual(c.interim.map((i) => i.status), [100]);
		c.send('hello');
		assert.equal((await c.response()).status, 200);
		assert.equal((await row.site.request(row.path)).body, 'hello');
	}, { only: 'h1' }),
	whole('R335', '9110 10.1.1. Expect and 100 of an origin of HTTP/2', async (row) => {
		const c = await row.connect1();
		const waits = row.site.h2.server.connections;
		c.send(`POST ${row.path} HTTP/1.1\r\nHost: ${row.host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`, [{ method: 'POST' }]);
		const at = await until('the head', () => waits.flatMap((o) => o.trace.map((l) => [o, l])).find(([, l]) => l.includes(row.path)));
		const stream = Number(/s(\d+) HEADERS/.exec(at[1])[1]);
		at[0].headers(stream, [[':status', '100']]);
		await c.until(() => c.interim.length > 0, '100');
		c.send('hello');
		assert.equal((await c.response()).status, 200);
		assert.equal((await row.site.request(row.path)).body, 'hello');
	}, { only: 'h2' }),
	whole('R335', '9110 10.1.1. a final response instead of 100', async (row) => {
		row.site.onHead(row.path, (m, c) => c.send('HTTP/1.1 417 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'));
		const c = await row.connect1();
		c.send(`POST ${row.path} HTTP/1.1\r\nHost: ${row.host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`, [{ method: 'POST' }]);
		const r = await c.response();
		assert.equal(r.status, 417);
		assert.deepEqual(r.interim, []);
	}, { only: 'h1' }),
	whole('R335', '9110 10.1.1. in HTTP/1.0 Expect is ignored', async (row) => {
		const c = await row.connect1();
		c.send(`POST ${row.path} HTTP/1.0\r\nHost: ${row.host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello`, [{ method: 'POST', version: 'HTTP/1.0' }]);
		const r = await c.response();
		assert.deepEqual([r.status, r.interim.length], [200, 0]);
		const request = await row.site.request(row.path);
		assert.equal(request.body, 'hello');
		assert.equal(request.headers.expect, undefined);
	}),

	/* ---- trailers, cut-off responses ---- */
	told('R336', '9110 6.5. trailers', streamed('hello', [['x-t', 'v'], ['x-u', '']]), ({ response, version }) => {
		assert.equal(response.body.toString(), 'hello');
		assert.deepEqual(response.trailers.map(([n, v]) => [n.toLowerCase(), v]), version === 'HTTP/1.1' ? [['x-t', 'v'], ['x-u', '']] : []);
		assert.equal(response.headers['x-t'], undefined);
	}),
	...[['without length', []], ['with a length', [['content-length', '10']]]].flatMap(([what, fields]) => ['HTTP/1.1', 'HTTP/1.0'].flatMap((version) => [false, true].map((tls) =>
		whole('R337', `8. a response ${what} that breaks off, ${version}${tls ? ' over TLS' : ''}`, async (row) => {
			let isSeen;
			row.site.answer(row.path, broken(fields, new Promise((resolve) => { isSeen = resolve; })));
			const { c, isNotified } = tls ? await connectSecure(row) : { c: await row.connect1() };
			c.request('GET', row.path, [['host', row.host]], { version });
			await c.until(() => c.bytes.includes('hello'), 'what there is of it');
			isSeen();
			await c.over();
			const isToEnd = version === 'HTTP/1.0' && !fields.length;
			if (isToEnd && !tls)
				assert.equal(c.end, 'ECONNRESET', 'the end of the connection is the end of the body');
			if (isToEnd && tls)
				assert.equal(isNotified(), false, 'close_notify makes it whole');
			if (!isToEnd)
				assert.equal(c.responses.length, 0, 'it looks whole');
		})))),
	...[['close', 'HTTP/1.1', [['connection', 'close']]], ['HTTP/1.0', 'HTTP/1.0', []]].map(([what, version, fields]) =>
		whole('R338', `9.8. close_notify behind the response, ${what}`, async (row) => {
			row.site.answer(row.path, streamed('hello'));
			const { c, isNotified } = await connectSecure(row);
			c.request('GET', row.path, [['host', row.host], ...fields], { version });
			await c.over();
			assert.equal(c.responses[0].body.toString(), 'hello');
			assert.equal(isNotified(), true);
		})),
	whole('R339', '9110 7.6.3. Via has the version of each message', async (row) => {
		for (const [version, word] of [['HTTP/1.1', '1.1'], ['HTTP/1.0', '1.0']]) {
			const path = `${row.path}/${word}`;
			const c = await row.connect1();
			c.request('GET', path, [['host', row.host], ['via', '1.0 fred']], { version });
			const r = await c.response();
			const up = await row.site.request(path);
			assert.match(up.headers.via, new RegExp(`^1\\.0 fred, ${word} pushgate`));
			assert.match(r.headers.via, row.kind === 'h1' ? /^1\.1 pushgate/ : /^2 pushgate/);
		}
	}),
	whole('R339', '9110 7.6.3. Via of a response in HTTP/1.0, and to an origin of HTTP/1.1 from HTTP/2', async (row) => {
		row.site.answer(row.path, { bytes: 'HTTP/1.0 200 OK\r\nVia: 0.9 x\r\nContent-Length: 1\r\n\r\nx' });
		const r = await row.ask('h2');
		assert.match(r.headers.via, /^0\.9 x, 1\.0 pushgate/);
		assert.match((await row.site.request(row.path)).headers.via, /^2 pushgate/);
	}, { only: 'h1' }),

	/* ---- the connection ---- */
	whole('R340', '9.3. ten requests over one connection', async (row) => {
		const c = await row.connect1();
		for (let i = 0; i < 10; i++) {
			c.request(i % 2 ? 'POST' : 'GET', `${row.path}/${i}`, [['host', row.host]], { body: i % 2 ? 'hello' : undefined });
			const r = await c.response();
			assert.equal(r.status, 200);
			assert.notEqual(r.headers.connection?.toLowerCase(), 'close');
		}
	}),
	...[[], [['connection', 'keep-alive']], [['connection', 'Keep-Alive'], ['keep-alive', 'timeout=100']], [['proxy-connection', 'keep-alive']]].map((fields) =>
		whole('R340', `9.3, C.2.2. HTTP/1.0 ends with its response, ${JSON.stringify(fields)}`, async (row) => {
			const c = await row.connect1();
			c.send(`GET ${row.path} HTTP/1.0\r\nhost: ${row.host}\r\n${fields.map(([n, v]) => `${n}: ${v}\r\n`).join('')}\r\nGET ${row.path}/next HTTP/1.0\r\nhost: ${row.host}\r\n\r\n`,
				[{ method: 'GET', version: 'HTTP/1.0' }]);
			const r = await c.response();
			assert.equal(r.headers['keep-alive'], undefined);
			assert.notEqual(r.headers.connection?.toLowerCase(), 'keep-alive');
			await c.over();
			assert.equal(c.responses.length, 1);
			await row.site.serves(row.kind);
			assert.deepEqual(row.site.came(`${row.path}/next`), []);
		})),
	...['close', 'Close', 'x-a, CLOSE', 'keep-alive, close', 'close, keep-alive', ' , close'].map((value) => whole('R341', `9.6. Connection: ${value}`, async (row) => {
		const c = await row.connect1();
		c.send(`GET ${row.path} HTTP/1.1\r\nHost: ${row.host}\r\nConnection: ${value}\r\n\r\nGET ${row.path}/next HTTP/1.1\r\nHost: ${row.host}\r\n\r\n`, [{ method: 'GET' }]);
		const r = await c.response();
		assert.equal(r.status, 200);
		assert.match(r.headers.connection, /^close$/i);
		await c.over();
		assert.deepEqual([c.responses.length, c.error], [1, null]);
		await row.site.serves(row.kind);
		assert.deepEqual(row.site.came(`${row.path}/next`), []);
	})),
	whole('R341', '9.6. close in a second Connection field', async (row) => {
		const c = await row.connect1();
		c.request('GET', row.path, [['host', row.host], ['connection', 'x-a'], ['connection', 'close']]);
		assert.equal((await c.response()).headers.connection, 'close');
		await c.over();
	}),
	whole('R342', '9.3.2. pipelined requests, whose origins answer in any order', async (row) => {
		const c = await row.connect1();
		row.site.answer(`${row.path}/0`, (request, final) => { setTimeout(() => final({ status: 200, fields: [['x-n', '0']], body: 'first' }), 100 * SCALE); });
		for (let i = 1; i < 8; i++)
			row.site.answer(`${row.path}/${i}`, { status: 200, fields: [['x-n', String(i)]], body: String(i).repeat(i) });
		const all = [...Array(8).keys()];
		c.send(all.map((i) => `${i % 3 ? 'GET' : 'POST'} ${row.path}/${i} HTTP/1.1\r\nHost: ${row.host}\r\n${i % 3 ? '' : 'Content-Length: 5\r\n'}\r\n${i % 3 ? '' : 'hello'}`).join(''), all.map((i) => ({ method: i % 3 ? 'GET' : 'POST' })));
		for (const i of all)
			assert.equal((await c.response()).headers['x-n'], String(i));
	}),
	whole('R342', '9.3.2. behind a refused request nothing is answered', async (row) => {
		const c = await row.connect1();
		c.send(`GET ${row.path}/1 HTTP/1.1\r\nHost: ${row.host}\r\n\r\nGET ${row.path}/2 HTTP/1.1\r\n\r\nGET ${row.path}/3 HTTP/1.1\r\nHost: ${row.host}\r\n\r\n`, [{ method: 'GET' }, { method: 'GET' }]);
		assert.equal((await c.response()).status, 200);
		assert.equal((await c.response()).status, 400);
		await c.over();
		assert.equal(c.responses.length, 2);
		await row.site.serves(row.kind);
		assert.deepEqual(row.site.came(row.path), [`GET ${row.path}/1`]);
	}),
	...[['which is short', 'hello'], ['which is long', 'x'.repeat(300000)]].map(([what, body]) => whole('R343', `9.3. an answer before the body, ${what}, that looks like a request`, async (row) => {
		const hidden = `GET ${row.path}/hidden HTTP/1.1\r\nHost: ${row.host}\r\n\r\n`;
		const c = await row.connect1();
		c.send(`POST ${row.path} HTTP/1.1\r\nHost: nowhere.test\r\nContent-Length: ${body.length + hidden.length}\r\n\r\n`, [{ method: 'POST' }]);
		const r = await c.response();
		assert.ok([404, 421].includes(r.status));
		c.send(body + hidden);
		c.send(`GET ${row.path}/next HTTP/1.1\r\nHost: ${row.host}\r\n\r\n`, [{ method: 'GET' }]);
		if (r.headers.connection === 'close')
			await c.over();
		else
			assert.equal((await c.response()).status, 200);
		await row.site.serves(row.kind);
		assert.deepEqual(row.site.came('/hidden'), []);
	})),
	whole('R344', '9.6. the answer is read although the client goes on sending', async (row) => {
		const c = await row.connect1();
		c.send(`POST ${row.path} HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n`, [{ method: 'POST' }]);
		for (let i = 0; i < 20; i++) {
			c.send('x'.repeat(10000));
			await new Promise(setImmediate);
		}
		assert.equal((await c.response()).status, 400);
		await c.over();
		assert.equal(c.end, 'clean');
	}),

	/* ---- fields for one hop ---- */
	whole('R345', '9110 7.6.1. what Connection names', async (row) => {
		const c = await row.connect1();
		c.request('GET', row.path, [['host', row.host], ['Connection', 'X-Hop, ,keep-alive ,\tx-other'], ['x-hop', '1'], ['X-OTHER', '2'], ['x-end', '3'], ['Keep-Alive', 'timeout=5'], ['Proxy-Connection', 'keep-alive'], ['connection', 'x-third'], ['x-third', '4']]);
		assert.equal((await c.response()).status, 200);
		const up = await row.site.request(row.path);
		for (const name of ['x-hop', 'x-other', 'x-third', 'keep-alive', 'proxy-connection'])
			assert.equal(up.headers[name], undefined, name);
		assert.equal(up.headers['x-end'], '3');
		assert.ok(!/x-hop|x-other|x-third/i.test(up.headers.connection ?? ''));
	}),
	...['Content-Length', 'transfer-encoding', 'Host', 'x-a, HOST', 'via', 'max-forwards'].map((value) => whole('R345', `9110 7.6.1. Connection: ${value}`, async (row) => {
		const c = await row.connect1();
		c.send(`POST ${row.path} HTTP/1.1\r\nHost: ${row.host}\r\nConnection: ${value}\r\nContent-Length: 5\r\n\r\nhello`, [{ method: 'POST' }]);
		const r = await c.response();
		assert.deepEqual([r.status, r.headers.connection], [400, 'close']);
		await c.over();
		await row.site.serves(row.kind);
		assert.deepEqual(row.site.came(row.path), []);
	})),
	...[['h2c', ['HTTP2-Settings', 'AAMAAABk'], 'Upgrade, HTTP2-Settings'], ['websocket', ['sec-websocket-version', '13'], 'Upgrade'], ['HTTP/2.0, TLS/1.0', ['x-a', 'b'], 'upgrade'], ['h2c', ['x-a', 'b'], 'keep-alive']].map(([value, more, connection]) =>
		whole('R346', `9110 7.8. Upgrade: ${value}, Connection: ${connection}`, async (row) => {
			const c = await row.connect1();
			c.request('GET', row.path, [['host', row.host], ['connection', connection], ['upgrade', value], more]);
			const r = await c.response();
			assert.deepEqual([r.status, r.interim.length, r.headers.upgrade], [200, 0, undefined]);
			const up = await row.site.request(row.path);
			assert.equal(up.headers.upgrade, undefined);
			assert.equal(up.headers['http2-settings'], undefined);
			assert.ok(!/upgrade|http2/i.test(up.headers.connection ?? ''));
		})),
	whole('R347', '9110 11.7. proxy authentication', async (row) => {
		row.site.answer(row.path, { status: 407, fields: [['proxy-authenticate', 'Basic realm="x"']], body: 'no' });
		const c = await row.connect1();
		c.request('GET', row.path, [['host', row.host], ['proxy-authorization', 'Basic YTpi'], ['authorization', 'Basic Yzpk']]);
		const r = await c.response();
		assert.equal(r.status, 407);
		assert.equal(r.headers['proxy-authenticate'], 'Basic realm="x"');
		const up = await row.site.request(row.path);
		assert.deepEqual([up.headers['proxy-authorization'], up.headers.authorization], ['Basic YTpi', 'Basic Yzpk']);
	}),
	...[[206, ['content-range', 'bytes 0-1/10']], [412, ['etag', '"a"']], [416, ['content-range', 'bytes */10']], [206, ['content-type', 'multipart/byteranges; boundary=X']]].map(([status, more]) =>
		whole('R349', `9110 13, 14. conditions and ranges, ${status} with ${more[0]}`, async (row) => {
			const asked = [['if-match', '"a", "b"'], ['if-none-match', '*'], ['if-modified-since', 'Sun, 06 Nov 1994 08:49:37 GMT'], ['if-unmodified-since', 'x'], ['if-range', 'W/"a"'], ['range', 'bytes=0-1, 5-'], ['accept', 'a/*;q=0.1']];
			row.site.answer(row.path, { status, fields: [more], body: 'ab' });
			const c = await row.connect1();
			c.request('GET', row.path, [['host', row.host], ...asked]);
			const r = await c.response();
			assert.deepEqual([r.status, r.headers[more[0]], r.body.toString()], [status, more[1], 'ab']);
			const up = await row.site.request(row.path);
			assert.deepEqual(up.fields.filter(([n]) => asked.some(([a]) => a === n)), asked);
		})),
]);

/* A client that is late. */
requests('a late client', [
	whole('R348', '9.5. a head that does not end', async (row) => {
		const c = await row.connect1();
		c.send(`GET ${row.path} HTTP/1.1\r\nHost:`, [{ method: 'GET' }]);
		const r = await c.response();
		assert.deepEqual([r.status, r.headers.connection], [408, 'close']);
		await c.over();
		assert.equal(c.end, 'clean');
	}),
	whole('R348', '9.5. a connection without a request', async (row) => {
		const fresh = await row.connect1();
		const used = await row.connect1();
		used.request('GET', row.path, [['host', row.host]]);
		await used.response();
		for (const c of [fresh, used]) {
			await c.over();
			assert.equal(c.end, 'clean');
		}
		assert.deepEqual([fresh.bytes.length, used.responses.length], [0, 1]);
	}),
], { listen: { 'header-timeout': '500ms', 'idle-timeout': '1s', 'preface-timeout': '1s' } });
