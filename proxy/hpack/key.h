/* SPDX-License-Identifier: MIT */
/*
 * The key that http_field.hash carries from a decoder to an encoder: the index of a field in the
 * static table (key_is_static), else that of http/field_key.h. 0 = unknown.
 */
#ifndef PUSHGATE_HPACK_KEY_H
#define PUSHGATE_HPACK_KEY_H

#include "proxy/hpack/static.h"
#include "proxy/http/field_key.h"

_Static_assert(STATIC_ENTRIES == HTTP_STATIC_FIELDS, "keys are above the static table's indices");

static inline bool key_is_static(uint32_t key)
{
	return key - 1 < STATIC_ENTRIES;
}

static inline uint32_t key_of_field(
    uint64_t seed, uint16_t token, struct slice name, struct slice value)
{
	uint32_t index = static_find((enum http_token)token, value);
	return index != 0 ? index : http_field_key(seed, token, name, value);
}

#endif
