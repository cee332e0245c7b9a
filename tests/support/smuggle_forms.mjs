/* SPDX-License-Identifier: MIT */
/*
 * What clients write who want two servers to disagree: forms of HTTP/1.1 requests, by what they vary (`row`). A form is
 * {row, name, write(n)}: the bytes (latin1) for case n, in which each request has n in its target (or in X-Number), so
 * that whatever of it comes to an origin is known. Nothing here says what is legal: the strict reader of http1.mjs does.
 */
export const AUTHORITY = 'a.test';
const ALL = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i));
/* Those of which some server has made a line end, a space, a separator or nothing. */
const ODD = [...'\0\x01\x08\t\n\x0b\x0c\r\x1b\x1c\x1f !"#%\',-./0:;=@A[\\]_a{}~\x7f\x80\x85\xa0\xad\xff'];
const show = (text) => JSON.stringify(text.length > 60 ? `${text.slice(0, 50)}… (${text.length})` : text)
	.replace(/[\x7f-\xff]/g, (c) => `\\x${c.charCodeAt(0).toString(16)}`);

/* The targets of case n. */
export const own = (n) => `/n${n}n`;
export const evilTarget = (n) => `/evil/n${n}n`;
export const numberOf = (target) => Number(/\/n(\d+)n/.exec(target)?.[1] ?? -1);
export const evil = (n) => `GET ${evilTarget(n)} HTTP/1.1\r\nHost: ${AUTHORITY}\r\n\r\n`;
/* What a client sends behind each form. Whoever sees another request here has not seen where the form ended. */
export const last = (n) => `GET /last/n${n}n HTTP/1.1\r\nHost: ${AUTHORITY}\r\nConnection: close\r\n\r\n`;

const HOST = `Host: ${AUTHORITY}\r\n`;
const post = (n, lines, body = '') => `POST ${own(n)} HTTP/1.1\r\n${HOST}${lines}\r\n${body}`;
const get = (n, lines = '') => `GET ${own(n)} HTTP/1.1\r\n${HOST}${lines}\r\n`;
const chunked = (n, body, lines = '') => post(n, `Transfer-Encoding: chunked\r\n${lines}`, body);

const forms = [];
const add = (row, name, write) => forms.push({ row, name, write });
/* Each of these texts in one place. */
const each = (row, what, texts, write) => texts.forEach((text) => add(row, `${what} ${show(text)}`, (n) => write(n, text)));

/* ---- Content-Length ---- */

const FIVE = 'hello';
const LENGTHS = [
	'5', '05', '0000000000000000000000000000000000005', '+5', '-5', '-0', ' 5', '\t5 ', '5 5', '5,5', '5, 5', '5, 6', '6, 5', ',5', '5,', '5,,5', '5;5', '5.0', '5e0', '0x5', '0X5', '5h', 'five',
	'', ' ', '""', '"5"', "'5'", '0', '0, 5', '5, 0', '1', '4', '6', '36', '4294967301', '4294967296', '18446744073709551616', '18446744073709551621', '9223372036854775807', '9223372036854775808',
	'99999999999999999999999999', `${'9'.repeat(400)}`, '5\x0b', '5\x0c', '5\x80', '\xa05', '5 0', '5_0', '0b101', '5\0', '\u00b2', '5\t5', '5 ;', '5 #', '5\r\n 5', '5\r\n\t', '\r\n 5', '5\\r\\n',
];
each('Content-Length', 'the value', LENGTHS, (n, text) => post(n, `Content-Length: ${text}\r\n`, FIVE));
each('Content-Length', 'the value before a hidden request:', LENGTHS, (n, text) => post(n, `Content-Length: ${text}\r\n`, FIVE + evil(n)));
each('Content-Length', 'a second one,', LENGTHS, (n, text) => post(n, `Content-Length: 5\r\nX: y\r\nContent-Length: ${text}\r\n`, FIVE));
each('Content-Length', 'before the right one,', LENGTHS, (n, text) => post(n, `Content-Length: ${text}\r\nContent-Length: 5\r\n`, FIVE));
each('Content-Length', 'of a GET,', LENGTHS, (n, text) => get(n, `Content-Length: ${text}\r\n`) + FIVE);
each('Content-Length', 'of HTTP/1.0', ['5', '+5', '5, 5', '0', ''], (n, text) => `POST ${own(n)} HTTP/1.0\r\n${HOST}Connection: keep-alive\r\nContent-Length: ${text}\r\n\r\n${FIVE}`);
each('Content-Length', 'the name', ['content-length', 'CONTENT-LENGTH', 'Content-Length ', 'Content-Length\t', ' Content-Length', 'Content_Length', 'Content\xadLength', 'Content-Length\0', '\0Content-Length', 'Content-Length:', 'Content-Length;', 'Content--Length', 'Content-Length\x0b'],
	(n, name) => post(n, `${name}: 5\r\n`, FIVE + evil(n)));
for (const [where, write] of Object.entries({ first: (b) => `${b}11`, middle: (b) => `1${b}1`, last: (b) => `11${b}`, only: (b) => b }))
	each('Content-Length', `the ${where} byte`, ALL, (n, b) => post(n, `Content-Length: ${write(b)}\r\n`, 'x'.repeat(11)));
add('Content-Length', 'a hundred equal ones', (n) => post(n, 'Content-Length: 5\r\n'.repeat(100), FIVE));
add('Content-Length', 'a hidden request as the body', (n) => post(n, `Content-Length: ${evil(n).length}\r\n`, evil(n)));
add('Content-Length', 'a body that ends in half a request', (n) => post(n, 'Content-Length: 20\r\n', evil(n)));

/* ---- Transfer-Encoding ---- */

