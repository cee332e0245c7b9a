/* SPDX-License-Identifier: MIT */
/*
 * Reads the learned table: the proposals for a page, one line for the crash dump, and lines for a reader: a page, its
 * clients so far, and the conditions that are missing before anything is proposed for it. Changes nothing.
 */
#include "policy/policy.h"
#include "proxy/offer/learned_table.h"

#include <stdarg.h>

/* ---- the proposals ---- */

struct offer_learned_item learned_item_of(const struct offer_learned *t,
    const struct learned_page *p, const struct learned_resource *r, usec now)
{
	double fade = learned_page_fade(t, p, now);
	return (struct offer_learned_item){
	    .authority = page_authority(p),
	    .page = page_path(p),
	    .path = resource_path(r),
	    .as = slice_of_string(policy_type_as(policy_type_of_path(resource_path(r)))),
	    .numbers = learned_numbers_of(t, r, fade, now),
	    .confidence = learned_resource_confidence(r),
	    .is_proposed = learned_resource_is_proposed(t, r, fade, now),
	};
}

bool offer_learned_has_views(const struct offer_learned *t)
{
	return t->view_count > 0;
}

/* Orders by confidence, then by hits, then by path, so that the order is stable. */
static bool is_surer(const struct offer_learned_item *a, const struct offer_learned_item *b)
{
	if (a->confidence != b->confidence)
		return a->confidence > b->confidence;
	double more = a->numbers.hits - b->numbers.hits;
	if (more < 0 || more > 0)
		return more > 0;
	return slice_compare(a->path, b->path) < 0;
}

