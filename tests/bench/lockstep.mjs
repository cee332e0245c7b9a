/* SPDX-License-Identifier: MIT */
/*
 * A client and an origin that do the same each time: the client sends a batch of requests in one write, the origin
 * answers all of them in one write when the last has come, and the next batch follows when all answers are complete.
 * So the gateway between the two takes the same turns each time, and the instructions of two runs can be compared.
 *
 * Both look at what comes: a reset, a GOAWAY or a body of another length is an error.
 */
import net from 'node:net';
import tls from 'node:tls';
import { FLAG, FrameReader, PREFACE, TYPE, frame, settingsPayload, u32 } from '../support/frames.mjs';
import { Encoder } from '../support/hpack.mjs';

export const BODY_BYTES = 1024;
const FRAME_BYTES = 16384;
const BODY = Buffer.alloc(BODY_BYTES, 'x');
/* With windows of this size the client sends no WINDOW_UPDATE during the measurement. */
const LARGEST_WINDOW = 2 ** 31 - 1;
const FIRST_WINDOW = 65535;
const PATIENCE_MS = 60000;

/* One connection of either end. What is put in waits for flush(), which sends it in one write. */
class Wire {
	#name;
	#socket;
	#encoder = new Encoder();
	#reader = new FrameReader();
	#frames = [];
	#isClosed = false;

