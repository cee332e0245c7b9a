/* SPDX-License-Identifier: MIT */
/*
 * Progress that counts against a deadline. Whoever has to send or to take bytes must move a least
 * amount (a rate times the span) before the deadline begins anew; fewer bytes, however often, do
 * not help. Moving bytes costs an addition; the sum is drawn when the deadline is looked at.
 */
#ifndef PUSHGATE_BASE_PACE_H
#define PUSHGATE_BASE_PACE_H

#include "proxy/base/clock.h"

struct pace {
	usec since;     /* the deadline counts from here */
	usec last;      /* when anything moved */
	uint64_t moved; /* bytes after `since` */
};

static inline void pace_begin(struct pace *p, usec now)
{
	*p = (struct pace){.since = now, .last = now};
}

static inline void pace_move(struct pace *p, uint64_t bytes, usec now)
{
	p->moved += bytes;
	p->last = now;
}

/* Up to now its time was not to count, however it began. */
static inline void pace_pardon(struct pace *p, usec now)
{
	p->since = now;
	p->moved = 0;
}

/* The time after `from`, which is not before `since`, is not to count. */
static inline void pace_excuse(struct pace *p, usec from, usec now)
{
	p->since += now - from;
	p->last = p->last < from ? p->last + (now - from) : now;
}

/* When it will have been too slow; `span` 0: never, `per_second` 0: any byte counts. To be asked
 * more often than once in a span. */
static inline usec pace_deadline(struct pace *p, usec span, uint32_t per_second)
{
	if (p->last > p->since && p->moved >= span * per_second / USEC_PER_SEC)
		*p = (struct pace){.since = p->last, .last = p->last};
	return clock_after(p->since, span);
}

#endif
