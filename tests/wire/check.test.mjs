/* SPDX-License-Identifier: MIT */
/*
 * `check` finds what `run` would find: for each thing that a start needs of the machine, both say the same line, `run`
 * ends with the status that the weight of the finding says, and `check` leaves everything as it was. `check --json` has
 * the same findings.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, test } from 'node:test';
import { assertSameFindings } from '../support/findings.mjs';
import { BINARY, certs, freePort, section, until, workDir } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';

const isRoot = process.getuid() === 0;
const needsRoot = isRoot ? false : 'only root can start as another user';
const NOBODY = 65534;
const dir = workDir();
after(() => fs.rmSync(dir, { recursive: true, force: true }));

let places = 0;
function place() {
	const own = path.join(dir, `${++places}`);
	fs.mkdirSync(own);
	fs.chmodSync(own, 0o777);
	return own;
}

/* The program where every user may run it: the tree may be in a folder of root's own. */
let copied;
function copyForAll() {
	copied ??= path.join(dir, 'pushgate');
	if (!fs.existsSync(copied))
		fs.copyFileSync(BINARY, copied);
	return copied;
}

/* Runs to its end. {wrap: a command that runs it, uid, cwd} */
function pushgate(args, { wrap = [], uid, cwd } = {}) {
	const [command, ...rest] = [...wrap, uid ? copyForAll() : BINARY, ...args];
	const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'], cwd, ...(uid ? { uid, gid: uid } : {}) });
	const result = { stdout: '', stderr: '' };
	child.stdout.setEncoding('utf8').on('data', (text) => { result.stdout += text; });
	child.stderr.setEncoding('utf8').on('data', (text) => { result.stderr += text; });
	const timer = setTimeout(() => child.kill('SIGKILL'), 20000 * SCALE);
	return new Promise((resolve) => {
		child.once('close', (code, signal) => { clearTimeout(timer); resolve({ ...result, code: code ?? signal }); });
	});
}

/* All that can be seen of a folder: nothing in it was made, removed or written. */
function look(folder) {
	return fs.readdirSync(folder).sort().map((name) => {
		const at = path.join(folder, name);
		const s = fs.lstatSync(at);
		return `${at} ${s.ino} ${s.size} ${s.mtimeMs} ${s.mode}\n${s.isDirectory() ? look(at) : ''}`;
	}).join('');
}

/* What a configuration has besides what a row is about. */
const rest = section('origin demo', { server: 'demo:' }) + section('route all', { origin: 'demo' });
/* A remembered-file is of no use where nothing remembers. */
const remembers = (server) => (server['remembered-file'] ? section('preload remembering', { remembered: 'propose' }) : '');
const whole = (server, address, more = '') => section('server', { workers: 1, ...server }) + section('listen main', { address }) + rest + more + remembers(server);
const lineOf = (config, text) => config.split('\n').findIndex((l) => l.includes(text)) + 1;

/*
 * One need that is not met. make(folder, port) gives:
 *   config           its text
 *   at               a part of the line that the finding is about
 *   says             what the finding says, cause and remedy
 *   close            ends what was made for it
 * weight: fault, passing, warning, or mistake (of the configuration: no snapshot, nothing else is examined).
 */
