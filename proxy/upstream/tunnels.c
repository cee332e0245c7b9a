/* SPDX-License-Identifier: MIT */
/*
 * Tunnels to origins. They have connections of their own (POOL_TUNNELS). Over HTTP/1.1 a tunnel is the rest
 * of its connection's life: each side of the transport ends with that direction of the tunnel. Over HTTP/2 it
 * is a stream like others, if the origin has announced that it takes :protocol (RFC 8441 3); an origin that
 * has not is asked by HTTP/1.1, if it speaks that too.
 */
#include "proxy/upstream/private.h"

#include "proxy/base/ensure.h"

/* ---- how many ---- */

/* A tunnel that is tried again is counted already. */
static bool may_tunnel(const struct pool *p, const struct exchange *x)
{
	return x->tunnel.is_counted || p->known->tunnels < p->origin->max_tunnels;
}

void pool_tunnel_ended(struct exchange *x)
{
	if (!x->tunnel.is_counted)
		return;
	ensure(x->context.pool->known->tunnels > 0);
	x->context.pool->known->tunnels--;
	x->tunnel.is_counted = false;
}

bool pool_count_tunnel(struct pool *p, struct exchange *x)
{
	x->context.pool = p;
	if (!may_tunnel(p, x)) {
		exchange_on_up_failed(x, &relay_cause_TUNNELS_FULL, 0, NULL);
		return false;
	}
	p->known->tunnels += !x->tunnel.is_counted;
	x->tunnel.is_counted = true;
	return true;
}

/* ---- the version ---- */

bool pool_changes_to_http1(struct pool *p, const struct session *s)
{
	const struct conf_origin *o = p->origin;
	bool has_choice = o->kind == CONF_ORIGIN_TLS && (o->protocols & CONF_HTTP1);
	if (p->kind != POOL_TUNNELS || !has_choice || session_peer(s).takes_tunnels)
		return false;
	p->known->tunnels_need_http1 = true;
	return true;
}

const struct relay_cause *pool_no_alpn_cause(struct pool *p)
{
	if (!pool_needs_http1(p))
		return &relay_cause_UP_NO_ALPN;
	/* By the next time the origin may have learnt to take tunnels over HTTP/2. */
	p->known->tunnels_need_http1 = false;
	return &relay_cause_NO_TUNNEL;
}

/* ---- the two sides ---- */

static bool carries_tunnel(const struct origin_conn *c)
{
	const struct leg *leg = list_first(&c->legs, struct leg, link);
	return leg && exchange_is_tunnel(leg->exchange) &&
	       !session_can(c->session, SESSION_MULTIPLEXES);
}

bool origin_conn_ends_tunnel(struct origin_conn *c, enum net_end end)
{
	if (end != NET_END_EOF || !c->is_open || !carries_tunnel(c) ||
	    c->transport != ORIGIN_TRANSPORT_OPEN)
		return false;
	session_ended(c->session, true);
	origin_conn_handle_events(c);
	net_conn_dirty(c->net);
	return true;
}

void origin_conn_cut(struct origin_conn *c)
{
	/* A FIN would look like the end of that direction of the tunnel. */
	if (c->pool->kind == POOL_TUNNELS)
		net_conn_reset(c->net);
	else
		net_conn_abort(c->net);
}

void origin_conn_finish_tunnel(struct origin_conn *c)
{
	if (!session_has_finished(c->session))
		return;
	net_conn_finish(c->net);
	c->transport = ORIGIN_TRANSPORT_FINISHED;
}
