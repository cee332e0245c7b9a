/* SPDX-License-Identifier: MIT */
/*
 * What an origin may answer to a request for a tunnel, and what may come of it, for clients of either version: {row,
 * name, write(accept) | answer(stream, headers, out), h1, h2}. h1 and h2 are outcomes (smuggle_tunnels.mjs).
 */
import { AUTHORITY, evil, own } from './smuggle_forms.mjs';
import { LOOKS } from './smuggle_forms_tunnel.mjs';
import { KEY, acceptOf } from './smuggle_tunnels.mjs';

const latin1 = (text) => Buffer.from(text, 'latin1');
const show = (text) => JSON.stringify(text.length > 50 ? `${text.slice(0, 40)}… (${text.length})` : text)
	.replace(/[\x7f-\xff]/g, (c) => `\\x${c.charCodeAt(0).toString(16)}`);

const list = [];
/* isAlone: beside no other. ends: the origin ends the connection behind its answer. says: bytes of the tunnel that come with the answer. */
const add = (row, name, write, want, more = {}) => list.push({ row, name, write, ends: false, says: '', ...(Array.isArray(want) ? { h1: want, h2: want } : want), ...more });
const each = (row, what, texts, write, want, more) => texts.forEach((text) => add(row, `${what} ${show(text)}`, (accept) => write(accept, text), want, more));

const FIRST = 'HTTP/1.1 101 Switching Protocols\r\n';
const UP = 'Connection: upgrade\r\nUpgrade: websocket\r\n';
const good = (accept, lines = '') => `${FIRST}${UP}Sec-WebSocket-Accept: ${accept}\r\n${lines}\r\n`;
const OPEN = ['tunnel'];
const BAD = ['refused'];
/* Well formed in the eyes of some. */
const EITHER = ['tunnel', 'refused'];

/* ---- 101 ---- */

add('101', 'as it is', (a) => good(a), OPEN);
add('101', 'with fields', (a) => good(a, 'Sec-WebSocket-Protocol: chat\r\nSet-Cookie: a=b\r\nDate: x\r\n'), OPEN);
each('101', 'the reason', ['', ' ', ' OK', ' Web Socket Protocol Handshake'], (a, text) => good(a).replace(' Switching Protocols', text || ' '), OPEN);
each('101', 'Connection', ['Upgrade', 'UPGRADE', 'keep-alive, Upgrade', 'upgrade\r\nConnection: x'], (a, text) => good(a).replace('upgrade', text), OPEN);
each('101', 'Upgrade', ['WebSocket', 'WEBSOCKET', ' websocket '], (a, text) => good(a).replace(': websocket', `: ${text}`), OPEN);
add('101', 'behind a 100', (a) => `HTTP/1.1 100 Continue\r\n\r\n${good(a)}`, EITHER);
add('101', 'behind a 103', (a) => `HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n${good(a)}`, OPEN);
add('101', 'in pieces', (a) => good(a), OPEN, { pieces: 3 });
for (const [what, bytes] of Object.entries(LOOKS))
	add('101, and bytes behind it', what, (a) => good(a), OPEN, { says: bytes(0).replaceAll('/evil/n0n', '/x') });
add('101, and bytes behind it', 'the same 101 again', (a) => good(a), OPEN, { says: good(acceptOf(KEY)) });
add('101, and bytes behind it', 'and the end', (a) => good(a), OPEN, { says: 'bye', ends: true });

each('accept', '', ['', 'x', ' ', 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=', 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=', KEY], (a, text) => good(text), BAD);
add('accept', 'none', () => `${FIRST}${UP}\r\n`, BAD);
add('accept', 'of our key, its letters turned round', (a) => good(a.replace(/[A-Za-z]/g, (c) => (c < 'a' ? c.toLowerCase() : c.toUpperCase()))), BAD);
add('accept', 'cut', (a) => good(a.slice(0, -1)), BAD);
add('accept', 'and more', (a) => good(`${a}x`), BAD);
add('accept', 'and a list', (a) => good(`${a}, x`), BAD);
add('accept', 'two', (a) => good(a, 'Sec-WebSocket-Accept: x\r\n'), BAD);
add('accept', 'two, the wrong one first', (a) => good('x', `Sec-WebSocket-Accept: ${a}\r\n`), BAD);
add('accept', 'twice', (a) => good(a, `Sec-WebSocket-Accept: ${a}\r\n`), EITHER);
add('accept', 'with spaces around', (a) => good(` ${a}\t`), OPEN);
add('accept', 'with a byte of zero', (a) => good(`${a}\0`), BAD);

