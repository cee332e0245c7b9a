/* SPDX-License-Identifier: MIT */
/*
 * How long to wait before a child that died is started again. Once is an accident: it comes back at
 * once. One that keeps dying soon after its start waits longer each time. Pure, so that it can be
 * tested.
 */
#ifndef PUSHGATE_PROCESS_BACKOFF_H
#define PUSHGATE_PROCESS_BACKOFF_H

#include "proxy/base/clock.h"

#define BACKOFF_LEAST_USEC (100 * USEC_PER_MSEC)
#define BACKOFF_MOST_USEC (5 * USEC_PER_SEC)
/* A child that lived as long as this had a good start. */
#define BACKOFF_GOOD_LIFE_USEC (10 * USEC_PER_SEC)

/* Zero at first. */
struct backoff {
	uint32_t early_deaths; /* since the last good life */
};

/* The child died after `lived`: wait so long. */
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
