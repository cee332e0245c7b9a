/* SPDX-License-Identifier: MIT */
/*
 * least: of two members drawn by weight the one with less to do. Two draws are nearly as good as a look at all, and
 * many workers that do not know of each other do not all run to the same idle member.
 */
#include "proxy/base/memory.h"
#include "proxy/upstream/balance_parts.h"

/* Draws until one was not tried, or is another than the first. */
#define DRAWS 4u

/* Alias method (Walker, Vose): each column has a member that counts less than the average, and fills up with one
 * that counts more. */
void balance_make_columns(struct balance_tier *t, const uint32_t *weights)
{
	uint32_t n = t->count, less = 0, more = n;
	uint64_t total = 0;
	uint64_t *left = memory_alloc(n * sizeof *left);
	uint16_t *order = memory_alloc(n * sizeof *order);

	for (uint32_t i = 0; i < n; i++)
		total += weights[i];
	/* Those below the average grow from the front of `order`, the others from its end. */
	for (uint32_t i = 0; i < n; i++) {
		left[i] = (uint64_t)weights[i] * n;
		order[left[i] < total ? less++ : --more] = (uint16_t)i;
	}
	t->columns = memory_alloc(n * sizeof *t->columns);
	for (uint32_t at = 0; at < n; at++) {
		uint16_t small = order[at];
		bool is_full = at >= more || more == n;
		uint16_t big = is_full ? small : order[more];
		t->columns[small] = (struct balance_column){
		    is_full ? UINT32_MAX : (uint32_t)((left[small] << 32) / total), big};
		if (is_full)
			continue;
		left[big] -= total - left[small];
		/* Its rest may be less than a column now: then it is the next of the small ones. */
		if (left[big] < total)
			more++;
	}
	free(left);
	free(order);
}

static uint32_t draw_index(struct balance *b, const struct balance_tier *t)
{
	uint64_t r = balance_random(b);
	uint32_t i = (uint32_t)(((r >> 32) * t->count) >> 32);

	if (t->is_even || (uint32_t)r < t->columns[i].threshold)
		return i;
	return t->columns[i].alias;
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
