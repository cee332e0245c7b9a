/* SPDX-License-Identifier: MIT */
/*
 * A balance: its tiers, its members by key and id, slow start, and which way to choose. What is made for a set of
 * members is made with the first choice, so that an idle destination has no tables.
 */
#include "proxy/base/memory.h"
#include "proxy/upstream/balance_parts.h"
#include <string.h>

/* Weights in slow start are computed anew so often, or 32 times in all if that is less often. */
#define REFRESH_USEC (USEC_PER_SEC / 4)
#define REFRESHES 32u

/* Up to so many members are looked through; more have an index. */
#define LOOKED_THROUGH 8u
#define NO_MEMBER UINT16_MAX

struct balance *balance_new(enum balance_kind kind, usec slow_start, uint64_t seed)
{
	struct balance *b = memory_new(struct balance);

	b->kind = kind;
	b->slow_start = slow_start;
	b->random = seed;
	b->refresh_at = USEC_NEVER;
	/* Workers that begin together do not all begin with the same server. */
	for (uint32_t i = 0; i < BALANCE_TIERS; i++)
		b->tiers[i].cursor = (uint32_t)balance_random(b);
	return b;
}

static void drop_tables(struct balance *b)
{
	for (uint32_t i = 0; i < BALANCE_TIERS; i++) {
		free(b->tiers[i].sums);
		free(b->tiers[i].turns);
		b->tiers[i] = (struct balance_tier){.cursor = b->tiers[i].cursor};
	}
	free(b->sorted);
	free(b->by_key);
	b->sorted = NULL;
	b->by_key = NULL;
	b->is_built = false;
}

void balance_free(struct balance *b)
{
	if (!b)
		return;
	drop_tables(b);
	for (uint32_t i = 0; i < 2; i++)
		balance_ring_free(&b->rings[i]);
	free(b);
}

void balance_set(struct balance *b, struct balance_member *const *members, size_t count, usec now)
{
	drop_tables(b);
	b->members = members;
	b->count = count;
	b->generation++;
	b->random += now;
	for (uint32_t i = 0; i < 2; i++)
		b->rings[i].is_current = false;
}

/* ---- what the parts share ---- */

uint64_t balance_random(struct balance *b)
{
	b->random += UINT64_C(0x9e3779b97f4a7c15);
	return balance_mix(b->random);
}

uint32_t balance_share(const struct balance *b, const struct balance_member *m, usec now)
{
	if (b->slow_start == 0 || m->joined == 0)
		return BALANCE_WHOLE;
	usec since = now > m->joined ? now - m->joined : 0;
	if (since >= b->slow_start)
		return BALANCE_WHOLE;
	return BALANCE_FIRST + (uint32_t)(since * (BALANCE_WHOLE - BALANCE_FIRST) / b->slow_start);
}

bool balance_was_tried(const struct balance_question *q, const struct balance_member *m)
{
	for (size_t i = 0; i < q->tried_count; i++) {
		if (q->tried[i] == m->id)
			return true;
	}
	return false;
}

struct balance_member *balance_least_of_all(
    const struct balance_tier *t, const struct balance_question *q)
{
	struct balance_member *least = NULL;

	for (uint32_t i = 0; i < t->count; i++) {
		struct balance_member *m = t->members[i];
		if (balance_was_tried(q, m))
			continue;
		if (!least || (uint64_t)(m->outstanding + 1) * least->weight <
				  (uint64_t)(least->outstanding + 1) * m->weight)
			least = m;
	}
	return least;
}

/* ---- tiers ---- */

static uint8_t tier_of(const struct balance_member *m)
{
	return (uint8_t)((m->is_backup ? BALANCE_TIER_BACKUP : 0) |
			 (balance_prefers(m) ? 0 : BALANCE_TIER_UNUSED));
}

/* Puts all members into their tiers, in their order. */
static void build(struct balance *b)
{
	b->sorted = memory_alloc((b->count ? b->count : 1) * sizeof *b->sorted);
	for (size_t i = 0; i < b->count; i++)
		b->tiers[tier_of(b->members[i])].count++;
	struct balance_member **next = b->sorted;
	for (uint32_t i = 0; i < BALANCE_TIERS; i++) {
		b->tiers[i].members = next;
		next += b->tiers[i].count;
		b->tiers[i].count = 0;
	}
	for (size_t i = 0; i < b->count; i++) {
		struct balance_member *m = b->members[i];
		m->tier = tier_of(m);
		m->generation = b->generation;
		struct balance_tier *t = &b->tiers[m->tier];
		t->members[t->count++] = m;
		t->weight += m->weight;
		t->outstanding += m->outstanding;
	}
	b->is_built = true;
	b->refresh_at = USEC_NEVER;
}

