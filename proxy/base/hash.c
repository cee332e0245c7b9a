/* SPDX-License-Identifier: MIT */
/*
 * Hashing by multiply and fold: each step multiplies 64 bits by a secret odd number into 128 and
 * adds both halves without carry. The multiplier comes from the seed, so a peer that does not know
 * the seed cannot choose bytes that cancel a step. It is not a digest and not stable between
 * releases.
 */
#include "proxy/base/hash.h"

#include "proxy/base/ensure.h"

#include <errno.h>
#include <sys/random.h>

/* Odd, with about half of the bits set: fractional parts of square roots of 2, 3 and 5. */
#define ROOT_2 UINT64_C(0x6a09e667f3bcc909)
#define ROOT_3 UINT64_C(0xbb67ae8584caa73b)
#define ROOT_5 UINT64_C(0x3c6ef372fe94f82b)

static inline uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t load8(const unsigned char *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t load4(const unsigned char *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

uint64_t hash_bytes(uint64_t seed, const void *ptr, size_t len)
{
	const unsigned char *p = ptr;
	uint64_t key = (seed + ROOT_2) | 1;
	uint64_t h = fold(seed ^ ROOT_3, ROOT_5 + len);
	if (len > 8) {
		for (size_t left = len; left > 8; left -= 8, p += 8)
			h = fold(h ^ load8(p), key);
		/*
		 * Read the last eight bytes, which may overlap those read before, instead of a
		 * partial tail.
		 */
		h ^= load8((const unsigned char *)ptr + len - 8);
	} else if (len >= 4) {
		h ^= load4(p) | load4(p + len - 4) << 32;
	} else if (len > 0) {
		h ^= (uint64_t)p[0] | (uint64_t)p[len / 2] << 8 | (uint64_t)p[len - 1] << 16;
	}
	return fold(fold(h, key) ^ ROOT_2, ROOT_3);
}

void hash_random(void *out, size_t len)
{
	char *at = out;
	while (len > 0) {
		ssize_t n = getrandom(at, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		ensure(n > 0);
		at += n;
		len -= (size_t)n;
	}
}

uint64_t hash_random_seed(void)
{
	uint64_t seed;
	hash_random(&seed, sizeof(seed));
	return seed;
}
