/* SPDX-License-Identifier: MIT */
/* Stores priorities that came before their requests. conn_frames.c bounds their rate. */
#include "proxy/h2/early.h"
#include "proxy/base/memory.h"

#include <string.h>

#define FIRST_CAPACITY 4u

void h2_early_fini(struct h2_early *e, struct budget *budget)
{
	budget_give(budget, e->capacity * sizeof(*e->entries));
	free(e->entries);
	*e = (struct h2_early){0};
}

/*
 * Makes room for an entry, if need be by dropping the oldest. False: the budget refuses the first
 * entries.
 */
static bool make_room(struct h2_early *e, struct budget *budget)
{
	if (e->count < e->capacity)
		return true;
	uint32_t capacity = e->capacity ? e->capacity * 2 : FIRST_CAPACITY;
	if (capacity <= H2_EARLY_KEPT &&
	    budget_take(budget, (capacity - e->capacity) * sizeof(*e->entries))) {
		e->entries = memory_resize(e->entries, capacity, sizeof(*e->entries));
		e->capacity = capacity;
		return true;
	}
	if (e->count == 0)
		return false;
	e->count--;
	memmove(e->entries, e->entries + 1, e->count * sizeof(*e->entries));
	return true;
}

void h2_early_put(
    struct h2_early *e, struct budget *budget, uint32_t id, struct http_priority priority)
{
	for (uint32_t i = 0; i < e->count; i++) {
		if (e->entries[i].id == id) {
			e->entries[i].priority = priority;
			return;
		}
	}
	if (make_room(e, budget))
		e->entries[e->count++] = (struct h2_early_entry){id, priority};
}

bool h2_early_find(const struct h2_early *e, uint32_t id, struct http_priority *priority)
{
	for (uint32_t i = 0; i < e->count; i++) {
		if (e->entries[i].id == id) {
			*priority = e->entries[i].priority;
			return true;
		}
	}
	return false;
}

void h2_early_forget(struct h2_early *e, uint32_t id)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < e->count; i++)
		if (e->entries[i].id > id)
			e->entries[kept++] = e->entries[i];
	e->count = kept;
}
