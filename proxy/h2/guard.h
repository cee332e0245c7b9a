/* SPDX-License-Identifier: MIT */
/*
 * The guard: how often a peer may do something before it counts as an attack (RFC 9113 10.5). One
 * token bucket per row. Useful work refunds tokens, so that a busy honest peer never runs out: the
 * rates bound only useless work.
 */
#ifndef PUSHGATE_H2_GUARD_H
#define PUSHGATE_H2_GUARD_H

#include "proxy/h2/h2_fault.h"

enum h2_guarded {
	H2_GUARDED_RESETS,
	H2_GUARDED_PROVOKED,
	H2_GUARDED_PINGS,
	H2_GUARDED_SETTINGS,
	H2_GUARDED_PRIORITIES,
	H2_GUARDED_EMPTY,
	H2_GUARDED_WINDOWS,
	H2_GUARDED_PROMISES,
	H2_GUARDED_BLOCKS,
	H2_GUARDED_EXPANSION, /* a token for each KiB */
	H2_GUARDED_COUNT
};

/* Work that refunds tokens. */
enum h2_work {
	H2_WORK_EXCHANGE, /* a request and its response ended normally */
	H2_WORK_REQUEST,  /* this side opened a request */
	H2_WORK_PROMISE,  /* this side made a promise, which the peer may reset */
	H2_WORK_DATA_OUT, /* this side sent a DATA frame */
	H2_WORK_COUNT
};

struct h2_guard_row {
	const char *name;
	size_t offset; /* of the struct rate in struct h2_limits */
	enum h2_fault_id fault;
	uint16_t refund[H2_WORK_COUNT]; /* thousandths of a token */
};

extern const struct h2_guard_row h2_guard_rows[H2_GUARDED_COUNT];

struct h2_guard {
	const struct h2_limits *limits; /* borrows */
	uint32_t in_debt;               /* a bit for each bucket that may have spent tokens */
	struct bucket buckets[H2_GUARDED_COUNT];
};

void h2_guard_init(struct h2_guard *g, const struct h2_limits *limits);
/* Takes tokens, or one. NULL, or the row's fault if the bucket has not so many. */
const struct session_fault *h2_guard_take(
    struct h2_guard *g, enum h2_guarded what, uint32_t tokens, usec now);
static inline const struct session_fault *h2_guard_count(
    struct h2_guard *g, enum h2_guarded what, usec now)
{
	return h2_guard_take(g, what, 1, now);
}
void h2_guard_refund(struct h2_guard *g, enum h2_work work, usec now);

#endif
