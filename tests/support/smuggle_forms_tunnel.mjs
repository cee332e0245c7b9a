/* SPDX-License-Identifier: MIT */
/*
 * Requests for tunnels that somebody might use to get a request past a gateway, and what may come of each
 * (smuggle_tunnels.mjs): {row, name, when, want, …}. Behind each comes a request that hides in what might be a tunnel's
 * bytes: in the same segment (`glued`), in pieces behind it (`split`), or when the answer is there (`late`).
 */
import { AUTHORITY, evil, last, own } from './smuggle_forms.mjs';
import { KEY, greeting } from './smuggle_tunnels.mjs';

const latin1 = (text) => Buffer.from(text, 'latin1');
const show = (text) => JSON.stringify(text.length > 50 ? `${text.slice(0, 40)}… (${text.length})` : text)
	.replace(/[\x7f-\xff]/g, (c) => `\\x${c.charCodeAt(0).toString(16)}`);
const base = {
	key: KEY, target: own, behind: evil, last,
	comes: (n, behind) => Buffer.concat([latin1(greeting(own(n))), behind]),
};

/* Some outcomes that several forms have. */
const TUNNEL = { want: ['tunnel'] };
const ORDINARY = { want: ['ordinary'] };
const PLAIN = { want: ['plain'], isPlain: true };
const REFUSED = { want: ['refused'], statuses: [400] };
/* What a careful recipient may take either way. */
const NO_TUNNEL = { want: ['ordinary', 'refused'] };
const EITHER = { want: ['tunnel', 'ordinary', 'refused'] };

/* ---- HTTP/1.1 ---- */

const forms = [];
const WS = `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n`;
const UP = `Connection: Upgrade\r\nUpgrade: websocket\r\n${WS}`;

/* lines: of the head, behind Host. options: method, version, host, to(n): the target, body: in the head's segment. */
function add(row, name, lines, want, { method = 'GET', version = 'HTTP/1.1', host = AUTHORITY, to = own, body = '', whens = ['glued', 'split', 'late'], ...more } = {}) {
	const hostLine = host === null ? '' : `Host: ${host}\r\n`;
	for (const when of want.isPlain ? ['glued', 'split'] : whens)
		forms.push({ ...base, version: 1, row, name, when, ...want, ...more, head: (n) => `${method} ${to(n)} ${version}\r\n${hostLine}${lines}\r\n${body}` });
}
const each = (row, what, texts, write, want, options) => texts.forEach((text) => add(row, `${what} ${show(text)}`, write(text), want, options));

add('good', 'as a browser asks', `Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nOrigin: http://a.test\r\nSec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Protocol: chat\r\nCookie: a=b\r\n${WS}`, TUNNEL);
add('good', 'names in lower case', UP.toLowerCase().replace(KEY.toLowerCase(), KEY), TUNNEL);
add('good', 'names in upper case', UP.replace(/^[^:]*/gm, (name) => name.toUpperCase()), TUNNEL);
each('good', 'Connection', ['upgrade', 'UPGRADE', '  Upgrade\t', 'Upgrade,', ',upgrade', 'keep-alive,upgrade', 'x-a, Upgrade, x-b', 'upgrade, upgrade', 'upgrade\r\nConnection: keep-alive', 'keep-alive\r\nConnection: upgrade'],
	(text) => `Connection: ${text}\r\nUpgrade: websocket\r\n${WS}`, TUNNEL, { whens: ['glued'] });
each('good', 'Upgrade', ['WebSocket', 'WEBSOCKET', ' websocket\t', 'websocket ', '\twebsocket'], (text) => `Connection: upgrade\r\nUpgrade: ${text}\r\n${WS}`, TUNNEL, { whens: ['glued'] });
add('good', 'absolute-form', UP, TUNNEL, { to: (n) => `http://${AUTHORITY}${own(n)}` });
add('good', 'a protocol that is no WebSocket', 'Connection: upgrade\r\nUpgrade: chat/2\r\n', TUNNEL, { host: 'two.test', protocol: 'chat/2' });
add('good', 'behind a request', UP, TUNNEL, { before: (n) => `GET /first/n${n}n HTTP/1.1\r\nHost: ${AUTHORITY}\r\n\r\n`, firstTarget: (n) => `/first/n${n}n`, seenBefore: 1 });

