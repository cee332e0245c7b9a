/* SPDX-License-Identifier: MIT */
/* The origin that is measured with, in HTTP/1.1: it keeps account of what it was asked for. */
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { answerOf, linksOf } from './works.mjs';

const TYPES = {
	html: 'text/html; charset=utf-8', css: 'text/css', js: 'text/javascript', mjs: 'text/javascript', json: 'application/json', svg: 'image/svg+xml',
	png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', ico: 'image/x-icon', webp: 'image/webp', woff: 'font/woff',
	woff2: 'font/woff2', ttf: 'font/ttf', webmanifest: 'application/manifest+json', map: 'application/json', mp4: 'video/mp4',
};

/* A file below a folder, with a validator; pages are asked for each time, assets are fresh for a day. */
function fileOf(folder, target, think) {
	let file = path.join(folder, decodeURIComponent(target.split('?')[0]));
	if (!file.startsWith(folder))
		return undefined;
	if (file.endsWith('/'))
		file += 'index.html';
	const stat = fs.statSync(file, { throwIfNoEntry: false });
	if (!stat?.isFile())
		return undefined;
	const ending = path.extname(file).slice(1);
	const isPage = ending === 'html';
	return {
		status: 200, type: TYPES[ending] ?? 'application/octet-stream', body: fs.readFileSync(file), wait: isPage ? think : 0,
		fields: {
			etag: `"${stat.size}-${stat.mtimeMs}"`, 'last-modified': stat.mtime.toUTCString(),
			'cache-control': isPage ? 'no-cache' : 'public, max-age=86400',
		},
	};
}

const NONE = { status: 404, type: 'text/plain', body: Buffer.from('none'), fields: { 'cache-control': 'no-store' }, wait: 0 };

/* Asks another server for what it is asked for, and gives its answer; calls count(bytes of the body) at the end. */
function passOn(request, response, port, count) {
	const { connection, ...headers } = request.headers;
	const up = http.request({ port, host: '127.0.0.1', path: request.url, method: request.method, headers }, (answer) => {
		let bytes = 0;
		answer.on('data', (chunk) => { bytes += chunk.length; });
		answer.on('end', () => count(bytes));
		response.writeHead(answer.statusCode, Object.fromEntries(Object.entries(answer.headers)
			.filter(([name]) => !['connection', 'keep-alive', 'transfer-encoding'].includes(name))));
		answer.pipe(response);
	});
	up.on('error', () => { count(0); response.destroy(); });
	request.pipe(up);
}

/*
 * sites: {host: {folder | port, think}}, beside the pages of works.mjs. names: its pages have a Link field that names all.
 * Gives {port, take, close}; take() resolves when nothing is under way any more, with what was asked for since the last
 * one: [{path, status, bytes}].
 */
export async function openOrigin({ sites = {}, names = false } = {}) {
	let asked = [], open = 0;
	const server = http.createServer((request, response) => {
		const entry = { path: request.url, status: 0, bytes: 0 };
		asked.push(entry);
		open++;
		response.once('close', () => { open--; });
		const site = sites[request.headers.host?.split(':')[0]];
		if (site?.port)
			return void passOn(request, response, site.port, (bytes) => { entry.bytes = bytes; entry.status = response.statusCode; });
		const answer = (site ? fileOf(site.folder, request.url, site.think) : answerOf(request.url)) ?? NONE;
		const isKnown = answer.fields.etag !== undefined && request.headers['if-none-match'] === answer.fields.etag;
		const fields = { ...answer.fields, 'content-type': answer.type };
		const cell = names && /^\/w\/(\d+)\/(\d+)\/(\d+)\/$/.exec(request.url);
		if (cell)
			fields.link = linksOf({ assets: cell[1], think: cell[2], assetThink: cell[3] }).join(', ');
		const send = () => {
			if (response.destroyed)
				return;
			entry.status = isKnown ? 304 : answer.status;
			entry.bytes = isKnown || request.method === 'HEAD' ? 0 : answer.body.length;
			if (isKnown)
				return void response.writeHead(304, fields).end();
			response.writeHead(answer.status, { ...fields, 'content-length': answer.body.length });
			response.end(request.method === 'HEAD' ? undefined : answer.body);
		};
		if (answer.wait > 0)
			setTimeout(send, answer.wait);
		else
			send();
	});
	server.keepAliveTimeout = 600000;
	server.headersTimeout = server.requestTimeout = 0;
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', 4096, resolve); });
	return {
		port: server.address().port,
		async take() {
			let seen = -1;
			for (let quiet = 0, tries = 0; quiet < 3 && tries < 500; tries++) {
				quiet = open === 0 && asked.length === seen ? quiet + 1 : 0;
				seen = asked.length;
				await new Promise((resolve) => { setTimeout(resolve, 20); });
			}
			const taken = asked;
			asked = [];
			return taken;
		},
		close() {
			server.closeAllConnections();
			return new Promise((resolve) => { server.close(resolve); });
		},
	};
}
