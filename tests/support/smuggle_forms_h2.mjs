/* SPDX-License-Identifier: MIT */
/*
 * The same for clients of HTTP/2: {row, name, write(n)} gives {fields, data, trailers}: the field list of case n, the
 * bytes of its DATA (undefined: END_STREAM on HEADERS), and the fields behind them. What is legal, says the judge.
 */
import { AUTHORITY, evil, own } from './smuggle_forms.mjs';

const ALL = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i));
const show = (text) => JSON.stringify(text.length > 60 ? `${text.slice(0, 50)}… (${text.length})` : text)
	.replace(/[\x7f-\xff]/g, (c) => `\\x${c.charCodeAt(0).toString(16)}`);

const forms = [];
const request = (n, changes = {}, more = []) => ({
	fields: [
		...Object.entries({ ':method': 'POST', ':scheme': 'http', ':authority': AUTHORITY, ':path': own(n), ...changes }).filter(([, v]) => v !== undefined),
		...more,
	],
});
const add = (row, name, write) => forms.push({ row, name, write });
const each = (row, what, texts, write) => texts.forEach((text) => add(row, `${what} ${show(text)}`, (n) => write(n, text)));
/* Each byte at each place of a text of three. */
const bytes = (row, what, sample, write) => {
	for (const [where, text] of Object.entries({ first: (b) => b + sample.slice(1), middle: (b) => sample[0] + b + sample[2], last: (b) => sample.slice(0, 2) + b }))
		each(row, `${what}, the ${where} byte`, ALL, (n, b) => write(n, text(b)));
};

/* What would end a line, a head or a token of HTTP/1.1. */
const BREAKS = ['\r\n', '\n', '\r', '\0', ' ', '\t', '\r\n\r\n', '\n\n', '\r\n ', '\r\nX: y', '\nX: y', '\rX: y', '\0X: y', ' HTTP/1.1', ' HTTP/1.1\r\n', ' HTTP/1.1\r\nHost: evil.test\r\n\r\n', ' HTTP/1.1\nHost: evil.test\n\n',
	' HTTP/1.0\r\n\r\n', '\r\nTransfer-Encoding: chunked', '\r\nContent-Length: 0', '\r\nContent-Length: 0\r\n\r\nGET /evil HTTP/1.1\r\nHost: a.test\r\n\r\n', '\u00a0', '\x85', '\x0b', '\x0c', '\x7f', '%0d%0a', '\\r\\n', '#', '?', '/../', '//', ':', '@', ','];

bytes('method', ':method', 'XYZ', (n, text) => request(n, { ':method': text }));
each('method', ':method', ['GET', 'get', '', 'CONNECT', 'OPTIONS', 'HEAD', 'TRACE', 'PRI', 'X'.repeat(3000), ' GET', 'GET ', 'GET /evil HTTP/1.1\r\nHost: x\r\n\r\nGET', `GET /evil HTTP/1.1`, 'G ET'], (n, text) => request(n, { ':method': text }));
each('method', ':method and', BREAKS, (n, text) => request(n, { ':method': `GET${text}` }));
bytes('target', ':path', '/yz', (n, text) => request(n, { ':path': text }, [['x-number', own(n)]]));
bytes('target', ':path behind a slash', 'xyz', (n, text) => request(n, { ':path': `/${text}${own(n)}` }));
each('target', ':path', ['', '*', '**', '?x', 'x', 'http://a.test/', 'a.test:80', '//', '/?', '/%', '/"<>^`{|}', '/..', '/\xe9', '/\\'], (n, text) => request(n, { ':path': text }, [['x-number', own(n)]]));
each('target', ':path of OPTIONS,', ['*', '**', '* ', '/', '', 'http://a.test'], (n, text) => request(n, { ':method': 'OPTIONS', ':path': text }, [['x-number', own(n)]]));
each('target', 'behind :path,', BREAKS, (n, text) => request(n, { ':path': own(n) + text }));
each('target', 'within :path,', BREAKS, (n, text) => request(n, { ':path': `/x${text}${own(n)}` }));
bytes('Host', ':authority', 'xyz', (n, text) => request(n, { ':authority': text }));
bytes('Host', 'host', 'xyz', (n, text) => request(n, { ':authority': undefined }, [['host', text]]));
each('Host', 'behind :authority,', BREAKS, (n, text) => request(n, { ':authority': `a.test${text}` }));
each('Host', 'behind host,', BREAKS, (n, text) => request(n, { ':authority': undefined }, [['host', `a.test${text}`]]));
each('Host', 'host beside :authority:', ['a.test', 'A.TEST', 'a.test:80', 'evil.test', '', 'a.test ', 'a.test, evil.test', 'me@a.test'], (n, text) => request(n, {}, [['host', text]]));
add('Host', 'two hosts', (n) => request(n, {}, [['host', 'a.test'], ['host', 'a.test']]));
add('Host', 'none', (n) => request(n, { ':authority': undefined }));
bytes('field name', '', 'xyz', (n, text) => request(n, {}, [[text, 'v']]));
each('field name', 'x and', BREAKS, (n, text) => request(n, {}, [[`x${text}`, 'v']]));
each('field name', '', ['', 'X', 'x: y\r\ntransfer-encoding', 'transfer-encoding: chunked\r\nx', 'x ', ' x', 'host: evil.test\r\nx', 'get / http/1.1\r\nx', 'cookie2', 'proxy-authorization', 'x'.repeat(4000)], (n, text) => request(n, {}, [[text, 'chunked']]));
bytes('field value', '', 'xyz', (n, text) => request(n, {}, [['x', text]]));
each('field value', 'y and', BREAKS, (n, text) => request(n, {}, [['x', `y${text}`]]));
each('field value', 'y, something, z:', BREAKS, (n, text) => request(n, {}, [['x', `y${text}z`]]));
each('field value', 'of a cookie', BREAKS, (n, text) => request(n, {}, [['cookie', `a=b${text}`], ['cookie', 'c=d']]));
each('field value', 'of accept-encoding', BREAKS, (n, text) => request(n, {}, [['accept-encoding', `gzip${text}`]]));
add('field value', 'many cookies', (n) => request(n, {}, Array.from({ length: 50 }, (_, i) => ['cookie', `c${i}=v`])));
add('field value', 'cookies with others between', (n) => request(n, {}, [['cookie', 'a=b'], ['x', 'y'], ['cookie', 'c=d; e=f'], ['cookie', '']]));
for (const [name, values] of Object.entries({
	'transfer-encoding': ['chunked', 'identity', '', 'trailers'], 'connection': ['close', 'keep-alive', 'transfer-encoding', 'x-secret', ''], 'keep-alive': ['timeout=5'], 'proxy-connection': ['keep-alive'], 'upgrade': ['h2c', 'websocket'],
	'te': ['trailers', 'Trailers', 'chunked', 'trailers, chunked', 'trailers;q=1', '', 'gzip'], 'http2-settings': ['AAMAAABk'], 'expect': ['100-continue'], 'trailer': ['content-length', 'x'],
}))
	each(name.startsWith('t') && name !== 'trailer' ? 'Transfer-Encoding' : 'Connection', `${name}:`, values, (n, value) => ({ ...request(n, {}, [[name, value], ['x-secret', 'y']]), data: '5\r\nhello\r\n0\r\n\r\n' }));
