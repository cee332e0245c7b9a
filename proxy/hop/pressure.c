/* SPDX-License-Identifier: MIT */
/*
 * What goes when the worker's memory runs short, the cheapest first:
 *
 *   1. held responses that nobody has asked for, oldest first;
 *   2. pushes: none is made any more, and those that have not begun end, oldest first;
 *   3. connections of clients that are idle, longest first;
 *   4. exchanges of which nothing, or next to nothing, has moved for a while, and connections of
 *      clients that have left heads and promises unread for as long.
 *
 * It begins at a mark below the limit and goes on until a lower one, so many in each loop pass. Above the
 * limit itself requests are refused as well, for the clients to send once more, and at last
 * connections. What the windows had let in before may still come; an eighth above the limit nothing
 * is read from origins until that has left or was shed. Nothing of it is kept: as memory comes back
 * everything is as it was.
 */
#include "proxy/hop/private.h"

/* In sixteenths of the limit. */
#define HIGH_SIXTEENTHS 14u
#define LOW_SIXTEENTHS 13u

/* So much work in one go. */
#define SHED_AT_ONCE 64u
#define LOOKS_AT_ONCE 256u

/* Whoever has just come is about to ask for something. */
#define IDLE_LEAST_USEC USEC_PER_SEC
#define STALLED_USEC (2 * USEC_PER_SEC)
/* At its pace of late what waits would be taken later than this: a dribble. */
#define TAKEN_WITHIN_USEC (10 * USEC_PER_SEC)
/* Of heads and promises, which no exchange alone can give back. */
#define UNREAD_BYTES 65536u
/* While memory is short: what is idle or stalled now may not have been so long enough before. */
#define LOOK_AGAIN_USEC (250 * USEC_PER_MSEC)
#define SAY_AGAIN_USEC (10 * USEC_PER_SEC)

void pressure_init(struct pressure *p, const struct budget *budget)
{
	size_t sixteenth = budget->limit_bytes / 16;
	*p = (struct pressure){
	    .high_bytes = sixteenth * HIGH_SIXTEENTHS, .low_bytes = sixteenth * LOW_SIXTEENTHS};
	list_init(&p->idle);
}

/* What has ended gives its memory back at the end of a loop pass, or a little later. */
static bool is_high(const struct hop *h)
{
	const struct pressure *p = &h->pressure;
	return h->budget.used_bytes > p->low_bytes + p->leaving_bytes + p->closing_bytes;
}

/* ---- the kinds ---- */

/* It is over: the rest of it goes with the loop pass. */
static void end(struct hop *h, struct exchange *x, const struct relay_cause *cause)
{
	exchange_abort(x, cause, NULL);
	if (exchange_is_over(x))
		h->pressure.leaving_bytes += x->payer.charge;
}

static bool shed_push(struct hop *h)
{
	struct exchange *x = list_first(&h->relay.unbegun, struct exchange, pushed.unbegun);
	h->relay.makes_no_pushes = true;
	if (!x)
		return false;
	end(h, x, &relay_cause_SHED);
	return true;
}

static bool shed_idle(struct hop *h)
{
	struct down *d = list_first(&h->pressure.idle, struct down, idle);
	if (!d || h->relay.now < clock_after(d->quiet_since, IDLE_LEAST_USEC))
		return false;
	HOP_COUNT(h, shed_connections, 1);
	down_shed(d, "closed while idle: memory is short");
	return true;
}

static bool is_old(const struct hop *h, const struct flow *f)
{
	usec now = h->relay.now;
	if (f->body.bytes == 0 || now < clock_after(f->taken.since, STALLED_USEC))
		return false;
	usec span = now - f->taken.since;
	return now >= clock_after(f->taken.last, STALLED_USEC) ||
	       f->taken.moved * TAKEN_WITHIN_USEC < f->body.bytes * span;
}

static bool is_blocked(const struct hop *h, const struct net_conn *net)
{
	usec since = net_conn_blocked_since(net);
	return since != USEC_NEVER && h->relay.now >= clock_after(since, STALLED_USEC);
}

