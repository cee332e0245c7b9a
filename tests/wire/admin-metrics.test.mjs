/* SPDX-License-Identifier: MIT */
/*
 * /metrics of an admin listener: the samples of `pushgate status`, in either format, whichever worker answers; none goes back
 * over deaths, reloads and upgrades; and nothing that peers have sent is in it.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import path from 'node:path';
import { BINARY, freePort, scenario, section, sleep, until } from '../support/gate.mjs';
import { families as openmetrics } from '../support/openmetrics.mjs';
import { families as prometheus } from '../support/prometheus.mjs';
import { change, config, gate, get, haveEnded, KEPT, run, statusSocket, write } from '../support/reloads.mjs';

const TEXT = 'text/plain; version=0.0.4; charset=utf-8';
const OPENMETRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/* {status, type, text, headers}, or {error}; on a connection of its own. */
function scrape(port, accept, { method = 'GET', headers = {} } = {}) {
	return new Promise((resolve) => {
		const request = http.request({ port, host: '127.0.0.1', path: '/metrics', method, agent: false, headers: { ...headers, ...(accept && { accept }) } }, (response) => {
			let text = '';
			response.setEncoding('utf8').on('data', (part) => { text += part; })
				.on('end', () => resolve({ status: response.statusCode, type: response.headers['content-type'], headers: response.headers, text }))
				.on('error', (error) => resolve({ error: error.code }));
		});
		request.on('error', (error) => resolve({ error: error.code })).end();
	});
}

function scrape2(port, accept) {
	return new Promise((resolve, reject) => {
		const session = http2.connect(`http://127.0.0.1:${port}`);
		const stream = session.on('error', reject).request({ ':path': '/metrics', ...(accept && { accept }) });
		const got = { text: '' };
		stream.on('response', (fields) => { got.status = fields[':status']; got.type = fields['content-type']; got.headers = fields; }).on('error', reject)
			.setEncoding('utf8').on('data', (part) => { got.text += part; }).on('close', () => { session.close(); resolve(got); });
	});
}

const ADMIN = (port) => section('listen admin', { address: `127.0.0.1:${port}`, mode: 'admin' });
const RULES = section('push pictures', { 'promised-path': '*.png', action: 'drop' }) + section('push rest', { action: 'forward' });

/* Changed by the scrape itself, or by the clock. */
const OWN = /^pushgate_(connections|requests|scrapes|responses|memory|bytes|body_sent_bytes|uptime|process|request_|sessions|series|loop_passes)|admin-page|"listen":"admin"|^process_/;
const valuesOf = (text) => Object.fromEntries(prometheus(text).flatMap((f) => f.samples.map((x) => [`${x.name}${JSON.stringify(x.labels)}`, x.value])));
const still = (text) => Object.fromEntries(Object.entries(valuesOf(text)).filter(([name]) => !OWN.test(name)));

