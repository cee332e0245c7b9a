/* SPDX-License-Identifier: MIT */
/*
 * Chunks: the only counted references of the program. A chunk is usually LIMIT_CHUNK_BYTES of
 * bytes that were read once and are passed on by reference; a piece is a run of bytes inside a
 * chunk. A pool belongs to one worker (no locks) and keeps a bounded number of free chunks.
 */
#ifndef PUSHGATE_BASE_CHUNK_H
#define PUSHGATE_BASE_CHUNK_H

#include "proxy/base/slice.h"

struct chunk_pool;

struct chunk {
	struct chunk_pool *pool;
	uint32_t refs;
	uint32_t capacity; /* bytes in data */
	uint8_t data[];
};

struct piece {
	struct chunk *chunk;
	uint32_t offset, length;
};

/* keep: how many free chunks the pool holds on to. */
struct chunk_pool *chunk_pool_new(uint32_t chunk_bytes, uint32_t keep);
/* Ensures that no chunk is out. */
void chunk_pool_free(struct chunk_pool *pool);
/* Frees the chunks that it has kept and nobody needed since the last time. Returns their bytes. */
size_t chunk_pool_trim(struct chunk_pool *pool);
/* Chunks out on loan now. */
size_t chunk_pool_out(const struct chunk_pool *pool);

/*
 * One reference, yours. NULL when there is no memory for another one: chunks are most of what a
 * worker holds, so this is where a shortage shows first, and where it is still harmless. Whoever
 * asks reads later, keeps the chunk that it has, or gives up the one connection.
 */
struct chunk *chunk_acquire(struct chunk_pool *pool);
/* Tests: refuse the n-th chunk from now on (1 = the next), 0 = off. */
void chunk_pool_fail_nth(struct chunk_pool *pool, size_t n);
/* Chunks refused, for want of memory or by chunk_pool_fail_nth. */
size_t chunk_pool_refused(const struct chunk_pool *pool);
void chunk_return(struct chunk *c); /* the last reference went: chunk_release calls it */

static inline struct chunk *chunk_hold(struct chunk *c)
{
	c->refs++;
	return c;
}

static inline void chunk_release(struct chunk *c)
{
	if (--c->refs == 0)
		chunk_return(c);
}

static inline bool chunk_is_shared(const struct chunk *c)
{
	return c->refs > 1;
}

static inline struct slice piece_slice(struct piece p)
{
	return slice_of(p.chunk->data + p.offset, p.length);
}

#endif
