/* SPDX-License-Identifier: MIT */
/*
 * Pages that are made for measuring: /w/ASSETS/PAGE-MS/ASSET-MS/ is a page of so many assets, whose origin takes so long for
 * the page and for each asset. Style sheets name fonts, and modules import modules, up to three deep. Neither the pages nor
 * their responses name anything beforehand: there is no Link field and no preload.
 */
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../support/gate.mjs';

/* How many of each kind a page has. The first module is in the page; modules import the others. */
const SHAPES = {
	5: { css: 1, ttf: 1, js: 0, mjs: 2, svg: 1 },
	30: { css: 3, ttf: 2, js: 8, mjs: 6, svg: 11 },
	100: { css: 6, ttf: 4, js: 30, mjs: 20, svg: 40 },
};
const BYTES = { css: 8000, js: 10000, mjs: 4000, svg: 12000 };
const TYPES = { css: 'text/css', ttf: 'font/ttf', js: 'text/javascript', mjs: 'text/javascript', svg: 'image/svg+xml' };
/* How a link names each kind, in a Link field and in an add list. Of a module the add list says what a preload says. */
const LINKS = {
	css: 'rel=preload; as=style', ttf: 'rel=preload; as=font; crossorigin; type=font/ttf', js: 'rel=preload; as=script',
	mjs: 'rel=modulepreload; as=script', svg: 'rel=preload; as=image',
};
const ADDS = {
	css: 'as=style', ttf: 'as=font type=font/ttf crossorigin=anonymous', js: 'as=script',
	mjs: 'as=script crossorigin=anonymous', svg: 'as=image',
};

const fonts = path.join(ROOT, 'tests/browser/node_modules/playwright-core/lib/vite/traceViewer');
const font = () => fs.readFileSync(path.join(fonts, fs.readdirSync(fonts).find((name) => name.endsWith('.ttf'))));

export const pathOf = ({ assets, think, assetThink = think }) => `/w/${assets}/${think}/${assetThink}/`;

const kindNames = (shape, kind) => Array.from({ length: shape[kind] }, (_, i) => `${i}.${kind}`);
function allNames(assets) {
	const shape = SHAPES[assets];
	return ['css', 'ttf', 'js', 'mjs', 'svg'].flatMap((kind) => kindNames(shape, kind));
}
const kindOf = (name) => name.slice(name.lastIndexOf('.') + 1);

/* The paths of the assets of a cell's page. */
export const namesOf = (cell) => allNames(cell.assets).map((name) => `${pathOf(cell)}${name}`);

/* What an operator would write by hand for the page of a cell. */
export const linksOf = (cell) => allNames(cell.assets).map((name) => `<${pathOf(cell)}${name}>; ${LINKS[kindOf(name)]}`);
export const addsOf = (cell) => allNames(cell.assets).map((name) => `${pathOf(cell)}${name} ${ADDS[kindOf(name)]}`);

function html(assets) {
	const shape = SHAPES[assets];
	const scripts = kindNames(shape, 'js').map((name, i) => `<script src=${name}${i % 3 ? ' defer' : ''}></script>`);
	return `<!doctype html><html lang=en><head><meta charset=utf-8><title>${assets} assets</title><link rel=icon href=data:,>
${kindNames(shape, 'css').map((name) => `<link rel=stylesheet href=${name}>`).join('\n')}
${scripts.join('\n')}
<script type=module src=0.mjs></script></head><body><h1>A page of ${assets} assets</h1>
${kindNames(shape, 'ttf').map((_, i) => `<p class=f${i}>text</p>`).join('\n')}
${kindNames(shape, 'svg').map((name) => `<img src=${name} alt="" width=8 height=8>`).join('\n')}</body></html>`;
}

/* The modules are a tree of which each imports three. */
function imports(shape, i) {
	const children = [3 * i + 1, 3 * i + 2, 3 * i + 3].filter((child) => child < shape.mjs);
	return children.map((child) => `import './${child}.mjs';\n`).join('');
}

function fontFaces(shape, i) {
	return Array.from({ length: shape.ttf }, (_, f) => f).filter((f) => f % shape.css === i)
		.map((f) => `@font-face { font-family: f${f}; src: url(${f}.ttf); font-display: swap }\n.f${f} { font-family: f${f}, sans-serif }\n`).join('');
}

function body(shape, name) {
	const kind = kindOf(name), i = parseInt(name, 10);
	if (kind === 'ttf')
		return font();
	if (kind === 'svg')
		return `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8" fill="red"/><!--${'x'.repeat(BYTES.svg)}--></svg>`;
	const text = { css: () => fontFaces(shape, i), js: () => 'window.ran = (window.ran ?? 0) + 1;', mjs: () => imports(shape, i) }[kind]();
	return `${text}/*${'x'.repeat(BYTES[kind])}*/`;
}

const made = new Map();
const once = (key, make) => {
	if (!made.has(key))
		made.set(key, Buffer.from(make()));
	return made.get(key);
};

/* What the origin answers a path with: {status, type, body, fields, wait}, or undefined if the path is none of these pages. */
export function answerOf(target) {
	const [, assets, page, asset, name] = /^\/w\/(\d+)\/(\d+)\/(\d+)\/([\w.]*)$/.exec(target) ?? [];
	if (!SHAPES[assets])
		return undefined;
	if (name === '')
		return { status: 200, type: 'text/html', body: once(`page ${assets}`, () => html(assets)), fields: { 'cache-control': 'no-cache' }, wait: Number(page) };
	if (!allNames(assets).includes(name))
		return { status: 404, type: 'text/plain', body: Buffer.from('none'), fields: {}, wait: 0 };
	return {
		status: 200, type: TYPES[kindOf(name)], body: once(`${assets} ${name}`, () => body(SHAPES[assets], name)),
		fields: { 'cache-control': 'public, max-age=86400', etag: `"${assets}-${name}"` }, wait: Number(asset),
	};
}
