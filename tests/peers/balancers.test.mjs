/* SPDX-License-Identifier: MIT */
/*
 * HAProxy (mode tcp) and nginx (stream) in front, which write PROXY headers of version 1 and 2: rules, limits, the log
 * and what the origin is told are about the client and not about the balancer. Each client has an address of its own on
 * the loopback interface.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { certs, freePort, scenario, section } from '../support/gate.mjs';
import { connect1, recordingOrigin } from '../support/http1.mjs';
import { daemon } from '../support/programs.mjs';

const TLS = { certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') };
const REQUIRED = { 'proxy-protocol': 'required', trusted: '127.0.0.1', access: 'a' };
const RULES = '[access a]\ndeny = client=127.0.0.13\nallow = client=127.0.0.0/8\n\n';

/* Each way of a balancer: which listener of ours it leads to, and whether the balancer ends TLS. */
const WAYS = {
	HAProxy: {
		v1: { option: 'send-proxy' },
		v2: { option: 'send-proxy-v2' },
		'v2 with a checksum and an id': { option: 'send-proxy-v2 proxy-v2-options crc32c,unique-id', hasId: true },
		'v1 before our TLS': { option: 'send-proxy', secure: true },
		'v2 before our TLS': { option: 'send-proxy-v2 proxy-v2-options crc32c', secure: true },
		'v2 behind its TLS': { option: 'send-proxy-v2-ssl', ends: true },
		'v2 behind its TLS, with SNI': { option: 'send-proxy-v2-ssl-cn proxy-v2-options authority,crc32c', ends: true },
	},
	nginx: { v1: {}, 'v1 before our TLS': { secure: true }, 'v1 behind its TLS': { ends: true, byPort: true } },
};

function haproxy(s, ways) {
	const file = path.join(s.dir, 'haproxy.cfg'), pem = path.join(s.dir, 'both.pem');
	fs.writeFileSync(pem, fs.readFileSync(TLS.certificate) + fs.readFileSync(TLS.key));
	const listens = ways.map((w, i) => `listen l${i}
	bind 127.0.0.1:${w.port} ${w.ends ? `ssl crt ${pem} alpn http/1.1` : ''}
	${w.hasId ? 'unique-id-format id-%[src]' : ''}
	server s 127.0.0.1:${w.secure ? s.secure : s.port} ${w.option}
`);
	fs.writeFileSync(file, `defaults
	mode tcp
	timeout connect 10s
	timeout client 60s
	timeout server 60s
${listens.join('')}`);
	return daemon(s, 'haproxy', ['-db', '-f', file], ways[0].port);
}

function nginx(s, ways) {
	const file = path.join(s.dir, 'nginx.conf');
	const servers = ways.map((w) => `	server {
		listen 127.0.0.1:${w.port}${w.ends ? ' ssl' : ''};
		${w.ends ? `ssl_certificate ${TLS.certificate}; ssl_certificate_key ${TLS.key}; ssl_alpn http/1.1;` : ''}
		proxy_protocol on;
		proxy_pass 127.0.0.1:${w.secure ? s.secure : w.byPort ? s.byPort : s.port};
	}
`);
	fs.writeFileSync(file, `load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off;
error_log stderr;
pid ${s.dir}/nginx.pid;
events {}
stream {
${servers.join('')}}
`);
	return daemon(s, '/usr/sbin/nginx', ['-p', s.dir, '-c', file, '-e', 'stderr'], ways[0].port);
}

const START = { HAProxy: haproxy, nginx };

for (const [name, kinds] of Object.entries(WAYS)) {
	const ways = Object.entries(kinds).map(([what, w]) => ({ what, ...w }));
	scenario(`${name} in front: all is about its clients`, {
		listen: REQUIRED,
		routes: '[route main]\norigin = main\nlimit-requests = 1/h burst 2 by=client\n\n',
		prepare: async (s) => {
			s.origin = await recordingOrigin();
			s.cleanups.push(() => s.origin.close());
			for (const w of ways)
				w.port = await freePort();
			s.secure = await freePort();
			s.byPort = await freePort();
			s.options.origins = { main: { server: `http://127.0.0.1:${s.origin.port}` } };
			s.options.extra = RULES + section('listen secure', { address: `127.0.0.1:${s.secure}`, ...REQUIRED, ...TLS })
				/* nginx's header has the port that the client connected to. */
				+ section('listen by-port', { address: `127.0.0.1:${s.byPort}`, ...REQUIRED, 'proxy-protocol-https-port': ways.find((w) => w.byPort)?.port ?? 443 });
		},
	}, async (s) => {
		await START[name](s, ways);
		let octet = 20;
		for (const w of ways) {
			const scheme = w.secure || w.ends ? 'https' : 'http';
			const ask = async (from, target) => {
				const client = await connect1(w.port, { localAddress: from, tls: w.secure || w.ends, ca: certs().ca });
				client.request('GET', target, [['host', 'a.test']]);
				const { status } = await client.response();
				client.close();
				return status;
			};
			const address = `127.0.0.${++octet}`, at = `/${octet}`;
			assert.equal(await ask(address, at), 200, w.what);
			const line = await s.gate.access((x) => x.path === at);
			assert.deepEqual([line.client, line.tcp_peer, line.scheme], [address, '127.0.0.1', scheme], w.what);
			if (w.hasId)
				assert.equal(line.proxy_id, `id-${address}`);
			if (w.what.endsWith('SNI'))
				assert.equal(line.proxy_authority, 'localhost');
			const { headers } = s.origin.requests.find((m) => m.target === at);
			assert.equal(headers['x-forwarded-for'], address, w.what);
			assert.equal(headers['x-forwarded-proto'], scheme, w.what);
			assert.equal(headers.forwarded, `for=${address};host="a.test";proto=${scheme}`, w.what);
			assert.equal(await ask('127.0.0.13', `${at}/denied`), 403, w.what);
			/* Its own limit, which other clients of the balancer have not used up. */
			assert.equal(await ask(address, `${at}/again`), 200, w.what);
			assert.equal(await ask(address, `${at}/limited`), 429, w.what);
		}
	});
}
