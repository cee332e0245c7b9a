/* SPDX-License-Identifier: MIT */
/*
 * The decision: offer guards, rules, default, action guards; and, before an offer exists, whether
 * pushes could be useful. Pure functions: the caller carries out and counts the verdict. guards.c
 * has the guards; review.c reviews a push when its response begins.
 */
#include "policy/policy.h"
#include "policy/guards.h"
#include "policy/rules.h"

/* ---- the decision ---- */

static enum policy_action action_of_parts(unsigned parts)
{
	enum policy_action action = POLICY_FORWARD;

	while (policy_action_parts(action) != parts)
		action++;
	return action;
}

static struct policy_verdict decide_action(const struct policy_question *q)
{
	enum policy_action action = q->rule ? q->rule->action : q->rules->fallback;
	struct policy_verdict verdict = {
	    action, q->rule ? &policy_reason_RULE : &policy_reason_DEFAULT, q->rule, NULL};
	unsigned parts = policy_action_parts(action);

	for (const struct policy_action_guard *guard = policy_action_guards;
	     parts != 0 && guard->parts != 0; guard++) {
		if ((parts & guard->parts) == 0)
			continue;
		bool holds_up = policy_guard_holds_up(&guard->guard, q);
		const struct policy_reason *reason =
		    guard->reason ? guard->reason : guard->reason_of(q->offer);
		if (q->watch)
			q->watch->guard(q->watch, reason, holds_up);
		if (!holds_up)
			continue;
		parts &= ~(unsigned)guard->parts;
		if (parts == 0)
			return (struct policy_verdict){
			    POLICY_DROP, reason, guard->names_rule ? q->rule : NULL, NULL};
		verdict.action = action_of_parts(parts);
		verdict.lost_half = reason;
	}
	return verdict;
}

/*
 * Finds the first live rule that matches the offer, and the first matching shadow rule before it. False: it is
 * unknown which, since the request's patterns have cost as much as they may.
 */
static bool match(const struct policy_question *q, const struct policy_rule **live,
    const struct policy_rule **shadow)
{
	const struct policy_rules *rules = q->rules;
	struct policy_facts facts;

	*live = *shadow = NULL;
	policy_facts_init(&facts, q->offer);
	for (size_t i = 0; i < rules->count; i++) {
		const struct policy_rule *rule = &rules->rules[i];
		if (rule->shadow && *shadow)
			continue;
		bool takes = policy_rule_takes_promise(rule, &facts) &&
			     policy_rule_takes_remembered(rules, rule, &facts);
		if (facts.effort->is_used_up)
			return false;
		if (q->watch)
			policy_watch_rule(q->watch, rule, &facts, takes);
		if (!takes)
			continue;
		*(rule->shadow ? shadow : live) = rule;
		if (!rule->shadow)
			return true;
	}
	return true;
}

struct policy_verdict policy_decide_with(const struct policy_rules *rules,
    const struct policy_feedback *feedback, const struct policy_offer *offer,
    struct policy_verdict *shadow, const struct policy_watch *watch)
{
	struct policy_question q = {rules, feedback, offer, NULL, watch};
	const struct policy_rule *live, *shadowed;

	if (shadow)
		*shadow = (struct policy_verdict){POLICY_DROP, &policy_reason_SHADOW, NULL, NULL};
	for (const struct policy_offer_guard *guard = policy_offer_guards; guard->reason; guard++) {
		bool holds_up = policy_guard_holds_up(&guard->guard, &q);
		if (watch)
			watch->guard(watch, guard->reason, holds_up);
		if (holds_up)
			return (struct policy_verdict){POLICY_DROP, guard->reason, NULL, NULL};
	}
	if (!match(&q, &live, &shadowed))
		return (struct policy_verdict){POLICY_DROP, &policy_reason_MATCH_LIMIT, NULL, NULL};
	if (shadow && shadowed) {
		q.rule = shadowed;
		q.watch = NULL;
		*shadow = decide_action(&q);
		if (shadow->reason == &policy_reason_RULE)
			shadow->reason = &policy_reason_SHADOW;
		shadow->rule = shadowed;
	}
	q.rule = live;
	q.watch = watch;
	return decide_action(&q);
}

/* ---- before anything is promised ---- */

