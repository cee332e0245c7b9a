/* SPDX-License-Identifier: MIT */
/*
 * Hashing. hash_bytes is seeded: while the seed is secret, peers cannot choose keys that collide.
 * It is not a cryptographic digest.
 */
#ifndef PUSHGATE_BASE_HASH_H
#define PUSHGATE_BASE_HASH_H

#include "proxy/base/slice.h"

/* Fast: eight bytes per step. */
uint64_t hash_bytes(uint64_t seed, const void *ptr, size_t len);

/* Random bytes from the kernel; aborts if it has none. */
void hash_random(void *out, size_t len);
uint64_t hash_random_seed(void);

#endif
