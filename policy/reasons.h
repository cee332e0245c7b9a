/* SPDX-License-Identifier: MIT */
/*
 * Reason codes: why a push was forwarded, dropped, or ended as it did. One table; the access log, the
 * counters, explain and docs/REASONS.md are made from it. A code is stable once released.
 */
#ifndef PUSHGATE_POLICY_REASONS_H
#define PUSHGATE_POLICY_REASONS_H

#include <stddef.h>

struct policy_reason {
	const char *code;     /* "push-disabled" */
	const char *sentence; /* "The client announced ENABLE_PUSH=0." */
	const char *advice;   /* what to do about it */
};

/* X(SYMBOL, "code", "sentence", "advice") */
#define POLICY_REASONS(X)                                                                           \
	X(RULE, "rule", "A rule of the configuration decided.", "Look at the rule that is named.")   \
	X(DEFAULT, "default", "No rule matched; the default action applied.",                         \
	    "Add a [push] rule if something else should happen.")                                     \
	X(PUSH_DISABLED, "push-disabled", "The client announced ENABLE_PUSH=0.",                      \
	    "Nothing is wrong: browsers do so.")              \
	X(NO_STREAMS, "no-streams", "The client announced MAX_CONCURRENT_STREAMS=0.",                 \
	    "Nothing is wrong: the client refuses pushes.")                                           \
	X(CLIENT_GOING_AWAY, "client-going-away",                                                     \
	    "The downstream connection is going away or has no stream ids left.",                     \
	    "Nothing: the client's next connection gets pushes again.")                               \
	X(PARENT_GONE, "parent-gone", "The parent stream was closed or reset by the client.",         \
	    "Have the origin promise earlier, before the end of the response.")                       \
	X(PARENT_PUSHED, "parent-pushed", "The parent is itself a pushed response (RFC 9113 8.4).",    \
	    "Have the origin promise on the client's own request.")                                   \
	X(METHOD, "method", "The promised method is not GET or HEAD (RFC 9113 8.4).",                 \
	    "Mend the origin: only safe, cacheable methods may be promised.")                         \
	X(BODY, "body", "The promised request has a body or announces one.",                          \
	    "Mend the origin: a promised request has no body.")                                       \
	X(MALFORMED, "malformed", "The promised request is malformed.", "Mend the origin.")           \
	X(AUTHORITY, "authority",                                                                     \
	    "The promised authority or path does not route to the origin that promised it.",          \
	    "Add a route for it to this origin, or mend the origin.")                                 \
	X(DOWNSTREAM_AUTHORITY, "downstream-authority",                                               \
	    "Our listener or its certificate does not cover the promised authority.",                 \
	    "Add a certificate for that name to the listener.")                                       \
	X(DUPLICATE, "duplicate", "The same resource is being pushed already.",                       \
	    "Nothing, or mend the origin: it promises a resource twice.")                             \
	X(PARENT_CAP, "parent-cap", "The parent has as many pushes as allowed.",                      \
	    "Raise max-pushes-per-parent, or promise less.")                                          \
	X(CONNECTION_CAP, "connection-cap", "The downstream connection has as many pushes as allowed.", \
	    "Raise max-pushes-per-connection, or promise less.")                                      \
	X(BYTES_CAP, "bytes-cap", "Too many pushed bytes are waiting for this client.",                \
	    "Raise max-push-bytes, or push less to slow clients.")                                    \
	X(PROMISE_RATE, "promise-rate", "The origin promises faster than allowed.",                   \
	    "Raise promise-rate, or mend the origin.")                                                \
	X(BUDGET, "budget", "The memory budget is used up.", "Raise memory, or lower the caps.")      \
	X(RESET_BUDGET, "reset-budget",                                                               \
	    "Refusing pushes cost so many resets that the route uses connections without push.",      \
	    "Nothing, or have the origin push less of what is dropped.")                              \
	X(NO_HOLD, "no-hold", "The verdict needs a feature that this hop cannot give.",               \
	    "Choose forward or drop.")                                                                \
	X(STATUS, "status", "The pushed response's status is not one that the rule allows.",          \
	    "Mend the origin, or widen the rule.")                                                    \
	X(TOO_LARGE, "too-large", "The pushed response is larger than the rule allows.",              \
	    "Raise max-bytes of the rule.")                                                           \
	X(CLIENT_RESET, "client-reset", "The client reset the pushed stream.",                         \
	    "Nothing: it may have the resource already.")                                             \
	X(CLIENT_LOST, "client-lost", "The client's connection ended.", "Nothing.")                   \
	X(ORIGIN_RESET, "origin-reset", "The origin reset the pushed stream.", "Look at the origin.") \
	X(ORIGIN_LOST, "origin-lost", "The connection to the origin ended.", "Look at the origin.")   \
	X(START_TIMEOUT, "start-timeout",                                                             \
	    "The push waited too long for the client's MAX_CONCURRENT_STREAMS or the origin's answer.", \
	    "Raise push-start-timeout, or push less.")                                                \
	X(RESPONSE_MALFORMED, "response-malformed", "The pushed response is malformed.", "Mend the origin.") \
	X(DRAIN, "drain", "The worker was draining and its deadline came.", "Raise drain-timeout.")

#define POLICY_REASON_EXTERN(symbol, code, sentence, advice) extern const struct policy_reason policy_reason_##symbol;
POLICY_REASONS(POLICY_REASON_EXTERN)
#undef POLICY_REASON_EXTERN

enum policy_reason_index {
#define POLICY_REASON_INDEX(symbol, code, sentence, advice) POLICY_REASON_INDEX_##symbol,
	POLICY_REASONS(POLICY_REASON_INDEX)
#undef POLICY_REASON_INDEX
	POLICY_REASON_COUNT
};
/* All rows in table order, and a row's position. */
extern const struct policy_reason *const policy_reason_table[POLICY_REASON_COUNT];
size_t policy_reason_position(const struct policy_reason *reason);
/* NULL when there is no such code. */
const struct policy_reason *policy_reason_find(const char *code);

#endif
