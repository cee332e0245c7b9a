/* SPDX-License-Identifier: MIT */
/*
 * testssl.sh on a listener: what is offered equals the configuration, and no finding is above "low".
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { certs, freePort, scenario, section, until } from '../support/gate.mjs';

/* Findings about the certificate of the tests, which no server can change. */
const OF_THE_CERTIFICATE = ['cert_revocation'];
const BAD = ['MEDIUM', 'HIGH', 'CRITICAL', 'FATAL'];

const words = (text) => text.trim().split(/\s+/).sort();

for (const [name, tls, offered] of [
	['both versions, two suites and two groups', {
		ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384 ECDHE-RSA-AES256-GCM-SHA384', groups: 'X25519 P-256',
	}, {
		TLS1: 'not offered', TLS1_1: 'not offered', TLS1_2: 'offered', TLS1_3: 'offered with final',
		suites: 'TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256 ECDHE-ECDSA-AES256-GCM-SHA384 ECDHE-RSA-AES256-GCM-SHA384',
		groups: 'X25519 prime256v1',
	}],
	['what a listener offers by itself', {}, {
		TLS1: 'not offered', TLS1_1: 'not offered', TLS1_2: 'offered', TLS1_3: 'offered with final',
		suites: 'TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256 '
			+ 'ECDHE-ECDSA-AES128-GCM-SHA256 ECDHE-RSA-AES128-GCM-SHA256 ECDHE-ECDSA-AES256-GCM-SHA384 ECDHE-RSA-AES256-GCM-SHA384 ECDHE-ECDSA-CHACHA20-POLY1305 ECDHE-RSA-CHACHA20-POLY1305',
		groups: 'X25519 prime256v1 secp384r1',
	}],
	['TLS 1.3 alone', { 'tls-min': '1.3' }, {
		TLS1: 'not offered', TLS1_1: 'not offered', TLS1_2: 'not offered', TLS1_3: 'offered with final',
		suites: 'TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256', groups: 'X25519 prime256v1 secp384r1',
	}],
])
	scenario(`testssl.sh finds ${name}`, { origins: false, routes: '[route x]\norigin = x\n', extra: section('origin x', { server: 'demo:' }), single: false, timeout: 600e3 }, async (s) => {
		const port = await freePort(), report = path.join(s.dir, 'report.json');
		const files = (ending) => ['ecdsa', 'rsa'].map((kind) => certs().file(`${kind}.${ending}`));
		fs.appendFileSync(s.gate.config, section('listen checked', { address: `127.0.0.1:${port}`, certificate: files('pem'), key: files('key'), ...tls }));
		s.gate.child.kill('SIGHUP');
		await until('the listener', () => /has taken over/.test(s.gate.read('error.log')));
		const { stdout } = spawnSync('testssl', ['--quiet', '--color', '0', '--warnings', 'off', '--sneaky', '--add-ca', certs().file('ca.pem'), '--jsonfile', report,
			'--ip', '127.0.0.1', '-p', '-P', '-f', `https://localhost:${port}`], { cwd: s.dir, encoding: 'utf8', timeout: 550e3 });
		const found = JSON.parse(fs.readFileSync(report, 'utf8'));
		const finding = (id) => found.find((x) => x.id === id)?.finding;
		for (const id of ['TLS1', 'TLS1_1', 'TLS1_2', 'TLS1_3'])
			assert.equal(finding(id), offered[id], `${id}\n${stdout}`);
		assert.deepEqual(words(finding('PFS_ciphers')), words(offered.suites));
		assert.deepEqual(words(finding('PFS_ECDHE_curves')), words(offered.groups));
		assert.deepEqual(found.filter((x) => BAD.includes(x.severity) && !OF_THE_CERTIFICATE.includes(x.id.split(' ')[0])), []);
	});
