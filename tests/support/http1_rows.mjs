/* SPDX-License-Identifier: MIT */
/*
 * Conformance tables for HTTP/1.1: one gate between clients and two recording origins, one of HTTP/1.1 and one of HTTP/2.
 *
 *   requests(title, rows)    rows are a client's bytes; each row is played to both origins
 *     refused(covers, name, bytes, status)      an answer of our own, `Connection: close`, the end; nothing at an origin
 *     passed(covers, name, bytes, holds, more)  the origin gets one request: holds({ request, response, row }); the connection
 *                                               serves the next request, unless more.closes
 *   responses(title, rows)   rows are the HTTP/1.1 origin's bytes; each row is played to a client of HTTP/1.1 and one of HTTP/2
 *     bad(covers, name, bytes, more)            502 of our own, and the end of the origin's connection
 *     cut(covers, name, bytes, more)            the head arrives, and the message stays incomplete
 *     arrives(covers, name, bytes, holds, more) holds({ response, request, row })
 *   whole(covers, name, run, more)              run(row) does it all
 *
 * In bytes, PATH is a path that nobody else asks for, and HOST the host whose origin the row is about. `more`: method (of
 * what the bytes ask for), version, answer (what the origin says), closes, fields (of the client's request), end ('fin' or
 * 'reset': how the origin ends its connection behind the bytes), reused (whether its connection is used again), only (the
 * one side or version to which the row is played).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownError } from './faulty.mjs';
import { Scenario, certs, freePort, section } from './gate.mjs';
import { connect1, recordingOrigin, response as responseBytes } from './http1.mjs';
import { PATIENCE, SCALE, listen } from './peer.mjs';

const FOREVER = 3600e3;
export const HOSTS = { h1: 'a.test', h2: 'b.test' };
const page = { status: 200, fields: [], body: 'page' };

const joined = (fields) => {
	const headers = {};
	for (const [name, value] of fields)
		headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
	return headers;
};

/* A request as an origin of either version got it, in the same words. */
function ofH1(m) {
	const fields = m.fields.map(([n, v]) => [n.toLowerCase(), v]);
	return {
		version: m.version, method: m.method, target: m.target, host: m.headers.host, fields, headers: joined(fields), framing: m.framing,
		body: m.body.toString('latin1'), trailers: m.trailers, message: m, connection: m.connection,
	};
}

class Http2Origin {
	requests = [];

	constructor(server, respond) {
		this.server = server;
		this.respond = respond;
	}

	async welcome() {
		for (;;) {
			const c = await this.server.accept(FOREVER).catch(() => null);
			if (!c)
				return;
			this.#serve(c);
		}
	}
	async #serve(c) {
		for (;;) {
			const f = await c.expectRequest(undefined, FOREVER).catch(() => null);
			if (!f)
				return;
			this.#collect(c, f).catch(() => {});
		}
	}
	async #collect(c, f) {
		const all = f.fields.map(({ name, value }) => [name, value]);
		const fields = all.filter(([n]) => !n.startsWith(':'));
		const request = {
			version: 'HTTP/2', method: f.headers[':method'], target: f.headers[':path'], host: f.headers[':authority'], scheme: f.headers[':scheme'], fields,
			headers: joined(fields), body: '', trailers: [], frame: f, connection: c,
		};
		const parts = [];
		for (let end = f.endStream; !end;) {
			const x = await c.take((y) => y.stream === f.stream && ['DATA', 'HEADERS', 'RST_STREAM'].includes(y.type), `the rest of ${request.target}`, FOREVER);
			if (x.type === 'RST_STREAM')
				return;
			if (x.type === 'DATA')
				parts.push(x.data);
			else
				request.trailers = x.fields.map(({ name, value }) => [name, value]);
			end = x.endStream;
		}
		request.body = Buffer.concat(parts).toString('latin1');
		this.requests.push(request);
		this.respond(request, ({ status, fields: more, body, trailers }) => c.respond(f.stream, {
			status, fields: Object.fromEntries(more ?? []), body: request.method === 'HEAD' || status === 204 || status === 304 ? undefined : body, trailers: trailers && Object.fromEntries(trailers),
		}), ({ status, fields: more }) => c.headers(f.stream, [[':status', String(status)], ...(more ?? [])]));
	}
}

