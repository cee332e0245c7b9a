/* SPDX-License-Identifier: MIT */
/*
 * The deadlines of an origin connection: for connecting, for the origin's SETTINGS, for idle time
 * without a stream, and for writes that the origin does not read. Each connection has one timer, set
 * to the nearest deadline. While pushgate does not read from origins, what they owe is not late: the
 * clock of their sessions stands still (relay_origin_clock).
 */
#include "proxy/upstream/upstream_private.h"

/* ---- the deadlines ---- */

static usec connect_deadline(const struct origin_conn *c)
{
	if (c->is_open)
		return USEC_NEVER;
	return clock_after(c->started, c->pool->origin->connect_timeout);
}

static struct relay *relay_of(const struct origin_conn *c)
{
	return c->upstream->env->relay;
}

/* The loop's time for a time of relay_origin_clock. */
static usec origin_time(const struct origin_conn *c, usec at)
{
	const struct relay *r = relay_of(c);
	if (at == USEC_NEVER || r->unread_since != USEC_NEVER)
		return USEC_NEVER;
	return at + r->unread_usec;
}

static usec settings_deadline(const struct origin_conn *c)
{
	if (!c->is_open || c->is_ready || c->is_closing)
		return USEC_NEVER;
	return origin_time(c, clock_after(c->started, c->pool->origin->settings_timeout));
}

/* While the connection is not read from, what a deadline waits for may lie unread in its socket. The
 * deadline's time begins anew when the connection is read from again. */
static usec unless_unread(const struct origin_conn *c, usec due, usec limit)
{
	if (c->is_held_back || c->is_full || due == USEC_NEVER)
		return USEC_NEVER;
	usec fair = c->read_since == 0 ? 0 : clock_after(c->read_since, limit);
	return due > fair ? due : fair;
}

static usec session_due(const struct origin_conn *c)
{
	usec due = origin_time(c, session_deadline(c->session));
	return unless_unread(c, due, c->pool->origin->settings_timeout);
}

static usec idle_deadline(const struct origin_conn *c)
{
	if (!c->is_ready || c->is_closing || c->quiet_since == USEC_NEVER)
		return USEC_NEVER;
	return clock_after(c->quiet_since, origin_single_idle_limit(c));
}

static usec write_deadline(struct origin_conn *c)
{
	const struct conf_origin *o = c->pool->origin;
	/* An origin that cannot send may not read either. */
	if (relay_of(c)->unread_since != USEC_NEVER)
		return USEC_NEVER;
	usec due = peer_progress_deadline(
	    &c->progress, c->net, o->write_timeout, o->limits.min_rate, relay_of(c)->now);
	return unless_unread(c, due, o->write_timeout);
}

/* For the next PING, or its answer. */
static usec silence_deadline(const struct origin_conn *c)
{
	if (c->is_held_back || relay_of(c)->unread_since != USEC_NEVER)
		return USEC_NEVER;
	bool is_watched = !list_is_empty(&c->legs) && c->pool->origin->keepalive > 0 &&
			  session_can(c->session, SESSION_PINGS);
	return is_watched ? peer_silence_deadline(&c->silence) : USEC_NEVER;
}

usec origin_stall_limit(const struct exchange *x)
{
	struct origin_conn *c = origin_conn_of(x);
	if (!c || c->is_full) /* an origin that cannot send may not read either */
		return 0;
	const struct conf_origin *o = c->pool->origin;
	return peer_progress_stream_limit(&c->progress, c->net, c->session, x->up.stream,
	    o->write_timeout, o->limits.min_rate, c->upstream->env->relay->now);
}

/* What a peer sent before it closed lies in our socket already, and its end with it. */
#define READ_ON_USEC (100 * USEC_PER_MSEC)

static usec read_on_deadline(const struct origin_conn *c)
{
	return c->transport == ORIGIN_TRANSPORT_READABLE ? c->silence.heard + READ_ON_USEC
							 : USEC_NEVER;
}

/* Both sides of its tunnel are over, and all has left: at once. */
static usec finished_deadline(const struct origin_conn *c)
{
	bool is_over = c->transport == ORIGIN_TRANSPORT_FINISHED && list_is_empty(&c->legs);
	return is_over && !net_conn_is_blocked(c->net) ? c->opened : USEC_NEVER;
}

static usec deadline_of(struct origin_conn *c)
{
	if (!c->net) /* demo_connect failed: report it from the timer, not from the dispatch */
		return c->started;
	if (!c->is_open)
		return connect_deadline(c);
	const usec due[] = {session_due(c), settings_deadline(c), idle_deadline(c),
	    write_deadline(c), silence_deadline(c), origin_single_discard_deadline(c),
	    read_on_deadline(c), finished_deadline(c)};
	usec first = USEC_NEVER;
	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		first = due[i] < first ? due[i] : first;
	return first;
}

