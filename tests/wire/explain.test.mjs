/* SPDX-License-Identifier: MIT */
/* What `pushgate explain` says is what the running gateway does, in cases that no unit test can compare. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { BINARY, certs, scenario, section, workDir } from '../support/gate.mjs';

const dir = workDir();
execFileSync(new URL('../support/client-certs', import.meta.url).pathname, [dir]);
const clients = (name) => path.join(dir, name);

/* The words with which a client of this gateway is explained. */
function explain(s, ...args) {
	const run = spawnSync(BINARY, ['explain', '-c', s.gate.config, ...args], { encoding: 'utf8' });
	assert.equal(run.status, 0, run.stderr);
	return run.stdout.replace(/\n/g, ' ');
}

/* All that a socket gets until its end. */
const rest = (socket) => new Promise((resolve) => {
	let text = '';
	socket.on('data', (bytes) => { text += bytes; });
	socket.on('error', (error) => resolve(error));
	socket.on('close', () => resolve(text));
});
const request = 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n';

const NO_PUSH = /The origin is asked with ENABLE_PUSH=0.*it makes no promises\. If it made one all the same, pushgate would end that connection to the origin with PROTOCOL_ERROR\./;

/* A client that takes no pushes asks; `push`: what the origin was announced. */
async function ask(s) {
	const opened = await s.open({ client: { settings: { enablePush: 0 } } });
	await opened.origin.sync();
	return { ...opened, push: opened.origin.peerSettings.enablePush !== 0 };
}

scenario('a file with a certificate is taken or refused as in a handshake', {
	listen: {
		certificate: certs().file('ecdsa.pem'), key: certs().file('ecdsa.key'),
		'client-ca': `${clients('ca.pem')} host=localhost crl=${clients('crl.pem')}`,
	},
	extra: section('access x', { allow: 'cert=dns:alice.example.com', deny: 'all' }),
	prepare: (s) => { s.options.listen.access = 'x'; },
}, async (s) => {
	const said = (name) => explain(s, '--cert', clients(name), `https://localhost:${s.port}/`);
	assert.match(said('alice.pem'), /its certificate: CN=alice,O=Example access x: allowed by allow = cert=dns:alice/);
	for (const [name, why] of [['bob', 'certificate revoked'], ['expired', 'certificate has expired'], ['mallory', 'unable to get local issuer certificate'], ['server', 'unsupported certificate purpose']])
		assert.ok(said(`${name}.pem`).includes(`fails by client-ca = ${clients('ca.pem')}: ${why}.`), said(`${name}.pem`));
	for (const [file, why] of [['alice.key', 'there is no certificate in PEM in it'], ['none', 'No such file or directory']]) {
		const run = spawnSync(BINARY, ['explain', '-c', s.gate.config, '--cert', clients(file), `https://localhost:${s.port}/`], { encoding: 'utf8' });
		assert.deepEqual([run.status, run.stderr], [2, `pushgate explain: --cert ${clients(file)}: ${why}\n`]);
	}
});

for (const [what, options] of Object.entries({
	'without rules': {},
	'with push = refuse, although a rule would hold': {
		origin: { push: 'refuse' }, extra: section('push all', { action: 'hold' }),
	},
}))
	scenario(`a promise that the origin may not make ends its connection: ${what}`, options, async (s) => {
		assert.match(explain(s, '--client', 'curl', '--promise', '/a.css', `http://localhost:${s.port}/`), NO_PUSH);
		const { origin, up, push } = await ask(s);
		assert.equal(push, false);
		origin.push(up, 2, '/a.css');
		await origin.expectGoaway('PROTOCOL_ERROR');
	});

scenario('where a rule would hold it the promise may come', { extra: section('push all', { action: 'hold' }) }, async (s) => {
	const said = explain(s, '--client', 'curl', '--promise', '/a.css', `http://localhost:${s.port}/`);
	assert.doesNotMatch(said, /ENABLE_PUSH=0, since/);
	assert.match(said, /client {3}nothing yet: held for its own request/);
	const { client, origin, up, push } = await ask(s);
	assert.equal(push, true);
	origin.push(up, 2, '/a.css');
	origin.respond(2, { fields: { 'cache-control': 'max-age=60' }, body: 'a' });
	origin.respond(up.stream, { body: 'hello' });
	await client.response(1);
	client.request(3, { path: '/a.css' });
	assert.equal(String((await client.response(3)).body), 'a');
});

