/* SPDX-License-Identifier: MIT */
/*
 * Who sends next (RFC 9218): the lowest urgency first; within one, incremental streams take turns
 * and the others go one after the other by id, the two groups alternating. Holds only streams that
 * can send: what a stream waits for (data, window) is not its business.
 */
#ifndef PUSHGATE_H2_SCHED_H
#define PUSHGATE_H2_SCHED_H

#include "proxy/base/list.h"
#include "proxy/http/priority.h"

#define H2_URGENCIES 8u

enum h2_ready {
	H2_READY_NOT,
	H2_READY_DATA, /* has bytes and stream window: needs connection window too */
	/* only the end is left, an empty frame that needs no window (RFC 9113 6.9.1) */
	H2_READY_END,
};

/* A stream's place; embedded in it. */
struct h2_place {
	struct list link;
	uint32_t id;
	struct http_priority priority;
	uint8_t ready; /* enum h2_ready */
};

/* Rings of places without a head: the first one, or NULL. An idle connection has 17 of them. */
struct h2_sched {
	struct h2_place *ends;
	struct h2_place *ordered[H2_URGENCIES]; /* not incremental, by id */
	struct h2_place *turns[H2_URGENCIES];   /* incremental, the longest waiting first */
	uint8_t busy;                           /* bit u: ordered[u] or turns[u] is not empty */
	uint8_t turn_next;                      /* bit u: it is the incremental group's turn */
};

void h2_sched_init(struct h2_sched *s);
void h2_place_init(struct h2_place *p, uint32_t id, struct http_priority priority);
/* Puts the place where it belongs now (H2_READY_NOT: nowhere). Keeps its turn when nothing changed.
 * */
void h2_sched_set(struct h2_sched *s, struct h2_place *p, enum h2_ready ready);
void h2_sched_set_priority(struct h2_sched *s, struct h2_place *p, struct http_priority priority);
/* The one to send; NULL when none. `data`: there is connection window for bytes. */
struct h2_place *h2_sched_first(const struct h2_sched *s, bool data);
/* For the invariants: does the place stand in the ring of its readiness, or in none? */
bool h2_sched_agrees(const struct h2_sched *s, const struct h2_place *p);
/* It has sent a frame and is still ready: the next one's turn. */
void h2_sched_took_turn(struct h2_sched *s, struct h2_place *p);

#endif
