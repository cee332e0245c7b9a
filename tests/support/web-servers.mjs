/* SPDX-License-Identifier: MIT */
/* Apache httpd and nginx as Debian has them, as origins of a scenario: files of one folder, and Link fields. */
import fs from 'node:fs';
import path from 'node:path';
import { certs, freePort } from './gate.mjs';
import { daemon } from './programs.mjs';

const MODULES = '/usr/lib/apache2/modules';
/* Whoever is root serves as somebody else. */
const isRoot = process.getuid() === 0;

/* A line of their logs: "PORT PROTOCOL STATUS TARGET"; the client's port names the connection. */
function requests(file) {
	return fs.readFileSync(file, 'utf8').split('\n').slice(0, -1).map((line) => {
		const [connection, protocol, status, target] = line.split(' ');
		return { connection, protocol, status: Number(status), target };
	});
}

/*
 * options: root (the folder), links ({target: values of Link}), tls (list of protocols for ALPN; cleartext without),
 * keepAlive (seconds). Gives {port, requests()}.
 */
export async function apache(s, { root, links = {}, tls, keepAlive = 5 }) {
	const port = await freePort();
	const dir = fs.mkdtempSync(path.join(s.dir, 'apache-'));
	fs.chmodSync(dir, 0o755);
	const log = path.join(dir, 'access.log');
	const modules = ['mpm_event', 'authz_core', 'mime', 'headers', ...(tls ? ['ssl', 'http2'] : [])];
	const conf = `ServerRoot ${dir}
${modules.map((m) => `LoadModule ${m}_module ${MODULES}/mod_${m}.so`).join('\n')}
ServerName localhost
PidFile ${dir}/pid
Listen 127.0.0.1:${port}
${isRoot ? 'User www-data\nGroup www-data' : ''}
StartServers 1
ThreadsPerChild 25
KeepAlive On
KeepAliveTimeout ${keepAlive}
MaxKeepAliveRequests 0
ErrorLog ${dir}/error.log
LogFormat "%{remote}p %H %>s %U%q" short
CustomLog ${log} short
TypesConfig /dev/null
AddType text/html .html
AddType text/css .css
AddType text/javascript .js
AddType image/svg+xml .svg
DocumentRoot ${root}
<Directory ${root}>
	Require all granted
</Directory>
${Object.entries(links).map(([target, values]) => `<Location ${target}>\n${values
		.map((value) => `\tHeader add Link "${value.replaceAll('"', '\\"')}"`).join('\n')}\n</Location>`).join('\n')}
${tls ? `SSLEngine on
SSLCertificateFile ${certs().file('rsa.pem')}
SSLCertificateKeyFile ${certs().file('rsa.key')}
Protocols ${tls.join(' ')}
${tls.includes('h2') ? 'H2Push off' : ''}` : ''}
`;
	/* Its own pushes are off: it promises links that it did not resolve, and may close its connection when they are refused. */
	fs.writeFileSync(path.join(dir, 'httpd.conf'), conf);
	await daemon(s, 'apache2', ['-DFOREGROUND', '-d', dir, '-f', path.join(dir, 'httpd.conf')], port);
	return { port, requests: () => requests(log) };
}

/* The same with nginx; keepAlive is in seconds too. */
export async function nginx(s, { root, links = {}, tls, keepAlive = 5 }) {
	const port = await freePort();
	const dir = fs.mkdtempSync(path.join(s.dir, 'nginx-'));
	fs.chmodSync(dir, 0o755);
	const log = path.join(dir, 'access.log');
	const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir}/${name};`).join(' ');
	const conf = `daemon off;
${isRoot ? 'user www-data;' : ''}
worker_processes 1;
pid ${dir}/pid;
error_log ${dir}/error.log;
events {}
http {
	${temporary}
	types { text/html html; text/css css; text/javascript js; image/svg+xml svg; }
	log_format short '$remote_port $server_protocol $status $request_uri';
	access_log ${log} short;
	keepalive_timeout ${keepAlive}s;
	server {
		listen 127.0.0.1:${port}${tls ? ` ssl${tls.includes('h2') ? ' http2' : ''}` : ''};
		${tls ? `ssl_certificate ${certs().file('rsa.pem')}; ssl_certificate_key ${certs().file('rsa.key')};` : ''}
		root ${root};
${Object.entries(links).map(([target, values]) => `		location = ${target} {\n${values
		.map((value) => `			add_header Link '${value}';`).join('\n')}\n		}`).join('\n')}
	}
}
`;
	fs.writeFileSync(path.join(dir, 'nginx.conf'), conf);
	await daemon(s, 'nginx', ['-p', dir, '-c', path.join(dir, 'nginx.conf'), '-e', path.join(dir, 'error.log')], port);
	return { port, requests: () => requests(log) };
}
