/* SPDX-License-Identifier: MIT */
/*
 * An application behind pushgate, and who visits it: over TLS as https://www.a.test, directly or through a balancer that
 * ends TLS before pushgate, with and without forged fields. The visitor is curl, which keeps cookies as browsers do.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, certs, freePort, scenario, section } from '../support/gate.mjs';
import { daemon, run } from '../support/programs.mjs';

export const HOST = 'www.a.test';
/* Addresses of this machine: each party has one of its own. */
export const GATE = '127.0.0.1', VISITOR = '127.0.0.5', BALANCER = '127.0.0.9';

/* What a client says that wants to be somebody else, or elsewhere; an application that believed it would name evil.example. */
const FORGED = {
	Forwarded: 'for=203.0.113.9;host=evil.example;proto=http',
	'X-Forwarded-For': ['203.0.113.9', '203.0.113.10, 127.0.0.9'],
	'X-Forwarded-Proto': 'http',
	'X-Forwarded-Host': 'evil.example',
	'X-Forwarded-Port': '81',
	'X-Forwarded-Prefix': '/evil',
	'X-Forwarded-Server': 'evil.example',
	'X-Forwarded-Scheme': 'http',
	'X-Forwarded-Protocol': 'http',
	'X-Forwarded-Ssl': 'off',
	'X-Real-IP': '203.0.113.9',
	X_Forwarded_For: '203.0.113.9',
	X_Forwarded_Host: 'evil.example',
	X_Forwarded_Proto: 'http',
	'X.Real-IP': '203.0.113.9',
	/* Tornado reads it before X-Forwarded-Proto, and gunicorn takes this name from anybody. */
	'X-Scheme': 'http',
	SCRIPT_NAME: '/evil',
};

/*
 * The ways to an application: balanced (through the balancer), forged, http1 (the visitor speaks HTTP/1.1), hasPort (the
 * URL names the port), six (over IPv6).
 */
export const DIRECT = {
	'over HTTP/2': {},
	'over HTTP/1.1': { http1: true },
	'with a port in the URL': { hasPort: true },
	'over IPv6': { six: true },
	'with forged fields': { forged: true },
	'with forged fields over HTTP/1.1': { forged: true, http1: true },
};
export const BALANCED = {
	'through a balancer': { balanced: true },
	'through a balancer over HTTP/1.1': { balanced: true, http1: true },
	'through a balancer with forged fields': { balanced: true, forged: true },
};

/*
 * More of application(), by how many proxies it believes: those of the fields that come through, or pushgate alone, which
 * looks for the visitor itself and says nothing of the balancer.
 */
export const PROXIES = {
	1: { ways: DIRECT },
	2: { ways: BALANCED },
	'1, and pushgate the balancer': {
		ways: { ...DIRECT, ...BALANCED }, behind: { 'client-address': 'x-forwarded-for' }, route: { forwarded: 'replace' },
	},
};

/*
 * HAProxy, which says what it knows and removes what clients say; but X-Real-IP goes on, as it does with most. What comes
 * to it in HTTP/2 goes on in HTTP/2.
 */
async function startBalancer(s) {
	const pem = path.join(s.dir, 'balancer.pem'), conf = path.join(s.dir, 'balancer.cfg');
	s.balancer = await freePort();
	fs.writeFileSync(pem, Buffer.concat([certs().server.cert, certs().server.key]));
	fs.writeFileSync(conf, `defaults
	mode http
	timeout connect 60s
	timeout client 60s
	timeout server 60s
	timeout tunnel 60s
frontend public
	bind ${GATE}:${s.balancer} ssl crt ${pem} alpn h2,http/1.1
	http-request del-header Forwarded
	http-request del-header X-Forwarded- -m beg
	http-request del-header X_Forwarded_ -m beg
	http-request set-header X-Forwarded-For %[src]
	http-request set-header X-Forwarded-Proto https
	http-request set-header X-Forwarded-Host %[req.hdr(host)]
	use_backend http2 if { ssl_fc_alpn h2 }
	default_backend http1
backend http1
	server gate ${GATE}:${s.behind} source ${BALANCER}
backend http2
	server gate ${GATE}:${s.behind} source ${BALANCER} proto h2
`);
	await daemon(s, 'haproxy', ['-db', '-f', conf], s.balancer);
}

/* A visitor with cookies of its own. */
export class Visitor {
	static #count = 0;

	constructor(s, way) {
		this.way = way;
		this.dir = s.dir;
		this.number = ++Visitor.#count;
		this.jar = path.join(s.dir, `cookies-${this.number}`);
		this.port = way.balanced ? s.balancer : way.six ? s.six : s.port;
		this.authority = way.hasPort ? `${HOST}:${this.port}` : HOST;
		this.origin = `https://${this.authority}`;
		/* What the application must believe. */
		this.address = way.six ? '::1' : VISITOR;
	}

