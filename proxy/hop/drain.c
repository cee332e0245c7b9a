/* SPDX-License-Identifier: MIT */
/*
 * The end in good order: nobody is accepted any more, the clients are told, what is under way may
 * end until the deadline, and last the origins are told.
 */
#include "proxy/hop/private.h"

/* After its deadline what is left is reset or answered 503; this long for that to leave. */
#define DRAIN_LAST_WORDS_USEC USEC_PER_SEC

void drain_expired(struct wheel_node *node, usec now)
{
	struct hop *h = container_of(node, struct hop, drain_timer);
	if (!h->is_late) {
		h->is_late = true;
		list_for_each(&h->relay.live, x, struct exchange, link)
		    exchange_abort(x, &relay_cause_DRAINED, NULL);
		wheel_set(&h->relay.wheel, node, now + DRAIN_LAST_WORDS_USEC);
		return;
	}
	list_for_each(&h->downs, d, struct down, link) down_abort(d, NULL);
	hop_nudge(h);
}

void hop_drain(struct hop *h, usec deadline, void (*drained)(void *context), void *context)
{
	h->is_draining = true;
	h->drained = drained;
	h->drained_context = context;
	hop_now(h);
	listeners_stop(h);
	list_for_each(&h->downs, d, struct down, link) down_shutdown(d);
	hold_drain(&h->hold);
	wheel_set(&h->relay.wheel, &h->drain_timer, deadline);
	hop_set_timer(h);
	hop_check_drained(h);
}

static bool has_origins(const struct hop *h)
{
	for (size_t i = 0; i < 2 * h->env.conf->origin_count; i++)
		if (!list_is_empty(&h->pools[i].ups))
			return true;
	return false;
}

/* The origins hear of the end once nobody needs them, and have a moment to take it in. */
static void part(struct hop *h)
{
	h->is_parting = true;
	for (size_t i = 0; i < 2 * h->env.conf->origin_count; i++)
		pool_part(&h->pools[i]);
	wheel_set(&h->relay.wheel, &h->drain_timer, hop_now(h) + DRAIN_LAST_WORDS_USEC);
	hop_set_timer(h);
}

void hop_check_drained(struct hop *h)
{
	if (!h->is_draining || h->is_drained || !list_is_empty(&h->downs) ||
	    h->relay.live_count > 0)
		return;
	if (!h->is_parting)
		part(h);
	if (has_origins(h) && !h->is_late)
		return;
	h->is_drained = true;
	for (size_t i = 0; i < 2 * h->env.conf->origin_count; i++)
		pool_fini(&h->pools[i]);
	hop_reap(h);
	h->drained(h->drained_context);
}
