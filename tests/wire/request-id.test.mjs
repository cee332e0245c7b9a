/* SPDX-License-Identifier: MIT */
/* Ids of requests: made or kept, told to the origin, to the client where the route says so, and to the log. */
import assert from 'node:assert/strict';
import { scenario, section } from '../support/gate.mjs';

const MADE = /^[0-9a-f]{32}$/;
const routes = section('route main', { origin: 'main', 'response-set': 'X-Request-Id: {request-id}' });
const config = (listen) => ({ listen, routes });

/* One more request with these fields: what the origin got in X-Request-Id, and what the client got. */
async function asked(s, { client, origin }, stream, fields = {}) {
	client.request(stream, { path: `/${stream}`, ...fields });
	const up = await origin.expectRequest(`/${stream}`);
	origin.respond(up.stream, { fields: { 'x-request-id': 'the-origin-s' }, body: 'x' });
	const answer = await client.response(stream);
	return { sent: up.headers['x-request-id'], told: answer.headers['x-request-id'] };
}

async function opened(s) {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	return { client, origin };
}

// covers: R646
scenario('request-id = make: each request has an id of its own', config({ 'request-id': 'make' }), async (s) => {
	const all = await opened(s);
	const ids = new Set();
	for (const [stream, fields] of [[3, {}], [5, { 'x-request-id': 'theirs' }], [7, { 'x-request-id': '0123456789abcdef0123456789abcdef' }]]) {
		const { sent, told } = await asked(s, all, stream, fields);
		assert.match(sent, MADE);
		assert.notEqual(sent, fields['x-request-id']);
		assert.equal(told, sent);
		const line = await s.gate.access((l) => l.path === `/${stream}`);
		assert.equal(line.request_id, sent);
		ids.add(sent);
	}
	assert.equal(ids.size, 3);
});

const PLAIN = ['a', '7b0c3b3e-6f0b-4c39-9d2e-0d5a1f6f2c11', 'Root=1:67891233.abc/def+g==@h~_', 'x'.repeat(64)];
const OTHERS = ['x'.repeat(65), 'a,b', 'a b', 'a"b', 'a;b', 'a\\b', 'a%b', '{a}'];

// covers: R646
scenario('request-id = keep: a plain id of a trusted client stays', config({ 'request-id': 'keep', trusted: '127.0.0.1' }), async (s) => {
	const all = await opened(s);
	let stream = 1;
	for (const id of PLAIN) {
		const { sent, told } = await asked(s, all, stream += 2, { 'x-request-id': id });
		assert.equal(sent, id);
		assert.equal(told, id);
		assert.equal((await s.gate.access((l) => l.path === `/${stream}`)).request_id, id);
	}
	for (const id of OTHERS) {
		const { sent } = await asked(s, all, stream += 2, { 'x-request-id': id });
		assert.match(sent, MADE, id);
	}
	assert.match((await asked(s, all, stream += 2)).sent, MADE);
});

// covers: R646
scenario('request-id = keep: no id of another client stays', config({ 'request-id': 'keep', trusted: '192.0.2.1' }), async (s) => {
	const all = await opened(s);
	assert.match((await asked(s, all, 3, { 'x-request-id': 'theirs' })).sent, MADE);
});

// covers: R646
scenario('request-id = off: X-Request-Id is a field like any other', { routes: section('route main', { origin: 'main' }) }, async (s) => {
	const all = await opened(s);
	const { sent, told } = await asked(s, all, 3, { 'x-request-id': 'theirs, "and more"' });
	assert.equal(sent, 'theirs, "and more"');
	assert.equal(told, 'the-origin-s');
	assert.equal((await s.gate.access((l) => l.path === '/3')).request_id, undefined);
});

// covers: R646
scenario('a push has the id of its page', config({ 'request-id': 'make' }), async (s) => {
	const { client, origin, up } = await s.open();
	const id = up.headers['x-request-id'];
	assert.match(id, MADE);
	origin.push(up, 2, '/a.css');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	origin.respond(2, { body: 'css' });
	const line = await s.gate.access((l) => l.push && l.path === '/a.css');
	assert.equal(line.request_id, id);
});

// covers: R643 R644
scenario('a value is written of what the client has asked for', {
	routes: section('route main', { origin: 'main', 'request-set': 'X-Client: for="{client}";host="{host}";proto={scheme}', 'response-set': 'X-Path: {path}{query}' }),
}, async (s) => {
	const { client, origin } = await opened(s);
	client.request(3, { path: '/a,b?c="d', 'x-client': 'forged' });
	const up = await origin.expectRequest('/a,b?c="d');
	assert.match(up.headers['x-client'], /^for="127\.0\.0\.1";host="[a-z.0-9]+";proto=https?$/);
	origin.respond(up.stream, { body: 'x' });
	assert.equal((await client.response(3)).headers['x-path'], '/a%2Cb?c=%22d');
});
