/* SPDX-License-Identifier: MIT */
/*
 * Reports the steps of a decision. Only rules.c decides whether a rule matches: to test one
 * condition, a rule with only this condition is made and matched.
 */
#include "policy/explanation.h"
#include "policy/rules.h"
#include "proxy/base/ensure.h"
#include "proxy/base/list.h"

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
    {"destination", MEMBERS(destinations, destination_count)},
    {"host", MEMBERS(hosts, hosts)},
    {"path", MEMBERS(paths, paths)},
    {"promised-path", MEMBERS(promised_paths, promised_paths)},
    {"user-agent", MEMBERS(user_agents, user_agents)},
    {"type", MEMBERS(types, types)},
    {"method", MEMBERS(methods, methods)},
    {"version", MEMBERS(versions, versions)},
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

struct reporter {
	struct policy_watch watch;
	void (*step)(void *context, const struct policy_step *step);
	void *context;
};

static void report_guard(
    const struct policy_watch *watch, const struct policy_reason *reason, bool holds_up)
{
	const struct reporter *t = container_of(watch, const struct reporter, watch);
	const struct policy_step step = {.guard = reason, .holds_up = holds_up};

	if (reason) /* NULL: the guard takes its reason from the offer, and this offer has none */
		t->step(t->context, &step);
}

static void report_rule(const struct policy_watch *watch, const struct policy_rule *rule,
    const struct policy_facts *facts, bool takes)
{
	const struct reporter *t = container_of(watch, const struct reporter, watch);
	const struct policy_step step = {.rule = rule, .condition = failure_of(rule, facts)};

	ensure(takes == (step.condition == NULL));
	t->step(t->context, &step);
}

struct policy_verdict policy_explain(const struct policy_rules *rules,
    const struct policy_feedback *feedback, const struct policy_offer *offer,
    void (*step)(void *context, const struct policy_step *step), void *context)
{
	const struct reporter reporter = {{report_guard, report_rule}, step, context};

	return policy_decide_watched(rules, feedback, offer, NULL, &reporter.watch);
}
