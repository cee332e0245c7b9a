/* SPDX-License-Identifier: MIT */
/*
 * Private to policy/: two tables of guards. Offer guards are asked before the rules, action guards
 * after a rule has been chosen. Rows are asked in order; a table ends with a row of zeros.
 */
#ifndef PUSHGATE_POLICY_GUARDS_H
#define PUSHGATE_POLICY_GUARDS_H

#include "policy/policy.h"

/* The parts of an action. Guards remove parts; an action without parts is a drop. */
enum {
	POLICY_PART_FORWARD = 1,
	POLICY_PART_HOLD = 2,
	POLICY_PART_HINT = 4,
	POLICY_PART_BODY = POLICY_PART_FORWARD | POLICY_PART_HOLD,
	POLICY_PART_ANY = 7
};

uint8_t policy_action_parts(enum policy_action action);

/* One offer and the rule chosen for it (NULL: the default action). */
struct policy_question {
	const struct policy_rules *rules;
	const struct policy_feedback *feedback;
	const struct policy_offer *offer;
	const struct policy_rule *rule;
	const struct policy_watch *watch; /* may be NULL */
};

/* A fact of the offer, or more than one. */
struct policy_guard {
	bool (*holds_up)(const struct policy_question *q); /* NULL: a fact alone */
	size_t fact;    /* offset of a bool in struct policy_offer */
	bool is_needed; /* it holds up without that fact; else with it */
};
static inline bool policy_guard_holds_up(
    const struct policy_guard *guard, const struct policy_question *q)
{
	bool fact;
	if (guard->holds_up)
		return guard->holds_up(q);
	memcpy(&fact, (const char *)q->offer + guard->fact, sizeof fact);
	return fact != guard->is_needed;
}

struct policy_offer_guard {
	const struct policy_reason *reason;
	struct policy_guard guard;
};
extern const struct policy_offer_guard policy_offer_guards[];

struct policy_action_guard {
	uint8_t parts;                      /* the parts that the guard removes */
	bool names_rule;                    /* a refusal names the rule too */
	const struct policy_reason *reason; /* NULL: reason_of returns it */
	struct policy_guard guard;
	const struct policy_reason *(*reason_of)(const struct policy_offer *offer);
};
extern const struct policy_action_guard policy_action_guards[];

/* The request is a speculative load, and the rule (NULL: the default action) does not name its purpose. */
bool policy_is_speculative(const struct policy_rule *rule, const struct policy_offer *offer);
bool policy_may_hint(const struct policy_rule *rule, const struct policy_offer *offer);

#endif
