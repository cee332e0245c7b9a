/* SPDX-License-Identifier: MIT */
/*
 * What RFC 9111 says about one response: may it be stored, by whom, and for how long it may be used
 * again; for which requests is in vary.h. No store in here.
 */
#ifndef PUSHGATE_HTTP_CACHE_H
#define PUSHGATE_HTTP_CACHE_H

#include "proxy/http/head.h"

/* May a shared cache store this response to this request (RFC 9111 3)? */
bool http_may_store_shared(const struct http_head *request, const struct http_head *response);
/* May anyone keep it at all: final, understood status, not no-store on either side. */
bool http_may_store(const struct http_head *request, const struct http_head *response);

/*
 * Seconds of freshness that are left when it has just arrived (RFC 9111 4.2): lifetime less the age
 * that it came with, by Age or by Date, whichever is more; 0 when stale, no-cache, or nothing says.
 * shared: s-maxage counts. now_sec: since the epoch, for Expires and Date.
 */
uint32_t http_freshness_sec(const struct http_head *response, bool shared, uint64_t now_sec);
/* The Age that it came with, 0 when none. */
uint32_t http_age_sec(const struct http_head *response);

/* Does If-None-Match of the request (weak comparison, RFC 9110 13.1.2) name the response's ETag?
 * False without either. */
bool http_etag_matches(const struct http_head *request, const struct http_head *response);

#endif
