/* SPDX-License-Identifier: MIT */
/*
 * Origins that read X_Auth as X-Auth, and trailers as fields, are told nothing that the route takes away: from clients
 * in HTTP/1.1 and HTTP/2, to origins in both, on a gateway and in forward mode.
 */
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import net from 'node:net';
import { scenario, section } from '../support/gate.mjs';
import { forward } from '../support/forward.mjs';
import { versionedOrigins } from '../support/versions.mjs';

const TRAILERS = { 'x-page': '1', x_page: '2', 'x-debug': '3', 'x-forwarded-for': '4', 'x-more': '5' };

/* Answers with the fields and the trailers that came, and with trailers of its own. */
function echo(request, response) {
	request.resume().on('end', () => {
		response.writeHead(200, { 'content-type': 'application/json' });
		response.write(JSON.stringify({ fields: pairs(request.rawHeaders), trailers: pairs(request.rawTrailers) }));
		response.addTrailers(TRAILERS);
		response.end();
	});
}

function pairs(raw) {
	const all = [];
	for (let i = 0; i < raw.length; i += 2)
		all.push([raw[i].toLowerCase(), raw[i + 1]]);
	return all;
}

const lines = (fields) => fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');

/* A message of HTTP/1.1 whose body is chunked: its body and its trailers. */
function parsed(text) {
	const begin = text.indexOf('\r\n\r\n') + 4;
	assert.match(text, /^HTTP\/1\.1 200 /);
	let body = '', at = begin;
	for (;;) {
		const end = text.indexOf('\r\n', at);
		const size = parseInt(text.slice(at, end), 16);
		at = end + 2;
		if (size === 0)
			break;
		body += text.slice(at, at + size);
		at += size + 2;
	}
	const trailers = text.slice(at).split('\r\n').filter(Boolean).map((line) => line.split(': '));
	return { ...JSON.parse(body), answered: Object.fromEntries(trailers) };
}

/* What came to the origin, and the response's trailers. */
const CLIENTS = {
	'HTTP/1.1': (port, target, fields, trailers) => new Promise((resolve, reject) => {
		const socket = net.connect(port, '127.0.0.1');
		let got = '';
		socket.setEncoding('latin1').on('error', reject).on('data', (text) => { got += text; });
		socket.on('close', () => { try { resolve(parsed(got)); } catch (error) { reject(new Error(`${error.message}: ${got}`)); } });
		socket.write(`POST ${target.uri} HTTP/1.1\r\nHost: ${target.authority}\r\nTE: trailers\r\nConnection: TE, close\r\nTransfer-Encoding: chunked\r\n`
			+ `${lines(fields)}\r\n4\r\nbody\r\n0\r\n${lines(trailers)}\r\n`);
	}),
	'HTTP/2': (port, target, fields, trailers) => new Promise((resolve, reject) => {
		const session = http2.connect(`http://127.0.0.1:${port}`).on('error', reject);
		const all = { ':method': 'POST', ':scheme': 'http', ':authority': target.authority, ':path': target.path, te: 'trailers' };
		for (const [name, value] of fields)
			all[name.toLowerCase()] = value;
		const request = session.request(all, { waitForTrailers: true }).on('error', reject);
		let got = '', answered = {};
		request.on('wantTrailers', () => request.sendTrailers(Object.fromEntries(trailers.map(([n, v]) => [n.toLowerCase(), v]))));
		request.on('trailers', (more) => { answered = Object.fromEntries(Object.entries(more)); });
		request.setEncoding('utf8').on('data', (text) => { got += text; });
		request.on('end', () => {
			session.close();
			try {
				resolve({ ...JSON.parse(got), answered });
			} catch (error) {
				reject(new Error(`${error.message}: ${got}`));
			}
		});
		request.end('body');
	}),
};

/* The fields as an application of CGI sees them. */
const asCgi = (fields) => {
	const all = {};
	for (const [name, value] of fields) {
		const key = name.toUpperCase().replace(/[^A-Z0-9]/g, '_');
		all[key] = key in all ? `${all[key]},${value}` : value;
	}
	return all;
};

const FORGED = [['X_Auth', 'forged'], ['X-Auth', 'forged'], ['X.Auth', 'forged'], ['X_Internal', '1'], ['X-Internal', '1'],
	['X_Forwarded_For', '192.0.2.1'], ['X-Forwarded_For', '192.0.2.2'], ['X_Real_IP', '192.0.2.3'], ['X_Forwarded_Proto', 'https']];
/* No server may merge what cannot be a trailer. */
const FORGED_TRAILERS = [...FORGED, ['X-Forwarded-For', '192.0.2.1'], ['X-Forwarded-Proto', 'https'], ['Forwarded', 'for=192.0.2.1'],
	['X-Real-IP', '192.0.2.1'], ['Proxy-Authorization', 'Basic YTpi']];

const RULES = {
	'request-set': 'X-Auth: ours', 'request-remove': 'X-Internal', 'response-set': 'X-Page: ours', 'response-remove': 'X-Debug',
};

async function holds({ seen, client, isForward, isKept }) {
	const got = asCgi(seen.fields);
	assert.equal(got.HTTP_X_AUTH ?? got.X_AUTH, 'ours', `${client}: ${JSON.stringify(seen.fields)}`);
	assert.equal(got.X_INTERNAL, undefined);
	assert.equal(got.X_OWN, isKept ? 'kept' : undefined);
	assert.equal(got.X_FORWARDED_FOR, isForward ? undefined : '127.0.0.1');
	assert.equal(got.X_REAL_IP, isForward ? undefined : '127.0.0.1');
	assert.equal(got.X_FORWARDED_PROTO, isForward ? undefined : 'http');
	assert.deepEqual(asCgi(seen.trailers), { X_END: 'yes', ...(isKept ? { X_OWN: 'kept' } : {}) }, client);
	assert.deepEqual(seen.answered, { 'x-more': '5' }, client);
}

