/* SPDX-License-Identifier: MIT */
/*
 * hash: a ring of points, many for each member. A key is served by the first member behind its position that is
 * in use and has less to do than its bound: a quarter more than its share of all that is outstanding. So a key that
 * everybody asks for is served by several, always the same ones. When a member leaves, its keys alone move.
 */
#include "proxy/base/memory.h"
#include "proxy/upstream/balance_parts.h"
#include <string.h>

/* Points of a member with the average weight: shares then differ by about a tenth. */
#define POINTS 128u
/* A key's walk ends after so many points: behind it are members that few keys find. */
#define STEPS 1024u
#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

/* ---- making the ring ---- */

void balance_ring_free(struct balance_ring *r)
{
	free(r->points);
	free(r->members);
	*r = (struct balance_ring){0};
}

/* By position, in three rounds of counting: a fleet of 1,000 has 128,000 points, and may change every second. */
static void sort_points(struct balance_point *points, uint32_t count)
{
	struct balance_point *other = memory_alloc(count * sizeof *other), *made = other;

	for (uint32_t shift = 0; shift < 32; shift += DIGIT_BITS) {
		uint32_t starts[DIGITS + 1] = {0};
		for (uint32_t i = 0; i < count; i++)
			starts[(points[i].position >> shift) % DIGITS + 1]++;
		for (uint32_t i = 0; i < DIGITS; i++)
			starts[i + 1] += starts[i];
		for (uint32_t i = 0; i < count; i++)
			other[starts[(points[i].position >> shift) % DIGITS]++] = points[i];
		struct balance_point *swap = points;
		points = other;
		other = swap;
	}
	/* Three rounds: the result is in the array that was made here. */
	memcpy(other, points, count * sizeof *other);
	free(made);
}

static uint32_t points_of(const struct balance_member *m, uint64_t weights, uint32_t count)
{
	uint64_t points = (2 * (uint64_t)POINTS * m->weight * count + weights) / (2 * weights);
	return points ? (uint32_t)points : 1;
}

static void make_points(struct balance_ring *r)
{
	uint64_t weights = 0;
	uint32_t count = 0, at = 0;

	for (uint32_t i = 0; i < r->member_count; i++)
		weights += r->members[i]->weight;
	for (uint32_t i = 0; i < r->member_count; i++)
		count += points_of(r->members[i], weights, r->member_count);
	free(r->points);
	r->points = memory_alloc((count ? count : 1) * sizeof *r->points);
	r->point_count = count;
	for (uint32_t i = 0; i < r->member_count; i++) {
		const struct balance_member *m = r->members[i];
		uint32_t points = points_of(m, weights, r->member_count);
		for (uint32_t n = 1; n <= points; n++) {
			uint64_t position = balance_mix(m->key + n * UINT64_C(0x9e3779b97f4a7c15));
			r->points[at++] =
			    (struct balance_point){(uint32_t)(position >> 32), (uint16_t)i};
		}
	}
	sort_points(r->points, count);
}

/* The points stay when the same members are there: those that are not in use are walked over. */
static void bring_up_to_date(struct balance *b, struct balance_ring *r, bool backups)
{
	uint64_t signature = 1;

	free(r->members);
	r->members = memory_alloc((b->count ? b->count : 1) * sizeof *r->members);
	r->member_count = 0;
	for (size_t i = 0; i < b->count; i++) {
		struct balance_member *m = b->members[i];
		if (m->is_backup != backups)
			continue;
		r->members[r->member_count++] = m;
		signature = balance_mix(signature ^ m->key) + m->weight;
	}
	r->is_current = true;
	if (r->points && signature == r->signature)
		return;
	r->signature = signature;
	make_points(r);
}

/* ---- asking it ---- */

/* The first point at or behind the position; beyond the last one, the first of all. */
static uint32_t first_point(const struct balance_ring *r, uint32_t position)
{
	uint32_t low = 0, high = r->point_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (r->points[middle].position < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->point_count ? low : 0;
}

/* Below a quarter more than its share, counting the request that is about to come. */
static bool has_room(const struct balance_tier *t, const struct balance_member *m)
{
	uint64_t share = 5 * (t->outstanding + 1) * m->weight;
	return m->outstanding < (share + 4 * t->weight - 1) / (4 * t->weight);
}

/* In slow start a member gets some of its keys, always the same and ever more. */
static bool has_begun(
    const struct balance *b, const struct balance_member *m, uint64_t hash, usec now)
{
	uint32_t share = balance_share(b, m, now);
	return share == BALANCE_WHOLE || balance_mix(hash ^ m->key) % BALANCE_WHOLE < share;
}

/* No point near the key's had a member for it: the first of all members, from one that the key says. */
static struct balance_member *look_through(
    const struct balance_tier *t, const struct balance_question *q)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct balance_member *m = t->members[(q->hash + i) % t->count];
		if (!balance_was_tried(q, m) && has_room(t, m))
			return m;
	}
	return balance_least_of_all(t, q);
}

struct balance_member *balance_find_on_ring(
    struct balance *b, uint8_t tier, const struct balance_question *q, usec now)
{
	const struct balance_tier *t = &b->tiers[tier];
	struct balance_ring *r = &b->rings[tier & BALANCE_TIER_BACKUP];
	struct balance_member *slow = NULL; /* in slow start: better than none */

	if (!r->is_current)
		bring_up_to_date(b, r, tier & BALANCE_TIER_BACKUP);
	uint32_t at = first_point(r, (uint32_t)(q->hash >> 32));
	uint32_t steps = r->point_count < STEPS ? r->point_count : STEPS;
	for (uint32_t i = 0; i < steps; i++, at = at + 1 < r->point_count ? at + 1 : 0) {
		struct balance_member *m = r->members[r->points[at].index];
		if (m->tier != tier || m == slow || balance_was_tried(q, m) || !has_room(t, m))
			continue;
		if (has_begun(b, m, q->hash, now))
			return m;
		if (!slow)
			slow = m;
	}
	return slow ? slow : look_through(t, q);
}
