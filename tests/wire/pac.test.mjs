/* SPDX-License-Identifier: MIT */
/* The proxy auto-configuration file (pac = yes): who gets it, what its function answers, and that nobody writes into it. */
import assert from 'node:assert/strict';
import net from 'node:net';
import tls from 'node:tls';
import vm from 'node:vm';
import { certs, scenario, section, until } from '../support/gate.mjs';
import { nodeClient } from '../support/node.mjs';

const FORWARD = section('origin forward', {
	server: 'forward:', 'upstream-proxy': 'http://192.0.2.1:3128',
	'no-proxy': ['*.Corp.test direct.test 203.0.113.0/24 198.51.100.7', '2001:db8::/32'],
}) + section('route forward', { origin: 'forward' });
const ANY = section('access test', { allow: 'client=any host=*' });
const options = (more = {}) => ({ origins: {}, listen: { mode: 'forward', pac: 'yes', access: 'test' }, routes: FORWARD + ANY, ...more });

async function fetchFrom(s, bytes) {
	const socket = s.options.tls
		? tls.connect({ port: s.port, ca: certs().ca, servername: 'localhost', ALPNProtocols: ['http/1.1'] })
		: net.connect(s.port, '127.0.0.1');
	let text = '';
	socket.setEncoding('latin1').on('data', (more) => { text += more; }).on('error', () => {});
	s.cleanups.push(() => socket.destroy());
	socket.write(bytes, 'latin1');
	await until(() => `an answer: ${text}`, () => /\r\n\r\n/.test(text) && text.split('\r\n\r\n')[1].length >= (bytes.startsWith('HEAD') ? 0 : Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)));
	const [head, body] = text.split('\r\n\r\n');
	return { status: Number(head.split(' ')[1]), head, body };
}
const getPac = (s, host, { method = 'GET', target = '/proxy.pac' } = {}) => fetchFrom(s, `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);

/* As a browser evaluates it, without the functions that it would have to bring. */
function evaluate(body) {
	const context = vm.createContext({});
	vm.runInContext(body, context);
	return (host, url = `http://${host}/`) => vm.runInContext(`FindProxyForURL(${JSON.stringify(url)}, ${JSON.stringify(host)})`, context);
}

scenario('the file sends a browser to the proxy that it was asked of, and past it where the proxy is of no use', options(), async (s) => {
	const { status, head, body } = await getPac(s, 'Proxy.Lan:3128');
	assert.equal(status, 200);
	assert.match(head, /^content-type: application\/x-ns-proxy-autoconfig$/mi);
	const find = evaluate(body);
	for (const host of ['example.com', 'WWW.example.com', 'corp.test', 'notcorp.test', 'xdirect.test', '8.8.8.8', '203.0.114.1', '172.32.0.1', '11.0.0.1', '1.2.3.4.test', '2606:4700::1111', '[2606:4700::1111]', 'fc.example', 'fe80.example.com'])
		assert.equal(find(host), 'PROXY proxy.lan:3128', host);
	for (const host of ['printer', 'localhost', 'a.localhost', 'a.corp.test', 'A.B.CORP.TEST', 'direct.test', 'direct.test.', '10.1.2.3', '127.0.0.1', '169.254.1.1', '172.16.0.1', '172.31.255.255', '192.168.0.1', '203.0.113.9', '198.51.100.7', '::1', '[::1]', 'fe80::1', 'fd00::1', '[fc00::1]'])
		assert.equal(find(host), 'DIRECT', host);
	for (const [host, proxy] of [['192.0.2.9:8080', '192.0.2.9:8080'], ['[2001:DB8::1]:8080', '[2001:db8::1]:8080'], ['proxy.lan', 'proxy.lan:80'], ['127.0.0.1:1', '127.0.0.1:1']])
		assert.equal(evaluate((await getPac(s, host)).body)('example.com'), `PROXY ${proxy}`, host);
	const none = await getPac(s, 'proxy.lan', { method: 'HEAD' });
	assert.equal(none.status, 200);
	assert.equal(none.body, '');
	assert.equal((await getPac(s, 'proxy.lan', { target: '/proxy.pac?v=1' })).status, 200);
	for (const host of [`127.0.0.1:${s.port}`, `localhost:${s.port}`])
		assert.equal((await getPac(s, host, { target: `http://${host}/proxy.pac` })).status, 200, host);
});

// covers: R614
scenario('nothing that a client writes comes into the file but a name or an address', options(), async (s) => {
	for (const host of ['a"+alert(1)+"', 'a\\x22', "a'b", 'a;b', 'a b', 'a%22b', 'a:80"', '[::1"]', '0x7f.1', 'a..b', '[fe80::1%25eth0]', '', 'a:0', 'a:99999']) {
		const { status, body } = await getPac(s, host);
		assert.ok(status === 400 || status === 403, `${host}: ${status}`);
		assert.ok(!body.includes('FindProxy'), host);
	}
});

scenario('other requests in origin-form, and /proxy.pac of others, are none for the file', options(), async (s) => {
	assert.equal((await getPac(s, 'proxy.lan', { target: '/other.pac' })).status, 400);
	assert.equal((await getPac(s, 'proxy.lan', { method: 'DELETE' })).status, 400);
	/* The proxy of this test does not exist. */
	assert.ok((await getPac(s, `other.test:${s.port}`, { target: `http://other.test:${s.port}/proxy.pac` })).status >= 403);
});

scenario('over TLS the file names an https proxy, over HTTP/2 by the names of the certificate', options({ tls: true }), async (s) => {
	assert.equal(evaluate((await getPac(s, `localhost:${s.port}`)).body)('example.com'), `HTTPS localhost:${s.port}`);
	assert.equal(evaluate((await getPac(s, 'elsewhere.test')).body)('example.com'), 'HTTPS elsewhere.test:443');
	const c = await s.connect({ tls: true });
	for (const [id, host, status] of [[1, 'www.a.test', '200'], [3, 'localhost', '200']]) {
		c.headers(id, { ':method': 'GET', ':scheme': 'https', ':authority': `${host}:${s.port}`, ':path': '/proxy.pac' }, { endStream: true });
		assert.equal((await c.expectHead(id)).headers[':status'], status, host);
	}
});

scenario('without pac = yes there is no file', options({ listen: { mode: 'forward', access: 'test' } }), async (s) => {
	assert.equal((await getPac(s, 'proxy.lan')).status, 400);
});

scenario('the file is for all clients that the proxy might do something for', options({ routes: FORWARD + section('access test', { deny: ['method=DELETE', 'client=127.0.0.2'], allow: 'client=127.0.0.1 method=POST host=a.test' }) }), async (s) => {
	assert.equal((await getPac(s, 'proxy.lan')).status, 200);
});

scenario('clients that may not use the proxy do not get the file', options({ routes: FORWARD + section('access test', { deny: 'client=127.0.0.0/8', allow: 'client=any' }) }), async (s) => {
	assert.equal((await getPac(s, 'proxy.lan')).status, 403);
	assert.equal((await nodeClient(s).get({ ':scheme': 'http', ':authority': `localhost:${s.port}`, ':path': '/proxy.pac' })).status, 403);
});
