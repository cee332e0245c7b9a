/* SPDX-License-Identifier: MIT */
/* Visitors of pages, each at an address of its own, and an origin that serves pages: for the memory of pages. */
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import { section, until } from './gate.mjs';

/* serve(request, response) answers as in http.createServer, but for style sheets. Ended with the scenario. Returns its address. */
export async function pageOrigin(s, serve) {
	const server = http.createServer((request, response) => {
		if (!request.url.endsWith('.css'))
			return serve(request, response);
		return response.writeHead(200, { 'content-type': 'text/css', 'cache-control': 'max-age=60' }).end('a{}');
	});
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	s.cleanups.push(() => new Promise((resolve) => {
		server.closeAllConnections();
		server.close(resolve);
	}));
	return `http://127.0.0.1:${server.address().port}`;
}

/* An HTML page with these Link values. */
export const html = (response, links, more = {}, body = '<!doctype html>') => {
	response.writeHead(200, { 'content-type': 'text/html', ...(links.length ? { link: links } : {}), ...more });
	response.end(body);
};
export const css = (target) => `<${target}>; rel=preload; as=style`;

/*
 * A page load on a connection of its own, from 127.0.`a`.`b` for the client of number 256 a + b.
 * Returns {status, hinted, headers, body}: hinted are the targets in the 103's Link fields. times: so often, one after the
 * other, on the same connection; what the last one got.
 */
export async function load(s, client, path = '/', fields = {}, times = 1) {
	const connect = () => http2.connect(`http://127.0.0.1:${s.port}`, { localAddress: `127.0.${client >> 8}.${client & 255}` });
	let session = connect(), got;
	for (let i = 0; i < times; i++)
		got = await loadOnce(session, s, path, fields);
	/* A worker that drains has said GOAWAY. */
	if (session.closed || session.destroyed)
		session = connect();
	/* As browsers do: what no client requests is hinted at no more. */
	for (const target of got.hinted.filter((t) => t.startsWith('/')))
		await loadOnce(session, s, target, { referer: `http://localhost:${s.port}${path}`, 'sec-fetch-dest': 'style', 'sec-fetch-mode': 'no-cors' });
	session.close();
	return got;
}

function loadOnce(session, s, path, fields) {
	return new Promise((resolve, reject) => {
		session.once('error', reject);
		const got = { hinted: [], body: '' };
		const stream = session.request({
			':path': path, ':authority': `localhost:${s.port}`, 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate', ...fields,
		});
		stream.on('headers', (headers) => {
			const links = [headers.link ?? []].flat().join(', ');
			got.hinted.push(...[...links.matchAll(/<([^>]*)>/g)].map((m) => m[1]));
		});
		stream.on('response', (headers) => { got.status = headers[':status']; got.headers = headers; });
		stream.on('error', reject);
		stream.setEncoding('latin1').on('data', (text) => { got.body += text; });
		stream.on('end', () => { session.off('error', reject); resolve(got); });
	});
}

/* Loads that teach nobody: they have credentials. */
export const look = (s, path = '/', fields = {}) => load(s, 200, path, { authorization: 'Basic eDp5', ...fields });

/* The lines of the status about remembered pages. */
export const remembered = (s) => s.gate.status().split('\n').filter((line) => line.startsWith('# remembered: '));

/* All workers hint at these for the page: many connections in a row, so that each worker has some of them. */
export async function hintedByAll(s, path, targets, fields = {}) {
	let row = 0;
	let last;
	await until(() => `${path}: ${targets} are hinted at, not ${last}\n${remembered(s).join('\n')}`, async () => {
		last = (await look(s, path, fields)).hinted.sort().join(' ');
		row = last === [...targets].sort().join(' ') ? row + 1 : 0;
		return row >= 12;
	}, 60_000);
}

/* The options of a scenario: a master with two workers, which hints at what is remembered of the pages of `serve`. */
export const hinting = ({ server = {}, extra = '', preload = {}, serve, ...more } = {}) => ({
	single: false,
	server: { workers: 2, 'status-socket': 'status', ...server },
	extra: section('preload pages', { remembered: 'apply', ...preload }) + section('push hint', { action: 'hint' }) + extra,
	prepare: async (s) => { s.options.origins = { main: { server: await pageOrigin(s, serve) } }; },
	...more,
});

export function filesProcess(s) {
	return helpers(s).find(([, name]) => name === 'pushgate-files')?.[0];
}
function helpers(s) {
	return fs.readFileSync(`/proc/${s.gate.pid}/task/${s.gate.pid}/children`, 'utf8').split(' ').filter(Boolean).map((pid) => {
		try {
			return [Number(pid), fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim()];
		} catch {
			return [Number(pid), ''];
		}
	});
}
