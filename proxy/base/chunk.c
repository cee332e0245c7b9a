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
	size_t out, refused;
	size_t fail_in; /* chunk_pool_fail_nth: chunks until the refused one, 0 = off */
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

void chunk_pool_fail_nth(struct chunk_pool *pool, size_t n)
{
	pool->fail_in = n;
}

size_t chunk_pool_refused(const struct chunk_pool *pool)
{
	return pool->refused;
}

/* A spare one or a new one; NULL when there is none. */
static struct chunk *find(struct chunk_pool *pool)
{
	if (__builtin_expect(pool->fail_in > 0, 0) && --pool->fail_in == 0)
		return NULL;
	struct chunk *c = pool->spare;
	if (c) {
		pool->spare = c->next;
		pool->spare_count--;
		return c;
	}
	c = malloc(sizeof(*c) + pool->chunk_bytes);
	if (!c)
		return NULL;
	c->pool = pool;
	c->capacity = pool->chunk_bytes;
	return c;
}

struct chunk *chunk_acquire(struct chunk_pool *pool)
{
	struct chunk *c = find(pool);
	if (!c) {
		pool->refused++;
		return NULL;
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
