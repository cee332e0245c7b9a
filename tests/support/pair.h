/* SPDX-License-Identifier: MIT */
/*
 * Two engines, a client and a server, connected by two pipes in memory. A generator tells their
 * owners what to do: requests, bodies, pushes, resets, credit, settings, pings, shutdown. After each
 * step both engines check their invariants. At the end every byte has arrived at its position, both
 * sides agree how each stream ended, and all memory is freed.
 */
#ifndef PUSHGATE_TESTS_PAIR_H
#define PUSHGATE_TESTS_PAIR_H

#include "proxy/base/slice.h"

/* Counts over all runs, to check that the runs covered each kind of action. */
struct pair_totals {
	size_t exchanges, pushes, closed, reset, bytes;
};

/* One run; fails by cmocka assertions. Decisions are drawn from input, then from the seed's random
 * numbers; with an empty input the seed also decides the number of steps. */
void pair_run(uint32_t seed, struct slice input, struct pair_totals *totals);

#endif
