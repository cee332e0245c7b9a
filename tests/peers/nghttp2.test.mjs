/* SPDX-License-Identifier: MIT */
/*
 * nghttpd behind, nghttp in front, a tap on either hop: what real peers say to each other through
 * the gate. The pushes are relayed as they are, or stripped as the rules or the client want it.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { freePort, scenario, section, workDir } from '../support/gate.mjs';
import { daemon, run } from '../support/programs.mjs';
import { tap } from '../support/tap.mjs';

const files = {
	'/index.html': Buffer.from('<!doctype html><link rel=stylesheet href=/a.css><script src=/b.js></script>page\n'),
	'/a.css': Buffer.from(Array.from({ length: 200000 }, (_, i) => 32 + ((i * 31) % 90))),
	'/b.js': Buffer.from(Array.from({ length: 70001 }, (_, i) => (i * 17 + (i >> 7)) & 255)),
	'/c.png': Buffer.alloc(0),
	'/big': Buffer.alloc(8 << 20, 'big '),
};
const backPort = await freePort();

/* nghttpd, a tap before it, the gate, a tap before that. */
function chain(name, options, body) {
	scenario(name, {
		...options, origins: { main: { server: `h2c://127.0.0.1:${backPort}` } },
	}, async (s) => {
		const dir = workDir();
		s.cleanups.push(() => fs.rmSync(dir, { recursive: true, force: true }));
		for (const [name, bytes] of Object.entries(files))
			fs.writeFileSync(path.join(dir, name), bytes);
		const port = await freePort();
		s.daemon = await daemon(s, 'nghttpd', ['--no-tls', '--address=127.0.0.1', `--htdocs=${dir}`,
			'--push=/index.html=/a.css,/b.js', ...(options.nghttpd ?? []), String(port)], port);
		s.back = await tap(port, { port: backPort });
		s.cleanups.push(() => s.back.close());
		s.front = await tap(s.port);
		s.cleanups.push(() => s.front.close());
		await body(s, `http://127.0.0.1:${s.front.port}`);
	});
}
const bodyOf = (c, stream) => Buffer.concat(c.of('server', 'DATA').filter((f) => f.stream === stream).map((f) => f.data));
const pushPaths = (c) => c.of('server', 'PUSH_PROMISE').map((f) => f.headers[':path']).sort();

// covers: R41 R42 R44 R45
chain('pushes reach nghttp: even ids, before the end of the page, byte for byte', {}, async (s, url) => {
	const { stdout, code } = await run('nghttp', ['-nv', `${url}/index.html`]);
	assert.equal(code, 0);
	assert.equal(stdout.match(/recv PUSH_PROMISE frame/g)?.length, 2, stdout);
	const [near] = s.front.connections;
	assert.equal(near.error, undefined);
	assert.deepEqual(pushPaths(near), ['/a.css', '/b.js']);
	const request = near.of('client', 'HEADERS')[0];
	const end = near.frames.find((f) => f.from === 'server' && f.stream === request.stream && f.endStream);
	for (const p of near.of('server', 'PUSH_PROMISE')) {
		assert.equal(p.stream, request.stream);
		assert.equal(p.promised % 2, 0);
		assert.ok(p.seq < end.seq);
		assert.ok(bodyOf(near, p.promised).equals(files[p.headers[':path']]), p.headers[':path']);
	}
	assert.ok(bodyOf(near, request.stream).equals(files['/index.html']));
	await s.gate.access((l) => l.path === '/b.js' && l.push && l.status === 200);
});

// covers: R27 R32
chain('with a drop rule for *.js only the others come, and the origin sees RST_STREAM', {
	extra: section('push scripts', { 'promised-path': '*.js', action: 'drop' }),
}, async (s, url) => {
	const { code } = await run('nghttp', ['-nv', `${url}/index.html`]);
	assert.equal(code, 0);
	assert.deepEqual(pushPaths(s.front.connections[0]), ['/a.css']);
	const far = s.back.connections.find((c) => c.of('server', 'PUSH_PROMISE').length);
	const dropped = far.of('server', 'PUSH_PROMISE').find((f) => f.headers[':path'] === '/b.js');
	const resets = far.of('client', 'RST_STREAM');
	assert.deepEqual(resets.map((f) => f.stream), [dropped.promised]);
	assert.ok(['CANCEL', 'REFUSED_STREAM'].includes(resets[0].code));
	const line = await s.gate.access((l) => l.path === '/b.js');
	assert.equal(line.verdict, 'drop');
	assert.equal(line.rule, 'scripts');
});

// covers: R26 R30
chain('nghttp --no-push sees none, and its origin connection had ENABLE_PUSH=0', {}, async (s, url) => {
	const { stdout, code } = await run('nghttp', ['-nv', '--no-push', `${url}/index.html`]);
	assert.equal(code, 0);
	assert.ok(!stdout.includes('PUSH_PROMISE'));
	const far = s.back.connections.find((c) => c.of('client', 'HEADERS').length);
	assert.equal(far.of('client', 'SETTINGS')[0].values.enablePush, 0);
	assert.equal(far.of('server', 'PUSH_PROMISE').length, 0);
});

