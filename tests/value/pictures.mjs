/* SPDX-License-Identifier: MIT */
/* The pictures of docs/VALUE.md: horizontal bars, in light and dark. */

const WIDTH = 900, LEFT = 250, RIGHT = 90, TOP = 30, BAR = 9, GAP = 14, FOOT = 18;

const STYLE = `.paper { fill: #fff }
text { font: 13px system-ui, sans-serif; fill: #1f2937 }
.title { font-weight: 600; font-size: 14px }
.small { font-size: 12px; fill: #57606a }
.grid { stroke: #d0d7de }
.paint { fill: #1a7f37 } .load { fill: #2563c9 }
@media (prefers-color-scheme: dark) {
.paper { fill: #0d1117 } text { fill: #e6edf3 } .small { fill: #9aa4af } .grid { stroke: #30363d }
.paint { fill: #3fb950 } .load { fill: #6ea8fe }
}`;

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/*
 * rows: [{name, paint, load}], in the unit given ('ms', '%'), none of them below 0. title: what the picture says to those
 * who do not see it.
 */
export function bars(rows, { title, unit }) {
	const highest = Math.max(...rows.flatMap((row) => [row.paint, row.load]));
	const step = unit === '%' ? 10 : highest > 2000 ? 500 : 200;
	const most = Math.max(step, Math.ceil(highest / step) * step);
	const x = (value) => LEFT + Math.max(0, value) * (WIDTH - LEFT - RIGHT) / most;
	const tall = 2 * BAR + 2;
	const height = TOP + rows.length * (tall + GAP) + FOOT;
	const out = [];
	const text = (name, at, y, words, anchor = 'start') =>
		out.push(`<text class="${name}" x="${at.toFixed(1)}" y="${y}" text-anchor="${anchor}">${escape(words)}</text>`);
	for (let value = 0; value <= most; value += step) {
		out.push(`<path class="grid" d="M${x(value).toFixed(1)} ${TOP - 6}V${height - FOOT}"/>`);
		text('small', x(value), height - 4, value === most ? `${value} ${unit}` : String(value), 'middle');
	}
	out.push(`<rect class="paint" x="${LEFT}" y="8" width="10" height="${BAR}"/><rect class="load" x="${LEFT + 180}" y="8" width="10" height="${BAR}"/>`);
	text('small', LEFT + 16, 17, 'first contentful paint');
	text('small', LEFT + 196, 17, 'load');
	rows.forEach((row, i) => {
		const y = TOP + i * (tall + GAP);
		text('title', 4, y + tall / 2 + 5, row.name);
		['paint', 'load'].forEach((what, j) => {
			const top = y + j * (BAR + 2);
			out.push(`<rect class="${what}" x="${LEFT}" y="${top}" width="${(x(row[what]) - LEFT).toFixed(1)}" height="${BAR}"/>`);
			text('small', x(row[what]) + 5, top + BAR, `${row[what].toFixed(0)} ${unit}`);
		});
	});
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="t">
<title id="t">${escape(title)}</title>
<style>
${STYLE}
</style>
<rect class="paper" width="${WIDTH}" height="${height}" rx="6"/>
${out.join('\n')}
</svg>
`;
}
