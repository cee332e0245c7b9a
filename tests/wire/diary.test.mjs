/* SPDX-License-Identifier: MIT */
/*
 * What a client has is not pushed to it again: on its connection, on the next one by a cookie, and not where the
 * resource became another one. And what came of a rule's pushes: counted, and the rule pauses.
 */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Scenario, freePort, scenario, section, until } from '../support/gate.mjs';

const ASSETS = Array.from({ length: 20 }, (_, i) => `/asset${i}.css`);
const VISIT = { 'sec-fetch-mode': 'navigate' };

/* The origin answers a page with a push of each asset; a promise that is reset is left alone. */
function pushing(version = () => '"1"', assets = ASSETS, fields = () => ({ etag: version() })) {
	return async (s, origin, up) => {
		origin.lastPush ??= 0;
		const promised = assets.map((path) => {
			origin.push(up, (origin.lastPush += 2), path);
			return origin.lastPush;
		});
		await s.settle(origin);
		for (const id of promised)
			if (origin.seen('RST_STREAM', { stream: id }).length === 0)
				origin.respond(id, { fields: fields(), body: 'asset' });
		origin.respond(up.stream, { body: 'page' });
	};
}

/* One visit: what was promised to the client, all of it taken, and the page's response. */
async function visit(s, client, origin, stream, serve, fields = {}) {
	client.request(stream, { path: `/page${stream}`, ...VISIT, ...fields });
	const up = await origin.expectRequest(`/page${stream}`);
	await serve(s, origin, up);
	const page = await client.response(stream);
	const promises = client.seen('PUSH_PROMISE', { stream });
	for (const p of promises)
		await client.response(p.promised);
	client.drop((f) => f.type === 'PUSH_PROMISE');
	await s.settle(client, origin);
	return { page, paths: promises.map((p) => p.headers[':path']), promises, up };
}

/* A client, its origin connection, and its first page. */
async function first(s, serve, { fields = {} } = {}) {
	const client = await s.connect();
	client.request(1, { path: '/page1', ...VISIT, ...fields });
	const origin = await s.accept();
	const up = await origin.expectRequest('/page1');
	await serve(s, origin, up);
	const page = await client.response(1);
	const promises = client.seen('PUSH_PROMISE');
	for (const p of promises)
		await client.response(p.promised);
	client.drop((f) => f.type === 'PUSH_PROMISE');
	await s.settle(client, origin);
	return { client, origin, page, paths: promises.map((p) => p.headers[':path']), up };
}

const cookieOf = (page) => page.headers['set-cookie'];
const pairOf = (setCookie) => setCookie.split(';')[0];

// covers: P-src-once P-src-no-chain P-num-log
scenario('what was pushed on a connection is not pushed to it again', async (s) => {
	const serve = pushing();
	const { client, origin, paths } = await first(s, serve);
	assert.deepEqual(paths, ASSETS);
	assert.deepEqual((await visit(s, client, origin, 3, serve)).paths, []);
	const line = await s.gate.access((l) => l.push && l.verdict === 'drop');
	assert.equal(line.reason, 'known');
});

// covers: P-src-once
scenario('the diary can be switched off', { server: { 'diary-entries': 0 } }, async (s) => {
	const serve = pushing();
	const { client, origin } = await first(s, serve);
	assert.deepEqual((await visit(s, client, origin, 3, serve)).paths, ASSETS);
});

// covers: P-src-once
scenario('a diary that is full forgets what it learned first', { server: { 'diary-entries': 5 } }, async (s) => {
	const serve = pushing();
	const { client, origin } = await first(s, serve);
	const some = pushing(undefined, ASSETS.slice(15));
	assert.deepEqual((await visit(s, client, origin, 3, some)).paths, []);
	assert.deepEqual((await visit(s, client, origin, 5, pushing(undefined, ['/asset0.css']))).paths, ['/asset0.css']);
});

// covers: P-src-once
scenario('a push that failed is not known', async (s) => {
	const { client, origin, up } = await s.open({ path: '/page1' });
	origin.push(up, 2, '/a.css');
	const promise = await client.expectPromise('/a.css');
	origin.rst(2, 'INTERNAL_ERROR');
	await client.expectReset(promise.promised);
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	origin.lastPush = 2;
	assert.deepEqual((await visit(s, client, origin, 3, pushing(undefined, ['/a.css']))).paths, ['/a.css']);
});

