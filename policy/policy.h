/* SPDX-License-Identifier: MIT */
/*
 * Push policy: offers in, verdicts out. Pure: no I/O, no clock, no allocation in the decision. All
 * inputs are const, so that a logged offer can be decided again offline. Only `effort` and `request` of an offer change:
 * patterns cost work, and an offer that is decided when that is used up is dropped (match-limit).
 *
 *   policy_decide_with   when the offer comes (for a relayed one: at the PUSH_PROMISE)
 *   policy_review        when the pushed response begins
 *
 * Guards come first and cannot be switched off. Then the rules are tried in order; the first match
 * wins. Then the default applies. Every verdict carries a reason (policy/reasons.h) and the rule's
 * name.
 *
 * State between decisions has files of its own: diary.h (resources that a client has), known_cookie.h
 * (a diary that the client carries), feedback.h (outcomes of each rule's pushes).
 */
#ifndef PUSHGATE_POLICY_POLICY_H
#define PUSHGATE_POLICY_POLICY_H

#include "policy/feedback.h"
#include "policy/pattern.h"
#include "policy/reasons.h"
#include "proxy/base/cidr.h"
#include "proxy/base/client_certificate.h"
#include "proxy/base/clock.h"
#include "proxy/http/head.h"
#include "proxy/http/priority.h"

struct policy_request;

enum policy_source {
	POLICY_RELAYED, /* the origin promised it */
	POLICY_LINK,    /* a Link field of its response */
	POLICY_CONFIG,  /* an `add` of the configuration */
	POLICY_MANIFEST,
	POLICY_REMEMBERED, /* what the page needed before (remembered/remembered.h) */
	POLICY_SOURCE_COUNT
};
enum policy_action {
	POLICY_FORWARD, /* a promise to the client */
	POLICY_DROP,
	POLICY_HOLD, /* the response is kept for the client's own request */
	POLICY_HINT, /* a Link in a 103 */
	POLICY_HINT_HOLD,
	POLICY_ACTION_COUNT
};
const char *policy_source_name(enum policy_source source);
const char *policy_action_name(enum policy_action action);

/* The type of a resource: from `as`, else from the path's extension, else unknown. */
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
enum policy_type policy_type_of_path(struct slice path); /* ignores query and case */
enum policy_type policy_type_of_offer(struct slice as, struct slice promised_path);
/* The `as` word of a preload link for the type (the Fetch standard's destinations); "" = none. */
const char *policy_type_as(enum policy_type type);

/*
 * Whether the parent request loads a page: Sec-Fetch-Dest: document; without that field Sec-Fetch-Mode: navigate, which
 * frames and plug-ins send too. Unknown without both.
 */
enum policy_navigation { POLICY_NAVIGATION_UNKNOWN, POLICY_NAVIGATION_NO, POLICY_NAVIGATION_YES };
enum policy_navigation policy_navigation_of(const struct http_head *request);
/*
 * Whether the request loads something before its user asks for it (Sec-Purpose; Purpose and X-Moz of older browsers).
 * A browser renders what it prerenders, and so fetches its resources; of what it prefetches it keeps the response alone.
 */
enum policy_purpose { POLICY_PURPOSE_NONE, POLICY_PURPOSE_PREFETCH, POLICY_PURPOSE_PRERENDER };
enum policy_purpose policy_purpose_of(const struct http_head *request);
/* Save-Data: on (in any case). */
bool policy_save_data_of(const struct http_head *request);
/* The request revalidates: if-none-match, if-modified-since, or Cache-Control no-cache (Pragma too) or max-age=0. */
bool policy_revalidates(const struct http_head *request);

/*
 * Whether the diary says that the client has the promised resource. KNOWN_VALIDATOR: it has the
 * version that has the latest known ETag or Last-Modified.
 */
enum policy_known { POLICY_NOT_KNOWN, POLICY_KNOWN, POLICY_KNOWN_VALIDATOR };

#define POLICY_DRAWS 10000u
/*
 * The request's draw for `share`. Equal requests of one client have the same draw, so that they get
 * the same decision.
 */
