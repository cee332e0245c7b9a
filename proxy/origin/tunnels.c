/* SPDX-License-Identifier: MIT */
/*
 * Tunnels to origins. They have connections of their own (POOL_TUNNELS). Over HTTP/1.1 a tunnel is the rest
 * of its connection's life: each side of the transport ends with that direction of the tunnel. Over HTTP/2 it
 * is a stream like others, if the origin has announced that it takes :protocol (RFC 8441 3); an origin that
 * has not is asked by HTTP/1.1, if it speaks that too (http1_required.c).
 */
#include "proxy/origin/origin_private.h"

#include "proxy/base/ensure.h"

/* ---- how many ---- */

bool origin_server_may_tunnel(const struct origin_server *s)
{
	return s->known.tunnels < s->origin->conf->max_tunnels;
}

bool origin_count_tunnel(struct origin_server *s, struct exchange *x)
{
	ensure(!x->tunnel.is_counted);
	if (!origin_server_may_tunnel(s)) {
		exchange_on_up_failed(x, &relay_cause_TUNNELS_FULL, 0, NULL);
		return false;
	}
	s->known.tunnels++;
	x->tunnel.is_counted = true;
	return true;
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

/* ---- the two sides ---- */

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
