/* SPDX-License-Identifier: MIT */
/* A page run in a network namespace of its own, where its ports are free and its programs alone; its results. */
import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import fs from 'node:fs';
import net from 'node:net';
import { ROOT } from './gate.mjs';
import { readPage } from './page_text.mjs';

const RUNNER = path.join(ROOT, 'tests/support/page_run.mjs');

/*
 * What stands in front of the command. Who is not root needs a user namespace, in which it is root no more once the loopback
 * interface is up: pushgate as root would become another user, and there is none.
 */
const ALONE = process.getuid() === 0
	? ['unshare', '--net', 'sh', '-c', 'PATH=$PATH:/usr/sbin:/sbin; ip link set lo up && exec "$@"', 'sh']
	: ['unshare', '--user', '--map-current-user', '--keep-caps', '--net', 'sh', '-c',
		'PATH=$PATH:/usr/sbin:/sbin; ip link set lo up && exec setpriv --ambient-caps=-all --inh-caps=-all "$@"', 'sh'];

export function mayBeAlone() {
	const [command, ...args] = ALONE;
	return spawnSync(command, [...args, 'true'], { stdio: 'ignore' }).status === 0;
}

function isTaken(port) {
	return new Promise((resolve) => {
		const server = net.createServer();
		server.once('error', () => resolve(true));
		server.listen(port, () => server.close(() => resolve(false)));
	});
}

/* Ports of the page that somebody listens on. */
async function takenPorts(file) {
	const blocks = readPage(fs.readFileSync(file, 'utf8')).sections.flatMap((s) => s.blocks);
	const ports = new Set(blocks.filter((b) => b.kind === 'stays').flatMap((b) => b.value.split(' ').map(Number)));
	const taken = [];
	for (const port of ports) {
		if (await isTaken(port))
			taken.push(port);
	}
	return taken;
}

/* The results of a page: [{line, name, why, skipped}]. `skipped` instead where this machine cannot run it. */
export async function runPage(file, { alone = mayBeAlone() } = {}) {
	if (!alone) {
		const taken = await takenPorts(file);
		if (taken.length)
			return { skipped: `no network namespace here, and ports of the page are taken: ${taken.join(' ')}` };
	}
	const [command, ...args] = [...(alone ? ALONE : []), process.execPath, RUNNER, file];
	const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
	let [out, error] = ['', ''];
	child.stdout.on('data', (d) => { out += d; });
	child.stderr.on('data', (d) => { error += d; });
	const status = await new Promise((resolve, reject) => {
		child.once('error', reject);
		child.once('close', resolve);
	});
	const results = out.split('\n').filter(Boolean).map((line) => JSON.parse(line));
	if (status !== 0)
		results.push({ line: 0, name: 'the page is run to its end', why: `exit status ${status}\n${error}` });
	return { results };
}
