/* SPDX-License-Identifier: MIT */
/*
 * A decision, step by step: the guards that were asked, the rules that were tried, and which
 * condition of a rule did not match. It runs the same code as policy_decide_with, and is as pure.
 */
#ifndef PUSHGATE_POLICY_EXPLANATION_H
#define PUSHGATE_POLICY_EXPLANATION_H

#include "policy/policy.h"

struct policy_step {
	/* A guard's reason, and whether the guard refused. NULL: the step is a rule. */
	const struct policy_reason *guard;
	bool holds_up;
	/*
	 * A rule, and the configuration's name of its first condition that does not match; NULL:
	 * the rule matches.
	 */
	const struct policy_rule *rule;
	const char *condition;
};

/* policy_decide_with; also calls `step` for each step, in order. */
struct policy_verdict policy_explain(const struct policy_rules *rules,
    const struct policy_feedback *feedback, const struct policy_offer *offer,
    void (*step)(void *context, const struct policy_step *step), void *context);

#endif
