/* SPDX-License-Identifier: MIT */
/*
 * Globs without recursion: on a mismatch only the last `*` takes one byte more. An earlier star
 * never needs to, because the later one can absorb whatever it would have. Not a path matcher:
 * `*` matches `/`.
 */
#include "proxy/base/glob.h"

#include "proxy/base/ascii.h"

/* Does the pattern's item at p match the byte? *width: bytes of pattern that the item has. */
static bool item_matches(struct slice pattern, size_t p, char byte, bool nocase, size_t *width)
{
	char c = pattern.ptr[p];
	*width = 1;
	if (c == '?')
		return true;
	if (c == '\\' && p + 1 < pattern.len) {
		*width = 2;
		c = pattern.ptr[p + 1];
	}
	return c == byte || (nocase && ascii_lower(c) == ascii_lower(byte));
}

static bool match(struct slice pattern, struct slice text, bool nocase)
{
	size_t p = 0, t = 0, width;
	size_t star = SIZE_MAX, star_text = 0; /* behind the last star; what it has not taken */
	while (t < text.len) {
		if (p < pattern.len && pattern.ptr[p] == '*') {
			star = ++p;
			star_text = t;
		} else if (p < pattern.len &&
			   item_matches(pattern, p, text.ptr[t], nocase, &width)) {
			p += width;
			t++;
		} else if (star != SIZE_MAX) {
			p = star;
			t = ++star_text;
		} else {
			return false;
		}
	}
	while (p < pattern.len && pattern.ptr[p] == '*')
		p++;
	return p == pattern.len;
}

bool glob_match(struct slice pattern, struct slice text)
{
	return match(pattern, text, false);
}

bool glob_match_nocase(struct slice pattern, struct slice text)
{
	return match(pattern, text, true);
}
