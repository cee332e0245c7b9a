/* SPDX-License-Identifier: MIT */
/* Which bytes are a character of UTF-8 (RFC 3629 4). */
#ifndef PUSHGATE_BASE_UTF8_H
#define PUSHGATE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool utf8_is_between(uint8_t byte, uint8_t low, uint8_t high)
{
	return byte >= low && byte <= high;
}

/*
 * Length of the non-ASCII character at p, 0: none. Terminals interpret C1 controls:
 * they count as none.
 */
static inline size_t utf8_length(const uint8_t *p, size_t left)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t length;
	if (utf8_is_between(p[0], 0xc2, 0xdf)) {
		length = 2;
		low = p[0] == 0xc2 ? 0xa0 : 0x80;
	} else if (utf8_is_between(p[0], 0xe0, 0xef)) {
		length = 3;
		low = p[0] == 0xe0 ? 0xa0 : 0x80;
		high = p[0] == 0xed ? 0x9f : 0xbf;
	} else if (utf8_is_between(p[0], 0xf0, 0xf4)) {
		length = 4;
		low = p[0] == 0xf0 ? 0x90 : 0x80;
		high = p[0] == 0xf4 ? 0x8f : 0xbf;
	} else {
		return 0;
	}
	if (left < length || !utf8_is_between(p[1], low, high))
		return 0;
	for (size_t i = 2; i < length; i++)
		if (!utf8_is_between(p[i], 0x80, 0xbf))
			return 0;
	return length;
}

#endif
