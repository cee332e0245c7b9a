// SPDX-License-Identifier: MIT
/*
 * Hosts that can be read in several ways (support/host_forms.mjs) against rules that name a host: each form, with each
 * kind of line, over HTTP/1.1 and HTTP/2, on gateway listeners and in forward mode.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort, scenario, section } from '../support/gate.mjs';
import { connect1, recordingOrigin } from '../support/http1.mjs';
import { connect } from '../support/peer.mjs';
import { NAMED, NONE, OTHER, SAME, TWO } from '../support/host_forms.mjs';

const HOST = `host=${NAMED.join(',')}`;
const FORMS = { same: SAME, other: OTHER, two: TWO, none: NONE };
const USERS = { users: 'users' };

/* What each section answers to each kind of form. */
const GATEWAYS = {
	deny: { rules: { deny: HOST, allow: 'all' }, same: '403 rule', other: '200', two: '403 rule', none: '400' },
	ask: { rules: { ...USERS, ask: HOST, allow: 'all' }, same: '401', other: '200', two: '401', none: '400' },
	allow: { rules: { allow: HOST }, same: '200', other: '403 host', two: '403 host', none: '400' },
	star: { rules: { allow: 'host=*' }, same: '200', other: '200', two: '403 host', none: '400' },
	/* No line names a host, so that nothing hangs on how it is read. */
	open: { rules: { allow: 'all' }, same: '200', other: '200', two: '200', none: '400' },
};
/* In forward mode a host is connected to: one with several readings is no destination. */
const FORWARD = {
	deny: { rules: { deny: HOST, allow: 'all' }, same: '403 rule', two: '403 host-strange', none: '400' },
	ask: { rules: { ...USERS, ask: HOST, allow: 'all' }, same: '407', two: '403 host-strange', none: '400' },
	allow: { rules: { allow: HOST }, two: '403 host-strange', none: '400' },
	star: { rules: { allow: 'host=*' }, two: '403 host-strange', none: '400' },
};

const answer = (status, fields) => {
	const reason = Number(status) === 403 && /details="([a-z-]+)"/.exec(fields['proxy-status'] ?? '')?.[1];
	return reason ? `${status} ${reason}` : String(status);
};

async function over1(port, target, host) {
	const client = await connect1(port);
	client.send(Buffer.from(`GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`, 'latin1'), [{ method: 'GET' }]);
	const { status, headers } = await client.response();
	client.close();
	return answer(status, headers);
}

/* A malformed request ends its stream (RFC 9113 8.1.1), and too many of them end the connection. */
const STREAMS = 16;

async function over2(s, fields) {
	if (!s.h2 || s.stream > 2 * STREAMS) {
		s.h2?.close();
		s.h2 = await s.connect();
		s.stream = 1;
	}
	const stream = s.stream;
	s.stream += 2;
	s.h2.headers(stream, { ':method': 'GET', ':scheme': 'http', ':path': '/', ...fields }, { endStream: true });
	const f = await s.h2.take((x) => x.stream === stream && ['HEADERS', 'RST_STREAM'].includes(x.type), 'answer');
	return f.type === 'RST_STREAM' ? `reset ${f.code}` : answer(f.headers[':status'], f.headers);
}

const WAYS = {
	'Host in HTTP/1.1': { isForward: false, ask: (s, host) => over1(s.port, '/', host) },
	'absolute-form in HTTP/1.1': { isForward: true, ask: (s, host) => over1(s.port, `http://${host}/`, host) },
	':authority in HTTP/2': { isForward: true, ask: (s, host) => over2(s, { ':authority': host }) },
	'Host in HTTP/2': { isForward: true, ask: (s, host) => over2(s, { host }) },
};

/* No route is for a host of more than 255 bytes. */
const isAsExpected = (got, expected, host) => got === expected || (expected === '400' && got.startsWith('reset')) ||
	(expected === '200' && host.length > 255 && got === '421');

/* Of each form, in each way, what was not answered as the table says. */
async function wrongAnswers(s, table, isForward) {
	const wrong = [];
	for (const [kind, rows] of Object.entries(FORMS))
		for (const [way, { isForward: isOfForward, ask }] of Object.entries(WAYS))
			for (const { host, why } of table[kind] && (isOfForward || !isForward) ? rows : []) {
				const got = await ask(s, host);
				if (!isAsExpected(got, table[kind], host))
					wrong.push(`${way} ${JSON.stringify(host)} (${why}): ${got}, not ${table[kind]}`);
			}
	return wrong;
}

test('the tables are as long as they should be', () => {
	assert.ok(TWO.length >= 70 && NONE.length >= 40, `${TWO.length} and ${NONE.length} forms`);
});

for (const [mode, tables] of Object.entries({ gateway: GATEWAYS, forward: FORWARD }))
	for (const [name, table] of Object.entries(tables))
		// covers: R602 R603
		scenario(`mode = ${mode}, ${Object.entries(table.rules).map(([k, v]) => `${k} = ${v}`).join('; ')}: no form of a host gets by`, {
			prepare: async (s) => {
				const { writeFileSync } = await import('node:fs');
				writeFileSync(`${s.dir}/users`, 'bob:$2b$04$DDDDDDDDDDDDDDDDDDDDD./G8yeFqOwrkLaRfiIayxru6Hhx3l9he\n');
				s.origin = await recordingOrigin();
				s.cleanups.push(() => s.origin.close());
				s.options.origins = mode === 'gateway' ? { main: { server: `http://127.0.0.1:${s.origin.port}` } } : {};
				if (mode === 'forward')
					s.options.routes = '';
				s.options.extra = section('access rules', table.rules);
			},
			server: { 'status-socket': 'status' },
			single: !table.rules.users,
			listen: { mode, access: 'rules' },
		}, async (s) => {
			assert.deepEqual((await wrongAnswers(s, table, mode === 'forward')).slice(0, 20), []);
		});
