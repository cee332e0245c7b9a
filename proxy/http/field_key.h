/* SPDX-License-Identifier: MIT */
/*
 * The key in http_field.hash, which saves hpack from hashing a field again: a seeded hash of name and value, above the
 * indices of HPACK's static table, which are keys of their own. All of a worker have one seed.
 */
#ifndef PUSHGATE_HTTP_FIELD_KEY_H
#define PUSHGATE_HTTP_FIELD_KEY_H

#include "proxy/base/hash.h"
#include "proxy/http/token.h"

#define HTTP_STATIC_FIELDS 61u /* RFC 7541 A */

/* A name with a token is hashed by the token's number. */
static inline uint64_t http_name_key(uint64_t seed, uint16_t token, struct slice name)
{
	if (token != HTTP_TOKEN_NONE)
		return (seed ^ token) * UINT64_C(0x9e3779b97f4a7c15);
	return hash_bytes(seed, name.ptr, name.len);
}

/* Of a field that the static table lacks. */
static inline uint32_t http_field_key(
    uint64_t seed, uint16_t token, struct slice name, struct slice value)
{
	uint64_t hash = hash_bytes(http_name_key(seed, token, name), value.ptr, value.len);
	uint32_t key = (uint32_t)(hash ^ hash >> 32);
	/* uncovered: one of 61 values of a 32-bit hash with a random seed */
	return key > HTTP_STATIC_FIELDS ? key : key + HTTP_STATIC_FIELDS + 1;
}

#endif
