/* SPDX-License-Identifier: MIT */
/* The events of an origin connection's transport: open, read, to be filled, blocked, ended. */
#include "proxy/origin/origin_private.h"

#include "proxy/base/ensure.h"

/* ---- input ---- */

/* Over TLS, ALPN selects the protocol. In cleartext it is the first plan, by prior knowledge. */
static const struct session_plan *plan_of(const struct origin_conn *c)
{
	const struct session_plan *plans = c->pool->plans;
	ensure(plans);
	return net_conn_is_tls(c->net) ? protocols_by_alpn(plans, net_conn_alpn(c->net)) : plans;
}

/* An origin with this mistake answers no request: the log says what to change. */
static const char *no_alpn(const struct origin_conn *c, char buffer[ORIGIN_TEXT_BYTES])
{
	bool is_tunnel = c->pool->kind == POOL_TUNNELS;
	bool has_choice = c->pool->plans[0].protocol && c->pool->plans[1].protocol;
	if (c->offers_http1_alone)
		return origin_conn_say(c,
		    is_tunnel
			? "it speaks HTTP/2 without tunnels (RFC 8441) and refused http/1.1 by ALPN"
			: "it demanded HTTP/1.1 (HTTP_1_1_REQUIRED) and refused it by ALPN",
		    buffer);
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
		WORKER_COUNT(c->origins->env, upstream_failed, 1);
		origin_log_fault(c, "cannot speak HTTP/2", detail);
		origin_conn_lost(c, origin_conn_refuses_alpn(c), 0, detail);
		return;
	}
	origin_conn_begin_session(c, plan);
	origin_conn_handle_events(c); /* some sessions are ready at once */
	if (!c->net)
		return;
	net_conn_dirty(c->net);
	origin_conn_arm(c);
}

/* The connection has come out at a listener of ours. */
static bool is_own(const struct origin_conn *c)
{
	const struct conf *conf = c->origins->env->conf;
	struct net_address peer;
	if (!net_conn_peer(c->net, &peer))
		return false;
	return conf_is_own_address(conf, &peer) ||
	       (conf_listens_everywhere(conf, net_address_port(&peer)) &&
		   net_conn_is_to_itself(c->net));
}

/* A tunnel through an upstream proxy has a handshake of its own, behind the connection with the proxy. */
static void count_times(const struct origin_conn *c)
{
	const struct series_lane *series = &c->origins->env->observe->series;
	const struct conf_origin *o = c->pool->conf;
	size_t origin = o->index + 1, server = conf_server_number(o, c->pool->server->conf);
	usec now = c->origins->env->relay->now, began = net_conn_handshake_began(c->net);
	bool is_in_tunnel = c->pool->server->origin->tunnel_to && !c->asks_proxy;
	if (!is_in_tunnel)
		series_count(
		    series, SERIES_CONNECT, origin, server, (began ? began : now) - c->opened);
	if (began)
		series_count(series, SERIES_ORIGIN_TLS, origin, server, now - began);
}

static void conn_opened(void *owner)
{
	struct origin_conn *c = owner;
	worker_now(c->origins->env);
	count_times(c);
	if (c->pool->server->origin->is_dynamic && is_own(c))
		origin_conn_lost(c, &relay_cause_OWN_ADDRESS, 0, "own-listener");
	else if (c->asks_proxy)
		upstream_proxy_opened(c);
	else
		origin_conn_opened(c);
}

static void conn_received(void *owner, struct chunk *chunk, size_t offset, size_t length)
{
	struct origin_conn *c = owner;
	peer_silence_heard(&c->silence, worker_now(c->origins->env));
	if (c->asks_proxy) {
		upstream_proxy_received(c, chunk, offset, length);
		return;
	}
	c->single.has_answered = true;
	if (!c->is_ready)
		status_line_add(&c->first_line, chunk->data + offset, length);
	usec now = relay_origin_clock(c->origins->env->relay);
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
	worker_check_memory(c->origins->env);
}

/* ---- output ---- */

/* No exchange needs the connection any more. */
static bool is_over(const struct origin_conn *c)
{
	return (c->is_closing && list_is_empty(&c->legs)) || session_is_done(c->session);
}

