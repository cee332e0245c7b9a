/* SPDX-License-Identifier: MIT */
/*
 * What nginx and HAProxy make of the same: HTTP/2 and HTTP/1.1 requests and WebSockets, while they are reloaded as often.
 * Nothing is judged: the figures stand beside pushgate's in a table.
 */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { answers, freePort, until, workDir } from '../../support/gate.mjs';
import { MAX_MS, changesOf } from './load.mjs';
import { atExit, helper, show, within } from './stage.mjs';

const temporary = (dir) => ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir}/${name};`).join(' ');

/* Each: the command, its configuration after so many reloads, the signal that reloads, versions of WebSockets. */
const PROXIES = {
	nginx: {
		command: (file, dir) => ['nginx', '-p', dir, '-c', file, '-e', path.join(dir, 'error.log')],
		signal: 'SIGHUP', versions: ['1.1'],
		text: (n, { dir, ports, origin }) => `daemon off;
${process.getuid() === 0 ? 'user www-data;' : ''}
worker_processes ${1 + n % 3};
pid ${dir}/pid;
events { worker_connections 4000; }
http {
	access_log off;
	${temporary(dir)}
	upstream site { server 127.0.0.1:${origin}; keepalive 100; keepalive_requests 1000000; }
	server {
		listen 127.0.0.1:${ports.h1};
		listen 127.0.0.1:${ports.h2} http2;
		keepalive_requests 1000000;
		location / { proxy_pass http://site; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; proxy_buffering off; proxy_read_timeout 1h; }
		location /ws { proxy_pass http://site; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; proxy_read_timeout 1h; }
		location /r${n} { return 308 /here; }
	}
}
`,
	},
	HAProxy: {
		command: (file) => ['haproxy', '-W', '-db', '-f', file],
		signal: 'SIGUSR2', versions: ['1.1', '2'],
		text: (n, { ports, origin }) => `global
	nbthread ${1 + n % 2}
	maxconn 4000
defaults
	mode http
	timeout client 1h
	timeout server 1h
	timeout tunnel 1h
	timeout connect 5s
frontend plain
	bind 127.0.0.1:${ports.h1}
	bind 127.0.0.1:${ports.h2}
	http-request redirect location /here code 308 if { path /r${n} }
	default_backend site
backend site
	server one 127.0.0.1:${origin}
`,
	},
};

async function beside(checks, name, factor) {
	const { command, text, signal, versions } = PROXIES[name], { changes, upgrades, wantedRequests, rate } = changesOf(factor), reloads = changes + upgrades;
	const dir = workDir(), file = path.join(dir, 'conf'), ports = { h1: await freePort(), h2: await freePort() };
	ports.plain = ports.h1;
	const tunnels = helper(checks, 'reloads/tunnels.mjs', { count: 200, versions, forward: false, maxMs: MAX_MS });
	const { ports: far } = await within('the tunnels begin', MAX_MS, tunnels.next());
	const put = (n) => fs.writeFileSync(file, text(n, { dir, ports, origin: far.origin }));
	put(0);
	const [program, ...args] = command(file, dir);
	const proxy = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
	let said = '';
	proxy.stderr.on('data', (x) => { said += x; });
	proxy.on('error', (error) => { said += error.message; });
	const end = atExit(() => {
		try {
			process.kill(-proxy.pid, 'SIGKILL');
		} catch { /* it has ended */ }
		fs.rmSync(dir, { recursive: true, force: true });
	});
	await until(() => `${name} answers: ${said}`, async () => await answers(ports.h1) && answers(ports.h2));
	tunnels.tell({ ports });
	const requests = helper(checks, 'reloads/requests.mjs', { ports, seed: 7, rate, pushes: false, host: 'ws.test', maxMs: MAX_MS });
	for (let i = 1; i <= reloads; i++) {
		const goal = wantedRequests * i / (reloads + 1);
		await until(`${goal} requests of ${name}`, async () => (await requests.accounts())?.requests >= goal, 20 * MAX_MS);
		put(i);
		proxy.kill(signal);
		tunnels.tell('turn');
	}
	await until('the rest of them', async () => (await requests.accounts())?.requests >= wantedRequests, 20 * MAX_MS);
	[requests, tunnels].forEach((one) => one.tell('over'));
	const r = await within(`the requests of ${name} end`, 2 * MAX_MS, requests.finished), t = await within(`the tunnels of ${name} end`, 2 * MAX_MS, tunnels.finished);
	[requests, tunnels].forEach((one) => one.kill());
	console.log(`${name}: ${JSON.stringify({ ...r, failures: undefined })}${show(r.failures.slice(0, 2))}${show(t.failures.slice(0, 2))}`);
	end();
	return { name, reloads, requests: r.requests, failed: r.failed, retried: r.retried, tunnels: t.opened, ended: t.endedEarly };
}

/* `ours`: pushgate's row. */
export async function besides(checks, factor, ours) {
	const rows = ours ? [ours] : [];
	for (const name of Object.keys(PROXIES))
		rows.push(await beside(checks, name, factor));
	const cell = (x, i) => (i ? String(x).padStart(12) : String(x).padEnd(10));
	console.log(['', 'reloads', 'requests', 'failed', 'sent again', 'tunnels', 'ended early'].map(cell).join(''));
	for (const row of rows)
		console.log(Object.values(row).map(cell).join(''));
}
