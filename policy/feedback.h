/* SPDX-License-Identifier: MIT */
/*
 * What came of a rule's pushes, and whether the rule pauses for it. One per worker; read by the
 * decision, changed by policy_feedback_note alone. No clock: the time comes in with what is noted.
 *
 *   ACTIVE ──(too little used, or too much withdrawn, of a full sample)──▶ PAUSED
 *   PAUSED ──(its time is over)──▶ PROBING: a few pushes go through
 *   PROBING ──(they have ended: enough used)──▶ ACTIVE, else ──▶ PAUSED, for twice as long
 */
#ifndef PUSHGATE_POLICY_FEEDBACK_H
#define PUSHGATE_POLICY_FEEDBACK_H

#include "proxy/base/clock.h"
#include <stdbool.h>
#include <stddef.h>

struct policy_rules;
struct policy_rule;

enum policy_event {
	POLICY_EVENT_OFFERED,   /* the rule decided */
	POLICY_EVENT_FORWARDED, /* a promise went to the client */
	POLICY_EVENT_HELD,
	POLICY_EVENT_HINTED,
	POLICY_EVENT_SHADOWED, /* the rule would have acted, were it live */
	/* How a forwarded or held one ended. */
	POLICY_EVENT_USED,      /* forwarded, and the client took all of it */
	POLICY_EVENT_CLAIMED,   /* held, and the client asked for it */
	POLICY_EVENT_RESET,     /* forwarded, and the client reset it */
	POLICY_EVENT_EXPIRED,   /* held, and nobody asked */
	POLICY_EVENT_WITHDRAWN, /* one of our own, which turned out to be an error or too large */
	POLICY_EVENT_COUNT,
};
const char *policy_event_name(enum policy_event event);

struct policy_outcome {
	enum policy_event event;
	usec span;      /* RESET: since the promise */
	uint64_t bytes; /* bytes of body that went to the client or were kept */
	usec now;
};

enum policy_rule_state { POLICY_RULE_ACTIVE, POLICY_RULE_PAUSED, POLICY_RULE_PROBING };

struct policy_tally {
	/* For the metrics. */
	uint64_t events[POLICY_EVENT_COUNT];
	/* For the judgement: both are halved together, so that what is long ago fades. */
	uint32_t recent_ended, recent_used, recent_withdrawn;
	enum policy_rule_state state;
	usec paused_until, pause_usec;
	uint32_t probes_left, probes_open;
};

struct policy_feedback {
	struct policy_tally *tallies; /* by policy_rule.index */
	size_t count;
};

enum {
	FEEDBACK_SAMPLE = 100, /* ended pushes before a rule is judged, unless it says otherwise */
	FEEDBACK_PROBES = 10,  /* pushes that go through after a pause */
};
#define FEEDBACK_PAUSE_USEC (60 * USEC_PER_SEC)
#define FEEDBACK_PAUSE_MAX_USEC (3600 * USEC_PER_SEC)

/* Takes memory by the number of rules, which no peer can make grow. */
void policy_feedback_init(struct policy_feedback *f, const struct policy_rules *rules);
void policy_feedback_fini(struct policy_feedback *f);

/* May the rule not act now? */
bool policy_feedback_is_paused(
    const struct policy_feedback *f, const struct policy_rule *rule, usec now);

/* What the caller has to tell: each once, when it happens. */
enum policy_change { POLICY_CHANGE_NONE, POLICY_CHANGE_PAUSED, POLICY_CHANGE_RESUMED };
/* rule NULL (a guard or the default decided): nothing happens. */
enum policy_change policy_feedback_note(struct policy_feedback *f, const struct policy_rule *rule,
    const struct policy_outcome *outcome);

/* Of 10000: how much of what has ended was used or claimed; 0 when nothing has ended. */
uint32_t policy_feedback_used_rate(const struct policy_tally *tally);

#endif
