/* SPDX-License-Identifier: MIT */
/* `pushgate report` on the log of a real run: its figures are those of what clients and origins did. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { BINARY, scenario, section, workDir } from '../support/gate.mjs';

const report = (args, input) => spawnSync(BINARY, ['report', ...args], { encoding: 'utf8', input });
const json = (...args) => JSON.parse(execFileSync(BINARY, ['report', '--json', ...args], { encoding: 'utf8' }));
const row = (section, name) => section.rows.find((r) => r.name === name);

const RULES = {
	extra: section('push browsers', { action: 'hint+hold', 'user-agent': '*Firefox*' }) +
		section('push tools', { action: 'forward', 'promised-path': '/yes*' }) + section('push none', { action: 'drop' }),
};

/* A page for this user-agent, with pushes. */
async function page(s, origin, userAgent, settings, paths) {
	const client = await s.connect({ settings });
	client.request(1, { path: '/page', 'user-agent': userAgent, 'sec-fetch-mode': 'navigate' });
	const asked = await (origin ?? (origin = await s.accept())).expectRequest('/page');
	const promised = paths.map((name) => {
		const id = origin.nextPush = (origin.nextPush ?? 0) + 2;
		origin.push(asked, id, name);
		return id;
	});
	return { client, origin, asked, promised };
}

scenario('who took pushes, what was used, and by which rule', RULES, async (s) => {
	const tool = await page(s, null, 'nghttp2/1.52.0', {}, ['/yes.css?v=1', '/yes.js', '/no.css']);
	const { origin } = tool;
	for (const id of tool.promised.slice(0, 2))
		origin.headers(id, { ':status': 200 }).data(id, 'x'.repeat(100));
	origin.data(tool.promised[0], 'x'.repeat(100), { endStream: true });
	const whole = await tool.client.expectPromise('/yes.css?v=1'), half = await tool.client.expectPromise('/yes.js');
	await tool.client.response(whole.promised);
	await tool.client.expect('DATA', { stream: half.promised });
	tool.client.rst(half.promised, 'CANCEL');
	await origin.expectReset(tool.promised[1]);
	origin.respond(tool.asked.stream);
	await tool.client.response(1);

	const agent = 'Mozilla/5.0 (X11; rv:1) Gecko/20100101 Firefox/115.0';
	const browser = await page(s, origin, agent, { enablePush: 0 }, ['/a.css', '/vary.css']);
	const fresh = { 'cache-control': 'max-age=60' };
	origin.respond(browser.promised[0], { fields: fresh, body: 'x'.repeat(300) });
	origin.respond(browser.promised[1], { fields: { ...fresh, vary: 'accept-language' }, body: 'x'.repeat(50) });
	origin.respond(browser.asked.stream);
	await browser.client.response(1);
	await s.settle(browser.client, origin);
	browser.client.request(3, { path: '/a.css', 'user-agent': agent })
		.request(5, { path: '/vary.css', 'user-agent': agent, 'accept-language': 'de' });
	const missed = await origin.expectRequest('/vary.css');
	origin.respond(missed.stream);
	await browser.client.response(3);
	await browser.client.response(5);
	browser.client.close(); /* what it did not claim ends */
	await s.gate.access((l) => l.push && l.path === '/vary.css');

	const log = path.join(s.gate.dir, 'access.log');
	const r = json(log);
	assert.equal(r.bad_lines.count, 0);
	const nghttp = row(r.families, 'nghttp'), firefox = row(r.families, 'Firefox');
	assert.deepEqual([nghttp.requests, nghttp.offered, nghttp.forwarded, nghttp.taken, nghttp.reset], [1, 3, 2, 1, 1]);
	/* The second promise may come too late for the 103. */
	const hinted = s.gate.accessLines().filter((l) => l.verdict === 'hint+hold').length;
	assert.ok(hinted >= 1);
	assert.deepEqual([firefox.offered, firefox.held, firefox.claimed, firefox.hinted], [2, 2, 1, hinted]);
	assert.deepEqual(row(r.rules, 'tools'), { name: 'tools', offered: 2, forwarded: 2, held: 0, hinted: 0, dropped: 0, used: 1,
		unused: 1, used_share: 0.5, used_bytes: 200, wasted_bytes: 100, advice: 'wait' });
	assert.deepEqual(row(r.rules, 'browsers'), { name: 'browsers', offered: 2, forwarded: 0, held: 2, hinted, dropped: 0, used: 1,
		unused: 1, used_share: 0.5, used_bytes: 300, wasted_bytes: 50, advice: 'wait' });
	assert.equal(row(r.rules, 'none').dropped, 1);
	assert.equal(r.wasted.rows[0].name.endsWith('/yes.js'), true);
	assert.ok(r.used.rows.some((x) => x.name.endsWith('/yes.css')), 'the query is left out');
	assert.equal(row(r.held_requests, 'claimed').requests, 1);
	assert.equal(row(r.held_requests, 'missed: vary accept-language').requests, 1);
	assert.equal(row(r.held_ends, 'missed').pushes, 1);
	assert.equal(row(r.drops, 'rule relayed').offers, 1);

	/* The same from standard input, compressed, and in two parts. */
	const text = fs.readFileSync(log), lines = text.toString().trimEnd().split('\n');
	const file = (name, bytes) => { fs.writeFileSync(path.join(s.gate.dir, name), bytes); return path.join(s.gate.dir, name); };
	const half1 = file('1.gz', zlib.gzipSync(lines.slice(0, 3).join('\n') + '\n')), half2 = file('2', lines.slice(3).join('\n') + '\n');
	for (const other of [JSON.parse(report(['--json', '-'], text).stdout), json(file('all.gz', zlib.gzipSync(text))), json(half1, half2)])
		assert.deepEqual(other, r);
	assert.match(report([log]).stdout, /^\d+ lines, 20.*\n[^]*Who takes pushes\n[^]*Which rules to keep\n/);
	const html = report(['--html', log]).stdout;
	assert.match(html, /^<!doctype html>/);
	assert.doesNotMatch(html, /<script|http:|src=|href=/);
});

test('mistakes are told, and cost nothing else', () => {
	const dir = workDir();
	const log = path.join(dir, 'access.log');
	fs.writeFileSync(log, '{"id":1}\nno line\n{"id":2}\n');
	const fine = report([log]);
	assert.equal(fine.status, 0);
	assert.match(fine.stdout, /^2 lines: 2 requests/);
	assert.match(fine.stdout, /1 line could not be read:\n {2}.*access\.log:2: it is no JSON\n/);
	const lost = report([path.join(dir, 'nowhere'), log]);
	assert.equal(lost.status, 1);
	assert.match(lost.stderr, /^pushgate report: cannot read .*nowhere: No such file or directory\n$/);
	assert.match(lost.stdout, /^2 lines: 2 requests/);
	const broken = path.join(dir, 'broken.gz');
	fs.writeFileSync(broken, zlib.gzipSync('{"id":1}\n'.repeat(10000)).subarray(0, 40));
	const damaged = report([broken]);
	assert.equal(damaged.status, 1);
	assert.match(damaged.stderr, /the compressed file is damaged/);
	for (const [args, why] of [
		[[], /LOG/], [['--json', '--html', log], /--json and --html are two forms; choose one/],
		[['--top', '0', log], /--top '0': write 1 to 10000/],
	]) {
		const wrong = report(args);
		assert.equal(wrong.status, 2);
		assert.match(wrong.stderr, why);
	}
});
