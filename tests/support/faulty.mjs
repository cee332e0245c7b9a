/* SPDX-License-Identifier: MIT */
/*
 * Conformance tables of the side where pushgate is the client: one gate for many rows, each row on
 * a connection of its own to a scripted origin, beside a second origin that is never at fault. A row
 * says in which state a stream is, what the origin sends then, and what that costs, and whom:
 *
 *   { covers: 'R150', name: '6.1. DATA on stream 0', send: (o) => o.data(0, 'x'), connection: 'PROTOCOL_ERROR' }
 *
 *   given         a state of STATES: of a request of ours or of a promised stream (default: asked)
 *   send(o, r)    the offence; r.id is the stream in that state
 *   connection    the code of GOAWAY; that connection ends, the client's and the other origin's live on
 *   stream        the code of RST_STREAM on r.id (or `on`); the connection's other streams go on
 *   ignored       true: no complaint, and the stream lives on
 *   check(o, r)   instead of these three: whatever else must hold; then the connection must go on,
 *                 unless `over`: only the others must
 *   why           the fault's name: in GOAWAY's debug data, or in the client's Proxy-Status
 *   push          the origin's push option ('accept' by default)
 *   only          'h2c' or 'TLS', where the other has nothing to add
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Scenario, certs, section } from './gate.mjs';
import { SCALE, listen } from './peer.mjs';
import { parseList } from './structured.mjs';

/* Where an answer of pushgate's own comes from: exactly one member, of a registered error type. */
export function ownError(headers) {
	const [own, ...others] = parseList(headers['proxy-status'] ?? '');
	assert.equal(others.length, 0, headers['proxy-status']);
	assert.match(own.value, /^pushgate-/);
	return own.params;
}

/* What became of a request: its answer's head, or the reset. */
export async function outcome(client, id) {
	for (;;) {
		const f = await client.take((x) => x.stream === id && (x.type === 'HEADERS' || x.type === 'RST_STREAM'), `what became of ${id}`);
		if (f.type === 'RST_STREAM' || !f.headers[':status'].startsWith('1'))
			return f;
	}
}

export async function answered(client, id, status, error) {
	const f = await outcome(client, id);
	assert.equal(f.type, 'HEADERS', `reset with ${f.code}`);
	assert.equal(f.headers[':status'], String(status));
	const params = ownError(f.headers);
	if (error)
		assert.equal(params.error, error);
	return { f, params };
}

const good = (up, path) => ({
	':method': 'GET', ':scheme': up.headers[':scheme'], ':authority': up.headers[':authority'], ':path': path,
});

/* One row's work: its client, the origin's connection, the stream in its state. */
class Row {
	constructor(site) { this.site = site; }

	async open(method, options) {
		const n = ++this.site.rows;
		this.path = `/row-${n}`;
		this.client = await this.site.scenario.connect();
		this.client.request(1, { path: this.path, method }, options);
		this.client.request(3, { path: `/good-${n}` });
		this.client.request(5, { path: `/far/${n}` });
		this.origin = await this.site.scenario.accept('main');
		this.up = await this.origin.expectRequest(this.path);
		this.good = await this.origin.expectRequest(`/good-${n}`);
		this.far = await this.site.far.expectRequest(`/far/${n}`);
		this.id = this.up.stream;
	}
	promise(id, path, extra, options) { return this.origin.push(this.up, id, path, extra, options); }
	request(path) { return good(this.up, path); }

	/* Neither the client's connection nor the other origin has noticed anything. */
	async othersGoOn() {
		this.site.far.respond(this.far.stream, { body: 'far' });
		assert.equal(String((await this.client.response(5)).body), 'far');
		await this.client.sync();
		assert.deepEqual(this.client.seen('GOAWAY').map((f) => f.code), []);
	}
	/* The connection that the row is about goes on too. */
	async connectionGoesOn() {
		this.origin.respond(this.good.stream, { body: 'good' });
		assert.equal(String((await this.client.response(3)).body), 'good');
		await this.origin.sync();
		assert.deepEqual(this.origin.seen('GOAWAY').map((f) => `${f.code} ${f.debug}`), []);
		await this.othersGoOn();
	}
}

const page = async (r) => {
	r.origin.respond(r.up.stream, { body: 'page' });
	assert.equal(String((await r.client.response(1)).body), 'page');
};
const rest = async (r) => {
	r.origin.data(r.up.stream, 'rest', { endStream: true });
	assert.equal(String((await r.client.expect('DATA', { stream: 1, endStream: true })).data), 'rest');
};
const pushed = async (r) => {
	r.origin.respond(2, { body: 'pushed' });
	assert.equal(String((await r.client.response(r.told)).body), 'pushed');
};

