/* SPDX-License-Identifier: MIT */
/*
 * How much each subscriber has used of one limit: for each key (base/subscriber.h) a token bucket of requests, and the
 * number of its open requests. The table has a fixed size.
 *
 * A key may be in 8 entries only. When all of them are taken, the key with the most of its burst left is
 * forgotten. A key with open requests never is, so no count of them is lost.
 */
#ifndef PUSHGATE_ADMISSION_LIMIT_TABLE_H
#define PUSHGATE_ADMISSION_LIMIT_TABLE_H

#include "proxy/base/rate.h"

#include <stdbool.h>
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
	uint32_t tag;  /* the upper half of the key */
	uint32_t open; /* requests */
};

enum limit_answer { LIMIT_PASSES, LIMIT_RATE, LIMIT_CONCURRENT };

/* Room for at least so many keys. */
struct limit_table *limit_table_new(const struct limit_terms *terms, uint32_t keys);
void limit_table_free(struct limit_table *t);

/* Whether a request with this key may pass; changes nothing. LIMIT_RATE: it may after *wait. */
enum limit_answer limit_table_ask(const struct limit_table *t, uint64_t key, usec now, usec *wait);

/*
 * Counts a request that passes. Returns the entry in which it is open until limit_entry_give; NULL: the terms
 * do not bound open requests, or there was no room. *was_full is set if there was none, or if it was made by
 * forgetting a key that had a part of its burst left to wait for.
 */
struct limit_entry *limit_table_take(struct limit_table *t, uint64_t key, usec now, bool *was_full);
void limit_entry_give(struct limit_entry *e);
/* The request that was taken last with this key is given back to its bucket. */
void limit_table_give(struct limit_table *t, uint64_t key);

#endif
