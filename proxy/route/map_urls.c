/* SPDX-License-Identifier: MIT */
/*
 * URLs of the public side in the fields of a request, as the origin knows them: Destination of COPY and MOVE (RFC 4918
 * 10.3), and Referer where the route says so. What the origin says is mapped back in map_back.c.
 */
#include "proxy/route/route.h"

#include "proxy/base/rare.h"
#include "proxy/http/authority.h"
#include "proxy/http/path.h"

struct url {
	struct slice scheme, authority, path; /* no authority: a path alone */
};

/* False: it is no http(s) URI, and no absolute path. */
static bool split(struct slice text, struct url *url)
{
	size_t colon = slice_find(text, ':');
	struct slice rest = slice_from(text, colon);
	*url = (struct url){.path = text};
	if (text.len > 0 && text.ptr[0] == '/')
		return text.len == 1 || !memchr("/\\\t", text.ptr[1], 3);
	url->scheme = slice_sub(text, 0, colon);
	if (!http_scheme_is_http(url->scheme) || !slice_starts_with(rest, SLICE("://")))
		return false;
	rest = slice_from(rest, 3);
	size_t end = 0;
	while (end < rest.len && !memchr("/?#\\", rest.ptr[end], 4))
		end++;
	url->authority = slice_sub(rest, 0, end);
	url->path = slice_from(rest, end);
	return url->path.len == 0 || url->path.ptr[0] == '/';
}

static bool is_of_request(const struct http_head *request, const struct url *url)
{
	struct http_authority own, theirs;
	return url->authority.len == 0 ||
	       (http_authority_parse(request->authority, request->scheme, &own) &&
		   http_authority_parse(url->authority, url->scheme, &theirs) &&
		   http_authority_equal(&own, &theirs));
}

/* Returns the text as it is if it names no resource of the client's host. */
static struct slice map_url(const struct request_facts *f, const struct relay_place *p,
    const struct http_head *head, struct slice text, struct arena *arena)
{
	struct url url;
	const struct conf_origin *o = p->origin;
	if (!split(text, &url) || !is_of_request(f->head, &url))
		return text;
	struct slice path = url.path.len > 0 ? url.path : SLICE("/");
	path = route_origin_path(p->route, path, arena);
	if (url.authority.len == 0)
		return path;
	return arena_printf(arena, "%s://%.*s%.*s", o->kind == CONF_ORIGIN_TLS ? "https" : "http",
	    SLICE_ARG(head->authority), SLICE_ARG(path));
}

static bool is_destination(const struct http_field *f)
{
	return slice_equal(f->name, SLICE("destination"));
}

RARE void route_map_urls(
    const struct request_facts *facts, const struct relay_place *p, struct http_head *head)
{
	bool maps_referer = p->route->maps_referer;
	if (conf_listen_is_forward(facts->listener))
		return;
	for (uint32_t i = 0; i < head->count; i++) {
		struct http_field *f = &head->fields[i];
		if (!is_destination(f) && !(maps_referer && f->token == HTTP_TOKEN_REFERER))
			continue;
		f->value = map_url(facts, p, head, f->value, &head->arena);
		f->hash = 0;
	}
}

/* Whether the Destination is a path that the route rewrites: any other would lead the origin out of /TO. */
static bool stays_in(
    const struct http_head *request, const struct conf_route *route, struct slice destination)
{
	struct url url;
	if (!split(destination, &url) || !is_of_request(request, &url))
		return false;
	struct slice path = url.path.len > 0 ? url.path : SLICE("/");
	return route_rewrites(route, path) && !route_leaves_rewrite(route, path);
}

RARE bool route_destination_leaves(const struct http_head *request, const struct conf_route *route)
{
	for (uint32_t i = 0; i < request->count; i++) {
		const struct http_field *f = &request->fields[i];
		if (is_destination(f) && !stays_in(request, route, f->value))
			return true;
	}
	return false;
}
