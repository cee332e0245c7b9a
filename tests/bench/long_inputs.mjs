#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// Processor time of a worker for one request, by pattern and list option, with the longest input that the default
// limits permit, beside that of a short input. And the longest pass of the worker's loop, in processor time too, while an
// honest client asks for short things: beside one such request at a time, and beside as many of them as one connection may
// have in one write. One client may not keep a worker from the others for longer than 5 ms.
//
//   tests/bench/long_inputs.mjs [--only TEXT] [--most MS]
//
// PUSHGATE names the binary (build/pushgate by default). --most: exits with 1 if a request or a pass takes longer.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Raw } from '../attack/raw.mjs';
import { FLAG, frame } from '../support/frames.mjs';
import { BINARY, freePort, sleep } from '../support/gate.mjs';
import { integer, string } from '../support/hpack.mjs';

const { values: options } = parseArgs({ options: { only: { type: 'string', default: '' }, most: { type: 'string' } } });
const ROUNDS = 11;
const ROUNDS_OF_MANY = 5;
const STREAMS = 100; // max-concurrent-streams
const root = join(import.meta.dirname, '../..');
const SHIM = join(root, 'build/release/tests/bench/pass_times.so');
const LONG = 59000;
const dir = mkdtempSync(join(tmpdir(), 'pushgate-long-'));

const fill = (text, length = LONG) => text.repeat(Math.ceil(length / text.length)).slice(0, length);
const rows = (count, make) => Array.from({ length: count }, (_, i) => make(i)).join('\n');
const last = '[push z]\naction = hint\nhint-clients = all\n';
const rule = (condition, more = 'action = drop') => `[push r]\n${condition}\n${more}\n${last}`;
const rules = (count, condition) => rows(count, (i) => `[push r${i}]\n${condition(i)}\naction = drop`) + `\n${last}`;
const route = (more = '') => `[route all]\norigin = o\n${more}\n`;
const LINKS = Array.from({ length: 100 }, (_, i) => `</static/${i}/app.css>; rel=preload; as=style`).join(', ');
const page = (conf) => `[preload p]\nlink = yes\n${route()}\n${conf}`;
const guarded = (lines) => `[access a]\n${lines}\n${route()}`;
const labels = fill('a.', 244) + 'example';
const nested = '~^/(a+)+(b|c)';

