/* SPDX-License-Identifier: MIT */
/* Clients above what limit-requests allows, and values of a field that nobody has sent before. */
import crypto from 'node:crypto';
import { reel, request } from '../raw.mjs';

const ask = (fields) => (env) => ({ parts: reel(5000, 50, (i) => [request(env, 2 * i + 1, fields(i))]) });

export const requestLimits = [
	{
		covers: 'R470', name: 'requests above the rate of a client',
		what: 'as fast as it goes, each answered 429; the honest client has another address',
		route: { 'limit-requests': '200/s burst 400' },
		tape: ask(() => ({})),
		expect: { end: null, statuses: [429, 200], counters: ['pushgate_requests_limited_total{verdict="refused"}', 'pushgate_end_total{cause="request-rate"}'], cpu: 60 },
	},
	{
		covers: 'R472', name: 'more open requests than a client may have',
		what: 'requests that are never answered, 80 of which may be open',
		/* The honest client asks at a steady rate: 1.5 s of answers that wait must fit, however busy the machine is. */
		route: { 'limit-requests': 'concurrent=80' },
		tape: ask(() => ({ path: '/never' })),
		expect: { end: null, statuses: [429], counters: ['pushgate_requests_limited_total{verdict="refused"}', 'pushgate_end_total{cause="request-concurrency"}'], cpu: 60 },
	},
	{
		covers: 'R473', name: 'random values of a counted field',
		what: 'a new one in each request, more than the table has room for',
		/* None of them has its whole burst again before an hour is over: however slowly they come, the table fills. */
		ms: 2500,
		/* A connection ends once too many of its requests were refused, since the machine is busy. */
		lives: 2000,
		server: { 'limit-table': 1024 },
		route: { 'limit-requests': ['1/h burst 100000 by=field:x-key', 'concurrent=1000 by=field:x-key'] },
		tape: (env) => {
			const { parts } = ask(() => ({ 'x-key': crypto.randomBytes(12).toString('hex') }))(env);
			/* Each connection begins elsewhere: one that ends early would repeat the values of the last one. */
			return { get parts() { return parts.slice(Math.random() * 0.9 * parts.length); } };
		},
		expect: { end: null, statuses: [200], many: 3000, counters: ['limit_table_full'], rss: 16, cpu: 100 },
	},
];
