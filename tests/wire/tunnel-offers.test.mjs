/* SPDX-License-Identifier: MIT */
/* The stream of a CONNECT carries heads and DATA (RFC 9113 8.5): no push is made for a tunnel, whatever its answer links to. */
import assert from 'node:assert/strict';
import { scenario, section } from '../support/gate.mjs';

const LINK = '</a.css>; rel=preload; as=style';
const OPTIONS = {
	origins: { main: { settings: { enableConnectProtocol: 1 } } }, origin: { push: 'refuse' },
	routes: section('route main', { origin: 'main', upgrade: 'websocket' }),
	extra: section('preload links', { link: 'yes' }) + section('preload list', { path: '/chat', add: '/b.css' }),
};
const ask = (client) => client.headers(1, {
	':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'http', ':authority': client.authority, ':path': '/chat',
});

// covers: R395
scenario('links of an answer that opens a tunnel lead to no push', OPTIONS, async (s) => {
	const client = await s.connect();
	await client.ready();
	ask(client);
	const origin = await s.accept();
	const up = await origin.expectRequest('/chat');
	origin.headers(up.stream, { ':status': 103, link: LINK });
	origin.headers(up.stream, { ':status': 200, link: LINK });
	const interim = await client.expectHead(1);
	assert.equal(interim.headers[':status'], '103');
	const head = await client.expectHead(1);
	assert.equal(head.headers[':status'], '200');
	assert.equal(head.headers.link, LINK);
	origin.data(up.stream, 'hello');
	await client.expect('DATA', { stream: 1 });
	await client.expectNone('PUSH_PROMISE', {});
	await origin.expectNone('HEADERS', { stream: (id) => id > up.stream });
	assert.equal(s.server.connections.length, 1, 'nothing else was asked for');
});

// covers: R395
scenario('nor do those of a refusal', OPTIONS, async (s) => {
	const client = await s.connect();
	await client.ready();
	ask(client);
	const origin = await s.accept();
	const up = await origin.expectRequest('/chat');
	origin.respond(up.stream, { status: 403, fields: { link: LINK }, body: 'no' });
	const head = await client.expectHead(1);
	assert.equal(head.headers[':status'], '403');
	await client.expect('DATA', { stream: 1, endStream: true });
	await client.expectNone('PUSH_PROMISE', {});
});
