/* SPDX-License-Identifier: MIT */
/* Peers that speak something else, half of it, or at random. */
import crypto from 'node:crypto';
import net from 'node:net';
import tls from 'node:tls';
import { FLAG, frame, u32 } from '../../support/frames.mjs';
import { Raw, Tally, addressOf, hello, request, sleep } from '../raw.mjs';

const ANY = null; /* whatever end there is */

/* Bytes from a seed, so that a failure can be seen again. */
function* dice(seed) {
	for (let n = 0; ; n++)
		yield* crypto.createHash('sha256').update(`${seed}/${n}`).digest();
}

/* Connections of bytes(env, i), `width` at a time. */
const talkers = (bytes, { width = 8, count = 60, secure, silent = true, after } = {}) => async (env, clock) => {
	const tally = new Tally();
	let next = 0;
	await Promise.all(Array.from({ length: width }, async () => {
		while (next < count && clock.goesOn) {
			const i = next++;
			const c = new Raw(env, { from: addressOf(i), silent, secure });
			await Promise.race([c.opened, c.gone]);
			for (const part of [bytes(env, i)].flat())
				await c.send(part);
			after?.(c);
			await Promise.race([c.gone, sleep(100)]);
			await c.close();
			tally.add(c);
		}
	}));
	return tally;
};

/* A session with something of everything. */
const session = (env) => Buffer.concat([
	hello({ initialWindowSize: 70000, enablePush: 1 }), request(env, 1, { path: '/site' }),
	frame('PRIORITY', 0, 1, Buffer.from([0, 0, 0, 0, 15])), frame('WINDOW_UPDATE', 0, 0, u32(1000)),
	request(env, 3, { method: 'POST', path: '/upload', 'content-length': '600' }, 0),
	frame('DATA', 0, 3, Buffer.alloc(300, 'x')), frame('PING', 0, 0, Buffer.alloc(8)),
	frame('DATA', FLAG.END_STREAM, 3, Buffer.alloc(300, 'y')), frame('SETTINGS', FLAG.ACK, 0),
	frame('PRIORITY_UPDATE', 0, 0, Buffer.concat([u32(5), Buffer.from('u=2')])), request(env, 5, { path: '/large' }),
	frame('RST_STREAM', 0, 5, u32(8)), request(env, 7),
]);

/* The same with some bytes changed, left out or doubled. */
function mutated(env, i) {
	const roll = dice(`session ${i}`);
	const any = (n) => ((roll.next().value << 8) | roll.next().value) % n;
	let bytes = Buffer.from(session(env));
	for (let n = 1 + any(6); n > 0; n--) {
		const at = 24 + any(bytes.length - 24);
		const kind = any(3);
		if (kind === 0)
			bytes[at] ^= 1 << any(8);
		else if (kind === 1)
			bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + any(20))]);
		else
			bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(Math.max(0, at - any(60)))]);
	}
	return bytes;
}

function noise(i, length) {
	const roll = dice(`noise ${i}`);
	return Buffer.from(Array.from({ length }, () => roll.next().value));
}

/* Frames whose headers are right as frames, and nothing else. */
function frames(env, i) {
	const roll = dice(`frames ${i}`);
	const byte = () => roll.next().value;
	return Buffer.concat([hello(), ...Array.from({ length: 60 }, () =>
		frame(byte() % 12, byte(), byte() % 10, Buffer.from(Array.from({ length: byte() % 40 }, byte))))]);
}

/* Established TLS that is ended wrongly: by an alert, by garbage between records, by asking for another handshake. */
const spoilTls = (spoil, options = {}) => async (env, clock) => {
	const tally = new Tally();
	await Promise.all(Array.from({ length: 8 }, async (_, i) => {
		for (let n = 0; n < 20 && clock.goesOn; n++) {
			const raw = net.connect({ port: env.port, host: '127.0.0.1', localAddress: addressOf(i) });
			raw.on('error', () => {});
			const closed = new Promise((resolve) => { raw.once('close', resolve); });
			const secure = tls.connect({ socket: raw, rejectUnauthorized: false, ALPNProtocols: ['h2'], servername: 'localhost', ...options });
			secure.on('error', () => {});
			secure.resume();
			await Promise.race([closed, new Promise((resolve) => { secure.once('secureConnect', resolve); })]);
			secure.write(hello());
			spoil(secure, raw);
			await Promise.race([closed, sleep(300)]);
			tally.ends[raw.destroyed ? 'closed' : 'open'] = (tally.ends[raw.destroyed ? 'closed' : 'open'] ?? 0) + 1;
			raw.destroy();
			tally.frames++;
			tally.connections++;
		}
	}));
	return tally;
};
const ALERT = Buffer.from('15030300020228', 'hex'); /* handshake_failure, in the clear */

