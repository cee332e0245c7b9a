/* SPDX-License-Identifier: MIT */
/* Cleans references as the URL standard does, and resolves them. */
#include "proxy/markup/reference.h"

#include "proxy/base/ascii.h"
#include "proxy/base/utf8.h"
#include "proxy/http/authority.h"
#include "proxy/limits.h"

/* Longer hosts, and those with a port or with capitals, are left to the library. */
#define LONGEST_SIMPLE_HOST 64u

struct slice markup_trim(struct slice s)
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

/* As most are: nothing is taken out of it, or escaped. */
static bool is_clean(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (ascii_is(c, ASCII_ALNUM))
			continue;
		if (c == '\'' ||
		    (!ascii_is(c, ASCII_HOST_MARK) && c != '/' && c != ':' && c != '?' && c != '@'))
			return false;
	}
	return true;
}

/* An absolute path that resolves to itself: no segment begins with a dot. http_target_resolve says the same of it. */
static bool is_own_result(const struct http_head *base, struct slice s, struct http_target *out)
{
	*out = (struct http_target){http_scheme_known(base->scheme), base->authority, s};
	if (s.ptr[0] != '/' || slice_starts_with(s, SLICE("//")) || out->scheme.len == 0 ||
	    out->authority.len == 0)
		return false;
	for (const char *at = s.ptr, *end = s.ptr + s.len; at + 1 < end;) {
		if (at[1] == '.')
			return false;
		at = memchr(at + 1, '/', (size_t)(end - at - 1));
		if (!at)
			break;
	}
	return true;
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
	s.len = slice_find(s, '?');
	for (size_t i = slice_find(s, '%'); i + 2 < s.len; i++) {
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

/* No segment of the folder may be "." or "..", and the first one not empty. */
static bool is_without_dots(struct slice folder)
{
	for (size_t i = 1; i < folder.len; i++) {
		if (folder.ptr[i - 1] == '/' && (folder.ptr[i] == '.' || folder.ptr[i] == '/'))
			return false;
	}
	return true;
}

/*
 * A path without a scheme, behind the base's folder (RFC 3986 5.2.3, 5.2.4): http_target_resolve does the same, with more
 * work.
 */
static struct slice merged(struct arena *a, struct slice base, struct slice text)
{
	struct slice segment = slice_sub(text, 0, slice_find(text, '/'));
	size_t folder = slice_find(base, '?');
	if (text.ptr[0] == '?' || slice_find(segment, ':') < segment.len)
		return text;
	while (folder > 0 && base.ptr[folder - 1] != '/')
		folder--;
	if (folder == 0 || base.ptr[0] != '/' || !is_clean(slice_sub(base, 0, folder)) ||
	    !is_without_dots(slice_sub(base, 0, folder)))
		return text;
	struct slice rest = text;
	while (slice_starts_with(rest, SLICE("../"))) {
		slice_skip(&rest, 3);
		for (bool is_in = folder > 1; is_in; is_in = base.ptr[folder - 1] != '/')
			folder--;
	}
	if (folder == 1 && slice_peek(rest) == '/') /* "//" would begin an authority */
		return text;
	char *to = arena_bytes(a, folder + rest.len);
	memcpy(to, base.ptr, folder);
	memcpy(to + folder, rest.ptr, rest.len);
	return slice_of(to, folder + rest.len);
}

static bool is_simple_host(struct slice s)
{
	return s.len > 0 && s.len <= LONGEST_SIMPLE_HOST && s.ptr[s.len - 1] != '.' &&
	       ascii_all(s, ASCII_LOWER | ASCII_DIGIT | ASCII_SCHEME_MARK);
}

/* Cuts scheme and host off a URL with a simple one, so that its path is left. */
static void cut_origin(const struct http_target *from, struct slice *text, struct http_head *head)
{
	size_t at = slice_find(*text, ':') + 3;
	struct slice rest = slice_from(*text, at);
	struct slice host = slice_sub(rest, 0, slice_find(rest, '/')),
		     path = slice_from(rest, host.len);
	if (slice_starts_with(path, SLICE("//")) || !is_simple_host(host) ||
	    !is_simple_host(from->authority))
		return;
	head->scheme = slice_sub(*text, 0, at - 3);
	head->authority = host;
	*text = path.len > 0 ? path : SLICE("/");
}

static bool is_with_scheme(struct slice text)
{
	return (text.ptr[0] | 0x20) == 'h' &&
	       (slice_equal_nocase(slice_sub(text, 0, 8), SLICE("https://")) ||
		   slice_equal_nocase(slice_sub(text, 0, 7), SLICE("http://")));
}

bool markup_reference_resolve(struct arena *a, const struct http_target *page,
    const struct http_target *base, struct slice reference, struct http_target *out)
{
	struct slice text = reference = markup_trim(reference);
	if (reference.len == 0 || reference.len > LIMIT_REFERENCE_BYTES)
		return false;
	bool is_usual = is_clean(reference);
	if (!is_usual && (!clean(a, reference, &text) || has_escaped_dot(text)))
		return false;
	bool is_absolute = is_with_scheme(text);
	bool names_host = is_absolute || slice_starts_with(text, SLICE("//"));
	if (!base && !is_absolute)
		return false;
	const struct http_target *from = base ? base : page;
	struct http_head head = {
	    .scheme = from->scheme, .authority = from->authority, .path = from->path};
	if (is_absolute)
		cut_origin(from, &text, &head);
	else if (text.ptr[0] != '/')
		text = merged(a, from->path, text);
	if (!(is_usual && is_own_result(&head, text, out)) &&
	    !http_target_resolve(a, &head, text, out))
		return false;
	return !names_host || is_plain_authority(out->authority);
}
