/* SPDX-License-Identifier: MIT */
/*
 * Answers of pushgate's own, Via, the log and the scheme where HTTP/1.1 is spoken: what a client reads, what an origin
 * reads, and what the access log says of it.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { certs, freePort, scenario, section, workDir } from '../support/gate.mjs';

const TLS = { certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') };
const dir = workDir();
const PAGE = `<h1>Not here</h1>${'p'.repeat(20000)}`;
fs.writeFileSync(path.join(dir, '404.html'), PAGE);
fs.writeFileSync(path.join(dir, 'other.txt'), 'Something went wrong.\n');

/* ---- raw peers ---- */

const PATIENCE = 20000;

function connected(port, options = {}) {
	return new Promise((resolve, reject) => {
		const socket = options.tls
			? tls.connect({ port, host: '127.0.0.1', ca: certs().ca, servername: 'a.test', ALPNProtocols: options.alpn })
			: net.connect(port, '127.0.0.1');
		socket.once('error', reject);
		socket.once(options.tls ? 'secureConnect' : 'connect', () => resolve(socket));
	});
}

/* Reads until the text matches, or to the end of the connection when there is no pattern. */
function reading(socket, pattern) {
	return new Promise((resolve, reject) => {
		socket.text ??= '';
		const timer = setTimeout(() => reject(new Error(`never ${pattern ?? 'the end'}; there is: ${JSON.stringify(socket.text.slice(0, 2000))}`)), PATIENCE);
		const look = () => {
			const match = pattern && socket.text.match(pattern);
			if (match)
				done(match);
		};
		const onData = (bytes) => { socket.text += bytes.toString('latin1'); look(); };
		const onEnd = () => (pattern ? reject(new Error(`ended without ${pattern}: ${JSON.stringify(socket.text)}`)) : done(socket.text));
		const done = (value) => {
			clearTimeout(timer);
			socket.off('data', onData).off('end', onEnd).off('error', onEnd);
			resolve(value);
		};
		socket.on('data', onData).on('end', onEnd).on('error', onEnd);
		look();
	});
}

/* A response: { status, fields, body }. */
function parsed(text) {
	const [head, ...rest] = text.split('\r\n\r\n');
	const [first, ...lines] = head.split('\r\n');
	const fields = {};
	for (const line of lines) {
		const [, name, value] = line.match(/^([^:]+): (.*)$/);
		fields[name.toLowerCase()] = fields[name.toLowerCase()] === undefined ? value : `${fields[name.toLowerCase()]}, ${value}`;
	}
	return { status: Number(first.split(' ')[1]), version: first.split(' ')[0], fields, body: rest.join('\r\n\r\n') };
}

/* Sends the request and reads to the end of the connection. */
async function ask(port, request, options = {}) {
	const socket = await connected(port, options);
	socket.write(request);
	const text = await reading(socket);
	socket.destroy();
	return parsed(text);
}

const get = (target, fields = '', version = '1.1', method = 'GET') =>
	`${method} ${target} HTTP/${version}\r\nHost: a.test\r\n${fields}Connection: close\r\n\r\n`;

const ok = (version, extra = '') => `HTTP/${version} 200 OK\r\nContent-Length: 2\r\n${extra}Connection: close\r\n\r\nok`;
const via = (head) => head.match(/^via: (.*)$/im)?.[1];

/* Listeners and origins that the tests choose from by port and by path; the ports are known beforehand. */
async function site() {
	const ports = {};
	for (const name of ['tls', 'moved', 'movedFar', 'trusting', 'trustingMoved', 'new', 'old', 'dead'])
		ports[name] = await freePort();
	const at = (name) => ({ address: `127.0.0.1:${ports[name]}` });
	return {
		ports,
		options: {
			timeout: 120000,
			routes: ['new', 'old', 'dead'].map((name) => section(`origin ${name}`, { server: `http://127.0.0.1:${ports[name]}` })
				+ section(`route ${name}`, { origin: name, path: `/${name}` })).join(''),
			origins: {},
			extra: section('listen tls', { ...at('tls'), ...TLS, hsts: '1d' })
				+ section('listen moved', { ...at('moved'), 'redirect-to-https': 'yes' })
				+ section('listen moved-far', { ...at('movedFar'), 'redirect-to-https': '8443' })
				+ section('listen trusting', { ...at('trusting'), trusted: '127.0.0.1' })
				+ section('listen trusting-moved', { ...at('trustingMoved'), trusted: '127.0.0.1', 'redirect-to-https': 'yes' })
				+ section('errors', { 404: path.join(dir, '404.html'), default: path.join(dir, 'other.txt') }),
		},
	};
}

/*
 * An origin in HTTP/1: answers the request with this text and closes the connection; or does onHead(socket, body), where
 * body() is what has come behind the head, and socket.next(text) answers and keeps the connection. Resolves with the list of the requests' heads.
 */
