/* SPDX-License-Identifier: MIT */
/*
 * What an origin is told of the client, as a table: who the peer is, what the request says already, and which options
 * there are. Over HTTP/2 and HTTP/1.1, IPv4 and IPv6.
 */
import assert from 'node:assert/strict';
import { freePort, scenario, section } from '../support/gate.mjs';
import { connect1, recordingOrigin } from '../support/http1.mjs';

/* The visitor is the peer, at an address that is not the trusted one, or its proxy is, at the trusted one. */
const PEERS = { 4: { stranger: '127.0.0.5', proxy: '127.0.0.9' }, 6: { stranger: '::1', proxy: '::1' } };
const FORGED = '203.0.113.66';

/* The fields that pushgate writes of a client. */
const node = (address) => (address.includes(':') ? `"[${address}]"` : address);
const written = (address, { host, scheme }) => ({
	forwarded: [`for=${node(address)};host="${host}";proto=${scheme}`], 'x-forwarded-for': [address], 'x-forwarded-proto': [scheme],
	'x-forwarded-host': [host], 'x-forwarded-port': [host.split(':').pop()], 'x-real-ip': [address],
});
/* What a request says: [name, value] in order. `others` goes on to nobody but behind a trusted proxy. */
const SAYS = {
	nothing: [],
	'an address': [['X-Forwarded-For', FORGED]],
	'many values in one line': [['X-Forwarded-For', `198.51.100.1, ${FORGED}`], ['Forwarded', `for=198.51.100.1, for=${FORGED}`]],
	'many lines': [['X-Forwarded-For', '198.51.100.1'], ['X-Forwarded-For', FORGED], ['Forwarded', 'for=198.51.100.1'], ['Forwarded', `for=${FORGED}`]],
	'an IPv6 address': [['X-Forwarded-For', '2001:db8::7'], ['Forwarded', 'for="[2001:db8::7]:4711"']],
	'an address with a port': [['X-Forwarded-For', '[2001:db8::7]:4711']],
	'names for nobody': [['X-Forwarded-For', 'unknown'], ['Forwarded', 'for=_hidden;by=unknown']],
	'no address': [['X-Forwarded-For', 'me & you'], ['Forwarded', 'nonsense']],
	'an empty value': [['X-Forwarded-For', ''], ['Forwarded', '']],
	'everything': [
		['Forwarded', `for=${FORGED};host=evil.example;proto=https`], ['X-Forwarded-For', FORGED], ['X-Forwarded-Host', 'evil.example'],
		['X-Forwarded-Port', '81'], ['X-Real-IP', FORGED], ['X-Forwarded-Prefix', '/evil'], ['X_Forwarded_For', FORGED], ['x.real-ip', FORGED],
	],
};

/* What is appended to: the lists, line by line, the last of which grows. */
function appended(said, peer, asked) {
	const fields = {};
	for (const [name, value] of said.filter(([n]) => !/[_.]/.test(n)))
		(fields[name.toLowerCase()] ??= []).push(value);
	const own = written(peer, asked);
	for (const name of ['forwarded', 'x-forwarded-for']) {
		const lines = fields[name] ??= [''];
		lines.push([lines.pop(), own[name][0]].filter(Boolean).join(', '));
	}
	for (const name of ['x-forwarded-proto', 'x-forwarded-host'])
		fields[name] ??= own[name];
	return fields;
}
/* The client that a trusted proxy names at the right end; undefined: one that nobody knows; null: it names none. */
function named(said) {
	const lists = said.filter(([name]) => name === 'X-Forwarded-For');
	if (!lists.length)
		return null;
	const last = lists.at(-1)[1].split(',').at(-1).trim().replace(/^\[(.*)\](:\d+)?$/, '$1');
	return /^[0-9a-f.:]+$/.test(last) ? last : undefined;
}

