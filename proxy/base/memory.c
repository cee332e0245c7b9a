/* SPDX-License-Identifier: MIT */
/*
 * Heap allocation that never returns failure. When the system refuses, the reserve is given up for it; when that is
 * used up, the process ends, and the master starts another.
 */
#include "proxy/base/memory.h"

#include "proxy/base/ensure.h"
#include "proxy/base/heap.h"
#include "proxy/base/reserve.h"

#include <stdint.h>
#include <string.h>

/* Up to this size glibc caches freed memory per thread, but calloc does not use that cache. */
#define CACHED_BYTES 1024u

#define RARE __attribute__((cold, noinline))

RARE static void *zalloc_again(size_t bytes)
{
	void *p = reserve_give_way() ? heap_zalloc(bytes) : NULL;
	if (!p)
		reserve_is_used_up();
	return p;
}

RARE static void *alloc_again(size_t bytes)
{
	void *p = reserve_give_way() ? heap_alloc(bytes) : NULL;
	if (!p)
		reserve_is_used_up();
	return p;
}

RARE static void *resize_again(void *old, size_t bytes)
{
	void *p = reserve_give_way() ? heap_resize(old, bytes) : NULL;
	if (!p)
		reserve_is_used_up();
	return p;
}

void *memory_zalloc(size_t bytes)
{
	if (bytes > CACHED_BYTES) {
		void *fresh = heap_zalloc(bytes);
		return __builtin_expect(!!fresh, 1) ? fresh : zalloc_again(bytes);
	}
	return memset(memory_alloc(bytes), 0, bytes);
}

void *memory_alloc(size_t bytes)
{
	void *p = heap_alloc(bytes ? bytes : 1);
	return __builtin_expect(!!p, 1) ? p : alloc_again(bytes ? bytes : 1);
}

void *memory_resize(void *old, size_t count, size_t size)
{
	ensure(size == 0 || count <= SIZE_MAX / size);
	size_t bytes = count && size ? count * size : 1;
	void *p = heap_resize(old, bytes);
	return __builtin_expect(!!p, 1) ? p : resize_again(old, bytes);
}

char *memory_strdup(const char *string)
{
	size_t bytes = strlen(string) + 1;
	return memcpy(memory_alloc(bytes), string, bytes);
}
