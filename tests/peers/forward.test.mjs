/* SPDX-License-Identifier: MIT */
/*
 * Programs that know what a proxy is: curl, wget, git, apt, Node's http2 and undici, Java. Over http and https
 * proxies, for http and https destinations, with and without a password.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import { createRequire } from 'node:module';
import path from 'node:path';
import tls from 'node:tls';
import { gzipSync } from 'node:zlib';
import { ROOT, certs, until } from '../support/gate.mjs';
import { MIB, PASSWORD, USER, forward } from '../support/forward.mjs';
import { gitIn, makeRepository, serveRepository } from '../support/git.mjs';
import { run } from '../support/programs.mjs';
import { Client, Peer, acceptOf, websocketOn } from './websocket-client.mjs';
import { websocketOrigins } from './websocket-origin.mjs';

const CA = certs().file('ca.pem');
const CREDENTIALS = `${USER}:${PASSWORD}`;
const noNpm = process.env.PUSHGATE_NO_BROWSER === '1' ? 'PUSHGATE_NO_BROWSER=1: no npm packages' : false;
/* No proxy of the machine's own in the way, and no configuration of the user's. */
for (const name of ['http_proxy', 'https_proxy', 'no_proxy', 'all_proxy'])
	for (const spelt of [name, name.toUpperCase()])
		delete process.env[spelt];

const tunnels = (s) => s.gate.accessLines().filter((l) => l.method === 'CONNECT');

/* ---- curl ---- */

const curl = (s, ...args) => run('curl', ['-sS', '--cacert', CA, '--proxy-cacert', CA, '-x', s.proxy, ...args]);

for (const isTls of [false, true]) {
	const what = isTls ? 'an https proxy' : 'an http proxy';
	forward(`curl by ${what}: pages, uploads, downloads of http and https`, { tls: isTls }, async (s) => {
		for (const [base, version] of [[s.http, '1.1'], [s.https, '2.0']]) {
			assert.equal((await curl(s, `${base}/page`)).stdout, 'here is /page');
			const echo = JSON.parse((await curl(s, '-H', 'proxy: x', '-H', 'proxy-connection: keep-alive', `${base}/echo`)).stdout);
			assert.equal(echo.version, version, 'a tunnel has the ALPN of its ends');
			if (base === s.https)
				continue;
			for (const name of ['proxy', 'proxy-connection', 'proxy-authorization', 'forwarded', 'x-forwarded-for'])
				assert.equal(echo.headers[name], undefined, name);
			assert.match(echo.headers.via, /^1\.1 pushgate/);
		}
		assert.match((await curl(s, '-I', `${s.http}/mb1`)).stdout, /content-length: 1048576/i);
		for (const base of [s.http, s.https])
			assert.equal((await curl(s, `${base}/mb20`)).raw.length, 20 * MIB);
		/* A tunnel for http too, as -p asks for. */
		assert.equal((await curl(s, '-p', `${s.http}/tunnelled`)).stdout, 'here is /tunnelled');
		const many = await curl(s, '-Z', `${s.http}/p[1-50]`);
		assert.equal(many.stdout.match(/here is/g).length, 50);
		await until(() => `4 tunnels in the log; it has ${tunnels(s).length}`, () => tunnels(s).length >= 4);
	});
}

