/* SPDX-License-Identifier: MIT */
/* The route table: hosts and wildcards in a map with a random seed, and the paths of each (router_paths.c). */
#include "proxy/route/router.h"

#include "proxy/base/arena.h"
#include "proxy/base/ascii.h"
#include "proxy/base/hash.h"
#include "proxy/base/map.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
#include "proxy/http/authority.h"
#include "proxy/http/host.h"
#include "proxy/limits.h"
#include "proxy/route/router_paths.h"

#define HOST_BYTES_MAX 255u /* RFC 1035 2.3.4 */

struct router_host {
	struct map_node node;
	struct slice key;                 /* fold; of a wildcard ".example.com"; empty: any host */
	const struct conf_route **routes; /* while the table is made */
	size_t route_count;
	const struct router_paths *paths;
};

/* Requests in a row mostly name the same authority: its host is parsed once. */
struct last_host {
	char authority[HOST_BYTES_MAX]; /* a longer one is parsed each time */
	size_t authority_len;           /* 0: none yet */
	char host[HOST_BYTES_MAX];
	size_t host_len;
	bool is_strange; /* HTTP_HOST_STRANGE */
	uint64_t hash;   /* of the host */
};

/* One for each set of routes that some host has. */
struct path_table {
	struct map_node node;
	struct router_paths *paths; /* owned */
	struct path_table *older;
};

struct router {
	uint64_t seed;
	struct last_host *last; /* owned; changes with each lookup */
	struct map names;       /* by their keys */
	struct arena keys;
	struct router_host *hosts, *any; /* any: one of them, or NULL */
	size_t host_count;
	bool has_wildcards;
	struct map tables;         /* of struct path_table */
	struct path_table *newest; /* owned, with the older ones */
};

static bool is_any(struct slice pattern)
{
	return pattern.len == 0 || slice_equal(pattern, SLICE("*"));
}

/*
 * Writes the host as it is compared. Rules read it in the same way (http_host_read): without a final dot, an IPv6
 * address in its shortest form. A strange host is its whole text in lower case, so that it is no other host.
 * out: HOST_BYTES_MAX bytes. False: the host is too long.
 */
static bool fold(struct slice host, char *out, struct slice *folded, bool *is_strange)
{
	struct address address;
	*is_strange = http_host_read(host, out, &address) == HTTP_HOST_STRANGE;
	if (!*is_strange) {
		*folded = slice_of_string(out);
		return true;
	}
	if (host.len > HOST_BYTES_MAX)
		return false;
	ascii_lower_copy(out, host);
	*folded = slice_of(out, host.len);
	return true;
}

/* The same of a pattern that is not for any host; a wildcard has the key ".example.com". */
static bool fold_pattern(struct slice pattern, char *out, struct slice *folded)
{
	bool is_strange;
	if (pattern.ptr[0] != '*')
		return fold(pattern, out, folded, &is_strange);
	pattern = slice_from(pattern, 1);
	pattern.len -= pattern.ptr[pattern.len - 1] == '.';
	if (pattern.len > HOST_BYTES_MAX)
		return false;
	ascii_lower_copy(out, pattern);
	*folded = slice_of(out, pattern.len);
	return true;
}

/* ---- the table ---- */

static struct router_host *find_named(const struct router *r, uint64_t hash, struct slice key)
{
	for (struct map_node *n = map_find(&r->names, hash); n; n = map_next(n)) {
		struct router_host *h = container_of(n, struct router_host, node);
		if (slice_equal(h->key, key))
			return h;
	}
	return NULL;
}

/* There is room for all hosts of all routes. NULL: a name that no request can have. */
static struct router_host *host_of(struct router *r, struct slice pattern)
{
	char buffer[HOST_BYTES_MAX];
	struct slice key = {0};
	if (is_any(pattern))
		return r->any ? r->any : (r->any = &r->hosts[r->host_count++]);
	if (!fold_pattern(pattern, buffer, &key))
		return NULL;
	uint64_t hash = hash_bytes(r->seed, key.ptr, key.len);
	struct router_host *h = find_named(r, hash, key);
	if (h)
		return h;
	h = &r->hosts[r->host_count++];
	h->key = arena_copy(&r->keys, key);
	map_insert(&r->names, &h->node, hash);
	r->has_wildcards = r->has_wildcards || pattern.ptr[0] == '*';
	return h;
}

static void add_route(struct router *r, const struct conf_route *route, struct slice pattern)
{
	struct router_host *h = host_of(r, pattern);
	if (!h || (h->route_count > 0 && h->routes[h->route_count - 1] == route))
		return;
	h->routes = memory_resize(h->routes, h->route_count + 1, sizeof(*h->routes));
	h->routes[h->route_count++] = route;
}

static const struct router_paths *table_of(
    struct router *r, const struct conf_route *const *routes, size_t count)
{
	uint64_t hash = hash_bytes(r->seed, routes, count * sizeof(*routes));
	for (struct map_node *n = map_find(&r->tables, hash); n; n = map_next(n)) {
		struct path_table *t = container_of(n, struct path_table, node);
		if (router_paths_are_of(t->paths, routes, count))
			return t->paths;
	}
	struct path_table *made = memory_new(struct path_table);
	made->paths = router_paths_new(routes, count);
	made->older = r->newest;
	r->newest = made;
	map_insert(&r->tables, &made->node, hash);
	return made->paths;
}

