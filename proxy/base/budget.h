/* SPDX-License-Identifier: MIT */
/*
 * A budget bounds the memory that peers can make grow. Budgets form a tree (stream → connection →
 * worker): a take must fit at every level, or it changes none. Memory that peers do not control
 * (configuration, one struct per accepted connection) is not charged.
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
/* Ensures that all bytes were given back. */
void budget_fini(struct budget *b);

/* True: n bytes are charged at every level. False: only the counter `refused` has changed. */
bool budget_take(struct budget *b, size_t n);
/* Charges n bytes even above the limit, for data that has already arrived and must be kept. */
void budget_force(struct budget *b, size_t n);
void budget_give(struct budget *b, size_t n);
/*
 * An object charged with *charged bytes now has `now` bytes: charges the difference, even above the
 * limit, or gives it back.
 */
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
/* Moves all charged bytes to another parent, even above its limit; NULL = none. */
void budget_set_parent(struct budget *b, struct budget *parent);

/* Resets the peak to the bytes in use now. */
static inline void budget_forget_peak(struct budget *b)
{
	b->peak_bytes = b->used_bytes;
}

/* Forced bytes have brought this level an eighth above its limit. */
static inline bool budget_is_far_overdrawn(const struct budget *b)
{
	return b->used_bytes > b->limit_bytes + b->limit_bytes / 8;
}

/* Bytes left at the level with the least room; 0 if any level is above its limit. */
size_t budget_room(const struct budget *b);

/* For tests: refuses the n-th take from this budget (1 = the next); 0 = off. */
void budget_fail_nth(struct budget *b, size_t n);

#endif
