/* SPDX-License-Identifier: MIT */
/*
 * How much each subscriber has used of one limit: for each key (base/subscriber.h) a token bucket of requests, and the
 * number of its open requests. The table has a fixed size.
 *
 * A key may be in 8 entries only. When all of them are taken, the key with the most of its burst left is
 * forgotten. A key with open requests never is, so no count of them is lost.
 *
 * The table may lie in memory that outlives its process, and that two or more processes use at a time: of an older
 * generation, whose worker drains, and of the next. All use the same buckets. The open requests of each are counted in a
 * lane of its own, which another process zeroes after its death. No process waits for another one: when two count at the
 * very same time, one request may be lost from a bucket. What another process has written is only a number here.
 */
#ifndef PUSHGATE_ADMISSION_LIMIT_TABLE_H
#define PUSHGATE_ADMISSION_LIMIT_TABLE_H

#include "proxy/base/rate.h"
#include "proxy/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limit_table;

/* Entries that a key may be in. */
#define LIMIT_TABLE_WAYS 8u

struct limit_terms {
	uint64_t interval_nsec; /* between two requests on average; 0 = any rate */
	uint32_t burst;         /* requests at once */
	uint32_t concurrent;    /* open requests; 0 = any number */
};

/* With a full bucket and no open request it says nothing, so it is as good as a free one. */
struct limit_entry {
	struct bucket bucket;
	uint32_t tag; /* the upper half of the key */
};

/* Of the processes that may use a table at a time: of each generation, and of one that comes up. */
#define LIMIT_TABLE_LANES (LIMIT_GENERATIONS + 1u)

/* Zeroed memory of limit_table_bytes that other processes may use too; begins on a page. */
struct limit_memory {
	void *memory; /* NULL: the table has memory of its own */
	uint32_t lane;
};

enum limit_answer { LIMIT_PASSES, LIMIT_RATE, LIMIT_CONCURRENT };

/* For at least so many keys. */
size_t limit_table_bytes(bool counts_open, uint32_t keys);
/* Those of the buckets, which come first. A table with a copy of them, and zeroes behind, has the same buckets. */
size_t limit_table_bucket_bytes(uint32_t keys);
/* Nothing is open in this lane any more. */
void limit_table_clear_lane(void *memory, bool counts_open, uint32_t keys, uint32_t lane);

/* Room for at least so many keys. */
struct limit_table *limit_table_new(const struct limit_terms *terms, uint32_t keys);
/* The same in this memory, which it borrows. */
struct limit_table *limit_table_in(
    struct limit_memory memory, const struct limit_terms *terms, uint32_t keys);
void limit_table_free(struct limit_table *t);

/* Whether a request with this key may pass; changes nothing. LIMIT_RATE: it may after *wait. */
enum limit_answer limit_table_ask(const struct limit_table *t, uint64_t key, usec now, usec *wait);

/*
 * Counts a request that passes. Returns the entry in which it is open until limit_entry_give; NULL: the terms
 * do not bound open requests, or there was no room. *was_full is set if there was none, or if it was made by
 * forgetting a key that had a part of its burst left to wait for.
 */
struct limit_entry *limit_table_take(struct limit_table *t, uint64_t key, usec now, bool *was_full);
/* One more is open in this entry, which limit_table_take has returned; it costs the bucket nothing. */
void limit_entry_add(struct limit_table *t, struct limit_entry *e);
void limit_entry_give(struct limit_table *t, struct limit_entry *e);
/* How many requests are open with this key. */
uint32_t limit_table_open(const struct limit_table *t, uint64_t key);
/* The request that was taken last with this key is given back to its bucket. */
void limit_table_give(struct limit_table *t, uint64_t key);

#endif
