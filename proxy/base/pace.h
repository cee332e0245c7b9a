/* SPDX-License-Identifier: MIT */
/*
 * The progress of a transfer, measured against a deadline. Each byte puts the deadline off by the time
 * that it may take at the least rate; a transfer that has kept up with this rate has the whole span
 * again from its last byte on. So a transfer at the least rate is never late, in whatever steps of at
 * most a span it moves, and a slower one is late in the end. Moving bytes costs one addition; the
 * comparison is made when the deadline is checked.
 */
#ifndef PUSHGATE_BASE_PACE_H
#define PUSHGATE_BASE_PACE_H

#include "proxy/base/clock.h"

struct pace {
	usec since;     /* the deadline counts from here */
	usec last;      /* when bytes last moved */
	uint64_t moved; /* bytes moved after `since` */
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

/* Time up to now does not count: starts the deadline again. */
static inline void pace_pardon(struct pace *p, usec now)
{
	p->since = now;
	p->moved = 0;
}

/* Puts the deadline off to `until`; bytes that were missing before do not count. */
static inline void pace_put_off(struct pace *p, usec span, usec until)
{
	p->since = until - span;
	p->moved = 0;
}

/* The time from `from` to now does not count. `from` is not before `since`. */
static inline void pace_excuse(struct pace *p, usec from, usec now)
{
	p->since += now - from;
	p->last = p->last < from ? p->last + (now - from) : now;
}

/*
 * When the transfer becomes too slow; span 0: never; per_second 0: any byte is enough. Call it more
 * than once in each span.
 */
static inline usec pace_deadline(struct pace *p, usec span, uint32_t per_second)
{
	if (span == 0)
		return USEC_NEVER;
	if (p->last < p->since) /* it was put off */
		return clock_after(p->since, span);
	uint64_t worth = p->moved * USEC_PER_SEC;
	if (worth < (p->last - p->since) * per_second)
		return clock_after(p->since, span + worth / per_second);
	if (worth >= span * per_second)
		*p = (struct pace){.since = p->last, .last = p->last};
	return clock_after(p->last, span);
}

#endif
