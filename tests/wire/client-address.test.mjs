/* SPDX-License-Identifier: MIT */
/* client-address: one connection of a proxy carries the requests of many clients, and each is judged for itself. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { BINARY, freePort, scenario, section } from '../support/gate.mjs';
import { connect1, recordingOrigin } from '../support/http1.mjs';

const withOrigin = async (s) => {
	s.origin = await recordingOrigin();
	s.cleanups.push(() => s.origin.close());
	s.options.origins = { main: { server: `http://127.0.0.1:${s.origin.port}` } };
};

async function asks(s, client, path, value) {
	client.request('GET', path, [['host', 'a.test'], ...(value === undefined ? [] : [['x-forwarded-for', value]])]);
	const { status } = await client.response();
	return { status, line: await s.gate.access((x) => x.path === path) };
}

const RULES = '[access a]\ndeny = client=192.0.2.13\nallow = client=192.0.2.0/24,2001:db8::/32\n';

// covers: R688
scenario('rules and the log are about the client that a trusted peer names', {
	prepare: withOrigin, extra: RULES, listen: { access: 'a', trusted: '127.0.0.1', 'client-address': 'x-forwarded-for' },
}, async (s) => {
	const client = await connect1(s.port);
	let n = 0;
	for (const [value, address, status] of [
		['192.0.2.1', '192.0.2.1', 200], ['192.0.2.13', '192.0.2.13', 403], ['192.0.2.1, 192.0.2.13', '192.0.2.13', 403],
		['192.0.2.13, 192.0.2.1', '192.0.2.1', 200], ['[2001:db8::1]:443', '2001:db8::1', 200], ['192.0.2.1, unknown', 'unknown', 403],
		['192.0.2.1, x', 'unknown', 403], [undefined, '127.0.0.1', 403], ['192.0.2.2', '192.0.2.2', 200],
	]) {
		const { status: got, line } = await asks(s, client, `/${++n}`, value);
		assert.deepEqual([got, line.client, line.tcp_peer], [status, address, value === undefined ? undefined : '127.0.0.1'], value);
		assert.equal(line.claimed_peer, undefined);
	}
});

scenario('nobody else is believed', {
	prepare: withOrigin, extra: RULES, listen: { access: 'a', trusted: '192.0.2.1 unix', 'client-address': 'x-forwarded-for' },
}, async (s) => {
	const { status, line } = await asks(s, await connect1(s.port), '/forged', '192.0.2.1');
	assert.deepEqual([status, line.client, line.tcp_peer], [403, '127.0.0.1', undefined]);
});

scenario('each client of a proxy has a limit of its own, those that it does not name one together', {
	prepare: withOrigin, listen: { trusted: '127.0.0.1', 'client-address': 'x-forwarded-for' },
	routes: '[route main]\norigin = main\nlimit-requests = 1/h burst 2 by=client\n',
}, async (s) => {
	const client = await connect1(s.port);
	let n = 0;
	for (const [value, status] of [
		['192.0.2.1', 200], ['192.0.2.1', 200], ['192.0.2.1', 429], ['192.0.2.2', 200], ['192.0.2.9, 192.0.2.1', 429],
		['_a', 200], ['_b', 200], ['unknown', 429], ['192.0.2.3', 200],
	])
		assert.equal((await asks(s, client, `/${++n}`, value)).status, status, `${n}: ${value}`);
});

scenario('explain finds the same client', {
	prepare: withOrigin, extra: RULES, listen: { access: 'a', trusted: '10.0.0.1', 'client-address': 'x-forwarded-for' },
}, async (s) => {
	const explained = (peer, ...more) => execFileSync(BINARY, ['explain', '-c', s.gate.config, '--client', peer, ...more, `http://a.test:${s.port}/`], { encoding: 'utf8' });
	assert.match(explained('10.0.0.1', '-H', 'x-forwarded-for: 192.0.2.1'), /\npeer 10\.0\.0\.1, client 192\.0\.2\.1: .*\naccess a: allowed/);
	assert.match(explained('10.0.0.1', '-H', 'x-forwarded-for: 192.0.2.13'), /\npeer 10\.0\.0\.1, client 192\.0\.2\.13: .*\naccess a: denied/);
	assert.match(explained('10.0.0.1', '-H', 'x-forwarded-for: _x'), /\npeer 10\.0\.0\.1, client unknown: .*\naccess a: denied/);
	assert.match(explained('192.0.2.1'), /\nclient 192\.0\.2\.1: .*\naccess a: allowed/);
	assert.match(explained('10.0.0.2', '-H', 'x-forwarded-for: 192.0.2.1'), /\nclient 10\.0\.0\.2: .*\naccess a: denied/);
});

/* Both families of peers, those that are trusted and those that are not. */
const PEERS = [
	{ from: '127.0.0.1', isTrusted: true }, { from: '127.0.0.2', isTrusted: false },
	{ host: '::1', from: '::1', isTrusted: true }, { host: '::1', from: '::1', isTrusted: false, listen: 'strict' },
];
const MANY = Array.from({ length: 400 }, (_, i) => `10.0.${i % 256}.1`).join(', ');
const WRITTEN = { /* by a client; then a proxy adds the address of the client */
	'nothing': [],
	'a trusted address': ['127.0.0.1'],
	'many addresses': [MANY],
	'many lines': MANY.split(', ').slice(0, 60),
	'text': ['unknown, _x, a.test, "'],
	'an open quote': ['for="'],
	'an open quote and a backslash': ['for="\\'],
	'empty members': [', ,,'],
};

// covers: R688
for (const [field, add] of [['x-forwarded-for', (address) => (address.includes(':') ? `[${address}]:443` : address)], ['forwarded', (address) => `for="${address.includes(':') ? `[${address}]` : address}:443";proto=http`]])
	scenario(`${field}: the address that a trusted proxy adds counts, whatever stands before it, and none of others`, {
		listen: { trusted: '127.0.0.1', 'client-address': field },
		prepare: async (s) => {
			await withOrigin(s);
			s.ports = { six: await freePort(), strict: await freePort() };
			s.options.extra = section('listen six', { address: `[::1]:${s.ports.six}`, trusted: '::1', 'client-address': field })
				+ section('listen strict', { address: `[::1]:${s.ports.strict}`, trusted: '127.0.0.1 2001:db8::/32', 'client-address': field });
		},
	}, async (s) => {
		let n = 0;
		for (const { host, from, isTrusted, listen } of PEERS) {
			const client = await connect1(host ? s.ports[listen ?? 'six'] : s.port, { host, localAddress: from });
			for (const [what, lines] of Object.entries(WRITTEN))
				for (const address of ['192.0.2.1', '2001:db8::1'])
					for (const isApart of [false, true]) {
						const path = `/${++n}`, values = [...lines];
						if (isApart || values.length === 0)
							values.push(add(address));
						else
							values.push(`${values.pop()}, ${add(address)}`);
						client.request('GET', path, [['host', 'a.test'], ...values.map((value) => [field, value])]);
						assert.equal((await client.response()).status, 200, what);
						const line = await s.gate.access((x) => x.path === path);
						assert.equal(line.client, isTrusted ? address : from, `${what}, of ${from}`);
						assert.equal(line.tcp_peer, isTrusted ? from : undefined);
					}
		}
	});
