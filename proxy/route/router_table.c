/* SPDX-License-Identifier: MIT */
/* Makes the table of a router (router_table.h): gathers the routes of each host, then lays all out in one run of bytes. */
#include "proxy/route/router_table.h"

#include "proxy/base/arena.h"
#include "proxy/base/ascii.h"
#include "proxy/base/hash.h"
#include "proxy/base/map.h"
#include "proxy/base/memory.h"
#include "proxy/route/router.h"

struct host {
	struct map_node node;
	struct slice key;                 /* empty: any host */
	const struct conf_route **routes; /* owned */
	size_t route_count;
	const struct path_table *paths;
};

/* One for each set of routes that some host has. */
struct path_table {
	struct map_node node;
	const struct host *of;      /* a host with these routes */
	struct router_paths *paths; /* owned */
	size_t at;                  /* in the table */
	struct path_table *older;
};

struct maker {
	const struct conf *conf;
	uint64_t seed;
	struct map names; /* by their keys */
	struct arena keys;
	size_t key_bytes;
	struct host *hosts, *any; /* any: one of them, or NULL */
	size_t host_count;
	bool has_wildcards;
	struct map tables;         /* of struct path_table */
	struct path_table *newest; /* owned, with the older ones */
};

static bool is_any(struct slice pattern)
{
	return pattern.len == 0 || slice_equal(pattern, SLICE("*"));
}

bool router_fold(struct slice host, char *out, struct slice *folded, bool *is_strange)
{
	struct address address;
	*is_strange = http_host_read(host, out, &address) == HTTP_HOST_STRANGE;
	if (!*is_strange) {
		*folded = slice_of_string(out);
		return true;
	}
	if (host.len > ROUTER_HOST_BYTES)
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
		return router_fold(pattern, out, folded, &is_strange);
	pattern = slice_from(pattern, 1);
	pattern.len -= pattern.ptr[pattern.len - 1] == '.';
	if (pattern.len > ROUTER_HOST_BYTES)
		return false;
	ascii_lower_copy(out, pattern);
	*folded = slice_of(out, pattern.len);
	return true;
}

/* ---- hosts and their routes ---- */

static struct host *find_host(const struct maker *m, uint64_t hash, struct slice key)
{
	for (struct map_node *n = map_find(&m->names, hash); n; n = map_next(n)) {
		struct host *h = container_of(n, struct host, node);
		if (slice_equal(h->key, key))
			return h;
	}
	return NULL;
}

/* There is room for all hosts of all routes. NULL: a name that no request can have. */
static struct host *host_of(struct maker *m, struct slice pattern)
{
	char buffer[ROUTER_HOST_BYTES];
	struct slice key = {0};
	if (is_any(pattern))
		return m->any ? m->any : (m->any = &m->hosts[m->host_count++]);
	if (!fold_pattern(pattern, buffer, &key))
		return NULL;
	uint64_t hash = hash_bytes(m->seed, key.ptr, key.len);
	struct host *h = find_host(m, hash, key);
	if (h)
		return h;
	h = &m->hosts[m->host_count++];
	h->key = arena_copy(&m->keys, key);
	m->key_bytes += key.len;
	map_insert(&m->names, &h->node, hash);
	m->has_wildcards = m->has_wildcards || pattern.ptr[0] == '*';
	return h;
}

static void add_route(struct maker *m, const struct conf_route *route, struct slice pattern)
{
	struct host *h = host_of(m, pattern);
	if (!h || (h->route_count > 0 && h->routes[h->route_count - 1] == route))
		return;
	h->routes = memory_resize(h->routes, h->route_count + 1, sizeof(*h->routes));
	h->routes[h->route_count++] = route;
}

static bool have_same_routes(const struct host *a, const struct host *b)
{
	return a->route_count == b->route_count &&
	       memcmp(a->routes, b->routes, a->route_count * sizeof(*a->routes)) == 0;
}

static const struct path_table *paths_of(struct maker *m, const struct host *h)
{
	uint64_t hash = hash_bytes(m->seed, h->routes, h->route_count * sizeof(*h->routes));
	for (struct map_node *n = map_find(&m->tables, hash); n; n = map_next(n)) {
		struct path_table *t = container_of(n, struct path_table, node);
		if (have_same_routes(t->of, h))
			return t;
	}
	struct path_table *made = memory_new(struct path_table);
	made->of = h;
	made->paths = router_paths_new(h->routes, h->route_count, m->conf->routes);
	made->older = m->newest;
	m->newest = made;
	map_insert(&m->tables, &made->node, hash);
	return made;
}

