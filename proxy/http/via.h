/* SPDX-License-Identifier: MIT */
/*
 * What an intermediary adds to messages: Via with loop detection (RFC 9110 7.6.3), Proxy-Status
 * (RFC 9209), and short responses of its own.
 */
#ifndef PUSHGATE_HTTP_VIA_H
#define PUSHGATE_HTTP_VIA_H

#include "proxy/http/grpc.h"
#include "proxy/http/head.h"

/* The text of a pseudonym is at most so long, with the version. */
#define HTTP_VIA_TEXT 84u

/* The texts that pushgate adds to Via, one for each version of HTTP. They are made at the start. */
struct http_via {
	char texts[HTTP_VERSION_2 + 1][HTTP_VIA_TEXT]; /* by the version of the message */
	uint8_t lengths[HTTP_VERSION_2 + 1];
};

struct http_via http_via_make(struct slice pseudonym);
/* Appends "<version> <pseudonym>" to Via: the version in which the message was received. A message that
 * this program has made, and that has no version, gets none. The head borrows the text. */
static inline void http_via_add(struct http_head *head, const struct http_via *via)
{
	if (head->version == HTTP_VERSION_NONE)
		return;
	*http_head_add_slot(head) = (struct http_field){
	    .name = http_token_name(HTTP_TOKEN_VIA),
	    .value = slice_of(via->texts[head->version], via->lengths[head->version]),
	    .token = HTTP_TOKEN_VIA,
	};
}

/* True if this request has already passed a proxy with the pseudonym. */
bool http_via_has(const struct http_head *head, struct slice pseudonym);

struct http_own_field {
	struct slice name, value;
};

/* The contents of a response that pushgate makes. */
struct http_own_answer {
	uint16_t status;
	struct slice pseudonym;
	const char *error;   /* an RFC 9209 2.3 error type, or NULL: no Proxy-Status */
	const char *details; /* a text, or NULL; it will be escaped */
	struct slice date;   /* from http_date_write; empty: no date field */
	struct slice allow;  /* the methods of an Allow field (RFC 9110 10.2.1); empty: none */
	const struct http_head *request; /* its Accept may prefer JSON; NULL: it is not known */
	/* A body in place of the short text, and its media type; empty: none. */
	struct slice body;
	const char *content_type;
	/* Its body, of content_type, comes afterwards, and its length is not known: body is empty. */
	bool is_streamed;
	bool is_whole; /* body is all of it, even if it is empty: no short text stands in for it */
	const struct http_own_field *more; /* further fields */
	size_t more_count;
	struct slice location;           /* of a redirect; empty: none */
	struct slice challenge;          /* of a 401 or 407 (RFC 9110 11.6.1); empty: none */
	struct slice vary;               /* fields of the request that led to it; empty: none */
	uint32_t retry_after;            /* seconds, for Retry-After (RFC 9110 10.2.3); 0: none */
	bool is_momentary;               /* no cache may store it, whatever its status */
	struct slice transport_security; /* Strict-Transport-Security; empty: none */
	/* The request is a call of gRPC, which has failed with this; GRPC_OK: it is none. */
	enum grpc_status grpc_status;
};

/*
 * Makes a final response: status, date, content-type, content-length, `server: pushgate`, allow,
 * www-authenticate or proxy-authenticate, location, retry-after, cache-control no-store for 5xx, 429 and is_momentary, and Proxy-Status `<pseudonym>; error=<error>;
 * details="<details>"`, with status-code for http_request_error. *body is that of the answer, or a short
 * text in the head's arena ("502 Bad Gateway: <details>\n"), or, if the client prefers it, the same as
 * JSON (RFC 9457); Vary says so where the response may be stored. A redirect has an empty body. A 204
 * has neither a body nor fields that describe one. The caller owns the head.
 *
 * For a call of gRPC it is a response of HTTP status 200 without a body, `Trailers-Only`, as clients of gRPC
 * expect it: grpc-status, and the details as grpc-message, without retry-after. Proxy-Status is the same.
 */
struct http_head *http_own_response(
    struct http_head_pool *pool, const struct http_own_answer *answer, struct slice *body);

/* Adds Proxy-Status with the error and the details of the answer. */
void http_add_proxy_status(struct http_head *head, const struct http_own_answer *answer);

/* "Bad Gateway" for 502, …; "" if unknown (RFC 9110 15). */
const char *http_status_reason(uint16_t status);

#endif
