#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// Prints the multiplier and the slots of proxy/http/token.c for the names in proxy/http/token.h.
// Run it after a name was added and put its output into token.c.
import { readFileSync } from 'node:fs';

const header = readFileSync(new URL('../proxy/http/token.h', import.meta.url), 'utf8');
const rows = [...header.matchAll(/X\(([A-Z0-9_]+), "([^"]+)"\)/g)].map(([, symbol, name]) => ({ symbol, name }));
const byte = (name, at) => name.charCodeAt(at);
const keys = rows.map(({ name }) => byte(name, 0) | byte(name, name.length >> 1) << 8 |
	byte(name, name.length - 2) << 16 | name.length << 24);
if (new Set(keys).size !== keys.length)
	throw new Error('two names share all four properties: slot_of has to look at others');

const START = 0x9e3779b1;
for (let multiplier = START; multiplier < 2 ** 32; multiplier += 2) {
	const slots = keys.map((key) => Math.imul(key, multiplier) >>> 24);
	if (new Set(slots).size !== slots.length)
		continue;
	console.log(`#define MULTIPLIER UINT32_C(0x${multiplier.toString(16)})\n`);
	rows.map(({ symbol }, i) => [slots[i], symbol]).sort((a, b) => a[0] - b[0])
		.forEach(([slot, symbol]) => console.log(`\t[${slot}] = HTTP_TOKEN_${symbol},`));
	process.exit(0);
}
throw new Error('no multiplier found');
