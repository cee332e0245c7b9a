/* SPDX-License-Identifier: MIT */
/* Vary: which requests a response may be used for again (RFC 9111 4.1, RFC 9110 12.5.5). */
#ifndef PUSHGATE_HTTP_VARY_H
#define PUSHGATE_HTTP_VARY_H

#include "proxy/http/head.h"

/*
 * Does a stored response to `stored` answer `request` as far as Vary goes (RFC 9111 4.1)? On false
 * *field is the name of the first field that differs ("*" for Vary: *; lower case if known, else as
 * Vary has it). Lines of one name count as joined. Fields known to be lists compare by their
 * members, others byte by byte. A Vary of more than 64 names never matches.
 */
bool http_vary_matches(const struct http_head *response, const struct http_head *stored,
    const struct http_head *request, struct slice *field);

#endif
