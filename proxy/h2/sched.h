/* SPDX-License-Identifier: MIT */
/*
 * Chooses the stream that sends next (RFC 9218): the most urgent first (lowest value). Within one
 * urgency, incremental streams take turns, the others are sent one after the other by id, and the
 * two groups alternate. It holds only streams that can send now; their owner tracks data and
 * windows.
 */
#ifndef PUSHGATE_H2_SCHED_H
#define PUSHGATE_H2_SCHED_H

#include "proxy/base/list.h"
#include "proxy/http/priority.h"

#define H2_URGENCIES 8u

enum h2_ready {
	H2_READY_NOT,
	H2_READY_DATA, /* has bytes and stream window; also needs connection window */
	/*
	 * has only the end of the stream left: an empty frame, which needs no window (RFC 9113
	 * 6.9.1)
	 */
	H2_READY_END,
};

/* A stream's place in the scheduler; embedded in the stream. */
struct h2_place {
	struct list link;
	uint32_t id;
	struct http_priority priority;
	uint8_t ready; /* enum h2_ready */
};

/* Rings of places without a head: the first one, or NULL. An idle connection has 17 of them. Initialize
 * with zeroes: empty. */
struct h2_sched {
	struct h2_place *ends;
	struct h2_place *ordered[H2_URGENCIES]; /* not incremental, by id */
	struct h2_place
	    *turns[H2_URGENCIES]; /* incremental; the one that waited longest is first */
	uint8_t busy;             /* bit u: ordered[u] or turns[u] is not empty */
	uint8_t turn_next;        /* bit u: it is the incremental group's turn */
};

void h2_place_init(struct h2_place *p, uint32_t id, struct http_priority priority);
/* Puts the stream into its list (H2_READY_NOT: into none). It keeps its turn if nothing changed. */
void h2_sched_set(struct h2_sched *s, struct h2_place *p, enum h2_ready ready);
void h2_sched_set_priority(struct h2_sched *s, struct h2_place *p, struct http_priority priority);
/* The stream to send from, or NULL. `data`: the connection window is not used up. */
struct h2_place *h2_sched_first(const struct h2_sched *s, bool data);
/* For the invariants: the place is in the ring of its readiness, or in none if it is not ready. */
bool h2_sched_agrees(const struct h2_sched *s, const struct h2_place *p);
/* The stream has sent a frame and is still ready: the next stream's turn. */
void h2_sched_took_turn(struct h2_sched *s, struct h2_place *p);

#endif
