/* SPDX-License-Identifier: MIT */
/*
 * The smuggling matrix: sends forms (smuggle_forms.mjs, smuggle_forms_h2.mjs) through a gate, and judges what an origin
 * saw by what the client's framing said. The judge of HTTP/1.1 is the strict reader of http1.mjs on the client's bytes;
 * of HTTP/2, the rules below.
 *
 * A message that is well formed arrives once, with its method, target, fields, body and trailers, and the client gets
 * the answer to it. One that is not never arrives as a whole; the client gets a status that fits, Proxy-Status and
 * Connection: close, and the connection ends. One that is well formed but odd (`refusable`) is treated either way.
 */
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { until } from './gate.mjs';
import { FRAMING, HOP_BY_HOP, NO_HOST, connect1, read, recordingOrigin, response } from './http1.mjs';
import { SCALE, connect } from './peer.mjs';
import { AUTHORITY, last, numberOf } from './smuggle_forms.mjs';
import { evilResponse } from './smuggle_forms_response.mjs';

const latin1 = (text) => Buffer.from(text, 'latin1');
/* What a gateway may write beside the client's fields. */
const OURS = ['via', 'host', 'content-length', 'expect'];

/* A request as both sides must mean it: no framing, no hop's own fields, one Cookie without empty crumbs. */
function meaning({ method, target, authority, fields, nominated = [], body, trailers = [] }) {
	const lower = fields.map(([n, v]) => [n.toLowerCase(), v]);
	const kept = lower.filter(([n]) => ![...OURS, ...HOP_BY_HOP, ...nominated, 'cookie'].includes(n));
	const cookie = nominated.includes('cookie') ? '' : lower.filter(([n, v]) => n === 'cookie' && v !== '').map(([, v]) => v).join('; ').trimEnd();
	return { method, target, authority, fields: kept, cookie, body: body.toString('latin1'), trailers: trailers.map(([n, v]) => [n.toLowerCase(), v]) };
}

/* ---- origins ---- */

/* What came complete, by the number of its case; answers each with its own target. */
class Record {
	byNumber = new Map();

	add(request) {
		const inTarget = numberOf(request.target);
		const n = inTarget >= 0 ? inTarget : numberOf(request.fields.find(([name]) => name === 'x-number')?.[1] ?? '');
		this.byNumber.set(n, [...this.byNumber.get(n) ?? [], request]);
	}
	of(n) { return this.byNumber.get(n) ?? []; }
}

export async function http1Record() {
	const record = new Record();
	const origin = await recordingOrigin({
		respond: (m, c) => {
			record.add({ ...meaning({ ...m, authority: m.headers.host }), cookies: m.fields.filter(([n]) => n === 'cookie').length });
			c.send(response(200, [], { body: m.method === 'HEAD' ? '' : m.target }));
		},
	});
	record.server = `http://127.0.0.1:${origin.port}`;
	/* What its reader could not read is worse than anything that it could. */
	record.check = () => assert.deepEqual(origin.errors, [], 'the origin got what is no HTTP/1.1');
	record.close = () => origin.close();
	return record;
}

/* Node's: nghttp2 reads as strictly as the program. */
export async function http2Record() {
	const record = new Record();
	const sessions = new Set();
	/* A larger head ends Node's connection: the gate is to know. */
	const server = http2.createServer({ settings: { maxHeaderListSize: 60000 } });
	server.on('session', (session) => { sessions.add(session); session.on('error', () => {}); });
	server.on('stream', (stream, headers, flags, raw) => {
		const parts = [];
		let trailers = [];
		stream.on('error', () => {});
		stream.on('data', (d) => parts.push(d));
		stream.on('trailers', (h, f, list) => { trailers = list; });
		stream.on('end', () => {
			if (stream.rstCode || stream.aborted)
				return;
			const pairs = (list) => Array.from({ length: list.length / 2 }, (_, i) => [list[2 * i], list[2 * i + 1]]);
			record.add(meaning({
				method: headers[':method'], target: headers[':path'], authority: headers[':authority'],
				fields: pairs(raw).filter(([n]) => !n.startsWith(':')), body: Buffer.concat(parts), trailers: pairs(trailers),
			}));
			stream.respond({ ':status': 200 });
			stream.end(latin1(headers[':path']));
		});
	});
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	record.server = `h2c://127.0.0.1:${server.address().port}`;
	record.check = () => {};
	record.close = () => new Promise((resolve) => {
		for (const session of sessions)
			session.destroy();
		server.close(resolve);
	});
	return record;
}

