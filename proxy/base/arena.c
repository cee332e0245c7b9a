/* SPDX-License-Identifier: MIT */
/*
 * The arena's slow path: allocates and frees blocks. Blocks grow with the bytes used so far, so
 * that a large head needs few blocks and a small head none.
 */
#include "proxy/base/arena.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>

#define BLOCK_MIN_BYTES 4096u
#define BLOCK_MAX_BYTES 65536u

struct arena_block {
	struct arena_block *older;
	alignas(max_align_t) char data[];
};

void arena_init(struct arena *a, void *first, size_t first_bytes)
{
	*a = (struct arena){.first = first, .first_bytes = first_bytes};
	arena_reset(a);
}

void arena_fini(struct arena *a)
{
	arena_reset(a);
	a->at = a->end = NULL;
	if (a->first)
		unpoison(a->first, a->first_bytes);
}

void arena_reset(struct arena *a)
{
	while (a->block) {
		struct arena_block *b = a->block;
		a->block = b->older;
		free(b);
	}
	a->heap_bytes = 0;
	a->at = a->end = a->first;
	if (!a->first)
		return;
	a->end += a->first_bytes;
	poison(a->first, a->first_bytes);
}

static struct arena_block *new_block(struct arena *a, size_t bytes)
{
	struct arena_block *b = memory_alloc(sizeof(*b) + bytes);
	a->heap_bytes += sizeof(*b) + bytes;
	return b;
}

/*
 * A large piece gets a block of its own behind the current block, so that the rest of the current
 * block stays usable.
 */
static void *alloc_alone(struct arena *a, size_t n)
{
	struct arena_block *b = new_block(a, n);
	struct arena_block **behind = a->block ? &a->block->older : &a->block;
	b->older = *behind;
	*behind = b;
	return b->data;
}

void *arena_alloc_slow(struct arena *a, size_t n, size_t align)
{
	ensure(n <= SIZE_MAX / 2 && align > 0 && align <= alignof(max_align_t));
	size_t room = (size_t)(a->end - a->at);
	size_t skip = (size_t)(-(uintptr_t)a->at & (align - 1));
	if (skip <= room && n <= room - skip && a->at) {
		char *p = a->at + skip;
		a->at = p + n;
		unpoison(p, n);
		return p;
	}
	size_t bytes = a->heap_bytes < BLOCK_MIN_BYTES   ? BLOCK_MIN_BYTES
		       : a->heap_bytes < BLOCK_MAX_BYTES ? a->heap_bytes
							 : BLOCK_MAX_BYTES;
	if (n > bytes / 4)
		return alloc_alone(a, n);
	struct arena_block *b = new_block(a, bytes);
	b->older = a->block;
	a->block = b;
	a->at = b->data + n;
	a->end = b->data + bytes;
	poison(a->at, bytes - n);
	return b->data;
}

void *arena_alloc(struct arena *a, size_t n)
{
	return arena_alloc_slow(a, n, alignof(max_align_t));
}

struct slice arena_printf(struct arena *a, const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	size_t room = (size_t)(a->end - a->at);
	char *p = a->at;
	unpoison(p, room);
	int length = vsnprintf(p, room, format, args);
	ensure(length >= 0);
	size_t n = (size_t)length;
	if (n < room) {
		a->at += n + 1;
		poison(a->at, room - n - 1);
	} else {
		poison(p, room);
		p = arena_bytes(a, n + 1);
		vsnprintf(p, n + 1, format, again);
	}
	va_end(again);
	va_end(args);
	return (struct slice){p, n};
}
