/* SPDX-License-Identifier: MIT */
/*
 * A strict reader of Prometheus' text format, version 0.0.4, with what `promtool check metrics` complains about:
 * https://prometheus.io/docs/instrumenting/exposition_formats/ and https://prometheus.io/docs/practices/naming/
 */
import assert from 'node:assert/strict';

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|$)/;
const TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped'];
const ABBREVIATED = /_(s|ms|us|ns|sec|msec|usec|nsec|b|kb|mb|gb|tb|m|h|d)(_|$)/;
const NO_BASE_UNIT = /_(milliseconds|microseconds|nanoseconds|minutes|hours|days|kilobytes|megabytes|gigabytes|bits|percent)(_|$)/;

function readLabels(text, line) {
	const labels = {};
	for (let rest = text; rest;) {
		const found = rest.match(LABEL);
		assert.ok(found, `the labels of ${line}`);
		const [whole, name, value] = found;
		assert.ok(!(name in labels) && !name.startsWith('__'), `label ${name} of ${line}`);
		labels[name] = value.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c));
		rest = rest.slice(whole.length);
	}
	return labels;
}

function readSample(line) {
	const found = line.match(/^([^\s{]+)(?:\{(.*)\})? (-?[0-9.eE+-]+|NaN|[+-]Inf)$/);
	assert.ok(found, `a sample, not "${line}"`);
	const [, name, labels = '', value] = found;
	assert.match(name, NAME);
	assert.ok(Number.isFinite(Number(value)), `the value of ${line}`);
	return { name, labels: readLabels(labels, line), value: Number(value) };
}

/* The names of a family's samples. */
const namesOf = ({ name, type }) => (type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name]);

/* The samples of a histogram, by their labels but for `le`: cumulative, with all bounds, and the count is the last bucket. */
function lintHistogram(name, samples) {
	const series = new Map();
	for (const { name: own, labels: { le, ...labels }, value } of samples) {
		const key = JSON.stringify(labels), one = series.get(key) ?? { buckets: [] };
		series.set(key, one);
		if (own.endsWith('_bucket'))
			one.buckets.push({ le, value });
		else
			one[own.slice(name.length + 1)] = value;
	}
	for (const [key, { buckets, sum, count }] of series) {
		const bounds = buckets.map((b) => Number(b.le.replace('+Inf', 'Infinity'))), values = buckets.map((b) => b.value);
		assert.deepEqual(bounds, [...bounds].sort((a, b) => a - b), `${name}${key}: bounds in order`);
		assert.deepEqual(values, [...values].sort((a, b) => a - b), `${name}${key}: cumulative`);
		assert.equal(bounds.at(-1), Infinity, `${name}${key}: the last bound`);
		assert.equal(values.at(-1), count, `${name}${key}: the count`);
		assert.ok(sum >= 0 && count > 0, `${name}${key}: the sum`);
	}
}

/* The families in their order: { name, type, help, samples }. Throws at the first mistake. */
export function families(text) {
	assert.ok(text.endsWith('\n'), 'the last line has an end');
	const all = new Map();
	let open = null;
	for (const line of text.slice(0, -1).split('\n')) {
		const [, word, name, rest] = line.match(/^# (HELP|TYPE) (\S+) (.*)$/) ?? [];
		if (word === 'HELP') {
			assert.ok(!all.has(name), `one block of ${name}`);
			assert.doesNotMatch(rest, /\\(?![\\n])/, `the escapes in ${line}`);
			open = { name, help: rest, type: null, samples: [] };
			all.set(name, open);
		} else if (word === 'TYPE') {
			assert.equal(open?.name, name, `HELP of ${name} comes just before its TYPE`);
			assert.equal(open.type, null, `one TYPE of ${name}`);
			assert.ok(TYPES.includes(rest), line);
			open.type = rest;
		} else if (line && !line.startsWith('#')) {
			const sample = readSample(line);
			assert.ok(open && namesOf(open).includes(sample.name), `"${line}" stands in the block of its family`);
			assert.ok(open.type, `TYPE of ${sample.name} comes first`);
			open.samples.push(sample);
		}
	}
	return [...all.values()];
}

/* What a monitoring system expects of names, beyond the grammar. Each has one of the prefixes. */
export function lint(all, ...prefixes) {
	for (const { name, type, help, samples } of all) {
		assert.ok(prefixes.some((prefix) => name.startsWith(prefix)), `${name} has a prefix`);
		assert.ok(help.length > 3, `${name} has a help`);
		assert.ok(['counter', 'gauge', 'histogram'].includes(type), `${name} is a ${type}`);
		assert.equal(name.endsWith('_total'), type === 'counter', `${name} is a ${type}`);
		assert.doesNotMatch(name, /[A-Z:]|__|_(count|sum|bucket)$|_(counter|gauge|metric)(_|$)/, name);
		assert.doesNotMatch(name, ABBREVIATED, `${name}: the unit in full`);
		assert.doesNotMatch(name, NO_BASE_UNIT, `${name}: the base unit`);
		assert.ok(!/seconds|bytes|ratio/.test(name) || /_(seconds|bytes|ratio)(_total)?$/.test(name), `${name}: the unit comes last`);
		assert.ok(samples.length > 0, `${name} has samples`);
		if (type === 'histogram')
			lintHistogram(name, samples);
		const labels = samples.map((s) => s.name + JSON.stringify(Object.entries(s.labels).sort()));
		assert.equal(new Set(labels).size, labels.length, `${name}: each sample once`);
		const names = new Set(samples.map((s) => Object.keys(s.labels).filter((label) => label !== 'le' || type !== 'histogram').join()));
		assert.equal(names.size, 1, `${name}: the same labels everywhere`);
		assert.ok(type !== 'counter' || samples.every((s) => s.value >= 0), name);
	}
}
