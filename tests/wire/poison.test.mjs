/* SPDX-License-Identifier: MIT */
/*
 * What must teach the memory of pages nothing: what clients said themselves, what is one client's alone, and pages that were
 * made to cost something. Each attack is played beside a page that honest clients load.
 */
import assert from 'node:assert/strict';
import { scenario } from '../support/gate.mjs';
import { css, hintedByAll, hinting, html, load, look, remembered } from '../support/pages.mjs';

/* One worker: its lessons come to the memory in order, so what came before the last page has had its effect. */
const poison = (name, serve, body) => scenario(name, hinting({ server: { workers: 1 }, serve }), async (s) => {
	await body(s);
	assert.equal(s.gate.read('error.log').match(/was killed|malformed/g), null);
});

async function clients(s, from, to, path, fields = () => ({})) {
	for (let c = from; c <= to; c++)
		await load(s, c, path, fields(c));
}
let pages = 0;
/* All that was loaded before has been learned now. The page has a style sheet of its own. */
async function settle(s) {
	const page = `/last${pages++}`;
	await clients(s, 250, 251, page);
	await hintedByAll(s, page, [`${page}.css`]);
}
const isLast = (request) => request.url.startsWith('/last');
const last = (request, response) => html(response, [css(`${request.url}.css`)]);
const withLast = (serve) => (request, response) => (isLast(request) ? last : serve)(request, response);
const page = (...links) => `<!doctype html><html><head>${links.map((l) => `<link rel=stylesheet href="${l}">`).join('')}</head><body>x`;

// covers: P-src-remembered-poison
poison('a query that the page reflects', withLast((request, response) => {
	const said = new URL(request.url, 'http://x').searchParams.get('utm_source');
	html(response, [css('/site.css'), ...(said ? [css(said)] : [])], {}, page('/head.css', ...(said ? [said] : [])));
}), async (s) => {
	await clients(s, 1, 3, '/p');
	/* Plain, encoded, and of many clients at once. */
	for (const said of ['https://evil.example/x.css', '%2Fevil%2Fx.css', '/e%76il/y.css'])
		await clients(s, 11, 22, `/p?utm_source=${said}`);
	await settle(s);
	for (const asked of ['/p', '/p?utm_source=mail'])
		assert.deepEqual((await look(s, asked)).hinted.sort(), ['/head.css', '/site.css']);
	assert.doesNotMatch(remembered(s).join(), /evil/);
});

for (const field of ['x-forwarded-host', 'x-original-url', 'user-agent', 'accept-language', 'x-cdn'])
	poison(`a field that the page reflects: ${field}`, withLast((request, response) => {
		const said = request.headers[field];
		const links = /evil/.test(said ?? '') ? [`https://${said}/x.css`, `/${said}.css`] : [];
		html(response, [css('/site.css'), ...links.map(css)], {}, page('/head.css', ...links));
	}), async (s) => {
		await clients(s, 1, 3, '/p');
		await clients(s, 11, 30, '/p', () => ({ [field]: 'evil.example' }));
		await settle(s);
		assert.deepEqual((await look(s, '/p')).hinted.sort(), ['/head.css', '/site.css']);
	});

poison('one client that asks a thousand times', withLast((request, response) => {
	html(response, request.headers.cookie ? [css('/evil.css')] : [css('/site.css')], request.url === '/private' ? { 'cache-control': 'private' } : {});
}), async (s) => {
	await load(s, 9, '/p', { cookie: 'a=1' }, 500);
	await load(s, 9, '/private', { cookie: 'a=1' }, 500);
	await settle(s);
	assert.deepEqual((await look(s, '/p')).hinted, []);
	assert.deepEqual((await look(s, '/private')).hinted, []);
	/* Nor does it undo what others got. */
	await clients(s, 1, 4, '/p');
	await load(s, 9, '/p', { cookie: 'a=1' }, 200);
	await settle(s);
	assert.deepEqual((await look(s, '/p')).hinted, ['/site.css']);
});

