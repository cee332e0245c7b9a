/* SPDX-License-Identifier: MIT */
/*
 * What an origin says in its own terms, in those of the client: promises on every route; URIs and cookies in
 * responses where the path was rewritten. Bodies are left as they are.
 */
#include "proxy/route/route.h"

#include "proxy/base/ascii.h"
#include "proxy/http/authority.h"
#include "proxy/http/link.h"
#include "proxy/http/path.h"
#include "proxy/limits.h"

/* ---- authorities ---- */

/* Whether the authority is the host and port of a server of the origin, as the configuration names it. */
static bool is_hops_own(const struct conf_origin *o, struct slice authority, struct slice scheme)
{
	struct http_authority named;
	if (!http_authority_parse(authority, scheme, &named) || named.host.len == 0)
		return false;
	if (named.host.ptr[0] == '[') /* a server's host has no brackets */
		named.host = slice_sub(named.host, 1, named.host.len - 2);
	for (size_t i = 0; i < o->server_count; i++) {
		const struct conf_origin_server *s = &o->servers[i];
		if (!s->host || s->is_srv)
			continue;
		const struct http_authority own = {
		    .host = slice_of_string(s->host), .port = s->port};
		if (http_authority_equal(&own, &named))
			return true;
	}
	return false;
}

static bool is_origins(const struct conf_origin *o, struct slice authority, struct slice scheme)
{
	return (o->host_override &&
		   http_authority_same(authority, slice_of_string(o->host_override), scheme)) ||
	       is_hops_own(o, authority, scheme);
}

/* Whether the origin may use this authority for what the client calls by that of its request. */
static bool is_own_authority(const struct http_head *request, const struct conf_origin *o,
    struct slice authority, struct slice scheme)
{
	return is_origins(o, authority, scheme) ||
	       http_authority_same(authority, request->authority, scheme);
}

static bool is_mapped(const struct http_head *request, const struct relay_place *p)
{
	return p->route && p->origin && route_rewrites(p->route, request->path);
}

/* ---- promises ---- */

bool route_map_promise(const struct http_head *request, const struct relay_place *p,
    struct http_head *promised, bool *outside)
{
	const struct conf_origin *o = p->origin;
	if (request->authority.len == 0) /* a resource of no host that the client knows */
		return false;
	struct slice hops_scheme = o->kind == CONF_ORIGIN_TLS ? SLICE("https") : SLICE("http");
	struct slice theirs = promised->scheme, path;
	bool is_own = slice_equal(promised->authority, request->authority) ||
		      is_own_authority(request, o, promised->authority, theirs);
	if (!slice_equal_nocase(theirs, request->scheme) &&
	    !slice_equal_nocase(theirs, hops_scheme))
		return false;
	promised->scheme = arena_copy(&promised->arena, request->scheme);
	if (is_own && !slice_equal(promised->authority, request->authority))
		promised->authority = arena_copy(&promised->arena, request->authority);
	http_head_remove(promised, HTTP_TOKEN_HOST);
	if (!is_own || !is_mapped(request, p))
		return true;
	*outside = !route_public_path(p->route, promised->path, &promised->arena, &path);
	if (!*outside)
		promised->path = path;
	return true;
}

bool route_is_outside(
    const struct http_head *request, const struct relay_place *p, const struct http_target *target)
{
	return is_mapped(request, p) &&
	       http_authority_same(target->authority, request->authority, target->scheme) &&
	       !route_rewrites(p->route, target->path);
}

/* ---- URI references ---- */

struct mapping {
	const struct http_head *request;
	const struct relay_place *place;
	struct arena *arena;
	unsigned resolved; /* relative references */
};

/* A reference with an authority: what precedes it, the authority, and the path. */
struct absolute {
	struct slice start, scheme, authority, path;
};

/* False: it is no http(s) URI and no network-path reference. */
static bool split_absolute(
    const struct http_head *request, struct slice reference, struct absolute *out)
{
	size_t colon = slice_find(reference, ':');
	struct slice scheme = slice_sub(reference, 0, colon);
	bool has_scheme = http_scheme_is_http(scheme);
	struct slice rest = has_scheme ? slice_from(reference, colon + 1) : reference;
	if (!slice_starts_with(rest, SLICE("//")))
		return false;
	rest = slice_from(rest, 2);
	size_t end = slice_find(rest, '/');
	*out = (struct absolute){
	    .start = slice_sub(reference, 0, (size_t)(rest.ptr - reference.ptr)),
	    .scheme = has_scheme ? scheme : request->scheme,
	    .authority = slice_sub(rest, 0, end),
	    .path = slice_from(rest, end),
	};
	return true;
}

/* The path at the client's host. A client that has named none takes the path at the host that it has asked; "/."
 * before "//" keeps that from being the start of an authority (RFC 3986 4.2, 5.2.4). */
