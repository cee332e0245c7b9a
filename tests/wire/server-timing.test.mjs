/* SPDX-License-Identifier: MIT */
/* Server-Timing on the wire, as a page's script reads it in either version of HTTP (W3C Server Timing). */
import assert from 'node:assert/strict';
import { scenario, section, sleep } from '../support/gate.mjs';
import { connect1 } from '../support/http1.mjs';

const TIMED = {
	routes: section('routes', { 'server-timing': 'yes' }) + section('route all', { origin: 'main' }) +
		section('route quiet', { origin: 'main', path: '/quiet', 'server-timing': 'no' }),
};

/* Each metric with its parameters. */
const metrics = (headers) => Object.fromEntries((headers['server-timing'] ?? '').split(', ').map((metric) => {
	const [name, ...rest] = metric.split(';');
	return [name, Object.fromEntries(rest.map((x) => x.split('=')))];
}));

scenario('a response says how long it waited for its connection, and for the origin', TIMED, async (s) => {
	const { client, origin, up } = await s.open();
	const before = performance.now();
	await sleep(30);
	origin.respond(up.stream, { body: 'page' });
	const answer = metrics((await client.response(1)).headers);
	assert.ok(Number(answer.origin.dur) >= 25, JSON.stringify(answer)); /* timers may be early by a part of a millisecond */
	assert.ok(Number(answer.queue.dur) >= Number(answer.connect.dur));
	assert.ok(Number(answer.queue.dur) > 0);
	assert.equal(answer.pushgate, undefined);
	client.request(3, { path: '/quiet' });
	const asked = await origin.expectRequest('/quiet');
	origin.respond(asked.stream);
	assert.equal((await client.response(3)).headers['server-timing'], undefined);
	assert.ok(performance.now() - before >= 30);
});

scenario('a page, and what it hinted and held for a browser', {
	...TIMED, extra: section('push both', { action: 'hint+hold' }),
}, async (s) => {
	const { client, origin, up } = await s.open({
		client: { settings: { enablePush: 0 } }, request: { 'sec-fetch-mode': 'navigate' },
	});
	origin.push(up, 2, '/a.css').respond(2, { fields: { 'cache-control': 'max-age=60' }, body: 'css' });
	origin.respond(up.stream, { fields: { 'server-timing': 'db;dur=53' }, body: 'page' });
	const page = (await client.response(1)).headers['server-timing'];
	assert.match(page, /^db;dur=53, pushgate;desc="hint\+hold", queue;dur=[\d.]+, connect;dur=[\d.]+, origin;dur=[\d.]+$/);
	await sleep(20);
	client.request(3, { path: '/a.css' });
	const { headers } = await client.response(3);
	const asset = metrics(headers);
	assert.deepEqual(Object.keys(asset), ['pushgate', 'held']);
	assert.equal(asset.pushgate.desc, '"held"');
	assert.ok(Number(asset.held.dur) >= 15, JSON.stringify(asset));
});

scenario('the same over HTTP/1.1, and nothing on an answer of pushgate itself', TIMED, async (s) => {
	const client = await connect1(s.port);
	s.cleanups.push(() => client.close());
	const asks = (path) => { client.request('GET', path, [['host', 'a.test']]); return client.response(); };
	const page = asks('/page');
	const origin = await s.accept();
	const up = await origin.expectRequest('/page');
	origin.respond(up.stream, { body: 'page' });
	assert.match((await page).headers['server-timing'], /^queue;dur=.*, origin;dur=/);
	const lost = asks('/lost');
	origin.rst((await origin.expectRequest('/lost')).stream, 'INTERNAL_ERROR');
	const answer = await lost;
	assert.equal(answer.status, 502);
	assert.equal(answer.headers['server-timing'], undefined);
});
