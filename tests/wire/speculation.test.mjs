/* SPDX-License-Identifier: MIT */
/* Loads that browsers make ahead of a navigation: refused rather than kept waiting; and the rules for which they make them. */
import assert from 'node:assert/strict';
import http from 'node:http';
import { freePort, scenario, section, until } from '../support/gate.mjs';
import { nodeOrigin } from '../support/node.mjs';

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

scenario('a load takes none of the room that the origin keeps for others', {
	...NARROW, origin: { 'max-connections': 1, 'speculation-share': '50%' }, origins: { main: { settings: { maxConcurrentStreams: 8 } } },
}, async (s) => {
	const { client, origin, up } = await s.open(); /* the first request waits for the SETTINGS */
	const ask = async (id, fields = {}) => { client.request(id, { path: `/${id}`, ...fields }); return origin.expectRequest(`/${id}`); };
	const busy = [up, await ask(3), await ask(5), await ask(7, LOAD)]; /* of eight streams four are taken */
	client.request(9, { path: '/9', ...LOAD });
	assert.equal((await client.response(9)).headers[':status'], '503');
	assert.equal((await logged(s, '/9')).detail, 'speculation-no-room');
	busy.push(await ask(11));
	for (const { stream } of busy.slice(0, 2))
		origin.respond(stream);
	await client.response(1);
	await client.response(3);
	origin.respond((await ask(13, LOAD)).stream);
	assert.equal((await client.response(13)).headers[':status'], '200', 'three are taken');
});

