/* SPDX-License-Identifier: MIT */
/*
 * Connections that carry one request at a time. They are used again when the request and its response
 * are complete, the last used first, so that those which are not needed become idle and are closed.
 */
#include "proxy/origin/origin_private.h"

/* ---- free again ---- */

/* A connection gets no more requests in the last second before the origin closes it as idle. */
#define KEEPALIVE_MARGIN_USEC USEC_PER_SEC

usec origin_single_idle_limit(const struct origin_conn *c)
{
	usec theirs = session_peer(c->session).keepalive;
	usec limit = c->pool->server->origin->idle_timeout;
	if (theirs <= KEEPALIVE_MARGIN_USEC)
		return limit;
	theirs -= KEEPALIVE_MARGIN_USEC;
	return limit == 0 || theirs < limit ? theirs : limit;
}

void origin_single_update(struct origin_conn *c)
{
	if (list_is_linked(&c->usable) || !c->is_ready || c->is_closing ||
	    c->transport != ORIGIN_TRANSPORT_OPEN || session_request_room(c->session) == 0)
		return;
	usec theirs = session_peer(c->session).keepalive;
	c->single.discards_since = 0;
	if (theirs > 0 && theirs <= KEEPALIVE_MARGIN_USEC)
		origin_conn_retire(c);
	else
		pool_make_usable(c->pool, c);
}

/* ---- cancelled requests ---- */

/*
 * Without RST_STREAM a request is cancelled by closing its connection, and the next one costs a new
 * connection. Clients that cancel in masses must not make the origin accept as many connections. Above
 * this rate the response is read to its end instead, and dropped: then a cancelled request costs what
 * any request does, and the connection is used again. A response that is long, or late, is not worth it;
 * and one to an upload that has not ended may never come.
 */
static const struct rate cancel_rate = {.per_second = 100, .burst = 200};
#define DISCARD_BYTES_MOST 262144u
#define DISCARD_USEC_MOST (5 * USEC_PER_SEC)

static void end_request(struct origin_conn *c, struct session_stream *stream, uint32_t code)
{
	session_reset(c->session, stream, code);
	origin_conn_retire(c);
	net_conn_dirty(c->net);
}

void origin_single_cancel(
    struct origin_conn *c, const struct exchange *x, struct session_stream *stream, uint32_t code)
{
	usec now = c->origins->env->relay->now;
	if (bucket_take(&c->pool->known->cancels, &cancel_rate, 1, now))
		end_request(c, stream, code);
	else
		origin_single_drop(c, x, stream, code);
}

void origin_single_drop(
    struct origin_conn *c, const struct exchange *x, struct session_stream *stream, uint32_t code)
{
	if (c->is_closing || x->upload.state != FLOW_DONE) {
		end_request(c, stream, code);
		return;
	}
	session_offer(c->session, stream, 0, false);
	session_credit(c->session, stream, x->download.body.bytes + x->download.owed);
	c->single.discards_since = c->origins->env->relay->now;
	c->single.discarded_bytes = 0;
	net_conn_dirty(c->net); /* the session may hold what its client has not taken */
	origin_conn_arm(c);
}

void origin_single_discard(struct origin_conn *c, size_t bytes)
{
	c->single.discarded_bytes += bytes;
	if (c->single.discards_since != 0 && c->single.discarded_bytes > DISCARD_BYTES_MOST)
		origin_conn_look_soon(c);
}

usec origin_single_discard_deadline(const struct origin_conn *c)
{
	if (c->single.discards_since == 0 || c->is_closing)
		return USEC_NEVER;
	if (c->single.discarded_bytes > DISCARD_BYTES_MOST)
		return c->single.discards_since;
	return c->single.discards_since + DISCARD_USEC_MOST;
}

/* ---- the end in the middle of a request ---- */

bool origin_single_is_unsent(const struct origin_conn *c)
{
	return !session_can(c->session, SESSION_MULTIPLEXES) && c->requests > c->single.filled;
}

bool origin_single_is_silent(const struct origin_conn *c)
{
	return session_can(c->session, SESSION_MULTIPLEXES) || !c->single.has_answered;
}
