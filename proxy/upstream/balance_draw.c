/* SPDX-License-Identifier: MIT */
/*
 * least: of two members drawn by weight the one with less to do. Two draws are nearly as good as a look at all, and
 * many workers that do not know of each other do not all run to the same idle member.
 */
#include "proxy/base/memory.h"
#include "proxy/upstream/balance_parts.h"

/* Draws until one was not tried, or is another than the first. */
#define DRAWS 4u

void balance_make_sums(struct balance_tier *t, const uint32_t *weights)
{
	uint64_t sum = 0;

	t->sums = memory_alloc(t->count * sizeof *t->sums);
	for (uint32_t i = 0; i < t->count; i++)
		t->sums[i] = sum += weights[i];
}

/* By weight: the first member with a sum above the drawn number. */
static uint32_t draw_index(struct balance *b, const struct balance_tier *t)
{
	uint64_t r = balance_random(b) >> 32;
	uint32_t low = 0, high = t->count - 1;

	if (t->is_even)
		return (uint32_t)((r * t->count) >> 32);
	r = (r * t->sums[high]) >> 32;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (t->sums[middle] > r)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* One by weight that is not `other` and was not tried; NULL: chance did not find one. */
static struct balance_member *draw(struct balance *b, const struct balance_tier *t,
    const struct balance_question *q, const struct balance_member *other)
{
	for (uint32_t i = 0; i < DRAWS; i++) {
		struct balance_member *m = t->members[draw_index(b, t)];
		if (m != other && !balance_was_tried(q, m))
			return m;
	}
	return NULL;
}

/* The same without chance: when few are left, or one has nearly all of the weight, drawing need not find a second
 * one, and the first would get its request however much it has to do. */
static struct balance_member *next_in_order(struct balance *b, const struct balance_tier *t,
    const struct balance_question *q, const struct balance_member *other)
{
	uint32_t at = (uint32_t)(((balance_random(b) >> 32) * t->count) >> 32);
	/* Of so many in a row one is neither. */
	for (uint32_t i = 0; i < q->tried_count + 2; i++) {
		struct balance_member *m = t->members[(at + i) % t->count];
		if (m != other && !balance_was_tried(q, m))
			return m;
	}
	return NULL;
}

struct balance_member *balance_draw(
    struct balance *b, struct balance_tier *t, const struct balance_question *q)
{
	struct balance_member *first = draw(b, t, q, NULL);

	if (!first)
		return balance_least_of_all(t, q);
	struct balance_member *second = draw(b, t, q, first);
	if (!second)
		second = next_in_order(b, t, q, first);
	/* While both are idle the draw alone decides: then a small weight gets its share too. */
	if (!second || (first->outstanding == 0 && second->outstanding == 0))
		return first;
	return (uint64_t)(second->outstanding + 1) * first->weight <
		       (uint64_t)(first->outstanding + 1) * second->weight
		   ? second
		   : first;
}
