/* SPDX-License-Identifier: MIT */
/*
 * The relay's callbacks (struct relay_ops, struct hold_ops): dispatches requests to origins, edits
 * response heads, and looks up timeouts in the configuration of both sides.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/http/via.h"

static struct slice date(void *context)
{
	struct gateway *g = context;
	return worker_date(&g->env);
}

static void dispatch(void *context, struct exchange *x)
{
	struct gateway *g = context;
	struct client_facts facts;
	if (exchange_is_push(x) && x->place.origin->balance.affinity_cookie)
		upstream_read_affinity(x);
	upstream_dispatch(
	    &g->upstream, x, offer_wants_pushes(&g->offers, client_facts(x, &facts), x));
}

static bool retries(void *context, struct exchange *x, const struct relay_failure *failure)
{
	struct gateway *g = context;
	if (!upstream_may_retry(&g->upstream, x, failure))
		return false;
	if (tracing_record_of(x))
		span_record_retried(g, x, failure);
	return true;
}

static void add_transport_security(const struct exchange *x, struct http_head *head)
{
	struct slice value = gateway_transport_security(x);
	if (value.len > 0 && !http_head_find(head, HTTP_TOKEN_STRICT_TRANSPORT_SECURITY))
		http_head_add_token(head, HTTP_TOKEN_STRICT_TRANSPORT_SECURITY, value);
}

static void response_head(void *context, struct exchange *x, struct http_head *head)
{
	struct gateway *g = context;
	const struct conf_route *route = x->place.route;
	if (exchange_is_tunnel(x)) {
		WORKER_COUNT(&g->env, tunnels, 1);
		WORKER_COUNT(&g->env, tunnels_open, 1);
		if (g->recheck.ask)
			recheck_opened(g, x);
	}
	route_response_of_proxy(&g->routes, x->facts.listener, head);
	/* Before the others: hold_invalidate reads public paths, and a rule of the route may replace Location. */
	if (route && route->rewrite.is_given)
		route_map_response(x->request, &x->place, head);
	if (g->lessons.offers) {
		offer_lesson_answer(g->lessons.offers, x, head);
		page_reading_begin(g, x, head);
	}
	if (hold_part(x)->miss != HOLD_FITS) /* before the route's rules, which may remove it */
		hold_tell_miss(x, head);
	if (!list_is_empty(&g->hold.used))
		hold_invalidate(&g->hold, x, head);
	if (route)
		route_apply_fields(&route->response_fields, &x->facts, head);
	if (x->facts.listener && x->facts.listener->hsts)
		add_transport_security(x, head);
	if (x->place.origin && x->place.origin->balance.affinity_cookie)
		upstream_add_affinity(x, head);
	if (offer_has_links(x, head)) {
		struct client_facts facts;
		if (offer_reads_links(&g->offers, client_facts(x, &facts), x))
			offer_links(x, head);
		else
			offer_hide_links(head);
	}
	if (client_part(x)->diary)
		client_diary_response(x, head);
	if (route && route->server_timing) /* behind offer_links, which decides on pushes */
		server_timing_add(x, head);
	if (offer_part(x)->arm && !exchange_is_push(x))
		server_timing_add_arm(offer_part(x)->arm, head);
	if (route && route->speculation.kind != SPECULATION_OFF)
		speculation_response(g, x, head);
	http_via_add(head, &g->routes.via);
}

static bool interim_head(void *context, struct exchange *x, struct http_head *head)
{
	struct gateway *g = context;
	struct client_facts facts;
	if (x->place.route && x->place.route->rewrite.is_given)
		route_map_response(x->request, &x->place, head);
	if (g->lessons.offers)
		offer_lesson_early(x, head);
	route_response_of_proxy(&g->routes, x->facts.listener, head);
	http_via_add(head, &g->routes.via);
	return offer_on_interim(&g->offers, client_facts(x, &facts), x, head);
}

static void trailers(
    void *context, const struct exchange *x, struct http_head *head, bool is_request)
{
	(void)context;
	if (is_request)
		route_request_trailers(x->facts.listener, x->place.route, head);
	else
		route_response_trailers(x->place.route, head);
}

/* A subscription is ended by stream-idle-timeout alone, whether it was answered or not. So is a call of gRPC
 * that has no deadline: its head often comes with the first message, or with the status. */
static usec response_limit(const struct exchange *x)
{
	const struct conf_origin *o = x->place.origin;
	const struct conf_route *route = x->place.route;
	if (!o || x->pushes.is_subscription || x->terms.is_call)
		return 0;
	return route && route->response_timeout > 0 ? route->response_timeout : o->response_timeout;
}

static usec queue_limit(const struct exchange *x)
{
	const struct conf_origin *o = x->place.origin;
	const struct conf_route *route = x->place.route;
	if (x->upload_wait == UPLOAD_GATHERS) /* it waits for its client */
		return 0;
	if (route && route->connect_timeout > 0)
		return route->connect_timeout;
	return o ? o->queue_timeout : 0;
}

static usec stream_idle_limit(const struct exchange *x)
{
	const struct conf_route *route = x->place.route;
	if (!route || exchange_is_held_back(x))
		return 0;
	return exchange_is_tunnel(x) ? route->tunnel_idle_timeout : route->stream_idle_timeout;
}