// covers: P-src-once
scenario('what may not be stored is not known, and pushed each time', async (s) => {
	const { client, origin, up } = await s.open({ path: '/page1' });
	origin.push(up, 2, '/api');
	origin.respond(2, { fields: { 'cache-control': 'no-store' }, body: '{}' });
	origin.respond(up.stream, { body: 'page' });
	await client.response((await client.expectPromise('/api')).promised);
	await client.response(1);
	origin.lastPush = 2;
	assert.deepEqual((await visit(s, client, origin, 3, pushing(undefined, ['/api']))).paths, ['/api']);
});

// covers: P-make-client-reset P-src-once
scenario('a client that resets a push teaches the diary', async (s) => {
	const { client, origin, up } = await s.open({ path: '/page1' });
	origin.push(up, 2, '/a.css');
	const promise = await client.expectPromise('/a.css');
	client.rst(promise.promised, 'CANCEL');
	await origin.expectReset(2, 'CANCEL');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	origin.lastPush = 2;
	assert.deepEqual((await visit(s, client, origin, 3, pushing(undefined, ['/a.css']))).paths, []);
});

// covers: P-src-once
scenario('what the client asked for itself is not pushed to it', async (s) => {
	const { client, origin } = await first(s, pushing(undefined, ['/first.css']));
	for (const [stream, path, fields] of [[3, '/etag.css', { etag: '"x"' }], [5, '/fresh.css', { 'cache-control': 'max-age=60' }],
		[7, '/neither.css', {}], [9, '/missing.css', undefined]]) {
		client.request(stream, { path });
		const asked = await origin.expectRequest(path);
		origin.respond(asked.stream, fields ? { fields, body: 'x' } : { status: 404, body: 'no' });
		await client.response(stream);
	}
	const serve = pushing(undefined, ['/etag.css', '/fresh.css', '/neither.css', '/missing.css']);
	assert.deepEqual((await visit(s, client, origin, 11, serve)).paths, ['/neither.css', '/missing.css']);
});

// covers: P-src-once
scenario('an ETag that changed makes a resource unknown again', async (s) => {
	let version = '"1"';
	const serve = pushing(() => version);
	const { client, origin } = await first(s, serve);
	assert.deepEqual((await visit(s, client, origin, 3, serve)).paths, []);
	version = '"2"';
	/* Another client hears of it. */
	const other = await s.connect();
	for (const [i, asset] of ['/asset3.css', '/asset7.css'].entries()) {
		other.request(1 + 2 * i, { path: asset });
		const asked = await origin.expectRequest(asset);
		if (i === 0) /* its connection remembers from the first offer on */
			origin.push(asked, (origin.lastPush += 2), '/wakes.css').respond(origin.lastPush, { body: 'x' });
		origin.respond(asked.stream, { fields: { etag: version }, body: 'asset' });
		await other.response(1 + 2 * i);
	}
	assert.deepEqual((await visit(s, client, origin, 5, serve)).paths, ['/asset7.css']);
	assert.deepEqual((await visit(s, client, origin, 7, serve)).paths, []);
	/* And the client itself, by a HEAD. */
	version = 'W/"3"';
	client.request(9, { method: 'HEAD', path: '/asset5.css' });
	const asked = await origin.expectRequest('/asset5.css');
	origin.respond(asked.stream, { fields: { etag: version } });
	await client.response(9);
	assert.deepEqual((await visit(s, client, origin, 11, serve)).paths, ['/asset5.css']);
});

// covers: P-src-once
scenario('an unsafe request makes a resource unknown again', async (s) => {
	const serve = pushing();
	const { client, origin } = await first(s, serve);
	client.request(3, { method: 'POST', path: '/asset2.css' });
	const asked = await origin.expectRequest('/asset2.css');
	origin.respond(asked.stream, { body: 'done' });
	await client.response(3);
	assert.deepEqual((await visit(s, client, origin, 5, serve)).paths, ['/asset2.css']);
});

// covers: P-hold-private P-src-once
scenario('a connection of many users is not remembered', { listen: { clients: 'shared' } }, async (s) => {
	const serve = pushing();
	const { client, origin } = await first(s, serve);
	assert.deepEqual((await visit(s, client, origin, 3, serve)).paths, ASSETS);
});
scenario('nor are requests that came through another proxy', async (s) => {
	const serve = pushing();
	const fields = { via: '2 elsewhere' };
	const { client, origin } = await first(s, serve, { fields });
	assert.deepEqual((await visit(s, client, origin, 3, serve, fields)).paths, ASSETS);
});

