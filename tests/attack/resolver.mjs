/* SPDX-License-Identifier: MIT */
/* A name server that means harm, in the attacker's process. tests/support/dns.mjs is the honest one. */
import dgram from 'node:dgram';
import { Tally } from './raw.mjs';

/* Answers each query `serve(send, query)` as it likes. It counts what it has sent. */
export class EvilResolver {
	frames = 0;
	queries = 0;
	isClosed = false;

	constructor(serve) { this.serve = serve; }

	async listen(port) {
		this.socket = dgram.createSocket('udp4');
		this.socket.on('error', () => {});
		this.socket.on('message', (query, peer) => {
			this.queries++;
			this.serve((bytes) => new Promise((resolve) => {
				if (this.isClosed) { /* an answer in many parts that was not over */
					resolve();
					return;
				}
				this.frames++;
				this.socket.send(bytes, peer.port, peer.address, resolve);
			}), query);
		});
		await new Promise((resolve) => { this.socket.bind(port, '127.0.0.1', resolve); });
		return this;
	}

	take() {
		const tally = Object.assign(new Tally(), { frames: this.frames });
		this.frames = 0;
		return tally;
	}

	close() {
		this.isClosed = true;
		this.socket.close();
	}
}

/* The answer to `query`, with any id and flags and `counts` records. */
export const withId = (query, id, flags, counts, ...records) => {
	const question = query.subarray(12, query.indexOf(0, 12) + 5);
	const head = Buffer.alloc(12);
	head.writeUInt16BE(id, 0);
	head.writeUInt16BE(flags, 2);
	head.writeUInt16BE(1, 4);
	head.writeUInt16BE(counts, 6);
	return Buffer.concat([head, question, ...records]);
};
export const answerTo = (query, records = [], code = 0) => withId(query, query.readUInt16BE(0), 0x8180 | code, records.length, ...records);
/* One address of the name that was asked for, which a pointer names. It lives for no time. */
export const address = (...bytes) => Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...bytes]);
export const isForIpv4 = (query) => query.readUInt16BE(query.indexOf(0, 12) + 1) === 1;