static size_t count_hosts(const struct conf *conf)
{
	size_t count = 0;
	for (size_t i = 0; i < conf->route_count; i++)
		count += conf->routes[i].host_count ? conf->routes[i].host_count : 1;
	return count;
}

static bool has_listener(const struct conf *conf, enum conf_listen_mode mode)
{
	for (size_t i = 0; i < conf->listen_count; i++)
		if (conf->listens[i].mode == mode)
			return true;
	return false;
}

struct router *router_new(const struct conf *conf, enum conf_listen_mode mode, uint64_t seed)
{
	if (mode == CONF_MODE_FORWARD && !has_listener(conf, mode))
		return NULL;
	struct router *r = memory_new(struct router);
	r->seed = seed;
	r->last = memory_new(struct last_host);
	map_init(&r->names);
	map_init(&r->tables);
	arena_init(&r->keys, NULL, 0);
	r->hosts = memory_zalloc((count_hosts(conf) + 1) * sizeof(*r->hosts));
	for (size_t i = 0; i < conf->route_count; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (route->is_forward != (mode == CONF_MODE_FORWARD))
			continue;
		for (size_t j = 0; j < route->host_count; j++)
			add_route(r, route, route->hosts[j]);
		if (route->host_count == 0)
			add_route(r, route, (struct slice){0});
	}
	for (size_t i = 0; i < r->host_count; i++) {
		struct router_host *h = &r->hosts[i];
		h->paths = table_of(r, h->routes, h->route_count);
		free(h->routes);
		h->routes = NULL;
	}
	return r;
}

void router_free(struct router *r)
{
	if (!r)
		return;
	while (r->newest) {
		struct path_table *t = r->newest;
		r->newest = t->older;
		router_paths_free(t->paths);
		free(t);
	}
	map_fini(&r->tables);
	free(r->hosts);
	map_fini(&r->names);
	arena_fini(&r->keys);
	free(r->last);
	free(r);
}

/* ---- lookups ---- */

/* The host of an authority as fold writes it, with its hash. NULL: it is no host name. */
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
	    !fold(parsed.host, last->host, &host, &last->is_strange))
		return NULL;
	last->host_len = host.len;
	last->hash = hash_bytes(r->seed, host.ptr, host.len);
	if (authority.len <= sizeof(last->authority)) {
		memcpy(last->authority, authority.ptr, authority.len);
		last->authority_len = authority.len;
	}
	return last;
}

/* A request that is looked up, and the route that was found. */
struct lookup {
	const struct http_head *request;
	struct effort *effort;
	struct slice path;
	bool host_known;
	const struct conf_route *route;
	struct slice prefix;
};

static bool look(struct lookup *l, const struct router_host *h)
{
	if (!h)
		return false;
	l->host_known = true;
	l->route = router_paths_find(h->paths, l->path, l->request, &l->prefix, l->effort);
	return l->route != NULL;
}

/* The longest wildcard first: "a.b.c" is below ".b.c", then below ".c". */
static bool look_at_wildcards(const struct router *r, struct lookup *l, struct slice host)
{
	for (size_t dot = slice_find(host, '.'); dot < host.len;
	     dot += 1 + slice_find(slice_from(host, dot + 1), '.')) {
		struct slice key = slice_from(host, dot);
		if (dot > 0 && look(l, find_named(r, hash_bytes(r->seed, key.ptr, key.len), key)))
			return true;
	}
	return false;
}

/* A request in HTTP/1.0 without Host: it may be for any host, so that no route for some may take it. */
static RARE const struct router_host *table_without_host(
    const struct router *r, const struct http_head *request)
{
	return request->authority.len == 0 ? r->any : NULL;
}

static void set_path(struct lookup *l)
{
	l->path = slice_sub(l->request->path, 0, slice_find(l->request->path, '?'));
	if (l->path.len == 0 || slice_equal(l->path, SLICE("*")))
		l->path = SLICE("/");
}

enum router_answer router_find(const struct router *r, const struct http_head *request,
    const struct conf_route **route, struct slice *prefix, struct effort *effort)
{
	struct effort own = effort_of(LIMIT_EFFORT_OF_REQUEST);
	const struct last_host *asked = host_of_authority(r, request->authority);
	struct lookup l = {.request = request, .effort = effort ? effort : &own};
	const struct slice host =
	    asked ? slice_of(asked->host, asked->host_len) : (struct slice){0};
	set_path(&l);
	bool is_found = !asked ? look(&l, table_without_host(r, request))
			       : (r->names.count > 0 && host.ptr[0] != '.' &&
				     look(&l, find_named(r, asked->hash, host))) ||
				     (r->has_wildcards && !asked->is_strange &&
					 look_at_wildcards(r, &l, host)) ||
				     look(&l, r->any);
	if (!is_found)
		return l.host_known ? ROUTER_NO_PATH : ROUTER_NO_HOST;
	*route = l.route;
	if (prefix)
		*prefix = l.prefix;
	return ROUTER_FOUND;
}
