/* SPDX-License-Identifier: MIT */
/*
 * What the relay asks of the hop: to which origin a request goes, what is done to a response's head,
 * and how long anything may take by the configuration of both sides.
 */
#include "proxy/hop/private.h"

#include "proxy/http/via.h"

static struct slice date(void *context)
{
	return hop_date(context);
}

static void dispatch(void *context, struct exchange *x)
{
	struct hop *h = context;
	const struct conf_route *route = x->context.route;
	if (!exchange_was_retried(x))
		fields_apply(&route->request_fields, x->request);
	pool_dispatch(pool_choose(h, x), x);
}

static void undispatch(void *context, struct exchange *x)
{
	(void)context;
	pool_undispatch(x);
}

static void response_head(void *context, struct exchange *x, struct http_head *head)
{
	struct hop *h = context;
	const struct conf_route *route = x->context.route;
	if (route && !http_head_is_interim(head))
		fields_apply(&route->response_fields, head);
	if (!http_head_is_interim(head) && !list_is_empty(&h->hold.used))
		hold_invalidate(&h->hold, x, head);
	offer_with_response(x, head);
	if (x->context.diary && !http_head_is_interim(head))
		memory_response(x, head);
	http_via_add(head, h->pseudonym);
}

static usec time_limit(void *context, const struct exchange *x, enum relay_timeout what)
{
	struct hop *h = context;
	const struct conf_origin *o = x->context.origin;
	const struct conf_listen *l = x->context.listen;
	switch (what) {
	case RELAY_TIMEOUT_BODY_UP:
		return l ? l->body_timeout : 0;
	case RELAY_TIMEOUT_TAKE_DOWN:
		return x->down.ops == &down_leg_ops ? down_take_limit(x->down.carrier, &x->down)
						    : 0;
	case RELAY_TIMEOUT_TAKE_UP:
		return x->up.ops == &up_leg_ops ? up_take_limit(x->up.carrier, &x->up) : 0;
	case RELAY_TIMEOUT_PUSH_START:
		return h->env.conf->server.push_start_timeout;
	case RELAY_TIMEOUT_QUEUE:
		return o ? o->queue_timeout : 0;
	case RELAY_TIMEOUT_RESPONSE:
		return o ? o->response_timeout : 0;
	case RELAY_TIMEOUT_BODY_DOWN:
		return o ? o->body_timeout : 0;
	case RELAY_TIMEOUT_LINGER:
		return o ? o->upload_linger : USEC_PER_SEC;
	}
	return 0;
}

static uint32_t min_rate(void *context, const struct exchange *x, enum relay_side side)
{
	(void)context;
	const struct conf_origin *o = x->context.origin;
	const struct conf_listen *l = x->context.listen;
	if (side == RELAY_CLIENT)
		return l ? l->limits.min_rate : 0;
	return o ? o->limits.min_rate : 0;
}

const struct relay_ops hop_relay_ops = {
    .dispatch = dispatch,
    .undispatch = undispatch,
    .offer_facts = promise_facts,
    .offer_decided = promise_settled,
    .offer_shadowed = feedback_shadowed,
    .push_promised = promise_made,
    .response_head = response_head,
    .ended = account_ended,
    .date = date,
    .time_limit = time_limit,
    .min_rate = min_rate,
};

static uint64_t epoch_sec(void *context)
{
	(void)context;
	return clock_wall() / USEC_PER_SEC;
}

const struct hold_ops hop_hold_ops = {.epoch_sec = epoch_sec, .note = account_held};
