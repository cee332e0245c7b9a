/* SPDX-License-Identifier: MIT */
/* Other people's programs in the tests: started, waited for, ended, with what they said. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { answers, patiently, until } from './gate.mjs';
import { SCALE } from './peer.mjs';

/* Runs a program to its end. `signal` after `limit` ms instead of waiting on, when given. */
export async function run(command, args, { limit = 180000 * SCALE, signal, input, cwd } = {}) {
	const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], cwd });
	const out = [];
	const result = { stderr: '', late: false };
	child.stdout.on('data', (d) => out.push(d));
	child.stderr.on('data', (d) => { result.stderr += d; });
	child.stdin.on('error', () => {});
	child.stdin.end(input);
	const timer = setTimeout(() => { result.late = !signal; child.kill(signal ?? 'SIGKILL'); }, limit);
	result.code = await new Promise((resolve, reject) => {
		child.once('error', reject);
		child.once('close', resolve);
	});
	clearTimeout(timer);
	result.raw = Buffer.concat(out);
	result.stdout = result.raw.toString();
	assert.ok(!result.late, `${command} ${args.join(' ')} does not end within ${limit} ms\n${result.stdout.slice(-2000)}\n${result.stderr.slice(-2000)}`);
	return result;
}

/* Big programs, such as those in Python, load for long on a busy machine. */
const START_MS = 90000;

/* Starts a server and waits until it answers on `port`. Ended with the scenario. */
export async function daemon(s, command, args, port) {
	const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
	const d = { child, output: '' };
	child.stdout.on('data', (x) => { d.output += x; });
	child.stderr.on('data', (x) => { d.output += x; });
	const gone = new Promise((resolve) => { child.once('close', resolve); });
	child.once('error', (error) => { d.output += error.message; });
	d.stop = async (signal = 'SIGTERM') => {
		child.kill(signal);
		await patiently(gone, 2000);
		child.kill('SIGKILL');
	};
	s.cleanups.push(d.stop);
	await until(() => `${command} answers: ${d.output}`, () => answers(port), START_MS);
	return d;
}
