/* SPDX-License-Identifier: MIT */
/*
 * [access NAME] on real connections: what is denied, what the client and the logs are told of it, on gateway listeners
 * and in forward mode, by the address that is connected to.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { BINARY, freePort, scenario, section, until } from '../support/gate.mjs';
import { startDns } from '../support/dns.mjs';
import { connect1, recordingOrigin } from '../support/http1.mjs';

const SERVER = { 'status-socket': 'status' };

async function client1(s, port = s.port) {
	const client = await connect1(port);
	s.cleanups.push(() => client.close());
	return client;
}

async function origin1(s) {
	const origin = await recordingOrigin();
	s.cleanups.push(() => origin.close());
	return origin;
}

const DENIED = /^[^;]+; error=http_request_denied; details="([a-z-]+)"$/;
const PROHIBITED = /^[^;]+; error=destination_ip_prohibited; details="([a-z-]+)"$/;

/* One request over HTTP/1.1 on a connection of its own: "200", or the status and the reason. */
async function ask(s, target, { method = 'GET', host = 'a.test', port = s.port, fields = [] } = {}) {
	const client = await client1(s, port);
	client.request(method, target, [['host', host], ...fields]);
	const { status, headers } = await client.response();
	const [, reason] = DENIED.exec(headers['proxy-status'] ?? '') ?? PROHIBITED.exec(headers['proxy-status'] ?? '') ?? [];
	return reason ? `${status} ${reason}` : String(status);
}

const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const day = (more) => days[(new Date().getDay() + more + 7) % 7];

// covers: R600
scenario('a gateway: the first line that takes a request decides, over both versions', {
	server: SERVER,
	prepare: async (s) => {
		s.other = await freePort();
		fs.writeFileSync(path.join(s.dir, 'hosts'), 'bad.test\n*.worse.test\n');
		s.origin = await origin1(s);
		s.options.origins = { main: { server: `http://127.0.0.1:${s.origin.port}` } };
		s.options.extra = section('access site', {
			deny: ['path=/admin/* client=127.0.0.0/8', 'method=DELETE', 'host-file=hosts', `time=${day(2)},${day(3)} path=/day`,
				`time=${day(-1)}-${day(1)} path=/now`],
			allow: 'all',
		}) + section('listen other', { address: `127.0.0.1:${s.other}`, access: 'nobody' })
			+ section('access nobody', { allow: ['client=192.0.2.0/24', 'client=unix'] });
	},
	listen: { access: 'site' },
}, async (s) => {
	const h2 = await s.connect();
	await h2.ready();
	let id = 1;
	for (const [target, method, host, expected] of [
		['/', 'GET', 'a.test', '200'],
		['/admin', 'GET', 'a.test', '200'],
		['/admin/x?y', 'GET', 'a.test', '403 rule'],
		['/%61dmin/x', 'GET', 'a.test', '403 rule'],
		['/x/../admin/x', 'GET', 'a.test', '403 rule'],
		['//admin;a=b/x', 'GET', 'a.test', '403 rule'],
		['/x%2fy/../admin/x', 'GET', 'a.test', '403 rule'],
		['//x/admin/x', 'GET', 'a.test', '403 rule'],
		['/%2561dmin/x', 'GET', 'a.test', '403 rule'],
		['/%25%36%31dmin/x', 'GET', 'a.test', '403 rule'],
		['/other%00/x', 'GET', 'a.test', '403 rule'],
		['/%u0061dmin/x', 'GET', 'a.test', '403 rule'],
		['/%c1%a1dmin/x', 'GET', 'a.test', '403 rule'],
		['/ADMIN/x', 'GET', 'a.test', '200'],
		['/100%25/x%20y', 'GET', 'a.test', '200'],
		['/x?/admin/x', 'GET', 'a.test', '200'],
		[`/${'y'.repeat(2000)}/../%61dmin/x`, 'GET', 'a.test', '403 rule'],
		['/', 'DELETE', 'a.test', '403 rule'],
		['/', 'GET', 'BAD.test.', '403 rule'],
		['/', 'GET', 'bad.test:80', '403 rule'],
		['/', 'GET', 'x.bad.test', '200'],
		['/', 'GET', 'x.y.worse.test', '403 rule'],
		['/day', 'GET', 'a.test', '200'],
		['/now', 'GET', 'a.test', '403 rule'],
	]) {
		const what = `${method} ${host}${target}`;
		assert.equal(await ask(s, target, { method, host }), expected, what);
		h2.request(id, { ':method': method, ':authority': host, path: target });
		const r = await h2.response(id);
		assert.equal(String(r.status), expected.slice(0, 3), what);
		assert.equal(DENIED.exec(r.headers['proxy-status'] ?? '')?.[1], expected.split(' ')[1], what);
		id += 2;
	}
	assert.equal(await ask(s, '/', { port: s.other }), '403 client');
	const line = await s.gate.access((l) => l.path === '/admin/x?y');
	assert.equal(`${line.status} ${line.outcome} ${line.detail}`, '403 refused rule');
	assert.equal(s.gate.counters()['pushgate_access_denied_total{reason="rule"}'], 34);
	assert.equal(s.gate.counters()['pushgate_access_denied_total{reason="client"}'], 1);
	assert.equal(s.gate.counters()['pushgate_end_total{cause="access-denied"}'], 35);
	assert.ok(s.origin.requests.every((r) => ['/x?/admin/x', '/ADMIN/x'].includes(r.target) || !/min\/x$/i.test(r.target)), 'nothing that was denied came to the origin');
});

