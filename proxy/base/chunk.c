/* SPDX-License-Identifier: MIT */
/*
 * The pool of chunks: one size, a stack of free ones, and a count of those on loan. It knows
 * nothing of what is in them and does not clear them.
 */
#include "proxy/base/chunk.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

struct chunk_pool {
	struct chunk *spare;
	size_t out;
	uint32_t chunk_bytes, spare_count, keep;
};

struct chunk_pool *chunk_pool_new(uint32_t chunk_bytes, uint32_t keep)
{
	struct chunk_pool *pool = memory_new(struct chunk_pool);
	pool->chunk_bytes = chunk_bytes;
	pool->keep = keep;
	return pool;
}

void chunk_pool_free(struct chunk_pool *pool)
{
	ensure(pool->out == 0);
	while (pool->spare) {
		struct chunk *c = pool->spare;
		pool->spare = c->next;
		free(c);
	}
	free(pool);
}

size_t chunk_pool_out(const struct chunk_pool *pool)
{
	return pool->out;
}

struct chunk *chunk_acquire(struct chunk_pool *pool)
{
	struct chunk *c = pool->spare;
	if (c) {
		pool->spare = c->next;
		pool->spare_count--;
	} else {
		c = memory_alloc(sizeof(*c) + pool->chunk_bytes);
		c->pool = pool;
		c->capacity = pool->chunk_bytes;
	}
	c->next = NULL;
	c->refs = 1;
	pool->out++;
	return c;
}

void chunk_return(struct chunk *c)
{
	struct chunk_pool *pool = c->pool;
	ensure(c->refs == 0 && pool->out > 0);
	pool->out--;
	if (pool->spare_count >= pool->keep) {
		free(c);
		return;
	}
	c->next = pool->spare;
	pool->spare = c;
	pool->spare_count++;
}
