/* SPDX-License-Identifier: MIT */
/*
 * Smuggling, as two matrices of which each test file plays one part's rows:
 *
 *   requests    {each part of a request} × {each illegal byte or form} × {HTTP/1.1 to HTTP/1.1, to HTTP/2, HTTP/2 to
 *               HTTP/1.1}. The origin sees what the client's framing said, or nothing.
 *   responses   {each part of a response} × {each illegal byte or form} × {clients of HTTP/1.1 and of HTTP/2}. A client gets
 *               what the origin's framing said, a 502, or a response that is visibly cut; never what is not whole as whole, and
 *               never bytes of one response as another.
 *
 * One gate for each column; the connections to the origin are shared by all forms of a part, so whatever one of them left
 * behind there would be seen.
 */
import { scenario, section } from '../support/gate.mjs';
import requestForms from '../support/smuggle_forms.mjs';
import requestForms2 from '../support/smuggle_forms_h2.mjs';
import responseForms from '../support/smuggle_forms_response.mjs';
import { formOrigin, http1Record, http2Record, matrix1, matrix2, responses1, responses2, table } from '../support/smuggle.mjs';

const FRAMING = ['Content-Length', 'Transfer-Encoding', 'chunk size', 'chunk end', 'extension', 'trailer'];
/* The rows of each part. Each row is in one of them. */
const PARTS = { framing: (row) => FRAMING.includes(row), heads: (row) => !FRAMING.includes(row) };
const pick = (list, part) => list.filter(({ row }) => (process.env.SMUGGLE_ROW ? row === process.env.SMUGGLE_ROW : PARTS[part](row)));
const QUIET = { 'error-log': '/dev/null', 'access-log': '/dev/null' };

// covers: R77 R131 R300 R302 R303 R305 R306 R308 R313 R315 R316 R321 R322 R323 R324 R325 R327 R328 R354 R355
export async function requests(part) {
	const columns = {};
	for (const [column, origin, play] of [
		['h1 → h1', http1Record, (s, record) => matrix1(pick(requestForms, part), s, record)],
		['h1 → h2', http2Record, (s, record) => matrix1(pick(requestForms, part), s, record)],
		['h2 → h1', http1Record, (s, record) => matrix2(pick(requestForms2, part), s, record)],
	]) {
		const record = await origin();
		scenario(`${column}, ${part}: the origin sees what the client's framing says, or nothing`, {
			timeout: 300000, origins: { main: { server: record.server } }, routes: section('route main', { origin: 'main', forwarded: 'keep' }), server: QUIET,
		}, async (s) => {
			s.cleanups.push(record.close);
			columns[column] = await play(s, record);
			record.check();
			columns[column].check();
			if (column === 'h2 → h1')
				console.log(table(columns));
		});
	}
}

// covers: R360 R361 R362 R363 R364 R365 R366 R367 R368
export async function responses(part) {
	const columns = {};
	const picked = pick(responseForms, part);
	for (const [column, play] of Object.entries({ 'h1 ← h1': responses1, 'h2 ← h1': responses2 })) {
		const origin = await formOrigin(picked);
		scenario(`${column}, ${part}: the client gets what the origin's framing says, or nothing that looks whole`, {
			timeout: 300000, origins: { main: { server: origin.server } }, server: QUIET,
		}, async (s) => {
			s.cleanups.push(origin.close);
			columns[column] = await play(origin, s);
			columns[column].check();
			if (column.startsWith('h2'))
				console.log(table(columns, ['passed', 'refused', 'cut']));
		});
	}
}
