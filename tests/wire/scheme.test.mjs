/* SPDX-License-Identifier: MIT */
/*
 * :scheme (RFC 9110 7.4): it is that of the connection, or `trusted` of the listener names the peer, by the address
 * of its TCP connection, or because it comes through a unix socket.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { certs, freePort, scenario, section, workDir } from '../support/gate.mjs';

const TLS = { certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') };
const dir = workDir();

/* Each listener with its way in, whom it trusts, and whether this is us. */
const listeners = [];
for (const tls of [false, true])
	for (const [unix, trusted, isTrusted] of [
		[false, undefined, false],
		[false, '192.0.2.0/24 2001:db8::/32 unix', false],
		[false, '127.0.0.1', true],
		[false, ['192.0.2.0/24', '127.0.0.0/8'], true],
		[true, undefined, false],
		[true, '127.0.0.1 0.0.0.0/0 ::/0', false],
		[true, 'unix', true],
		[true, '192.0.2.7, unix', true],
	]) {
		const name = `l${listeners.length}`;
		const port = unix ? undefined : await freePort();
		listeners.push({ name, tls, unix: unix ? path.join(dir, name) : undefined, port, trusted, isTrusted });
	}

const extra = listeners.map((l) => section(`listen ${l.name}`, {
	address: l.unix ? `unix:${l.unix}` : `127.0.0.1:${l.port}`, trusted: l.trusted, ...(l.tls ? TLS : {}),
})).join('');

const FORWARDED = { forwarded: 'for=127.0.0.1;proto=https', 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'https', 'x-real-ip': '127.0.0.1' };

// covers: R85
scenario('RFC 9110 7.4. each scheme on each kind of listener, from each kind of peer', { extra, timeout: 120000 }, async (s) => {
	let origin;
	for (const l of listeners) {
		const client = await s.connect({ tls: l.tls, unix: l.unix, ...(l.port ? { port: l.port } : {}), name: l.name });
		let id = -1;
		for (const scheme of ['http', 'https', 'HTTP', 'HTTPS', 'ftp', 'wss'])
			for (const fields of [{}, FORWARDED]) {
				const what = `${scheme} on ${JSON.stringify(l)} ${JSON.stringify(fields)}`;
				const isHttp = /^https?$/i.test(scheme);
				const isServed = isHttp && (l.isTrusted || scheme.toLowerCase() === (l.tls ? 'https' : 'http'));
				id += 2;
				client.request(id, { path: `/${l.name}-${id}`, ':scheme': scheme, ...fields });
				if (isServed) {
					origin ??= await s.accept();
					const up = await origin.expectRequest(`/${l.name}-${id}`);
					assert.equal(up.headers[':scheme'], scheme, what);
					origin.respond(up.stream, { body: 'x' });
				}
				const r = await client.response(id);
				assert.equal(r.status, isServed ? 200 : 421, what);
				if (isServed)
					continue;
				const line = await s.gate.access((x) => x.path === `/${l.name}-${id}`);
				assert.equal(line.detail, !isHttp ? 'no scheme that is served here'
					: l.tls ? 'http over TLS, and the peer is not in trusted' : 'https in cleartext, and the peer is not in trusted', what);
			}
	}
});

scenario('the error log says which line lets an h2c client behind a TLS terminator in', async (s) => {
	const client = await s.connect();
	client.request(1, { ':scheme': 'https' });
	assert.equal((await client.response(1)).status, 421);
	await s.gate.error(/main: peer 127\.0\.0\.1: https in cleartext, answered 421; if TLS ends there, add trusted = 127\.0\.0\.1 to \[listen main\]/);
});

/* A trusted terminator that is an HTTP proxy speaks for many users on one connection. */
scenario('what came through a proxy gets no held response, however trusted the proxy', {
	origin: { push: 'accept' }, listen: { trusted: '127.0.0.1' }, extra: '[push keep]\naction = hold\n',
}, async (s) => {
	for (const [id, fields, isHeld] of [[1, {}, true], [3, { forwarded: 'for=192.0.2.1;proto=https' }, false], [5, { 'x-forwarded-for': '192.0.2.1' }, false]]) {
		const client = await s.connect();
		client.request(1, { ':scheme': 'https', path: `/page${id}`, ...fields });
		const origin = s.origin ??= await s.accept();
		const up = await origin.expectRequest(`/page${id}`);
		origin.push(up, 2 * id, `/asset${id}`);
		if (isHeld)
			origin.respond(2 * id, { fields: { 'cache-control': 'max-age=60' }, body: 'held' });
		else
			await origin.expectReset(2 * id);
		origin.respond(up.stream, { body: 'page' });
		assert.equal((await client.response(1)).status, 200);
		client.request(3, { ':scheme': 'https', path: `/asset${id}`, ...fields });
		if (!isHeld)
			origin.respond((await origin.expectRequest(`/asset${id}`)).stream, { body: 'asked' });
		assert.equal(String((await client.response(3)).body), isHeld ? 'held' : 'asked');
	}
});

/* ---- what follows the scheme of the request ---- */

scenario('pushes, links and held responses of a trusted client have the scheme of its request', {
	origin: { push: 'accept' }, listen: { trusted: '127.0.0.1' }, extra: '[preload all]\nlink = yes\nadd = /own\n',
}, async (s) => {
	const client = await s.connect();
	client.request(1, { ':scheme': 'https', path: '/page' });
	const origin = await s.accept();
	const own = await origin.expectRequest('/own'), up = await origin.expectRequest('/page');
	assert.equal(up.headers[':scheme'], 'https');
	origin.respond(own.stream, { body: 'x' });
	origin.push(up, 2, '/relayed').respond(2, { body: 'x' });
	origin.respond(up.stream, { fields: { link: `</linked>; rel=preload; as=style, <https://${client.authority}/absolute>; rel=preload; as=style` }, body: 'page' });
	for (const name of ['/own', '/relayed', '/linked', '/absolute']) {
		const p = await client.expectPromise(name);
		assert.equal(p.headers[':scheme'], 'https', name);
		if (name === '/linked' || name === '/absolute')
			origin.respond((await origin.expectRequest(name)).stream, { body: 'x' });
		assert.equal((await client.response(p.promised)).status, 200);
	}
	assert.equal((await client.response(1)).status, 200);
});

for (const trusted of [undefined, '127.0.0.1'])
	scenario(`a link to https from a page in cleartext ${trusted ? 'is pushed to a client that may ask for https' : 'is not pushed'}`, {
		origin: { push: 'accept' }, listen: { trusted }, extra: '[preload all]\nlink = yes\n[push any]\ncross-origin = yes\naction = forward\n',
	}, async (s) => {
		const { client, origin, up } = await s.open();
		origin.respond(up.stream, { fields: { link: `<https://${client.authority}/a>; rel=preload; as=style` }, body: 'page' });
		assert.equal((await client.response(1)).status, 200);
		if (!trusted) {
			await client.expectNone('PUSH_PROMISE');
			assert.equal((await s.gate.access((x) => x.path === '/a')).reason, 'downstream-authority');
			return;
		}
		const asked = await origin.expectRequest('/a');
		assert.equal(asked.headers[':scheme'], 'https');
		origin.respond(asked.stream, { body: 'x' });
		assert.equal((await client.expectPromise('/a')).headers[':scheme'], 'https');
	});
