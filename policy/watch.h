/* SPDX-License-Identifier: MIT */
/*
 * Private to policy/: callbacks that watch a decision. explanation.c uses them, so that it needs no
 * decision of its own.
 */
#ifndef PUSHGATE_POLICY_WATCH_H
#define PUSHGATE_POLICY_WATCH_H

#include "policy/rules.h"

struct policy_watch {
	/*
	 * Called for each guard asked, with its reason (NULL: none for this offer) and whether it
	 * refused.
	 */
	void (*guard)(
	    const struct policy_watch *watch, const struct policy_reason *reason, bool holds_up);
	void (*rule)(const struct policy_watch *watch, const struct policy_rule *rule,
	    const struct policy_facts *facts, bool takes);
};

/* policy_decide_with; watch may be NULL. The shadow rule's verdict is not watched. */
struct policy_verdict policy_decide_watched(const struct policy_rules *rules,
    const struct policy_feedback *feedback, const struct policy_offer *offer,
    struct policy_verdict *shadow, const struct policy_watch *watch);

#endif