each('protocols', 'Upgrade', ['h2c, websocket', 'websocket, h2c', 'x, websocket', 'websocket, websocket', ',websocket,', 'h2c\r\nUpgrade: websocket', 'websocket\r\nUpgrade: h2c', 'websocket\r\nUpgrade: websocket', `${'x, '.repeat(200)}websocket`, 'TLS/1.0, websocket'],
	(text) => `Connection: upgrade\r\nUpgrade: ${text}\r\n${WS}`, EITHER);
each('protocols', 'Upgrade', ['h2', 'HTTP/2.0', 'TLS/1.2', 'websocket/13', 'websockets', 'web socket', 'websocket;x', '"websocket"', 'websocket=1', 'xwebsocket', 'chat/2', 'websocket\x80', '\xa0websocket', 'WebSocket/1 h2c', 'connect-udp', 'connect-ip'],
	(text) => `Connection: upgrade\r\nUpgrade: ${text}\r\n${WS}`, NO_TUNNEL);
each('protocols', 'a byte within Upgrade', ['\0', '\x01', '\x0b', '\x0c', '\x1f', '\x7f', '\r', '\n'], (b) => `Connection: upgrade\r\nUpgrade: web${b}socket\r\n${WS}`, { want: ['refused', 'ordinary'], statuses: [400] });
/* HTTP/2 is spoken without an Upgrade: one to it is passed over, and asks for nothing. */
each('protocols', 'Upgrade', ['h2c', 'h2c, H2C', '', ',', ' '], (text) => `Connection: upgrade\r\nUpgrade: ${text}\r\n`, PLAIN);
add('protocols', 'h2c with its settings', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n', PLAIN);
add('protocols', 'h2c, and the preface behind it', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n', PLAIN, { then: (n) => [own(n), 505], behind: (n) => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0${evil(n)}` });
add('protocols', 'h2c and WebSocket, with settings', `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c, websocket\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n${WS}`, EITHER);
add('protocols', 'not of this route', UP, ORDINARY, { host: 'two.test' });
add('protocols', 'none of this route', UP, ORDINARY, { host: 'none.test' });
add('protocols', 'no route', UP, { want: ['refused'], statuses: [404, 421] }, { host: 'nowhere.test' });

/* late.test does not answer in time. */
const LATE = { want: ['refused'], statuses: [504], seen: 1 };
add('no answer', 'in time', UP, LATE, { host: 'late.test', whens: ['glued', 'split'] });

add('Connection', 'none', `Upgrade: websocket\r\n${WS}`, PLAIN);
add('Connection', 'without Upgrade', `Connection: upgrade\r\n${WS}`, PLAIN);
add('Connection', 'alone', 'Connection: upgrade\r\n', PLAIN);
each('Connection', 'another', ['keep-alive', 'upgrades', 'x-upgrade', 'websocket'], (text) => `Connection: ${text}\r\nUpgrade: websocket\r\n${WS}`, PLAIN);
each('Connection', 'odd', ['up grade', '"upgrade"', 'upgrade;q=1', 'upgrade=1', 'upgrade\x80', ''], (text) => `Connection: ${text}\r\nUpgrade: websocket\r\n${WS}`, { want: ['plain', ...NO_TUNNEL.want], isPlain: true });
each('Connection', 'a byte in it', ['\0', '\x0b', '\x0c', '\r', '\n'], (b) => `Connection: up${b}grade\r\nUpgrade: websocket\r\n${WS}`, REFUSED);
each('Connection', 'that names', ['close', 'sec-websocket-key', 'sec-websocket-version', 'sec-websocket-key, sec-websocket-version', 'cookie', 'origin', 'connection', 'te'], (text) => `Connection: upgrade, ${text}\r\nUpgrade: websocket\r\n${WS}`, EITHER);
each('Connection', 'that names', ['host', 'content-length', 'transfer-encoding', ':protocol', ':method'], (text) => `Connection: upgrade, ${text}\r\nUpgrade: websocket\r\n${WS}`, { want: ['refused', 'tunnel', 'ordinary'], statuses: [400] });
add('Connection', 'Proxy-Connection instead', `Proxy-Connection: upgrade\r\nUpgrade: websocket\r\n${WS}`, PLAIN);
add('Connection', 'folded', `Connection:\r\n upgrade\r\nUpgrade: websocket\r\n${WS}`, REFUSED);
add('Connection', 'Upgrade folded', `Connection: upgrade\r\nUpgrade: \r\n websocket\r\n${WS}`, REFUSED);
each('Connection', 'the name', ['Upgrade ', 'Upgrade\t', ' Upgrade', 'Upgrade\0', 'Upgr\xe4de'], (name) => `Connection: upgrade\r\n${name}: websocket\r\n${WS}`, REFUSED);
add('Connection', 'Upgrade and : protocol', `${UP}:protocol: websocket\r\n`, REFUSED);
add('Connection', 'Protocol', `${UP}Protocol: x\r\n`, TUNNEL);

const keyed = (lines) => `Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n${lines}`;
add('key', 'none', keyed(''), NO_TUNNEL);
each('key', '', ['', ' ', 'x', 'dGhlIHNhbXBsZSBub25jZQ', 'dGhlIHNhbXBsZSBub25jZQ=', 'dGhlIHNhbXBsZSBub25jZQ===', 'dGhlIHNhbXBsZSBub25jZ', `dGhlIHNhbXBsZSBub25jZQ==, ${KEY}`, 'dGhl IHNhbXBsZSBub25jZQ==', 'dGhlIHNhbXBsZSBub25j\tZQ==', 'dGhlIHNhbXBsZSBub25jZSE=', '!!!!!!!!!!!!!!!!!!!!!!==', 'dGhlIHNhbXBsZSBub25_-Q==', `${'A'.repeat(1000)}==`, '======================', `${KEY};x`, `"${KEY}"`, `${KEY}\x80`],
	(text) => keyed(`Sec-WebSocket-Key: ${text}\r\n`), NO_TUNNEL);
add('key', 'twice the same', keyed(`Sec-WebSocket-Key: ${KEY}\r\nSec-WebSocket-Key: ${KEY}\r\n`), NO_TUNNEL);
add('key', 'two', keyed(`Sec-WebSocket-Key: ${KEY}\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n`), NO_TUNNEL);
add('key', 'with spaces around', keyed(`Sec-WebSocket-Key:  \t${KEY} \t\r\n`), TUNNEL);
each('key', 'a byte in it', ['\0', '\r', '\n', '\x7f'], (b) => keyed(`Sec-WebSocket-Key: ${KEY.slice(0, 5)}${b}${KEY.slice(6)}\r\n`), REFUSED);
each('key', 'an accept in the request', ['x', 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='], (text) => `${UP}Sec-WebSocket-Accept: ${text}\r\n`, { want: ['tunnel', 'refused'], statuses: [400] });
each('version', '', ['', '12', '14', '13, 8', 'x'], (text) => `Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: ${text}\r\nSec-WebSocket-Key: ${KEY}\r\n`, EITHER, { statuses: [400, 426] });
add('version', 'none', `Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${KEY}\r\n`, EITHER, { statuses: [400, 426] });
add('version', 'two', `${UP}Sec-WebSocket-Version: 8\r\n`, EITHER, { statuses: [400, 426] });

const body = { whens: ['glued', 'split'] };
add('body', 'Content-Length: 0', `${UP}Content-Length: 0\r\n`, EITHER);
add('body', 'Content-Length: 5', `${UP}Content-Length: 5\r\n`, NO_TUNNEL, { ...body, body: 'hello' });
add('body', 'Content-Length of all that is hidden', `${UP}Content-Length: 10000\r\n`, { want: ['refused', 'cut'], seen: 1 }, { ends: true, isBody: true, ...body });
each('body', 'Content-Length', ['+5', '5, 6', 'x', '-1', '5 5', ''], (text) => `${UP}Content-Length: ${text}\r\n`, REFUSED);
add('body', 'two Content-Length', `${UP}Content-Length: 0\r\nContent-Length: 5\r\n`, REFUSED);
add('body', 'chunked', `${UP}Transfer-Encoding: chunked\r\n`, NO_TUNNEL, { ...body, body: '5\r\nhello\r\n0\r\n\r\n' });
add('body', 'chunked, empty', `${UP}Transfer-Encoding: chunked\r\n`, NO_TUNNEL, { ...body, body: '0\r\n\r\n' });
add('body', 'chunked and a length', `${UP}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n`, REFUSED, { body: '0\r\n\r\n' });
add('body', 'an unknown coding', `${UP}Transfer-Encoding: x\r\n`, { want: ['refused'], statuses: [400, 501] });
add('body', 'Expect', `${UP}Expect: 100-continue\r\n`, EITHER);
add('body', 'Expect and a length', `${UP}Expect: 100-continue\r\nContent-Length: 5\r\n`, NO_TUNNEL, { ...body, body: 'hello' });
add('body', 'an unknown Expect', `${UP}Expect: x\r\n`, { want: ['tunnel', 'ordinary', 'refused'], statuses: [400, 417] });
add('body', 'Trailer', `${UP}Trailer: x\r\n`, EITHER);

for (const method of ['POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'get', 'X'])
	add('method', method, UP, NO_TUNNEL, { method });
add('method', 'POST with a body', `${UP}Content-Length: 5\r\n`, NO_TUNNEL, { method: 'POST', body: 'hello', ...body });
add('method', 'POST with chunks', `${UP}Transfer-Encoding: chunked\r\n`, NO_TUNNEL, { method: 'POST', body: '5\r\nhello\r\n0\r\n\r\n', ...body });
add('method', 'PRI', UP, { want: ['ordinary', 'refused', 'cut'] }, { method: 'PRI' });
const OFF = { want: ['refused'], statuses: [400, 501] };
add('CONNECT', 'with a port', '', { want: ['refused'], statuses: [501] }, { method: 'CONNECT', to: () => `${AUTHORITY}:80`, host: `${AUTHORITY}:80` });
add('CONNECT', 'to elsewhere', '', { want: ['refused'], statuses: [501] }, { method: 'CONNECT', to: () => 'b.test:443', host: 'b.test:443' });
add('CONNECT', 'with Upgrade', UP, OFF, { method: 'CONNECT', to: () => `${AUTHORITY}:80`, host: `${AUTHORITY}:80` });
add('CONNECT', 'with a length', 'Content-Length: 5\r\n', OFF, { method: 'CONNECT', to: () => `${AUTHORITY}:80`, host: `${AUTHORITY}:80`, body: 'hello' });
add('CONNECT', 'with chunks', 'Transfer-Encoding: chunked\r\n', OFF, { method: 'CONNECT', to: () => `${AUTHORITY}:80`, host: `${AUTHORITY}:80`, body: '0\r\n\r\n' });
add('CONNECT', 'without a port', '', OFF, { method: 'CONNECT', to: () => AUTHORITY });
add('CONNECT', 'a path', UP, OFF, { method: 'CONNECT' });
add('CONNECT', 'absolute-form', UP, OFF, { method: 'CONNECT', to: (n) => `http://${AUTHORITY}${own(n)}` });
add('CONNECT', 'Protocol', 'Protocol: websocket\r\n', OFF, { method: 'CONNECT', to: () => `${AUTHORITY}:80`, host: `${AUTHORITY}:80` });
add('CONNECT', 'in HTTP/1.0', '', OFF, { method: 'CONNECT', version: 'HTTP/1.0', to: () => `${AUTHORITY}:80`, host: `${AUTHORITY}:80` });
add('CONNECT', 'behind a request', '', { want: ['refused'], statuses: [501], seen: 1 }, { method: 'CONNECT', to: () => `${AUTHORITY}:80`, host: `${AUTHORITY}:80`, before: (n) => `GET /first/n${n}n HTTP/1.1\r\nHost: ${AUTHORITY}\r\n\r\n`, firstTarget: (n) => `/first/n${n}n` });

add('version of HTTP', '1.0', UP, NO_TUNNEL, { version: 'HTTP/1.0' });
add('version of HTTP', '1.0, kept', UP.replace('Upgrade', 'Upgrade, keep-alive'), NO_TUNNEL, { version: 'HTTP/1.0' });
for (const version of ['HTTP/2.0', 'HTTP/0.9', 'http/1.1', 'HTTP/1.1 x'])
	add('version of HTTP', version, UP, { want: ['refused'], statuses: [400, 505] }, { version });
add('target', 'without a Host', UP, REFUSED, { host: null });
add('target', 'two Hosts', `${UP}Host: b.test\r\n`, REFUSED);
add('target', 'of another scheme', UP, { want: ['refused'], statuses: [400, 421] }, { to: (n) => `ws://${AUTHORITY}${own(n)}` });
add('target', 'wss', UP, { want: ['refused'], statuses: [400, 421] }, { to: (n) => `wss://${AUTHORITY}${own(n)}` });
add('target', 'an asterisk', UP, REFUSED, { to: () => '*' });
add('target', 'a space in it', UP, REFUSED, { to: (n) => `${own(n)} x` });

/* What lies behind, whatever it looks like, is the tunnel's. */
export const LOOKS = {
	'a request': (n) => evil(n),
	'requests': (n) => evil(n).repeat(20),
	'an Upgrade': (n) => `GET /evil/n${n}n HTTP/1.1\r\nHost: ${AUTHORITY}\r\n${UP}\r\n`,
	'a response': () => 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc',
	'a 101': () => 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
	'the end of a head': () => '\r\n\r\n',
	'the last chunk': () => '0\r\n\r\n',
	'chunks': () => '5\r\nhello\r\n0\r\n\r\n',
	'the preface of HTTP/2': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
	'frames of HTTP/2': () => '\0\0\0\x04\x01\0\0\0\0\0\0\x04\x03\0\0\0\x01\0\0\0\x08\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01',
	'frames of WebSocket': () => '\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58\x88\x80\0\0\0\0',
	'all bytes': () => Array.from({ length: 256 }, (_, i) => String.fromCharCode(i)).join(''),
	'one zero': () => '\0',
	'one byte': () => 'x',
	'TLS': () => '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03',
	'PROXY': () => 'PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n',
	'64 KiB': () => 'x0y1z2\r\n'.repeat(8192),
	'300 KiB': () => 'GET / HTTP/1.1\r\n\r\n'.repeat(17067),
};
for (const [what, behind] of Object.entries(LOOKS))
	for (const when of ['glued', 'split', 'late'])
		forms.push({ ...base, version: 1, row: 'bytes', name: what, when, ...TUNNEL, behind, head: (n) => `GET ${own(n)} HTTP/1.1\r\nHost: ${AUTHORITY}\r\n${UP}\r\n` });
for (const what of ['a request', 'one byte', '64 KiB', '300 KiB'])
	for (const when of ['glued', 'split'])
		forms.push({ ...base, version: 1, row: 'bytes', name: `${what}, and the end of them before the answer`, when, ...TUNNEL, ends: true, behind: LOOKS[what], head: (n) => `GET ${own(n)} HTTP/1.1\r\nHost: ${AUTHORITY}\r\n${UP}\r\n` });

export default forms;

/* ---- HTTP/2 ---- */

const forms2 = [];
const RESET = { want: ['reset'] };
const extended = (n) => [[':method', 'CONNECT'], [':protocol', 'websocket'], [':scheme', 'http'], [':authority', AUTHORITY], [':path', own(n)]];
const VERSION = ['sec-websocket-version', '13'];

/* change(fields, n): gives the list of fields; options: endStream, trailers, behind. */
function add2(row, name, change, want, { endStream = false, trailers, whens = ['glued', 'late'], ...more } = {}) {
	for (const when of whens)
		forms2.push({
			...base, version: 2, row, name, when, asksForTunnel: true, ...want, ...more,
			request: (n) => ({ fields: change([...extended(n), VERSION], n), endStream, trailers }),
		});
}
const replace = (fields, name, value) => fields.map(([k, v]) => [k, k === name ? value : v]);
const without = (fields, ...names) => fields.filter(([k]) => !names.includes(k));

add2('h2: good', 'as it is', (f) => f, TUNNEL);
add2('h2: good', 'with fields', (f) => [...f, ['origin', 'http://a.test'], ['cookie', 'a=b'], ['cookie', 'c=d'], ['sec-websocket-protocol', 'chat']], TUNNEL);
add2('h2: good', 'no version of WebSocket', (f) => without(f, 'sec-websocket-version'), TUNNEL);
add2('h2: good', 'pseudo-fields in another order', (f) => [f[4], f[3], f[2], f[1], f[0], VERSION], TUNNEL);
add2('h2: good', 'a protocol that is no WebSocket', (f) => replace(replace(without(f, 'sec-websocket-version'), ':protocol', 'chat/2'), ':authority', 'two.test'), { ...TUNNEL, protocol: 'chat/2' });
for (const [what, behind] of Object.entries(LOOKS))
	add2('h2: bytes', what, (f) => f, TUNNEL, { behind });
for (const what of ['a request', 'one byte', '64 KiB'])
	add2('h2: bytes', `${what}, and the end of them before the answer`, (f) => f, TUNNEL, { behind: LOOKS[what], ends: true, whens: ['glued'] });

for (const text of ['WebSocket', 'WEBSOCKET'])
	add2('h2: protocol', show(text), (f) => replace(f, ':protocol', text), { want: ['tunnel', 'refused', 'reset'], codes: ['PROTOCOL_ERROR', 'CANCEL'] });
for (const text of ['h2c', 'h2', 'websockets', 'websocket/13', 'chat/2', 'connect-udp', 'websocket,h2c', 'websocket, websocket', 'x'])
	add2('h2: protocol', show(text), (f) => replace(f, ':protocol', text), { want: ['refused', 'reset'], statuses: [400, 501, 404, 403], codes: ['PROTOCOL_ERROR', 'CANCEL'] });
for (const text of ['', ' ', 'web socket', '\twebsocket', 'websocket ', 'web\0socket', 'web\rsocket', 'web\nsocket', 'websocket\r\nx: y', 'websocket\r\n\r\nGET /evil HTTP/1.1', 'websocket\x80', 'websocket;x', '"websocket"', 'a'.repeat(5000)])
	add2('h2: protocol', show(text), (f) => replace(f, ':protocol', text), { want: ['reset', 'refused'], statuses: [400, 501] });
add2('h2: protocol', 'two', (f) => [f[0], f[1], [':protocol', 'h2c'], ...f.slice(2)], RESET);
add2('h2: protocol', 'twice the same', (f) => [f[0], f[1], f[1], ...f.slice(2)], RESET);
add2('h2: protocol', 'behind a field', (f) => [...f.filter(([k]) => k !== ':protocol'), [':protocol', 'websocket']], RESET);
add2('h2: protocol', 'not of this route', (f) => replace(f, ':authority', 'two.test'), { want: ['refused'], statuses: [501, 404, 403, 400] });
add2('h2: protocol', 'none of this route', (f) => replace(f, ':authority', 'none.test'), { want: ['refused'], statuses: [501, 404, 403, 400] });
add2('h2: protocol', 'no route', (f) => replace(f, ':authority', 'nowhere.test'), { want: ['refused', 'reset'], statuses: [404, 421], codes: ['REFUSED_STREAM'] });

add2('h2: no answer', 'in time', (f) => replace(f, ':authority', 'late.test'), LATE, { whens: ['glued'] });

for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS', 'connect', 'CONNECT ', ''])
	add2('h2: method', show(method), (f) => replace(f, ':method', method), RESET);
add2('h2: method', 'none', (f) => without(f, ':method'), RESET);
add2('h2: method', 'two', (f) => [[':method', 'GET'], ...f], RESET);
for (const name of [':scheme', ':path', ':authority'])
	add2('h2: pseudo-fields', `without ${name}`, (f) => without(f, name), { want: ['reset', 'refused'], statuses: [400, 404, 501] });
add2('h2: pseudo-fields', 'plain CONNECT', (f) => without(replace(f, ':authority', `${AUTHORITY}:80`), ':protocol', ':scheme', ':path'), { want: ['refused'], statuses: [501] });
add2('h2: pseudo-fields', 'plain CONNECT with a path', (f) => without(f, ':protocol'), RESET);
add2('h2: pseudo-fields', 'plain CONNECT without a port', (f) => without(f, ':protocol', ':scheme', ':path'), RESET);
add2('h2: pseudo-fields', ':status', (f) => [[':status', '200'], ...f], RESET);
for (const path of ['', '*', 'x', 'http://a.test/x', '/a b', '/a\r\nX: y', '/\0', '/x#y'])
	add2('h2: pseudo-fields', `:path ${show(path)}`, (f) => replace(f, ':path', path), { want: ['reset', 'refused'], statuses: [400, 501, 404] });
for (const scheme of ['', 'ws', 'wss', 'ht tp', 'https', 'ftp'])
	add2('h2: pseudo-fields', `:scheme ${show(scheme)}`, (f) => replace(f, ':scheme', scheme), { want: ['reset', 'refused'], statuses: [400, 421, 404, 501] });
for (const authority of ['', 'a.test/x', 'me@a.test', 'a.test\r\nx: y', 'a test'])
	add2('h2: pseudo-fields', `:authority ${show(authority)}`, (f) => replace(f, ':authority', authority), { want: ['reset', 'refused'], statuses: [400, 404, 421] });
for (const [name, value] of [['connection', 'upgrade'], ['upgrade', 'websocket'], ['keep-alive', '1'], ['proxy-connection', 'upgrade'], ['transfer-encoding', 'chunked'], ['te', 'gzip'], ['Upgrade', 'x'], ['x y', 'z'], ['x', 'a\r\nb: c'], ['host', 'b.test']])
	add2('h2: fields', `${name}: ${show(value)}`, (f) => [...f, [name, value]], RESET);
for (const [name, value] of [['te', 'trailers'], ['sec-websocket-key', KEY], ['sec-websocket-key', 'x'], ['sec-websocket-accept', 'x'], ['http2-settings', 'AAMAAABkAAQAAP__'], ['expect', '100-continue'], ['host', AUTHORITY]])
	add2('h2: fields', `${name}: ${show(value)}`, (f) => [...f, [name, value]], { want: ['tunnel', 'refused', 'reset'], statuses: [400], codes: ['PROTOCOL_ERROR'] });
for (const length of ['0', '5', '1000000', 'x', '-1'])
	add2('h2: fields', `content-length: ${length}`, (f) => [...f, ['content-length', length]], { want: ['reset', 'refused', 'tunnel'], statuses: [400], codes: ['PROTOCOL_ERROR'] });
add2('h2: end', 'END_STREAM on the request', (f) => f, { want: ['tunnel', 'refused', 'reset'], statuses: [400] }, { endStream: true, behind: () => '', whens: ['glued'] });
add2('h2: end', 'trailers', (f) => f, { want: ['reset', 'cut', 'refused', 'tunnel'], statuses: [400], codes: ['PROTOCOL_ERROR'], seen: 1 }, { trailers: { x: 'y' }, whens: ['glued'] });
add2('h2: end', 'trailers with pseudo-fields', (f) => f, { want: ['reset', 'cut'], seen: 1 }, { trailers: { ':path': '/evil' }, whens: ['glued'] });

export { forms2 };

/* The same form in a gate none of whose routes has tunnels. */
export const unannounced = forms2.filter((v) => v.row === 'h2: good' || v.name === 'END_STREAM on the request').map((v) => ({ ...v, want: ['reset'], codes: ['PROTOCOL_ERROR'], seen: 0 }));
