/* SPDX-License-Identifier: MIT */
/*
 * Counts the memory that peers can make grow. A budget allocates nothing; it only allows or
 * refuses. A take is checked at all levels before it is recorded at any, so the levels always
 * agree.
 */
#include "proxy/base/budget.h"

#include "proxy/base/ensure.h"

#include <stdint.h>

void budget_init(struct budget *b, struct budget *parent, size_t limit_bytes)
{
	*b = (struct budget){.parent = parent, .limit_bytes = limit_bytes};
}

void budget_fini(struct budget *b)
{
	ensure(b->used_bytes == 0);
}

static bool fits(struct budget *b, size_t n)
{
	if (__builtin_expect(b->fail_in > 0, 0) && --b->fail_in == 0)
		return false;
	return b->used_bytes <= b->limit_bytes && n <= b->limit_bytes - b->used_bytes;
}

static void record(struct budget *b, size_t n)
{
	b->used_bytes += n;
	if (b->used_bytes > b->peak_bytes)
		b->peak_bytes = b->used_bytes;
}

bool budget_take(struct budget *b, size_t n)
{
	for (struct budget *level = b; level; level = level->parent) {
		if (!fits(level, n)) {
			level->refused++;
			return false;
		}
	}
	for (; b; b = b->parent)
		record(b, n); /* cannot overflow, since fits() checked it */
	return true;
}

void budget_force(struct budget *b, size_t n)
{
	for (; b; b = b->parent) {
		ensure(n <= SIZE_MAX - b->used_bytes);
		record(b, n);
	}
}

void budget_give(struct budget *b, size_t n)
{
	for (; b; b = b->parent) {
		ensure(n <= b->used_bytes);
		b->used_bytes -= n;
	}
}

void budget_set_parent(struct budget *b, struct budget *parent)
{
	budget_give(b->parent, b->used_bytes);
	budget_force(parent, b->used_bytes);
	b->parent = parent;
}

size_t budget_room(const struct budget *b)
{
	size_t room = SIZE_MAX;
	for (; b; b = b->parent) {
		size_t here = b->used_bytes < b->limit_bytes ? b->limit_bytes - b->used_bytes : 0;
		if (here < room)
			room = here;
	}
	return room;
}

void budget_fail_nth(struct budget *b, size_t n)
{
	b->fail_in = (uint32_t)n;
}
