/* SPDX-License-Identifier: MIT */
/* A decision without feedback: no rule is paused; shadow rules have no effect. */
#ifndef PUSHGATE_TESTS_DECIDE_H
#define PUSHGATE_TESTS_DECIDE_H

#include "policy/policy.h"

static inline struct policy_verdict policy_decide(
    const struct policy_rules *rules, const struct policy_offer *offer)
{
	return policy_decide_with(rules, NULL, offer, NULL, NULL);
}

#endif
