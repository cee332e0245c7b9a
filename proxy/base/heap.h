/* SPDX-License-Identifier: MIT */
/* The C library's heap. A test has another one in its place, which refuses (tests/support/heap.c). */
#ifndef PUSHGATE_BASE_HEAP_H
#define PUSHGATE_BASE_HEAP_H

#include <stddef.h>

/* As malloc(3), calloc(3) and realloc(3): NULL when there is no memory. */
void *heap_alloc(size_t bytes);
void *heap_zalloc(size_t bytes);
void *heap_resize(void *old, size_t bytes);

#endif
