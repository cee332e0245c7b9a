/* SPDX-License-Identifier: MIT */
/*
 * What is kept on behalf of clients: held responses and who may have them, what a client is known to have, what is remembered of pages,
 * and what is written down. Here the origin, evil.test, does its part; it is the clients that mean harm.
 */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { frame } from '../../support/frames.mjs';
import { Evil, fields, head, page, promise, promised } from '../evil.mjs';
import { callers } from '../caller.mjs';
import { SCALE } from '../../support/peer.mjs';
import { sleep } from '../raw.mjs';

/* ---- origins ---- */

const FRESH = { ':status': '200', 'cache-control': 'max-age=60' };
const RESOURCES = 20;
const resource = (n) => `/r/${n}`;

/* Each request is answered with a page, and `count` resources are pushed with it, each by make(its id). */
const pushing = (make, count = RESOURCES) => (line, id) => {
	const ids = Array.from({ length: line.takesPushes ? count : 0 }, () => promised(line));
	line.send(Buffer.concat([...ids.map((p, n) => promise(id, p, resource(n))), page(id, fields(FRESH)), ...ids.map(make)]), 0);
};
const whole = (bytes, body = 'x') => (id) => page(id, bytes, body);
/* Begun, and never at its end. */
const half = (id) => Buffer.concat([head(id, fields(FRESH)), frame('DATA', 0, id, Buffer.from('x'))]);
let serial = 0;
const answering = (make) => (line, id) => line.send(page(id, fields(make(++serial))), 0);

/* ---- clients ---- */

const evil = (env) => ({ ...env, authority: 'evil.test' });
const all = Array.from({ length: RESOURCES }, (_, n) => ({ path: resource(n) }));
const quiet = { settings: { enablePush: 0 } };

/* A page, after which its resources are held, and then turn(caller, n). */
const again = (count, turn, options = quiet) => (env, clock) => callers(evil(env), clock, count, async (c) => {
	for (let n = 0; c.mayAsk && clock.goesOn; n++) {
		await c.ask([{ path: `/page/${n}` }]);
		await c.rest();
		await turn(c, n);
		await c.rest();
	}
}, options);

/* One request for a resource in each way that an answer may depend on. */
const ways = (n) => [
	{}, { cookie: `user=${n}` }, { authorization: `Basic ${n}` }, { range: 'bytes=0-0' }, { 'if-none-match': `"${n}"` }, { 'if-none-match': '"v1"' },
	{ 'if-match': `"${n}"` }, { 'if-modified-since': 'Sun, 06 Nov 1994 08:49:37 GMT' }, { 'cache-control': 'no-cache' },
	{ 'cache-control': `max-age=${n}, min-fresh=${n % 7}` }, { 'accept-encoding': `x-${n}` }, { 'accept-language': `x-${n}` },
	{ 'user-agent': 'u'.repeat(n % 4000) }, { method: 'HEAD' }, { method: 'POST' }, { 'if-none-match': Array.from({ length: 900 }, (_, i) => `"${i}"`).join(',') },
	{ vary: '*', cookie: Array.from({ length: 300 }, (_, i) => `c${i}=${n}`).join('; ') },
].map((extra, i) => ({ path: resource(i), ...extra }));
const VARIED = { ...FRESH, etag: '"v1"', 'last-modified': 'Mon, 07 Nov 1994 08:49:37 GMT',
	vary: 'cookie, accept-encoding, accept-language, user-agent, origin, x-one, x-two, x-three' };

/* A visit: a page like no other, and what belongs to it. */
const visiting = (env, clock) => callers(evil(env), clock, 8, async (c, life) => {
	for (let n = 0; n < 50 && c.mayAsk && clock.goesOn; n++) {
		const name = `/${life}/${n}/${Math.random()}`;
		await c.ask([{ path: name, 'sec-fetch-mode': 'navigate' }]);
		await c.rest();
		await c.ask(Array.from({ length: 40 }, (_, i) => ({ path: `${name}/${i}${'x'.repeat(i * 50)}`, referer: `http://evil.test${name}` })));
		await c.rest();
	}
}, quiet);

