/* SPDX-License-Identifier: MIT */
/* What visits were like, in numbers. A visit is {paint, load, asked: [{path, bytes}], down}. */

/* The middle, and the value below which 95 % are: of a few values that is the highest. */
export function quantile(values, part) {
	const sorted = [...values].sort((a, b) => a - b);
	const at = part * (sorted.length - 1);
	return part === 0.5 ? (sorted[Math.floor(at)] + sorted[Math.ceil(at)]) / 2 : sorted[Math.ceil(at)];
}

/* Bytes that the origin sent though this visit needs none of them, or needs them once alone. needed: a set of paths. */
function wasted(asked, needed) {
	const seen = new Set();
	return asked.reduce((sum, { path, bytes }) => {
		const isNeeded = needed.has(path) && !seen.has(path);
		seen.add(path);
		return sum + (isNeeded ? 0 : bytes);
	}, 0);
}

/* In what share of the runs this gate was more than 2 % later than the first one, which came in the same run. */
const later = (visits, plain, what) => visits.filter((v, i) => v[what] > 1.02 * plain[i][what]).length / visits.length;

/*
 * What compare() gave, in numbers: {gate: {kind: {paint: [median, p95], load, later: [paint, load], requests, origin, down,
 * wasted}}}: medians of bytes that the origin has sent, and that the visitor got with all overhead; the mean of those
 * that were not needed, since one visitor in many may have caused them.
 */
export function summary(all) {
	const [plain] = Object.values(all);
	const pathsOf = (kinds) => new Set(kinds.flatMap((kind) => plain[kind].flatMap(({ asked }) => asked.map((a) => a.path))));
	/* An icon may come so late after a first visit that it counts as a part of the next one. */
	const needed = { first: pathsOf(Object.keys(plain)), repeat: pathsOf(['repeat']), reload: pathsOf(['reload']) };
	const middle = (values) => Math.round(quantile(values, 0.5));
	const both = (values) => [quantile(values, 0.5), quantile(values, 0.95)].map((value) => Math.round(value * 10) / 10);
	const numbers = (visits, kind) => ({
		paint: both(visits.map((v) => v.paint)), load: both(visits.map((v) => v.load)),
		later: ['paint', 'load'].map((what) => Math.round(100 * later(visits, plain[kind], what)) / 100),
		requests: middle(visits.map((v) => v.asked.length)), origin: middle(visits.map((v) => v.asked.reduce((sum, a) => sum + a.bytes, 0))),
		down: middle(visits.map((v) => v.down)),
		wasted: Math.round(visits.reduce((sum, v) => sum + wasted(v.asked, needed[kind]), 0) / visits.length),
	});
	return Object.fromEntries(Object.entries(all).map(([name, kinds]) => [name,
		Object.fromEntries(Object.entries(kinds).map(([kind, visits]) => [kind, numbers(visits, kind)]))]));
}
