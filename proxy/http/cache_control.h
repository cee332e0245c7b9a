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
	bool must_revalidate, proxy_revalidate, immutable;
	bool has_max_age, has_s_maxage;
	/* A malformed value counts as 0 (RFC 9111 4.2.1). */
	uint32_t max_age_sec, s_maxage_sec;
	bool only_if_cached, has_max_stale; /* requests */
	uint32_t max_stale_sec, min_fresh_sec;
};

/*
 * Reads all Cache-Control fields of the head; of equal directives the first counts. Without such a
 * field a request's Pragma: no-cache counts. Arguments of no-cache and private are ignored. An
 * unclosed quote counts as no-store, because it may contain one. max_stale_sec is UINT32_MAX
 * without a value.
 */
struct http_cache_control http_cache_control(const struct http_head *head);

#endif