forward('curl with a password, with a wrong one and without one', { asks: true }, async (s) => {
	for (const base of [s.http, s.https]) {
		const none = await curl(s, '-i', `${base}/none`);
		assert.match(none.stdout + none.stderr, /407/);
		assert.match((await curl(s, '-v', `${base}/none`)).stderr, /< proxy-authenticate: basic realm="the test"/i);
		const wrong = await curl(s, '-v', '-U', `${USER}:wrong`, `${base}/wrong`);
		assert.match(wrong.stderr, /< HTTP\/1\.1 407/);
		assert.equal((await curl(s, '-U', CREDENTIALS, `${base}/page`)).stdout, 'here is /page');
		/* It asks first, and answers the 407 with the password on the same connection or another. */
		assert.match((await curl(s, '--proxy-anyauth', '-U', CREDENTIALS, `${base}/any`)).stdout, /here is \/any$/);
	}
	const echo = JSON.parse((await curl(s, '-U', CREDENTIALS, '-u', 'me:for-the-origin', `${s.http}/echo`)).stdout);
	assert.equal(echo.headers['proxy-authorization'], undefined);
	assert.equal(echo.headers.authorization, `Basic ${Buffer.from('me:for-the-origin').toString('base64')}`);
	await s.gate.access((l) => l.path === '/page' && l.user === USER);
	for (const secret of [PASSWORD, Buffer.from(CREDENTIALS).toString('base64')])
		assert.ok(!(s.gate.read('access.log') + s.gate.read('error.log')).includes(secret), 'the password is in a log');
});

forward('curl is refused a port and an address that no rule allows, with the reason', {}, async (s) => {
	for (const url of ['http://a.test:9/', 'http://10.0.0.1/', 'http://[::1]/']) {
		const refused = await curl(s, '-i', url);
		assert.match(refused.stdout, /^HTTP\/1\.1 403/, url);
		assert.match(refused.stdout, /^proxy-status: pushgate\S*; error=\w+/im, url);
		const tunnel = await curl(s, '-p', '-v', url);
		assert.match(tunnel.stderr, /< HTTP\/1\.1 403/, url);
		assert.notEqual(tunnel.code, 0);
	}
});

/* ---- wget ---- */

forward('wget: pages of http and https, with a password', { asks: true }, async (s) => {
	const wget = (...args) => run('wget', ['-q', '-O', '-', '-e', `http_proxy=${s.proxy}`, '-e', `https_proxy=${s.proxy}`, `--ca-certificate=${CA}`, '--tries=1',
		'--no-config', ...args]);
	for (const base of [s.http, s.https]) {
		const args = [`--proxy-user=${USER}`, `--proxy-password=${PASSWORD}`];
		assert.equal((await wget(...args, `${base}/page`)).stdout, 'here is /page');
		assert.equal((await wget(...args, `${base}/mb5`)).raw.length, 5 * MIB);
		assert.notEqual((await wget(`${base}/none`)).code, 0);
	}
});

/* ---- git ---- */

{
	let serve;
	forward('git clones and pushes over http and https, with a password in the proxy\'s URL', {
		asks: true, serve: (...all) => serve(...all),
		async prepare(s) {
			serve = serveRepository(s.dir);
		},
	}, async (s) => {
		const { git, good } = gitIn(s.dir);
		await makeRepository(s.dir);
		await good('init', '-q', '-b', 'main', 'first');
		fs.writeFileSync(path.join(s.dir, 'first/file'), Buffer.alloc(3 * MIB, Buffer.from(Array.from({ length: 8191 }, (_, i) => (i * i) & 255))));
		await good('-C', 'first', 'add', 'file');
		await good('-C', 'first', 'commit', '-q', '-m', 'A file');
		const proxied = ['-c', `http.proxy=${s.withUser}`];
		await good(...proxied, '-C', 'first', 'push', '-q', `${s.http}/project.git`, 'main');
		for (const [name, base] of [['by-http', s.http], ['by-https', s.https]]) {
			await good(...proxied, 'clone', '-q', `${base}/project.git`, name);
			assert.ok(fs.readFileSync(path.join(s.dir, name, 'file')).equals(fs.readFileSync(path.join(s.dir, 'first/file'))));
		}
		const refused = await git('-c', `http.proxy=${s.proxy}`, 'clone', '-q', `${s.http}/project.git`, 'refused');
		assert.notEqual(refused.code, 0);
		assert.match(refused.said, /407|Proxy Authentication Required/i);
	});
}

/* ---- apt ---- */

