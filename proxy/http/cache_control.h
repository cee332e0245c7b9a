/* SPDX-License-Identifier: MIT */
/*
 * Cache-Control and Pragma of one head (RFC 9111 5.2, 5.4). What follows from them for a response
 * is in cache.h.
 */
#ifndef PUSHGATE_HTTP_CACHE_CONTROL_H
#define PUSHGATE_HTTP_CACHE_CONTROL_H

#include "proxy/http/head.h"

/* What a delta-seconds counts as that is too large (RFC 9111 1.2.2). */
#define HTTP_DELTA_MAX_SEC UINT32_C(2147483648)

/* False: it is none, *sec stays. */
bool http_delta_seconds(struct slice s, uint32_t *sec);

struct http_cache_control {
	bool no_store, no_cache, is_private, is_public;
	bool must_revalidate;
	bool has_max_age, has_s_maxage;
	/* A value that does not parse counts as 0 (RFC 9111 4.2.1). */
	uint32_t max_age_sec, s_maxage_sec;
	uint32_t min_fresh_sec; /* requests */
};

/*
 * All Cache-Control fields of the head together, the first of equal directives; Pragma: no-cache
 * counts in a request without any. Arguments of no-cache and private are not looked at. A quote
 * that never ends counts as no-store; so much might stand in it. max-stale and only-if-cached are not
 * read: nothing stale is served, and a request always has an origin to go to.
 */
struct http_cache_control http_cache_control(const struct http_head *head);

#endif