/* ---- judging a client of HTTP/1.1 ---- */

/* origin: the host and port that a request in HTTP/1.0 without Host is sent to. */
function expected(m, origin) {
	const path = m.form === 'absolute' ? m.path.replace(/^\?/, '/?') || (m.method === 'OPTIONS' ? '*' : '/') : m.target;
	return meaning({ ...m, target: path, authority: m.form === 'absolute' ? m.authority : m.headers.host ?? origin });
}

/* Not for any origin, whatever its form: tunnels, schemes that this connection does not have, hosts longer than a name can be. */
const isOurs = (m) => m.method === 'CONNECT' || (m.form === 'absolute' && m.scheme.toLowerCase() !== 'http') || (m.authority ?? m.headers.host ?? '').length > 255;

function compare(wanted, seen) {
	const { trailers: sent, ...request } = wanted;
	const { trailers: came, cookies, ...got } = seen;
	assert.deepEqual(got, request, 'the origin saw another request');
	assert.ok((cookies ?? 1) <= 1, 'two Cookie fields over HTTP/1.1');
	for (const [name, value] of came) {
		assert.ok(sent.some(([n, v]) => n === name && v === value), `a trailer that was not sent: ${name}: ${value}`);
		assert.ok(![...FRAMING, ...HOP_BY_HOP].includes(name), `${name} in trailers`);
	}
}

function refusal(r, statuses, mayBeLarge) {
	assert.ok(statuses.includes(r.status) || (mayBeLarge && [413, 414, 431].includes(r.status)), `status ${r.status} instead of ${statuses}`);
	assert.match(r.headers['proxy-status'] ?? '', /./, `no Proxy-Status in a ${r.status}`);
	assert.match(r.headers.connection ?? '', /\bclose\b/, `no Connection: close in a ${r.status}`);
}

/* Gives 'passed', 'refused' or 'unfinished'. Throws for what may not be. */
function judge({ bytes, oracle, client }, seen, origin) {
	const responses = [...client.responses];
	const large = bytes.length > 4000;
	const left = [...seen];
	assert.equal(client.reader.error, null, `a response is no HTTP/1.1: ${client.reader.error?.text}`);
	const over = (result) => {
		assert.deepEqual(left, [], 'the origin saw more than that');
		assert.equal(responses.length, 0, `a response more: ${responses[0]?.status}`);
		return result;
	};
	for (const m of oracle.messages) {
		const r = responses.shift();
		assert.ok(r, `no response to ${m.method} ${m.target.slice(0, 80)}${m.refusable ? ` (${m.refusable})` : ''}`);
		if (isOurs(m)) {
			assert.ok(r.status >= 400, `${r.status} for what is not for an origin`);
		} else if (r.status === 200) {
			assert.ok(left.length, 'the origin has not seen it');
			compare(expected(m, origin), left[0]);
			assert.equal(r.body.toString('latin1'), m.method === 'HEAD' ? '' : left[0].target, 'the answer to something else');
			left.shift();
		} else if (large && [413, 414, 431].includes(r.status) && !/\bclose\b/.test(r.headers.connection ?? '')) {
			/* too large for this origin, and the connection goes on behind it */
		} else {
			assert.ok(m.refusable || large, `well formed, and refused with ${r.status}: ${r.headers['proxy-status']}`);
			refusal(r, [400, 501, 505], large);
			return over('refused');
		}
		if (m.closes || /\bclose\b/.test(r.headers.connection ?? ''))
			return over('passed');
	}
	if (!oracle.error)
		return over('passed');
	if (oracle.isIncomplete) {
		if (responses.length)
			refusal(responses.shift(), [400, 408, 413, 502], large);
		return over('unfinished');
	}
	const r = responses.shift();
	assert.ok(r, `no response to what cannot be read: ${oracle.error.text}`);
	refusal(r, oracle.error.statuses, large);
	return over('refused');
}

