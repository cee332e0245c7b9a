/* SPDX-License-Identifier: MIT */
/* What `make install` leaves behind, as an operator finds it; and that the documents' links lead somewhere, here and there. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { BINARY, ROOT, workDir } from '../support/gate.mjs';

function folder(t) {
	const dir = workDir();
	t.after(() => fs.rmSync(dir, { recursive: true }));
	return dir;
}

function install(dir, ...variables) {
	/* Not as a part of the make that runs the tests: its job server is its own. */
	const { MAKEFLAGS, MAKELEVEL, MFLAGS, ...env } = process.env;
	const r = spawnSync('make', ['-s', 'install', `BINARY=${BINARY}`, `DESTDIR=${dir}`, ...variables], { cwd: ROOT, env, encoding: 'utf8' });
	assert.equal(r.status, 0, r.stderr);
}

/* Names below the folder, which no tool has made for itself. */
function files(dir, name = '') {
	return fs.readdirSync(path.join(dir, name), { withFileTypes: true }).flatMap((entry) => {
		const below = path.join(name, entry.name);
		if (!entry.isDirectory())
			return [below];
		return ['node_modules', 'build', '.git'].includes(entry.name) ? [] : files(dir, below);
	});
}

function assertLinks(dir) {
	const documents = files(dir).filter((name) => name.endsWith('.md'));
	const links = documents.flatMap((name) => {
		const text = fs.readFileSync(path.join(dir, name), 'utf8');
		return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => [name, target.split('#')[0]]);
	}).filter(([, target]) => target && !/^[a-z]+:/.test(target));
	assert.ok(links.length > 20, `${links.length} links`);
	assert.deepEqual(links.filter(([name, target]) => !fs.existsSync(path.join(dir, path.dirname(name), target))), []);
	return documents;
}

test('links of the documents lead somewhere', () => {
	assertLinks(ROOT);
});

test('installed documents keep their links', (t) => {
	const dir = folder(t);
	install(dir, 'PREFIX=/usr');
	const documents = assertLinks(path.join(dir, 'usr/share/doc/pushgate'));
	assert.ok(documents.includes('README.md') && documents.includes('docs/decisions/README.md'));
});

test('installed program reads the installed configuration, which a later install leaves alone', (t) => {
	const dir = folder(t);
	install(dir);
	const ini = path.join(dir, 'etc/pushgate/pushgate.ini');
	const check = () => spawnSync(path.join(dir, 'usr/local/bin/pushgate'), ['check', '-c', ini], { encoding: 'utf8' });
	assert.equal(check().status, 0, check().stderr);
	fs.appendFileSync(ini, '; mine\n');
	install(dir);
	assert.match(fs.readFileSync(ini, 'utf8'), /; mine\n$/);
});

test('each installed example is a good configuration, and the picture of README is there', (t) => {
	const dir = folder(t);
	install(dir, 'PREFIX=/usr');
	const doc = path.join(dir, 'usr/share/doc/pushgate');
	const examples = files(path.join(doc, 'examples'));
	for (const name of ['hold.ini', 'hint.ini', 'preload.ini', 'gateway.ini', 'strip.ini', 'per-path.ini', 'forward.ini'])
		assert.ok(examples.includes(name), name);
	for (const name of ['prometheus/rules.yml', 'prometheus/alerts.yml', 'grafana/pushgate.json'])
		assert.ok(examples.includes(name), name);
	for (const name of examples.filter((example) => example.endsWith('.ini'))) {
		const { status, stderr } = spawnSync(BINARY, ['check', '-c', path.join(doc, 'examples', name)], { encoding: 'utf8' });
		assert.equal(status, 0, `${name}: ${stderr}`);
	}
	const picture = fs.readFileSync(path.join(doc, 'docs/visits.svg'), 'utf8');
	assert.match(picture, /^<svg [^]*<title [^]*<desc [^]*prefers-color-scheme: dark[^]*<\/svg>\n$/);
	assert.ok(picture.length < 30000, `${picture.length} bytes`);
});

