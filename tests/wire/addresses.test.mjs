/* SPDX-License-Identifier: MIT */
/*
 * What a forward proxy must not reach, as hosts in requests and as answers of a resolver, over absolute-form, HTTP/2
 * and CONNECT: each is refused with the reason, and no connection is made. Here every address is this machine's own
 * (support/own_network.mjs), so a connection to any would be seen.
 */
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import net from 'node:net';
import { test } from 'node:test';
import { catchAll, enterOwnNetwork } from '../support/own_network.mjs';

const skip = enterOwnNetwork(import.meta.url);

const { ANSWERS, LITERALS } = await import('../support/address_forms.mjs');
const { startDns } = await import('../support/dns.mjs');
const { freePort, scenario, section, sleep, until } = await import('../support/gate.mjs');
const { SCALE } = await import('../support/peer.mjs');

const PATIENCE = 10000 * SCALE;

/* ---- destinations: every address, ports 80 and 443 ---- */

async function world(s) {
	s.dns = await startDns({});
	/* Answers each request with the address that it came to; requests have no bodies. */
	s.web = await catchAll(80, (socket, address) => {
		let input = '';
		socket.setEncoding('latin1').on('data', (text) => {
			input += text;
			for (let end; (end = input.indexOf('\r\n\r\n')) >= 0; input = input.slice(end + 4))
				socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${address.length}\r\n\r\n${address}`);
		});
		socket.on('end', () => socket.end());
	});
	s.secure = await catchAll(443, (socket, address) => { socket.end(address); });
	s.cleanups.push(() => s.dns.close(), () => s.web.close(), () => s.secure.close());
	if (s.options.everywhere) {
		s.options.port = await freePort();
		s.options.listen.address = `*:${s.options.port}`;
	}
	s.options.server = { resolver: s.dns.address, 'dns-min-ttl': '1s', ...s.options.own };
}
const seen = (s) => [...s.web.seen, ...s.secure.seen];

/* ---- clients ---- */

/* One request over a connection of HTTP/1.1 of its own. Gives {status, fields, body}. */
function ask1(s, head, isTunnel) {
	return new Promise((resolve, reject) => {
		const socket = net.connect(s.port, '127.0.0.1');
		let got = '';
		const timer = setTimeout(() => { socket.destroy(); reject(new Error(`no answer to ${head}: ${got}`)); }, PATIENCE);
		const done = () => {
			const end = got.indexOf('\r\n\r\n');
			const [first, ...fields] = got.slice(0, end).split('\r\n');
			clearTimeout(timer);
			resolve({
				status: Number(first.split(' ')[1]), body: got.slice(end + 4),
				fields: Object.fromEntries(fields.map((f) => [f.slice(0, f.indexOf(':')).toLowerCase(), f.slice(f.indexOf(':') + 1).trim()])),
			});
		};
		socket.setEncoding('latin1').on('data', (text) => { got += text; }).on('error', () => {}).on('close', done);
		socket.write(Buffer.from(head, 'latin1'));
		if (isTunnel)
			socket.on('end', () => socket.end());
	});
}
/* One request on the scenario's connection of HTTP/2. A reset is status 0. */
function ask2(s, headers) {
	if (!s.session || s.session.destroyed || s.session.closed) {
		s.session = http2.connect(`http://127.0.0.1:${s.port}`);
		s.session.on('error', () => {});
		const { session } = s;
		s.cleanups.push(() => session.destroy());
	}
	return new Promise((resolve, reject) => {
		const got = { status: 0, fields: {}, body: '' };
		const timer = setTimeout(() => reject(new Error(`no answer to ${JSON.stringify(headers)}`)), PATIENCE);
		const stream = s.session.request(headers);
		stream.on('response', (fields) => { got.status = fields[':status']; got.fields = fields; });
		stream.setEncoding('latin1').on('data', (text) => { got.body += text; });
		stream.on('error', () => {}).on('end', () => stream.end()).on('close', () => { clearTimeout(timer); resolve(got); });
	});
}

/* Every way to ask for a host. `port` is that of the scheme when it is not given. */
const WAYS = {
	'absolute-form': (s, host) => ask1(s, `GET http://${host}/ HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`, false),
	'HTTP/2': (s, host) => ask2(s, { ':method': 'GET', ':scheme': 'http', ':authority': host, ':path': '/' }),
	CONNECT: (s, host) => ask1(s, `CONNECT ${host}:443 HTTP/1.1\r\nhost: ${host}:443\r\n\r\n`, true),
	'CONNECT over HTTP/2': (s, host) => ask2(s, { ':method': 'CONNECT', ':authority': `${host}:443` }),
};

/* Asks for each host in each way, some at a time; the wrong outcomes as text, the first of them. */
async function outcomes(s, rows, judge) {
	const work = Object.entries(WAYS).flatMap(([way, ask]) => rows.map((row) => ({ way, ask, row })));
	const wrong = [];
	const next = async () => {
		for (let job; (job = work.pop());) {
			const got = await job.ask(s, job.row.host);
			const why = judge(got, job.row, job.way);
			if (why)
				wrong.push(`${job.way} ${JSON.stringify(job.row.host)} (${job.row.why}): ${why}; ${got.status} ${got.fields['proxy-status'] ?? ''} ${got.body.slice(0, 60)}`);
		}
	};
	await Promise.all(Array.from({ length: 16 }, next));
	return wrong.sort().slice(0, 20);
}
const isRefused = (got, row) => {
	if (row.status === 400)
		return [0, 400].includes(got.status) ? '' : 'not refused as malformed';
	if (got.status !== 403)
		return 'not refused';
	return got.fields['proxy-status']?.includes(`details="${row.reason}"`) ? '' : `not for ${row.reason}`;
};
/* The address as the kernel says it; embedded ones are connected to as they stand. */
const isReached = (got) => (got.status === 200 && net.isIP(got.body) ? '' : 'not reached');

/* options: rules (lines of [access test]; without: the built-in ones), server, everywhere (it listens on all addresses). */
const routes = section('origin forward', { server: 'forward:' }) + section('route forward', { origin: 'forward' });
function proxy(name, { rules, server, everywhere }, body) {
	scenario(name, {
		skip, own: server, everywhere, origins: {}, prepare: world, listen: { mode: 'forward', ...(rules ? { access: 'test' } : {}) },
		routes: rules ? `${routes}[access test]\n${rules.join('\n')}\n` : routes,
	}, body);
}

/* ---- the tables ---- */

const REFUSED = LITERALS.filter((row) => row.kind === 'refused');
const PUBLIC = LITERALS.filter((row) => row.kind === 'public');

test('the table is as long as it should be', () => assert.ok(REFUSED.length >= 80, `${REFUSED.length} forms`));

for (const [what, rules] of [['the built-in rules', undefined], ['a rule that allows every host', ['allow = host=*']]])
	proxy(`each form of an address that is not public is refused, with ${what}`, { rules }, async (s) => {
		assert.deepEqual(await outcomes(s, REFUSED, isRefused), []);
		assert.deepEqual(seen(s), [], 'no connection was made');
		const lines = s.gate.accessLines().filter((l) => l.status === 403);
		assert.ok(lines.length >= REFUSED.filter((row) => row.status === 403).length);
		assert.ok(lines.every((l) => l.detail), 'each line of the log has the reason');
	});

proxy('public addresses are reached', {}, async (s) => {
	assert.deepEqual(await outcomes(s, PUBLIC, isReached), []);
	assert.ok(seen(s).length >= PUBLIC.length);
});

function teach(s) {
	for (const { name, records, also } of ANSWERS)
		Object.assign(s.dns.names, { [name]: records, ...also });
	return ANSWERS.map(({ name, ...row }) => ({ ...row, host: name }));
}
for (const [what, rules] of [['the built-in rules', undefined], ['a rule that allows these names', ['allow = host=*.forms.test']]])
	proxy(`each name whose addresses are not all public is refused, with ${what}`, { rules }, async (s) => {
		const rows = teach(s);
		assert.deepEqual(await outcomes(s, rows.filter((row) => row.kind === 'refused'), isRefused), []);
		assert.deepEqual(seen(s), [], 'no connection was made');
		assert.deepEqual(await outcomes(s, rows.filter((row) => row.kind === 'public'), isReached), []);
	});

proxy('a rule that allows an address range opens that range, and no other', { rules: ['allow = address=10.0.0.0/8,fd00::/8'] }, async (s) => {
	Object.assign(s.dns.names, {
		'in.test': { A: ['10.1.2.3'], ttl: 1 }, 'in-six.test': { AAAA: ['fd00::7'], ttl: 1 }, 'out.test': { A: ['192.168.0.1'], ttl: 1 },
		'half.test': { A: ['10.1.2.3', '127.0.0.1'], ttl: 1 },
	});
	const rows = (...hosts) => hosts.map((host) => ({ host, why: 'by rule' }));
	assert.deepEqual(await outcomes(s, rows('10.0.0.1', '[fd00::1]', 'in.test', 'in-six.test'), isReached), []);
	const before = seen(s).length;
	assert.deepEqual(await outcomes(s, rows('192.168.0.1', '127.0.0.1', '[::1]', 'out.test', 'half.test', '8.8.8.8'),
		(got) => (got.status === 403 ? '' : 'not refused')), []);
	assert.equal(seen(s).length, before);
});

/* ---- names that change ---- */

proxy('a name that becomes private is refused, though a connection to its public address may be open', {}, async (s) => {
	await Promise.all(Object.values(WAYS).map(async (ask, i) => {
		const name = `rebound${i}.test`;
		s.dns.names[name] = { A: ['8.8.8.8'], ttl: 1 };
		const first = await ask(s, name);
		assert.deepEqual([first.status, first.body], [200, '8.8.8.8']);
		s.dns.names[name] = { A: ['127.0.0.1'], ttl: 1 };
		/* Until then the old address may count. */
		await until('the name is refused', async () => {
			const { status, body } = await ask(s, name);
			assert.ok(status === 403 || body === '8.8.8.8', `${status} ${body}`);
			return status === 403;
		}, PATIENCE);
		for (let n = 0; n < 5; n++)
			assert.equal((await ask(s, name)).status, 403);
		s.dns.names[name] = { A: ['8.8.4.4'], ttl: 1 };
		await until('the name is reached again', async () => (await ask(s, name)).body === '8.8.4.4', PATIENCE);
	}));
	assert.deepEqual([...new Set(seen(s))].sort(), ['8.8.4.4', '8.8.8.8']);
});

proxy('a name that is another one with each answer is never reached at its private address', {}, async (s) => {
	let asked = 0;
	const flip = { get: () => ({ A: [asked++ % 2 ? '127.0.0.1' : '8.8.8.8'], ttl: 0 }), enumerable: true };
	for (let i = 0; i < 8; i++)
		Object.defineProperty(s.dns.names, `flip${i}.test`, flip);
	for (let round = 0; round < 3; round++) {
		const all = await Promise.all(Array.from({ length: 8 }, (_, i) => Object.values(WAYS).map((ask) => ask(s, `flip${i}.test`))).flat());
		for (const { status, body } of all)
			assert.ok(status === 403 || (status === 200 && body === '8.8.8.8'), `${status} ${body}`);
		await sleep(400);
	}
	assert.deepEqual([...new Set(seen(s))], ['8.8.8.8']);
});

proxy('a private address of a name that comes later than its public one is never reached', {}, async (s) => {
	const names = Object.keys(WAYS).map((_, i) => `late${i}.test`);
	for (const name of names)
		s.dns.names[name] = { A: ['8.8.8.8'], AAAA: ['::1'], ttl: 1, delay: { AAAA: 300 } };
	await Promise.all(Object.values(WAYS).map(async (ask, i) => {
		await until('all of its addresses are known', async () => {
			const { status, body } = await ask(s, names[i]);
			assert.ok(status === 403 || (status === 200 && body === '8.8.8.8'), `${status} ${body}`);
			return status === 403;
		}, PATIENCE);
	}));
	assert.ok(seen(s).every((address) => address === '8.8.8.8'), `${seen(s)}`);
});

proxy('a listener on all addresses is no destination, by whatever address', { rules: ['allow = address=any port=1-65535'], everywhere: true }, async (s) => {
	for (const host of ['127.0.0.1', '127.0.0.2', '8.8.8.8', '[::1]', '[2606:4700::1]']) {
		const authority = `${host}:${s.port}`;
		const { status, fields } = await ask1(s, `GET http://${authority}/ HTTP/1.1\r\nhost: ${authority}\r\nconnection: close\r\n\r\n`, false);
		assert.equal(status, 403, host);
		assert.match(fields['proxy-status'], /error=proxy_loop_detected/, host);
		const tunnel = await ask1(s, `CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n\r\n`, true);
		assert.equal(tunnel.status, 403, host);
	}
	assert.equal(s.gate.accessLines().filter((l) => l.status !== 403).length, 0, 'no request came in by itself');
});

proxy('the proxy\'s own address is refused although a rule allows it', { rules: ['allow = address=127.0.0.0/8 port=1-65535'] }, async (s) => {
	s.dns.names['me.test'] = { A: ['127.0.0.1'], ttl: 1 };
	for (const host of ['127.0.0.1', 'me.test', '127.9.9.9']) {
		const { status, fields } = await ask1(s, `GET http://${host}:${s.port}/ HTTP/1.1\r\nhost: ${host}:${s.port}\r\nconnection: close\r\n\r\n`, false);
		if (host === '127.9.9.9') { /* nobody listens there */
			assert.equal(status, 503);
			continue;
		}
		assert.equal(status, 403, host);
		assert.match(fields['proxy-status'], /error=proxy_loop_detected/);
	}
});
