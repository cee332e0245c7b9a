/* SPDX-License-Identifier: MIT */
/*
 * An arena: allocations that die together. Blocks are chained and never move, so what was
 * returned stays where it is until arena_reset or arena_fini. Allocation failure aborts; what a
 * peer can make grow is bounded by the caller. What lies behind the newest piece is poisoned.
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
	size_t heap_bytes; /* taken from the heap by now */
};

/* `first` (first_bytes long, borrowed for the arena's life, may be NULL) is used before the heap.
 * */
void arena_init(struct arena *a, void *first, size_t first_bytes);
void arena_fini(struct arena *a);
/* Empties it; heap blocks are freed. */
void arena_reset(struct arena *a);

void *arena_alloc_slow(struct arena *a, size_t n, size_t align);

/* n bytes without alignment, for strings. */
static inline char *arena_bytes(struct arena *a, size_t n)
{
	if ((size_t)(a->end - a->at) < n)
		return arena_alloc_slow(a, n, 1);
	char *p = a->at;
	a->at += n;
	unpoison(p, n);
	return p;
}

/* Gives back what a piece of n bytes has beyond `keep`, if it is the newest. */
static inline void arena_shorten(struct arena *a, char *p, size_t n, size_t keep)
{
	if (a->at != p + n)
		return;
	a->at = p + keep;
	poison(a->at, n - keep);
}

/* n bytes aligned for any type. */
void *arena_alloc(struct arena *a, size_t n);

/* A copy of s in the arena. */
static inline struct slice arena_copy(struct arena *a, struct slice s)
{
	if (s.len == 0)
		return (struct slice){"", 0};
	char *p = arena_bytes(a, s.len);
	memcpy(p, s.ptr, s.len);
	return (struct slice){p, s.len};
}

/* printf into the arena; the result is NUL-terminated, its slice without the NUL. */
struct slice arena_printf(struct arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
