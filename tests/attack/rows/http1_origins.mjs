/* SPDX-License-Identifier: MIT */
/*
 * Attacks by an origin that speaks HTTP/1.1: slow and endless messages, framing that lies, bytes that no request asked
 * for, and connections that end at the worst time. Whatever it does, no client may get what another one asked for, and
 * nothing that was cut off may look complete.
 */
import { Evil1, head1, page1, visit1 } from '../evil1.mjs';
import { CHUNKED, FOREIGN, ask, chunk, text } from '../plain.mjs';
import { request, sleep } from '../raw.mjs';
import { frame, settingsPayload } from '../../support/frames.mjs';

const LIMIT = '700ms';
/* More than all sockets on the way hold. */
const LARGE = Buffer.alloc(16 << 20, 'x');
const DATA = Buffer.alloc(16384, 'x');
const times = (n, bytes) => Buffer.concat(Array.from({ length: n }, () => bytes));
/* A whole response that belongs to no request. */
const STRANGER = text(['HTTP/1.1 200 OK', `Content-Length: ${FOREIGN.length}`, 'Cache-Control: max-age=60', '', FOREIGN]).subarray(0, -2);
const EARLY = text(['HTTP/1.1 103 Early Hints', 'Link: </a>; rel=preload', '']);

/* `first`, and then the same bytes again and again for as long as the connection lives. */
const pouring = (first, bytes, pieces = 1, pace = 1) => async (line, m) => {
	await line.send(Buffer.from(first(m)));
	while (!line.over) {
		await line.send(bytes, pieces);
		await sleep(pace);
	}
};
/* The response a byte at a time. */
const dribbling = (make, every = 50) => async (line, m) => {
	const [begin, rest] = make(m);
	await line.send(begin);
	for (let at = 0; at < rest.length && !line.over; at++) {
		await line.send(rest.subarray(at, at + 1), 0);
		await sleep(every);
	}
};
/* Sends and ends: by FIN, or by RST. */
const sendAndEnd = (make, how = 'end') => async (line, m) => {
	await line.send(make(m));
	if (how === 'end')
		line.socket.end();
	else
		line.socket.resetAndDestroy();
};

function attack(name, what, serve, { expect = {}, options, visitors, ...row }) {
	return {
		name: `HTTP/1.1 origin: ${name}`, what, http1: true, ms: 2000, brief: row.ms ?? (row.evil ? 2000 : 1000), ...row,
		listen: (env) => new Evil1(serve, options).listen(env.evil),
		attack: (env, clock, origin) => visit1(env, clock, origin, visitors),
		expect: { end: null, log: /evil/, ...expect },
	};
}
/* A response that cannot be read: 502 for everybody. */
const bad = (name, what, serve, faults, more = {}) => attack(name, what, serve, {
	...more, expect: { statuses: [502], faults, cpu: 1500, ...more.expect },
});
/* What begins and does not end well: nobody takes it for a whole response. */
const nobodyServed = (result) => (result.one.responses === 0 && !(result.client.responses > 0)
	? undefined : `${result.one.responses} and ${result.client.responses} responses look whole`);
const cut = (name, what, serve, more = {}) => attack(name, what, serve, {
	...more, expect: { resets: null, cpu: 1500, judge: nobodyServed, ...more.expect },
});
/* All clients are served, and with what is theirs. */
const served = (name, what, serve, more = {}) => attack(name, what, serve, {
	...more, expect: { statuses: [200], cpu: 1500, ...more.expect },
});

const uploads = {
	parallel: 8, connections: 4,
	ask: (c, id) => c.send(Buffer.concat([request({ scheme: 'http', authority: 'evil.test' }, id, { method: 'POST', path: '/upload' }, 0),
		times(15, frame('DATA', 0, id, DATA))]), 0),
	one: { ask: (c, target) => c.call(ask({ authority: 'evil.test' }, target, { method: 'POST', fields: { 'content-length': LARGE.length }, body: DATA }), { method: 'POST', target }) },
};
const whole = { ask: (c, target) => c.call(ask({ authority: 'evil.test' }, target, { method: 'POST', fields: { 'content-length': LARGE.length }, body: LARGE }), { method: 'POST', target }) };

