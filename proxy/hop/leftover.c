/* SPDX-License-Identifier: MIT */
/*
 * What a peak leaves behind goes back to the system: the spares that nobody has needed since, and
 * the pages that malloc keeps between what is still in use. So what a worker holds follows what it
 * uses, and an attack that is over costs nothing any more. Walking through the heap takes a
 * moment (40 ms for 400 MB in a hundred thousand holes): it is done some time after the peak, and
 * when what there is to win is worth it beside what stays in use.
 */
#include "proxy/hop/private.h"
#include <malloc.h>

#define WORTHWHILE_BYTES ((size_t)4 << 20)
/* Another peak that comes sooner finds everything in place. */
#define REST_USEC (10 * USEC_PER_SEC)
/* At the heap's end: for what comes next. */
#define PAD_BYTES ((size_t)1 << 20)

static bool is_worthwhile(const struct hop *h)
{
	const struct budget *b = &h->budget;
	size_t behind = h->leftover.freed_bytes + b->peak_bytes - b->used_bytes;
	return behind >= WORTHWHILE_BYTES && behind >= b->used_bytes / 2;
}

static void free_spares(struct hop *h)
{
	h->leftover.freed_bytes += chunk_pool_trim(h->env.chunks) + chunk_pool_trim(h->small) +
				   http_head_pool_trim(h->heads);
}

static void look(struct wheel_node *timer, usec now)
{
	struct hop *h = container_of(timer, struct hop, leftover.timer);
	(void)now;
	free_spares(h);
	if (!is_worthwhile(h))
		return;
	malloc_trim(PAD_BYTES);
	h->leftover.freed_bytes = 0;
	budget_forget_peak(&h->budget);
	HOP_COUNT(h, memory_trims, 1);
}

void leftover_pass(struct hop *h)
{
	if (h->leftover.timer.deadline != USEC_NEVER || !is_worthwhile(h))
		return;
	/* Those that are kept from now on are counted from now on. */
	free_spares(h);
	wheel_set(&h->relay.wheel, &h->leftover.timer, h->relay.now + REST_USEC);
}

void leftover_init(struct hop *h)
{
	wheel_node_init(&h->leftover.timer, look);
}

void leftover_fini(struct hop *h)
{
	wheel_forget(&h->relay.wheel, &h->leftover.timer);
}
