/* SPDX-License-Identifier: MIT */
/*
 * `pushgate fetch` against scripted servers: what it sends, what it refuses to send, and what it says
 * when a run fails. Its exit status tells the kind of failure.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import { test } from 'node:test';
import { BINARY, certs, freePort, patiently, scenario } from '../support/gate.mjs';
import { PATIENCE, SCALE, listen } from '../support/peer.mjs';

/* Runs the command to its end. */
function fetch(...args) {
	const limit = args.includes('--max-time') ? [] : ['--max-time', String(30 * SCALE)];
	const child = spawn(BINARY, ['fetch', ...limit, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
	const run = { out: '', err: '' };
	child.stdout.setEncoding('utf8').on('data', (text) => { run.out += text; });
	child.stderr.setEncoding('utf8').on('data', (text) => { run.err += text; });
	return new Promise((resolve) => {
		child.once('close', (code, signal) => resolve({ ...run, code: code ?? signal }));
	});
}

/* A server for one test; serve(connection) plays its part for each connection. */
function serving(name, options, serve, body) {
	test(name, { timeout: 120000 * SCALE }, async () => {
		const server = await listen(options);
		const plays = [];
		const next = () => server.accept(3600e3).then((c) => { plays.push(serve(c)); next(); });
		next();
		try {
			await body(server, plays);
			await Promise.all(plays);
		} finally {
			await server.close();
		}
	});
}

async function answerAll(c) {
	c.respond((await c.expectRequest()).stream, { body: 'hello' });
}

/* ---- the request ---- */

serving('host sets :authority, and pushes for that name are taken', {}, async (c) => {
	const up = await c.expectRequest();
	assert.equal(up.headers[':authority'], 'other.test');
	assert.equal(up.headers.host, undefined);
	c.pushPromise(up.stream, 2, { ':method': 'GET', ':scheme': 'http', ':authority': 'other.test', ':path': '/a.css' });
	c.respond(2, { body: 'a' });
	c.respond(up.stream, { body: 'hello' });
}, async (server) => {
	const run = await fetch('-H', 'Host: other.test', `http://127.0.0.1:${server.port}/`);
	assert.equal(run.code, 0, run.err);
	assert.match(run.out, /1 push promised, 1 complete/);
});

test('what HTTP/2 cannot carry is said before anything is sent', async () => {
	const rows = [
		[['-H', 'connection: close'], /-H cannot set connection: only HTTP\/1\.1 has this field/],
		[['-H', 'Transfer-Encoding: chunked'], /-H cannot set transfer-encoding: /],
		[['-H', 'upgrade: h2c'], /-H cannot set upgrade: /],
		[['-H', ':path: /x'], /-H cannot set :path: the URL sets the path/],
		[['-H', ':method: GET'], /-H cannot set :method: -X sets the method/],
		[['-H', ':authority: x'], /-H cannot set :authority: the URL or -H 'host: NAME' sets the host/],
		[['-H', ':frob: x'], /-H ':frob' cannot be sent: unknown pseudo-field/],
		[['-H', 'te: gzip'], /-H 'te' cannot be sent: te other than "trailers"/],
		[['-H', 'two words: x'], /-H 'two words' cannot be sent: field name is not a token/],
		[['-H', 'a: 1\r\nb: 2'], /-H 'a' cannot be sent: control byte in a field value/],
		[['-H', 'host: a b'], /-H host: 'a b' is not HOST or HOST:PORT/],
		[['-H', 'host:'], /-H host: '' is not HOST/],
		[['-H', 'host: a', '-H', 'host: b'], /-H host is given twice/],
		[['-H', 'content-length: 9'], /-H content-length says '9', but the body has 0 bytes/],
		[['-X', 'GE T'], /-X 'GE T' is not a method/],
		[['-X', 'CONNECT'], /-X CONNECT: fetch opens no tunnels/],
	];
	const server = net.createServer((socket) => { server.hits = true; socket.destroy(); });
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	try {
		for (const [args, message] of rows) {
			const run = await fetch(...args, `http://127.0.0.1:${server.address().port}/`);
			assert.equal(run.code, 2, `${args}: ${run.err}`);
			assert.match(run.err, message);
			assert.equal(run.out, '');
		}
		assert.ok(!server.hits);
	} finally {
		server.close();
	}
});

serving('te: trailers, upper case and the right content-length are sent', {}, async (c) => {
	const up = await c.expectRequest();
	assert.equal(up.headers.te, 'trailers');
	assert.equal(up.headers['x-a'], '1');
	assert.equal(up.headers['content-length'], '3');
	c.respond(up.stream, { body: 'hello' });
}, async (server) => {
	const run = await fetch('-H', 'TE: trailers', '-H', 'X-A: 1', '-d', 'abc', '-H', 'content-length: 3', `http://127.0.0.1:${server.port}/`);
	assert.equal(run.code, 0, run.err);
});

for (const [url, message] of [
	['ftp://a.test/', /the URL must begin with http:\/\/ or https:\/\//],
	['http:///x', /the URL has no host/],
	['http://me:secret@a.test/', /the URL has a user name; credentials go into -H/],
	['http://a.test:99999/', /the URL's host or port is malformed/],
]) {
	test(`the URL ${url} is refused`, async () => {
		const run = await fetch(url);
		assert.equal(run.code, 2);
		assert.match(run.err, message);
	});
}

/* ---- what the server does ---- */

for (const [code, words] of [
	['REFUSED_STREAM', /reset the request: REFUSED_STREAM \(it did not process the request, which may be sent again\)/],
	['ENHANCE_YOUR_CALM', /reset the request: ENHANCE_YOUR_CALM \(it was asked for too much, or too fast\)/],
	['HTTP_1_1_REQUIRED', /HTTP_1_1_REQUIRED \(it wants this request over HTTP\/1\.1\)/],
]) {
	serving(`a request reset with ${code} is told in words`, {}, async (c) => {
		const up = await c.expectRequest();
		c.rst(up.stream, code);
	}, async (server) => {
		const run = await fetch(`http://127.0.0.1:${server.port}/`);
		assert.equal(run.code, 92);
		assert.match(run.err, words);
	});
}

serving('a code that HTTP/2 does not define has a text as well', {}, async (c) => {
	const up = await c.expectRequest();
	c.rst(up.stream, 0x77);
}, async (server) => {
	const run = await fetch(`http://127.0.0.1:${server.port}/`);
	assert.equal(run.code, 92);
	assert.match(run.err, /\(a code that HTTP\/2 does not define\)/);
});

serving('GOAWAY before the request is no failure of the request', {}, async (c) => {
	await c.expectRequest();
	c.goaway(0);
}, async (server) => {
	const run = await fetch(`http://127.0.0.1:${server.port}/`);
	assert.equal(run.code, 92);
	assert.match(run.err, /the server is closing the connection and did not process the request, which may be sent again/);
});

serving('GOAWAY with an error and a text says both', {}, async (c) => {
	await c.expectRequest();
	c.goaway(1, 'INADEQUATE_SECURITY', 'too weak');
	c.end();
}, async (server) => {
	const run = await fetch(`http://127.0.0.1:${server.port}/`);
	assert.equal(run.code, 92);
	assert.match(run.err, /GOAWAY INADEQUATE_SECURITY \(the TLS connection is not safe enough for it\); it says: too weak/);
});

test('a server that speaks no HTTP/2 is named as such, in each way that shows it', async () => {
	const silent = net.createServer(() => {});
	const closing = net.createServer((socket) => socket.end());
	const wordy = net.createServer((socket) => socket.end('SSH-2.0-x\r\n'));
	const port = async (server) => {
		await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
		return server.address().port;
	};
	try {
		let run = await fetch(`http://127.0.0.1:${await port(closing)}/`);
		assert.equal(run.code, 92);
		assert.match(run.err, /closed the connection.*it may speak no HTTP\/2 at this port, or only over TLS \(https:\/\/\)/);
		run = await fetch('-k', `https://127.0.0.1:${await port(wordy)}/`);
		assert.equal(run.code, 60);
		assert.match(run.err, /what came is not TLS .*; is it an http:\/\/ server\?/);
		run = await fetch('--max-time', String(1.5 * SCALE), `http://127.0.0.1:${await port(silent)}/`);
		assert.equal(run.code, 28);
		assert.match(run.err, /not even HTTP\/2's first frame has come from the server after [\d.]+ s/);
	} finally {
		for (const server of [silent, closing, wordy])
			server.close();
	}
});

serving('a response that does not come in time is named', {}, async (c) => { await c.expectRequest(); }, async (server) => {
	const run = await fetch('--max-time', String(2 * SCALE), `http://127.0.0.1:${server.port}/`);
	assert.equal(run.code, 28);
	assert.match(run.err, /no response after [\d.]+ s \(--max-time\)/);
});

serving('a certificate that is not trusted: the options that help are named', { tls: certs().server }, answerAll, async (server) => {
	let run = await fetch(`https://localhost:${server.port}/`);
	assert.equal(run.code, 60);
	assert.match(run.err, /certificate verify failed: .*; --cacert FILE names the authority to trust, --insecure \(-k\) does/);
	run = await fetch('--cacert', certs().file('ca.pem'), '--connect', `127.0.0.1:${server.port}`, 'https://elsewhere.test/');
	assert.equal(run.code, 60);
	assert.match(run.err, /the certificate is for other names/);
	run = await fetch('--cacert', certs().file('ca.pem'), `https://localhost:${server.port}/`);
	assert.equal(run.code, 0, run.err);
	run = await fetch('-k', `https://127.0.0.1:${server.port}/`);
	assert.equal(run.code, 0, run.err);
	run = await fetch('--cacert', '/nowhere', `https://localhost:${server.port}/`);
	assert.equal(run.code, 60);
	assert.match(run.err, /--cacert: \/nowhere: No such file/);
});

for (const isTls of [false, true])
	serving(`a forward proxy ${isTls ? 'with TLS ' : ''}is asked for either scheme, and its pushes are taken`, isTls ? { tls: certs().server } : {}, async (c) => {
		const up = await c.expectRequest();
		const { ':scheme': scheme, ':authority': authority } = up.headers;
		c.pushPromise(up.stream, 2, { ':method': 'GET', ':scheme': scheme, ':authority': authority, ':path': '/a.css' });
		c.respond(2, { body: 'a' });
		c.respond(up.stream, { body: `${scheme}://${authority}${up.headers[':path']}` });
	}, async (server) => {
		/* The certificate that counts is the proxy's. */
		const proxy = ['--proxy', `${isTls ? 'https' : 'http'}://localhost:${server.port}`, '--cacert', certs().file('ca.pem')];
		for (const url of ['http://elsewhere.test/x', 'https://elsewhere.test:8443/y']) {
			const run = await fetch(...proxy, '-o', '-', url);
			assert.equal(run.code, 0, run.err);
			assert.equal(run.out, url);
			assert.match(run.err, /1 push promised, 1 complete/);
		}
	});

test('nobody listens, and a name without an address', async () => {
	let run = await fetch(`http://127.0.0.1:${await freePort()}/`);
	assert.equal(run.code, 7);
	assert.match(run.err, /cannot connect to 127\.0\.0\.1:\d+: connect: Connection refused/);
	run = await fetch('http://no-such-host.invalid/');
	assert.equal(run.code, 6);
	assert.match(run.err, /cannot resolve no-such-host\.invalid: /);
});

/* ---- HTTP/1.1 ---- */

/* Runs the body with the port of a Node.js server. */
async function withServer(server, body) {
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	try {
		return await body(server.address().port);
	} finally {
		server.close();
		server.closeAllConnections?.();
	}
}

/* A server that says these bytes once a request's head has come, and then ends the connection. */
const saying = (text) => net.createServer((socket) => {
	socket.on('error', () => {});
	socket.once('data', () => socket.end(text));
});

function echo(request, response) {
	const body = [];
	request.on('data', (d) => body.push(d));
	request.on('end', () => {
		response.setHeader('x-version', request.httpVersion);
		response.end(JSON.stringify({
			version: request.httpVersion, method: request.method, path: request.url,
			host: request.headers.host, fields: request.headers, bytes: Buffer.concat(body).length,
		}));
	});
}

test('--http1.1 sends the same request in HTTP/1.1, and shows the response', () => withServer(http.createServer(echo), async (port) => {
	let run = await fetch('--http1.1', '-o', '-', '-H', 'X-A: 1', `http://127.0.0.1:${port}/p?q`);
	assert.equal(run.code, 0, run.err);
	let seen = JSON.parse(run.out);
	assert.deepEqual([seen.version, seen.method, seen.path, seen.host], ['1.1', 'GET', '/p?q', `127.0.0.1:${port}`]);
	assert.equal(seen.fields['x-a'], '1');
	assert.match(seen.fields['user-agent'], /^pushgate-fetch\//);
	assert.match(run.err, /^http\/1\.1: HTTP\/1\.1 has no pushes; \d+ B in/m);
	run = await fetch('--http1.1', '-o', '-', '-H', 'host: other.test', '-d', 'x'.repeat(70000), `http://127.0.0.1:${port}/`);
	assert.equal(run.code, 0, run.err);
	seen = JSON.parse(run.out);
	assert.deepEqual([seen.method, seen.host, seen.bytes, seen.fields['content-length']], ['POST', 'other.test', 70000, '70000']);
	run = await fetch('--http1.1', '-o', '-', '-d', '', '-X', 'PUT', `http://127.0.0.1:${port}/`);
	seen = JSON.parse(run.out);
	assert.deepEqual([seen.method, seen.bytes, seen.fields['content-length']], ['PUT', 0, '0']);
	run = await fetch('--http1.1', '-X', 'HEAD', '--trace', `http://127.0.0.1:${port}/`);
	assert.equal(run.code, 0, run.err);
	assert.match(run.out, /asked 200 +0 B/);
	assert.match(run.err, /ms {2}-> request len=\d+\n.*ms {2}<- response 200 len=\d+/);
}));

test('--json says that HTTP/1.1 takes no pushes, and when a 103 came', () => withServer(http.createServer((request, response) => {
	response.writeEarlyHints({ link: '</a.css>; rel=preload' });
	response.statusCode = 404;
	response.write('a');
	response.end('b');
}), async (port) => {
	const run = await fetch('--http1.1', '--json', `http://127.0.0.1:${port}/`);
	assert.equal(run.code, 22, run.err);
	assert.match(run.err, /the server answered 404/);
	const [only, ...others] = JSON.parse(run.out).runs;
	assert.equal(others.length, 0);
	assert.equal(only.protocol, 'http/1.1');
	assert.equal(only.takes_pushes, false);
	assert.equal(only.streams.length, 1);
	const [page] = only.streams;
	assert.deepEqual([page.id, page.status, page.state, page.bytes], [1, 404, 'complete', 2]);
	assert.deepEqual(page.interims.map((i) => [i.status, i.link]), [[103, '</a.css>; rel=preload']]);
}));

test('over TLS the server chooses the version by ALPN, unless --http1.1 has chosen it', async () => {
	const { server } = certs();
	const both = http2.createSecureServer({ ...server, allowHTTP1: true }, echo);
	const get = async (port, ...args) => {
		const run = await fetch('-k', '--json', ...args, `https://127.0.0.1:${port}/`);
		assert.equal(run.code, 0, run.err);
		return JSON.parse(run.out).runs[0].protocol;
	};
	await withServer(both, async (port) => {
		assert.equal(await get(port), 'h2, TLSv1.3');
		assert.equal(await get(port, '--http1.1'), 'http/1.1, TLSv1.3');
	});
	await withServer(https.createServer(server, echo), async (port) => {
		assert.equal(await get(port), 'http/1.1, TLSv1.3');
	});
	/* A server that knows no ALPN. */
	await withServer(https.createServer({ ...server, ALPNProtocols: [] }, echo), async (port) => {
		assert.equal(await get(port), 'http/1.1, TLSv1.3');
		const run = await fetch('-k', '--compare', `https://127.0.0.1:${port}/`);
		assert.equal(run.code, 0, run.err);
		assert.match(run.out, /There is nothing to compare: HTTP\/1\.1 has no pushes\./);
	});
});

for (const [what, response, code, words] of [
	['a whole response that the end of the connection ends', 'HTTP/1.0 200 OK\r\n\r\nhello', 0, /^$/],
	['trailers', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n', 0, /^$/],
	['bytes behind the response', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n', 0, /The origin sent bytes that no request asked for/],
	['no response', '', 92, /the server closed the connection.*: it did not answer/],
	['half a head', 'HTTP/1.1 200 OK\r\nx:', 92, /the server closed the connection.*: it did not answer/],
	['a body that is too short', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello', 92, /the server closed the connection.*: the response is not complete/],
	['chunks without the last one', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n', 92, /: the response is not complete/],
	['a bad chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfive\r\nhello\r\n', 92, /the response is malformed: A chunk's size is not a hexadecimal number.*\(RFC 9112 7\.1\)/],
	['another protocol', 'SSH-2.0-x\r\n\r\n', 92, /the response is malformed: The first line is not HTTP-VERSION SP STATUS/],
]) {
	test(`--http1.1 and ${what}: status ${code}`, () => withServer(saying(response), async (port) => {
		const run = await fetch('--http1.1', '--json', `http://127.0.0.1:${port}/`);
		assert.equal(run.code, code, run.err);
		assert.match(run.err, words);
		const [page] = JSON.parse(run.out).runs[0].streams;
		assert.equal(page.state === 'complete', code === 0);
		assert.ok(code !== 0 || page.bytes === 5);
	}));
}

test('--http1.1 and silence: status 28', () => withServer(net.createServer((socket) => socket.on('error', () => {})), async (port) => {
	const run = await fetch('--http1.1', '--max-time', String(1.5 * SCALE), `http://127.0.0.1:${port}/`);
	assert.equal(run.code, 28);
	assert.match(run.err, /no response after [\d.]+ s \(--max-time\)/);
}));

test('what HTTP/1.1 has no use for is refused with --http1.1', async () => {
	for (const [args, message] of [
		[['--compare'], /not with --http1\.1, --no-push/],
		[['-H', 'connection: close'], /-H cannot set connection: this field is for one connection alone/],
		[['-H', 'transfer-encoding: chunked'], /-H cannot set transfer-encoding: /],
	]) {
		const run = await fetch('--http1.1', ...args, 'http://127.0.0.1:1/');
		assert.equal(run.code, 2, run.err);
		assert.match(run.err, message);
	}
});

test('a cleartext server of HTTP/1.1 alone: the option that helps is named', () => withServer(http.createServer(echo), async (port) => {
	const run = await fetch(`http://127.0.0.1:${port}/`);
	assert.equal(run.code, 92);
	assert.match(run.err, /answered with HTTP\/1 \("HTTP\/1\.1 400 Bad Request"\).*; --http1\.1 asks in HTTP\/1\.1/);
}));

/* ---- the demo, with and without pushes ---- */

const thinking = { origins: { demo: { server: 'demo:?think=500ms&rtt=40ms' } } };

scenario('the demo pushes while it thinks; without pushes its parts come a round trip after the page', thinking, async (s) => {
	const run = await fetch('--compare', '--json', `http://127.0.0.1:${s.port}/`);
	assert.equal(run.code, 0, run.err);
	const [pushed, asked] = JSON.parse(run.out).runs;
	assert.equal(pushed.takes_pushes, true);
	assert.equal(asked.takes_pushes, false);
	const paths = (r) => r.streams.map((x) => x.path).sort();
	assert.deepEqual(paths(pushed), paths(asked));
	const [page, ...parts] = pushed.streams;
	assert.equal(parts.length, 8);
	assert.ok(page.first_byte_us >= 540e3);
	for (const part of parts) {
		assert.equal(part.kind, 'pushed');
		assert.equal(part.state, 'complete');
		/* The demo answers them when the request comes, and the page half a second later. */
		assert.ok(part.end_us <= page.first_byte_us, `${part.path} ${part.end_us} ${page.first_byte_us}`);
	}
	const [alone, ...requested] = asked.streams;
	assert.ok(alone.first_byte_us >= 540e3);
	for (const part of requested) {
		assert.equal(part.kind, 'requested');
		assert.ok(part.start_us >= alone.first_byte_us);
		assert.ok(part.first_byte_us >= part.start_us + 40e3);
		assert.equal(part.status, 200);
	}
	assert.ok(pushed.total_us > 0 && asked.total_us >= alone.end_us + 40e3);
});

const hinting = { ...thinking, extra: '[push hints]\npush-enabled = no\nhint-clients = all\naction = hint+hold\n\n' };

scenario('a client that takes no pushes has what was hinted and held while the page is still thought about', hinting, async (s) => {
	const run = await fetch('--compare', '--json', `http://127.0.0.1:${s.port}/`);
	assert.equal(run.code, 0, run.err);
	const [, asked] = JSON.parse(run.out).runs;
	const [page, ...parts] = asked.streams;
	assert.equal(page.interims[0].status, 103);
	assert.equal(parts.length, 8);
	for (const part of parts) {
		assert.ok(part.start_us < page.first_byte_us);
		assert.ok(part.end_us <= page.first_byte_us, `${part.path} ${part.end_us} ${page.first_byte_us}`);
	}
});

scenario('--compare prints both tables, and with nothing pushed says so', thinking, async (s) => {
	const run = await fetch('--compare', `http://127.0.0.1:${s.port}/`);
	assert.equal(run.code, 0, run.err);
	assert.match(run.out, /8 pushes promised, 8 complete/);
	assert.match(run.out, /pushes not accepted \(ENABLE_PUSH=0\)/);
	assert.match(run.out, /Everything was there after [\d.]+ ms with pushes, [\d.]+ ms without: pushes saved/);
	const none = await patiently(fetch('--compare', `http://127.0.0.1:${s.port}/logo.svg`), PATIENCE);
	assert.match(none.out, /There is nothing to compare: nothing was pushed/);
	const wrong = await fetch('--compare', '--no-push', `http://127.0.0.1:${s.port}/`);
	assert.equal(wrong.code, 2);
});

scenario('a table that cannot be written is status 23, as the manual says', {}, async (s) => {
	const serve = s.accept().then(async (origin) => {
		const up = await origin.expectRequest();
		origin.respond(up.stream, { body: 'x' });
	});
	const child = spawn('sh', ['-c', 'exec "$0" fetch "$1" > /dev/full', BINARY, `http://127.0.0.1:${s.port}/`], { stdio: ['ignore', 'ignore', 'pipe'] });
	let text = '';
	child.stderr.on('data', (d) => { text += d; });
	const code = await new Promise((resolve) => { child.once('close', resolve); });
	await serve;
	assert.equal(code, 23, text);
	assert.match(text, /^pushgate fetch: cannot write the output: /);
});
