/* SPDX-License-Identifier: MIT */
/*
 * Reports to the policy how each rule's pushes ended, and counts it; the policy pauses a rule of
 * which too few pushes are used. Called when an offer is decided and when its push has ended.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/memory.h"
#include <stdio.h>

/* The most frequent cause of the rule's misses; HOLD_FITS: it has none. */
static enum hold_miss most_frequent(const struct rule_misses *m, uint32_t *of)
{
	enum hold_miss most = HOLD_FITS;
	for (unsigned miss = 0; miss < HOLD_MISS_COUNT; miss++) {
		*of += m->count[miss];
		if (m->count[miss] > m->count[most])
			most = (enum hold_miss)miss;
	}
	return most;
}

static void log_pause(struct gateway *g, const struct policy_rule *rule)
{
	const struct policy_tally *t = &g->feedback.tallies[rule->index];
	struct rule_misses *m = &g->rule_misses[rule->index];
	char why[256] = "";
	uint32_t of = 0;
	enum hold_miss most = most_frequent(m, &of);
	if (most)
		snprintf(why, sizeof(why), "; mostly for this cause: %s (%u of %u): %s",
		    hold_miss_name(most), m->count[most], of, hold_miss_advice(most));
	observe_log(g->env.observe, OBSERVE_WARN,
	    "push %s: too little of what it pushed was of use (%u.%02u %% of all so far): "
	    "it pauses for %llu s%s",
	    rule->name, policy_feedback_used_rate(t) / 100, policy_feedback_used_rate(t) % 100,
	    (unsigned long long)(t->pause_usec / USEC_PER_SEC), why);
	*m = (struct rule_misses){0}; /* the next pause counts anew */
}

static void log_change(struct gateway *g, const struct policy_rule *rule, enum policy_change change)
{
	switch (change) {
	case POLICY_CHANGE_NONE:
		return;
	case POLICY_CHANGE_PAUSED:
		log_pause(g, rule);
		return;
	case POLICY_CHANGE_RESUMED:
		observe_log(g->env.observe, OBSERVE_INFO,
		    "push %s: its pushes are of use again: the pause is over", rule->name);
		return;
	}
}

static struct observe_rule *counters_of(const struct gateway *g, const struct policy_rule *rule)
{
	uint32_t slot = rule->index < OBSERVE_RULES ? rule->index : OBSERVE_RULES;
	return &g->env.observe->counters->rules[slot];
}

static void report(struct gateway *g, const struct policy_rule *rule, struct policy_outcome outcome)
{
	if (!rule)
		return;
	struct observe_rule *counters = counters_of(g, rule);
	bool is_used = policy_event_is_use(outcome.event);
	counters->events[outcome.event]++;
	counters->used_bytes += is_used ? outcome.bytes : 0;
	counters->wasted_bytes += is_used ? 0 : outcome.bytes;
	counters->reset_usec += outcome.span;
	outcome.now = g->relay.now;
	log_change(g, rule, policy_feedback_note(&g->feedback, rule, &outcome));
}

void feedback_event(struct gateway *g, const struct policy_rule *rule, enum policy_event event)
{
	report(g, rule, (struct policy_outcome){.event = event});
}

void feedback_init(struct gateway *g)
{
	policy_feedback_init(&g->feedback, &g->env.conf->policy);
	if (g->feedback.count > 0)
		g->rule_misses = memory_zalloc(g->feedback.count * sizeof *g->rule_misses);
	hint_uses_init(g);
	g->relay.feedback = &g->feedback;
}

void feedback_fini(struct gateway *g)
{
	hint_uses_fini(g);
	policy_feedback_fini(&g->feedback);
	free(g->rule_misses);
}

static bool has_hint(const struct policy_verdict *v)
{
	return v->action == POLICY_HINT || v->action == POLICY_HINT_HOLD;
}

/* Nothing that such an event says pauses a rule or ends a pause. */
static void count(struct gateway *g, const struct policy_rule *rule, enum policy_event event)
{
	counters_of(g, rule)->events[event]++;
	policy_feedback_count(&g->feedback, rule->index, event);
}

void feedback_decided(struct gateway *g, const struct policy_verdict *verdict)
{
	if (!verdict->rule)
		return;
	count(g, verdict->rule, POLICY_EVENT_OFFERED);
	if (has_hint(verdict))
		count(g, verdict->rule, POLICY_EVENT_HINTED);
}

void feedback_made(struct gateway *g, const struct exchange *push)
{
	const struct policy_verdict *v = &push->pushed.verdict;
	feedback_decided(g, v);
	feedback_event(g, v->rule,
	    push->pushed.state == PUSH_HELD ? POLICY_EVENT_HELD : POLICY_EVENT_FORWARDED);
}

void feedback_shadowed(void *context, struct exchange *parent, const struct policy_verdict *verdict)
{
	struct gateway *g = context;
	(void)parent;
	feedback_event(g, verdict->rule, POLICY_EVENT_OFFERED);
	if (verdict->reason == &policy_reason_SHADOW) /* otherwise a guard would have refused it */
		feedback_event(g, verdict->rule, POLICY_EVENT_SHADOWED);
}

/* Only a push that we requested ourselves counts against its rule when it is withdrawn. */
static bool is_requested_by_us(const struct exchange *push)
{
	return push->pushed.source != POLICY_RELAYED;
}

void feedback_ended(struct gateway *g, const struct exchange *push, enum observe_outcome outcome)
{
	struct policy_outcome o = {.bytes = push->download.forwarded};
	if (outcome == OBSERVE_COMPLETE) {
		o.event = POLICY_EVENT_USED;
	} else if (outcome == OBSERVE_CLIENT_RESET) {
		o.event = POLICY_EVENT_RESET;
		o.span = g->relay.now - push->timing.started;
	} else if (push->ending.cause == &relay_cause_POLICY && is_requested_by_us(push)) {
		o.event = POLICY_EVENT_WITHDRAWN;
	} else {
		return; /* says nothing about the rule */
	}
	report(g, push->pushed.verdict.rule, o);
}

void feedback_held(struct gateway *g, const struct hold_note *held)
{
	struct policy_outcome o = {.bytes = held->wasted_bytes};
	if (!held->push)
		return;
	const struct policy_rule *rule = held->push->pushed.verdict.rule;
	/* A held response that could answer no request at all counts too: the rule may pause because of it. */
	if (rule && held->miss != HOLD_FITS)
		g->rule_misses[rule->index].count[held->miss]++;
	switch (held->outcome) {
	case HOLD_CLAIMED:
		o.event = POLICY_EVENT_CLAIMED;
		o.bytes = held->claimer ? held->claimer->download.forwarded : 0;
		break;
	case HOLD_EVICTED:
		if (held->reason == &policy_reason_HOLD_SHED)
			return; /* says nothing about the rule */
		o.event = POLICY_EVENT_EXPIRED;
		break;
	case HOLD_EXPIRED:
		if (held->reason == &policy_reason_PAGE_LEFT)
			return;
		o.event = POLICY_EVENT_EXPIRED;
		break;
	case HOLD_INVALIDATED:
		o.event = POLICY_EVENT_EXPIRED;
		break;
	case HOLD_WITHDRAWN:
		o.event =
		    is_requested_by_us(held->push) ? POLICY_EVENT_WITHDRAWN : POLICY_EVENT_EXPIRED;
		break;
	case HOLD_FAILED:
	case HOLD_MISSED:
	case HOLD_OUTCOME_COUNT:
		return;
	}
	report(g, rule, o);
}
