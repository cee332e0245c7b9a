/* SPDX-License-Identifier: MIT */
/*
 * The life of one held response: it is bound to its push, takes the push's bytes, grows old, ends.
 * hold_store.c has the stores, hold_claim.c the requests that are answered from them, hold_rules.c the
 * rules for which request may have which response, hold_invalidate.c what a change at the origin ends.
 */
#include "proxy/hold/held.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/http/cache.h"

/* ---- the worker's part ---- */

void hold_init(struct hold *hold, struct relay *relay, const struct hold_ops *ops, void *context,
    const struct hold_limits *shared)
{
	*hold =
	    (struct hold){.relay = relay, .ops = ops, .context = context, .shares = shared != NULL};
	hash_random(&hold->key, sizeof(hold->key));
	hold->seed = hash_random_seed();
	list_init(&hold->used);
	map_init(&hold->by_uri);
	list_init(&hold->unclaimed);
	list_init(&hold->dirty);
	list_init(&hold->dead);
	const struct hold_limits none = {0};
	hold_store_init(&hold->shared, hold, relay->budget, shared ? shared : &none, false);
	hold->shared.is_shared = true;
}

/* Frees the held responses that are over, at the end of the loop pass: until then a caller may still use
 * one. */
static void bury(struct hold *hold)
{
	list_for_each(&hold->dead, h, struct held, entry)
	{
		list_remove(&h->entry);
		free(h);
	}
}

void hold_fini(struct hold *hold)
{
	hold_store_fini(&hold->shared);
	hold_pauses_fini(hold);
	hold_collapse_fini(hold);
	bury(hold);
	ensure(list_is_empty(&hold->dirty) && list_is_empty(&hold->used));
	ensure(hold->by_uri.count == 0);
	map_fini(&hold->by_uri);
}

void hold_note(struct hold *hold, const struct hold_note *note)
{
	if (hold->ops->note)
		hold->ops->note(hold->context, note);
}

/* ---- one of them ---- */

static void free_interims(struct held *h)
{
	while (h->interims) {
		struct http_head *head = h->interims;
		h->interims = head->next;
		http_head_free(head);
	}
}

void held_free(struct held *h)
{
	struct hold_store *s = h->store;
	ensure(list_is_empty(&h->claims) && !h->push);
	held_leave(h);
	list_remove(&h->dirty);
	list_remove(&h->unclaimed);
	wheel_forget(&s->hold->relay->wheel, &h->timer);
	body_clear(&h->body, s->budget);
	http_head_free(h->head);
	free_interims(h);
	budget_give(s->budget, h->charge);
	list_append(&s->hold->dead, &h->entry);
}

void held_mark(struct held *h)
{
	if (!list_is_linked(&h->dirty))
		list_append(&held_hold(h)->dirty, &h->dirty);
}

uint64_t held_waste(struct held *h)
{
	uint64_t sent = h->sent;
	list_for_each(&h->claims, c, struct claim, link)
	{
		uint64_t forwarded = c->exchange->download.forwarded;
		sent = forwarded > sent ? forwarded : sent;
	}
	hold_part(h->push)->wasted_bytes = h->push->download.received - sent;
	return hold_part(h->push)->wasted_bytes;
}

/* A response that a request has asked for in vain ends as missed, rather than as expired. */
static const struct policy_reason *unclaimed_reason(
    const struct held *h, const struct policy_reason *reason)
{
	bool was_missed = reason == &policy_reason_EXPIRED && h->push->ending.missed;
	return was_missed ? &policy_reason_MISSED : reason;
}