// covers: R238
for (const single of [false, true])
	scenario(`it says what the status says: ${single ? '--single' : 'a master and two workers'}`, {
		single, server: { workers: 2, 'status-socket': 'status', 'promise-rate': 5, 'reset-rate': 3 },
		prepare: async (s) => { s.admin = await freePort(); s.options.extra = RULES + ADMIN(s.admin); },
	}, async (s) => {
		const { client, origin, up } = await s.open();
		origin.push(up, 2, '/a.css').respond(2, { body: 'css' }).push(up, 4, '/b.png');
		await client.expectPromise('/a.css');
		await client.response(2);
		origin.respond(up, { body: 'page' });
		await client.response(1);
		client.close();
		await until('all is over', () => s.gate.counters()['pushgate_connections_open{side="client"}'] === 0);
		await until('each worker has said the same', async () => {
			const status = s.gate.status(), got = await scrape(s.admin);
			assert.equal(got.status, 200);
			assert.equal(got.type, TEXT);
			assert.deepEqual(Object.keys(still(got.text)), Object.keys(still(status)));
			return JSON.stringify(still(got.text)) === JSON.stringify(still(status));
		});
		for (let i = 0; i < 20; i++) {
			const got = await scrape(s.admin), status = s.gate.status();
			assert.deepEqual(still(got.text), still(status));
			/* The very same families in the same order, those of the clock and of the scrape too. */
			assert.deepEqual(prometheus(got.text).map((f) => [f.name, f.type, f.help]), prometheus(status).map((f) => [f.name, f.type, f.help]));
			assert.equal(still(got.text)['pushgate_pushes_offered_total{}'], 2);
			assert.equal(valuesOf(got.text)['pushgate_request_duration_seconds_count{"listen":"main","route":"main"}'], 1);
			assert.equal(valuesOf(got.text)['pushgate_request_duration_seconds_count{"listen":"admin","route":"(none)"}'], undefined);
		}
		/* What the processes use is looked at again while somebody asks. */
		const cpu = async () => valuesOf((await scrape(s.admin)).text)['process_cpu_seconds_total{"process":"worker 0"}'];
		const first = await cpu();
		assert.ok(first >= 0, `${first}`);
		await until('more processor time was used', async () => await cpu() > first);
		for (const text of [s.gate.status(), (await scrape(s.admin)).text])
			for (const name of ['process_resident_memory_bytes', 'process_open_fds', 'process_max_fds', 'process_start_time_seconds'])
				assert.ok(valuesOf(text)[`${name}{"process":"worker 0"}`] > 0, name);
	});

// covers: R238
scenario('it is OpenMetrics for those who name it', {
	single: false, server: { workers: 2 }, origins: { main: { server: 'demo:' } },
	prepare: async (s) => { s.admin = await freePort(); s.options.extra = RULES + ADMIN(s.admin); },
}, async (s) => {
	for (const [accept, type] of [
		[undefined, TEXT],
		['*/*', TEXT],
		['text/plain', TEXT],
		['text/html', TEXT],
		['application/*', TEXT],
		['application/openmetrics-text', OPENMETRICS],
		['Application/OpenMetrics-Text; version=1.0.0', OPENMETRICS],
		['application/openmetrics-text;q=0', TEXT],
		['application/openmetrics-text;q=0.4,text/plain;q=0.5', TEXT],
		['application/openmetrics-text;q=0.5,text/plain;q=0.5', OPENMETRICS],
		['application/openmetrics-text;q=0.5,*/*;q=0.6', TEXT],
		/* Prometheus 2.42, and 3. */
		['application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1', OPENMETRICS],
		['application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2', OPENMETRICS],
		['text/plain;version=0.0.4;q=0.6,*/*;q=0.1', TEXT],
	])
		for (const got of [await scrape(s.admin, accept), await scrape2(s.admin, accept)]) {
			assert.deepEqual([got.status, got.type], [200, type], accept);
			assert.equal(got.headers['cache-control'], 'no-store');
			assert.equal(got.headers['x-content-type-options'], 'nosniff');
			const all = type === TEXT ? prometheus(got.text) : openmetrics(got.text);
			assert.ok(all.length > 50, `${all.length} families`);
		}
	/* The same samples in both. */
	const text = prometheus((await scrape(s.admin)).text), open = openmetrics((await scrape(s.admin, 'application/openmetrics-text')).text);
	assert.deepEqual(open.map((f) => [f.type === 'counter' ? `${f.name}_total` : f.name, f.type]), text.map((f) => [f.name, f.type]));
	const head = await scrape(s.admin, undefined, { method: 'HEAD' });
	assert.deepEqual([head.status, head.type, head.text], [200, TEXT, '']);
	assert.equal((await scrape(s.admin, undefined, { method: 'POST' })).status, 405);
	for (const headers of [{ host: 'evil.test' }, { origin: 'http://evil.test' }, { 'sec-fetch-site': 'cross-site' }]) {
		const got = await scrape(s.admin, undefined, { headers });
		assert.equal(got.status, 403, JSON.stringify(headers));
		assert.doesNotMatch(got.text, /pushgate_/);
	}
	/* The other listener has no such page. */
	assert.notEqual((await get(s.port, '/metrics')).status, 200);
});

