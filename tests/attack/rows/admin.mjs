/* SPDX-License-Identifier: MIT */
/*
 * Clients of an admin listener that mean harm: they come in masses, do not read, open streams of events, ask long questions,
 * name hosts that are not ours. The honest client asks the other listener, and someone scrapes /metrics beside them.
 */
import http from 'node:http';
import { frame, u32 } from '../../support/frames.mjs';
import { ask, plains } from '../plain.mjs';
import { Raw, Tally, addressOf, request, sleep } from '../raw.mjs';

const LIMIT = '1s';
const MS = 2500;
const row = (name, what, { admin = {}, ...more }) => ({ name: `admin: ${name}`, what, admin, ...more });
const there = (env) => ({ ...env, port: env.admin, authority: `localhost:${env.admin}` });
const CANCEL = u32(8);

/* Whoever watches over the gate: the status of /metrics, or why there is none. */
const scrape = (env) => new Promise((resolve) => {
	const r = http.get({ port: env.admin, host: '127.0.0.1', path: '/metrics', agent: false }, (response) => {
		response.resume().on('end', () => resolve(response.statusCode)).on('error', (error) => resolve(error.code));
	}).on('error', (error) => resolve(error.code));
	r.setTimeout(5000, () => r.destroy());
});

/* The attack, with a scrape each 100 ms. */
const scraped = (attack) => async (env, clock) => {
	const scrapes = {};
	let isOver = false;
	const watch = (async () => {
		do {
			const status = await scrape(env);
			scrapes[status] = (scrapes[status] ?? 0) + 1;
			await sleep(100);
		} while (!isOver);
	})();
	const tally = await attack(there(env), clock);
	isOver = true;
	await watch;
	return { ...tally, scrapes };
};
const wellScraped = ({ scrapes }) => (scrapes[200] > 0 && Object.keys(scrapes).length === 1 ? null : `scrapes: ${JSON.stringify(scrapes)}`);

/* Requests of one connection after the other's answer, each with another target. */
const asks = (count, target, more = {}) => scraped((env, clock) => plains(env, clock, count, async (c, i) => {
	for (let n = 0; !c.over && clock.goesOn; n++)
		await c.call(ask(env, target(n, i), more));
}));

/* `count` connections that ask for the same, `times` at once, and stay. */
const stays = (count, target, times, options) => scraped((env, clock) => plains(env, clock, count, async (c) => {
	await c.send(Buffer.concat(Array.from({ length: times }, () => ask(env, target))), times);
	for (let n = 0; n < times; n++)
		c.asked.push({ method: 'GET', version: 'HTTP/1.1' });
	while (!c.over && clock.goesOn)
		await Promise.race([c.gone, sleep(50)]);
}, { lives: 1, ...options }));

/* `count` connections of HTTP/2 with `width` requests each; then(c, env, id) is sent behind each, and a window that stays shut. */
const streams = (count, width, path, { settings, then } = {}) => scraped(async (env, clock) => {
	const tally = new Tally();
	await Promise.all(Array.from({ length: count }, async (_, i) => {
		do {
			const c = new Raw(env, { from: addressOf(i), settings });
			await c.begin();
			for (let id = 1; id < 2 * width && !c.over && clock.goesOn; id += 2)
				await c.send(Buffer.concat([request(env, id, { path }), ...(then ? [then(id)] : [])]), then ? 2 : 1);
			while (!then && !c.over && clock.goesOn)
				await Promise.race([c.gone, sleep(50)]);
			await Promise.race([c.gone, sleep(300)]);
			await c.close();
			tally.add(c);
		} while (then && clock.goesOn);
	}));
	return tally;
});

const LONG = 'x'.repeat(6000);
const QUERIES = [
	(n) => `/api/pages?${`host=${n}&`.repeat(600)}path=${LONG}`,
	() => `/api/pages?verdict=${LONG}`,
	() => `/api/har?path=${'%41'.repeat(2000)}`,
	(n) => `/api/explain?url=http%3A%2F%2Flocalhost%2F${LONG.slice(0, 1900)}${n}&promise=%2F${LONG.slice(0, 1900)}`,
	(n) => `/api/explain?url=${'%25'.repeat(2000)}${n}`,
	(n) => `/api/pages/${n}${LONG}.har`,
	() => `/${LONG}`,
];
const HOSTS = ['evil.test', '127.0.0.1.evil.test', 'localhost.evil.test', '0x7f.1', 'xn--localhost', `${'a.'.repeat(100)}test`];

