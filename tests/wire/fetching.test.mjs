/* SPDX-License-Identifier: MIT */
/*
 * What pushgate fetches on its own account, to hold it for requests to come, takes nothing from clients: it is less
 * urgent than they are, has a share of the room and a budget, and ends when nobody waits for it any more.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { samples, scenario, section, until } from '../support/gate.mjs';
import { recordingOrigin, response } from '../support/http1.mjs';

const FRESH = { 'cache-control': 'max-age=60' };
/* An origin that does not push itself: all its requests share one connection. */
const ONE = { push: 'refuse' };
const refusing = { client: { settings: { enablePush: 0 } } };
const names = (n) => Array.from({ length: n }, (_, i) => `/a${i}.css`);
const page = (n, action = 'hold', more = {}) => section('preload page', { path: '/', add: names(n).map((path) => `${path} as=style`) })
	+ section('push all', { action, ...more });
const asked = (origin) => origin.seen('HEADERS').map((f) => f.headers[':path']);
/* The page is asked for, and so many fetches have come behind it. */
async function open(s, n, options = {}) {
	const { client, origin, up } = await s.open({ ...refusing, ...options });
	const fetched = [];
	for (let i = 0; i < n; i++)
		fetched.push(await origin.expectRequest());
	await s.settle(client, origin);
	assert.deepEqual(asked(origin), [], 'no more is fetched');
	return { client, origin, up, fetched };
}
const push = (s, path) => s.gate.access((l) => l.push && l.path === path);

// covers: P-fetch-urgency
scenario('a fetch leaves behind its page, with the lowest urgency; a request that joins it raises that', { origin: ONE, extra: page(1) }, async (s) => {
	const { client, origin, up, fetched: [a] } = await open(s, 1);
	assert.equal(up.headers[':path'], '/');
	assert.equal(up.headers.priority, undefined);
	assert.ok(a.stream > up.stream);
	assert.equal(a.headers.priority, 'u=7');
	client.request(3, { path: '/a0.css', priority: 'u=1, i' });
	const update = await origin.expect('PRIORITY_UPDATE');
	assert.equal(update.payload.readUInt32BE(0), a.stream);
	assert.equal(update.payload.subarray(4).toString(), 'u=1, i');
	origin.respond(a.stream, { fields: FRESH, body: 'css' });
	const got = await client.response(3);
	assert.equal(String(got.body), 'css');
	assert.match(got.headers['cache-status'], /fwd=miss; collapsed/);
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
});

// covers: P-fetch-share
scenario('fetches have their share of a server\'s room, the others wait; one that a request joins goes at once', {
	origins: { main: { settings: { maxConcurrentStreams: 8 } } }, origin: { ...ONE, 'max-connections': 1, 'fetch-share': '25%' }, extra: page(6),
}, async (s) => {
	const { client, origin, up, fetched } = await open(s, 2);
	assert.deepEqual(fetched.map((f) => f.headers[':path']), ['/a0.css', '/a1.css']);
	client.request(3, { path: '/a5.css' });
	const joined = await origin.expectRequest('/a5.css');
	assert.equal(joined.headers.priority, undefined, 'a request waits for it');
	origin.respond(fetched[0].stream, { fields: FRESH, body: 'css' });
	const third = await origin.expectRequest('/a2.css');
	assert.equal(third.headers.priority, 'u=7');
	await s.settle(client, origin);
	assert.deepEqual(asked(origin), []);
	origin.respond(joined.stream, { fields: FRESH, body: 'joined' });
	assert.equal(String((await client.response(3)).body), 'joined');
	client.request(5, { path: '/a0.css' });
	assert.match((await client.response(5)).headers['cache-status'], /; hit; detail=held/);
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
});