/*
 * The states of a stream as its client sees them (RFC 9113 5.1). enter drives r.id there; live, where
 * the stream is not over, completes it; `owes` says what the client still waits for on stream 1.
 */
export const STATES = {
	'asked': { enter: (r) => r.open('GET'), live: page, owes: 'head' },
	'open': {
		enter: (r) => r.open('POST', { endStream: false }), owes: 'head',
		live: async (r) => {
			r.client.data(1, 'upload', { endStream: true });
			await r.origin.expect('DATA', { stream: r.id, endStream: true });
			await page(r);
		},
	},
	'answering': {
		enter: async (r) => {
			await r.open('GET');
			r.origin.headers(r.id, { ':status': 200 });
			await r.client.expectHead(1);
		},
		live: rest, owes: 'rest',
	},
	'half-closed (remote)': {
		enter: async (r) => {
			await r.open('POST', { endStream: false });
			await page(r);
		},
		live: async (r) => {
			r.client.data(1, 'upload', { endStream: true });
			await r.origin.expect('DATA', { stream: r.id, endStream: true });
		},
	},
	'closed': { enter: async (r) => { await r.open('GET'); await page(r); } },
	'reset by us': {
		enter: async (r) => {
			await r.open('GET');
			/* The acknowledged PING behind our RST_STREAM would make us forget it. */
			r.origin.auto.ping = false;
			r.client.rst(1, 'CANCEL');
			await r.origin.expectReset(r.id, 'CANCEL');
		},
	},
	'reset by the origin': {
		enter: async (r) => {
			await r.open('GET');
			r.origin.rst(r.id, 'INTERNAL_ERROR');
			await answered(r.client, 1, 502, 'http_response_incomplete');
		},
	},
	'idle': { enter: async (r) => { await r.open('GET'); r.id = 9999; }, owes: 'head', live: page },
	'idle, even': { enter: async (r) => { await r.open('GET'); r.id = 100; }, owes: 'head', live: page },
	'reserved (remote)': {
		enter: async (r) => {
			await r.open('GET');
			r.promise(2, '/pushed');
			r.told = (await r.client.expectPromise('/pushed')).promised;
			r.id = 2;
		},
		live: async (r) => { await pushed(r); await page(r); }, owes: 'head',
	},
	'pushed': {
		enter: async (r) => {
			await STATES['reserved (remote)'].enter(r);
			r.origin.headers(2, { ':status': 200 });
			await r.client.expectHead(r.told);
		},
		live: async (r) => {
			r.origin.data(2, 'pushed', { endStream: true });
			await r.client.expect('DATA', { stream: r.told, endStream: true });
			await page(r);
		},
		owes: 'head',
	},
	'push over': { enter: async (r) => { await STATES['reserved (remote)'].enter(r); await pushed(r); }, live: page, owes: 'head' },
	'push refused': {
		enter: async (r) => {
			await r.open('GET');
			r.origin.auto.ping = false;
			r.promise(2, '/pushed', { ':method': 'POST' });
			await r.origin.expectReset(2, 'PROTOCOL_ERROR');
			r.id = 2;
		},
		live: page, owes: 'head',
	},
};

async function judgeConnection(row, r, state) {
	const goaway = await r.origin.expectConnectionError(row.connection);
	assert.ok(goaway.lastId < 0x40000000, `last id ${goaway.lastId}`);
	if (row.why)
		assert.equal(goaway.debug, row.why);
	assert.deepEqual(r.origin.seen('RST_STREAM', { stream: [r.up.stream, r.good.stream] }), [], 'no stream is blamed');
	for (const [id, owes] of [[1, row.owes ?? state.owes], [3, 'head']]) {
		if (owes === 'head') {
			const { params } = await answered(r.client, id, 502, 'http_protocol_error');
			assert.equal(params.details, goaway.debug);
		} else if (owes === 'rest') {
			await r.client.expectReset(id, 'INTERNAL_ERROR');
		}
	}
	if (['reserved (remote)', 'pushed'].includes(row.given))
		await r.client.expectReset(r.told, 'INTERNAL_ERROR');
	await r.othersGoOn();
	r.client.request(7, { path: '/after' });
	const next = await r.site.scenario.accept('main');
	next.respond((await next.expectRequest('/after')).stream, { body: 'after' });
	assert.equal(String((await r.client.response(7)).body), 'after');
}

