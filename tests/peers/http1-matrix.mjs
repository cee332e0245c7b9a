/* SPDX-License-Identifier: MIT */
/*
 * curl in one version of HTTP (each has a test file of its own) before Node's servers in each version: what passes the
 * gate is what curl and the origin see of each other without it, in bytes and fields, but for the fields of the hop.
 * Prints a table: the client's and the origin's version down, cases across.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import path from 'node:path';
import { test } from 'node:test';
import { Scenario, certs, freePort, section } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';
import { VERSIONS, versionedOrigins } from '../support/versions.mjs';
import { matrixCases } from './matrix-cases.mjs';
import { CLIENTS, curl } from './matrix-curl.mjs';
import { MatrixOrigin, pieces } from './matrix-origin.mjs';

const AT_ONCE = 3;
const only = process.env.PUSHGATE_TEST_ONLY?.split(','); /* names of combinations and of cases */
const isWanted = (name, all) => !only || !only.some((o) => all.includes(o)) || only.includes(name);

/* One case by one way: what curl got, and what the origin saw. */
let runs = 0;
async function play(site, down, port, prefix, row) {
	const id = `${++runs}`;
	const seen = site.origin.run(id);
	const run = await curl(down, port, Array(row.times ?? 1).fill(`/${prefix}${row.path}`), [...row.args, '-H', `x-run: ${id}`], {
		dir: site.dir, input: row.input?.(), started: row.started && ((child) => row.started(child, seen)),
	});
	site.origin.drop(id);
	return { run, seen };
}

const shown = (run) => ({ code: run.code, heads: run.heads, trailers: run.trailers, length: run.length, digest: run.digest });
const asked = (seen, { isEarly, mayBeKnown }) => seen.map(({ method, target, fields, expects, bytes, ended, trailers }) => ({
	method, target, expects, fields: mayBeKnown ? fields.filter((field) => field !== 'content-length: 0') : fields,
	...(isEarly ? {} : { bytes, ended, trailers }),
}));
const versionOf = (run) => [...new Set(run.heads.map((head) => head.version))];
const withoutVersion = (result) => ({ ...result, heads: result.heads.map(({ status, fields }) => ({ status, fields })) });

const isLeft = (row) => row.args.includes('--max-filesize');
const mayFailSo = (row, down, run) => row.mayFail === run.code && CLIENTS[down].version === '2';

/* Throws unless the case went well without the gate: nothing can be compared with a run that failed. */
function judgeDirect(row, down, { run, seen }) {
	const what = `${down} ${row.name}: curl could not reach the origin itself: it ended with ${run.code} (${run.said.trim()}), the origin saw ${seen.length} requests`;
	assert.ok(run.code === (isLeft(row) ? 63 : 0) || mayFailSo(row, down, run), what);
	assert.equal(seen.length, row.times ?? 1, what);
}

/* Throws unless the case went well through the gate. */
async function judge(row, down, up, { run, seen }, direct) {
	if (row.cut !== undefined) {
		assert.ok([18, 56, 92].includes(run.code), `curl ends with ${run.code}: ${run.said}`);
		assert.ok(run.length <= row.cut, `${run.length} bytes`);
	} else if (!row.started && !mayFailSo(row, down, run)) {
		assert.equal(run.code, isLeft(row) ? 63 : 0, run.said);
		if (!row.differs) {
			const [got, expected] = [shown(run), shown(direct.run)].map(withoutVersion);
			assert.deepEqual(got, isLeft(row) ? { ...expected, length: got.length, digest: got.digest } : expected);
			assert.deepEqual(asked(seen, row), asked(direct.seen, row));
		}
		assert.deepEqual(versionOf(run), [CLIENTS[down].version]);
	}
	for (const one of seen) {
		assert.equal(one.version, VERSIONS[up].version, 'the version of the origin\'s hop');
		assert.match(one.via ?? '', /^(1\.[01]|2(\.0)?) pushgate/);
	}
	await row.check?.(run, seen, direct);
}

/* Calls `work` for each of `list`, some at a time. */
async function inParallel(list, work) {
	const queue = list.values();
	await Promise.all(Array.from({ length: AT_ONCE }, async () => {
		for (const item of queue)
			await work(item);
	}));
}

/* The letters of each name below each other. */
function table(rows, names) {
	const first = Math.max(...rows.map(({ name }) => name.length));
	const high = Math.max(...names.map((name) => name.length));
	const lines = Array.from({ length: high }, (_, i) => `${' '.repeat(first)}  ${names.map((name) => ` ${name.padStart(high)[i]}`).join(' ')}`);
	return [...lines, ...rows.map(({ name, cells }) => `${name.padEnd(first)}  ${names.map((n) => cells.get(n).padStart(2)).join(' ')}`)];
}

async function start() {
	const origin = new MatrixOrigin();
	const origins = await versionedOrigins(origin.serve);
	const tlsPort = await freePort();
	const scenario = new Scenario({
		origins: Object.fromEntries(Object.entries(VERSIONS).map(([name, { scheme }]) => {
			const isTls = scheme === 'https' || scheme === 'h2';
			return [name, {
				server: `${scheme}://${isTls ? 'localhost' : '127.0.0.1'}:${origins.ports[name]}`,
				config: { ...(isTls ? { 'tls-ca': certs().file('ca.pem') } : {}) },
			}];
		})),
		routes: Object.keys(VERSIONS).map((name) => section(`route ${name}`, { path: `/${name}`, origin: name, forwarded: 'keep' })).join(''),
		extra: section('listen tls', { address: `127.0.0.1:${tlsPort}`, certificate: certs().file('rsa.pem'), key: certs().file('rsa.key') }),
	});
	scenario.cleanups.push(() => origins.close());
	await scenario.start();
	return { origin, origins, scenario, dir: scenario.dir, port: (down) => (CLIENTS[down].tls ? tlsPort : scenario.port) };
}

