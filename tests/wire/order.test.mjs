/* SPDX-License-Identifier: MIT */
/* Which bytes leave first when a page and its pushes are all ready at once (RFC 9218 10, `urgency` of [push]). */
import assert from 'node:assert/strict';
import { scenario, section } from '../support/gate.mjs';

const SIZE = 60000; /* several DATA frames, and less than the window for uploads and downloads alike */

/*
 * The client's stream windows are shut until the origin has pushed two resources whole and then answered the page;
 * then all open at once. Gives the streams of the DATA frames in the order in which they came.
 */
async function race(s, request = {}) {
	const { client, origin, up } = await s.open({ client: { settings: { initialWindowSize: 0 } }, request });
	client.windowUpdate(0, 1 << 20);
	for (const [id, path] of [[2, '/a.css'], [4, '/b.js']])
		origin.push(up, id, path).headers(id, { ':status': 200 });
	for (const id of [2, 4])
		for (let sent = 0; sent < SIZE; sent += 10000)
			origin.data(id, Buffer.alloc(10000, 'p'), { endStream: sent + 10000 === SIZE });
	const promised = [(await client.expectPromise()).promised, (await client.expectPromise()).promised];
	await s.settle(client, origin);
	origin.headers(up.stream, { ':status': 200 });
	for (let sent = 0; sent < SIZE; sent += 10000)
		origin.data(up.stream, Buffer.alloc(10000, 'm'), { endStream: sent + 10000 === SIZE });
	await client.expectHead(1);
	await s.settle(client, origin);
	assert.equal(client.seen('DATA', { length: (n) => n > 0 }).length, 0, 'nothing moves while the windows are shut');
	client.settings({ initialWindowSize: 1 << 20 });
	const order = [];
	for (let ends = 0; ends < 3;) {
		const f = await client.expect('DATA');
		order.push(f.stream);
		ends += f.endStream ? 1 : 0;
	}
	return { order, promised };
}
const before = (order, first, then) => order.lastIndexOf(first) < order.indexOf(then);

// covers: P-make-never-starves
scenario('a push never delays its parent: what is ready of the page leaves before any pushed byte', async (s) => {
	const { order, promised } = await race(s);
	for (const id of promised)
		assert.ok(before(order, 1, id), order.join(' '));
});
for (const urgency of ['u=0', 'u=5', 'u=7'])
	scenario(`a push never delays its parent, whatever the page's own priority: ${urgency}`, async (s) => {
		const { order, promised } = await race(s, { priority: urgency });
		for (const id of promised)
			assert.ok(order.indexOf(1) < order.indexOf(id), order.join(' '));
	});
scenario('urgency = after: one step behind the page', { extra: section('push all', { action: 'forward', urgency: 'after' }) }, async (s) => {
	const { order, promised } = await race(s);
	for (const id of promised)
		assert.ok(before(order, 1, id), order.join(' '));
});
scenario('urgency = before: pushed bytes leave first', { extra: section('push all', { action: 'forward', urgency: 'before' }) }, async (s) => {
	const { order, promised } = await race(s);
	for (const id of promised)
		assert.ok(before(order, id, 1), order.join(' '));
});
scenario('urgency = interleaved: page and pushes take turns', { extra: section('push all', { action: 'forward', urgency: 'interleaved' }) }, async (s) => {
	const { order, promised } = await race(s);
	for (const id of promised) {
		assert.ok(order.indexOf(id) < order.lastIndexOf(1), order.join(' '));
		assert.ok(order.indexOf(1) < order.lastIndexOf(id), order.join(' '));
	}
});