// covers: P-src-once P-src-link
scenario('links and adds meet the diary too', {
	origin: { push: 'refuse' },
	extra: section('preload page', { path: '/page*', link: 'yes', add: '/added.css as=style' }),
}, async (s) => {
	const serve = async (_, origin, up) => {
		if (up.stream === 1)
			origin.respond((await origin.expectRequest('/added.css')).stream, { fields: { etag: '"1"' }, body: 'css' });
		origin.respond(up.stream, { fields: { link: '</linked.css>; rel=preload; as=style' }, body: 'page' });
		if (up.stream === 1)
			origin.respond((await origin.expectRequest('/linked.css')).stream, { fields: { etag: '"1"' }, body: 'css' });
	};
	const client = await s.connect();
	client.request(1, { path: '/page1' });
	const origin = await s.accept();
	const asked = { '/page1': await origin.expectRequest('/page1'), '/added.css': await origin.expectRequest('/added.css') };
	origin.respond(asked['/added.css'].stream, { fields: { etag: '"1"' }, body: 'css' });
	origin.respond(asked['/page1'].stream, { fields: { link: '</linked.css>; rel=preload; as=style' }, body: 'page' });
	origin.respond((await origin.expectRequest('/linked.css')).stream, { fields: { etag: '"1"' }, body: 'css' });
	for (const name of ['/added.css', '/linked.css'])
		await client.response((await client.expectPromise(name)).promised);
	await client.response(1);
	assert.deepEqual((await visit(s, client, origin, 3, serve)).paths, []);
});

/* ---- what the diary may go by: the fields of what the client got ---- */

const MODIFIED = ['Mon, 02 Mar 2020 10:00:00 GMT', 'Tue, 03 Mar 2020 10:00:00 GMT'];
const inSeconds = (n) => new Date(Date.now() + n * 1000).toUTCString();
/* What the origin says of a resource, whether it is pushed again, and what another client got of it meanwhile. */
const FIELDS = [
	['nothing', {}, true],
	['no-cache', { 'cache-control': 'no-cache' }, true],
	['no-cache with an ETag', { 'cache-control': 'no-cache', etag: '"1"' }, true],
	['no-store with an ETag', { 'cache-control': 'no-store', etag: '"1"' }, true],
	['max-age=0 with an ETag', { 'cache-control': 'max-age=0', etag: '"1"' }, true],
	['max-age=60', { 'cache-control': 'max-age=60' }, false],
	['max-age=60 that was 70 seconds on its way', { 'cache-control': 'max-age=60', age: '70' }, true],
	['max-age=60 that has run out, with an ETag', { 'cache-control': 'max-age=60', age: '70', etag: '"1"' }, false],
	['max-age=60 by a Date of long ago', { 'cache-control': 'max-age=60', date: MODIFIED[0] }, true],
	['s-maxage alone, which no cache of a client reads', { 'cache-control': 's-maxage=60' }, true],
	['private, max-age=60', { 'cache-control': 'private, max-age=60' }, false],
	['Expires in an hour', { expires: inSeconds(3600) }, false],
	['Expires in the past', { expires: inSeconds(-3600) }, true],
	['Expires: 0 with an ETag', { expires: '0', etag: '"1"' }, true],
	['max-age=60, which goes before Expires', { 'cache-control': 'max-age=60', expires: '0' }, false],
	['an ETag', { etag: '"1"' }, false],
	['an ETag of which another client got the next one', { etag: '"1"' }, true, { etag: '"2"' }],
	['an ETag of which another client got the same', { etag: '"1"' }, false, { etag: 'W/"1"' }],
	['an ETag, and another client got none', { etag: '"1"' }, true, {}],
	['an ETag, and another client got no-cache with it', { etag: '"1"' }, true, { etag: '"1"', 'cache-control': 'no-cache' }],
	['Last-Modified', { 'last-modified': MODIFIED[0] }, false],
	['Last-Modified of which another client got a later one', { 'last-modified': MODIFIED[0] }, true, { 'last-modified': MODIFIED[1] }],
	['Last-Modified of which another client got the same', { 'last-modified': MODIFIED[0] }, false, { 'last-modified': MODIFIED[0] }],
];

