/* SPDX-License-Identifier: MIT */
/* Chromium before a gateway that asks for a password (401). forward.test.mjs has a proxy that does (407). */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { scenario, section } from '../support/gate.mjs';
import { PASSWORD, USER, passwordLine, serveAll } from '../support/forward.mjs';
import { versionedOrigins } from '../support/versions.mjs';
import { browse, skip, typePasswords } from './chromium.mjs';

scenario('Chromium is asked for the password of a site once', {
	skip, tls: true, origins: {}, listen: { access: 'site' }, timeout: 60000,
	async prepare(s) {
		const { ports, close } = await versionedOrigins(serveAll, ['h1']);
		s.cleanups.push(close);
		const users = path.join(s.dir, 'users');
		fs.writeFileSync(users, passwordLine(USER, PASSWORD), { mode: 0o644 });
		s.options.routes = section('origin main', { server: `http://127.0.0.1:${ports.h1}` }) + section('route main', { origin: 'main' })
			+ section('access site', { users, realm: 'the site', ask: 'all', allow: 'user=*' });
	},
}, async (s) => {
	const { page, cdp } = await browse(s);
	const asked = await typePasswords(cdp, USER, ['wrong', PASSWORD]);
	const origin = `https://localhost:${s.port}`;
	assert.equal((await page.goto(`${origin}/page`)).status(), 200);
	assert.deepEqual(asked.map((a) => [a.source, a.scheme, a.realm, a.origin]), Array(2).fill(['Server', 'basic', 'the site', origin]));
	const headers = await page.evaluate(async () => (await (await fetch('/echo')).json()).headers);
	assert.equal(headers.authorization, undefined, 'the origin does not get the password');
	assert.equal(asked.length, 2, 'not again on the same site');
});
