/* SPDX-License-Identifier: MIT */
/* A heap that refuses (proxy/base/heap.h). */
#ifndef PUSHGATE_TESTS_HEAP_H
#define PUSHGATE_TESTS_HEAP_H

#include <stddef.h>

/* Refuses the n-th allocation from now on (1 = the next), and those behind it: `count` in all. 0: none. */
void test_heap_refuse(size_t nth, size_t count);

#endif