// name, configuration, what of a request is long: { path, fields, host, links (of the response), listen }
const cases = [
	['nothing: a route and a page without links', route(), { fields: { 'user-agent': fill('Googlebot ') } }],
	['100 links, no condition', page(last), { links: LINKS }],
	['100 links, user-agent = *Googlebot/*', page(rule('user-agent = *Googlebot/*')), { links: LINKS, fields: { 'user-agent': fill('Googlebot ') } }],
	['100 links, four such rules', page(rules(4, (i) => `user-agent = *Googlebot/${i}*`)), { links: LINKS, fields: { 'user-agent': fill('Googlebot ') } }],
	['100 links, user-agent = *a?a?a?b*', page(rule('user-agent = *a?a?a?a?a?a?a?a?b*')), { links: LINKS, fields: { 'user-agent': fill('a') } }],
	['100 links, user-agent by an expression', page(rule('user-agent = ~(bot|crawl)+er/[0-9]')), { links: LINKS, fields: { 'user-agent': fill('crawlbot') } }],
	['100 links, user-agent by a costly expression', page(rule('user-agent = ~(a+)+b')), { links: LINKS, fields: { 'user-agent': fill('a') } }],
	['100 links, path = *aab*', page(rule('path = *aaaaaaaaab*')), { links: LINKS, path: '/' + fill('a') }],
	['100 links, path by an expression', page(rule(`path = ${nested}`)), { links: LINKS, path: '/' + fill('a') }],
	['100 links, 200 rules with host = *.x', page(rules(200, (i) => `host = *.a.a.x${i}.example`)), { links: LINKS, host: labels }],
	['100 links, promised-path by an expression', page(rule(`promised-path = ${nested}`)),
		{ links: Array.from({ length: 100 }, (_, i) => `</${fill('a', 500)}${i}>; rel=preload; as=style`).join(', ') }],
	['100 links, Cache-Control of the request', page(rule('type = script')), { links: LINKS, fields: { 'cache-control': fill('max-age=0, x, ') } }],
	['100 links, the path', page(rule('type = script')), { links: LINKS, path: '/' + fill('a') }],
	['20 [preload] by user-agent', rows(20, (i) => `[preload p${i}]\nuser-agent = *Googlebot/${i}*\nadd = /a.css`) + '\n' + route(),
		{ fields: { 'user-agent': fill('Googlebot ') } }],
	['998 access rules by path = /x/*', guarded(rows(998, (i) => `deny = path=/part${i}/*`) + '\nallow = all'), { path: '/' + fill('part/') }],
	['998 access rules by path = *aab*', guarded(rows(998, (i) => `deny = path=*aaaa${i}aab*`) + '\nallow = all'), { path: '/' + fill('a') }],
	['998 access rules by path = *a?b*', guarded(rows(998, (i) => `deny = path=*a?a?a${i}b*`) + '\nallow = all'), { path: '/' + fill('a') }],
	['99,800 hosts in 998 access rules', guarded(rows(998, (i) => `deny = host=${Array.from({ length: 100 }, (_, j) => `*.a.a.h${i}-${j}.example`).join(',')}`) + '\nallow = all'),
		{ host: labels }],
	['20 routes by field=X-T=*aab*', rows(20, (i) => `[route r${i}]\nfield = X-T: *aaaa${i}aab*\norigin = o`) + '\n' + route(), { fields: { 'x-t': fill('a') } }],
	['200 routes by field=X-T=*aab*', rows(200, (i) => `[route r${i}]\nfield = X-T: *aaaa${i}aab*\norigin = o`) + '\n' + route(), { fields: { 'x-t': fill('a') } }],
	['a route by an expression, 900 fields of its name', `[route r]\nfield = X-T: ${nested}\norigin = o\n` + route(),
		{ lines: Array.from({ length: 900 }, () => `x-t: /${fill('a', 30)}`) }],
	['limit-requests by=field', route('limit-requests = 1000000/s by=field:X-T'), { fields: { 'x-t': fill('a') } }],
	['affinity-cookie', route(), { origin: 'affinity-cookie = pg\n', fields: { cookie: fill('pg=x; a=b; ') } }],
	['diary-cookie', route(), { server: `diary-cookie = pgd\ndiary-cookie-key = ${join(dir, 'key')}\n`, fields: { cookie: fill('pgd=AAAAAAAA; a=b; ') } }],
	['request-remove × 100', route(rows(100, (i) => `request-remove = X-${i}`)), { lines: Array.from({ length: 900 }, (_, i) => `x-t${i}: ${i}`) }],
	['request-set × 400', route(rows(400, (i) => `request-set = X-T${i}: a`)), { lines: Array.from({ length: 900 }, (_, i) => `x-t${i}: ${i}`) }],
	['16 lines limit-requests by=field', route(rows(16, (i) => `limit-requests = ${1000000 - i}/s by=field:X-T`)), { fields: { 'x-t': fill('a') } }],
	['hash = cookie', route(), { origin: 'hash = cookie pg\n', fields: { cookie: fill('pg=x; a=b; ') } }],
	['100 resources by add, the path and User-Agent', rows(1, () => `[preload p]\n${rows(100, (i) => `add = /a${i}.css`)}\n`) + rule('user-agent = *Googlebot/9*') + route(),
		{ path: '/' + fill('a', 29000), fields: { 'user-agent': fill('Googlebot-', 29000) } }],
	['forwarded = append, X-Forwarded-For', route('forwarded = append'), { fields: { 'x-forwarded-for': fill('192.0.2.1, ') } }],
	['forwarded = append, Forwarded', route('forwarded = append'), { fields: { forwarded: fill('for=192.0.2.1, ') } }],
	['Via', route(), { fields: { via: fill('1.1 a, ') } }],
	['Connection', route(), { fields: { connection: fill('x-a, x-b, ') } }],
	['Upgrade', route('upgrade = websocket foo bar'), { fields: { connection: 'upgrade', upgrade: fill('a/1, b/2, ') } }],
	['Accept-Language beside a Vary of the page', page(rule('type = style', 'action = hold')),
		{ links: LINKS, fields: { 'accept-language': fill('en, de;q=0.5, ') }, response: { vary: fill('Accept-Language, X-A, ', 15000) } }],
	['rewrite, the path', route('path = /a\nrewrite = /a /b'), { path: '/a/' + fill('a/') }],
	['the Link field of a page', page(rule('type = style')), { links: fill('</a.css>; rel=preload; as=style; x="a,b;c", ') }],
	['the Link field of a page, other relations', page(rule('type = style')), { links: fill('<a>; rel="a b c d e f", ') }],
];

// ---- the origin: answers at once, with fields of the case ----

