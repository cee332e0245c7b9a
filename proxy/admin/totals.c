/* SPDX-License-Identifier: MIT */
/* See totals.h. */
#include "proxy/admin/totals.h"

#include "proxy/base/memory.h"
#include <stdlib.h>
#include <string.h>

struct totals *totals_new(void)
{
	struct totals *t = memory_new(struct totals);
	map_init(&t->series);
	list_init(&t->in_order);
	return t;
}

static void pairs_fini(struct totals_pairs *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->list[i].name);
	free(p->list);
}

void totals_free(struct totals *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->rule_count; i++)
		free((char *)(uintptr_t)t->rules[i].name);
	pairs_fini(&t->limited);
	pairs_fini(&t->arms);
	totals_series_fini(t);
	free(t->rules);
	free(t);
}

void totals_clear_gauges(struct observe_counters *c)
{
#define CLEAR(member, name, text) c->member = 0;
	OBSERVE_GAUGES(CLEAR)
#undef CLEAR
	memset(c->push_off_until, 0, sizeof(c->push_off_until));
	memset(c->push_off_connections_open, 0, sizeof(c->push_off_connections_open));
}

/* ---- by name ---- */

struct observe_rule *totals_rule(struct totals *t, const char *name)
{
	for (size_t i = 0; i < t->rule_count; i++)
		if (strcmp(t->rules[i].name, name) == 0)
			return &t->rules[i].counts;
	if (t->rule_count == TOTALS_NAMES)
		return &t->whole.rules[OBSERVE_RULES];
	t->rules = memory_resize(t->rules, t->rule_count + 1, sizeof(*t->rules));
	struct observe_named_rule *fresh = &t->rules[t->rule_count++];
	*fresh = (struct observe_named_rule){.name = memory_strdup(name)};
	return &fresh->counts;
}

static void add_rule(struct observe_rule *sum, const struct observe_rule *more)
{
	for (size_t i = 0; i < POLICY_EVENT_COUNT; i++)
		sum->events[i] += more->events[i];
	sum->used_bytes += more->used_bytes;
	sum->wasted_bytes += more->wasted_bytes;
	sum->reset_usec += more->reset_usec;
}

void totals_add_rule(struct totals *t, const char *name, const struct observe_rule *counts)
{
	add_rule(totals_rule(t, name), counts);
}

void totals_add_pair(struct totals_pairs *p, const char *name, const uint64_t n[2])
{
	size_t i = 0;
	while (i < p->count && strcmp(p->list[i].name, name) != 0)
		i++;
	if (i == TOTALS_NAMES)
		return;
	if (i == p->count) {
		p->list = memory_resize(p->list, i + 1, sizeof(*p->list));
		p->list[p->count++] = (struct totals_pair){.name = memory_strdup(name)};
	}
	p->list[i].n[0] += n[0];
	p->list[i].n[1] += n[1];
}

static void add_pairs(struct totals_pairs *sum, const struct totals_pairs *more)
{
	for (size_t i = 0; i < more->count; i++)
		totals_add_pair(sum, more->list[i].name, more->list[i].n);
}

void totals_know(struct totals *t, const struct conf *conf)
{
	const struct policy_rules *rules = &conf->policy;
	for (size_t i = 0; i < rules->count && i < OBSERVE_RULES; i++)
		(void)totals_rule(t, rules->rules[i].name);
}

/* ---- sums ---- */

/* The sum has counts by indices of conf: gives them to the names. */
static void add_names(struct totals *t, const struct conf *conf, const struct observe_counters *sum)
{
	const struct policy_rules *rules = &conf->policy;
	for (size_t i = 0; i < rules->count && i < OBSERVE_RULES; i++)
		add_rule(totals_rule(t, rules->rules[i].name), &sum->rules[i]);
	for (size_t i = 0; i < conf->route_count && i < OBSERVE_PLACES; i++)
		if (sum->route_limited[i][0] + sum->route_limited[i][1] > 0)
			totals_add_pair(&t->limited, conf->routes[i].name, sum->route_limited[i]);
	for (size_t i = 0; i < conf->preload_count && i < OBSERVE_PLACES; i++)
		if (sum->arm_pages[i][0] + sum->arm_pages[i][1] > 0)
			totals_add_pair(&t->arms, conf->preloads[i].when.name, sum->arm_pages[i]);
}

void totals_add(struct totals *t, const struct conf *conf, const struct observe_counters *slots,
    uint32_t workers, bool has_places)
{
	/* On the heap, since the struct is too large for the stack. */
	struct observe_counters *sum = memory_new(struct observe_counters);
	for (uint32_t i = 0; i < workers; i++)
		observe_counters_add(sum, &slots[i]);
	if (conf)
		add_names(t, conf, sum);
	memset(sum->rules, 0, OBSERVE_RULES * sizeof(*sum->rules));
	memset(sum->route_limited, 0, sizeof(sum->route_limited));
	memset(sum->arm_pages, 0, sizeof(sum->arm_pages));
	if (!has_places) {
		memset(sum->push_off_until, 0, sizeof(sum->push_off_until));
		memset(sum->push_off_connections_open, 0, sizeof(sum->push_off_connections_open));
	}
	observe_counters_add(&t->whole, sum);
	free(sum);
}

void totals_add_totals(struct totals *t, const struct totals *more)
{
	observe_counters_add(&t->whole, &more->whole);
	for (size_t i = 0; i < more->rule_count; i++)
		add_rule(totals_rule(t, more->rules[i].name), &more->rules[i].counts);
	add_pairs(&t->limited, &more->limited);
	add_pairs(&t->arms, &more->arms);
	list_for_each(&more->in_order, s, struct totals_series, link)
	    histogram_add(totals_series(t, s->id, s->labels), &s->histogram);
}
