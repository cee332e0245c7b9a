/* SPDX-License-Identifier: MIT */
/* Adds up and prints the workers' counters; names of outcomes. */
#include "proxy/base/ensure.h"
#include "proxy/observe/observe.h"

_Static_assert(
    sizeof(struct observe_counters) % sizeof(uint64_t) == 0, "the struct holds only counters");

static void add_rule(struct observe_rule *a, const struct observe_rule *b)
{
	for (size_t event = 0; event < POLICY_EVENT_COUNT; event++)
		a->events[event] += b->events[event];
	a->used_bytes += b->used_bytes;
	a->wasted_bytes += b->wasted_bytes;
	a->reset_usec += b->reset_usec;
}

void observe_counters_add(struct observe_counters *a, const struct observe_counters *b)
{
#define ADD(name, text) a->name += b->name;
	OBSERVE_COUNTERS(ADD)
#undef ADD
	for (size_t source = 0; source < POLICY_SOURCE_COUNT; source++)
		for (size_t action = 0; action < POLICY_ACTION_COUNT; action++)
			for (size_t reason = 0; reason < POLICY_REASON_COUNT; reason++)
				a->push[source][action][reason] += b->push[source][action][reason];
	for (size_t i = 0; i <= OBSERVE_RULES; i++)
		add_rule(&a->rules[i], &b->rules[i]);
	for (size_t i = 0; i < OBSERVE_FAULTS; i++) {
		a->faults[OBSERVE_CLIENT][i] += b->faults[OBSERVE_CLIENT][i];
		a->faults[OBSERVE_ORIGIN][i] += b->faults[OBSERVE_ORIGIN][i];
	}
	for (size_t i = 0; i < OBSERVE_CAUSES; i++)
		a->causes[i] += b->causes[i];
	for (size_t i = 0; i < OBSERVE_MISSES; i++)
		a->misses[i] += b->misses[i];
	for (size_t i = 0; i < OBSERVE_PLACES; i++) {
		if (a->push_off_until[i] < b->push_off_until[i])
			a->push_off_until[i] = b->push_off_until[i];
		a->push_off_connections_open[i] += b->push_off_connections_open[i];
	}
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

static void print_rule(const struct observe_rule *r, const char *name, FILE *out)
{
	struct policy_tally tally = {0};
	uint64_t ended = 0;
	for (enum policy_event event = 0; event < POLICY_EVENT_COUNT; event++) {
		tally.events[event] = r->events[event];
		if (event >= POLICY_EVENT_USED)
			ended += r->events[event];
		if (r->events[event] > 0)
			fprintf(out, "pushgate_rule_total{rule=\"%s\",event=\"%s\"} %llu\n", name,
			    policy_event_name(event), (unsigned long long)r->events[event]);
	}
	if (r->used_bytes > 0)
		fprintf(out, "pushgate_rule_bytes_total{rule=\"%s\",outcome=\"used\"} %llu\n", name,
		    (unsigned long long)r->used_bytes);
	if (r->wasted_bytes > 0)
		fprintf(out, "pushgate_rule_bytes_total{rule=\"%s\",outcome=\"wasted\"} %llu\n",
		    name, (unsigned long long)r->wasted_bytes);
	if (r->reset_usec > 0)
		fprintf(out, "pushgate_rule_reset_usec_total{rule=\"%s\"} %llu\n", name,
		    (unsigned long long)r->reset_usec);
	if (ended > 0)
		fprintf(out, "pushgate_rule_used_rate{rule=\"%s\"} %.4f\n", name,
		    policy_feedback_used_rate(&tally) / 10000.0);
}

void observe_rules_print(
    const struct observe_counters *c, const struct policy_rules *rules, FILE *out)
{
	for (size_t i = 0; i < rules->count && i < OBSERVE_RULES; i++)
		print_rule(&c->rules[i], rules->rules[i].name, out);
	print_rule(&c->rules[OBSERVE_RULES], "other", out);
}

void observe_faults_print(
    const struct observe_counters *c, const char *(*name)(size_t index), FILE *out)
{
	static const char *const sides[] = {
	    [OBSERVE_CLIENT] = "client", [OBSERVE_ORIGIN] = "origin"};
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < OBSERVE_FAULTS && name(i); i++)
			if (c->faults[side][i] > 0)
				fprintf(out,
				    "pushgate_fault_total{side=\"%s\",fault=\"%s\"} %llu\n",
				    sides[side], name(i), (unsigned long long)c->faults[side][i]);
}

void observe_causes_print(
    const struct observe_counters *c, const char *(*name)(size_t index), FILE *out)
{
	for (size_t i = 0; i < OBSERVE_CAUSES && name(i); i++)
		if (c->causes[i] > 0)
			fprintf(out, "pushgate_end_total{cause=\"%s\"} %llu\n", name(i),
			    (unsigned long long)c->causes[i]);
}

void observe_misses_print(
    const struct observe_counters *c, const char *(*name)(size_t index), FILE *out)
{
	for (size_t i = 0; i < OBSERVE_MISSES && name(i); i++)
		if (c->misses[i] > 0)
			fprintf(out, "pushgate_hold_missed_total{cause=\"%s\"} %llu\n", name(i),
			    (unsigned long long)c->misses[i]);
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
