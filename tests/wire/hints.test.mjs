/* SPDX-License-Identifier: MIT */
/* 103 Early Hints: the origin's, what rules take out of them, and pushgate's own beside them (RFC 8297). */
import assert from 'node:assert/strict';
import { scenario, section } from '../support/gate.mjs';

const link = (path, rest = 'rel=preload; as=style') => `<${path}>; ${rest}`;
const links = (head) => head.fields.filter((f) => f.name === 'link').map((f) => f.value);
const browser = { client: { settings: { enablePush: 0 } }, request: { 'sec-fetch-mode': 'navigate' } };
const LINKS = section('preload links', { link: 'yes' });
const HINT = section('push hints', { action: 'hint' });

function early(origin, up, ...values) {
	origin.headers(up.stream, [[':status', '103'], ...values.map((value) => ['link', value])]);
}

/* The final response, and that no interim response came before it. */
async function nextIsFinal(client) {
	const head = await client.expectHead(1);
	assert.equal(head.headers[':status'], '200');
	return head;
}

// covers: P-hint-forwarded P-hint-once
scenario('a link of the 103 that is hinted by rule goes to the client once, as it came', {
	origin: { push: 'refuse' }, extra: LINKS + HINT,
}, async (s) => {
	const { client, origin, up } = await s.open(browser);
	const whole = link('/a.jpg', 'rel=preload; as=image; type=image/jpeg; crossorigin; fetchpriority=high; media="(min-width: 9px)"; '
		+ 'imagesrcset="/b.jpg 1x, /c.jpg 2x"; integrity=sha256-AA; nonce=x');
	early(origin, up, `${whole}, ${link('https://fonts.example', 'rel=preconnect')}`, link('//dns.example', 'rel=dns-prefetch'));
	const head = await client.expectHead(1);
	assert.equal(head.headers[':status'], '103');
	assert.deepEqual(links(head), [`${whole}, ${link('https://fonts.example', 'rel=preconnect')}`, link('//dns.example', 'rel=dns-prefetch')]);
	await s.settle(client, origin);
	origin.respond(up.stream, { fields: { link: link('/a.jpg') }, body: 'page' });
	await nextIsFinal(client);
	const line = await s.gate.access((l) => l.path === '/a.jpg');
	assert.equal(`${line.verdict} ${line.reason}`, 'hint rule');
});

// covers: P-hint-once
scenario('a promise is not hinted again that the 103 of the origin hints', {
	server: { 'diary-entries': 0 }, origin: { push: 'accept' }, extra: HINT,
}, async (s) => {
	const { client, origin, up } = await s.open(browser);
	early(origin, up, link('/a.css'));
	assert.deepEqual(links(await client.expectHead(1)), [link('/a.css')]);
	origin.push(up, 2, '/a.css');
	await origin.expectReset(2, 'CANCEL');
	origin.respond(up.stream, { body: 'page' });
	await nextIsFinal(client);
	assert.equal((await s.gate.access((l) => l.path === '/a.css')).reason, 'duplicate');
});

// covers: P-hint-once
scenario('what was hinted already is taken out of the 103 of the origin', {
	server: { 'diary-entries': 0 }, origin: { push: 'refuse' },
	extra: section('preload page', { path: '/', add: '/a.css as=style' }) + HINT,
}, async (s) => {
	const { client, origin, up } = await s.open(browser);
	assert.deepEqual(links(await client.expectHead(1)), [link('/a.css')]);
	early(origin, up, `${link('/a.css')}, ${link('/b.css')}`);
	assert.deepEqual(links(await client.expectHead(1)), [link('/b.css')]);
	early(origin, up, link('/a.css'), link('/b.css'));
	origin.respond(up.stream, { body: 'page' });
	await nextIsFinal(client);
});

// covers: P-hint-once
scenario('hints that wait join the 103 of the origin without those that it has itself', {
	server: { 'hint-wait': '1s', 'diary-entries': 0 }, origin: { push: 'refuse' },
	extra: section('preload page', { path: '/', add: ['/a.css as=style', '/b.js as=script'] }) + HINT,
}, async (s) => {
	const { client, origin, up } = await s.open(browser);
	early(origin, up, link('/a.css', 'rel=preload; as=style; nonce=x'));
	assert.deepEqual(links(await client.expectHead(1)), [link('/a.css', 'rel=preload; as=style; nonce=x'), link('/b.js', 'rel=preload; as=script')]);
	origin.respond(up.stream, { body: 'page' });
	await nextIsFinal(client);
});

// covers: P-hint-late
scenario('an offer that stands only in the final response is too late for a hint', {
	origin: { push: 'refuse' }, extra: LINKS + HINT,
}, async (s) => {
	const { client, origin, up } = await s.open(browser);
	origin.respond(up.stream, { fields: { link: link('/a.css') }, body: 'page' });
	assert.deepEqual(links(await nextIsFinal(client)), [link('/a.css')]);
	const line = await s.gate.access((l) => l.path === '/a.css');
	assert.equal(`${line.verdict} ${line.reason}`, 'drop hint-late');
});

