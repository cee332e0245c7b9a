/* SPDX-License-Identifier: MIT */
/*
 * An origin that sends a 103 (Early Hints) before each page, and clients over HTTP/1.1 that are known to take it for the
 * final response: they get the page, and curl, which can read it, gets the 103 too (docs/EARLY-HINTS.md).
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, freePort, scenario, workDir } from '../support/gate.mjs';
import { nodeOrigin } from '../support/node.mjs';
import { run } from '../support/programs.mjs';

const PYTHON = 'import sys, urllib.request; r = urllib.request.urlopen(sys.argv[1]); print(r.status, r.read().decode())';
const clients = {
	'Python\'s urllib': (url) => ['python3', '-c', PYTHON, url],
	'Java\'s HttpURLConnection': (url) => ['java', '-Xshare:auto', '-XX:TieredStopAtLevel=1', path.join(ROOT, 'tests/peers/HttpGet.java'), url],
};

async function behindOrigin(name, body) {
	const port = await freePort();
	scenario(name, { timeout: 120000, origins: { main: { server: `h2c://127.0.0.1:${port}` } } }, async (s) => {
		await nodeOrigin(s, port, (stream) => {
			stream.additionalHeaders({ ':status': 103, link: '</a.css>; rel=preload; as=style' });
			stream.respond({ ':status': 200, 'content-type': 'text/plain' });
			stream.end('page');
		});
		await body(s, `http://127.0.0.1:${s.port}/page`);
	});
}

for (const [name, words] of Object.entries(clients)) {
	// covers: P-hint-forwarded
	await behindOrigin(`${name} gets the page without the 103 of the origin`, async (s, url) => {
		const [command, ...rest] = words(url);
		const { stdout, stderr, code } = await run(command, rest);
		assert.equal(stdout.trim(), '200 page', stderr);
		assert.equal(code, 0);
	});
}

// covers: P-hint-forwarded
await behindOrigin('apt gets the file without the 103 of the origin', async (s, url) => {
	const folder = workDir();
	s.cleanups.push(() => fs.rmSync(folder, { recursive: true, force: true }));
	const { stdout, stderr, code } = await run('/usr/lib/apt/apt-helper', ['download-file', url, `${folder}/page`]);
	assert.equal(code, 0, `${stdout}\n${stderr}`);
	assert.equal(fs.readFileSync(`${folder}/page`, 'utf8'), 'page');
});

// covers: P-hint-forwarded
await behindOrigin('curl gets both', async (s, url) => {
	const { stdout } = await run('curl', ['-sS', '-i', '--http1.1', url]);
	assert.match(stdout, /^HTTP\/1.1 103 Early Hints\r\n(.*\r\n)*link: <\/a.css>; rel=preload; as=style\r\n(.*\r\n)*\r\nHTTP\/1.1 200 OK\r\n/);
	assert.match(stdout, /\r\n\r\npage$/);
});
