/* SPDX-License-Identifier: MIT */
/* What came of a row, held against what must: each thing that should not be becomes a line of `faults`. */

const UTF8 = new TextDecoder('utf-8', { fatal: true });
const CONTROL = /[\x00-\x1f\x7f-\x9f]/;

/* Of the error log: an attack may not become one on the disk. A kind of lines has five a second at most, and an attack
 * causes a few kinds. */
const LINES_MOST = 400;
const LINES_A_SECOND_MOST = 20;

/* From the first line of the log to the last one. */
function secondsOf(log) {
	const [first, last] = [log[0], log.at(-1)].map((line) => Date.parse(line?.split(' ')[0]));
	return (last - first) / 1000 || 0;
}

const percentile = (list, p) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * p))] ?? NaN;

/* Sums of all rounds; strings stay those of the last. */
function sumUp(results) {
	const sum = {};
	for (const result of results)
		for (const [key, value] of Object.entries(result)) {
			if (typeof value === 'number')
				sum[key] = (sum[key] ?? 0) + value;
			else if (value && typeof value === 'object')
				sum[key] = sumUp([sum[key] ?? {}, value]);
			else
				sum[key] = value;
		}
	return sum;
}

/* More descriptors than before the attack. A fresh connection of the honest client may be there just now, or a tunnel, with its connection to the origin. */
export const isCrowded = (out) => out.fdsAfter > out.fdsBefore + (out.row.forward ? 3 : 1);

/* `slowest`: ms, of the 99th percentile. Fills in what the table shows. */
export function judge(out, slowest) {
	const { row, faults } = out;
	const { expect } = row;
	const say = (isWrong, text) => { if (isWrong) faults.push(text); };
	if (!out.phases)
		return;
	const phase = (name) => out.phases[name] ?? { latencies: [], failures: [] };
	const all = Object.values(out.phases);
	const failures = all.flatMap((p) => p.failures);
	const good = all.reduce((n, p) => n + p.latencies.length, 0);
	out.honest = 100 * good / (good + failures.length);
	for (const [name, p] of [['p50', 0.5], ['p99', 0.99]])
		out[name] = ['quiet', 'attacked'].map((when) => percentile(phase(when).latencies, p));
	say(failures.length > 0, `${failures.length} of ${good + failures.length} honest requests failed, such as ${failures.slice(0, 3).join('; ')}`);
	say(good > 0 && phase('attacked').latencies.length === 0, 'no honest request was answered during the attack');
	/*
	 * The machine has other work too. What is slow while it is quiet says nothing about the attack, and neither do times in
	 * which the workers wait for a processor longer than they use one. Four times the limit is too slow on any machine.
	 */
	const allowance = Math.min(4, Math.max(1, (out.slowdown ?? 1) - 1));
	out.isSlow = out.p99[1] > Math.max(slowest * allowance, 5 * out.p99[0]);
	say(out.isSlow, `honest p99 ${out.p99[1].toFixed(0)} ms`);
	if (!out.status)
		return;

	const result = sumUp(out.results);
	out.result = result;
	out.growth = (out.rssMost - out.rssBefore) / (1 << 20);
	out.perFrame = out.cpu / Math.max(1, result.frames);
	say(!(result.frames > 0), 'the attacker sent nothing');
	say(out.growth > (expect.rss ?? 32), `RSS grew by ${out.growth.toFixed(1)} MB`);
	say(out.isLeaking, out.left);
	say(expect.cpu !== undefined && out.perFrame > expect.cpu, `${out.perFrame.toFixed(1)} µs per frame, at most ${expect.cpu}`);
	say(out.workersBefore !== out.workersAfter, `workers ${out.workersBefore} became ${out.workersAfter}`);

	out.end = judgeWords(result.ends ?? {}, expect.end, 'end', say);
	const resets = judgeWords(result.resets ?? {}, expect.resets, 'reset', say);
	if (resets)
		out.end = [out.end, `RST_STREAM ${resets}`].filter(Boolean).join('; ');
	/* An origin's clients are of both versions, or of one. */
	const clients = [result.client, result.one].filter((c) => c && Object.keys(c.ends).length > 0);
	const answered = clients.length > 0 ? clients : [result];
	if (expect.statuses)
		out.end = [out.end, ...answered.map((c) => judgeWords(c.statuses, expect.statuses, 'status', say))].filter(Boolean).join('; ');
	const strangers = answered.reduce((n, c) => n + (c.strangers ?? 0), 0);
	say(strangers > 0 && !expect.strangers, `${strangers} answers to what was not asked`);
	for (const counter of unmoved(row, out.statusBefore, out.status))
		say(true, `the counter ${counter} has not moved`);
	const bad = out.log.filter((l) => /^\S+ (warn|error) /.test(l) && !expect.log?.test(l));
	say(bad.length > 0, `${bad.length} lines of the error log, such as ${bad[0]}`);
	say(out.log.length > Math.max(LINES_MOST, LINES_A_SECOND_MOST * secondsOf(out.log)), `${out.log.length} lines in the error log`);
	say(out.log.some((l) => CONTROL.test(l)), 'the error log has controls');
	out.lines = judgeAccess(out.access, say);
	for (const [status, n] of Object.entries(expect.answers ?? {}))
		say(!(result.statuses[status] >= n), `answers ${status}: ${result.statuses[status]}, not ${n}`);
	const why = expect.judge?.(result, out);
	say(why, why);
}

