/* SPDX-License-Identifier: MIT */
/* Cleans references as the URL standard does, and resolves them. */
#include "proxy/markup/reference.h"

#include "proxy/base/ascii.h"
#include "proxy/base/utf8.h"
#include "proxy/limits.h"

static struct slice trimmed(struct slice s)
{
	while (s.len > 0 && (unsigned char)s.ptr[0] <= ' ')
		slice_skip(&s, 1);
	while (s.len > 0 && (unsigned char)s.ptr[s.len - 1] <= ' ')
		s.len--;
	return s;
}

static bool must_escape(unsigned char c, bool is_query)
{
	const char *of_path = " \"<>`{}", *of_query = " \"<>'";
	return c < ' ' || c >= 0x7f || strchr(is_query ? of_query : of_path, c) != NULL;
}

/* No NUL is left: the tokenizer replaces it. Without tabs, line ends and the fragment. */
static bool clean(struct arena *a, struct slice from, struct slice *out)
{
	static const char digits[] = "0123456789ABCDEF";
	bool is_query = false;
	char *to = arena_bytes(a, from.len * 3), *at = to;
	for (size_t i = 0; i < from.len && from.ptr[i] != '#'; i++) {
		unsigned char c = (unsigned char)from.ptr[i];
		if (c == '\0' || c == '^') /* browsers differ about "^" */
			return false;
		if (c >= 0xc0 && utf8_length((const uint8_t *)from.ptr + i, from.len - i) == 0)
			return false;
		if (c == '\t' || c == '\n' || c == '\r')
			continue;
		if (c == '?')
			is_query = true;
		if (c == '\\' && !is_query)
			c = '/';
		if (must_escape(c, is_query)) {
			*at++ = '%';
			*at++ = digits[c >> 4];
			*at++ = digits[c & 15];
		} else {
			*at++ = (char)c;
		}
	}
	*out = slice_of(to, (size_t)(at - to));
	return at > to;
}

/* The URL standard reads "%2e" as a dot. */
static bool has_escaped_dot(struct slice s)
{
	for (size_t i = 0; i + 2 < s.len && s.ptr[i] != '?'; i++) {
		if (s.ptr[i] == '%' && s.ptr[i + 1] == '2' && ascii_lower(s.ptr[i + 2]) == 'e')
			return true;
	}
	return false;
}

/* Browsers read names of hosts with escapes or of numbers alone in their own way. */
static bool is_plain_authority(struct slice authority)
{
	struct slice host = slice_sub(authority, 0, slice_find(authority, ':')), rest = host,
		     label = host;
	if (slice_find(host, '%') < host.len || slice_peek(authority) == '[')
		return false;
	unsigned labels = 0;
	while (rest.len > 0) {
		label = slice_cut(&rest, '.');
		labels++;
	}
	if (label.len == 0 || !ascii_is(label.ptr[0], ASCII_DIGIT))
		return true;
	return labels == 4 && ascii_all(label, ASCII_DIGIT);
}

bool markup_reference_resolve(struct arena *a, const struct http_target *page,
    const struct http_target *base, struct slice reference, struct http_target *out)
{
	struct slice text;
	reference = trimmed(reference);
	if (reference.len == 0 || reference.len > LIMIT_REFERENCE_BYTES ||
	    !clean(a, reference, &text))
		return false;
	struct slice scheme = slice_sub(text, 0, 8);
	bool is_absolute = slice_equal_nocase(scheme, SLICE("https://")) ||
			   slice_equal_nocase(slice_sub(scheme, 0, 7), SLICE("http://"));
	if ((!base && !is_absolute) || has_escaped_dot(text))
		return false;
	const struct http_target *from = base ? base : page;
	const struct http_head head = {
	    .scheme = from->scheme, .authority = from->authority, .path = from->path};
	return http_target_resolve(a, &head, text, out) &&
	       (!(is_absolute || slice_starts_with(text, SLICE("//"))) ||
		   is_plain_authority(out->authority));
}
