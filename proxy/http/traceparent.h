/* SPDX-License-Identifier: MIT */
/*
 * The field traceparent: which trace a request belongs to, and which span of it is the parent (W3C Trace Context, 3.2).
 * What tracestate says is of no meaning here.
 */
#ifndef PUSHGATE_HTTP_TRACEPARENT_H
#define PUSHGATE_HTTP_TRACEPARENT_H

#include "proxy/http/head.h"

#define HTTP_TRACE_ID_BYTES 16u
#define HTTP_SPAN_ID_BYTES 8u
/* "00-" trace id "-" span id "-" flags, as version 00 has them. */
#define HTTP_TRACEPARENT_BYTES 55u

enum {
	HTTP_TRACE_SAMPLED = 1, /* the sender may have recorded its span */
	HTTP_TRACE_RANDOM = 2,  /* the trace id is random (Trace Context, level 2) */
};

struct http_traceparent {
	uint8_t trace_id[HTTP_TRACE_ID_BYTES], span_id[HTTP_SPAN_ID_BYTES];
	uint8_t flags; /* those that are known */
};

/* False: the value is malformed, or of a version that nobody can read; then the request has no parent. */
bool http_traceparent_parse(struct slice value, struct http_traceparent *p);
bool http_traceparent_find(const struct http_head *request, struct http_traceparent *p);
/* That of a validated request. False: it has none, more than one, or a malformed one. */
static inline bool http_traceparent_of(const struct http_head *request, struct http_traceparent *p)
{
	return (request->noted & HTTP_NOTED_TRACE) && http_traceparent_find(request, p);
}
/* Writes version 00, without a NUL. */
void http_traceparent_write(const struct http_traceparent *p, char text[HTTP_TRACEPARENT_BYTES]);
/* In a text that was written: replaces the second half of the trace id, and the span id. */
void http_traceparent_alter(
    char text[HTTP_TRACEPARENT_BYTES], const uint8_t id[HTTP_SPAN_ID_BYTES]);
/* Writes two lower-case digits for each byte of an id, without a NUL. Returns the text. */
struct slice http_trace_id_write(const uint8_t *id, size_t bytes, char *text);

#endif