static struct slice with_host(const struct mapping *m, struct slice path)
{
	const struct http_head *request = m->request;
	if (request->authority.len == 0)
		return arena_printf(m->arena, "%s%.*s",
		    path.len > 1 && memchr("/\\\t", path.ptr[1], 3) ? "/." : "", SLICE_ARG(path));
	return arena_printf(m->arena, "%.*s://%.*s%.*s", SLICE_ARG(request->scheme),
	    SLICE_ARG(request->authority), SLICE_ARG(path));
}

static struct slice map_absolute(
    const struct mapping *m, const struct absolute *a, struct slice reference)
{
	const struct http_head *request = m->request;
	struct slice path = a->path.len > 0 ? a->path : SLICE("/"), public;
	bool is_clients = request->authority.len > 0 &&
			  http_authority_same(a->authority, request->authority, a->scheme);
	if (!is_clients && !is_origins(m->place->origin, a->authority, a->scheme))
		return reference;
	if (!route_public_path(m->place->route, path, m->arena, &public))
		return reference;
	if (is_clients) /* its scheme may be another on purpose: from http to https */
		return arena_printf(m->arena, "%.*s%.*s%.*s", SLICE_ARG(a->start),
		    SLICE_ARG(a->authority), SLICE_ARG(public));
	return with_host(m, public);
}

/* Without the prefix of the origin a path may begin with what browsers take for the start of an authority: "//",
 * with a backslash too, and tabs do not count. */
static struct slice keep_host(const struct mapping *m, struct slice path)
{
	if (path.len < 2 || path.ptr[0] != '/' || !memchr("/\\\t", path.ptr[1], 3))
		return path;
	return with_host(m, path);
}

/* Without a look at what it is resolved against: it does not climb, and begins below the prefix. */
static bool means_the_same(const struct mapping *m, struct slice path, struct slice reference)
{
	for (size_t at = 0; at + 1 < reference.len; at++)
		if (reference.ptr[at] == '.' && reference.ptr[at + 1] == '.')
			return false;
	return path.len > m->place->route->rewrite.from.len;
}

/* A relative reference mostly means the same for both. Not where it climbs out of the shorter path, or begins at
 * a prefix that the client has asked for without "/". */
static struct slice map_relative(struct mapping *m, struct slice reference)
{
	struct http_head base = *m->request;
	struct http_target mine, theirs;
	struct slice public;
	base.path = slice_sub(base.path, 0, slice_find(base.path, '?'));
	if (means_the_same(m, base.path, reference) || m->resolved++ >= LIMIT_REFERENCES_RESOLVED)
		return reference;
	if (!http_target_resolve(m->arena, &base, reference, &mine))
		return reference;
	base.path = route_origin_path(m->place->route, base.path, m->arena);
	if (!http_target_resolve(m->arena, &base, reference, &theirs) ||
	    !route_public_path(m->place->route, theirs.path, m->arena, &public) ||
	    slice_equal(mine.path, public))
		return reference;
	return keep_host(m, public);
}

/* Returns the reference as it is if nothing is to be mapped. */
static struct slice map_reference(struct mapping *m, struct slice reference)
{
	struct slice path, mapped;
	struct absolute a;
	size_t end = slice_find(slice_sub(reference, 0, slice_find(reference, '#')), '?');
	struct slice head = slice_sub(reference, 0, end), tail = slice_from(reference, end);
	if (head.len == 0)
		return reference;
	if (split_absolute(m->request, head, &a))
		mapped = map_absolute(m, &a, head);
	else if (head.ptr[0] == '/')
		mapped = route_public_path(m->place->route, head, m->arena, &path)
			     ? keep_host(m, path)
			     : head;
	else
		mapped = map_relative(m, head);
	if (mapped.ptr == head.ptr)
		return reference;
	return arena_printf(m->arena, "%.*s%.*s", SLICE_ARG(mapped), SLICE_ARG(tail));
}

static struct slice map_link(struct slice target, void *context)
{
	struct mapping *m = context;
	return map_reference(m, target);
}

/* ---- cookies ---- */

/* A cookie for all of the origin is for all of /FROM: without the final "/", so that it is sent with /FROM too
 * (RFC 6265 5.1.4). */
static struct slice map_cookie_path(const struct mapping *m, struct slice path)
{
	const struct conf_rewrite *r = &m->place->route->rewrite;
	struct slice public;
	if (r->to.len == 0 && r->from.len > 0 && slice_equal(path, SLICE("/")))
		return r->from;
	return route_public_path(m->place->route, path, m->arena, &public) ? public : path;
}

/* The value of an attribute with this name, within the member of a Set-Cookie. */
static bool find_attribute(struct slice attribute, struct slice name, struct slice *value)
{
	size_t equals = slice_find(attribute, '=');
	*value = slice_trim(slice_from(attribute, equals + 1));
	return equals < attribute.len && value->len > 0 &&
	       slice_equal_nocase(slice_trim(slice_sub(attribute, 0, equals)), name);
}

