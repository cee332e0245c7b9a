/* SPDX-License-Identifier: MIT */
/* HPACK's integers with a prefix (RFC 7541 5.1), bounded to 32 bits. */
#ifndef PUSHGATE_HPACK_INTEGER_H
#define PUSHGATE_HPACK_INTEGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an integer takes at most: the prefix and five more bytes. */
#define INTEGER_BYTES_MAX 6u

/* The continuation of an integer whose prefix was full (`prefix_max`). *at is advanced. False:
 * cut off, longer than five bytes, or above 32 bits. */
bool integer_decode_more(
    const uint8_t **at, const uint8_t *end, uint32_t prefix_max, uint32_t *value);

/* Writes what is left of a value above the full prefix; returns where it ends. */
uint8_t *integer_encode_more(uint8_t *at, uint32_t rest);

/* Reads the integer that begins in the low `prefix` bits of **at (there is one byte at least). */
static inline bool integer_decode(
    const uint8_t **at, const uint8_t *end, unsigned prefix, uint32_t *value)
{
	uint32_t prefix_max = (1u << prefix) - 1;

	*value = *(*at)++ & prefix_max;
	return *value < prefix_max || integer_decode_more(at, end, prefix_max, value);
}

/* Writes the integer below the bits of `flags`; returns where it ends. */
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
