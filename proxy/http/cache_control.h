/* SPDX-License-Identifier: MIT */
/* Cache-Control and Pragma of one head (RFC 9111 5.2, 5.4). cache.h applies them to a response. */
#ifndef PUSHGATE_HTTP_CACHE_CONTROL_H
#define PUSHGATE_HTTP_CACHE_CONTROL_H

#include "proxy/http/head.h"

/* Stands for every larger delta-seconds (RFC 9111 1.2.2). */
#define HTTP_DELTA_MAX_SEC UINT32_C(2147483648)

/* Parses delta-seconds. False: s is not a number; *sec is unchanged. */
bool http_delta_seconds(struct slice s, uint32_t *sec);

struct http_cache_control {
	bool no_store, no_cache, is_private, is_public;
	bool must_revalidate;
	bool has_max_age, has_s_maxage;
	/* A malformed value counts as 0 (RFC 9111 4.2.1). */
	uint32_t max_age_sec, s_maxage_sec;
	uint32_t min_fresh_sec; /* requests */
};

/*
 * Reads all Cache-Control fields of the head; of equal directives the first counts. Without such a
 * field a request's Pragma: no-cache counts. Arguments of no-cache and private are ignored. An
 * unclosed quote counts as no-store, because it may contain one. max-stale and only-if-cached are
 * not read: the gateway serves nothing stale, and a request always has an origin to go to.
 */
struct http_cache_control http_cache_control(const struct http_head *head);

#endif
