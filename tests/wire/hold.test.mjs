/* SPDX-License-Identifier: MIT */
/* Held responses on the wire: what an origin pushed is kept for the client's own request (RFC 9111, RFC 9211). */
import assert from 'node:assert/strict';
import { scenario, section, until } from '../support/gate.mjs';

const HOLD = { extra: section('push hold', { action: 'hold' }) };
const COUNTED = { ...HOLD, server: { 'status-socket': 'status' } };
const FRESH = { 'cache-control': 'max-age=60' };
const PRIVATE = { 'cache-control': 'private, max-age=60' };
const refusing = { client: { settings: { enablePush: 0 } } };

/* A page whose origin has pushed /a.css whole; the client has refused pushes. */
async function held(s, { request = {}, fields = FRESH, promise = {}, body = 'css' } = {}) {
	const { client, origin, up } = await s.open({ ...refusing, request });
	origin.push(up, 2, '/a.css', promise);
	origin.respond(2, { fields, body });
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	await s.settle(client, origin);
	return { client, origin };
}

/* The next request that the origin gets, answered. Returns what Cache-Status says of it. */
async function goesToTheOrigin(client, origin, stream, path = '/a.css') {
	const asked = await origin.expectRequest(path);
	origin.respond(asked.stream, { body: 'from the origin' });
	const answer = await client.response(stream);
	assert.equal(String(answer.body), 'from the origin');
	return answer.headers['cache-status'];
}

// covers: P-hold-claim P-hold-status
scenario('a pushed response answers the request of a client that refused the push', HOLD, async (s) => {
	const { client, origin } = await held(s);
	await client.expectNone('PUSH_PROMISE');
	client.request(3, { path: '/a.css' });
	const answer = await client.response(3);
	assert.equal(String(answer.body), 'css');
	assert.match(answer.headers['cache-status'], /^pushgate.*; hit; detail=held$/);
	assert.ok(Number(answer.headers.age) >= 0);
	await s.settle(client, origin);
	assert.equal(origin.seen('HEADERS').length, 0, 'the origin saw the resource once');
	const line = await s.gate.access((l) => l.push);
	assert.equal(line.verdict, 'hold');
	client.request(5, { path: '/a.css' }); // claimed once
	assert.equal(await goesToTheOrigin(client, origin, 5), undefined, 'nothing was held for it');
});

// covers: P-hold-claim P-hold-status
scenario('a response in flight is joined', HOLD, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css').headers(2, { ':status': 200, ...FRESH }).data(2, 'first ');
	await s.settle(client, origin);
	client.request(3, { path: '/a.css' });
	const head = await client.expectHead(3);
	assert.match(head.headers['cache-status'], /fwd=miss; collapsed; detail=held/);
	assert.equal(String((await client.expect('DATA', { stream: 3 })).data), 'first ');
	origin.data(2, 'last', { endStream: true });
	assert.equal(String((await client.expect('DATA', { stream: 3 })).data), 'last');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
});

// covers: P-hold-claim
scenario('a joined response that the origin resets is reset', HOLD, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css').headers(2, { ':status': 200, ...FRESH }).data(2, 'half');
	await s.settle(client, origin);
	client.request(3, { path: '/a.css' });
	await client.expectHead(3);
	origin.rst(2, 'INTERNAL_ERROR');
	await client.expectReset(3, 'INTERNAL_ERROR');
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
});

// covers: P-hold-private
for (const [name, mine, theirs] of [
	['cookie', { cookie: 'user=one' }, { cookie: 'user=two' }],
	['no cookie', { cookie: 'user=one' }, {}],
	['authorization', { authorization: 'Basic b25l' }, { authorization: 'Basic dHdv' }],
]) {
	scenario(`another user never gets what was pushed for this one: ${name}`, HOLD, async (s) => {
		const { client, origin } = await held(s, { request: mine, fields: PRIVATE, body: 'secret' });
		client.request(3, { path: '/a.css', ...theirs });
		await goesToTheOrigin(client, origin, 3);
		client.request(5, { path: '/a.css', ...mine });
		assert.equal(String((await client.response(5)).body), 'secret');
	});
}
scenario('another connection never gets it', HOLD, async (s) => {
	const { origin } = await held(s, { fields: { 'cache-control': 'public, max-age=60' } });
	const other = await s.connect(refusing.client);
	other.request(1, { path: '/a.css' });
	await goesToTheOrigin(other, origin, 1);
});
scenario('nothing is held on a listener for many users', {
	...HOLD, listen: { clients: 'shared' }, origin: { push: 'accept' },
}, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css');
	await origin.expectReset(2, 'CANCEL');
	assert.equal((await s.gate.access((l) => l.push)).reason, 'hold-shared');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
});

