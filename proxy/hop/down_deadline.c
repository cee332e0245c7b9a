/* SPDX-License-Identifier: MIT */
/*
 * How long a client's connection may be in the state that it is in: before its handshake, before its
 * preface, without a stream, and while it takes nothing of what is sent. One timer for all of it,
 * set to what is due first.
 */
#include "proxy/hop/private.h"

/* ---- quiet and busy ---- */

void down_is_quiet(struct down *d)
{
	d->quiet_since = d->hop->relay.now;
	list_remove(&d->idle);
	if (!d->is_closing)
		list_append(&d->hop->pressure.idle, &d->idle);
}

void down_is_busy(struct down *d)
{
	if (d->quiet_since == USEC_NEVER)
		return;
	d->quiet_since = USEC_NEVER;
	list_remove(&d->idle);
	down_arm(d);
}

/* ---- what is due when ---- */

static usec write_deadline(struct down *d)
{
	const struct conf_listen *c = d->listener->conf;
	return taking_deadline(
	    &d->taking, d->net, c->write_timeout, c->limits.min_rate, d->hop->relay.now);
}

usec down_take_limit(struct down *d, const struct leg *leg)
{
	const struct conf_listen *c = d->listener->conf;
	return taking_limit(&d->taking, d->net, d->h2, (struct h2_stream *)leg->stream,
	    c->write_timeout, c->limits.min_rate, d->hop->relay.now);
}

static usec idle_deadline(const struct down *d)
{
	if (d->quiet_since == USEC_NEVER)
		return USEC_NEVER;
	return clock_after(d->quiet_since, d->listener->conf->idle_timeout);
}

static usec deadline_of(struct down *d)
{
	const struct conf_listen *c = d->listener->conf;
	if (!d->is_open)
		return clock_after(d->opened, c->tls_timeout);
	if (!d->h2)
		return clock_after(d->opened, c->preface_timeout);
	usec at = h2_deadline(d->h2), idle = idle_deadline(d), stalled = write_deadline(d);
	at = idle < at ? idle : at;
	return stalled < at ? stalled : at;
}

/* ---- the timer ---- */

void down_arm(struct down *d)
{
	usec at = deadline_of(d);
	if (d->is_open && !list_is_empty(&d->legs) && at > d->hop->relay.now + LOOK_AT_BLOCKED_USEC)
		at = d->hop->relay.now + LOOK_AT_BLOCKED_USEC;
	wheel_set(&d->hop->relay.wheel, &d->timer, at);
}

void down_arm_sooner(struct down *d)
{
	if (deadline_of(d) < d->timer.deadline)
		down_arm(d);
}

static void begin_is_late(struct down *d)
{
	if (d->is_open) {
		HOP_COUNT(d->hop, preface_late, 1);
		complain_of_down(d, "no HTTP/2 preface in time", NULL);
	} else {
		HOP_COUNT(d->hop, tls_late, 1);
		complain_of_down(d, "no TLS handshake in time", NULL);
	}
	down_abort(d, NULL);
}

static void write_is_late(struct down *d)
{
	HOP_COUNT(d->hop, write_late_down, 1);
	complain_of_down(d, "does not read: write time-out", NULL);
	down_abort(d, "write-timeout");
}

static void is_idle_for_long(struct down *d, usec now)
{
	if (h2_is_going_away(d->h2)) /* it was told, and had its time */
		d->is_closing = true;
	else
		HOP_COUNT(d->hop, idle_closed, 1);
	h2_shutdown(d->h2, now);
	down_is_quiet(d);
}

void down_expired(struct wheel_node *node, usec now)
{
	struct down *d = container_of(node, struct down, timer);
	hop_now(d->hop);
	if (!d->is_open || !d->h2) {
		if (deadline_of(d) > now)
			down_arm(d);
		else
			begin_is_late(d);
		return;
	}
	if (write_deadline(d) <= now) {
		write_is_late(d);
		return;
	}
	if (h2_deadline(d->h2) <= now) {
		h2_tick(d->h2, now);
		down_take_events(d);
	}
	if (idle_deadline(d) <= now)
		is_idle_for_long(d, now);
	net_conn_dirty(d->net);
	down_arm(d);
}