/* If our side of a tunnel has ended, and all of it is in this fill: ends the sending side of the transport. */
static void finish_tunnel(struct origin_conn *c)
{
	if (!session_has_finished(c->session))
		return;
	net_conn_finish(c->net);
	c->transport = ORIGIN_TRANSPORT_FINISHED;
}

static void conn_fill(void *owner, struct net_out *out)
{
	struct origin_conn *c = owner;
	struct pool *p = c->pool;
	worker_now(c->origins->env);
	if (c->asks_proxy) {
		protocols_fill(c->dialogue, out);
		return;
	}
	if (pool_is_waiting(p)) /* we may have reset streams, so requests may start */
		pool_serve(p);
	protocols_fill(c->session, out);
	c->single.filled = c->requests;
	origin_conn_handle_events(c);
	if (pool_is_waiting(p)) /* sending the end of an upload may have ended a stream */
		pool_serve(p);
	if (!c->net)
		return;
	if (!is_over(c)) {
		finish_tunnel(c);
		return;
	}
	if (!session_wants_write(c->session) && !session_has_failed(c->session)) {
		/* Send GOAWAY before closing, even after the origin's own GOAWAY (RFC 9113 6.8). */
		session_terminate(c->session, SESSION_NO_ERROR, (struct slice){0});
		protocols_fill(c->session, out);
	}
	if (!session_wants_write(c->session))
		origin_conn_close(c);
}

/* ---- the end ---- */

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

static bool carries_tunnel(const struct origin_conn *c)
{
	return !session_can(c->session, SESSION_MULTIPLEXES) && exchange_tunnel_is_first(&c->legs);
}

/* The origin has ended its side of a tunnel in good order. True: ours goes on, and so does the connection. */
static bool ends_tunnel(struct origin_conn *c, enum net_end end)
{
	bool is_whole =
	    c->transport == ORIGIN_TRANSPORT_OPEN || c->transport == ORIGIN_TRANSPORT_FINISHED;
	if (end != NET_END_EOF || !is_whole || !c->is_open || !carries_tunnel(c))
		return false;
	c->is_half_closed = true;
	session_ended(c->session, true);
	origin_conn_handle_events(c);
	net_conn_dirty(c->net);
	origin_conn_arm(c);
	return true;
}

/* The session says what the end means for the response that was under way. */
static void transport_ended(struct origin_conn *c, enum net_end end, const char *text)
{
	if (ends_tunnel(c, end))
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
	worker_now(c->origins->env);
	bool has_no_alpn =
	    end == NET_END_ALERT && !c->is_open && text && strstr(text, "no application protocol");
	if (c->dialogue && !net_end_is_tls(end)) {
		upstream_proxy_failed(c, text);
		return;
	}
	text = has_no_alpn ? no_alpn(c, said) : origin_conn_say(c, text, said);
	switch (end) {
	case NET_END_CONNECT:
	case NET_END_NO_ROUTE:
		origin_log_fault(c, "cannot connect", text);
		WORKER_COUNT(c->origins->env, upstream_failed, 1);
		origin_conn_lost(c,
		    end == NET_END_CONNECT ? &relay_cause_UP_UNREACHABLE
					   : &relay_cause_UP_UNROUTABLE,
		    0, text);
		return;
	case NET_END_TLS:
	case NET_END_CERTIFICATE:
	case NET_END_ALERT:
		origin_log_fault(c, "TLS failed", text);
		WORKER_COUNT(c->origins->env, upstream_failed, 1);
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

/* The bytes of the origin are still read: it may have answered an upload before it closed. */
static void conn_cannot_send(void *owner, const char *text)
{
	struct origin_conn *c = owner;
	worker_now(c->origins->env);
	if (!c->is_ready) {
		conn_ended(c, NET_END_ERROR, text);
		return;
	}
	c->transport = ORIGIN_TRANSPORT_READABLE;
	peer_silence_heard(&c->silence, c->origins->env->relay->now);
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
	worker_now(c->origins->env);
	origin_conn_arm(c);
}

const struct net_conn_ops origin_conn_ops = {
    .opened = conn_opened,
    .received = conn_received,
    .fill = conn_fill,
    .ended = conn_ended,
    .blocked = conn_blocked,
    .cannot_send = conn_cannot_send,
};
