/* SPDX-License-Identifier: MIT */
/*
 * RFC 9111 for one response: whether it may be stored, by whom, and how long it is fresh. vary.h
 * tells for which requests it may be reused. This module stores nothing.
 */
#ifndef PUSHGATE_HTTP_CACHE_H
#define PUSHGATE_HTTP_CACHE_H

#include "proxy/http/head.h"

/* Whether a shared cache may store this response to this request (RFC 9111 3). */
bool http_may_store_shared(const struct http_head *request, const struct http_head *response);
/*
 * Whether any cache may store it: it is final, its status is understood, and neither side sent
 * no-store.
 */
bool http_may_store(const struct http_head *request, const struct http_head *response);

/*
 * Seconds of freshness left for a response that has just arrived (RFC 9111 4.2): its lifetime minus
 * its age, by Age or by Date, whichever is more. 0 if it is stale, has no-cache, or tells no
 * lifetime (then http_heuristic_sec). shared: s-maxage counts. now_sec: since the epoch, for Expires and Date.
 */
uint32_t http_freshness_sec(const struct http_head *response, bool shared, uint64_t now_sec);
/*
 * Whether a client's own cache can use a 200 or 304 to GET for a later request too, while it is
 * fresh or once it is validated. False: a side sent no-store, or the response has no-cache,
 * max-age=0, or (without max-age) an Expires that is not later than its Date or cannot be read.
 * *fresh_sec: as http_freshness_sec without `shared`.
 */
bool http_may_reuse(const struct http_head *request, const struct http_head *response,
    uint64_t now_sec, uint32_t *fresh_sec);
/* The value of the response's Age field, 0 without one. */
uint32_t http_age_sec(const struct http_head *response);

/* Whether the response tells its lifetime itself: max-age or Expires; if shared, also s-maxage. */
bool http_tells_lifetime(const struct http_head *response, bool shared);
/*
 * Seconds that a response which tells no lifetime may be used without validation (RFC 9111 4.2.2):
 * with Last-Modified a tenth of the time since then, less its age; with an ETag alone, and at least,
 * HTTP_HEURISTIC_LEAST_SEC. 0: it tells one, has no-cache or no validator, or its status code is not
 * heuristically cacheable.
 */
#define HTTP_HEURISTIC_LEAST_SEC 5u
uint32_t http_heuristic_sec(const struct http_head *response, uint64_t now_sec);

/*
 * Whether the response says of itself that it is the same for all users: public, or a lifetime above
 * 0 for a shared cache (s-maxage, max-age, Expires); without private, Set-Cookie, and Vary: Cookie.
 */
bool http_is_same_for_all(const struct http_head *response, uint64_t now_sec);
/* Whether it says so even if the request had Authorization (RFC 9111 3.5). */
bool http_permits_authorization(const struct http_head *response);

/* Whether the request's If-None-Match has this entity tag (weak comparison, RFC 9110 13.1.2), or "*". */
bool http_etag_is_named(const struct http_head *request, struct slice etag);
/*
 * Whether the request's If-None-Match has the response's ETag (weak comparison, RFC 9110 13.1.2).
 * False if either is missing.
 */
bool http_etag_matches(const struct http_head *request, const struct http_head *response);

#endif
