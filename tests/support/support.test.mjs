/* SPDX-License-Identifier: MIT */
/* The tools of the tests, held against themselves and against independent implementations. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { delay } from './delay.mjs';
import { frame } from './frames.mjs';
import { freePort, until, workDir } from './gate.mjs';
import { Decoder, Encoder, huffmanDecode, huffmanEncode } from './hpack.mjs';
import { Reader, connect1, read, recordingOrigin, request, response } from './http1.mjs';
import { connect, listen } from './peer.mjs';
import { tap } from './tap.mjs';

test('huffman code gives back every byte and the examples of RFC 7541 C.4', () => {
	const all = Buffer.from([...Array(256).keys()]);
	assert.deepEqual(huffmanDecode(huffmanEncode(all)), all);
	assert.equal(huffmanEncode(Buffer.from('www.example.com')).toString('hex'), 'f1e3c2e5f23a6ba0ab90f4ff');
	assert.throws(() => huffmanDecode(Buffer.from('ff'.repeat(4), 'hex')), /EOS/);
	assert.throws(() => huffmanDecode(Buffer.from([0x1f, 0xf0])), /padding/);
});

test('field blocks keep names, values, order and representation', () => {
	const e = new Encoder();
	const d = new Decoder();
	const fields = [[':status', '200'], ['x', ''], ['x', 'b', { as: 'never' }], ['y', 'é', { huffman: true }]];
	for (const indexing of [false, true, true]) {
		e.indexing = indexing;
		e.resize(indexing ? 4096 : 0);
		const got = d.decode(e.encode(fields));
		assert.deepEqual(got.map(({ name, value }) => [name, value]), fields.map(([n, v]) => [n, v]));
		assert.equal(got[2].as, 'never');
	}
});

test('two scripted peers understand each other, and see what may not be', async () => {
	const server = await listen({ settings: { maxConcurrentStreams: 5 } });
	const client = await connect(server.port);
	const origin = await server.accept();
	await client.ready();
	client.request(1, { path: '/a', cookie: 'x'.repeat(300) }, { split: [0, 10], padding: 3 });
	const up = await origin.expectRequest('/a');
	assert.equal(up.headers.cookie.length, 300);
	origin.push(up, 2, '/b').respond(1, { body: 'page', trailers: { t: '1' } });
	const promise = await client.expectPromise('/b');
	assert.equal(promise.promised, 2);
	const r = await client.response(1);
	assert.equal(`${r.status} ${r.body} ${r.trailers.t}`, '200 page 1');
	origin.respond(2, { body: 'style' });
	assert.equal(String((await client.response(2)).body), 'style');
	await client.sync();
	await client.expectNone('RST_STREAM');
	assert.deepEqual([client.violations, origin.violations], [[], []]);
	origin.frame('RST_STREAM', 0, 6, Buffer.alloc(4));
	origin.respond(2, { fields: { 'content-length': 7, Upper: 'x' }, body: 'four' });
	await client.sync();
	assert.equal(client.violations.length, 4, client.violations.join('\n'));
	client.close();
	await server.close();
});

test('windows follow SETTINGS of which several are on their way', async () => {
	const server = await listen();
	const client = await connect(server.port, { settings: { initialWindowSize: 200000 } });
	const origin = await server.accept();
	await client.ready();
	client.request(1);
	await origin.expectRequest('/');
	client.settings({ initialWindowSize: 1000 }).settings({ initialWindowSize: 50000 });
	await client.sync();
	origin.headers(1, { ':status': 200 }).data(1, 'x'.repeat(16000));
	await client.sync();
	assert.deepEqual(client.violations, []);
	client.settings({ initialWindowSize: 0 });
	await client.sync();
	client.auto.window = false;
	origin.data(1, 'x'.repeat(1));
	await client.sync();
	assert.equal(client.violations.length, 1, client.violations.join('\n'));
	client.close();
	await server.close();
});

test('node as the client and as the server of scripted peers', async () => {
	const server = await listen();
	const session = http2.connect(`http://127.0.0.1:${server.port}`);
	const stream = session.request({ ':path': '/n', 'x-long': 'y'.repeat(500) });
	const origin = await server.accept();
	origin.encoder.indexing = true;
	origin.encoder.huffman = true;
	const up = await origin.expectRequest('/n');
	origin.respond(up.stream, { fields: { 'x-one': 'value' }, body: 'hello' });
	const head = await new Promise((resolve) => { stream.once('response', resolve); });
	assert.equal(head['x-one'], 'value');
	session.destroy();
	await server.close();

	const real = http2.createServer((request, response) => {
		response.stream.pushStream({ ':path': '/p' }, (error, pushed) => { pushed.respond({ ':status': 200 }); pushed.end('pushed'); });
		response.end('main');
	});
	await new Promise((resolve) => { real.listen(0, '127.0.0.1', resolve); });
	const t = await tap(real.address().port);
	const client = await connect(t.port);
	client.encoder.indexing = true;
	for (const id of [1, 3]) {
		client.request(id, { path: '/x', 'user-agent': 'scripted' });
		const p = await client.expectPromise('/p');
		assert.equal(String((await client.response(id)).body), 'main');
		assert.equal(String((await client.response(p.promised)).body), 'pushed');
	}
	assert.deepEqual(client.violations, []);
	const [seen] = t.connections;
	assert.equal(seen.error, undefined);
	assert.equal(seen.of('server', 'PUSH_PROMISE').length, 2);
	assert.equal(seen.of('client', 'HEADERS')[1].headers['user-agent'], 'scripted');
	client.close();
	await t.close();
	await new Promise((resolve) => { real.close(resolve); });
});

test('HTTP/1.1: messages survive being cut anywhere, whatever frames their bodies', () => {
	const fields = [['host', 'a.test'], ['x', ' a b ']];
	const bytes = Buffer.concat([
		request('GET', '/1', fields), request('POST', '/2', fields, { body: 'GET /evil HTTP/1.1\r\n\r\n' }),
		request('POST', '/3', fields, { chunks: ['one', 'two'], trailers: [['sum', '6']] }),
		Buffer.from('\r\nPOST http://a.test/4 HTTP/1.1\r\nhost: a.test\r\ntransfer-encoding: Chunked\r\n\r\n005;a;b="\\\\;";c\r\n12345\r\n0\r\n\r\n', 'latin1'),
	]);
	for (let cut = 0; cut <= bytes.length; cut++) {
		const reader = new Reader('request');
		reader.push(bytes.subarray(0, cut));
		reader.push(bytes.subarray(cut));
		reader.end();
		assert.equal(reader.error, null);
		assert.deepEqual(reader.messages.map((m) => `${m.target} ${m.framing} ${m.body} ${m.trailers}`), [
			'/1 none  ', '/2 length GET /evil HTTP/1.1\r\n\r\n ', '/3 chunked onetwo sum,6', 'http://a.test/4 chunked 12345 ',
		]);
		assert.equal(reader.messages[0].headers.x, 'a b');
	}
	for (let cut = 1; cut < bytes.length; cut++) {
		const { messages, error } = read('request', bytes.subarray(0, cut));
		assert.ok(error || messages.at(-1).end <= cut, `cut at ${cut}`);
		assert.ok(messages.every((m) => m.end <= cut));
	}
});

test('HTTP/1.1: what deviates from RFC 9112 is an error where it stands', () => {
	const head = 'GET / HTTP/1.1\r\nHost: a\r\n';
	for (const [text, at] of [
		['GET  / HTTP/1.1\r\n', 0], ['GET / HTTP/1.1 \r\n', 0], ['G@T / HTTP/1.1\r\n', 0], ['GET / http/1.1\r\n', 6], ['GET / HTTP/2.0\r\n', 6], ['GET /\r\n', 0],
		['GET / HTTP/1.1\n', 14], ['GET / HTTP/1.1\r\r\n', 14], ['GET /# HTTP/1.1\r\n', 4], ['GET / HTTP/1.1\r\n\r\n', 18],
		...['x : y', ' x: y', 'x', ': y', 'x: a\0', 'x: a\rb', 'x: y\r\n z', 'host: b'].map((line) => [`${head}${line}\r\n\r\n`]),
		...['5, 6', '+5', '-1', '0x5', '5 5', '', '5;', '99999999999999999999'].map((length) => [`${head}content-length: ${length}\r\n\r\n`]),
		...['', 'identity', 'chunked, identity', 'chunked, chunked', 'xchunked', '"chunked"', 'chunked;a=b, x', 'gzip, chunked', 'chunked\r\ncontent-length: 5'].map((te) => [`${head}transfer-encoding: ${te}\r\n\r\n`]),
		...['', ' 5', '5 ', '0x5', '+5', '-1', '5;', '5;a=', '5;a="', '5\n', 'g', '11111111111111111'].map((size) => [`${head}transfer-encoding: chunked\r\n\r\n${size}\r\nhello\r\n0\r\n\r\n`]),
		...['hellox', 'hello\n', 'hello'].map((chunk) => [`${head}transfer-encoding: chunked\r\n\r\n5\r\n${chunk}0\r\n\r\n`]),
	]) {
		const { messages, error } = read('request', text);
		assert.ok(error && error.section !== 'RFC 9112 8', `${JSON.stringify(text)} is taken`);
		assert.equal(messages.length, 0);
		if (at !== undefined)
			assert.equal(error.offset, at, text);
	}
	const until = read('response', 'HTTP/1.0 200 OK\r\n\r\nuntil the end');
	assert.equal(`${until.messages[0].framing} ${until.messages[0].body}`, 'close until the end');
	assert.ok(read('response', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfour').isIncomplete);
	assert.equal(read('response', response(200, [['content-length', '5']], {}), { asked: [{ method: 'HEAD' }] }).messages[0].framing, 'none');
});

test('HTTP/1.1: the recording origin and the client understand each other, and Node', async (t) => {
	const origin = await recordingOrigin();
	t.after(() => origin.close());
	const client = await connect1(origin.port);
	client.request('POST', '/a', [['host', 'x']], { chunks: ['ab', 'c'], trailers: [['t', '1']] });
	client.request('HEAD', '/b', [['host', 'x'], ['connection', 'close']]);
	assert.deepEqual(JSON.parse((await client.response()).body).trailers, [['t', '1']]);
	assert.equal((await client.response()).framing, 'none');
	assert.equal((await client.over()).end, 'clean');
	assert.deepEqual(origin.requests.map((m) => m.target), ['/a', '/b']);
	const cut = await connect1(origin.port);
	cut.send('POST /cut HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nfour').finish();
	await cut.over();
	assert.deepEqual([origin.partials.map((m) => m.target), origin.errors], [['/cut'], []]);
	const got = await fetch(`http://127.0.0.1:${origin.port}/node`, { method: 'POST', body: 'from node' });
	assert.equal((await got.json()).body, 'from node');

	const server = http.createServer((req, res) => {
		res.writeEarlyHints({ link: '</a>; rel=preload' });
		req.resume().on('end', () => res.end(`${req.method} ${req.url}`));
	});
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	t.after(() => server.close());
	const other = await connect1(server.address().port);
	other.request('PUT', '/n', [['host', 'x'], ['connection', 'close']], { body: 'x' });
	const r = await other.response();
	assert.deepEqual([r.interim.map((m) => m.status), String(r.body)], [[103], 'PUT /n']);
	await other.over();
});

test('nghttpd pushes to the scripted client, nghttp takes pushes from the scripted origin', async () => {
	const dir = workDir();
	fs.writeFileSync(path.join(dir, 'index.html'), 'page');
	fs.writeFileSync(path.join(dir, 'a.css'), 'style');
	const port = await freePort();
	const daemon = spawn('nghttpd', ['--no-tls', `--htdocs=${dir}`, '--push=/index.html=/a.css', '--address=127.0.0.1', String(port)], { stdio: 'ignore' });
	const client = await until('nghttpd answers', () => connect(port).catch(() => null));
	client.request(1, { path: '/index.html' });
	const p = await client.expectPromise('/a.css');
	assert.equal(String((await client.response(p.promised)).body), 'style');
	assert.equal(String((await client.response(1)).body), 'page');
	assert.deepEqual(client.violations, []);
	client.frame('PING', 0, 1, Buffer.alloc(8));
	await client.expectConnectionError('PROTOCOL_ERROR');
	daemon.kill();
	fs.rmSync(dir, { recursive: true });

	const server = await listen();
	const nghttp = spawn('nghttp', ['-nv', `http://127.0.0.1:${server.port}/`]);
	let text = '';
	nghttp.stdout.on('data', (chunk) => { text += chunk; });
	const origin = await server.accept();
	const up = await origin.expectRequest('/');
	origin.push(up, 2, '/pushed').respond(up.stream, { body: 'x' }).respond(2, { body: 'y' });
	await new Promise((resolve) => { nghttp.once('close', resolve); });
	assert.match(text, /recv PUSH_PROMISE frame[^\n]*stream_id=13/);
	await server.close();
});

test('a frame of any size survives being cut anywhere', async () => {
	const { FrameReader } = await import('./frames.mjs');
	const bytes = Buffer.concat([frame('DATA', 0, 1, Buffer.alloc(100)), frame('PING', 0, 0, Buffer.alloc(8)), frame('SETTINGS', 1, 0)]);
	for (let cut = 0; cut <= bytes.length; cut++) {
		const reader = new FrameReader();
		const frames = [...reader.push(bytes.subarray(0, cut)), ...reader.push(bytes.subarray(cut))];
		assert.deepEqual(frames.map((f) => f.type), ['DATA', 'PING', 'SETTINGS']);
	}
});

test('a delay relay: every byte both ways, in order, and none too early', async (t) => {
	const echo = net.createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
	await new Promise((resolve) => { echo.listen(0, '127.0.0.1', resolve); });
	const relay = await delay(echo.address().port, 40);
	t.after(() => Promise.all([relay.close(), new Promise((resolve) => { echo.close(resolve); })]));
	const socket = net.connect(relay.port, '127.0.0.1');
	const sent = Buffer.from([...Array(100000).keys()].map((i) => i % 251));
	const got = [];
	const begun = performance.now();
	let first;
	socket.on('data', (chunk) => { first ??= performance.now() - begun; got.push(chunk); });
	for (let at = 0; at < sent.length; at += 7000)
		socket.write(sent.subarray(at, at + 7000));
	socket.end();
	await new Promise((resolve) => { socket.on('close', resolve); });
	assert.ok(Buffer.concat(got).equals(sent));
	assert.ok(first >= 80, `the first byte was back after ${first} ms`);
});

const FAILS_AND_LEAKS = `
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
static int fails;
static void *volatile kept;
static void keeps_memory(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++)
		kept = malloc(100);
	kept = NULL;
	assert_int_equal(fails, 0);
}
int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_memory)};
	fails = getenv("FAILS") != NULL;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
`;

const TESTS = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

function runnerDir(t) {
	const dir = workDir();
	t.after(() => fs.rmSync(dir, { recursive: true }));
	return dir;
}

function runner(args, env = {}) {
	const { stdout, status } = spawnSync(path.join(TESTS, 'run'), args, { encoding: 'utf8', env: { ...process.env, ...env } });
	return { text: stdout, lines: stdout.split('\n'), status };
}

test('tests/run: a failed assertion comes first, and its leaks are not reported; leaks alone are', (t) => {
	const dir = runnerDir(t);
	const program = path.join(dir, 'fails_test');
	fs.writeFileSync(`${program}.c`, FAILS_AND_LEAKS);
	execFileSync('cc', ['-g', '-fsanitize=address', '-o', program, `${program}.c`, path.join(TESTS, 'support/leak_check.c'), '-lcmocka']);
	const failed = runner([program], { FAILS: '1' });
	assert.match(failed.lines[0], /^==== FAILED .*fails_test \(exit status 1; 0 passed, 1 failed\)$/);
	assert.equal(failed.lines[1], 'keeps_memory:');
	assert.match(failed.lines[2], /^\[  ERROR   \] --- 0x1 != 0/);
	assert.match(failed.lines[3], /^\[   LINE   \] --- .*fails_test\.c:\d+: error: Failure!$/);
	assert.doesNotMatch(failed.text, /LeakSanitizer/);
	assert.equal(failed.status, 1);
	const leaked = runner([program]);
	assert.match(leaked.text, /LeakSanitizer: detected memory leaks/);
	assert.equal(leaked.status, 1);
});

test('tests/run: the assertion of a long output comes before it', (t) => {
	const program = path.join(runnerDir(t), 'long_test');
	fs.writeFileSync(program, `#!/bin/sh
echo '[==========] Running 2 test(s).'
echo '[ RUN      ] first'
echo '[       OK ] first'
echo '[ RUN      ] second'
echo '[  ERROR   ] --- never: it comes'
echo '[   LINE   ] --- second_test.c:7: error: Failure!'
seq 1000
exit 1
`, { mode: 0o755 });
	const { lines, status } = runner([program]);
	assert.deepEqual(lines.slice(1, 5), ['second:', '[  ERROR   ] --- never: it comes',
		'[   LINE   ] --- second_test.c:7: error: Failure!', '---- its output']);
	assert.equal(lines.filter((l) => /^\d+$/.test(l)).length, 400, 'the end of a long output is enough');
	assert.equal(status, 1);
});

test('tests/run: says how long a program took', (t) => {
	const program = path.join(runnerDir(t), 'slow_test');
	fs.writeFileSync(program, '#!/bin/sh\nsleep 2.1\necho "[==========] Running 1 test(s)."\necho "[  PASSED  ] 1 test(s)."\n', { mode: 0o755 });
	assert.match(runner([program]).lines[0], /^ok .*slow_test \(1 passed, [2-9] s\)$/);
});

/* A program that says when it begins and when it ends. */
function tellsWhen(dir, name, seconds) {
	const program = path.join(dir, name);
	fs.writeFileSync(program, `#!/bin/sh
echo "begins ${name}" >>${dir}/story
sleep ${seconds}
echo "ends ${name}" >>${dir}/story
echo "1 passed, 0 failed"
`, { mode: 0o755 });
	return program;
}
const story = (dir) => fs.readFileSync(path.join(dir, 'story'), 'utf8').trim().split('\n');

