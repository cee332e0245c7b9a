/* SPDX-License-Identifier: MIT */
/* Which tables a configuration needs, and which of two configurations are the same. */
#include "proxy/admission/admission_private.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include <string.h>

/* Client addresses that user-failures tells apart; when there are more, the one that has failed least is forgotten. */
#define FAILURES_KEYS 65536u

struct limit_memory admission_memory(const struct admission *a, size_t index)
{
	return (struct limit_memory){a->memories ? a->memories[index] : NULL, a->lane};
}

uint32_t admission_line_keys(const struct conf *c, const struct conf_request_limit *limit)
{
	return limit->key == CONF_LIMIT_ALL ? 1 : c->server.limit_table_keys;
}

uint32_t admission_failure_keys(const struct conf *c)
{
	return c->server.user_failures > 0 ? FAILURES_KEYS : 1;
}

static bool bounds_tunnels(const struct conf *c)
{
	bool bounds = false;
	for (size_t i = 0; i < c->route_count; i++)
		bounds |= conf_route_counts_tunnels(&c->routes[i]);
	return bounds;
}

/* A table of a route's line; route and limit are NULL for another one. `nth` of those that are alike. */
static uint64_t identify(const struct admission_table *t, uint32_t other, const char *route,
    const struct conf_request_limit *l, uint32_t nth)
{
	const uint64_t numbers[] = {t->keys, t->counts_open, other, nth, l ? l->key : 0,
	    l ? l->rate : 0, l ? l->period : 0, l ? l->burst : 0};
	uint64_t digest = hash_bytes(ADMISSION_TABLE_SHAPE, numbers, sizeof(numbers));
	if (l)
		digest = hash_bytes(digest, route, strlen(route));
	return l && l->field.len > 0 ? hash_bytes(digest, l->field.ptr, l->field.len) : digest;
}

static bool is_among(
    const struct admission_table *all, size_t count, const struct admission_table *t)
{
	for (size_t i = 0; i < count; i++)
		if (&all[i] != t && all[i].identity == t->identity)
			return true;
	return false;
}

static void add_lines(struct admission_table *all, const struct conf *c, size_t lines)
{
	for (size_t i = 0; i < c->route_count; i++)
		for (size_t k = 0; k < c->routes[i].request_limit_count; k++) {
			const struct conf_request_limit *limit = &c->routes[i].request_limits[k];
			struct admission_table *t = &all[limit->index];
			uint32_t nth = 0;
			t->keys = admission_line_keys(c, limit);
			t->counts_open = limit->concurrent > 0;
			/* Two lines of a route may be the same. */
			do
				t->identity = identify(t, 0, c->routes[i].name, limit, nth++);
			while (is_among(all, lines, t));
		}
}

struct admission_table *admission_tables(const struct conf *c, size_t *count)
{
	size_t lines = c->request_limit_count;
	*count = lines + ADMISSION_OTHER_TABLES;
	struct admission_table *all = memory_zalloc(*count * sizeof(*all));
	struct admission_table *failures = &all[lines + ADMISSION_FAILURES];
	struct admission_table *tunnels = &all[lines + ADMISSION_TUNNELS];
	add_lines(all, c, lines);
	if (c->server.user_failures > 0)
		failures->keys = admission_failure_keys(c);
	if (bounds_tunnels(c))
		*tunnels = (struct admission_table){
		    .keys = c->server.limit_table_keys, .counts_open = true};
	failures->identity = identify(failures, 1 + c->server.user_failures, NULL, NULL, 0);
	tunnels->identity = identify(tunnels, 0, NULL, NULL, 1);
	for (size_t i = 0; i < *count; i++)
		if (all[i].keys > 0) {
			all[i].bytes = limit_table_bytes(all[i].counts_open, all[i].keys);
			all[i].bucket_bytes = limit_table_bucket_bytes(all[i].keys);
		}
	return all;
}

void admission_table_clear_lane(const struct admission_table *t, void *memory, uint32_t lane)
{
	limit_table_clear_lane(memory, t->counts_open, t->keys, lane);
}
