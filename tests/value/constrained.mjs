/* SPDX-License-Identifier: MIT */
/*
 * A client to which pushes are a burden: a metered one that takes pushes, and a browser, which refuses them. The origin
 * pushes 30 assets with its page. How many bytes come from the origin and go to the client, by what the operator says?
 */
import fs from 'node:fs';
import http2 from 'node:http2';
import path from 'node:path';
import { BINARY, freePort, section, sleep, workDir } from '../support/gate.mjs';
import { delay } from '../support/delay.mjs';
import { nodeOrigin } from '../support/node.mjs';
import { daemon } from '../support/programs.mjs';
import { answerOf, namesOf, pathOf } from './works.mjs';

const CELL = { assets: 30, think: 0 };
const VISITS = 10;

const ROWS = [
	{ what: 'takes pushes, action = forward', takes: true, action: 'forward', push: 'auto' },
	{ what: 'takes pushes, action = drop, push = accept', takes: true, action: 'drop', push: 'accept' },
	{ what: 'takes pushes, action = drop, push = auto', takes: true, action: 'drop', push: 'auto' },
	{ what: 'refuses pushes, push = accept', takes: false, action: 'forward', push: 'accept' },
	{ what: 'refuses pushes, push = auto', takes: false, action: 'forward', push: 'auto' },
];

function answer(stream, target) {
	const { status, type, body, fields } = answerOf(target);
	stream.respond({ ':status': status, 'content-type': type, ...fields });
	stream.end(body);
}

/* It pushes all assets before it answers. */
function serve(stream, headers) {
	const target = headers[':path'];
	if (stream.pushAllowed && target === pathOf(CELL))
		for (const name of namesOf(CELL))
			stream.pushStream({ ':path': name }, (error, pushed) => {
				if (error)
					return;
				pushed.on('error', () => {});
				answer(pushed, name);
			});
	answer(stream, target);
}

/* One visit of the page over a connection of its own: the client asks for the page alone. */
async function visit(port, takes) {
	const session = http2.connect(`http://127.0.0.1:${port}`, { settings: { enablePush: takes } });
	session.on('error', () => {});
	await new Promise((resolve) => { session.once('remoteSettings', resolve); });
	session.setLocalWindowSize(1 << 20);
	let last = performance.now();
	const follow = (stream) => {
		stream.on('error', () => {});
		stream.on('data', () => { last = performance.now(); });
	};
	session.on('stream', follow);
	follow(session.request({ ':path': pathOf(CELL) }));
	while (performance.now() - last < 300)
		await sleep(20);
	session.destroy();
}

async function measure({ takes, action, push }) {
	const s = { dir: workDir(), cleanups: [] };
	try {
		const [originPort, port] = [await freePort(), await freePort()];
		await nodeOrigin(s, originPort, serve);
		const far = await delay(originPort, 0);
		s.cleanups.push(() => far.close());
		const file = path.join(s.dir, 'pushgate.ini');
		fs.writeFileSync(file, section('server', { workers: 1, 'error-log': path.join(s.dir, 'error.log'), 'drain-timeout': '1s' })
			+ section('listen main', { address: `127.0.0.1:${port}` }) + section('origin app', { server: `h2c://127.0.0.1:${far.port}`, push })
			+ section('route all', { origin: 'app' }) + section('push all', { action }));
		await daemon(s, BINARY, ['run', '-c', file], port);
		const near = await delay(port, 0);
		s.cleanups.push(() => near.close());
		await visit(near.port, takes);
		const before = { origin: far.bytes.down, client: near.bytes.down };
		for (let i = 0; i < VISITS; i++)
			await visit(near.port, takes);
		return { origin: Math.round((far.bytes.down - before.origin) / VISITS), client: Math.round((near.bytes.down - before.client) / VISITS) };
	} finally {
		for (const end of s.cleanups.reverse())
			await end();
		fs.rmSync(s.dir, { recursive: true, force: true });
	}
}

/* Gives [{what, origin, client}]: bytes of a visit. */
export async function constrained() {
	const rows = [];
	for (const row of ROWS)
		rows.push({ what: row.what, ...await measure(row) });
	return rows;
}