scenario('nothing that peers have sent is in it', {
	single: false, server: { workers: 2 }, origins: { main: { server: 'demo:' } },
	prepare: async (s) => { s.admin = await freePort(); s.options.extra = ADMIN(s.admin); },
}, async (s) => {
	const secret = 'Zx9secret';
	const ask = (headers, asked = '/') => new Promise((resolve) => {
		http.request({ port: s.port, host: '127.0.0.1', path: asked, headers, agent: false }, (r) => { r.resume().on('end', resolve); }).on('error', resolve).end();
	});
	await ask({ cookie: `a=${secret}`, authorization: `Bearer ${secret}`, 'user-agent': secret, referer: `http://${secret}/`, [secret]: '1' }, `/?q=${secret}`);
	await ask({ host: `${secret}.test` }, `/${secret}`);
	await ask({ host: `bad host ${secret}` });
	await scrape(s.admin, undefined, { headers: { host: `${secret}.test`, cookie: secret } });
	for (let i = 0; i < 10; i++)
		assert.doesNotMatch((await scrape(s.admin)).text, new RegExp(secret, 'i'));
});

/* ---- over time ---- */

/* Those of a process go with it. */
const countersOf = (text) => Object.fromEntries(openmetrics(text).filter((f) => f.type !== 'gauge' && !/process/.test(f.name))
	.flatMap((f) => f.samples.map((x) => [`${x.name}{${x.labels}}`, x.value])));

/* Scrapes without pause until it is told to stop; every sample of a counter is held against the scrape before. */
function watch(s, ports = () => s.admin) {
	const seen = { scrapes: 0, drained: 0, last: {}, text: '', stops: false };
	seen.over = (async () => {
		while (!seen.stops) {
			const got = await scrape(ports(), 'application/openmetrics-text');
			if (got.status === 503) {
				assert.match(got.text, /this worker drains/);
				assert.equal(got.headers['retry-after'], '1');
				seen.drained++;
			} else if (!got.error) {
				assert.equal(got.status, 200, got.text);
				const now = countersOf(got.text);
				for (const [name, value] of Object.entries(seen.last))
					assert.ok(now[name] >= value, `${name} was ${value}, and is ${now[name]}`);
				seen.last = now;
				seen.text = got.text;
				seen.scrapes++;
			}
			await sleep(2);
		}
	})();
	seen.stop = () => { seen.stops = true; return seen.over; };
	return seen;
}

// covers: R238
gate('no counter goes back over deaths and reloads, and none is lost', async (s) => {
	s.admin = await freePort();
	const parts = { more: RULES + ADMIN(s.admin) };
	await change(s, parts);
	await haveEnded(s, 1);
	const seen = watch(s);
	let sent = 0;
	for (const workers of [2, 3, 1, 2]) {
		for (let i = 0; i < 15; i++, sent++)
			assert.equal((await get(s.port)).status, 200);
		await change(s, { ...parts, workers, more: `${parts.more}# ${sent}\n` });
	}
	/* One that does not come up. */
	fs.writeFileSync(s.gate.config, `${config(s, parts)}[listen bad]\naddress = 127.0.0.1:${s.port}\n`);
	await run(s, 'reload', statusSocket(s));
	await until('it was refused', () => /all stays as it was|not used/.test(s.gate.read('error.log')));
	write(s, { ...parts, workers: 2 });
	await haveEnded(s, 5);
	/* A worker dies: its counters stay. */
	const before = s.gate.workers();
	process.kill(before[0], 'SIGKILL');
	await until('there is another worker', () => s.gate.workers().length === 2 && !s.gate.workers().includes(before[0]));
	for (let i = 0; i < 10; i++, sent++)
		assert.equal((await get(s.port)).status, 200);
	await until('the death is told', async () => /pushgate_process_starts_total\{process="worker 0"\} [2-9]/.test(seen.text));
	await sleep(50);
	await seen.stop();
	assert.ok(seen.scrapes > 50, `${seen.scrapes} scrapes`);
	/* All of them were counted: those of the pages are more. */
	const all = await scrape(s.admin), requests = valuesOf(all.text)['pushgate_requests_total{}'];
	assert.ok(requests >= sent + seen.scrapes, `${requests} requests of ${sent} and ${seen.scrapes}`);
	assert.match(all.text, /^pushgate_last_reload_timestamp_seconds \d/m);
	assert.match(all.text, /^pushgate_last_reload_successful 0$/m);
	/* No label grows with reloads. */
	for (const line of all.text.split('\n').filter((l) => !l.startsWith('#')))
		assert.doesNotMatch(line, /generation|choose another address/);
}, { server: { workers: 2, 'drain-timeout': '1s', 'status-socket': 'status' } });