const sum = (bytes) => createHash('sha256').update(bytes).digest('hex');
/* A package, and the index of a repository that has it alone. */
function repository(dir) {
	const root = path.join(dir, 'package');
	fs.mkdirSync(path.join(root, 'DEBIAN'), { recursive: true });
	fs.writeFileSync(path.join(root, 'DEBIAN/control'),
		'Package: by-the-proxy\nVersion: 1.0\nArchitecture: all\nMaintainer: A <a@a.test>\nDescription: came by the proxy\n');
	fs.chmodSync(path.join(root, 'DEBIAN'), 0o755);
	const file = path.join(dir, 'by-the-proxy_1.0_all.deb');
	const made = spawnSync('dpkg-deb', ['--root-owner-group', '--build', root, file], { encoding: 'utf8' });
	assert.equal(made.status, 0, made.stderr);
	const bytes = fs.readFileSync(file);
	const control = fs.readFileSync(path.join(root, 'DEBIAN/control'), 'utf8');
	const packages = `${control}Filename: ./by-the-proxy_1.0_all.deb\nSize: ${bytes.length}\nSHA256: ${sum(bytes)}\n\n`;
	const zipped = gzipSync(packages);
	const release = `Suite: ./\nDate: ${new Date().toUTCString()}\nSHA256:\n ${sum(packages)} ${packages.length} Packages\n ${sum(zipped)} ${zipped.length} Packages.gz\n`;
	return { '/by-the-proxy_1.0_all.deb': bytes, '/Packages': Buffer.from(packages), '/Packages.gz': zipped, '/Release': Buffer.from(release) };
}

{
	let files = {};
	forward('apt: update and download from repositories of http and https, with a password in the proxy\'s URL', {
		asks: true, timeout: 90000,
		serve(request, response) {
			const found = files[request.url.replace('/./', '/')];
			response.writeHead(found ? 200 : 404, { 'content-length': found?.length ?? 0 });
			response.end(found);
		},
		async prepare(s) { files = repository(s.dir); },
	}, async (s) => {
		for (const [name, base] of [['http', s.http], ['https', s.https]]) {
			const root = path.join(s.dir, `apt-${name}`);
			for (const sub of ['etc/apt/preferences.d', 'etc/apt/apt.conf.d', 'state/lists/partial', 'cache/archives/partial', 'out'])
				fs.mkdirSync(path.join(root, sub), { recursive: true });
			fs.writeFileSync(path.join(root, 'sources.list'), `deb [trusted=yes] ${base} ./\n`);
			fs.writeFileSync(path.join(root, 'status'), '');
			/* Nothing of the machine's own configuration: the file that APT_CONFIG names is read first. */
			fs.writeFileSync(path.join(root, 'apt.conf'), Object.entries({
				'Dir::Etc': `${root}/etc/apt`, 'Dir::Etc::sourcelist': `${root}/sources.list`, 'Dir::Etc::sourceparts': '/dev/null',
				'Dir::State': `${root}/state`, 'Dir::State::status': `${root}/status`, 'Dir::Cache': `${root}/cache`, 'Dir::Etc::main': '/dev/null',
				'Dir::Etc::parts': `${root}/etc/apt/apt.conf.d`, 'APT::Sandbox::User': '', 'Acquire::Languages': 'none',
				'Acquire::http::Proxy': s.withUser, 'Acquire::https::Proxy': s.withUser, 'Acquire::https::CaInfo': CA,
			}).map(([key, value]) => `${key} "${value}";\n`).join(''));
			const apt = async (...args) => {
				const { code, stdout, stderr } = await run('env', [`APT_CONFIG=${root}/apt.conf`, 'apt-get', '-q', ...args], { cwd: path.join(root, 'out') });
				assert.equal(code, 0, `apt-get ${args.join(' ')}: ${stdout}${stderr}${s.gate.report()}`);
				assert.doesNotMatch(stdout + stderr, /^(Err|W):/m);
			};
			await apt('update');
			await apt('download', 'by-the-proxy');
			assert.ok(fs.readFileSync(path.join(root, 'out/by-the-proxy_1.0_all.deb')).equals(files['/by-the-proxy_1.0_all.deb']));
		}
		await s.gate.access((l) => l.path?.endsWith('.deb') && l.user === USER);
		assert.ok(tunnels(s).length > 0);
	});
}

