/* SPDX-License-Identifier: MIT */
/*
 * Returns memory to the system after a peak: spares that were not used since, and free pages that
 * malloc keeps. So the memory of a worker goes down again after an attack. malloc_trim walks the
 * whole heap (40 ms for 400 MB in a hundred thousand holes): it runs some time after the peak, and
 * only if it can free much in comparison with the memory in use.
 */
#include "proxy/gateway/private.h"
#include <malloc.h>

#define WORTHWHILE_BYTES ((size_t)4 << 20)
/* The delay after a peak: if another one comes sooner, the memory is still there. */
#define TRIM_DELAY_USEC (10 * USEC_PER_SEC)
/* Free memory that malloc_trim leaves at the end of the heap, for the next allocations. */
#define PAD_BYTES ((size_t)1 << 20)

static bool is_worthwhile(const struct gateway *g)
{
	const struct budget *b = &g->env.budget;
	size_t unused = g->trim.freed_bytes + b->peak_bytes - b->used_bytes;
	return unused >= WORTHWHILE_BYTES && unused >= b->used_bytes / 2;
}

static void free_spares(struct gateway *g)
{
	g->trim.freed_bytes += chunk_pool_trim(g->env.chunks) + chunk_pool_trim(g->small_chunks) +
			       http_head_pool_trim(g->env.heads);
}

static void trim(struct wheel_node *timer, usec now)
{
	struct gateway *g = container_of(timer, struct gateway, trim.timer);
	(void)now;
	free_spares(g);
	if (!is_worthwhile(g))
		return;
	net_note(g->env.loop, "returned memory to the system");
	malloc_trim(PAD_BYTES);
	g->trim.freed_bytes = 0;
	budget_forget_peak(&g->env.budget);
	WORKER_COUNT(&g->env, memory_trims, 1);
}

void memory_trim_pass(struct gateway *g)
{
	if (g->trim.timer.deadline != USEC_NEVER || !is_worthwhile(g))
		return;
	/* Frees the spares of the peak now; `trim` then frees those that were not used in between. */
	free_spares(g);
	wheel_set(&g->relay.wheel, &g->trim.timer, g->relay.now + TRIM_DELAY_USEC);
}

void memory_trim_open(struct gateway *g)
{
	wheel_node_init(&g->trim.timer, trim);
}

void memory_trim_close(struct gateway *g)
{
	wheel_forget(&g->relay.wheel, &g->trim.timer);
}
