/* SPDX-License-Identifier: MIT */
/* See heap.h. */
#include "proxy/base/heap.h"

#include <stdlib.h>

inline void *heap_alloc(size_t bytes)
{
	return malloc(bytes);
}

inline void *heap_zalloc(size_t bytes)
{
	return calloc(1, bytes);
}

inline void *heap_resize(void *old, size_t bytes)
{
	return realloc(old, bytes);
}
