/* SPDX-License-Identifier: MIT */
/*
 * The page of admin listeners: tables and waterfalls of what api/ says. Everything that came from a peer is put into the
 * document as text, never as markup. It stores nothing and asks nobody but its own origin.
 */
'use strict';

const LIST_MOST = 300; /* entries of the list of pages */
const POLL_MS = 2000;
const SPARK_POINTS = 60;
const VERDICTS = ['forward', 'hold', 'hint', 'hint+hold', 'drop'];
const KIND = { 'forward': 'forward', 'hold': 'hold', 'hint': 'hint', 'hint+hold': 'both', 'drop': 'drop' };
const $ = (id) => document.getElementById(id);

/* ---- the document ---- */

/* el('td.n.soft', {title: '…'}, 'text', node, …) */
function el(name, attributes, ...children) {
	const [tag, ...classes] = name.split('.');
	const node = document.createElement(tag);
	if (classes.length)
		node.className = classes.join(' ');
	for (const [key, value] of Object.entries(attributes ?? {}))
		if (value !== undefined && value !== null)
			node.setAttribute(key, value);
	node.append(...children.filter((c) => c !== undefined && c !== null));
	return node;
}
function svg(tag, attributes, ...children) {
	const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
	for (const [key, value] of Object.entries(attributes))
		node.setAttribute(key, value);
	node.append(...children);
	return node;
}
/* columns: [title, class]; rows: of cells, each a text, a node, or null. The first cell is the row's head. */
function table(caption, columns, rows) {
	const cell = (row, i) => el(`${i === 0 ? 'th' : 'td'}${columns[i][1] ? `.${columns[i][1]}` : ''}`, i === 0 ? { scope: 'row' } : {}, row[i] ?? '');
	return el('table', {}, caption ? el('caption', {}, caption) : null,
		el('thead', {}, el('tr', {}, ...columns.map(([title, kind]) => el(`th${kind ? `.${kind}` : ''}`, { scope: 'col' }, title)))),
		el('tbody', {}, ...rows.map((row) => el('tr', {}, ...row.map((_, i) => cell(row, i))))));
}
/* A card with a table that may be wider than the screen, and can then be scrolled by keys. */
const card = (label, ...children) => el('div.card', { tabindex: 0, role: 'region', 'aria-label': label }, ...children);
const empty = (text) => el('p.empty', {}, text);
const badge = (text, kind) => el(`span.badge.v-${kind}`, {}, text);
const verdictBadge = (verdict) => badge(verdict, KIND[verdict] ?? 'drop');

/* ---- words ---- */

const whole = new Intl.NumberFormat('en');
const count = (n) => whole.format(n);
function rate(n) {
	return n >= 100 ? count(Math.round(n)) : n >= 10 ? n.toFixed(1) : n.toFixed(2).replace(/\.?0+$/, '');
}
function bytes(n) {
	if (n < 1000)
		return `${n} B`;
	for (const unit of ['kB', 'MB', 'GB', 'TB']) {
		n /= 1000;
		if (n < 999.5 || unit === 'TB')
			return `${n < 10 ? n.toFixed(1) : Math.round(n)} ${unit}`;
	}
}
function span(us) {
	if (us === undefined || us === null)
		return '';
	if (us < 1e6)
		return `${us < 1e4 ? (us / 1000).toFixed(1) : Math.round(us / 1000)} ms`;
	const s = Math.round(us / 1e6);
	return us < 6e7 ? `${(us / 1e6).toFixed(us < 1e7 ? 2 : 1)} s` : s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : s < 172800 ? `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min` : `${Math.floor(s / 86400)} days`;
}
const share = (part, all) => (all > 0 ? `${Math.round(100 * part / all)} %` : '–');
const clock = (ms) => new Date(ms).toLocaleTimeString('en-GB');
const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/* ---- the API ---- */

async function ask(path) {
	const response = await fetch(path, { headers: { accept: 'application/json' }, cache: 'no-store' });
	const body = await response.json().catch(() => ({}));
	if (!response.ok)
		throw new Error(body.detail ?? body.title ?? `status ${response.status}`);
	return body;
}

const state = { section: 'overview', page: null, isLive: true, pages: new Map(), waiting: [], filter: {}, before: null, points: [] };