gate('what other pages count goes on over reloads, too', async (s) => {
	s.admin = await freePort();
	const parts = { more: RULES + ADMIN(s.admin) };
	const overview = async () => JSON.parse((await get(s.admin, '/api/overview')).text);
	const rules = async () => JSON.parse((await get(s.admin, '/api/rules')).text).rules;
	await change(s, parts);
	await haveEnded(s, 1);
	for (let i = 0; i < 20; i++)
		assert.equal((await get(s.port)).status, 200);
	let last = (await overview()).requests;
	assert.ok(last >= 20, `${last} requests`);
	for (let i = 0; i < 3; i++) {
		await change(s, { ...parts, more: `${parts.more}# ${i}\n` });
		const { requests } = await overview(); /* this one is among them */
		assert.ok(requests > last, `there were ${last} requests, now ${requests}`);
		last = requests;
		assert.ok((await rules()).length > 0);
	}
	const now = await overview();
	assert.ok(now.responses['2xx'] >= 20, JSON.stringify(now.responses));
	/* Its histogram is that of all origins and servers. */
	const { bounds_us: bounds, counts } = now.origin_first_byte, family = prometheus((await scrape(s.admin)).text).find((f) => f.name === 'pushgate_origin_first_byte_seconds');
	let below = 0;
	for (const [i, n] of counts.entries()) {
		below += n;
		const same = family.samples.filter((x) => x.name.endsWith('_bucket') && Number(x.labels.le.replace('+Inf', 'Infinity')) === (bounds[i] ?? Infinity) / 1e6);
		assert.equal(same.reduce((sum, x) => sum + x.value, 0), below, `bucket ${i}`);
	}
	assert.ok(below >= 20 && counts.length === bounds.length + 1, JSON.stringify(counts));
});

gate('an output of the generation before ends, and its client finds the next one', async (s) => {
	s.admin = await freePort();
	await change(s, { more: ADMIN(s.admin) });
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
	s.cleanups.push(() => agent.destroy());
	const kept = () => new Promise((resolve) => {
		http.get({ port: s.admin, host: '127.0.0.1', path: '/metrics', agent }, (r) => { r.resume().on('end', () => resolve(r.statusCode)); }).on('error', (error) => resolve(error.code));
	});
	assert.equal(await kept(), 200);
	await change(s, { more: `${ADMIN(s.admin)}# changed\n` });
	/* The connection that was kept is closed, or its worker says that it drains; then all is well. */
	await until('the next one answers', async () => (await kept()) === 200);
	for (let i = 0; i < 5; i++)
		assert.equal((await scrape(s.admin)).status, 200);
});