/* Each option: [more of the listener, of the route, what the origin gets]. */
const OPTIONS = {
	'forwarded = append': [{}, {}, (said, peer, asked, isTrusted) => (isTrusted ? appended(said, peer, asked) : written(peer, asked))],
	'forwarded = replace': [{}, { forwarded: 'replace' }, (said, peer, asked) => written(peer, asked)],
	'forwarded = remove': [{}, { forwarded: 'remove' }, () => ({})],
	'client-address, forwarded = append': [{ 'client-address': 'x-forwarded-for' }, {},
		(said, peer, asked, isTrusted) => (isTrusted ? appended(said, peer, asked) : written(peer, asked))],
	'client-address, forwarded = replace': [{ 'client-address': 'x-forwarded-for' }, { forwarded: 'replace' }, (said, peer, asked, isTrusted) => {
		const client = isTrusted ? named(said) : null;
		if (client === null)
			return written(peer, asked);
		if (client)
			return written(client, asked);
		const { 'x-forwarded-for': _, 'x-real-ip': __, forwarded, ...rest } = written('unknown', asked);
		return { forwarded, ...rest };
	}],
};

const forwarding = (fields) => {
	const all = {};
	for (const [name, value] of fields)
		if (/^(forwarded|x[^a-z0-9]forwarded[^a-z0-9].*|x[^a-z0-9]real[^a-z0-9]ip)$/i.test(name))
			(all[name.toLowerCase()] ??= []).push(value);
	return all;
};

/* Sends a request of each kind; gives the fields of it by the origin. */
const VERSIONS = {
	'HTTP/1.1': async (s, at) => {
		const client = await connect1(s.at[at.family], at);
		s.cleanups.push(() => client.close());
		return async (path, host, said) => {
			client.request('GET', path, [['Host', host], ...said]);
			assert.equal((await client.response()).status, 200, path);
		};
	},
	'HTTP/2': async (s, at) => {
		const client = await s.connect({ ...at, port: s.at[at.family] });
		let stream = -1;
		return async (path, host, said) => {
			const fields = {};
			for (const [name, value] of said)
				(fields[name.toLowerCase()] ??= []).push(value);
			client.request(stream += 2, { path, ':authority': host, ...fields });
			assert.equal((await client.response(stream)).status, 200, path);
		};
	},
};

async function prepare(s, listen, route) {
	s.origin = await recordingOrigin();
	s.cleanups.push(() => s.origin.close());
	s.at = { 6: await freePort() };
	s.options.origins = { main: { server: `http://127.0.0.1:${s.origin.port}` } };
	s.options.extra = section('listen six', { address: `[::1]:${s.at[6]}`, ...listen });
	s.options.routes = section('route main', { origin: 'main', ...route });
}

// covers: R497 R640 R641
for (const [option, [more, route, expected]] of Object.entries(OPTIONS))
	for (const trusts of [true, false]) {
		const listen = { trusted: trusts ? '127.0.0.9 ::1' : '192.0.2.1', ...more };
		scenario(`${option}, with a proxy that is ${trusts ? '' : 'not '}trusted`, { listen, prepare: (s) => prepare(s, listen, route) }, async (s) => {
			s.at[4] = s.port;
			let n = 0;
			for (const [version, opens] of Object.entries(VERSIONS))
				for (const family of ['4', '6'])
					for (const [who, peer] of Object.entries(PEERS[family])) {
						const at = { family, host: family === '6' ? '::1' : '127.0.0.1', localAddress: peer };
						const ask = await opens(s, at);
						const isTrusted = trusts && (who === 'proxy' || family === '6');
						for (const [what, said] of Object.entries(SAYS)) {
							const path = `/${++n}`, host = `www.a.test:${s.at[family]}`;
							await ask(path, host, said);
							/* HTTP/1.1 has no scheme but the one that a trusted proxy names. */
							const scheme = isTrusted && version === 'HTTP/1.1' && what === 'everything' ? 'https' : 'http';
							const { fields } = await s.origin.request(path);
							assert.deepEqual(forwarding(fields), expected(said, peer, { host, scheme }, isTrusted), `${version}, IPv${family}, ${who}, ${what}`);
						}
					}
		});
	}
