/* SPDX-License-Identifier: MIT */
/* One run of curl: what it was sent, by head, and its bytes as length and digest. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { certs } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';
import { endToEnd, writable } from './matrix-origin.mjs';

/* How curl is told to speak each version, and how it names it. */
export const CLIENTS = {
	h1: { tls: false, args: ['--http1.1'], version: '1.1' },
	h1s: { tls: true, args: ['--http1.1'], version: '1.1' },
	h2c: { tls: false, args: ['--http2-prior-knowledge'], version: '2' },
	h2: { tls: true, args: ['--http2'], version: '2' },
};

/* "HTTP/1.1 200 OK" and its fields, one for each head; what stands behind the last are trailers. */
function parse(text) {
	const heads = [];
	let fields = null;
	const trailers = [];
	for (const line of text.split('\r\n').slice(0, -1)) {
		const status = line.match(/^HTTP\/(\S+) (\d+)/);
		if (status) {
			fields = [];
			heads.push({ version: status[1], status: Number(status[2]), fields });
		} else if (line === '') {
			fields = trailers;
		} else {
			(fields ?? trailers).push([line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]);
		}
	}
	for (const head of heads)
		head.fields = endToEnd(head.fields);
	return { heads, trailers: endToEnd(trailers) };
}

let runs = 0;
/*
 * Asks `url(scheme)`s of `port`, in the version `down`. options: dir (for files), input (bytes, or pieces of them, for
 * stdin), started(child) once it runs. Gives {code, heads, trailers, length, digest, start (of the body), said}.
 */
export async function curl(down, port, paths, args, { dir, input, started } = {}) {
	const { tls, args: versionArgs } = CLIENTS[down];
	const file = path.join(dir, `heads-${++runs}`);
	const urls = paths.map((p) => `${tls ? 'https' : 'http'}://localhost:${port}${p}`);
	const child = spawn('curl', ['-sS', '-4', '-g', '--path-as-is', '-D', file, '--max-time', String(240 * SCALE), '--expect100-timeout', '60',
		...(tls ? ['--cacert', certs().file('ca.pem')] : []), ...versionArgs, ...args, ...urls], { stdio: ['pipe', 'pipe', 'pipe'] });
	const result = { length: 0, start: '', said: '' };
	const hash = createHash('sha256');
	child.stdout.on('data', (d) => {
		result.length += d.length;
		hash.update(d);
		if (result.start.length < 200)
			result.start += d.toString('latin1', 0, 200);
	});
	child.stderr.on('data', (d) => { result.said += d; });
	child.stdin.on('error', () => {});
	const over = new Promise((resolve, reject) => {
		child.once('error', reject);
		child.once('close', (code, signal) => resolve(code ?? signal));
	});
	(async () => {
		for (const piece of input ?? [])
			if (!child.stdin.write(piece))
				await writable(child.stdin);
		if (!started)
			child.stdin.end();
	})();
	await started?.(child);
	result.code = await over;
	result.digest = hash.digest('hex');
	try {
		Object.assign(result, parse(fs.readFileSync(file, 'latin1')));
		fs.rmSync(file);
	} catch {
		Object.assign(result, parse('')); /* it had no answer at all */
	}
	return result;
}
