/* SPDX-License-Identifier: MIT */
/*
 * A connection to an origin: its transport and its session. All clients of the worker share it; the
 * pool decides which requests it gets. The session's events are in origin_conn_events.c, its streams
 * in origin_leg.c, its deadlines in origin_deadline.c, its window growth in origin_window.c.
 */
#include "proxy/upstream/on_demand.h"
#include "proxy/upstream/upstream_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

static void conn_opened(void *owner);
static void conn_received(void *owner, struct chunk *chunk, size_t offset, size_t length);
static void conn_fill(void *owner, struct net_out *out);
static void conn_ended(void *owner, enum net_end end, const char *text);
static void conn_blocked(void *owner);
static void conn_cannot_send(void *owner, const char *text);

static const struct net_conn_ops conn_ops = {
    .opened = conn_opened,
    .received = conn_received,
    .fill = conn_fill,
    .ended = conn_ended,
    .blocked = conn_blocked,
    .cannot_send = conn_cannot_send,
};

/* ---- life ---- */

/* The transport is open: starts the session and settings-timeout. */
static void begin_session(struct origin_conn *c, const struct session_plan *plan)
{
	struct upstream *u = c->upstream;
	const struct session_conn conn = {.budget = &c->budget};
	c->started = relay_origin_clock(u->env->relay);
	c->plan = plan;
	c->session = session_begin(plan, &u->session_env, &conn, c->started);
	c->hop.protocol = session_name(c->session);
	c->is_open = true;
	c->quiet_since = u->env->relay->now;
	pool_conn_began(c->pool, c);
	if (c->pool->kind == POOL_SUBSCRIPTIONS) {
		WORKER_COUNT(u->env, subscriptions, 1);
		WORKER_COUNT(u->env, subscriptions_open, 1);
	}
}

static void free_conn(struct deferred_free *deferred)
{
	struct origin_conn *c = container_of(deferred, struct origin_conn, deferred);
	session_free(c->session);
	session_free(c->dialogue);
	budget_give(&c->upstream->env->budget, origin_conn_bytes(c->pool));
	budget_fini(&c->budget);
	free(c->promised_hosts);
	free(c);
}

void origin_conn_open(struct pool *p)
{
	struct upstream *u = p->upstream;
	struct worker_env *env = u->env;
	struct origin_conn *c = memory_new(struct origin_conn);
	c->upstream = u;
	c->pool = p;
	c->started = c->opened = c->quiet_since = env->relay->now;
	c->hop.connection = ++u->last_id;
	c->hop.address = p->server->text;
	origin_window_init(&c->window, p->origin);
	budget_init(&c->budget, &env->budget, env->conf->server.connection_memory_bytes);
	budget_force(&env->budget, origin_conn_bytes(p));
	list_init(&c->legs);
	list_init(&c->usable);
	c->deferred.free = free_conn;
	list_init(&c->deferred.link);
	wheel_node_init(&c->timer, origin_conn_expired);
	pool_conn_opened(p, c);
	c->net = origin_conn_connect(c, &conn_ops);
	if (c->net) {
		net_conn_set_budget(c->net, &c->budget);
		net_conn_keepalive(c->net, p->origin->keepalive, p->origin->write_timeout);
		if (env->relay->unread_since != USEC_NEVER && !c->asks_proxy)
			net_conn_pause_reading(c->net, NET_PAUSE_MEMORY);
	}
	if (p->server->destination->is_on_demand)
		on_demand_conn_opened(u->on_demand);
	WORKER_COUNT(env, upstream_connections, 1);
	WORKER_COUNT(env, upstream_connections_open, 1);
	if (p->origin->kind == CONF_ORIGIN_DEMO && c->net) { /* a socketpair needs no connect */
		begin_session(c, p->plans);
		net_conn_dirty(c->net);
	}
	origin_conn_arm(c);
}

void origin_conn_retire(struct origin_conn *c)
{
	if (c->is_closing)
		return;
	c->is_closing = true;
	pool_conn_retired(c->pool, c, c->is_ready);
}

