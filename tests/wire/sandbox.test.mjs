/* SPDX-License-Identifier: MIT */
/*
 * What the processes may do while they serve, as the kernel tells it (/proc/PID/status). In a build with a sanitizer
 * the table has more calls, so what is refused is shown by tests/unit/process/sandbox_test.c.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { BINARY, certs, freePort, scenario, section, until, workDir } from '../support/gate.mjs';

const IS_ROOT = process.getuid() === 0;
const onlyRoot = IS_ROOT ? false : 'only root can become another user';
const CAPABILITIES = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'];

function status(pid) {
	const lines = fs.readFileSync(`/proc/${pid}/status`, 'utf8').split('\n').map((l) => l.split(/:\s*/));
	return Object.fromEntries(lines);
}

function children(pid) {
	return fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

function idOf(user) {
	return spawnSync('id', ['-u', user], { encoding: 'utf8' }).stdout.trim();
}

/* The user that the option's sentence promises. */
const SOMEBODY = idOf('pushgate') || idOf('nobody');

function assertConfined(pid, { uid, bounded = true }) {
	const s = status(pid);
	assert.deepEqual(s.Uid.split('\t'), Array(4).fill(uid), s.Name);
	for (const set of CAPABILITIES)
		if (bounded || set !== 'CapBnd')
			assert.equal(Number.parseInt(s[set], 16), 0, `${s.Name} ${set}`);
	assert.equal(s.NoNewPrivs, '1', s.Name);
	assert.equal(s.Seccomp, '2', s.Name);
}

async function exchange(s) {
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { body: 'ok' });
	assert.equal(String((await client.response(1)).body), 'ok');
}

/* Workers and logger, which have settled once a worker answers. */
async function confined(s, options) {
	await exchange(s);
	const all = await until('logger and two workers', () => {
		const names = children(s.gate.pid).filter((pid) => status(pid).Name.startsWith('pushgate-'));
		return names.length === 3 && names.every((pid) => status(pid).Seccomp === '2') && names;
	});
	for (const pid of all)
		assertConfined(pid, options);
	assert.equal(all.filter((pid) => status(pid).Name === 'pushgate-log').length, 1);
}

const two = { single: false, server: { workers: 2 } };

scenario('workers and logger of root have a user without rights, no capability and few calls', { ...two, skip: onlyRoot }, async (s) => {
	await confined(s, { uid: SOMEBODY });
	const master = status(s.gate.pid);
	assert.equal(master.Uid.split('\t')[1], '0');
	assert.equal(master.NoNewPrivs, '1');
	/* CHOWN … SYS_ADMIN are not among what it keeps: DAC_OVERRIDE, DAC_READ_SEARCH, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE. */
	const most = [1, 2, 5, 6, 7, 8, 10].reduce((sum, bit) => sum + 2 ** bit, 0);
	for (const set of ['CapPrm', 'CapEff', 'CapBnd'])
		assert.equal(Number.parseInt(master[set], 16) & ~most, 0, `master ${set}`);
});

scenario('a worker that is started again is as confined as the first, with its keys read', { ...two, tls: true, skip: onlyRoot }, async (s) => {
	await confined(s, { uid: SOMEBODY });
	const [victim] = s.gate.workers();
	process.kill(victim, 'SIGKILL');
	await s.gate.error(/is up again/);
	const fresh = await until('two workers', () => s.gate.workers().length === 2 && s.gate.workers());
	for (const pid of fresh)
		assertConfined(pid, { uid: SOMEBODY });
	await s.gate.error(/was killed by signal 9/);
});

scenario('user = root stays root without its capabilities, and is warned of', { ...two, server: { workers: 2, user: 'root' }, skip: onlyRoot }, async (s) => {
	await confined(s, { uid: '0' });
	await s.gate.error(/warn .*user = root/);
});

scenario('sandbox = off leaves the calls and takes the rest', { single: false, server: { sandbox: 'off' }, skip: onlyRoot }, async (s) => {
	await exchange(s);
	const [worker] = s.gate.workers();
	const { Seccomp, NoNewPrivs, CapEff, Uid } = status(worker);
	assert.deepEqual([Seccomp, NoNewPrivs, Number.parseInt(CapEff, 16), Uid.split('\t')[0]], ['0', '1', 0, SOMEBODY]);
});

scenario('the only process is confined too', { skip: onlyRoot }, async (s) => {
	await exchange(s);
	assertConfined(s.gate.pid, { uid: SOMEBODY });
	fs.renameSync(path.join(s.dir, 'access.log'), path.join(s.dir, 'moved'));
	process.kill(s.gate.pid, 'SIGUSR1');
	await until('a new access log', () => fs.existsSync(path.join(s.dir, 'access.log')));
	s.gate.child.kill('SIGHUP');
	await s.gate.error(/SIGHUP/);
});

