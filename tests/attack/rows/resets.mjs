/* SPDX-License-Identifier: MIT */
/* Streams that are opened to be thrown away: by the client itself, or by faults of its that make us reset them. */
import { FLAG, frame, u32 } from '../../support/frames.mjs';
import { Encoder } from '../../support/hpack.mjs';
import { Raw, Tally, addressOf, block, reel, request, sleep } from '../raw.mjs';

const CANCEL = u32(8);
const rst = (id) => frame('RST_STREAM', 0, id, CANCEL);

/* make(id, env) for the streams 1, 3, 5 … */
const streams = (n, size, make) => (env) => ({ parts: reel(n, size, (i) => make(2 * i + 1, env)) });
/* Node's origin counts resets too, those of all clients together: it must not come to that (a warning would fail the row). */
const calm = (fault) => ({ end: [`GOAWAY ENHANCE_YOUR_CALM ${fault}`, 'closed'] });

/* As CVE-2025-8671: the client never resets a stream, and each of its requests makes the server do so. */
const provoked = (name, code, make) => ({
	name: `made to reset: ${name}`,
	what: 'each request is made an error of its stream (CVE-2025-8671)',
	tape: streams(5000, 100, make),
	expect: { ...calm('fault-flood'), resets: [code, 'REFUSED_STREAM'], cpu: 15 },
});

/* Waves of requests that are with the origin by the time they are cancelled. */
function waves(env) {
	const parts = [];
	for (let first = 1; first < 4000; first += 100) {
		const ids = Array.from({ length: 50 }, (_, i) => first + 2 * i);
		parts.push({ bytes: Buffer.concat(ids.map((id) => request(env, id, { path: '/never' }))), frames: 50 });
		parts.push({ bytes: Buffer.concat(ids.map(rst)), frames: 50 });
	}
	return { parts, pace: 20 };
}

/*
 * Connections that ask twenty times, and once more for each `again(f, c)` that holds for a frame of the answers, as long
 * as the clock lets them.
 */
async function askAgain(env, clock, { connections, fields = {}, settings, again }) {
	const tally = new Tally();
	await Promise.all(Array.from({ length: connections }, async (_, i) => {
		let next = 1;
		const ask = () => { c.send(request(env, next, fields)); next += 2; };
		const c = new Raw(env, { from: addressOf(i), settings, onFrame(f) {
			if (again(f, c) && clock.goesOn)
				ask();
		} });
		await c.begin();
		for (let n = 0; n < 20; n++)
			ask();
		while (!c.over && clock.goesOn)
			await Promise.race([c.gone, sleep(50)]);
		await c.close();
		tally.add(c);
	}));
	return tally;
}

/* The page with its pushes again and again; each push is refused as soon as it is promised, and never the page. */
const refusePushes = (env, clock) => askAgain(env, clock, { connections: 4, fields: { path: '/site' }, again(f, c) {
	if (f.type !== 'PUSH_PROMISE')
		return f.endStream && f.stream % 2 === 1 && f.stream < 20000; /* the page, not what was pushed before its reset came */
	c.send(rst(f.promised));
	return false;
} });

/* Requests as fast as they are answered: much work, and nothing wrong with it. */
const churn = (env, clock) => askAgain(env, clock, { connections: 2, settings: { enablePush: 0 }, again(f, c) {
	if (f.type === 'DATA')
		c.send(frame('WINDOW_UPDATE', 0, 0, u32(f.length || 1)), 0);
	return f.endStream;
} });

/* Calls of gRPC whose deadline cancels them at the origin: each time one has failed, the next. No RST_STREAM is the client's. */
const CALL = { method: 'POST', path: '/never', 'content-type': 'application/grpc', 'grpc-timeout': '1m' };
const shortCalls = (env, clock) => askAgain(env, clock, { connections: 4, fields: CALL, again: (f) => f.endStream });

const upload = (env, id, fields) => request(env, id, { method: 'POST', path: '/upload', ...fields }, 0);

