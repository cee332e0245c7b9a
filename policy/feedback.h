/* SPDX-License-Identifier: MIT */
/*
 * Counts the outcomes of each rule's pushes and pauses rules whose pushes clients do not use. Each
 * worker has one. The decision reads it; only policy_feedback_note changes it. It has no clock: the
 * caller passes the time.
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
	POLICY_EVENT_SHADOWED, /* a shadow rule would have decided */
	POLICY_EVENT_AWAITED,  /* hinted alone: it is seen whether the client requests it */
	/* The end of a forwarded or held push, or of a hint. */
	POLICY_EVENT_USED,      /* forwarded, and delivered completely */
	POLICY_EVENT_CLAIMED,   /* held, and the client requested it */
	POLICY_EVENT_FOLLOWED,  /* hinted, and the client requested it right after */
	POLICY_EVENT_RESET,     /* forwarded, and the client reset it */
	POLICY_EVENT_EXPIRED,   /* held, and no client requested it */
	POLICY_EVENT_IGNORED,   /* hinted, and the client did not request it */
	POLICY_EVENT_WITHDRAWN, /* offered by pushgate, but the response was an error or too large */
	POLICY_EVENT_COUNT,
};
const char *policy_event_name(enum policy_event event);
/* The client had a use of what it was offered. */
bool policy_event_is_use(enum policy_event event);

struct policy_outcome {
	enum policy_event event;
	usec span;      /* RESET: since the promise */
	uint64_t bytes; /* body bytes sent to the client or held */
	usec now;
};

enum policy_rule_state { POLICY_RULE_ACTIVE, POLICY_RULE_PAUSED, POLICY_RULE_PROBING };

struct policy_tally {
	/* For the counters. */
	uint64_t events[POLICY_EVENT_COUNT];
	/*
	 * Recent ends, which decide about a pause. All are halved together, so that old ones fade.
	 */
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
	FEEDBACK_SAMPLE = 100, /* ended pushes before a rule may pause, unless it sets min-sample */
	FEEDBACK_PROBES = 10,  /* pushes that are tried after a pause */
};
#define FEEDBACK_PAUSE_USEC (60 * USEC_PER_SEC)
#define FEEDBACK_PAUSE_MAX_USEC (3600 * USEC_PER_SEC)

/* Allocates one tally for each rule, so peers cannot make it grow. */
void policy_feedback_init(struct policy_feedback *f, const struct policy_rules *rules);
void policy_feedback_fini(struct policy_feedback *f);

/* True if the rule is paused now. */
bool policy_feedback_is_paused(
    const struct policy_feedback *f, const struct policy_rule *rule, usec now);

/* State changes that the caller logs; each is returned once. */
enum policy_change { POLICY_CHANGE_NONE, POLICY_CHANGE_PAUSED, POLICY_CHANGE_RESUMED };
/* rule NULL (a guard or the default decided): does nothing. */
enum policy_change policy_feedback_note(struct policy_feedback *f, const struct policy_rule *rule,
    const struct policy_outcome *outcome);

/* The same for an event that only counts, and says nothing of a push's life: OFFERED, HINTED, SHADOWED. */
static inline void policy_feedback_count(
    struct policy_feedback *f, uint32_t rule_index, enum policy_event event)
{
	f->tallies[rule_index].events[event]++;
}

/* Share of the ended pushes that were used or claimed, in parts of 10000; 0 if none has ended. */
uint32_t policy_feedback_used_rate(const struct policy_tally *tally);

#endif
