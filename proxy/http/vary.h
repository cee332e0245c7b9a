/* SPDX-License-Identifier: MIT */
/* Vary: for which requests a stored response may be used (RFC 9111 4.1, RFC 9110 12.5.5). */
#ifndef PUSHGATE_HTTP_VARY_H
#define PUSHGATE_HTTP_VARY_H

#include "proxy/http/head.h"

/*
 * Whether Vary allows using a response to `stored` for `request` (RFC 9111 4.1). If not, *field is
 * the name of the first field that differs ("*" for Vary: *; lower case if known, else as in Vary).
 * Lines of one name are compared as if joined. Fields known to be lists are compared by members,
 * others byte by byte. A Vary with more than 64 names, or with a member that is not a
 * field name, never matches.
 */
bool http_vary_matches(const struct http_head *response, const struct http_head *stored,
    const struct http_head *request, struct slice *field);

/* Whether Vary is "*" or malformed, or names the field (HTTP_TOKEN_NONE: no field). */
bool http_vary_names(const struct http_head *response, enum http_token token);

#endif
