/* SPDX-License-Identifier: MIT */
/*
 * How long the master waits before it starts a dead child again: not at all for the first time, then longer
 * for each further death soon after a start. Pure, so that a test needs no clock.
 */
#ifndef PUSHGATE_PROCESS_BACKOFF_H
#define PUSHGATE_PROCESS_BACKOFF_H

#include "proxy/base/clock.h"

#define BACKOFF_LEAST_USEC (100 * USEC_PER_MSEC)
#define BACKOFF_MOST_USEC (5 * USEC_PER_SEC)
/* A child that lived this long started well: its next death counts as the first. */
#define BACKOFF_GOOD_LIFE_USEC (10 * USEC_PER_SEC)

/* Initialize with zeroes. */
struct backoff {
	uint32_t early_deaths; /* since the last child that lived BACKOFF_GOOD_LIFE_USEC */
};

/* The child died `lived` after its start. Returns how long to wait before the next start. */
static inline usec backoff_after_death(struct backoff *b, usec lived)
{
	if (lived >= BACKOFF_GOOD_LIFE_USEC)
		b->early_deaths = 0;
	uint32_t before = b->early_deaths++;
	if (before == 0)
		return 0;
	usec wait = BACKOFF_LEAST_USEC;
	while (--before > 0 && wait < BACKOFF_MOST_USEC)
		wait *= 2;
	return wait < BACKOFF_MOST_USEC ? wait : BACKOFF_MOST_USEC;
}

#endif
