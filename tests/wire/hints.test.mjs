/* SPDX-License-Identifier: MIT */
/* 103 Early Hints: the origin's, what rules take out of them, and pushgate's own beside them (RFC 8297). */
import assert from 'node:assert/strict';
import { scenario, section } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';

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

const PAGE = { origin: { push: 'refuse' }, server: { 'diary-entries': 0 }, extra: section('preload page', { path: '/', add: '/a.css as=style' }) + HINT };

/* The page is answered, and its offer has this verdict. */
async function answered({ gate }, { client, origin, up }, expected) {
	origin.respond(up.stream, { body: 'page' });
	await nextIsFinal(client);
	const line = await gate.access((l) => l.path === '/a.css');
	assert.equal(`${line.verdict} ${line.reason}`, expected);
}

for (const dest of ['iframe', 'frame', 'embed', 'object', 'style']) {
	// covers: P-hint-clients
	scenario(`what loads for ${dest} gets no 103 of ours, though it navigates`, PAGE, async (s) => {
		await answered(s, await s.open({ ...browser, request: { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': dest } }), 'drop hint-client');
	});
}

// covers: P-hint-clients
scenario('a page load is what loads a document, whatever its mode', PAGE, async (s) => {
	const page = await s.open({ ...browser, request: { 'sec-fetch-mode': 'same-origin', 'sec-fetch-dest': 'document' } });
	assert.deepEqual(links(await page.client.expectHead(1)), [link('/a.css')]);
	await answered(s, page, 'hint rule');
});

const SPECULATIVE = [{ 'sec-purpose': 'prefetch' }, { 'sec-purpose': 'prefetch;prerender' }, { purpose: 'prefetch' }, { 'x-moz': 'prefetch' }];
for (const fields of SPECULATIVE) {
	// covers: P-src-speculative
	scenario(`nothing is hinted, held or fetched for ${Object.entries(fields).join().replace(',', ': ')}`, {
		...PAGE, extra: section('preload page', { path: '/', add: '/a.css as=style' }) + section('push all', { action: 'hint+hold' }),
	}, async (s) => {
		const page = await s.open({ ...browser, request: { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', ...fields } });
		await answered(s, page, 'drop speculative');
	});
}

// covers: P-src-speculative
scenario('the origin is asked on a connection without pushes for a page that is prefetched', {
	origin: { push: 'auto' }, extra: section('push all', { action: 'hold' }),
}, async (s) => {
	const page = await s.open({ ...browser, request: { 'sec-purpose': 'prefetch' } });
	assert.equal(page.origin.peerSettings.enablePush, 0);
	page.origin.respond(page.up.stream, { body: 'page' });
	await nextIsFinal(page.client);
});

// covers: P-src-speculative
scenario('a rule that names the purpose hints to a page that is prerendered', {
	...PAGE, extra: section('preload page', { path: '/', add: '/a.css as=style' }) + section('push seen', { purpose: 'none prerender', action: 'hint' }),
}, async (s) => {
	const page = await s.open({ ...browser, request: { 'sec-fetch-mode': 'navigate', 'sec-purpose': 'prefetch;prerender' } });
	assert.deepEqual(links(await page.client.expectHead(1)), [link('/a.css')]);
	await answered(s, page, 'hint rule');
});

// covers: P-hint-clients P-hint-forwarded
scenario('a client that is known to mishandle a 103 gets none, and other interim responses', {
	...PAGE, extra: section('preload page', { path: '/', add: '/a.css as=style', link: 'yes' }) + section('push all', { action: 'hint', 'hint-clients': 'all' }),
}, async (s) => {
	const page = await s.open({ request: { 'user-agent': 'okhttp/4.9.3' } });
	early(page.origin, page.up, link('/b.css'));
	page.origin.headers(page.up.stream, { ':status': 102 });
	assert.equal((await page.client.expectHead(1)).headers[':status'], '102');
	await answered(s, page, 'drop hint-mishandled');
	assert.equal((await s.gate.access((l) => l.path === '/b.css')).reason, 'hint-mishandled');
	page.client.request(3, { 'user-agent': 'okhttp/4.12.0' });
	assert.deepEqual(links(await page.client.expectHead(3)), [link('/a.css')]);
	const other = await page.origin.expectRequest();
	early(page.origin, other, link('/b.css'));
	assert.deepEqual(links(await page.client.expectHead(3)), [link('/b.css')]);
});

// covers: P-hint-clients P-hint-forwarded
scenario('a rule with interim = yes sends a 103 to whom the table names', {
	...PAGE, extra: section('preload page', { path: '/', add: '/a.css as=style' }) + section('push all', { action: 'hint', 'hint-clients': 'all', interim: 'yes' }),
}, async (s) => {
	const page = await s.open({ request: { 'user-agent': 'okhttp/4.9.3' } });
	assert.deepEqual(links(await page.client.expectHead(1)), [link('/a.css')]);
	early(page.origin, page.up, link('/b.css'));
	assert.deepEqual(links(await page.client.expectHead(1)), [link('/b.css')]);
	await answered(s, page, 'hint rule');
});

/* One view by a client of its own; the origin sends a 103 with these fields. Gives the first head that the client got. */
async function view(s, page, number, fields) {
	const stream = 2 * number + 1;
	page.client.request(stream, { 'x-forwarded-for': `10.0.${number >> 8}.${number & 255}`, 'sec-fetch-dest': 'document' });
	const up = await page.origin.expectRequest();
	page.origin.headers(up.stream, [[':status', '103'], ['link', link('/a.css')], ['x-origin', 'yes'], ...fields]);
	page.origin.respond(up.stream, { fields: { 'content-type': 'text/html' }, body: 'page' });
	const first = await page.client.expectHead(stream);
	for (let head = first; head.headers[':status'] !== '200';)
		head = await page.client.expectHead(stream);
	return first;
}

// covers: P-hint-policies
scenario('our 103 has the policies that the 103 of the origin had before', {
	origin: { push: 'refuse' }, listen: { trusted: '127.0.0.1', 'client-address': 'x-forwarded-for' },
	extra: section('preload pages', { remembered: 'apply' }) + HINT,
}, async (s) => {
	const page = await s.open({ client: { settings: { enablePush: 0 } }, path: '/other' });
	page.origin.respond(page.up.stream, { body: 'other' });
	await page.client.response(1);
	const policies = [['content-security-policy', "default-src 'self'; style-src *"], ['referrer-policy', 'no-referrer']];
	/* The memory may be another process's: it hears of the views, and tells of the page, when it gets to that. */
	let ours;
	for (let number = 1, end = Date.now() + 20000 * SCALE; !ours && Date.now() < end; number++) {
		const head = await view(s, page, number, policies);
		assert.equal(head.headers[':status'], '103');
		if (!head.fields.some((f) => f.name === 'x-origin'))
			ours = head;
		else if (number > 8)
			await new Promise((resolve) => setTimeout(resolve, 20));
	}
	assert.deepEqual(ours.fields.map((f) => [f.name, f.value]), [[':status', '103'], ['link', link('/a.css')], ...policies]);
});
