/* SPDX-License-Identifier: MIT */
/*
 * Tells which condition of a rule does not match. Only rules.c decides whether a rule matches: to test one
 * condition, a rule with only this condition is made and matched.
 */
#include "policy/rules.h"
#include "proxy/base/ensure.h"

/* The members of a rule that are one condition: from the first to the last. */
#define MEMBERS(first, last)                                                                       \
	offsetof(struct policy_rule, first),                                                       \
	    offsetof(struct policy_rule, last) + sizeof(((struct policy_rule *)NULL)->last)

static const struct condition {
	const char *name; /* its key in the configuration */
	size_t begin, end;
} conditions[] = {
    {"source", MEMBERS(sources, sources)},
    {"client", MEMBERS(clients, client_count)},
    {"user", MEMBERS(users, user_count)},
    {"cert", MEMBERS(certs, cert_count)},
    {"destination", MEMBERS(destinations, destination_count)},
    {"host", MEMBERS(hosts, hosts)},
    {"path", MEMBERS(paths, paths)},
    {"promised-path", MEMBERS(promised_paths, promised_paths)},
    {"user-agent", MEMBERS(user_agents, user_agents)},
    {"type", MEMBERS(types, types)},
    {"method", MEMBERS(methods, methods)},
    {"version", MEMBERS(versions, versions)},
    {"purpose", MEMBERS(purposes, purposes)},
    {"push-enabled", MEMBERS(push_enabled, push_enabled)},
    {"save-data", MEMBERS(save_data, save_data)},
    {"navigation", MEMBERS(navigation, navigation)},
    {"rtt", MEMBERS(rtt_compare, rtt_usec)},
    {"share", MEMBERS(share, share)},
};

static const char *failure_of(const struct policy_rule *rule, const struct policy_facts *facts)
{
	for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
		const struct condition *c = &conditions[i];
		struct policy_rule alone = {.name = rule->name};
		memcpy((char *)&alone + c->begin, (const char *)rule + c->begin, c->end - c->begin);
		if (!policy_rule_takes_request(&alone, facts) ||
		    !policy_rule_takes_promise(&alone, facts))
			return c->name;
	}
	return NULL;
}

void policy_watch_rule(const struct policy_watch *watch, const struct policy_rule *rule,
    const struct policy_facts *facts, bool takes)
{
	const char *condition = failure_of(rule, facts);

	ensure(takes == (condition == NULL));
	watch->rule(watch, rule, condition);
}
