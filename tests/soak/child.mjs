/* SPDX-License-Identifier: MIT */
/* What the programs of this folder share: processes that send accounts of what they have seen, and the checks at the end. */
import { fork } from 'node:child_process';
import path from 'node:path';

const here = path.dirname(new URL(import.meta.url).pathname);

export class Checks {
	#all = [];

	check(name, isFine, detail = '') {
		this.#all.push(isFine);
		console.log(`${isFine ? 'ok' : 'not ok'} - ${name}${detail ? `: ${detail}` : ''}`);
	}
	/* Prints the sum; an exit status. */
	sum() {
		const failed = this.#all.filter((isFine) => !isFine).length;
		console.log(`${this.#all.length - failed} passed, ${failed} failed`);
		return failed ? 1 : 0;
	}
}

/* `died(what)` hears of an end with a signal or another status than 0. */
export function child(file, options, died) {
	const process_ = fork(path.join(here, file), [JSON.stringify(options)]);
	const waiting = [];
	let finished;
	/* Without its accounts nobody can say that all is well; the others' are still worth having. */
	process_.on('exit', (code, signal) => {
		if (signal || code)
			died(`${signal ?? code}`);
		for (const answer of waiting.splice(0))
			answer({});
	});
	process_.on('message', (message) => {
		if (message.finished)
			finished?.(message.accounts);
		waiting.shift()?.(message);
	});
	return {
		process: process_,
		next: () => new Promise((resolve) => { waiting.push(resolve); }),
		accounts() {
			if (!process_.connected)
				return Promise.resolve(undefined);
			process_.send('accounts');
			return this.next().then((m) => m.accounts);
		},
		finished: new Promise((resolve) => { finished = resolve; }),
	};
}
