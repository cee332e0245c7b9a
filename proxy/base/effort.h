/* SPDX-License-Identifier: MIT */
/*
 * How much work may still be spent on something, so that no input of a peer keeps a loop pass from its end. One unit is
 * about a nanosecond: a byte that is compared. The work is counted, not timed, so that equal inputs have equal results.
 */
#ifndef PUSHGATE_BASE_EFFORT_H
#define PUSHGATE_BASE_EFFORT_H

#include <stdbool.h>
#include <stdint.h>

struct effort {
	uint64_t left;
	bool is_used_up; /* something was not done, because it would have cost more than was left */
};

static inline struct effort effort_of(uint64_t units)
{
	return (struct effort){.left = units};
}

/* False: there are not so many units left. What is left is gone too. */
static inline bool effort_spend(struct effort *e, uint64_t units)
{
	if (units <= e->left) {
		e->left -= units;
		return true;
	}
	e->left = 0;
	e->is_used_up = true;
	return false;
}

#endif
