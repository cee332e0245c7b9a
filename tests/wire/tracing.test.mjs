/* SPDX-License-Identifier: MIT */
/*
 * Spans on the wire: what the collector gets of requests, attempts and pushes, what the origin gets as traceparent, who
 * decides what is recorded, and that a collector which is slow, down or unwilling costs spans and nothing else.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { Collector, traceparent } from '../support/collector.mjs';
import { startDns } from '../support/dns.mjs';
import { freePort, scenario, section, sleep, until } from '../support/gate.mjs';
import { connect1, recordingOrigin, response } from '../support/http1.mjs';
import { nodeClient, nodeOrigin } from '../support/node.mjs';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736', SPAN = '00f067aa0ba902b7';
const PARENT = `00-${TRACE}-${SPAN}-01`, UNSAMPLED = `00-${TRACE}-${SPAN}-00`;
const STATE = 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE';

/* Before the first test: those behind a later await would not run if all before it are skipped. */
const ORIGIN_PORT = await freePort(), FORWARD_PORT = await freePort(), COLLECTOR_PORT = await freePort();

const child = (s, comm) => fs.readFileSync(`/proc/${s.gate.pid}/task/${s.gate.pid}/children`, 'utf8').split(' ').filter(Boolean).find((pid) => {
	try {
		return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === comm;
	} catch {
		return false;
	}
});
/* Of a process; 0: there is none. */
function sockets(pid) {
	try {
		const dir = `/proc/${pid}/fd`;
		/* Node's pipes to a child are sockets too. */
		return fs.readdirSync(dir).filter((fd) => Number(fd) > 2 && fs.readlinkSync(`${dir}/${fd}`).startsWith('socket:')).length;
	} catch {
		return 0;
	}
}

/* A scenario with a collector, in s.collector. options: as of scenario; tracing: more options of [server]. */
function traced(name, { tracing = {}, prepare, server = {}, ...options }, body) {
	const settings = { 'status-socket': 'status', 'tracing-ratio': '100%', ...tracing, ...server };
	scenario(name, {
		single: false,
		...options,
		server: settings,
		async prepare(s) {
			s.collector = await new Collector().open();
			s.cleanups.push(() => s.collector.close());
			settings.tracing ??= `http://127.0.0.1:${s.collector.port}`;
			s.tracingOptions = settings;
			await prepare?.(s);
		},
	}, async (s) => {
		await until('the worker and the tracer are connected', () => sockets(child(s, 'pushgate-tracer')) >= 2);
		await body(s, s.collector);
		assert.deepEqual(s.collector.mistakes, []);
	});
}

async function client1(s) {
	const client = await connect1(s.port);
	s.cleanups.push(() => client.close());
	return client;
}

/* An origin in HTTP/1.1 whose port is known before the start. */
const withHttp1Origin = (options = {}) => {
	const main = {};
	return {
		...options,
		origins: { main },
		async prepare(s) {
			s.origin1 = await recordingOrigin(options.respond ? { respond: options.respond } : {});
			s.cleanups.push(() => s.origin1.close());
			main.server = `http://127.0.0.1:${s.origin1.port}`;
		},
	};
};
/* How many spans the collector has taken, and how many were lost. */
function counted(s) {
	const c = s.gate.counters();
	return { sent: c['pushgate_spans_total{result="sent"}'], dropped: c['pushgate_spans_total{result="dropped"}'], failed: c.span_posts_failed };
}
const fieldsOf = (message) => Object.fromEntries(message.fields);

/* ---- without tracing ---- */

// covers: R680
for (const single of [true, false])
	scenario(`without tracing both fields pass as they came, and the log has their ids (${single ? 'single' : 'workers'})`, { single }, async (s) => {
		const { client, origin, up } = await s.open({ request: { traceparent: PARENT, tracestate: STATE } });
		assert.equal(up.headers.traceparent, PARENT);
		assert.equal(up.headers.tracestate, STATE);
		origin.respond(up.stream, { body: 'page' });
		await client.response(1);
		const line = await s.gate.access((l) => l.path === '/');
		assert.equal(`${line.trace} ${line.span}`, `${TRACE} ${SPAN}`);
		const other = await client1(s);
		other.request('GET', '/one', [['host', 'a.test'], ['traceparent', PARENT], ['tracestate', STATE]]);
		const plain = await s.accept(); /* HTTP/1.1 has no pushes: another connection */
		const second = await plain.expectRequest('/one');
		assert.equal(`${second.headers.traceparent} ${second.headers.tracestate}`, `${PARENT} ${STATE}`);
		plain.respond(second.stream, { body: 'page' });
		assert.equal((await other.response()).status, 200);
		/* What is no traceparent passes too, and is no id. */
		client.request(3, { path: '/bad', traceparent: 'nonsense' });
		const bad = await origin.expectRequest('/bad');
		assert.equal(bad.headers.traceparent, 'nonsense');
		origin.respond(bad.stream, { body: 'page' });
		await client.response(3);
		assert.equal((await s.gate.access((l) => l.path === '/bad')).trace, undefined);
	});

