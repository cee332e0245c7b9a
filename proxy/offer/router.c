/* SPDX-License-Identifier: MIT */
/* The route table: exact hosts in a map with a random seed, wildcards in a sorted list, and the sorted
 * path prefixes of each host. */
#include "proxy/offer/router.h"

#include "proxy/base/ascii.h"
#include "proxy/base/hash.h"
#include "proxy/base/map.h"
#include "proxy/base/memory.h"
#include "proxy/http/authority.h"

#define HOST_BYTES_MAX 255u /* RFC 1035 2.3.4 */

struct router_path {
	struct slice prefix;
	const struct conf_route *route;
};

struct router_host {
	struct map_node node;
	struct slice pattern; /* empty = any */
	struct router_path *paths;
	size_t path_count;
};

/* Requests in a row mostly name the same authority: its host is parsed once. */
struct last_host {
	char authority[HOST_BYTES_MAX + 1];
	size_t authority_len; /* 0: none yet */
	char host[HOST_BYTES_MAX];
	size_t host_len;
	uint64_t hash; /* of the host */
};

struct router {
	uint64_t seed;
	struct last_host *last; /* owned; changes with each lookup */
	struct map exact;
	struct router_host
	    *hosts; /* exact hosts, then wildcards, the longest first, then "any host" */
	size_t host_count, exact_count;
};

static int class_of(struct slice pattern)
{
	if (pattern.len == 0 || slice_equal(pattern, SLICE("*")))
		return 2;
	return pattern.ptr[0] == '*' ? 1 : 0;
}

static bool same_host(struct slice a, struct slice b)
{
	return class_of(a) == class_of(b) && (class_of(a) == 2 || slice_equal_nocase(a, b));
}

static int by_specificity(const void *left, const void *right)
{
	const struct router_host *a = left, *b = right;
	int d = class_of(a->pattern) - class_of(b->pattern);
	if (d != 0)
		return d;
	return (a->pattern.len < b->pattern.len) - (a->pattern.len > b->pattern.len);
}

static struct router_host *host_of(struct router *r, struct slice pattern)
{
	for (size_t i = 0; i < r->host_count; i++)
		if (same_host(r->hosts[i].pattern, pattern))
			return &r->hosts[i];
	r->hosts = memory_resize(r->hosts, r->host_count + 1, sizeof(*r->hosts));
	struct router_host *h = &r->hosts[r->host_count++];
	*h = (struct router_host){.pattern = pattern};
	return h;
}

/* Inserts behind all prefixes of at least this length: equal ones stay in the order of the file. */
static void add_path(struct router_host *h, struct slice prefix, const struct conf_route *route)
{
	h->paths = memory_resize(h->paths, h->path_count + 1, sizeof(*h->paths));
	size_t at = h->path_count++;
	while (at > 0 && h->paths[at - 1].prefix.len < prefix.len) {
		h->paths[at] = h->paths[at - 1];
		at--;
	}
	h->paths[at] = (struct router_path){prefix, route};
}

static void add_route(struct router *r, const struct conf_route *route, struct slice host)
{
	struct router_host *h = host_of(r, host);
	for (size_t i = 0; i < route->path_count; i++)
		add_path(h, route->paths[i], route);
	if (route->path_count == 0)
		add_path(h, SLICE("/"), route);
}

/* Writes the host in lower case, without a trailing dot. False: the host is empty or too long. */
static bool fold(struct slice host, char *out, struct slice *folded)
{
	if (host.len > 0 && host.ptr[host.len - 1] == '.')
		host.len--;
	if (host.len == 0 || host.len > HOST_BYTES_MAX)
		return false;
	ascii_lower_copy(out, host);
	*folded = slice_of(out, host.len);
	return true;
}

struct router *router_new(const struct conf *conf, uint64_t seed)
{
	struct router *r = memory_new(struct router);
	r->seed = seed;
	r->last = memory_new(struct last_host);
	map_init(&r->exact);
	for (size_t i = 0; i < conf->route_count; i++) {
		const struct conf_route *route = &conf->routes[i];
		for (size_t j = 0; j < route->host_count; j++)
			add_route(r, route, route->hosts[j]);
		if (route->host_count == 0)
			add_route(r, route, (struct slice){0});
	}
	if (r->host_count > 0)
		qsort(r->hosts, r->host_count, sizeof(*r->hosts), by_specificity);
	for (size_t i = 0; i < r->host_count && class_of(r->hosts[i].pattern) == 0; i++) {
		char buffer[HOST_BYTES_MAX];
		struct slice name;
		if (fold(r->hosts[i].pattern, buffer, &name))
			map_insert(
			    &r->exact, &r->hosts[i].node, hash_bytes(seed, name.ptr, name.len));
		r->exact_count++;
	}
	return r;
}

void router_free(struct router *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->host_count; i++)
		free(r->hosts[i].paths);
	free(r->hosts);
	map_fini(&r->exact);
	free(r->last);
	free(r);
}

/* A prefix ends at the end of a segment: "/api" matches "/api" and "/api/x", but not "/apix". */
static bool path_has_prefix(struct slice path, struct slice prefix)
{
	if (!slice_starts_with(path, prefix))
		return false;
	return path.len == prefix.len || prefix.ptr[prefix.len - 1] == '/' ||
	       path.ptr[prefix.len] == '/';
}

static const struct conf_route *find_path(const struct router_host *h, struct slice path)
{
	for (size_t i = 0; i < h->path_count; i++)
		if (path_has_prefix(path, h->paths[i].prefix))
			return h->paths[i].route;
	return NULL;
}

/* The host of an authority in lower case, with its hash. NULL: it is no host name. */
static const struct last_host *host_of_authority(const struct router *r, struct slice authority)
{
	struct last_host *last = r->last;
	struct http_authority parsed;
	struct slice host;
	if (last->authority_len > 0 &&
	    slice_equal(authority, slice_of(last->authority, last->authority_len)))
		return last;
	last->authority_len = 0;
	if (!http_authority_parse(authority, (struct slice){0}, &parsed) ||
	    !fold(parsed.host, last->host, &host))
		return NULL;
	last->host_len = host.len;
	last->hash = hash_bytes(r->seed, host.ptr, host.len);
	if (authority.len <= sizeof(last->authority)) {
		memcpy(last->authority, authority.ptr, authority.len);
		last->authority_len = authority.len;
	}
	return last;
}

enum router_answer router_find(const struct router *r, struct slice authority, struct slice path,
    const struct conf_route **route)
{
	bool host_known = false;
	const struct last_host *asked = host_of_authority(r, authority);
	if (!asked)
		return ROUTER_NO_HOST;
	const struct slice host = slice_of(asked->host, asked->host_len);
	path = slice_sub(path, 0, slice_find(path, '?'));
	if (slice_equal(path, SLICE("*")))
		path = SLICE("/");

	struct map_node *n = map_find(&r->exact, asked->hash);
	for (; n; n = map_next(n)) {
		const struct router_host *h = container_of(n, struct router_host, node);
		if (!http_host_matches(h->pattern, host))
			continue;
		host_known = true;
		*route = find_path(h, path);
		if (*route)
			return ROUTER_FOUND;
	}
	for (size_t i = r->exact_count; i < r->host_count; i++) {
		const struct router_host *h = &r->hosts[i];
		if (class_of(h->pattern) == 1 && !http_host_matches(h->pattern, host))
			continue;
		host_known = true;
		*route = find_path(h, path);
		if (*route)
			return ROUTER_FOUND;
	}
	return host_known ? ROUTER_NO_PATH : ROUTER_NO_HOST;
}