uint32_t policy_draw(const struct address *client, struct slice authority, struct slice path);

/* Facts about one offer, all gathered before the decision. Slices are borrowed for the call. */
struct policy_offer {
	enum policy_source source;
	/*
	 * The client's request, and the promised request mapped to the client's scheme and
	 * authority. Both are validated.
	 */
	const struct http_head *parent, *promised;
	struct slice as; /* from Link or configuration, else empty */
	/* The parent exchange. */
	bool parent_gone; /* closed or reset downstream */
	bool parent_is_push;
	bool parent_revalidates; /* policy_revalidates */
	/*
	 * The parent is a subscription, and the origin promised this: the client waits for it. The
	 * caps do not refuse it; the origin is held back instead (relay/subscription.c).
	 */
	bool is_expected;
	/* Authority, as the router decides it. */
	bool outside_prefix;     /* a promise: the path is not below what the route rewrites to */
	bool origin_may_promise; /* the promised request routes to the promising origin */
	bool listener_covers;    /* the listener's certificate covers the promised authority */
	bool access_denied; /* the listener's [access NAME] would refuse the client's own request */
	bool cross_origin;  /* scheme or authority differs from the parent's */
	/* The client. */
	struct address client;
	struct slice user; /* whose password was right; empty: nobody's */
	const struct client_certificate *certificate; /* that the client has shown; NULL: none */
	bool client_push_enabled;                     /* its ENABLE_PUSH */
	bool client_accepts_streams;                  /* its MAX_CONCURRENT_STREAMS is not 0 */
	bool client_going_away; /* as in struct client_facts; or no stream ids left */
	bool save_data;         /* policy_save_data_of */
	enum policy_navigation navigation;
	enum policy_purpose purpose;
	enum policy_known known;
	usec rtt_usec; /* of its connection; 0 = not measured */
	uint32_t draw; /* policy_draw: 0 … POLICY_DRAWS - 1 */
	/* Why the response cannot be held, or the resource cannot be hinted; NULL = it can. */
	const struct policy_reason *hold_refusal, *hint_refusal;
	bool is_proposal;   /* remembered, but the configuration only proposes it */
	bool is_preconnect; /* a connection alone is hinted at: nothing can be fetched */
	/* A link of the origin's 103 response, which is about to be sent: it is a hint already. */
	bool in_early_hints;
	/* Counts for the caps, before this offer. */
	uint32_t parent_pushes;         /* open pushes of this parent */
	uint32_t parent_pushes_ever;    /* all pushes of this parent so far */
	uint32_t connection_pushes;     /* open pushes of this client connection */
	uint64_t connection_push_bytes; /* pushed bytes queued for this client connection */
	bool promise_rate_exceeded;     /* on the origin connection; its owner measures it */
	/*
	 * The same method, authority and path was pushed for this parent or is being pushed on this
	 * connection.
	 */
	bool duplicate;
	usec now;
	/* For patterns, shared by the decisions of a loop pass; NULL: as much as one request has. */
	struct effort *effort;
	/* What other decisions for the parent have found out, and this one adds to; NULL: nothing. */
	struct policy_request *request;
};

enum policy_tristate { POLICY_ANY, POLICY_NO, POLICY_YES };
enum policy_compare { POLICY_COMPARE_NONE, POLICY_COMPARE_BELOW, POLICY_COMPARE_ABOVE };

/* Values of a rule's urgency besides 0 … 7. */
enum {
	POLICY_URGENCY_AUTO = -1,
	POLICY_URGENCY_AFTER = -2,
	POLICY_URGENCY_BEFORE = -3,
	POLICY_URGENCY_INTERLEAVED = -4
};

