/* SPDX-License-Identifier: MIT */
/* Private to policy/: the decision with somebody looking on. There is one decision; explain.c
 * watches it. */
#ifndef PUSHGATE_POLICY_WATCH_H
#define PUSHGATE_POLICY_WATCH_H

#include "policy/rules.h"

struct policy_watch {
	/* A guard was asked; the reason that it would give. */
	void (*guard)(
	    const struct policy_watch *watch, const struct policy_reason *reason, bool holds_up);
	void (*rule)(const struct policy_watch *watch, const struct policy_rule *rule,
	    const struct policy_facts *facts, bool takes);
};

/* policy_decide_with; watch may be NULL. The answer for the shadow rule is not watched. */
struct policy_verdict policy_decide_watched(const struct policy_rules *rules,
    const struct policy_feedback *feedback, const struct policy_offer *offer,
    struct policy_verdict *shadow, const struct policy_watch *watch);

#endif
