/* SPDX-License-Identifier: MIT */
/*
 * The fleet for a minute: three servers of which one dies and comes back, one takes 2 s for each answer, and one flaps
 * every second, under h2load. usage: node tests/soak/fleet.mjs [SECONDS [VERSION...]]      (60; h2c and http1)
 *
 * Prints the figures. Exit status 0: above 99.99 % of the requests whose response had not begun were answered, the slow
 * server's share is small, and status has shown the server that died as ejected, and as up again.
 */
import { assertShown, showFleet, tell } from '../support/fleet.mjs';

const [seconds = 60, ...versions] = process.argv.slice(2);
let status = 0;
for (const version of versions.length ? versions : ['h2c', 'http1']) {
	const figures = await showFleet({ version, seconds: Number(seconds) });
	tell(version, figures).forEach((line) => console.log(line));
	try {
		assertShown(figures);
		console.log(`ok - ${version}`);
	} catch (error) {
		console.log(`not ok - ${version}: ${error.message}`);
		status = 1;
	}
}
process.exit(status);
