/* SPDX-License-Identifier: MIT */
/* A set-associative table of token buckets and open requests; see limit_table.h. */
#include "proxy/admission/limit_table.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

struct limit_set {
	struct limit_entry entries[LIMIT_TABLE_WAYS];
};

struct limit_table {
	struct limit_terms terms;
	uint64_t mask; /* of the index of a set */
	struct limit_set sets[];
};

struct limit_table *limit_table_new(const struct limit_terms *terms, uint32_t keys)
{
	uint64_t sets = 1;
	while (sets * LIMIT_TABLE_WAYS < keys)
		sets *= 2;
	struct limit_table *t = memory_zalloc(sizeof(*t) + sets * sizeof(struct limit_set));
	t->terms = *terms;
	t->mask = sets - 1;
	return t;
}

void limit_table_free(struct limit_table *t)
{
	free(t);
}

static struct limit_set *set_of(const struct limit_table *t, uint64_t key)
{
	return (struct limit_set *)(uintptr_t)&t->sets[key & t->mask];
}

static uint32_t tag_of(uint64_t key)
{
	return (uint32_t)(key >> 32);
}

/* A zeroed entry may be found for a key with the tag 0: its bucket is full, as that of a new one. */
static struct limit_entry *find(const struct limit_table *t, uint64_t key)
{
	struct limit_set *set = set_of(t, key);
	for (size_t i = 0; i < LIMIT_TABLE_WAYS; i++)
		if (set->entries[i].tag == tag_of(key))
			return &set->entries[i];
	return NULL;
}

enum limit_answer limit_table_ask(const struct limit_table *t, uint64_t key, usec now, usec *wait)
{
	const struct limit_terms *terms = &t->terms;
	const struct limit_entry *e = find(t, key);
	*wait = 0;
	if (!e)
		return LIMIT_PASSES;
	if (terms->concurrent > 0 && e->open >= terms->concurrent)
		return LIMIT_CONCURRENT;
	uint64_t nsec = terms->interval_nsec;
	*wait = bucket_wait(&e->bucket, nsec, terms->burst * nsec, now);
	return *wait > 0 ? LIMIT_RATE : LIMIT_PASSES;
}

/* An entry for a key that has none. Its bucket will be full before those of the others. */
static struct limit_entry *make_room(struct limit_table *t, uint64_t key, usec now, bool *was_full)
{
	struct limit_set *set = set_of(t, key);
	struct limit_entry *best = NULL;
	for (size_t i = 0; i < LIMIT_TABLE_WAYS; i++) {
		struct limit_entry *e = &set->entries[i];
		if (e->open == 0 && (!best || e->bucket.full_at_nsec < best->bucket.full_at_nsec))
			best = e;
	}
	if (!best || !bucket_is_full(&best->bucket, now))
		*was_full = true;
	if (best)
		*best = (struct limit_entry){.tag = tag_of(key)};
	return best;
}

struct limit_entry *limit_table_take(struct limit_table *t, uint64_t key, usec now, bool *was_full)
{
	struct limit_entry *e = find(t, key);
	if (!e)
		e = make_room(t, key, now, was_full);
	if (!e)
		return NULL;
	bucket_spend(&e->bucket, t->terms.interval_nsec, now);
	if (t->terms.concurrent == 0)
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
void limit_table_give(struct limit_table *t, uint64_t key)
{
	struct limit_entry *e = find(t, key);
	if (e)
		bucket_pay_back(&e->bucket, t->terms.interval_nsec);
}
