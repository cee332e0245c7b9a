/* SPDX-License-Identifier: MIT */
/* See hand_on.h. */
#include "proxy/process/hand_on.h"

#include <string.h>

/* ---- the health of servers ---- */

struct confs {
	const struct conf *from, *to;
};

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* A server that works for one of them works for the other. */
static bool is_spoken_to_alike(const struct conf_origin *a, const struct conf_origin *b)
{
	return a->kind == b->kind && a->protocols == b->protocols &&
	       a->tls_verify == b->tls_verify && is_same(a->tls_ca, b->tls_ca) &&
	       is_same(a->tls_name, b->tls_name);
}

static bool is_checked_alike(const struct conf_check *a, const struct conf_check *b)
{
	return a->kind == b->kind && is_same(a->path, b->path) && is_same(a->host, b->host) &&
	       a->statuses.count == b->statuses.count &&
	       memcmp(a->statuses.ranges, b->statuses.ranges,
		   a->statuses.count * sizeof(a->statuses.ranges[0])) == 0;
}

static struct health_kept keeps(const void *context, size_t index)
{
	const struct confs *c = context;
	if (index >= c->from->origin_count)
		return (struct health_kept){0};
	const struct conf_origin *from = &c->from->origins[index], *to = NULL;
	for (size_t i = 0; i < c->to->origin_count && !to; i++)
		if (strcmp(c->to->origins[i].name, from->name) == 0)
			to = &c->to->origins[i];
	if (!to || !is_spoken_to_alike(from, to))
		return (struct health_kept){0};
	const struct conf_eject *e = &to->eject;
	usec most = e->time_max > e->time ? e->time_max : e->time;
	return (struct health_kept){
	    .check = to->check.kind != CONF_CHECK_OFF && is_checked_alike(&from->check, &to->check),
	    .ejection_most = conf_origin_may_eject(to) ? most : 0,
	};
}

size_t hand_on_health(struct outfit *to, const struct outfit *from, usec now)
{
	const struct confs confs = {from->conf, to->conf};
	if (!to->health_table || !from->health_table)
		return 0;
	return health_table_take(to->health_table, from->health_table, now, keeps, &confs);
}

/* ---- the tables of limits ---- */

bool hand_on_limits(struct outfit *to, const struct outfit *from)
{
	bool is_whole = limit_memories_open(&to->limits, to->conf, to->workers);
	limit_memories_take(&to->limits, &from->limits);
	return is_whole;
}
