/* SPDX-License-Identifier: MIT */
/*
 * A site that is far away: each page has ten assets of its own, the origin takes its time for each response, and
 * between browser and pushgate every byte takes its time too. The origin promises the assets of a page as soon as it is
 * asked for it.
 */
import { delay } from '../support/delay.mjs';
import { freePort, section } from '../support/gate.mjs';
import { nodeOrigin } from '../support/node.mjs';
import { browse } from './chromium.mjs';

export const ASSETS = 10;
const ASSET_BYTES = 8000;
export const ORIGIN_MS = 200;
export const WAY_MS = 50;

const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8" fill="red"/></svg>';
const TYPES = {
	css: { type: 'text/css', body: 'body { color: rgb(1, 2, 3); }', tag: (path) => `<link rel=stylesheet href=${path}>` },
	js: { type: 'text/javascript', body: 'document.documentElement.dataset.scripts = Number(document.documentElement.dataset.scripts ?? 0) + 1;', tag: (path) => `<script src=${path} defer></script>` },
	svg: { type: 'image/svg+xml', body: svg, tag: (path) => `<img src=${path} alt=red>` },
};
const ENDINGS = ['css', 'css', 'css', 'js', 'js', 'js', 'svg', 'svg', 'svg', 'svg'];
export const assetsOf = (page) => ENDINGS.map((ending, i) => `/asset/${page}/${i}.${ending}`);

const later = (act) => setTimeout(act, ORIGIN_MS);
const pad = (body, type) => body + (type === 'image/svg+xml' ? `<!--${'x'.repeat(ASSET_BYTES)}-->` : `/*${'x'.repeat(ASSET_BYTES)}*/`);

function html(page) {
	const tags = assetsOf(page).map((path) => TYPES[path.split('.').pop()].tag(path));
	const isImage = (tag) => tag.startsWith('<img');
	return `<!doctype html><html lang=en><head><meta charset=utf-8><title>${page}</title><link rel=icon href=data:,>
${tags.filter((tag) => !isImage(tag)).join('\n')}</head><body><p>text</p>${tags.filter(isImage).join('\n')}</body></html>`;
}

/*
 * pageFields(page), assetFields(path): what their responses have. selects: the fields that a promised request has of its
 * page's request. Gives what the origin was asked for.
 */
export async function originOf(s, port, { pageFields = () => ({}), assetFields = () => ({}), selects = [] }) {
	const asked = [];
	const answerAsset = (stream, path) => {
		const { type, body } = TYPES[path.split('.').pop()];
		stream.respond({ ':status': 200, 'content-type': type, ...assetFields(path) });
		stream.end(pad(body, type));
	};
	await nodeOrigin(s, port, (stream, headers) => {
		const path = headers[':path'];
		const at = (act) => later(() => { if (!stream.destroyed) act(); });
		asked.push({ path, headers });
		if (path.startsWith('/asset/'))
			return void at(() => answerAsset(stream, path));
		const page = path.slice('/page/'.length);
		for (const asset of stream.pushAllowed ? assetsOf(page) : [])
			stream.pushStream({ ':path': asset, ...Object.fromEntries(selects.map((name) => [name, headers[name]])) }, (error, pushed) => {
				if (error)
					return;
				pushed.on('error', () => {});
				later(() => { if (!pushed.destroyed) answerAsset(pushed, asset); });
			});
		at(() => {
			stream.respond({ ':status': 200, 'content-type': 'text/html', 'cache-control': 'no-store', ...pageFields(page) });
			stream.end(html(page));
		});
	});
	return asked;
}

/* Options of a scenario for this site; action: what becomes of its pushes. */
export async function farSite(action) {
	const originPort = await freePort();
	return {
		originPort, tls: true, origins: { main: { server: `h2c://127.0.0.1:${originPort}` } },
		server: { 'status-socket': 'status' }, extra: section('push browsers', { action }),
	};
}

/*
 * Starts origin, relay and browser (with browserArgs, if any). Gives {asked, complaints, visit}; visit(page) resolves
 * with what the page measured: {load, resources: [{path, status, initiator}]}.
 */
export async function open(s, { originPort, browserArgs, ...site }) {
	const asked = await originOf(s, originPort, site);
	const relay = await delay(s.port, WAY_MS);
	s.cleanups.push(() => relay.close());
	const { page, complaints } = await browse(s, browserArgs);
	const measured = () => ({
		load: performance.getEntriesByType('navigation')[0].loadEventEnd,
		resources: performance.getEntriesByType('resource').map((e) => ({
			path: new URL(e.name).pathname, status: e.responseStatus, initiator: e.initiatorType })),
		works: getComputedStyle(document.body).color === 'rgb(1, 2, 3)' && document.documentElement.dataset.scripts === '3'
			&& [...document.images].every((image) => image.naturalWidth === 8),
	});
	return {
		asked, complaints,
		async visit(name) {
			await page.goto(`https://localhost:${relay.port}/page/${name}`, { waitUntil: 'load' });
			await page.waitForFunction(() => performance.getEntriesByType('navigation')[0].loadEventEnd > 0);
			return page.evaluate(measured);
		},
	};
}
