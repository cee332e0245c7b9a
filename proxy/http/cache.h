/* SPDX-License-Identifier: MIT */
/*
 * What RFC 9111 says about one response: may it be stored, by whom, for how long, and for which
 * requests it may be used again. No store in here.
 */
#ifndef PUSHGATE_HTTP_CACHE_H
#define PUSHGATE_HTTP_CACHE_H

#include "proxy/http/head.h"

struct http_cache_control {
	bool no_store, no_cache, is_private, is_public;
	bool must_revalidate, proxy_revalidate, immutable;
	bool has_max_age, has_s_maxage;
	/* A value that does not parse counts as 0 (RFC 9111 4.2.1). */
	uint32_t max_age_sec, s_maxage_sec;
	bool only_if_cached, has_max_stale; /* requests */
	uint32_t max_stale_sec, min_fresh_sec;
};

/*
 * All Cache-Control fields of the head together, the first of equal directives; Pragma: no-cache
 * counts in a request without any. Arguments of no-cache and private are not looked at. A quote
 * that never ends counts as no-store; so much might stand in it. max_stale_sec is UINT32_MAX
 * without a value.
 */
struct http_cache_control http_cache_control(const struct http_head *head);

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

/*
 * Does a stored response to `stored` answer `request` as far as Vary goes (RFC 9111 4.1)? On false
 * *field is the name of the first field that differs ("*" for Vary: *; lower case if known, else as
 * Vary has it). Lines of one name are joined first. Fields known to be lists compare by their
 * members, others octet by octet. A Vary of more than 64 names never matches.
 */
bool http_vary_matches(const struct http_head *response, const struct http_head *stored,
    const struct http_head *request, struct slice *field);

/* Does If-None-Match of the request (weak comparison, RFC 9110 13.1.2) name the response's ETag?
 * False without either. */
bool http_etag_matches(const struct http_head *request, const struct http_head *response);

#endif
