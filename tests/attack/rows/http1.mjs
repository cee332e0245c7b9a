/* SPDX-License-Identifier: MIT */
/* Clients of HTTP/1.1 that mean harm: slow, half-open, endless, in masses, and never reading. */
import crypto from 'node:crypto';
import { CHUNKED, Plain, ask, chunk, plains, text } from '../plain.mjs';
import { Tally, addressOf, sleep } from '../raw.mjs';

const LIMIT = '1s';
const MS = 2500;
const times = (n, bytes) => Buffer.concat(Array.from({ length: n }, () => bytes));

/*
 * `count` connections (fewer than an origin may have, each of which may be kept waiting), each of which sends `first(env, i)` at once and then `rest(env)`, `step` bytes every `every` ms,
 * again and again if `endless`.
 */
const dribblers = ({ count = 100, first, rest, step = 1, every = 100, endless = false, half = false, ...options }) => (env, clock) => plains(env, clock, count, async (c, i) => {
	const begin = first?.(env, i);
	if (begin?.length) {
		c.asked.push({});
		c.send(begin);
	} else {
		c.frames++; /* the connection itself is all that it sends */
	}
	if (half)
		c.socket.end();
	const bytes = rest ? rest(env) : [];
	for (let at = 0; !c.over && clock.goesOn; at += step) {
		if (at >= bytes.length && endless)
			at = 0;
		if (at < bytes.length)
			c.send(bytes.subarray(at, at + step), 0);
		await Promise.race([c.gone, sleep(every)]);
	}
}, { lives: 1, ...options });

/* `count` connections at a time, each of which begins with `first` and then sends `part` for as long as it lives. */
const pourers = ({ count = 4, first = () => [], part, parts = 1, asked = [{}], pace = 1, ...options }) => (env, clock) => plains(env, clock, count, async (c) => {
	c.asked.push(...asked);
	await c.send(Buffer.from(first(env)), 0);
	const bytes = part(env);
	for (let i = 0; i < (options.most ?? Infinity) && !c.over && clock.goesOn; i++) {
		await c.send(bytes, parts);
		await Promise.race([c.gone, sleep(pace)]);
	}
	/* What was asked for last is answered yet. */
	await Promise.race([c.gone, sleep(300)]);
}, options);

/* One request after the other, each with its answer: make(env, n) gives {bytes, asked}. */
const callers = (make, { count = 4, pace = 1, ...options } = {}) => (env, clock) => plains(env, clock, count, async (c, i, life) => {
	for (let n = 0; clock.goesOn && !c.over; n++) {
		const { bytes, ...asked } = make(env, life * 1000 + n);
		const r = await c.call(bytes, asked);
		if (!r || /\bclose\b/.test(r.headers.connection ?? ''))
			break;
		await Promise.race([c.gone, sleep(pace)]);
	}
	/* It was asked to go. */
	await Promise.race([c.gone, sleep(300)]);
}, options);

const upload = (fields) => (env) => ask(env, '/upload', { method: 'POST', fields });
const small = (env) => ask(env, '/small');
const LATE = { end: ['closed'], statuses: [408], cpu: 2000 };

/* Each pipelines 10,000 requests: the answers come in their order, as long as they are read. */
const MANY = 10000;
const pipelined = (options) => (env, clock) => plains(env, clock, 4, async (c, i) => {
	for (let n = 0; n < MANY && !c.over && clock.goesOn; n += 100) {
		const targets = Array.from({ length: 100 }, (_, k) => `/small?${i}-${n + k}`);
		c.asked.push(...targets.map((target) => ({ target })));
		await c.send(Buffer.concat(targets.map((target) => ask(env, target))), 100);
	}
	for (let n = 0; n < 100 && !c.over && (options.waits ?? c.answers.responses < c.asked.length); n++)
		await Promise.race([c.gone, sleep(20)]);
}, options);