/* What a forward proxy reaches by these rules; the names are those of the resolver. */
const forward = (rules, more = {}) => ({
	...more,
	server: { ...SERVER, 'dns-min-ttl': '100ms' },
	origins: {},
	routes: '',
	listen: { mode: 'forward', access: rules ? 'lan' : undefined },
	prepare: async (s) => {
		s.origin = await origin1(s);
		s.dns = await startDns({ 'lan.test': { A: ['127.0.0.1'], ttl: 1 }, 'mixed.test': { A: ['127.0.0.1', '10.0.0.1'], ttl: 1 } });
		s.cleanups.push(() => s.dns.close());
		s.options.server.resolver = `127.0.0.1:${s.dns.port}`;
		s.options.extra = rules ? section('access lan', rules(s)) : '';
	},
});

// covers: R601 R602
scenario('forward mode without rules reaches no address that is not global', forward(), async (s) => {
	const at = `127.0.0.1:${s.origin.port}`;
	assert.equal(await ask(s, `http://${at}/`, { host: at }), '403 port');
	assert.equal(await ask(s, 'http://127.0.0.1/', { host: '127.0.0.1' }), '403 address-not-global');
	assert.equal(await ask(s, 'http://lan.test/', { host: 'lan.test' }), '403 address-not-global');
	assert.equal(await ask(s, 'lan.test:443', { method: 'CONNECT', host: 'lan.test:443' }), '403 address-not-global');
	assert.equal(await ask(s, 'lan.test:80', { method: 'CONNECT', host: 'lan.test:80' }), '403 port');
	assert.equal(await ask(s, 'http://127.1/', { host: '127.1' }), '403 host-strange');
	assert.equal(s.origin.requests.length, 0);
	assert.equal(s.gate.counters()['pushgate_access_denied_total{reason="address-not-global"}'], 3);
});

// covers: R601
scenario('an address that a rule names is reached, and no other', forward((s) => ({
	deny: 'address=10.0.0.0/24',
	allow: [`host=*.test address=127.0.0.0/8 port=${s.origin.port}`, `address=127.0.0.1 port=${s.origin.port} method=GET`],
})), async (s) => {
	const { port } = s.origin;
	const get = (host, more = {}) => ask(s, `http://${host}:${port}/`, { host: `${host}:${port}`, ...more });
	assert.equal(await get('lan.test'), '200');
	assert.equal(await get('127.0.0.1'), '200');
	assert.equal(await get('127.0.0.1', { method: 'POST' }), '403 host'); /* nearer than by the second line, where the method is wrong */
	assert.equal(await get('127.0.0.2'), '403 address');
	/* One of its addresses is denied. */
	assert.equal(await get('mixed.test'), '403 rule');
	assert.equal(await ask(s, 'http://lan.test/', { host: 'lan.test' }), '403 port');
	/* The name leads elsewhere now: an open connection to where it led is of no use. */
	s.dns.names['lan.test'] = { A: ['10.0.0.1'], ttl: 1 };
	await until('the name has another address', async () => (await get('lan.test')) !== '200');
	assert.equal(await get('lan.test'), '403 rule');
});

// covers: R434
scenario('an answer with an error code gives no address, whatever is in it', forward((s) => ({ allow: `address=any port=${s.origin.port}` })), async (s) => {
	for (const rcode of [1, 2, 3, 5]) {
		const name = `code${rcode}.test`, host = `${name}:${s.origin.port}`;
		s.dns.names[name] = { rcode, A: ['127.0.0.1'], ttl: 1 };
		const client = await client1(s);
		client.request('GET', `http://${host}/`, [['host', host]]);
		const { status, headers } = await client.response();
		assert.ok(status === 502 || status === 503, `${name}: ${status}`);
		assert.match(headers['proxy-status'], /error=dns_error/, name);
	}
	assert.equal(s.origin.requests.length, 0);
});

// covers: R601
scenario('the proxy is no destination, by whichever form of its address', forward(() => ({ allow: 'address=any port=1-65535' })), async (s) => {
	s.dns.names['self.test'] = { A: ['127.0.0.1'], ttl: 1 };
	s.dns.names['mapped.test'] = { AAAA: ['::ffff:7f00:1'], ttl: 1 };
	for (const host of ['self.test', 'mapped.test', '127.0.0.1', '0.0.0.0'])
		assert.equal(await ask(s, `${host}:${s.port}`, { method: 'CONNECT', host: `${host}:${s.port}` }), '403', host);
	const there = `mapped.test:${s.origin.port}`;
	assert.equal(await ask(s, `http://${there}/`, { host: there }), '200');
});