// covers: R680
scenario('without tracing both fields pass to an origin in HTTP/1.1', withHttp1Origin(), async (s) => {
	const client = await s.connect();
	client.request(1, { path: '/two', traceparent: PARENT, tracestate: STATE });
	assert.equal((await client.response(1)).status, 200);
	const other = await client1(s);
	other.request('GET', '/one', [['host', 'a.test'], ['traceparent', PARENT], ['tracestate', STATE]]);
	assert.equal((await other.response()).status, 200);
	for (const path of ['/two', '/one']) {
		const fields = fieldsOf(await s.origin1.request(path));
		assert.equal(`${fields.traceparent} ${fields.tracestate}`, `${PARENT} ${STATE}`);
	}
});

/* ---- requests and attempts ---- */

// covers: R681 R682 R683
traced('a request and its attempt are two spans, whose ids the origin and the log have', {}, async (s, collector) => {
	const { client, origin, up } = await s.open({
		path: '/a/page?token=geheim', request: { 'user-agent': 'test/1', authorization: 'Basic geheim', cookie: 'id=geheim', 'x-key': 'geheim' },
	});
	const sent = traceparent(up.headers.traceparent);
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	const span = await collector.request('/a/page');
	const [attempt] = await until('its attempt', () => {
		const children = collector.childrenOf(span);
		return children.length && children;
	});
	assert.ok(sent.isSampled);
	assert.equal(`${sent.traceId} ${sent.spanId}`, `${span.traceId} ${attempt.spanId}`);
	assert.equal(span.parentSpanId, undefined);
	assert.deepEqual(span.links, []);
	assert.equal(`${span.name} ${span.kind} ${span.is_error}`, 'GET main 2 false');
	const [host, port] = up.headers[':authority'].split(':');
	const expected = {
		'http.request.method': 'GET', 'url.scheme': 'http', 'url.path': '/a/page', 'server.address': host,
		'http.route': 'main', 'http.response.status_code': 200, 'network.protocol.version': '2', 'client.address': '127.0.0.1',
		'network.peer.address': '127.0.0.1', 'user_agent.original': 'test/1', 'pushgate.listener': 'main', 'pushgate.outcome': 'complete',
		'http.response.body.size': 4,
	};
	for (const [key, value] of Object.entries(expected))
		assert.equal(span.attributes[key], value, key);
	assert.equal(span.attributes['server.port'], Number(port ?? 80));
	assert.equal(`${attempt.name} ${attempt.kind} ${attempt.is_error}`, 'GET 3 false');
	assert.equal(attempt.attributes['url.full'], `http://${up.headers[':authority']}/a/page`);
	assert.equal(attempt.attributes['network.peer.port'], s.server.port);
	assert.equal(attempt.attributes['http.response.status_code'], 200);
	assert.equal(attempt.attributes['http.request.resend_count'], undefined);
	assert.equal(attempt.attributes['pushgate.origin'], 'main');
	assert.deepEqual(attempt.events.map((e) => e.name), ['sent']);
	const line = await s.gate.access((l) => l.path.startsWith('/a/page'));
	assert.equal(`${line.trace} ${line.span}`, `${span.traceId} ${span.spanId}`);
	const all = collector.posts.map((p) => p.text).join('');
	assert.ok(!all.includes('geheim'), 'a query or a credential is in a span');
	assert.equal(collector.posts[0].target, '/v1/traces');
	assert.equal(span.resource['service.name'], 'pushgate');
	assert.match(span.resource['service.version'], /^\d+\.\d+/);
	await until('the counter', () => counted(s).sent === 2);
	assert.match(s.gate.status(), /pushgate_process_up\{process="tracer"\} 1/);
});