scenario('with push = accept a promise that nobody can use is reset', { origin: { push: 'accept' } }, async (s) => {
	const said = explain(s, '--client', 'curl', '--promise', '/a.css', `http://localhost:${s.port}/`);
	assert.match(said, /client {3}nothing; the origin's promised stream is reset/);
	const { client, origin, up, push } = await ask(s);
	assert.equal(push, true);
	origin.push(up, 2, '/a.css');
	await origin.expectReset(2);
	origin.respond(up.stream, { body: 'hello' });
	assert.equal((await client.response(1)).status, 200);
});

scenario('HTTP/1.1 where it is not spoken, in cleartext, gets the 505 that is told', { listen: { protocols: 'h2' } }, async (s) => {
	assert.match(explain(s, '--client', 'h1', `http://localhost:${s.port}/`),
		/protocols = h2\. A client with HTTP\/1\.1 gets "505 HTTP Version Not Supported" and the end of the connection\./);
	const socket = net.connect(s.port, '127.0.0.1');
	socket.write(request);
	assert.match(await rest(socket), /^HTTP\/1\.1 505 HTTP Version Not Supported\r\n/);
	assert.equal(s.server.connections.length, 0);
});

scenario('HTTP/1.1 where it is not spoken, over TLS, fails in the handshake or gets the 505', { tls: true, listen: { protocols: 'h2' } }, async (s) => {
	assert.match(explain(s, '--client', 'h1', `https://localhost:${s.port}/`),
		/offers only http\/1\.1 by ALPN fails in the TLS handshake, with the alert no_application_protocol\. One without ALPN gets "505/);
	const at = { port: s.port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false };
	const refused = await rest(tls.connect({ ...at, ALPNProtocols: ['http/1.1'] }));
	assert.match(refused.message, /no.application.protocol/i);
	const socket = tls.connect(at);
	socket.write(request);
	assert.match(await rest(socket), /^HTTP\/1\.1 505 /);
});

for (const [clients, is_hinted] of [['navigating', false], ['all', true]])
	scenario(`a page over HTTP/1.1 is hinted as it is told: hint-clients = ${clients}`,
		{ extra: section('preload sheet', { add: '/a.css as=style' }) + section('push all', { action: 'hint', 'hint-clients': clients }) }, async (s) => {
			const said = explain(s, '--client', 'h1', '-H', 'Sec-Fetch-Mode: navigate', `http://localhost:${s.port}/`);
			assert.match(said, is_hinted ? /client {3}103 with Link: <\/a\.css>/ : /reason {3}hint-client: /);
			const socket = net.connect(s.port, '127.0.0.1');
			socket.write(request.replace('\r\n\r\n', '\r\nsec-fetch-mode: navigate\r\nconnection: close\r\n\r\n'));
			const origin = await s.server.accept();
			const up = await origin.expectRequest();
			origin.respond(up.stream, { body: 'hello' });
			assert.match(await rest(socket), is_hinted ? /^HTTP\/1\.1 103 [^]*\r\n\r\nHTTP\/1\.1 200 / : /^HTTP\/1\.1 200 /);
		});

scenario('a name that no certificate covers is said', { tls: true }, async (s) => {
	assert.match(explain(s, 'https://elsewhere.example/'),
		/no certificate of \[listen main\] covers elsewhere\.example: a client that verifies it ends the connection/);
	assert.doesNotMatch(explain(s, 'https://localhost/'), /no certificate/);
});

scenario('a forward proxy with TLS needs no certificate for where its clients go', {
	tls: true, listen: { mode: 'forward' }, origins: {}, routes: '',
}, async (s) => {
	const said = explain(s, 'https://elsewhere.example/');
	assert.match(said, /listen main, route forward/);
	assert.doesNotMatch(said, /no certificate/);
});

scenario('a host without a route is answered as told', { routes: section('route main', { host: 'localhost', origin: 'main' }) }, async (s) => {
	assert.match(explain(s, 'http://elsewhere.example/'),
		/answered 421 by the gateway itself: no route for this host {2}A \[route\] section with this host, or one without host, would take it\./);
	const client = await s.connect();
	client.request(1, { ':authority': 'elsewhere.example' });
	assert.equal((await client.response(1)).status, 421);
});

const WRITTEN = {
	'request-set': ['X-Client: for="{client}";host="{host}";port={port};proto={scheme};tls={tls}', 'X-User: {user}', 'X-Plain: {{as it is}'],
	'request-add': 'X-Path: {path}{query}', 'request-remove': 'X-Internal', 'response-set': 'X-You: {client} by {protocol}', 'response-remove': 'Server',
};

scenario('the fields that a route writes are those that are told', { routes: section('route main', { origin: 'main', ...WRITTEN }) }, async (s) => {
	const path = '/a,b?c="d"';
	const said = explain(s, '--client', '127.0.0.1', '--client', 'curl', '-H', 'X-Internal: 1', `http://localhost:${s.port}${path}`);
	const { client, origin, up } = await s.open({ path, request: { 'x-internal': '1', 'x-user': 'forged' } });
	origin.respond(up.stream, { fields: { server: 'x', 'x-you': 'nobody' }, body: 'x' });
	const answer = await client.response(1);
	assert.equal(up.headers['x-client'], `for="127.0.0.1";host="localhost";port=${s.port};proto=http;tls=`);
	assert.equal(up.headers['x-plain'], '{as it is}');
	for (const name of ['x-client', 'x-path', 'x-plain'])
		assert.ok(said.includes(` the origin gets ${name}: ${up.headers[name]} `), `${name} in ${said}`);
	assert.ok(said.includes(` the client gets x-you: ${answer.headers['x-you']} `), said);
	for (const name of ['x-user', 'x-internal'])
		assert.equal(up.headers[name], undefined);
	assert.match(said, / the origin gets no x-user: all that its value stands for is unknown {1,2}the origin gets /);
	assert.match(said, / the origin gets no x-internal .* the client gets no server /);
	assert.equal(answer.headers.server, undefined);
});