// covers: P-fetch-share
scenario('while clients have all the room nothing is fetched, and hints are made all the same', {
	origins: { main: { settings: { maxConcurrentStreams: 2 } } }, origin: { ...ONE, 'max-connections': 1 }, server: { 'status-socket': 'status' },
	extra: page(1, 'hint+hold'),
}, async (s) => {
	const { client, origin, up } = await s.open({ ...refusing, path: '/slow0' });
	client.request(3, { path: '/slow1' });
	const other = await origin.expectRequest('/slow1');
	client.request(5, { path: '/', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' });
	assert.equal((await client.expectHead(5)).headers[':status'], '103');
	const line = await push(s, '/a0.css');
	assert.equal(`${line.verdict} ${line.reason}`, 'hint rule');
	origin.respond(up.stream, { body: 'x' });
	origin.respond(other.stream, { body: 'x' });
	const own = await origin.expectRequest('/');
	origin.respond(own.stream, { body: 'page' });
	for (const id of [1, 3, 5])
		await client.response(id);
	await s.settle(client, origin);
	assert.deepEqual(asked(origin), []);
	assert.equal(s.gate.counters()['pushgate_fetches_refused_total{cause="share"}'], 1);
});

// covers: P-fetch-share
scenario('fetch-share = 0% fetches nothing', { origin: { ...ONE, 'fetch-share': '0%' }, extra: page(1) }, async (s) => {
	const { client, origin, up } = await open(s, 0);
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	assert.equal((await push(s, '/a0.css')).reason, 'fetch-share');
});

/* An origin in HTTP/1.1 that answers nothing by itself. */
const silent = {};
const HTTP1 = (origin, extra) => ({
	origins: { silent }, routes: section('route main', { origin: 'silent' }), extra,
	async prepare(s) {
		s.got = [];
		s.origin = await recordingOrigin({ respond: (m, c) => s.got.push({ path: m.target, c, priority: m.headers.priority }) });
		s.cleanups.push(() => s.origin.close());
		silent.server = `http://127.0.0.1:${s.origin.port}`;
		silent.config = origin;
	},
});
const got = (s, path) => until(`${path} is asked for`, () => s.got.find((r) => r.path === path));

// covers: P-fetch-urgency
scenario('in the queue for connections every request goes before a fetch', HTTP1({ 'max-http1-connections': 1 }, page(1)), async (s) => {
	const client = await s.connect(refusing.client);
	client.request(1, { path: '/' });
	const own = await got(s, '/');
	for (const id of [3, 5])
		client.request(id, { path: `/other${id}` });
	await client.sync();
	assert.equal(s.got.length, 1);
	own.c.send(response(200, [], { body: 'page' }));
	for (const path of ['/other3', '/other5'])
		(await got(s, path)).c.send(response(200, [], { body: 'x' }));
	const fetched = await got(s, '/a0.css');
	assert.equal(fetched.priority, 'u=7');
	assert.deepEqual(s.got.map((r) => r.path), ['/', '/other3', '/other5', '/a0.css']);
	fetched.c.send(response(200, [['Cache-Control', 'max-age=60']], { body: 'css' }));
	client.request(7, { path: '/a0.css' });
	assert.equal(String((await client.response(7)).body), 'css');
});
scenario('in that queue a fetch goes as a request does once one has joined it', HTTP1({ 'max-http1-connections': 1 }, page(1)), async (s) => {
	const client = await s.connect(refusing.client);
	client.request(1, { path: '/' });
	const own = await got(s, '/');
	for (const [id, path] of [[3, '/a0.css'], [5, '/other']]) {
		client.request(id, { path });
		await client.sync();
	}
	own.c.send(response(200, [], { body: 'page' }));
	(await got(s, '/a0.css')).c.send(response(200, [['Cache-Control', 'max-age=60']], { body: 'css' }));
	(await got(s, '/other')).c.send(response(200, [], { body: 'x' }));
	assert.deepEqual(s.got.map((r) => r.path), ['/', '/a0.css', '/other']);
	assert.equal(s.got[1].priority, undefined);
	assert.equal(String((await client.response(3)).body), 'css');
});

// covers: P-fetch-share
scenario('fetches take no places in the queue from requests', HTTP1({ 'max-http1-connections': 3, 'max-queue': 1, 'fetch-share': '100%' }, page(2)), async (s) => {
	const client = await s.connect(refusing.client);
	for (const [id, path] of [[1, '/slow1'], [3, '/slow3'], [5, '/']]) {
		client.request(id, { path });
		await got(s, path);
	}
	client.request(7, { path: '/waits' });
	await client.sync();
	for (const path of ['/slow1', '/slow3', '/'])
		(await got(s, path)).c.send(response(200, [], { body: 'x' }));
	(await got(s, '/waits')).c.send(response(200, [], { body: 'x' }));
	for (const id of [1, 3, 5, 7])
		assert.equal((await client.response(id)).status, 200);
});

// covers: P-fetch-left
scenario('a client that gives the page up: what was fetched for it and not joined is cancelled', { origin: ONE, extra: page(3) }, async (s) => {
	const { client, origin, up, fetched } = await open(s, 3);
	client.request(3, { path: '/a1.css' });
	origin.headers(fetched[2].stream, { ':status': 200, ...FRESH }).data(fetched[2].stream, 'half');
	await s.settle(client, origin);
	client.rst(1, 'CANCEL');
	await origin.expectReset(up.stream, 'CANCEL');
	await origin.expectReset(fetched[0].stream, 'CANCEL');
	await origin.expectReset(fetched[2].stream, 'CANCEL');
	const line = await push(s, '/a0.css');
	assert.equal(line.end_reason, 'page-left');
	origin.respond(fetched[1].stream, { fields: FRESH, body: 'joined' });
	assert.equal(String((await client.response(3)).body), 'joined');
});
scenario('what was fetched wholly stays when the page is given up', { origin: ONE, extra: page(1) }, async (s) => {
	const { client, origin, up, fetched } = await open(s, 1);
	origin.respond(fetched[0].stream, { fields: FRESH, body: 'css' });
	await s.settle(client, origin);
	client.rst(1, 'CANCEL');
	await origin.expectReset(up.stream, 'CANCEL');
	client.request(3, { path: '/a0.css' });
	assert.match((await client.response(3)).headers['cache-status'], /; hit; detail=held/);
});
scenario('a client that goes away: its fetches are cancelled', { origin: ONE, extra: page(2) }, async (s) => {
	const { client, origin, fetched } = await open(s, 2);
	client.close();
	for (const f of fetched)
		await origin.expectReset(f.stream, 'CANCEL');
});
scenario('an origin in HTTP/1.1 sees the connections of such fetches close', HTTP1({}, page(2)), async (s) => {
	const client = await s.connect(refusing.client);
	client.request(1, { path: '/' });
	const two = [await got(s, '/a0.css'), await got(s, '/a1.css')];
	client.rst(1, 'CANCEL');
	await until('both are closed', () => two.every((r) => r.c.end !== undefined && r.c.end !== null));
});

// covers: P-fetch-budget
scenario('above fetch-budget of bytes that nobody has asked for nothing is fetched', {
	origin: { ...ONE, 'fetch-budget': '1k' }, server: { 'status-socket': 'status' },
	extra: ['one', 'two', 'three', 'four'].map((n) => section(`preload ${n}`, { path: `/${n}`, add: `/${n}.css as=style` })).join('')
		+ section('push all', { action: 'hold' }),
}, async (s) => {
	const client = await s.connect(refusing.client);
	let id = -1, origin;
	/* A page; what was fetched for it has this length, announced or not. */
	const visit = async (name, length, { announced = true } = {}) => {
		client.request(id += 2, { path: `/${name}` });
		origin ??= await s.accept();
		const page = await origin.expectRequest(`/${name}`);
		if (length) {
			const asked = await origin.expectRequest(`/${name}.css`);
			origin.headers(asked.stream, { ':status': 200, ...FRESH, ...(announced ? { 'content-length': length } : {}) })
				.data(asked.stream, Buffer.alloc(length), { endStream: true });
		}
		origin.respond(page.stream, { body: 'page' });
		await client.response(id);
		await s.settle(client, origin);
		assert.deepEqual(asked(origin), []);
	};
	for (const announced of [true, false]) { /* what a request claims does not count */
		await visit('one', 5000, { announced });
		client.request(id += 2, { path: '/one.css' });
		assert.equal((await client.response(id)).body.length, 5000);
		await client.sync();
		client.request(id += 2, { path: '/one.css', method: 'DELETE' }); /* the client has it no more */
		const drop = await origin.expectRequest('/one.css');
		origin.respond(drop.stream, { status: 204 });
		await client.response(id);
	}
	await visit('two', 800);
	await visit('three', 800);
	await visit('four', 0);
	assert.equal((await push(s, '/four.css')).reason, 'fetch-budget');
	assert.equal(s.gate.counters()['pushgate_fetches_refused_total{cause="budget"}'], 1);
});

// covers: P-fetch-budget
scenario('what is asked for and given up counts too, before any byte has come', { origin: { ...ONE, 'fetch-budget': '1k' }, extra: page(2) }, async (s) => {
	const { client, origin, up, fetched } = await open(s, 2);
	client.rst(1, 'CANCEL');
	for (const f of [up, ...fetched])
		await origin.expectReset(f.stream, 'CANCEL');
	client.request(3, { path: '/' });
	await origin.expectRequest('/');
	await s.settle(client, origin);
	assert.deepEqual(asked(origin), []);
	assert.ok(await s.gate.access((l) => l.push && l.reason === 'fetch-budget'));
});
scenario('a response without a body gives nothing of the budget back', {
	origin: { ...ONE, 'fetch-budget': '4k' },
	extra: ['one', 'none', 'two', 'three'].map((n) => section(`preload ${n}`, { path: `/${n}`, add: `/${n}.css as=style` })).join('')
		+ section('push all', { action: 'hold' }),
}, async (s) => {
	const client = await s.connect(refusing.client);
	let id = -1, origin;
	for (const name of ['one', 'none', 'two', 'three']) {
		client.request(id += 2, { path: `/${name}` });
		origin ??= await s.accept();
		const page = await origin.expectRequest(`/${name}`);
		if (name !== 'three') {
			const { stream } = await origin.expectRequest(`/${name}.css`);
			if (name === 'none')
				origin.headers(stream, { ':status': 204, ...FRESH, 'content-length': 1 }, { endStream: true });
			else
				origin.respond(stream, { fields: { ...FRESH, 'content-length': 2500 }, body: Buffer.alloc(2500) });
		}
		origin.respond(page.stream, { body: 'page' });
		await client.response(id);
		await s.settle(client, origin);
		if (name === 'none') { /* the end of the held response is the end of the fetch */
			client.request(id += 2, { path: '/none.css', method: 'DELETE' });
			const drop = await origin.expectRequest('/none.css');
			origin.respond(drop.stream, { status: 204 });
			await client.response(id);
		}
	}
	await s.settle(client, origin);
	assert.deepEqual(asked(origin), []);
	assert.equal((await push(s, '/three.css')).reason, 'fetch-budget');
});

/* ---- one fetch for many clients ---- */

const SHARED = { origin: ONE, server: { 'hold-shared': 'yes', 'status-socket': 'status' }, extra: page(1) };
/* Two clients ask for the page at the same time. The fetch is the first one's. */
async function together(s, headers = {}, from = null) {
	const first = await s.connect(refusing.client), second = await s.connect(refusing.client);
	first.request(1, { path: '/', ...headers });
	const origin = from ?? await s.accept();
	const pages = [await origin.expectRequest('/')];
	const fetched = await origin.expectRequest('/a0.css');
	second.request(1, { path: '/', ...headers });
	pages.push(await origin.expectRequest('/'));
	await s.settle(first, second, origin);
	assert.deepEqual(asked(origin), [], 'nothing is asked for twice');
	return { first, second, origin, pages, fetched };
}

// covers: P-fetch-once
scenario('clients whose pages come at the same time share a fetch that is for all', SHARED, async (s) => {
	const { first, second, origin, fetched } = await together(s);
	second.request(3, { path: '/a0.css' });
	await second.sync();
	first.request(3, { path: '/a0.css' });
	await s.settle(first, second, origin);
	assert.deepEqual(asked(origin), []);
	origin.respond(fetched.stream, { fields: { 'cache-control': 'public, max-age=60' }, body: 'css' });
	for (const client of [first, second]) {
		const got = await client.response(3);
		assert.equal(String(got.body), 'css');
		assert.match(got.headers['cache-status'], /fwd=miss; collapsed; detail=held/);
	}
	assert.equal((await s.gate.access((l) => l.push && l.verdict === 'drop')).reason, 'duplicate');
	second.request(5, { path: '/a0.css' });
	assert.match((await second.response(5)).headers['cache-status'], /; hit; detail=held/);
});

// covers: P-fetch-once
scenario('what turns out to be for one client alone is asked for by the other, and then not waited for any more', SHARED, async (s) => {
	const { first, second, origin, pages, fetched } = await together(s);
	second.request(3, { path: '/a0.css' });
	await s.settle(second, origin);
	assert.deepEqual(asked(origin), []);
	origin.headers(fetched.stream, { ':status': 200, 'cache-control': 'private, max-age=60' }).data(fetched.stream, 'first');
	const own = await origin.expectRequest('/a0.css');
	origin.respond(own.stream, { fields: { 'cache-control': 'private, max-age=60' }, body: 'second' });
	const got = await second.response(3);
	assert.equal(String(got.body), 'second');
	assert.match(got.headers['cache-status'], /outside/);
	origin.data(fetched.stream, '!', { endStream: true });
	first.request(3, { path: '/a0.css' });
	assert.equal(String((await first.response(3)).body), 'first!');
	for (const p of pages)
		origin.respond(p.stream, { body: 'page' });
	const third = await s.connect(refusing.client), fourth = await s.connect(refusing.client);
	for (const client of [third, fourth]) {
		client.request(1, { path: '/' });
		await origin.expectRequest('/');
		await origin.expectRequest('/a0.css');
	}
});
scenario('what was fetched for a client with a password does not keep others from sharing theirs', SHARED, async (s) => {
	const own = await s.connect(refusing.client);
	own.request(1, { path: '/', authorization: 'Basic dTpw' });
	const origin = await s.accept();
	const page = await origin.expectRequest('/');
	origin.respond((await origin.expectRequest('/a0.css')).stream, { fields: FRESH, body: 'own' });
	origin.respond(page.stream, { body: 'page' });
	await own.response(1);
	const { second, fetched } = await together(s, {}, origin);
	second.request(3, { path: '/a0.css' });
	await s.settle(second, origin);
	assert.deepEqual(asked(origin), []);
	origin.respond(fetched.stream, { fields: FRESH, body: 'css' });
	assert.equal(String((await second.response(3)).body), 'css');
});
scenario('the client for which it is fetched goes away: the others ask the origin', SHARED, async (s) => {
	const { first, second, origin, fetched } = await together(s);
	second.request(3, { path: '/a0.css' });
	await s.settle(second, origin);
	first.close();
	await origin.expectReset(fetched.stream, 'CANCEL');
	const own = await origin.expectRequest('/a0.css');
	origin.respond(own.stream, { fields: { 'cache-control': 'public, max-age=60' }, body: 'css' });
	assert.equal(String((await second.response(3)).body), 'css');
});
scenario('a page that is given up does not take the fetch from another client that relies on it', SHARED, async (s) => {
	const { first, second, origin, pages, fetched } = await together(s);
	first.rst(1, 'CANCEL');
	await origin.expectReset(pages[0].stream, 'CANCEL');
	await s.settle(first, origin);
	origin.respond(fetched.stream, { fields: { 'cache-control': 'public, max-age=60' }, body: 'css' });
	await s.settle(first, origin);
	second.request(3, { path: '/a0.css' });
	assert.match((await second.response(3)).headers['cache-status'], /; hit; detail=held/);
});
scenario('without hold-shared each client has a fetch of its own', { origin: ONE, extra: page(1) }, async (s) => {
	const first = await s.connect(refusing.client), second = await s.connect(refusing.client);
	first.request(1, { path: '/' });
	const origin = await s.accept();
	await origin.expectRequest('/a0.css');
	second.request(1, { path: '/' });
	await origin.expectRequest('/a0.css');
});

/* ---- min-used ---- */

const LOAD = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const HINTED = {
	origin: ONE, server: { 'diary-entries': 0, 'status-socket': 'status' }, extra: page(1, 'hint', { 'min-used': '50%', 'min-sample': 2 }),
};
/* A page load; whether it got a hint. */
async function load(client, origin, id) {
	client.request(id, { path: '/', ...LOAD });
	const up = await origin.expectRequest('/');
	origin.respond(up.stream, { body: 'page' });
	const head = await client.expectHead(id);
	const isHinted = head.headers[':status'] === '103';
	if (isHinted)
		await client.response(id);
	return isHinted;
}
const events = (s, event) => s.gate.counters()[`pushgate_rule_total{rule="all",event="${event}"}`] ?? 0;

// covers: P-hint-used
scenario('a hint whose resource the client then requests counts as used, once', HINTED, async (s) => {
	const { client, origin, up } = await s.open({ ...refusing, request: LOAD });
	assert.equal((await client.expectHead(1)).headers[':status'], '103');
	for (const id of [3, 5]) {
		client.request(id, { path: '/a0.css' });
		const asked = await origin.expectRequest('/a0.css');
		origin.respond(asked.stream, { body: 'css' });
		await client.response(id);
	}
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	assert.deepEqual([events(s, 'awaited'), events(s, 'followed'), events(s, 'ignored')], [1, 1, 0]);
	assert.equal(s.gate.counters()['pushgate_rule_used_ratio{rule="all"}'], 1);
});
scenario('a rule whose hints are not followed pauses', HINTED, async (s) => {
	const { client, origin, up } = await s.open({ ...refusing, request: LOAD });
	assert.equal((await client.expectHead(1)).headers[':status'], '103');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	let id = 1;
	await until('the rule pauses', async () => !await load(client, origin, id += 2));
	await s.gate.error(/push all: too little of what it pushed was of use/);
	await s.gate.access((l) => l.push && l.reason === 'paused');
	assert.ok(events(s, 'ignored') >= 2);
});

/* ---- what the browser has ---- */

// covers: P-src-revalidation
for (const [name, fields] of [['of a reload', { 'cache-control': 'max-age=0' }], ['of a validator', { 'if-none-match': '"1"' }],
	['of a reload without cache', { 'cache-control': 'no-cache', pragma: 'no-cache' }]]) {
	scenario(`nothing is fetched or hinted for a page load ${name}`, { origin: ONE, extra: page(2, 'hint+hold') }, async (s) => {
		const { client, origin, up } = await s.open({ ...refusing, request: { ...LOAD, ...fields } });
		await s.settle(client, origin);
		assert.deepEqual(asked(origin), []);
		origin.respond(up.stream, { body: 'page' });
		assert.equal((await client.expectHead(1)).headers[':status'], '200');
		assert.equal((await push(s, '/a0.css')).reason, 'revalidation');
	});
}

// covers: P-src-once
const KNOWN = { 'diary-cookie': 'seen' };
scenario('a visit with the cookie of the diary fetches nothing that the browser has and can use', {
	origin: ONE, server: KNOWN, extra: page(2),
	prepare(s) {
		KNOWN['diary-cookie-key'] = path.join(s.dir, 'diary.key');
		fs.writeFileSync(KNOWN['diary-cookie-key'], 'the secret of the diary');
	},
}, async (s) => {
	const { client, origin, up, fetched } = await open(s, 2, { request: LOAD });
	for (const f of fetched)
		origin.respond(f.stream, { fields: { ...FRESH, etag: '"1"' }, body: 'css' });
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	for (const [id, path] of [[3, '/a0.css'], [5, '/a1.css']]) {
		client.request(id, { path });
		assert.match((await client.response(id)).headers['cache-status'], /hit/);
	}
	client.request(7, { path: '/next', ...LOAD });
	const next = await origin.expectRequest('/next');
	origin.respond(next.stream, { body: 'page' });
	const cookie = (await client.response(7)).headers['set-cookie'].split(';')[0];
	const again = await s.connect(refusing.client);
	again.request(1, { path: '/', ...LOAD, cookie });
	const page = await origin.expectRequest('/');
	await s.settle(again, origin);
	assert.deepEqual(asked(origin), []);
	origin.respond(page.stream, { body: 'page' });
	await again.response(1);
	assert.equal((await s.gate.access((l) => l.push && l.verdict === 'drop')).reason, 'known');
});
