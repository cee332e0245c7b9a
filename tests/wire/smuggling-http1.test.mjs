/* SPDX-License-Identifier: MIT */
/*
 * Request smuggling, as a matrix: {each part of a request} × {each illegal byte or form} × {HTTP/1.1 to HTTP/1.1, to
 * HTTP/2, HTTP/2 to HTTP/1.1}. The origin sees what the client's framing said, or nothing. One gate for each column;
 * the connections to the origin are shared by all forms, so whatever one of them left behind there would be seen.
 */
import { scenario, section } from '../support/gate.mjs';
import forms from '../support/smuggle_forms.mjs';
import forms2 from '../support/smuggle_forms_h2.mjs';
import { http1Record, http2Record, matrix1, matrix2, table } from '../support/smuggle.mjs';

const columns = {};
const pick = (list) => (process.env.SMUGGLE_ROW ? list.filter((f) => f.row === process.env.SMUGGLE_ROW) : list);

for (const [column, origin, play] of [
	['h1 → h1', http1Record, (s, record) => matrix1(pick(forms), s, record)],
	['h1 → h2', http2Record, (s, record) => matrix1(pick(forms), s, record)],
	['h2 → h1', http1Record, (s, record) => matrix2(pick(forms2), s, record)],
]) {
	const record = await origin();
	// covers: R77 R131 R300 R302 R303 R305 R306 R308 R313 R315 R316 R321 R322 R323 R324 R325 R327 R328 R354 R355
	scenario(`${column}: the origin sees what the client's framing says, or nothing`, {
		timeout: 300000, origins: { main: { server: record.server } }, routes: section('route main', { origin: 'main', forwarded: 'keep' }), server: { 'error-log': '/dev/null', 'access-log': '/dev/null' },
	}, async (s) => {
		s.cleanups.push(record.close);
		columns[column] = await play(s, record);
		record.check();
		columns[column].check();
		if (column === 'h2 → h1')
			console.log(table(columns));
	});
}