/* Its side takes nothing; or only others have their turn (RFC 9218). */
static bool is_shut(struct hop *h, struct h2_conn *h2, struct net_conn *net, const struct leg *leg)
{
	return h2_stream_window(h2, (struct h2_stream *)leg->stream) == 0 || is_blocked(h, net);
}

static bool is_stalled(struct hop *h, const struct exchange *x)
{
	if (is_old(h, &x->download) && x->down.ops == &down_leg_ops) {
		const struct down *d = x->down.carrier;
		if (is_shut(h, d->h2, d->net, &x->down))
			return true;
	}
	if (is_old(h, &x->upload) && x->up.ops == &up_leg_ops) {
		const struct up *u = x->up.carrier;
		return is_shut(h, u->h2, u->net, &x->up);
	}
	return false;
}

static bool shed_unread(struct hop *h, const struct exchange *x)
{
	if (x->down.ops != &down_leg_ops)
		return false;
	struct down *d = x->down.carrier;
	if (h2_control(d->h2).len < UNREAD_BYTES || !is_blocked(h, d->net))
		return false;
	HOP_COUNT(h, shed_connections, 1);
	down_shed(d, "does not read: memory is short");
	return true;
}

/* Goes through all of them, some in each loop pass. */
static bool shed_stalled(struct hop *h)
{
	struct list *live = &h->relay.live;
	while (h->pressure.looks > 0 && !list_is_empty(live)) {
		struct exchange *x = list_first(live, struct exchange, link);
		h->pressure.looks--;
		list_remove(&x->link);
		list_append(live, &x->link);
		if (is_stalled(h, x)) {
			end(h, x, &relay_cause_MEMORY_STALLED);
			return true;
		}
		if (shed_unread(h, x))
			return true;
	}
	return false;
}

static bool shed_one(struct hop *h)
{
	return hold_shed(&h->hold) || shed_push(h) || shed_idle(h) || shed_stalled(h);
}

/* ---- when ---- */

/* TCP makes the origins wait; what is shed meanwhile needs nothing of theirs. */
static void hold_back(struct hop *h, bool on)
{
	h->pressure.holds_back = on;
	for (size_t i = 0; i < 2 * h->env.conf->origin_count; i++)
		list_for_each(&h->pools[i].ups, u, struct up, link) if (u->net)
		    net_conn_set_reading(u->net, !on);
}

static void begins(struct hop *h)
{
	struct pressure *p = &h->pressure;
	p->is_on = true;
	if (h->relay.now < p->says_again)
		return;
	p->says_again = h->relay.now + SAY_AGAIN_USEC;
	observe_log(h->env.observe, OBSERVE_WARN,
	    "memory is short: %zu of %zu bytes are in use; what costs least goes",
	    h->budget.used_bytes, h->budget.limit_bytes);
}

void pressure_act(struct hop *h)
{
	struct pressure *p = &h->pressure;
	if (!p->is_on)
		begins(h);
	if (!p->holds_back && budget_is_far_overdrawn(&h->budget))
		hold_back(h, true);
	for (unsigned left = SHED_AT_ONCE; left > 0; left--)
		if (!is_high(h) || !shed_one(h))
			return;
	p->has_more = true;
}

void pressure_pass(struct hop *h)
{
	struct pressure *p = &h->pressure;
	p->leaving_bytes = 0;
	p->has_more = false;
	p->looks =
	    h->relay.live_count < LOOKS_AT_ONCE ? (unsigned)h->relay.live_count : LOOKS_AT_ONCE;
	h->env.observe->counters->memory_used = h->budget.used_bytes;
	if (p->is_on && h->budget.used_bytes <= p->low_bytes)
		p->is_on = h->relay.makes_no_pushes = false;
	if (p->holds_back && h->budget.used_bytes <= h->budget.limit_bytes)
		hold_back(h, false);
	pressure_check(h);
}

usec pressure_due(const struct hop *h)
{
	const struct pressure *p = &h->pressure;
	if (!p->is_on)
		return USEC_NEVER;
	return p->has_more ? h->relay.now : h->relay.now + LOOK_AGAIN_USEC;
}