/* One JSON object a line, whatever peers put into their requests. */
function judgeAccess(bytes, say) {
	const lines = { cut: 0, escaped: 0, bad: 0 };
	let first;
	for (let at = 0, end; (end = bytes.indexOf('\n', at)) >= 0; at = end + 1) {
		const line = bytes.subarray(at, end);
		try {
			lines.cut += JSON.parse(UTF8.decode(line)).cut ? 1 : 0;
			lines.escaped += line.includes('\\u00') ? 1 : 0;
		} catch {
			lines.bad++;
			first ??= line.toString('latin1');
		}
	}
	say(lines.bad > 0, `${lines.bad} lines of the access log are no JSON, such as ${first}`);
	return lines;
}

/* Counters that must move and have not. */
export const unmoved = (row, before, now) => countersOf(row.expect, row.by ?? (row.listen ? 'origin' : 'client')).filter((counter) => !(now[counter] > (before[counter] ?? 0)));

/* A connection that is ended for a fault is counted under its name. */
function countersOf(expect, side) {
	const [, named] = /^GOAWAY \S+ (\S+)$/.exec([expect.end ?? ''].flat()[0] ?? '') ?? [];
	const faults = [expect.faults ?? [], named ?? []].flat();
	return [...faults.map((fault) => `pushgate_peer_faults_by_fault_total{side="${side}",fault="${fault}"}`), ...[expect.counters ?? []].flat()];
}

/* The first word must have occurred, and no other than those; 'open' is what the attacker itself ended. */
function judgeWords(got, wanted, what, say) {
	const list = Object.entries(got).filter(([word]) => word !== 'open').sort((a, b) => b[1] - a[1]);
	const shown = list.map(([word, n]) => `${word} ×${n}`).join(', ');
	if (wanted === null || (wanted === undefined && what === 'reset'))
		return shown || (got.open ? `open ×${got.open}` : '');
	const allowed = [wanted ?? []].flat().map(String);
	say(allowed.length > 0 && !got[allowed[0]], `no ${what} was "${allowed[0]}" but ${shown || 'none'}${got.open ? `, ${got.open} stayed open` : ''}`);
	const other = list.filter(([word]) => !allowed.includes(word));
	say(other.length > 0, `${what}s that should not be: ${other.map(([word, n]) => `${word} ×${n}`).join(', ')}`);
	return shown || (got.open ? `open ×${got.open}` : '');
}