const answers = new Map();
function startOrigin() {
	return new Promise((resolve) => {
		const server = net.createServer((socket) => {
			let text = '';
			socket.on('error', () => {});
			socket.on('data', (bytes) => {
				text += bytes.toString('latin1');
				for (let end; (end = text.indexOf('\r\n\r\n')) >= 0; text = text.slice(end + 4)) {
					const isCss = /^GET \S*(css|\d)\S* /.test(text.slice(0, 100));
					socket.write(isCss ? 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nCache-Control: max-age=60\r\n\r\n' : answers.get('page'));
				}
			});
		});
		server.listen(0, '127.0.0.1', () => resolve(server));
	});
}

// ---- the client: one connection, one request after another ----

function ask(port, text) {
	return new Promise((resolve, reject) => {
		const socket = net.connect(port, '127.0.0.1');
		let head = '';
		socket.setNoDelay(true);
		socket.on('error', reject);
		socket.on('data', (bytes) => {
			head += bytes.toString('latin1');
			if (/^HTTP\/1.1 [2-5].*\r\n[^]*\r\n\r\n/m.test(head.replace(/^(HTTP\/1.1 1[^]*?\r\n\r\n)+/, ''))) {
				socket.destroy();
				resolve(Number(head.replace(/^(HTTP\/1.1 1[^]*?\r\n\r\n)+/, '').slice(9, 12)));
			}
		});
		socket.write(text, 'latin1');
	});
}

const nsOf = (pid) => Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[0]);
const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

function requestText(c, isLong) {
	const fields = Object.entries(c.fields ?? {}).map(([k, v]) => `${k}: ${isLong || k === 'connection' && v === 'upgrade' ? v : v.slice(0, 20)}`);
	const lines = isLong ? c.lines ?? [] : (c.lines ?? []).slice(0, 1);
	const path = c.path ? isLong ? c.path : c.path.slice(0, 4) : '/page';
	return [`GET ${path} HTTP/1.1`, `Host: ${isLong && c.host || 'www.example'}`, ...fields, ...lines, '', ''].join('\r\n');
}

// ---- the longest loop pass (preload/pass_times.c) ----

const timesFile = join(dir, 'times');
const forgetTimes = () => writeFileSync(timesFile, Buffer.alloc(16), { flag: 'r+' });
const longestPass = () => Number(readFileSync(timesFile).readBigUInt64LE(0)) / 1e6;

/* While `work` goes on, an honest client asks for short things all the time. */
async function passBeside(port, work) {
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
	let goesOn = true;
	const get = () => new Promise((resolve) => {
		const request = http.get({ port, agent, path: '/1', headers: { host: 'honest.example' } }, (response) => response.resume().on('close', resolve));
		request.on('error', resolve);
	});
	const honest = (async () => {
		for (; goesOn; await sleep(1))
			await get();
	})();
	await sleep(30);
	forgetTimes();
	await work();
	const longest = longestPass();
	goesOn = false;
	await honest;
	agent.destroy();
	return longest;
}

// ---- many requests in one write ----

const TABLE = 4000; // of the 4,096 bytes of the dynamic table (RFC 7541 4.1)
const EXPANDED = 38000; // bytes of fields of each request: with more, limit-expansion would end the connection

/* The first request puts the fields into the dynamic table; the others name them, as often as a request may have them. */
function manyRequests(c) {
	const lines = [...new Set(c.lines ?? [])].slice(0, 80).map((line) => line.split(': '));
	const list = [[':authority', c.host ?? 'www.example'], [':path', c.path ?? '/page'], ...Object.entries(c.fields ?? {}), ...lines];
	const isLong = ([, value]) => value.length > 1000;
	const rest = list.filter((f) => !isLong(f)).reduce((sum, [name, value]) => sum + 32 + name.length + value.length, 0);
	const share = Math.floor((TABLE - rest) / Math.max(1, list.filter(isLong).length));
	const entries = list.map(([name, value]) => [name, value.slice(0, share - 32 - name.length).trimEnd()]);
	const index = entries.map((_, i) => integer(62 + entries.length - 1 - i, 7, 0x80));
	const pseudo = Buffer.from([0x82, 0x86]); // GET, http
	const first = entries.map(([name, value]) => Buffer.concat([Buffer.from([0x40]), string(name), string(value)]));
	const regular = entries.slice(2);
	const bytes = regular.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
	const times = regular.length ? Math.max(1, Math.min(Math.floor(EXPANDED / bytes), Math.floor(900 / regular.length))) : 0;
	const others = [...index.slice(0, 2), ...Array.from({ length: times }, () => index.slice(2)).flat()];
	return Buffer.concat(Array.from({ length: STREAMS }, (_, i) => frame('HEADERS', FLAG.END_HEADERS | FLAG.END_STREAM, 2 * i + 1,
		Buffer.concat([pseudo, ...(i ? others : first)]))));
}

async function sendMany(port, bytes, seen) {
	const line = new Raw({ port, tls: false });
	await line.begin();
	await line.send(bytes);
	const { answers } = line;
	const count = () => answers.responses + Object.values(answers.resets).reduce((a, b) => a + b, 0);
	for (const end = Date.now() + 20000; count() < STREAMS && !line.over && Date.now() < end;)
		await sleep(5);
	for (const [what, n] of [...Object.entries(answers.statuses), ...Object.entries(answers.resets), ...(line.over ? [[line.end, 1]] : [])])
		seen[what] = (seen[what] ?? 0) + n;
	await line.close();
}