// covers: R31
chain('both kinds of client at once get what they asked for, and no SETTINGS of a live connection changes', {}, async (s, url) => {
	const clients = await Promise.all(Array.from({ length: 20 }, (_, i) =>
		run('nghttp', ['-nv', ...(i % 2 ? ['--no-push'] : []), `${url}/index.html`])));
	clients.forEach(({ stdout, code }, i) => {
		assert.equal(code, 0);
		assert.equal(stdout.match(/recv PUSH_PROMISE frame/g)?.length ?? 0, i % 2 ? 0 : 2);
	});
	for (const c of s.back.connections) {
		const [first, ...more] = c.of('client', 'SETTINGS').filter((f) => !f.ack);
		assert.equal(more.length, 0, 'one SETTINGS a connection');
		if (first?.values.enablePush === 0)
			assert.equal(c.of('server', 'PUSH_PROMISE').length, 0);
	}
	for (const c of s.front.connections)
		for (const p of c.of('server', 'PUSH_PROMISE'))
			assert.ok(bodyOf(c, p.promised).equals(files[p.headers[':path']]));
});

chain('uploads, queries and missing files are as with nghttpd itself', {}, async (s, url) => {
	assert.match((await run('nghttp', ['-nv', `${url}/missing`])).stdout, /:status: 404/);
	assert.match((await run('nghttp', ['-nv', '-d', '/etc/hostname', `${url}/index.html?x=y`])).stdout, /:status: 200/);
	assert.match((await run('nghttp', ['-nv', '-H:method: HEAD', `${url}/big`])).stdout, /content-length: 8388608/);
});

chain('trailers of nghttpd come through', { nghttpd: ['--trailer=x-check: sum'] }, async (s, url) => {
	const { stdout } = await run('nghttp', ['-nv', '--no-push', `${url}/index.html`]);
	assert.match(stdout, /x-check: sum/);
});

chain('padding on both hops changes no byte', { nghttpd: ['--padding=200'] }, async (s, url) => {
	const { code } = await run('nghttp', ['-nv', '--padding=100', `${url}/index.html`]);
	assert.equal(code, 0);
	const [near] = s.front.connections;
	for (const p of near.of('server', 'PUSH_PROMISE'))
		assert.ok(bodyOf(near, p.promised).equals(files[p.headers[':path']]));
});

chain('small windows in front: all arrives', {}, async (s, url) => {
	const { code } = await run('nghttp', ['-nv', '--window-bits=10', '--connection-window-bits=16', `${url}/index.html`]);
	assert.equal(code, 0);
	const [near] = s.front.connections;
	assert.equal(near.of('server', 'PUSH_PROMISE').length, 2);
	for (const p of near.of('server', 'PUSH_PROMISE'))
		assert.ok(bodyOf(near, p.promised).equals(files[p.headers[':path']]));
});

chain('a table size of 0 in front and behind: all arrives', { nghttpd: ['--header-table-size=0'] }, async (s, url) => {
	const { stdout, code } = await run('nghttp', ['-nv', '--header-table-size=0', `${url}/index.html`]);
	assert.equal(code, 0);
	assert.equal(stdout.match(/recv PUSH_PROMISE frame/g)?.length, 2);
});

chain('nghttpd killed in the middle of a body: a reset in front, then it is back', {}, async (s, url) => {
	const slow = run('nghttp', ['-nv', '--window-bits=14', '--connection-window-bits=16', `${url}/big`, '--expect-continue']).catch(() => null);
	for (let i = 0; i < 200 && !s.front.connections[0]?.of('server', 'DATA').length; i++)
		await new Promise((resolve) => { setTimeout(resolve, 5); });
	s.daemon.child.kill('SIGKILL');
	for (const c of s.back.connections)
		c.destroy();
	const result = await slow;
	assert.ok(result);
	const [near] = s.front.connections;
	const complete = bodyOf(near, near.of('client', 'HEADERS')[0].stream).length === files['/big'].length;
	if (!complete)
		assert.match(result.stdout, /recv RST_STREAM|recv GOAWAY/);
	const refused = await run('nghttp', ['-nv', `${url}/index.html`]);
	assert.match(refused.stdout, /:status: 50[234]/);
});

/* nghttpd ends a connection with GOAWAY at a field above 64 KiB. */
// covers: R163
chain('targets that are too long for nghttpd harm nobody else', { listen: { 'max-header-list': '128k' } }, async (s, url) => {
	const download = run('nghttp', ['-n', '--no-push', '-m', '8', `${url}/big`]);
	for (let i = 0; i < 4; i++) {
		const { stdout } = await run('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', `http://127.0.0.1:${s.port}/?${'x'.repeat(66000 + 10000 * i)}`]);
		assert.equal(stdout.trim(), '431');
	}
	assert.equal((await download).code, 0);
	await s.gate.access((l) => l.path === '/big' && l.status === 200 && !l.detail);
	for (const c of s.back.connections)
		assert.deepEqual(c.of('server', 'GOAWAY'), []);
});
