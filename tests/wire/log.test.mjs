/* SPDX-License-Identifier: MIT */
/*
 * The access log of a real run: what each kind of line says, that the recipes of docs/LOG.md print what they
 * promise, and what log-fields and log-sample make of the lines.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http2 from 'node:http2';
import path from 'node:path';
import { test } from 'node:test';
import { BINARY, ROOT, certs, freePort, scenario, section, sleep, until } from '../support/gate.mjs';
import { nodeOrigin } from '../support/node.mjs';

const FRESH = { 'cache-control': 'max-age=60' };
const HERO_BYTES = 300000;
const SLOW_MS = 150;
const LINES = 23;

/* ---- a site, and three clients that visit it ---- */

/* What the origin pushes with its page. */
const PUSHED = {
	'/app.css': FRESH,
	'/hero.jpg': FRESH,
	'/late.js': FRESH,
	'/vary.css': { ...FRESH, vary: 'accept-language' },
	'/tracker.js': FRESH,
};

class Site {
	#wasRefused = false;
	#late = [];

	/* The rest of each /late.js. */
	release() {
		for (const stream of this.#late.splice(0))
			stream.end('end');
	}

	#push(page, asked) {
		page.pushStream({ ':path': asked, 'accept-language': 'de' }, (error, stream) => {
			if (error)
				return;
			stream.on('error', () => {});
			stream.respond({ ':status': 200, ...PUSHED[asked] });
			if (asked === '/late.js') {
				stream.write('beginning and ');
				this.#late.push(stream);
			} else {
				stream.end(asked === '/hero.jpg' ? Buffer.alloc(HERO_BYTES) : 'pushed');
			}
		});
	}

