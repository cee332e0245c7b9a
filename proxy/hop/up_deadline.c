/* SPDX-License-Identifier: MIT */
/*
 * How long a connection to an origin may be in the state that it is in: before it is open, before
 * the origin's SETTINGS, without a stream, and while the origin takes nothing of what is sent. One
 * timer for all of it, set to what is due first.
 */
#include "proxy/hop/private.h"

/* ---- what is due when ---- */

static usec connect_deadline(const struct up *u)
{
	if (u->is_open)
		return USEC_NEVER;
	return clock_after(u->started, u->pool->origin->connect_timeout);
}

static usec settings_deadline(const struct up *u)
{
	if (!u->is_open || u->is_ready || u->is_closing)
		return USEC_NEVER;
	return clock_after(u->started, u->pool->origin->settings_timeout);
}

static usec idle_deadline(const struct up *u)
{
	if (!u->is_ready || u->is_closing || u->quiet_since == USEC_NEVER)
		return USEC_NEVER;
	return clock_after(u->quiet_since, u->pool->origin->idle_timeout);
}

static usec write_deadline(struct up *u)
{
	const struct conf_origin *o = u->pool->origin;
	return taking_deadline(
	    &u->taking, u->net, o->write_timeout, o->limits.min_rate, u->hop->relay.now);
}

usec up_take_limit(struct up *u, const struct leg *leg)
{
	const struct conf_origin *o = u->pool->origin;
	return taking_limit(&u->taking, u->net, u->h2, (struct h2_stream *)leg->stream,
	    o->write_timeout, o->limits.min_rate, u->hop->relay.now);
}

static usec deadline_of(struct up *u)
{
	if (!u->net) /* the demo had no socket to give */
		return u->started;
	if (!u->is_open)
		return connect_deadline(u);
	const usec due[] = {
	    h2_deadline(u->h2), settings_deadline(u), idle_deadline(u), write_deadline(u)};
	usec first = USEC_NEVER;
	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		first = due[i] < first ? due[i] : first;
	return first;
}

/* ---- the timer ---- */

void up_arm(struct up *u)
{
	usec at = deadline_of(u);
	if (!list_is_empty(&u->legs) && at > u->hop->relay.now + LOOK_AT_BLOCKED_USEC)
		at = u->hop->relay.now + LOOK_AT_BLOCKED_USEC;
	wheel_set(&u->hop->relay.wheel, &u->timer, at);
}

static void connect_is_late(struct up *u)
{
	HOP_COUNT(u->hop, connect_late, 1);
	complain_of_up(u, "cannot connect", "time-out");
	up_lost(u, &relay_cause_CONNECT_LATE, 0, "connect time-out");
}

/* Its GOAWAY still leaves; for the pool it is gone. */
static void settings_are_late(struct up *u)
{
	HOP_COUNT(u->hop, connect_late, 1);
	complain_of_up(u, "sent no SETTINGS in time", NULL);
	h2_terminate(u->h2, H2_SETTINGS_TIMEOUT, SLICE("no SETTINGS in time"));
	up_retire(u);
	pool_failed(u->pool, &relay_cause_CONNECT_LATE, "no SETTINGS from the origin in time");
	net_conn_dirty(u->net);
	up_arm(u);
}

static void write_is_late(struct up *u)
{
	HOP_COUNT(u->hop, write_late_up, 1);
	complain_of_up(u, "does not read: write time-out", NULL);
	up_lost(u, &relay_cause_UP_LOST, 0, "write-timeout");
}

static void open_expired(struct up *u, usec now)
{
	if (settings_deadline(u) <= now) {
		settings_are_late(u);
		return;
	}
	if (write_deadline(u) <= now) {
		write_is_late(u);
		return;
	}
	if (h2_deadline(u->h2) <= now) {
		h2_tick(u->h2, now);
		up_take_events(u);
	}
	if (idle_deadline(u) <= now)
		up_terminate(u, H2_NO_ERROR, (struct slice){0});
	net_conn_dirty(u->net);
	up_arm(u);
}

void up_expired(struct wheel_node *node, usec now)
{
	struct up *u = container_of(node, struct up, timer);
	hop_now(u->hop);
	if (!u->net)
		up_lost(u, &relay_cause_UP_UNREACHABLE, 0, "no connection to the demo origin");
	else if (u->is_open)
		open_expired(u, now);
	else if (connect_deadline(u) <= now)
		connect_is_late(u);
	else
		up_arm(u);
}
