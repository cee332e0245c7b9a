/* SPDX-License-Identifier: MIT */
/*
 * Three clients on one origin connection (nghttpd), each with a page and two pushes under way. One of
 * them misbehaves in the middle of it; to the other two bytes flow throughout, to the last.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { freePort, scenario, until, workDir } from '../support/gate.mjs';
import { PATIENCE } from '../support/peer.mjs';
import { daemon } from '../support/programs.mjs';

const SIZE = 12 << 20;

// covers: R56 R62 P-make-never-starves
for (const [what, spoil] of Object.entries({
	'cancels its page and pushes': (c) => { for (const id of [1, ...c.promised]) c.rst(id, 'CANCEL'); },
	dies: (c) => c.socket.destroy(),
	'shuts its windows': (c) => { c.auto.window = false; c.settings({ initialWindowSize: 0 }); },
	'stops reading': (c) => c.socket.pause(),
})) {
	const port = await freePort();
	scenario(`a client that ${what} in the middle of pushes does not hold up two others on the same origin connection`, {
		origins: { main: { server: `h2c://127.0.0.1:${port}` } }, origin: { 'max-connections': 1 }, timeout: 120000,
	}, async (s) => {
		const dir = workDir();
		s.cleanups.push(() => fs.rmSync(dir, { recursive: true, force: true }));
		const pushes = [];
		for (let i = 0; i < 3; i++) {
			for (const name of [`page${i}`, `a${i}`, `b${i}`])
				fs.writeFileSync(path.join(dir, name), Buffer.alloc(SIZE, name));
			pushes.push(`--push=/page${i}=/a${i},/b${i}`);
		}
		await daemon(s, 'nghttpd', ['--no-tls', '--address=127.0.0.1', `--htdocs=${dir}`, ...pushes, String(port)], port);
		const clients = [];
		for (let i = 0; i < 3; i++) {
			const c = await s.connect();
			c.ends = 0;
			/* Frames are counted, not kept; the promises are taken before. */
			c.request(1, { path: `/page${i}` });
			c.promised = [(await c.expectPromise()).promised, (await c.expectPromise()).promised];
			c.take((f) => { c.ends += f.endStream ? 1 : 0; c.drop(() => true); return false; }, 'nothing', 3600e3).catch(() => {});
			clients.push(c);
		}
		const [bad, ...good] = clients;
		await until('bytes flow to all', () => clients.every((c) => c.received > 1 << 20), PATIENCE * 2);
		spoil(bad);
		await until(() => `both others get all: ${good.map((c) => `${c.received} bytes, ${c.ends} ends`)}`,
			() => good.every((c) => c.received === 3 * SIZE), PATIENCE * 6);
		for (const c of good)
			assert.deepEqual(c.violations, []);
		assert.equal(Number((await s.gate.access((l) => l.path === '/page1')).response_bytes), SIZE);
	});
}
