/* SPDX-License-Identifier: MIT */
/* Attacks by an origin: on whoever stands between it and the clients, and on the other origins' clients. */
import { FLAG, frame, settingsPayload, u32 } from '../../support/frames.mjs';
import { integer, string } from '../../support/hpack.mjs';
import { Evil, OK, fields, head, page, promise, promised, visit } from '../evil.mjs';
import { request, sleep } from '../raw.mjs';

const EARLY = fields({ ':status': '103', link: '</a>; rel=preload' });
const DATA = Buffer.alloc(16384, 'x');
const times = (n, make) => Buffer.concat(Array.from({ length: n }, (_, i) => make(i)));

/* The same frames again and again, for as long as the connection lives. */
async function pour(line, bytes, frames, pace = 1) {
	while (!line.over) {
		await line.send(bytes, frames);
		await sleep(pace);
	}
}
/* Each connection is poured into once, from its first request on. */
const pouring = (make, size = 100) => (line, id) => {
	if (line.isPouring)
		return;
	line.isPouring = true;
	pour(line, times(size, () => make(id)), size);
};

function attack(name, what, serve, { expect = {}, options, visitors, listen, ...row }) {
	return {
		name: `origin: ${name}`, what, ms: 2000, brief: row.ms ?? (row.evil ? 2000 : 1000), ...row,
		listen: listen ?? ((env) => new Evil(serve, options).listen(env.evil)),
		attack: (env, clock, origin) => visit(env, clock, origin, visitors),
		expect: { log: /evil/, ...expect },
	};
}
const calm = (...faults) => [...faults.map((f) => `GOAWAY ENHANCE_YOUR_CALM ${f}`), 'closed'];
const flood = (name, what, make, fault, more = {}) => attack(name, what, pouring(make), {
	...more, expect: { end: calm(fault), cpu: 20, ...more.expect },
});
/* Clients are told that it went wrong, and never by silence. */
const told = (result) => (result.client.responses + Object.keys(result.client.resets).length > 0 ? undefined : 'the clients heard nothing');

/* 100,000 resources for one page, none of which ever comes. */
function promiseMuch(line, id) {
	if (line.isPouring)
		return line.send(page(id));
	line.isPouring = true;
	return (async () => {
		for (let i = 0; i < 1000 && !line.over; i++) {
			await line.send(times(100, () => promise(id, promised(line))), 100);
			await sleep(1);
		}
		await line.send(page(id));
	})();
}

/* Many parents, of which none is ever answered. */
function promiseAndNoMore(line, id) {
	const ids = Array.from({ length: line.takesPushes ? 8 : 0 }, () => promised(line));
	line.send(Buffer.concat(ids.map((p) => promise(id, p))), ids.length);
}
const unanswered = {
	server: { 'push-start-timeout': '500ms', 'reset-rate': 1000000, 'promise-refusals': 1000000 }, evil: { 'response-timeout': '700ms' },
	visitors: { connections: 4, parallel: 100, pace: 0 },
	expect: { end: null, resets: null, cpu: 100, judge: (r) => (r.client.statuses[504] > 0 ? undefined : 'no client got a 504') },
};

/* Eight promises a page; what becomes of them is each row's own. */
const promising = (then) => (line, id) => {
	const ids = Array.from({ length: 8 }, () => promised(line));
	line.send(Buffer.concat([...ids.map((p) => promise(id, p)), page(id), ...ids.map((p) => then(p))]), 8 + 2 + 8);
};

async function endless(line, id, origin) {
	await line.send(head(id));
	await origin.fill(line, id, DATA);
}
function endlessPush(line, id, origin) {
	const p = promised(line);
	line.send(Buffer.concat([promise(id, p), page(id), head(p)]), 4);
	origin.fill(line, p, DATA);
}
/* And without a look at windows or resets. */
function ruthless(line, id) {
	const p = promised(line);
	line.send(Buffer.concat([promise(id, p), page(id), head(p)]), 4);
	pouring(() => frame('DATA', 0, p, DATA.subarray(0, 1000)))(line, id);
}