struct policy_rule {
	const char *name;
	const char *file; /* and line: the section, for error messages */
	uint32_t line;
	bool shadow; /* its decisions are only counted */
	/*
	 * Conditions: all must match. A list matches if one of its members does. An empty one
	 * always matches.
	 */
	uint32_t sources;  /* bit 1 << enum policy_source; 0 = any */
	uint32_t types;    /* bit 1 << enum policy_type; 0 = any */
	uint32_t methods;  /* of the promised request: bit 1 << enum http_method; 0 = any */
	uint32_t versions; /* of the client's request: bit 1 << enum http_version; 0 = any */
	uint32_t purposes; /* of the client's request: bit 1 << enum policy_purpose; 0 = any */
	struct cidr *clients;
	size_t client_count;
	struct slice *users; /* names; "*": whoever is known */
	size_t user_count;
	struct slice *certs; /* of the client's certificate (base/client_certificate.h) */
	size_t cert_count;
	struct slice *destinations; /* HOST or HOST:PORT (policy_destination_of) */
	size_t destination_count;
	struct policy_patterns hosts, paths, promised_paths, user_agents;
	enum policy_tristate push_enabled, save_data;
	enum policy_tristate navigation; /* unknown is neither yes nor no */
	/* An unmeasured time is neither below nor above. */
	enum policy_compare rtt_compare;
	usec rtt_usec;
	uint32_t share; /* matches draws below it, of POLICY_DRAWS; 0 = all */
	/* Action. */
	enum policy_action action;
	bool cross_origin;    /* pushgate's own offers may name another origin */
	bool on_revalidation; /* own offers even if the parent revalidates */
	bool hint_anyone;     /* also despite policy_reason_HINT_CLIENT */
	/* Whether the client gets 1xx but 100; ANY: as policy_interim says. */
	enum policy_tristate interim;
	uint32_t max_per_parent;   /* in the parent's whole life; 0 = only the global caps */
	uint64_t max_bytes;        /* review: a larger content-length is cancelled; 0 = no limit */
	uint32_t statuses_allowed; /* review: bit 1 << (status / 100); 0 = any if relayed */
	struct policy_patterns media_types; /* review: any other is cancelled */
	int8_t urgency; /* of the pushed stream: 0…7 or one of POLICY_URGENCY_… */
	/* When the rule pauses (feedback.h). */
	uint32_t min_used;   /* least used share, of 10000; 0 = never pauses for it */
	uint32_t min_sample; /* ended pushes before min_used applies; 0 = FEEDBACK_SAMPLE */
	/* Position among the rules: index of its tally and counters. */
	uint32_t index;
};

struct policy_caps {
	uint32_t per_parent;      /* open pushes of one parent: 100 */
	uint32_t per_parent_life; /* pushes of one parent in its whole life: 1000 */
	uint32_t per_connection;  /* open pushes of one client connection: 256 */
	uint64_t bytes_in_flight; /* pushed bytes queued for one client connection: 4 MiB */
};

/* A const snapshot, owned by the configuration. */
struct policy_rules {
	struct policy_rule *rules;
	size_t count;
	struct policy_caps caps;
	enum policy_action fallback; /* when no rule matches */
};

struct policy_verdict {
	enum policy_action action;
	const struct policy_reason *reason;
	/*
	 * The rule that decided, or whose own limit refused; NULL: a guard or the fallback decided.
	 */
	const struct policy_rule *rule;
	/* If only one half of hint+hold was possible: why the other was not; else NULL. */
	const struct policy_reason *lost_half;
};

/* Sees a decision step by step, in order. */
struct policy_watch {
	/* A guard was asked. reason: NULL = it has none for this offer. */
	void (*guard)(
	    const struct policy_watch *watch, const struct policy_reason *reason, bool holds_up);
	/* A rule was tried. condition: the configuration's name of the first one that does not match; NULL: the rule
	 * matches. */
	void (*rule)(const struct policy_watch *watch, const struct policy_rule *rule,
	    const char *condition);
};

/*
 * feedback: outcomes of earlier pushes; NULL = none, and no rule is paused. *shadow (may be NULL) is
 * the verdict if the shadow rules were live. Its rule is NULL if no shadow rule would have matched
 * first. Its reason is that of the guard that would have refused, else policy_reason_SHADOW. watch may be
 * NULL; the shadow rules' verdict is not watched.
 */
