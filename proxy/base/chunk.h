/* SPDX-License-Identifier: MIT */
/*
 * Chunks: the only reference-counted objects of the program. A chunk is a buffer, usually of
 * LIMIT_CHUNK_BYTES, whose bytes are read once and passed on by reference. A piece is a run of
 * bytes inside a chunk. A pool belongs to one worker (no locks) and keeps a bounded number of free
 * chunks.
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

/* keep: how many free chunks the pool keeps at most. */
struct chunk_pool *chunk_pool_new(uint32_t chunk_bytes, uint32_t keep);
/* Ensures that no chunk is in use. */
void chunk_pool_free(struct chunk_pool *pool);
/* Frees the spare chunks that were not needed since the last call. Returns their bytes. */
size_t chunk_pool_trim(struct chunk_pool *pool);
/* Number of chunks in use now. */
size_t chunk_pool_out(const struct chunk_pool *pool);

/*
 * Returns a chunk with one reference, owned by the caller; NULL if there is no memory. Chunks are
 * most of a worker's memory, so a shortage shows here first, where it is still harmless: the caller
 * reads later, reuses the chunk that it has, or ends one connection.
 */
struct chunk *chunk_acquire(struct chunk_pool *pool);
/* For tests: refuses the n-th chunk (1 = the next); 0 = off. */
void chunk_pool_fail_nth(struct chunk_pool *pool, size_t n);
/* Number of chunks refused because there was no memory, or by chunk_pool_fail_nth. */
size_t chunk_pool_refused(const struct chunk_pool *pool);
void chunk_return(struct chunk *c); /* called by chunk_release for the last reference */

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