async function play(n, form, target) {
	const bytes = latin1(form.write(n) + last(n));
	const oracle = read('request', bytes);
	const client = await connect1(target.port, { keep: false });
	const asked = oracle.messages.map(({ method, version }) => ({ method, version }));
	/* Wherever the bytes are cut, they mean the same. */
	const cut = n % 2 ? (n * 7919) % bytes.length : 0;
	if (cut) {
		client.send(bytes.subarray(0, cut));
		await new Promise((resolve) => { setImmediate(resolve); });
	}
	client.send(bytes.subarray(cut), asked);
	if (oracle.isIncomplete)
		client.finish();
	await client.over(20000 * SCALE).catch(() => {});
	const isOver = client.end !== null;
	client.close();
	return { n, form, bytes, oracle, client, isOver };
}

/* `width` of them at a time. */
export async function spread(items, width, work) {
	const results = [];
	let next = 0;
	await Promise.all(Array.from({ length: width }, async () => {
		while (next < items.length) {
			const i = next++;
			results[i] = await work(items[i], i);
		}
	}));
	return results;
}

/* What came of each row, and of failures the first few in full. */
export class Outcome {
	rows = {};
	failures = [];

	count(row, result) {
		const counts = this.rows[row] ??= {};
		counts[result] = (counts[result] ?? 0) + 1;
	}
	fail(form, bytes, error) {
		this.failures.push(`${form.row}: ${form.name}\n  ${JSON.stringify(bytes.toString('latin1').slice(0, 600))}\n  ${error.message.slice(0, 1200)}`);
	}
	check() {
		const kinds = {};
		for (const f of this.failures)
			kinds[f.split('\n')[0].split(':')[0]] = (kinds[f.split('\n')[0].split(':')[0]] ?? 0) + 1;
		assert.equal(this.failures.length, 0, `${this.failures.length} forms ${JSON.stringify(kinds)}; the first:\n${this.failures.slice(0, Number(process.env.SMUGGLE_SHOWN ?? 8)).join('\n')}`);
	}
}

/* One more request, and its answer: what left the gate before is at the origin by then. */
export async function roundTrip(port, path, host = AUTHORITY) {
	const client = await connect1(port, { keep: false });
	client.request('GET', path, [['Host', host], ['Connection', 'close']]);
	await client.over(20000 * SCALE);
	client.close();
	assert.equal(client.responses.length, 1);
}

/* target: {port}; record: the origin's. */
export async function matrix1(forms, target, record, width = 48) {
	const outcome = new Outcome();
	const played = await spread(forms, width, (form, i) => play(i, form, target));
	await roundTrip(target.port, `/n${forms.length}n`);
	for (const p of played)
		try {
			const result = judge(p, record.of(p.n), new URL(record.server).host);
			assert.ok(p.isOver, 'the connection does not end');
			outcome.count(p.form.row, result);
		} catch (error) {
			outcome.fail(p.form, p.bytes, error);
		}
	assert.deepEqual(record.of(-1).slice(0, 3), [], 'requests at the origin that nobody sent');
	return outcome;
}

/* ---- origins that are other people's programs: known by their logs ---- */

/* Which of case n's requests a line of a log is about: 'own 5', 'evil 5', 'last 5'; null: about none. */
export function logged(line) {
	const n = numberOf(line);
	return n < 0 ? null : `${/\/(evil|last)\/n\d+n/.exec(line)?.[1] ?? 'own'} ${n}`;
}
const nameOf = (m) => logged(numberOf(m.target) >= 0 ? m.target : m.headers?.['x-number'] ?? m.target) ?? m.target;

/*
 * What the log must have: one line for each request that the origin answered with a status of success, at most one for
 * each other that went there, in part or as a whole; and none besides. Gives {result, sent, most}.
 */