	#arguments(fields) {
		const all = { ...(this.way.forged ? FORGED : {}), ...fields };
		return ['-sS', '-i', '--cacert', certs().file('ca.pem'), '-b', this.jar, '-c', this.jar,
			'--connect-to', `::${this.way.six ? '[::1]' : GATE}:${this.port}`, ...(this.way.six ? [] : ['--interface', VISITOR]),
			...(this.way.http1 ? ['--http1.1'] : []),
			...Object.entries(all).flatMap(([name, values]) => [values].flat().flatMap((value) => ['-H', `${name}: ${value}`]))];
	}

	/* Follows no redirect. form: {name: value} to be posted. Gives {status, headers, cookies, body}; of several fields with
	 * one name the last. */
	async ask(target, { form, fields = {} } = {}) {
		const url = target.startsWith('https:') ? target : `${this.origin}${target}`;
		const data = Object.entries(form ?? {}).flatMap(([name, value]) => ['--data-urlencode', `${name}=${value}`]);
		const got = await run('curl', [...this.#arguments(fields), ...data, url]);
		assert.equal(got.code, 0, `${url}: ${got.stderr}`);
		return read(got.stdout);
	}
	/* A page that must come. */
	async page(target, options) {
		const answer = await this.ask(target, options);
		assert.equal(answer.status, 200, `${target}: ${JSON.stringify(answer.headers)}\n${answer.body.slice(0, 3000)}`);
		return answer;
	}
	async json(target) { return JSON.parse((await this.page(target)).body); }
	/* The cookies that it has kept, by name. */
	cookies() {
		return Object.fromEntries(fs.readFileSync(this.jar, 'utf8').split('\n').map((line) => line.split('\t'))
			.filter((row) => row.length === 7).map((row) => row.slice(5)));
	}
}

/* The answer behind the interim ones. */
function read(text) {
	const end = text.indexOf('\r\n\r\n');
	const [first, ...lines] = text.slice(0, end).split('\r\n');
	const status = Number(first.split(' ')[1]);
	if (status < 200)
		return read(text.slice(end + 4));
	const fields = lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]);
	return {
		status, headers: Object.fromEntries(fields), body: text.slice(end + 4),
		cookies: fields.filter(([name]) => name === 'set-cookie').map(([, value]) => value),
	};
}

/*
 * A WSGI application of Python behind gunicorn, as Debian has both: `name` is a module and its object in tests/peers.
 * Gives its port.
 */
export async function gunicorn(s, name, env = {}) {
	const port = await freePort();
	const variables = Object.entries({ HOME: s.dir, PYTHONDONTWRITEBYTECODE: 1, ...env }).map(([key, value]) => `${key}=${value}`);
	await daemon(s, 'env', [...variables, '/usr/bin/gunicorn', '--chdir', path.join(ROOT, 'tests/peers'), '--bind', `${GATE}:${port}`,
		'--worker-tmp-dir', s.dir, '--forwarded-allow-ips', GATE, '--threads', '2', name], port);
	return port;
}

/* It is set, and all that is set, and not taken away, is for TLS alone. */
export function assertSecure({ cookies }, name) {
	const set = cookies.filter((cookie) => !/; *max-age=0(;|$)/i.test(cookie));
	assert.ok(set.some((cookie) => cookie.startsWith(name)), `no cookie ${name}: ${cookies}`);
	for (const cookie of set)
		assert.match(cookie, /; *secure(;|$)/i);
}

/*
 * options: start(s) starts the application and gives its port; ways; route, behind: more keys of [route], and of the
 * [listen] behind the balancer; once(s): called before the first visitor. body(visitor, s) is called for each way.
 */
export function application(name, { start, ways, route = {}, behind = {}, once, skip }, body) {
	scenario(name, {
		tls: true, origins: {}, skip, timeout: 300000,
		async prepare(s) {
			s.behind = await freePort();
			s.six = await freePort();
			const port = await start(s);
			s.options.routes = section('origin app', { server: `http://${GATE}:${port}` }) + section('route app', { origin: 'app', host: HOST, ...route });
			s.options.extra = section('listen behind', { address: `${GATE}:${s.behind}`, trusted: BALANCER, ...behind })
				+ section('listen six', { address: `[::1]:${s.six}`, certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') });
		},
	}, async (s) => {
		if (Object.values(ways).some((way) => way.balanced))
			await startBalancer(s);
		await once?.(s);
		for (const [what, way] of Object.entries(ways)) {
			try {
				await body(new Visitor(s, way), s);
			} catch (error) {
				error.message = `${what}: ${error.message}`;
				throw error;
			}
		}
	});
}
