/* SPDX-License-Identifier: MIT */
/*
 * Attacks by one server of a fleet, whose other server is honest, and by a name server. What the one cannot or will
 * not answer the other one has to.
 */
import { Evil, visit, visitors } from '../evil.mjs';
import { sleep } from '../raw.mjs';
import { EvilResolver, address, answerTo, isForIpv4, withId } from '../resolver.mjs';

const LIMIT = '700ms';

/* The evil one and the honest one. */
const both = (env) => [`h2c://127.0.0.1:${env.evil}`, `h2c://127.0.0.1:${env.honest}`];
const never = () => {};

function attack(name, what, serve, { expect = {}, options, listen, evil = {}, ...row }) {
	return {
		name: `fleet: ${name}`, what, ms: 2500, ...row,
		evil: (env) => ({ server: both(env), 'eject-time': '1s', ...evil }),
		listen: listen ?? ((env) => new Evil(serve, options).listen(env.evil)),
		attack: (env, clock, origin) => visit(env, clock, origin, row.visitors),
		expect: { end: null, resets: null, log: /evil/, statuses: [200], ...expect },
	};
}

/* Listens, and does not, in turn. Whatever is under way is cut. Each turn counts as a frame: while it is ejected,
 * nothing else comes of it. */
class Flapping extends Evil {
	async listen(port) {
		this.port = port;
		await super.listen(port);
		this.timer = setInterval(() => this.#turn(port), 150);
		return this;
	}

	#turn(port) {
		this.tally.frames++;
		if (this.server.listening)
			this.#leave();
		else
			super.listen(port);
	}

	#leave() {
		this.server.close();
		for (const line of this.lines) {
			line.frames++;
			line.socket.destroy();
		}
	}

	close() {
		clearInterval(this.timer);
		super.close();
	}
}

/* ---- name servers ---- */

function resolver(name, what, serve, { expect = {}, ...row } = {}) {
	return {
		name: `fleet: ${name}`, what, ms: 2500,
		server: (dir, env) => ({ resolver: `127.0.0.1:${env.evil}`, 'dns-min-ttl': '100ms', 'dns-timeout': '500ms' }),
		evil: () => ({ server: 'h2c://fleet.test:1', 'queue-timeout': LIMIT, 'connect-timeout': LIMIT }),
		listen: (env) => new EvilResolver(serve).listen(env.evil),
		async attack(env, clock, origin) {
			const client = await visitors(env, clock, row.visitors);
			return Object.assign(origin.take(), { client });
		},
		expect: { end: null, resets: null, log: /evil|fleet\.test/, statuses: [503, 502, 504], ...expect },
	};
}

async function flood(send, query) {
	const id = query.readUInt16BE(0);
	for (let i = 1; i <= 5000; i++) {
		const sent = send(withId(query, (id + i) & 0xffff, 0x8180, 1, address(127, 0, 0, 1)));
		if (i % 100 === 0) {
			await sent;
			await sleep(1);
		}
	}
}

/* A record of 64 addresses, of which none was there before. */
let turn = 0;
function churn(send, query) {
	const records = isForIpv4(query) ? Array.from({ length: 64 }, () => {
		turn++;
		return address(127, 200 + (turn >> 16) % 50, (turn >> 8) & 255, turn & 255);
	}) : [];
	send(answerTo(query, records));
}

export const fleet = [
	attack('a mute server', 'one of two servers accepts and says nothing', never, {
		options: { silent: true, reads: false, accept: (line) => { line.frames++; } }, evil: { 'settings-timeout': LIMIT, 'connect-timeout': LIMIT },
	}),
	attack('a server without answers', 'one of two servers takes requests and answers none', (line) => { line.frames++; }, {
		evil: { 'response-timeout': LIMIT }, expect: { statuses: [200, 504] },
	}),
	attack('a server that closes at once', 'one of two servers closes each connection when it comes', never, {
		options: { silent: true, accept: (line) => { line.frames++; line.socket.destroy(); } },
	}),
	attack('a server that closes at requests', 'one of two servers closes each connection at its first request', (line) => {
		line.frames++;
		line.socket.destroy();
	}, {}),
	attack('a server that flaps', 'one of two servers comes and goes', never, {
		listen: (env) => new Flapping((line) => { line.frames++; }).listen(env.evil), evil: { 'response-timeout': LIMIT }, expect: { statuses: [200, 504] },
	}),
	resolver('a flood of answers', 'a name server sends 5,000 wrong answers for each query', flood, { expect: { statuses: [504, 503] } }),
	resolver('addresses that never stay', 'a name server gives another 64 addresses each time, at which nobody listens', churn),
];
