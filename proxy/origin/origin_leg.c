/* SPDX-License-Identifier: MIT */
/* The upstream leg of an exchange: a stream on an origin connection. */
#include "proxy/origin/origin_private.h"

#include "proxy/base/ensure.h"
#include "proxy/tracing/tracing.h"

static struct origin_conn *conn_of(struct leg *leg)
{
	return leg->carrier;
}

static void hold_back(struct leg *leg, bool is_held_back)
{
	struct origin_conn *c = conn_of(leg);
	struct worker_env *env = c->origins->env;
	c->is_held_back = is_held_back;
	if (is_held_back) {
		WORKER_COUNT(env, subscriptions_held_back, 1);
		net_conn_pause_reading(c->net, NET_PAUSE_SUBSCRIBER);
	} else {
		c->read_since = env->relay->now;
		peer_silence_heard(&c->silence, env->relay->now);
		net_conn_resume_reading(c->net, NET_PAUSE_SUBSCRIBER);
	}
	origin_conn_arm(c);
}

void origin_leg_cut(struct leg *leg)
{
	struct origin_conn *c = conn_of(leg);
	session_set_user(leg->stream, NULL);
	if (c->carries_slow)
		pool_slow_ended(c);
	list_remove(&leg->link);
	leg->ops = NULL;
	if (c->transport != ORIGIN_TRANSPORT_OPEN)
		origin_conn_look_soon(c);
}

void origin_leg_end(struct leg *leg)
{
	struct origin_conn *c = conn_of(leg);
	if (c->is_held_back && !exchange_is_push(leg->exchange))
		hold_back(leg, false);
	if (exchange_is_push(leg->exchange))
		fetch_keep(leg->exchange);
	origin_leg_cut(leg);
}

static const struct relay_cause *const why_unsent[] = {
    [SESSION_FITS] = &relay_cause_NO_MEMORY,
    [SESSION_HEAD_LARGE] = &relay_cause_UP_TAKES_LESS,
    [SESSION_NEEDS_LENGTH] = &relay_cause_NEEDS_LENGTH,
    [SESSION_NO_TUNNEL] = &relay_cause_NO_TUNNEL,
};

/* The origin last answered in HTTP/1.0: it takes no body of unknown length, and ignores an expectation
 * (RFC 9110 10.1.1). A new connection cannot tell before its first response. */
static bool is_old(const struct origin_conn *c)
{
	return c->requests == 0 ? c->pool->known->needs_length
				: !session_peer(c->session).answers_expect;
}

static enum session_fit fit_of(const struct origin_conn *c, const struct http_head *head, bool end)
{
	bool is_tunnel = head->method_token == HTTP_METHOD_CONNECT; /* its bytes are no body */
	bool is_unknown = !end && !is_tunnel && head->content_length == HTTP_LENGTH_UNKNOWN;
	return is_unknown && is_old(c) ? SESSION_NEEDS_LENGTH
				       : session_request_fits(c->session, head, end);
}

/* Some servers take whatever follows on the connection for requests of the user who has logged in with these schemes
 * (RFC 4559 6; HTTP's own are for one request, RFC 9110 11.6.2). */
static bool logs_connection_in(const struct http_head *head)
{
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		if (f->token != HTTP_TOKEN_AUTHORIZATION)
			continue;
		struct slice scheme = slice_sub(f->value, 0, slice_find(f->value, ' '));
		if (slice_equal_nocase(scheme, SLICE("negotiate")) ||
		    slice_equal_nocase(scheme, SLICE("ntlm")))
			return true;
	}
	return false;
}

/* ---- requests to an upstream proxy ---- */

void upstream_proxy_authorize(const struct origin_conn *c, struct http_head *head)
{
	const struct conf_upstream_proxy *p = c->pool->conf->proxy;
	http_head_remove(head, HTTP_TOKEN_PROXY_AUTHORIZATION);
	if (p->authorization.len > 0)
		http_head_add_token(head, HTTP_TOKEN_PROXY_AUTHORIZATION, p->authorization);
}

static void address_to_proxy(const struct origin_conn *c, struct http_head *head)
{
	upstream_proxy_authorize(c, head);
	if (head->method_token == HTTP_METHOD_CONNECT)
		return;
	/* RFC 9112 3.2.4: the last proxy makes an asterisk of an OPTIONS without a path. */
	bool is_asterisk = slice_equal(head->path, SLICE("*"));
	head->path = arena_printf(&head->arena, "http://%.*s%.*s", SLICE_ARG(head->authority),
	    is_asterisk ? 0 : (int)head->path.len, head->path.ptr);
}

/* ---- requests ---- */

