/* SPDX-License-Identifier: MIT */
/*
 * The longest texts that a client may send, against patterns of rules: one request takes little of the worker's time, and
 * what could not be compared opens nothing. Over HTTP/1.1 and HTTP/2. tests/bench/long_inputs.mjs measures all options.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { forward } from '../support/forward.mjs';
import { scenario, section, until } from '../support/gate.mjs';
import { connect1, recordingOrigin, response } from '../support/http1.mjs';

const LONG = 59000;
const fill = (text) => text.repeat(LONG / text.length + 1).slice(0, LONG);

/* The status of one request, over either version. */
const ask = {
	async '1.1'(s, path, fields = [], host = 'a.test') {
		const client = await connect1(s.port);
		s.cleanups.push(() => client.close());
		client.request('GET', path, [['host', host], ...fields]);
		return (await client.response()).status;
	},
	async 2(s, path, fields = [], host = 'a.test') {
		const client = await s.connect();
		client.headers(1, [[':method', 'GET'], [':scheme', 'http'], [':authority', host], [':path', path], ...fields], { endStream: true, split: path.length + JSON.stringify(fields).length > 16000 ? [16000, 16000, 16000] : [] });
		return (await client.response(1)).status;
	},
};

/* Processor time of the process, in ms. The bounds are a multiple of what is needed, and a part of what was taken before. */
const spent = (s) => Number(fs.readFileSync(`/proc/${s.gate.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
const SCALE = /asan/.test(process.env.PUSHGATE ?? '') ? 20 : 1;
async function within(s, ms, request) {
	const before = spent(s);
	const result = await request();
	const took = spent(s) - before;
	assert.ok(took < ms * SCALE, `${took.toFixed(1)} ms of processor time`);
	return result;
}

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const ANSWERS = { origins: false, routes: section('route main', { answer: 204 }) };

// covers: R476
for (const version of Object.keys(ask)) {
	scenario(`a path that 998 patterns cannot search is denied, and a usual one is not (HTTP/${version})`, {
		...ANSWERS,
		listen: { access: 'a' },
		extra: section('access a', { deny: times(998, (i) => `path=*aaaa${i}aab*`), allow: 'all' }),
	}, async (s) => {
		assert.equal(await ask[version](s, '/short'), 204);
		assert.equal(await ask[version](s, `/${'a'.repeat(500)}`), 204);
		assert.equal(await within(s, 60, () => ask[version](s, `/${fill('a')}`)), 403);
		assert.equal(await ask[version](s, '/aaaa7aab/x'), 403);
	});

	scenario(`hosts of 998 rules are found at once, however many labels the client writes (HTTP/${version})`, {
		...ANSWERS,
		listen: { access: 'a' },
		extra: section('access a', { deny: times(998, (i) => `host=${times(20, (j) => `*.a.a.h${i}-${j}.example`)}`), allow: 'all' }),
	}, async (s) => {
		const host = `${'a.'.repeat(115)}h7-3.example`;
		assert.equal(await ask[version](s, '/', [], 'x.a.a.h8-19.example'), 403);
		assert.equal(await ask[version](s, '/', [], 'a.a.h8-19.example'), 204);
		assert.equal(await ask[version](s, '/', [], host), 403);
		assert.equal(await within(s, 20, () => ask[version](s, '/', [], host.replace('h7', 'x7'))), 204);
	});

	scenario(`a route whose patterns cannot be compared with a field is not taken (HTTP/${version})`, {
		origins: false,
		routes: section('route costly', { field: 'X-E: ~^/(a+)+(b|c)', answer: 201 })
			+ times(200, (i) => section(`route r${i}`, { field: `X-T: *aaaa${i}aab*`, answer: 202 })).join('')
			+ section('route named', { field: 'X-N', answer: 203 }) + section('route main', { answer: 204 }),
	}, async (s) => {
		assert.equal(await ask[version](s, '/', [['x-t', 'aaaa99aab']]), 202);
		assert.equal(await within(s, 60, () => ask[version](s, '/', [['x-t', fill('a')]])), 204);
		assert.equal(await ask[version](s, '/', [['x-t', fill('a')], ['x-n', '1']]), 203);
		assert.equal(await ask[version](s, '/', [['x-e', '/aab']]), 201);
		assert.equal(await within(s, 60, () => ask[version](s, '/', times(900, () => ['x-e', `/${'a'.repeat(30)}`]))), 204);
	});
}

/* The same through a forward proxy: to the first destination of the test. */
const askThrough = {
	'1.1': (s, path, fields) => ask['1.1'](s, `${s.http}${path}`, fields, new URL(s.http).host),
	2: (s, path, fields) => ask[2](s, path, fields, new URL(s.http).host),
};

// covers: R476
for (const version of Object.keys(ask)) {
	const seen = [];
	forward(`forward mode: a path that 998 patterns cannot search is denied, and a usual one is not (HTTP/${version})`, {
		serve(request, response) {
			seen.push(request.url);
			response.end();
		},
		rules: (s) => [...times(998, (i) => `deny = path=*aaaa${i}aab*`), `allow = address=127.0.0.0/8 port=${s.ports.h1}`],
	}, async (s) => {
		const usual = ['/short', `/${'a'.repeat(500)}`];
		for (const path of usual)
			assert.equal(await askThrough[version](s, path), 200);
		assert.equal(await within(s, 60, () => askThrough[version](s, `/${fill('a')}`)), 403);
		assert.equal(await askThrough[version](s, '/aaaa7aab/x'), 403);
		assert.deepEqual(seen, usual);
	});
}

/* A page with 100 links behind the rules. */
const links = times(100, (i) => `</${'a'.repeat(30)}/${i}>; rel=preload; as=style`).join(', ');
const behind = (rules) => section('preload all', { link: 'yes' }) + rules + section('push all', { action: 'hint', 'hint-clients': 'all' });
const page = (rules) => ({
	prepare: async (s) => {
		s.origin = await recordingOrigin({ respond: (m, c) => c.send(response(200, [['link', links]], { body: 'page' })) });
		s.cleanups.push(() => s.origin.close());
		s.options.origins = { main: { server: `http://127.0.0.1:${s.origin.port}` } };
	},
	extra: behind(rules),
});
/* The reasons of the 100 offers of the n-th page, which come too late to be hinted. */
async function reasons(s, n = 1) {
	const lines = () => s.gate.accessLines().filter((l) => l.source === 'link' && l.push);
	await until('100 lines of offers', () => lines().length >= 100 * n);
	const count = {};
	for (const { reason } of lines().slice(100 * (n - 1)))
		count[reason] = (count[reason] ?? 0) + 1;
	return count;
}

