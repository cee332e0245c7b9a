/* SPDX-License-Identifier: MIT */
/* Counts the outcomes of a rule's pushes and pauses the rule; feedback.h draws the states. */
#include "policy/feedback.h"
#include "policy/policy.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

static const char *const event_names[POLICY_EVENT_COUNT] = {
    [POLICY_EVENT_OFFERED] = "offered",
    [POLICY_EVENT_FORWARDED] = "forwarded",
    [POLICY_EVENT_HELD] = "held",
    [POLICY_EVENT_HINTED] = "hinted",
    [POLICY_EVENT_SHADOWED] = "shadowed",
    [POLICY_EVENT_USED] = "used",
    [POLICY_EVENT_CLAIMED] = "claimed",
    [POLICY_EVENT_RESET] = "reset",
    [POLICY_EVENT_EXPIRED] = "expired",
    [POLICY_EVENT_WITHDRAWN] = "withdrawn",
};

const char *policy_event_name(enum policy_event event)
{
	ensure((unsigned)event < POLICY_EVENT_COUNT);
	return event_names[event];
}

void policy_feedback_init(struct policy_feedback *f, const struct policy_rules *rules)
{
	*f = (struct policy_feedback){.count = rules->count};
	if (f->count > 0)
		f->tallies = memory_zalloc(f->count * sizeof *f->tallies);
}

void policy_feedback_fini(struct policy_feedback *f)
{
	free(f->tallies);
	*f = (struct policy_feedback){0};
}

static uint32_t sample_of(const struct policy_rule *rule)
{
	return rule->min_sample ? rule->min_sample : FEEDBACK_SAMPLE;
}

static const struct policy_tally *tally_of(
    const struct policy_feedback *f, const struct policy_rule *rule)
{
	ensure(rule->index < f->count);
	return &f->tallies[rule->index];
}

bool policy_feedback_is_paused(
    const struct policy_feedback *f, const struct policy_rule *rule, usec now)
{
	const struct policy_tally *t = tally_of(f, rule);

	/* uncovered: a value outside the enum */
	switch (t->state) {
	case POLICY_RULE_ACTIVE:
		return false;
	case POLICY_RULE_PAUSED:
		return now < t->paused_until;
	case POLICY_RULE_PROBING:
		/*
		 * A probe on a lost connection never reports an end, so new probes start when the
		 * time is over.
		 */
		return t->probes_left == 0 && now < t->paused_until;
	}
	return false;
}

static void pause_rule(struct policy_tally *t, usec now)
{
	usec span = t->pause_usec ? 2 * t->pause_usec : FEEDBACK_PAUSE_USEC;

	t->pause_usec = span < FEEDBACK_PAUSE_MAX_USEC ? span : FEEDBACK_PAUSE_MAX_USEC;
	t->paused_until = now + t->pause_usec;
	t->state = POLICY_RULE_PAUSED;
	t->recent_ended = t->recent_used = t->recent_withdrawn = 0;
}

static bool is_poor(const struct policy_tally *t, const struct policy_rule *rule)
{
	/* A rule with more than half errors is poor, whatever min-used says. */
	if (2 * (uint64_t)t->recent_withdrawn > t->recent_ended)
		return true;
	return (uint64_t)t->recent_used * 10000 < (uint64_t)t->recent_ended * rule->min_used;
}

/* A push of the rule begins. */
static void note_start(struct policy_tally *t, usec now)
{
	bool is_probing = t->state == POLICY_RULE_PROBING && t->probes_left > 0;

	if (t->state == POLICY_RULE_ACTIVE)
		return;
	if (!is_probing && now >= t->paused_until) {
		t->state = POLICY_RULE_PROBING;
		t->paused_until = now + t->pause_usec;
		t->probes_left = FEEDBACK_PROBES;
		t->probes_open = 0;
		is_probing = true;
	}
	if (is_probing) {
		t->probes_left--;
		t->probes_open++;
	}
}

static enum policy_change note_end(
    struct policy_tally *t, const struct policy_rule *rule, enum policy_event event, usec now)
{
	/* A push that began before the pause does not count. */
	if (t->state == POLICY_RULE_PAUSED)
		return POLICY_CHANGE_NONE;
	if (t->recent_ended >= 4 * (uint64_t)sample_of(rule)) {
		t->recent_ended /= 2;
		t->recent_used /= 2;
		t->recent_withdrawn /= 2;
	}
	t->recent_ended++;
	t->recent_used += event == POLICY_EVENT_USED || event == POLICY_EVENT_CLAIMED;
	t->recent_withdrawn += event == POLICY_EVENT_WITHDRAWN;
	if (t->state == POLICY_RULE_ACTIVE) {
		if (t->recent_ended < sample_of(rule) || !is_poor(t, rule))
			return POLICY_CHANGE_NONE;
		pause_rule(t, now);
		return POLICY_CHANGE_PAUSED;
	}
	if (t->probes_open > 0)
		t->probes_open--;
	if (t->probes_left > 0 || t->probes_open > 0)
		return POLICY_CHANGE_NONE;
	/* All probes have ended. Extending a pause is not reported again. */
	if (is_poor(t, rule)) {
		pause_rule(t, now);
		return POLICY_CHANGE_NONE;
	}
	t->state = POLICY_RULE_ACTIVE;
	t->pause_usec = 0;
	return POLICY_CHANGE_RESUMED;
}

enum policy_change policy_feedback_note(
    struct policy_feedback *f, const struct policy_rule *rule, const struct policy_outcome *outcome)
{
	if (!rule)
		return POLICY_CHANGE_NONE;
	ensure(rule->index < f->count && (unsigned)outcome->event < POLICY_EVENT_COUNT);
	struct policy_tally *t = &f->tallies[rule->index];
	t->events[outcome->event]++;
	/* uncovered 2: an ensure() has refused the enum's count and a value outside it */
	switch (outcome->event) {
	case POLICY_EVENT_OFFERED:
	case POLICY_EVENT_HINTED:
	case POLICY_EVENT_SHADOWED:
		return POLICY_CHANGE_NONE;
	case POLICY_EVENT_FORWARDED:
	case POLICY_EVENT_HELD:
		note_start(t, outcome->now);
		return POLICY_CHANGE_NONE;
	case POLICY_EVENT_USED:
	case POLICY_EVENT_CLAIMED:
	case POLICY_EVENT_RESET:
	case POLICY_EVENT_EXPIRED:
	case POLICY_EVENT_WITHDRAWN:
		return note_end(t, rule, outcome->event, outcome->now);
	case POLICY_EVENT_COUNT:
		break;
	}
	return POLICY_CHANGE_NONE;
}

uint32_t policy_feedback_used_rate(const struct policy_tally *t)
{
	uint64_t used = t->events[POLICY_EVENT_USED] + t->events[POLICY_EVENT_CLAIMED];
	uint64_t ended = used + t->events[POLICY_EVENT_RESET] + t->events[POLICY_EVENT_EXPIRED] +
			 t->events[POLICY_EVENT_WITHDRAWN];

	return ended ? (uint32_t)(used * 10000 / ended) : 0;
}