const http1Port = await freePort();
scenario('of an origin with HTTP/1.1 a load takes no connection that others may need', {
	...NARROW, origin: { 'max-http1-connections': 4 }, origins: { main: { server: `http://127.0.0.1:${http1Port}` } },
}, async (s) => {
	const open = [];
	const server = http.createServer((request, response) => open.push(response)).listen(http1Port, '127.0.0.1');
	s.cleanups.push(() => { server.closeAllConnections(); server.close(); });
	const client = await s.connect();
	for (const [id, count] of [[1, 1], [3, 2]]) {
		client.request(id, { path: `/${id}`, ...LOAD });
		await until('the origin has it', () => open.length === count);
	}
	client.request(5, { path: '/5', ...LOAD });
	assert.equal((await client.response(5)).headers[':status'], '503', 'two of four are taken');
	client.request(7, { path: '/7' });
	await until('a navigation is served', () => open.length === 3);
	for (const response of open)
		response.end('page');
	for (const id of [1, 3, 7])
		assert.equal((await client.response(id)).headers[':status'], '200');
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

/* ---- rules ---- */

const RULES = '/.well-known/pushgate/speculation?page=';
const DOCUMENT = { 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' };
const HTML = { 'content-type': 'text/html' };
const SITE = {
	routes: section('route main', { origin: 'main', speculation: 'prerender', 'speculation-eagerness': 'moderate', 'speculation-deny': '/secret/*' }) +
		section('route fetched', { origin: 'main', path: '/fetched', speculation: 'prefetch' }) +
		section('route off', { origin: 'main', path: '/off' }),
};

/* One request of a client at an address of its own, answered by the origin. */
async function load(s, address, path, fields = {}, answer = {}) {
	const client = await s.connect({ localAddress: address });
	client.request(1, { path, ...DOCUMENT, ...fields });
	s.origin ??= await s.accept();
	const up = await s.origin.expectRequest(path);
	s.origin.respond(up.stream, { body: 'page', ...answer, fields: { ...HTML, ...answer.fields } });
	return (await client.response(1)).headers;
}

/* As many clients as must agree go from one page to another. */
async function follow(s, from, to, fields = {}, answer = {}) {
	for (const n of [1, 2, 3])
		await load(s, `127.0.0.${n}`, to, { referer: `http://localhost:${s.port}${from}`, ...fields }, answer);
}

/* What pushgate answers by itself. */
async function rules(s, page, fields = {}) {
	const client = await s.connect();
	client.request(1, { path: `${RULES}${encodeURIComponent(page).replaceAll('%2F', '/')}`, ...fields });
	const { headers, body } = await client.response(1);
	assert.equal(headers[':status'], '200');
	assert.equal(headers['content-type'], 'application/speculationrules+json');
	assert.equal(headers['cache-control'], 'private, max-age=300');
	assert.equal(headers.vary, 'cookie');
	return JSON.parse(String(body));
}

scenario('a page names rules when three clients have gone on from it, and these say where', SITE, async (s) => {
	for (const n of [1, 2])
		await load(s, `127.0.0.${n}`, '/next', { referer: `http://localhost:${s.port}/page?a=%22` });
	assert.equal((await load(s, '127.0.0.9', '/page?a=%22'))['speculation-rules'], undefined);
	assert.deepEqual(await rules(s, '/page?a=%22'), {});
	await load(s, '127.0.0.3', '/next', { referer: `http://localhost:${s.port}/page?a=%22` });
	assert.equal((await load(s, '127.0.0.9', '/page?a=%22'))['speculation-rules'], `"${RULES}/page%3Fa%3D%2522"`);
	assert.deepEqual(await rules(s, '/page?a=%22'), {
		tag: 'pushgate', prerender: [{ source: 'list', urls: ['/next'], eagerness: 'moderate' }],
	});
	const lengths = [];
	for (const method of ['GET', 'HEAD']) {
		const client = await s.connect();
		client.request(1, { method, path: `${RULES}/page%3Fa%3D%2522` });
		lengths.push((await client.response(1)).headers['content-length']);
	}
	assert.equal(lengths[0], lengths[1]);
	assert.equal((await load(s, '127.0.0.9', '/page'))['speculation-rules'], undefined, 'another page');
	assert.equal((await load(s, '127.0.0.9', '/next'))['speculation-rules'], undefined);
	/* Only documents that have none of their own. */
	const none = (fields, answer) => load(s, '127.0.0.9', '/page?a=%22', fields, answer).then((h) => h['speculation-rules']);
	assert.equal(await none({ 'sec-fetch-dest': 'iframe' }), undefined);
	assert.equal(await none({ 'sec-fetch-dest': 'empty' }), undefined);
	assert.equal(await none({}, { status: 404 }), undefined);
	assert.equal(await none({}, { fields: { 'content-type': 'text/plain' } }), undefined);
	assert.equal(await none({}, { fields: { 'speculation-rules': '"/own.json"' } }), '"/own.json"');
});

scenario('nothing is named that does something, is denied, or is of a route without speculation', SITE, async (s) => {
	/* A vote adds few pages: each case has a page of its own. */
	const cases = [
		...['/logout', '/shop/add-to-cart', '/Admin/', '/secret/x', '/off', '/fetched', '/d?e=f'].map((to) => [to]),
		['/a', {}, { fields: { 'cache-control': 'no-store' } }], ['/b', {}, { status: 404 }],
		['/c', {}, { fields: { 'content-type': 'application/pdf' } }], ['/g', { authorization: 'Basic eDp5' }],
		['/h', { 'sec-fetch-dest': 'iframe' }], ['/users/alice', { cookie: 'name=alice' }],
	];
	for (const [i, [to, fields, answer]] of cases.entries()) {
		await follow(s, `/page${i}`, to, fields, answer);
		assert.deepEqual(await rules(s, `/page${i}`), {}, to);
		assert.equal((await load(s, '127.0.0.9', `/page${i}`))['speculation-rules'], undefined, to);
		await follow(s, `/other${i}`, `/shown${i}`); /* nothing else is in the way */
		assert.equal((await rules(s, `/other${i}`)).prerender[0].urls[0], `/shown${i}`);
	}
	/* From a page of a route that is only fetched to one that may be rendered. */
	await follow(s, '/fetched', '/shown');
	assert.deepEqual(await rules(s, '/fetched'), {
		tag: 'pushgate', prefetch: [{ source: 'list', urls: ['/shown'], eagerness: 'conservative' }],
	});
	assert.equal((await load(s, '127.0.0.9', '/fetched'))['speculation-rules'], `"${RULES}/fetched"`);
});

scenario('a path of rules that is none, or of a page without them, goes to the origin', SITE, async (s) => {
	for (const path of [`${RULES}/off`, `${RULES}x`, RULES, `${RULES}/%0a`, '/.well-known/pushgate/speculation', '/.well-known/pushgate/'])
		assert.equal((await load(s, '127.0.0.1', path))[':status'], '200');
	const client = await s.connect();
	client.request(1, { method: 'POST', path: `${RULES}/page` });
	s.origin.respond((await s.origin.expectRequest(`${RULES}/page`)).stream, { body: 'posted' });
	assert.equal(String((await client.response(1)).body), 'posted');
	client.request(3, { method: 'HEAD', path: `${RULES}/page` });
	assert.equal((await client.response(3)).headers['content-type'], 'application/speculationrules+json');
	assert.equal((await logged(s, `${RULES}/page`)).detail, undefined);
});

scenario('what is told does not confirm itself: only what somebody is about to open counts', {
	routes: SITE.routes.replace('moderate', 'eager'),
}, async (s) => {
	await follow(s, '/page', '/next', LOAD);
	assert.deepEqual(await rules(s, '/page'), {});
	await follow(s, '/fetched', '/fetched/next', LOAD); /* conservative */
	assert.equal((await rules(s, '/fetched')).prefetch[0].urls[0], '/fetched/next');
});

scenario('clients count behind a proxy that names them, and not behind another', {
	...SITE, listen: { trusted: '127.0.0.4', 'client-address': 'x-forwarded-for' },
}, async (s) => {
	const through = async (proxy) => {
		for (const n of [1, 2, 3])
			await load(s, proxy, '/next', { referer: `http://localhost:${s.port}/page`, 'x-forwarded-for': `192.0.2.${n}`, via: '1.1 proxy' });
	};
	await through('127.0.0.5');
	assert.deepEqual(await rules(s, '/page'), {});
	await through('127.0.0.4');
	assert.deepEqual((await rules(s, '/page')).prerender[0].urls, ['/next']);
});

scenario('access rules hold for what rules tell', {
	...SITE, listen: { access: 'lab' },
	extra: section('access lab', { deny: 'path=/hidden', allow: 'all' }),
}, async (s) => {
	const client = await s.connect();
	client.request(1, { path: `${RULES}/hidden` });
	s.origin = await s.accept();
	s.origin.respond((await s.origin.expectRequest(`${RULES}/hidden`)).stream, { body: 'as any' });
	await client.response(1);
	await follow(s, '/page', '/next');
	assert.equal((await rules(s, '/page')).prerender[0].urls[0], '/next');
});

const port = await freePort();
scenario('what clients of one worker teach, all workers tell', {
	...SITE, single: false, server: { workers: 2 }, origins: { main: { server: `h2c://127.0.0.1:${port}` } },
}, async (s) => {
	await nodeOrigin(s, port, (stream) => {
		stream.respond({ ':status': 200, 'content-type': 'text/html' });
		stream.end('page');
	});
	const ask = async (path, fields, localAddress) => {
		const client = await s.connect({ localAddress });
		client.request(1, { path, ...DOCUMENT, ...fields });
		return String((await client.response(1)).body);
	};
	/* No URI has such a byte. No worker loses its way to the files process by it. */
	for (let i = 0; i < 8; i++)
		await ask('/next', { referer: `http://localhost:${s.port}/page?q=\xff` });
	for (const n of [1, 2, 3])
		await ask('/next', { referer: `http://localhost:${s.port}/page` }, `127.0.0.${n}`);
	const tellers = new Set();
	let count = 0;
	await until('both workers tell it', async () => {
		const name = `asks/${++count}`;
		if ((await ask(`${RULES}/page`, { 'user-agent': name })).includes('"/next"'))
			tellers.add((await s.gate.access((l) => l.user_agent === name)).worker);
		return tellers.size === 2;
	}, 60_000);
});

scenario('off by default', {}, async (s) => {
	await follow(s, '/page', '/next');
	assert.equal((await load(s, '127.0.0.9', '/page'))['speculation-rules'], undefined);
	assert.equal((await load(s, '127.0.0.9', `${RULES}/page`))[':status'], '200');
});
