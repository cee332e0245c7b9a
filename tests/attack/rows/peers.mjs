/* SPDX-License-Identifier: MIT */
/*
 * Peers of a listener for balancers that mean harm: they send no PROXY header, a wrong one, one that never ends, or claims
 * of thousands of clients. The honest client asks the other listener.
 */
import { v1, v2, value } from '../../support/proxy_header.mjs';
import { ask } from '../plain.mjs';
import { Raw, Tally, addressOf, sleep } from '../raw.mjs';

const LIMIT = '1s';
const MS = 2500;
const row = (name, what, { behind = {}, ...more }) => ({ name: `PROXY: ${name}`, what, behind, ms: MS, ...more });
const there = (env) => ({ ...env, port: env.behind, tls: false });
const LATE = 'pushgate_connection_timeouts_total{side="client",timeout="proxy-protocol-timeout"}';
const REFUSED = 'proxy_headers_refused';

/* `count` connections, each of which sends `first` at once, and then `rest`, a byte at a time, until it is over. */
const dribblers = ({ count = 200, first, rest }) => async (env, clock) => {
	const tally = new Tally();
	await Promise.all(Array.from({ length: count }, async (_, i) => {
		const c = new Raw(there(env), { from: addressOf(i), silent: true });
		await Promise.race([c.opened, c.gone]);
		if (first)
			await c.send(first);
		for (let at = 0; !c.over && clock.goesOn; at++) {
			if (rest && at < rest.length)
				c.send(rest.subarray(at, at + 1));
			await Promise.race([c.gone, sleep(100)]);
		}
		c.frames ||= 1; /* the connection itself is all that it sends */
		await c.close();
		tally.add(c);
	}));
	return tally;
};

/* `count` places, in each of which one connection after the other sends these bytes and waits for its end, `ms` at most. */
const again = (count, bytes, ms = 5000) => async (env, clock) => {
	const tally = new Tally();
	let n = 0;
	await Promise.all(Array.from({ length: count }, async (_, i) => {
		while (clock.goesOn) {
			const c = new Raw(there(env), { from: addressOf(i), silent: true });
			await Promise.race([c.opened, c.gone]);
			await c.send(bytes(++n, env));
			await Promise.race([c.gone, sleep(ms)]);
			await c.close();
			tally.add(c);
		}
	}));
	return tally;
};

const sound = v2('192.0.2.1', undefined, 1, 2, { sum: true });
const many = (n) => `10.${n >> 16 & 255}.${n >> 8 & 255}.${n & 255}`;

export const peers = [
	row('nothing is said', '200 connections that send no header', {
		behind: { 'proxy-protocol-timeout': LIMIT }, attack: dribblers({}), expect: { end: ['closed'], counters: [LATE], cpu: 2000 },
	}),
	row('a slow header', '200 headers, a byte at a time', {
		behind: { 'proxy-protocol-timeout': LIMIT }, attack: dribblers({ rest: v2('192.0.2.1', undefined, 1, 2, { id: 'x'.repeat(100) }) }),
		expect: { end: ['closed'], counters: [LATE], cpu: 1000 },
	}),
	row('headers of the largest size without their last byte', '500 of 4095 bytes', {
		behind: { 'proxy-protocol-timeout': LIMIT },
		attack: dribblers({ count: 500, first: v2('192.0.2.1', undefined, 1, 2, { more: [value(4, Buffer.alloc(4065))] }).subarray(0, 4095) }),
		expect: { end: ['closed'], counters: [LATE], cpu: 2000 },
	}),
	row('no header but a request', 'one connection after the other', {
		attack: again(50, (n, env) => ask(env)), expect: { end: ['closed'], counters: [REFUSED], cpu: 2000 },
	}),
	row('a wrong checksum', 'one connection after the other, with a request behind', {
		attack: again(50, (n, env) => Buffer.concat([v2(many(n), undefined, 1, 2, { sum: false }), ask(env)])),
		expect: { end: ['closed'], counters: [REFUSED], cpu: 2000 },
	}),
	row('lengths that the header does not have', 'all lengths, one connection after the other', {
		attack: again(50, (n) => {
			const bytes = Buffer.concat([sound, Buffer.alloc(64)]);
			bytes.writeUInt16BE(n % 2 ? 65535 - n % 60000 : n % 12, 14);
			return bytes;
		}),
		expect: { end: ['closed'], counters: [REFUSED], cpu: 2000 },
	}),
	row('peers that nobody trusts', 'one connection after the other', {
		behind: { trusted: '192.0.2.1' }, attack: again(50, (n) => v1(many(n))),
		expect: { end: ['closed'], counters: ['pushgate_connections_refused_total{cause="proxy-protocol"}'], cpu: 2000 },
	}),
	row('claims of thousands of clients', 'each connection claims another one, and leaves soon', {
		attack: again(50, (n) => (n % 2 ? v1(many(n)) : v2(many(n), undefined, 1, 2, { id: `${n}` })), 50), expect: { end: null, cpu: 3000 },
	}),
];
