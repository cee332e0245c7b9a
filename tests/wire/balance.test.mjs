/* SPDX-License-Identifier: MIT */
/*
 * Several servers of one origin, as clients see them: cookies and keys lead to the same server in each worker and after a
 * restart, and to others once it has gone.
 */
import assert from 'node:assert/strict';
import http from 'node:http';
import { Gate, freePort, scenario, section, workDir } from '../support/gate.mjs';

/* A server that says its name and the cookies that it got. */
async function server(s, name) {
	const port = await freePort();
	const it = http.createServer((request, response) => {
		response.setHeader('x-server', name);
		response.end(JSON.stringify(request.headers.cookie ?? null));
	});
	await new Promise((resolve) => it.listen(port, '127.0.0.1', resolve));
	const close = () => new Promise((resolve) => { it.close(resolve); it.closeAllConnections(); });
	s.cleanups.push(close);
	return { port, name, close };
}

function get(port, path, headers = {}) {
	return new Promise((resolve, reject) => {
		http.get({ port, host: '127.0.0.1', path, agent: false, headers: { host: 'a.test', ...headers } }, (r) => {
			let text = '';
			r.on('data', (part) => { text += part; });
			r.on('end', () => resolve({ status: r.statusCode, server: r.headers['x-server'], headers: r.headers, cookies: JSON.parse(text || 'null') }));
			r.on('error', reject);
		}).on('error', reject);
	});
}

/* Another gate with the same [origin], beside the first one or after it. */
async function gate(s, config, more = {}) {
	const port = await freePort();
	const g = new Gate({
		config: section('server', { workers: 2, 'access-log': 'off', 'error-log': '-', 'drain-timeout': '1s' })
			+ section('listen l', { address: `127.0.0.1:${port}` }) + config,
		dir: workDir(), ports: [port], single: false, ...more,
	});
	await g.listening();
	return g;
}

const fleet = (servers, options) => section('origin fleet', { server: servers.map((x) => `http://127.0.0.1:${x.port}`), ...options })
	+ section('route r', { origin: 'fleet' });
const count = async (n, ask) => {
	const counts = {};
	for (let i = 0; i < n; i++) {
		const { server: name } = await ask(i);
		counts[name] = (counts[name] ?? 0) + 1;
	}
	return counts;
};

/* Connects to nothing by itself: the tests start their own gates. */
const idle = { origins: {}, routes: section('origin demo', { server: 'demo:' }) + section('route demo', { origin: 'demo' }) };

// covers: R425
scenario('a client stays at its server, in another worker and after a restart, and goes to another when it is gone', idle, async (s) => {
	const servers = [await server(s, 'a'), await server(s, 'b'), await server(s, 'c')];
	const config = fleet(servers, { 'affinity-cookie': 'srv' });
	let g = await gate(s, config);
	const first = await get(g.port, '/');
	const [set] = first.headers['set-cookie'];
	assert.match(set, /^srv=[0-9a-f]{16}; Path=\/; HttpOnly; SameSite=Lax$/);
	assert.equal(first.headers['cache-control'], 'private');
	const cookie = set.split(';')[0];
	const again = () => get(g.port, '/', { cookie: `a=1; ${cookie}` });
	for (const restart of [false, true]) {
		if (restart) {
			await g.stop();
			g = await gate(s, config);
		}
		for (let i = 0; i < 20; i++) {
			const r = await again();
			assert.equal(r.server, first.server);
			assert.equal(r.cookies, 'a=1');
			assert.equal(r.headers['set-cookie'], undefined);
		}
	}
	await servers.find((x) => x.name === first.server).close();
	const moved = await again();
	assert.equal(moved.status, 200);
	assert.notEqual(moved.server, first.server);
	assert.notEqual(moved.headers['set-cookie'][0].split(';')[0], cookie);
	await g.stop();
});

// covers: R423
scenario('a path has the same server in each worker and after a restart', idle, async (s) => {
	const servers = [await server(s, 'a'), await server(s, 'b'), await server(s, 'c')];
	const config = fleet(servers, { hash: 'path' });
	const found = [];
	for (let start = 0; start < 2; start++) {
		const g = await gate(s, config);
		for (let round = 0; round < 4; round++)
			for (let i = 0; i < 12; i++) {
				const r = await get(g.port, `/${i}?${round}`);
				assert.equal(r.server, found[i] ??= r.server, `/${i}`);
			}
		await g.stop();
	}
	assert.ok(new Set(found).size > 1, found.join(' '));
});

// covers: R421 R424
scenario('turns go by weight, a backup gets a request when no other is left, one that is down gets none', idle, async (s) => {
	const [a, b, backup, down] = [await server(s, 'a'), await server(s, 'b'), await server(s, 'backup'), await server(s, 'down')];
	const lines = [[a, ' weight=3'], [b, ''], [backup, ' backup'], [down, ' down']].map(([x, words]) => `http://127.0.0.1:${x.port}${words}`);
	const g = await gate(s, section('origin fleet', { server: lines, balance: 'round-robin' }) + section('route r', { origin: 'fleet' }), { single: true });
	assert.deepEqual(await count(40, () => get(g.port, '/')), { a: 30, b: 10 });
	await a.close();
	await b.close();
	assert.deepEqual(await count(5, () => get(g.port, '/')), { backup: 5 });
	await g.stop();
});
