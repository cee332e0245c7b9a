/* SPDX-License-Identifier: MIT */
/*
 * What stands between browser and origin: pushgate in four ways, and HAProxy, h2o and nginx. Each has a listener with TLS
 * and HTTP/2, and one worker.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { BINARY, ROOT, freePort, section } from '../support/gate.mjs';
import { daemon } from '../support/programs.mjs';
import { addsOf, linksOf, pathOf } from './works.mjs';

/* What pushgate does with what it remembers. */
export const ACTIONS = { nothing: null, hint: 'hint', hold: 'hold', both: 'hint+hold' };
export const OTHERS = ['haproxy', 'h2o', 'nginx'];

export function certificates() {
	const dir = path.join(ROOT, 'build/value-certs');
	execFileSync(path.join(ROOT, 'scripts/dev-certs'), [dir, 'value.test', '*.value.test']);
	fs.chmodSync(dir, 0o755);
	fs.chmodSync(path.join(dir, 'ecdsa.key'), 0o644);
	fs.writeFileSync(path.join(dir, 'both.pem'), fs.readFileSync(path.join(dir, 'ecdsa.pem'), 'utf8') + fs.readFileSync(path.join(dir, 'ecdsa.key'), 'utf8'));
	return { pem: path.join(dir, 'ecdsa.pem'), key: path.join(dir, 'ecdsa.key'), both: path.join(dir, 'both.pem') };
}

/* source: 'remembered', or 'add' for lists as an operator writes them. */
function preloads(source, cells) {
	if (source === 'remembered')
		return section('preload pages', { remembered: 'apply' });
	return cells.map((cell, i) => section(`preload p${i}`, { path: pathOf(cell), add: addsOf(cell) })).join('');
}

function pushgate(dir, name, { port, origin, certificate, source, cells }) {
	const action = ACTIONS[name];
	fs.writeFileSync(path.join(dir, 'secret'), 'the secret of a measurement');
	const file = path.join(dir, `${name}.ini`);
	fs.writeFileSync(file, section('server', {
		workers: 1, 'access-log': path.join(dir, `${name}.access`), 'error-log': path.join(dir, `${name}.error`), 'drain-timeout': '1s',
		'status-socket': path.join(dir, `${name}.socket`), 'hold-max-count': 128, 'hold-max-bytes': '8M', 'max-pushes-per-parent': 128,
		...(action ? { 'diary-cookie': 'diary', 'diary-cookie-key': path.join(dir, 'secret') } : {}),
	}) + section('listen main', { address: `127.0.0.1:${port}`, certificate: certificate.pem, key: certificate.key })
		+ section('origin demo', { server: 'demo:?think=200ms' }) + section('route demo', { host: 'demo.value.test', origin: 'demo' })
		+ section('origin app', { server: `http://127.0.0.1:${origin}` }) + section('route all', { origin: 'app' })
		+ (action ? preloads(source, cells) + section('push browsers', { navigation: 'yes', action }) : ''));
	return [BINARY, 'run', '-c', file];
}

function haproxy(dir, name, { port, origin, certificate, cells }) {
	const file = path.join(dir, 'haproxy.cfg');
	const map = path.join(dir, 'links.map');
	/* In one 103, as browsers use the first one alone; a line of the configuration has no room for that many links. */
	fs.writeFileSync(map, cells.map((cell) => `${pathOf(cell)} ${linksOf(cell).join(', ')}\n`).join(''));
	fs.writeFileSync(file, `global
	nbthread 1
	tune.bufsize 65536
defaults
	mode http
	timeout connect 10s
	timeout client 600s
	timeout server 60s
	http-reuse always
frontend public
	bind 127.0.0.1:${port} ssl crt ${certificate.both} alpn h2,http/1.1
	http-request early-hint Link %[path,map(${map})] if { path,map(${map}) -m found }
	default_backend app
backend app
	server app 127.0.0.1:${origin}
`);
	return ['haproxy', '-db', '-f', file];
}

/* Its origin names all in Link fields. */
function h2o(dir, name, { port, namingOrigin, certificate }) {
	const file = path.join(dir, 'h2o.conf');
	fs.writeFileSync(file, `num-threads: 1
pid-file: ${dir}/h2o.pid
error-log: ${dir}/h2o.log
listen:
  host: 127.0.0.1
  port: ${port}
  ssl:
    certificate-file: ${certificate.pem}
    key-file: ${certificate.key}
http2-casper: ON
http2-idle-timeout: 600
hosts:
  default:
    paths:
      /:
        proxy.reverse.url: http://127.0.0.1:${namingOrigin}/
        proxy.preserve-host: ON
        proxy.timeout.keepalive: 30000
`);
	return ['h2o', '-m', 'worker', '-c', file];
}

function nginx(dir, name, { port, origin, certificate }) {
	const file = path.join(dir, 'nginx.conf'), temporary = path.join(dir, 'nginx');
	fs.mkdirSync(temporary, { recursive: true });
	fs.writeFileSync(file, `daemon off;
master_process off;
pid ${temporary}/pid;
error_log stderr crit;
events { worker_connections 1000; }
http {
	access_log off;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `	${kind}_temp_path ${temporary}/${kind};`).join('\n')}
	upstream app { server 127.0.0.1:${origin}; keepalive 100; }
	server {
		listen 127.0.0.1:${port} ssl http2;
		keepalive_timeout 600s;
		ssl_certificate ${certificate.pem};
		ssl_certificate_key ${certificate.key};
		location / { proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; }
	}
}
`);
	return ['nginx', '-p', temporary, '-e', 'stderr', '-c', file];
}

/* name: of ACTIONS or OTHERS. s: {dir, cleanups}. Gives its port. */
export async function openGate(s, name, more) {
	const port = await freePort();
	const make = { haproxy, h2o, nginx }[name] ?? pushgate;
	const [command, ...args] = make(s.dir, name, { ...more, port });
	await daemon(s, command, args, port);
	return port;
}
