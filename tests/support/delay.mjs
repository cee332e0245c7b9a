/* SPDX-License-Identifier: MIT */
/*
 * A TCP relay that is as far away as one likes: what comes on either side leaves on the other one so many milliseconds
 * later, in order, and so does the end. It neither loses nor paces anything; the handshake of TCP itself is not delayed.
 */
import net from 'node:net';

/* Calls act() for each entry when its time has come, in the order in which they were put in. */
class Line {
	#queue = [];
	#timer;

	constructor(ms) { this.ms = ms; }

	put(act) {
		this.#queue.push({ at: performance.now() + this.ms, act });
		this.#timer ??= setTimeout(() => this.#run(), this.ms);
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

/* to: a port. ms: of each direction. Gives {port, close}. */
export async function delay(to, ms) {
	const all = new Set();
	const server = net.createServer({ allowHalfOpen: true }, (near) => {
		const far = net.connect({ port: to, host: '127.0.0.1', allowHalfOpen: true });
		const lines = [];
		const destroy = () => {
			near.destroy();
			far.destroy();
			lines.forEach((line) => line.stop());
			all.delete(destroy);
		};
		all.add(destroy);
		for (const [from, into] of [[near, far], [far, near]]) {
			const line = new Line(ms);
			lines.push(line);
			from.setNoDelay(true);
			from.on('data', (chunk) => line.put(() => { if (into.writable) into.write(chunk); }));
			from.on('end', () => line.put(() => into.end()));
			from.on('error', () => line.put(destroy));
			from.on('close', () => { if (near.closed && far.closed) all.delete(destroy); });
		}
	});
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	return {
		port: server.address().port,
		close() {
			for (const destroy of all)
				destroy();
			return new Promise((resolve) => { server.close(resolve); });
		},
	};
}
