/* SPDX-License-Identifier: MIT */
/* Private to policy/: the facts that conditions read, and the matching of one rule. */
#ifndef PUSHGATE_POLICY_RULES_H
#define PUSHGATE_POLICY_RULES_H

#include "policy/policy.h"

/* The parts of an offer that conditions read, extracted once per offer. Borrows from the offer. */
struct policy_facts {
	const struct policy_offer *offer;
	unsigned version;           /* enum http_version of the parent */
	struct slice host;          /* of the parent's authority, without port and trailing dot */
	struct slice path;          /* of the parent, without query */
	struct slice user_agent;    /* empty when there is none */
	struct slice promised_path; /* without query */
	enum policy_type type;
	struct effort *effort; /* the offer's, or `own` */
	struct effort own;
};

/* With offer->promised NULL only policy_rule_takes_request may be called. */
void policy_facts_init(struct policy_facts *f, const struct policy_offer *offer);

/*
 * Whether the conditions on the request match: source, version, client, user, destination, host, path, user-agent, and
 * the properties of its connection.
 */
bool policy_rule_takes_request(const struct policy_rule *rule, const struct policy_facts *f);
/* The same for a rule of the offer's rules. Conditions that cannot change while the request lasts are asked once. */
bool policy_rule_takes_remembered(
    const struct policy_rules *rules, const struct policy_rule *rule, const struct policy_facts *f);
/* Whether the conditions on the promised resource match: promised-path, type, method. */
bool policy_rule_takes_promise(const struct policy_rule *rule, const struct policy_facts *f);
/* Whether the rule has conditions on the promised resource. */
bool policy_rule_asks_promise(const struct policy_rule *rule);

struct slice policy_path_without_query(struct slice path);

/* Tells the watcher of a rule that was tried. takes: whether it matches. */
void policy_watch_rule(const struct policy_watch *watch, const struct policy_rule *rule,
    const struct policy_facts *facts, bool takes);

#endif
