/* SPDX-License-Identifier: MIT */
/*
 * The deadlines of a client connection: for the TLS handshake, for the protocol's first bytes, for
 * idle time without a stream, and for writes that the client does not read. Each connection has one
 * timer, set to the nearest deadline.
 */
#include "proxy/client/client_private.h"

/* As long as the engine of HTTP/2 waits for a round trip (h2/conn_shutdown.c). */
#define LEAVE_USEC USEC_PER_SEC

static usec now_of(const struct client_conn *c)
{
	return c->clients->env->relay->now;
}

/* ---- quiet and busy ---- */

void client_conn_is_quiet(struct client_conn *c)
{
	c->quiet_since = now_of(c);
	list_remove(&c->idle);
	if (!c->is_closing)
		list_append(&c->clients->idle, &c->idle);
}

void client_conn_is_busy(struct client_conn *c)
{
	if (c->quiet_since == USEC_NEVER)
		return;
	c->quiet_since = USEC_NEVER;
	list_remove(&c->idle);
	client_conn_arm(c);
}

/* ---- the deadlines ---- */

static usec write_deadline(struct client_conn *c)
{
	const struct conf_listen *conf = c->listener->conf;
	return peer_progress_deadline(
	    &c->progress, c->net, conf->write_timeout, conf->limits.min_rate, now_of(c));
}

static usec idle_deadline(const struct client_conn *c)
{
	if (c->quiet_since == USEC_NEVER)
		return USEC_NEVER;
	return clock_after(c->quiet_since, c->listener->conf->idle_timeout);
}

/* For the next PING, or its answer. */
static usec silence_deadline(const struct client_conn *c)
{
	bool is_watched = c->session && !list_is_empty(&c->legs) &&
			  c->listener->conf->keepalive > 0 && !client_conn_is_half_closed(c) &&
			  session_can(c->session, SESSION_PINGS);
	return is_watched ? peer_silence_deadline(&c->silence) : USEC_NEVER;
}

static usec deadline_of(struct client_conn *c)
{
	const struct conf_listen *conf = c->listener->conf;
	if (!c->session) {
		usec limit = c->is_open ? conf->preface_timeout : conf->tls_timeout;
		return clock_earlier(clock_after(c->opened, limit), c->leaves_at);
	}
	usec at = session_deadline(c->session), idle = idle_deadline(c),
	     stalled = write_deadline(c);
	at = idle < at ? idle : at;
	at = c->leaves_at < at ? c->leaves_at : at;
	return stalled < at ? stalled : at;
}

/* ---- the end ---- */

void client_conn_wait_for_last(struct client_conn *c)
{
	if (!c->is_leaving || !list_is_empty(&c->legs) || c->leaves_at != USEC_NEVER)
		return;
	c->leaves_at = worker_now(c->clients->env) + LEAVE_USEC;
	client_conn_arm(c);
}

/*
 * HTTP/2 says which request is the last one. Otherwise a head says it, if one is still to come; behind one that has not
 * said it another request may be on its way.
 */
void client_conn_shutdown(struct client_conn *c)
{
	if (!c->net)
		return;
	const struct leg *first = list_first(&c->legs, struct leg, link);
	bool is_told = c->session && (session_can(c->session, SESSION_MULTIPLEXES) ||
					 (first && !exchange_has_begun(first->exchange)));
	if (is_told) {
		client_conn_leave(c);
		return;
	}
	c->is_leaving = true;
	client_conn_wait_for_last(c);
}

/* ---- the timer ---- */

void client_conn_arm(struct client_conn *c)
{
	usec at = deadline_of(c), silence = silence_deadline(c);
	usec soon = now_of(c) + BLOCKED_CHECK_USEC;
	at = silence < at ? silence : at; /* bytes from the client only move it later */
	if ((net_conn_is_blocked(c->net) || client_conn_is_half_closed(c) || c->is_unread) &&
	    at > soon)
		at = soon;
	wheel_set(worker_wheel(c->clients->env), &c->timer, at);
}

void client_conn_arm_sooner(struct client_conn *c)
{
	if (deadline_of(c) < c->timer.deadline)
		client_conn_arm(c);
}

static void start_is_late(struct client_conn *c)
{
	if (c->is_open) {
		WORKER_COUNT(c->clients->env, preface_late, 1);
		client_log_fault(c, "began no protocol in time", NULL);
	} else {
		WORKER_COUNT(c->clients->env, tls_late, 1);
		client_log_fault(c, "no TLS handshake in time", NULL);
	}
	client_conn_abort(c, NULL);
}

static void write_is_late(struct client_conn *c)
{
	WORKER_COUNT(c->clients->env, write_late_down, 1);
	client_log_fault(c,
	    net_conn_is_blocked(c->net) ? "does not read: write time-out"
					: "ended its side, and nothing moved: write time-out",
	    NULL);
	client_conn_abort(c, "write-timeout");
}

/* Returns false when the client is given up. */
static bool silence_is_long(struct client_conn *c, usec now)
{
	if (!peer_silence_is_final(&c->silence, c->session, c->net, now, now))
		return true;
	WORKER_COUNT(c->clients->env, ping_late_down, 1);
	client_log_fault(c, "does not answer a PING", NULL);
	client_conn_abort(c, "ping-timeout");
	return false;
}

/* Sends GOAWAY the first time; closes the connection when it has been idle as long again. */
static void idle_is_over(struct client_conn *c, usec now)
{
	if (session_peer(c->session).is_going_away)
		c->is_closing = true;
	else
		WORKER_COUNT(c->clients->env, idle_closed, 1);
	session_shutdown(c->session, now);
	client_conn_is_quiet(c);
}

/* Returns true when the client, from which nothing is read, is gone: its connection is closed then. */
static bool unread_is_gone(struct client_conn *c)
{
	if (!c->is_unread)
		return false;
	if (net_conn_is_lost(c->net)) {
		client_conn_abort(c, NULL);
		return true;
	}
	client_conn_handle_events(c); /* of bytes for which there has been credit since */
	return false;
}

/* Both sides of the tunnel are over, and all that was sent has left. Returns true: the connection is closed. */
static bool tunnel_is_over(struct client_conn *c)
{
	if (!c->is_finished || !list_is_empty(&c->legs) || net_conn_is_blocked(c->net))
		return false;
	client_conn_abort(c, NULL);
	return true;
}

void client_conn_expired(struct wheel_node *node, usec now)
{
	struct client_conn *c = container_of(node, struct client_conn, timer);
	worker_now(c->clients->env);
	if (c->leaves_at <= now) {
		client_conn_leave(c);
		return;
	}
	if (!c->is_open || !c->session) {
		if (deadline_of(c) > now)
			client_conn_arm(c);
		else
			start_is_late(c);
		return;
	}
	if (client_half_closed_check(c, now) || unread_is_gone(c) || tunnel_is_over(c))
		return;
	if (write_deadline(c) <= now || client_half_closed_deadline(c) <= now) {
		write_is_late(c);
		return;
	}
	if (session_deadline(c->session) <= now) {
		session_tick(c->session, now);
		client_conn_handle_events(c);
	}
	if (silence_deadline(c) <= now && !silence_is_long(c, now))
		return;
	if (idle_deadline(c) <= now)
		idle_is_over(c, now);
	net_conn_dirty(c->net);
	client_conn_arm(c);
}
