/* SPDX-License-Identifier: MIT */
/*
 * The stores of held responses: their contents, their limits, and which response is evicted when there
 * is no room. The life of one held response is hold.c.
 */
#include "proxy/hold/held.h"

#include "proxy/base/ensure.h"

#include <stdio.h>

void hold_store_init(struct hold_store *s, struct hold *hold, struct budget *budget,
    const struct hold_limits *limits, bool one_user)
{
	*s = (struct hold_store){
	    .hold = hold, .budget = budget, .limits = *limits, .one_user = one_user};
	map_init(&s->by_uri);
	list_init(&s->entries);
	list_init(&s->link);
}

/* ---- the responses that may be claimed, by URI ---- */

/*
 * hold->by_uri has one held response for each URI hash, and the others with the same hash are in a ring
 * with it. So invalidation finds all of them without a search of each store.
 */
static void enter_ring(struct held *h)
{
	struct map *firsts = &held_hold(h)->by_uri;
	struct map_node *n = map_find(firsts, h->node.hash);
	if (n)
		list_append(&container_of(n, struct held, first)->same_uri, &h->same_uri);
	else
		map_insert(firsts, &h->first, h->node.hash);
}

/* If the map has this one, the next of the ring takes its place. */
static void leave_ring(struct held *h)
{
	struct map *firsts = &held_hold(h)->by_uri;
	struct held *next = list_first(&h->same_uri, struct held, same_uri);
	bool is_first = map_find(firsts, h->node.hash) == &h->first;
	list_remove(&h->same_uri);
	if (!is_first)
		return;
	map_remove(firsts, &h->first);
	if (next)
		map_insert(firsts, &next->first, h->node.hash);
	if (firsts->count == 0) { /* gives the memory of a large map back */
		map_fini(firsts);
		map_init(firsts);
	}
}

void held_close(struct held *h)
{
	if (!h->is_closed) {
		leave_ring(h);
		map_remove(&h->store->by_uri, &h->node);
	}
	h->is_closed = true;
}

/* ---- the contents of a store ---- */

void held_enter(struct held *h, struct hold_store *s)
{
	h->store = s;
	if (s->count++ == 0)
		list_append(&s->hold->used, &s->link);
	s->bytes += h->body.bytes;
	list_append(&s->entries, &h->entry);
	map_insert(&s->by_uri, &h->node, hold_request_hash(s->hold, h->push->request));
	enter_ring(h);
}

void held_leave(struct held *h)
{
	struct hold_store *s = h->store;
	held_close(h);
	list_remove(&h->entry);
	s->bytes -= h->body.bytes;
	if (--s->count == 0)
		list_remove(&s->link);
}

void held_move(struct held *h, struct hold_store *to)
{
	ensure(!h->is_closed && h->body.bytes == 0);
	budget_give(h->store->budget, h->charge);
	budget_force(to->budget, h->charge);
	exchange_pay_from(h->push, to->budget);
	held_leave(h);
	h->is_closed = false;
	held_enter(h, to);
}

/* ---- room ---- */

/* Ends the first held response from which no request is being answered. */
static bool evict(struct hold_store *s, const struct held *but, const struct policy_reason *reason)
{
	list_for_each(&s->entries, h, struct held, entry)
	{
		if (h == but || !list_is_linked(&h->unclaimed))
			continue;
		held_end(h, HOLD_EVICTED, reason, RELAY_CANCEL);
		return true;
	}
	return false;
}

const struct policy_reason *hold_make_room(
    struct hold_store *s, const struct held *but, uint32_t count, uint64_t bytes)
{
	while (s->count + count > s->limits.count)
		if (!evict(s, but, &policy_reason_HOLD_COUNT))
			return &policy_reason_HOLD_COUNT;
	while (s->bytes + bytes > s->limits.bytes)
		if (bytes > s->limits.bytes || !evict(s, but, &policy_reason_HOLD_BYTES))
			return &policy_reason_HOLD_BYTES;
	while (budget_room(s->budget) == 0)
		if (!evict(s, but, &policy_reason_BUDGET))
			return &policy_reason_BUDGET;
	return NULL;
}

bool hold_shed(struct hold *hold)
{
	struct held *h = list_first(&hold->unclaimed, struct held, unclaimed);
	if (!h)
		return false;
	held_end(h, HOLD_EVICTED, &policy_reason_HOLD_SHED, RELAY_CANCEL);
	return true;
}

/* ---- the end ---- */

void hold_store_fini(struct hold_store *s)
{
	list_for_each(&s->entries, h, struct held, entry)
	{
		held_fail_claims(h, &relay_cause_UP_LOST, 0);
		if (h->push)
			held_end(h, HOLD_EXPIRED, &policy_reason_EXPIRED, RELAY_CANCEL);
		else
			held_free(h);
	}
	hold_gone_fini(s);
	ensure(s->count == 0 && s->bytes == 0);
	map_fini(&s->by_uri);
}

void hold_drain(struct hold *hold)
{
	list_for_each(&hold->used, s, struct hold_store, link)
	{
		list_for_each(&s->entries, h, struct held, entry)
		{
			held_close(h);
			h->end_outcome = HOLD_EXPIRED;
			h->end_reason = &policy_reason_DRAIN;
			held_mark(h);
		}
	}
}

size_t hold_describe(const struct hold *hold, char *buffer, size_t size)
{
	size_t used = 0;
	list_for_each(&hold->used, s, struct hold_store, link)
	{
		int n = snprintf(buffer + used, size - used, "held %u/%u %llu/%llu bytes%s\n",
		    s->count, s->limits.count, (unsigned long long)s->bytes,
		    (unsigned long long)s->limits.bytes, s->is_shared ? " shared" : "");
		/* uncovered: snprintf does not fail with this format */
		if (n < 0 || (size_t)n >= size - used)
			break;
		used += (size_t)n;
	}
	return used;
}