add('101 that is none', 'without Upgrade', (a) => good(a).replace('Upgrade: websocket\r\n', ''), BAD);
add('101 that is none', 'without Connection', (a) => good(a).replace('Connection: upgrade\r\n', ''), BAD);
each('101 that is none', 'Connection', ['close', 'keep-alive', 'x'], (a, text) => good(a).replace('upgrade', text), BAD);
each('101 that is none', 'Upgrade', ['h2c', 'websockets', 'websocket, h2c', 'h2c, websocket', '', 'websocket\r\nUpgrade: h2c', 'chat/2', 'websocket/13', 'websocket;x'], (a, text) => good(a).replace(': websocket', `: ${text}`), BAD);
each('101 that is none', 'the version', ['HTTP/1.0', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1', 'ICY'], (a, text) => good(a).replace('HTTP/1.1', text), EITHER);
each('101 that is none', 'the status', ['1010', '0101', '10', '102', '199', '1 01', '+101'], (a, text) => good(a).replace('101', text), ['refused', 'cut'], { ends: true });
add('101 that is none', 'Content-Length: 0', (a) => good(a, 'Content-Length: 0\r\n'), EITHER);
add('101 that is none', 'Content-Length: 5', (a) => good(a, 'Content-Length: 5\r\n'), EITHER, { says: 'hello' });
add('101 that is none', 'chunks', (a) => good(a, 'Transfer-Encoding: chunked\r\n'), EITHER, { says: '5\r\nhello\r\n0\r\n\r\n' });
add('101 that is none', 'a bare LF', (a) => good(a).replace('\r\n', '\n'), BAD);
add('101 that is none', 'a folded line', (a) => good(a, ' x\r\n'), BAD);
add('101 that is none', 'a line without a colon', (a) => good(a, 'x\r\n'), BAD);
add('101 that is none', 'a byte of zero', (a) => good(a, 'X: a\0b\r\n'), BAD);
add('101 that is none', 'half of it, and the end', (a) => good(a).slice(0, 60), BAD, { ends: true });
add('101 that is none', 'too large', (a) => good(a, `X: ${'y'.repeat(300000)}\r\n`), BAD);

/* ---- other answers ---- */

const page = (status, body = `no ${status}`, lines = '') => `HTTP/1.1 ${status} X\r\nContent-Length: ${body.length}\r\n${lines}\r\n${body}`;
for (const status of [301, 400, 401, 403, 404, 407, 426, 429, 500, 502, 503])
	add('refusals', String(status), () => page(status), ['passed'], { status, body: `no ${status}` });
add('refusals', 'chunked', () => 'HTTP/1.1 403 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n', ['passed'], { status: 403, body: 'hello' });
add('refusals', 'until the end', () => 'HTTP/1.1 403 X\r\n\r\nhello', ['passed'], { status: 403, body: 'hello', ends: true });
add('refusals', '304', () => 'HTTP/1.1 304 X\r\n\r\n', ['passed'], { status: 304 });
/* Others could be asked over this connection just then, twice. */
add('refusals', '401 and the end', () => page(401), ['passed'], { status: 401, body: 'no 401', ends: true, isAlone: true });
add('refusals', '401 and a request to close', () => page(401, 'no 401', 'Connection: close\r\n'), ['passed'], { status: 401, body: 'no 401' });
add('refusals', '426 with Upgrade', () => page(426, 'no 426', UP), ['passed'], { status: 426, body: 'no 426' });
add('refusals', '401 with an accept', (a) => page(401, 'no 401', `Sec-WebSocket-Accept: ${a}\r\n`), ['passed', 'refused'], { status: 401, body: 'no 401' });
add('refusals', '401, and a 101 behind it', (a) => page(401) + good(a), ['passed'], { status: 401, body: 'no 401' });
add('refusals', '401, and a response behind it', () => page(401) + page(200, 'evil'), ['passed'], { status: 401, body: 'no 401' });
add('refusals', '103, then 401', () => `HTTP/1.1 103 X\r\nLink: </x>\r\n\r\n${page(401)}`, ['passed'], { status: 401, body: 'no 401' });
/* To a client of HTTP/2 a 2xx opens the tunnel: it may not get one that does not. */
const NOT_2XX = { h1: ['ordinary', 'passed', 'refused'], h2: ['refused', 'reset'] };
for (const [status, body] of [['200', 'hello'], ['201', 'hello'], ['200', '']])
	add('2xx without a tunnel', `${status} ${show(body)}`, () => page(status, body), NOT_2XX, { status: Number(status), body });
add('2xx without a tunnel', '204', () => 'HTTP/1.1 204 X\r\n\r\n', NOT_2XX, { status: 204 });
add('2xx without a tunnel', 'with all that a 101 has', (a) => page(200, 'hello', `${UP}Sec-WebSocket-Accept: ${a}\r\n`), NOT_2XX, { status: 200, body: 'hello' });
add('2xx without a tunnel', 'and a 101 behind it', (a) => page(200, 'hello') + good(a), NOT_2XX, { status: 200, body: 'hello' });
add('2xx without a tunnel', 'until the end', () => 'HTTP/1.1 200 X\r\n\r\nhello', { h1: ['ordinary', 'passed', 'refused'], h2: ['refused', 'reset'] }, { status: 200, body: 'hello', ends: true });
add('2xx without a tunnel', 'a 101 in its body', (a) => page(200, good(a)), NOT_2XX, { status: 200, anyBody: true });
for (const bytes of ['', 'x', '\r\n', '<html>', 'HTTP/1.1', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '\0\0\0\x04\0\0\0\0\0', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', '\x16\x03\x01', '\x81\x05hello'])
	add('no answer', `${show(bytes)}, and the end`, () => bytes, ['refused', 'reset'], { ends: true });
add('no answer', 'a reset', () => null, ['refused', 'reset']);
add('no answer', 'half an answer, and the end', () => 'HTTP/1.1 401 X\r\nContent-Length: 10\r\n\r\nhello', ['cut', 'refused', 'reset'], { ends: true });

/*
 * Vectors of both client versions. The origin's answers for them: answers(first) gives what tunnelOrigin1 wants, for
 * vectors from number `first` on.
 */
export function openings(version) {
	return list.flatMap((form) => (form.says.length > 1000 ? ['glued'] : ['glued', 'late']).map((when) => ({
		...form, version, when, isAnswer: true, asksForTunnel: true, key: KEY, target: own, behind: evil, seen: 3, want: version === 2 ? form.h2 : form.h1,
		codes: ['INTERNAL_ERROR', 'CANCEL', 'PROTOCOL_ERROR', 'CONNECT_ERROR', 'HTTP_1_1_REQUIRED'],
		comes: () => latin1(form.says),
		head: (n) => `GET ${own(n)} HTTP/1.1\r\nHost: ${AUTHORITY}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`,
		request: (n) => ({ fields: [[':method', 'CONNECT'], [':protocol', 'websocket'], [':scheme', 'http'], [':authority', AUTHORITY], [':path', own(n)], ['sec-websocket-version', '13']] }),
	})));
}

/* Plays a form's answer at an origin of HTTP/1.1. */
export const answer1 = (v) => async (line, m) => {
	const bytes = v.write(acceptOf(m.headers['sec-websocket-key'] ?? ''));
	if (bytes === null) {
		line.socket.resetAndDestroy();
		return;
	}
	line.onTunnel = () => { if (v.want[0] === 'tunnel' && line.opening.bytes.length >= v.behind(0).length) line.finish(); };
	line.onTunnelEnd = () => line.finish();
	if (v.want.includes('tunnel'))
		line.opening.isOpen = true;
	else
		line.refuse();
	const all = bytes + v.says;
	for (let i = 0; i < (v.pieces ?? 1); i++) {
		const size = Math.ceil(all.length / (v.pieces ?? 1));
		line.write(all.slice(i * size, (i + 1) * size));
		await new Promise((resolve) => { setTimeout(resolve, v.pieces ? 5 : 0); });
	}
	if (v.ends)
		line.finish();
};

/* ---- an origin of HTTP/2 ---- */

const list2 = [];
const add2 = (name, answer, h1, h2, more = {}) => list2.push({ row: 'h2 origin', name, answer, h1, h2, says: '', ...more });
const open = (fields = {}, options = {}) => (stream) => { stream.opening.isOpen = true; stream.head({ ':status': 200, ...fields }, options); };
/* What is malformed in HTTP/2 is a 502, or a reset. */
const MALFORMED = ['refused', 'reset'];

for (const status of [200, 201, 202, 299])
	add2(`${status}`, (stream) => open({ ':status': status })(stream), OPEN, OPEN);
add2('with fields', open({ 'sec-websocket-protocol': 'chat', 'set-cookie': 'a=b' }), OPEN, OPEN);
add2('an accept', open({ 'sec-websocket-accept': 'x' }), EITHER, EITHER);
add2('behind a 103', (stream) => { stream.interim({ ':status': 103, link: '</x>' }); open()(stream); }, OPEN, OPEN);
add2('204', (stream) => open({ ':status': 204 })(stream), EITHER, EITHER);
add2('content-length: 0', open({ 'content-length': 0 }), EITHER, EITHER);
add2('content-length: 5', open({ 'content-length': 5 }), EITHER, EITHER, { says: 'hello' });
add2('content-length: 5, and more', open({ 'content-length': 5 }), [...EITHER, 'cut'], [...EITHER, 'cut', 'reset'], { says: 'hello, and more' });
add2('the end with the 200', open({}, { endStream: true }), EITHER, EITHER, { isEnded: true });
for (const [what, bytes] of Object.entries(LOOKS).filter(([, b]) => b(0).length < 60000))
	add2(`behind the 200: ${what}`, open(), OPEN, OPEN, { says: bytes(0).replaceAll('/evil/n0n', '/x') });
add2('101', (stream) => stream.head({ ':status': 101, upgrade: 'websocket' }), MALFORMED, MALFORMED);
add2('101 alone', (stream) => stream.head({ ':status': 101 }), MALFORMED, MALFORMED);
for (const [name, value] of [['connection', 'upgrade'], ['upgrade', 'websocket'], ['transfer-encoding', 'chunked']])
	add2(`200 with ${name}`, (stream) => stream.head({ ':status': 200, [name]: value }), MALFORMED, MALFORMED);
add2('200 with :protocol', (stream) => stream.head({ ':status': 200, ':protocol': 'websocket' }), MALFORMED, MALFORMED);
for (const status of [301, 400, 401, 403, 404, 426, 500, 501, 503])
	add2(`${status}`, (stream, headers, out) => { stream.head({ ':status': status }); out.write(`no ${status}`); out.end(); }, ['passed'], ['passed'], { status, body: `no ${status}` });
add2('304', (stream) => stream.head({ ':status': 304 }, { endStream: true }), ['passed'], ['passed'], { status: 304 });
add2('403 and no end', (stream) => { stream.head({ ':status': 403, 'content-length': 5 }); stream.connection.data(stream.id, 'hello', { endStream: true }); }, ['passed'], ['passed'], { status: 403, body: 'hello' });
for (const code of ['CANCEL', 'PROTOCOL_ERROR', 'INTERNAL_ERROR', 'CONNECT_ERROR', 'HTTP_1_1_REQUIRED', 'REFUSED_STREAM'])
	add2(`RST_STREAM ${code}`, (stream) => stream.reset(code), MALFORMED, MALFORMED);
add2('the end of the connection', (stream) => stream.connection.close(), MALFORMED, MALFORMED, { isAlone: true });
add2('DATA before the answer', (stream) => stream.connection.data(stream.id, 'x'), MALFORMED, MALFORMED);

export function openings2(version) {
	return list2.flatMap((form) => ['glued', 'late'].map((when) => ({
		...openings(version)[0], ...form, version, when, want: version === 2 ? form.h2 : form.h1, comes: () => latin1(form.says),
		codes: ['INTERNAL_ERROR', 'CANCEL', 'PROTOCOL_ERROR', 'CONNECT_ERROR', 'HTTP_1_1_REQUIRED', 'REFUSED_STREAM', 'NO_ERROR'],
	})));
}

export const answer2 = (v) => (stream, headers, out) => {
	v.answer(stream, headers, out);
	if (!stream.opening.isOpen || v.isEnded)
		return;
	if (v.says)
		out.write(v.says);
	const done = () => { if (stream.opening.bytes.length >= v.behind(0).length || stream.opening.end) out.end(); };
	const { data, end } = stream.on;
	stream.on.data = (bytes) => { data(bytes); done(); };
	stream.on.end = () => { end(); done(); };
};
