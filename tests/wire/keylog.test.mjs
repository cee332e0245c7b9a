/* SPDX-License-Identifier: MIT */
/* keylog-file: the secrets of both hops come into a file of its owner's alone, and whoever starts pushgate is told. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { BINARY, certs, scenario, section, until } from '../support/gate.mjs';

/* What the origin's and the client's TLS say of their secrets. */
const theirs = new Set();
const keep = (line) => { theirs.add(String(line).trim()); };

const origin = https.createServer(certs().server, (request, response) => response.end('x'));
origin.on('keylog', keep);
await new Promise((resolve) => { origin.listen(0, '127.0.0.1', resolve); });
origin.unref();

const routes = section('origin main', { server: `https://localhost:${origin.address().port}`, 'tls-ca': certs().file('ca.pem') }) + section('route main', { origin: 'main' });
const ask = (port, maxVersion) => new Promise((resolve, reject) => {
	const request = https.get({ port, host: '127.0.0.1', servername: 'localhost', ca: certs().ca, maxVersion, agent: false }, (r) => { r.resume().on('end', () => resolve(r.statusCode)); });
	request.on('socket', (socket) => socket.on('keylog', keep));
	request.on('error', reject);
});
const lines = (file) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '').split('\n').filter(Boolean);
const isOwners = (file) => assert.equal(fs.statSync(file).mode & 0o777, 0o600);

for (const single of [false, true])
	scenario(`the secrets of both hops are in keylog-file, which only its owner can read${single ? ', with --single' : ''}`, {
		tls: true, origins: {}, single, server: { 'keylog-file': 'secrets' }, routes,
	}, async (s) => {
		const file = path.join(s.dir, 'secrets');
		theirs.clear();
		assert.equal(await ask(s.port, 'TLSv1.3'), 200);
		assert.equal(await ask(s.port, 'TLSv1.2'), 200);
		const said = () => [...theirs].filter((line) => !/EARLY|EXPORTER/.test(line));
		assert.ok(said().some((line) => line.startsWith('CLIENT_RANDOM ')) && said().some((line) => line.startsWith('SERVER_TRAFFIC_SECRET_0 ')));
		await until(() => `${said().join('\n')}\n\n${lines(file).join('\n')}`, () => said().every((line) => lines(file).includes(line)));
		isOwners(file);
		assert.match(s.gate.read('error.log'), /warn .*keylog-file: the keys of all TLS connections are written to /);
		const { stdout, stderr } = spawnSync(BINARY, ['check', '-c', s.gate.config], { cwd: s.dir, encoding: 'utf8' });
		assert.match(stdout + stderr, /:\d+: warning: whoever reads .*secrets can decrypt all TLS connections/);
		/* A rotation: the next lines are in a file of the same mode. */
		fs.renameSync(file, `${file}.1`);
		s.gate.child.kill('SIGUSR1');
		await until('the file', () => fs.existsSync(file));
		fs.chmodSync(file, 0o644);
		s.gate.child.kill('SIGUSR1');
		await until('its mode', () => (fs.statSync(file).mode & 0o777) === 0o600);
		theirs.clear();
		assert.equal(await ask(s.port, 'TLSv1.3'), 200);
		await until('its lines', () => lines(file).some((line) => theirs.has(line)));
		isOwners(file);
		if (single)
			return;
		/* A reload without the option ends it. */
		fs.writeFileSync(s.gate.config, fs.readFileSync(s.gate.config, 'utf8').replace(/^keylog-file.*\n/m, ''));
		s.gate.child.kill('SIGHUP');
		await until('the next generation', () => /has taken over/.test(s.gate.read('error.log')));
		const before = lines(file).length;
		assert.equal(await ask(s.port, 'TLSv1.3'), 200);
		assert.equal(lines(file).length, before);
	});

scenario('no secret is written without keylog-file', { tls: true, origins: {}, single: true, routes }, async (s) => {
	assert.equal(await ask(s.port), 200);
	assert.deepEqual(fs.readdirSync(s.dir).filter((name) => fs.statSync(path.join(s.dir, name)).isFile() && /TRAFFIC_SECRET/.test(fs.readFileSync(path.join(s.dir, name), 'utf8'))), []);
});
