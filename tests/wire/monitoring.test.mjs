/* SPDX-License-Identifier: MIT */
/* etc/prometheus and etc/grafana: their metrics are those of docs/COUNTERS.md, and promtool finds no mistake in them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT, workDir } from '../support/gate.mjs';

const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');
const RULES = ['etc/prometheus/rules.yml', 'etc/prometheus/alerts.yml'];
const BOARD = 'etc/grafana/pushgate.json';

/* Each metric with its labels. The page is made from the tables of the program. */
function known() {
	const page = read('docs/COUNTERS.md'), all = new Map();
	const add = (name, labels) => all.set(name, new Set([...(all.get(name) ?? []), ...labels]));
	for (const [, name, own = ''] of page.matchAll(/^\| `((?:pushgate|process)_\w+)(?:\{(.*?)\})?` \| (?:counter|gauge) \| /gm))
		add(name, [...own.matchAll(/(\w+)="/g)].map(([, label]) => label));
	for (const [, name, type, labels] of page.matchAll(/^\| `((?:pushgate|process)_\w+)` \| (counter|gauge|histogram) \| ([a-z_, ]*) \| .+ \|$/gm))
		for (const sample of type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name])
			add(sample, labels.split(', ').filter(Boolean));
	return all;
}

const recorded = () => new Set([...read(RULES[0]).matchAll(/record: (\S+)/g)].map(([, name]) => name));
/* Of a rules file: its expressions, which may go on in lines that are indented more. */
const expressionsOf = (text) => [...text.matchAll(/^( +)expr: (.*(?:\n\1 +\S.*)*)/gm)].map(([, , expr]) => expr);
const expressionsOfBoard = (board) => [...board.panels.flatMap((p) => p.targets ?? []).map((t) => t.expr), ...board.annotations.list.map((a) => a.expr), ...board.templating.list.map((v) => v.definition).filter(Boolean)];

/* Names, and the labels that selectors and `by` ask for. */
function check(expr, metrics, rules) {
	for (const [name] of expr.matchAll(/\b\w+:pushgate_\w+:\w+/g))
		assert.ok(rules.has(name), `${name} is no rule of ${RULES[0]}, in ${expr}`);
	const plain = expr.replace(/\b\w+:pushgate_\w+:\w+/g, '');
	for (const [, name, selector = ''] of plain.matchAll(/\b((?:pushgate|process)_\w+)(?:\{(.*?)\})?/g)) {
		assert.ok(metrics.has(name), `${name} is no metric, in ${expr}`);
		for (const [, label] of selector.matchAll(/(\w+)(?:=~|!=|!~|=)"/g))
			assert.ok(metrics.get(name).has(label) || ['job', 'instance', 'le'].includes(label), `${name} has no label ${label}, in ${expr}`);
	}
	for (const [, list, name] of plain.matchAll(/by \(([^)]*)\) \((?:rate|increase)?\(?(\w+)/g))
		for (const label of list.split(', '))
			assert.ok(!metrics.has(name) || metrics.get(name).has(label) || ['job', 'instance', 'le'].includes(label), `${name} has no label ${label}, in ${expr}`);
	return plain.match(/\b(?:pushgate|process)_\w+/g)?.length ?? 0;
}

// covers: R663
test('rules, alerts and the board ask for metrics and labels that there are', () => {
	const metrics = known(), rules = recorded();
	assert.ok(metrics.size > 100 && rules.size > 5, `${metrics.size} metrics, ${rules.size} rules`);
	let count = 0;
	for (const file of RULES)
		for (const expr of expressionsOf(read(file)))
			count += check(expr, metrics, rules);
	assert.ok(count > 20, `${count} in the rules`);
	for (const expr of expressionsOfBoard(JSON.parse(read(BOARD))))
		count += check(expr, metrics, rules);
	assert.ok(count > 70, `${count} in all`);
	/* The check itself. */
	assert.throws(() => check('rate(pushgate_no_such_total[1m])', metrics, rules), /is no metric/);
	assert.throws(() => check('pushgate_server_up{side="client"}', metrics, rules), /has no label side/);
	assert.throws(() => check('sum by (code) (rate(pushgate_requests_total[1m]))', metrics, rules), /has no label code/);
	assert.throws(() => check('x:pushgate_y:z > 1', metrics, rules), /is no rule/);
});

test('the board has no two panels in one place, and each has a title', () => {
	const { panels } = JSON.parse(read(BOARD));
	assert.equal(new Set(panels.map((p) => p.id)).size, panels.length);
	for (const [i, a] of panels.entries()) {
		assert.ok(a.title && a.gridPos.x + a.gridPos.w <= 24, `panel ${a.id}`);
		for (const b of panels.slice(i + 1)) {
			const [p, q] = [a.gridPos, b.gridPos];
			assert.ok(p.x + p.w <= q.x || q.x + q.w <= p.x || p.y + p.h <= q.y || q.y + q.h <= p.y, `${a.title} and ${b.title}`);
		}
	}
});

/* As rules: promtool reads no boards. Grafana puts something in the place of its variables. */
function boardAsRules(board) {
	const exprs = expressionsOfBoard(board).filter((expr) => !expr.startsWith('label_values('));
	assert.ok(exprs.length > 30, `${exprs.length} expressions`);
	const rules = exprs.map((expr, i) => ({ record: `board:expression_${i}`, expr: expr.replace(/\$__(rate_)?interval/g, '5m').replace(/\$__range/g, '1h').replace(/\$\w+/g, '.*') }));
	return JSON.stringify({ groups: [{ name: 'board', rules }] }); /* which is YAML too */
}

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
const promtool = (...args) => {
	const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: ROOT, encoding: 'utf8' });
	assert.equal(status, 0, stdout + stderr);
};
test('promtool: rules and alerts are well-formed, and do what their tests say', { skip: hasPromtool ? false : 'promtool(1) is not here' }, () => {
	promtool('check', 'rules', ...RULES);
	promtool('test', 'rules', ...fs.readdirSync(path.join(ROOT, 'tests/prometheus')).map((file) => `tests/prometheus/${file}`));
	const tested = new Set([...read('tests/prometheus/alerts.test.yml').matchAll(/alertname: (\w+)/g)].map(([, name]) => name));
	assert.deepEqual([...read(RULES[1]).matchAll(/- alert: (\w+)/g)].map(([, name]) => name), [...tested]);
	const file = path.join(workDir(), 'board.yml');
	fs.writeFileSync(file, boardAsRules(JSON.parse(read(BOARD))));
	promtool('check', 'rules', file);
	fs.rmSync(path.dirname(file), { recursive: true });
	const rules = read('tests/prometheus/rules.test.yml');
	for (const name of recorded())
		assert.ok(rules.includes(name), `${name} has a test`);
});
