/* SPDX-License-Identifier: MIT */
/*
 * The encoder's choice for each name. An entry in a table of 4,096 bytes is useful only if it is
 * used again before about forty others evict it. So a value that often changes must first be seen
 * twice. `date` repeats at a high request rate but not at a low one; `:path` repeats in a load test
 * or for a favicon but not for a page; a validator repeats for a popular object.
 */
#include "proxy/hpack/index_policy.h"

/*
 * Cookies below this length are never indexed: the shorter a secret, the easier it is to guess
 * through a shared table (RFC 7541 7.1.3).
 */
#define SHORT_COOKIE_BYTES 20u

static const uint8_t by_token[HTTP_TOKEN_COUNT] = {
    /* All others: INDEXING_FIRST, which is 0. */
    [HTTP_TOKEN_NONE] = INDEXING_SECOND,
    [HTTP_TOKEN_PSEUDO_PATH] = INDEXING_SECOND,
    [HTTP_TOKEN_AGE] = INDEXING_SECOND,
    [HTTP_TOKEN_AUTHORIZATION] = INDEXING_NEVER,
    [HTTP_TOKEN_CACHE_STATUS] = INDEXING_SECOND,
    [HTTP_TOKEN_CONTENT_DISPOSITION] = INDEXING_SECOND,
    [HTTP_TOKEN_CONTENT_LENGTH] = INDEXING_SECOND,
    [HTTP_TOKEN_CONTENT_LOCATION] = INDEXING_SECOND,
    [HTTP_TOKEN_CONTENT_RANGE] = INDEXING_SECOND,
    [HTTP_TOKEN_DATE] = INDEXING_SECOND,
    [HTTP_TOKEN_ETAG] = INDEXING_SECOND,
    [HTTP_TOKEN_EXPIRES] = INDEXING_SECOND,
    [HTTP_TOKEN_FORWARDED] = INDEXING_SECOND,
    [HTTP_TOKEN_IF_MATCH] = INDEXING_SECOND,
    [HTTP_TOKEN_IF_MODIFIED_SINCE] = INDEXING_SECOND,
    [HTTP_TOKEN_IF_NONE_MATCH] = INDEXING_SECOND,
    [HTTP_TOKEN_IF_RANGE] = INDEXING_SECOND,
    [HTTP_TOKEN_IF_UNMODIFIED_SINCE] = INDEXING_SECOND,
    [HTTP_TOKEN_LAST_MODIFIED] = INDEXING_SECOND,
    [HTTP_TOKEN_LINK] = INDEXING_SECOND,
    [HTTP_TOKEN_LOCATION] = INDEXING_SECOND,
    [HTTP_TOKEN_PROXY_AUTHENTICATE] = INDEXING_SECOND,
    [HTTP_TOKEN_PROXY_AUTHORIZATION] = INDEXING_NEVER,
    [HTTP_TOKEN_PROXY_STATUS] = INDEXING_SECOND,
    [HTTP_TOKEN_RANGE] = INDEXING_SECOND,
    [HTTP_TOKEN_REFERER] = INDEXING_SECOND,
    [HTTP_TOKEN_RETRY_AFTER] = INDEXING_SECOND,
    [HTTP_TOKEN_SET_COOKIE] = INDEXING_NEVER,
    [HTTP_TOKEN_TRACEPARENT] = INDEXING_NONE,
    [HTTP_TOKEN_TRACESTATE] = INDEXING_SECOND,
    [HTTP_TOKEN_WWW_AUTHENTICATE] = INDEXING_SECOND,
    [HTTP_TOKEN_X_FORWARDED_FOR] = INDEXING_SECOND,
    [HTTP_TOKEN_X_REAL_IP] = INDEXING_SECOND,
    [HTTP_TOKEN_X_REQUEST_ID] = INDEXING_SECOND,
};

enum indexing indexing_of(uint16_t token, struct slice value)
{
	if (token == HTTP_TOKEN_COOKIE && value.len < SHORT_COOKIE_BYTES)
		return INDEXING_NEVER;
	return (enum indexing)by_token[token];
}
