/* SPDX-License-Identifier: MIT */
/*
 * An origin's promise, from the offer to the verdict to a pushed exchange. A promise is settled
 * here and now, before anything else of the origin's is read, so that downstream too it stands
 * before the octets that refer to it.
 */
#include "proxy/relay/private.h"

#include "proxy/base/ensure.h"

/* How a refused promise is reset at the origin (RFC 9113 8.4, 8.4.2). */
static uint32_t refusal_code(const struct policy_reason *reason)
{
	static const struct {
		const struct policy_reason *reason;
		uint32_t code;
	} codes[] = {
	    {&policy_reason_METHOD, RELAY_PROTOCOL_ERROR},
	    {&policy_reason_BODY, RELAY_PROTOCOL_ERROR},
	    {&policy_reason_MALFORMED, RELAY_PROTOCOL_ERROR},
	    {&policy_reason_AUTHORITY, RELAY_PROTOCOL_ERROR},
	    {&policy_reason_PARENT_CAP, RELAY_REFUSED_STREAM},
	    {&policy_reason_CONNECTION_CAP, RELAY_REFUSED_STREAM},
	    {&policy_reason_BYTES_CAP, RELAY_REFUSED_STREAM},
	    {&policy_reason_PROMISE_RATE, RELAY_REFUSED_STREAM},
	    {&policy_reason_BUDGET, RELAY_REFUSED_STREAM},
	};
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].reason == reason)
			return codes[i].code;
	return RELAY_CANCEL;
}

static struct exchange *refuse(struct exchange *parent, struct leg *up, struct http_head *head,
    const struct policy_offer *offer, struct policy_verdict verdict)
{
	up->ops->reset(up, refusal_code(verdict.reason));
	parent->relay->ops->offer_refused(parent->relay->context, parent, offer, verdict);
	http_head_free(head);
	return NULL;
}

/* The same resource, asked for in the same way, pushed already for this parent. */
static bool is_repeated(const struct exchange *parent, const struct http_head *promised)
{
	list_for_each (&parent->pushes, child, struct exchange, push.sibling) {
		if (child->request->method_token == promised->method_token &&
		    slice_equal(child->request->path, promised->path) &&
		    slice_equal(child->authority, promised->authority))
			return true;
	}
	return false;
}

struct exchange *exchange_on_promise(struct exchange *x, const struct leg *up, struct http_head *head)
{
	struct relay *r = x->relay;
	struct leg leg = *up;
	struct policy_offer offer = {
	    .source = POLICY_RELAYED,
	    .parent = x->request,
	    .promised = head,
	    .parent_gone = x->is_over || !x->down.ops || x->download.state == FLOW_DONE,
	    .parent_is_push = exchange_is_push(x),
	    .parent_pushes = x->push_count,
	    .now = r->now,
	};
	r->ops->offer_facts(r->context, x, head, &offer);
	offer.duplicate = offer.duplicate || is_repeated(x, head);
	struct policy_verdict verdict = policy_decide(r->policy, &offer);
	if (verdict.action != POLICY_FORWARD)
		return refuse(x, &leg, head, &offer, verdict);

	struct exchange *push = NULL;
	verdict.action = POLICY_DROP;
	if (budget_room(r->budget) >= EXCHANGE_CHARGE_BYTES)
		push = exchange_alloc(r, head);
	if (!push) {
		verdict.reason = &policy_reason_BUDGET;
		return refuse(x, &leg, head, &offer, verdict);
	}
	http_head_strip_hop(head);
	push->listen = x->listen;
	push->client = x->client;
	push->route = x->route;
	push->origin = x->origin;
	push->pool = x->pool;
	push->waits_since = r->now;
	push->upload.source_ended = true;
	push->upload.state = FLOW_DONE;
	push->push = (struct push){
	    .state = PUSH_PROMISED,
	    .source = POLICY_RELAYED,
	    .parent = x,
	    .parent_id = x->id,
	    .verdict = {POLICY_FORWARD, verdict.reason, verdict.rule},
	};
	list_init(&push->push.sibling);
	if (!x->down.ops->promise(&x->down, head, push)) {
		exchange_bind(&push->up, &leg);
		exchange_abort(push, &relay_cause_DOWN_LOST, NULL);
		return NULL;
	}
	exchange_bind(&push->up, &leg);
	list_append(&x->pushes, &push->push.sibling);
	x->push_count++;
	exchange_arm(push);
	r->ops->push_promised(r->context, push);
	return push;
}
