/* SPDX-License-Identifier: MIT */
/*
 * What one line of limit-requests has counted: for each key (a client, a value of a field) how many requests
 * it may still send, and how many of its requests are open. The table has a fixed size. It knows no requests
 * and no clock: keys are hashes with a secret seed, the time comes as an argument.
 *
 * The rate is a token bucket, kept as the time at which the bucket will be full again: a request moves it by
 * one interval, and passes if it is then at most `burst` intervals ahead. An entry whose bucket is full and
 * that has no open request says nothing, so it is as good as a free one.
 *
 * A key may be in 8 entries only. When all of them are taken, the one whose bucket will be full first is
 * forgotten; one with open requests never is, so no count of them is lost.
 */
#ifndef PUSHGATE_GATEWAY_LIMIT_TABLE_H
#define PUSHGATE_GATEWAY_LIMIT_TABLE_H

#include "proxy/base/clock.h"

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

struct limit_entry {
	uint64_t full_at_nsec; /* at this time the bucket is full again */
	uint32_t tag;          /* the upper half of the key */
	uint32_t open;         /* requests */
};

enum limit_answer { LIMIT_PASSES, LIMIT_RATE, LIMIT_CONCURRENT };

/* Room for at least so many keys. */
struct limit_table *limit_table_new(uint32_t keys);
void limit_table_free(struct limit_table *t);

/* Whether a request with this key may pass; changes nothing. LIMIT_RATE: it may after *wait. */
enum limit_answer limit_table_ask(const struct limit_table *t, const struct limit_terms *terms,
    uint64_t key, usec now, usec *wait);

/*
 * Counts a request that passes. Returns the entry in which it is open until limit_entry_give; NULL: the terms
 * do not bound open requests, or there was no room. *was_full is set if there was none, or if it was made by
 * forgetting a key that had a part of its burst left to wait for.
 */
struct limit_entry *limit_table_take(
    struct limit_table *t, const struct limit_terms *terms, uint64_t key, usec now, bool *was_full);
void limit_entry_give(struct limit_entry *e);
/* What was taken last with this key is given back to its bucket. */
void limit_table_give(struct limit_table *t, const struct limit_terms *terms, uint64_t key);

#endif
