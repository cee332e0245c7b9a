/* SPDX-License-Identifier: MIT */
/* A promise whose parent's exchange has ended is refused, counted and logged as any other. */
// covers: R223
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { BINARY, scenario, until } from '../support/gate.mjs';

const promised = (up, path) => ({ ':method': 'GET', ':scheme': 'http', ':authority': up.headers[':authority'], ':path': path });

for (const [kind, reason, change] of [
	['promise', 'parent-gone', {}],
	['malformed promise', 'malformed', { ':method': 'POST' }],
])
	scenario(`a ${kind} on a request that its client has reset is counted and logged`, { server: { 'status-socket': 'status' } }, async (s) => {
		const { client, origin, up } = await s.open({ path: '/page' });
		client.rst(1, 'CANCEL');
		await origin.expectReset(up.stream, 'CANCEL');
		origin.pushPromise(up.stream, 2, { ...promised(up, '/late.css'), ...change });
		await origin.expectReset(2);
		const line = await s.gate.access((l) => l.push === true);
		assert.deepEqual([line.reason, line.verdict, line.source, line.outcome, line.origin, line.path],
			[reason, 'drop', 'relayed', 'refused', 'main', change[':method'] ? undefined : '/late.css']);
		for (const field of ['connection', 'client', 'listen', 'protocol', 'tls', 'route'])
			assert.equal(line[field], undefined, `nobody knows its ${field}`);
		assert.equal(line.parent, 0);
		const status = execFileSync(BINARY, ['status', `${s.dir}/status`], { encoding: 'utf8' });
		assert.match(status, /^pushgate_pushes_offered_total 1$/m);
		assert.match(status, /^pushgate_pushes_dropped_total 1$/m);
		assert.match(status, new RegExp(`^pushgate_push_total\\{source="relayed",verdict="drop",reason="${reason}"\\} 1$`, 'm'));
		await until('the client goes on', async () => { await client.sync(); return true; });
	});
