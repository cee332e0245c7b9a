/* SPDX-License-Identifier: MIT */
/*
 * The URIs of the last held responses of a store that could not answer a later request. A
 * request that comes for one of them later is reported as a miss, so that somebody learns why the
 * resource was fetched twice.
 */
#include "proxy/hold/held.h"

#include "proxy/base/memory.h"

/* A page's worth: the default of hold-max-count. */
#define GONE_KEPT 32u

struct hold_gone {
	uint32_t next; /* goes to next % GONE_KEPT */
	struct {
		uint64_t uri; /* hold_uri_hash */
		usec since;
		enum hold_miss miss; /* HOLD_FITS: an empty place */
	} kept[GONE_KEPT];
};

void hold_gone_note(const struct held *h)
{
	struct hold_store *s = h->store;
	if (s->is_shared) /* its clients are strangers to the page that the push came with */
		return;
	if (!s->gone) {
		if (!budget_take(s->budget, sizeof(struct hold_gone)))
			return;
		s->gone = memory_new(struct hold_gone);
		s->hold->gone_count++;
	}
	uint32_t at = s->gone->next++ % GONE_KEPT;
	s->gone->kept[at].uri = hold_request_hash(s->hold, h->push->request);
	s->gone->kept[at].since = held_now(h);
	s->gone->kept[at].miss = held_useless_cause(h);
}

enum hold_miss hold_gone_take(struct hold_store *s, const struct exchange *x)
{
	if (!s->gone)
		return HOLD_FITS;
	uint64_t uri = hold_request_hash(s->hold, x->request);
	for (uint32_t i = 0; i < GONE_KEPT; i++) {
		enum hold_miss miss = s->gone->kept[i].miss;
		if (miss == HOLD_FITS || s->gone->kept[i].uri != uri)
			continue;
		s->gone->kept[i].miss = HOLD_FITS;
		return x->relay->now < clock_after(s->gone->kept[i].since, s->limits.age)
			   ? miss
			   : HOLD_FITS;
	}
	return HOLD_FITS;
}

void hold_gone_fini(struct hold_store *s)
{
	if (!s->gone)
		return;
	free(s->gone);
	s->gone = NULL;
	s->hold->gone_count--;
	budget_give(s->budget, sizeof(struct hold_gone));
}
