/* SPDX-License-Identifier: MIT */
/*
 * The encoder's index of its dynamic table: two chained hash indices (by name and value, by name
 * only) over the table's slots, and a small set of recently seen keys. Chains run from young to old
 * by entry number. An evicted entry ends its chain, so eviction needs no work here.
 */
#ifndef PUSHGATE_HPACK_INDEX_H
#define PUSHGATE_HPACK_INDEX_H

#include "proxy/hpack/table.h"
#include "proxy/http/head.h"

/* Sets of four, so that up to four keys can share a set. */
#define INDEX_SEEN 128u
#define INDEX_SEEN_SET 4u

/* Fields are looked for by name and value most of all: few share a bucket then. */
#define INDEX_PAIR_BUCKETS 4u

struct index_link {
	uint32_t next_pair, next_name; /* older entries of the same bucket */
	uint32_t name_key;
};

struct index {
	struct index_link *links; /* one per slot of the table; NULL until the first insertion */
	/* The newest entry of each bucket: INDEX_PAIR_BUCKETS for a slot; one for a slot. */
	uint32_t *pairs, *names;
	uint16_t *seen; /* marks of INDEX_SEEN keys; NULL until the first one */
	uint32_t slots;
};

void index_fini(struct index *x);
/* Call after table_set_max, which may change the number of slots. */
void index_follow(struct index *x, const struct table *t);
/* Indexes the table's newest entry. */
void index_insert(struct index *x, const struct table *t, uint32_t name_key);

/* The age of the entry with the name and the value of the field, whose key this is; 0 if there is none. */
uint32_t index_find_pair(
    const struct index *x, const struct table *t, uint32_t key, const struct http_field *f);
/* The age of the newest entry with this name, 0 if there is none. */
uint32_t index_find_name(const struct index *x, const struct table *t, uint32_t name_key,
    uint16_t token, struct slice name);

/* Whether this key was seen recently; true at most once for each time. If not, remembers it. */
bool index_saw(struct index *x, uint32_t key);

size_t index_memory(const struct index *x);
void index_check(const struct index *x, const struct table *t);

#endif