static void dispose(struct origin_conn *c)
{
	ensure(list_is_empty(&c->legs) && !c->is_gone);
	origin_conn_retire(c);
	if (c->pool->kind == POOL_SUBSCRIPTIONS && c->is_open)
		c->upstream->env->observe->counters->subscriptions_open--;
	origin_promises_ended(c);
	c->is_gone = true;
	c->net = NULL;
	wheel_forget(worker_wheel(c->upstream->env), &c->timer);
	worker_free_later(c->upstream->env, &c->deferred);
	pool_conn_gone(c->pool, c);
	if (c->pool->server->destination->is_on_demand)
		on_demand_conn_ended(c->upstream->on_demand);
	c->upstream->env->observe->counters->upstream_connections_open--;
	worker_schedule_drain_check(c->upstream->env);
}

/* A reused connection that ends before any byte of the response: the origin closed it while the request
 * was on its way. An idempotent request is sent again, once (RFC 9110 9.2.2, RFC 9112 9.3.1). */
static bool was_stale(const struct origin_conn *c, const struct exchange *x)
{
	bool may_repeat = http_method_is_idempotent(x->method) || x->tunnel.is_asked;
	return c->requests > 1 && may_repeat && x->upload.forwarded == 0 &&
	       x->response.answered_by != ANSWERED_BY_ORIGIN && x->response.interims == 0 &&
	       !exchange_was_retried(x) && origin_single_is_silent(c);
}

const struct relay_cause *origin_conn_loss(const struct origin_conn *c, const struct exchange *x)
{
	if (origin_conn_ignores_http1(c))
		return origin_conn_refuses_alpn(c);
	return origin_single_is_unsent(c) || was_stale(c, x) ? &relay_cause_UP_UNPROCESSED
							     : &relay_cause_UP_LOST;
}

void origin_conn_end_exchanges(
    struct origin_conn *c, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	/* Retried requests may be appended to c->legs: end only those that are on it now. */
	struct list legs;
	list_init(&legs);
	list_splice(&legs, &c->legs);
	while (!list_is_empty(&legs)) {
		struct leg *leg = list_first(&legs, struct leg, link);
		struct exchange *x = leg->exchange;
		bool is_lost = cause == &relay_cause_UP_LOST && code == 0 && c->session;
		origin_leg_cut(leg);
		const struct relay_cause *why = is_lost ? origin_conn_loss(c, x) : cause;
		health_report_failure(x, why);
		why = origin_breakage_cause(c, leg, origin_http1_cause(c, leg, why, code));
		exchange_on_up_failed(x, why, code, detail);
	}
}

void origin_conn_lost(
    struct origin_conn *c, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	struct pool *p = c->pool;
	bool was_ready = c->is_ready;
	origin_conn_retire(c);
	origin_conn_end_exchanges(c, cause, code, detail);
	if (c->net)
		origin_conn_cut(c);
	dispose(c);
	if (!was_ready)
		pool_failed(p, c, cause, detail);
	else
		pool_serve(p);
}

void origin_conn_terminate(struct origin_conn *c, uint32_t code, struct slice why)
{
	session_terminate(c->session, code, why);
	origin_conn_retire(c);
	origin_conn_end_exchanges(c, &relay_cause_UP_LOST, code, "terminated");
	net_conn_dirty(c->net);
}

void origin_conn_kill(struct origin_conn *c, const struct relay_cause *cause)
{
	origin_conn_retire(c);
	origin_conn_end_exchanges(c, cause, 0, NULL);
	if (c->net)
		origin_conn_cut(c);
	dispose(c);
}

const char *origin_conn_say(
    const struct origin_conn *c, const char *text, char buffer[ORIGIN_TEXT_BYTES])
{
	bool is_demo = c->pool->origin->kind == CONF_ORIGIN_DEMO;
	snprintf(buffer, ORIGIN_TEXT_BYTES, "%s%s%s", is_demo ? "demo:" : c->pool->server->text,
	    text && *text ? ": " : "", text ? text : "");
	return buffer;
}

/* ---- input ---- */

/* Over TLS, ALPN selects the protocol; an origin that does not know ALPN speaks HTTP/1.1. In cleartext it
 * is the first plan, by prior knowledge. */
static const struct session_plan *plan_of(const struct origin_conn *c)
{
	const struct session_plan *plans = c->pool->plans;
	ensure(plans);
	if (!net_conn_is_tls(c->net))
		return plans;
	struct slice alpn = net_conn_alpn(c->net);
	return session_by_alpn(plans, alpn.len > 0 ? alpn : SLICE("http/1.1"));
}