/* What each member counts for now, and the tables of that. */
static void make_tables(struct balance *b, struct balance_tier *t, usec now)
{
	uint32_t *weights = memory_alloc(t->count * sizeof *weights);
	bool grows = false;

	t->is_even = true;
	for (uint32_t i = 0; i < t->count; i++) {
		uint32_t share = balance_share(b, t->members[i], now);
		weights[i] = t->members[i]->weight * share;
		grows |= share < BALANCE_WHOLE;
		t->is_even &= weights[i] == weights[0];
	}
	if (!t->is_even && b->kind == BALANCE_ROUND_ROBIN)
		balance_make_turns(b, t, weights);
	else if (!t->is_even)
		balance_make_sums(t, weights);
	free(weights);
	t->has_tables = true;
	if (!grows)
		return;
	usec wait = b->slow_start / REFRESHES;
	usec at = now + (wait > REFRESH_USEC ? wait : REFRESH_USEC);
	if (at < b->refresh_at)
		b->refresh_at = at;
}

static struct balance_member *choose_in_tier(
    struct balance *b, uint8_t tier, const struct balance_question *q, usec now)
{
	struct balance_tier *t = &b->tiers[tier];

	if (t->count == 0)
		return NULL;
	if (b->kind == BALANCE_HASH && q->has_hash)
		return balance_find_on_ring(b, tier, q, now);
	if (!t->has_tables)
		make_tables(b, t, now);
	return b->kind == BALANCE_ROUND_ROBIN ? balance_turn(t, q) : balance_draw(b, t, q);
}

/* ---- members by key ---- */

/* At least twice as many slots as members, a power of two. */
static size_t slot_mask(size_t count)
{
	size_t slots = 16;
	while (slots < 2 * count)
		slots *= 2;
	return slots - 1;
}

static uint16_t *make_index(const struct balance *b)
{
	size_t mask = slot_mask(b->count);
	uint16_t *slots = memory_alloc((mask + 1) * sizeof *slots);

	memset(slots, 0xff, (mask + 1) * sizeof *slots);
	for (size_t i = 0; i < b->count; i++) {
		size_t at = balance_mix(b->members[i]->key) & mask;
		while (slots[at] != NO_MEMBER)
			at = (at + 1) & mask;
		slots[at] = (uint16_t)i;
	}
	return slots;
}

static struct balance_member *find(struct balance *b, uint64_t key)
{
	if (b->count <= LOOKED_THROUGH) {
		for (size_t i = 0; i < b->count; i++) {
			if (b->members[i]->key == key)
				return b->members[i];
		}
		return NULL;
	}
	if (!b->by_key)
		b->by_key = make_index(b);
	size_t mask = slot_mask(b->count);
	for (size_t at = balance_mix(key) & mask;; at = (at + 1) & mask) {
		uint16_t i = b->by_key[at];
		if (i == NO_MEMBER)
			return NULL;
		if (b->members[i]->key == key)
			return b->members[i];
	}
}

/* The member that this request should have whatever the balance says. */
static struct balance_member *find_wanted(struct balance *b, const struct balance_question *q)
{
	struct balance_member *m = q->affinity ? find(b, q->affinity) : NULL;

	if (m && m->is_usable && !balance_was_tried(q, m))
		return m;
	m = q->preferred && q->preferred->generation == b->generation ? q->preferred : NULL;
	return m && balance_prefers(m) && !balance_was_tried(q, m) ? m : NULL;
}

/* ---- the choice ---- */

struct balance_member *balance_choose(
    struct balance *b, const struct balance_question *question, usec now)
{
	if (b->count == 1)
		return balance_was_tried(question, b->members[0]) ? NULL : b->members[0];
	if (now >= b->refresh_at)
		drop_tables(b);
	if (!b->is_built)
		build(b);
	struct balance_member *m = find_wanted(b, question);
	for (uint8_t tier = 0; !m && tier < BALANCE_TIERS; tier++)
		m = choose_in_tier(b, tier, question, now);
	return m;
}

void balance_count(struct balance *b, struct balance_member *m, int change)
{
	m->outstanding += (uint32_t)change;
	if (b->is_built && m->generation == b->generation)
		b->tiers[m->tier].outstanding += (uint64_t)(int64_t)change;
}