/* Another client gets /asset with these fields; its connection records, since /wakes.css was offered on it. */
async function gotElsewhere(s, origin, fields) {
	const other = await s.connect();
	other.request(1, { path: '/other' });
	const page = await origin.expectRequest('/other');
	origin.push(page, (origin.lastPush += 2), '/wakes.css').respond(origin.lastPush, { body: 'x' });
	origin.respond(page.stream, { body: 'page' });
	await other.response(1);
	other.request(3, { path: '/asset' });
	origin.respond((await origin.expectRequest('/asset')).stream, { fields, body: 'new' });
	await other.response(3);
}

for (const [name, fields, again, elsewhere] of FIELDS) {
	// covers: P-src-once P-src-data
	scenario(`pushed ${again ? 'each time' : 'once'}: ${name}`, async (s) => {
		const serve = pushing(undefined, ['/asset'], () => fields);
		const { client, origin, paths } = await first(s, serve);
		assert.deepEqual(paths, ['/asset']);
		if (elsewhere)
			await gotElsewhere(s, origin, elsewhere);
		assert.deepEqual((await visit(s, client, origin, 3, serve)).paths, again ? ['/asset'] : []);
		if (!elsewhere)
			assert.deepEqual((await visit(s, client, origin, 5, serve)).paths, again ? ['/asset'] : []);
	});
}

/* The same for offers of our own: /asset is asked of the origin with each page, or not. */
for (const [source, options] of [['link', { link: 'yes' }], ['config', { add: '/asset' }]])
	for (const [name, fields, again] of FIELDS.filter(([, , , elsewhere]) => !elsewhere)) {
		// covers: P-src-once P-src-data P-src-link P-src-config
		scenario(`pushed by ${source} ${again ? 'each time' : 'once'}: ${name}`, {
			origin: { push: 'refuse' }, extra: section('preload pages', { path: '/page*', ...options }),
		}, async (s) => {
			const client = await s.connect();
			let origin;
			for (const stream of [1, 3, 5]) {
				client.request(stream, { path: `/page${stream}`, ...VISIT });
				origin ??= await s.accept();
				const page = await origin.expectRequest(`/page${stream}`);
				const link = source === 'link' ? { link: '</asset>; rel=preload' } : {};
				const isPushed = stream === 1 || again;
				const answerPage = () => origin.respond(page.stream, { fields: link, body: 'page' });
				if (source === 'link')
					answerPage();
				if (isPushed)
					origin.respond((await origin.expectRequest('/asset')).stream, { fields, body: 'data' });
				if (source !== 'link')
					answerPage();
				await client.response(stream);
				const promises = client.seen('PUSH_PROMISE', { stream });
				assert.deepEqual(promises.map((p) => p.headers[':path']), isPushed ? ['/asset'] : [], `page ${stream}`);
				for (const p of promises)
					await client.response(p.promised);
			}
		});
	}

// covers: P-src-once P-src-link P-src-config
scenario('data that an add has pushed with a page is not pushed for a link of this page too', {
	origin: { push: 'refuse' }, extra: section('preload pages', { path: '/page*', add: '/data', link: 'yes' }),
}, async (s) => {
	const client = await s.connect();
	let origin;
	for (const stream of [1, 3]) {
		client.request(stream, { path: `/page${stream}`, ...VISIT });
		origin ??= await s.accept();
		const page = await origin.expectRequest(`/page${stream}`);
		origin.respond((await origin.expectRequest('/data')).stream, { fields: { 'cache-control': 'no-cache' }, body: 'data' });
		const promise = await client.expectPromise('/data');
		await client.response(promise.promised); /* the push is over before the link is seen */
		origin.respond(page.stream, { fields: { link: '</data>; rel=preload' }, body: 'page' });
		await client.response(stream);
		await client.expectNone('PUSH_PROMISE');
	}
});

// covers: P-src-data
scenario('data that is promised again while its first push has not begun is pushed again', async (s) => {
	const { client, origin, up } = await s.open({ path: '/page1' });
	origin.push(up, 2, '/data');
	const one = await client.expectPromise('/data');
	client.request(3, { path: '/page3' });
	const next = await origin.expectRequest('/page3');
	origin.push(next, 4, '/data');
	const two = await client.expectPromise('/data');
	for (const [id, body] of [[2, 'first'], [4, 'second']])
		origin.respond(id, { fields: { 'cache-control': 'no-cache' }, body });
	for (const stream of [up.stream, next.stream])
		origin.respond(stream, { body: 'page' });
	assert.equal(String((await client.response(one.promised)).body), 'first');
	assert.equal(String((await client.response(two.promised)).body), 'second');
});

