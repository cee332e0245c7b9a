/* SPDX-License-Identifier: MIT */
/* How often something may happen: a rate is what is allowed, a bucket what is left of it. */
#ifndef PUSHGATE_BASE_RATE_H
#define PUSHGATE_BASE_RATE_H

#include "proxy/base/clock.h"
#include <stdbool.h>

/* On average so many tokens a second, and `burst` at once after a rest. */
struct rate {
	uint32_t per_second, burst;
};

/* A token bucket of some rate. Zero is a full one. */
struct bucket {
	uint64_t spent; /* millionths of a token */
	usec at;        /* until when `spent` is true */
};

/* Takes so many tokens, all or none. False: there are not so many. */
bool bucket_take(struct bucket *b, const struct rate *rate, uint32_t tokens, usec now);
/* Gives back thousandths of a token, as far as any are spent. */
void bucket_give(struct bucket *b, uint64_t thousandths);

#endif
