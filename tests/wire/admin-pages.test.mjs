/* SPDX-License-Identifier: MIT */
/*
 * What an admin listener says of pages and their pushes, in JSON, HAR and events: the same as the access log, nothing that
 * is secret, and text whatever bytes peers have sent.
 */
import assert from 'node:assert/strict';
import { section, until } from '../support/gate.mjs';
import { fetchPage, listenTo, withAdmin as gate } from '../support/admin.mjs';
import { xssForms } from '../support/xss_forms.mjs';

const RULES = section('push no', { 'promised-path': '/drop*', action: 'drop' })
	+ section('push hint', { 'promised-path': '/hint*', action: 'hint', 'hint-clients': 'all' })
	+ section('push hold', { 'promised-path': '/hold*', action: 'hold' })
	+ section('push both', { 'promised-path': '/both*', action: 'hint+hold', 'hint-clients': 'all' });
/* Both hints go into the one 103. */
const SERVER = { 'hint-wait': '1s' };
const FRESH = { 'cache-control': 'max-age=60' };
const NAMES = ['/drop.css', '/hint.css', '/hold.css', '/both.css', '/go.css'];

/* A page with a push of each verdict, of which /hold.css is claimed and /go.css delivered. */
async function page(s, { path = '/page', request = {} } = {}) {
	const { client, origin, up } = await s.open({ path, request: { 'user-agent': 'tester', ...request } });
	NAMES.forEach((name, i) => origin.push(up, 2 * i + 2, name));
	for (const i of [2, 3, 4])
		origin.respond(2 * i + 2, { fields: FRESH, body: 'x'.repeat(10 * i) });
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	assert.equal(String((await client.response(2)).body), 'x'.repeat(40));
	await s.settle(client, origin);
	client.request(3, { path: '/hold.css', ...request });
	await client.response(3);
	return { client, origin };
}
/* The newest page of the list whose path is this, once it is over. */
const listed = (s, path = '/page', query = '') => until(`${path} is listed`, async () => (await s.api(`pages${query}`)).pages.find((p) => p.path === path && p.over));
const ended = (s, id, name) => until(`${name} has ended`, async () => {
	const whole = await s.api(`pages/${id}`);
	return whole.pushes.find((p) => p.path === name).times.end !== undefined && whole;
});

// covers: R250
gate('a page has its pushes, with the verdicts, reasons and bytes of the access log', { extra: RULES, server: SERVER }, async (s) => {
	const { client } = await page(s);
	const { id } = await listed(s);
	await ended(s, id, '/hold.css');
	client.close(); /* what is held for it, and was not asked for, ends */
	const whole = await ended(s, id, '/both.css');
	const lines = await until('all lines', () => { const l = s.gate.accessLines(); return l.filter((x) => x.push).length === NAMES.length && l; });
	const line = lines.find((l) => l.id === whole.exchange && !l.push);
	assert.equal(whole.offers, NAMES.length);
	assert.deepEqual(whole.verdicts, { forward: 1, drop: 1, hold: 1, hint: 1, 'hint+hold': 1 });
	for (const key of ['method', 'scheme', 'authority', 'protocol', 'listen', 'route', 'origin'])
		assert.equal(whole[key], line[key], key);
	assert.equal(whole.status, line.status);
	assert.equal(whole.bytes, line.response_bytes);
	assert.equal(whole.outcome, line.outcome);
	assert.equal(whole.duration_us, line.duration_us);
	assert.equal(whole.first_byte_us, line.first_byte_us);
	assert.equal(whole.client, line.client);
	assert.equal(whole.server, line.origin_address);
	assert.equal(whole.user_agent, 'tester');
	for (const name of NAMES) {
		const push = whole.pushes.find((p) => p.path === name), l = lines.find((x) => x.push && x.path === name);
		assert.equal(push.verdict, l.verdict, name);
		assert.equal(push.reason, l.reason, name);
		assert.equal(push.rule, l.rule, name);
		assert.equal(push.end_reason, l.end_reason, name);
		assert.equal(push.source, l.source, name);
		assert.equal(push.exchange, l.id, name);
		assert.equal(push.status, l.status, name);
		assert.equal(push.wasted_bytes, l.wasted_bytes ?? 0, name);
		assert.equal(push.outcome, l.outcome, name);
	}
	const of = (name) => whole.pushes.find((p) => p.path === name);
	assert.deepEqual(NAMES.map((name) => of(name).use), ['unknown', 'unknown', 'used', 'wasted', 'used']);
	assert.deepEqual(NAMES.map((name) => Object.keys(of(name).times).join(' ')), ['decided', 'decided hint', 'decided hold head complete claim end', 'decided hold hint head complete end', 'decided promise head sent complete end']);
	assert.equal(whole.wasted_bytes, 30);
	assert.equal(whole.pushed_bytes, 20 + 30 + 40);
});