gate('answers that have begun before a reload come whole, and streams of events end', async (s) => {
	s.admin = await freePort();
	await change(s, { more: RULES + ADMIN(s.admin) });
	/* A window of a thousand bytes, which stays shut until the reload is over. */
	const session = http2.connect(`http://127.0.0.1:${s.admin}`, { settings: { initialWindowSize: 1000 } });
	s.cleanups.push(() => session.destroy());
	session.on('error', () => {});
	const ask = (asked) => {
		const stream = session.request({ ':path': asked, accept: 'application/openmetrics-text' });
		const got = { text: '' };
		stream.on('error', (error) => { got.error = error.message; }).on('close', () => { got.isOver = true; });
		stream.on('response', (fields) => { got.status = fields[':status']; });
		got.read = () => stream.setEncoding('utf8').on('data', (part) => { got.text += part; });
		return got;
	};
	const answers = ['/metrics', '/api/config', '/api/overview'].map(ask), events = ask('/events');
	await until('all have begun', () => [...answers, events].every((a) => a.status === 200));
	await change(s, { more: `${RULES}${ADMIN(s.admin)}# changed\n` });
	events.read();
	await until('the stream of events has ended', () => events.isOver);
	assert.equal(events.error, undefined);
	for (const a of answers)
		a.read();
	await until('all are over', () => answers.every((a) => a.isOver));
	assert.deepEqual(answers.map((a) => a.error), [undefined, undefined, undefined]);
	assert.ok(openmetrics(answers[0].text).length > 50);
	assert.ok(JSON.parse(answers[1].text).sections.length > 3);
	assert.ok(JSON.parse(answers[2].text).requests >= 0);
	await haveEnded(s, 2);
}, { server: { workers: 2, 'status-socket': 'status', 'drain-timeout': '20s' } });

for (const single of [false, true])
	scenario(`what nobody takes ends with its worker: ${single ? '--single' : 'a master and two workers'}`, {
		single, server: { workers: 2, 'drain-timeout': '500ms' }, origins: { main: { server: 'demo:' } },
		prepare: async (s) => { s.admin = await freePort(); s.options.extra = ADMIN(s.admin); },
	}, async (s) => {
		const sessions = Array.from({ length: 4 }, () => http2.connect(`http://127.0.0.1:${s.admin}`, { settings: { initialWindowSize: 0 } }));
		let begun = 0, pages = ['/metrics', '/api/config', '/events', '/api/har', '/api/connections', '/'];
		for (const session of sessions) {
			session.on('error', () => {});
			s.cleanups.push(() => session.destroy());
			for (const asked of pages)
				session.request({ ':path': asked }).on('response', () => { begun++; }).on('error', () => {});
		}
		await until('all have begun', () => begun === sessions.length * pages.length);
		s.gate.child.kill('SIGTERM');
		await s.gate.ended();
	});

scenario('the counters go over to another program', {
	single: false, origins: { main: { server: 'demo:' } }, server: { workers: 2, 'status-socket': 'status', 'drain-timeout': '1s' },
	wrap: ['sh', '-c', 'shift; exec ./pg "$@"', 'sh'],
	prepare: async (s) => {
		fs.symlinkSync(BINARY, path.join(s.dir, 'pg'));
		s.admin = await freePort();
		s.options.extra = ADMIN(s.admin);
	},
}, async (s) => {
	const master = () => Number(s.gate.status().match(/^# pushgate \S+, process (\d+)/)?.[1]);
	const first = master();
	let second = 0;
	s.cleanups.push(() => { for (const pid of [second, first].filter(Boolean)) try { process.kill(pid, 'SIGKILL'); } catch { /* it has ended */ } });
	for (let i = 0; i < 10; i++)
		assert.equal((await get(s.port)).status, 200);
	const before = countersOf((await scrape(s.admin, 'application/openmetrics-text')).text);
	const result = await run(s, 'upgrade', statusSocket(s));
	assert.equal(result.status, 0, result.stderr);
	second = master();
	/* The old program tells them once more when this one has taken over. */
	let now = {};
	const lower = () => Object.entries(before).filter(([name, value]) => !(now[name] >= value));
	await until(() => `all counters are there: ${lower()}`, async () => {
		const got = await scrape(s.admin, 'application/openmetrics-text');
		now = got.status === 200 ? countersOf(got.text) : {};
		return lower().length === 0;
	});
	const seen = watch(s);
	await until('the old one has ended', () => !fs.existsSync(`/proc/${first}/exe`));
	await until('it was scraped often', () => seen.scrapes > 20);
	await seen.stop();
	assert.ok(seen.last['pushgate_requests_total{}'] >= 10 + seen.scrapes);
	process.kill(second, 'SIGTERM');
	await s.gate.ended();
	second = 0;
});
