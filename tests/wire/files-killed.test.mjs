/* SPDX-License-Identifier: MIT */
/* The files process is killed again and again under load: nothing is lost but what it had in hand. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { freePort, scenario, section, sleep, until, workDir } from '../support/gate.mjs';
import { nodeClient, nodeOrigin } from '../support/node.mjs';

const dir = workDir();
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
const manifest = path.join(dir, 'push.json');
const pages = path.join(dir, 'pages.json');
const write = (name) => {
	fs.writeFileSync(`${manifest}.new`, JSON.stringify({ 'page.html': { [`/${name}.css`]: { type: 'style' } } }));
	fs.renameSync(`${manifest}.new`, manifest);
};
write('first');
fs.writeFileSync(pages, '{"pushgate-pages":1,"written":1800000000}\n');

const KILLS = 20;
const originPort = await freePort();

function filesProcess(s) {
	const pids = fs.readFileSync(`/proc/${s.gate.pid}/task/${s.gate.pid}/children`, 'utf8').split(' ').filter(Boolean);
	return pids.find((pid) => {
		try {
			return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'pushgate-files';
		} catch {
			return false;
		}
	});
}

scenario('the files process is killed twenty times under load', {
	single: false, server: { workers: 2, 'remembered-file': pages }, origins: { main: { server: `h2c://127.0.0.1:${originPort}` } },
	extra: section('preload built', { manifest, remembered: 'apply' }), timeout: 240000,
}, async (s) => {
	await nodeOrigin(s, originPort, (stream, headers) => {
		stream.respond({ ':status': 200 });
		stream.end(headers[':path']);
	});
	await until('two workers', () => s.gate.workers().length === 2);
	const clients = Array.from({ length: 4 }, () => nodeClient(s));
	let goesOn = true;
	let answered = 0;
	const load = clients.map(async (client) => {
		while (goesOn) {
			const got = await client.get({ ':path': '/other.html', 'sec-fetch-mode': 'navigate' });
			assert.deepEqual([got.status, got.body], [200, '/other.html']);
			answered++;
			await sleep(25);
		}
	});
	let last;
	for (let i = 0; i < KILLS; i++) {
		/* The master waits longer each time, up to five seconds. */
		const pid = await until('another files process', () => {
			const found = filesProcess(s);
			return found && found !== last && found;
		}, 30000);
		const before = answered;
		process.kill(Number(pid), 'SIGKILL');
		last = pid;
		await until('requests go on', () => answered > before + 20);
	}
	goesOn = false;
	await Promise.all(load);
	await until('the deaths are logged', () => s.gate.read('error.log').match(/the files process was killed by signal 9/g).length === KILLS);
	assert.equal(s.gate.workers().length, 2);
	write('second');
	const client = nodeClient(s);
	await until('the manifest of now', async () => {
		client.pushes.clear();
		const got = await client.get({ ':path': '/page.html', 'sec-fetch-mode': 'navigate' });
		assert.equal(got.status, 200);
		return client.pushes.has('/second.css');
	}, 30000);
	process.kill(s.gate.pid, 'SIGTERM');
	await s.gate.ended();
	assert.equal(JSON.parse(fs.readFileSync(pages, 'utf8').split('\n')[0])['pushgate-pages'], 1);
});
