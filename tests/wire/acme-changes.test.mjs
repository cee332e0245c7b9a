/* SPDX-License-Identifier: MIT */
/*
 * Certificates by ACME while something else happens: other hosts, another program, another gateway with the same folder, a
 * process that dies in the worst moment, an authority that is away or errs. Clients always get a certificate.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { BINARY, freePort, Gate, until, workDir } from '../support/gate.mjs';
import { children, LONG, scenario, served, verified } from '../support/acme.mjs';

const serial = (text) => new crypto.X509Certificate(text).serialNumber;
const report = (s) => `${s.gate.report()}\n${s.pebble.text}`;
const note = (s) => s.gate.status().match(/^# certificate of listen main: (.*)$/m)?.[1];
const due = (text) => (Date.parse(text.match(/the next order is due at (\S+Z)/)[1]) - Date.now()) / 1000;
const window = (from, to) => JSON.stringify({ suggestedWindow: { start: new Date(Date.now() + 1000 * from).toISOString(), end: new Date(Date.now() + 1000 * to).toISOString() } });
const past = { status: 200, headers: { 'retry-after': '21600' }, body: window(-60, -30) };
/* Until clients get the certificate of the file. */
const isServed = (s, port = s.port, name = 'a.example') => until(() => `the new certificate\n${report(s)}`,
	() => served(port, name).then((c) => c.serialNumber === serial(s.read())), LONG);

/* The ACME process is killed, and there is another one. */
async function renewProcess(s) {
	const [pid] = await until('an ACME process', () => children(s.gate, 'pushgate-acme').length === 1 && children(s.gate, 'pushgate-acme'), LONG);
	process.kill(pid, 'SIGKILL');
	await until('the next one', () => children(s.gate, 'pushgate-acme').some((other) => other !== pid), LONG);
}

// covers: R724
scenario('process that is killed between order and finalization leaves what there was, and another one goes on', {
	front(s, request) {
		if (!/^\/finalize/.test(request.url) || s.killed >= 2)
			return null;
		s.killed = (s.killed ?? 0) + 1;
		for (const pid of children(s.gate, 'pushgate-acme'))
			process.kill(pid, 'SIGKILL');
		return { status: 500 };
	},
}, async (s) => {
	await until(() => `the first death\n${report(s)}`, () => s.killed >= 1, LONG);
	await served(s.port, 'a.example');
	await s.first();
	assert.equal(s.killed, 2);
	await verified(s.port, 'b.example', s.pebble.root);
	/* With a certificate: what comes next takes its place only when it is whole. */
	s.killed = 1;
	const before = s.read(), broken = before.slice(0, before.indexOf('-----BEGIN CERTIFICATE') + 200);
	fs.writeFileSync(s.file, broken);
	await renewProcess(s);
	await until(() => `the third death\n${report(s)}`, () => s.killed === 2, LONG);
	assert.equal((await served(s.port, 'a.example')).serialNumber, serial(before));
	await until(() => `another certificate\n${report(s)}`, () => s.read() !== broken, LONG);
	await isServed(s);
	assert.notEqual(serial(s.read()), serial(before));
});

// covers: R724
scenario('file that was written before the process died comes to clients', {}, async (s) => {
	await s.first();
	const before = s.read();
	fs.unlinkSync(s.file);
	await renewProcess(s);
	await until(() => `another certificate\n${report(s)}`, () => fs.existsSync(s.file) && s.read() !== before, LONG);
	await isServed(s);
	/* As if it had died between this and the message to the master. */
	fs.writeFileSync(s.file, before);
	await renewProcess(s);
	await isServed(s);
	assert.equal((await served(s.port, 'a.example')).serialNumber, serial(before));
	assert.equal(s.gate.counters().acme_certificates, 2);
});