static usec half_closed_limit(const struct conf_route *route)
{
	usec limit = route->tunnel_half_closed_timeout;
	return limit > 0 ? limit : route->tunnel_idle_timeout;
}

/* A subscription's pushes wait as long as it lives: none is lost because its client is slow. */
static usec push_start_limit(const struct gateway *g, const struct exchange *x)
{
	if (!x->pushed.is_expected)
		return g->env.conf->server.push_start_timeout;
	return x->pushed.parent ? 0 : x->place.origin->response_timeout;
}

/* From the opening of a tunnel with tunnel-sni = match to its whole ClientHello. */
#define TUNNEL_HELLO_USEC (10 * USEC_PER_SEC)

static usec time_limit(void *context, const struct exchange *x, enum relay_timeout what)
{
	struct gateway *g = context;
	const struct conf_origin *o = x->place.origin;
	const struct conf_listen *l = x->facts.listener;
	switch (what) {
	case RELAY_TIMEOUT_BODY_UP:
		return l ? l->body_timeout : 0;
	case RELAY_TIMEOUT_TAKE_DOWN:
		return client_stall_limit(x);
	case RELAY_TIMEOUT_TAKE_UP:
		return origin_stall_limit(x);
	case RELAY_TIMEOUT_PUSH_START:
		return push_start_limit(g, x);
	case RELAY_TIMEOUT_QUEUE:
		return queue_limit(x);
	case RELAY_TIMEOUT_RESPONSE:
		return response_limit(x);
	case RELAY_TIMEOUT_BODY_DOWN:
		return o && !exchange_is_held_back(x) ? o->body_timeout : 0;
	case RELAY_TIMEOUT_IDLE:
		return stream_idle_limit(x);
	case RELAY_TIMEOUT_CALL:
		return x->terms.call_timeout;
	case RELAY_TIMEOUT_REQUEST: /* a subscription is no response that could be late */
		return x->pushes.is_subscription ? 0 : x->terms.request_timeout;
	case RELAY_TIMEOUT_TUNNEL_AGE:
		return x->place.route->tunnel_age;
	case RELAY_TIMEOUT_TUNNEL_HELLO:
		return x->tunnel.is_checked ? TUNNEL_HELLO_USEC : 0;
	case RELAY_TIMEOUT_TUNNEL_HALF:
		return half_closed_limit(x->place.route);
	case RELAY_TIMEOUT_LINGER:
		return o ? o->upload_linger : USEC_PER_SEC;
	}
	return 0;
}

static uint32_t min_rate(void *context, const struct exchange *x, enum relay_side side)
{
	(void)context;
	const struct conf_origin *o = x->place.origin;
	const struct conf_listen *l = x->facts.listener;
	if (side == RELAY_CLIENT)
		return l ? l->limits.min_rate : 0;
	return o ? o->limits.min_rate : 0;
}

const struct relay_ops gateway_relay_ops = {
    .dispatch = dispatch,
    .retries = retries,
    .undispatch = upstream_undispatch,
    .upload_grew = upstream_upload_grew,
    .tunnel_waits = tunnel_quota_waits,
    .tunnel_look = gateway_tunnel_look,
    .offer_facts = promise_facts,
    .offer_is_special = promise_is_special,
    .offer_decided = promise_decided,
    .offer_shadowed = feedback_shadowed,
    .hold = hold_bind,
    .push_promised = promise_made,
    .response_head = response_head,
    .body_passes = page_reading_pass,
    .interim_head = interim_head,
    .trailers = trailers,
    .own_answer = gateway_own_answer,
    .ended = access_record_ended,
    .date = date,
    .time_limit = time_limit,
    .min_rate = min_rate,
};

static uint64_t epoch_sec(void *context)
{
	(void)context;
	return clock_wall() / USEC_PER_SEC;
}

static struct http_head *origin_request(void *context, const struct exchange *x)
{
	const struct gateway *g = context;
	if (x->place.route->request_fields.count == 0 &&
	    !route_changes_forwarding(x->facts.listener, x->place.route))
		return NULL;
	/* Two of these overlays may be compared, so none borrows from the table. */
	struct route_env env = g->routes;
	env.forwarding = NULL;
	return route_origin_request(&env, &x->facts, &x->place);
}

static bool same_changes(void *context, const struct exchange *a, const struct exchange *b)
{
	(void)context;
	const struct conf_route *left = a->place.route, *right = b->place.route;
	return route_fields_alike(
	    &left->request_fields, &a->facts, &right->request_fields, &b->facts);
}

static bool same_at_origin(void *context, const struct exchange *push, const struct exchange *x)
{
	(void)context;
	return route_rewrites_alike(push->place.route, x->place.route, x->request->path) &&
	       upstream_is_open_to(push, &x->facts);
}

static void claimed(void *context, struct exchange *push, const struct exchange *claimer)
{
	struct gateway *g = context;
	const struct http_field *own = http_head_find(claimer->request, HTTP_TOKEN_PRIORITY);
	upstream_fetch_claimed(
	    &g->upstream, push, own ? http_priority_parse(own->value) : HTTP_PRIORITY_DEFAULT);
}

const struct hold_ops gateway_hold_ops = {
    .epoch_sec = epoch_sec,
    .origin_request = origin_request,
    .same_changes = same_changes,
    .same_at_origin = same_at_origin,
    .claimed = claimed,
    .arrived = page_reading_held,
    .note = access_record_held,
};
