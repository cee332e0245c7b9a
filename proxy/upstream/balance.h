/* SPDX-License-Identifier: MIT */
/*
 * Which server of a destination gets a request. Pure: no connection, no configuration, no clock but the time
 * that it is given. What it costs does not grow with the number of servers, but for their logarithm.
 *
 *   round-robin   in turns, each as often as its weight says
 *   least         of two servers drawn by weight, the one with less to do for its weight
 *   hash          always the same server for the same key (consistent: when a server leaves, the keys of the
 *                 others stay), unless it has a quarter more to do than its share
 *
 * Among the members that are in use come first those that are no backups; then the backups; then, when none is
 * left, those that are not in use after all (a request to a server that is probably down beats none).
 */
#ifndef PUSHGATE_UPSTREAM_BALANCE_H
#define PUSHGATE_UPSTREAM_BALANCE_H

#include "proxy/base/clock.h"
#include "proxy/limits.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum balance_kind { BALANCE_LEAST, BALANCE_ROUND_ROBIN, BALANCE_HASH };

/* Embedded in what can be chosen. */
struct balance_member {
	uint64_t key;         /* the same in all workers and after a restart */
	uint32_t id;          /* unique in the worker, never given twice, not 0 */
	uint32_t weight;      /* 1 … LIMIT_SERVER_WEIGHT */
	uint32_t outstanding; /* requests that were given to it and are not over */
	usec joined;          /* slow start counts from here; 0: it has its whole weight */
	bool is_backup;
	bool is_usable; /* neither ejected nor failing its checks */
	bool is_late;   /* usable, but others are to be preferred now: affinity alone leads to it */
	/* The balance's own: its tier in the tables of that generation. */
	uint8_t tier;
	uint32_t generation;
};

static inline bool balance_prefers(const struct balance_member *m)
{
	return m->is_usable && !m->is_late;
}

struct balance_question {
	bool has_hash;
	uint64_t hash; /* of the key of hash balance; without one the choice is that of `least` */
	uint64_t affinity; /* the member with this key, if it is usable and not tried; 0: none */
	/* The same for this member, the server of the parent, if it is not late either; NULL: none. */
	struct balance_member *preferred;
	const uint32_t *tried; /* ids of members that must not be chosen */
	size_t tried_count;
};

struct balance; /* owned by a destination */

struct balance *balance_new(enum balance_kind kind, usec slow_start, uint64_t seed);
void balance_free(struct balance *b);
/* The members have changed, or is_usable, is_backup, weight or joined of one. Borrows the array and the
 * members until the next call. */
void balance_set(struct balance *b, struct balance_member *const *members, size_t count, usec now);
/* NULL: all were tried, or there is none. Does not count it as outstanding: that is the caller's. */
struct balance_member *balance_choose(
    struct balance *b, const struct balance_question *question, usec now);

/* Adds to the outstanding requests of a member, or takes from them: the balance keeps a sum. */
void balance_count(struct balance *b, struct balance_member *m, int change);

#endif