// covers: R681 R683
traced('over HTTP/1.1 on both sides it is the same', { ...withHttp1Origin(), tracing: { pseudonym: 'edge1' } }, async (s, collector) => {
	const client = await client1(s);
	client.request('POST', '/one?q', [['host', 'a.test:8080']], { body: 'hello' });
	assert.equal((await client.response()).status, 200);
	const sent = traceparent(fieldsOf(await s.origin1.request('/one?q')).traceparent);
	const span = await collector.request('/one');
	const attempt = await collector.span('the attempt', (x) => x.spanId === sent.spanId);
	assert.equal(attempt.parentSpanId, span.spanId);
	assert.equal(`${attempt.traceId} ${span.traceId}`, `${sent.traceId} ${sent.traceId}`);
	assert.equal(span.attributes['network.protocol.version'], '1.1');
	assert.equal(attempt.attributes['network.protocol.version'], '1.1');
	assert.equal(span.attributes['http.request.body.size'], 5);
	assert.equal(`${span.attributes['server.address']} ${span.attributes['server.port']}`, 'a.test 8080');
	assert.equal(span.resource['service.name'], 'edge1');
});

// covers: R683
traced('a path and a user-agent that are no UTF-8, an unknown method, an answer of pushgate itself', {
	routes: section('route main', { origin: 'main', path: '/x' }),
}, async (s, collector) => {
	const client = await client1(s);
	client.send(Buffer.from('BREW /\xff\xfe"\\ HTTP/1.1\r\nHost: a.test\r\nUser-Agent: \xe9t\xe9\r\n\r\n', 'latin1'), [{ method: 'BREW' }]);
	assert.equal((await client.response()).status, 404);
	const span = await collector.span('of BREW', (x) => x.attributes['http.request.method'] === '_OTHER');
	assert.equal(span.attributes['http.request.method_original'], 'BREW');
	assert.equal(span.name, 'HTTP');
	assert.equal(span.attributes['user_agent.original'], '\ufffdt\ufffd');
	assert.equal(span.attributes['url.path'], '/\ufffd\ufffd"\\');
	assert.equal(span.attributes['http.response.status_code'], 404);
	assert.equal(span.is_error, false);
});

/* ---- failures ---- */

const failing = (name, lines, options, body) => {
	const main = { config: options.origin ?? {} };
	traced(name, {
		origins: { main },
		routes: section('route main', { origin: 'main', ...options.route }),
		prepare: async (s) => { main.server = await lines(s); },
	}, body);
};

const answering = async (s, status) => {
	const origin = await recordingOrigin({ respond: (m, c) => c.send(response(status, [], { body: 'x' })) });
	s.cleanups.push(() => origin.close());
	return origin;
};

// covers: R682
failing('a request that is sent again has a span for each attempt', async (s) => {
	[s.bad, s.good] = [await answering(s, 503), await answering(s, 200)];
	return [s.bad, s.good].map((o) => `http://127.0.0.1:${o.port}`);
}, { route: { 'retry-on': '503' } }, async (s, collector) => {
	const client = await s.connect();
	for (let n = 0, id = 1; s.bad.requests.length === 0; n++, id += 2) {
		assert.ok(n < 100);
		client.request(id, { path: `/${n}` });
		assert.equal((await client.response(id)).status, 200);
	}
	const [refused] = s.bad.requests;
	const span = await collector.request(refused.target);
	const [first, second] = await until('two attempts', () => {
		const all = collector.childrenOf(span);
		return all.length === 2 && all.sort((a, b) => (BigInt(a.startTimeUnixNano) < BigInt(b.startTimeUnixNano) ? -1 : 1));
	});
	assert.deepEqual([first, second].map((a) => a.attributes['http.response.status_code']), [503, 200]);
	assert.deepEqual([first, second].map((a) => a.attributes['http.request.resend_count']), [undefined, 1]);
	assert.deepEqual([first, second].map((a) => a.is_error), [true, false]);
	assert.equal(first.attributes['error.type'], '503');
	assert.equal(traceparent(fieldsOf(refused).traceparent).spanId, first.spanId);
	const again = s.good.requests.find((m) => m.target === refused.target);
	assert.equal(traceparent(fieldsOf(again).traceparent).spanId, second.spanId);
	assert.equal(`${span.attributes['http.response.status_code']} ${span.is_error}`, '200 false');
});