gate('the list can be filtered by host, path, client and verdict', { extra: RULES, server: SERVER }, async (s) => {
	const { origin } = await page(s);
	const other = await s.connect();
	other.request(1, { path: '/other', ':authority': 'b.test', accept: 'text/html' });
	const up = await origin.expectRequest('/other');
	origin.respond(up.stream, { body: 'other' });
	await other.response(1);
	await listed(s, '/other');
	for (const [query, paths] of [['', ['/other', '/page']], ['?host=b.te', ['/other']], ['?path=%2Fpage', ['/page']], ['?path=/nothing', []], ['?client=127.0.0.', ['/other', '/page']],
		['?client=10.', []], ['?verdict=hint%2Bhold', ['/page']], ['?verdict=drop&path=other', []], ['?host=B.TEST&unknown=1', ['/other']]])
		assert.deepEqual((await s.api(`pages${query}`)).pages.map((p) => p.path), paths, query);
	const bad = await s.fetch('/api/pages?verdict=perhaps');
	assert.equal(bad.status, 400);
	for (const id of ['0-1', '9-1', '0-', '-', 'x', '0-18446744073709551616', '../pages'])
		assert.equal((await s.fetch(`/api/pages/${id}`)).status, 404, id);
});

// covers: R251
gate('no answer has a credential, a cookie or a value of a query', { extra: (s) => RULES + section('route two', { origin: 'main', host: 'two.test', field: 'X-From-Edge: hidden-word', 'request-set': 'Authorization: Bearer hidden-word' }) }, async (s) => {
	await page(s, { path: '/page?token=hidden-word&hidden-word', request: { cookie: 'a=hidden-word', authorization: 'Basic hidden-word', referer: 'http://x/hidden-word' } });
	const { id } = await listed(s, '/page?token=…&…');
	for (const [asked, host] of [['http://user:hidden-word@www.a.test/user', 'www.a.test'], ['/user', 'user:hidden-word@www.a.test'], ['http://user:hidden-word@/user', '']])
		assert.equal((await fetchPage(s.port, asked, { headers: { host, accept: 'text/html' } })).status, 400, asked);
	for (const asked of ['/', '/api/pages', `/api/pages/${id}`, `/api/pages/${id}.har`, '/api/har', '/api/config', '/api/servers', '/api/connections', '/api/overview', '/api/rules']) {
		const { status, text } = await s.fetch(asked);
		assert.equal(status, 200, asked);
		assert.ok(!text.includes('hidden-word'), asked);
	}
	const { sections } = await s.api('config');
	assert.deepEqual(sections.find((x) => x.title === 'route two').options.map((o) => [o.key, o.value]),
		[['origin', 'main'], ['host', 'two.test'], ['field', 'X-From-Edge: …'], ['request-set', 'Authorization: …']]);
	assert.ok(sections.every((x) => x.file.endsWith('pushgate.ini') && x.line > 0 && x.options.every((o) => o.line > x.line)));
});