export const admin = [
	row('more than max-connections', '400 connections to an admin listener that may have 100', {
		admin: { 'max-connections': 100 },
		attack: (env, clock) => plains(there(env), clock, 400, async (c) => {
			await c.send(Buffer.from('GET /'), 1);
			while (!c.over && clock.goesOn)
				await Promise.race([c.gone, sleep(50)]);
		}, { lives: 1 }),
		expect: { end: ['closed'], counters: ['pushgate_connections_refused_total{cause="max-connections"}'] },
	}),
	row('/metrics that nobody reads', '200 connections, each of which asks for it a hundred times and reads nothing', {
		covers: 'R240', ms: MS, admin: { 'write-timeout': LIMIT },
		attack: stays(200, '/metrics', 100, { reads: false }),
		expect: { end: null, counters: ['pushgate_connection_timeouts_total{side="client",timeout="write-timeout"}'], rss: 64,
			judge: ({ scrapes }) => (scrapes[200] > 0 ? null : `scrapes: ${JSON.stringify(scrapes)}`) },
	}),
	row('windows that stay shut', '400 requests for /metrics and a window of 0', {
		ms: MS, admin: { 'write-timeout': LIMIT },
		attack: streams(4, 100, '/metrics', { settings: { initialWindowSize: 0 } }),
		expect: { end: null, resets: ['CANCEL', 'REFUSED_STREAM'],
			judge: ({ scrapes }) => (scrapes[200] > 0 ? null : `scrapes: ${JSON.stringify(scrapes)}`) },
	}),
	row('streams of events', '300 of them; those above the limit are refused, and /metrics goes on', {
		ms: MS, attack: stays(300, '/events', 1),
		expect: { statuses: ['503', '200'], judge: wellScraped },
	}),
	row('streams of events, unread', 'the same over HTTP/2 with a window of 0', {
		ms: MS, attack: streams(4, 75, '/events', { settings: { initialWindowSize: 0 } }),
		expect: { end: null, statuses: ['503', '200'], many: 20, judge: wellScraped },
	}),
	row('long questions', 'targets of 6 KB that are searched for, explained or not there', {
		attack: asks(8, (n) => QUERIES[n % QUERIES.length](n)),
		expect: { end: null, statuses: ['200', '400', '404', '414', '431'], cpu: 4000, judge: wellScraped },
	}),
	row('everything, again and again', 'all lists and the page, one after the other over 20 connections', {
		attack: asks(20, (n) => ['/', '/metrics', '/api/overview', '/api/har', '/api/config', '/api/rules', '/api/servers', '/page.js'][n % 8]),
		expect: { end: null, statuses: ['200'], cpu: 10000, judge: wellScraped },
	}),
	row('other names', 'hosts that are not ours, and pages of other sites', {
		attack: scraped((env, clock) => plains(env, clock, 8, async (c, i) => {
			for (let n = 0; !c.over && clock.goesOn; n++)
				await c.call(n % 2 ? ask(env, '/metrics', { fields: [{ origin: 'null' }, { origin: 'http://evil.test' }, { 'sec-fetch-site': 'cross-site' }][(n + i) % 3] })
					: ask({ ...env, authority: HOSTS[(n / 2 + i) % HOSTS.length] }, '/metrics'));
		})),
		expect: { end: null, statuses: ['403', '400'], cpu: 1000, judge: wellScraped },
	}),
	row('rapid reset', '/metrics asked for, and given up at once', {
		attack: streams(4, 2000, '/metrics', { then: (id) => frame('RST_STREAM', 0, id, CANCEL) }),
		expect: { end: ['GOAWAY ENHANCE_YOUR_CALM reset-flood', 'closed'], cpu: 200, judge: wellScraped },
	}),
];
