/* SPDX-License-Identifier: MIT */
/* Makes promised requests and hints; see promise.h. */
#include "proxy/http/promise.h"

#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"
#include "proxy/limits.h"

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

/* What selects the variant. */
static bool is_copied(enum http_token token, bool with_cookie)
{
	return token == HTTP_TOKEN_ACCEPT_ENCODING || token == HTTP_TOKEN_ACCEPT_LANGUAGE ||
	       token == HTTP_TOKEN_USER_AGENT || (with_cookie && token == HTTP_TOKEN_COOKIE);
}

static void copy_fields(struct http_head *to, const struct http_head *from, bool with_cookie)
{
	for (uint32_t i = 0; i < from->count; i++) {
		const struct http_field *f = &from->fields[i];
		if (!is_copied((enum http_token)f->token, with_cookie) ||
		    f->value.len > LIMIT_COPIED_FIELD_BYTES)
			continue;
		http_head_add_token(to, (enum http_token)f->token, f->value);
		to->fields[to->count - 1].never_index = f->never_index;
	}
}

struct http_head *http_promise_make(
    const struct http_head *parent, const struct http_resource *resource, bool with_cookie)
{
	struct http_head *h = http_head_new(parent->pool);
	h->version =
	    parent->version; /* it is made from fields of the parent, and goes on with them */
	http_head_add_token(h, HTTP_TOKEN_PSEUDO_METHOD, SLICE("GET"));
	http_head_add_token(h, HTTP_TOKEN_PSEUDO_SCHEME, resource->target.scheme);
	http_head_add_token(h, HTTP_TOKEN_PSEUDO_AUTHORITY, resource->target.authority);
	http_head_add_token(h, HTTP_TOKEN_PSEUDO_PATH, resource->target.path);
	http_head_add_token(h, HTTP_TOKEN_ACCEPT, accept_of(resource->as));
	copy_fields(h, parent, with_cookie);
	if (http_head_validate(h, HTTP_PROMISE) == NULL)
		return h;
	http_head_free(h);
	return NULL;
}

/* A text that is being put together, in a buffer that is large enough. */
struct text {
	char *bytes;
	size_t length;
};

static void put(struct text *t, struct slice s)
{
	if (s.len > 0)
		memcpy(t->bytes + t->length, s.ptr, s.len);
	t->length += s.len;
}

/* A media type has a slash and must be quoted; a value that quotes cannot hold is left out. */
static void put_parameter(struct text *t, struct slice name, struct slice value)
{
	bool is_bare = value.len > 0 && ascii_all(value, ASCII_ALNUM | ASCII_DASH);
	if (!is_bare && (value.len == 0 || slice_find(value, '"') < value.len ||
			    slice_find(value, '\\') < value.len))
		return;
	put(t, SLICE("; "));
	put(t, name);
	put(t, is_bare ? SLICE("=") : SLICE("=\""));
	put(t, value);
	if (!is_bare)
		put(t, SLICE("\""));
}

/* More than the names and marks of a hint take. */
#define HINT_WORDS_BYTES 128u

struct slice http_hint_make(
    struct arena *a, const struct http_head *parent, const struct http_resource *resource)
{
	const struct http_target *target = &resource->target;
	const struct http_resource *r = resource;
	size_t most = HINT_WORDS_BYTES + target->scheme.len + target->authority.len +
		      target->path.len + r->as.len + r->type.len + r->crossorigin.len +
		      r->fetchpriority.len + r->media.len + r->parameters.len;
	struct text t = {arena_bytes(a, most), 0};
	put(&t, SLICE("<"));
	if (parent && (!slice_equal(target->authority, parent->authority) ||
			  !slice_equal(target->scheme, parent->scheme))) {
		put(&t, target->scheme);
		put(&t, SLICE("://"));
		put(&t, target->authority);
	}
	if (!r->is_preconnect)
		put(&t, target->path);
	put(&t, r->is_preconnect ? SLICE(">; rel=preconnect")
		: r->is_module   ? SLICE(">; rel=modulepreload")
				 : SLICE(">; rel=preload"));
	put_parameter(&t, SLICE("as"), r->as);
	put_parameter(&t, SLICE("type"), r->type);
	if (r->has_crossorigin && r->crossorigin.len == 0)
		put(&t, SLICE("; crossorigin"));
	else
		put_parameter(&t, SLICE("crossorigin"), r->crossorigin);
	put_parameter(&t, SLICE("fetchpriority"), r->fetchpriority);
	put_parameter(&t, SLICE("media"), r->media);
	if (r->parameters.len > 0) {
		put(&t, SLICE("; "));
		put(&t, r->parameters);
	}
	ensure(t.length <= most);
	arena_shorten(a, t.bytes, most, t.length);
	return slice_of(t.bytes, t.length);
}
