/* SPDX-License-Identifier: MIT */
#include "proxy/http/path.h"

#include "proxy/base/ascii.h"

bool http_path_is_below(struct slice path, struct slice prefix)
{
	if (!slice_starts_with(path, prefix) || path.len == 0 || path.ptr[0] != '/')
		return false;
	return path.len == prefix.len || path.ptr[prefix.len] == '/' || path.ptr[prefix.len] == '?';
}

/* The next character of a path, with "%2e", "%2f" and "%5c" decoded; advances *at. */
static char next_char(struct slice path, size_t *at)
{
	static const struct {
		struct slice code;
		char byte;
	} codes[] = {{SLICE_INIT("%2e"), '.'}, {SLICE_INIT("%2f"), '/'}, {SLICE_INIT("%5c"), '\\'}};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (!slice_equal_nocase(slice_sub(path, *at, 3), codes[i].code))
			continue;
		*at += 3;
		return codes[i].byte;
	}
	return path.ptr[(*at)++];
}

bool http_path_climbs(struct slice path)
{
	size_t depth = 0, at = 0;
	path = slice_sub(path, 0, slice_find(path, '?'));
	while (at < path.len) {
		size_t dots = 0, others = 0;
		bool has_parameter = false;
		char c = '\0';
		while (at < path.len && (c = next_char(path, &at)) != '/' && c != '\\') {
			has_parameter = has_parameter || c == ';';
			dots += !has_parameter && c == '.';
			others += !has_parameter && c != '.';
		}
		if (others > 0 || dots > 2)
			depth++;
		else if (dots == 2 && depth-- == 0)
			return true;
	}
	return false;
}