test('unit and manual name the places that were asked for', (t) => {
	const dir = folder(t);
	install(dir, 'PREFIX=/opt/gate', 'CONFDIR=/opt/gate/etc');
	const unit = fs.readFileSync(path.join(dir, 'opt/gate/lib/systemd/system/pushgate.service'), 'utf8');
	assert.match(unit, /^ExecStart=\/opt\/gate\/bin\/pushgate run -c \/opt\/gate\/etc\/pushgate\.ini$/m);
	assert.match(unit, /file:\/opt\/gate\/share\/doc\/pushgate\/README\.md$/m);
	const manual = fs.readFileSync(path.join(dir, 'opt/gate/share/man/man1/pushgate.1'), 'utf8');
	assert.match(manual, /^\.It Pa \/opt\/gate\/share\/doc\/pushgate\/$/m);
	for (const place of ['/usr/bin/', '/usr/share/', '/etc/pushgate/'])
		assert.equal((unit + manual).includes(place), false, place);
});

test('completion lies where each shell looks for it', (t) => {
	for (const [prefix, zsh] of [['usr', 'vendor-completions'], ['opt/gate', 'site-functions']]) {
		const dir = folder(t);
		install(dir, `PREFIX=/${prefix}`, 'CONFDIR=/etc/pushgate');
		for (const [shell, name] of [['bash', 'bash-completion/completions/pushgate'], ['zsh', `zsh/${zsh}/_pushgate`], ['fish', 'fish/vendor_completions.d/pushgate.fish']]) {
			const { stdout } = spawnSync(BINARY, ['completion', shell], { encoding: 'utf8' });
			assert.ok(stdout.length > 1000);
			assert.equal(fs.readFileSync(path.join(dir, prefix, 'share', name), 'utf8'), stdout, shell);
		}
	}
});

test('manual has each command of `pushgate help`', () => {
	const help = spawnSync(BINARY, ['help'], { encoding: 'utf8' }).stdout;
	const commands = [...help.matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, name]) => name);
	assert.ok(commands.length >= 8, help);
	const manual = fs.readFileSync(path.join(ROOT, 'docs/pushgate.1'), 'utf8');
	assert.deepEqual(commands.filter((name) => !manual.includes(`\n.Cm ${name}\n`)), []);
	/* What scripts/make-docs writes into it. */
	for (const part of ['synopsis', 'commands'])
		assert.ok(manual.includes(spawnSync(BINARY, ['manual', part], { encoding: 'utf8' }).stdout), part);
});

const HAS_DPKG = spawnSync('dpkg', ['--version']).status === 0 && spawnSync('readelf', ['--version']).status === 0;
test('the package depends on those of the libraries that the program is linked with', { skip: !HAS_DPKG && 'no Debian' }, () => {
	const script = fs.readFileSync(path.join(ROOT, 'scripts/make-deb'), 'utf8');
	const depends = /^Depends: (.*)$/m.exec(script)[1].split(', ').map((text) => text.split(' ')[0]);
	const headers = spawnSync('readelf', ['-d', BINARY], { encoding: 'utf8' }).stdout;
	/* A sanitizer is in the build for tests alone. */
	const needed = [...headers.matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(([, name]) => name).filter((name) => !/^lib(asan|ubsan|gcc_s)\.|^ld-/.test(name));
	assert.ok(needed.includes('libev.so.4'), needed.join(' '));
	const owners = spawnSync('dpkg', ['-S', ...needed.map((name) => `*/${name}`)], { encoding: 'utf8' }).stdout.trim().split('\n');
	for (const name of needed) {
		const packages = owners.filter((line) => line.endsWith(`/${name}`)).map((line) => line.split(':')[0]);
		assert.ok(packages.length === 0 || packages.some((each) => depends.includes(each)), `${name} is of ${packages}, which is not among ${depends}`);
	}
});