function need(name, weight, make, { skip = false, ...how } = {}) {
	test(name, { skip, timeout: 120000 * SCALE }, async () => {
		const folder = place();
		const made = await make(folder, await freePort());
		try {
			const config = path.join(folder, 'gw.ini');
			fs.writeFileSync(config, made.config);
			const before = look(folder);
			const checked = await pushgate(['check', '-c', config], how);
			const isWrong = weight === 'fault' || weight === 'mistake';
			const all = checked.stdout + checked.stderr;
			const place = `${config}:${lineOf(made.config, made.at)}: `;
			const found = checked.stderr.split('\n').find((l) => l.startsWith(place + (isWrong ? '' : 'warning: ')));
			assert.ok(found, `no finding at ${place}\n${all}`);
			assert.match(found, made.says);
			assert.match(found, /; \S/, 'it says what to do');
			assert.equal(checked.code, isWrong ? 2 : 0, all);
			const last = all.trim().split('\n').find((l) => l.startsWith(`${config}: `));
			assert.equal(last, isWrong ? `${config}: 1 mistake` : `${config}: ok, 1 warning`);
			const json = await pushgate(['check', '--json', '-c', config], how);
			assert.deepEqual([json.code, json.stderr], [checked.code, '']);
			assertSameFindings(config, json.stdout, json.code, checked.stderr);
			assert.equal(look(folder), before, 'check changed something');
			if (!isWrong) {
				const strict = await pushgate(['check', '--strict', '-c', config], how);
				assert.equal(strict.code, 2, strict.stderr);
				assert.ok(strict.stderr.endsWith(`${config}: 1 warning\n`), strict.stderr);
				const strictly = await pushgate(['check', '--strict', '--json', '-c', config], how);
				assert.deepEqual([strictly.code, JSON.parse(strictly.stdout).result], [2, 'wrong']);
			}
			for (const single of weight === 'warning' ? [] : [['--single'], []]) {
				const ran = await pushgate(['run', ...single, '-c', config], how);
				assert.ok(ran.stderr.split('\n').includes(found.replace(': warning: ', ': ')), `run does not say\n${found}\nbut\n${ran.stderr}`);
				assert.equal(ran.code, weight === 'passing' ? 1 : 2, ran.stderr);
			}
		} finally {
			await made.close?.();
		}
	});
}

const listening = (server, ...where) => new Promise((resolve, reject) => {
	server.once('error', reject);
	server.listen(...where, () => resolve(() => new Promise((done) => { server.close(done); })));
});

/* ---- users and rights ---- */

need('a user that is not there', 'mistake', (folder, port) => ({
	config: whole({ user: 'no-such-user' }, `127.0.0.1:${port}`), at: 'user =', says: /no user 'no-such-user'/,
}));
need('a user that only root can become', 'fault', (folder, port) => ({
	config: whole({ user: 'root' }, `127.0.0.1:${port}`), at: 'user =', says: /cannot run as user root: only root can become another user/,
}), { skip: needsRoot, uid: NOBODY });
need('root that may not become another user', 'fault', (folder, port) => ({
	config: whole({ user: 'nobody' }, `127.0.0.1:${port}`), at: 'user =', says: /cannot become user nobody: .*; give pushgate the capabilities SETUID and SETGID/,
}), { skip: needsRoot, wrap: ['setpriv', '--bounding-set=-setuid,-setgid'] });
need('too few descriptors for a start', 'fault', (folder, port) => ({
	config: whole({}, `127.0.0.1:${port}`), at: 'workers =', says: /may have 30 descriptors, .*raise the limit/,
}), { wrap: ['sh', '-c', 'ulimit -n 30 && exec "$@"', 'sh'] });
need('fewer descriptors than clients', 'warning', (folder, port) => ({
	config: whole({}, `127.0.0.1:${port}`).replace('[origin', 'max-connections = 5000\n[origin'), at: 'max-connections =',
	says: /may have 1000 descriptors, too few for the 5000 max-connections .*raise the limit/,
}), { wrap: ['sh', '-c', 'ulimit -n 1000 && exec "$@"', 'sh'] });

/* ---- addresses ---- */