/* On each stream a frame more than its window has room for; and on the first without end. */
async function overrun(line, id) {
	const frames = Math.floor(line.initial / DATA.length) + 1;
	await line.send(Buffer.concat([head(id), times(frames, () => frame('DATA', 0, id, DATA))]), 1 + frames);
	pouring(() => frame('DATA', 0, id, DATA), 4)(line, id);
}

/* No table takes it. */
const LARGE = fields({ ':status': '103', 'x-large': 'x'.repeat(16000) });
const name = Buffer.from([0x40]);
const bomb = Buffer.concat([OK, name, string('bomb'), string('x'.repeat(4000)), Buffer.alloc(12000, 0x80 | 62)]);
const never = () => {};
/* As much as the stream's window takes at once; on many streams that is more than a socket holds. */
const body = (id) => times(15, () => frame('DATA', 0, id, DATA));
const upload = { ask: (c, id) => c.send(Buffer.concat([
	request({ scheme: 'http', authority: 'evil.test' }, id, { method: 'POST', path: '/upload' }, 0), body(id),
]), 0), parallel: 8, connections: 4 };
const LIMIT = '700ms';

export const origins = [
	attack('100,000 promises for a page', 'promises of which none is ever answered', promiseMuch, {
		server: { 'push-start-timeout': '1s' },
		expect: { end: null, resets: ['REFUSED_STREAM', 'CANCEL'], cpu: 20 },
	}),
	attack('promise and reset', 'eight promises a page, each taken back at once', promising((id) => frame('RST_STREAM', 0, id, u32(8))), {
		expect: { end: null, resets: null, cpu: 40, judge: told },
	}),
	attack('promises without responses', 'eight promises a page and nothing more', promising(() => Buffer.alloc(0)), {
		server: { 'push-start-timeout': '500ms' },
		expect: { end: null, resets: null, cpu: 40, judge: (r) => (r.resets.CANCEL > 0 ? undefined : 'no promise was given up') },
	}),
	attack('promises on many parents', 'eight promises for each of 400 requests at a time, and never an answer', promiseAndNoMore, unanswered),
	attack('promises on many parents, held', 'the same where pushes are held', promiseAndNoMore, {
		...unanswered, rules: '[push keep]\naction = hold\n', server: { ...unanswered.server, 'hold-max-count': 1000 },
	}),
	attack('promise flood', 'as many promises as go onto the wire', (line, id) => promiseMuch(line, id), {
		server: { 'promise-refusals': 1000000, 'reset-rate': 1000000 }, evil: { 'limit-promises': '100/s burst 1000' },
		expect: { end: [...calm('promise-flood'), 'GOAWAY PROTOCOL_ERROR promise-while-disabled'], resets: null, cpu: 20 },
	}),
	attack('endless page', 'a body that never ends', endless, { visitors: { parallel: 1 }, expect: { end: null, cpu: 100 } }),
	attack('more than the window', 'DATA that waits for no WINDOW_UPDATE', overrun, {
		/* Clients that take nothing: then no window is opened any further, however fast anybody is. */
		visitors: { settings: { initialWindowSize: 0 } },
		expect: { end: null, resets: ['FLOW_CONTROL_ERROR', 'CANCEL'], faults: ['window-overrun'], cpu: 100, judge: told },
	}),
	attack('endless page, unread', 'a body that never ends, for clients that read nothing', endless, {
		visitors: { parallel: 8, reads: false, pace: 20 }, listener: { 'write-timeout': LIMIT },
		expect: { end: null, cpu: 100 },
	}),
	attack('endless push', 'a pushed body that never ends', endlessPush, { visitors: { parallel: 1 }, expect: { end: null, cpu: 100 } }),
	attack('endless push, dropped', 'a body that never ends on a push that was refused', endlessPush, {
		rules: '[push none]\npromised-path = /pushed/*\naction = drop\n', visitors: { parallel: 1 }, expect: { end: null, cpu: 100, judge: told },
	}),
	attack('endless push, dropped, and goes on', 'DATA for a push that was refused, whatever we say', ruthless, {
		rules: '[push none]\npromised-path = /pushed/*\naction = drop\n', visitors: { parallel: 1 }, expect: { end: null, cpu: 40, judge: told },
	}),
	attack('endless push, held', 'a body that never ends on a push that is held', endlessPush, {
		rules: '[push keep]\naction = hold\n', visitors: { parallel: 1 }, expect: { end: null, cpu: 100, judge: told },
	}),
	attack('interim responses', 'more 103s than anybody needs', (line, id) => line.send(times(40, () => head(id, EARLY)), 40), {
		expect: { end: null, resets: ['ENHANCE_YOUR_CALM'], faults: ['interim-flood'], cpu: 40, judge: (r) => (r.client.statuses[502] > 0 ? undefined : 'no client got a 502') },
	}),
	attack('heads unread', '30 interim responses of 16 KB for each of 400 requests, for clients that read nothing', async (line, id) => {
		await sleep(500); /* as long as little waits, more requests are taken */
		await line.send(times(30, () => head(id, LARGE)), 30);
	}, {
		visitors: { connections: 4, parallel: 100, pace: 0, reads: false }, server: { 'connection-memory': '1M' },
		expect: { end: null, cpu: 2000 },
	}),
	attack('CONTINUATION flood in a response', 'a field block that never ends', (line, id) => {
		line.send(frame('HEADERS', 0, id, OK));
		pouring(() => frame('CONTINUATION', 0, id, Buffer.alloc(0)))(line, id);
	}, { expect: { end: calm('continuation-flood'), cpu: 20, judge: told } }),
	attack('CONTINUATION flood in a promise', 'a promise whose field block never ends', (line, id) => {
		line.send(frame('PUSH_PROMISE', 0, id, Buffer.concat([u32(promised(line)), OK])));
		pouring(() => frame('CONTINUATION', 0, id, Buffer.from([0x82])))(line, id);
	}, { expect: { end: calm('continuation-flood'), cpu: 20, judge: told } }),
	attack('bomb in a response', '48 MiB of fields out of 16 KiB', (line, id) => line.send(head(id, bomb, FLAG.END_STREAM)), {
		expect: { end: null, resets: ['ENHANCE_YOUR_CALM'], cpu: 400, judge: (r) => (r.client.statuses[502] > 0 ? undefined : 'no client got a 502') },
	}),
	attack('bomb in promises', 'the same in promises', (line, id) => {
		const bytes = Buffer.concat([fields({ ':method': 'GET', ':scheme': 'http', ':authority': 'evil.test', ':path': '/b' }), bomb.subarray(OK.length)]);
		line.send(Buffer.concat([frame('PUSH_PROMISE', FLAG.END_HEADERS, id, Buffer.concat([u32(promised(line)), bytes])), page(id)]), 3);
	}, { expect: { end: null, resets: ['REFUSED_STREAM'], cpu: 400, judge: told } }),
	attack('table churn', 'size updates and entries that push each other out', (line, id) => line.send(head(id, Buffer.concat([
		...Array.from({ length: 2 }, (_, i) => integer(i ? 4096 : 0, 5, 0x20)), OK,
		...Array.from({ length: 100 }, (_, i) => Buffer.concat([name, string(`x${i % 10}`), string(String(i))])),
	]), FLAG.END_STREAM)), { expect: { end: null, cpu: 200, judge: told } }),
	flood('SETTINGS flood', 'SETTINGS that all want an acknowledgement', () => frame('SETTINGS', 0, 0, settingsPayload({})), 'settings-flood'),
	flood('PING flood', 'PINGs that all want an answer', () => frame('PING', 0, 0, Buffer.alloc(8)), 'ping-flood'),
	flood('PING flood, answers unread', 'and reads none', () => frame('PING', 0, 0, Buffer.alloc(8)), 'ping-flood', {
		listen: (env) => new Evil(never, { accept: (line) => {
			setTimeout(() => line.socket.pause(), 100);
			setTimeout(() => pouring(() => frame('PING', 0, 0, Buffer.alloc(8)))(line, 0), 150);
		} }).listen(env.evil),
		expect: { end: ['closed'], faults: ['ping-flood'] },
	}),
	flood('empty DATA', 'DATA without a byte', (id) => frame('DATA', 0, id), 'empty-frame-flood', {
		listen: (env) => new Evil((line, id) => {
			line.send(head(id));
			pouring(() => frame('DATA', 0, id))(line, id);
		}).listen(env.evil),
	}),
	flood('WINDOW_UPDATE flood', 'a byte of window at a time', () => frame('WINDOW_UPDATE', 0, 0, u32(1)), 'window-update-flood',
		{ evil: { 'limit-window-updates': '1000/s' } }),
	flood('PRIORITY flood', 'frames without effect', (id) => frame('PRIORITY', 0, id, Buffer.concat([u32(0), Buffer.from([16])])), 'priority-flood'),
	attack('window overflow', 'more window than there can be', (line) => line.send(frame('WINDOW_UPDATE', 0, 0, u32(0x7fffffff))), {
		expect: { end: ['GOAWAY FLOW_CONTROL_ERROR connection-window-overflow', 'closed'], cpu: 1000, judge: told },
	}),
	attack('every request refused', 'REFUSED_STREAM for each request, and so for each retry', (line, id) => line.send(frame('RST_STREAM', 0, id, u32(7))), {
		expect: { end: null, cpu: 200, judge: (r) => (r.client.statuses[503] > 0 ? undefined : 'no client got a 503') },
	}),
	attack('GOAWAY for each request', 'no connection takes a request', (line) => line.send(frame('GOAWAY', 0, 0, Buffer.concat([u32(0), u32(0)]))), {
		expect: { end: null, cpu: 1500, judge: told },
	}),
	attack('connections that die', 'each is closed at its first request', (line) => { line.frames++; line.socket.destroy(); }, {
		expect: { end: null, cpu: 1500, judge: (r) => (r.client.statuses[502] > 0 ? undefined : 'no client got a 502') },
	}),
	attack('silence', 'accepts and says nothing', never, {
		options: { silent: true, reads: false, accept: (line) => { line.frames++; } }, evil: { 'settings-timeout': LIMIT, 'queue-timeout': '1s', 'connect-timeout': LIMIT },
		expect: { end: null, judge: (r) => (r.client.statuses[504] || r.client.statuses[503] || r.client.statuses[502] ? undefined : 'no client got a 5xx') },
	}),
	attack('no response', 'takes requests and answers none', (line) => { line.frames++; }, {
		evil: { 'response-timeout': LIMIT }, expect: { end: null, judge: (r) => (r.client.statuses[504] > 0 ? undefined : 'no client got a 504') },
	}),
	attack('a body by the byte', 'a byte of the announced body every 100 ms', async (line, id) => {
		await line.send(head(id, fields({ ':status': '200', 'content-length': '100000' })));
		while (!line.over && line.socket.writable) {
			await line.send(frame('DATA', 0, id, Buffer.from('x')));
			await sleep(100);
		}
	}, {
		evil: { 'body-timeout': LIMIT, 'min-rate': 1000 }, ms: 3000,
		expect: { end: null, resets: ['CANCEL'], judge: (r) => (r.client.resets.INTERNAL_ERROR > 0 ? undefined : 'no client was told') },
	}),
	attack('a head by the byte', 'a field block of which a byte comes every 50 ms', async (line, id) => {
		if (line.isPouring)
			return;
		line.isPouring = true;
		await line.send(Buffer.from([0, 0x10, 0, 1, 4, 0, 0, 0, id]), 1);
		while (!line.over) {
			await line.send(Buffer.from('x'), 0);
			await sleep(50);
		}
	}, {
		evil: { 'response-timeout': LIMIT }, expect: { end: null, judge: (r) => (r.client.statuses[504] > 0 ? undefined : 'no client got a 504') },
	}),
	attack('uploads unread', 'reads nothing of what clients send', (line) => {
		line.frames++;
		line.socket.pause();
	}, {
		visitors: upload, evil: { 'write-timeout': LIMIT, 'response-timeout': '1s' },
		expect: { end: null, judge: told },
	}),
	attack('uploads without window', 'never opens a window', (line) => { line.frames++; }, {
		options: { settings: { initialWindowSize: 0 } }, visitors: upload, evil: { 'write-timeout': LIMIT, 'response-timeout': '1s' },
		expect: { end: null, judge: told },
	}),
];
