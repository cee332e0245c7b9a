/* SPDX-License-Identifier: MIT */
/*
 * The deadlines of an origin connection: for connecting, for the origin's SETTINGS, for idle time
 * without a stream, and for writes that the origin does not read. Each connection has one timer, set
 * to the nearest deadline. While pushgate does not read from origins, what they owe is not late: the
 * clock of their sessions stands still (relay_origin_clock). origin_timer.c acts on them.
 */
#include "proxy/origin/origin_private.h"

/* ---- the deadlines ---- */

usec origin_connect_deadline(const struct origin_conn *c)
{
	if (c->is_open)
		return USEC_NEVER;
	return clock_after(c->started, c->pool->conf->connect_timeout);
}

static struct relay *relay_of(const struct origin_conn *c)
{
	return c->origins->env->relay;
}

/* The loop's time for a time of relay_origin_clock. */
static usec origin_time(const struct origin_conn *c, usec at)
{
	const struct relay *r = relay_of(c);
	if (at == USEC_NEVER || r->unread_since != USEC_NEVER)
		return USEC_NEVER;
	return at + r->unread_usec;
}

usec origin_settings_deadline(const struct origin_conn *c)
{
	if (!c->is_open || c->is_ready || c->is_closing)
		return USEC_NEVER;
	return origin_time(c, clock_after(c->started, c->pool->conf->settings_timeout));
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

usec origin_session_due(const struct origin_conn *c)
{
	usec due = origin_time(c, session_deadline(c->session));
	return unless_unread(c, due, c->pool->conf->settings_timeout);
}

usec origin_idle_deadline(const struct origin_conn *c)
{
	if (!c->is_ready || c->is_closing || c->quiet_since == USEC_NEVER)
		return USEC_NEVER;
	return clock_after(c->quiet_since, origin_single_idle_limit(c));
}

usec origin_write_deadline(struct origin_conn *c)
{
	const struct conf_origin *o = c->pool->conf;
	/* An origin that cannot send may not read either. */
	if (relay_of(c)->unread_since != USEC_NEVER)
		return USEC_NEVER;
	usec due = peer_progress_deadline(
	    &c->progress, c->net, o->write_timeout, o->limits.min_rate, relay_of(c)->now);
	return unless_unread(c, due, o->write_timeout);
}

/* For the next PING, or its answer. */
usec origin_silence_deadline(const struct origin_conn *c)
{
	if (c->is_held_back || relay_of(c)->unread_since != USEC_NEVER)
		return USEC_NEVER;
	bool is_watched = !list_is_empty(&c->legs) && c->pool->conf->keepalive > 0 &&
			  session_can(c->session, SESSION_PINGS);
	return is_watched ? peer_silence_deadline(&c->silence) : USEC_NEVER;
}

/* The bytes that a peer sent before it closed lie in our socket already, and its end with them. */
#define READ_ON_USEC (100 * USEC_PER_MSEC)

usec origin_read_on_deadline(const struct origin_conn *c)
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
		return origin_connect_deadline(c);
	const usec due[] = {origin_session_due(c), origin_settings_deadline(c),
	    origin_idle_deadline(c), origin_write_deadline(c), origin_silence_deadline(c),
	    origin_single_discard_deadline(c), origin_read_on_deadline(c), finished_deadline(c)};
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
	if (is_watched && at > c->origins->env->relay->now + BLOCKED_CHECK_USEC)
		at = c->origins->env->relay->now + BLOCKED_CHECK_USEC;
	wheel_set(worker_wheel(c->origins->env), &c->timer, at);
}

void origin_conn_look_soon(struct origin_conn *c)
{
	wheel_set(worker_wheel(c->origins->env), &c->timer, c->origins->env->relay->now);
}

void origin_conn_read_again(struct origin_conn *c)
{
	usec now = relay_of(c)->now;
	peer_silence_heard(&c->silence, now);
	peer_progress_pardon(&c->progress, c->pool->conf->write_timeout, now);
	origin_conn_arm(c);
	/* Not before what waits in its socket was read. */
	if (c->timer.deadline < now + BLOCKED_CHECK_USEC)
		wheel_set(worker_wheel(c->origins->env), &c->timer, now + BLOCKED_CHECK_USEC);
}