test('tests/run: what tests/longest lists begins first, whatever its build', (t) => {
	const dir = runnerDir(t);
	const listed = 'build/kind/tests/second_test';
	fs.mkdirSync(path.join(dir, 'tests'));
	fs.mkdirSync(path.join(dir, path.dirname(listed)), { recursive: true });
	fs.copyFileSync(path.join(TESTS, 'run'), path.join(dir, 'tests/run'));
	fs.writeFileSync(path.join(dir, 'tests/longest'), '# a comment\ntests/first_test\ntests/second_test\n');
	const [last, first] = ['tests/another_test', 'tests/first_test'].map((name) => tellsWhen(dir, name, 0));
	const second = tellsWhen(dir, listed, 0);
	const { status } = spawnSync('tests/run', ['-j', '1', ...[last, second, first].map((program) => path.relative(dir, program))], { cwd: dir });
	assert.equal(status, 0);
	assert.deepEqual(story(dir).filter((l) => l.startsWith('begins')), ['begins tests/first_test', `begins ${listed}`, 'begins tests/another_test']);
});

test('tests/run: -s says which programs took longest', (t) => {
	const dir = runnerDir(t);
	const slow = tellsWhen(dir, 'slow', 2);
	const { lines } = runner(['-s', '1', tellsWhen(dir, 'quick', 0), slow]);
	assert.equal(lines.at(-4), 'The slowest:');
	assert.match(lines.at(-3), /^ +\d+ s \(processor 0 s\)  \/.*\/slow$/);
	assert.equal(lines.at(-2), '2 passed, 0 failed');
});

test('tests/run: -r runs each file so many times', (t) => {
	const program = path.join(runnerDir(t), 'short_test');
	fs.writeFileSync(program, '#!/bin/sh\necho "[==========] Running 2 test(s)."\necho "[  PASSED  ] 2 test(s)."\n', { mode: 0o755 });
	const { lines, status } = runner(['-j', '3', '-r', '5', program]);
	assert.deepEqual(lines, [...Array(5).fill(`ok ${program} (2 passed)`), '10 passed, 0 failed', '']);
	assert.equal(status, 0);
});
