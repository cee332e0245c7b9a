/* SPDX-License-Identifier: MIT */
/* See base64.h. */
#include "proxy/base/base64.h"

#include <stdint.h>

#define DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
static const char plain[] = DIGITS "+/", url[] = DIGITS "-_";

static size_t encode(const char *digits, struct slice bytes, char *text)
{
	const uint8_t *in = (const uint8_t *)bytes.ptr;
	uint32_t bits = 0, bit_count = 0;
	size_t n = 0;
	for (size_t i = 0; i < bytes.len; i++) {
		bits = bits << 8 | in[i];
		for (bit_count += 8; bit_count >= 6; bit_count -= 6)
			text[n++] = digits[bits >> (bit_count - 6) & 63];
	}
	if (bit_count > 0)
		text[n++] = digits[bits << (6 - bit_count) & 63];
	return n;
}

size_t base64_encode(struct slice bytes, char *text)
{
	size_t n = encode(plain, bytes, text);
	while (n % 4 != 0)
		text[n++] = '=';
	text[n] = '\0';
	return n;
}

size_t base64url_encode(struct slice bytes, char *text)
{
	return encode(url, bytes, text);
}

/* The six bits of a character; 64: it is none. */
static unsigned bits_of(const char *digits, char c)
{
	if (c >= 'A' && c <= 'Z')
		return (unsigned)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (unsigned)(c - 'a') + 26;
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0') + 52;
	return c == digits[62] ? 62 : c == digits[63] ? 63 : 64;
}

static bool decode(
    const char *digits, struct slice text, uint8_t *bytes, size_t most, size_t *length)
{
	uint32_t bits = 0, bit_count = 0;
	*length = 0;
	for (size_t i = 0; i < text.len; i++) {
		unsigned six = bits_of(digits, text.ptr[i]);
		if (six > 63)
			return false;
		bits = bits << 6 | six;
		bit_count += 6;
		if (bit_count < 8)
			continue;
		bit_count -= 8;
		if (*length == most)
			return false;
		bytes[(*length)++] = (uint8_t)(bits >> bit_count);
	}
	return text.len % 4 != 1 && (bits & ((1u << bit_count) - 1)) == 0;
}

bool base64_decode(struct slice text, void *bytes, size_t most, size_t *length)
{
	bool is_whole = text.len % 4 == 0;
	for (int i = 0; i < 2 && text.len > 0 && text.ptr[text.len - 1] == '='; i++)
		text.len--;
	return is_whole && decode(plain, text, bytes, most, length);
}

bool base64url_decode(struct slice text, void *bytes, size_t most, size_t *length)
{
	return decode(url, text, bytes, most, length);
}
