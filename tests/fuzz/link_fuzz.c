/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a request's path, a Link field and a date: links are views into the field in
 * order, a filter takes what it was told to and nothing else, a target is one that a request may
 * have, and resolving it again changes nothing.
 *
 * Input: the path up to the first newline, then the field.
 */
#include "tests/fuzz/input.h"

#include "proxy/http/link.h"

#include "proxy/base/ensure.h"
#include "proxy/http/authority.h"
#include "proxy/http/date.h"
#include "proxy/limits.h"

static bool is_within(struct slice inner, struct slice outer)
{
	return inner.len == 0 ||
	       (inner.ptr >= outer.ptr && inner.ptr + inner.len <= outer.ptr + outer.len);
}

static void check_views(const struct http_link *link)
{
	const struct slice views[] = {link->target, link->rel, link->as, link->type,
	    link->crossorigin, link->fetchpriority};
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		ensure(is_within(views[i], link->value));
	ensure(link->value.ptr[0] == '<' && (link->is_preload || !link->is_module));
	for (size_t i = 0; i < link->value.len; i++)
		ensure((unsigned char)link->value.ptr[i] >= ' ' || link->value.ptr[i] == '\t');
}

/* A request may have it: no control, space or fragment, and no dot segments but a base's own. */
static void check_target(const struct http_target *t, bool has_own_path)
{
	struct http_authority authority;
	ensure(slice_equal(t->scheme, SLICE("https")) || slice_equal(t->scheme, SLICE("http")));
	ensure(http_authority_parse(t->authority, t->scheme, &authority));
	ensure(t->path.len > 0 && t->path.ptr[0] == '/');
	if (!has_own_path)
		return;
	struct slice path = slice_sub(t->path, 0, slice_find(t->path, '?'));
	for (size_t i = 0; i < t->path.len; i++)
		ensure(t->path.ptr[i] > ' ' && t->path.ptr[i] < 0x7f && t->path.ptr[i] != '#');
	while (path.len > 0) {
		path = slice_from(path, 1);
		size_t length = slice_find(path, '/');
		struct slice segment = slice_sub(path, 0, length);
		ensure(!slice_equal(segment, SLICE(".")) && !slice_equal(segment, SLICE("..")));
		path = slice_from(path, length);
	}
}

static void check_reference(struct arena *a, const struct http_head *base, struct slice reference)
{
	struct http_target t, again;
	bool has_own_path = reference.len > 0 && reference.ptr[0] != '?' && reference.ptr[0] != '#';
	if (!http_target_resolve(a, base, reference, &t))
		return;
	ensure(reference.len <= LIMIT_REFERENCE_BYTES);
	check_target(&t, has_own_path);
	if (!has_own_path)
		return;
	struct slice whole = arena_printf(
	    a, "%.*s://%.*s%.*s", SLICE_ARG(t.scheme), SLICE_ARG(t.authority), SLICE_ARG(t.path));
	if (whole.len > LIMIT_REFERENCE_BYTES)
		return;
	ensure(http_target_resolve(a, base, whole, &again));
	ensure(slice_equal(t.scheme, again.scheme) && slice_equal(t.authority, again.authority) &&
	       slice_equal(t.path, again.path));
}

static bool drop_preload(const struct http_link *link, void *context)
{
	(void)context;
	return link->is_preload;
}

static bool drop_none(const struct http_link *link, void *context)
{
	uint32_t *asked = context;
	(void)link;
	(*asked)++;
	return false;
}

/* What a filter leaves has the same links in the same order without the dropped ones. */
static void check_filter(struct http_head_pool *pool, struct slice value)
{
	struct http_head *head = http_head_new(pool);
	struct http_link before, after;
	uint32_t links = 0, preloads = 0, asked = 0;
	struct slice rest = value, kept = {"", 0};
	http_head_add_token(head, HTTP_TOKEN_LINK, value);
	ensure(http_link_filter(head, drop_none, &asked) == 0);
	ensure(head->count == 1 && slice_equal(head->fields[0].value, value));
	uint32_t dropped = http_link_filter(head, drop_preload, NULL);
	if (head->count > 0)
		kept = head->fields[0].value;
	while (http_link_next(&rest, &before)) {
		links++;
		if (before.is_preload) {
			preloads++;
			continue;
		}
		ensure(http_link_next(&kept, &after));
		ensure(slice_equal(before.value, after.value));
	}
	ensure(!http_link_next(&kept, &after));
	ensure(asked == links && dropped == preloads);
	http_head_free(head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice input = slice_of(data, size), rest;
	size_t newline = slice_find(input, '\n');
	struct slice path = slice_sub(input, 0, newline), value = slice_from(input, newline + 1);
	struct http_head_pool *pool = http_head_pool_new(1);
	struct http_head base = {
	    .scheme = SLICE("https"), .authority = SLICE("a.example"), .path = path};
	struct http_link link;
	struct arena a;
	const char *after = value.ptr;
	uint64_t sec;
	int looked_at = 0;
	if (path.len == 0 || path.ptr[0] != '/')
		base.path = SLICE("/dir/page?q");
	arena_init(&a, NULL, 0);
	for (rest = value; http_link_next(&rest, &link);) {
		ensure(link.value.ptr >= after && is_within(link.value, value));
		after = link.value.ptr + link.value.len;
		check_views(&link);
		if (looked_at++ < 100)
			check_reference(&a, &base, link.target);
	}
	ensure(rest.len == 0);
	check_reference(&a, &base, value);
	check_filter(pool, value);
	http_date_parse(value, 1795000000, &sec);
	arena_fini(&a);
	http_head_pool_free(pool);
	return 0;
}
