/* SPDX-License-Identifier: MIT */
/* Frames that ask for little each, in masses. */
import { frame } from '../../support/frames.mjs';
import { loop } from '../raw.mjs';

const calm = (fault) => ({ end: [`GOAWAY ENHANCE_YOUR_CALM ${fault}`, 'closed'], counters: ['guard_down'] });

export const floods = [
	{
		name: 'PING flood',
		what: 'PING as fast as it goes, the answers read',
		tape: () => loop([frame('PING', 0, 0, Buffer.alloc(8))], 100),
		expect: { ...calm('ping-flood'), cpu: 20 },
	},
];
