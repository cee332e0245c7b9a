/* SPDX-License-Identifier: MIT */
/*
 * Request smuggling through tunnels: {requests for tunnels} × {versions of client and origin}, and {an origin's answers} ×
 * {versions}. Behind each request for a tunnel comes a request in bytes: an origin sees it as bytes of the tunnel that it
 * has opened, or never.
 */
import { scenario, section } from '../support/gate.mjs';
import { own } from '../support/smuggle_forms.mjs';
import forms, { forms2, unannounced } from '../support/smuggle_forms_tunnel.mjs';
import { answer1, answer2, openings, openings2 } from '../support/smuggle_forms_opening.mjs';
import { followUp, playTunnels, tunnelOrigin1, tunnelOrigin2 } from '../support/smuggle_tunnels.mjs';

const pick = (list) => (process.env.SMUGGLE_ROW ? list.filter((v) => v.row === process.env.SMUGGLE_ROW) : list);
const ROUTES = section('route main', { host: 'a.test', origin: 'main', upgrade: 'websocket' })
	+ section('route two', { host: 'two.test', origin: 'main', upgrade: 'chat/2' })
	+ section('route none', { host: 'none.test', origin: 'main' });
const LATE = (origin) => section('origin late', { server: origin.server, 'response-timeout': '500ms' }) + section('route late', { host: 'late.test', origin: 'late', upgrade: 'websocket' });
const isLate = (r) => (r.headers[':authority'] ?? r.headers.host) === 'late.test';
let played = 0;
const columns = [];
const column = (name, origin, play, routes = ROUTES, extra = LATE) => columns.push({ name, origin, play, routes, extra });

for (const [version, list] of [[1, forms], [2, forms2]])
	for (const make of [tunnelOrigin1, tunnelOrigin2]) {
		const origin = await make({ answers: (n, r) => (isLate(r) ? () => {} : null) });
		column(`h${version} → h${origin.version}: bytes behind a request for a tunnel are the tunnel's, or nobody's`, origin,
			(port) => playTunnels(pick(list).filter((v) => !(version === 1 && origin.version === 2 && v.when === 'split')), origin, port));
	}

for (const [version, make, vectors, play] of [
	[1, tunnelOrigin1, openings(1), answer1], [2, tunnelOrigin1, openings(2), answer1],
	[1, tunnelOrigin2, openings2(1), answer2], [2, tunnelOrigin2, openings2(2), answer2],
]) {
	/* Those that end the connection to the origin end tunnels beside them too. */
	const list = [...pick(vectors).filter((v) => !v.isAlone), ...pick(vectors).filter((v) => v.isAlone)];
	const alone = list.findIndex((v) => v.isAlone);
	const many = alone < 0 ? list.length : alone;
	const origin = await make({ answers: (n, m) => (m.protocol !== null && m.target === own(n) ? play(list[n]) : null) });
	column(`h${version} ← h${origin.version}: a tunnel opens by the right answer, and a refusal leaves nothing behind`, origin, async (port) => {
		const follow = (v, n) => followUp(n, port, 'a.test');
		const table = await playTunnels(list.slice(0, many), origin, port, { follow });
		return { ...table, alone: Object.values(await playTunnels(list.slice(many), origin, port, { first: many, width: 1, follow }))[0] ?? {} };
	});
}
{
	const origin = await tunnelOrigin1();
	column('without a route that has tunnels, :protocol is malformed', origin, (port) => playTunnels(pick(unannounced), origin, port), section('route main', { host: ['a.test', 'two.test'], origin: 'main' }), () => '');
}
{
	const origin = await tunnelOrigin2({ announces: false });
	const list = [...forms, ...forms2].filter((v) => /good$/.test(v.row) && !v.before).map((v) => ({ ...v, want: ['refused'], statuses: [501] }));
	column('an origin that does not announce extended CONNECT gets none', origin, (port) => playTunnels(pick(list), origin, port));
}

/* All at once: the runner takes those for all that there are whose turn comes before the next one is known. */
for (const { name, origin, play, routes, extra } of columns)
	// covers: R380 R381 R382 R383 R384 R385 R386 R391 R392 R393 R397 R399
	scenario(name, {
		timeout: 240000, origins: { main: { server: origin.server } }, routes, server: { 'error-log': '/dev/null', 'access-log': '/dev/null' },
		extra: extra(origin),
	}, async (s) => {
		s.cleanups.push(origin.close);
		const table = await play(s.port);
		played += Object.values(table).flatMap(Object.values).reduce((a, b) => a + b, 0);
		console.log(`${name}: ${JSON.stringify(table)}; ${played} so far`);
	});