function failed(where, error) {
	where.replaceChildren(el('p.empty', { role: 'alert' }, `Not to be had: ${error.message}`));
}

/* ---- overview ---- */

/* The tiles stay, and their texts change: nothing moves when numbers come. */
const tiles = new Map();
function tile(name, value, unit, note) {
	let t = tiles.get(name);
	if (!t) {
		t = { value: document.createTextNode(''), unit: el('small'), note: el('dd.note') };
		tiles.set(name, t);
		$('tiles').append(el('dl.tile', { 'data-name': name }, el('dt', {}, name), el('dd', {}, t.value, ' ', t.unit), t.note));
	}
	t.value.data = value;
	t.unit.textContent = unit ?? '';
	if (note instanceof Node)
		t.note.replaceChildren(note);
	else
		t.note.textContent = note ?? '';
}
function spark(points) {
	const most = Math.max(1e-9, ...points);
	const shape = points.map((p, i) => `${(100 * (i + SPARK_POINTS - points.length) / (SPARK_POINTS - 1)).toFixed(2)},${(19 - 18 * p / most).toFixed(2)}`).join(' ');
	return svg('svg', { class: 'spark', viewBox: '0 0 100 20', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, svg('polyline', { points: shape }));
}
/* Of a histogram; within a bucket times are taken to be spread evenly, and of the last one only the beginning is known. */
function quantile({ bounds_us: bounds, counts }, q) {
	const wanted = q * sum(counts);
	let below = 0, i = 0;
	while (i < bounds.length && below + counts[i] < wanted)
		below += counts[i++];
	const low = bounds[i - 1] ?? 0;
	return wanted === 0 ? undefined : i === bounds.length ? low : low + (bounds[i] - low) * (wanted - below) / counts[i];
}
/* Of what was counted since; of all, if that is nothing or less: a restart counts from 0. */
function since(now, before) {
	const counts = now.counts.map((n, i) => n - (before?.counts[i] ?? 0));
	return counts.some((n) => n < 0) || sum(counts) === 0 ? now : { ...now, counts };
}
const sum = (object, names = Object.keys(object)) => names.reduce((n, name) => n + (object[name] ?? 0), 0);

function showTiles(now, before) {
	const seconds = before ? (now.at - before.at) / 1000 : 0;
	const perSecond = (pick) => (seconds > 0 ? Math.max(0, pick(now) - pick(before)) / seconds : 0);
	const requests = perSecond((o) => o.requests);
	state.points.push(requests);
	state.points.splice(0, state.points.length - SPARK_POINTS);
	const responses = sum(now.responses), errors = now.responses['5xx'] ?? 0;
	const answers = seconds > 0 ? sum(now.responses) - sum(before.responses) : 0;
	const first = since(now.origin_first_byte, before?.origin_first_byte);
	tile('Requests', rate(requests), 'a second', spark(state.points));
	tile('Open', count(now.requests_open), 'requests', `${plural(now.connections_open, 'client connection')}`);
	tile('Time to first byte', span(quantile(first, 0.5)) || '–', 'median', `of origins; 95 %: ${span(quantile(first, 0.95)) || '–'}`);
	tile('Errors', seconds > 0 && answers > 0 ? share(errors - (before.responses['5xx'] ?? 0), answers) : share(errors, responses), '5xx', `${count(errors)} since the start`);
	tile('Offers of pushes', rate(perSecond((o) => o.pushes.offered)), 'a second', `${count(now.pushes.offered)} since the start`);
	tile('Used', share(now.pushes.used, now.pushes.used + now.pushes.wasted), 'of pushes', `${bytes(now.pushes.wasted_bytes)} wasted`);
	$('tiles').hidden = false;
}

function verdictShare(verdicts) {
	const all = sum(verdicts);
	const bar = el('div.share', { 'aria-hidden': 'true' });
	for (const v of VERDICTS) {
		if (!verdicts[v])
			continue;
		const part = el(`span.v-${KIND[v]}`);
		part.style.flexGrow = verdicts[v] / all;
		bar.append(part);
	}
	return bar;
}

function showOverview(o) {
	const body = document.querySelector('#overview .columns');
	const pushes = el('div', {}, table('Offers of pushes by verdict', [['Verdict'], ['Offers', 'n'], ['Share', 'n']],
		VERDICTS.map((v) => [verdictBadge(v), count(o.verdicts[v] ?? 0), share(o.verdicts[v] ?? 0, sum(o.verdicts))])));
	pushes.firstChild.caption.append(verdictShare(o.verdicts));
	const reasons = [...o.reasons].sort((a, b) => b.count - a.count).slice(0, 8);
	const status = ['1xx', '2xx', '3xx', '4xx', '5xx'];
	body.replaceChildren(pushes,
		el('div', {}, reasons.length ? table('Why', [['Reason'], ['Verdict'], ['Source'], ['Offers', 'n']],
			reasons.map((r) => [el('span', { title: r.sentence }, r.reason), verdictBadge(r.verdict), r.source, count(r.count)]))
			: empty('No push was offered yet.')),
		el('div', {}, table('Responses', [['Status'], ['Responses', 'n']], status.map((s) => [s, count(o.responses[s] ?? 0)])), table('This gateway', [['What'], ['Now', 'n']], [
			['Version', o.version], ['Workers', count(o.workers)], ['Client connections', count(o.connections_open)],
			['Connections to origins', count(o.origin_connections_open)], ['Held responses answered', count(o.pushes.claimed)],
			['Held responses that expired', count(o.pushes.expired)], ['Requests that missed one', count(o.pushes.missed)]])));
}
function showState(o) {
	const isReady = o.ready === true;
	$('ready').className = `badge ${isReady ? 'v-good' : 'v-bad'}`;
	$('ready').textContent = isReady ? 'ready' : o.reason ?? 'not ready';
	$('foot').firstChild.data = `pushgate ${o.version}. All times are those of this gateway. `;
}

async function refreshOverview() {
	const o = await ask('api/overview');
	o.at = performance.now();
	showTiles(o, state.before);
	showState(o);
	if (state.section === 'overview')
		showOverview(o);
	state.before = o;
}

/* ---- the list of pages ---- */

const url = (p) => `${p.scheme}://${p.authority}${p.path}`;

function dots(p) {
	const list = VERDICTS.filter((v) => p.verdicts[v]);
	const words = list.map((v) => `${p.verdicts[v]} ${v}`).join(', ');
	return el('span.dots', { role: 'img', 'aria-label': words || 'no offers', title: words || 'no offers' },
		...list.map((v) => el(`span.dot.d-${KIND[v]}`, {}, String(p.verdicts[v]))));
}
function entry(p, isNew) {
	const isBad = p.status >= 500 || !['complete', undefined].includes(p.outcome);
	return el(`a.entry${isNew ? '.new' : ''}`, { href: `#page=${encodeURIComponent(p.id)}`, 'data-id': p.id, title: url(p) },
		el('span.cut', {}, p.path), el(`span.n${isBad ? '.bad' : ''}`, {}, p.over ? span(p.duration_us) : 'open'),
		el('span.second.cut', {}, `${clock(p.started)}  ${p.authority}`, p.over ? ` · ${p.status || p.outcome}` : ''), dots(p));
}
function matches(p) {
	const f = state.filter;
	return (!f.host || p.authority.toLowerCase().includes(f.host.toLowerCase())) && (!f.path || p.path.includes(f.path)) &&
		(!f.client || p.client.startsWith(f.client)) && (!f.verdict || p.verdicts[f.verdict] > 0);
}
const newest = () => [...state.pages.values()].sort((a, b) => b.started - a.started);

function showList(added) {
	const pages = newest().filter(matches).slice(0, LIST_MOST);
	const list = $('list');
	const had = document.activeElement?.dataset?.id;
	list.replaceChildren(pages.length ? el('ol', {}, ...pages.map((p) => el('li', {}, entry(p, added?.has(p.id)))))
		: empty(state.pages.size ? 'No page of the last ones passes the filter.' : 'No page was recorded yet. Pages that come with pushes, or that a browser navigates to, appear here.'));
	if (had)
		list.querySelector(`[data-id="${CSS.escape(had)}"]`)?.focus({ preventScroll: true });
	markCurrent();
	showNews();
}
function showNews() {
	const n = state.waiting.length;
	const skipped = state.skipped ? ` ${plural(state.skipped, 'more page')} came too fast to be shown.` : '';
	$('news').replaceChildren(...(n ? [el('button', { type: 'button' }, `Show ${plural(n, 'new page')}`)] : [`${plural(newest().filter(matches).length, 'page')}, the newest first.${skipped}`]));
	$('news').querySelector('button')?.addEventListener('click', takeWaiting);
}
function takeWaiting() {
	const added = new Set(state.waiting.map((p) => p.id));
	for (const p of state.waiting.splice(0))
		state.pages.set(p.id, p);
	for (const p of newest().slice(LIST_MOST))
		state.pages.delete(p.id);
	showList(added);
}
/* While somebody reads or points at the list, it stays as it is. */
function isBeingRead() {
	const list = $('list');
	return list.scrollTop > 8 || list.matches(':hover') || list.contains(document.activeElement);
}
let isListDue = false;
function take(p) {
	const known = state.pages.get(p.id);
	if (known) {
		state.pages.set(p.id, p);
		$('list').querySelector(`[data-id="${CSS.escape(p.id)}"]`)?.replaceWith(entry(p));
		markCurrent();
	} else {
		state.waiting = state.waiting.filter((w) => w.id !== p.id).slice(1 - LIST_MOST);
		state.waiting.push(p);
		if (!isListDue) {
			isListDue = true;
			setTimeout(() => { isListDue = false; if (isBeingRead()) showNews(); else takeWaiting(); }, 250);
		}
	}
	if (p.id === state.page)
		openPage(p.id, true);
}
function markCurrent() {
	for (const a of document.querySelectorAll('.entry'))
		if (a.dataset.id === state.page)
			a.setAttribute('aria-current', 'true');
		else
			a.removeAttribute('aria-current');
}

/* ---- one page's waterfall ---- */

function legendItem(words, ...shapes) {
	return el('li', {}, svg('svg', { viewBox: '0 0 26 14', 'aria-hidden': 'true' }, ...shapes), words);
}
const box = (kind, x, width, more = {}) => svg('rect', { class: `g-${kind}`, x, y: 3, width, height: 8, rx: 2, ...more });
function legend() {
	return el('ul.legend', { 'aria-label': 'Legend' },
		legendItem('waits for the head', box('page g-wait', 1, 24)),
		legendItem('bytes: page', box('page', 1, 24)),
		legendItem('forwarded', box('forward', 1, 24)),
		legendItem('held', box('hold', 1, 24)),
		legendItem('hinted and held', box('both', 1, 24)),
		legendItem('kept', svg('rect', { class: 'g-hold g-kept', x: 1, y: 5.5, width: 24, height: 3 })),
		legendItem('wasted', box('drop', 1, 24), box('waste', 1, 24, { fill: 'url(#waste)' })),
		legendItem('hint sent', svg('path', { class: 'g-hintmark', d: 'M13 1V13' })),
		legendItem('claimed', svg('circle', { class: 'g-claim', cx: 13, cy: 7, r: 4.5 })),
		legendItem('dropped', svg('path', { class: 'g-dropmark', d: 'M9 3l8 8M17 3l-8 8' })));
}
function wastePattern() {
	return svg('svg', { width: 0, height: 0, 'aria-hidden': 'true', class: 'defs' }, svg('defs', {}, svg('pattern', { id: 'waste', width: 7, height: 7, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
		svg('path', { class: 'g-stripe', d: 'M0 0V7' }))));
}

function ticksTo(most) {
	const steps = [1, 2, 5].flatMap((n) => [3, 4, 5, 6, 7, 8].map((e) => n * 10 ** (e - 1))).sort((a, b) => a - b);
	const step = steps.find((s) => most / s <= 4.4) ?? 1e9;
	const ticks = [];
	for (let t = 0; t <= most; t += step)
		ticks.push(t);
	return ticks;
}
function scaleOf(page) {
	/* How long a response was held in vain says nothing of the page: its line ends at the edge. */
	const of = ({ end, ...t }, isKept) => Object.values(isKept ? t : { end, ...t }).filter((us) => us !== undefined);
	const most = Math.max(1000, ...of(page.times), ...page.pushes.flatMap((p) => of(p.times, p.times.hold !== undefined && p.times.claim === undefined)));
	return { most, x: (us) => `${(100 * us / most).toFixed(3)}%`, w: (a, b) => `${Math.max(0.4, 100 * (b - a) / most).toFixed(3)}%`, ticks: ticksTo(most) };
}
function axis(scale) {
	const out = el('div.axis', { 'aria-hidden': 'true' });
	for (const t of scale.ticks) {
		const mark = el(`span${t === 0 ? '.first' : t > 0.93 * scale.most ? '.last' : ''}`, {}, t === 0 ? '0' : span(t).replace('.0 ', ' '));
		mark.style.left = scale.x(t);
		out.append(mark);
	}
	return out;
}
function line(scale, words, shapes) {
	return svg('svg', { role: 'img', 'aria-label': words },
		...scale.ticks.map((t) => svg('line', { class: 'g-grid', x1: scale.x(t), x2: scale.x(t), y1: -6, y2: 30 })), ...shapes);
}
const bar = (kind, scale, from, to, more = {}) => svg('rect', { class: kind, x: scale.x(from), width: scale.w(from, to), y: 6, height: 12, rx: 2, ...more });

function pageLine(page, scale) {
	const t = page.times, shapes = [];
	const end = t.end ?? scale.most;
	shapes.push(bar('g-page g-wait', scale, 0, t.head ?? end));
	if (t.head !== undefined)
		shapes.push(bar('g-page', scale, t.head, end));
	const words = [['sent to the origin', t.sent], ['its head came', t.answered], ['head sent', t.head], ['ended', t.end]];
	return line(scale, sentence(words), shapes);
}
function sentence(words) {
	return words.filter(([, us]) => us !== undefined).map(([word, us]) => `${word} at ${span(us)}`).join(', ');
}
function pushWords(p) {
	const t = p.times;
	return sentence([['promised', t.promise], ['held', t.hold], ['hinted', t.hint], [p.verdict === 'drop' ? 'dropped' : 'decided', t.promise ?? t.hold ?? t.hint ? undefined : t.decided],
		['head', t.head], ['complete', t.complete], ['claimed', t.claim], ['ended', t.end]]);
}
function pushLine(p, scale) {
	const t = p.times, shapes = [], kind = `g-${KIND[p.verdict]}`;
	const from = t.promise ?? t.hold;
	if (from !== undefined) {
		const end = Math.min(t.end ?? scale.most, scale.most);
		const head = t.sent ?? t.head;
		const came = t.hold === undefined ? end : Math.min(t.complete ?? end, end);
		shapes.push(bar(`${kind} g-wait`, scale, from, head ?? end));
		if (head !== undefined)
			shapes.push(bar(kind, scale, head, came));
		if (p.use === 'wasted' && head !== undefined)
			shapes.push(bar('g-waste', scale, head, came, { fill: 'url(#waste)' }));
		if (head !== undefined && came < end)
			shapes.push(svg('rect', { class: `${kind} g-kept`, x: scale.x(came), width: scale.w(came, end), y: 10.5, height: 3 }));
	}
	if (t.hint !== undefined)
		shapes.push(svg('line', { class: 'g-hintmark', x1: scale.x(t.hint), x2: scale.x(t.hint), y1: 2, y2: 22 }));
	if (t.claim !== undefined)
		shapes.push(svg('circle', { class: 'g-claim', cx: scale.x(t.claim), cy: 12, r: 5 }));
	if (p.verdict === 'drop' && from === undefined)
		shapes.push(svg('svg', { x: scale.x(t.decided), y: 0, width: 1, height: 24, overflow: 'visible' }, svg('path', { class: 'g-dropmark', d: 'M-4 8l8 8M4 8l-8 8' })));
	return line(scale, pushWords(p), shapes);
}

function useWords(p) {
	if (p.use === 'used')
		return badge('used', 'good');
	return p.use === 'wasted' ? badge('wasted', 'bad') : '';
}
function fact(name, value) {
	return value === undefined || value === '' || value === null ? null : el('div', {}, el('dt', {}, name), el('dd', {}, value));
}
/* On a narrow screen rows are laid out as lines: the roles say that they still are rows. */
function fallTable(page, scale) {
	const head = [['Resource', 'c-path'], ['Verdict', 'c-verdict'], ['Reason', 'c-reason'], ['Size', 'c-size n'], ['Use', 'c-use']];
	const names = { th: 'rowheader', td: 'cell' };
	const cell = (tag, kind, ...children) => el(`${tag}.${kind.replace(' ', '.')}`, { role: names[tag], ...(tag === 'th' ? { scope: 'row' } : {}) }, ...children);
	const row = (kind, cells) => el(`tr${kind}`, { role: 'row' }, ...cells);
	const rows = [row('.pagerow', [cell('th', 'c-path', el('span.path.cut', { title: url(page) }, page.path)), cell('td', 'c-verdict', el('span.soft', {}, page.over ? String(page.status || page.outcome) : 'open')),
		cell('td', 'c-reason', el('span.soft', {}, 'the page')), cell('td', 'c-size n', bytes(page.bytes)), cell('td', 'c-use', ''), cell('td', 'c-time', pageLine(page, scale))])];
	for (const p of page.pushes) {
		const name = p.authority ? `${page.scheme}://${p.authority}${p.path}` : p.path;
		const why = [p.sentence, p.missed ? `A request for it missed: ${p.missed}.` : '', p.end_sentence && p.end_reason !== p.reason ? p.end_sentence : ''].filter(Boolean).join(' ');
		rows.push(row('', [cell('th', 'c-path', el('span.path.cut', { title: name }, name)), cell('td', 'c-verdict', verdictBadge(p.verdict)),
			cell('td', 'c-reason', el('span.cut.path.soft', { title: why }, p.rule ? `${p.rule}: ${p.reason}` : p.reason)),
			cell('td', 'c-size n', p.times.end === undefined || !p.exchange ? '' : bytes(p.bytes)), cell('td', 'c-use', useWords(p)), cell('td', 'c-time', pushLine(p, scale))]));
	}
	return el('table.fall', { role: 'table', 'aria-label': `Waterfall of ${page.path}` },
		el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...head.map(([title, kind]) => el(`th.${kind.replace(' ', '.')}`, { scope: 'col', role: 'columnheader' }, title)),
			el('th.c-time', { scope: 'col', role: 'columnheader' }, el('span.vh', {}, 'Time'), axis(scale)))),
		el('tbody', { role: 'rowgroup' }, ...rows));
}
function timesTable(page) {
	const ms = (us) => (us === undefined ? '' : (us / 1000).toFixed(1));
	const columns = [['Resource', 'wrap'], ['Source'], ['Decided', 'n'], ['Promise', 'n'], ['Hold', 'n'], ['Hint', 'n'], ['Head', 'n'], ['Complete', 'n'], ['Claim', 'n'], ['End', 'n'], ['Ended by']];
	const rows = [[page.path, 'request', '', '', '', '', ms(page.times.head), '', '', ms(page.times.end), page.detail || page.outcome],
		...page.pushes.map((p) => [p.path, p.source, ms(p.times.decided), ms(p.times.promise), ms(p.times.hold), ms(p.times.hint), ms(p.times.head), ms(p.times.complete), ms(p.times.claim), ms(p.times.end), p.end_reason ?? p.missed ?? ''])];
	return table('Milliseconds since the request came', columns, rows);
}
function totals(page) {
	const parts = VERDICTS.filter((v) => page.verdicts[v]).map((v) => `${page.verdicts[v]} ${v}`);
	const words = [`${plural(page.offers, 'offer')}${parts.length ? `: ${parts.join(', ')}` : ''}`];
	if (page.used + page.wasted > 0)
		words.push(`${page.used} of ${page.used + page.wasted} used`);
	if (page.pushed_bytes)
		words.push(`${bytes(page.pushed_bytes)} pushed`);
	if (page.wasted_bytes)
		words.push(`${bytes(page.wasted_bytes)} wasted`);
	if (page.offers > page.pushes.length)
		words.push(`${plural(page.offers - page.pushes.length, 'offer')} beyond those that are remembered`);
	return words.join(' · ');
}

