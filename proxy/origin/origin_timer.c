/* SPDX-License-Identifier: MIT */
/* Acts on the deadlines of an origin connection that have passed (origin_deadline.c). */
#include "proxy/origin/origin_private.h"

/* Both sides of the tunnel are over. Bytes that have not left are still sent: the origin has had write-timeout for them. */
static void end_finished(struct origin_conn *c)
{
	if (net_conn_is_blocked(c->net) && !session_must_abort(c->session))
		origin_conn_arm(c);
	else
		origin_conn_close(c);
}

/* Nothing is filled any more, so the session is looked at from the timer. */
static void look_at_rest(struct origin_conn *c, usec now)
{
	origin_conn_handle_events(c);
	if (!c->net)
		return;
	bool is_over = list_is_empty(&c->legs);
	if (c->transport == ORIGIN_TRANSPORT_ENDED && (is_over || !session_is_full(c->session)))
		origin_conn_ended(c, "closed by the peer");
	else if (c->transport == ORIGIN_TRANSPORT_FINISHED && is_over)
		end_finished(c);
	else if (c->transport == ORIGIN_TRANSPORT_READABLE && is_over)
		origin_conn_kill(c, &relay_cause_UP_LOST);
	else if (origin_read_on_deadline(c) <= now && !net_conn_is_paused(c->net))
		origin_conn_lost(c, &relay_cause_UP_LOST, 0, "a write failed");
	else {
		if (net_conn_is_paused(c->net))
			peer_silence_heard(&c->silence, now);
		origin_conn_arm(c);
	}
}

static void connect_is_late(struct origin_conn *c)
{
	WORKER_COUNT(c->origins->env, connect_late, 1);
	char text[ORIGIN_TEXT_BYTES];
	const char *detail = origin_conn_say(c, "time-out", text);
	origin_log_fault(c, "cannot connect", detail);
	origin_conn_lost(c, &relay_cause_CONNECT_LATE, 0, detail);
}

/* Retires the connection; it stays open until our GOAWAY is sent. */
static void settings_are_late(struct origin_conn *c)
{
	WORKER_COUNT(c->origins->env, settings_late, 1);
	char text[ORIGIN_TEXT_BYTES];
	const char *detail = origin_conn_say(c, "no SETTINGS from the origin in time", text);
	origin_log_fault(c, "sent no SETTINGS in time", NULL);
	session_terminate(c->session, SESSION_SETTINGS_TIMEOUT, SLICE("no SETTINGS in time"));
	origin_conn_retire(c);
	pool_failed(c->pool, c, &relay_cause_CONNECT_LATE, detail);
	net_conn_dirty(c->net);
	origin_conn_arm(c);
}

static void write_is_late(struct origin_conn *c)
{
	WORKER_COUNT(c->origins->env, write_late_up, 1);
	origin_log_fault(c, "does not read: write time-out", NULL);
	origin_conn_lost(c, &relay_cause_UP_LOST, 0, "write-timeout");
}

static void silence_is_long(struct origin_conn *c, usec now)
{
	if (net_conn_is_paused(
		c->net)) { /* for want of a chunk: what it sends waits in the socket */
		peer_silence_heard(&c->silence, now);
		return;
	}
	usec session_now = relay_origin_clock(c->origins->env->relay);
	if (!peer_silence_is_final(&c->silence, c->session, c->net, session_now, now))
		return;
	WORKER_COUNT(c->origins->env, ping_late_up, 1);
	origin_log_fault(c, "does not answer a PING", NULL);
	origin_conn_lost(c, &relay_cause_UP_LOST, 0, "ping-timeout");
}

static void open_expired(struct origin_conn *c, usec now)
{
	if (c->is_half_closed && net_conn_is_lost(c->net)) {
		origin_conn_lost(c, &relay_cause_UP_LOST, 0, "closed by the peer");
		return;
	}
	if (c->transport == ORIGIN_TRANSPORT_FINISHED && origin_write_deadline(c) <= now) {
		write_is_late(c);
		return;
	}
	if (c->transport != ORIGIN_TRANSPORT_OPEN) {
		look_at_rest(c, now);
		return;
	}
	if (c->is_full) /* for what there has been credit since: no fill while the origin does not read */
		origin_conn_handle_events(c);
	if (!c->net)
		return;
	if (origin_settings_deadline(c) <= now) {
		settings_are_late(c);
		return;
	}
	if (origin_write_deadline(c) <= now) {
		write_is_late(c);
		return;
	}
	if (origin_session_due(c) <= now) {
		session_tick(c->session, now - c->origins->env->relay->unread_usec);
		origin_conn_handle_events(c);
	}
	if (origin_silence_deadline(c) <= now)
		silence_is_long(c, now);
	if (!c->net)
		return;
	if (origin_idle_deadline(c) <= now || origin_single_discard_deadline(c) <= now)
		origin_conn_terminate(c, SESSION_NO_ERROR, (struct slice){0});
	net_conn_dirty(c->net);
	origin_conn_arm(c);
}

void origin_conn_expired(struct wheel_node *node, usec now)
{
	struct origin_conn *c = container_of(node, struct origin_conn, timer);
	worker_now(c->origins->env);
	if (!c->net)
		origin_conn_lost(
		    c, &relay_cause_UP_UNREACHABLE, 0, "no connection to the demo origin");
	else if (c->is_open)
		open_expired(c, now);
	else if (origin_connect_deadline(c) <= now)
		connect_is_late(c);
	else
		origin_conn_arm(c);
}