const CODINGS = [
	'chunked', 'Chunked', 'CHUNKED', 'cHuNkEd', ' chunked', '\tchunked', 'chunked\t', 'chunked ', '\x0bchunked', 'chunked\x0b', '\x0cchunked', '\0chunked', 'chunked\0', '\xa0chunked', 'chunked\x80', 'xchunked', 'chunkedx', 'chunke', 'chunk',
	'x chunked', 'chunked x', 'chunked, identity', 'identity, chunked', 'chunked,chunked', 'chunked, chunked', 'gzip, chunked', 'chunked, gzip', 'gzip', 'deflate', 'compress', 'identity', 'x', '', ' ', ',', ',chunked', 'chunked,', ', ,chunked', 'chunked;', 'chunked;a=b',
	'chunked ;a=b', 'chunked; q=0', 'chunked;q=1, chunked', '"chunked"', "'chunked'", '"chunked', '(x)chunked', 'chunked()', '[chunked]', '{chunked}', 'chunked/1.0', 'chunked:', ':chunked', ': chunked', 'chunked\r\n ', '\r\n chunked', '\r\n\tchunked', 'chunked\r\n , identity',
	'identity\r\n , chunked', 'x\r\n chunked', 'chunked\n', '\nchunked', 'chunked\r', '\rchunked', 'ch\rnked', 'ch\nunked', 'chun ked', 'chu,nked', 'trailers, chunked', 'chunked, trailers', 'chunked; ,', 'c\xc8\xb5nked', 'chun\x07ked', 'base64, chunked', 'gzip, gzip, chunked',
];
const FIVE_CHUNKED = '5\r\nhello\r\n0\r\n\r\n';
each('Transfer-Encoding', 'the value', CODINGS, (n, text) => post(n, `Transfer-Encoding: ${text}\r\n`, FIVE_CHUNKED));
each('Transfer-Encoding', 'the value before a hidden request:', CODINGS, (n, text) => post(n, `Transfer-Encoding: ${text}\r\n`, `0\r\n\r\n${evil(n)}`));
each('Transfer-Encoding', 'before chunked,', CODINGS, (n, text) => post(n, `Transfer-Encoding: ${text}\r\nTransfer-Encoding: chunked\r\n`, FIVE_CHUNKED));
each('Transfer-Encoding', 'behind chunked,', CODINGS, (n, text) => post(n, `Transfer-Encoding: chunked\r\nX: y\r\nTransfer-Encoding: ${text}\r\n`, FIVE_CHUNKED));
each('Transfer-Encoding', 'behind a Content-Length,', CODINGS, (n, text) => post(n, `Content-Length: 5\r\nTransfer-Encoding: ${text}\r\n`, FIVE_CHUNKED + evil(n)));
each('Transfer-Encoding', 'before a Content-Length,', CODINGS, (n, text) => post(n, `Transfer-Encoding: ${text}\r\nContent-Length: ${FIVE_CHUNKED.length}\r\n`, FIVE_CHUNKED));
each('Transfer-Encoding', 'in HTTP/1.0,', CODINGS, (n, text) => `POST ${own(n)} HTTP/1.0\r\n${HOST}Connection: keep-alive\r\nTransfer-Encoding: ${text}\r\n\r\n${FIVE_CHUNKED}`);
each('Transfer-Encoding', 'of a GET,', CODINGS, (n, text) => get(n, `Transfer-Encoding: ${text}\r\n`) + FIVE_CHUNKED);
each('Transfer-Encoding', 'the name', ['transfer-encoding', 'TRANSFER-ENCODING', 'Transfer-Encoding ', 'Transfer-Encoding\t', ' Transfer-Encoding', '\tTransfer-Encoding', 'Transfer_Encoding', 'Transfer-Encoding\0', 'Transfer-Encoding\x0b', '\x0bTransfer-Encoding',
	'\0Transfer-Encoding', 'Transfer\xadEncoding', 'X:Transfer-Encoding', 'Transfer-Encoding:', 'Transfer-Encoding\r\n', 'Transfer-\r\n Encoding', 'X: y\rTransfer-Encoding', 'X: y\nTransfer-Encoding', 'X: y\n\rTransfer-Encoding', 'X\nTransfer-Encoding', 'Transfer-encodin\xe7'],
	(n, name) => post(n, `Content-Length: 5\r\n${name}: chunked\r\n`, FIVE_CHUNKED));
each('Transfer-Encoding', 'a byte before chunked:', ALL, (n, b) => post(n, `Transfer-Encoding:${b}chunked\r\n`, FIVE_CHUNKED));
each('Transfer-Encoding', 'a byte behind chunked:', ALL, (n, b) => post(n, `Transfer-Encoding: chunked${b}\r\n`, FIVE_CHUNKED));
each('Transfer-Encoding', 'a byte within chunked:', ALL, (n, b) => post(n, `Transfer-Encoding: chu${b}ked\r\n`, FIVE_CHUNKED));

/* ---- chunks ---- */

