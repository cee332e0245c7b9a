/* SPDX-License-Identifier: MIT */
/*
 * A TCP relay that is as far away as one likes: what comes on either side leaves on the other one so many milliseconds
 * later, in order, and so does the end. It loses nothing; the handshake of TCP itself is not delayed.
 */
import net from 'node:net';

/* Calls act() for each entry when its time has come, in the order in which they were put in. */
class Line {
	#queue = [];
	#timer;
	#free = 0;

	constructor(way) { this.way = way; }

	/* bytes: how much of a line with a rate the entry takes. */
	put(act, bytes = 0) {
		const now = performance.now(), { ms, rate } = this.way;
		if (ms === 0 && !rate && !this.#queue.length)
			return void act();
		this.#free = Math.max(now, this.#free) + (rate ? bytes / rate * 1000 : 0);
		this.#queue.push({ at: this.#free + ms, act });
		this.#timer ??= setTimeout(() => this.#run(), Math.ceil(this.#queue[0].at - now));
	}
	#run() {
		/* A timer may fire a little early. */
		while (this.#queue.length && this.#queue[0].at <= performance.now())
			this.#queue.shift().act();
		this.#timer = this.#queue.length ? setTimeout(() => this.#run(), Math.ceil(this.#queue[0].at - performance.now())) : undefined;
	}
	stop() {
		clearTimeout(this.#timer);
		this.#queue.length = 0;
	}
}

/*
 * to: a port. ms: of each direction. from: the address that connections come from; rate: bytes a second of each direction,
 * 0 without a limit. Gives {port, way, bytes, cut, close}: way has ms, from and rate, which may be changed; bytes counts what
 * went up, to the port, and down; cut ends all connections.
 */
export async function delay(to, ms, { from = '127.0.0.1', rate = 0 } = {}) {
	const way = { ms, from, rate }, bytes = { up: 0, down: 0 };
	const all = new Set();
	const server = net.createServer({ allowHalfOpen: true }, (near) => {
		const far = net.connect({ port: to, host: '127.0.0.1', localAddress: way.from, allowHalfOpen: true });
		const lines = [];
		const destroy = () => {
			near.destroy();
			far.destroy();
			lines.forEach((line) => line.stop());
			all.delete(destroy);
		};
		all.add(destroy);
		for (const [source, into, direction] of [[near, far, 'up'], [far, near, 'down']]) {
			const line = new Line(way);
			lines.push(line);
			source.setNoDelay(true);
			source.on('data', (chunk) => {
				bytes[direction] += chunk.length;
				line.put(() => { if (into.writable) into.write(chunk); }, chunk.length);
			});
			source.on('end', () => line.put(() => into.end()));
			source.on('error', () => line.put(destroy));
			source.on('close', () => { if (near.closed && far.closed) all.delete(destroy); });
		}
	});
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	const cut = () => {
		for (const destroy of all)
			destroy();
	};
	return {
		port: server.address().port, way, bytes, cut,
		close() {
			cut();
			return new Promise((resolve) => { server.close(resolve); });
		},
	};
}