/* HTTP/2 has no fields of the connection: in HTTP/1.1 they come one behind the other. */
function sendPipelined(port, text, count) {
	return new Promise((resolve) => {
		const socket = net.connect(port, '127.0.0.1');
		let got = '';
		const end = () => { socket.destroy(); resolve(); };
		const timer = setTimeout(end, 20000);
		socket.on('close', () => { clearTimeout(timer); resolve(); });
		socket.on('error', end);
		socket.on('data', (bytes) => {
			got += bytes.toString('latin1');
			if (got.split('HTTP/1.1 200').length > count)
				end();
		});
		socket.write(text.repeat(count), 'latin1');
	});
}

async function longestPasses(port, c) {
	const one = await passBeside(port, async () => {
		for (let i = 0; i < ROUNDS; i++)
			await ask(port, requestText(c, true));
	});
	const seen = {};
	const bytes = c.fields?.connection ? null : manyRequests(c);
	const many = await passBeside(port, async () => {
		for (let i = 0; i < ROUNDS_OF_MANY; i++)
			await (bytes ? sendMany(port, bytes, seen) : sendPipelined(port, requestText(c, true), 20));
	});
	return { one, many, seen };
}

async function measure([name, conf, c], origin) {
	const port = await freePort();
	const file = join(dir, 'pushgate.ini');
	const response = Object.entries(c.response ?? {}).map(([k, v]) => `${k}: ${v}\r\n`).join('');
	answers.set('page', `HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/html\r\n${c.links ? `Link: ${c.links}\r\n` : ''}${response}\r\nok`);
	writeFileSync(file, `[server]\nworkers = 1\naccess-log = off\nerror-log = ${join(dir, 'error.log')}\n${c.server ?? ''}\n[listen l]\naddress = 127.0.0.1:${port}\n`
		+ `${conf.includes('[access a]') ? 'access = a\n' : ''}[origin o]\nserver = http://127.0.0.1:${origin.address().port}\n${c.origin ?? ''}\n${conf}\n`);
	writeFileSync(timesFile, Buffer.alloc(16));
	const child = spawn(BINARY, ['run', '-c', file, '--single'], {
		stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, LD_PRELOAD: SHIM, PASS_TIMES: timesFile },
	});
	let errors = '';
	child.stderr.on('data', (text) => { errors += text; });
	try {
		const end = Date.now() + 20000;
		for (;;) {
			if (await ask(port, 'GET / HTTP/1.1\r\nHost: www.example\r\n\r\n').catch(() => 0))
				break;
			if (child.exitCode !== null || Date.now() > end)
				throw new Error(`${name}: does not start: ${errors}`);
			await sleep(20);
		}
		const result = [];
		for (const isLong of [false, true]) {
			const spent = [];
			let status;
			for (let i = 0; i < ROUNDS; i++) {
				await sleep(3);
				const before = nsOf(child.pid);
				status = await ask(port, requestText(c, isLong));
				await sleep(5);
				spent.push((nsOf(child.pid) - before) / 1e6);
			}
			result.push({ ms: median(spent), status });
		}
		return [...result, await longestPasses(port, c)];
	} finally {
		child.kill('SIGKILL');
	}
}

writeFileSync(join(dir, 'key'), `${'0123456789abcdef'.repeat(4)}\n`, { mode: 0o600 });
const origin = await startOrigin();
let longest = 0;
if (spawnSync('make', ['-s', '-C', root, SHIM.slice(root.length + 1)], { stdio: 'inherit' }).status !== 0)
	process.exit(2);
console.log(`${''.padEnd(52)} ${'one request'.padStart(17)}    ${'longest pass beside'.padStart(19)}`);
console.log(`${'ms of processor time'.padEnd(52)} ${'short'.padStart(8)} ${'long'.padStart(8)}    ${'one long'.padStart(8)}   ${'many'.padStart(8)}  status`);
for (const c of cases.filter(([name]) => name.includes(options.only))) {
	const [short, long, passes] = await measure(c, origin);
	longest = Math.max(longest, long.ms, passes.one, passes.many);
	const ms = (value) => value.toFixed(3).padStart(8);
	const seen = Object.entries(passes.seen).map(([what, n]) => `${what} ×${n}`).join(', ');
	console.log(`${c[0].padEnd(52)} ${ms(short.ms)} ${ms(long.ms)}    ${ms(passes.one)}   ${ms(passes.many)}  ${short.status} ${long.status}${seen && `; many: ${seen}`}`);
}
rmSync(dir, { recursive: true, force: true });
process.exit(options.most && longest > Number(options.most) ? 1 : 0);
