/* SPDX-License-Identifier: MIT */
/* What becomes of a request before it is on its way: refused here, or routed to an origin's pool.
 * */
#include "proxy/hop/private.h"

/* 431: the engine has decoded the field list for the table's sake alone and kept the pseudo-fields,
 * which the log wants; whether they are well formed nobody has checked. */
static void name_unsettled(struct http_head *head)
{
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		switch (f->token) {
		case HTTP_TOKEN_PSEUDO_METHOD:
			head->method = f->value;
			head->method_token = (uint16_t)http_method_find(f->value);
			break;
		case HTTP_TOKEN_PSEUDO_SCHEME:
			head->scheme = f->value;
			break;
		case HTTP_TOKEN_PSEUDO_AUTHORITY:
			head->authority = f->value;
			break;
		case HTTP_TOKEN_PSEUDO_PATH:
			head->path = f->value;
			break;
		}
	}
}

void down_request(
    struct down *d, struct h2_stream *s, struct http_head *head, bool end, bool oversize)
{
	struct hop *hop = d->hop;
	if (oversize)
		name_unsettled(head);
	const struct leg leg = {.ops = &down_leg_ops,
	    .carrier = d,
	    .stream = (struct session_stream *)s,
	    .budget = &d->budget};
	struct exchange *x = exchange_new(&hop->relay, &leg, head, end);
	HOP_COUNT(hop, requests, 1);
	if (!x) {
		HOP_COUNT(hop, memory_refused, 1);
		HOP_COUNT(hop, streams_refused_memory, 1);
		h2_reset(d->h2, s, H2_REFUSED_STREAM);
		return;
	}
	h2_stream_set_user(s, &x->down);
	list_append(&d->legs, &x->down.link);
	hop->env.observe->counters->requests_open++;
	down_is_busy(d);
	x->context.listen = d->listener->conf;
	x->context.client = d->client;
	x->context.hold_store = &d->held;
	x->context.upload_limit_bytes = d->listener->conf->max_request_body_bytes;
	if (oversize) {
		exchange_refuse(x, &relay_cause_HEAD_LARGE, NULL);
		return;
	}
	x->context.came_through = facts_came_through(head);
	if (d->memory.is_awake)
		memory_request(d, x);
	const char *detail = NULL;
	const struct relay_cause *refusal = facts_route(&hop->facts, x, &detail);
	if (refusal) {
		exchange_refuse(x, refusal, detail);
		return;
	}
	/* :authority says it all, and must stay the only one to say it (RFC 9113 8.3.1). */
	http_head_remove(head, HTTP_TOKEN_HOST);
	if (!list_is_empty(&hop->hold.used) && hold_claim(&hop->hold, x))
		return;
	if (hop->env.conf->preload_count > 0) {
		struct facts_client room;
		learned_view(hop, x);
		offer_with_request(&hop->facts, down_facts(x, &room), x);
	}
	if (!exchange_is_over(x))
		exchange_dispatch(x);
}
