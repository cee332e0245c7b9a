/* SPDX-License-Identifier: MIT */
/*
 * Push policy: offers in, verdicts out. Pure: no I/O, no clock, no allocation in the decision;
 * everything that goes in is const, so a logged offer can be decided again offline.
 *
 *   policy_decide_with   when the offer comes (for a relayed one: at the PUSH_PROMISE)
 *   policy_review        when the pushed response begins
 *
 * Guards come first and cannot be configured away; then the rules in order, the first match wins;
 * then the default. Every verdict carries a reason (one table, policy/reasons.h) and the rule's
 * name.
 *
 * What is remembered between decisions has files of its own: diary.h (what a client has), cookie.h
 * (the same, carried by the client), feedback.h (what came of a rule's pushes).
 */
#ifndef PUSHGATE_POLICY_POLICY_H
#define PUSHGATE_POLICY_POLICY_H

#include "policy/feedback.h"
#include "policy/pattern.h"
#include "policy/reasons.h"
#include "proxy/base/cidr.h"
#include "proxy/base/clock.h"
#include "proxy/http/head.h"
#include "proxy/http/priority.h"

enum policy_source {
	POLICY_RELAYED, /* the origin promised it */
	POLICY_LINK,    /* a Link field of its response */
	POLICY_CONFIG,  /* an `add` of the configuration */
	POLICY_MANIFEST,
	POLICY_LEARNED, /* what earlier clients asked for */
	POLICY_SOURCE_COUNT
};
enum policy_action {
	POLICY_FORWARD, /* a promise to the client */
	POLICY_DROP,
	POLICY_HOLD, /* kept for the client's own request */
	POLICY_HINT, /* a Link in a 103 */
	POLICY_HINT_HOLD,
	POLICY_ACTION_COUNT
};
const char *policy_source_name(enum policy_source source);
const char *policy_action_name(enum policy_action action);

/* What the resource is, inferred from `as`, else the path's extension, else unknown. */
enum policy_type {
	POLICY_TYPE_UNKNOWN,
	POLICY_TYPE_DOCUMENT,
	POLICY_TYPE_STYLE,
	POLICY_TYPE_SCRIPT,
	POLICY_TYPE_IMAGE,
	POLICY_TYPE_FONT,
	POLICY_TYPE_JSON,
	POLICY_TYPE_MEDIA,
	POLICY_TYPE_COUNT,
};
enum policy_type policy_type_of_path(struct slice path); /* query ignored, case ignored */
enum policy_type policy_type_of_offer(struct slice as, struct slice promised_path);
/* The `as` word of a preload link for the type (the Fetch standard's destinations); "" = none. */
const char *policy_type_as(enum policy_type type);

/* Is the parent request a navigation (Sec-Fetch-Mode: navigate)? Unknown without the field. */
enum policy_navigation { POLICY_NAVIGATION_UNKNOWN, POLICY_NAVIGATION_NO, POLICY_NAVIGATION_YES };
enum policy_navigation policy_navigation_of(const struct http_head *request);
/* Save-Data: on (in any case). */
bool policy_save_data_of(const struct http_head *request);
/* if-none-match, if-modified-since, or Cache-Control (Pragma) no-cache: it checks what it has. */
bool policy_revalidates(const struct http_head *request);

/* Does the client have the promised resource already, as far as the diary tells? */
enum policy_known { POLICY_NOT_KNOWN, POLICY_KNOWN, POLICY_KNOWN_ETAG };

#define POLICY_DRAWS 10000u
/* The request's draw for `share`: equal for equal clients and paths, so that a client stays on its
 * side of a canary. */
uint32_t policy_draw(const struct address *client, struct slice authority, struct slice path);

/* Facts about one offer. Slices are borrowed for the call. Nothing here is looked up later. */
struct policy_offer {
	enum policy_source source;
	/* The request that it belongs to, as the client sent it; the promised one, mapped back to
	 * the client's side. Both are settled. */
	const struct http_head *parent, *promised;
	struct slice as; /* from Link or configuration, else empty */
	/* The parent exchange. */
	bool parent_gone; /* closed or reset downstream */
	bool parent_is_push;
	bool parent_revalidates; /* policy_revalidates */
	/* Authority, as routing answers it. */
	bool origin_may_promise; /* what is promised routes to the promising origin */
	bool listener_covers;    /* our listener and its certificate cover the promised authority */
	bool cross_origin;       /* scheme or authority is not the parent's */
	/* The client. */
	struct address client;
	bool client_push_enabled;    /* its ENABLE_PUSH */
	bool client_accepts_streams; /* its MAX_CONCURRENT_STREAMS is not 0 */
	bool client_going_away;      /* GOAWAY either way, or no ids left */
	bool save_data;              /* policy_save_data_of */
	enum policy_navigation navigation;
	enum policy_known known;
	usec rtt_usec; /* of its connection; 0 = not measured */
	uint32_t draw; /* policy_draw: 0 … POLICY_DRAWS - 1 */
	/* Why the response cannot be held, why nothing can be hinted; NULL = it can. */
	const struct policy_reason *hold_refusal, *hint_refusal;
	bool is_proposal; /* learned, and only proposed: no rule said that it be applied */
	/* Counts for the caps, before this offer. */
	uint32_t parent_pushes;     /* offers of this parent accepted so far */
	uint32_t connection_pushes; /* pushes of this downstream connection promised and not done */
	uint64_t connection_push_bytes; /* pushed, buffered for or in flight to this connection */
	bool promise_rate_exceeded;     /* of the origin connection, measured by its owner */
	/* Method, authority and path were pushed for this parent, or are being pushed on this
	 * connection. */
	bool duplicate;
	usec now;
};