/* A gate for one table. */
export class Site1 {
	rows = 0;
	#answers = new Map();
	#heads = new Map();
	#waiting = new Map();

	constructor(options = {}) { this.options = options; }

	async start() {
		this.h1 = await recordingOrigin({
			respond: (m, c) => this.#respond(ofH1(m), (a) => c.send(asked(m, a)), (a) => c.send(responseBytes(a.status, a.fields))),
			onHead: (m, c) => this.#heads.get(m.target)?.(m, c),
		});
		const server = await listen({ name: 'h2' });
		this.h2 = new Http2Origin(server, (...all) => this.#respond(...all));
		this.h2.welcome();
		this.securePort = await freePort();
		const { h1Config = {}, listen: more = {}, extraOrigin = '', ...rest } = this.options;
		this.scenario = await new Scenario({
			origins: {
				h1: { server: `http://127.0.0.1:${this.h1.port}`, config: { 'response-timeout': '60s', ...h1Config } },
				h2: { server: `h2c://127.0.0.1:${server.port}` },
			},
			listen: more,
			routes: section('route h1', { host: HOSTS.h1, origin: 'h1' }) + section('route h2', { host: HOSTS.h2, origin: 'h2' }),
			extra: section('listen secure', {
				address: `127.0.0.1:${this.securePort}`, certificate: certs().file('rsa.pem'), key: certs().file('rsa.key'), ...more,
			}) + extraOrigin,
			...rest,
		}).start();
		this.scenario.servers.h2 = server;
		this.scenario.cleanups.push(() => this.h1.close());
		return this;
	}

	#respond(request, final, interim) {
		const answer = this.#answers.get(request.target);
		this.#slot(request.target).resolve(request);
		if (typeof answer === 'function')
			answer(request, final, interim);
		else
			final(answer ?? page);
	}
	#slot(path) {
		if (!this.#waiting.has(path)) {
			const slot = { };
			slot.promise = new Promise((resolve) => { slot.resolve = resolve; });
			this.#waiting.set(path, slot);
		}
		return this.#waiting.get(path);
	}

	/* What the origin says to a request for `path`: a response, or answer(request, final, interim). */
	answer(path, what) { this.#answers.set(path, what); }
	/* Called when an origin of HTTP/1.1 has read the head of a request for `path`. */
	onHead(path, what) { this.#heads.set(path, what); }
	/* The request for `path` at an origin, complete. */
	request(path) {
		let timer;
		return Promise.race([this.#slot(path).promise, new Promise((_, reject) => {
			timer = setTimeout(() => reject(new assert.AssertionError({ message: `no request for ${path} at an origin\n${this.scenario.gate.report()}` })), PATIENCE);
		})]).finally(() => clearTimeout(timer));
	}
	/* All requests at both origins whose target has `word` in it. */
	came(word) {
		return [...this.h1.requests.map(ofH1), ...this.h2.requests].filter((r) => r.target.includes(word)).map((r) => `${r.method} ${r.target}`);
	}

	connect1({ tls, port = tls ? this.securePort : this.scenario.port, ...options } = {}) {
		return connect1(port, { tls, ca: tls ? certs().ca : undefined, servername: HOSTS.h1, ...options });
	}
	connect2(kind = 'h1') { return this.scenario.connect({ authority: HOSTS[kind] }); }
	/* Over a connection of its own: both origins have got what was sent to the gate before. */
	async serves(kind) {
		const path = `/sync-${++this.rows}`;
		const c = await this.connect1();
		c.request('GET', path, [['host', HOSTS[kind]]]);
		const r = await c.response();
		assert.equal(r.status, 200);
		c.close();
	}
	async stop() {
		const { errors } = this.h1;
		await this.scenario.stop();
		assert.deepEqual(errors.map((e) => `${e.section}: ${e.text}`), [], 'the origin of HTTP/1.1 could not read what came');
	}
}

/* The bytes of an origin's answer to this message. */
function asked(m, { status = 200, fields = [], body = '', trailers, bytes }) {
	if (bytes)
		return bytes;
	if (m.method === 'HEAD' || status === 204 || status === 304)
		return responseBytes(status, fields);
	return responseBytes(status, fields, trailers ? { chunks: [body], trailers } : { body });
}

