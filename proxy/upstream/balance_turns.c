/* SPDX-License-Identifier: MIT */
/*
 * round-robin. With the same weight for all, one after another. Otherwise each member has its turns at even
 * distances of a virtual time, a weight's worth in each unit of it, and a heap has the nearest turn.
 * No two begin at the same point, so that the turns of heavy and light members are spread among each other.
 */
#include "proxy/base/memory.h"
#include "proxy/upstream/balance_parts.h"

/* A step of the least weight, a tenth of 1, is still a number of 32 bits. */
#define UNIT (UINT64_C(1) << 35)
/* The share of the golden section: its multiples lie as far from each other as they can, however many. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static bool is_before(const struct balance_turn *a, const struct balance_turn *b)
{
	return (int64_t)(a->at - b->at) < 0;
}

/* The turn at `i` may be too late for its place: moves it down. */
static void sink(struct balance_turn *turns, uint32_t count, uint32_t i)
{
	struct balance_turn turn = turns[i];

	for (uint32_t child = 2 * i + 1; child < count; child = 2 * i + 1) {
		if (child + 1 < count && is_before(&turns[child + 1], &turns[child]))
			child++;
		if (!is_before(&turns[child], &turn))
			break;
		turns[i] = turns[child];
		i = child;
	}
	turns[i] = turn;
}

static void rise(struct balance_turn *turns, uint32_t i)
{
	struct balance_turn turn = turns[i];

	for (; i > 0 && is_before(&turn, &turns[(i - 1) / 2]); i = (i - 1) / 2)
		turns[i] = turns[(i - 1) / 2];
	turns[i] = turn;
}

static void make_heap(struct balance_tier *t)
{
	for (uint32_t i = t->count / 2; i-- > 0;)
		sink(t->turns, t->count, i);
}

void balance_make_turns(struct balance *b, struct balance_tier *t, const uint32_t *weights)
{
	uint64_t phase = balance_random(b);

	t->turns = memory_alloc(t->count * sizeof *t->turns);
	for (uint32_t i = 0; i < t->count; i++, phase += GOLDEN) {
		uint32_t step = (uint32_t)(UNIT / weights[i]);
		t->turns[i] = (struct balance_turn){(phase >> 32) * step >> 32, step, (uint16_t)i};
	}
	make_heap(t);
}

static struct balance_member *next_of_even(struct balance_tier *t, const struct balance_question *q)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct balance_member *m = t->members[t->cursor++ % t->count];
		if (!balance_was_tried(q, m))
			return m;
	}
	return NULL;
}

/* Takes the next turn of the first `count`; behind them are those that were set aside. */
static struct balance_member *take_turn(struct balance_tier *t, uint32_t count)
{
	struct balance_member *chosen = t->members[t->turns[0].index];
	uint64_t at = t->turns[0].at;

	t->turns[0].at += t->turns[0].step;
	sink(t->turns, count, 0);
	/* Their turn comes next, and not once for each turn that they missed meanwhile. */
	for (; count < t->count; count++) {
		t->turns[count].at = at;
		rise(t->turns, count);
	}
	return chosen;
}

struct balance_member *balance_turn(struct balance_tier *t, const struct balance_question *q)
{
	uint32_t count = t->count;

	if (t->is_even)
		return next_of_even(t, q);
	while (balance_was_tried(q, t->members[t->turns[0].index])) {
		struct balance_turn tried = t->turns[0];
		t->turns[0] = t->turns[--count];
		t->turns[count] = tried;
		if (count == 0) {
			make_heap(t);
			return NULL;
		}
		sink(t->turns, count, 0);
	}
	return take_turn(t, count);
}
