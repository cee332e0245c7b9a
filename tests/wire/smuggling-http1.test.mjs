/* SPDX-License-Identifier: MIT */
/*
 * Request smuggling, as a matrix: {each part of a request} × {each illegal byte or form} × {HTTP/1.1 to HTTP/1.1, to
 * HTTP/2, HTTP/2 to HTTP/1.1}. The origin sees what the client's framing said, or nothing. One gate for each column;
 * the connections to the origin are shared by all forms, so whatever one of them left behind there would be seen.
 */
import { scenario } from '../support/gate.mjs';
import forms from '../support/smuggle_forms.mjs';
import { http1Record, http2Record, matrix1, table } from '../support/smuggle.mjs';

const columns = {};
const h1 = await http1Record();
const h2 = await http2Record();
const pick = process.env.SMUGGLE_ROW ? forms.filter((f) => f.row === process.env.SMUGGLE_ROW) : forms;

for (const [column, record] of Object.entries({ 'h1 → h1': h1, 'h1 → h2': h2 }))
	scenario(`what a client of HTTP/1.1 writes, ${column}: the origin sees what its framing says, or nothing`, {
		timeout: 300000, origins: { main: { server: record.server } }, server: { 'error-log': '/dev/null', 'access-log': '/dev/null' },
	}, async (s) => {
		s.cleanups.push(record.close);
		columns[column] = await matrix1(pick, s, record);
		record.check();
		columns[column].check();
		if (column.endsWith('h2'))
			console.log(table(columns));
	});
