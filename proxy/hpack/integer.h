/* SPDX-License-Identifier: MIT */
/* HPACK's integers with a prefix (RFC 7541 5.1), bounded to 32 bits. */
#ifndef PUSHGATE_HPACK_INTEGER_H
#define PUSHGATE_HPACK_INTEGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest integer: the prefix and five more bytes. */
#define INTEGER_BYTES_MAX 6u

/*
 * Reads the rest of an integer whose prefix is full (`prefix_max`) and advances *at. False:
 * truncated, longer than five bytes, or above 32 bits.
 */
bool integer_decode_more(
    const uint8_t **at, const uint8_t *end, uint32_t prefix_max, uint32_t *value);

/* Writes the part of a value above the full prefix. Returns the end. */
uint8_t *integer_encode_more(uint8_t *at, uint32_t rest);

/*
 * Reads the integer that begins in the low `prefix` bits of **at. There must be at least one byte.
 */
static inline bool integer_decode(
    const uint8_t **at, const uint8_t *end, unsigned prefix, uint32_t *value)
{
	uint32_t prefix_max = (1u << prefix) - 1;

	*value = *(*at)++ & prefix_max;
	return *value < prefix_max || integer_decode_more(at, end, prefix_max, value);
}

/* Writes the integer into the bits below `flags` and the following bytes. Returns the end. */
static inline uint8_t *integer_encode(uint8_t *at, uint8_t flags, unsigned prefix, uint32_t value)
{
	uint32_t prefix_max = (1u << prefix) - 1;

	if (value < prefix_max) {
		*at++ = (uint8_t)(flags | value);
		return at;
	}
	*at++ = (uint8_t)(flags | prefix_max);
	return integer_encode_more(at, value - prefix_max);
}

#endif