	serve(stream, headers) {
		const answer = (body, status = 200, fields = {}) => {
			if (!stream.destroyed) {
				stream.respond({ ':status': status, ...fields });
				stream.end(body);
			}
		};
		switch (headers[':path']) {
		case '/':
			for (const asked of stream.pushAllowed ? Object.keys(PUSHED) : [])
				this.#push(stream, asked);
			setTimeout(() => answer('<page>'), 20);
			break;
		case '/slow':
			setTimeout(() => answer('slow'), SLOW_MS);
			break;
		case '/fail':
			answer('broken', 503);
			break;
		case '/reset':
			stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
			break;
		case '/again':
			if (this.#wasRefused)
				answer('at last');
			else
				stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
			this.#wasRefused = true;
			break;
		default:
			stream.resume();
			stream.on('end', () => answer('thanks'));
		}
	}
}

/* get(path, fields, body) gives {status, body}; onPush may reset what is pushed. */
function visitor(s, url, { options = {}, onPush = () => {} } = {}) {
	const session = http2.connect(url, { ca: certs().ca, servername: 'a.test', ...options });
	session.on('error', () => {});
	s.cleanups.push(() => session.destroy());
	const pushed = [];
	const whole = (stream, event, seen = () => {}) => new Promise((resolve) => {
		const got = { body: '' };
		stream.on('error', () => {});
		stream.on(event, (headers) => { got.status = headers[':status']; seen(); });
		stream.setEncoding('latin1').on('data', (text) => { got.body += text; });
		stream.on('close', () => resolve(got));
	});
	session.on('stream', (stream, request) => {
		pushed.push(whole(stream, 'push'));
		onPush(stream, request[':path']);
	});
	return {
		session,
		pushes: () => Promise.all(pushed),
		get: (asked, { body, seen, ...fields } = {}) => {
			const stream = session.request({
				':method': body ? 'POST' : 'GET', ':scheme': url.split(':')[0], ':authority': 'a.test', ':path': asked, ...fields,
			}, { endStream: !body });
			if (body)
				stream.end(body);
			return whole(stream, 'response', seen);
		},
	};
}

/* An app takes pushes, and resets the large one; a browser takes none; a tool comes in cleartext. Returns the lines. */
async function visits(s, site, plainPort) {
	const app = visitor(s, `https://127.0.0.1:${s.port}`, {
		onPush: (stream, asked) => asked === '/hero.jpg' && stream.once('data', () => stream.close(http2.constants.NGHTTP2_CANCEL)),
	});
	assert.equal((await app.get('/', { 'user-agent': 'app/1.0' })).body, '<page>');
	site.release();
	await app.pushes();

	const browser = visitor(s, `https://127.0.0.1:${s.port}`, { options: { settings: { enablePush: false } } });
	const agent = { 'user-agent': 'Mozilla/5.0', referer: 'https://a.test/' };
	assert.equal((await browser.get('/', { 'user-agent': 'Mozilla/5.0' })).body, '<page>');
	assert.equal((await browser.get('/app.css', agent)).body, 'pushed');
	assert.equal((await browser.get('/vary.css', { ...agent, 'accept-language': 'fr' })).body, 'thanks');
	assert.equal((await browser.get('/late.js', { ...agent, seen: () => site.release() })).body, 'beginning and end');

	const tool = visitor(s, `http://127.0.0.1:${plainPort}`, { options: { settings: { enablePush: false } } });
	for (let i = 0; i < 3; i++)
		assert.equal((await tool.get('/slow')).body, 'slow');
	assert.equal((await tool.get('/fail')).status, 503);
	assert.equal((await tool.get('/reset')).status, 502);
	assert.equal((await tool.get('/again')).body, 'at last');
	assert.equal((await tool.get('/upload', { body: 'x'.repeat(5000) })).body, 'thanks');
	assert.equal((await tool.get('/', { ':authority': 'elsewhere.test' })).status, 421);
	for (const client of [app, browser, tool])
		client.session.close();
	/* Thirteen requests, and five pushes for each of two pages. What is held goes with its connection. */
	await until('all lines', () => s.gate.accessLines().length >= LINES);
	return s.gate.accessLines();
}

const RULES = section('push trackers', { 'promised-path': '/tracker.js', action: 'drop' })
	+ section('push browsers', { 'push-enabled': 'no', action: 'hold' });

/* A gate in front of the site, with a second listener in cleartext. */
async function shop(server = {}) {
	const [originPort, plainPort] = [await freePort(), await freePort()];
	const site = new Site();
	return {
		options: {
			tls: true,
			server: { 'status-socket': 'status', ...server },
			origins: { app: { server: `h2c://127.0.0.1:${originPort}` } },
			routes: section('route shop', { host: 'a.test', origin: 'app' }),
			extra: section('listen plain', { address: `127.0.0.1:${plainPort}` }) + RULES,
		},
		originPort,
		visit: async (s) => {
			await nodeOrigin(s, originPort, (stream, headers) => site.serve(stream, headers));
			return visits(s, site, plainPort);
		},
	};
}

function counter(s, name) {
	const status = execFileSync(BINARY, ['status', path.join(s.dir, 'status')], { encoding: 'utf8' });
	return Number(new RegExp(`^(?:pushgate_)?${name}(?:_total)? (\\d+)$`, 'm').exec(status)[1]);
}

/* All that is waited for stands before the first test: the runner may end before a later one is known. */
const everyLine = await shop();
const heldLine = await shop();
const fewFields = await shop({ 'log-fields': 'status path worker held' });
const lessFields = await shop({ 'log-fields': 'all -user_agent -referer -cipher' });
const recipeLog = await shop();
const samplePort = await freePort();

/* ---- lines ---- */

const of = (lines, asked, isPush = false) => lines.filter((l) => l.path === asked && Boolean(l.push) === isPush);

{
	const { options, originPort, visit } = everyLine;
	scenario('each kind of line says where it came from, where it went and how long it took', options, async (s) => {
		const lines = await visit(s);
		assert.equal(lines.length, LINES);
		const [page, held] = of(lines, '/');
		for (const l of lines) {
			assert.ok(l.connection > 0 && l.protocol === 'h2' && l.client === '127.0.0.1', JSON.stringify(l));
			assert.equal(l.tls, l.listen === 'main' ? 'TLSv1.3' : undefined);
			assert.match(l.cipher ?? '', l.listen === 'main' ? /^TLS_[A-Z0-9_]+$/ : /^$/);
		}
		assert.notEqual(page.connection, held.connection);
		assert.ok(lines.filter((l) => l.parent === page.id).every((l) => l.connection === page.connection));

		assert.equal(page.origin_address, `127.0.0.1:${originPort}`);
		assert.ok(page.origin_connection > 0 && page.origin_protocol === 'h2');
		assert.ok(page.connect_us > 0 && page.connect_us <= page.queue_us, 'the first request waits for its connection');
		assert.ok(page.origin_first_byte_us > 0 && page.origin_first_byte_us <= page.origin_duration_us);
		assert.ok(page.queue_us + page.origin_duration_us <= page.duration_us);
		assert.equal(page.origin_response_bytes, page.response_bytes);
		assert.equal(held.queue_us, undefined, 'the connection was there');
		assert.equal(held.origin_connection, page.origin_connection);

		const hero = of(lines, '/hero.jpg', true)[0];
		assert.equal(hero.outcome, 'client-reset');
		assert.ok(hero.origin_response_bytes >= hero.response_bytes && hero.response_bytes > 0);

		const [slow] = of(lines, '/slow');
		assert.ok(slow.origin_first_byte_us >= 1000 * (SLOW_MS - 5) && slow.first_byte_us >= slow.origin_first_byte_us);
		const [upload] = of(lines, '/upload');
		assert.equal(upload.request_bytes, 5000);
		assert.equal(upload.origin_request_bytes, 5000);
		const [again] = of(lines, '/again');
		assert.equal(again.retried, true);
		assert.equal(again.status, 200);
		const refused = lines.find((l) => l.authority === 'elsewhere.test');
		for (const field of ['origin', 'origin_address', 'origin_connection', 'origin_duration_us', 'queue_us'])
			assert.equal(refused[field], undefined, field);
		const dropped = of(lines, '/tracker.js', true)[0];
		assert.equal(dropped.verdict, 'drop');
		assert.equal(dropped.origin_connection, undefined, 'it became no push');
	});
}

{
	const { options, visit } = heldLine;
	scenario('a request that a held response answered names the push, and whether it was complete', options, async (s) => {
		const lines = await visit(s);
		const push = (asked) => of(lines, asked, true).find((l) => l.verdict === 'hold');
		const [whole] = of(lines, '/app.css'), [joined] = of(lines, '/late.js'), [missed] = of(lines, '/vary.css');
		assert.equal(whole.held, push('/app.css').id);
		assert.equal(whole.joined, undefined);
		assert.equal(joined.held, push('/late.js').id);
		assert.equal(joined.joined, true);
		for (const l of [whole, joined]) {
			assert.equal(l.outcome, 'complete');
			assert.equal(l.origin_connection, undefined, 'no origin was asked');
			assert.equal(l.origin_response_bytes, undefined);
		}
		assert.equal(missed.held, undefined);
		assert.equal(missed.missed, 'vary accept-language');
		assert.ok(missed.origin_connection > 0);
	});
}

/* ---- waits ---- */

const NARROW = { origins: { main: { settings: { maxConcurrentStreams: 1 } } } };
const line = (s, asked) => s.gate.access((l) => l.path === asked);

scenario('the wait for a stream is no wait for a connection', { ...NARROW, origin: { 'max-connections': 1 } }, async (s) => {
	const { client, origin, up } = await s.open({ path: '/first' });
	origin.respond(up.stream, { body: '1' });
	await client.response(1);
	client.request(3, { path: '/second' });
	const second = await origin.expectRequest('/second');
	client.request(5, { path: '/third' });
	await s.settle(client, origin);
	await sleep(50);
	origin.respond(second.stream, { body: '2' });
	const third = await origin.expectRequest('/third');
	origin.respond(third.stream, { body: '3' });
	await client.response(5);

	const first = await line(s, '/first');
	assert.ok(first.queue_us > 0 && first.connect_us > 0 && first.connect_us <= first.queue_us);
	assert.equal((await line(s, '/second')).queue_us, undefined);
	const waited = await line(s, '/third');
	assert.ok(waited.queue_us >= 50000, `${waited.queue_us}`);
	assert.equal(waited.connect_us, undefined);
	assert.equal(waited.origin_connection, first.origin_connection);
	assert.ok(waited.first_byte_us >= waited.queue_us + waited.origin_first_byte_us);
});

scenario('a request that no stream came for says how long it waited', {
	...NARROW, origin: { 'max-connections': 1, 'queue-timeout': '300ms' },
}, async (s) => {
	const { client, origin, up } = await s.open({ path: '/first' });
	client.request(3, { path: '/second' });
	assert.equal((await client.response(3)).headers[':status'], '504');
	origin.respond(up.stream, { body: '1' });
	await client.response(1);
	const late = await line(s, '/second');
	assert.equal(late.detail, 'queue-late');
	assert.ok(late.queue_us >= 300000, `${late.queue_us}`);
	for (const field of ['origin_connection', 'origin_first_byte_us', 'connect_us'])
		assert.equal(late[field], undefined, field);
});

/* ---- ends ---- */

scenario('a code is one that was sent: a time limit has none, a reset with NO_ERROR has', {
	origin: { 'response-timeout': '1s' },
}, async (s) => {
	const { client, origin } = await s.open({ path: '/late' });
	await client.response(1);
	const late = await line(s, '/late');
	assert.deepEqual([late.detail, late.code, late.code_name], ['response-late', undefined, undefined]);

	client.request(3, { path: '/reset' });
	origin.rst((await origin.expectRequest('/reset')).stream, 'INTERNAL_ERROR');
	assert.equal((await client.response(3)).headers[':status'], '502');
	const reset = await line(s, '/reset');
	assert.deepEqual([reset.code, reset.code_name], [2, 'INTERNAL_ERROR']);

	client.request(5, { path: '/left' });
	await origin.expectRequest('/left');
	client.rst(5, 'NO_ERROR');
	const left = await line(s, '/left');
	assert.deepEqual([left.outcome, left.code, left.code_name], ['client-reset', 0, 'NO_ERROR']);
});

scenario('a request that is malformed is refused, and no failure of the origin', {}, async (s) => {
	const client = await s.connect();
	client.headers(1, { ':method': 'POST', ':scheme': 'http', ':authority': 'a.test', ':path': '/short', 'content-length': 10 });
	const origin = await s.accept();
	await origin.expectRequest('/short');
	client.data(1, 'abc', { endStream: true });
	await client.expectReset(1, 'PROTOCOL_ERROR');
	const short = await line(s, '/short');
	assert.deepEqual([short.outcome, short.status, short.code_name], ['refused', 0, 'PROTOCOL_ERROR']);
});

scenario('a response that content-length says is whole has an end, if NO_ERROR ended it', {}, async (s) => {
	const { client, origin, up } = await s.open({ path: '/whole' });
	origin.headers(up.stream, { ':status': 200, 'content-length': 3 }).data(up.stream, 'abc').rst(up.stream, 'NO_ERROR');
	assert.equal((await client.response(1)).body.toString(), 'abc');
	const whole = await line(s, '/whole');
	assert.equal(whole.outcome, 'complete');
	assert.ok(whole.origin_duration_us >= whole.origin_first_byte_us);
});

/* ---- log-fields ---- */

{
	const { options, visit } = fewFields;
	scenario('log-fields names what a line has; the order is that of the table', options, async (s) => {
		const lines = await visit(s);
		for (const line of s.gate.read('access.log').split('\n').filter(Boolean))
			assert.match(line, /^\{"worker":0,"path":"[^"]*","status":\d+(,"held":\d+)?\}$/);
		assert.equal(lines.length, LINES);
		assert.equal(lines.filter((l) => l.held).length, 2);
	});
}
{
	const { options, visit } = lessFields;
	scenario('log-fields leaves out what has a minus', options, async (s) => {
		const lines = await visit(s);
		assert.ok(lines.every((l) => !('user_agent' in l) && !('referer' in l) && !('cipher' in l) && 'time' in l));
		assert.ok(lines.some((l) => l.tls));
	});
}

/* ---- log-sample ---- */

const PAGES = 300;

scenario('log-sample keeps a page and its pushes together, and every failure; the rest is counted', {
	server: { 'status-socket': 'status', 'log-sample': '1/4', 'diary-entries': 0, 'reset-rate': 1000000, 'promise-refusals': 1000000 },
	origins: { main: { server: `h2c://127.0.0.1:${samplePort}` } },
	extra: section('push trackers', { 'promised-path': '/tracker.js', action: 'drop' }),
}, async (s) => {
	await nodeOrigin(s, samplePort, (stream, headers) => {
		const isFailure = headers[':path'].startsWith('/fail');
		for (const asked of ['/app.css', '/tracker.js'])
			if (!isFailure)
				stream.pushStream({ ':path': asked }, (error, push) => {
					push?.on('error', () => {});
					push?.respond({ ':status': 200 });
					push?.end('css');
				});
		stream.respond({ ':status': isFailure ? 503 : 200 });
		stream.end('page');
	});
	const client = visitor(s, `http://127.0.0.1:${s.port}`);
	for (let i = 0; i < PAGES; i += 10) {
		await Promise.all(Array.from({ length: 10 }, (_, j) => client.get(`/page${i + j}`, { ':authority': 'main.test' })));
		await client.get(`/fail${i}`, { ':authority': 'main.test' });
	}
	await client.pushes();
	client.session.close();
	const exchanges = 3 * PAGES + PAGES / 10;
	await until('all are written or counted', () => s.gate.accessLines().length + counter(s, 'pushgate_log_lines_left_out_total{log="access"}') === exchanges);
	const lines = s.gate.accessLines();
	const pages = lines.filter((l) => !l.push && l.path.startsWith('/page'));
	const failures = lines.filter((l) => l.path.startsWith('/fail'));
	assert.equal(failures.length, PAGES / 10);
	assert.ok(failures.every((l) => l.sample === undefined));
	assert.ok(lines.every((l) => l.status >= 500 || l.sample === 4));
	assert.ok(pages.length > PAGES / 8 && pages.length < PAGES / 2, `${pages.length} of ${PAGES} pages`);
	const written = new Set(pages.map((l) => l.id));
	assert.ok(lines.filter((l) => l.push).every((l) => written.has(l.parent)), 'no push stands alone');
	for (const l of pages)
		assert.equal(lines.filter((p) => p.parent === l.id).length, 2, 'no push of it is left out');
});

/* ---- docs/LOG.md ---- */

/* The blocks of commands, by the heading above them. */
function recipes() {
	const found = new Map();
	let title;
	const text = fs.readFileSync(path.join(ROOT, 'docs/LOG.md'), 'utf8');
	for (const [, heading, block] of text.matchAll(/^### (.*)$|^```sh\n([^]*?)^```$/gm)) {
		if (heading)
			title = heading;
		else
			found.set(title, block);
	}
	return found;
}

const rows = (text) => text.split('\n').filter(Boolean).map((row) => row.split('\t'));

/* What each recipe prints about the visits above. */
const PRINTS = {
	'Which paths does the origin take longest for?': (out) => {
		const all = rows(out), slow = all.find((row) => row[2] === '/slow');
		/* On a busy machine another path may take longer. */
		assert.deepEqual(all, [...all].sort((a, b) => b[0] - a[0]));
		assert.equal(slow[1], '3');
		assert.ok(Number(slow[0]) >= SLOW_MS - 5, slow[0]);
	},
	'How long do 95 of 100 clients wait for the first byte?': (out) => {
		const [[route, ms]] = rows(out);
		assert.equal(route, 'shop');
		assert.ok(Number(ms) >= SLOW_MS - 5);
	},
	'Which statuses does each route give?': (out) => {
		assert.deepEqual(rows(out), [['-', '421', '1'], ['shop', '200', '10'], ['shop', '502', '1'], ['shop', '503', '1']]);
	},
	'Who is refused, and why?': (out) => assert.deepEqual(rows(out), [['1', '127.0.0.1', '421', 'no route for this host']]),
	'What fails at the origin?': (out) => {
		assert.deepEqual(rows(out).map(([count, origin, , path]) => [count, origin, path]).sort(), [['1', 'app', '/fail'], ['1', 'app', '/reset']]);
	},
	'What is tried again?': (out) => {
		const [[origin, retried, all, share]] = rows(out);
		assert.deepEqual([origin, retried, all], ['app', '1', '10']);
		assert.equal(share, '10%');
	},
	'Do requests wait for a connection to the origin?': (out) => {
		const [[origin, waited, longest, connecting]] = rows(out);
		assert.equal(origin, 'app');
		assert.ok(Number(waited) >= 1 && Number(longest) > 0 && Number(connecting) > 0);
	},
	'How many pushes of each rule are used?': (out) => {
		assert.deepEqual(rows(out), [['browsers', '2', '4'], ['default-action', '3', '4']]);
	},
	'What do pushes waste?': (out) => {
		const wasted = Object.fromEntries(rows(out));
		assert.equal(Number(wasted.browsers), HERO_BYTES + 'pushed'.length);
		assert.ok(Number(wasted['default-action']) > 0);
	},
	'Which requests do held responses answer, and why not others?': (out) => {
		assert.deepEqual(rows(out).sort(), [['1', 'complete'], ['1', 'joined'], ['1', 'missed: vary accept-language']]);
	},
	'Which offers are dropped, and why?': (out) => assert.deepEqual(rows(out), [['2', 'relayed', 'rule', 'trackers']]),
	'Which versions of TLS do clients speak?': (out) => {
		assert.deepEqual(rows(out).map(([count, version]) => [count, version]), [['1', 'cleartext'], ['2', 'TLSv1.3']]);
	},
	'Which clients take the most bytes?': (out) => {
		const [[bytes, address]] = rows(out);
		assert.equal(address, '127.0.0.1');
		assert.ok(Number(bytes) > 16384);
	},
	'What came with one page?': (out) => {
		const shown = rows(out);
		assert.equal(shown.length, 6);
		assert.equal(shown.filter((row) => row[1] === 'push').length, 5);
		assert.ok(shown.some((row) => row.includes('/tracker.js')));
	},
};

test('the examples of docs/LOG.md are lines of JSON, and have fields of the table alone', () => {
	const text = fs.readFileSync(path.join(ROOT, 'docs/LOG.md'), 'utf8');
	const fields = new Set([...text.matchAll(/^\| `([a-z_]+)` \| (?:text|number|flag) \|/gm)].map(([, name]) => name));
	const examples = [...text.matchAll(/^```json\n([^]*?)^```$/gm)].map(([, line]) => JSON.parse(line));
	assert.equal(examples.length, 6);
	for (const line of examples)
		for (const name of Object.keys(line))
			assert.ok(fields.has(name), name);
});

{
	const { options, visit } = recipeLog;
	scenario('each recipe of docs/LOG.md prints what it promises', options, async (s) => {
		await visit(s);
		const found = recipes();
		assert.deepEqual([...found.keys()].sort(), Object.keys(PRINTS).sort());
		for (const [title, block] of found) {
			const out = execFileSync('sh', ['-euc', block], { cwd: s.dir, encoding: 'utf8' });
			try {
				PRINTS[title](out);
			} catch (error) {
				error.message = `${title}\n${out}\n${error.message}`;
				throw error;
			}
		}
		if (process.env.SHOW_LOG)
			process.stdout.write(s.gate.read('access.log').replace(/^/gm, '# '));
	});
}