export const resets = [
	{
		covers: 'R65', name: 'rapid reset',
		what: 'HEADERS and at once RST_STREAM (CVE-2023-44487)',
		tape: streams(5000, 100, (id, env) => [request(env, id), rst(id)]),
		expect: { ...calm('reset-flood'), cpu: 15 },
	},
	{
		name: 'rapid reset, with the origin',
		what: 'waves of requests that are cancelled when the origin has them',
		tape: waves,
		expect: { ...calm('reset-flood'), cpu: 40 },
	},
	{
		covers: 'R205', name: 'deadlines in place of resets',
		what: 'gRPC calls of a millisecond, again and again: beyond limit-resets each lasts a second',
		attack: shortCalls,
		ms: 3000, rounds: 1,
		/* of each connection in each round: the burst, and 120 a second; without the bound it is eight times that */
		expect: { statuses: [200], cpu: 100, judge: (result) => (result.frames > 4 * 3000 ? 'deadlines were not put off' : undefined) },
	},
	provoked('window increment 0', 'PROTOCOL_ERROR', (id, env) => [request(env, id, { path: '/never' }), frame('WINDOW_UPDATE', 0, id, u32(0))]),
	provoked('window overflow', 'FLOW_CONTROL_ERROR',
		(id, env) => [request(env, id, { path: '/never' }), frame('WINDOW_UPDATE', 0, id, u32(0x7fffffff))]),
	provoked('DATA behind END_STREAM', 'STREAM_CLOSED',
		(id, env) => [request(env, id, { path: '/never' }), frame('DATA', 0, id, Buffer.from('x'))]),
	provoked('HEADERS behind END_STREAM', 'STREAM_CLOSED',
		(id, env) => [request(env, id, { path: '/never' }), request(env, id)]),
	provoked('more than content-length', 'PROTOCOL_ERROR',
		(id, env) => [upload(env, id, { 'content-length': '1' }), frame('DATA', 0, id, Buffer.from('xy'))]),
	provoked('less than content-length', 'PROTOCOL_ERROR',
		(id, env) => [upload(env, id, { 'content-length': '3' }), frame('DATA', FLAG.END_STREAM, id, Buffer.from('xy'))]),
	provoked('content-length that is no number', 'PROTOCOL_ERROR', (id, env) => [upload(env, id, { 'content-length': '1e3' })]),
	provoked('PRIORITY on itself', 'PROTOCOL_ERROR',
		(id, env) => [request(env, id, { path: '/never' }), frame('PRIORITY', 0, id, Buffer.concat([u32(id), Buffer.alloc(1)]))]),
	provoked('PRIORITY of 4 bytes', 'FRAME_SIZE_ERROR',
		(id, env) => [request(env, id, { path: '/never' }), frame('PRIORITY', 0, id, Buffer.alloc(4))]),
	provoked('malformed fields', 'PROTOCOL_ERROR', (id, env) => [request(env, id, { Upper: 'case' })]),
	provoked('malformed trailers', 'PROTOCOL_ERROR', (id, env) => [upload(env, id),
		frame('HEADERS', FLAG.END_HEADERS | FLAG.END_STREAM, id, new Encoder().encode({ ':path': '/' }))]),
	provoked('too many streams', 'REFUSED_STREAM', (id, env) => [request(env, id, { path: '/never' })]),
	{
		name: 'pushes refused',
		what: 'the page with its pushes without end, each push refused (not an attack on us: an origin must not suffer of it)',
		attack: refusePushes,
		expect: { cpu: 200, log: /reset-budget/, judge: (r) => (r.responses > 20 ? null : `only ${r.responses} pages`) },
	},
	{
		name: 'PUSH_PROMISE from a client',
		what: 'a promise in the wrong direction',
		tape: (env) => ({ parts: [
			{ bytes: request(env, 1, { path: '/never' }), frames: 1 },
			{ bytes: frame('PUSH_PROMISE', FLAG.END_HEADERS, 1, Buffer.concat([u32(2), block(env)])), frames: 1 },
		] }),
		expect: { end: ['GOAWAY PROTOCOL_ERROR promise-from-client', 'closed'], cpu: 1000 },
	},
	{
		name: 'churn of whole requests',
		what: 'requests as fast as they are answered: honest, and nobody is ended for it',
		attack: churn,
		expect: { cpu: 400, judge: (r) => (r.responses > 100 ? null : `only ${r.responses} responses`) },
	},
];
