/* SPDX-License-Identifier: MIT */
/*
 * A route's field rules change what the origin gets. Held responses, learning, the diary and the log read what the client sent.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { scenario, section, until, workDir } from '../support/gate.mjs';

const dir = workDir();
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));

const HOLD = section('push hold', { action: 'hold' });
const ruled = (rules, more = {}) => ({ routes: section('route main', { origin: 'main', ...rules }), extra: HOLD, ...more });
const refusing = { client: { settings: { enablePush: 0 } } };
const PRIVATE = { 'cache-control': 'private, max-age=60' };

/* A page whose origin has pushed /a.css whole; the client has refused pushes. */
async function held(s, { request = {}, fields = PRIVATE, promise = {} } = {}) {
	const { client, origin, up } = await s.open({ ...refusing, request });
	origin.push(up, 2, '/a.css', promise);
	origin.respond(2, { fields, body: 'secret' });
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	await s.settle(client, origin);
	return { client, origin, up };
}

async function claims(s, { client, origin }, stream, fields) {
	client.request(stream, { path: '/a.css', ...fields });
	const asked = origin.expectRequest('/a.css').then(() => { throw new Error('the origin was asked for what is held'); });
	const answer = await Promise.race([client.response(stream), asked]);
	assert.equal(String(answer.body), 'secret');
}

/* The origin is asked, as it must be; what it got. */
async function misses(s, { client, origin }, stream, fields) {
	client.request(stream, { path: '/a.css', ...fields });
	const answer = client.response(stream);
	const asked = await Promise.race([origin.expectRequest('/a.css'), answer.then((r) => { throw new Error(`answered with "${r.body}"`); })]);
	origin.respond(asked.stream, { body: 'from the origin' });
	assert.equal(String((await answer).body), 'from the origin');
	return asked.headers;
}

/* ---- the same user claims, whatever the route does to the credentials ---- */

const GATE = { cookie: 'gate=1', authorization: 'Basic Z2F0ZQ==' };
const RULES = {
	'request-set': (name) => ({ 'request-set': `${name}: ${GATE[name]}` }),
	'request-add': (name) => ({ 'request-add': `${name}: ${GATE[name]}` }),
	'request-remove': (name) => ({ 'request-remove': name }),
};
const USERS = { cookie: ['user=one', 'user=two'], authorization: ['Basic b25l', 'Basic dHdv'] };
const atOrigin = {
	'request-set': (name) => GATE[name],
	'request-add': (name, own) => (own ? `${own}, ${GATE[name]}` : GATE[name]), /* two fields, which the harness joins so */
	'request-remove': () => undefined,
};

// covers: P-hold-claim P-hold-private
for (const name of ['cookie', 'authorization'])
	for (const rule of Object.keys(RULES)) {
		const mine = { [name]: USERS[name][0] }, theirs = { [name]: USERS[name][1] };
		for (const [who, user] of [['a user', mine], ['a client without credentials', {}]])
			scenario(`${rule} of ${name}: ${who} claims what was pushed for its page`, ruled(RULES[rule](name)), async (s) => {
				const all = await held(s, { request: user });
				await claims(s, all, 3, user);
			});
		for (const [who, user] of [['another user', theirs], ['a client without credentials', {}], ['a client with the route\'s own', { [name]: GATE[name] }]])
			scenario(`${rule} of ${name}: ${who} does not get what was pushed for a user`, ruled(RULES[rule](name)), async (s) => {
				const all = await held(s, { request: mine });
				const got = await misses(s, all, 3, user);
				assert.equal(got[name], atOrigin[rule](name, user[name]));
			});
	}

/* ---- Vary as the origin got it ---- */

const VARY = { fields: { ...PRIVATE, vary: 'accept-encoding, accept-language' } };
// covers: P-hold-claim
scenario('a field that the route sets makes no request miss by Vary', ruled({ 'request-set': 'Accept-Encoding: gzip' }), async (s) => {
	const all = await held(s, { ...VARY, request: { 'accept-encoding': 'br' }, promise: { 'accept-encoding': 'gzip' } });
	assert.equal(all.up.headers['accept-encoding'], 'gzip');
	await claims(s, all, 3, { 'accept-encoding': 'br' });
});
scenario('nor does one that the route removes', ruled({ 'request-remove': 'Accept-Language' }), async (s) => {
	const all = await held(s, { ...VARY, request: { 'accept-language': 'de' } });
	assert.equal(all.up.headers['accept-language'], undefined);
	await claims(s, all, 3, { 'accept-language': 'de' });
});
scenario('a field that the route leaves alone still does', ruled({ 'request-set': 'Accept-Encoding: gzip' }), async (s) => {
	const promise = { 'accept-encoding': 'gzip', 'accept-language': 'de' };
	const all = await held(s, { ...VARY, request: { 'accept-encoding': 'br', 'accept-language': 'de' }, promise });
	await misses(s, all, 3, { 'accept-encoding': 'br', 'accept-language': 'fr' });
	await claims(s, all, 5, { 'accept-encoding': 'br', 'accept-language': 'de' });
});

/* ---- our own cookie ---- */

