/* SPDX-License-Identifier: MIT */
/*
 * Hashing. hash_bytes is seeded and resists flooding by keys that a peer chooses as long as the
 * seed stays secret; it is not a cryptographic digest.
 */
#ifndef PUSHGATE_BASE_HASH_H
#define PUSHGATE_BASE_HASH_H

#include "proxy/base/slice.h"

/* Fast: eight bytes a step. */
uint64_t hash_bytes(uint64_t seed, const void *ptr, size_t len);

/* From the kernel; aborts when there is none. */
void hash_random(void *out, size_t len);
uint64_t hash_random_seed(void);

#endif
