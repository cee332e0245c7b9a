/* SPDX-License-Identifier: MIT */
/* Which tables a configuration needs, and which of two configurations are the same. */
#include "proxy/admission/admission_private.h"

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

struct admission_table *admission_tables(const struct conf *c, size_t *count)
{
	size_t lines = c->request_limit_count;
	*count = lines + ADMISSION_OTHER_TABLES;
	struct admission_table *all = memory_zalloc(*count * sizeof(*all));
	for (size_t i = 0; i < c->route_count; i++)
		for (size_t k = 0; k < c->routes[i].request_limit_count; k++) {
			const struct conf_request_limit *limit = &c->routes[i].request_limits[k];
			all[limit->index] = (struct admission_table){.route = c->routes[i].name,
			    .limit = limit,
			    .keys = admission_line_keys(c, limit),
			    .counts_open = limit->concurrent > 0};
		}
	if (c->server.user_failures > 0)
		all[lines + ADMISSION_FAILURES] = (struct admission_table){
		    .failures = c->server.user_failures, .keys = admission_failure_keys(c)};
	if (bounds_tunnels(c))
		all[lines + ADMISSION_TUNNELS] = (struct admission_table){
		    .keys = c->server.limit_table_keys, .counts_open = true};
	for (size_t i = 0; i < *count; i++)
		if (all[i].keys > 0)
			all[i].bytes = limit_table_bytes(all[i].counts_open, all[i].keys);
	return all;
}

/* A line in shadow counts as another one does. */
static bool is_same_limit(const struct conf_request_limit *a, const struct conf_request_limit *b)
{
	return a->key == b->key && slice_equal(a->field, b->field) && a->rate == b->rate &&
	       a->period == b->period && a->burst == b->burst;
}

bool admission_tables_agree(const struct admission_table *a, const struct admission_table *b)
{
	if (a->keys != b->keys || a->counts_open != b->counts_open || a->failures != b->failures ||
	    !a->limit != !b->limit)
		return false;
	return !a->limit || (strcmp(a->route, b->route) == 0 && is_same_limit(a->limit, b->limit));
}

void admission_table_clear_lane(const struct admission_table *t, void *memory, uint32_t lane)
{
	limit_table_clear_lane(memory, t->counts_open, t->keys, lane);
}
