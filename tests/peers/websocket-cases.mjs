/* SPDX-License-Identifier: MIT */
/*
 * What a client of WebSockets does before an origin, as rows {name, run}. run() gets a Client, the path of the origin,
 * and what opens a WebSocket there (see `way` in websocket.test.mjs); it sends a `part`-th of what it otherwise would.
 * only(down, up): whether the row says something about this way; python: it holds for Python's origin too.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { sleep, until } from '../support/gate.mjs';
import { ORIGINS } from './websocket-origin.mjs';

const MANY = 10000;
const MIB = 1 << 20;
const AHEAD = 500; /* messages that wait for their echo */

/* Text and binary, most of them small. */
function message(i) {
	const text = `${i} ${'w'.repeat((i * 37) % 300)}`;
	return i % 2 ? text : Buffer.from(text);
}

async function echo({ open, part }) {
	const many = MANY / part;
	const peer = await open('echo');
	let sent = 0;
	for (let i = 0; i < many; i++) {
		while (sent < many && sent < i + AHEAD)
			peer.ws.send(message(sent++));
		const { data, isBinary } = await peer.next() ?? assert.fail(`closed at message ${i}`);
		if (isBinary !== (i % 2 === 0) || Buffer.compare(data, Buffer.from(message(i))))
			assert.fail(`message ${i} came back as ${isBinary ? 'binary' : 'text'} ${data.toString().slice(0, 50)}`);
	}
	peer.ws.close(1000);
	assert.deepEqual(await peer.over(), { code: 1000, reason: '' });
}

async function large({ open, part }) {
	const peer = await open('echo');
	const big = randomBytes(10 * MIB / part);
	peer.ws.send(big);
	peer.ws.send('after');
	const { data } = await peer.next() ?? assert.fail('closed');
	assert.ok(big.equals(data), `${data.length} bytes came back`);
	assert.equal(await peer.text(), 'after');
	peer.ws.close();
	await peer.over();
}

async function ping({ open }) {
	const peer = await open('pings');
	peer.ws.ping('mine');
	await until('pong', () => peer.pongs.includes('mine'));
	peer.ws.send('yours');
	assert.equal(await peer.text(), 'pong yours');
	peer.ws.close();
	await peer.over();
}

async function close({ open, closed }) {
	const peer = await open('closes/4002');
	peer.ws.send('the origin\'s reason');
	assert.deepEqual(await peer.over(), { code: 4002, reason: 'the origin\'s reason' });
	const other = await open('silent');
	other.ws.close(4001, 'mine');
	assert.deepEqual(await closed(), { code: 4001, reason: 'mine' });
	await other.over();
	const third = await open('closes');
	third.ws.send('');
	await third.over();
}

async function drop({ open, closed }) {
	const peer = await open('drops');
	peer.ws.send('now');
	assert.equal((await peer.over()).code, 1006);
	const other = await open('silent');
	other.ws.terminate();
	assert.equal((await closed()).code, 1006);
}

async function subprotocol({ open }) {
	const peer = await open('echo', { protocols: ['other', 'chosen'] });
	assert.equal(peer.ws.protocol, 'chosen');
	peer.ws.close();
	await peer.over();
}

/* Both ends agree on it; the gate does not know of it. */
async function deflate({ open }) {
	const peer = await open('echo', { deflate: true });
	assert.match(peer.ws.extensions, /permessage-deflate/);
	const long = 'the same again and again. '.repeat(20000);
	for (let i = 0; i < 3; i++) {
		peer.ws.send(long + i);
		assert.equal(await peer.text(), long + i);
	}
	peer.ws.close();
	await peer.over();
}

const hops = (up) => [`${up.version === '1.1' ? '1.1' : '2(\\.0)?'}`];
async function fields({ open, client, up, path }) {
	const headers = { cookie: 'c=1; d=2', 'x-own': 'yes', origin: 'https://a.test', authorization: 'Bearer x' };
	const peer = await open('tells?a=b', { headers });
	const seen = JSON.parse(await peer.text());
	assert.match(seen.version, new RegExp(`^${hops(up)}$`), 'the version of the origin\'s hop');
	assert.equal(seen.path, `${path}tells?a=b`);
	for (const [name, value] of Object.entries(headers))
		assert.equal(seen.headers[name], value, name);
	assert.match(seen.headers.via, client.version === '2' ? /^2(\.0)? pushgate/ : /^1\.1 pushgate/);
	assert.equal(seen.headers['sec-websocket-version'], '13');
	if (up.version === '1.1') {
		assert.match(seen.headers['sec-websocket-key'], /^[A-Za-z0-9+/]{22}==$/);
		assert.match(`${seen.headers.upgrade} ${seen.headers.connection}`, /^websocket upgrade$/i);
	} else {
		assert.deepEqual([seen.headers[':method'], seen.headers[':protocol'], seen.headers[':scheme']],
			['CONNECT', 'websocket', client.isTls ? 'https' : 'http']);
		for (const name of ['sec-websocket-key', 'upgrade', 'connection'])
			assert.equal(seen.headers[name], undefined, name);
	}
	assert.equal(peer.head.status, client.version === '2' ? 200 : 101);
	assert.equal(peer.head.headers['x-answer'], 'from the origin');
	assert.deepEqual([peer.head.headers['set-cookie']].flat(), ['a=1; Path=/', 'b=2']);
	if (client.version === '2')
		for (const name of ['sec-websocket-accept', 'upgrade', 'connection'])
			assert.equal(peer.head.headers[name], undefined, name);
	peer.ws.close();
	await peer.over();
}