/* ---- Node ---- */

const { ProxyAgent, fetch: undiciFetch } = noNpm ? {} : createRequire(new URL('../browser/package.json', import.meta.url))('undici');

for (const isTls of [false, true])
	forward(`fetch of undici with its ProxyAgent by an ${isTls ? 'https' : 'http'} proxy`, { skip: noNpm, tls: isTls, asks: true }, async (s) => {
		const agent = (more) => {
			const made = new ProxyAgent({ uri: s.proxy, proxyTls: { ca: certs().ca }, requestTls: { ca: certs().ca }, ...more });
			s.cleanups.push(() => made.destroy());
			return made;
		};
		const token = `Basic ${Buffer.from(CREDENTIALS).toString('base64')}`;
		const dispatcher = agent({ token });
		for (const base of [s.http, s.https]) {
			const pages = await Promise.all(Array.from({ length: 20 }, async (_, i) => (await undiciFetch(`${base}/p${i}`, { dispatcher })).text()));
			assert.deepEqual(pages, pages.map((_, i) => `here is /p${i}`));
			const big = await undiciFetch(`${base}/mb5`, { dispatcher });
			assert.equal((await big.arrayBuffer()).byteLength, 5 * MIB);
			await assert.rejects(undiciFetch(`${base}/none`, { dispatcher: agent() }), (error) => /\(407\)/.test(error.cause?.cause?.message));
		}
	});

/* A session of HTTP/2 with the proxy. */
function session(s, isTls) {
	const made = http2.connect(`${isTls ? 'https' : 'http'}://localhost:${s.port}`, {
		ca: certs().ca, lookup: (_, o, done) => done(null, o?.all ? [{ address: '127.0.0.1', family: 4 }] : '127.0.0.1', 4),
	});
	made.on('error', () => {});
	s.cleanups.push(() => made.close());
	return made;
}
function answer(stream) {
	return new Promise((resolve, reject) => {
		const got = { body: '' };
		stream.on('response', (headers) => { got.status = headers[':status']; got.headers = headers; });
		stream.setEncoding('latin1').on('data', (d) => { got.body += d; });
		stream.on('error', reject).on('close', () => resolve(got));
	});
}

for (const isTls of [false, true])
	forward(`Node's http2 by an h2 proxy ${isTls ? 'over TLS' : 'in cleartext'}: requests, and tunnels with TLS and http2 in them`, { tls: isTls }, async (s) => {
		const proxy = session(s, isTls);
		/* Both schemes: for https the proxy speaks TLS to the destination. */
		for (const [scheme, authority] of [['http', `www.a.test:${s.ports.h1}`], ['https', `www.a.test:${s.ports.alpn}`]]) {
			const { status, body } = await answer(proxy.request({ ':scheme': scheme, ':authority': authority, ':path': '/echo' }));
			assert.equal(status, 200, body);
			const echo = JSON.parse(body);
			assert.equal(echo.version, scheme === 'http' ? '1.1' : '2.0');
			assert.match(echo.headers.via, /^2 pushgate/);
		}
		/* Ten tunnels on one connection. */
		await Promise.all(Array.from({ length: 10 }, async (_, i) => {
			const tunnel = proxy.request({ ':method': 'CONNECT', ':authority': `www.a.test:${s.ports.alpn}` });
			await new Promise((resolve, reject) => {
				tunnel.on('response', (headers) => (headers[':status'] === 200 ? resolve() : reject(new Error(`status ${headers[':status']}`))));
				tunnel.on('error', reject);
			});
			const inside = http2.connect(`https://www.a.test:${s.ports.alpn}`, {
				createConnection: () => tls.connect({ socket: tunnel, servername: 'www.a.test', ca: certs().ca, ALPNProtocols: ['h2'] }),
			});
			inside.on('error', () => {});
			const { status, body } = await answer(inside.request({ ':path': `/mb1?${i}` }));
			assert.equal(status, 200);
			assert.equal(body.length, MIB);
			/* Node.js 20 never returns from destroying a session while one of its streams carries TLS: let each end first. */
			const ended = new Promise((resolve) => { tunnel.on('close', resolve).on('error', () => {}); });
			inside.close();
			await ended;
		}));
		/* A refused tunnel leaves the connection as it is. */
		const refused = await answer(proxy.request({ ':method': 'CONNECT', ':authority': `10.0.0.1:${s.ports.h1}` }));
		assert.equal(refused.status, 403);
		assert.match(refused.headers['proxy-status'], /error=destination_ip_prohibited; details="address"/);
		assert.equal((await answer(proxy.request({ ':scheme': 'http', ':authority': `www.a.test:${s.ports.h1}`, ':path': '/after' }))).body, 'here is /after');
	});

