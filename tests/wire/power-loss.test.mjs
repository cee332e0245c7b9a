/* SPDX-License-Identifier: MIT */
/*
 * A peer whose machine loses its power in the middle of a silent stream: nothing comes any more, and no packet is
 * answered. The test runs itself again in a network namespace of its own and takes the loopback device down there. That
 * takes root; without it the test is skipped.
 *
 * covers: R202
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { scenario, until } from '../support/gate.mjs';

const INSIDE = 'PUSHGATE_TEST_NAMESPACE';

function loopback(state) {
	const r = spawnSync('ip', ['link', 'set', 'lo', state], { encoding: 'utf8' });
	assert.equal(r.status, 0, r.stderr);
}

/* All bytes are acknowledged. Those that are not would be sent again, which fails at once on a device that is down. */
function areAcknowledged() {
	const rows = fs.readFileSync('/proc/net/tcp', 'latin1').trim().split('\n').slice(1).map((row) => row.trim().split(/\s+/));
	return rows.every(([, , , state, queues]) => state !== '01' || queues.startsWith('00000000:'));
}

if (!process.env[INSIDE]) {
	const may = spawnSync('unshare', ['-n', 'ip', 'link', 'set', 'lo', 'up']).status === 0;
	test('in a network namespace of its own', { skip: may ? false : 'no permission to make a network namespace' }, () => {
		const { NODE_TEST_CONTEXT, ...env } = process.env;
		const r = spawnSync('unshare', ['-n', process.execPath, fileURLToPath(import.meta.url)], { encoding: 'utf8', env: { ...env, [INSIDE]: '1' } });
		assert.equal(r.status, 0, r.stdout + r.stderr);
	});
} else {
	loopback('up');
	for (const [who, options, outcome] of [['an origin', { origin: { keepalive: '1s', 'write-timeout': '1s' } }, 'origin-lost'],
		['a client', { listen: { keepalive: '1s', 'write-timeout': '1s' } }, 'client-lost']])
		scenario(`${who} that has lost its power is noticed`, options, async (s) => {
			const { client, origin, up } = await s.open({ path: '/events' });
			origin.headers(up.stream, { ':status': 200 }).data(up.stream, 'data: 1\n\n');
			await client.expect('DATA', { stream: 1 });
			await client.sync();
			await origin.sync();
			await until('acknowledgements', areAcknowledged);
			loopback('down');
			try {
				/* Both peers are gone, and only one of them is looked for. */
				assert.equal((await s.gate.access((l) => l.path === '/events')).outcome, outcome);
			} finally {
				loopback('up');
			}
		});
}
