/* SPDX-License-Identifier: MIT */
/*
 * The files of certificates, keys and authorities are replaced while pushgate runs. A worker that is started again goes
 * on with what the start has read, as its siblings do.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import tls from 'node:tls';
import { certs, scenario, section, until } from '../support/gate.mjs';

const copy = (s, name, from) => {
	const file = path.join(s.dir, name);
	fs.writeFileSync(`${file}.new`, fs.readFileSync(certs().file(from)));
	fs.renameSync(`${file}.new`, file);
	return file;
};

/* The serial number of the certificate that one connection is served with. */
const served = (port) => new Promise((resolve, reject) => {
	const socket = tls.connect({ port, host: '127.0.0.1', ca: certs().ca, servername: 'localhost', ALPNProtocols: ['h2'] }, () => {
		resolve(socket.getPeerCertificate().serialNumber);
		socket.destroy();
	});
	socket.once('error', reject);
});

const serialOf = (name) => execFileSync('openssl', ['x509', '-noout', '-serial', '-in', certs().file(name)], { encoding: 'utf8' }).trim().replace('serial=', '');

/* Kills a worker, and waits until the next one serves. */
async function restart(s, pid) {
	const before = s.gate.read('error.log').match(/is up again/g)?.length ?? 0;
	process.kill(pid, 'SIGKILL');
	await until('it is up again', () => (s.gate.read('error.log').match(/is up again/g)?.length ?? 0) > before);
}

const ownFiles = (workers) => ({
	single: false, server: { workers },
	prepare: (s) => {
		s.options.listen = { certificate: copy(s, 'chain.pem', 'rsa.pem'), key: copy(s, 'chain.key', 'rsa.key') };
	},
});

// covers: R231
scenario('after a renewal a worker that is started again serves what its siblings serve', ownFiles(2), async (s) => {
	/* Before that, a worker that is started again is not told of as one that is up again. */
	await s.gate.error(/ ready\n/);
	await until('two workers', () => s.gate.workers().length === 2);
	copy(s, 'chain.pem', 'ecdsa.pem');
	copy(s, 'chain.key', 'ecdsa.key');
	await restart(s, s.gate.workers()[0]);
	const seen = new Set();
	for (let i = 0; i < 40; i++) /* the kernel spreads them over both */
		seen.add(await served(s.port));
	assert.deepEqual([...seen], [serialOf('rsa.pem')]);
});

// covers: R231
for (const [what, change] of [
	['with a new certificate beside the old key', (s) => copy(s, 'chain.pem', 'ecdsa.pem')],
	['with the files gone', (s) => { fs.unlinkSync(path.join(s.dir, 'chain.pem')); fs.unlinkSync(path.join(s.dir, 'chain.key')); }],
])
	scenario(`${what} the only worker comes back`, ownFiles(1), async (s) => {
		await s.gate.error(/ ready\n/);
		change(s);
		await restart(s, s.gate.workers()[0]);
		assert.equal(await served(s.port), serialOf('rsa.pem'));
	});

// covers: R231
scenario('authorities are those of the start', {
	single: false, originTls: true,
	prepare: (s) => { s.options.origin = { 'tls-ca': copy(s, 'ca.pem', 'ca.pem') }; },
}, async (s) => {
	await s.gate.error(/ ready\n/);
	fs.writeFileSync(path.join(s.dir, 'ca.pem'), 'nothing of use');
	await restart(s, s.gate.workers()[0]);
	const { client, origin, up } = await s.open();
	origin.respond(up.stream, { body: 'verified' });
	assert.equal(String((await client.response(1)).body), 'verified');
});

/* Names of the memory files that a process has open, and those that it has mapped. */
function memoryFiles(pid) {
	const open = fs.readdirSync(`/proc/${pid}/fd`).map((fd) => {
		try {
			return fs.readlinkSync(`/proc/${pid}/fd/${fd}`);
		} catch {
			return ''; /* closed meanwhile */
		}
	});
	const mapped = fs.readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
	return [...open, ...mapped].filter((name) => name.includes('memfd:pushgate-start'));
}

const isRoot = process.getuid() === 0;

// covers: R231
scenario('no process but the master keeps the keys that were read', {
	skip: isRoot ? false : 'only root may look into processes that hold keys',
	...ownFiles(2), server: { workers: 2, 'remembered-file': 'pages.json' },
	prepare: (s) => {
		ownFiles(2).prepare(s);
		s.options.listen.access = 'a';
		fs.writeFileSync(path.join(s.dir, 'users'), '');
	},
	extra: section('preload p', { remembered: 'propose' }) + section('access a', { users: 'users', ask: 'all' }),
}, async (s) => {
	await until('all are up', () => / ready\n/.test(s.gate.read('error.log')) && s.gate.workers().length === 2);
	await served(s.port);
	await restart(s, s.gate.workers()[1]);
	await served(s.port);
	const children = fs.readFileSync(`/proc/${s.gate.pid}/task/${s.gate.pid}/children`, 'utf8').split(' ').filter(Boolean);
	assert.equal(memoryFiles(s.gate.pid).length, 1);
	const names = children.map((pid) => fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim());
	assert.deepEqual([...new Set(names)].sort(), ['pushgate-files', 'pushgate-log', 'pushgate-pass', 'pushgate-w0', 'pushgate-w1']);
	for (const pid of children)
		await until(`process ${pid} has none`, () => memoryFiles(pid).length === 0);
});