const SIZES = [
	'5', '05', '0005', '00000000000000005', '000000000000000000000000000000005', '5 ', ' 5', '\t5', '5\t', '+5', '-5', '-1', '0x5', '0X5', '5h', 'x5', '5.', '5,', '5;', '5 ;', '5; ', '5;;', '5;a', '5 ;a', '5; a', '5\t;\ta', '5;a=', '5;=b', '5;a=b', '5;a =b', '5;a= b', '5;a="b"', '5;a="b', '5;a=b"',
	'5;a="\\"', '5;a="\\""', '5;a="b;c"', '5;a="b" c', '5;a=b;', '5;a=b;c=d', '5;a b', '5a', 'g', '', ' ', ';', ';a=b', '5\0', '\x005', '5\x0b', '5\x0c', '5\x80', '5\r', '\r5', '5\n', '\n5', '5\r\n', '\r\n5', '5\n\r', '5\r\r', '5\\r\\n', '"5"', '5 5', '5\r5', '5_0', 'five',
	'10000000000000005', '100000000000000005', 'ffffffffffffffff', 'fffffffffffffffb', '8000000000000005', '7fffffffffffffff', '100000005', 'ffffffff', '80000005', '-fffffffffffffffb', '4', '6', '0', '00', '5;\0', '5;a=\0', '5;a="\0"', '5;a="\x7f"', '5;a="\xff"', '5;\xff', '5;a=\xff', '5;a=\x01', '5;a\x01',
	`5;${'a'.repeat(200)}`, `5;a=${'b'.repeat(20000)}`, `5${';a'.repeat(5000)}`, `${'0'.repeat(5000)}5`,
].filter((x, i, all) => all.indexOf(x) === i);
each('chunk size', 'the first:', SIZES, (n, text) => chunked(n, `${text}\r\nhello\r\n0\r\n\r\n`));
each('chunk size', 'the second:', SIZES, (n, text) => chunked(n, `3\r\nabc\r\n${text}\r\nhello\r\n0\r\n\r\n`));
each('chunk size', 'of a hidden request:', SIZES, (n, text) => chunked(n, `${text}\r\nhello\r\n0\r\n\r\n${evil(n)}`));
each('chunk size', 'the last,', ['0', '00', '000000000000000000000', '-0', '+0', '0x0', '0 ', ' 0', '0;', '0;a', '0;a=b', '0\t', '0\0', '0\n', '\n0', '0\r', 'O', '', '0.0', '0,0', '0;\n', '0 ;a="b"'], (n, text) => chunked(n, `5\r\nhello\r\n${text}\r\n\r\n`));
each('chunk size', 'a byte before 5:', ALL, (n, b) => chunked(n, `${b}5\r\n${'x'.repeat(5)}\r\n0\r\n\r\n`));
each('chunk size', 'a byte behind 5:', ALL, (n, b) => chunked(n, `5${b}\r\n${'x'.repeat(5)}\r\n0\r\n\r\n`));
each('chunk size', 'a byte alone:', ALL, (n, b) => chunked(n, `${b}\r\n${'x'.repeat(10)}\r\n0\r\n\r\n`));
each('chunk size', 'a byte within 0…5:', ALL, (n, b) => chunked(n, `0${b}5\r\n${'x'.repeat(5)}\r\n0\r\n\r\n`));

const ENDS = ['\r\n', '\n', '\r', '', '\n\r', '\r\r\n', '\r\n\r\n', '\r\n\n', '\n\n', ' \r\n', '\r \n', '\r\0\n', '\0\r\n', 'x\r\n', '\r\nx', '\x0b', '\x85', '\t\r\n', 'xx', '  ', '\r\n '];
each('chunk end', 'behind the data,', ENDS, (n, end) => chunked(n, `5\r\nhello${end}0\r\n\r\n`));
each('chunk end', 'behind the data, before a hidden request:', ENDS, (n, end) => chunked(n, `5\r\nhello${end}0\r\n\r\n${evil(n)}`));
each('chunk end', 'behind the data of two bytes too few,', ENDS, (n, end) => chunked(n, `3\r\nhello${end}0\r\n\r\n`));
each('chunk end', 'behind the size,', ENDS, (n, end) => chunked(n, `5${end}hello\r\n0\r\n\r\n`));
each('chunk end', 'behind the last size,', ENDS, (n, end) => chunked(n, `5\r\nhello\r\n0${end}\r\n`));
each('chunk end', 'behind all,', ENDS, (n, end) => chunked(n, `5\r\nhello\r\n0\r\n${end}`));
for (const [what, write] of Object.entries({
	'for the CR behind data': (b) => `5\r\nhello${b}\n0\r\n\r\n`, 'for the LF behind data': (b) => `5\r\nhello\r${b}0\r\n\r\n`, 'for the CR behind a size': (b) => `5${b}\nhello\r\n0\r\n\r\n`, 'for the LF behind a size': (b) => `5\r${b}hello\r\n0\r\n\r\n`,
	'for the CR behind the last size': (b) => `5\r\nhello\r\n0${b}\n\r\n`, 'for the LF behind the last size': (b) => `5\r\nhello\r\n0\r${b}\r\n`, 'for the last CR': (b) => `5\r\nhello\r\n0\r\n${b}\n`, 'for the last LF': (b) => `5\r\nhello\r\n0\r\n\r${b}`,
}))
	each('chunk end', what, ALL, (n, b) => chunked(n, write(b)));

for (const [what, write] of Object.entries({
	'in a name': (b) => `;a${b}c`, 'as a name': (b) => `;${b}`, 'in a value': (b) => `;a=b${b}c`, 'as a value': (b) => `;a=${b}`, 'in a quoted value': (b) => `;a="b${b}c"`, 'behind a backslash': (b) => `;a="\\${b}"`, 'before the semicolon': (b) => `${b};a`, 'behind the value': (b) => `;a=b${b}`, 'behind a quoted value': (b) => `;a="b"${b}`,
}))
	each('extension', what, ALL, (n, b) => chunked(n, `5${write(b)}\r\nhello\r\n0\r\n\r\n`));
