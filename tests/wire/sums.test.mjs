/* SPDX-License-Identifier: MIT */
/*
 * After many requests with pushes of every verdict and every end, four accounts agree exactly: what the clients
 * counted, what the origin knows that it did, the sums over the access log, and the counters.
 */
import assert from 'node:assert/strict';
import net from 'node:net';
import { samples, scenario, section, until } from '../support/gate.mjs';
import { Endpoint } from '../support/endpoint.mjs';
import { PATIENCE } from '../support/peer.mjs';

const REQUESTS = 10000;
const CONNECTIONS = 40;
const AT_A_TIME = 8;
/* Of the clients. The origin may send more than this at once, so that all of a push comes before its page. */
const WINDOW = 16384;
const FRESH = { 'cache-control': 'max-age=60' };

/* ---- the client: counts every byte and frame, also those that come after it has reset a stream ---- */

class Client {
	streams = new Map();
	uploaded = 0;
	promises = 0;
	heads = {};
	#next = 1;

	constructor(connection) { this.connection = connection; }

	static async open(s) {
		let client;
		const connection = await s.connect({ auto: { window: 'connection' }, settings: { initialWindowSize: WINDOW }, onFrame: (f) => client?.receive(f) });
		connection.encoder.indexing = true;
		client = new Client(connection);
		return client;
	}

	#open(id, fields) {
		const stream = { id, fields, bytes: 0, isEnded: false, wasReset: false, isMine: id % 2 === 1 };
		stream.over = new Promise((resolve) => { stream.finish = resolve; });
		stream.first = new Promise((resolve) => { stream.hasBytes = resolve; });
		this.streams.set(id, stream);
		return stream;
	}

	/* body: bytes of the request. keepsCredit: the stream's window is never opened further. */
	request(path, { method = 'GET', authority = 'main.test', body = 0, keepsCredit = false, ...fields } = {}) {
		const stream = this.#open(this.#next, { path });
		stream.keepsCredit = keepsCredit;
		this.#next += 2;
		this.connection.headers(stream.id, {
			':method': method, ':scheme': 'http', ':authority': authority, ':path': path, ...fields,
		}, { endStream: body === 0 });
		if (body)
			this.connection.data(stream.id, Buffer.alloc(body, 'u'), { endStream: true });
		this.uploaded += body;
		return stream;
	}

	reset(stream, code = 'CANCEL') {
		if (stream.isEnded || stream.wasReset)
			return;
		stream.wasReset = true;
		this.connection.rst(stream.id, code);
		stream.finish();
	}

	receive(f) {
		const stream = this.streams.get(f.stream);
		if (f.type === 'PUSH_PROMISE') {
			this.promises++;
			this.onPromise?.(this.#open(f.promised, { path: f.headers[':path'] }));
		} else if (f.type === 'HEADERS' && f.headers[':status']) {
			const kind = `${f.headers[':status'][0]}xx`;
			this.heads[kind] = (this.heads[kind] ?? 0) + 1;
			if (kind !== '1xx')
				stream.headers = f.headers;
		} else if (f.type === 'DATA') {
			stream.bytes += f.data.length;
			stream.hasBytes();
			if (f.length && !f.endStream && !stream.keepsCredit && !stream.wasReset)
				this.connection.windowUpdate(f.stream, f.length);
		} else if (f.type === 'RST_STREAM') {
			stream.cameReset = true;
			stream.finish();
		}
		if (f.endStream) {
			stream.isEnded = true;
			stream.finish();
		}
	}

	pushes(matches) { return [...this.streams.values()].filter((s) => !s.isMine && matches(s)); }
}

/* ---- the origin ---- */

/*
 * What a page's path begins with says what its origin promises and what the client does then. `size` is the page's
 * number, so every size is another one. Each push is one of these:
 */
const sizeOf = (path) => 1 + (Number(path.match(/(\d+)\D*$/)[1]) * 37) % 3000;
const bytes = (at, n) => Buffer.alloc(n, 'x');

class Origin {
	received = 0;
	promised = 0;
	/* of held pushes: the bytes of those that came whole, or as far as they were sent before a reset */
	heldBytes = 0;
	waiting = new Map();
	violations = [];

