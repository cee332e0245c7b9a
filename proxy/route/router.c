/* SPDX-License-Identifier: MIT */
/* Looks requests up in a table (router_table.h). */
#include "proxy/route/router.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
#include "proxy/http/authority.h"
#include "proxy/limits.h"
#include "proxy/route/router_table.h"

/* Requests in a row mostly name the same authority: its host is parsed once. */
struct last_host {
	char authority[ROUTER_HOST_BYTES]; /* a longer one is parsed each time */
	size_t authority_len;              /* 0: none yet */
	char host[ROUTER_HOST_BYTES];
	size_t host_len;
	bool is_strange; /* HTTP_HOST_STRANGE */
	uint64_t hash;   /* of the host */
};

struct router {
	const struct router_table *table;
	const struct conf_route *routes;
	struct last_host *last; /* owned; changes with each lookup */
	struct slice own;       /* the table, if it is owned */
};

struct router *router_of_table(const struct conf *conf, struct slice table)
{
	if (table.len == 0)
		return NULL;
	struct router *r = memory_new(struct router);
	r->routes = conf->routes;
	r->last = memory_new(struct last_host);
	router_use(r, table);
	return r;
}

void router_use(struct router *r, struct slice table)
{
	r->table = (const void *)table.ptr;
	r->last->authority_len = 0; /* its hash has another seed */
}

struct router *router_new(const struct conf *conf, enum conf_listen_mode mode, uint64_t seed)
{
	struct slice table = router_table_make(conf, mode, seed);
	struct router *r = router_of_table(conf, table);
	if (r)
		r->own = table;
	return r;
}

void router_free(struct router *r)
{
	if (!r)
		return;
	router_table_free(r->own);
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
	    !router_fold(parsed.host, last->host, &host, &last->is_strange))
		return NULL;
	last->host_len = host.len;
	last->hash = hash_bytes(r->table->seed, host.ptr, host.len);
	if (authority.len <= sizeof(last->authority)) {
		memcpy(last->authority, authority.ptr, authority.len);
		last->authority_len = authority.len;
	}
	return last;
}

static const struct router_paths *paths_at(const struct router_table *t, uint64_t at)
{
	return (const void *)((const char *)t + at);
}

/* NULL: the table does not have the host. */
static const struct router_paths *find_named(
    const struct router_table *t, uint64_t hash, struct slice key)
{
	const struct router_slot *slots = (const void *)((const char *)t + t->slots);
	for (uint64_t at = hash;; at++) {
		const struct router_slot *slot = &slots[at & t->mask];
		if (slot->host == 0)
			return NULL;
		if (slot->hash != (uint32_t)(hash >> 32))
			continue;
		const struct router_host *h = &t->hosts[slot->host - 1];
		if (slice_equal(slice_of((const char *)t + h->key, h->key_bytes), key))
			return paths_at(t, h->paths);
	}
}

/* The paths of the longest wildcard that the host is below, behind *dot: "a.b.c" is below ".b.c", then below ".c". NULL:
 * of none. */
static const struct router_paths *next_wildcard(
    const struct router_table *t, struct slice host, size_t *dot)
{
	const struct router_paths *paths = NULL;
	while (!paths && (*dot += 1 + slice_find(slice_from(host, *dot + 1), '.')) < host.len) {
		struct slice key = slice_from(host, *dot);
		paths = find_named(t, hash_bytes(t->seed, key.ptr, key.len), key);
	}
	return paths;
}

bool router_has_host(const struct router *r, struct slice host)
{
	const struct router_table *t = r->table;
	size_t dot = 0;
	return (t->has_names && find_named(t, hash_bytes(t->seed, host.ptr, host.len), host)) ||
	       (t->has_wildcards && next_wildcard(t, host, &dot));
}

/* A request that is looked up, and the route that was found. */
struct lookup {
	const struct router *router;
	const struct request_facts *request;
	struct effort *effort;
	struct slice path;
	bool host_known;
	const struct conf_route *route;
	struct slice prefix;
};

static bool look(struct lookup *l, const struct router_paths *paths)
{
	if (!paths)
		return false;
	l->host_known = true;
	l->route =
	    router_paths_find(paths, l->router->routes, l->path, l->request, &l->prefix, l->effort);
	return l->route != NULL;
}

static bool look_at_wildcards(struct lookup *l, struct slice host)
{
	const struct router_paths *paths;
	for (size_t dot = 0; (paths = next_wildcard(l->router->table, host, &dot));)
		if (look(l, paths))
			return true;
	return false;
}

/* A request whose host is no name is for any host only if it has none, in HTTP/1.0: no route for some may take it. */
static RARE bool look_without_host(struct lookup *l, const struct router_table *t)
{
	return t->any && l->request->head->authority.len == 0 && look(l, paths_at(t, t->any));
}

static bool look_with_host(
    struct lookup *l, const struct router_table *t, const struct last_host *asked)
{
	const struct slice host = slice_of(asked->host, asked->host_len);
	return (t->has_names && host.ptr[0] != '.' && look(l, find_named(t, asked->hash, host))) ||
	       (t->has_wildcards && !asked->is_strange && look_at_wildcards(l, host)) ||
	       (t->any && look(l, paths_at(t, t->any)));
}

static void set_path(struct lookup *l)
{
	struct slice path = l->request->head->path;
	l->path = slice_sub(path, 0, slice_find(path, '?'));
	if (l->path.len == 0 || slice_equal(l->path, SLICE("*")))
		l->path = SLICE("/");
}

enum router_answer router_find(const struct router *r, const struct request_facts *request,
    const struct conf_route **route, struct slice *prefix, struct effort *effort)
{
	struct effort own = effort_of(LIMIT_EFFORT_OF_REQUEST);
	const struct last_host *asked = host_of_authority(r, request->head->authority);
	struct lookup l = {.router = r, .request = request, .effort = effort ? effort : &own};
	set_path(&l);
	bool is_found =
	    asked ? look_with_host(&l, r->table, asked) : look_without_host(&l, r->table);
	if (!is_found)
		return l.host_known ? ROUTER_NO_PATH : ROUTER_NO_HOST;
	*route = l.route;
	if (prefix)
		*prefix = l.prefix;
	return ROUTER_FOUND;
}
