/* SPDX-License-Identifier: MIT */
/*
 * The deadlines of an origin connection: for connecting, for the origin's SETTINGS, for idle time
 * without a stream, and for writes that the origin does not read. Each connection has one timer, set
 * to the nearest deadline.
 */
#include "proxy/upstream/private.h"

/* ---- the deadlines ---- */

static usec connect_deadline(const struct origin_conn *c)
{
	if (c->is_open)
		return USEC_NEVER;
	return clock_after(c->started, c->pool->origin->connect_timeout);
}

static usec settings_deadline(const struct origin_conn *c)
{
	if (!c->is_open || c->is_ready || c->is_closing)
		return USEC_NEVER;
	return clock_after(c->started, c->pool->origin->settings_timeout);
}

/* While the connection is held back, what a deadline waits for may lie unread in its socket. The
 * deadline's time begins anew when the connection is read from again. */
static usec unless_held_back(const struct origin_conn *c, usec due, usec limit)
{
	if (c->is_held_back || due == USEC_NEVER)
		return USEC_NEVER;
	usec fair = c->read_since == 0 ? 0 : clock_after(c->read_since, limit);
	return due > fair ? due : fair;
}

static usec protocol_deadline(const struct origin_conn *c)
{
	return unless_held_back(c, session_deadline(c->session), c->pool->origin->settings_timeout);
}

static usec idle_deadline(const struct origin_conn *c)
{
	if (!c->is_ready || c->is_closing || c->quiet_since == USEC_NEVER)
		return USEC_NEVER;
	return clock_after(c->quiet_since, c->pool->origin->idle_timeout);
}

static usec write_deadline(struct origin_conn *c)
{
	const struct conf_origin *o = c->pool->origin;
	usec due = peer_progress_deadline(&c->progress, c->net, o->write_timeout,
	    o->limits.min_rate, c->upstream->env->relay->now);
	return unless_held_back(c, due, o->write_timeout);
}

usec origin_stall_limit(const struct exchange *x)
{
	struct origin_conn *c = origin_conn_of(x);
	if (!c)
		return 0;
	const struct conf_origin *o = c->pool->origin;
	return peer_progress_stream_limit(&c->progress, c->net, c->session, x->up.stream,
	    o->write_timeout, o->limits.min_rate, c->upstream->env->relay->now);
}

static usec deadline_of(struct origin_conn *c)
{
	if (!c->net) /* demo_connect failed: report it from the timer, not from the dispatch */
		return c->started;
	if (!c->is_open)
		return connect_deadline(c);
	const usec due[] = {
	    protocol_deadline(c), settings_deadline(c), idle_deadline(c), write_deadline(c)};
	usec first = USEC_NEVER;
	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		first = due[i] < first ? due[i] : first;
	return first;
}

/* ---- the timer ---- */

void origin_conn_arm(struct origin_conn *c)
{
	usec at = deadline_of(c);
	if (c->net && net_conn_is_blocked(c->net) &&
	    at > c->upstream->env->relay->now + BLOCKED_CHECK_USEC)
		at = c->upstream->env->relay->now + BLOCKED_CHECK_USEC;
	wheel_set(worker_wheel(c->upstream->env), &c->timer, at);
}

static void connect_is_late(struct origin_conn *c)
{
	WORKER_COUNT(c->upstream->env, connect_late, 1);
	origin_log_fault(c, "cannot connect", "time-out");
	origin_conn_lost(c, &relay_cause_CONNECT_LATE, 0, "connect time-out");
}

/* Retires the connection; it stays open until our GOAWAY is sent. */
static void settings_are_late(struct origin_conn *c)
{
	WORKER_COUNT(c->upstream->env, connect_late, 1);
	origin_log_fault(c, "sent no SETTINGS in time", NULL);
	session_terminate(c->session, SESSION_SETTINGS_TIMEOUT, SLICE("no SETTINGS in time"));
	origin_conn_retire(c);
	pool_failed(c->pool, &relay_cause_CONNECT_LATE, "no SETTINGS from the origin in time");
	net_conn_dirty(c->net);
	origin_conn_arm(c);
}

static void write_is_late(struct origin_conn *c)
{
	WORKER_COUNT(c->upstream->env, write_late_up, 1);
	origin_log_fault(c, "does not read: write time-out", NULL);
	origin_conn_lost(c, &relay_cause_UP_LOST, 0, "write-timeout");
}

static void open_expired(struct origin_conn *c, usec now)
{
	if (settings_deadline(c) <= now) {
		settings_are_late(c);
		return;
	}
	if (write_deadline(c) <= now) {
		write_is_late(c);
		return;
	}
	if (protocol_deadline(c) <= now) {
		session_tick(c->session, now);
		origin_conn_handle_events(c);
	}
	if (idle_deadline(c) <= now)
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