// covers: P-hold-shared
scenario('what a shared cache may store serves all clients where that is switched on', {
	...HOLD, server: { 'hold-shared': 'yes' },
}, async (s) => {
	const { origin } = await held(s, { fields: { 'cache-control': 'public, max-age=60' } });
	for (const n of [1, 2]) {
		const other = await s.connect(refusing.client);
		other.request(1, { path: '/a.css' });
		assert.equal(String((await other.response(1)).body), 'css', `client ${n}`);
	}
	assert.equal(origin.seen('HEADERS').length, 0);
});

// covers: P-hold-no-store
scenario('no-store is never held', HOLD, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css').headers(2, { ':status': 200, 'cache-control': 'no-store' });
	await origin.expectReset(2, 'CANCEL');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	client.request(3, { path: '/a.css' });
	await goesToTheOrigin(client, origin, 3);
});

// covers: P-hold-claim
for (const [name, fields, request] of [
	['a field that Vary names', { ...FRESH, vary: 'accept-language' }, { 'accept-language': 'fr' }],
	['Cache-Control: no-cache', FRESH, { 'cache-control': 'no-cache' }],
	['Range', FRESH, { range: 'bytes=0-0' }],
	['If-None-Match of another', { ...FRESH, etag: '"a"' }, { 'if-none-match': '"b"' }],
]) {
	scenario(`a request goes to the origin because of ${name}`, HOLD, async (s) => {
		const { client, origin } = await held(s, { fields });
		client.request(3, { path: '/a.css', ...request });
		await goesToTheOrigin(client, origin, 3);
	});
}
scenario('an unsafe method that succeeds drops what is held for its URI', HOLD, async (s) => {
	const { client, origin } = await held(s);
	client.request(3, { path: '/a.css', method: 'POST' });
	const asked = await origin.expectRequest('/a.css');
	origin.respond(asked.stream, { status: 204 });
	await client.response(3);
	client.request(5, { path: '/a.css' });
	await goesToTheOrigin(client, origin, 5);
});

// covers: P-hold-bounds
scenario('what nobody asks for is dropped in time, and cancelled at the origin', {
	...HOLD, server: { 'hold-max-age': '1s' },
}, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css').headers(2, { ':status': 200, ...FRESH }).data(2, 'never ends');
	await origin.expectReset(2, 'CANCEL');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	assert.equal((await s.gate.access((l) => l.push)).end_reason, 'expired');
});
scenario('more than may be held is refused, and the page goes on', {
	...HOLD, server: { 'hold-max-count': 2 },
}, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	for (const [i, id] of [2, 4, 6].entries())
		origin.push(up, id, `/${i}.css`).headers(id, { ':status': 200, ...FRESH }).data(id, 'x');
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	await s.settle(client, origin);
	assert.equal(origin.seen('RST_STREAM').length, 1);
});

// covers: P-hint-once P-hold-claim
scenario('hint+hold tells the browser what is held for it', {
	extra: section('push both', { action: 'hint+hold' }),
}, async (s) => {
	const { client, origin, up } = await s.open({ ...refusing, request: { 'sec-fetch-mode': 'navigate' } });
	origin.push(up, 2, '/a.css');
	origin.respond(2, { fields: FRESH, body: 'css' });
	const early = await client.expectHead(1);
	assert.equal(early.headers[':status'], '103');
	assert.equal(early.headers.link, '</a.css>; rel=preload; as=style');
	client.request(3, { path: '/a.css' });
	assert.equal(String((await client.response(3)).body), 'css');
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	assert.equal(origin.seen('HEADERS').length, 0);
});

/* ---- who may claim it ---- */