add('extension', 'a hidden request in a value', (n) => chunked(n, `5;a=${evil(n)}\r\nhello\r\n0\r\n\r\n`));
add('extension', 'a hidden request in a quoted value', (n) => chunked(n, `5;a="${evil(n)}"\r\nhello\r\n0\r\n\r\n`));
add('extension', 'a line end in a quoted value, then a hidden request', (n) => chunked(n, `5;a="\r\nhello\r\n0\r\n\r\n${evil(n)}"\r\nhello\r\n0\r\n\r\n`));
add('extension', 'a bare LF that hides the rest', (n) => chunked(n, `2;\nxx\r\n4c\r\n0\r\n\r\n${evil(n)}`));
add('extension', 'a bare LF as a value', (n) => chunked(n, `5;a=\n\r\nhello\r\n0\r\n\r\n${evil(n)}`));
add('extension', 'on the last chunk, a hidden request', (n) => chunked(n, `0;a=b\r\n\r\n${evil(n)}`));

/* ---- trailers ---- */

const trailer = (n, lines) => chunked(n, `5\r\nhello\r\n0\r\n${lines}\r\n`);
each('trailer', '', ['X: y\r\n', 'X:y\r\nY: z\r\n', 'Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', 'Host: evil.test\r\n', 'Connection: close\r\n', 'TE: trailers\r\n', 'Upgrade: h2c\r\n', 'Trailer: x\r\n', 'X : y\r\n', ' X: y\r\n', 'X: y\r\n z\r\n', 'X: y\n', 'X: y\r', 'X\r\n', ': y\r\n', ':path: /evil\r\n',
	'X: a\0b\r\n', 'X: a\rb\r\n', 'X: \r\n', 'Cookie: a=b\r\n', 'Authorization: x\r\n', 'Content-Type: x\r\n', 'X: y\r\nContent-Length: 0\r\n', '\n', '\0\r\n', `X: ${'y'.repeat(4000)}\r\n`, `X: ${'y'.repeat(200000)}\r\n`, 'X: y\r\n'.repeat(2000), 'Set-Cookie: a\r\n', 'GET /evil HTTP/1.1\r\n', 'Content-Length : 5\r\n', 'Keep-Alive: x\r\n'], trailer);
add('trailer', 'a hidden request', (n) => trailer(n, evil(n)));
add('trailer', 'a hidden request behind a bare LF', (n) => trailer(n, `X: y\n\n${evil(n)}`));
add('trailer', 'a hidden request behind a bare CR', (n) => trailer(n, `X: y\r\r${evil(n)}`));
for (const [what, write] of Object.entries({ 'first of a name': (b) => `${b}x: y`, 'in a name': (b) => `x${b}x: y`, 'last of a name': (b) => `x${b}: y`, 'in a value': (b) => `x: y${b}y`, 'last of a value': (b) => `x: y${b}` }))
	each('trailer', `a byte ${what}`, ALL, (n, b) => trailer(n, `${write(b)}\r\n`));

/* ---- Host ---- */

const HOSTS = [
	'a.test', 'A.TEST', 'a.test:', 'a.test:80', 'a.test:00080', 'a.test:8080', 'a.test:0', 'a.test:65535', 'a.test:65536', 'a.test:99999999999999999999', 'a.test:-1', 'a.test:+80', 'a.test:x', 'a.test:80:80', 'a.test:80x', 'a.test :80', 'a.test: 80', 'a.test.', '.a.test', 'a..test', '', ' ', ':80', ':', '@a.test', 'me@a.test', 'me:pw@a.test:80', 'a@b@c',
	'a.test/', 'a.test/evil', '/evil', 'a.test?x', 'a.test#x', 'a.test\\evil', 'a.test evil.test', 'a.test, evil.test', 'a.test,evil.test', 'a.test;evil.test', 'a.test\tevil.test', 'http://a.test', '//a.test', '[::1]', '[::1]:80', '[::1', '::1', '[::1]x', '[a.test]', '[]', '[::1%25eth0]', '[v1.x]', '127.0.0.1', '127.1', '0x7f.1',
	'%61.test', '%', '%4', '%zz', '%00.test', 'a_b.test', "a!$&'()*+,;=b", '<b>', '"a.test"', 'a|b', 'a^b', '{x}', 'a`b', 'a\0b', 'a\x7f', '\xe9.test', 'a.test\0.evil.test', 'a.test\r\n evil.test', '\r\n a.test', 'localhost', 'xn--bcher-kva.test', `${'a'.repeat(300)}.test`, `${'a.'.repeat(3000)}test`,
];
const withHost = (n, lines, target = own(n), version = 'HTTP/1.1') => `GET ${target} ${version}\r\n${lines}Connection: keep-alive\r\n\r\n`;
each('Host', 'the value', HOSTS, (n, host) => withHost(n, `Host: ${host}\r\n`));
each('Host', 'a second one,', HOSTS, (n, host) => withHost(n, `Host: a.test\r\nX: y\r\nHost: ${host}\r\n`));
each('Host', 'before another,', HOSTS, (n, host) => withHost(n, `Host: ${host}\r\nHost: a.test\r\n`));
each('Host', 'beside an absolute target,', HOSTS, (n, host) => withHost(n, `Host: ${host}\r\n`, `http://a.test${own(n)}`));
each('Host', 'in HTTP/1.0,', HOSTS, (n, host) => withHost(n, `Host: ${host}\r\n`, own(n), 'HTTP/1.0'));
each('Host', 'the name', ['HOST', 'host', 'Host ', ' Host', 'Host\t', 'H\xf6st', 'Host\0', ':Host', 'Host:', 'X-Host', ':authority', 'Hosts'], (n, name) => withHost(n, `${name}: a.test\r\n`));
each('Host', 'beside the right one, the name', ['Host ', ' Host', 'Host\t', 'Host\0', ':Host', 'X: y\rHost', 'X: y\nHost', ':authority', 'X-Forwarded-Host'], (n, name) => withHost(n, `Host: a.test\r\n${name}: evil.test\r\n`));
add('Host', 'none', (n) => withHost(n, ''));
add('Host', 'none in HTTP/1.0', (n) => withHost(n, '', own(n), 'HTTP/1.0'));
add('Host', 'none beside an absolute target', (n) => withHost(n, '', `http://a.test${own(n)}`));
add('Host', 'none beside an absolute target in HTTP/1.0', (n) => withHost(n, '', `http://a.test${own(n)}`, 'HTTP/1.0'));
for (const [where, write] of Object.entries({ first: (b) => `${b}xy`, middle: (b) => `x${b}y`, last: (b) => `xy${b}` }))
	each('Host', `the ${where} byte`, ALL, (n, b) => withHost(n, `Host: ${write(b)}\r\n`));