const struct relay_cause *origin_conn_send(struct origin_conn *c, struct exchange *x)
{
	if (x->terms.is_call && !session_can(c->session, SESSION_CALLS))
		return &relay_cause_NEEDS_HTTP2;
	struct http_head *head = route_origin_request(c->origins->routes, &x->facts, &x->place);
	if (c->pool->server->origin->speaks_to_proxy)
		address_to_proxy(c, head);
	if (fetch_state(x) == ORIGIN_FETCH_OPEN && !http_head_find(head, HTTP_TOKEN_PRIORITY))
		http_head_add_token(head, HTTP_TOKEN_PRIORITY, SLICE("u=7")); /* RFC 9218 4.1 */
	struct tracing *tracing = c->origins->env->tracing;
	if (tracing)
		tracing_attempt(tracing, x, head, c->pool->server->address, c->hop.protocol);
	bool end = x->upload.source_ended && x->upload.body.bytes == 0 && !x->upload.trailers &&
		   !x->tunnel.is_asked;
	bool must_continue = !end && http_expects_continue(head) && is_old(c);
	if (must_continue || x->response.continued)
		http_head_remove(head, HTTP_TOKEN_EXPECT);
	enum session_fit fit = fit_of(c, head, end);
	struct session_stream *stream =
	    fit == SESSION_FITS ? session_request(c->session, head, end, &x->up) : NULL;
	http_head_free(head);
	if (!stream)
		return why_unsent[fit];
	const struct leg leg = {
	    .ops = &origin_leg_ops, .carrier = c, .stream = stream, .budget = &c->budget};
	list_append(&c->legs, &x->up.link);
	c->single.has_answered = false;
	bool is_last = ++c->requests >= c->pool->requests_most;
	if (!session_can(c->session, SESSION_MULTIPLEXES)) {
		pool_make_unusable(c->pool, c);
		if (pool_slow_applies(c->pool, x) != c->carries_slow)
			(c->carries_slow ? pool_slow_ended : pool_slow_began)(c);
		is_last = is_last || logs_connection_in(x->request) ||
			  (c->owner && !peer_header_names(&c->owner->client));
	}
	if (c->quiet_since != USEC_NEVER) {
		c->quiet_since = USEC_NEVER;
		origin_conn_arm(c);
	}
	if (is_last)
		origin_conn_retire(c);
	origin_attempt_of(x)->hop = c->hop;
	exchange_on_connected(x, &leg);
	if (must_continue)
		exchange_continue(x);
	net_conn_dirty(c->net);
	return NULL;
}

static void leg_send_body(struct leg *leg, const struct flow *flow)
{
	struct origin_conn *c = conn_of(leg);
	if (c->carries_slow && flow->source_ended)
		pool_slow_ended(c);
	session_offer(c->session, leg->stream, flow->body.bytes, flow_may_end(flow));
	net_conn_dirty(c->net);
}

static void leg_send_trailers(struct leg *leg, const struct http_head *trailers)
{
	struct origin_conn *c = conn_of(leg);
	session_trailers(c->session, leg->stream, trailers);
	net_conn_dirty(c->net);
}

/*
 * An origin treats a peer that cancels many requests as an attacker (CVE-2023-44487) and closes its
 * connection with all requests on it: another pushgate after 200 cancellations (limit-resets), other
 * servers after 500 or 1,000. The cancellations of all clients add up on a shared connection, so it
 * is retired before: a new connection takes the next requests.
 */
#define CANCELS_MOST 150u

static void count_cancel(struct origin_conn *c)
{
	if (!session_can(c->session, SESSION_MULTIPLEXES))
		return;
	if (++c->cancels % CANCELS_MOST == 0 && pool_may_replace(c->pool))
		origin_conn_retire(c);
}

static void leg_reset(struct leg *leg, uint32_t code)
{
	struct origin_conn *c = conn_of(leg);
	struct session_stream *stream = leg->stream;
	/* A promise refused before it became an exchange has a temporary leg without exchange. */
	if (leg->exchange) {
		origin_leg_end(leg);
		if (!exchange_is_push(leg->exchange) ||
		    leg->exchange->pushed.source != POLICY_RELAYED)
			count_cancel(c);
		if (!session_can(c->session, SESSION_MULTIPLEXES)) {
			origin_single_cancel(c, leg->exchange, stream, code);
			return;
		}
	}
	session_reset(c->session, stream, code);
	net_conn_dirty(c->net);
}

void origin_leg_hurry(struct leg *leg, struct http_priority priority)
{
	struct origin_conn *c = conn_of(leg);
	if (!session_can(c->session, SESSION_MULTIPLEXES))
		return;
	session_set_priority(c->session, leg->stream, priority);
	net_conn_dirty(c->net);
}

static void leg_discard(struct leg *leg, bool end)
{
	struct origin_conn *c = conn_of(leg);
	const struct exchange *x = leg->exchange;
	struct session_stream *stream = leg->stream;
	bool is_over = end && x->upload.state == FLOW_DONE;
	origin_leg_end(leg);
	if (is_over)
		return;
	if (!session_can(c->session, SESSION_MULTIPLEXES)) {
		origin_single_drop(c, x, stream, SESSION_CANCEL);
		return;
	}
	count_cancel(c);
	session_reset(c->session, stream, SESSION_CANCEL);
	net_conn_dirty(c->net);
}

static void leg_credit(struct leg *leg, size_t n)
{
	struct origin_conn *c = conn_of(leg);
	session_credit(c->session, leg->stream, n);
	net_conn_dirty(c->net);
	if (c->is_full && (c->transport != ORIGIN_TRANSPORT_OPEN || net_conn_is_blocked(c->net)))
		origin_conn_look_soon(c);
}

const struct leg_ops origin_leg_ops = {
    .send_head = leg_sends_no_head,
    .send_body = leg_send_body,
    .send_trailers = leg_send_trailers,
    .promise = leg_promises_nothing,
    .reset = leg_reset,
    .credit = leg_credit,
    .detach = origin_leg_end,
    .discard = leg_discard,
    .hold_back = hold_back,
};
