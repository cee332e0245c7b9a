/* SPDX-License-Identifier: MIT */
/* Frames that ask for little each, in masses; where they have answers, both by one who reads them and one who does not. */
import { FLAG, frame, settingsPayload, u32 } from '../../support/frames.mjs';
import { Encoder } from '../../support/hpack.mjs';
import { loop, reel, request } from '../raw.mjs';

const calm = (...faults) => ({ end: [...faults.map((f) => `GOAWAY ENHANCE_YOUR_CALM ${f}`), 'closed'] });
/* One who does not read sees no GOAWAY; what it goes on to send is discarded for a while. */
const unseen = (fault) => ({ end: null, faults: [fault] });

/* First `begin(env)`, then `frames(env)` for ever. */
const after = (begin, frames, size = 100) => (env) => ({ first: [{ bytes: begin(env), frames: 1 }], ...loop(frames(env), size) });
const upload = (env) => request(env, 1, { method: 'POST', path: '/upload' }, 0);
const never = (env) => request(env, 1, { path: '/never' });

const ping = frame('PING', 0, 0, Buffer.alloc(8));
const settings = frame('SETTINGS', 0, 0, settingsPayload({ initialWindowSize: 65535 }));
const priorityUpdate = (id, value) => frame('PRIORITY_UPDATE', 0, 0, Buffer.concat([u32(id), Buffer.from(value)]));

/* A rate that a flood of large frames reaches on a slow machine too. */
const SLOWER = { 'limit-priorities': '100/s burst 1000' };