/* ---- target ---- */

const line = (n, first, more = '') => `${first}\r\n${HOST}${more}\r\n`;
each('target', '', [
	'', '?x', '#x', '/#', '/?#', '/x#y', '//', '//evil.test/', '/.', '/..', '/../..', '/%2e%2e/', '/%', '/%z', '/%0d%0aGET', '/%00', '/;a', '/?', '/??', '/\\', '\\', '/"<>^`{|}', '/[]', '/\xe9', '/a b', '/a\tb', '/a\0b', '/a\rb', '/a\nb', 'x', 'x/', '*', '**', '/*', '*/', 'a.test', 'a.test:80', 'a.test/', ':80', '@', 'me@a.test',
	'http:', 'http:/', 'http://', 'http:///', 'http:///x', 'http://a.test', 'http://a.test/', 'HTTP://a.test/', 'hTTp://A.test/', 'http://a.test?x', 'http://a.test#x', 'http://a.test/#x', 'http://a.test:80/', 'http://a.test:0/', 'http://a.test:/', 'http://a.test:81/', 'http://a.test:x/', 'http://evil.test/', 'http://me@a.test/', 'http://me:pw@a.test/',
	'http://a.test@evil.test/', 'http://evil.test@a.test/', 'http:\\\\a.test/', 'http://a.test\\evil', 'http:a.test/', 'http//a.test/', '://a.test/', '1http://a.test/', 'https://a.test/', 'ftp://a.test/', 'ws://a.test/', 'javascript:x', 'urn:x:y', 'http://[::1]/', 'http://[::1/', 'http://a.test,b.test/', 'http://%61.test/', 'http://a.test//x', 'http://a.test/ x', 'http://a.test.', 'http://a.test./',
	`/${'x'.repeat(7000)}`, `/${'x'.repeat(200000)}`,
], (n, target) => line(n, `GET ${target}${/^[/h*]/i.test(target) ? own(n) : ''} HTTP/1.1`));
for (const [method, targets] of Object.entries({ OPTIONS: ['*', '**', '/', 'http://a.test', 'http://a.test/', 'http://a.test*', '* ', 'a.test:80', '*/', '*?'], CONNECT: ['a.test:80', 'a.test', '/', '*', 'http://a.test/', 'a.test:', ':80', 'me@a.test:80', 'evil.test:443'], GET: ['*', 'a.test:80'], FOO: ['*', '/'] }))
	each('target', `of ${method},`, targets, (n, target) => line(n, `${method} ${target} HTTP/1.1`, `X-Number: ${own(n)}\r\n`));
add('target', 'a whole request', (n) => line(n, `GET ${own(n)} HTTP/1.1\r\nHost: a.test\r\n\r\n${evil(n)} HTTP/1.1`));
add('target', 'a version within', (n) => line(n, `GET ${own(n)} HTTP/1.1 HTTP/1.1`));
add('target', 'another version within', (n) => line(n, `GET ${own(n)} HTTP/1.0 HTTP/1.1`));
for (const [where, write] of Object.entries({ first: (n, b) => b + own(n).slice(1), second: (n, b) => `/${b}${own(n)}`, middle: (n, b) => `${own(n)}${b}x`, last: (n, b) => `${own(n)}${b}`, 'in a query': (n, b) => `${own(n)}?${b}` }))
	each('target', `the ${where} byte`, ALL, (n, b) => line(n, `GET ${write(n, b)} HTTP/1.1`));

/* ---- version ---- */

each('version', '', [
	'HTTP/1.1', 'HTTP/1.0', 'HTTP/1.2', 'HTTP/1.9', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/2', 'HTTP/3', 'HTTP/3.0', 'HTTP/9.9', 'HTTP/1', 'HTTP/1.', 'HTTP/.1', 'HTTP/11', 'HTTP/1.10', 'HTTP/10.1', 'HTTP/01.1', 'HTTP/1.01', 'HTTP/1.1.1', 'HTTP/1,1', 'HTTP/+1.1', 'HTTP/-1.1', 'HTTP/1.-1', 'HTTP/ 1.1', 'HTTP /1.1', 'HTTP/1 .1', 'HTTP/1. 1', 'HTTP/1.1x', 'HTTP/1.1 x', 'HTTP/1.1 ',
	' HTTP/1.1', 'HTTP/1.1\t', '\tHTTP/1.1', 'http/1.1', 'Http/1.1', 'HTTp/1.1', 'HTP/1.1', 'HTTPS/1.1', 'XHTTP/1.1', 'HTTP\\1.1', 'HTTP:1.1', 'HTTP', '1.1', '', 'ICE/1.0', 'RTSP/1.0', 'SIP/2.0', 'SHTTP/1.3', 'HTTP/1.1\0', 'HTTP/1.1\x0b', 'HTTP/1.1\xa0', 'HTTP/\xb9.1', 'HTTP/1.a', 'HTTP/x.1', 'HTTP/0x1.1', 'HTTP/1e0.1', 'HTTP/4294967297.1', 'HTTP/1.4294967297',
], (n, version) => line(n, `GET ${own(n)} ${version}`, 'Connection: keep-alive\r\n'));
for (let i = 0; i < 8; i++)
	each('version', `byte ${i}`, i % 2 && i < 4 ? ODD : ALL, (n, b) => line(n, `GET ${own(n)} ${'HTTP/1.1'.slice(0, i)}${b}${'HTTP/1.1'.slice(i + 1)}`, 'Connection: keep-alive\r\n'));
