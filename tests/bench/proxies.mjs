/* SPDX-License-Identifier: MIT */
/*
 * How scripts/bench starts each proxy: one worker, the same certificate, connections to the origin kept and
 * as many of them as are needed, no access log. Each function writes a configuration and returns the command.
 * `origin` is a port, or for a fleet the ports of its servers. In a forward work the proxy may reach these alone.
 */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const write = (dir, name, text) => {
  const file = join(dir, name);
  writeFileSync(file, text);
  return file;
};

const portsOf = (origin) => [origin].flat();

const isForward = (originKind) => originKind.startsWith('forward');

function pushgate({ dir, id, ports, certificate, originKind, origin, binary }) {
  const listen = `max-concurrent-streams = 1000\nmax-connections-per-client = 0\n${isForward(originKind) ? 'mode = forward\naccess = bench\n' : ''}`;
  return [binary, 'run', '--single', '-c', write(dir, `${id}.ini`, `[server]
workers = 1
error-log = ${join(dir, `${id}.log`)}
; What a connection has got is pushed again and again here.
diary-entries = 0

[listen tls]
address = 127.0.0.1:${ports.tls}
certificate = ${certificate.chain}
key = ${certificate.key}
${listen}
[listen plain]
address = 127.0.0.1:${ports.plain}
${listen}
${isForward(originKind) ? `[access bench]
allow = address=127.0.0.0/8 port=${portsOf(origin).join()}
` : `[origin site]
${portsOf(origin).map((port) => `server = ${originKind.endsWith('h2c') ? 'h2c' : 'http'}://127.0.0.1:${port}`).join('\n')}

[route all]
origin = site
${originKind.startsWith('tunnels') ? 'upgrade = websocket\n' : ''}
[preload links]
link = yes
`}`)];
}

function nghttpx({ dir, id, ports, certificate, originKind, origin }) {
  return ['nghttpx', '--conf=/dev/null', '-n1', '-k', `--frontend=127.0.0.1,${ports.tls}`,
    `--frontend=127.0.0.1,${ports.plain};no-tls`,
    ...portsOf(origin).map((port) => `--backend=127.0.0.1,${port};;proto=${originKind.endsWith('h2c') ? 'h2' : 'http/1.1'}`),
    '--frontend-http2-max-concurrent-streams=1000', '--backend-http2-max-concurrent-streams=1000',
    '--accesslog-file=/dev/null', `--errorlog-file=${join(dir, `${id}.log`)}`, certificate.key, certificate.chain];
}

function haproxy({ dir, id, ports, certificate, originKind, origin }) {
  const both = write(dir, `${id}.pem`, readBoth(certificate));
  return ['haproxy', '-db', '-f', write(dir, `${id}.cfg`, `global
  nbthread 1
  maxconn 8000
  tune.h2.max-concurrent-streams 1000
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
  http-reuse always
frontend tls
  bind 127.0.0.1:${ports.tls} ssl crt ${both} alpn h2,http/1.1
  default_backend site
frontend plain
  bind 127.0.0.1:${ports.plain}
  default_backend site
backend site
${isForward(originKind) ? `  http-request set-dst url_ip
  http-request set-dst-port url_port
  http-request set-uri %[pathq]
  server any 0.0.0.0:0 pool-max-conn -1
` : portsOf(origin).map((port, i) => `  server s${i} 127.0.0.1:${port} pool-max-conn -1\n`).join('')}`)];
}

function nginx({ dir, id, ports, certificate, origin }) {
  const temporary = join(dir, `${id}.tmp`);
  mkdirSync(temporary);
  return ['nginx', '-p', temporary, '-e', 'stderr', '-c', write(dir, `${id}.conf`, `daemon off;
master_process off;
worker_processes 1;
pid ${temporary}/pid;
error_log stderr crit;
events { worker_connections 8000; }
http {
  access_log off;
  ${temporaryPaths(temporary)}
  keepalive_requests 1000000000;
  upstream site { ${portsOf(origin).map((port) => `server 127.0.0.1:${port};`).join(' ')} keepalive 1024; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${ports.plain};
    listen 127.0.0.1:${ports.tls} ssl http2;
    ssl_certificate ${certificate.chain};
    ssl_certificate_key ${certificate.key};
    location / { proxy_pass http://site; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`)];
}

/* Forward proxies alone: they have no TLS listener. */
function squid({ dir, id, ports, origin }) {
  const own = join(dir, id);
  mkdirSync(own);
  chmodSync(own, 0o777);
  return ['squid', '-N', '-f', write(dir, `${id}.conf`, `http_port 127.0.0.1:${ports.plain}
acl bench dst 127.0.0.0/8
acl ports port ${portsOf(origin).join(' ')}
http_access allow bench ports
http_access deny all
cache deny all
cache_mem 0 MB
access_log none
cache_store_log none
cache_log ${own}/log
pid_filename none
coredump_dir ${own}
pinger_enable off
max_filedescriptors 8192
shutdown_lifetime 0 seconds
visible_hostname bench
`)];
}

function tinyproxy({ dir, id, ports, origin }) {
  return ['tinyproxy', '-d', '-c', write(dir, `${id}.conf`, `Listen 127.0.0.1
Port ${ports.plain}
LogFile "${join(dir, `${id}.log`)}"
LogLevel Critical
MaxClients 1000
Timeout 60
Allow 127.0.0.1
${portsOf(origin).map((port) => `ConnectPort ${port}\n`).join('')}`)];
}

const temporaryPaths = (dir) => ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  .map((name) => `${name}_temp_path ${dir}/${name};`).join(' ');

const readBoth = ({ chain, key }) => readFileSync(chain, 'latin1') + readFileSync(key, 'latin1');

export const configurations = { pushgate, nghttpx, haproxy, nginx, squid, tinyproxy };

/* An origin that speaks HTTP/1.1: its /page.html has a Link field for each of the pushes. */
export function originHttp1({ dir, site, port, pushes, id = 'origin' }) {
  const temporary = join(dir, `${id}.tmp`);
  mkdirSync(temporary);
  const links = pushes.map((path) => `add_header link "<${path}>; rel=preload; as=script";`).join(' ');
  return ['nginx', '-p', temporary, '-e', 'stderr', '-c', write(dir, `${id}.conf`, `daemon off;
master_process off;
worker_processes 1;
pid ${temporary}/pid;
error_log stderr crit;
events { worker_connections 8000; }
http {
  access_log off;
  ${temporaryPaths(temporary)}
  keepalive_requests 1000000000;
  open_file_cache max=100;
  server {
    listen 127.0.0.1:${port};
    root ${site};
    location = /page.html { ${links} }
  }
}
`)];
}
