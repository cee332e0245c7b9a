/* SPDX-License-Identifier: MIT */
/* Counts the outcomes of a rule's pushes and pauses the rule; feedback.h draws the states. */
#include "policy/feedback.h"
#include "policy/policy.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

enum event_kind { COUNTS, BEGINS, ENDS };

static const struct {
	const char *name;
	enum event_kind kind; /* what it is in the life of a push */
} events[POLICY_EVENT_COUNT] = {
    [POLICY_EVENT_OFFERED] = {"offered", COUNTS},
    [POLICY_EVENT_FORWARDED] = {"forwarded", BEGINS},
    [POLICY_EVENT_HELD] = {"held", BEGINS},
    [POLICY_EVENT_HINTED] = {"hinted", COUNTS},
    [POLICY_EVENT_SHADOWED] = {"shadowed", COUNTS},
    [POLICY_EVENT_AWAITED] = {"awaited", BEGINS},
    [POLICY_EVENT_USED] = {"used", ENDS},
    [POLICY_EVENT_CLAIMED] = {"claimed", ENDS},
    [POLICY_EVENT_FOLLOWED] = {"followed", ENDS},
    [POLICY_EVENT_RESET] = {"reset", ENDS},
    [POLICY_EVENT_EXPIRED] = {"expired", ENDS},
    [POLICY_EVENT_IGNORED] = {"ignored", ENDS},
    [POLICY_EVENT_WITHDRAWN] = {"withdrawn", ENDS},
};

const char *policy_event_name(enum policy_event event)
{
	ensure((unsigned)event < POLICY_EVENT_COUNT);
	return events[event].name;
}

bool policy_event_is_use(enum policy_event event)
{
	return event == POLICY_EVENT_USED || event == POLICY_EVENT_CLAIMED ||
	       event == POLICY_EVENT_FOLLOWED;
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

	/* A probe on a lost connection never reports an end, so new probes start when the time is over. */
	if (t->state == POLICY_RULE_ACTIVE ||
	    (t->state == POLICY_RULE_PROBING && t->probes_left > 0))
		return false;
	return now < t->paused_until;
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
	t->recent_used += policy_event_is_use(event);
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
	enum event_kind kind = events[outcome->event].kind;
	if (kind == BEGINS)
		note_start(t, outcome->now);
	return kind == ENDS ? note_end(t, rule, outcome->event, outcome->now) : POLICY_CHANGE_NONE;
}

uint32_t policy_feedback_used_rate(const struct policy_tally *t)
{
	uint64_t used = 0, ended = 0;

	for (enum policy_event event = 0; event < POLICY_EVENT_COUNT; event++) {
		used += policy_event_is_use(event) ? t->events[event] : 0;
		ended += events[event].kind == ENDS ? t->events[event] : 0;
	}
	return ended ? (uint32_t)(used * 10000 / ended) : 0;
}
