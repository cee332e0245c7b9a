/* SPDX-License-Identifier: MIT */
/*
 * A wheel of deadlines for many objects. Setting, moving and cancelling a deadline is O(1); the
 * granularity is WHEEL_TICK_USEC. A deadline never fires early; it fires at most two ticks late.
 * Moving a deadline further away costs nothing: the node stays in its slot and is moved when that
 * slot is run.
 *
 * The wheel has no clock: the owner passes the time (wheel_advance) and asks when to call again
 * (wheel_next).
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
	usec filed;    /* the time of its slot; never after the deadline */
	void (*expired)(struct wheel_node *node, usec now); /* may set the node again */
};

struct wheel {
	struct list slots[WHEEL_SLOTS];
	uint64_t occupied[WHEEL_SLOTS / 64]; /* one bit per slot; a set bit may be outdated */
	usec at;                             /* all slots before it have been run */
	usec soonest;                        /* no node is in a slot before it */
	size_t count;
};

void wheel_init(struct wheel *w, usec now);
void wheel_node_init(struct wheel_node *n, void (*expired)(struct wheel_node *node, usec now));
/* Sets or moves the deadline; USEC_NEVER cancels it. */
void wheel_set(struct wheel *w, struct wheel_node *n, usec deadline);
/* Cancels the deadline and removes the node from the wheel. */
void wheel_forget(struct wheel *w, struct wheel_node *n);
/* Fires all nodes whose deadline is not after now. */
void wheel_advance(struct wheel *w, usec now);
/* When to call wheel_advance next; USEC_NEVER if the wheel is empty. */
usec wheel_next(const struct wheel *w);

#endif