async function bytesAndFields(t, down) {
	const site = await start();
	let failure;
	try {
		const file = (size) => {
			const name = path.join(site.dir, `upload-${size}`);
			if (!fs.existsSync(name)) {
				const fd = fs.openSync(name, 'w');
				for (const piece of pieces(size))
					fs.writeSync(fd, piece);
				fs.closeSync(fd);
			}
			return name;
		};
		const all = matrixCases(file);
		const names = all.map((row) => row.name);
		const cases = all.filter((row) => isWanted(row.name, names));
		const isFor = (row) => !row.down || row.down.includes(down);
		/* What curl and an origin of the same version see of each other. */
		const direct = new Map();
		for (const row of cases)
			if (isFor(row) && !row.started && row.cut === undefined) {
				const result = await play(site, down, site.origins.ports[down], 'direct', row);
				judgeDirect(row, down, result);
				direct.set(row.name, result);
			}
		const ways = Object.keys(VERSIONS).map((up) => ({ up, name: `${down} > ${up}`, cells: new Map(), wrong: [] }));
		const wayNames = ways.map((way) => way.name.replaceAll(' ', ''));
		const wanted = ways.filter((way) => isWanted(way.name.replaceAll(' ', ''), wayNames));
		const times = new Map();
		await inParallel(wanted, async (way) => {
			for (const row of cases) {
				if (!isFor(row)) {
					way.cells.set(row.name, '-');
					continue;
				}
				const begin = Date.now();
				const result = await play(site, down, site.port(down), way.up, row);
				try {
					await judge(row, down, way.up, result, direct.get(row.name));
					way.cells.set(row.name, 'ok');
					times.set(row.name, (times.get(row.name) ?? 0) + Date.now() - begin);
				} catch (error) {
					way.cells.set(row.name, 'NO');
					way.wrong.push(`${row.name}: ${error.message}${result.run.said && ` (curl: ${result.run.said.trim()})`}`);
				}
			}
		});
		t.diagnostic([...times].sort((a, b) => b[1] - a[1]).map(([n, ms]) => `${n} ${ms}`).join(', '));
		for (const line of table(wanted, cases.map((row) => row.name)))
			t.diagnostic(line);
		for (const way of wanted)
			await t.test(way.name, () => {
				if (way.wrong.length)
					throw new Error(way.wrong.join('\n'));
			});
	} catch (error) {
		failure = error;
	}
	await site.scenario.stop(failure);
}

/* curl sends no trailers. Gives the answer's status. */
function sendTrailers(down, port, target, headers, trailers) {
	const { tls, version } = CLIENTS[down];
	const options = { ...(tls ? { ca: certs().ca } : {}), lookup: (_, o, done) => done(null, o?.all ? [{ address: '127.0.0.1', family: 4 }] : '127.0.0.1', 4) };
	return new Promise((resolve, reject) => {
		if (version === '1.1') {
			const request = (tls ? https : http).request({ ...options, agent: false, host: 'localhost', port, path: target, method: 'POST', headers });
			request.on('response', (response) => { response.resume().on('end', () => resolve(response.statusCode)); }).on('error', reject);
			request.write('some');
			request.addTrailers(trailers);
			return void request.end(' text');
		}
		const session = http2.connect(`${tls ? 'https' : 'http'}://localhost:${port}`, options).on('error', reject);
		const stream = session.request({ ':path': target, ':method': 'POST', ...headers }, { waitForTrailers: true }).on('error', reject);
		let status;
		stream.on('wantTrailers', () => stream.sendTrailers(trailers));
		stream.on('response', (head) => { status = head[':status']; });
		stream.resume().on('close', () => { session.close(); resolve(status); });
		stream.write('some');
		stream.end(' text');
	});
}

async function trailersOfRequests(down) {
	const site = await start();
	let failure;
	try {
		for (const up of Object.keys(VERSIONS)) {
			const id = `${down} to ${up}`;
			const status = await sendTrailers(down, site.port(down), `/${up}/upload`, { 'x-run': id, trailer: 'x-sum' }, { 'x-sum': '12', 'x-more': 'yes' });
			const [seen] = site.origin.run(id);
			assert.deepEqual({ status, bytes: seen?.bytes, trailers: seen?.trailers }, { status: 200, bytes: 9, trailers: { 'x-sum': '12', 'x-more': 'yes' } }, id);
		}
	} catch (error) {
		failure = error;
	}
	await site.scenario.stop(failure);
}

/* The tests of curl in the version `down`, a key of CLIENTS. */
export function matrix(down) {
	test(`curl as ${down} before an origin in each version: bytes and fields pass as they are`, { timeout: 500000 * SCALE }, (t) => bytesAndFields(t, down));
	test(`trailers of requests of ${down} arrive in each version`, { timeout: 120000 * SCALE }, () => trailersOfRequests(down));
}
