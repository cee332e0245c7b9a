/* SPDX-License-Identifier: MIT */
/* git as a client, and its own server behind a server of Node's (git http-backend, as CGI). */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { certs } from './gate.mjs';
import { run } from './programs.mjs';

/*
 * Runs git in `dir` without the machine's or the user's configuration: git(...args) gives {code, said}; good(...args)
 * what it said, and fails unless it succeeded.
 */
export function gitIn(dir) {
	const home = path.join(dir, 'home');
	fs.mkdirSync(home, { recursive: true });
	const git = async (...args) => {
		const { code, stdout, stderr } = await run('env', [`HOME=${home}`, 'GIT_CONFIG_NOSYSTEM=1', 'GIT_TERMINAL_PROMPT=0',
			`GIT_SSL_CAINFO=${certs().file('ca.pem')}`, 'git', '-c', 'user.name=A', '-c', 'user.email=a@a.test', ...args], { cwd: dir });
		return { code, said: stdout + stderr };
	};
	const good = async (...args) => {
		const { code, said } = await git(...args);
		assert.equal(code, 0, `git ${args.join(' ')}: ${said}`);
		return said;
	};
	return { git, good };
}

/* `dir`/project.git, which takes pushes from everybody that its server lets in. */
export async function makeRepository(dir) {
	const { good } = gitIn(dir);
	await good('init', '-q', '--bare', '-b', 'main', 'project.git');
	await good('-C', 'project.git', 'config', 'http.receivepack', 'true');
}

/* Answers requests for the repositories in `dir`. */
export function serveRepository(dir) {
	return (request, response) => {
		const { pathname, search } = new URL(request.url, 'http://a.test');
		const child = spawn('git', ['http-backend'], {
			env: {
				...process.env, GIT_PROJECT_ROOT: dir, GIT_HTTP_EXPORT_ALL: '1', PATH_INFO: pathname, QUERY_STRING: search.slice(1),
				REQUEST_METHOD: request.method, CONTENT_TYPE: request.headers['content-type'] ?? '', GIT_PROTOCOL: request.headers['git-protocol'] ?? '',
				HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '', REMOTE_USER: 'somebody', REMOTE_ADDR: '127.0.0.1',
				...(request.headers['content-length'] ? { CONTENT_LENGTH: request.headers['content-length'] } : {}),
			},
			stdio: ['pipe', 'pipe', 'inherit'],
		});
		child.stdin.on('error', () => {});
		request.pipe(child.stdin);
		let head = Buffer.alloc(0);
		const onHead = (bytes) => {
			head = Buffer.concat([head, bytes]);
			const end = head.indexOf('\r\n\r\n');
			if (end < 0)
				return;
			child.stdout.off('data', onHead);
			const fields = head.toString('latin1', 0, end).split('\r\n').map((line) => line.split(/: */));
			const status = fields.find(([name]) => name === 'Status')?.[1].split(' ')[0] ?? '200';
			response.writeHead(Number(status), Object.fromEntries(fields.filter(([name]) => name !== 'Status')));
			response.write(head.subarray(end + 4));
			child.stdout.pipe(response);
		};
		child.stdout.on('data', onHead);
	};
}