function showPage(page) {
	const scale = scaleOf(page);
	const open = $('detail').querySelector('details')?.open;
	const times = el('details', {}, el('summary', {}, 'The same as a table of times'), el('div', { tabindex: 0, role: 'region', 'aria-label': 'Times' }, timesTable(page)));
	times.open = open ?? false;
	const host = el('div.card', {},
		el('h2', {}, `${page.method} ${url(page)}`),
		el('dl.facts', {}, fact('Status', page.over ? String(page.status || 'none') : 'open'), fact('Time', page.over ? span(page.duration_us) : ''), fact('Outcome', page.outcome),
			fact('Detail', page.detail), fact('Client', page.client), fact('Protocol', page.protocol), fact('Route', page.route), fact('Origin', page.server ? `${page.origin} (${page.server})` : page.origin),
			fact('Log', `worker ${page.worker}, id ${page.exchange}`), fact('User-Agent', page.user_agent)),
		wastePattern(), legend(), fallTable(page, scale),
		el('p.totals', {}, totals(page), ' · ', el('a', { href: `api/pages/${encodeURIComponent(page.id)}.har`, download: `page-${page.id}.har` }, 'HAR'), ' · ', el('a', { href: '#pages' }, 'Close')),
		times);
	$('detail').replaceChildren(host);
}
async function openPage(id, isUpdate) {
	state.page = id;
	markCurrent();
	try {
		const page = await ask(`api/pages/${encodeURIComponent(id)}`);
		if (state.page === id)
			showPage(page);
	} catch (error) {
		if (!isUpdate)
			failed($('detail'), error);
	}
	if (!isUpdate)
		$('detail').focus({ preventScroll: true });
}
function closePage() {
	state.page = null;
	$('detail').replaceChildren(el('div.card', {}, empty('Choose a page to see its waterfall.')));
	markCurrent();
}