static size_t count_hosts(const struct conf *conf)
{
	size_t count = 0;
	for (size_t i = 0; i < conf->route_count; i++)
		count += conf->routes[i].host_count ? conf->routes[i].host_count : 1;
	return count;
}

static void gather(struct maker *m, enum conf_listen_mode mode)
{
	for (size_t i = 0; i < m->conf->route_count; i++) {
		const struct conf_route *route = &m->conf->routes[i];
		if (route->is_forward != (mode == CONF_MODE_FORWARD))
			continue;
		for (size_t j = 0; j < route->host_count; j++)
			add_route(m, route, route->hosts[j]);
		if (route->host_count == 0)
			add_route(m, route, (struct slice){0});
	}
	for (size_t i = 0; i < m->host_count; i++)
		m->hosts[i].paths = paths_of(m, &m->hosts[i]);
}

/* ---- the table ---- */

static size_t align(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static size_t count_slots(const struct maker *m)
{
	size_t slots = 2;
	while (slots < 2 * m->names.count)
		slots *= 2;
	return slots;
}

static void put_host(const struct maker *m, struct router_table *t, size_t at, size_t *key)
{
	const struct host *h = &m->hosts[at];
	t->hosts[at] = (struct router_host){*key, h->key.len, h->paths->at};
	if (h == m->any) {
		t->any = h->paths->at;
		return;
	}
	memcpy((char *)t + *key, h->key.ptr, h->key.len);
	*key += h->key.len;
	struct router_slot *slots = (void *)((char *)t + t->slots);
	uint64_t slot = h->node.hash;
	while (slots[slot & t->mask].host != 0)
		slot++;
	slots[slot & t->mask] =
	    (struct router_slot){(uint32_t)(h->node.hash >> 32), (uint32_t)at + 1};
}

static struct slice lay_out(const struct maker *m)
{
	size_t slots = sizeof(struct router_table) + m->host_count * sizeof(struct router_host);
	size_t key = slots + count_slots(m) * sizeof(struct router_slot);
	size_t bytes = align(key + m->key_bytes);
	for (struct path_table *p = m->newest; p; p = p->older) {
		p->at = bytes;
		bytes = align(bytes + router_paths_bytes(p->paths));
	}
	struct router_table *t = memory_zalloc(bytes);
	t->seed = m->seed;
	t->slots = slots;
	t->mask = count_slots(m) - 1;
	t->has_names = m->names.count > 0;
	t->has_wildcards = m->has_wildcards;
	for (size_t i = 0; i < m->host_count; i++)
		put_host(m, t, i, &key);
	for (const struct path_table *p = m->newest; p; p = p->older)
		memcpy((char *)t + p->at, p->paths, router_paths_bytes(p->paths));
	return slice_of(t, bytes);
}

static void maker_fini(struct maker *m)
{
	while (m->newest) {
		struct path_table *t = m->newest;
		m->newest = t->older;
		free(t->paths);
		free(t);
	}
	for (size_t i = 0; i < m->host_count; i++)
		free(m->hosts[i].routes);
	map_fini(&m->tables);
	free(m->hosts);
	map_fini(&m->names);
	arena_fini(&m->keys);
}

static bool has_listener(const struct conf *conf, enum conf_listen_mode mode)
{
	for (size_t i = 0; i < conf->listen_count; i++)
		if (conf->listens[i].mode == mode)
			return true;
	return false;
}

struct slice router_table_make(const struct conf *conf, enum conf_listen_mode mode, uint64_t seed)
{
	struct maker m = {.conf = conf, .seed = seed};
	if (mode == CONF_MODE_FORWARD && !has_listener(conf, mode))
		return (struct slice){0};
	map_init(&m.names);
	map_init(&m.tables);
	arena_init(&m.keys, NULL, 0);
	m.hosts = memory_zalloc((count_hosts(conf) + 1) * sizeof(*m.hosts));
	gather(&m, mode);
	struct slice table = lay_out(&m);
	maker_fini(&m);
	return table;
}

void router_table_free(struct slice table)
{
	free((void *)(uintptr_t)table.ptr);
}

struct router_tables router_tables_make(const struct conf *conf, uint64_t seed)
{
	return (struct router_tables){router_table_make(conf, CONF_MODE_GATEWAY, seed),
	    router_table_make(conf, CONF_MODE_FORWARD, seed)};
}

void router_tables_free(struct router_tables *t)
{
	router_table_free(t->gateway);
	router_table_free(t->forward);
	*t = (struct router_tables){0};
}
