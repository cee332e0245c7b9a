// SPDX-License-Identifier: MIT
// What proxy/markup finds in the heads of generated and mutated pages, cut at random bytes, beside what parse5 finds:
// the same resources in the same order, with the same attributes, and none that parse5 does not see.
// The same of the real pages of this machine, as they are and mutated.
// PARSE5_PAGES: how many (20000); PARSE5_SEED; MARKUP_READ: another tests/bench/markup_read than the release's.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { realPages } from '../support/real_pages.mjs';

const skip = process.env.PUSHGATE_NO_BROWSER === '1' ? 'no npm packages' : false;
const parse5 = skip ? null : createRequire(new URL('../browser/package.json', import.meta.url))('parse5');
const READER = process.env.MARKUP_READ ?? fileURLToPath(new URL('../../build/release/tests/bench/markup_read', import.meta.url));
const PAGE = 'https://www.example.com/dir/page?q=1';
const PAGES = Number(process.env.PARSE5_PAGES ?? 20000);
const USES = { stylesheet: 1, preload: 2, modulepreload: 4, preconnect: 8, script: 16 };
const SCRIPT_TYPES = /^(text\/(x-)?(java|ecma)script|application\/(x-)?(java|ecma)script|text\/(jscript|livescript|javascript1\.[0-5]))$/;
const SPACES = /^[\t\n\f\r ]+|[\t\n\f\r ]+$/g;

let state = Number(process.env.PARSE5_SEED ?? 1);
const below = (n) => {
	state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
	return Math.floor(state / 4294967296 * n);
};
const pick = (list) => list[below(list.length)];

// ---- pages ----

