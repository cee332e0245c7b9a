/* SPDX-License-Identifier: MIT */
/* What the learned table tells: what is proposed for a page, all that is known, and how much room it takes. Changes nothing. */
#include "policy/policy.h"
#include "proxy/offer/learned.h"

static struct offer_learned_item item_of(const struct offer_learned *t, const struct offer_page *p,
    const struct offer_known *k, usec now)
{
	double fade = offer_page_fade(t, p, now);
	return (struct offer_learned_item){
	    .authority = page_authority(p),
	    .page = page_path(p),
	    .path = known_path(k),
	    .as = slice_of_string(policy_type_as(policy_type_of_path(known_path(k)))),
	    .hits = k->hits * fade,
	    .views = k->views * fade,
	    .clients = offer_known_clients(t, k, now),
	    .confidence = offer_known_confidence(k),
	    .is_proposed = offer_known_is_proposed(t, k, fade, now),
	    .proposed = k->proposed,
	    .came_true = k->came_true,
	    .offered = k->offered,
	    .taken = k->taken,
	    .refused = k->refused,
	};
}

/* The surest first; of equals the one seen more often; then by path, so that the order never changes by itself. */
static bool is_surer(const struct offer_learned_item *a, const struct offer_learned_item *b)
{
	if (a->confidence != b->confidence)
		return a->confidence > b->confidence;
	if (a->hits < b->hits || a->hits > b->hits)
		return a->hits > b->hits;
	size_t shorter = a->path.len < b->path.len ? a->path.len : b->path.len;
	int order = memcmp(a->path.ptr, b->path.ptr, shorter);
	return order ? order < 0 : a->path.len < b->path.len;
}

size_t offer_learned_offers(const struct offer_learned *t, struct slice authority,
    struct slice page, struct offer_learned_item *items, size_t most, usec now)
{
	struct offer_learned_item sorted[OFFER_LEARNED_RESOURCES];
	struct offer_name name;
	size_t count = 0;
	const struct offer_page *p =
	    offer_name_set(&name, authority, page, true) ? offer_page_find(t, &name) : NULL;
	for (int i = 0; p && i < OFFER_LEARNED_RESOURCES; i++) {
		if (!(p->used >> i & 1))
			continue;
		struct offer_learned_item item = item_of(t, p, p->resources[i], now);
		if (!item.is_proposed)
			continue;
		size_t at = count++;
		for (; at > 0 && is_surer(&item, &sorted[at - 1]); at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = item;
	}
	for (size_t i = 0; i < count && i < most; i++)
		items[i] = sorted[i];
	return count;
}

void offer_learned_each(const struct offer_learned *t, bool only_proposed,
    void (*each)(const struct offer_learned_item *item, void *context), void *context, usec now)
{
	size_t cursor = 0;
	struct map_node *n = NULL;
	while ((n = map_walk(&t->pages, &cursor, n))) {
		const struct offer_page *p = container_of(n, struct offer_page, node);
		for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++) {
			if (!(p->used >> i & 1))
				continue;
			struct offer_learned_item item = item_of(t, p, p->resources[i], now);
			if (item.is_proposed || !only_proposed)
				each(&item, context);
		}
	}
}

struct offer_learned_stats offer_learned_stats(const struct offer_learned *t)
{
	size_t fixed = sizeof(*t) + t->slots_charged;
	return (struct offer_learned_stats){
	    .bytes = fixed + t->budget.used_bytes,
	    .peak_bytes = fixed + t->budget.peak_bytes,
	    .most_bytes = fixed + t->budget.limit_bytes,
	    .pages = (uint32_t)t->pages.count,
	    .clients = (uint32_t)t->clients.count,
	    .views = t->view_count,
	    .resources = t->resource_count,
	    .counted = t->counted,
	    .silent = t->silent,
	    .repeated = t->repeated,
	    .refused = t->refused,
	};
}
