/* SPDX-License-Identifier: MIT */
/*
 * What an intermediary adds: Via with loop detection (RFC 9110 7.6.3), Proxy-Status (RFC 9209),
 * and the short responses that it makes itself.
 */
#ifndef PUSHGATE_HTTP_VIA_H
#define PUSHGATE_HTTP_VIA_H

#include "proxy/http/head.h"

/* Appends "2 <pseudonym>" to Via. */
void http_via_add(struct http_head *head, struct slice pseudonym);
/* True when this request has passed the pseudonym already. */
bool http_via_has(const struct http_head *head, struct slice pseudonym);

/*
 * A final response of our own: status, content-type text/plain, content-length, `server: pushgate`,
 * cache-control no-store for 5xx, and Proxy-Status `<pseudonym>; error=<error>;
 * details="<details>"` when error is not NULL (an RFC 9209 2.3 error type; details may be NULL and
 * is escaped). *body is the short text, living in the head's arena ("502 Bad Gateway:
 * <details>\n"). The head is yours.
 */
struct http_head *http_own_response(struct http_head_pool *pool, uint16_t status,
    struct slice pseudonym, const char *error, const char *details, struct slice *body);

/* "Bad Gateway" for 502, …; "" when unknown (RFC 9110 15). */
const char *http_status_reason(uint16_t status);

#endif
