/* SPDX-License-Identifier: MIT */
/* Heap allocation that aborts on failure, for memory that peers cannot make grow (budget.h). */
#ifndef PUSHGATE_BASE_MEMORY_H
#define PUSHGATE_BASE_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

void *memory_zalloc(size_t bytes);                         /* zeroed */
void *memory_alloc(size_t bytes);                          /* not zeroed */
void *memory_resize(void *old, size_t count, size_t size); /* overflow-checked count × size */
char *memory_strdup(const char *string);
#define memory_new(type) ((type *)memory_zalloc(sizeof(type)))

#endif
