/* SPDX-License-Identifier: MIT */
/*
 * Classes of bytes in one table, and lower case, for ASCII alone: a byte from 128 on is in no class
 * and has no case. Independent of the locale.
 */
#ifndef PUSHGATE_BASE_ASCII_H
#define PUSHGATE_BASE_ASCII_H

#include "proxy/base/slice.h"

enum {
	ASCII_UPPER = 1,
	ASCII_LOWER = 2,
	ASCII_DIGIT = 4,
	ASCII_SCHEME_MARK = 8, /* + - . */
	ASCII_TOKEN_MARK = 16, /* the other marks of a tchar */
	ASCII_HEX_LETTER = 32, /* of either case */
	ASCII_HOST_MARK = 64,  /* RFC 3986: marks of unreserved and sub-delims */
	ASCII_DASH = 128,      /* - alone */
	ASCII_CONTROL = 256,   /* and DEL, without HTAB: in no field value (RFC 9110 5.5) */

	ASCII_ALPHA = ASCII_UPPER | ASCII_LOWER,
	ASCII_ALNUM = ASCII_ALPHA | ASCII_DIGIT,
	ASCII_HEX = ASCII_DIGIT | ASCII_HEX_LETTER,
	ASCII_SCHEME = ASCII_ALNUM | ASCII_SCHEME_MARK,           /* RFC 3986 3.1 */
	ASCII_TOKEN = ASCII_SCHEME | ASCII_TOKEN_MARK,            /* RFC 9110 5.6.2 tchar */
	ASCII_LOWER_TOKEN = ASCII_TOKEN & ~(unsigned)ASCII_UPPER, /* RFC 9113 8.2.1 */
	ASCII_USUAL_NAME = ASCII_LOWER | ASCII_DIGIT | ASCII_DASH /* most names of fields */
};

extern const uint16_t ascii_classes[256];

/* Is the byte in one of the classes? */
static inline bool ascii_is(char c, unsigned classes)
{
	return (ascii_classes[(unsigned char)c] & classes) != 0;
}

/* Is each byte? True for the empty slice. */
static inline bool ascii_all(struct slice s, unsigned classes)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!ascii_is(s.ptr[i], classes))
			return false;
	}
	return true;
}

/* Is some byte? */
static inline bool ascii_has(struct slice s, unsigned classes)
{
	for (size_t i = 0; i < s.len; i++) {
		if (ascii_is(s.ptr[i], classes))
			return true;
	}
	return false;
}

/* Is each byte visible, 0x21 to 0x7e? Eight at a time, because a text may have megabytes. */
bool ascii_is_visible(struct slice text);

/* How many bytes at the beginning are in one of the classes. */
static inline size_t ascii_span(struct slice s, unsigned classes)
{
	size_t n = 0;
	while (n < s.len && ascii_is(s.ptr[n], classes))
		n++;
	return n;
}

static inline bool ascii_is_token(struct slice s)
{
	return s.len > 0 && ascii_all(s, ASCII_TOKEN);
}

/* RFC 9110 5.6.3: a byte of OWS. */
static inline bool ascii_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Of a hexadecimal digit; -1: it is none. */
static inline int ascii_hex_value(char c)
{
	if (ascii_is(c, ASCII_DIGIT))
		return c - '0';
	return ascii_is(c, ASCII_HEX) ? ascii_lower(c) - 'a' + 10 : -1;
}

/* The byte, 0 to 255, that s begins with as percent-encoding (RFC 3986 2.1); -1: it begins with none. */
static inline int ascii_percent_byte(struct slice s)
{
	int high = s.len >= 3 && s.ptr[0] == '%' ? ascii_hex_value(s.ptr[1]) : -1;
	int low = high >= 0 ? ascii_hex_value(s.ptr[2]) : -1;
	return low >= 0 ? high << 4 | low : -1;
}

/* Eight bytes at a time: the sums carry into a byte's highest bit when it is at least 'A', and when it is
 * above 'Z'. Bytes from 128 on stay as they are. */
static inline uint64_t ascii_lower_word(uint64_t word)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones * 0x80;
	uint64_t low = word & ~highs;
	uint64_t is_upper = ((low + ones * (0x80 - 'A')) ^ (low + ones * (0x7f - 'Z'))) & ~word;
	return word | (is_upper & highs) >> 2;
}

/* Of `bytes` bytes, 4 or 8. */
static inline __attribute__((always_inline)) void ascii_lower_some(
    char *to, const char *from, size_t bytes)
{
	uint64_t word = 0;
	memcpy(&word, from, bytes);
	word = ascii_lower_word(word);
	memcpy(to, &word, bytes);
}

/* `to` has room for s.len bytes; it may be where s stands. The last bytes may be done twice. */
static inline void ascii_lower_copy(char *to, struct slice s)
{
	size_t i = 0;
	for (; i + 8 <= s.len; i += 8)
		ascii_lower_some(to + i, s.ptr + i, 8);
	if (s.len >= 8) {
		ascii_lower_some(to + s.len - 8, s.ptr + s.len - 8, 8);
		return;
	}
	if (s.len >= 4) {
		ascii_lower_some(to, s.ptr, 4);
		ascii_lower_some(to + s.len - 4, s.ptr + s.len - 4, 4);
		return;
	}
	for (; i < s.len; i++)
		to[i] = ascii_lower(s.ptr[i]);
}

#endif
