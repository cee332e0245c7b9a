/* SPDX-License-Identifier: MIT */
/*
 * What is given up when the worker's memory runs short, the cheapest first:
 *
 *   1. held responses that no request has asked for, oldest first;
 *   2. pushes: none is made any more, and those that have not begun end, oldest first;
 *   3. connections of clients that are idle, longest first;
 *   4. exchanges of which nothing, or next to nothing, has moved for a while, and connections of
 *      clients that have left heads and promises unread for as long.
 *
 * It begins at a mark below the limit and goes on until a lower mark, a bounded number in each loop
 * pass. Above the limit itself requests are refused as well, for the clients to send once more, and
 * at last connections. Bytes that the windows had let in before may still come; an eighth above the
 * limit nothing is read from origins until those bytes have left or were shed. As memory comes back
 * everything is as it was.
 */
#include "proxy/gateway/private.h"

/* In sixteenths of the limit. */
#define HIGH_SIXTEENTHS 14u
#define LOW_SIXTEENTHS 13u

/* Most objects that end, and exchanges that are looked at, in one go. */
#define SHED_AT_ONCE 64u
#define LOOKS_AT_ONCE 256u

/* A connection that has just come is about to ask for something. */
#define IDLE_LEAST_USEC USEC_PER_SEC
#define STALLED_USEC (2 * USEC_PER_SEC)
/* The peer reads so slowly that the queued bytes would need longer than this: treat the exchange as
 * stalled. */
#define TAKEN_WITHIN_USEC (10 * USEC_PER_SEC)
/* Of heads and promises that a client leaves unread: no exchange alone can give them back. */
#define UNREAD_BYTES 65536u
/* While memory is short: a connection or exchange that was not idle or stalled for long enough may
 * be so the next time. */
#define LOOK_AGAIN_USEC (250 * USEC_PER_MSEC)
#define SAY_AGAIN_USEC (10 * USEC_PER_SEC)

/* Objects that have ended give their memory back at the end of a loop pass, or a little later. */
static bool is_high(const struct gateway *g)
{
	const struct memory_pressure *p = &g->pressure;
	return g->env.budget.used_bytes >
	       p->low_bytes + p->leaving_bytes + g->clients.closing_bytes;
}

/* ---- the kinds ---- */

static void end(struct gateway *g, struct exchange *x, const struct relay_cause *cause)
{
	exchange_abort(x, cause, NULL);
	if (exchange_is_over(x))
		g->pressure.leaving_bytes += x->payer.charge;
}

static bool shed_push(struct gateway *g)
{
	struct exchange *x = list_first(&g->relay.unbegun, struct exchange, pushed.unbegun);
	g->relay.makes_no_pushes = true;
	if (!x)
		return false;
	end(g, x, &relay_cause_SHED);
	return true;
}

/* The time `span` ago; 0 when the worker is younger than that, which is before everything. */
static usec ago(const struct gateway *g, usec span)
{
	return g->relay.now > span ? g->relay.now - span : 0;
}

static bool shed_idle(struct gateway *g)
{
	return clients_shed_idle(&g->clients, ago(g, IDLE_LEAST_USEC));
}

static bool is_old(const struct gateway *g, const struct flow *f)
{
	usec now = g->relay.now;
	if (f->body.bytes == 0 || now < clock_after(f->taken.since, STALLED_USEC))
		return false;
	usec span = now - f->taken.since;
	return now >= clock_after(f->taken.last, STALLED_USEC) ||
	       f->taken.moved * TAKEN_WITHIN_USEC < f->body.bytes * span;
}

static bool is_stalled(struct gateway *g, const struct exchange *x)
{
	usec since = ago(g, STALLED_USEC);
	return (is_old(g, &x->download) && client_is_stuck(x, since)) ||
	       (is_old(g, &x->upload) && origin_is_stuck(x, since));
}

/* Goes through all exchanges, some in each loop pass. */
static bool shed_stalled(struct gateway *g)
{
	struct list *live = &g->relay.live;
	while (g->pressure.looks > 0 && !list_is_empty(live)) {
		struct exchange *x = list_first(live, struct exchange, link);
		g->pressure.looks--;
		list_remove(&x->link);
		list_append(live, &x->link);
		if (is_stalled(g, x)) {
			end(g, x, &relay_cause_MEMORY_STALLED);
			return true;
		}
		if (client_shed_unread(x, UNREAD_BYTES, ago(g, STALLED_USEC)))
			return true;
	}
	return false;
}

static bool shed_one(struct gateway *g)
{
	return hold_shed(&g->hold) || shed_push(g) || shed_idle(g) || shed_stalled(g);
}

/* ---- when ---- */

/* The bytes wait in the origins' sockets then; sheds in the meantime need nothing from origins. */
static void hold_back(struct gateway *g, bool on)
{
	g->pressure.pauses_origins = on;
	upstream_pause_reading(&g->upstream, on);
}

static void begins(struct gateway *g)
{
	struct memory_pressure *p = &g->pressure;
	g->env.memory_is_short = true;
	if (g->relay.now < p->next_log)
		return;
	p->next_log = g->relay.now + SAY_AGAIN_USEC;
	observe_log(g->env.observe, OBSERVE_WARN,
	    "memory is short: %zu of %zu bytes are in use; what costs least goes",
	    g->env.budget.used_bytes, g->env.budget.limit_bytes);
}

/* So much memory is in use that something has to go. */
static void shed(struct worker_env *env)
{
	struct gateway *g = container_of(env, struct gateway, env);
	struct memory_pressure *p = &g->pressure;
	if (!env->memory_is_short)
		begins(g);
	if (!p->pauses_origins && budget_is_far_overdrawn(&env->budget))
		hold_back(g, true);
	for (unsigned left = SHED_AT_ONCE; left > 0; left--)
		if (!is_high(g) || !shed_one(g))
			return;
	p->has_more = true;
}

void memory_pressure_open(struct gateway *g)
{
	size_t sixteenth = g->env.budget.limit_bytes / 16;
	g->pressure = (struct memory_pressure){.low_bytes = sixteenth * LOW_SIXTEENTHS};
	g->env.memory_high_bytes = sixteenth * HIGH_SIXTEENTHS;
	g->env.shed = shed;
}

void memory_pressure_pass(struct gateway *g)
{
	struct memory_pressure *p = &g->pressure;
	const struct budget *b = &g->env.budget;
	p->leaving_bytes = 0;
	p->has_more = false;
	p->looks =
	    g->relay.live_count < LOOKS_AT_ONCE ? (unsigned)g->relay.live_count : LOOKS_AT_ONCE;
	g->env.observe->counters->memory_used = b->used_bytes;
	if (g->env.memory_is_short && b->used_bytes <= p->low_bytes)
		g->env.memory_is_short = g->relay.makes_no_pushes = false;
	if (p->pauses_origins && b->used_bytes <= b->limit_bytes)
		hold_back(g, false);
	worker_check_memory(&g->env);
}

usec memory_pressure_due(const struct gateway *g)
{
	const struct memory_pressure *p = &g->pressure;
	if (!g->env.memory_is_short)
		return USEC_NEVER;
	return p->has_more ? g->relay.now : g->relay.now + LOOK_AGAIN_USEC;
}
