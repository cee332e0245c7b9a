/* SPDX-License-Identifier: MIT */
/* An origin with several servers, of which some fail. The show for a whole minute is tests/soak/fleet.mjs. */
import assert from 'node:assert/strict';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import { assertShown, showFleet, tell } from '../support/fleet.mjs';
import { Gate, freePort, section, waitedForProcessor, workDir } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';

const SECONDS = 6;
/*
 * Of the requests that are open at once, the slow server has a third at most: so many in each slowMs are its requests, and
 * its share is what they are of all that the machine gets done. Few of them leave room for a busy machine.
 */
const STREAMS = 3;

for (const version of ['h2c', 'http1']) {
	test(`${version}: of three servers one dies, one is slow and one flaps, and no request is lost`, { timeout: 120000 * SCALE }, async (t) => {
		const figures = await showFleet({ version, seconds: SECONDS, slowMs: 1000, streams: STREAMS, origin: { 'eject-time': '1s' } });
		tell(version, figures).forEach((line) => t.diagnostic(line));
		assertShown(figures);
	});
}

const ORIGINS = 1000, SERVERS = 10;
const START_MS = 2000 * SCALE;

test(`${ORIGINS} origins of ${SERVERS} servers start within ${START_MS} ms`, { timeout: 120000 * SCALE }, async (t) => {
	const port = await freePort(), dir = workDir();
	const origins = Array.from({ length: ORIGINS }, (_, i) => section(`origin o${i}`, {
		server: Array.from({ length: SERVERS }, (__, k) => `h2c://127.${1 + (i >> 8)}.${i & 255}.${k}:1`),
	}) + section(`route r${i}`, { host: `h${i}.test`, origin: `o${i}` }));
	const config = section('server', { workers: 1, 'error-log': path.join(dir, 'error.log'), 'drain-timeout': '1s' })
		+ section('listen main', { address: `127.0.0.1:${port}` }) + origins.join('');
	const begun = Date.now(), waited = waitedForProcessor(process.pid);
	const gate = new Gate({ config, dir, ports: [port] });
	try {
		await gate.listening();
		/* Its sockets listen before it has made its servers. Nobody is at the addresses of these. */
		const status = await new Promise((resolve, reject) => {
			http.get({ port, host: '127.0.0.1', headers: { host: `h${ORIGINS - 1}.test` }, agent: false }, (r) => resolve(r.resume().statusCode)).on('error', reject);
		});
		/* As on a machine that has nothing else to do: without the time in which others had the processors. */
		const took = Date.now() - begun - waitedForProcessor(gate.pid) - (waitedForProcessor(process.pid) - waited);
		assert.ok(status >= 500, `status ${status}`);
		t.diagnostic(`${took} ms`);
		assert.ok(took < START_MS, `${took} ms`);
	} finally {
		await gate.stop();
	}
});
