/* SPDX-License-Identifier: MIT */
/* Adding up the workers' counters and printing them, and the names of outcomes. */
#include "proxy/base/ensure.h"
#include "proxy/observe/observe.h"

_Static_assert(sizeof(struct observe_counters) % sizeof(uint64_t) == 0, "nothing but counters");

void observe_counters_add(struct observe_counters *a, const struct observe_counters *b)
{
#define ADD(name, text) a->name += b->name;
	OBSERVE_COUNTERS(ADD)
#undef ADD
	for (size_t source = 0; source < POLICY_SOURCE_COUNT; source++)
		for (size_t action = 0; action < POLICY_ACTION_COUNT; action++)
			for (size_t reason = 0; reason < POLICY_REASON_COUNT; reason++)
				a->push[source][action][reason] += b->push[source][action][reason];
}

static void print_push(const struct observe_counters *c, FILE *out, enum policy_source source,
    enum policy_action action, size_t reason)
{
	uint64_t n = c->push[source][action][reason];
	if (n > 0)
		fprintf(out,
		    "pushgate_push_total{source=\"%s\",verdict=\"%s\",reason=\"%s\"} %llu\n",
		    policy_source_name(source), policy_action_name(action),
		    policy_reason_table[reason]->code, (unsigned long long)n);
}

void observe_counters_print(const struct observe_counters *c, FILE *out)
{
#define PRINT(name, text) fprintf(out, #name " %llu\n", (unsigned long long)c->name);
	OBSERVE_COUNTERS(PRINT)
#undef PRINT
	for (enum policy_source source = 0; source < POLICY_SOURCE_COUNT; source++)
		for (enum policy_action action = 0; action < POLICY_ACTION_COUNT; action++)
			for (size_t reason = 0; reason < POLICY_REASON_COUNT; reason++)
				print_push(c, out, source, action, reason);
}

const char *observe_outcome_name(enum observe_outcome o)
{
	switch (o) {
	case OBSERVE_COMPLETE:
		return "complete";
	case OBSERVE_CLIENT_RESET:
		return "client-reset";
	case OBSERVE_CLIENT_LOST:
		return "client-lost";
	case OBSERVE_ORIGIN_RESET:
		return "origin-reset";
	case OBSERVE_ORIGIN_LOST:
		return "origin-lost";
	case OBSERVE_TIMEOUT:
		return "timeout";
	case OBSERVE_MALFORMED:
		return "malformed";
	case OBSERVE_REFUSED:
		return "refused";
	case OBSERVE_OUTCOME_COUNT:
		break;
	}
	ensure(o < OBSERVE_OUTCOME_COUNT);
	return "";
}
