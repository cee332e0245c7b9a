/* SPDX-License-Identifier: MIT */
/*
 * Held responses and their stores: taking octets from the pushed exchange, room, age, ends. The
 * claimers' side is hold_claim.c, the rules of who may have what are hold_rules.c.
 */
#include "proxy/relay/held.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/http/cache.h"

#include <stdio.h>

static const struct leg_ops held_leg_ops;

/* ---- the worker's part ---- */

void hold_init(struct hold *hold, struct relay *relay, const struct hold_ops *ops, void *context,
    const struct hold_limits *shared)
{
	*hold =
	    (struct hold){.relay = relay, .ops = ops, .context = context, .shares = shared != NULL};
	hash_random(&hold->key, sizeof(hold->key));
	hold->seed = hash_random_seed();
	list_init(&hold->used);
	list_init(&hold->dirty);
	list_init(&hold->dead);
	const struct hold_limits none = {0};
	hold_store_init(&hold->shared, hold, relay->budget, shared ? shared : &none, false);
	hold->shared.is_shared = true;
}

/* At the end of the turn: callers further up may still look at it. */
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
	bury(hold);
	ensure(list_is_empty(&hold->dirty) && list_is_empty(&hold->used));
}

void hold_note(struct hold *hold, const struct hold_note *note)
{
	hold->counters.outcomes[note->outcome]++;
	hold->counters.wasted_bytes += note->wasted_bytes;
	if (note->outcome == HOLD_MISSED)
		hold->counters.misses[note->miss]++;
	if (hold->ops->note)
		hold->ops->note(hold->context, note);
}

/* ---- stores ---- */

void hold_store_init(struct hold_store *s, struct hold *hold, struct budget *budget,
    const struct hold_limits *limits, bool one_user)
{
	*s = (struct hold_store){
	    .hold = hold, .budget = budget, .limits = *limits, .one_user = one_user};
	map_init(&s->by_uri);
	list_init(&s->entries);
	list_init(&s->link);
}

static void store_add(struct hold_store *s, struct held *h)
{
	h->store = s;
	if (s->count++ == 0)
		list_append(&s->hold->used, &s->link);
	s->bytes += h->body.bytes;
	list_append(&s->entries, &h->entry);
	map_insert(&s->by_uri, &h->node,
	    hold_uri_hash(s->hold, h->push->scheme, h->push->authority, h->push->request->path));
}

static void store_remove(struct held *h)
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
	store_remove(h);
	h->is_closed = false;
	store_add(to, h);
}

static void free_interims(struct held *h)
{
	while (h->interims) {
		struct http_head *head = h->interims;
		h->interims = head->next;
		http_head_free(head);
	}
}