/* What a recipient may take for another request than its neighbour does. */
const tricks = (env) => [
	`GET http://${env.authority}/small HTTP/1.1\r\nHost: ${env.authority}\r\n\r\n`,
	`GET http://evil.test/small HTTP/1.1\r\nHost: ${env.authority}\r\n\r\n`,
	`GET ${env.authority}/small HTTP/1.1\r\nHost: ${env.authority}\r\n\r\n`,
	`GET http:///small HTTP/1.1\r\nHost: \r\n\r\n`,
	`GET http://user@${env.authority}/small HTTP/1.1\r\nHost: ${env.authority}\r\n\r\n`,
	`GET ftp://${env.authority}/small HTTP/1.1\r\nHost: ${env.authority}\r\n\r\n`,
	`GET https://${env.authority}/small HTTP/1.1\r\nHost: ${env.authority}\r\n\r\n`,
	`GET //evil.test/small HTTP/1.1\r\nHost: ${env.authority}\r\n\r\n`,
	`GET /small HTTP/1.1\r\n\r\n`,
	`GET /small HTTP/1.1\r\nHost: ${env.authority}\r\nHost: ${env.authority}\r\n\r\n`,
	`GET /small HTTP/1.1\r\nHost: ${env.authority}, evil.test\r\n\r\n`,
	`GET /small HTTP/1.1\r\nHost: ${env.authority}:99999\r\n\r\n`,
	`GET /small HTTP/1.1\r\nHost: ${'a.'.repeat(30000)}test\r\n\r\n`,
	`GET /small HTTP/1.1\r\nHost : ${env.authority}\r\n\r\n`,
	`OPTIONS * HTTP/1.1\r\nHost: nobody.test\r\n\r\n`,
	`GET * HTTP/1.1\r\nHost: ${env.authority}\r\n\r\n`,
	`GET /small HTTP/1.1\r\nHost: ${env.authority}\r\nConnection: host, content-length\r\n\r\n`,
	`GET /small HTTP/1.1\r\nHost: ${env.authority}\r\nConnection: ${'a,'.repeat(30000)}\r\n\r\n`,
	`GET /small HTTP/1.1\r\nHost: ${env.authority}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`,
	`GET /small HTTP/2.0\r\nHost: ${env.authority}\r\n\r\n`,
	`GET /small HTTP/1.0\r\n\r\n`,
].map((request) => Buffer.from(request));

const connection = (env, i, options) => new Plain(env, { from: addressOf(i), ...options });

/* Asks for what takes its time, and is gone before it is there: with RST, or by FIN. */
const leavers = (leave) => async (env, clock) => {
	const tally = new Tally();
	await Promise.all(Array.from({ length: 16 }, async (_, i) => {
		while (clock.goesOn) {
			const c = connection(env, i, {});
			await c.begin();
			await c.send(ask(env, '/slow'));
			await Promise.race([c.gone, sleep(5)]);
			leave(c);
			await c.close();
			tally.add(c);
		}
	}));
	return tally;
};

const row = (name, what, more) => ({ name: `HTTP/1.1: ${name}`, what, http1: true, ...more });

