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

static void refuse(
    struct exchange *parent, struct leg *up, const struct policy_offer *offer, struct policy_verdict verdict)
{
	up->ops->reset(up, refusal_code(verdict.reason));
	parent->relay->ops->offer_refused(parent->relay->context, parent, offer, verdict);
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
	const struct policy_verdict no_memory = {
	    .action = POLICY_DROP, .reason = &policy_reason_BUDGET};
	struct exchange *push = NULL;
	if (verdict.action == POLICY_FORWARD) {
		push = exchange_alloc(r, head);
		if (!push)
			verdict = no_memory;
	}
	if (!push) {
		refuse(x, &leg, &offer, verdict);
		http_head_free(head);
		return NULL;
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
	    .state = PUSH_OFFERED,
	    .source = POLICY_RELAYED,
	    .parent = x,
	    .parent_id = x->id,
	    .verdict = verdict,
	};
	list_init(&push->push.sibling);
	if (!x->down.ops->promise(&x->down, head, push)) {
		refuse(x, &leg, &offer, no_memory);
		exchange_finish(push, &relay_cause_NO_MEMORY, 0, NULL);
		return NULL;
	}
	push->push.state = PUSH_PROMISED;
	exchange_bind(&push->up, &leg);
	list_append(&x->pushes, &push->push.sibling);
	x->push_count++;
	exchange_arm(push);
	r->ops->push_promised(r->context, push);
	return push;
}