/* Ends the pushed exchange together with its held response. */
static void end_push(
    struct held *h, enum hold_outcome outcome, const struct policy_reason *reason, uint32_t code)
{
	struct exchange *push = h->push;
	bool was_claimed = h->served > 0;
	if (was_claimed) /* that it missed before is of no interest then */
		push->ending.missed = NULL;
	h->push = NULL;
	list_remove(&h->unclaimed);
	if (outcome != HOLD_WITHDRAWN)
		push->pushed.state = was_claimed ? PUSH_CLAIMED : PUSH_EXPIRED;
	push->pushed.end_reason = was_claimed ? &policy_reason_CLAIMED : reason;
	if (h->is_whole) {
		exchange_on_taken(&push->down, 0, true); /* detaches */
		return;
	}
	if (outcome == HOLD_WITHDRAWN)
		push->pushed.verdict = policy_withdraw(&push->pushed.verdict, reason);
	bool is_clients = reason == &policy_reason_CLIENT_RESET;
	exchange_on_down_ended(
	    push, is_clients ? &relay_cause_DOWN_RESET : &relay_cause_POLICY, code, NULL);
}

void held_end(
    struct held *h, enum hold_outcome outcome, const struct policy_reason *reason, uint32_t code)
{
	ensure(h->push && list_is_empty(&h->claims));
	uint64_t wasted_bytes = held_waste(h);
	reason = unclaimed_reason(h, reason);
	bool was_useless = reason == &policy_reason_HOLD_NOT_FRESH;
	if (h->served == 0) { /* a claimed response was reported with each claim */
		const struct hold_note note = {
		    .outcome = outcome,
		    .reason = reason,
		    .push = h->push,
		    .miss = was_useless ? held_useless_cause(h) : HOLD_FITS,
		    .wasted_bytes = wasted_bytes,
		};
		hold_note(held_hold(h), &note);
		if (was_useless && !h->push->ending.missed)
			hold_pause_missed(held_hold(h), h->push, h->push, note.miss);
	}
	end_push(h, outcome, reason, code);
	held_free(h);
}

/* ---- age ---- */

static usec stale_at(const struct held *h)
{
	return h->is_whole ? h->arrived + (usec)h->fresh_sec * USEC_PER_SEC : USEC_NEVER;
}

static void arm(struct held *h)
{
	usec old = clock_after(h->created, h->store->limits.age), stale = stale_at(h);
	wheel_set(&held_hold(h)->relay->wheel, &h->timer, old < stale ? old : stale);
}

/* Ends a closed response, from which no request is being answered. */
static void end_old(struct held *h)
{
	bool is_old = h->end_outcome == HOLD_EXPIRED && h->end_reason == &policy_reason_EXPIRED;
	if (is_old && h->is_admitted && !held_is_fresh(h))
		hold_gone_note(h);
	held_end(h, h->end_outcome, h->end_reason, RELAY_CANCEL);
}

/* The held response is too old or stale. If requests are being answered from it, it ends after them. */
static void expired(struct wheel_node *node, usec now)
{
	struct held *h = container_of(node, struct held, timer);
	(void)now;
	held_close(h);
	held_mark(h);
	if (h->push && list_is_empty(&h->claims))
		end_old(h);
}

/* ---- a promise is bound to its place ---- */

static bool is_for_one_user(const struct exchange *parent)
{
	return hold_part(parent)->store->one_user && !parent->facts.came_through;
}

const struct policy_reason *hold_refusal(
    const struct exchange *parent, const struct http_head *promised)
{
	const struct hold_store *s = hold_part(parent)->store;
	if (!s)
		return &policy_reason_NO_HOLD;
	if (promised && promised->method_token == HTTP_METHOD_HEAD)
		return &policy_reason_HEAD;
	if (promised && promised->method_token != HTTP_METHOD_GET)
		return &policy_reason_METHOD;
	if (!is_for_one_user(parent) && !hold_shares(s))
		return s->one_user ? &policy_reason_HOLD_FORWARDED : &policy_reason_HOLD_SHARED;
	if (s->limits.count == 0)
		return &policy_reason_HOLD_COUNT;
	bool is_paused = promised && s->hold->pauses && hold_is_paused(s->hold, parent, promised);
	return is_paused ? &policy_reason_HOLD_PAUSED : NULL;
}