// covers: R252
gate('hostile paths and user-agents are text, in JSON and in HAR', { extra: RULES, server: { 'page-records': 512 } }, async (s) => {
	const forms = xssForms();
	assert.ok(forms.length >= 200);
	const { client, origin, up } = await s.open({ path: '/first' });
	origin.respond(up.stream, { body: 'first' });
	await client.response(1);
	let stream = 3;
	for (const form of forms) {
		client.request(stream, { path: `/${form}`, 'user-agent': form, accept: 'text/html' });
		const asked = await origin.expectRequest(`/${form}`);
		origin.respond(asked.stream, { body: 'x' });
		await client.response(stream);
		stream += 2;
	}
	await listed(s, `/${forms.at(-1)}`);
	const { text } = await s.fetch('/api/pages'), har = await s.fetch('/api/har');
	for (const raw of [text, har.text])
		assert.equal(/[<>&\u2028\u2029]|[\0-\x08\x0b-\x1f\x7f]/.exec(raw), null);
	const paths = JSON.parse(text).pages.map((p) => p.path);
	assert.deepEqual(paths.sort(), forms.map((f) => `/${f}`).sort());
	const one = JSON.parse(text).pages[0];
	assert.equal((await s.api(`pages/${one.id}`)).user_agent, one.path.slice(1));
	assert.equal(JSON.parse(har.text).log.entries.length, forms.length);
});

gate('events come as pages end and as their pushes end later', { extra: RULES }, async (s) => {
	const stream = listenTo(s.admin);
	await until('the stream is open', () => stream.bytes > 0);
	assert.equal(stream.type, 'text/event-stream');
	const { client } = await page(s);
	const first = await until('an event', () => stream.events.find((e) => e.event === 'page'));
	assert.equal(first.data.path, '/page');
	await until('an event when the push was claimed', () => stream.events.findLast((e) => e.event === 'page')?.data.used === 2);
	client.close();
	await until('an event when the other one has expired', () => stream.events.findLast((e) => e.event === 'page')?.data.wasted === 1);
	assert.ok(stream.events.every((e) => e.data.id === first.data.id));
	stream.close();
});

// covers: R254
gate('however many pages there are, a stream gets few of them, and the number of the others', { server: { 'page-records': 64 } }, async (s) => {
	const stream = listenTo(s.admin);
	await until('the stream is open', () => stream.bytes > 0);
	const { client, origin, up } = await s.open({ path: '/first' });
	origin.respond(up.stream, { body: 'first' });
	await client.response(1);
	const pages = 500;
	for (let i = 0; i < pages; i += 50) {
		for (let k = i; k < i + 50; k++)
			client.request(3 + 2 * k, { path: `/p${k}`, accept: 'text/html' });
		for (let k = i; k < i + 50; k++)
			origin.respond((await origin.expectRequest()).stream, { body: 'x' });
		for (let k = i; k < i + 50; k++)
			await client.response(3 + 2 * k);
	}
	const sum = () => stream.events.reduce((n, e) => n + (e.event === 'skipped' ? e.data.pages : 1), 0);
	await until('all of them', () => sum() >= pages);
	const shown = stream.events.filter((e) => e.event === 'page').length;
	assert.ok(shown < pages / 2, `${shown} events`);
	assert.equal(sum(), pages);
	assert.equal((await s.api('pages')).pages.length, 64);
	let next = pages;
	await until('a later one has its record', async () => {
		client.request(3 + 2 * next, { path: `/p${next}`, accept: 'text/html' });
		origin.respond((await origin.expectRequest()).stream, { body: 'x' });
		await client.response(3 + 2 * next);
		return (await s.api(`pages?path=/p${next++}`)).pages.length === 1;
	});
	stream.close();
});

gate('pages of all workers are there, the newest first', { single: false, server: { workers: 2 }, origins: { main: { server: 'demo:' } } }, async (s) => {
	const asked = new Set();
	for (let i = 0; asked.size < 2 && i < 60; i++) {
		await fetchPage(s.port, `/p${i}`, { headers: { accept: 'text/html', host: 'x' } });
		for (const p of (await s.api('pages')).pages)
			asked.add(p.worker);
	}
	assert.deepEqual([...asked].sort(), [0, 1]);
	const { pages, workers } = await s.api('pages');
	assert.equal(workers, 2);
	assert.ok(pages.every((p, i) => i === 0 || p.started <= pages[i - 1].started), 'the newest comes first');
});

