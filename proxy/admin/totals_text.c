/* SPDX-License-Identifier: MIT */
/*
 * Totals as a text, for a pushgate of another version: each counter that is not 0 is a line of its names and its value,
 * separated by tabs. A reader passes over names that it does not know.
 */
#include "proxy/admin/totals.h"
#include "proxy/base/memory.h"
#include "proxy/hold/hold.h"
#include "proxy/protocols/protocols.h"
#include "proxy/relay/relay.h"
#include "proxy/route/route.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 512 };

/* Gets each counter with its names. */
struct visitor {
	void (*each)(void *context, const char *key, uint64_t *n);
	void *context;
};

static void __attribute__((format(printf, 3, 4)))
visit(const struct visitor *v, uint64_t *n, const char *format, ...)
{
	char key[KEY_BYTES];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(key, sizeof(key), format, arguments);
	va_end(arguments);
	v->each(v->context, key, n);
}

/* ---- the counters ---- */

const char *totals_cause_name(size_t i)
{
	return i < RELAY_CAUSE_COUNT ? relay_cause_table[i]->name : NULL;
}

const char *totals_miss_name(size_t i)
{
	return i < HOLD_MISS_COUNT ? hold_miss_name((enum hold_miss)i) : NULL;
}

const char *totals_denial_name(size_t i)
{
	return i < ACCESS_REASON_COUNT ? access_reason_name((enum access_reason)i) : NULL;
}

static void visit_rows(const struct visitor *v, const char *kind, uint64_t *counts, size_t most,
    const char *(*name)(size_t index))
{
	for (size_t i = 0; i < most && name(i); i++)
		visit(v, &counts[i], "%s\t%s", kind, name(i));
}

static void visit_pushes(const struct visitor *v, struct observe_counters *c)
{
	for (enum policy_source source = 0; source < POLICY_SOURCE_COUNT; source++)
		for (enum policy_action action = 0; action < POLICY_ACTION_COUNT; action++)
			for (size_t reason = 0; reason < POLICY_REASON_COUNT; reason++)
				visit(v, &c->push[source][action][reason], "push\t%s\t%s\t%s",
				    policy_source_name(source), policy_action_name(action),
				    policy_reason_table[reason]->code);
}

static void visit_counters(const struct visitor *v, struct observe_counters *c)
{
#define COUNTER(member, name, text) visit(v, &c->member, "counter\t" #member);
#define GAUGE(member, name, text) visit(v, &c->member, "gauge\t" #member);
	OBSERVE_COUNTERS(COUNTER)
	OBSERVE_GAUGES(GAUGE)
#undef GAUGE
#undef COUNTER
	visit_pushes(v, c);
	visit_rows(
	    v, "client-fault", c->faults[OBSERVE_CLIENT], OBSERVE_FAULTS, protocols_fault_name);
	visit_rows(
	    v, "origin-fault", c->faults[OBSERVE_ORIGIN], OBSERVE_FAULTS, protocols_fault_name);
	visit_rows(v, "cause", c->causes, OBSERVE_CAUSES, totals_cause_name);
	visit_rows(v, "miss", c->misses, OBSERVE_MISSES, totals_miss_name);
	visit_rows(v, "denial", c->denials, OBSERVE_DENIALS, totals_denial_name);
}

static void visit_rule(
    const struct visitor *v, const char *kind, const char *name, struct observe_rule *r)
{
	for (enum policy_event event = 0; event < POLICY_EVENT_COUNT; event++)
		visit(v, &r->events[event], "%s\t%s\t%s", kind, name, policy_event_name(event));
	visit(v, &r->used_bytes, "%s\t%s\tused bytes", kind, name);
	visit(v, &r->wasted_bytes, "%s\t%s\twasted bytes", kind, name);
	visit(v, &r->reset_usec, "%s\t%s\treset usec", kind, name);
}

static void visit_series(
    const struct visitor *v, const struct totals_series *s, struct histogram *h)
{
	const char *name = series_name(s->id);
	for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
		visit(v, &h->counts[i], "series\t%s\t%s\t%s", name, s->labels,
		    histogram_bound_text(i));
	visit(v, &h->sum, "series\t%s\t%s\tsum usec", name, s->labels);
}