export const floods = [
	{
		covers: 'R65', name: 'PING flood',
		what: 'PING as fast as it goes, the answers read',
		tape: () => loop([ping], 100),
		expect: { ...calm('ping-flood'), cpu: 5 },
	},
	{
		covers: 'R65', name: 'PING flood, unread',
		what: 'the same, the answers not read',
		reads: false,
		tape: () => loop([ping], 100),
		expect: { ...unseen('ping-flood'), cpu: 5 },
	},
	{
		name: 'PING acknowledgements',
		what: 'answers to what nobody asked',
		tape: () => loop([frame('PING', FLAG.ACK, 0, Buffer.alloc(8))], 100),
		expect: { ...calm('ping-flood'), cpu: 5 },
	},
	{
		covers: 'R65', name: 'SETTINGS flood',
		what: 'SETTINGS as fast as it goes, the acknowledgements read',
		tape: () => loop([settings], 20),
		expect: { ...calm('settings-flood'), cpu: 20 },
	},
	{
		name: 'SETTINGS flood, unread',
		what: 'the same, the acknowledgements not read',
		reads: false,
		tape: () => loop([settings], 20),
		expect: { ...unseen('settings-flood'), cpu: 10 },
	},
	{
		name: 'SETTINGS of many entries',
		what: 'each frame full of them',
		tape: () => loop([frame('SETTINGS', 0, 0, settingsPayload(Array.from({ length: 2730 }, (_, i) => ['initialWindowSize', 1000 + i])))], 4),
		expect: { ...calm('settings-flood'), cpu: 100 },
	},
	{
		name: 'SETTINGS acknowledgements',
		what: 'of SETTINGS that were never sent',
		tape: () => loop([frame('SETTINGS', FLAG.ACK, 0)], 20),
		expect: { ...calm('settings-flood'), cpu: 20 },
	},
	{
		name: 'SETTINGS that move all windows',
		what: 'the initial window up and down with 100 streams open',
		tape: after((env) => Buffer.concat(Array.from({ length: 100 }, (_, i) => request(env, 2 * i + 1, { path: '/never' }))),
			() => [0, 0x7fffffff].map((initialWindowSize) => frame('SETTINGS', 0, 0, settingsPayload({ initialWindowSize }))), 20),
		expect: { ...calm('settings-flood'), cpu: 200 },
	},
	{
		name: 'GOAWAY flood',
		what: 'GOAWAY again and again, with a request open',
		tape: after(never, () => [frame('GOAWAY', 0, 0, Buffer.alloc(8))], 20),
		expect: { ...calm('settings-flood'), cpu: 20 },
	},
	{
		covers: 'R65', name: 'PRIORITY flood',
		what: 'PRIORITY of idle streams',
		tape: () => loop([frame('PRIORITY', 0, 999, Buffer.alloc(5))], 200),
		expect: { ...calm('priority-flood'), cpu: 3 },
	},
	{
		name: 'PRIORITY_UPDATE flood',
		what: 'of streams to come',
		tape: () => ({ parts: reel(4000, 200, (i) => [priorityUpdate(2 * (i % 50) + 1, 'u=1, i')]), repeat: true }),
		expect: { ...calm('priority-flood'), cpu: 3 },
	},
	{
		name: 'PRIORITY_UPDATE of many streams',
		what: 'of streams to come, each another one',
		tape: () => ({ parts: reel(4000, 200, (i) => [priorityUpdate(2 * i + 1, 'u=1, i')]) }),
		expect: { end: ['GOAWAY PROTOCOL_ERROR priority-updates-too-many', 'closed'], cpu: 10 },
	},
	{
		name: 'PRIORITY_UPDATE, long',
		what: 'each with 4 KB of a value',
		listener: SLOWER,
		tape: after(never, () => [priorityUpdate(1, 'u=1,'.repeat(1000))], 40),
		expect: { ...calm('priority-flood'), cpu: 200 },
	},
	{
		name: 'unknown frames',
		what: 'of a type that does not exist, empty',
		tape: () => loop([frame(0x77, 0, 0)], 200),
		expect: { ...calm('priority-flood'), cpu: 3 },
	},
	{
		name: 'unknown frames, full',
		what: 'the same with 16 KiB each',
		listener: SLOWER,
		tape: () => loop([frame(0x77, 0xff, 1, Buffer.alloc(16384))], 10),
		expect: { ...calm('priority-flood'), cpu: 60 },
	},
	{
		covers: 'R65', name: 'empty DATA',
		what: 'DATA without bytes on an upload',
		tape: after(upload, () => [frame('DATA', 0, 1)], 200),
		expect: { ...calm('empty-frame-flood'), cpu: 4 },
	},
	{
		name: 'DATA of padding',
		what: 'DATA with padding alone',
		tape: after(upload, () => [frame('DATA', FLAG.PADDED, 1, Buffer.concat([Buffer.from([255]), Buffer.alloc(255)]))], 100),
		expect: { ...calm('empty-frame-flood'), cpu: 4 },
	},
	{
		name: 'DATA of one byte',
		what: 'an upload in the smallest pieces there are, as fast as it goes',
		tape: after(upload, () => [frame('DATA', 0, 1, Buffer.from('x'))], 500),
		expect: { cpu: 20 },
	},
	{
		name: 'empty HEADERS',
		what: 'field blocks without a field',
		tape: () => ({ parts: reel(5000, 100, (i) => [frame('HEADERS', FLAG.END_HEADERS | FLAG.END_STREAM, 2 * i + 1)]) }),
		expect: { ...calm('fault-flood'), resets: ['PROTOCOL_ERROR'], cpu: 15 },
	},
	{
		name: 'HEADERS as trailers, again and again',
		what: 'a request whose trailers never end it',
		tape: (env) => ({ parts: reel(5000, 100, (i) => [request(env, 2 * i + 1, { method: 'POST', path: '/never' }, 0),
			frame('HEADERS', FLAG.END_HEADERS, 2 * i + 1, new Encoder().encode({ x: 'y' }))]) }),
		expect: { ...calm('fault-flood'), resets: ['PROTOCOL_ERROR'], cpu: 15 },
	},
	{
		name: 'WINDOW_UPDATE flood',
		what: 'one byte at a time, for the connection',
		tape: () => loop([frame('WINDOW_UPDATE', 0, 0, u32(1))], 5000),
		expect: { ...calm('window-update-flood'), cpu: 1 },
	},
	{
		name: 'WINDOW_UPDATE flood of a stream',
		what: 'the same for a stream that waits for its response',
		tape: after(never, () => [frame('WINDOW_UPDATE', 0, 1, u32(1))], 5000),
		expect: { ...calm('window-update-flood'), cpu: 1 },
	},
	{
		name: 'resets of one dead stream',
		what: 'RST_STREAM of a stream that is reset already',
		tape: after((env) => Buffer.concat([never(env), frame('RST_STREAM', 0, 1, u32(8))]), () => [frame('RST_STREAM', 0, 1, u32(8))]),
		expect: { ...calm('reset-flood'), cpu: 10 },
	},
	{
		name: 'faults unread',
		what: 'requests that are errors, and RST_STREAM that is never read',
		reads: false,
		tape: (env) => ({ parts: reel(20000, 100, (i) => [request(env, 2 * i + 1, { method: 'CONNECT' })]) }),
		expect: { ...unseen('fault-flood'), cpu: 10 },
	},
];
