/* SPDX-License-Identifier: MIT */
/* Rate limits: a rate is the allowed frequency, a bucket the tokens used of it. */
#ifndef PUSHGATE_BASE_RATE_H
#define PUSHGATE_BASE_RATE_H

#include "proxy/base/clock.h"
#include <stdbool.h>

/* per_second tokens on average, and up to `burst` tokens at once. */
struct rate {
	uint32_t per_second, burst;
};

/* A token bucket. Initialize with zeroes: a full bucket. */
struct bucket {
	uint64_t spent; /* millionths of a token */
	usec at;        /* the time at which `spent` was computed */
};

/* Takes all the tokens or none. False: the bucket has fewer. */
bool bucket_take(struct bucket *b, const struct rate *rate, uint32_t tokens, usec now);
/* Gives back thousandths of a token, at most what is spent. */
void bucket_give(struct bucket *b, uint64_t thousandths);

#endif
