/* SPDX-License-Identifier: MIT */
/* See query.h. As browsers send forms: percent-encoded, with "+" for a space. */
#include "proxy/admin/query.h"

#include "proxy/base/ascii.h"

static void decode(struct slice text, char *value, size_t size)
{
	size_t n = 0;
	while (text.len > 0 && n + 1 < size) {
		int byte = ascii_percent_byte(text);
		size_t length = byte > 0 ? 3 : 1;
		char c = byte > 0 ? (char)byte : slice_peek(text);
		value[n++] = c == '+' && byte <= 0 ? ' ' : c;
		slice_skip(&text, length);
	}
	value[n] = '\0';
}

bool query_value(struct slice query, const char *name, char *value, size_t size)
{
	value[0] = '\0';
	while (query.len > 0) {
		struct slice text = slice_cut(&query, '&');
		struct slice key = slice_cut(&text, '=');
		if (!slice_equal(key, slice_of_string(name)))
			continue;
		decode(text, value, size);
		return true;
	}
	return false;
}