const MORE = [['X_Own', 'kept']];
const END = [['X-End', 'yes']];

// covers: R641 R642
for (const underscores of [undefined, 'pass'])
	scenario(`a gateway's rules hold for each spelling and for trailers: underscores = ${underscores ?? 'auto'}`, {
		origins: {},
		prepare: async (s) => {
			const { ports, close } = await versionedOrigins(echo, ['h1', 'h2c']);
			s.cleanups.push(close);
			const route = (name) => section(`origin ${name}`, { server: `${name === 'h1' ? 'http' : 'h2c'}://127.0.0.1:${ports[name]}` })
				+ section(`route ${name}`, { path: `/${name}`, origin: name, underscores, ...RULES });
			s.options.routes = route('h1') + route('h2c');
		},
	}, async (s) => {
		for (const [client, ask] of Object.entries(CLIENTS))
			for (const path of ['/h1', '/h2c']) {
				const target = { uri: path, path, authority: 'a.test' };
				const seen = await ask(s.port, target, [...FORGED, ...MORE], [...FORGED_TRAILERS, ...MORE, ...END]);
				await holds({ seen, client: `${client} to ${path}`, isKept: underscores === 'pass' });
			}
	});

// covers: R641 R642
for (const underscores of [undefined, 'pass'])
	forward(`so do those in forward mode: underscores = ${underscores ?? 'auto'}`, {
		serve: echo, kinds: ['h1'], route: { underscores, ...RULES },
	}, async (s) => {
		for (const [client, ask] of Object.entries(CLIENTS)) {
			const target = { uri: `${s.http}/x`, path: '/x', authority: s.http.slice('http://'.length) };
			const login = [['Proxy_Authorization', 'Basic YTpi']];
			const seen = await ask(s.port, target, [...FORGED, ...MORE, ...login], [...FORGED_TRAILERS, ...MORE, ...END, ...login]);
			await holds({ seen, client, isForward: true, isKept: underscores === 'pass' });
			assert.equal(asCgi(seen.fields).PROXY_AUTHORIZATION, undefined);
		}
	});

/* ---- what the origin is told of the client ---- */

const SAYS = [['X-Forwarded-For', '192.0.2.1'], ['X-Forwarded-Proto', 'https'], ['X-Forwarded-Host', 'evil.test'], ['X-Forwarded-Port', '1'],
	['X-Real-IP', '192.0.2.1'], ['Forwarded', 'for=192.0.2.1;proto=https'], ['X-Forwarded-Ssl', 'on']];
const asked = async (s, client, fields, { authority = 'a.test:8080' } = {}) => {
	const { fields: seen } = await CLIENTS[client](s.port, { uri: '/', path: '/', authority }, fields, []);
	const said = /^(forwarded|x-real-ip|x-forwarded-.*)$/;
	return Object.fromEntries(seen.filter(([name]) => said.test(name)));
};
const told = {
	forwarded: 'for=127.0.0.1;host="a.test:8080";proto=http', 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'http',
	'x-forwarded-host': 'a.test:8080', 'x-forwarded-port': '8080', 'x-real-ip': '127.0.0.1',
};
const oneOrigin = (kind, route = {}, more = {}) => ({
	origins: {},
	prepare: async (s) => {
		const { ports, close } = await versionedOrigins(echo, [kind]);
		s.cleanups.push(close);
		s.options.routes = section('origin main', { server: `${kind === 'h1' ? 'http' : 'h2c'}://127.0.0.1:${ports[kind]}` })
			+ section('route main', { origin: 'main', ...route });
	},
	...more,
});

// covers: R640
for (const kind of ['h1', 'h2c']) {
	scenario(`without a word an ${kind} origin is told what pushgate knows of the client, whatever that says`, oneOrigin(kind), async (s) => {
		for (const client of Object.keys(CLIENTS))
			for (let again = 0; again < 2; again++) {
				assert.deepEqual(await asked(s, client, SAYS), told, client);
				assert.deepEqual(await asked(s, client, []), told, client);
				assert.equal((await asked(s, client, [], { authority: 'b.test' }))['x-forwarded-port'], '80');
			}
	});
	/* In HTTP/1.1 the scheme is what the proxy says, in HTTP/2 that of the request. */
	scenario(`of a trusted proxy an ${kind} origin is told what that says`, oneOrigin(kind, {}, { listen: { trusted: '127.0.0.1' } }), async (s) => {
		for (const client of Object.keys(CLIENTS))
			assert.deepEqual(await asked(s, client, SAYS), {
				...Object.fromEntries(SAYS.map(([name, value]) => [name.toLowerCase(), value])),
				'x-forwarded-for': '192.0.2.1, 127.0.0.1',
				forwarded: `for=192.0.2.1;proto=https, for=127.0.0.1;host="a.test:8080";proto=${client === 'HTTP/2' ? 'http' : 'https'}`,
			}, client);
	});
	scenario(`an ${kind} origin gets them as they came where the route says so`, oneOrigin(kind, { forwarded: 'keep' }), async (s) => {
		for (const client of Object.keys(CLIENTS))
			assert.deepEqual(await asked(s, client, SAYS), Object.fromEntries(SAYS.map(([name, value]) => [name.toLowerCase(), value])), client);
	});
}
