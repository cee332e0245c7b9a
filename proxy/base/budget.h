/* SPDX-License-Identifier: MIT */
/*
 * A budget bounds the memory that peers can make grow. Budgets form a tree (stream → connection
 * → worker): a take must fit at every level or changes none. What is not a peer's doing
 * (configuration, one struct per accepted connection) is not taken from it.
 */
#ifndef PUSHGATE_BASE_BUDGET_H
#define PUSHGATE_BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget {
	struct budget *parent; /* borrows; NULL at the root */
	size_t limit_bytes, used_bytes, peak_bytes;
	uint32_t refused; /* takes that this level refused */
	uint32_t fail_in; /* budget_fail_nth: takes until the refused one, 0 = off */
};

void budget_init(struct budget *b, struct budget *parent, size_t limit_bytes);
/* Ensures that everything was given back. */
void budget_fini(struct budget *b);

/* True: n bytes are yours at every level. False: nothing changed but the counter. */
bool budget_take(struct budget *b, size_t n);
/* Takes even above the limit: for what has arrived already and must be kept. */
void budget_force(struct budget *b, size_t n);
void budget_give(struct budget *b, size_t n);
/* Something that *charged bytes were entered for has `now` bytes: takes what is more, even above
 * the limit, or gives what is less. */
static inline void budget_adjust(struct budget *b, size_t *charged, size_t now)
{
	if (now == *charged)
		return;
	if (now > *charged)
		budget_force(b, now - *charged);
	else
		budget_give(b, *charged - now);
	*charged = now;
}
/* Another parent pays for all of it from now on, even above its limit; NULL = none. */
void budget_set_parent(struct budget *b, struct budget *parent);

/* The peak begins again with what is in use now. */
static inline void budget_forget_peak(struct budget *b)
{
	b->peak_bytes = b->used_bytes;
}

/* This level is an eighth above its limit, by what was forced in. */
static inline bool budget_is_far_overdrawn(const struct budget *b)
{
	return b->used_bytes > b->limit_bytes + b->limit_bytes / 8;
}

/* Bytes left at the tightest level; 0 when any is overdrawn. */
size_t budget_room(const struct budget *b);

/* Tests: refuse the n-th take from now on this budget (1 = the next), 0 = off. */
void budget_fail_nth(struct budget *b, size_t n);

#endif