function listening(s, port, answer, onHead) {
	const heads = [];
	const sockets = [];
	const server = net.createServer((socket) => {
		sockets.push(socket);
		let text = '';
		let isAnswered = false;
		/* Answers, and takes another request on this connection. */
		socket.next = (answer) => { text = ''; isAnswered = false; socket.write(answer); };
		socket.on('error', () => {});
		socket.on('data', (bytes) => {
			text += bytes.toString('latin1');
			const end = text.indexOf('\r\n\r\n');
			if (end < 0 || isAnswered)
				return;
			isAnswered = true;
			heads.push(text.slice(0, end));
			if (onHead)
				onHead(socket, () => text.slice(end + 4));
			else
				socket.end(answer);
		});
	});
	/* The gate may keep connections for the next request: until idle-timeout. */
	s.cleanups.push(() => new Promise((resolve) => { server.close(resolve); sockets.forEach((socket) => socket.destroy()); }));
	return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(heads)));
}

{
	const { ports, options } = await site();
	// covers: R133 R177
	scenario('Via and the log name the version of each message on each hop', options, async (s) => {
		const heads = { new: await listening(s, ports.new, ok('1.1')), old: await listening(s, ports.old, ok('1.0')) };
		let n = 0;
		for (const [name, version] of [['new', '1.1'], ['old', '1.0']])
			for (const asked of ['1.1', '1.0']) {
				const target = `/${name}/${++n}`;
				const r = await ask(s.port, get(target, 'Via: 1.0 first\r\n', asked));
				assert.equal(r.status, 200);
				assert.match(r.fields.via, new RegExp(`^${version} \\S+$`), `response of ${version} to ${asked}`);
				assert.match(heads[name].at(-1), new RegExp(`^GET ${target} HTTP/1.1`));
				assert.match([...heads[name].at(-1).matchAll(/^via: (.*)$/gim)].map((m) => m[1]).join(', '), new RegExp(`^1.0 first, ${asked} \\S+$`));
				const line = await s.gate.access((x) => x.path === target);
				assert.deepEqual([line.protocol, line.origin_protocol], [`http/${asked}`, `http/${version}`]);
			}
		/* From h2. */
		const client = await s.connect();
		client.request(1, { path: '/new/h2' });
		const r = await client.response(1);
		assert.match(r.headers.via, /^1\.1 /);
		assert.match(via(heads.new.at(-1)), /^2 /);
		const line = await s.gate.access((x) => x.path === '/new/h2');
		assert.deepEqual([line.protocol, line.origin_protocol], ['h2', 'http/1.1']);
	});
}

{
	const { ports, options } = await site();
	scenario('error bodies: the file of the status, that of all others, JSON, and none for HEAD', options, async (s) => {
		const browser = 'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n';
		const json = 'Accept: application/json\r\n';
		for (const accept of ['', browser]) {
			const r = await ask(s.port, get('/nowhere', accept));
			assert.deepEqual([r.status, r.fields['content-type'].split(';')[0], r.body], [404, 'text/html', PAGE]);
			assert.equal(r.fields['content-length'], String(PAGE.length));
			assert.equal(r.fields.vary, 'accept');
			const head = await ask(s.port, get('/nowhere', accept, '1.1', 'HEAD'));
			delete r.fields.date, delete head.fields.date;
			assert.deepEqual([head.status, head.fields, head.body], [404, r.fields, '']);
		}
		let r = await ask(s.port, get('/nowhere', json));
		assert.equal(r.fields['content-type'], 'application/problem+json');
		assert.deepEqual(JSON.parse(r.body), { status: 404, title: 'Not Found', detail: 'no route for this path' });
		r = await ask(s.port, get('/dead', browser));
		assert.deepEqual([r.status, r.fields['content-type'].split(';')[0], r.body], [503, 'text/plain', 'Something went wrong.\n']);
		r = await ask(s.port, get('/dead', json));
		assert.deepEqual([r.status, JSON.parse(r.body)], [503, { status: 503, title: 'Service Unavailable', detail: 'origin-unreachable' }]);
		assert.ok(!r.body.includes('127.0.0.1'));
		/* The origin's own are never replaced. */
		await listening(s, ports.new, 'HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmine');
		r = await ask(s.port, get('/new', browser));
		assert.deepEqual([r.status, r.body], [404, 'mine']);
		/* h2 reads the same. */
		const client = await s.connect();
		client.request(1, { path: '/nowhere', accept: 'application/json' });
		assert.equal(JSON.parse((await client.response(1)).body).status, 404);
		client.request(3, { path: '/nowhere' });
		assert.equal(String((await client.response(3)).body), PAGE);
	});
}

