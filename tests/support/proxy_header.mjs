/* SPDX-License-Identifier: MIT */
/*
 * PROXY headers as balancers write them, independent of the program.
 *
 *   v1('192.0.2.1', '198.51.100.2', 1000, 443)
 *   v2('192.0.2.1', '198.51.100.2', 1000, 443, { tls: true, id: 'a', authority: 'a.test', alpn: 'h2', sum: true })
 *   local()     v2 of the balancer itself
 *   read(bytes) {length, version, command, from, to, fromPort, toPort}; null: more is to come
 *   headedOrigin({ tls })   an origin in HTTP/1.1 whose connections begin with a header: origin.port, .headers, .requests
 */
import http from 'node:http';
import net from 'node:net';
import tls from 'node:tls';

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

function addressOf(bytes) {
	if (bytes.length === 4)
		return [...bytes].join('.');
	const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
	return new net.SocketAddress({ family: 'ipv6', address: groups.join(':') }).address;
}

export function read(bytes) {
	if (bytes[0] === 0x50) {
		const end = bytes.indexOf('\r\n');
		if (end < 0)
			return null;
		const [, command, from, to, fromPort, toPort] = bytes.toString('latin1', 0, end).split(' ');
		return { length: end + 2, version: 1, command, from, to, fromPort: Number(fromPort), toPort: Number(toPort) };
	}
	if (bytes.length < 16 || bytes.length < 16 + bytes.readUInt16BE(14))
		return null;
	if (!bytes.subarray(0, 12).equals(SIGNATURE))
		throw new Error(`no header: ${bytes.toString('latin1')}`);
	const command = { 0x2000: 'LOCAL', 0x2100: 'UNKNOWN', 0x2111: 'TCP4', 0x2121: 'TCP6' }[bytes.readUInt16BE(12)];
	const rest = bytes.subarray(16, 16 + bytes.readUInt16BE(14)), n = (rest.length - 4) / 2;
	if (rest.length !== { LOCAL: 0, UNKNOWN: 0, TCP4: 12, TCP6: 36 }[command])
		throw new Error(`a wrong length: ${bytes.toString('hex')}`);
	const ends = n > 0 && { from: addressOf(rest.subarray(0, n)), to: addressOf(rest.subarray(n, 2 * n)), fromPort: rest.readUInt16BE(2 * n), toPort: rest.readUInt16BE(2 * n + 2) };
	return { length: 16 + rest.length, version: 2, command, ...ends };
}

/* Each request has the number of its connection and that one's header. respond: as of http.createServer. */
export async function headedOrigin({ tls: secure, respond = (request, answer) => answer.end('ok') } = {}) {
	const origin = { headers: [], requests: [], faults: [], sockets: [] };
	const server = http.createServer({ keepAliveTimeout: 0 }, (request, answer) => {
		const { header, number } = request.socket;
		origin.requests.push({ target: request.url, header, number });
		respond(request, answer);
	});
	server.on('upgrade', (request, socket) => {
		origin.requests.push({ target: request.url, header: socket.header, number: socket.number });
		socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
		socket.pipe(socket);
	});
	const begin = (raw, header) => {
		origin.headers.push(header);
		const number = origin.headers.length;
		const socket = secure ? new tls.TLSSocket(raw, { isServer: true, ALPNProtocols: ['http/1.1'], ...secure }) : raw;
		const go = () => server.emit('connection', Object.assign(socket, { header, number }));
		if (secure)
			socket.once('secure', go);
		else
			go();
	};
	const welcome = (raw) => {
		origin.sockets.push(raw);
		raw.on('error', () => {});
		const more = () => {
			const bytes = raw.read();
			if (!bytes)
				return;
			try {
				const header = read(bytes);
				raw.unshift(header ? bytes.subarray(header.length) : bytes);
				if (!header)
					return;
				raw.removeListener('readable', more);
				begin(raw, header);
			} catch (error) {
				origin.faults.push(error.message);
				raw.destroy();
			}
		};
		raw.on('readable', more);
	};
	const listener = net.createServer({ allowHalfOpen: true }, welcome);
	await new Promise((resolve) => { listener.listen(0, '127.0.0.1', resolve); });
	origin.port = listener.address().port;
	origin.close = () => {
		listener.close();
		origin.sockets.forEach((socket) => socket.destroy());
	};
	return origin;
}
