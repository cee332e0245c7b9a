/* SPDX-License-Identifier: MIT */
/* See basic.h. */
#include "proxy/http/basic.h"

#include "proxy/base/ascii.h"

/* The six bits of a character of base64; 64: it is none. */
static unsigned bits_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (unsigned)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (unsigned)(c - 'a') + 26;
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0') + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : 64;
}

/* Three bytes of four characters, of which `padding` are '='. */
static bool decode_group(const char *from, size_t padding, unsigned char out[3])
{
	unsigned bits = 0;
	for (size_t i = 0; i < 4; i++) {
		unsigned six = i + padding < 4 ? bits_of(from[i]) : 0;
		if (six > 63)
			return false;
		bits = bits << 6 | six;
	}
	/* The bits that no byte takes must be 0: each text has one form. */
	if ((padding == 1 && (bits & 0xff) != 0) || (padding == 2 && (bits & 0xffff) != 0))
		return false;
	out[0] = (unsigned char)(bits >> 16);
	out[1] = (unsigned char)(bits >> 8);
	out[2] = (unsigned char)bits;
	return true;
}

static bool decode(struct slice text, char buffer[HTTP_BASIC_BYTES], size_t *length)
{
	if (text.len == 0 || text.len % 4 != 0 || text.len / 4 * 3 > HTTP_BASIC_BYTES + 2)
		return false;
	for (size_t i = 0, at = 0; i < text.len; i += 4) {
		bool is_last = i + 4 == text.len;
		size_t padding = 0;
		unsigned char out[3];
		while (is_last && padding < 2 && text.ptr[i + 3 - padding] == '=')
			padding++;
		if (!decode_group(text.ptr + i, padding, out) ||
		    at + 3 - padding > HTTP_BASIC_BYTES)
			return false;
		for (size_t k = 0; k < 3 - padding; k++)
			buffer[at++] = (char)out[k];
		*length = at;
	}
	return true;
}

bool http_basic_parse(
    struct slice value, char buffer[HTTP_BASIC_BYTES], struct slice *name, struct slice *password)
{
	size_t length, space = slice_find(value, ' ');
	if (!slice_equal_nocase(slice_sub(value, 0, space), SLICE("basic")) ||
	    !decode(slice_trim(slice_from(value, space)), buffer, &length))
		return false;
	struct slice both = slice_of(buffer, length);
	size_t colon = slice_find(both, ':');
	*name = slice_sub(both, 0, colon);
	*password = slice_from(both, colon + 1);
	return colon < length && !ascii_has(both, ASCII_CONTROL) &&
	       slice_find(both, '\t') == length;
}