// covers: R682
failing('a server that cannot be reached is an attempt too', async (s) => {
	s.good = await answering(s, 200);
	return [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${s.good.port}`];
}, { origin: { 'eject-failures': 0, 'eject-percent': 0 } }, async (s, collector) => {
	const client = await s.connect();
	let id = 1;
	const line = async () => {
		client.request(id, { path: `/${id}` });
		assert.equal((await client.response(id)).status, 200);
		id += 2;
		return s.gate.accessLines().find((l) => l.retried);
	};
	const retried = await until('a request for the dead one', line);
	const span = await collector.request(retried.path);
	const children = await until('two attempts', () => {
		const all = collector.childrenOf(span);
		return all.length === 2 && all;
	});
	const dead = children.find((a) => a.is_error), alive = children.find((a) => !a.is_error);
	assert.match(dead.attributes['error.type'], /^[a-z-]+$/);
	assert.equal(dead.attributes['http.response.status_code'], undefined);
	assert.equal(alive.attributes['http.request.resend_count'], 1);
});

// covers: R682 R683
traced('a response that never comes is an error of both spans', { origin: { 'response-timeout': '300ms' } }, async (s, collector) => {
	const { client } = await s.open({ path: '/late' });
	assert.equal((await client.response(1)).status, 504);
	const span = await collector.request('/late');
	assert.equal(`${span.is_error} ${span.attributes['http.response.status_code']} ${span.attributes['pushgate.outcome']}`, 'true 504 timeout');
	const [attempt] = await until('its attempt', () => collector.childrenOf(span).length && collector.childrenOf(span));
	assert.equal(attempt.attributes['error.type'], span.attributes['error.type']);
	assert.equal(attempt.attributes['http.response.status_code'], undefined);
});

/* ---- pushes ---- */

const rules = section('push drop', { 'promised-path': '/drop*', action: 'drop' }) + section('push hint', { 'promised-path': '/hint*', action: 'hint', 'hint-clients': 'all' })
	+ section('push both', { 'promised-path': '/both*', action: 'hint+hold', 'hint-clients': 'all' }) + section('push hold', { 'promised-path': '/hold*', action: 'hold' });

// covers: R684
traced('a push of each verdict: an event on its page, and a span of its own if it is made', { extra: rules, tracing: { 'hint-wait': '1s' } }, async (s, collector) => {
	const { client, origin, up } = await s.open({ path: '/page' });
	const fields = { 'cache-control': 'max-age=60' };
	origin.push(up, 2, '/forward.css?v=geheim').push(up, 4, '/drop.css').push(up, 6, '/hint.css').push(up, 8, '/both.css').push(up, 10, '/hold.css');
	origin.respond(2, { fields, body: 'one' }).respond(8, { fields, body: 'two' }).respond(10, { fields, body: 'three' });
	origin.respond(up.stream, { body: 'page' });
	assert.equal(String((await client.response(1)).body), 'page');
	await s.settle(client, origin);
	client.request(3, { path: '/hold.css' });
	assert.equal(String((await client.response(3)).body), 'three');
	client.close();
	const page = await collector.request('/page');
	const verdicts = page.events.filter((e) => e.name === 'push.verdict').map((e) => [e['url.path'], e['pushgate.push.verdict'], e['pushgate.push.reason']]);
	assert.deepEqual(verdicts.map(([path, verdict]) => `${path} ${verdict}`), [
		'/forward.css forward', '/drop.css drop', '/hint.css hint', '/both.css hint+hold', '/hold.css hold']);
	assert.ok(verdicts.every(([, , reason]) => /^[a-z0-9-]+$/.test(reason)));
	assert.deepEqual(page.events.filter((e) => e.name === 'push.hint').map((e) => e['url.path']), ['/hint.css', '/both.css']);
	const pushes = await until('three pushes', () => {
		const all = collector.childrenOf(page).filter((x) => x.kind === 1);
		return all.length === 3 && all;
	});
	const of = (path) => pushes.find((x) => x.attributes['url.path'] === path);
	assert.deepEqual(pushes.map((x) => x.name).sort(), ['push forward', 'push hint+hold', 'push hold']);
	assert.deepEqual(of('/forward.css').events.map((e) => e.name), ['push.promise']);
	assert.equal(of('/forward.css').attributes['pushgate.push.source'], 'relayed');
	assert.deepEqual(of('/hold.css').events.map((e) => e.name), ['push.hold', 'hold.claim']);
	assert.equal(of('/hold.css').attributes['pushgate.push.end_reason'], 'claimed');
	assert.ok(of('/both.css').events.some((e) => e.name === 'push.hold'));
	const claim = await collector.request('/hold.css');
	assert.deepEqual(claim.events.map((e) => e.name), ['hold.claim']);
	assert.deepEqual(claim.links, [{ traceId: page.traceId, spanId: of('/hold.css').spanId }]);
	assert.equal(collector.childrenOf(claim).length, 0, 'no attempt: the origin was not asked');
	assert.ok(!collector.posts.some((p) => p.text.includes('geheim')));
	const line = await s.gate.access((l) => l.push && l.path === '/hold.css');
	assert.equal(`${line.trace} ${line.span}`, `${page.traceId} ${of('/hold.css').spanId}`);
	assert.equal((await s.gate.access((l) => l.push && l.path === '/drop.css')).trace, page.traceId);
});

// covers: R684
traced('a push that pushgate asks for itself has an attempt, whose span the origin gets', {
	origin: { push: 'refuse' }, extra: section('preload main', { add: '/own.css as=style' }),
}, async (s, collector) => {
	const client = await s.connect();
	client.request(1, { path: '/page' });
	const origin = await s.accept();
	const own = await origin.expectRequest('/own.css'), up = await origin.expectRequest('/page');
	origin.respond(own.stream, { body: 'own' });
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	const page = await collector.request('/page');
	const push = await collector.span('the push', (x) => x.kind === 1);
	const attempt = await collector.span('its attempt', (x) => x.kind === 3 && x.attributes['url.full'].endsWith('/own.css'));
	assert.equal(push.parentSpanId, page.spanId);
	assert.equal(attempt.parentSpanId, push.spanId);
	assert.deepEqual(traceparent(own.headers.traceparent), { version: '00', traceId: page.traceId, spanId: attempt.spanId, isSampled: true });
});

// covers: R684
traced('a page with more events than a span may have says how many are left out', { extra: section('push drop', { 'promised-path': '/drop*', action: 'drop' }) }, async (s, collector) => {
	const { client, origin, up } = await s.open({ path: '/page' });
	for (let n = 0; n < 90; n++)
		origin.push(up, 2 + 2 * n, `/drop-${'x'.repeat(200)}-${n}`);
	origin.respond(up.stream, { body: 'page' });
	await client.response(1);
	const page = await collector.request('/page');
	assert.ok(page.droppedEventsCount > 0);
	assert.equal(page.events.length + page.droppedEventsCount, 90);
});

/* ---- who decides ---- */

const TRUSTED = { listen: { trusted: '127.0.0.0/8' } };

// covers: R685
for (const [name, options] of [['of a trusted peer', TRUSTED], ['with tracing-parent = follow', { tracing: { 'tracing-parent': 'follow' } }]])
	traced(`the parent ${name} decides, whatever the ratio is`, { ...options, tracing: { 'tracing-ratio': '0%', ...options.tracing } }, async (s, collector) => {
		const { client, origin, up } = await s.open({ path: '/yes', request: { traceparent: PARENT, tracestate: STATE } });
		const sent = traceparent(up.headers.traceparent);
		assert.equal(`${sent.traceId} ${sent.isSampled}`, `${TRACE} true`);
		assert.notEqual(sent.spanId, SPAN);
		assert.equal(up.headers.tracestate, STATE);
		origin.respond(up.stream, { body: 'page' });
		await client.response(1);
		const span = await collector.request('/yes');
		assert.equal(`${span.traceId} ${span.parentSpanId}`, `${TRACE} ${SPAN}`);
		client.request(3, { path: '/no', traceparent: UNSAMPLED, tracestate: STATE });
		const no = await origin.expectRequest('/no');
		assert.equal(`${no.headers.traceparent} ${no.headers.tracestate}`, `${UNSAMPLED} ${STATE}`);
		origin.respond(no.stream, { body: 'page' });
		await client.response(3);
		assert.equal((await s.gate.access((l) => l.path === '/no')).trace, TRACE);
		/* And one without a parent is not chosen. */
		client.request(5, { path: '/none' });
		const none = await origin.expectRequest('/none');
		assert.equal(traceparent(none.headers.traceparent).isSampled, false);
		origin.respond(none.stream, { body: 'page' });
		await client.response(5);
		assert.equal(collector.spans.filter((x) => x.kind === 2).length, 1);
	});

// covers: R685
for (const [name, options] of [['of a client that nobody trusts', {}], ['with tracing-parent = ignore', { ...TRUSTED, tracing: { 'tracing-parent': 'ignore' } }]])
	traced(`the parent ${name} chooses nothing: the request begins a trace of its own`, options, async (s, collector) => {
		const { client, origin, up } = await s.open({ path: '/page', request: { traceparent: UNSAMPLED, tracestate: STATE } });
		const sent = traceparent(up.headers.traceparent);
		assert.notEqual(sent.traceId, TRACE);
		assert.equal(up.headers.tracestate, undefined);
		origin.respond(up.stream, { body: 'page' });
		await client.response(1);
		const span = await collector.request('/page');
		assert.equal(span.parentSpanId, undefined);
		assert.deepEqual(span.links, [{ traceId: TRACE, spanId: SPAN }]);
	});

// covers: R685
traced('with a ratio some requests are recorded, and the origin is told which', { tracing: { 'tracing-ratio': '50%' } }, async (s, collector) => {
	const client = await s.connect();
	client.request(1, { path: '/first' });
	const origin = await s.accept();
	origin.respond((await origin.expectRequest('/first')).stream, { body: 'x' });
	await client.response(1);
	let sampled = 0;
	for (let n = 0; n < 200; n++) {
		client.request(3 + 2 * n, { path: `/${n}` });
		const up = await origin.expectRequest(`/${n}`);
		sampled += traceparent(up.headers.traceparent).isSampled ? 1 : 0;
		origin.respond(up.stream, { body: 'x' });
		await client.response(3 + 2 * n);
	}
	assert.ok(sampled > 50 && sampled < 150, `${sampled} of 200`); /* seven standard deviations */
	await until('their spans', () => collector.spans.filter((x) => x.kind === 2 && x.attributes['url.path'] !== '/first').length === sampled);
});

// covers: R685
traced('a malformed traceparent, and two of them, are none', withHttp1Origin(TRUSTED), async (s) => {
	const client = await client1(s);
	const later = PARENT.replace('00-', 'cc-');
	const rows = [
		[[PARENT], true], [[`${later}`], true], [[`${later}-${'x'.repeat(600)}`], true],
		[[PARENT, PARENT], false], [[PARENT, 'x'], false], [[`${PARENT},${PARENT}`], false], [[''], false],
		[[PARENT.toUpperCase()], false], [[PARENT.replace('00-', 'ff-')], false], [[`${PARENT}-x`], false], [[`${PARENT}${'0'.repeat(600)}`], false],
		[[PARENT.replace(TRACE, '0'.repeat(32))], false], [[PARENT.replace(SPAN, '0'.repeat(16))], false], [[PARENT.slice(0, -1)], false],
	];
	for (const [n, [values, isFollowed]] of rows.entries()) {
		client.request('GET', `/${n}`, [['host', 'a.test'], ...values.map((v) => ['traceparent', v]), ['tracestate', STATE], ['tracestate', 'second=1']]);
		assert.equal((await client.response()).status, 200);
		const { fields } = await s.origin1.request(`/${n}`);
		const of = (name) => fields.filter(([key]) => key === name).map(([, value]) => value);
		const sent = of('traceparent');
		assert.equal(sent.length, 1, values.join());
		assert.equal(traceparent(sent[0]).traceId === TRACE, isFollowed, values.join());
		assert.notEqual(traceparent(sent[0]).spanId, SPAN);
		assert.equal(of('tracestate').join(), isFollowed ? `${STATE},second=1` : '', values.join());
	}
});

// covers: R685
traced('a rule of the route that sets both fields leaves one traceparent, ours', withHttp1Origin({
	routes: section('route main', { origin: 'main', 'request-set': [`traceparent: ${PARENT}`, `tracestate: ${STATE}`] }),
}), async (s, collector) => {
	const client = await client1(s);
	client.request('GET', '/one', [['host', 'a.test']]);
	assert.equal((await client.response()).status, 200);
	const { fields } = await s.origin1.request('/one');
	const sent = fields.filter(([name]) => name.toLowerCase() === 'traceparent');
	assert.equal(sent.length, 1);
	assert.equal(traceparent(sent[0][1]).traceId, (await collector.request('/one')).traceId);
	assert.ok(fields.every(([name]) => name.toLowerCase() !== 'tracestate'), 'it belongs to another trace');
});

// covers: R685
traced('a listener in forward mode takes no part', {
	listen: { mode: 'forward', access: 'all' }, origins: { main: { server: 'forward:' } },
	extra: section('access all', { allow: 'all' }), routes: section('route main', { origin: 'main' }),
}, async (s, collector) => {
	await nodeOrigin(s, FORWARD_PORT, (stream) => stream.end());
	const origin = await recordingOrigin();
	s.cleanups.push(() => origin.close());
	const client = await client1(s);
	client.request('GET', `http://127.0.0.1:${origin.port}/one`, [['host', `127.0.0.1:${origin.port}`], ['traceparent', PARENT]]);
	const answer = await client.response();
	if (answer.status === 200)
		assert.equal(fieldsOf(await origin.request('/one')).traceparent, PARENT);
	assert.equal(collector.spans.length, 0);
});

/* ---- the collector ---- */

const loaded = (more = {}) => ({ ...more, origins: { main: { server: `h2c://127.0.0.1:${ORIGIN_PORT}` } } });
const served = (s) => nodeOrigin(s, ORIGIN_PORT, (stream) => {
	stream.respond({ ':status': 200 });
	stream.end('served');
});
async function ask(client, n) {
	const answers = await Promise.all(Array.from({ length: n }, (_, i) => client.get({ ':path': `/${i}` })));
	assert.ok(answers.every((a) => a.status === 200 && a.body === 'served'));
}

// covers: R686
traced('a collector that answers 503 gets the same spans again; one that answers 400 does not', loaded(), async (s, collector) => {
	await served(s);
	const client = nodeClient(s);
	collector.answer = (r) => { r.writeHead(503, { 'retry-after': '1' }); r.end(); };
	await ask(client, 5);
	await s.gate.error(/\[tracer\] tracing: the collector 127\.0\.0\.1:\d+ answers \/v1\/traces with 503/);
	collector.answer = null;
	await until('all spans', () => collector.spans.length === 10);
	await s.gate.error(/\[tracer\] tracing: the collector takes spans again/);
	let counters = counted(s);
	assert.ok(counters.failed >= 1);
	assert.equal(`${counters.sent} ${counters.dropped}`, '10 0');
	collector.answer = (r) => { r.writeHead(400); r.end('no'); };
	const before = collector.posts.length;
	await ask(client, 3);
	await until('they are dropped', () => counted(s).dropped === 6);
	assert.ok(collector.posts.length > before);
	collector.answer = null;
	await ask(client, 1);
	await until('the next', () => collector.spans.length === 12);
	counters = counted(s);
	assert.equal(`${counters.sent} ${counters.dropped}`, '12 6');
});

// covers: R686
traced('a tracer that takes nothing costs spans, and no request', loaded(), async (s, collector) => {
	await served(s);
	const client = nodeClient(s);
	await ask(client, 1);
	await until('the first', () => collector.spans.length === 2);
	const tracer = Number(child(s, 'pushgate-tracer'));
	process.kill(tracer, 'SIGSTOP');
	let asked = 1;
	/* More than its socket has room for. */
	for (; counted(s).dropped === 0; asked += 50) {
		assert.ok(asked < 10000);
		await ask(client, 50);
	}
	process.kill(tracer, 'SIGCONT');
	await until('an account of all', () => {
		const c = counted(s);
		return c.sent + c.dropped === 2 * asked && c.sent === collector.spans.length;
	});
});

// covers: R686
traced('a collector that does not answer in time gets the same spans again', loaded(), async (s, collector) => {
	await served(s);
	collector.answer = () => {};
	await ask(nodeClient(s), 3);
	await until('a post', () => collector.posts.length === 1);
	collector.answer = null;
	await s.gate.error(/cannot be reached: it took longer than 10 s/);
	await until('all spans', () => collector.spans.length === 6);
	assert.equal(counted(s).failed, 1);
});

// covers: R686
traced('a collector that is down is tried again, and gets what has waited', { ...loaded(), tracing: { tracing: `127.0.0.1:${COLLECTOR_PORT}/otlp` } }, async (s) => {
	await served(s);
	await ask(nodeClient(s), 4);
	await s.gate.error(/\[tracer\] tracing: the collector 127\.0\.0\.1:\d+ cannot be reached: no connection to it/);
	const late = await new Collector().open(Number(s.gate.read('pushgate.ini').match(/tracing = 127\.0\.0\.1:(\d+)/)[1]));
	s.cleanups.push(() => late.close());
	await until('all spans', () => late.spans.length === 8);
	assert.equal(late.posts[0].target, '/otlp');
	assert.deepEqual(late.mistakes, []);
});

// covers: R686
traced('spans that wait for a collector which is down are lost with the reload that names another, and counted', { ...loaded(),
	tracing: { tracing: `127.0.0.1:${COLLECTOR_PORT}` } }, async (s, collector) => {
	await served(s);
	await ask(nodeClient(s), 4);
	await s.gate.error(/cannot be reached: no connection to it/);
	fs.writeFileSync(s.gate.config, s.gate.read('pushgate.ini').replace(/^tracing = .*$/m, `tracing = 127.0.0.1:${collector.port}`));
	process.kill(s.gate.pid, 'SIGHUP');
	await s.gate.error(/has taken over/);
	await ask(nodeClient(s), 1);
	await until('the next spans', () => collector.spans.length === 2);
	await until('an account of all', () => counted(s).dropped === 8 && counted(s).sent === 2);
});

// covers: R686
traced('the tracer looks up the name of a collector', { ...loaded(), tracing: { 'hosts-file': 'hosts' },
	prepare: (s) => fs.writeFileSync(`${s.dir}/hosts`, '127.0.0.1 collector.test\n'),
	server: { tracing: 'http://collector.test:1' } }, async (s) => {
	await served(s);
	await ask(nodeClient(s), 1);
	/* Nobody listens on port 1: the name was found. */
	await s.gate.error(/the collector collector\.test:1 cannot be reached: no connection to it/);
});

// covers: R686
traced('a name that leads nowhere is looked up again, and gets what has waited', { ...loaded(),
	prepare: async (s) => {
		s.dns = await startDns({});
		s.cleanups.push(() => s.dns.close());
		s.tracingOptions.resolver = `127.0.0.1:${s.dns.port}`;
	},
	tracing: { tracing: `http://late.test:${COLLECTOR_PORT}`, 'hosts-file': 'none', 'dns-negative-ttl': '1s' } }, async (s) => {
	const late = await new Collector().open(COLLECTOR_PORT);
	s.cleanups.push(() => late.close());
	await served(s);
	await ask(nodeClient(s), 2);
	await s.gate.error(/the collector late\.test:\d+ cannot be reached: .*(no such name|does not exist|not known)/);
	s.dns.names['late.test'] = { A: ['127.0.0.1'], ttl: 1 };
	await until('all spans', () => late.spans.length === 4);
	assert.deepEqual(counted(s), { sent: 4, dropped: 0, failed: counted(s).failed });
});

// covers: R686
traced('spans that wait are sent at the end', loaded(), async (s, collector) => {
	await served(s);
	const client = nodeClient(s);
	await ask(client, 1);
	await until('the first', () => collector.spans.length === 2);
	await ask(client, 20);
	client.session.destroy();
	process.kill(s.gate.pid, 'SIGTERM');
	await s.gate.ended();
	assert.equal(collector.spans.length, 42);
});

// covers: R686
traced('a tracer that is killed comes back, and costs the spans that it had', loaded(), async (s, collector) => {
	await served(s);
	const client = nodeClient(s);
	await ask(client, 1);
	await until('the first', () => collector.spans.length === 2);
	const first = child(s, 'pushgate-tracer');
	process.kill(Number(first), 'SIGKILL');
	await s.gate.error(/the tracer was killed by signal 9 .*it is started again/);
	await until('another one', () => child(s, 'pushgate-tracer') && child(s, 'pushgate-tracer') !== first);
	await until('spans again', async () => {
		await ask(client, 1);
		await sleep(20);
		return collector.spans.length > 2;
	});
});

// covers: R686
traced('a reload begins and ends tracing, and moves it to another collector', loaded(), async (s, collector) => {
	await served(s);
	const text = s.gate.read('pushgate.ini');
	const other = await new Collector().open();
	s.cleanups.push(() => other.close());
	const reload = async (changed) => {
		const before = s.gate.read('error.log').match(/has taken over/g)?.length ?? 0;
		fs.writeFileSync(s.gate.config, changed);
		process.kill(s.gate.pid, 'SIGHUP');
		await until('the reload', () => (s.gate.read('error.log').match(/has taken over/g)?.length ?? 0) > before);
	};
	await ask(nodeClient(s), 1);
	await until('spans', () => collector.spans.length === 2);
	await reload(text.replace(/^tracing = .*$/m, `tracing = 127.0.0.1:${other.port}`));
	await ask(nodeClient(s), 1);
	await until('spans there', () => other.spans.length === 2);
	await reload(text.replace(/^tracing.*\n/gm, ''));
	await ask(nodeClient(s), 1);
	await until('no tracer is left', () => !child(s, 'pushgate-tracer'));
	assert.equal(`${collector.spans.length} ${other.spans.length}`, '2 2');
	assert.equal(counted(s).sent, 4);
});
