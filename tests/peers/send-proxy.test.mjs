/* SPDX-License-Identifier: MIT */
/*
 * nginx (listen … proxy_protocol) and HAProxy (accept-proxy) as origins: with send-proxy they know each client's address and
 * port, with and without TLS, in both versions where they take both.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { certs, freePort, scenario, section } from '../support/gate.mjs';
import { connect1 } from '../support/http1.mjs';
import { daemon } from '../support/programs.mjs';

const TLS = { certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') };

function nginx(s, at) {
	const file = path.join(s.dir, 'nginx.conf');
	const server = (port, secure) => `	server {
		listen 127.0.0.1:${port} proxy_protocol${secure ? ' ssl' : ''};
		${secure ? `ssl_certificate ${TLS.certificate}; ssl_certificate_key ${TLS.key};` : ''}
		return 200 "$proxy_protocol_addr $proxy_protocol_port $proxy_protocol_server_addr $proxy_protocol_server_port";
	}
`;
	fs.writeFileSync(file, `daemon off;
error_log stderr;
pid ${s.dir}/nginx.pid;
events {}
http {
	access_log off;
	client_body_temp_path ${s.dir}; proxy_temp_path ${s.dir}; fastcgi_temp_path ${s.dir}; uwsgi_temp_path ${s.dir}; scgi_temp_path ${s.dir};
${server(at.plain, false)}${server(at.secure, true)}}
`);
	return daemon(s, '/usr/sbin/nginx', ['-p', s.dir, '-c', file, '-e', 'stderr'], at.plain);
}

function haproxy(s, at) {
	const file = path.join(s.dir, 'haproxy.cfg'), pem = path.join(s.dir, 'both.pem');
	fs.writeFileSync(pem, fs.readFileSync(TLS.certificate) + fs.readFileSync(TLS.key));
	fs.writeFileSync(file, `defaults
	mode http
	timeout connect 10s
	timeout client 60s
	timeout server 60s
frontend f
	bind 127.0.0.1:${at.plain} accept-proxy
	bind 127.0.0.1:${at.secure} accept-proxy ssl crt ${pem}
	http-request return status 200 content-type text/plain lf-string "%[src] %[src_port] %[dst] %[dst_port]"
`);
	return daemon(s, 'haproxy', ['-db', '-f', file], at.plain);
}

for (const [name, start] of Object.entries({ nginx, HAProxy: haproxy }))
	// covers: R687
	scenario(`${name} as the origin is told of each client`, {
		listen: { trusted: '127.0.0.1' },
		prepare: async (s) => {
			s.at = { plain: await freePort(), secure: await freePort() };
			s.named = await freePort();
			await start(s, s.at);
			const origin = (version, secure) => ({
				server: secure ? `https1://127.0.0.1:${s.at.secure}` : `http://127.0.0.1:${s.at.plain}`,
				config: { connections: 'private', 'send-proxy': version, 'health-check': '/', 'health-interval': '200ms', ...secure && { 'tls-verify': 'no' } },
			});
			s.options.origins = { 'v1': origin('v1', false), 'v2': origin('v2', false), 'v1-tls': origin('v1', true), 'v2-tls': origin('v2', true) };
			s.options.routes = Object.keys(s.options.origins).map((o) => `[route ${o}]\npath = /${o}\norigin = ${o}\n\n`).join('');
			s.options.extra = section('listen named', { address: `127.0.0.1:${s.named}`, trusted: '127.0.0.1', 'client-address': 'x-forwarded-for' });
		},
	}, async (s) => {
		for (const way of Object.keys(s.options.origins)) {
			for (const localAddress of ['127.0.0.8', '127.0.0.9']) {
				const client = await connect1(s.port, { localAddress });
				for (let i = 0; i < 2; i++) {
					client.request('GET', `/${way}`, [['host', 'a.test']]);
					const { status, body } = await client.response();
					assert.deepEqual([status, String(body)], [200, `${localAddress} ${client.socket.localPort} 127.0.0.1 ${s.port}`], way);
				}
			}
			const proxy = await connect1(s.named);
			for (const address of ['192.0.2.1', '2001:db8::1']) {
				proxy.request('GET', `/${way}`, [['host', 'a.test'], ['x-forwarded-for', address]]);
				const { status, body } = await proxy.response();
				assert.equal(status, 200);
				/* Neither of them shows port 0. */
				const [from, port, to, toPort] = String(body).split(' ');
				assert.deepEqual([from, port, to.replace('::ffff:', ''), toPort], [address, '', '127.0.0.1', String(s.named)], way);
			}
		}
	});
