/* SPDX-License-Identifier: MIT */
/*
 * Behind real upstream proxies: squid, and another pushgate in cleartext and over TLS. Requests for http, tunnels of
 * curl, and requests for https that pushgate itself sends through a tunnel, with a password each.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { startDns } from '../support/dns.mjs';
import { Gate, certs, freePort, scenario, section } from '../support/gate.mjs';
import { nodeClient } from '../support/node.mjs';
import { daemon, run } from '../support/programs.mjs';
import { versionedOrigins } from '../support/versions.mjs';

const MIB = 1 << 20;
const serve = (request, response) => {
	const size = Number(/^\/mb(\d+)/.exec(request.url)?.[1] ?? 0) * MIB;
	response.end(size > 0 ? Buffer.alloc(size, 'p') : `here is ${request.url}, ${request.headers.via}`);
};
const password = (kind) => spawnSync('openssl', ['passwd', kind, '-stdin'], { input: 'secret', encoding: 'utf8' }).stdout;

async function squid(s, port) {
	const users = path.join(s.dir, 'squid.users'), hosts = path.join(s.dir, 'squid.hosts'), conf = path.join(s.dir, 'squid.conf');
	fs.writeFileSync(users, `ship:${password('-apr1')}`, { mode: 0o644 });
	fs.writeFileSync(hosts, '127.0.0.1 www.a.test a.test\n', { mode: 0o644 });
	fs.writeFileSync(conf, `http_port 127.0.0.1:${port}
auth_param basic program /usr/lib/squid/basic_ncsa_auth ${users}
auth_param basic children 1 startup=1
acl users proxy_auth REQUIRED
http_access allow users
http_access deny all
hosts_file ${hosts}
cache deny all
cache_mem 0 MB
access_log none
cache_store_log none
cache_log ${s.dir}/squid.log
pid_filename none
coredump_dir ${s.dir}
pinger_enable off
max_filedescriptors 1024
shutdown_lifetime 0 seconds
visible_hostname upstream
`, { mode: 0o644 });
	await daemon(s, 'squid', ['-N', '-f', conf], port);
}

async function pushgate(s, port, isTls) {
	const dir = path.join(s.dir, 'upstream');
	fs.mkdirSync(dir);
	fs.writeFileSync(path.join(dir, 'users'), `ship:${password('-6')}`, { mode: 0o644 });
	const config = section('server', { workers: 1, 'drain-timeout': '1s', 'tunnel-drain-timeout': '100ms', 'access-log': path.join(dir, 'access.log'), 'error-log': path.join(dir, 'error.log'), resolver: s.dns.address })
		+ section('listen proxy', { address: `127.0.0.1:${port}`, mode: 'forward', access: 'ships', ...(isTls ? { certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') } : {}) })
		+ section('access ships', { users: path.join(dir, 'users'), ask: 'host=*', allow: 'user=ship address=127.0.0.0/8 port=1-65535' })
		+ section('origin forward', { server: 'forward:', 'tls-ca': certs().file('ca.pem') });
	const gate = new Gate({ config, dir, ports: [port] });
	await gate.listening();
	s.cleanups.push(() => gate.stop());
}

const UPSTREAMS = {
	squid: { scheme: 'http', start: squid },
	'another pushgate': { scheme: 'http', start: (s, port) => pushgate(s, port, false) },
	'another pushgate over TLS': { scheme: 'https', start: (s, port) => pushgate(s, port, true) },
};

function behind(name, what, secret, body) {
	const { scheme, start } = UPSTREAMS[name];
	const prepare = async (s) => {
		const port = await freePort();
		s.dns = await startDns({ 'www.a.test': { A: ['127.0.0.1'] }, 'a.test': { A: ['127.0.0.1'] } });
		s.cleanups.push(() => s.dns.close());
		const { ports, close } = await versionedOrigins(serve, ['h1', 'alpn']);
		s.cleanups.push(close);
		s.ports = ports;
		await start(s, port);
		s.options.routes = section('origin forward', { server: 'forward:', 'tls-ca': certs().file('ca.pem'), 'upstream-proxy': `${scheme}://ship:${secret}@localhost:${port}` })
			+ section('route forward', { origin: 'forward' }) + section('access test', { allow: 'host=* port=1-65535' });
	};
	scenario(`${what} behind ${name}`, { origins: {}, listen: { mode: 'forward', access: 'test' }, prepare }, async (s) => {
		s.curl = (...args) => run('curl', ['-sS', '--cacert', certs().file('ca.pem'), '-x', `http://127.0.0.1:${s.port}`, ...args]);
		await body(s);
	});
}

for (const name of Object.keys(UPSTREAMS)) {
	behind(name, 'requests, tunnels and downloads', 'secret', async (s) => {
		const http = `http://www.a.test:${s.ports.h1}`, https = `https://www.a.test:${s.ports.alpn}`;
		assert.match((await s.curl(`${http}/one`, `${http}/two`)).stdout, /here is \/one, .*pushgate.*here is \/two, /s);
		for (const version of ['--http1.1', '--http2'])
			assert.equal((await s.curl(version, `${https}/three`)).stdout, 'here is /three, undefined');
		assert.equal((await s.curl(`${http}/mb4`)).raw.length, 4 * MIB);
		assert.equal((await s.curl(`${https}/mb4`)).raw.length, 4 * MIB);
		const client = nodeClient(s);
		const ours = { ':scheme': 'https', ':authority': `www.a.test:${s.ports.alpn}` };
		assert.match((await client.get({ ...ours, ':path': '/four' })).body, /here is \/four, .*pushgate/);
		assert.equal((await client.get({ ...ours, ':path': '/mb4' })).body.length, 4 * MIB);
	});

	behind(name, 'a wrong password', 'wrong', async (s) => {
		const { stdout } = await s.curl('-i', `http://www.a.test:${s.ports.h1}/`);
		assert.match(stdout, /^HTTP\/1.1 502 .*proxy_configuration_error; details="upstream-proxy-user"/s);
		assert.ok(!/proxy-authenticate/i.test(stdout));
		const { code, stderr } = await s.curl(`https://www.a.test:${s.ports.alpn}/`);
		assert.equal(code, 56, stderr);
		const answer = await nodeClient(s).get({ ':scheme': 'https', ':authority': `www.a.test:${s.ports.alpn}`, ':path': '/' });
		assert.equal(answer.status, 502);
		assert.match(answer.headers['proxy-status'], /upstream-proxy-user/);
	});
}
