/* SPDX-License-Identifier: MIT */
/*
 * A strict reader of OpenMetrics 1.0 as text, as far as pushgate writes it: counters, gauges, histograms.
 * https://prometheus.io/docs/specs/om/open_metrics_spec/
 */
import assert from 'node:assert/strict';

const ESCAPED = '(?:[^"\\\\\\n]|\\\\["\\\\n])*';
const LABELS = new RegExp(`^(?:[a-zA-Z_][a-zA-Z0-9_]*="${ESCAPED}"(?:,(?=[a-zA-Z_])|$))+$`);
const SAMPLE = new RegExp(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\\{((?:[^"{}]|"${ESCAPED}")*)\\})? (-?[0-9]+(?:\\.[0-9]+)?(?:e[+-]?[0-9]+)?|[+-]Inf|NaN)$`);
const SUFFIXES = { counter: ['_total'], gauge: [''], histogram: ['_bucket', '_sum', '_count'] };

function checkHistogram(name, samples) {
	const series = new Map();
	for (const { name: sample, labels, value } of samples) {
		const key = labels.replace(/(^|,)le="[^"]*"/, '').replace(/^,/, '');
		const one = series.get(key) ?? { buckets: [] };
		series.set(key, one);
		if (sample.endsWith('_bucket'))
			one.buckets.push([labels.match(/le="([^"]*)"/)[1], value]);
		else
			one[sample.slice(name.length)] = value;
	}
	for (const [key, { buckets, ...rest }] of series) {
		const bounds = buckets.map(([le]) => (le === '+Inf' ? Infinity : Number(le))), values = buckets.map(([, v]) => v);
		assert.ok(bounds.every((b, i) => i === 0 || b > bounds[i - 1]), `${name}{${key}}: the bounds rise`);
		assert.ok(values.every((v, i) => i === 0 || v >= values[i - 1]), `${name}{${key}}: the counts do not fall`);
		assert.equal(bounds.at(-1), Infinity);
		for (const [le] of buckets)
			assert.match(le, /^(?:[0-9]+\.[0-9]+|\+Inf)$/, `${name}{${key}}: the canonical form of a bound`);
		assert.equal(rest._count, values.at(-1), `${name}{${key}}`);
		assert.ok(rest._sum >= 0, `${name}{${key}}`);
	}
}

/* The families in their order: { name, type, help, samples: [{ name, labels, value }] }. Throws at the first mistake. */
export function families(text) {
	assert.ok(text.endsWith('\n# EOF\n'), 'it ends with # EOF');
	const all = new Map();
	let open = null;
	for (const line of text.slice(0, -'\n# EOF\n'.length).split('\n')) {
		const [, word, name, rest] = line.match(/^# (HELP|TYPE|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/) ?? [];
		if (word) {
			if (open?.name !== name) {
				assert.ok(!all.has(name), `one block of ${name}`);
				all.set(name, open = { name, samples: [] });
			}
			assert.equal(open.samples.length, 0, `${line} comes before the samples`);
			assert.equal(open[word.toLowerCase()], undefined, `one ${word} of ${name}`);
			open[word.toLowerCase()] = rest;
			assert.ok(word !== 'HELP' || new RegExp(`^${ESCAPED}$`).test(rest), `the escapes in ${line}`);
			assert.ok(word !== 'TYPE' || rest in SUFFIXES, line);
			continue;
		}
		const found = line.match(SAMPLE);
		assert.ok(found, `a sample, not "${line}"`);
		const [, sample, labels = '', value] = found;
		assert.ok(labels === '' || LABELS.test(labels), `the labels of ${line}`);
		assert.ok(open?.type, `TYPE of ${sample} comes first`);
		assert.ok(SUFFIXES[open.type].some((s) => sample === open.name + s), `${sample} in the block of the ${open.type} ${open.name}`);
		assert.ok(!open.samples.some((s) => s.name === sample && s.labels === labels), `${line}: once`);
		open.samples.push({ name: sample, labels, value: Number(value) });
	}
	for (const { name, type, help, samples } of all.values()) {
		assert.ok(type && help && samples.length > 0, `${name} is whole`);
		assert.ok(!/_(total|bucket|count|sum|created)$/.test(name), `the name of the family ${name}`);
		assert.ok(type !== 'counter' || samples.every((s) => s.value >= 0), name);
		if (type === 'histogram')
			checkHistogram(name, samples);
	}
	return [...all.values()];
}
