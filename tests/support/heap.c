/* SPDX-License-Identifier: MIT */
/* Stands in for proxy/base/heap.c in each test program: a heap that can be told to refuse. */
#include "tests/support/heap.h"

#include "proxy/base/heap.h"
#include <stdlib.h>

static size_t refuse_in, refuse_count;

void test_heap_refuse(size_t nth, size_t count)
{
	refuse_in = nth;
	refuse_count = count;
}

static int refuses(void)
{
	if (refuse_in == 0)
		return 0;
	if (refuse_in > 1) {
		refuse_in--;
		return 0;
	}
	if (refuse_count == 0) {
		refuse_in = 0;
		return 0;
	}
	refuse_count--;
	return 1;
}

void *heap_alloc(size_t bytes)
{
	return refuses() ? NULL : malloc(bytes);
}

void *heap_zalloc(size_t bytes)
{
	return refuses() ? NULL : calloc(1, bytes);
}

void *heap_resize(void *old, size_t bytes)
{
	return refuses() ? NULL : realloc(old, bytes);
}
