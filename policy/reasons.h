/* SPDX-License-Identifier: MIT */
/*
 * Reason codes: why a push was forwarded, dropped, or ended. The access log, the counters, explain
 * and docs/REASONS.md use this one table. A code is stable once released.
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
	X(RULE, "rule", "A rule of the configuration decided.", "See the named rule.")   \
	X(DEFAULT, "default", "No rule matched; the default action applied.",                         \
	    "Add a [push] rule if something else should happen.")                                     \
	X(PUSH_DISABLED, "push-disabled", "The client announced ENABLE_PUSH=0, or speaks HTTP/1.1, which has no pushes.", \
	    "None needed: browsers announce this; hold or hint for them.") \
	X(NO_STREAMS, "no-streams", "The client announced MAX_CONCURRENT_STREAMS=0.",                 \
	    "None needed: the client refuses pushes.")                                           \
	X(CLIENT_GOING_AWAY, "client-going-away",                                                     \
	    "The downstream connection is going away or has no stream ids left.",                     \
	    "None needed: the client's next connection gets pushes again.")                               \
	X(PARENT_GONE, "parent-gone", "The parent stream was closed or reset by the client.",         \
	    "Make the origin promise earlier, before the end of the response.")                       \
	X(PARENT_PUSHED, "parent-pushed", "The parent is itself a pushed response (RFC 9113 8.4).",    \
	    "Make the origin promise on the client's own request.")                                   \
	X(METHOD, "method", "The promised method is not GET or HEAD (RFC 9113 8.4).",                 \
	    "Fix the origin: only safe, cacheable methods may be promised.")                         \
	X(BODY, "body", "The promised request has a body or announces one.",                          \
	    "Fix the origin: a promised request must not have a body.")                                       \
	X(MALFORMED, "malformed", "The promised request is malformed.", "Fix the origin.")           \
	X(AUTHORITY, "authority",                                                                     \
	    "The promised authority or path does not route to the origin that promised it; in forward mode: it is neither the " \
	    "parent's nor one of the same port that the origin's certificate covers.", \
	    "Add a route for it to this origin, or fix the origin.")                                 \
	X(MATCH_LIMIT, "match-limit",                                                                 \
	    "The patterns of rules have cost as much for this request as they may: its texts are too long, or the patterns " \
	    "too costly.", \
	    "None needed if the client or the page is a strange one; else write simpler patterns, above all expressions.") \
	X(OUTSIDE_PREFIX, "outside-prefix",                                                           \
	    "The route rewrites paths, and the origin's path does not lie below the rewritten prefix.", \
	    "Make the origin name resources below the /TO of rewrite, or write a rewrite that covers them.") \
	X(DOWNSTREAM_AUTHORITY, "downstream-authority",                                               \
	    "The listener or its certificate does not cover the promised scheme or authority.",       \
	    "Add a certificate for that name to the listener.")                                       \
	X(ACCESS_DENIED, "access-denied",                                                             \
	    "The rules of the listener's [access NAME] would refuse the client's own request for it.", \
	    "Allow it there, or make the origin name resources that this client may ask for.")        \
	X(DUPLICATE, "duplicate", "The same resource is already being pushed, or was hinted.",                       \
	    "Fix the origin if it promises a resource twice.")                             \
	X(PARENT_CAP, "parent-cap", "The parent request has reached its maximum of open pushes.",     \
	    "Raise max-pushes-per-parent (or max-per-parent of the rule), or promise less.")          \
	X(PARENT_LIFE_CAP, "parent-life-cap",                                                         \
	    "The parent request has had as many pushes as one request may have.",                     \
	    "Set subscription = yes in the route of a feed, raise max-pushes-per-parent-life, or promise less.") \
	X(CONNECTION_CAP, "connection-cap", "The downstream connection has reached its maximum of open pushes.", \
	    "Raise max-pushes-per-connection, or promise less.")                                      \
	X(BYTES_CAP, "bytes-cap", "Too many pushed bytes are queued for this client, heads and promises included.",                \
	    "Raise max-push-bytes, or push less to slow clients.")                                    \
	X(PROMISE_RATE, "promise-rate", "The origin promises faster than allowed.",                   \
	    "Raise promise-rate, or fix the origin.")                                                \
	X(BUDGET, "budget", "The memory budget is used up.", "Raise memory, or lower the caps.")      \
	X(PUSH_SHED, "push-shed",                                                                     \
	    "The worker's memory was short: it made no pushes and ended those that had not begun.",     \
	    "Raise memory, or lower the caps.")                                                       \
	X(RESET_BUDGET, "reset-budget",                                                               \
	    "Refused pushes caused so many resets that the route now uses connections without push.",      \
	    "Make the origin push less of what is dropped.")                              \
	X(NO_HOLD, "no-hold", "This connection or protocol does not support the rule's action.", \
	    "Choose forward or drop for such clients.")                                               \
	X(HEAD, "head", "A promised HEAD can be forwarded, but neither held nor hinted.",              \
	    "None needed: a held GET answers HEAD too.")                                                  \
	X(KNOWN, "known", "The client already has the resource, fresh or in its latest known version.", \
	    "None needed; what is to be pushed each time says Cache-Control: no-cache.") \
	X(SPECULATIVE, "speculative", "The request prefetches or prerenders a page that its user has not asked for.", \
	    "None needed; to push for it all the same, write a rule with purpose = prefetch or prerender.") \
	X(REVALIDATION, "revalidation", "The request revalidates the client's cached copy (a reload), so nothing is pushed.",        \
	    "None needed; to push all the same, set on-revalidation = yes in the rule.")                                                   \
	X(CROSS_ORIGIN, "cross-origin", "The resource has another scheme or authority than its parent.", \
	    "Serve it under the same name, or set cross-origin = yes in the rule.")                                 \
	X(PAUSED, "paused", "The rule is paused because clients used too few of its pushes.",                 \
	    "Check what the rule pushes; after a while it tries a few pushes again.")                            \
	X(SHADOW, "shadow", "A shadow rule would have decided; its decisions are only counted.",                  \
	    "Set shadow = no in the rule if its counters are what you want.")                       \
	X(REMEMBERED_PROPOSAL, "remembered-proposal", "The page is known to need the resource, but the configuration only proposes it.", \
	    "Add useful proposals to the configuration, or set remembered = apply.")                                          \
	X(PRECONNECT, "preconnect", "A connection to another host is named, which can only be hinted at.",                    \
	    "Use action = hint, with cross-origin = yes, for such links.")                                                    \
	X(HOLD_SHARED, "hold-shared", "The listener's connections may carry several users.",          \
	    "None needed: one user's response may not be held for another user.")                            \
	X(HOLD_FORWARDED, "hold-forwarded", "The request came through another proxy.",                \
	    "None needed: the connection may carry several users.")                                       \
	X(HOLD_COUNT, "hold-count", "The connection has reached its maximum of held responses.",             \
	    "Raise hold-max-count, or hold less.")                                      \
	X(HOLD_BYTES, "hold-bytes", "The connection has reached its maximum of held bytes.",                \
	    "Raise hold-max-bytes, or hold less.")                                      \
	X(HOLD_PAUSED, "hold-paused",                                                                 \
	    "What was held of the resource could not answer requests, twice for the same cause, so it is not held for a while.", \
	    "See missed in the access log; docs/HOLD.md says what to do about each cause.")           \
	X(HOLD_SHED, "hold-shed",                                                                     \
	    "The worker's memory was short: it dropped held responses that had not been requested.",              \
	    "Raise memory, or hold less.")                                                            \
	X(FETCH_SHARE, "fetch-share",                                                                 \
	    "Clients' requests have the origin's room, or fetches their share of it, so that nothing is fetched to be held.", \
	    "None needed for a moment; else raise fetch-share, or give the origin more room.")        \
	X(FETCH_BUDGET, "fetch-budget",                                                               \
	    "So many bytes were fetched in the last minute that no client has asked for, that nothing is fetched for a while.", \
	    "Hold less: min-used pauses rules that are not used; or raise fetch-budget.")             \
	X(PAGE_LEFT, "page-left", "The client left the page before it requested the held response, which had not come wholly.", \
	    "None needed: nobody waits for it any more.")                                             \
	X(NOT_STORABLE, "not-storable", "The response may not be stored (RFC 9111 3).",                 \
	    "Fix its Cache-Control if it should be stored.")                                                \
	X(HINT_LATE, "hint-late", "The final response has come, or a 103 from pushgate has already been sent.",      \
	    "Offer the resource earlier: in a 103 of the origin, or with add; or raise hint-wait.")   \
	X(HOLD_NOT_FRESH, "hold-not-fresh", "The response is not fresh, or has Vary: *, so that no later request could get it.", \
	    "Send it with Cache-Control: max-age, or with Last-Modified or ETag, and without Vary: *.") \
	X(HINT_CLIENT, "hint-client", "The request is not a navigation over HTTP/2: browsers ignore hints for it.",   \
	    "None needed; to hint all the same, set hint-clients = all in the rule.")                                         \
	X(HINT_VERSION, "hint-version", "The client's version of HTTP has no interim responses (RFC 9110 15.2).", \
	    "None needed: the protocol forbids it.")                                                      \
	X(HINT_CAP, "hint-cap", "As many resources as possible were hinted for the request.",        \
	    "Offer less: a browser cannot use so many hints.")                                        \
	X(NO_INTERIM, "no-interim", "A rule with interim = no keeps interim responses from this client.", \
	    "None needed: the configuration asks for this.")                                              \
	X(HINT_MISHANDLED, "hint-mishandled", "Clients with this User-Agent are known to mishandle a 103 (Early Hints).", \
	    "None needed; docs/EARLY-HINTS.md has the table. To hint all the same, set interim = yes in a rule.") \
	X(LINK_NOPUSH, "link-nopush", "The link has the parameter nopush.", "None needed: the origin asks for this.") \
	X(LINK_ANCHOR, "link-anchor", "The link has an anchor, so it belongs to another resource.",        \
	    "Make the origin omit the anchor if the link belongs to this page.")                                      \
	X(LINK_PUSH_ONLY, "link-push-only",                                                           \
	    "The link has the parameter x-http2-push-only, so that no hint may show it to the client.",   \
	    "None needed: the origin asks for this.")                                                     \
	X(LINK_SELF, "link-self", "The link refers to the page that contains it.",              \
	    "Fix the origin: such a link is useless.")                                             \
	X(LINK_TARGET, "link-target", "The link's target is not an http or https resource.", \
	    "Fix the origin.")                                                                       \
	X(CONTENT_TYPE, "content-type", "The rule does not allow the pushed response's content-type.", \
	    "Fix the origin, or widen the rule.")                                                    \
	X(CLAIMED, "claimed", "The client requested the held response and got it.", "None needed: this is the purpose of holding.") \
	X(MISSED, "missed", "The client requested the held response, but it could not answer that request.", \
	    "See missed in the access log; docs/HOLD.md says what to do about each cause.") \
	X(EXPIRED, "expired", "No client requested the held response in time.", \
	    "Hold less; or raise hold-max-age, and the max-age of the response.") \
	X(STATUS, "status", "The rule does not allow the pushed response's status.", \
	    "Fix the origin, or widen the rule.")                                                    \
	X(TOO_LARGE, "too-large", "The pushed response is larger than the rule allows.",              \
	    "Raise max-bytes of the rule.")                                                           \
	X(CLIENT_RESET, "client-reset", "The client reset the pushed stream.",                         \
	    "None needed: it may already have the resource.")                                             \
	X(CLIENT_LOST, "client-lost", "The client's connection ended.", "None needed.")                   \
	X(ORIGIN_RESET, "origin-reset", "The origin reset the pushed stream.", "Check the origin's log.") \
	X(ORIGIN_LOST, "origin-lost", "The connection to the origin ended.", "Check the origin's log.")   \
	X(START_TIMEOUT, "start-timeout",                                                             \
	    "The push waited too long for the client's MAX_CONCURRENT_STREAMS or the origin's response.", \
	    "Raise push-start-timeout, or push less.")                                                \
	X(RESPONSE_MALFORMED, "response-malformed", "The pushed response is malformed.", "Fix the origin.") \
	X(DRAIN, "drain", "The worker was draining and drain-timeout was over.", "Raise drain-timeout.")
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
/* NULL if there is no such code. */
const struct policy_reason *policy_reason_find(const char *code);

#endif
