/* SPDX-License-Identifier: MIT */
/*
 * The system refuses memory before the worker's budget is used up: RLIMIT_AS is too low for `memory`, or the machine
 * promises no more than it has. From then on the budget is seven eighths of the bytes that were in use, and
 * memory_pressure.c sheds by that. The freed memory is for allocations that no budget counts. Once the system gives
 * memory again, as much as the reserve (base/reserve.h), the budget grows in steps to its configured size.
 */
#include "proxy/base/reserve.h"
#include "proxy/gateway/gateway_private.h"

/* A worker with less could not serve one client. */
#define LEAST_BYTES ((size_t)1 << 20)
#define GROW_USEC USEC_PER_SEC
#define LOG_INTERVAL_USEC (10 * USEC_PER_SEC)

/* Called from within an allocation: notes numbers alone. */
void memory_squeeze(void *context)
{
	struct gateway *g = context;
	struct budget *b = &g->env.budget;
	size_t bytes = b->used_bytes - b->used_bytes / 8;
	if (bytes < LEAST_BYTES)
		bytes = LEAST_BYTES;
	if (bytes < b->limit_bytes)
		b->limit_bytes = bytes;
	memory_pressure_set_marks(g);
	g->squeeze.refusals++;
	g->squeeze.is_on = true;
}

static void report(struct gateway *g)
{
	struct memory_squeeze *q = &g->squeeze;
	WORKER_COUNT(&g->env, memory_refusals, q->refusals);
	q->refusals = 0;
	q->grow_at = g->relay.now + GROW_USEC;
	if (g->relay.now < q->next_log)
		return;
	q->next_log = g->relay.now + LOG_INTERVAL_USEC;
	observe_log(g->env.observe, OBSERVE_WARN,
	    "the system refuses memory with %zu bytes in use: memory counts as %zu until it gives "
	    "more; allow the "
	    "process more (ulimit -v, LimitAS= of systemd) or set a lower memory",
	    g->env.budget.used_bytes, g->env.budget.limit_bytes);
}

static void grow(struct gateway *g)
{
	struct memory_squeeze *q = &g->squeeze;
	struct budget *b = &g->env.budget;
	size_t most = g->env.conf->server.memory_bytes, step = b->limit_bytes / 8 + LEAST_BYTES;
	q->grow_at = g->relay.now + GROW_USEC;
	if (!reserve_refill()) {
		(void)chunk_pool_trim(g->env.chunks);
		(void)chunk_pool_trim(g->small_chunks);
		return;
	}
	b->limit_bytes = step < most - b->limit_bytes ? b->limit_bytes + step : most;
	memory_pressure_set_marks(g);
	q->is_on = b->limit_bytes < most;
}

void memory_squeeze_pass(struct gateway *g)
{
	struct memory_squeeze *q = &g->squeeze;
	if (!q->is_on)
		return;
	if (q->refusals > 0)
		report(g);
	else if (g->relay.now >= q->grow_at)
		grow(g);
}