function judgeLogged({ bytes, oracle, client }) {
	const responses = [...client.responses];
	const large = bytes.length > 4000;
	const least = [];
	const most = [];
	const is = (result) => {
		assert.equal(responses.length, 0, `a response more: ${responses[0]?.status}`);
		return { result, least, most };
	};
	/* An origin may answer before it has read all, and end the connection: the answer may be lost then. */
	const mayBeCut = large || oracle.isIncomplete;
	let mayEnd = large;
	const { error } = client.reader;
	assert.ok(!error || (client.reader.isIncomplete && mayBeCut), `a response is no HTTP/1.1: ${error?.text}`);
	for (const m of oracle.messages) {
		const r = responses.shift();
		assert.ok(r || mayEnd, `no response to ${m.method} ${m.target.slice(0, 80)}`);
		const isOfTheGate = r?.headers['proxy-status'] !== undefined;
		const closes = !r || m.closes || /\bclose\b/.test(r.headers.connection ?? '');
		if (r && !isOfTheGate && r.status < 300)
			least.push(nameOf(m));
		/* Answered before the odd part of its body was there: the connection ends behind the answer. */
		mayEnd ||= m.refusable && m.framing === 'chunked';
		/* What the gate refuses is never seen, unless it is a body that had begun. */
		if (!isOfTheGate || r.status === 502 || m.framing === 'chunked')
			most.push(nameOf(m));
		if (closes)
			return is(isOfTheGate ? 'refused' : 'passed');
	}
	if (oracle.partial?.headers)
		most.push(nameOf(oracle.partial));
	assert.ok(oracle.isIncomplete || !oracle.error || responses.length, 'no response to what cannot be read');
	if (oracle.error)
		responses.shift();
	return is(oracle.isIncomplete ? 'unfinished' : oracle.error ? 'refused' : 'passed');
}

const counts = (names) => names.reduce((all, x) => all.set(x, (all.get(x) ?? 0) + 1), new Map());

/* lines(): all that the origin has logged, as logged() gives them; it may take a moment until the last is there. */
export async function matrixLogged(forms, target, lines, width = 32) {
	const outcome = new Outcome();
	const judged = [];
	let least = 0;
	for (const p of await spread(forms, width, (form, i) => play(i, form, target)))
		try {
			assert.ok(p.isOver, 'the connection does not end');
			const verdict = judgeLogged(p);
			least += verdict.least.length;
			judged.push({ ...p, ...verdict });
		} catch (error) {
			outcome.fail(p.form, p.bytes, error);
		}
	await roundTrip(target.port, `/n${forms.length}n`);
	const lastName = `own ${forms.length}`;
	await until('the last lines', () => lines().includes(lastName) && lines().filter(Boolean).length > least).catch(() => {});
	const all = counts(lines());
	for (const j of judged)
		try {
			const [needed, allowed] = [counts(j.least), counts(j.most)];
			for (const name of ['own', 'evil', 'last'].map((kind) => `${kind} ${j.n}`)) {
				const n = all.get(name) ?? 0;
				assert.ok(n >= (needed.get(name) ?? 0) && n <= (allowed.get(name) ?? 0), `${n} × ${name} in the log; ${needed.get(name) ?? 0} to ${allowed.get(name) ?? 0} were sent`);
			}
			outcome.count(j.form.row, j.result);
		} catch (error) {
			outcome.fail(j.form, j.bytes, error);
		}
	outcome.requests = least;
	return outcome;
}

/* rows × columns, each with how many there are of each result. */
export function table(columns, results = ['passed', 'refused', 'unfinished']) {
	const names = Object.keys(columns);
	const rows = [...new Set(names.flatMap((c) => Object.keys(columns[c].rows)))];
	const cell = (o) => (o ? results.map((r) => o[r] ?? 0).join('/') : '–');
	const lines = [[results.join('/'), ...names], ...rows.map((row) => [row, ...names.map((c) => cell(columns[c].rows[row]))])];
	const widths = lines[0].map((_, i) => Math.max(...lines.map((l) => l[i].length)));
	return lines.map((l) => l.map((text, i) => text.padEnd(widths[i])).join('  ')).join('\n');
}

/* ---- judging a client of HTTP/2 ---- */

const LOWER = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NOT_IN_VALUES = /[\x00-\x08\x0a-\x1f\x7f]|^[ \t]|[ \t]$/;
const AUTHORITIES = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})+)(?::[0-9]*)?$/;

