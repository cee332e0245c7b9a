/* SPDX-License-Identifier: MIT */
/* A fleet: servers of Node.js that can be ended and started again, and what becomes of a load on them. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import path from 'node:path';
import { BINARY, Gate, freePort, samples, section, until, workDir } from './gate.mjs';
import { run } from './programs.mjs';
import { SCALE } from './peer.mjs';

/* One server. `version`: h2c or http1. `delay`: ms until it answers. It counts its requests, and notes when each came. */
export class FleetServer {
	requests = 0;
	isOpen = false;
	#server;
	#sockets = new Set();

	constructor({ version = 'h2c', host = '127.0.0.1', port, delay = 0, answer = null, note = null }) {
		Object.assign(this, { version, host, port, delay, answer, note });
	}

	get address() { return `${this.host.includes(':') ? `[${this.host}]` : this.host}:${this.port}`; }

	async open() {
		const handle = (request, response) => this.#handle(request, response);
		this.#server = this.version === 'h2c' ? http2.createServer(handle) : http.createServer({ keepAliveTimeout: 0 }, handle);
		this.#server.on('session', (session) => session.on('error', () => {}));
		this.#server.on('connection', (socket) => {
			this.#sockets.add(socket);
			socket.on('error', () => {});
			socket.on('close', () => this.#sockets.delete(socket));
		});
		await new Promise((resolve, reject) => {
			this.#server.once('error', reject);
			this.#server.listen(this.port, this.host, resolve);
		});
		this.isOpen = true;
		return this;
	}

	/* Dies: connects are refused from now on, and the connections are cut with all that is under way on them. */
	shut() {
		if (!this.isOpen)
			return;
		this.isOpen = false;
		this.#server.close();
		for (const socket of this.#sockets)
			socket.destroy();
	}

	#handle(request, response) {
		this.requests++;
		this.note?.(request);
		request.on('error', () => {});
		response.on('error', () => {});
		request.resume();
		const end = () => {
			if (this.answer)
				this.answer(request, response);
			else
				response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 3 }).end('ok\n');
		};
		if (this.delay)
			setTimeout(end, this.delay);
		else
			end();
	}
}

/* `count` servers, each on a port of its own. */
export async function fleet(options) {
	const servers = [];
	for (const each of options)
		servers.push(await new FleetServer({ port: await freePort(), ...each }).open());
	return servers;
}

/*
 * h2load for so many seconds, or { total, rate } of requests. Gives { done, failed, statuses, latencies, ends }: `failed`
 * are the requests without a whole response; a response with another status than 2xx stands in `statuses`; `ends`: when
 * the responses ended, in seconds since 1970.
 */
export async function load(url, { seconds, paced = null, connections = 10, streams = 10, dir }) {
	const file = path.join(dir, 'h2load.log');
	const amount = paced ? ['-n', String(paced.total), '--rps', String(paced.rate / connections)] : ['-D', String(seconds)];
	const { stdout } = await run('h2load', ['-t1', `-c${connections}`, `-m${streams}`, ...amount, `--log-file=${file}`, url], {
		limit: ((paced ? 2 * paced.total / paced.rate : seconds) + 30) * 1000 * SCALE,
	});
	const rows = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => line.split('\t').map(Number));
	fs.rmSync(file);
	const result = { done: rows.length, failed: 0, statuses: {}, latencies: rows.map(([, , us]) => us).sort((a, b) => a - b), ends: rows.map(([start, , us]) => (start + us) / 1e6).sort((a, b) => a - b), stdout };
	for (const [, status] of rows) {
		if (status < 0)
			result.failed++;
		else
			result.statuses[status] = (result.statuses[status] ?? 0) + 1;
	}
	return result;
}

/* Those of the access log whose response had begun when its server was lost: nobody can repeat them. */
const hadBegun = (line) => line.first_byte_us !== undefined && line.origin_address && line.status < 500
	&& ['origin-lost', 'origin-reset'].includes(line.outcome);

/*
 * The show: three servers under load. One dies after a third of the time and comes back after the second, one takes two
 * seconds for each answer, and one flaps: it is there for a second, and away for the next. Gives the figures.
 */