{
	const { options } = await site();
	const rows = [
		['GET / HTTP/1.1\r\nHost: a.test\r\nBad Name: x\r\n\r\n', 400],
		['GET / HTTP/1.1\r\n\r\n', 400],
		['\x16\x03\x01\r\n\r\n', 400],
		[`GET /${'a'.repeat(200000)} HTTP/1.1\r\nHost: a.test\r\n\r\n`, 414],
		[`GET /big HTTP/1.1\r\nHost: a.test\r\nX: ${'a'.repeat(200000)}\r\n\r\n`, 431],
		['POST /coded HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', 501],
		['GET /newer HTTP/3.7\r\nHost: a.test\r\n\r\n', 505],
		['GET /newer HTTP/0.9\r\nHost: a.test\r\n\r\n', 505],
	];
	scenario('requests that cannot be read get an answer, Proxy-Status, the end of the connection, and a line in the log', options, async (s) => {
		for (const [i, [request, status]] of rows.entries()) {
			const what = JSON.stringify(request.slice(0, 80));
			const r = await ask(s.port, request);
			assert.equal(r.status, status, what);
			assert.match(r.fields['proxy-status'], new RegExp(`error=http_request_error; status-code=${status}`), what);
			assert.equal(r.fields.connection, 'close', what);
			assert.equal(r.body, 'Something went wrong.\n', what);
			const lines = await s.gate.access(() => s.gate.accessLines().length > i) && s.gate.accessLines();
			assert.equal(lines.length, i + 1, what);
			assert.deepEqual([lines[i].status, lines[i].outcome, lines[i].protocol.startsWith('http/1.')], [status, 'refused', true], what);
			assert.ok(lines[i].detail, what);
		}
	});
}

