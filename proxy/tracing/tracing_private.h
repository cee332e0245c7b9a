/* SPDX-License-Identifier: MIT */
/* Private to tracing/: what its files share. */
#ifndef PUSHGATE_TRACING_TRACING_PRIVATE_H
#define PUSHGATE_TRACING_TRACING_PRIVATE_H

#include "proxy/tracing/tracing.h"

/* A field traceparent; borrows the text. */
static inline struct http_field tracing_field(const char text[HTTP_TRACEPARENT_BYTES])
{
	return (struct http_field){.name = http_token_name(HTTP_TOKEN_TRACEPARENT),
	    .value = slice_of(text, HTTP_TRACEPARENT_BYTES),
	    .token = HTTP_TOKEN_TRACEPARENT};
}

/* tracing.c */
void tracing_make_span_id(struct tracing *t, uint8_t id[HTTP_SPAN_ID_BYTES]);

/* record.c: of the exchange's part, whose ids are there. NULL: the budget refuses; the span is counted as dropped. */
struct tracing_record *tracing_record_new(
    struct tracing *t, const struct exchange *x, enum span_kind kind);

#endif