export async function showFleet({ version, seconds, origin = {}, single = true, slowMs = 2000, flapMs = 1000, streams = 10 }) {
	const [dying, slow, flapping] = await fleet([{ version }, { version, delay: slowMs }, { version }]);
	const servers = { dying, slow, flapping };
	const dir = workDir();
	const port = await freePort();
	const gate = new Gate({
		dir, ports: [port], single,
		config: section('server', {
			workers: 1, 'access-log': path.join(dir, 'access.log'), 'log-sample': '1/1000', 'error-log': path.join(dir, 'error.log'),
			'status-socket': path.join(dir, 'status'), 'drain-timeout': '1s',
		})
			+ section('listen main', { address: `127.0.0.1:${port}` })
			+ section('origin fleet', {
				server: Object.values(servers).map((s) => `${version === 'h2c' ? 'h2c' : 'http'}://${s.address}`),
				...origin,
			})
			+ section('route main', { origin: 'fleet' }),
	});
	const flap = setInterval(() => (flapping.isOpen ? flapping.shut() : flapping.open().catch(() => {})), flapMs);
	const shares = [], seen = [];
	const before = { dying: 0, slow: 0, flapping: 0 };
	const watch = setInterval(() => {
		const row = {};
		for (const [name, server] of Object.entries(servers)) {
			row[name] = server.requests - before[name];
			before[name] = server.requests;
		}
		shares.push(row);
		/* Not waited for: the servers are in this process too. */
		execFile(BINARY, ['status', '-c', gate.config], { cwd: dir, encoding: 'utf8' }, (error, text) => seen.push(text));
	}, 500);
	try {
		await gate.listening();
		const third = seconds * 1000 / 3;
		const times = [setTimeout(() => dying.shut(), third), setTimeout(() => dying.open(), 2 * third)];
		const loaded = await load(`http://127.0.0.1:${port}/`, { seconds, dir, streams });
		times.forEach(clearTimeout);
		const figures = () => judge(loaded, gate.accessLines(), shares, servers);
		/* The lines of the last requests may come a moment later. */
		await until('all requests are accounted for', () => figures().lost === 0).catch(() => {});
		return { ...figures(), seen, errors: gate.read('error.log'), counters: gate.counters() };
	} catch (error) {
		error.message += `\n${gate.report()}`;
		throw error;
	} finally {
		clearInterval(flap);
		clearInterval(watch);
		Object.values(servers).forEach((s) => s.shut());
		await gate.stop();
	}
}

function judge(loaded, lines, shares, servers) {
	const begun = lines.filter(hadBegun).length;
	const answered = loaded.statuses[200] ?? 0;
	const all = loaded.done - begun;
	const part = (rows) => {
		const sum = (name) => rows.reduce((n, row) => n + row[name], 0);
		const total = sum('dying') + sum('slow') + sum('flapping');
		return total ? sum('slow') / total : 0;
	};
	const at = (q) => loaded.latencies[Math.min(loaded.latencies.length - 1, Math.floor(loaded.latencies.length * q))] / 1000;
	return {
		requests: loaded.done, answered, begun, lost: all - answered, success: answered / all,
		/* Of the requests at the servers, so that a repeated one counts each time. */
		slowShare: part(shares), at: Object.fromEntries(Object.entries(servers).map(([name, s]) => [name, s.requests])),
		ms: { p50: at(0.5), p99: at(0.99), p999: at(0.999) },
		statuses: loaded.statuses,
		failures: lines.filter((line) => line.status !== 200 || line.outcome !== 'complete').slice(0, 10),
	};
}

/* The figures in words, a line each. */
export function tell(version, f) {
	return [
		`${version}: ${f.requests} requests, ${f.answered} answered, ${f.lost} lost, ${f.begun} cut off in their response: ${(100 * f.success).toFixed(4)} %`,
		`${version}: at the servers ${Object.entries(f.at).map(([name, n]) => `${name} ${n}`).join(', ')}; the slow one's share is ${(100 * f.slowShare).toFixed(2)} %`,
		`${version}: latency p50 ${f.ms.p50.toFixed(1)} ms, p99 ${f.ms.p99.toFixed(1)} ms, p99.9 ${f.ms.p999.toFixed(1)} ms; statuses ${JSON.stringify(f.statuses)}`,
		`${version}: ejected and back again by status: ${cameBack(f.seen).map((name) => /server="([^"]*)"/.exec(name)[1]).join(', ') || 'none'}`,
	];
}

/* Servers that status has shown as ejected, and as up again behind that. */
export function cameBack(seen) {
	const states = seen.filter(Boolean).map(samples);
	return Object.keys(states[0] ?? {}).filter((name) => name.startsWith('pushgate_server_up{')).filter((name) => {
		const gone = states.findIndex((s) => s[name] === 0);
		return gone >= 0 && states.slice(gone).some((s) => s[name] === 1);
	});
}

export function assertShown(f) {
	const report = `${JSON.stringify({ ...f, seen: undefined }, null, 1)}\n${f.seen.at(-1)}`;
	assert.ok(f.requests > 100, report);
	assert.ok(f.success > 0.9999, report);
	assert.ok(f.slowShare < 1 / 6, report); /* half of what turns would give it */
	assert.ok(cameBack(f.seen).length > 0, report);
}
