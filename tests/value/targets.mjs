/* SPDX-License-Identifier: MIT */
/* What must hold of the numbers. */

/* By how much the visit of a gate is sooner than without, in percent; below 0: later. */
export const sooner = (gates, gate, what, kind = 'first') => 100 * (1 - gates[gate][kind][what][0] / gates.nothing[kind][what][0]);

/* A median that is more than 2 % later is noise unless most runs say so. */
const LATER = { percent: -2, share: 0.75 };
const OURS = ['hint', 'hold', 'both'];

function* slower(name, gates) {
	for (const gate of OURS.filter((g) => gates[g]))
		for (const kind of Object.keys(gates[gate]))
			for (const [i, what] of ['paint', 'load'].entries()) {
				const percent = sooner(gates, gate, what, kind);
				if (percent < LATER.percent && gates[gate][kind].later[i] >= LATER.share)
					yield `${name}: ${gate} is later by ${(-percent).toFixed(0)} % (${what}, ${kind} visit)`;
			}
}

/* What a visitor who had all of it got or caused once more; some bytes are the hint and a cookie. */
function* again(name, gates) {
	for (const gate of OURS.filter((g) => gates[g]))
		for (const kind of ['repeat', 'reload']) {
			const mine = gates[gate][kind], plain = gates.nothing[kind];
			if (mine.wasted > 0)
				yield `${name}: ${gate} fetched ${mine.wasted} bytes that the browser had (${kind})`;
			if (mine.down > plain.down + 16000)
				yield `${name}: ${gate} sent ${mine.down - plain.down} bytes more than without (${kind})`;
		}
}

function* best({ gates }) {
	for (const what of ['paint', 'load'])
		if (sooner(gates, 'both', what) < 30)
			yield `30-100-300: hint+hold is sooner by ${sooner(gates, 'both', what).toFixed(0)} % only (${what})`;
}

function* waste(name, gates) {
	for (const gate of OURS.filter((g) => gates[g])) {
		const { wasted, origin } = gates[gate].first;
		if (wasted > 0.05 * origin)
			yield `${name}: ${gate} wasted ${wasted} of ${origin} bytes on first visits`;
	}
}

/* Gives what is missed, a sentence each. */
export function missed({ cells, sites, consoles }) {
	const found = cells['30-100-300'] ? [...best(cells['30-100-300'])] : [];
	for (const [name, { gates }] of [...Object.entries(cells), ...Object.entries(sites)])
		found.push(...slower(name, gates), ...again(name, gates), ...waste(name, gates));
	for (const [host, complaints] of Object.entries(consoles))
		for (const text of complaints.filter((t) => t.includes('preload')))
			found.push(`console of ${host}: ${text}`);
	return found;
}