const ASSETS = Array.from({ length: 10 }, (_, i) => `/asset${i}.css`);
const status = (s) => s.gate.status();
/* Until the status has each of the lines. */
const counted = (s, ...lines) => until(() => `${lines.join(', ')}; the status is:\n${status(s)}`,
	() => lines.every((line) => status(s).includes(`${line}\n`)));
const requestLine = (s, name) => s.gate.access((l) => !l.push && l.path === name);
const pushLine = (s, name) => s.gate.access((l) => l.push && l.path === name);

// covers: P-hold-private P-hold-claim
for (const [name, hasHeads] of [['whole', true], ['without a head yet', false]]) {
	scenario(`a page that sets a cookie does not undo the holds of its assets: pushes ${name}`, HOLD, async (s) => {
		const { client, origin, up } = await s.open(refusing);
		const push = (i) => origin.respond(2 * i + 2, { fields: FRESH, body: 'css' });
		ASSETS.forEach((asset, i) => origin.push(up, 2 * i + 2, asset));
		if (hasHeads)
			ASSETS.forEach((_, i) => push(i));
		origin.respond(up.stream, { fields: { 'set-cookie': 'session=1' }, body: 'page' });
		assert.equal(String((await client.response(1)).body), 'page');
		await s.settle(client, origin);
		ASSETS.forEach((asset, i) => client.request(2 * i + 3, { path: asset, cookie: 'session=1' }));
		await s.settle(client, origin);
		if (!hasHeads)
			ASSETS.forEach((_, i) => push(i));
		for (const i of ASSETS.keys())
			assert.equal(String((await client.response(2 * i + 3)).body), 'css');
		assert.equal(origin.seen('HEADERS').length, 0, 'each asset was fetched once');
	});
}

// covers: P-hold-private
scenario('a request with another cookie that waits for the head gets nothing of a private response', HOLD, async (s) => {
	const { client, origin, up } = await s.open({ ...refusing, request: { cookie: 'user=one' } });
	origin.push(up, 2, '/a.css');
	await s.settle(client, origin);
	client.request(3, { path: '/a.css', cookie: 'user=two' });
	await s.settle(client, origin);
	origin.headers(2, { ':status': 103, link: '</secret>; rel=preload' });
	origin.respond(2, { fields: PRIVATE, body: 'secret' });
	const asked = await origin.expectRequest('/a.css');
	assert.equal(asked.headers.cookie, 'user=two');
	await client.expectNone('HEADERS', { stream: 3 });
	origin.respond(asked.stream, { body: 'of two' });
	assert.equal(String((await client.response(3)).body), 'of two');
	assert.equal((await requestLine(s, '/a.css')).missed, 'cookie');
	client.request(5, { path: '/a.css', cookie: 'user=one' });
	assert.equal(String((await client.response(5)).body), 'secret');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
});

// covers: P-hold-fresh
for (const [name, fields] of [
	['Last-Modified and ETag', { 'last-modified': 'Sat, 21 Nov 2020 04:00:00 GMT', etag: '"1"' }],
	['Last-Modified', { 'last-modified': 'Sat, 21 Nov 2020 04:00:00 GMT' }],
	['ETag', { etag: '"1"' }],
]) {
	scenario(`assets without Cache-Control are claimed: ${name}`, HOLD, async (s) => {
		const { client, origin } = await held(s, { fields });
		client.request(3, { path: '/a.css' });
		assert.equal(String((await client.response(3)).body), 'css');
		assert.equal(origin.seen('HEADERS').length, 0);
	});
	scenario(`and only by the same user: ${name}`, HOLD, async (s) => {
		const { client, origin } = await held(s, { fields });
		client.request(3, { path: '/a.css', cookie: 'session=1' });
		await goesToTheOrigin(client, origin, 3);
		assert.equal((await requestLine(s, '/a.css')).missed, 'cookie');
	});
}

