/* SPDX-License-Identifier: MIT */
/* A gate whose configuration is changed while it runs, with origins that say which of them has answered. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after } from 'node:test';
import { BINARY, scenario, section, until } from './gate.mjs';

/* ---- the origin: answers with its name and the path, after a time if the query says so ---- */

const served = (name) => http.createServer((request, response) => {
	const wait = Number(new URL(request.url, 'http://x').searchParams.get('wait') ?? 0);
	response.setHeader('x-origin', name);
	response.write('begin ');
	setTimeout(() => response.end(`${name} ${request.url}`), wait);
});
export const open = async (server) => {
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	return server;
};
export const [one, two] = await Promise.all([open(served('one')), open(served('two'))]);
after(() => [one, two].forEach((s) => { s.closeAllConnections(); s.close(); }));
export const urlOf = (server) => `http://127.0.0.1:${server.address().port}`;

/* ---- clients ---- */

/* {status, text}, or {error}. */
export function get(port, asked = '/', agent = false) {
	return new Promise((resolve) => {
		const request = http.request({ port, host: '127.0.0.1', path: asked, agent }, (response) => {
			let text = '';
			response.setEncoding('latin1').on('data', (part) => { text += part; })
				.on('end', () => resolve({ status: response.statusCode, text }))
				.on('error', (error) => resolve({ error: error.code, text }));
		});
		request.on('error', (error) => resolve({ error: error.code, fresh: !request.reusedSocket })).end();
	});
}
export const refused = async (port) => (await get(port)).error === 'ECONNREFUSED';

/* ---- the gate ---- */

/* A configuration with these parts. */
export function config(s, { workers = 2, server = {}, ports = [s.port], origin = one, route = {}, more = '' } = {}) {
	return section('server', {
		workers, 'access-log': path.join(s.dir, 'access.log'), 'error-log': path.join(s.dir, 'error.log'), 'drain-timeout': '5s',
		'status-socket': path.join(s.dir, 'status'), ...server,
	}) + ports.map((port, i) => section(`listen l${i}`, { address: `127.0.0.1:${port}` })).join('')
		+ section('origin main', { server: urlOf(origin) }) + section('route main', { origin: 'main', ...route }) + more;
}
/* In the file that the gate reads. */
export const write = (s, parts) => fs.writeFileSync(s.gate.config, config(s, parts));
export const count = (s, pattern) => s.gate.read('error.log').match(pattern)?.length ?? 0;
export const TAKEN = /reload: generation \d+ has taken over/g;
export const KEPT = /all stays as it was/g;
export const SAME = /reload: nothing is to be done/g;
/* Tells it to reload, and waits for the result. */
export async function reload(s, result = TAKEN) {
	const before = count(s, result);
	s.gate.child.kill('SIGHUP');
	await until(() => `${result}\n${s.gate.read('error.log')}`, () => count(s, result) > before);
}
export async function change(s, parts, result = TAKEN) {
	write(s, parts);
	await reload(s, result);
}
/* A generation that has taken over is not yet the only one that accepts. */
export const serves = (s, name) => until(`an answer of ${name}`, async () => new RegExp(name).test((await get(s.port)).text));
export const haveEnded = (s, n) => until(() => `${n} generations have ended\n${s.gate.read('error.log')}`, () => count(s, /has ended/g) === n);
/* As many workers, and no other. */
export const workersAre = (s, n) => until(() => `${n} workers; there are ${s.gate.workers()}`, () => s.gate.workers().length === n);

/* A command of pushgate, while origins and clients go on here: {status, stdout, stderr}. */
export function run(s, ...args) {
	const child = spawn(BINARY, args, { cwd: s.dir, stdio: ['ignore', 'pipe', 'pipe'] });
	const result = { stdout: '', stderr: '' };
	child.stdout.setEncoding('utf8').on('data', (text) => { result.stdout += text; });
	child.stderr.setEncoding('utf8').on('data', (text) => { result.stderr += text; });
	return new Promise((resolve) => { child.once('close', (status) => resolve({ ...result, status })); });
}
export const statusSocket = (s) => path.join(s.dir, 'status');
/* What `pushgate status` says of the last reload: its note, and the samples in JSON. */
export async function lastReload(s) {
	const text = await run(s, 'status', statusSocket(s)), json = await run(s, 'status', '--json', statusSocket(s));
	assert.equal(json.status, 0, json.stderr);
	const families = JSON.parse(json.stdout);
	return {
		note: text.stdout.match(/^# last reload: (.*)$/m)?.[1],
		at: families.pushgate_last_reload_timestamp_seconds?.samples,
		successful: families.pushgate_last_reload_successful?.samples,
	};
}

export const gate = (name, body, options = {}) => scenario(name, {
	single: false, origins: false, server: { workers: 2, 'drain-timeout': '5s', 'status-socket': 'status' },
	routes: '[route x]\norigin = x\n', extra: section('origin x', { server: urlOf(one) }), ...options,
}, async (s) => {
	await s.gate.error(/ ready\n/);
	await workersAre(s, 2);
	await body(s);
});
