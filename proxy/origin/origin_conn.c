/* SPDX-License-Identifier: MIT */
/*
 * A connection to an origin: how it begins and ends. All clients of the worker share it; the pool decides which
 * requests it gets. The events of its transport are in origin_transport.c, those of its session in
 * origin_conn_events.c, its streams in origin_leg.c, its deadlines in origin_deadline.c.
 */
#include "proxy/origin/origin_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

/* ---- life ---- */

void origin_conn_begin_session(struct origin_conn *c, const struct session_plan *plan)
{
	struct origins *u = c->origins;
	const struct session_conn conn = {.budget = &c->budget};
	c->started = relay_origin_clock(u->env->relay);
	c->plan = plan;
	c->session = protocols_begin(plan, &u->session_env, &conn, c->started);
	c->hop.protocol = session_name(c->session);
	worker_count_session(u->env, OBSERVE_ORIGIN, c->hop.protocol, 1);
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
	budget_give(&c->origins->env->budget, origin_conn_bytes(c->pool));
	budget_fini(&c->budget);
	free(c->promises.hosts);
	free(c->owner);
	free(c);
}

struct origin_conn *origin_conn_open(struct pool *p, struct origin_owner *owner)
{
	struct origins *u = p->origins;
	struct worker_env *env = u->env;
	struct origin_conn *c = memory_new(struct origin_conn);
	c->origins = u;
	c->pool = p;
	c->owner = owner;
	c->started = c->opened = c->quiet_since = env->relay->now;
	c->hop.connection = ++u->last_id;
	c->hop.address = p->server->text;
	origin_window_init(&c->window, p->conf);
	budget_init(&c->budget, &env->budget, env->conf->server.connection_memory_bytes);
	budget_force(&env->budget, origin_conn_bytes(p));
	list_init(&c->legs);
	list_init(&c->usable);
	wheel_node_init(&c->timer, origin_conn_expired);
	pool_conn_opened(p, c);
	c->net = origin_conn_connect(c);
	if (c->net) {
		net_conn_set_budget(c->net, &c->budget);
		net_conn_keepalive(c->net, p->conf->keepalive, p->conf->write_timeout);
		if (env->relay->unread_since != USEC_NEVER && !c->asks_proxy)
			net_conn_pause_reading(c->net, NET_PAUSE_MEMORY);
	}
	WORKER_COUNT(env, upstream_connections, 1);
	WORKER_COUNT(env, upstream_connections_open, 1);
	if (p->conf->kind == CONF_ORIGIN_DEMO && c->net) { /* a socketpair needs no connect */
		origin_conn_begin_session(c, p->plans);
		net_conn_dirty(c->net);
	}
	origin_conn_arm(c);
	return c;
}

/* Ends the transport at once, with what it has not sent. */
static void cut(struct origin_conn *c)
{
	/* A FIN would look like the end of that direction of the tunnel. */
	if (c->pool->kind == POOL_TUNNELS)
		net_conn_reset(c->net);
	else
		net_conn_abort(c->net);
}

static void dispose(struct origin_conn *c)
{
	ensure(list_is_empty(&c->legs) && !c->is_gone);
	if (c->carries_slow) /* it was opened for such a request */
		pool_slow_ended(c);
	origin_conn_retire(c);
	if (c->pool->kind == POOL_SUBSCRIPTIONS && c->is_open)
		c->origins->env->observe->counters->subscriptions_open--;
	origin_promises_ended(c);
	c->is_gone = true;
	c->net = NULL;
	wheel_forget(worker_wheel(c->origins->env), &c->timer);
	worker_free_later(c->origins->env, &c->deferred, free_conn);
	pool_conn_gone(c->pool, c);
	c->origins->env->observe->counters->upstream_connections_open--;
	worker_count_session(c->origins->env, OBSERVE_ORIGIN, c->hop.protocol, -1);
	worker_schedule_drain_check(c->origins->env);
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
		c->origins->ops->failed(x, why);
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
		cut(c);
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
	pool_private_give_back(c);
	if (c->net)
		cut(c);
	dispose(c);
}

const char *origin_conn_say(
    const struct origin_conn *c, const char *text, char buffer[ORIGIN_TEXT_BYTES])
{
	bool is_demo = c->pool->conf->kind == CONF_ORIGIN_DEMO;
	snprintf(buffer, ORIGIN_TEXT_BYTES, "%s%s%s", is_demo ? "demo:" : c->pool->server->text,
	    text && *text ? ": " : "", text ? text : "");
	return buffer;
}

void origin_conn_close(struct origin_conn *c)
{
	struct pool *p = c->pool;
	origin_conn_end_exchanges(c, &relay_cause_UP_LOST, 0, NULL);
	if (session_must_abort(c->session))
		cut(c);
	else
		net_conn_close(c->net);
	dispose(c);
	if (pool_is_waiting(p))
		pool_serve(p);
}
