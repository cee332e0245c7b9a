/* SPDX-License-Identifier: MIT */
/*
 * The encoder's way into its dynamic table: two chained hash indices (name and value, name alone)
 * over the table's slots, and a small memory of what was seen lately. Chains run from young to
 * old by entry number; an entry that was evicted ends its chain, so eviction costs nothing here.
 */
#ifndef PUSHGATE_HPACK_INDEX_H
#define PUSHGATE_HPACK_INDEX_H

#include "proxy/hpack/table.h"

/* Sets of four, so that a few keys that share a set do not hide each other. */
#define INDEX_SEEN 128u
#define INDEX_SEEN_SET 4u

struct index_link {
	uint32_t next_pair, next_name; /* older entries of the same bucket */
	uint32_t name_key;
};

struct index {
	struct index_link *links; /* one for each slot of the table; NULL until the first insert */
	uint32_t *pairs, *names;  /* newest entry of each bucket; as many as slots */
	uint16_t *seen;           /* marks of INDEX_SEEN keys; NULL until the first one */
	uint32_t slots;
};

void index_fini(struct index *x);
/* After table_set_max: the slots may have changed. */
void index_follow(struct index *x, const struct table *t);
/* Files the newest entry. */
void index_insert(struct index *x, const struct table *t, uint32_t name_key);

/* The age of the entry with this name and value, 0 when there is none. */
uint32_t index_find_pair(const struct index *x, const struct table *t, uint32_t key, uint16_t token,
    struct slice name, struct slice value);
/* The age of the newest entry with this name, 0 when there is none. */
uint32_t index_find_name(const struct index *x, const struct table *t, uint32_t name_key,
    uint16_t token, struct slice name);

/* Was this key seen lately, without having been found so? If not, it is remembered now. */
bool index_saw(struct index *x, uint32_t key);

size_t index_memory(const struct index *x);
void index_check(const struct index *x, const struct table *t);

#endif
