/* SPDX-License-Identifier: MIT */
/*
 * A reload with each kind of broken configuration and file: the command ends with the status that a start would end
 * with, names file, line and cause, the error log and the status do too, and those that serve have not noticed.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { certs, freePort, section, until } from '../support/gate.mjs';
import { change, config, gate, get, lastReload, open, run, statusSocket, two, write } from '../support/reloads.mjs';

const isRoot = process.getuid() === 0;
const lowest = Number(fs.readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
const BOB = 'bob:$2b$04$DDDDDDDDDDDDDDDDDDDDD./G8yeFqOwrkLaRfiIayxru6Hhx3l9he\n';

/*
 * Rows: name, {make, config, at, in, says, status}. make(s) writes files; config(s) is the text, or a function that leaves
 * something else at the path. The finding is at the first line of it that contains `at`: 1 if there is no `at`. in: the
 * file that it names in place of the configuration. status: 2 unless the row says 1.
 */
const file = (s, name, content, mode = 0o644) => {
	fs.writeFileSync(path.join(s.dir, name), content);
	fs.chmodSync(path.join(s.dir, name), mode);
};
const plus = (more, parts = {}) => (s) => config(s, { ...parts, more: typeof more === 'function' ? more(s) : more });
const tls = (chain, key) => (s) => section('listen tls', { address: `127.0.0.1:${s.free}`, certificate: chain, key });
const guard = (rules) => (s) => section('access a', rules) + section('listen p', { address: `127.0.0.1:${s.free}`, access: 'a' });
const copy = (name, from) => (s) => file(s, name, fs.readFileSync(certs().file(from)), 0o600);

