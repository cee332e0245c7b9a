/* SPDX-License-Identifier: MIT */
/*
 * A collector of spans, which takes OTLP over HTTP as JSON and is strict about its form: the fields of the protobuf
 * messages by their names in JSON, ids in hexadecimal, enumerations as numbers, numbers of 64 bits as decimal strings
 * (OTLP 1, "JSON Protobuf Encoding").
 */
import assert from 'node:assert/strict';
import http from 'node:http';
import { freePort, until } from './gate.mjs';

const ID = { traceId: /^(?!0{32})[0-9a-f]{32}$/, spanId: /^(?!0{16})[0-9a-f]{16}$/, parentSpanId: /^(?!0{16})[0-9a-f]{16}$/ };
const NANOS = /^[1-9][0-9]{18}$/;
const INT64 = /^(0|-?[1-9][0-9]{0,18})$/;

const has = (object, needed, allowed, what) => {
	assert.ok(object !== null && typeof object === 'object' && !Array.isArray(object), what);
	for (const key of needed)
		assert.ok(key in object, `${what} has no ${key}`);
	for (const key of Object.keys(object))
		assert.ok(needed.includes(key) || allowed.includes(key), `${what} has ${key}`);
};

/* A list of attributes as an object. */
function attributes(list, what) {
	const all = {};
	for (const a of list) {
		has(a, ['key', 'value'], [], what);
		const [[type, value], ...more] = Object.entries(a.value);
		assert.equal(more.length, 0);
		assert.ok(!(a.key in all), `${what}: ${a.key} twice`);
		if (type === 'stringValue') {
			assert.equal(typeof value, 'string');
			all[a.key] = value;
		} else {
			assert.equal(type, 'intValue');
			assert.match(value, INT64);
			all[a.key] = Number(value);
		}
	}
	return all;
}

const id = (object, name) => assert.match(object[name], ID[name]);

function readSpan(s) {
	has(s, ['traceId', 'spanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano'],
		['parentSpanId', 'flags', 'attributes', 'events', 'links', 'status', 'droppedEventsCount'], 'a span');
	id(s, 'traceId');
	id(s, 'spanId');
	if (s.parentSpanId !== undefined)
		id(s, 'parentSpanId');
	assert.ok([1, 2, 3].includes(s.kind));
	assert.match(s.startTimeUnixNano, NANOS);
	assert.match(s.endTimeUnixNano, NANOS);
	assert.ok(BigInt(s.endTimeUnixNano) >= BigInt(s.startTimeUnixNano), `${s.name} ends before it begins`);
	assert.ok(Math.abs(Number(BigInt(s.endTimeUnixNano) / 1000000n) - Date.now()) < 600000);
	if (s.flags !== undefined)
		assert.ok(Number.isInteger(s.flags) && (s.flags & 1) === 1);
	if (s.status !== undefined)
		assert.deepEqual(s.status, { code: 2 });
	assert.ok(s.name.length > 0);
	for (const e of s.events ?? []) {
		has(e, ['timeUnixNano', 'name'], ['attributes'], 'an event');
		assert.match(e.timeUnixNano, NANOS);
		assert.ok(BigInt(e.timeUnixNano) >= BigInt(s.startTimeUnixNano) && BigInt(e.timeUnixNano) <= BigInt(s.endTimeUnixNano), `${s.name}: ${e.name}`);
	}
	for (const l of s.links ?? []) {
		has(l, ['traceId', 'spanId'], [], 'a link');
		id(l, 'traceId');
		id(l, 'spanId');
	}
	return {
		...s,
		is_error: s.status !== undefined,
		attributes: attributes(s.attributes ?? [], s.name),
		events: (s.events ?? []).map((e) => ({ name: e.name, ...attributes(e.attributes ?? [], e.name) })),
		links: s.links ?? [],
	};
}

/* The spans of one request's body. */
function readBody(text) {
	const body = JSON.parse(text);
	has(body, ['resourceSpans'], [], 'the body');
	return body.resourceSpans.flatMap((r) => {
		has(r, ['resource', 'scopeSpans'], [], 'resourceSpans');
		has(r.resource, ['attributes'], [], 'the resource');
		const resource = attributes(r.resource.attributes, 'the resource');
		assert.ok(resource['service.name']);
		return r.scopeSpans.flatMap((scope) => {
			has(scope, ['scope', 'spans'], [], 'scopeSpans');
			has(scope.scope, ['name', 'version'], [], 'the scope');
			assert.ok(scope.spans.length > 0);
			return scope.spans.map((s) => ({ ...readSpan(s), resource }));
		});
	});
}

export class Collector {
	spans = [];
	posts = [];      /* {target, headers, text} */
	mistakes = [];   /* what is no OTLP */
	sockets = new Set();

	/* answer: gets the response of each request whose spans are not to be taken; null: all are taken. */
	answer = null;

	async open(port = undefined) {
		this.port = port ?? this.port ?? await freePort();
		this.server = http.createServer((request, response) => this.#serve(request, response));
		this.server.on('connection', (socket) => {
			this.sockets.add(socket);
			socket.on('close', () => this.sockets.delete(socket));
		});
		await new Promise((resolve) => { this.server.listen(this.port, '127.0.0.1', resolve); });
		return this;
	}

	#serve(request, response) {
		let text = '';
		request.setEncoding('utf8').on('data', (part) => { text += part; });
		request.on('end', () => {
			this.posts.push({ target: request.url, method: request.method, headers: request.headers, text });
			if (this.answer) {
				this.answer(response);
				return;
			}
			try {
				assert.equal(request.method, 'POST');
				assert.equal(request.headers['content-type'], 'application/json');
				this.spans.push(...readBody(text));
			} catch (error) {
				this.mistakes.push(error);
			}
			response.writeHead(200, { 'content-type': 'application/json' });
			response.end('{"partialSuccess":{}}');
		});
	}

	close() {
		for (const socket of this.sockets)
			socket.destroy();
		return new Promise((resolve) => { this.server.close(resolve); });
	}

	/* The first span that matches; an assertion of its own when what came is no OTLP. */
	span(what, matches) {
		return until(() => `a span: ${what}; there are:\n${JSON.stringify(this.spans, null, 1)}`, () => {
			if (this.mistakes.length)
				throw this.mistakes[0];
			return this.spans.find(matches);
		});
	}
	/* The span of the client's request for this path. */
	request(path) { return this.span(`of ${path}`, (s) => s.kind === 2 && s.attributes['url.path'] === path); }
	childrenOf(span) { return this.spans.filter((s) => s.traceId === span.traceId && s.parentSpanId === span.spanId); }
}

export const traceparent = (text) => {
	const [, version, traceId, spanId, flags] = text.match(/^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/);
	return { version, traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
};