/* A stream of the origin's that is at fault, and what its client is told. */
async function judgeStream(row, r, state) {
	const id = row.on ?? r.id;
	await r.origin.expectReset(id, row.stream);
	if (id === r.up.stream && (row.owes ?? state.owes) === 'head') {
		const { params } = await answered(r.client, 1, 502, row.error ?? 'http_protocol_error');
		if (row.why)
			assert.match(params.details, new RegExp(row.why));
	} else if (id === r.up.stream && (row.owes ?? state.owes) === 'rest') {
		await r.client.expectReset(1, 'PROTOCOL_ERROR');
		assert.equal(r.client.seen('DATA', { stream: 1, endStream: true }).length, 0);
	} else if (r.told !== undefined) {
		await r.client.expectReset(r.told, 'PROTOCOL_ERROR');
		assert.equal(r.client.seen('DATA', { stream: r.told, endStream: true }).length, 0);
		if (state.owes === 'head')
			await page(r);
	}
	await r.connectionGoesOn();
}

async function judge(row, r) {
	const state = STATES[row.given ?? 'asked'];
	if (row.connection) {
		await judgeConnection(row, r, state);
	} else if (row.stream) {
		await judgeStream(row, r, state);
	} else {
		if (row.check)
			await row.check(r.origin, r);
		else if (row.ignored)
			await r.origin.sync();
		else
			assert.fail('a row without a verdict');
		if (row.over)
			return r.othersGoOn();
		if (row.ignored && state.live)
			await state.live(r);
		await r.connectionGoesOn();
		assert.deepEqual(r.origin.seen('RST_STREAM').filter((f) => f.stream !== r.id || row.ignored).map((f) => `${f.stream} ${f.code}`), []);
	}
}

/*
 * Closes what the row has opened, and waits until pushgate has seen it go: the client first, as what it
 * still waits for would be asked for again over another connection.
 */
async function clear(site) {
	const { scenario } = site;
	const main = scenario.servers.main;
	const all = [...scenario.connections, ...main.connections, site.far];
	const violations = all.flatMap((c) => c.violations.splice(0).map((v) => `${c.name}: ${v}`));
	await Promise.all(scenario.connections.splice(0).map((c) => c.gone()));
	await main.clear();
	return violations;
}

class Site {
	rows = 0;

	constructor(options) { this.options = options; }

	async start() {
		const { transport, origin, ...rest } = this.options;
		const secure = transport === 'TLS';
		const other = await listen({ name: 'other', ...(secure ? { tls: certs().server } : {}) });
		this.scenario = await new Scenario({
			originTls: secure, origin: { push: 'accept', 'max-connections': 1, 'response-timeout': '60s', ...origin },
			origins: { main: {}, other: { server: `${secure ? 'h2' : 'h2c'}://127.0.0.1:${other.port}` } },
			routes: section('route main', { origin: 'main' }) + section('route other', { path: '/far', origin: 'other' }),
			...rest,
		}).start();
		this.scenario.servers.other = other;
		/* The other origin's connection is asked for once and must live to the end. */
		const client = await this.scenario.connect();
		client.request(1, { path: '/far/0' });
		this.far = await other.accept();
		this.far.respond((await this.far.expectRequest('/far/0')).stream, { body: 'far' });
		await client.response(1);
	}

	async row(row) {
		const r = new Row(this);
		try {
			await STATES[row.given ?? 'asked'].enter(r);
			await row.send?.(r.origin, r);
			await judge(row, r);
		} catch (error) {
			for (const c of [r.client, r.origin])
				error.message += `\n--- ${c?.name}\n${c?.trace.slice(-30).join('\n')}`;
			error.message += `\n${this.scenario.gate.report()}`;
			await clear(this);
			throw error;
		}
		assert.deepEqual(await clear(this), [], 'a peer saw what may never be');
	}
}

/*
 * The tests of a table, over cleartext and over TLS toward the origin. options are the gate's
 * (Scenario), and `over`: the transports.
 */
export function conformance(title, rows, { over = ['h2c', 'TLS'], ...options } = {}) {
	for (const transport of over) {
		const site = new Site({ transport, ...options });
		const mine = rows.filter((row) => (row.only ?? transport) === transport);
		const settings = { timeout: 120000 * SCALE };
		test(`${title}: pushgate starts, ${transport}`, settings, () => site.start());
		for (const row of mine)
			test(`${title}: ${row.name}, ${transport}`, settings, () => site.row(row));
		test(`${title}: pushgate is well and the other origin's connection alive, ${transport}`, settings, async () => {
			assert.equal(site.far.closed, false);
			assert.deepEqual(site.far.seen('GOAWAY').map((f) => f.code), []);
			await site.scenario.stop();
		});
	}
}