for (const name of ['Transfer-Encoding', 'transfer-encoding ', ' transfer-encoding', 'transfer-encoding\0', 'transfer_encoding', 'transfer-encoding\r\n', '\ttransfer-encoding', 'transfer-encoding:'])
	add('Transfer-Encoding', `the name ${show(name)}`, (n) => ({ ...request(n, {}, [[name, 'chunked']]), data: '0\r\n\r\n' }));
bytes('Content-Length', '', '111', (n, text) => ({ ...request(n, {}, [['content-length', text]]), data: 'x'.repeat(111) }));
const LENGTHS = ['5', '05', '+5', '-5', ' 5', '5 ', '5,5', '5, 5', '5;', '0x5', '5.0', '', '0', '4', '6', '36', '5\r\n', '5\n', '5\r\nTransfer-Encoding: chunked', '5\0', '4294967301', '18446744073709551621', '99999999999999999999999'];
each('Content-Length', 'before DATA of 5,', LENGTHS, (n, text) => ({ ...request(n, {}, [['content-length', text]]), data: 'hello' }));
each('Content-Length', 'and END_STREAM,', LENGTHS, (n, text) => request(n, {}, [['content-length', text]]));
each('Content-Length', 'a second one,', LENGTHS, (n, text) => ({ ...request(n, {}, [['content-length', '5'], ['content-length', text]]), data: 'hello' }));
each('Content-Length', 'before a hidden request,', ['0', '4', '5', '6'], (n, text) => ({ ...request(n, {}, [['content-length', text]]), data: `hello${evil(n)}` }));
for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'TRACE'])
	for (const data of [(n) => evil(n), () => `0\r\n\r\n`, (n) => `0\r\n\r\n${evil(n)}`, (n) => `5\r\nhello\r\n0\r\n\r\n${evil(n)}`, () => '', () => '\r\n', () => '\r\n\r\n']) {
		add('pipelined prefix', `${method} with DATA of ${show(data(0))}`, (n) => ({ ...request(n, { ':method': method }), data: data(n) }));
		add('pipelined prefix', `${method} with content-length and DATA of ${show(data(0))}`, (n) => ({ ...request(n, { ':method': method }, [['content-length', String(data(n).length)]]), data: data(n) }));
	}
const trailers = (n, fields) => ({ ...request(n), data: 'hello', trailers: fields });
bytes('trailer', 'a name', 'xyz', (n, text) => trailers(n, [[text, 'v']]));
bytes('trailer', 'a value', 'xyz', (n, text) => trailers(n, [['x', text]]));
each('trailer', 'y and', BREAKS, (n, text) => trailers(n, [['x', `y${text}`]]));
each('trailer', 'x and', BREAKS, (n, text) => trailers(n, [[`x${text}`, 'y']]));
each('trailer', '', ['content-length', 'transfer-encoding', 'host', 'connection', 'te', 'upgrade', ':path', ':method', ':status', 'trailer', 'cookie', 'authorization', 'x'], (n, name) => trailers(n, [[name, '5']]));
bytes('pseudo-fields', ':scheme', 'xyz', (n, text) => request(n, { ':scheme': text }));
each('pseudo-fields', ':scheme http and', BREAKS, (n, text) => request(n, { ':scheme': `http${text}` }));
each('pseudo-fields', '', [':status', ':protocol', ':x', ':', '::path', ':Path', ':path ', ':authority\r\nx'], (n, name) => request(n, { [name]: 'x' }));
for (const name of [':method', ':scheme', ':authority', ':path']) {
	add('pseudo-fields', `no ${name}`, (n) => request(n, { [name]: undefined }));
	add('pseudo-fields', `${name} twice`, (n) => { const r = request(n); return { fields: [...r.fields, r.fields.find(([f]) => f === name)] }; });
	add('pseudo-fields', `${name} behind a field`, (n) => { const r = request(n); return { fields: [...r.fields.filter(([f]) => f !== name), ['x', 'y'], r.fields.find(([f]) => f === name)] }; });
}
each('line end', 'at the end of each part', BREAKS, (n, text) => request(n, { ':path': own(n) }, [['x', `a${text}`], ['y', 'b']]));

export default forms;