/* One row's work. */
class Row {
	constructor(site, kind, origin) {
		this.site = site;
		this.kind = kind;
		this.path = `/row-${++site.rows}`;
		this.host = HOSTS[origin];
		this.open = [];
	}
	text(bytes) {
		return (typeof bytes === 'function' ? bytes(this) : bytes).replaceAll('PATH', this.path).replaceAll('HOST', this.host);
	}
	async connect1(options) {
		const c = await this.site.connect1(options);
		this.open.push(c);
		return c;
	}
	/* What a client of this version gets for a GET, and whether it is whole. */
	async ask(version, { method = 'GET', fields = [], body, path = this.path, tls, client } = {}) {
		return version === 'h2' ? this.#ask2(method, fields, path, body) : this.#ask1(version, method, fields, path, body, tls, client);
	}
	async #ask1(version, method, fields, path, body, tls, client) {
		const c = client ?? await this.connect1({ tls });
		c.request(method, path, [['host', this.host], ...fields], { body, version: version === '1.0' ? 'HTTP/1.0' : 'HTTP/1.1' });
		const got = () => c.responses.length > (c.counted ?? 0);
		await c.until(() => got() || c.error || c.end, 'an answer');
		if (got()) {
			const r = c.responses[c.counted ?? 0];
			c.counted = (c.counted ?? 0) + 1;
			return { whole: true, status: r.status, headers: r.headers, fields: r.fields, body: r.body.toString('latin1'), trailers: r.trailers, interim: r.interim.map((i) => i.status), message: r, client: c, end: c.end };
		}
		await c.over();
		const m = c.reader.partial;
		return { whole: false, status: m?.status, headers: m?.headers, client: c, end: c.end, interim: c.interim.map((i) => i.status) };
	}
	async #ask2(method, fields, path, body) {
		const c = await this.site.connect2();
		c.headers(1, [[':method', method], [':scheme', 'http'], [':authority', this.host], [':path', path], ...fields], { endStream: body === undefined });
		if (body !== undefined)
			c.data(1, body, { endStream: true });
		const got = { whole: true, interim: [], client: c, trailers: [] };
		const parts = [];
		for (let end = false; !end;) {
			const f = await c.take((x) => x.stream === 1 && ['HEADERS', 'DATA', 'RST_STREAM'].includes(x.type), 'the answer');
			if (f.type === 'RST_STREAM')
				return { ...got, whole: false, code: f.code };
			if (f.type === 'DATA') {
				parts.push(f.data);
			} else if (got.status) {
				got.trailers = f.fields.map(({ name, value }) => [name, value]);
			} else if (f.headers[':status'][0] === '1') {
				got.interim.push(Number(f.headers[':status']));
			} else {
				got.status = Number(f.headers[':status']);
				got.headers = f.headers;
				got.fields = f.fields.map(({ name, value }) => [name, value]).filter(([n]) => n[0] !== ':');
			}
			end = f.endStream;
		}
		return { ...got, body: Buffer.concat(parts).toString('latin1') };
	}
	close() {
		for (const c of this.open)
			c.close();
	}
}

/* ---- rows ---- */

/* An answer of our own behind which the connection ends. */
export async function assertRefused(c, status) {
	const r = await c.response();
	assert.ok([status].flat().includes(r.status), `${r.status} ${r.body}`);
	assert.equal(r.headers.connection?.toLowerCase(), 'close');
	const own = ownError(r.headers);
	if (r.status !== 421 && r.status !== 501)
		assert.equal(own.error, 'http_request_error');
	assert.doesNotMatch(own.details, /9113|(^|\s):[a-z]/, 'it speaks of HTTP/2');
	await c.over();
	assert.equal(c.error, null, c.error?.text);
	assert.equal(c.responses.length, 1, 'one answer, and no other behind it');
	return r;
}

export const refused = (covers, name, bytes, status = 400, { method = 'GET', version = 'HTTP/1.1', tls, only } = {}) => ({
	covers, name, only, run: async (row) => {
		const c = await row.connect1({ tls });
		const text = row.text(bytes);
		c.send(`${text}GET ${row.path}/behind HTTP/1.1\r\nHost: ${row.host}\r\n\r\n`, [{ method, version }]);
		await assertRefused(c, status);
		await row.site.serves(row.kind);
		assert.deepEqual(row.site.came(row.path), [], 'an origin got something');
	},
});