add('version', 'none, a simple request', (n) => `GET ${own(n)}\r\n`);
add('version', 'none, and fields', (n) => line(n, `GET ${own(n)}`));
add('version', 'that of HTTP/2 in its preface', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n');
add('version', 'HTTP/1.0 without keep-alive, a hidden request', (n) => `GET ${own(n)} HTTP/1.0\r\n${HOST}\r\n${evil(n)}`);
add('version', 'HTTP/1.0 with keep-alive, another request', (n) => `GET ${own(n)} HTTP/1.0\r\n${HOST}Connection: Keep-Alive\r\n\r\n${evil(n)}`);

/* ---- method ---- */

each('method', '', ['GET', 'get', 'Get', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH', 'PROPFIND', 'M-SEARCH', 'QUERY', 'SOURCE', 'PRI', 'X', '!', "!#$%&'*+-.^_`|~09azAZ", 'GET\t', ' GET', '\tGET', 'GET ', 'G ET', 'GET,', 'GET:', '"GET"', '(GET)', 'GET/', 'G@T', '\0GET', 'GET\0', '\xefGET', '', 'X'.repeat(300), 'X'.repeat(100000), 'GET / HTTP/1.1 GET', 'HTTP/1.1'],
	(n, method) => line(n, `${method} ${own(n)} HTTP/1.1`));
add('method', 'a whole request', (n) => line(n, `GET ${own(n)} HTTP/1.1\r\nHost: a.test\r\n\r\n${evil(n)}GET ${own(n)} HTTP/1.1`));
add('method', 'a response', (n) => `HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n${evil(n)}`);
for (const [where, write] of Object.entries({ first: (b) => `${b}ET`, middle: (b) => `G${b}T`, last: (b) => `GE${b}` }))
	each('method', `the ${where} byte`, ALL, (n, b) => line(n, `${write(b)} ${own(n)} HTTP/1.1`));
for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'FOO']) {
	add('method', `${method} with a body`, (n) => `${method} ${own(n)} HTTP/1.1\r\n${HOST}Content-Length: ${evil(n).length}\r\n\r\n${evil(n)}`);
	add('method', `${method} with chunks`, (n) => `${method} ${own(n)} HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n${evil(n).length.toString(16)}\r\n${evil(n)}\r\n0\r\n\r\n`);
}

/* ---- Connection ---- */

const SECRETS = 'X-Secret: y\r\nX-Open: z\r\n';
each('Connection', '', [
	'close', 'Close', 'CLOSE', 'keep-alive', 'keep-alive, close', 'close, keep-alive', 'x-secret', 'X-SECRET', 'x-secret, x-open', ' x-secret ,close', ',x-secret,,', '', ',', 'x-missing', 'content-length', 'Content-Length', 'close, content-length', 'transfer-encoding', 'Transfer-Encoding', 'close,transfer-encoding', 'host', 'HOST', 'keep-alive,host', 'connection', 'te', 'TE, x-secret', 'upgrade', 'Upgrade, HTTP2-Settings',
	'trailer', 'via', 'cookie', 'authorization', 'cache-control', 'x-forwarded-for', 'forwarded', 'date', 'content-type', 'expect', ':path', ':authority', ':method', 'x secret', 'x-secret;q=1', '"x-secret"', '"host"', 'ho\tst', 'close\0', '\x80', 'close x-secret', `${'x,'.repeat(500)}close`, 'close\r\n ,host', 'content-length\r\n', 'max-forwards', 'x-http-method-override', 'accept',
], (n, value) => post(n, `Connection: ${value}\r\n${SECRETS}Content-Length: 5\r\nCookie: a=b\r\nAuthorization: c\r\nCache-Control: no-store\r\nAccept: d\r\n`, FIVE + (/close/i.test(value) ? evil(n) : '')));
each('Connection', 'twice, the second', ['close', 'keep-alive', 'content-length', 'host', 'transfer-encoding', 'x-secret', ''], (n, value) => post(n, `Connection: x-open\r\n${SECRETS}Connection: ${value}\r\nContent-Length: 5\r\n`, FIVE));
each('Connection', 'with chunks,', ['content-length', 'transfer-encoding', 'host', 'x-secret', 'trailer', 'te'], (n, value) => chunked(n, FIVE_CHUNKED, `Connection: ${value}\r\n${SECRETS}`));
each('Connection', 'the field', ['Proxy-Connection: close', 'Proxy-Connection: keep-alive', 'Proxy-Connection: x-secret', 'Keep-Alive: timeout=5', 'TE: trailers', 'TE: chunked', 'TE: gzip;q=1, trailers', 'Upgrade: h2c', 'Upgrade: websocket', 'HTTP2-Settings: AAMAAABk', 'Connection : close', ' Connection: close', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk', 'Connection: upgrade\r\nUpgrade: websocket', 'Connection: TE\r\nTE: trailers', 'Trailer: Content-Length'],
	(n, field) => post(n, `${field}\r\n${SECRETS}Content-Length: 5\r\n`, FIVE));
for (const [what, write] of Object.entries({ before: (b) => `${b}x-secret`, behind: (b) => `x-secret${b}`, within: (b) => `x-secret${b}x-open` }))
	each('Connection', `a byte ${what} a name:`, ALL, (n, b) => get(n, `Connection: ${write(b)}\r\n${SECRETS}`));

/* ---- fields, line ends, whitespace ---- */

for (const [where, write] of Object.entries({ first: (b) => `${b}yz`, middle: (b) => `x${b}z`, last: (b) => `xy${b}`, only: (b) => b }))
	each('field name', `the ${where} byte`, ALL, (n, b) => get(n, `${write(b)}: v\r\n`));
each('field name', '', ['x-y', 'X-Y', '', ' ', ':', '::', ':x', ':method', ':path', ':authority', ':scheme', ':status', 'x:', 'x y', 'x\ty', '(x)', '"x"', 'x/y', 'GET / HTTP/1.1', 'content_length', 'transfer_encoding', `${'x'.repeat(5000)}`, `${'x'.repeat(200000)}`, 'x\r\ny', 'x\ny', 'x\ry', 'x\0y', 'x\r\n y', '\xef\xbb\xbfx', 'cookie', 'set-cookie', 'pragma'], (n, name) => get(n, `${name}: v\r\n`));
for (const [where, write] of Object.entries({ first: (b) => `${b}yz`, middle: (b) => `x${b}z`, last: (b) => `xy${b}`, only: (b) => b }))
	each('field value', `the ${where} byte`, ALL, (n, b) => get(n, `x:${write(b)}\r\n`));
each('field value', '', ['', ' ', '\t', 'a\r\n b', 'a\r\n\tb', 'a\r\n \r\n b', 'a\r\n ', 'a\n b', 'a\r b', 'a\rb', 'a\nb', 'a\nTransfer-Encoding: chunked', 'a\rTransfer-Encoding: chunked', 'a\0b', 'a\0\r\nb', 'a  b', 'a\t\tb', '"a', '\\', '\xff\xfe', '\u00e9', 'GET / HTTP/1.1', 'x'.repeat(7000), 'x'.repeat(200000), 'a\r\n\r\nb', 'a\x0d\x0d\x0a', 'a\x85b', '\x1b[31m'], (n, value) => get(n, `X: ${value}\r\n`));
add('field value', 'many fields', (n) => get(n, 'X: y\r\n'.repeat(90)));
add('field value', 'too many fields', (n) => get(n, Array.from({ length: 5000 }, (_, i) => `X${i}: y\r\n`).join('')));
add('field value', 'several cookies', (n) => get(n, 'Cookie: a=b; c=d\r\nX: y\r\nCookie: e=f\r\n'));
add('field value', 'expect', (n) => post(n, 'Expect: 100-continue\r\nContent-Length: 5\r\n', FIVE));
add('field value', 'another expect', (n) => post(n, 'Expect: x\r\nContent-Length: 5\r\n', FIVE));
add('field value', 'expect before chunks', (n) => chunked(n, FIVE_CHUNKED, 'Expect: 100-continue\r\n'));

const LINES = {
	'the request line': (n, end) => `POST ${own(n)} HTTP/1.1${end}${HOST}Content-Length: 5\r\n\r\n${FIVE}`,
	Host: (n, end) => `POST ${own(n)} HTTP/1.1\r\nHost: a.test${end}Content-Length: 5\r\n\r\n${FIVE}`,
	'a field': (n, end) => post(n, `X: y${end}Content-Length: 5\r\n`, FIVE),
	'the last field': (n, end) => `POST ${own(n)} HTTP/1.1\r\n${HOST}Content-Length: 5${end}\r\n${FIVE}`,
	'the head': (n, end) => `POST ${own(n)} HTTP/1.1\r\n${HOST}Content-Length: 5\r\n${end}${FIVE}`,
	'Transfer-Encoding': (n, end) => post(n, `Transfer-Encoding: chunked${end}`, FIVE_CHUNKED),
	'a trailer': (n, end) => trailer(n, `X: y${end}`),
};
for (const [what, write] of Object.entries(LINES)) {
	each('line end', `of ${what},`, ['\r\n', '\n', '\r', '\n\r', '\r\r\n', '\r\n\r\n', '\n\n', '\r\r', '\r\n\n', '\n\r\n', '', ' \r\n', '\t\r\n', '\r \n', '\r\0\n', '\0\r\n', '\0', '\x0b\r\n', '\x0c\r\n', '\x85', '\r\n ', '\r\n\t', '\r\n\0', '\xe2\x80\xa8', '\\r\\n', '%0d%0a'].filter((x, i, all) => all.indexOf(x) === i), write);
	each('line end', `of ${what}, for the CR`, ALL, (n, b) => write(n, `${b}\n`));
	each('line end', `of ${what}, for the LF`, ALL, (n, b) => write(n, `\r${b}`));
	each('line end', `of ${what}, between CR and LF`, ODD, (n, b) => write(n, `\r${b}\n`));
	each('line end', `of ${what}, behind it`, ODD, (n, b) => write(n, `\r\n${b}`));
}
add('line end', 'LF everywhere', (n) => get(n).replaceAll('\r', ''));
add('line end', 'CR everywhere', (n) => get(n).replaceAll('\n', ''));
add('line end', 'LF before a hidden request', (n) => `${get(n).slice(0, -2)}\n${evil(n)}`);

each('whitespace', 'between name and colon', ALL, (n, b) => get(n, `X${b}: y\r\n`));
each('whitespace', 'behind the colon', ODD, (n, b) => get(n, `X:${b}y\r\n`));
each('whitespace', 'before the name', ODD, (n, b) => get(n, `A: b\r\n${b}X: y\r\n`));
each('whitespace', 'before the first name', ODD, (n, b) => `GET ${own(n)} HTTP/1.1\r\n${b}${HOST}\r\n`);
each('whitespace', 'behind the value', ODD, (n, b) => get(n, `X: y${b}\r\n`));
each('whitespace', 'behind the method', ODD, (n, b) => line(n, `GET${b}${own(n)} HTTP/1.1`));
each('whitespace', 'behind the method and a space', ODD, (n, b) => line(n, `GET ${b}${own(n)} HTTP/1.1`));
each('whitespace', 'behind the target', ODD, (n, b) => line(n, `GET ${own(n)}${b}HTTP/1.1`));
each('whitespace', 'behind the target and a space', ODD, (n, b) => line(n, `GET ${own(n)} ${b}HTTP/1.1`));
each('whitespace', 'behind the version', ODD, (n, b) => line(n, `GET ${own(n)} HTTP/1.1${b}`));
each('whitespace', 'before the method', ODD, (n, b) => line(n, `${b}GET ${own(n)} HTTP/1.1`));
for (const name of ['Content-Length: 5', 'Transfer-Encoding: chunked', 'Host: evil.test', 'Connection: close']) {
	const [field, value] = name.split(': ');
	each('whitespace', `${field}, before the colon`, [' ', '\t', '  ', '\x0b', '\0', '\r\n ', '\xa0'], (n, w) => post(n, `X: y\r\n${field}${w}: ${value}\r\n`, FIVE_CHUNKED));
	each('whitespace', `${field}, folded under another`, [' ', '\t'], (n, w) => post(n, `X: y\r\n${w}${field}: ${value}\r\n`, FIVE_CHUNKED));
}

/* ---- what stands before and behind a request ---- */

each('pipelined prefix', 'before it,', ['\r\n', '\r\n\r\n', '\n', '\n\n', '\r', '\r\r\n', ' ', ' \r\n', '\t\r\n', '\0', '0\r\n\r\n', 'x\r\n', '\r\n'.repeat(5), '\r\n'.repeat(3000), 'GET', '\x16\x03\x01', 'PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n', 'HTTP/1.1 200 OK\r\n\r\n', '\xef\xbb\xbf'], (n, prefix) => prefix + get(n));
each('pipelined prefix', 'between two,', ['', '\r\n', '\r\n\r\n', '\n', '\r', ' ', '\0', '0\r\n\r\n', 'x', 'x\r\n', '\r\n '], (n, prefix) => get(n) + prefix + get(n));
each('pipelined prefix', 'behind a body,', ['', '\r\n', '\r\n\r\n', '\n', '\r', ' ', '\0', '0\r\n\r\n', 'x', '\r\nx'], (n, prefix) => post(n, 'Content-Length: 5\r\n', FIVE) + prefix + get(n));
each('pipelined prefix', 'behind chunks,', ['', '\r\n', '\r\n\r\n', '\n', '\r', ' ', '\0', '0\r\n\r\n', 'x', '\r\nx'], (n, prefix) => chunked(n, FIVE_CHUNKED) + prefix + get(n));
add('pipelined prefix', 'ten requests', (n) => get(n).repeat(10));
add('pipelined prefix', 'bodies and none in turn', (n) => (get(n) + post(n, 'Content-Length: 5\r\n', FIVE) + chunked(n, FIVE_CHUNKED)).repeat(3));
add('pipelined prefix', 'a malformed one behind a good one', (n) => `${get(n)}GET ${evilTarget(n)} HTTP/1.1\r\nX : y\r\n\r\n`);
add('pipelined prefix', 'a good one behind a malformed one', (n) => `GET ${own(n)} HTTP/1.1\r\n${HOST}X : y\r\n\r\n${evil(n)}`);
add('pipelined prefix', 'requests behind Connection: close', (n) => get(n, 'Connection: close\r\n') + evil(n));
add('pipelined prefix', 'requests behind CONNECT', (n) => `CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n${evil(n)}`);
add('pipelined prefix', 'requests behind an Upgrade', (n) => get(n, 'Connection: upgrade\r\nUpgrade: websocket\r\n') + evil(n));
add('pipelined prefix', 'a hidden request behind HEAD', (n) => `HEAD ${own(n)} HTTP/1.1\r\n${HOST}\r\n${evil(n)}`);
add('pipelined prefix', 'half a request', (n) => evil(n).slice(0, 20));
add('pipelined prefix', 'a hidden request behind too long a body', (n) => post(n, `Content-Length: ${evil(n).length + 5}\r\n`, FIVE + evil(n)));
add('pipelined prefix', 'both lengths, the classic', (n) => post(n, 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `${evil(n).length.toString(16)}\r\n${evil(n)}\r\n0\r\n\r\n`));

/* A field list as a client of HTTP/1.1 might write it who means the names of HTTP/2. */
each('pseudo-fields', 'a field', [':method: GET', ':path: /evil', ':authority: evil.test', ':scheme: https', ':status: 200', ':protocol: websocket', ': x', 'method: GET', '::path: x', ':path : /', ' :path: /'], (n, text) => get(n, `${text}\r\n`));
each('pseudo-fields', 'before Host,', [':method: GET', ':path: /evil', ':authority: evil.test'], (n, text) => `GET ${own(n)} HTTP/1.1\r\n${text}\r\n${HOST}\r\n`);
each('pseudo-fields', 'a trailer', [':method: GET', ':path: /evil', ':status: 200'], (n, text) => trailer(n, `${text}\r\n`));

export const ROWS = [...new Set(forms.map((f) => f.row))];
export default forms;
