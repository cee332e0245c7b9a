/* SPDX-License-Identifier: MIT */
/*
 * Real pages: the HTML of the documentation and the npm packages of this machine, which scripts/setup and Debian have installed.
 * How many there are depends on the machine.
 */
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './gate.mjs';

const FOLDERS = ['/usr/share/doc', '/usr/share/gtk-doc', '/usr/share/javascript', '/usr/share/wordpress', '/usr/lib/node_modules',
	'/usr/share/nodejs', '/usr/lib/python3', '/usr/share/python3', path.join(ROOT, 'tests/browser/node_modules')];
const LEAST_BYTES = 100, MOST_BYTES = 400_000;

function* htmlBelow(folder) {
	let entries;
	try {
		entries = fs.readdirSync(folder, { withFileTypes: true });
	} catch {
		return;
	}
	for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
		const name = path.join(folder, entry.name);
		if (entry.isDirectory())
			yield* htmlBelow(name);
		else if (entry.isFile() && /\.html?$/.test(entry.name))
			yield name;
	}
}

/* At most `most` pages, evenly from all that there are: { name, body }. */
export function realPages(most) {
	const names = FOLDERS.flatMap((folder) => [...htmlBelow(folder)]).filter((name) => {
		const { size } = fs.statSync(name);
		return size >= LEAST_BYTES && size <= MOST_BYTES;
	});
	const step = Math.max(1, names.length / most);
	return Array.from({ length: Math.min(most, names.length) }, (_, i) => names[Math.floor(i * step)])
		.map((name) => ({ name, body: fs.readFileSync(name) }));
}