const struct policy_reason *hold_bind(
    struct exchange *parent, struct exchange *push, struct leg *down)
{
	ensure(!hold_refusal(
	    parent, push->request)); /* the policy decides on hold only if hold_refusal was NULL */
	struct hold_store *s = hold_part(parent)->store;
	struct hold *hold = s->hold;
	struct credentials credentials = credentials_of(&hold->key, parent->request);
	if (hold_has(s, &credentials, push) ||
	    (hold_shares(s) && hold_has(&hold->shared, NULL, push)))
		return &policy_reason_DUPLICATE;
	struct held *other =
	    push->pushed.source == POLICY_RELAYED ? NULL : hold_find_in_flight(hold, s, push);
	if (other) {
		other->is_awaited = true;
		return &policy_reason_DUPLICATE;
	}
	const struct policy_reason *refusal = hold_make_room(s, NULL, 1, 0);
	if (refusal)
		return refusal;
	if (!budget_take(s->budget, HELD_BYTES))
		return &policy_reason_BUDGET;
	struct held *h = memory_new(struct held);
	h->push = push;
	h->charge = HELD_BYTES;
	h->created = hold->relay->now;
	h->credentials = credentials;
	h->parent_was_authorized = hold_is_authorized(hold, parent);
	h->for_one_user = is_for_one_user(parent);
	h->end_outcome = HOLD_EXPIRED;
	h->end_reason = &policy_reason_EXPIRED;
	list_init(&h->entry);
	list_init(&h->same_uri);
	list_init(&h->dirty);
	list_init(&h->unclaimed);
	list_init(&h->claims);
	wheel_node_init(&h->timer, expired);
	held_enter(h, s);
	list_append(&hold->unclaimed, &h->unclaimed);
	arm(h);
	*down = (struct leg){.ops = &held_leg_ops, .carrier = h, .budget = s->budget};
	return NULL;
}

/* ---- the response comes ---- */

/* Moves the held response to the worker's store, if a shared cache may store it and there is room. */
static bool share(struct held *h)
{
	struct hold_store *to = &held_hold(h)->shared;
	if (!hold_shares(h->store) || !held_may_be_shared(h) || hold_has(to, NULL, h->push) ||
	    hold_make_room(to, NULL, 1, 0))
		return false;
	held_move(h, to);
	return true;
}

/* The head has come: moves it to the store where it may be. Returns NULL, or why it may not be held. */
static const struct policy_reason *admit(struct held *h)
{
	const struct policy_reason *refusal = held_storable(h);
	if (refusal)
		return refusal;
	bool is_shared = !h->is_closed && !held_varies_by_all(h) && share(h);
	hold_collapse_note(h, is_shared);
	if (!is_shared && !h->for_one_user)
		return &policy_reason_NOT_STORABLE;
	h->age_sec = http_age_sec(h->head);
	h->fresh_sec = held_good_for_sec(h, is_shared);
	h->is_same_for_all = held_ignores_cookies(h);
	h->is_for_all_routes = held_ignores_routes(h);
	h->is_admitted = true;
	if (list_is_empty(&h->claims) && held_is_useless(h)) {
		hold_gone_note(h);
		return &policy_reason_HOLD_NOT_FRESH;
	}
	arm(h);
	return NULL;
}

