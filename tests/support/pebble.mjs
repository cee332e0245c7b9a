/* SPDX-License-Identifier: MIT */
/*
 * An authority of ACME: pebble, with a server of the DNS (pebble-challtestsrv) that says of each name that it is here.
 * Pebble looks for challenges at httpPort, and refuses a few good nonces by itself unless it is told how many.
 */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { certs, freePort, until } from './gate.mjs';

function run(command, args, env = {}) {
	const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
	const p = { child, text: '' };
	for (const out of [child.stdout, child.stderr])
		out.setEncoding('utf8').on('data', (text) => { p.text += text; });
	child.on('error', (error) => { p.text += error.message; });
	p.ended = new Promise((resolve) => { child.once('close', resolve); });
	/* A test process that dies must not leave it behind. */
	const reap = () => child.kill('SIGKILL');
	process.once('exit', reap);
	p.stop = async () => {
		process.off('exit', reap);
		child.kill('SIGKILL');
		await p.ended;
	};
	return p;
}

const get = (url) => new Promise((resolve, reject) => {
	https.get(url, { ca: certs().ca, agent: false }, (response) => {
		let text = '';
		response.setEncoding('utf8').on('data', (piece) => { text += piece; }).on('end', () => resolve(text));
	}).on('error', reject);
});

export class Pebble {
	/* env: its switches; life: seconds of its certificates; httpPort, tlsPort: where it asks for challenges. */
	async open(dir, { env = {}, life = 7776000, httpPort, tlsPort } = {}) {
		this.port ??= await freePort();
		this.management ??= await freePort();
		this.dnsPort ??= await freePort();
		const config = path.join(dir, 'pebble.json');
		fs.writeFileSync(config, JSON.stringify({ pebble: {
			listenAddress: `127.0.0.1:${this.port}`, managementListenAddress: `127.0.0.1:${this.management}`,
			certificate: certs().file('rsa.pem'), privateKey: certs().file('rsa.key'), httpPort, tlsPort,
			ocspResponderURL: '', externalAccountBindingRequired: false, certificateValidityPeriod: life,
		} }));
		this.dns ??= run('pebble-challtestsrv', ['-http01', '', '-https01', '', '-tlsalpn01', '', '-defaultIPv6', '',
			'-dns01', `127.0.0.1:${this.dnsPort}`, '-management', `127.0.0.1:${await freePort()}`]);
		this.authority = run('pebble', ['-config', config, '-dnsserver', `127.0.0.1:${this.dnsPort}`],
			{ PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0', PEBBLE_AUTHZREUSE: '0', ...env });
		await until(() => `pebble answers\n${this.authority.text}`, () => get(`https://localhost:${this.port}/dir`).then(() => true, () => false), 60000);
		this.root = await get(`https://localhost:${this.management}/roots/0`);
		return this;
	}

	/*
	 * A server in front of pebble, which passes requests on. answer(request) may answer one in pebble's place, with
	 * {status, headers, body}, or wait; the directory says that it knows times of renewal (/ari/…).
	 */
	async front(answer) {
		this.frontPort = await freePort();
		this.fronts = https.createServer(certs().server, async (request, response) => {
			const own = await answer(request);
			if (own) {
				request.resume();
				response.writeHead(own.status, own.headers ?? {}).end(own.body ?? '');
				return;
			}
			const onward = https.request({ host: 'localhost', port: this.port, path: request.url, method: request.method, headers: request.headers, ca: certs().ca, agent: false }, (from) => {
				if (request.url !== '/dir') {
					response.writeHead(from.statusCode, from.headers);
					from.pipe(response);
					return;
				}
				let text = '';
				from.setEncoding('utf8').on('data', (piece) => { text += piece; }).on('end', () => {
					response.end(JSON.stringify({ ...JSON.parse(text), renewalInfo: `https://localhost:${this.frontPort}/ari` }));
				});
			});
			onward.on('error', () => response.destroy());
			request.pipe(onward);
		});
		await new Promise((resolve) => { this.fronts.listen(this.frontPort, '127.0.0.1', resolve); });
	}

	get directory() { return `https://localhost:${this.frontPort ?? this.port}/dir`; }
	get text() { return this.authority.text; }

	/* An outage, until it is opened again: then with another root. */
	async stop() {
		await this.authority.stop();
	}

	async close() {
		this.fronts?.closeAllConnections();
		this.fronts?.close();
		await this.authority?.stop();
		await this.dns?.stop();
	}
}
