/* SPDX-License-Identifier: MIT */
/*
 * The key that http_field.hash carries from a decoder to an encoder: the index of a field in the
 * static table (key_is_static), else a seeded hash of name and value. 0 = unknown.
 */
#ifndef PUSHGATE_HPACK_KEY_H
#define PUSHGATE_HPACK_KEY_H

#include "proxy/base/hash.h"
#include "proxy/hpack/static.h"

static inline bool key_is_static(uint32_t key)
{
	return key - 1 < STATIC_ENTRIES;
}

/* A name with a token is hashed by the token's number. */
static inline uint64_t key_of_name(uint64_t seed, uint16_t token, struct slice name)
{
	if (token != HTTP_TOKEN_NONE)
		return (seed ^ token) * UINT64_C(0x9e3779b97f4a7c15);
	return hash_bytes(seed, name.ptr, name.len);
}

static inline uint32_t key_of_field(
    uint64_t seed, uint16_t token, struct slice name, struct slice value)
{
	uint32_t index = static_find((enum http_token)token, value);

	if (index != 0)
		return index;
	uint64_t hash = hash_bytes(key_of_name(seed, token, name), value.ptr, value.len);
	uint32_t key = (uint32_t)(hash ^ hash >> 32);
	/* uncovered: one of 61 values of a 32-bit hash with a random seed */
	return key > STATIC_ENTRIES ? key : key + STATIC_ENTRIES + 1;
}

#endif
