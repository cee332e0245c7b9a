/* SPDX-License-Identifier: MIT */
/*
 * Memory that a peak needed goes back to the system: the spares that nothing has used since, and the
 * pages that malloc keeps between blocks in use. So what a worker holds follows what it uses, and an
 * attack that is over costs nothing any more. The walk through the heap takes a moment (40 ms for
 * 400 MB in a hundred thousand holes): it is done some time after the peak, and only when it can win
 * much beside what stays in use.
 */
#include "proxy/gateway/private.h"
#include <malloc.h>

#define WORTHWHILE_BYTES ((size_t)4 << 20)
/* Another peak that comes sooner finds everything in place. */
#define REST_USEC (10 * USEC_PER_SEC)
/* At the heap's end: for what comes next. */
#define PAD_BYTES ((size_t)1 << 20)

static bool is_worthwhile(const struct gateway *g)
{
	const struct budget *b = &g->env.budget;
	size_t behind = g->trim.freed_bytes + b->peak_bytes - b->used_bytes;
	return behind >= WORTHWHILE_BYTES && behind >= b->used_bytes / 2;
}

static void free_spares(struct gateway *g)
{
	g->trim.freed_bytes += chunk_pool_trim(g->env.chunks) + chunk_pool_trim(g->small_chunks) +
			       http_head_pool_trim(g->env.heads);
}

static void look(struct wheel_node *timer, usec now)
{
	struct gateway *g = container_of(timer, struct gateway, trim.timer);
	(void)now;
	free_spares(g);
	if (!is_worthwhile(g))
		return;
	malloc_trim(PAD_BYTES);
	g->trim.freed_bytes = 0;
	budget_forget_peak(&g->env.budget);
	WORKER_COUNT(&g->env, memory_trims, 1);
}

void memory_trim_pass(struct gateway *g)
{
	if (g->trim.timer.deadline != USEC_NEVER || !is_worthwhile(g))
		return;
	/* Those that are kept from now on are counted from now on. */
	free_spares(g);
	wheel_set(&g->relay.wheel, &g->trim.timer, g->relay.now + REST_USEC);
}

void memory_trim_open(struct gateway *g)
{
	wheel_node_init(&g->trim.timer, look);
}

void memory_trim_close(struct gateway *g)
{
	wheel_forget(&g->relay.wheel, &g->trim.timer);
}
