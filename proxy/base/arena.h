/* SPDX-License-Identifier: MIT */
/*
 * An arena: allocations that are freed together. Blocks are chained and never move, so pointers
 * stay valid until arena_reset or arena_fini. Allocation failure aborts; the caller bounds what a
 * peer can make grow. Memory behind the newest piece is poisoned.
 */
#ifndef PUSHGATE_BASE_ARENA_H
#define PUSHGATE_BASE_ARENA_H

#include "proxy/base/poison.h"
#include "proxy/base/slice.h"

struct arena_block;

struct arena {
	char *at, *end;            /* free part of the current block */
	struct arena_block *block; /* newest first; NULL while only the first block is in use */
	char *first;               /* borrows: the caller's own first block, or NULL */
	size_t first_bytes;
	size_t heap_bytes; /* allocated from the heap so far */
};

/*
 * `first` is a block of first_bytes to use before the heap; borrowed for the arena's life; may be
 * NULL.
 */
void arena_init(struct arena *a, void *first, size_t first_bytes);
void arena_fini(struct arena *a);
/* Empties the arena and frees its heap blocks. */
void arena_reset(struct arena *a);

void *arena_alloc_slow(struct arena *a, size_t n, size_t align);

/* Allocates n bytes without alignment, for strings. */
static inline char *arena_bytes(struct arena *a, size_t n)
{
	if ((size_t)(a->end - a->at) < n)
		return arena_alloc_slow(a, n, 1);
	char *p = a->at;
	a->at += n;
	unpoison(p, n);
	return p;
}

/* Shortens a piece of n bytes to `keep` bytes, if it is the newest piece. */
static inline void arena_shorten(struct arena *a, char *p, size_t n, size_t keep)
{
	if (a->at != p + n)
		return;
	a->at = p + keep;
	poison(a->at, n - keep);
}

/* Allocates n bytes, aligned for any type. */
void *arena_alloc(struct arena *a, size_t n);

/* Copies s into the arena. */
static inline struct slice arena_copy(struct arena *a, struct slice s)
{
	if (s.len == 0)
		return (struct slice){"", 0};
	char *p = arena_bytes(a, s.len);
	memcpy(p, s.ptr, s.len);
	return (struct slice){p, s.len};
}

/* Formats into the arena. The text is NUL-terminated; the slice does not include the NUL. */
struct slice arena_printf(struct arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
