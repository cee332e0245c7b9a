/* SPDX-License-Identifier: MIT */
/*
 * Two engines of ours, a client and a server, joined by two pipes in memory, with owners that do
 * whatever a generator tells them: requests, bodies, pushes, resets, credit, settings, pings,
 * shutdown. After each step both walk their invariants. In the end every byte has arrived in its
 * place, every stream is accounted for on both sides, and all memory is back.
 */
#ifndef PUSHGATE_TESTS_PAIR_H
#define PUSHGATE_TESTS_PAIR_H

#include "proxy/base/slice.h"

/* What all runs together have seen: a test of nothing would also pass. */
struct pair_totals {
	size_t exchanges, pushes, closed, reset, bytes;
};

/* One run; fails as cmocka does. input: drawn from before the seed's own numbers; empty: the seed
 * says how many steps there are, too. */
void pair_run(uint32_t seed, struct slice input, struct pair_totals *totals);

#endif