need('a port that another program has', 'passing', async (folder, port) => {
	const close = await listening(net.createServer(), port, '127.0.0.1');
	return { config: whole({}, `127.0.0.1:${port}`), at: 'address =', says: new RegExp(`127\\.0\\.0\\.1:${port} is in use by \\S+ \\(pid ${process.pid}\\); stop it or choose another port`), close };
});
need('a port that another program has on all addresses', 'passing', async (folder, port) => {
	const close = await listening(net.createServer(), port);
	return { config: whole({}, `127.0.0.1:${port}`), at: 'address =', says: new RegExp(`is in use by \\S+ \\(pid ${process.pid}\\)`), close };
});
need('a port of which one address is taken', 'passing', async (folder, port) => {
	const close = await listening(net.createServer(), port, '127.0.0.1');
	return { config: whole({}, `*:${port}`), at: 'address =', says: new RegExp(`is in use by \\S+ \\(pid ${process.pid}\\)`), close };
});
need('a port of a process that this user may not see', 'passing', async (folder, port) => {
	const close = await listening(net.createServer(), port, '127.0.0.1');
	return { config: whole({}, `127.0.0.1:${port}`), at: 'address =', says: new RegExp(`is in use by a process of user root .*ss -ltnp 'sport = :${port}'`), close };
}, { skip: needsRoot, uid: NOBODY });
need('an address that this machine does not have', 'passing', (folder, port) => ({
	config: whole({}, `192.0.2.1:${port}`), at: 'address =', says: new RegExp(`no address 192\\.0\\.2\\.1:${port}; .*\\*:${port} for all`),
}));
need('a source-address that this machine does not have', 'warning', (folder, port) => ({
	config: whole({}, `127.0.0.1:${port}`).replace('server = demo:', 'server = http://127.0.0.1:81\nsource-address = 192.0.2.1'),
	at: 'source-address =', says: /this machine has no address 192\.0\.2\.1; see `ip address`/,
}));
need('the same port in two sections', 'fault', (folder, port) => ({
	config: whole({}, `127.0.0.1:${port}`) + section('listen other', { address: `*:${port}` }), at: 'address = *',
	says: new RegExp(`\\*:${port} and 127\\.0\\.0\\.1:${port} of \\[listen main\\] at .*gw\\.ini:5 need the same port; choose another`),
}));
const lowest = Number(fs.readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
need('a port below 1024', 'fault', () => ({
	config: whole({}, '127.0.0.1:81'), at: 'address =', says: /may not listen on port 81 .*NET_BIND_SERVICE/,
}), { skip: needsRoot || (lowest <= 81 && 'this machine lets everybody listen on port 81'), uid: NOBODY });
need('a unix address in no folder', 'fault', (folder) => ({
	config: whole({}, `unix:${folder}/gone/s`), at: 'address =', says: /the folder of address .*gone\/s does not exist; make it \(mkdir -p .*gone\)/,
}));
need('a unix address that is a file', 'fault', (folder) => {
	fs.writeFileSync(`${folder}/s`, 'x');
	return { config: whole({}, `unix:${folder}/s`), at: 'address =', says: /\/s exists and is no socket/ };
});
need('a unix address that another program has', 'passing', async (folder) => {
	const close = await listening(net.createServer(), `${folder}/s`);
	return { config: whole({}, `unix:${folder}/s`), at: 'address =', says: new RegExp(`is in use by \\S+ \\(pid ${process.pid}\\)`), close };
});

/* ---- the status socket ---- */

need('a status-socket in no folder', 'fault', (folder, port) => ({
	config: whole({ 'status-socket': 'gone/s' }, `127.0.0.1:${port}`), at: 'status-socket', says: /the folder of status-socket .*\/gone\/s does not exist/,
}));
need('a status-socket that is a file', 'fault', (folder, port) => {
	fs.writeFileSync(`${folder}/s`, 'x');
	return { config: whole({ 'status-socket': 's' }, `127.0.0.1:${port}`), at: 'status-socket', says: /status-socket .*\/s exists and is no socket/ };
});
need('a status-socket that another program has', 'passing', async (folder, port) => {
	const close = await listening(net.createServer(), `${folder}/s`);
	return { config: whole({ 'status-socket': 's' }, `127.0.0.1:${port}`), at: 'status-socket', says: new RegExp(`is in use by \\S+ \\(pid ${process.pid}\\); end that`), close };
});
need('a status-socket of a process that this user may not ask', 'passing', async (folder, port) => {
	const close = await listening(net.createServer(), `${folder}/s`);
	fs.chmodSync(`${folder}/s`, 0o600);
	return { config: whole({ 'status-socket': 's' }, `127.0.0.1:${port}`), at: 'status-socket', says: /cannot be asked whether a process listens there: Permission denied; see `ss -lxp`/, close };
}, { skip: needsRoot, uid: NOBODY });
need('a status-socket in a folder of somebody else', 'fault', (folder, port) => {
	fs.mkdirSync(`${folder}/own`, 0o755);
	return { config: whole({ 'status-socket': 'own/s' }, `127.0.0.1:${port}`), at: 'status-socket', says: /user nobody cannot write in the folder of status-socket .*Permission denied; .*chown nobody / };
}, { skip: needsRoot, uid: NOBODY });

/* ---- logs ---- */

for (const key of ['access-log', 'error-log']) {
	need(`an ${key} in no folder`, 'fault', (folder, port) => ({
		config: whole({ [key]: 'gone/log' }, `127.0.0.1:${port}`), at: key, says: new RegExp(`the folder of ${key} .*/gone/log does not exist; make it`),
	}));
	need(`an ${key} that is a folder`, 'fault', (folder, port) => {
		fs.mkdirSync(`${folder}/log`);
		return { config: whole({ [key]: 'log' }, `127.0.0.1:${port}`), at: key, says: /cannot be opened: it is no regular file/ };
	});
	need(`an ${key} that is a symbolic link`, 'fault', (folder, port) => {
		fs.symlinkSync('/dev/null', `${folder}/log`);
		return { config: whole({ [key]: 'log' }, `127.0.0.1:${port}`), at: key, says: /cannot be opened: it is a symbolic link; name another path/ };
	});
	need(`an ${key} below a file`, 'fault', (folder, port) => {
		fs.writeFileSync(`${folder}/file`, '');
		return { config: whole({ [key]: 'file/log' }, `127.0.0.1:${port}`), at: key, says: /is no folder; name another path/ };
	});
	need(`an ${key} of somebody else`, 'fault', (folder, port) => {
		fs.writeFileSync(`${folder}/log`, '', { mode: 0o644 });
		return { config: whole({ [key]: 'log' }, `127.0.0.1:${port}`), at: key, says: /cannot be opened: Permission denied/ };
	}, { skip: needsRoot, uid: NOBODY });
	need(`an ${key} that is a FIFO without a reader`, 'passing', (folder, port) => {
		execFileSync('mkfifo', [`${folder}/log`]);
		return { config: whole({ [key]: 'log' }, `127.0.0.1:${port}`), at: key, says: /is a FIFO that no process is seen to read; start its reader first/ };
	});
}
test('a FIFO that is read is no finding, and its reader does not see its end', { timeout: 120000 * SCALE }, async () => {
	const folder = place();
	execFileSync('mkfifo', [`${folder}/log`]);
	const reader = fs.openSync(`${folder}/log`, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
	/* Opened once by a writer that stays: an end would be seen from now on. */
	const writer = fs.openSync(`${folder}/log`, 'w');
	fs.writeFileSync(`${folder}/gw.ini`, whole({ 'access-log': 'log' }, `127.0.0.1:${await freePort()}`));
	const { code, stderr } = await pushgate(['check', '--strict', '-c', `${folder}/gw.ini`]);
	assert.equal(code, 0, stderr);
	fs.closeSync(writer);
	fs.closeSync(reader);
});

/* ---- manifests and the remembered-file ---- */

const preload = (manifest) => section('preload p', { manifest });
/* In a mount namespace, where the folder is what systemd's ProtectSystem= makes of it. */
const readOnly = ['unshare', '-m', 'sh', '-c', `mount -t tmpfs -o ro none "${dir}/ro" && exec "$@"`, 'sh'];
fs.mkdirSync(path.join(dir, 'ro'));
const canMount = spawnSync(readOnly[0], [...readOnly.slice(1), 'true']).status === 0;

need('a log on a read-only file system', 'fault', (folder, port) =>
	({ config: whole({ 'access-log': `${dir}/ro/a.log` }, `127.0.0.1:${port}`), at: 'access-log', says: /access-log \S+ cannot be made: its file system is read-only here; make it writable \(ReadWritePaths=\S+ro of systemd\) or name/ }),
{ skip: canMount ? false : 'no permission to mount a tmpfs', wrap: readOnly });

need('a manifest that is not there', 'warning', (folder, port) => ({
	config: whole({}, `127.0.0.1:${port}`, preload('gone.json')), at: 'manifest =', says: /manifest \S+gone\.json: cannot be read: No such file.*; it is empty until the file is good/,
}));
need('a second manifest that is not JSON', 'warning', (folder, port) => {
	fs.writeFileSync(`${folder}/good.json`, '{"/a.css": {"type": "style"}}');
	fs.writeFileSync(`${folder}/bad.json`, '{\n x');
	return { config: whole({}, `127.0.0.1:${port}`, preload(['good.json', 'bad.json'])), at: 'bad.json', says: /manifest \S+bad\.json:2:\d+: is not JSON/ };
});
need('a manifest that is a folder', 'warning', (folder, port) => {
	fs.mkdirSync(`${folder}/m.json`);
	return { config: whole({}, `127.0.0.1:${port}`, preload('m.json')), at: 'manifest =', says: /is not a regular file/ };
});
need('a manifest that the workers\' user cannot read', 'warning', (folder, port) => {
	fs.writeFileSync(`${folder}/m.json`, '{}', { mode: 0o600 });
	return { config: whole({ user: 'nobody' }, `127.0.0.1:${port}`, preload('m.json')), at: 'manifest =', says: /m\.json: cannot be read: Permission denied/ };
}, { skip: needsRoot });
const users = (file) => section('access home', { users: file, ask: 'path=/*', allow: 'user=*' });
/* On the listener that the file has anyway. */
const guarded = (server, port, file) => whole(server, `127.0.0.1:${port}`, users(file)).replace('[listen main]', '[listen main]\naccess = home');
need('a file of users that is not there', 'fault', (folder, port) => ({
	config: guarded({}, port, 'gone'), at: 'users =', says: /users \S+gone cannot be read: No such file or directory; name a file/,
}));
need('a file of users with a hash that is quick to guess', 'fault', (folder, port) => {
	fs.writeFileSync(`${folder}/users`, '# nobody yet\nbob:$apr1$salt$hash\n');
	return { config: guarded({}, port, 'users'), at: 'users =', says: /users \S+users:2: a hash of this kind is quick to guess; make it with htpasswd -B or mkpasswd/ };
});
need('a file of users that the workers\' user cannot read', 'fault', (folder, port) => {
	fs.writeFileSync(`${folder}/users`, '', { mode: 0o600 });
	return { config: guarded({ user: 'nobody' }, port, 'users'), at: 'users =', says: /users \S+users cannot be read: Permission denied; name a file that/ };
}, { skip: needsRoot });
const BOB = 'bob:$2b$04$DDDDDDDDDDDDDDDDDDDDD./G8yeFqOwrkLaRfiIayxru6Hhx3l9he\n';
need('a user of a rule whom the file of users lacks', 'warning', (folder, port) => {
	fs.writeFileSync(`${folder}/users`, BOB);
	return {
		config: guarded({}, port, 'users').replace('allow = user=*', 'allow = user=bob,*\nallow = user=bbo,bob'),
		at: 'user=bbo', says: /warning: the user bbo is not in \S+users; correct the name, or add the user \(htpasswd -B \S+users bbo\)$/,
	};
});
need('a user of a [push] whom no file of users has', 'warning', (folder, port) => {
	fs.writeFileSync(`${folder}/users`, BOB);
	return {
		config: `${guarded({}, port, 'users')}[push few]\naction = drop\nhost = few\nuser = *\n[push some]\naction = drop\nhost = demo\nuser = anna bob\n`,
		at: 'user = anna', says: /warning: the user anna is in no file of users; correct/,
	};
});
need('a remembered-file in a folder of root', 'fault', (folder, port) => {
	fs.mkdirSync(`${folder}/own`, 0o755);
	return { config: whole({ user: 'nobody', 'remembered-file': 'own/l.json' }, `127.0.0.1:${port}`), at: 'remembered-file', says: /user nobody cannot write in the folder of remembered-file .*Permission denied; .*chown nobody / };
}, { skip: needsRoot });
need('a remembered-file in no folder', 'fault', (folder, port) => ({
	config: whole({ 'remembered-file': 'gone/p.json' }, `127.0.0.1:${port}`), at: 'remembered-file', says: /the folder of remembered-file .* does not exist; make it/,
}));
need('a remembered-file that is a folder', 'fault', (folder, port) => {
	fs.mkdirSync(`${folder}/p`);
	return { config: whole({ 'remembered-file': 'p' }, `127.0.0.1:${port}`), at: 'remembered-file', says: /is a folder; name a file in it/ };
});
need('a remembered-file that is no memory of pages', 'warning', (folder, port) => {
	fs.writeFileSync(`${folder}/p.json`, '{}\n');
	return { config: whole({ 'remembered-file': 'p.json' }, `127.0.0.1:${port}`), at: 'remembered-file', says: /remembered: \S+p\.json:1: .*; the memory begins empty and replaces the file/ };
});

/* ---- what the configuration is asked for itself ---- */

need('a key that is not there', 'mistake', (folder, port) => ({
	config: whole({}, `127.0.0.1:${port}`).replace('[origin', `certificate = ${certs().file('rsa.pem')}\nkey = gone.key\n[origin`), at: 'gone.key', says: /gone\.key/,
}));
need('a key that the user who starts cannot read', 'mistake', (folder, port) => {
	fs.copyFileSync(certs().file('rsa.key'), `${folder}/own.key`);
	fs.copyFileSync(certs().file('rsa.pem'), `${folder}/own.pem`);
	fs.chmodSync(`${folder}/own.key`, 0o600);
	return { config: whole({}, `127.0.0.1:${port}`).replace('[origin', 'certificate = own.pem\nkey = own.key\n[origin'), at: 'own.key', says: /Permission denied/ };
}, { skip: needsRoot, uid: NOBODY });
/* covers: R439 */
test('a name is not looked up: one that nobody knows is fine', { timeout: 120000 * SCALE }, async () => {
	const folder = place();
	const config = `${folder}/gw.ini`;
	fs.writeFileSync(config, whole({ resolver: `127.0.0.1:${await freePort()}` }, `127.0.0.1:${await freePort()}`).replace('demo:', 'h2c://nowhere.invalid:80'));
	const { code, stdout, stderr } = await pushgate(['check', '--strict', '-c', config]);
	assert.deepEqual([code, stdout, stderr], [0, `${config}: ok\n`, '']);
});

/* ---- the whole ---- */

test('what is fine is "ok" alone, and nothing stays open or is made', { timeout: 120000 * SCALE }, async () => {
	const folder = place();
	const config = `${folder}/gw.ini`;
	fs.writeFileSync(`${folder}/m.json`, '{"/a.css": {"type": "style"}}');
	fs.writeFileSync(config, whole({ 'access-log': 'a.log', 'error-log': 'e.log', 'status-socket': 's', 'remembered-file': 'l.json' }, `127.0.0.1:${await freePort()}`,
		section('listen u', { address: `unix:${folder}/u` }) + preload('m.json')));
	const before = look(folder);
	const { code, stdout, stderr } = await pushgate(['check', '--strict', '-c', config]);
	assert.deepEqual([code, stdout, stderr], [0, `${config}: ok\n`, '']);
	assert.equal(look(folder), before);
});

test('several findings are all reported and counted', { timeout: 120000 * SCALE }, async () => {
	const folder = place();
	const config = `${folder}/gw.ini`;
	fs.writeFileSync(config, whole({ 'access-log': 'gone/a.log', 'status-socket': 'gone/s', 'remembered-file': 'gone/l' }, `127.0.0.1:${await freePort()}`, preload(['a.json', 'b.json'])));
	const { code, stderr } = await pushgate(['check', '-c', config]);
	assert.equal(code, 2);
	assert.ok(stderr.endsWith(`\n${config}: 3 mistakes, 2 warnings\n`), stderr);
});

async function started(config, options = {}, body) {
	const child = spawn(BINARY, ['run', '-c', config], { stdio: ['ignore', 'ignore', 'pipe'], ...options });
	let said = '';
	child.stderr.setEncoding('utf8').on('data', (text) => { said += text; });
	const ended = new Promise((resolve) => { child.once('close', resolve); });
	try {
		await until(() => `it is ready: ${said}`, () => /\bready\n/.test(said));
		await body(child.pid, () => said);
	} finally {
		child.kill('SIGTERM');
		assert.equal(await ended, 0, said);
	}
}

test('while it runs, check knows it by its status-socket, and a second one does not start', { timeout: 120000 * SCALE }, async () => {
	const folder = place();
	const port = await freePort();
	const config = `${folder}/gw.ini`;
	fs.writeFileSync(config, whole({ 'status-socket': 's' }, `127.0.0.1:${port}`));
	await started(config, {}, async (pid) => {
		const checked = await pushgate(['check', '--strict', '-c', config]);
		assert.equal(checked.code, 0, checked.stderr);
		assert.equal(checked.stdout, `${config}: ok\n`);
		assert.match(checked.stderr, new RegExp(`gw\\.ini:3: note: pushgate\\S* \\(pid ${pid}\\) answers on status-socket `));
		const second = await pushgate(['run', '-c', config]);
		assert.equal(second.code, 1, second.stderr);
		assert.match(second.stderr, new RegExp(`gw\\.ini:3: status-socket \\S+ is in use by pushgate\\S* \\(pid ${pid}\\)`));
		assert.match(second.stderr, new RegExp(`gw\\.ini:6: 127\\.0\\.0\\.1:${port} is in use by pushgate\\S* \\(pid ${pid}\\)`));
		/* Another configuration wants the same port. */
		const other = `${folder}/other.ini`;
		fs.writeFileSync(other, whole({}, `127.0.0.1:${port}`));
		const warned = await pushgate(['check', '-c', other]);
		assert.equal(warned.code, 0, warned.stderr);
		assert.match(warned.stderr, /other\.ini:5: warning: .* is in use by pushgate/);
		assert.match(execFileSync(BINARY, ['status', '-c', config], { encoding: 'utf8' }), new RegExp(`process ${pid}`), 'it still answers');
	});
});

/* Each as {cwd, -c} from the folder above the configuration's. */
const spellings = [
	{ name: 'from its own folder', cwd: 'conf', c: 'gw.ini' },
	{ name: 'with ./', cwd: 'conf', c: './gw.ini' },
	{ name: 'from the folder above', cwd: '.', c: 'conf/gw.ini' },
	{ name: 'from another folder', cwd: 'else', c: '../conf/gw.ini' },
	{ name: 'through a linked folder', cwd: '.', c: 'link/gw.ini' },
	{ name: 'in a linked working folder', cwd: 'link', c: 'gw.ini' },
	{ name: 'with the whole path', cwd: '/', c: null },
];
test('a path starts at the folder of its file, however -c is written', { timeout: 120000 * SCALE }, async () => {
	for (const [i, { name, cwd, c }] of spellings.entries()) {
		const top = place();
		const at = (file) => path.join(top, 'conf', file);
		for (const folder of ['conf', 'conf/sub', 'else'])
			fs.mkdirSync(path.join(top, folder));
		fs.symlinkSync('conf', path.join(top, 'link'));
		const port = await freePort();
		fs.writeFileSync(at('gw.ini'), `include = sub/*.ini\n${section('server', { workers: 1, 'access-log': 'a.log', 'status-socket': 's' })}${rest}`);
		fs.writeFileSync(at('sub/listen.ini'), section('listen main', { address: `127.0.0.1:${port}` }) + preload('m.json'));
		fs.writeFileSync(at('sub/m.json'), '{"/a.css": {"type": "style"}}');
		const args = (s) => ['-c', s.c ?? at('gw.ini')];
		const where = (s) => ({ cwd: path.resolve(top, s.cwd) });
		const own = { cwd: path.resolve(top, cwd) };
		const checked = await pushgate(['check', '--strict', ...args({ c })], own);
		assert.equal(checked.code, 0, `${name}: ${checked.stderr}`);
		const child = spawn(BINARY, ['run', ...args({ c })], { ...own, stdio: 'ignore' });
		const ended = new Promise((resolve) => { child.once('close', resolve); });
		try {
			await until(`${name}: the status-socket`, () => fs.existsSync(at('s')));
			const other = spellings[(i + 1) % spellings.length];
			const status = await pushgate(['status', ...args(other)], where(other));
			assert.equal(status.code, 0, `${name}, asked ${other.name}: ${status.stderr}`);
			assert.ok(fs.existsSync(at('a.log')), name);
		} finally {
			child.kill('SIGTERM');
			await ended;
		}
	}
});

test('check --as USER reads and writes as that user would', { skip: needsRoot, timeout: 120000 * SCALE }, async () => {
	const folder = place();
	const config = `${folder}/gw.ini`;
	const port = await freePort();
	fs.mkdirSync(`${folder}/own`, 0o755);
	for (const [file, from] of [['own.key', 'rsa.key'], ['own.pem', 'rsa.pem']]) {
		fs.copyFileSync(certs().file(from), `${folder}/${file}`);
		fs.chmodSync(`${folder}/${file}`, file === 'own.key' ? 0o600 : 0o644);
	}
	const write = (more) => fs.writeFileSync(config, whole({ 'access-log': 'own/a.log' }, `127.0.0.1:${port}`).replace('[origin', `${more}[origin`));
	write('');
	assert.equal((await pushgate(['check', '-c', config])).code, 0);
	const logs = await pushgate(['check', '--as', 'nobody', '-c', config]);
	assert.equal(logs.code, 2);
	assert.match(logs.stderr, /gw\.ini:3: user nobody cannot write in the folder of access-log/);
	write('certificate = own.pem\nkey = own.key\n');
	assert.equal((await pushgate(['check', '-c', config])).code, 0);
	const keys = await pushgate(['check', '--as', 'nobody', '-c', config]);
	assert.equal(keys.code, 2);
	assert.match(keys.stderr, /own\.key.* cannot be read: Permission denied/);
	const unknown = await pushgate(['check', '--as', 'no-such-user', '-c', config]);
	assert.equal(unknown.code, 2);
	assert.match(unknown.stderr, /--as no-such-user: .*there is no such user/);
	const other = await pushgate(['check', '--as', 'root', '-c', config], { uid: NOBODY });
	assert.equal(other.code, 2);
	assert.match(other.stderr, /--as root: .*only root can become another user/);
	fs.chmodSync(`${folder}/own.key`, 0o644);
	fs.chownSync(`${folder}/own`, NOBODY, NOBODY);
	const own = await pushgate(['check', '--as', 'nobody', '-c', config], { uid: NOBODY });
	assert.equal(own.code, 0, own.stderr);
});
