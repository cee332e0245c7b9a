/* SPDX-License-Identifier: MIT */
/*
 * Conformance tables: one gate for many rows, each row on a connection of its own. A row says in
 * which state a stream is, what the client sends then, and what that must cost, and whom:
 *
 *   { covers: 'R91', name: '6.1. DATA on stream 0', send: (c) => c.data(0, 'x'), connection: 'PROTOCOL_ERROR' }
 *
 *   given        a state of STATES (default: none, nothing is asked yet)
 *   client       options of its connection (connect in peer.mjs)
 *   send(c, r)   the offence; r is a Row, r.id the stream in that state, r.fresh() an id never used
 *   connection   the code of GOAWAY; then the connection must end, and nobody else's
 *   stream       the code of RST_STREAM, alone, on r.id (or `on`); the connection goes on
 *   ignored      true: no frame of complaint, and the stream lives on (or stays dead)
 *   ended(r)     the stream ends as the client said; how, is asked here; no frame of complaint
 *   check(c, r)  instead of these four: whatever else must hold; then the connection must go on
 *   final        true: it cannot, because it is over, or no id is left
 *   only         'h2c' or 'TLS', where the other has nothing to add
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Scenario } from './gate.mjs';
import { PATIENCE, SCALE } from './peer.mjs';

const FOREVER = 3600e3;

/* A gate between any number of clients and one scripted origin. What starts with /after is answered
 * at once, everything else waits for request(). */
export class Site {
	requests = 0; /* that the origin has seen */
	#waiting = new Map();
	#paths = 0;

	constructor(options = {}) { this.scenario = new Scenario(options); }

	async start() {
		await this.scenario.start();
		this.#welcome();
		return this;
	}

	async #welcome() {
		for (;;) {
			const origin = await this.scenario.accept('main', FOREVER).catch(() => null);
			if (!origin)
				return;
			this.#serve(origin);
		}
	}

	async #serve(origin) {
		for (;;) {
			const up = await origin.expectRequest(undefined, FOREVER).catch(() => null);
			if (!up)
				return;
			const path = up.headers[':path'];
			this.requests++;
			if (path.startsWith('/after'))
				origin.respond(up.stream, { body: 'after' });
			else
				this.#slot(path).resolve({ origin, up });
		}
	}

	#slot(path) {
		if (!this.#waiting.has(path)) {
			const slot = {};
			slot.promise = new Promise((resolve) => { slot.resolve = resolve; });
			this.#waiting.set(path, slot);
		}
		return this.#waiting.get(path);
	}

	/* A path that nobody has asked for yet. */
	path(word = 'row') { return `/${word}-${++this.#paths}`; }
	/* Where and how the request for `path` came to the origin. */
	request(path) {
		let timer;
		return Promise.race([this.#slot(path).promise, new Promise((_, reject) => {
			timer = setTimeout(() => reject(new assert.AssertionError({ message: `no request for ${path} at the origin` })), PATIENCE);
		})]).finally(() => clearTimeout(timer));
	}
	/* Did it come? Only of use behind something that came later. */
	came(path) { return this.#waiting.has(path); }

	/* The gate has taken what the origin has sent. */
	settle() { return Promise.all(this.origins().filter((o) => !o.ended).map((o) => o.sync())); }

	connect(options = {}) { return this.scenario.connect(options); }
	origins() { return this.scenario.server.connections; }
	stop() { return this.scenario.stop(); }
}

/* One row's work: the connection, the stream in its state, and how that stream goes on. */
class Row {
	#last = 99;

	constructor(site, client) {
		this.site = site;
		this.client = client;
		this.id = 1;
	}

