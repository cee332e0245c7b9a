/* SPDX-License-Identifier: MIT */
/* Peers that take their time: each beginning, each block and each body has a limit to that. */
import net from 'node:net';
import { frame } from '../../support/frames.mjs';
import { Raw, Tally, addressOf, block, hello, request, sleep } from '../raw.mjs';

const LIMIT = '1s';
const MS = 2500;

/*
 * `count` connections, each of which sends `first(env)` at once and then `rest(env)`, `step` bytes every `every` ms; if
 * that is a whole frame, again and again.
 */
const dribblers = ({ count = 200, first = () => null, rest, step = 1, every = 100, secure, silent = true, reads = true }) => async (env, clock) => {
	const tally = new Tally();
	await Promise.all(Array.from({ length: count }, async (_, i) => {
		const c = new Raw(env, { from: addressOf(i), silent, secure, reads });
		await (silent ? Promise.race([c.opened, c.gone]) : c.begin());
		const begin = first(env);
		if (begin)
			await c.send(begin);
		const bytes = rest ? rest(env) : [];
		let at = 0;
		while (!c.over && clock.goesOn) {
			if (at < bytes.length) {
				c.send(bytes.subarray(at, at + step));
				at += step;
			} else if (step > 1) {
				at = 0; /* whole frames can come again */
			}
			await Promise.race([c.gone, sleep(every)]);
		}
		if (!begin && !bytes.length)
			c.frames++; /* the connection itself is all that it sends */
		await c.close();
		tally.add(c);
	}));
	return tally;
};

/* The first record of a handshake, as OpenSSL sends it. */
async function clientHello() {
	const { connect } = await import('node:tls');
	const server = net.createServer();
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	const got = new Promise((resolve) => { server.once('connection', (s) => { s.on('error', () => {}); s.once('data', (d) => { s.destroy(); resolve(d); }); }); });
	const client = connect({ port: server.address().port, host: '127.0.0.1', ALPNProtocols: ['h2'], servername: 'localhost' });
	client.on('error', () => {});
	const bytes = await got;
	client.destroy();
	server.close();
	return bytes;
}

export const slow = [
	{
		name: 'TLS: nothing is said',
		what: '200 connections to the TLS port that never begin',
		tls: true,
		ms: MS,
		listener: { 'tls-timeout': LIMIT },
		attack: dribblers({ secure: false }),
		expect: { end: ['closed'], counters: ['pushgate_connection_timeouts_total{side="client",timeout="tls-timeout"}'], cpu: 2000 },
	},
	{
		covers: 'R65', name: 'TLS: a slow handshake',
		what: '200 ClientHellos, a byte at a time',
		tls: true,
		ms: MS,
		listener: { 'tls-timeout': LIMIT },
		attack: async (env, clock) => {
			const bytes = await clientHello();
			return dribblers({ secure: false, rest: () => bytes })(env, clock);
		},
		expect: { end: ['closed'], counters: ['pushgate_connection_timeouts_total{side="client",timeout="tls-timeout"}'], cpu: 1000 },
	},
	{
		covers: 'R65', name: 'a slow preface',
		what: '200 connections, a byte of the preface at a time',
		ms: MS,
		listener: { 'preface-timeout': LIMIT },
		attack: dribblers({ rest: () => hello() }),
		expect: { end: ['closed'], counters: ['pushgate_connection_timeouts_total{side="client",timeout="preface-timeout"}'], cpu: 1000 },
	},
	{
		name: 'a slow first SETTINGS',
		what: '200 connections, the preface at once and SETTINGS a byte at a time',
		ms: MS,
		listener: { 'preface-timeout': LIMIT },
		attack: dribblers({ first: () => hello().subarray(0, 24), rest: () => frame('SETTINGS', 0, 0, Buffer.alloc(600)), reads: false }),
		/* Who reads our SETTINGS would have to acknowledge them; so the GOAWAY is not seen. */
		expect: { end: ['closed'], faults: ['preface-timeout'], cpu: 1000 },
	},
	{
		covers: 'R65', name: 'a slow field block',
		what: '200 requests, a byte of the block at a time',
		ms: MS,
		listener: { 'header-timeout': LIMIT },
		attack: dribblers({ silent: false, first: (env) => request(env, 1).subarray(0, 9), rest: (env) => block(env, { x: 'y'.repeat(200) }) }),
		expect: { end: ['GOAWAY ENHANCE_YOUR_CALM field-block-timeout', 'closed'], cpu: 1000 },
	},
	{
		name: 'slow CONTINUATIONs',
		what: '200 requests, a CONTINUATION now and then',
		ms: MS,
		listener: { 'header-timeout': LIMIT },
		attack: dribblers({ silent: false, first: (env) => frame('HEADERS', 1, 1, block(env)),
			rest: () => Buffer.concat(Array.from({ length: 5 }, () => frame('CONTINUATION', 0, 1, Buffer.from([0x82])))) }),
		expect: { end: ['GOAWAY ENHANCE_YOUR_CALM field-block-timeout', 'closed'], cpu: 1000 },
	},
	{
		name: 'a body that stops',
		what: '200 uploads that do not go on',
		ms: MS,
		listener: { 'body-timeout': LIMIT },
		attack: dribblers({ silent: false, first: (env) => request(env, 1, { method: 'POST', path: '/upload' }, 0) }),
		expect: { resets: ['NO_ERROR'], cpu: 2000, judge: (r) => (r.statuses[408] > 0 ? null : `answers: ${JSON.stringify(r)}`) },
	},
	{
		name: 'a body in crumbs',
		what: '200 uploads, a byte now and then: below min-rate',
		ms: MS,
		listener: { 'body-timeout': LIMIT },
		attack: dribblers({ silent: false, first: (env) => request(env, 1, { method: 'POST', path: '/upload' }, 0),
			rest: () => frame('DATA', 0, 1, Buffer.alloc(600)) }),
		expect: { resets: ['NO_ERROR'], cpu: 2000, judge: (r) => (r.statuses[408] > 0 ? null : `answers: ${JSON.stringify(r)}`) },
	},
	{
		name: 'DATA frames in crumbs',
		what: '200 uploads, a DATA frame of a byte now and then',
		ms: MS,
		listener: { 'body-timeout': LIMIT },
		attack: dribblers({ silent: false, first: (env) => request(env, 1, { method: 'POST', path: '/upload' }, 0),
			rest: () => frame('DATA', 0, 1, Buffer.from('x')), step: 10 }),
		expect: { resets: ['NO_ERROR'], cpu: 2000, judge: (r) => (r.statuses[408] > 0 ? null : `answers: ${JSON.stringify(r)}`) },
	},
	{
		name: 'silence',
		what: '200 connections that say no more than their SETTINGS',
		ms: MS,
		listener: { 'idle-timeout': LIMIT },
		attack: dribblers({ silent: false, first: () => frame('PING', 0, 0, Buffer.alloc(8)) }),
		expect: { end: ['closed'], counters: ['pushgate_connection_timeouts_total{side="client",timeout="idle-timeout"}'], cpu: 2000 },
	},
];