// covers: P-hold-fresh
scenario('what no request could claim is given up when its head comes: Vary: *', HOLD, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css').headers(2, { ':status': 200, ...FRESH, vary: '*' }).data(2, 'first of many');
	await origin.expectReset(2, 'CANCEL');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	const line = await pushLine(s, '/a.css');
	assert.equal(line.verdict, 'drop');
	assert.equal(line.reason, 'hold-not-fresh');
});
scenario('what says nothing of its freshness is given up when its head comes, and its body is not fetched', HOLD, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css').headers(2, { ':status': 200, 'content-length': 400_000 });
	await origin.expectReset(2, 'CANCEL');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	const line = await pushLine(s, '/a.css');
	assert.equal(line.verdict, 'drop');
	assert.equal(line.reason, 'hold-not-fresh');
	client.request(3, { path: '/a.css' });
	await goesToTheOrigin(client, origin, 3);
	assert.equal((await requestLine(s, '/a.css')).missed, 'not-fresh');
});
scenario('unless a request waits for it', HOLD, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css');
	await s.settle(client, origin);
	client.request(3, { path: '/a.css' });
	await s.settle(client, origin);
	origin.respond(2, { fields: { 'content-length': 16_000 }, body: Buffer.alloc(16_000, 'x') });
	assert.equal((await client.response(3)).body.length, 16_000);
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
});
scenario('what no request could claim is given up when its head comes: no-cache, promised by nobody', {
	extra: HOLD.extra + section('preload own', { add: '/own.css as=style' }),
}, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	/* Our own request goes over a connection without push; which one is there first is open. */
	const second = await s.accept();
	const both = [{ at: origin, up }, { at: second, up: await second.expectRequest() }];
	const [page, own] = up.headers[':path'] === '/' ? both : both.reverse();
	assert.equal(own.up.headers[':path'], '/own.css');
	own.at.headers(own.up.stream, { ':status': 200, 'cache-control': 'no-cache' }).data(own.up.stream, 'first of many');
	await own.at.expectReset(own.up.stream, 'CANCEL');
	page.at.respond(page.up.stream, { body: 'page' });
	await client.response(1);
	assert.equal((await pushLine(s, '/own.css')).reason, 'hold-not-fresh');
});

/* ---- joins ---- */

// covers: P-hold-join
scenario('a request that joins a slow push waits for it, beyond push-start-timeout', {
	...HOLD, server: { 'push-start-timeout': '1s' },
}, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css').push(up, 4, '/b.css');
	await s.settle(client, origin);
	client.request(3, { path: '/a.css' });
	await origin.expectReset(4, 'CANCEL'); /* the other one's time is over */
	await s.settle(client, origin);
	assert.equal(origin.seen('RST_STREAM', { stream: 2 }).length, 0);
	origin.respond(2, { fields: FRESH, body: 'css' });
	assert.equal(String((await client.response(3)).body), 'css');
	assert.equal(origin.seen('HEADERS').length, 0, 'the origin was asked once');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
});

// covers: P-hold-join
scenario('a request that joined waits no longer than response-timeout', {
	...HOLD, server: { 'push-start-timeout': '1s' }, origin: { 'response-timeout': '2s' },
}, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css');
	origin.headers(up.stream, { ':status': 200 });
	await client.expectHead(1);
	client.request(3, { path: '/a.css' });
	const answer = await client.response(3);
	assert.equal(answer.status, 504);
	await origin.expectReset(2, 'CANCEL');
	assert.equal(origin.seen('HEADERS').length, 0);
	origin.data(up.stream, 'page', { endStream: true });
	await client.expect('DATA', { stream: 1 });
});

// covers: P-hold-join
scenario('a request whose push fails goes to the origin', COUNTED, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	origin.push(up, 2, '/a.css');
	await s.settle(client, origin);
	client.request(3, { path: '/a.css' });
	await s.settle(client, origin);
	origin.rst(2, 'INTERNAL_ERROR');
	assert.equal(await goesToTheOrigin(client, origin, 3), 'pushgate; fwd=uri-miss; detail=lost');
	assert.equal((await requestLine(s, '/a.css')).missed, 'lost');
	await counted(s, 'pushgate_holds_missed_by_cause_total{cause="lost"} 1', 'pushgate_holds_missed_total 1');
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
});