function query(form) {
	const q = new URLSearchParams();
	for (const [key, value] of Object.entries(form))
		if (value)
			q.set(key, value);
	const text = q.toString();
	return text ? `?${text}` : '';
}
async function loadPages() {
	const q = query(state.filter);
	$('har').href = `api/har${q}`;
	try {
		const { pages } = await ask(`api/pages${q}`);
		for (const p of pages)
			state.pages.set(p.id, p);
		state.waiting = state.waiting.filter((p) => !state.pages.has(p.id));
		showList();
	} catch (error) {
		failed($('list'), error);
	}
}

/* ---- tables of the other sections ---- */

const at = (place) => (place.file ? `${place.file}:${place.line}` : '');
const sections = {
	async rules(body) {
		const { rules } = await ask('api/rules');
		const used = (r) => r.used + r.claimed, over = (r) => used(r) + r.reset + r.expired + r.withdrawn;
		body.replaceChildren(rules.length ? card('Table of rules', table(null, [['Rule'], ['Action'], ['Offers', 'n'], ['Forwarded', 'n'], ['Held', 'n'], ['Hinted', 'n'], ['Used', 'n'], ['Wasted', 'n'], ['Would decide', 'n'], ['Where', 'soft']],
			rules.map((r) => [r.name, el('span', {}, verdictBadge(r.action), r.shadow ? ' shadow' : '', r.paused ? ' paused' : ''), count(r.offered), count(r.forwarded), count(r.held), count(r.hinted),
				over(r) ? `${share(used(r), over(r))}` : '–', bytes(r.wasted_bytes), r.shadow ? count(r.shadowed) : '', at(r)])))
			: empty('The configuration has no [push] section: the default action decides.'));
	},
	async servers(body) {
		const { servers } = await ask('api/servers');
		const kinds = { up: 'good', down: 'bad', ejected: 'bad', unknown: 'drop' };
		body.replaceChildren(servers.length ? card('Table of servers', table(null, [['Server'], ['Origin'], ['State'], ['Check'], ['Since', 'n'], ['Ejected in', 'n']],
			servers.map((s) => [s.address, s.origin, badge(s.state, kinds[s.state] ?? 'drop'), s.check ?? '', s.since_seconds === undefined ? '' : span(s.since_seconds * 1e6), s.ejected_in ? plural(s.ejected_in, 'worker') : ''])))
			: empty('No server is checked or may be ejected.'));
	},
	async connections(body) {
		const { connections, left_out: more } = await ask('api/connections');
		const settings = (s) => (s ? `push ${s.enable_push === undefined ? '–' : s.enable_push ? 'on' : 'off'} · ${s.max_concurrent_streams ?? '∞'} streams · window ${bytes(s.initial_window_size)}` : '–');
		body.replaceChildren(connections.length ? card('Table of connections', table(null, [['Peer'], ['Side'], ['Of'], ['Protocol'], ['Age', 'n'], ['Open', 'n'], ['The peer announced'], ['Pushgate announced']],
			connections.map((c) => [c.peer, c.side, c.name, c.protocol, span(c.age_seconds * 1e6), count(c.open), settings(c.theirs), settings(c.ours)])))
			: empty('No connection is open.'), ...(more ? [el('p.soft', {}, `${plural(more, 'more connection')} not shown.`)] : []));
	},
	async configuration(body) {
		const { sections: list } = await ask('api/config');
		body.replaceChildren(...list.map((s) => el('div.card.conf', { tabindex: 0, role: 'region', 'aria-label': s.title }, el('h2', {}, el('code', {}, `[${s.title}]`), el('span.soft', {}, at(s))),
			table(null, [['Option'], ['Value', 'wrap'], ['Line', 'n']], s.options.map((o) => [el('code', {}, o.key), el('code', {}, o.value), String(o.line)])))));
	},
};
async function refreshSection() {
	const fill = sections[state.section];
	if (!fill)
		return;
	const body = $(`${state.section}-body`);
	if (body.contains(document.activeElement) && body.childElementCount)
		return; /* somebody reads it by keys */
	try {
		await fill(body);
	} catch (error) {
		failed(body, error);
	}
}