// covers: R477
for (const version of Object.keys(ask)) {
	scenario(`a long User-Agent is compared once for all links of a page (HTTP/${version})`,
		page(times(4, (i) => section(`push r${i}`, { 'user-agent': `*Googlebot/${i}*`, type: 'style', action: 'drop' })).join('')), async (s) => {
			const agent = fill('Googlebot-');
			assert.equal(await within(s, 15, () => ask[version](s, '/', [['user-agent', agent]])), 200);
			assert.deepEqual(await reasons(s), { 'hint-late': 100 });
			await ask[version](s, '/', [['user-agent', `x Googlebot/3.1 ${agent}`]]);
			assert.deepEqual(await reasons(s, 2), { rule: 100 });
			/* Behind its first 2,048 bytes nothing counts. */
			await ask[version](s, '/', [['user-agent', `${agent}Googlebot/3.1`]]);
			assert.deepEqual(await reasons(s, 3), { 'hint-late': 100 });
		});

	const costly = section('push costly', { 'promised-path': '~^/(a+)+(b|c)', action: 'drop' });
	const shares = async (s, asking) => {
		assert.equal(await within(s, 40, () => asking[version](s, '/')), 200);
		const { 'match-limit': limited, 'hint-late': late } = await reasons(s);
		assert.ok(limited > 90, `${limited} of 100`);
		assert.equal(late ?? 0, 100 - limited);
	};
	scenario(`the links of a page share what an expression may cost (HTTP/${version})`, page(costly), (s) => shares(s, ask));

	forward(`forward mode: the links of a page share what an expression may cost (HTTP/${version})`, {
		extra: behind(costly),
		serve(request, response) {
			response.writeHead(200, { link: links }).end('page');
		},
	}, (s) => shares(s, askThrough));
}