// covers: P-src-data
scenario('a page that goes on may push the same data again, once the push before is over', async (s) => {
	const { client, origin, up } = await s.open({ path: '/feed' });
	for (const id of [2, 4, 6]) {
		origin.push(up, id, '/now');
		const promise = await client.expectPromise('/now');
		origin.respond(id, { fields: { 'cache-control': 'no-cache' }, body: `now ${id}` });
		assert.equal(String((await client.response(promise.promised)).body), `now ${id}`);
		await s.settle(client, origin);
	}
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
});

// covers: P-src-data P-make-client-reset
scenario('data whose push the client has reset is pushed with the next page', async (s) => {
	const { client, origin, up } = await s.open({ path: '/page1' });
	origin.push(up, 2, '/data');
	origin.headers(2, { ':status': 200, 'cache-control': 'no-cache' });
	const promise = await client.expectPromise('/data');
	await client.expectHead(promise.promised);
	client.rst(promise.promised, 'CANCEL');
	await origin.expectReset(2, 'CANCEL');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	origin.lastPush = 2;
	assert.deepEqual((await visit(s, client, origin, 3, pushing(undefined, ['/data']))).paths, ['/data']);
});

// covers: P-src-once
scenario('what the client gave up while it was coming is not known', async (s) => {
	const { client, origin } = await first(s, pushing(undefined, ['/first.css']));
	client.request(3, { path: '/big.css' });
	const asked = await origin.expectRequest('/big.css');
	origin.headers(asked.stream, { ':status': 200, etag: '"1"' });
	await client.expectHead(3);
	client.rst(3, 'CANCEL');
	await origin.expectReset(asked.stream);
	assert.deepEqual((await visit(s, client, origin, 5, pushing(undefined, ['/big.css']))).paths, ['/big.css']);
});

/* ---- the cookie ---- */

