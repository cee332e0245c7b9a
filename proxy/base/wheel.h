/* SPDX-License-Identifier: MIT */
/*
 * A wheel of deadlines: many objects with a time-out each, at O(1) for setting, moving and
 * cancelling, and a granularity of WHEEL_TICK_USEC. A deadline never fires early; it fires at
 * most two ticks late. Moving a deadline further away costs nothing: the node stays in its
 * slot and is looked at again there.
 *
 * No clock in here: the owner says what time it is (wheel_advance) and asks when to come back.
 */
#ifndef PUSHGATE_BASE_WHEEL_H
#define PUSHGATE_BASE_WHEEL_H

#include "proxy/base/clock.h"
#include "proxy/base/list.h"

#define WHEEL_SLOTS 256u
#define WHEEL_TICK_USEC ((usec)16000)

struct wheel_node {
	struct list link;
	usec deadline; /* USEC_NEVER = off */
	usec filed;    /* the time whose slot it stands in; never after the deadline */
	void (*expired)(struct wheel_node *node, usec now); /* may set it again */
};

struct wheel {
	struct list slots[WHEEL_SLOTS];
	uint64_t occupied[WHEEL_SLOTS / 64]; /* a bit a slot; may be set for an empty one */
	usec at;                             /* everything before it has been looked at */
	usec soonest;                        /* nothing is filed before it */
	size_t count;
};

void wheel_init(struct wheel *w, usec now);
void wheel_node_init(struct wheel_node *n, void (*expired)(struct wheel_node *node, usec now));
/* Sets, moves, or (USEC_NEVER) cancels. */
void wheel_set(struct wheel *w, struct wheel_node *n, usec deadline);
/* Cancels it for good. */
void wheel_forget(struct wheel *w, struct wheel_node *n);
/* Lets everything expire whose deadline is not after now. */
void wheel_advance(struct wheel *w, usec now);
/* When wheel_advance wants to be called next; USEC_NEVER when the wheel is empty. */
usec wheel_next(const struct wheel *w);

#endif
