/* SPDX-License-Identifier: MIT */
/* Arms of a comparison: a [preload] section with share makes its offers for a part of the clients, and the response, the log,
 * the status, explain and the report say which. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import http2 from 'node:http2';
import path from 'node:path';
import { BINARY, freePort, scenario, section, until } from '../support/gate.mjs';
import { nodeOrigin } from '../support/node.mjs';

/* Names choose the clients, and no secret does: these are so in all processes. */
const ON = '192.0.2.1', OFF = '192.0.2.2';

const serve = (stream, headers) => {
	const isPage = !headers[':path'].startsWith('/a.');
	stream.respond({
		':status': headers[':path'] === '/none' ? 404 : 200, 'cache-control': isPage ? 'no-cache' : 'max-age=60',
		...(isPage ? { 'server-timing': 'db;dur=53' } : {}),
	});
	stream.end(isPage ? 'page' : 'x'.repeat(100));
};

const withArms = (more = '', options = {}) => ({
	prepare: async (s) => {
		const port = await freePort();
		await nodeOrigin(s, port, serve);
		s.options.origins = { main: { server: `h2c://127.0.0.1:${port}` } };
		s.options.server = { ...s.options.server, 'status-socket': path.join(s.dir, 'status.sock') };
	},
	listen: { trusted: '127.0.0.1', 'client-address': 'x-forwarded-for' },
	extra: section('push both', { action: 'hint' }) +
		section('preload p', { add: '/a.css as=style', share: '50%', path: '/page* /none /a.*' }) + more,
	...options,
});

/* A request of this client on a connection of its own: the Link fields of 103, and the response. */
async function asks(s, client, target, fields = {}) {
	const session = http2.connect(`http://127.0.0.1:${s.port}`, { settings: { enablePush: false } });
	session.on('error', () => {});
	try {
		return await new Promise((resolve, reject) => {
			const got = { hints: [], timing: [] };
			const stream = session.request({ ':path': target, 'x-forwarded-for': client, 'sec-fetch-mode': 'navigate', ...fields });
			stream.on('headers', (h) => got.hints.push(h.link));
			stream.on('response', (h) => {
				got.status = h[':status'];
				got.timing = (h['server-timing'] ?? '').split(', ').filter((x) => x !== '');
			});
			stream.on('error', reject).on('end', () => resolve(got)).resume();
		});
	} finally {
		session.destroy();
	}
}

// covers: P-src-share
scenario('a client in the share gets the offers, another one none, and each response says so', withArms(), async (s) => {
	const on = await asks(s, ON, '/page-on'), off = await asks(s, OFF, '/page-off');
	assert.deepEqual(on, { hints: ['</a.css>; rel=preload; as=style'], timing: ['db;dur=53', 'pushgate-arm;desc="p=on"'], status: 200 });
	assert.deepEqual(off, { hints: [], timing: ['db;dur=53', 'pushgate-arm;desc="p=off"'], status: 200 });
	const page = await s.gate.access((l) => l.path === '/page-on'), other = await s.gate.access((l) => l.path === '/page-off');
	const offer = await s.gate.access((l) => l.push);
	assert.deepEqual([page.arm, offer.arm, other.arm], ['p=on', 'p=on', 'p=off']);
	assert.equal(offer.parent, page.id);
	assert.equal(s.gate.accessLines().filter((l) => l.push).length, 1);
});

scenario('an asset follows the arm without being a page load, and what no section takes is in none', withArms(), async (s) => {
	for (const client of [ON, OFF]) {
		const asset = await asks(s, client, '/a.png', { 'sec-fetch-mode': 'no-cors' });
		const elsewhere = await asks(s, client, '/elsewhere');
		assert.deepEqual(asset.timing, []);
		assert.deepEqual(elsewhere.timing, ['db;dur=53']);
	}
	await until('all lines', () => s.gate.accessLines().filter((l) => !l.push).length === 4);
	const offers = s.gate.accessLines().filter((l) => l.push);
	assert.deepEqual(offers.map((l) => l.client), [ON]);
	assert.equal(s.gate.accessLines().some((l) => l.arm), false);
});

scenario('a section without share serves both arms, and says nothing', withArms(section('preload all', { add: '/a.js as=script' })), async (s) => {
	const on = await asks(s, ON, '/page'), off = await asks(s, OFF, '/page'), plain = await asks(s, ON, '/elsewhere');
	assert.deepEqual(on.hints.join().match(/a\.\w+/g), ['a.css', 'a.js']);
	assert.deepEqual(off.hints.join().match(/a\.\w+/g), ['a.js']);
	assert.deepEqual([plain.hints.join().match(/a\.\w+/g), plain.timing], [['a.js'], ['db;dur=53']]);
});

for (const [share, arm] of [['0%', 'off'], ['100%', 'on']])
	scenario(`with share = ${share} all clients are in the arm ${arm}`, withArms('', {
		extra: section('push both', { action: 'hint' }) + section('preload p', { add: '/a.css as=style', share }),
	}), async (s) => {
		for (let i = 0; i < 20; i++)
			assert.deepEqual((await asks(s, `198.51.100.${i}`, '/page')).timing, ['db;dur=53', `pushgate-arm;desc="p=${arm}"`]);
	});

scenario('the arm is the same in each worker; counters, explain and the report agree', withArms('', {
	single: false, server: { workers: 2 },
}), async (s) => {
	const arms = new Map();
	for (let round = 0; round < 4; round++)
		for (let i = 0; i < 16; i++) {
			const address = `203.0.113.${i}`, { timing } = await asks(s, address, `/page?${round}.${i}`);
			arms.set(address, arms.get(address) ?? timing[1]);
			assert.equal(timing[1], arms.get(address), address);
		}
	const on = [...arms.values()].filter((x) => x === 'pushgate-arm;desc="p=on"').length;
	assert.ok(on > 0 && on < 16, `${on} of 16`);
	assert.equal((await asks(s, [...arms].find(([, arm]) => arm.includes('off'))[0], '/none')).status, 404);
	await until('all lines', () => s.gate.accessLines().filter((l) => !l.push).length === 65);
	const counters = s.gate.counters();
	assert.equal(counters['pushgate_arm_pages_total{preload="p",arm="on"}'], 4 * on);
	assert.equal(counters['pushgate_arm_pages_total{preload="p",arm="off"}'], 4 * (16 - on) + 1);
	for (const [address, arm] of arms) {
		const text = execFileSync(BINARY, ['explain', '-c', s.gate.config, '--client', 'chrome', '--client', '127.0.0.1',
			'-H', `x-forwarded-for: ${address}`, `http://a.test:${s.port}/page`], { encoding: 'utf8' });
		assert.ok(text.includes(`\narm ${arm.match(/p=\w+/)[0]}: by its address`), text);
	}
	const report = JSON.parse(execFileSync(BINARY, ['report', '--json', path.join(s.gate.dir, 'access.log')], { encoding: 'utf8' }));
	const rows = Object.fromEntries(report.arms.rows.map((r) => [r.name, r]));
	assert.deepEqual([rows['p=on'].page_loads, rows['p=on'].hinted], [4 * on, 4 * on]);
	assert.deepEqual([rows['p=off'].page_loads, rows['p=off'].offered], [4 * (16 - on) + 1, 0]);
	assert.ok(rows['p=on'].first_byte_median_us > 0 && rows['p=on'].first_byte_p95_us >= rows['p=on'].first_byte_median_us);
	assert.deepEqual(report.comparisons.map((c) => [c.name, c.first_byte, c.on_loads, c.off_loads]), [['p', 'wait', 4 * on, 4 * (16 - on)]]);
});
