/* SPDX-License-Identifier: MIT */
/*
 * A decision, step by step: the guards that were asked, the rules that were tried, and which
 * condition of a rule did not hold. Pure like the decision itself, of which it is the very same
 * one.
 */
#ifndef PUSHGATE_POLICY_EXPLAIN_H
#define PUSHGATE_POLICY_EXPLAIN_H

#include "policy/policy.h"

struct policy_step {
	/* A guard: the reason that it would give, and whether it gave it. NULL: the step is a rule.
	 * */
	const struct policy_reason *guard;
	bool holds_up;
	/* A rule, and the condition that does not hold by its name in the configuration; NULL: it
	 * takes the offer. */
	const struct policy_rule *rule;
	const char *condition;
};

/* policy_decide_with, and what was gone through before the verdict, in order. */
struct policy_verdict policy_explain(const struct policy_rules *rules,
    const struct policy_feedback *feedback, const struct policy_offer *offer,
    void (*step)(void *context, const struct policy_step *step), void *context);

#endif
