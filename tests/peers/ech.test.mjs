/* SPDX-License-Identifier: MIT */
/*
 * Encrypted ClientHello with BoringSSL's own client: a key that `pushgate ech-key` has made, as a DNS record would bring it
 * to the client, and what the log and a tap on the wire know of the handshake. Old keys, mistakes: tests/unit/net/tls_ech_test.c.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { BINARY, ROOT, freePort, scenario, section, until } from '../support/gate.mjs';

const OUTER = 'outer.test', INNER = 'inner.test';

/* The bytes that a client sends on its way to the port. */
function tap(port) {
	const seen = [];
	const server = net.createServer((client) => {
		const through = net.connect(port, '127.0.0.1');
		client.on('data', (bytes) => seen.push(bytes));
		for (const [a, b] of [[client, through], [through, client]])
			a.pipe(b).on('error', () => a.destroy());
	});
	return new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve({ server, port: server.address().port, bytes: () => Buffer.concat(seen) })); });
}

/* What the client prints, once a response has come. */
async function ask(port, ca, more) {
	const client = spawn('bssl-tool', ['client', '-connect', `127.0.0.1:${port}`, '-server-name', INNER, '-alpn-protos', 'http/1.1', '-root-certs', ca, ...more]);
	let text = '';
	for (const stream of [client.stdout, client.stderr])
		stream.on('data', (bytes) => { text += bytes; });
	client.stdin.write(`GET / HTTP/1.1\r\nHost: ${INNER}\r\nConnection: close\r\n\r\n`);
	await until(() => text, () => /HTTP\/1\.1 200/.test(text));
	client.kill();
	return text;
}

scenario('a client hides the host that it asks for', { origins: false, routes: '[route x]\norigin = x\n', extra: section('origin x', { server: 'demo:' }), single: false }, async (s) => {
	const port = await freePort(), keys = path.join(s.dir, 'ech.pem'), list = path.join(s.dir, 'list'), certificates = path.join(s.dir, 'certificates');
	assert.equal(spawnSync(path.join(ROOT, 'scripts/dev-certs'), [certificates, OUTER, INNER]).status, 0);
	const made = spawnSync(BINARY, ['ech-key', OUTER], { encoding: 'utf8' });
	assert.equal(made.status, 0, made.stderr);
	fs.writeFileSync(keys, made.stdout, { mode: 0o600 });
	fs.writeFileSync(list, Buffer.from(/^# .* ech=(\S+)$/m.exec(made.stdout)[1], 'base64'));
	fs.appendFileSync(s.gate.config, section('listen hidden', { address: `127.0.0.1:${port}`, certificate: path.join(certificates, 'ecdsa.pem'), key: path.join(certificates, 'ecdsa.key'), 'ech-keys': keys }));
	s.gate.child.kill('SIGHUP');
	await until('the listener', () => /has taken over/.test(s.gate.read('error.log')));
	const wire = await tap(port), ca = path.join(certificates, 'ca.pem');
	assert.match(await ask(wire.port, ca, ['-ech-config-list', list]), /Encrypted ClientHello: yes/i);
	assert.ok(wire.bytes().includes(OUTER) && !wire.bytes().includes(INNER));
	await until('the line', () => s.gate.read('access.log').includes('"ech":"accepted"'));
	/* Without the list the host is in the open, and the line says nothing. */
	assert.match(await ask(wire.port, ca, []), /Encrypted ClientHello: no/i);
	assert.ok(wire.bytes().includes(INNER));
	wire.server.close();
	await until('both lines', () => s.gate.accessLines().length >= 2);
	assert.deepEqual(s.gate.accessLines().map((line) => line.ech), ['accepted', undefined]);
});