/* The origin's own answer arrives, with its fields and its body, and the connection of HTTP/2 goes on. */
async function refusal({ client, path, ask }, status, body, fields = {}) {
	const { refused } = await ask(`refuse/${status}`);
	assert.ok(refused, 'it was opened');
	assert.equal(refused.status, status, refused.body);
	assert.equal(refused.body, body);
	for (const [name, value] of Object.entries({ 'x-answer': 'from the origin', ...fields }))
		assert.equal(refused.headers[name], value, name);
	assert.deepEqual(refused.headers['set-cookie'], ['a=1; Path=/', 'b=2']);
	assert.equal(await client.get(`${path}page`), 200);
}

/* An error of pushgate's own. */
export function ownAnswer(refused, status, error) {
	assert.ok(refused, 'it was opened');
	assert.equal(refused.status, status, refused.body);
	assert.match(refused.headers['proxy-status'] ?? '', new RegExp(`error=${error}`));
}

/* An origin of HTTP/1.1 that answers an Upgrade as any GET. In HTTP/2 a 200 would say that the tunnel is open. */
async function page({ client, ask }) {
	const { refused } = await ask('refuse/200');
	if (client.version === '2')
		return ownAnswer(refused, 501, 'http_upgrade_failed');
	assert.equal(refused.status, 200);
	assert.equal(refused.body, 'a page');
}

async function wrong({ client, path, ask }) {
	for (const what of ['accept', 'missing', 'other'])
		ownAnswer((await ask(`wrong/${what}`)).refused, 502, 'http_');
	assert.equal(await client.get(`${path}page`), 200);
}

/* All that a stream brings until its end. */
async function readAll(stream) {
	let text = '';
	stream.setEncoding('latin1');
	for await (const piece of stream)
		text += piece;
	return text;
}

/* What a client sends with its request waits for the origin's answer, and none of it is lost. */
async function early({ client, path, headers }) {
	const bytes = randomBytes(40000);
	const { stream } = await client.raw(`${path}late`, headers, bytes);
	stream.end('the last');
	assert.equal(await readAll(stream), `${bytes.toString('latin1')}the last, early 0`);
}

/* The client's direction ends; the origin's goes on. */
async function half({ client, path, headers }) {
	const { stream } = await client.raw(`${path}counts`, headers);
	stream.write(Buffer.alloc(300000));
	stream.end('the last');
	assert.equal(await readAll(stream), 'hello300008 bytes, over');
}

/* The origin's direction ends; the client's goes on. */
async function left({ client, path, headers, seen }) {
	const { stream } = await client.raw(`${path}leaves`, headers);
	assert.equal(await new Promise((resolve, reject) => {
		let text = '';
		stream.on('data', (d) => { text += d; }).on('end', () => resolve(text)).on('error', reject);
	}), 'bye');
	for (const word of ['one ', 'two ', 'three']) {
		stream.write(word);
		await sleep(5);
	}
	stream.end();
	await until(() => `the origin reads on: ${JSON.stringify(seen.at(-1))}`, () => seen.at(-1).ended);
	assert.equal(seen.at(-1).text, 'one two three');
}

const isHttp1 = (down, up) => ORIGINS[up]?.version === '1.1';
export const CASES = [
	{ name: 'echo', run: echo, python: true },
	{ name: '10MB', run: large, python: true },
	{ name: 'ping', run: ping, python: true },
	{ name: 'close', run: close, python: true },
	{ name: 'drop', run: drop, python: true },
	{ name: 'protocol', run: subprotocol, python: true },
	{ name: 'deflate', run: deflate, python: true },
	{ name: 'fields', run: fields, python: true },
	{ name: '302', run: (way) => refusal(way, 302, '', { location: '/elsewhere' }) },
	{ name: '401', run: (way) => refusal(way, 401, 'who are you?', { 'www-authenticate': 'Basic realm="sockets"' }) },
	{ name: '404', run: (way) => refusal(way, 404, 'no such socket') },
	{ name: '426', run: (way) => refusal(way, 426, 'another version, please', { 'sec-websocket-version': '13, 8' }) },
	{ name: '503', run: (way) => refusal(way, 503, 'later', { 'retry-after': '7' }) },
	{ name: '200', run: page, only: isHttp1 },
	{ name: 'wrong', run: wrong, only: isHttp1 },
	{ name: 'early', run: early },
	{ name: 'half', run: half },
	{ name: 'left', run: left },
];
