/* SPDX-License-Identifier: MIT */
/*
 * Push policy: offers in, verdicts out. Pure: no I/O, no clock, no allocation in the decision;
 * everything that goes in is const, so a logged offer can be decided again offline.
 *
 *   policy_decide   when the offer comes (for a relayed one: at the PUSH_PROMISE)
 *   policy_review   when the pushed response begins
 *
 * Guards come first and cannot be configured away; then the rules in order, the first match wins; then
 * the default. Every verdict carries a reason (one table, policy/reasons.h) and the rule's name.
 */
#ifndef PUSHGATE_POLICY_POLICY_H
#define PUSHGATE_POLICY_POLICY_H

#include "policy/reasons.h"
#include "proxy/base/cidr.h"
#include "proxy/base/clock.h"
#include "proxy/http/head.h"

enum policy_source { POLICY_RELAYED, POLICY_LINK, POLICY_CONFIG, POLICY_MANIFEST, POLICY_LEARNED, POLICY_SOURCE_COUNT };
enum policy_action { POLICY_FORWARD, POLICY_DROP, POLICY_HOLD, POLICY_HINT, POLICY_HINT_HOLD, POLICY_ACTION_COUNT };
const char *policy_source_name(enum policy_source source);
const char *policy_action_name(enum policy_action action);

/* What the resource is, inferred from `as`, else the path's extension, else unknown. */
enum policy_type {
	POLICY_TYPE_UNKNOWN, POLICY_TYPE_DOCUMENT, POLICY_TYPE_STYLE, POLICY_TYPE_SCRIPT, POLICY_TYPE_IMAGE,
	POLICY_TYPE_FONT, POLICY_TYPE_JSON, POLICY_TYPE_MEDIA, POLICY_TYPE_COUNT,
};
const char *policy_type_name(enum policy_type type);
enum policy_type policy_type_of_path(struct slice path);          /* query ignored, case ignored */
enum policy_type policy_type_of_media(struct slice content_type);
bool policy_type_parse(struct slice name, enum policy_type *type);

/* Facts about one offer. Slices are borrowed for the call. Nothing here is looked up later. */
struct policy_offer {
	enum policy_source source;
	const struct http_head *parent;   /* the request that it belongs to, as the client sent it; settled */
	const struct http_head *promised; /* the promised request, mapped back to the client's side; settled */
	struct slice as;                  /* from Link or configuration, else empty */
	/* The parent exchange. */
	bool parent_gone;                 /* closed or reset downstream */
	bool parent_is_push;
	/* Authority: answered by routing (DESIGN of "who may promise what"). */
	bool origin_may_promise;          /* the promised authority and path route to the promising origin */
	bool listener_covers;             /* our listener and its certificate cover the promised authority */
	/* The client. */
	struct address client;
	bool client_push_enabled;         /* its ENABLE_PUSH */
	bool client_accepts_streams;      /* its MAX_CONCURRENT_STREAMS is not 0 */
	bool client_going_away;           /* GOAWAY either way, or no ids left */
	/* Counts for the caps, before this offer. */
	uint32_t parent_pushes;           /* offers of this parent accepted so far */
	uint32_t connection_pushes;       /* pushes of this downstream connection promised and not done */
	uint64_t connection_push_bytes;   /* pushed bytes buffered for or in flight to this connection */
	bool promise_rate_exceeded;       /* of the origin connection, measured by its owner */
	bool duplicate;                   /* same method, authority and path already pushed for this parent, or being pushed on this connection */
	usec now;
};

/*
 * One compiled condition set; absent conditions are empty lists and match everything. Hosts are matched
 * without port and trailing dot, paths without their query, hosts and user-agents without case.
 */
struct policy_patterns {
	struct slice *globs;
	size_t count;
};

enum policy_tristate { POLICY_ANY, POLICY_NO, POLICY_YES };

struct policy_rule {
	const char *name;
	const char *file;                 /* where it stands, for error messages */
	uint32_t line;
	/* Conditions: all must hold; a list holds when one of its members does. */
	uint32_t sources;                 /* bit 1 << enum policy_source; 0 = any */
	uint32_t types;                   /* bit 1 << enum policy_type; 0 = any */
	uint32_t methods;                 /* of the promised request: bit 1 << enum http_method; 0 = any */
	struct cidr *clients;
	size_t client_count;
	struct policy_patterns hosts, paths, promised_paths, user_agents;
	enum policy_tristate push_enabled;
	/* Action. */
	enum policy_action action;
	uint32_t max_per_parent;          /* 0 = the global cap alone */
	uint64_t max_bytes;               /* review: larger declared content-length is withdrawn; 0 = none */
	uint32_t statuses_allowed;        /* review: bit 1 << (status / 100); 0 = any for relayed pushes */
	int8_t urgency;                   /* of the pushed stream 0…7, -1 = by default */
	/* Counted by the worker that uses it (the only thing here that changes; index into its slot). */
	uint32_t index;
};

struct policy_caps {
	uint32_t per_parent;              /* pushes of one parent: 100 */
	uint32_t per_connection;          /* promised and not done on one downstream connection: 256 */
	uint64_t bytes_in_flight;         /* pushed bytes buffered per downstream connection: 4 MiB */
};

/* A const snapshot that the configuration owns. */
struct policy_rules {
	struct policy_rule *rules;
	size_t count;
	struct policy_caps caps;
	enum policy_action fallback;      /* when no rule matches */
};

struct policy_verdict {
	enum policy_action action;
	const struct policy_reason *reason;
	const struct policy_rule *rule;   /* that decided, or whose own limit did; NULL: a guard or the fallback */
};

struct policy_verdict policy_decide(const struct policy_rules *rules, const struct policy_offer *offer);

/* Could a push for this request be of any use to this client? False only when every offer would surely be
 * dropped (push disabled and no rule can hold or hint): the request then goes over the upstream pool with ENABLE_PUSH=0. */
bool policy_wants_pushes(const struct policy_rules *rules, const struct policy_offer *facts);

/* The pushed response begins: keep it or withdraw it. */
struct policy_verdict policy_review(const struct policy_rules *rules, const struct policy_verdict *decided,
    const struct policy_offer *offer, const struct http_head *response);

/* Configuration checks. True when `later` can never be reached because `earlier` matches all that it does for certain
 * (unconditional, or equal conditions): an error. */
bool policy_rule_hides(const struct policy_rule *earlier, const struct policy_rule *later);
/* True when it merely looks so (its conditions are a superset by simple comparison): a warning. */
bool policy_rule_may_hide(const struct policy_rule *earlier, const struct policy_rule *later);

#endif