/* Why this field list with this content is malformed (RFC 9113 8.1.1), or null. */
function wrongWith({ fields, data = '', trailers = [] }) {
	const pseudo = {};
	const regular = fields.findIndex(([n]) => !n.startsWith(':'));
	for (const [i, [name, value]] of fields.entries()) {
		if (name.startsWith(':') && (i > regular && regular >= 0 || name in pseudo || ![':method', ':scheme', ':authority', ':path'].includes(name)))
			return 'pseudo-fields';
		if (name.startsWith(':'))
			pseudo[name] = value;
	}
	const bad = (list) => list.some(([n, v]) => !LOWER.test(n) || NOT_IN_VALUES.test(v) || ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'].includes(n) || (n === 'te' && v.toLowerCase() !== 'trailers'));
	const rest = fields.filter(([n]) => !n.startsWith(':'));
	if (bad(rest) || bad(trailers))
		return 'a field';
	const lengths = rest.filter(([n]) => n === 'content-length').map(([, v]) => v);
	if (!lengths.every((x) => /^[0-9]+$/.test(x) && BigInt(x) === BigInt(data.length)))
		return 'content-length';
	const { ':method': method, ':scheme': scheme, ':path': path } = pseudo;
	if (!TOKEN.test(method ?? ''))
		return 'the method';
	const hosts = rest.filter(([n]) => n === 'host').map(([, v]) => v);
	const authority = pseudo[':authority'] ?? hosts[0];
	const same = (x) => x.toLowerCase().replace(/(:(0*80)?)$/, '');
	if (hosts.length > 1 || !AUTHORITIES.test(authority ?? '') || NO_HOST.test(authority) || hosts.some((h) => same(h) !== same(authority)))
		return 'the authority';
	if (method === 'CONNECT')
		return 'CONNECT';
	if (!/^[A-Za-z][A-Za-z0-9+\-.]*$/.test(scheme ?? ''))
		return 'the scheme';
	if (!path || !(path.startsWith('/') || (path === '*' && method === 'OPTIONS')) || /[\x00-\x20\x7f#]/.test(path))
		return 'the path';
	return trailers.some(([n]) => FRAMING.includes(n) || n.startsWith(':')) ? 'trailers' : null;
}

/* The forms of one connection, all at once. */
async function play2(items, target) {
	const client = await connect(target.port, { settings: { initialWindowSize: 1 << 20 } });
	client.checking = false;
	await client.ready();
	items.forEach(({ request }, i) => {
		const id = 1 + 2 * i;
		client.headers(id, request.fields, { endStream: request.data === undefined });
		if (request.data !== undefined)
			client.data(id, request.data, { endStream: !request.trailers });
		if (request.trailers)
			client.headers(id, request.trailers, { endStream: true });
	});
	for (const [i, item] of items.entries()) {
		const id = 1 + 2 * i;
		const over = await client.take((f) => f.stream === id && (f.type === 'RST_STREAM' || f.endStream), `the end of ${item.form.row}: ${item.form.name}`, 20000 * SCALE)
			.catch((error) => { item.error = error; });
		item.reset = over?.type === 'RST_STREAM' ? over.code : null;
		item.status = client.seen('HEADERS', { stream: id }).at(-1)?.headers[':status'] ?? over?.headers?.[':status'];
		client.drop((f) => f.stream === id && f !== over);
	}
	await client.sync().catch(() => {});
	const goaway = client.seen('GOAWAY')[0];
	if (goaway)
		items[0].error ??= new assert.AssertionError({ message: `GOAWAY ${goaway.code} ${goaway.debug}` });
	client.close();
}

/* DATA beyond content-length: the request was whole, as it said, before they came. Nothing of them may go on. */
function judgeSurplus({ fields, data }, reset, seen) {
	const length = Number(fields.find(([n]) => n === 'content-length')[1]);
	assert.ok(length < data.length, 'less DATA than content-length, and the origin saw it complete');
	assert.equal(reset, 'PROTOCOL_ERROR');
	assert.deepEqual(seen.map((m) => m.body), [data.slice(0, length)]);
	return 'refused';
}

function judge2({ request, reset, status, error }, seen) {
	if (error)
		throw error;
	const wrong = wrongWith(request);
	const [first] = seen;
	if (first && wrong === 'content-length')
		return judgeSurplus(request, reset, seen);
	const pseudo = Object.fromEntries(request.fields.filter(([n]) => n.startsWith(':')));
	if (first) {
		assert.equal(wrong, null, `malformed, and the origin saw it: ${JSON.stringify(first).slice(0, 300)}`);
		compare(meaning({
			method: pseudo[':method'], target: pseudo[':path'], authority: pseudo[':authority'] ?? request.fields.find(([n]) => n === 'host')[1],
			fields: request.fields.filter(([n]) => !n.startsWith(':')), body: latin1(request.data ?? ''), trailers: request.trailers,
		}), first);
		assert.equal(seen.length, 1, 'one request became several');
		assert.equal(status, '200');
		return 'passed';
	}
	const isOther = pseudo[':scheme'] !== 'http' || /:(0+|\d{6,})$/.test(pseudo[':authority'] ?? '');
	assert.ok(wrong || isOther, `well formed, and not passed on: ${reset} ${status}`);
	assert.ok(reset === 'PROTOCOL_ERROR' || Number(status) >= 400, `ended with ${reset} ${status}`);
	return 'refused';
}

export async function matrix2(forms, target, record) {
	const outcome = new Outcome();
	const items = forms.map((form, n) => ({ n, form, request: form.write(n) }));
	const connections = Array.from({ length: Math.ceil(items.length / 60) }, (_, i) => items.slice(60 * i, 60 * i + 60));
	await spread(connections, 6, (list) => play2(list, target));
	await roundTrip(target.port, `/n${items.length}n`);
	for (const item of items)
		try {
			outcome.count(item.form.row, judge2(item, record.of(item.n)));
		} catch (error) {
			outcome.fail(item.form, latin1(JSON.stringify(item.request)), error);
		}
	assert.deepEqual(record.of(-1).slice(0, 3), [], 'requests at the origin that nobody sent');
	return outcome;
}

/* ---- responses: what an origin writes, and what a client of either version gets ---- */

const lastTarget = (n) => `/last/n${n}n`;
/* Behind each second form, in the same segment: the connection may not be used again. */
const surplus = (n) => (n % 2 ? evilResponse(60) : '');

/* Sends each form to who asks for its number, and ends the connection where a response lasts until then, or is not whole. */
export async function formOrigin(list) {
	const oracles = list.map((form, n) => {
		const bytes = latin1(form.write(n) + surplus(n));
		const oracle = read('response', bytes, { asked: [{ method: 'GET', version: 'HTTP/1.1' }] });
		const final = oracle.messages.find((m) => m.status >= 200);
		const ends = !final || final.framing === 'close';
		return { form, n, bytes, oracle, final, ends };
	});
	const origin = await recordingOrigin({
		keep: false,
		respond: (m, c) => {
			const n = numberOf(m.target);
			if (m.target === lastTarget(n)) {
				c.send(response(200, [], { body: `last ${n}` }));
				return;
			}
			c.send(oracles[n].bytes);
			if (oracles[n].ends)
				c.finish();
		},
	});
	return { oracles, server: `http://127.0.0.1:${origin.port}`, close: () => origin.close() };
}

/* A response as both sides must mean it. */
function content({ status, fields, nominated = [], body, trailers = [] }) {
	const kept = fields.map(([n, v]) => [n.toLowerCase(), v]).filter(([n]) => ![...OURS, ...HOP_BY_HOP, ...nominated, 'date'].includes(n));
	return { status, fields: kept, body: body.toString('latin1'), trailers: trailers.map(([n, v]) => [n.toLowerCase(), v]) };
}

/* got: {status, fields, body, trailers, isCut}: what the client has of it; null: nothing. Gives 'passed', 'refused', 'cut'. */
function judgeResponse({ oracle, final, bytes }, got) {
	assert.ok(got, 'no response');
	const isGates = got.status === 502 && got.fields.some(([n]) => n.toLowerCase() === 'proxy-status');
	/* What has no body must not speak of one; whether that counts, every recipient decides for itself. */
	const isOdd = /^1\d\d |^204 /.test(oracle.error?.text ?? '') || final?.refusable || bytes.length > 2000;
	if (isGates) {
		assert.ok(!final || isOdd, `well formed, and refused: ${got.fields.find(([n]) => n.toLowerCase() === 'proxy-status')[1]}`);
		return 'refused';
	}
	assert.ok(final?.headers.evil || !got.fields.some(([n]) => n.toLowerCase() === 'evil'), 'a response that nobody asked for');
	if (got.isCut) {
		assert.ok(!final || isOdd, 'well formed, and cut off');
		return 'cut';
	}
	if (!final) {
		assert.ok(isOdd, `not whole (${oracle.error?.text}), and looks whole: ${got.status} ${JSON.stringify(got.body.toString('latin1'))}`);
		return 'passed';
	}
	const [{ trailers: sent, ...wanted }, { trailers: came, ...seen }] = [content(final), content(got)];
	assert.deepEqual(seen, wanted, 'the client got another response');
	for (const [name, value] of came)
		assert.ok(sent.some(([n, v]) => n === name && v === value) && ![...FRAMING, ...HOP_BY_HOP].includes(name), `the trailer ${name}: ${value}`);
	return 'passed';
}

async function askOne(entry, target) {
	const { n } = entry;
	const client = await connect1(target.port, { keep: false });
	const ask = (path, more) => client.request('GET', path, [['Host', AUTHORITY], ...more]);
	ask(`/n${n}n`, []);
	ask(lastTarget(n), [['Connection', 'close']]);
	await client.over(20000 * SCALE).catch(() => {});
	const isOver = client.end !== null;
	client.close();
	const { partial, error, isIncomplete } = client.reader;
	assert.ok(!error || isIncomplete, `a response is no HTTP/1.1: ${error?.text}`);
	assert.ok(isOver, 'the connection does not end');
	const [first, last1] = client.responses;
	const isCut = !first && partial !== null;
	const result = judgeResponse(entry, isCut ? { ...partial, body: Buffer.alloc(0), isCut } : first);
	assert.ok(isCut || (last1 && String(last1.body) === `last ${n}`), `then ${last1?.status} ${last1?.body} instead of the next response`);
	return result;
}

async function askOne2(entry, client) {
	const { n } = entry;
	const ask = (path) => {
		const stream = client.nextId = (client.nextId ?? -1) + 2;
		client.headers(stream, { ':method': 'GET', ':scheme': 'http', ':authority': AUTHORITY, ':path': path }, { endStream: true });
		return stream;
	};
	const got = async (stream) => {
		const r = { body: Buffer.alloc(0), trailers: [] };
		for (;;) {
			const f = await client.take((x) => x.stream === stream && ['HEADERS', 'DATA', 'RST_STREAM'].includes(x.type), `the response to ${entry.form.name}`, 20000 * SCALE);
			if (f.type === 'RST_STREAM')
				return r.status ? { ...r, isCut: true } : null;
			const fields = f.fields?.map(({ name, value }) => [name, value]);
			if (f.type === 'DATA')
				r.body = Buffer.concat([r.body, f.data]);
			else if (r.status)
				r.trailers = fields;
			else if (Number(f.headers[':status']) >= 200)
				Object.assign(r, { status: Number(f.headers[':status']), fields: fields.filter(([name]) => !name.startsWith(':')) });
			if (f.endStream)
				return r;
		}
	};
	const result = judgeResponse(entry, await got(ask(`/n${n}n`)));
	assert.equal(String((await got(ask(lastTarget(n))))?.body), `last ${n}`, 'then something else instead of the next response');
	return result;
}

async function matrixOf(oracles, width, ask) {
	const outcome = new Outcome();
	await spread(oracles, width, async (entry, i) => {
		try {
			outcome.count(entry.form.row, await ask(entry, i));
		} catch (error) {
			outcome.fail(entry.form, entry.bytes, error);
		}
	});
	return outcome;
}

/* Clients of HTTP/1.1, each with a connection of its own; clients of HTTP/2 share eight connections. */
export const responses1 = (origin, target) => matrixOf(origin.oracles, 48, (entry) => askOne(entry, target));
export async function responses2(origin, target) {
	const clients = await Promise.all(Array.from({ length: 8 }, () => connect(target.port)));
	for (const c of clients)
		await c.ready();
	const outcome = await matrixOf(origin.oracles, 48, (entry, i) => askOne2(entry, clients[i % clients.length]));
	assert.deepEqual(clients.flatMap((c) => c.violations), []);
	clients.forEach((c) => c.close());
	return outcome;
}