scenario('logs in a folder that only root may write to are reopened', { ...two, skip: onlyRoot }, async (s) => {
	fs.chmodSync(s.dir, 0o755);
	await s.gate.error(/ ready\n/);
	fs.renameSync(path.join(s.dir, 'access.log'), path.join(s.dir, 'moved'));
	process.kill(s.gate.pid, 'SIGUSR1');
	await until('a new access log', () => fs.existsSync(path.join(s.dir, 'access.log')));
	await exchange(s);
	await s.gate.access((l) => l.path === '/');
	assert.equal(s.gate.read('moved'), '');
});

/* Runs until it ends by itself, or has said all of `endAt`; gives its exit status and what it said. */
async function run(config, options = {}) {
	const dir = options.dir ?? workDir();
	try {
		fs.writeFileSync(path.join(dir, 'pushgate.ini'), config);
		const child = spawn(BINARY, ['run', '-c', path.join(dir, 'pushgate.ini'), ...(options.args ?? [])], { stdio: ['ignore', 'ignore', 'pipe'] });
		let said = '';
		child.stderr.setEncoding('utf8').on('data', (text) => {
			said += text;
			if (!child.killed && options.endAt?.every((line) => line.test(said)))
				child.kill('SIGTERM');
		});
		const code = await new Promise((resolve) => { child.once('close', resolve); });
		return { code, said };
	} finally {
		fs.rmSync(dir, { recursive: true, force: true });
	}
}

async function basic(server, more = '') {
	return section('server', { workers: 1, ...server }) + section('listen main', { address: `127.0.0.1:${await freePort()}` })
		+ section('origin demo', { server: 'demo:' }) + section('route all', { origin: 'demo' }) + more;
}

for (const args of [[], ['--single']]) {
	test(`files that the user cannot use are named at the start (${args[0] ?? 'master'})`, { skip: onlyRoot }, async () => {
		const closed = workDir();
		fs.chmodSync(closed, 0o700);
		const manifest = path.join(closed, 'push.json');
		fs.writeFileSync(manifest, '{"/a.css": {"type": "style"}}');
		try {
			const unwritable = await run(await basic({ 'remembered-file': path.join(closed, 'pages.json') }, section('preload p', { remembered: 'apply' })), { args });
			assert.deepEqual([unwritable.code, /cannot write in the folder of remembered-file .*pages\.json: Permission denied/.test(unwritable.said)], [2, true], unwritable.said);
			/* A manifest may become readable: it is a warning, and pushgate serves. */
			const unreadable = await run(await basic({}, section('preload p', { manifest })), { args, endAt: [/manifest .*push\.json: cannot be read: Permission denied/, /listening on/] });
			assert.equal(unreadable.code, 0, unreadable.said);
		} finally {
			fs.rmSync(closed, { recursive: true, force: true });
		}
	});
}

test('who is not root keeps the user, gives up the rest, and reads own keys', { timeout: 60000 }, async () => {
	/* Root tries it by becoming nobody first; the keys of the tests are not nobody's, so without TLS then. */
	const dir = workDir();
	const port = await freePort();
	const config = path.join(dir, 'pushgate.ini');
	const keys = IS_ROOT ? {} : { certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') };
	fs.writeFileSync(config, section('server', { workers: 1, 'access-log': path.join(dir, 'access.log'), 'error-log': '-' })
		+ section('listen main', { address: `127.0.0.1:${port}`, ...keys })
		+ section('origin demo', { server: 'demo:' }) + section('route all', { origin: 'demo' }));
	const uid = IS_ROOT ? Number(idOf('nobody')) : process.getuid();
	/* A checkout of root's may be where nobody else can look. */
	const program = IS_ROOT ? path.join(dir, 'pushgate') : BINARY;
	if (IS_ROOT)
		fs.copyFileSync(BINARY, program);
	const child = spawn(program, ['run', '-c', config], { stdio: ['ignore', 'ignore', 'pipe'], ...(IS_ROOT ? { uid, gid: uid } : {}) });
	let said = '';
	child.stderr.setEncoding('utf8').on('data', (text) => { said += text; });
	const ended = new Promise((resolve) => {
		child.once('close', resolve);
		child.once('error', (error) => { said += error.message; resolve(); });
	});
	try {
		await until(() => `ready; it said: ${said}`, () => / ready\n/.test(said));
		const all = children(child.pid).filter((pid) => status(pid).Name.startsWith('pushgate-'));
		assert.equal(all.length, 2);
		for (const pid of all) {
			await until('sandboxed', () => status(pid).Seccomp === '2');
			assertConfined(pid, { uid: String(uid), bounded: false });
		}
	} finally {
		child.kill('SIGTERM');
		await ended;
		fs.rmSync(dir, { recursive: true, force: true });
	}
	assert.equal(child.exitCode, 0, said);
});
