/* SPDX-License-Identifier: MIT */
/*
 * The smuggling matrix before real servers of HTTP/1.1, each in a test file of its own: Apache httpd, nginx, Node, and
 * HAProxy before Node. Each reads in its own way what the gate writes, and logs as many requests as the clients' framing
 * says were sent. (What a recording origin sees, byte by byte, is in tests/wire/smuggling-matrices.mjs.)
 */
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { freePort, scenario } from '../support/gate.mjs';
import { daemon } from '../support/programs.mjs';
import forms from '../support/smuggle_forms.mjs';
import { logged, matrixLogged, table } from '../support/smuggle.mjs';

const own = process.getuid() === 0 ? { apache: 'User nobody\nGroup nogroup\n', nginx: 'user nobody nogroup;\n' } : { apache: '', nginx: '' };

/* A request line and X-Number, as a server logs them. What has no line at all (a connection that said nothing) is none. */
const fileLines = (file) => fs.readFileSync(file, 'latin1').split('\n').filter(Boolean).map(logged);

/* Answers everything, each with the status that the path has there. Connections end after 50 requests. */
async function apache(s, port) {
	const file = (name) => path.join(s.dir, name);
	fs.writeFileSync(file('apache.conf'), `
ServerRoot ${s.dir}
PidFile ${file('apache.pid')}
ServerName localhost
Listen 127.0.0.1:${port}
${own.apache}
${['mpm_event', 'authz_core', 'rewrite'].map((m) => `LoadModule ${m}_module /usr/lib/apache2/modules/mod_${m}.so`).join('\n')}
DocumentRoot ${s.dir}
ErrorLog /dev/null
LogFormat "%{X-Number}i %r" line
CustomLog ${file('origin.log')} line
MaxKeepAliveRequests 50
KeepAliveTimeout 120
RewriteEngine on
RewriteRule .* - [R=200,L]
`);
	await daemon(s, 'apache2', ['-DFOREGROUND', '-f', file('apache.conf')], port);
	return () => fileLines(file('origin.log'));
}

async function nginx(s, port) {
	const file = (name) => path.join(s.dir, name);
	fs.writeFileSync(file('nginx.conf'), `
daemon off;
${own.nginx}pid ${file('nginx.pid')};
worker_processes 1;
error_log /dev/null;
events { worker_connections 1024; }
http {
	log_format line '$http_x_number $request';
	access_log ${file('origin.log')} line;
	client_body_temp_path ${file('body')};
	proxy_temp_path ${file('proxy')}; fastcgi_temp_path ${file('fastcgi')}; uwsgi_temp_path ${file('uwsgi')}; scgi_temp_path ${file('scgi')};
	keepalive_requests 50;
	keepalive_timeout 120;
	server { listen 127.0.0.1:${port}; location / { return 200; } }
}
`);
	await daemon(s, 'nginx', ['-e', '/dev/null', '-c', file('nginx.conf'), '-p', s.dir], port);
	return () => fileLines(file('origin.log'));
}

async function node(s, port) {
	const lines = [];
	const server = http.createServer({ keepAliveTimeout: 120000 }, (request, response) => {
		lines.push(logged(`${request.headers['x-number'] ?? ''} ${request.method} ${request.url}`));
		request.resume();
		request.on('end', () => response.end());
		request.on('error', () => {});
	});
	server.maxRequestsPerSocket = 50;
	await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
	s.cleanups.push(() => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }));
	return () => lines;
}

async function haproxy(s, port) {
	const behind = await freePort();
	const lines = await node(s, behind);
	const config = path.join(s.dir, 'haproxy.cfg');
	fs.writeFileSync(config, `
defaults
	mode http
	timeout connect 10s
	timeout client 120s
	timeout server 120s
frontend gate
	bind 127.0.0.1:${port}
	default_backend node
backend node
	server node 127.0.0.1:${behind}
`);
	await daemon(s, 'haproxy', ['-db', '-f', config], port);
	return lines;
}

const SERVERS = { 'Apache httpd': apache, nginx, Node: node, HAProxy: haproxy };

export async function smuggle(name) {
	const port = await freePort();
	scenario(`${name} logs as many requests as the clients sent`, {
		timeout: 300000, origins: { main: { server: `http://127.0.0.1:${port}` } }, server: { 'error-log': '/dev/null', 'access-log': '/dev/null' },
	}, async (s) => {
		const lines = await SERVERS[name](s, port);
		const column = await matrixLogged(process.env.SMUGGLE_ROW ? forms.filter((f) => f.row === process.env.SMUGGLE_ROW) : forms, s, lines);
		column.check();
		console.log(table({ [name]: column }));
	});
}