export const broken = [
	{
		covers: 'R65', name: 'half-closed TCP',
		what: 'requests, and then FIN',
		attack: talkers((env) => [hello(), request(env, 1), request(env, 3, { path: '/large' })], { after: (c) => c.socket.end() }),
		expect: { end: ANY, cpu: 1000 },
	},
	{
		name: 'half-closed TCP, unanswered',
		what: 'a request that is never answered, and then FIN: it is given up after write-timeout',
		listener: { 'write-timeout': '500ms' },
		attack: talkers((env) => [hello(), request(env, 1, { path: '/never' })], { after: (c) => c.socket.end() }),
		expect: { end: ANY, cpu: 1000, counters: ['pushgate_connection_timeouts_total{side="client",timeout="write-timeout"}'] },
	},
	{
		name: 'HTTP/1.1 where HTTP/2 alone is spoken',
		what: 'a request of another version to the cleartext port',
		listener: { protocols: 'h2' },
		attack: talkers(() => Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')),
		expect: { end: ANY, counters: ['protocols_unknown'], cpu: 1500 },
	},
	{
		name: 'random bytes',
		what: 'from the first one on, where HTTP/2 alone is spoken',
		listener: { protocols: 'h2' },
		attack: talkers((env, i) => noise(i, 2000)),
		expect: { end: ANY, counters: ['protocols_unknown'], cpu: 1500 },
	},
	{
		name: 'random bytes behind the preface',
		what: 'where frames should be',
		attack: talkers((env, i) => [hello(), noise(i, 2000)]),
		expect: { end: ANY, counters: ['pushgate_peer_faults_total{side="client"}'], cpu: 1500 },
	},
	{
		covers: 'R65', name: 'random frames',
		what: 'frames of all types with random flags, streams and payloads',
		attack: talkers(frames),
		expect: { end: ANY, counters: ['pushgate_peer_faults_total{side="client"}'], cpu: 1500 },
	},
	{
		covers: 'R65', name: 'mutated sessions',
		what: 'a good session with some bytes changed, left out or doubled',
		attack: talkers(mutated, { count: 400 }),
		expect: { end: ANY, counters: ['pushgate_peer_faults_total{side="client"}'], cpu: 2500, log: /origin main .*(INTERNAL_ERROR|reset)/ },
	},
	{
		name: 'TLS: no TLS',
		what: 'cleartext HTTP/2 to the TLS port',
		tls: true,
		attack: talkers((env) => [hello(), request(env, 1)], { secure: false }),
		expect: { end: ANY, counters: ['tls_failures'], cpu: 1500 },
	},
	{
		name: 'TLS: random records',
		what: 'records of a handshake with random bytes',
		tls: true,
		attack: talkers((env, i) => Buffer.concat([Buffer.from('1603010200', 'hex'), noise(i, 512)]), { secure: false }),
		expect: { end: ANY, counters: ['tls_failures'], cpu: 1500 },
	},
	{
		name: 'TLS: an alert in the clear',
		what: 'inside an established session',
		tls: true,
		attack: spoilTls((secure, raw) => raw.write(ALERT)),
		expect: { end: ['closed'], counters: ['tls_failures'], cpu: 5000 },
	},
	{
		name: 'TLS: garbage in a session',
		what: 'a record that does not decrypt',
		tls: true,
		attack: spoilTls((secure, raw) => raw.write(Buffer.concat([Buffer.from('1703030100', 'hex'), Buffer.alloc(256)]))),
		expect: { end: ['closed'], counters: ['tls_failures'], cpu: 5000 },
	},
	{
		name: 'TLS: renegotiation',
		what: 'TLS 1.2, and a new handshake inside the session',
		tls: true,
		attack: spoilTls((secure) => { try { secure.renegotiate({}, () => {}); } catch { /* this client cannot */ } }, { maxVersion: 'TLSv1.2' }),
		expect: { end: ['closed'], counters: ['tls_failures'], cpu: 5000 },
	},
];
