/* SPDX-License-Identifier: MIT */
/* What becomes of a request before it is on its way: refused here, or routed to an origin's pool. */
#include "proxy/hop/private.h"

#include "proxy/http/via.h"

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
		case HTTP_TOKEN_PSEUDO_SCHEME: head->scheme = f->value; break;
		case HTTP_TOKEN_PSEUDO_AUTHORITY: head->authority = f->value; break;
		case HTTP_TOKEN_PSEUDO_PATH: head->path = f->value; break;
		}
	}
}

/* RFC 9110 7.6.2: true when it has gone far enough. */
static bool hops_are_used_up(struct http_head *head)
{
	uint64_t left;
	if (head->method_token != HTTP_METHOD_OPTIONS && head->method_token != HTTP_METHOD_TRACE)
		return false;
	const struct http_field *f = http_head_find(head, HTTP_TOKEN_MAX_FORWARDS);
	if (!f || !slice_to_number(f->value, UINT32_MAX, &left))
		return false;
	if (left == 0)
		return true;
	http_head_remove(head, HTTP_TOKEN_MAX_FORWARDS);
	http_head_add_token(head, HTTP_TOKEN_MAX_FORWARDS, arena_printf(&head->arena, "%u", (unsigned)(left - 1)));
	return false;
}

/* One connection of a proxy is many users. */
static bool is_forwarded(const struct http_head *head)
{
	return http_head_find(head, HTTP_TOKEN_VIA) || http_head_find(head, HTTP_TOKEN_FORWARDED) ||
	       http_head_find(head, HTTP_TOKEN_X_FORWARDED_FOR);
}

/* NULL: it may go on, and x has its route. */
static const struct relay_cause *route_request(struct hop *hop, struct exchange *x, const char **detail)
{
	struct http_head *head = x->request;
	const struct conf_route *route = NULL;
	if (x->method == HTTP_METHOD_CONNECT)
		return *detail = "CONNECT is for forward proxies", &relay_cause_NOT_IMPLEMENTED;
	if (http_via_has(head, hop->pseudonym))
		return *detail = "the request has been here before", &relay_cause_LOOP;
	if (hops_are_used_up(head))
		return *detail = "Max-Forwards is used up", &relay_cause_NOT_IMPLEMENTED;
	switch (router_find(hop->router, head->authority, head->path, &route)) {
	case ROUTER_NO_HOST:
		return *detail = "no route for this host", &relay_cause_MISDIRECTED;
	case ROUTER_NO_PATH:
		return *detail = "no route for this path", &relay_cause_NO_ROUTE;
	case ROUTER_FOUND:
		break;
	}
	x->route = route;
	x->origin = route->origin;
	if (x->upload_limit_bytes && head->content_length != HTTP_LENGTH_UNKNOWN &&
	    head->content_length > x->upload_limit_bytes)
		return &relay_cause_UPLOAD_LARGE;
	return NULL;
}

void down_request(struct down *d, struct h2_stream *s, struct http_head *head, bool end, bool oversize)
{
	struct hop *hop = d->hop;
	if (oversize)
		name_unsettled(head);
	const struct leg leg = {.ops = &down_leg_ops, .carrier = d, .stream = s};
	struct exchange *x = exchange_new(&hop->relay, &leg, head, end);
	HOP_COUNT(hop, requests, 1);
	if (!x) {
		HOP_COUNT(hop, memory_refused, 1);
		h2_reset(d->h2, s, H2_REFUSED_STREAM);
		return;
	}
	h2_stream_set_user(s, &x->down);
	list_append(&d->legs, &x->down.link);
	hop->env.observe->counters->requests_open++;
	if (d->quiet_since != USEC_NEVER) {
		d->quiet_since = USEC_NEVER;
		down_arm(d);
	}
	x->listen = d->listener->conf;
	x->client = d->client;
	x->held = &d->held;
	x->upload_limit_bytes = d->listener->conf->max_request_body_bytes;
	if (oversize) {
		exchange_refuse(x, &relay_cause_HEAD_LARGE, NULL);
		return;
	}
	x->came_through = is_forwarded(head);
	const char *detail = NULL;
	const struct relay_cause *refusal = route_request(hop, x, &detail);
	if (refusal) {
		exchange_refuse(x, refusal, detail);
		return;
	}
	/* :authority says it all, and must stay the only one to say it (RFC 9113 8.3.1). */
	http_head_remove(head, HTTP_TOKEN_HOST);
	if (!list_is_empty(&hop->hold.used) && hold_claim(&hop->hold, x))
		return;
	offer_with_request(hop, x);
	if (!x->is_over)
		exchange_dispatch(x);
}
