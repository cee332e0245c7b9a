/* SPDX-License-Identifier: MIT */
/* What tests read of the learned table beside its proposals: all that it knows, and its figures. */
#ifndef TESTS_SUPPORT_LEARNED_LOOK_H
#define TESTS_SUPPORT_LEARNED_LOOK_H

#include "proxy/offer/offer.h"

/* Each resource of each page, in no order; with only_proposed those that are proposed. `each` must not change the table. */
void offer_learned_each(const struct offer_learned *t, bool only_proposed,
    void (*each)(const struct offer_learned_item *item, void *context), void *context, usec now);

struct offer_learned_stats {
	size_t bytes, peak_bytes, most_bytes;
	uint32_t pages, clients, views, resources;
	uint64_t counted;  /* views that counted */
	uint64_t silent;   /* views in which nothing was asked for */
	uint64_t repeated; /* views whose client had counted for the page already */
	uint64_t refused;  /* pages, clients, views and resources for which there was no room */
};

struct offer_learned_stats offer_learned_stats(const struct offer_learned *t);

#endif