const REFERENCES = ['/a.css', 'b.js', '../c.css', './d/../e.js?x=1&amp;y=2', '?q&copy=1&lt;', '//cdn.example/f.js', 'https://www.example.com/g.css#h', 'HTTP://Other.example:80/i', '', '#top', ' /j.css\n', 'data:,x', '/k k.css', '/l\u00e9.css', '/m&#x2f;n', '/o&sol;p', '/q&notit;r', '/s&para', '/t\\u.js', '/v%2e/w', 'javascript:1', '/x\ty.js', '/&#128;z', '/&am', '/&#0;', "/a'b?c'd", '/{a}^', 'http:x', '///y', '..//x', './/y', '..', '../', '.', 'x/..//y', '.../z', '../../../a/./b', 'https://b.example', 'https://b.example//x', 'https://b.example/../x?y', 'https://www.example.com:443/z', 'https://b.example.', '..a/b', 'x?../y', '?a:b/../c', 'a%20b', 'x:y'];
const RELS = ['stylesheet', 'preload', 'modulepreload', 'preconnect', 'STYLESHEET preload', 'alternate stylesheet', 'icon', 'preload\tnofollow', 'dns-prefetch', 'prefetch'];
const ATTRIBUTES = ['as=script', 'as="style"', "as='font'", 'crossorigin', 'crossorigin=anonymous', 'CrossOrigin="use-credentials"', 'type=text/css', 'type="module"', 'type=importmap', 'type=""', 'type="text/javascript"', 'media="(min-width: 1&#48;px)"', 'media=print', 'async', 'defer=""', 'nomodule', 'disabled', 'fetchpriority=high', 'integrity="sha256-x\r\ny"', 'imagesrcset="a 1x, b 2x"', 'imagesizes="1px"', 'language=javascript', 'data-x="<link rel=stylesheet href=/no.css>"', 'title=\'>\'', '=x', '/', 'x=&gt;', 'href=/second', 'a\0b=c', 'rel=preload', 'onload="a>b"', 'nonce="c2E="'];
const attributes = () => Array.from({ length: below(5) }, () => pick(ATTRIBUTES)).join(pick([' ', '\n', '\t', ' / ', '\r\n']));
const quoted = (text) => pick([`"${text}"`, `'${text.replaceAll("'", '&apos;')}'`, /[\s"'=<>`]/.test(text) || text === '' ? `"${text}"` : text]);
const TEXTS = ['x', '<!--', '-->', '<script>', '</script', '</style', '<link rel=stylesheet href=/no.css>', '<!-', '--', '>', '<', '</', '<!--<script>', '</script >', ' ', '<b>', '&amp;', "'", '"', '</scripty>', '</title/', '\0'];
const text = () => Array.from({ length: below(6) }, () => pick(TEXTS)).join('');
const PARTS = [
	() => `<link rel=${quoted(pick(RELS))} href=${quoted(pick(REFERENCES))} ${attributes()}>`,
	() => `<link ${attributes()} href=${quoted(pick(REFERENCES))} rel=${quoted(pick(RELS))}>`,
	() => `<LINK REL=stylesheet HREF=${quoted(pick(REFERENCES))}/>`,
	() => `<script src=${quoted(pick(REFERENCES))} ${attributes()}>${text()}</script>`,
	() => `<script>${text()}</script>`,
	() => `<script>${text()}</script${pick([' ', '/', '\n'])}x>`,
	() => `<style>${text()}</style>`,
	() => `<title>${text()}</title>`,
	() => `<noscript>${text()}</noscript>`,
	() => `<!--${text()}${pick(['-->', '--!>', '->', '>', '--->', '-- >', '-->'])}`,
	() => pick(['<!>', '<!-->', '<!--->', '<!x>', '<?x>', '</>', '</ x>', '<![CDATA[x]]>', '<!doctype html "a>">', '<!--<!-->', '<!--<!->-->', '<!-- --!-->']),
	() => pick([' ', '\n', '\t', '\r\n', '\f', '&#32;', '&#x20', '&Tab;', '&NewLine;', '&#13;']),
	() => pick(['<meta charset=utf-8>', '<meta name=a content="b>c">', '<bgsound>', '<basefont>', '<html lang=a>', '<head>', '</p>', '</template>', '</noscript>']),
	() => `<base href=${quoted(pick(['/base/', 'https://cdn.example/x/', 'z', '', 'data:,x', '//o.example/?a', '/%2e/', '/|/']))}>`,
	() => pick(['<base>', '<base target=_top>']),
	() => `<template ${attributes()}>${text()}${below(2) ? pick(PARTS)() : ''}</template>`,
	() => pick(['<template><b>x</template>', '<template><svg><style></template></svg></template>', '<template><table><tr><title></template></title></template>', '<template><template></template>', '<template><xmp></template></xmp></template>', '<template><textarea></template></textarea></template>', '<template><select><title></template>']),
];
const ENDS = ['</head>', '<body>', '</body>', 'x', '<p>', '<div>', '</br>', '&nbsp;', '&', '&#x', '<1', '\0', '<svg>', '<frameset>', '<noframes><link rel=stylesheet href=/no.css></noframes>', '</html>', '<table>', '<noscript><link></noscript>'];

function generated() {
	let out = pick(['', '\ufeff', '<!doctype html>', '<!DOCTYPE html>\n<html>\n<head>\n', '<html><head>', '<head>']);
	for (let i = below(12); i > 0; i--)
		out += (below(2) ? PARTS[below(4)] : pick(PARTS))() + (below(15) === 0 ? pick(ENDS) : '');
	return below(2) ? `${out}${pick(ENDS)}${pick(PARTS)()}${pick(PARTS)()}` : out;
}

function mutated(page) {
	for (let i = below(4); i > 0; i--) {
		const at = below(page.length + 1), length = below(8);
		const instead = pick(['', '', '<', '>', '"', "'", '/', '=', '-', '!', '&', ' ', '\0', '&#', ';', 's', page.substr(below(page.length + 1), below(30))]);
		page = page.slice(0, at) + instead + page.slice(at + length);
	}
	return page;
}

// ---- what parse5 finds ----

// What the reader leaves out because browsers and RFC 3986 read it in different ways, or because it is no request.
const UNCLEAR = [
	/[|[\]^]|%(?![0-9a-f]{2})|%2e/i, // characters that are refused
	/\?.*[\\`]/s,
	/^[\0- ]*(?!https?:\/\/)[^/\\?#]*:/i, // a scheme, or a colon in the first segment
	/^[\0- ]*(https?:)?[\t\r\n]*[/\\][\t\r\n]*[/\\][\t\r\n]*[/\\]/i, // no authority
	/^[\0- ]*[\\/][\t\r\n]+[\\/]/,
];
function isUnclear(reference, url) {
	return !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '' || !/^[a-z0-9.-]+(:\d+)?$/.test(url.host) ||
		(url.hostname !== 'www.example.com' && /[^\0-~]/.test(reference)) || UNCLEAR.some((pattern) => pattern.test(reference));
}

function resolved(reference, base) {
	try {
		const url = new URL(reference, base);
		url.hash = '';
		return url;
	} catch {
		return null;
	}
}

function useOfLink(has, get) {
	const rels = (get('rel') ?? '').toLowerCase().split(/[\t\n\f\r ]+/), type = (get('type') ?? '').replace(SPACES, '').toLowerCase();
	let uses = 0;
	if (rels.includes('stylesheet') && !rels.includes('alternate') && !has('disabled') && (type === '' || type.startsWith('text/css')))
		uses |= USES.stylesheet;
	if (rels.includes('preload') && (get('as') ?? '') !== '')
		uses |= USES.preload;
	return uses | (rels.includes('modulepreload') ? USES.modulepreload : 0) | (rels.includes('preconnect') ? USES.preconnect : 0);
}

function useOfScript(has, get) {
	const type = get('type') ?? '', language = get('language') ?? '';
	const name = has('type') ? type === '' ? 'text/javascript' : type.replace(SPACES, '').toLowerCase() : language === '' ? 'text/javascript' : `text/${language}`.toLowerCase();
	if (name === 'module')
		return USES.script;
	return SCRIPT_TYPES.test(name) && !has('nomodule') ? USES.script : 0;
}

function marksOf(uses, has, get) {
	const isModule = (get('type') ?? '').replace(SPACES, '').toLowerCase() === 'module';
	return (uses === USES.script ? (has('async') ? 1 : 0) | (has('defer') ? 2 : 0) | (isModule ? 4 : 0) : 0) | (has('crossorigin') ? 8 : 0) | (has('nonce') ? 32 : 0);
}

function asOf(uses, get) {
	if (uses & USES.script)
		return 'script';
	if (uses & USES.stylesheet)
		return 'style';
	return (get('as') ?? '') === '' && uses & USES.modulepreload ? 'script' : get('as') ?? '';
}

function expected(page) {
	page = page.replace(/^\ufeff/, '');
	const document = parse5.parse(page, { sourceCodeLocationInfo: true });
	const head = document.childNodes.find((n) => n.nodeName === 'html').childNodes.find((n) => n.nodeName === 'head');
	const rows = [];
	let base = new URL(PAGE), isBaseClear = true, hasBase = false, isOver = false;
	for (const node of head.childNodes.filter((n) => ['link', 'script', 'base', 'template'].includes(n.nodeName))) {
		if (node.nodeName === 'template') {
			const { startOffset, endOffset } = node.sourceCodeLocation;
			isOver ||= /<(svg|math|select|col|colgroup|frameset|plaintext)[\s/>]/i.test(page.slice(startOffset, endOffset));
			continue;
		}
		const map = new Map(node.attrs.map((a) => [a.name, a.value]));
		const get = (name) => map.get(name), has = (name) => map.has(name);
		const from = (node.sourceCodeLocation.startTag ?? node.sourceCodeLocation).startOffset;
		const to = (node.sourceCodeLocation.startTag ?? node.sourceCodeLocation).endOffset;
		const isTagUnclear = /&[a-z0-9]+;/i.test(page.slice(from, to).replace(/&(amp|lt|gt|quot|apos|sol|copy|para);/g, ''));
		if (node.nodeName === 'base') {
			if (has('href') && !hasBase) {
				hasBase = true;
				const url = resolved(get('href'), PAGE);
				isBaseClear = url !== null && !isTagUnclear && /^https?:$/.test(url.protocol) && !isUnclear(get('href'), url) && get('href').trim() !== '' && !get('href').trim().startsWith('#');
				if (url && !/^(data|javascript):$/.test(url.protocol))
					base = url;
			}
			continue;
		}
		const uses = node.nodeName === 'link' ? useOfLink(has, get) : useOfScript(has, get);
		const reference = get(node.nodeName === 'link' ? 'href' : 'src') ?? '';
		const url = resolved(reference, base);
		if (uses === 0 || url === null || /^[\0- ]*(#|$)/.test(reference))
			continue;
		const values = [asOf(uses, get), ...['rel', 'type', 'media', 'crossorigin', 'fetchpriority', 'integrity', 'imagesrcset', 'imagesizes'].map((a) => get(a) ?? '')];
		const line = [uses, marksOf(uses, has, get), url.href, ...values.map((v) => Buffer.from(v).toString('hex'))].join('\t');
		rows.push({ line, mayMiss: isOver || isTagUnclear || !isBaseClear || isUnclear(reference, url) });
	}
	return rows;
}

// ---- both ----

function read(pages) {
	const input = pages.map((page) => {
		const text = Buffer.from(page), head = Buffer.alloc(8);
		head.writeUInt32LE(text.length, 0);
		head.writeUInt32LE(below(4294967296), 4);
		return Buffer.concat([head, text]);
	});
	const { status, stdout, stderr } = spawnSync(READER, { input: Buffer.concat(input), maxBuffer: 1 << 30 });
	assert.equal(status, 0, String(stderr));
	return String(stdout).split('.\n').slice(0, -1).map((lines) => lines.split('\n').filter((l) => l !== ''));
}

// Returns how many were found.
function compare(page, found) {
	const rows = expected(page);
	let at = 0;
	for (const { line, mayMiss } of rows)
		if (found[at] === line)
			at++;
		else
			assert.ok(mayMiss, `not found: ${line}\nin ${JSON.stringify(page)}\nfound ${JSON.stringify(found, null, 1)}`);
	assert.equal(at, found.length, `parse5 does not see ${found[at]}\nin ${JSON.stringify(page)}\nwhere it sees ${JSON.stringify(rows, null, 1)}`);
	return at;
}

test('heads of generated and mutated pages have the resources that parse5 sees', { skip }, () => {
	const pages = Array.from({ length: PAGES }, (_, i) => i % 2 ? mutated(generated()) : generated());
	const found = read(pages);
	assert.equal(found.length, pages.length);
	const sum = pages.reduce((n, page, i) => n + compare(page, found[i]), 0);
	assert.ok(sum > PAGES / 2, `only ${sum} resources in ${PAGES} pages`);
});

/* Of each the beginning that is read, in UTF-8. A page that was cut in the middle of a character has no other text. */
const beginning = ({ body }) => {
	const text = body.subarray(0, 65536).toString('utf8').replace(/\ufffd*$/, '');
	return text.includes('\ufffd') ? '' : text;
};

test('heads of real pages have the resources that parse5 sees', { skip }, (t) => {
	const pages = realPages(1000).map(beginning).filter((page) => page !== '');
	const all = [...pages, ...pages.map((page) => mutated(page.slice(0, 4096)))];
	const found = read(all);
	const sum = all.reduce((n, page, i) => n + compare(page, found[i]), 0);
	t.diagnostic(`${pages.length} real pages, ${sum} resources`);
	assert.ok(pages.length > 50 && sum > pages.length / 2, `only ${sum} resources in ${pages.length} pages`);
});
