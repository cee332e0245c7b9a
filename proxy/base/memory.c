/* SPDX-License-Identifier: MIT */
/*
 * Heap allocation that never returns failure. When the system refuses, the reserve is given up for it; when that is
 * used up, the process ends, and the master starts another.
 */
#include "proxy/base/memory.h"

#include "proxy/base/ensure.h"
#include "proxy/base/heap.h"
#include "proxy/base/rare.h"
#include "proxy/base/reserve.h"

#include <stdint.h>
#include <string.h>

/* Up to this size glibc caches freed memory per thread, but calloc does not use that cache. */
#define CACHED_BYTES 1024u

/* The system has refused: it is asked again with the reserve given back, and not a third time. */
static RARE void make_way(void)
{
	if (!reserve_give_way())
		reserve_is_used_up();
}

void *memory_zalloc(size_t bytes)
{
	void *p;
	if (bytes <= CACHED_BYTES)
		return memset(memory_alloc(bytes), 0, bytes);
	while (__builtin_expect(!(p = heap_zalloc(bytes)), 0))
		make_way();
	return p;
}

void *memory_alloc(size_t bytes)
{
	void *p;
	while (__builtin_expect(!(p = heap_alloc(bytes ? bytes : 1)), 0))
		make_way();
	return p;
}

void *memory_resize(void *old, size_t count, size_t size)
{
	ensure(size == 0 || count <= SIZE_MAX / size);
	size_t bytes = count && size ? count * size : 1;
	void *p;
	while (__builtin_expect(!(p = heap_resize(old, bytes)), 0))
		make_way();
	return p;
}

char *memory_strdup(const char *string)
{
	size_t bytes = strlen(string) + 1;
	return memcpy(memory_alloc(bytes), string, bytes);
}
