/* SPDX-License-Identifier: MIT */
#include "tests/support/learned_look.h"

#include "proxy/offer/learned_table.h"

void offer_learned_each(const struct offer_learned *t, bool only_proposed,
    void (*each)(const struct offer_learned_item *item, void *context), void *context, usec now)
{
	map_for_each(&t->pages, p, struct learned_page, node)
	{
		for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++) {
			if (!(p->used >> i & 1))
				continue;
			struct offer_learned_item item =
			    learned_item_of(t, p, p->resources[i], now);
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
