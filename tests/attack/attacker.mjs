/* SPDX-License-Identifier: MIT */
/*
 * The attacker's process. Its parent says {run: 'listen' | 'attack', row, env, ms}; the answer is what came of it.
 * A row either has a tape, which a few connections at a time play, each with a fresh connection when its last
 * one was ended, `lives` in all; or it has attack(env, clock), which does as it likes and gives the same kind of answer.
 */
import os from 'node:os';
import { Clock, Raw, Tally, addressOf, sleep } from './raw.mjs';
import { rows } from './rows.mjs';

/* The victim and its honest client are what is measured, not who wins the processor. The same as that of the tests beside it (tests/run). */
os.setPriority(5);
/* At a time, of one tape. */
const CONNECTIONS = 4;
const tapes = new Map();
let origin = null;

async function playAll(row, env, clock) {
	const tape = tapes.get(row.name);
	const tally = new Tally();
	let lives = row.lives ?? 100;
	await Promise.all(Array.from({ length: CONNECTIONS }, async (_, i) => {
		while (lives-- > 0 && clock.goesOn) {
			const c = new Raw(env, { from: addressOf(i), reads: row.reads ?? true });
			await c.begin();
			await c.play(tape, clock);
			/* What was asked for last is answered yet. */
			await Promise.race([c.gone, sleep(300)]);
			await c.close();
			tally.add(c);
		}
	}));
	return tally;
}

process.on('message', async ({ run, name, env, ms }) => {
	const row = rows.find((r) => r.name === name);
	try {
		if (run === 'listen') {
			origin?.close();
			origin = await row.listen(env);
		}
		if (row.tape && !tapes.has(name))
			tapes.set(name, row.tape(env));
		const clock = new Clock(ms, row.expect);
		const result = run === 'listen' ? true : await (row.attack ?? playAll.bind(null, row))(env, clock, origin);
		process.send({ result });
	} catch (error) {
		process.send({ error: error.stack });
	}
});
process.on('disconnect', () => process.exit());
process.on('uncaughtException', (error) => { process.send({ error: error.stack }); });