{
	const { ports, options } = await site();
	scenario('redirect-to-https answers every request in cleartext, whatever is asked for', options, async (s) => {
		const redirected = async (port, request, location) => {
			const r = await ask(port, request);
			assert.deepEqual([r.status, r.fields.location, r.fields['content-length'], r.body], [308, location, '0', ''], request);
			assert.equal(r.fields['strict-transport-security'], undefined);
		};
		for (const [target, host, wanted] of [
			['/', 'a.test', 'https://a.test/'], ['/p?q=a%20b&c', 'A.test:80', 'https://A.test/p?q=a%20b&c'], ['//evil.test/', 'a.test', 'https://a.test//evil.test/'],
			['/x', '[::1]:8080', 'https://[::1]/x'], ['http://b.test/x', 'b.test', 'https://b.test/x'],
		]) {
			const request = (method) => `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
			for (const method of ['GET', 'HEAD', 'DELETE', 'BREW'])
				await redirected(ports.moved, request(method), wanted);
			await redirected(ports.movedFar, request('GET'), wanted.replace(/^(https:..[^/]*)/, '$1:8443'));
		}
		await redirected(ports.moved, 'OPTIONS * HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n', 'https://a.test');
		await redirected(ports.moved, 'POST /form HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc', 'https://a.test/form');
		/* What is here of a request is skipped; a client that would send more is told that the connection ends. */
		const form = 'POST /form HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\n';
		const after = await ask(ports.moved, `${form}abcGET /after HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`);
		assert.deepEqual([after.status, after.fields.connection], [308, undefined]);
		assert.equal((await s.gate.access((x) => x.path === '/after')).status, 308);
		assert.equal((await ask(ports.moved, form)).fields.connection, 'close');
		for (const host of ['', 'a.test/x', 'u@a.test', 'a.test:x', 'a b', '[::1'])
			assert.equal((await ask(ports.moved, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).status, 400, host);
		const client = await s.connect({ port: ports.moved });
		client.request(1, { path: '/h2', ':scheme': 'http' });
		const r = await client.response(1);
		assert.deepEqual([r.status, r.headers.location], [308, `https://${client.authority.replace(/:\d+$/, '')}/h2`]);
		const line = await s.gate.access((x) => x.path === '/form');
		assert.deepEqual([line.status, line.outcome], [308, 'complete']);
	});
}

{
	const { ports, options } = await site();
	scenario('hsts stands in every final response over TLS, unless the origin sent one, and never in cleartext', options, async (s) => {
		await listening(s, ports.new, null, (socket) => socket.end(`HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n${ok('1.1')}`));
		await listening(s, ports.old, ok('1.1', 'Strict-Transport-Security: max-age=7\r\n'));
		const over = { tls: true, alpn: ['http/1.1'] };
		const value = 'max-age=86400';
		let r = await ask(ports.tls, get('/new'), over);
		if (r.status === 103) {
			assert.equal(r.fields['strict-transport-security'], undefined);
			r = parsed(r.body);
		}
		assert.equal(r.fields['strict-transport-security'], value);
		assert.equal((await ask(ports.tls, get('/old'), over)).fields['strict-transport-security'], 'max-age=7');
		for (const [request, status] of [[get('/nowhere'), 404], [get('/dead'), 503], ['GET / HTTP/1.1\r\n\r\n', 400]]) {
			r = await ask(ports.tls, request, over);
			assert.deepEqual([r.status, r.fields['strict-transport-security']], [status, value]);
			r = await ask(s.port, request);
			assert.deepEqual([r.status, r.fields['strict-transport-security']], [status, undefined]);
		}
		const client = await s.connect({ tls: true, port: ports.tls });
		client.request(1, { path: '/nowhere' });
		assert.equal((await client.response(1)).headers['strict-transport-security'], value);
	});
}

{
	const { ports, options } = await site();
	// covers: R85
	scenario('the scheme of a request in HTTP/1 is that of the connection, or what a trusted peer says', options, async (s) => {
		await listening(s, ports.new, ok('1.1'));
		let n = 0;
		const served = async (port, fields, target = undefined) => {
			const at = target ?? `/new/${++n}`;
			const r = await ask(port, get(at, fields));
			if (r.status !== 200)
				return r.status;
			return (await s.gate.access((x) => x.path === at.replace(/^https?:..a\.test/, ''))).scheme;
		};
		const says = 'X-Forwarded-Proto: https\r\n';
		assert.equal(await served(s.port, says), 'http');
		assert.equal(await served(ports.trusting, says), 'https');
		assert.equal(await served(ports.trusting, 'Forwarded: for=192.0.2.1;proto=https\r\n'), 'https');
		assert.equal(await served(ports.trusting, `${says}Forwarded: proto=http\r\n`), 'http');
		assert.equal(await served(ports.trusting, 'X-Forwarded-Proto: https, https\r\n'), 'http');
		assert.equal(await served(ports.trusting, ''), 'http');
		assert.equal(await served(ports.trusting, 'X-Forwarded-Proto: http\r\n', 'https://a.test/new/absolute'), 'https');
		assert.equal(await served(s.port, '', 'https://a.test/new/absolute-2'), 421);
		/* Behind a terminator there is nowhere to redirect to. */
		assert.equal(await served(ports.trustingMoved, says), 'https');
		assert.equal(await served(ports.trustingMoved, ''), 308);
		assert.equal(await served(ports.moved, says), 308);
	});
}

{
	const { ports, options } = await site();
	// covers: R136
	scenario('Expect: 100-continue: the origin answers it, or pushgate when the origin speaks HTTP/1.0', options, async (s) => {
		/* It answers as soon as the body is there; an origin in 1.1 asks for it first. The first connection ends then. */
		const seen = {};
		const waiting = (version) => (socket, body) => {
			if (version === '1.1')
				socket.write('HTTP/1.1 100 Continue\r\n\r\n');
			const timer = setInterval(() => {
				if (!/4\r\nbody\r\n0\r\n\r\n|body$/.test(body()))
					return;
				clearInterval(timer);
				if (seen[version])
					socket.next(ok(version).replace('close', 'keep-alive'));
				else
					socket.end(ok(version));
				seen[version] = true;
			}, 5);
		};
		const heads = { new: await listening(s, ports.new, null, waiting('1.1')), old: await listening(s, ports.old, null, waiting('1.0')) };
		const upload = async (target, version = '1.1') => {
			const socket = await connected(s.port);
			socket.write(`POST ${target} HTTP/${version}\r\nHost: a.test\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`);
			if (version === '1.1')
				await reading(socket, /^HTTP\/1.1 100 Continue\r\n(.+\r\n)*\r\n/);
			socket.write('body');
			const text = await reading(socket);
			socket.destroy();
			return text.match(/HTTP\/1\.[01] \d+/g).map((x) => Number(x.slice(-3)));
		};
		assert.deepEqual(await upload('/new'), [100, 200]);
		assert.match(heads.new.at(-1), /^expect: 100-continue$/im);
		/* Once the origin has answered, it is known to speak HTTP/1.0. */
		assert.equal((await ask(s.port, `POST /old HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody`)).status, 200);
		for (const target of ['/old/new-connection', '/old/same-connection']) {
			assert.deepEqual(await upload(target), [100, 200]);
			assert.doesNotMatch(heads.old.at(-1), /^expect:/im);
		}
		const of = async (target) => (await s.gate.access((x) => x.path === target)).origin_connection;
		assert.notEqual(await of('/old/new-connection'), await of('/old'));
		assert.equal(await of('/old/new-connection'), await of('/old/same-connection'));
		assert.deepEqual(await upload('/old/3', '1.0'), [200]);
		assert.deepEqual(await upload('/new/2', '1.0'), [200]);
	});
}
