/* SPDX-License-Identifier: MIT */
/*
 * The attacker's process. Its parent says {run: 'listen' | 'attack', row, env, ms}; the answer is what came of it.
 * A row either has a tape, which `connections` connections at a time play, each with a fresh connection when its last
 * one was ended, `lives` in all; or it has attack(env, until), which does as it likes and gives the same kind of answer.
 */
import os from 'node:os';
import { Raw, sleep } from './raw.mjs';
import { rows } from './rows.mjs';

os.setPriority(10); /* the victim and its honest client are what is measured, not who wins the processor */
const tapes = new Map();
const servers = [];

/* What came of one round, summed over connections. */
export class Tally {
	frames = 0;
	connections = 0;
	ends = {};
	resets = {};
	responses = 0;
	answers = 0;

	add(c) {
		this.frames += c.frames;
		this.connections++;
		this.ends[c.end] = (this.ends[c.end] ?? 0) + 1;
		for (const [code, n] of Object.entries(c.answers.resets))
			this.resets[code] = (this.resets[code] ?? 0) + n;
		this.responses += c.answers.responses;
		this.answers += c.answers.frames;
	}
}

/* Another address for each: what bounds connections by address is a row of its own. */
const addressOf = (i) => `127.0.0.${2 + (i % 200)}`;

async function playAll(row, env, until) {
	const tape = tapes.get(row.name) ?? row.tape(env);
	tapes.set(row.name, tape);
	const tally = new Tally();
	let lives = row.lives ?? 40;
	await Promise.all(Array.from({ length: row.connections ?? 4 }, async (_, i) => {
		while (lives-- > 0 && Date.now() < until) {
			const c = new Raw(env, { from: addressOf(i), reads: row.reads ?? true, settings: row.settings });
			await Promise.race([c.opened, c.gone]);
			await c.play(tape, until);
			/* What was asked for last is answered yet. */
			await Promise.race([c.gone, sleep(Math.max(0, Math.min(row.wait ?? 300, until - Date.now() + 300)))]);
			await c.close();
			tally.add(c);
		}
	}));
	return tally;
}

process.on('message', async ({ run, name, env, ms }) => {
	const row = rows.find((r) => r.name === name);
	try {
		if (run === 'listen')
			servers.push(await row.listen(env, { port: env.evil }));
		else
			env.server = servers.at(-1);
		const until = Date.now() + (ms ?? 0);
		const result = run === 'listen' ? true : await (row.attack ?? playAll.bind(null, row))(env, until, { Tally, addressOf });
		process.send({ result });
	} catch (error) {
		process.send({ error: error.stack });
	}
});
process.on('disconnect', () => process.exit());
process.on('uncaughtException', (error) => { process.send({ error: error.stack }); });
