/* SPDX-License-Identifier: MIT */
/*
 * Heap allocation that never returns failure: it ends the process, and the master starts another.
 */
#include "proxy/base/memory.h"

#include "proxy/base/ensure.h"

#include <stdint.h>
#include <string.h>

/* Up to this size glibc caches freed memory per thread, but calloc does not use that cache. */
#define CACHED_BYTES 1024u

void *memory_zalloc(size_t bytes)
{
	if (bytes > CACHED_BYTES) {
		void *fresh = calloc(1, bytes);
		ensure(fresh != NULL);
		return fresh;
	}
	return memset(memory_alloc(bytes), 0, bytes);
}

void *memory_alloc(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);
	ensure(p != NULL);
	return p;
}

void *memory_resize(void *old, size_t count, size_t size)
{
	ensure(size == 0 || count <= SIZE_MAX / size);
	void *p = realloc(old, count && size ? count * size : 1);
	ensure(p != NULL);
	return p;
}

char *memory_strdup(const char *string)
{
	size_t bytes = strlen(string) + 1;
	return memcpy(memory_alloc(bytes), string, bytes);
}
