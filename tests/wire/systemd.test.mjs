/* SPDX-License-Identifier: MIT */
/*
 * The unit of etc/ under a systemd that is started for the test, as the first process of namespaces of its own and with
 * these units alone: start, reload, upgrade, socket activation, watchdog, stop.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, test } from 'node:test';
import { BINARY, ROOT, freePort, section, sleep, until, workDir } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';
import { run } from '../support/programs.mjs';

const SYSTEMD = '/lib/systemd/systemd';

/* Control groups of the test's own, in each hierarchy that there is: systemd sees no others, and makes its own in them. */
const GROUP = `pushgate-test-${process.pid}`;
const groups = ['systemd', 'unified', '.'].map((name) => path.join('/sys/fs/cgroup', name))
	.filter((dir) => fs.existsSync(path.join(dir, 'cgroup.procs'))).map((dir) => path.join(dir, GROUP));
const ENTER = 'for group in $GROUPS; do mkdir $group && echo $$ > $group/cgroup.procs || exit; done; exec unshare "$@"';

/* The namespaces' own /run, /var/log and control groups: the machine's stay as they are. $1: what becomes /run/test. */
const INIT = `set -e
mount --make-rprivate / && mount -t proc proc /proc && mount --bind /etc /etc && mount -o remount,bind,ro /etc
mount -t tmpfs tmpfs /mnt && cp -r "$1" /mnt/test && mount -t tmpfs tmpfs /run && cp -r /mnt/test /run/test && umount /mnt
mount -t tmpfs tmpfs /var/log && mkdir -p /run/lock /run/systemd/system && cp /run/test/units/* /run/systemd/system
umount -R /sys/fs/cgroup && mount -t tmpfs tmpfs /sys/fs/cgroup && mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/unified
mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd && mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
container=test exec ${SYSTEMD} --system --unit=only.target --log-target=null`;

/* ---- the machine ---- */

const dir = workDir();
const port = await freePort();
let init, first;

function writeConfig(file, { workers = 2, more = '' } = {}) {
	fs.writeFileSync(file, section('server', { workers, 'status-socket': '/run/pushgate/status.sock', 'error-log': '/var/log/pushgate/error.log', 'drain-timeout': '5s' })
		+ section('listen web', { address: `127.0.0.1:${port}` }) + section('origin demo', { server: 'demo:' }) + section('route all', { origin: 'demo' }) + more);
}

/* The unit as it is installed, but for its two files' names and for what waits for a network. */
function writeUnits() {
	const units = path.join(dir, 'units');
	fs.mkdirSync(units);
	fs.copyFileSync(BINARY, path.join(dir, 'pushgate'));
	writeConfig(path.join(dir, 'pushgate.ini'));
	const unit = fs.readFileSync(path.join(ROOT, 'etc/pushgate.service'), 'utf8');
	assert.match(unit, /^WatchdogSec=/m);
	/* A sanitizer looks for leaks in a way that the unit does not permit. */
	const environment = 'Environment=ASAN_OPTIONS=detect_leaks=0\n';
	fs.writeFileSync(path.join(units, 'pushgate.service'), unit.replaceAll('/usr/bin/pushgate', '/run/test/pushgate').replaceAll('/etc/pushgate/', '/run/test/')
		.replace(/^(After|Wants)=.*\n/gm, '').replace(/^\[Unit\]\n/m, '[Unit]\nDefaultDependencies=no\n').replace(/^WatchdogSec=.*$/m, `${environment}WatchdogSec=${4 * SCALE}`));
	fs.writeFileSync(path.join(units, 'pushgate.socket'),
		`[Unit]\nDefaultDependencies=no\n[Socket]\nListenStream=127.0.0.1:${port}\nFileDescriptorName=web\nBacklog=1000\n`);
	fs.writeFileSync(path.join(units, 'only.target'), '[Unit]\nDefaultDependencies=no\n');
}

const SPACES = ['-m', '-p', '-i', '-u', '-C'];
const inside = (...args) => spawnSync('nsenter', ['-t', String(first), ...SPACES, ...args], { encoding: 'utf8', timeout: 60000 * SCALE });
const systemctl = (...args) => inside('systemctl', '--no-pager', ...args);
const at = (file) => `/proc/${first}/root${file}`;
const config = () => at('/run/test/pushgate.ini');
const log = () => `${systemctl('status', 'pushgate').stdout}\n${fs.readFileSync(at('/var/log/pushgate/error.log'), 'utf8').split('\n').slice(-30).join('\n')}`;
const unit = () => Object.fromEntries(systemctl('show', 'pushgate', '-p', 'MainPID,ActiveState,Result,StatusText,NRestarts').stdout.trim().split('\n').map((l) => l.split(/=(.*)/).slice(0, 2)));

/* "" if the process has ended. */
function read(file) {
	try {
		return fs.readFileSync(file, 'utf8');
	} catch {
		return '';
	}
}

