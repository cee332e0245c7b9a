/* SPDX-License-Identifier: MIT */
/* The long form of HPACK's integers (RFC 7541 5.1). */
#include "proxy/hpack/integer.h"

bool integer_decode_more(
    const uint8_t **at, const uint8_t *end, uint32_t prefix_max, uint32_t *value)
{
	uint64_t sum = prefix_max;
	const uint8_t *p = *at;

	for (unsigned shift = 0; shift <= 28; shift += 7) {
		if (p == end)
			return false;
		uint8_t byte = *p++;
		sum += (uint64_t)(byte & 0x7f) << shift;
		if (sum > UINT32_MAX)
			return false;
		if (!(byte & 0x80)) {
			*at = p;
			*value = (uint32_t)sum;
			return true;
		}
	}
	return false;
}

uint8_t *integer_encode_more(uint8_t *at, uint32_t rest)
{
	for (; rest >= 0x80; rest >>= 7)
		*at++ = (uint8_t)(0x80 | (rest & 0x7f));
	*at++ = (uint8_t)rest;
	return at;
}