// covers: R721
scenario('host that a reload adds gets a certificate, and one that it removes costs none', {}, async (s) => {
	await s.first();
	const before = s.read();
	const reload = async (hosts) => {
		const generation = Number(s.gate.status().match(/generation (\d+) serves/)?.[1] ?? 1);
		fs.writeFileSync(s.gate.config, s.config({ hosts }));
		s.gate.child.kill('SIGHUP');
		await until(() => `a reload\n${report(s)}`, () => Number(s.gate.status().match(/generation (\d+) serves/)?.[1]) > generation, LONG);
	};
	await reload(['a.example', 'b.example', 'c.example']);
	/* What there is, until the next one comes. */
	assert.match((await served(s.port, 'c.example')).issuer, /Pebble/);
	await until(() => `another certificate\n${report(s)}`, () => s.read() !== before, LONG);
	await isServed(s);
	for (const name of ['a.example', 'b.example', 'c.example'])
		await verified(s.port, name, s.pebble.root);
	await until('the process is done', () => note(s)?.startsWith('good; the next order'));
	assert.equal(s.gate.counters().acme_certificates, 2);
	const second = s.read();
	await reload(['c.example']);
	await until(() => `the process is done\n${report(s)}`, () => note(s)?.startsWith('good; the next order'));
	assert.equal(s.read(), second);
	await verified(s.port, 'c.example', s.pebble.root);
	assert.equal(s.gate.counters().acme_certificates, 2);
});

// covers: R726
scenario('gateways with the same folder have one account, and one orders for both', {
	hosts: ['a.example'],
	/* Until both gateways have seen that there is no certificate. */
	async front(s, request) {
		if (request.url.startsWith('/order'))
			await until('both gateways', () => s.are_up, LONG).catch(() => null);
		return null;
	},
}, async (s) => {
	const dir = workDir(), port = await freePort(), clear = await freePort();
	s.other = new Gate({ config: s.config({ port, clear }), dir, ports: [port, clear], single: false });
	await s.other.listening();
	for (const gate of [s.gate, s.other])
		await gate.error(/main has no certificate for all hosts of its routes yet; one is ordered/);
	s.are_up = true;
	await s.first();
	await isServed(s);
	await isServed(s, port);
	const sum = (name) => s.gate.counters()[name] + s.other.counters()[name];
	assert.equal(sum('acme_certificates'), 1);
	assert.equal(sum('acme_orders_failed'), 0);
	/* Each order would have made another account for another key. */
	assert.deepEqual(fs.readdirSync(s.folder).sort(), ['account.key', 'lock', 'main.pem']);
	assert.match(s.gate.read('error.log') + s.other.read('error.log'), /main has a new certificate, which another gateway with the same acme-dir has got/);
});

// covers: R724
scenario('another program takes over during an order, and gets the certificate', {
	front(s, request) {
		if (!/^\/finalize/.test(request.url) || s.goes)
			return null;
		s.waits = true;
		return { status: 503 };
	},
}, async (s) => {
	await until(() => `the end of an order\n${report(s)}`, () => s.waits, LONG);
	const upgrade = spawn(BINARY, ['upgrade', path.join(s.dir, 'status')], { cwd: s.dir, stdio: ['ignore', 'ignore', 'pipe'] });
	let text = '';
	upgrade.stderr.on('data', (piece) => { text += piece; });
	s.goes = true;
	const [code] = await new Promise((resolve) => { upgrade.once('close', (...result) => resolve(result)); });
	assert.equal(code, 0, `${text}\n${report(s)}`);
	const pid = Number(text.match(/^process (\d+) serves$/m)[1]);
	try {
		await s.first();
		await verified(s.port, 'b.example', s.pebble.root);
	} finally {
		process.kill(pid, 'SIGTERM');
		/* The first one has ended before; both have its pipes. */
		await s.gate.ended();
	}
});

// covers: R723 R725
scenario('authority that is away at the renewal is asked again later, and status says why', {
	hosts: ['a.example'],
	front(s, request) {
		if (request.url.startsWith('/ari/'))
			return past;
		/* It makes the first certificate, and is away from then on. */
		if (request.url.startsWith('/order'))
			s.orders = (s.orders ?? 0) + 1;
		return request.url.startsWith('/order') && s.orders > 1 ? { status: 503, body: 'closed for today' } : null;
	},
}, async (s) => {
	const before = await s.first();
	await s.gate.error(/acme: no certificate for main: the order: status 503; tried again in 6\d s/);
	assert.match((await served(s.port, 'a.example')).issuer, /Pebble/);
	const text = note(s), counters = s.gate.counters();
	assert.match(text, /^good; the next order is due at \S+; 1 order has failed, the last: the order: status 503$/);
	assert.ok(due(text) > 30 && due(text) < 70);
	assert.equal(counters['pushgate_acme_failures_in_a_row{listen="main"}'], 1);
	assert.equal(counters['pushgate_acme_certificate_state{listen="main",state="good"}'], 1);
	assert.ok(counters['pushgate_acme_next_order_timestamp_seconds{listen="main"}'] > Date.now() / 1000);
	assert.ok(before);
});
