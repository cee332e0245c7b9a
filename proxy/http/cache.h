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
 * lifetime. shared: s-maxage counts. now_sec: since the epoch, for Expires and Date.
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

/*
 * Whether the request's If-None-Match has the response's ETag (weak comparison, RFC 9110 13.1.2).
 * False if either is missing.
 */
bool http_etag_matches(const struct http_head *request, const struct http_head *response);

#endif
