/* SPDX-License-Identifier: MIT */
/* A gateway that asks for a password (401): curl, git, and what the origin gets to see of it. forward.test.mjs has 407. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { certs, scenario, section } from '../support/gate.mjs';
import { PASSWORD, USER, passwordLine, serveAll } from '../support/forward.mjs';
import { gitIn, makeRepository, serveRepository } from '../support/git.mjs';
import { run } from '../support/programs.mjs';
import { versionedOrigins } from '../support/versions.mjs';

/* A gateway of TLS before an origin of HTTP/1.1; `serve(s)` gives what it answers. */
function guarded(name, serve, body) {
	scenario(name, {
		tls: true, origins: {}, listen: { access: 'site' },
		async prepare(s) {
			const { ports, close } = await versionedOrigins(serve(s), ['h1']);
			s.cleanups.push(close);
			const users = path.join(s.dir, 'users');
			fs.writeFileSync(users, passwordLine(USER, PASSWORD), { mode: 0o644 });
			s.options.routes = section('origin main', { server: `http://127.0.0.1:${ports.h1}` }) + section('route main', { origin: 'main' })
				+ section('access site', { users, realm: 'the site', ask: 'all', allow: 'user=*' });
		},
	}, async (s) => {
		s.url = `https://localhost:${s.port}`;
		await body(s);
	});
}

guarded('curl with a password, with a wrong one and without one', () => serveAll, async (s) => {
	const curl = (...args) => run('curl', ['-sS', '--cacert', certs().file('ca.pem'), ...args]);
	for (const version of ['--http1.1', '--http2']) {
		const none = await curl(version, '-i', `${s.url}/none`);
		assert.match(none.stdout, /^HTTP\/\S+ 401/);
		assert.match(none.stdout, /^www-authenticate: Basic realm="the site"/im);
		assert.match((await curl(version, '-i', '-u', `${USER}:wrong`, `${s.url}/wrong`)).stdout, /^HTTP\/\S+ 401/);
		assert.equal((await curl(version, '-u', `${USER}:${PASSWORD}`, `${s.url}/page`)).stdout, 'here is /page');
		assert.match((await curl(version, '--anyauth', '-u', `${USER}:${PASSWORD}`, `${s.url}/any`)).stdout, /here is \/any$/);
		const echo = JSON.parse((await curl(version, '-u', `${USER}:${PASSWORD}`, `${s.url}/echo`)).stdout);
		assert.equal(echo.headers.authorization, undefined, 'the origin does not get the password');
	}
	await s.gate.access((l) => l.path === '/page' && l.user === USER);
});

guarded('git clones and pushes with a password in the URL', (s) => serveRepository(s.dir), async (s) => {
	const { git, good } = gitIn(s.dir);
	const url = `${s.url.replace('//', `//${USER}:${encodeURIComponent(PASSWORD)}@`)}/project.git`;
	await makeRepository(s.dir);
	await good('init', '-q', '-b', 'main', 'first');
	fs.writeFileSync(path.join(s.dir, 'first/file'), 'a file\n');
	await good('-C', 'first', 'add', 'file');
	await good('-C', 'first', 'commit', '-q', '-m', 'A file');
	await good('-C', 'first', 'push', '-q', url, 'main');
	await good('clone', '-q', url, 'second');
	assert.equal(fs.readFileSync(path.join(s.dir, 'second/file'), 'utf8'), 'a file\n');
	const refused = await git('clone', '-q', `${s.url}/project.git`, 'refused');
	assert.notEqual(refused.code, 0);
	assert.match(refused.said, /could not read Username|Authentication failed/);
});
