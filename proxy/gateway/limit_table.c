/* SPDX-License-Identifier: MIT */
/* A set-associative table of token buckets and open requests; see limit_table.h. */
#include "proxy/gateway/limit_table.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#define NSEC_PER_USEC UINT64_C(1000)

struct limit_set {
	struct limit_entry entries[LIMIT_TABLE_WAYS];
};

struct limit_table {
	uint64_t mask; /* of the index of a set */
	struct limit_set sets[];
};

struct limit_table *limit_table_new(uint32_t keys)
{
	uint64_t sets = 1;
	while (sets * LIMIT_TABLE_WAYS < keys)
		sets *= 2;
	struct limit_table *t = memory_zalloc(sizeof(*t) + sets * sizeof(struct limit_set));
	t->mask = sets - 1;
	return t;
}

void limit_table_free(struct limit_table *t)
{
	free(t);
}

static uint32_t tag_of(uint64_t key)
{
	return (uint32_t)(key >> 32);
}

/* A zeroed entry may be found for a key with the tag 0: its bucket is full, as that of a new one. */
static struct limit_entry *find(struct limit_set *set, uint64_t key)
{
	for (size_t i = 0; i < LIMIT_TABLE_WAYS; i++)
		if (set->entries[i].tag == tag_of(key))
			return &set->entries[i];
	return NULL;
}

/* When the bucket would be full after one request more. */
static uint64_t full_after(
    const struct limit_entry *e, const struct limit_terms *terms, uint64_t now_nsec)
{
	uint64_t from = e->full_at_nsec > now_nsec ? e->full_at_nsec : now_nsec;
	return from + terms->interval_nsec;
}

enum limit_answer limit_table_ask(const struct limit_table *t, const struct limit_terms *terms,
    uint64_t key, usec now, usec *wait)
{
	struct limit_set *set = (struct limit_set *)(uintptr_t)&t->sets[key & t->mask];
	const struct limit_entry *e = find(set, key);
	*wait = 0;
	if (!e)
		return LIMIT_PASSES;
	if (terms->concurrent > 0 && e->open >= terms->concurrent)
		return LIMIT_CONCURRENT;
	uint64_t now_nsec = now * NSEC_PER_USEC;
	uint64_t full = full_after(e, terms, now_nsec);
	uint64_t most = now_nsec + terms->burst * terms->interval_nsec;
	if (full <= most)
		return LIMIT_PASSES;
	*wait = (full - most + NSEC_PER_USEC - 1) / NSEC_PER_USEC;
	return LIMIT_RATE;
}

/* An entry for a key that has none: the one whose bucket will be full first. */
static struct limit_entry *make_room(
    struct limit_set *set, uint64_t key, uint64_t now_nsec, bool *was_full)
{
	struct limit_entry *best = NULL;
	for (size_t i = 0; i < LIMIT_TABLE_WAYS; i++) {
		struct limit_entry *e = &set->entries[i];
		if (e->open == 0 && (!best || e->full_at_nsec < best->full_at_nsec))
			best = e;
	}
	if (!best || best->full_at_nsec > now_nsec)
		*was_full = true;
	if (best)
		*best = (struct limit_entry){.tag = tag_of(key)};
	return best;
}

struct limit_entry *limit_table_take(
    struct limit_table *t, const struct limit_terms *terms, uint64_t key, usec now, bool *was_full)
{
	uint64_t now_nsec = now * NSEC_PER_USEC;
	struct limit_set *set = &t->sets[key & t->mask];
	struct limit_entry *e = find(set, key);
	if (!e)
		e = make_room(set, key, now_nsec, was_full);
	if (!e)
		return NULL;
	e->full_at_nsec = full_after(e, terms, now_nsec);
	if (terms->concurrent == 0)
		return NULL;
	e->open++;
	return e;
}

void limit_entry_give(struct limit_entry *e)
{
	ensure(e->open > 0);
	e->open--;
}

/* A key that was forgotten meanwhile has a full bucket. */
void limit_table_give(struct limit_table *t, const struct limit_terms *terms, uint64_t key)
{
	struct limit_entry *e = find(&t->sets[key & t->mask], key);
	if (e && e->full_at_nsec >= terms->interval_nsec)
		e->full_at_nsec -= terms->interval_nsec;
}