/* Takes the bytes that came. False: there was no room, and the held response has ended. */
static bool take(struct held *h)
{
	struct hold_store *s = h->store;
	const struct hold *hold = s->hold;
	struct flow *f = &h->push->download;
	while (f->body.bytes > 0) {
		struct piece p = body_front(&f->body, SIZE_MAX);
		if (h->is_outgrown && h->body.bytes >= OUTGROWN_KEPT_BYTES)
			return true; /* the rest is taken when the claimers have sent some */
		const struct policy_reason *refusal =
		    h->is_outgrown ? NULL : hold_make_room(s, h, 0, p.length);
		if (refusal && list_is_empty(&h->claims)) {
			held_end(h, HOLD_EVICTED, refusal, RELAY_CANCEL);
			return false;
		}
		if (refusal) {
			held_close(h);
			h->is_outgrown = true;
			h->end_outcome = HOLD_EVICTED;
			h->end_reason = refusal;
			continue;
		}
		body_append(&h->body, p, hold->relay->small_chunks, s->budget);
		s->bytes += p.length;
		exchange_on_taken(&h->push->down, p.length, false);
	}
	if (f->source_ended && !h->is_whole) {
		h->is_whole = true;
		arm(h);
		if (hold->ops->arrived && !h->was_claimed)
			hold->ops->arrived(hold->context, h->push, h->head, &h->body);
	}
	return true;
}

/* Ends the held response if no request is being answered from it and no other may be. */
static void end_if_unneeded(struct held *h)
{
	bool is_used_up = h->is_delivered && !h->store->is_shared;
	if (!list_is_empty(&h->claims))
		return;
	if (is_used_up) {
		held_end(h, HOLD_CLAIMED, &policy_reason_CLAIMED, RELAY_CANCEL);
	} else if (h->is_abandoned && !h->is_whole) {
		held_end(h, HOLD_EXPIRED, &policy_reason_CLIENT_RESET, h->abandon_code);
	} else if (h->is_closed) {
		end_old(h);
	} else if (h->is_admitted && held_is_useless(h)) {
		hold_gone_note(h);
		held_end(h, HOLD_EXPIRED, &policy_reason_HOLD_NOT_FRESH, RELAY_CANCEL);
	}
}

void hold_page_left(struct hold_store *s, const struct exchange *x)
{
	list_for_each(&s->entries, h, struct held, entry)
	{
		bool is_of_page = h->push && h->push->pushed.parent_id == x->id &&
				  h->push->pushed.source != POLICY_RELAYED;
		if (!is_of_page || h->is_whole || h->is_awaited || !list_is_empty(&h->claims))
			continue;
		held_close(h);
		h->end_outcome = HOLD_EXPIRED;
		h->end_reason = &policy_reason_PAGE_LEFT;
		held_mark(h);
	}
}

static void note_first_claim(struct held *h)
{
	const struct hold *hold = held_hold(h);
	const struct claim *first = list_first(&h->claims, struct claim, link);
	if (!first || h->was_claimed || !h->push)
		return;
	h->was_claimed = true;
	if (hold->ops->claimed)
		hold->ops->claimed(hold->context, h->push, first->exchange);
}

static void run(struct held *h)
{
	note_first_claim(h);
	if (!h->push) {
		held_fail_claims(h, h->cause, h->code);
		held_free(h);
		return;
	}
	if (h->head && !h->is_admitted) {
		const struct policy_reason *refusal = admit(h);
		if (refusal) {
			held_fail_claims(h, &relay_cause_POLICY, 0);
			held_end(h, HOLD_WITHDRAWN, refusal, RELAY_CANCEL);
			return;
		}
	}
	bool is_stuck;
	do {
		if (h->is_admitted && !take(h))
			return;
		held_feed(h);
		free_interims(h);
		/* The push was reset: it is marked dirty again, and run() ends the claims next time. */
		if (!h->push)
			return;
		held_trim(h);
		is_stuck = !h->is_outgrown || h->push->download.body.bytes == 0 ||
			   h->body.bytes >= OUTGROWN_KEPT_BYTES;
	} while (!is_stuck);
	end_if_unneeded(h);
}

void hold_run(struct hold *hold)
{
	struct held *h;
	while ((h = list_first(&hold->dirty, struct held, dirty)) != NULL) {
		list_remove(&h->dirty);
		run(h);
	}
	bury(hold);
}
