/* SPDX-License-Identifier: MIT */
/*
 * The pool of chunks: chunks of one size, spare ones, and a count of those in use. It does not
 * clear chunks.
 */
#include "proxy/base/chunk.h"

#include "proxy/base/ensure.h"
#include "proxy/base/heap.h"
#include "proxy/base/memory.h"
#include "proxy/base/reserve.h"
#include "proxy/base/spares.h"

struct chunk_pool {
	struct spares spares;
	size_t out, refused;
	size_t fail_in; /* chunk_pool_fail_nth: chunks until the refused one, 0 = off */
};

struct chunk_pool *chunk_pool_new(uint32_t chunk_bytes, uint32_t keep)
{
	struct chunk_pool *pool = memory_new(struct chunk_pool);
	spares_init(&pool->spares, sizeof(struct chunk) + chunk_bytes, keep);
	return pool;
}

void chunk_pool_free(struct chunk_pool *pool)
{
	ensure(pool->out == 0);
	spares_free(&pool->spares);
	free(pool);
}

size_t chunk_pool_trim(struct chunk_pool *pool)
{
	return spares_trim(&pool->spares);
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

/* Returns a spare chunk or a new one; NULL if there is no memory. */
static struct chunk *spare_or_new(struct chunk_pool *pool)
{
	if (__builtin_expect(pool->fail_in > 0, 0) && --pool->fail_in == 0)
		return NULL;
	struct chunk *c = spares_take(&pool->spares);
	if (!c)
		c = heap_alloc(pool->spares.bytes);
	if (__builtin_expect(!c, 0))
		reserve_note_refusal();
	return c;
}

struct chunk *chunk_acquire(struct chunk_pool *pool)
{
	struct chunk *c = spare_or_new(pool);
	if (!c) {
		pool->refused++;
		return NULL;
	}
	c->pool = pool;
	c->refs = 1;
	c->capacity = (uint32_t)(pool->spares.bytes - sizeof(*c));
	pool->out++;
	return c;
}

void chunk_return(struct chunk *c)
{
	struct chunk_pool *pool = c->pool;
	ensure(c->refs == 0 && pool->out > 0);
	pool->out--;
	spares_keep_or_free(&pool->spares, c);
}