static void visit_pairs(
    const struct visitor *v, const char *kind, const char *const words[2], struct totals_pairs *p)
{
	for (size_t i = 0; i < p->count; i++)
		for (size_t k = 0; k < 2; k++)
			visit(v, &p->list[i].n[k], "%s\t%s\t%s", kind, p->list[i].name, words[k]);
}

static void visit_all(const struct visitor *v, struct totals *t)
{
	visit_counters(v, &t->whole);
	visit_rule(v, "rules", "other", &t->whole.rules[OBSERVE_RULES]);
	for (size_t i = 0; i < t->rule_count; i++)
		visit_rule(v, "rule", t->rules[i].name, &t->rules[i].counts);
	visit_pairs(v, "route", (const char *[2]){"refused", "shadow"}, &t->limited);
	visit_pairs(v, "arm", (const char *[2]){"off", "on"}, &t->arms);
	list_for_each(&t->in_order, s, struct totals_series, link)
	    visit_series(v, s, &s->histogram);
}

/* ---- writing ---- */

static void write_line(void *context, const char *key, uint64_t *n)
{
	if (*n > 0)
		fprintf(context, "%s\t%" PRIu64 "\n", key, *n);
}

void totals_write(struct totals *t, FILE *out)
{
	visit_all(&(struct visitor){write_line, out}, t);
}

/* ---- reading ---- */

struct line {
	struct slice key;
	uint64_t n;
};

struct lines {
	struct line *all;
	size_t count;
};

/* False: it is none. */
static bool read_line(struct slice text, struct line *line)
{
	size_t tab = text.len;
	while (tab > 0 && text.ptr[tab - 1] != '\t')
		tab--;
	if (tab == 0)
		return false;
	line->key = slice_sub(text, 0, tab - 1);
	return slice_to_number(slice_from(text, tab), UINT64_MAX, &line->n);
}

static void make_series(struct totals *t, struct slice name, struct slice labels)
{
	char text[TOTALS_LABELS_BYTES];
	snprintf(text, sizeof(text), "%.*s", SLICE_ARG(labels));
	for (enum series_id id = 0; id < SERIES_FAMILIES; id++)
		if (slice_equal(name, slice_of_string(series_name(id))))
			(void)totals_series(t, id, text);
}

/* Gives the rule, route, arm or series of a line an entry in the totals. */
static void make_entry(struct totals *t, struct slice key)
{
	static const uint64_t none[2];
	char name[KEY_BYTES];
	struct slice kind = slice_cut(&key, '\t'), own = slice_cut(&key, '\t');
	if (slice_equal(kind, SLICE("series"))) {
		make_series(t, own, slice_cut(&key, '\t'));
		return;
	}
	snprintf(name, sizeof(name), "%.*s", SLICE_ARG(own));
	if (slice_equal(kind, SLICE("rule")))
		(void)totals_rule(t, name);
	else if (slice_equal(kind, SLICE("route")))
		totals_add_pair(&t->limited, name, none);
	else if (slice_equal(kind, SLICE("arm")))
		totals_add_pair(&t->arms, name, none);
}

static int compare(const void *a, const void *b)
{
	const struct slice *x = &((const struct line *)a)->key, *y = &((const struct line *)b)->key;
	int order = memcmp(x->ptr, y->ptr, x->len < y->len ? x->len : y->len);
	return order ? order : (x->len > y->len) - (x->len < y->len);
}

static void take_line(void *context, const char *key, uint64_t *n)
{
	const struct lines *lines = context;
	const struct line wanted = {.key = slice_of_string(key)};
	const struct line *found =
	    bsearch(&wanted, lines->all, lines->count, sizeof(wanted), compare);
	if (found)
		*n += found->n;
}

void totals_read(struct totals *t, struct slice text)
{
	struct lines lines = {0};
	size_t most = 1;
	for (size_t i = 0; i < text.len; i++)
		most += text.ptr[i] == '\n';
	lines.all = memory_zalloc(most * sizeof(*lines.all));
	while (text.len > 0) {
		struct line *line = &lines.all[lines.count];
		if (!read_line(slice_cut(&text, '\n'), line))
			continue;
		make_entry(t, line->key);
		lines.count++;
	}
	qsort(lines.all, lines.count, sizeof(*lines.all), compare);
	visit_all(&(struct visitor){take_line, &lines}, t);
	free(lines.all);
}