static void held_free(struct held *h)
{
	struct hold_store *s = h->store;
	ensure(list_is_empty(&h->claims) && !h->push);
	store_remove(h);
	list_remove(&h->dirty);
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

void held_close(struct held *h)
{
	if (!h->is_closed)
		map_remove(&h->store->by_uri, &h->node);
	h->is_closed = true;
}

/* As the policy's second look would have it: of hint and hold the hint is left. */
static void withdraw_verdict(struct policy_verdict *v, const struct policy_reason *reason)
{
	bool hints = v->action == POLICY_HINT_HOLD;
	v->action = hints ? POLICY_HINT : POLICY_DROP;
	v->lost_half = hints ? reason : NULL;
	v->reason = hints ? v->reason : reason;
}

/* The exchange that brought it ends with it. */
static void end_push(
    struct held *h, enum hold_outcome outcome, const struct policy_reason *reason, uint32_t code)
{
	struct exchange *push = h->push;
	bool was_claimed = h->served > 0;
	h->push = NULL;
	if (outcome != HOLD_WITHDRAWN)
		push->push.state = was_claimed ? PUSH_CLAIMED : PUSH_EXPIRED;
	push->push.end_reason = was_claimed ? &policy_reason_CLAIMED : reason;
	if (h->is_whole) {
		exchange_on_taken(&push->down, 0, true); /* detaches */
		return;
	}
	if (outcome == HOLD_WITHDRAWN)
		withdraw_verdict(&push->push.verdict, reason);
	bool is_clients = reason == &policy_reason_CLIENT_RESET;
	exchange_on_down_ended(
	    push, is_clients ? &relay_cause_DOWN_RESET : &relay_cause_POLICY, code, NULL);
}

void held_end(
    struct held *h, enum hold_outcome outcome, const struct policy_reason *reason, uint32_t code)
{
	ensure(h->push && list_is_empty(&h->claims));
	if (h->served == 0) { /* claims were noted one by one */
		const struct hold_note note = {
		    .outcome = outcome,
		    .reason = reason,
		    .push = h->push,
		    .wasted_bytes = h->push->download.received,
		};
		hold_note(held_hold(h), &note);
	}
	end_push(h, outcome, reason, code);
	held_free(h);
}

/* The first of those that nobody is being given goes. */
static bool evict(struct hold_store *s, const struct held *but, const struct policy_reason *reason)
{
	list_for_each(&s->entries, h, struct held, entry)
	{
		if (h == but || !list_is_empty(&h->claims) || !h->push)
			continue;
		held_end(h, HOLD_EXPIRED, reason, RELAY_CANCEL);
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

/* ---- age ---- */

static bool is_too_old(const struct held *h, usec now)
{
	return now >= clock_after(h->created, h->store->limits.age);
}

static usec stale_at(const struct held *h)
{
	return h->is_whole ? h->arrived + (usec)h->fresh_sec * USEC_PER_SEC : USEC_NEVER;
}

static void arm(struct held *h)
{
	usec old = clock_after(h->created, h->store->limits.age), stale = stale_at(h);
	wheel_set(&held_hold(h)->relay->wheel, &h->timer, old < stale ? old : stale);
}

/* Those that are being given to somebody end when that is over. */
static void expired(struct wheel_node *node, usec now)
{
	struct held *h = container_of(node, struct held, timer);
	if (!is_too_old(h, now) && now < stale_at(h)) {
		arm(h);
		return;
	}
	held_close(h);
	held_mark(h);
	if (h->push && list_is_empty(&h->claims))
		held_end(h, HOLD_EXPIRED, &policy_reason_EXPIRED, RELAY_CANCEL);
}

/* ---- the downstream leg of the push ---- */

static struct held *held_of(struct leg *leg)
{
	return leg->carrier;
}

/* Interim responses are for those who wait for this one; others would get them out of season. */
static void keep_interim(struct held *h, const struct http_head *head)
{
	if (list_is_empty(&h->claims))
		return;
	struct http_head **last = &h->interims;
	while (*last)
		last = &(*last)->next;
	*last = http_head_copy(head);
	held_mark(h);
}

static bool leg_send_head(struct leg *leg, const struct http_head *head, bool end)
{
	struct held *h = held_of(leg);
	ensure(!end); /* it has no end before it is over here */
	if (http_head_is_interim(head)) {
		keep_interim(h, head);
		return false;
	}
	h->head = http_head_copy(head);
	h->arrived = held_now(h);
	h->charge += h->head->arena.heap_bytes;
	budget_force(h->store->budget, h->head->arena.heap_bytes);
	held_mark(h);
	return true;
}

static void leg_send_body(struct leg *leg, const struct flow *flow)
{
	(void)flow;
	held_mark(held_of(leg));
}

static void leg_send_trailers(struct leg *leg, const struct http_head *trailers)
{
	(void)trailers;
	ensure(!leg); /* they stay with the exchange while it is held */
}

static bool leg_promise(struct leg *leg, const struct http_head *request, struct exchange *child)
{
	(void)leg;
	(void)request;
	(void)child;
	return false; /* no pushes from pushes */
}

/* The push has failed: the origin's doing, or want of memory or time, or the policy's second look.
 * */
static void leg_reset(struct leg *leg, uint32_t code)
{
	struct held *h = held_of(leg);
	const struct relay_cause *cause = h->push->cause;
	ensure(cause);
	bool is_withdrawn = cause == &relay_cause_POLICY;
	h->cause = cause;
	h->code = code;
	if (h->served == 0) {
		const struct hold_note note = {
		    .outcome = is_withdrawn ? HOLD_WITHDRAWN : HOLD_FAILED,
		    .reason = is_withdrawn ? h->push->push.verdict.reason : cause->push_reason,
		    .push = h->push,
		    .wasted_bytes = h->push->download.received,
		};
		hold_note(held_hold(h), &note);
	}
	held_close(h);
	h->push = NULL;
	held_mark(h);
}

static void leg_credit(struct leg *leg, size_t n)
{
	(void)leg;
	(void)n; /* a promised request has no body */
}

static void leg_detach(struct leg *leg)
{
	ensure(!held_of(leg)->push); /* only the store ends it in good order */
}

static const struct leg_ops held_leg_ops = {
    .send_head = leg_send_head,
    .send_body = leg_send_body,
    .send_trailers = leg_send_trailers,
    .promise = leg_promise,
    .reset = leg_reset,
    .credit = leg_credit,
    .detach = leg_detach,
};

/* ---- a promise is bound to its place ---- */

static bool is_for_one_user(const struct exchange *parent)
{
	return parent->held->one_user && !parent->came_through;
}

const struct policy_reason *hold_refusal(
    const struct exchange *parent, const struct http_head *promised)
{
	const struct hold_store *s = parent->held;
	if (!s)
		return &policy_reason_NO_HOLD;
	if (promised && promised->method_token == HTTP_METHOD_HEAD)
		return &policy_reason_HEAD;
	if (promised && promised->method_token != HTTP_METHOD_GET)
		return &policy_reason_METHOD;
	if (!is_for_one_user(parent) && !s->hold->shares)
		return s->one_user ? &policy_reason_HOLD_FORWARDED : &policy_reason_HOLD_SHARED;
	return s->limits.count == 0 ? &policy_reason_HOLD_COUNT : NULL;
}

const struct policy_reason *hold_bind(struct exchange *parent, struct exchange *push)
{
	const struct policy_reason *refusal = hold_refusal(parent, push->request);
	if (refusal)
		return refusal;
	struct hold_store *s = parent->held;
	struct hold *hold = s->hold;
	uint64_t credentials = credentials_hash(&hold->key, parent->request);
	if (hold_has(s, credentials, push) || hold_has(&hold->shared, 0, push))
		return &policy_reason_DUPLICATE;
	refusal = hold_make_room(s, NULL, 1, 0);
	if (refusal)
		return refusal;
	if (!budget_take(s->budget, HELD_CHARGE_BYTES))
		return &policy_reason_BUDGET;
	struct held *h = memory_new(struct held);
	h->push = push;
	h->charge = HELD_CHARGE_BYTES;
	h->created = hold->relay->now;
	h->credentials = credentials;
	h->parent_had_authorization =
	    http_head_find(parent->request, HTTP_TOKEN_AUTHORIZATION) != NULL;
	h->for_one_user = is_for_one_user(parent);
	h->end_outcome = HOLD_EXPIRED;
	h->end_reason = &policy_reason_EXPIRED;
	list_init(&h->entry);
	list_init(&h->dirty);
	list_init(&h->claims);
	wheel_node_init(&h->timer, expired);
	store_add(s, h);
	arm(h);
	const struct leg leg = {.ops = &held_leg_ops, .carrier = h};
	exchange_bind(&push->down, &leg);
	push->push.state = PUSH_HELD;
	hold->counters.held++;
	return NULL;
}

/* ---- the response comes ---- */

/* To the worker's store, when everybody may have it and it has a place there. */
static bool share(struct held *h)
{
	struct hold_store *to = &held_hold(h)->shared;
	if (!held_may_be_shared(h) || hold_has(to, 0, h->push) || hold_make_room(to, NULL, 1, 0))
		return false;
	held_move(h, to);
	return true;
}

const struct policy_reason *held_admit(struct held *h)
{
	struct hold *hold = held_hold(h);
	const struct policy_reason *refusal = held_storable(h);
	if (refusal)
		return refusal;
	bool is_shared = !h->is_closed && share(h);
	if (!is_shared && !h->for_one_user)
		return &policy_reason_NOT_STORABLE;
	h->age_sec = http_age_sec(h->head);
	h->fresh_sec = http_freshness_sec(h->head, is_shared, hold->ops->epoch_sec(hold->context));
	h->is_admitted = true;
	arm(h);
	return NULL;
}

/* False: it has ended for want of room. */
static bool take(struct held *h)
{
	struct hold_store *s = h->store;
	struct flow *f = &h->push->download;
	while (f->body.bytes > 0) {
		struct piece p = body_front(&f->body, SIZE_MAX);
		if (h->is_outgrown && h->body.bytes >= OUTGROWN_KEPT_BYTES)
			return true; /* as fast as the claimers */
		const struct policy_reason *refusal =
		    h->is_outgrown ? NULL : hold_make_room(s, h, 0, p.length);
		if (refusal && list_is_empty(&h->claims)) {
			held_end(h, HOLD_EXPIRED, refusal, RELAY_CANCEL);
			return false;
		}
		if (refusal) {
			held_close(h);
			h->is_outgrown = true;
			h->end_reason = refusal;
			continue;
		}
		body_append(&h->body, p, held_hold(h)->relay->small_chunks, s->budget);
		s->bytes += p.length;
		exchange_on_taken(&h->push->down, p.length, false);
	}
	if (f->source_ended && !h->is_whole) {
		h->is_whole = true;
		arm(h);
	}
	return true;
}

/* Nobody is being given it: does it stay? */
static void settle(struct held *h)
{
	bool is_used_up = h->served > 0 && !h->store->is_shared;
	if (!list_is_empty(&h->claims))
		return;
	if (is_used_up)
		held_end(h, HOLD_CLAIMED, &policy_reason_CLAIMED, RELAY_CANCEL);
	else if (h->is_abandoned && !h->is_whole)
		held_end(h, HOLD_EXPIRED, &policy_reason_CLIENT_RESET, h->abandon_code);
	else if (h->is_closed || (h->is_whole && !held_is_fresh(h)))
		held_end(h, h->end_outcome, h->end_reason, RELAY_CANCEL);
}

static void run(struct held *h)
{
	if (!h->push) {
		held_fail_claims(h, h->cause, h->code);
		held_free(h);
		return;
	}
	if (h->head && !h->is_admitted) {
		const struct policy_reason *refusal = held_admit(h);
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
		/* reset behind what came: it is dirty again, and the claims fail behind that too */
		if (!h->push)
			return;
		held_trim(h);
		is_stuck = !h->is_outgrown || h->push->download.body.bytes == 0 ||
			   h->body.bytes >= OUTGROWN_KEPT_BYTES;
	} while (!is_stuck);
	settle(h);
}

void hold_run(struct hold *hold)
{
	while (!list_is_empty(&hold->dirty)) {
		struct held *h = list_first(&hold->dirty, struct held, dirty);
		list_remove(&h->dirty);
		run(h);
	}
	bury(hold);
}

size_t hold_describe(const struct hold *hold, char *buffer, size_t size)
{
	size_t used = 0;
	list_for_each(&hold->used, s, struct hold_store, link)
	{
		int n = snprintf(buffer + used, size - used, "held %u/%u %llu/%llu octets%s\n",
		    s->count, s->limits.count, (unsigned long long)s->bytes,
		    (unsigned long long)s->limits.bytes, s->is_shared ? " shared" : "");
		if (n < 0 || (size_t)n >= size - used)
			break;
		used += (size_t)n;
	}
	return used;
}
