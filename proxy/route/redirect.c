/* SPDX-License-Identifier: MIT */
/* Where a route with `redirect` leads. The request was validated, so that nothing in it ends a line. */
#include "proxy/route/route.h"

#include "proxy/http/authority.h"
#include "proxy/http/host.h"

/* The values of the placeholders. */
struct parts {
	struct slice host, path, query, rest;
};

static struct parts parts_of(const struct http_head *request, struct slice prefix)
{
	struct http_authority authority;
	struct slice path = request->path;
	struct parts p = {.host = SLICE("")};
	if (http_authority_parse(request->authority, request->scheme, &authority))
		p.host = authority.host;
	if (slice_equal(path, SLICE("*"))) /* the target "*" has no path (RFC 9110 7.1) */
		path = SLICE("/");
	size_t query = slice_find(path, '?');
	p.path = slice_sub(path, 0, query);
	p.query = slice_from(path, query);
	/* The final "/" of a prefix is part of the rest, so that the rest begins with "/" or "?" or is empty:
	 * behind a host it cannot become part of the host. */
	if (prefix.len > 0 && prefix.ptr[prefix.len - 1] == '/')
		prefix.len--;
	p.rest = slice_from(path, prefix.len);
	return p;
}

static struct slice part_named(const struct parts *p, struct slice name)
{
	if (slice_equal(name, SLICE("host")))
		return p->host;
	if (slice_equal(name, SLICE("path")))
		return p->path;
	return slice_equal(name, SLICE("query")) ? p->query : p->rest;
}

/* "//host" and "/\\host" lead browsers to another host, and so does "\\host" without a slash before it. */
static struct slice with_one_slash(struct arena *a, struct slice target)
{
	size_t slashes = 0;
	while (slashes < target.len && (target.ptr[slashes] == '/' || target.ptr[slashes] == '\\'))
		slashes++;
	if (slashes <= 1)
		return target;
	return arena_printf(a, "/%.*s", SLICE_ARG(slice_from(target, slashes)));
}

bool route_host_is_plain(const struct http_head *request)
{
	char name[HTTP_HOST_TEXT];
	struct address address;
	struct http_authority authority;
	return http_authority_parse(request->authority, request->scheme, &authority) &&
	       http_host_read(authority.host, name, &address) != HTTP_HOST_STRANGE;
}

bool route_redirect_needs_host(const struct conf_route *route)
{
	const struct slice target = route->redirect.target;
	return target.len > 0 && memmem(target.ptr, target.len, "{host}", strlen("{host}"));
}

struct slice route_redirect_target(
    const struct route_env *env, const struct request_facts *f, struct arena *a)
{
	const struct http_head *request = f->head;
	const struct conf_route *route;
	struct slice prefix = {0}, made = SLICE("");
	/* uncovered: the request was routed so before */
	if (router_find(env->router, f, &route, &prefix, NULL) != ROUTER_FOUND)
		return SLICE("");
	const struct parts parts = parts_of(request, prefix);
	struct slice rest = route->redirect.target;
	while (rest.len > 0) {
		struct slice text = slice_sub(rest, 0, slice_find(rest, '{')), part = SLICE("");
		rest = slice_from(rest, text.len);
		if (rest.len > 0) {
			size_t end = slice_find(rest, '}');
			part = part_named(&parts, slice_sub(rest, 1, end - 1));
			rest = slice_from(rest, end + 1);
		}
		made = arena_printf(
		    a, "%.*s%.*s%.*s", SLICE_ARG(made), SLICE_ARG(text), SLICE_ARG(part));
	}
	return route->redirect.target.ptr[0] == '/' ? with_one_slash(a, made) : made;
}
