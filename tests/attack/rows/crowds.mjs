/* SPDX-License-Identifier: MIT */
/* Connections in masses: idle, half-open, come and gone, more than there are descriptors for. */
import fs from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { frame } from '../../support/frames.mjs';
import { Tally, addressOf, hello, note, sleep } from '../raw.mjs';

/* We may have so many descriptors, and so may the gate. */
const mostOpen = Number(fs.readFileSync('/proc/self/limits', 'latin1').match(/Max open files +\d+ +(\d+)/)?.[1] ?? 1 << 20);

/* Connections that say `first` and no more; `count` in all or what the system lets us have, `step` at a time. */
const crowd = ({ count, step = 200, first = null, from = addressOf }) => async (env, clock) => {
	const tally = new Tally();
	const sockets = [];
	let ended = 0;
	for (let i = 0; i < Math.min(count, mostOpen * 0.9); i++) {
		const s = net.connect({ port: env.port, host: '127.0.0.1', localAddress: from(i) });
		s.on('error', () => {});
		s.on('close', () => { ended++; note('closed'); });
		s.resume();
		if (first)
			s.write(first);
		sockets.push(s);
		if (i % step === step - 1)
			await sleep(10);
	}
	while (clock.goesOn)
		await sleep(20);
	tally.frames = sockets.length;
	tally.connections = sockets.length;
	tally.ends = ended ? { closed: ended, open: sockets.length - ended } : { open: sockets.length };
	await Promise.all(sockets.map((s) => new Promise((resolve) => {
		if (s.closed)
			resolve();
		s.once('close', resolve);
		s.destroy();
	})));
	return tally;
};

/* Connections that come and go, `width` at a time; leave(socket) ends each. */
const comeAndGo = (leave, width = 20) => async (env, clock) => {
	const tally = new Tally();
	await Promise.all(Array.from({ length: width }, async (_, i) => {
		for (let n = 0; n < 200 && clock.goesOn; n++) {
			const s = net.connect({ port: env.port, host: '127.0.0.1', localAddress: addressOf(i) });
			s.on('error', () => {});
			s.resume();
			const closed = new Promise((resolve) => { s.once('close', resolve); });
			s.once('connect', () => leave(s));
			await closed;
			tally.frames++;
			tally.connections++;
		}
	}));
	return tally;
};

/* Whole handshakes, and nothing after them; each asks for another name. */
const handshakes = (width = 8) => async (env, clock) => {
	const tally = new Tally();
	clock.needs(() => tally.frames > 10);
	await Promise.all(Array.from({ length: width }, async (_, i) => {
		for (let n = 0; clock.goesOn; n++) {
			const s = tls.connect({ port: env.port, host: '127.0.0.1', localAddress: addressOf(i), rejectUnauthorized: false, ALPNProtocols: ['h2'],
				servername: NAMES[n % NAMES.length](`${i}-${n}`) });
			s.on('error', () => {});
			const closed = new Promise((resolve) => { s.once('close', resolve); });
			s.once('secureConnect', () => {
				tally.frames++;
				s.destroy();
			});
			await closed;
			tally.connections++;
		}
	}));
	return tally;
};
const NAMES = [(n) => `${n}.test`, () => 'localhost', () => 'a.test', (n) => `${n}.${'x'.repeat(60)}.${'y'.repeat(60)}.${'z'.repeat(60)}.test`];

/* Connections of one client, each of which is ended for its fault and does not go: twenty every 10 ms. */
const staying = (bytes) => async (env, clock) => {
	const tally = new Tally();
	const sockets = new Set();
	while (clock.goesOn) {
		for (let i = 0; i < 20; i++) {
			const s = net.connect({ port: env.port, host: '127.0.0.1', localAddress: '127.0.0.9', allowHalfOpen: true });
			sockets.add(s);
			s.on('error', () => {});
			s.on('end', () => { tally.ends.closed = (tally.ends.closed ?? 0) + 1; note('closed'); });
			s.on('close', () => sockets.delete(s));
			s.resume();
			s.write(bytes);
			tally.frames++;
			tally.connections++;
		}
		await sleep(10);
	}
	await Promise.all([...sockets].map((s) => new Promise((resolve) => {
		s.once('close', resolve);
		s.destroy();
	})));
	return tally;
};

/* All of them are there at last, however long it takes until they are. */
const PATIENT = { 'tls-timeout': '5m', 'preface-timeout': '5m', 'settings-timeout': '5m' };

export const crowds = [
	{
		covers: 'R65', name: '8,000 idle connections',
		what: 'each with a preface and SETTINGS',
		ms: 4000,
		rounds: 1,
		workers: 2,
		listener: PATIENT,
		attack: crowd({ count: 8000, first: hello() }),
		/* 3 KB each, in two workers. */
		expect: { cpu: 300 },
	},
	{
		name: '4,000 half-open TLS connections',
		what: 'each with half a ClientHello',
		tls: true,
		ms: 3000,
		rounds: 1,
		listener: PATIENT,
		attack: crowd({ count: 4000, first: Buffer.from('160301020001000100', 'hex') }),
		expect: { cpu: 300 },
	},
	{
		name: 'silent connections',
		what: '4,000 connections without a byte',
		listener: PATIENT,
		ms: 3000,
		rounds: 1,
		attack: crowd({ count: 4000 }),
		expect: { cpu: 200 },
	},
	{
		name: 'more than max-connections',
		what: '1,000 connections where 100 may be',
		listener: { 'max-connections': 100 },
		fresh: false,
		attack: crowd({ count: 1000 }),
		expect: { end: ['closed'], counters: ['pushgate_connections_refused_total{cause="max-connections"}'], cpu: 500 },
	},
	{
		name: 'many connections of one client',
		what: '1,000 connections from one address where 100 may be; others are served',
		listener: { 'max-connections-per-client': 100 },
		attack: crowd({ count: 1000, from: () => '127.0.0.9' }),
		expect: { end: ['closed'], counters: ['pushgate_connections_refused_total{cause="max-connections-per-client"}'], cpu: 500 },
	},
	{
		name: 'descriptors exhausted',
		what: '400 connections to a worker that may have 100 descriptors',
		limit: 100,
		fresh: false,
		attack: crowd({ count: 400, first: hello() }),
		expect: { counters: ['accept_pauses'], cpu: 1000, log: /accept|descriptor|open files/i },
	},
	{
		name: 'closed connections that stay',
		what: 'two thousand a second from one address, ended by us and not by it, where 200 descriptors may be',
		limit: 200,
		listener: { 'max-connections-per-client': 20 },
		attack: staying(Buffer.concat([hello(), frame('DATA', 0, 1)])),
		expect: { end: ['closed'], cpu: 500 },
	},
	{
		name: 'TLS handshakes that lead to nothing',
		what: 'one after the other over eight connections at a time, for names that are served and names that are not',
		tls: true,
		attack: handshakes(),
		expect: { cpu: 10000, judge: (r) => (r.frames > 10 ? undefined : `only ${r.frames} handshakes`) },
	},
	{
		covers: 'R65', name: 'connections that come and go',
		what: 'closed as soon as they are there',
		attack: comeAndGo((s) => s.end()),
		expect: { cpu: 200 },
	},
	{
		name: 'connections that come and are reset',
		what: 'the same with RST instead of FIN',
		attack: comeAndGo((s) => s.resetAndDestroy()),
		expect: { cpu: 200 },
	},
];