// covers: P-hold-join
scenario('what is joined comes with the urgency of the request that joined', HOLD, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { enablePush: 0, initialWindowSize: 0 } } });
	origin.push(up, 2, '/late.css').push(up, 4, '/urgent.css');
	await s.settle(client, origin);
	client.request(3, { path: '/late.css', priority: 'u=7' }).request(5, { path: '/urgent.css', priority: 'u=0' });
	await s.settle(client, origin);
	for (const id of [2, 4])
		origin.respond(id, { fields: FRESH, body: 'x'.repeat(1000) });
	origin.respond(up.stream);
	for (const id of [1, 3, 5])
		await client.expectHead(id);
	await s.settle(client, origin);
	client.settings({ initialWindowSize: 10000 }); /* opens both at once */
	assert.equal((await client.expect('DATA')).stream, 5);
	await client.expect('DATA', { stream: 3 });
	assert.equal(origin.seen('HEADERS').length, 0);
});

/* ---- what is counted and logged ---- */

// covers: P-hold-claim P-num-metrics
scenario('a HEAD that is answered from a held GET is a claim, and the GET is answered too', {
	...COUNTED, server: { 'status-socket': 'status', 'hold-max-age': '1s' },
}, async (s) => {
	const { client, origin } = await held(s);
	client.request(3, { path: '/a.css', method: 'HEAD' });
	const answer = await client.response(3);
	assert.match(answer.headers['cache-status'], /hit; detail=held$/);
	assert.equal(answer.body.length, 0);
	await pushLine(s, '/a.css'); /* its age is over */
	assert.equal((await pushLine(s, '/a.css')).end_reason, 'claimed');
	await counted(s, 'pushgate_holds_claimed_total 1', 'pushgate_holds_expired_total 0',
		'pushgate_rule_total{rule="hold",event="claimed"} 1', 'pushgate_rule_used_ratio{rule="hold"} 1.0000');
	assert.ok(!status(s).includes('event="expired"'));
	assert.equal(origin.seen('HEADERS').length, 0);
});

// covers: P-hold-missed P-hold-status P-num-metrics P-num-log
for (const [cause, { fwd, fields = FRESH, request = {}, elsewhere = false }] of Object.entries({
	cookie: { fwd: 'miss', fields: PRIVATE, request: { cookie: 'a=1' } },
	authorization: { fwd: 'miss', request: { authorization: 'Basic eDp5' } },
	'vary accept-language': { fwd: 'vary-miss', fields: { ...FRESH, vary: 'Accept-Language' }, request: { 'accept-language': 'fr' } },
	range: { fwd: 'request', request: { range: 'bytes=0-0' } },
	revalidation: { fwd: 'request', request: { 'cache-control': 'no-cache' } },
	method: { fwd: 'method', request: { method: 'OPTIONS' } },
	outside: { fwd: 'bypass', request: { via: '1.1 proxy' }, elsewhere: true }, /* over the connection without push */
})) {
	scenario(`a miss names its cause: ${cause}`, {
		...COUNTED, server: { 'status-socket': 'status', 'hold-max-age': '1s' },
	}, async (s) => {
		const { client, origin } = await held(s, { fields });
		client.request(3, { path: '/a.css', ...request });
		assert.equal(await goesToTheOrigin(client, elsewhere ? await s.accept() : origin, 3),
			`pushgate; fwd=${fwd}; detail=${cause.split(' ')[0]}`);
		assert.equal((await requestLine(s, '/a.css')).missed, cause);
		const push = await pushLine(s, '/a.css');
		assert.equal(push.end_reason, 'missed');
		assert.equal(push.missed, cause);
		await counted(s, `pushgate_holds_missed_by_cause_total{cause="${cause.split(' ')[0]}"} 1`, 'pushgate_holds_missed_total 1');
	});
}
scenario('a request that comes when the response is no longer good is told so', COUNTED, async (s) => {
	const { client, origin } = await held(s, { fields: { 'cache-control': 'max-age=0' } });
	const push = await pushLine(s, '/a.css');
	assert.ok([push.reason, push.end_reason].includes('hold-not-fresh'), JSON.stringify(push)); /* at its head, or its end */
	client.request(3, { path: '/a.css' });
	assert.equal(await goesToTheOrigin(client, origin, 3), 'pushgate; fwd=stale; detail=not-fresh');
	assert.equal((await requestLine(s, '/a.css')).missed, 'not-fresh');
	await counted(s, 'pushgate_holds_missed_by_cause_total{cause="not-fresh"} 1', 'pushgate_holds_missed_total 1');
});
// covers: P-hold-status
scenario('Cache-Status of a miss stands behind those of other caches, and a route may remove it', {
	...HOLD, routes: section('route plain', { origin: 'main' }) +
		section('route removed', { origin: 'main', path: '/removed', 'response-remove': 'Cache-Status' }),
}, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	for (const [id, path] of [[2, '/a.css'], [4, '/removed']])
		origin.push(up, id, path).respond(id, { fields: FRESH, body: 'css' });
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	for (const [id, path, status] of [[3, '/a.css', 'far; hit, pushgate; fwd=request; detail=range'], [5, '/removed', undefined]]) {
		client.request(id, { path, range: 'bytes=0-0' });
		const asked = await origin.expectRequest(path);
		origin.respond(asked.stream, { fields: { 'cache-status': 'far; hit' } });
		assert.equal((await client.response(id)).headers['cache-status'], status);
	}
});
scenario('what is claimed, and what was not asked for, has no miss', COUNTED, async (s) => {
	const { client } = await held(s);
	client.request(3, { path: '/a.css' });
	await client.response(3);
	assert.equal((await requestLine(s, '/a.css')).missed, undefined);
	assert.equal((await pushLine(s, '/a.css')).missed, undefined);
	assert.doesNotMatch(status(s), /^pushgate_holds_missed_by_cause_total/m);
});

