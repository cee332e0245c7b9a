/* SPDX-License-Identifier: MIT */
/*
 * One fetch for many clients: where the worker has a store for all, a resource that pushgate has asked for on behalf of
 * one client, and whose head has not come, is not asked for once more. Requests of other clients wait for that head; if
 * it says that the response is for all, they are answered with it, else they go to the origin. Resources whose last
 * response was for one client alone are remembered, so that nobody waits for them in vain.
 */
#include "proxy/hold/held.h"

#include "proxy/base/memory.h"

/* A new entry replaces the one of the same place. */
#define UNSHARED 1024u
/* Of the responses held for one URI, the newest: any other has its head by now. */
#define LOOKED_AT 8u

struct hold_unshared {
	uint64_t uri[UNSHARED]; /* 0: none */
};

/* Else no other client could have waited for it: that it is not shared says nothing of the resource. */
static bool is_judged(const struct held *h)
{
	return hold_shares(h->store) && !h->parent_was_authorized && !h->is_closed;
}

void hold_collapse_note(struct held *h, bool is_shared)
{
	struct hold *hold = held_hold(h);
	uint64_t uri = h->node.hash;
	if (!hold->shares || (is_shared ? !hold->unshared : !is_judged(h)))
		return;
	if (!hold->unshared) {
		if (!budget_take(hold->relay->budget, sizeof(*hold->unshared)))
			return;
		hold->unshared = memory_new(struct hold_unshared);
	}
	uint64_t *place = &hold->unshared->uri[uri % UNSHARED];
	if (!is_shared)
		*place = uri;
	else if (*place == uri)
		*place = 0;
}

void hold_collapse_fini(struct hold *hold)
{
	if (!hold->unshared)
		return;
	budget_give(hold->relay->budget, sizeof(*hold->unshared));
	free(hold->unshared);
	hold->unshared = NULL;
}

static bool may_become_shared(
    const struct held *h, const struct hold_store *own, const struct exchange *x)
{
	const struct http_target uri = http_target_of(x->request);
	return h->store != own && !h->store->is_shared && hold_shares(h->store) && h->push &&
	       h->push->pushed.source != POLICY_RELAYED && !h->is_admitted && !h->is_closed &&
	       !h->parent_was_authorized && held_is_for(h, &uri) &&
	       hold_is_same_at_origin(held_hold(h), h->push, x);
}

struct held *hold_find_in_flight(
    struct hold *hold, const struct hold_store *own, const struct exchange *x)
{
	uint64_t uri = hold_request_hash(hold, x->request);
	struct map_node *n = hold->shares ? map_find(&hold->by_uri, uri) : NULL;
	if (!n || (own && own->is_secluded) ||
	    (hold->unshared && hold->unshared->uri[uri % UNSHARED] == uri))
		return NULL;
	struct held *first = container_of(n, struct held, first);
	struct list *link = first->same_uri.prev; /* the newest */
	for (unsigned i = 0; i < LOOKED_AT && link != &first->same_uri; i++, link = link->prev) {
		struct held *h = container_of(link, struct held, same_uri);
		if (may_become_shared(h, own, x))
			return h;
	}
	return may_become_shared(first, own, x) ? first : NULL;
}

static bool is_plain_get(const struct exchange *x)
{
	return x->method == HTTP_METHOD_GET && x->upload.source_ended && x->upload.received == 0 &&
	       !x->upload.trailers && hold_request_busts(x->request) == HOLD_FITS;
}

struct held *hold_find_to_join(
    struct hold *hold, const struct hold_store *own, const struct exchange *x)
{
	return hold->shares && is_plain_get(x) ? hold_find_in_flight(hold, own, x) : NULL;
}