enum policy_tristate { POLICY_ANY, POLICY_NO, POLICY_YES };
enum policy_compare { POLICY_COMPARE_NONE, POLICY_COMPARE_BELOW, POLICY_COMPARE_ABOVE };

/* Beside 0 … 7 in a rule's urgency. */
enum {
	POLICY_URGENCY_AUTO = -1,
	POLICY_URGENCY_AFTER = -2,
	POLICY_URGENCY_BEFORE = -3,
	POLICY_URGENCY_INTERLEAVED = -4
};

struct policy_rule {
	const char *name;
	const char *file; /* where it stands, for error messages */
	uint32_t line;
	bool shadow; /* decided beside the others, and only counted */
	/* Conditions: all must hold; a list holds when one of its members does; absent ones hold.
	 * */
	uint32_t sources; /* bit 1 << enum policy_source; 0 = any */
	uint32_t types;   /* bit 1 << enum policy_type; 0 = any */
	uint32_t methods; /* of the promised request: bit 1 << enum http_method; 0 = any */
	struct cidr *clients;
	size_t client_count;
	struct policy_patterns hosts, paths, promised_paths, user_agents;
	enum policy_tristate push_enabled, save_data;
	enum policy_tristate navigation; /* what is unknown is neither yes nor no */
	/* A time that was not measured is neither below nor above. */
	enum policy_compare rtt_compare;
	usec rtt_usec;
	uint32_t share; /* of POLICY_DRAWS: takes draws below it; 0 = all */
	/* Action. */
	enum policy_action action;
	bool cross_origin;       /* offers of our own may name another origin */
	bool on_revalidation;    /* offers of our own even where the parent revalidates */
	bool hint_anyone;        /* also where policy_reason_HINT_CLIENT speaks against it */
	uint32_t max_per_parent; /* 0 = the global cap alone */
	uint64_t max_bytes;      /* review: larger declared content-length is withdrawn; 0 = none */
	uint32_t statuses_allowed; /* review: bit 1 << (status / 100); 0 = any if relayed */
	struct policy_patterns media_types; /* review: any other is withdrawn */
	int8_t urgency; /* of the pushed stream: 0…7 or one of POLICY_URGENCY_… */
	/* Pauses while less than so much of its pushes is used (see feedback.h). */
	uint32_t min_used;   /* of 10000; 0 = never for that */
	uint32_t min_sample; /* ended pushes before that is judged; 0 = FEEDBACK_SAMPLE */
	/* Of what the worker that uses it counts. */
	uint32_t index;
};

struct policy_caps {
	uint32_t per_parent;      /* pushes of one parent: 100 */
	uint32_t per_connection;  /* promised and not done on one downstream connection: 256 */
	uint64_t bytes_in_flight; /* pushed bytes buffered per downstream connection: 4 MiB */
};

/* A const snapshot that the configuration owns. */
struct policy_rules {
	struct policy_rule *rules;
	size_t count;
	struct policy_caps caps;
	enum policy_action fallback; /* when no rule matches */
};

struct policy_verdict {
	enum policy_action action;
	const struct policy_reason *reason;
	/* That decided, or whose own limit did; NULL: a guard or the fallback. */
	const struct policy_rule *rule;
	/* hint+hold of which only one half was possible: why the other was not; else NULL. */
	const struct policy_reason *lost_half;
};

/*
 * feedback: what came of earlier pushes; NULL = nothing is known, and no rule is paused. *shadow (may be
 * NULL) is what would have been said if the shadow rules were live: its rule is NULL when no shadow
 * rule would have been the first to match; its reason is that of the guard that would have held it
 * up, else policy_reason_SHADOW.
 */
struct policy_verdict policy_decide_with(const struct policy_rules *rules,
    const struct policy_feedback *feedback, const struct policy_offer *offer,
    struct policy_verdict *shadow);

/* Could a push for this request be of any use to this client? False only when every offer would
 * surely be dropped (push disabled and no rule can hold or hint): the request then goes over the
 * upstream pool with ENABLE_PUSH=0. */
bool policy_wants_pushes(const struct policy_rules *rules, const struct policy_offer *facts);

/* The pushed response begins: keep it or withdraw it. offer->hold_refusal is asked once more: by
 * now it also knows whether the response may be stored. Of hint+hold the hint remains then. */
struct policy_verdict policy_review(const struct policy_verdict *decided,
    const struct policy_offer *offer, const struct http_head *response);

/* How urgent the pushed stream is (RFC 9218). `own`: the value of the promise's or response's own
 * Priority field, empty if it has none; counts where the rule (NULL = none) says auto. By default a
 * push comes after its parent, by type. */
struct http_priority policy_urgency(const struct policy_rule *rule, enum policy_type type,
    struct http_priority parent, struct slice own);

/* Do the rule's conditions on the request hold? Nothing of what is promised is asked. */
bool policy_rule_takes(const struct policy_rule *rule, const struct policy_offer *facts);

/* Configuration checks. True when `later` can never be reached because `earlier` matches all that
 * it does for certain (unconditional, or equal conditions): an error. */
bool policy_rule_hides(const struct policy_rule *earlier, const struct policy_rule *later);
/* True when it merely looks so (its conditions are a superset by simple comparison): a warning. */
bool policy_rule_may_hide(const struct policy_rule *earlier, const struct policy_rule *later);

#endif