export const http1 = [
	row('slow heads', '1,000 requests, a byte of the head at a time', {
		ms: MS, listener: { 'header-timeout': LIMIT },
		attack: dribblers({ count: 1000, first: () => 'G', rest: (env) => small(env).subarray(1) }),
		expect: { ...LATE, faults: ['head-late'], counters: ['pushgate_end_total{cause="request-late"}'] },
	}),
	row('one byte and no more', '1,000 connections that stop within the request line', {
		ms: MS, listener: { 'header-timeout': LIMIT },
		attack: dribblers({ count: 1000, first: () => 'G' }),
		expect: { ...LATE, faults: ['head-late'] },
	}),
	row('slow heads over TLS', '100 requests, a byte of the head at a time', {
		tls: true, ms: MS, listener: { 'header-timeout': LIMIT },
		attack: dribblers({ first: () => 'G', rest: (env) => small(env).subarray(1) }),
		expect: { ...LATE, cpu: 20000, faults: ['head-late'] },
	}),
	row('a slow head behind a request', '100 connections with a request that is answered, and a second one that stops', {
		ms: MS, listener: { 'header-timeout': LIMIT },
		attack: dribblers({ first: (env) => Buffer.concat([small(env), Buffer.from('GET /')]) }),
		expect: { end: ['closed'], statuses: [408, 200], cpu: 3000, faults: ['head-late'] },
	}),
	row('4,000 bytes', '4,000 connections of one byte each', {
		ms: 4000, rounds: 1,
		attack: dribblers({ count: 4000, first: () => 'G' }),
		expect: { cpu: 300 },
	}),
	row('silence after the handshake', '100 connections over TLS that chose HTTP/1.1 and say nothing', {
		tls: true, ms: MS, listener: { 'preface-timeout': LIMIT, 'header-timeout': LIMIT },
		attack: dribblers({}),
		expect: { end: ['closed'], faults: ['head-late'], cpu: 20000 },
	}),
	row('silence after a request', '100 connections that ask once and stay', {
		ms: MS, listener: { 'idle-timeout': LIMIT },
		attack: dribblers({ first: small }),
		expect: { end: ['closed'], statuses: [200], counters: ['pushgate_connection_timeouts_total{side="client",timeout="idle-timeout"}'], cpu: 2000 },
	}),
	row('half-open connections', '100 requests that are never answered, from clients that have ended their sending side', {
		ms: MS, listener: { 'write-timeout': LIMIT },
		attack: dribblers({ first: (env) => ask(env, '/never'), half: true }),
		expect: { end: ['closed'], counters: ['pushgate_connection_timeouts_total{side="client",timeout="write-timeout"}'], cpu: 3000 },
	}),
	row('half a head and FIN', 'requests that end in their head', {
		attack: (env, clock) => plains(env, clock, 8, async (c) => {
			c.asked.push({});
			await c.send(Buffer.from('GET /small HTTP/1.1\r\nHost'));
			c.socket.end();
			await Promise.race([c.gone, sleep(500)]);
		}),
		expect: { end: ['closed'], cpu: 1000 },
	}),
	row('a body that stops', '100 uploads that do not go on', {
		ms: MS, listener: { 'body-timeout': LIMIT },
		attack: dribblers({ first: upload({ 'content-length': 100000 }) }),
		expect: { ...LATE, counters: ['pushgate_end_total{cause="request-stalled"}'] },
	}),
	row('chunks in crumbs', '100 uploads, a chunk of one byte now and then: below min-rate', {
		ms: MS, listener: { 'body-timeout': LIMIT },
		attack: dribblers({ first: upload(CHUNKED), rest: () => chunk('x'), step: 6, endless: true }),
		expect: { ...LATE, counters: ['pushgate_end_total{cause="request-stalled"}'] },
	}),
	row('a chunk size in crumbs', '100 uploads with an extension that never ends, a byte at a time', {
		ms: MS, listener: { 'body-timeout': LIMIT },
		attack: dribblers({ first: (env) => Buffer.concat([upload(CHUNKED)(env), Buffer.from('1;')]), rest: () => Buffer.alloc(3000, 'a') }),
		expect: { ...LATE, counters: ['pushgate_end_total{cause="request-stalled"}'] },
	}),
	row('chunks of one byte', 'an upload without end in chunks of one byte, as fast as they are taken', {
		attack: pourers({ first: upload(CHUNKED), part: () => times(1000, chunk('x')), parts: 1000 }),
		expect: { cpu: 10 },
	}),
	row('Expect, and no body', '100 uploads that wait for a 100 (Continue) and then send nothing', {
		ms: MS, listener: { 'body-timeout': LIMIT },
		attack: dribblers({ first: upload({ 'content-length': 100000, expect: '100-continue' }) }),
		expect: { ...LATE, statuses: [408, 100] },
	}),
	row('Expect flood', 'uploads that wait for a 100 (Continue) and are given up', {
		attack: (env, clock) => plains(env, clock, 8, async (c) => {
			c.asked.push({ method: 'POST' });
			await c.send(upload({ 'content-length': 100000, expect: '100-continue' })(env));
			await Promise.race([c.gone, sleep(5)]);
		}),
		expect: { end: null, cpu: 2000 },
	}),
	row('HEAD flood with bodies never sent', '100 HEAD requests with a Content-Length of which nothing comes', {
		ms: MS, listener: { 'body-timeout': LIMIT, 'idle-timeout': LIMIT },
		attack: (env, clock) => plains(env, clock, 100, async (c) => {
			await c.call(ask(env, '/small', { method: 'HEAD', fields: { 'content-length': 100000 } }), { method: 'HEAD' });
			while (!c.over && clock.goesOn)
				await Promise.race([c.gone, sleep(100)]);
		}, { lives: 1 }),
		expect: { end: ['closed'], statuses: [200, 408], cpu: 3000 },
	}),
	row('pipelining', '10,000 requests in one go on each connection, all read', {
		attack: pipelined({}),
		expect: { end: null, statuses: [200], cpu: 500 },
	}),
	row('pipelining, nothing read', '10,000 requests in one go on each connection, and no answer read', {
		ms: MS, listener: { 'write-timeout': LIMIT },
		attack: pipelined({ reads: false, waits: true, lives: 1 }),
		expect: { end: null, counters: ['pushgate_connection_timeouts_total{side="client",timeout="write-timeout"}'], cpu: 500 },
	}),
	row('responses unread', 'requests for 8 MiB that nobody reads', {
		ms: MS, listener: { 'write-timeout': LIMIT },
		attack: dribblers({ count: 30, first: (env) => ask(env, '/huge'), reads: false }),
		expect: { end: null, counters: ['pushgate_connection_timeouts_total{side="client",timeout="write-timeout"}'], cpu: 20000, rss: 96 },
	}),
	row('an endless head', 'fields without end', {
		attack: pourers({ first: (env) => small(env).subarray(0, -2), part: () => times(100, Buffer.from(`a: ${'b'.repeat(100)}\r\n`)), parts: 100 }),
		expect: { end: ['closed'], statuses: [431], faults: ['head-too-large'], cpu: 40 },
	}),
	row('an endless head of tiny fields', 'field lines of one byte without end', {
		attack: pourers({ first: (env) => small(env).subarray(0, -2), part: () => times(1000, Buffer.from('a:\r\n')), parts: 1000 }),
		expect: { end: ['closed'], statuses: [431], cpu: 10 },
	}),
	row('as many fields as go in', 'heads of 20,000 fields that end', {
		attack: pourers({ first: (env) => small(env).subarray(0, -2), part: () => Buffer.concat([times(20000, Buffer.from('a:\r\n')), Buffer.from('\r\n')]), parts: 20000, most: 1 }),
		expect: { end: ['closed'], statuses: [431], cpu: 2, counters: ['pushgate_end_total{cause="fields-too-large"}'] },
	}),
	row('an endless request line', 'a target without end', {
		attack: pourers({ first: () => 'GET /', part: () => Buffer.alloc(4096, 'x') }),
		expect: { end: ['closed'], statuses: [414], faults: ['request-target-long'], cpu: 400 },
	}),
	row('empty lines', 'CRLF without end', {
		attack: pourers({ part: () => times(1000, Buffer.from('\r\n')), parts: 1000 }),
		expect: { end: ['closed'], statuses: [400], cpu: 10 },
	}),
	row('chunk extensions', 'an extension with each chunk', {
		attack: pourers({ first: upload(CHUNKED), part: () => times(100, chunk('x', `;${'a'.repeat(20)}=b`)), parts: 100 }),
		expect: { end: ['closed'], statuses: [400], faults: ['chunk-extensions-large'], cpu: 40 },
	}),
	row('an endless chunk extension', 'one extension without end', {
		attack: pourers({ first: (env) => Buffer.concat([upload(CHUNKED)(env), Buffer.from('1;a="')]), part: () => Buffer.alloc(1000, 'b') }),
		expect: { end: ['closed'], statuses: [400], faults: ['chunk-extensions-large'], cpu: 400 },
	}),
	row('endless trailers', 'trailer fields without end', {
		attack: pourers({ first: (env) => Buffer.concat([upload(CHUNKED)(env), chunk('x'), Buffer.from('0\r\n')]), part: () => times(100, Buffer.from(`a: ${'b'.repeat(100)}\r\n`)), parts: 100 }),
		expect: { end: ['closed'], statuses: [431], faults: ['trailers-too-large'], cpu: 40 },
	}),
	row('a flood of 400', 'requests that cannot be read, each on a fresh connection', {
		attack: callers((env, n) => ({ bytes: text([`GET /small HTTP/1.1`, `Host: ${env.authority}`, ` folded: ${n}`, '']) }), { count: 8 }),
		expect: { end: ['closed'], statuses: [400], faults: ['line-folding'], cpu: 1500 },
	}),
	row('random bytes', 'from the first one on', {
		attack: (env, clock) => plains(env, clock, 8, async (c, i, n) => {
			await c.send(crypto.createHash('sha512').update(`noise ${i} ${n}`).digest());
			await Promise.race([c.gone, sleep(50)]);
		}),
		expect: { end: null, cpu: 1500 },
	}),
	row('a flood of CONNECT', 'requests for tunnels', {
		attack: callers((env, n) => ({ bytes: text([`CONNECT a${n}.test:443 HTTP/1.1`, `Host: a${n}.test:443`, '']), method: 'CONNECT' }), { count: 8 }),
		expect: { end: null, statuses: [501], cpu: 1500 },
	}),
	row('Upgrade flood', 'requests to go on with other protocols', {
		attack: callers((env) => ({ bytes: ask(env, '/small', { fields: { connection: 'upgrade, http2-settings', upgrade: 'h2c, websocket', 'http2-settings': 'AAMAAABkAAQAAP__' } }) })),
		expect: { end: null, statuses: [200], cpu: 1500 },
	}),
	row('absolute-form and Host tricks', 'targets and Hosts that may be read in two ways', {
		attack: (env, clock) => {
			const list = tricks(env);
			return callers((_, n) => ({ bytes: list[n % list.length] }), { count: 8 })(env, clock);
		},
		expect: { end: ['closed'], statuses: [400, 200, 404, 421, 431, 505], cpu: 3000, log: /https in cleartext/ },
	}),
	row('resets', 'requests whose client resets the connection before the answer', {
		attack: leavers((c) => c.socket.resetAndDestroy()),
		expect: { end: null, cpu: 2000 },
	}),
	row('requests and FIN', 'requests whose client closes the connection before the answer', {
		attack: leavers((c) => c.socket.end()),
		expect: { end: null, cpu: 2000 },
	}),
	row('uploads given up', 'chunked uploads that end within a chunk', {
		attack: (env, clock) => plains(env, clock, 16, async (c) => {
			c.asked.push({ method: 'POST' });
			await c.send(Buffer.concat([upload(CHUNKED)(env), Buffer.from('ffff\r\nabc')]));
			await Promise.race([c.gone, sleep(5)]);
		}),
		expect: { end: null, cpu: 2000 },
	}),
	row('connections that come and go', 'a request each, one connection after the other', {
		attack: callers((env) => ({ bytes: ask(env, '/small', { fields: { connection: 'close' } }) }), { count: 8 }),
		expect: { end: ['closed'], statuses: [200], cpu: 2000 },
	}),
];
