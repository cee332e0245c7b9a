/* SPDX-License-Identifier: MIT */
/* Loads that browsers make ahead of a navigation: refused rather than kept waiting, and seen in the log. */
import assert from 'node:assert/strict';
import { scenario, section } from '../support/gate.mjs';

const LOAD = { 'sec-purpose': 'prefetch', 'sec-speculation-tags': '"pushgate"' };
const NARROW = {
	origin: { 'max-connections': 1 }, origins: { main: { settings: { maxConcurrentStreams: 1 } } },
	server: { 'status-socket': 'status' },
	routes: section('route main', { origin: 'main', speculation: 'prefetch' }) +
		section('route off', { origin: 'main', path: '/off' }),
};
const logged = (s, path) => s.gate.access((l) => l.path === path);

scenario('a load ahead of a navigation gets 503 at once when the origin has no room, and nobody else does', NARROW, async (s) => {
	const { client, origin, up } = await s.open({ request: LOAD });
	for (const [id, purpose] of ['prefetch', 'prefetch;prerender', 'prefetch; anonymous-client-ip'].entries()) {
		client.request(3 + 2 * id, { path: `/${id}`, 'sec-purpose': purpose });
		const { headers } = await client.response(3 + 2 * id);
		assert.equal(headers[':status'], '503');
		assert.equal(headers['retry-after'], '1');
		assert.equal(headers['cache-control'], 'no-store');
		assert.match(headers['proxy-status'], /error=connection_limit_reached/);
		assert.equal((await logged(s, `/${id}`)).detail, 'speculation-no-room');
	}
	/* These wait: a navigation, a purpose that nobody has defined, and a load in a route without the option. */
	client.request(11, { path: '/page' }).request(13, { path: '/other', 'sec-purpose': 'x' }).request(15, { path: '/off', ...LOAD });
	await s.settle(client, origin);
	origin.respond(up.stream, { body: 'first' });
	assert.equal(String((await client.response(1)).body), 'first', 'there was room for this one');
	for (const [id, path] of [[11, '/page'], [13, '/other'], [15, '/off']]) {
		origin.respond((await origin.expectRequest(path)).stream, { body: path });
		assert.equal(String((await client.response(id)).body), path);
	}
	client.request(17, { path: '/again', ...LOAD });
	origin.respond((await origin.expectRequest('/again')).stream, { body: 'again' });
	assert.equal((await client.response(17)).headers[':status'], '200', 'and there is room again');
	const counters = s.gate.counters();
	assert.equal(counters.requests_speculative, 5, JSON.stringify(counters));
});

scenario('of several requests in flight that a server may have, the last is no load of this kind', {
	...NARROW, origin: { 'max-requests': 1 }, origins: { main: {} },
}, async (s) => {
	const { client, origin, up } = await s.open();
	client.request(3, { path: '/load', ...LOAD });
	assert.equal((await client.response(3)).headers[':status'], '503');
	origin.respond(up.stream);
	await client.response(1);
});

scenario('a load waits for a connection that is being opened', NARROW, async (s) => {
	const { client, origin, up } = await s.open({ request: { ...LOAD, 'sec-purpose': 'prefetch;prerender' } });
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
});

scenario('the log has the tags of rules that have caused a load, in routes with speculation', NARROW, async (s) => {
	const { client, origin, up } = await s.open({ path: '/load', request: LOAD });
	origin.respond(up.stream);
	await client.response(1);
	client.request(3, { path: '/page' });
	origin.respond((await origin.expectRequest('/page')).stream);
	await client.response(3);
	client.request(5, { path: '/off', ...LOAD });
	origin.respond((await origin.expectRequest('/off')).stream);
	await client.response(5);
	assert.equal((await logged(s, '/load')).speculation_tags, '"pushgate"');
	assert.equal((await logged(s, '/page')).speculation_tags, undefined);
	assert.equal((await logged(s, '/off')).speculation_tags, undefined);
});
