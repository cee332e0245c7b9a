/* SPDX-License-Identifier: MIT */
/*
 * Heap allocation that never fails. What peers can make grow is charged to a budget first, which refuses in time
 * (budget.h). Where the system refuses all the same, the reserve helps until load was shed (reserve.h).
 */
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
