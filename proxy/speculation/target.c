/* SPDX-License-Identifier: MIT */
/*
 * The URI of the rules for one page. The page is a member of the query: its path must be one that no origin has by chance
 * (RFC 8615), and the same for all pages, so that it can be found without a search.
 */
#include "proxy/speculation/speculation.h"

#include "proxy/base/ascii.h"

#define RULES_PATH "/.well-known/pushgate/speculation?page="

/* These have no meaning in a query, nor in a quoted string of a structured field. */
static bool stays(char c)
{
	return ascii_is(c, ASCII_ALNUM) || c == '/' || c == '-' || c == '.' || c == '_' || c == '~';
}

struct slice speculation_rules_path(struct slice page, struct arena *a)
{
	static const char digits[] = "0123456789ABCDEF";
	const size_t fixed = sizeof(RULES_PATH) - 1;
	if (page.len > SPECULATION_PATH_BYTES)
		return SLICE("");
	char *text = arena_bytes(a, fixed + 3 * page.len), *at = text + fixed;
	memcpy(text, RULES_PATH, fixed);
	for (size_t i = 0; i < page.len; i++) {
		unsigned char c = (unsigned char)page.ptr[i];
		if (stays((char)c)) {
			*at++ = (char)c;
			continue;
		}
		*at++ = '%';
		*at++ = digits[c >> 4];
		*at++ = digits[c & 15];
	}
	return slice_of(text, (size_t)(at - text));
}

struct slice speculation_page_of(struct slice path, struct arena *a)
{
	if (!slice_starts_with(path, SLICE(RULES_PATH)))
		return SLICE("");
	struct slice rest = slice_from(path, sizeof(RULES_PATH) - 1);
	if (rest.len > 3 * SPECULATION_PATH_BYTES)
		return SLICE("");
	char *text = arena_bytes(a, rest.len + 1), *at = text;
	while (rest.len > 0) {
		int byte = ascii_percent_byte(rest);
		if (byte < 0 && !stays(rest.ptr[0]))
			return SLICE("");
		*at++ = (char)(byte < 0 ? rest.ptr[0] : byte);
		slice_skip(&rest, byte < 0 ? 1 : 3);
	}
	struct slice page = slice_of(text, (size_t)(at - text));
	bool is_path = slice_starts_with(page, SLICE("/")) && page.len <= SPECULATION_PATH_BYTES &&
		       ascii_is_visible(page) && slice_find(page, '#') == page.len;
	return is_path ? page : SLICE("");
}