/* An origin with this mistake answers no request: the log says what to change. */
static const char *no_alpn(const struct origin_conn *c, char buffer[ORIGIN_TEXT_BYTES])
{
	if (c->offers_http1_alone)
		return origin_conn_say(c, pool_why_no_http1(c->pool), buffer);
	bool has_choice = c->pool->plans[0].protocol && c->pool->plans[1].protocol;
	return origin_conn_say(c,
	    has_choice ? "it refused both h2 and http/1.1 by ALPN; it must offer one of them"
		       : "it chose no protocol by ALPN; it must offer h2, or server = https://... "
			 "lets it speak HTTP/1.1",
	    buffer);
}

void origin_conn_opened(struct origin_conn *c)
{
	const struct session_plan *plan = plan_of(c);
	if (!plan) {
		char text[ORIGIN_TEXT_BYTES];
		const char *detail = no_alpn(c, text);
		WORKER_COUNT(c->upstream->env, upstream_failed, 1);
		origin_log_fault(c, "cannot speak HTTP/2", detail);
		origin_conn_lost(c, origin_conn_refuses_alpn(c), 0, detail);
		return;
	}
	begin_session(c, plan);
	origin_conn_handle_events(c); /* some sessions are ready at once */
	if (!c->net)
		return;
	net_conn_dirty(c->net);
	origin_conn_arm(c);
}

static void conn_opened(void *owner)
{
	struct origin_conn *c = owner;
	worker_now(c->upstream->env);
	if (c->pool->server->destination->is_on_demand && origin_conn_is_own(c))
		origin_conn_lost(c, &relay_cause_OWN_ADDRESS, 0, "own-listener");
	else if (c->asks_proxy)
		upstream_proxy_opened(c);
	else
		origin_conn_opened(c);
}

static void conn_received(void *owner, struct chunk *chunk, size_t offset, size_t length)
{
	struct origin_conn *c = owner;
	peer_silence_heard(&c->silence, worker_now(c->upstream->env));
	if (c->asks_proxy) {
		upstream_proxy_received(c, chunk, offset, length);
		return;
	}
	c->single.has_answered = true;
	if (!c->is_ready)
		status_line_add(&c->first_line, chunk->data + offset, length);
	usec now = relay_origin_clock(c->upstream->env->relay);
	bool is_open = true;
	while (length > 0 && is_open) {
		size_t n = session_receive(c->session, chunk, offset, length, now);
		offset += n;
		length -= n;
		origin_conn_handle_events(c);
		is_open = c->net != NULL;
		if (length > 0 && is_open && c->is_ready &&
		    net_conn_postpone(c->net, chunk, offset, length))
			break;
	}
	if (is_open) {
		if (pool_is_waiting(c->pool))
			pool_serve(c->pool); /* streams have ended, so requests may start */
		net_conn_dirty(c->net);
	}
	worker_check_memory(c->upstream->env);
}

/* ---- output ---- */

/* No exchange needs the connection any more. */
static bool is_over(const struct origin_conn *c)
{
	return (c->is_closing && list_is_empty(&c->legs)) || session_is_done(c->session);
}

void origin_conn_close(struct origin_conn *c)
{
	struct pool *p = c->pool;
	origin_conn_end_exchanges(c, &relay_cause_UP_LOST, 0, NULL);
	if (session_must_abort(c->session))
		origin_conn_cut(c);
	else
		net_conn_close(c->net);
	dispose(c);
	if (pool_is_waiting(p))
		pool_serve(p);
}

static void conn_fill(void *owner, struct net_out *out)
{
	struct origin_conn *c = owner;
	struct pool *p = c->pool;
	worker_now(c->upstream->env);
	if (c->asks_proxy) {
		upstream_proxy_fill(c, out);
		return;
	}
	if (pool_is_waiting(p)) /* we may have reset streams, so requests may start */
		pool_serve(p);
	session_fill(c->session, out);
	c->single.filled = c->requests;
	origin_conn_handle_events(c);
	if (pool_is_waiting(p)) /* sending the end of an upload may have ended a stream */
		pool_serve(p);
	if (!c->net)
		return;
	if (!is_over(c)) {
		origin_conn_finish_tunnel(c);
		return;
	}
	if (!session_wants_write(c->session) && !session_has_failed(c->session)) {
		/* Send GOAWAY before closing, even after the origin's own GOAWAY (RFC 9113 6.8). */
		session_terminate(c->session, SESSION_NO_ERROR, (struct slice){0});
		session_fill(c->session, out);
	}
	if (!session_wants_write(c->session))
		origin_conn_close(c);
}

