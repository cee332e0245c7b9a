/* SPDX-License-Identifier: MIT */
/*
 * Servers that speak HTTP/2 and demand HTTP/1.1 of a request (HTTP_1_1_REQUIRED, RFC 9113 7), such as those that log
 * users in with NTLM or ask for a client's certificate behind the handshake. The request is asked again over HTTP/1.1,
 * if that can be done, and so are all others of the server for a time: which of its paths demand it is not known. After
 * that time a new connection offers both versions again.
 *
 *   HTTP/2 ── HTTP_1_1_REQUIRED ──> HTTP/1.1 alone, by ALPN ── 5 minutes ──> both by ALPN
 *     ^                                  │
 *     └── refused by ALPN: for 5 minutes demands are not followed
 *
 * The HTTP/2 connections that there are finish what they have. A call of gRPC, which needs HTTP/2, changes nothing.
 */
#include "proxy/origin/origin_private.h"

#define REMEMBERED_USEC (5 * 60 * USEC_PER_SEC)

static usec now_of(const struct pool *p)
{
	return p->origins->env->relay->now;
}

bool pool_offers_http1_alone(const struct pool *p)
{
	return pool_needs_http1(p) || p->known->http1_until > now_of(p);
}

static bool has_choice(const struct pool *p)
{
	return p->conf->kind == CONF_ORIGIN_TLS && (p->conf->protocols & CONF_HTTP1);
}

static bool can_change(const struct origin_conn *c)
{
	const struct pool *p = c->pool;
	return has_choice(p) && session_can(c->session, SESSION_MULTIPLEXES) &&
	       p->known->http1_refused <= now_of(p);
}

/* The next connection tells it. */
static void forget_protocol(struct pool *p)
{
	p->known->protocol = NULL;
	p->known->capabilities = 0;
}

static void retire_http2(struct pool *p)
{
	list_for_each(&p->conns, c, struct origin_conn, link)
	{
		if (!c->session || !session_can(c->session, SESSION_MULTIPLEXES))
			continue;
		origin_conn_retire(c);
		if (c->net)
			net_conn_dirty(c->net);
	}
}

void origin_conn_demands_http1(struct origin_conn *c)
{
	struct pool *p = c->pool;
	struct origin_known *known = p->known;
	if (!can_change(c))
		return;
	c->demands_http1 = true;
	if (known->http1_until <= now_of(p))
		origin_log_fault(c, "demands HTTP/1.1", "its requests use that for five minutes");
	known->http1_until = now_of(p) + REMEMBERED_USEC;
	known->tunnels_need_http1 = known->tunnels_need_http1 || p->kind == POOL_TUNNELS;
	forget_protocol(p);
	for (unsigned kind = 0; kind < POOL_KINDS; kind++)
		if (p->server->pools[kind])
			retire_http2(p->server->pools[kind]);
}

const struct relay_cause *origin_http1_cause(const struct origin_conn *c, const struct leg *leg,
    const struct relay_cause *cause, uint32_t code)
{
	struct exchange *x = leg->exchange;
	bool is_demand = code == SESSION_HTTP_1_1_REQUIRED;
	if (!c->demands_http1 || exchange_is_push(x) || x->terms.is_call)
		return cause;
	if (is_demand &&
	    (cause == &relay_cause_UP_RESET ||
		(cause == &relay_cause_UP_LOST && http_method_is_idempotent(x->method))))
		cause = &relay_cause_UP_NEEDS_HTTP1;
	origin_attempt_of(x)->may_return =
	    cause == &relay_cause_UP_NEEDS_HTTP1 || cause == &relay_cause_UP_UNPROCESSED;
	return cause;
}

/* ---- when a connection has come up ---- */

/* A connection has come up that was opened before the server demanded HTTP/1.1. */
static bool is_demanded_since(struct pool *p, const struct session *s)
{
	if (p->known->http1_until <= now_of(p) || !session_can(s, SESSION_MULTIPLEXES))
		return false;
	forget_protocol(p);
	return true;
}

bool pool_changes_to_http1(struct pool *p, const struct session *s)
{
	if (p->kind != POOL_TUNNELS)
		return is_demanded_since(p, s);
	if (!has_choice(p) || session_peer(s).takes_tunnels)
		return false;
	p->known->tunnels_need_http1 = true;
	return true;
}

bool origin_conn_ignores_http1(const struct origin_conn *c)
{
	return c->offers_http1_alone && c->net && net_conn_alpn(c->net).len == 0 &&
	       c->requests > 0 && origin_single_is_silent(c);
}

const struct relay_cause *origin_conn_refuses_alpn(const struct origin_conn *c)
{
	if (!c->offers_http1_alone)
		return &relay_cause_UP_NO_ALPN;
	struct origin_known *known = c->pool->known;
	if (c->pool->kind != POOL_TUNNELS) {
		known->http1_until = 0;
		known->http1_refused = now_of(c->pool) + REMEMBERED_USEC;
		return &relay_cause_UP_UNPROCESSED;
	}
	/* The next connection finds out what the origin can do then. */
	known->tunnels_need_http1 = false;
	return &relay_cause_NO_TUNNEL;
}