/* Why there can be none; undefined: it runs. */
async function startSystemd() {
	if (process.getuid() !== 0 || !fs.existsSync(SYSTEMD))
		return 'needs root and systemd';
	writeUnits();
	let text = '';
	init = spawn('sh', ['-c', ENTER, 'sh', ...SPACES, '--kill-child', '--fork', 'sh', '-c', INIT, 'sh', dir], {
		stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, GROUPS: groups.join(' ') },
	});
	for (const stream of [init.stdout, init.stderr])
		stream.setEncoding('utf8').on('data', (part) => { text += part; });
	for (const begun = Date.now(); Date.now() - begun < 20000 * SCALE && init.exitCode === null; await sleep(50)) {
		first = Number(read(`/proc/${init.pid}/task/${init.pid}/children`));
		if (first && read(`/proc/${first}/comm`) === 'systemd\n' && /running|degraded/.test(systemctl('is-system-running').stdout))
			return undefined;
	}
	return `systemd cannot run in namespaces here: ${text.trim() || 'it does not answer'}`;
}

const why = await startSystemd();
/* The first process ends with init, and all processes of its namespace with that. */
after(async () => {
	init?.kill('SIGKILL');
	for (const group of groups.filter((g) => fs.existsSync(g)))
		await until('its control groups are empty', () => spawnSync('find', [group, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', '+']).status === 0);
	fs.rmSync(dir, { recursive: true, force: true });
});
const row = (name, body) => test(name, { skip: why, timeout: 120000 * SCALE }, body);

const get = () => new Promise((resolve) => {
	http.get({ host: '127.0.0.1', port, path: '/', agent: false }, (response) => {
		response.resume().on('end', () => resolve(response.statusCode)).on('error', (e) => resolve(e.code));
	}).on('error', (e) => resolve(e.code));
});

/* ---- what the unit does ---- */

row('starts, and is told of as serving', async () => {
	const r = systemctl('start', 'pushgate');
	assert.equal(r.status, 0, r.stderr);
	assert.equal(await get(), 200);
	assert.equal(unit().StatusText, 'serving');
});

row('reload waits for the result and tells a mistake', async () => {
	writeConfig(config(), { workers: 3 });
	assert.equal(systemctl('reload', 'pushgate').status, 0);
	assert.equal(unit().StatusText, 'serving; last reload: done');
	writeConfig(config(), { more: '[route bad]\norigin = nobody\n' });
	assert.notEqual(systemctl('reload', 'pushgate').status, 0);
	assert.equal(unit().StatusText, 'serving; last reload: done', 'the command has found the mistake');
	inside('kill', '-HUP', unit().MainPID);
	await until('its result', () => unit().StatusText !== 'serving; last reload: done');
	assert.match(unit().StatusText, /^serving; last reload: refused: \/run\/test\/pushgate\.ini:\d+: .*nobody/);
	assert.equal(unit().ActiveState, 'active');
	assert.equal(await get(), 200);
	writeConfig(config());
});

row('the program of an upgrade is the main process, and can be reloaded', async () => {
	const before = unit().MainPID;
	const r = inside('/run/test/pushgate', 'upgrade', '-c', '/run/test/pushgate.ini');
	assert.equal(r.status, 0, r.stderr);
	await until('another main process', () => unit().MainPID !== before);
	assert.equal(await get(), 200);
	assert.equal(systemctl('reload', 'pushgate').status, 0);
	const now = unit();
	assert.deepEqual([now.ActiveState, now.NRestarts], ['active', '0']);
	assert.notEqual(now.MainPID, '0');
});

row('stops well', async () => {
	assert.equal(systemctl('stop', 'pushgate').status, 0);
	const { ActiveState, Result } = unit();
	assert.deepEqual({ ActiveState, Result }, { ActiveState: 'inactive', Result: 'success' });
	assert.equal(await get(), 'ECONNREFUSED');
});

row('a client of the socket unit starts it, and none is refused by a restart', async () => {
	assert.equal(systemctl('start', 'pushgate.socket').status, 0);
	assert.equal(unit().ActiveState, 'inactive');
	assert.equal(await get(), 200, log());
	assert.equal(unit().ActiveState, 'active');
	let ends = false;
	const answers = [];
	const clients = Promise.all(Array.from({ length: 4 }, async () => {
		while (!ends)
			answers.push(await get());
	}));
	for (let i = 0; i < 3; i++)
		assert.equal((await run('nsenter', ['-t', String(first), ...SPACES, 'systemctl', 'restart', 'pushgate'])).code, 0);
	ends = true;
	await clients;
	assert.deepEqual([...new Set(answers)], [200]);
	assert.ok(answers.length > 4);
});

row('a worker that hangs ends it, and it is started again', async () => {
	const { NRestarts } = unit();
	const worker = fs.readFileSync(at('/sys/fs/cgroup/unified/system.slice/pushgate.service/cgroup.procs'), 'utf8').trim().split('\n')
		.find((pid) => fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('pushgate: worker'));
	process.kill(Number(worker), 'SIGSTOP');
	await until('a restart', () => Number(unit().NRestarts) > Number(NRestarts));
	assert.equal(await get(), 200);
});
