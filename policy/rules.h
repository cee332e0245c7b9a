/* SPDX-License-Identifier: MIT */
/* Private to policy/: what rules are held against, and how one rule is. */
#ifndef PUSHGATE_POLICY_RULES_H
#define PUSHGATE_POLICY_RULES_H

#include "policy/policy.h"

/* The parts of an offer that conditions look at, cut out once an offer. Borrows from the offer. */
struct policy_facts {
	const struct policy_offer *offer;
	struct slice host;          /* of the parent's authority, without port and trailing dot */
	struct slice path;          /* of the parent, without query */
	struct slice user_agent;    /* empty when there is none */
	struct slice promised_path; /* without query */
	enum policy_type type;
};

/* With offer->promised NULL only the conditions on the request can be asked. */
void policy_facts_init(struct policy_facts *f, const struct policy_offer *offer);

/* Conditions that the client's request alone decides: source, client, host, path, user-agent, and
 * what its connection is like. */
bool policy_rule_takes_request(const struct policy_rule *rule, const struct policy_facts *f);
/* Conditions on what is promised: promised-path, type, method. */
bool policy_rule_takes_promise(const struct policy_rule *rule, const struct policy_facts *f);
/* False: the rule asks nothing of what is promised. */
bool policy_rule_asks_promise(const struct policy_rule *rule);

struct slice policy_path_without_query(struct slice path);

#endif