/* ---- WebSockets without a CONNECT of the client's ---- */

async function websockets(s) {
	const { ports, close } = await websocketOrigins(['h1', 'h1s'], 0);
	s.cleanups.push(close);
	return { ...ports, alpn: ports.h1s };
}
async function assertEchoes(ws) {
	const peer = new Peer(ws);
	ws.send('by the proxy');
	assert.equal(await peer.text(), 'by the proxy');
	ws.close(4000, 'done');
	assert.deepEqual(await peer.over(), { code: 4000, reason: 'done' });
}

for (const [down, isTls] of [['h2c', false], ['h2', true]])
	forward(`a WebSocket by an extended CONNECT to an ${isTls ? 'https' : 'http'} destination, which speaks HTTP/1.1`, {
		skip: noNpm, tls: isTls, start: websockets, route: { upgrade: 'websocket' },
	}, async (s) => {
		const client = new Client(down, s.port);
		s.cleanups.push(() => client.close());
		client.authority = `www.a.test:${isTls ? s.ports.h1s : s.ports.h1}`;
		const { ws } = await client.open('/chat/echo');
		await assertEchoes(ws);
		const line = await s.gate.access((l) => l.path === '/chat/echo');
		assert.equal(line.origin_protocol, 'http/1.1');
	});

forward('a WebSocket by Upgrade in absolute-form', { skip: noNpm, start: websockets, route: { upgrade: 'websocket' } }, async (s) => {
	const key = randomBytes(16).toString('base64');
	const { socket, first, response } = await new Promise((resolve, reject) => {
		http.get({
			port: s.port, host: '127.0.0.1', path: `${s.http}/chat/echo`, headers: {
				host: s.http.slice('http://'.length), connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': key, 'sec-websocket-version': '13',
			},
		}).on('upgrade', (response, socket, first) => resolve({ response, socket, first })).on('response', (r) => reject(new Error(`status ${r.statusCode}`)))
			.on('error', reject);
	});
	assert.equal(response.headers['sec-websocket-accept'], acceptOf(key));
	await assertEchoes(websocketOn(socket, { isServer: false, first }));
});

/* ---- Java ---- */

for (const asks of [false, true])
	forward(`Java's HttpClient by its proxy selector${asks ? ', with its authenticator' : ''}`, { asks, timeout: 120000 }, async (s) => {
		const { stdout, stderr, code } = await run('java', [
			/* Without it Java refuses to send passwords in Basic for tunnels. */
			'-Djdk.http.auth.tunneling.disabledSchemes=', '-Xshare:auto', '-XX:TieredStopAtLevel=1', path.join(ROOT, 'tests/peers/ProxyClient.java'),
			CA, String(s.port), ...(asks ? [USER, PASSWORD] : ['-', '-']), `${s.http}/page`, `${s.https}/page`, `${s.https}/mb5`,
		]);
		assert.equal(code, 0, `${stdout}\n${stderr}\n${s.gate.report()}`);
		assert.deepEqual(stdout.trimEnd().split('\n'), [
			'200 HTTP_1_1 13 here is /page', '200 HTTP_2 13 here is /page', `200 HTTP_2 ${5 * MIB}`,
		]);
	});
