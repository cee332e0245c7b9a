/* SPDX-License-Identifier: MIT */
/*
 * 103 Early Hints of our own (RFC 8297): one for each request, before its final response. It leaves at
 * the end of the loop pass of the first hint, or when hint_wait is over; the origin's own 103 takes
 * the hints along.
 */
#include "proxy/relay/private.h"

#include "proxy/base/ensure.h"

bool exchange_may_hint(const struct exchange *x)
{
	return !x->is_over && x->down.ops && !x->has_hinted && !x->response_begun &&
	       !exchange_is_push(x);
}

void exchange_hint(struct exchange *x, const struct http_resource *resource)
{
	struct relay *r = x->relay;
	if (!exchange_may_hint(x))
		return;
	if (!x->hints) {
		x->hints = http_head_new(r->heads);
		http_head_add_token(x->hints, HTTP_TOKEN_PSEUDO_STATUS, SLICE("103"));
		const char *fault = http_head_validate(x->hints, HTTP_RESPONSE);
		ensure(fault == NULL);
		x->hints_due = r->now + r->hint_wait;
		list_append(&r->hinting, &x->hinting);
	}
	http_head_add_token(
	    x->hints, HTTP_TOKEN_LINK, http_hint_make(&x->hints->arena, x->request, resource));
	exchange_charge(x);
}

void exchange_drop_hints(struct exchange *x)
{
	if (!x->hints)
		return;
	http_head_free(x->hints);
	x->hints = NULL;
	list_remove(&x->hinting);
	exchange_charge(x);
}

void exchange_send_hints(struct exchange *x)
{
	if (!x->hints)
		return;
	x->relay->ops->response_head(x->relay->context, x, x->hints);
	x->down.ops->send_head(&x->down, x->hints, false);
	x->has_hinted = true;
	exchange_drop_hints(x);
}

void exchange_join_hints(struct exchange *x, struct http_head *interim)
{
	if (!x->hints || interim->status != 103)
		return;
	for (uint32_t i = 0; i < x->hints->count; i++)
		http_head_add_token(interim, HTTP_TOKEN_LINK, x->hints->fields[i].value);
	x->has_hinted = true;
	exchange_drop_hints(x);
}

void relay_send_hints(struct relay *r)
{
	list_for_each(&r->hinting, x, struct exchange, hinting) if (x->hints_due <= r->now)
	    exchange_send_hints(x);
}

usec relay_hints_due(const struct relay *r)
{
	const struct exchange *x = list_first(&r->hinting, struct exchange, hinting);
	/* in the order of their coming, and all wait as long */
	return x ? x->hints_due : USEC_NEVER;
}
