/* SPDX-License-Identifier: MIT */
/* Configurations in pages: whole ones, sections out of one, and single options as tables name them, all given to `pushgate check`. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { BINARY, ROOT } from './gate.mjs';

const has = (text, kind) => new RegExp(`^\\[${kind}\\b`, 'm').test(text);

/* A forward proxy needs no origin. */
const isForward = (text) => /^mode = forward$/m.test(text) || (has(text, 'access') && !has(text, 'listen')) || /^server = forward:$/m.test(text);

export const isConfiguration = (text) => has(text, 'listen') && (has(text, 'origin') || isForward(text));

/* The same for a forward proxy: a listener that has the rules, if there are some. */
function completedProxy(text) {
	if (has(text, 'listen'))
		return text;
	const access = /^\[access (\S+)\]/m.exec(text);
	return `${text}\n[listen for-the-test]\naddress = 127.0.0.1:8443\nmode = forward\n${access ? `access = ${access[1]}\n` : ''}`;
}

/* What the sections need to be a configuration: a listener, the origins that routes name, a route. */
function completed(text) {
	if (isForward(text))
		return completedProxy(text);
	/* Several with weights: "a 90, b 10". */
	const wanted = new Set([...text.matchAll(/^origin = (.+)/gm)].flatMap(([, names]) => names.split(',').map((name) => name.trim().split(' ')[0])));
	if (!has(text, 'route')) {
		text += '\n[route for-the-test]\norigin = for-the-test\n';
		wanted.add(/^\[origin (\S+)\]/m.exec(text)?.[1] ?? 'for-the-test');
		text = text.replace(/^origin = for-the-test$/m, `origin = ${[...wanted].at(-1)}`);
	}
	for (const name of wanted) {
		if (!new RegExp(`^\\[origin ${name}\\]`, 'm').test(text))
			text += `\n[origin ${name}]\nserver = h2c://127.0.0.1:8080\n`;
	}
	return has(text, 'listen') ? text : `${text}\n[listen for-the-test]\naddress = 127.0.0.1:8443\n`;
}

/* Folders that the package makes. */
const INSTALLED = /\/(var\/log|var\/lib|run)\/pushgate(?=\/)/g;

const run = (command, args, options) => assert.equal(spawnSync(command, args, options).status, 0, `${command} ${args.join(' ')}`);

/* What an operator has by then: certificates in files and in a folder, authorities, a list of revoked certificates, keys. */
function makeSecrets(folder) {
	const made = path.join(folder, 'certificates');
	if (fs.existsSync(made))
		return;
	run(path.join(ROOT, 'scripts/dev-certs'), [folder, 'example.com']);
	run(path.join(ROOT, 'tests/support/client-certs'), [path.join(folder, 'clients')]);
	fs.mkdirSync(made);
	/* Its helper writes there as another user. */
	fs.mkdirSync(path.join(folder, 'acme'));
	fs.chmodSync(path.join(folder, 'acme'), 0o777);
	fs.chmodSync(folder, 0o711);
	for (const [from, to] of [['rsa.pem', 'example.crt'], ['rsa.key', 'example.key']])
		fs.copyFileSync(path.join(folder, from), path.join(made, to));
	fs.mkdirSync(path.join(folder, 'www'));
	fs.writeFileSync(path.join(folder, 'ech.pem'), spawnSync(BINARY, ['ech-key', 'example.com'], { encoding: 'utf8' }).stdout, { mode: 0o600 });
	fs.writeFileSync(path.join(folder, 'tickets.keys'), `${'0123456789abcdef'.repeat(4)}\n`, { mode: 0o600 });
}

/* The files of secrets that pages name, and those that makeSecrets makes. */
const SECRETS = [
	[/^(certificate|client-certificate) = \S+( \S+)?$/gm, (all, key, second) => `${key} = rsa.pem${second ? ' rsa.key' : ''}`],
	[/^key = .*$/gm, 'key = rsa.key'],
	[/^certificates = .*$/gm, 'certificates = certificates'],
	[/^client-ca = \S+/gm, 'client-ca = clients/ca.pem'],
	[/ crl=\S+/g, ' crl=clients/empty.crl'],
	[/^ticket-keys = .*$/gm, 'ticket-keys = tickets.keys'],
	[/^diary-cookie-key = .*$/gm, 'diary-cookie-key = tickets.keys'],
	[/^ech-keys = .*$/gm, 'ech-keys = ech.pem'],
	[/^files = .*$/gm, 'files = www'],
];

/* Why the sections are wrong; '' when they are right. A page that they answer with is there, and a file of users. */
export function checkFragment(text, folder) {
	const file = path.join(folder, 'fragment.ini');
	for (const [, page] of text.matchAll(/^answer = \d+ (\w+\.html)$/gm))
		fs.writeFileSync(path.join(folder, page), '<p>A page.\n');
	fs.writeFileSync(path.join(folder, 'users'), 'anna:$6$saltsalt$' + 'a'.repeat(86) + '\n', { mode: 0o644 });
	makeSecrets(folder);
	const named = SECRETS.reduce((all, [pattern, instead]) => all.replace(pattern, instead), `${text}\n`);
	fs.writeFileSync(file, completed(named.replace(INSTALLED, folder).replace(/^users = \/.*$/gm, 'users = users')));
	const r = spawnSync(BINARY, ['check', '-c', file], { encoding: 'utf8' });
	return r.status === 0 ? '' : `pushgate check says\n${r.stdout}${r.stderr}`;
}

const SECTION_OPTION = /^\[(server|listen|origin|route|push|preload)\] ([a-z-]+)(?: = (.+))?$/;

/* Options as tables name them: `[section] option` or `[section] option = value`. */
export function optionsNamed(page) {
	return page.split('\n').flatMap((text, i) => [...(text.startsWith('|') ? text : '').matchAll(/`([^`]+)`/g)].flatMap(([, code]) => {
		const [, section, option, value] = SECTION_OPTION.exec(code) ?? [];
		return section ? [{ line: i + 1, code, section, option, value }] : [];
	}));
}

/* The options of each section, as the program lists them. */
export function optionsKnown() {
	const { stdout } = spawnSync(BINARY, ['help-config'], { encoding: 'utf8' });
	const known = {};
	let section;
	for (const line of stdout.split('\n')) {
		section = /^\[(\w+)/.exec(line)?.[1] ?? section;
		const option = /^ {2}([a-z][a-z0-9-]*)$/.exec(line)?.[1];
		if (section && option)
			(known[section] ??= new Set()).add(option);
	}
	return known;
}

const NEEDS = {
	listen: { address: '127.0.0.1:8443' }, origin: { server: 'h2c://127.0.0.1:8080' }, route: { origin: 'app' }, push: { action: 'forward' },
};

/* What an option needs beside it. */
const OWN_CONNECTIONS = { server: 'http://127.0.0.1:8080', connections: 'private' };
const BESIDE = { 'proxy-protocol': { trusted: '192.0.2.10' }, connections: OWN_CONNECTIONS, 'send-proxy': OWN_CONNECTIONS };
const INSTEAD_OF_ORIGIN = ['redirect', 'answer'];

/* Why `option = value` is wrong in its section; '' when it is right. */
export function checkOption({ section, option, value }, folder) {
	const needs = INSTEAD_OF_ORIGIN.includes(option) ? {} : NEEDS[section];
	const rows = Object.entries({ ...needs, ...BESIDE[option], [option]: value }).map(([name, text]) => `${name} = ${text}\n`);
	return checkFragment(`[${section}${section === 'server' ? '' : ' app'}]\n${rows.join('')}`, folder);
}