static bool action_is_useful(
    enum policy_action action, const struct policy_rule *rule, const struct policy_offer *facts)
{
	unsigned parts = policy_action_parts(action);

	if (policy_is_speculative(rule, facts))
		return false;
	if (!facts->client_push_enabled || !facts->client_accepts_streams ||
	    facts->client_going_away)
		parts &= ~(unsigned)POLICY_PART_FORWARD;
	if (facts->hold_refusal || facts->client_going_away)
		parts &= ~(unsigned)POLICY_PART_HOLD;
	if (!policy_may_hint(rule, facts))
		parts &= ~(unsigned)POLICY_PART_HINT;
	return parts != 0;
}

/* Not inlined: every request asks, most configurations have no rules, and facts take a large frame. */
static __attribute__((noinline)) bool rules_want(
    const struct policy_rules *rules, const struct policy_offer *facts, bool wants_shadow)
{
	struct policy_facts f;

	policy_facts_init(&f, facts);
	for (size_t i = 0; i < rules->count; i++) {
		const struct policy_rule *rule = &rules->rules[i];
		if (rule->shadow && !wants_shadow)
			continue;
		bool takes = policy_rule_takes_remembered(rules, rule, &f);
		if (f.effort->is_used_up) /* every offer would be dropped */
			return false;
		if (!takes)
			continue;
		if (action_is_useful(rule->action, rule, facts))
			return true;
		/* else the rule matches every offer of this request */
		if (!rule->shadow && !policy_rule_asks_promise(rule))
			return false;
	}
	return action_is_useful(rules->fallback, NULL, facts);
}

static inline bool wants(
    const struct policy_rules *rules, const struct policy_offer *facts, bool wants_shadow)
{
	if (facts->parent_is_push || facts->parent_gone)
		return false;
	if (rules->count == 0)
		return action_is_useful(rules->fallback, NULL, facts);
	return rules_want(rules, facts, wants_shadow);
}

bool policy_wants_pushes(const struct policy_rules *rules, const struct policy_offer *facts)
{
	return wants(rules, facts, false);
}

bool policy_wants_offers(const struct policy_rules *rules, const struct policy_offer *facts)
{
	return wants(rules, facts, true);
}

static bool has_action(const struct policy_rules *rules, unsigned parts)
{
	if (policy_action_parts(rules->fallback) & parts)
		return true;
	for (size_t i = 0; i < rules->count; i++)
		if (policy_action_parts(rules->rules[i].action) & parts)
			return true;
	return false;
}

bool policy_holds_or_hints(const struct policy_rules *rules)
{
	return has_action(rules, POLICY_PART_HOLD | POLICY_PART_HINT);
}

bool policy_hints(const struct policy_rules *rules)
{
	return has_action(rules, POLICY_PART_HINT);
}

bool policy_ignores_resources(const struct policy_rules *rules)
{
	bool ignores = true;
	for (size_t i = 0; i < rules->count && ignores; i++) {
		const struct policy_rule *r = &rules->rules[i];
		ignores = r->types == 0 && r->methods == 0 && r->promised_paths.count == 0 &&
			  r->destination_count == 0 && r->min_used == 0 && !r->shadow;
	}
	return ignores;
}

static bool say_interim(const struct policy_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		if (rules->rules[i].interim != POLICY_ANY)
			return true;
	return false;
}

/* Not inlined, as above. */
static __attribute__((noinline)) enum policy_tristate interim_of(
    const struct policy_rules *rules, const struct policy_offer *facts)
{
	struct policy_facts f;

	policy_facts_init(&f, facts);
	for (size_t i = 0; i < rules->count; i++) {
		const struct policy_rule *rule = &rules->rules[i];
		if (rule->shadow)
			continue;
		bool takes = policy_rule_takes_remembered(rules, rule, &f);
		if (f.effort->is_used_up)
			return POLICY_NO;
		if (!takes)
			continue;
		if (rule->interim != POLICY_ANY)
			return rule->interim;
		if (rule->sources == 0 && !policy_rule_asks_promise(rule))
			return POLICY_ANY;
	}
	return POLICY_ANY;
}

enum policy_tristate policy_interim(
    const struct policy_rules *rules, const struct policy_offer *facts)
{
	return say_interim(rules) ? interim_of(rules, facts) : POLICY_ANY;
}
