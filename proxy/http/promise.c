/* SPDX-License-Identifier: MIT */
/* Makes promised requests and hints; see promise.h. */
#include "proxy/http/promise.h"

#include "proxy/base/ascii.h"

/* The accept fields that browsers send for each destination (Fetch). */
static const struct {
	struct slice as, accept;
} accepts[] = {
    {SLICE_INIT("style"), SLICE_INIT("text/css,*/*;q=0.1")},
    {SLICE_INIT("image"),
	SLICE_INIT("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8")},
    {SLICE_INIT("document"), SLICE_INIT("text/html,application/xhtml+xml,application/"
					"xml;q=0.9,image/avif,image/webp,*/*;q=0.8")},
};

static struct slice accept_of(struct slice as)
{
	for (size_t i = 0; i < sizeof(accepts) / sizeof(accepts[0]); i++)
		if (slice_equal_nocase(accepts[i].as, as))
			return accepts[i].accept;
	return SLICE("*/*");
}

static void copy_fields(struct http_head *to, const struct http_head *from, enum http_token token)
{
	for (uint32_t i = 0; i < from->count; i++) {
		const struct http_field *f = &from->fields[i];
		if (f->token != token)
			continue;
		http_head_add_token(to, token, f->value);
		to->fields[to->count - 1].never_index = f->never_index;
	}
}

struct http_head *http_promise_make(
    const struct http_head *parent, const struct http_resource *resource, bool with_cookie)
{
	struct http_head *h = http_head_new(parent->pool);
	http_head_add_token(h, HTTP_TOKEN_PSEUDO_METHOD, SLICE("GET"));
	http_head_add_token(h, HTTP_TOKEN_PSEUDO_SCHEME, resource->target.scheme);
	http_head_add_token(h, HTTP_TOKEN_PSEUDO_AUTHORITY, resource->target.authority);
	http_head_add_token(h, HTTP_TOKEN_PSEUDO_PATH, resource->target.path);
	http_head_add_token(h, HTTP_TOKEN_ACCEPT, accept_of(resource->as));
	copy_fields(h, parent, HTTP_TOKEN_ACCEPT_ENCODING);
	copy_fields(h, parent, HTTP_TOKEN_ACCEPT_LANGUAGE);
	copy_fields(h, parent, HTTP_TOKEN_USER_AGENT);
	if (with_cookie)
		copy_fields(h, parent, HTTP_TOKEN_COOKIE);
	if (http_head_validate(h, HTTP_PROMISE) == NULL)
		return h;
	http_head_free(h);
	return NULL;
}

static bool is_token(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (!ascii_is(c, ASCII_ALNUM) && c != '-')
			return false;
	}
	return s.len > 0;
}

static struct slice parameter(
    struct arena *a, struct slice so_far, const char *name, struct slice value)
{
	/*
	 * A media type has a slash and must be quoted; any other value that is not a token is left
	 * out.
	 */
	if (is_token(value))
		return arena_printf(a, "%.*s; %s=%.*s", SLICE_ARG(so_far), name, SLICE_ARG(value));
	if (value.len == 0 || slice_find(value, '"') < value.len ||
	    slice_find(value, '\\') < value.len)
		return so_far;
	return arena_printf(a, "%.*s; %s=\"%.*s\"", SLICE_ARG(so_far), name, SLICE_ARG(value));
}

struct slice http_hint_make(
    struct arena *a, const struct http_head *parent, const struct http_resource *resource)
{
	const struct http_target *t = &resource->target;
	bool is_same =
	    slice_equal(t->authority, parent->authority) && slice_equal(t->scheme, parent->scheme);
	const char *rel = resource->is_module ? "modulepreload" : "preload";
	struct slice s;
	if (is_same)
		s = arena_printf(a, "<%.*s>; rel=%s", SLICE_ARG(t->path), rel);
	else
		s = arena_printf(a, "<%.*s://%.*s%.*s>; rel=%s", SLICE_ARG(t->scheme),
		    SLICE_ARG(t->authority), SLICE_ARG(t->path), rel);
	s = parameter(a, s, "as", resource->as);
	s = parameter(a, s, "type", resource->type);
	if (resource->has_crossorigin && resource->crossorigin.len == 0)
		s = arena_printf(a, "%.*s; crossorigin", SLICE_ARG(s));
	else
		s = parameter(a, s, "crossorigin", resource->crossorigin);
	s = parameter(a, s, "fetchpriority", resource->fetchpriority);
	return parameter(a, s, "media", resource->media);
}
