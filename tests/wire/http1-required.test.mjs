/* SPDX-License-Identifier: MIT */
/*
 * Origins over TLS that speak HTTP/2 and demand HTTP/1.1 (HTTP_1_1_REQUIRED): the request is asked again over HTTP/1.1, and
 * so are others of that server for a time. And https1://, which never offers HTTP/2.
 */
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import tls from 'node:tls';
import { certs, scenario, until } from '../support/gate.mjs';

const { NGHTTP2_HTTP_1_1_REQUIRED: REQUIRED } = http2.constants;

/*
 * An https server of Node's that speaks both versions, and records what it was asked in which. `demands`: (stream, headers,
 * session) for each request over HTTP/2. h2: it speaks HTTP/2 alone.
 */
async function demanding(s, demands, { h2 = false } = {}) {
	const server = http2.createSecureServer({ ...certs().server, allowHTTP1: !h2, ...(h2 ? { ALPNProtocols: ['h2'] } : {}) });
	const site = { asked: [], offered: [], sessions: [] };
	server.on('session', (session) => { site.sessions.push(session.on('error', () => {})); });
	server.on('stream', (stream, headers) => {
		stream.on('error', () => {});
		site.asked.push(`2 ${headers[':method']} ${headers[':path']}`);
		demands(stream, headers, stream.session);
	});
	server.on('request', (request, response) => {
		if (request.httpVersionMajor !== 1)
			return;
		site.asked.push(`1 ${request.method} ${request.url}`);
		let body = '';
		request.on('data', (d) => { body += d; });
		request.on('end', () => { response.end(`over 1.1${body}`); });
	});
	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	s.cleanups.push(() => {
		for (const session of site.sessions)
			session.destroy();
		server.closeAllConnections?.();
		return new Promise((resolve) => { server.close(resolve); });
	});
	site.port = server.address().port;
	return site;
}

const main = {};
function required(name, { demands, scheme = 'https', options = {}, ...how }, body) {
	scenario(name, {
		...options,
		origins: { main },
		async prepare(s) {
			s.site = await demanding(s, demands, how);
			main.server = `${scheme}://127.0.0.1:${s.site.port}`;
			main.config = { 'tls-ca': certs().file('ca.pem'), 'tls-name': 'localhost' };
		},
	}, async (s) => {
		s.client = await s.connect();
		await body(s, s.client, s.site);
	});
}

const isOver1 = async (client, id, body = '') => {
	const r = await client.response(id);
	assert.deepEqual([r.status, String(r.body)], [200, `over 1.1${body}`]);
};
const resets = (stream) => stream.close(REQUIRED);

for (const method of ['GET', 'POST']) {
	// covers: R158
	required(`RST_STREAM HTTP_1_1_REQUIRED: ${method} is asked again over HTTP/1.1, and the next ones are asked so at once`, { demands: resets }, async (s, client, site) => {
		client.request(1, { method, path: '/a' });
		await isOver1(client, 1);
		client.request(3, { path: '/b' });
		await isOver1(client, 3);
		assert.deepEqual(site.asked, [`2 ${method} /a`, `1 ${method} /a`, '1 GET /b']);
		await s.gate.error(/demands HTTP\/1\.1/);
	});
}

// covers: R158
required('what others have asked on the HTTP/2 connection is not harmed', {
	demands(stream, headers) {
		if (headers[':path'] === '/late')
			stream.session.late = stream;
		else
			resets(stream);
	},
}, async (s, client, site) => {
	client.request(1, { path: '/late' });
	await until('the first request', () => site.asked.length);
	client.request(3, { path: '/a' });
	await isOver1(client, 3);
	const { late } = site.sessions[0];
	late.respond({ ':status': 200 });
	late.end('over 2');
	assert.equal(String((await client.response(1)).body), 'over 2');
});

