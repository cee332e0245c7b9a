/* SPDX-License-Identifier: MIT */
/* The largest body of a request, which a route may say for itself. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { PASSWORD, passwordLine } from '../support/forward.mjs';
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

const ROWS = [['/', 11, 413], ['/small', 6, 413], ['/large', 21, 413], ['/small', 5, 200], ['/large', 20, 200]];

/* The body has come before it is known whether the password is right, and which route the request has. Each user's is
 * checked for the first time. */
// covers: R647
scenario('max-request-body counts for bodies that have come before the route was found', {
	listen: { 'max-request-body': 10, access: 'users' },
	prepare: (s) => {
		const file = path.join(s.dir, 'users');
		fs.writeFileSync(file, ROWS.map((_, i) => passwordLine(`user${i}`, PASSWORD)).join(''), { mode: 0o644 });
		s.options.routes = section('route main', { origin: 'main' })
			+ section('route large', { path: '/large', origin: 'main', 'max-request-body': 20 })
			+ section('route small', { path: '/small', origin: 'main', 'max-request-body': 5 })
			+ `${section('access users', { users: file, realm: 'the test' }).trimEnd()}\nask = all\nallow = user=*\n\n`;
	},
}, async (s) => {
	const client = await s.connect();
	await client.ready();
	let origin;
	for (const [i, [folder, bytes, status]] of ROWS.entries()) {
		/* Of a body that is refused, the origin may have seen the beginning. */
		const where = `${folder}?${i}`, stream = 2 * i + 1, authorization = `Basic ${Buffer.from(`user${i}:${PASSWORD}`).toString('base64')}`;
		client.request(stream, { method: 'POST', path: where, authorization }, { endStream: false });
		client.data(stream, 'x'.repeat(bytes), { endStream: true });
		if (status === 200) {
			origin ??= await s.accept();
			origin.respond((await origin.expectRequest(where)).stream, { body: 'x' });
		}
		assert.equal((await client.response(stream)).status, status, `${where} ${bytes}`);
	}
});
