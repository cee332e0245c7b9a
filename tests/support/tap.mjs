/* SPDX-License-Identifier: MIT */
/*
 * A TCP proxy that keeps every frame that passes, decoded, for tests with real peers: what did
 * the two really say to each other? Cleartext only. It changes nothing.
 */
import net from 'node:net';
import { FLAG, FrameReader, PREFACE } from './frames.mjs';
import { Decoder } from './hpack.mjs';

class Side {
	#reader = new FrameReader();
	#decoder = new Decoder();
	#held = null;
	#preface;

	constructor(from, record) {
		this.record = record;
		this.from = from;
		this.#preface = from === 'client' ? PREFACE.length : 0;
		/* Tables may be larger than the initial limit: the peers' own business here. */
		this.#decoder.limit = 65536;
	}

	push(chunk) {
		const n = Math.min(this.#preface, chunk.length);
		this.#preface -= n;
		for (let f of this.#reader.push(chunk.subarray(n))) {
			if (f.type === 'CONTINUATION') {
				this.#held.parts.push(f.fragment);
				this.#held.flags |= f.flags & FLAG.END_HEADERS;
				f = this.#held;
			} else if (f.fragment) {
				f.parts = [f.fragment];
			}
			if (f.parts && !(f.flags & FLAG.END_HEADERS)) {
				this.#held = f;
				continue;
			}
			if (f.parts) {
				f.fields = this.#decoder.decode(Buffer.concat(f.parts));
				f.headers = Object.fromEntries(f.fields.map(({ name, value }) => [name, value]));
			}
			this.record(this.from, f);
		}
	}
}

/* to: a port. Gives {port, connections: [{frames: [{from, …frame}], destroy}], close}. */
export async function tap(to, { port = 0 } = {}) {
	const connections = [];
	const sockets = new Set();
	const server = net.createServer((near) => {
		const c = { frames: [], of: (from, type) => c.frames.filter((f) => f.from === from && (!type || f.type === type)) };
		connections.push(c);
		const record = (from, f) => {
			f.payload = f.type === 'DATA' || f.type === 'PING' ? f.payload : null;
			f.from = from;
			f.seq = c.frames.length;
			c.frames.push(f);
		};
		const sides = { client: new Side('client', record), server: new Side('server', record) };
		const far = net.connect(to, '127.0.0.1');
		c.destroy = () => { near.destroy(); far.destroy(); };
		for (const [a, b, from] of [[near, far, 'client'], [far, near, 'server']]) {
			sockets.add(a);
			a.setNoDelay(true);
			a.on('data', (chunk) => { try { sides[from].push(chunk); } catch (error) { c.error ??= error; } });
			a.on('error', () => b.destroy());
			a.on('close', () => { sockets.delete(a); b.destroy(); });
			a.pipe(b);
		}
	});
	await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
	return {
		port: server.address().port,
		connections,
		close() {
			for (const s of sockets)
				s.destroy();
			return new Promise((resolve) => { server.close(resolve); });
		},
	};
}
