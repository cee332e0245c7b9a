/* SPDX-License-Identifier: MIT */
/* The pools of a server, as the room above uses them, and the requests that wait in those of an origin. */
#include "proxy/origin/origin_private.h"

#include "proxy/base/ensure.h"

void origin_init(struct origin *o, struct origins *all, const struct conf_origin *conf)
{
	*o = (struct origin){.origins = all, .conf = conf, .idle_timeout = conf->idle_timeout};
	for (unsigned kind = 0; kind < POOL_KINDS; kind++)
		list_init(&o->waiting_pools[kind]);
}

void origin_server_init(struct origin_server *s)
{
	const struct session_plan *plans = s->origin->plans[0];
	bool is_chosen =
	    s->origin->conf->kind == CONF_ORIGIN_TLS && plans[0].protocol && plans[1].protocol;
	if (is_chosen || !plans[0].protocol)
		return;
	s->known.protocol = plans[0].protocol;
	s->known.capabilities = plans[0].protocol->origin_capabilities;
}

#define for_each_pool(s, p)                                                                        \
	for (unsigned kind_##p = 0; kind_##p < POOL_KINDS; kind_##p++)                             \
		for (struct pool *p = (s)->pools[kind_##p]; p; p = NULL)

void origin_server_retire(struct origin_server *s)
{
	for_each_pool(s, p) pool_retire(p);
}

void origin_server_close(struct origin_server *s)
{
	fetches_close(s);
	for_each_pool(s, p) pool_close(p);
}

void origin_server_lose(struct origin_server *s, const char *why)
{
	for_each_pool(s, p) pool_lose(p, why);
}

void origin_server_free_pools(struct origin_server *s)
{
	fetches_free(s);
	for_each_pool(s, p) pool_free(p);
}

void origin_server_serve(struct origin_server *s)
{
	for_each_pool(s, p) if (pool_is_waiting(p)) pool_serve(p);
}

void origin_server_take_waiting(struct origin_server *s, struct list *waiting)
{
	for_each_pool(s, p) pool_take_waiting(p, waiting);
	fetches_take_waiting(s, waiting);
}

void origin_server_send(struct origin_server *s, enum pool_kind kind, struct exchange *x)
{
	struct pool *p = origin_server_pool(s, kind);
	if (!exchange_is_push(x) || !fetch_waits(p, x))
		pool_dispatch(p, x);
}

bool origin_server_may_send_soon(
    const struct origin_server *s, enum pool_kind kind, const struct exchange *x)
{
	struct pool *p = s->pools[kind];
	if (!origin_server_has_room(s) || (kind == POOL_TUNNELS && !origin_server_may_tunnel(s)))
		return false;
	return !p || pool_may_send_soon(p, x);
}

/* ---- the queue of an origin ---- */

static const struct pool *first_pool(const struct origin *o, enum pool_kind kind)
{
	return list_first(&o->waiting_pools[kind], struct pool, waiting);
}

struct exchange *origin_first_waiting(const struct origin *o, enum pool_kind kind)
{
	const struct pool *p = first_pool(o, kind);
	return p ? list_first(&p->shared.requests, struct exchange, waiting) : NULL;
}

const struct origin_server *origin_full_server(const struct origin *o, enum pool_kind kind)
{
	const struct pool *p = first_pool(o, kind);
	return p && p->connecting == 0 ? p->server : NULL;
}

void origin_upload_is_whole(struct exchange *x)
{
	origin_unqueue(x);
	pool_dispatch(origin_attempt_of(x)->pool, x);
}

void origin_tunnel_left(struct exchange *x)
{
	struct origin_server *s = origin_attempt_of(x)->server;
	if (!x->tunnel.is_counted)
		return;
	ensure(s->known.tunnels > 0);
	s->known.tunnels--;
	x->tunnel.is_counted = false;
}
