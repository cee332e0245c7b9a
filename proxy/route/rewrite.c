/* SPDX-License-Identifier: MIT */
/* Paths of a route with `rewrite`: bytes are compared, as the router does. */
#include "proxy/route/route.h"

#include "proxy/http/path.h"

bool route_rewrites(const struct conf_route *route, struct slice path)
{
	return route->rewrite.is_given && http_path_is_below(path, route->rewrite.from);
}

bool route_leaves_rewrite(const struct conf_route *route, struct slice path)
{
	return http_path_climbs(slice_from(path, route->rewrite.from.len));
}

/* Replaces the old prefix by the new one; adds "/" if nothing is left before the query. */
static struct slice exchange_prefix(
    struct slice path, struct slice old, struct slice new, struct arena *a)
{
	struct slice rest = slice_from(path, old.len);
	bool is_bare = new.len == 0 && (rest.len == 0 || rest.ptr[0] == '?');
	return arena_printf(a, "%.*s%s%.*s", SLICE_ARG(new), is_bare ? "/" : "", SLICE_ARG(rest));
}

struct slice route_origin_path(const struct conf_route *route, struct slice path, struct arena *a)
{
	const struct conf_rewrite *r = &route->rewrite;
	return route_rewrites(route, path) ? exchange_prefix(path, r->from, r->to, a) : path;
}

bool route_rewrites_alike(const struct conf_route *a, const struct conf_route *b, struct slice path)
{
	bool is_rewritten = route_rewrites(a, path);
	if (a == b || is_rewritten != route_rewrites(b, path))
		return a == b;
	return !is_rewritten || (slice_equal(a->rewrite.from, b->rewrite.from) &&
				    slice_equal(a->rewrite.to, b->rewrite.to));
}

bool route_public_path(
    const struct conf_route *route, struct slice theirs, struct arena *a, struct slice *path)
{
	const struct conf_rewrite *r = &route->rewrite;
	if (!http_path_is_below(theirs, r->to) || http_path_climbs(slice_from(theirs, r->to.len)))
		return false;
	*path = exchange_prefix(theirs, r->to, r->from, a);
	return true;
}
