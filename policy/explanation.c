/* SPDX-License-Identifier: MIT */
/*
 * Reports the steps of a decision. Only rules.c decides whether a rule matches: to test one
 * condition, a rule with only this condition is made and matched.
 */
#include "policy/explanation.h"
#include "policy/watch.h"
#include "proxy/base/ensure.h"
#include "proxy/base/list.h"

#define COPY(member)                                                                               \
	static void copy_##member(struct policy_rule *to, const struct policy_rule *from)          \
	{                                                                                          \
		to->member = from->member;                                                         \
	}
COPY(sources)
COPY(hosts)
COPY(paths)
COPY(promised_paths)
COPY(user_agents)
COPY(types)
COPY(methods)
COPY(versions)
COPY(push_enabled)
COPY(save_data)
COPY(navigation)
COPY(share)
#undef COPY

static void copy_clients(struct policy_rule *to, const struct policy_rule *from)
{
	to->clients = from->clients;
	to->client_count = from->client_count;
}

static void copy_users(struct policy_rule *to, const struct policy_rule *from)
{
	to->users = from->users;
	to->user_count = from->user_count;
}

static void copy_destinations(struct policy_rule *to, const struct policy_rule *from)
{
	to->destinations = from->destinations;
	to->destination_count = from->destination_count;
}

static void copy_rtt(struct policy_rule *to, const struct policy_rule *from)
{
	to->rtt_compare = from->rtt_compare;
	to->rtt_usec = from->rtt_usec;
}

static const struct condition {
	const char *name; /* its key in the configuration */
	void (*copy)(struct policy_rule *to, const struct policy_rule *from);
} conditions[] = {
    {"source", copy_sources},
    {"client", copy_clients},
    {"user", copy_users},
    {"destination", copy_destinations},
    {"host", copy_hosts},
    {"path", copy_paths},
    {"promised-path", copy_promised_paths},
    {"user-agent", copy_user_agents},
    {"type", copy_types},
    {"method", copy_methods},
    {"version", copy_versions},
    {"push-enabled", copy_push_enabled},
    {"save-data", copy_save_data},
    {"navigation", copy_navigation},
    {"rtt", copy_rtt},
    {"share", copy_share},
};

static const char *failure_of(const struct policy_rule *rule, const struct policy_facts *facts)
{
	for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
		struct policy_rule alone = {.name = rule->name};
		conditions[i].copy(&alone, rule);
		if (!policy_rule_takes_request(&alone, facts) ||
		    !policy_rule_takes_promise(&alone, facts))
			return conditions[i].name;
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