/* Bytes that a log has to do something about; some of them no request may have. */
const ODD = ['"', '\\', '\\"', '\\u0000', '</script>', '\x01', '\x1b[31m', '\x7f', '\x80\x9f', '\xff\xfe', '\xc3\xa9', '\xed\xa0\x80', '\xf0\x9f\x98\x80', '\u0000',
	'\xc3', ' { "a": 1 } ', '\r\n{}', '%00%0a', 'x'.repeat(15000), '"'.repeat(15000), '\xff'.repeat(15000)];
const odd = ODD.flatMap((text) => [
	{ path: `/${text}` }, { path: '/', 'user-agent': text }, { path: '/', referer: text }, { path: '/', cookie: text },
	{ path: '/', method: text }, { path: '/', [':authority']: `evil.test:${text}` }, { path: '/', [':scheme']: text },
]);
/* Over many connections: those that are malformed cost a fault each, of which each may have so many. */
const writing = (env, clock) => {
	let next = 0;
	clock.needs(() => next >= 2 * odd.length);
	return callers(evil(env), clock, 8, async (c) => {
		for (let n = 0; n < odd.length && c.mayAsk && clock.goesOn; n++) {
			await c.ask([odd[next++ % odd.length]]);
			await c.rest(200);
		}
	}, quiet);
};

/* ---- rows ---- */

/* On a slow machine they may not be fast enough to be told so. */
function calm(result) {
	const others = Object.keys(result.ends).filter((word) => !['open', 'closed', 'GOAWAY ENHANCE_YOUR_CALM reset-flood'].includes(word));
	return others.length > 0 ? `ends that should not be: ${others}` : undefined;
}

/* Everything that is pushed is held: it is new to the client each time, and what is refused as a double counts for nothing. */
const hold = {
	server: { 'diary-entries': 0, 'reset-rate': 1000000, 'promise-refusals': 1000000 }, rules: '[push keep]\naction = hold\n', by: 'client',
	listen: (env) => new Evil(pushing(whole(fields(FRESH)))).listen(env.evil),
};
function diaryCookie(dir) {
	const key = path.join(dir, 'diary.key');
	fs.writeFileSync(key, crypto.randomBytes(32));
	return { 'diary-cookie': 'seen', 'diary-cookie-key': key };
}
const serve = (make) => ({ by: 'client', listen: (env) => new Evil(answering(make)).listen(env.evil) });