gate('explain says what the command says, and what is wrong with a question', { extra: RULES }, async (s) => {
	const { text } = await s.api('explain?url=http%3A%2F%2Fwww.a.test%2F&promise=%2Fdrop.css&client=push');
	assert.match(text, /drop/);
	assert.match(text, /rule +no \(.*pushgate\.ini:\d+\): matches/);
	assert.match((await s.api('explain?url=http://www.a.test/&promise=/x&client=chrome')).text, /ENABLE_PUSH=0/);
	assert.match((await s.api('explain?url=http://www.a.test/&cert=cn:alice')).text, /asks this client for no certificate/);
	for (const [query, why] of [['', /url is missing/], ['url=http://a/&client=cat', /write an address/], ['url=http://a/&client=push&address=10.0.0.1%20', /write an address/], ['url=CONNECT%20a:1', /write a URL/],
		['url=http://a/&cert=/etc/passwd', /write a name of the certificate/], ['url=http://a/&cert=cn:a%0acn:b', /write a name of the certificate/]]) {
		const bad = await s.fetch(`/api/explain?${query}`);
		assert.equal(bad.status, 400, query);
		assert.match(bad.text, why);
	}
	for (const url of ['x', 'http://', 'http://a b/', '%00', 'http://[::1', `http://a/${'x'.repeat(4000)}`, 'http://a/%3Cscript%3E'])
		assert.equal((await s.fetch(`/api/explain?url=${encodeURIComponent(url)}&promise=${encodeURIComponent(url)}`)).status, 200, url);
});

// covers: R255
gate('connections of both hops have the settings that each side has announced', { extra: RULES }, async (s) => {
	const { client } = await page(s);
	const { connections, left_out: more } = await s.api('connections');
	assert.equal(more, 0);
	const down = connections.find((c) => c.side === 'client' && c.protocol === 'h2'), up = connections.find((c) => c.side === 'origin');
	assert.equal(down.peer, '127.0.0.1');
	assert.equal(down.name, 'main');
	assert.equal(up.name, 'main');
	assert.equal(down.theirs.enable_push, true);
	assert.equal(down.ours.max_concurrent_streams, 100);
	assert.equal(up.ours.enable_push, true);
	assert.ok(up.theirs.initial_window_size > 0);
	assert.ok(connections.some((c) => c.protocol === 'http/1.1' && c.theirs === null), 'that of the admin listener itself');
	client.request(9, { path: '/open' });
	await until('it is open', async () => (await s.api('connections')).connections.some((c) => c.side === 'client' && c.protocol === 'h2' && c.open === 1));
});

// covers: R253
gate('the page has a strict policy, no foreign host, and tables without scripts', { extra: RULES }, async (s) => {
	await page(s);
	await listed(s);
	const index = await s.fetch('/');
	assert.equal(index.status, 200);
	assert.equal(index.headers['content-type'], 'text/html; charset=utf-8');
	assert.match(index.headers['content-security-policy'], /^default-src 'none'; script-src 'self'; style-src 'self';/);
	assert.match(index.headers['content-security-policy'], /frame-ancestors 'none'/);
	assert.equal(index.headers['cache-control'], 'no-store');
	assert.equal(/<script>|style=|[\s"'/]on[a-z]+=|https?:\/\/(?!www\.example\.com)/.exec(index.text)?.[0], undefined);
	assert.match(index.text, /<caption>/);
	let sum = index.text.length;
	for (const [, file] of index.text.matchAll(/(?:src|href)="([a-z]+\.[a-z]+)"/g)) {
		const { status, text } = await s.fetch(`/${file}`);
		assert.equal(status, 200, file);
		sum += text.length;
	}
	assert.ok(sum < 100 * 1024, `${sum} bytes`);
	assert.equal((await s.fetch('/', { method: 'HEAD' })).status, 200);
	assert.equal((await s.fetch('/page.js', { method: 'POST' })).status, 405);
});

gate('without page-records there are no pages, and nothing to listen to', { server: { 'page-records': 0 }, origins: { main: { server: 'demo:' } } }, async (s) => {
	await fetchPage(s.port, '/p', { headers: { accept: 'text/html', host: 'x' } });
	assert.deepEqual(await s.api('pages'), { workers: 0, records: 0, pages: [] });
	assert.equal((await s.fetch('/events')).status, 204);
	assert.equal((await s.fetch('/api/pages/0-1')).status, 404);
});
