/* SPDX-License-Identifier: MIT */
/* Reads the learned table: the proposals for a page, and one line for the crash dump. Changes nothing. */
#include "policy/policy.h"
#include "proxy/offer/learned_table.h"

struct offer_learned_item learned_item_of(const struct offer_learned *t,
    const struct learned_page *p, const struct learned_resource *r, usec now)
{
	double fade = learned_page_fade(t, p, now);
	return (struct offer_learned_item){
	    .authority = page_authority(p),
	    .page = page_path(p),
	    .path = resource_path(r),
	    .as = slice_of_string(policy_type_as(policy_type_of_path(resource_path(r)))),
	    .hits = r->hits * fade,
	    .views = r->views * fade,
	    .clients = learned_resource_clients(t, r, now),
	    .confidence = learned_resource_confidence(r),
	    .is_proposed = learned_resource_is_proposed(t, r, fade, now),
	    .proposed = r->proposed,
	    .came_true = r->came_true,
	    .offered = r->offered,
	    .taken = r->taken,
	    .refused = r->refused,
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
		for (; at > 0 && is_surer(&item, &sorted[at - 1]); at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = item;
	}
	for (size_t i = 0; i < count && i < most; i++)
		items[i] = sorted[i];
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
