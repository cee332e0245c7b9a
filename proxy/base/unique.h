/* SPDX-License-Identifier: MIT */
/*
 * Numbers for ids, which need not be secret, and of which each request takes some, so that the system is not asked for
 * them. One source never gives a number twice; two sources give different ones.
 */
#ifndef PUSHGATE_BASE_UNIQUE_H
#define PUSHGATE_BASE_UNIQUE_H

#include "proxy/base/hash.h"

struct unique {
	uint64_t drawn, key; /* both begin at random */
};

static inline struct unique unique_new(void)
{
	return (struct unique){hash_random_seed(), hash_random_seed()};
}

/* Odd, with about half of the bits set: fractional parts of square roots of 6 and 7. */
#define UNIQUE_ROOT_6 UINT64_C(0x7311c2812425cfa1)
#define UNIQUE_ROOT_7 UINT64_C(0xa54ff53a5f1d36f1)

/* Each step can be undone, so no number comes twice. The key makes the numbers of two sources differ. */
static inline uint64_t unique_next(struct unique *u)
{
	uint64_t x = u->drawn += UNIQUE_ROOT_6;
	x = (x ^ x >> 32 ^ u->key) * UNIQUE_ROOT_7;
	return x ^ x >> 32;
}

#endif