size_t offer_learned_offers(const struct offer_learned *t, struct slice authority,
    struct slice page, struct offer_learned_item items[OFFER_LEARNED_RESOURCES], usec now)
{
	struct learned_name name;
	size_t count = 0;
	const struct learned_page *p =
	    learned_name_set(&name, authority, page, true) ? learned_page_find(t, &name) : NULL;
	for (int i = 0; p && i < OFFER_LEARNED_RESOURCES; i++) {
		if (!(p->used >> i & 1))
			continue;
		struct offer_learned_item item = learned_item_of(t, p, p->resources[i], now);
		if (!item.is_proposed)
			continue;
		size_t at = count++;
		for (; at > 0 && is_surer(&item, &items[at - 1]); at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
	return count;
}

size_t offer_learned_describe(const struct offer_learned *t, char *buffer, size_t size)
{
	int n = snprintf(buffer, size,
	    "learned pages=%zu/%u clients=%zu/%u views=%u/%u resources=%u bytes=%llu/%llu "
	    "counted=%llu silent=%llu repeated=%llu unanswered=%llu refused=%llu\n",
	    t->pages.count, t->options.pages, t->clients.count, t->options.clients, t->view_count,
	    t->options.views, t->resource_count, (unsigned long long)t->budget.used_bytes,
	    (unsigned long long)t->budget.limit_bytes, (unsigned long long)t->counted,
	    (unsigned long long)t->silent, (unsigned long long)t->repeated,
	    (unsigned long long)t->unanswered, (unsigned long long)t->refused);
	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

/* ---- lines ---- */

/* Of a longer name the beginning. */
#define NAME_BYTES 100
#define RESOURCE_BYTES 60

struct line {
	char *text;
	size_t size, used;
};

static void add(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct line *l, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	int n = vsnprintf(l->text + l->used, l->size - l->used, format, values);
	va_end(values);
	size_t room = l->size - l->used - 1;
	l->used += n > 0 && (size_t)n < room ? (size_t)n : n > 0 ? room : 0;
}

static const char *plural(uint32_t n)
{
	return n == 1 ? "" : "s";
}

void offer_learned_page_name(
    struct slice authority, struct slice path, char name[OFFER_LEARNED_LINE])
{
	struct learned_name n;
	struct line l = {name, NAME_BYTES + 1, 0};
	name[0] = '\0';
	if (learned_name_set(&n, authority, path, true))
		add(&l, "%.*s%.*s", SLICE_ARG(n.authority), SLICE_ARG(n.path));
}

void offer_learned_needs(const struct offer_learned *t, char text[OFFER_LEARNED_LINE])
{
	struct offer_learned_options o = {0};
	if (t)
		o = t->options;
	learned_set_defaults(&o);
	struct line l = {text, OFFER_LEARNED_LINE, 0};
	add(&l,
	    "a resource is proposed when %u clients have requested it after the page, in %u loads "
	    "and %u %% of all; each client counts once in %llu days, without credentials",
	    o.support, o.hits, o.confidence / 100,
	    (unsigned long long)(o.half_life_usec / (86400 * USEC_PER_SEC)));
}

/* The resource that lacks least. NULL: the page has none. */
static const struct learned_resource *nearest(
    const struct offer_learned *t, const struct learned_page *p, usec now)
{
	const struct learned_resource *best = NULL;
	uint32_t most = 0;
	for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++) {
		const struct learned_resource *r = p->resources[i];
		uint32_t clients = r ? learned_resource_clients(t, r, now) : 0;
		if (r && (!best || clients > most ||
			     (clients == most && r->numbers.hits > best->numbers.hits))) {
			best = r;
			most = clients;
		}
	}
	return best;
}

static void add_lack(struct line *l, const struct offer_learned *t, const struct learned_page *p,
    const struct learned_resource *r, usec now)
{
	const struct offer_learned_options *o = &t->options;
	uint32_t clients = learned_resource_clients(t, r, now);
	uint32_t hits = (uint32_t)(r->numbers.hits * learned_page_fade(t, p, now) + 0.5);
	uint32_t confidence = learned_resource_confidence(r);
	int path = r->path_len < RESOURCE_BYTES ? (int)r->path_len : RESOURCE_BYTES;
	add(l, "; %.*s lacks", path, r->path);
	if (clients < o->support)
		add(l, " %u more client%s", o->support - clients, plural(o->support - clients));
	else if (hits < o->hits)
		add(l, " %u more load%s with it", o->hits - hits, plural(o->hits - hits));
	else
		add(l, " a larger share of the loads: %u %% of %u %%", confidence / 100,
		    o->confidence / 100);
}

static uint32_t proposed_of(
    const struct offer_learned *t, const struct learned_page *p, uint32_t *known, usec now)
{
	double fade = learned_page_fade(t, p, now);
	uint32_t proposed = 0;
	*known = 0;
	for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++) {
		const struct learned_resource *r = p->resources[i];
		*known += r != NULL;
		proposed += r && learned_resource_is_proposed(t, r, fade, now);
	}
	return proposed;
}

static void write_line(const struct offer_learned *t, const struct learned_page *p,
    char text[OFFER_LEARNED_LINE], usec now)
{
	struct line l = {text, OFFER_LEARNED_LINE, 0};
	uint32_t known, proposed = proposed_of(t, p, &known, now);
	uint32_t clients = learned_page_voters(p);
	offer_learned_page_name(page_authority(p), page_path(p), text);
	l.used = strlen(text);
	add(&l, ": %u client%s, %u load%s so far; ", clients, plural(clients), p->loads,
	    plural(p->loads));
	if (known == 0)
		add(&l, "no asset was requested after it");
	else
		add(&l, "%u of %u resource%s proposed", proposed, known, plural(known));
	if (known > 0 && proposed == 0)
		add_lack(&l, t, p, nearest(t, p, now), now);
}

/* A page that several clients have loaded goes first. */
static bool goes_before(const struct learned_page *a, const struct learned_page *b)
{
	return a->is_established != b->is_established ? a->is_established : a->loads > b->loads;
}

size_t offer_learned_lines(
    const struct offer_learned *t, char (*lines)[OFFER_LEARNED_LINE], usec now)
{
	const struct learned_page *chosen[OFFER_LEARNED_LINES];
	const struct list *lists[] = {&t->established, &t->candidates};
	size_t count = 0;
	for (size_t i = 0; i < 2; i++)
		list_for_each(lists[i], p, struct learned_page, by_use)
		{
			if (!p->is_established && p->loads == 0) /* made up, or not counted yet */
				continue;
			bool is_full = count == OFFER_LEARNED_LINES;
			if (is_full && !goes_before(p, chosen[count - 1]))
				continue;
			size_t at = is_full ? count - 1 : count++;
			for (; at > 0 && goes_before(p, chosen[at - 1]); at--)
				chosen[at] = chosen[at - 1];
			chosen[at] = p;
		}
	for (size_t i = 0; i < count; i++)
		write_line(t, chosen[i], lines[i], now);
	return count;
}