const rows = [
	['a line that is none', { config: plus('no equals sign here\n'), at: 'no equals', says: /the line is not a section, option or comment/ }],
	['an option that is not there', { config: plus('', { server: { nonsense: 1 } }), at: 'nonsense', says: /has no option 'nonsense'/ }],
	['a section that is not there', { config: plus('[nosuch]\n'), at: '[nosuch]', says: /unknown section \[nosuch\]/ }],
	['a time without a unit', { config: plus('', { server: { 'tunnel-drain-timeout': '30' } }), at: 'tunnel-drain', says: /bad value '30' for tunnel-drain-timeout/ }],
	['fewer generations than a reload needs', { config: plus('', { server: { 'max-generations': 1 } }), at: 'max-generations', says: /bad value '1' for max-generations/ }],
	['more generations than there is room for', { config: plus('', { server: { 'max-generations': 31 } }), at: 'max-generations', says: /bad value '31' for max-generations/ }],
	['a switch that is none', { config: plus('', { server: { 'access-recheck': 'maybe' } }), at: 'access-recheck', says: /bad value 'maybe' for access-recheck/ }],
	['limits that contradict each other', { config: plus('', { server: { memory: '64M', 'connection-memory': '128M' } }), at: 'connection-memory', says: /connection-memory is larger than memory/ }],
	['a pattern that is none', { config: plus('[route p]\npath = /p\nhost = **.x\norigin = main\n'), at: 'host = **', says: /bad value '\*\*\.x' for host/ }],
	['an origin that is not there', { config: plus('[route bad]\npath = /b\norigin = nowhere\n'), at: 'nowhere', says: /there is no \[origin nowhere\]/ }],
	['the same address twice', { config: plus((s) => section('listen twice', { address: `127.0.0.1:${s.port}` })), at: '[listen twice]', below: 1, says: /is already used by \[listen l0\]/ }],
	['bytes that are no text', { config: plus('a\u0001\u0000b = c\n'), at: 'b = c', says: /NUL byte/ }],
	['an empty file', { config: () => '', says: /there is no \[listen NAME\]/ }],
	['no file', { config: () => {}, says: /the configuration file .* cannot be read: No such file or directory/ }],
	['a folder in place of the file', { config: (s) => { fs.mkdirSync(s.gate.config); }, says: /cannot be read: Is a directory/ }],
	['a file larger than any configuration', { config: plus(`# ${'x'.repeat(4 << 20)}\n`), says: /cannot be read: File too large/ }],
	['a file to include that is not there', { config: (s) => `include = gone.ini\n${config(s)}`, at: 'include', says: /the included file '.*gone\.ini' cannot be read/ }],
	['a mistake in a file that is included', { make: (s) => file(s, 'more.ini', '[server]\n\nworkerz = 1\n'), config: (s) => `include = more.ini\n${config(s)}`, in: 'more.ini', line: 3, says: /has no option 'workerz'/ }],
	['a certificate that is not there', { config: plus(tls('gone.pem', 'gone.key')), at: 'gone.pem', says: /the certificate file .* cannot be read: No such file/ }],
	['a certificate that is none', { make: (s) => { file(s, 'junk.pem', 'junk\n'); copy('junk.key', 'rsa.key')(s); }, config: plus(tls('junk.pem', 'junk.key')), at: 'junk.pem', says: /there is no certificate in/ }],
	['a key that does not fit', { make: (s) => { copy('a.pem', 'rsa.pem')(s); copy('a.key', 'ecdsa.key')(s); }, config: plus(tls('a.pem', 'a.key')), at: 'a.key', says: /does not belong to the certificate/ }],
	['a key that is half written', { make: (s) => { copy('h.pem', 'rsa.pem')(s); file(s, 'h.key', fs.readFileSync(certs().file('rsa.key')).subarray(0, 300), 0o600); }, config: plus(tls('h.pem', 'h.key')), at: 'h.key', says: /h\.key/ }],
	['a file of users that is not there', { config: plus(guard({ users: 'gone-users', ask: 'all', allow: 'user=*' })), at: 'gone-users', says: /users .*gone-users cannot be read: No such file/ }],
	['a file of users that the workers may not read', { make: (s) => file(s, 'closed', BOB, 0o000), config: plus(guard({ users: 'closed', ask: 'all', allow: 'user=*' }), isRoot ? { server: { user: 'nobody' } } : {}), at: 'closed', says: /closed cannot be read: Permission denied/ }],
	['a file of users with a mistake', { make: (s) => file(s, 'users', `${BOB}eve:$apr1$salt$hash\n`), config: plus(guard({ users: 'users', ask: 'all', allow: 'user=*' })), at: 'users = users', says: /users:2: a hash of this kind is quick to guess/ }],
	['a host-file with a mistake', { make: (s) => file(s, 'hosts', 'good.test\n# more\nbad_/host\n'), config: plus(guard({ deny: 'host-file=hosts', allow: 'all' })), in: 'hosts', line: 3, says: /bad host 'bad_\/host'/ }],
	['a host-file that is not there', { config: plus(guard({ deny: 'host-file=gone-hosts', allow: 'all' })), at: 'gone-hosts', says: /gone-hosts.* cannot be read/ }],
	['an error page that is not there', { config: plus('[errors]\n503 = gone.html\n'), at: '503', says: /gone\.html.* cannot be read/ }],
	['an error page that is a folder', { make: (s) => fs.mkdirSync(path.join(s.dir, 'page.html')), config: plus('[errors]\n404 = page.html\n'), at: '404', says: /page\.html/ }],
	['a unix socket in place of which there is a file', { make: (s) => file(s, 'plain', ''), config: plus((s) => section('listen u', { address: `unix:${s.dir}/plain` })), at: 'unix:', says: /exists and is no socket/ }],
	['a remembered-file in no folder', { config: plus('[preload p]\nremembered = propose\n', { server: { 'remembered-file': 'gone/l.json' } }), at: 'remembered-file', says: /the folder of remembered-file .* does not exist/ }],
	['a user that is not there', { config: plus('', { server: { user: 'no-such-user' } }), at: 'user =', says: /no user 'no-such-user'/ }],
	['a port that another program has', { config: (s) => config(s, { ports: [s.port, s.taken] }), at: '[listen l1]', below: 1, says: /is in use by /, status: 1 }],
	['an address that this machine does not have', { config: plus((s) => section('listen far', { address: `192.0.2.1:${s.free}` })), at: '192.0.2.1', says: /this machine has no address/, status: 1 }],
	['a port that pushgate may not bind', { skip: lowest <= 81, config: plus(section('listen low', { address: '127.0.0.1:81' })), at: ':81', says: /may not listen on port 81/ }],
	['more workers than there may be descriptors for', { config: plus('', { workers: 256 }), at: 'workers', says: /may have 300 descriptors, .*raise the limit/ }],
];