/* RFC 9209 2.3.13 to 2.3.15. */
static const struct relay_cause *tls_failure_cause(
    struct origin_conn *c, enum net_end end, bool has_no_alpn)
{
	if (has_no_alpn && c->offers_http1_alone)
		return origin_conn_refuses_alpn(c);
	if (c->is_open)
		return &relay_cause_UP_LOST;
	if (end == NET_END_CERTIFICATE)
		return &relay_cause_UP_CERTIFICATE;
	return end == NET_END_ALERT ? &relay_cause_UP_ALERT : &relay_cause_UP_TLS;
}

void origin_conn_ended(struct origin_conn *c, const char *text)
{
	if (c->is_ready && !list_is_empty(&c->legs))
		origin_log_cut_response(c);
	/* No request was sent before the connection was ready. */
	origin_conn_lost(
	    c, c->is_ready ? &relay_cause_UP_LOST : &relay_cause_UP_UNPROCESSED, 0, text);
}

/* The session says what the end means for the response that was under way. */
static void transport_ended(struct origin_conn *c, enum net_end end, const char *text)
{
	if (origin_conn_ends_tunnel(c, end))
		return;
	c->transport = ORIGIN_TRANSPORT_ENDED;
	c->end = end;
	if (!c->is_open) {
		origin_conn_lost(c, &relay_cause_UP_UNPROCESSED, 0, text);
		return;
	}
	if (c->is_ready)
		origin_conn_retire(c);
	session_ended(c->session, end == NET_END_EOF);
	origin_conn_handle_events(c);
	if (list_is_empty(&c->legs) || !session_is_full(c->session))
		origin_conn_ended(c, text);
}

static void conn_ended(void *owner, enum net_end end, const char *text)
{
	struct origin_conn *c = owner;
	char said[ORIGIN_TEXT_BYTES];
	worker_now(c->upstream->env);
	bool has_no_alpn =
	    end == NET_END_ALERT && !c->is_open && text && strstr(text, "no application protocol");
	if (c->dialogue && !net_end_is_tls(end)) {
		upstream_proxy_ended(c, text);
		return;
	}
	text = has_no_alpn ? no_alpn(c, said) : origin_conn_say(c, text, said);
	switch (end) {
	case NET_END_CONNECT:
	case NET_END_NO_ROUTE:
		origin_log_fault(c, "cannot connect", text);
		WORKER_COUNT(c->upstream->env, upstream_failed, 1);
		origin_conn_lost(c,
		    end == NET_END_CONNECT ? &relay_cause_UP_UNREACHABLE
					   : &relay_cause_UP_UNROUTABLE,
		    0, text);
		return;
	case NET_END_TLS:
	case NET_END_CERTIFICATE:
	case NET_END_ALERT:
		origin_log_fault(c, "TLS failed", text);
		WORKER_COUNT(c->upstream->env, upstream_failed, 1);
		origin_conn_lost(c, tls_failure_cause(c, end, has_no_alpn), 0, text);
		return;
	case NET_END_ERROR:
		if (!c->is_ready || !list_is_empty(&c->legs))
			origin_log_fault(c, "connection lost", text);
		break;
	case NET_END_EOF:
	case NET_END_TRUNCATED:
		if (!c->is_ready)
			origin_log_fault(c, "closed the connection before its SETTINGS", text);
		break;
	}
	transport_ended(c, end, text);
}

/* What the origin has sent is still read: it may have answered an upload before it closed. */
static void conn_cannot_send(void *owner, const char *text)
{
	struct origin_conn *c = owner;
	worker_now(c->upstream->env);
	if (!c->is_ready) {
		conn_ended(c, NET_END_ERROR, text);
		return;
	}
	c->transport = ORIGIN_TRANSPORT_READABLE;
	peer_silence_heard(&c->silence, c->upstream->env->relay->now);
	origin_conn_retire(c);
	if (list_is_empty(&c->legs))
		origin_conn_look_soon(c);
	else
		origin_conn_arm(c);
}

/* Starts the origin's write-timeout. */
static void conn_blocked(void *owner)
{
	struct origin_conn *c = owner;
	worker_now(c->upstream->env);
	origin_conn_arm(c);
}
