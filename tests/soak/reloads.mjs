/* SPDX-License-Identifier: MIT */
/*
 * The long proof of reloads: clients that never pause while pushgate is reloaded and upgraded, many reloads in a minute,
 * processes that are killed meanwhile, and a disk that is full.
 * usage: node tests/soak/reloads.mjs [FACTOR [PART...]]      (1: 100,000 requests; parts: load beside storm kills disk)
 *
 * load: 50 reloads, each of which changes something, and 5 upgrades under all kinds of clients; beside: the same for nginx
 * and HAProxy; storm: 200 reloads in a minute; kills: processes that are killed during reloads; disk: one that is full.
 *
 * The clients are chosen for what they do when a connection is told to go. h2load does not open another one, as of
 * nghttp2 1.52: it calls all requests failed that it has not sent by then. So it runs in short rounds, and what pushgate has
 * counted of its requests must be what has succeeded. The scripted peer of tests/support and Node's HTTP open another
 * connection, as browsers do.
 */
import { Checks } from './child.mjs';
import { besides } from './reloads/beside.mjs';
import { disk } from './reloads/disk.mjs';
import { kills } from './reloads/kills.mjs';
import { load } from './reloads/load.mjs';
import { storm } from './reloads/storm.mjs';

const [factor = 1, ...wanted] = process.argv.slice(2);
const checks = new Checks();
let ours;
const PARTS = {
	load: async (...args) => { ours = await load(...args); },
	beside: (...args) => besides(...args, ours),
	storm, kills, disk,
};
for (const [name, part] of Object.entries(PARTS)) {
	if (wanted.length && !wanted.includes(name))
		continue;
	console.log(`---- ${name} ----`);
	try {
		await part(checks, Number(factor));
	} catch (error) {
		checks.check(`${name} comes to its end`, false, error.stack);
	}
}
process.exit(checks.sum());