function withCookie({ keys = ['a secret of sixteen'], ...rest } = {}) {
	const dir = fs.mkdtempSync(path.join(process.env.TMPDIR ?? '/tmp', 'pushgate-test-'));
	process.once('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
	const files = keys.map((key, i) => {
		fs.writeFileSync(path.join(dir, `key${i}`), key);
		return path.join(dir, `key${i}`);
	});
	return { server: { 'diary-cookie': 'seen', 'diary-cookie-key': files, 'diary-cookie-age': '1h' }, ...rest };
}

/* A visit on a connection of its own. */
async function anotherConnection(s, origin, stream, serve, fields) {
	const client = await s.connect();
	client.request(1, { path: `/again${stream}`, ...VISIT, ...fields });
	const up = await origin.expectRequest(`/again${stream}`);
	await serve(s, origin, up);
	const page = await client.response(1);
	const promises = client.seen('PUSH_PROMISE');
	await s.settle(client, origin);
	return { client, page, up, paths: promises.map((p) => p.headers[':path']) };
}

// covers: P-src-once
scenario('a cookie carries the diary to the next connection', withCookie(), async (s) => {
	const serve = pushing();
	const { origin, page, up } = await first(s, serve, { fields: { cookie: 'a=1; b="x y"' } });
	assert.equal(up.headers.cookie, 'a=1; b="x y"');
	assert.match(cookieOf(page), /^seen=[\w-]+; Path=\/; Max-Age=3600; HttpOnly; SameSite=Lax$/);
	const pair = pairOf(cookieOf(page));
	const again = await anotherConnection(s, origin, 1, serve, { cookie: `a=1; ${pair}; b="x y"` });
	assert.deepEqual(again.paths, []);
	assert.equal(again.up.headers.cookie, 'a=1; b="x y"', 'the origin does not see it');
	assert.equal(cookieOf(again.page), undefined, 'nothing changed');
	const alone = await anotherConnection(s, origin, 2, serve, { cookie: pair });
	assert.deepEqual(alone.paths, []);
	assert.equal(alone.up.headers.cookie, undefined);
	const more = await anotherConnection(s, origin, 3, pushing(undefined, ['/new.css']), { cookie: pair });
	assert.deepEqual(more.paths, ['/new.css']);
	assert.notEqual(pairOf(cookieOf(more.page)), pair, 'it grew');
	const grown = await anotherConnection(s, origin, 4, pushing(undefined, [...ASSETS, '/new.css']), { cookie: pairOf(cookieOf(more.page)) });
	assert.deepEqual(grown.paths, []);
});

// covers: P-src-once
scenario('the cookie is Secure over TLS, and for navigations alone', withCookie({ tls: true }), async (s) => {
	const { client, origin, page } = await first(s, pushing());
	assert.match(cookieOf(page), /; HttpOnly; SameSite=Lax; Secure$/);
	origin.lastPush ??= 0;
	const fetched = await visit(s, client, origin, 3, pushing(undefined, ['/late.css']), { 'sec-fetch-mode': 'cors' });
	assert.deepEqual(fetched.paths, ['/late.css']);
	assert.equal(cookieOf(fetched.page), undefined);
});

/* A page with held assets: the page's response comes before those of the assets, which the client asks for then. */
async function heldVisit(client, origin, assets, fields = {}) {
	client.request(1, { path: '/page', ...VISIT, ...fields });
	const up = await origin.expectRequest('/page');
	const first = (origin.lastPush ?? 0) + 2;
	assets.forEach((asset, i) => origin.push(up, (origin.lastPush = first + 2 * i), asset));
	origin.respond(up.stream, { body: 'page' });
	const page = await client.response(1);
	await origin.sync();
	const held = assets.filter((_, i) => origin.seen('RST_STREAM', { stream: first + 2 * i }).length === 0);
	for (const [i, asset] of assets.entries()) {
		if (!held.includes(asset))
			continue;
		origin.respond(first + 2 * i, { fields: { etag: '"1"', 'cache-control': 'max-age=60' }, body: 'css' });
		client.request(3 + 2 * i, { path: asset });
		assert.equal(String((await client.response(3 + 2 * i)).body), 'css');
	}
	return { page, held };
}

// covers: P-src-once
scenario('the cookie has what is held for its page in the latest version, although the client gets it later', withCookie({
	extra: section('push hold', { action: 'hold' }),
}), async (s) => {
	const connect = () => s.connect({ settings: { enablePush: 0 } });
	const teacher = await connect();
	teacher.request(1, { path: '/a.css' });
	const origin = await s.accept();
	const up = await origin.expectRequest('/a.css');
	origin.respond(up.stream, { fields: { etag: '"1"', 'cache-control': 'max-age=60' }, body: 'css' });
	await teacher.response(1);
	const came = await heldVisit(await connect(), origin, ['/a.css', '/b.css']);
	assert.deepEqual(came.held, ['/a.css', '/b.css']);
	/* Of /b.css no version was known when the page came. */
	const again = await heldVisit(await connect(), origin, ['/a.css', '/b.css'], { cookie: pairOf(cookieOf(came.page)) });
	assert.deepEqual(again.held, ['/b.css']);
});

// covers: P-src-once
scenario('a cookie that was tampered with is ignored, and not passed on', withCookie(), async (s) => {
	const serve = pushing(undefined, ['/a.css', '/b.css']);
	const { origin, page } = await first(s, serve);
	const pair = pairOf(cookieOf(page));
	const flipped = pair.slice(0, 9) + (pair[9] === 'A' ? 'B' : 'A') + pair.slice(10);
	for (const [i, cookie] of [flipped, pair.slice(0, -1), 'seen=', 'seen=%%%', `seen=${'A'.repeat(3000)}`].entries()) {
		const again = await anotherConnection(s, origin, i, serve, { cookie });
		assert.deepEqual(again.paths, ['/a.css', '/b.css'], cookie);
		assert.equal(again.up.headers.cookie, undefined);
	}
	/* A name that only begins so is somebody else's. */
	const foreign = await anotherConnection(s, origin, 9, serve, { cookie: `seen2=1; xseen=2; ${pair.slice(5)}` });
	assert.equal(foreign.up.headers.cookie, `seen2=1; xseen=2; ${pair.slice(5)}`);
});

// covers: P-src-once
test('keys change without loss: the first one signs, the second one is still accepted', async () => {
	const port = await freePort(); /* the cookie knows whose resources they are */
	/* Each process knows no ETags at first, so the resource goes by its freshness, which outlives the cookie. */
	const serve = pushing(undefined, ['/a.css'], () => ({ 'cache-control': 'max-age=7200' }));
	const secrets = ['the newest secret of all', 'the one before it', 'the one before that'];
	let pair;
	for (const [keys, expected] of [[[secrets[2]], ['/a.css']], [secrets.slice(1), []], [secrets.slice(0, 2), ['/a.css']]]) {
		const s = new Scenario({ ...withCookie({ keys }), port });
		let failure;
		try {
			await s.start();
			const { page, paths } = await first(s, serve, { fields: pair ? { cookie: pair } : {} });
			assert.deepEqual(paths, expected);
			pair ??= pairOf(cookieOf(page));
		} catch (error) {
			failure = error;
		}
		await s.stop(failure);
	}
});

/* What a page's cookie makes of a resource with these fields, on the next connection. */
for (const [name, fields, carried] of [
	['nothing', {}, false],
	['no-cache with an ETag', { 'cache-control': 'no-cache', etag: '"1"' }, false],
	['no-store', { 'cache-control': 'no-store' }, false],
	['max-age=0 with Last-Modified', { 'cache-control': 'max-age=0', 'last-modified': MODIFIED[0] }, false],
	['fresh, but not for as long as the cookie', { 'cache-control': 'max-age=1800' }, false],
	['fresh for longer than the cookie', { 'cache-control': 'max-age=7200' }, true],
	['Expires after the cookie', { expires: inSeconds(7200) }, true],
	['an ETag that other clients may not share', { 'cache-control': 'private', etag: '"1"' }, false],
	['an ETag', { etag: '"1"' }, true],
	['Last-Modified', { 'last-modified': MODIFIED[0] }, true],
]) {
	// covers: P-src-once P-src-data
	scenario(`${carried ? 'carried' : 'not carried'} by the cookie: ${name}`, withCookie(), async (s) => {
		const serve = pushing(undefined, ['/asset'], () => fields);
		const { origin, page } = await first(s, serve);
		assert.equal(cookieOf(page) !== undefined, carried);
		const cookie = carried ? { cookie: pairOf(cookieOf(page)) } : {};
		assert.deepEqual((await anotherConnection(s, origin, 1, serve, cookie)).paths, carried ? [] : ['/asset']);
	});
}

// covers: P-src-once
scenario('the cookie carries a version: what has changed since is pushed', withCookie(), async (s) => {
	let version = '"1"';
	const serve = pushing(() => version, ['/a.css', '/b.css']);
	const { client, origin, page } = await first(s, serve);
	const old = pairOf(cookieOf(page));
	version = '"2"';
	client.request(3, { path: '/a.css' });
	origin.respond((await origin.expectRequest('/a.css')).stream, { fields: { etag: version }, body: 'new' });
	await client.response(3);
	const again = await anotherConnection(s, origin, 1, serve, { cookie: old });
	assert.deepEqual(again.paths, ['/a.css']);
	const { paths } = await anotherConnection(s, origin, 2, serve, { cookie: pairOf(cookieOf(again.page)) });
	assert.deepEqual(paths, []);
});

// covers: P-src-once P-src-data
scenario('what became data leaves the cookie, also when it was alone in it', withCookie(), async (s) => {
	const { client, origin, page } = await first(s, pushing(undefined, ['/a']));
	const old = pairOf(cookieOf(page));
	client.request(3, { path: '/a' });
	origin.respond((await origin.expectRequest('/a')).stream, { fields: { 'cache-control': 'no-cache' }, body: 'data' });
	await client.response(3);
	const next = await visit(s, client, origin, 5, pushing(undefined, []));
	assert.notEqual(pairOf(cookieOf(next.page)), old);
	for (const [i, cookie] of [old, pairOf(cookieOf(next.page))].entries())
		assert.deepEqual((await anotherConnection(s, origin, i, pushing(undefined, ['/a']), { cookie })).paths, ['/a']);
});

// covers: P-src-once
scenario('a cookie that grows lives no longer than what it had', withCookie(), async (s) => {
	const raw = Buffer.alloc(6);
	raw[0] = 2;
	raw.writeUInt32BE(Math.floor(Date.now() / 1000) + 1000, 1);
	raw[5] = 77; /* some resource */
	const mac = createHmac('sha256', 'a secret of sixteen').update(raw).digest().subarray(0, 16);
	const cookie = `seen=${Buffer.concat([raw, mac]).toString('base64url')}`;
	const { page } = await first(s, pushing(undefined, ['/a']), { fields: { cookie } });
	const age = Number(/Max-Age=(\d+)/.exec(cookieOf(page))[1]);
	assert.ok(age > 0 && age <= 1000, `${age}`);
	assert.notEqual(pairOf(cookieOf(page)), cookie);
});

/* ---- what came of it ---- */

const status = (s) => s.gate.status();

// covers: P-num-metrics
scenario('a rule pauses while too little of its pushes is used, and says so', {
	server: { 'status-socket': 'status' },
	extra: section('push css', { action: 'forward', 'promised-path': '*.css', 'min-used': '50%', 'min-sample': 5 }),
}, async (s) => {
	const { client, origin, up } = await s.open({ path: '/page1' });
	for (let i = 0; i < 5; i++) {
		origin.push(up, 2 + 2 * i, `/a${i}.css`);
		const promise = await client.expectPromise(`/a${i}.css`);
		if (i === 0) {
			origin.respond(2, { body: 'css' });
			await client.response(promise.promised);
			continue;
		}
		client.rst(promise.promised, 'CANCEL');
		await origin.expectReset(2 + 2 * i);
	}
	origin.push(up, 20, '/b.css');
	await origin.expectReset(20, 'CANCEL');
	assert.equal((await s.gate.access((l) => l.path === '/b.css')).reason, 'paused');
	origin.push(up, 22, '/c.js'); /* no rule of css's */
	await client.expectPromise('/c.js');
	origin.respond(22, { body: 'js' });
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	await s.gate.error(/push css: too little of what it pushed was of use \(20\.00 % of all so far\): it pauses for 60 s/);
	assert.equal(s.gate.read('error.log').match(/pauses/g).length, 1);
	const text = status(s);
	for (const line of ['pushgate_rule_total{rule="css",event="offered"} 6', 'pushgate_rule_total{rule="css",event="forwarded"} 5',
		'pushgate_rule_total{rule="css",event="used"} 1', 'pushgate_rule_total{rule="css",event="reset"} 4',
		'pushgate_rule_bytes_total{rule="css",outcome="used"} 3', 'pushgate_rule_used_ratio{rule="css"} 0.2000'])
		assert.ok(text.includes(`${line}\n`), `${line}\n${text}`);
	assert.match(text, /pushgate_rule_reset_seconds_total\{rule="css"\} \d+\.\d{6}\n/);
});

// covers: P-num-metrics
scenario('a shadow rule is counted and does nothing', {
	server: { 'status-socket': 'status' },
	extra: section('push later', { action: 'drop', 'promised-path': '*.css', shadow: 'yes' }) + section('push all', { action: 'forward' }),
}, async (s) => {
	const { client, paths } = await first(s, pushing(undefined, ['/a.css', '/b.js']));
	assert.deepEqual(paths, ['/a.css', '/b.js']);
	await client.sync();
	const text = status(s);
	for (const line of ['pushgate_rule_total{rule="later",event="offered"} 1', 'pushgate_rule_total{rule="later",event="shadowed"} 1',
		'pushgate_rule_total{rule="all",event="offered"} 2', 'pushgate_rule_total{rule="all",event="used"} 2',
		'pushgate_rule_used_ratio{rule="all"} 1.0000'])
		assert.ok(text.includes(`${line}\n`), `${line}\n${text}`);
});

// covers: P-num-metrics
scenario('what is held, claimed and hinted counts for its rule', {
	server: { 'status-socket': 'status', 'hold-max-age': '2s' },
	extra: section('push hold', { action: 'hold' }),
}, async (s) => {
	const { client, origin, up } = await s.open({ path: '/page1' });
	for (const [id, name] of [[2, '/a.css'], [4, '/b.css']]) {
		origin.push(up, id, name);
		origin.respond(id, { fields: { 'cache-control': 'max-age=60' }, body: 'css' });
	}
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	client.request(3, { path: '/a.css' });
	assert.equal(String((await client.response(3)).body), 'css');
	const wanted = ['held"} 2', 'claimed"} 1', 'expired"} 1'].map((w) => `pushgate_rule_total{rule="hold",event="${w}\n`);
	await until('the counters of a hold', () => wanted.every((w) => status(s).includes(w)));
	assert.ok(status(s).includes('pushgate_rule_used_ratio{rule="hold"} 0.5000\n'));
});