export const passed = (covers, name, bytes, holds = () => {}, { method = 'GET', version = 'HTTP/1.1', answer, closes = false, tls, only, path, count = 1 } = {}) => ({
	covers, name, only, run: async (row) => {
		const at = path ? row.text(path) : row.path;
		const c = await row.connect1({ tls });
		if (answer)
			row.site.answer(at, answer);
		c.send(row.text(bytes), [{ method, version }]);
		const response = await c.response();
		const request = await row.site.request(at);
		await holds({ request, response, row, client: c });
		if (!closes) {
			c.request('GET', `${row.path}/next`, [['host', row.host]]);
			assert.equal((await c.response()).status, 200);
			assert.equal(row.site.came(`${row.path}/next`).length, 1);
		} else {
			await c.over();
		}
		assert.equal(c.error, null, c.error?.text);
		assert.equal(row.site.came(row.path).filter((x) => !x.endsWith('/next')).length, count, 'requests at the origin');
	},
});

/* Bytes that an origin of HTTP/1.1 sends as its answer, and what becomes of its connection. */
function says(row, bytes, { end } = {}) {
	row.site.answer(row.path, (request) => {
		request.connection.send(row.text(bytes));
		row.origin = request.connection;
		if (end === 'fin')
			request.connection.finish();
		else if (end === 'reset')
			setTimeout(() => request.connection.abort(), 100 * SCALE);
	});
}
const goesOn = async (row) => {
	const before = row.site.h1.connections.length;
	await row.site.serves('h1');
	return row.site.h1.connections.length === before;
};

export const bad = (covers, name, bytes, { status = 502, error = 'http_protocol_error', ...more } = {}) => ({
	covers, name, ...more, run: async (row) => {
		says(row, bytes, more);
		const got = await row.ask(row.kind, more);
		assert.equal(got.status, status);
		assert.ok(got.whole);
		const own = ownError(got.headers);
		assert.match(own.error, new RegExp(`^(${error})$`));
		assert.doesNotMatch(own.details, /9113|(^|\s):[a-z]/, 'the origin does not speak HTTP/2');
		await row.origin.over();
		await goesOn(row);
		assert.equal(row.site.came(row.path).length, 1, 'asked once');
	},
});
export const cut = (covers, name, bytes, more = {}) => ({
	covers, name, ...more, run: async (row) => {
		says(row, bytes, more);
		const got = await row.ask(row.kind, more);
		assert.equal(got.whole, false, `it looks whole: ${got.status} ${got.body}`);
		await row.origin.over();
		await goesOn(row);
		assert.equal(row.site.came(row.path).length, 1, 'asked once');
	},
});
export const arrives = (covers, name, bytes, holds = () => {}, more = {}) => ({
	covers, name, ...more, run: async (row) => {
		says(row, bytes, more);
		const response = await row.ask(row.kind, more);
		assert.ok(response.whole, `it was cut off: ${JSON.stringify({ status: response.status, end: response.end, code: response.code })}`);
		await holds({ response, request: await row.site.request(row.path), row });
		if (more.reused === false)
			await row.origin.over();
		await goesOn(row);
		if (more.reused === true)
			assert.equal(row.origin.end, null, 'the connection is there for the next request');
	},
});
export const whole = (covers, name, run, more = {}) => ({ covers, name, run, ...more });

/* ---- tables ---- */

function table(title, rows, { name, origin, ...options }) {
	const site = new Site1(options);
	const settings = { timeout: 120000 * SCALE };
	test(`${title}: pushgate starts`, settings, () => site.start());
	for (const row of rows) {
		for (const kind of ['h1', 'h2'].filter((k) => (row.only ?? k) === k)) {
			test(`${title}: ${row.name}, ${name(kind)}`, settings, async () => {
				const r = new Row(site, kind, origin(kind));
				try {
					await row.run(r);
				} catch (error) {
					error.message += `\n${site.scenario.gate.report()}`;
					throw error;
				} finally {
					r.close();
				}
			});
		}
	}
	test(`${title}: pushgate is well, and the origin could read all that came`, settings, () => site.stop());
}
export const requests = (title, rows, options) => table(title, rows, { name: (k) => `to ${k}`, origin: (k) => k, ...options });
export const responses = (title, rows, options) => table(title, rows, { name: (k) => `a client of ${k}`, origin: () => 'h1', ...options });
