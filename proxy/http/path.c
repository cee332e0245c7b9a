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

/* The next part of a path, up to what some server takes for the end of a segment. */
struct part {
	size_t dots, others;
	bool ends_segment; /* of each server: not with "%2f" or a backslash */
};

static struct part next_part(struct slice path, size_t *at)
{
	struct part part = {0};
	bool has_parameter = false;
	char c = '\0';
	while (*at < path.len && (c = next_char(path, at)) != '/' && c != '\\') {
		has_parameter = has_parameter || c == ';';
		part.dots += !has_parameter && c == '.';
		part.others += !has_parameter && c != '.';
	}
	part.ends_segment = path.ptr[*at - 1] == '/';
	return part;
}

/* Of the parts of one segment the first alone counts as a step down: a server that decodes nothing sees but one
 * in "a%2fb". */
bool http_path_climbs(struct slice path)
{
	size_t depth = 0, at = 0;
	bool is_first = true;
	path = slice_sub(path, 0, slice_find(path, '?'));
	while (at < path.len) {
		struct part part = next_part(path, &at);
		if (part.others > 0 || part.dots > 2)
			depth += is_first;
		else if (part.dots == 2 && depth-- == 0)
			return true;
		is_first = part.ends_segment;
	}
	return false;
}
