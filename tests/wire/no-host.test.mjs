/* SPDX-License-Identifier: MIT */
/*
 * Requests in HTTP/1.0 that name no host (RFC 9112 3.2): checks of load balancers and old devices send them. Routes for any host
 * take them, and the origin gets a Host of its own. They are for no host that a rule names, and nothing is pushed, held or
 * remembered of them.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { scenario, section, workDir } from '../support/gate.mjs';
import { recordingOrigin } from '../support/http1.mjs';

/* The whole response to these bytes; the connection ends with it. */
function say(port, text) {
	return new Promise((resolve, reject) => {
		const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
		let got = '';
		socket.on('data', (d) => { got += d.toString('latin1'); });
		socket.on('error', reject);
		socket.on('end', () => { socket.end(); resolve(got); });
		socket.write(text);
	});
}
const get = (s, target, fields = '') => say(s.port, `GET ${target} HTTP/1.0\r\n${fields}\r\n`);
const status = (text) => Number(text.slice(9, 12));

/* Asks, and answers at the origin; what the origin got. */
async function served(s, target, fields, answer = { body: 'x' }) {
	const response = get(s, target, fields);
	s.upstream ??= await s.accept();
	const up = await s.upstream.expectRequest();
	s.upstream.respond(up.stream, answer);
	return { up, text: await response };
}

// covers: R306
scenario('HTTP/1.0 without Host: a route for any host takes it, with the Host of its origin', async (s) => {
	for (const target of ['/', '/a?b=c', '/proxy.pac']) {
		const { up, text } = await served(s, target);
		assert.equal(status(text), 200);
		assert.match(text, /\r\nconnection: close\r\n/i);
		assert.equal(up.headers[':path'], target);
		assert.equal(up.headers[':authority'], `127.0.0.1:${s.server.port}`);
		assert.equal(up.headers.host, undefined);
	}
	const line = await s.gate.access((l) => l.path === '/a?b=c');
	assert.equal(line.authority ?? '', '');
	for (const text of ['GET / HTTP/1.1\r\n\r\n', 'GET / HTTP/1.0\r\nHost:\r\n\r\n', 'GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n', 'GET nowhere HTTP/1.0\r\n\r\n'])
		assert.equal(status(await say(s.port, text)), 400, text);
});

// covers: R306
scenario('HTTP/1.0 without Host: `host` of the origin counts', { origin: { host: 'app.internal:81' } }, async (s) => {
	assert.equal((await served(s, '/')).up.headers[':authority'], 'app.internal:81');
});

// covers: R306
scenario('HTTP/1.0 without Host: a route for some host does not take it', {
	routes: section('route a', { host: 'a.test *.test', origin: 'main' }) + section('route all', { path: '/all', host: '*', origin: 'main' }),
}, async (s) => {
	assert.equal((await served(s, '/all')).up.headers[':path'], '/all');
	assert.equal(status(await get(s, '/')), 404);
});

// covers: R306
scenario('HTTP/1.0 without Host: 400 where each route is for a host', { routes: section('route a', { host: 'a.test', origin: 'main' }) }, async (s) => {
	assert.equal(status(await get(s, '/')), 400);
	const line = await s.gate.access((l) => l.path === '/');
	assert.equal(line.status, 400);
});

// covers: R306
for (const [label, rules, answer] of [
	['deny with a host takes it', { deny: 'host=a.test', allow: 'all' }, 403],
	['ask with a host takes it', { users: path.join(workDir(), 'users'), ask: 'host=a.test', allow: 'all' }, 401],
	['allow with a host does not', { allow: 'host=a.test' }, 403],
	['allow without one does', { allow: 'all' }, 200],
])
	scenario(`HTTP/1.0 without Host: ${label}`, {
		listen: { access: 'rules' },
		prepare: () => { if (rules.users) fs.writeFileSync(rules.users, 'bob:$2y$04$abcdefghijklmnopqrstuuX5dXkPzRPTAPkYvcIu6cIZX0TDaPPyG\n'); },
		extra: section('access rules', rules),
	}, async (s) => {
		if (answer === 200)
			assert.equal(status((await served(s, '/')).text), 200);
		else
			assert.equal(status(await get(s, '/')), answer);
	});

// covers: R306 R497
scenario('HTTP/1.0 without Host: what the origin is told has no host of the client', {
	routes: section('route all', { origin: 'main', forwarded: 'append' }),
}, async (s) => {
	const { up } = await served(s, '/');
	assert.equal(up.headers.forwarded, 'for=127.0.0.1;proto=http');
	assert.equal(up.headers['x-forwarded-host'], undefined);
});