/* A client alone: between its requests the connection is idle. */
const alone = { connections: 0, count: 1, one: { pace: 30 } };

export const http1Origins = [
	attack('slow heads', 'a byte of the head every 50 ms', dribbling((m) => [Buffer.from('H'), page1(m).subarray(1)]), {
		ms: 3000, evil: { 'response-timeout': LIMIT }, expect: { statuses: [504], cpu: 1500 },
	}),
	attack('no response', 'takes requests and answers none', (line) => { line.frames++; }, {
		evil: { 'response-timeout': LIMIT }, expect: { statuses: [504], cpu: 3000 },
	}),
	bad('an endless head', 'fields without end', pouring((m) => head1(m).subarray(0, -2), times(50, Buffer.from(`a: ${'b'.repeat(100)}\r\n`)), 50), ['head-too-large'], { expect: { cpu: 40 } }),
	bad('an endless status line', 'a reason without end', pouring(() => 'HTTP/1.1 200 ', DATA), ['head-too-large'], { expect: { cpu: 400 } }),
	bad('an endless head of tiny fields', 'field lines of one byte without end', pouring((m) => head1(m).subarray(0, -2), times(1000, Buffer.from('a:\r\n')), 1000), [], { expect: { cpu: 10 } }),
	bad('interim responses', 'more 103s than anybody needs', (line) => line.send(times(60, EARLY), 60), ['interim-responses-many'], { expect: { statuses: [502, 103], cpu: 100 } }),
	bad('endless interim responses', '103s without end', pouring(() => '', times(20, EARLY), 20), ['interim-responses-many'], { expect: { statuses: [502, 103], cpu: 100 } }),
	bad('slow interim responses', 'a 103 now and then, and never more', pouring(() => '', EARLY, 1, 20), ['interim-responses-many'], { ms: 3000, expect: { statuses: [502, 103], cpu: 500 } }),
	bad('another protocol', '101 that nobody asked for', (line) => line.send(text(['HTTP/1.1 101 Switching Protocols', 'Upgrade: h2c', 'Connection: upgrade', ''])), []),
	bad('HTTP/2', 'SETTINGS where a response should be', (line) => line.send(frame('SETTINGS', 0, 0, settingsPayload({}))), []),
	bad('noise', 'bytes without a meaning', (line, m) => line.send(Buffer.from(Array.from({ length: 500 }, (_, i) => (i * 7919 + m.target.length) % 251))), []),
	bad('two framings', 'Transfer-Encoding together with Content-Length', (line, m) => line.send(head1(m, { ...CHUNKED, 'content-length': 3 })), ['coding-and-length']),
	bad('Connection nominates', 'content-length as an option of the connection', (line, m) => line.send(page1(m, 'x', { connection: 'content-length' })), ['connection-nominates']),
	cut('endless trailers', 'trailer fields without end', pouring((m) => Buffer.concat([head1(m, CHUNKED), chunk('x'), Buffer.from('0\r\n')]),
		times(100, Buffer.from(`a: ${'b'.repeat(100)}\r\n`)), 100), { expect: { faults: ['trailers-too-large'], cpu: 40 } }),
	cut('chunk extensions', 'an extension with each chunk', pouring((m) => head1(m, CHUNKED), times(100, chunk('x', `;${'a'.repeat(20)}=b`)), 100), {
		expect: { faults: ['chunk-extensions-large'], cpu: 40 },
	}),
	cut('an endless chunk extension', 'one extension without end', pouring((m) => Buffer.concat([head1(m, CHUNKED), Buffer.from('1;a="')]), Buffer.alloc(1000, 'b')), {
		expect: { faults: ['chunk-extensions-large'], cpu: 500 },
	}),
	cut('bad chunks', 'a chunk that is longer than it says', (line, m) => line.send(Buffer.concat([head1(m, CHUNKED), Buffer.from('3\r\nabcdef\r\n0\r\n\r\n')])), { expect: { faults: ['chunk-end-missing'] } }),
	cut('chunks of one byte', 'a body without end in chunks of one byte', pouring((m) => head1(m, CHUNKED), times(1000, chunk('x')), 1000), { visitors: { parallel: 1 }, expect: { cpu: 20 } }),
	cut('an endless page', 'a body that only the end of the connection ends', pouring((m) => head1(m), DATA), { visitors: { parallel: 1 }, expect: { cpu: 400 } }),
	cut('an endless page, unread', 'a body without end, for clients that read nothing', pouring((m) => head1(m, CHUNKED), chunk(DATA)), {
		visitors: { parallel: 8, reads: false, pace: 20, one: { reads: false } }, listener: { 'write-timeout': LIMIT }, expect: { cpu: 2000 },
	}),
	cut('a body by the byte', 'a byte of the announced body every 100 ms', dribbling((m) => [head1(m, { 'content-length': 100000 }), DATA], 100), {
		ms: 3000, evil: { 'body-timeout': LIMIT, 'min-rate': 1000 }, expect: { counters: ['pushgate_end_total{cause="response-stalled"}'] },
	}),
	cut('Content-Length too large', 'and the connection ends', sendAndEnd((m) => Buffer.concat([head1(m, { 'content-length': 1000 }), DATA.subarray(0, 500)]))),
	cut('cut off in a chunk', 'and the connection ends', sendAndEnd((m) => Buffer.concat([head1(m, CHUNKED), Buffer.from('ff\r\nabc')]))),
	cut('cut off between chunks', 'and the connection ends', sendAndEnd((m) => Buffer.concat([head1(m, CHUNKED), chunk('abc')]))),
	cut('cut off in the trailers', 'and the connection ends', sendAndEnd((m) => Buffer.concat([head1(m, CHUNKED), Buffer.from('3\r\nabc\r\n0\r\na: b\r\n')]))),
	cut('reset in a body', 'one that only the end of the connection ends', sendAndEnd((m) => Buffer.concat([head1(m), DATA]), 'reset'), {
		/* RST takes what was not read with it: then nothing of a response came. */
		expect: { judge: (r) => ((r.one.statuses[200] ?? 0) === 0 ? undefined : `${r.one.statuses[200]} responses look whole`) },
	}),
	bad('ends in the head', 'half a head and FIN', sendAndEnd((m) => head1(m).subarray(0, 20)), []),
	bad('ends after a 103', 'an interim response and FIN', sendAndEnd(() => EARLY), [], { expect: { statuses: [502, 103] } }),
	bad('reset at each request', 'RST for an answer', sendAndEnd(() => Buffer.alloc(0), 'reset'), []),
	attack('reset at once', 'RST as soon as a connection is there', () => {}, {
		options: { accept: (line) => { line.frames++; line.socket.resetAndDestroy(); } }, expect: { statuses: [502, 503, 504], cpu: 3000 },
	}),
	/* ---- bytes that no request asked for: behind a request that has left, nobody can tell them from its response ---- */
	served('a response on an idle connection', 'one that nobody asked for, some milliseconds behind each response', async (line, m) => {
		await line.send(page1(m));
		await sleep(3);
		line.send(STRANGER, 1);
	}, { visitors: alone, expect: { faults: ['response-unasked'] } }),
	served('surplus behind a response', 'another response in the same breath', (line, m) => line.send(Buffer.concat([page1(m), STRANGER])), { expect: { faults: ['response-unasked'] } }),
	served('surplus behind chunks', 'another response behind the last chunk', (line, m) => line.send(Buffer.concat([head1(m, CHUNKED), chunk('x'), Buffer.from('0\r\n\r\n'), STRANGER])), {
		expect: { faults: ['response-unasked'] },
	}),
	served('Content-Length too small', 'what is behind it looks like a response', (line, m) => line.send(Buffer.concat([head1(m, { 'content-length': 1 }), Buffer.from('x'), STRANGER])), {
		expect: { faults: ['response-unasked'] },
	}),
	served('a byte too much', 'one byte behind each response, in a piece of its own', async (line, m) => {
		await line.send(page1(m));
		line.send(Buffer.from('H'), 0);
	}, { visitors: alone, expect: { faults: ['response-unasked'] } }),
	served('a body for HEAD', 'which has none', (line, m) => line.send(Buffer.concat([head1(m, { 'content-length': STRANGER.length }), STRANGER])), {
		visitors: {
			ask: (c, id) => c.send(request({ scheme: 'http', authority: 'evil.test' }, id, { method: 'HEAD', path: '/evil' }), 0),
			one: { ask: (c, target) => c.call(ask({ authority: 'evil.test' }, target, { method: 'HEAD' }), { method: 'HEAD', target }) },
		},
		expect: { faults: ['response-unasked'] },
	}),
	served('a body for 204', 'which has none', (line, m) => line.send(Buffer.concat([head1(m, {}, '204 No Content'), STRANGER])), { expect: { statuses: [204], faults: ['response-unasked'] } }),
	attack('a response before any request', 'as soon as a connection is there', (line, m) => line.send(page1(m)), {
		/* Where the first request has left already, the origin's own clients get what it sends, one request off. */
		options: { accept: (line) => line.send(STRANGER) },
		expect: { strangers: true, statuses: [200, 502, 503], faults: ['response-unasked'], cpu: 3000 },
	}),
	/* ---- connections that are gone ---- */
	served('closed behind each response', 'without a word', sendAndEnd((m) => page1(m)), { expect: { cpu: 2000 } }),
	served('closed a moment later', 'when the next request may be on its way', async (line, m) => {
		await line.send(page1(m));
		await sleep(Math.random() * 4);
		line.socket.end();
	}, { visitors: { pace: 2 }, expect: { cpu: 2000 } }),
	served('Keep-Alive: timeout=2', 'and closes in the second before it', async (line, m) => {
		clearTimeout(line.timer);
		await line.send(page1(m, 'x', { 'keep-alive': 'timeout=2' }));
		line.timer = setTimeout(() => line.socket.end(), 1000 + Math.random() * 100);
	}, { ms: 4000, visitors: { pace: 990, one: { pace: 995 } } }),
	served('Keep-Alive: timeout=1', 'and closes after a second', async (line, m) => {
		clearTimeout(line.timer);
		await line.send(page1(m, 'x', { 'keep-alive': 'timeout=1' }));
		line.timer = setTimeout(() => line.socket.end(), 1000);
	}, { ms: 3000, visitors: { pace: 990, one: { pace: 995 } } }),
	/* ---- uploads ---- */
	attack('uploads unread', 'reads nothing of what clients send', (line) => {
		line.frames++;
		line.socket.pause();
	}, { options: { atHead: true }, visitors: { connections: 0, count: 4, one: whole }, evil: { 'write-timeout': LIMIT, 'response-timeout': '1s' }, expect: { statuses: [502, 504], counters: ['pushgate_connection_timeouts_total{side="origin",timeout="write-timeout"}'], cpu: 50000 } }),
	attack('answers before the upload is there', 'and closes the connection', sendAndEnd((m) => page1(m)), {
		options: { atHead: true }, visitors: uploads, expect: { statuses: [200, 502], cpu: 20000 },
	}),
	/* Each upload is read on for upload-linger, so their number bounds the memory: paced, it is the same on any machine. */
	attack('resets uploads', 'after their head', sendAndEnd(() => Buffer.alloc(0), 'reset'), {
		options: { atHead: true }, visitors: { ...uploads, pace: 20, one: { ...uploads.one, pace: 20 } }, expect: { statuses: [502], cpu: 20000 },
	}),
];
