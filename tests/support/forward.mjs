/* SPDX-License-Identifier: MIT */
/*
 * A forward proxy for one test, and destinations on loopback for it: www.a.test and a.test, which a name server of the
 * test knows. The rules allow 127.0.0.0/8 and the ports of the destinations, as an operator would write them.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { startDns } from './dns.mjs';
import { certs, scenario, section } from './gate.mjs';
import { versionedOrigins } from './versions.mjs';

export const MIB = 1 << 20;
export const USER = 'anna';
export const PASSWORD = 'open:sesame';

/* The line of a user in an htpasswd file, with SHA-512. */
export function passwordLine(user, password) {
	const { stdout, status } = spawnSync('openssl', ['passwd', '-6', '-stdin'], { input: password, encoding: 'utf8' });
	assert.equal(status, 0);
	return `${user}:${stdout}`;
}

/* Answers /mbN with N megabytes, /echo with what came, else with the path. */
export function serveAll(request, response) {
	const asked = request.url;
	if (asked === '/echo') {
		response.writeHead(200, { 'content-type': 'application/json' });
		return void response.end(JSON.stringify({ method: request.method, version: request.httpVersion, headers: request.headers }));
	}
	const size = Number(asked.match(/^\/mb(\d+)/)?.[1] ?? 0) * MIB;
	response.writeHead(200, size ? { 'content-length': size } : { 'content-type': 'text/plain' });
	if (!size)
		return void response.end(`here is ${asked}`);
	const chunk = Buffer.alloc(65536, 'p');
	let left = size;
	const more = () => {
		while (left > 0 && !response.destroyed) {
			left -= chunk.length;
			if (!response.write(chunk))
				return void response.once('drain', more);
		}
		response.end();
	};
	more();
}

/*
 * forward('what holds', options, async (s) => …). options, besides those of scenario():
 *   tls       clients speak TLS to the proxy
 *   asks      it asks for the password of USER
 *   rules     (s) => lines of [access test] instead of the usual ones
 *   route     more keys of [route forward]; origin: of [origin forward]
 *   serve     what the destinations answer: serveAll by default
 *   kinds     of destinations (support/versions.mjs): h1 and alpn by default
 *   start     (s) => their ports by kind, when the test starts other destinations
 * s.ports has their ports by kind, s.http and s.https the URLs of those two, s.proxy that of the proxy.
 */
export function forward(name, { asks = false, rules, serve = serveAll, kinds = ['h1', 'alpn'], start, route, origin, access, prepare, ...options }, body) {
	const started = async (s) => {
		s.dns = await startDns({ 'a.test': { A: ['127.0.0.1'] }, 'www.a.test': { A: ['127.0.0.1'] } });
		s.cleanups.push(() => s.dns.close());
		if (!start) {
			const { ports, close } = await versionedOrigins(serve, kinds);
			s.cleanups.push(close);
			s.ports = ports;
		} else {
			s.ports = await start(s);
		}
		s.http = `http://www.a.test:${s.ports.h1}`;
		s.https = `https://www.a.test:${s.ports.alpn}`;
		await prepare?.(s);
		const file = path.join(s.dir, 'users');
		if (asks)
			fs.writeFileSync(file, passwordLine(USER, PASSWORD), { mode: 0o644 });
		const lines = rules?.(s) ?? [...(asks ? ['ask = host=*'] : []), `allow = address=127.0.0.0/8 port=${Object.values(s.ports).join(',')}`];
		s.options.server = { resolver: s.dns.address, ...options.server };
		s.options.routes = section('origin forward', { server: 'forward:', 'tls-ca': certs().file('ca.pem'), ...origin })
			+ section('route forward', { origin: 'forward', ...route })
			+ section('access test', { ...(asks ? { users: file, realm: 'the test' } : {}), ...access }).trimEnd()
			+ `\n${lines.join('\n')}\n\n`;
	};
	const listen = { mode: 'forward', access: 'test', ...options.listen };
	scenario(name, { ...options, origins: {}, listen, prepare: started }, async (s) => {
		s.proxy = `${options.tls ? 'https' : 'http'}://localhost:${s.port}`;
		s.withUser = s.proxy.replace('//', `//${USER}:${encodeURIComponent(PASSWORD)}@`);
		await body(s);
	});
}
