/* SPDX-License-Identifier: MIT */
/* A set-associative table of token buckets and open requests; see limit_table.h. */
#include "proxy/admission/limit_table.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

struct limit_set {
	struct limit_entry entries[LIMIT_TABLE_WAYS];
};

struct limit_table {
	struct limit_terms terms;
	uint64_t mask; /* of the index of a set */
	void *own;     /* owned; NULL: the memory is borrowed */
	struct limit_set *sets;
	/* Open requests: `lanes` times as many as there are entries. NULL: they are not counted. */
	uint32_t *open;
	size_t lane_bytes;
	/* The lanes in which something was counted, a bit for each: the others are not read. That alone would take a page of
	 * shared memory. */
	_Atomic uint32_t *used;
	uint32_t lanes, lane; /* ours */
};

/* ---- memory: the sets, the bits of the lanes, then the lanes, each of which begins on a page ---- */

#define PAGE_BYTES 4096u

static uint64_t sets_for(uint32_t keys)
{
	uint64_t sets = 1;
	while (sets * LIMIT_TABLE_WAYS < keys)
		sets *= 2;
	return sets;
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

_Static_assert(LIMIT_TABLE_LANES < 32, "a bit for each lane");

static size_t lane_bytes_for(uint32_t keys)
{
	return whole_pages(sets_for(keys) * LIMIT_TABLE_WAYS * sizeof(uint32_t));
}

static size_t set_bytes_for(uint32_t keys)
{
	return sets_for(keys) * sizeof(struct limit_set);
}

static size_t lanes_begin(uint32_t keys)
{
	return whole_pages(set_bytes_for(keys) + sizeof(_Atomic uint32_t));
}

static _Atomic uint32_t *used_in(void *memory, uint32_t keys)
{
	return (_Atomic uint32_t *)(uintptr_t)((char *)memory + set_bytes_for(keys));
}

size_t limit_table_bucket_bytes(uint32_t keys)
{
	return set_bytes_for(keys);
}

size_t limit_table_bytes(bool counts_open, uint32_t keys)
{
	return counts_open ? lanes_begin(keys) + LIMIT_TABLE_LANES * lane_bytes_for(keys)
			   : whole_pages(set_bytes_for(keys));
}

void limit_table_clear_lane(void *memory, bool counts_open, uint32_t keys, uint32_t lane)
{
	size_t bytes = lane_bytes_for(keys);
	char *begin = (char *)memory + lanes_begin(keys) + lane * bytes;
	if (!counts_open)
		return;
	atomic_fetch_and(used_in(memory, keys), ~(UINT32_C(1) << lane));
	/* Gives the pages back, and they are zeroed when they are used again. */
	if (madvise(begin, bytes, MADV_REMOVE) != 0)
		memset(begin, 0, bytes);
}

static struct limit_table *table_new(const struct limit_terms *terms, uint32_t keys, void *memory)
{
	struct limit_table *t = memory_new(struct limit_table);
	t->terms = *terms;
	t->mask = sets_for(keys) - 1;
	t->sets = memory;
	t->lane_bytes = lane_bytes_for(keys);
	if (terms->concurrent > 0) {
		t->open = (uint32_t *)(uintptr_t)((char *)memory + lanes_begin(keys));
		t->used = used_in(memory, keys);
	}
	return t;
}

struct limit_table *limit_table_new(const struct limit_terms *terms, uint32_t keys)
{
	size_t bytes =
	    terms->concurrent > 0 ? lanes_begin(keys) + lane_bytes_for(keys) : set_bytes_for(keys);
	void *own = memory_zalloc(bytes);
	struct limit_table *t = table_new(terms, keys, own);
	t->own = own;
	t->lanes = 1;
	return t;
}

struct limit_table *limit_table_in(
    struct limit_memory memory, const struct limit_terms *terms, uint32_t keys)
{
	if (!memory.memory)
		return limit_table_new(terms, keys);
	ensure(memory.lane < LIMIT_TABLE_LANES);
	struct limit_table *t = table_new(terms, keys, memory.memory);
	t->lanes = LIMIT_TABLE_LANES;
	t->lane = memory.lane;
	return t;
}

void limit_table_free(struct limit_table *t)
{
	if (t)
		free(t->own);
	free(t);
}

/* ---- open requests ---- */

/* In this lane. */
static uint32_t *open_of(const struct limit_table *t, const struct limit_entry *e, uint32_t lane)
{
	size_t index = (size_t)(e - t->sets[0].entries);
	char *begin = (char *)t->open + lane * t->lane_bytes;
	return (uint32_t *)(uintptr_t)begin + index;
}

static uint32_t open_in_all(const struct limit_table *t, const struct limit_entry *e)
{
	uint32_t open = 0, left = 0;
	if (t->open)
		left = atomic_load(t->used) & ((UINT32_C(1) << t->lanes) - 1);
	for (; left > 0; left &= left - 1)
		open += *open_of(t, e, (uint32_t)__builtin_ctz(left));
	return open;
}

/* What another process may have written would keep the key out for longer than its terms say. */
static void heal(const struct limit_table *t, struct limit_entry *e, usec now)
{
	uint64_t most = now * NSEC_PER_USEC + t->terms.burst * t->terms.interval_nsec;
	if (!t->own && e->bucket.full_at_nsec > most)
		e->bucket.full_at_nsec = most;
}

/* ---- keys ---- */

static struct limit_set *set_of(const struct limit_table *t, uint64_t key)
{
	return &t->sets[key & t->mask];
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

uint32_t limit_table_open(const struct limit_table *t, uint64_t key)
{
	const struct limit_entry *e = find(t, key);
	return e ? open_in_all(t, e) : 0;
}

enum limit_answer limit_table_ask(const struct limit_table *t, uint64_t key, usec now, usec *wait)
{
	const struct limit_terms *terms = &t->terms;
	struct limit_entry *e = find(t, key);
	*wait = 0;
	if (!e)
		return LIMIT_PASSES;
	heal(t, e, now);
	if (terms->concurrent > 0 && open_in_all(t, e) >= terms->concurrent)
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
		bool is_better = !best || e->bucket.full_at_nsec < best->bucket.full_at_nsec;
		if (is_better && open_in_all(t, e) == 0)
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
	limit_entry_add(t, e);
	return e;
}

void limit_entry_add(struct limit_table *t, struct limit_entry *e)
{
	uint32_t bit = UINT32_C(1) << t->lane;
	if (!(atomic_load(t->used) & bit))
		atomic_fetch_or(t->used, bit);
	++*open_of(t, e, t->lane);
}

void limit_entry_give(struct limit_table *t, struct limit_entry *e)
{
	uint32_t *open = open_of(t, e, t->lane);
	/* Another process may have written there what it should not. */
	ensure(*open > 0 || !t->own);
	*open -= *open > 0;
}

/* A key that was forgotten meanwhile has a full bucket. */
void limit_table_give(struct limit_table *t, uint64_t key)
{
	struct limit_entry *e = find(t, key);
	if (e)
		bucket_pay_back(&e->bucket, t->terms.interval_nsec);
}
