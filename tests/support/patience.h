/* SPDX-License-Identifier: MIT */
/*
 * How long a test waits for something that must come. A step of its loop counts for 2 ms at most, however long other
 * programs had the processor meanwhile: a busy machine makes the wait longer, and fails no test.
 */
#ifndef PUSHGATE_TESTS_PATIENCE_H
#define PUSHGATE_TESTS_PATIENCE_H

#include "proxy/base/clock.h"

#include <stdbool.h>

#define PATIENCE_USEC (20 * USEC_PER_SEC)

/* All zero at first. */
struct patience {
	usec last; /* time of the last step */
	usec used;
};

/* One more step. True: it has waited long enough. Call it once in each pass of a loop whose pass waits for 2 ms at most. */
static inline bool patience_is_over(struct patience *p)
{
	const usec now = clock_monotonic(), most = 2 * USEC_PER_MSEC;
	const usec passed = p->last ? now - p->last : 0;
	p->last = now;
	p->used += passed < most ? passed : most;
	return p->used > PATIENCE_USEC;
}

#endif
