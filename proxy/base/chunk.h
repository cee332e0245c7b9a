/* SPDX-License-Identifier: MIT */
/*
 * Chunks: the only counted references of the program. A chunk is usually LIMIT_CHUNK_BYTES of
 * octets that were read once and are passed on by reference; a piece is a run of octets inside a
 * chunk. A pool belongs to one worker (no locks) and keeps a bounded number of free chunks.
 */
#ifndef PUSHGATE_BASE_CHUNK_H
#define PUSHGATE_BASE_CHUNK_H

#include "proxy/base/slice.h"

struct chunk_pool;

struct chunk {
	struct chunk_pool *pool;
	struct chunk *next; /* while free */
	uint32_t refs;
	uint32_t capacity; /* octets in data */
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
/* Chunks out on loan now. */
size_t chunk_pool_out(const struct chunk_pool *pool);

/* One reference, yours. Never NULL. */
struct chunk *chunk_acquire(struct chunk_pool *pool);
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
