/* SPDX-License-Identifier: MIT */
/* The table of byte classes, and visible bytes; see ascii.h. */
#include "proxy/base/ascii.h"

const uint16_t ascii_classes[256] = {
    [0x00 ... 0x08] = ASCII_CONTROL,
    [0x0a ... 0x1f] = ASCII_CONTROL,
    [0x7f] = ASCII_CONTROL,
    ['0' ... '9'] = ASCII_DIGIT,
    ['A' ... 'F'] = ASCII_UPPER | ASCII_HEX_LETTER,
    ['G' ... 'Z'] = ASCII_UPPER,
    ['a' ... 'f'] = ASCII_LOWER | ASCII_HEX_LETTER,
    ['g' ... 'z'] = ASCII_LOWER,
    ['!'] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
    ['#'] = ASCII_TOKEN_MARK,
    ['$'] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
    ['%'] = ASCII_TOKEN_MARK,
    ['&'] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
    ['\''] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
    ['('] = ASCII_HOST_MARK,
    [')'] = ASCII_HOST_MARK,
    ['*'] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
    ['+'] = ASCII_SCHEME_MARK | ASCII_HOST_MARK,
    [','] = ASCII_HOST_MARK,
    ['-'] = ASCII_SCHEME_MARK | ASCII_HOST_MARK | ASCII_DASH,
    ['.'] = ASCII_SCHEME_MARK | ASCII_HOST_MARK,
    [';'] = ASCII_HOST_MARK,
    ['='] = ASCII_HOST_MARK,
    ['^'] = ASCII_TOKEN_MARK,
    ['_'] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
    ['`'] = ASCII_TOKEN_MARK,
    ['|'] = ASCII_TOKEN_MARK,
    ['~'] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
};

bool ascii_is_visible(struct slice text)
{
	const uint64_t each = 0x0101010101010101u, high = 0x80 * each;
	uint64_t wrong = 0;
	size_t i = 0;
	for (; i + sizeof(wrong) <= text.len; i += sizeof(wrong)) {
		uint64_t word;
		memcpy(&word, text.ptr + i, sizeof(word));
		/* With no high bit set, no byte carries into the next: 0x21 … 0x7e have none in all three. */
		wrong |= (word | (word + each) | ~((word | high) - 0x21 * each)) & high;
	}
	for (; i < text.len; i++)
		wrong |= (uint64_t)(text.ptr[i] <= ' ' || text.ptr[i] >= 0x7f);
	return wrong == 0;
}
