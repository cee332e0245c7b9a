/* SPDX-License-Identifier: MIT */
/* All origins of a worker: opens and closes the pools, and chooses the pool for a request. */
#include "proxy/upstream/private.h"

#include "proxy/base/memory.h"

#include <stdlib.h>

static size_t pool_count(const struct upstream *u)
{
	return POOL_KINDS * u->env->conf->origin_count;
}

struct pool *upstream_pool(
    const struct upstream *u, const struct conf_origin *o, enum pool_kind kind)
{
	return &u->pools[POOL_KINDS * o->index + kind];
}

/* The TLS context of an origin belongs to its pool with pushes; the others borrow it. */
static bool open_tls(struct upstream *u, size_t index, char *error, size_t error_size)
{
	const struct conf_origin *o = &u->env->conf->origins[index];
	char alpn[64];
	if (o->kind != CONF_ORIGIN_TLS)
		return true;
	session_alpn_list(u->pools[POOL_KINDS * index].plans, false, alpn, sizeof(alpn));
	const struct net_tls_client_options options = {
	    .ca_file = o->tls_ca, .verify = o->tls_verify, .alpn = alpn};
	struct net_tls *tls = net_tls_client_new(&options, error, error_size);
	for (unsigned kind = 0; kind < POOL_KINDS; kind++)
		u->pools[POOL_KINDS * index + kind].tls = tls;
	return tls != NULL;
}

/* Without a choice between protocols nothing has to be found out. */
static void know_beforehand(struct upstream *u, size_t index)
{
	const struct session_plan *plans = u->pools[POOL_KINDS * index].plans;
	bool is_chosen = u->env->conf->origins[index].kind == CONF_ORIGIN_TLS &&
			 plans[0].protocol && plans[1].protocol;
	if (is_chosen || !plans[0].protocol)
		return;
	u->known[index].protocol = plans[0].protocol;
	u->known[index].capabilities = plans[0].protocol->origin_capabilities;
}

bool upstream_open(struct upstream *u, char *error, size_t error_size)
{
	const struct conf *conf = u->env->conf;
	u->session_env = (struct session_env){
	    .heads = u->env->heads,
	    .seed = u->env->seed,
	    .fault = origin_count_fault,
	    .context = u,
	    .front = exchange_leg_front,
	    .taken = exchange_leg_taken,
	};
	health_open(u);
	u->push_off_until = memory_zalloc((conf->route_count + 1) * sizeof(*u->push_off_until));
	u->pools = memory_zalloc((pool_count(u) + 1) * sizeof(*u->pools));
	u->known = memory_zalloc((conf->origin_count + 1) * sizeof(*u->known));
	for (size_t i = 0; i < pool_count(u); i++)
		pool_init(&u->pools[i], u, &conf->origins[i / POOL_KINDS],
		    &u->known[i / POOL_KINDS], (enum pool_kind)(i % POOL_KINDS));
	for (size_t i = 0; i < conf->origin_count; i++) {
		know_beforehand(u, i);
		if (!open_tls(u, i, error, error_size))
			return false;
	}
	return true;
}

void upstream_close(struct upstream *u)
{
	u->is_closed = true;
	health_close(u);
	for (size_t i = 0; u->pools && i < pool_count(u); i++)
		pool_fini(&u->pools[i]);
}

void upstream_free(struct upstream *u)
{
	for (size_t i = 0; u->pools && i < pool_count(u); i++) {
		if (u->pools[i].kind == POOL_PUSH) /* the others of the origin borrow it */
			net_tls_free(u->pools[i].tls);
		session_plans_free(u->pools[i].plans);
	}
	free(u->pools);
	free(u->known);
	free(u->push_off_until);
}

void upstream_shutdown(struct upstream *u)
{
	for (size_t i = 0; i < pool_count(u); i++)
		pool_shutdown(&u->pools[i]);
}

bool upstream_is_empty(const struct upstream *u)
{
	for (size_t i = 0; i < pool_count(u); i++)
		if (!list_is_empty(&u->pools[i].conns))
			return false;
	return true;
}

/* ---- requests ---- */

void upstream_dispatch(struct upstream *u, struct exchange *x, bool wants_push)
{
	const struct conf_origin *o = x->context.origin;
	const struct conf_route *route = x->context.route;
	usec off_until = u->push_off_until[route - u->env->conf->routes];
	bool is_off = o->push == CONF_PUSH_AUTO && off_until > u->env->relay->now;
	/* Without pushes the pools do not differ, and a subscription is a request like any other. */
	const struct origin_known *known = &u->known[o->index];
	bool has_pushes = !known->protocol || (known->capabilities & SESSION_TAKES_PUSHES);
	enum pool_kind kind = wants_push && !is_off && has_pushes ? POOL_PUSH : POOL_PLAIN;
	if (route->subscription)
		x->pushes.is_subscription = has_pushes && offer_is_subscription(x, wants_push);
	if (x->pushes.is_subscription)
		kind = POOL_SUBSCRIPTIONS;
	if (x->tunnel.is_asked)
		kind = POOL_TUNNELS;
	pool_dispatch(upstream_pool(u, o, kind), x);
}

void upstream_undispatch(struct exchange *x)
{
	pool_undispatch(x);
}

void upstream_exchange_ended(struct exchange *x)
{
	if (x->tunnel.is_asked)
		pool_tunnel_ended(x);
}

/* ---- one exchange's origin ---- */

bool origin_is_stuck(const struct exchange *x, usec since)
{
	const struct origin_conn *c = origin_conn_of(x);
	if (!c)
		return false;
	usec blocked = net_conn_blocked_since(c->net);
	return session_stream_window(c->session, x->up.stream) == 0 ||
	       (blocked != USEC_NEVER && blocked <= since);
}

bool origin_may_promise_more(const struct exchange *parent)
{
	struct origin_conn *c = parent->up.carrier;
	const uint32_t n = c->upstream->env->conf->server.promise_rate;
	const struct rate rate = {n, n};
	return bucket_take(&c->promises, &rate, 1, c->upstream->env->relay->now);
}

/* ---- memory is short ---- */

static void set_paused(struct net_conn *net, bool is_paused)
{
	if (is_paused)
		net_conn_pause_reading(net, NET_PAUSE_MEMORY);
	else
		net_conn_resume_reading(net, NET_PAUSE_MEMORY);
}

void upstream_pause_reading(struct upstream *u, bool is_paused)
{
	if (is_paused)
		relay_pause_origins(u->env->relay);
	else
		relay_resume_origins(u->env->relay);
	for (size_t i = 0; i < pool_count(u); i++) {
		list_for_each(&u->pools[i].conns, c, struct origin_conn, link)
		{
			if (c->net)
				set_paused(c->net, is_paused);
			if (c->net && !is_paused)
				origin_conn_read_again(c);
		}
	}
}

size_t upstream_describe(const struct upstream *u, char *buffer, size_t size)
{
	size_t n = 0;
	for (size_t i = 0; i < pool_count(u); i++)
		list_for_each(&u->pools[i].conns, c, struct origin_conn,
		    link) if (c->session && n < size) n +=
		    session_describe(c->session, buffer + n, size - n);
	return n;
}
