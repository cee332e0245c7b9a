/* SPDX-License-Identifier: MIT */
/* The largest body of a request, which a route may say for itself. */
import assert from 'node:assert/strict';
import { scenario, section } from '../support/gate.mjs';

// covers: R647
scenario('max-request-body of a route is in place of that of the listener', {
	listen: { 'max-request-body': 10 },
	routes: section('route main', { origin: 'main' })
		+ section('route large', { path: '/large', origin: 'main', 'max-request-body': 20 })
		+ section('route any', { path: '/any', origin: 'main', 'max-request-body': 'off' }),
}, async (s) => {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	let stream = 1;
	const post = (path, bytes, announced) => {
		client.request(stream += 2, { method: 'POST', path: `${path}?${stream}`, ...(announced ? { 'content-length': String(bytes) } : {}) }, { endStream: false });
		client.data(stream, 'x'.repeat(bytes), { endStream: true });
		return stream;
	};
	for (const announced of [true, false]) {
		for (const [path, bytes] of [['/', 11], ['/large', 21]])
			assert.equal((await client.response(post(path, bytes, announced))).status, 413, `${path} ${bytes}`);
		for (const [path, bytes] of [['/large', 20], ['/any', 1000]]) {
			const id = post(path, bytes, announced);
			const up = await origin.expectRequest(`${path}?${id}`); /* one that was too large may have begun */
			origin.respond(up.stream, { body: 'x' });
			assert.equal((await client.response(id)).status, 200, `${path} ${bytes}`);
		}
	}
});
