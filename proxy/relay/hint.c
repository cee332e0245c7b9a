/* SPDX-License-Identifier: MIT */
/*
 * 103 Early Hints of our own (RFC 8297): one for each request, before its final response. It is sent at
 * the end of the loop pass in which the first hint came, or hint_wait later. If the origin sends a 103
 * before that, the hints are added to it.
 */
#include "proxy/relay/private.h"

#include "proxy/base/ensure.h"

#define MAY_HINT_PHASES                                                                            \
	(PHASE_BIT(EXCHANGE_NEW) | PHASE_BIT(EXCHANGE_QUEUED) | PHASE_BIT(EXCHANGE_SENT))

bool exchange_may_hint(const struct exchange *x)
{
	return exchange_is_in(x, MAY_HINT_PHASES) && x->down.ops && x->hints.state != HINT_SENT &&
	       !exchange_is_push(x);
}

void exchange_hint(struct exchange *x, const struct http_resource *resource)
{
	struct relay *r = x->relay;
	if (!exchange_may_hint(x))
		return;
	if (x->hints.state == HINT_NONE) {
		x->hints.head = http_head_new(r->heads);
		http_head_add_token(x->hints.head, HTTP_TOKEN_PSEUDO_STATUS, SLICE("103"));
		const char *fault = http_head_validate(x->hints.head, HTTP_RESPONSE);
		ensure(fault == NULL);
		x->hints.state = HINT_GATHERING;
		x->hints.due = r->now + r->hint_wait;
		list_append(&r->hinting, &x->hints.link);
	}
	http_head_add_token(x->hints.head, HTTP_TOKEN_LINK,
	    http_hint_make(&x->hints.head->arena, x->request, resource));
	exchange_charge(x);
}

static void end_hints(struct exchange *x, enum hint_state state)
{
	http_head_free(x->hints.head);
	x->hints.head = NULL;
	x->hints.state = state;
	list_remove(&x->hints.link);
	exchange_charge(x);
}

void exchange_drop_hints(struct exchange *x)
{
	if (x->hints.state == HINT_GATHERING)
		end_hints(x, HINT_NONE);
}

void exchange_send_hints(struct exchange *x)
{
	if (x->hints.state != HINT_GATHERING)
		return;
	x->relay->ops->response_head(x->relay->context, x, x->hints.head);
	x->down.ops->send_head(&x->down, x->hints.head, false);
	end_hints(x, HINT_SENT);
}

void exchange_join_hints(struct exchange *x, struct http_head *interim)
{
	if (x->hints.state != HINT_GATHERING || interim->status != 103)
		return;
	for (uint32_t i = 0; i < x->hints.head->count; i++)
		http_head_add_token(interim, HTTP_TOKEN_LINK, x->hints.head->fields[i].value);
	end_hints(x, HINT_SENT);
}

void relay_send_hints(struct relay *r)
{
	list_for_each(&r->hinting, x, struct exchange, hints.link) if (x->hints.due <= r->now)
	    exchange_send_hints(x);
}

usec relay_hints_due(const struct relay *r)
{
	const struct exchange *x = list_first(&r->hinting, struct exchange, hints.link);
	/* the first in the list is due first: all wait equally long */
	return x ? x->hints.due : USEC_NEVER;
}
