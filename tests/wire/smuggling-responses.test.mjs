/* SPDX-License-Identifier: MIT */
/*
 * The smuggling matrix the other way: {each part of a response} × {each illegal byte or form} × {clients of HTTP/1.1 and of
 * HTTP/2}. A client gets what the origin's framing said, a 502, or a response that is visibly cut; never what is not whole
 * as whole, and never bytes of one response as another.
 */
import { scenario } from '../support/gate.mjs';
import forms from '../support/smuggle_forms_response.mjs';
import { formOrigin, responses1, responses2, table } from '../support/smuggle.mjs';

const columns = {};
const pick = process.env.SMUGGLE_ROW ? forms.filter((f) => f.row === process.env.SMUGGLE_ROW) : forms;

for (const [column, play] of Object.entries({ 'h1 ← h1': responses1, 'h2 ← h1': responses2 })) {
	const origin = await formOrigin(pick);
	// covers: R360 R361 R362 R363 R364 R365 R366 R367 R368
	scenario(`${column}: the client gets what the origin's framing says, or nothing that looks whole`, {
		timeout: 300000, origins: { main: { server: origin.server } }, server: { 'error-log': '/dev/null', 'access-log': '/dev/null' },
	}, async (s) => {
		s.cleanups.push(origin.close);
		columns[column] = await play(origin, s);
		columns[column].check();
		if (column.startsWith('h2'))
			console.log(table(columns, ['passed', 'refused', 'cut']));
	});
}
