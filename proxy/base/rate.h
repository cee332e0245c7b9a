/* SPDX-License-Identifier: MIT */
/*
 * Rate limits: a rate is the allowed frequency, a bucket the tokens used of it. A token is a time: the one in which the
 * rate refills it. So a bucket is kept as the time at which it will be full again, and a full one has nothing to keep.
 */
#ifndef PUSHGATE_BASE_RATE_H
#define PUSHGATE_BASE_RATE_H

#include "proxy/base/clock.h"
#include <stdbool.h>

#define NSEC_PER_USEC UINT64_C(1000)
#define NSEC_PER_SEC (NSEC_PER_USEC * USEC_PER_SEC)

/* per_second tokens on average, and up to `burst` tokens at once. */
struct rate {
	uint32_t per_second, burst;
};

/* A token bucket. Initialize with zeroes: a full bucket. */
struct bucket {
	uint64_t full_at_nsec;
};

/* Takes all the tokens or none. False: the bucket has fewer. */
bool bucket_take(struct bucket *b, const struct rate *rate, uint32_t tokens, usec now);
/* Gives back thousandths of a token; a full bucket stays full. */
void bucket_give(struct bucket *b, const struct rate *rate, uint64_t thousandths);

/* For rates of other kinds: their owner has the nanoseconds of a token and of a whole bucket. */

static inline bool bucket_is_full(const struct bucket *b, usec now)
{
	return b->full_at_nsec <= now * NSEC_PER_USEC;
}
/* How long until so much can be taken; 0: it can now. */
static inline usec bucket_wait(const struct bucket *b, uint64_t nsec, uint64_t size_nsec, usec now)
{
	uint64_t now_nsec = now * NSEC_PER_USEC, most = now_nsec + size_nsec;
	uint64_t full = (bucket_is_full(b, now) ? now_nsec : b->full_at_nsec) + nsec;
	return full <= most ? 0 : (full - most + NSEC_PER_USEC - 1) / NSEC_PER_USEC;
}
/* Takes it, though the bucket may have less. */
static inline void bucket_spend(struct bucket *b, uint64_t nsec, usec now)
{
	b->full_at_nsec = (bucket_is_full(b, now) ? now * NSEC_PER_USEC : b->full_at_nsec) + nsec;
}
static inline void bucket_pay_back(struct bucket *b, uint64_t nsec)
{
	b->full_at_nsec -= nsec < b->full_at_nsec ? nsec : b->full_at_nsec;
}

#endif
