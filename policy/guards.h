/* SPDX-License-Identifier: MIT */
/*
 * Private to policy/: what holds up an offer before or after a rule has spoken, in two tables. Rows
 * in order; a table ends with one that has no holds_up.
 */
#ifndef PUSHGATE_POLICY_GUARDS_H
#define PUSHGATE_POLICY_GUARDS_H

#include "policy/policy.h"

/* What an action asks of the hop. A guard takes parts away; when none is left it is a drop. */
enum {
	POLICY_PART_FORWARD = 1,
	POLICY_PART_HOLD = 2,
	POLICY_PART_HINT = 4,
	POLICY_PART_BODY = POLICY_PART_FORWARD | POLICY_PART_HOLD,
	POLICY_PART_ANY = 7
};

uint8_t policy_action_parts(enum policy_action action);

/* One offer against one rule (NULL: the default), once it is known which. */
struct policy_question {
	const struct policy_rules *rules;
	const struct policy_feedback *feedback;
	const struct policy_offer *offer;
	const struct policy_rule *rule;
	const struct policy_watch *watch; /* NULL: nobody looks on */
};

struct policy_offer_guard {
	const struct policy_reason *reason;
	bool (*holds_up)(const struct policy_question *q);
};
extern const struct policy_offer_guard policy_offer_guards[];

struct policy_action_guard {
	uint8_t parts;                      /* of the action that it takes away */
	bool names_rule;                    /* the rule is part of the answer */
	const struct policy_reason *reason; /* NULL: reason_of tells it */
	bool (*holds_up)(const struct policy_question *q);
	const struct policy_reason *(*reason_of)(const struct policy_offer *offer);
};
extern const struct policy_action_guard policy_action_guards[];

bool policy_may_hint(const struct policy_rule *rule, const struct policy_offer *offer);

#endif
