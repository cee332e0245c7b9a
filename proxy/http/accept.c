/* SPDX-License-Identifier: MIT */
/* Accept's media ranges and their quality values; see accept.h. */
#include "proxy/http/accept.h"

#include "proxy/base/ascii.h"

/* How closely a media range names a type. */
enum closeness { NOT_NAMED, BY_ANY, BY_GROUP, BY_NAME };

/* The quality of one type by Accept: the closest range counts. */
struct preference {
	enum closeness closeness;
	unsigned quality; /* 0 … 1000 */
};

/* The part of a media range, or of a type, before its parameters. */
static struct slice bare(struct slice range)
{
	return slice_trim(slice_sub(range, 0, slice_find(range, ';')));
}

static enum closeness closeness_of(struct slice range, struct slice type)
{
	if (slice_equal_nocase(range, type))
		return BY_NAME;
	if (slice_equal(range, SLICE("*/*")))
		return BY_ANY;
	size_t slash = slice_find(type, '/');
	bool is_group =
	    range.len == slash + 2 && range.ptr[range.len - 1] == '*' &&
	    slice_equal_nocase(slice_sub(range, 0, slash + 1), slice_sub(type, 0, slash + 1));
	return is_group ? BY_GROUP : NOT_NAMED;
}

/* A weight (RFC 9110 12.4.2) in thousandths. False: the text is none. */
static bool read_weight(struct slice text, unsigned *thousandths)
{
	if (text.len == 0 || text.len > 5 || (text.ptr[0] != '0' && text.ptr[0] != '1') ||
	    (text.len > 1 && text.ptr[1] != '.'))
		return false;
	unsigned value = text.ptr[0] == '1' ? 1000 : 0, unit = 100;
	for (size_t i = 2; i < text.len; i++, unit /= 10) {
		if (!ascii_is(text.ptr[i], ASCII_DIGIT))
			return false;
		value += unit * (unsigned)(text.ptr[i] - '0');
	}
	*thousandths = value;
	return value <= 1000;
}

/* The quality value among a range's parameters; 1000 without one. False: it is malformed. */
static bool read_quality(struct slice range, unsigned *quality)
{
	*quality = 1000;
	for (size_t at = slice_find(range, ';'); at < range.len; at = slice_find(range, ';')) {
		range = slice_from(range, at + 1);
		struct slice parameter = bare(range);
		if (parameter.len >= 2 && (parameter.ptr[0] | 0x20) == 'q' &&
		    parameter.ptr[1] == '=')
			return read_weight(slice_from(parameter, 2), quality);
	}
	return true;
}

static struct preference preference_for(const struct http_head *request, struct slice type)
{
	struct preference best = {NOT_NAMED, 0};
	for (uint32_t i = 0; i < request->count; i++) {
		struct slice rest = request->fields[i].value, range;
		if (request->fields[i].token != HTTP_TOKEN_ACCEPT)
			continue;
		while (slice_next_member(&rest, &range)) {
			enum closeness closeness = closeness_of(bare(range), type);
			unsigned quality;
			if (closeness > best.closeness && read_quality(range, &quality))
				best = (struct preference){closeness, quality};
		}
	}
	return best;
}

bool http_accept_prefers_json(const struct http_head *request, struct slice type)
{
	struct preference json = preference_for(request, SLICE("application/problem+json"));
	if (json.closeness != BY_NAME) {
		struct preference plain = preference_for(request, SLICE("application/json"));
		if (plain.closeness == BY_NAME)
			json = plain;
	}
	return json.quality > preference_for(request, bare(type)).quality;
}

bool http_accept_takes(const struct http_head *request, struct slice type, struct slice other)
{
	struct preference p = preference_for(request, type);
	return p.closeness == BY_NAME && p.quality > 0 &&
	       p.quality >= preference_for(request, other).quality;
}
