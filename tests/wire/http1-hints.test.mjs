/* SPDX-License-Identifier: MIT */
/* 103 (Early Hints) for clients of HTTP/1.1: browsers ignore it there, so that only a rule for all clients sends one. */
import assert from 'node:assert/strict';
import { scenario, section } from '../support/gate.mjs';
import { connect1 } from '../support/http1.mjs';

const NAVIGATION = [['host', 'a.test'], ['sec-fetch-mode', 'navigate'], ['sec-fetch-dest', 'document']];

/* A page with a style sheet that is configured, asked for by a navigation; `rule`: more of what hints it. */
function hinted(name, rule, version, expected) {
	scenario(name, {
		extra: section('preload page', { path: '/page', add: '/a.css as=style' }) + section('push browsers', { action: 'hint', ...rule }),
	}, async (s) => {
		const client = await connect1(s.port);
		client.request('GET', '/page', NAVIGATION, { version });
		const origin = await s.accept();
		const up = await origin.expectRequest('/page');
		await origin.sync();
		origin.respond(up.stream, { body: 'page' });
		const { status, body, interim } = await client.response();
		assert.equal(`${status} ${body}`, '200 page');
		assert.deepEqual(interim.map((head) => `${head.status} ${head.headers.link}`), expected.interim);
		const { reason, verdict } = await s.gate.access((line) => line.push);
		assert.match(`${verdict} ${reason}`, expected.push);
		client.close();
	});
}

// covers: P-hint-clients
hinted('a navigation over HTTP/1.1 gets no 103 of ours', {}, 'HTTP/1.1', { interim: [], push: /^drop hint-client$/ });
hinted('a navigation over HTTP/1.1 gets one by a rule for all clients', { 'hint-clients': 'all' }, 'HTTP/1.1', {
	interim: ['103 </a.css>; rel=preload; as=style'], push: /^hint rule$/,
});
hinted('no rule sends one to HTTP/1.0', { 'hint-clients': 'all' }, 'HTTP/1.0', { interim: [], push: /^drop hint-version$/ });
