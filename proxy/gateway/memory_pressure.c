/* SPDX-License-Identifier: MIT */
/*
 * Sheds load when the worker's memory is short, in this order:
 *
 *   1. held responses that no request has claimed, oldest first;
 *   2. pushes: no new ones are made, and those that have not begun are ended, oldest first;
 *   3. idle client connections, longest idle first;
 *   4. exchanges that make no or almost no progress, and client connections that have left heads and
 *      promises unread for some time.
 *
 * Shedding starts at a high mark below the limit and stops at a low mark; each loop pass sheds a
 * bounded number of objects. Above the limit itself requests are refused with REFUSED_STREAM (the
 * client may retry them), and then connections. Bytes that fit into windows opened before may still
 * arrive: an eighth above the limit, reading from origins pauses until the worker is below the limit.
 * Meanwhile no origin is late (relay_pause_origins).
 */
#include "proxy/gateway/gateway_private.h"

/* The two marks, in sixteenths of the limit. */
#define HIGH_SIXTEENTHS 14u
#define LOW_SIXTEENTHS 13u

/* Bounds for one loop pass: objects shed for one read, and exchanges examined. */
#define SHED_AT_ONCE 64u
#define CHECKS_AT_ONCE 256u

/* A connection that is idle for a shorter time may be about to send a request. */
#define IDLE_LEAST_USEC USEC_PER_SEC
#define STALLED_USEC (2 * USEC_PER_SEC)
/* The peer reads so slowly that the queued bytes would need longer than this: treat the exchange as
 * stalled. */
#define TAKEN_WITHIN_USEC (10 * USEC_PER_SEC)
/* A client that leaves this much of heads and promises unread loses its connection: ending a single
 * exchange would not free them. */
#define UNREAD_BYTES 65536u
/* While memory is short the worker checks this often whether further connections have become idle or
 * exchanges stalled. */
#define RECHECK_USEC (250 * USEC_PER_MSEC)
#define LOG_INTERVAL_USEC (10 * USEC_PER_SEC)

/* Whether memory would be above the low mark even after all ended objects are freed. */
static bool is_high(const struct gateway *g)
{
	const struct memory_pressure *p = &g->pressure;
	return g->env.budget.used_bytes >
	       p->low_bytes + p->leaving_bytes + g->clients.closing_bytes;
}

/* ---- the objects that are shed ---- */

static void end_exchange(struct gateway *g, struct exchange *x, const struct relay_cause *cause)
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
	end_exchange(g, x, &relay_cause_SHED);
	return true;
}

/* The time `span` ago; 0, which is before all others, if the worker is younger than that. */
static usec ago(const struct gateway *g, usec span)
{
	return g->relay.now > span ? g->relay.now - span : 0;
}

static bool is_too_slow(const struct gateway *g, const struct flow *f)
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
	return (is_too_slow(g, &x->download) && client_is_stuck(x, since)) ||
	       (is_too_slow(g, &x->upload) && origin_is_stuck(x, since));
}

/* Examines a bounded number of exchanges; each is moved to the end of the list, so that the next
 * loop pass goes on with others. */
static bool shed_stalled(struct gateway *g)
{
	struct list *live = &g->relay.live;
	while (g->pressure.checks_left > 0 && !list_is_empty(live)) {
		struct exchange *x = list_first(live, struct exchange, link);
		g->pressure.checks_left--;
		list_remove(&x->link);
		list_append(live, &x->link);
		if (is_stalled(g, x)) {
			end_exchange(g, x, &relay_cause_MEMORY_STALLED);
			return true;
		}
		if (client_shed_unread(x, UNREAD_BYTES, ago(g, STALLED_USEC)))
			return true;
	}
	return false;
}

static bool shed_one(struct gateway *g)
{
	return hold_shed(&g->hold) || shed_push(g) ||
	       clients_shed_idle(&g->clients, ago(g, IDLE_LEAST_USEC)) || shed_stalled(g);
}

/* ---- when to shed ---- */

/* Unread bytes stay in the kernel; nothing that is shed meanwhile needs bytes from origins. */
static void pause_origins(struct gateway *g, bool is_paused)
{
	g->pressure.pauses_origins = is_paused;
	origins_pause_reading(&g->upstream.origins, is_paused);
}

static void enter_shortage(struct gateway *g)
{
	struct memory_pressure *p = &g->pressure;
	g->env.memory_is_short = true;
	if (g->relay.now < p->next_log)
		return;
	p->next_log = g->relay.now + LOG_INTERVAL_USEC;
	observe_log(g->env.observe, OBSERVE_WARN,
	    "memory is short: %zu of %zu bytes are in use; shedding what costs least",
	    g->env.budget.used_bytes, g->env.budget.limit_bytes);
}

/* env->shed: called after each read while memory is short. */
static void shed(struct worker_env *env)
{
	struct gateway *g = container_of(env, struct gateway, env);
	struct memory_pressure *p = &g->pressure;
	if (!env->memory_is_short)
		enter_shortage(g);
	net_note(env->loop, "ended work because memory is short");
	if (!p->pauses_origins && budget_is_far_overdrawn(&env->budget))
		pause_origins(g, true);
	for (unsigned left = SHED_AT_ONCE; left > 0; left--)
		if (!is_high(g) || !shed_one(g))
			return;
	p->has_more = true;
}

void memory_pressure_set_marks(struct gateway *g)
{
	size_t sixteenth = g->env.budget.limit_bytes / 16;
	g->pressure.low_bytes = sixteenth * LOW_SIXTEENTHS;
	g->env.memory_high_bytes = sixteenth * HIGH_SIXTEENTHS;
}

void memory_pressure_open(struct gateway *g)
{
	memory_pressure_set_marks(g);
	g->env.shed = shed;
}

void memory_pressure_pass(struct gateway *g)
{
	struct memory_pressure *p = &g->pressure;
	const struct budget *b = &g->env.budget;
	p->leaving_bytes = 0;
	p->has_more = false;
	p->checks_left =
	    g->relay.live_count < CHECKS_AT_ONCE ? (unsigned)g->relay.live_count : CHECKS_AT_ONCE;
	g->env.observe->counters->memory_used_bytes = b->used_bytes;
	if (g->env.memory_is_short && b->used_bytes <= p->low_bytes)
		g->env.memory_is_short = g->relay.makes_no_pushes = false;
	if (p->pauses_origins && b->used_bytes <= b->limit_bytes)
		pause_origins(g, false);
	worker_check_memory(&g->env);
}

usec memory_pressure_due(const struct gateway *g)
{
	const struct memory_pressure *p = &g->pressure;
	if (!g->env.memory_is_short && !g->squeeze.is_on)
		return USEC_NEVER;
	return p->has_more ? g->relay.now : g->relay.now + RECHECK_USEC;
}
