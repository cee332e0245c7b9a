/* SPDX-License-Identifier: MIT */
/*
 * What origins write who want a client to take a part of one response for another: {row, name, write(n)} gives the bytes.
 * Fields, framing and line ends are those of the requests in smuggle_forms.mjs behind a status line; a request that was
 * hidden there is a hidden response here, of the same length.
 */
import forms, { evil } from './smuggle_forms.mjs';

const ALL = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i));
const show = (text) => JSON.stringify(text).replace(/[\x7f-\xff]/g, (c) => `\\x${c.charCodeAt(0).toString(16)}`);
/* More than this would come in several parts: the connection might be used again before the second is here. */
const MOST_BYTES = 6000;

/* A whole response that nobody asked for. */
export const evilResponse = (length) => `HTTP/1.1 204 E\r\nEvil: ${'x'.repeat(length - 26)}\r\n\r\n`;
const asResponse = (text, n) => text
	.replace(/^(?:GET|POST) \/n\d+n HTTP\/1/, (first) => first.replace(/.* HTTP/, 'HTTP'))
	.replace(/^(HTTP\/1\.[01])/, '$1 200 OK').replaceAll(evil(n), evilResponse(evil(n).length));

const ROWS = ['Content-Length', 'Transfer-Encoding', 'chunk size', 'chunk end', 'extension', 'trailer', 'Connection', 'field name', 'field value', 'line end', 'whitespace'];
const list = forms.filter((f) => ROWS.includes(f.row) && /^(?:GET|POST) \/n1n HTTP\/1\.[01]/.test(f.write(1)) && f.write(1).length < MOST_BYTES)
	.map(({ row, name, write }) => ({ row, name, write: (n) => asResponse(write(n), n) }));

const add = (row, name, text) => list.push({ row, name, write: () => text });
const whole = (first, lines = 'Content-Length: 5\r\n', body = 'hello') => `${first}\r\n${lines}\r\n${body}`;
const each = (row, what, texts, write) => texts.forEach((text) => add(row, `${what} ${show(text)}`, write(text)));

for (let i = 0; i < 8; i++)
	each('version', `byte ${i}`, ALL, (b) => whole(`${'HTTP/1.1'.slice(0, i)}${b}${'HTTP/1.1'.slice(i + 1)} 200 OK`));
each('version', '', ['HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/2', 'HTTP/0.9', 'http/1.1', 'HTTP/01.1', 'ICY', 'HTTP/1.1 HTTP/1.1', ''], (text) => whole(`${text} 200 OK`));
for (const [where, write] of Object.entries({ first: (b) => `${b}00`, middle: (b) => `2${b}0`, last: (b) => `20${b}`, 'one before': (b) => `${b}200`, 'one behind': (b) => `200${b}` }))
	each('status', `the ${where} byte`, ALL.filter((b) => !(where === 'first' && b === '1')), (b) => whole(`HTTP/1.1 ${write(b)} OK`));
each('status', '', ['', '2', '20', '2000', '000', '099', '999', '+200', '-200', '2e2', '0x200', '200 200', '101', '600'], (text) => whole(`HTTP/1.1 ${text} OK`));
each('status', 'a byte behind the version', ALL, (b) => whole(`HTTP/1.1${b}200 OK`));
each('status', 'a byte behind it', ALL, (b) => whole(`HTTP/1.1 200${b}OK`));
each('status', 'without a body, and a body:', ['204', '304'], (status) => whole(`HTTP/1.1 ${status} OK`, '', 'hello'));
each('status', 'without a body, and a length:', ['204', '304'], (status) => whole(`HTTP/1.1 ${status} OK`));
each('status', 'without a body, and chunks:', ['204', '304'], (status) => whole(`HTTP/1.1 ${status} OK`, 'Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n'));
each('reason', '', ['', ' ', 'OK', '\tOK', 'O K', '\xe9', 'HTTP/1.1 200 OK', 'x'.repeat(2000)], (text) => whole(`HTTP/1.1 200 ${text}`));
each('reason', 'a byte within', ALL, (b) => whole(`HTTP/1.1 200 O${b}K`));
add('reason', 'none', whole('HTTP/1.1 200'));
for (const status of ['100', '102', '103', '199']) {
	add('interim', `${status} before it`, whole(`HTTP/1.1 ${status} X\r\n\r\nHTTP/1.1 200 OK`));
	add('interim', `${status} with Content-Length`, whole(`HTTP/1.1 ${status} X\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK`));
	add('interim', `${status} with chunks`, whole(`HTTP/1.1 ${status} X\r\nTransfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 OK`));
	add('interim', `${status} alone`, `HTTP/1.1 ${status} X\r\n\r\n`);
}
add('interim', 'too many', whole(`${'HTTP/1.1 103 X\r\n\r\n'.repeat(200)}HTTP/1.1 200 OK`));
add('interim', '101 before it', whole('HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nHTTP/1.1 200 OK'));
for (const before of ['\r\n', '\n', '\r', ' ', '\0', '\xef\xbb\xbf', 'x', '0\r\n\r\n', 'HTTP', 'HTTP/1.1 200 OK\r\n'])
	add('prefix', `before it, ${show(before)}`, before + whole('HTTP/1.1 200 OK'));
add('prefix', 'a body alone', '<html>');
add('prefix', 'nothing', '');
add('prefix', 'a request', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
add('prefix', 'half a head', 'HTTP/1.1 200 OK\r\nContent-Le');

export default list;