// covers: R158
scenario('each server of a fleet that demands it gets HTTP/1.1, and no request is lost', {
	origins: { main },
	async prepare(s) {
		s.sites = [await demanding(s, resets), await demanding(s, resets)];
		main.server = s.sites.map((site) => `https://127.0.0.1:${site.port}`);
		main.config = { 'tls-ca': certs().file('ca.pem'), 'tls-name': 'localhost', 'eject-failures': '1' };
	},
}, async (s) => {
	const client = await s.connect();
	for (let id = 1; id < 20; id += 2) {
		client.request(id, { path: '/a' });
		await isOver1(client, id);
	}
	for (const site of s.sites)
		assert.ok(site.asked.filter((line) => line.startsWith('2 ')).length <= 1);
});

// covers: R158
required('GOAWAY HTTP_1_1_REQUIRED: what was asked on the connection is asked over HTTP/1.1', {
	demands(stream) { stream.session.goaway(REQUIRED, 0); },
}, async (s, client, site) => {
	client.request(1, { path: '/a' });
	await isOver1(client, 1);
	assert.deepEqual(site.asked, ['2 GET /a', '1 GET /a']);
});

// covers: R158
required('a body that has begun to leave cannot be sent again: 502, and the next request is asked over HTTP/1.1', {
	demands(stream) { stream.once('data', () => resets(stream)); },
}, async (s, client, site) => {
	client.request(1, { method: 'POST', path: '/a' }, { endStream: false }).data(1, 'part');
	const answer = await client.response(1);
	assert.equal(answer.status, 502);
	client.request(3, { path: '/b' });
	await isOver1(client, 3);
	assert.deepEqual(site.asked, ['2 POST /a', '1 GET /b']);
});

// covers: R158
required('a server that demands HTTP/1.1 and refuses it by ALPN: 502 or 503, and others are asked over HTTP/2 again', {
	h2: true,
	demands(stream, headers) {
		if (headers[':path'] === '/a')
			resets(stream);
		else
			stream.respond({ ':status': 200 }, { endStream: true });
	},
}, async (s, client, site) => {
	for (const id of [1, 5]) {
		client.request(id, { path: '/a' });
		assert.ok([502, 503].includes((await client.response(id)).status));
		client.request(id + 2, { path: '/b' });
		assert.equal((await client.response(id + 2)).status, 200);
	}
	assert.ok(site.asked.filter((line) => line.endsWith('/a')).length <= 4);
});

// covers: R158
required('an h2:// server cannot be asked otherwise: 502, and the others go on', {
	scheme: 'h2', demands: (stream, headers) => (headers[':path'] === '/a' ? resets(stream) : stream.respond({ ':status': 200 }, { endStream: true })),
}, async (s, client, site) => {
	client.request(1, { path: '/a' });
	assert.equal((await client.response(1)).status, 502);
	client.request(3, { path: '/b' });
	assert.equal((await client.response(3)).status, 200);
	assert.ok(site.asked.every((line) => line.startsWith('2 ')));
});

required('https1:// offers HTTP/1.1 alone', { scheme: 'https1', demands: resets }, async (s, client, site) => {
	client.request(1, { path: '/a' });
	await isOver1(client, 1);
	client.request(3, { method: 'POST', path: '/b' }, { endStream: false }).data(3, ' body', { endStream: true });
	await isOver1(client, 3, ' body');
	assert.deepEqual(site.asked, ['1 GET /a', '1 POST /b']);
});

scenario('https1:// says so by ALPN', {
	origins: { main },
	async prepare(s) {
		s.offered = [];
		const server = tls.createServer({ ...certs().server, ALPNCallback({ protocols }) { s.offered.push(protocols); return 'http/1.1'; } }, (c) => {
			c.on('error', () => {}).on('data', () => c.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'));
		});
		await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
		s.cleanups.push(() => new Promise((resolve) => { server.close(resolve); }));
		main.server = `https1://127.0.0.1:${server.address().port}`;
		main.config = { 'tls-ca': certs().file('ca.pem'), 'tls-name': 'localhost' };
	},
}, async (s) => {
	const client = await s.connect();
	client.request(1);
	assert.equal((await client.response(1)).status, 204);
	assert.deepEqual(s.offered, [['http/1.1']]);
});
