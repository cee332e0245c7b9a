/* SPDX-License-Identifier: MIT */
/*
 * Reason codes: why a push was forwarded, dropped, or ended as it did. One table; the access log,
 * the counters, explain and docs/REASONS.md are made from it. A code is stable once released.
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
// clang-format off
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
	X(BYTES_CAP, "bytes-cap", "Too many pushed bytes are waiting for this client, or heads and promises.",                \
	    "Raise max-push-bytes, or push less to slow clients.")                                    \
	X(PROMISE_RATE, "promise-rate", "The origin promises faster than allowed.",                   \
	    "Raise promise-rate, or mend the origin.")                                                \
	X(BUDGET, "budget", "The memory budget is used up.", "Raise memory, or lower the caps.")      \
	X(PUSH_SHED, "push-shed",                                                                     \
	    "The worker's memory was short: no push is made then, and what has not begun ends.",     \
	    "Raise memory, or lower the caps.")                                                       \
	X(RESET_BUDGET, "reset-budget",                                                               \
	    "Refusing pushes cost so many resets that the route uses connections without push.",      \
	    "Nothing, or have the origin push less of what is dropped.")                              \
	X(NO_HOLD, "no-hold", "The rule's action is one that this connection or protocol cannot give.", \
	    "Choose forward or drop for such clients.")                                               \
	X(HEAD, "head", "A promised HEAD can be forwarded, but neither held nor hinted.",              \
	    "Nothing: a held GET answers HEAD too.")                                                  \
	X(KNOWN, "known", "The client has the resource already.",                                     \
	    "Nothing: it was pushed, hinted or asked for on this connection, or its cookie says so.") \
	X(REVALIDATION, "revalidation", "The client checks what it has, so nothing is added.",        \
	    "Nothing, or set on-revalidation = yes in the rule.")                                                   \
	X(CROSS_ORIGIN, "cross-origin", "The resource has another scheme or authority than its parent.", \
	    "Serve it under the same name, or set cross-origin = yes in the rule.")                                 \
	X(PAUSED, "paused", "The rule pauses, as too little of its pushes was used.",                 \
	    "Look at what it pushes; it tries a few again after a while.")                            \
	X(SHADOW, "shadow", "A shadow rule would have decided; it is only counted.",                  \
	    "Take the shadow from the rule when its counts are what you want.")                       \
	X(LEARNED_PROPOSAL, "learned-proposal", "Learned, but no configuration applies it.",          \
	    "Add what is worth it to the configuration.")                                             \
	X(HOLD_SHARED, "hold-shared", "The listener's connections may carry several users.",          \
	    "Nothing: what one user is sent may not be held for another.")                            \
	X(HOLD_FORWARDED, "hold-forwarded", "The request came through another proxy.",                \
	    "Nothing: the connection may carry several users.")                                       \
	X(HOLD_COUNT, "hold-count", "The connection holds as many responses as allowed.",             \
	    "Raise hold-max-count, or hold less.")                                      \
	X(HOLD_BYTES, "hold-bytes", "The connection holds as many bytes as allowed.",                \
	    "Raise hold-max-bytes, or hold less.")                                      \
	X(HOLD_SHED, "hold-shed",                                                                     \
	    "The worker's memory was short: what nobody had asked for yet went first.",              \
	    "Raise memory, or hold less.")                                                            \
	X(NOT_STORABLE, "not-storable", "The response may not be kept (RFC 9111 3).",                 \
	    "Mend its Cache-Control if it should be.")                                                \
	X(HINT_LATE, "hint-late", "The final response or a 103 of our own has begun.",                \
	    "Offer it earlier, or raise hint-wait.")                                       \
	X(HINT_CLIENT, "hint-client", "Not a navigation over HTTP/2: browsers ignore hints there.",   \
	    "Nothing, or set hint-clients = all in the rule.")                                         \
	X(HINT_VERSION, "hint-version", "An HTTP/1.0 client gets no interim response (RFC 9110 15.2).", \
	    "Nothing: the protocol forbids it.")                                                      \
	X(LINK_NOPUSH, "link-nopush", "The link has the parameter nopush.", "Nothing: the origin wants it so.") \
	X(LINK_ANCHOR, "link-anchor", "The link has an anchor: it is about another resource.",        \
	    "Nothing, or have the origin leave the anchor out.")                                      \
	X(LINK_SELF, "link-self", "The link points at the very page that it came with.",              \
	    "Mend the origin: such a link is of no use.")                                             \
	X(LINK_TARGET, "link-target", "The link's target is no reference to an http or https resource.", \
	    "Mend the origin.")                                                                       \
	X(CONTENT_TYPE, "content-type", "The pushed response's content-type is not one that the rule allows.", \
	    "Mend the origin, or widen the rule.")                                                    \
	X(CLAIMED, "claimed", "The client asked for what was held, and got it.", "Nothing: that is what holding is for.") \
	X(EXPIRED, "expired", "Nobody asked for what was held.", "Hold less of it, or raise hold-max-age.")   \
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
// clang-format on

#define POLICY_REASON_EXTERN(symbol, code, sentence, advice)                                       \
	extern const struct policy_reason policy_reason_##symbol;
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