// covers: R601
scenario('the access log has the address that was refused, and the client is not told it', forward((s) => ({
	deny: 'address=10.0.0.0/24', allow: `address=127.0.0.0/8 port=1-65535`,
})), async (s) => {
	const { port } = s.origin;
	s.dns.names['six.test'] = { A: ['127.0.0.1'], AAAA: ['fd00::7'], ttl: 1 };
	s.dns.names['mapped.test'] = { AAAA: ['::ffff:a00:1'], ttl: 1 };
	s.dns.names['self.test'] = { A: ['127.0.0.1'], ttl: 1 };
	for (const [host, at, reason, address] of [
		['mixed.test', port, 'rule', `10.0.0.1:${port}`],
		['six.test', port, 'address', `[fd00::7]:${port}`],
		['192.168.0.1', port, 'address', '192.168.0.1'],
		['[fd00::8]', port, 'address', 'fd00::8'],
		['self.test', s.port, 'own-listener', `127.0.0.1:${s.port}`],
		['127.0.0.1', s.port, 'own-listener', `127.0.0.1:${s.port}`],
	]) {
		const client = await client1(s), authority = `${host}:${at}`;
		client.request('GET', `http://${authority}/`, [['host', authority]]);
		const { status, headers, body } = await client.response();
		assert.equal(status, 403, host);
		assert.ok(headers['proxy-status'].endsWith(`; details="${reason}"`), `${host}: ${headers['proxy-status']}`);
		if (/^[a-z]/.test(host))
			assert.ok(!/\d\.\d+\.\d|::/.test(headers['proxy-status'] + body), host);
		const line = await s.gate.access((l) => l.authority === authority);
		assert.equal(`${line.detail} ${line.refused_address}`, `${reason} ${address}`, host);
	}
	assert.equal(await ask(s, `http://lan.test:${port}/`, { host: `lan.test:${port}` }), '200');
	assert.equal((await s.gate.access((l) => l.authority === `lan.test:${port}`)).refused_address, undefined);
});

/* What explain says of a GET, and what the running proxy answers. */
// covers: R601
scenario('explain refuses its own listeners, and addresses of the hosts file, as the proxy does', (() => {
	const options = forward((s) => ({ allow: 'address=127.0.0.0/8 port=1-65535' }));
	return {
		...options,
		prepare: async (s) => {
			await options.prepare(s);
			fs.writeFileSync(path.join(s.dir, 'hosts'), '127.0.0.1 localhost near.test\n10.0.0.9 far.test near2.test\n127.0.0.1 near2.test\n');
			s.options.server['hosts-file'] = path.join(s.dir, 'hosts');
			/* The second listener is on all addresses. */
			s.all = await freePort();
			s.options.extra += section('listen all', { address: `0.0.0.0:${s.all}`, mode: 'forward', access: 'lan' });
		},
	};
})(), async (s) => {
	const { port } = s.origin;
	for (const [host, at, status, says] of [
		['127.0.0.1', s.port, 403, /127\.0\.0\.1:\d+ is a listener of this gateway, which is no destination/],
		['0.0.0.0', s.port, 403, null],
		['localhost', s.port, 403, /127\.0\.0\.1:\d+ is a listener of this gateway/],
		['x.localhost', s.port, 403, /is a listener of this gateway/],
		['127.0.0.7', s.all, 403, /127\.0\.0\.7:\d+ is a listener of this gateway/],
		['near.test', s.all, 403, /is a listener of this gateway/],
		['localhost', port, 200, /access lan: allowed/],
		['near.test', port, 200, /access lan: allowed/],
		['near2.test', port, 403, /near2\.test has the address 10\.0\.0\.9:\d+, which is refused \(address\)/],
		['lan.test', port, 200, /the host is not looked up here/],
	]) {
		const authority = `${host}:${at}`;
		assert.equal((await ask(s, `http://${authority}/`, { host: authority })).slice(0, 3), String(status), authority);
		const { stdout } = spawnSync(BINARY, ['explain', '-c', s.gate.config, '--listen', 'main', '--client', '127.0.0.1', `http://${authority}/`],
			{ encoding: 'utf8', cwd: s.dir });
		if (says)
			assert.match(stdout, says, authority);
		assert.equal(/\b403\b/.test(stdout), status === 403, `${authority}\n${stdout}`);
	}
});

// covers: R600 R601
scenario('a line ask behind one that names no address: whoever gets to it by an address is asked', forward((s) => {
	fs.writeFileSync(path.join(s.dir, 'users'), 'bob:$2b$04$DDDDDDDDDDDDDDDDDDDDD./G8yeFqOwrkLaRfiIayxru6Hhx3l9he\n');
	return {
		users: 'users',
		allow: `host=*.test port=${s.origin.port}`,
		ask: 'all',
	};
}, { single: false }), async (s) => {
	const target = `http://lan.test:${s.origin.port}/`, host = `lan.test:${s.origin.port}`;
	assert.equal(await ask(s, target, { host }), '407 ask');
	assert.equal(s.origin.requests.length, 0);
	/* A user gets past the line, and there is no other one. */
	const fields = [['proxy-authorization', `Basic ${Buffer.from('bob:hunter').toString('base64')}`]];
	assert.equal(await ask(s, target, { host, fields }), '403 address-not-global');
});
