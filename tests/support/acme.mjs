/* SPDX-License-Identifier: MIT */
/*
 * A listener with a certificate of an authority: pushgate and pebble, with a listener in cleartext for challenges. What
 * clients are served, and which processes there are.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';
import { certs, freePort, Gate, section, until, workDir } from './gate.mjs';
import { Pebble } from './pebble.mjs';

export const LONG = 120000;

/* The certificate that a client gets for this name; fails when the handshake does. */
export const served = (port, servername) => new Promise((resolve, reject) => {
	const socket = tls.connect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }, () => {
		const certificate = socket.getPeerX509Certificate();
		socket.destroy();
		resolve(certificate);
	});
	socket.once('error', reject);
});

/* Verifies chain and name, as a client does that trusts the authority's root. */
export const verified = (port, servername, root) => new Promise((resolve, reject) => {
	const socket = tls.connect({ port, host: '127.0.0.1', servername, ca: root, ALPNProtocols: ['http/1.1'] }, () => {
		socket.destroy();
		resolve(true);
	});
	socket.once('error', reject);
});

export const get = (port, path_, host) => new Promise((resolve, reject) => {
	http.get({ port, host: '127.0.0.1', path: path_, headers: { host }, agent: false }, (response) => {
		let text = '';
		response.setEncoding('utf8').on('data', (piece) => { text += piece; }).on('end', () => resolve({ status: response.statusCode, text }));
	}).on('error', reject);
});

export function children(gate, comm) {
	return fs.readFileSync(`/proc/${gate.pid}/task/${gate.pid}/children`, 'utf8').split(' ').filter(Boolean).filter((pid) => {
		try {
			return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === comm;
		} catch {
			return false;
		}
	}).map(Number);
}

export const config = (s, { hosts, directory, workers, server }) => section('server', {
	workers, 'access-log': 'access.log', 'error-log': 'error.log', 'status-socket': 'status', 'drain-timeout': '1s',
	'acme-dir': s.folder, 'acme-ca': certs().file('ca.pem'), 'acme-email': 'me@a.test', ...server,
}) + section('listen main', { address: `127.0.0.1:${s.port}`, acme: directory })
	+ section('listen clear', { address: `127.0.0.1:${s.clear}`, 'redirect-to-https': 'yes' })
	+ section('route main', { host: hosts.join(' '), answer: '204' });

/* A scenario with pebble in s.pebble and pushgate in s.gate. authority: options of Pebble.open; starts: false = pebble is down at first. */
export function scenario(name, { hosts = ['a.example', 'b.example'], authority = {}, starts = true, workers = 1, server = {}, front = null }, body) {
	test(name, async () => {
		const s = { dir: workDir(), port: await freePort(), clear: await freePort(), pebble: new Pebble() };
		fs.mkdirSync(path.join(s.dir, 'acme'));
		fs.chmodSync(path.join(s.dir, 'acme'), 0o777);
		s.folder = path.join(s.dir, 'acme');
		s.file = path.join(s.folder, 'main.pem');
		s.read = () => fs.readFileSync(s.file, 'utf8');
		s.config = (changes = {}) => config({ ...s, ...changes }, { hosts, directory: s.pebble.directory, workers, server, ...changes });
		s.open = (options = {}) => s.pebble.open(s.dir, { httpPort: s.clear, tlsPort: s.port, ...authority, ...options });
		s.first = () => until(() => `a certificate\n${s.gate.report()}\n${s.pebble.text}`, () => fs.existsSync(s.file) && served(s.port, hosts[0]).then((c) => c.issuer.includes('Pebble') && c), LONG);
		try {
			s.pebble.port = await freePort();
			if (front)
				await s.pebble.front((request) => front(s, request));
			if (starts)
				await s.open();
			s.gate = new Gate({ config: s.config(), dir: s.dir, ports: [s.port, s.clear], single: false });
			await s.gate.listening();
			await body(s);
			/* Unless the test has done that. */
			assert.doesNotMatch(s.gate.read('error.log'), /the ACME process (was killed by signal (?!9 )|ended)/);
		} finally {
			await s.pebble.close();
			await s.other?.stop();
			await s.gate?.stop();
		}
	});
}