export const kept = [
	{
		...hold, name: 'held: claimed', what: 'everything that is held, again and again: what it is for',
		attack: again(8, (c) => c.ask(all)),
		expect: { counters: ['holds_claimed'], cpu: 100 },
	},
	{
		...hold, name: 'held: claimed and cancelled', what: 'everything that is held, each request taken back at once',
		attack: again(8, (c) => c.ask([...all, ...all, ...all], { isCancelled: true })),
		expect: { end: ['GOAWAY ENHANCE_YOUR_CALM reset-flood', 'closed'], counters: ['pushes_held'], cpu: 40 },
	},
	{
		...hold, name: 'held: joined and cancelled', what: 'pushes that do not come to their end are joined, and left when their heads have come',
		listen: (env) => new Evil(pushing(half)).listen(env.evil),
		attack: again(8, async (c) => { await c.ask(all); await c.rest(20); await c.cancel(); }),
		expect: { end: null, counters: ['pushes_held'], cpu: 80, judge: calm },
	},
	{
		...hold, name: 'held: claimed in all ways', what: 'with other cookies, ranges, conditions and languages than those that it was held for',
		listen: (env) => new Evil(pushing(whole(fields(VARIED)))).listen(env.evil),
		attack: again(8, (c, n) => c.ask(ways(n))),
		expect: { counters: ['holds_claimed', 'holds_missed'], cpu: 500 },
	},
	{
		...hold, name: 'held: claimed and not taken', what: 'large responses claimed with a window of 0, and left there',
		listen: (env) => new Evil(pushing(whole(fields(FRESH), Buffer.alloc(16384, 'x')))).listen(env.evil),
		attack: again(16, async (c) => { await c.ask(all); await sleep(100); await c.cancel(); }, { settings: { enablePush: 0, initialWindowSize: 0 } }),
		expect: { end: null, counters: ['pushes_held'], cpu: 150, judge: calm },
	},
	{
		...hold, name: 'held: left', what: 'pages by the second, and nothing of what is held for them is asked for',
		attack: (env, clock) => callers(evil(env), clock, 16, async (c) => { await c.ask([{ path: '/page' }]); await c.rest(); }, quiet),
		expect: { counters: ['holds_expired'], cpu: 2000 },
	},
	{
		...hold, name: 'held: invalidated', what: 'POST as fast as it is answered, while something is held for each of 800 other connections',
		ms: 4000, rounds: 1,
		listen: (env) => new Evil(pushing(whole(fields(FRESH)), 1)).listen(env.evil),
		attack: async (env, clock) => {
			let held = 0, posted = 0;
			/* What the connections cost is little beside so many. */
			clock.needs(() => posted >= 50);
			const holders = callers(evil(env), clock, 800, async (c) => {
				await c.ask([{ path: '/page' }]);
				await c.rest(10000 * SCALE);
				held++;
				while (!c.over && clock.goesOn)
					await Promise.race([c.gone, sleep(100)]);
			}, quiet);
			while (held < 800 && clock.goesOn)
				await sleep(20);
			const tally = await callers(evil(env), clock, 2, async (c) => {
				while (c.mayAsk && clock.goesOn) {
					await c.ask(all.map((_, n) => ({ path: `/form/${n}`, method: 'POST' })));
					await c.rest();
					posted++;
				}
			}, quiet);
			await holders;
			return tally;
		},
		expect: { counters: ['pushes_held'], cpu: 200 },
	},
	{
		...serve((n) => ({ ...FRESH, etag: `"${n}"` })), name: 'diary: other resources', what: 'no resource twice, each with an ETag of its own',
		server: diaryCookie,
		attack: again(8, (c, n) => c.ask(Array.from({ length: 50 }, (_, i) => ({ path: `/d/${n}/${i}/${Math.random()}` })))),
		expect: { cpu: 200 },
	},
	{
		...serve((n) => ({ ...FRESH, etag: `"${n}"` })), name: 'diary: other versions', what: 'the same resources, another ETag each time',
		attack: again(8, (c) => c.ask([...all, ...all])),
		expect: { cpu: 200 },
	},
	{
		...serve(() => FRESH), name: 'diary: forged cookies', what: 'a diary of made-up bytes with each request',
		server: diaryCookie,
		attack: again(8, (c, n) => c.ask(all.map((wanted, i) => ({ ...wanted, 'sec-fetch-mode': 'navigate',
			cookie: [`seen=${Buffer.alloc(600, `${n}${i}`).toString('base64url')}`, `seen=${'A'.repeat(3000)}`, 'seen='.repeat(500)][i % 3] })))),
		expect: { cpu: 200 },
	},
	{
		...serve(() => FRESH), name: 'remembered: pages made up', what: 'pages that nobody else looks at, with forty resources each',
		rules: '[preload all]\nremembered = apply\n',
		attack: visiting,
		expect: { cpu: 200, rss: 48 }, /* the memory may have 32 MiB */
	},
	{
		...serve(() => FRESH), ms: 2000, name: 'log: odd values', what: 'quotes, controls, 8-bit bytes and huge values wherever a request has any',
		attack: writing,
		expect: { resets: ['PROTOCOL_ERROR'], cpu: 500, judge: (r, out) => (out.lines.cut > 0 && out.lines.escaped > 0 ? undefined : `of the values in the log ${out.lines.cut} were cut, ${out.lines.escaped} escaped`) },
	},
];
