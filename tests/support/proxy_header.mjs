/* SPDX-License-Identifier: MIT */
/*
 * PROXY headers as balancers write them, independent of the program.
 *
 *   v1('192.0.2.1', '198.51.100.2', 1000, 443)
 *   v2('192.0.2.1', '198.51.100.2', 1000, 443, { tls: true, id: 'a', authority: 'a.test', alpn: 'h2', sum: true })
 *   local()     v2 of the balancer itself
 */
import net from 'node:net';

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

export function v1(from, to = '198.51.100.2', fromPort = 50000, toPort = 80) {
	return Buffer.from(`PROXY TCP${net.isIPv6(from) ? 6 : 4} ${from} ${to} ${fromPort} ${toPort}\r\n`, 'latin1');
}

function address(text) {
	if (net.isIPv4(text))
		return Buffer.from(text.split('.').map(Number));
	const [left, right] = text.split('::').map((part) => part.split(':').filter(Boolean));
	const groups = right === undefined ? left : [...left, ...Array(8 - left.length - right.length).fill('0'), ...right];
	const bytes = Buffer.alloc(16);
	groups.forEach((group, i) => bytes.writeUInt16BE(parseInt(group, 16), 2 * i));
	return bytes;
}

const port = (n) => Buffer.from([n >> 8, n & 255]);
export const value = (type, bytes) => Buffer.concat([Buffer.from([type, bytes.length >> 8, bytes.length & 255]), Buffer.from(bytes)]);

/* Castagnoli's polynomial, bit by bit. */
function crc32c(bytes) {
	let sum = 0xffffffff;
	for (const byte of bytes) {
		sum ^= byte;
		for (let i = 0; i < 8; i++)
			sum = sum & 1 ? (sum >>> 1) ^ 0x82f63b78 : sum >>> 1;
	}
	return (sum ^ 0xffffffff) >>> 0;
}

function assemble(command, family, rest) {
	return Buffer.concat([SIGNATURE, Buffer.from([0x20 | command, family]), port(rest.length), rest]);
}

export function v2(from, to = net.isIPv6(from) ? '2001:db8::2' : '198.51.100.2', fromPort = 50000, toPort = 80, o = {}) {
	const values = [];
	if (o.alpn)
		values.push(value(0x01, Buffer.from(o.alpn)));
	if (o.authority)
		values.push(value(0x02, Buffer.from(o.authority)));
	if (o.id)
		values.push(value(0x05, Buffer.from(o.id)));
	if (o.tls)
		values.push(value(0x20, Buffer.concat([Buffer.from([1, 0, 0, 0, 0]), value(0x21, Buffer.from('TLSv1.3'))])));
	values.push(...o.more ?? []);
	if (o.sum !== undefined)
		values.push(value(0x03, Buffer.alloc(4)));
	const bytes = assemble(1, net.isIPv6(from) ? 0x21 : 0x11, Buffer.concat([address(from), address(to), port(fromPort), port(toPort), ...values]));
	if (o.sum !== undefined)
		bytes.writeUInt32BE((crc32c(bytes) ^ (o.sum ? 0 : 1)) >>> 0, bytes.length - 4);
	return bytes;
}

export const local = () => assemble(0, 0, Buffer.alloc(0));
