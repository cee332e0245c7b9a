/* SPDX-License-Identifier: MIT */
/*
 * Private to balance*.c: what a balance is made of. The members stand in four tiers, of which the first that has
 * one left to choose counts: those that are in use and no backups, backups that are in use, and then the same
 * two of those that are not in use. The tables of a tier are made when it is first asked.
 */
#ifndef PUSHGATE_UPSTREAM_BALANCE_PARTS_H
#define PUSHGATE_UPSTREAM_BALANCE_PARTS_H

#include "proxy/upstream/balance.h"

#define BALANCE_TIERS 4u
#define BALANCE_TIER_BACKUP 1u /* bits of a tier's number */
#define BALANCE_TIER_UNUSED 2u

/* Weights count in hundredths: what slow start takes off is a share of them. */
#define BALANCE_WHOLE 100u
/* With these a member in slow start begins. */
#define BALANCE_FIRST 10u

/* The next turn of a member; a heap of them has the nearest in front. The number wraps. */
struct balance_turn {
	uint64_t at;
	uint32_t step; /* from one turn to the next */
	uint16_t index;
};

struct balance_tier {
	struct balance_member **members; /* part of balance->sorted */
	uint32_t count;
	uint32_t cursor;            /* round-robin, when all weights are the same */
	uint64_t weight;            /* of all, without slow start */
	uint64_t outstanding;       /* of all */
	bool has_tables;            /* the next three are true */
	bool is_even;               /* all count the same: no table is needed */
	uint64_t *sums;             /* least: of the weights up to each member, below 2^32; owned */
	struct balance_turn *turns; /* round-robin; owned */
};

/* Where a member stands on the ring: a key is served by the first point at or behind its own position. */
struct balance_point {
	uint32_t position;
	uint16_t index;
};

/* All backups, or all others, usable or not: it stays as it is while one is ejected. */
struct balance_ring {
	struct balance_point *points; /* by position; owned */
	uint32_t point_count;
	struct balance_member **members; /* owned */
	uint32_t member_count;
	uint64_t signature; /* of the keys and weights that the points are made of */
	bool is_current;
};

struct balance {
	enum balance_kind kind;
	usec slow_start;
	uint64_t random;
	struct balance_member *const *members; /* borrowed */
	size_t count;
	uint32_t generation; /* of the tables; a member with another one is in none of them */
	bool is_built;
	usec refresh_at;                /* weights in slow start have grown; USEC_NEVER: none is */
	struct balance_member **sorted; /* by tier; owned */
	struct balance_tier tiers[BALANCE_TIERS];
	struct balance_ring rings[2]; /* hash: of members that are no backups, of backups */
	uint16_t *by_key;             /* where to find a member, open addressing; owned, or NULL */
};

/* It need not be hard to guess: it draws among servers of the operator. */
static inline uint64_t balance_mix(uint64_t v)
{
	v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
	return v ^ v >> 31;
}

uint64_t balance_random(struct balance *b);
/* How much of its weight a member has, in hundredths. */
uint32_t balance_share(const struct balance *b, const struct balance_member *m, usec now);
bool balance_was_tried(const struct balance_question *q, const struct balance_member *m);
/* The member of the tier with least to do for its weight that was not tried; NULL: none is left. */
struct balance_member *balance_least_of_all(
    const struct balance_tier *t, const struct balance_question *q);

/* The choice within one tier; NULL: all its members were tried. */
struct balance_member *balance_draw(
    struct balance *b, struct balance_tier *t, const struct balance_question *q);
struct balance_member *balance_turn(struct balance_tier *t, const struct balance_question *q);
struct balance_member *balance_find_on_ring(
    struct balance *b, uint8_t tier, const struct balance_question *q, usec now);

/* Tables of weights in effect, one for each member of the tier. */
void balance_make_sums(struct balance_tier *t, const uint32_t *weights);
void balance_make_turns(struct balance *b, struct balance_tier *t, const uint32_t *weights);

void balance_ring_free(struct balance_ring *r);

#endif