struct policy_verdict policy_decide_with(const struct policy_rules *rules,
    const struct policy_feedback *feedback, const struct policy_offer *offer,
    struct policy_verdict *shadow, const struct policy_watch *watch);

/*
 * Whether a push for this request could be useful to this client. False only if every offer would
 * certainly be dropped (push is disabled and no rule can hold or hint): the request then uses the
 * origin's pool with ENABLE_PUSH=0.
 */
bool policy_wants_pushes(const struct policy_rules *rules, const struct policy_offer *facts);
/*
 * The same for pushgate's own offers (facts->source), which cost the origin nothing: they are of use
 * to a shadow rule too, which counts what it would have done.
 */
bool policy_wants_offers(const struct policy_rules *rules, const struct policy_offer *facts);
/*
 * Whether some rule, or the default action, holds or hints. If not, only a client that accepts pushes
 * can have any use of an offer.
 */
bool policy_holds_or_hints(const struct policy_rules *rules);
bool policy_hints(const struct policy_rules *rules);
/* Whether no rule has a condition on the resource, is a shadow rule, or has min-used. Then offers of one request that differ in
 * their resources alone get the same verdict, unless a guard refuses one of them. */
bool policy_ignores_resources(const struct policy_rules *rules);

/*
 * What the rules say of interim responses to this request, except 100 (Continue): the `interim` of the first rule that
 * takes the request and has one, unless an earlier rule takes all its offers. ANY: all but a 103 for a client that
 * mishandles it (hint_clients.h).
 */
enum policy_tristate policy_interim(
    const struct policy_rules *rules, const struct policy_offer *facts);

/*
 * What need not be found out again for each offer of one request: facts from its fields, and of each rule whether the
 * request's texts, its client and its user match. It belongs to the request, and lies in its owner's memory.
 */
enum policy_rule_match { POLICY_MATCH_UNKNOWN, POLICY_MATCH_NO, POLICY_MATCH_YES };
struct policy_request {
	bool save_data, revalidates; /* policy_save_data_of, policy_revalidates */
	enum policy_navigation navigation;
	enum policy_purpose purpose;
	enum policy_rule_match mishandles_hints; /* policy_mishandles_hints */
	uint32_t draw;
	size_t rule_count;
	uint8_t matches[]; /* of each rule: enum policy_rule_match */
};

size_t policy_request_bytes(const struct policy_rules *rules);
/* r has policy_request_bytes(rules). */
void policy_request_init(struct policy_request *r, const struct policy_rules *rules,
    const struct http_head *request, const struct address *client);

/*
 * Reviews a push when its response begins: keeps or cancels it. offer->hold_refusal is read again,
 * since it now also covers whether the response may be stored. If hint+hold cannot hold, the hint
 * remains.
 */
struct policy_verdict policy_review(const struct policy_verdict *decided,
    const struct policy_offer *offer, const struct http_head *response);
/* The verdict that is left when the push does not go on: of hint+hold the hint. */
struct policy_verdict policy_withdraw(
    const struct policy_verdict *decided, const struct policy_reason *why);

/*
 * The urgency of the pushed stream (RFC 9218). `own`: the value of the Priority field of the
 * promise or response, empty if none; it counts if the rule (NULL = none) says auto. By default a
 * push is less urgent than its parent, by type.
 */
struct http_priority policy_urgency(const struct policy_rule *rule, enum policy_type type,
    struct http_priority parent, struct slice own);

/*
 * Whether the rule's conditions on the request match. Ignores conditions on the promised resource.
 */
bool policy_rule_takes(const struct policy_rule *rule, const struct policy_offer *facts);

/*
 * Configuration checks. True if `later` can certainly never be reached, because `earlier` matches
 * all its offers (no conditions, or equal ones): an error.
 */
bool policy_rule_hides(const struct policy_rule *earlier, const struct policy_rule *later);
/*
 * True if that is only likely (the patterns of `earlier` match those of `later` as text): a
 * warning.
 */
bool policy_rule_may_hide(const struct policy_rule *earlier, const struct policy_rule *later);

#endif
