/* SPDX-License-Identifier: MIT */
/*
 * access-recheck = yes: tunnels that were opened before a reload and that the new access rules deny end at once, and the
 * access log says why. The others carry bytes on, and so does everything that is no tunnel.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import { after } from 'node:test';
import { freePort, section, until } from '../support/gate.mjs';
import { passwordLine } from '../support/forward.mjs';
import { change, count, gate, get, haveEnded, open, urlOf } from '../support/reloads.mjs';

/* ---- both ends of tunnels ---- */

/* Sends back what comes, behind the answer to an Upgrade if there is one. */
const echo = () => open(net.createServer((c) => c.on('error', () => {}).once('data', (first) => {
	c.write(String(first).startsWith('GET') ? 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n' : first);
	c.pipe(c);
})));
const [one, two] = await Promise.all([echo(), echo()]);
after(() => [one, two].forEach((s) => s.close()));
const portOf = (server) => server.address().port;

/* {text, socket, ended}. */
async function tunnel(s, port, head, answer) {
	const c = { text: '', socket: net.connect(port, '127.0.0.1') };
	c.socket.setEncoding('latin1').on('data', (text) => { c.text += text; }).on('error', (e) => { c.ended = e.code; }).on('close', () => { c.ended ??= 'closed'; });
	s.cleanups.push(() => c.socket.destroy());
	c.socket.write(head);
	await until(() => `a tunnel, not ${c.text}${c.ended}`, () => c.text.startsWith(answer) && c.text.endsWith('\r\n\r\n'));
	return c;
}
const connect = (s, to, fields = '') => tunnel(s, s.forward, `CONNECT ${to} HTTP/1.1\r\nhost: ${to}\r\n${fields}\r\n`, 'HTTP/1.1 200');
const upgrade = (s, asked) => tunnel(s, s.port, `GET ${asked} HTTP/1.1\r\nhost: a.test\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n`, 'HTTP/1.1 101');

let said = 0;
async function carries(...tunnels) {
	for (const t of tunnels) {
		const text = `still here ${said++}`;
		t.text = '';
		t.socket.write(text);
		await until(() => `an echo, not ${t.text}, ended: ${t.ended}`, () => t.text === text || t.ended);
		assert.equal(t.ended, undefined);
	}
}
const ends = (...tunnels) => Promise.all(tunnels.map((t) => until('its end', () => t.ended)));

/* ---- configurations ---- */

/* rules: lines of the forward listener; site: of the gateway's. */
const parts = (s, { rules, site, users = {}, server = {}, more = '', listener = 'forward' }) => ({
	workers: 2, server: { 'drain-timeout': '100s', 'tunnel-drain-timeout': '1h', 'access-recheck': 'yes', 'hosts-file': path.join(s.dir, 'hosts'), ...server },
	more: section(`listen ${listener}`, { address: `127.0.0.1:${s.forward}`, mode: 'forward', access: 'lab' })
		+ `${section('access lab', users)}${rules.join('\n')}\n` + section('origin out', { server: 'forward:' }) + section('route out', { origin: 'out' })
		+ section('listen site', { address: `127.0.0.1:${s.site}`, ...(site ? { access: 'site' } : {}) })
		+ (site ? `[access site]\n${site.join('\n')}\n` : '')
		+ section('origin echo', { server: urlOf(one) }) + section('route ws', { path: '/ws', origin: 'echo', upgrade: 'echo websocket' }) + more,
});
const ALL = ['allow = client=127.0.0.1 address=127.0.0.0/8 port=1-65535'];
async function prepare(s) {
	s.forward = await freePort();
	s.site = await freePort();
	fs.writeFileSync(path.join(s.dir, 'hosts'), '127.0.0.1 first.test\n127.0.0.2 second.test\n');
}
const site = (s) => ({ ...s, port: s.site, cleanups: s.cleanups });
/* The lines of tunnels that have ended so. */
const revoked = (s, reason) => s.gate.accessLines().filter((l) => l.detail === `access-revoked: ${reason}`);

/* ---- the tests ---- */

gate('tunnels that the new rules deny end, and the others go on', async (s) => {
	await prepare(s);
	await change(s, parts(s, { rules: ALL, site: ['allow = all'] }));
	const denied = [await connect(s, `127.0.0.1:${portOf(one)}`), await upgrade(site(s), '/ws/a?x=1')];
	/* No rule looks at a query, however long it is. */
	const others = [await connect(s, `127.0.0.1:${portOf(two)}`), await upgrade(site(s), '/ws/b'), await upgrade(site(s), `/ws/b?${'q'.repeat(33000)}`)];
	const slow = get(s.port, '/slow?wait=3000');
	await change(s, parts(s, { rules: [`deny = port=${portOf(one)}`, ...ALL], site: ['deny = path=/ws/a', 'allow = all'] }));
	await ends(...denied);
	await carries(...others);
	await until('two lines', () => revoked(s, 'rule').length === 2);
	for (const [protocol, status] of [['connect', 200], ['echo', 101]]) {
		const [line] = revoked(s, 'rule').filter((l) => l.tunnel === protocol);
		assert.equal(line.status, status);
		assert.equal(line.tunnel_ended, 'pushgate');
		assert.equal(line.outcome, 'refused');
	}
	assert.equal((await slow).status, 200);
	assert.equal(s.gate.counters()['pushgate_end_total{cause="access-revoked"}'], 2);
	/* Two generations are older than the next one. */
	others.push(await connect(s, `127.0.0.1:${portOf(two)}`));
	await change(s, parts(s, { rules: [`deny = port=${portOf(two)}`, ...ALL], site: ['allow = all'] }));
	await ends(others[0], others[3]);
	await carries(others[1], others[2]);
});

gate('without access-recheck tunnels go on whatever the new rules say', async (s) => {
	await prepare(s);
	await change(s, parts(s, { rules: ALL, server: { 'access-recheck': 'no' } }));
	const t = await connect(s, `127.0.0.1:${portOf(one)}`);
	await change(s, parts(s, { rules: ['deny = all'], server: { 'access-recheck': 'no' } }));
	await carries(t);
	await change(s, parts(s, { rules: ['deny = all'] }));
	await ends(t);
});

gate('a host file of rules that has changed counts, too', async (s) => {
	await prepare(s);
	const file = path.join(s.dir, 'denied'), rules = [`deny = host-file=${file}`, ...ALL];
	fs.writeFileSync(file, 'nobody.test\n');
	await change(s, parts(s, { rules }));
	const tunnels = [await connect(s, `first.test:${portOf(one)}`), await connect(s, `127.0.0.1:${portOf(one)}`)];
	fs.writeFileSync(file, 'first.test\n');
	s.gate.child.kill('SIGHUP');
	await ends(tunnels[0]);
	await until('its line', () => revoked(s, 'rule').length === 1);
	await carries(tunnels[1]);
});

gate('a configuration that judges no tunnels ends what the one before has begun', async (s) => {
	await prepare(s);
	/* Answers an Upgrade when it is told to. */
	const waiting = [];
	const late = await open(net.createServer((c) => c.on('error', () => {}).once('data', () => waiting.push(() => {
		c.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
		c.pipe(c);
	}))));
	s.cleanups.push(() => late.close());
	const more = section('origin late', { server: urlOf(late) }) + section('route late', { path: '/late', origin: 'late', upgrade: 'echo' });
	await change(s, parts(s, { rules: ALL, site: ['allow = all'], more }));
	const opens = ['/late/a', '/late/b'].map((asked) => upgrade(site(s), asked));
	await until('both requests', () => waiting.length === 2);
	await change(s, parts(s, { rules: ALL, site: ['deny = path=/late'], more }));
	waiting[0]();
	await ends(await Promise.race(opens));
	await change(s, parts(s, { rules: ALL, site: ['deny = path=/late'], more, server: { 'access-recheck': 'no' } }));
	s.gate.counters(); /* the master has told the older workers before it answers */
	waiting[1]();
	const stays = (await Promise.all(opens)).find((t) => !t.ended);
	await carries(stays);
	await carries(stays);
});

gate('a tunnel is judged by the address that it leads to, by its user, and by its host', async (s) => {
	await prepare(s);
	fs.writeFileSync(path.join(s.dir, 'users'), passwordLine('anna', 'a') + passwordLine('bob', 'b'), { mode: 0o644 });
	const rules = ['ask = all', ...ALL.map((l) => `${l} user=*`)], users = { users: path.join(s.dir, 'users') };
	const as = (name) => `proxy-authorization: Basic ${Buffer.from(`${name}:${name[0]}`).toString('base64')}\r\n`;
	await change(s, parts(s, { rules, users }));
	const to = (host, name) => connect(s, `${host}.test:${portOf(one)}`, as(name));
	const first = await to('first', 'anna'), bob = await to('first', 'bob');
	/* An echo listens on 127.0.0.1 alone: the other address has one of its own. */
	const far = net.createServer((c) => c.on('error', () => {}).pipe(c));
	await new Promise((resolve) => { far.listen(portOf(one), '127.0.0.2', resolve); });
	s.cleanups.push(() => far.close());
	const second = await to('second', 'anna');
	await change(s, parts(s, { rules: rules.map((l) => l.replace('127.0.0.0/8', '127.0.0.1')), users }));
	await ends(second);
	await until('its line', () => revoked(s, 'address').length === 1);
	await carries(first, bob);
	await change(s, parts(s, { rules: ['deny = user=bob', ...rules], users }));
	await ends(bob);
	await until('its line', () => revoked(s, 'rule').length === 1);
	await carries(first);
	await change(s, parts(s, { rules: ['deny = host=first.test', ...rules], users }));
	await ends(first);
});

gate('a tunnel of a client without a user ends when the new rules ask for one', async (s) => {
	await prepare(s);
	fs.writeFileSync(path.join(s.dir, 'users'), passwordLine('anna', 'a'), { mode: 0o644 });
	await change(s, parts(s, { rules: ALL }));
	const t = await connect(s, `127.0.0.1:${portOf(one)}`);
	await change(s, parts(s, { rules: ['ask = all', ...ALL], users: { users: path.join(s.dir, 'users') } }));
	await ends(t);
	await until('its line', () => revoked(s, 'ask').length === 1);
});

gate('tunnels of a listener that is gone, or has no rules any more, go on', async (s) => {
	await prepare(s);
	await change(s, parts(s, { rules: ALL, site: ['allow = path=/ws/*'] }));
	const tunnels = [await connect(s, `127.0.0.1:${portOf(one)}`), await upgrade(site(s), '/ws/a')];
	await change(s, parts(s, { rules: ['deny = all'], listener: 'another' }));
	const marker = await upgrade(site(s), '/ws/marker');
	await carries(...tunnels, marker);
	/* Rules that a listener had not. */
	await change(s, parts(s, { rules: ['deny = all'], listener: 'another', site: ['deny = path=/ws/marker', 'allow = all'] }));
	await ends(marker);
	await carries(...tunnels);
});

/* {stream, ended}: by :protocol (RFC 8441). */
async function extended(s, asked) {
	const session = http2.connect(`http://127.0.0.1:${s.site}`);
	s.cleanups.push(() => session.destroy());
	session.on('error', () => {});
	await new Promise((resolve) => { session.once('remoteSettings', resolve); });
	const stream = session.request({ ':method': 'CONNECT', ':protocol': 'echo', ':scheme': 'http', ':authority': 'a.test', ':path': asked });
	const t = { stream, socket: stream, text: '' };
	stream.setEncoding('latin1').on('data', (text) => { t.text += text; }).on('error', () => {}).on('close', () => { t.ended = `code ${stream.rstCode}`; });
	await new Promise((resolve, reject) => { stream.on('response', (h) => (h[':status'] === 200 ? resolve() : reject(new Error(h[':status'])))); });
	return t;
}

gate('tunnels of HTTP/2 by :protocol are judged by their paths', async (s) => {
	await prepare(s);
	await change(s, parts(s, { rules: ALL, site: ['allow = all'] }));
	const denied = await extended(s, '/ws/a'), other = await extended(s, '/ws/b');
	await change(s, parts(s, { rules: ALL, site: ['deny = path=/ws/a method=GET', 'allow = all'] }));
	await ends(denied);
	assert.equal(denied.ended, `code ${http2.constants.NGHTTP2_CANCEL}`);
	await carries(other);
});

gate('a request that is under way at the reload is judged when its tunnel opens', async (s) => {
	await prepare(s);
	const asked = [];
	const late = await open(net.createServer((c) => c.on('error', () => {}).once('data', () => asked.push(c))));
	s.cleanups.push(() => late.close());
	const more = section('origin late', { server: urlOf(late) }) + section('route late', { path: '/late', origin: 'late', upgrade: 'echo' });
	await change(s, parts(s, { rules: ALL, site: ['allow = all'], more }));
	const c = { text: '', socket: net.connect(s.site, '127.0.0.1') };
	c.socket.setEncoding('latin1').on('data', (text) => { c.text += text; }).on('error', (e) => { c.ended = e.code; }).on('close', () => { c.ended ??= 'closed'; });
	s.cleanups.push(() => c.socket.destroy());
	c.socket.write('GET /late HTTP/1.1\r\nhost: a.test\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
	await until('the request', () => asked.length === 1);
	await change(s, parts(s, { rules: ALL, site: ['deny = path=/late', 'allow = all'], more }));
	assert.equal(c.ended, undefined);
	asked[0].write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
	await ends(c);
	assert.match(c.text, /^HTTP\/1\.1 101 /);
	await until('its line', () => revoked(s, 'rule').length === 1);
});

gate('many tunnels of one connection in HTTP/2 are judged, each by itself', async (s) => {
	await prepare(s);
	const COUNT = 600;
	const many = (rules) => {
		const p = parts(s, { rules });
		p.more = p.more.replace('mode = forward\n', 'mode = forward\nmax-concurrent-streams = 1000\n');
		return p;
	};
	await change(s, many(ALL));
	const session = http2.connect(`http://127.0.0.1:${s.forward}`);
	s.cleanups.push(() => session.destroy());
	session.on('error', () => {});
	const streams = await Promise.all(Array.from({ length: COUNT }, (_, i) => new Promise((resolve, reject) => {
		const stream = session.request({ ':method': 'CONNECT', ':authority': `127.0.0.1:${portOf(i % 2 ? two : one)}` });
		const t = { stream, text: '', ended: undefined };
		stream.setEncoding('latin1').on('data', (text) => { t.text += text; }).on('error', () => {}).on('close', () => { t.ended = stream.rstCode; });
		stream.on('response', (headers) => (headers[':status'] === 200 ? resolve(t) : reject(new Error(headers[':status']))));
	})));
	await change(s, many([`deny = port=${portOf(one)}`, ...ALL]));
	await until('their ends', () => streams.filter((t) => t.ended !== undefined).length === COUNT / 2);
	for (const [i, t] of streams.entries()) {
		assert.equal(t.ended, i % 2 ? undefined : http2.constants.NGHTTP2_CANCEL);
		if (i % 2)
			t.stream.write('x');
	}
	await until('the echoes of the others', () => streams.every((t) => t.ended !== undefined || t.text === 'x'));
	await until('the lines', () => revoked(s, 'rule').length === COUNT / 2);
	assert.equal(count(s, /access-recheck/g), 0, 'no word in the error log');
});

gate('when the worker that judges dies its successor judges', async (s) => {
	await prepare(s);
	await change(s, { ...parts(s, { rules: ALL }), workers: 1 });
	await haveEnded(s, 1);
	const denied = await connect(s, `127.0.0.1:${portOf(one)}`), other = await connect(s, `127.0.0.1:${portOf(two)}`);
	const [older] = s.gate.workers();
	process.kill(older, 'SIGSTOP');
	s.cleanups.push(() => process.kill(older, 'SIGCONT'));
	await change(s, { ...parts(s, { rules: [`deny = port=${portOf(one)}`, ...ALL] }), workers: 1 });
	const [judge] = s.gate.workers().filter((pid) => pid !== older);
	process.kill(judge, 'SIGKILL');
	await s.gate.error(/worker 0 \(process \d+\) is up again/);
	process.kill(older, 'SIGCONT');
	await ends(denied);
	await carries(other);
});