fs.writeFileSync(path.join(dir, 'key'), 'a secret of sixteen');
const DIARY = { server: { 'diary-cookie': 'seen', 'diary-cookie-key': path.join(dir, 'key') } };
// covers: P-hold-claim P-src-once
for (const rules of [{}, { 'request-set': 'Cookie: gate=1' }, { 'request-remove': 'Cookie' }])
	scenario(`the diary's cookie, which changes, makes no request miss: ${JSON.stringify(rules)}`, ruled(rules, DIARY), async (s) => {
		const { client, origin, up } = await s.open({ ...refusing, path: '/first' });
		origin.respond(up.stream, { fields: { etag: '"1"' }, body: 'first' });
		await client.response(1);
		client.request(3, { path: '/page', 'sec-fetch-mode': 'navigate', cookie: 'user=one' });
		const page = await origin.expectRequest('/page');
		origin.push(page, 2, '/a.css');
		origin.respond(2, { fields: PRIVATE, body: 'secret' });
		origin.respond(page.stream, { body: 'page' });
		const set = (await client.response(3)).headers['set-cookie'];
		assert.match(set, /^seen=/);
		await s.settle(client, origin);
		await claims(s, { client, origin }, 5, { cookie: `user=one; ${set.split(';')[0]}` });
	});

/* ---- the log, and what the client is promised ---- */

// covers: P-num-log
scenario('the log has what the client sent, the origin what the route says', ruled({
	'request-set': 'User-Agent: gate', 'request-remove': 'Referer',
}), async (s) => {
	const { client, origin, up } = await s.open({ path: '/logged', request: { 'user-agent': 'tester', referer: 'http://a/' } });
	assert.equal(up.headers['user-agent'], 'gate');
	assert.equal(up.headers.referer, undefined);
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	const line = await s.gate.access((l) => l.path === '/logged');
	assert.equal(line.user_agent, 'tester');
	assert.equal(line.referer, 'http://a/');
});
// covers: P-make-request-fields
scenario('a promise of our own does not tell the client what the route sets', {
	routes: section('route main', { origin: 'main', 'request-set': 'User-Agent: gate' }),
	origin: { push: 'refuse' }, extra: section('preload links', { link: 'yes' }),
}, async (s) => {
	const { client, origin, up } = await s.open({ request: { 'user-agent': 'tester' } });
	origin.respond(up.stream, { fields: { link: '</a.css>; rel=preload; as=style' }, body: 'page' });
	const promise = await client.expectPromise('/a.css');
	assert.equal(promise.headers['user-agent'], 'tester');
	const asked = await origin.expectRequest('/a.css');
	assert.equal(asked.headers['user-agent'], 'gate');
	origin.respond(asked.stream, { body: 'css' });
	await client.response(promise.promised);
	await client.response(1);
});

/* ---- what is remembered ---- */

const remembering = (rules) => ({
	server: { 'status-socket': 'status' },
	routes: section('route main', { origin: 'main', ...rules }),
	origin: { push: 'refuse' },
	extra: section('preload pages', { remembered: 'apply' }),
	timeout: 120_000,
});

/* Three clients at addresses of their own ask for the page and, with these fields, for what it needs. */
async function teach(s, fields) {
	let origin;
	const load = async (address, page, more) => {
		const client = await s.connect({ localAddress: address });
		client.request(1, { path: page, 'sec-fetch-mode': 'navigate' });
		origin ??= await s.accept();
		origin.respond((await origin.expectRequest(page)).stream, { fields: { 'content-type': 'text/html' }, body: 'page' });
		await client.response(1);
		client.request(3, { path: '/dep.css', referer: `http://localhost:${s.port}${page}`, ...more });
		origin.respond((await origin.expectRequest('/dep.css')).stream, { fields: { 'content-type': 'text/css', 'cache-control': 'max-age=60' }, body: 'css' });
		await client.response(3);
	};
	for (const n of [1, 2, 3])
		await load(`127.0.0.${n}`, '/page', fields);
	const client = await s.connect({ localAddress: '127.0.0.10' });
	client.request(1, { path: '/page', 'sec-fetch-mode': 'navigate' });
	return { client, origin };
}

// covers: P-src-remembered
scenario('credentials of the route teach as those of no client', remembering({ 'request-set': 'Authorization: Basic Z2F0ZQ==' }), async (s) => {
	const { client, origin } = await teach(s, {});
	const push = await client.expectPromise('/dep.css');
	origin.respond((await origin.expectRequest('/dep.css')).stream, { body: 'css' });
	await client.response(push.promised);
	origin.respond((await origin.expectRequest('/page')).stream, { body: 'page' });
	await client.response(1);
});
// covers: P-src-remembered-private
scenario('a request with credentials teaches nothing, even if the route removes them', remembering({ 'request-remove': 'Cookie' }), async (s) => {
	const { client, origin } = await teach(s, { cookie: 'user=one' });
	const page = await origin.expectRequest('/page');
	assert.equal(page.headers.cookie, undefined);
	origin.respond(page.stream, { body: 'page' });
	await client.response(1);
	await client.expectNone('PUSH_PROMISE');
});

/* ---- once more ---- */

// covers: R72
scenario('a request that is tried again has the rules applied once, and Via once', ruled({
	'request-add': 'X-Gate: 1', 'request-set': 'Cookie: gate=1',
}), async (s) => {
	const { client, origin, up } = await s.open({ path: '*', request: { method: 'OPTIONS', 'max-forwards': '5', cookie: 'user=one' } });
	origin.goaway(0);
	const next = await s.accept();
	const again = await next.expectRequest('*');
	assert.deepEqual(again.headers, up.headers);
	assert.equal(again.headers['max-forwards'], '4');
	assert.equal(again.headers['x-gate'], '1');
	assert.equal(again.headers.cookie, 'gate=1');
	assert.match(again.headers.via, /^2 \S+$/);
	next.respond(again.stream, { body: 'options' });
	assert.equal(String((await client.response(1)).body), 'options');
});
