/* SPDX-License-Identifier: MIT */
/*
 * A route tells its origin who the client or its user is, and tells the client the same. What the origin pushed with one
 * client's page is not given to another, before its head, while it comes and when it is whole, unless it says that it is
 * for all; and then each client is told of itself.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { scenario, section } from '../support/gate.mjs';
import { passwordLine } from '../support/forward.mjs';

const ADDRESSES = { a: '127.0.0.1', b: '127.0.0.2' };
const USERS = { a: 'alice', b: 'bob' };
/* What the placeholder stands for, by client; more: of a scenario; connect: options of a client; fields: of its requests. */
const PLACEHOLDERS = {
	client: { is: ADDRESSES, connect: (who) => ({ localAddress: ADDRESSES[who] }), fields: () => ({}) },
	user: {
		is: USERS, connect: () => ({}), fields: (who) => ({ authorization: `Basic ${Buffer.from(`${USERS[who]}:secret`).toString('base64')}` }),
		more: {
			single: false, listen: { access: 'home' },
			prepare: (s) => fs.writeFileSync(path.join(s.dir, 'users'), `${Object.values(USERS).map((name) => passwordLine(name, 'secret').trim()).join('\n')}\n`, { mode: 0o644 }),
			extra: section('access home', { users: 'users', realm: 'a house', ask: 'path=/*', allow: 'user=*' }),
		},
	},
};
const RESPONSES = {
	private: { 'cache-control': 'private, max-age=60' },
	'max-age': { 'cache-control': 'max-age=60' },
	public: { 'cache-control': 'public, max-age=60' },
};
const HEAD = (fields) => ({ ':status': 200, ...fields });
/* What of the pushed response comes before the other client asks, and what after. */
const MOMENTS = {
	'before its head': { before: () => {}, after: (origin, fields) => origin.headers(2, HEAD(fields)).data(2, 'for a', { endStream: true }) },
	'while it comes': { before: (origin, fields) => origin.headers(2, HEAD(fields)).data(2, 'for'), after: (origin) => origin.data(2, ' a', { endStream: true }) },
	'when it is whole': { before: (origin, fields) => origin.respond(2, { fields, body: 'for a' }), after: () => {} },
};

const config = (name, { more }, shares) => ({
	...more,
	server: shares ? { 'hold-shared': 'yes' } : {},
	routes: section('route main', { origin: 'main', 'request-set': `X-For: {${name}}`, 'response-set': `X-You: <{${name}}>` }),
	extra: section('push hold', { action: 'hold' }) + (more?.extra ?? ''),
});

/* A client that takes no pushes: ask(path) sends a request and gives its response. */
async function opened(s, placeholder, who) {
	const client = await s.connect({ settings: { enablePush: 0 }, ...placeholder.connect(who) });
	let stream = -1;
	const ask = (asked, by = who) => {
		client.request(stream += 2, { path: asked, ...placeholder.fields(by) });
		return client.response(stream);
	};
	return { client, ask, is: placeholder.is[who] };
}

/* Asks for what was pushed. Gives the body, from what is held or from the origin, which was told of this client alone. */
async function resource(origin, { ask, is }, meanwhile = () => {}) {
	const answer = ask('/r');
	const request = origin.expectRequest('/r');
	request.catch(() => {}); /* it may be answered from what is held */
	await meanwhile(request);
	const asked = await Promise.race([request, answer.then(() => null)]);
	if (asked) {
		assert.equal(asked.headers['x-for'], is);
		origin.respond(asked.stream, { fields: { 'x-you': 'the origin' }, body: `from the origin for ${is}` });
	}
	const { headers, body } = await answer;
	assert.equal(headers['x-you'], `<${is}>`);
	return String(body);
}

/* a's page with its push; b asks for what was pushed, then a does. expected: what b gets. */
async function played(s, placeholder, { a, b }, label, moment, expected) {
	const { before, after } = MOMENTS[moment], fields = RESPONSES[label];
	const page = a.ask('/page');
	page.catch(() => {}); /* what fails before says more */
	const origin = await s.accept();
	const up = await origin.expectRequest('/page');
	assert.equal(up.headers['x-for'], a.is);
	origin.push(up, 2, '/r', placeholder.fields('a'));
	before(origin, fields);
	await s.settle(a.client, origin);
	/* What b asks the origin for has come there before the rest of the push goes: b's password is looked at for a while. */
	const meanwhile = async (request) => {
		await (expected === 'for a' ? s.settle(b.client, origin) : request);
		after(origin, fields);
	};
	assert.equal(await resource(origin, b, meanwhile), expected);
	origin.respond(up.stream, { body: 'page' });
	const { headers } = await page;
	assert.equal(headers['x-you'], `<${a.is}>`);
	assert.equal(await resource(origin, a), 'for a');
}

// covers: R645 P-hold-shared P-hold-private
for (const [name, placeholder] of Object.entries(PLACEHOLDERS))
	for (const label of Object.keys(RESPONSES))
		for (const moment of Object.keys(MOMENTS))
			scenario(`${label}, pushed to one {${name}}, is not for another connection's ${moment}`, config(name, placeholder, true), async (s) => {
				const a = await opened(s, placeholder, 'a'), b = await opened(s, placeholder, 'b');
				/* Without a head it is not known to be for all, and others do not wait for that. */
				const isForAll = label === 'public' && moment !== 'before its head';
				await played(s, placeholder, { a, b }, label, moment, isForAll ? 'for a' : `from the origin for ${b.is}`);
			});

// covers: R645 P-hold-private
for (const label of ['max-age', 'public'])
	for (const moment of Object.keys(MOMENTS))
		scenario(`${label}, pushed to one {user}, is not for another one of the connection ${moment}`, config('user', PLACEHOLDERS.user, false), async (s) => {
			const a = await opened(s, PLACEHOLDERS.user, 'a');
			const b = { ...a, ask: (asked) => a.ask(asked, 'b'), is: USERS.b };
			await played(s, PLACEHOLDERS.user, { a, b }, label, moment, `from the origin for ${b.is}`);
		});
