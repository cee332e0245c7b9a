/* SPDX-License-Identifier: MIT */
/*
 * A page of the documents as its tests read it: sections, and the fenced blocks of each with the marks above them. A mark is an
 * HTML comment, which a reader does not see, on the line directly above the fence:
 *
 *   <!-- file: NAME -->        the content is saved as NAME in the folder of the section
 *   <!-- stays: PORT... -->    the commands start a program that stays, and that listens on these ports
 *   <!-- prints -->            above a text block: the block before has printed these lines, in this order; … is anything
 *   <!-- not run: REASON -->   a machine that runs tests cannot run this
 */

const MARKS = {
	file: { value: /^(?!\/)(?!.*\.\.)[\w./-]+$/, languages: null },
	stays: { value: /^\d+( \d+)*$/, languages: ['sh'] },
	prints: { value: /^$/, languages: ['text', 'json'] },
	'not run': { value: /\w/, languages: ['sh', 'ini'] },
};

/* Other names for a block of commands: it would not be run. */
const SHELLS = new Set(['bash', 'console', 'shell', 'shell-session', 'terminal', 'zsh']);

function readMark(text, language) {
	const [, kind, value = ''] = /^([^:]*?)\s*(?::\s*(.*))?$/s.exec(text);
	const known = MARKS[kind];
	if (!known)
		return { fault: `unknown mark <!-- ${text} -->` };
	if (!known.value.test(value))
		return { fault: `mark <!-- ${text} -->: its value is missing or wrong` };
	if (language === null)
		return { fault: `mark <!-- ${text} --> is not directly above a block` };
	if (known.languages && !known.languages.includes(language))
		return { fault: `mark <!-- ${kind} --> does not go with a block of ${language || 'no language'}` };
	return { kind, value };
}

const isOurs = (comment) => Object.keys(MARKS).some((kind) => comment === kind || comment.startsWith(`${kind}:`));

/* The line of the next block's first mark is remembered, so that a mark without a block is found. */
export function readPage(text) {
	const lines = text.split('\n');
	const page = { sections: [{ title: '', blocks: [] }], faults: [] };
	let fence = null;
	let marks = [];
	const strayMarks = () => {
		for (const { comment, line } of marks.filter((m) => isOurs(m.comment)))
			page.faults.push({ line, fault: readMark(comment, null).fault });
		marks = [];
	};
	const begin = (line, language) => {
		const block = { line, language, lines: [], kind: '', value: '' };
		if (SHELLS.has(language))
			page.faults.push({ line, fault: `a block of ${language} is not run: write sh` });
		if (marks.length > 1)
			page.faults.push({ line, fault: 'more than one mark' });
		for (const { comment, line: at } of marks) {
			const mark = readMark(comment, language);
			if (mark.fault)
				page.faults.push({ line: at, fault: mark.fault });
			Object.assign(block, mark);
		}
		marks = [];
		page.sections.at(-1).blocks.push(block);
		return block;
	};
	lines.forEach((text, i) => {
		const line = i + 1;
		const mark = /^<!--\s*(.*?)\s*-->$/.exec(text);
		const opens = /^```\s*([\w-]*)\s*$/.exec(text);
		if (fence && /^```\s*$/.test(text)) {
			fence = null;
		} else if (fence) {
			if (/^\$ /.test(text) && !fence.kind)
				page.faults.push({ line, fault: 'a command behind a prompt is not run: write a block of sh' });
			fence.lines.push(text);
		} else if (opens) {
			fence = begin(line, opens[1]);
		} else if (/^\s*(```|~~~)/.test(text)) {
			page.faults.push({ line, fault: 'this block is not read: begin it with ``` and one word, at the beginning of a line' });
		} else if (mark) {
			marks.push({ comment: mark[1], line });
		} else {
			strayMarks();
			const heading = /^## (.*)/.exec(text);
			if (heading)
				page.sections.push({ title: heading[1], blocks: [] });
		}
	});
	strayMarks();
	if (fence)
		page.faults.push({ line: fence.line, fault: 'the block has no end' });
	return page;
}

/* The first of the wanted lines that does not occur behind those before it; null when all do. A line is compared whole, but for
   spaces: where a page breaks or aligns its text is no matter. */
export function missingLine(wanted, output) {
	const plain = (line) => line.trim().replace(/\s+/g, ' ');
	const said = output.split('\n').map(plain);
	let from = 0;
	for (const line of wanted.map(plain)) {
		if (line === '' || line === '…')
			continue;
		const pattern = new RegExp(`^${line.split('…').map((s) => s.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`);
		const found = said.findIndex((text, i) => i >= from && pattern.test(text));
		if (found < 0)
			return line;
		from = found + 1;
	}
	return null;
}