// covers: P-hint-filtered
scenario('a rule takes its links out of the 103, and out of that alone', {
	origin: { push: 'refuse' },
	extra: LINKS + section('push no-scripts', { type: 'script', action: 'drop' }) + HINT,
}, async (s) => {
	const { client, origin, up } = await s.open(browser);
	const connect = link('https://fonts.example', 'rel=preconnect');
	early(origin, up, `${link('/a.css')}, ${link('/b.js', 'rel=preload; as=script')}, ${connect}`, link('/c.js', 'rel=modulepreload'));
	assert.deepEqual(links(await client.expectHead(1)), [`${link('/a.css')}, ${connect}`]);
	origin.respond(up.stream, { fields: { link: link('/b.js', 'rel=preload; as=script') }, body: 'page' });
	assert.deepEqual(links(await nextIsFinal(client)), [link('/b.js', 'rel=preload; as=script')]);
});

// covers: P-hint-filtered
scenario('a 103 that a rule leaves empty is not sent', {
	origin: { push: 'refuse' }, extra: LINKS + section('push nothing', { action: 'drop' }),
}, async (s) => {
	const { client, origin, up } = await s.open(browser);
	early(origin, up, link('/a.css'), link('/b.css'));
	origin.respond(up.stream, { body: 'page' });
	await nextIsFinal(client);
});

// covers: P-hint-filtered
scenario('a client that a rule names gets 100 (Continue) and no other interim response', {
	extra: section('push old', { 'user-agent': 'old*', action: 'forward', interim: 'no' })
		+ section('preload page', { add: '/a.css as=style' }),
}, async (s) => {
	const { client, origin, up } = await s.open({ ...browser, request: { 'sec-fetch-mode': 'navigate', 'user-agent': 'old/1' } });
	origin.headers(up.stream, { ':status': 100 });
	assert.equal((await client.expectHead(1)).headers[':status'], '100');
	early(origin, up, link('/a.css'));
	origin.headers(up.stream, { ':status': 102 });
	origin.respond(up.stream, { body: 'page' });
	await nextIsFinal(client);
	client.request(3, { 'user-agent': 'new/1' });
	const other = await origin.expectRequest();
	origin.headers(other.stream, { ':status': 102 });
	assert.equal((await client.expectHead(3)).headers[':status'], '102');
});

// covers: P-hint-filtered
scenario('a link of a 103 with x-http2-push-only is neither seen nor hinted', {
	origin: { push: 'refuse' }, extra: LINKS + HINT,
}, async (s) => {
	const { client, origin, up } = await s.open(browser);
	early(origin, up, link('/a.css', 'rel=preload; x-http2-push-only'), link('/b.css', 'rel=preload; nopush'));
	assert.deepEqual(links(await client.expectHead(1)), [link('/b.css', 'rel=preload; nopush')]);
	early(origin, up, link('/b.css'));
	origin.respond(up.stream, { body: 'page' });
	await nextIsFinal(client);
	assert.equal((await s.gate.access((l) => l.path === '/a.css')).reason, 'link-push-only');
	assert.equal((await s.gate.access((l) => l.path === '/b.css')).reason, 'link-nopush');
});

// covers: P-hint-filtered
scenario('other interim responses and other clients are left alone by rules for links', {
	origin: { push: 'refuse' }, extra: section('push nothing', { action: 'drop' }),
}, async (s) => {
	const { client, origin, up } = await s.open(browser);
	early(origin, up, link('/a.css'), link('/a.css')); // no link = yes: no rule is asked
	assert.deepEqual(links(await client.expectHead(1)), [link('/a.css'), link('/a.css')]);
	origin.headers(up.stream, { ':status': 199 });
	assert.equal((await client.expectHead(1)).headers[':status'], '199');
	origin.respond(up.stream, { body: 'page' });
	await nextIsFinal(client);
});

// covers: P-hint-forwarded
scenario('media of an add list reaches the hint', {
	origin: { push: 'refuse' },
	extra: section('preload page', { path: '/', add: '/a.css as=style "media=(min-width: 600px)" fetchpriority=high' }) + HINT,
}, async (s) => {
	const { client } = await s.open(browser);
	assert.deepEqual(links(await client.expectHead(1)), [link('/a.css', 'rel=preload; as=style; fetchpriority=high; media="(min-width: 600px)"')]);
});

// covers: P-src-link-unread
scenario('Link fields that no verdict could use are not read, and x-http2-push-only is removed all the same', {
	origin: { push: 'refuse' }, extra: LINKS,
}, async (s) => {
	const { client, origin, up } = await s.open({ client: { settings: { enablePush: 0 } } });
	origin.respond(up.stream, { fields: { link: `${link('/a.css', 'rel=preload; X-HTTP2-Push-Only')}, ${link('/b.css')}` }, body: 'page' });
	const head = await nextIsFinal(client);
	assert.deepEqual(links(head), [link('/b.css')]);
	await s.gate.access((l) => l.path === '/');
	assert.equal(s.gate.accessLines().filter((l) => l.push).length, 0);
});