	/* received(wire, frame) gets what the wire does not answer itself, failed(error) the end of all. */
	constructor(name, socket, received, failed) {
		this.#name = name;
		this.#socket = socket;
		this.#encoder.indexing = true;
		this.received = received;
		this.failed = failed;
		socket.setNoDelay(true);
		socket.on('data', (octets) => this.#read(octets));
		socket.on('error', (error) => this.#end(error.message));
		socket.on('close', () => this.#end('the gateway closed the connection'));
	}

	#read(octets) {
		for (const f of this.#reader.push(octets)) {
			if ((f.type === 'SETTINGS' || f.type === 'PING') && !f.ack)
				this.#socket.write(frame(f.type, FLAG.ACK, 0, f.type === 'PING' ? f.payload : undefined));
			else if (f.type === 'GOAWAY' || f.type === 'RST_STREAM')
				this.#end(`${f.type} ${f.code} ${f.debug ?? `on stream ${f.stream}`}`);
			else
				this.received(this, f);
		}
	}

	#end(text) {
		if (!this.#isClosed)
			this.failed(new Error(`${this.#name}: ${text}`));
	}

	put(octets) {
		this.#frames.push(octets);
	}
	settings(entries) {
		this.put(frame(TYPE.SETTINGS, 0, 0, settingsPayload(entries)));
	}
	headers(id, fields, { endStream = false } = {}) {
		this.put(frame(TYPE.HEADERS, FLAG.END_HEADERS | (endStream ? FLAG.END_STREAM : 0), id, this.#encoder.encode(fields)));
	}
	promise(id, promised, fields) {
		this.put(frame(TYPE.PUSH_PROMISE, FLAG.END_HEADERS, id, Buffer.concat([u32(promised), this.#encoder.encode(fields)])));
	}
	response(id, fields, body = BODY) {
		this.headers(id, fields);
		for (let at = 0; at < body.length; at += FRAME_BYTES)
			this.put(frame(TYPE.DATA, at + FRAME_BYTES < body.length ? 0 : FLAG.END_STREAM, id, body.subarray(at, at + FRAME_BYTES)));
	}
	flush() {
		this.#socket.write(Buffer.concat(this.#frames.splice(0)));
	}
	close() {
		this.#isClosed = true;
		this.#socket.destroy();
	}
}

/*
 * Both ends, for one page: { request, response, pushes, body, isNew }, fields each; pushes is a list of the promised
 * requests, whose responses are like the page's. body: its own. isNew: with an ETag of its own each time. A batch is `streams` requests on one of the `connections`, which take turns.
 */
export class Lockstep {
	#page;
	#streams;
	#clients = [];
	#origins = new Set();
	#server = net.createServer((socket) => this.#accepted(socket));
	#asked = [];
	#batch = null;
	#error = null;
	#turn = 0;

	constructor({ page, streams }) {
		this.#page = page;
		this.#streams = streams;
	}

	/* The origin; gives its port. On all addresses of the loopback it is as many servers. */
	async listen(host = '127.0.0.1') {
		await new Promise((resolve) => { this.#server.listen(0, host, resolve); });
		return this.#server.address().port;
	}

	/* isOfClients: each connection comes from an address of its own. */
	async connect(port, { connections, isTls, isOfClients = false }) {
		for (let i = 0; i < connections; i++) {
			const options = { port, host: '127.0.0.1', localAddress: isOfClients ? `127.0.0.${i + 1}` : undefined };
			const socket = isTls
				? tls.connect({ ...options, servername: 'localhost', ALPNProtocols: ['h2'], rejectUnauthorized: false, ciphers: 'TLS_AES_128_GCM_SHA256', minVersion: 'TLSv1.3' })
				: net.connect(options);
			const wire = this.#wire('client', socket, (w, f) => this.#clientReceived(f));
			await new Promise((resolve) => { socket.once(isTls ? 'secureConnect' : 'connect', resolve); });
			wire.id = 1;
			wire.put(PREFACE);
			wire.settings({ enablePush: this.#page.pushes.length > 0 ? 1 : 0, initialWindowSize: LARGEST_WINDOW });
			wire.put(frame(TYPE.WINDOW_UPDATE, 0, 0, u32(LARGEST_WINDOW - FIRST_WINDOW)));
			wire.flush();
			this.#clients.push(wire);
		}
	}

	async run(requests) {
		for (let left = requests; left > 0; left -= this.#streams) {
			const wire = this.#clients[this.#turn++ % this.#clients.length];
			await this.#ask(wire, Math.min(left, this.#streams));
		}
	}

	stop() {
		for (const wire of [...this.#clients, ...this.#origins])
			wire.close();
		this.#server.close();
	}

	#wire(name, socket, received) {
		return new Wire(name, socket, received, (error) => {
			this.#error ??= error;
			this.#batch?.reject(this.#error);
		});
	}

	/* ---- the client ---- */

	#ask(wire, requests) {
		const responses = requests * (1 + this.#page.pushes.length);
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => {
				const { ended, octets } = this.#batch;
				reject(new Error(`only ${ended} of ${responses} responses came, with ${octets} octets`));
			}, PATIENCE_MS);
			const done = (settle) => (value) => {
				clearTimeout(timer);
				settle(value);
			};
			this.#batch = { requests, responses, ended: 0, octets: 0, resolve: done(resolve), reject: done(reject) };
			if (this.#error)
				this.#batch.reject(this.#error);
			for (let i = 0; i < requests; i++, wire.id += 2)
				wire.headers(wire.id, this.#page.request, { endStream: true });
			wire.flush();
		});
	}

	#clientReceived(f) {
		const batch = this.#batch;
		if (f.type !== 'DATA')
			return;
		batch.octets += f.data.length;
		batch.ended += f.endStream ? 1 : 0;
		if (batch.ended < batch.responses)
			return;
		if (batch.octets === batch.responses * (this.#page.body?.length ?? BODY_BYTES))
			batch.resolve();
		else
			batch.reject(new Error(`${batch.responses} responses with ${batch.octets} octets: not those of the origin`));
	}

	/* ---- the origin ---- */

	#accepted(socket) {
		/* The preface comes before the first frame. */
		socket.once('readable', () => {
			socket.read(PREFACE.length);
			const wire = this.#wire('origin', socket, (w, f) => this.#originReceived(w, f));
			wire.promised = 2;
			wire.answers = 0;
			wire.settings({ maxConcurrentStreams: 1000 });
			wire.flush();
			this.#origins.add(wire);
			socket.resume();
		});
	}

	#originReceived(wire, f) {
		if (f.type !== 'HEADERS')
			return;
		this.#asked.push([wire, f.stream]);
		if (this.#asked.length < this.#batch.requests)
			return;
		const asked = this.#asked.splice(0);
		for (const [to, id] of asked)
			this.#answer(to, id);
		for (const to of new Set(asked.map(([to]) => to)))
			to.flush();
	}

	#answer(wire, id) {
		const { response, pushes, body, isNew } = this.#page;
		const first = wire.promised;
		for (const fields of pushes) {
			wire.promise(id, wire.promised, fields);
			wire.promised += 2;
		}
		wire.response(id, isNew ? [...response, ['etag', `"${10000 + wire.answers++}"`]] : response, body);
		for (let promised = first; promised < wire.promised; promised += 2)
			wire.response(promised, response);
	}
}
