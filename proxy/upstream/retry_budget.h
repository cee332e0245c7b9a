/* SPDX-License-Identifier: MIT */
/*
 * How many requests to one origin may be sent again although a server may have processed them, or its only server has
 * refused them twice: a share of its requests, so that retries cannot multiply the load of servers that fail because they have too much. Pure: no
 * clock but the time that it is given.
 *
 * Each request earns its share, which is kept for ten seconds. An origin with few requests may have
 * RETRY_FLOOR_PER_SECOND beside.
 */
#ifndef PUSHGATE_UPSTREAM_RETRY_BUDGET_H
#define PUSHGATE_UPSTREAM_RETRY_BUDGET_H

#include "proxy/base/rate.h"

#define RETRY_WINDOW_USEC (10 * USEC_PER_SEC)
#define RETRY_FLOOR_PER_SECOND 3u
#define RETRY_FLOOR_BURST 10u

/* Initialize `at` with the time, all else with zeroes. */
struct retry_budget {
	uint64_t requests; /* since `at` */
	uint64_t earned;   /* ten-thousandths of a retry, at `at` */
	usec at;
	struct bucket floor;
};

/* A request was sent, which is no retry. */
static inline void retry_budget_earn(struct retry_budget *b)
{
	b->requests++;
}

/* share: ten-thousandths of the requests; 0: no retry at all. False: the budget is used up. */
bool retry_budget_take(struct retry_budget *b, uint32_t share, usec now);

#endif
