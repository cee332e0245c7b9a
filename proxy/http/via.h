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

/* What a response of our own says. */
struct http_own_answer {
	uint16_t status;
	struct slice pseudonym;
	const char *error;   /* an RFC 9209 2.3 error type, or NULL: no Proxy-Status */
	const char *details; /* in words, or NULL; escaped */
	struct slice date;   /* as http_date_write writes it; empty: there is no clock */
	struct slice allow;  /* the methods of an Allow field (RFC 9110 10.2.1); empty: none */
};

/*
 * A final response of our own: status, date, content-type text/plain, content-length, `server:
 * pushgate`, allow, cache-control no-store for 5xx, and Proxy-Status `<pseudonym>; error=<error>;
 * details="<details>"`, with the status-code that an http_request_error has. *body is the short
 * text, living in the head's arena ("502 Bad Gateway: <details>\n"); a 204 has none, and nothing
 * that describes one. The head is yours.
 */
struct http_head *http_own_response(
    struct http_head_pool *pool, const struct http_own_answer *answer, struct slice *body);

/* "Bad Gateway" for 502, …; "" when unknown (RFC 9110 15). */
const char *http_status_reason(uint16_t status);

#endif