	async listen() {
		this.endpoints = [];
		this.server = net.createServer((socket) => {
			const endpoint = new Endpoint(socket, 'origin', {
				name: `origin#${this.endpoints.length + 1}`, settings: { initialWindowSize: 1 << 20 },
				on: {
					stream: (stream, headers) => this.#request(endpoint, stream, headers),
					violation: ({ violation, trace }) => this.violations.push(`${violation}\n${trace.join('\n')}`),
				},
			});
			this.endpoints.push(endpoint);
		});
		await new Promise((resolve) => { this.server.listen(0, '127.0.0.1', resolve); });
		return this.server.address().port;
	}

	#request(endpoint, stream, headers) {
		const { ':path': path } = headers;
		stream.on.data = (data) => { this.received += data.length; };
		const [, kind] = path.split('/');
		if (headers[':method'] === 'HEAD')
			stream.head({ ':status': 200 }, { endStream: true });
		else if (headers[':method'] === 'POST')
			stream.on.end = () => this.#whole(stream, sizeOf(path), {});
		else
			(this[kind] ?? this.plain).call(this, stream, path, (way, fields) => this.#promise(endpoint, stream, way, path, fields));
	}
	#promise(endpoint, parent, way, path, fields = {}) {
		this.promised++;
		return endpoint.promise(parent, {
			':method': 'GET', ':scheme': 'http', ':authority': 'main.test', ':path': `/${way}${path}`, ...fields });
	}
	#whole(stream, size, fields) {
		stream.head({ ':status': 200, 'content-length': size, ...fields });
		return stream.send(bytes, 0, size, { endStream: true });
	}
	#half(stream, size, fields) {
		stream.head({ ':status': 200, ...fields });
		return stream.send(bytes, 0, size);
	}
	/* The page leaves when all of the push has: the client asks for what is there whole. */
	async #hold(stream, path, push, size, fields = FRESH) {
		this.heldBytes += size;
		await this.#whole(push, size, fields);
		this.#page(stream, path);
	}
	#page(stream, path, fields = {}) { this.#whole(stream, sizeOf(path), fields); }

	plain(stream, path) { this.#page(stream, path); }
	broken(stream, path) { this.#half(stream, sizeOf(path), {}).then(() => stream.reset('INTERNAL_ERROR')); }
	/* for a client that will reset it */
	half(stream, path) { this.#half(stream, sizeOf(path), {}); }
	again(stream, path) {
		if (this.waiting.delete(path)) {
			this.#page(stream, path);
			return;
		}
		this.waiting.set(path, true);
		stream.reset('REFUSED_STREAM');
	}

	forwarded(stream, path, promise) {
		const push = promise('forward');
		this.#page(stream, path);
		this.#whole(push, sizeOf(path) + 1, {});
	}
	twice(stream, path, promise) {
		const pushes = [promise('forward'), promise('forward2'), promise('forward3')];
		this.#page(stream, path);
		for (const push of pushes)
			this.#whole(push, sizeOf(path) + 1, {});
	}
	cancelled(stream, path, promise) {
		const push = promise('forward');
		this.#page(stream, path);
		this.#half(push, sizeOf(path), {});
	}
	failing(stream, path, promise) {
		const push = promise('forward');
		this.#page(stream, path);
		this.#half(push, sizeOf(path), {}).then(() => push.reset('INTERNAL_ERROR'));
	}
	large(stream, path, promise) {
		const push = promise('small');
		this.#page(stream, path);
		push.head({ ':status': 200, 'content-length': 5000 });
	}
	dropped(stream, path, promise) {
		promise('drop');
		this.#page(stream, path);
	}
	malformed(stream, path, promise) {
		promise('forward', { ':method': 'POST' });
		this.#page(stream, path);
	}
	hinted(stream, path, promise) {
		promise('hint');
		this.#page(stream, path);
	}
	held(stream, path, promise) {
		this.#hold(stream, path, promise('hold'), sizeOf(path) + 2);
	}
	unclaimed(...args) { this.held(...args); }
	looked(...args) { this.held(...args); }
	missed(stream, path, promise) {
		this.#hold(stream, path, promise('hold'), sizeOf(path), { ...FRESH, vary: 'accept-language' });
	}
	both(stream, path, promise) {
		this.#hold(stream, path, promise('both'), sizeOf(path) + 3);
	}
	validated(stream, path, promise) {
		this.#hold(stream, path, promise('hold'), sizeOf(path) + 2, { ...FRESH, etag: '"1"' });
	}
	/* The client takes a window of it and no more. */
	wide(stream, path, promise) {
		this.#hold(stream, path, promise('hold'), WINDOW + sizeOf(path));
	}
	/* The rest follows when the client has asked for it and got the first half. */
	joined(stream, path, promise) {
		const push = promise('hold');
		const size = sizeOf(path) + 1;
		this.heldBytes += size;
		this.#half(push, size - 1, FRESH);
		this.#page(stream, path);
		this.waiting.set(`/hold${path}`, () => push.send(bytes, 0, 1, { endStream: true }));
	}
	lost(stream, path, promise) {
		const push = promise('hold');
		const size = sizeOf(path);
		this.heldBytes += size;
		this.#half(push, size, FRESH).then(() => push.reset('INTERNAL_ERROR'));
		this.#page(stream, path);
	}
	private(stream, path, promise) {
		const push = promise('hold');
		push.head({ ':status': 200, 'cache-control': 'no-store' });
		this.#page(stream, path);
	}
	linked(stream, path) { this.#page(stream, path, { link: `</asset${path}.css>; rel=preload; as=style` }); }
	gone(stream, path) { this.#page(stream, path, { link: `</missing${path}.css>; rel=preload; as=style` }); }
	nopush(stream, path) { this.#page(stream, path, { link: `</asset${path}.css>; rel=preload; as=style; nopush` }); }
	missing(stream) { stream.head({ ':status': 404 }, { endStream: true }); }
}

/* ---- what the client does with each kind of page ---- */

const whole = async (client, path, options) => {
	const stream = client.request(path, options);
	await stream.over;
	return stream;
};
const page = (client, path) => whole(client, path);
const claims = (how) => async (client, path, origin) => {
	await page(client, path);
	await how(client, path, origin);
};
const claim = (way, options) => claims((client, path) => whole(client, `/${way}${path}`, options));

/* kind: [requests, what the client does] */
const KINDS = {
	plain: [1, page],
	head: [1, (client, path) => whole(client, path, { method: 'HEAD' })],
	upload: [1, (client, path) => whole(client, path, { method: 'POST', body: sizeOf(path) })],
	elsewhere: [1, (client, path) => whole(client, path, { authority: 'elsewhere.test' })],
	broken: [1, page],
	again: [1, page],
	half: [1, async (client, path) => {
		const stream = client.request(path);
		await stream.first;
		client.reset(stream);
	}],
	forwarded: [1, page], twice: [1, page], cancelled: [1, page], failing: [1, page], large: [1, page],
	dropped: [1, page], malformed: [1, page], hinted: [1, page],
	held: [2, claim('hold')],
	unclaimed: [1, page],
	looked: [2, claim('hold', { method: 'HEAD' })],
	missed: [2, claim('hold', { 'accept-language': 'de' })],
	both: [2, claim('both')],
	validated: [2, claim('hold', { 'if-none-match': '"1"' })],
	wide: [2, claims(async (client, path) => {
		const stream = client.request(`/hold${path}`, { keepsCredit: true });
		await until('a window of it', () => stream.bytes === WINDOW);
		client.reset(stream);
	})],
	joined: [2, claims(async (client, path, origin) => {
		const stream = client.request(`/hold${path}`);
		await stream.first;
		origin.waiting.get(`/hold${path}`)();
		await stream.over;
	})],
	lost: [1, page], private: [1, page],
	linked: [1, page], gone: [1, page], nopush: [1, page],
};

/* A client's pushes of a page that is to be reset: at the promise, or in its response. */
function onPromise(client) {
	return (push) => {
		if (!push.fields.path.includes('/cancelled/'))
			return;
		if (push.id % 3 === 0)
			client.reset(push, 'REFUSED_STREAM');
		else
			push.first.then(() => client.reset(push));
	};
}

async function play(s, origin, numbers) {
	const client = await Client.open(s);
	client.onPromise = onPromise(client);
	const names = Object.keys(KINDS);
	let sent = 0;
	const one = async (n) => {
		const kind = names[n % names.length];
		await KINDS[kind][1](client, `/${kind}/${n}`, origin);
		sent += KINDS[kind][0];
	};
	const workers = Array.from({ length: AT_A_TIME }, async () => {
		for (let n = numbers.shift(); n !== undefined; n = numbers.shift())
			await one(n);
	});
	await Promise.all(workers);
	await until(() => `pushes end: ${JSON.stringify(client.pushes((p) => !p.isEnded && !p.wasReset && !p.cameReset))}`,
		() => client.pushes((p) => !p.isEnded && !p.wasReset && !p.cameReset).length === 0);
	client.connection.end();
	await client.connection.gone();
	return { client, sent };
}

/* ---- the accounts ---- */

const sum = (list, of) => list.reduce((n, x) => n + Number(of(x) ?? 0), 0);
function tally(list, of) {
	const all = {};
	for (const x of list)
		all[of(x)] = (all[of(x)] ?? 0) + 1;
	return Object.fromEntries(Object.entries(all).sort());
}

function status(s) {
	const text = s.gate.status();
	const pushes = [...text.matchAll(/^pushgate_push_total\{source="(.*?)",verdict="(.*?)",reason="(.*?)"\} (\d+)$/gm)]
		.map(([, ...labels]) => [labels.slice(0, 3).join(' '), Number(labels[3])]);
	return {
		...samples(text),
		pushes: Object.fromEntries(pushes.sort()),
	};
}

/* A push that was withdrawn is logged with the verdict that it has then: what it was before. */
function decided(line) {
	if (!line.id || line.verdict !== 'drop')
		return `${line.source} ${line.verdict} ${line.reason}`;
	return `${line.source} ${line.path.startsWith('/hold/') ? 'hold' : 'forward'} rule`;
}

const rule = (name, action, more = {}) => section(`push ${name}`, { 'promised-path': `/${name}/*`, action, ...more });
const origin = new Origin();
const originPort = await origin.listen();

// covers: P-num-log P-num-metrics R72
scenario(`clients, access log and counters agree after ${REQUESTS} requests`, {
	origins: { main: { server: `h2c://127.0.0.1:${originPort}` } },
	server: {
		'status-socket': 'status', 'hold-max-count': 16, 'reset-rate': 1000000, 'promise-refusals': 1000000,
		'max-pushes-per-parent': 2,
	},
	routes: section('route main', { host: 'main.test', origin: 'main' }),
	extra: rule('drop', 'drop') + rule('hold', 'hold') + rule('hint', 'hint', { 'hint-clients': 'all' })
		+ rule('both', 'hint+hold', { 'hint-clients': 'all' }) + rule('small', 'forward', { 'max-bytes': 4000 })
		+ section('push rest', { action: 'forward' }) + section('preload links', { link: 'yes' }),
	timeout: 120000,
}, async (s) => {
	s.cleanups.push(() => { origin.server.close(); origin.endpoints.forEach((e) => e.socket.destroy()); });
	const names = Object.keys(KINDS);
	const each = sum(Object.values(KINDS), ([n]) => n);
	const pages = Math.ceil(REQUESTS / each) * names.length;
	const shares = Array.from({ length: CONNECTIONS }, (_, i) =>
		Array.from({ length: pages }, (_, n) => n).filter((n) => Math.floor(n / names.length) % CONNECTIONS === i));
	const players = [];
	for (let i = 0; i < CONNECTIONS; i += AT_A_TIME)
		players.push(...await Promise.all(shares.slice(i, i + AT_A_TIME).map((numbers) => play(s, origin, numbers))));
	const clients = players.map((p) => p.client);
	let c;
	await until(() => `all exchanges are over: ${c.requests_open}, ${c.pushes_open}`, () => {
		c = status(s);
		return c.requests_open === 0 && c['pushgate_connections_open{side="client"}'] === 0;
	}, PATIENCE);
	let lines;
	await until(() => `the log is whole: ${lines.length} of ${c.requests + c.pushes_offered}`, () => {
		lines = s.gate.accessLines();
		return lines.length >= c.requests + c.pushes_offered;
	}, PATIENCE);
	const streams = clients.flatMap((x) => [...x.streams.values()]);
	const requests = lines.filter((l) => !l.push);
	const pushes = lines.filter((l) => l.push);
	const theirs = streams.filter((x) => !x.isMine);

	assert.deepEqual(origin.violations, []);

	/* requests */
	assert.equal(c['pushgate_log_lines_lost_total{log="access",cause="pipe"}'] + c['pushgate_log_lines_lost_total{log="access",cause="file"}'], 0);
	assert.equal(requests.length, sum(players, (p) => p.sent));
	assert.equal(c.requests, requests.length);
	assert.ok(requests.length >= REQUESTS);
	for (const kind of ['1xx', '2xx', '3xx', '4xx', '5xx'])
		assert.equal(c[`pushgate_responses_total{code="${kind}"}`], sum(clients, (x) => x.heads[kind]), kind);
	assert.equal(c.requests_retried, pages / names.length);
	assert.equal(requests.filter((l) => l.retried).length, c.requests_retried);

	/* bytes */
	const received = sum(clients, (x) => x.connection.received);
	assert.equal(c['pushgate_body_sent_bytes_total{side="client"}'], received);
	assert.equal(sum(lines, (l) => l.response_bytes), received);
	const uploaded = sum(clients, (x) => x.uploaded);
	assert.equal(c['pushgate_body_received_bytes_total{side="client"}'], uploaded);
	assert.equal(sum(lines, (l) => l.request_bytes), uploaded);
	assert.equal(c['pushgate_body_sent_bytes_total{side="origin"}'], uploaded);
	assert.equal(origin.received, uploaded);

	/* pushes by verdict: the origin's promises, the lines, the counters */
	assert.deepEqual(tally(pushes, decided), c.pushes);
	assert.equal(c.pushes_offered, pushes.length);
	const withdrawn = pushes.filter((l) => l.id && l.verdict === 'drop');
	assert.equal(c.pushes_withdrawn, withdrawn.length);
	assert.equal(pushes.filter((l) => l.source === 'relayed').length, origin.promised);
	const labels = { drop: 'pushes_dropped', hint: 'pushes_hinted' };
	for (const [verdict, name] of Object.entries(labels))
		assert.equal(c[name], pushes.filter((l) => !l.id && l.verdict === verdict).length, name);

	/* forwarded ones by outcome: what the client saw */
	const forwarded = pushes.filter((l) => decided(l).includes(' forward '));
	assert.equal(c.pushes_forwarded, sum(clients, (x) => x.promises));
	assert.equal(forwarded.length, c.pushes_forwarded);
	const ends = {
		complete: ['pushes_completed', theirs.filter((x) => x.isEnded)],
		'client-reset': ['pushes_reset', theirs.filter((x) => x.wasReset && !x.isEnded)],
	};
	for (const [outcome, [name, seen]] of Object.entries(ends)) {
		assert.equal(c[name], seen.length, name);
		assert.equal(forwarded.filter((l) => l.outcome === outcome).length, seen.length, name);
	}
	assert.equal(c.pushes_failed, theirs.filter((x) => x.cameReset && !x.wasReset).length);
	assert.equal(c.push_sent_bytes, sum(theirs, (x) => x.bytes));
	assert.equal(c.push_reset_bytes, sum(ends['client-reset'][1], (x) => x.bytes));
	assert.equal(sum(forwarded.filter((l) => l.outcome === 'client-reset'), (l) => l.response_bytes), c.push_reset_bytes);

	/* held ones by outcome */
	const held = pushes.filter((l) => /hold/.test(decided(l)));
	const answered = streams.filter((x) => x.isMine && /detail=held/.test(x.headers?.['cache-status']));
	const reasons = tally(held, (l) => (l.verdict === 'drop' ? 'withdrawn' : l.end_reason));
	assert.equal(held.length, c.pushes_held);
	assert.equal(answered.filter((x) => x.isEnded).length, c.holds_claimed);
	assert.equal(reasons.claimed, c.holds_claimed);
	assert.equal(reasons['origin-reset'], c.holds_failed);
	assert.equal(reasons['hold-count'] ?? 0, c.holds_evicted);
	/* What was asked for, and could not be given, says so instead. */
	assert.equal((reasons.expired ?? 0) + (reasons.missed ?? 0), c.holds_expired);
	assert.equal(requests.filter((l) => l.missed).length, c.holds_missed);
	assert.equal(c.holds_missed, requests.filter((l) => l.path.startsWith('/missed/')).length);
	assert.equal(sum(Object.values(reasons), (n) => n), c.pushes_held);
	const wasted = origin.heldBytes - sum(answered, (x) => x.bytes);
	assert.equal(c.hold_wasted_bytes, wasted);
	assert.equal(sum(lines, (l) => l.wasted_bytes), wasted);
});