static struct slice last_attribute(struct slice value, struct slice name)
{
	struct slice rest = slice_from(value, slice_find(value, ';')), last = {0}, found;
	while (rest.len > 0) {
		rest = slice_from(rest, 1);
		struct slice attribute = slice_sub(rest, 0, slice_find(rest, ';'));
		rest = slice_from(rest, attribute.len);
		if (find_attribute(attribute, name, &found))
			last = found;
	}
	return last;
}

/* The value with other bytes in place of those of a part. */
static struct slice replace(
    const struct mapping *m, struct slice value, struct slice part, struct slice other)
{
	if (other.ptr == part.ptr)
		return value;
	size_t before = (size_t)(part.ptr - value.ptr);
	return arena_printf(m->arena, "%.*s%.*s%.*s", SLICE_ARG(slice_sub(value, 0, before)),
	    SLICE_ARG(other), SLICE_ARG(slice_from(value, before + part.len)));
}

/* Whether the host is the domain or below it (RFC 6265 5.1.3). */
static bool is_within(struct slice host, struct slice domain)
{
	if (host.len < domain.len ||
	    !slice_equal_nocase(slice_from(host, host.len - domain.len), domain))
		return false;
	return host.len == domain.len || host.ptr[host.len - domain.len - 1] == '.';
}

/* The client's host in place of the origin's own, or of a domain that it is in: the client would refuse a cookie for
 * that (RFC 6265 5.3). */
static struct slice map_cookie_domain(const struct mapping *m, struct slice domain)
{
	const struct conf_origin *o = m->place->origin;
	struct http_authority client;
	struct slice bare = domain.len > 1 && domain.ptr[0] == '.' ? slice_from(domain, 1) : domain;
	if (!http_authority_parse(m->request->authority, m->request->scheme, &client) ||
	    is_within(client.host, bare))
		return domain;
	struct http_authority own;
	bool is_own =
	    o->host_override &&
	    http_authority_parse(slice_of_string(o->host_override), SLICE("http"), &own) &&
	    is_within(own.host, bare);
	for (size_t i = 0; i < o->server_count && !is_own; i++)
		is_own = o->servers[i].tls_name &&
			 is_within(slice_of_string(o->servers[i].tls_name), bare);
	return is_own ? client.host : domain;
}

/* Without a Path the client takes that of its own request, and of several the last one (RFC 6265 5.3). __Host-
 * demands the path "/" (RFC 6265bis 4.1.3.2). */
static struct slice map_cookie(const struct mapping *m, struct slice value)
{
	if (slice_equal_nocase(slice_sub(slice_trim(value), 0, 7), SLICE("__Host-")))
		return value;
	struct slice path = last_attribute(value, SLICE("path"));
	if (path.len > 0 && path.ptr[0] == '/')
		value = replace(m, value, path, map_cookie_path(m, path));
	struct slice domain = last_attribute(value, SLICE("domain"));
	return domain.len > 0 ? replace(m, value, domain, map_cookie_domain(m, domain)) : value;
}

/* "5; url=/x": the URL may be in quotes. */
static struct slice map_refresh(struct mapping *m, struct slice value)
{
	struct slice rest = value;
	while (rest.len > 4 && !slice_equal_nocase(slice_sub(rest, 0, 4), SLICE("url=")))
		rest = slice_from(rest, 1);
	struct slice url = slice_from(rest, 4);
	if (url.len > 0 && (url.ptr[0] == '"' || url.ptr[0] == '\'')) {
		char quote = url.ptr[0];
		url = slice_from(url, 1);
		url = slice_sub(url, 0, slice_find(url, quote));
	}
	struct slice mapped = map_reference(m, url);
	return url.len == 0 ? value : replace(m, value, url, mapped);
}

/* ---- responses ---- */

void route_map_response(
    const struct http_head *request, const struct relay_place *p, struct http_head *head)
{
	struct mapping m = {request, p, &head->arena, 0};
	if (!is_mapped(request, p))
		return;
	for (uint32_t i = 0; i < head->count; i++) {
		struct http_field *f = &head->fields[i];
		struct slice value = f->value;
		if (f->token == HTTP_TOKEN_LOCATION || f->token == HTTP_TOKEN_CONTENT_LOCATION)
			value = map_reference(&m, value);
		else if (f->token == HTTP_TOKEN_SET_COOKIE)
			value = map_cookie(&m, value);
		else if (f->token == HTTP_TOKEN_REFRESH)
			value = map_refresh(&m, value);
		if (value.ptr == f->value.ptr)
			continue;
		f->value = value;
		f->hash = 0;
	}
	if (http_head_find(head, HTTP_TOKEN_LINK))
		http_link_map(head, map_link, &m);
}