async function expectRefused(s, name, row, before) {
	const text = row.config(s);
	if (typeof text === 'string')
		fs.writeFileSync(s.gate.config, text, 'latin1');
	const line = row.line ?? (row.at ? text.split('\n').findIndex((l) => l.includes(row.at)) + 1 + (row.below ?? 0) : 1);
	const place = `${row.in ? path.join(s.dir, row.in) : s.gate.config}:${line}: `;
	const { status, stderr } = await run(s, 'reload', statusSocket(s));
	const found = stderr.split('\n').find((l) => l.startsWith(place));
	assert.ok(found, `${name}: no finding at ${place}\n${stderr}`);
	assert.match(found, row.says, name);
	assert.match(found, /; \S/, `${name}: what to do`);
	assert.equal(status, row.status ?? 2, `${name}\n${stderr}`);
	await until(`${name}: the line in the error log`, () => s.gate.read('error.log').includes(`reload: ${found}\n`));
	const { note, successful } = await lastReload(s);
	assert.equal(successful[0].value, 0, name);
	const [, serves, cause] = note.match(/^refused at \S+, generation (\d+) serves: (.*)$/);
	assert.equal(serves, '2', name);
	assert.equal(cause, stderr.split('\n').find((l) => !l.includes(': warning: ')).slice(0, 399).replace(/[^ -~]/g, '?'), name);
	assert.deepEqual(s.gate.workers(), before, `${name}: the workers are the same`);
	fs.rmSync(s.gate.config, { recursive: true, force: true });
}

/* Without a capability that root has, and with few descriptors. */
const canDrop = isRoot && spawnSync('setpriv', ['--bounding-set=-net_bind_service', 'true']).status === 0;
const wrap = ['sh', '-c', 'ulimit -n 300 && exec "$@"', 'sh', ...(canDrop ? ['setpriv', '--bounding-set=-net_bind_service'] : [])];

/* Self-signed, from two days ago until yesterday. */
function makeExpired(s) {
	const openssl = (...args) => assert.equal(spawnSync('openssl', args, { cwd: s.dir }).status, 0, args.join(' '));
	const day = (n) => new Date(Date.now() + n * 86400e3).toISOString().replace(/[-:T]|\.\d+/g, '');
	file(s, 'ca.conf', '[ca]\ndefault_ca = d\n[d]\ndatabase = index\nserial = serial\nnew_certs_dir = .\ndefault_md = sha256\npolicy = p\n[p]\ncommonName = supplied\n[req]\ndistinguished_name = n\n[n]\n');
	file(s, 'index', '');
	file(s, 'serial', '01\n');
	copy('old.key', 'ecdsa.key')(s);
	openssl('req', '-new', '-config', 'ca.conf', '-key', 'old.key', '-subj', '/CN=test', '-out', 'request.pem');
	openssl('ca', '-batch', '-selfsign', '-config', 'ca.conf', '-keyfile', 'old.key', '-in', 'request.pem', '-notext', '-startdate', day(-2), '-enddate', day(-1), '-out', 'old.pem');
}
gate('an expired certificate is used, as at a start, and named', async (s) => {
	makeExpired(s);
	s.free = await freePort();
	const text = config(s, { more: tls('old.pem', 'old.key')(s) });
	fs.writeFileSync(s.gate.config, text);
	const { status, stderr } = await run(s, 'reload', statusSocket(s));
	assert.equal(status, 0, stderr);
	const line = text.split('\n').indexOf('certificate = old.pem') + 1;
	assert.ok(stderr.split('\n').some((l) => l.startsWith(`${s.gate.config}:${line}: warning: `) && / has expired on /.test(l)), stderr);
});

gate('what is broken changes nothing, and is named with file, line and cause', async (s) => {
	const other = await open(net.createServer());
	s.cleanups.push(() => other.close());
	s.taken = other.address().port;
	s.free = await freePort();
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
	s.cleanups.push(() => agent.destroy());
	await change(s, { origin: two });
	await s.gate.error(/generation 1 has ended/);
	const before = s.gate.workers(), connections = new Set();
	for (const [name, row] of rows) {
		if (row.skip || (row.at === ':81' && isRoot && !canDrop))
			continue;
		row.make?.(s);
		await expectRefused(s, name, row, before);
		const answer = await get(s.port, `/${rows.length}`, agent);
		assert.deepEqual(answer, { status: 200, text: `begin two /${rows.length}` }, name);
		for (const sockets of Object.values(agent.freeSockets))
			connections.add(sockets[0]);
	}
	assert.equal(connections.size, 1, 'a client keeps its connection all the time');
	write(s, { workers: 1 });
	assert.equal((await run(s, 'reload', statusSocket(s))).status, 0, 'and what is right is used');
}, { wrap });