const user = (request) => /user=(\w+)/.exec(request.headers.cookie ?? '')?.[1];
poison('private pages, and names of users in paths', withLast((request, response) => {
	const name = user(request) ?? 'nobody';
	html(response, [css('/site.css'), css(`/users/${name}.css`), css(`/t/theme.css?of=${name}`)], { 'cache-control': 'private', 'set-cookie': `seen=${name}` },
		page('/head.css', `/u/${name}/photo.css`, 'https://cdn.example/c.css'));
}), async (s) => {
	await clients(s, 1, 2, '/home', (c) => ({ cookie: `user=alice${c}` }));
	/* The same visitor from many addresses. */
	await clients(s, 101, 120, '/home', () => ({ cookie: 'user=mallory' }));
	await settle(s);
	for (const cookie of ['user=alice1', 'user=bernd', ''])
		assert.deepEqual((await look(s, '/home', { cookie })).hinted.filter((h) => /alice|mallory|of=|cdn/.test(h)), []);
	await clients(s, 3, 9, '/home', (c) => ({ cookie: `user=alice${c}` }));
	await settle(s);
	assert.deepEqual((await look(s, '/home', { cookie: 'user=bernd' })).hinted.sort(), ['/head.css', '/site.css']);
});

poison('logged-in and logged-out variants', withLast((request, response) => {
	html(response, [css('/site.css'), css(user(request) ? '/members.css' : '/welcome.css')], { vary: 'Cookie' });
}), async (s) => {
	await clients(s, 1, 4, '/', (c) => ({ cookie: `user=anna${c}` }));
	await clients(s, 11, 14, '/');
	await settle(s);
	assert.deepEqual((await look(s, '/')).hinted.sort(), ['/site.css', '/welcome.css']);
	assert.deepEqual((await look(s, '/', { cookie: 'user=other' })).hinted.sort(), ['/members.css', '/site.css']);
});

let visits = 0;
poison('an experiment with two arms', withLast((request, response) => {
	html(response, [css('/site.css'), css(visits++ % 2 ? '/arm-a.css' : '/arm-b.css')]);
}), async (s) => {
	await clients(s, 1, 12, '/');
	await settle(s);
	assert.deepEqual((await look(s, '/')).hinted, ['/site.css']);
});

/* ---- pages that cost ---- */

const links = (count) => Array.from({ length: count }, (_, i) => `/many/${i}.css`);
const costly = {
	'/links': page(...links(10_000)),
	'/attributes': `<!doctype html><head><link rel=stylesheet href=/site.css ${'data-x="'}${'y'.repeat(1 << 20)}" media=print><link rel=stylesheet href=/behind.css>`,
	'/many-attributes': `<!doctype html><head><link ${Array.from({ length: 100_000 }, (_, i) => `a${i}=b`).join(' ')} rel=stylesheet href=/site.css>`,
	'/comment': `<!doctype html><head><!-- <link rel=stylesheet href=/inside.css> ${'- '.repeat(50_000)}<link rel=stylesheet href=/inside2.css>`,
	'/script': `<!doctype html><head><script>"<link rel=stylesheet href=/inside.css>"${'<!--<script>'.repeat(20_000)}`,
	'/nested': `<!doctype html><head>${'<template>'.repeat(20_000)}<link rel=stylesheet href=/inside.css>`,
};
poison('pages with ten thousand links, a megabyte of attributes, or a comment without an end', withLast((request, response) => {
	html(response, request.url === '/fields' ? [links(300).map(css).join(', ')] : [], {}, costly[request.url] ?? '');
}), async (s) => {
	for (const asked of [...Object.keys(costly), '/fields'])
		for (let c = 1; c <= 4; c++) {
			/* Another client is served meanwhile. */
			const [got, other] = await Promise.all([load(s, c, asked), load(s, 100 + c, '/lasting')]);
			assert.deepEqual([got.status, got.body, other.status], [200, costly[asked] ?? '', 200]);
		}
	await settle(s);
	for (const asked of [...Object.keys(costly), '/fields'])
		assert.deepEqual([asked, (await look(s, asked)).hinted], [asked, []]);
});