// covers: P-hold-paused
scenario('an asset that sets a cookie each time is held twice and then no more', {
	...HOLD, server: { 'hold-max-age': '1s' },
}, async (s) => {
	const { client, origin, up } = await s.open({ ...refusing, path: '/page1', request: { cookie: 'n=1' } });
	const fields = { ...FRESH, 'set-cookie': 'n=0' };
	let page = up, stream = 1;
	for (const n of [1, 2, 3]) {
		origin.push(page, 2 * n, '/a.css');
		if (n < 3)
			origin.respond(2 * n, { fields, body: 'css' });
		else
			await origin.expectReset(6, 'CANCEL');
		origin.respond(page.stream, { body: 'page' });
		await client.response(stream);
		await s.settle(client, origin);
		client.request(stream + 2, { path: '/a.css', cookie: `n=${n + 1}` }); /* the page has set another one */
		await goesToTheOrigin(client, origin, stream + 2);
		if (n === 3)
			break;
		/* what is held goes, so that the next push is no duplicate of it */
		await until(`the end of push ${n}`, () => s.gate.accessLines().filter((l) => l.push).length === n);
		stream += 4;
		client.request(stream, { path: `/page${n + 1}`, cookie: `n=${n + 1}` });
		page = await origin.expectRequest(`/page${n + 1}`);
	}
	assert.equal((await s.gate.access((l) => l.push && l.reason === 'hold-paused')).verdict, 'drop');
});

scenario('a rule whose pushes are never fresh is told so when it pauses', {
	extra: section('push css', { action: 'hold', 'min-used': '50%', 'min-sample': 5 }),
}, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	ASSETS.slice(0, 5).forEach((asset, i) => {
		origin.push(up, 2 * i + 2, asset);
		origin.respond(2 * i + 2, { body: 'css' });
	});
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	await s.gate.error(/push css: .* pauses for 60 s; mostly for this cause: not-fresh \(5 of 5\): .*max-age/);
});

// covers: P-hold-missed
scenario('a rule that pauses names the most frequent cause of its misses, and what to do', {
	extra: section('push css', { action: 'hold', 'min-used': '50%', 'min-sample': 5 }),
	server: { 'hold-max-age': '2s' },
}, async (s) => {
	const { client, origin, up } = await s.open(refusing);
	ASSETS.slice(0, 5).forEach((asset, i) => {
		origin.push(up, 2 * i + 2, asset);
		origin.respond(2 * i + 2, { fields: PRIVATE, body: 'css' });
	});
	origin.respond(up.stream, { fields: { 'set-cookie': 'a=1' }, body: 'page' });
	await client.response(1);
	for (const [i, asset] of ASSETS.slice(0, 3).entries()) {
		client.request(2 * i + 3, { path: asset, cookie: 'a=1' });
		await goesToTheOrigin(client, origin, 2 * i + 3, asset);
	}
	await s.gate.error(/push css: too little of what it pushed was of use .*: it pauses for 60 s; mostly for this cause: cookie \(3 of 3\): .*public/);
});
