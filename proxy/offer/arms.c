/* SPDX-License-Identifier: MIT */
/*
 * Arms of a comparison: [preload] sections with `share` make their offers for a part of the clients alone. Which arm a
 * client is in follows from its address and the section's name, without a secret and without a cookie: it is the same in
 * all workers and on all gateways, and stays over reloads and restarts.
 */
#include "proxy/offer/offer.h"

#include "proxy/base/subscriber.h"

/* As CONF_TYPE_SHARE counts. */
#define WHOLE_SHARE 10000u

const struct conf_arm *offer_arm(const struct conf_preload *p, const struct address *client)
{
	uint64_t seed = subscriber_key_of_text(0, slice_of_string(p->when.name));
	bool is_on = subscriber_key_of_client(seed, client) % WHOLE_SHARE < p->share;
	return &p->arms[is_on];
}

void offer_choose_arm(const struct conf *conf, struct exchange *x, bool is_page, bool *takes)
{
	const struct conf_arm *arm = NULL;
	for (size_t i = 0; i < conf->preload_count; i++) {
		const struct conf_preload *p = &conf->preloads[i];
		if (!takes[i] || p->share == CONF_SHARE_OFF)
			continue;
		if (!arm)
			arm = offer_arm(p, &x->facts.client);
		takes[i] = arm->is_on;
	}
	if (is_page)
		offer_part(x)->arm = arm;
}