/* ---- explain ---- */

async function explain(event) {
	event.preventDefault();
	const body = $('explain-body');
	try {
		const e = await ask(`api/explain${query(Object.fromEntries(new FormData($('explain-form'))))}`);
		body.replaceChildren(card('What would happen', el('pre.mono', {}, e.text)));
	} catch (error) {
		failed(body, error);
	}
}

/* ---- ways ---- */

function show() {
	const [name, id] = location.hash.slice(1).split('=');
	state.section = name === 'page' ? 'pages' : $(name)?.tagName === 'SECTION' ? name : 'overview';
	for (const section of document.querySelectorAll('main > section'))
		section.hidden = section.id !== state.section;
	for (const a of document.querySelectorAll('#tabs a'))
		if (a.hash === `#${state.section}`) {
			a.setAttribute('aria-current', 'page');
			a.scrollIntoView({ block: 'nearest', inline: 'nearest' });
		} else {
			a.removeAttribute('aria-current');
		}
	const title = $(`${state.section}-title`).textContent;
	document.title = `${title} – pushgate`;
	if (state.section === 'overview' && state.before)
		showOverview(state.before);
	if (name === 'page')
		openPage(id);
	else if (name === 'pages')
		closePage();
	refreshSection();
}

let events;
function listen() {
	events?.close();
	$('live').textContent = state.isLive ? 'Live' : 'Paused';
	$('live').setAttribute('aria-pressed', String(state.isLive));
	if (!state.isLive)
		return;
	events = new EventSource('events');
	events.addEventListener('page', (e) => take(JSON.parse(e.data)));
	events.addEventListener('skipped', (e) => { state.skipped = (state.skipped ?? 0) + JSON.parse(e.data).pages; showNews(); });
	events.onopen = () => $('live').classList.remove('lost');
	events.onerror = () => $('live').classList.add('lost');
}
async function poll() {
	if (state.isLive && !document.hidden) {
		await refreshOverview().catch(() => { $('ready').className = 'badge v-bad'; $('ready').textContent = 'no answer'; });
		if (state.section !== 'configuration')
			await refreshSection();
	}
	setTimeout(poll, POLL_MS);
}

function begin() {
	for (const id of ['live', 'filter', 'split', 'explain-form'])
		$(id).hidden = false;
	$('live').addEventListener('click', () => { state.isLive = !state.isLive; listen(); });
	$('explain-form').addEventListener('submit', explain);
	let typed;
	const filter = () => { state.filter = Object.fromEntries(new FormData($('filter'))); clearTimeout(typed); typed = setTimeout(loadPages, 200); showList(); };
	$('filter').addEventListener('input', filter);
	$('filter').addEventListener('reset', () => setTimeout(filter));
	$('filter').addEventListener('submit', (e) => e.preventDefault());
	addEventListener('hashchange', show);
	closePage();
	show();
	loadPages();
	listen();
	poll();
}
begin();
