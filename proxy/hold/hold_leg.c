/* SPDX-License-Identifier: MIT */
/*
 * The held response as the downstream leg of its push. It keeps the head; hold_run takes the bytes in
 * the same loop pass. A promised request has no body, and nothing is pushed out of a push.
 */
#include "proxy/hold/held.h"

#include "proxy/base/ensure.h"

static struct held *held_of(struct leg *leg)
{
	return leg->carrier;
}

/* Keeps an interim response for the requests that have joined. One that joins later must not get it:
 * it tells the state of the response at this moment. */
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
	ensure(!end); /* exchange_on_response never passes the end to a held leg */
	if (http_head_is_interim(head)) {
		keep_interim(h, head);
		return false;
	}
	h->head = http_head_copy(head);
	h->arrived = held_now(h);
	size_t charge = http_head_bytes(h->head);
	h->charge += charge;
	budget_force(h->store->budget, charge);
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

/* The push has failed: the origin reset it, memory or time ran out, or policy_review dropped it. */
static void leg_reset(struct leg *leg, uint32_t code)
{
	struct held *h = held_of(leg);
	const struct relay_cause *cause = h->push->ending.cause;
	(void)code;
	ensure(cause);
	bool is_withdrawn = cause == &relay_cause_POLICY;
	h->cause = cause;
	h->code = h->push->ending.code; /* as it came: the claims' own outcome translates it */
	uint64_t wasted_bytes = held_waste(h);
	if (h->served == 0) {
		const struct hold_note note = {
		    .outcome = is_withdrawn ? HOLD_WITHDRAWN : HOLD_FAILED,
		    .reason = is_withdrawn ? h->push->pushed.verdict.reason : cause->push_reason,
		    .push = h->push,
		    .wasted_bytes = wasted_bytes,
		};
		hold_note(held_hold(h), &note);
	}
	held_close(h);
	list_remove(&h->unclaimed);
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
	ensure(!held_of(leg)->push); /* held_end cuts the link before the push detaches */
}

const struct leg_ops held_leg_ops = {
    .send_head = leg_send_head,
    .send_body = leg_send_body,
    .send_trailers = leg_send_trailers,
    .promise = leg_promise,
    .reset = leg_reset,
    .credit = leg_credit,
    .detach = leg_detach,
};
