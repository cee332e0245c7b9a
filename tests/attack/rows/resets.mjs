/* SPDX-License-Identifier: MIT */
/* Streams that are opened to be thrown away: by the client itself, or by faults of its that make us reset them. */
import { FLAG, frame, u32 } from '../../support/frames.mjs';
import { reel, request } from '../raw.mjs';

const CANCEL = u32(8);
/* make(id, env) for the streams 1, 3, 5 … */
const streams = (n, size, make) => (env) => ({ parts: reel(n, size, (i) => make(2 * i + 1, env)) });
/* Node's origin counts the resets of all clients together, and then wants another connection. */
const calm = (fault) => ({
	end: [`GOAWAY ENHANCE_YOUR_CALM ${fault}`, 'closed'], counters: ['guard_down'], log: /origin main .*INTERNAL_ERROR/,
});

export const resets = [
	{
		name: 'rapid reset',
		what: 'HEADERS and at once RST_STREAM (CVE-2023-44487)',
		tape: streams(5000, 100, (id, env) => [request(env, id), frame('RST_STREAM', 0, id, CANCEL)]),
		expect: { ...calm('reset-flood'), cpu: 40 },
	},
	{
		name: 'window increments of 0',
		what: 'WINDOW_UPDATE 0 on each request makes the server reset it (CVE-2025-8671)',
		tape: streams(5000, 100, (id, env) => [request(env, id), frame('WINDOW_UPDATE', 0, id, u32(0))]),
		expect: { ...calm('fault-flood'), resets: ['PROTOCOL_ERROR'], cpu: 40 },
	},
];