// covers: R306 R494
scenario('HTTP/1.0 without Host: redirects need a host only where they name it', {
	routes: section('route there', { path: '/there', redirect: 'https://{host}{path}' }) + section('route here', { path: '/here', redirect: 'https://b.test{path}' })
		+ section('route all', { origin: 'main' }),
	extra: '',
}, async (s) => {
	assert.equal(status(await get(s, '/there')), 400);
	assert.match(await get(s, '/here'), /^HTTP\/1.1 308 [^]*\r\nlocation: https:\/\/b.test\/here\r\n/i);
});

// covers: R306
scenario('HTTP/1.0 without Host: redirect-to-https has nowhere to lead', { listen: { 'redirect-to-https': 'yes' } }, async (s) => {
	assert.equal(status(await get(s, '/')), 400);
});

// covers: R306 R492
scenario('HTTP/1.0 without Host: what the origin says of itself stays a path', {
	routes: section('route all', { path: '/api', origin: 'main', rewrite: '/api /v1' }) + section('route rest', { origin: 'main', rewrite: '/ /root' }),
}, async (s) => {
	const own = () => `http://127.0.0.1:${s.server.port}`;
	for (const [asked, location, wanted] of [
		['/api/x', () => `${own()}/v1/y?z`, '/api/y?z'],
		['/api/x', () => '/v1/y', '/api/y'],
		['/api/x', () => 'https://elsewhere.test/v1/y', 'https://elsewhere.test/v1/y'],
		['/x', () => `${own()}/root//evil.test`, '/.//evil.test'],
		['/x', () => '/root//evil.test', '/.//evil.test'],
	]) {
		const response = get(s, asked);
		s.upstream ??= await s.accept();
		const up = await s.upstream.expectRequest();
		s.upstream.respond(up.stream, { status: 302, fields: { location: location() } });
		assert.ok((await response).toLowerCase().includes(`\r\nlocation: ${wanted}\r\n`), `${location()} of ${asked}`);
	}
});

// covers: R306 P-hold-claim
scenario('HTTP/1.0 without Host: nothing is pushed, held, offered or claimed', {
	origin: { push: 'accept' },
	server: { 'hold-shared': 'yes' },
	extra: section('preload own', { link: 'yes', add: '/own.css as=style', remembered: 'propose' }) + section('push hold', { action: 'hold' }),
}, async (s) => {
	/* Held for a client that names the host of the origin. */
	const client = await s.connect({ settings: { enablePush: 0 } });
	client.request(1, { path: '/page', ':authority': 'a.test' });
	s.upstream = await s.accept();
	const page = await s.upstream.expectRequest('/page');
	s.upstream.push(page, 2, '/r');
	s.upstream.respond(2, { fields: { 'cache-control': 'public, max-age=60' }, body: 'held' });
	const own = await s.upstream.expectRequest('/own.css');
	s.upstream.respond(own.stream, { fields: { 'cache-control': 'public, max-age=60' }, body: 'held' });
	s.upstream.respond(page.stream, { body: 'page' });
	assert.equal((await client.response(1)).status, 200);
	await s.upstream.sync();

	for (const target of ['/r', '/own.css', '/page']) {
		const response = get(s, target, 'User-Agent: x\r\n');
		const up = await s.upstream.expectRequest(target);
		if (target === '/page')
			s.upstream.push(up, 4, '/never', {}, { ':authority': up.headers[':authority'] });
		s.upstream.respond(up.stream, { fields: { link: '</linked.css>; rel=preload; as=style' }, body: 'asked' });
		assert.match(await response, /asked$/);
	}
	assert.equal((await s.upstream.expect('RST_STREAM', { stream: 4 })).code, 'PROTOCOL_ERROR');
	await s.upstream.sync();
	assert.equal((await s.gate.access((l) => l.path === '/never')).verdict, 'drop');
	assert.deepEqual(s.gate.accessLines().filter((l) => l.source && !l.authority && l.path !== '/never'), []);
});

// covers: R306
scenario('HTTP/1.0 without Host: an origin in HTTP/1.1 gets a Host', {
	prepare: async (s) => {
		s.recording = await recordingOrigin();
		s.cleanups.push(() => s.recording.close());
		s.options.origins = { main: { server: `http://127.0.0.1:${s.recording.port}` } };
	},
}, async (s) => {
	assert.equal(status(await get(s, '/x')), 200);
	const request = s.recording.requests.find((r) => r.target === '/x');
	assert.deepEqual(request.fields.filter(([n]) => n.toLowerCase() === 'host').map(([, v]) => v), [`127.0.0.1:${s.recording.port}`]);
});

// covers: R306
scenario('HTTP/1.0 without Host: a forward proxy does not guess', {
	listen: { mode: 'forward', access: 'rules' }, routes: '', origins: false, extra: section('access rules', { allow: 'all' }),
}, async (s) => {
	for (const target of ['/', '/proxy.pac'])
		assert.equal(status(await get(s, target)), 400);
});
