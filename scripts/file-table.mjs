#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// Writes docs/FILES.md to standard output: the files of each folder, with the first sentence of each file's first comment.
// A source and the header of its name are one row, with the header's sentence. A file without such a comment is a mistake.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(resolve(dirname(fileURLToPath(import.meta.url)), '..'));

/** The comment behind the line of the licence, as one line; '' if there is none. */
function firstComment(path) {
	const [, text] = /^\/\* SPDX[^\n]*\n\/\*([\s\S]*?)\*\//.exec(readFileSync(path, 'utf8')) ?? [null, ''];
	return text.replace(/\n *\* ?/g, '\n').trim();
}

/** Up to the first full stop before a blank, or the first paragraph. */
function firstSentence(comment) {
	const paragraph = comment.split(/\n\s*\n/)[0].replace(/\s+/g, ' ');
	const [sentence] = /^.*?[^.]\.(?=$| )/.exec(paragraph) ?? [paragraph];
	return sentence.replace(/[.:;]$/, '').replace(/\|/g, '\\|');
}

function rowsOf(folder) {
	const files = readdirSync(folder).filter((name) => /\.[ch]$/.test(name) && statSync(join(folder, name)).isFile());
	const names = new Map(); /* without the suffix → what stands behind the dot */
	for (const file of files)
		names.set(file.slice(0, -2), [...(names.get(file.slice(0, -2)) ?? []), file.slice(-1)]);
	return [...names].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, suffixes]) => {
		const sentence = firstSentence(firstComment(join(folder, `${name}.${suffixes.includes('h') ? 'h' : 'c'}`)));
		if (sentence === '') {
			console.error(`${join(folder, name)}: it lacks a first comment that says what it is`);
			process.exitCode = 1;
		}
		return `| ${suffixes.sort().map((suffix) => `\`${name}.${suffix}\``).join(', ')} | ${sentence} |`;
	});
}

const folders = ['policy', ...readdirSync('proxy').map((name) => join('proxy', name)).filter((path) => statSync(path).isDirectory()).sort(), 'proxy'];
console.log('# Where is …\n');
console.log('Every source file of pushgate, by folder, with the first sentence of its first comment.');
console.log('scripts/make-docs writes this page. [ARCHITECTURE.md](ARCHITECTURE.md) says what the folders are.');
for (const folder of folders)
	console.log(`\n## ${folder}/\n\n| file | about |\n|---|---|\n${rowsOf(folder).join('\n')}`);