/* ---- the timer ---- */

void origin_conn_arm(struct origin_conn *c)
{
	usec at = deadline_of(c);
	bool is_watched = c->net && (net_conn_is_blocked(c->net) || c->is_half_closed);
	if (is_watched && at > c->upstream->env->relay->now + BLOCKED_CHECK_USEC)
		at = c->upstream->env->relay->now + BLOCKED_CHECK_USEC;
	wheel_set(worker_wheel(c->upstream->env), &c->timer, at);
}

void origin_conn_look_soon(struct origin_conn *c)
{
	wheel_set(worker_wheel(c->upstream->env), &c->timer, c->upstream->env->relay->now);
}

/* Both sides of the tunnel are over. What has not left still does: the origin had the time of write-timeout. */
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
	else if (read_on_deadline(c) <= now && !net_conn_is_paused(c->net))
		origin_conn_lost(c, &relay_cause_UP_LOST, 0, "a write failed");
	else {
		if (net_conn_is_paused(c->net))
			peer_silence_heard(&c->silence, now);
		origin_conn_arm(c);
	}
}

static void connect_is_late(struct origin_conn *c)
{
	WORKER_COUNT(c->upstream->env, connect_late, 1);
	char text[ORIGIN_TEXT_BYTES];
	const char *detail = origin_conn_say(c, "time-out", text);
	origin_log_fault(c, "cannot connect", detail);
	origin_conn_lost(c, &relay_cause_CONNECT_LATE, 0, detail);
}

/* Retires the connection; it stays open until our GOAWAY is sent. */
static void settings_are_late(struct origin_conn *c)
{
	WORKER_COUNT(c->upstream->env, connect_late, 1);
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
	WORKER_COUNT(c->upstream->env, write_late_up, 1);
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
	if (!c->silence.asked) {
		session_ping(c->session, relay_origin_clock(relay_of(c)));
		peer_silence_ask(&c->silence, c->net, now);
		return;
	}
	if (peer_silence_excuse(&c->silence, c->net, now))
		return;
	WORKER_COUNT(c->upstream->env, ping_late_up, 1);
	origin_log_fault(c, "does not answer a PING", NULL);
	origin_conn_lost(c, &relay_cause_UP_LOST, 0, "ping-timeout");
}

static void open_expired(struct origin_conn *c, usec now)
{
	if (c->is_half_closed && net_conn_is_lost(c->net)) {
		origin_conn_lost(c, &relay_cause_UP_LOST, 0, "closed by the peer");
		return;
	}
	if (c->transport == ORIGIN_TRANSPORT_FINISHED && write_deadline(c) <= now) {
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
	if (settings_deadline(c) <= now) {
		settings_are_late(c);
		return;
	}
	if (write_deadline(c) <= now) {
		write_is_late(c);
		return;
	}
	if (session_due(c) <= now) {
		session_tick(c->session, now - relay_of(c)->unread_usec);
		origin_conn_handle_events(c);
	}
	if (silence_deadline(c) <= now)
		silence_is_long(c, now);
	if (!c->net)
		return;
	if (idle_deadline(c) <= now || origin_single_discard_deadline(c) <= now)
		origin_conn_terminate(c, SESSION_NO_ERROR, (struct slice){0});
	net_conn_dirty(c->net);
	origin_conn_arm(c);
}

void origin_conn_expired(struct wheel_node *node, usec now)
{
	struct origin_conn *c = container_of(node, struct origin_conn, timer);
	worker_now(c->upstream->env);
	if (!c->net)
		origin_conn_lost(
		    c, &relay_cause_UP_UNREACHABLE, 0, "no connection to the demo origin");
	else if (c->is_open)
		open_expired(c, now);
	else if (connect_deadline(c) <= now)
		connect_is_late(c);
	else
		origin_conn_arm(c);
}

void origin_conn_read_again(struct origin_conn *c)
{
	usec now = relay_of(c)->now;
	peer_silence_heard(&c->silence, now);
	peer_progress_pardon(&c->progress, c->pool->origin->write_timeout, now);
	origin_conn_arm(c);
	/* Not before what waits in its socket was read. */
	if (c->timer.deadline < now + BLOCKED_CHECK_USEC)
		wheel_set(worker_wheel(c->upstream->env), &c->timer, now + BLOCKED_CHECK_USEC);
}