	fresh() { return (this.#last += 2); }
	get(path = this.site.path()) {
		return { ':method': 'GET', ':scheme': this.client.scheme, ':authority': this.client.authority, ':path': path };
	}

	async ask(options, fields = {}) {
		this.path = this.site.path();
		this.client.request(1, { path: this.path, ...fields }, options);
		Object.assign(this, await this.site.request(this.path));
	}
	async promised() {
		await this.ask();
		const path = this.site.path('pushed');
		this.promiseId = (this.origin.lastPromised ?? 0) + 2;
		this.origin.lastPromised = this.promiseId;
		this.origin.push(this.up, this.promiseId, path);
		this.id = (await this.client.expectPromise(path)).promised;
	}

	/* The connection is in order: a page comes, and no complaint has. */
	async goesOn() {
		const id = this.fresh();
		this.client.request(id, { path: '/after' });
		/* Whatever the row has said of windows, this page has one. */
		if (!this.client.auto.window)
			this.client.windowUpdate(id, 1000);
		const r = await this.client.response(id);
		assert.equal(r.status, 200);
		assert.equal(String(r.body), 'after');
		assert.deepEqual(this.client.seen('GOAWAY').map((f) => f.code), []);
	}
}

/*
 * The states of a stream as its server sees them (RFC 9113 5.1): enter(r) drives r.id there, live
 * (where the stream is not over) completes the exchange as if nothing had happened.
 */
const page = async (r) => {
	r.origin.respond(r.up.stream, { body: 'page' });
	assert.equal(String((await r.client.response(1)).body), 'page');
};
const upload = async (r) => {
	r.client.data(1, 'rest', { endStream: true });
	await r.origin.expect('DATA', { stream: r.up.stream, endStream: true });
};
export const tunnel = { method: 'CONNECT', ':protocol': 'websocket' };
const opened = async (r) => {
	r.origin.headers(r.up.stream, { ':status': 200 });
	assert.equal((await r.client.expectHead(1)).headers[':status'], '200');
};
const bothWays = async (r) => {
	r.client.data(1, 'up');
	assert.equal(String((await r.origin.expect('DATA', { stream: r.up.stream })).data), 'up');
	r.origin.data(r.up.stream, 'down', { endStream: true });
	assert.equal(String((await r.client.expect('DATA', { stream: 1, endStream: true })).data), 'down');
	r.client.data(1, 'end', { endStream: true });
	assert.equal(String((await r.origin.expect('DATA', { stream: r.up.stream, endStream: true })).data), 'end');
};
export const STATES = {
	'none': { enter: () => {} },
	'idle': { enter: (r) => { r.id = 5; } },
	'idle, ours': { enter: (r) => { r.id = 100; } },
	'skipped': { enter: (r) => { r.id = 3; r.client.request(5, { path: '/after' }); return r.client.response(5); } },
	'open': {
		enter: (r) => r.ask({ endStream: false }, { method: 'POST' }),
		live: async (r) => { await upload(r); await page(r); },
	},
	'half-closed (remote)': { enter: (r) => r.ask(), live: page },
	'half-closed (local)': {
		enter: async (r) => {
			await r.ask({ endStream: false }, { method: 'POST' });
			await page(r);
		},
		live: upload,
	},
	/* In routes with `upgrade`, where the origin takes tunnels. */
	'tunnel, asked': {
		enter: (r) => r.ask({ endStream: false }, tunnel),
		live: async (r) => { await opened(r); await bothWays(r); },
	},
	'tunnel': {
		enter: async (r) => { await r.ask({ endStream: false }, tunnel); await opened(r); },
		live: (r) => bothWays(r),
	},
	'closed': { enter: async (r) => { await r.ask(); await page(r); } },
	'reset by us': {
		enter: async (r) => {
			await r.ask({ endStream: false }, { method: 'POST' });
			r.origin.headers(r.up.stream, { ':status': 200 }).rst(r.up.stream, 'INTERNAL_ERROR');
			await r.client.expectReset(1, 'INTERNAL_ERROR');
		},
	},
	'reset by the client': {
		enter: async (r) => {
			await r.ask({ endStream: false }, { method: 'POST' });
			r.client.rst(1, 'CANCEL');
			await r.origin.expectReset(r.up.stream, 'CANCEL');
		},
	},
	'reserved (local)': {
		enter: (r) => r.promised(),
		live: async (r) => {
			r.origin.respond(r.promiseId, { body: 'pushed' });
			assert.equal(String((await r.client.response(r.id)).body), 'pushed');
			await page(r);
		},
	},
	'pushed': {
		enter: async (r) => {
			await r.promised();
			r.origin.headers(r.promiseId, { ':status': 200 });
			await r.client.expectHead(r.id);
		},
		live: async (r) => {
			r.origin.data(r.promiseId, 'pushed', { endStream: true });
			await r.client.expect('DATA', { stream: r.id, endStream: true });
			await page(r);
		},
	},
	'pushed, closed': {
		enter: async (r) => {
			await r.promised();
			r.origin.respond(r.promiseId, { body: 'pushed' });
			await r.client.response(r.id);
		},
		live: page,
	},
	'pushed, reset by us': {
		enter: async (r) => {
			await r.promised();
			r.origin.rst(r.promiseId, 'CANCEL');
			await r.client.expectReset(r.id, 'CANCEL');
		},
		live: page,
	},
	'pushed, reset by the client': {
		enter: async (r) => {
			await r.promised();
			r.client.rst(r.id, 'CANCEL');
			await r.origin.expectReset(r.promiseId, 'CANCEL');
		},
		live: page,
	},
};

async function judge(row, r) {
	const c = r.client;
	const state = STATES[row.given ?? 'none'];
	if (row.connection) {
		const goaway = await c.expectConnectionError(row.connection);
		assert.ok(goaway.lastId < 0x40000000 && (!r.up || goaway.lastId >= 1), `last id ${goaway.lastId}`);
		assert.deepEqual(c.seen('RST_STREAM').map((f) => f.stream), [], 'no stream is blamed');
		if (r.up && state.live)
			await r.origin.expectReset(r.up.stream);
		return;
	}
	if (row.stream) {
		const id = row.on ?? r.id;
		await c.expectReset(id, row.stream);
		if (r.up && id === 1 && state.live)
			await r.origin.expectReset(r.up.stream);
		if (id === r.promiseId)
			await page(r);
	} else if (row.ended) {
		await row.ended(r);
		if (r.promiseId)
			await page(r);
	} else if (row.ignored) {
		await c.sync();
		if (state.live)
			await state.live(r);
	} else {
		await row.check(c, r);
	}
	if (!row.final)
		await r.goesOn();
	assert.deepEqual(c.seen('RST_STREAM').map((f) => `${f.stream} ${f.code}`), [], 'no other stream is reset');
}

/* The tests of a table, over cleartext and over TLS. options are the gate's (Scenario). */
export function conformance(title, rows, options = {}) {
	for (const transport of ['h2c', 'TLS']) {
		let site;
		before(async () => { site = await new Site({ ...options, tls: transport === 'TLS' }).start(); });
		after(async () => {
			const blamed = site.origins().flatMap((o) => o.seen('GOAWAY').map((f) => f.code)).filter((code) => code !== 'NO_ERROR');
			await site.stop();
			assert.deepEqual(blamed, [], 'an origin was blamed for what a client did');
		});
		for (const row of rows) {
			if (row.only && row.only !== transport)
				continue;
			test(`${title}: ${row.name}, ${transport}`, { timeout: 120000 * SCALE }, async () => {
				const client = await site.connect(row.client);
				try {
					await client.ready();
					const r = new Row(site, client);
					await STATES[row.given ?? 'none'].enter(r);
					await row.send?.(client, r);
					await judge(row, r);
				} catch (error) {
					const said = site.scenario.gate.read('error.log').trimEnd().split('\n').slice(-3);
					error.message += `\n${client.trace.slice(-40).concat(said).join('\n')}`;
					throw error;
				} finally {
					client.close();
				}
			});
		}
	}
}

/* ---- rows about requests ---- */

const entries = (r, path) => Object.entries(r.get(path));
export const set = (name, value) => (f) => f.map(([n, v]) => [n, n === name ? (typeof value === 'function' ? value(v) : value) : v]);
export const without = (name) => (f) => f.filter(([n]) => n !== name);
export const add = (...more) => (f) => [...f, ...more];
export const first = (...more) => (f) => [...more, ...f];

/* A request that `change` makes malformed: PROTOCOL_ERROR for its stream, and nothing of it at the origin. */
export const refused = (covers, name, change, { endStream = true } = {}) => ({
	covers, name, check: async (c, r) => {
		const before = r.site.requests;
		c.headers(5, change(entries(r)), { endStream });
		await c.expectReset(5, 'PROTOCOL_ERROR');
		await r.goesOn();
		assert.equal(r.site.requests, before + 1, 'more came than the page behind it');
	},
});
/* A request that must come through, once; `holds` looks at it, of `options` at how it is sent. */
export const passed = (covers, name, change, holds, options = {}) => ({
	covers, name, check: async (c, r) => {
		const before = r.site.requests;
		const fields = change(entries(r));
		c.headers(5, fields, { endStream: true, ...options });
		const { origin, up } = await r.site.request(fields.find(([n]) => n === ':path')[1]);
		holds(up, c);
		origin.respond(up.stream, { status: 204 });
		assert.equal((await c.response(5)).status, 204);
		await r.goesOn();
		assert.equal(r.site.requests, before + 2, 'more came than it and the page behind it');
	},
});
