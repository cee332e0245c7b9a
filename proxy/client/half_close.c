/* SPDX-License-Identifier: MIT */
/*
 * A client that has ended its sending side, such as one that writes its requests and then calls
 * shutdown(2), and only reads from then on. Requests that are whole are answered. The connection ends
 * with the last of them, or when nothing has left for write-timeout. No window opens any more, so a
 * response ends too when its window is used up.
 *
 * An end that only means that the client is gone looks the same at first. Our GOAWAY is then answered
 * with a reset of the connection, which net/ does not report after an end: the timer asks for it.
 */
#include "proxy/client/client_private.h"

/* The first look at the connection after the client's end; later ones are BLOCKED_CHECK_USEC apart. */
#define FIRST_CHECK_USEC (50 * USEC_PER_MSEC)

static void cut(struct client_conn *c, struct leg *leg, const char *detail)
{
	struct session_stream *stream = leg->stream;
	client_leg_cut(leg);
	session_reset(c->session, stream, SESSION_CANCEL);
	net_conn_dirty(c->net);
	exchange_on_client_closed(leg->exchange, &relay_cause_DOWN_LOST, SESSION_CANCEL, detail);
}

/* Nothing is missing, or the rest is dropped. In HTTP/1 a request for a tunnel is whole; the end of the connection
 * ends the client's side of its tunnel. */
static bool is_whole(const struct exchange *x)
{
	return x->upload.source_ended || x->upload.state == FLOW_ABORTED || x->tunnel.came_whole;
}

void client_half_close(struct client_conn *c)
{
	usec now = c->clients->env->relay->now;
	c->half_closed = now;
	session_half_close(c->session, now);
	list_for_each(&c->legs, leg, struct leg, link) if (!is_whole(leg->exchange))
	    cut(c, leg, "half-closed");
	net_conn_dirty(c->net);
	wheel_set(worker_wheel(c->clients->env), &c->timer, now + FIRST_CHECK_USEC);
}

void client_half_closed_filled(struct client_conn *c, bool has_sent)
{
	if (has_sent)
		c->half_closed = c->clients->env->relay->now;
	list_for_each(&c->legs, leg, struct leg, link)
	{
		if (leg->exchange->download.body.bytes > 0 &&
		    session_stream_window(c->session, leg->stream) == 0)
			cut(c, leg, "window-used-up");
	}
}

/* How long nothing may move in a tunnel is a limit of its exchange (tunnel-half-closed-timeout). */
static bool carries_tunnel(const struct client_conn *c)
{
	return !session_can(c->session, SESSION_MULTIPLEXES) && exchange_tunnel_is_first(&c->legs);
}

usec client_half_closed_deadline(const struct client_conn *c)
{
	if (!client_conn_is_half_closed(c) || carries_tunnel(c))
		return USEC_NEVER;
	return clock_after(c->half_closed, c->listener->conf->write_timeout);
}

bool client_half_closed_check(struct client_conn *c, usec now)
{
	if (!client_conn_is_half_closed(c))
		return false;
	if (net_conn_is_lost(c->net)) {
		client_conn_closed(c);
		return true;
	}
	if (net_conn_is_blocked(c->net)) /* the write-timeout of blocked connections counts */
		c->half_closed = now;
	return false;
}
